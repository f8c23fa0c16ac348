package cache

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/tree"
)

// Commit is what one transaction did to one sandbox, as a listener heard it.
type Commit struct {
	Fence store.Fence // the row as the transaction left it
	// Columns of Fence that were not sent because the transaction left them alone.
	SameLayers, SameEnv, SameConfig, SameState bool

	First  int64 // version after the first change of the row; Fence.Version after the last. 0: not one after another
	New    bool  // the row was inserted: a sandbox that was made, or one that was restored from a dump
	Gone   bool  // dropped
	Layers map[uuid.UUID]*Rows
}

// Rows are what one transaction did to one layer.
type Rows struct {
	New   bool // the layer was made in this transaction, so these are all its rows
	Lost  bool // they were not kept: too many, or wanted by nobody when they came
	Patch tree.Patch
}

func (r *Rows) empty() bool {
	return r == nil || !r.Lost && len(r.Patch.Inodes) == 0 && len(r.Patch.Dirents) == 0 && len(r.Patch.Chunks) == 0
}

// Outcome is what Follow did.
type Outcome int

// The outcomes.
const (
	Absent  Outcome = iota // the sandbox is not cached
	Current                // the cached tree had the change already
	Patched
	Dropped // the change does not follow on what is cached
)

// maxHeard bounds the commits kept for a sandbox that is being loaded.
const maxHeard = 256

// Follow brings the cached tree of a sandbox to the version a commit has led to. When that cannot be done from its rows
// alone, the tree is dropped and loaded again by the next who wants it. It is for one goroutine, which hands in every
// commit in order while Following is on.
func (c *Trees) Follow(h *Commit) Outcome {
	c.mu.Lock()
	if l := c.loads[h.Fence.ID]; l != nil {
		if len(l.heard) < maxHeard {
			l.heard = append(l.heard, h)
		} else {
			l.heard = l.heard[:0] // the next commit will not follow, and drop the tree
		}
	}
	for {
		old := c.sandboxes[h.Fence.ID]
		e, out := c.plan(old, h)
		if e == nil {
			c.mu.Unlock()
			return out
		}
		// Patching goes without the lock, as it may be long.
		c.mu.Unlock()
		ok := e.make(old)
		c.mu.Lock()
		if c.sandboxes[h.Fence.ID] != old {
			continue // a commit of this process, or a load, was faster
		}
		out = c.finish(old, e, ok)
		c.mu.Unlock()
		return out
	}
}

// follow is Follow with c.mu held throughout.
func (c *Trees) follow(h *Commit) Outcome {
	old := c.sandboxes[h.Fence.ID]
	e, out := c.plan(old, h)
	if e == nil {
		return out
	}
	return c.finish(old, e, e.make(old))
}

// step is how a tree becomes the next one.
type step struct {
	fence  *store.Fence
	from   *entry      // a chain the new tree starts from; nil: the present tree
	below  *tree.Patch // rows of the old top before it was sealed; nil: none
	sealed bool        // the old top is sealed: what lies under the new one is a chain for others, too
	rows   *tree.Patch

	chain, tree *tree.Tree
}

