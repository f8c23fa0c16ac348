package utillinux

import (
	"context"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var mountpointSpec = getopt.New("qdx",
	"quiet=q nofollow fs-devno=d devno=x").WithLetters().WithVersion("from util-linux 2.38.1").
	WithUsage("[-qd] /path/to/directory\n       mountpoint -x /dev/device",
		"Check whether a directory or file is a mountpoint.")

// notMountpoint is the status that says so.
const notMountpoint = 32

// mountpoint knows of one file system: the sandbox's, at the root.
func mountpoint(_ context.Context, p *proc.Process) int {
	opts, args := mountpointSpec.Parse(p)
	quiet, device, number, follow := false, false, false, true
	for _, o := range opts {
		switch o.Key {
		case "q":
			quiet = true
		case "x":
			device = true
		case "d":
			number = true
		case "nofollow":
			follow = false
		}
	}
	if len(args) != 1 {
		mountpointSpec.Fail(p, "bad usage")
	}
	if device && !follow {
		p.Errorf("--devno and --nofollow are mutually exclusive")
		return 1
	}
	stat := p.Stat
	if !follow {
		stat = p.Lstat
	}
	if _, err := stat(args[0]); err != nil {
		if !quiet {
			p.Errorf("%s: %s", args[0], proc.Strerror(err))
		}
		return 1
	}
	if device {
		if !quiet {
			p.Errorf("%s: not a block device", args[0])
		}
		return notMountpoint
	}
	if at, err := p.FS.Realpath(p.Abs(args[0])); err != nil || at != "/" {
		if !quiet {
			p.Out.WriteString(args[0] + " is not a mountpoint\n")
		}
		return notMountpoint
	}
	switch {
	case number:
		p.Out.WriteString("0:1\n")
	case !quiet:
		p.Out.WriteString(args[0] + " is a mountpoint\n")
	}
	return 0
}
