package shell

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// maxNesting bounds how deep a script may nest brackets and keywords: the parser is recursive and a Go stack
// overflow cannot be recovered.
const maxNesting = 10_000

// syntaxError is a script that does not parse, in bash's words.
type syntaxError struct {
	line   int
	msg    string
	text   string // the line shown after the message, "" for none
	more   string // another message
	sh     string // the message of sh
	shLine int    // and its line, where that is another
	status int    // 0 is 2
	silent bool   // bash says nothing
	keep   bool   // at the top the status stays what it was: bash does not count a wrong [[ ]]
	subst  bool   // in a command substitution: it ends the shell
}

// reading is what decides how a text is read.
type reading struct {
	lines   int               // added to line numbers
	step    func()            // called again and again; it may end the exec with a panic; nil for none
	aliases map[string]string // that are expanded
	extglob bool              // extended patterns are understood
	reprint bool              // lines inside $(…) are those of bash's own print of it
}

// parse reads a text as the shell's options and aliases say.
func (sh *Shell) parse(src string, lines int) *program {
	r := reading{lines: lines, step: sh.readStep, extglob: sh.opts.shopt(extglob), reprint: !sh.dash}
	if sh.opts.shopt(expandAliases) && len(sh.aliases) > 0 {
		r.aliases = sh.aliases
	}
	p := parse(src, r)
	p.gen = sh.readGen
	return p
}

// parse reads a script. It always returns a program: what comes before a syntax error can run.
func parse(src string, r reading) *program {
	lines, step := r.lines, r.step
	p := &program{src: src, lines: lines}
	if line := tooDeep(src); line > 0 {
		p.err = &syntaxError{line: line + lines, msg: "syntax error: nesting too deep"}
		return p
	}
	src, stray := encode(src)
	if len(r.aliases) > 0 {
		src = withAliases(src, r.aliases, step)
	}
	f, bad, err := parseFile(src, step)
	var warnings []string
	for range 20 {
		delim, line := unclosed(err)
		if delim == "" {
			break
		}
		// bash ends the here-document at the end of the text, with a warning.
		if !strings.HasSuffix(src, "\n") {
			src += "\n"
		}
		warnings = append(warnings, fmt.Sprintf("line %d: warning: here-document at line %d delimited by end-of-file (wanted `%s')\n",
			strings.Count(src, "\n")+lines, line+lines, stray.decode(delim)))
		src += delim + "\n"
		f, bad, err = parseFile(src, step)
	}
	for range 100 {
		at, text := missing(src, err, r.extglob)
		if at < 0 {
			break
		}
		src = src[:at] + text + src[at:]
		f, bad, err = parseFile(src, step)
	}
	p.warnings = warnings
	var c compiler
	var lastEnd uint
	for range 100 {
		c = compiler{src: src, lines: lines, bad: bad, step: step, stray: stray, extglob: r.extglob, reprint: r.reprint}
		lastEnd = c.program(p, f)
		at := negatedSubshell(src, c.refused)
		if at < 0 {
			break
		}
		src = src[:at] + " " + src[at:]
		f, bad, err = parseFile(src, step)
	}
	if c.refused != nil {
		err = c.refused
	}
	if err != nil {
		p.err = c.explain(err)
		p.err.msg, p.err.text = stray.decode(p.err.msg), stray.decode(p.err.text)
		// Statements on the line of the faulty one do not run either.
		if n := len(p.groups); n > 0 {
			rest := c.src[min(int(lastEnd), len(c.src)):]
			if i := strings.IndexByte(rest, '\n'); i >= 0 {
				rest = rest[:i]
			}
			rest = strings.Trim(rest, " \t;&")
			if rest != "" && !strings.HasPrefix(rest, "#") {
				p.groups = p.groups[:n-1]
			}
		}
	}
	return p
}

