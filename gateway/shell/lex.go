package shell

import (
	"strings"
	"unicode/utf8"
)

// maxNesting bounds how deep a script may nest brackets and keywords: the parser is recursive and a Go stack
// overflow cannot be recovered.
const maxNesting = 10_000

// syntaxError is a script that does not parse, in bash's words.
type syntaxError struct {
	line   int
	msg    string
	texts  []string // lines shown after the message
	status int      // 0 is 2
	eof    bool     // more text might make it right
	quiet  bool     // leaves the status alone
	fatal  bool     // ends the shell, whatever runs it
}

func (e *syntaxError) Error() string { return e.msg }

// parseOptions are the settings that change how a script is read.
type parseOptions struct {
	extglob bool
	aliases map[string]string // nil: aliases are not expanded
}

type tokenKind uint8

const (
	tokEOF tokenKind = iota
	tokNewline
	tokOp
	tokWord
	tokNumber // digits right before < or >
	tokVar    // {name} right before < or >
)

// lexMode says what a word may be where it stands.
type lexMode uint8

const (
	lexArg     lexMode = iota // an operand
	lexAssign                 // an operand that may be name=(…)
	lexCommand                // where a command may begin: name=(…), aliases
	lexRegex                  // the right side of =~
	lexPattern                // the right side of == in [[ ]]
	lexElem                   // an element of name=(…)
)

type token struct {
	kind       tokenKind
	mode       lexMode
	text       string // the operator, or the word as written
	start, end int
	line       int
	subs       []span
	arr        *arrayLit // of name=(…)
	arrAt      int       // where its '(' is
}

func (t *token) op(s string) bool   { return t.kind == tokOp && t.text == s }
func (t *token) word(s string) bool { return t.kind == tokWord && t.text == s }

// span is a command or process substitution in a word, by offset.
type span struct {
	from, to int
	cmd      *cmdPart
	proc     *procPart
}

// aliasText is the text of an alias that has been put into the script and is not yet read.
type aliasText struct {
	name  string
	end   int
	blank bool // ends in a blank: the next word is looked up, too
}

// parser reads a script command by command, as bash does: what one line sets (aliases, extglob) holds for the next.
type parser struct {
	opts     parseOptions
	src      string
	pos      int // end of what has been read
	lines    int // added to line numbers
	lineOff  int // an offset and its line
	lineNo   int
	tok      token
	have     bool
	heredocs []*redirect // whose bodies come after the line
	subs     []span      // in the word that is being read
	memo     map[int]span
	ends     map[int]int // where nested quotes and expansions end, by where they begin
	aliases  []aliasText
	aliased  bool // an alias has been expanded
	depth    int
	inSubst  int
	failed   bool // there was a syntax error: nothing more is read
	openDoc  bool // a here-document was not closed
	warnings []string
	from     int // where the current group begins
}

func newParser(src string, lines int, o parseOptions) *parser {
	return &parser{src: src, lines: lines, opts: o, lineNo: 1}
}

// scriptParser reads a text whose last line may lack its newline.
func scriptParser(src string, lines int, o parseOptions) *parser {
	if !strings.HasSuffix(src, "\n") {
		src += "\n"
	}
	return newParser(src, lines, o)
}

// sub is a parser of a text inside the script.
func (p *parser) sub(text string, line int) *parser {
	q := newParser(text, line-1, p.opts)
	q.depth = p.depth
	q.enter()
	return q
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxNesting {
		panic(&syntaxError{line: p.lines + p.lineNo, msg: "syntax error: nesting too deep"})
	}
}

func (p *parser) leave() { p.depth-- }

// lineAt is the line of an offset.
func (p *parser) lineAt(off int) int {
	off = min(off, len(p.src))
	if off < p.lineOff {
		p.lineNo -= strings.Count(p.src[off:p.lineOff], "\n")
	} else {
		p.lineNo += strings.Count(p.src[p.lineOff:off], "\n")
	}
	p.lineOff = off
	return p.lineNo + p.lines
}

