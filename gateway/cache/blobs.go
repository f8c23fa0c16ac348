package cache

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"

	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// BlobReader reads chunks from where they are kept.
type BlobReader interface {
	// ReadBlobs returns the chunks in the order of hashes, nil for one that does not exist.
	ReadBlobs(ctx context.Context, sandbox uuid.UUID, hashes []tree.Hash) ([][]byte, error)
}

// blobOverhead is what an entry weighs besides its bytes.
const blobOverhead = 160

// batchChunks bounds one read: 8 MiB of full chunks.
const batchChunks = 128

// Blobs caches chunks by hash for the whole process. Concurrent loads of one chunk are one read.
type Blobs struct {
	src   BlobReader
	cache *otter.Cache[tree.Hash, []byte]

	mu      sync.Mutex
	loading map[tree.Hash]*blobLoad
}

// blobLoad is one read that is under way.
type blobLoad struct {
	done chan struct{}
	err  error
}

// NewBlobs returns a cache of at most max bytes.
func NewBlobs(src BlobReader, max int64) *Blobs {
	c := otter.Must(&otter.Options[tree.Hash, []byte]{
		MaximumWeight: uint64(max),
		Weigher:       func(_ tree.Hash, b []byte) uint32 { return uint32(len(b) + blobOverhead) },
	})
	return &Blobs{src: src, cache: c, loading: map[tree.Hash]*blobLoad{}}
}

// Put adds a chunk that is known to be stored. It keeps data, which must not change.
func (b *Blobs) Put(h tree.Hash, data []byte) {
	if cap(data) > len(data)+len(data)/4 {
		data = bytes.Clone(data)
	}
	b.cache.Set(h, data)
}

// Weight is the number of bytes held.
func (b *Blobs) Weight() int64 { return int64(b.cache.WeightedSize()) }

// Of is the content of one sandbox.
func (b *Blobs) Of(sandbox uuid.UUID) *Content { return &Content{b: b, sandbox: sandbox} }

// Content reads chunks on behalf of one sandbox. It implements [tree.Content] and [tree.Peeker].
type Content struct {
	b       *Blobs
	sandbox uuid.UUID
}

var (
	_ tree.Content = (*Content)(nil)
	_ tree.Peeker  = (*Content)(nil)
)

// Peek returns a chunk that is in memory.
func (c *Content) Peek(h tree.Hash) ([]byte, bool) { return c.b.cache.GetIfPresent(h) }

// Load returns chunks in the order of hashes. A chunk that does not exist is an error that carries EIO.
func (c *Content) Load(ctx context.Context, hashes []tree.Hash) ([][]byte, error) {
	out := make([][]byte, len(hashes))
	var missing []int
	for i, h := range hashes {
		if d, ok := c.b.cache.GetIfPresent(h); ok {
			out[i] = d
		} else {
			missing = append(missing, i)
		}
	}
	for len(missing) > 0 {
		n := min(len(missing), batchChunks)
		if err := c.fetch(ctx, hashes, missing[:n], out); err != nil {
			return nil, err
		}
		missing = missing[n:]
	}
	return out, nil
}

// fetch fills out[i] for i in missing: it reads what nobody is reading and waits for the rest.
func (c *Content) fetch(ctx context.Context, hashes []tree.Hash, missing []int, out [][]byte) error {
	own := &blobLoad{done: make(chan struct{})}
	var mine []tree.Hash
	var at []int // places in out, parallel to mine
	var wait []int
	loads := map[int]*blobLoad{}
	c.b.mu.Lock()
	for _, i := range missing {
		h := hashes[i]
		switch l, busy := c.b.loading[h]; {
		case !busy:
			c.b.loading[h] = own
			mine, at = append(mine, h), append(at, i)
		default: // also when the same hash came twice
			loads[i] = l
			wait = append(wait, i)
		}
	}
	c.b.mu.Unlock()

	if len(mine) > 0 {
		data, err := c.read(ctx, mine)
		for k, d := range data {
			out[at[k]] = d
			c.b.cache.Set(mine[k], d)
		}
		own.err = err
		c.b.mu.Lock()
		for _, h := range mine {
			delete(c.b.loading, h)
		}
		c.b.mu.Unlock()
		close(own.done)
		if err != nil {
			return err
		}
	}
	var again []tree.Hash
	at = at[:0]
	for _, i := range wait {
		select {
		case <-loads[i].done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if d, ok := c.b.cache.GetIfPresent(hashes[i]); ok {
			out[i] = d
			continue
		}
		// The other reader failed for reasons of its own (its sandbox is gone, its caller went away), or the chunk was
		// evicted at once.
		again, at = append(again, hashes[i]), append(at, i)
	}
	if len(again) == 0 {
		return nil
	}
	data, err := c.read(ctx, again)
	for k, d := range data {
		out[at[k]] = d
		c.b.cache.Set(again[k], d)
	}
	return err
}

func (c *Content) read(ctx context.Context, hashes []tree.Hash) ([][]byte, error) {
	data, err := c.b.src.ReadBlobs(ctx, c.sandbox, hashes)
	if err != nil {
		return nil, err
	}
	for k, d := range data {
		if d == nil {
			return nil, fmt.Errorf("chunk %x is missing: %w", hashes[k], vfs.EIO)
		}
	}
	return data, nil
}
