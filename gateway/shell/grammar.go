package shell

import "strings"

// program is a text that has been parsed as a whole.
type program struct {
	groups   [][]*stmt
	warnings []string
	err      *syntaxError
}

// parseAll reads a whole text. What comes before a syntax error can run.
func parseAll(src string, lines int, o parseOptions) *program {
	p := scriptParser(src, lines, o)
	g := &program{}
	for {
		group, err := p.next()
		g.warnings = append(g.warnings, p.warnings...)
		p.warnings = nil
		if err != nil {
			g.err = err
			return g
		}
		if group == nil {
			return g
		}
		g.groups = append(g.groups, group)
	}
}

// next reads the commands up to the end of a line. Both results are nil at the end.
func (p *parser) next() (group []*stmt, err *syntaxError) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*syntaxError)
			if !ok {
				panic(r)
			}
			p.failed = true
			group, err = nil, e
		}
	}()
	if p.failed {
		return nil, nil
	}
	for p.peek(lexCommand).kind == tokNewline {
		p.take()
	}
	p.from = p.tok.start
	if p.tok.kind == tokEOF {
		return nil, nil
	}
	for {
		st := p.andOr()
		group = append(group, st)
		t := p.peek(lexArg)
		switch {
		case t.op(";"), t.op("&"):
			st.background = t.text == "&"
			p.take()
			switch p.peek(lexCommand).kind {
			case tokNewline:
				p.take()
				return group, nil
			case tokEOF:
				return group, nil
			}
		case t.kind == tokNewline:
			p.take()
			return group, nil
		case t.kind == tokEOF:
			return group, nil
		default:
			p.unexpected(t)
		}
	}
}

// rest reports whether there is nothing more than blanks to read.
func (p *parser) atEnd() bool {
	return !p.have && strings.TrimSpace(p.src[p.pos:]) == "" || p.have && p.tok.kind == tokEOF
}

func (p *parser) unexpected(t *token) { panic(p.unexpectedError(t)) }

func (p *parser) unexpectedError(t *token) *syntaxError {
	e := &syntaxError{line: t.line}
	if p.inSubst > 0 {
		e.status, e.fatal = 127, true
	}
	text := t.text
	switch t.kind {
	case tokEOF:
		e.line, e.eof = p.lastLine(), true
		switch {
		case p.inSubst > 0:
			e.msg = "unexpected EOF while looking for matching `)'"
			e.status, e.fatal = 0, false
		default:
			e.msg = "syntax error: unexpected end of file"
		}
		return e
	case tokNewline:
		text = "newline"
	case tokNumber, tokVar, tokWord:
		if t.arr != nil {
			text = p.src[t.start:t.end]
		}
	}
	e.msg = "syntax error near unexpected token `" + text + "'"
	e.texts = []string{p.lineText(t.start)}
	return e
}

// lineText is the line of the script at an offset.
func (p *parser) lineText(at int) string {
	at = min(at, len(p.src))
	from := strings.LastIndexByte(p.src[:at], '\n') + 1
	line, _, _ := strings.Cut(p.src[from:], "\n")
	return line
}

func (p *parser) newlines() {
	for p.peek(lexCommand).kind == tokNewline {
		p.take()
	}
}

// want takes a keyword or operator, or fails.
func (p *parser) want(s string) token {
	t := p.peek(lexCommand)
	if !t.op(s) && !t.word(s) {
		p.unexpected(t)
	}
	return p.take()
}

// closes reports whether a token ends a list.
func closes(t *token) bool {
	switch t.kind {
	case tokWord:
		switch t.text {
		case "then", "else", "elif", "fi", "do", "done", "esac", "}":
			return true
		}
	case tokOp:
		switch t.text {
		case ")", ";;", ";&", ";;&":
			return true
		}
	case tokEOF:
		return true
	}
	return false
}

// stmts reads a list inside a compound command; it ends before what closes it.
func (p *parser) stmts() []*stmt {
	var out []*stmt
	p.newlines()
	for {
		if t := p.peek(lexCommand); closes(t) {
			if len(out) == 0 {
				p.unexpected(t)
			}
			return out
		}
		st := p.andOr()
		out = append(out, st)
		t := p.peek(lexArg)
		switch {
		case t.op("&"):
			st.background = true
			p.take()
		case t.op(";"), t.kind == tokNewline:
			p.take()
		default:
			return out
		}
		p.newlines()
	}
}

