package text

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var csplitSpec = getopt.New("b:f:kn:sqz",
	"digits:=n elide-empty-files=z keep-files=k prefix:=f quiet=s silent=s suffix-format:=b suppress-matched").
	WithUsage("[OPTION]... FILE PATTERN...",
		"Output pieces of FILE separated by PATTERN(s) to files 'xx00', 'xx01', ..., and output byte counts of each piece to standard output.")

// csplitPattern is where a piece ends.
type csplitPattern struct {
	arg     string
	re      *regex.Regexp // nil: at a line number
	line    int
	offset  int
	skip    bool // %…%: the piece is not written
	repeat  int
	forever bool
}

type csplitRun struct {
	p                                    *proc.Process
	prefix, suffix                       string
	digits                               int
	keep, silent, elide, suppressMatched bool

	data    []byte
	next    int // offset of the first line not yet taken
	first   int // its number
	scan    int // offset of the line that the search looks at next
	current int // number of the last line the search looked at
	files   []string
	out     vfs.File
	w       *proc.Writer
	size    int64
}

func csplit(_ context.Context, p *proc.Process) int {
	opts, args := csplitSpec.Parse(p)
	c := &csplitRun{p: p, prefix: "xx", digits: 2, first: 1}
	for _, o := range opts {
		switch o.Key {
		case "b":
			c.suffix = o.Value
		case "f":
			c.prefix = o.Value
		case "k":
			c.keep = true
		case "n":
			n, problem := program.ParseCount(o.Value, "")
			if problem != program.NumberOK || n > 1000 {
				p.Errorf("invalid number: %s", program.Quote(o.Value))
				return 1
			}
			c.digits = int(n)
		case "s", "q":
			c.silent = true
		case "suppress-matched":
			c.suppressMatched = true
		case "z":
			c.elide = true
		}
	}
	if len(args) < 2 {
		if len(args) == 0 {
			csplitSpec.Fail(p, "missing operand")
		}
		csplitSpec.Fail(p, "missing operand after %s", program.Quote(args[0]))
	}
	if c.suffix == "" {
		c.suffix = fmt.Sprintf("%%0%dd", c.digits)
	} else if problem := checkSuffix(c.suffix); problem != "" {
		p.Errorf("%s", problem)
		return 1
	}
	in, err := p.OpenInput(args[0])
	if err != nil {
		p.Errorf("cannot open %s for reading: %s", program.QuoteName(args[0]), proc.Strerror(err))
		return 1
	}
	defer in.Close()
	patterns := c.patterns(args[1:])
	if c.data, err = p.ReadAll(in); err != nil {
		c.create()
		c.fatal("read error: %s", proc.Strerror(err))
	}
	for _, pat := range patterns {
		for k := 0; pat.forever || k <= pat.repeat; k++ {
			if pat.re == nil {
				c.atLine(pat, k)
			} else if c.atMatch(pat, k) {
				return 0
			}
		}
	}
	c.create()
	c.rest()
	c.close()
	return 0
}

// checkSuffix wants exactly one integer conversion.
func checkSuffix(s string) string {
	found := false
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			continue
		}
		if strings.HasPrefix(s[i+1:], "%") {
			i++
			continue
		}
		if found {
			return "too many % conversion specifications in suffix"
		}
		found = true
		i++
		for i < len(s) && strings.IndexByte("-+ #0'123456789.", s[i]) >= 0 {
			i++
		}
		if i == len(s) {
			return "missing conversion specifier in suffix"
		}
		if strings.IndexByte("diouxX", s[i]) < 0 {
			return "invalid conversion specifier in suffix: " + s[i:i+1]
		}
	}
	if !found {
		return "missing % conversion specification in suffix"
	}
	return ""
}

