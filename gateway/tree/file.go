package tree

import (
	"errors"
	"io"
	"os"
	"sync"

	"github.com/pgbox/pgbox/gateway/vfs"
)

const accessMode = os.O_RDONLY | os.O_WRONLY | os.O_RDWR

// Open opens a file, as open(2). Character devices are served by device number; FIFOs are not
// supported (EOPNOTSUPP).
func (w *Work) Open(path string, flag int, perm uint32) (vfs.File, error) {
	f, e := w.open(path, flag, perm)
	if e != 0 {
		return nil, vfs.Path("open", path, e)
	}
	return f, nil
}

func (w *Work) open(path string, flag int, perm uint32) (vfs.File, vfs.Errno) {
	if !w.o.ReadOnly {
		w.mu.Lock() // for reading too: opens is counted
		defer w.mu.Unlock()
	}
	var r walker
	in, made, e := w.openInode(&r, path, flag, perm)
	if e != 0 {
		return nil, e
	}
	if in.Kind == vfs.Char {
		return w.openDevice(in)
	}
	f := &file{w: w, ino: in.Ino, kind: in.Kind, flag: flag, logged: made}
	if flag&accessMode != vfs.ReadOnly {
		f.path = r.path()
	}
	if flag&vfs.Trunc != 0 && !made {
		w.setSize(w.touch(in), 0, Hash{}, nil)
		w.log("write", r.path(), "", in.Ino)
		f.logged = true
	}
	if w.o.ReadOnly {
		f.ent = &entry{in: in}
		return f, 0
	}
	if w.opens == nil {
		w.opens = make(map[Ino]int)
	}
	w.opens[in.Ino]++
	return f, 0
}

// openInode finds or creates what open(2) opens. It neither truncates nor counts the open file. The caller
// holds Work.mu.
func (w *Work) openInode(r *walker, path string, flag int, perm uint32) (in *Inode, made bool, e vfs.Errno) {
	m := modeFollow
	switch {
	case flag&vfs.Create != 0 && flag&vfs.Directory != 0:
		return nil, false, vfs.EINVAL
	case flag&vfs.Create != 0 && flag&(vfs.Excl|vfs.NoFollow) != 0:
		m = modeExcl
	case flag&vfs.Create != 0:
		m = modeCreate
	case flag&vfs.NoFollow != 0:
		m = modeNoFollow
	}
	if e := r.walk(&w.st, path, m); e != 0 {
		return nil, false, e
	}
	writes := flag&accessMode != vfs.ReadOnly || flag&vfs.Trunc != 0
	in = r.in
	switch {
	case in == nil && w.o.ReadOnly:
		return nil, false, vfs.EROFS
	case in == nil && len(w.journal) >= maxJournal:
		return nil, false, vfs.ENOSPC
	case in == nil:
		made, e := w.create(r, Inode{Kind: vfs.Regular, Mode: perm, Nlink: 1})
		if e != 0 {
			return nil, false, e
		}
		w.log("create", r.path(), "", made.in.Ino)
		return made.in, true, 0
	case flag&vfs.Create != 0 && flag&vfs.Excl != 0:
		return nil, false, vfs.EEXIST
	case in.Kind == vfs.Dir && flag&vfs.Create != 0:
		return nil, false, vfs.EISDIR
	case flag&vfs.Directory != 0 && in.Kind != vfs.Dir:
		return nil, false, vfs.ENOTDIR
	case in.Kind == vfs.Symlink:
		return nil, false, vfs.ELOOP
	case in.Kind == vfs.Dir && writes:
		return nil, false, vfs.EISDIR
	case in.Kind == vfs.FIFO:
		return nil, false, vfs.EOPNOTSUPP
	case in.Kind == vfs.Regular && writes && w.o.ReadOnly:
		return nil, false, vfs.EROFS
	}
	return in, false, 0
}

// file is an open regular file or directory.
type file struct {
	w    *Work
	ino  Ino
	ent  *entry // of a read-only Work, where it never changes
	path string // canonical, when opened for writing
	kind vfs.Kind
	flag int

	mu     sync.Mutex // guards all below
	off    int64
	closed bool
	logged bool // the journal knows that this file was written
	ahead  window
}

// state returns the file's entry, under Work.mu.
func (f *file) state() *entry {
	if f.ent != nil {
		return f.ent
	}
	return f.w.entryOf(f.ino)
}

func (f *file) readable() vfs.Errno {
	switch {
	case f.closed || f.flag&accessMode == vfs.WriteOnly:
		return vfs.EBADF
	case f.kind == vfs.Dir:
		return vfs.EISDIR
	}
	return 0
}

func (f *file) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.readAt(p, f.off)
	f.off += int64(n)
	return n, err
}

// ReadAt reads at an offset, as pread(2), with the error of io.ReaderAt on a short read.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if off < 0 {
		return 0, vfs.EINVAL
	}
	n, err := f.readAt(p, off)
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (f *file) readAt(p []byte, off int64) (int, error) {
	if e := f.readable(); e != 0 {
		return 0, e
	}
	if len(p) == 0 {
		return 0, nil
	}
	w := f.w
	w.rlock()
	e := f.state()
	if off >= e.in.Size {
		w.runlock()
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), e.in.Size-off))
	need := e.gather(p[:n], off)
	need = f.ahead.fill(need)
	hashes := f.ahead.plan(e, need, off, n)
	w.runlock()
	if err := f.ahead.load(w, need, hashes); err != nil {
		return 0, err
	}
	return n, nil
}

func (f *file) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	off := f.off
	if f.flag&vfs.Append != 0 {
		off = -1
	}
	end, n, err := f.write(p, off)
	if n > 0 {
		f.off = end
	}
	return n, err
}

