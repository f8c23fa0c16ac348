package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

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
		Use:   "ingest ID DIR",
		Short: "Copy a local directory into a sandbox, with modes, times, symlinks and empty directories",
		Args:  cobra.ExactArgs(2),
		Long:  "Copy a local directory into a sandbox, with modes, times, symlinks and empty directories. Each batch of files is one transaction; when a batch fails, the error says how much was already there.",
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := localFiles(args[1], respect)
			if err != nil {
				return err
			}
			bar := progressbar.NewOptions64(files.bytes, progressbar.OptionSetDescription("ingest"),
				progressbar.OptionShowBytes(true),
				progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetVisibility(!quiet), progressbar.OptionClearOnFinish())
			n, err := c.ingest(cmd.Context(), args[0], to, args[1], files.entries, bar)
			if err != nil {
				return fmt.Errorf("after %d of %d entries: %w", n, len(files.entries), err)
			}
			if err := bar.Finish(); err != nil {
				return err
			}
			fmt.Printf("%d entries, %d bytes into %s\n", n, files.bytes, to)
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
	size int64 // of a regular file
}

type localTree struct {
	entries []localEntry
	bytes   int64
}

// localFiles lists what is below dir: regular files and symlinks, then directories, the deepest first, so that each
// gets its time after what is in it. With respect, each directory's .gitignore applies to what is below it, as git
// does.
func localFiles(dir string, respect bool) (localTree, error) {
	var dirs []localEntry
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
			if rel != "." {
				dirs = append(dirs, localEntry{rel: filepath.ToSlash(rel)})
			}
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
		e := localEntry{rel: filepath.ToSlash(rel)}
		if info.Mode().IsRegular() {
			e.size = info.Size()
		}
		out.entries = append(out.entries, e)
		out.bytes += e.size
		return nil
	})
	slices.Reverse(dirs)
	out.entries = append(out.entries, dirs...)
	return out, err
}

// ingest sends entries in batches, as archives, and returns how many the server has acknowledged.
func (c *client) ingest(
	ctx context.Context, id, to, dir string, entries []localEntry, bar *progressbar.ProgressBar,
) (int, error) {
	done := 0
	var batch bytes.Buffer
	for done < len(entries) {
		batch.Reset()
		t := tar.NewWriter(&batch)
		n, size := 0, int64(0)
		for _, e := range entries[done:] {
			if n == ingestBatchFiles || (n > 0 && size+e.size > ingestBatchBytes) {
				break
			}
			n++
			size += e.size
			if err := addLocal(t, filepath.Join(dir, filepath.FromSlash(e.rel)), e.rel); err != nil {
				return done, err
			}
		}
		if err := t.Close(); err != nil {
			return done, err
		}
		if _, err := c.importTar(ctx, id, to, &batch); err != nil {
			return done, err
		}
		done += n
		if err := bar.Add64(size); err != nil {
			return done, err
		}
	}
	return done, nil
}

// addLocal writes a local file, directory or symlink to an archive.
func addLocal(t *tar.Writer, p, name string) error {
	info, err := os.Lstat(p)
	if err != nil {
		return err
	}
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if target, err = os.Readlink(p); err != nil {
			return err
		}
	}
	h, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	h.Name, h.Format = name, tar.FormatPAX // times in nanoseconds
	if info.IsDir() {
		h.Name += "/"
	}
	if err := t.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := os.Open(p)
	if err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return errors.Join(err, f.Close())
}
