package utillinux

import (
	"context"
	"errors"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var setsidSpec = getopt.New("+cfw", "ctty=c fork=f wait=w").WithLetters().WithVersion("from util-linux 2.38.1").
	WithUsage("[options] <program> [arguments ...]", "Run a program in a new session.")

// setsid runs its program: there are no sessions, and what runs in the background ends with the exec anyway.
func setsid(ctx context.Context, p *proc.Process) int {
	opts, args := setsidSpec.Parse(p)
	fork, wait := false, false
	for _, o := range opts {
		fork, wait = fork || o.Key == "f", wait || o.Key == "w"
	}
	if len(args) == 0 {
		setsidSpec.Fail(p, "no command specified")
	}
	child := p.Child(args...)
	if _, err := child.LookPath(args[0]); err != nil {
		p.Errorf("failed to execute %s: %s", args[0], proc.Strerror(err))
		switch {
		case fork && !wait:
			return 0
		case errors.Is(err, vfs.ENOENT):
			return 127
		}
		return 126
	}
	status := p.Exec(ctx, child)
	if fork && !wait {
		return 0
	}
	return status
}
