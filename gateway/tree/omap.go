package tree

import (
	"cmp"
	"slices"
)

// maxItems bounds the items of one node. A change copies one node per level, so
// this weighs the cost of a change against the depth of a look-up.
const maxItems = 64

// owner is the identity of one editing session. Nodes that carry it may be changed
// in place; all others are shared with some immutable tree and are copied first.
type owner struct{ _ byte }

type item[K cmp.Ordered, V any] struct {
	key K
	val V
}

// node is a leaf (kids == nil) or an inner node. In an inner node items[i].key is a lower bound of the
// keys below kids[i] and above all keys below kids[i-1]; items[0].key is not looked at.
type node[K cmp.Ordered, V any] struct {
	owner *owner
	items []item[K, V]
	kids  []*node[K, V]
}

// omap is an ordered copy-on-write map (a B+ tree). Copying the struct is
// the copy: both sides go on with owners of their own. A value that no owner edits any
// more is safe for any number of readers. (tidwall/btree's Copy writes to its source, which concurrent
// readers of a cached tree would have to lock against.)
type omap[K cmp.Ordered, V any] struct {
	root *node[K, V]
	n    int
}

func (m *omap[K, V]) len() int { return m.n }

// search returns the index of the first item whose key is not below key.
func (n *node[K, V]) search(key K) int {
	lo, hi := 0, len(n.items)
	for lo < hi {
		h := int(uint(lo+hi) >> 1)
		if n.items[h].key < key {
			lo = h + 1
		} else {
			hi = h
		}
	}
	return lo
}

// kid returns the index of the child that holds key.
func (n *node[K, V]) kid(key K) int {
	lo, hi := 1, len(n.items)
	for lo < hi {
		h := int(uint(lo+hi) >> 1)
		if n.items[h].key <= key {
			lo = h + 1
		} else {
			hi = h
		}
	}
	return lo - 1
}

func (m *omap[K, V]) get(key K) (val V, ok bool) {
	n := m.root
	if n == nil {
		return val, false
	}
	for n.kids != nil {
		n = n.kids[n.kid(key)]
	}
	i := n.search(key)
	if i < len(n.items) && n.items[i].key == key {
		return n.items[i].val, true
	}
	return val, false
}

// own returns n when o may change it, else a copy that o may change.
func (n *node[K, V]) own(o *owner) *node[K, V] {
	if n.owner == o {
		return n
	}
	c := &node[K, V]{owner: o, items: make([]item[K, V], len(n.items), roomFor(len(n.items)))}
	copy(c.items, n.items)
	if n.kids != nil {
		c.kids = make([]*node[K, V], len(n.kids), cap(c.items))
		copy(c.kids, n.kids)
	}
	return c
}

// roomFor is the capacity of a node that holds n items now: it leaves room to grow without the doubling of
// append, which would waste memory in the many small directories.
func roomFor(n int) int { return min(n+n/4+2, maxItems+1) }

func insertAt[T any](s []T, i int, v T) []T {
	if len(s) == cap(s) {
		g := make([]T, len(s), roomFor(len(s)))
		copy(g, s)
		s = g
	}
	return slices.Insert(s, i, v)
}

// set stores val under key and returns the value it replaces.
func (m *omap[K, V]) set(o *owner, key K, val V) (old V, replaced bool) {
	if m.root == nil {
		m.root = &node[K, V]{owner: o, items: []item[K, V]{{key, val}}}
		m.n = 1
		return old, false
	}
	m.root = m.root.own(o)
	old, replaced, right := m.root.set(o, key, val)
	if right != nil {
		m.root = &node[K, V]{
			owner: o,
			items: []item[K, V]{{key: m.root.items[0].key}, {key: right.items[0].key}},
			kids:  []*node[K, V]{m.root, right},
		}
	}
	if !replaced {
		m.n++
	}
	return old, replaced
}

func (n *node[K, V]) set(o *owner, key K, val V) (old V, replaced bool, right *node[K, V]) {
	if n.kids == nil {
		i := n.search(key)
		if i < len(n.items) && n.items[i].key == key {
			old, n.items[i].val = n.items[i].val, val
			return old, true, nil
		}
		n.items = insertAt(n.items, i, item[K, V]{key, val})
		if len(n.items) > maxItems {
			right = n.split(o, i)
		}
		return old, false, right
	}
	i := n.kid(key)
	k := n.kids[i].own(o)
	n.kids[i] = k
	old, replaced, r := k.set(o, key, val)
	if r != nil {
		n.items = insertAt(n.items, i+1, item[K, V]{key: r.items[0].key})
		n.kids = insertAt(n.kids, i+1, r)
		if len(n.items) > maxItems {
			right = n.split(o, i+1)
		}
	}
	return old, replaced, right
}