func (c *csplitRun) patterns(args []string) []csplitPattern {
	fail := func(format string, args ...any) {
		c.p.Errorf(format, args...)
		c.p.Exit(1)
	}
	var out []csplitPattern
	last := 0
	for i := 0; i < len(args); i++ {
		a := args[i]
		pat := csplitPattern{arg: a}
		if strings.HasPrefix(a, "/") || strings.HasPrefix(a, "%") {
			end := strings.LastIndexByte(a[1:], a[0])
			if end < 0 {
				fail("%s: closing delimiter '%c' missing", a, a[0])
			}
			pat.skip = a[0] == '%'
			re, err := regex.Compile(a[1:1+end], regex.Options{Bytes: program.ByteLocale(c.p)})
			if err != nil {
				fail("%s: invalid regular expression: %s", program.Quote(a), err)
			}
			re.SetTick(c.p.Tick)
			pat.re = re
			if rest := a[end+2:]; rest != "" {
				n, err := strconv.Atoi(rest)
				if err != nil {
					fail("%s: integer expected after delimiter", program.Quote(a))
				}
				pat.offset = n
			}
		} else {
			n, err := strconv.ParseUint(a, 10, 31)
			if err != nil {
				fail("%s: invalid pattern", program.Quote(a))
			}
			switch {
			case n == 0:
				fail("%s: line number must be greater than zero", a)
			case int(n) < last:
				fail("line number %s is smaller than preceding line number, %d", program.Quote(a), last)
			case int(n) == last:
				c.p.Errorf("warning: line number %s is the same as preceding line number", program.Quote(a))
			}
			pat.line, last = int(n), int(n)
		}
		if i+1 < len(args) && strings.HasPrefix(args[i+1], "{") {
			i++
			body, ok := strings.CutSuffix(args[i][1:], "}")
			if !ok {
				fail("%s: '}' is required in repeat count", args[i])
			}
			if body == "*" {
				pat.forever = true
			} else {
				n, err := strconv.ParseUint(body, 10, 31)
				if err != nil {
					fail("%s}: integer required between '{' and '}'", program.Quote(args[i][:len(args[i])-1]))
				}
				pat.repeat = int(n)
			}
		}
		out = append(out, pat)
	}
	return out
}

// fatal ends the command: the piece at work is closed, and all pieces are removed again unless they are to be kept.
func (c *csplitRun) fatal(format string, args ...any) {
	c.p.Errorf(format, args...)
	c.close()
	if !c.keep {
		for _, f := range c.files {
			_ = c.p.FS.Unlink(c.p.Abs(f)) // as far as they were made
		}
	}
	c.p.Exit(1)
}

