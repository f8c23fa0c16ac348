package lang

import (
	"context"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/lang/ed"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var edSpec = getopt.New("EGhlp:rsvV",
	"extended-regexp=E traditional=G help=h loose-exit-status=l prompt:=p restricted=r quiet=s silent=s verbose=v version=V strip-trailing-cr").
	WithUsage("[options] [file]", "GNU ed is a line-oriented text editor.").WithVersion("1.19")

func edMain(ctx context.Context, p *proc.Process) int {
	o := ed.Options{Prompt: "*"}
	opts, args := edSpec.Parse(p)
	for _, opt := range opts {
		switch opt.Key {
		case "E":
			o.Extended = true
		case "l":
			o.Loose = true
		case "p":
			o.Prompt, o.ShowPrompt = opt.Value, true
		case "r":
			o.Restricted = true
		case "s":
			o.Quiet = true
		case "v":
			o.Verbose = true
		case "h":
			p.Out.WriteString("GNU ed is a line-oriented text editor. It is used to create, display,\nmodify and otherwise manipulate text files, both interactively and via\nshell scripts.\n\nUsage: ed [options] [file]\n")
			return 0
		case "V":
			p.Out.WriteString("GNU ed 1.19\n")
			return 0
		}
	}
	lines := program.NewLineReader(p, p.Stdin, '\n')
	defer lines.Close()
	file := ""
	if len(args) > 0 && args[0] != "-" {
		file = args[0]
	}
	return ed.New(ctx, p, o, lines.Next).Run(file)
}
