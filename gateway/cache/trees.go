package cache

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// LayerReader loads the rows of layers.
type LayerReader interface {
	// LoadLayers reads the fence and the rows of some of the layers of the sandbox of asked in one snapshot of the
	// database that has its version or a later one. The patches are in the order of layers and have only rows. It is
	// ESTALE when a layer is not the sandbox's any more.
	LoadLayers(ctx context.Context, asked *store.Fence, layers []uuid.UUID) (*store.Fence, []*tree.Patch, error)
	// Fence reads the fence alone.
	Fence(ctx context.Context, sandbox uuid.UUID) (*store.Fence, error)
}

// entryOverhead is what a cached tree weighs besides what it does not share.
const entryOverhead = 2 << 10

// Trees caches trees: one per sandbox, and those of sealed chains of layers, which all sandboxes that stand on
// them share. Trees are dropped, least recently used first, when they hold more than the budget; never one that is in
// use.
type Trees struct {
	src LayerReader
	max int64

	mu        sync.Mutex
	size      int64
	lru       list.List // of *entry, most recent first
	sandboxes map[uuid.UUID]*entry
	chains    map[chainKey]*entry
	loads     map[uuid.UUID]*flight
	chainLoad map[chainKey]*flight
	tops      map[uuid.UUID]struct{} // top layers of the cached trees
	epoch     uint64                 // counts DropAll: a load begun before it is not kept
	following bool                   // a listener hands in every commit
}

// chainKey names a sealed chain by the ids of its layers, newest first.
type chainKey string

func keyOf(layers []uuid.UUID) chainKey {
	b := make([]byte, 0, len(layers)*16)
	for _, l := range layers {
		b = append(b, l[:]...)
	}
	return chainKey(b)
}

// entry is a cached tree.
type entry struct {
	tree   *tree.Tree
	fence  *store.Fence // nil for a chain
	chain  chainKey     // of a chain
	base   *entry       // the chain this tree was built on; nil for the lowest
	weight int64
	pins   int // users, and entries built on this one
	at     *list.Element
	gone   bool          // dropped while it was in use
	before *version      // what it followed on, as far as it may still be the latest that Postgres shows; nil: nothing
	heard  bool          // made of what a listener heard, and Postgres has not been seen to show it
	next   chan struct{} // closed when the entry is replaced or dropped; nil when nobody waits for that
}

// version is a tree with its fence.
type version struct {
	tree  *tree.Tree
	fence *store.Fence
}

// flight is a load under way.
type flight struct {
	done  chan struct{}
	heard []*Commit // meanwhile, of this sandbox: the load may not have seen them
}

// Pin is a tree in use. The zero Pin holds nothing.
type Pin struct {
	Tree  *tree.Tree
	Fence *store.Fence // of the same version; must not be changed
	c     *Trees
	e     *entry
}

// Release ends the use. The tree itself stays valid for who still has it.
func (p *Pin) Release() {
	if p.e == nil {
		return
	}
	p.c.mu.Lock()
	p.c.unpin(p.e)
	p.c.mu.Unlock()
	p.e = nil
}

// NewTrees returns a cache of at most max bytes.
func NewTrees(src LayerReader, max int64) *Trees {
	return &Trees{
		src: src, max: max, sandboxes: map[uuid.UUID]*entry{}, chains: map[chainKey]*entry{},
		loads: map[uuid.UUID]*flight{}, chainLoad: map[chainKey]*flight{}, tops: map[uuid.UUID]struct{}{},
	}
}

