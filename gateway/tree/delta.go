package tree

import (
	"cmp"
	"slices"
)

// Delta is what a Work changed: the rows that make the tree of its base its own, in key order, and what goes
// with them.
type Delta struct {
	Base       int64       // version that the Work began on
	Inodes     []Inode     // new and changed rows
	Gone       []Ino       // removed inodes; their chunks go with them
	Dirents    []DirentRow // Ino 0: removed
	Chunks     []ChunkRow  // of Inodes
	Blobs      map[Hash][]byte
	Journal    []Change
	NextIno    Ino
	UsedBytes  int64
	UsedInodes int64
}

// Empty reports whether there is nothing to commit.
func (d *Delta) Empty() bool {
	return len(d.Inodes) == 0 && len(d.Gone) == 0 && len(d.Dirents) == 0 && len(d.Chunks) == 0
}

// Patch is the delta as the patch that leads from the base to the given version.
func (d *Delta) Patch(version int64) *Patch {
	p := &Patch{
		Version: version, NextIno: d.NextIno, UsedBytes: d.UsedBytes, UsedInodes: d.UsedInodes,
		Inodes: slices.Clone(d.Inodes), Dirents: d.Dirents, Chunks: d.Chunks,
	}
	for _, ino := range d.Gone {
		p.Inodes = append(p.Inodes, Inode{Ino: ino, Kind: Whiteout})
	}
	return p
}

// Delta returns what was changed since Begin or the last Commit. Blobs holds the new content that was not
// spilled; its slices must not be changed, and are valid as long as the Work is not written to.
func (w *Work) Delta() *Delta {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := &Delta{
		Base: w.base.version, Blobs: make(map[Hash][]byte), Journal: slices.Clone(w.journal),
		NextIno: w.st.nextIno, UsedBytes: w.st.usedBytes, UsedInodes: w.st.usedInodes,
	}
	for ino, e := range w.touched {
		for name := range e.names {
			now, _ := e.in.entry(name)
			var was Ino
			if e.base != nil {
				was, _ = e.base.entry(name)
			}
			if now != was {
				d.Dirents = append(d.Dirents, DirentRow{ino, name, now})
			}
		}
		if e.gone {
			if e.base != nil {
				d.Gone = append(d.Gone, ino)
			}
			continue
		}
		if e.base == nil || !sameRow(e.in, e.base) {
			row := *e.in
			row.ext, row.hash = nil, Hash{}
			d.Inodes = append(d.Inodes, row)
		}
		w.chunkRows(d, e)
	}
	w.digests(d.Journal)
	slices.SortFunc(d.Inodes, func(a, b Inode) int { return cmp.Compare(a.Ino, b.Ino) })
	slices.Sort(d.Gone)
	slices.SortFunc(d.Dirents, func(a, b DirentRow) int {
		return cmp.Or(cmp.Compare(a.Parent, b.Parent), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(d.Chunks, func(a, b ChunkRow) int {
		return cmp.Or(cmp.Compare(a.Ino, b.Ino), cmp.Compare(a.Idx, b.Idx))
	})
	return d
}

// chunkRows adds the chunks of e that differ from its base.
func (w *Work) chunkRows(d *Delta, e *entry) {
	if e.data == nil {
		return
	}
	for idx, c := range e.data.chunks {
		w.seal(e, idx, c)
		if was := e.in.Chunk(idx); was == c.hash {
			continue
		}
		d.Chunks = append(d.Chunks, ChunkRow{Ino: e.in.Ino, Idx: idx, Hash: c.hash, Hole: c.hash == Hash{}})
		if c.data != nil {
			d.Blobs[c.hash] = c.data
		}
	}
	e.in.chunksFrom(e.data.limit, func(idx uint32, _ Hash) {
		if _, ok := e.data.chunks[idx]; !ok {
			d.Chunks = append(d.Chunks, ChunkRow{Ino: e.in.Ino, Idx: idx, Hole: true})
		}
	})
}

// Commit returns the working tree as the immutable tree of a version, after its delta has been stored and the blobs
// are known to Content. The Work goes on above that tree; files open in it stay open.
// It costs O(changes).
func (w *Work) Commit(version int64) *Tree {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ino, e := range w.touched {
		if e.gone {
			continue
		}
		if o := e.data; o != nil {
			var cutOff []uint32
			e.in.chunksFrom(o.limit, func(idx uint32, _ Hash) { cutOff = append(cutOff, idx) })
			for _, idx := range cutOff {
				w.st.putChunk(w.owner, e.in, idx, Hash{})
			}
			for idx, c := range o.chunks {
				w.seal(e, idx, c)
				w.st.putChunk(w.owner, e.in, idx, c.hash)
			}
			w.grew(o, -int(o.bytes))
			e.data = nil
		}
		delete(w.touched, ino)
	}
	// Files without a name that are still open live on outside the tree.
	for ino, e := range w.touched {
		if w.opens[ino] == 0 {
			delete(w.touched, ino)
		}
		e.base = nil
	}
	t := &Tree{st: w.st, version: version}
	w.base, w.owner, w.journal, w.logged = t, new(owner), nil, nil
	return t
}
