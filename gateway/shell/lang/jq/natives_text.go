package jq

import (
	"strings"
	"unicode/utf8"
)

const cutSet = " \t\n\r\f\v"

var stringNatives = map[key]native{
	{"fromjson", 0}: func(m *Machine, v any, _ []any) (any, error) {
		s, ok := v.(string)
		if !ok {
			return nil, errorf("%s only strings can be parsed", describe(v))
		}
		m.alloc(2 * len(s))
		x, err := parseText(s, m.Tick, m.alloc, m.Literals)
		if err != nil {
			return nil, errorf("%s (while parsing '%s')", err.Error(), s)
		}
		return x, nil
	},
	{"tonumber", 0}: tonumber,
	{"toboolean", 0}: func(_ *Machine, v any, _ []any) (any, error) {
		switch v {
		case true, "true":
			return true, nil
		case false, "false":
			return false, nil
		}
		return nil, errorf("%s cannot be parsed as a boolean", describe(v))
	},
	{"ascii_downcase", 0}: changed(func(c byte) byte {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		return c
	}),
	{"ascii_upcase", 0}: changed(func(c byte) byte {
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		return c
	}),
	{"trim", 0}:  cut(func(s string) string { return strings.Trim(s, cutSet) }),
	{"ltrim", 0}: cut(func(s string) string { return strings.TrimLeft(s, cutSet) }),
	{"rtrim", 0}: cut(func(s string) string { return strings.TrimRight(s, cutSet) }),
	{"explode", 0}: onString("explode input must be a string", func(m *Machine, s string) (any, error) {
		n := utf8.RuneCountInString(s)
		m.Tick(n >> 4)
		m.alloc(112 + 24*n)
		out := make([]any, 0, n)
		for _, r := range s {
			out = append(out, float64(r))
		}
		return NewArray(out), nil
	}),
	{"implode", 0}: implode,
	{"startswith", 1}: func(_ *Machine, v any, a []any) (any, error) {
		s, t, err := affix(v, a[0], "startswith")
		return strings.HasPrefix(s, t), err
	},
	{"endswith", 1}: func(_ *Machine, v any, a []any) (any, error) {
		s, t, err := affix(v, a[0], "endswith")
		return strings.HasSuffix(s, t), err
	},
	{"ltrimstr", 1}: func(_ *Machine, v any, a []any) (any, error) {
		s, t, err := affix(v, a[0], "startswith")
		return strings.TrimPrefix(s, t), err
	},
	{"rtrimstr", 1}: func(_ *Machine, v any, a []any) (any, error) {
		s, t, err := affix(v, a[0], "endswith")
		return strings.TrimSuffix(s, t), err
	},
	{"trimstr", 1}: func(_ *Machine, v any, a []any) (any, error) {
		s, t, err := affix(v, a[0], "startswith")
		return strings.TrimSuffix(strings.TrimPrefix(s, t), t), err
	},
	{"split", 1}: func(m *Machine, v any, a []any) (any, error) {
		s, ok := v.(string)
		t, ok2 := a[0].(string)
		if !ok || !ok2 {
			return nil, errorf("split input and separator must be strings")
		}
		return m.split(s, t), nil
	},
	{"join", 1}: join,
	{"ascii", 0}: func(m *Machine, v any, _ []any) (any, error) {
		return implode(m, NewArray([]any{v}), nil)
	},
	{"format", 1}: func(m *Machine, v any, a []any) (any, error) {
		name, ok := a[0].(string)
		if !ok {
			return nil, errorf("%s is not a valid format", describe(a[0]))
		}
		return m.format(name, v)
	},
	{"_splice", 1}: splice,
}

func changed(f func(c byte) byte) native {
	return onString("explode input must be a string", func(m *Machine, s string) (any, error) {
		_ = m.room(len(s))
		b := []byte(s)
		for i, c := range b {
			b[i] = f(c)
		}
		return string(b), nil
	})
}

