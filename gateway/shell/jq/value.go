package jq

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"
)

// Array is an immutable JSON array.
type Array struct {
	e     []any
	tip   *int // length of the longest array that shares the storage of e
	depth int  // of nesting, 1 when it holds only scalars
}

// NewArray makes an array of e, which it owns from now on.
func NewArray(e []any) *Array {
	n := len(e)
	return &Array{e, &n, 1 + deepest(e)}
}

// maxValueDepth bounds the nesting of the values a program builds: what walks them recurses.
const maxValueDepth = 10000

func depthOf(v any) int {
	switch v := v.(type) {
	case *Array:
		return v.depth
	case *Object:
		return v.depth
	}
	return 0
}

func deepest(e []any) int {
	d := 0
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

// with returns the array extended by xs. The storage is shared when a is the longest user of it.
func (a *Array) with(xs ...any) *Array {
	if len(a.e) == *a.tip {
		room := cap(a.e)-len(a.e) >= len(xs)
		e := append(a.e, xs...)
		if room {
			*a.tip = len(e)
			return &Array{e, a.tip, max(a.depth, 1+deepest(xs))}
		}
		return NewArray(e)
	}
	return NewArray(append(slices.Clip(a.e), xs...))
}

// Object is an immutable JSON object that remembers the order of its keys.
type Object struct {
	keys []string
	vals []any
	idx  *index

	depth int // of nesting, as of an Array
}

// index finds keys of large objects. It may know keys of other objects that share the storage:
// an entry counts only where keys agrees.
type index struct {
	at  map[string]int
	tip int // length of the longest object that uses it
}

const smallObject = 8

// NewObject returns an empty object.
func NewObject() *Object { return &Object{depth: 1} }

func (o *Object) find(key string) int {
	if o.idx == nil {
		return slices.Index(o.keys, key)
	}
	if i, ok := o.idx.at[key]; ok && i < len(o.keys) && o.keys[i] == key {
		return i
	}
	return -1
}

// Len is the number of keys.
func (o *Object) Len() int { return len(o.keys) }

// Get returns the value of key.
func (o *Object) Get(key string) (any, bool) {
	if i := o.find(key); i >= 0 {
		return o.vals[i], true
	}
	return nil, false
}

// Set returns the object with key set to v.
func (o *Object) Set(key string, v any) *Object {
	if i := o.find(key); i >= 0 {
		vals := slices.Clone(o.vals)
		vals[i] = v
		// The new object no longer shares its values: it must not extend the keys in place.
		return &Object{keys: slices.Clip(o.keys), vals: vals, idx: o.idx, depth: max(o.depth, 1+depthOf(v))}
	}
	n := len(o.keys)
	if o.idx != nil && o.idx.tip == n && cap(o.keys) > n {
		o.idx.at[key] = n
		o.idx.tip = n + 1
		return &Object{append(o.keys, key), append(o.vals, v), o.idx, max(o.depth, 1+depthOf(v))}
	}
	size := n + 1
	if n >= smallObject {
		size = n*2 + 1
	}
	out := &Object{keys: make([]string, n, size), vals: make([]any, n, size), depth: max(o.depth, 1+depthOf(v))}
	copy(out.keys, o.keys)
	copy(out.vals, o.vals)
	out.keys, out.vals = append(out.keys, key), append(out.vals, v)
	if n >= smallObject {
		out.reindex()
	}
	return out
}

// put is Set for an object that nobody else has seen.
func (o *Object) put(key string, v any) {
	o.depth = max(o.depth, 1+depthOf(v))
	if i := o.find(key); i >= 0 {
		o.vals[i] = v
		return
	}
	o.keys, o.vals = append(o.keys, key), append(o.vals, v)
	switch n := len(o.keys); {
	case o.idx != nil:
		o.idx.at[key] = n - 1
		o.idx.tip = n
	case n > smallObject:
		o.reindex()
	}
}

func (o *Object) reindex() {
	o.idx = &index{at: make(map[string]int, cap(o.keys)), tip: len(o.keys)}
	for i, k := range o.keys {
		o.idx.at[k] = i
	}
}

// without returns the object without the keys.
func (o *Object) without(keys map[string]bool) *Object {
	out := NewObject()
	for i, k := range o.keys {
		if !keys[k] {
			out.put(k, o.vals[i])
		}
	}
	return out
}

// sorted returns the positions of the keys in byte order.
func (o *Object) sorted() []int {
	at := make([]int, len(o.keys))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(a, b int) int { return strings.Compare(o.keys[a], o.keys[b]) })
	return at
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
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
	case float64:
		return 3
	case string:
		return 4
	case *Array:
		return 5
	}
	return 6
}

// compare is jq's order of all values; nesting is bounded by the decoder and the evaluator.
func compare(a, b any) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case float64:
		// NaN sorts below every number, itself included.
		switch b := b.(float64); {
		case a < b || a != a:
			return -1
		case a == b:
			return 0
		}
		return 1
	case string:
		return strings.Compare(a, b.(string))
	case *Array:
		b := b.(*Array)
		for i := range min(len(a.e), len(b.e)) {
			if c := compare(a.e[i], b.e[i]); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(a.e), len(b.e))
	case *Object:
		b := b.(*Object)
		sa, sb := a.sorted(), b.sorted()
		for i := range min(len(sa), len(sb)) {
			if c := strings.Compare(a.keys[sa[i]], b.keys[sb[i]]); c != 0 {
				return c
			}
		}
		if c := cmp.Compare(len(sa), len(sb)); c != 0 {
			return c
		}
		for i := range sa {
			if c := compare(a.vals[sa[i]], b.vals[sb[i]]); c != 0 {
				return c
			}
		}
	}
	return 0
}

// size is about how many bytes v holds, not looking further than limit of them.
func size(v any, limit int) int {
	switch v := v.(type) {
	case string:
		return 16 + len(v)
	case *Array:
		n := 48 + 16*cap(v.e)
		for _, e := range v.e {
			if n > limit {
				break
			}
			n += size(e, limit-n)
		}
		return n
	case *Object:
		n := 96 + 32*cap(v.keys)
		if v.idx != nil {
			n += 48 * len(v.keys)
		}
		for i, k := range v.keys {
			if n > limit {
				break
			}
			n += len(k) + size(v.vals[i], limit-n)
		}
		return n
	}
	return 16
}

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
		for i, k := range o.keys {
			if !yield(k, o.vals[i]) {
				return
			}
		}
	}
}

// Values are the elements of a. The caller must not change them.
func (a *Array) Values() []any { return a.e }

// Equal reports whether two values are the same to jq.
func Equal(a, b any) bool { return compare(a, b) == 0 }
