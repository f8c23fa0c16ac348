package file

import (
	"context"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var realpathSpec = getopt.New("eLmPqsz",
	"canonicalize-existing=e canonicalize-missing=m relative-to: relative-base: quiet=q strip=s no-symlinks=s zero=z logical=L physical=P").
	WithUsage("[OPTION]... FILE...", "Print the resolved absolute file name; all but the last component must exist.")

func realpath(_ context.Context, p *proc.Process) int {
	opts, args := realpathSpec.Parse(p)
	mode, logical, keepLinks, quiet, end := program.CanonAllButLast, false, false, false, "\n"
	var to, base string
	var hasTo, hasBase bool
	for _, o := range opts {
		switch o.Key {
		case "e":
			mode = program.CanonExisting
		case "m":
			mode = program.CanonMissing
		case "L":
			logical, keepLinks = true, false
		case "P":
			logical, keepLinks = false, false
		case "s":
			keepLinks, logical = true, true
		case "q":
			quiet = true
		case "z":
			end = "\x00"
		case "relative-to":
			to, hasTo = o.Value, true
		case "relative-base":
			base, hasBase = o.Value, true
		}
	}
	if len(args) == 0 {
		realpathSpec.Fail(p, "missing operand")
	}
	resolve := func(name string) (string, error) { return program.Canonical(p, name, mode, logical, keepLinks) }
	directory := func(name string) (string, bool) {
		c, err := resolve(name)
		if err == nil && mode == program.CanonExisting && !program.IsDir(p, c) {
			err = vfs.ENOTDIR
		}
		if err != nil {
			p.Errorf("%s: %s", program.QuoteColon(name), proc.Strerror(err))
		}
		return c, err == nil
	}
	var ok bool
	if hasTo {
		if to, ok = directory(to); !ok {
			return 1
		}
	}
	if hasBase {
		if base, ok = directory(base); !ok {
			return 1
		}
		if !hasTo {
			to, hasTo = base, true
		} else if !program.Within(to, base) {
			// A directory outside of the base makes every name absolute.
			hasTo = false
		}
	}
	status := 0
	for _, name := range args {
		c, err := resolve(name)
		if err != nil {
			status = 1
			if !quiet {
				p.Errorf("%s: %s", program.QuoteColon(name), proc.Strerror(err))
			}
			continue
		}
		if hasTo && (!hasBase || program.Within(c, base)) {
			c = program.RelativeTo(c, to)
		}
		p.Out.WriteString(c)
		p.Out.WriteString(end)
	}
	return status
}
