package jq

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/itchyny/timefmt-go"
)

type strictFn = func(m *Machine, v any, args []any) (any, error)

func constant(x any) strictFn { return func(*Machine, any, []any) (any, error) { return x, nil } }

func onNumber(f func(x float64) any) strictFn {
	return func(_ *Machine, v any, _ []any) (any, error) {
		x, ok := v.(float64)
		if !ok {
			return nil, errorf("%s number required", describe(v))
		}
		return f(x), nil
	}
}

func whether(f func(x float64) bool) strictFn {
	return func(_ *Machine, v any, _ []any) (any, error) {
		x, ok := v.(float64)
		return ok && f(x), nil
	}
}

func onString(msg string, f func(s string) (any, error)) strictFn {
	return func(m *Machine, v any, _ []any) (any, error) {
		s, ok := v.(string)
		if !ok {
			if strings.Contains(msg, "%") {
				return nil, errorf(msg, describe(v))
			}
			return nil, errorf("%s", msg)
		}
		m.Tick(len(s) >> 10)
		return f(s)
	}
}

var stricts = map[key]strictFn{
	{"null", 0}: constant(nil), {"true", 0}: constant(true), {"false", 0}: constant(false),
	{"infinite", 0}: constant(math.Inf(1)), {"nan", 0}: constant(math.NaN()),
	{"isinfinite", 0}: whether(func(x float64) bool { return math.IsInf(x, 0) }),
	{"isnan", 0}:      whether(func(x float64) bool { return x != x }),
	{"isnormal", 0}:   whether(func(x float64) bool { return !math.IsInf(x, 0) && math.Abs(x) >= 0x1p-1022 }),
	{"frexp", 0}:      onNumber(func(x float64) any { f, n := math.Frexp(x); return NewArray([]any{f, float64(n)}) }),
	{"modf", 0}: onNumber(func(x float64) any {
		if math.IsInf(x, 0) {
			return NewArray([]any{math.Copysign(0, x), x})
		}
		i, f := math.Modf(x)
		return NewArray([]any{f, i})
	}),
	{"type", 0}:   func(_ *Machine, v any, _ []any) (any, error) { return kindOf(v), nil },
	{"length", 0}: length,
	{"utf8bytelength", 0}: onString("%s only strings have UTF-8 byte length", func(s string) (any, error) {
		return float64(len(s)), nil
	}),
	{"keys", 0}:          keysOf(true),
	{"keys_unsorted", 0}: keysOf(false),
	{"has", 1}:           has,
	{"contains", 1}:      func(m *Machine, v any, a []any) (any, error) { return m.contains(v, a[0]) },
	{"add", 0}:           addAll,
	{"any", 0}: func(_ *Machine, v any, _ []any) (any, error) {
		vs, err := elements(v)
		return slices.ContainsFunc(vs, truthy), err
	},
	{"all", 0}: func(_ *Machine, v any, _ []any) (any, error) {
		vs, err := elements(v)
		return !slices.ContainsFunc(vs, func(x any) bool { return !truthy(x) }), err
	},
	{"flatten", 0}: func(m *Machine, v any, _ []any) (any, error) { return m.flatten(v, 1e9) },
	{"flatten", 1}: func(m *Machine, v any, a []any) (any, error) {
		n, ok := a[0].(float64)
		if !ok || n < 0 {
			return nil, errorf("flatten depth must not be negative")
		}
		return m.flatten(v, n)
	},
	{"sort", 0}: func(m *Machine, v any, _ []any) (any, error) {
		es, err := elementsOf(v)
		if err != nil {
			return nil, errorf("%s cannot be sorted, as it is not an array", describe(v))
		}
		sortElements(m, es)
		return values(es), nil
	},
	{"unique", 0}: func(m *Machine, v any, _ []any) (any, error) {
		es, err := elementsOf(v)
		if err != nil {
			vs, err := elements(v)
			if err != nil {
				return nil, err
			}
			keys := make([]any, len(vs))
			for i, x := range vs {
				keys[i] = NewArray([]any{x})
			}
			return nil, notSorted(v, keys)
		}
		sortElements(m, es)
		return uniqued(es), nil
	},
	{"min", 0}: func(_ *Machine, v any, _ []any) (any, error) {
		es, err := elementsOf(v)
		return pickOne(es, func(c int) bool { return c < 0 }), err
	},
	{"max", 0}: func(_ *Machine, v any, _ []any) (any, error) {
		es, err := elementsOf(v)
		return pickOne(es, func(c int) bool { return c >= 0 }), err
	},
	{"reverse", 0}: reverse,
	{"transpose", 0}: func(_ *Machine, v any, _ []any) (any, error) {
		rows, err := elements(v)
		if err != nil {
			return nil, err
		}
		if _, ok := v.(*Array); !ok {
			return nil, errorf("Cannot index %s with number", kindOf(v))
		}
		var out []any
		for i, r := range rows {
			a, ok := r.(*Array)
			if !ok {
				return nil, errorf("Cannot index %s with number", kindOf(r))
			}
			for j, x := range a.e {
				if j == len(out) {
					out = append(out, NewArray(make([]any, len(rows))))
				}
				out[j].(*Array).e[i] = x
			}
		}
		return NewArray(out), nil
	},
	{"tojson", 0}:   func(_ *Machine, v any, _ []any) (any, error) { return text(v), nil },
	{"tostring", 0}: func(_ *Machine, v any, _ []any) (any, error) { return tostring(v), nil },
	{"fromjson", 0}: func(m *Machine, v any, _ []any) (any, error) {
		s, ok := v.(string)
		if !ok {
			return nil, errorf("%s only strings can be parsed", describe(v))
		}
		x, err := ParseText(s, m.Tick, func(int) {})
		if err != nil {
			return nil, errorf("%s (while parsing '%s')", err.Error(), s)
		}
		return x, nil
	},
	{"tonumber", 0}: func(m *Machine, v any, _ []any) (any, error) {
		switch v := v.(type) {
		case float64:
			return v, nil
		case string:
			x, err := ParseText(v, m.Tick, func(int) {})
			if err != nil {
				return nil, errorf("%s (while parsing '%s')", err.Error(), v)
			}
			if f, ok := x.(float64); ok {
				return f, nil
			}
		}
		return nil, errorf("%s cannot be parsed as a number", describe(v))
	},
	{"ascii_downcase", 0}: onString("explode input must be a string", func(s string) (any, error) {
		return strings.Map(func(r rune) rune {
			if r >= 'A' && r <= 'Z' {
				r += 'a' - 'A'
			}
			return r
		}, s), nil
	}),
	{"ascii_upcase", 0}: onString("explode input must be a string", func(s string) (any, error) {
		return strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' {
				r -= 'a' - 'A'
			}
			return r
		}, s), nil
	}),
	{"trim", 0}:  onString("trim input must be a string", func(s string) (any, error) { return strings.TrimSpace(s), nil }),
	{"ltrim", 0}: onString("trim input must be a string", func(s string) (any, error) { return strings.TrimLeft(s, " \t\n\r\f\v"), nil }),
	{"rtrim", 0}: onString("trim input must be a string", func(s string) (any, error) { return strings.TrimRight(s, " \t\n\r\f\v"), nil }),
	{"explode", 0}: onString("explode input must be a string", func(s string) (any, error) {
		out := make([]any, 0, len(s))
		for _, r := range s {
			out = append(out, float64(r))
		}
		return NewArray(out), nil
	}),
	{"implode", 0}: func(_ *Machine, v any, _ []any) (any, error) {
		a, ok := v.(*Array)
		if !ok {
			return nil, errorf("implode input must be an array")
		}
		var b []byte
		for _, x := range a.e {
			f, ok := x.(float64)
			if !ok {
				return nil, errorf("Unicode codepoint must be numeric")
			}
			b = utf8.AppendRune(b, rune(clampInt(f)))
		}
		return string(b), nil
	},
	{"ltrimstr", 1}: func(_ *Machine, v any, a []any) (any, error) {
		s, ok := v.(string)
		if t, ok2 := a[0].(string); ok && ok2 {
			return strings.TrimPrefix(s, t), nil
		}
		return v, nil
	},
	{"rtrimstr", 1}: func(_ *Machine, v any, a []any) (any, error) {
		s, ok := v.(string)
		if t, ok2 := a[0].(string); ok && ok2 {
			return strings.TrimSuffix(s, t), nil
		}
		return v, nil
	},
	{"startswith", 1}: func(_ *Machine, v any, a []any) (any, error) {
		s, ok := v.(string)
		t, ok2 := a[0].(string)
		if !ok || !ok2 {
			return nil, errorf("startswith() requires string inputs")
		}
		return strings.HasPrefix(s, t), nil
	},
	{"endswith", 1}: func(_ *Machine, v any, a []any) (any, error) {
		s, ok := v.(string)
		t, ok2 := a[0].(string)
		if !ok || !ok2 {
			return nil, errorf("endswith() requires string inputs")
		}
		return strings.HasSuffix(s, t), nil
	},
	{"split", 1}: func(m *Machine, v any, a []any) (any, error) {
		s, ok := v.(string)
		t, ok2 := a[0].(string)
		if !ok || !ok2 {
			return nil, errorf("split input and separator must be strings")
		}
		return m.split(s, t), nil
	},
	{"join", 1}: func(m *Machine, v any, a []any) (any, error) {
		vs, err := elements(v)
		if err != nil {
			return nil, err
		}
		if len(vs) == 0 {
			return "", nil
		}
		sep, ok := a[0].(string)
		n := len(sep) * len(vs)
		for _, x := range vs {
			m.Tick(1)
			if s, ok := x.(string); ok {
				n += len(s)
			}
		}
		_ = m.checkSize(n)
		var b strings.Builder
		for i, x := range vs {
			m.Tick(1)
			if !ok {
				return nil, errorf("%s and %s cannot be added", describe(b.String()), describe(a[0]))
			}
			if i > 0 {
				b.WriteString(sep)
			}
			switch x := x.(type) {
			case nil:
			case string:
				b.WriteString(x)
			case bool, float64:
				b.WriteString(text(x))
			default:
				return nil, errorf("%s and %s cannot be added", describe(b.String()), describe(x))
			}
		}
		return b.String(), nil
	},
	{"indices", 1}: func(m *Machine, v any, a []any) (any, error) { return m.indicesOf(v, a[0]) },
	{"index", 1}: func(m *Machine, v any, a []any) (any, error) {
		x, err := m.indicesOf(v, a[0])
		if err != nil {
			return nil, err
		}
		return m.at(x, float64(0))
	},
	{"rindex", 1}: func(m *Machine, v any, a []any) (any, error) {
		x, err := m.indicesOf(v, a[0])
		if l, ok := x.(*Array); ok && len(l.e) > 0 {
			return l.e[len(l.e)-1], err
		}
		return nil, err
	},
	{"setpath", 2}: func(m *Machine, v any, a []any) (any, error) {
		p, ok := a[0].(*Array)
		if !ok {
			return nil, errorf("Path must be specified as an array")
		}
		return m.setPath(v, p.e, a[1])
	},
	{"delpaths", 1}: func(m *Machine, v any, a []any) (any, error) {
		p, ok := a[0].(*Array)
		if !ok {
			return nil, errorf("Paths must be specified as an array")
		}
		return m.deletePaths(v, p)
	},
	{"input_filename", 0}:    func(m *Machine, _ any, _ []any) (any, error) { return m.File(), nil },
	{"input_line_number", 0}: func(m *Machine, _ any, _ []any) (any, error) { return m.Line(), nil },
	{"now", 0}:               func(m *Machine, _ any, _ []any) (any, error) { return m.Now(), nil },
	{"mktime", 0}: func(_ *Machine, v any, _ []any) (any, error) {
		if _, ok := v.(*Array); !ok {
			return nil, errorf("mktime requires array inputs")
		}
		t, err := brokenDown(v, "mktime requires parsed datetime inputs")
		if err != nil {
			return nil, err
		}
		return float64(t.Unix()), nil
	},
	{"gmtime", 0}:    func(_ *Machine, v any, _ []any) (any, error) { return gmtime(v, "gmtime()") },
	{"localtime", 0}: func(_ *Machine, v any, _ []any) (any, error) { return gmtime(v, "localtime()") },
	{"strftime", 1}:  strftime("strftime/1"), {"strflocaltime", 1}: strftime("strflocaltime/1"),
	{"strptime", 1}: func(_ *Machine, v any, a []any) (any, error) {
		s, ok := v.(string)
		if !ok {
			return nil, errorf("strptime/1 requires string inputs and arguments")
		}
		f, ok := a[0].(string)
		if !ok {
			return nil, errorf("strptime/1 requires string inputs and arguments")
		}
		t, err := timefmt.Parse(s, f)
		if err != nil {
			return nil, errorf("date \"%s\" does not match format \"%s\"", s, f)
		}
		return withoutDay(t, f), nil
	},
	{"split", 2}: func(m *Machine, v any, a []any) (any, error) {
		s, ok := v.(string)
		if !ok {
			return nil, errorf("%s cannot be matched, as it is not a string", describe(v))
		}
		ms, err := m.matches(v, a[0], flagged(a[1], "g"), false)
		if err != nil {
			return nil, err
		}
		runes := []rune(s)
		var out []any
		from := 0
		for _, x := range ms {
			out = append(out, string(runes[from:x.Index]))
			from = x.Index + x.Length
		}
		return NewArray(append(out, string(runes[from:]))), nil
	},
	{"test", 2}: func(m *Machine, v any, a []any) (any, error) {
		ms, err := m.matches(v, a[0], a[1], true)
		return len(ms) > 0, err
	},
	{"_match", 2}: func(m *Machine, v any, a []any) (any, error) {
		ms, err := m.matches(v, a[0], a[1], false)
		if err != nil {
			return nil, err
		}
		var out []any
		for _, x := range ms {
			out = append(out, matchObject(x))
		}
		return NewArray(out), nil
	},
	{"_edits", 2}: func(m *Machine, v any, a []any) (any, error) {
		list, err := m.edits(v, a[0], a[1])
		return NewArray(list), err
	},
	{"format", 1}: func(_ *Machine, v any, a []any) (any, error) {
		name, ok := a[0].(string)
		if !ok {
			return nil, errorf("%s is not a valid format", describe(a[0]))
		}
		return format("@"+name, v)
	},
	{"fma", 3}: func(_ *Machine, _ any, a []any) (any, error) {
		var f [3]float64
		for i := range f {
			x, ok := a[i].(float64)
			if !ok {
				return nil, errorf("%s number required", describe(a[i]))
			}
			f[i] = x
		}
		return math.FMA(f[0], f[1], f[2]), nil
	},
	{"get_search_list", 0}: func(m *Machine, _ any, _ []any) (any, error) {
		var list []any
		if m.Modules != nil {
			for _, d := range m.Modules.Shown {
				list = append(list, d)
			}
		}
		return NewArray(list), nil
	},
	{"modulemeta", 0}: func(m *Machine, v any, _ []any) (any, error) {
		name, ok := v.(string)
		if !ok {
			return nil, errorf("modulemeta input module name must be a string")
		}
		return m.Modules.meta(name)
	},
	{"builtins", 0}: func(*Machine, any, []any) (any, error) {
		var out []any
		for k := range natives {
			if k.name[0] != '_' {
				out = append(out, k.name+"/"+strconv.Itoa(k.args))
			}
		}
		for k := range library() {
			out = append(out, k.name+"/"+strconv.Itoa(k.args))
		}
		return NewArray(out), nil
	},
	{"bsearch", 1}: func(_ *Machine, v any, a []any) (any, error) {
		l, ok := v.(*Array)
		switch {
		case v == nil:
			return float64(-1), nil
		case !ok && kindOf(v) == "boolean":
			return nil, errorf("%s has no length", describe(v))
		case !ok:
			return nil, errorf("Cannot index %s with number", kindOf(v))
		}
		i, found := slices.BinarySearchFunc(l.e, a[0], compare)
		if found {
			return float64(i), nil
		}
		return float64(-1 - i), nil
	},
}

