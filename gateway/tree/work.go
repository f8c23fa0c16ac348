package tree

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// Content returns the bytes of chunks by hash. The slices are immutable and shared. Load returns them in
// the order of hashes.
type Content interface {
	Load(ctx context.Context, hashes []Hash) ([][]byte, error)
}

// Peeker is a [Content] that can say what it holds in memory. A Work asks it first, and
// reads ahead only when something was missing.
type Peeker interface {
	Peek(h Hash) ([]byte, bool)
}

// Options of [Tree.Begin]. Zero limits are no limits.
type Options struct {
	Content   Content
	Now       func() int64 // nanoseconds since the epoch; nil: the clock
	ReadOnly  bool         // every mutation fails with EROFS
	MaxBytes  int64        // of all regular files; beyond it EDQUOT
	MaxInodes int64
	UID, GID  uint32 // of new files
	// MaxFileSize bounds one file; beyond it EFBIG.
	MaxFileSize int64
	// MaxReadFile bounds what ReadFile returns in one slice; beyond it ENOMEM. Zero is 1 GiB.
	MaxReadFile int64
	// Wrote is nil, or told of every write before it is done; its error fails the write.
	Wrote func(n int) error
	// Failed is nil, or told of an error of Content or Spill that is nothing a file could have (it carries no errno): the
	// store cannot be reached. Who reads or writes gets EIO then, because a program must neither show such an error nor go
	// on as if the file were damaged.
	Failed func(err error)
	// DirtyMax is how many bytes of written chunks stay in memory when there is a Spill. Above it
	// chunks are handed to Spill, must be known to Content when it returns, and are dropped.
	DirtyMax int64
	Spill    func(ctx context.Context, chunks [][]byte) error
}

// largestFile keeps chunk numbers in the range of the column chunk.idx.
const largestFile = 1 << 31 * ChunkSize

// Work is a private copy-on-write working tree. It implements [vfs.FS]; all methods are safe for
// concurrent use.
type Work struct {
	ctx   context.Context
	o     Options
	peek  func(Hash) ([]byte, bool)
	spill sync.Mutex // held while chunks are spilled, before mu

	mu      sync.RWMutex // guards all below; not taken by a read-only Work, which never changes
	base    *Tree
	st      state
	owner   *owner
	touched map[Ino]*entry
	opens   map[Ino]int // open files by inode
	orphans int64       // bytes of files that have no name but are open
	dirty   int64       // bytes of chunks in memory
	journal []Change
	logged  map[Ino]int // the last entry of each inode in the journal

	ahead readAhead
}

var _ vfs.FS = (*Work)(nil)

// entry is an inode that this Work made or changed.
type entry struct {
	in    *Inode // may be changed under Work.mu
	base  *Inode // what it was; nil: it is new
	gone  bool   // no name is left; kept for open files and for the delta
	data  *overlay
	names map[string]struct{} // names of a directory that changed
}

// Change is one operation in the journal of a Work. Paths are canonical.
type Change struct {
	Op     string // create, write, truncate, mkdir, rmdir, unlink, rename, link, symlink, mknod, chmod, chown, utimes
	Path   string
	PathTo string // of rename and link: the new name; of symlink: the target
	Ino    Ino
	// Before and After are what a regular file held before and after all that the Work did, filled in by [Work.Delta];
	// nil: there was none, or it is something else.
	Before, After *Digest
}

// maxJournal bounds the operations, and with them the memory, of one Work; beyond it they fail with ENOSPC.
const maxJournal = 1 << 20

// Begin starts a working tree over t. It costs O(1). ctx bounds loads of content for the life of the Work.
func (t *Tree) Begin(ctx context.Context, o Options) *Work {
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixNano() }
	}
	if o.MaxFileSize == 0 || o.MaxFileSize > largestFile {
		o.MaxFileSize = largestFile
	}
	if o.MaxReadFile == 0 {
		o.MaxReadFile = 1 << 30
	}
	w := &Work{ctx: ctx, o: o, base: t, st: t.st, owner: new(owner)}
	if p, ok := o.Content.(Peeker); ok {
		w.peek = p.Peek
	}
	return w
}

func (w *Work) rlock() {
	if !w.o.ReadOnly {
		w.mu.RLock()
	}
}

func (w *Work) runlock() {
	if !w.o.ReadOnly {
		w.mu.RUnlock()
	}
}

// touch makes an inode changeable.
func (w *Work) touch(in *Inode) *entry {
	if e, ok := w.touched[in.Ino]; ok {
		return e
	}
	e := &entry{in: in.clone(), base: in}
	w.add(e)
	return e
}

func (w *Work) add(e *entry) {
	if w.touched == nil {
		w.touched = make(map[Ino]*entry)
	}
	w.touched[e.in.Ino] = e
	w.st.putInode(w.owner, e.in)
}

