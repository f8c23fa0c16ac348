package shell

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/arith"
	"mvdan.cc/sh/v3/syntax"
)

// compiler turns the parser's tree into ours. Arithmetic and subscripts are taken from the source text, because bash expands
// them first and parses the result.
type compiler struct {
	src   string
	lines int          // added to line numbers
	bad   map[uint]int // offsets where a bad substitution was masked → its length
	step  func()       // for every statement and word

	stray   encoding // what stands for the bytes that are no UTF-8
	extglob bool     // extended patterns are understood everywhere
	cond    bool     // inside [[ ]], where they always are
	refused error    // the first construct that the parser takes and bash does not
}

func (c *compiler) text(from, to uint) string {
	if int(from) > len(c.src) || int(to) > len(c.src) || from > to {
		return ""
	}
	return c.src[from:to]
}

// raw is a piece of the text as it came.
func (c *compiler) raw(from, to uint) string { return c.stray.decode(c.text(from, to)) }

func (c *compiler) refuse(err error) {
	if c.refused == nil {
		c.refused = err
	}
}

func (c *compiler) line(p syntax.Pos) int { return int(p.Line()) + c.lines }

func (c *compiler) stmts(in []*syntax.Stmt) []*stmt {
	out := make([]*stmt, 0, len(in))
	for _, s := range in {
		out = append(out, c.stmt(s))
	}
	return out
}

func (c *compiler) stmt(s *syntax.Stmt) *stmt {
	if c.step != nil {
		c.step()
	}
	st := &stmt{line: c.line(s.Pos()), negated: s.Negated, background: s.Background}
	end := s.End().Offset()
	if s.Semicolon.IsValid() {
		end = s.Semicolon.Offset()
	}
	st.src = strings.TrimRight(c.raw(s.Pos().Offset(), end), " \t\n;")
	for _, r := range s.Redirs {
		st.redirs = append(st.redirs, c.redirect(r))
	}
	if s.Cmd != nil {
		if call, ok := s.Cmd.(*syntax.CallExpr); ok && len(call.Assigns) == 0 && len(call.Args) > 0 && closers[call.Args[0].Lit()] &&
			(len(s.Redirs) == 0 || s.Redirs[0].Pos().After(call.Pos())) {
			c.refuse(syntax.LangError{Pos: call.Pos(), Feature: "a command named as a reserved word"})
		}
		st.cmd = c.command(s.Cmd)
	}
	return st
}

