package jq

import (
	"encoding/base32"
	"encoding/base64"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
	"github.com/itchyny/gojq"
	"github.com/itchyny/timefmt-go"
)

type native func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error

// strict makes a native of a function of values. Its arguments are evaluated in all combinations,
// the last one slowest.
func strict(f func(m *Machine, v any, args []any) (any, error)) native {
	return func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
		vals := make([]any, len(args))
		var from func(i int) error
		from = func(i int) error {
			if i < 0 {
				r, err := f(m, v, vals)
				if err != nil {
					return err
				}
				return emit(r, p.lost())
			}
			return m.query(e, args[i], v, nil, func(x any, _ *path) error {
				vals[i] = x
				return from(i - 1)
			})
		}
		return from(len(args) - 1)
	}
}

func math1(f func(float64) float64) native {
	return strict(func(_ *Machine, v any, _ []any) (any, error) {
		x, ok := v.(float64)
		if !ok {
			return nil, errorf("%s number required", describe(v))
		}
		return f(x), nil
	})
}

func math2(f func(a, b float64) float64) native {
	return strict(func(_ *Machine, _ any, args []any) (any, error) {
		a, ok := args[0].(float64)
		if !ok {
			return nil, errorf("%s number required", describe(args[0]))
		}
		b, ok := args[1].(float64)
		if !ok {
			return nil, errorf("%s number required", describe(args[1]))
		}
		return f(a, b), nil
	})
}

var natives map[key]native

