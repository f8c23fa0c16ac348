package command

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var timeoutSpec = getopt.New("+k:s:v", "foreground kill-after:=k preserve-status signal:=s verbose=v").WithStatus(125).
	WithUsage("[OPTION] DURATION COMMAND [ARG]...", "Start COMMAND, and kill it if still running after DURATION.")

// signals by name, numbered as on Linux.
var signals = map[string]int{
	"EXIT": 0, "HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "TRAP": 5, "ABRT": 6, "BUS": 7, "FPE": 8, "KILL": 9, "USR1": 10, "SEGV": 11, "USR2": 12,
	"PIPE": 13, "ALRM": 14, "TERM": 15, "STKFLT": 16, "CHLD": 17, "CONT": 18, "STOP": 19, "TSTP": 20, "TTIN": 21, "TTOU": 22, "URG": 23, "XCPU": 24,
	"XFSZ": 25, "VTALRM": 26, "PROF": 27, "WINCH": 28, "POLL": 29, "IO": 29, "PWR": 30, "SYS": 31,
}

func signalNumber(s string) (int, bool) {
	if n, err := strconv.Atoi(s); err == nil {
		return n, n >= 0 && n <= 64
	}
	n, ok := signals[strings.TrimPrefix(strings.ToUpper(s), "SIG")]
	return n, ok
}

func signalName(n int) string {
	for name, k := range signals {
		if k == n && name != "IO" {
			return name
		}
	}
	return strconv.Itoa(n)
}

func timeout(ctx context.Context, p *proc.Process) int {
	opts, args := timeoutSpec.Parse(p)
	signal, preserve, verbose := 15, false, false
	grace := time.Duration(0)
	for _, o := range opts {
		switch o.Key {
		case "k":
			var ok bool
			if grace, ok = parseDuration(o.Value); !ok {
				timeoutSpec.Fail(p, "invalid time interval %s", quote(o.Value))
			}
		case "s":
			var ok bool
			if signal, ok = signalNumber(o.Value); !ok {
				timeoutSpec.Fail(p, "%s: invalid signal", quote(o.Value))
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
	d, ok := parseDuration(args[0])
	if !ok {
		timeoutSpec.Fail(p, "invalid time interval %s", quote(args[0]))
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
			_, _ = fmt.Fprintf(p.Stderr, "%s: sending signal %s to command %s\n", p.Name(), signalName(signal), quote(args[0]))
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
