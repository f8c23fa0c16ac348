package jq

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"
)

// Array is an immutable JSON array. A changed copy takes the storage over and leaves in the old one what was changed,
// so that a series of changes, each to the result of the one before, costs as little as in a mutable array. The old one
// is copied when it is looked at again.
type Array struct {
	e     []any // with next: not valid
	next  *Array
	at    int // with next: where it differs from e, -1 when it is only shorter
	old   any
	n     int // length
	edits *storage
	depth int32 // of nesting, 1 when it holds only scalars
	mark  uint32
}

// storage is what versions of a value share.
type storage struct {
	edits int       // changes since the last copy
	free  func(int) // charges for copies
	tick  func(int)
}

// NewArray makes an array of e, which it owns from now on.
func NewArray(e []any) *Array {
	return &Array{e: e, n: len(e), depth: 1 + deepest(e)}
}

// maxValueDepth bounds the nesting of the values a program builds: what walks them recurses.
const maxValueDepth = 100_000

func depthOf(v any) int32 {
	switch v := v.(type) {
	case *Array:
		return v.depth
	case *Object:
		return v.depth
	}
	return 0
}

func deepest(e []any) int32 {
	d := int32(0)
	for _, v := range e {
		d = max(d, depthOf(v))
	}
	return d
}

// bounded returns v, or an error when it is nested too deeply.
func bounded(v any) (any, error) {
	if depthOf(v) > maxValueDepth {
		return nil, errorf("Value nested too deeply")
	}
	return v, nil
}

// Values are the elements of a. The caller must not change them, nor keep them beyond the next change.
func (a *Array) Values() []any {
	if a.next == nil {
		return a.e
	}
	root, same := a.next, a.at < 0
	for ; root.next != nil; root = root.next {
		same = same && (root.at < 0 || root.at >= a.n)
	}
	if same {
		a.next = root
		return root.e[:a.n:a.n]
	}
	a.edits.free(16 * a.n)
	e := slices.Clone(root.e[:a.n])
	var chain []*Array
	for v := a; v != root; v = v.next {
		chain = append(chain, v)
	}
	for _, v := range slices.Backward(chain) {
		if v.at >= 0 && v.at < a.n {
			e[v.at] = v.old
		}
	}
	a.e, a.next, a.old, a.edits = e, nil, nil, nil
	return e
}

// share prepares a change of a in place; false when a copy is due instead.
func (m *Machine) share(s **storage, n int) bool {
	if *s == nil {
		m.alloc(16 * n) // it may be shared with a value that was not made here
		return false
	}
	if (*s).edits++; (*s).edits > n+64 {
		(*s).edits = 0
		m.alloc(16 * n)
		return false
	}
	m.alloc(80)
	return true
}

func (m *Machine) newStorage() *storage {
	return &storage{free: func(n int) { m.Tick(n >> 10); m.alloc(n) }, tick: m.Tick}
}

// setAt returns a with the element at i, which exists, replaced.
func (m *Machine) setAt(a *Array, i int, x any) *Array {
	e := a.Values()
	b := &Array{n: a.n, depth: max(a.depth, 1+depthOf(x))}
	if !m.share(&a.edits, a.n) {
		m.Tick(1 + a.n>>8)
		b.e, b.edits = slices.Clone(e), m.newStorage()
		b.e[i] = x
		return b
	}
	b.e, b.edits = e, a.edits
	a.e, a.next, a.at, a.old = nil, b, i, e[i]
	e[i] = x
	return b
}

// concat returns a extended by xs.
func (m *Machine) concat(a *Array, xs []any) *Array {
	if len(xs) == 0 {
		return a
	}
	e := a.Values()
	m.Tick(1 + len(xs)>>8)
	b := &Array{n: a.n + len(xs), depth: max(a.depth, 1+deepest(xs))}
	if a.edits == nil || a.next != nil || len(e) != a.n {
		m.alloc(16*b.n + 80)
		m.Tick(a.n >> 8)
		b.e = make([]any, b.n, b.n+b.n/4+2)
		copy(b.e, e)
		copy(b.e[a.n:], xs)
		b.edits = m.newStorage()
		return b
	}
	m.alloc(80)
	if b.n > cap(e) {
		m.alloc(32 * b.n)
		e = slices.Grow(e, b.n)
		a.e = e[:a.n]
	}
	b.e, b.edits = append(e, xs...), a.edits
	a.e, a.next, a.at, a.old = nil, b, -1, nil
	return b
}

// table is the fields of an object in their order.
type table struct {
	keys []string
	vals []any
	idx  map[string]int // nil in small ones
}

const smallObject = 8

func (t *table) find(key string, n int) int {
	if t.idx == nil {
		for i, k := range t.keys[:n] {
			if k == key {
				return i
			}
		}
		return -1
	}
	if i, ok := t.idx[key]; ok && i < n {
		return i
	}
	return -1
}

