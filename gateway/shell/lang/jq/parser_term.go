package jq

import (
	"strconv"
	"strings"
)

// term parses a term with what follows it.
func (p *parser) term() *node {
	p.enter()
	defer p.leave()
	at := p.tok.at
	n := p.primary()
	n.at, n.end = at, p.prev.end
	for {
		switch {
		case p.is(tokField):
			n = &node{op: nIndex, a: n, b: constNode(p.tok.text), at: at}
			p.advance()
			n.opt = p.take("'?'")
		case p.is("'.'"):
			p.advance()
			if p.is("'['") {
				n = p.bracket(n)
				break
			}
			if !p.is(tokQuote) && !p.is(tokFormat) {
				p.fieldProblem(at)
			}
			n = &node{op: nIndex, a: n, b: p.str(""), at: at}
			n.opt = p.take("'?'")
		case p.is("'['"):
			n = p.bracket(n)
		case p.take("'?'"):
			n = &node{op: nTry, a: n, at: at}
		default:
			return n
		}
		n.at, n.end = at, p.prev.end
	}
}

// fieldProblem is about a dot that no field follows.
func (p *parser) fieldProblem(at int) {
	p.note()
	p.fail(`try .["field"] instead of .field for unusually named fields`, at, p.tok.end)
	panic(syntaxError{})
}

func constNode(v any) *node { return &node{op: nConst, v: v} }

// bracket parses an index, a slice or [] after n.
func (p *parser) bracket(n *node) *node {
	p.expect("'['")
	r := &node{op: nIndex, a: n}
	switch {
	case p.take("']'"):
		r.op = nEach
	case p.take("':'"):
		r.op, r.c = nSlice, p.query()
		p.expect("']'", "'|'", "','", "']'")
	default:
		r.b = p.query()
		if p.take("':'") {
			r.op = nSlice
			if !p.is("']'") {
				r.c = p.query()
			}
			p.expect("']'", "'|'", "','", "']'")
		} else {
			p.expect("']'", "'|'", "','", "':'", "']'")
		}
	}
	r.opt = p.take("'?'")
	return r
}

func (p *parser) primary() *node {
	t := p.tok
	switch t.kind {
	case "'.'":
		p.advance()
		switch p.tok.kind {
		case tokQuote, tokFormat:
			if p.is(tokFormat) && !strings.HasPrefix(strings.TrimLeft(p.src[p.tok.end:], " \t\n"), `"`) {
				p.fieldProblem(t.at)
			}
			n := &node{op: nIndex, a: &node{op: nIdentity}, b: p.str("")}
			n.opt = p.take("'?'")
			return n
		case "'['":
			return p.bracket(&node{op: nIdentity})
		case tokIdent, tokLiteral, "'.'":
			if p.tok.at == t.end {
				p.fieldProblem(t.at)
			}
		}
		return &node{op: nIdentity}
	case "..":
		p.advance()
		return &node{op: nRecurse}
	case tokField:
		p.advance()
		n := &node{op: nIndex, a: &node{op: nIdentity}, b: constNode(t.text)}
		n.opt = p.take("'?'")
		return n
	case tokLiteral:
		p.advance()
		f, _ := strconv.ParseFloat(t.text, 64)
		if !p.literals {
			return constNode(f)
		}
		return constNode(newNumber(t.text, f))
	case tokQuote:
		return p.str("")
	case tokFormat:
		p.advance()
		if p.is(tokQuote) {
			return p.str(t.text)
		}
		return &node{op: nFormat, s: t.text}
	case tokBinding:
		p.advance()
		return &node{op: nVar, s: "$" + t.text}
	case tokLoc:
		p.advance()
		return p.location(t)
	case tokIdent:
		return p.ident()
	case "'('":
		p.advance()
		n := p.query()
		p.expect("')'", "'|'", "','", "')'")
		return n
	case "'['":
		p.advance()
		n := &node{op: nArray}
		if !p.take("']'") {
			n.a = p.query()
			p.expect("']'", "'|'", "','", "']'")
		}
		return n
	case "'{'":
		return p.object()
	case "if":
		return p.ifThen()
	case "reduce", "foreach":
		return p.loop()
	case "break":
		p.advance()
		if !p.is(tokBinding) {
			p.note(tokBinding)
			p.fail("break requires a label to break to", t.at, t.end)
			panic(syntaxError{})
		}
		n := &node{op: nBreak, s: p.tok.text}
		p.advance()
		return n
	}
	if t.at == 0 && p.prev.kind == "" {
		p.unexpected(tokEOF)
	}
	p.unexpected()
	return nil
}