func init() {
	natives = map[key]native{
		{"empty", 0}: func(*Machine, *env, []*gojq.Query, any, *path, out) error { return nil },
		{"not", 0}:   strict(func(_ *Machine, v any, _ []any) (any, error) { return !truthy(v), nil }),
		{"error", 0}: func(_ *Machine, _ *env, _ []*gojq.Query, v any, _ *path, _ out) error {
			if v == nil { // jq 1.6 takes it for a mere backtracking
				return nil
			}
			return &Error{v}
		},
		{"path", 1}: func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
			return m.query(e, args[0], v, root, func(x any, xp *path) error {
				if xp == nowhere {
					return errorf("Invalid path expression with result %s", brief(x, 30))
				}
				return emit(xp.list(), p.lost())
			})
		},
		{"getpath", 1}: getpath,
		{"first", 0}: func(m *Machine, _ *env, _ []*gojq.Query, v any, p *path, emit out) error {
			return nth(m, v, 0, p, emit)
		},
		{"last", 0}: func(m *Machine, _ *env, _ []*gojq.Query, v any, p *path, emit out) error {
			return nth(m, v, -1, p, emit)
		},
		{"nth", 1}: func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
			return m.query(e, args[0], v, nil, func(n any, _ *path) error {
				r, err := m.access(v, n, p)
				if err != nil {
					return err
				}
				return emit(r, p.stepOrLost(n))
			})
		},
		{"first", 1}: func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
			return limit(m, e, args[0], v, p, 1, emit)
		},
		{"limit", 2}: func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
			return m.query(e, args[0], v, nil, func(n any, _ *path) error {
				f, ok := n.(float64)
				if !ok {
					return errorf("Invalid limit: %s", describe(n))
				}
				return limit(m, e, args[1], v, p, f, emit)
			})
		},
		{"last", 1}: func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
			var x any
			var xp *path
			some := false
			if err := m.query(e, args[0], v, p, func(y any, yp *path) error { x, xp, some = y, yp, true; return nil }); err != nil {
				return err
			}
			if !some {
				return emit(nil, p.lost())
			}
			return emit(x, xp)
		},
		{"nth", 2}: func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
			return m.query(e, args[0], v, nil, func(n any, _ *path) error {
				f, ok := n.(float64)
				if !ok || f < 0 {
					return errorf("nth doesn't support negative indices")
				}
				var x any
				var xp *path
				some := false
				if err := limit(m, e, args[1], v, p, math.Floor(f)+1, func(y any, yp *path) error { x, xp, some = y, yp, true; return nil }); err != nil || !some {
					return err
				}
				return emit(x, xp)
			})
		},
		{"until", 2}: func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
			return until(m, e, args, v, p, emit)
		},
		{"recurse", 0}: func(m *Machine, _ *env, _ []*gojq.Query, v any, p *path, emit out) error {
			return m.recurse(v, p, emit)
		},
		{"range", 1}: func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
			return m.query(e, args[0], v, nil, func(n any, _ *path) error { return ranged(m, 0.0, n, 1.0, p, emit) })
		},
		{"range", 2}: func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
			return m.query(e, args[0], v, nil, func(a any, _ *path) error {
				return m.query(e, args[1], v, nil, func(b any, _ *path) error { return ranged(m, a, b, 1.0, p, emit) })
			})
		},
		{"range", 3}: func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
			return m.query(e, args[0], v, nil, func(a any, _ *path) error {
				return m.query(e, args[1], v, nil, func(b any, _ *path) error {
					return m.query(e, args[2], v, nil, func(c any, _ *path) error { return ranged(m, a, b, c, p, emit) })
				})
			})
		},
		{"any", 2}: func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
			return quantify(m, e, args, v, p, true, emit)
		},
		{"all", 2}: func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
			return quantify(m, e, args, v, p, false, emit)
		},
		{"isempty", 1}: func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
			none := true
			if err := limit(m, e, args[0], v, nil, 1, func(any, *path) error { none = false; return nil }); err != nil {
				return err
			}
			return emit(none, p.lost())
		},
		{"sort_by", 1}:   by(func(es []element) any { return values(es) }),
		{"group_by", 1}:  by(grouped),
		{"unique_by", 1}: by(uniqued),
		{"min_by", 1}:    extreme(func(c int) bool { return c < 0 }),
		{"max_by", 1}:    extreme(func(c int) bool { return c >= 0 }),
		{"input", 0}: func(m *Machine, _ *env, _ []*gojq.Query, _ any, p *path, emit out) error {
			x, ok, err := m.Input()
			var pe *ParseError
			if errors.As(err, &pe) {
				return errorf("%s", pe.Error())
			}
			if err != nil {
				return err
			}
			if !ok {
				return errorf("break")
			}
			return emit(x, p.lost())
		},
		{"debug", 0}: func(m *Machine, _ *env, _ []*gojq.Query, v any, p *path, emit out) error {
			m.Debug(v)
			return emit(v, p)
		},
		{"stderr", 0}: func(m *Machine, _ *env, _ []*gojq.Query, v any, p *path, emit out) error {
			m.Warn(v)
			return emit(v, p)
		},
		{"halt", 0}: func(*Machine, *env, []*gojq.Query, any, *path, out) error { return &Halt{} },
		{"halt_error", 1}: func(m *Machine, e *env, args []*gojq.Query, v any, _ *path, _ out) error {
			return m.query(e, args[0], v, nil, func(n any, _ *path) error {
				f, ok := n.(float64)
				if !ok {
					return errorf("%s halt_error/1: number required", describe(v))
				}
				return &Halt{Status: clampInt(f) & 0xff, Value: v, Print: true}
			})
		},
	}
	for k, f := range stricts {
		natives[k] = strict(f)
	}
	for name, f := range map[string]func(float64) float64{
		"floor": math.Floor, "ceil": math.Ceil, "round": math.Round, "trunc": math.Trunc, "fabs": math.Abs, "sqrt": math.Sqrt,
		"exp": math.Exp, "exp2": math.Exp2, "expm1": math.Expm1, "log": math.Log, "log2": math.Log2, "log10": math.Log10, "log1p": math.Log1p,
		"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan, "sinh": math.Sinh, "cosh": math.Cosh,
		"tanh": math.Tanh, "asinh": math.Asinh, "acosh": math.Acosh, "atanh": math.Atanh, "cbrt": math.Cbrt, "gamma": lgamma, "lgamma": lgamma, "lgamma_r": lgamma,
		"tgamma": math.Gamma, "rint": math.RoundToEven, "nearbyint": math.RoundToEven, "j0": math.J0, "j1": math.J1, "y0": math.Y0, "y1": math.Y1,
		"logb": math.Logb, "exp10": func(x float64) float64 { return math.Pow(10, x) },
		"erf": math.Erf, "erfc": math.Erfc,
		"significand": func(x float64) float64 { f, _ := math.Frexp(x); return f * 2 },
	} {
		natives[key{name, 0}] = math1(f)
	}
	for name, f := range map[string]func(a, b float64) float64{
		"pow": math.Pow, "atan2": math.Atan2, "fmin": math.Min, "fmax": math.Max, "fmod": math.Mod, "hypot": math.Hypot, "copysign": math.Copysign,
		"drem": math.Remainder, "remainder": math.Remainder, "jn": func(a, b float64) float64 { return math.Jn(clampInt(a), b) }, "yn": func(a, b float64) float64 { return math.Yn(clampInt(a), b) }, "nextafter": math.Nextafter, "nexttoward": math.Nextafter, "fdim": math.Dim,
		"ldexp": func(a, b float64) float64 { return math.Ldexp(a, clampInt(b)) }, "scalb": func(a, b float64) float64 { return a * math.Pow(2, b) },
		"scalbln": func(a, b float64) float64 { return math.Ldexp(a, clampInt(b)) },
	} {
		natives[key{name, 2}] = math2(f)
	}
}

