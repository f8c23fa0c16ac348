package sys

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var timeoutSpec = getopt.New("+k:s:v", "foreground kill-after:=k preserve-status signal:=s verbose=v").WithStatus(125).
	WithUsage("[OPTION] DURATION COMMAND [ARG]...", "Start COMMAND, and kill it if still running after DURATION.")

func timeout(ctx context.Context, p *proc.Process) int {
	opts, args := timeoutSpec.Parse(p)
	signal, preserve, verbose := 15, false, false
	grace := time.Duration(0)
	for _, o := range opts {
		switch o.Key {
		case "k":
			var ok bool
			if grace, ok = program.ParseDuration(o.Value); !ok {
				timeoutSpec.Fail(p, "invalid time interval %s", program.Quote(o.Value))
			}
		case "s":
			var ok bool
			if signal, ok = program.SignalNumber(o.Value); !ok {
				timeoutSpec.Fail(p, "%s: invalid signal", program.Quote(o.Value))
			}
		case "preserve-status":
			preserve = true
		case "v":
			verbose = true
		}
	}
	if len(args) < 2 {
		timeoutSpec.Hint(p)
	}
	d, ok := program.ParseDuration(args[0])
	if !ok {
		timeoutSpec.Fail(p, "invalid time interval %s", program.Quote(args[0]))
	}
	args = args[1:]
	if status, ok := findProgram(p, p, args[0], "failed to run command %s: %s"); !ok {
		return status
	}
	if d == 0 {
		return p.Become(ctx, p.Child(args...))
	}
	child := p.Child(args...)
	var late, killed atomic.Bool
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	killer := time.AfterFunc(math.MaxInt64, func() {
		killed.Store(true)
		cancel()
	})
	defer killer.Stop()
	alarm := time.AfterFunc(d, func() {
		late.Store(true)
		if verbose {
			_, _ = fmt.Fprintf(p.Stderr, "%s: sending signal %s to command %s\n", p.Name(), program.SignalName(signal),
				program.Quote(args[0]))
		}
		switch {
		case !p.Interrupt(child, signal):
			cancel()
		case grace > 0:
			killer.Reset(grace)
		}
	})
	defer alarm.Stop()
	status := p.Exec(limited, child)
	if !late.Load() || ctx.Err() != nil {
		return status
	}
	switch {
	case preserve && !killed.Load() && limited.Err() != nil:
		return 128 + signal
	case preserve:
		return status
	case signal == 9 || killed.Load():
		p.Signaled = 9
		return 137
	}
	return 124
}
