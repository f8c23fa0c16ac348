package text

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var odSpec = getopt.New("A:aBbcDdeFfHhIij:LlN:OoS:st:vw::Xx",
	"skip-bytes:=j address-radix:=A read-bytes:=N format:=t output-duplicates=v strings::=S traditional width::=w endian:").
	WithUsage("[OPTION]... [FILE]...",
		"Write an unambiguous representation, octal bytes by default, of FILE to standard output.")

// odFormat is one -t: how blocks of size bytes are shown.
type odFormat struct {
	kind    byte // a c d u o x f
	size    int
	width   int // of one field without the separating space
	trailer bool
	pad     int // spaces to spread over a line so that formats line up
}

type odRun struct {
	p       *proc.Process
	formats []odFormat
	radix   byte
	width   int
	all     bool
	order   binary.ByteOrder
	out     []byte   // one line
	field   [32]byte // one value
}

func od(_ context.Context, p *proc.Process) int {
	opts, args := odSpec.Parse(p)
	d := &odRun{p: p, radix: 'o', order: binary.LittleEndian}
	var skip, limit, minString int64
	limit = -1
	minString = -1
	width, hasWidth := int64(0), false
	traditional := map[string]string{"a": "a", "b": "o1", "c": "c", "D": "u4", "d": "u2", "e": "fD", "F": "fD", "f": "fF",
		"H": "x4", "h": "x2", "I": "dL", "i": "dI", "L": "dL", "l": "dL", "O": "o4", "o": "o2", "B": "o2", "s": "d2",
		"X": "x4", "x": "x2"}
	number := func(o getopt.Option, long string) int64 {
		v, base := o.Value, ""
		if strings.HasPrefix(v, "0x") || strings.HasPrefix(v, "0X") {
			n, err := strconv.ParseInt(v[2:], 16, 64)
			if err == nil {
				return n
			}
		} else if len(v) > 1 && v[0] == '0' {
			if n, err := strconv.ParseInt(v, 8, 64); err == nil {
				return n
			}
		}
		n, problem := program.ParseCount(v, "bkKmMGTPEZY")
		name := base + "-" + o.Key
		if o.Long {
			name = "--" + long
		}
		switch problem {
		case program.NumberInvalid:
			rest := strings.TrimLeft(v, "0123456789")
			if rest != "" && rest != v {
				p.Errorf("invalid suffix in %s argument '%s'", name, v)
			} else {
				p.Errorf("invalid %s argument '%s'", name, v)
			}
			p.Exit(1)
		case program.NumberOverflow:
			p.Errorf("%s argument '%s' too large", name, v)
			p.Exit(1)
		}
		return n
	}
	modern, old := false, false
	for _, o := range opts {
		modern = modern || o.Long || strings.Contains("AjNStvw", o.Key)
		switch o.Key {
		case "A":
			if len(o.Value) == 0 || strings.IndexByte("doxn", o.Value[0]) < 0 {
				c := ""
				if o.Value != "" {
					c = o.Value[:1]
				}
				p.Errorf("invalid output address radix '%s'; it must be one character from [doxn]", c)
				return 1
			}
			d.radix = o.Value[0]
		case "j":
			skip = number(o, "skip-bytes")
		case "N":
			limit = number(o, "read-bytes")
		case "S":
			minString = 3
			if o.Has {
				minString = number(o, "strings")
			}
		case "t":
			d.add(o.Value)
		case "v":
			d.all = true
		case "w":
			width, hasWidth = 32, true
			if o.Has {
				width = number(o, "width")
			}
		case "endian":
			if program.Choose(p, odSpec, "endian", o.Value, "little", "big") == "big" {
				d.order = binary.BigEndian
			}
		case "traditional":
			old = true
		default:
			d.add(traditional[o.Key])
		}
	}
	typed := len(d.formats) > 0
	if !typed {
		d.add("o2")
	}
	if !modern || old {
		args, skip = oldOperands(args, old)
	}
	if len(args) == 0 {
		args = []string{"-"}
	}
	in := &odInput{p: p, names: args, left: limit}
	if skip > 0 && !in.skip(skip) {
		p.Errorf("cannot skip past end of combined input")
		return 1
	}
	if minString >= 0 {
		if typed {
			p.Errorf("no type may be specified when dumping strings")
			return 1
		}
		d.strings(in, skip, minString)
		return in.status
	}
	lcm := 1
	for _, f := range d.formats {
		lcm = lcm / gcd(lcm, f.size) * f.size
	}
	d.width = max(16/lcm*lcm, lcm)
	if hasWidth {
		if width > 0 && width <= 1<<20 && width%int64(lcm) == 0 {
			d.width = int(width)
		} else {
			p.Errorf("warning: invalid width %d; using %d instead", width, lcm)
			d.width = lcm
		}
	}
	longest := 0
	for _, f := range d.formats {
		longest = max(longest, (f.width+1)*(d.width/f.size))
	}
	for i := range d.formats {
		f := &d.formats[i]
		f.pad = longest - f.width*(d.width/f.size)
	}
	d.dump(in, skip)
	return in.status
}