func lgamma(x float64) float64 { f, _ := math.Lgamma(x); return f }

func getpath(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
	return m.query(e, args[0], v, nil, func(k any, _ *path) error {
		a, ok := k.(*Array)
		if !ok {
			return errorf("Path must be specified as an array")
		}
		if p == nowhere {
			return errorf("Invalid path expression with result %s", brief(v, 30))
		}
		x, err := m.getPath(v, a.e)
		if err != nil {
			return err
		}
		xp := p
		for _, k := range a.e {
			xp = xp.step(k)
		}
		return emit(x, xp)
	})
}

func nth(m *Machine, v any, n float64, p *path, emit out) error {
	x, err := m.access(v, n, p)
	if err != nil {
		return err
	}
	return emit(x, p.stepOrLost(n))
}

func limit(m *Machine, e *env, q *gojq.Query, v any, p *path, n float64, emit out) error {
	if n < 0 { // jq 1.6: no limit
		return m.query(e, q, v, p, emit)
	}
	lab := &label{}
	count := 0.0
	err := m.query(e, q, v, p, func(x any, xp *path) error {
		count++
		if err := emit(x, xp); err != nil {
			return err
		}
		if count >= n {
			return &brk{lab}
		}
		return nil
	})
	var b *brk
	if errors.As(err, &b) && b.label == lab {
		return nil
	}
	return err
}

// until loops instead of recursing when its arguments have one result each.
func until(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
	for {
		m.Tick(1)
		done, n := false, 0
		if err := m.query(e, args[0], v, nil, func(x any, _ *path) error { done = truthy(x); n++; return nil }); err != nil || n == 0 {
			return err
		}
		if done {
			return emit(v, p)
		}
		n = 0
		if err := m.query(e, args[1], v, p, func(x any, xp *path) error {
			if n++; n > 1 {
				return until(m, e, args, x, xp, emit)
			}
			v, p = x, xp
			return nil
		}); err != nil || n == 0 {
			return err
		}
	}
}