// lastLine is the line bash is at when it has read everything.
func (p *parser) lastLine() int {
	n := p.lineAt(len(p.src))
	if !strings.HasSuffix(p.src, "\n") {
		n++
	}
	return n
}

// unmatched is the end of the text inside quotes or brackets.
func (p *parser) unmatched(c byte, at int) {
	panic(&syntaxError{line: p.lineAt(at), msg: "unexpected EOF while looking for matching `" + string(c) + "'", eof: true})
}

// peek returns the next token, which mode says how to read.
func (p *parser) peek(mode lexMode) *token {
	if p.have && p.tok.mode != mode && p.tok.kind == tokWord {
		p.pos, p.have = p.tok.start, false
	}
	if !p.have {
		p.tok = p.scan(mode)
		p.have = true
	}
	return &p.tok
}

func (p *parser) take() token {
	p.have = false
	return p.tok
}

func isMeta(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '|', '&', ';', '(', ')', '<', '>':
		return true
	}
	return false
}

// blanks skips blanks, continued lines and a comment.
func (p *parser) blanks() {
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == ' ' || c == '\t':
			p.pos++
		case c == '\\' && p.pos+1 < len(p.src) && p.src[p.pos+1] == '\n':
			p.pos += 2
		case c == '#':
			k := strings.IndexByte(p.src[p.pos:], '\n')
			if k < 0 {
				p.pos = len(p.src)
			} else {
				p.pos += k
			}
			return
		default:
			return
		}
	}
}

var operators = []string{";;&", "<<<", "<<-", "&>>", "&&", "||", ";;", ";&", "|&", "<<", ">>", "<&", ">&", "<>", ">|", "&>"}

func (p *parser) scan(mode lexMode) token {
	for {
		p.blanks()
		start := p.pos
		t := token{mode: mode, start: start, line: p.lineAt(start)}
		if start >= len(p.src) {
			p.readHeredocs()
			t.end = start
			return t
		}
		c := p.src[start]
		if c == '\n' {
			p.pos++
			t.kind, t.text, t.end = tokNewline, "\n", p.pos
			p.readHeredocs()
			return t
		}
		if isMeta(c) && !(mode == lexRegex && (c == '(' || c == '|')) && !(c == '<' || c == '>') || (c == '<' || c == '>') && !strings.HasPrefix(p.src[start+1:], "(") {
			t.kind, t.text = tokOp, p.src[start:start+1]
			for _, op := range operators {
				if strings.HasPrefix(p.src[start:], op) {
					t.text = op
					break
				}
			}
			p.pos += len(t.text)
			t.end = p.pos
			return t
		}
		next := false
		for n := len(p.aliases); n > 0 && p.aliases[n-1].end <= start; n-- {
			next = next || p.aliases[n-1].blank
			p.aliases = p.aliases[:n-1]
		}
		p.lexWord(&t)
		if p.opts.aliases != nil && (mode == lexCommand || next && mode <= lexCommand) && p.expandAlias(&t) {
			continue
		}
		if p.pos < len(p.src) && (p.src[p.pos] == '<' || p.src[p.pos] == '>') {
			switch {
			case strings.Trim(t.text, "0123456789") == "":
				t.kind = tokNumber
			case t.text[0] == '{' && isRedirVar(t.text):
				t.kind = tokVar
			}
		}
		return t
	}
}

func isRedirVar(s string) bool {
	if !strings.HasSuffix(s, "}") {
		return false
	}
	n, sub, ok := strings.Cut(s[1:len(s)-1], "[")
	return isName(n) && (!ok || strings.HasSuffix(sub, "]"))
}

