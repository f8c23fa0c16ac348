package feed

import (
	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/cache"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/replication"
)

// feeder turns what a listener hears into patches.
type feeder struct {
	trees   *cache.Trees
	news    *news
	maxRows int
	counts  *counts

	shapes map[uint32]*shape

	// Of the transaction that is arriving.
	rows      int
	layers    map[uuid.UUID]*layer
	sandboxes map[uuid.UUID]*sandbox
	order     []uuid.UUID // of sandboxes
}

// layer collects the rows of one layer: the last of each key.
type layer struct {
	cache.Rows
	inodes  map[tree.Ino]int
	dirents map[name]int
	chunks  map[chunk]int
}

type name struct {
	parent tree.Ino
	name   string
}

type chunk struct {
	ino tree.Ino
	idx uint32
}

// sandbox is a sandbox row as the transaction leaves it.
type sandbox struct {
	cache.Commit
	same unsent
}

var _ replication.Handler = (*feeder)(nil)

func newFeeder(trees *cache.Trees, n *news, maxRows int, c *counts) *feeder {
	return &feeder{trees: trees, news: n, maxRows: maxRows, counts: c, shapes: map[uint32]*shape{}}
}

// Reset empties the cache.
func (f *feeder) Reset(reason string) {
	f.clear()
	f.trees.Following(false)
	f.trees.DropAll()
	if reason != replication.ReasonLost {
		f.trees.Following(true)
	}
	f.counts.resets.WithLabelValues(reason).Inc()
	f.news.all()
}

func (f *feeder) clear() {
	f.rows = 0
	clear(f.layers)
	clear(f.sandboxes)
	f.order = f.order[:0]
}

// Begin starts a transaction.
func (f *feeder) Begin(*replication.Begin) {
	f.clear()
	if f.layers == nil {
		f.layers, f.sandboxes = map[uuid.UUID]*layer{}, map[uuid.UUID]*sandbox{}
	}
}

// Change collects a row.
func (f *feeder) Change(c *replication.Change) error {
	s := f.shapes[c.Relation.ID]
	if s == nil || s.relation != c.Relation {
		var err error
		if s, err = shapeOf(c.Relation); err != nil {
			return err
		}
		f.shapes[c.Relation.ID] = s
	}
	old, now := row{s: s, t: c.Old}, row{s: s, t: c.New}
	switch s.table {
	case "sandbox":
		return f.sandbox(c.Op, &old, &now)
	case "layer":
		if c.Op == replication.Inserted {
			f.layer(now.uuid(0)).New = true
			return now.err
		}
	case "inode", "dirent", "chunk":
		// A row whose key changed is gone under the old one.
		if c.Old != nil {
			if err := f.row(s.table, &old, true); err != nil {
				return err
			}
		}
		if c.New != nil {
			return f.row(s.table, &now, false)
		}
	}
	return nil
}

// layer returns the rows collected for a layer.
func (f *feeder) layer(id uuid.UUID) *layer {
	l := f.layers[id]
	if l == nil {
		l = new(layer)
		f.layers[id] = l
	}
	return l
}

// row collects one row of a tree.
func (f *feeder) row(table string, r *row, gone bool) error {
	id := r.uuid(0)
	if r.err != nil {
		return r.err
	}
	l, known := f.layers[id]
	if !known {
		l = f.layer(id)
		l.Lost = !f.trees.Wants(id)
	}
	if l.Lost {
		return nil
	}
	if f.rows++; f.rows > f.maxRows {
		// From here on nothing is kept, and what was is let go.
		for _, l := range f.layers {
			*l = layer{Rows: cache.Rows{New: l.New, Lost: true}}
		}
		l.Lost = true
		return nil
	}
	switch table {
	case "inode":
		l.inode(r, gone)
	case "dirent":
		l.dirent(r, gone)
	case "chunk":
		l.chunk(r, gone)
	}
	return r.err
}

// put appends v, or replaces what has the same key.
func put[K comparable, V any](rows *[]V, index *map[K]int, key K, v V) {
	if i, ok := (*index)[key]; ok {
		(*rows)[i] = v
		return
	}
	if *index == nil {
		*index = map[K]int{}
	}
	(*index)[key] = len(*rows)
	*rows = append(*rows, v)
}

