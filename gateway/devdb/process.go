package devdb

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// process is a server that runs until it is ended, at the latest with this process.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // of its end, once exited is closed
	output *tail
}

// startProcess starts cmd; what it prints goes to log, if there is one. The goroutine that starts it keeps its thread
// until the server is gone, because the parent-death signal is bound to the thread.
func startProcess(cmd *exec.Cmd, log io.Writer) (*process, error) {
	p := &process{cmd: cmd, exited: make(chan struct{}), output: &tail{next: log}}
	cmd.Stdout, cmd.Stderr = p.output, p.output
	// Its own process group: a ^C on the terminal is for the parent, which then stops the server in order.
	cmd.SysProcAttr.Setpgid = true
	dieWithParent(cmd.SysProcAttr)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, <-started
}

// ready waits until Postgres answers at url. name is the process's, for errors.
func (p *process) ready(ctx context.Context, name, url string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgconn.Connect(ctx, url)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended while starting: %w\n%s", name, p.err, p.output.String())
		case <-ctx.Done():
			return fmt.Errorf("%s did not become ready: %w\n%s", name, ctx.Err(), p.output.String())
		case <-tick.C:
		}
	}
}

// portTaken reports whether it ended because another process has its port.
func (p *process) portTaken() bool {
	select {
	case <-p.exited:
		return strings.Contains(p.output.String(), "Address already in use")
	default:
		return false
	}
}

// end sends the signals, one after the other, until the process is gone.
func (p *process) end(signals ...syscall.Signal) {
	for _, s := range signals {
		_ = p.cmd.Process.Signal(s)
		select {
		case <-p.exited:
			return
		case <-time.After(stopTimeout):
		}
	}
}

// endAll kills the process and its children. A backend of Postgres leads a session of its own, and one that waits for a
// lock whose holder is gone never notices that it is alone; as long as it is there, no other server can start in its
// directory.
func (p *process) endAll() {
	pid := p.cmd.Process.Pid
	_ = syscall.Kill(pid, syscall.SIGSTOP) // it starts no more of them
	for _, child := range children(pid) {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	<-p.exited
}

// children are the processes that pid has started, as far as the system has a /proc.
func children(pid int) (out []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// proc(5): pid, (comm), state, ppid; comm may hold anything.
		var child, parent int
		var state string
		if _, err := fmt.Sscan(string(b), &child); err != nil {
			continue
		}
		if _, err := fmt.Sscan(string(b[bytes.LastIndexByte(b, ')')+1:]), &state, &parent); err == nil && parent == pid {
			out = append(out, child)
		}
	}
	return out
}

// tail keeps the end of what a server printed, for error messages, and passes
// everything on.
type tail struct {
	next io.Writer
	mu   sync.Mutex
	buf  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 8192 {
		t.buf = append([]byte(nil), t.buf[len(t.buf)-4096:]...)
	}
	if t.next != nil {
		return t.next.Write(p)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
