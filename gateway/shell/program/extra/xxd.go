package extra

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

const xxdUsage = `Usage:
       xxd [options] [infile [outfile]]
    or
       xxd -r [-s [-]offset] [-c cols] [-ps] [infile [outfile]]
`

type xxdRun struct {
	p                                                  *proc.Process
	out                                                io.Writer
	file                                               io.Seeker // below out, when that is a file
	cols, group                                        int
	plain, bits, little, include, reverse, upper, skip bool
	capital, decimal, ebcdic                           bool
	limit, seek, offset                                int64
	name                                               string
}

func xxd(_ context.Context, p *proc.Process) int {
	x := &xxdRun{p: p, cols: -1, group: -1, limit: -1, out: p.Out}
	args := p.Args[1:]
	usage := func() int {
		p.Out.Flush()
		p.Err.WriteString(xxdUsage)
		return 1
	}
	seekFromEnd := false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		name := strings.TrimLeft(a, "-")
		takes := func(short string, longs ...string) (string, bool) {
			for _, l := range longs {
				if name == l {
					if len(args) == 0 {
						return "", false
					}
					v := args[0]
					args = args[1:]
					return v, true
				}
			}
			if strings.HasPrefix(name, short) && len(name) > len(short) {
				return name[len(short):], true
			}
			return "", false
		}
		number := func(v string) int64 {
			n, err := strconv.ParseInt(strings.TrimPrefix(v, "+"), 0, 64)
			if err != nil {
				n, _ = strconv.ParseInt(leadingDigits(v), 10, 64) // like strtol: 0 when there is none
			}
			return n
		}
		var v string
		ok := true
		switch {
		case name == "a" || name == "autoskip":
			x.skip = true
		case name == "b" || name == "bits":
			x.bits = true
		case name == "e":
			x.little = true
		case name == "u" || name == "upper" || name == "uppercase":
			x.upper = true
		case strings.HasPrefix(name, "p"): // what follows the letter is not looked at
			x.plain = true
		case name == "i" || name == "include":
			x.include = true
		case name == "C" || name == "capitalize":
			x.capital = true
		case name == "E" || name == "EBCDIC":
			x.ebcdic = true
		case name == "d":
			x.decimal = true
		case name == "r" || name == "revert":
			x.reverse = true
		case name == "h" || name == "help":
			return usage()
		case name == "v" || name == "version":
			p.Err.WriteString("xxd 2022-01-14 by Juergen Weigert et al.\n")
			return 0
		case name[0] == 'c':
			if v, ok = takes("c", "c", "cols"); ok {
				x.cols = int(number(v))
			}
		case name[0] == 'g':
			if v, ok = takes("g", "g", "groupsize"); ok {
				x.group = int(number(v))
			}
		case name[0] == 'l':
			if v, ok = takes("l", "l", "len"); ok {
				x.limit = number(v)
			}
		case name[0] == 'n':
			if v, ok = takes("n", "n", "name"); ok {
				x.name = v
			}
		case name[0] == 'o':
			if v, ok = takes("o", "o", "offset"); ok {
				x.offset = number(v)
			}
		case name[0] == 's':
			if v, ok = takes("s", "s", "skip", "seek"); ok {
				x.seek = number(v)
				seekFromEnd = strings.HasPrefix(v, "-")
			}
		default:
			ok = false
		}
		if !ok {
			return usage()
		}
	}
	if len(args) > 2 {
		return usage()
	}
	switch {
	case x.cols < 0 || x.cols == 0 && !x.plain:
		x.cols = 16
		switch {
		case x.plain:
			x.cols = 30
		case x.include:
			x.cols = 12
		case x.bits:
			x.cols = 6
		}
	}
	if x.cols > 256 && !x.plain {
		p.Errorf("invalid number of columns (max. 256).")
		return 1
	}
	if x.group < 0 {
		x.group = 2
		switch {
		case x.bits:
			x.group = 1
		case x.little:
			x.group = 4
		}
	}
	if x.group == 0 || x.group > x.cols {
		x.group = max(x.cols, 1)
	}
	if x.little && x.group&(x.group-1) != 0 {
		p.Errorf("number of octets per group must be a power of 2 with -e.")
		return 1
	}
	name := "-"
	if len(args) > 0 {
		name = args[0]
	}
	in, err := p.OpenInput(name)
	if err != nil {
		p.Errorf("%s: %s", name, proc.Strerror(err))
		return 2
	}
	defer in.Close()
	if len(args) == 2 && args[1] != "-" {
		flag := vfs.WriteOnly | vfs.Create
		if !x.reverse {
			flag |= vfs.Trunc
		}
		f, err := p.Open(args[1], flag, 0o666)
		if err != nil {
			p.Errorf("%s: %s", args[1], proc.Strerror(err))
			return 3
		}
		defer f.Close()
		w := proc.NewWriter(f, p)
		defer w.Flush()
		x.out, x.file = w, f
	}
	switch {
	case x.reverse && (x.bits || x.little):
		p.Errorf("Sorry, cannot revert this type of hexdump")
		return 255
	case x.reverse:
		if err = x.revert(in); errors.Is(err, errBackwards) {
			p.Errorf("%s", err)
			return 5
		}
	default:
		if seekFromEnd {
			err = x.seekEnd(in)
		} else if x.seek > 0 {
			_, err = io.CopyN(io.Discard, in, x.seek)
			if errors.Is(err, io.EOF) {
				err = nil
			}
		}
		if err != nil {
			p.Errorf("Sorry, cannot seek.")
			return 4
		}
		if x.limit >= 0 {
			err = x.dump(io.LimitReader(in, x.limit), name)
		} else {
			err = x.dump(in, name)
		}
	}
	if err != nil {
		p.Errorf("%s", proc.Strerror(err))
		return 2
	}
	return 0
}

