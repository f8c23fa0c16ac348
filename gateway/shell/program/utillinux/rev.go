package utillinux

import (
	"bytes"
	"context"
	"io"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var revSpec = getopt.New("hV0", "help=h version=V zero=0").WithVersion("from util-linux 2.38.1").
	WithUsage("[options] [<file> ...]", "Reverse lines characterwise.")

func rev(_ context.Context, p *proc.Process) int {
	opts, args := revSpec.Parse(p)
	end := byte('\n')
	for _, o := range opts {
		if o.Key == "0" {
			end = 0
		}
	}
	status := 0
	if len(args) == 0 {
		args = []string{"-"}
	}
	for _, name := range args {
		r, err := p.OpenInput(name)
		if err != nil {
			p.Errorf("cannot open %s: %s", name, proc.Strerror(err))
			status = 1
			continue
		}
		if n, err := reverseLines(p, r, end); err != nil {
			p.Errorf("%s: %d: %s", name, n, proc.Strerror(err))
			status = 1
		}
		_ = r.Close()
	}
	return status
}

func reverseLines(p *proc.Process, r io.Reader, end byte) (lines int, err error) {
	l := program.NewLineReader(p, r, end)
	defer l.Close()
	var out []byte
	for raw, ok := l.Next(); ok; raw, ok = l.Next() {
		lines++
		line := program.Chomp(raw, end)
		if i := bytes.IndexByte(line, 0); i >= 0 { // a string ends there, and its line has no end
			line, raw = line[:i], line[:i]
		}
		out = out[:0]
		for rest := line; len(rest) > 0; {
			_, n := utf8.DecodeLastRune(rest)
			out = append(out, rest[len(rest)-n:]...)
			rest = rest[:len(rest)-n]
		}
		if len(line) < len(raw) {
			out = append(out, end)
		}
		p.Out.Write(out)
	}
	return lines, l.Err
}
