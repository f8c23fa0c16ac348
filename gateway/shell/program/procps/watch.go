package procps

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
)

var watchSpec = getopt.New("+bcCd::eghn:pq:rtvwx",
	"beep=b color=c no-color=C differences::=d errexit=e chgexit=g equexit:=q exec=x help=h interval:=n precise=p no-rerun=r no-title=t no-linewrap=w version=v").
	WithUsage("[options] command",
		fmt.Sprintf("\nRuns the command at intervals. There is no screen to redraw here: each output is printed when it differs from\n"+
			"the one before, and after %d runs that changed nothing watch ends.", watchRuns)).
	WithVersion("from procps-ng 4.0.2 (compatible)")

// watchRuns is how often a command runs without a change before watch gives up: nobody can press a key.
const watchRuns = 3

func watch(ctx context.Context, p *proc.Process) int {
	opts, args := watchSpec.Parse(p)
	interval, title, exec, onChange, onError := 2*time.Second, true, false, false, false
	same := 0
	for _, o := range opts {
		switch o.Key {
		case "n":
			f, err := strconv.ParseFloat(strings.Replace(o.Value, ",", ".", 1), 64)
			if err != nil || f < 0 {
				p.Errorf("failed to parse argument: '%s'", o.Value)
				return 1
			}
			interval = time.Duration(min(max(f, 0.1), 1<<20) * float64(time.Second))
		case "q":
			n, err := strconv.Atoi(o.Value)
			if err != nil || n < 1 {
				p.Errorf("failed to parse argument: '%s'", o.Value)
				return 1
			}
			same = n
		case "t":
			title = false
		case "x":
			exec = true
		case "g":
			onChange = true
		case "e":
			onError = true
		case "h":
			p.Out.WriteString("Usage:\n watch [options] command\n")
			return 0
		case "v":
			p.Out.WriteString("watch from procps-ng 4.0.2 (compatible)\n")
			return 0
		}
	}
	if len(args) == 0 {
		p.Err.WriteString("Usage:\n watch [options] command\n")
		return 1
	}
	shown := strings.Join(args, " ")
	argv := []string{"sh", "-c", shown}
	if exec {
		argv = args
	}
	limit := watchRuns
	if same > 0 {
		limit = same
	}
	var last []byte
	for n, unchanged := 0, 0; ; n++ {
		out := proc.NewBuffer(p)
		child := p.Child(argv...)
		child.Stdin, child.Stdout, child.Stderr = strings.NewReader(""), out, out
		status := p.Exec(ctx, child)
		text := out.Bytes()
		switch {
		case n > 0 && bytes.Equal(text, last):
			unchanged++
		default:
			unchanged = 0
			if title {
				fmt.Fprintf(p.Out, "Every %.1fs: %s\t%s: %s\n\n", interval.Seconds(), shown, p.Hostname,
					datetime.Format("%a %b %e %H:%M:%S %Y", program.LocalNow(p)))
			}
			p.Out.Write(text)
			p.Out.Flush()
			if n > 0 && onChange {
				return 0
			}
		}
		last = text
		if onError && status != 0 {
			p.Err.WriteString("watch: command exit with a non-zero status\n")
			return status
		}
		if unchanged >= limit && same > 0 {
			return 0
		}
		if unchanged >= limit && !onChange {
			p.Errorf("no terminal: ended after %d runs without a change", limit)
			return 0
		}
		if s := program.Pause(ctx, p, interval); s != 0 {
			return s
		}
	}
}
