package sys

import (
	"context"
	"math"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var sleepSpec = getopt.New("", "").
	WithUsage("NUMBER[SUFFIX]...",
		"Pause for NUMBER seconds; SUFFIX is s, m, h or d. With several arguments, pause for their sum.")

func sleep(ctx context.Context, p *proc.Process) int {
	_, args := sleepSpec.Parse(p)
	if len(args) == 0 {
		sleepSpec.Fail(p, "missing operand")
	}
	total, ok := time.Duration(0), true
	for _, a := range args {
		d, valid := program.ParseDuration(a)
		if !valid {
			p.Errorf("invalid time interval %s", program.Quote(a))
			ok = false
		}
		if total += d; total < 0 {
			total = math.MaxInt64
		}
	}
	if !ok {
		sleepSpec.Hint(p)
	}
	return program.Pause(ctx, p, total)
}
