package file

import (
	"context"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var readlinkSpec = getopt.New("efmnqsvz",
	"canonicalize=f canonicalize-existing=e canonicalize-missing=m no-newline=n quiet=q silent=s verbose=v zero=z").
	WithUsage("[OPTION]... FILE...", "Print value of a symbolic link or canonical file name.")

func readlink(_ context.Context, p *proc.Process) int {
	opts, args := readlinkSpec.Parse(p)
	canon, mode, noNewline, verbose, end := false, program.CanonExisting, false, false, "\n"
	for _, o := range opts {
		switch o.Key {
		case "e":
			canon, mode = true, program.CanonExisting
		case "f":
			canon, mode = true, program.CanonAllButLast
		case "m":
			canon, mode = true, program.CanonMissing
		case "n":
			noNewline = true
		case "q", "s":
			verbose = false
		case "v":
			verbose = true
		case "z":
			end = "\x00"
		}
	}
	if len(args) == 0 {
		readlinkSpec.Fail(p, "missing operand")
	}
	if noNewline {
		if len(args) > 1 {
			p.Errorf("ignoring --no-newline with multiple arguments")
		} else {
			end = ""
		}
	}
	status := 0
	for _, name := range args {
		var value string
		var err error
		if canon {
			value, err = program.Canonical(p, name, mode, false, false)
		} else if _, err = p.Lstat(name); err == nil {
			value, err = p.FS.Readlink(p.Abs(name))
		}
		if err != nil {
			status = 1
			if verbose {
				p.Errorf("%s: %s", program.QuoteColon(name), proc.Strerror(err))
			}
			continue
		}
		p.Out.WriteString(value)
		p.Out.WriteString(end)
	}
	return status
}
