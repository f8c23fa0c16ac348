package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// Func is the body of a command: it runs to completion and returns the exit status.
type Func func(ctx context.Context, p *Process) int

// Environ is a process's environment. Implementations keep insertion order.
type Environ interface {
	Get(name string) (value string, ok bool)
	// List returns "NAME=value" strings in a stable order.
	List() []string
}

// Process is one running command.
type Process struct {
	Args   []string // Args[0] is the name it was called by
	Env    Environ
	Dir    string // absolute working directory
	Umask  uint32
	FS     vfs.FS
	Budget *Budget

	Stdin  io.Reader // may also be a File: type-assert for Seek, Stat
	Stdout io.Writer // the raw stream: returns vfs.EPIPE and friends; most commands use Out
	Stderr io.Writer

	// Out buffers Stdout and dies on a write error; flushed when the command ends
	// and before a child runs.
	Out *Writer
	// Err is unbuffered and ignores write errors.
	Err *Writer

	// FD returns the stream open as descriptor n (an io.Reader, io.Writer or File).
	FD func(n int) (any, bool)
	// Spawn runs another program (looked up like execvp does, never a shell function
	// or builtin) and returns its exit status. Use [Process.Exec].
	Spawn func(ctx context.Context, child *Process) int
	// Alive reports whether the exec has a process of this number that has not ended.
	Alive func(pid int) bool
	// Processes lists the processes of the exec, in order of their numbers.
	Processes func() []Info
	// Signal sends a signal (0 only asks) and reports whether there is such a process.
	Signal func(pid, signal int) bool
	// Interrupt sends a signal to a child that was made with Exec and to the program it waits for, as to a process group.
	// It reports whether the child sees to the rest itself: a shell has traps to run.
	Interrupt func(child *Process, signal int) bool
	// FIFO opens a named pipe, which waits for the other end.
	FIFO func(ctx context.Context, path string, flag int) (vfs.File, error)
	// Pipe makes a pipe between processes of the exec.
	Pipe func(ctx context.Context) (r, w vfs.File, err error)
	// Machine gives a machine that runs a program by this name; nil where there are none.
	Machine func(ctx context.Context, program string) (Machine, error)
	// Now is the clock of the exec.
	Now func() time.Time
	// PID is the process number the sandbox shows, and PPID that of the process which started it, 0 for the exec itself.
	PID, PPID int
	// Ignored are the signals, as bits, that the process was started to ignore.
	Ignored uint64
	// Signaled is the signal that ended the process, set when it ended by one.
	Signaled int
	// Nice is the niceness that nice(1) shows; nothing is scheduled by it.
	Nice int
	// User and Hostname are the sandbox's own values.
	User     User
	Hostname string

	ctx   context.Context
	turn  *Turn
	ticks int64
}

// Machine is a process of its own in which a program runs that is not part of this one; it knows nothing but what it is
// told through the connection that this is.
type Machine interface {
	io.ReadWriter
	// Release gives it back, to be used again when it is idle, to be ended otherwise. It may be called more than once; the
	// first call counts.
	Release(idle bool)
}

// Info describes a process of the exec.
type Info struct {
	PID, PPID int
	Args      []string
	Start     time.Time
}

// User is who the sandbox says its processes are.
type User struct {
	Name  string
	UID   uint32
	GID   uint32
	Group string
	Home  string
}

// Run executes f as process p and returns its exit status. It sets up p.Out and p.Err,
// flushes them, and turns a [Death] into a status. A Death with Killed set is raised
// again, because it ends more than this command. Any other panic is a bug in the command: it
// is logged with its stack, said on stderr, and answered with status 134.
func Run(ctx context.Context, f Func, p *Process) (status int) {
	p.ctx, p.turn = ctx, TurnOf(ctx)
	if p.turn == nil || p.turn.b != p.Budget {
		p.ctx, p.turn = p.Budget.NewTurn(ctx)
		ctx = p.ctx
		defer p.turn.End()
	}
	p.Out = NewWriter(p.Stdout, p)
	p.Err = &Writer{w: p.Stderr, p: p, direct: true}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case Death:
			if r.Killed {
				panic(r)
			}
			status = r.Status
		default:
			slog.Error("command panicked", "command", p.Name(), "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			_, _ = fmt.Fprintf(p.Stderr, "%s: internal error\n", p.Name())
			status = 134
		}
	}()
	status = f(ctx, p)
	p.Out.Flush()
	return status
}

// Name is the base name the command was called by, for messages.
func (p *Process) Name() string {
	if len(p.Args) == 0 {
		return "?"
	}
	n := p.Args[0]
	return n[strings.LastIndexByte(n, '/')+1:]
}

// Context is the context the process runs under.
func (p *Process) Context() context.Context { return p.ctx }

