package ed

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
	"github.com/pgbox/pgbox/gateway/vfs"
)

type textLine struct {
	text   string
	marked bool // wanted by a global command that runs
}

// failure is what h explains.
type failure string

func (e failure) Error() string { return string(e) }

const (
	errBadAddress  = failure("Invalid address")
	errBadSuffix   = failure("Invalid command suffix")
	errUnexpected  = failure("Unexpected command suffix")
	errUnknown     = failure("Unknown command")
	errModified    = failure("Warning: buffer modified")
	errNoMatch     = failure("No match")
	errNoPrevious  = failure("No previous pattern")
	errNoAddress   = failure("Unexpected address")
	errBadDest     = failure("Invalid destination")
	errNoName      = failure("No current filename")
	errNothingUndo = failure("Nothing to undo")
)

// Options are those of the command line.
type Options struct {
	Extended   bool // regular expressions
	Restricted bool // no shell, no other directory
	Quiet      bool
	Loose      bool // errors of commands leave the status alone
	Verbose    bool
	Prompt     string
	ShowPrompt bool
}

// Editor is one run of ed.
type Editor struct {
	Options
	ctx       context.Context
	p         *proc.Process
	in        func() ([]byte, bool)
	lines     []*textLine // the first stands for line 0
	cur       int
	name      string
	modified  bool
	warned    bool
	marks     map[byte]*textLine
	undo      []*textLine
	undoCur   int
	undoMod   bool
	hasUndo   bool
	yank      []string
	last      *regex.Regexp
	replace   string
	subst     substitution
	hasSubst  bool
	shellLast string
	help      bool
	window    int
	message   string

	global []string // the lines of a global command's list that are left
	inList bool
	line   int // of the script
	done   bool

	// The command that is read.
	cmd           string
	first, second int
	addresses     int
	printing      string
}

// New is an editor of an empty buffer. lines gives the lines of the script, the last of which may lack its newline.
func New(ctx context.Context, p *proc.Process, o Options, lines func() ([]byte, bool)) *Editor {
	return &Editor{ctx: ctx, p: p, Options: o, in: lines, lines: []*textLine{{}}, marks: map[byte]*textLine{}, window: 22}
}

// Run reads the file, if one is named (!command is the output of a command), runs the script and returns ed's exit
// status.
func (e *Editor) Run(file string) int {
	p := e.p
	script := false
	if f, ok := p.Stdin.(vfs.File); ok {
		if st, err := f.Stat(); err == nil && st.Kind == vfs.Regular {
			script = true
		}
	}
	status := 0
	if file != "" {
		if cmd, ok := strings.CutPrefix(file, "!"); ok {
			if err := e.readShell(cmd, 0); err != nil {
				e.question(err)
			}
		} else {
			if _, err := e.read(file, 0); err != nil {
				e.message = err.Error()
				if st, serr := p.Stat(file); serr == nil && st.IsDir() {
					e.question(err)
					status = 1
				}
			}
			e.name = file
		}
		e.modified, e.hasUndo = false, false
	}
	for {
		if e.ShowPrompt && !e.inList {
			p.Out.WriteString(e.Prompt)
			p.Out.Flush()
		}
		line, ok := e.input()
		if !ok {
			if e.modified && !e.warned {
				e.warned = true
				e.question(errModified)
				if script && e.Verbose {
					fmt.Fprintf(p.Out, "script, line %d: %s\n", e.line, e.message)
				}
				return 2
			}
			return status
		}
		warned := e.warned
		e.warned = false
		err := e.command(line, warned)
		if e.done {
			return status
		}
		if err == nil {
			continue
		}
		p.Out.Flush()
		e.question(err)
		if !e.Loose {
			status = 1
		}
		if script {
			if e.Verbose {
				fmt.Fprintf(p.Out, "script, line %d: %s\n", e.line, e.message)
			}
			return status
		}
	}
}

// question is ed's whole answer to an error, unless H asked for more.
func (e *Editor) question(err error) {
	e.message = err.Error()
	e.p.Out.WriteString("?\n")
	if e.help {
		e.p.Out.WriteString(e.message + "\n")
		e.p.Out.Flush()
	}
}

