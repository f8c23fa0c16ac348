package text

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var hexdumpSpec = getopt.New("bcCde:f:L::n:os:vxhV",
	"one-byte-octal=b one-byte-char=c canonical=C two-bytes-decimal=d two-bytes-octal=o two-bytes-hex=x format:=e format-file:=f color::=L length:=n skip:=s no-squeezing=v help=h version=V").
	WithUsage("[options] <file>...",
		"Display file contents in hexadecimal, decimal, octal, or ascii.").WithVersion("from util-linux 2.38.1")

// hexConv is a conversion with the text around it, printed once per repetition.
type hexConv struct {
	text  string // plain text, when conv is 0
	conv  byte   // d u o x X c s f e g; a address, C _c, P _p, U _u
	flags string
	width int
	prec  int // -1: none
	verb  byte
	size  int
	end   bool // %_A
}

// hexUnit is one `reps/bytes "format"`.
type hexUnit struct {
	reps    int
	setReps bool
	bytes   int // given, 0 when not
	total   int // bytes that one repetition takes
	convs   []hexConv
	end     bool
}

// hexFormat is one -e: its units take the bytes of a block in turn.
type hexFormat struct {
	units []*hexUnit
	size  int
}

type hexRun struct {
	p       *proc.Process
	formats []*hexFormat
	tail    *hexUnit
	block   int
	verbose bool
	length  int64 // -1: all
	skip    int64
	at      int64
	out     []byte
}

func hexdump(_ context.Context, p *proc.Process) int {
	opts, args := hexdumpSpec.Parse(p)
	h := &hexRun{p: p, length: -1}
	if p.Name() == "hd" {
		h.canonical()
	}
	number := func(what, s string) int64 {
		n, ok := hexNumber(s)
		if !ok {
			p.Errorf("failed to parse %s: '%s': %s", what, s, vfs.EINVAL)
			p.Exit(1)
		}
		return n
	}
	for _, o := range opts {
		switch o.Key {
		case "b":
			h.add(`"%07.7_Ax\n"`)
			h.add(`"%07.7_ax " 16/1 "%03o " "\n"`)
		case "c":
			h.add(`"%07.7_Ax\n"`)
			h.add(`"%07.7_ax " 16/1 "%3_c " "\n"`)
		case "C":
			h.canonical()
		case "d":
			h.add(`"%07.7_Ax\n"`)
			h.add(`"%07.7_ax " 8/2 "  %05u " "\n"`)
		case "o":
			h.add(`"%07.7_Ax\n"`)
			h.add(`"%07.7_ax " 8/2 " %06o " "\n"`)
		case "x":
			h.add(`"%07.7_Ax\n"`)
			h.add(`"%07.7_ax " 8/2 "   %04x " "\n"`)
		case "e":
			h.add(o.Value)
		case "f":
			data, err := p.ReadFile(o.Value)
			if err != nil {
				p.Errorf("can't read %s: %s", o.Value, proc.Strerror(err))
				return 1
			}
			for line := range strings.Lines(string(data)) {
				if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
					h.add(line)
				}
			}
		case "n":
			h.length = number("length", o.Value)
		case "s":
			h.skip = number("offset", o.Value)
		case "v":
			h.verbose = true
		case "h":
			p.Args = []string{p.Args[0], "--help"}
			hexdumpSpec.Parse(p)
		case "V":
			p.Out.WriteString("hexdump from util-linux 2.38.1\n")
			return 0
		}
	}
	if h.formats == nil && h.tail == nil {
		h.add(`"%07.7_Ax\n"`)
		h.add(`"%07.7_ax " 8/2 "%04x " "\n"`)
	}
	h.layout()
	return h.run(args)
}

func (h *hexRun) canonical() {
	h.add(`"%08.8_Ax\n"`)
	h.add(`"%08.8_ax  " 8/1 "%02x " "  " 8/1 "%02x " `)
	h.add(`"  |" 16/1 "%_p" "|\n"`)
}

