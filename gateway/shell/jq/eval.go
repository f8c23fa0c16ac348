package jq

import (
	"errors"
	"fmt"
	"math"

	"github.com/itchyny/gojq"
)

var nan = math.NaN()

// An Error is a value raised by a program.
type Error struct{ Value any }

func (e *Error) Error() string {
	switch v := e.Value.(type) {
	case string:
		return v
	case nil:
		return "null (null) not a string"
	default:
		return "(not a string): " + text(v)
	}
}

func errorf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Halt ends the program.
type Halt struct {
	Status int
	Value  any
	Print  bool
}

func (h *Halt) Error() string { return "halt" }

// brk leaves the label it was made for.
type brk struct{ label *label }

func (*brk) Error() string { return "break" }

type label struct{ name string }

// path is how a value was reached from where tracking began: a list from the last step back. nil means that
// nobody asks.
type path struct {
	up  *path
	key any
}

var root = &path{}

func (p *path) step(key any) *path {
	if p == nil {
		return nil
	}
	return &path{p, key}
}

func (p *path) list() *Array {
	n := 0
	for q := p; q != root; q = q.up {
		n++
	}
	e := make([]any, n)
	for q := p; q != root; q = q.up {
		n--
		e[n] = q.key
	}
	return NewArray(e)
}

// nowhere is the path of a value that was computed while paths were asked for.
var nowhere = &path{}

func (p *path) lost() *path {
	if p == nil {
		return nil
	}
	return nowhere
}

// env is what names mean: a list of bindings, the newest first.
type env struct {
	up   *env
	name string // $name, a function's name, or *name for a label
	kind bindKind
	val  any
	args int
	def  *gojq.FuncDef
	body *gojq.Query // of a closure
	in   *env        // where the closure or function was made
	lab  *label
}

type bindKind uint8

const (
	bindVar bindKind = iota
	bindFunc
	bindClosure
	bindLabel
)

func (e *env) bind(name string, v any) *env { return &env{up: e, name: name, val: v} }

type out = func(v any, p *path) error

// Machine runs one program.
type Machine struct {
	Tick    func(int)
	Hold    func(int)
	Release func(int)
	// Input returns the next input, ok=false after the last.
	Input func() (v any, ok bool, err error)
	// File is input_filename, Line input_line_number.
	File  func() any
	Line  func() float64
	Debug func(v any)
	Warn  func(v any)
	Now   func() float64
	Env   *Object
	// Modules answers questions about modules; it may be nil.
	Modules *Modules

	depth   int
	regexes map[string]*pattern
}

const (
	maxDepth  = 150000 // of nested evaluations
	depthCost = 2400   // bytes of Go stack for each
)

// Eval runs the program on one input.
func (m *Machine) Eval(prog *Program, in any, emit func(v any) error) error {
	err := m.query(prog.env, prog.query, in, nil, func(v any, _ *path) error { return emit(v) })
	var b *brk
	if errors.As(err, &b) {
		return errorf("break")
	}
	return err
}

