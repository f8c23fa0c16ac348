package tree

import (
	"github.com/pgbox/pgbox/gateway/fserr"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// WriteFile makes a file of data, or replaces the content of an existing one, which keeps its
// inode and mode. When it fails nothing has changed.
func (w *Work) WriteFile(path string, data []byte, mode uint32) error {
	const flag = proc.WriteOnly | proc.Create | proc.Trunc
	var r walker
	spill := false
	if w.o.Wrote != nil {
		if err := w.o.Wrote(len(data)); err != nil {
			return err
		}
	}
	e := func() fserr.Errno {
		w.mu.Lock()
		defer w.mu.Unlock()
		if e := r.walk(&w.st, path, modeCreate); e != 0 {
			return e
		}
		size := int64(len(data))
		if size > w.o.MaxFileSize {
			return fserr.EFBIG
		}
		// What cannot be opened for writing is told by what follows.
		was := r.in
		if was == nil {
			was = &Inode{Ino: w.st.nextIno, Kind: proc.Regular}
		}
		if was.Kind == proc.Regular && !w.fits(was, size) {
			return fserr.EDQUOT
		}
		r = walker{}
		in, made, e := w.openInode(&r, path, flag, mode)
		if e != 0 {
			return e
		}
		if in.Kind == proc.Char {
			if in.Rdev == devFull && size > 0 {
				return fserr.ENOSPC
			}
			_, e := w.openDevice(in)
			return e
		}
		ent := w.touch(in)
		if !made {
			w.setSize(ent, 0, Hash{}, nil)
			w.log("write", r.path(), "", in.Ino)
		}
		if size > 0 {
			w.store(ent, data, 0, nil)
		}
		spill = w.overfull()
		return 0
	}()
	if e != 0 {
		return fserr.Path("open", path, e)
	}
	if spill {
		return w.spillNow()
	}
	return nil
}

// MkdirAll makes a directory and what is missing above it. A directory that exists is fine; anything else
// in the way is EEXIST as the last component and ENOTDIR before it.
func (w *Work) MkdirAll(path string, mode uint32) error {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && (path[i] != '/' || path[i-1] == '/') {
			continue
		}
		st, err := w.Stat(path[:i])
		switch {
		case err == nil && st.IsDir():
			continue
		case err == nil && i < len(path):
			return fserr.Path("mkdir", path, fserr.ENOTDIR)
		case err == nil:
			return fserr.Path("mkdir", path, fserr.EEXIST)
		}
		if e, _ := fserr.Of(err); e != fserr.ENOENT {
			return fserr.Path("mkdir", path, e)
		}
		if err := w.Mkdir(path[:i], mode); err != nil {
			return err
		}
	}
	return nil
}

// RemoveAll removes a file, or a directory with all that is in it. It is ENOENT when there is nothing.
func (w *Work) RemoveAll(path string) error {
	return w.change("unlink", path, func(r *walker) fserr.Errno {
		if e := r.walk(&w.st, path, modeParent); e != 0 {
			return e
		}
		switch {
		case r.last == lastDot:
			return fserr.EINVAL
		case r.last == lastDotDot:
			return fserr.ENOTEMPTY
		case r.last == lastRoot:
			return fserr.EBUSY
		case w.o.ReadOnly:
			return fserr.EROFS
		case r.long:
			return fserr.ENAMETOOLONG
		case r.in == nil:
			return fserr.ENOENT
		case r.slash && r.in.Kind != proc.Dir:
			return fserr.ENOTDIR
		}
		now := w.o.Now()
		if r.in.Kind == proc.Dir {
			if e := w.empty(r.in, now); e != 0 {
				return e
			}
		}
		dir := w.setName(r.parent, r.name, 0, now)
		if r.in.Kind == proc.Dir {
			dir.in.Nlink--
			w.dropDir(r.in)
		} else {
			w.unref(r.in, now)
		}
		w.log("remove", r.path(), "", r.in.Ino)
		return 0
	})
}

// empty removes all that is in a directory.
func (w *Work) empty(dir *Inode, now int64) fserr.Errno {
	if dir.entries() == 0 {
		return 0
	}
	type name struct {
		name string
		ino  Ino
	}
	list := make([]name, 0, dir.entries())
	dir.ext.entries.all(func(s string, ino Ino) bool {
		list = append(list, name{s, ino})
		return true
	})
	for _, n := range list {
		in := w.st.inode(n.ino)
		if in == nil {
			return fserr.EIO
		}
		if in.Kind == proc.Dir {
			if e := w.empty(in, now); e != 0 {
				return e
			}
			w.setName(dir, n.name, 0, now).in.Nlink--
			w.dropDir(in)
		} else {
			w.setName(dir, n.name, 0, now)
			w.unref(in, now)
		}
	}
	return 0
}