func (p *parser) andOr() *stmt {
	first := p.pipeline()
	t := p.peek(lexArg)
	if !t.op("&&") && !t.op("||") {
		return first
	}
	a := &andOr{stmts: []*stmt{first}}
	for t.op("&&") || t.op("||") {
		a.or = append(a.or, t.text == "||")
		p.take()
		p.newlines()
		a.stmts = append(a.stmts, p.pipeline())
		t = p.peek(lexArg)
	}
	return &stmt{line: first.line, cmd: a}
}

// endsCommand reports whether ! and time stand alone.
func endsCommand(t *token) bool {
	return t.kind == tokNewline || t.kind == tokEOF || t.op(";") || t.op("&") || t.op(")") || t.op("&&") || t.op("||")
}

func (p *parser) pipeline() *stmt {
	t := p.peek(lexCommand)
	switch {
	case t.word("!"):
		line := t.line
		p.take()
		if endsCommand(p.peek(lexCommand)) {
			return &stmt{line: line, negated: true, cmd: &simpleCmd{line: line}}
		}
		p.enter()
		s := p.pipeline()
		p.leave()
		s.negated = !s.negated
		return s
	case t.word("time"):
		c := &timeCmd{}
		line := t.line
		p.take()
		if p.peek(lexCommand).word("-p") {
			c.posix = true
			p.take()
		}
		if p.peek(lexCommand).word("--") {
			p.take()
		}
		if !endsCommand(p.peek(lexCommand)) {
			p.enter()
			c.st = p.pipeline()
			p.leave()
		}
		return &stmt{line: line, cmd: c}
	}
	first := p.command()
	if t := p.peek(lexArg); !t.op("|") && !t.op("|&") {
		return first
	}
	c := &pipeline{stmts: []*stmt{first}}
	for t := p.peek(lexArg); t.op("|") || t.op("|&"); t = p.peek(lexArg) {
		c.all = append(c.all, t.text == "|&")
		p.take()
		p.newlines()
		if t := p.peek(lexCommand); t.word("!") || t.word("time") {
			c.stmts = append(c.stmts, p.pipelineStage())
			continue
		}
		c.stmts = append(c.stmts, p.command())
	}
	return &stmt{line: first.line, cmd: c}
}

// pipelineStage is ! or time behind a |, which applies to the rest of the pipeline.
func (p *parser) pipelineStage() *stmt {
	p.enter()
	defer p.leave()
	return p.pipeline()
}

func (p *parser) command() *stmt {
	p.enter()
	defer p.leave()
	t := p.peek(lexCommand)
	line := t.line
	var c command
	switch {
	case t.kind == tokWord:
		if closes(t) {
			p.unexpected(t)
		}
		switch t.text {
		case "{":
			p.take()
			c = &block{p.stmts()}
			p.want("}")
		case "if":
			p.take()
			c = p.ifClause()
		case "while", "until":
			w := &whileCmd{until: t.text == "until"}
			p.take()
			w.cond = p.stmts()
			p.want("do")
			w.do = p.stmts()
			p.want("done")
			c = w
		case "for":
			c = p.forClause()
		case "select":
			p.take()
			c = p.forWords(true, line)
		case "case":
			c = p.caseClause()
		case "function":
			return p.function()
		case "coproc":
			return p.coproc()
		case "[[":
			c = p.testClause()
		default:
			return p.simple()
		}
	case t.op("("):
		if c = p.arithClause(); c == nil {
			p.take()
			c = &subshell{p.stmts()}
			p.want(")")
		}
	case t.kind == tokNumber, t.kind == tokVar, t.kind == tokOp && isRedirOp(t.text):
		return p.simple()
	default:
		p.unexpected(t)
	}
	return p.redirected(&stmt{line: line, cmd: c})
}

func isRedirOp(s string) bool { return s[0] == '<' || s[0] == '>' || strings.HasPrefix(s, "&>") }