// Tick counts n units of work (a line, a loop turn, a kilobyte) and dies when the exec is over. Call it
// at least once per millisecond of work. Only for the command's own goroutine.
func (p *Process) Tick(n int) {
	p.ticks += int64(n)
	if p.ticks < clockSteps {
		return
	}
	t := p.ticks
	p.ticks = 0
	if err := p.turn.Step(t); err != nil {
		panic(Death{Status: 137, Killed: true, Cause: err})
	}
	if p.ctx.Err() != nil { // of a program around it: timeout
		panic(Death{Status: 143})
	}
}

// Pause is for before the command waits for something other than its streams: meanwhile others run.
func (p *Process) Pause() { p.turn.Pause() }

// Hold counts n more bytes of memory against the exec and dies when that is too much.
func (p *Process) Hold(n int) {
	if err := p.Budget.Hold(int64(n)); err != nil {
		panic(Death{Status: 137, Killed: true, Cause: err})
	}
}

// Release gives back bytes of an earlier Hold.
func (p *Process) Release(n int) { p.Budget.Release(int64(n)) }

// Exit ends the command with a status from any depth, after flushing Out.
func (p *Process) Exit(status int) {
	p.Out.Flush()
	panic(Death{Status: status})
}

// Errorf prints "name: message\n" on stderr, after flushing Out so that the two keep their order.
func (p *Process) Errorf(format string, args ...any) {
	p.Out.Flush()
	text := fmt.Sprintf(format, args...)
	if p.ByteLocale() {
		text = asciiQuotes.Replace(text)
	}
	fmt.Fprintf(p.Err, "%s: %s\n", p.Name(), text)
}

// asciiQuotes are the quotation marks of messages in the C locale.
var asciiQuotes = strings.NewReplacer("‘", "'", "’", "'")

// ByteLocale reports whether the environment asks for the C locale, where every byte is a character.
// Without any setting the sandbox is UTF-8.
func (p *Process) ByteLocale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := p.Getenv(name); v != "" {
			return v == "C" || v == "POSIX"
		}
	}
	return false
}

// Strerror is the text GNU tools print for err: the errno's, when it carries one.
func Strerror(err error) string {
	if e, ok := vfs.Of(err); ok {
		return e.Error()
	}
	return err.Error()
}

// Getenv returns the value of an environment variable, "" when unset.
func (p *Process) Getenv(name string) string {
	v, _ := p.Env.Get(name)
	return v
}

// Abs makes name absolute against the working directory. It does not clean it: ".." is
// resolved by the FS, after symlinks.
func (p *Process) Abs(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	if p.Dir == "/" {
		return "/" + name
	}
	return p.Dir + "/" + name
}

