package jq

import (
	"fmt"
	"strings"
)

// Program is a compiled query.
type Program struct {
	main *fn
}

// A CompileError is why a program cannot run.
type CompileError struct{ Problems []string }

func (e *CompileError) Error() string { return strings.Join(e.Problems, "\n") }

func failCompile(problem string) error { return &CompileError{[]string{problem}} }

// topLevelSource is the source that is not a module, in messages.
const topLevelSource = "<top-level>"

// Compile compiles src. names and vals are the global variables, with their $; modules, which may be nil, is where
// imports are found. With literals, the numbers in src keep the texts they are written with, see [Literal]. What the
// meter holds is held by the program.
func Compile(src string, names []string, vals []any, modules *Modules, literals bool, meter Meter) (*Program, error) {
	if modules != nil {
		modules.meter = meter
	}
	s, err := parse(src, topLevelSource, literals, meter)
	if err != nil {
		return nil, err
	}
	var sc *scope
	for i, n := range names {
		sc = &scope{up: sc, name: n, kind: bindConst, val: vals[i]}
	}
	if sc, err = modules.startup(sc); err != nil {
		return nil, err
	}
	dir := ""
	if modules != nil {
		dir = modules.Dir
	}
	if sc, err = modules.load(sc, s, dir); err != nil {
		return nil, err
	}
	c := &compiler{src: s, meter: meter, lib: builtins()}
	body := s.body
	if body == nil {
		return nil, failCompile(`Top-level program not given (try ".")`)
	}
	f := c.context(nil, &fn{name: "main", nregs: 1})
	if err := c.program(f, sc, s.defs, body); err != nil {
		return nil, err
	}
	return &Program{f.fn}, nil
}

func (c *compiler) program(f *fctx, sc *scope, defs []*funcDef, body *node) (err error) {
	defer c.guard(&err)
	for _, def := range defs {
		sc = c.define(f, sc, def)
	}
	c.tail(f, sc, body, 0, true)
	if len(c.problems) > 0 {
		return &CompileError{c.problems}
	}
	return nil
}

// define compiles a function and returns the scope that knows it.
func (c *compiler) define(f *fctx, sc *scope, def *funcDef) *scope {
	in := c.context(f, &fn{name: def.name, nregs: 1})
	sc = &scope{up: sc, name: def.name, kind: bindFunc, args: len(def.params), ctx: f, fn: in.fn, problems: new([]string)}
	before := c.problems
	c.problems = nil
	c.function(in, sc, def)
	*sc.problems, c.problems = c.problems, before
	return sc
}

// function compiles the body of def into in.
func (c *compiler) function(in *fctx, sc *scope, def *funcDef) {
	var prologue []string
	for _, name := range def.params {
		plain, value := strings.CutPrefix(name, "$")
		if value && !def.called[plain] {
			r := in.reg()
			in.fn.params = append(in.fn.params, param{name: name, value: true, reg: r})
			sc = &scope{up: sc, name: name, kind: bindVar, ctx: in, reg: r}
			// An inner function may still call it by its plain name only where called says so.
			continue
		}
		in.fn.params = append(in.fn.params, param{name: plain})
		sc = &scope{up: sc, name: plain, kind: bindParam, ctx: in, reg: int32(in.fn.nclos)}
		in.fn.nclos++
		if value {
			prologue = append(prologue, plain)
		}
	}
	for _, name := range prologue {
		r := c.gen(in, sc, &node{op: nCall, s: name}, 0, false)
		sc = &scope{up: sc, name: "$" + name, kind: bindVar, ctx: in, reg: r}
	}
	c.tail(in, sc, def.body, 0, true)
}

