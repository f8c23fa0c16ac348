package testbed

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// process is a program that runs, and may be run again.
type process struct {
	name string
	make func() *exec.Cmd

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
}

// start runs it; it must not be running.
func (p *process) start(prepare func(*exec.Cmd)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	cmd := p.make()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	// A ^C on the terminal is for this process, which ends the others.
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if prepare != nil {
		prepare(cmd)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	p.cmd, p.exited = cmd, exited
	return nil
}

func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s)
	}
}

// end sends a signal and waits until the process is gone; after patience it is killed.
func (p *process) end(s syscall.Signal, patience time.Duration) {
	p.mu.Lock()
	cmd, exited := p.cmd, p.exited
	p.cmd = nil
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(s)
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-exited:
	case <-t.C:
		_ = cmd.Process.Kill()
		<-exited
	}
}

// ended is closed when the process is gone.
func (p *process) ended() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exited
}

// logFile opens the log of a program for appending.
func logFile(path string) (io.Writer, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
}