// program compiles the statements of a file into the groups of p, up to the first that bash refuses; it returns where they end.
func (c *compiler) program(p *program, f *syntax.File) (lastEnd uint) {
	p.groups, p.starts, p.ends = nil, nil, nil
	lastLine := -1
	for _, s := range f.Stmts {
		st := c.stmt(s)
		if c.refused != nil {
			break
		}
		if len(p.groups) > 0 && !strings.Contains(c.text(lastEnd, s.Pos().Offset()), "\n") && int(s.Pos().Line()) == lastLine {
			n := len(p.groups) - 1
			p.groups[n] = append(p.groups[n], st)
		} else {
			p.groups = append(p.groups, []*stmt{st})
			p.starts = append(p.starts, int(s.Pos().Line()))
		}
		lastEnd = s.End().Offset()
		lastLine = int(s.End().Line())
		p.ends = append(p.ends[:len(p.groups)-1], lastLine)
	}
	return lastEnd
}

// rest is what follows group i, and how many lines come before it.
func (p *program) rest(i int) (string, int) {
	line := p.ends[i]
	if i+1 < len(p.groups) {
		line = p.starts[i+1] - 1
	} else {
		for _, st := range p.groups[i] {
			line += st.docLines()
		}
	}
	at := 0
	for range line {
		k := strings.IndexByte(p.src[at:], '\n')
		if k < 0 {
			return "", line
		}
		at += k + 1
	}
	return p.src[at:], line
}

// docLines is how many lines of here-documents end after the statement's own end: those with their delimiters.
func (st *stmt) docLines() int {
	for _, r := range st.redirs {
		if r.heredoc != nil {
			return 1
		}
	}
	return 0
}

// subshells finds the "((" before the place of err whose inner parenthesis closes without the outer: the offset of the
// inner one, -1 when there is none.
func subshells(src string, err error) int {
	if err == nil {
		return -1
	}
	at, ok := errorOffset(err)
	if !ok {
		return -1
	}
	for end := min(int(at)+3, len(src)); ; {
		i := strings.LastIndex(src[:end], "((")
		if i < 0 || i < int(at)-4096 {
			return -1
		}
		if inner := skipNest(src, i+1); inner+1 < len(src) && src[inner+1] != ')' && skipNest(src, i) < len(src) {
			return i + 1
		}
		end = i + 1
	}
}

// unclosed returns the delimiter and the line of a here-document that err says is not closed.
func unclosed(err error) (delim string, line int) {
	var pe syntax.ParseError
	if !errors.As(err, &pe) {
		return "", 0
	}
	rest, ok := strings.CutPrefix(pe.Text, "unclosed here-document `")
	if !ok {
		return "", 0
	}
	return strings.TrimSuffix(rest, "`"), int(pe.Pos.Line())
}

// parsers are used again: eval in a loop makes many small texts.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// parseFile parses src. Where the parser is stricter than bash (text in arithmetic and subscripts that only makes sense
// after expansion, and bad substitutions, which bash reports when they are expanded) the text is masked by a placeholder
// of the same length and parsed again; the compiler reads those texts from src itself.
func parseFile(src string, step func()) (*syntax.File, map[uint]int, error) {
	masked := src
	var bad map[uint]int
	for try := 0; ; try++ {
		parser := parsers.Get().(*syntax.Parser)
		f, err := parser.Parse(&script{masked, step}, "")
		parsers.Put(parser)
		// Each try reads the whole text again.
		if err == nil || try >= 200 || try >= 8 && try*len(src) > 16<<20 {
			return f, bad, err
		}
		at, ok := errorOffset(err)
		if !ok {
			return f, bad, err
		}
		next, from, length := joinOperator(masked, int(at)), 0, 0
		if next == "" {
			next = maskDelimiter(masked, int(at))
		}
		if next == "" {
			next = maskArray(masked, int(at))
		}
		if next == "" {
			next = maskBackquotes(masked, int(at))
		}
		if next == "" {
			next, from, length = mask(masked, int(at))
		}
		if s := masked[:min(int(at), len(masked))]; int(at) < len(masked) && masked[at] == '!' && (strings.HasSuffix(s, "time ") || strings.HasSuffix(s, "time -p ")) {
			next, from, length = s+" "+masked[at+1:], 0, 0
		} else if loneNot(masked, int(at)) {
			next, from, length = masked[:at]+"_"+masked[at+1:], int(at), -1
		} else if n := doubleNot(masked, int(at)); n > 0 {
			next, from, length = masked[:at]+strings.Repeat(" ", n)+masked[int(at)+n:], 0, 0
		}
		if next == "" || next == masked {
			if next, from, length = maskKeyword(masked, int(at)); next == "" {
				return f, bad, err
			}
		}
		if length != 0 {
			if bad == nil {
				bad = map[uint]int{}
			}
			bad[uint(from)] = length
		}
		masked = next
	}
}