// redirected reads the redirections behind a compound command.
func (p *parser) redirected(st *stmt) *stmt {
	for {
		t := p.peek(lexArg)
		if t.kind != tokNumber && t.kind != tokVar && !(t.kind == tokOp && isRedirOp(t.text)) {
			return st
		}
		st.redirs = append(st.redirs, p.redirect())
	}
}

var redirOps = map[string]redirOp{"<": rdrIn, ">": rdrOut, ">>": appOut, "<>": rdrInOut, "<&": dplIn, ">&": dplOut, ">|": rdrClob, "<<": hdoc,
	"<<-": dashHdoc, "<<<": wordHdoc, "&>": rdrAll, "&>>": appAll}

func (p *parser) redirect() *redirect {
	r := &redirect{fd: -1, line: p.tok.line}
	switch p.tok.kind {
	case tokNumber:
		n := 0
		for _, c := range []byte(p.tok.text) {
			n = min(n*10+int(c-'0'), 1<<20)
		}
		r.fd = n
		p.take()
	case tokVar:
		name, sub, _ := strings.Cut(strings.Trim(p.tok.text, "{}"), "[")
		r.varName, r.varSub = name, strings.TrimSuffix(sub, "]")
		p.take()
	}
	op := p.peek(lexArg)
	r.op = redirOps[op.text]
	p.take()
	t := p.peek(lexArg)
	if t.kind != tokWord && t.kind != tokNumber && t.kind != tokVar {
		p.unexpected(t)
	}
	w := p.take()
	if r.op == hdoc || r.op == dashHdoc {
		r.word = &word{src: w.text}
		r.quoted = strings.ContainsAny(w.text, `'"\`)
		r.strip = r.op == dashHdoc
		p.heredocs = append(p.heredocs, r)
		return r
	}
	r.word = p.word(&w)
	return r
}

func (p *parser) ifClause() *ifCmd {
	head := &ifCmd{cond: p.stmts()}
	p.want("then")
	head.then = p.stmts()
	for cur := head; ; cur = cur.other {
		t := p.peek(lexCommand)
		switch {
		case t.word("elif"):
			p.take()
			cur.other = &ifCmd{cond: p.stmts()}
			p.want("then")
			cur.other.then = p.stmts()
		case t.word("else"):
			p.take()
			cur.other = &ifCmd{then: p.stmts()}
			p.want("fi")
			return head
		default:
			p.want("fi")
			return head
		}
	}
}

func (p *parser) forClause() command {
	line := p.tok.line
	p.take()
	if t := p.peek(lexArg); t.op("(") && strings.HasPrefix(p.src[t.end:], "(") {
		from := t.end + 1
		at := t.start
		p.take()
		end := p.skipParen(at)
		inner := p.skipParen(at + 1)
		if inner != end-1 {
			p.unexpected(t)
		}
		text := p.src[from : inner-1]
		cuts := splitFor(text)
		if len(cuts) > 3 {
			shown := "syntax error: `" + p.src[at:end] + "'"
			panic(&syntaxError{line: line, msg: "syntax error: `;' unexpected\n" + shown})
		}
		if len(cuts) != 3 {
			shown := "syntax error: `" + p.src[at:end] + "'"
			panic(&syntaxError{line: line, msg: "syntax error: arithmetic expression required\n" + shown})
		}
		f := &forArith{line: line}
		off := from
		for i, dst := range []**arithText{&f.init, &f.cond, &f.post} {
			if strings.TrimSpace(cuts[i]) != "" {
				lead := len(cuts[i]) - len(strings.TrimLeft(cuts[i], " \t\n"))
				*dst = p.arith(off+lead, off+len(cuts[i]))
			}
			off += len(cuts[i]) + 1
		}
		p.pos, p.have = end, false
		if t := p.peek(lexCommand); t.op(";") {
			p.take()
		}
		p.newlines()
		f.do = p.loopBody()
		return f
	}
	return p.forWords(false, line)
}

