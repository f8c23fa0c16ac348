package exec

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/fserr"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/tree"
)

// ExportTar writes everything below a directory as a tar stream with names relative to it: modes, owners, times in nanoseconds, symlinks, hard links, devices
// and FIFOs. It is one version of the sandbox, whatever is written meanwhile. begun is called before the first byte; what fails before that has written nothing.
func (s *Service) ExportTar(ctx context.Context, c Caller, id uuid.UUID, dir string, w io.Writer, begun func()) error {
	if err := absolute(dir); err != nil {
		return toError(err)
	}
	return s.View(ctx, c, id, func(_ *tree.Tree, work *tree.Work) error {
		top, err := describe(work, dir)
		if err != nil {
			return err
		}
		if !top.IsDir() {
			return fserr.Path("readdir", dir, fserr.ENOTDIR)
		}
		begun()
		t := tar.NewWriter(w)
		first := map[uint64]string{} // the name under which a file of several was written
		err = walk(ctx, work, top.Path, 1, 0, func(i Info) error {
			return archive(work, t, strings.TrimPrefix(i.Path, strings.TrimSuffix(top.Path, "/")+"/"), i, first)
		})
		if err != nil {
			return err
		}
		return t.Close()
	})
}

func archive(work *tree.Work, t *tar.Writer, name string, i Info, first map[uint64]string) error {
	h := &tar.Header{
		Name: name, Mode: int64(i.Mode), Uid: int(i.UID), Gid: int(i.GID), ModTime: time.Unix(0, i.Mtime), Format: tar.FormatPAX,
		Devmajor: int64(i.Rdev >> 8), Devminor: int64(i.Rdev & 0xff),
	}
	if i.UID == userID {
		h.Uname, h.Gname = user.Name, user.Group
	}
	switch i.Kind {
	case proc.Dir:
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
	case proc.Symlink:
		h.Typeflag = tar.TypeSymlink
		target, err := work.Readlink(i.Path)
		if err != nil {
			return err
		}
		h.Linkname = target
	case proc.FIFO:
		h.Typeflag = tar.TypeFifo
	case proc.Char:
		h.Typeflag = tar.TypeChar
	default:
		h.Typeflag, h.Size = tar.TypeReg, i.Size
	}
	if i.Nlink > 1 && !i.IsDir() {
		if other, ok := first[i.Ino]; ok {
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, other, 0
			return t.WriteHeader(h)
		}
		first[i.Ino] = name
	}
	if err := t.WriteHeader(h); err != nil || h.Typeflag != tar.TypeReg {
		return err
	}
	f, err := work.Open(i.Path, proc.ReadOnly, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return errors.Join(err, f.Close())
}

// ImportTar writes what a tar archive holds below a directory, all or nothing, and returns how many entries there were: modes and times as they are in
// the archive, owners as those of new files. An entry replaces what has its name, a directory's contents stay. Names that lead out of the directory are EINVAL.
func (s *Service) ImportTar(ctx context.Context, c Caller, id uuid.UUID, dir string, data []byte) (int, error) {
	if err := absolute(dir); err != nil {
		return 0, toError(err)
	}
	n := 0
	err := s.Update(ctx, c, id, "import", dir, func(_ *tree.Tree, w *tree.Work) (err error) {
		n, err = extract(w, strings.TrimRight(dir, "/"), data)
		return err
	})
	return n, err
}

func extract(w *tree.Work, base string, data []byte) (n int, err error) {
	rest := bytes.NewReader(data)
	r := tar.NewReader(rest)
	bad := func(text string) error { return newError(fserr.CodeEINVAL, fserr.EINVAL, text) }
	type dirTime struct {
		path  string
		mtime int64
	}
	var dirs []dirTime
	if err := w.MkdirAll(base+"/", dirMode); err != nil {
		return 0, err
	}
	for ; ; n++ {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			// The reader takes the end of the input for that of the archive, which is two blocks of zeros.
			if done := data[:len(data)-rest.Len()]; !bytes.HasSuffix(done, make([]byte, 1024)) {
				return n, bad("the archive ends too early")
			}
			break
		}
		if err != nil {
			return n, bad("this is no tar archive: " + err.Error())
		}
		inside := func(name string) (string, error) {
			clean := path.Clean("/" + name)
			for part := range strings.SplitSeq(name, "/") {
				if part == ".." {
					return "", bad(fmt.Sprintf("%q leads out of the directory", name))
				}
			}
			return base + clean, nil
		}
		to, err := inside(h.Name)
		if err != nil {
			return n, err
		}
		if h.Typeflag == tar.TypeXGlobalHeader { // git archive's comment
			n--
			continue
		}
		if to == base+"/" { // "./", the directory itself
			if to = base; base == "" || h.Typeflag != tar.TypeDir {
				continue
			}
		}
		mode, mtime := uint32(h.Mode)&0o7777, h.ModTime.UnixNano()
		if h.Typeflag == tar.TypeDir {
			if err := w.MkdirAll(to+"/", dirMode); err != nil {
				return n, err
			}
			if err := w.Chmod(to, mode); err != nil {
				return n, err
			}
			dirs = append(dirs, dirTime{to, mtime})
			continue
		}
		if err := w.MkdirAll(path.Dir(to)+"/", dirMode); err != nil {
			return n, err
		}
		if err := w.Unlink(to); err != nil && !errors.Is(err, fserr.ENOENT) {
			return n, err
		}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
			err = extractFile(w, to, mode, r)
		case tar.TypeSymlink:
			err = w.Symlink(h.Linkname, to)
		case tar.TypeLink:
			var from string
			if from, err = inside(h.Linkname); err == nil {
				err = w.Link(from, to)
			}
		case tar.TypeFifo:
			err = w.Mknod(to, proc.FIFO, mode, 0)
		case tar.TypeChar:
			err = w.Mknod(to, proc.Char, mode, uint32(h.Devmajor)<<8|uint32(h.Devminor))
		default:
			err = bad(fmt.Sprintf("%q: entries of type %q are not known", h.Name, h.Typeflag))
		}
		if err == nil && h.Typeflag != tar.TypeLink {
			err = w.Utimes(to, mtime, false)
		}
		if err != nil {
			return n, err
		}
	}
	// Last, because what is put into a directory changes its time.
	for i := len(dirs) - 1; i >= 0; i-- {
		if err := w.Utimes(dirs[i].path, dirs[i].mtime, false); err != nil {
			return n, err
		}
	}
	return n, nil
}

func extractFile(w *tree.Work, to string, mode uint32, r io.Reader) error {
	f, err := w.Open(to, proc.WriteOnly|proc.Create|proc.Excl, mode)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, r, make([]byte, tree.ChunkSize))
	return errors.Join(err, f.Close())
}