// oldOperands takes the offset of [FILE] [+]OFFSET[b] from the operands.
func oldOperands(args []string, old bool) (files []string, skip int64) {
	last := len(args) - 1
	if last != 0 && last != 1 {
		return args, 0
	}
	s := args[last]
	if !old && !strings.HasPrefix(s, "+") && (last == 0 || s == "" || !program.IsDigit(s[0])) {
		return args, 0
	}
	n, ok := oldOffset(s)
	if !ok {
		return args, 0
	}
	return args[:last], n
}

// oldOffset reads an offset: octal, hexadecimal after 0x, decimal before a dot; b counts in blocks of 512, B in
// kilobytes.
func oldOffset(s string) (int64, bool) {
	s = strings.TrimPrefix(s, "+")
	unit, base := int64(1), 8
	if t, ok := strings.CutSuffix(s, "b"); ok && !strings.HasPrefix(s, "0x") {
		s, unit = t, 512
	} else if t, ok := strings.CutSuffix(s, "B"); ok && !strings.HasPrefix(s, "0x") {
		s, unit = t, 1024
	}
	if t, ok := strings.CutPrefix(s, "0x"); ok {
		s, base = t, 16
	} else if strings.HasSuffix(s, ".") {
		return 0, false // the dot is no part of the number, and GNU refuses what follows one
	}
	n, err := strconv.ParseInt(s, base, 40)
	return n * unit, err == nil && n >= 0
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// odInput is the operands as one stream.
type odInput struct {
	p      *proc.Process
	names  []string
	cur    io.ReadCloser
	name   string
	left   int64 // -1: everything
	status int
	opened bool // some operand could be read
}

func (in *odInput) Read(b []byte) (int, error) {
	if in.left >= 0 && int64(len(b)) > in.left {
		b = b[:in.left]
	}
	if len(b) == 0 {
		return 0, io.EOF
	}
	n, err := in.raw(b)
	if in.left >= 0 {
		in.left -= int64(n)
	}
	return n, err
}

func (in *odInput) raw(b []byte) (int, error) {
	for {
		in.p.Tick(1)
		if in.cur == nil {
			if len(in.names) == 0 {
				return 0, io.EOF
			}
			in.name, in.names = in.names[0], in.names[1:]
			r, err := in.p.OpenInput(in.name)
			if err != nil {
				in.p.Errorf("%s: %s", program.QuoteColon(in.name), proc.Strerror(err))
				in.status = 1
				continue
			}
			in.cur, in.opened = r, true
		}
		n, err := in.cur.Read(b)
		if n > 0 {
			return n, nil
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				in.p.Errorf("%s: %s", program.QuoteColon(in.name), proc.Strerror(err))
				in.status = 1
			}
			_ = in.cur.Close()
			in.cur = nil
		}
	}
}

func (in *odInput) skip(n int64) bool {
	buf := make([]byte, 32<<10)
	for n > 0 {
		k, err := in.raw(buf[:min(n, int64(len(buf)))])
		if err != nil {
			return false
		}
		n -= int64(k)
	}
	return true
}

