package diffutils

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var cmpSpec = getopt.New("bci:ln:sv",
	"print-bytes=b print-chars=c ignore-initial:=i verbose=l bytes:=n quiet=s silent=s").
	WithStatus(2).WithHint(getopt.NamedHint).
	WithUsage("[OPTION]... FILE1 [FILE2 [SKIP1 [SKIP2]]]", "Compare two files byte by byte.").
	WithVersion("(GNU diffutils) 3.8")

func cmpCommand(_ context.Context, p *proc.Process) int {
	p.Args[0] = "cmp"
	hint := func() int {
		p.Errorf("Try 'cmp --help' for more information.")
		return 2
	}
	opts, args := cmpSpec.Parse(p)
	var show, list, silent bool
	limit := int64(math.MaxInt64)
	var skip [2]int64
	for _, o := range opts {
		switch o.Key {
		case "b", "c":
			show = true
		case "l":
			list = true
		case "s":
			silent = true
		case "v":
			p.Out.WriteString("cmp (GNU diffutils) 3.8\n")
			return 0
		case "n":
			n, bad := program.ParseCount(o.Value, cmpSuffixes)
			if bad == program.NumberInvalid {
				p.Errorf("invalid --bytes value '%s'", o.Value)
				return hint()
			}
			limit = min(limit, n)
		case "i":
			a, b, two := strings.Cut(o.Value, ":")
			if !two {
				b = a
			}
			for k, s := range []string{a, b} {
				n, bad := program.ParseCount(s, cmpSuffixes)
				if bad == program.NumberInvalid {
					p.Errorf("invalid --ignore-initial value '%s'", o.Value)
					return hint()
				}
				skip[k] = max(skip[k], n)
			}
		}
	}
	if list && silent {
		p.Errorf("options -l and -s are incompatible")
		return hint()
	}
	if len(args) == 0 {
		p.Errorf("missing operand after 'cmp'")
		return hint()
	}
	if len(args) > 4 {
		p.Errorf("extra operand '%s'", args[4])
		return hint()
	}
	names := [2]string{args[0], "-"}
	if len(args) > 1 {
		names[1] = args[1]
	}
	for k, a := range args[min(2, len(args)):] {
		n, bad := program.ParseCount(a, cmpSuffixes)
		if bad == program.NumberInvalid {
			p.Errorf("invalid --ignore-initial value '%s'", a)
			return hint()
		}
		skip[k] = max(skip[k], n)
	}
	if names[0] == "-" && names[1] == "-" {
		return 0
	}
	var in [2]*bufio.Reader
	width := len(strconv.FormatInt(math.MaxInt64, 10))
	for k, name := range names {
		f, err := p.OpenInput(name)
		if err != nil {
			if !silent {
				p.Errorf("%s: %s", name, proc.Strerror(err))
			}
			return 2
		}
		defer f.Close()
		if s, ok := f.(vfs.File); ok {
			if st, err := s.Stat(); err == nil && st.Kind == vfs.Regular {
				width = min(width, len(strconv.FormatInt(max(0, min(limit, st.Size-skip[k])), 10)))
			}
		}
		in[k] = bufio.NewReaderSize(f, 64<<10)
		if _, err := io.CopyN(io.Discard, in[k], skip[k]); err != nil && !errors.Is(err, io.EOF) {
			p.Errorf("%s: %s", name, proc.Strerror(err))
			return 2
		}
	}
	status := 0
	line := int64(1)
	last := byte('\n')
	for n := int64(1); n <= limit; n++ {
		if n&1023 == 0 {
			p.Tick(1)
		}
		a, aerr := in[0].ReadByte()
		b, berr := in[1].ReadByte()
		for k, err := range []error{aerr, berr} {
			if err != nil && !errors.Is(err, io.EOF) {
				p.Errorf("%s: %s", names[k], proc.Strerror(err))
				return 2
			}
		}
		switch {
		case aerr != nil && berr != nil:
			return status
		case aerr != nil || berr != nil:
			if silent {
				return 1
			}
			short := names[0]
			if aerr == nil {
				short = names[1]
			}
			switch {
			case n == 1:
				p.Errorf("EOF on %s which is empty", short)
			case list:
				p.Errorf("EOF on %s after byte %d", short, n-1)
			case last == '\n':
				p.Errorf("EOF on %s after byte %d, line %d", short, n-1, line-1)
			default:
				p.Errorf("EOF on %s after byte %d, in line %d", short, n-1, line)
			}
			return 1
		}
		last = a
		if a == b {
			if a == '\n' {
				line++
			}
			continue
		}
		if silent {
			return 1
		}
		status = 1
		switch {
		case list && show:
			fmt.Fprintf(p.Out, "%*d %3o %-4s %3o %s\n", width, n, a, visible(a), b, visible(b))
		case list:
			fmt.Fprintf(p.Out, "%*d %3o %3o\n", width, n, a, b)
		case show:
			fmt.Fprintf(p.Out, "%s %s differ: byte %d, line %d is %3o %s %3o %s\n", names[0], names[1], n, line, a, visible(a),
				b, visible(b))
			return 1
		default:
			fmt.Fprintf(p.Out, "%s %s differ: byte %d, line %d\n", names[0], names[1], n, line)
			return 1
		}
	}
	return status
}

const cmpSuffixes = "kKMGTPEZY0"

// visible is a byte in the ^X and M-x notation.
func visible(c byte) string {
	s := ""
	if c >= 128 {
		s, c = "M-", c-128
	}
	switch {
	case c < 32:
		return s + "^" + string(rune(c+64))
	case c == 127:
		return s + "^?"
	}
	return s + string(rune(c))
}
