package jq

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

var natives map[key]native

func init() {
	natives = map[key]native{}
	for _, group := range []map[key]native{valueNatives, orderNatives, stringNatives, systemNatives, timeNatives,
		regexNatives, mathNatives()} {
		for k, f := range group {
			natives[k] = f
		}
	}
}

func constant(x any) native { return func(*Machine, any, []any) (any, error) { return x, nil } }

func whether(f func(x float64) bool) native {
	return func(_ *Machine, v any, _ []any) (any, error) {
		x, ok := number(v)
		return ok && f(x), nil
	}
}

func onString(msg string, f func(m *Machine, s string) (any, error)) native {
	return func(m *Machine, v any, _ []any) (any, error) {
		s, ok := v.(string)
		if !ok {
			if strings.Contains(msg, "%") {
				return nil, errorf(msg, describe(v))
			}
			return nil, errorf("%s", msg)
		}
		m.Tick(len(s) >> 8)
		return f(m, s)
	}
}

func arrayOf(v any, problem func() error) ([]any, error) {
	a, ok := v.(*Array)
	if !ok {
		return nil, problem()
	}
	return a.Values(), nil
}

var valueNatives = map[key]native{
	{"infinite", 0}: constant(math.Inf(1)), {"nan", 0}: constant(nan),
	{"have_decnum", 0}: constant(true), {"have_literal_numbers", 0}: constant(true),
	{"isinfinite", 0}: whether(func(x float64) bool { return math.IsInf(x, 0) }),
	{"isnan", 0}:      whether(func(x float64) bool { return x != x }),
	{"isnormal", 0}:   whether(func(x float64) bool { return !math.IsInf(x, 0) && math.Abs(x) >= 0x1p-1022 }),
	{"type", 0}:       func(_ *Machine, v any, _ []any) (any, error) { return kindOf(v), nil },
	{"length", 0}:     length,
	{"utf8bytelength", 0}: onString("%s only strings have UTF-8 byte length", func(_ *Machine, s string) (any, error) {
		return float64(len(s)), nil
	}),
	{"keys", 0}:          keysOf(true),
	{"keys_unsorted", 0}: keysOf(false),
	{"to_entries", 0}:    toEntries,
	{"has", 1}:           has,
	{"contains", 1}: func(m *Machine, v any, a []any) (any, error) {
		if kindOf(v) != kindOf(a[0]) {
			return nil, errorf("%s and %s cannot have their containment checked", describe(v), describe(a[0]))
		}
		return m.includes(v, a[0]), nil
	},
	{"add", 0}:     addAll,
	{"any", 0}:     anyOf(true),
	{"all", 0}:     anyOf(false),
	{"flatten", 0}: func(m *Machine, v any, _ []any) (any, error) { return m.flatten(v, 1e9) },
	{"flatten", 1}: func(m *Machine, v any, a []any) (any, error) {
		if compare(a[0], 0.0) < 0 {
			return nil, errorf("flatten depth must not be negative")
		}
		n, ok := number(a[0])
		if !ok {
			n = math.Inf(1)
		}
		return m.flatten(v, n)
	},
	{"reverse", 0}:   reverse,
	{"transpose", 0}: transpose,
	{"tojson", 0}:    func(m *Machine, v any, _ []any) (any, error) { return m.json(v), nil },
	{"tostring", 0}:  func(m *Machine, v any, _ []any) (any, error) { return m.tostring(v), nil },
	{"toarray", 0}: func(m *Machine, v any, _ []any) (any, error) {
		if _, ok := v.(*Array); ok {
			return v, nil
		}
		m.alloc(128)
		return bounded(NewArray([]any{v}))
	},
	{"abs", 0}: func(_ *Machine, v any, _ []any) (any, error) {
		if compare(v, 0.0) >= 0 {
			return v, nil
		}
		if _, ok := number(v); !ok {
			return nil, errorf("%s cannot be negated", describe(v))
		}
		return negate(v), nil
	},
	{"indices", 1}: func(m *Machine, v any, a []any) (any, error) { return m.indicesOf(v, a[0]) },
	{"index", 1}: func(m *Machine, v any, a []any) (any, error) {
		x, err := m.indicesOf(v, a[0])
		if err != nil {
			return nil, err
		}
		return m.get(x, 0.0)
	},
	{"rindex", 1}: func(m *Machine, v any, a []any) (any, error) {
		x, err := m.indicesOf(v, a[0])
		if err != nil {
			return nil, err
		}
		return m.get(x, -1.0)
	},
	{"setpath", 2}: func(m *Machine, v any, a []any) (any, error) {
		p, ok := a[0].(*Array)
		if !ok {
			return nil, errorf("Path must be specified as an array")
		}
		return m.setPath(v, p.Values(), a[1])
	},
	{"delpaths", 1}: func(m *Machine, v any, a []any) (any, error) {
		p, ok := a[0].(*Array)
		if !ok {
			return nil, errorf("Paths must be specified as an array")
		}
		return m.deletePaths(v, p)
	},
	{"bsearch", 1}: func(m *Machine, v any, a []any) (any, error) {
		l, err := arrayOf(v, func() error { return errorf("%s cannot be searched from", describe(v)) })
		if err != nil {
			return nil, err
		}
		i, found := slices.BinarySearchFunc(l, a[0], func(x, y any) int { return compareTick(x, y, m.Tick) })
		if found {
			return float64(i), nil
		}
		return float64(-1 - i), nil
	},
}