// hexNumber reads a size: decimal, octal or hexadecimal, with a unit.
func hexNumber(s string) (int64, bool) {
	n := len(s)
	for n > 0 && strings.IndexByte("KMGTPEZYkmgiB", s[n-1]) >= 0 && !(strings.HasPrefix(s, "0x") && s[n-1] == 'B') {
		n--
	}
	v, err := strconv.ParseInt(s[:n], 0, 64)
	if err != nil || v < 0 {
		return 0, false
	}
	if s[n:] != "" {
		m, rest, ok := program.Multiplier(s[n:], "KMGTPEkmg")
		if !ok || rest != "" || !m.IsInt64() || v > math.MaxInt64/m.Int64() {
			return 0, false
		}
		v *= m.Int64()
	}
	return v, true
}

// add parses a format. It ends the command when the format is wrong.
func (h *hexRun) add(text string) {
	bad := func(format string, args ...any) {
		h.p.Errorf(format, args...)
		h.p.Exit(1)
	}
	f := &hexFormat{}
	s := strings.TrimLeft(text, " \t\n")
	for s != "" {
		u := &hexUnit{reps: 1}
		digits := func() (int, bool) {
			n := 0
			for n < len(s) && program.IsDigit(s[n]) {
				n++
			}
			v, err := strconv.Atoi(s[:n])
			s = s[n:]
			return min(v, 1<<20), err == nil
		}
		if program.IsDigit(s[0]) {
			u.reps, _ = digits()
			u.setReps = true
			s = strings.TrimLeft(s, " \t")
		}
		if strings.HasPrefix(s, "/") {
			s = strings.TrimLeft(s[1:], " \t")
			n, ok := digits()
			if !ok {
				bad("bad format {%s}", text)
			}
			u.bytes = n
			s = strings.TrimLeft(s, " \t")
		}
		if !strings.HasPrefix(s, `"`) {
			bad("bad format {%s}", text)
		}
		end := strings.IndexByte(s[1:], '"')
		if end < 0 {
			bad("bad format {%s}", text)
		}
		h.unit(u, s[1:1+end], bad)
		s = strings.TrimLeft(s[end+2:], " \t\n")
		if u.end {
			h.tail = u
			continue
		}
		f.units = append(f.units, u)
		f.size += u.total * u.reps
	}
	if len(f.units) > 0 {
		h.formats = append(h.formats, f)
	}
}

