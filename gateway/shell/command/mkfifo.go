package command

import (
	"context"
	"fmt"
	"strconv"

	"github.com/pgbox/pgbox/gateway/fserr"
	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var (
	mkfifoSpec = getopt.New("m:Z", "mode:=m context::").WithUsage("[OPTION]... NAME...", "Create named pipes (FIFOs) with the given NAMEs.")
	mknodSpec  = getopt.New("m:Z", "mode:=m context::").WithUsage("[OPTION]... NAME TYPE [MAJOR MINOR]", "Create the special file NAME of the given TYPE.")
)

// fifoError says why a FIFO cannot be made: the processes of a sandbox share no kernel that could connect its two ends.
func fifoError(p *proc.Process, name string) error {
	if _, err := p.Lstat(name); err == nil {
		return fserr.EEXIST
	}
	if _, err := p.Stat(dirName(name)); err != nil {
		return err
	}
	return fserr.ENOSYS
}

func mkfifo(_ context.Context, p *proc.Process) int {
	opts, args := mkfifoSpec.Parse(p)
	if len(args) == 0 {
		mkfifoSpec.Fail(p, "missing operand")
	}
	for _, o := range opts {
		if o.Key == "m" {
			if _, ok := parseMode(o.Value); !ok {
				p.Errorf("invalid mode")
				return 1
			}
		}
	}
	for _, name := range args {
		p.Errorf("cannot create fifo %s: %s", quoteName(name), proc.Strerror(fifoError(p, name)))
	}
	return 1
}

func mknod(_ context.Context, p *proc.Process) int {
	opts, args := mknodSpec.Parse(p)
	for _, o := range opts {
		if o.Key == "m" {
			if _, ok := parseMode(o.Value); !ok {
				p.Errorf("invalid mode")
				return 1
			}
		}
	}
	need := 4
	if len(args) < 2 || args[1] == "p" {
		need = 2
	}
	if len(args) < need {
		if len(args) == 0 {
			mknodSpec.Fail(p, "missing operand")
		}
		p.Errorf("missing operand after %s", quote(args[len(args)-1]))
		if len(args) == 2 {
			fmt.Fprintln(p.Err, "Special files require major and minor device numbers.")
		}
		mknodSpec.Hint(p)
	}
	if len(args) > need {
		p.Errorf("extra operand %s", quote(args[need]))
		if need == 2 && len(args) == 4 {
			fmt.Fprintln(p.Err, "Fifos do not have major and minor device numbers.")
		}
		mknodSpec.Hint(p)
	}
	switch args[1] {
	case "p":
		p.Errorf("%s: %s", quoteColon(args[0]), proc.Strerror(fifoError(p, args[0])))
	case "b", "c", "u":
		for i, what := range []string{"major", "minor"} {
			if _, err := strconv.ParseUint(args[2+i], 0, 32); err != nil {
				p.Errorf("invalid %s device number %s", what, quote(args[2+i]))
				return 1
			}
		}
		p.Errorf("%s: %s", quoteColon(args[0]), fserr.EPERM)
	default:
		mknodSpec.Fail(p, "invalid device type %s", quote(args[1]))
	}
	return 1
}
