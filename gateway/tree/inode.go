package tree

import (
	"github.com/pgbox/pgbox/gateway/vfs"
)

// ChunkSize is the number of bytes of every chunk of a file but its last.
const ChunkSize = 64 << 10

// RootIno is the root directory. Inodes below FirstIno belong to the base layer
// that all sandboxes share; they do not count in a sandbox's usage.
const (
	RootIno  Ino = 1
	FirstIno Ino = 1024
)

// Ino is an inode number. Numbers keep their meaning through forks and snapshots.
type Ino uint64

// Hash is the SHA-256 of a chunk's bytes. The zero Hash stands for a hole.
type Hash [32]byte

// Kind is a file type, numbered as in readdir(3).
type Kind = vfs.Kind

// Whiteout is the kind of an inode row that removes the inode.
const Whiteout Kind = 0

// Inode is one file. It is immutable once it is part of a [Tree].
type Inode struct {
	Ino    Ino
	Size   int64  // bytes of a regular file, else 0
	Mtime  int64  // nanoseconds since the epoch
	Ctime  int64  // nanoseconds since the epoch
	Target string // of a symlink

	ext  *ext
	hash Hash // chunk 0; most files have no other

	Mode  uint32 // permission bits, 0..07777
	UID   uint32
	GID   uint32
	Nlink uint32
	Rdev  uint32 // major<<8 | minor
	Kind  Kind
}

// ext is what only directories and files of more than one chunk have.
type ext struct {
	entries omap[string, Ino]
	chunks  omap[uint32, Hash] // from chunk 1 on; holes are not in it
}

// Chunk returns the hash of chunk idx; the zero Hash is a hole.
func (in *Inode) Chunk(idx uint32) Hash {
	if idx == 0 {
		return in.hash
	}
	if in.ext == nil {
		return Hash{}
	}
	h, _ := in.ext.chunks.get(idx)
	return h
}

// chunksFrom calls f for every chunk with content from idx on, in order.
func (in *Inode) chunksFrom(idx uint32, f func(uint32, Hash)) {
	if idx == 0 && in.hash != (Hash{}) {
		f(0, in.hash)
	}
	if in.ext != nil {
		in.ext.chunks.ascend(idx, func(i uint32, h Hash) bool {
			f(i, h)
			return true
		})
	}
}

// entry returns the inode number of a name in a directory.
func (in *Inode) entry(name string) (Ino, bool) {
	if in.ext == nil {
		return 0, false
	}
	return in.ext.entries.get(name)
}

// entries returns the number of names in a directory.
func (in *Inode) entries() int {
	if in.ext == nil {
		return 0
	}
	return in.ext.entries.len()
}

// clone returns a copy that shares no mutable state with in.
func (in *Inode) clone() *Inode {
	c := *in
	if in.ext != nil {
		x := *in.ext
		c.ext = &x
	}
	return &c
}

// sameRow reports whether the columns of two inode rows are equal.
func sameRow(a, b *Inode) bool {
	return a.Ino == b.Ino && a.Kind == b.Kind && a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID &&
		a.Nlink == b.Nlink && a.Rdev == b.Rdev && a.Size == b.Size && a.Mtime == b.Mtime && a.Ctime == b.Ctime &&
		a.Target == b.Target
}

// counts is what in adds to a sandbox's usage.
func (in *Inode) counts() (bytes, inodes int64) {
	if in.Ino < FirstIno {
		return 0, 0
	}
	if in.Kind == vfs.Regular {
		return in.Size, 1
	}
	return 0, 1
}

// blockSize is the unit in which space is accounted in [vfs.Stat]'s Blocks, as ext4 does.
const blockSize = 4096

func blocks(n int64) int64 { return (n + blockSize - 1) / blockSize * (blockSize / 512) }

// stat fills in everything but Blocks of a regular file.
func (in *Inode) stat() vfs.Stat {
	s := vfs.Stat{
		Ino: uint64(in.Ino), Kind: in.Kind, Mode: in.Mode, UID: in.UID, GID: in.GID, Nlink: in.Nlink,
		Rdev: in.Rdev, Size: in.Size, Mtime: in.Mtime, Ctime: in.Ctime,
	}
	switch in.Kind {
	case vfs.Dir:
		s.Size, s.Blocks = blockSize, blockSize/512
	case vfs.Symlink:
		s.Size = int64(len(in.Target))
	}
	return s
}

// heldBlocks is Blocks of a regular file whose content is all by hash.
func (in *Inode) heldBlocks() int64 {
	var n int64
	add := func(idx uint32, h Hash) {
		if h != (Hash{}) {
			n += blocks(chunkLen(in.Size, idx))
		}
	}
	add(0, in.hash)
	if in.ext != nil && in.ext.chunks.len() > 0 {
		last := uint32((in.Size - 1) / ChunkSize)
		h := in.Chunk(last)
		whole := int64(in.ext.chunks.len())
		if h != (Hash{}) {
			whole--
			add(last, h)
		}
		n += whole * (ChunkSize / 512)
	}
	return n
}

// chunkLen is the length of chunk idx in a file of the given size.
func chunkLen(size int64, idx uint32) int64 {
	return max(0, min(ChunkSize, size-int64(idx)*ChunkSize))
}
