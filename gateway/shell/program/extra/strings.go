package extra

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var stringsSpec = getopt.New("adfhHn:owt:e:T:s:U:vV0123456789",
	"all=a data=d print-file-name=f bytes:=n radix:=t include-all-whitespace=w encoding:=e target:=T output-separator:=s unicode:=U help=h version=v")

const stringsUsage = `Usage: strings [option(s)] [file(s)]
 Display printable strings in [file(s)] (stdin by default)
 The options are:
  -a - --all                Scan the entire file, not just the data section [default]
  -f --print-file-name      Print the name of the file before each string
  -n <number>               Locate & print any sequence of at least <number>
    --bytes=<number>         displayable characters.  (The default is 4).
  -t --radix={o,d,x}        Print the location of the string in base 8, 10 or 16
  -w --include-all-whitespace Include all whitespace as valid string characters
  -o                        An alias for --radix=o
  -e --encoding={s,S,b,l,B,L} Select character size and endianness
  -s --output-separator=<string> String used to separate strings in output.
`

type stringsRun struct {
	p          *proc.Process
	least      int
	radix      byte
	names      bool
	whitespace bool
	encoding   byte
	separator  string
	out        []byte
}

func stringsMain(_ context.Context, p *proc.Process) int {
	usage := func() int {
		p.Err.WriteString(stringsUsage)
		return 1
	}
	opts, args, err := stringsSpec.Scan(p.Args[1:])
	if err != nil {
		p.Errorf("%v", err)
		return usage()
	}
	s := &stringsRun{p: p, least: 4, encoding: 's', separator: "\n"}
	digits := ""
	for _, o := range opts {
		switch o.Key {
		case "f":
			s.names = true
		case "h", "H":
			p.Out.WriteString(stringsUsage)
			return 0
		case "v", "V":
			p.Out.WriteString("GNU strings (GNU Binutils for Debian) 2.40\n")
			return 0
		case "n":
			n, err := strconv.ParseInt(o.Value, 0, 64)
			if err != nil {
				p.Errorf("invalid integer argument %s", o.Value)
				return 1
			}
			if n < 1 {
				p.Errorf("invalid minimum string length %d", n)
				return 1
			}
			s.least = int(min(n, 1<<30))
		case "o":
			s.radix = 'o'
		case "t":
			if len(o.Value) != 1 || strings.IndexByte("odx", o.Value[0]) < 0 {
				return usage()
			}
			s.radix = o.Value[0]
		case "w":
			s.whitespace = true
		case "e":
			if len(o.Value) != 1 || strings.IndexByte("sSblBL", o.Value[0]) < 0 {
				return usage()
			}
			s.encoding = o.Value[0]
		case "s":
			s.separator = o.Value
		default:
			if program.IsDigit(o.Key[0]) {
				digits += o.Key
			}
		}
	}
	if digits != "" {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 {
			p.Errorf("invalid minimum string length %s", digits)
			return 1
		}
		s.least = n
	}
	if len(args) == 0 {
		_ = s.scan("{standard input}", p.Stdin) // an unreadable stream is an empty one here
		return 0
	}
	status := 0
	for _, name := range args {
		if name == "-" {
			continue // -a, of old
		}
		st, err := p.Stat(name)
		if err != nil {
			p.Errorf("'%s': No such file", name)
			status = 1
			continue
		}
		if st.IsDir() {
			p.Errorf("Warning: '%s' is a directory", name)
			status = 1
			continue
		}
		err = program.WithInput(p, name, s.scan)
		if err != nil {
			p.Errorf("%s: %s", name, proc.Strerror(err))
			status = 1
		}
	}
	return status
}

func (s *stringsRun) printable(c uint32) bool {
	switch {
	case c >= ' ' && c < 127 || c == '\t':
		return true
	case s.whitespace:
		return c == '\n' || c == '\r' || c == '\f' || c == '\v'
	}
	return s.encoding == 'S' && c > 127 && c < 256
}

// scan prints the runs of printable characters.
func (s *stringsRun) scan(name string, r io.Reader) error {
	size, big := 1, false
	switch s.encoding {
	case 'b':
		size, big = 2, true
	case 'l':
		size = 2
	case 'B':
		size, big = 4, true
	case 'L':
		size = 4
	}
	if s.encoding == 'S' {
		return s.scanBytes(name, r, func(c byte) bool { return s.printable(uint32(c)) })
	}
	if size == 1 {
		return s.scanBytes(name, r, func(c byte) bool { return c < 128 && s.printable(uint32(c)) })
	}
	var run, window []byte
	at, start := int64(0), int64(0)
	err := program.ReadBlocks(s.p, r, func(b []byte) {
		for _, c := range b {
			at++
			if window = append(window, c); len(window) < size {
				continue
			}
			var v uint32
			for i := range window {
				k := i
				if !big {
					k = size - 1 - i
				}
				v = v<<8 | uint32(window[k])
			}
			if s.printable(v) {
				if len(run) == 0 {
					start = at - int64(size)
				}
				run, window = append(run, byte(v)), window[:0]
				continue
			}
			if len(run) > 0 {
				s.flush(name, start, run)
				run = run[:0]
			}
			window = window[1:]
		}
		s.p.Out.Write(s.out)
		s.out = s.out[:0]
	})
	s.flush(name, start, run)
	s.p.Out.Write(s.out)
	s.out = s.out[:0]
	return err
}

func (s *stringsRun) scanBytes(name string, r io.Reader, ok func(byte) bool) error {
	var table [256]bool
	for i := range table {
		table[i] = ok(byte(i))
	}
	var run []byte // of the blocks before
	base := int64(0)
	err := program.ReadBlocks(s.p, r, func(b []byte) {
		for i := 0; i < len(b); {
			if !table[b[i]] {
				if len(run) > 0 {
					s.flush(name, base+int64(i)-int64(len(run)), run)
					s.p.Release(len(run))
					run = run[:0]
				}
				i++
				continue
			}
			start := i
			for i < len(b) && table[b[i]] {
				i++
			}
			switch {
			case i == len(b):
				s.p.Hold(i - start)
				run = append(run, b[start:i]...)
			case len(run) > 0:
				s.p.Hold(i - start)
				run = append(run, b[start:i]...)
			default:
				s.flush(name, base+int64(start), b[start:i])
			}
		}
		base += int64(len(b))
		s.p.Out.Write(s.out)
		s.out = s.out[:0]
	})
	s.flush(name, base-int64(len(run)), run)
	s.p.Release(len(run))
	s.p.Out.Write(s.out)
	s.out = s.out[:0]
	return err
}

func (s *stringsRun) flush(name string, at int64, run []byte) {
	if len(run) < s.least {
		return
	}
	if s.names {
		s.out = append(append(s.out, name...), ": "...)
	}
	switch s.radix {
	case 'o':
		s.out = fmt.Appendf(s.out, "%7o ", at)
	case 'd':
		s.out = fmt.Appendf(s.out, "%7d ", at)
	case 'x':
		s.out = fmt.Appendf(s.out, "%7x ", at)
	}
	s.out = append(append(s.out, run...), s.separator...)
}