func tostring(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return text(v)
}

func elements(v any) ([]any, error) {
	switch v := v.(type) {
	case *Array:
		return v.e, nil
	case *Object:
		return v.vals, nil
	case nil:
		return nil, errorf("Cannot iterate over null (null)")
	}
	return nil, errorf("Cannot iterate over %s", describe(v))
}

func length(_ *Machine, v any, _ []any) (any, error) {
	switch v := v.(type) {
	case nil:
		return 0.0, nil
	case float64:
		return math.Abs(v), nil
	case string:
		return float64(utf8.RuneCountInString(v)), nil
	case *Array:
		return float64(len(v.e)), nil
	case *Object:
		return float64(len(v.keys)), nil
	}
	return nil, errorf("%s has no length", describe(v))
}

func keysOf(sorted bool) strictFn {
	return func(_ *Machine, v any, _ []any) (any, error) {
		switch v := v.(type) {
		case *Array:
			out := make([]any, len(v.e))
			for i := range out {
				out[i] = float64(i)
			}
			return NewArray(out), nil
		case *Object:
			keys := slices.Clone(v.keys)
			if sorted {
				slices.Sort(keys)
			}
			out := make([]any, len(keys))
			for i, k := range keys {
				out[i] = k
			}
			return NewArray(out), nil
		}
		return nil, errorf("%s has no keys", describe(v))
	}
}

