package sys

import (
	"context"
	"fmt"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

func exitTrue(_ context.Context, p *proc.Process) int  { return exitWith(p, 0) }
func exitFalse(_ context.Context, p *proc.Process) int { return exitWith(p, 1) }

// exitWith knows --help and --version only as a single argument, and never fails otherwise.
func exitWith(p *proc.Process, status int) int {
	if len(p.Args) == 2 {
		switch p.Args[1] {
		case "--help":
			fmt.Fprintf(p.Out, "Usage: %s [ignored command line arguments]\nExit with status code %d.\n", p.Name(), status)
		case "--version":
			fmt.Fprintf(p.Out, "%s (GNU coreutils) 9.1\n", p.Name())
		}
	}
	return status
}