// add parses a type string such as "x1z" or "d2o4".
func (d *odRun) add(spec string) {
	bad := func(format string, args ...any) {
		d.p.Errorf(format, args...)
		d.p.Exit(1)
	}
	for s := spec; s != ""; {
		f := odFormat{kind: s[0], size: 1}
		c := s[0]
		s = s[1:]
		switch c {
		case 'a', 'c':
		case 'd', 'u', 'o', 'x', 'f':
			f.size = 4
			if c == 'f' {
				f.size = 8
			}
			names := map[byte]int{'C': 1, 'S': 2, 'I': 4, 'L': 8}
			if c == 'f' {
				names = map[byte]int{'F': 4, 'D': 8, 'L': 16}
			}
			if s != "" && names[s[0]] > 0 {
				f.size, s = names[s[0]], s[1:]
			} else {
				n := 0
				for n < len(s) && program.IsDigit(s[n]) {
					n++
				}
				if n > 0 {
					size, err := strconv.Atoi(s[:n])
					ok := err == nil && (c != 'f' && (size == 1 || size == 2 || size == 4 || size == 8) ||
						c == 'f' && (size == 4 || size == 8 || size == 16))
					if !ok {
						if c == 'f' {
							bad("invalid type string %s;\nthis system doesn't provide a %s-byte floating point type", program.Quote(spec),
								s[:n])
						}
						bad("invalid type string %s;\nthis system doesn't provide a %s-byte integral type", program.Quote(spec), s[:n])
					}
					f.size, s = size, s[n:]
				}
			}
		default:
			bad("invalid character '%c' in type string %s", c, program.Quote(spec))
		}
		if s != "" && s[0] == 'z' {
			f.trailer, s = true, s[1:]
		}
		f.width = f.fieldWidth()
		d.formats = append(d.formats, f)
	}
}

func (f odFormat) fieldWidth() int {
	switch f.kind {
	case 'a', 'c':
		return 3
	case 'x':
		return 2 * f.size
	case 'o':
		return map[int]int{1: 3, 2: 6, 4: 11, 8: 22}[f.size]
	case 'd':
		return map[int]int{1: 4, 2: 6, 4: 11, 8: 20}[f.size]
	case 'u':
		return map[int]int{1: 3, 2: 5, 4: 10, 8: 20}[f.size]
	}
	return map[int]int{4: 15, 8: 24, 16: 29}[f.size]
}

func (d *odRun) address(n int64) string {
	switch d.radix {
	case 'd':
		return fmt.Sprintf("%07d", n)
	case 'x':
		return fmt.Sprintf("%06x", n)
	case 'n':
		return ""
	}
	return fmt.Sprintf("%07o", n)
}

func (d *odRun) dump(in *odInput, at int64) {
	out := d.p.Out
	buf, prev := make([]byte, d.width), make([]byte, d.width)
	stream := bufio.NewReaderSize(in, program.BufferSize)
	first, starred := true, false
	for {
		n, err := io.ReadFull(stream, buf)
		d.p.Tick(1)
		if n == 0 && err != nil {
			break
		}
		if n == d.width && !first && !d.all && string(buf) == string(prev) {
			if !starred {
				out.WriteString("*\n")
				starred = true
			}
		} else {
			starred = false
			d.line(buf, n, at)
		}
		first = false
		copy(prev, buf)
		at += int64(n)
		if n < d.width {
			break
		}
	}
	if d.radix != 'n' && in.opened {
		out.WriteString(d.address(at) + "\n")
	}
}

func (d *odRun) line(buf []byte, n int, at int64) {
	block, out := buf[:d.width], d.out[:0]
	clear(block[n:])
	for i, f := range d.formats {
		address := d.address(at)
		if i > 0 {
			address = strings.Repeat(" ", len(address))
		}
		out = append(out, address...)
		fields := d.width / f.size
		padLeft := f.pad
		for k := range fields {
			// The padding is spread evenly, as GNU does.
			space := padLeft * (fields - k - 1) / (fields - k)
			width := f.width + padLeft - space
			padLeft = space
			if k*f.size >= n {
				if !f.trailer {
					break
				}
				out = program.AppendSpaces(out, width)
				continue
			}
			text := f.text(d.field[:0], block[k*f.size:(k+1)*f.size], d.order)
			out = append(program.AppendSpaces(out, width-len(text)), text...)
		}
		if f.trailer {
			out = append(out, "  >"...)
			for _, c := range block[:n] {
				if c < ' ' || c > '~' {
					c = '.'
				}
				out = append(out, c)
			}
			out = append(out, '<')
		}
		out = append(out, '\n')
	}
	d.out = out
	d.p.Out.Write(out)
}

