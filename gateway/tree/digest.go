package tree

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// maxDigested is the size of the largest file whose content has a [Digest]: a byte written to a large file must not
// cost a pass over all of its chunks.
const maxDigested = 64 << 20

// Digest says what a regular file held.
type Digest struct {
	Size int64
	// Hash is the content hash, as pgbox.content_hash in SQL defines it: of a file of one chunk the hash of the chunk,
	// else the SHA-256 of the size and of number and hash of every chunk that is not a hole.
	Hash  Hash
	Known bool // false: the file is too large to have a Hash
}

var emptyHash = Hash(sha256.Sum256(nil))

// digest describes the content of in, under the overlay o; nil when it is not a regular file. Its chunks must be
// sealed.
func digest(in *Inode, o *overlay) *Digest {
	if in.Kind != vfs.Regular {
		return nil
	}
	d := &Digest{Size: in.Size, Known: in.Size <= maxDigested}
	switch {
	case !d.Known:
		return d
	case in.Size == 0:
		d.Hash = emptyHash
		return d
	}
	var chunks []ChunkRow
	in.chunksFrom(0, func(idx uint32, h Hash) {
		if o != nil {
			if _, over := o.chunks[idx]; over || idx >= o.limit {
				return
			}
		}
		chunks = append(chunks, ChunkRow{Idx: idx, Hash: h})
	})
	if o != nil {
		for idx, c := range o.chunks {
			if c.hash != (Hash{}) {
				chunks = append(chunks, ChunkRow{Idx: idx, Hash: c.hash})
			}
		}
		slices.SortFunc(chunks, func(a, b ChunkRow) int { return cmp.Compare(a.Idx, b.Idx) })
	}
	if in.Size <= ChunkSize && len(chunks) == 1 {
		d.Hash = chunks[0].Hash
		return d
	}
	list := make([]byte, 8, 8+36*len(chunks))
	binary.BigEndian.PutUint64(list, uint64(in.Size))
	for _, c := range chunks {
		list = binary.BigEndian.AppendUint32(list, c.Idx)
		list = append(list, c.Hash[:]...)
	}
	d.Hash = sha256.Sum256(list)
	return d
}

// digests adds to the journal what the files were and are.
func (w *Work) digests(journal []Change) {
	type pair struct{ before, after *Digest }
	seen := make(map[Ino]pair)
	for i := range journal {
		c := &journal[i]
		p, ok := seen[c.Ino]
		if !ok {
			if e, touched := w.touched[c.Ino]; touched {
				if e.base != nil {
					p.before = digest(e.base, nil)
				}
				if !e.gone {
					p.after = digest(e.in, e.data)
				}
			}
			seen[c.Ino] = p
		}
		c.Before, c.After = p.before, p.after
	}
}