// tail compiles a node whose results are those of the function.
func (c *compiler) tail(f *fctx, sc *scope, n *node, in int32, main bool) {
	if c.depth++; c.depth > 4*maxNested {
		c.tooDeep()
	}
	defer func() { c.depth-- }()
	for {
		switch n.op {
		case nPipe:
			in = c.gen(f, sc, n.a, in, main)
			n = n.b
			continue
		case nDef:
			sc = c.define(f, sc, n.def)
			n = n.b
			continue
		case nAs:
			sc = c.bind(f, sc, n, in)
			n = n.b
			continue
		case nLabel:
			sc = c.label(f, sc, n)
			n = n.b
			continue
		case nComma:
			for _, x := range n.list[:len(n.list)-1] {
				fork := f.emit(instr{op: opFork})
				c.tail(f, sc, x, in, main)
				f.land(fork)
			}
			n = n.list[len(n.list)-1]
			continue
		case nIf:
			cond := c.gen(f, sc, n.a, in, false)
			jump := f.emit(instr{op: opJumpFalse, b: cond})
			c.tail(f, sc, n.b, in, main)
			f.land(jump)
			if n = n.c; n == nil {
				n = &node{op: nIdentity}
			}
			continue
		}
		from := f.here()
		r := c.gen(f, sc, n, in, main)
		if k := len(f.fn.code) - 1; k >= int(from) && r == f.fn.code[k].a &&
			(f.fn.code[k].op == opCall || f.fn.code[k].op == opParam) &&
			n.op == nCall {
			f.fn.code[k].tail = true
		}
		f.emit(instr{op: opReturn, b: r})
		return
	}
}

func (c *compiler) tooDeep() {
	c.problems = []string{"program nested too deeply"}
	panic(syntaxError{})
}

// gen compiles a node that gets its input from register in, and returns the register of its results. main says that the
// input is the value that the current path leads to.
func (c *compiler) gen(f *fctx, sc *scope, n *node, in int32, main bool) int32 {
	if c.depth++; c.depth > 4*maxNested {
		c.tooDeep()
	}
	defer func() { c.depth-- }()
	for {
		switch n.op {
		case nPipe:
			in = c.gen(f, sc, n.a, in, main)
		case nDef:
			sc = c.define(f, sc, n.def)
		case nAs:
			sc = c.bind(f, sc, n, in)
		case nLabel:
			sc = c.label(f, sc, n)
		default:
			return c.single(f, sc, n, in, main)
		}
		n = n.b
	}
}

func (c *compiler) single(f *fctx, sc *scope, n *node, in int32, main bool) int32 {
	switch n.op {
	case nIdentity:
		return in
	case nConst, nLoc:
		return f.constant(n.v)
	case nVar:
		return c.variable(f, sc, n)
	case nCall:
		return c.call(f, sc, n, in, main)
	case nRecurse:
		r := f.reg()
		f.emit(instr{op: opRecurse, a: r, b: in, main: main})
		return r
	case nIndex, nSlice, nEach:
		return c.access(f, sc, n, in, main)
	case nString, nFormat:
		return c.text(f, sc, n, in)
	case nArray:
		return c.array(f, sc, n, in)
	case nObject:
		return c.object(f, sc, n, in)
	case nNegate:
		if v, ok := constantOf(n); ok {
			return f.constant(v)
		}
		x, r := c.gen(f, sc, n.a, in, main), f.reg()
		f.emit(instr{op: opNegate, a: r, b: x})
		return r
	case nBinary:
		return c.binary(f, sc, n, in)
	case nBreak:
		return c.breakTo(f, sc, n)
	case nAssign:
		return c.assign(f, sc, n, in, main)
	}
	return c.branching(f, sc, n, in, main)
}

