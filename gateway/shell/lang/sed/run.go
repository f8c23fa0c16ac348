package sed

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
)

// output is where lines go: standard output, a file of w, or the new version of a file
// edited in place.
type output = io.Writer

// Input gives the lines of the input files, one after the other.
type Input interface {
	// Next returns the next line without its delimiter, and whether it had one. The
	// slice is valid until the following call.
	Next() (line []byte, terminated, ok bool)
	// Last reports whether the line returned last is the last one (of its file when files are separate).
	Last() bool
	// NewFile reports, once, that the line returned last begins another file.
	NewFile() bool
	// Name is the current file's, "-" for standard input.
	Name() string
	// Output is where the current file's output goes.
	Output() io.Writer
}

// runner is one run of a program.
type runner struct {
	*Program
	p      *proc.Process
	in     Input
	out    outFile
	ps, hs []byte // pattern space, hold space
	nl     bool   // the pattern space's line had a newline
	hnl    bool
	line   int64
	queue  []appended
	last   *regex.Regexp
	subst  bool // a substitution was made since the last line or t
	status int
	tmp    []byte
	held   int
	reads  map[string]*rline
	again  bool // D: the next cycle keeps the pattern space
	quit   bool
	delim  byte
	debug  *debugger // nil without --debug
}

type appended struct {
	text []byte
	path string
	one  bool // R: one line
}

type rline struct {
	data []byte
	pos  int
}

// Run executes the program over in. It returns the exit status.
func (g *Program) Run(p *proc.Process, in Input) int {
	r := &runner{Program: g, p: p, in: in, hnl: true, delim: '\n', reads: map[string]*rline{}}
	if g.opt.NullData {
		r.delim = 0
	}
	for _, c := range g.cmds {
		for _, re := range []*pattern{c.a1.re, c.a2.re} {
			if re != nil && re.re != nil {
				re.re.SetTick(p.Tick)
			}
		}
		if c.sub != nil && c.sub.re.re != nil {
			c.sub.re.re.SetTick(p.Tick)
		}
	}
	if g.opt.Debug {
		r.debug = &debugger{out: p.Out, tick: p.Tick}
		r.debug.program(g)
	}
	defer func() { p.Release(r.held) }()
	for !r.quit {
		if r.again {
			r.again = false
		} else if !r.read(false) {
			break
		} else if r.debug != nil {
			name := r.in.Name()
			if name == "-" {
				name = "STDIN"
			}
			r.debug.writeString(fmt.Sprintf("INPUT:   '%s' line %d\n", name, r.line))
			r.debug.space("PATTERN", r.ps)
		}
		r.cycle()
		r.flushQueue()
		if r.opt.Unbuffer {
			p.Out.Flush()
		}
	}
	return r.status
}

// account charges the buffers to the budget.
func (r *runner) account() {
	if n := cap(r.ps) + cap(r.hs) + cap(r.tmp); n > r.held+4096 {
		r.p.Hold(n - r.held)
		r.held = n
	}
}

// ask is for before n bytes are appended to a buffer: the copy may be all that memory can hold.
func (r *runner) ask(buffer []byte, n int) {
	need := len(buffer) + n
	if n > 1<<10 {
		r.p.Tick(1 + n>>10)
	}
	if need > 1<<20 && need > cap(buffer) {
		r.p.Hold(2 * need)
		r.p.Release(2 * need)
	}
}

// read gets the next line; join appends it to the pattern space.
func (r *runner) read(join bool) bool {
	line, nl, ok := r.in.Next()
	if !ok {
		return false
	}
	if r.in.NewFile() && r.opt.Separate {
		r.line, r.hs, r.hnl = 0, r.hs[:0], true
		for _, c := range r.cmds {
			c.active = c.a1.kind == addrLine && c.a1.n == 0 && c.a2.kind == addrRegex
			c.closed = false
		}
	}
	if !join {
		r.ps = r.ps[:0]
	}
	r.ps = append(r.ps, line...)
	r.nl = nl
	if r.line++; r.line == 1 {
		r.head()
	}
	r.p.Tick(1 + len(line)>>10)
	r.account()
	return true
}

