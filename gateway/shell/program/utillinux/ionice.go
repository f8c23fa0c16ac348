package utillinux

import (
	"context"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var (
	ioniceSpec = getopt.New("+c:n:p:P:tu:", "class:=c classdata:=n pid:=p pgid:=P ignore=t uid:=u").WithLetters().
			WithVersion("from util-linux 2.38.1").WithUsage("[options] [<command>]",
		"Show or change the I/O-scheduling class and priority of a process.")
	tasksetSpec = getopt.New("+acp", "all-tasks=a cpu-list=c pid=p").WithLetters().
			WithVersion("from util-linux 2.38.1").WithUsage("[options] [mask | cpu-list] [pid|cmd [args...]]",
		"Show or change the CPU affinity of a process.")
)

// ionice runs a command: there is one class of input and output.
func ionice(ctx context.Context, p *proc.Process) int {
	opts, args := ioniceSpec.Parse(p)
	pid, class := false, false
	for _, o := range opts {
		switch o.Key {
		case "p", "P", "u":
			pid = true
		case "c", "n":
			class = true
		}
	}
	switch {
	case pid && class:
		return 0
	case pid || len(args) == 0 && !class:
		p.Out.WriteString("none: prio 0\n")
		return 0
	case len(args) == 0:
		p.Errorf("bad usage")
		ioniceSpec.Hint(p)
	}
	return runProgram(ctx, p, args)
}

// taskset runs a command: all processors of the sandbox are one.
func taskset(ctx context.Context, p *proc.Process) int {
	_, args := tasksetSpec.Parse(p)
	if len(args) < 2 {
		p.Errorf("bad usage")
		tasksetSpec.Hint(p)
	}
	return runProgram(ctx, p, args[1:])
}

// runProgram runs a command as the tools of util-linux do.
func runProgram(ctx context.Context, p *proc.Process, args []string) int {
	child := p.Child(args...)
	if _, err := child.LookPath(args[0]); err != nil {
		p.Errorf("failed to execute %s: %s", args[0], proc.Strerror(err))
		return 127
	}
	return p.Become(ctx, child)
}