// branching compiles what has several ways to one result.
func (c *compiler) branching(f *fctx, sc *scope, n *node, in int32, main bool) int32 {
	d := f.reg()
	move := func(r int32) { f.emit(instr{op: opMove, a: d, b: r}) }
	switch n.op {
	case nComma:
		var ends []int
		for i, x := range n.list {
			fork := -1
			if i < len(n.list)-1 {
				fork = f.emit(instr{op: opFork})
			}
			move(c.gen(f, sc, x, in, main))
			if fork >= 0 {
				ends = append(ends, f.emit(instr{op: opJump}))
				f.land(fork)
			}
		}
		for _, e := range ends {
			f.land(e)
		}
	case nIf:
		var ends []int
		for n != nil && n.op == nIf {
			cond := c.gen(f, sc, n.a, in, false)
			jump := f.emit(instr{op: opJumpFalse, b: cond})
			move(c.gen(f, sc, n.b, in, main))
			ends = append(ends, f.emit(instr{op: opJump}))
			f.land(jump)
			n = n.c
		}
		if n == nil {
			move(in)
		} else {
			move(c.gen(f, sc, n, in, main))
		}
		for _, e := range ends {
			f.land(e)
		}
	case nAnd, nOr:
		jump := opJumpFalse
		if n.op == nOr {
			jump = opJumpTrue
		}
		first := f.emit(instr{op: jump, b: c.gen(f, sc, n.a, in, false)})
		r := c.gen(f, sc, n.b, in, false)
		second := f.emit(instr{op: jump, b: r})
		move(f.constant(n.op == nAnd))
		end := f.emit(instr{op: opJump})
		f.land(first)
		f.land(second)
		move(f.constant(n.op == nOr))
		f.land(end)
	case nAlternative:
		found := f.reg()
		f.emit(instr{op: opMove, a: found, b: f.constant(false)})
		fork := f.emit(instr{op: opFork})
		r := c.gen(f, sc, n.a, in, main)
		not := f.emit(instr{op: opJumpFalse, b: r})
		f.emit(instr{op: opMove, a: found, b: f.constant(true)})
		move(r)
		end := f.emit(instr{op: opJump})
		f.land(fork)
		other := f.emit(instr{op: opJumpFalse, b: found})
		f.land(not)
		f.emit(instr{op: opBacktrack})
		f.land(other)
		move(c.gen(f, sc, n.b, in, main))
		f.land(end)
	case nTry:
		raised, place := f.reg(), f.reg()
		try := f.emit(instr{op: opTry, a: raised, d: place})
		move(c.gen(f, sc, n.a, in, main))
		f.emit(instr{op: opTryEnd, b: place})
		end := f.emit(instr{op: opJump})
		f.land(try)
		if n.c == nil {
			f.emit(instr{op: opBacktrack})
		} else {
			move(c.gen(f, sc, n.c, raised, main))
		}
		f.land(end)
	case nReduce, nForeach:
		c.loop(f, sc, n, in, main, move)
	}
	return d
}

// loop compiles reduce and foreach.
func (c *compiler) loop(f *fctx, sc *scope, n *node, in int32, main bool, result func(int32)) {
	state := f.reg()
	f.emit(instr{op: opMove, a: state, b: c.gen(f, sc, n.b, in, main)})
	fork := -1
	if n.op == nReduce {
		fork = f.emit(instr{op: opFork})
	}
	r := c.gen(f, sc, n.a, in, main)
	sc = c.destructure(f, sc, n.pats, in, r)
	now := f.reg()
	f.emit(instr{op: opTake, a: now, b: state})
	r = c.gen(f, sc, n.c, now, main)
	f.emit(instr{op: opMove, a: state, b: r})
	if n.op == nReduce {
		f.emit(instr{op: opBacktrack})
		f.land(fork)
		f.emit(instr{op: opMove, a: now, b: f.constant(nil)})
		result(state)
		return
	}
	if n.d != nil {
		r = c.gen(f, sc, n.d, r, main)
	}
	result(r)
}

func (c *compiler) label(f *fctx, sc *scope, n *node) *scope {
	r := f.reg()
	f.emit(instr{op: opLabel, a: r})
	return &scope{up: sc, name: "*" + n.s, kind: bindLabel, ctx: f, reg: r}
}

func (c *compiler) breakTo(f *fctx, sc *scope, n *node) int32 {
	name := "*" + n.s
	if s := c.find(sc, func(s *scope) bool { return s.kind == bindLabel && s.name == name }); s != nil {
		f.emit(instr{op: opBreak, b: s.reg, c: levels(f, s.ctx)})
		return f.constant(nil)
	}
	c.problem("$*label-"+n.s+" is not defined", n.at, n.end)
	return 0
}

func (c *compiler) variable(f *fctx, sc *scope, n *node) int32 {
	s := c.find(sc, func(s *scope) bool { return s.name == n.s && (s.kind == bindConst || s.kind == bindVar) })
	switch {
	case s == nil:
	case s.kind == bindConst:
		return f.constant(s.val)
	case s.ctx == f:
		return s.reg
	default:
		r := f.reg()
		f.emit(instr{op: opOuter, a: r, b: s.reg, c: levels(f, s.ctx)})
		return r
	}
	if n.s == "$ENV" {
		r := f.reg()
		f.emit(instr{op: opEnv, a: r})
		return r
	}
	c.problem(n.s+" is not defined", n.at, n.end)
	return 0
}

