package tree

import (
	"github.com/pgbox/pgbox/gateway/vfs"
)

// WriteFile makes a file of data, or replaces the content of an existing one, which keeps its
// inode and mode. When it fails nothing has changed.
func (w *Work) WriteFile(path string, data []byte, mode uint32) error {
	const flag = vfs.WriteOnly | vfs.Create | vfs.Trunc
	var r walker
	spill := false
	if w.o.Wrote != nil {
		if err := w.o.Wrote(len(data)); err != nil {
			return err
		}
	}
	e := func() vfs.Errno {
		w.mu.Lock()
		defer w.mu.Unlock()
		if e := r.walk(&w.st, path, modeCreate); e != 0 {
			return e
		}
		size := int64(len(data))
		if size > w.o.MaxFileSize {
			return vfs.EFBIG
		}
		// What cannot be opened for writing is told by what follows.
		was := r.in
		if was == nil {
			was = &Inode{Ino: w.st.nextIno, Kind: vfs.Regular}
		}
		if was.Kind == vfs.Regular && !w.fits(was, size) {
			return vfs.EDQUOT
		}
		r = walker{}
		in, made, e := w.openInode(&r, path, flag, mode)
		if e != 0 {
			return e
		}
		if in.Kind == vfs.Char {
			if in.Rdev == devFull && size > 0 {
				return vfs.ENOSPC
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
		return vfs.Path("open", path, e)
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
			return vfs.Path("mkdir", path, vfs.ENOTDIR)
		case err == nil:
			return vfs.Path("mkdir", path, vfs.EEXIST)
		}
		if e, _ := vfs.Of(err); e != vfs.ENOENT {
			return vfs.Path("mkdir", path, e)
		}
		if err := w.Mkdir(path[:i], mode); err != nil {
			return err
		}
	}
	return nil
}

// RemoveAll removes a file, or a directory with all that is in it. It is ENOENT when there is nothing.
func (w *Work) RemoveAll(path string) error {
	return w.change("unlink", path, func(r *walker) vfs.Errno {
		if e := r.walk(&w.st, path, modeParent); e != 0 {
			return e
		}
		switch {
		case r.last == lastDot:
			return vfs.EINVAL
		case r.last == lastDotDot:
			return vfs.ENOTEMPTY
		case r.last == lastRoot:
			return vfs.EBUSY
		case w.o.ReadOnly:
			return vfs.EROFS
		case r.long:
			return vfs.ENAMETOOLONG
		case r.in == nil:
			return vfs.ENOENT
		case r.slash && r.in.Kind != vfs.Dir:
			return vfs.ENOTDIR
		}
		now := w.o.Now()
		if r.in.Kind == vfs.Dir {
			if e := w.empty(r.in, now); e != 0 {
				return e
			}
		}
		dir := w.setName(r.parent, r.name, 0, now)
		if r.in.Kind == vfs.Dir {
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
func (w *Work) empty(dir *Inode, now int64) vfs.Errno {
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
			return vfs.EIO
		}
		if in.Kind == vfs.Dir {
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
