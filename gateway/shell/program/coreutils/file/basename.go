package file

import (
	"context"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var basenameSpec = getopt.New("+as:z", "multiple=a suffix:=s zero=z").
	WithUsage("NAME [SUFFIX]\n  or:  basename OPTION... NAME...",
		"Print NAME with any leading directory components removed.")

func basename(_ context.Context, p *proc.Process) int {
	opts, args := basenameSpec.Parse(p)
	var suffix string
	multiple, end := false, byte('\n')
	for _, o := range opts {
		switch o.Key {
		case "a":
			multiple = true
		case "s":
			multiple, suffix = true, o.Value
		case "z":
			end = 0
		}
	}
	if len(args) == 0 {
		basenameSpec.Fail(p, "missing operand")
	}
	if !multiple {
		if len(args) > 2 {
			basenameSpec.Fail(p, "extra operand %s", program.Quote(args[2]))
		}
		if len(args) == 2 {
			suffix = args[1]
		}
		args = args[:1]
	}
	for _, a := range args {
		b := program.BaseName(a)
		if cut, ok := strings.CutSuffix(b, suffix); ok && cut != "" && !strings.HasPrefix(b, "/") {
			b = cut
		}
		p.Out.WriteString(b)
		p.Out.WriteByte(end)
	}
	return 0
}