func ranged(m *Machine, from, to, step any, p *path, emit out) error {
	a, ok := from.(float64)
	b, ok2 := to.(float64)
	s, ok3 := step.(float64)
	if !ok || !ok2 || !ok3 {
		return errorf("Range bounds must be numeric")
	}
	for ; s > 0 && a < b || s < 0 && a > b; a += s {
		m.Tick(1)
		if err := emit(a, p.lost()); err != nil {
			return err
		}
	}
	return nil
}

func quantify(m *Machine, e *env, args []*gojq.Query, v any, p *path, want bool, emit out) error {
	found := false
	lab := &label{}
	err := m.query(e, args[0], v, nil, func(x any, _ *path) error {
		return m.query(e, args[1], x, nil, func(y any, _ *path) error {
			if truthy(y) == want {
				found = true
				return &brk{lab}
			}
			return nil
		})
	})
	var b *brk
	if err != nil && !(errors.As(err, &b) && b.label == lab) {
		return err
	}
	return emit(found == want, p.lost())
}

// element is a value with what it is sorted by.
type element struct{ by, v any }

func values(es []element) *Array {
	out := make([]any, len(es))
	for i, e := range es {
		out[i] = e.v
	}
	return NewArray(out)
}

func grouped(es []element) any {
	var out []any
	for i := 0; i < len(es); {
		j := i + 1
		for j < len(es) && compare(es[i].by, es[j].by) == 0 {
			j++
		}
		out = append(out, values(es[i:j]))
		i = j
	}
	return NewArray(out)
}

func uniqued(es []element) any {
	return values(slices.CompactFunc(es, func(a, b element) bool { return compare(a.by, b.by) == 0 }))
}

// keyed evaluates f for every element of v.
func keyed(m *Machine, e *env, f *gojq.Query, v any, problem func(v any, keys []any) error) ([]element, error) {
	vs, err := elements(v)
	if err != nil {
		return nil, err
	}
	es := make([]element, len(vs))
	held := 32 * len(es)
	m.Hold(held)
	defer m.Release(held)
	for i, x := range vs {
		k, err := m.collect(e, f, x)
		if err != nil {
			return nil, err
		}
		es[i] = element{k, x}
	}
	if _, ok := v.(*Array); !ok {
		keys := make([]any, len(es))
		for i, e := range es {
			keys[i] = e.by
		}
		return nil, problem(v, keys)
	}
	return es, nil
}

func notSorted(v any, keys []any) error {
	return errorf("%s and %s cannot be sorted, as they are not both arrays", describe(v), describe(NewArray(keys)))
}

func notIterated(v any, keys []any) error {
	return errorf("%s and %s cannot be iterated over", describe(v), describe(NewArray(keys)))
}

func by(result func([]element) any) native {
	return func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
		es, err := keyed(m, e, args[0], v, notSorted)
		if err != nil {
			return err
		}
		sortElements(m, es)
		return emit(result(es), p.lost())
	}
}

func sortElements(m *Machine, es []element) {
	slices.SortStableFunc(es, func(a, b element) int { m.Tick(1); return compare(a.by, b.by) })
}

func extreme(better func(c int) bool) native {
	return func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
		es, err := keyed(m, e, args[0], v, notIterated)
		if err != nil {
			return err
		}
		return emit(pickOne(es, better), p.lost())
	}
}

func pickOne(es []element, better func(c int) bool) any {
	if len(es) == 0 {
		return nil
	}
	best := es[0]
	for _, x := range es[1:] {
		if better(compare(x.by, best.by)) {
			best = x
		}
	}
	return best.v
}

func elementsOf(v any) ([]element, error) {
	a, ok := v.(*Array)
	if !ok {
		return nil, errorf("%s and %s cannot be iterated over", describe(v), describe(v))
	}
	es := make([]element, len(a.e))
	for i, x := range a.e {
		es[i] = element{x, x}
	}
	return es, nil
}

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
	{"get_search_list", 0}: func(*Machine, any, []any) (any, error) { return NewArray(nil), nil },
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

