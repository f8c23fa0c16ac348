package extra

import (
	"context"
	"io"
	"math"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var (
	expandSpec = getopt.New("it:0::1::2::3::4::5::6::7::8::9::", "initial=i tabs:=t").
			WithUsage("[OPTION]... [FILE]...", "Convert tabs in each FILE to spaces, writing to standard output.")
	unexpandSpec = getopt.New(",0123456789at:", "all=a first-only tabs:=t").
			WithUsage("[OPTION]... [FILE]...", "Convert blanks in each FILE to tabs, writing to standard output.")
)

// tabStops are the columns that tabs lead to.
type tabStops struct {
	list   []int64
	size   int64 // equal distances, 0: the list
	extend int64 // after the list: multiples of this (-t /N)
	step   int64 // after the list: this far from its last (-t +N)
}

// parse adds the stops of a -t argument; it ends the command when they are wrong.
func (t *tabStops) parse(p *proc.Process, s string) {
	ok, have, start := true, false, 0
	var value int64
	kind := byte(0)
	add := func() bool {
		if !have {
			return true
		}
		have = false
		switch kind {
		case '/':
			if t.extend != 0 {
				p.Errorf("'/' specifier only allowed with the last value")
				return false
			}
			t.extend = value
		case '+':
			if t.step != 0 {
				p.Errorf("'+' specifier only allowed with the last value")
				return false
			}
			t.step = value
		default:
			t.list = append(t.list, value)
		}
		return true
	}
scan:
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == ',' || c == ' ' || c == '\t':
			if !add() {
				ok = false
				break scan
			}
		case c == '/' || c == '+':
			if have {
				p.Errorf("'%c' specifier not at start of number: %s", c, program.Quote(s[i:]))
				ok = false
			}
			kind = c
		case program.IsDigit(c):
			if !have {
				value, have, start = 0, true, i
			}
			if value > (math.MaxInt64-9)/10 {
				n := start
				for n < len(s) && program.IsDigit(s[n]) {
					n++
				}
				p.Errorf("tab stop is too large %s", program.Quote(s[start:n]))
				ok = false
				i = n - 1
				continue
			}
			value = value*10 + int64(c-'0')
		default:
			p.Errorf("tab size contains invalid character(s): %s", program.Quote(s[i:]))
			ok = false
			break scan
		}
	}
	if !ok || !add() {
		p.Exit(1)
	}
}

// finish checks the list and settles the distance.
func (t *tabStops) finish(p *proc.Process) {
	prev := int64(0)
	for _, n := range t.list {
		if n == 0 {
			p.Errorf("tab size cannot be 0")
			p.Exit(1)
		}
		if n <= prev {
			p.Errorf("tab sizes must be ascending")
			p.Exit(1)
		}
		prev = n
	}
	if t.step != 0 && t.extend != 0 {
		p.Errorf("'/' specifier is mutually exclusive with '+'")
		p.Exit(1)
	}
	switch {
	case len(t.list) == 0 && t.extend != 0:
		t.size = t.extend
	case len(t.list) == 0 && t.step != 0:
		t.size = t.step
	case len(t.list) == 0:
		t.size = 8
	case len(t.list) == 1 && t.extend == 0 && t.step == 0:
		t.size = t.list[0]
	}
}

// next is the first stop after column, ok is false behind the last one. index is where the search in the list
// begins; it moves along with the column.
func (t *tabStops) next(column int64, index *int) (stop int64, ok bool) {
	if t.size != 0 {
		return column + t.size - column%t.size, true
	}
	for ; *index < len(t.list); *index++ {
		if column < t.list[*index] {
			return t.list[*index], true
		}
	}
	if t.extend != 0 {
		return column + t.extend - column%t.extend, true
	}
	if t.step != 0 {
		return column + t.step - (column-t.list[len(t.list)-1])%t.step, true
	}
	return 0, false
}