func (t *table) add(key string, v any) {
	if t.keys == nil {
		t.keys, t.vals = make([]string, 0, 4), make([]any, 0, 4)
	}
	t.keys, t.vals = append(t.keys, key), append(t.vals, v)
	if t.idx != nil {
		t.idx[key] = len(t.keys) - 1
	} else if len(t.keys) > smallObject {
		t.idx = make(map[string]int, 2*len(t.keys))
		for i, k := range t.keys {
			t.idx[k] = i
		}
	}
}

func (t *table) copyOf(n int, tick func(int)) *table {
	c := &table{keys: make([]string, n, n+1+n/4), vals: make([]any, n, n+1+n/4)}
	copy(c.keys, t.keys)
	copy(c.vals, t.vals)
	if n > smallObject {
		c.idx = make(map[string]int, n+1)
		for i, k := range c.keys {
			if i&1023 == 1023 {
				tick(64)
			}
			c.idx[k] = i
		}
	}
	return c
}

// Object is an immutable JSON object that remembers the order of its keys. It has versions as an [Array] has.
type Object struct {
	t     *table
	next  *Object
	at    int
	old   any
	n     int
	edits *storage
	depth int32
	mark  uint32
}

// NewObject returns an empty object.
func NewObject() *Object { return &Object{t: &table{}, depth: 1} }

// fields are the fields of o: the first o.n of the table.
func (o *Object) fields() *table {
	if o.next == nil {
		return o.t
	}
	root, same := o.next, o.at < 0
	for ; root.next != nil; root = root.next {
		same = same && (root.at < 0 || root.at >= o.n)
	}
	if same {
		o.next = root
		return root.t
	}
	o.edits.free(80 * o.n)
	t := root.t.copyOf(o.n, o.edits.tick)
	var chain []*Object
	for v := o; v != root; v = v.next {
		chain = append(chain, v)
	}
	for _, v := range slices.Backward(chain) {
		if v.at >= 0 && v.at < o.n {
			t.vals[v.at] = v.old
		}
	}
	o.t, o.next, o.old, o.edits = t, nil, nil, nil
	return t
}

// Len is the number of fields.
func (o *Object) Len() int { return o.n }

// keys are the names of the fields, in their order.
func (o *Object) keys() []string { return o.fields().keys[:o.n] }

// vals are the values of the fields.
func (o *Object) vals() []any { return o.fields().vals[:o.n] }

// Get returns the value of key.
func (o *Object) Get(key string) (any, bool) {
	t := o.fields()
	if i := t.find(key, o.n); i >= 0 {
		return t.vals[i], true
	}
	return nil, false
}

// Set returns the object with key set to v.
func (o *Object) Set(key string, v any) *Object {
	t := o.fields().copyOf(o.n, noTick)
	if i := t.find(key, o.n); i >= 0 {
		t.vals[i] = v
	} else {
		t.add(key, v)
	}
	return &Object{t: t, n: len(t.keys), depth: max(o.depth, 1+depthOf(v))}
}

// setKey is Set that takes the storage over.
func (m *Machine) setKey(o *Object, key string, v any) *Object {
	t := o.fields()
	i := t.find(key, o.n)
	b := &Object{n: o.n, depth: max(o.depth, 1+depthOf(v))}
	if i < 0 {
		b.n++
	}
	if o.next != nil || len(t.keys) != o.n || !m.share(&o.edits, o.n) {
		m.alloc(96 + 64*o.n)
		b.t, b.edits = t.copyOf(o.n, m.Tick), m.newStorage()
		if i >= 0 {
			b.t.vals[i] = v
		} else {
			b.t.add(key, v)
		}
		return b
	}
	b.t, b.edits = t, o.edits
	o.t, o.next, o.at, o.old = nil, b, -1, nil
	if i >= 0 {
		o.at, o.old = i, t.vals[i]
		t.vals[i] = v
		return b
	}
	m.alloc(100 + len(key))
	t.add(key, v)
	return b
}

// put is Set for an object that nobody else has seen.
func (o *Object) put(key string, v any) {
	o.depth = max(o.depth, 1+depthOf(v))
	if i := o.t.find(key, o.n); i >= 0 {
		o.t.vals[i] = v
		return
	}
	o.t.add(key, v)
	o.n++
}

// without returns the object without the keys.
func (o *Object) without(keys map[string]bool) *Object {
	out := NewObject()
	vals := o.vals()
	for i, k := range o.keys() {
		if !keys[k] {
			out.put(k, vals[i])
		}
	}
	return out
}

// sorted returns the positions of the keys in byte order.
func (o *Object) sorted(tick func(int)) []int {
	keys := o.keys()
	at := make([]int, len(keys))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(a, b int) int {
		tick(1)
		return strings.Compare(keys[a], keys[b])
	})
	return at
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64, *Literal:
		return "number"
	case string:
		return "string"
	case *Array:
		return "array"
	}
	return "object"
}

func truthy(v any) bool { return v != nil && v != false }

func rank(v any) int {
	switch v := v.(type) {
	case nil:
		return 0
	case bool:
		if v {
			return 2
		}
		return 1
	case float64, *Literal:
		return 3
	case string:
		return 4
	case *Array:
		return 5
	}
	return 6
}

func noTick(int) {}

