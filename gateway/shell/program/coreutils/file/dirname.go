package file

import (
	"context"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var dirnameSpec = getopt.New("+z", "zero=z").
	WithUsage("[OPTION] NAME...", "Output each NAME with its last non-slash component and trailing slashes removed.")

func dirname(_ context.Context, p *proc.Process) int {
	opts, args := dirnameSpec.Parse(p)
	end := byte('\n')
	for range opts {
		end = 0
	}
	if len(args) == 0 {
		dirnameSpec.Fail(p, "missing operand")
	}
	for _, a := range args {
		p.Out.WriteString(program.DirName(a))
		p.Out.WriteByte(end)
	}
	return 0
}