func expand(_ context.Context, p *proc.Process) int {
	opts, args := expandSpec.Parse(p)
	var tabs tabStops
	initial := false
	for _, o := range opts {
		switch o.Key {
		case "i":
			initial = true
		case "t":
			tabs.parse(p, o.Value)
		default:
			tabs.parse(p, o.Key+o.Value)
		}
	}
	tabs.finish(p)
	column, index, convert := int64(0), 0, true
	return program.EachInput(p, args, func(_ string, r io.Reader) error {
		return program.ReadBlocks(p, r, func(block []byte) {
			plain := 0 // start of what is copied as it is
			for i, c := range block {
				switch {
				case c == '\n':
					column, index, convert = 0, 0, true
					continue
				case !convert:
					continue
				case c == '\t':
					p.Out.Write(block[plain:i])
					plain = i + 1
					stop, ok := tabs.next(column, &index)
					if !ok {
						stop = column + 1
					}
					program.WriteSpaces(p, stop-column)
					column = stop
				case c == '\b':
					column = max(column-1, 0)
					index = max(index-1, 0)
				default:
					column++
				}
				if initial && c != ' ' && c != '\t' {
					convert = false
				}
			}
			p.Out.Write(block[plain:])
		})
	})
}

func unexpand(_ context.Context, p *proc.Process) int {
	opts, args := unexpandSpec.Parse(p)
	var tabs tabStops
	all, firstOnly := false, false
	digits := ""
	for _, o := range opts {
		switch o.Key {
		case "a":
			all = true
		case "first-only":
			firstOnly = true
		case "t":
			all = true
			tabs.parse(p, o.Value)
		default:
			digits += o.Key
		}
	}
	if firstOnly {
		all = false
	}
	if strings.Trim(digits, ",") != "" {
		tabs.parse(p, digits)
	}
	tabs.finish(p)
	u := &unexpander{p: p, tabs: &tabs, all: all}
	u.startLine()
	status := program.EachInput(p, args, func(_ string, r io.Reader) error { return program.ReadBlocks(p, r, u.write) })
	u.flush()
	p.Out.Write(u.out)
	return status
}

// unexpander holds blanks back until it is known whether a tab replaces them.
type unexpander struct {
	p       *proc.Process
	tabs    *tabStops
	all     bool
	convert bool
	column  int64
	stop    int64
	index   int
	pending []byte
	// lone is set when the first pending blank stands alone before a tab stop: it stays as it is unless more follow.
	lone      bool
	prevBlank bool
	out       []byte
}

func (u *unexpander) startLine() {
	u.convert, u.column, u.stop, u.index, u.lone, u.prevBlank = true, 0, 0, 0, false, true
}

func (u *unexpander) flush() {
	if len(u.pending) > 1 && u.lone {
		u.pending[0] = '\t'
	}
	u.out = append(u.out, u.pending...)
	u.pending, u.lone = u.pending[:0], false
}

func (u *unexpander) write(block []byte) {
	for _, c := range block {
		if u.convert && !u.step(&c) {
			continue
		}
		u.out = append(u.out, c)
		if c == '\n' {
			u.startLine()
		}
	}
	u.p.Out.Write(u.out)
	u.out = u.out[:0]
}

// step takes one character of the convertible part of a line; false means that it is held back.
func (u *unexpander) step(c *byte) bool {
	blank := *c == ' ' || *c == '\t'
	switch {
	case blank:
		var ok bool
		if u.stop, ok = u.tabs.next(u.column, &u.index); !ok {
			u.convert = false
			break
		}
		if *c == '\t' {
			u.column = u.stop
			if len(u.pending) > 0 {
				u.pending[0] = '\t'
			}
		} else {
			u.column++
			if !u.prevBlank || u.column != u.stop {
				u.lone = u.lone || u.column == u.stop
				u.pending = append(u.pending, ' ')
				u.prevBlank = true
				return false
			}
			if len(u.pending) > 0 {
				u.pending[0] = '\t'
			}
			*c = '\t'
		}
		keep := 0
		if u.lone {
			keep = 1
		}
		u.pending = u.pending[:min(keep, len(u.pending))]
	case *c == '\b':
		u.column = max(u.column-1, 0)
		u.stop = u.column
		u.index = max(u.index-1, 0)
	default:
		u.column++
	}
	u.flush()
	u.prevBlank = blank
	u.convert = u.convert && (u.all || blank)
	return true
}