func cut(f func(s string) string) native {
	return onString("trim input must be a string", func(_ *Machine, s string) (any, error) { return f(s), nil })
}

func affix(v, x any, name string) (s, t string, err error) {
	s, ok := v.(string)
	t, ok2 := x.(string)
	if !ok || !ok2 {
		return "", "", errorf("%s() requires string inputs", name)
	}
	return s, t, nil
}

func tonumber(m *Machine, v any, _ []any) (any, error) {
	switch v := v.(type) {
	case float64, *Literal:
		return v, nil
	case string:
		if f, ok := parseNumber(v); ok {
			if !m.Literals {
				return f, nil
			}
			return newNumber(v, f), nil
		}
	}
	return nil, errorf("%s cannot be parsed as a number", describe(v))
}

func implode(m *Machine, v any, _ []any) (any, error) {
	a, ok := v.(*Array)
	if !ok {
		return nil, errorf("implode input must be an array")
	}
	m.Tick(a.n >> 4)
	m.alloc(4 * a.n)
	var b []byte
	for _, x := range a.Values() {
		f, ok := number(x)
		if !ok || f != f {
			return nil, errorf("%s can't be imploded, unicode codepoint needs to be numeric", describe(x))
		}
		r := rune(clampInt(f))
		if r < 0 || r > utf8.MaxRune {
			r = utf8.RuneError
		}
		b = utf8.AppendRune(b, r)
	}
	return string(b), nil
}

func join(m *Machine, v any, a []any) (any, error) {
	vs, err := elements(v)
	if err != nil || len(vs) == 0 {
		return "", err
	}
	sep, ok := a[0].(string)
	if !ok && a[0] != nil && len(vs) > 1 {
		return nil, errorf("%s and %s cannot be added", describe(m.tostring(orEmpty(vs[0]))), describe(a[0]))
	}
	n := len(sep) * len(vs)
	for _, x := range vs {
		if s, ok := x.(string); ok {
			n += len(s)
		} else {
			n += 8
		}
	}
	m.Tick(len(vs) >> 4)
	_ = m.room(n)
	var b strings.Builder
	b.Grow(n)
	for i, x := range vs {
		if i > 0 {
			b.WriteString(sep)
		}
		switch x := x.(type) {
		case nil:
		case string:
			b.WriteString(x)
		case bool, float64, *Literal:
			b.WriteString(text(x))
		default:
			return nil, errorf("%s and %s cannot be added", describe(b.String()), describe(x))
		}
	}
	return b.String(), nil
}

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}

// splice replaces parts of the text a[0]: v lists offsets and lengths in characters, with the replacements. There is
// one result for each place in the lists of replacements.
func splice(m *Machine, v any, a []any) (any, error) {
	s := a[0].(string)
	var results []*strings.Builder
	var done []int // bytes of s that are in each result, or before
	at, chars := 0, 0
	for _, edit := range v.(*Array).Values() {
		e := edit.(*Array).Values()
		offset, _ := number(e[0])
		n, _ := number(e[1])
		from := at + byteOffset(s[at:], int(offset)-chars)
		m.Tick(1 + (from-at)>>6)
		at, chars = from, int(offset)
		to := from + byteOffset(s[from:], int(n))
		for i, x := range e[2].(*Array).Values() {
			if i == len(results) {
				results, done = append(results, &strings.Builder{}), append(done, 0)
			}
			gap := s[done[i]:from]
			t, ok := x.(string)
			if !ok {
				return nil, errorf("%s and %s cannot be added", describe(results[i].String()+gap), describe(x))
			}
			m.Tick(1)
			_ = m.room(2 * (len(gap) + len(t)))
			results[i].WriteString(gap)
			results[i].WriteString(t)
			done[i] = to
		}
	}
	out := make([]any, len(results))
	for i, b := range results {
		_ = m.room(len(s) - done[i])
		out[i] = b.String() + s[done[i]:]
	}
	if len(out) == 0 {
		out = []any{s}
	}
	return NewArray(out), nil
}
