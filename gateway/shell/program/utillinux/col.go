package utillinux

import (
	"context"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var (
	colSpec = getopt.New("bfpl:hxH",
		"no-backspaces=b fine=f pass=p tabs=h lines:=l spaces=x help=H").WithVersion("from util-linux 2.38.1").
		WithUsage("[options]", "Filter out reverse line feeds from standard input.")
	colrmSpec = getopt.New("", "").WithLetters().WithVersion("from util-linux 2.38.1").WithUsage("[startcol [endcol]]",
		"Filter out the specified columns.")
)

// colChar is a character at a column, in one of the two sets.
type colChar struct {
	column, width int
	char          rune
	raw           byte // of what is no UTF-8
	shifted       bool
}

type colRun struct {
	p                         *proc.Process
	noBackspace, fine, noTabs bool
	lines                     map[int][]colChar // by half lines
	line, column, first, last int
	shifted, outShifted       bool
	window, held              int
	wide                      int  // how far a backspace goes: over the last character
	written                   bool // the first line is settled
}

// Control characters that move.
const (
	colEscape  = 27
	colReverse = 7 // after an escape: one line up
	colHalfUp  = 8
	colHalfOn  = 9
	colShiftIn = 15
	colShift   = 14
)

func col(_ context.Context, p *proc.Process) int {
	opts, args := colSpec.Parse(p)
	c := &colRun{p: p, lines: map[int][]colChar{}, window: 256, wide: 1}
	for _, o := range opts {
		switch o.Key {
		case "H":
			p.Args = []string{p.Args[0], "--help"}
			colSpec.Parse(p)
		case "b":
			c.noBackspace = true
		case "f":
			c.fine = true
		case "x":
			c.noTabs = true
		case "h":
			c.noTabs = false
		case "l":
			n, err := strconv.Atoi(o.Value)
			if err != nil || n < 1 {
				p.Errorf("bad -l argument: '%s'", o.Value)
				return 1
			}
			c.window = 2 * n
		}
	}
	if len(args) > 0 {
		colSpec.Fail(p, "bad usage")
	}
	l := program.NewLineReader(p, p.Stdin, '\n')
	defer l.Close()
	any := false
	for line, ok := l.Next(); ok; line, ok = l.Next() {
		any = true
		c.read(line)
	}
	if l.Err != nil {
		p.Errorf("%s", proc.Strerror(l.Err))
		return 1
	}
	if any {
		c.flush(c.last)
		if c.outShifted {
			p.Out.WriteByte(colShiftIn)
		}
	}
	p.Release(c.held)
	return 0
}

func (c *colRun) read(line []byte) {
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRune(line[i:])
		raw := line[i]
		i += n
		switch r {
		case '\b':
			c.column = max(c.column-c.wide, 0)
			continue
		case '\r':
			c.column = 0
			continue
		case '\n':
			c.column = 0
			c.move(2)
			continue
		case ' ':
			c.column++
			continue
		case '\t':
			c.column = c.column&^7 + 8
			continue
		case '\v':
			c.move(-2)
			continue
		case colShift:
			c.shifted = true
			continue
		case colShiftIn:
			c.shifted = false
			continue
		case colEscape:
			if i < len(line) {
				switch line[i] {
				case colReverse:
					c.move(-2)
				case colHalfUp:
					c.move(-1)
				case colHalfOn:
					c.move(1)
				}
				i++
			}
			continue
		}
		invalid := r == utf8.RuneError && n == 1
		if !invalid && !unicode.IsPrint(r) {
			continue
		}
		at := c.line
		if !c.fine && at&1 != 0 {
			at++ // between two lines is on the lower one
		}
		c.held += 24
		c.p.Hold(24)
		w := max(runewidth.RuneWidth(r), 1)
		if !invalid {
			raw = 0
		}
		c.lines[at] = append(c.lines[at], colChar{c.column, w, r, raw, c.shifted})
		c.last = max(c.last, at)
		c.column += w
		c.wide = w
	}
}

// move goes to another line; what is too far above to come back to is written.
func (c *colRun) move(by int) {
	c.line += by
	if !c.written {
		c.first = min(c.first, c.line&^1)
	}
	c.line = max(c.line, c.first)
	c.last = max(c.last, c.line)
	if c.line-c.first > 2*c.window {
		c.flush(c.line - c.window)
	}
}

