package awk

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// array is an awk array. A cell's address is stable until the cell is deleted.
type array struct {
	m    map[string]*cell
	root *table
	used bool // it has been made an array: until then, typeof says untyped
}

type cell struct {
	v   value
	sub *array // gawk's arrays of arrays

	home *table // what decides the cell's place in for-in
	seq  int
	n    int64 // the subscript, when home holds integers
}

const cellCost = 128 // of a cell, its key's header and its share of the map

func newArray() *array { return &array{m: map[string]*cell{}} }

func (a *array) size() int { return len(a.m) }

// get returns the cell of key, which it makes when there is none.
func (in *interp) get(a *array, key string, view bool) *cell {
	c, ok := a.m[key]
	if ok {
		return c
	}
	if view {
		key = strings.Clone(key)
	}
	c = &cell{}
	a.used = true
	a.m[key] = c
	a.place(c, key)
	in.hold(len(key) + cellCost)
	return c
}

// getNum is get for a numeric subscript.
func (in *interp) getNum(a *array, f float64) *cell {
	if n := int(f); float64(n) == f {
		if uint(n) < uint(len(smallInts)) {
			return in.get(a, smallInts[n], false)
		}
		var buf [20]byte
		b := strconv.AppendInt(buf[:0], int64(n), 10)
		if c, ok := a.m[string(b)]; ok {
			return c
		}
		return in.get(a, string(b), false)
	}
	return in.get(a, in.numStr(f, in.convfmt), false)
}

func (a *array) has(key string) bool {
	_, ok := a.m[key]
	return ok
}

func (in *interp) remove(a *array, key string) {
	c, ok := a.m[key]
	if !ok {
		return
	}
	delete(a.m, key)
	c.home.remove(c)
	a.root = a.root.prune()
	in.hold(-c.cost(key))
}

// cost is what a cell holds.
func (c *cell) cost(key string) int {
	n := len(key) + cellCost + len(c.v.s)
	if c.sub != nil {
		n += c.sub.cost()
	}
	return n
}

func (a *array) cost() int {
	n := 0
	for k, c := range a.m {
		n += c.cost(k)
	}
	return n
}

func (in *interp) clear(a *array) {
	a.used = true
	if len(a.m) > 0 {
		in.hold(-a.cost())
		a.m, a.root = map[string]*cell{}, nil
	}
}

// keys lists the subscripts in the order for-in visits them.
func (a *array) keys() []string {
	if a.root == nil {
		return nil
	}
	by := map[*table][]placed{}
	for k, c := range a.m {
		by[c.home] = append(by[c.home], placed{k, c})
	}
	keys := make([]string, 0, len(a.m))
	// The table of what did not fit comes before the one it belongs to.
	var chain []*table
	for t := a.root; t != nil; t = t.x {
		chain = append(chain, t)
	}
	for _, t := range slices.Backward(chain) {
		for _, p := range t.order(by[t]) {
			keys = append(keys, p.key)
		}
	}
	return keys
}

// A table reproduces the order in which gawk visits an array: scripts print
// `for (k in a)` unsorted and their output is compared. gawk keeps
// non-negative integers in a dense structure (visited ascending) while it does not waste too
// much space, other integers and strings in two kinds of chained hash tables. A
// table only remembers what the order depends on: which cells came when, and when
// the hash table would have grown. Look-ups go through a map.
type table struct {
	kind  tableKind
	live  int
	seq   int
	grown []growth

	// Of dense tables.
	leaves   map[leaf]int
	capacity int

	x *table // holds the subscripts this one does not take
}

type tableKind uint8

const (
	dense tableKind = iota
	integers
	texts
)

// growth says that the table had size buckets from the cell seq on.
type growth struct{ seq, size int }

type placed struct {
	key string
	c   *cell
}

// leaf is a block of a dense table, all of which is allocated for one element.
type leaf struct {
	level int
	index int64
}

var bucketSizes = []int{
	13, 127, 1021, 8191, 16381, 32749, 65497, 131101, 262147, 524309, 1048583,
	2097169, 4194319, 8388617, 16777259, 33554467, 67108879, 134217757, 268435459,
}

const (
	denseLevel = 10   // subscripts below 2^10 share one structure
	denseWaste = 2048 // unused places a dense table may have
	textChain  = 2    // average chain length above which a hash table grows
	intChain   = 2
)