func leadingDigits(s string) string {
	n := 0
	for n < len(s) && program.IsDigit(s[n]) {
		n++
	}
	return s[:n]
}

func (x *xxdRun) seekEnd(in io.Reader) error {
	s, ok := in.(io.Seeker)
	if !ok {
		return io.ErrUnexpectedEOF
	}
	at, err := s.Seek(x.seek, io.SeekEnd)
	x.seek = at
	return err
}

func (x *xxdRun) put(s string) { _, _ = io.WriteString(x.out, s) }

func (x *xxdRun) dump(in io.Reader, name string) error {
	if x.include {
		return x.includeFile(in, name)
	}
	hexDigit := "%02x"
	if x.upper {
		hexDigit = "%02X"
	}
	if x.plain {
		n := 0
		err := program.ReadBlocks(x.p, in, func(b []byte) {
			for _, c := range b {
				x.put(fmt.Sprintf(hexDigit, c))
				if n++; x.cols > 0 && n%x.cols == 0 {
					x.put("\n")
				}
			}
		})
		if n > 0 && (x.cols == 0 || n%x.cols != 0) {
			x.put("\n")
		}
		return err
	}
	buf := make([]byte, x.cols)
	at := x.seek + x.offset
	// Of a run of zero lines -a shows the first, then a star; the end of the dump is always shown.
	zeros := 0
	var second, last string
	flush := func() {
		switch {
		case zeros == 2:
			x.put(second)
		case zeros > 2:
			x.put("*\n")
		}
	}
	for {
		n, err := io.ReadFull(in, buf)
		x.p.Tick(1)
		if n > 0 {
			line := x.line(buf[:n], at, hexDigit)
			at += int64(n)
			if x.skip && len(bytes.Trim(buf[:n], "\x00")) == 0 {
				switch zeros++; zeros {
				case 1:
					x.put(line)
				case 2:
					second = line
				}
				last = line
			} else {
				flush()
				zeros = 0
				x.put(line)
			}
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			if zeros > 1 {
				zeros--
				flush()
				x.put(last)
			}
			return nil
		case err != nil:
			return err
		}
	}
}

func (x *xxdRun) line(b []byte, at int64, hexDigit string) string {
	var s strings.Builder
	if x.decimal {
		fmt.Fprintf(&s, "%08d: ", at)
	} else {
		fmt.Fprintf(&s, "%08x: ", uint32(at))
	}
	size := 2
	if x.bits {
		size = 8
	}
	for i := range x.cols {
		k := i
		if x.little {
			k = i/x.group*x.group + (x.group - 1 - i%x.group)
		}
		switch {
		case k >= len(b):
			s.WriteString(strings.Repeat(" ", size))
		case x.bits:
			fmt.Fprintf(&s, "%08b", b[k])
		default:
			fmt.Fprintf(&s, hexDigit, b[k])
		}
		if (i+1)%x.group == 0 || i == x.cols-1 {
			s.WriteByte(' ')
		}
	}
	s.WriteByte(' ')
	var asc strings.Builder
	for _, c := range b {
		if x.ebcdic {
			c = program.XxdEBCDIC[c]
		} else if c < ' ' || c > '~' {
			c = '.'
		}
		asc.WriteByte(c)
	}
	return s.String() + asc.String() + "\n"
}