func (p *parser) location(t token) *node {
	p.meter.Tick(t.at >> 10)
	o := NewObject()
	o.put("file", p.file)
	o.put("line", float64(1+strings.Count(p.src[:t.at], "\n")))
	return &node{op: nLoc, v: o}
}

func (p *parser) ident() *node {
	t := p.tok
	p.advance()
	n := &node{op: nCall, s: t.text, at: t.at, opt: p.file == librarySource}
	if p.take("'('") {
		for {
			n.list = append(n.list, p.query())
			if p.take("')'") {
				break
			}
			p.expect("';'", "';'", "')'")
		}
		return n
	}
	switch t.text {
	case "null":
		return constNode(nil)
	case "true":
		return constNode(true)
	case "false":
		return constNode(false)
	}
	p.call(t.text)
	return n
}

// str parses a string whose quote, or format and quote, comes next.
func (p *parser) str(format string) *node {
	if p.is(tokFormat) {
		format = p.tok.text
		p.advance()
	}
	p.expect(tokQuote)
	n := &node{op: nString, s: format}
	for {
		switch p.tok.kind {
		case tokText:
			var b strings.Builder
			for p.is(tokText) {
				b.WriteString(p.tok.text)
				p.advance()
			}
			n.list = append(n.list, &node{op: nConst, v: b.String(), opt: true})
		case tokInterp:
			p.advance()
			q := p.query()
			p.expect(tokClose, tokClose, "'|'", "','")
			if q.op == nConst && q.opt {
				q = &node{op: nPipe, a: q, b: &node{op: nIdentity}}
			}
			n.list = append(n.list, q)
		case tokUnquote:
			p.advance()
			return n
		default:
			p.unexpected(tokText, tokInterp, tokUnquote)
		}
	}
}

func (p *parser) ifThen() *node {
	t := p.tok
	p.advance()
	p.enter()
	defer p.leave()
	n := &node{op: nIf, a: p.query()}
	p.expect("then", "then", "'|'", "','")
	n.b = p.branch(t.at)
	switch {
	case p.take("end"):
	case p.take("else"):
		n.c = p.query()
		p.expect("end", "end", "'|'", "','")
	case p.is("elif"):
		n.c = p.ifThen()
	default:
		p.note()
		if p.is(tokEOF) {
			p.fail("Possibly unterminated 'if' statement", t.at, p.tok.end)
		}
		panic(syntaxError{})
	}
	return n
}

// branch is a query whose end may be missing.
func (p *parser) branch(at int) *node {
	if p.is(tokEOF) {
		p.note()
		p.fail("Possibly unterminated 'if' statement", at, p.tok.end)
		panic(syntaxError{})
	}
	return p.query()
}

// loop parses reduce and foreach.
func (p *parser) loop() *node {
	n := &node{op: nReduce}
	if p.is("foreach") {
		n.op = nForeach
	}
	p.advance()
	n.a = p.expr(0)
	if !p.take("as") {
		p.unexpected()
	}
	n.pats = p.patterns()
	p.expect("'('")
	n.b = p.query()
	p.expect("';'", "'|'", "','", "';'")
	n.c = p.query()
	if n.op == nForeach && p.take("';'") {
		n.d = p.query()
	} else if n.op == nForeach && !p.is("')'") {
		p.unexpected("'|'", "','", "';'", "')'")
	}
	p.expect("')'", "'|'", "','", "')'")
	return n
}

func (p *parser) patterns() []*pattern {
	pats := []*pattern{p.pattern()}
	for p.take("?//") {
		pats = append(pats, p.pattern())
	}
	return pats
}