// create makes an inode and its name. The walk r found the directory and no such name.
func (w *Work) create(r *walker, in Inode) (*entry, vfs.Errno) {
	if w.o.MaxInodes > 0 && w.st.usedInodes >= w.o.MaxInodes {
		return nil, vfs.EDQUOT
	}
	now := w.o.Now()
	in.Ino = w.st.nextIno
	in.Mode &= 0o7777
	in.UID, in.GID, in.Mtime, in.Ctime = w.o.UID, w.o.GID, now, now
	w.st.nextIno++
	w.st.usedInodes++
	e := &entry{in: &in}
	w.add(e)
	dir := w.setName(r.parent, r.name, in.Ino, now)
	if in.Kind == vfs.Dir {
		dir.in.Nlink++
	}
	return e, 0
}

// setName sets (ino 0: removes) a name in a directory.
func (w *Work) setName(parent *Inode, name string, ino Ino, now int64) *entry {
	dir := w.touch(parent)
	// A name is a part of the caller's path, and keys of the tree live long.
	name = strings.Clone(name)
	if dir.names == nil {
		dir.names = make(map[string]struct{})
	}
	dir.names[name] = struct{}{}
	if ino == 0 {
		w.st.dropDirent(w.owner, dir.in, name)
	} else {
		w.st.putDirent(w.owner, dir.in, name, ino)
	}
	dir.in.Mtime, dir.in.Ctime = now, now
	return dir
}

// unref takes one name away from a file that is not a directory.
func (w *Work) unref(in *Inode, now int64) {
	e := w.touch(in)
	e.in.Nlink--
	e.in.Ctime = now
	if e.in.Nlink == 0 {
		w.forget(e)
	}
}

// forget removes an inode that has no name left. Its content stays while it is open.
func (w *Work) forget(e *entry) {
	bytes, inodes := e.in.counts()
	w.st.usedBytes -= bytes
	w.st.usedInodes -= inodes
	w.st.dropInode(w.owner, e.in.Ino)
	e.gone = true
	if w.opens[e.in.Ino] > 0 {
		w.orphans += e.in.Size
		return
	}
	w.bury(e)
}

// bury frees what a nameless inode holds.
func (w *Work) bury(e *entry) {
	if e.data != nil {
		w.dirty -= e.data.bytes
		e.data = nil
	}
	if e.base == nil {
		delete(w.touched, e.in.Ino)
	}
}

// log adds to the journal. An entry says what a file held before and after all that the Work did, so a file that is
// written to after it was created or written to under this name has its entry.
func (w *Work) log(op, path, to string, ino Ino) {
	if n, ok := w.logged[ino]; ok && op != "rename" {
		l := &w.journal[n]
		wrote := (op == "write" || op == "truncate") && (l.Op == "create" || l.Op == "write")
		if (wrote || l.Op == op) && l.Path == path && l.PathTo == to {
			return
		}
	}
	if w.logged == nil {
		w.logged = make(map[Ino]int)
	}
	w.logged[ino] = len(w.journal)
	w.journal = append(w.journal, Change{Op: op, Path: path, PathTo: to, Ino: ino})
}

// Stat describes the file that path names, following symlinks.
func (w *Work) Stat(path string) (vfs.Stat, error) { return w.statPath("stat", path, modeFollow) }

// Lstat is Stat without following a symlink in the last component.
func (w *Work) Lstat(path string) (vfs.Stat, error) { return w.statPath("lstat", path, modeNoFollow) }

func (w *Work) statPath(op, path string, m mode) (vfs.Stat, error) {
	var r walker
	w.rlock()
	defer w.runlock()
	if e := r.walk(&w.st, path, m); e != 0 {
		return vfs.Stat{}, vfs.Path(op, path, e)
	}
	return w.statInode(r.in), nil
}

func (w *Work) statInode(in *Inode) vfs.Stat {
	s := in.stat()
	if in.Kind == vfs.Regular {
		if e, ok := w.touched[in.Ino]; ok && e.data != nil {
			s.Blocks = e.heldBlocks()
		} else {
			s.Blocks = in.heldBlocks()
		}
	}
	return s
}

// ReadDir lists a directory in byte order of names, without "." and "..".
func (w *Work) ReadDir(path string) ([]vfs.Dirent, error) {
	w.rlock()
	defer w.runlock()
	return w.st.readDir(path)
}

// Readlink returns the target of a symlink.
func (w *Work) Readlink(path string) (string, error) {
	w.rlock()
	defer w.runlock()
	return w.st.readlink(path)
}

// Realpath returns the canonical path of an existing file.
func (w *Work) Realpath(path string) (string, error) {
	w.rlock()
	defer w.runlock()
	return w.st.realpath(path)
}

