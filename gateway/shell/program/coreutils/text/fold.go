package text

import (
	"bytes"
	"context"
	"io"
	"math"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var foldSpec = getopt.New("bsw:0::1::2::3::4::5::6::7::8::9::", "bytes=b spaces=s width:=w").
	WithUsage("[OPTION]... [FILE]...", "Wrap input lines in each FILE, writing to standard output.")

type foldRun struct {
	p             *proc.Process
	width         int
	bytes, spaces bool
	line          []byte // not yet written
	column        int
}

func fold(_ context.Context, p *proc.Process) int {
	opts, args := foldSpec.Parse(p)
	f := &foldRun{p: p, width: 80}
	for _, o := range opts {
		switch o.Key {
		case "b":
			f.bytes = true
		case "s":
			f.spaces = true
		default:
			text := o.Value
			if o.Key != "w" {
				text = o.Key + text
			}
			n, problem := program.ParseCount(text, "")
			switch {
			case problem == program.NumberInvalid:
				p.Errorf("invalid number of columns: %s", program.Quote(text))
				return 1
			case problem == program.NumberOverflow:
				p.Errorf("invalid number of columns: %s: Value too large for defined data type", program.Quote(text))
				return 1
			case n == 0:
				p.Errorf("invalid number of columns: %s: Numerical result out of range", program.Quote(text))
				return 1
			}
			f.width = int(min(n, math.MaxInt32))
		}
	}
	return program.EachInput(p, args, func(_ string, r io.Reader) error {
		f.column = 0
		err := program.ReadBlocks(p, r, f.write)
		p.Out.Write(f.line)
		p.Release(cap(f.line))
		f.line = nil
		return err
	})
}

func (f *foldRun) advance(column int, c byte) int {
	if !f.bytes {
		switch c {
		case '\b':
			return max(column-1, 0)
		case '\r':
			return 0
		case '\t':
			return column + 8 - column%8
		}
	}
	return column + 1
}

func (f *foldRun) write(block []byte) {
	before := cap(f.line)
	for len(block) > 0 {
		// Plain text up to the width goes on at once.
		if i := bytes.IndexAny(block[:min(len(block), max(f.width-f.column, 0))], "\n\b\r\t"); f.column < f.width && i != 0 {
			if i < 0 {
				i = min(len(block), f.width-f.column)
			}
			f.line = append(f.line, block[:i]...)
			f.column += i
			block = block[i:]
			continue
		}
		f.char(block[0])
		block = block[1:]
	}
	if n := cap(f.line) - before; n > 0 {
		f.p.Hold(n)
	}
}

func (f *foldRun) char(c byte) {
	if c == '\n' {
		f.line = append(f.line, '\n')
		f.p.Out.Write(f.line)
		f.line, f.column = f.line[:0], 0
		return
	}
	for {
		next := f.advance(f.column, c)
		if next <= f.width {
			f.column = next
			break
		}
		cut := -1
		if f.spaces {
			cut = bytes.LastIndexAny(f.line, " \t")
		}
		if cut >= 0 {
			f.p.Out.Write(f.line[:cut+1])
			f.p.Out.WriteByte('\n')
			f.line = append(f.line[:0], f.line[cut+1:]...)
			f.column = 0
			for _, b := range f.line {
				f.column = f.advance(f.column, b)
			}
			continue
		}
		if len(f.line) == 0 {
			f.column = next
			break
		}
		f.p.Out.Write(f.line)
		f.p.Out.WriteByte('\n')
		f.line, f.column = f.line[:0], 0
	}
	f.line = append(f.line, c)
}
