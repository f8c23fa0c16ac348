package jq

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// brief is the text of v, cut to 29 bytes.
func brief(v any) string { return briefer(v, 30) }

func briefer(v any, n int) string {
	s := string(Style{limit: 4 * n}.Append(nil, v))
	if len(s) < n {
		return s
	}
	end := ""
	switch v.(type) {
	case string:
		end = `"`
	case *Array:
		end = "]"
	case *Object:
		end = "}"
	}
	cut := n - 1 - len("...") - len(end)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..." + end
}

// describe is how error messages show a value: its kind and the beginning of its text.
func describe(v any) string { return kindOf(v) + " (" + brief(v) + ")" }

// bounds are the limits of a slice of n elements.
func bounds(key *Object, n int) (from, to int, err error) {
	get := func(name string, def float64) (float64, error) {
		v, ok := key.Get(name)
		if v == nil && ok {
			return def, nil
		}
		f, ok := number(v)
		if !ok {
			return 0, errorf("Array/string slice indices must be integers")
		}
		if f < 0 {
			f += float64(n)
		}
		return f, nil
	}
	a, err := get("start", 0)
	if err != nil {
		return 0, 0, err
	}
	b, err := get("end", float64(n))
	if err != nil {
		return 0, 0, err
	}
	from = min(max(clampInt(a), 0), n)
	to = min(max(clampInt(math.Ceil(b)), 0), n)
	return from, max(from, to), nil
}

// get is x[key].
func (m *Machine) get(x, key any) (any, error) {
	switch k := key.(type) {
	case string:
		switch x := x.(type) {
		case *Object:
			v, _ := x.Get(k)
			return v, nil
		case nil:
			return nil, nil
		}
	case float64:
		switch x := x.(type) {
		case *Array:
			return element(x, k), nil
		case nil:
			return nil, nil
		}
	case *Literal:
		return m.get(x, k.f)
	case *Object:
		return m.slice(x, k)
	case *Array:
		if x, ok := x.(*Array); ok {
			return m.indices(x, k), nil
		}
	}
	return nil, cannotIndex(x, key)
}

func cannotIndex(x, key any) error {
	return errorf("Cannot index %s with %s", kindOf(x), describe(key))
}

func element(a *Array, k float64) any {
	if k != k {
		return nil
	}
	i := clampInt(k)
	if i < 0 {
		i += a.n
	}
	if i < 0 || i >= a.n {
		return nil
	}
	return a.Values()[i]
}

func (m *Machine) slice(x any, key *Object) (any, error) {
	switch x := x.(type) {
	case nil:
		return nil, nil
	case *Array:
		from, to, err := bounds(key, x.n)
		if err != nil {
			return nil, err
		}
		m.alloc(112 + 16*(to-from))
		m.Tick((to - from) >> 8)
		return NewArray(slices.Clone(x.Values()[from:to])), nil
	case string:
		m.Tick(len(x) >> 10)
		from, to, err := bounds(key, utf8.RuneCountInString(x))
		if err != nil {
			return nil, err
		}
		a := byteOffset(x, from)
		b := a + byteOffset(x[a:], to-from)
		m.alloc(b - a + 16)
		return strings.Clone(x[a:b]), nil
	}
	return nil, cannotIndex(x, key)
}

func byteOffset(s string, n int) int {
	i := 0
	for ; n > 0 && i < len(s); n-- {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		_, w := utf8.DecodeRuneInString(s[i:])
		i += w
	}
	return i
}

// indices lists where sub begins in a.
func (m *Machine) indices(a, sub *Array) *Array {
	var out []any
	x, y := a.Values(), sub.Values()
	for i := 0; len(y) > 0 && i+len(y) <= len(x); i++ {
		same := true
		for j := range y {
			m.Tick(1)
			if compareTick(x[i+j], y[j], m.Tick) != 0 {
				same = false
				break
			}
		}
		if same {
			m.alloc(24)
			out = append(out, float64(i))
		}
	}
	return NewArray(out)
}

func (m *Machine) getPath(v any, p []any) (any, error) {
	for _, k := range p {
		if v == nil {
			return nil, nil
		}
		m.Tick(1)
		var err error
		if v, err = m.get(v, k); err != nil {
			return nil, err
		}
	}
	return v, nil
}

const maxIndex = 1 << 29

// setPath puts x where p leads to in v, which is walked twice instead of recursing.
func (m *Machine) setPath(v any, p []any, x any) (any, error) {
	if len(p) > maxValueDepth {
		return nil, errorf("Path too deep")
	}
	var buf [8]any
	olds := buf[:0]
	for _, k := range p {
		m.Tick(1)
		olds = append(olds, v)
		var err error
		if v, err = m.get(v, k); err != nil {
			return nil, err
		}
	}
	for i, old := range slices.Backward(olds) {
		var err error
		if x, err = m.set(old, p[i], x); err != nil {
			return nil, err
		}
	}
	return bounded(x)
}

func (m *Machine) set(v, key, x any) (any, error) {
	switch k := key.(type) {
	case string:
		switch v := v.(type) {
		case nil:
			m.alloc(300)
			o := NewObject()
			o.put(k, x)
			return o, nil
		case *Object:
			return m.setKey(v, k, x), nil
		}
	case *Literal:
		return m.set(v, k.f, x)
	case float64:
		a, ok := v.(*Array)
		if v == nil {
			a, ok = NewArray(nil), true
		}
		if ok {
			return m.setIndex(a, k, x)
		}
	case *Object:
		return m.setSlice(v, k, x)
	case *Array:
		if _, ok := v.(*Array); ok {
			return nil, errorf("Cannot update field at array index of array")
		}
	}
	return nil, cannotIndex(v, key)
}

