package lang

import (
	"context"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/lang/bc"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var bcSpec = getopt.New("chilqswv", "compile=c help=h interactive=i mathlib=l quiet=q standard=s version=v warn=w")

const bcUsage = `usage: bc [options] [file ...]
  -h  --help         print this usage and exit
  -i  --interactive  force interactive mode
  -l  --mathlib      use the predefined math routines
  -q  --quiet        don't print initial banner
  -s  --standard     non-standard bc constructs are errors
  -w  --warn         warn about non-standard bc constructs
  -v  --version      print version information and exit
`

func bcMain(_ context.Context, p *proc.Process) int {
	opts, files, err := bcSpec.Scan(p.Args[1:])
	if err != nil {
		p.Errorf("%v", err)
		p.Out.WriteString(bcUsage)
		return 1
	}
	m := bc.New(p)
	defer m.Close()
	for _, o := range opts {
		switch o.Key {
		case "h":
			p.Out.WriteString(bcUsage)
			return 0
		case "v":
			p.Out.WriteString("bc 1.07.1\n")
			return 0
		case "l":
			m.UseLibrary()
		}
	}
	for _, name := range files {
		b, err := p.ReadFile(name)
		if err != nil {
			p.Out.Flush()
			p.Err.WriteString("File " + name + " is unavailable.\n")
			return 1
		}
		if !m.Run(string(b), name) {
			return 0
		}
	}
	b, err := p.ReadAll(p.Stdin)
	if err != nil {
		p.Errorf("%s", proc.Strerror(err))
		return 1
	}
	m.Run(string(b), "(standard_in)")
	return 0
}
