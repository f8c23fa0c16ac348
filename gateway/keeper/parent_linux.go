package keeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A server that lived less than shortLife died at once. From the second such death in a row there is a break before the
// next server, which doubles from firstBreak to lastBreak.
const (
	shortLife  = 2 * time.Second
	firstBreak = 100 * time.Millisecond
	lastBreak  = 5 * time.Second
)

type parent struct {
	cfg    Config
	shared *os.File
	words  []uint32
	once   sync.Once // of cfg.Ready
	failed chan error

	replies sync.WaitGroup
}

// server is one process that serves.
type server struct {
	pid      int
	started  time.Time
	ready    atomic.Bool
	exited   chan struct{} // closed when it is gone
	status   syscall.WaitStatus
	silent   chan struct{} // closed when it says nothing more
	held     map[uint32]int
	control  *net.UnixConn
	fallenAt time.Time // when the one before it was gone
}

// Run keeps the sockets and a server behind them until ctx is done and the server has stopped.
func Run(ctx context.Context, cfg Config) error {
	p := &parent{cfg: cfg, failed: make(chan error, 1)}
	fd, err := unix.MemfdCreate("pgbox", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("shared memory: %w", err)
	}
	p.shared = os.NewFile(uintptr(fd), "shared")
	defer func() { _ = p.shared.Close() }()
	if err := p.shared.Truncate(4 * capacity); err != nil {
		return err
	}
	if p.words, err = share(fd); err != nil {
		return err
	}
	var deaths int // in a row, each soon after its birth
	var fallenAt time.Time
	for {
		s, err := p.start(fallenAt)
		if err != nil {
			return fmt.Errorf("start the server: %w", err)
		}
		select {
		case <-s.exited:
		case err := <-p.failed:
			return errors.Join(err, p.stop(s))
		case <-ctx.Done():
			return p.stop(s)
		}
		<-s.silent
		if !s.ready.Load() && fallenAt.IsZero() {
			return &ExitError{s.code()}
		}
		fallenAt = time.Now()
		if deaths++; fallenAt.Sub(s.started) >= shortLife {
			deaths = 1
		}
		wait := pause(deaths)
		slog.Error("the server died and is started again", "op", "serve", "how", s.how(), "connections", len(s.held),
			"break_ms", wait.Milliseconds())
		p.answer(s)
		if wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// pause is the break after so many deaths in a row: none after the first.
func pause(deaths int) time.Duration {
	if deaths < 2 {
		return 0
	}
	return min(firstBreak<<min(deaths-2, 16), lastBreak)
}

// start starts a server.
func (p *parent) start(fallenAt time.Time) (*server, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	theirs := os.NewFile(uintptr(pair[1]), "control")
	defer func() { _ = theirs.Close() }()
	s := &server{exited: make(chan struct{}), silent: make(chan struct{}), held: map[uint32]int{}, started: time.Now(),
		fallenAt: fallenAt}
	if s.control, err = fileConn(pair[0]); err != nil {
		return nil, err
	}
	files := []*os.File{os.Stdin, os.Stdout, os.Stderr, theirs, p.shared}
	for _, l := range p.cfg.Listeners {
		f, err := l.File()
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		files = append(files, f)
	}
	started := make(chan error)
	go p.run(s, files, started)
	if err := <-started; err != nil {
		_ = s.control.Close()
		return nil, err
	}
	go p.listen(s)
	return s, nil
}

// run starts the process and takes its status. It keeps its thread, because the signal that the kernel sends to the
// server when its parent is gone is bound to the thread that started it.
func (p *parent) run(s *server, files []*os.File, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	program := p.cfg.Program
	if program == "" {
		program = "/proc/self/exe" // this one, although another may have its name by now
	}
	// The first of two equal names counts.
	env := append([]string{variable + "=" + strconv.Itoa(len(p.cfg.Listeners))}, p.cfg.Env...)
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			env = append(env, kv)
		}
	}
	// A process group of its own: a ^C on the terminal is for the parent, which then stops the server in order.
	proc, err := os.StartProcess(program, append([]string{os.Args[0]}, p.cfg.Args...), &os.ProcAttr{
		Files: files, Env: env, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true},
	})
	if err == nil {
		s.pid = proc.Pid
		_ = proc.Release()
	}
	started <- err
	if err != nil {
		return
	}
	which := s.pid
	if p.cfg.Reap {
		which = -1
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(which, &status, 0, nil)
		if pid == s.pid || (err != nil && !errors.Is(err, syscall.EINTR)) {
			s.status = status
			close(s.exited)
			return
		}
	}
}

