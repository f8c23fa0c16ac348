package jq

import (
	"fmt"
	"math"
)

var nan = math.NaN()

// An Error is a value raised by a program.
type Error struct{ Value any }

func (e *Error) Error() string {
	if s, ok := e.Value.(string); ok {
		return s
	}
	return "(not a string): " + string(Style{limit: maxErrorText}.Append(nil, e.Value))
}

// maxErrorText is about how much of an error's value is told.
const maxErrorText = 1 << 16

func errorf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Halt ends the program.
type Halt struct {
	Status int
	Value  any
	Print  bool
}

func (h *Halt) Error() string { return "halt" }

// Machine runs one program.
type Machine struct {
	Tick    func(int)
	Hold    func(int)
	Release func(int)
	// Room, when not nil, is how many more bytes may be held.
	Room func() int
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
	// Literals makes numbers that are read from texts keep them, see [Literal].
	Literals bool

	forks []fork
	fr    *frame
	path  *path // the current one, nil when nobody asks
	at    any   // the value that path leads to
	free  *frame
	roots []any
	text  []byte // the latest result of concatText

	held, fresh, due int // bytes: counted, of them since the last measurement, when to measure again
	pending          int // not yet counted
	steps, labels    int
	regexes          map[string]*regexProgram
}

// path is a list of keys from the last one back.
type path struct {
	up  *path
	key any
	n   int
}

var root = &path{}

func (p *path) step(key any) *path { return &path{p, key, p.n + 1} }

func (p *path) list() *Array {
	e := make([]any, p.n)
	for q := p; q.n > 0; q = q.up {
		e[q.n-1] = q.key
	}
	return NewArray(e)
}

// pathState is what opPath saves.
type pathState struct {
	path *path
	at   any
}

// frame is a call of a function.
type frame struct {
	fn         *fn
	r          []any
	cl         []closure
	up, caller *frame
	ret, dst   int32
	base       int // forks when it was made
	track      bool
	epoch      uint32
	buf        [12]any
}

// closure is an argument with the frame that it belongs to.
type closure struct {
	fn *fn
	up *frame
}

type forkKind uint8

const (
	forkPlain forkKind = iota
	forkNext
	forkTry
	forkTryEnd
	forkLabel
	forkEach
	forkRange
	forkRecurse
)

// fork is where backtracking goes on.
type fork struct {
	kind forkKind
	pc   int32
	i    int
	fr   *frame
	path *path
	at   any
	x    any
}

// list is an array that is being collected.
type list struct {
	e     []any
	epoch uint32
}

type numbers struct{ next, to, by float64 }

const (
	measureMin = 8 << 20
	chunk      = 64 << 10
)

// alloc counts n bytes that are about to be made.
func (m *Machine) alloc(n int) {
	if m.pending += n; m.pending >= chunk {
		m.charge()
	}
}

// Adopt makes n bytes that have been held for a value, the input, the machine's to release.
func (m *Machine) Adopt(n int) {
	m.held += n
	m.fresh += n
}

func (m *Machine) charge() {
	n := m.pending
	m.pending = 0
	m.Tick(n >> 12)
	m.Hold(n)
	m.held += n
	m.fresh += n
}

// settle finds out how much of what was counted is still in use.
func (m *Machine) settle() {
	s := newMeasure(m.Tick)
	for _, v := range m.roots {
		s.value(v)
	}
	s.value(m.at)
	if m.Env != nil {
		s.value(m.Env)
	}
	s.frame(m.fr)
	s.path(m.path)
	for i := range m.forks {
		f := &m.forks[i]
		s.frame(f.fr)
		s.held(f.x)
		s.value(f.at)
		s.path(f.path)
	}
	s.bytes += cap(m.forks) * 96
	if s.bytes > m.held {
		m.Hold(s.bytes - m.held)
	} else {
		m.Release(m.held - s.bytes)
	}
	m.held, m.fresh = s.bytes, 0
	m.due = max(measureMin, s.bytes)
	if m.Room != nil {
		m.due = max(1<<20, min(m.due, m.Room()/2))
	}
}

// paths are counted only as far as a measurement of their length: they share their beginnings.
func (s *measure) path(p *path) {
	if p != nil {
		s.bytes += 16 * p.n
		if p.n > 0 {
			s.value(p.key)
		}
	}
}

// held counts what only the machine has.
func (s *measure) held(v any) {
	switch v := v.(type) {
	case *list:
		if v.epoch != s.epoch {
			v.epoch = s.epoch
			s.bytes += 48 + 16*cap(v.e)
			for _, x := range v.e {
				s.value(x)
			}
		}
	case *walker:
		for _, l := range v.levels {
			s.bytes += 48
			s.value(l.v)
		}
	case *pathState:
		s.path(v.path)
		s.value(v.at)
	default:
		s.value(v)
	}
}