// WriteAt writes at an offset, as pwrite(2); a file opened for appending appends, as in Linux.
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if off < 0 {
		return 0, vfs.EINVAL
	}
	if f.flag&vfs.Append != 0 {
		off = -1
	}
	_, n, err := f.write(p, off)
	return n, err
}

func (f *file) write(p []byte, off int64) (end int64, n int, err error) {
	if f.closed || f.flag&accessMode == vfs.ReadOnly {
		return 0, 0, vfs.EBADF
	}
	if len(p) == 0 {
		return off, 0, nil
	}
	if f.w.o.Wrote != nil {
		if err := f.w.o.Wrote(len(p)); err != nil {
			return 0, 0, err
		}
	}
	what := f.path
	if f.logged {
		what = ""
	}
	end, err = f.w.write(f.ino, p, off, what)
	if err != nil {
		return end, 0, err
	}
	f.logged = true
	return end, len(p), nil
}

// Seek sets the offset of the next Read or Write.
func (f *file) Seek(off int64, whence int) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, vfs.EBADF
	}
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		off += f.off
	case io.SeekEnd:
		f.w.rlock()
		off += f.state().in.Size
		f.w.runlock()
	default:
		return 0, vfs.EINVAL
	}
	if off < 0 {
		return 0, vfs.EINVAL
	}
	f.off = off
	return off, nil
}

// Stat describes the open file, also when it has no name any more.
func (f *file) Stat() (vfs.Stat, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return vfs.Stat{}, vfs.EBADF
	}
	f.w.rlock()
	defer f.w.runlock()
	return f.w.statInode(f.state().in), nil
}

// Truncate sets the size, as ftruncate(2).
func (f *file) Truncate(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return vfs.EBADF
	case f.flag&accessMode == vfs.ReadOnly || f.kind != vfs.Regular:
		return vfs.EINVAL
	}
	if err := f.w.truncate(f.ino, size, f.path); err != nil {
		return err
	}
	f.logged = true
	return nil
}

// Close ends the use of the file; a file without a name is gone then.
func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return vfs.EBADF
	}
	f.closed = true
	f.ahead = window{}
	w := f.w
	if w.o.ReadOnly {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opens[f.ino]--
	if w.opens[f.ino] > 0 {
		return nil
	}
	delete(w.opens, f.ino)
	if e, ok := w.touched[f.ino]; ok && e.gone {
		w.orphans -= e.in.Size
		w.bury(e)
	}
	return nil
}

// Truncate sets the size of a file by name, as truncate(2).
func (w *Work) Truncate(path string, size int64) error {
	if e := w.truncatePath(path, size); e != nil {
		if n, ok := vfs.Of(e); ok {
			return vfs.Path("truncate", path, n)
		}
		return e
	}
	return nil
}

func (w *Work) truncatePath(path string, size int64) error {
	if size < 0 {
		return vfs.EINVAL
	}
	f, e := w.open(path, vfs.WriteOnly, 0)
	if e != 0 {
		return e
	}
	defer f.Close()
	return f.Truncate(size)
}

// ReadFile returns a whole regular file. The slice may be shared and must not be changed.
func (w *Work) ReadFile(path string) ([]byte, error) {
	var r walker
	w.rlock()
	if e := r.walk(&w.st, path, modeFollow); e != 0 {
		w.runlock()
		return nil, vfs.Path("open", path, e)
	}
	in := r.in
	switch in.Kind {
	case vfs.Regular:
	case vfs.Dir:
		w.runlock()
		return nil, vfs.Path("read", path, vfs.EISDIR)
	default:
		w.runlock()
		return w.readDevice(path)
	}
	if in.Size > w.o.MaxReadFile {
		w.runlock()
		return nil, vfs.Path("read", path, vfs.ENOMEM)
	}
	e := w.entryOf(in.Ino)
	if e.data == nil && in.Size > 0 && in.Size <= ChunkSize && in.hash != (Hash{}) {
		h, size := in.hash, in.Size
		w.runlock()
		b, err := w.small(h, &r)
		if err != nil {
			return nil, vfs.Wrap("read", path, err)
		}
		if int64(len(b)) == size {
			return b, nil
		}
		// The store and the tree disagree; a shorter or longer file must not pass for the right one.
		return nil, vfs.Path("read", path, vfs.EIO)
	}
	buf := make([]byte, in.Size)
	need := e.gather(buf, 0)
	w.runlock()
	if err := w.resolve(need); err != nil {
		return nil, vfs.Wrap("read", path, err)
	}
	return buf, nil
}

// readDevice is ReadFile of what is not a regular file. An endless device ends it with ENOMEM.
func (w *Work) readDevice(path string) ([]byte, error) {
	f, err := w.Open(path, vfs.ReadOnly, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var one [1]byte
	if _, err := f.Read(one[:]); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return nil, vfs.Path("read", path, vfs.ENOMEM)
}

// ReadRange returns up to n bytes of a regular file from off on; n < 0 means to the end. It also returns
// the size of the file.
func (w *Work) ReadRange(path string, off, n int64) ([]byte, int64, error) {
	f, err := w.Open(path, vfs.ReadOnly, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, 0, err
	case st.Kind == vfs.Dir:
		return nil, 0, vfs.Path("read", path, vfs.EISDIR)
	case st.Kind != vfs.Regular || off < 0:
		return nil, 0, vfs.Path("read", path, vfs.EINVAL)
	}
	left := max(0, st.Size-off)
	if n < 0 || n > left {
		n = left
	}
	if n > w.o.MaxReadFile {
		return nil, 0, vfs.Path("read", path, vfs.ENOMEM)
	}
	buf := make([]byte, n)
	k, err := f.ReadAt(buf, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, vfs.Wrap("read", path, err)
	}
	return buf[:k], st.Size, nil
}