func (p *parser) pattern() *pattern {
	p.enter()
	defer p.leave()
	switch {
	case p.is(tokBinding):
		pat := &pattern{name: "$" + p.tok.text}
		p.advance()
		return pat
	case p.take("'['"):
		pat := &pattern{array: []*pattern{p.pattern()}}
		for p.take("','") {
			pat.array = append(pat.array, p.pattern())
		}
		p.expect("']'", "','", "']'")
		return pat
	case p.take("'{'"):
		pat := &pattern{fields: []fieldPattern{p.fieldPattern()}}
		for p.take("','") {
			pat.fields = append(pat.fields, p.fieldPattern())
		}
		p.expect("'}'", "','", "'}'")
		return pat
	}
	p.unexpected(tokBinding, "'['", "'{'")
	return nil
}

func (p *parser) fieldPattern() fieldPattern {
	t := p.tok
	var f fieldPattern
	switch {
	case t.kind == tokBinding:
		p.advance()
		f.name, f.key = "$"+t.text, constNode(t.text)
		if p.take("':'") {
			f.val = p.pattern()
		}
		return f
	case t.kind == tokIdent || keywords[t.kind]:
		p.advance()
		f.key = constNode(t.text)
	case t.kind == tokQuote || t.kind == tokFormat:
		f.key = p.str("")
	case p.take("'('"):
		f.key = p.query()
		p.checkKey(f.key)
		p.expect("')'", "'|'", "','", "')'")
	default:
		p.unexpected()
	}
	p.expect("':'")
	f.val = p.pattern()
	return f
}

// checkKey complains about constant keys that are not strings.
func (p *parser) checkKey(key *node) {
	if v, ok := constantOf(key); ok {
		if _, ok := v.(string); !ok {
			p.fail("Cannot use "+describe(v)+" as object key", key.at, max(key.end, key.at+1))
		}
	}
}

func (p *parser) object() *node {
	p.expect("'{'")
	n := &node{op: nObject}
	for !p.is("'}'") {
		k, v := p.field()
		n.list = append(n.list, k, v)
		if !p.take("','") {
			break
		}
	}
	p.expect("'}'", "'}'")
	return n
}

func (p *parser) field() (k, v *node) {
	t := p.tok
	self := &node{op: nIdentity}
	switch {
	case t.kind == tokLoc:
		p.advance()
		return constNode("__loc__"), p.location(t)
	case t.kind == tokBinding:
		p.advance()
		variable := &node{op: nVar, s: "$" + t.text, at: t.at, end: t.end}
		if p.take("':'") {
			return variable, p.fieldValue()
		}
		return constNode(t.text), variable
	case t.kind == tokIdent || keywords[t.kind]:
		p.advance()
		k = constNode(t.text)
	case t.kind == tokQuote || t.kind == tokFormat:
		if t.kind == tokFormat {
			p.advance()
			if !p.is(tokQuote) {
				p.unexpected(tokQuote)
			}
			k = p.str(t.text)
		} else {
			k = p.str("")
		}
	case p.take("'('"):
		k = p.query()
		p.checkKey(k)
		p.expect("')'", "'|'", "','", "')'")
		p.expect("':'")
		return k, p.fieldValue()
	default:
		p.note()
		for end := p.tok.end; !p.is(tokEOF) && !p.is("'}'"); end = p.prev.end {
			p.advance()
			if p.is("':'") {
				p.fail("May need parentheses around object key expression", t.at, end)
				break
			}
		}
		panic(syntaxError{})
	}
	if p.take("':'") {
		return k, p.fieldValue()
	}
	return k, &node{op: nIndex, a: self, b: k}
}

// fieldValue is what comes after the colon: expressions and pipes, but no commas.
func (p *parser) fieldValue() *node {
	at := p.tok.at
	n := p.expr(0)
	n.at = at
	var chain []*node
	for p.take("'|'") {
		chain = append(chain, &node{op: nPipe, a: n, at: at})
		n = p.expr(0)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		chain[i].b = n
		n = chain[i]
	}
	return n
}
