package jq

import (
	"fmt"
	"strings"
)

// call compiles a call. argScope, when given, is where the arguments are looked up instead.
func (c *compiler) call(f *fctx, sc *scope, n *node, in int32, main bool, argScope ...*scope) int32 {
	args := sc
	if len(argScope) > 0 {
		args = argScope[0]
	}
	s := c.find(sc, func(s *scope) bool {
		return s.name == n.s && s.args == len(n.list) && (s.kind == bindFunc || s.kind == bindParam || s.kind == bindInline)
	})
	if s != nil {
		switch s.kind {
		case bindFunc:
			c.problems = append(c.problems, *s.problems...)
			*s.problems = nil
			spec := &callSpec{fn: s.fn, levels: -1}
			if s.ctx != nil {
				spec.levels = levels(f, s.ctx)
			}
			return c.callFn(f, args, n, in, main, spec, s.fn.params)
		case bindParam:
			r := f.reg()
			f.emit(instr{op: opParam, a: r, b: in, main: main, call: &callSpec{levels: levels(f, s.ctx), index: s.reg}})
			return r
		case bindInline:
			return c.gen(f, s.in, s.node, in, main)
		}
	}
	k := key{n.s, len(n.list)}
	if r, ok := c.special(f, args, n, in, main, k); ok {
		return r
	}
	if nat, ok := natives[k]; ok {
		regs := make([]int32, len(n.list))
		for i := len(regs) - 1; i >= 0; i-- {
			regs[i] = c.gen(f, args, n.list[i], in, false)
		}
		r := f.reg()
		f.emit(instr{op: opNative, a: r, b: in, nat: nat, regs: regs, main: main})
		return r
	}
	if d, ok := c.lib.defs[k]; ok {
		if d.inline && (c.src.file != librarySource || d.order < c.limit) {
			return c.inline(f, args, n, d.def, in, main)
		}
		return c.callFn(f, args, n, in, main, &callSpec{fn: d.fn, levels: -1}, d.fn.params)
	}
	c.problem(fmt.Sprintf("%s/%d is not defined", n.s, len(n.list)), n.at, n.at+len(n.s))
	return 0
}

// inline compiles the body of a library function in place.
func (c *compiler) inline(f *fctx, args *scope, n *node, def *funcDef, in int32, main bool) int32 {
	var sc *scope
	for i, name := range def.params {
		if name[0] == '$' {
			r := c.gen(f, args, n.list[i], in, false)
			if r < 0 {
				sc = &scope{up: sc, name: name, kind: bindConst, val: f.fn.consts[^r]}
			} else {
				sc = &scope{up: sc, name: name, kind: bindVar, ctx: f, reg: r}
			}
			continue
		}
		sc = &scope{up: sc, name: name, kind: bindInline, node: n.list[i], in: args, ctx: f}
	}
	return c.gen(f, sc, def.body, in, main)
}

// callFn compiles the arguments and the call.
func (c *compiler) callFn(f *fctx, args *scope, n *node, in int32, main bool, spec *callSpec, params []param) int32 {
	for i, p := range params {
		if p.value {
			spec.vals = append(spec.vals, c.gen(f, args, n.list[i], in, false))
			continue
		}
		a := c.closure(f, args, n.list[i])
		spec.own = spec.own || a.fn != nil
		spec.args = append(spec.args, a)
	}
	r := f.reg()
	f.emit(instr{op: opCall, a: r, b: in, main: main, call: spec})
	return r
}

// closure compiles an argument. A parameter that is passed on is not wrapped: a chain of closures would grow with
// every call.
func (c *compiler) closure(f *fctx, sc *scope, n *node) closureSpec {
	for n.op == nCall && len(n.list) == 0 {
		s := c.find(sc, func(s *scope) bool {
			return s.name == n.s && s.args == 0 && s.kind != bindVar && s.kind != bindConst && s.kind != bindLabel
		})
		if s == nil {
			break
		}
		if s.kind == bindInline {
			n, sc = s.node, s.in
			continue
		}
		if s.kind == bindParam {
			return closureSpec{levels: levels(f, s.ctx), index: s.reg}
		}
		break
	}
	in := c.context(f, &fn{nregs: 1})
	c.tail(in, sc, n, 0, true)
	return closureSpec{fn: in.fn}
}

// special compiles the functions that are instructions.
func (c *compiler) special(f *fctx, args *scope, n *node, in int32, main bool, k key) (int32, bool) {
	switch k {
	case key{"empty", 0}:
		f.emit(instr{op: opBacktrack})
		return f.constant(nil), true
	case key{"error", 0}:
		f.emit(instr{op: opError, b: in})
		return f.constant(nil), true
	case key{"error", 1}:
		f.emit(instr{op: opError, b: c.gen(f, args, n.list[0], in, false)})
		return f.constant(nil), true
	case key{"not", 0}:
		r := f.reg()
		f.emit(instr{op: opNot, a: r, b: in})
		return r, true
	case key{"recurse", 0}:
		return c.single(f, args, &node{op: nRecurse}, in, main), true
	case key{"path", 1}:
		state, r := f.reg(), f.reg()
		a := c.closure(f, args, n.list[0])
		f.emit(instr{op: opPath, a: state, b: in})
		d := f.reg()
		call := &callSpec{fn: pathFn, levels: -1, args: []closureSpec{a}, own: true}
		f.emit(instr{op: opCall, a: d, b: in, x: true, call: call})
		f.emit(instr{op: opPathEnd, a: r, b: d, c: state})
		return r, true
	case key{"getpath", 1}:
		p := c.gen(f, args, n.list[0], in, false)
		r := f.reg()
		f.emit(instr{op: opGetPath, a: r, b: in, c: p, main: main})
		return r, true
	case key{"range", 1}, key{"range", 2}, key{"range", 3}:
		regs := []int32{f.constant(0.0), 0, f.constant(1.0)}
		for i, a := range n.list {
			if len(n.list) == 1 {
				i = 1
			}
			regs[i] = c.gen(f, args, a, in, false)
		}
		r := f.reg()
		f.emit(instr{op: opRange, a: r, b: regs[0], c: regs[1], d: regs[2], x: len(n.list) == 3})
		return r, true
	}
	if strings.HasPrefix(k.name, "_") && !n.opt {
		c.problem(fmt.Sprintf("%s/%d is not defined", n.s, len(n.list)), n.at, n.at+len(n.s))
		return 0, true
	}
	return 0, false
}

// pathFn calls its argument in a frame that tracks paths.
var pathFn = &fn{name: "path", nregs: 2, nclos: 1, params: []param{{name: "f"}}, code: []instr{
	{op: opParam, a: 1, main: true, tail: true, call: &callSpec{}},
	{op: opReturn, b: 1},
}}
