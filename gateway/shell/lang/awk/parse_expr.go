package awk

// noGroup refuses (a, b) where one value is needed.
func (p *parser) noGroup(e expr) {
	if g, ok := e.(*group); ok && len(g.list) != 1 {
		p.fail("syntax error")
	}
}

func (p *parser) exprList() []expr {
	list := []expr{p.expr()}
	for p.tok == tComma {
		p.next()
		p.skipNewlines()
		list = append(list, p.expr())
	}
	return list
}

func (p *parser) expr() expr {
	p.enter()
	e := p.ternary()
	p.level--
	return p.check(e)
}

func isLvalue(e expr) bool {
	switch e.(type) {
	case *varRef, *fieldRef, *indexRef:
		return true
	}
	return false
}

func (p *parser) ternary() expr {
	e := p.or()
	switch p.tok {
	case tQuestion:
		p.noGroup(e)
		p.next()
		p.skipNewlines()
		t := p.expr()
		p.skipNewlines()
		p.expect(tColon)
		p.skipNewlines()
		f := p.expr()
		return &ternary{over(e, t, f), e, t, f}
	case tAssign, tAddAssign, tSubAssign, tMulAssign, tDivAssign, tModAssign, tPowAssign:
		return p.assignTo(e)
	}
	return e
}

// assignTo parses the rest of an assignment. The left side may be the last operand of a
// binary operator (`1 + x = 2`, `a && b = c`): the grammar then assigns to that operand.
func (p *parser) assignTo(e expr) expr {
	if b, ok := e.(*binary); ok {
		r := p.assignTo(b.r)
		return &binary{over(b.l, r), b.op, b.l, r}
	}
	if c, ok := e.(*concat); ok {
		last := p.assignTo(c.parts[len(c.parts)-1])
		parts := append(c.parts[:len(c.parts)-1:len(c.parts)-1], last)
		return &concat{over(parts...), parts}
	}
	if u, ok := e.(*unary); ok {
		x := p.assignTo(u.x)
		return &unary{over(x), u.op, x}
	}
	if !isLvalue(e) {
		p.syntaxError()
	}
	op := p.tok
	p.next()
	p.skipNewlines()
	from := p.expr()
	p.noGroup(from)
	return &assign{over(e, from), op, e, from}
}

func (p *parser) or() expr  { return p.logical(tOr, p.and) }
func (p *parser) and() expr { return p.logical(tAnd, p.in) }

func (p *parser) logical(op token, operand func() expr) expr {
	e := operand()
	for p.tok == op {
		p.noGroup(e)
		p.next()
		p.skipNewlines()
		r := operand()
		e = p.check(&binary{over(e, r), op, e, r})
	}
	return e
}

func (p *parser) in() expr {
	e := p.match()
	for p.tok == tIn {
		p.next()
		if p.tok != tName {
			p.syntaxError()
		}
		name, pos := p.text, p.start
		p.next()
		subs := []expr{e}
		if g, ok := e.(*group); ok {
			subs = g.list
		}
		var arr expr
		if p.tok == tLbracket {
			arr = p.index(name, pos)
		} else {
			arr = p.array(name, pos)
		}
		e = p.compared(p.check(&inExpr{over(subs...), subs, arr}))
	}
	return e
}

// compared parses the comparison whose left side is e, a test of membership.
func (p *parser) compared(e expr) expr {
	switch p.tok {
	case tGt:
		if p.noGt {
			return e
		}
	case tLt, tLe, tGe, tEq, tNe, tTilde, tNoMatch:
	default:
		return e
	}
	op := p.tok
	p.next()
	r := p.concat()
	return p.check(&binary{over(e, r), op, e, r})
}

func (p *parser) match() expr {
	e := p.comparison()
	for p.tok == tTilde || p.tok == tNoMatch {
		op := p.tok
		p.noGroup(e)
		p.next()
		r := p.comparison()
		e = p.check(&binary{over(e, r), op, e, r})
	}
	return e
}

func (p *parser) comparison() expr {
	e := p.concat()
	compared := false
	for {
		switch p.tok {
		case tGt:
			if p.noGt {
				return e
			}
		case tLt, tLe, tGe, tEq, tNe:
		case tPipe, tPipeAmp:
			piped := p.pipeGetline(e)
			if piped == nil {
				return e
			}
			e = piped
			e = p.concatTo(p.additiveTo(e))
			continue
		default:
			return e
		}
		if compared { // they do not associate
			p.syntaxError()
		}
		compared = true
		op := p.tok
		p.noGroup(e)
		p.next()
		r := p.concat()
		e = p.check(&binary{over(e, r), op, e, r})
	}
}