// head puts the files of 0r before the first line.
func (r *runner) head() {
	for _, c := range r.cmds {
		if c.name == 'r' && c.a1.kind == addrLine && c.a1.n == 0 && c.a2.kind == addrNone {
			r.queue = append(r.queue, appended{path: c.path})
		}
	}
	r.flushQueue()
}

func (r *runner) emit(f *outFile, text []byte, nl bool) {
	if f == &r.out {
		r.output()
	}
	if f.missing {
		_, _ = f.w.Write([]byte{r.delim})
		f.missing = false
	}
	_, _ = f.w.Write(text)
	if nl {
		_, _ = f.w.Write([]byte{r.delim})
	} else {
		f.missing = true
	}
}

// output makes sure that lines go where the current file's do; a file edited in place begins anew.
func (r *runner) output() {
	if w := r.in.Output(); w != r.out.w {
		r.out.w, r.out.missing = w, false
	}
}

// raw writes text that carries its own newline.
func (r *runner) raw(text []byte) {
	r.output()
	if r.out.missing {
		_, _ = r.out.w.Write([]byte{r.delim})
		r.out.missing = false
	}
	_, _ = r.out.w.Write(text)
}

// text writes what i or c add; its last newline is the delimiter of lines.
func (r *runner) text(text []byte) {
	r.raw(bytes.TrimSuffix(text, []byte{'\n'}))
	if bytes.HasSuffix(text, []byte{'\n'}) {
		r.raw([]byte{r.delim})
	}
}

func (r *runner) flushQueue() {
	for _, a := range r.queue {
		switch {
		case a.path == "":
			r.raw(a.text)
		case a.one:
			rl := r.reads[a.path]
			if rl == nil {
				rl = &rline{}
				if data, err := r.p.ReadFile(a.path); err == nil {
					rl.data = data
				}
				r.reads[a.path] = rl
			}
			if rl.pos >= len(rl.data) {
				continue
			}
			rest := rl.data[rl.pos:]
			if i := bytes.IndexByte(rest, r.delim); i >= 0 {
				r.emit(&r.out, rest[:i], true)
				rl.pos += i + 1
			} else {
				r.raw(rest)
				rl.pos = len(rl.data)
			}
		default:
			data, _ := r.p.ReadFile(a.path) // nothing, when it cannot be read
			r.raw(data)
		}
	}
	r.queue = r.queue[:0]
}

func (r *runner) fatal(format string, args ...any) {
	r.p.Errorf(format, args...)
	r.p.Exit(1)
}

// regexp resolves the empty regular expression to the last one used.
func (r *runner) regexp(re *pattern, c *command) *regex.Regexp {
	if re.re != nil {
		r.last = re.re
		return re.re
	}
	if r.last == nil {
		r.fatal("%s: no previous regular expression", noChar(c.origin))
	}
	return r.last
}

// noChar replaces the position in an origin by 0, which is what GNU says at run time.
func noChar(origin string) string {
	if i := strings.LastIndex(origin, "char "); i >= 0 {
		return origin[:i] + "char 0"
	}
	return origin
}

func (r *runner) matches(a *address, c *command) bool {
	switch a.kind {
	case addrLine:
		return r.line == a.n
	case addrStep:
		return r.line >= a.n && (r.line-a.n)%a.step == 0
	case addrLast:
		return r.in.Last()
	case addrRegex:
		return r.regexp(a.re, c).Match(r.ps)
	}
	return false
}

// selected decides whether a command applies to the current line.
func (r *runner) selected(c *command) bool {
	switch {
	case c.a1.kind == addrNone:
		return true
	case c.a2.kind == addrNone:
		return r.matches(&c.a1, c)
	case !c.active:
		if c.a1.kind == addrLine {
			// A range from a line whose number was not seen here begins at the first line after it, once.
			if c.closed || r.line < c.a1.n || r.line > c.a1.n && c.a2.kind == addrLine && r.line > c.a2.n {
				return false
			}
		} else if !r.matches(&c.a1, c) {
			return false
		}
		switch c.a2.kind {
		case addrLine:
			c.end = c.a2.n
		case addrPlus:
			c.end = r.line + c.a2.n
		case addrMult:
			c.end = r.line
			if c.a2.n > 0 {
				c.end = (r.line/c.a2.n + 1) * c.a2.n
			}
		default:
			c.active = true
			return true
		}
		c.active = c.end > r.line
		c.closed = !c.active
		return true
	}
	switch c.a2.kind {
	case addrLine, addrPlus, addrMult:
		if r.line >= c.end {
			c.active, c.closed = false, true
		}
		return r.line <= c.end
	}
	if r.matches(&c.a2, c) {
		c.active, c.closed = false, true
	}
	return true
}