// Get returns the tree of a sandbox at the version of its fence or a later one; Pin.Fence belongs to it.
//
// The listener may be ahead of what Postgres shows: a commit is sent when it is written, and shown when the standbys
// have it. Until then it may still come to nothing, and its contents cannot be read. So the tree before it is kept, for
// those whose fence is that of before.
//
// A tree that lacks the version, while a listener is at work, is about to be patched: Get waits for that, but not for
// much longer than loading the tree again would take.
func (c *Trees) Get(ctx context.Context, f *store.Fence) (Pin, error) {
	var patience *time.Timer
	over := false
	for {
		c.mu.Lock()
		if e := c.sandboxes[f.ID]; e != nil {
			if names(f, e.fence) {
				// Columns that do not count as a version (name, environment, limits) are the fence's.
				e.fence, e.heard, e.before = f, false, nil
				p := c.pin(e)
				c.mu.Unlock()
				return p, nil
			}
			if b := e.before; b != nil && names(f, b.fence) {
				c.mu.Unlock()
				return Pin{Tree: b.tree, Fence: f}, nil
			}
			if c.following && e.fence.Version < f.Version && !over {
				if patience == nil {
					patience = time.NewTimer(reloadTime(e.tree))
					defer patience.Stop()
				}
				if e.next == nil {
					e.next = make(chan struct{})
				}
				next := e.next
				c.mu.Unlock()
				select {
				case <-next:
				case <-patience.C:
					over = true
				case <-ctx.Done():
					return Pin{}, context.Cause(ctx)
				}
				continue
			}
			if e.fence.Version > f.Version {
				c.mu.Unlock()
				// Another request of this process has gone ahead since the fence was read. If it has not, the database has gone
				// back.
				now, err := c.src.Fence(ctx, f.ID)
				if err != nil {
					return Pin{}, err
				}
				if now.Version <= f.Version {
					c.Drop(f.ID)
				}
				f = now
				continue
			}
		}
		l, busy := c.loads[f.ID]
		if !busy {
			l = &flight{done: make(chan struct{})}
			c.loads[f.ID] = l
			c.mu.Unlock()
			defer land(c, c.loads, f.ID, l)
			return c.load(ctx, f, l)
		}
		c.mu.Unlock()
		// Whatever the other load ends with, look again: it may have failed for reasons of its own.
		select {
		case <-l.done:
		case <-ctx.Done():
			return Pin{}, context.Cause(ctx)
		}
	}
}

// land ends a flight, also one that panics: others wait for it.
func land[K comparable](c *Trees, flights map[K]*flight, key K, l *flight) {
	c.mu.Lock()
	delete(flights, key)
	c.mu.Unlock()
	close(l.done)
}

// names reports whether two fences name one version of one history.
func names(f, cached *store.Fence) bool {
	return cached.Version == f.Version && slices.Equal(cached.Layers, f.Layers) && !cached.Contradicts(f)
}

// loadAttempts bounds how often a load starts again because the sandbox was forked or flattened meanwhile.
const loadAttempts = 8

func (c *Trees) load(ctx context.Context, f *store.Fence, l *flight) (Pin, error) {
	for attempt := 0; ; attempt++ {
		c.mu.Lock()
		epoch := c.epoch
		c.mu.Unlock()
		p, err := c.tryLoad(ctx, f, l, epoch)
		if err == nil || attempt == loadAttempts || !errors.Is(err, vfs.ESTALE) {
			return p, err
		}
		if f, err = c.src.Fence(ctx, f.ID); err != nil {
			return Pin{}, err
		}
	}
}

func (c *Trees) tryLoad(ctx context.Context, f *store.Fence, l *flight, epoch uint64) (Pin, error) {
	base, err := c.sealed(ctx, f)
	if err != nil {
		return Pin{}, err
	}
	defer base.Release()
	now, patches, err := c.src.LoadLayers(ctx, f, f.Layers[:1])
	if err != nil {
		return Pin{}, err
	}
	if !slices.Equal(now.Layers, f.Layers) {
		return Pin{}, vfs.ESTALE
	}
	p := patches[0]
	p.Version, p.NextIno, p.UsedBytes, p.UsedInodes = now.Version, tree.Ino(now.NextIno), now.UsedBytes, now.UsedInodes
	t, err := base.Tree.Patch(p)
	if err != nil {
		return Pin{}, err
	}
	e := &entry{tree: t, fence: now, base: base.e}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cur := c.sandboxes[f.ID]; c.epoch != epoch || cur != nil && cur.fence.Version > now.Version {
		return Pin{Tree: t, Fence: now}, nil
	}
	c.put(e)
	p0 := c.pin(e)
	// What was committed while the rows were on their way.
	for _, h := range l.heard {
		if c.follow(h) == Dropped {
			break
		}
	}
	l.heard = nil
	return p0, nil
}