// plan decides what to do about h. With a nil step it is done. c.mu is held.
func (c *Trees) plan(old *entry, h *Commit) (*step, Outcome) {
	if old == nil {
		return nil, Absent
	}
	if h.Gone {
		c.remove(old)
		return nil, Dropped
	}
	f := h.fence(old.fence)
	if h.New && !slices.Contains(old.fence.Layers, f.Layers[0]) {
		// What is cached is another history of it, whose versions say nothing about this one.
		c.remove(old)
		return nil, Dropped
	}
	now := old.fence.Version
	switch {
	case f.Version < now:
		return nil, Current
	case f.Version == now:
		// Settings change without a version.
		if names(f, old.fence) {
			old.fence = f
			return nil, Current
		}
		c.remove(old)
		return nil, Dropped
	case h.First != now+1 && h.First != now:
		c.remove(old)
		return nil, Dropped
	}
	top, before := h.Layers[f.Layers[0]], old.fence.Layers
	s := &step{fence: f, rows: versionOf(f)}
	if !top.empty() {
		s.rows.Inodes, s.rows.Dirents, s.rows.Chunks = top.Patch.Inodes, top.Patch.Dirents, top.Patch.Chunks
	}
	lost := top != nil && top.Lost
	switch {
	case slices.Equal(f.Layers, before):
	case slices.Equal(f.Layers[1:], before): // a fork or a snapshot
		s.sealed = true
		if rows := h.Layers[before[0]]; !rows.empty() {
			lost = lost || rows.Lost
			p := rows.Patch
			p.Version, p.NextIno = old.tree.Version(), old.tree.NextIno()
			s.below = &p
		}
		lost = lost || top == nil || !top.New
	default: // a restore, or another chain with the same content
		s.from = c.chains[keyOf(f.Layers[1:])]
		lost = lost || top == nil || !top.New || s.from == nil
	}
	if lost {
		c.remove(old)
		return nil, Dropped
	}
	return s, Patched
}

// fence is the row with the columns that were not sent, which are as they were before.
func (h *Commit) fence(before *store.Fence) *store.Fence {
	f := h.Fence
	if h.SameLayers {
		f.Layers = before.Layers
	}
	if h.SameEnv {
		f.Env = before.Env
	}
	if h.SameConfig {
		f.Config = before.Config
	}
	if h.SameState {
		f.State = before.State
	}
	return &f
}

// make patches; it reports whether the rows belong to the tree.
func (s *step) make(old *entry) bool {
	base := old.tree
	if s.from != nil {
		base = s.from.tree
	}
	var err error
	if s.below != nil {
		if base, err = base.Patch(s.below); err != nil {
			return false
		}
	}
	s.chain = base
	s.tree, err = base.Patch(s.rows)
	return err == nil
}

// finish puts the tree a step has made into the place of old. c.mu is held.
func (c *Trees) finish(old *entry, s *step, ok bool) Outcome {
	if !ok {
		c.remove(old)
		return Dropped
	}
	if s.sealed {
		key := keyOf(s.fence.Layers[1:])
		if c.chains[key] == nil {
			c.put(&entry{tree: s.chain, base: old.base, chain: key})
		}
	}
	c.replace(s.fence, s.tree, true)
	c.shrink()
	return Patched
}

// versionOf is the patch without rows that leads to the version of f.
func versionOf(f *store.Fence) *tree.Patch {
	return &tree.Patch{Version: f.Version, NextIno: tree.Ino(f.NextIno), UsedBytes: f.UsedBytes, UsedInodes: f.UsedInodes}
}

// Following tells whether a listener is at work: whether Follow will be called for every commit from now on. DropAll
// comes first.
func (c *Trees) Following(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.following = on
	if on {
		return
	}
	// Nobody will come for those who wait.
	for _, e := range c.sandboxes {
		if e.next != nil {
			close(e.next)
			e.next = nil
		}
	}
}

// Wants reports whether the rows of a layer may concern a cached tree, or one that is being loaded.
func (c *Trees) Wants(layer uuid.UUID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.tops[layer]
	return ok || len(c.loads) > 0
}

// Cached pins the tree of a sandbox as the cache has it, without asking the database. A tree that Postgres has not been
// seen to show is not given out: a Get has to ask for it first.
func (c *Trees) Cached(sandbox uuid.UUID) (Pin, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.sandboxes[sandbox]
	if e == nil || e.heard || !c.following {
		return Pin{}, false
	}
	return c.pin(e), true
}

// reloadTime is about what loading a tree costs, and so how long it is worth waiting for its patch: a patch that is
// late costs at most as much again.
func reloadTime(t *tree.Tree) time.Duration {
	return 5*time.Millisecond + time.Duration(t.Len())*time.Microsecond
}