// cycle runs the script over one line.
func (r *runner) cycle() {
	for pc := 0; pc < len(r.cmds); pc++ {
		c := r.cmds[pc]
		r.p.Tick(1)
		if r.debug != nil {
			r.debug.writeString("COMMAND: ")
			r.debug.command(c)
		}
		if r.selected(c) == c.negate {
			if c.name == '{' {
				pc = c.target - 1
			}
			continue
		}
		switch c.name {
		case '{', '}', ':':
		case '=':
			r.raw(append(strconv.AppendInt(nil, r.line, 10), r.delim))
		case 'a':
			r.queue = append(r.queue, appended{text: c.text})
			r.queueLimit()
		case 'i':
			r.text(c.text)
		case 'c':
			if !c.active || c.a2.kind == addrNone {
				r.text(c.text)
			}
			r.endCycle()
			return
		case 'b':
			pc = c.target - 1
		case 't':
			if r.subst {
				r.subst = false
				pc = c.target - 1
			}
		case 'T':
			if !r.subst {
				pc = c.target - 1
			}
			r.subst = false
		case 'd':
			r.subst = false
			r.endCycle()
			return
		case 'D':
			i := bytes.IndexByte(r.ps, r.delim)
			if i < 0 {
				r.subst = false
				return
			}
			r.ps = append(r.ps[:0], r.ps[i+1:]...)
			r.again = true
			r.show('D')
			return
		case 'e':
			if c.label == "" {
				r.ps, r.nl = r.evaluate(r.ps), true
				break
			}
			r.raw(r.command(c.label))
		case 'F':
			r.raw(append([]byte(r.in.Name()), r.delim))
		case 'g':
			r.ask(r.ps[:0], len(r.hs))
			r.ps, r.nl = append(r.ps[:0], r.hs...), r.hnl
		case 'G':
			r.ask(r.ps, len(r.hs)+1)
			r.ps, r.nl = append(append(r.ps, r.delim), r.hs...), r.hnl
			r.account()
		case 'h':
			r.ask(r.hs[:0], len(r.ps))
			r.hs, r.hnl = append(r.hs[:0], r.ps...), r.nl
			r.account()
		case 'H':
			r.ask(r.hs, len(r.ps)+1)
			r.hs, r.hnl = append(append(r.hs, r.delim), r.ps...), r.nl
			r.account()
		case 'l':
			n := r.opt.LineLen
			if c.hasNum {
				n = int(c.num)
			}
			r.list(n)
		case 'n':
			if r.in.Last() {
				if !r.opt.Quiet {
					r.emit(&r.out, r.ps, r.nl)
				}
				r.endCycle()
				r.flushQueue()
				r.quit = !r.opt.Separate
				return
			}
			if !r.opt.Quiet {
				r.emit(&r.out, r.ps, r.nl)
			}
			r.flushQueue()
			if !r.read(false) {
				r.quit = true
				return
			}
		case 'N':
			if r.in.Last() {
				r.endCycle()
				if !r.opt.Quiet && !r.opt.Posix {
					r.emit(&r.out, r.ps, r.nl)
				}
				r.flushQueue()
				if !r.opt.Separate {
					r.quit = true
				}
				return
			}
			r.flushQueue()
			r.ps = append(r.ps, r.delim)
			if !r.read(true) {
				r.quit = true
				return
			}
		case 'p':
			r.emit(&r.out, r.ps, r.nl)
		case 'P':
			if i := bytes.IndexByte(r.ps, r.delim); i >= 0 {
				r.emit(&r.out, r.ps[:i], true)
			} else {
				r.emit(&r.out, r.ps, r.nl)
			}
		case 'q':
			if !r.opt.Quiet {
				r.emit(&r.out, r.ps, r.nl)
			}
			r.status, r.quit = int(c.num&0xff), true
			return
		case 'Q':
			r.status, r.quit = int(c.num&0xff), true
			r.queue = r.queue[:0]
			return
		case 'r', 'R':
			r.queue = append(r.queue, appended{path: c.path, one: c.name == 'R'})
			r.queueLimit()
		case 's':
			r.substitute(c)
		case 'w':
			r.emit(c.file, r.ps, r.nl)
		case 'W':
			i := bytes.IndexByte(r.ps, r.delim)
			if i < 0 {
				i = len(r.ps)
			}
			r.emit(c.file, r.ps[:i], true)
		case 'x':
			r.ps, r.hs = r.hs, r.ps
			r.nl, r.hnl = r.hnl, r.nl
		case 'y':
			r.transliterate(c)
		case 'z':
			r.ps = r.ps[:0]
		}
		r.show(c.name)
	}
	r.endCycle()
	r.subst = false
	if !r.opt.Quiet {
		r.emit(&r.out, r.ps, r.nl)
	}
}