func init() {
	natives[key{"match", 2}] = func(m *Machine, e *env, args []*gojq.Query, v any, p *path, emit out) error {
		return strict(stricts[key{"_match", 2}])(m, e, args, v, nil, func(l any, _ *path) error {
			for _, x := range l.(*Array).e {
				if err := emit(x, p.lost()); err != nil {
					return err
				}
			}
			return nil
		})
	}
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

// pattern is a compiled regular expression, which may have to find empty matches.
type pattern struct {
	re     *regexp2.Regexp
	global bool
	empty  bool // n: skip empty matches
}

func flagged(v any, more string) any {
	if s, ok := v.(string); ok {
		return s + more
	}
	if v == nil {
		return more
	}
	return v
}

// matchTimeout ends one hopeless match of a backtracking pattern.
const matchTimeout = time.Second

// matches runs the regular expression re, which may be [re, flags].
func (m *Machine) matches(v, re, flags any, testing bool) ([]*regexp2.Match, error) {
	s, ok := v.(string)
	if !ok {
		return nil, errorf("%s cannot be matched, as it is not a string", describe(v))
	}
	if a, ok := re.(*Array); ok {
		if len(a.e) == 0 {
			return nil, errorf("%s not a string or array", kindOf(re))
		}
		re = a.e[0]
		if len(a.e) > 1 {
			if f, ok := a.e[1].(string); ok {
				flags = flagged(flags, f)
			}
		}
	}
	src, ok := re.(string)
	if !ok {
		return nil, errorf("%s not a string or array", kindOf(re))
	}
	f := ""
	if flags != nil {
		if f, ok = flags.(string); !ok {
			return nil, errorf("%s is not a string", describe(flags))
		}
	}
	p, err := m.pattern(src, f)
	if err != nil {
		return nil, err
	}
	m.Tick(1 + len(s)>>6)
	end := -1
	if p.global && s != "" {
		end = utf8.RuneCountInString(s)
	}
	var out []*regexp2.Match
	x, err := p.re.FindStringMatch(s)
	for x != nil && err == nil {
		m.Tick(1)
		if !p.empty || x.Length > 0 {
			out = append(out, x)
			if !p.global || testing {
				break
			}
		}
		// An empty match does not follow the last character.
		if x, err = p.re.FindNextMatch(x); x != nil && x.Length == 0 && x.Index == end {
			break
		}
	}
	if err != nil {
		return nil, errorf("%s (at offset 0) is not a valid regex: match timeout", src)
	}
	return out, nil
}

func (m *Machine) pattern(src, flags string) (*pattern, error) {
	if p, ok := m.regexes[flags+"/"+src]; ok {
		return p, nil
	}
	p := &pattern{}
	opt := regexp2.None
	for _, c := range flags {
		switch c {
		case 'g':
			p.global = true
		case 'i':
			opt |= regexp2.IgnoreCase
		case 'x':
			opt |= regexp2.IgnorePatternWhitespace
		case 's': // about ^ and $, which are never those of lines here
		case 'p':
			opt |= regexp2.Singleline
		case 'n':
			p.empty = true
		case 'l':
		default:
			return nil, errorf("%s is not a valid modifier string", flags)
		}
	}
	re, err := regexp2.Compile(translate(src), opt)
	if err != nil {
		return nil, errorf("Regex failure: %s", regexProblem(err))
	}
	re.MatchTimeout = matchTimeout
	p.re = re
	if m.regexes == nil || len(m.regexes) > 200 {
		m.regexes = map[string]*pattern{}
	}
	m.regexes[flags+"/"+src] = p
	return p, nil
}

// translate rewrites what Oniguruma has and regexp2 has not: bracket classes and \h.
func translate(src string) string {
	if !strings.Contains(src, "[:") && !strings.Contains(src, `\h`) && !strings.Contains(src, `\H`) {
		return src
	}
	var b strings.Builder
	depth := 0
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '\\' && i+1 < len(src):
			i++
			switch src[i] {
			case 'h':
				if depth > 0 {
					b.WriteString("0-9a-fA-F")
				} else {
					b.WriteString("[0-9a-fA-F]")
				}
			case 'H':
				b.WriteString("[^0-9a-fA-F]")
			default:
				b.WriteString(src[i-1 : i+1])
			}
		case c == '[' && depth > 0:
			if end := strings.Index(src[i:], ":]"); end > 0 && strings.HasPrefix(src[i:], "[:") {
				if class, ok := bracketClass(src[i+2 : i+end]); ok {
					b.WriteString(class)
					i += end + 1
					continue
				}
			}
			b.WriteString(`\[`)
		case c == '[':
			depth++
			b.WriteByte(c)
			if i+1 < len(src) && src[i+1] == '^' {
				i++
				b.WriteByte('^')
			}
			if i+1 < len(src) && src[i+1] == ']' {
				i++
				b.WriteString(`\]`)
			}
		case c == ']' && depth > 0:
			depth--
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func bracketClass(name string) (string, bool) {
	negated := strings.HasPrefix(name, "^")
	class, ok := map[string]string{
		"alpha": `\pL`, "digit": `\d`, "alnum": `\pL\pN`, "upper": `\p{Lu}`, "lower": `\p{Ll}`, "space": `\s`, "punct": `\pP\pS`,
		"cntrl": `\p{Cc}`, "xdigit": `0-9a-fA-F`, "blank": ` \t`, "word": `\w`, "graph": `\pL\pM\pN\pP\pS`, "print": `\pL\pM\pN\pP\pS `,
	}[strings.TrimPrefix(name, "^")]
	class = propertyLetter.Replace(class)
	if negated {
		one := map[string]string{"alpha": `\P{L}`, "digit": `\D`, "space": `\S`, "upper": `\P{Lu}`, "lower": `\P{Ll}`, "cntrl": `\P{Cc}`, "word": `\W`}
		class, ok = one[name[1:]]
	}
	return class, ok
}

// regexp2 wants braces.
var propertyLetter = strings.NewReplacer(`\pL`, `\p{L}`, `\pM`, `\p{M}`, `\pN`, `\p{N}`, `\pP`, `\p{P}`, `\pS`, `\p{S}`)

// regexProblem is Oniguruma's wording.
func regexProblem(err error) string {
	s := err.Error()
	for _, w := range []struct{ theirs, ours string }{
		{"missing closing )", "end pattern with unmatched parenthesis"}, {"unterminated [] set", "premature end of char-class"},
		{"missing argument to repetition operator", "target of repeat operator is not specified"}, {"unexpected )", "unmatched close parenthesis"},
		{"invalid repeat count", "upper is smaller than lower in repeat range"}, {"illegal \\ at end", "end pattern at escape"},
		{"unrecognized grouping", "undefined group option"}, {"invalid nested repetition", "target of repeat operator is invalid"},
		{"invalid character class range", "empty range in char class"}, {"[x-y] range in reverse order", "empty range in char class"},
	} {
		if strings.Contains(s, w.theirs) {
			return w.ours
		}
	}
	return s
}

// edits finds what sub replaces: with g, each match is looked for in what follows the one before as if that were all of the text.
func (m *Machine) edits(v, re, flags any) ([]any, error) {
	f, ok := flags.(string)
	s, isText := v.(string)
	if !ok || !isText || !strings.Contains(f, "g") {
		ms, err := m.matches(v, re, flags, false)
		if len(ms) > 1 {
			ms = ms[:1]
		}
		return matchObjects(ms, 0), err
	}
	one := strings.ReplaceAll(f, "g", "")
	var out []any
	for at := 0; ; {
		ms, err := m.matches(s, re, one, false)
		if err != nil {
			return nil, err
		}
		if len(ms) == 0 {
			return out, nil
		}
		x := ms[0]
		if x.Length == 0 && at > 0 {
			// jq would loop for ever: go on like other tools.
			rest, err := m.matches(v, re, flags, false)
			return matchObjects(rest, 0), err
		}
		out = append(out, matchObjects(ms[:1], at)...)
		end := x.Index + x.Length
		if x.Length == 0 {
			end++
		}
		n := byteOffset(s, end)
		if n >= len(s) {
			return out, nil
		}
		at += end
		s = s[n:]
	}
}

// matchObjects are the values of matches in a text that begins offset characters into another.
func matchObjects(ms []*regexp2.Match, offset int) []any {
	out := make([]any, len(ms))
	for i, x := range ms {
		o := matchObject(x)
		o.put("offset", float64(offset+x.Index))
		out[i] = o
	}
	return out
}

func matchObject(x *regexp2.Match) *Object {
	o := NewObject()
	o.put("offset", float64(x.Index))
	o.put("length", float64(x.Length))
	o.put("string", x.String())
	var caps []any
	for i, g := range x.Groups() {
		if i == 0 {
			continue
		}
		c := NewObject()
		if len(g.Captures) == 0 {
			c.put("offset", -1.0)
			c.put("string", nil)
			c.put("length", 0.0)
		} else {
			c.put("offset", float64(g.Index))
			c.put("length", float64(g.Length))
			c.put("string", g.String())
		}
		var name any
		if _, err := strconv.Atoi(g.Name); err != nil {
			name = g.Name
		}
		c.put("name", name)
		caps = append(caps, c)
	}
	o.put("captures", NewArray(caps))
	return o
}

// brokenDown reads a broken down time.
func brokenDown(v any, msg string) (time.Time, error) {
	a, ok := v.(*Array)
	if !ok || len(a.e) < 8 {
		return time.Time{}, errorf("%s", msg)
	}
	var n [6]int
	frac := 0.0
	for i := range n {
		f, ok := a.e[i].(float64)
		if !ok {
			return time.Time{}, errorf("%s", msg)
		}
		n[i] = clampInt(f)
		frac = f - math.Floor(f)
	}
	return time.Date(n[0], time.Month(n[1]+1), n[2], n[3], n[4], n[5], int(frac*1e9), time.UTC), nil
}

func brokenUp(t time.Time, frac float64) *Array {
	return NewArray([]any{float64(t.Year()), float64(t.Month() - 1), float64(t.Day()), float64(t.Hour()), float64(t.Minute()),
		float64(t.Second()) + frac, float64(t.Weekday()), float64(t.YearDay() - 1)})
}

// withoutDay replaces the fields that a time parsed by format has only by default: a day of the month that was not given is 0, and
// without any part of a date there is no telling the weekday and the day of the year.
func withoutDay(t time.Time, format string) *Array {
	a := brokenUp(t, 0)
	given := func(letters string) bool {
		for i := 0; i+1 < len(format); i++ {
			if format[i] != '%' {
				continue
			}
			for i++; i+1 < len(format) && strings.IndexByte("EO-_0^#", format[i]) >= 0; i++ {
			}
			if strings.IndexByte(letters, format[i]) >= 0 {
				return true
			}
		}
		return false
	}
	switch {
	case given("cdDeFjsxGv"):
	case given("YyCmbBh"):
		a.e[2], a.e[6], a.e[7] = 0.0, float64((t.Weekday()+6)%7), float64(t.YearDay()-2)
	default:
		a.e[2], a.e[6], a.e[7] = 0.0, 8.0, 367.0
	}
	return a
}

func gmtime(v any, name string) (any, error) {
	f, ok := v.(float64)
	if !ok {
		return nil, errorf("%s requires numeric inputs", name)
	}
	if math.Abs(f) > 1e15 {
		return nil, errorf("error converting number of seconds since epoch to datetime")
	}
	sec := math.Floor(f)
	return brokenUp(time.Unix(int64(sec), 0).UTC(), f-sec), nil
}

func strftime(name string) strictFn {
	return func(_ *Machine, v any, a []any) (any, error) {
		f, ok := a[0].(string)
		if !ok {
			return nil, errorf("%s requires a string format", name)
		}
		if _, ok := v.(float64); ok {
			x, err := gmtime(v, name)
			if err != nil {
				return nil, err
			}
			v = x
		}
		t, err := brokenDown(v, name+" requires parsed datetime inputs")
		if err != nil {
			return nil, err
		}
		return timefmt.Format(t, f), nil
	}
}

var formats = map[string]func(v any) (string, error){
	"@text": func(v any) (string, error) { return tostring(v), nil },
	"@json": func(v any) (string, error) { return text(v), nil },
	"@html": func(v any) (string, error) {
		return strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;", "'", "&apos;", `"`, "&quot;").Replace(tostring(v)), nil
	},
	"@uri": func(v any) (string, error) {
		s := tostring(v)
		b := make([]byte, 0, len(s))
		for i := range len(s) {
			c := s[i]
			if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("-_.~!*'()", c) >= 0 {
				b = append(b, c)
			} else {
				b = append(b, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
			}
		}
		return string(b), nil
	},
	"@csv": func(v any) (string, error) {
		return row(v, "csv", ",", func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` })
	},
	"@tsv": func(v any) (string, error) {
		return row(v, "tsv", "\t", strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`).Replace)
	},
	"@sh":     shell,
	"@base64": func(v any) (string, error) { return base64.StdEncoding.EncodeToString([]byte(tostring(v))), nil },
	"@base32": func(v any) (string, error) { return base32.StdEncoding.EncodeToString([]byte(tostring(v))), nil },
	"@base64d": func(v any) (string, error) {
		v = tostring(v)
		s := strings.TrimRight(v.(string), "=")
		if len(s)%4 == 1 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") == "" {
			return "", errorf("%s trailing base64 byte found", describe(v))
		}
		b, err := base64.RawStdEncoding.DecodeString(s)
		if err != nil {
			return "", errorf("%s is not valid base64 data", describe(v))
		}
		return strings.ToValidUTF8(string(b), "\uFFFD"), nil
	},
	"@base32d": func(v any) (string, error) {
		b, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(tostring(v), "="))
		if err != nil {
			return "", errorf("%s is not valid base32 data", describe(v))
		}
		return strings.ToValidUTF8(string(b), "\uFFFD"), nil
	},
}