// script is a text as the parser reads it, kilobyte by kilobyte.
type script struct {
	rest string
	step func()
}

func (s *script) Read(b []byte) (int, error) {
	if s.step != nil {
		s.step()
	}
	if s.rest == "" {
		return 0, io.EOF
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func errorOffset(err error) (uint, bool) {
	var pe syntax.ParseError
	if errors.As(err, &pe) {
		return pe.Pos.Offset(), true
	}
	var le syntax.LangError
	if errors.As(err, &le) {
		return le.Pos.Offset(), true
	}
	return 0, false
}

// mask blanks the innermost arithmetic or subscript around offset at, or turns the ${…} around it
// into a plain parameter (bad substitution: from and length tell where). It returns "" when there is none.
func mask(s string, at int) (out string, from, length int) {
	if at > len(s) {
		return "", 0, 0
	}
	depth := 0
	for i := min(at, len(s)-1); i >= 0; i-- {
		switch s[i] {
		case ')', ']', '}':
			if i < at {
				depth++
			}
		case '\n':
			if i < at-2000 {
				return "", 0, 0
			}
		case '(', '[', '{':
			if depth > 0 {
				depth--
				continue
			}
			switch {
			case s[i] == '[' && i > 0 && (isNameByte(s[i-1]) || s[i-1] == '$' || s[i-1] == '(' || s[i-1] == ' ' || s[i-1] == '\n'):
				end := closing(s, i)
				if end >= len(s) || end == i+1 {
					return "", 0, 0
				}
				if strings.Trim(s[i+1:end], "0 ") == "" {
					continue // it is not the subscript that the parser refuses
				}
				return s[:i+1] + blank(s[i+1:end]) + s[end:], 0, 0
			case s[i] == '(' && i > 0 && s[i-1] == '(':
				end := skipNest(s, i)
				if end+1 >= len(s) || end == i+1 || s[end+1] != ')' {
					return "", 0, 0
				}
				body := s[i+1 : end]
				if strings.Count(body, ";") == 2 && strings.HasSuffix(strings.TrimRight(s[:i-1], " "), "for") {
					parts := strings.Split(body, ";")
					for k := range parts {
						parts[k] = blank(parts[k])
					}
					return s[:i+1] + strings.Join(parts, ";") + s[end:], 0, 0
				}
				return s[:i+1] + blank(body) + s[end:], 0, 0
			case s[i] == '{' && i > 0 && s[i-1] == '$':
				end := skipNest(s, i)
				if end >= len(s) {
					return "", 0, 0
				}
				if end > i+3 && s[i+1] == '!' && strings.IndexByte("-:+=?", s[i+2]) >= 0 {
					return s[:i+1] + "_" + s[i+2:], 0, 0 // the parameter ! and an operator
				}
				if k := sliceAt(s[i+1 : end]); k >= 0 && i+1+k < at {
					// Offset and length are arithmetic.
					body := s[i+2+k : end]
					return s[:i+2+k] + blank(body) + s[end:], 0, 0
				}
				n := end + 1 - (i - 1)
				if n < 4 {
					return s[:i-1] + "$" + strings.Repeat("_", n-1) + s[end+1:], i - 1, n
				}
				return s[:i+1] + strings.Repeat("_", n-3) + s[end:], i - 1, n
			case s[i] == '(' && i > 0 && s[i-1] != '$' && s[i-1] != '<' && s[i-1] != '>':
				continue // of a term, perhaps
			}
			return "", 0, 0
		}
	}
	return "", 0, 0
}

// maskArray makes the parser take what it refuses of arrays at offset at: a[]=x, ([x]+=y), x=(…) before a command and declare x=(…)
// after other assignments. The compiler sees the difference in the source.
func maskArray(s string, at int) string {
	if at >= len(s) {
		return ""
	}
	switch {
	case strings.HasPrefix(s[at:], "(("): // of nothing
		end := skipNest(s, at)
		if end >= len(s) || end == at+3 || strings.Trim(s[at:end], "() \t\n") != "" {
			return ""
		}
		return s[:at+2] + blank(s[at+2:end-1]) + s[end-1:]
	case strings.HasPrefix(s[at:], "$(("): // of nothing
		end := skipNest(s, at+1)
		if end >= len(s) || strings.Trim(s[at+1:end], "() \t") != "" {
			return ""
		}
		return s[:at] + "${" + strings.Repeat("_", end-at-2) + "}" + s[end+1:]
	case strings.HasPrefix(s[at:], "[]") && at > 0 && isNameByte(s[at-1]):
		return s[:at] + "__" + s[at+2:]
	case s[at] == '[':
		if end := closing(s, at); strings.HasPrefix(s[min(end+1, len(s)):], "+=") {
			return s[:end+1] + "=+" + s[end+3:]
		}
		return ""
	case s[at] == '(' && at > 0 && s[at-1] == '=':
		for start := max(strings.LastIndexAny(s[:at], "\n;&|")+1, 0); start < at; {
			w := strings.TrimLeft(s[start:at], " \t")
			start = at - len(w)
			end := strings.IndexAny(w, " \t")
			if end < 0 {
				return ""
			}
			name, _, isAssign := strings.Cut(w[:end], "=")
			if !isAssign || !isName(strings.TrimSuffix(name, "+")) {
				if !slices.Contains(declarations, w[:end]) && w[:end] != "let" {
					return ""
				}
				break
			}
			start += end
		}
	default:
		n := at
		for n < len(s) && isNameByte(s[n]) {
			n++
		}
		if n > at && n < len(s) && s[n] == '[' {
			end := closing(s, n) + 1
			value := strings.TrimPrefix(s[min(end, len(s)):], "+")
			if !strings.HasPrefix(value, "=") || strings.HasPrefix(value, "=(") {
				return ""
			}
			return s[:n] + strings.Repeat("_", end-n) + s[end:]
		}
		rest := strings.TrimPrefix(s[n:], "+")
		if n == at || !strings.HasPrefix(rest, "=(") {
			return ""
		}
		at = len(s) - len(rest) + 1
	}
	end := skipNest(s, at)
	if end >= len(s) {
		return ""
	}
	b := []byte(s[at : end+1])
	for i := range b {
		if b[i] != '\n' {
			b[i] = '_'
		}
	}
	b[0], b[len(b)-1] = '"', '"'
	return s[:at] + string(b) + s[end+1:]
}

// maskBackquotes blanks the text between the backquotes around offset at: it is read when the substitution runs.
func maskBackquotes(s string, at int) string {
	if strings.IndexByte(s, '`') < 0 {
		return ""
	}
	open := -1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\'':
			if open < 0 {
				if k := strings.IndexByte(s[i+1:], '\''); k >= 0 && i+1+k < at {
					i += k + 1
				}
			}
		case '`':
			switch {
			case open < 0 && i > at:
				return ""
			case open < 0:
				open = i
			case at <= i:
				body := s[open+1 : i]
				if strings.TrimLeft(body, "_\n") == "" {
					return ""
				}
				b := []byte(body)
				for k := range b {
					if b[k] != '\n' {
						b[k] = '_'
					}
				}
				return s[:open+1] + string(b) + s[i:]
			default:
				open = -1
			}
		}
	}
	return ""
}

