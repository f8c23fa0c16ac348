package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Supported reports whether this system has what machines need.
const Supported = true

// connFD is the descriptor by which a nurse and a machine are spoken to.
const connFD = 3

// order is what a gateway tells its nurse: to start a machine, or to kill one.
type order struct {
	ID      uint64 `json:"id"`
	Program string `json:"program,omitempty"` // "" kills
}

// news is what a nurse tells: a machine was started (its connection comes along), could not be, or has ended.
type news struct {
	ID    uint64 `json:"id"`
	Error string `json:"error,omitempty"`
	Ended string `json:"ended,omitempty"`
}

// self is this executable, although another may have its name by now.
const self = "/proc/self/exe"

// environment of nurses and machines. A WebAssembly program that computes cannot be interrupted, and whatever stops the
// world (a collection, another number of processors) would wait for it, and everything else with it: so nothing does
// but [worker.collect].
var environment = []string{"HOME=/", "GOGC=off", "GOMEMLIMIT=off", "GOMAXPROCS=2"}

// child starts an executable with arguments and one end of a connection, whose other end it returns. It dies with the
// thread that called.
func child(executable string, kind int, args ...string) (*os.Process, *os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	mine, theirs := os.NewFile(uintptr(pair[0]), "connection"), os.NewFile(uintptr(pair[1]), "connection")
	defer func() { _ = theirs.Close() }()
	null, err := os.Open(os.DevNull)
	if err != nil {
		_ = mine.Close()
		return nil, nil, err
	}
	defer func() { _ = null.Close() }()
	p, err := os.StartProcess(executable, append([]string{os.Args[0]}, args...), &os.ProcAttr{
		Files: []*os.File{null, os.Stderr, os.Stderr, theirs}, Env: environment,
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true},
	})
	if err != nil {
		_ = mine.Close()
		return nil, nil, err
	}
	return p, mine, nil
}

// nurseLoop starts and kills machines as the gateway at the other end says, until that is gone. args are the arguments
// of a machine, before the name of its program. A process that is a nurse is nothing else.
func nurseLoop(args ...string) error {
	runtime.LockOSThread() // machines die with the thread that has started them
	conn, err := inherited()
	if err != nil {
		return err
	}
	var mu sync.Mutex
	running := map[uint64]*os.Process{}
	tell := func(n news, fd ...int) error {
		text, err := json.Marshal(n)
		if err != nil {
			return err
		}
		var rights []byte
		if len(fd) > 0 {
			rights = unix.UnixRights(fd...)
		}
		_, _, err = conn.WriteMsgUnix(text, rights, nil)
		return err
	}
	for buf := make([]byte, 4096); ; {
		n, err := conn.Read(buf)
		if errors.Is(err, io.EOF) || err == nil && n == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		var o order
		if err := json.Unmarshal(buf[:n], &o); err != nil {
			return err
		}
		if o.Program == "" {
			mu.Lock()
			if p := running[o.ID]; p != nil {
				_ = p.Kill()
			}
			mu.Unlock()
			continue
		}
		p, mine, err := child(self, unix.SOCK_STREAM, append(args, o.Program)...)
		if err != nil {
			err = tell(news{ID: o.ID, Error: err.Error()})
		} else {
			mu.Lock()
			running[o.ID] = p
			mu.Unlock()
			err = tell(news{ID: o.ID}, int(mine.Fd()))
			_ = mine.Close()
			go func() {
				state, err := p.Wait()
				mu.Lock()
				delete(running, o.ID)
				mu.Unlock()
				_ = tell(news{ID: o.ID, Ended: fmt.Sprint(state, err)})
			}()
		}
		if err != nil {
			return err
		}
	}
}

// inherited is the connection that a process was started with.
func inherited() (*net.UnixConn, error) {
	f := os.NewFile(connFD, "connection")
	defer func() { _ = f.Close() }()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, errors.New("pgbox starts this")
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.New("pgbox starts this")
	}
	return u, nil
}

// nurse is the gateway's end.
type nurse struct {
	proc *os.Process
	conn *net.UnixConn

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan answer
	err     error
	stopped chan struct{}
}

type answer struct {
	conn net.Conn
	err  error
}

// newNurse starts a nurse. args are the arguments that make the executable one. The nurse dies with the thread that has
// started it, so the caller's goroutine keeps its thread.
func newNurse(executable string, args ...string) (*nurse, error) {
	type made struct {
		p   *os.Process
		f   *os.File
		err error
	}
	ch := make(chan made)
	n := &nurse{waiting: map[uint64]chan answer{}, stopped: make(chan struct{})}
	go func() {
		runtime.LockOSThread()
		p, f, err := child(executable, unix.SOCK_SEQPACKET, args...)
		ch <- made{p, f, err}
		if err == nil {
			<-n.stopped // a confined process cannot wait for it
		}
	}()
	m := <-ch
	if m.err != nil {
		return nil, m.err
	}
	defer func() { _ = m.f.Close() }()
	c, err := net.FileConn(m.f)
	if err != nil {
		return nil, err
	}
	n.proc, n.conn = m.p, c.(*net.UnixConn)
	go n.listen()
	return n, nil
}

func (n *nurse) listen() {
	buf, rights := make([]byte, 4096), make([]byte, unix.CmsgSpace(4))
	for {
		k, oob, _, _, err := n.conn.ReadMsgUnix(buf, rights)
		var told news
		if err == nil && k == 0 {
			err = io.EOF
		}
		if err == nil {
			err = json.Unmarshal(buf[:k], &told)
		}
		if err != nil {
			n.fail(err)
			return
		}
		n.take(told, rights[:oob])
	}
}

func (n *nurse) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err = fmt.Errorf("the process that starts machines is gone: %w", err)
	for id, ch := range n.waiting {
		delete(n.waiting, id)
		ch <- answer{err: n.err}
	}
}

func (n *nurse) take(told news, rights []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if told.Ended != "" {
		slog.Debug("a machine ended", "op", "machine", "id", told.ID, "how", told.Ended)
		return
	}
	ch := n.waiting[told.ID]
	delete(n.waiting, told.ID)
	a := answer{}
	if told.Error != "" {
		a.err = errors.New(told.Error)
	} else {
		a.conn, a.err = passed(rights)
	}
	if ch == nil {
		if a.conn != nil {
			_ = a.conn.Close()
		}
		return
	}
	ch <- a
}

// passed is the connection that came with a message.
func passed(rights []byte) (net.Conn, error) {
	msgs, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(msgs) != 1 {
		return nil, errors.New("no connection came")
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.New("no connection came")
	}
	unix.CloseOnExec(fds[0])
	f := os.NewFile(uintptr(fds[0]), "machine")
	defer func() { _ = f.Close() }()
	return net.FileConn(f)
}

// start asks for a machine.
func (n *nurse) start(program string) (id uint64, conn net.Conn, err error) {
	ch := make(chan answer, 1)
	n.mu.Lock()
	if n.err != nil {
		defer n.mu.Unlock()
		return 0, nil, n.err
	}
	n.last++
	id = n.last
	n.waiting[id] = ch
	n.mu.Unlock()
	if err := n.tell(order{id, program}); err != nil {
		return 0, nil, err
	}
	a := <-ch
	return id, a.conn, a.err
}

func (n *nurse) kill(id uint64) { _ = n.tell(order{ID: id}) } // one that is gone has taken its machines with it

func (n *nurse) tell(o order) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = n.conn.Write(text)
	return err
}

// stop ends the nurse, and with it all machines.
func (n *nurse) stop() {
	_ = n.conn.Close()
	close(n.stopped)
}