// Usage says what the sandbox holds and may hold.
func (w *Work) Usage() vfs.Usage {
	w.rlock()
	defer w.runlock()
	return vfs.Usage{
		Bytes: w.st.usedBytes, MaxBytes: w.o.MaxBytes,
		Inodes: w.st.usedInodes, MaxInodes: w.o.MaxInodes,
	}
}

// change runs f under the lock and wraps its errno.
func (w *Work) change(op, path string, f func(r *walker) vfs.Errno) error {
	var r walker
	w.mu.Lock()
	e := vfs.ENOSPC
	if len(w.journal) < maxJournal {
		e = f(&r)
	}
	w.mu.Unlock()
	if e != 0 {
		return vfs.Path(op, path, e)
	}
	return nil
}

// vacant walks to the place of a new name, as filename_create in Linux does: what exists is EEXIST even on
// a read-only tree, a trailing slash is for directories only.
func (w *Work) vacant(r *walker, path string, dir bool) vfs.Errno {
	if e := r.walk(&w.st, path, modeParent); e != 0 {
		return e
	}
	switch {
	case r.long:
		return vfs.ENAMETOOLONG
	case r.last != lastNorm || r.in != nil:
		return vfs.EEXIST
	case r.slash && !dir:
		return vfs.ENOENT
	case w.o.ReadOnly:
		return vfs.EROFS
	}
	return 0
}

// Mkdir makes a directory, as mkdir(2).
func (w *Work) Mkdir(path string, perm uint32) error {
	return w.change("mkdir", path, func(r *walker) vfs.Errno {
		if e := w.vacant(r, path, true); e != 0 {
			return e
		}
		d, e := w.create(r, Inode{Kind: vfs.Dir, Mode: perm, Nlink: 2})
		if e == 0 {
			w.log("mkdir", r.path(), "", d.in.Ino)
		}
		return e
	})
}

// Symlink makes a symlink, as symlink(2).
func (w *Work) Symlink(target, path string) error {
	return w.change("symlink", path, func(r *walker) vfs.Errno {
		if target == "" {
			return vfs.ENOENT
		}
		if e := checkText(target); e != 0 {
			return e
		}
		if e := w.vacant(r, path, false); e != 0 {
			return e
		}
		s, e := w.create(r, Inode{Kind: vfs.Symlink, Mode: 0o777, Nlink: 1, Target: strings.Clone(target)})
		if e == 0 {
			w.log("symlink", r.path(), target, s.in.Ino)
		}
		return e
	})
}

// Mknod makes a FIFO, a character device or an empty regular file, as mknod(2).
func (w *Work) Mknod(path string, kind vfs.Kind, perm uint32, rdev uint32) error {
	return w.change("mknod", path, func(r *walker) vfs.Errno {
		switch kind {
		case vfs.Regular, vfs.FIFO:
			rdev = 0
		case vfs.Char:
		case vfs.Dir:
			return vfs.EPERM
		default:
			return vfs.EINVAL
		}
		if e := w.vacant(r, path, false); e != 0 {
			return e
		}
		n, e := w.create(r, Inode{Kind: kind, Mode: perm, Nlink: 1, Rdev: rdev})
		if e == 0 {
			w.log("mknod", r.path(), "", n.in.Ino)
		}
		return e
	})
}

// Link makes another name for a file, as link(2); a symlink in from is not followed.
func (w *Work) Link(from, to string) error {
	return w.change("link", to, func(r *walker) vfs.Errno {
		var f walker
		if e := f.walk(&w.st, from, modeNoFollow); e != 0 {
			return e
		}
		if e := w.vacant(r, to, false); e != 0 {
			return e
		}
		if f.in.Kind == vfs.Dir {
			return vfs.EPERM
		}
		now := w.o.Now()
		e := w.touch(f.in)
		e.in.Nlink++
		e.in.Ctime = now
		w.setName(r.parent, r.name, f.in.Ino, now)
		w.log("link", f.path(), r.path(), f.in.Ino)
		return 0
	})
}

// Unlink removes a name of a file that is not a directory, as unlink(2).
func (w *Work) Unlink(path string) error {
	return w.change("unlink", path, func(r *walker) vfs.Errno {
		if e := r.walk(&w.st, path, modeParent); e != 0 {
			return e
		}
		switch {
		case r.last != lastNorm:
			return vfs.EISDIR
		case w.o.ReadOnly:
			return vfs.EROFS
		case r.long:
			return vfs.ENAMETOOLONG
		case r.in == nil:
			return vfs.ENOENT
		case r.in.Kind == vfs.Dir:
			return vfs.EISDIR
		case r.slash:
			return vfs.ENOTDIR
		}
		now := w.o.Now()
		w.setName(r.parent, r.name, 0, now)
		w.unref(r.in, now)
		w.log("unlink", r.path(), "", r.in.Ino)
		return 0
	})
}