func (s *measure) frame(f *frame) {
	s.frames = append(s.frames, f)
	for len(s.frames) > 0 {
		f := s.frames[len(s.frames)-1]
		s.frames = s.frames[:len(s.frames)-1]
		if f == nil || f.epoch == s.epoch {
			continue
		}
		f.epoch = s.epoch
		s.bytes += frameSize(f.fn)
		for _, v := range f.r {
			if v != nil {
				s.held(v)
			}
		}
		s.frames = append(s.frames, f.up, f.caller)
		for _, c := range f.cl {
			s.frames = append(s.frames, c.up)
		}
	}
}

func frameSize(f *fn) int { return 320 + 16*max(0, f.nregs-12) + 16*f.nclos }

func (m *Machine) newFrame(f *fn) *frame {
	fr := m.free
	if fr != nil && f.nregs <= cap(fr.r) {
		m.free = fr.up
		fr.up = nil
		fr.r = fr.r[:f.nregs]
		fr.cl = fr.cl[:0]
	} else {
		m.alloc(frameSize(f))
		fr = &frame{}
		if f.nregs <= len(fr.buf) {
			fr.r = fr.buf[:f.nregs]
		} else {
			fr.r = make([]any, f.nregs)
		}
	}
	if f.nregs > 1<<10 {
		m.Tick(f.nregs >> 8)
	}
	fr.fn, fr.base = f, len(m.forks)
	return fr
}

// drop keeps fr for the next call.
func (m *Machine) drop(fr *frame) {
	clear(fr.r)
	clear(fr.cl)
	fr.fn, fr.caller = nil, nil
	fr.up = m.free
	m.free = fr
}

// Eval runs the program on v and calls emit for each of its results.
func (m *Machine) Eval(p *Program, v any, emit func(any) error) error {
	if m.due == 0 {
		m.due = measureMin
	}
	m.forks, m.path, m.at, m.free, m.labels = m.forks[:0], nil, nil, nil, 0
	m.roots = append(m.roots[:0], v)
	m.fr = m.newFrame(p.main)
	m.fr.r[0] = v
	defer func() {
		m.roots, m.fr, m.free, m.text = m.roots[:0], nil, nil, nil
		clear(m.forks[:cap(m.forks)])
		m.forks = m.forks[:0]
		m.Release(m.held)
		m.held, m.fresh, m.due = 0, 0, measureMin
	}()
	return m.run(emit)
}

func (m *Machine) fork(kind forkKind, pc int32, x any, i int) {
	if len(m.forks) == cap(m.forks) {
		m.alloc(96 * (cap(m.forks) + 64))
	}
	m.forks = append(m.forks, fork{kind, pc, i, m.fr, m.path, m.at, x})
}

// outer is the frame n levels out.
func (fr *frame) outer(n int32) *frame {
	for ; n > 0; n-- {
		fr = fr.up
	}
	return fr
}

func (fr *frame) get(i int32) any {
	if i < 0 {
		return fr.fn.consts[^i]
	}
	return fr.r[i]
}

// enter calls what an instruction at pc says and returns the frame of the call.
func (m *Machine) enter(in *instr, pc int32) {
	fr := m.fr
	c := in.call
	var f *fn
	var up *frame
	if in.op == opParam {
		cl := fr.outer(c.levels).cl[c.index]
		f, up = cl.fn, cl.up
	} else {
		f = c.fn
		if c.levels >= 0 {
			up = fr.outer(c.levels)
		}
	}
	to := m.newFrame(f)
	to.up = up
	to.track = in.x != nil || fr.track && in.main
	to.r[0] = fr.get(in.b)
	vi, ci := 0, 0
	if in.op == opCall {
		for _, p := range f.params {
			if p.value {
				to.r[p.reg] = fr.get(c.vals[vi])
				vi++
				continue
			}
			a := c.args[ci]
			ci++
			if a.fn != nil {
				to.cl = append(to.cl, closure{a.fn, fr})
			} else {
				to.cl = append(to.cl, fr.outer(a.levels).cl[a.index])
			}
		}
	}
	if !in.tail {
		to.caller, to.ret, to.dst = fr, pc, in.a
		m.fr = to
		return
	}
	to.caller, to.ret, to.dst = fr.caller, fr.ret, fr.dst
	m.fr = to
	if len(m.forks) == fr.base && up != fr && !c.own {
		m.drop(fr)
	}
}
