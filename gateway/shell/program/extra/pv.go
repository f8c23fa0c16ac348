package extra

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var pvSpec = getopt.New("pteIrab8TA:fn:qcWD:s:l0i:w:H:N:L:B:CESR:d:P:F:hVvk",
	"progress=p timer=t eta=e fineta=I rate=r average-rate=a bytes=b buffer-percent=T last-written:=A force=f numeric quiet=q cursor=c wait=W delay-start:=D "+
		"size:=s line-mode=l null=0 interval:=i width:=w height:=H name:=N rate-limit:=L buffer-size:=B no-splice=C skip-errors=E stop-at-size=S remote:=R watchfd:=d pidfile:=P format:=F help=h version=V").
	WithStatus(64).WithHint("Try `%[1]s --help' for more information.").WithUsage("[OPTION] [FILE]...",
	"Concatenate FILE(s), or standard input, to standard output, with monitoring.").WithVersion("1.6.20")

// pv passes its input on. There is no terminal, so it shows nothing of its progress, unless -f asks for it: then once,
// at the end.
func pv(ctx context.Context, p *proc.Process) int {
	args := p.Args
	p.Args = []string{p.Args[0]}
	for _, a := range args[1:] {
		if a != "-n" { // which is a letter without a value here
			p.Args = append(p.Args, a)
		}
	}
	opts, files := pvSpec.Parse(p)
	force, quiet, stop, lines := false, false, false, false
	limit, size := int64(0), int64(-1)
	for _, o := range opts {
		switch o.Key {
		case "f":
			force = true
		case "q":
			quiet = true
		case "S":
			stop = true
		case "l":
			lines = true
		case "L", "s":
			n, problem := program.ParseCount(o.Value, "kKmMgGtT")
			if problem != program.NumberOK {
				p.Errorf("-%s: integer argument expected", o.Key)
				return 64
			}
			if o.Key == "L" {
				limit = n
			} else {
				size = n
			}
		case "V":
			p.Out.WriteString("pv 1.6.20 - Copyright 2015 Andrew Wood <andrew.wood@ivarch.com>\n")
			return 0
		case "h":
			p.Out.WriteString("Usage: pv [OPTION] [FILE]...\nConcatenate FILE(s), or standard input, to standard output,\nwith monitoring.\n")
			return 0
		}
	}
	started := p.Now()
	total, status, opened := int64(0), 0, false
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, name := range files {
		err := program.WithInput(p, name, func(_ string, r io.Reader) error {
			opened = true
			if stop && size >= 0 && !lines {
				r = io.LimitReader(r, size-total)
			}
			return program.ReadBlocks(p, r, func(b []byte) {
				for len(b) > 0 {
					part := b
					if limit > 0 && int64(len(part)) > limit {
						part = b[:limit]
					}
					p.Out.Write(part)
					total += int64(len(part))
					b = b[len(part):]
					if limit > 0 {
						p.Out.Flush()
						program.Pause(ctx, p, time.Duration(float64(len(part))/float64(limit)*float64(time.Second)))
					}
				}
			})
		})
		if errors.Is(err, vfs.EISDIR) {
			p.Errorf("%s: read failed: %s", name, proc.Strerror(err))
			status |= 16
		} else if err != nil {
			p.Errorf("%s: %s", name, proc.Strerror(err))
			status |= 2
		}
	}
	if !opened {
		status |= 8
	}
	if force && !quiet {
		s := p.Now().Sub(started)
		fmt.Fprintf(p.Err, "%s %d:%02d:%02d\n", strings.TrimSpace(program.HumanSize(uint64(total), 1024)+"B"), int(s.Hours()),
			int(s.Minutes())%60, int(s.Seconds())%60)
	}
	return status
}
