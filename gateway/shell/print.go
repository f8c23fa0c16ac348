package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// funcText prints a function as declare -f does.
func (sh *Shell) funcText(f *funcDef) string {
	p := treePrinter{inFunc: true, grown: sh.printed}
	p.function(f.name, f.body, false)
	sh.hold(-int64(p.told))
	return p.b.String()
}

// printed counts bytes of a print.
func (sh *Shell) printed(n int) {
	sh.hold(int64(n))
	sh.readStep()
}

// exportedText is a function as the environment of a program holds it.
func exportedText(f *funcDef) string {
	p := treePrinter{inFunc: true, flat: true}
	p.w("() {  ")
	p.list(groupOf(f.body).stmts)
	p.w("\n}")
	p.redirs(f.body.redirs)
	return p.b.String()
}

// groupOf is the body of a function, in braces if it had none.
func groupOf(body *stmt) *block {
	if b, ok := body.cmd.(*block); ok {
		return b
	}
	return &block{stmts: []*stmt{{cmd: body.cmd}}}
}

// commandText is BASH_COMMAND: of a loop or case, its head.
func commandText(st *stmt) string {
	switch c := st.cmd.(type) {
	case *forCmd:
		if c.in {
			return "for " + c.name + " in " + words(c.words)
		}
		return "for " + c.name + " in \"$@\""
	case *caseCmd:
		return "case " + c.word.src + " in "
	}
	return stmtText(st)
}

// stmtText prints one command on a line, as BASH_COMMAND and jobs show it.
func stmtText(st *stmt) string {
	p := treePrinter{}
	p.stmt(st)
	return p.b.String()
}

// treePrinter writes commands back as text in bash's layout.
type treePrinter struct {
	b       strings.Builder
	indent  int
	inFunc  bool        // groups and lists take several lines
	flat    bool        // one blank is all the indentation
	pending []*redirect // here-documents to print after the line
	unended bool        // the list has had bodies in its midst
	comsub  bool        // in $(…): newlines stay, and commands get the lines that they are printed on
	line    int
	// nil, or called for every printStep bytes: the indentation of what is nested makes more of a text than it was
	grown func(n int)
	told  int // bytes that grown knows of
}

const printStep = 4096

func (p *treePrinter) w(s string) {
	p.b.WriteString(s)
	if n := p.b.Len() - p.told; n >= printStep && p.grown != nil {
		p.told += n
		p.grown(n)
	}
	p.line += strings.Count(s, "\n")
}

func (p *treePrinter) nl() {
	p.w("\n")
	if p.flat {
		p.b.WriteByte(' ')
		return
	}
	p.w(strings.Repeat("    ", p.indent))
}

func (p *treePrinter) function(name string, body *stmt, keyword bool) {
	if keyword {
		p.w("function ")
	}
	p.w(name + " () ")
	p.nl()
	outer := p.inFunc
	p.inFunc = true
	p.w("{ ")
	p.indent++
	p.nl()
	p.list(groupOf(body).stmts)
	p.inFunc = outer
	p.indent--
	p.nl()
	p.w("}")
	p.redirs(body.redirs)
}

// list prints statements separated as bash does; the last gets no semicolon.
func (p *treePrinter) list(l []*stmt) {
	for i, s := range l {
		p.stmt(s)
		last := i == len(l)-1
		if s.background {
			p.w(" &")
		}
		docs := p.flush() || p.unended
		p.unended = false
		if last {
			break
		}
		switch {
		case docs:
			p.nl()
		case s.background:
			p.w(" ")
		case p.comsub && !p.inFunc && s.newline:
			p.w("\n")
		case !p.inFunc:
			p.w("; ")
		default:
			p.w(";")
			p.nl()
		}
	}
}

// flush prints the bodies of here-documents of the line.
func (p *treePrinter) flush() bool {
	if len(p.pending) == 0 {
		return false
	}
	for _, r := range p.pending {
		p.w("\n")
		if r.heredoc.src != "" {
			p.w(r.heredoc.src)
		} else {
			for _, x := range r.heredoc.parts {
				p.w(partSource(x))
			}
		}
		p.w(unquoteDelim(r.word.src))
	}
	p.w("\n")
	p.pending = nil
	return true
}

// flushMidway prints the bodies of here-documents behind an operator; no semicolon ends the list it is in.
func (p *treePrinter) flushMidway() {
	if p.flush() {
		p.w(" ")
		p.unended = true
	}
}