func hexText(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if k := strings.IndexByte("abfnrtv", s[i]); k >= 0 {
			b.WriteByte("\a\b\f\n\r\t\v"[k])
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// unit splits a format into its conversions.
func (h *hexRun) unit(u *hexUnit, s string, bad func(string, ...any)) {
	count := 0
	for s != "" {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			u.convs = append(u.convs, hexConv{text: hexText(s)})
			break
		}
		if i > 0 {
			u.convs = append(u.convs, hexConv{text: hexText(s[:i])})
		}
		s = s[i+1:]
		c := hexConv{prec: -1}
		n := 0
		for n < len(s) && strings.IndexByte("#-+ 0", s[n]) >= 0 {
			n++
		}
		c.flags, s = s[:n], s[n:]
		number := func() int {
			n := 0
			for n < len(s) && program.IsDigit(s[n]) {
				n++
			}
			v, _ := strconv.Atoi(s[:n]) // "" is 0
			s = s[n:]
			return min(v, 4096)
		}
		c.width = number()
		if strings.HasPrefix(s, ".") {
			s = s[1:]
			c.prec = number()
		}
		if s == "" {
			bad("bad conversion character %%%s", s)
		}
		verb := s[:1]
		s = s[1:]
		size := 0
		switch verb {
		case "c":
			c.conv, size = 'c', 1
		case "d", "i":
			c.conv, c.verb, size = 'd', 'd', 4
		case "o", "u", "x", "X":
			c.conv, c.verb, size = 'u', verb[0], 4
		case "e", "E", "f", "g", "G":
			c.conv, c.verb, size = 'f', verb[0], 8
		case "s":
			c.conv, size = 's', c.prec
			if c.prec < 0 && u.bytes == 0 {
				bad("%%s requires a precision or a byte count")
			}
		case "_":
			if s == "" {
				bad("bad conversion character %%_")
			}
			switch s[0] {
			case 'a', 'A':
				if len(s) < 2 || strings.IndexByte("dox", s[1]) < 0 {
					bad("bad conversion character %%_%s", s[:min(len(s), 2)])
				}
				c.conv, c.verb, c.end = 'a', s[1], s[0] == 'A'
				u.end = u.end || c.end
				s = s[1:]
			case 'c':
				c.conv, size = 'C', 1
			case 'p':
				c.conv, size = 'P', 1
			case 'u':
				c.conv, size = 'U', 1
			default:
				bad("bad conversion character %%_%s", s[:1])
			}
			s = s[1:]
		default:
			bad("bad conversion character %%%s", verb)
		}
		if c.conv != 'a' {
			if count++; count > 1 && u.bytes > 0 {
				bad("byte count with multiple conversion characters")
			}
			if u.bytes > 0 {
				valid := []int{1, 2, 4, 8}
				switch c.conv {
				case 'f':
					valid = []int{4, 8}
				case 'c', 'C', 'P', 'U':
					valid = []int{1}
				case 's':
					valid = []int{u.bytes}
				}
				ok := false
				for _, v := range valid {
					ok = ok || v == u.bytes
				}
				if !ok {
					bad("bad byte count for conversion character %s", verb)
				}
				size = u.bytes
			}
		}
		c.size = size
		u.total += size
		u.convs = append(u.convs, c)
	}
	if u.total == 0 {
		u.total = u.bytes
		if len(u.convs) > 0 && u.bytes > 0 {
			u.convs[len(u.convs)-1].size = u.bytes
		}
	}
}

// layout settles the block size, and lets the last unit of a shorter format repeat.
func (h *hexRun) layout() {
	for _, f := range h.formats {
		h.block = max(h.block, f.size)
	}
	for _, f := range h.formats {
		if len(f.units) == 0 {
			continue
		}
		u := f.units[len(f.units)-1]
		if f.size < h.block && !u.setReps && u.total > 0 {
			u.reps += (h.block - f.size) / u.total
		}
	}
}

func (h *hexRun) run(args []string) int {
	status, opened := 0, 0
	in := &hexInput{h: h, left: h.length, skip: h.skip}
	in.open = func() (io.ReadCloser, bool) {
		if len(args) == 0 {
			return nil, false
		}
		for len(args) > 0 {
			name := args[0]
			args = args[1:]
			r, err := h.p.Open(name, vfs.ReadOnly, 0)
			if err != nil {
				h.flush()
				h.p.Errorf("%s: %s", name, proc.Strerror(err))
				status = 1
				continue
			}
			opened++
			in.name = name
			return r, true
		}
		return nil, false
	}
	if len(args) == 0 {
		in.cur, opened = io.NopCloser(h.p.Stdin), 1
		if f, ok := h.p.Stdin.(vfs.File); ok {
			in.cur = struct {
				io.Reader
				io.Closer
			}{f, io.NopCloser(nil)}
		}
		in.name = "stdin"
	}
	if h.block > 0 {
		h.dump(in)
	}
	h.flush()
	if opened == 0 && status != 0 {
		h.p.Errorf("all input file arguments failed")
		return 1
	}
	return status
}

func (h *hexRun) flush() {
	h.p.Out.Write(h.out)
	h.out = h.out[:0]
}

// hexInput is the files one after the other, without what is skipped.
type hexInput struct {
	h    *hexRun
	open func() (io.ReadCloser, bool)
	cur  io.ReadCloser
	name string
	left int64
	skip int64
}

// fill reads as much of b as there is.
func (in *hexInput) fill(b []byte) int {
	n := 0
	if in.left >= 0 {
		b = b[:min(int64(len(b)), in.left)]
	}
	for n < len(b) {
		if in.cur == nil {
			r, ok := in.open()
			if !ok {
				break
			}
			in.cur = r
		}
		if in.skip > 0 {
			in.drop()
			continue
		}
		k, err := in.cur.Read(b[n:])
		in.h.p.Tick(1 + k>>10)
		n += k
		if err != nil {
			if !errors.Is(err, io.EOF) {
				in.h.flush()
				in.h.p.Errorf("%s: %s", in.name, proc.Strerror(err))
			}
			_ = in.cur.Close()
			in.cur = nil
			if len(b) == 0 {
				break
			}
		}
	}
	if in.left >= 0 {
		in.left -= int64(n)
	}
	return n
}

// drop skips at the start of the current file.
func (in *hexInput) drop() {
	buf := make([]byte, min(in.skip, program.BufferSize))
	for in.skip > 0 {
		k, err := in.cur.Read(buf[:min(in.skip, int64(len(buf)))])
		in.h.p.Tick(1 + k>>10)
		in.skip -= int64(k)
		in.h.at += int64(k)
		if err != nil {
			_ = in.cur.Close()
			in.cur = nil
			return
		}
	}
}

func (h *hexRun) dump(in *hexInput) {
	buf := make([]byte, h.block)
	prev := make([]byte, h.block)
	first, squeezed := true, false
	end := int64(0)
	for {
		n := in.fill(buf)
		if n == 0 {
			break
		}
		same := !first && n == len(buf) && !h.verbose && bytes.Equal(buf, prev)
		if same {
			if !squeezed {
				h.out = append(h.out, "*\n"...)
			}
			squeezed = true
			h.at += int64(n)
			continue
		}
		squeezed, first = false, false
		clear(buf[n:])
		for _, f := range h.formats {
			h.format(f, buf, n)
		}
		h.at += int64(n)
		buf, prev = prev, buf
		if len(h.out) > program.BufferSize {
			h.flush()
		}
		if n < len(buf) {
			break
		}
	}
	end = h.at
	if h.tail != nil && end > 0 && h.length != 0 {
		for _, c := range h.tail.convs {
			if c.conv == 0 {
				h.out = append(h.out, c.text...)
			} else if c.conv == 'a' {
				h.integer(&c, uint64(end), false)
			}
		}
	}
}

// format prints a block by one format; only n bytes of it are there.
func (h *hexRun) format(f *hexFormat, b []byte, n int) {
	at := 0
	for _, u := range f.units {
		for rep := u.reps; rep > 0; rep-- {
			for i := range u.convs {
				c := &u.convs[i]
				switch {
				case c.conv == 0:
					text := c.text
					// The blanks after the last repetition are left out.
					if rep == 1 && u.reps > 1 && i == len(u.convs)-1 && i > 0 {
						text = strings.TrimRight(text, " \t\n")
					}
					h.out = append(h.out, text...)
				case at >= n && (c.conv != 'a' || at > 0 || n == 0):
					h.blank(c)
				default:
					h.value(c, b[min(at, len(b)):], h.at+int64(at))
				}
				at += c.size
			}
		}
	}
}

func (h *hexRun) blank(c *hexConv) {
	h.out = program.AppendSpaces(h.out, c.width)
}

// pad puts what was appended since from into the conversion's width.
func (h *hexRun) pad(c *hexConv, from int) {
	gap := c.width - (len(h.out) - from)
	if gap <= 0 {
		return
	}
	if strings.IndexByte(c.flags, '-') >= 0 {
		h.out = program.AppendSpaces(h.out, gap)
		return
	}
	fill := byte(' ')
	if strings.IndexByte(c.flags, '0') >= 0 && strings.IndexByte("adufU", c.conv) >= 0 && c.prec < 0 {
		fill = '0'
		if from < len(h.out) && (h.out[from] == '-' || h.out[from] == '+') {
			from++
		}
	}
	n := len(h.out)
	h.out = append(h.out, make([]byte, gap)...)
	copy(h.out[from+gap:], h.out[from:n])
	for i := range gap {
		h.out[from+i] = fill
	}
}

func (h *hexRun) integer(c *hexConv, v uint64, signed bool) {
	from := len(h.out)
	negative := signed && int64(v) < 0
	if negative {
		v = -v
		h.out = append(h.out, '-')
	} else if signed && strings.IndexByte(c.flags, '+') >= 0 {
		h.out = append(h.out, '+')
	} else if signed && strings.IndexByte(c.flags, ' ') >= 0 {
		h.out = append(h.out, ' ')
	}
	base := map[byte]int{'d': 10, 'u': 10, 'o': 8, 'x': 16, 'X': 16}[c.verb]
	digits := strconv.FormatUint(v, base)
	if c.verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	if strings.IndexByte(c.flags, '#') >= 0 && v != 0 {
		switch c.verb {
		case 'x', 'X':
			h.out = append(h.out, '0', c.verb)
		case 'o':
			h.out = append(h.out, '0')
		}
	}
	for k := c.prec - len(digits); k > 0; k-- {
		h.out = append(h.out, '0')
	}
	h.out = append(h.out, digits...)
	h.pad(c, from)
}

var hexNames = strings.Fields("nul soh stx etx eot enq ack bel bs ht lf vt ff cr so si dle dcl dc2 dc3 dc4 nak syn etb can em sub esc fs gs rs us")

func (h *hexRun) value(c *hexConv, b []byte, at int64) {
	from := len(h.out)
	switch c.conv {
	case 'a':
		h.integer(c, uint64(at), false)
		return
	case 'd', 'u':
		var v uint64
		switch c.size {
		case 1:
			v = uint64(b[0])
		case 2:
			v = uint64(binary.LittleEndian.Uint16(b))
		case 4:
			v = uint64(binary.LittleEndian.Uint32(b))
		default:
			v = binary.LittleEndian.Uint64(b)
		}
		if c.conv == 'd' {
			shift := 64 - 8*c.size
			v = uint64(int64(v<<shift) >> shift)
		}
		h.integer(c, v, c.conv == 'd')
		return
	case 'f':
		v := float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		if c.size == 8 {
			v = math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
		prec := c.prec
		if prec < 0 {
			prec = 6
		}
		s := program.CFloat(c.verb, v, prec, strings.IndexByte(c.flags, '#') >= 0)
		if strings.IndexByte(c.flags, '+') >= 0 && s[0] != '-' {
			h.out = append(h.out, '+')
		}
		h.out = append(h.out, s...)
		if c.prec >= 0 && strings.IndexByte(c.flags, '0') >= 0 {
			d := *c
			d.prec = -1
			h.pad(&d, from)
			return
		}
	case 'c':
		h.out = append(h.out, b[0])
	case 's':
		n := min(c.size, len(b))
		if i := bytes.IndexByte(b[:n], 0); i >= 0 {
			n = i
		}
		h.out = append(h.out, b[:n]...)
	case 'P':
		ch := b[0]
		if ch < ' ' || ch > '~' {
			ch = '.'
		}
		h.out = append(h.out, ch)
	case 'C':
		switch ch := b[0]; {
		case ch == 0:
			h.out = append(h.out, `\0`...)
		case ch != '\\' && program.CEscape(ch) != "":
			h.out = append(h.out, program.CEscape(ch)...)
		case ch >= ' ' && ch <= '~':
			h.out = append(h.out, ch)
		default:
			h.out = program.AppendRadix(h.out, uint64(ch), 3, 3)
		}
	case 'U':
		switch ch := b[0]; {
		case int(ch) < len(hexNames):
			h.out = append(h.out, hexNames[ch]...)
		case ch == 127:
			h.out = append(h.out, "del"...)
		case ch >= ' ' && ch <= '~':
			h.out = append(h.out, ch)
		default:
			h.out = program.AppendRadix(h.out, uint64(ch), 2, 4)
		}
	}
	h.pad(c, from)
}