func (c *compiler) command(cmd syntax.Command) command {
	switch x := cmd.(type) {
	case *syntax.CallExpr:
		s := &simpleCmd{line: c.line(x.Pos())}
		for _, a := range x.Assigns {
			s.assigns = append(s.assigns, c.assign(a))
		}
		if n := len(x.Args); n > 1 && declUsage[x.Args[0].Lit()] != "" && slices.ContainsFunc(x.Args[1:], c.maskedArray) {
			s.isDecl, s.args = true, []*word{litWord(x.Args[0].Lit())}
			s.decl = c.assignments(c.text(x.Args[1].Pos().Offset(), x.Args[n-1].End().Offset()), true)
			return s
		}
		for _, w := range x.Args {
			s.args = append(s.args, c.word(w))
		}
		if len(x.Args) > 0 {
			at := x.Args[0].Pos().Offset()
			if n := c.bad[at]; n < 0 {
				s.args[0] = litWord(c.text(at, at+uint(-n)))
			}
		}
		s.line = c.simpleLine(x)
		return s
	case *syntax.DeclClause:
		s := &simpleCmd{line: c.line(x.Pos()), isDecl: true, args: []*word{litWord(x.Variant.Value)}}
		for _, a := range x.Args {
			s.decl = append(s.decl, c.assign(a))
		}
		return s
	case *syntax.LetClause:
		s := &simpleCmd{line: c.line(x.Pos()), args: []*word{litWord("let")}}
		for _, e := range x.Exprs {
			t := c.text(e.Pos().Offset(), e.End().Offset())
			s.args = append(s.args, c.finish(&word{src: c.stray.decode(t), parts: c.loose(t)}, false))
		}
		return s
	case *syntax.BinaryCmd:
		return c.binary(x)
	case *syntax.Block:
		return &block{c.stmts(x.Stmts)}
	case *syntax.Subshell:
		return &subshell{c.stmts(x.Stmts)}
	case *syntax.IfClause:
		return c.ifClause(x)
	case *syntax.WhileClause:
		return &whileCmd{until: x.Until, cond: c.stmts(x.Cond), do: c.stmts(x.Do)}
	case *syntax.ForClause:
		switch l := x.Loop.(type) {
		case *syntax.WordIter:
			f := &forCmd{name: l.Name.Value, in: l.InPos.IsValid(), do: c.stmts(x.Do), selects: x.Select, line: c.line(x.Pos())}
			for _, w := range l.Items {
				f.words = append(f.words, c.word(w))
			}
			return f
		case *syntax.CStyleLoop:
			f := &forArith{do: c.stmts(x.Do), line: c.line(x.Pos())}
			parts := splitFor(c.text(l.Lparen.Offset()+2, l.Rparen.Offset()))
			for i, dst := range []**arithText{&f.init, &f.cond, &f.post} {
				if i < len(parts) && strings.TrimSpace(parts[i]) != "" {
					*dst = c.arith(strings.TrimLeft(parts[i], " \t\n"))
				}
			}
			return f
		}
	case *syntax.CaseClause:
		k := &caseCmd{word: c.word(x.Word), line: c.line(x.Pos())}
		for _, it := range x.Items {
			ci := caseItem{stmts: c.stmts(it.Stmts), op: it.Op}
			for _, p := range it.Patterns {
				ci.patterns = append(ci.patterns, c.word(p))
			}
			k.items = append(k.items, ci)
		}
		return k
	case *syntax.FuncDecl:
		if x.Name == nil {
			// "()0": the parser lets it pass for a nameless function of zsh.
			c.refuse(syntax.LangError{Pos: x.Pos(), Feature: "anonymous functions"})
			return &simpleCmd{line: c.line(x.Pos())}
		}
		if list, ok := x.Body.Cmd.(*syntax.BinaryCmd); ok {
			return c.command(definedFirst(x, list))
		}
		switch x.Body.Cmd.(type) {
		case nil, *syntax.CallExpr, *syntax.FuncDecl, *syntax.DeclClause, *syntax.LetClause, *syntax.TimeClause, *syntax.CoprocClause:
			c.refuse(syntax.LangError{Pos: x.Body.Pos(), Feature: "functions that are simple commands"})
		}
		return &funcDecl{name: c.raw(x.Name.Pos().Offset(), x.Name.End().Offset()), body: c.stmt(x.Body), line: c.line(x.Pos()), src: c.raw(x.Pos().Offset(), x.End().Offset())}
	case *syntax.ArithmCmd:
		return &arithCmd{x: c.arith(c.text(x.Left.Offset()+2, x.Right.Offset())), line: c.line(x.Pos())}
	case *syntax.TestClause:
		was := c.cond
		c.cond = true
		t := &testCmd{x: c.test(x.X), line: c.line(x.Pos())}
		c.cond = was
		return t
	case *syntax.TimeClause:
		t := &timeCmd{posix: x.PosixFormat}
		if x.Stmt != nil {
			t.st = c.stmt(x.Stmt)
			if strings.Contains(c.text(x.Pos().Offset(), x.Stmt.Pos().Offset()), "!") { // see parseFile
				t.st.negated = !t.st.negated
			}
		}
		return t
	case *syntax.CoprocClause:
		p := &coprocCmd{st: c.stmt(x.Stmt), name: "COPROC", line: c.line(x.Pos())}
		if x.Name != nil {
			p.name = c.text(x.Name.Pos().Offset(), x.Name.End().Offset())
		}
		return p
	}
	return &simpleCmd{line: c.line(cmd.Pos())}
}

// simpleLine is the line bash counts a simple command at: it has then read the second word.
func (c *compiler) simpleLine(x *syntax.CallExpr) int {
	var ends [2]syntax.Pos
	n := 0
	for _, a := range x.Assigns {
		if n < 2 {
			ends[n] = a.End()
			n++
		}
	}
	for _, w := range x.Args {
		if n < 2 {
			ends[n] = w.End()
			n++
		}
	}
	if n == 0 {
		return c.line(x.Pos())
	}
	return c.line(ends[n-1])
}

func litWord(s string) *word {
	return &word{src: s, parts: []part{&litPart{s}}, lit: s, isLit: true}
}

func (c *compiler) lit(s string) *litPart { return &litPart{c.stray.decode(s)} }

func (c *compiler) quoted(s string) *quotedPart { return &quotedPart{c.stray.decode(s)} }

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

// binary flattens a && b || c and a | b | c, which the parser nests to the left.
func (c *compiler) binary(b *syntax.BinaryCmd) command {
	pipe := b.Op == syntax.Pipe || b.Op == syntax.PipeAll
	var ops []syntax.BinCmdOperator
	var ys []*syntax.Stmt
	var first *syntax.Stmt
	for {
		ops = append(ops, b.Op)
		ys = append(ys, b.Y)
		first = b.X
		next, ok := b.X.Cmd.(*syntax.BinaryCmd)
		if !ok || (next.Op == syntax.Pipe || next.Op == syntax.PipeAll) != pipe || b.X.Negated || b.X.Background || len(b.X.Redirs) > 0 {
			break
		}
		b = next
	}
	n := len(ops)
	if pipe {
		p := &pipeline{stmts: []*stmt{c.stmt(first)}}
		for i := n - 1; i >= 0; i-- {
			p.all = append(p.all, ops[i] == syntax.PipeAll)
			// a | (b | c) comes nested to the right.
			y := c.stmt(ys[i])
			if inner, ok := y.cmd.(*pipeline); ok && !y.negated && len(y.redirs) == 0 {
				p.stmts = append(p.stmts, inner.stmts...)
				p.all = append(p.all, inner.all...)
				continue
			}
			p.stmts = append(p.stmts, y)
		}
		return p
	}
	a := &andOr{stmts: []*stmt{c.stmt(first)}}
	for i := n - 1; i >= 0; i-- {
		a.or = append(a.or, ops[i] == syntax.OrStmt)
		a.stmts = append(a.stmts, c.stmt(ys[i]))
	}
	return a
}

