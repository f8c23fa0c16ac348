package shell

import (
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/arith"
)

func litWord(s string) *word {
	return &word{src: s, parts: []part{&litPart{s}}, lit: s, isLit: true}
}

// word compiles a word.
func (p *parser) word(t *token) *word {
	w := p.rawWord(t)
	if t.arr != nil {
		// Only declarations take arrays; to eval and alias it is text.
		w.parts = append(w.parts, &quotedPart{p.src[t.arrAt:t.end]})
	}
	return finish(w, false)
}

// assignWord compiles the value of an assignment.
func (p *parser) assignWord(t *token) *word { return finish(p.rawWord(t), true) }

func (p *parser) rawWord(t *token) *word {
	end := t.end
	if t.arr != nil {
		end = t.arrAt
	}
	w := &word{src: t.text}
	for _, s := range t.subs {
		if s.from >= t.start {
			w.subs = append(w.subs, span{s.from - t.start, s.to - t.start, s.cmd, s.proc})
		}
	}
	if !strings.ContainsAny(t.text, "\\'\"`$<>") {
		if t.text != "" {
			w.parts = []part{&litPart{p.src[t.start:end]}}
		}
		return w
	}
	w.parts = p.parts(t.start, end, modeWord)
	return w
}

// subscript compiles the text between the brackets of an array reference.
func (p *parser) subscript(from, to int) *subscript {
	text := p.src[from:to]
	s := &subscript{text: text}
	switch text {
	case "@", "*":
		s.all = text[0]
		s.lit = text
		return s
	}
	if strings.ContainsAny(text, "$`\"'\\~") {
		s.parts = p.parts(from, to, modeLoose)
		lit, ok := literal(s.parts)
		if !ok {
			return s
		}
		s.parts, s.lit = nil, lit
	} else {
		s.lit = text
	}
	s.expr, s.err = arith.Parse(s.lit)
	return s
}

// subscriptText compiles a subscript that comes from a value.
func (sh *Shell) subscriptText(text string) (s *subscript) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(*syntaxError); !ok {
				panic(r)
			}
			s = &subscript{text: text, lit: text}
			s.expr, s.err = arith.Parse(text)
		}
	}()
	return newParser(text, sh.line, sh.parseOptions()).subscript(0, len(text))
}