func (m *Machine) json(v any) string {
	return string(Style{tick: m.Tick, hold: m.alloc}.Append(nil, v))
}

func (m *Machine) tostring(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return m.json(v)
}

func elements(v any) ([]any, error) {
	switch v := v.(type) {
	case *Array:
		return v.Values(), nil
	case *Object:
		return v.vals(), nil
	}
	return nil, errorf("Cannot iterate over %s", describe(v))
}

func anyOf(want bool) native {
	return func(m *Machine, v any, _ []any) (any, error) {
		vs, err := elements(v)
		m.Tick(len(vs) >> 8)
		return slices.ContainsFunc(vs, func(x any) bool { return truthy(x) == want }) == want, err
	}
}

func length(m *Machine, v any, _ []any) (any, error) {
	switch v := v.(type) {
	case nil:
		return 0.0, nil
	case float64:
		return math.Abs(v), nil
	case *Literal:
		return math.Abs(v.f), nil
	case string:
		m.Tick(len(v) >> 10)
		return float64(utf8.RuneCountInString(v)), nil
	case *Array:
		return float64(v.n), nil
	case *Object:
		return float64(v.n), nil
	}
	return nil, errorf("%s has no length", describe(v))
}

func keysOf(sorted bool) native {
	return func(m *Machine, v any, _ []any) (any, error) {
		var out []any
		switch v := v.(type) {
		case *Array:
			m.Tick(v.n >> 6)
			m.alloc(112 + 24*v.n)
			out = make([]any, v.n)
			for i := range out {
				out[i] = float64(i)
			}
		case *Object:
			m.Tick(v.n >> 4)
			m.alloc(112 + 48*v.n)
			keys := slices.Clone(v.keys())
			if sorted {
				slices.SortFunc(keys, func(a, b string) int {
					m.Tick(1)
					return strings.Compare(a, b)
				})
			}
			out = make([]any, len(keys))
			for i, k := range keys {
				out[i] = k
			}
		default:
			return nil, errorf("%s has no keys", describe(v))
		}
		return NewArray(out), nil
	}
}

var entryShape = func() *Object {
	o := NewObject()
	o.put("key", nil)
	o.put("value", nil)
	return o
}()