func format(name string, v any) (string, error) {
	if name == "" {
		return tostring(v), nil
	}
	f, ok := formats[name]
	if !ok {
		return "", errorf("%s is not a valid format", strings.TrimPrefix(name, "@"))
	}
	return f(v)
}

func row(v any, kind, sep string, quote func(string) string) (string, error) {
	a, ok := v.(*Array)
	if !ok {
		return "", errorf("%s cannot be %s-formatted, only array", describe(v), kind)
	}
	var b strings.Builder
	for i, x := range a.e {
		if i > 0 {
			b.WriteString(sep)
		}
		switch x := x.(type) {
		case nil:
		case bool, float64:
			b.WriteString(text(x))
		case string:
			b.WriteString(quote(x))
		default:
			return "", errorf("%s is not valid in a csv row", describe(x))
		}
	}
	return b.String(), nil
}

func shell(v any) (string, error) {
	list := []any{v}
	if a, ok := v.(*Array); ok {
		list = a.e
	}
	var b strings.Builder
	for i, x := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch x := x.(type) {
		case string:
			b.WriteString("'" + strings.ReplaceAll(x, "'", `'\''`) + "'")
		case *Array, *Object:
			return "", errorf("%s can not be escaped for shell", describe(x))
		default:
			b.WriteString(text(x))
		}
	}
	return b.String(), nil
}