func (l *layer) inode(r *row, gone bool) {
	in := tree.Inode{Ino: tree.Ino(r.int64(inodeIno)), Kind: tree.Whiteout}
	if !gone {
		in.Kind, in.Mode = tree.Kind(r.int16(inodeKind)), uint32(r.int32(inodeMode))
		in.UID, in.GID = uint32(r.int32(inodeUID)), uint32(r.int32(inodeGID))
		in.Nlink, in.Rdev = uint32(r.int32(inodeNlink)), uint32(r.int32(inodeRdev))
		in.Size, in.Mtime, in.Ctime = r.int64(inodeSize), r.int64(inodeMtime), r.int64(inodeCtime)
		in.Target = r.text(inodeTarget)
	}
	put(&l.Patch.Inodes, &l.inodes, in.Ino, in)
}

func (l *layer) dirent(r *row, gone bool) {
	d := tree.DirentRow{Parent: tree.Ino(r.int64(direntParent)), Name: r.text(direntName)}
	if !gone && !r.null(direntIno) {
		d.Ino = tree.Ino(r.int64(direntIno))
	}
	put(&l.Patch.Dirents, &l.dirents, name{d.Parent, d.Name}, d)
}

func (l *layer) chunk(r *row, gone bool) {
	c := tree.ChunkRow{Ino: tree.Ino(r.int64(chunkIno)), Idx: uint32(r.int32(chunkIdx)), Hole: true}
	if !gone && !r.null(chunkSHA256) {
		c.Hash, c.Hole = r.hash(chunkSHA256), false
	}
	put(&l.Patch.Chunks, &l.chunks, chunk{c.Ino, c.Idx}, c)
}

// sandbox takes note of a sandbox row.
func (f *feeder) sandbox(op replication.Op, old, now *row) error {
	if op == replication.Deleted {
		return f.removed(old)
	}
	id := now.uuid(sandboxID)
	if now.err != nil {
		return now.err
	}
	b := f.sandboxes[id]
	first := b == nil
	if first {
		b = &sandbox{same: unsent{true, true, true, true}}
		f.sandboxes[id] = b
		f.order = append(f.order, id)
	}
	before := b.Fence.Version
	same, gone := now.fence(&b.Fence)
	if now.err != nil {
		return now.err
	}
	b.Gone = gone
	b.same.layers = b.same.layers && same.layers
	b.same.env = b.same.env && same.env
	b.same.config = b.same.config && same.config
	b.same.state = b.same.state && same.state
	switch {
	case op == replication.Inserted:
		b.First, b.New = 0, true
	case first:
		b.First = b.Fence.Version
	case b.Fence.Version != before && b.Fence.Version != before+1:
		b.First = 0
	}
	return nil
}

// removed: a sandbox row is gone altogether, as when a database is cleared by hand.
func (f *feeder) removed(old *row) error {
	id := old.uuid(sandboxID)
	if old.err != nil {
		return old.err
	}
	if f.sandboxes[id] == nil {
		f.order = append(f.order, id)
	}
	f.sandboxes[id] = &sandbox{Commit: cache.Commit{Fence: store.Fence{ID: id}, Gone: true}}
	return nil
}

// Commit patches the trees of the transaction's sandboxes.
func (f *feeder) Commit(*replication.Commit) {
	for _, id := range f.order {
		b := f.sandboxes[id]
		h := &b.Commit
		h.SameLayers, h.SameEnv, h.SameConfig, h.SameState = b.same.layers, b.same.env, b.same.config, b.same.state
		h.Layers = make(map[uuid.UUID]*cache.Rows, len(f.layers))
		for l, rows := range f.layers {
			h.Layers[l] = &rows.Rows
		}
		f.counts.follow(f.trees.Follow(h))
		f.news.tell(id)
	}
	if f.rows > f.maxRows {
		f.counts.large.Inc()
	}
	// The maps are used again; what they held belongs to the cache now.
	f.clear()
}
