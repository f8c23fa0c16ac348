package awk

import "strings"

// newRef makes a reference; its scope is settled by resolve.
func (p *parser) newRef(name string, pos int) *varRef {
	v := &varRef{node: node{1}, name: name, pos: pos, fn: p.fn}
	if p.fn != nil {
		for i, param := range p.fn.params {
			if param == name {
				v.scope, v.slot = scopeLocal, i
				p.refs = append(p.refs, v)
				return v
			}
		}
	}
	v.fn = nil
	name = p.qualify(name)
	v.name = name
	if n, ok := specials[name]; ok {
		v.scope, v.slot = scopeSpecial, n
		return v
	}
	s := p.globals[name]
	if s == nil {
		s = &symbol{name: name, pos: pos}
		p.globals[name] = s
		p.names = append(p.names, name)
	}
	v.scope = scopeGlobal
	p.refs = append(p.refs, v)
	return v
}

func (p *parser) scalar(name string, pos int) *varRef {
	v := p.newRef(name, pos)
	p.mark(v, false)
	return v
}

func (p *parser) array(name string, pos int) *varRef {
	v := p.newRef(name, pos)
	p.mark(v, true)
	return v
}

// mark records how a variable is used.
func (p *parser) mark(v *varRef, array bool) (changed bool) {
	conflict := false
	switch v.scope {
	case scopeSpecial:
		conflict = array
	case scopeLocal:
		if v.fn.used[v.slot] {
			conflict = v.fn.isArray[v.slot] != array
		} else {
			v.fn.used[v.slot], v.fn.isArray[v.slot] = true, array
			changed = true
		}
	case scopeGlobal:
		s := p.globals[v.name]
		changed = array && !s.array || !array && !s.scalar
		if array {
			s.array = true
		} else {
			s.scalar = true
		}
		conflict = s.array && s.scalar
	}
	if conflict {
		if array {
			panic(p.errorAt(v.pos, "fatal: attempt to use scalar `%s' as an array", v.name))
		}
		panic(p.errorAt(v.pos, "fatal: attempt to use array `%s' in a scalar context", v.name))
	}
	return changed
}

func (p *parser) index(name string, pos int) *indexRef {
	ix := &indexRef{arr: p.array(name, pos)}
	for {
		noGt := p.noGt
		p.noGt = false
		if p.posix && ix.base != nil {
			p.fail("fatal: multidimensional arrays are a gawk extension")
		}
		p.expect(tLbracket)
		ix.subs = p.exprList()
		p.noGt = noGt
		p.expect(tRbracket)
		for _, e := range ix.subs {
			p.noGroup(e)
		}
		ix.node = over(append(ix.subs, ix.base0())...)
		p.check(ix)
		if p.tok != tLbracket {
			return ix
		}
		ix = &indexRef{base: ix}
	}
}

// base0 is the array expression below ix, for measuring its height.
func (ix *indexRef) base0() expr {
	if ix.base != nil {
		return ix.base
	}
	return ix.arr
}

// nameRef parses a variable or an element; a bare name's kind stays open when it is an argument.
func (p *parser) nameRef() expr {
	name, pos := p.text, p.start
	p.next()
	if p.tok == tLbracket {
		return p.index(name, pos)
	}
	if f := p.funcs[p.qualify(name)]; f != nil && f.defined && !p.isParam(name) {
		panic(p.errorAt(pos,
			"error: function `%s' called with space between name and `(',\nor used as a variable or an array", name))
	}
	return p.newRef(name, pos)
}

func (p *parser) isParam(name string) bool {
	if p.fn == nil {
		return false
	}
	for _, param := range p.fn.params {
		if param == name {
			return true
		}
	}
	return false
}

func (p *parser) builtin() expr {
	c := &builtinCall{fn: p.bi, pos: p.start}
	info := builtinTable[c.fn]
	p.next()
	end := c.pos
	if p.tok == tLparen {
		c.args = p.args()
		end = p.previous
	} else if c.fn != fLength {
		p.syntaxError()
	}
	if n := len(c.args); n < info.min || n > info.max {
		panic(p.errorAt(end, "%d is invalid as number of arguments for %s", n, info.name))
	}
	for i, a := range c.args {
		if strings.IndexByte(info.arrays, byte('0'+i)) < 0 {
			continue
		}
		switch a := a.(type) {
		case *varRef:
			p.mark(a, true)
		case *indexRef:
		default:
			panic(p.errorAt(c.pos, "fatal: %s: argument %d is not an array", info.name, i+1))
		}
	}
	if (c.fn == fSub || c.fn == fGsub) && len(c.args) == 3 && !isLvalue(c.args[2]) {
		// The result is lost, as in every awk; the count is not.
		c.args[2] = &group{over(c.args[2]), []expr{c.args[2]}}
	}
	c.node = over(c.args...)
	return p.check(c)
}

// resolve settles the kind of every variable and checks the calls.
func (p *parser) resolve() {
	for _, c := range p.calls {
		if c.param && (p.posix || !c.fn.defined) {
			panic(&SyntaxError{Source: p.lexer.name, Line: p.line, Msg: "error: attempt to use non-function `" + c.name +
				"' in function call"})
		}
		for i, a := range c.args {
			if g, ok := a.(*group); ok && len(g.list) == 1 {
				if v, ok := g.list[0].(*varRef); ok {
					a = v
				}
			}
			if v, ok := a.(*varRef); ok && v.scope != scopeSpecial && c.fn != nil && i < len(c.fn.params) {
				p.edges = append(p.edges, edge{v, c.fn, i})
			}
		}
	}
	p.propagate()
	for name, s := range p.globals {
		if f := p.funcs[name]; f != nil && f.defined {
			panic(p.errorAt(s.pos, "function `%s' used as a variable", name))
		}
	}
}

// place is a variable or parameter as the key of a map.
type place struct {
	fn   *function // nil: the global called name
	name string
	slot int
}

func placeOf(v *varRef) place {
	if v.scope == scopeLocal {
		return place{fn: v.fn, slot: v.slot}
	}
	return place{name: v.name}
}

// propagate carries "is an array" along the calls, in both directions, each edge at most twice.
func (p *parser) propagate() {
	near := map[place][]int{}
	var work []int
	for i, e := range p.edges {
		from, to := placeOf(e.v), place{fn: e.fn, slot: e.i}
		near[from] = append(near[from], i)
		near[to] = append(near[to], i)
		work = append(work, i)
	}
	for len(work) > 0 {
		e := p.edges[work[len(work)-1]]
		work = work[:len(work)-1]
		switch {
		case p.isArrayRef(e.v):
			if !e.fn.used[e.i] {
				e.fn.used[e.i], e.fn.isArray[e.i] = true, true
				work = append(work, near[place{fn: e.fn, slot: e.i}]...)
			}
		case e.fn.isArray[e.i]:
			if p.mark(e.v, true) {
				work = append(work, near[placeOf(e.v)]...)
			}
		}
	}
}

func (p *parser) isArrayRef(v *varRef) bool {
	if v.scope == scopeLocal {
		return v.fn.isArray[v.slot]
	}
	return v.scope == scopeGlobal && p.globals[v.name].array
}
