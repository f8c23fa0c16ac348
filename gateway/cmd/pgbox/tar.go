package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/cobra"
)

func tarCommand(c *client) *cobra.Command {
	dir := func(args []string) string {
		if len(args) == 2 {
			return args[1]
		}
		return "/home/user"
	}
	cmd := &cobra.Command{Use: "tar", Short: "Move directories in and out of a sandbox as tar archives"}
	export := &cobra.Command{Use: "export ID [DIR]",
		Short: "Print everything below DIR (default /home/user) as a tar archive, with modes, times and links",
		Args:  cobra.RangeArgs(1, 2)}
	at := export.Flags().String("at", "", "of an earlier state: "+stateHelp)
	export.RunE = func(cmd *cobra.Command, args []string) error {
		q := url.Values{"path": {dir(args)}}
		if *at != "" {
			q.Set("at", *at)
		}
		res, err := c.do(cmd.Context(), http.MethodGet, sandboxPath(args[0], "/export?"+q.Encode()), "", nil)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		_, err = io.Copy(os.Stdout, res.Body)
		return err
	}
	cmd.AddCommand(export, &cobra.Command{
		Use:   "import ID [DIR]",
		Short: "Write the tar archive on standard input (also gzipped) below DIR (default /home/user), all or nothing",
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := c.importTar(cmd.Context(), args[0], dir(args), os.Stdin)
			if err != nil {
				return err
			}
			fmt.Printf("%d entries\n", n)
			return nil
		},
	})
	return cmd
}

// importTar writes an archive below a directory of a sandbox and returns how many entries it had.
func (c *client) importTar(ctx context.Context, id, dir string, r io.Reader) (int, error) {
	in := bufio.NewReader(r)
	if magic, err := in.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(in)
		if err != nil {
			return 0, err
		}
		in = bufio.NewReader(z)
	}
	var out struct {
		Entries int `json:"entries"`
	}
	err := c.send(ctx, http.MethodPost, sandboxPath(id, "/import?"+url.Values{"path": {dir}}.Encode()),
		"application/x-tar", in, &out)
	return out.Entries, err
}
