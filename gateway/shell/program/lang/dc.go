package lang

import (
	"bytes"
	"context"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/lang/dc"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var dcSpec = getopt.New("e:f:hV", "expression:=e file:=f help=h version=V")

const dcUsage = `Usage: dc [OPTION] [file ...]
  -e, --expression=EXPR    evaluate expression
  -f, --file=FILE          evaluate contents of file
  -h, --help               display this help and exit
  -V, --version            output version information and exit

Email bug reports to:  bug-dc@gnu.org .
`

func dcMain(_ context.Context, p *proc.Process) int {
	opts, files, err := dcSpec.Scan(p.Args[1:])
	if err != nil {
		p.Errorf("%v", err)
		usage, contact, _ := strings.Cut(dcUsage, "\n\n")
		p.Err.WriteString(usage + "\n\n")
		p.Out.WriteString(contact)
		return 1
	}
	var lines *program.LineReader
	m := dc.New(p, func() []byte {
		if lines == nil {
			lines = program.NewLineReader(p, p.Stdin, '\n')
		}
		line, _ := lines.Next()
		return bytes.Clone(line)
	})
	defer func() {
		m.Close()
		if lines != nil {
			lines.Close()
		}
	}()
	ran := false
	file := func(name string) {
		ran = true
		if name == "-" {
			b, err := p.ReadAll(p.Stdin)
			if err != nil {
				p.Errorf("%s", proc.Strerror(err))
				return
			}
			m.RunInput(b)
			return
		}
		b, err := p.ReadFile(name)
		if err != nil {
			p.Errorf("Could not open file %s", name)
			return
		}
		m.Run(b)
	}
	for _, o := range opts {
		switch o.Key {
		case "h":
			p.Out.WriteString(dcUsage)
			return 0
		case "V":
			p.Out.WriteString("dc (GNU bc 1.07.1) 1.4.1\n")
			return 0
		case "e":
			ran = true
			m.RunExpression(o.Value)
		case "f":
			file(o.Value)
		}
		if m.Done() {
			return dcQuit(o.Key == "f")
		}
	}
	for _, name := range files {
		if file(name); m.Done() {
			return dcQuit(true)
		}
	}
	if !ran {
		file("-")
	}
	return dcQuit(m.Done())
}

// dcQuit is the status when q has ended dc, from a file or not.
func dcQuit(file bool) int {
	if file {
		return 1
	}
	return 0
}
