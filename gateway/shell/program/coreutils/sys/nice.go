package sys

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var (
	niceSpec = getopt.New("+n:", "adjustment:=n").WithStatus(125).WithUsage("[OPTION] [COMMAND [ARG]...]",
		"Run COMMAND with an adjusted niceness, which affects process scheduling.")
	nohupSpec  = getopt.New("+", "").WithStatus(125).WithUsage("COMMAND [ARG]...", "Run COMMAND, ignoring hangup signals.")
	stdbufSpec = getopt.New("+i:o:e:", "input:=i output:=o error:=e").WithStatus(125).WithUsage("OPTION... COMMAND",
		"Run COMMAND, with modified buffering operations for its standard streams.")
)

const niceMax = 19

func nice(ctx context.Context, p *proc.Process) int {
	// -N, --N and -+N are adjustments, too.
	args := p.Args[1:]
	text, has := "", false
	for len(args) > 0 {
		a := args[0]
		if len(a) > 1 && a[0] == '-' {
			n := a[1:]
			if t := strings.TrimLeft(n[:1], "+-") + n[1:]; t != "" && program.IsDigit(t[0]) {
				text, has, args = n, true, args[1:]
				continue
			}
		}
		opts, rest, err := niceSpec.Scan(args[:1])
		if err != nil || len(rest) == 0 {
			if err != nil && len(args) > 1 {
				opts, rest, err = niceSpec.Scan(args[:2])
				if err == nil && len(rest) == 0 {
					text, has, args = opts[0].Value, true, args[2:]
					continue
				}
			}
			if err == nil && len(opts) == 1 && opts[0].Key == "n" {
				text, has, args = opts[0].Value, true, args[1:]
				continue
			}
			if err == nil && a == "--" {
				args = args[1:]
				break
			}
			p.Args = append([]string{p.Args[0]}, args[:1]...)
			niceSpec.Parse(p)
		}
		break
	}
	adjust := 10
	if has {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			p.Errorf("invalid adjustment %s", program.Quote(text))
			return 125
		}
		adjust = int(max(min(n, 2*niceMax+1), -2*niceMax-1))
	}
	if len(args) == 0 {
		if has {
			niceSpec.Fail(p, "a command must be given with an adjustment")
		}
		fmt.Fprintf(p.Out, "%d\n", p.Nice)
		return 0
	}
	child := p.Child(args...)
	if adjust < 0 {
		p.Errorf("cannot set niceness: %s", vfs.EACCES)
	} else {
		child.Nice = min(p.Nice+adjust, niceMax)
	}
	if status, ok := findProgram(p, p, args[0], "%s: %s"); !ok {
		return status
	}
	return p.Become(ctx, child)
}

func nohup(ctx context.Context, p *proc.Process) int {
	_, args := nohupSpec.Parse(p)
	if len(args) == 0 {
		nohupSpec.Fail(p, "missing operand")
	}
	if _, err := p.LookPath(args[0]); err != nil {
		p.Errorf("failed to run command %s: %s", program.QuoteName(args[0]), proc.Strerror(err))
		if errors.Is(err, vfs.ENOENT) {
			return 127
		}
		return 126
	}
	return p.Become(ctx, p.Child(args...))
}

// stdbuf checks its modes and runs the command: streams pass on what is written when it matters anyway.
func stdbuf(ctx context.Context, p *proc.Process) int {
	opts, args := stdbufSpec.Parse(p)
	for _, o := range opts {
		v := strings.TrimLeft(o.Value, " \t")
		if v == "L" {
			if o.Key == "i" {
				stdbufSpec.Fail(p, "line buffering stdin is meaningless")
			}
			continue
		}
		if _, problem := program.ParseCount(v, "EGkKMPTYZ0"); problem != program.NumberOK {
			p.Errorf("invalid mode %s", program.Quote(o.Value))
			return 125
		}
	}
	if len(args) == 0 {
		stdbufSpec.Fail(p, "missing operand")
	}
	if len(opts) == 0 {
		stdbufSpec.Fail(p, "you must specify a buffering mode option")
	}
	if status, ok := findProgram(p, p, args[0], "failed to run command %s: %s"); !ok {
		return status
	}
	return p.Become(ctx, p.Child(args...))
}