// intKey reports whether key is the canonical text of a 32-bit integer.
func intKey(key string) (int64, bool) {
	if key == "" || len(key) > 11 {
		return 0, false
	}
	digits := key
	if key[0] == '-' {
		digits = key[1:]
	}
	if digits == "" || digits[0] == '0' && key != "0" {
		return 0, false
	}
	var n int64
	for _, c := range []byte(digits) {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if key[0] == '-' {
		n = -n
	}
	return n, n == int64(int32(n))
}

// place finds the table of a new cell.
func (a *array) place(c *cell, key string) {
	n, isInt := intKey(key)
	c.n = n
	at := &a.root
	for {
		if *at == nil {
			kind := texts
			switch {
			case isInt && n >= 0 && at == &a.root:
				kind = dense
			case isInt:
				kind = integers
			}
			*at = &table{kind: kind}
		}
		t := *at
		switch {
		case t.kind == texts, t.kind == integers && isInt:
			t.add(c)
			return
		case t.kind == dense && isInt && n >= 0 && t.takes(n):
			t.add(c)
			return
		}
		at = &t.x
	}
}

// leafOf returns the block that holds n, its size, and what gawk reckons a new block takes.
func leafOf(n int64) (l leaf, size, estimate int) {
	level := denseLevel
	for n>>level != 0 {
		level++
	}
	m := level - 1
	if level == denseLevel && n>>(denseLevel-1) == 0 {
		m = denseLevel
	}
	est := max(level-1, denseLevel)
	for est >= denseLevel {
		est = (est + 1) / 2
	}
	bits := (max(m, denseLevel) + 1) / 2
	for bits > denseLevel {
		bits = (bits + 1) / 2
	}
	return leaf{level, n >> bits}, 1 << bits, 1 << est
}

// takes reports whether a dense table has room for n.
func (t *table) takes(n int64) bool {
	_, _, estimate := leafOf(n)
	return t.capacity+estimate-t.live <= denseWaste
}

func (t *table) add(c *cell) {
	c.home, c.seq = t, t.seq
	t.live++
	if t.kind == dense {
		l, size, _ := leafOf(c.n)
		if t.leaves == nil {
			t.leaves = map[leaf]int{}
		}
		if t.leaves[l]++; t.leaves[l] == 1 {
			t.capacity += size
		}
		return
	}
	limit, size := textChain, 0
	if t.kind == integers {
		limit = intChain
	}
	if n := len(t.grown); n > 0 {
		size = t.grown[n-1].size
	}
	if (size == 0 || t.live/size > limit) && len(t.grown) < len(bucketSizes) {
		t.grown = append(t.grown, growth{t.seq, bucketSizes[len(t.grown)]})
	}
	t.seq++
}

func (t *table) remove(c *cell) {
	t.live--
	if t.kind != dense {
		return
	}
	l, size, _ := leafOf(c.n)
	if t.leaves[l]--; t.leaves[l] == 0 {
		delete(t.leaves, l)
		t.capacity -= size
	}
}

// prune drops empty tables: what an emptied one did not take steps into its place.
func (t *table) prune() *table {
	if t.x != nil {
		t.x = t.x.prune()
	}
	if t.live == 0 {
		return t.x
	}
	return t
}

// order sorts the cells of the table as for-in visits them.
func (t *table) order(cells []placed) []placed {
	if t.kind == dense {
		slices.SortFunc(cells, func(a, b placed) int { return cmp.Compare(a.c.n, b.c.n) })
		return cells
	}
	slices.SortFunc(cells, func(a, b placed) int { return cmp.Compare(a.c.seq, b.c.seq) })
	codes := make([]uint32, len(cells))
	for i, p := range cells {
		if t.kind == texts {
			codes[i] = hashText(p.key)
		} else {
			codes[i] = hashInt(uint32(p.c.n))
		}
	}
	var visit []int32 // cells placed so far, in order
	next := 0
	for g, grown := range t.grown {
		until := t.seq
		if g+1 < len(t.grown) {
			until = t.grown[g+1].seq
		}
		b := newBuckets(grown.size, len(cells), t.kind == integers)
		for _, i := range visit {
			b.insert(i, codes[i])
		}
		for next < len(cells) && cells[next].c.seq < until {
			b.insert(int32(next), codes[next])
			next++
		}
		visit = b.list(visit[:0])
	}
	out := make([]placed, len(visit))
	for i, n := range visit {
		out[i] = cells[n]
	}
	return out
}

// buckets are chains with the newest first; in a table of integers, two share a link, the
// older of them first.
type buckets struct {
	head  []int32 // index+1 of the newest link, 0: empty
	next  []int32 // by the link's first cell
	mate  []int32 // by the link's first cell: the second, +1
	pairs bool
}

func newBuckets(size, cells int, pairs bool) *buckets {
	b := &buckets{head: make([]int32, size), next: make([]int32, cells), pairs: pairs}
	if pairs {
		b.mate = make([]int32, cells)
	}
	return b
}

func (b *buckets) insert(i int32, code uint32) {
	h := &b.head[code%uint32(len(b.head))]
	if b.pairs && *h != 0 && b.mate[*h-1] == 0 {
		b.mate[*h-1] = i + 1
		return
	}
	b.next[i] = *h
	*h = i + 1
}

func (b *buckets) list(out []int32) []int32 {
	for _, h := range b.head {
		for ; h != 0; h = b.next[h-1] {
			out = append(out, h-1)
			if b.pairs && b.mate[h-1] != 0 {
				out = append(out, b.mate[h-1]-1)
			}
		}
	}
	return out
}

// hashText is the sdbm hash: h*65599 + c, over signed bytes.
func hashText(s string) uint32 {
	var h uint32
	for i := range len(s) {
		h = uint32(int32(int8(s[i]))) + h*65599
	}
	return h
}

// hashInt mixes the bits of an integer.
func hashInt(k uint32) uint32 {
	k ^= k << 3
	k += k >> 5
	k ^= k << 4
	k += k >> 17
	k ^= k << 25
	k += k >> 6
	return k
}
