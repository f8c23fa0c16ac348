package sed

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/text/regex"
)

// Options are the settings that change what a script means.
type Options struct {
	Extended bool // -E, -r
	Posix    bool // --posix
	Separate bool // -s, -i
	Quiet    bool // -n
	NullData bool // -z
	Bytes    bool // the C locale
	Debug    bool
	Unbuffer bool
	Sandbox  bool
	LineLen  int // -l

	Tick func(n int) // counts the work of parsing
}

// Chunk is one -e or -f argument.
type Chunk struct {
	Text string
	File string // of -f, "" for an expression
}

// ScriptError is a script that does not parse.
type ScriptError struct {
	Msg    string // complete, without "sed: "
	Status int
}

func (e *ScriptError) Error() string { return e.Msg }

type addrKind uint8

const (
	addrNone addrKind = iota
	addrLine
	addrStep // first~step
	addrLast
	addrRegex
	addrPlus // addr1,+N
	addrMult // addr1,~N
)

type address struct {
	kind addrKind
	n    int64 // line, first, count, multiple
	step int64
	re   *pattern
}

// pattern is a regular expression; nil re means the last one used.
type pattern struct {
	re           *regex.Regexp
	src          string // as the expression compiler got it
	icase, multi bool
}

type command struct {
	name   byte
	a1, a2 address
	negate bool
	text   []byte // a, i, c: the text; y: nil
	label  string // e: the command
	file   *outFile
	path   string
	num    int64 // q, Q: status; l, L: length
	hasNum bool
	target int // b, t, T, {: index to go to
	sub    *substitution
	from   string // y, for --debug
	to     string
	table  map[rune][]byte // y
	bytes  *[256][]byte    // y, single bytes
	active bool            // inside the range
	closed bool            // a range from a line number has ended
	end    int64           // last line of the active range, when it is known
	origin string          // for run-time messages
}

type replPart struct {
	text  []byte
	group int  // -1: text only
	conv  byte // U, L, E, u, l: a case change begins; 0 none
}

type substitution struct {
	re     *pattern
	parts  []replPart
	plain  []byte // the replacement when it is only text
	simple bool
	global bool
	print  int
	eval   bool // e
	late   bool // p came after e: the result of the command is printed
	nth    int
	file   *outFile
	maxRef int
}

// Program is a parsed script.
type Program struct {
	opt    Options
	cmds   []*command
	files  map[string]*outFile
	labels map[string]int
}

type outFile struct {
	name    string
	w       output
	missing bool // the last line written had no newline
}

type parser struct {
	opt    Options
	prog   *Program
	src    string
	pos    int
	chunk  int
	file   string
	known  int // how much of src has been looked through for lines
	line   int // at known
	blocks []int
	text   *command // a, i or c whose text goes on in the next chunk
	open   func(name string) (output, error)
	first  bool
}

type parseFailure struct{ err *ScriptError }

// Parse parses a script. open opens the files of w commands for writing.
func Parse(chunks []Chunk, opt Options, open func(name string) (output, error)) (prog *Program, err error) {
	p := &parser{opt: opt, open: open, first: true}
	p.prog = &Program{opt: opt, files: map[string]*outFile{}, labels: map[string]int{}}
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(parseFailure)
			if !ok {
				panic(r)
			}
			prog, err = nil, f.err
		}
	}()
	exprs := 0
	for _, c := range chunks {
		p.src, p.pos, p.known, p.line, p.file = c.Text, 0, 0, 1, c.File
		if c.File == "" {
			exprs++
			p.chunk = exprs
		}
		// GNU takes any comment that begins with n and is the whole script for #n.
		if p.first && strings.HasPrefix(p.src, "#n") && (strings.HasPrefix(p.src, "#n\n") ||
			strings.IndexByte(p.src, '\n') < 0) {
			p.prog.opt.Quiet = true
		}
		p.first = false
		p.script()
	}
	if p.text != nil && p.text.text == nil {
		p.text.text = []byte{}
	}
	if len(p.blocks) > 0 {
		p.pos = 0
		p.fail("unmatched `{'")
	}
	// GNU keeps its jumps in a list whose head is the last one.
	for _, c := range slices.Backward(p.prog.cmds) {
		if c.name != 'b' && c.name != 't' && c.name != 'T' {
			continue
		}
		c.target = len(p.prog.cmds)
		if c.label != "" {
			t, ok := p.prog.labels[c.label]
			if !ok {
				return nil, &ScriptError{Msg: "can't find label for jump to `" + c.label + "'", Status: 4}
			}
			c.target = t
		}
	}
	return p.prog, nil
}

