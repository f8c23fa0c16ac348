package tree

import (
	"crypto/sha256"
	"math"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// overlay is what a Work wrote over the content of a file.
type overlay struct {
	chunks map[uint32]*chunk
	limit  uint32 // chunks of the inode from here on were cut off
	bytes  int64  // held in memory by chunks
}

// chunk is one written chunk.
type chunk struct {
	// data may be shorter than the chunk: zeros follow. nil: the content is that of hash,
	// or was spilled.
	data   []byte
	hash   Hash // of data when hashed
	hashed bool
	frozen bool // data is being spilled: it must be copied before it changes
}

// thaw makes data private to the caller, who holds Work.mu and is about to change it.
func (c *chunk) thaw() {
	c.hashed = false
	if c.frozen {
		c.data, c.frozen = append(make([]byte, 0, ChunkSize), c.data...), false
	}
}

func (e *entry) overlay() *overlay {
	if e.data == nil {
		e.data = &overlay{chunks: make(map[uint32]*chunk, 1), limit: math.MaxUint32}
	}
	return e.data
}

// find returns the content of chunk idx: bytes in memory (mem != nil), or a hash, which is zero for a hole.
func (e *entry) find(idx uint32) (mem *chunk, h Hash) {
	if e.data != nil {
		if c, ok := e.data.chunks[idx]; ok {
			if c.data == nil {
				return nil, c.hash
			}
			return c, Hash{}
		}
		if idx >= e.data.limit {
			return nil, Hash{}
		}
	}
	return nil, e.in.Chunk(idx)
}

// held calls f for every chunk that has content, in no order.
func (e *entry) held(f func(idx uint32)) {
	limit := uint32(math.MaxUint32)
	if e.data != nil {
		limit = e.data.limit
		for idx, c := range e.data.chunks {
			if c.data != nil || c.hash != (Hash{}) {
				f(idx)
			}
		}
	}
	e.in.chunksFrom(0, func(idx uint32, _ Hash) {
		if idx >= limit {
			return
		}
		if e.data != nil {
			if _, ok := e.data.chunks[idx]; ok {
				return
			}
		}
		f(idx)
	})
}

func (e *entry) heldBlocks() int64 {
	var n int64
	e.held(func(idx uint32) { n += blocks(chunkLen(e.in.Size, idx)) })
	return n
}

// dirtyChunk returns chunk idx for writing at least room bytes; old is its content when that is by hash.
func (w *Work) dirtyChunk(e *entry, idx uint32, old []byte, room int) *chunk {
	o := e.overlay()
	c, ok := o.chunks[idx]
	if !ok {
		c = new(chunk)
		o.chunks[idx] = c
	}
	c.thaw()
	if c.data == nil {
		c.data = make([]byte, len(old), max(len(old), min(room, ChunkSize)))
		copy(c.data, old)
		w.grew(o, len(old))
	}
	return c
}

func (w *Work) grew(o *overlay, n int) {
	o.bytes += int64(n)
	w.dirty += int64(n)
}

// put writes p at off in the chunk.
func (w *Work) put(o *overlay, c *chunk, off int, p []byte) {
	end := off + len(p)
	if end > len(c.data) {
		was := len(c.data)
		if end > cap(c.data) {
			g := make([]byte, was, min(max(end, 2*cap(c.data), 64), ChunkSize))
			copy(g, c.data)
			c.data = g
		}
		c.data = c.data[:end]
		if off > was {
			clear(c.data[was:off])
		}
		w.grew(o, end-was)
	}
	copy(c.data[off:], p)
}

// seal hashes a chunk, after giving it the length it has in its file.
func (w *Work) seal(e *entry, idx uint32, c *chunk) {
	if n := int(chunkLen(e.in.Size, idx)); c.data != nil && len(c.data) < n {
		c.thaw()
		w.put(e.data, c, n, nil)
	}
	if c.data != nil && !c.hashed {
		c.hash, c.hashed = hashOf(c.data), true
	}
}

func hashOf(b []byte) Hash { return sha256.Sum256(b) }

// resize sets the size of a file: the part of a write or truncate that does not depend on bytes. It
// accounts for the usage.
func (w *Work) resize(e *entry, size int64) {
	grow := size - e.in.Size
	switch {
	case e.gone:
		w.orphans += grow
	case e.in.Ino >= FirstIno && e.in.Kind == vfs.Regular:
		w.st.usedBytes += grow
	}
	e.in.Size = size
}

// cut drops the chunks past size from the overlay and hides those of the inode. The caller sees to the last one.
func (w *Work) cut(e *entry, size int64) {
	o := e.overlay()
	keep := uint32((size + ChunkSize - 1) / ChunkSize)
	o.limit = min(o.limit, keep)
	for idx, c := range o.chunks {
		if idx >= keep {
			w.grew(o, -len(c.data))
			delete(o.chunks, idx)
		}
	}
	if rem := int(size % ChunkSize); rem != 0 {
		if c, ok := o.chunks[keep-1]; ok && len(c.data) > rem {
			w.grew(o, rem-len(c.data))
			c.thaw()
			c.data = c.data[:rem]
		}
	}
}