// flush writes the lines before end, which is written at the end of the input as well.
func (c *colRun) flush(end int) {
	c.written = true
	for ; c.first < end; c.first++ {
		if c.first&1 != 0 && !c.fine {
			continue
		}
		line := c.lines[c.first]
		delete(c.lines, c.first)
		c.p.Tick(1 + len(line))
		c.write(line)
		c.p.Release(24 * len(line))
		c.held -= 24 * len(line)
		if c.fine {
			c.half(c.first + 1)
		}
		c.p.Out.WriteByte('\n')
	}
	if line := c.lines[end]; line != nil && end == c.last {
		c.write(line)
		c.p.Out.WriteByte('\n')
		delete(c.lines, end)
	}
}

// half writes what stands half a line below, and comes back.
func (c *colRun) half(at int) {
	if line := c.lines[at]; at&1 != 0 && line != nil {
		c.p.Out.WriteString("\x1b\t\r")
		c.write(line)
		c.p.Out.WriteString("\x1b\b")
	}
}

func (c *colRun) write(line []colChar) {
	slices.SortStableFunc(line, func(a, b colChar) int { return a.column - b.column })
	at := 0
	for i, ch := range line {
		if i+1 < len(line) && line[i+1].column == ch.column && c.noBackspace {
			continue
		}
		gap := ch.column - at
		if !c.noTabs && gap > 1 {
			for next := at&^7 + 8; next <= ch.column; next = at&^7 + 8 {
				c.p.Out.WriteByte('\t')
				at = next
			}
			gap = ch.column - at
		}
		for ; gap > 0; gap-- {
			c.p.Tick(1)
			c.p.Out.WriteByte(' ')
		}
		if ch.shifted != c.outShifted {
			if c.outShifted = ch.shifted; ch.shifted {
				c.p.Out.WriteByte(colShift)
			} else {
				c.p.Out.WriteByte(colShiftIn)
			}
		}
		if ch.raw != 0 {
			c.p.Out.WriteByte(ch.raw)
		} else {
			c.p.Out.WriteRune(ch.char)
		}
		at = ch.column + ch.width
		if i+1 < len(line) && line[i+1].column < at {
			for ; at > line[i+1].column; at-- {
				c.p.Out.WriteByte('\b')
			}
		}
	}
}

// colrm cuts columns out of lines.
func colrm(_ context.Context, p *proc.Process) int {
	_, args := colrmSpec.Parse(p)
	var bounds [2]int
	for i, which := range []string{"first", "second"} {
		if i < len(args) {
			n, err := strconv.Atoi(args[i])
			if err != nil || n < 0 {
				p.Errorf("%s argument: '%s'", which, args[i])
				return 1
			}
			bounds[i] = n
		}
	}
	l := program.NewLineReader(p, p.Stdin, '\n')
	defer l.Close()
	for raw, ok := l.Next(); ok; raw, ok = l.Next() {
		line := program.Chomp(raw, '\n')
		p.Tick(1 + len(line)>>6)
		cutColumns(p.Out, line, bounds[0], bounds[1])
		p.Out.Write(raw[len(line):])
	}
	return 0
}

func cutColumns(out *proc.Writer, line []byte, first, last int) {
	at, i := 0, 0
	// step is the next character and how far it moves.
	step := func() (char []byte, by int) {
		r, n := utf8.DecodeRune(line[i:])
		char = line[i : i+n]
		i += n
		switch r {
		case '\t':
			by = at&^7 + 8 - at
		case '\b':
			by = -min(at, 1)
		default:
			by = runewidth.RuneWidth(r)
		}
		at += by
		return char, by
	}
	blanks := func(n int) {
		for ; n > 0; n-- {
			out.WriteByte(' ')
		}
	}
	for {
		if i == len(line) {
			return
		}
		char, by := step()
		if first == 0 || at < first {
			out.Write(char)
			continue
		}
		blanks(first - 1 - (at - by))
		break
	}
	for last == 0 || at < last {
		if i == len(line) {
			return
		}
		step()
	}
	if i < len(line) {
		blanks(at - last)
		out.Write(line[i:])
	}
}
