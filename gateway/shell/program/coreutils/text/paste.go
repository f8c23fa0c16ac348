package text

import (
	"context"
	"io"
	"slices"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var pasteSpec = getopt.New("d:sz", "serial=s delimiters:=d zero-terminated=z").
	WithUsage("[OPTION]... [FILE]...",
		"Write lines consisting of the sequentially corresponding lines from each FILE, separated by TABs, to standard output.")

// noDelimiter is the empty delimiter \0 of paste -d.
const noDelimiter = -1

func paste(_ context.Context, p *proc.Process) int {
	opts, args := pasteSpec.Parse(p)
	serial, delims, end := false, []int{'\t'}, byte('\n')
	for _, o := range opts {
		switch o.Key {
		case "s":
			serial = true
		case "z":
			end = 0
		case "d":
			var ok bool
			if delims, ok = pasteDelimiters(o.Value); !ok {
				p.Errorf("delimiter list ends with an unescaped backslash: %s", o.Value)
				return 1
			}
		}
	}
	if len(args) == 0 {
		args = []string{"-"}
	}
	if serial {
		return pasteSerial(p, args, delims, end)
	}
	return pasteParallel(p, args, delims, end)
}

func pasteDelimiters(s string) ([]int, bool) {
	if s == "" {
		return []int{noDelimiter}, true
	}
	var d []int
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			d = append(d, int(s[i]))
			continue
		}
		if i++; i == len(s) {
			return nil, false
		}
		switch s[i] {
		case '0':
			d = append(d, noDelimiter)
		case 'b':
			d = append(d, '\b')
		case 'f':
			d = append(d, '\f')
		case 'n':
			d = append(d, '\n')
		case 'r':
			d = append(d, '\r')
		case 't':
			d = append(d, '\t')
		case 'v':
			d = append(d, '\v')
		default:
			d = append(d, int(s[i]))
		}
	}
	return d, true
}

func writeDelimiter(p *proc.Process, d int) {
	if d != noDelimiter {
		p.Out.WriteByte(byte(d))
	}
}

func pasteSerial(p *proc.Process, args []string, delims []int, end byte) int {
	return program.EachInput(p, args, func(_ string, r io.Reader) error {
		l := program.NewLineReader(p, r, end)
		defer l.Close()
		n := 0
		for line, ok := l.Next(); ok; line, ok = l.Next() {
			if n > 0 {
				writeDelimiter(p, delims[(n-1)%len(delims)])
			}
			n++
			p.Out.Write(program.Chomp(line, end))
		}
		p.Out.WriteByte(end)
		return l.Err
	})
}

func pasteParallel(p *proc.Process, args []string, delims []int, end byte) int {
	status := 0
	var stdin *program.LineReader
	var open []*program.LineReader
	var names []string
	for _, name := range args {
		if name == "-" {
			if stdin == nil {
				stdin = program.NewLineReader(p, p.Stdin, end)
				defer stdin.Close()
			}
			open, names = append(open, stdin), append(names, name)
			continue
		}
		f, err := p.Open(name, vfs.ReadOnly, 0)
		if err != nil {
			p.Errorf("%s: %s", program.QuoteColon(name), proc.Strerror(err))
			return 1
		}
		defer f.Close()
		l := program.NewLineReader(p, f, end)
		defer l.Close()
		open, names = append(open, l), append(names, name)
	}
	left := len(open)
	var row []byte
	for left > 0 {
		row = row[:0]
		any := false
		for i, l := range open {
			if l != nil {
				line, ok := l.Next()
				if ok {
					any = true
					row = append(row, program.Chomp(line, end)...)
				} else {
					if l.Err != nil && slices.Index(open, l) == i {
						p.Errorf("%s: %s", program.QuoteColon(names[i]), proc.Strerror(l.Err))
						status = 1
					}
					open[i] = nil
					left--
				}
			}
			if i < len(open)-1 {
				if d := delims[i%len(delims)]; d != noDelimiter {
					row = append(row, byte(d))
				}
			}
		}
		if !any {
			break
		}
		p.Out.Write(row)
		p.Out.WriteByte(end)
	}
	return status
}
