package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
)

type image struct {
	Name  string `json:"name"`
	Tag   string `json:"tag"`
	Usage struct {
		Bytes  int64 `json:"bytes"`
		Inodes int64 `json:"inodes"`
	} `json:"usage"`
	CreatedAt string `json:"createdAt"`
}

func imageCommand(c *client) *cobra.Command {
	cmd := &cobra.Command{Use: "image", Short: "Make, list, tag and remove images, which sandboxes start from"}
	list := &cobra.Command{
		Use: "list [NAME]", Aliases: []string{"ls"}, Short: "List images", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := "/v1/images"
			if len(args) == 1 {
				p += "?" + url.Values{"name": args}.Encode()
			}
			var out struct {
				Images []image `json:"images"`
			}
			if err := c.call(cmd.Context(), http.MethodGet, p, nil, &out); err != nil {
				return err
			}
			return rows(false, out.Images, table.Row{"image", "files", "bytes", "created"}, func(i *image) table.Row {
				return table.Row{i.Name + ":" + i.Tag, i.Usage.Inodes, i.Usage.Bytes, i.CreatedAt}
			})
		},
	}
	rm := &cobra.Command{
		Use: "rm NAME[:TAG]...", Short: "Forget images; sandboxes made of them stay", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				if err := c.call(cmd.Context(), http.MethodDelete, "/v1/images?"+url.Values{"image": {name}}.Encode(), nil,
					nil); err != nil {
					return fmt.Errorf("remove %s: %w", name, err)
				}
			}
			return nil
		},
	}
	tag := &cobra.Command{
		Use: "tag NAME[:TAG] NAME[:TAG]", Short: "Give an image another name and tag too", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd.Context(), http.MethodPost, "/v1/images/tag",
				map[string]string{"image": args[0], "as": args[1]}, nil)
		},
	}
	commit := &cobra.Command{
		Use: "commit ID NAME[:TAG]", Short: "Make an image of a sandbox; nothing is copied", Args: cobra.ExactArgs(2),
	}
	at := commit.Flags().String("at", "", "of an earlier state: "+stateHelp)
	replace := commit.Flags().Bool("replace", false, "an image of yours of that name and tag makes room")
	commit.RunE = func(cmd *cobra.Command, args []string) error {
		return c.commitImage(cmd.Context(), args[0], args[1], *at, *replace)
	}
	cmd.AddCommand(imageCreateCommand(c), commit, list, rm, tag)
	return cmd
}

func (c *client) commitImage(ctx context.Context, id, name, at string, replace bool) error {
	return c.call(ctx, http.MethodPost, "/v1/images", map[string]any{"sandbox": id, "image": name, "at": at,
		"replace": replace}, nil)
}

func imageCreateCommand(c *client) *cobra.Command {
	var (
		to             string
		all            bool
		quiet, replace bool
	)
	cmd := &cobra.Command{
		Use: "create NAME[:TAG] DIR|TAR|-", Short: "Make an image of a local directory or tar archive",
		Args: cobra.ExactArgs(2),
		Long: "Make an image of a local directory or tar archive (also gzipped; - is standard input), with modes and symlinks. Of a git work tree, .git and what .gitignore files exclude stay out.",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			ctx := cmd.Context()
			var made sandboxInfo
			if err := c.call(ctx, http.MethodPost, "/v1/sandboxes", map[string]string{"name": "image " + args[0]},
				&made); err != nil {
				return err
			}
			// The image holds its layers itself.
			defer func() {
				gone := c.call(context.WithoutCancel(ctx), http.MethodDelete, sandboxPath(made.ID, ""), nil, nil)
				err = errors.Join(err, gone)
			}()
			bar := progressbar.NewOptions64(-1, progressbar.OptionSetDescription("image"), progressbar.OptionShowBytes(true),
				progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetVisibility(!quiet), progressbar.OptionClearOnFinish())
			n, err := c.ingestAny(ctx, made.ID, to, args[1], all, bar)
			if err != nil {
				return err
			}
			if err := bar.Finish(); err != nil {
				return err
			}
			if err := c.commitImage(ctx, made.ID, args[0], "", replace); err != nil {
				return err
			}
			fmt.Printf("%d entries in image %s\n", n, args[0])
			return nil
		},
	}
	cmd.Flags().StringVar(&to, "to", "/home/user", "directory in the image")
	cmd.Flags().BoolVar(&all, "all", false, "of a git work tree, take everything")
	cmd.Flags().BoolVar(&replace, "replace", false, "an image of yours of that name and tag makes room")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "no progress bar")
	return cmd
}

// ingestAny copies a directory or an archive into a sandbox.
func (c *client) ingestAny(
	ctx context.Context, id, to, from string, all bool, bar *progressbar.ProgressBar,
) (int, error) {
	if from == "-" {
		return c.importTar(ctx, id, to, io.TeeReader(os.Stdin, bar))
	}
	st, err := os.Stat(from)
	if err != nil {
		return 0, err
	}
	if !st.IsDir() {
		f, err := os.Open(from)
		if err != nil {
			return 0, err
		}
		defer func() { _ = f.Close() }()
		return c.importTar(ctx, id, to, io.TeeReader(f, bar))
	}
	_, err = os.Lstat(filepath.Join(from, ".git"))
	files, err := localFiles(from, err == nil && !all)
	if err != nil {
		return 0, err
	}
	return c.ingest(ctx, id, to, from, files.entries, bar)
}