func toEntries(m *Machine, v any, _ []any) (any, error) {
	var n int
	var at func(i int) (k, v any)
	switch x := v.(type) {
	case *Array:
		e := x.Values()
		n, at = x.n, func(i int) (any, any) { return float64(i), e[i] }
	case *Object:
		t := x.fields()
		n, at = x.n, func(i int) (any, any) { return t.keys[i], t.vals[i] }
	default:
		return nil, errorf("%s has no keys", describe(v))
	}
	m.Tick(n >> 4)
	m.alloc(112 + 300*n)
	out := make([]any, n)
	for i := range out {
		k, x := at(i)
		out[i] = &Object{t: &table{keys: entryShape.t.keys[:2:2], vals: []any{k, x}}, n: 2, depth: 1 + depthOf(x)}
	}
	return bounded(NewArray(out))
}

func has(_ *Machine, v any, a []any) (any, error) {
	switch k := a[0].(type) {
	case string:
		if o, ok := v.(*Object); ok {
			_, ok := o.Get(k)
			return ok, nil
		}
		if v == nil {
			return false, nil
		}
	case float64, *Literal:
		f, _ := number(k)
		if l, ok := v.(*Array); ok || v == nil {
			return ok && f >= 0 && f < float64(l.n), nil
		}
	}
	return nil, errorf("Cannot check whether %s has a %s key", kindOf(v), kindOf(a[0]))
}

func (m *Machine) includes(a, b any) bool {
	m.Tick(1)
	if kindOf(a) != kindOf(b) {
		return false
	}
	switch b := b.(type) {
	case *Object:
		a := a.(*Object)
		for i, k := range b.keys() {
			v, ok := a.Get(k)
			if !ok || !m.includes(v, b.vals()[i]) {
				return false
			}
		}
		return true
	case *Array:
		a := a.(*Array)
		for _, x := range b.Values() {
			if !slices.ContainsFunc(a.Values(), func(y any) bool { return m.includes(y, x) }) {
				return false
			}
		}
		return true
	case string:
		m.Tick(len(a.(string)) >> 8)
		return strings.Contains(a.(string), b)
	}
	return compareTick(a, b, m.Tick) == 0
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
	m.Tick(len(vs) >> 6)
	_ = m.room(n)
	var b strings.Builder
	b.Grow(n)
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
	type rest struct{ e []any }
	stack := []rest{{vs}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.e) == 0 {
			stack = stack[:len(stack)-1]
			continue
		}
		x := top.e[0]
		top.e = top.e[1:]
		m.Tick(1)
		if a, ok := x.(*Array); ok && depth >= float64(len(stack)) {
			stack = append(stack, rest{a.Values()})
			continue
		}
		if len(out) == cap(out) {
			m.alloc(16 * max(8, 2*cap(out)))
		}
		out = append(out, x)
	}
	return NewArray(out), nil
}

func reverse(m *Machine, v any, _ []any) (any, error) {
	switch v := v.(type) {
	case nil:
		return NewArray(nil), nil
	case string:
		if v == "" {
			return NewArray(nil), nil
		}
		return nil, errorf("Cannot index string with %s", describe(float64(utf8.RuneCountInString(v)-1)))
	case *Array:
		m.Tick(v.n >> 8)
		m.alloc(112 + 16*v.n)
		e := slices.Clone(v.Values())
		slices.Reverse(e)
		return NewArray(e), nil
	}
	n, err := length(m, v, nil)
	if err != nil || n == 0.0 {
		return NewArray(nil), err
	}
	if _, ok := v.(*Object); ok {
		return nil, errorf("Cannot index object with %s", describe(n.(float64)-1))
	}
	return nil, errorf("Cannot index %s with number (0)", kindOf(v))
}

