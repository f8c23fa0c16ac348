package extra

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var timeSpec = getopt.New("+af:o:pqvVh",
	"append=a format:=f output:=o portability=p quiet=q verbose=v version=version help=help").WithStatus(125).
	WithVersion("(GNU Time) UNKNOWN").WithUsage("[OPTIONS] COMMAND [ARG]...",
	"Run COMMAND, then print system resource usage.")

const (
	timeDefault = "%Uuser %Ssystem %Eelapsed %PCPU (%Xavgtext+%Davgdata %Mmaxresident)k\n%Iinputs+%Ooutputs (%Fmajor+%Rminor)pagefaults %Wswaps"
	timePosix   = "real %e\nuser %U\nsys %S"
	timeVerbose = "\tCommand being timed: \"%C\"\n\tUser time (seconds): %U\n\tSystem time (seconds): %S\n\tPercent of CPU this job got: %P\n" +
		"\tElapsed (wall clock) time (h:mm:ss or m:ss): %E\n\tAverage shared text size (kbytes): %X\n\tAverage unshared data size (kbytes): %D\n" +
		"\tAverage stack size (kbytes): %p\n\tAverage total size (kbytes): %K\n\tMaximum resident set size (kbytes): %M\n" +
		"\tAverage resident set size (kbytes): %t\n\tMajor (requiring I/O) page faults: %F\n\tMinor (reclaiming a frame) page faults: %R\n" +
		"\tVoluntary context switches: %w\n\tInvoluntary context switches: %c\n\tSwaps: %W\n\tFile system inputs: %I\n\tFile system outputs: %O\n" +
		"\tSocket messages sent: %s\n\tSocket messages received: %r\n\tSignals delivered: %k\n\tPage size (bytes): %Z\n\tExit status: %x"
)

// timed is what is known of a command that has ended.
type timed struct {
	args         []string
	status       int
	elapsed, cpu time.Duration
}

func (t *timed) signalled() bool { return t.status > 128 && t.status <= 128+64 }

func timeCommand(ctx context.Context, p *proc.Process) int {
	usage := func(format string, args ...any) int {
		fmt.Fprintf(p.Err, "%s: %s\nTry '%s --help' for more information.\n", p.Args[0], fmt.Sprintf(format, args...),
			p.Args[0])
		return 125
	}
	if _, _, err := timeSpec.Scan(p.Args[1:]); err != nil {
		return usage("%v", err)
	}
	opts, args := timeSpec.Parse(p)
	format, output := p.Getenv("TIME"), ""
	if format == "" {
		format = timeDefault
	}
	add, quiet := false, false
	for _, o := range opts {
		switch o.Key {
		case "a":
			add = true
		case "f":
			format = o.Value
		case "o":
			output = o.Value
		case "p":
			format = timePosix
		case "q":
			quiet = true
		case "v":
			format = timeVerbose
		case "h", "V":
			p.Args = []string{p.Args[0], map[string]string{"h": "--help", "V": "--version"}[o.Key]}
			timeSpec.Parse(p)
		}
	}
	if len(args) == 0 {
		return usage("missing program to run")
	}
	var out io.Writer = p.Err
	if output != "" {
		flag := vfs.WriteOnly | vfs.Create | vfs.Trunc
		if add {
			flag = vfs.WriteOnly | vfs.Create | vfs.Append
		}
		f, err := p.Open(output, flag, 0o666)
		if err != nil {
			fmt.Fprintf(p.Err, "%s: %s: %s\n", p.Args[0], output, proc.Strerror(err))
			return 125
		}
		defer f.Close()
		out = f
	}
	t := timed{args: args}
	began, cpu := time.Now(), p.Budget.CPU()
	if _, err := p.LookPath(args[0]); err != nil {
		fmt.Fprintf(p.Err, "%s: cannot run %s: %s\n", p.Args[0], args[0], proc.Strerror(err))
		t.status = 126
		if errors.Is(err, vfs.ENOENT) {
			t.status = 127
		}
	} else {
		t.status = p.Exec(ctx, p.Child(args...))
	}
	t.elapsed, t.cpu = time.Since(began), p.Budget.CPU()-cpu
	var b strings.Builder
	if !quiet {
		switch {
		case t.signalled():
			fmt.Fprintf(&b, "Command terminated by signal %d\n", t.status-128)
		case t.status != 0:
			fmt.Fprintf(&b, "Command exited with non-zero status %d\n", t.status)
		}
	}
	if t.expand(&b, format) {
		b.WriteByte('\n')
	}
	_, _ = io.WriteString(out, b.String())
	return t.status
}

// expand writes the report. What a sandbox does not count, like page faults, is zero.
// It reports whether the format was whole.
func (t *timed) expand(b *strings.Builder, format string) bool {
	for i := 0; i < len(format); i++ {
		c := format[i]
		if c == '\\' || c == '%' {
			if i++; i == len(format) {
				b.WriteByte('?')
				if c == '\\' {
					b.WriteByte(c)
				}
				return false
			}
		}
		switch {
		case c == '\\':
			switch format[i] {
			case 't':
				b.WriteByte('\t')
			case 'n':
				b.WriteByte('\n')
			case '\\':
				b.WriteByte('\\')
			default:
				b.WriteString("?\\" + format[i:i+1])
			}
		case c == '%':
			t.field(b, format[i])
		default:
			b.WriteByte(c)
		}
	}
	return true
}

func (t *timed) field(b *strings.Builder, c byte) {
	switch c {
	case '%':
		b.WriteByte('%')
	case 'C':
		b.WriteString(strings.Join(t.args, " "))
	case 'x':
		status := t.status
		if t.signalled() {
			status = 0
		}
		b.WriteString(strconv.Itoa(status))
	case 'e':
		fmt.Fprintf(b, "%.2f", t.elapsed.Seconds())
	case 'E':
		s := int(t.elapsed.Seconds())
		if s >= 3600 {
			fmt.Fprintf(b, "%d:%02d:%02d", s/3600, s%3600/60, s%60)
		} else {
			fmt.Fprintf(b, "%d:%02d.%02d", s/60, s%60, t.elapsed.Milliseconds()%1000/10)
		}
	case 'U':
		fmt.Fprintf(b, "%.2f", t.cpu.Seconds())
	case 'S':
		b.WriteString("0.00")
	case 'P':
		if t.elapsed <= 0 {
			b.WriteString("?%")
			return
		}
		fmt.Fprintf(b, "%d%%", int64(t.cpu*100/t.elapsed))
	case 'Z':
		b.WriteString("4096")
	case 'D', 'F', 'I', 'K', 'M', 'O', 'R', 'W', 'X', 'c', 'k', 'p', 'r', 's', 't', 'w':
		b.WriteByte('0')
	default:
		b.WriteString("?" + string(rune(c)))
	}
}