// Rmdir removes an empty directory, as rmdir(2).
func (w *Work) Rmdir(path string) error {
	return w.change("rmdir", path, func(r *walker) vfs.Errno {
		if e := r.walk(&w.st, path, modeParent); e != 0 {
			return e
		}
		switch r.last {
		case lastRoot:
			return vfs.EBUSY
		case lastDot:
			return vfs.EINVAL
		case lastDotDot:
			return vfs.ENOTEMPTY
		}
		switch {
		case w.o.ReadOnly:
			return vfs.EROFS
		case r.long:
			return vfs.ENAMETOOLONG
		case r.in == nil:
			return vfs.ENOENT
		case r.in.Kind != vfs.Dir:
			return vfs.ENOTDIR
		case r.in.entries() > 0:
			return vfs.ENOTEMPTY
		}
		now := w.o.Now()
		w.setName(r.parent, r.name, 0, now).in.Nlink--
		w.dropDir(r.in)
		w.log("rmdir", r.path(), "", r.in.Ino)
		return 0
	})
}

// dropDir removes an empty directory whose name is gone.
func (w *Work) dropDir(in *Inode) {
	e := w.touch(in)
	e.in.Nlink = 0
	w.forget(e)
}

// Rename moves a name, as rename(2).
func (w *Work) Rename(from, to string) error {
	return w.change("rename", from, func(f *walker) vfs.Errno {
		var t walker
		if e := f.walk(&w.st, from, modeParent); e != 0 {
			return e
		}
		if e := t.walk(&w.st, to, modeParent); e != 0 {
			return e
		}
		switch {
		case f.last != lastNorm || t.last != lastNorm:
			return vfs.EBUSY
		case w.o.ReadOnly:
			return vfs.EROFS
		case f.long:
			return vfs.ENAMETOOLONG
		case f.in == nil:
			return vfs.ENOENT
		case t.long:
			return vfs.ENAMETOOLONG
		}
		dir := f.in.Kind == vfs.Dir
		switch {
		case !dir && (f.slash || t.slash):
			return vfs.ENOTDIR
		case dir && t.within(f.in.Ino):
			return vfs.EINVAL
		case t.in != nil && t.in.Kind == vfs.Dir && f.within(t.in.Ino):
			return vfs.ENOTEMPTY
		case t.in != nil && t.in.Ino == f.in.Ino:
			return 0
		case t.in != nil && dir && t.in.Kind != vfs.Dir:
			return vfs.ENOTDIR
		case t.in != nil && !dir && t.in.Kind == vfs.Dir:
			return vfs.EISDIR
		case t.in != nil && dir && t.in.entries() > 0:
			return vfs.ENOTEMPTY
		}
		now := w.o.Now()
		old := w.setName(f.parent, f.name, 0, now)
		dst := w.setName(t.parent, t.name, f.in.Ino, now)
		if dir {
			old.in.Nlink--
			dst.in.Nlink++
		}
		if t.in != nil {
			if dir {
				dst.in.Nlink--
				w.dropDir(t.in)
			} else {
				w.unref(t.in, now)
			}
		}
		w.touch(f.in).in.Ctime = now
		w.log("rename", f.path(), t.path(), f.in.Ino)
		return 0
	})
}

// attr changes attributes of an existing file.
func (w *Work) attr(op, path string, follow bool, set func(in *Inode)) error {
	return w.change(op, path, func(r *walker) vfs.Errno {
		if e := r.walk(&w.st, path, followMode(follow)); e != 0 {
			return e
		}
		if w.o.ReadOnly {
			return vfs.EROFS
		}
		e := w.touch(r.in)
		set(e.in)
		e.in.Ctime = w.o.Now()
		w.log(op, r.path(), "", r.in.Ino)
		return 0
	})
}

// Chmod sets the permission bits, following symlinks.
func (w *Work) Chmod(path string, mode uint32) error {
	return w.attr("chmod", path, true, func(in *Inode) { in.Mode = mode & 0o7777 })
}

// Chown sets owner and group; -1 leaves one as it is.
func (w *Work) Chown(path string, uid, gid int, follow bool) error {
	return w.attr("chown", path, follow, func(in *Inode) {
		if uid != -1 {
			in.UID = uint32(uid)
		}
		if gid != -1 {
			in.GID = uint32(gid)
		}
	})
}

// Utimes sets the modification time, in nanoseconds since the epoch.
func (w *Work) Utimes(path string, mtime int64, follow bool) error {
	return w.attr("utimes", path, follow, func(in *Inode) { in.Mtime = mtime })
}

// Dirty reports whether there is anything to commit.
func (w *Work) Dirty() bool {
	w.rlock()
	defer w.runlock()
	return len(w.touched) > 0
}