// split moves the upper part of an overfull node into a new one. at is where the last item went in: ascending
// inserts (new inode numbers, rows in key order) leave full nodes behind.
func (n *node[K, V]) split(o *owner, at int) *node[K, V] {
	m := len(n.items) / 2
	if at == len(n.items)-1 {
		m = at
	}
	r := &node[K, V]{owner: o, items: append(make([]item[K, V], 0, roomFor(len(n.items)-m)), n.items[m:]...)}
	clear(n.items[m:])
	n.items = n.items[:m]
	if n.kids != nil {
		r.kids = append(make([]*node[K, V], 0, cap(r.items)), n.kids[m:]...)
		clear(n.kids[m:])
		n.kids = n.kids[:m]
	}
	return r
}

// delete removes key and returns its value.
func (m *omap[K, V]) delete(o *owner, key K) (old V, ok bool) {
	if old, ok = m.get(key); !ok {
		return old, false
	}
	m.root = m.root.own(o)
	m.root.delete(o, key)
	m.n--
	for len(m.root.kids) == 1 {
		m.root = m.root.kids[0]
	}
	if len(m.root.items) == 0 {
		m.root = nil
	}
	return old, true
}

func (n *node[K, V]) delete(o *owner, key K) {
	if n.kids == nil {
		i := n.search(key)
		n.items = slices.Delete(n.items, i, i+1)
		return
	}
	i := n.kid(key)
	k := n.kids[i].own(o)
	n.kids[i] = k
	k.delete(o, key)
	switch {
	case len(k.items) == 0:
		n.items = slices.Delete(n.items, i, i+1)
		n.kids = slices.Delete(n.kids, i, i+1)
	case len(k.items) < maxItems/4:
		if i+1 < len(n.kids) {
			n.merge(o, i)
		} else if i > 0 {
			n.merge(o, i-1)
		}
	}
}

// merge joins kids i and i+1 when the result leaves room to grow.
func (n *node[K, V]) merge(o *owner, i int) {
	if len(n.kids[i].items)+len(n.kids[i+1].items) > maxItems*3/4 {
		return
	}
	l, r := n.kids[i].own(o), n.kids[i+1]
	at := len(l.items)
	l.items = append(l.items, r.items...)
	if l.kids != nil {
		// The first key of an inner node is not kept up to date; the parent's is right.
		l.items[at].key = n.items[i+1].key
		l.kids = append(l.kids, r.kids...)
	}
	n.kids[i] = l
	n.items = slices.Delete(n.items, i+1, i+2)
	n.kids = slices.Delete(n.kids, i+1, i+2)
}

// ascend calls f for every item from key on, in order, until f returns false.
func (m *omap[K, V]) ascend(from K, f func(K, V) bool) {
	if m.root != nil {
		m.root.ascend(from, f)
	}
}

func (n *node[K, V]) ascend(from K, f func(K, V) bool) bool {
	if n.kids == nil {
		for _, it := range n.items[n.search(from):] {
			if !f(it.key, it.val) {
				return false
			}
		}
		return true
	}
	for i := n.kid(from); i < len(n.kids); i++ {
		if !n.kids[i].ascend(from, f) {
			return false
		}
	}
	return true
}

// all calls f for every item in order until f returns false.
func (m *omap[K, V]) all(f func(K, V) bool) {
	if m.root != nil {
		m.root.all(f)
	}
}

func (n *node[K, V]) all(f func(K, V) bool) bool {
	for _, k := range n.kids {
		if !k.all(f) {
			return false
		}
	}
	if n.kids == nil {
		for _, it := range n.items {
			if !f(it.key, it.val) {
				return false
			}
		}
	}
	return true
}

// build makes a map of items that are in strictly ascending order. It copies them.
func build[K cmp.Ordered, V any](o *owner, items []item[K, V]) omap[K, V] {
	if len(items) == 0 {
		return omap[K, V]{}
	}
	level := make([]*node[K, V], 0, len(items)/maxItems+1)
	for part := range slices.Chunk(items, maxItems) {
		level = append(level, &node[K, V]{owner: o, items: slices.Clone(part)})
	}
	for len(level) > 1 {
		up := make([]*node[K, V], 0, len(level)/maxItems+1)
		for part := range slices.Chunk(level, maxItems) {
			n := &node[K, V]{owner: o, items: make([]item[K, V], len(part)), kids: slices.Clone(part)}
			for i, k := range part {
				n.items[i].key = k.items[0].key
			}
			up = append(up, n)
		}
		level = up
	}
	return omap[K, V]{root: level[0], n: len(items)}
}