func (c *compiler) ifClause(x *syntax.IfClause) *ifCmd {
	head := &ifCmd{}
	for cur := head; ; {
		if x.ThenPos.IsValid() {
			cur.cond = c.stmts(x.Cond)
		}
		cur.then = c.stmts(x.Then)
		if x.Else == nil {
			return head
		}
		x = x.Else
		cur.other = &ifCmd{}
		cur = cur.other
	}
}

// test compiles a condition. The parser lets ! reach over && and ||, so these are put together anew from their order in the text.
func (c *compiler) test(x syntax.TestExpr) testExpr {
	var terms []testExpr
	var ops []string
	c.testTerms(x, &terms, &ops)
	var or testExpr
	and := terms[0]
	for i, op := range ops {
		if op == "&&" {
			and = &testLogic{op: op, x: and, y: terms[i+1]}
			continue
		}
		if or != nil {
			and = &testLogic{op: "||", x: or, y: and}
		}
		or, and = and, terms[i+1]
	}
	if or != nil {
		return &testLogic{op: "||", x: or, y: and}
	}
	return and
}

// testTerms lists what && and || connect.
func (c *compiler) testTerms(x syntax.TestExpr, terms *[]testExpr, ops *[]string) {
	switch t := x.(type) {
	case *syntax.UnaryTest:
		if t.Op == syntax.TsNot {
			first := len(*terms)
			c.testTerms(t.X, terms, ops)
			(*terms)[first] = &testLogic{op: "!", x: (*terms)[first]}
			return
		}
	case *syntax.BinaryTest:
		if t.Op == syntax.AndTest || t.Op == syntax.OrTest {
			c.testTerms(t.X, terms, ops)
			*ops = append(*ops, t.Op.String())
			c.testTerms(t.Y, terms, ops)
			return
		}
	}
	*terms = append(*terms, c.testTerm(x))
}

func (c *compiler) testTerm(x syntax.TestExpr) testExpr {
	switch t := x.(type) {
	case *syntax.Word:
		return &testUnary{op: "-n", x: c.word(t)}
	case *syntax.ParenTest:
		return &testParen{c.test(t.X)}
	case *syntax.UnaryTest:
		if w, ok := t.X.(*syntax.Word); ok {
			op := t.Op.String()
			if op == "-h" {
				op = "-L"
			}
			return &testUnary{op: op, x: c.word(w)}
		}
	case *syntax.BinaryTest:
		xw, ok1 := t.X.(*syntax.Word)
		yw, ok2 := t.Y.(*syntax.Word)
		if ok1 && ok2 {
			return &testBinary{op: t.Op.String(), x: c.word(xw), y: c.word(yw)}
		}
	}
	return &testUnary{op: "-n", x: litWord("")}
}