func (x *xxdRun) includeFile(in io.Reader, name string) error {
	ident := x.name
	if ident == "" && name != "-" {
		ident = name
	}
	named := ident != ""
	clean := []byte(ident)
	for i, c := range clean {
		if !program.IsAlpha(c) && !program.IsDigit(c) {
			clean[i] = '_'
		}
	}
	if len(clean) > 0 && program.IsDigit(clean[0]) {
		clean = append([]byte("__"), clean...)
	}
	ident = string(clean)
	length := "_len"
	if x.capital {
		ident, length = strings.ToUpper(ident), "_LEN"
	}
	if named {
		x.put("unsigned char " + ident + "[] = {\n")
	}
	format := "0x%02x"
	if x.upper {
		format = "0X%02X"
	}
	n := 0
	err := program.ReadBlocks(x.p, in, func(b []byte) {
		for _, c := range b {
			switch {
			case n == 0:
				x.put("  ")
			case n%x.cols == 0:
				x.put(",\n  ")
			default:
				x.put(", ")
			}
			x.put(fmt.Sprintf(format, c))
			n++
		}
	})
	if n > 0 {
		x.put("\n")
	}
	if named {
		x.put("};\n")
		x.put(fmt.Sprintf("unsigned int %s%s = %d;\n", ident, length, n))
	}
	return err
}

// errBackwards says that a dump names an offset before what has been written, and that the output cannot go back.
var errBackwards = errors.New("Sorry, cannot seek backwards.")

// revert turns a dump back into bytes, as huntype of xxd.c does: without -p a line begins with an offset, any other
// character ends that, and two digits that follow each other are a byte. After three characters that are no digits the
// rest of the line is text.
func (x *xxdRun) revert(in io.Reader) error {
	const none = -1
	var offset, at int64 // what the line says, and where the output is
	d, before, garbage, skip, column := none, none, true, false, x.cols
	var failed error
	err := program.ReadBlocks(x.p, in, func(b []byte) {
		for _, c := range b {
			if failed != nil || c == '\r' || x.plain && (c == ' ' || c == '\n' || c == '\t') && !skip {
				continue
			}
			if skip {
				if c != '\n' {
					continue
				}
			} else {
				older := before
				before, d = d, hexValue(c)
				if d < 0 && garbage {
					continue
				}
				garbage = false
				if !x.plain && column >= x.cols {
					if d < 0 {
						column = 0
					} else {
						offset = offset<<4 | int64(d)
					}
					continue
				}
				if failed = x.moveTo(&at, x.seek+offset); failed != nil {
					continue
				}
				if before >= 0 && d >= 0 {
					_, _ = x.out.Write([]byte{byte(before<<4 | d)})
					at, offset, d = at+1, offset+1, none
					column++
					skip = !x.plain && column >= x.cols
				} else {
					skip = d < 0 && before < 0 && older < 0
				}
			}
			if c == '\n' {
				skip, garbage, column = false, true, x.cols
				if !x.plain {
					offset = 0
				}
			}
		}
	})
	return cmp.Or(failed, err)
}

// moveTo has the output go to an offset: in a file it goes there, elsewhere zeros fill the way.
func (x *xxdRun) moveTo(at *int64, to int64) error {
	if *at == to {
		return nil
	}
	if x.file != nil {
		if w, ok := x.out.(*proc.Writer); ok {
			w.Flush()
		}
		if _, err := x.file.Seek(to-*at, io.SeekCurrent); err == nil {
			*at = to
			return nil
		}
	}
	if to < *at {
		return errBackwards
	}
	zero := make([]byte, 4096)
	for *at < to {
		n := min(to-*at, int64(len(zero)))
		x.p.Tick(int(n))
		if _, err := x.out.Write(zero[:n]); err != nil {
			return err
		}
		*at += n
	}
	return nil
}

func hexValue(c byte) int {
	switch {
	case program.IsDigit(c):
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