// pipeGetline parses `| getline [lvalue]` after e, nil when something else follows the bar.
func (p *parser) pipeGetline(e expr) expr {
	save := p.lexer
	kind := getCmd
	if p.tok == tPipeAmp {
		kind = getCoproc
	}
	p.next()
	if p.tok != tGetline {
		p.lexer = save
		return nil
	}
	p.next()
	to := p.optLvalue()
	return p.check(&getline{over(e, to), kind, e, to})
}

// optLvalue parses the variable after getline, if there is one.
func (p *parser) optLvalue() expr {
	switch p.tok {
	case tDollar:
		return p.fieldRef()
	case tName:
		return p.nameRef()
	}
	return nil
}

// peek is the byte after the current token, 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

// startsOperand reports whether the current token continues a concatenation.
func (p *parser) startsOperand() bool {
	switch p.tok {
	case tNumber, tString, tName, tFuncName, tBuiltin, tDollar, tNot, tLparen, tMinus, tPlus, tIncr, tDecr, tAt:
		return true
	}
	return false
}

func (p *parser) concat() expr { return p.concatTo(p.additive()) }

// concatTo parses the rest of a concatenation that begins with e.
func (p *parser) concatTo(e expr) expr {
	var parts []expr
	for p.startsOperand() {
		p.noGroup(e)
		if parts == nil {
			parts = []expr{e}
		}
		parts = append(parts, p.additive())
	}
	if parts == nil {
		return e
	}
	return p.check(&concat{over(parts...), parts})
}

func (p *parser) additive() expr { return p.additiveTo(p.multiplicative()) }

// additiveTo parses the rest of a sum that begins with e.
func (p *parser) additiveTo(e expr) expr {
	for p.tok == tPlus || p.tok == tMinus {
		op := p.tok
		p.noGroup(e)
		p.next()
		r := p.multiplicative()
		e = p.check(&binary{over(e, r), op, e, r})
	}
	return e
}

func (p *parser) multiplicative() expr {
	e := p.unary()
	for p.tok == tStar || p.tok == tSlash || p.tok == tPercent {
		op := p.tok
		p.noGroup(e)
		p.next()
		r := p.unary()
		if k, ok := r.(*numLit); ok && k.v == 0 && op != tStar {
			p.fail("error: division by zero attempted%s", map[token]string{tPercent: " in `%'"}[op])
		}
		e = p.check(&binary{over(e, r), op, e, r})
	}
	return e
}

func (p *parser) unary() expr {
	switch p.tok {
	case tNot, tMinus, tPlus:
		p.enter()
		defer func() { p.level-- }()
		op := p.tok
		p.next()
		x := p.unary()
		p.noGroup(x)
		return p.check(&unary{over(x), op, x})
	}
	return p.power()
}

func (p *parser) power() expr {
	e := p.postfix()
	if p.tok != tCaret {
		return e
	}
	p.enter()
	defer func() { p.level-- }()
	p.next()
	var r expr
	switch p.tok {
	case tMinus, tPlus, tNot:
		op := p.tok
		p.next()
		x := p.powerOperand()
		r = &unary{over(x), op, x}
	default:
		r = p.power()
	}
	return p.check(&binary{over(e, r), tCaret, e, r})
}

// powerOperand is what a sign after ^ applies to: 2^-3^2 is 2^(-(3^2)).
func (p *parser) powerOperand() expr {
	if p.tok == tMinus || p.tok == tPlus || p.tok == tNot {
		p.enter()
		defer func() { p.level-- }()
		op := p.tok
		p.next()
		x := p.powerOperand()
		return p.check(&unary{over(x), op, x})
	}
	return p.power()
}

func (p *parser) postfix() expr {
	e := p.incremented(p.primary())
	if i, ok := e.(*incdec); ok && (p.tok == tIncr || p.tok == tDecr) && !i.prefix {
		if _, field := i.to.(*fieldRef); field {
			p.fail("cannot assign a value to the result of a field post-increment expression")
		}
	}
	return e
}

// incremented parses the ++ or -- that may follow e.
func (p *parser) incremented(e expr) expr {
	if (p.tok == tIncr || p.tok == tDecr) && isLvalue(e) {
		delta := 1.0
		if p.tok == tDecr {
			delta = -1
		}
		p.next()
		return &incdec{over(e), e, delta, false}
	}
	return e
}

func (p *parser) fieldRef() expr {
	p.enter()
	defer func() { p.level-- }()
	p.next() // $
	var idx expr
	switch p.tok {
	case tIncr, tDecr:
		idx = p.preIncr()
	case tDollar: // $$a++ is $($a++)
		idx = p.incremented(p.fieldRef())
	case tMinus, tPlus, tNot:
		op := p.tok
		p.next()
		x := p.fieldOperand()
		idx = &unary{over(x), op, x}
	default:
		idx = p.primary()
	}
	p.noGroup(idx)
	return p.check(&fieldRef{over(idx), idx})
}