// bind compiles the binding of variables and returns the scope of its body.
func (c *compiler) bind(f *fctx, sc *scope, n *node, in int32) *scope {
	r := c.gen(f, sc, n.a, in, false)
	return c.destructure(f, sc, n.pats, in, r)
}

// destructure binds the variables of the first pattern that fits register r, and of those of the others null.
func (c *compiler) destructure(f *fctx, sc *scope, pats []*pattern, in, r int32) *scope {
	if len(pats) == 1 && pats[0].name != "" {
		return &scope{up: sc, name: pats[0].name, kind: bindVar, ctx: f, reg: r}
	}
	regs := map[string]int32{}
	body := sc
	for _, p := range pats {
		p.each(func(name string) {
			if _, ok := regs[name]; !ok {
				regs[name] = f.reg()
				body = &scope{up: body, name: name, kind: bindVar, ctx: f, reg: regs[name]}
			}
		})
	}
	null := f.constant(nil)
	var ends []int
	for i, p := range pats {
		fork := -1
		if i < len(pats)-1 {
			fork = f.emit(instr{op: opForkNext})
		}
		if len(pats) > 1 {
			for _, reg := range regs {
				f.emit(instr{op: opMove, a: reg, b: null})
			}
		}
		c.match(f, body, p, in, r, regs)
		if fork >= 0 {
			ends = append(ends, f.emit(instr{op: opJump}))
			f.land(fork)
		}
	}
	for _, e := range ends {
		f.land(e)
	}
	return body
}

func (p *pattern) each(visit func(name string)) {
	if p.name != "" {
		visit(p.name)
	}
	for _, x := range p.array {
		x.each(visit)
	}
	for _, x := range p.fields {
		if x.name != "" {
			visit(x.name)
		}
		if x.val != nil {
			x.val.each(visit)
		}
	}
}

func (c *compiler) match(f *fctx, sc *scope, p *pattern, in, r int32, regs map[string]int32) {
	if p.name != "" {
		f.emit(instr{op: opMove, a: regs[p.name], b: r})
		return
	}
	for i, x := range p.array {
		e := f.reg()
		f.emit(instr{op: opIndex, a: e, b: r, c: f.constant(float64(i))})
		c.match(f, sc, x, in, e, regs)
	}
	for _, x := range p.fields {
		k := c.gen(f, sc, x.key, in, false)
		e := f.reg()
		f.emit(instr{op: opIndex, a: e, b: r, c: k})
		if x.name != "" {
			f.emit(instr{op: opMove, a: regs[x.name], b: e})
		}
		if x.val != nil {
			c.match(f, sc, x.val, in, e, regs)
		}
	}
}

// access compiles indexes, slices and iterations. The key is evaluated first.
func (c *compiler) access(f *fctx, sc *scope, n *node, in int32, main bool) int32 {
	var chain []*node
	for ; n.op == nIndex || n.op == nSlice || n.op == nEach; n = n.a {
		chain = append(chain, n)
	}
	keys := make([][2]int32, len(chain))
	for i, x := range chain {
		bound := func(q *node) int32 {
			if q == nil {
				return f.constant(nil)
			}
			return c.gen(f, sc, q, in, false)
		}
		switch x.op {
		case nIndex:
			keys[i][0] = bound(x.b)
		case nSlice:
			keys[i] = [2]int32{bound(x.b), bound(x.c)}
		}
	}
	r := c.gen(f, sc, n, in, main)
	for i := len(chain) - 1; i >= 0; i-- {
		x := chain[i]
		k := instr{a: f.reg(), b: r, c: keys[i][0], d: keys[i][1], main: main}
		switch x.op {
		case nIndex:
			k.op = opIndex
		case nSlice:
			k.op = opSlice
		default:
			k.op = opEach
		}
		if x.opt {
			k.op++
		}
		f.emit(k)
		r = k.a
	}
	return r
}