// compare is jq's order of all values; nesting is bounded by the decoder and the evaluator.
func compare(a, b any) int { return compareTick(a, b, noTick) }

func compareTick(a, b any, tick func(int)) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case float64:
		y, _ := number(b)
		return compareFloats(a, y)
	case *Literal:
		if y, ok := b.(*Literal); ok {
			return compareLiterals(a, y)
		}
		y, _ := number(b)
		return compareFloats(a.f, y)
	case string:
		y := b.(string)
		tick(min(len(a), len(y)) >> 12)
		return strings.Compare(a, y)
	case *Array:
		b := b.(*Array)
		if a == b && a.depth == 1 && len(a.Values()) == 0 {
			return 0
		}
		x, y := a.Values(), b.Values()
		for i := range min(len(x), len(y)) {
			tick(1)
			if c := compareTick(x[i], y[i], tick); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(x), len(y))
	case *Object:
		return compareObjects(a, b.(*Object), tick)
	}
	return 0
}

func compareObjects(a, b *Object, tick func(int)) int {
	tick(1 + (a.n+b.n)>>2)
	sa, sb := a.sorted(tick), b.sorted(tick)
	ka, kb := a.keys(), b.keys()
	for i := range min(len(sa), len(sb)) {
		if c := strings.Compare(ka[sa[i]], kb[sb[i]]); c != 0 {
			return c
		}
	}
	if c := cmp.Compare(len(sa), len(sb)); c != 0 {
		return c
	}
	for i := range sa {
		if c := compareTick(a.vals()[sa[i]], b.vals()[sb[i]], tick); c != 0 {
			return c
		}
	}
	return 0
}

// compareFloats puts NaN below every number, itself included.
func compareFloats(a, b float64) int {
	switch {
	case a < b || a != a:
		return -1
	case a == b:
		return 0
	}
	return 1
}

// identical reports whether a and b are the same value without looking into them.
func identical(x, b any) bool {
	switch a := x.(type) {
	case string:
		b, ok := b.(string)
		return ok && len(a) == len(b) && (unsafe.StringData(a) == unsafe.StringData(b) || len(a) == 0)
	case float64:
		y, ok := b.(float64)
		return ok && (boxOf(x) == boxOf(b) || a != a && y != y)
	}
	return x == b
}

// boxOf is where the number in v is: numbers that were computed apart are not the same value, even when they are equal.
func boxOf(v any) unsafe.Pointer { return (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1] }

// clampInt is f as an index, which need not exist.
func clampInt(f float64) int {
	switch {
	case f != f:
		return 0
	case f > math.MaxInt32:
		return math.MaxInt32
	case f < math.MinInt32:
		return math.MinInt32
	}
	return int(math.Floor(f))
}

// All gives the keys and values of o in their order.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		vals := o.vals()
		for i, k := range o.keys() {
			if !yield(k, vals[i]) {
				return
			}
		}
	}
}

// Equal reports whether two values are the same to jq.
func Equal(a, b any) bool { return compare(a, b) == 0 }

var epochs atomic.Uint32

// measure is how many bytes the values that roots yields hold, each counted once. It does not recurse.
type measure struct {
	epoch  uint32
	bytes  int
	list   []any
	frames []*frame
	texts  map[*byte]int // what was counted of each
	tick   func(int)
	looked int
}

func newMeasure(tick func(int)) *measure {
	return &measure{epoch: epochs.Add(1), texts: map[*byte]int{}, tick: tick}
}

func (s *measure) value(v any) {
	s.list = append(s.list, v)
	for len(s.list) > 0 {
		if s.looked++; s.looked&4095 == 0 {
			s.tick(64)
		}
		v := s.list[len(s.list)-1]
		s.list = s.list[:len(s.list)-1]
		switch v := v.(type) {
		case float64:
			s.bytes += 8
		case *Literal:
			s.bytes += 48 + len(v.text)
		case string:
			known := 0
			if len(v) > 64 {
				p := unsafe.StringData(v)
				known = s.texts[p]
				s.texts[p] = max(known, len(v))
			}
			s.bytes += 16 + max(0, len(v)-known)
		case *Array:
			s.array(v)
		case *Object:
			s.object(v)
		}
	}
}

func (s *measure) array(v *Array) {
	for ; v != nil && v.mark != s.epoch; v = v.next {
		v.mark = s.epoch
		s.bytes += 112
		if v.next != nil {
			s.list = append(s.list, v.old)
			continue
		}
		s.bytes += 16 * cap(v.e)
		s.list = append(s.list, v.e...)
	}
}

func (s *measure) object(v *Object) {
	for ; v != nil && v.mark != s.epoch; v = v.next {
		v.mark = s.epoch
		s.bytes += 192
		if v.next != nil {
			s.list = append(s.list, v.old)
			continue
		}
		s.bytes += 32 * cap(v.t.keys)
		if v.t.idx != nil {
			s.bytes += 48 * len(v.t.keys)
		}
		for _, k := range v.t.keys {
			s.bytes += len(k)
		}
		s.list = append(s.list, v.t.vals...)
	}
}
