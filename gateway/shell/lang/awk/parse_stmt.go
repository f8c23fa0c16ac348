package awk

// block parses { statements }.
func (p *parser) block() []stmt {
	p.enter()
	defer func() { p.level-- }()
	p.expect(tLbrace)
	var out []stmt
	p.skipTerminators()
	for p.tok != tRbrace {
		if p.tok == tEOF {
			p.syntaxError()
		}
		out = append(out, p.stmt())
		p.skipTerminators()
	}
	p.next()
	return out
}

// body parses the statement a control structure governs.
func (p *parser) body() []stmt {
	p.skipNewlines()
	if p.tok == tSemi {
		p.next()
		return nil
	}
	if p.tok == tLbrace {
		b := p.block()
		return b
	}
	return []stmt{p.stmt()}
}

func (p *parser) loopBody() []stmt {
	p.inLoop++
	defer func() { p.inLoop-- }()
	return p.body()
}

// endSimple accepts the end of a simple statement.
func (p *parser) endSimple() {
	switch p.tok {
	case tSemi, tNewline:
		p.next()
	case tRbrace, tEOF:
	default:
		p.syntaxError()
	}
}

func (p *parser) stmt() stmt {
	at := p.here()
	s := p.statement()
	switch s.(type) {
	case *blockStmt:
	default:
		p.placed(s, at)
	}
	return s
}

func (p *parser) statement() stmt {
	p.enter()
	defer func() { p.level-- }()
	switch p.tok {
	case tLbrace:
		return &blockStmt{p.block()}
	case tIf:
		return p.ifStmt()
	case tWhile:
		p.next()
		p.expect(tLparen)
		c := p.expr()
		p.expect(tRparen)
		if p.tok == tSemi {
			p.next()
			return &whileStmt{cond: c}
		}
		return &whileStmt{cond: c, body: p.loopBody()}
	case tDo:
		p.next()
		b := p.loopBody()
		p.skipTerminators()
		p.expect(tWhile)
		p.expect(tLparen)
		c := p.expr()
		p.expect(tRparen)
		p.endSimple()
		return &doStmt{body: b, cond: c}
	case tFor:
		return p.forStmt()
	case tSwitch:
		return p.switchStmt()
	case tSemi:
		p.next()
		return &blockStmt{}
	}
	s := p.simple()
	p.endSimple()
	return s
}

func (p *parser) ifStmt() stmt {
	p.next()
	p.expect(tLparen)
	s := &ifStmt{cond: p.expr()}
	p.expect(tRparen)
	s.then = p.body()
	// An else may follow after terminators; put them back when it does not.
	save := p.lexer
	p.skipTerminators()
	if p.tok != tElse {
		p.lexer = save
		return s
	}
	p.next()
	s.hasElse = true
	s.alt = p.body()
	return s
}

func (p *parser) forStmt() stmt {
	p.next()
	p.expect(tLparen)
	if p.tok == tName {
		save := p.lexer
		name, pos := p.text, p.start
		p.next()
		if p.tok == tIn {
			p.next()
			if p.tok == tName {
				arr, apos := p.text, p.start
				p.next()
				var ref expr
				switch p.tok {
				case tRparen:
					ref = p.array(arr, apos)
				case tLbracket:
					ref = p.index(arr, apos)
				}
				if ref != nil && p.tok == tRparen {
					p.next()
					v := p.scalar(name, pos)
					return &forInStmt{v: v, arr: ref, body: p.loopBody()}
				}
			}
		}
		p.lexer = save
	}
	s := &forStmt{}
	if p.tok != tSemi {
		s.init = p.simple()
	}
	p.expect(tSemi)
	p.skipNewlines()
	if p.tok != tSemi {
		s.cond = p.expr()
	}
	p.expect(tSemi)
	p.skipNewlines()
	if p.tok != tRparen {
		s.post = p.simple()
	}
	p.expect(tRparen)
	if p.tok == tSemi {
		p.next()
		return s
	}
	s.body = p.loopBody()
	return s
}