func (c *compiler) redirect(r *syntax.Redirect) *redirect {
	out := &redirect{fd: -1, op: r.Op, line: c.line(r.Pos())}
	if r.N != nil {
		v := r.N.Value
		if strings.HasPrefix(v, "{") {
			out.varName = strings.Trim(v, "{}")
			if n, sub, ok := strings.Cut(out.varName, "["); ok {
				out.varName, out.varSub = n, strings.TrimSuffix(sub, "]")
			}
		} else {
			n := 0
			for i := 0; i < len(v) && n < 1<<20; i++ {
				n = n*10 + int(v[i]-'0')
			}
			out.fd = n
		}
	}
	out.word = c.word(r.Word)
	if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc {
		out.strip = r.Op == syntax.DashHdoc
		for _, p := range r.Word.Parts {
			l, ok := p.(*syntax.Lit)
			if !ok || strings.Contains(l.Value, `\`) {
				out.quoted = true
			}
		}
		out.heredoc = &word{}
		if r.Hdoc != nil && out.quoted && slices.ContainsFunc(r.Hdoc.Parts, func(p syntax.WordPart) bool { _, lit := p.(*syntax.Lit); return !lit }) {
			// A partly quoted delimiter is a quoted one, whatever the parser made of the body.
			delim, _ := literal(c.parts(r.Word.Parts, false))
			body := strings.TrimSuffix(c.text(r.Hdoc.Pos().Offset(), r.Hdoc.End().Offset()), delim)
			if out.strip {
				body = stripTabs(body, true)
			}
			out.heredoc.parts = []part{c.quoted(body)}
		} else if r.Hdoc != nil {
			out.heredoc.parts = c.heredoc(r.Hdoc.Parts, out.quoted, out.strip)
			body := strings.TrimSuffix(c.raw(r.Hdoc.Pos().Offset(), r.Hdoc.End().Offset()), unquoteDelim(c.raw(r.Word.Pos().Offset(), r.Word.End().Offset())))
			if out.strip {
				body = stripTabs(body, true)
			}
			out.heredoc.src = body
		}
	}
	return out
}

func (c *compiler) heredoc(parts []syntax.WordPart, quoted, strip bool) []part {
	var out []part
	bol := true
	for _, p := range parts {
		l, ok := p.(*syntax.Lit)
		if !ok {
			out = append(out, c.part(p, true)...)
			bol = false
			continue
		}
		v := l.Value
		if strip {
			v = stripTabs(v, bol)
		}
		if !quoted {
			v = unescape(v, "$`\\")
		}
		out = append(out, c.quoted(v))
		bol = strings.HasSuffix(l.Value, "\n")
	}
	return out
}

func stripTabs(s string, bol bool) string {
	if !strings.Contains(s, "\t") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if bol && s[i] == '\t' {
			continue
		}
		bol = s[i] == '\n'
		b.WriteByte(s[i])
	}
	return b.String()
}