// text compiles a string or a format. The last part varies slowest.
func (c *compiler) text(f *fctx, sc *scope, n *node, in int32) int32 {
	form := strings.TrimPrefix(n.s, "@")
	if n.op == nFormat {
		r := f.reg()
		f.emit(instr{op: opNative, a: r, b: in, nat: natives[key{"format", 1}], regs: []int32{f.constant(form)}})
		return r
	}
	if v, ok := constantOf(n); ok {
		return f.constant(v)
	}
	regs := make([]int32, len(n.list))
	plain := make([]bool, len(n.list))
	for i := len(n.list) - 1; i >= 0; i-- {
		plain[i] = n.list[i].op == nConst && n.list[i].opt
		regs[i] = c.gen(f, sc, n.list[i], in, false)
	}
	r := f.reg()
	f.emit(instr{op: opString, a: r, regs: regs, x: stringSpec{form, plain}})
	return r
}

type stringSpec struct {
	format string
	plain  []bool // parts that are text
}

func (c *compiler) array(f *fctx, sc *scope, n *node, in int32) int32 {
	if v, ok := constantOf(n); ok {
		return f.constant(v)
	}
	list, r := f.reg(), f.reg()
	f.emit(instr{op: opCollect, a: list})
	fork := f.emit(instr{op: opFork})
	x := c.gen(f, sc, n.a, in, false)
	f.emit(instr{op: opAppend, a: list, b: x})
	f.emit(instr{op: opBacktrack})
	f.land(fork)
	f.emit(instr{op: opArray, a: r, b: list})
	return r
}

// object compiles a construction. With constant keys, new objects share their names.
func (c *compiler) object(f *fctx, sc *scope, n *node, in int32) int32 {
	if v, ok := constantOf(n); ok {
		return f.constant(v)
	}
	regs := make([]int32, len(n.list))
	shape := NewObject()
	for i := 0; i < len(n.list); i += 2 {
		if k, ok := constantOf(n.list[i]); ok && shape != nil {
			name, ok := k.(string)
			if _, twice := shape.Get(name); ok && !twice {
				shape.put(name, nil)
			} else {
				shape = nil
			}
		} else {
			shape = nil
		}
		regs[i] = c.gen(f, sc, n.list[i], in, false)
		regs[i+1] = c.gen(f, sc, n.list[i+1], in, false)
	}
	r := f.reg()
	k := instr{op: opObject, a: r, regs: regs}
	if shape != nil {
		k.x = shape
	}
	f.emit(k)
	return r
}

// binary compiles operators; the right operand varies slowest.
func (c *compiler) binary(f *fctx, sc *scope, n *node, in int32) int32 {
	var chain []*node
	for ; n.op == nBinary; n = n.a {
		chain = append(chain, n)
	}
	regs := make([]int32, len(chain))
	for i, x := range chain {
		regs[i] = c.gen(f, sc, x.b, in, false)
	}
	l := c.gen(f, sc, n, in, false)
	for i := len(chain) - 1; i >= 0; i-- {
		r := f.reg()
		f.emit(instr{op: opBinary, a: r, b: l, c: regs[i], d: int32(arithmetic[chain[i].s])})
		l = r
	}
	return l
}

// assign compiles assignments: calls of library functions.
func (c *compiler) assign(f *fctx, sc *scope, n *node, in int32, main bool) int32 {
	self := &node{op: nIdentity}
	switch n.s {
	case "=":
		return c.call(f, nil, &node{op: nCall, s: "_assign", opt: true, list: []*node{n.a, n.b}}, in, main, sc)
	case "|=":
		return c.call(f, nil, &node{op: nCall, s: "_modify", opt: true, list: []*node{n.a, n.b}}, in, main, sc)
	}
	v := c.gen(f, sc, n.b, in, false)
	name := fmt.Sprintf("$ %d", v)
	in2 := &scope{up: sc, name: name, kind: bindVar, ctx: f, reg: v}
	if v < 0 {
		in2 = &scope{up: sc, name: name, kind: bindConst, val: f.fn.consts[^v]}
	}
	operand := &node{op: nVar, s: name}
	update := &node{op: nBinary, s: n.s[:len(n.s)-1], a: self, b: operand}
	if n.s == "//=" {
		update = &node{op: nAlternative, a: self, b: operand}
	}
	return c.call(f, nil, &node{op: nCall, s: "_modify", opt: true, list: []*node{n.a, update}}, in, main, in2)
}