func has(_ *Machine, v any, a []any) (any, error) {
	switch k := a[0].(type) {
	case string:
		if o, ok := v.(*Object); ok || v == nil {
			return ok && o.find(k) >= 0, nil
		}
	case float64:
		if l, ok := v.(*Array); ok || v == nil {
			return ok && k >= 0 && k < float64(len(l.e)), nil
		}
	}
	return nil, errorf("Cannot check whether %s has a %s key", kindOf(v), kindOf(a[0]))
}

func (m *Machine) contains(a, b any) (any, error) {
	if kindOf(a) != kindOf(b) {
		return nil, errorf("%s and %s cannot have their containment checked", describe(a), describe(b))
	}
	return m.includes(a, b), nil
}

func (m *Machine) includes(a, b any) bool {
	m.Tick(1)
	if kindOf(a) != kindOf(b) {
		return false
	}
	switch b := b.(type) {
	case *Object:
		a := a.(*Object)
		for i, k := range b.keys {
			v, ok := a.Get(k)
			if !ok || !m.includes(v, b.vals[i]) {
				return false
			}
		}
		return true
	case *Array:
		a := a.(*Array)
		for _, x := range b.e {
			if !slices.ContainsFunc(a.e, func(y any) bool { return m.includes(y, x) }) {
				return false
			}
		}
		return true
	case string:
		return strings.Contains(a.(string), b)
	}
	return compare(a, b) == 0
}