func transpose(m *Machine, v any, _ []any) (any, error) {
	rows, err := elements(v)
	if err != nil {
		return nil, err
	}
	width := 0
	for _, r := range rows {
		n, err := length(m, r, nil)
		if err != nil {
			return nil, err
		}
		width = max(width, clampInt(n.(float64)))
	}
	if width > 0 && len(rows) > maxIndex/width {
		return nil, errorf("Array index too large")
	}
	m.alloc(112*(width+1) + 16*width*len(rows))
	m.Tick(width * len(rows) >> 6)
	out := make([]any, width)
	for j := range out {
		m.Tick(1 + len(rows)>>4)
		col := make([]any, len(rows))
		for i, r := range rows {
			if col[i], err = m.get(r, float64(j)); err != nil {
				return nil, err
			}
		}
		out[j] = NewArray(col)
	}
	return bounded(NewArray(out))
}

func (m *Machine) indicesOf(v, x any) (any, error) {
	switch s := v.(type) {
	case string:
		if t, ok := x.(string); ok {
			return m.positions(s, t), nil
		}
	case *Array:
		if sub, ok := x.(*Array); ok {
			return m.indices(s, sub), nil
		}
		return m.indices(s, NewArray([]any{x})), nil
	}
	return m.get(v, x)
}

// positions lists where t begins in s, in characters.
func (m *Machine) positions(s, t string) *Array {
	var out []any
	count, counted := 0, 0
	for i := 0; t != ""; i++ {
		j := strings.Index(s[i:], t)
		m.Tick(1 + max(j, 0)>>8)
		if j < 0 {
			break
		}
		i += j
		count += utf8.RuneCountInString(s[counted:i])
		counted = i
		m.alloc(40)
		out = append(out, float64(count))
	}
	m.Tick(len(s) >> 8)
	return NewArray(out)
}

// element is a value with what it is sorted by.
type keyed struct{ by, v any }

// pairs are the elements of v with their keys, an array of the same length.
func pairs(m *Machine, v any, keys any) ([]keyed, error) {
	a, ok := v.(*Array)
	k, ok2 := keys.(*Array)
	if !ok || !ok2 || a.n != k.n {
		return nil, errorf("%s and %s cannot be sorted, as they are not both arrays", describe(v), describe(keys))
	}
	m.alloc(64 * a.n)
	es := make([]keyed, a.n)
	vs, ks := a.Values(), k.Values()
	for i := range es {
		es[i] = keyed{ks[i], vs[i]}
	}
	return es, nil
}

func (m *Machine) sortPairs(es []keyed) {
	slices.SortStableFunc(es, func(a, b keyed) int {
		m.Tick(1)
		return compareTick(a.by, b.by, m.Tick)
	})
}

func valuesOf(es []keyed) *Array {
	out := make([]any, len(es))
	for i, e := range es {
		out[i] = e.v
	}
	return NewArray(out)
}

// sortedBy makes a native that gets the keys as its argument.
func sortedBy(result func(m *Machine, es []keyed) any) native {
	return func(m *Machine, v any, a []any) (any, error) {
		es, err := pairs(m, v, a[0])
		if err != nil {
			return nil, err
		}
		m.sortPairs(es)
		return bounded(result(m, es))
	}
}

func grouped(m *Machine, es []keyed) any {
	var out []any
	for i := 0; i < len(es); {
		j := i + 1
		for j < len(es) && compareTick(es[i].by, es[j].by, m.Tick) == 0 {
			j++
		}
		m.alloc(128)
		out = append(out, valuesOf(es[i:j]))
		i = j
	}
	return NewArray(out)
}

func uniqued(m *Machine, es []keyed) any {
	return valuesOf(slices.CompactFunc(es, func(a, b keyed) bool { return compareTick(a.by, b.by, m.Tick) == 0 }))
}

func extreme(better func(c int) bool) native {
	return func(m *Machine, v any, a []any) (any, error) {
		x, ok := v.(*Array)
		k, ok2 := a[0].(*Array)
		if !ok || !ok2 || x.n != k.n {
			return nil, errorf("%s and %s cannot be iterated over", describe(v), describe(a[0]))
		}
		if x.n == 0 {
			return nil, nil
		}
		vs, ks := x.Values(), k.Values()
		best := 0
		for i := range vs[1:] {
			m.Tick(1)
			if better(compareTick(ks[i+1], ks[best], m.Tick)) {
				best = i + 1
			}
		}
		return vs[best], nil
	}
}

