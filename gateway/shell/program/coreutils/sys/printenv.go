package sys

import (
	"context"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var printenvSpec = getopt.New("+0", "null=0").WithStatus(2).
	WithUsage("[OPTION]... [VARIABLE]...", "Print the values of the specified environment VARIABLE(s).")

func printenv(_ context.Context, p *proc.Process) int {
	opts, args := printenvSpec.Parse(p)
	end := "\n"
	if len(opts) > 0 {
		end = "\x00"
	}
	if len(args) == 0 {
		for _, kv := range p.Env.List() {
			p.Out.WriteString(kv + end)
		}
		return 0
	}
	status := 0
	for _, name := range args {
		v, ok := p.Env.Get(name)
		if !ok {
			status = 1
			continue
		}
		p.Out.WriteString(v + end)
	}
	return status
}