// endCycle is for --debug.
func (r *runner) endCycle() {
	if r.debug != nil {
		r.debug.writeString("END-OF-CYCLE:\n")
	}
}

// show is for --debug: the spaces that a command may have changed.
func (r *runner) show(name byte) {
	if r.debug == nil {
		return
	}
	if strings.IndexByte("DGnNsxyz", name) >= 0 {
		r.debug.space("PATTERN", r.ps)
	}
	if strings.IndexByte("ghHx", name) >= 0 {
		r.debug.space("HOLD", r.hs)
	}
}

// queueLimit charges a loop of a commands.
func (r *runner) queueLimit() {
	if len(r.queue)&1023 == 1023 {
		r.p.Hold(1024 * 48)
		r.held += 1024 * 48
	}
}

func (r *runner) substitute(c *command) {
	s := c.sub
	re := r.regexp(s.re, c)
	if s.maxRef > re.Groups() {
		r.fatal("%s: invalid reference \\%d on `s' command's RHS", noChar(c.origin), s.maxRef)
	}
	b := r.ps
	out := r.tmp[:0]
	pos, copied, count, last := 0, 0, 0, -1
	done := false
	for pos <= len(b) {
		var loc []int
		var one [2]int
		if r.debug == nil && (s.simple || s.maxRef == 0) {
			a, z, ok := re.FindIndex(b, pos)
			if !ok {
				break
			}
			one = [2]int{a, z}
			loc = one[:]
		} else if loc = re.FindSubmatchIndex(b, pos); loc == nil {
			break
		}
		r.p.Tick(1)
		start, end := loc[0], loc[1]
		if r.debug != nil && pos == 0 {
			r.debug.registers(b, loc)
		}
		if start == end && start == last { // an empty match right after a match
			if start >= len(b) {
				break
			}
			pos = start + r.charLen(b, start)
			continue
		}
		last = end
		count++
		if count >= s.nth {
			out = append(out, b[copied:start]...)
			out = r.expand(out, s, b, loc)
			copied = end
			done = true
			if !s.global {
				break
			}
		}
		pos = end
		if start == end {
			if end >= len(b) {
				break
			}
			pos += r.charLen(b, end)
			last = -1
		}
	}
	if !done {
		r.tmp = out
		return
	}
	out = append(out, b[copied:]...)
	r.ps, r.tmp = out, b
	r.account()
	r.subst = true
	if s.print > 0 && !s.late {
		r.emit(&r.out, r.ps, r.nl)
	}
	if s.eval {
		r.ps = r.evaluate(r.ps)
	}
	if s.late {
		r.emit(&r.out, r.ps, r.nl)
	}
	if s.file != nil {
		r.emit(s.file, r.ps, r.nl)
	}
}

// command runs a shell command and returns what it writes on its standard output.
func (r *runner) command(cmd string) []byte {
	out := &commandOutput{p: r.p}
	r.p.Exec(r.p.Context(), r.p.Shell(cmd, nil, out))
	r.p.Release(out.held)
	return out.buf
}

