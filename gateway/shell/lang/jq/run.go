package jq

import "errors"

// run executes until there is nothing left to backtrack to.
func (m *Machine) run(emit func(any) error) error {
	pc := int32(0)
	var err error
	for {
		if m.steps++; m.steps >= 64 {
			m.steps = 0
			m.Tick(64)
			if m.fresh >= m.due {
				m.settle()
			}
		}
		fr := m.fr
		in := &fr.fn.code[pc]
		pc++
		err = nil
		switch in.op {
		case opMove:
			fr.r[in.a] = fr.get(in.b)
		case opTake:
			fr.r[in.a] = fr.r[in.b]
			fr.r[in.b] = nil
		case opOuter:
			fr.r[in.a] = fr.outer(in.c).get(in.b)
		case opIndex, opIndexOpt:
			err = m.index(fr, in, fr.get(in.c))
			if err != nil && in.op == opIndexOpt {
				err = m.backtrack(&pc)
			}
		case opSlice, opSliceOpt:
			o := NewObject()
			o.put("start", fr.get(in.c))
			o.put("end", fr.get(in.d))
			err = m.index(fr, in, o)
			if err != nil && in.op == opSliceOpt {
				err = m.backtrack(&pc)
			}
		case opJump:
			pc = in.c
		case opJumpFalse:
			if v := fr.get(in.b); v == nil || v == false {
				pc = in.c
			}
		case opJumpTrue:
			if v := fr.get(in.b); v != nil && v != false {
				pc = in.c
			}
		case opFork:
			m.fork(forkPlain, in.c, nil, 0)
		case opForkNext:
			m.fork(forkNext, in.c, nil, 0)
		case opTry:
			m.fork(forkTry, in.c, nil, int(in.a))
			fr.r[in.d] = len(m.forks) - 1
		case opTryEnd:
			m.endTry(fr.r[in.b].(int))
		case opBacktrack:
			err = m.backtrack(&pc)
		case opLabel:
			m.fork(forkLabel, 0, nil, m.labels)
			fr.r[in.a] = &mark{len(m.forks) - 1, m.labels}
			m.labels++
		case opBreak:
			err = m.leave(fr.outer(in.c).r[in.b].(*mark), &pc)
		case opCall, opParam:
			m.enter(in, pc)
			pc = 0
		case opReturn:
			v := fr.get(in.b)
			if fr.caller == nil {
				if err := emit(v); err != nil {
					return err
				}
				err = m.backtrack(&pc)
				break
			}
			pc = fr.ret
			m.fr = fr.caller
			m.fr.r[fr.dst] = v
			if len(m.forks) == fr.base {
				m.drop(fr)
			}
		case opBinary:
			fr.r[in.a], err = m.binary(arith(in.d), fr.get(in.b), fr.get(in.c))
		case opAppend:
			m.append(fr.r[in.a].(*list), fr.get(in.b))
		case opError:
			err = &Error{fr.get(in.b)}
		default:
			err = m.rare(fr, in, &pc)
		}
		if err != nil {
			if pc, err = m.raise(err); errors.Is(err, errDone) {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
}

// rare executes the instructions that are longer.
func (m *Machine) rare(fr *frame, in *instr, pc *int32) (err error) {
	switch in.op {
	case opNative:
		var buf [4]any
		args := buf[:0]
		for _, r := range in.regs {
			args = append(args, fr.get(r))
		}
		fr.r[in.a], err = in.nat(m, fr.get(in.b), args)
	case opNot:
		fr.r[in.a] = !truthy(fr.get(in.b))
	case opNegate:
		v := fr.get(in.b)
		if _, ok := number(v); !ok {
			return errorf("%s cannot be negated", describe(v))
		}
		fr.r[in.a] = negate(v)
	case opCollect:
		m.alloc(64)
		fr.r[in.a] = &list{}
	case opArray:
		l := fr.r[in.b].(*list)
		fr.r[in.b] = nil
		fr.r[in.a], err = bounded(NewArray(l.e))
	case opObject:
		err = m.object(fr, in)
	case opString:
		err = m.interpolate(fr, in)
	case opEach, opEachOpt:
		err = m.each(fr, in, pc)
		var raised *Error
		if in.op == opEachOpt && errors.As(err, &raised) {
			err = m.backtrack(pc)
		}
	case opRecurse:
		v := fr.get(in.b)
		if in.main && fr.track && !identical(v, m.at) {
			return errorf("Invalid path expression near attempt to iterate through %s", brief(v))
		}
		fr.r[in.a] = v
		if depthOf(v) > 0 {
			m.alloc(160)
			m.fork(forkRecurse, *pc, &walker{levels: []level{{v: v}}}, 0)
		}
	case opRange:
		err = m.numbers(fr, in, pc)
	case opPath:
		m.alloc(64)
		fr.r[in.a] = &pathState{m.path, m.at}
		m.path, m.at = root, fr.get(in.b)
	case opPathEnd:
		v := fr.get(in.b)
		if !identical(v, m.at) {
			return errorf("Invalid path expression with result %s", brief(v))
		}
		m.alloc(48 + 16*m.path.n)
		m.Tick(m.path.n >> 4)
		p := m.path.list()
		s := fr.r[in.c].(*pathState)
		m.path, m.at = s.path, s.at
		fr.r[in.a] = p
	case opGetPath:
		err = m.opGetPath(fr, in)
	case opEnv:
		fr.r[in.a] = m.Env
	}
	return err
}

type doneError struct{}

func (doneError) Error() string { return "done" }

// errDone says that there is nothing left to backtrack to.
var errDone error = doneError{}

// backtrack continues at the last fork.
func (m *Machine) backtrack(pc *int32) error {
	for {
		n := len(m.forks) - 1
		if n < 0 {
			return errDone
		}
		f := &m.forks[n]
		m.fr, m.path, m.at = f.fr, f.path, f.at
		*pc = f.pc
		switch f.kind {
		case forkPlain:
			f.fr, f.x, f.at, f.path = nil, nil, nil, nil
			m.forks = m.forks[:n]
			return nil
		case forkEach:
			if m.nextElement(f, n) {
				return nil
			}
		case forkRange:
			x := f.x.(*numbers)
			v := x.next
			x.next += x.by
			m.fr.r[f.i] = v
			if !(x.by > 0 && x.next < x.to || x.by < 0 && x.next > x.to) {
				m.forks = m.forks[:n]
			}
			m.alloc(8)
			return nil
		case forkRecurse:
			if m.nextInside(f, n) {
				return nil
			}
		default:
			m.forks = m.forks[:n]
		}
	}
}

// raise continues where the error is dealt with.
func (m *Machine) raise(err error) (int32, error) {
	var raised *Error
	if !errors.As(err, &raised) {
		return 0, err
	}
	for n := len(m.forks) - 1; n >= 0; n-- {
		f := m.forks[n]
		switch f.kind {
		case forkTry:
			m.forks = m.forks[:n]
			m.fr, m.path, m.at = f.fr, f.path, f.at
			f.fr.r[f.i] = raised.Value
			return f.pc, nil
		case forkTryEnd:
			n = f.i // neither that try nor anything inside it is concerned
		case forkLabel:
			if raised.Value != nil && labelOf(raised.Value) == float64(f.i) {
				m.forks = m.forks[:n]
				var pc int32
				err := m.backtrack(&pc)
				return pc, err
			}
		case forkNext:
			m.forks = m.forks[:n]
			m.fr, m.path, m.at = f.fr, f.path, f.at
			return f.pc, nil
		}
	}
	m.forks = m.forks[:0]
	return 0, err
}

// mark is a label: its fork and its number.
type mark struct{ fork, label int }

// labelOf is the number of the label that the error v leaves, -1 when it is another.
func labelOf(v any) float64 {
	if o, ok := v.(*Object); ok && o.n == 1 {
		if x, _ := o.Get(labelKey); x != nil {
			if f, ok := number(x); ok {
				return f
			}
		}
	}
	return -1
}

const labelKey = "__jq"

// leave breaks to a label. A try in between gets an error.
func (m *Machine) leave(to *mark, pc *int32) error {
	for i := len(m.forks) - 1; i > to.fork; i-- {
		switch f := &m.forks[i]; f.kind {
		case forkTryEnd:
			i = f.i
		case forkTry, forkNext:
			o := NewObject()
			o.put(labelKey, float64(to.label))
			return &Error{o}
		}
	}
	m.forks = m.forks[:to.fork]
	return m.backtrack(pc)
}

// endTry ends the body of the try at fork i: errors of what comes after it are not its own.
func (m *Machine) endTry(i int) {
	if i == len(m.forks)-1 {
		m.forks = m.forks[:i]
		return
	}
	m.fork(forkTryEnd, 0, nil, i)
}

func (m *Machine) append(l *list, v any) {
	if len(l.e) == cap(l.e) {
		m.alloc(16*max(4, cap(l.e)) + 16)
	}
	l.e = append(l.e, v)
}

// index is b[key], with the path when it is asked for.
func (m *Machine) index(fr *frame, in *instr, key any) error {
	v := fr.get(in.b)
	track := in.main && fr.track
	if track && !identical(v, m.at) {
		return errorf("Invalid path expression near attempt to access element %s of %s", brief(key), brief(v))
	}
	x, err := m.get(v, key)
	if err != nil {
		return err
	}
	fr.r[in.a] = x
	if track {
		m.alloc(40)
		m.path, m.at = m.path.step(key), x
	}
	return nil
}

func (m *Machine) opGetPath(fr *frame, in *instr) error {
	v := fr.get(in.b)
	keys, ok := fr.get(in.c).(*Array)
	if !ok {
		return errorf("Path must be specified as an array")
	}
	x, err := m.getPath(v, keys.Values())
	if err != nil {
		return err
	}
	fr.r[in.a] = x
	if in.main && fr.track {
		if !identical(v, m.at) {
			return errorf("Invalid path expression with result %s", brief(v))
		}
		for _, k := range keys.Values() {
			m.alloc(40)
			m.path = m.path.step(k)
		}
		m.at = x
	}
	return nil
}

// each begins the iteration over b.
func (m *Machine) each(fr *frame, in *instr, pc *int32) error {
	v := fr.get(in.b)
	if in.main && fr.track && !identical(v, m.at) {
		return errorf("Invalid path expression near attempt to iterate through %s", brief(v))
	}
	n := 0
	switch x := v.(type) {
	case *Array:
		n = x.n
	case *Object:
		n = x.n
	default:
		return errorf("Cannot iterate over %s", describe(v))
	}
	if n == 0 {
		return m.backtrack(pc)
	}
	m.fork(forkEach, *pc, v, 0)
	f := &m.forks[len(m.forks)-1]
	m.nextElement(f, len(m.forks)-1)
	return nil
}

// nextElement puts the next element of fork n where the instruction before its place wants it.
func (m *Machine) nextElement(f *fork, n int) bool {
	in := &f.fr.fn.code[f.pc-1]
	i := f.i
	f.i++
	var v, k any
	last := false
	track := in.main && f.fr.track
	switch x := f.x.(type) {
	case *Array:
		v, last = x.Values()[i], i == x.n-1
		if track {
			k = float64(i)
		}
	case *Object:
		t := x.fields()
		v, last = t.vals[i], i == x.n-1
		if track {
			k = t.keys[i]
		}
	}
	if track {
		m.alloc(64)
		m.path, m.at = f.path.step(k), v
	}
	f.fr.r[in.a] = v
	if last {
		f.x, f.fr = nil, nil
		m.forks = m.forks[:n]
	}
	return true
}

// walker goes through everything in a value, depth first.
type walker struct{ levels []level }

type level struct {
	v any
	i int
	p *path
}

// nextInside is nextElement of opRecurse.
func (m *Machine) nextInside(f *fork, n int) bool {
	in := &f.fr.fn.code[f.pc-1]
	w := f.x.(*walker)
	track := in.main && f.fr.track
	for len(w.levels) > 0 {
		l := &w.levels[len(w.levels)-1]
		if l.p == nil {
			l.p = f.path
		}
		var v, k any
		switch x := l.v.(type) {
		case *Array:
			if l.i < x.n {
				v, k = x.Values()[l.i], nil
				if track {
					k = float64(l.i)
				}
				break
			}
			w.levels = w.levels[:len(w.levels)-1]
			continue
		case *Object:
			if l.i < x.n {
				t := x.fields()
				v, k = t.vals[l.i], t.keys[l.i]
				break
			}
			w.levels = w.levels[:len(w.levels)-1]
			continue
		}
		l.i++
		p := l.p
		if track {
			m.alloc(64)
			p = l.p.step(k)
			m.path, m.at = p, v
		}
		if depthOf(v) > 0 {
			m.alloc(48)
			w.levels = append(w.levels, level{v: v, p: p})
		}
		f.fr.r[in.a] = v
		return true
	}
	m.forks = m.forks[:n]
	return false
}

// numbers begins a range.
func (m *Machine) numbers(fr *frame, in *instr, pc *int32) error {
	from, ok := number(fr.get(in.b))
	to, ok2 := number(fr.get(in.c))
	by, ok3 := number(fr.get(in.d))
	if !ok || !ok2 || !ok3 {
		return errorf("Range bounds must be numeric")
	}
	if !(by > 0 && from < to || by < 0 && from > to) {
		return m.backtrack(pc)
	}
	fr.r[in.a] = from
	if next := from + by; by > 0 && next < to || by < 0 && next > to {
		m.alloc(128)
		m.fork(forkRange, *pc, &numbers{next, to, by}, int(in.a))
	}
	return nil
}

// object makes an object of keys and values in turn.
func (m *Machine) object(fr *frame, in *instr) error {
	n := len(in.regs) / 2
	m.alloc(200 + 32*n)
	if shape, ok := in.x.(*Object); ok {
		t := &table{keys: shape.t.keys[:n:n], idx: shape.t.idx, vals: make([]any, n)}
		depth := int32(0)
		for i := range n {
			v := fr.get(in.regs[2*i+1])
			t.vals[i] = v
			depth = max(depth, depthOf(v))
		}
		var err error
		fr.r[in.a], err = bounded(&Object{t: t, n: n, depth: depth + 1})
		return err
	}
	o := NewObject()
	for i := range n {
		k := fr.get(in.regs[2*i])
		s, ok := k.(string)
		if !ok {
			return errorf("Cannot use %s as object key", describe(k))
		}
		o.put(s, fr.get(in.regs[2*i+1]))
	}
	var err error
	fr.r[in.a], err = bounded(o)
	return err
}

// interpolate makes a string of its parts.
func (m *Machine) interpolate(fr *frame, in *instr) error {
	spec := in.x.(stringSpec)
	parts := make([]string, len(in.regs))
	size := 0
	for i := len(parts) - 1; i >= 0; i-- {
		v := fr.get(in.regs[i])
		s, ok := v.(string)
		if !spec.plain[i] && (!ok || spec.format != "") {
			var err error
			if s, err = m.format(spec.format, v); err != nil {
				return err
			}
		}
		parts[i] = s
		size += len(s)
	}
	if err := m.room(size); err != nil {
		return err
	}
	b := make([]byte, 0, size)
	for _, s := range parts {
		b = append(b, s...)
	}
	fr.r[in.a] = string(b)
	return nil
}
