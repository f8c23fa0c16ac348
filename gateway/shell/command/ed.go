package command

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/regex"
)

var edSpec = getopt.New("EGhlp:rsvV", "extended-regexp=E traditional=G help=h loose-exit-status=l prompt:=p restricted=r quiet=s silent=s verbose=v version=V strip-trailing-cr").
	WithUsage("[options] [file]", "GNU ed is a line-oriented text editor.").WithVersion("1.19")

type edLine struct {
	text   string
	marked bool // wanted by a global command that runs
}

// edError is what h explains.
type edError string

func (e edError) Error() string { return string(e) }

const (
	edBadAddress  = edError("Invalid address")
	edBadSuffix   = edError("Invalid command suffix")
	edUnexpected  = edError("Unexpected command suffix")
	edUnknown     = edError("Unknown command")
	edModified    = edError("Warning: buffer modified")
	edNoMatch     = edError("No match")
	edNoPrevious  = edError("No previous pattern")
	edNoAddress   = edError("Unexpected address")
	edBadDest     = edError("Invalid destination")
	edNoName      = edError("No current filename")
	edNothingUndo = edError("Nothing to undo")
)

type edRun struct {
	ctx        context.Context
	p          *proc.Process
	in         *lineReader
	lines      []*edLine // the first stands for line 0
	cur        int
	name       string
	modified   bool
	warned     bool
	marks      map[byte]*edLine
	undo       []*edLine
	undoCur    int
	undoMod    bool
	hasUndo    bool
	yank       []string
	last       *regex.Regexp
	replace    string
	subst      edSubst
	hasSubst   bool
	shellLast  string
	prompt     string
	showPrompt bool
	help       bool
	quiet      bool
	extended   bool
	restricted bool
	window     int
	message    string

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

type edSubst struct {
	global bool
	nth    int
	print  string
}

func ed(ctx context.Context, p *proc.Process) int {
	e := &edRun{ctx: ctx, p: p, lines: []*edLine{{}}, marks: map[byte]*edLine{}, prompt: "*", window: 22}
	opts, args := edSpec.Parse(p)
	loose, verbose := false, false
	for _, o := range opts {
		switch o.Key {
		case "E":
			e.extended = true
		case "l":
			loose = true
		case "p":
			e.prompt, e.showPrompt = o.Value, true
		case "r":
			e.restricted = true
		case "s":
			e.quiet = true
		case "v":
			verbose = true
		case "h":
			p.Out.WriteString("GNU ed is a line-oriented text editor. It is used to create, display,\nmodify and otherwise manipulate text files, both interactively and via\nshell scripts.\n\nUsage: ed [options] [file]\n")
			return 0
		case "V":
			p.Out.WriteString("GNU ed 1.19\n")
			return 0
		}
	}
	e.in = newLineReader(p, p.Stdin, '\n')
	defer e.in.close()
	script := false
	if f, ok := p.Stdin.(proc.File); ok {
		if st, err := f.Stat(); err == nil && st.Kind == proc.Regular {
			script = true
		}
	}
	status := 0
	if len(args) > 0 && args[0] != "-" {
		if strings.HasPrefix(args[0], "!") {
			if err := e.readShell(args[0][1:], 0); err != nil {
				e.question(err)
			}
		} else {
			if _, err := e.read(args[0], 0); err != nil && len(args) > 0 {
				e.message = err.Error()
				if st, serr := p.Stat(args[0]); serr == nil && st.IsDir() {
					e.question(err)
					status = 1
				}
			}
			e.name = args[0]
		}
		e.modified, e.hasUndo = false, false
	}
	for {
		if e.showPrompt && !e.inList {
			p.Out.WriteString(e.prompt)
			p.Out.Flush()
		}
		line, ok := e.input()
		if !ok {
			if e.modified && !e.warned {
				e.warned = true
				e.question(edModified)
				if script && verbose {
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
		if !loose {
			status = 1
		}
		if script {
			if verbose {
				fmt.Fprintf(p.Out, "script, line %d: %s\n", e.line, e.message)
			}
			return status
		}
	}
}

// question is ed's whole answer to an error, unless H asked for more.
func (e *edRun) question(err error) {
	e.message = err.Error()
	e.p.Out.WriteString("?\n")
	if e.help {
		e.p.Out.WriteString(e.message + "\n")
		e.p.Out.Flush()
	}
}

// input is the next line of the script, or of the list of a global command.
func (e *edRun) input() (string, bool) {
	e.p.Tick(1)
	if e.inList {
		if len(e.global) == 0 {
			return "", false
		}
		line := e.global[0]
		e.global = e.global[1:]
		return line, true
	}
	raw, ok := e.in.next()
	if !ok {
		return "", false
	}
	e.line++
	return string(chomp(raw, '\n')), true
}

func (e *edRun) size() int { return len(e.lines) - 1 }

// save remembers the buffer for u, once for a command.
func (e *edRun) save() {
	if e.inList {
		return
	}
	e.p.Tick(1 + len(e.lines)/64)
	e.undo, e.undoCur, e.undoMod, e.hasUndo = slices.Clone(e.lines), e.cur, e.modified, true
}

func (e *edRun) insert(at int, texts []string) {
	if len(texts) == 0 {
		return
	}
	added := make([]*edLine, len(texts))
	for i, t := range texts {
		added[i] = &edLine{text: t}
		e.p.Hold(len(t) + 48)
	}
	e.lines = slices.Insert(slices.Clip(e.lines), at+1, added...)
	e.cur, e.modified = at+len(texts), true
}

func (e *edRun) remove(from, to int) {
	for _, l := range e.lines[from : to+1] {
		l.marked = false
	}
	e.lines = slices.Delete(slices.Clone(e.lines), from, to+1)
	e.cur, e.modified = min(from, e.size()), true
	if from > e.size() {
		e.cur = e.size()
	}
}

func (e *edRun) read(name string, after int) (int, error) {
	data, err := e.p.ReadFile(name)
	if err != nil {
		e.p.Out.Flush()
		fmt.Fprintf(e.p.Err, "%s: %s\n", name, proc.Strerror(err))
		if st, serr := e.p.Stat(name); serr == nil && st.IsDir() {
			return 0, edError("Cannot read input file")
		}
		return 0, edError("Cannot open input file")
	}
	e.insertText(after, data)
	if !e.quiet {
		fmt.Fprintf(e.p.Out, "%d\n", len(data)+edMissing(data))
	}
	return len(data), nil
}

// edMissing is the newline that ed adds to a last line without one.
func edMissing(data []byte) int {
	if len(data) > 0 && data[len(data)-1] != '\n' {
		return 1
	}
	return 0
}

func (e *edRun) insertText(after int, data []byte) {
	if edMissing(data) == 1 && !e.quiet {
		e.p.Out.WriteString("Newline appended\n")
	}
	var texts []string
	for l := range bytes.Lines(data) {
		e.p.Tick(1)
		texts = append(texts, string(chomp(l, '\n')))
	}
	e.insert(after, texts)
}

func (e *edRun) readShell(command string, after int) error {
	if e.restricted {
		return edError("Shell access restricted")
	}
	out := &heldBuffer{p: e.p}
	e.p.Exec(e.ctx, e.p.Shell(command, strings.NewReader(""), out))
	e.insertText(after, out.Bytes())
	if !e.quiet {
		fmt.Fprintf(e.p.Out, "%d\n", out.Len()+edMissing(out.Bytes()))
	}
	return nil
}

// address reads one address; ok is false if there is none.
func (e *edRun) address() (n int, ok bool, err error) {
	n = e.cur
	started := false
	for e.cmd != "" {
		e.p.Tick(1)
		switch c := e.cmd[0]; {
		case c == ' ' || c == '\t':
			e.cmd = e.cmd[1:]
			continue
		case c == '+' || c == '-' || c == '^':
			e.cmd = strings.TrimLeft(e.cmd[1:], " \t")
			k := 1
			if d := edDigits(e.cmd); d > 0 {
				if k, err = strconv.Atoi(e.cmd[:d]); err != nil {
					return 0, false, edBadAddress
				}
				e.cmd = e.cmd[d:]
			}
			if c == '+' {
				n += k
			} else {
				n -= k
			}
		case isDigit(c):
			d := edDigits(e.cmd)
			k, err := strconv.Atoi(e.cmd[:d])
			if err != nil {
				return 0, false, edBadAddress
			}
			e.cmd = e.cmd[d:]
			if started {
				n += k // as an offset
			} else {
				n = k
			}
		case started:
			if n < 0 || n > e.size() {
				return 0, false, edBadAddress
			}
			return n, true, nil
		case c == '.' || c == '$':
			e.cmd = e.cmd[1:]
			if c == '$' {
				n = e.size()
			}
		case c == '/' || c == '?':
			re, err := e.pattern(c)
			if err != nil {
				return 0, false, err
			}
			if n = e.search(re, c == '/'); n < 0 {
				return 0, false, edNoMatch
			}
			// The second delimiter may be missing at the end.
		case c == '\'':
			if len(e.cmd) < 2 {
				return 0, false, edError("Invalid mark character")
			}
			mark := e.marks[e.cmd[1]]
			if e.cmd[1] < 'a' || e.cmd[1] > 'z' {
				return 0, false, edError("Invalid mark character")
			}
			e.cmd = e.cmd[2:]
			if n = slices.Index(e.lines, mark); mark == nil || n < 1 {
				return 0, false, edBadAddress
			}
		default:
			return n, false, nil
		}
		started = true
	}
	if started && (n < 0 || n > e.size()) {
		return 0, false, edBadAddress
	}
	return n, started, nil
}

func edDigits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

// pattern reads /…/; an empty one is the last one again.
func (e *edRun) pattern(delim byte) (*regex.Regexp, error) {
	src, rest, _ := edDelimited(e.cmd[1:], delim)
	e.cmd = rest
	return e.compile(src)
}

// edDelimited cuts s at an unescaped delimiter that is not in brackets.
func edDelimited(s string, delim byte) (src, rest string, closed bool) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == delim:
			return s[:i], s[i+1:], true
		case s[i] == '\\' && i+1 < len(s):
			i++
		case s[i] == '[':
			if end := edBrackets(s[i:]); end > 0 {
				i += end
			}
		}
	}
	return s, "", false
}

// edBrackets is the place of the ] that ends a bracket expression, 0 if none does.
func edBrackets(s string) int {
	i := 1
	if i < len(s) && s[i] == '^' {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	for ; i < len(s); i++ {
		if s[i] == '[' && i+1 < len(s) && strings.IndexByte(".:=", s[i+1]) >= 0 {
			if end := strings.Index(s[i+2:], string(s[i+1])+"]"); end >= 0 {
				i += end + 3
				continue
			}
		}
		if s[i] == ']' {
			return i
		}
	}
	return 0
}

func (e *edRun) compile(src string) (*regex.Regexp, error) {
	if src == "" {
		if e.last == nil {
			return nil, edNoPrevious
		}
		return e.last, nil
	}
	re, err := regex.Compile(src, regex.Options{Extended: e.extended, Tick: e.p.Tick})
	if err != nil {
		return nil, edError(err.Error())
	}
	e.last = re
	return re, nil
}

// search looks for a line around the buffer, -1 if there is none.
func (e *edRun) search(re *regex.Regexp, forward bool) int {
	n := e.cur
	for range e.lines {
		e.p.Tick(1)
		if forward {
			n++
		} else {
			n--
		}
		if n > e.size() {
			n = 0
		} else if n < 0 {
			n = e.size()
		}
		if n > 0 && re.Match([]byte(e.lines[n].text)) {
			return n
		}
	}
	return -1
}

// range reads the addresses before a command.
func (e *edRun) readRange() error {
	e.addresses = 0
	e.first, e.second = e.cur, e.cur
	saved := e.cur
	defer func() { e.cur = saved }()
	for {
		n, ok, err := e.address()
		if err != nil {
			return err
		}
		if ok {
			e.addresses++
			e.first, e.second = e.second, n
			if e.addresses == 1 {
				e.first = n
			}
		}
		e.cmd = strings.TrimLeft(e.cmd, " \t")
		if e.cmd == "" || strings.IndexByte(",;%", e.cmd[0]) < 0 {
			break
		}
		c := e.cmd[0]
		e.cmd = e.cmd[1:]
		if !ok && e.addresses == 0 {
			e.first, e.second = 1, e.size()
			if c == ';' {
				e.first = e.cur
			}
			if c == '%' || e.addresses == 0 {
				e.addresses = 2
			}
			if n, ok, err := e.address(); err != nil {
				return err
			} else if ok {
				e.second = n
				if c == ',' && e.addresses == 2 {
					e.first = 1
				}
			}
			if c == ';' {
				e.cur = e.second
			}
			continue
		}
		if c == ';' {
			e.cur = e.second
		}
		m, ok, err := e.address()
		if err != nil {
			return err
		}
		if !ok {
			m = e.second
		}
		e.first, e.second = e.second, m
		e.addresses = 2
		e.cmd = strings.TrimLeft(e.cmd, " \t")
	}
	return nil
}

// need sets the defaults of the addresses and checks them.
func (e *edRun) need(first, second int) error {
	if e.addresses == 0 {
		e.first, e.second = first, second
	}
	if e.first < 1 || e.first > e.second || e.second > e.size() {
		return edBadAddress
	}
	return nil
}

// suffix takes the printing letters after a command.
func (e *edRun) suffix() error {
	for e.cmd != "" {
		c := e.cmd[0]
		if strings.IndexByte("lnp", c) < 0 {
			if c == ' ' || c == '\t' {
				e.cmd = e.cmd[1:]
				continue
			}
			return edBadSuffix
		}
		e.printing += string(c)
		e.cmd = e.cmd[1:]
	}
	return nil
}

// text reads input lines up to a single dot.
func (e *edRun) text() []string {
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

// fileName reads the name after a command.
func (e *edRun) fileName() (string, error) {
	if e.cmd != "" && e.cmd[0] != ' ' && e.cmd[0] != '\t' {
		return "", edUnexpected
	}
	name := strings.TrimLeft(e.cmd, " \t")
	e.cmd = ""
	if e.restricted && (strings.HasPrefix(name, "!") || strings.Contains(name, "/") || name == "..") {
		if strings.HasPrefix(name, "!") {
			return "", edError("Shell access restricted")
		}
		return "", edError("Directory access restricted")
	}
	return strings.ReplaceAll(name, "\\!", "!"), nil
}

// command runs one line. warned says that the line before it was told that the buffer is modified.
func (e *edRun) command(line string, warned bool) error {
	e.cmd, e.printing = line, ""
	if err := e.readRange(); err != nil {
		return err
	}
	if e.cmd == "" {
		n, err := e.next()
		if err != nil {
			return err
		}
		return e.print(n, n, "p")
	}
	c := e.cmd[0]
	e.cmd = e.cmd[1:]
	if err := e.verb(c, warned); err != nil {
		return err
	}
	if e.printing != "" && !e.done {
		return e.print(e.cur, e.cur, e.printing)
	}
	return nil
}

func (e *edRun) verb(c byte, warned bool) error {
	switch c {
	case 'a', 'i', 'c':
		return e.add(c)
	case 'd':
		if err := e.need(e.cur, e.cur); err != nil {
			return err
		}
		if err := e.suffix(); err != nil {
			return err
		}
		e.save()
		e.yankLines()
		e.remove(e.first, e.second)
	case 'e', 'E':
		return e.edit(c, warned)
	case 'f':
		if e.addresses > 0 {
			return edNoAddress
		}
		name, err := e.fileName()
		if err != nil {
			return err
		}
		if strings.HasPrefix(name, "!") {
			return edError("Invalid redirection")
		}
		if name != "" {
			e.name = name
		}
		if e.name == "" {
			return edNoName
		}
		e.p.Out.WriteString(e.name + "\n")
	case 'g', 'v', 'G', 'V':
		return e.globally(c)
	case 'h', 'H', 'P':
		if e.addresses > 0 {
			return edNoAddress
		}
		if err := e.suffix(); err != nil {
			return err
		}
		switch {
		case c == 'P':
			e.showPrompt = !e.showPrompt
		case c == 'H':
			e.help = !e.help
			if e.help && e.message != "" {
				e.p.Out.WriteString(e.message + "\n")
			}
		case e.message != "":
			e.p.Out.WriteString(e.message + "\n")
		}
	case 'j':
		if err := e.need(e.cur, e.cur+1); err != nil {
			return err
		}
		if err := e.suffix(); err != nil {
			return err
		}
		if e.first < e.second {
			e.save()
			var b strings.Builder
			for _, l := range e.lines[e.first : e.second+1] {
				b.WriteString(l.text)
			}
			at := e.first
			e.remove(e.first, e.second)
			e.insert(at-1, []string{b.String()})
		}
	case 'k':
		if e.second < 1 {
			return edBadAddress
		}
		if e.cmd == "" {
			return edBadSuffix
		}
		if e.cmd[0] < 'a' || e.cmd[0] > 'z' {
			return edError("Invalid mark character")
		}
		mark := e.cmd[0]
		e.cmd = e.cmd[1:]
		if err := e.suffix(); err != nil {
			return err
		}
		e.marks[mark] = e.lines[e.second]
	case 'l', 'n', 'p':
		if err := e.need(e.cur, e.cur); err != nil {
			return err
		}
		e.printing = string(c)
		if err := e.suffix(); err != nil {
			return err
		}
		how := e.printing
		e.printing = ""
		return e.print(e.first, e.second, how)
	case 'm', 't':
		return e.moveOrCopy(c)
	case 'q', 'Q':
		if e.addresses > 0 {
			return edNoAddress
		}
		if err := e.suffix(); err != nil {
			return err
		}
		if c == 'q' && e.modified && !warned {
			e.warned = true
			return edModified
		}
		e.done = true
	case 'r':
		at := e.second
		if e.addresses == 0 {
			at = e.size()
		}
		name, err := e.fileName()
		if err != nil {
			return err
		}
		e.save()
		if cmd, ok := strings.CutPrefix(name, "!"); ok {
			return e.readShell(cmd, at)
		}
		if name == "" {
			name = e.name
		} else if e.name == "" {
			e.name = name
		}
		if name == "" {
			return edNoName
		}
		_, err = e.read(name, at)
		return err
	case 's':
		return e.substitute()
	case 'u':
		if e.addresses > 0 {
			return edNoAddress
		}
		if err := e.suffix(); err != nil {
			return err
		}
		if !e.hasUndo {
			return edNothingUndo
		}
		e.lines, e.undo = e.undo, e.lines
		e.cur, e.undoCur = e.undoCur, e.cur
		e.modified, e.undoMod = e.undoMod, e.modified
	case 'w', 'W':
		return e.write(c, warned)
	case 'x':
		at := e.second
		if err := e.suffix(); err != nil {
			return err
		}
		if len(e.yank) == 0 {
			return edError("Nothing to put")
		}
		e.save()
		e.insert(at, e.yank)
	case 'y':
		if err := e.need(e.cur, e.cur); err != nil {
			return err
		}
		if err := e.suffix(); err != nil {
			return err
		}
		e.yankLines()
	case 'z':
		return e.scroll()
	case '=':
		n := e.second
		if e.addresses == 0 {
			n = e.size()
		}
		if err := e.suffix(); err != nil {
			return err
		}
		how := e.printing
		e.printing = ""
		fmt.Fprintf(e.p.Out, "%d\n", n)
		if how != "" && n > 0 {
			return e.print(n, n, how)
		}
	case '!':
		return e.shell()
	case '#':
	default:
		return edUnknown
	}
	return nil
}

func (e *edRun) yankLines() {
	e.yank = nil
	for _, l := range e.lines[e.first : e.second+1] {
		e.yank = append(e.yank, l.text)
	}
}

func (e *edRun) add(c byte) error {
	at := e.second
	if c == 'c' {
		if e.addresses > 0 && e.first == 0 {
			e.first = 1
			e.second = max(e.second, 1)
		}
		if err := e.need(e.cur, e.cur); err != nil {
			return err
		}
	}
	if err := e.suffix(); err != nil {
		return err
	}
	e.save()
	if c == 'i' && at > 0 {
		at--
	}
	if c == 'c' {
		e.yankLines()
		at = e.first - 1
		e.remove(e.first, e.second)
	}
	lines := e.text()
	e.insert(at, lines)
	if len(lines) == 0 && c != 'c' {
		e.cur = max(at, min(e.second, e.size()))
	} else if len(lines) == 0 {
		e.cur = min(at+1, e.size())
	}
	return nil
}

func (e *edRun) edit(c byte, warned bool) error {
	if e.addresses > 0 {
		return edNoAddress
	}
	if c == 'e' && e.modified && !warned {
		e.warned = true
		return edModified
	}
	name, err := e.fileName()
	if err != nil {
		return err
	}
	e.lines, e.cur = []*edLine{{}}, 0
	e.marks = map[byte]*edLine{}
	defer func() { e.modified, e.hasUndo = false, false }()
	if cmd, ok := strings.CutPrefix(name, "!"); ok {
		return e.readShell(cmd, 0)
	}
	if name != "" {
		e.name = name
	}
	if e.name == "" {
		return edNoName
	}
	_, err = e.read(e.name, 0)
	return err
}

func (e *edRun) write(c byte, warned bool) error {
	quit := false
	if e.cmd != "" && (e.cmd[0] == 'q' || e.cmd[0] == 'Q') {
		quit = true
		e.cmd = e.cmd[1:]
	}
	name, err := e.fileName()
	if err != nil {
		return err
	}
	first, second := e.first, e.second
	if e.addresses == 0 {
		first, second = min(1, e.size()), e.size()
	}
	if first > second || second > e.size() {
		return edBadAddress
	}
	var b bytes.Buffer
	for _, l := range e.lines[max(first, 1) : second+1] {
		e.p.Tick(1)
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	e.p.Hold(b.Len())
	defer e.p.Release(b.Len())
	if cmd, ok := strings.CutPrefix(name, "!"); ok {
		if e.restricted {
			return edError("Shell access restricted")
		}
		e.p.Exec(e.ctx, e.p.Shell(cmd, bytes.NewReader(b.Bytes()), nil))
	} else {
		if name == "" {
			name = e.name
		} else if e.name == "" {
			e.name = name
		}
		if name == "" {
			return edNoName
		}
		flag := proc.WriteOnly | proc.Create | proc.Trunc
		if c == 'W' {
			flag = proc.WriteOnly | proc.Create | proc.Append
		}
		f, err := e.p.Open(name, flag, 0o666)
		if err == nil {
			_, err = f.Write(b.Bytes())
			_ = f.Close()
		}
		if err != nil {
			e.p.Out.Flush()
			fmt.Fprintf(e.p.Err, "%s: %s\n", name, proc.Strerror(err))
			return edError("Cannot open output file")
		}
		if e.addresses == 0 || first <= 1 && second == e.size() {
			e.modified = false
		}
	}
	if !e.quiet {
		fmt.Fprintf(e.p.Out, "%d\n", b.Len())
	}
	if quit {
		if e.modified && !warned {
			e.warned = true
			return edModified
		}
		e.done = true
	}
	return nil
}

func (e *edRun) moveOrCopy(c byte) error {
	if err := e.need(e.cur, e.cur); err != nil {
		return err
	}
	first, second := e.first, e.second
	e.cmd = strings.TrimLeft(e.cmd, " \t")
	to, ok, err := e.address()
	if err != nil {
		return err
	}
	if !ok {
		to = e.cur
	}
	if c == 'm' && to >= first && to < second {
		return edBadDest
	}
	if err := e.suffix(); err != nil {
		return err
	}
	e.save()
	block := slices.Clone(e.lines[first : second+1])
	if c == 't' {
		texts := make([]string, len(block))
		for i, l := range block {
			texts[i] = l.text
		}
		e.insert(to, texts)
		return nil
	}
	if to == second {
		to -= len(block)
	} else if to > second {
		to -= len(block)
	}
	rest := slices.Delete(slices.Clone(e.lines), first, second+1)
	e.lines = slices.Insert(rest, to+1, block...)
	e.cur, e.modified = to+len(block), true
	return nil
}

// next is the line that is meant, without an address the one after the current one; within g it is the current one itself.
func (e *edRun) next() (int, error) {
	n := e.second
	if e.addresses == 0 {
		n = e.cur + 1
		if e.inList {
			n = e.cur
		}
	}
	if n < 1 || n > e.size() {
		return 0, edBadAddress
	}
	return n, nil
}

func (e *edRun) scroll() error {
	n, err := e.next()
	if err != nil {
		return err
	}
	if d := edDigits(e.cmd); d > 0 {
		k, err := strconv.Atoi(e.cmd[:d])
		if err != nil || k < 1 {
			return edError("Invalid window size")
		}
		e.window, e.cmd = k, e.cmd[d:]
	}
	if err := e.suffix(); err != nil {
		return err
	}
	how := e.printing
	e.printing = ""
	return e.print(n, min(n+e.window-1, e.size()), how)
}

func (e *edRun) shell() error {
	if e.addresses > 0 {
		return edNoAddress
	}
	if e.restricted {
		return edError("Shell access restricted")
	}
	cmd := e.cmd
	again := strings.HasPrefix(cmd, "!")
	if again {
		if e.shellLast == "" {
			return edError("No previous command")
		}
		cmd = e.shellLast + cmd[1:]
	}
	var b strings.Builder
	replaced := again
	for i := 0; i < len(cmd); i++ {
		switch {
		case cmd[i] == '\\' && i+1 < len(cmd) && cmd[i+1] == '%':
			i++
			b.WriteByte('%')
		case cmd[i] == '%':
			if e.name == "" {
				return edNoName
			}
			b.WriteString(e.name)
			replaced = true
		default:
			b.WriteByte(cmd[i])
		}
	}
	e.cmd, e.shellLast = "", b.String()
	if replaced {
		e.p.Out.WriteString(e.shellLast + "\n")
	}
	e.p.Exec(e.ctx, e.p.Shell(e.shellLast, strings.NewReader(""), nil))
	if !e.quiet {
		e.p.Out.WriteString("!\n")
	}
	return nil
}

// substitute is s: s/re/replacement/flags, or a repetition of the last one.
func (e *edRun) substitute() error {
	delim := byte(0)
	if e.cmd != "" {
		delim = e.cmd[0]
	}
	s := e.subst
	var re *regex.Regexp
	switch {
	case delim == 0 || strings.IndexByte("rgp0123456789ln", delim) >= 0:
		if !e.hasSubst {
			return edError("No previous substitution")
		}
		re = e.last
		for e.cmd != "" && strings.IndexByte("rgp0123456789", e.cmd[0]) >= 0 {
			switch c := e.cmd[0]; {
			case c == 'r':
				e.cmd = e.cmd[1:]
			case c == 'g':
				s.global = !s.global
				e.cmd = e.cmd[1:]
			case c == 'p':
				if s.print == "" {
					s.print = "p"
				} else {
					s.print = ""
				}
				e.cmd = e.cmd[1:]
			default:
				d := edDigits(e.cmd)
				s.nth, _ = strconv.Atoi(e.cmd[:d])
				e.cmd = e.cmd[d:]
			}
		}
	case delim == ' ' || delim == '\n':
		return edError("Invalid pattern delimiter")
	default:
		src, rest, closed := edDelimited(e.cmd[1:], delim)
		if delim != '/' {
			src = strings.ReplaceAll(src, "\\"+string(delim), string(delim))
		}
		if !closed {
			return edError("Missing pattern delimiter")
		}
		var err error
		if re, err = e.compile(src); err != nil {
			return err
		}
		text, rest, err := e.replacement(rest, delim)
		if err != nil {
			return err
		}
		if text != "%" {
			e.replace = text
		}
		s = edSubst{nth: 1}
		if rest == "\x00" { // the delimiter was left out: the result is printed
			s.print, rest = "p", ""
		}
		e.cmd = rest
	flags:
		for e.cmd != "" {
			switch c := e.cmd[0]; {
			case c == 'g':
				s.global = true
			case c == 'i' || c == 'I':
				folded, err := regex.Compile(src, regex.Options{Extended: e.extended, IgnoreCase: true, Tick: e.p.Tick})
				if err != nil {
					return edError(err.Error())
				}
				re, e.last = folded, folded
			case isDigit(c):
				d := edDigits(e.cmd)
				s.nth, _ = strconv.Atoi(e.cmd[:d])
				if s.nth == 0 {
					return edBadSuffix
				}
				e.cmd = e.cmd[d:]
				continue
			case strings.IndexByte("lnp", c) >= 0:
				s.print += string(c)
			default:
				break flags
			}
			e.cmd = e.cmd[1:]
		}
	}
	if err := e.need(e.cur, e.cur); err != nil {
		return err
	}
	e.printing = ""
	if err := e.suffix(); err != nil {
		return err
	}
	if s.print != "" {
		e.printing = s.print
	}
	e.subst, e.hasSubst = s, true
	saved := false
	last := 0
	for n := e.first; n <= e.second; n++ {
		e.p.Tick(1)
		out, ok := e.replaceIn(re, e.lines[n].text, s)
		if ok && out == edEndless {
			return edError("Infinite substitution loop")
		}
		if !ok {
			continue
		}
		if !saved {
			e.save()
			e.lines = slices.Clone(e.lines)
			saved = true
		}
		parts := strings.Split(out, "\n")
		wanted := e.lines[n].marked
		e.lines[n] = &edLine{text: parts[0], marked: wanted}
		e.p.Hold(len(out) + 48)
		e.modified = true
		last = n
		if len(parts) > 1 {
			e.insert(n, parts[1:])
			n += len(parts) - 1
			e.second += len(parts) - 1
			last = n
		}
	}
	if last == 0 {
		if e.inList {
			e.printing = ""
			return nil
		}
		return edNoMatch
	}
	e.cur = last
	return nil
}

// replacement reads up to the delimiter; a backslash at the end of a line goes on with the next one. Without
// the delimiter rest is a NUL.
func (e *edRun) replacement(s string, delim byte) (text, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == delim:
			return b.String(), s[i+1:], nil
		case s[i] == '\\' && i+1 < len(s):
			if s[i+1] != delim {
				b.WriteByte('\\')
			} else if delim == '&' {
				b.WriteByte('\\')
			}
			i++
			b.WriteByte(s[i])
		case s[i] == '\\':
			next, ok := e.input()
			if !ok {
				return "", "", edUnexpected
			}
			b.WriteString("\\\n")
			s, i = next, -1
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), "\x00", nil
}

// edEndless is the answer of replaceIn to an empty match where all are to be replaced, which ed refuses. No line holds a newline.
const edEndless = "\n\n"

func (e *edRun) replaceIn(re *regex.Regexp, line string, s edSubst) (string, bool) {
	in := []byte(line)
	var out []byte
	at, count, done := 0, 0, false
	for at <= len(in) {
		e.p.Tick(1)
		loc := re.FindSubmatchIndex(in, at)
		if loc == nil {
			break
		}
		count++
		out = append(out, in[at:loc[0]]...)
		if s.global && count >= s.nth || count == s.nth {
			done = true
			if s.global && loc[1] == at {
				return edEndless, true
			}
			out = e.expand(out, in, loc)
		} else {
			out = append(out, in[loc[0]:loc[1]]...)
		}
		at = loc[1]
		if loc[0] == loc[1] {
			if at >= len(in) {
				at = len(in) + 1
				break
			}
			_, w := utf8.DecodeRune(in[at:])
			out = append(out, in[at:at+w]...)
			at += w
		}
		if done && !s.global {
			break
		}
	}
	if at < len(in) {
		out = append(out, in[at:]...)
	}
	return string(out), done
}

func (e *edRun) expand(out, in []byte, loc []int) []byte {
	for i := 0; i < len(e.replace); i++ {
		c := e.replace[i]
		switch {
		case c == '&':
			out = append(out, in[loc[0]:loc[1]]...)
		case c == '\\' && i+1 < len(e.replace):
			i++
			c = e.replace[i]
			if c >= '1' && c <= '9' {
				if k := 2 * int(c-'0'); k+1 < len(loc) && loc[k] >= 0 {
					out = append(out, in[loc[k]:loc[k+1]]...)
				}
				continue
			}
			out = append(out, c)
		default:
			out = append(out, c)
		}
	}
	return out
}

// globally is g and v, and G and V, which ask for a command at each line.
func (e *edRun) globally(c byte) error {
	if e.inList {
		return edError("Cannot nest global commands")
	}
	if e.addresses == 0 {
		e.first, e.second = min(1, e.size()), e.size()
	}
	if e.first > e.second || e.second > e.size() {
		return edBadAddress
	}
	if e.cmd == "" || e.cmd[0] == ' ' {
		return edError("Invalid pattern delimiter")
	}
	re, err := e.pattern(e.cmd[0])
	if err != nil {
		return err
	}
	marked := 0
	for n := max(e.first, 1); n <= e.second; n++ {
		e.p.Tick(1)
		l := e.lines[n]
		if l.marked = re.Match([]byte(l.text)) == (c == 'g' || c == 'G'); l.marked {
			marked++
		}
	}
	defer func() {
		for _, l := range e.lines {
			l.marked = false
		}
	}()
	var list []string
	if c == 'g' || c == 'v' {
		line := e.cmd
		for strings.HasSuffix(line, "\\") && !strings.HasSuffix(line, "\\\\") {
			list = append(list, strings.TrimSuffix(line, "\\"))
			next, ok := e.input()
			if !ok {
				break
			}
			line = next
		}
		list = append(list, line)
		if len(list) == 1 && strings.TrimSpace(list[0]) == "" {
			list[0] = "p"
		}
	} else {
		if err := e.suffix(); err != nil {
			return err
		}
	}
	if marked == 0 && (c == 'G' || c == 'V') {
		return nil
	}
	e.save()
	previous := ""
	for n := 1; n <= e.size(); {
		e.p.Tick(1)
		l := e.lines[n]
		if !l.marked {
			n++
			continue
		}
		l.marked = false
		e.cur = n
		commands := list
		if c == 'G' || c == 'V' {
			if err := e.print(n, n, e.printing+"p"); err != nil {
				return err
			}
			line, ok := e.input()
			if !ok {
				return edError("Unexpected end-of-file")
			}
			switch {
			case line == "":
				continue
			case line == "&":
				line = previous
			}
			previous = line
			commands = []string{line}
		}
		err := e.runList(commands)
		if err != nil || e.done {
			return err
		}
		// Lines may have come and gone before this one.
		if n <= e.size() && e.lines[n] == l {
			n++
		} else if k := slices.Index(e.lines, l); k < 0 {
			n = max(min(n, e.size()), 1)
			for n > 1 && e.lines[n-1].marked {
				n--
			}
		} else {
			n = 1
		}
	}
	e.printing = ""
	return nil
}

func (e *edRun) runList(list []string) error {
	e.inList, e.global = true, list
	defer func() { e.inList, e.global = false, nil }()
	for len(e.global) > 0 {
		line := e.global[0]
		e.global = e.global[1:]
		if err := e.command(line, false); err != nil || e.done {
			return err
		}
	}
	return nil
}

// print shows lines; how holds l, n and p.
func (e *edRun) print(first, second int, how string) error {
	if first < 1 {
		return edBadAddress
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
func (e *edRun) list(s string) {
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
		switch {
		case c == '\\' || c == '\n':
			put(cEscape(c))
		case c == '$':
			put(`\$`)
		case c < 32 || c >= 127:
			if t := cEscape(c); t != "" {
				put(t)
			} else {
				put(fmt.Sprintf(`\%03o`, c))
			}
		default:
			put(string(c))
		}
	}
	e.p.Out.WriteString("$")
}
