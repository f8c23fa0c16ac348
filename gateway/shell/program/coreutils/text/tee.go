package text

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var teeSpec = getopt.New("aip", "append=a ignore-interrupts=i output-error::=p").
	WithUsage("[OPTION]... [FILE]...", "Copy standard input to each FILE, and also to standard output.")

func tee(_ context.Context, p *proc.Process) int {
	opts, args := teeSpec.Parse(p)
	flag, keepGoing, exit := vfs.WriteOnly|vfs.Create|vfs.Trunc, false, false
	for _, o := range opts {
		switch o.Key {
		case "a":
			flag = vfs.WriteOnly | vfs.Create | vfs.Append
		case "p":
			keepGoing = true
			if o.Has {
				how := program.Choose(p, teeSpec, "output-error", o.Value, "warn", "warn-nopipe", "exit", "exit-nopipe")
				keepGoing, exit = how != "exit", strings.HasPrefix(how, "exit")
			}
		}
	}
	type output struct {
		name string
		w    io.Writer
	}
	status := 0
	outs := []output{{"standard output", p.Stdout}}
	for _, name := range args {
		f, err := p.Open(name, flag, 0o666)
		if err != nil {
			p.Errorf("%s: %s", program.QuoteColon(name), proc.Strerror(err))
			if status = 1; exit {
				return status
			}
			continue
		}
		defer f.Close()
		outs = append(outs, output{name, f})
	}
	err := program.ReadBlocks(p, p.Stdin, func(b []byte) {
		kept := outs[:0]
		for _, o := range outs {
			_, err := o.w.Write(b)
			if err == nil {
				kept = append(kept, o)
				continue
			}
			if errors.Is(err, vfs.EPIPE) {
				if !keepGoing {
					panic(proc.Death{Status: 141})
				}
				continue
			}
			p.Errorf("%s: %s", program.QuoteColon(o.name), proc.Strerror(err))
			if status = 1; exit {
				p.Exit(status)
			}
		}
		outs = kept
		if len(outs) == 0 {
			p.Exit(status)
		}
	})
	if err != nil {
		p.Errorf("read error: %s", proc.Strerror(err))
		status = 1
	}
	return status
}