func unquoteDelim(s string) string {
	return strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(s)
}

func partSource(x part) string {
	switch q := x.(type) {
	case *quotedPart:
		return q.s
	case *paramPart:
		return q.src
	}
	return ""
}

func (p *treePrinter) stmt(s *stmt) {
	if p.comsub {
		p.place(s)
	}
	if s.negated {
		p.w("! ")
	}
	p.command(s)
	p.redirs(s.redirs)
}

// place sets the line of a statement.
func (p *treePrinter) place(s *stmt) {
	s.line = p.line
	switch c := s.cmd.(type) {
	case *simpleCmd:
		c.line = p.line + c.height(2)
	case *forCmd:
		c.line = p.line
	case *forArith:
		c.line = p.line
	case *caseCmd:
		c.line = p.line + height(c.word.parts)
	case *funcDecl:
		c.line = p.line
	case *arithCmd:
		c.line = p.line
	case *testCmd:
		c.line = p.line
	case *coprocCmd:
		c.line = p.line
	}
}

// height is how many newlines the first n words of a command have when it is printed.
func (c *simpleCmd) height(n int) (lines int) {
	for _, a := range c.assigns[:min(n, len(c.assigns))] {
		lines += a.height()
	}
	n = max(n-len(c.assigns), 0)
	for _, w := range c.args[:min(n, len(c.args))] {
		lines += height(w.parts)
	}
	n = max(n-len(c.args), 0)
	for _, a := range c.decl[:min(n, len(c.decl))] {
		lines += a.height()
	}
	return lines
}

func (a *assign) height() (lines int) {
	if a.val != nil {
		lines = height(a.val.parts)
	}
	if a.arr != nil {
		for _, e := range a.arr.elems {
			if e.val != nil {
				lines += height(e.val.parts)
			}
		}
	}
	return lines
}

func height(parts []part) (lines int) {
	for _, x := range parts {
		switch q := x.(type) {
		case *litPart:
			lines += strings.Count(q.s, "\n")
		case *quotedPart:
			lines += strings.Count(q.s, "\n")
		case *dqPart:
			lines += height(q.parts)
		case *paramPart:
			lines += strings.Count(q.src, "\n")
		case *cmdPart:
			lines += q.height
		case *procPart:
			lines += q.height
		}
	}
	return lines
}

func (p *treePrinter) redirs(rs []*redirect) {
	for _, r := range rs {
		p.w(" ")
		if r.varName != "" {
			p.w("{" + r.varName + "}")
		} else if r.fd >= 0 && !(r.fd == 0 && isInput(r.op)) && !(r.fd == 1 && !isInput(r.op)) ||
			r.fd >= 0 && (r.op == syntax.DplIn || r.op == syntax.DplOut) {
			p.w(itoa(r.fd))
		} else if r.op == syntax.DplOut {
			p.w("1")
		} else if r.op == syntax.DplIn {
			p.w("0")
		}
		switch r.op {
		case syntax.Hdoc, syntax.DashHdoc:
			p.w(r.op.String() + r.word.src)
			p.pending = append(p.pending, r)
		case syntax.DplIn, syntax.DplOut:
			if r.op == syntax.DplIn && r.word.src == "-" {
				p.w(">&-")
				continue
			}
			p.w(r.op.String() + r.word.src)
		default:
			p.w(r.op.String() + " " + r.word.src)
		}
	}
}

func isInput(o syntax.RedirOperator) bool {
	switch o {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return true
	}
	return false
}

func (p *treePrinter) body(l []*stmt) {
	p.indent++
	p.nl()
	p.list(l)
	p.w(";")
	p.indent--
	p.nl()
}

func words(ws []*word) string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = w.src
	}
	return strings.Join(out, " ")
}

func assignSource(a *assign) string {
	if a.name == "" {
		return a.val.src
	}
	s := a.name
	if a.sub != nil {
		s += "[" + a.sub.text + "]"
	}
	if a.naked {
		return s
	}
	s += op(a)
	if a.arr != nil {
		return s + "(" + arrSource(a.arr) + ")"
	}
	if a.val != nil {
		s += a.val.src
	}
	return s
}

