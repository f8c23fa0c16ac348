package file

import (
	"context"
	"fmt"
	"strconv"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var (
	mkfifoSpec = getopt.New("m:Z", "mode:=m context::").WithUsage("[OPTION]... NAME...",
		"Create named pipes (FIFOs) with the given NAMEs.")
	mknodSpec = getopt.New("m:Z", "mode:=m context::").WithUsage("[OPTION]... NAME TYPE [MAJOR MINOR]",
		"Create the special file NAME of the given TYPE.")
)

// makeFIFO makes a named pipe. Its mode is one for chmod, on top of what anybody may do; without one the umask applies.
func makeFIFO(p *proc.Process, name string, mode uint32) error {
	return p.FS.Mknod(p.Abs(name), vfs.FIFO, mode, 0)
}

// fifoMode reads the option -m.
func fifoMode(p *proc.Process, opts []getopt.Option) (uint32, bool) {
	mode := 0o666 &^ p.Umask
	for _, o := range opts {
		if o.Key == "m" {
			m, ok := program.ParseMode(o.Value)
			if !ok {
				p.Errorf("invalid mode")
				return 0, false
			}
			mode = m.Apply(0o666, false, p.Umask)
		}
	}
	return mode, true
}

func mkfifo(_ context.Context, p *proc.Process) int {
	opts, args := mkfifoSpec.Parse(p)
	if len(args) == 0 {
		mkfifoSpec.Fail(p, "missing operand")
	}
	mode, ok := fifoMode(p, opts)
	if !ok {
		return 1
	}
	status := 0
	for _, name := range args {
		if err := makeFIFO(p, name, mode); err != nil {
			p.Errorf("cannot create fifo %s: %s", program.QuoteName(name), proc.Strerror(err))
			status = 1
		}
	}
	return status
}

func mknod(_ context.Context, p *proc.Process) int {
	opts, args := mknodSpec.Parse(p)
	mode, ok := fifoMode(p, opts)
	if !ok {
		return 1
	}
	need := 4
	if len(args) < 2 || args[1] == "p" {
		need = 2
	}
	if len(args) < need {
		if len(args) == 0 {
			mknodSpec.Fail(p, "missing operand")
		}
		p.Errorf("missing operand after %s", program.Quote(args[len(args)-1]))
		if len(args) == 2 {
			fmt.Fprintln(p.Err, "Special files require major and minor device numbers.")
		}
		mknodSpec.Hint(p)
	}
	if len(args) > need {
		p.Errorf("extra operand %s", program.Quote(args[need]))
		if need == 2 && len(args) == 4 {
			fmt.Fprintln(p.Err, "Fifos do not have major and minor device numbers.")
		}
		mknodSpec.Hint(p)
	}
	switch args[1] {
	case "p":
		if err := makeFIFO(p, args[0], mode); err != nil {
			p.Errorf("%s: %s", program.QuoteColon(args[0]), proc.Strerror(err))
			return 1
		}
		return 0
	case "b", "c", "u":
		for i, what := range []string{"major", "minor"} {
			if _, err := strconv.ParseUint(args[2+i], 0, 32); err != nil {
				p.Errorf("invalid %s device number %s", what, program.Quote(args[2+i]))
				return 1
			}
		}
		p.Errorf("%s: %s", program.QuoteColon(args[0]), vfs.EPERM)
	default:
		mknodSpec.Fail(p, "invalid device type %s", program.Quote(args[1]))
	}
	return 1
}
