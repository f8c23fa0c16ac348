package utillinux

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var flockSpec = getopt.New("+sexnow:uE:F",
	"shared=s exclusive=x unlock=u nonblocking=n nb=n nonblock=n timeout:=w wait:=w conflict-exit-code:=E close=o no-fork=F verbose").WithLetters().
	WithStatus(64).WithVersion("from util-linux 2.38.1").WithUsage("[options] <file>|<directory> <command> [<argument>...]\n       flock [options] <file>|<directory> -c <command>\n       flock [options] <file descriptor number>", "Manage file locks from shell scripts.")

// Exit statuses of flock, those of sysexits.h.
const (
	exitUsage       = 64
	exitData        = 65
	exitNoInput     = 66
	exitUnavailable = 69
)

func flock(ctx context.Context, p *proc.Process) int {
	if len(p.Args) < 2 {
		flockSpec.Fail(p, "not enough arguments")
	}
	opts, args := flockSpec.Parse(p)
	exclusive, wait, unlock, verbose, conflict := true, true, false, false, 1
	timeout, limited := time.Duration(0), false
	for _, o := range opts {
		switch o.Key {
		case "s":
			exclusive = false
		case "e", "x":
			exclusive = true
		case "n":
			wait = false
		case "u":
			unlock = true
		case "verbose":
			verbose = true
		case "w":
			f, err := strconv.ParseFloat(o.Value, 64)
			if err != nil || f < 0 {
				p.Errorf("invalid timeout value: '%s'", o.Value)
				return exitUsage
			}
			timeout, limited = time.Duration(min(f, 1e9)*float64(time.Second)), true
			wait = wait && timeout > 0
		case "E":
			n, err := strconv.Atoi(o.Value)
			if err != nil || n < 0 || n > 255 {
				p.Errorf("exit code out of range (expected 0 to 255)")
				return exitUsage
			}
			conflict = n
		}
	}
	if len(args) == 0 {
		p.Errorf("requires file descriptor, file or directory")
		return exitUsage
	}
	var ino uint64
	var owner any
	var command []string
	if len(args) > 1 {
		command = args[1:]
		if command[0] == "-c" || command[0] == "--command" {
			if len(command) != 2 {
				p.Errorf("%s requires exactly one command argument", command[0])
				return exitUsage
			}
			command = []string{"sh", "-c", command[1]}
		}
		f, err := p.Open(args[0], vfs.ReadOnly|vfs.Create, 0o666)
		if errors.Is(err, vfs.EISDIR) || errors.Is(err, vfs.EROFS) {
			f, err = p.Open(args[0], vfs.ReadOnly, 0)
		}
		var st vfs.Stat
		if err == nil {
			defer f.Close()
			st, err = f.Stat()
		}
		if err != nil {
			p.Errorf("cannot open lock file %s: %s", args[0], proc.Strerror(err))
			return exitNoInput
		}
		ino, owner = st.Ino, p
		defer p.Budget.Locks.Release(owner)
	} else {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 0 {
			p.Errorf("bad file descriptor: '%s'", args[0])
			return exitUsage
		}
		s, ok := p.FD(n)
		if !ok {
			p.Errorf("%d: %s", n, vfs.EBADF)
			return exitData
		}
		f, ok := s.(interface {
			LockOwner() any
			Stat() (vfs.Stat, error)
		})
		if !ok {
			return 0 // a pipe that nobody else can lock
		}
		st, err := f.Stat()
		if err != nil {
			p.Errorf("%d: %s", n, proc.Strerror(err))
			return exitData
		}
		ino, owner = st.Ino, f.LockOwner()
	}
	if unlock {
		p.Budget.Locks.Release(owner)
	} else if status := getLock(ctx, p, ino, owner, exclusive, wait, limited, timeout, verbose); status != 0 {
		if status == 1 {
			return conflict
		}
		return status
	}
	if command == nil {
		return 0
	}
	if verbose {
		fmt.Fprintf(p.Out, "flock: executing %s\n", command[0])
	}
	child := p.Child(command...)
	if _, err := child.LookPath(command[0]); err != nil {
		p.Errorf("failed to execute %s: %s", command[0], proc.Strerror(err))
		return exitUnavailable
	}
	return p.Exec(ctx, child)
}

// getLock returns 0, 1 when somebody else has the lock, or the status of a process whose exec is over.
func getLock(
	ctx context.Context, p *proc.Process, ino uint64, owner any, exclusive, wait, limited bool, timeout time.Duration,
	verbose bool,
) int {
	started := time.Now()
	got := p.Budget.Locks.Lock(ctx, ino, owner, exclusive, false)
	if !got && wait {
		waiting := ctx
		if limited {
			var cancel context.CancelFunc
			waiting, cancel = context.WithTimeout(ctx, timeout)
			defer cancel()
		}
		p.Out.Flush()
		p.Pause()
		if got = p.Budget.Locks.Lock(waiting, ino, owner, exclusive, true); !got && ctx.Err() != nil {
			p.Tick(1024)
			return 143
		}
		if !got && verbose {
			p.Errorf("timeout while waiting to get lock")
		}
	} else if !got && verbose {
		p.Errorf("failed to get lock")
	}
	if !got {
		return 1
	}
	if verbose {
		fmt.Fprintf(p.Out, "flock: getting lock took %.6f seconds\n", time.Since(started).Seconds())
	}
	return 0
}