// unescape removes backslashes before the given characters.
func unescape(s, chars string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if strings.IndexByte(chars, s[i+1]) >= 0 {
				i++
			} else if s[i+1] == '\n' {
				i++
				continue
			} else if s[i+1] == '\\' {
				b.WriteByte('\\')
				i++
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// definedFirst is a list or pipeline whose first command is the definition of a function: the parser takes all of it for the function's body.
func definedFirst(f *syntax.FuncDecl, list *syntax.BinaryCmd) *syntax.BinaryCmd {
	first := list
	for {
		inner, ok := first.X.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		first = inner
	}
	def := *f
	def.Body = first.X
	first.X = &syntax.Stmt{Position: f.Position, Cmd: &def}
	return list
}

// maskedArray reports whether w ends with an array that maskArray hid from the parser: what goes on after the parenthesis is no array for bash.
func (c *compiler) maskedArray(w *syntax.Word) bool {
	return len(w.Parts) > 0 && c.masked(w.Parts[len(w.Parts)-1])
}

// masked reports whether p is a text in parentheses that maskArray hid from the parser.
func (c *compiler) masked(p syntax.WordPart) bool {
	_, ok := p.(*syntax.DblQuoted)
	return ok && c.text(p.Pos().Offset(), p.Pos().Offset()+1) == "("
}

// assignments compiles a text of assignments, or the operands of a declaration command, that stands on its own.
func (c *compiler) assignments(text string, decl bool) []*assign {
	if decl {
		text = "declare " + text
	}
	if text == c.src { // it would be read the same way for ever
		return nil
	}
	f, bad, err := parseFile(text, c.step)
	if err != nil || len(f.Stmts) != 1 {
		return nil
	}
	sub := c.over(text, bad)
	s, ok := sub.command(f.Stmts[0].Cmd).(*simpleCmd)
	c.refuse(sub.refused)
	switch {
	case !ok:
		return nil
	case decl:
		return s.decl
	}
	return s.assigns
}

// over is a compiler for a part of the text.
func (c *compiler) over(src string, bad map[uint]int) compiler {
	return compiler{src: src, lines: c.lines, bad: bad, step: c.step, stray: c.stray, extglob: c.extglob, cond: c.cond}
}

func (c *compiler) assign(a *syntax.Assign) *assign {
	out := &assign{add: a.Append, naked: a.Naked, line: c.line(a.Pos())}
	if a.Name == nil {
		out.val = c.word(a.Value)
		return out
	}
	out.name = a.Name.Value
	if name, sub, ok := strings.Cut(c.text(a.Name.Pos().Offset(), a.Name.End().Offset()), "["); ok { // see maskArray
		out.name = name
		out.sub = c.subscript(strings.TrimSuffix(sub, "]"))
	}
	if a.Index != nil {
		out.sub = c.subscriptAt(a.Name.End().Offset())
	}
	if a.Value != nil && c.maskedArray(a.Value) {
		from := a.Pos().Offset()
		if arr := c.assignments(c.text(from, a.Value.End().Offset()), false); len(arr) == 1 {
			out.arr = arr[0].arr
			return out
		}
	}
	if a.Value != nil {
		out.val = c.assignWord(a.Value)
	}
	if a.Array != nil {
		out.arr = &arrayLit{}
		for _, e := range a.Array.Elems {
			var el arrayElem
			if e.Index != nil {
				start := e.Index.Pos().Offset()
				for start > 0 && c.src[start-1] != '[' {
					start--
				}
				el.sub = c.subscriptAt(start - 1)
				if end := closing(c.src, int(start)-1); strings.HasPrefix(c.src[min(end+1, len(c.src)):], "+=") {
					el.add = true
					if l, ok := e.Value.Parts[0].(*syntax.Lit); ok {
						l.Value = strings.TrimPrefix(l.Value, "+") // see maskArray
					}
				}
			}
			if e.Value != nil {
				if el.sub != nil {
					el.val = c.assignWord(e.Value)
					if el.add {
						el.val.src = strings.TrimPrefix(el.val.src, "=")
					}
				} else {
					el.val = c.word(e.Value)
				}
			}
			out.arr.elems = append(out.arr.elems, el)
		}
	}
	return out
}

// subscriptAt reads the subscript whose '[' is at offset at of the source.
func (c *compiler) subscriptAt(at uint) *subscript {
	if int(at) >= len(c.src) || c.src[at] != '[' {
		return &subscript{lit: "0", text: "0"}
	}
	return c.subscript(c.src[at+1 : closing(c.src, int(at))])
}

// closing returns the offset of the bracket that closes the '[' at i, honouring quotes and nesting.
func closing(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\'':
			for i++; i < len(s) && s[i] != '\''; i++ {
			}
		case '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case '$':
			if i+1 < len(s) && (s[i+1] == '{' || s[i+1] == '(') {
				i = skipNest(s, i+1)
			}
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

// skipNest returns the offset of the bracket that closes the one at i.
func skipNest(s string, i int) int {
	open := s[i]
	closer := byte('}')
	if open == '(' {
		closer = ')'
	}
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\'':
			for i++; i < len(s) && s[i] != '\''; i++ {
			}
		case open:
			depth++
		case closer:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

func (c *compiler) subscript(text string) *subscript {
	s := &subscript{text: c.stray.decode(text)}
	switch text {
	case "@", "*":
		s.all = text[0]
		s.lit = text
		return s
	}
	if strings.ContainsAny(text, "$`\"'\\~") {
		s.parts = c.loose(text)
		lit, ok := literal(s.parts)
		if !ok {
			return s
		}
		s.parts, s.lit = nil, lit
	} else {
		s.lit = s.text
	}
	s.expr, s.err = arith.Parse(s.lit)
	return s
}

func (c *compiler) arith(text string) *arithText {
	a := &arithText{text: text}
	t := text
	if strings.ContainsAny(text, "$`\"'\\") {
		t = strings.ReplaceAll(t, "\\\n", "")
		a.parts = c.loose(t)
		lit, ok := literal(a.parts)
		if !ok {
			return a
		}
		a.parts, t = nil, lit
	}
	a.text = c.stray.decode(t)
	a.expr, a.err = arith.Parse(a.text)
	return a
}

// literal joins parts that need no expansion.
func literal(parts []part) (string, bool) {
	if len(parts) == 1 {
		switch x := parts[0].(type) {
		case *litPart:
			return x.s, true
		case *quotedPart:
			return x.s, true
		}
	}
	var b strings.Builder
	for _, p := range parts {
		switch x := p.(type) {
		case *litPart:
			b.WriteString(x.s)
		case *quotedPart:
			b.WriteString(x.s)
		case *dqPart:
			s, ok := literal(x.parts)
			if !ok {
				return "", false
			}
			b.WriteString(s)
		default:
			return "", false
		}
	}
	return b.String(), true
}

// loose parses text as the parts of one word in which only quotes and expansions are special.
func (c *compiler) loose(text string) []part {
	var out []part
	lit := func(s string) {
		if s != "" {
			out = append(out, c.lit(s))
		}
	}
	start := 0
	for i := 0; i < len(text); {
		ch := text[i]
		if ch == '\\' {
			lit(text[start:i])
			if i+1 < len(text) {
				_, w := utf8.DecodeRuneInString(text[i+1:])
				if text[i+1] != '\n' {
					out = append(out, c.quoted(text[i+1:i+1+w]))
				}
				i += w
			}
			i++
			start = i
			continue
		}
		if ch != '$' && ch != '`' && ch != '"' && ch != '\'' {
			i++
			continue
		}
		part, n := c.first(text[i:])
		if n == 0 {
			i++
			continue
		}
		lit(text[start:i])
		out = append(out, part...)
		i += n
		start = i
	}
	lit(text[start:])
	return out
}

// first parses the quoted string or expansion that text begins with and returns its length, 0 if there is none.
func (c *compiler) first(text string) (parts []part, n int) {
	// Give the parser only the construct itself: what follows may not be a word.
	var end int
	switch {
	case text[0] == '\'':
		k := strings.IndexByte(text[1:], '\'')
		if k < 0 {
			return nil, 0
		}
		return []part{c.quoted(text[1 : 1+k])}, k + 2
	case text[0] == '"':
		end = quoteEnd(text, 0) + 1
	case text[0] == '`':
		for end = 1; end < len(text) && text[end] != '`'; end++ {
			if text[end] == '\\' {
				end++
			}
		}
		end++
	case strings.HasPrefix(text, "$(") || strings.HasPrefix(text, "${"):
		end = skipNest(text, 1) + 1
	case strings.HasPrefix(text, "$'"), strings.HasPrefix(text, "$\""):
		end = quoteEnd(text, 1) + 1
	default:
		end = 1
		for end < len(text) && (text[end] == '_' || 'a' <= text[end]|0x20 && text[end]|0x20 <= 'z' || '0' <= text[end] && text[end] <= '9') {
			end++
		}
		if end == 1 {
			if end < len(text) && strings.IndexByte("@*#?$!-", text[end]) >= 0 {
				end++
			} else {
				return nil, 0
			}
		} else if '0' <= text[1] && text[1] <= '9' {
			end = 2
		}
	}
	end = min(end, len(text))
	src := text[:end]
	f, bad, err := parseFile(src, c.step)
	if err != nil || len(f.Stmts) != 1 {
		return nil, 0
	}
	call, ok := f.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) != 1 {
		return nil, 0
	}
	sub := c.over(src, bad)
	parts = sub.parts(call.Args[0].Parts, false)
	c.refuse(sub.refused)
	return parts, end
}

func quoteEnd(s string, i int) int {
	q := s[i]
	for i++; i < len(s) && s[i] != q; i++ {
		if s[i] == '\\' {
			i++
		} else if q == '"' && s[i] == '$' && i+1 < len(s) && (s[i+1] == '(' || s[i+1] == '{') {
			i = skipNest(s, i+1)
		}
	}
	return min(i, len(s)-1)
}

func (c *compiler) word(w *syntax.Word) *word {
	if w == nil {
		return &word{isLit: true}
	}
	if c.step != nil {
		c.step()
	}
	out := &word{src: c.raw(w.Pos().Offset(), w.End().Offset()), parts: c.parts(w.Parts, false)}
	return c.finish(out, false)
}

func (c *compiler) assignWord(w *syntax.Word) *word {
	out := &word{src: c.raw(w.Pos().Offset(), w.End().Offset()), parts: c.parts(w.Parts, false)}
	return c.finish(out, true)
}

// finish finds tildes and braces, and precomputes words that need no expansion.
func (c *compiler) finish(w *word, assignment bool) *word {
	w.parts = tildes(w.parts, assignment)
	if !assignment {
		w.brace = hasBrace(w.parts)
	}
	if w.brace {
		return w
	}
	for _, p := range w.parts {
		if l, ok := p.(*litPart); ok && hasGlobChar(l.s) {
			return w
		}
	}
	w.lit, w.isLit = literal(w.parts)
	return w
}

func hasGlobChar(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*', '?', '[', '(':
			return true
		}
	}
	return false
}

// tildes turns the unquoted ~ prefixes into parts of their own: at the start, and in assignments after each ':'.
func tildes(parts []part, assignment bool) []part {
	has := false
	for _, p := range parts {
		if l, ok := p.(*litPart); ok && strings.IndexByte(l.s, '~') >= 0 {
			has = true
		}
	}
	if !has {
		return parts
	}
	var out []part
	for i, p := range parts {
		l, ok := p.(*litPart)
		if !ok {
			out = append(out, p)
			continue
		}
		s := l.s
		if i == 0 && !assignment {
			// A word that looks like an assignment has its value's tildes expanded.
			if eq := strings.IndexByte(s, '='); eq > 0 && isName(strings.TrimSuffix(s[:eq], "+")) {
				assignment = true
				out = append(out, &litPart{s[:eq+1]})
				out = append(out, tildeRun(s[eq+1:], i+1 < len(parts), true, true)...)
				continue
			}
		}
		out = append(out, tildeRun(s, i+1 < len(parts), i == 0, assignment)...)
	}
	return out
}

func tildeRun(s string, more, start, colons bool) []part {
	var out []part
	lit := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '~' || !(i == 0 && start || i > 0 && colons && s[i-1] == ':') {
			continue
		}
		j := i + 1
		for j < len(s) && s[j] != '/' && s[j] != ':' {
			j++
		}
		if j == len(s) && more {
			continue
		}
		if i > lit {
			out = append(out, &litPart{s[lit:i]})
		}
		out = append(out, &tildePart{s[i+1 : j]})
		lit = j
		i = j - 1
	}
	if lit < len(s) {
		out = append(out, &litPart{s[lit:]})
	}
	return out
}

func (c *compiler) parts(in []syntax.WordPart, dq bool) []part {
	out := make([]part, 0, len(in))
	for _, p := range in {
		out = append(out, c.part(p, dq)...)
	}
	return out
}

func (c *compiler) part(p syntax.WordPart, dq bool) []part {
	if n := c.bad[p.Pos().Offset()]; n > 0 {
		at := p.Pos().Offset()
		src := c.text(at, at+uint(n))
		if t := c.toggle(src); t != nil {
			return []part{t}
		}
		return []part{&badPart{c.stray.decode(src)}}
	}
	switch x := p.(type) {
	case *syntax.Lit:
		if dq {
			if x.Value == "" {
				return nil
			}
			return []part{c.quoted(unescape(x.Value, "$`\"\\"))}
		}
		return c.litParts(x.Value)
	case *syntax.SglQuoted:
		v := x.Value
		if x.Dollar {
			return []part{&quotedPart{ansiC(c.stray.decode(v))}}
		}
		return []part{c.quoted(v)}
	case *syntax.DblQuoted:
		if c.masked(x) {
			at, end := x.Pos().Offset(), x.End().Offset()
			return append(append([]part{c.quoted("(")}, c.loose(c.text(at+1, end-1))...), c.quoted(")"))
		}
		parts := c.parts(x.Parts, true)
		if dq { // "${x:-"a"}": already inside quotes
			return parts
		}
		if len(parts) == 0 {
			return []part{&quotedPart{""}}
		}
		if len(parts) == 1 {
			if q, ok := parts[0].(*quotedPart); ok {
				return []part{q}
			}
		}
		return []part{&dqPart{parts}}
	case *syntax.ParamExp:
		if at := x.Pos().Offset(); c.text(at, at+3) == "$((" {
			return []part{&arithPart{c.arith("")}} // see maskArray
		}
		return []part{c.param(x, dq)}
	case *syntax.CmdSubst:
		return []part{c.cmdSubst(x, dq)}
	case *syntax.ArithmExp:
		from := x.Left.Offset() + 3
		if x.Bracket {
			from--
		}
		return []part{&arithPart{c.arith(c.text(from, x.Right.Offset()))}}
	case *syntax.ProcSubst:
		return []part{&procPart{in: x.Op == syntax.CmdIn, stmts: c.stmts(x.Stmts)}}
	case *syntax.ExtGlob:
		if !c.extglob && !c.cond {
			at := x.Pos()
			c.refuse(syntax.LangError{Pos: syntax.NewPos(at.Offset()+1, at.Line(), at.Col()+1), Feature: "extended patterns"})
		}
		out := []part{&litPart{x.Op.String()}}
		out = append(out, c.loose(x.Pattern.Value)...)
		return append(out, &litPart{")"})
	}
	return nil
}

// toggle compiles ${x~} and ${x~~}, which the parser does not know.
func (c *compiler) toggle(src string) part {
	body := strings.TrimSuffix(strings.TrimPrefix(src, "${"), "}")
	i := 0
	for i < len(body) && (isNameByte(body[i]) || body[i] == '@' || body[i] == '*') {
		i++
	}
	p := &paramPart{name: body[:i], src: c.stray.decode(src), toggle: 1}
	if i < len(body) && body[i] == '[' {
		end := closing(body, i)
		if end >= len(body) {
			return nil
		}
		p.sub = c.subscript(body[i+1 : end])
		i = end + 1
	}
	if p.name == "" || i >= len(body) || body[i] != '~' {
		return nil
	}
	if i++; i < len(body) && body[i] == '~' {
		p.toggle = 2
		i++
	}
	p.arg = c.finishArg(&word{src: body[i:], parts: c.loose(body[i:])})
	return p
}

// litParts splits unquoted text at its backslashes.
func (c *compiler) litParts(v string) []part {
	if strings.IndexByte(v, '\\') < 0 {
		return []part{c.lit(v)}
	}
	var out []part
	start := 0
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' {
			continue
		}
		if i > start {
			out = append(out, c.lit(v[start:i]))
		}
		if i+1 >= len(v) {
			out = append(out, &quotedPart{"\\"})
			return out
		}
		_, w := utf8.DecodeRuneInString(v[i+1:])
		if v[i+1] != '\n' {
			out = append(out, c.quoted(v[i+1:i+1+w]))
		}
		i += w
		start = i + 1
	}
	if start < len(v) {
		out = append(out, c.lit(v[start:]))
	}
	return out
}