// query evaluates q for the input v, which was reached by p.
func (m *Machine) query(e *env, q *gojq.Query, v any, p *path, emit out) error {
	m.Tick(1)
	if m.depth++; m.depth > maxDepth {
		m.depth--
		return errorf("stack overflow")
	}
	if m.depth&1023 == 0 {
		m.Hold(1024 * depthCost)
		defer m.Release(1024 * depthCost)
	}
	defer func() { m.depth-- }()
	for _, fd := range q.FuncDefs {
		f := &env{up: e, name: fd.Name, kind: bindFunc, args: len(fd.Args), def: fd}
		f.in = f
		e = f
	}
	if q.Term != nil {
		return m.term(e, q.Term, v, p, emit)
	}
	switch q.Op {
	case 0: // definitions and nothing else
		return emit(v, p)
	case gojq.OpPipe:
		if len(q.Patterns) > 0 {
			return m.query(e, q.Left, v, nil, func(x any, _ *path) error {
				return m.destructure(e, q.Patterns, v, x, func(e *env) error { return m.query(e, q.Right, v, p, emit) })
			})
		}
		return m.query(e, q.Left, v, p, func(x any, xp *path) error { return m.query(e, q.Right, x, xp, emit) })
	case gojq.OpComma:
		if err := m.query(e, q.Left, v, p, emit); err != nil {
			return err
		}
		return m.query(e, q.Right, v, p, emit)
	case gojq.OpAnd, gojq.OpOr:
		or := q.Op == gojq.OpOr
		return m.query(e, q.Left, v, nil, func(l any, _ *path) error {
			if truthy(l) == or {
				return emit(or, p.lost())
			}
			return m.query(e, q.Right, v, nil, func(r any, _ *path) error { return emit(truthy(r), p.lost()) })
		})
	case gojq.OpAlt:
		found := false
		if err := m.query(e, q.Left, v, p, func(x any, xp *path) error {
			if !truthy(x) {
				return nil
			}
			found = true
			return emit(x, xp)
		}); err != nil || found {
			return err
		}
		return m.query(e, q.Right, v, p, emit)
	case gojq.OpAssign:
		return m.query(e, q.Right, v, nil, func(x any, _ *path) error {
			r, err := m.update(e, q.Left, v, func(any) (any, bool, error) { return x, true, nil })
			if err != nil {
				return err
			}
			return emit(r, p.lost())
		})
	case gojq.OpModify:
		r, err := m.modify(e, q.Left, v, func(old any, emit out) error { return m.query(e, q.Right, old, nil, emit) })
		if err != nil {
			return err
		}
		return emit(r, p.lost())
	case gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod, gojq.OpUpdateAlt:
		op := map[gojq.Operator]gojq.Operator{gojq.OpUpdateAdd: gojq.OpAdd, gojq.OpUpdateSub: gojq.OpSub, gojq.OpUpdateMul: gojq.OpMul,
			gojq.OpUpdateDiv: gojq.OpDiv, gojq.OpUpdateMod: gojq.OpMod, gojq.OpUpdateAlt: gojq.OpAlt}[q.Op]
		return m.query(e, q.Right, v, nil, func(x any, _ *path) error {
			r, err := m.update(e, q.Left, v, func(old any) (any, bool, error) {
				if op == gojq.OpAlt {
					if truthy(old) {
						return old, true, nil
					}
					return x, true, nil
				}
				n, err := m.binary(op, old, x)
				return n, true, err
			})
			if err != nil {
				return err
			}
			return emit(r, p.lost())
		})
	}
	return m.query(e, q.Right, v, nil, func(r any, _ *path) error {
		return m.query(e, q.Left, v, nil, func(l any, _ *path) error {
			x, err := m.binary(q.Op, l, r)
			if err != nil {
				return err
			}
			return emit(x, p.lost())
		})
	})
}

// isValue reports whether try may catch err.
func isValue(err error) bool {
	var e *Error
	return errors.As(err, &e)
}