// loneNot reports whether the "!" at offset at stands alone.
func loneNot(s string, at int) bool {
	if at >= len(s) || s[at] != '!' {
		return false
	}
	rest := strings.TrimLeft(s[at+1:], " \t")
	return rest == "" || rest[0] == '\n' || rest[0] == ';'
}

// doubleNot is the length of "! !" at offset at, which the parser refuses and which means nothing.
func doubleNot(s string, at int) int {
	if at >= len(s) || s[at] != '!' {
		return 0
	}
	i := at + 1
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	if i == at+1 || i+1 >= len(s) || s[i] != '!' || s[i+1] != ' ' && s[i+1] != '\t' {
		return 0
	}
	return i + 1 - at
}

// maskKeyword turns the declaration command or let around offset at into a plain command: the parser refuses operands
// that bash only complains about when it runs. The negative length says that the word at from is the command's name.
func maskKeyword(s string, at int) (out string, from, length int) {
	for start := min(at, len(s)-1); start >= 0; start-- {
		if start < at && strings.IndexByte("\n;&|", s[start]) >= 0 {
			return "", 0, 0
		}
		if start > 0 && strings.IndexByte(" \t\n;&|({", s[start-1]) < 0 {
			continue
		}
		for _, k := range []string{"export", "declare", "local", "readonly", "typeset", "let"} {
			if rest, ok := strings.CutPrefix(s[start:], k); ok && (rest == "" || !isNameByte(rest[0])) {
				return s[:start] + strings.Repeat("_", len(k)) + rest, start, -len(k)
			}
		}
	}
	return "", 0, 0
}