// DevFD recognises /dev/stdin, /dev/stdout, /dev/stderr, /dev/fd/N and /proc/self/fd/N.
func DevFD(path string) (n int, ok bool) {
	switch path {
	case "/dev/stdin":
		return 0, true
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	num, ok := strings.CutPrefix(path, "/dev/fd/")
	if !ok {
		num, ok = strings.CutPrefix(path, "/proc/self/fd/")
	}
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(num)
	return n, err == nil && n >= 0
}

// Open opens a file by a name relative to the working directory.
func (p *Process) Open(name string, flag int, perm uint32) (vfs.File, error) {
	if name == "" {
		return nil, vfs.Path("open", name, vfs.ENOENT)
	}
	path := p.Abs(name)
	if n, ok := DevFD(path); ok {
		s, ok := p.FD(n)
		if !ok {
			return nil, vfs.Path("open", name, vfs.ENOENT)
		}
		return borrowed{s}, nil
	}
	f, err := p.FS.Open(path, flag, perm&^p.Umask)
	if p.FIFO != nil && errors.Is(err, vfs.EOPNOTSUPP) {
		p.Pause()
		f, err = p.FIFO(p.ctx, path, flag)
		if err != nil {
			p.Tick(clockSteps) // it may have been ended
		}
	}
	return f, err
}

// OpenInput opens an operand for reading; "-" is standard input.
func (p *Process) OpenInput(name string) (io.ReadCloser, error) {
	if name == "-" {
		if f, ok := p.Stdin.(vfs.File); ok {
			return keepOpen{f}, nil
		}
		return io.NopCloser(p.Stdin), nil
	}
	return p.Open(name, vfs.ReadOnly, 0)
}

// ReadFile reads a whole file named relative to the working directory ("/dev/fd/N" works too). The
// caller must not modify the result.
func (p *Process) ReadFile(name string) ([]byte, error) {
	if name == "" {
		return nil, vfs.Path("open", name, vfs.ENOENT)
	}
	path := p.Abs(name)
	if _, ok := DevFD(path); !ok {
		data, err := p.FS.ReadFile(path)
		if st, serr := p.FS.Stat(path); err == nil || serr != nil || st.Kind != vfs.FIFO {
			return data, err
		}
	}
	f, err := p.Open(name, vfs.ReadOnly, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return p.ReadAll(f)
}

// ReadAll reads r to its end, counting what it holds against the budget for the life of the exec.
func (p *Process) ReadAll(r io.Reader) ([]byte, error) {
	var buf []byte
	for {
		if cap(buf)-len(buf) < 4096 {
			n := max(cap(buf)*2, 16<<10)
			p.Hold(n - cap(buf))
			bigger := make([]byte, len(buf), n)
			Copy(bigger, buf)
			buf = bigger
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		p.Tick(1 + n>>10)
		if errors.Is(err, io.EOF) {
			// A writer that was ended looks like one that has finished: nobody wants work on its half.
			p.Tick(clockSteps)
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}

// Stat follows symlinks; name is relative to the working directory.
func (p *Process) Stat(name string) (vfs.Stat, error) {
	if name == "" {
		return vfs.Stat{}, vfs.Path("stat", name, vfs.ENOENT)
	}
	path := p.Abs(name)
	if n, ok := DevFD(path); ok {
		s, ok := p.FD(n)
		if !ok {
			return vfs.Stat{}, vfs.Path("stat", name, vfs.ENOENT)
		}
		return borrowed{s}.Stat()
	}
	return p.FS.Stat(path)
}

// Lstat does not follow a symlink in the last component.
func (p *Process) Lstat(name string) (vfs.Stat, error) {
	if name == "" {
		return vfs.Stat{}, vfs.Path("lstat", name, vfs.ENOENT)
	}
	return p.FS.Lstat(p.Abs(name))
}

// ReadDir lists a directory named relative to the working directory, sorted by name bytes.
func (p *Process) ReadDir(name string) ([]vfs.Dirent, error) { return p.FS.ReadDir(p.Abs(name)) }

// Child returns a process like p (same streams, directory, environment) for args; adjust it
// and pass it to [Process.Exec].
func (p *Process) Child(args ...string) *Process {
	c := *p
	c.Args, c.Out, c.Err, c.ticks, c.Signaled = args, nil, nil, 0, 0
	return &c
}

// Shell returns the process of `sh -c cmd`. stdin and stdout are those of p where they are nil.
func (p *Process) Shell(cmd string, stdin io.Reader, stdout io.Writer) *Process {
	c := p.Child("sh", "-c", cmd)
	if stdin != nil {
		c.Stdin = stdin
	}
	if stdout != nil {
		c.Stdout = stdout
	}
	parent := p.FD
	c.FD = func(n int) (any, bool) {
		switch {
		case n == 0:
			return c.Stdin, true
		case n == 1:
			return c.Stdout, true
		case parent == nil:
			return nil, false
		}
		return parent(n)
	}
	return c
}

// Exec flushes Out, runs child as a program and returns its exit status: 127 when there is no
// such command, 126 when it cannot be executed.
func (p *Process) Exec(ctx context.Context, child *Process) int {
	p.Out.Flush()
	return p.Spawn(ctx, child)
}

// Become runs child in the place of p, as a program does that replaces itself.
func (p *Process) Become(ctx context.Context, child *Process) int {
	status := p.Exec(ctx, child)
	p.Signaled = child.Signaled
	return status
}

// keepOpen is a file whose owner is somebody else: closing it does nothing.
type keepOpen struct{ vfs.File }

func (keepOpen) Close() error { return nil }

// borrowed is a descriptor opened again through /dev/fd: closing it leaves the original open.
type borrowed struct{ s any }

func (b borrowed) Read(d []byte) (int, error) {
	if r, ok := b.s.(io.Reader); ok {
		return r.Read(d)
	}
	return 0, vfs.EBADF
}

func (b borrowed) Write(d []byte) (int, error) {
	if w, ok := b.s.(io.Writer); ok {
		return w.Write(d)
	}
	return 0, vfs.EBADF
}

func (b borrowed) ReadAt(d []byte, off int64) (int, error) {
	if r, ok := b.s.(io.ReaderAt); ok {
		return r.ReadAt(d, off)
	}
	return 0, vfs.ESPIPE
}

func (b borrowed) WriteAt(d []byte, off int64) (int, error) {
	if w, ok := b.s.(io.WriterAt); ok {
		return w.WriteAt(d, off)
	}
	return 0, vfs.ESPIPE
}

func (b borrowed) Seek(off int64, whence int) (int64, error) {
	if s, ok := b.s.(io.Seeker); ok {
		return s.Seek(off, whence)
	}
	return 0, vfs.ESPIPE
}

func (b borrowed) Stat() (vfs.Stat, error) {
	if f, ok := b.s.(interface{ Stat() (vfs.Stat, error) }); ok {
		return f.Stat()
	}
	return vfs.Stat{Kind: vfs.FIFO, Mode: 0o600, Nlink: 1}, nil
}

func (b borrowed) Truncate(n int64) error {
	if f, ok := b.s.(interface{ Truncate(int64) error }); ok {
		return f.Truncate(n)
	}
	return vfs.EINVAL
}

func (borrowed) Close() error { return nil }
