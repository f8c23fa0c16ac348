package text

import (
	"bytes"
	"context"
	"io"
	"strconv"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
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
	out                       []byte
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
	out, failed := program.OutputFile(p), 0
	status := program.EachInput(p, args, func(name string, r io.Reader) error {
		// A file that grows while it is read would never end.
		if f, ok := r.(vfs.File); ok && out != 0 {
			if st, err := f.Stat(); err == nil && st.Ino == out && st.Kind == vfs.Regular {
				if at, err := f.Seek(0, io.SeekCurrent); err == nil && at < st.Size {
					p.Errorf("%s: input file is output file", program.QuoteColon(name))
					failed = 1
					return nil
				}
			}
		}
		if plain {
			// Every block goes on at once: cat of a slow pipe shows what is there.
			return program.ReadBlocks(p, r, func(b []byte) { p.Out.Write(b); p.Out.Flush() })
		}
		return program.ReadBlocks(p, r, c.write)
	})
	if c.pendingCR {
		p.Out.WriteByte('\r')
	}
	return max(status, failed)
}

func (c *catState) write(b []byte) {
	out := c.out[:0]
	for i := 0; i < len(b); {
		ch := b[i]
		if c.atStart {
			if ch == '\n' {
				c.blanks++
				if c.squeeze && c.blanks > 1 {
					i++
					continue
				}
			} else {
				c.blanks = 0
			}
			if c.number && (!c.nonblank || ch != '\n') {
				c.line++
				out = appendCount(out, c.line)
			}
			c.atStart = false
		}
		if c.pendingCR {
			c.pendingCR = false
			if ch == '\n' {
				out = append(out, "^M"...)
			} else {
				out = append(out, '\r')
			}
		}
		if ch == '\n' {
			if c.ends {
				out = append(out, '$')
			}
			out = append(out, '\n')
			c.atStart = true
			i++
			continue
		}
		if !c.ends && !c.tabs && !c.nonprinting {
			// Nothing but line ends matters: copy up to the next.
			n := bytes.IndexByte(b[i:], '\n')
			if n < 0 {
				n = len(b) - i
			}
			out = append(out, b[i:i+n]...)
			i += n
			continue
		}
		i++
		switch {
		case ch == '\r' && c.ends && !c.nonprinting:
			c.pendingCR = true
		case ch == '\t' && c.tabs:
			out = append(out, "^I"...)
		case c.nonprinting && ch != '\t':
			out = appendVisible(out, ch)
		default:
			out = append(out, ch)
		}
	}
	c.out = out
	c.p.Out.Write(out)
	c.p.Out.Flush()
}

// appendCount is the line number of cat -n.
func appendCount(b []byte, n int) []byte {
	var tmp [20]byte
	s := strconv.AppendInt(tmp[:0], int64(n), 10)
	for k := 6 - len(s); k > 0; k-- {
		b = append(b, ' ')
	}
	return append(append(b, s...), '\t')
}

// appendVisible adds a byte in the ^X and M-x notation of cat -v.
func appendVisible(b []byte, ch byte) []byte {
	if ch >= 128 {
		b = append(b, "M-"...)
		ch -= 128
	}
	switch {
	case ch < 32:
		return append(b, '^', ch+64)
	case ch == 127:
		return append(b, "^?"...)
	}
	return append(b, ch)
}