// sliceAt finds the ':' of ${name:offset} when s, the text between the braces, is one.
func sliceAt(s string) int {
	i := 0
	for i < len(s) && (isNameByte(s[i]) || s[i] == '@' || s[i] == '*') {
		i++
	}
	if i < len(s) && s[i] == '[' {
		i = closing(s, i) + 1
	}
	if i > 0 && i+1 < len(s) && s[i] == ':' && strings.IndexByte("-=?+", s[i+1]) < 0 {
		return i
	}
	return -1
}

func isNameByte(c byte) bool {
	return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}

func blank(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] != '\n' {
			b[i] = ' '
		}
	}
	for i := range b {
		if b[i] == ' ' {
			b[i] = '0'
			break
		}
	}
	return string(b)
}

// tooDeep returns the line where the text nests deeper than maxNesting, or 0. It ignores quoting, so it may only overestimate.
func tooDeep(s string) int {
	if len(s) < maxNesting {
		return 0
	}
	depth, words, run, calls, arith, line := 0, 0, 0, 0, 0, 1
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; ch {
		case '\n':
			line++
			arith = 0
		case '(', '{', '[':
			if ch == '(' && i+1 < len(s) && s[i+1] == ')' {
				calls++
			}
			depth++
		case ')', '}', ']':
			depth = max(depth-1, 0)
		case '`':
			calls++
		case ' ', '\t':
			continue
		case '!', '-', '~', '+':
			if run++; run > maxNesting {
				return line
			}
			continue
		case '=', '?', '&', '|', '*', ',':
			if arith++; arith > 10*maxNesting {
				return line
			}
		case ';':
			calls = 0
		case 'i', 'w', 'u', 'c', 't', 'f', 'd', 'e', 's':
			if i > 0 && isNameByte(s[i-1]) {
				break
			}
			j := i
			for j < len(s) && isNameByte(s[j]) {
				j++
			}
			switch s[i:j] {
			case "if", "while", "until", "case", "time", "function", "for", "coproc", "select", "elif", "else":
				words++
			case "fi", "done", "esac":
				words = max(words-1, 0)
			}
			i = j - 1
		}
		run = 0
		if depth > maxNesting || words > 5*maxNesting || calls > 5*maxNesting {
			return line
		}
	}
	return 0
}