// expandAlias replaces an alias in the script by its text.
func (p *parser) expandAlias(t *token) bool {
	text, ok := p.opts.aliases[t.text]
	if !ok {
		return false
	}
	for _, a := range p.aliases {
		if a.name == t.text {
			return false
		}
	}
	if len(p.aliases) > 100 {
		return false
	}
	p.aliased = true
	p.src = p.src[:t.start] + text + p.src[t.end:]
	shift := len(text) - (t.end - t.start)
	for i := range p.aliases {
		p.aliases[i].end += shift
	}
	p.lineAt(t.start)
	// Its lines are not lines of the script.
	p.lines -= strings.Count(text, "\n")
	blank := text != "" && (text[len(text)-1] == ' ' || text[len(text)-1] == '\t')
	p.aliases = append(p.aliases, aliasText{t.text, t.start + len(text), blank})
	p.pos = t.start
	return true
}

// lexWord reads the word at t.start.
func (p *parser) lexWord(t *token) {
	outer := p.subs
	p.subs = nil
	s, i := p.src, t.start
	pattern := p.opts.extglob || t.mode == lexPattern
	assigns := t.mode == lexCommand || t.mode == lexAssign || t.mode == lexElem
	t.kind = tokWord
	if t.mode == lexElem && s[i] == '[' {
		i = p.skipBracket(i)
	}
loop:
	for i < len(s) {
		switch c := s[i]; c {
		case '\\':
			if i+1 < len(s) && s[i+1] == '\n' {
				p.joinLines(i)
				s = p.src
				continue
			}
			i = min(i+2, len(s))
			continue
		case '\'', '"', '`', '$':
			if c == '$' && strings.HasPrefix(s[i+1:], "\\\n") {
				p.joinLines(i + 1)
				s = p.src
				continue
			}
			i = p.skipQuoted(i, false)
			s = p.src
			continue
		case '<', '>':
			if i+1 < len(s) && s[i+1] == '(' {
				i = p.substitution(i)
				s = p.src
				continue
			}
			break loop
		case '(', '|':
			if t.mode == lexRegex {
				if c == '(' {
					i = p.skipParen(i)
					s = p.src
				} else {
					i++
				}
				continue
			}
			break loop
		case ' ', '\t', '\n', '&', ';', ')':
			break loop
		case '?', '*', '+', '@', '!':
			if pattern && i+1 < len(s) && s[i+1] == '(' {
				i = p.skipParen(i + 1)
				s = p.src
				continue
			}
		case '[':
			if assigns && i > t.start && isName(s[t.start:i]) {
				i = p.skipBracket(i)
				s = p.src
				continue
			}
		case '=':
			if assigns && t.mode != lexElem && i+1 < len(s) && s[i+1] == '(' && i > t.start {
				if n := assignEnd(s[t.start : i+1]); n == i+1-t.start {
					t.arrAt = i + 1
					t.arr = p.arrayLit(i + 1)
					i = p.pos
					s = p.src
					break loop
				}
			}
		}
		i++
	}
	p.pos = i
	t.end = i
	t.text = p.src[t.start:i]
	t.subs = p.subs
	p.subs = outer
}

// joinLines removes the backslash and newline at i, so that a word is in one piece.
func (p *parser) joinLines(i int) {
	p.lineAt(i)
	p.src = p.src[:i] + p.src[i+2:]
	p.lines++
	for k := range p.aliases {
		p.aliases[k].end -= 2
	}
}

// assignEnd is the length of "name=", "name+=" or "name[…]=" that s begins with, 0 when there is none.
func assignEnd(s string) int {
	i := 0
	for i < len(s) && isNameByte(s[i]) {
		i++
	}
	if i == 0 || '0' <= s[0] && s[0] <= '9' {
		return 0
	}
	if i < len(s) && s[i] == '[' {
		if i = closing(s, i) + 1; i > len(s) {
			return 0
		}
	}
	if i < len(s) && s[i] == '+' {
		i++
	}
	if i < len(s) && s[i] == '=' {
		return i + 1
	}
	return 0
}

