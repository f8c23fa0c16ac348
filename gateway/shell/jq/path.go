package jq

import (
	"errors"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// brief is the text of v, cut to n bytes.
func brief(v any, n int) string {
	s := text(v)
	if len(s) < n {
		return s
	}
	return strings.ToValidUTF8(s[:n-4], "\uFFFD") + "..."
}

// describe is how error messages show a value: its kind and the beginning of its text.
func describe(v any) string { return kindOf(v) + " (" + brief(v, 15) + ")" }

// bounds are the limits of a slice of n elements.
func bounds(key *Object, n int, kind string) (from, to int, err error) {
	get := func(name string, def float64) (float64, error) {
		v, ok := key.Get(name)
		switch v := v.(type) {
		case nil:
			if ok {
				return def, nil
			}
		case float64:
			if v < 0 {
				v += float64(n)
			}
			return v, nil
		}
		return 0, errorf("Start and end indices of an %s slice must be numbers", kind)
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

func isSlice(o *Object) bool {
	_, a := o.Get("start")
	_, b := o.Get("end")
	return a && b
}

// at is x[key].
func (m *Machine) at(x, key any) (any, error) {
	switch k := key.(type) {
	case string:
		switch x := x.(type) {
		case *Object:
			v, _ := x.Get(k)
			return v, nil
		case nil:
			return nil, nil
		}
		return nil, errorf("Cannot index %s with string \"%s\"", kindOf(x), k)
	case float64:
		switch x := x.(type) {
		case *Array:
			if k != math.Floor(k) {
				return nil, nil
			}
			i := clampInt(k)
			if i < 0 {
				i += len(x.e)
			}
			if i < 0 || i >= len(x.e) {
				return nil, nil
			}
			return x.e[i], nil
		case nil:
			return nil, nil
		}
	case *Object:
		switch x := x.(type) {
		case nil:
			return nil, nil
		case *Array:
			from, to, err := bounds(k, len(x.e), "array")
			if err != nil {
				return nil, err
			}
			return NewArray(slices.Clip(x.e[from:to])), nil
		case string:
			from, to, err := bounds(k, utf8.RuneCountInString(x), "string")
			if err != nil {
				return nil, err
			}
			a := byteOffset(x, from)
			return strings.Clone(x[a : a+byteOffset(x[a:], to-from)]), nil
		}
	case *Array:
		if x, ok := x.(*Array); ok {
			return indices(x, k), nil
		}
	}
	if o, ok := key.(*Object); ok && isSlice(o) {
		return nil, errorf("Cannot index %s with object", kindOf(x))
	}
	return nil, errorf("Cannot index %s with %s", kindOf(x), kindOf(key))
}

func byteOffset(s string, n int) int {
	i := 0
	for ; n > 0 && i < len(s); n-- {
		_, w := utf8.DecodeRuneInString(s[i:])
		i += w
	}
	return i
}

// indices lists where sub begins in a.
func indices(a, sub *Array) *Array {
	var out []any
	if len(sub.e) > 0 {
		for i := 0; i+len(sub.e) <= len(a.e); i++ {
			same := true
			for j := range sub.e {
				if compare(a.e[i+j], sub.e[j]) != 0 {
					same = false
					break
				}
			}
			if same {
				out = append(out, float64(i))
			}
		}
	}
	return NewArray(out)
}

func (m *Machine) getPath(v any, p []any) (any, error) {
	for _, k := range p {
		if v == nil {
			return nil, nil
		}
		var err error
		if v, err = m.at(v, k); err != nil {
			return nil, err
		}
	}
	return v, nil
}

const maxIndex = 1 << 26

func (m *Machine) setPath(v any, p []any, x any) (any, error) {
	if len(p) == 0 {
		return x, nil
	}
	old, err := m.at(v, p[0])
	if err != nil {
		return nil, err
	}
	n, err := m.setPath(old, p[1:], x)
	if err != nil {
		return nil, err
	}
	r, err := m.set(v, p[0], n)
	if err != nil {
		return nil, err
	}
	return bounded(r)
}

func (m *Machine) set(v, key, x any) (any, error) {
	switch k := key.(type) {
	case string:
		switch v := v.(type) {
		case nil:
			return NewObject().Set(k, x), nil
		case *Object:
			m.Tick(len(v.keys) >> 8)
			return v.Set(k, x), nil
		}
	case float64:
		a, ok := v.(*Array)
		if v == nil {
			a, ok = NewArray(nil), true
		}
		if !ok {
			break
		}
		i := clampInt(k)
		if i < 0 {
			if i += len(a.e); i < 0 {
				return nil, errorf("Out of bounds negative array index")
			}
		}
		if i > maxIndex {
			return nil, errorf("Array index too large")
		}
		if i == len(a.e) {
			return a.with(x), nil
		}
		n := max(len(a.e), i+1)
		m.Tick(n >> 8)
		if n > 1<<12 {
			m.Hold(16 * n)
			m.Release(16 * n)
		}
		e := make([]any, n)
		copy(e, a.e)
		e[i] = x
		return NewArray(e), nil
	case *Object:
		a, ok := v.(*Array)
		if v == nil {
			a, ok = NewArray(nil), true
		}
		if !ok {
			return nil, errorf("Cannot update field at object index of %s", kindOf(v))
		}
		from, to, err := bounds(k, len(a.e), "array")
		if err != nil {
			return nil, err
		}
		xs, isArr := x.(*Array)
		if !isArr {
			return nil, errorf("A slice of an array can only be assigned another array")
		}
		return NewArray(slices.Concat(a.e[:from], xs.e, a.e[to:])), nil
	case *Array:
		return nil, errorf("Cannot update field at array index of array")
	}
	if s, ok := key.(string); ok {
		return nil, errorf("Cannot index %s with string \"%s\"", kindOf(v), s)
	}
	return nil, errorf("Cannot index %s with %s", kindOf(v), kindOf(key))
}

// deletePaths deletes what the paths name. All that goes from one array goes at once: an index counts from its
// end as it was.
func (m *Machine) deletePaths(v any, ps *Array) (any, error) {
	list := make([][]any, len(ps.e))
	for i, p := range ps.e {
		a, ok := p.(*Array)
		if !ok {
			return nil, errorf("Path must be specified as an array")
		}
		if list[i] = a.e; len(a.e) == 0 {
			return nil, nil
		}
	}
	slices.SortFunc(list, func(a, b []any) int { return slices.CompareFunc(a, b, compare) })
	return m.deleteSorted(v, list, 0)
}

// deleteSorted deletes what sorted paths name, which lead to v with their first depth keys.
func (m *Machine) deleteSorted(v any, list [][]any, depth int) (any, error) {
	var keys []any
	for end := len(list); end > 0; {
		key := list[end-1][depth]
		from := end - 1
		for from > 0 && compare(list[from-1][depth], key) == 0 {
			from--
		}
		group := list[from:end]
		end = from
		m.Tick(len(group))
		if len(group[0]) == depth+1 {
			keys = append(keys, key)
			continue
		}
		old, err := m.at(v, key)
		if err != nil {
			return nil, err
		}
		if old == nil {
			continue
		}
		if old, err = m.deleteSorted(old, group, depth+1); err != nil {
			return nil, err
		}
		if v, err = m.set(v, key, old); err != nil {
			return nil, err
		}
	}
	return deleteKeys(v, keys)
}

// deleteKeys deletes fields of an object, elements or slices of an array.
func deleteKeys(v any, keys []any) (any, error) {
	if v == nil || len(keys) == 0 {
		return v, nil
	}
	switch x := v.(type) {
	case *Object:
		gone := map[string]bool{}
		for _, key := range keys {
			k, ok := key.(string)
			if !ok {
				return nil, errorf("Cannot delete %s field of object", kindOf(key))
			}
			if x.find(k) >= 0 {
				gone[k] = true
			}
		}
		if len(gone) == 0 {
			return x, nil
		}
		return x.without(gone), nil
	case *Array:
		gone := make([]bool, len(x.e))
		for _, key := range keys {
			switch k := key.(type) {
			case float64:
				i := clampInt(k)
				if i < 0 {
					i += len(x.e)
				}
				if i >= 0 && i < len(x.e) {
					gone[i] = true
				}
			case *Object:
				from, to, err := bounds(k, len(x.e), "array")
				if err != nil {
					return nil, err
				}
				for i := from; i < to; i++ {
					gone[i] = true
				}
			default:
				return nil, errorf("Cannot delete %s element of array", kindOf(key))
			}
		}
		var kept []any
		for i, e := range x.e {
			if !gone[i] {
				kept = append(kept, e)
			}
		}
		return NewArray(kept), nil
	}
	return nil, errorf("Cannot delete fields from %s", kindOf(v))
}

// binary is an arithmetic or comparing operator.
func (m *Machine) binary(op gojq.Operator, l, r any) (any, error) {
	switch op {
	case gojq.OpEq:
		return compare(l, r) == 0, nil
	case gojq.OpNe:
		return compare(l, r) != 0, nil
	case gojq.OpLt:
		return compare(l, r) < 0, nil
	case gojq.OpLe:
		return compare(l, r) <= 0, nil
	case gojq.OpGt:
		return compare(l, r) > 0, nil
	case gojq.OpGe:
		return compare(l, r) >= 0, nil
	case gojq.OpAdd:
		return m.add(l, r)
	}
	a, aok := l.(float64)
	b, bok := r.(float64)
	fail := func(verb string) (any, error) {
		return nil, errorf("%s and %s cannot be %s", describe(l), describe(r), verb)
	}
	switch op {
	case gojq.OpSub:
		if aok && bok {
			return a - b, nil
		}
		x, ok := l.(*Array)
		y, ok2 := r.(*Array)
		if !ok || !ok2 {
			return fail("subtracted")
		}
		var out []any
		for _, v := range x.e {
			m.Tick(1 + len(y.e)>>4)
			if !slices.ContainsFunc(y.e, func(w any) bool { return compare(v, w) == 0 }) {
				out = append(out, v)
			}
		}
		return NewArray(out), nil
	case gojq.OpMul:
		if aok && bok {
			return a * b, nil
		}
		s, ok := l.(string)
		n := b
		if !ok {
			s, ok = r.(string)
			n = a
		}
		if ok && (aok || bok) {
			if n <= 0 || n != n {
				return nil, nil
			}
			times := max(1, clampInt(n))
			if err := m.checkSize(len(s) * times); err != nil {
				return nil, err
			}
			return strings.Repeat(s, times), nil
		}
		x, ok := l.(*Object)
		y, ok2 := r.(*Object)
		if !ok || !ok2 {
			return fail("multiplied")
		}
		return m.merge(x, y), nil
	case gojq.OpDiv:
		if aok && bok {
			if b == 0 {
				return fail("divided because the divisor is zero")
			}
			return a / b, nil
		}
		s, ok := l.(string)
		t, ok2 := r.(string)
		if !ok || !ok2 {
			return fail("divided")
		}
		return m.split(s, t), nil
	case gojq.OpMod:
		if !aok || !bok {
			return fail("divided (remainder)")
		}
		x, y := toInt64(a), toInt64(b)
		if y == 0 {
			return fail("divided (remainder) because the divisor is zero")
		}
		return float64(x % y), nil
	}
	return nil, errors.New("unknown operator")
}

// toInt64 truncates as the processor does: what does not fit, and what is not a number, is the smallest integer.
func toInt64(f float64) int64 {
	if f >= math.MinInt64 && f < math.MaxInt64 {
		return int64(f)
	}
	return math.MinInt64
}

func (m *Machine) merge(x, y *Object) *Object {
	for i, k := range y.keys {
		m.Tick(1)
		v := y.vals[i]
		if old, ok := x.Get(k); ok {
			a, ok := old.(*Object)
			b, ok2 := v.(*Object)
			if ok && ok2 {
				v = m.merge(a, b)
			}
		}
		x = x.Set(k, v)
	}
	return x
}

func (m *Machine) add(l, r any) (any, error) {
	switch a := l.(type) {
	case nil:
		return r, nil
	case float64:
		if b, ok := r.(float64); ok {
			return a + b, nil
		}
	case string:
		if b, ok := r.(string); ok {
			if err := m.checkSize(len(a) + len(b)); err != nil {
				return nil, err
			}
			return a + b, nil
		}
	case *Array:
		if b, ok := r.(*Array); ok {
			if n := len(a.e) + len(b.e); n > 1<<12 {
				m.Hold(16 * n)
				m.Release(16 * n)
			}
			return a.with(b.e...), nil
		}
	case *Object:
		if b, ok := r.(*Object); ok {
			for i, k := range b.keys {
				m.Tick(1)
				a = a.Set(k, b.vals[i])
			}
			return a, nil
		}
	}
	if r == nil {
		return l, nil
	}
	return nil, errorf("%s and %s cannot be added", describe(l), describe(r))
}

func (m *Machine) split(s, sep string) *Array {
	if s == "" {
		return NewArray(nil)
	}
	e := make([]any, 0, strings.Count(s, sep)+1)
	for p := range strings.SplitSeq(s, sep) {
		m.Tick(1)
		e = append(e, p)
	}
	return NewArray(e)
}