// splitFor splits the head of for ((…)) at its semicolons.
func splitFor(s string) []string {
	var out []string
	depth, start := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ';':
			if depth <= 0 {
				out = append(out, s[start:i])
				start = i + 1
			}
		}
	}
	return append(out, s[start:])
}

// loopBody is do … done or { … }.
func (p *parser) loopBody() []*stmt {
	end := "done"
	t := p.peek(lexCommand)
	if t.word("{") {
		end = "}"
	} else if !t.word("do") {
		p.unexpected(t)
	}
	p.take()
	list := p.stmts()
	p.want(end)
	return list
}

// forWords is the rest of for and select after the keyword.
func (p *parser) forWords(selects bool, line int) command {
	t := p.peek(lexArg)
	if t.kind != tokWord {
		p.unexpected(t)
	}
	f := &forCmd{name: t.text, selects: selects, line: line}
	p.take()
	// "for x; do" has no newline before its semicolon.
	if p.peek(lexCommand).op(";") {
		p.take()
		p.newlines()
		f.do = p.loopBody()
		return f
	}
	p.newlines()
	if p.peek(lexCommand).word("in") {
		f.in = true
		p.take()
		for p.peek(lexArg).kind == tokWord {
			w := p.take()
			f.words = append(f.words, p.word(&w))
		}
		t := p.peek(lexArg)
		if !t.op(";") && t.kind != tokNewline {
			p.unexpected(t)
		}
		p.take()
		p.newlines()
	}
	f.do = p.loopBody()
	return f
}

func (p *parser) caseClause() command {
	k := &caseCmd{line: p.tok.line}
	p.take()
	t := p.peek(lexArg)
	if t.kind != tokWord {
		p.unexpected(t)
	}
	w := p.take()
	k.word = p.word(&w)
	for p.peek(lexArg).kind == tokNewline {
		p.take()
	}
	if t := p.peek(lexArg); !t.word("in") {
		p.unexpected(t)
	}
	p.take()
	for {
		for p.peek(lexArg).kind == tokNewline {
			p.take()
		}
		t := p.peek(lexArg)
		if t.word("esac") {
			p.take()
			return k
		}
		if t.op("(") {
			p.take()
		}
		var it caseItem
		for {
			t := p.peek(lexArg)
			if t.kind != tokWord {
				p.unexpected(t)
			}
			w := p.take()
			it.patterns = append(it.patterns, p.word(&w))
			t = p.peek(lexArg)
			if t.op(")") {
				p.take()
				break
			}
			if !t.op("|") {
				p.unexpected(t)
			}
			p.take()
		}
		p.newlines()
		if t := p.peek(lexCommand); !closes(t) || t.word("}") {
			it.stmts = p.stmts()
		}
		t = p.peek(lexCommand)
		switch {
		case t.op(";;"):
		case t.op(";&"):
			it.op = caseFallthrough
		case t.op(";;&"):
			it.op = caseResume
		case t.word("esac"):
			k.items = append(k.items, it)
			p.take()
			return k
		default:
			p.unexpected(t)
		}
		p.take()
		k.items = append(k.items, it)
	}
}

// function is function name [()] body.
func (p *parser) function() *stmt {
	line := p.tok.line
	start := p.tok.start
	p.take()
	t := p.peek(lexArg)
	if t.kind != tokWord {
		p.unexpected(t)
	}
	name := t.text
	p.take()
	if p.peek(lexCommand).op("(") && p.arithAt() == 0 {
		p.take()
		p.want(")")
	}
	return p.functionBody(name, start, line)
}

func (p *parser) functionBody(name string, start, line int) *stmt {
	p.newlines()
	t := p.peek(lexCommand)
	if !startsCompound(t) {
		p.unexpected(t)
	}
	body := p.command()
	return &stmt{line: line, cmd: &funcDecl{name: name, body: body, line: line, src: p.src[start:max(start, p.tokenStart())]}}
}

// tokenStart is where the next token begins, or what has been read ends.
func (p *parser) tokenStart() int {
	if p.have {
		return p.tok.start
	}
	return p.pos
}

func startsCompound(t *token) bool {
	switch t.kind {
	case tokOp:
		return t.text == "("
	case tokWord:
		switch t.text {
		case "{", "if", "while", "until", "for", "select", "case", "[[":
			return true
		}
	}
	return false
}