// sealed returns the tree of the chain of sealed layers that a sandbox stands on.
func (c *Trees) sealed(ctx context.Context, f *store.Fence) (Pin, error) {
	layers := f.Layers[1:]
	if len(layers) == 0 {
		return Pin{Tree: tree.Empty()}, nil
	}
	key := keyOf(layers)
	for {
		c.mu.Lock()
		if e := c.chains[key]; e != nil {
			p := c.pin(e)
			c.mu.Unlock()
			return p, nil
		}
		l, busy := c.chainLoad[key]
		if !busy {
			l = &flight{done: make(chan struct{})}
			c.chainLoad[key] = l
			c.mu.Unlock()
			defer land(c, c.chainLoad, key, l)
			return c.loadSealed(ctx, f, layers)
		}
		c.mu.Unlock()
		select {
		case <-l.done:
		case <-ctx.Done():
			return Pin{}, context.Cause(ctx)
		}
	}
}

// loadSealed loads what is missing of a chain in one read and keeps the tree of every length of it.
func (c *Trees) loadSealed(ctx context.Context, f *store.Fence, layers []uuid.UUID) (Pin, error) {
	missing := len(layers)
	var at Pin
	c.mu.Lock()
	for n := 1; n < len(layers); n++ {
		if e := c.chains[keyOf(layers[n:])]; e != nil {
			at, missing = c.pin(e), n
			break
		}
	}
	c.mu.Unlock()
	if missing == len(layers) {
		at = Pin{Tree: tree.Empty()}
	}
	defer func() { at.Release() }()
	_, patches, err := c.src.LoadLayers(ctx, f, layers[:missing])
	if err != nil {
		return Pin{}, err
	}
	for i := missing - 1; i >= 0; i-- {
		p := patches[i]
		p.NextIno = tree.FirstIno
		t, err := at.Tree.Patch(p)
		if err != nil {
			return Pin{}, err
		}
		e := &entry{tree: t, base: at.e, chain: keyOf(layers[i:])}
		c.mu.Lock()
		if old := c.chains[e.chain]; old != nil {
			e = old // another load was as fast; a sealed chain has one tree
		} else {
			c.put(e)
		}
		next := c.pin(e)
		c.mu.Unlock()
		at.Release()
		at = next
	}
	p := at
	at = Pin{}
	return p, nil
}

// Put makes t the tree of a sandbox: what a commit of this process has led to. The fence is that of t's version.
func (c *Trees) Put(f *store.Fence, t *tree.Tree) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replace(f, t, false)
}

// replace is Put with c.mu held. heard says that Postgres may not show it yet.
func (c *Trees) replace(f *store.Fence, t *tree.Tree, heard bool) {
	e := &entry{tree: t, fence: f, heard: heard}
	if old := c.sandboxes[f.ID]; old != nil && heard {
		e.before = &version{old.tree, old.fence}
	}
	if old := c.sandboxes[f.ID]; old != nil {
		if old.fence.Version > f.Version {
			return
		}
		e.base = old.base
	}
	if len(f.Layers) > 1 && (e.base == nil || e.base.chain != keyOf(f.Layers[1:])) {
		e.base = c.chains[keyOf(f.Layers[1:])]
	}
	c.put(e)
	c.shrink()
}

// Sealed tells that the top layer of a sandbox was sealed and a new, empty one put on it (a fork, a snapshot): what was
// the sandbox's tree before is now that of a sealed chain too, which the other side stands on.
func (c *Trees) Sealed(before, after *store.Fence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.sandboxes[before.ID]
	if old == nil || old.fence.Version != before.Version || !slices.Equal(old.fence.Layers, before.Layers) ||
		after.Version > before.Version+1 {
		return
	}
	base := old.base
	if len(after.Layers) > 1 && slices.Equal(after.Layers[1:], before.Layers) {
		if base = c.chains[keyOf(before.Layers)]; base == nil {
			base = &entry{tree: old.tree, base: old.base, chain: keyOf(before.Layers)}
			c.put(base)
		}
	}
	t, err := old.tree.Patch(versionOf(after))
	if err != nil {
		c.remove(old)
		return
	}
	c.put(&entry{tree: t, fence: after, base: base})
	c.shrink()
}

