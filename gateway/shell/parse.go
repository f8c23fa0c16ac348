package shell

import (
	"errors"
	"fmt"
	"strings"

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
	array  bool   // among the words of an array: reading goes on with the next line
}

// reading is what decides how a text is read.
type reading struct {
	lines   int               // added to line numbers
	step    func()            // called again and again; it may end the exec with a panic; nil for none
	aliases map[string]string // that are expanded
	extglob bool              // extended patterns are understood
	posix   bool              // POSIX mode
	reprint bool              // lines inside $(…) are those of bash's own print of it
}

// parse reads a text as the shell's options and aliases say.
func (sh *Shell) parse(src string, lines int) *program {
	r := reading{lines: lines, step: sh.readStep, extglob: sh.opts.shopt(extglob), reprint: !sh.dash, posix: sh.posix}
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
	src, stray, warnings, deep := prepare(src, lines, r.posix, step)
	if deep > 0 {
		p.err = &syntaxError{line: deep + lines, msg: "syntax error: nesting too deep"}
		return p
	}
	if len(r.aliases) > 0 {
		src = withAliases(src, r.aliases, step)
	}
	f, bad, err := parseFile(src, step)
	for range 20 {
		delim, line := unclosed(err)
		if delim == "" {
			break
		}
		// bash ends the here-document at the end of the text, with a warning.
		if !strings.HasSuffix(src, "\n") {
			src += "\n"
		}
		warnings = append(warnings, docEnded(strings.Count(src, "\n")+lines, line+lines, stray.decode(delim)))
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

// program compiles the statements of a file into the groups of p, up to the first that bash refuses; it returns where
// they end.
func (c *compiler) program(p *program, f *syntax.File) (lastEnd uint) {
	p.groups, p.starts, p.ends = nil, nil, nil
	lastLine := -1
	for _, s := range f.Stmts {
		st := c.stmt(s)
		if c.refused != nil {
			break
		}
		if len(p.groups) > 0 && !strings.Contains(c.text(lastEnd, s.Pos().Offset()), "\n") &&
			int(s.Pos().Line()) == lastLine {
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
	return p.after(line)
}

// after is what follows a line, and its number.
func (p *program) after(line int) (string, int) {
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
	e := &syntaxError{line: c.lineAt(end), msg: "syntax error near unexpected token `" + tok + "'", text: shown,
		subst: o.subst, array: o.array}
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
		if strings.IndexByte("$<>", s[i]) >= 0 && s[i+1] == '(' && skipNest(s, i+1) >= at &&
			!strings.HasPrefix(s[i:], "$((") {
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