func (p *parser) coproc() *stmt {
	line := p.tok.line
	p.take()
	c := &coprocCmd{name: "COPROC", line: line}
	t := p.peek(lexCommand)
	if t.kind == tokWord && !startsCompound(t) {
		// coproc NAME compound: the word after it decides.
		save := *p
		name := t.text
		p.take()
		if startsCompound(p.peek(lexCommand)) {
			c.name = name
		} else {
			*p = save
		}
	}
	from := p.peek(lexCommand).start
	c.st = p.command()
	c.st.src = strings.TrimSpace(p.src[from:p.tokenStart()])
	return &stmt{line: line, cmd: c}
}

// arithAt is the offset after (( … )) when the next token begins one, else 0.
func (p *parser) arithAt() int {
	at := p.tok.start
	if at+1 >= len(p.src) || p.src[at+1] != '(' {
		return 0
	}
	return p.remember(at, func(i int) int {
		if end := p.skipParen(i + 1); end < len(p.src) && p.src[end] == ')' {
			return end + 1
		}
		return 0
	}, 0)
}

// arithClause is (( … )); nil when the parentheses are two subshells.
func (p *parser) arithClause() command {
	line := p.tok.line
	at := p.tok.start
	end := p.arithAt()
	if end == 0 {
		return nil
	}
	p.have, p.pos = false, end
	return &arithCmd{x: p.arith(at+2, end-2), line: line}
}

func isDeclName(s string) bool {
	switch s {
	case "declare", "export", "local", "readonly", "typeset":
		return true
	}
	return false
}

func (p *parser) simple() *stmt {
	c := &simpleCmd{line: p.tok.line}
	st := &stmt{line: c.line, cmd: c}
	mode := lexCommand
	for {
		t := p.peek(mode)
		switch {
		case t.kind == tokNumber, t.kind == tokVar, t.kind == tokOp && isRedirOp(t.text):
			st.redirs = append(st.redirs, p.redirect())
			continue
		case t.kind == tokWord:
		default:
			if len(c.args) == 0 && len(c.assigns) == 0 && len(c.decl) == 0 {
				if len(st.redirs) == 0 {
					p.unexpected(t)
				}
				st.cmd = nil
			}
			return st
		}
		w := p.take()
		if mode == lexCommand {
			if n := assignEnd(w.text); n > 0 {
				c.assigns = append(c.assigns, p.assign(&w, n))
				continue
			}
			if len(c.assigns) == 0 && len(st.redirs) == 0 {
				if t := p.peek(lexArg); t.op("(") {
					p.take()
					if t := p.peek(lexArg); !t.op(")") {
						p.unexpected(t)
					}
					p.take()
					return p.functionBody(w.text, w.start, w.line)
				}
			}
			mode = lexArg
			c.isDecl = isDeclName(w.text)
			if c.isDecl || w.text == "alias" || w.text == "eval" || w.text == "let" {
				mode = lexAssign
			}
			c.args = append(c.args, p.word(&w))
			continue
		}
		if c.isDecl {
			c.decl = append(c.decl, p.declOperand(&w))
			continue
		}
		c.args = append(c.args, p.word(&w))
	}
}

// declOperand is an operand of declare and its kin.
func (p *parser) declOperand(w *token) *assign {
	if n := assignEnd(w.text); n > 0 {
		return p.assign(w, n)
	}
	if isName(w.text) {
		return &assign{name: w.text, naked: true, line: w.line}
	}
	return &assign{val: p.word(w), line: w.line}
}

// assign compiles an assignment whose value begins n bytes into the word.
func (p *parser) assign(w *token, n int) *assign {
	head := w.text[:n-1]
	a := &assign{line: w.line}
	if strings.HasSuffix(head, "+") {
		a.add = true
		head = head[:len(head)-1]
	}
	a.name = head
	if k := strings.IndexByte(head, '['); k >= 0 {
		a.name = head[:k]
		a.sub = p.subscript(w.start+k+1, w.start+len(head)-1)
	}
	if w.arr != nil {
		a.arr = w.arr
		return a
	}
	v := *w
	v.start += n
	v.text = w.text[n:]
	a.val = p.assignWord(&v)
	return a
}