func addAll(m *Machine, v any, _ []any) (any, error) {
	vs, err := elements(v)
	if err != nil {
		return nil, err
	}
	if len(vs) > 0 {
		if _, ok := vs[0].(string); ok {
			return addStrings(m, vs)
		}
	}
	var acc any
	for _, x := range vs {
		m.Tick(1)
		if acc, err = m.add(acc, x); err != nil {
			return nil, err
		}
	}
	return acc, nil
}

// addStrings adds in linear time.
func addStrings(m *Machine, vs []any) (any, error) {
	n := 0
	for _, x := range vs {
		if s, ok := x.(string); ok {
			n += len(s)
		}
	}
	_ = m.checkSize(n)
	var b strings.Builder
	for _, x := range vs {
		switch x := x.(type) {
		case string:
			b.WriteString(x)
		case nil:
		default:
			return nil, errorf("%s and %s cannot be added", describe(b.String()), describe(x))
		}
	}
	return b.String(), nil
}

func (m *Machine) flatten(v any, depth float64) (any, error) {
	vs, err := elements(v)
	if err != nil {
		return nil, err
	}
	var out []any
	var walk func(vs []any, depth float64)
	walk = func(vs []any, depth float64) {
		for _, x := range vs {
			m.Tick(1)
			if a, ok := x.(*Array); ok && depth >= 0 {
				walk(a.e, depth-1)
			} else {
				out = append(out, x)
			}
		}
	}
	walk(vs, depth-1)
	return NewArray(out), nil
}

func reverse(_ *Machine, v any, _ []any) (any, error) {
	switch v := v.(type) {
	case nil:
		return NewArray(nil), nil
	case string:
		r := []rune(v)
		slices.Reverse(r)
		return string(r), nil
	case *Array:
		e := slices.Clone(v.e)
		slices.Reverse(e)
		return NewArray(e), nil
	}
	if n, err := length(nil, v, nil); err != nil || n == 0.0 {
		return NewArray(nil), err
	}
	return nil, errorf("Cannot index %s with number", kindOf(v))
}

func (m *Machine) indicesOf(v, x any) (any, error) {
	switch s := v.(type) {
	case string:
		t, ok := x.(string)
		if !ok {
			break
		}
		var out []any
		for i := 0; t != "" && i <= len(s); i++ {
			j := strings.Index(s[i:], t)
			if j < 0 {
				break
			}
			i += j
			out = append(out, float64(i)) // of bytes, as in jq 1.6
		}
		return NewArray(out), nil
	case *Array:
		if sub, ok := x.(*Array); ok {
			return indices(s, sub), nil
		}
		return indices(s, NewArray([]any{x})), nil
	}
	return m.at(v, x)
}