func (c *compiler) cmdSubst(x *syntax.CmdSubst, dq bool) *cmdPart {
	p := &cmdPart{line: c.line(x.Pos())}
	if x.Backquotes {
		esc := "$`\\"
		if dq {
			esc += "\""
		}
		p.prog = parse(unescape2(c.raw(x.Left.Offset()+1, x.Right.Offset()), esc), reading{lines: c.line(x.Pos()) - 1, step: c.step, extglob: c.extglob})
		return p
	}
	if len(x.Stmts) == 1 {
		s := x.Stmts[0]
		if s.Cmd == nil && len(s.Redirs) == 1 && s.Redirs[0].Op == syntax.RdrIn && s.Redirs[0].N == nil && !s.Negated && !s.Background {
			p.inFile = c.word(s.Redirs[0].Word)
		}
	}
	p.stmts = c.stmts(x.Stmts)
	return p
}

// unescape2 removes backslashes before the given characters only, keeping all others (also before newlines).
func unescape2(s, chars string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(chars, s[i+1]) >= 0 {
			i++
		} else if s[i] == '\\' && i+1 < len(s) {
			b.WriteByte('\\')
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (c *compiler) param(x *syntax.ParamExp, dq bool) part {
	p := &paramPart{excl: x.Excl, length: x.Length, line: c.line(x.Pos())}
	p.src = c.raw(x.Pos().Offset(), x.End().Offset())
	if x.Param != nil {
		p.name = x.Param.Value
	}
	if x.Index != nil && x.Param != nil {
		p.sub = c.subscriptAt(x.Param.End().Offset())
	}
	if x.Names != 0 {
		p.names = '*'
		if x.Names == syntax.NamesPrefixWords {
			p.names = '@'
		}
	}
	if x.Slice != nil {
		p.slice = true
		body := strings.TrimSuffix(p.src, "}")
		at := 0
		if x.Index != nil {
			at = closing(c.src, int(x.Param.End().Offset())) + 1 - int(x.Pos().Offset())
		} else {
			at = int(x.Param.End().Offset() - x.Pos().Offset())
		}
		if at < len(body) && body[at] == ':' {
			off, length, has := cutSlice(body[at+1:])
			if strings.TrimSpace(off) != "" {
				p.off = c.arith(off)
			}
			if has {
				p.len = c.arith(length)
			}
		}
	}
	if x.Repl != nil {
		p.repl = true
		p.all = x.Repl.All
		p.orig = c.argWord(x.Repl.Orig, false)
		p.with = c.argWord(x.Repl.With, false)
		if k := strings.Index(p.src, "///"); len(p.orig.parts) == 0 && k > 0 {
			// ${x////y}: the pattern is a slash.
			pat, with, _ := strings.Cut(strings.TrimSuffix(p.src[k+3:], "}"), "/")
			p.orig = c.finishArg(&word{src: "/" + pat, parts: c.loose("/" + pat)})
			p.with = c.finishArg(&word{src: with, parts: c.loose(with)})
		}
		if len(p.orig.parts) > 0 && !p.all {
			if l, ok := p.orig.parts[0].(*litPart); ok && (l.s[0] == '#' || l.s[0] == '%') {
				p.anchor = l.s[0]
				rest := append([]part{&litPart{l.s[1:]}}, p.orig.parts[1:]...)
				if len(l.s) == 1 {
					rest = rest[1:]
				}
				p.orig = c.finishArg(&word{src: p.orig.src, parts: rest})
			}
		}
	}
	if x.Exp != nil {
		p.hasOp = true
		p.op = x.Exp.Op
		switch p.op {
		case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix,
			syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
			p.arg = c.argWord(x.Exp.Word, false)
		default:
			p.arg = c.argWord(x.Exp.Word, dq)
		}
	}
	return p
}

// cutSlice splits offset:length at the first ':' that belongs to neither a ?: nor brackets.
func cutSlice(s string) (off, length string, has bool) {
	depth, quest := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '?':
			quest++
		case ':':
			if depth == 0 {
				if quest == 0 {
					return s[:i], s[i+1:], true
				}
				quest--
			}
		}
	}
	return s, "", false
}

// argWord compiles the word of an operator. Inside double quotes its text is quoted and single quotes are ordinary.
func (c *compiler) argWord(w *syntax.Word, dq bool) *word {
	if w == nil {
		return &word{isLit: true}
	}
	if c.step != nil {
		c.step()
	}
	out := &word{src: c.raw(w.Pos().Offset(), w.End().Offset())}
	if !dq {
		out.parts = tildes(c.parts(w.Parts, false), false)
		return c.finishArg(out)
	}
	for _, p := range w.Parts {
		if s, ok := p.(*syntax.SglQuoted); ok && !s.Dollar {
			out.parts = append(out.parts, &quotedPart{"'" + s.Value + "'"})
			continue
		}
		if l, ok := p.(*syntax.Lit); ok {
			out.parts = append(out.parts, &quotedPart{unescape(l.Value, "$`\"\\}")})
			continue
		}
		out.parts = append(out.parts, c.part(p, true)...)
	}
	return c.finishArg(out)
}

func (c *compiler) finishArg(w *word) *word {
	for _, p := range w.parts {
		if l, ok := p.(*litPart); ok && hasGlobChar(l.s) {
			return w
		}
	}
	w.lit, w.isLit = literal(w.parts)
	return w
}
