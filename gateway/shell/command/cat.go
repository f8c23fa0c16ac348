package command

import (
	"context"
	"fmt"
	"io"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var catSpec = getopt.New("benstuvAET",
	"number-nonblank=b number=n squeeze-blank=s show-nonprinting=v show-ends=E show-tabs=T show-all=A").
	WithUsage("[OPTION]... [FILE]...", "Concatenate FILE(s) to standard output.")

// catState carries numbering and squeezing from one file to the next.
type catState struct {
	p                         *proc.Process
	number, nonblank, squeeze bool
	ends, tabs, nonprinting   bool
	line                      int
	atStart                   bool
	blanks                    int
	pendingCR                 bool
}

func cat(_ context.Context, p *proc.Process) int {
	opts, args := catSpec.Parse(p)
	c := &catState{p: p, atStart: true}
	for _, o := range opts {
		switch o.Key {
		case "b":
			c.number, c.nonblank = true, true
		case "e":
			c.ends, c.nonprinting = true, true
		case "n":
			c.number = true
		case "s":
			c.squeeze = true
		case "t":
			c.tabs, c.nonprinting = true, true
		case "v":
			c.nonprinting = true
		case "A":
			c.ends, c.tabs, c.nonprinting = true, true, true
		case "E":
			c.ends = true
		case "T":
			c.tabs = true
		}
	}
	plain := !c.number && !c.squeeze && !c.ends && !c.tabs && !c.nonprinting
	status := eachInput(p, args, func(_ string, r io.Reader) error {
		if plain {
			// Every block goes on at once: cat of a slow pipe shows what is there.
			return readBlocks(p, r, func(b []byte) { p.Out.Write(b); p.Out.Flush() })
		}
		return readBlocks(p, r, c.write)
	})
	if c.pendingCR {
		p.Out.WriteByte('\r')
	}
	return status
}

func (c *catState) write(b []byte) {
	out := c.p.Out
	for _, ch := range b {
		if c.atStart {
			if ch == '\n' {
				c.blanks++
				if c.squeeze && c.blanks > 1 {
					continue
				}
			} else {
				c.blanks = 0
			}
			if c.number && (!c.nonblank || ch != '\n') {
				c.line++
				fmt.Fprintf(out, "%6d\t", c.line)
			}
			c.atStart = false
		}
		if c.pendingCR {
			c.pendingCR = false
			if ch == '\n' {
				out.WriteString("^M")
			} else {
				out.WriteByte('\r')
			}
		}
		switch {
		case ch == '\n':
			if c.ends {
				out.WriteByte('$')
			}
			out.WriteByte('\n')
			c.atStart = true
		case ch == '\r' && c.ends && !c.nonprinting:
			c.pendingCR = true
		case ch == '\t' && c.tabs:
			out.WriteString("^I")
		case c.nonprinting && ch != '\t':
			writeVisible(out, ch)
		default:
			out.WriteByte(ch)
		}
	}
}

// writeVisible prints a byte in the ^X and M-x notation of cat -v.
func writeVisible(out *proc.Writer, ch byte) {
	if ch >= 128 {
		out.WriteString("M-")
		ch -= 128
	}
	switch {
	case ch < 32:
		out.WriteByte('^')
		out.WriteByte(ch + 64)
	case ch == 127:
		out.WriteString("^?")
	default:
		out.WriteByte(ch)
	}
}