// plain calls a native that wants keys with the values themselves.
func plain(f native) native {
	return func(m *Machine, v any, _ []any) (any, error) { return f(m, v, []any{v}) }
}

var (
	isLess   = func(c int) bool { return c < 0 }
	notLess  = func(c int) bool { return c >= 0 }
	byKey    = sortedBy(func(_ *Machine, es []keyed) any { return valuesOf(es) })
	smallest = extreme(isLess)
	largest  = extreme(notLess)
)

var orderNatives = map[key]native{
	{"_sort_by", 1}: byKey, {"_group_by", 1}: sortedBy(grouped), {"_unique_by", 1}: sortedBy(uniqued),
	{"_min_by", 1}: smallest, {"_max_by", 1}: largest, {"min", 0}: plain(smallest), {"max", 0}: plain(largest),
	{"sort", 0}: func(m *Machine, v any, _ []any) (any, error) {
		if _, ok := v.(*Array); !ok {
			return nil, errorf("%s cannot be sorted, as it is not an array", describe(v))
		}
		return byKey(m, v, []any{v})
	},
	{"unique", 0}: func(m *Machine, v any, _ []any) (any, error) {
		if _, ok := v.(*Array); !ok {
			return nil, errorf("%s cannot be sorted, as it is not an array", describe(v))
		}
		return sortedBy(uniqued)(m, v, []any{v})
	},
}

var systemNatives = map[key]native{
	{"input", 0}: func(m *Machine, _ any, _ []any) (any, error) {
		x, ok, err := m.Input()
		var pe *ParseError
		if errors.As(err, &pe) {
			return nil, errorf("%s", pe.Error())
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, errorf("break")
		}
		return x, nil
	},
	{"debug", 0}:  func(m *Machine, v any, _ []any) (any, error) { m.Debug(v); return v, nil },
	{"stderr", 0}: func(m *Machine, v any, _ []any) (any, error) { m.Warn(v); return v, nil },
	{"halt", 0}:   func(*Machine, any, []any) (any, error) { return nil, &Halt{} },
	{"halt_error", 1}: func(_ *Machine, v any, a []any) (any, error) {
		f, ok := number(a[0])
		if !ok {
			return nil, errorf("%s halt_error/1: number required", describe(v))
		}
		return nil, &Halt{Status: clampInt(f) & 0xff, Value: v, Print: true}
	},
	{"input_filename", 0}:    func(m *Machine, _ any, _ []any) (any, error) { return m.File(), nil },
	{"input_line_number", 0}: func(m *Machine, _ any, _ []any) (any, error) { return m.Line(), nil },
	{"now", 0}:               func(m *Machine, _ any, _ []any) (any, error) { return m.Now(), nil },
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
		return m.Modules.metaOf(name)
	},
	{"builtins", 0}: func(*Machine, any, []any) (any, error) { return builtinNames(), nil },
}

func builtinNames() *Array {
	var out []any
	add := func(k key) {
		if k.name[0] != '_' {
			out = append(out, k.name+"/"+strconv.Itoa(k.args))
		}
	}
	for k := range natives {
		add(k)
	}
	for k := range builtins().defs {
		add(k)
	}
	for _, k := range []key{{"empty", 0}, {"error", 0}, {"error", 1}, {"not", 0}, {"recurse", 0}, {"path", 1},
		{"getpath", 1}, {"range", 1},
		{"range", 2}, {"range", 3}} {
		add(k)
	}
	slices.SortFunc(out, compare)
	return NewArray(out)
}