// arith compiles an arithmetic expression.
func (p *parser) arith(from, to int) *arithText {
	t := p.src[from:to]
	a := &arithText{text: t}
	if strings.ContainsAny(t, "$`\"'\\") {
		a.parts = p.parts(from, to, modeLoose)
		lit, ok := literal(a.parts)
		if !ok {
			return a
		}
		a.parts, t = nil, lit
	}
	a.text = t
	a.expr, a.err = arith.Parse(t)
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

// finish finds tildes and braces, and precomputes words that need no expansion.
func finish(w *word, assignment bool) *word {
	w.parts = tildes(w.parts, assignment)
	if !assignment {
		w.brace = hasBrace(w.parts)
	}
	if w.brace {
		return w
	}
	return finishArg(w)
}

// finishArg precomputes a word that needs no expansion.
func finishArg(w *word) *word {
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
		for j < len(s) && s[j] != '/' && (!colons || s[j] != ':') {
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

// param compiles the ${…} between two offsets.
func (p *parser) param(start, end int, m partMode) part {
	src := p.src[start:end]
	bad := &badPart{src: src}
	s := p.src
	i, to := start+2, end-1 // the text between the braces
	e := &paramPart{src: src, line: p.lineAt(start)}
	if i >= to {
		return bad
	}
	switch {
	case s[i] == '#' && i+1 < to && p.isLength(i+1, to):
		e.length = true
		i++
	case s[i] == '!' && i+1 < to && (isNameByte(s[i+1]) || s[i+1] == '@' || s[i+1] == '*' || strings.IndexByte("#?-$!", s[i+1]) >= 0 && (i+2 >= to || s[i+1] != '-' && s[i+1] != '?' && s[i+1] != '#')):
		e.excl = true
		i++
	}
	from := i
	switch c := s[i]; {
	case '0' <= c && c <= '9':
		for i < to && '0' <= s[i] && s[i] <= '9' {
			i++
		}
	case isNameByte(c):
		for i < to && isNameByte(s[i]) {
			i++
		}
	case strings.IndexByte("@*#?$!-", c) >= 0:
		i++
	default:
		return bad
	}
	e.name = s[from:i]
	if i < to && s[i] == '[' && isName(e.name) {
		close := p.skipBracket(i)
		if close > to || close == i+2 {
			return bad
		}
		e.sub = p.subscript(i+1, close-1)
		i = close
	}
	if e.length {
		if i < to {
			return bad
		}
		return e
	}
	if i >= to {
		return e
	}
	op, rest := s[i], i+1
	twice := rest < to && s[rest] == op
	arg := func(at int, quoting bool) *word {
		w := &word{src: s[at:to]}
		if quoting && m.quoting() {
			w.parts = p.parts(at, to, modeDoubleArg)
		} else {
			w.parts = tildes(p.parts(at, to, modeWord), false)
		}
		return finishArg(w)
	}
	e.hasOp = true
	switch op {
	case ':':
		if rest < to && strings.IndexByte("-=?+", s[rest]) >= 0 {
			e.op = paramOps[":"+s[rest:rest+1]]
			e.arg = arg(rest+1, true)
			return e
		}
		e.hasOp, e.slice = false, true
		p.slice(e, rest, to)
		return e
	case '-', '=', '?', '+':
		e.op = paramOps[s[i:rest]]
		e.arg = arg(rest, true)
		return e
	case '#', '%', '^', ',':
		if twice {
			rest++
		}
		e.op = paramOps[s[i:rest]]
		e.arg = arg(rest, false)
		return e
	case '~':
		e.hasOp, e.toggle = false, 1
		if twice {
			rest++
			e.toggle = 2
		}
		e.arg = arg(rest, false)
		return e
	case '/':
		e.hasOp, e.repl = false, true
		p.replacement(e, rest, to)
		return e
	case '@':
		if rest+1 == to && strings.IndexByte("QEPAKakuUL", s[rest]) >= 0 {
			e.op = transformOp
			e.arg = litWord(s[rest:to])
			return e
		}
		if rest == to && e.excl && e.sub == nil && isName(e.name) {
			e.hasOp, e.excl, e.names = false, false, '@'
			return e
		}
	case '*':
		if rest == to && e.excl && e.sub == nil && isName(e.name) {
			e.hasOp, e.excl, e.names = false, false, '*'
			return e
		}
	}
	return bad
}

// isLength reports whether what follows ${# is what it measures.
func (p *parser) isLength(i, to int) bool {
	c := p.src[i]
	switch {
	case isNameByte(c):
		return true
	case c == '@' || c == '*':
		return true
	}
	return i+1 == to && strings.IndexByte("#?$!-", c) >= 0
}

// slice compiles offset[:length].
func (p *parser) slice(e *paramPart, from, to int) {
	off, length, has := cutSlice(p.src[from:to])
	if strings.TrimSpace(off) != "" {
		e.off = p.arith(from, from+len(off))
	}
	if has {
		e.len = p.arith(to-len(length), to)
	}
}

// replacement compiles the pattern/string of ${x/pattern/string}.
func (p *parser) replacement(e *paramPart, i, to int) {
	s := p.src
	if i < to {
		switch s[i] {
		case '/':
			e.all = true
			i++
		case '#', '%':
			e.anchor = s[i]
			i++
		}
	}
	from := i
	// A slash that begins the pattern belongs to it.
	if i < to && s[i] == '/' && e.anchor == 0 {
		i++
	}
	for i < to && s[i] != '/' {
		switch s[i] {
		case '\\':
			i += 2
		case '\'', '"', '`', '$':
			i = p.skipQuoted(i, false)
		default:
			i++
		}
	}
	i = min(i, to)
	e.orig = finishArg(&word{src: s[from:i], parts: tildes(p.parts(from, i, modeWord), false)})
	e.with = &word{isLit: true}
	if i < to {
		e.with = finishArg(&word{src: s[i+1 : to], parts: tildes(p.parts(i+1, to, modeWord), false)})
	}
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

func isNameByte(c byte) bool {
	return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}