// lineNumber is that of the position. Each command asks for it, so it is counted on from the one before.
func (p *parser) lineNumber() int {
	pos := min(p.pos, len(p.src))
	if pos < p.known {
		p.known, p.line = 0, 1
	}
	p.line += strings.Count(p.src[p.known:pos], "\n")
	p.known = pos
	return p.line
}

func (p *parser) where() string {
	if p.file != "" {
		return fmt.Sprintf("file %s line %d", p.file, p.lineNumber())
	}
	return fmt.Sprintf("-e expression #%d, char %d", p.chunk, p.pos)
}

func (p *parser) fail(format string, args ...any) {
	panic(parseFailure{&ScriptError{Msg: p.where() + ": " + fmt.Sprintf(format, args...), Status: 1}})
}

const eof = -1

// next consumes a byte.
func (p *parser) next() int {
	if p.pos >= len(p.src) {
		return eof
	}
	c := p.src[p.pos]
	p.pos++
	return int(c)
}

func (p *parser) peek() int {
	if p.pos >= len(p.src) {
		return eof
	}
	return int(p.src[p.pos])
}

func (p *parser) blanks() {
	for p.pos < len(p.src) && strings.IndexByte(" \t\r\v\f", p.src[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *parser) spaces() {
	for p.pos < len(p.src) && strings.IndexByte(" \t\r\v\f\n", p.src[p.pos]) >= 0 {
		p.pos++
	}
}

func isDigit(c int) bool { return c >= '0' && c <= '9' }

func (p *parser) number() int64 {
	v := int64(0)
	for isDigit(p.peek()) {
		v = min(v*10+int64(p.next()-'0'), 1<<60)
	}
	return v
}

func (p *parser) script() {
	if p.text != nil {
		c := p.text
		p.text = nil
		p.readText(c)
	}
	for {
		for p.pos < len(p.src) && strings.IndexByte(" \t\r\v\f\n;", p.src[p.pos]) >= 0 {
			p.pos++
		}
		if p.peek() == eof {
			return
		}
		p.command()
	}
}

func (p *parser) command() {
	p.opt.Tick(1)
	c := &command{}
	if p.peek() == '#' {
		p.comment()
		return
	}
	var ok bool
	if c.a1, ok = p.address(); ok {
		if c.a1.kind == addrPlus || c.a1.kind == addrMult {
			p.fail("invalid usage of +N or ~N as first address")
		}
		p.blanks()
		if p.peek() == ',' {
			p.pos++
			p.blanks()
			if c.a2, ok = p.address(); !ok {
				p.next()
				p.fail("unexpected `,'")
			}
			p.blanks()
		}
	}
	p.spaces()
	if c.a1.kind == addrLine && c.a1.n == 0 {
		head := c.a2.kind == addrNone && p.peek() == 'r'
		if !head && c.a2.kind != addrRegex || p.opt.Posix {
			p.next()
			p.fail("invalid usage of line address 0")
		}
		c.active = !head
	}
	if p.peek() == '!' {
		p.pos++
		c.negate = true
		p.blanks()
		if p.peek() == '!' {
			p.pos++
			p.fail("multiple `!'s")
		}
	}
	name := p.next()
	if name == eof {
		p.fail("missing command")
	}
	c.name = byte(name)
	c.origin = p.where()
	if p.opt.Posix && strings.IndexByte("eFQRTvWz", c.name) >= 0 {
		p.fail("unknown command: `%s'", []byte{c.name})
	}
	switch name {
	case '#':
		if c.a1.kind != addrNone {
			p.fail("comments don't accept any addresses")
		}
		p.comment()
		return
	case '{':
		p.blocks = append(p.blocks, len(p.prog.cmds))
		p.prog.cmds = append(p.prog.cmds, c)
		return
	case '}':
		if len(p.blocks) == 0 {
			p.fail("unexpected `}'")
		}
		if c.a1.kind != addrNone {
			p.fail("} doesn't want any addresses")
		}
		p.endCommand()
		n := len(p.blocks) - 1
		p.prog.cmds[p.blocks[n]].target = len(p.prog.cmds)
		p.blocks = p.blocks[:n]
		p.mark(c)
		return
	case ':':
		if c.a1.kind != addrNone {
			p.fail(": doesn't want any addresses")
		}
		p.blanks()
		start := p.pos
		label := p.label(" \t\r\n;}#")
		if label == "" {
			p.pos = start
			p.fail(`":" lacks a label`)
		}
		p.prog.labels[label] = len(p.prog.cmds)
		c.label = label
		p.mark(c)
		return
	case '=', 'd', 'D', 'F', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'z', 'x':
		p.endCommand()
	case 'a', 'i', 'c':
		p.add(c)
		p.blanks()
		if p.peek() == eof {
			p.fail("expected \\ after `a', `c' or `i'")
		}
		if p.peek() == '\\' {
			p.pos++
			save := p.pos
			p.blanks()
			if p.peek() == '\n' {
				if p.pos++; p.peek() == eof { // the text is one empty line
					c.text = []byte{'\n'}
					return
				}
			} else {
				p.pos = save
			}
			if p.peek() == eof {
				p.text = c
				c.text = []byte{}
				return
			}
		}
		p.readText(c)
		return
	case 'b', 't', 'T':
		p.blanks()
		c.label = p.label(" \t\r\n;}#")
	case 'e':
		if p.opt.Sandbox {
			p.fail("e/r/w commands disabled in sandbox mode")
		}
		p.blanks()
		c.label = p.label("\n")
	case 'l', 'L', 'q', 'Q':
		if (name == 'q' || name == 'Q') && c.a2.kind != addrNone {
			p.fail("command only uses one address")
		}
		if name == 'L' {
			p.fail("unknown command: `L'")
		}
		p.blanks()
		if isDigit(p.peek()) && (name != 'l' || !p.opt.Posix) {
			c.num, c.hasNum = p.number(), true
		}
		p.endCommand()
	case 'r', 'R', 'w', 'W':
		if p.opt.Sandbox {
			p.fail("e/r/w commands disabled in sandbox mode")
		}
		c.path = p.fileName()
		if name == 'w' || name == 'W' {
			c.file = p.output(c.path)
		}
	case 's':
		p.substitute(c)
	case 'y':
		p.transliterate(c)
	case 'v':
		p.blanks()
		start := p.pos
		for p.pos < len(p.src) && strings.IndexByte(" \t\r\n;", p.src[p.pos]) < 0 {
			p.pos++
		}
		if v := p.src[start:p.pos]; v != "" && newerThan(v, 4, 9) {
			p.fail("expected newer version of sed")
		}
		p.endCommand()
		return
	default:
		p.fail("unknown command: `%s'", []byte{byte(name)})
	}
	p.add(c)
}

// label reads up to one of the characters in stop.
func (p *parser) label(stop string) string {
	start := p.pos
	for p.pos < len(p.src) && strings.IndexByte(stop, p.src[p.pos]) < 0 {
		p.pos++
	}
	return p.src[start:p.pos]
}

func newerThan(v string, major, minor int) bool {
	a, b, _ := strings.Cut(v, ".")
	b, _, _ = strings.Cut(b, ".")
	x, _ := strconv.Atoi(a)
	y, _ := strconv.Atoi(b)
	return x > major || x == major && y > minor
}

// mark adds what does nothing, a label or the end of a block: --debug shows it.
func (p *parser) mark(c *command) {
	if p.opt.Debug {
		p.add(c)
	}
}

func (p *parser) add(c *command) { p.prog.cmds = append(p.prog.cmds, c) }

func (p *parser) comment() {
	for {
		if c := p.next(); c == eof || c == '\n' {
			return
		}
	}
}

// endCommand checks that nothing but a separator follows.
func (p *parser) endCommand() {
	p.blanks()
	switch p.peek() {
	case eof, '}', '#':
	case '\n', ';':
		p.pos++
	default:
		p.next()
		p.fail("extra characters after command")
	}
}

func (p *parser) address() (address, bool) {
	c := p.peek()
	switch {
	case c == '/' || c == '\\':
		p.pos++
		delim := c
		if c == '\\' {
			if delim = p.next(); delim == eof || delim == '\n' || delim == '\\' {
				p.fail("unterminated address regex")
			}
		}
		src, ok := p.delimited(byte(delim), true)
		if !ok {
			p.fail("unterminated address regex")
		}
		icase, multi := false, false
		for {
			p.blanks()
			switch p.peek() {
			case 'I':
				icase = true
				p.pos++
				continue
			case 'M':
				multi = true
				p.pos++
				continue
			}
			break
		}
		return address{kind: addrRegex, re: p.compile(src, icase, multi)}, true
	case isDigit(c):
		n := p.number()
		p.blanks()
		if p.peek() == '~' && !p.opt.Posix {
			p.pos++
			p.blanks()
			step := p.number()
			if step > 0 {
				return address{kind: addrStep, n: n, step: step}, true
			}
		}
		return address{kind: addrLine, n: n}, true
	case (c == '+' || c == '~') && !p.opt.Posix:
		p.pos++
		p.blanks()
		n := p.number()
		if c == '+' {
			return address{kind: addrPlus, n: n}, true
		}
		return address{kind: addrMult, n: n}, true
	case c == '$':
		p.pos++
		return address{kind: addrLast}, true
	}
	return address{}, false
}

// delimited reads up to an unescaped delim, and takes the backslash from an escaped one. In a regular
// expression \n becomes a newline, and a bracket expression hides the delimiter.
func (p *parser) delimited(delim byte, isRegex bool) (string, bool) {
	var b strings.Builder
	for {
		c := p.next()
		switch {
		case c == eof:
			return "", false
		case c == int(delim):
			return b.String(), true
		case c == '\n' && isRegex:
			return "", false
		case c == '\\':
			e := p.next()
			switch {
			case e == eof:
				return "", false
			case e == int(delim):
				if !isRegex && e == '&' {
					b.WriteByte('\\')
				}
				b.WriteByte(byte(e))
			case e == 'n' && isRegex:
				b.WriteByte('\n')
			case e == '\n' && isRegex:
				b.WriteByte('\n')
			default:
				b.WriteByte('\\')
				b.WriteByte(byte(e))
			}
		case c == '[' && isRegex:
			end := bracketEnd(p.src[p.pos:])
			if end == 0 {
				p.pos = len(p.src)
				return "", false
			}
			set := p.src[p.pos : p.pos+end]
			p.pos += end
			b.WriteByte('[')
			b.WriteString(strings.ReplaceAll(set, `\n`, "\n"))
		default:
			b.WriteByte(byte(c))
		}
	}
}

// bracketEnd returns the length of the rest of a bracket expression, 0 when it is not closed on its line.
func bracketEnd(s string) int {
	i := 0
	if i < len(s) && s[i] == '^' {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	for i < len(s) {
		switch {
		case s[i] == '\n':
			return 0
		case s[i] == ']':
			return i + 1
		case s[i] == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0:
			j := strings.Index(s[i+2:], string(s[i+1])+"]")
			if j < 0 {
				return 0
			}
			i += 2 + j + 2
			continue
		}
		i++
	}
	return 0
}

// compile compiles a regular expression; the empty one is the last one used.
func (p *parser) compile(src string, icase, multi bool) *pattern {
	if src == "" {
		if icase || multi {
			p.fail("cannot specify modifiers on empty regexp")
		}
		return &pattern{}
	}
	src = p.unescape(src, true)
	re, err := regex.Compile(src, regex.Options{
		Dialect: regex.Sed, Extended: p.opt.Extended, IgnoreCase: icase, Multiline: multi && !p.opt.NullData,
		Bytes: p.opt.Bytes,
	})
	if err != nil {
		var e *regex.Error
		if errors.As(err, &e) && e.Plain {
			panic(parseFailure{&ScriptError{Msg: e.Msg, Status: 1}})
		}
		p.fail("%s", err)
	}
	return &pattern{re, src, icase, multi}
}

// unescape turns \t, \xHH and the like into characters. In a replacement what they make is not special; in
// a regular expression GNU sed takes it for what it is.
func (p *parser) unescape(s string, isRegex bool) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	set := 0 // the end of the bracket expression that the loop is in
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isRegex && i >= set && c == '[' {
			set = i + 1 + bracketEnd(s[i+1:])
		}
		if c != '\\' || i+1 >= len(s) || i < set && p.opt.Posix {
			b.WriteByte(c)
			continue
		}
		r, n := p.escape(s[i+1:])
		if n == 0 {
			b.WriteByte(c)
			if i >= set {
				i++
				b.WriteByte(s[i])
			}
			continue
		}
		i += n
		if !isRegex && (r == '&' || r == '\\') {
			b.WriteByte('\\')
		}
		b.WriteByte(r)
	}
	return b.String()
}

// escape is escapeValue for a script: \c of a backslash takes two of them.
func (p *parser) escape(s string) (v byte, n int) {
	if strings.HasPrefix(s, `c\`) {
		if !strings.HasPrefix(s, `c\\`) {
			p.fail("recursive escaping after \\c not allowed")
		}
		return '\\' ^ 0x40, 3
	}
	return escapeValue(s)
}

// escapeValue decodes what follows a backslash; n is how much of it, 0 when it is no such escape.
func escapeValue(s string) (v byte, n int) {
	digits := func(base, most int) (byte, int) {
		v, k := 0, 0
		for k < most && 1+k < len(s) {
			d, err := strconv.ParseUint(s[1+k:2+k], base, 8)
			if err != nil {
				break
			}
			v = v*base + int(d)
			k++
		}
		if k == 0 {
			return 0, 0
		}
		return byte(v), 1 + k
	}
	switch s[0] {
	case 'a':
		return '\a', 1
	case 'f':
		return '\f', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'v':
		return '\v', 1
	case 'd':
		return digits(10, 3)
	case 'o':
		return digits(8, 3)
	case 'x':
		return digits(16, 2)
	case 'c':
		if len(s) == 1 {
			return '\\', 1
		}
		if s[1] < utf8.RuneSelf {
			c := s[1]
			if c >= 'a' && c <= 'z' {
				c -= 32
			}
			return c ^ 0x40, 2
		}
	}
	return 0, 0
}

// readText reads the text of a, i and c up to a line that does not end in a backslash.
func (p *parser) readText(c *command) {
	var b []byte
	for {
		ch := p.next()
		if ch == eof || ch == '\n' {
			break
		}
		if ch != '\\' {
			b = append(b, byte(ch))
			continue
		}
		e := p.peek()
		if e == eof {
			p.text = c
			break
		}
		if v, n := p.escape(p.src[p.pos:]); n > 0 && e != '\n' {
			b = append(b, v)
			p.pos += n
			continue
		}
		p.pos++
		if e == 'n' {
			e = '\n'
		}
		b = append(b, byte(e))
	}
	c.text = append(append(c.text, b...), '\n')
}

func (p *parser) fileName() string {
	p.blanks()
	start := p.pos
	for p.pos < len(p.src) && p.src[p.pos] != '\n' {
		p.pos++
	}
	name := p.src[start:p.pos]
	if name == "" {
		p.fail("missing filename in r/R/w/W commands")
	}
	return name
}

func (p *parser) output(name string) *outFile {
	if f, ok := p.prog.files[name]; ok {
		return f
	}
	w, err := p.open(name)
	if err != nil {
		panic(parseFailure{&ScriptError{Msg: err.Error(), Status: 4}})
	}
	f := &outFile{name: name, w: w}
	p.prog.files[name] = f
	return f
}

func (p *parser) substitute(c *command) {
	d := p.next()
	if d == eof || d == '\n' || d == '\\' {
		p.fail("unterminated `s' command")
	}
	src, ok := p.delimited(byte(d), true)
	if !ok {
		p.pos = len(p.src)
		p.fail("unterminated `s' command")
	}
	repl, ok := p.delimited(byte(d), false)
	if !ok {
		p.pos = len(p.src)
		p.fail("unterminated `s' command")
	}
	s := &substitution{}
	c.sub = s
	s.replacement(p.unescape(repl, false))
	icase, multi := false, false
flags:
	for {
		ch := p.next()
		switch {
		case ch == 'i' || ch == 'I':
			icase = true
		case ch == 'm' || ch == 'M':
			multi = true
		case ch == 'e':
			if p.opt.Sandbox {
				p.fail("e/r/w commands disabled in sandbox mode")
			}
			s.eval = true
		case ch == 'p':
			s.late = s.eval
			if s.print++; s.print > 1 {
				p.fail("multiple `p' options to `s' command")
			}
		case ch == 'g':
			if s.global {
				p.fail("multiple `g' options to `s' command")
			}
			s.global = true
		case isDigit(ch):
			p.pos--
			if s.nth != 0 {
				p.number()
				p.fail("multiple number options to `s' command")
			}
			n := p.number()
			if n == 0 {
				p.fail("number option to `s' command may not be zero")
			}
			s.nth = int(min(n, 1<<31))
		case ch == 'w':
			if p.opt.Sandbox {
				p.fail("e/r/w commands disabled in sandbox mode")
			}
			s.file = p.output(p.fileName())
			break flags
		case ch == '}' || ch == '#':
			p.pos--
			break flags
		case ch == eof || ch == '\n' || ch == ';':
			break flags
		case ch == ' ' || ch == '\t' || ch == '\r':
		default:
			p.fail("unknown option to `s'")
		}
	}
	s.re = p.compile(src, icase, multi)
	if s.re.re != nil && s.maxRef > s.re.re.Groups() {
		p.fail("invalid reference \\%d on `s' command's RHS", s.maxRef)
	}
}

func (s *substitution) replacement(r string) {
	var text []byte
	flush := func() {
		if len(text) > 0 {
			s.parts = append(s.parts, replPart{text: text, group: -1})
			text = nil
		}
	}
	for i := 0; i < len(r); i++ {
		c := r[i]
		if c == '&' {
			flush()
			s.parts = append(s.parts, replPart{group: 0})
			continue
		}
		if c != '\\' || i+1 >= len(r) {
			text = append(text, c)
			continue
		}
		i++
		switch c = r[i]; {
		case c >= '0' && c <= '9':
			flush()
			s.parts = append(s.parts, replPart{group: int(c - '0')})
			s.maxRef = max(s.maxRef, int(c-'0'))
		case c == 'n':
			text = append(text, '\n')
		case strings.IndexByte("ULEul", c) >= 0:
			flush()
			s.parts = append(s.parts, replPart{group: -1, conv: c})
		default:
			text = append(text, c)
		}
	}
	flush()
	switch {
	case len(s.parts) == 0:
		s.simple = true
	case len(s.parts) == 1 && s.parts[0].group < 0 && s.parts[0].conv == 0:
		s.simple, s.plain = true, s.parts[0].text
	}
}

func (p *parser) transliterate(c *command) {
	d := p.next()
	if d == eof || d == '\n' || d == '\\' {
		p.fail("unterminated `y' command")
	}
	from, ok := p.delimited(byte(d), false)
	to, ok2 := "", false
	if ok {
		to, ok2 = p.delimited(byte(d), false)
	}
	if !ok2 {
		p.fail("unterminated `y' command")
	}
	a, b := p.yChars(from), p.yChars(to)
	if len(a) != len(b) {
		p.fail("strings for `y' command are different lengths")
	}
	c.bytes = &[256][]byte{}
	if p.opt.Debug {
		c.from, c.to = strings.Join(a, ""), strings.Join(b, "")
	}
	for i := range a {
		if len(a[i]) == 1 {
			if c.bytes[a[i][0]] == nil {
				c.bytes[a[i][0]] = []byte(b[i])
			}
			continue
		}
		if c.table == nil {
			c.table = map[rune][]byte{}
		}
		r, _ := utf8.DecodeRuneInString(a[i])
		if _, dup := c.table[r]; !dup {
			c.table[r] = []byte(b[i])
		}
	}
	p.endCommand()
}

// yChars splits one side of y into characters.
func (p *parser) yChars(s string) []string {
	var out []string
	for i := 0; i < len(s); {
		if s[i] == '\\' && i+1 < len(s) {
			if v, n := p.escape(s[i+1:]); n > 0 {
				out = append(out, string([]byte{v}))
				i += 1 + n
				continue
			}
			switch s[i+1] {
			case '\\':
				out = append(out, `\`)
				i += 2
				continue
			case 'n', '\n':
				out = append(out, "\n")
				i += 2
				continue
			}
			i++
		}
		n := 1
		if !p.opt.Bytes {
			_, n = utf8.DecodeRuneInString(s[i:])
		}
		out = append(out, s[i:i+n])
		i += n
	}
	return out
}
