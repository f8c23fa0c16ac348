package awk

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// array is an awk array. A cell's address is stable until the cell is deleted.
type array struct {
	m map[string]*cell
}

type cell struct {
	v   value
	sub *array // gawk's arrays of arrays
}

const cellCost = 96 // of a cell, its key's header and its share of the map

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
	a.m[key] = c
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
	if len(a.m) > 0 {
		in.hold(-a.cost())
		a.m = map[string]*cell{}
	}
}

// keys lists the subscripts in the order for-in visits them: numbers by value, then the rest by bytes.
func (a *array) keys() []string {
	keys := make([]string, 0, len(a.m))
	for k := range a.m {
		keys = append(keys, k)
	}
	sortKeys(keys)
	return keys
}

func sortKeys(keys []string) {
	type ranked struct {
		key string
		n   float64
		num bool
	}
	rs := make([]ranked, len(keys))
	for i, k := range keys {
		f, ok := looksNumeric(k)
		rs[i] = ranked{k, f, ok}
	}
	slices.SortFunc(rs, func(a, b ranked) int {
		switch {
		case a.num && b.num:
			if c := cmp.Compare(a.n, b.n); c != 0 {
				return c
			}
		case a.num:
			return -1
		case b.num:
			return 1
		}
		return strings.Compare(a.key, b.key)
	})
	for i := range rs {
		keys[i] = rs[i].key
	}
}