func (p *treePrinter) command(s *stmt) {
	switch c := s.cmd.(type) {
	case *simpleCmd:
		var out []string
		for _, a := range c.assigns {
			out = append(out, assignSource(a))
		}
		for _, w := range c.args {
			out = append(out, w.src)
		}
		for _, a := range c.decl {
			out = append(out, assignSource(a))
		}
		p.w(strings.Join(out, " "))
	case *pipeline:
		for i, x := range c.stmts {
			if i > 0 {
				if c.all[i-1] {
					p.w(" 2>&1")
				}
				p.w(" |")
				p.flushMidway()
				p.w(" ")
			}
			p.stmt(x)
		}
	case *andOr:
		for i, x := range c.stmts {
			if i > 0 {
				if c.or[i-1] {
					p.w(" || ")
				} else {
					p.w(" && ")
				}
				p.flushMidway()
			}
			p.stmt(x)
		}
	case *block:
		p.w("{ ")
		if !p.inFunc {
			p.list(c.stmts)
			if n := len(c.stmts); n > 0 && !c.stmts[n-1].background {
				p.w(";")
			}
			p.w(" }")
			break
		}
		p.indent++
		p.nl()
		p.list(c.stmts)
		p.indent--
		p.nl()
		p.w("}")
	case *subshell:
		p.w("( ")
		p.list(c.stmts)
		p.w(" )")
	case *ifCmd:
		p.ifThen(c)
	case *whileCmd:
		if c.until {
			p.w("until ")
		} else {
			p.w("while ")
		}
		p.list(c.cond)
		p.w("; do")
		p.body(c.do)
		p.w("done")
	case *forCmd:
		if c.selects {
			p.w("select ")
		} else {
			p.w("for ")
		}
		p.w(c.name)
		if c.in {
			p.w(" in " + words(c.words))
		} else {
			p.w(` in "$@"`)
		}
		p.w(";")
		p.nl()
		p.w("do")
		p.body(c.do)
		p.w("done")
	case *forArith:
		t := func(a *arithText) string {
			if a == nil {
				return "1"
			}
			return strings.TrimSpace(a.text)
		}
		p.w("for ((" + t(c.init) + "; " + t(c.cond) + "; " + t(c.post) + "))")
		p.nl()
		p.w("do")
		p.body(c.do)
		p.w("done")
	case *caseCmd:
		p.w("case " + c.word.src + " in ")
		p.indent++
		for _, it := range c.items {
			p.nl()
			var ps []string
			for _, x := range it.patterns {
				ps = append(ps, x.src)
			}
			p.w(strings.Join(ps, " | ") + ")")
			p.indent++
			if len(it.stmts) > 0 {
				p.nl()
			} else {
				p.w("\n")
			}
			p.list(it.stmts)
			p.indent--
			p.nl()
			switch it.op {
			case syntax.Fallthrough:
				p.w(";&")
			case syntax.Resume:
				p.w(";;&")
			default:
				p.w(";;")
			}
		}
		p.indent--
		p.nl()
		p.w("esac")
	case *funcDecl:
		p.function(c.name, c.body, true)
	case *arithCmd:
		p.w("((" + c.x.text + "))")
	case *testCmd:
		p.w("[[ " + testSource(c.x) + " ]]")
	case *timeCmd:
		p.w("time ")
		if c.posix {
			p.w("-p ")
		}
		if c.st != nil {
			p.stmt(c.st)
		}
	case *coprocCmd:
		p.w("coproc " + c.name + " ")
		p.stmt(c.st)
	}
}

func testSource(x testExpr) string {
	switch t := x.(type) {
	case *testParen:
		return "( " + testSource(t.x) + " )"
	case *testLogic:
		if t.op == "!" {
			return "! " + testSource(t.x)
		}
		return testSource(t.x) + " " + t.op + " " + testSource(t.y)
	case *testUnary:
		return t.op + " " + t.x.src
	case *testBinary:
		return t.x.src + " " + t.op + " " + t.y.src
	}
	return ""
}

func (p *treePrinter) ifThen(c *ifCmd) {
	p.w("if ")
	p.list(c.cond)
	p.w("; then")
	p.body(c.then)
	switch o := c.other; {
	case o == nil:
	case o.cond == nil:
		p.w("else")
		p.body(o.then)
	default: // bash prints elif as a nested if
		p.w("else")
		p.indent++
		p.nl()
		p.ifThen(o)
		p.w(";")
		p.indent--
		p.nl()
	}
	p.w("fi")
}