func (p *parser) switchStmt() stmt {
	p.next()
	p.expect(tLparen)
	s := &switchStmt{x: p.expr()}
	p.expect(tRparen)
	p.skipNewlines()
	p.expect(tLbrace)
	p.skipTerminators()
	p.inSwtch++
	defer func() { p.inSwtch-- }()
	for p.tok != tRbrace {
		var c switchCase
		switch p.tok {
		case tCase:
			p.next()
			switch p.tok {
			case tSlash, tDivAssign, tAt:
				if p.tok == tAt {
					p.next()
				}
				if p.tok != tSlash && p.tok != tDivAssign {
					p.syntaxError()
				}
				p.regex()
				c.x = p.regexLit()
				p.next()
			case tString:
				c.x = &strLit{node: node{1}, s: p.text}
				p.next()
			case tMinus, tPlus:
				neg := p.tok == tMinus
				p.next()
				if p.tok != tNumber {
					p.syntaxError()
				}
				v := p.num
				if neg {
					v = -v
				}
				c.x = &numLit{node{1}, v}
				p.next()
			case tNumber:
				c.x = &numLit{node{1}, p.num}
				p.next()
			default:
				p.syntaxError()
			}
		case tDefault:
			c.isDefault = true
			p.next()
		default:
			p.syntaxError()
		}
		p.expect(tColon)
		p.skipTerminators()
		for p.tok != tCase && p.tok != tDefault && p.tok != tRbrace {
			if p.tok == tEOF {
				p.syntaxError()
			}
			c.body = append(c.body, p.stmt())
			p.skipTerminators()
		}
		s.cases = append(s.cases, c)
	}
	p.next()
	return s
}

// misplaced fails with a message that gawk gives twice.
func (p *parser) misplaced(msg string) {
	err := p.errorAt(p.start, "%s", msg)
	err.Again = true
	panic(err)
}

func (p *parser) simple() stmt {
	switch p.tok {
	case tPrint, tPrintf:
		return p.printStmt()
	case tBreak:
		if p.inLoop == 0 && p.inSwtch == 0 {
			p.misplaced("error: `break' is not allowed outside a loop or switch")
		}
		p.next()
		return &breakStmt{}
	case tContinue:
		if p.inLoop == 0 {
			p.misplaced("error: `continue' is not allowed outside a loop")
		}
		p.next()
		return &continueStmt{}
	case tNext:
		p.mainOnly("next", p.ruleKind != ruleMain)
		p.next()
		return &nextStmt{}
	case tNextFile:
		p.mainOnly("nextfile", p.ruleKind == ruleBegin || p.ruleKind == ruleEnd || p.ruleKind == ruleEndFile)
		p.next()
		return &nextFileStmt{}
	case tExit:
		p.next()
		s := &exitStmt{}
		if !p.atEnd() {
			s.status = p.expr()
		}
		return s
	case tReturn:
		if p.fn == nil {
			p.fail("`return' used outside function context")
		}
		p.next()
		s := &returnStmt{}
		if !p.atEnd() {
			s.x = p.expr()
		}
		return s
	case tDelete:
		p.next()
		paren := p.tok == tLparen
		if paren {
			p.next()
		}
		if p.tok != tName {
			p.syntaxError()
		}
		name, pos := p.text, p.start
		p.next()
		s := &deleteStmt{}
		if p.tok == tLbracket {
			ix := p.index(name, pos)
			s.subs = ix.subs
			if ix.base != nil {
				s.arr = ix.base
			} else {
				s.arr = ix.arr
			}
		} else {
			s.arr = p.array(name, pos)
		}
		if paren {
			p.expect(tRparen)
		}
		return s
	}
	return &exprStmt{p.expr()}
}

// mainOnly refuses a statement in rules where it has no meaning.
func (p *parser) mainOnly(what string, bad bool) {
	if !bad || p.fn != nil {
		return
	}
	name := map[ruleKind]string{ruleBegin: "BEGIN", ruleEnd: "END", ruleBeginFile: "BEGINFILE",
		ruleEndFile: "ENDFILE"}[p.ruleKind]
	p.fail("error: `%s' used in %s action", what, name)
}

func (p *parser) atEnd() bool {
	return p.tok == tSemi || p.tok == tNewline || p.tok == tRbrace || p.tok == tEOF
}

func (p *parser) printStmt() stmt {
	s := &printStmt{printf: p.tok == tPrintf}
	p.next()
	saved := p.noGt
	p.noGt = true
	if !p.atEnd() && p.tok != tGt && p.tok != tAppend && p.tok != tPipe && p.tok != tPipeAmp {
		s.args = p.exprList()
		if g, ok := s.args[0].(*group); ok && len(s.args) == 1 {
			s.args = g.list
		}
	}
	switch p.tok {
	case tGt, tAppend, tPipe, tPipeAmp:
		s.redir = p.tok
		p.next()
		s.dest = p.concat()
	}
	p.noGt = saved
	for _, a := range s.args {
		p.noGroup(a)
	}
	if s.printf && len(s.args) == 0 && !p.posix {
		p.fail("fatal: printf: no arguments")
	}
	return s
}
