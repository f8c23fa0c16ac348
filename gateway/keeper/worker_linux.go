package keeper

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Supported reports whether this system has what a parent needs.
const Supported = true

func inherit() (*Worker, error) {
	n, err := strconv.Atoi(os.Getenv(variable))
	if err != nil || n < 1 {
		return nil, errNotInherited
	}
	_ = os.Unsetenv(variable)
	_ = os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0) // it was started as /proc/self/exe
	for fd := controlFD; fd < listenerFD+n; fd++ {
		unix.CloseOnExec(fd)
	}
	w := &Worker{free: make(chan uint32, capacity)}
	control, err := fileConn(controlFD)
	if err != nil {
		return nil, err
	}
	w.control = control
	if w.words, err = share(sharedFD); err != nil {
		return nil, err
	}
	for i := range uint32(capacity) {
		w.free <- i
	}
	for fd := listenerFD; fd < listenerFD+n; fd++ {
		f := os.NewFile(uintptr(fd), "listener")
		l, err := net.FileListener(f)
		_ = f.Close()
		if err != nil {
			return nil, fmt.Errorf("take over the socket: %w", err)
		}
		tcp, ok := l.(*net.TCPListener)
		if !ok {
			return nil, fmt.Errorf("%w: file %d is %s", errNotInherited, fd, l.Addr().Network())
		}
		w.Listeners = append(w.Listeners, &Listener{tcp, w})
	}
	return w, nil
}

func fileConn(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "control")
	defer func() { _ = f.Close() }()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errNotInherited
	}
	return u, nil
}

// share maps the words that both processes see.
func share(fd int) ([]uint32, error) {
	b, err := unix.Mmap(fd, 0, 4*capacity, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(&b[0])), capacity), nil
}

// Ready tells the parent that requests are answered.
func (w *Worker) Ready() error {
	_, err := w.control.Write(message(msgReady, 0))
	return err
}

func message(kind byte, slot uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{kind}, slot)
}

// Listener accepts connections that the parent hears of.
type Listener struct {
	*net.TCPListener
	w *Worker
}

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	return &conn{TCPConn: c, w: l.w}, nil
}

// conn is a connection with a word. It gets one with its first byte: one that never says anything needs no answer.
type conn struct {
	*net.TCPConn
	w    *Worker
	word atomic.Pointer[uint32]
	slot uint32
	once sync.Once // of passing it to the parent
	end  sync.Once
}

func (c *conn) set(state uint32) {
	if p := c.word.Load(); p != nil {
		atomic.StoreUint32(p, state)
	}
}

// holdTimeout bounds how long a request waits for a parent that is busy; afterwards the connection goes without.
const holdTimeout = 100 * time.Millisecond

// hold passes a duplicate to the parent.
func (c *conn) hold() {
	select {
	case c.slot = <-c.w.free:
	default:
		return // there are more connections than words
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	var sent error
	word := &c.w.words[c.slot]
	atomic.StoreUint32(word, idle)
	err = raw.Control(func(fd uintptr) {
		_ = c.w.control.SetWriteDeadline(time.Now().Add(holdTimeout))
		_, _, sent = c.w.control.WriteMsgUnix(message(msgHold, c.slot), unix.UnixRights(int(fd)), nil)
	})
	if err != nil || sent != nil {
		c.w.free <- c.slot
		return
	}
	c.word.Store(word)
}

// Read begins a request with its first byte.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if n > 0 {
		c.once.Do(c.hold)
		if p := c.word.Load(); p != nil {
			atomic.CompareAndSwapUint32(p, idle, reading)
		}
	}
	return n, err
}

var informational = []byte("HTTP/1.1 1")

// Write begins an answer, unless it only asks for the body.
func (c *conn) Write(b []byte) (int, error) {
	if !bytes.HasPrefix(b, informational) {
		c.set(answering)
	}
	return c.TCPConn.Write(b)
}

// ReadFrom is Write for files.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	c.set(answering)
	return c.TCPConn.ReadFrom(r)
}

// Close ends the connection for the other side, too, although the parent still has its duplicate.
func (c *conn) Close() error {
	c.end.Do(func() {
		if c.word.Load() == nil {
			return
		}
		c.word.Store(nil)
		if raw, err := c.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) })
		}
		_ = c.w.control.SetWriteDeadline(time.Now().Add(holdTimeout))
		if _, err := c.w.control.Write(message(msgFree, c.slot)); err == nil {
			c.w.free <- c.slot
		}
	})
	return c.TCPConn.Close()
}
