package file

import (
	"context"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var (
	linkSpec = getopt.New("", "").WithUsage("FILE1 FILE2",
		"Call the link function to create a link named FILE2 to an existing FILE1.")
	unlinkSpec = getopt.New("", "").WithUsage("FILE", "Call the unlink function to remove the specified FILE.")
	syncSpec   = getopt.New("df", "data=d file-system=f").WithUsage("[OPTION] [FILE]...",
		"Synchronize cached writes to persistent storage.")
)

func link(_ context.Context, p *proc.Process) int {
	_, args := linkSpec.Parse(p)
	switch {
	case len(args) == 0:
		linkSpec.Fail(p, "missing operand")
	case len(args) == 1:
		linkSpec.Fail(p, "missing operand after %s", program.Quote(args[0]))
	case len(args) > 2:
		linkSpec.Fail(p, "extra operand %s", program.Quote(args[2]))
	}
	err := error(vfs.ENOENT)
	if args[0] != "" && args[1] != "" {
		err = p.FS.Link(p.Abs(args[0]), p.Abs(args[1]))
	}
	if err != nil {
		p.Errorf("cannot create link %s to %s: %s", program.QuoteName(args[1]), program.QuoteName(args[0]),
			proc.Strerror(err))
		return 1
	}
	return 0
}

func unlink(_ context.Context, p *proc.Process) int {
	_, args := unlinkSpec.Parse(p)
	switch {
	case len(args) == 0:
		unlinkSpec.Fail(p, "missing operand")
	case len(args) > 1:
		unlinkSpec.Fail(p, "extra operand %s", program.Quote(args[1]))
	}
	err := error(vfs.ENOENT)
	if args[0] != "" {
		err = p.FS.Unlink(p.Abs(args[0]))
	}
	if err != nil {
		p.Errorf("cannot unlink %s: %s", program.QuoteName(args[0]), proc.Strerror(err))
		return 1
	}
	return 0
}

// syncCommand has nothing to write: what a script did is stored, all at once, when it ends.
func syncCommand(_ context.Context, p *proc.Process) int {
	opts, args := syncSpec.Parse(p)
	var data, whole bool
	for _, o := range opts {
		data, whole = data || o.Key == "d", whole || o.Key == "f"
	}
	switch {
	case data && whole:
		p.Errorf("cannot specify both --data and --file-system")
		return 1
	case data && len(args) == 0:
		p.Errorf("--data needs at least one argument")
		return 1
	}
	status := 0
	for _, name := range args {
		if _, err := p.Stat(name); err != nil {
			p.Errorf("error opening %s: %s", program.QuoteName(name), proc.Strerror(err))
			status = 1
		}
	}
	return status
}