func mathNatives() map[key]native {
	all := map[key]native{
		{"frexp", 0}: onNumber(func(x float64) any {
			f, n := math.Frexp(x)
			return NewArray([]any{f, float64(n)})
		}),
		{"modf", 0}: onNumber(func(x float64) any {
			if math.IsInf(x, 0) {
				return NewArray([]any{math.Copysign(0, x), x})
			}
			i, f := math.Modf(x)
			return NewArray([]any{f, i})
		}),
		{"lgamma_r", 0}: onNumber(func(x float64) any {
			f, s := math.Lgamma(x)
			return NewArray([]any{f, float64(s)})
		}),
		{"fma", 3}: func(_ *Machine, _ any, a []any) (any, error) {
			var f [3]float64
			for i := range f {
				x, ok := number(a[i])
				if !ok {
					return nil, errorf("%s number required", describe(a[i]))
				}
				f[i] = x
			}
			return math.FMA(f[0], f[1], f[2]), nil
		},
	}
	for name, f := range math1 {
		all[key{name, 0}] = onNumber(func(x float64) any { return f(x) })
	}
	for name, f := range math2 {
		all[key{name, 2}] = func(_ *Machine, _ any, args []any) (any, error) {
			a, ok := number(args[0])
			if !ok {
				return nil, errorf("%s number required", describe(args[0]))
			}
			b, ok := number(args[1])
			if !ok {
				return nil, errorf("%s number required", describe(args[1]))
			}
			return f(a, b), nil
		}
	}
	return all
}

func onNumber(f func(x float64) any) native {
	return func(_ *Machine, v any, _ []any) (any, error) {
		x, ok := number(v)
		if !ok {
			return nil, errorf("%s number required", describe(v))
		}
		return f(x), nil
	}
}

var math1 = map[string]func(float64) float64{
	"floor": math.Floor, "ceil": math.Ceil, "round": math.Round, "trunc": math.Trunc, "fabs": math.Abs, "sqrt": math.Sqrt,
	"exp": math.Exp, "exp2": math.Exp2, "expm1": math.Expm1, "log": math.Log, "log2": math.Log2, "log10": math.Log10,
	"log1p": math.Log1p,
	"sin":   math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
	"sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh, "asinh": math.Asinh, "acosh": math.Acosh, "atanh": math.Atanh,
	"cbrt": math.Cbrt, "gamma": lgamma, "lgamma": lgamma, "tgamma": math.Gamma, "rint": math.RoundToEven,
	"nearbyint": math.RoundToEven,
	"j0":        math.J0, "j1": math.J1, "y0": math.Y0, "y1": math.Y1, "erf": math.Erf, "erfc": math.Erfc,
	"logb": math.Logb, "exp10": func(x float64) float64 { return math.Pow(10, x) },
	"pow10": func(x float64) float64 { return math.Pow(10, x) },
	"significand": func(x float64) float64 {
		if x == 0 || math.IsInf(x, 0) || x != x {
			return x
		}
		f, _ := math.Frexp(x)
		return f * 2
	},
}

var math2 = map[string]func(a, b float64) float64{
	"pow": math.Pow, "atan2": math.Atan2, "fmin": math.Min, "fmax": math.Max, "fmod": math.Mod, "hypot": math.Hypot,
	"copysign": math.Copysign, "drem": math.Remainder, "remainder": math.Remainder, "nextafter": math.Nextafter,
	"nexttoward": math.Nextafter,
	"fdim":       math.Dim,
	"jn":         func(a, b float64) float64 { return math.Jn(smallInt(a), b) },
	"yn":         func(a, b float64) float64 { return math.Yn(smallInt(a), b) },
	"ldexp":      func(a, b float64) float64 { return math.Ldexp(a, clampInt(b)) },
	"scalb":      func(a, b float64) float64 { return a * math.Pow(2, b) },
	"scalbln":    func(a, b float64) float64 { return math.Ldexp(a, clampInt(b)) },
}

// smallInt bounds the order of a Bessel function, whose time it is.
func smallInt(f float64) int { return min(max(clampInt(f), -10000), 10000) }

func lgamma(x float64) float64 { f, _ := math.Lgamma(x); return f }