func (p *parser) fieldOperand() expr {
	if p.tok == tMinus || p.tok == tPlus || p.tok == tNot {
		p.enter()
		defer func() { p.level-- }()
		op := p.tok
		p.next()
		x := p.fieldOperand()
		return p.check(&unary{over(x), op, x})
	}
	return p.power()
}

func (p *parser) preIncr() expr {
	delta := 1.0
	if p.tok == tDecr {
		delta = -1
	}
	p.next()
	var e expr
	switch p.tok {
	case tDollar:
		e = p.fieldRef()
	case tName:
		e = p.nameRef()
	case tLparen: // ++(x): accepted by every awk
		e = p.primary()
		if g, ok := e.(*group); ok && len(g.list) == 1 {
			e = g.list[0]
		}
	}
	if e == nil || !isLvalue(e) {
		p.syntaxError()
	}
	return p.check(&incdec{over(e), e, delta, true})
}

func (p *parser) primary() expr {
	switch p.tok {
	case tNumber:
		e := &numLit{node{1}, p.num}
		p.next()
		return e
	case tString:
		e := &strLit{node: node{1}, s: p.text}
		p.next()
		return e
	case tSlash, tDivAssign:
		p.regex()
		e := p.regexLit()
		p.next()
		return e
	case tDollar:
		return p.fieldRef()
	case tIncr, tDecr:
		return p.preIncr()
	case tNot, tMinus, tPlus:
		return p.unary()
	case tLparen:
		return p.paren()
	case tName:
		return p.nameRef()
	case tFuncName:
		return p.call()
	case tBuiltin:
		switch f := p.funcs[p.qualify(p.text)]; {
		case p.isParam(p.text):
			return p.nameRef()
		case p.ns != "" && f != nil && f.defined && p.peek() == '(':
			return p.call()
		case p.ns != "" && p.peek() != '(':
			return p.nameRef()
		}
		return p.builtin()
	case tGetline:
		p.next()
		g := &getline{kind: getMain}
		g.to = p.optLvalue()
		if p.tok == tLt {
			p.next()
			g.kind = getFile
			g.src = p.postfixOperand()
		}
		g.node = over(g.to, g.src)
		return p.check(g)
	case tAt:
		p.next()
		switch p.tok {
		case tSlash, tDivAssign: // @/re/, a strongly typed regexp
			p.regex()
			e := &strLit{node{1}, p.regexLit().src, true}
			p.next()
			return e
		case tFuncName:
			c := &call{pos: p.start, dyn: p.scalar(p.text, p.start)}
			p.next()
			c.args = p.args()
			c.node = over(c.args...)
			p.calls = append(p.calls, c)
			return p.check(c)
		}
	}
	p.syntaxError()
	return nil
}

// postfixOperand is the file of `getline <`: no concatenation, no operators.
func (p *parser) postfixOperand() expr {
	p.enter()
	defer func() { p.level-- }()
	e := p.postfix()
	p.noGroup(e)
	return e
}

func (p *parser) paren() expr {
	p.enter()
	defer func() { p.level-- }()
	noGt := p.noGt
	p.noGt = false
	p.next()
	list := []expr{p.expr()}
	p.skipNewlines()
	for p.tok == tComma {
		p.next()
		p.skipNewlines()
		list = append(list, p.expr())
		p.skipNewlines()
	}
	p.noGt = noGt
	p.expect(tRparen)
	if len(list) > 1 {
		for _, e := range list {
			p.noGroup(e)
		}
		if p.tok != tIn && !p.noGt {
			p.syntaxError()
		}
	} else {
		p.noGroup(list[0])
	}
	return &group{over(list...), list}
}

func (p *parser) args() []expr {
	noGt := p.noGt
	p.noGt = false
	p.expect(tLparen)
	p.skipNewlines()
	var args []expr
	for p.tok != tRparen {
		e := p.expr()
		p.noGroup(e)
		args = append(args, e)
		p.skipNewlines()
		if p.tok == tComma {
			p.next()
			p.skipNewlines()
			if p.tok == tRparen {
				p.syntaxError()
			}
		} else if p.tok != tRparen {
			p.syntaxError()
		}
	}
	p.noGt = noGt
	p.next()
	return args
}

func (p *parser) call() expr {
	c := &call{name: p.text, pos: p.start}
	p.next()
	c.args = p.args()
	c.node = over(c.args...)
	c.param = p.isParam(c.name)
	c.name = p.qualify(c.name)
	c.fn = p.funcNamed(c.name)
	p.calls = append(p.calls, c)
	return p.check(c)
}
