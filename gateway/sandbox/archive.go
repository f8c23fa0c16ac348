package sandbox

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

	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

// ExportTar writes everything below a directory as a tar stream with names relative to it: modes, owners, times in
// nanoseconds, symlinks, hard links, devices and FIFOs. It is one version of the sandbox, whatever is written
// meanwhile. begun is called before the first byte; what fails before that has written nothing.
func (s *Service) ExportTar(ctx context.Context, c Caller, id uuid.UUID, dir string, w io.Writer, begun func()) error {
	if err := absolute(dir); err != nil {
		return toError(err)
	}
	return s.view(ctx, c, id, "tar export "+dir, func(work *tree.Work, begin func() error) error {
		top, err := describe(work, dir)
		if err != nil {
			return err
		}
		if !top.IsDir() {
			return vfs.Path("readdir", dir, vfs.ENOTDIR)
		}
		if err := begin(); err != nil {
			return err
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
		Name: name, Mode: int64(i.Mode), Uid: int(i.UID), Gid: int(i.GID), ModTime: time.Unix(0, i.Mtime),
		Format:   tar.FormatPAX,
		Devmajor: int64(i.Rdev >> 8), Devminor: int64(i.Rdev & 0xff),
	}
	if i.UID == userID {
		h.Uname, h.Gname = user.Name, user.Group
	}
	switch i.Kind {
	case vfs.Dir:
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
	case vfs.Symlink:
		h.Typeflag = tar.TypeSymlink
		target, err := work.Readlink(i.Path)
		if err != nil {
			return err
		}
		h.Linkname = target
	case vfs.FIFO:
		h.Typeflag = tar.TypeFifo
	case vfs.Char:
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
	f, err := work.Open(i.Path, vfs.ReadOnly, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return errors.Join(err, f.Close())
}

// Bounds of an import: of its work, and of the bytes of its files, which holes make larger than the archive.
const (
	importTime = 60 * time.Second
	importSize = 4 << 30
)

// ImportTar writes what a tar archive holds below a directory, all or nothing, and returns how many entries there were:
// modes and times as they are in the archive, owners as those of new files. An entry replaces what has its name, a
// directory's contents stay. Names that lead out of the directory, also through a link that the archive itself makes,
// are EINVAL.
func (s *Service) ImportTar(ctx context.Context, c Caller, id uuid.UUID, dir string, data []byte) (int, error) {
	if err := absolute(dir); err != nil {
		return 0, toError(err)
	}
	n := 0
	err := s.Update(ctx, c, id, "import", dir, func(_ *tree.Tree, w *tree.Work) (err error) {
		i := &tarImport{w: w, base: strings.TrimRight(dir, "/"), ends: time.Now().Add(importTime), ctx: ctx}
		err = i.extract(data)
		n = i.entries
		return err
	})
	return n, err
}

// tarImport is one archive on its way into a tree.
type tarImport struct {
	ctx     context.Context
	w       *tree.Work
	base    string
	ends    time.Time
	entries int
	size    int64
	linked  bool // the archive has made a symbolic link
	real    string
	dirs    []dirTime
	buf     []byte
}

type dirTime struct {
	path  string
	mtime int64
}

func invalidArchive(format string, args ...any) error {
	return newError(wire.CodeEINVAL, vfs.EINVAL, fmt.Sprintf(format, args...))
}

// alive is an error when the import has gone on for too long, or nobody waits for it.
func (i *tarImport) alive() error {
	if time.Now().After(i.ends) {
		return invalidArchive("the archive takes longer than %v", importTime)
	}
	return i.ctx.Err()
}

func (i *tarImport) extract(data []byte) error {
	rest := bytes.NewReader(data)
	r := tar.NewReader(rest)
	if err := i.w.MkdirAll(i.base+"/", dirMode); err != nil {
		return err
	}
	for {
		if err := i.alive(); err != nil {
			return err
		}
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			// The reader takes the end of the input for that of the archive, which is two blocks of zeros.
			if done := data[:len(data)-rest.Len()]; !bytes.HasSuffix(done, make([]byte, 1024)) {
				return invalidArchive("the archive ends too early")
			}
			break
		}
		if err != nil {
			return invalidArchive("this is no tar archive: %v", err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader { // git archive's comment
			continue
		}
		if err := i.entry(h, r); err != nil {
			return err
		}
		i.entries++
	}
	// Last, because what is put into a directory changes its time.
	for k := len(i.dirs) - 1; k >= 0; k-- {
		if err := i.w.Utimes(i.dirs[k].path, i.dirs[k].mtime, false); err != nil {
			return err
		}
	}
	return nil
}

// inside is the path of a name of the archive. A link that the archive has made must not lead it out of the directory:
// follow says that one in its last place is followed, too.
func (i *tarImport) inside(name string, follow bool) (string, error) {
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", invalidArchive("%q leads out of the directory", name)
		}
	}
	to := i.base + path.Clean("/"+name)
	if !i.linked {
		return to, nil
	}
	for at := to; len(at) > len(i.base)+1; at = path.Dir(at) {
		if at == to && !follow {
			continue
		}
		if _, err := i.w.Lstat(at); errors.Is(err, vfs.ENOENT) {
			continue
		}
		real, err := i.w.Realpath(at)
		if err != nil || real != i.real && !strings.HasPrefix(real, strings.TrimSuffix(i.real, "/")+"/") {
			return "", invalidArchive("%q leads out of the directory through a link", name)
		}
		break
	}
	return to, nil
}

func (i *tarImport) entry(h *tar.Header, r io.Reader) error {
	to, err := i.inside(h.Name, h.Typeflag == tar.TypeDir)
	if err != nil {
		return err
	}
	if to == i.base+"/" { // "./", the directory itself
		if to = i.base; i.base == "" || h.Typeflag != tar.TypeDir {
			return nil
		}
	}
	mode, mtime := uint32(h.Mode)&0o7777, h.ModTime.UnixNano()
	if h.Typeflag == tar.TypeDir {
		if err := i.w.MkdirAll(to+"/", dirMode); err != nil {
			return err
		}
		i.dirs = append(i.dirs, dirTime{to, mtime})
		return i.w.Chmod(to, mode)
	}
	if err := i.w.MkdirAll(path.Dir(to)+"/", dirMode); err != nil {
		return err
	}
	if err := i.w.Unlink(to); err != nil && !errors.Is(err, vfs.ENOENT) {
		return err
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		err = i.file(to, mode, h.Size, r)
	case tar.TypeSymlink:
		err = i.symlink(h.Linkname, to)
	case tar.TypeLink:
		var from string
		if from, err = i.inside(h.Linkname, false); err == nil {
			err = i.w.Link(from, to)
		}
	case tar.TypeFifo:
		err = i.w.Mknod(to, vfs.FIFO, mode, 0)
	case tar.TypeChar:
		err = i.w.Mknod(to, vfs.Char, mode, uint32(h.Devmajor)<<8|uint32(h.Devminor))
	default:
		err = invalidArchive("%q: entries of type %q are not known", h.Name, h.Typeflag)
	}
	if err != nil || h.Typeflag == tar.TypeLink {
		return err
	}
	return i.w.Utimes(to, mtime, false)
}

func (i *tarImport) symlink(target, to string) (err error) {
	if !i.linked {
		if i.real, err = i.w.Realpath(i.base + "/"); err != nil {
			return err
		}
		i.linked = true
	}
	return i.w.Symlink(target, to)
}

// file writes a regular file. Its whole size is counted first; blocks of zeros stay holes.
func (i *tarImport) file(to string, mode uint32, size int64, r io.Reader) error {
	if i.size += size; size < 0 || i.size > importSize {
		return newError(wire.CodeEFBIG, vfs.EFBIG, fmt.Sprintf("the files of the archive are larger than %d bytes",
			int64(importSize)))
	}
	f, err := i.w.Open(to, vfs.WriteOnly|vfs.Create|vfs.Excl, mode)
	if err != nil {
		return err
	}
	return errors.Join(i.copy(f, size, r), f.Close())
}

func (i *tarImport) copy(f vfs.File, size int64, r io.Reader) error {
	if err := f.Truncate(size); err != nil {
		return err
	}
	if i.buf == nil {
		i.buf = make([]byte, tree.ChunkSize)
	}
	for at := int64(0); at < size; {
		if err := i.alive(); err != nil {
			return err
		}
		b := i.buf[:min(size-at, int64(len(i.buf)))]
		if _, err := io.ReadFull(r, b); err != nil {
			return invalidArchive("the archive ends too early")
		}
		if len(bytes.TrimLeft(b, "\x00")) > 0 {
			if _, err := f.WriteAt(b, at); err != nil {
				return err
			}
		}
		at += int64(len(b))
	}
	return nil
}
