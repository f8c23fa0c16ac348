package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// compiler turns the parser's tree into ours. Arithmetic and subscripts are taken from the source text, because bash
// expands them first and parses the result.
type compiler struct {
	src   string
	lines int          // added to line numbers
	bad   map[uint]int // offsets where a bad substitution was masked → its length
	step  func()       // for every statement and word

	stray   encoding  // what stands for the bytes that are no UTF-8
	extglob bool      // extended patterns are understood everywhere
	cond    bool      // inside [[ ]], where they always are
	reprint bool      // lines inside $(…) are those of bash's own print of it
	prints  []reprint // in the order of the source
	substs  int       // how many substitutions what is compiled is in
	refused error     // the first construct that the parser takes and bash does not
}

// reprint is a piece of the source that bash shows otherwise than it was written: $(…), $'…' and $"…" in a command that
// it prints.
type reprint struct {
	from, to uint
	text     string
}

// printed is the source between two offsets as bash prints it.
func (c *compiler) printed(from, to uint) string {
	i := len(c.prints)
	for i > 0 && c.prints[i-1].from >= from {
		i--
	}
	var b strings.Builder
	for _, r := range c.prints[i:] {
		if r.to > to {
			break
		}
		b.WriteString(c.raw(from, r.from))
		b.WriteString(r.text)
		from = r.to
	}
	if b.Len() == 0 {
		return c.raw(from, to)
	}
	b.WriteString(c.raw(from, to))
	return b.String()
}

// reprint notes how bash prints a piece of the source, instead of the pieces in it.
func (c *compiler) reprinted(from, to uint, text string) {
	for len(c.prints) > 0 && c.prints[len(c.prints)-1].from >= from {
		c.prints = c.prints[:len(c.prints)-1]
	}
	c.prints = append(c.prints, reprint{from, to, text})
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
	st := &stmt{line: c.line(s.Pos()), negated: s.Negated, background: s.Background, newline: !s.Semicolon.IsValid()}
	end := s.End().Offset()
	if s.Semicolon.IsValid() {
		end = s.Semicolon.Offset()
	}
	st.src = strings.TrimRight(c.raw(s.Pos().Offset(), end), " \t\n;")
	for _, r := range s.Redirs {
		st.redirs = append(st.redirs, c.redirect(r))
	}
	if s.Cmd != nil {
		if call, ok := s.Cmd.(*syntax.CallExpr); ok && len(call.Assigns) == 0 && len(call.Args) > 0 &&
			closers[call.Args[0].Lit()] &&
			(len(s.Redirs) == 0 || s.Redirs[0].Pos().After(call.Pos())) {
			c.refuse(syntax.LangError{Pos: call.Pos(), Feature: "a command named as a reserved word"})
		}
		st.cmd = c.command(s.Cmd)
		if at := s.Cmd.Pos().Offset(); c.bad[at] == -1 && c.text(at, at+1) == "!" {
			st.negated, st.cmd = !st.negated, &simpleCmd{line: st.line} // see loneNot
		}
	}
	return st
}

// operands compiles the operands of a declaration command that the parser has refused: those that are assignments are
// not split.
func (c *compiler) operands(in []*syntax.Word, words []*word) []*assign {
	out := make([]*assign, 0, len(in))
	for i, w := range in {
		if l, ok := w.Parts[0].(*syntax.Lit); ok && strings.Contains(l.Value, "=") {
			if a := c.assignments(c.text(w.Pos().Offset(), w.End().Offset()), true); len(a) == 1 {
				out = append(out, a[0])
				continue
			}
		}
		out = append(out, &assign{val: words[i]})
	}
	return out
}

// commandOperands has POSIX mode expand the tildes in the operands of a declaration command behind "command".
func commandOperands(args []*word) {
	k := 0
	for k < len(args) && args[k].lit == "command" {
		k++
	}
	if k == 0 || k == len(args) || !slices.Contains(declarations, args[k].lit) {
		return
	}
	for _, w := range args[k:] {
		for _, p := range w.parts {
			if t, ok := p.(*tildePart); ok {
				t.loose = false
			}
		}
	}
}

