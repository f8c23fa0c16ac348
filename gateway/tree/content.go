package tree

import (
	"fmt"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// load gets the bytes of chunks; hashes must not be empty.
func (w *Work) load(hashes []Hash) ([][]byte, error) {
	if w.o.Content == nil {
		return nil, fmt.Errorf("load %d chunks without a content store: %w", len(hashes), vfs.EIO)
	}
	data, err := w.o.Content.Load(w.ctx, hashes)
	if err != nil {
		return nil, w.failed(err)
	}
	if len(data) != len(hashes) {
		return nil, fmt.Errorf("content store returned %d chunks for %d: %w", len(data), len(hashes), vfs.EIO)
	}
	return data, nil
}

// failed tells Options.Failed of an error of the store, and returns what is said of it here.
func (w *Work) failed(err error) error {
	if _, ok := vfs.Of(err); ok || w.o.Failed == nil {
		return err
	}
	w.o.Failed(err)
	return vfs.EIO
}

// one gets the bytes of one chunk.
func (w *Work) one(h Hash) ([]byte, error) {
	if w.peek != nil {
		if b, ok := w.peek(h); ok {
			return b, nil
		}
	}
	b, err := w.load([]Hash{h})
	if err != nil {
		return nil, err
	}
	return b[0], nil
}

// piece is a part of a read whose bytes are in a chunk by hash.
type piece struct {
	hash Hash
	dst  []byte
	off  int // in the chunk
}

// fill copies what a loaded chunk has into the piece; the rest is zero.
func (p *piece) fill(chunk []byte) {
	n := 0
	if p.off < len(chunk) {
		n = copy(p.dst, chunk[p.off:])
	}
	clear(p.dst[n:])
}

// gather reads what is in memory into p, which starts at off in the file and does not pass its end, and returns
// the pieces that have to be loaded. The caller holds Work.mu for reading.
func (e *entry) gather(p []byte, off int64) []piece {
	var need []piece
	for len(p) > 0 {
		idx, at := uint32(off/ChunkSize), int(off%ChunkSize)
		n := min(len(p), ChunkSize-at)
		mem, h := e.find(idx)
		switch {
		case mem != nil:
			k := 0
			if at < len(mem.data) {
				k = copy(p[:n], mem.data[at:])
			}
			clear(p[k:n])
		case h != Hash{}:
			need = append(need, piece{h, p[:n], at})
		default:
			clear(p[:n])
		}
		p, off = p[n:], off+int64(n)
	}
	return need
}

// loadBatch bounds the chunks of one Load: 4 MiB.
const loadBatch = 64

// resolve loads and fills pieces.
func (w *Work) resolve(need []piece) error {
	for len(need) > 0 {
		n := min(len(need), loadBatch)
		if n == 1 {
			b, err := w.one(need[0].hash)
			if err != nil {
				return err
			}
			need[0].fill(b)
			need = need[1:]
			continue
		}
		hashes := make([]Hash, n)
		for i := range hashes {
			hashes[i] = need[i].hash
		}
		data, err := w.load(hashes)
		if err != nil {
			return err
		}
		for i := range data {
			need[i].fill(data[i])
		}
		need = need[n:]
	}
	return nil
}

// entryOf returns the state of an open inode. The caller holds Work.mu; the entry must not be changed.
func (w *Work) entryOf(ino Ino) *entry {
	if e, ok := w.touched[ino]; ok {
		return e
	}
	return &entry{in: w.st.inode(ino)}
}

// write writes p at off (at the end, when off is negative) and returns the offset after it. what is
// the path for the journal, "" for no entry.
func (w *Work) write(ino Ino, p []byte, off int64, what string) (int64, error) {
	var loaded map[Hash][]byte
	for {
		w.mu.Lock()
		e := w.entryOf(ino)
		at := off
		if at < 0 {
			at = e.in.Size
		}
		end := at + int64(len(p))
		if end > w.o.MaxFileSize || end < at {
			w.mu.Unlock()
			return at, vfs.EFBIG
		}
		if !w.fits(e.in, end) {
			w.mu.Unlock()
			return at, vfs.EDQUOT
		}
		missing := w.missing(e, at, end, loaded)
		if len(missing) == 0 {
			w.store(w.touch(e.in), p, at, loaded)
			if what != "" {
				w.log("write", what, "", ino)
			}
			spill := w.overfull()
			w.mu.Unlock()
			if spill {
				return end, w.spillNow()
			}
			return end, nil
		}
		w.mu.Unlock()
		var err error
		if loaded, err = w.loadInto(loaded, missing); err != nil {
			return at, err
		}
	}
}

func (w *Work) loadInto(loaded map[Hash][]byte, missing []Hash) (map[Hash][]byte, error) {
	data, err := w.load(missing)
	if err != nil {
		return loaded, err
	}
	if loaded == nil {
		loaded = make(map[Hash][]byte, len(missing))
	}
	for i, h := range missing {
		loaded[h] = data[i]
	}
	return loaded, nil
}

// fits reports whether the quota lets a file have a size. Open files without a name count. Files of the base layer do
// not, but none may be larger than the whole quota.
func (w *Work) fits(in *Inode, size int64) bool {
	switch {
	case w.o.MaxBytes <= 0 || size <= in.Size:
		return true
	case in.Ino < FirstIno:
		return size <= w.o.MaxBytes
	}
	return size-in.Size <= w.o.MaxBytes-w.st.usedBytes-w.orphans
}

// overfull reports whether written chunks have to be spilled.
func (w *Work) overfull() bool {
	return w.o.Spill != nil && w.o.DirtyMax > 0 && w.dirty > w.o.DirtyMax
}

// missing returns the hashes whose bytes a write of [at, end) has to know and loaded lacks: of chunks that it changes
// in part, and of the old last chunk when the file grows past it.
func (w *Work) missing(e *entry, at, end int64, loaded map[Hash][]byte) []Hash {
	var need []Hash
	ask := func(idx uint32) {
		mem, h := e.find(idx)
		if mem != nil || h == (Hash{}) {
			return
		}
		if _, ok := loaded[h]; !ok {
			need = append(need, h)
		}
	}
	size := e.in.Size
	first, last := at/ChunkSize, (end-1)/ChunkSize
	// A chunk is changed in part when bytes of the file before or after the write are in it.
	partial := func(idx int64) bool {
		lo, hi := idx*ChunkSize, min(size, (idx+1)*ChunkSize)
		return lo < hi && (at > lo || end < hi)
	}
	if partial(first) {
		ask(uint32(first))
	}
	if last != first && partial(last) {
		ask(uint32(last))
	}
	if tail := size / ChunkSize; size%ChunkSize != 0 && end > (tail+1)*ChunkSize && at > tail*ChunkSize && tail != first {
		ask(uint32(tail))
	}
	return need
}

// store does a write whose missing chunks are loaded.
func (w *Work) store(e *entry, p []byte, at int64, loaded map[Hash][]byte) {
	end := at + int64(len(p))
	size := e.in.Size
	o := e.overlay()
	if end > size {
		w.padTail(e, at, loaded)
		w.resize(e, end)
	}
	for off := at; len(p) > 0; {
		idx, in := uint32(off/ChunkSize), int(off%ChunkSize)
		n := min(len(p), ChunkSize-in)
		_, h := e.find(idx)
		old := loaded[h]
		c := w.dirtyChunk(e, idx, old, in+len(p))
		w.put(o, c, in, p[:n])
		p, off = p[n:], off+int64(n)
	}
	now := w.o.Now()
	e.in.Mtime, e.in.Ctime = now, now
}

// padTail takes the last chunk of a file that is about to grow, and will have zeros at its end, into memory: chunks by
// hash always have their full length. at is where the growth begins.
func (w *Work) padTail(e *entry, at int64, loaded map[Hash][]byte) {
	size := e.in.Size
	tail := size / ChunkSize
	if size%ChunkSize == 0 || at/ChunkSize == tail {
		return
	}
	if mem, h := e.find(uint32(tail)); mem == nil && h != (Hash{}) {
		w.dirtyChunk(e, uint32(tail), loaded[h], ChunkSize)
	}
}

// truncate sets the size of a file.
func (w *Work) truncate(ino Ino, size int64, what string) error {
	if size < 0 {
		return vfs.EINVAL
	}
	var loaded map[Hash][]byte
	for {
		w.mu.Lock()
		e := w.entryOf(ino)
		if size > w.o.MaxFileSize {
			w.mu.Unlock()
			return vfs.EFBIG
		}
		if !w.fits(e.in, size) {
			w.mu.Unlock()
			return vfs.EDQUOT
		}
		// The chunk that holds the smaller of both ends changes, unless that end is at its edge.
		edge := min(size, e.in.Size)
		var h Hash
		if edge%ChunkSize != 0 && size != e.in.Size {
			_, h = e.find(uint32(edge / ChunkSize))
		}
		if _, ok := loaded[h]; h == (Hash{}) || ok {
			w.setSize(w.touch(e.in), size, h, loaded[h])
			if what != "" {
				w.log("truncate", what, "", ino)
			}
			w.mu.Unlock()
			return nil
		}
		w.mu.Unlock()
		var err error
		if loaded, err = w.loadInto(loaded, []Hash{h}); err != nil {
			return err
		}
	}
}

// setSize cuts or extends a file. h, unless zero, names the chunk that the change goes through and old
// is its content.
func (w *Work) setSize(e *entry, size int64, h Hash, old []byte) {
	now := w.o.Now()
	e.in.Mtime, e.in.Ctime = now, now
	if size == e.in.Size {
		return
	}
	edge := min(size, e.in.Size)
	if h != (Hash{}) {
		w.dirtyChunk(e, uint32(edge/ChunkSize), old, 0)
	}
	if size < e.in.Size {
		w.cut(e, size)
	}
	w.resize(e, size)
}

// spillNow hands written chunks to Options.Spill until at most half of DirtyMax stays in memory: full chunks
// first, and the others when those do not suffice.
func (w *Work) spillNow() error {
	w.spill.Lock()
	defer w.spill.Unlock()
	type ref struct {
		e    *entry
		idx  uint32
		c    *chunk
		data []byte
	}
	var refs []ref
	w.mu.Lock()
	if w.dirty > w.o.DirtyMax {
		goal := w.dirty - w.o.DirtyMax/2
		for _, full := range []bool{true, false} {
			for _, e := range w.touched {
				if e.data == nil {
					continue
				}
				for idx, c := range e.data.chunks {
					if goal <= 0 || c.data == nil || c.frozen || full != (len(c.data) == ChunkSize) {
						continue
					}
					if n := int(chunkLen(e.in.Size, idx)); len(c.data) < n {
						w.put(e.data, c, n, nil)
					}
					c.frozen = true
					goal -= int64(len(c.data))
					refs = append(refs, ref{e, idx, c, c.data})
				}
			}
		}
	}
	w.mu.Unlock()
	var err error
	for len(refs) > 0 {
		part := refs[:min(len(refs), 4*loadBatch)]
		data := make([][]byte, len(part))
		hashes := make([]Hash, len(part))
		for i, r := range part {
			data[i], hashes[i] = r.data, hashOf(r.data)
		}
		if err = w.o.Spill(w.ctx, data); err != nil {
			break
		}
		w.mu.Lock()
		for i, r := range part {
			// A chunk that was written, cut off or removed meanwhile is not frozen or not there any more.
			if !r.c.frozen || r.e.data == nil || r.e.data.chunks[r.idx] != r.c {
				continue
			}
			r.c.data, r.c.hash, r.c.hashed, r.c.frozen = nil, hashes[i], true, false
			w.grew(r.e.data, -len(r.data))
		}
		w.mu.Unlock()
		refs = refs[len(part):]
	}
	if err == nil {
		return nil
	}
	w.mu.Lock()
	for _, r := range refs {
		r.c.frozen = false
	}
	w.mu.Unlock()
	return fmt.Errorf("store written chunks early: %w", w.failed(err))
}
