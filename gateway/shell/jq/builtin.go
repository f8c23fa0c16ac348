package jq

import (
	"errors"
	"math"
	"slices"

	"github.com/itchyny/gojq"
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