func (c *compiler) command(cmd syntax.Command) command {
	switch x := cmd.(type) {
	case *syntax.CallExpr:
		if at := x.Pos().Offset(); c.bad[at] == -4 && c.text(at, at+4) == "(())" { // see parseFile
			return &arithCmd{x: c.arith(""), line: c.line(x.Pos())}
		}
		s := &simpleCmd{line: c.line(x.Pos())}
		for _, a := range x.Assigns {
			s.assigns = append(s.assigns, c.assign(a))
		}
		if n := len(x.Args); n > 1 && slices.Contains(declarations, x.Args[0].Lit()) &&
			slices.ContainsFunc(x.Args[1:], c.maskedArray) {
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
				if slices.Contains(declarations, s.args[0].lit) {
					s.isDecl, s.args, s.decl = true, s.args[:1], c.operands(x.Args[1:], s.args[1:])
				}
			}
			commandOperands(s.args)
		}
		s.line = c.simpleLine(x)
		return s
	case *syntax.DeclClause:
		s := &simpleCmd{line: c.line(x.Pos()), isDecl: true, args: []*word{litWord(x.Variant.Value)}}
		for _, a := range x.Args {
			d := c.assign(a)
			if d.sub != nil {
				d.sub.unquoted()
			}
			s.decl = append(s.decl, d)
		}
		if len(x.Args) > 0 {
			s.line = c.line(x.Args[0].End())
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
		k := &caseCmd{word: c.word(x.Word), line: c.line(x.Word.End())}
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
		case nil, *syntax.CallExpr, *syntax.FuncDecl, *syntax.DeclClause, *syntax.LetClause, *syntax.TimeClause,
			*syntax.CoprocClause:
			c.refuse(syntax.LangError{Pos: x.Body.Pos(), Feature: "functions that are simple commands"})
		}
		return &funcDecl{name: c.raw(x.Name.Pos().Offset(), x.Name.End().Offset()), body: c.stmt(x.Body),
			line: c.line(x.Pos()), src: c.raw(x.Pos().Offset(), x.End().Offset())}
	case *syntax.ArithmCmd:
		return &arithCmd{x: c.arith(c.text(x.Left.Offset()+2, x.Right.Offset())), line: c.line(x.Right)}
	case *syntax.TestClause:
		was := c.cond
		c.cond = true
		t := &testCmd{x: c.test(x.X), line: c.line(x.X.End())}
		c.cond = was
		return t
	case *syntax.TimeClause:
		t := &timeCmd{posix: x.PosixFormat}
		if x.Stmt != nil {
			if call, ok := x.Stmt.Cmd.(*syntax.CallExpr); ok && len(call.Assigns) == 0 && len(call.Args) > 1 &&
				call.Args[0].Lit() == "--" {
				call.Args = call.Args[1:]
				t.posix = true
			}
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
		if !ok || (next.Op == syntax.Pipe || next.Op == syntax.PipeAll) != pipe || b.X.Negated || b.X.Background ||
			len(b.X.Redirs) > 0 {
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

// definedFirst is a list or pipeline whose first command is the definition of a function: the parser takes all of it
// for the function's body.
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

// maskedArray reports whether w ends with an array that maskArray hid from the parser: what goes on after the
// parenthesis is no array for bash.
func (c *compiler) maskedArray(w *syntax.Word) bool {
	return len(w.Parts) > 0 && c.masked(w.Parts[len(w.Parts)-1])
}

// masked reports whether p is a text in parentheses that maskArray hid from the parser.
func (c *compiler) masked(p syntax.WordPart) bool {
	_, ok := p.(*syntax.DblQuoted)
	return ok && c.text(p.Pos().Offset(), p.Pos().Offset()+1) == "("
}