func (m *Machine) setIndex(a *Array, k float64, x any) (any, error) {
	i := clampInt(k)
	if i < 0 {
		if i += a.n; i < 0 {
			return nil, errorf("Out of bounds negative array index")
		}
	}
	switch {
	case i < a.n:
		return m.setAt(a, i, x), nil
	case i == a.n:
		return m.concat(a, []any{x}), nil
	case i >= maxIndex:
		return nil, errorf("Array index too large")
	}
	m.alloc(16 * (i + 1 - a.n))
	more := make([]any, i+1-a.n)
	more[len(more)-1] = x
	return m.concat(a, more), nil
}

func (m *Machine) setSlice(v any, k *Object, x any) (any, error) {
	a, ok := v.(*Array)
	if v == nil {
		a, ok = NewArray(nil), true
	}
	if _, text := v.(string); text {
		return nil, errorf("Cannot update string slices")
	}
	if !ok {
		return nil, cannotIndex(v, k)
	}
	from, to, err := bounds(k, a.n)
	if err != nil {
		return nil, err
	}
	xs, ok := x.(*Array)
	if !ok {
		return nil, errorf("A slice of an array can only be assigned another array")
	}
	if to-from == xs.n {
		for i, x := range xs.Values() {
			m.Tick(1)
			a = m.setAt(a, from+i, x)
		}
		return a, nil
	}
	m.alloc(112 + 16*(a.n+xs.n))
	m.Tick(1 + (a.n+xs.n)>>6)
	e := a.Values()
	return NewArray(slices.Concat(e[:from], xs.Values(), e[to:])), nil
}

// deletePaths deletes what the paths name, the last ones first. All that goes from one array goes at once.
func (m *Machine) deletePaths(v any, ps *Array) (any, error) {
	list := make([][]any, ps.n)
	m.alloc(24 * ps.n)
	for i, p := range ps.Values() {
		a, ok := p.(*Array)
		if !ok {
			return nil, errorf("Path must be specified as array, not %s", kindOf(p))
		}
		list[i] = a.Values()
	}
	slices.SortFunc(list, func(a, b []any) int {
		m.Tick(1)
		return slices.CompareFunc(a, b, func(x, y any) int { return compareTick(x, y, m.Tick) })
	})
	if len(list) > 0 && len(list[0]) == 0 {
		return nil, nil
	}
	for end := len(list); end > 0; {
		// What differs in the last key only goes together.
		last := list[end-1]
		prefix := last[:len(last)-1]
		from := end - 1
		for from > 0 && len(list[from-1]) == len(last) && slices.EqualFunc(list[from-1][:len(prefix)], prefix, m.same) {
			from--
		}
		keys := make([]any, 0, end-from)
		for _, p := range list[from:end] {
			m.Tick(1 + len(p)>>4)
			keys = append(keys, p[len(p)-1])
		}
		end = from
		inner, err := m.getPath(v, prefix)
		if err != nil {
			return nil, err
		}
		if inner == nil {
			continue
		}
		if inner, err = m.deleteKeys(inner, keys); err != nil {
			return nil, err
		}
		if v, err = m.setPath(v, prefix, inner); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (m *Machine) same(a, b any) bool { return compareTick(a, b, m.Tick) == 0 }

// deleteKeys deletes fields of an object, elements or slices of an array.
func (m *Machine) deleteKeys(v any, keys []any) (any, error) {
	switch x := v.(type) {
	case *Object:
		gone := map[string]bool{}
		for _, key := range keys {
			k, ok := key.(string)
			if !ok {
				return nil, errorf("Cannot delete %s field of object", kindOf(key))
			}
			if _, ok := x.Get(k); ok {
				gone[k] = true
			}
		}
		if len(gone) == 0 {
			return x, nil
		}
		m.Tick(x.n >> 6)
		m.alloc(100 * x.n)
		return x.without(gone), nil
	case *Array:
		return m.deleteElements(x, keys)
	}
	return nil, errorf("Cannot delete fields from %s", kindOf(v))
}

func (m *Machine) deleteElements(x *Array, keys []any) (any, error) {
	m.Tick(x.n >> 8)
	m.alloc(17*x.n + 112)
	gone := make([]bool, x.n)
	for _, key := range keys {
		switch k := key.(type) {
		case float64, *Literal:
			f, _ := number(k)
			i := clampInt(f)
			if i < 0 {
				i += x.n
			}
			if i >= 0 && i < x.n {
				gone[i] = true
			}
		case *Object:
			from, to, err := bounds(k, x.n)
			if err != nil {
				return nil, err
			}
			m.Tick((to - from) >> 8)
			for i := from; i < to; i++ {
				gone[i] = true
			}
		default:
			return nil, errorf("Cannot delete %s element of array", kindOf(key))
		}
	}
	kept := make([]any, 0, x.n)
	for i, e := range x.Values() {
		if !gone[i] {
			kept = append(kept, e)
		}
	}
	return NewArray(kept), nil
}