// skipQuoted returns the offset after the quoted string or expansion at i; a lone $ is one character.
func (p *parser) skipQuoted(i int, dq bool) int {
	s := p.src
	switch s[i] {
	case '\'':
		k := strings.IndexByte(s[i+1:], '\'')
		if k < 0 {
			p.unmatched('\'', i)
		}
		return i + k + 2
	case '"':
		return p.skipDouble(i)
	case '`':
		at := i
		for i++; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case '`':
				return i + 1
			}
		}
		p.unmatched('`', at)
	}
	if i+1 >= len(s) {
		return i + 1
	}
	switch s[i+1] {
	case '(':
		if end := p.arithEnd(i); end > 0 {
			return end
		}
		return p.substitution(i)
	case '{':
		return p.remember(i, p.skipBrace, 1)
	case '[':
		return p.remember(i, p.skipBracket, 1)
	case '\'':
		if dq {
			break
		}
		at := i + 1
		for i += 2; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case '\'':
				return i + 1
			}
		}
		p.unmatched('\'', at)
	case '"':
		if !dq {
			return p.skipDouble(i + 1)
		}
	case '$':
		return i + 2
	}
	return i + 1
}

// remember runs skip at i+off unless the end of what begins at i is known: nested constructs are read at every level.
func (p *parser) remember(i int, skip func(int) int, off int) int {
	if end, ok := p.ends[i]; ok {
		return end
	}
	p.enter()
	end := skip(i + off)
	p.leave()
	if end-i > 32 || end == 0 {
		if p.ends == nil {
			p.ends = map[int]int{}
		}
		p.ends[i] = end
	}
	return end
}

// arithEnd is the offset after the $(( … )) at i, 0 when it is not one.
func (p *parser) arithEnd(i int) int {
	if i+2 >= len(p.src) || p.src[i+2] != '(' {
		return 0
	}
	return p.remember(i, func(at int) int {
		end := p.skipParen(at)
		if end-2 > at+1 && p.src[end-2] == ')' && p.skipParen(at+1) == end-1 {
			return end
		}
		return 0
	}, 1)
}

func (p *parser) skipDouble(at int) int { return p.remember(at, p.skipDoubleAt, 0) }

func (p *parser) skipDoubleAt(at int) int {
	for i := at + 1; i < len(p.src); {
		switch p.src[i] {
		case '\\':
			i += 2
		case '"':
			return i + 1
		case '$', '`':
			i = p.skipQuoted(i, true)
		default:
			i++
		}
	}
	p.unmatched('"', at)
	return 0
}

// skipBrace returns the offset after the } for the { at i, which follows a $.
func (p *parser) skipBrace(at int) int {
	for i := at + 1; i < len(p.src); {
		switch p.src[i] {
		case '\\':
			i += 2
		case '}':
			return i + 1
		case '\'', '"', '`', '$':
			i = p.skipQuoted(i, false)
		default:
			i++
		}
	}
	p.unmatched('}', at)
	return 0
}

// skipParen returns the offset after the ) for the ( at i.
func (p *parser) skipParen(at int) int { return p.skipPair(at, '(', ')') }

// skipBracket returns the offset after the ] for the [ at i.
func (p *parser) skipBracket(at int) int { return p.skipPair(at, '[', ']') }

func (p *parser) skipPair(at int, open, end byte) int {
	p.enter()
	defer p.leave()
	depth := 0
	for i := at; i < len(p.src); {
		switch p.src[i] {
		case '\\':
			i += 2
		case open:
			depth++
			i++
		case end:
			i++
			if depth--; depth == 0 {
				return i
			}
		case '\'', '"', '`', '$':
			i = p.skipQuoted(i, false)
		default:
			i++
		}
	}
	p.unmatched(end, at)
	return 0
}