// Known returns the last fence seen of a sandbox whose tree is cached. Only what never changes about a sandbox may be
// believed: its tenant and owner.
func (c *Trees) Known(sandbox uuid.UUID) (*store.Fence, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.sandboxes[sandbox]
	if e == nil {
		return nil, false
	}
	return e.fence, true
}

// Chain returns the cached tree of a chain of sealed layers, newest first.
func (c *Trees) Chain(layers []uuid.UUID) (*tree.Tree, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.chains[keyOf(layers)]
	if e == nil {
		return nil, false
	}
	c.lru.MoveToFront(e.at)
	return e.tree, true
}

// At returns the tree of an earlier state of a sandbox: of a fence whose layers, but for a first one that stands for no
// top, are all sealed.
func (c *Trees) At(ctx context.Context, f *store.Fence) (Pin, error) {
	p, err := c.sealed(ctx, f)
	if err != nil {
		return Pin{}, err
	}
	if p.Tree, err = p.Tree.Patch(versionOf(f)); err != nil {
		p.Release()
		return Pin{}, err
	}
	p.Fence = f
	return p, nil
}

// Drop forgets the tree of a sandbox.
func (c *Trees) Drop(sandbox uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.sandboxes[sandbox]; e != nil {
		c.remove(e)
	}
}

// DropAll forgets everything: the connection to the database was lost, or is to another one.
func (c *Trees) DropAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	for _, e := range c.sandboxes {
		c.remove(e)
	}
	for _, e := range c.chains {
		c.remove(e)
	}
}

// Weight is the number of bytes held, and Len the number of sandboxes.
func (c *Trees) Weight() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

// Len is the number of sandboxes whose tree is cached.
func (c *Trees) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sandboxes)
}

// The rest runs with c.mu held.

func (c *Trees) pin(e *entry) Pin {
	e.pins++
	if !e.gone {
		c.lru.MoveToFront(e.at)
	}
	return Pin{Tree: e.tree, Fence: e.fence, c: c, e: e}
}

func (c *Trees) unpin(e *entry) {
	e.pins--
	if e.gone && e.pins == 0 {
		c.forget(e)
	}
	c.shrink()
}

// put adds e in the place of what has its key.
func (c *Trees) put(e *entry) {
	shared := int64(0)
	if e.base != nil {
		e.base.pins++
		shared = e.base.tree.Bytes()
	}
	// What a tree does not share with the chain below it, estimated: what it has more, or has less (the copied paths to
	// what is gone).
	e.weight = entryOverhead + max(e.tree.Bytes()-shared, shared-e.tree.Bytes())
	c.size += e.weight
	if e.fence != nil {
		if old := c.sandboxes[e.fence.ID]; old != nil {
			c.remove(old)
		}
		c.sandboxes[e.fence.ID] = e
		c.tops[e.fence.Layers[0]] = struct{}{}
	} else {
		c.chains[e.chain] = e
	}
	e.at = c.lru.PushFront(e)
}

// remove takes e out of the maps; what it weighs counts until nobody uses it any more.
func (c *Trees) remove(e *entry) {
	if e.gone {
		return
	}
	e.gone = true
	c.lru.Remove(e.at)
	if e.next != nil {
		close(e.next)
		e.next = nil
	}
	if e.fence != nil {
		delete(c.sandboxes, e.fence.ID)
		delete(c.tops, e.fence.Layers[0])
	} else {
		delete(c.chains, e.chain)
	}
	if e.pins == 0 {
		c.forget(e)
	}
}

// forget ends what an unused entry holds.
func (c *Trees) forget(e *entry) {
	c.size -= e.weight
	if b := e.base; b != nil {
		e.base = nil
		b.pins--
		if b.gone && b.pins == 0 {
			c.forget(b)
		}
	}
}

// shrink drops unused trees, least recently used first, until the rest fits.
func (c *Trees) shrink() {
	for at := c.lru.Back(); at != nil && c.size > c.max; {
		e := at.Value.(*entry)
		at = at.Prev()
		if e.pins != 0 {
			continue
		}
		freed := e.base != nil && e.base.pins == 1
		c.remove(e)
		if freed {
			// The chain below is unused now, and may lie behind.
			at = c.lru.Back()
		}
	}
}