// update replaces the value at every path of q.
func (m *Machine) update(e *env, q *gojq.Query, v any, f func(old any) (any, bool, error)) (any, error) {
	paths, err := m.paths(e, q, v)
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		old, err := m.getPath(v, p.e)
		if err != nil {
			return nil, err
		}
		x, _, err := f(old)
		if err != nil {
			return nil, err
		}
		if v, err = m.setPath(v, p.e, x); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// modify is |=: the first result of f, or the deletion of the path, at once, when there is none or when f catches
// that no more are wanted: later paths may then mean something else, as in jq 1.6.
func (m *Machine) modify(e *env, q *gojq.Query, v any, f func(old any, emit out) error) (any, error) {
	paths, err := m.paths(e, q, v)
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		old, err := m.getPath(v, p.e)
		if err != nil {
			return nil, err
		}
		var x any
		some := false
		lab := &label{}
		err = f(old, func(r any, _ *path) error {
			x, some = r, true
			return &brk{lab}
		})
		var b *brk
		if err != nil && !(errors.As(err, &b) && b.label == lab) {
			return nil, err
		}
		if !some || err == nil {
			if v, err = m.deletePaths(v, NewArray([]any{p})); err != nil {
				return nil, err
			}
			continue
		}
		if v, err = m.setPath(v, p.e, x); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// paths collects the paths of q.
func (m *Machine) paths(e *env, q *gojq.Query, v any) ([]*Array, error) {
	var list []*Array
	held := 0
	defer func() { m.Release(held) }()
	err := m.query(e, q, v, root, func(x any, p *path) error {
		if p == nowhere {
			return errorf("Invalid path expression with result %s", brief(x, 30))
		}
		a := p.list()
		list = append(list, a)
		n := 64 + 16*len(a.e)
		held += n
		m.Hold(n)
		return nil
	})
	return list, err
}

func (m *Machine) term(e *env, t *gojq.Term, v any, p *path, emit out) error {
	if n := len(t.SuffixList); n > 0 {
		return m.suffix(e, t, n, v, p, emit)
	}
	return m.bare(e, t, v, p, emit)
}

// suffix evaluates the term with its first n suffixes.
func (m *Machine) suffix(e *env, t *gojq.Term, n int, v any, p *path, emit out) error {
	if n == 0 {
		return m.bare(e, t, v, p, emit)
	}
	s := t.SuffixList[n-1]
	switch {
	case s.Optional:
		// Only the access right before the question mark is tried.
		if n > 1 && !t.SuffixList[n-2].Optional {
			last := t.SuffixList[n-2]
			return m.suffix(e, t, n-2, v, p, func(x any, xp *path) error {
				if last.Iter {
					return m.attempt(func(emit out) error { return m.each(x, xp, emit) }, emit)
				}
				return m.index(e, last.Index, v, x, xp, true, emit)
			})
		}
		if n == 1 && t.Type == gojq.TermTypeIndex {
			return m.index(e, t.Index, v, v, p, true, emit)
		}
		return m.try(func(emit out) error { return m.suffix(e, t, n-1, v, p, emit) }, nil, emit)
	case s.Iter:
		return m.suffix(e, t, n-1, v, p, func(x any, xp *path) error { return m.each(x, xp, emit) })
	}
	return m.suffix(e, t, n-1, v, p, func(x any, xp *path) error { return m.index(e, s.Index, v, x, xp, false, emit) })
}

// attempt runs an access and swallows the error it raises; an error of emit passes.
func (m *Machine) attempt(f func(emit out) error, emit out) error {
	var passed error
	err := f(func(v any, p *path) error {
		passed = emit(v, p)
		return passed
	})
	var e *Error
	if err == nil || errors.Is(err, passed) || !errors.As(err, &e) {
		return err
	}
	return nil
}

// try runs f and swallows the error it raises, or gives it to handle. As in jq 1.6 that includes errors of what follows, for as long
// as f could have more results, and leaving a label.
func (m *Machine) try(f func(emit out) error, handle func(v any) error, emit out) error {
	err := f(emit)
	var raised *Error
	var left *brk
	switch {
	case errors.As(err, &raised):
		if handle == nil {
			return nil
		}
		return handle(raised.Value)
	case errors.As(err, &left):
		if handle == nil {
			return nil
		}
		o := NewObject()
		o.put("__jq", 0.0)
		err := handle(o)
		if errors.As(err, &raised) && raised.Value == any(o) {
			return left
		}
		return err
	}
	return err
}

// index evaluates .name, ."str", .[q] and slices of x; v is the input of the whole term. With optional
// an access that fails gives nothing; an error of the index itself is none of the access.
func (m *Machine) index(e *env, ix *gojq.Index, v, x any, p *path, optional bool, emit out) error {
	at := func(key any) error {
		r, err := m.access(x, key, p)
		if err != nil {
			var raised *Error
			if optional && errors.As(err, &raised) {
				return nil
			}
			return err
		}
		return emit(r, p.stepOrLost(key))
	}
	switch {
	case ix.Name != "":
		return at(ix.Name)
	case ix.Str != nil:
		return m.str(e, ix.Str, "", v, func(s any, _ *path) error { return at(s) })
	case !ix.IsSlice:
		return m.query(e, ix.Start, v, nil, func(k any, _ *path) error { return at(k) })
	}
	bound := func(q *gojq.Query, f func(any) error) error {
		if q == nil {
			return f(nil)
		}
		return m.query(e, q, v, nil, func(b any, _ *path) error { return f(b) })
	}
	return bound(ix.End, func(to any) error {
		return bound(ix.Start, func(from any) error {
			key := NewObject()
			key.put("start", from)
			key.put("end", to)
			return at(key)
		})
	})
}

func (p *path) stepOrLost(key any) *path {
	if p == nowhere {
		return nowhere
	}
	return p.step(key)
}

// access is x[key]; p says whether x may be accessed while paths are asked for.
func (m *Machine) access(x, key any, p *path) (any, error) {
	if p == nowhere {
		return nil, errorf("Invalid path expression near attempt to access element %s of %s", brief(key, 15), brief(x, 30))
	}
	return m.at(x, key)
}

// each emits the elements of x.
func (m *Machine) each(x any, p *path, emit out) error {
	if p == nowhere {
		return errorf("Invalid path expression near attempt to iterate through %s", brief(x, 30))
	}
	switch x := x.(type) {
	case *Array:
		for i, v := range x.e {
			m.Tick(1)
			var xp *path
			if p != nil {
				xp = p.step(float64(i))
			}
			if err := emit(v, xp); err != nil {
				return err
			}
		}
		return nil
	case *Object:
		for i, v := range x.vals {
			m.Tick(1)
			var xp *path
			if p != nil {
				xp = p.step(x.keys[i])
			}
			if err := emit(v, xp); err != nil {
				return err
			}
		}
		return nil
	case nil:
		return errorf("Cannot iterate over null (null)")
	}
	return errorf("Cannot iterate over %s", describe(x))
}

func (m *Machine) bare(e *env, t *gojq.Term, v any, p *path, emit out) error {
	lost := p.lost()
	switch t.Type {
	case gojq.TermTypeIdentity:
		return emit(v, p)
	case gojq.TermTypeRecurse:
		return m.recurse(v, p, emit)
	case gojq.TermTypeNull:
		return emit(nil, lost)
	case gojq.TermTypeTrue:
		return emit(true, lost)
	case gojq.TermTypeFalse:
		return emit(false, lost)
	case gojq.TermTypeIndex:
		return m.index(e, t.Index, v, v, p, false, emit)
	case gojq.TermTypeFunc:
		return m.call(e, t.Func.Name, t.Func.Args, v, p, emit)
	case gojq.TermTypeObject:
		return m.object(e, t.Object.KeyVals, 0, NewObject(), v, func(o any, _ *path) error { return emit(o, lost) })
	case gojq.TermTypeArray:
		a, err := m.collect(e, t.Array.Query, v)
		if err != nil {
			return err
		}
		return emit(a, lost)
	case gojq.TermTypeNumber:
		f, _ := parseNumber(t.Number)
		return emit(f, lost)
	case gojq.TermTypeUnary:
		return m.term(e, t.Unary.Term, v, nil, func(x any, _ *path) error {
			f, ok := x.(float64)
			if !ok {
				return errorf("%s cannot be negated", describe(x))
			}
			if t.Unary.Op == gojq.OpSub {
				f = -f
			}
			return emit(f, lost)
		})
	case gojq.TermTypeFormat:
		if t.Str != nil {
			return m.str(e, t.Str, t.Format, v, func(s any, _ *path) error { return emit(s, lost) })
		}
		s, err := format(t.Format, v)
		if err != nil {
			return err
		}
		return emit(s, lost)
	case gojq.TermTypeString:
		return m.str(e, t.Str, "", v, func(s any, _ *path) error { return emit(s, lost) })
	case gojq.TermTypeIf:
		return m.cond(e, t.If.Cond, t.If.Then, t.If.Elif, t.If.Else, v, p, emit)
	case gojq.TermTypeTry:
		var handle func(x any) error
		if t.Try.Catch != nil {
			handle = func(x any) error { return m.query(e, t.Try.Catch, x, lost, emit) }
		}
		return m.try(func(emit out) error { return m.query(e, t.Try.Body, v, p, emit) }, handle, emit)
	case gojq.TermTypeReduce:
		return m.reduce(e, t.Reduce, v, p, emit)
	case gojq.TermTypeForeach:
		return m.foreach(e, t.Foreach, v, p, emit)
	case gojq.TermTypeLabel:
		lab := &label{t.Label.Ident}
		err := m.query(&env{up: e, name: "*" + t.Label.Ident, kind: bindLabel, lab: lab}, t.Label.Body, v, p, emit)
		var b *brk
		if errors.As(err, &b) && b.label == lab {
			return nil
		}
		return err
	case gojq.TermTypeBreak:
		for s := e; s != nil; s = s.up {
			if s.kind == bindLabel && s.name == "*"+t.Break {
				return &brk{s.lab}
			}
		}
		return errorf("$*label-%s is not defined", t.Break)
	case gojq.TermTypeQuery:
		return m.query(e, t.Query, v, p, emit)
	}
	return errorf("unknown term")
}

func (m *Machine) recurse(v any, p *path, emit out) error {
	if err := emit(v, p); err != nil {
		return err
	}
	switch v.(type) {
	case *Array, *Object:
		return m.each(v, p, func(x any, xp *path) error { return m.recurse(x, xp, emit) })
	}
	return nil
}

func (m *Machine) cond(e *env, c, then *gojq.Query, elif []*gojq.IfElif, alt *gojq.Query, v any, p *path, emit out) error {
	return m.query(e, c, v, nil, func(x any, _ *path) error {
		switch {
		case truthy(x):
			return m.query(e, then, v, p, emit)
		case len(elif) > 0:
			return m.cond(e, elif[0].Cond, elif[0].Then, elif[1:], alt, v, p, emit)
		case alt != nil:
			return m.query(e, alt, v, p, emit)
		}
		return emit(v, p)
	})
}

// collect is [q].
func (m *Machine) collect(e *env, q *gojq.Query, v any) (*Array, error) {
	var list []any
	if q == nil {
		return NewArray(nil), nil
	}
	held := 0
	defer func() { m.Release(held) }()
	err := m.query(e, q, v, nil, func(x any, _ *path) error {
		n := 16 + size(x, 1024)
		held += n
		m.Hold(n)
		list = append(list, x)
		return nil
	})
	if err != nil {
		return nil, err
	}
	a := NewArray(list)
	_, err = bounded(a)
	return a, err
}

func (m *Machine) object(e *env, kvs []*gojq.ObjectKeyVal, i int, o *Object, v any, emit out) error {
	if i == len(kvs) {
		if _, err := bounded(o); err != nil {
			return err
		}
		return emit(o, nil)
	}
	kv := kvs[i]
	withKey := func(key any, _ *path) error {
		k, ok := key.(string)
		if !ok {
			return errorf("Cannot use %s as object key", describe(key))
		}
		if kv.Val == nil {
			x, err := m.at(v, k)
			if err != nil {
				return err
			}
			return m.object(e, kvs, i+1, o.Set(k, x), v, emit)
		}
		return m.query(e, kv.Val, v, nil, func(x any, _ *path) error { return m.object(e, kvs, i+1, o.Set(k, x), v, emit) })
	}
	switch {
	case kv.KeyQuery != nil:
		return m.query(e, kv.KeyQuery, v, nil, withKey)
	case kv.KeyString != nil:
		return m.str(e, kv.KeyString, "", v, withKey)
	case len(kv.Key) > 0 && kv.Key[0] == '$':
		x, err := m.variable(e, kv.Key, v)
		if err != nil {
			return err
		}
		if kv.Val != nil {
			return withKey(x, nil)
		}
		return m.object(e, kvs, i+1, o.Set(kv.Key[1:], x), v, emit)
	}
	return withKey(kv.Key, nil)
}

// str evaluates a string with interpolations; each is put through the format.
func (m *Machine) str(e *env, s *gojq.String, form string, v any, emit out) error {
	if s.Queries == nil {
		return emit(s.Str, nil)
	}
	return m.strFrom(e, s.Queries, form, v, "", emit)
}

// strFrom evaluates the parts of a string from the last, which varies slowest.
func (m *Machine) strFrom(e *env, qs []*gojq.Query, form string, v any, done string, emit out) error {
	n := len(qs) - 1
	if n < 0 {
		return emit(done, nil)
	}
	if t := qs[n].Term; t != nil && t.Type == gojq.TermTypeString && t.Str.Queries == nil && len(t.SuffixList) == 0 && len(qs[n].FuncDefs) == 0 {
		return m.strFrom(e, qs[:n], form, v, t.Str.Str+done, emit)
	}
	return m.query(e, qs[n], v, nil, func(x any, _ *path) error {
		s, err := format(form, x)
		if err != nil {
			return err
		}
		if err := m.checkSize(len(done) + len(s)); err != nil {
			return err
		}
		return m.strFrom(e, qs[:n], form, v, s+done, emit)
	})
}

// checkSize dies when a text of n bytes would not fit into the budget.
func (m *Machine) checkSize(n int) error {
	if n > 64<<10 {
		m.Tick(n >> 10)
		m.Hold(n)
		m.Release(n)
	}
	return nil
}

func (m *Machine) reduce(e *env, r *gojq.Reduce, v any, p *path, emit out) error {
	return m.query(e, r.Start, v, p, func(acc any, ap *path) error {
		held, count := 0, 0
		defer func() { m.Release(held) }()
		err := m.query(e, r.Query, v, nil, func(x any, _ *path) error {
			return m.destructure(e, r.Patterns, v, x, func(e *env) error {
				var last any
				var lp *path
				if err := m.query(e, r.Update, acc, ap, func(n any, np *path) error {
					last, lp = n, np
					return nil
				}); err != nil {
					return err
				}
				acc, ap = last, lp
				// The state is the one thing that can grow without anybody else counting it.
				if count++; count&(count-1) == 0 || count&0xfff == 0 {
					n := size(acc, 1<<30)
					m.Tick(n >> 10)
					m.Hold(n - held)
					held = n
				}
				return nil
			})
		})
		if err != nil {
			return err
		}
		return emit(acc, ap)
	})
}

func (m *Machine) foreach(e *env, f *gojq.Foreach, v any, p *path, emit out) error {
	return m.query(e, f.Start, v, p, func(acc any, ap *path) error {
		return m.query(e, f.Query, v, nil, func(x any, _ *path) error {
			return m.destructure(e, f.Patterns, v, x, func(e *env) error {
				return m.query(e, f.Update, acc, ap, func(n any, np *path) error {
					acc, ap = n, np
					if f.Extract == nil {
						return emit(n, np)
					}
					return m.query(e, f.Extract, n, np, emit)
				})
			})
		})
	})
}

// destructure binds the variables of the first pattern that fits x, all others being null.
func (m *Machine) destructure(e *env, ps []*gojq.Pattern, v, x any, body func(e *env) error) error {
	base := e
	if len(ps) > 1 {
		for _, name := range patternVars(ps, nil) {
			base = base.bind(name, nil)
		}
	}
	for i, pat := range ps {
		var inner error
		err := m.match(base, pat, v, x, func(e *env) error {
			inner = body(e)
			return inner
		})
		// A later alternative is tried when this one, or the body with it, raises an error.
		if err == nil || i == len(ps)-1 || !isValue(err) {
			return err
		}
	}
	return nil
}

func patternVars(ps []*gojq.Pattern, names []string) []string {
	for _, p := range ps {
		if p.Name != "" {
			names = append(names, p.Name)
		}
		names = patternVars(p.Array, names)
		for _, o := range p.Object {
			if len(o.Key) > 0 && o.Key[0] == '$' {
				names = append(names, o.Key)
			}
			if o.Val != nil {
				names = patternVars([]*gojq.Pattern{o.Val}, names)
			}
		}
	}
	return names
}

func (m *Machine) match(e *env, pat *gojq.Pattern, v, x any, body func(e *env) error) error {
	switch {
	case pat.Name != "":
		return body(e.bind(pat.Name, x))
	case pat.Array != nil:
		return m.matchArray(e, pat.Array, 0, v, x, body)
	}
	return m.matchObject(e, pat.Object, v, x, body)
}

func (m *Machine) matchArray(e *env, pats []*gojq.Pattern, i int, v, x any, body func(e *env) error) error {
	if i == len(pats) {
		return body(e)
	}
	if _, ok := x.(*Array); !ok && x != nil {
		return errorf("Cannot index %s with number", kindOf(x))
	}
	el, err := m.at(x, float64(i))
	if err != nil {
		return err
	}
	return m.match(e, pats[i], v, el, func(e *env) error { return m.matchArray(e, pats, i+1, v, x, body) })
}

func (m *Machine) matchObject(e *env, pats []*gojq.PatternObject, v, x any, body func(e *env) error) error {
	if len(pats) == 0 {
		return body(e)
	}
	p := pats[0]
	with := func(key any, _ *path) error {
		k, ok := key.(string)
		if !ok {
			return errorf("Cannot index %s with %s", kindOf(x), kindOf(key))
		}
		el, err := m.at(x, k)
		if err != nil {
			return err
		}
		e := e
		if len(p.Key) > 0 && p.Key[0] == '$' {
			e = e.bind(p.Key, el)
		}
		if p.Val == nil {
			return m.matchObject(e, pats[1:], v, x, body)
		}
		return m.match(e, p.Val, v, el, func(e *env) error { return m.matchObject(e, pats[1:], v, x, body) })
	}
	switch {
	case p.KeyQuery != nil:
		return m.query(e, p.KeyQuery, v, nil, with)
	case p.KeyString != nil:
		return m.str(e, p.KeyString, "", v, with)
	case p.Key[0] == '$':
		return with(p.Key[1:], nil)
	}
	return with(p.Key, nil)
}

func (m *Machine) variable(e *env, name string, _ any) (any, error) {
	for s := e; s != nil; s = s.up {
		if s.kind == bindVar && s.name == name {
			return s.val, nil
		}
	}
	switch name {
	case "$ENV":
		return m.Env, nil
	case "$__loc__":
		o := NewObject()
		o.put("file", "<top-level>")
		o.put("line", 1.0)
		return o, nil
	}
	return nil, errorf("%s is not defined", name)
}

// call evaluates a variable, a parameter, a function of the program or a built-in.
func (m *Machine) call(e *env, name string, args []*gojq.Query, v any, p *path, emit out) error {
	if name[0] == '$' {
		x, err := m.variable(e, name, v)
		if err != nil {
			return err
		}
		return emit(x, p.lost())
	}
	for s := e; s != nil; s = s.up {
		if s.kind == bindVar || s.name != name || s.args != len(args) {
			continue
		}
		switch s.kind {
		case bindClosure:
			return m.query(s.in, s.body, v, p, emit)
		case bindFunc:
			return m.apply(s, s.def.Args, s.def.Body, e, args, v, p, emit)
		}
	}
	if f, ok := natives[key{name, len(args)}]; ok {
		return f(m, e, args, v, p, emit)
	}
	if d, ok := library()[key{name, len(args)}]; ok {
		return m.apply(nil, d.Args, d.Body, e, args, v, p, emit)
	}
	return errorf("%s/%d is not defined", name, len(args))
}

// apply calls a function: parameters become closures, $parameters values too.
func (m *Machine) apply(def *env, params []string, body *gojq.Query, e *env, args []*gojq.Query, v any, p *path, emit out) error {
	var in *env
	if def != nil {
		in = def.in
	}
	return m.params(in, params, e, args, v, func(in *env) error { return m.query(in, body, v, p, emit) })
}

func (m *Machine) params(in *env, params []string, e *env, args []*gojq.Query, v any, body func(*env) error) error {
	if len(params) == 0 {
		return body(in)
	}
	name := params[0]
	if name[0] != '$' {
		c := &env{up: in, name: name, kind: bindClosure, body: args[0], in: e}
		// A parameter that is passed on would otherwise grow a chain of closures with every call.
		if t := args[0].Term; t != nil && t.Type == gojq.TermTypeFunc && len(t.Func.Args) == 0 && len(t.SuffixList) == 0 && len(args[0].FuncDefs) == 0 {
			for s := e; s != nil; s = s.up {
				if s.kind != bindVar && s.name == t.Func.Name && s.args == 0 {
					if s.kind == bindClosure {
						c.body, c.in = s.body, s.in
					}
					break
				}
			}
		}
		return m.params(c, params[1:], e, args[1:], v, body)
	}
	return m.query(e, args[0], v, nil, func(x any, _ *path) error {
		b := in.bind(name, x)
		b = &env{up: b, name: name[1:], kind: bindClosure, body: varQuery(name), in: b}
		return m.params(b, params[1:], e, args[1:], v, body)
	})
}

func varQuery(name string) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name}}}
}
