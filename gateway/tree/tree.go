package tree

import (
	"fmt"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// state is what a Tree and a Work have in common. Copying it is O(1); see omap.
type state struct {
	inodes     omap[Ino, *Inode]
	mem        int64 // estimated bytes of memory
	nextIno    Ino
	usedBytes  int64
	usedInodes int64
}

// What one of each costs in memory, map slots and allocator rounding included; TestMemoryPerEntry
// holds the sum against the heap.
const (
	inodeMem  = 112 + 18
	direntMem = 24 + 8
	extMem    = 32 + 64
	chunkMem  = 40
)

func (st *state) inode(ino Ino) *Inode {
	in, _ := st.inodes.get(ino)
	return in
}

func (st *state) putInode(o *owner, in *Inode) {
	if old, ok := st.inodes.set(o, in.Ino, in); ok {
		st.mem -= int64(len(old.Target))
	} else {
		st.mem += inodeMem
	}
	st.mem += int64(len(in.Target))
}

func (st *state) dropInode(o *owner, ino Ino) {
	in, ok := st.inodes.delete(o, ino)
	if !ok {
		return
	}
	st.mem -= inodeMem + int64(len(in.Target))
	if x := in.ext; x != nil {
		st.mem -= extMem + chunkMem*int64(x.chunks.len())
		x.entries.all(func(name string, _ Ino) bool {
			st.mem -= direntMem + nameMem(name)
			return true
		})
	}
}

// nameMem rounds like the allocator does.
func nameMem(name string) int64 { return int64(len(name)+15) &^ 15 }

// ext returns the ext of in, which must be a clone of the caller.
func (st *state) ext(in *Inode) *ext {
	if in.ext == nil {
		in.ext = new(ext)
		st.mem += extMem
	}
	return in.ext
}

// putDirent sets a name in dir, which must be a clone of the caller.
func (st *state) putDirent(o *owner, dir *Inode, name string, ino Ino) {
	if _, ok := st.ext(dir).entries.set(o, name, ino); !ok {
		st.mem += direntMem + nameMem(name)
	}
}

func (st *state) dropDirent(o *owner, dir *Inode, name string) {
	if dir.ext == nil {
		return
	}
	if _, ok := dir.ext.entries.delete(o, name); ok {
		st.mem -= direntMem + nameMem(name)
		st.trim(dir)
	}
}

// trim drops an ext that holds nothing any more.
func (st *state) trim(in *Inode) {
	if in.ext.entries.len() == 0 && in.ext.chunks.len() == 0 {
		in.ext = nil
		st.mem -= extMem
	}
}

// putChunk sets or, with the zero hash, clears a chunk of in, which must be a clone of the caller.
func (st *state) putChunk(o *owner, in *Inode, idx uint32, h Hash) {
	switch {
	case idx == 0:
		in.hash = h
	case h != (Hash{}):
		if _, ok := st.ext(in).chunks.set(o, idx, h); !ok {
			st.mem += chunkMem
		}
	case in.ext != nil:
		if _, ok := in.ext.chunks.delete(o, idx); ok {
			st.mem -= chunkMem
			st.trim(in)
		}
	}
}

// Tree is an immutable snapshot of a sandbox's whole tree at one version. It is safe for any number
// of readers.
type Tree struct {
	st      state
	version int64
}

// Empty returns the tree without any inode, not even a root: the start of a load.
func Empty() *Tree { return &Tree{st: state{nextIno: FirstIno}} }

// Version is the sandbox version that the tree shows.
func (t *Tree) Version() int64 { return t.version }

// NextIno is the inode number that the next new file gets.
func (t *Tree) NextIno() Ino { return t.st.nextIno }

// UsedBytes is the sum of the sizes of all regular files that do not belong to the base layer.
func (t *Tree) UsedBytes() int64 { return t.st.usedBytes }

// UsedInodes is the number of inodes that do not belong to the base layer.
func (t *Tree) UsedInodes() int64 { return t.st.usedInodes }

// Len is the number of inodes.
func (t *Tree) Len() int { return t.st.inodes.len() }

// Bytes estimates the memory that the tree holds, shared parts included.
func (t *Tree) Bytes() int64 { return t.st.mem }

// Inode returns an inode by number, nil when there is none. It must not be changed.
func (t *Tree) Inode(ino Ino) *Inode { return t.st.inode(ino) }

// Inodes calls f for every inode in order of number until f returns false.
func (t *Tree) Inodes(f func(*Inode) bool) {
	t.st.inodes.all(func(_ Ino, in *Inode) bool { return f(in) })
}

// Lookup returns the inode that path names. It must not be changed.
func (t *Tree) Lookup(path string, follow bool) (*Inode, error) {
	var w walker
	if e := w.walk(&t.st, path, followMode(follow)); e != 0 {
		return nil, vfs.Path("stat", path, e)
	}
	return w.in, nil
}

// Stat describes the file that path names, following symlinks.
func (t *Tree) Stat(path string) (vfs.Stat, error) { return t.stat("stat", path, true) }

// Lstat is Stat without following a symlink in the last component.
func (t *Tree) Lstat(path string) (vfs.Stat, error) { return t.stat("lstat", path, false) }

func (t *Tree) stat(op, path string, follow bool) (vfs.Stat, error) {
	var w walker
	if e := w.walk(&t.st, path, followMode(follow)); e != 0 {
		return vfs.Stat{}, vfs.Path(op, path, e)
	}
	s := w.in.stat()
	if w.in.Kind == vfs.Regular {
		s.Blocks = w.in.heldBlocks()
	}
	return s, nil
}

// ReadDir lists a directory in byte order of names.
func (t *Tree) ReadDir(path string) ([]vfs.Dirent, error) { return t.st.readDir(path) }

// Readlink returns the target of a symlink.
func (t *Tree) Readlink(path string) (string, error) { return t.st.readlink(path) }

// Realpath returns the canonical path of an existing file.
func (t *Tree) Realpath(path string) (string, error) { return t.st.realpath(path) }

func (st *state) readDir(path string) ([]vfs.Dirent, error) {
	var w walker
	if e := w.walk(st, path, modeFollow); e != 0 {
		return nil, vfs.Path("open", path, e)
	}
	if w.in.Kind != vfs.Dir {
		return nil, vfs.Path("open", path, vfs.ENOTDIR)
	}
	list := make([]vfs.Dirent, 0, w.in.entries())
	if w.in.ext == nil {
		return list, nil
	}
	broken := false
	w.in.ext.entries.all(func(name string, ino Ino) bool {
		in := st.inode(ino)
		if in == nil {
			broken = true
			return false
		}
		list = append(list, vfs.Dirent{Name: name, Ino: uint64(ino), Kind: in.Kind})
		return true
	})
	if broken {
		return nil, vfs.Path("readdir", path, vfs.EIO)
	}
	return list, nil
}

func (st *state) readlink(path string) (string, error) {
	var w walker
	if e := w.walk(st, path, modeNoFollow); e != 0 {
		return "", vfs.Path("readlink", path, e)
	}
	if w.in.Kind != vfs.Symlink {
		return "", vfs.Path("readlink", path, vfs.EINVAL)
	}
	return w.in.Target, nil
}

func (st *state) realpath(path string) (string, error) {
	var w walker
	if e := w.walk(st, path, modeFollow); e != 0 {
		return "", vfs.Path("realpath", path, e)
	}
	return w.path(), nil
}

// DirentRow is a row of the table dirent. Ino 0 removes the name.
type DirentRow struct {
	Parent Ino
	Name   string
	Ino    Ino
}

// ChunkRow is a row of the table chunk. A hole removes the chunk.
type ChunkRow struct {
	Ino  Ino
	Idx  uint32
	Hash Hash
	Hole bool
}

// Patch is a set of row changes that lead from one version of a tree to the next: the rows
// of a layer, of a transaction, or of a commit. An inode row of kind [Whiteout] removes the
// inode with its names and chunks.
type Patch struct {
	Version    int64
	NextIno    Ino
	UsedBytes  int64
	UsedInodes int64
	Inodes     []Inode
	Dirents    []DirentRow
	Chunks     []ChunkRow
}

// Patch returns the tree with p applied. It costs O(rows); rows in key order on an empty tree are loaded
// in bulk. It keeps no reference to the slices of p. A row that cannot belong to this tree (a name in a directory
// that is not there, a chunk of a missing inode) is an error that carries EIO: the caller's rows are not
// of this tree.
func (t *Tree) Patch(p *Patch) (*Tree, error) {
	n := &Tree{st: t.st, version: p.Version}
	st, o := &n.st, new(owner)
	st.nextIno, st.usedBytes, st.usedInodes = p.NextIno, p.UsedBytes, p.UsedInodes
	if st.inodes.len() == 0 && bulkOrder(p) {
		return n, st.load(o, p)
	}
	// own holds the inodes that this patch may change in place.
	own := make(map[Ino]*Inode, len(p.Inodes))
	for i := range p.Inodes {
		row := &p.Inodes[i]
		if row.Kind == Whiteout {
			st.dropInode(o, row.Ino)
			delete(own, row.Ino)
			continue
		}
		c := *row
		c.hash, c.ext = Hash{}, nil
		if old := st.inode(row.Ino); old != nil {
			k := old.clone()
			c.hash, c.ext = k.hash, k.ext
		}
		own[row.Ino] = &c
		st.putInode(o, &c)
	}
	mutable := func(ino Ino) *Inode {
		if in, ok := own[ino]; ok {
			return in
		}
		in := st.inode(ino)
		if in == nil {
			return nil
		}
		in = in.clone()
		own[ino] = in
		st.putInode(o, in)
		return in
	}
	for _, row := range p.Dirents {
		dir := mutable(row.Parent)
		switch {
		case row.Ino == 0 && dir == nil: // removed with its directory
		case dir == nil || dir.Kind != vfs.Dir:
			return nil, fmt.Errorf("dirent %q of inode %d, which is no directory: %w", row.Name, row.Parent, vfs.EIO)
		case row.Ino == 0:
			st.dropDirent(o, dir, row.Name)
		default:
			st.putDirent(o, dir, row.Name, row.Ino)
		}
	}
	for _, row := range p.Chunks {
		in := mutable(row.Ino)
		hole := row.Hole || row.Hash == (Hash{})
		switch {
		case in == nil && hole: // removed with its inode
		case in == nil || in.Kind != vfs.Regular:
			return nil, fmt.Errorf("chunk %d of inode %d, which is no file: %w", row.Idx, row.Ino, vfs.EIO)
		case hole:
			st.putChunk(o, in, row.Idx, Hash{})
		default:
			st.putChunk(o, in, row.Idx, row.Hash)
		}
	}
	return n, nil
}

// bulkOrder reports whether the rows are in strict key order and remove nothing.
func bulkOrder(p *Patch) bool {
	for i := range p.Inodes {
		if p.Inodes[i].Kind == Whiteout || i > 0 && p.Inodes[i-1].Ino >= p.Inodes[i].Ino {
			return false
		}
	}
	for i := range p.Dirents {
		d := &p.Dirents[i]
		if d.Ino == 0 {
			return false
		}
		if i > 0 {
			if b := &p.Dirents[i-1]; b.Parent > d.Parent || b.Parent == d.Parent && b.Name >= d.Name {
				return false
			}
		}
	}
	for i := range p.Chunks {
		c := &p.Chunks[i]
		if c.Hole || c.Hash == (Hash{}) {
			return false
		}
		if i > 0 {
			if b := &p.Chunks[i-1]; b.Ino > c.Ino || b.Ino == c.Ino && b.Idx >= c.Idx {
				return false
			}
		}
	}
	return true
}

// loadBlock is how many inodes one allocation of a bulk load holds: few enough that an inode which outlives its
// neighbours pins little memory.
const loadBlock = 512

// load fills an empty state with rows in key order.
func (st *state) load(o *owner, p *Patch) error {
	items := make([]item[Ino, *Inode], len(p.Inodes))
	var block []Inode
	for i := range p.Inodes {
		if len(block) == 0 {
			block = make([]Inode, min(loadBlock, len(p.Inodes)-i))
		}
		in := &block[0]
		block = block[1:]
		*in = p.Inodes[i]
		in.hash, in.ext = Hash{}, nil
		items[i] = item[Ino, *Inode]{in.Ino, in}
		st.mem += inodeMem + int64(len(in.Target))
	}
	// The rows are in order of inode number too, so one cursor finds all inodes.
	at := 0
	find := func(ino Ino) *Inode {
		for at < len(items) && items[at].key < ino {
			at++
		}
		if at < len(items) && items[at].key == ino {
			return items[at].val
		}
		return nil
	}
	var names []item[string, Ino]
	for i := 0; i < len(p.Dirents); {
		parent := p.Dirents[i].Parent
		dir := find(parent)
		if dir == nil || dir.Kind != vfs.Dir {
			return fmt.Errorf("dirent %q of inode %d, which is no directory: %w", p.Dirents[i].Name, parent, vfs.EIO)
		}
		names = names[:0]
		for ; i < len(p.Dirents) && p.Dirents[i].Parent == parent; i++ {
			names = append(names, item[string, Ino]{p.Dirents[i].Name, p.Dirents[i].Ino})
			st.mem += direntMem + nameMem(p.Dirents[i].Name)
		}
		st.ext(dir).entries = build(o, names)
	}
	at = 0
	var chunks []item[uint32, Hash]
	for i := 0; i < len(p.Chunks); {
		ino := p.Chunks[i].Ino
		in := find(ino)
		if in == nil || in.Kind != vfs.Regular {
			return fmt.Errorf("chunk %d of inode %d, which is no file: %w", p.Chunks[i].Idx, ino, vfs.EIO)
		}
		chunks = chunks[:0]
		for ; i < len(p.Chunks) && p.Chunks[i].Ino == ino; i++ {
			if p.Chunks[i].Idx == 0 {
				in.hash = p.Chunks[i].Hash
				continue
			}
			chunks = append(chunks, item[uint32, Hash]{p.Chunks[i].Idx, p.Chunks[i].Hash})
			st.mem += chunkMem
		}
		if len(chunks) > 0 {
			st.ext(in).chunks = build(o, chunks)
		}
	}
	st.inodes = build(o, items)
	return nil
}