// explain says a parser's error in bash's words.
func (c *compiler) explain(err error) *syntaxError {
	var pe syntax.ParseError
	if !errors.As(err, &pe) {
		var le syntax.LangError
		if errors.As(err, &le) {
			pe = syntax.ParseError{Pos: le.Pos, Text: le.Feature}
		}
	}
	eof := func() *syntaxError {
		return &syntaxError{line: c.lastLine() + 1, msg: "syntax error: unexpected end of file", sh: "end of file unexpected"}
	}
	if o := findOffence(c.src, c.extglob, c.step); o != nil {
		e := c.offended(o, eof)
		if o.tok == "" { // sh counts no line that is not there
			e.shLine = strings.Count(c.src, "\n") + 1 + c.lines
		}
		switch {
		case e.sh == "" && (o.close == "'" || o.close == `"` || o.close == "`"):
			e.sh = "Unterminated quoted string"
		case e.sh == "" && o.close != "":
			e.sh = "end of file unexpected (expecting \"" + o.close + "\")"
		case e.sh != "" && o.expected != "":
			e.sh += " (expecting \"" + o.expected + "\")"
		}
		return e
	}
	// Bash's grammar has nothing against it, only the parser.
	if pe.Incomplete {
		return eof()
	}
	at := min(int(pe.Pos.Offset()), len(c.src))
	tok := strings.TrimLeft(c.src[at:], " \t")
	if tok == "" {
		return eof()
	}
	at = len(c.src) - len(tok)
	if k := strings.IndexAny(tok, " \t\n;&|()<>"); k >= 0 {
		tok = tok[:max(k, 1)]
	}
	return c.offended(&offence{tok: tok, at: at, subst: inSubst(c.src, at)}, eof)
}

// offended says in bash's words where it stops.
func (c *compiler) offended(o *offence, eof func() *syntaxError) *syntaxError {
	switch {
	case o.cond != nil:
		return &syntaxError{line: c.lineAt(o.at), msg: o.cond.msg, silent: o.cond.msg == "", keep: !o.cond.eof}
	case o.msg[0] != "":
		return &syntaxError{line: c.lineAt(o.at), msg: o.msg[0], more: o.msg[1]}
	case o.close != "" && o.at > len(c.src):
		return &syntaxError{line: c.lastLine() + 1, msg: "unexpected EOF while looking for matching `" + o.close + "'"}
	case o.close != "":
		e := &syntaxError{line: c.lineAt(o.at), msg: "unexpected EOF while looking for matching `" + o.close + "'"}
		if o.array {
			e.status = 1
		}
		return e
	case o.tok == "":
		return eof()
	}
	tok, end := o.tok, o.at+len(o.tok)
	if tok == "\n" {
		tok, end = "newline", o.at
	} else {
		tok = printable(c.stray.decode(tok))
	}
	end = min(end, len(c.src))
	shown, _, _ := strings.Cut(c.src[strings.LastIndexByte(c.src[:end], '\n')+1:], "\n")
	e := &syntaxError{line: c.lineAt(end), msg: "syntax error near unexpected token `" + tok + "'", text: shown, subst: o.subst}
	switch {
	case tok == "newline":
		e.sh = "newline unexpected"
	case isName(tok) && !closers[tok]:
		e.sh = "word unexpected"
	default:
		e.sh = `"` + tok + `" unexpected`
	}
	return e
}

// inSubst reports whether offset at is inside $( ) or a process substitution.
func inSubst(s string, at int) bool {
	at = min(at, len(s))
	for i := max(at-4096, 0); i+1 < at; i++ {
		if strings.IndexByte("$<>", s[i]) >= 0 && s[i+1] == '(' && skipNest(s, i+1) >= at && !strings.HasPrefix(s[i:], "$((") {
			return true
		}
	}
	return false
}

// lastLine is the number of the last line.
func (c *compiler) lastLine() int {
	n := strings.Count(c.src, "\n") + 1
	if strings.HasSuffix(c.src, "\n") {
		n--
	}
	return n + c.lines
}

// lineAt is the number of the line of an offset.
func (c *compiler) lineAt(at int) int {
	return strings.Count(c.src[:min(at, len(c.src))], "\n") + 1 + c.lines
}

func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.msg) }