// substitution parses $( ), <( ) or >( ) at i and returns the offset after it.
func (p *parser) substitution(i int) int {
	if s, ok := p.memo[i]; ok {
		if s.to > 0 {
			p.subs = append(p.subs, s)
		}
		return s.to
	}
	p.enter()
	tok, have, from := p.tok, p.have, p.from
	outer := p.subs
	p.pos, p.have, p.subs = i+2, false, nil
	p.inSubst++
	line := p.lineAt(i)
	var list []*stmt
	if p.newlines(); !p.peek(lexCommand).op(")") {
		list = p.stmts()
	}
	t := p.peek(lexArg)
	if !t.op(")") {
		p.unexpected(t)
	}
	p.inSubst--
	sp := span{from: i, to: t.end}
	if p.src[i] == '$' {
		sp.cmd = &cmdPart{stmts: list, line: line}
		if len(list) == 1 {
			if st := list[0]; st.cmd == nil && len(st.redirs) == 1 && st.redirs[0].op == rdrIn && st.redirs[0].fd < 0 && st.redirs[0].varName == "" && !st.negated && !st.background {
				sp.cmd.inFile = st.redirs[0].word
			}
		}
	} else {
		sp.proc = &procPart{in: p.src[i] == '<', stmts: list}
	}
	p.tok, p.have, p.from = tok, have, from
	p.subs = append(outer, sp)
	if p.memo == nil {
		p.memo = map[int]span{}
	}
	p.memo[i] = sp
	p.leave()
	return sp.to
}

// arrayLit reads the ( … ) of name=( … ) at i; p.pos is after it.
func (p *parser) arrayLit(i int) *arrayLit {
	p.enter()
	tok, have := p.tok, p.have
	outer := p.subs
	p.pos, p.have = i+1, false
	a := &arrayLit{}
	for {
		t := p.peek(lexElem)
		switch {
		case t.kind == tokNewline:
			p.take()
			continue
		case t.op(")"):
			end := t.end
			p.tok, p.have, p.pos = tok, have, end
			p.subs = outer
			p.leave()
			return a
		case t.kind == tokEOF:
			panic(&syntaxError{line: p.lineAt(i), msg: "unexpected EOF while looking for matching `)'", status: 1, eof: true})
		case t.kind != tokWord:
			e := p.unexpectedError(t)
			e.status = 1
			panic(e)
		}
		w := p.take()
		outer = append(outer, w.subs...)
		var el arrayElem
		if w.text[0] == '[' {
			end := p.skipBracket(w.start)
			add := strings.HasPrefix(p.src[end:w.end], "+=")
			if add || strings.HasPrefix(p.src[end:w.end], "=") {
				el.sub = p.subscript(w.start+1, end-1)
				el.add = add
				v := w
				v.start = end + 1
				if add {
					v.start++
				}
				v.text = p.src[v.start:v.end]
				el.val = p.assignWord(&v)
			}
		}
		if el.sub == nil {
			el.val = p.word(&w)
		}
		a.elems = append(a.elems, el)
	}
}

// readHeredocs reads the bodies of the here-documents of the line that has just ended.
func (p *parser) readHeredocs() {
	docs := p.heredocs
	p.heredocs = nil
	for _, r := range docs {
		delim := unquoteText(r.word.src)
		r.delim = delim
		first := p.lineAt(p.pos)
		var b strings.Builder
		closed := false
		for p.pos < len(p.src) {
			line := p.heredocLine(!r.quoted)
			if r.strip {
				line = strings.TrimLeft(line, "\t")
			}
			if strings.TrimSuffix(line, "\n") == delim {
				closed = true
				break
			}
			b.WriteString(line)
		}
		if !closed {
			at := p.lineAt(len(p.src))
			if strings.HasSuffix(p.src, "\n") {
				at--
			}
			p.warnings = append(p.warnings, "line "+itoa(max(at, r.line))+": warning: here-document at line "+itoa(r.line)+" delimited by end-of-file (wanted `"+delim+"')\n")
			p.openDoc = true
		}
		text := b.String()
		r.heredoc = &word{src: text}
		if r.quoted {
			r.heredoc.parts = []part{&quotedPart{text}}
			continue
		}
		r.heredoc.parts = p.textParts(text, first, modeHeredoc)
	}
}

