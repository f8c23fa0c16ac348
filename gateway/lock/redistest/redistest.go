// Package redistest runs a real Redis for tests: a private server on a socket of its own, without persistence, that can
// be stopped, stalled and started again at the same address.
package redistest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is a redis-server of its own.
type Server struct {
	t      testing.TB
	socket string // not a port: another process could take that while the server is down
	cmd    *exec.Cmd
}

// Start starts one that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	// The paths of sockets are short, and t.TempDir's are not.
	dir, err := os.MkdirTemp("", "pgbox-redis-")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, socket: filepath.Join(dir, "redis.sock")}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s.Start()
	t.Cleanup(s.Kill)
	return s
}

// Socket is the path of its socket.
func (s *Server) Socket() string { return s.socket }

// URL is its address.
func (s *Server) URL() string { return "unix://" + s.socket }

// Start starts it again after Kill, empty.
func (s *Server) Start() {
	s.t.Helper()
	s.cmd = exec.CommandContext(context.Background(), "redis-server", "--port", "0", "--unixsocket", s.socket, "--save",
		"", "--appendonly", "no",
		"--dir", filepath.Dir(s.socket), "--enable-debug-command", "local", "--repl-diskless-sync-delay", "0", "--loglevel",
		"warning")
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.cmd.Stderr = os.Stderr
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("redis-server is needed (.ci/install installs it): %v", err)
	}
	c := s.Client()
	defer func() { _ = c.Close() }()
	for deadline := time.Now().Add(time.Minute); c.Ping(context.Background()).Err() != nil; {
		if time.Now().After(deadline) {
			s.t.Fatal("redis-server does not answer")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Kill ends it with SIGKILL; what it held is forgotten.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// Stall and Resume stop it without closing its connections, and let it go on.
func (s *Server) Stall()  { s.signal(syscall.SIGSTOP) }
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Client is a connection for the test's own use.
func (s *Server) Client() *redis.Client {
	o, err := redis.ParseURL(s.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	return redis.NewClient(o)
}