var odNames = [...]string{
	"nul", "soh", "stx", "etx", "eot", "enq", "ack", "bel", "bs", "ht", "nl", "vt", "ff", "cr", "so", "si",
	"dle", "dc1", "dc2", "dc3", "dc4", "nak", "syn", "etb", "can", "em", "sub", "esc", "fs", "gs", "rs", "us", "sp",
}

// text appends one value to out.
func (f odFormat) text(out, b []byte, order binary.ByteOrder) []byte {
	var u uint64
	switch len(b) {
	case 1:
		u = uint64(b[0])
	case 2:
		u = uint64(order.Uint16(b))
	case 4:
		u = uint64(order.Uint32(b))
	case 8:
		u = order.Uint64(b)
	}
	switch f.kind {
	case 'a':
		c := b[0] & 0x7f
		switch {
		case int(c) < len(odNames):
			return append(out, odNames[c]...)
		case c == 0x7f:
			return append(out, "del"...)
		}
		return append(out, c)
	case 'c':
		switch c := b[0]; {
		case c == 0:
			return append(out, `\0`...)
		case c != '\\' && program.CEscape(c) != "":
			return append(out, program.CEscape(c)...)
		case c >= ' ' && c <= '~':
			return append(out, c)
		}
		return program.AppendRadix(out, u, 3, 3)
	case 'x':
		return program.AppendRadix(out, u, f.width, 4)
	case 'o':
		return program.AppendRadix(out, u, f.width, 3)
	case 'u':
		return strconv.AppendUint(out, u, 10)
	case 'd':
		shift := 64 - 8*len(b)
		return strconv.AppendInt(out, int64(u<<shift)>>shift, 10)
	}
	switch len(b) {
	case 4:
		return append(out, shortestFloat(float64(math.Float32frombits(uint32(u))), 32)...)
	case 8:
		return append(out, shortestFloat(math.Float64frombits(u), 64)...)
	}
	return append(out, shortestFloat(extended(b), 64)...)
}

// extended reads an x87 80-bit number.
func extended(b []byte) float64 {
	mantissa := binary.LittleEndian.Uint64(b)
	e := binary.LittleEndian.Uint16(b[8:])
	v := math.Ldexp(float64(mantissa), int(e&0x7fff)-16383-63)
	if e>>15 != 0 {
		v = -v
	}
	return v
}

// shortestFloat is the fewest digits that %g needs to give the number back.
func shortestFloat(v float64, bits int) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return program.CFloat('g', v, 6, false)
	}
	e := strconv.FormatFloat(v, 'e', -1, bits)
	digits := len(strings.TrimLeft(strings.Replace(e[:strings.IndexByte(e, 'e')], ".", "", 1), "-"))
	digits = max(digits, map[int]int{32: 6, 64: 15}[bits])
	x, _ := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:]) // always a number
	if x < -4 || x >= digits {
		return e
	}
	return strconv.FormatFloat(v, 'f', -1, bits)
}

// strings is -S: runs of at least n printable characters that end in a NUL.
func (d *odRun) strings(in io.Reader, at, n int64) {
	var run []byte
	start := at
	_ = program.ReadBlocks(d.p, in, func(b []byte) {
		for _, c := range b {
			switch {
			case c >= ' ' && c <= '~':
				if len(run) == 0 {
					start = at
				}
				if len(run) < 1<<20 {
					run = append(run, c)
				}
			case c == 0 && int64(len(run)) >= n:
				if d.radix != 'n' {
					d.p.Out.WriteString(d.address(start) + " ")
				}
				d.p.Out.Write(run)
				d.p.Out.WriteByte('\n')
				run = run[:0]
			default:
				run = run[:0]
			}
			at++
		}
	})
}