// ---- [[ … ]] ----

// condError says what is wrong in [[ ]]. Bash then takes the rest of the text for read.
func (p *parser) condError(t *token, named, plain string) {
	e := &syntaxError{line: t.line, msg: plain, quiet: true}
	switch {
	case t.kind == tokEOF, t.kind == tokNewline:
		e.msg = strings.ReplaceAll(named, "%s", "newline")
		e.quiet = p.pos < len(p.src)
	case t.kind == tokOp || t.text == "]]":
		e.msg = strings.ReplaceAll(named, "%s", t.text)
	}
	panic(e)
}

func (p *parser) testClause() command {
	line := p.tok.line
	p.take()
	x := p.testOr()
	if t := p.peek(lexArg); !t.word("]]") {
		if t.kind == tokEOF {
			p.condError(t, "unexpected EOF while looking for `]]'", "")
		}
		p.condError(t, "syntax error in conditional expression: unexpected token `%s'", "syntax error in conditional expression")
	}
	p.take()
	return &testCmd{x: x, line: line}
}

func (p *parser) testOr() testExpr {
	p.enter()
	defer p.leave()
	x := p.testAnd()
	p.testNewlines()
	if !p.peek(lexArg).op("||") {
		return x
	}
	p.take()
	return &testLogic{op: "||", x: x, y: p.testOr()}
}

func (p *parser) testAnd() testExpr {
	p.enter()
	defer p.leave()
	x := p.testTerm()
	p.testNewlines()
	if !p.peek(lexArg).op("&&") {
		return x
	}
	p.take()
	return &testLogic{op: "&&", x: x, y: p.testAnd()}
}

func (p *parser) testNewlines() {
	for p.peek(lexArg).kind == tokNewline {
		p.take()
	}
}

func (p *parser) testTerm() testExpr {
	p.enter()
	defer p.leave()
	p.testNewlines()
	t := p.peek(lexArg)
	switch {
	case t.op("("):
		p.take()
		x := p.testOr()
		if t := p.peek(lexArg); !t.op(")") {
			p.condError(t, "unexpected token `%s', expected `)'", "expected `)'")
		}
		p.take()
		return &testParen{x}
	case t.word("!"):
		p.take()
		return &testLogic{op: "!", x: p.testTerm()}
	case t.kind == tokWord && isUnaryOp(t.text):
		op := t.text
		p.take()
		next := p.peek(lexArg)
		if next.kind != tokWord || next.word("]]") {
			p.condError(next, "unexpected argument `%s' to conditional unary operator", "unexpected argument to conditional unary operator")
		}
		w := p.take()
		return &testUnary{op: op, x: p.word(&w)}
	case t.kind == tokWord && t.text != "]]" || t.kind == tokNumber || t.kind == tokVar:
		left := p.take()
		x := p.word(&left)
		op := p.peek(lexArg)
		mode := lexArg
		switch {
		case op.kind == tokWord && (isBinaryOp(op.text) || op.text == "=~"):
			switch op.text {
			case "=~":
				mode = lexRegex
			case "=", "==", "!=":
				mode = lexPattern
			}
		case op.op("<"), op.op(">"):
		case op.word("]]"), op.op("&&"), op.op("||"), op.op(")"):
			return &testUnary{op: "-n", x: x}
		default:
			p.condError(op, "unexpected token `%s', conditional binary operator expected", "conditional binary operator expected")
		}
		name := op.text
		p.take()
		next := p.peek(mode)
		if next.kind != tokWord && next.kind != tokNumber && next.kind != tokVar || next.word("]]") {
			p.condError(next, "unexpected argument `%s' to conditional binary operator", "unexpected argument to conditional binary operator")
		}
		w := p.take()
		return &testBinary{op: name, x: x, y: p.word(&w)}
	}
	if t.word("]]") {
		panic(&syntaxError{line: t.line, quiet: true})
	}
	p.condError(t, "unexpected token `%s' in conditional command", "unexpected token in conditional command")
	return nil
}