func (c *csplitRun) create() {
	n := len(c.files)
	suffix := strings.NewReplacer("%i", "%d", "%u", "%d", "'", "").Replace(c.suffix)
	name := c.prefix + fmt.Sprintf(csplitVerb(suffix), n)
	f, err := c.p.Open(name, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
	if err != nil {
		c.fatal("%s: %s", program.QuoteColon(name), proc.Strerror(err))
	}
	c.files = append(c.files, name)
	c.out, c.w, c.size = f, proc.NewWriter(f, c.p), 0
}

// csplitVerb turns the conversion letters that Go lacks into its own.
func csplitVerb(s string) string {
	b := []byte(s)
	for i := 0; i < len(b); i++ {
		if b[i] != '%' {
			continue
		}
		i++
		for i < len(b) && strings.IndexByte("-+ #0123456789.", b[i]) >= 0 {
			i++
		}
		if i < len(b) && (b[i] == 'i' || b[i] == 'u') {
			b[i] = 'd'
		}
	}
	return string(b)
}

func (c *csplitRun) close() {
	if c.out == nil {
		return
	}
	c.w.Flush()
	_ = c.out.Close()
	c.out = nil
	if c.size == 0 && c.elide {
		n := len(c.files) - 1
		_ = c.p.FS.Unlink(c.p.Abs(c.files[n])) // it was made just now
		c.files = c.files[:n]
		return
	}
	if !c.silent {
		c.p.Out.WriteString(strconv.FormatInt(c.size, 10) + "\n")
	}
}

func (c *csplitRun) write(line []byte) {
	c.w.Write(line)
	c.size += int64(len(line))
}

// take removes the first line.
func (c *csplitRun) take() ([]byte, bool) {
	if c.next == len(c.data) {
		return nil, false
	}
	c.p.Tick(1)
	end := len(c.data)
	if i := bytes.IndexByte(c.data[c.next:], '\n'); i >= 0 {
		end = c.next + i + 1
	}
	line := c.data[c.next:end]
	c.next = end
	if c.current < c.first {
		c.current, c.scan = c.first, end
	}
	c.first++
	return line, true
}

// look returns the line after the current one without removing it.
func (c *csplitRun) look() ([]byte, bool) {
	if c.scan == len(c.data) {
		return nil, false
	}
	c.p.Tick(1)
	end := len(c.data)
	if i := bytes.IndexByte(c.data[c.scan:], '\n'); i >= 0 {
		end = c.scan + i + 1
	}
	line := c.data[c.scan:end]
	c.scan = end
	c.current++
	return program.Chomp(line, '\n'), true
}

func (c *csplitRun) rest() {
	c.write(c.data[c.next:])
	c.next, c.scan = len(c.data), len(c.data)
}

func (c *csplitRun) lineError(pat csplitPattern, repetition int) {
	tail := ""
	if repetition > 0 {
		tail = fmt.Sprintf(" on repetition %d", repetition)
	}
	c.fatal("%s: line number out of range%s", program.Quote(strconv.Itoa(pat.line)), tail)
}

func (c *csplitRun) atLine(pat csplitPattern, repetition int) {
	c.create()
	empty := c.next == len(c.data)
	if empty && c.suppressMatched {
		c.lineError(pat, repetition)
	}
	if empty && c.first == 1 {
		c.p.Errorf("input disappeared")
		c.p.Exit(1)
	}
	end := math.MaxInt
	if pat.line < math.MaxInt/(repetition+1) {
		end = pat.line * (repetition + 1)
	}
	for c.first < end {
		line, ok := c.take()
		if !ok {
			c.lineError(pat, repetition)
		}
		c.write(line)
	}
	c.close()
	if c.suppressMatched {
		c.take()
	} else if c.next == len(c.data) {
		c.lineError(pat, repetition)
	}
}

// atMatch writes up to the next match. done is true when a pattern that repeats for ever found no more.
func (c *csplitRun) atMatch(pat csplitPattern, repetition int) (done bool) {
	if !pat.skip {
		c.create()
	}
	for {
		line, ok := c.look()
		if !ok {
			if !pat.skip {
				c.rest()
			}
			if pat.forever {
				c.close()
				return true
			}
			tail := ""
			if repetition > 0 {
				tail = fmt.Sprintf(" on repetition %d", repetition)
			}
			c.fatal("%s: match not found%s", program.Quote(pat.arg), tail)
		}
		if pat.re.Match(line) {
			break
		}
		if pat.offset >= 0 {
			taken, _ := c.take()
			if !pat.skip {
				c.write(taken)
			}
		}
	}
	end := c.current + pat.offset
	if c.first > end {
		c.fatal("%s: line number out of range", program.Quote(pat.arg))
	}
	for c.first < end {
		line, ok := c.take()
		if !ok {
			c.fatal("%s: line number out of range", program.Quote(pat.arg))
		}
		if !pat.skip {
			c.write(line)
		}
	}
	if !pat.skip {
		c.close()
	}
	if pat.offset > 0 {
		c.current, c.scan = end, c.next
		if i := bytes.IndexByte(c.data[c.scan:], '\n'); i >= 0 {
			c.scan += i + 1
		} else {
			c.scan = len(c.data)
		}
	}
	if c.suppressMatched {
		c.take()
	}
	return false
}
