package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"

	gitignore "github.com/sabhiram/go-gitignore"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
)

// One request carries at most this many entries and bytes: small enough to show progress, large enough
// that the round trips do not count.
const (
	ingestBatchFiles = 2000
	ingestBatchBytes = 16 << 20
)

func ingestCommand(c *client) *cobra.Command {
	var (
		to      string
		respect bool
		quiet   bool
	)
	cmd := &cobra.Command{
		Use: "ingest ID DIR", Short: "Copy a local directory into a sandbox, with modes and symlinks", Args: cobra.ExactArgs(2),
		Long: "Copy a local directory into a sandbox, with modes and symlinks. Each batch of files is one transaction; when a batch fails, the error says how many files were already there.",
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := localFiles(args[1], respect)
			if err != nil {
				return err
			}
			bar := progressbar.NewOptions64(files.bytes, progressbar.OptionSetDescription("ingest"), progressbar.OptionShowBytes(true),
				progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetVisibility(!quiet), progressbar.OptionClearOnFinish())
			n, err := c.ingest(cmd.Context(), args[0], to, args[1], files.entries, bar)
			if err != nil {
				return fmt.Errorf("after %d of %d files: %w", n, len(files.entries), err)
			}
			if err := bar.Finish(); err != nil {
				return err
			}
			fmt.Printf("%d files, %d bytes into %s\n", n, files.bytes, to)
			return nil
		},
	}
	cmd.Flags().StringVar(&to, "to", "/home/user", "directory in the sandbox")
	cmd.Flags().BoolVar(&respect, "gitignore", false, "leave out .git and what .gitignore files exclude")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "no progress bar")
	return cmd
}

type localEntry struct {
	rel  string
	mode fs.FileMode
	size int64
}

type localTree struct {
	entries []localEntry
	bytes   int64
}

// localFiles lists the regular files and symlinks below dir. With respect, each directory's .gitignore
// applies to what is below it, as git does.
func localFiles(dir string, respect bool) (localTree, error) {
	type rules struct {
		base string
		ign  *gitignore.GitIgnore
	}
	var (
		out   localTree
		stack []rules
	)
	ignored := func(rel string, isDir bool) bool {
		if path.Base(rel) == ".git" {
			return true
		}
		for _, r := range stack {
			sub, err := filepath.Rel(r.base, rel)
			if err != nil || !filepath.IsLocal(sub) {
				continue
			}
			if isDir {
				sub += "/"
			}
			if r.ign.MatchesPath(sub) {
				return true
			}
		}
		return false
	}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		if respect && rel != "." && ignored(filepath.ToSlash(rel), d.IsDir()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			if !respect {
				return nil
			}
			ign, err := gitignore.CompileIgnoreFile(filepath.Join(p, ".gitignore"))
			if err == nil {
				stack = append(stack, rules{rel, ign})
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
			return fmt.Errorf("%s: neither a file, a directory nor a symlink", p)
		}
		out.entries = append(out.entries, localEntry{filepath.ToSlash(rel), info.Mode(), info.Size()})
		if info.Mode().IsRegular() {
			out.bytes += info.Size()
		}
		return nil
	})
	return out, err
}

type ingestBody struct {
	BasePath string            `json:"basePath"`
	Files    map[string]string `json:"files"`
	Modes    map[string]uint32 `json:"modes,omitempty"`
	Symlinks map[string]string `json:"symlinks,omitempty"`
}

// ingest sends entries in batches and returns how many the server has acknowledged.
func (c *client) ingest(ctx context.Context, id, to, dir string, entries []localEntry, bar *progressbar.ProgressBar) (int, error) {
	done := 0
	for done < len(entries) {
		in := ingestBody{BasePath: to, Files: map[string]string{}, Modes: map[string]uint32{}, Symlinks: map[string]string{}}
		n, size := 0, int64(0)
		for _, e := range entries[done:] {
			if n == ingestBatchFiles || (n > 0 && size+e.size > ingestBatchBytes) {
				break
			}
			n++
			p := filepath.Join(dir, filepath.FromSlash(e.rel))
			if e.mode&fs.ModeSymlink != 0 {
				target, err := os.Readlink(p)
				if err != nil {
					return done, err
				}
				in.Symlinks[e.rel] = target
				continue
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return done, err
			}
			size += int64(len(data))
			in.Files[e.rel] = base64.StdEncoding.EncodeToString(data)
			in.Modes[e.rel] = uint32(e.mode.Perm())
		}
		if err := c.call(ctx, http.MethodPost, sandboxPath(id, "/ingest-files"), in, nil); err != nil {
			return done, err
		}
		done += n
		if err := bar.Add64(size); err != nil {
			return done, err
		}
	}
	return done, nil
}