// heredocLine takes one line, with what backslashes join to it.
func (p *parser) heredocLine(join bool) string {
	k := strings.IndexByte(p.src[p.pos:], '\n')
	if k < 0 {
		k = len(p.src) - p.pos - 1
	}
	line := p.src[p.pos : p.pos+k+1]
	p.pos += k + 1
	for join && strings.HasSuffix(line, "\\\n") {
		n := len(line) - 1
		for n > 0 && line[n-1] == '\\' {
			n--
		}
		if (len(line)-1-n)%2 == 0 || p.pos >= len(p.src) {
			break
		}
		k := strings.IndexByte(p.src[p.pos:], '\n')
		if k < 0 {
			k = len(p.src) - p.pos - 1
		}
		line = line[:len(line)-2] + p.src[p.pos:p.pos+k+1]
		p.pos += k + 1
	}
	return line
}

// unquoteText removes the quotes of a word without expanding it.
func unquoteText(s string) string {
	if !strings.ContainsAny(s, "'\"\\") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i < len(s) && s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case '\'':
			for i++; i < len(s) && s[i] != '\''; i++ {
				b.WriteByte(s[i])
			}
		case '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\", s[i+1]) >= 0 {
					i++
				}
				b.WriteByte(s[i])
			}
		case '$':
			if i+1 < len(s) && (s[i+1] == '\'' || s[i+1] == '"') {
				continue
			}
			b.WriteByte('$')
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// partMode says what is special in a text that is cut into parts.
type partMode uint8

const (
	modeWord      partMode = iota
	modeLoose              // arithmetic and subscripts: no process substitutions
	modeDouble             // inside double quotes
	modeDoubleArg          // the word of ${x:-word} inside double quotes
	modeHeredoc
	modePrompt // backslashes are for later
)

func (m partMode) quoting() bool { return m >= modeDouble }

// textParts cuts a text that is not part of the script as it stands. What is unmatched in it is a bad substitution when
// it is expanded.
func (p *parser) textParts(text string, line int, m partMode) (out []part) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*syntaxError)
			if !ok {
				panic(r)
			}
			if k := strings.Index(text, "${"); k >= 0 && !strings.HasSuffix(e.msg, "`)'") {
				e.msg = "bad substitution: no closing `}' in " + text[k:]
			}
			out = []part{&badPart{src: text, err: e}}
		}
	}()
	q := p.sub(text, line)
	return q.parts(0, len(text), m)
}