// input is the next line of the script, or of the list of a global command.
func (e *Editor) input() (string, bool) {
	e.p.Tick(1)
	if e.inList {
		if len(e.global) == 0 {
			return "", false
		}
		line := e.global[0]
		e.global = e.global[1:]
		return line, true
	}
	raw, ok := e.in()
	if !ok {
		return "", false
	}
	e.line++
	return string(bytes.TrimSuffix(raw, []byte{'\n'})), true
}

func (e *Editor) size() int { return len(e.lines) - 1 }

// save remembers the buffer for u, once for a command.
func (e *Editor) save() {
	if e.inList {
		return
	}
	e.p.Tick(1 + len(e.lines)/64)
	e.undo, e.undoCur, e.undoMod, e.hasUndo = slices.Clone(e.lines), e.cur, e.modified, true
}

func (e *Editor) insert(at int, texts []string) {
	if len(texts) == 0 {
		return
	}
	added := make([]*textLine, len(texts))
	for i, t := range texts {
		added[i] = &textLine{text: t}
		e.p.Hold(len(t) + 48)
	}
	e.lines = slices.Insert(slices.Clip(e.lines), at+1, added...)
	e.cur, e.modified = at+len(texts), true
}

func (e *Editor) remove(from, to int) {
	for _, l := range e.lines[from : to+1] {
		l.marked = false
	}
	e.lines = slices.Delete(slices.Clone(e.lines), from, to+1)
	e.cur, e.modified = min(from, e.size()), true
	if from > e.size() {
		e.cur = e.size()
	}
}

func (e *Editor) insertText(after int, data []byte) {
	if missing(data) == 1 && !e.Quiet {
		e.p.Out.WriteString("Newline appended\n")
	}
	var texts []string
	for l := range bytes.Lines(data) {
		e.p.Tick(1)
		texts = append(texts, string(bytes.TrimSuffix(l, []byte{'\n'})))
	}
	e.insert(after, texts)
}

// suffix takes the printing letters after a command.
func (e *Editor) suffix() error {
	for e.cmd != "" {
		c := e.cmd[0]
		if strings.IndexByte("lnp", c) < 0 {
			if c == ' ' || c == '\t' {
				e.cmd = e.cmd[1:]
				continue
			}
			return errBadSuffix
		}
		e.printing += string(c)
		e.cmd = e.cmd[1:]
	}
	return nil
}

// text reads input lines up to a single dot.
func (e *Editor) text() []string {
	var out []string
	for {
		line, ok := e.input()
		if !ok || line == "." {
			return out
		}
		out = append(out, line)
		e.p.Hold(len(line) + 16)
	}
}

// print shows lines; how holds l, n and p.
func (e *Editor) print(first, second int, how string) error {
	if first < 1 {
		return errBadAddress
	}
	for n := first; n <= second; n++ {
		e.p.Tick(1)
		if strings.Contains(how, "n") {
			fmt.Fprintf(e.p.Out, "%d\t", n)
		}
		if strings.Contains(how, "l") {
			e.list(e.lines[n].text)
		} else {
			e.p.Out.WriteString(e.lines[n].text)
		}
		e.p.Out.WriteByte('\n')
	}
	e.cur = second
	return nil
}

// list shows a line unambiguously, cut at 72 columns as on a terminal of 80.
func (e *Editor) list(s string) {
	col := 0
	put := func(t string) {
		if col+len(t) > 72 {
			e.p.Out.WriteString("\\\n")
			col = 0
		}
		e.p.Out.WriteString(t)
		col += len(t)
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if i := strings.IndexByte("\a\b\f\n\r\t\v\\$", c); i >= 0 {
			put("\\" + "abfnrtv\\$"[i:i+1])
		} else if c < 32 || c >= 127 {
			put(fmt.Sprintf(`\%03o`, c))
		} else {
			put(string(c))
		}
	}
	e.p.Out.WriteString("$")
}