// evaluate is what the pattern space becomes when it is run as a command.
func (r *runner) evaluate(cmd []byte) []byte {
	out := r.command(string(cmd))
	if n := len(out); n > 0 && out[n-1] == r.delim {
		out = out[:n-1]
	}
	return out
}

// commandOutput collects the output of a command; it counts against the budget.
type commandOutput struct {
	p    *proc.Process
	buf  []byte
	held int
}

func (o *commandOutput) Write(b []byte) (int, error) {
	o.p.Hold(len(b))
	o.held += len(b)
	o.buf = append(o.buf, b...)
	return len(b), nil
}

func (r *runner) charLen(b []byte, pos int) int {
	if r.opt.Bytes || b[pos] < utf8.RuneSelf {
		return 1
	}
	_, n := utf8.DecodeRune(b[pos:])
	return n
}

// expand appends the replacement for a match.
func (r *runner) expand(out []byte, s *substitution, b []byte, loc []int) []byte {
	if s.simple {
		r.ask(out, len(s.plain))
		return append(out, s.plain...)
	}
	var all, once byte // case changes in force: U, L; u, l
	for i := range s.parts {
		p := &s.parts[i]
		text := p.text
		switch {
		case p.conv == 'E':
			all, once = 0, 0
			continue
		case p.conv == 'U' || p.conv == 'L':
			all = p.conv
			continue
		case p.conv != 0:
			once = p.conv
			continue
		case p.group >= 0:
			if 2*p.group+1 >= len(loc) || loc[2*p.group] < 0 {
				continue
			}
			text = b[loc[2*p.group]:loc[2*p.group+1]]
		}
		if all == 0 && once == 0 {
			r.ask(out, len(text))
			out = append(out, text...)
			continue
		}
		for j := 0; j < len(text); {
			c, n := utf8.DecodeRune(text[j:])
			if c == utf8.RuneError && n == 1 || r.opt.Bytes && n > 1 {
				out = append(out, text[j])
				once = 0
				j++
				continue
			}
			how := all
			if once != 0 {
				how, once = once, 0
			}
			switch how {
			case 'U', 'u':
				c = unicode.ToUpper(c)
			case 'L', 'l':
				c = unicode.ToLower(c)
			}
			out = utf8.AppendRune(out, c)
			j += n
		}
	}
	return out
}

func (r *runner) transliterate(c *command) {
	out := r.tmp[:0]
	for i := 0; i < len(r.ps); {
		ch := r.ps[i]
		if ch < utf8.RuneSelf || c.table == nil {
			if to := c.bytes[ch]; to != nil {
				out = append(out, to...)
			} else {
				out = append(out, ch)
			}
			i++
			continue
		}
		x, n := utf8.DecodeRune(r.ps[i:])
		if to, ok := c.table[x]; ok {
			out = append(out, to...)
		} else {
			out = append(out, r.ps[i:i+n]...)
		}
		i += n
	}
	r.ps, r.tmp = out, r.ps
	r.account()
}

// list prints the pattern space unambiguously in lines of n characters (l).
func (r *runner) list(n int) {
	var out []byte
	col := 0
	for _, c := range r.ps {
		var e string
		switch c {
		case '\\':
			e = `\\`
		case '\a':
			e = `\a`
		case '\b':
			e = `\b`
		case '\f':
			e = `\f`
		case '\n':
			e = `\n`
		case '\r':
			e = `\r`
		case '\t':
			e = `\t`
		case '\v':
			e = `\v`
		default:
			if c >= ' ' && c < 127 {
				e = string(rune(c))
			} else {
				e = fmt.Sprintf("\\%03o", c)
			}
		}
		if n > 0 && col+len(e) > n-1 {
			out = append(out, '\\', '\n')
			col = 0
		}
		out = append(out, e...)
		col += len(e)
		if len(out) > 1<<15 {
			r.raw(out)
			out = out[:0]
			r.p.Tick(1 << 8)
		}
	}
	r.raw(append(out, '$', r.delim))
}
