package awk

import (
	"cmp"
	"slices"
	"strings"
)

// element is one entry of an array being sorted.
type element struct {
	key string
	c   *cell
}

// ordering returns the comparison that a PROCINFO["sorted_in"] or asort argument names, nil when it names none.
func (in *interp) ordering(name string) func(a, b element) int {
	desc := strings.HasSuffix(name, "_desc")
	var f func(a, b element) int
	switch strings.TrimSuffix(strings.TrimSuffix(name, "_asc"), "_desc") {
	case "@ind_str":
		f = func(a, b element) int { return in.collate(a.key, b.key) }
	case "@ind_num":
		f = func(a, b element) int {
			x, _ := parsePrefix(a.key)
			y, _ := parsePrefix(b.key)
			return cmp.Or(cmp.Compare(x, y), strings.Compare(a.key, b.key))
		}
	case "@val_str":
		f = func(a, b element) int {
			if c, ok := arraysLast(a, b); ok {
				return c
			}
			return cmp.Or(in.collate(in.str(a.c.v), in.str(b.c.v)), strings.Compare(a.key, b.key))
		}
	case "@val_num":
		f = func(a, b element) int {
			if c, ok := arraysLast(a, b); ok {
				return c
			}
			return cmp.Or(cmp.Compare(a.c.v.num(), b.c.v.num()), strings.Compare(in.str(a.c.v), in.str(b.c.v)),
				strings.Compare(a.key, b.key))
		}
	case "@val_type":
		f = func(a, b element) int {
			return cmp.Or(in.compareTyped(a, b), strings.Compare(a.key, b.key))
		}
	default:
		fn := in.prog.funcs[name]
		if fn == nil || !fn.defined || len(fn.params) < 1 {
			return nil
		}
		return func(a, b element) int {
			in.p.Tick(1)
			v := in.callWith(fn, input(a.key), a.c.v, input(b.key), b.c.v)
			return cmp.Compare(v.num(), 0)
		}
	}
	if desc {
		return func(a, b element) int { return f(b, a) }
	}
	return f
}

func arraysLast(a, b element) (int, bool) {
	switch {
	case a.c.sub != nil && b.c.sub != nil:
		return strings.Compare(a.key, b.key), true
	case a.c.sub != nil:
		return 1, true
	case b.c.sub != nil:
		return -1, true
	}
	return 0, false
}

// compareTyped orders numbers before strings before arrays.
func (in *interp) compareTyped(a, b element) int {
	if c, ok := arraysLast(a, b); ok {
		return c
	}
	x, y := &a.c.v, &b.c.v
	if x.k == kInput {
		x.settle()
	}
	if y.k == kInput {
		y.settle()
	}
	switch {
	case !x.text() && !y.text():
		return cmp.Compare(x.n, y.n)
	case !x.text():
		return -1
	case !y.text():
		return 1
	}
	return in.collate(x.s, y.s)
}

// collate compares two strings, without their case where IGNORECASE says so.
func (in *interp) collate(a, b string) int {
	if in.ignoreCase {
		return strings.Compare(strings.ToLower(a), strings.ToLower(b))
	}
	return strings.Compare(a, b)
}

// forKeys lists the subscripts that `for (k in a)` visits, in order.
func (in *interp) forKeys(a *array) []string {
	if info := in.globalArray("PROCINFO"); info.has("sorted_in") {
		how := in.str(in.get(info, "sorted_in", false).v)
		if f := in.ordering(how); f != nil {
			list := in.elements(a)
			slices.SortStableFunc(list, f)
			keys := make([]string, len(list))
			for i, e := range list {
				keys[i] = e.key
			}
			return keys
		}
		if how != "@unsorted" && how != "" {
			in.fatal("sort comparison function `%s' is not defined", how)
		}
	}
	return a.keys()
}

func (in *interp) elements(a *array) []element {
	keys := a.keys()
	list := make([]element, len(keys))
	for i, k := range keys {
		list[i] = element{k, a.m[k]}
	}
	in.checkSize(len(list) * 24)
	return list
}

func (c *compiler) asort(e *builtinCall) numFn {
	src := c.arr(unparen(e.args[0]))
	dst := src
	if len(e.args) > 1 {
		dst = c.arr(unparen(e.args[1]))
	}
	byIndex := e.fn == fAsorti
	how := func(*interp) string { return "" }
	if len(e.args) > 2 {
		how = c.str(e.args[2])
	}
	return func(in *interp) float64 {
		name := how(in)
		if name == "" {
			name = "@val_type_asc"
			if byIndex {
				name = "@ind_str_asc"
			}
		}
		f := in.ordering(name)
		if f == nil {
			in.fatal("sort comparison function `%s' is not defined", name)
		}
		list := in.elements(src(in))
		slices.SortStableFunc(list, f)
		out := make([]value, len(list))
		for i, x := range list {
			if byIndex {
				out[i] = str(x.key)
			} else {
				out[i] = x.c.v
			}
		}
		d := dst(in)
		in.clear(d)
		for i, v := range out {
			c := in.getNum(d, float64(i+1))
			in.store(&c.v, v)
			if !byIndex {
				c.sub = list[i].c.sub
			}
		}
		return float64(len(out))
	}
}