// listen takes the messages of a server until it is gone.
func (p *parent) listen(s *server) {
	defer close(s.silent)
	defer func() { _ = s.control.Close() }()
	buf, rights := make([]byte, 2*msgSize), make([]byte, unix.CmsgSpace(4*4))
	for {
		n, oobn, _, _, err := s.control.ReadMsgUnix(buf, rights)
		fd := passed(rights[:oobn])
		if err != nil || n != msgSize {
			drop(fd)
			if err != nil || n == 0 {
				return
			}
			continue
		}
		slot := binary.BigEndian.Uint32(buf[1:])
		switch buf[0] {
		case msgReady:
			s.ready.Store(true)
			if !s.fallenAt.IsZero() {
				slog.Warn("the server serves again", "op", "serve", "dur_ms", time.Since(s.fallenAt).Milliseconds())
			}
			p.once.Do(func() {
				if err := p.cfg.Ready(); err != nil {
					p.failed <- err
				}
			})
		case msgHold:
			if old, ok := s.held[slot]; ok {
				drop(old)
			}
			s.held[slot] = fd
			if slot >= capacity || fd < 0 {
				drop(fd)
				delete(s.held, slot)
			}
			continue
		case msgFree:
			if old, ok := s.held[slot]; ok {
				drop(old)
				delete(s.held, slot)
			}
		}
		drop(fd)
	}
}

func drop(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd)
	}
}

// passed is the file that came with a message, -1 when none did.
func passed(rights []byte) int {
	msgs, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return -1
	}
	found := -1
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			drop(found)
			found = fd
		}
	}
	return found
}

// stop ends a server in order.
func (p *parent) stop(s *server) error {
	// The server has its own; when it closes it, clients are to be told that nobody is there.
	for _, l := range p.cfg.Listeners {
		_ = l.Close()
	}
	_ = unix.Kill(s.pid, unix.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(p.cfg.Grace):
		slog.Warn("the server does not stop and is killed", "op", "stop")
		_ = unix.Kill(s.pid, unix.SIGKILL)
		<-s.exited
	}
	<-s.silent
	p.answer(s)
	p.replies.Wait()
	if s.status.ExitStatus() != 0 {
		return &ExitError{s.code()}
	}
	return nil
}

// code is a shell's status for how the server ended.
func (s *server) code() int {
	if s.status.Signaled() {
		return 128 + int(s.status.Signal())
	}
	return s.status.ExitStatus()
}

func (s *server) how() string {
	if s.status.Signaled() {
		return s.status.Signal().String()
	}
	return "status " + strconv.Itoa(s.status.ExitStatus())
}

// answer tells the clients of a server that is gone what is known of their requests.
func (p *parent) answer(s *server) {
	for slot, fd := range s.held {
		state := atomic.LoadUint32(&p.words[slot])
		p.replies.Go(func() { reply(fd, state) })
	}
	clear(p.words)
}

// lingerTimeout is how long a client has to take its answer.
const lingerTimeout = time.Second

func reply(fd int, state uint32) {
	f := os.NewFile(uintptr(fd), "connection")
	defer func() { _ = f.Close() }()
	if state == idle {
		// A request may have come that nobody has read.
		if n, _, err := unix.Recvfrom(fd, make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT); err != nil || n == 0 {
			_ = unix.Shutdown(fd, unix.SHUT_RDWR)
			return
		}
	}
	text := body(state)
	if text == "" {
		_ = unix.Shutdown(fd, unix.SHUT_RDWR)
		return
	}
	c, err := net.FileConn(f)
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(lingerTimeout))
	if _, err := fmt.Fprintf(c,
		"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"+
			"Retry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(text), text); err != nil {
		return
	}
	// Closing with bytes unread would take the answer away from a client that is still sending.
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, c)
	_ = unix.Shutdown(fd, unix.SHUT_RDWR)
}

// body is the error body of the wire for a request in a state, "" when an answer has begun.
func body(state uint32) string {
	const format = `{"error":"the server ended while it handled the request","code":%q,"retryable":%t,"applied":%q}` + "\n"
	switch state {
	case idle, reading, safe:
		return fmt.Sprintf(format, "EUNAVAILABLE", true, "no")
	case keyed:
		return fmt.Sprintf(format, "EOUTCOMEUNKNOWN", true, "unknown")
	case mutating:
		return fmt.Sprintf(format, "EOUTCOMEUNKNOWN", false, "unknown")
	}
	return ""
}
