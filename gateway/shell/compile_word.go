package shell

import (
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

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
func (c *compiler) loose(text string) []part { return c.looseParts(text, false) }

// looseArith is loose for arithmetic, where single quotes and most backslashes are ordinary characters, as in double
// quotes.
func (c *compiler) looseArith(text string) []part { return c.looseParts(text, true) }

func (c *compiler) looseParts(text string, inArith bool) []part {
	var out []part
	lit := func(s string) {
		if s != "" {
			out = append(out, c.lit(s))
		}
	}
	start := 0
	for i := 0; i < len(text); {
		ch := text[i]
		if inArith && (ch == '\'' || ch == '\\' && (i+1 == len(text) || strings.IndexByte("$`\"\\\n", text[i+1]) < 0)) {
			i++
			continue
		}
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
		found, n := c.first(text[i:])
		if n == 0 {
			i++
			continue
		}
		lit(text[start:i])
		if inArith && strings.HasPrefix(text[i:], "$'") {
			s, _ := literal(found)
			found = []part{c.lit(singleQuote(s))}
		}
		out = append(out, found...)
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
		end = expansionEnd(text, c.step)
	case strings.HasPrefix(text, "$'"), strings.HasPrefix(text, "$\""):
		end = quoteEnd(text, 1) + 1
	default:
		end = 1
		for end < len(text) && (text[end] == '_' || 'a' <= text[end]|0x20 && text[end]|0x20 <= 'z' ||
			'0' <= text[end] && text[end] <= '9') {
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
	out := &word{parts: c.parts(w.Parts, false)}
	out.src = c.printed(w.Pos().Offset(), w.End().Offset())
	return c.finish(out, false)
}

func (c *compiler) assignWord(w *syntax.Word) *word {
	out := &word{parts: c.parts(w.Parts, false)}
	out.src = c.printed(w.Pos().Offset(), w.End().Offset())
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
				for _, p := range out {
					if t, ok := p.(*tildePart); ok {
						t.loose = true
					}
				}
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
		out = append(out, &tildePart{user: s[i+1 : j]})
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
		if t := c.ofCount(src); t != nil {
			return []part{t}
		}
		return []part{&badPart{c.stray.decode(src)}}
	}
	if x, ok := p.(*syntax.ParamExp); ok && refusedOperator(c.text(x.Pos().Offset(), x.End().Offset())) {
		return []part{&badPart{c.raw(x.Pos().Offset(), x.End().Offset())}}
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
			text := ansiC(c.stray.decode(v))
			c.reprinted(x.Pos().Offset(), x.End().Offset(), singleQuote(text))
			return []part{&quotedPart{text}}
		}
		return []part{c.quoted(v)}
	case *syntax.DblQuoted:
		if c.masked(x) {
			at, end := x.Pos().Offset(), x.End().Offset()
			return append(append([]part{c.quoted("(")}, c.loose(c.text(at+1, end-1))...), c.quoted(")"))
		}
		if at := x.Pos().Offset(); x.Dollar {
			c.reprinted(at, at+1, "")
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
		if x.TempFile || x.ReplyVar { // ${ …; } and ${| …; } came after bash 5.2
			return []part{&badPart{c.raw(x.Pos().Offset(), x.End().Offset())}}
		}
		return []part{c.cmdSubst(x, dq)}
	case *syntax.ArithmExp:
		from := x.Left.Offset() + 3
		if x.Bracket {
			from--
		}
		return []part{&arithPart{c.arith(c.text(from, x.Right.Offset()))}}
	case *syntax.ProcSubst:
		c.substs++
		p := &procPart{in: x.Op == syntax.CmdIn, stmts: c.stmts(x.Stmts)}
		p.placed, p.height = c.place(p.stmts, x.Pos(), x.End())
		c.substs--
		return []part{p}
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

// refusedOperator reports whether bash, unlike the parser, knows no such expansion: ${#=…} and ${!?…}.
func refusedOperator(src string) bool {
	return strings.HasPrefix(src, "${#=") || strings.HasPrefix(src, "${!?") && src != "${!?}" &&
		!strings.HasPrefix(src, "${!?:")
}

// ofCount compiles an operator applied to $#, as in ${##x}, where the parser sees a length.
func (c *compiler) ofCount(src string) part {
	op, ok := strings.CutPrefix(src, "${#")
	if !ok || op[0] != '#' && op[0] != '%' {
		return nil
	}
	parts, _ := c.first("${_" + op)
	if len(parts) != 1 {
		return nil
	}
	p, ok := parts[0].(*paramPart)
	if !ok {
		return nil
	}
	p.name, p.src = "#", c.stray.decode(src)
	return p
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
		p.prog = parse(unescape2(c.raw(x.Left.Offset()+1, x.Right.Offset()), esc),
			reading{lines: c.line(x.Pos()) - 1, step: c.step, extglob: c.extglob, reprint: c.reprint})
		return p
	}
	c.substs++
	p.stmts = c.stmts(x.Stmts)
	p.placed, p.height = c.place(p.stmts, x.Pos(), x.End())
	c.substs--
	return p
}

// maxReprint bounds how deep in each other the substitutions are that are printed: each print has all that is inside.
const maxReprint = 64

// place gives the commands of a substitution the lines that bash counts: it prints what it has read, and reads that
// again, from the line that the command around it is on.
func (c *compiler) place(stmts []*stmt, from, to syntax.Pos) (placed bool, height int) {
	if !c.reprint || c.substs > maxReprint {
		return false, 0
	}
	p := treePrinter{comsub: true, line: 1}
	if c.step != nil {
		p.grown = func(int) { c.step() }
	}
	p.list(stmts)
	text := strings.TrimLeft(p.b.String(), " ")
	if strings.HasPrefix(text, "(") {
		text = " " + text
	}
	at := from.Offset()
	c.reprinted(at, to.Offset(), c.text(at, at+2)+text+")")
	return true, p.line - 1
}

// unescape2 removes backslashes before the given characters only, and continued line ends.
func unescape2(s, chars string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(chars, s[i+1]) >= 0 {
			i++
		} else if strings.HasPrefix(s[i:], "\\\n") {
			i++
			continue
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
		if p.name == "_" && strings.HasPrefix(p.src, "${!") {
			p.name = "!" // masked
		}
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
			if depth == 0 {
				quest++
			}
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
		if l, ok := p.(*syntax.Lit); ok {
			out.parts = append(out.parts, c.quoted(unescape(l.Value, "$`\"\\}")))
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