// parts cuts the text between two offsets into what is expanded and what is not.
func (p *parser) parts(i, end int, m partMode) []part {
	var out []part
	start := i
	lit := func(s string) {
		if s == "" {
			return
		}
		if !m.quoting() {
			out = append(out, &litPart{s})
			return
		}
		if n := len(out); n > 0 {
			if q, ok := out[n-1].(*quotedPart); ok {
				out[n-1] = &quotedPart{q.s + s}
				return
			}
		}
		out = append(out, &quotedPart{s})
	}
	for i < end {
		c := p.src[i]
		switch {
		case c == '\\' && m != modePrompt:
			lit(p.src[start:i])
			if i+1 >= end {
				if m.quoting() {
					lit(`\`)
				} else {
					out = append(out, &quotedPart{`\`})
				}
				i++
				start = i
				continue
			}
			n := p.src[i+1]
			switch {
			case n == '\n':
				i += 2
				start = i
			case !m.quoting():
				_, w := utf8.DecodeRuneInString(p.src[i+1 : end])
				out = append(out, &quotedPart{p.src[i+1 : i+1+w]})
				i += 1 + w
				start = i
			case n == '$' || n == '`' || n == '\\' || n == '"' && m != modeHeredoc || n == '}' && m == modeDoubleArg:
				start = i + 1
				i += 2
			default:
				start = i
				i += 2
			}
			continue
		case c == '$' || c == '`':
			if ps, next := p.expansion(i, end, m); next > i {
				lit(p.src[start:i])
				for _, x := range ps {
					if q, ok := x.(*quotedPart); ok && m.quoting() {
						lit(q.s)
					} else {
						out = append(out, x)
					}
				}
				i, start = next, next
				continue
			}
		case c == '"' && (m == modeWord || m == modeLoose):
			lit(p.src[start:i])
			next := min(p.skipDouble(i), end)
			out = append(out, p.double(i+1, next-1))
			i, start = next, next
			continue
		case c == '"' && m == modeDoubleArg:
			lit(p.src[start:i])
			next := min(p.skipDouble(i), end)
			for _, x := range p.parts(i+1, next-1, modeDouble) {
				if q, ok := x.(*quotedPart); ok {
					lit(q.s)
				} else {
					out = append(out, x)
				}
			}
			i, start = next, next
			continue
		case c == '\'' && !m.quoting():
			lit(p.src[start:i])
			next := min(p.skipQuoted(i, false), end)
			out = append(out, &quotedPart{p.src[i+1 : next-1]})
			i, start = next, next
			continue
		case (c == '<' || c == '>') && m == modeWord && i+1 < end && p.src[i+1] == '(':
			lit(p.src[start:i])
			next := p.substitution(i)
			out = append(out, p.memo[i].proc)
			i, start = next, next
			continue
		}
		i++
	}
	lit(p.src[start:min(i, end)])
	return out
}

// double is the inside of double quotes.
func (p *parser) double(from, to int) part {
	ps := p.parts(from, to, modeDouble)
	if len(ps) == 0 {
		return &quotedPart{""}
	}
	if len(ps) == 1 {
		if q, ok := ps[0].(*quotedPart); ok {
			return q
		}
	}
	return &dqPart{ps}
}

// expansion reads the $… or `…` at i; next is i when it is none.
func (p *parser) expansion(i, end int, m partMode) (ps []part, next int) {
	s := p.src
	if s[i] == '`' {
		next = min(p.skipQuoted(i, false), end)
		esc := "$`\\"
		if m.quoting() && m != modeHeredoc {
			esc += `"`
		}
		line := p.lineAt(i)
		return []part{&cmdPart{prog: parseAll(unescape(s[i+1:next-1], esc), line-1, p.opts), line: line, src: s[i:next]}}, next
	}
	if i+1 >= end {
		return nil, i
	}
	switch c := s[i+1]; {
	case c == '(':
		if next = p.arithEnd(i); next > 0 {
			return []part{&arithPart{p.arith(i+3, next-2)}}, next
		}
		next = p.substitution(i)
		return []part{p.memo[i].cmd}, next
	case c == '{':
		p.enter()
		next = p.remember(i, p.skipBrace, 1)
		ps = []part{p.param(i, next, m)}
		p.leave()
		return ps, next
	case c == '[':
		next = p.skipBracket(i + 1)
		return []part{&arithPart{p.arith(i+2, next-1)}}, next
	case c == '\'' && (!m.quoting() || m == modeDoubleArg):
		next = p.skipQuoted(i, false)
		return []part{&quotedPart{ansiC(s[i+2 : next-1])}}, next
	case c == '"' && !m.quoting():
		next = p.skipDouble(i + 1)
		return []part{p.double(i+2, next-1)}, next
	case isNameByte(c):
		next = i + 2
		if c > '9' || c < '0' {
			for next < end && isNameByte(s[next]) {
				next++
			}
		}
	case strings.IndexByte("@*#?$!-", c) >= 0:
		next = i + 2
	default:
		return nil, i
	}
	return []part{&paramPart{name: s[i+1 : next], src: s[i:next]}}, next
}

// unescape removes backslashes before the given characters, keeping all others.
func unescape(s, chars string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if strings.IndexByte(chars, s[i+1]) < 0 {
				b.WriteByte('\\')
			}
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
