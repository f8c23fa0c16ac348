package proc

import (
	"errors"
	"io"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// Writer is a command's output. Writes never return an error to the command: a
// broken pipe ends it with SIGPIPE's status 141, any other failure with GNU's
// "write error" message and ErrorStatus.
type Writer struct {
	ErrorStatus int // 1 unless set

	w      io.Writer
	p      *Process
	buf    []byte
	direct bool // no buffer, errors ignored (stderr)
}

const writerSize = 32 << 10

// NewWriter returns a buffered Writer of process p over w.
func NewWriter(w io.Writer, p *Process) *Writer { return &Writer{w: w, p: p, ErrorStatus: 1} }

// Write buffers b. The error is always nil.
func (w *Writer) Write(b []byte) (int, error) {
	if w.direct {
		_, _ = w.w.Write(b)
		return len(b), nil
	}
	if len(w.buf)+len(b) > writerSize {
		w.Flush()
		if len(b) >= writerSize {
			w.send(b)
			return len(b), nil
		}
	}
	w.buf = append(w.buf, b...)
	return len(b), nil
}

// WriteString buffers s. The error is always nil.
func (w *Writer) WriteString(s string) (int, error) {
	if w.direct || len(w.buf)+len(s) > writerSize {
		return w.Write([]byte(s))
	}
	w.buf = append(w.buf, s...)
	return len(s), nil
}

// WriteByte buffers c. The error is always nil.
func (w *Writer) WriteByte(c byte) error {
	if w.direct || len(w.buf) >= writerSize {
		_, _ = w.Write([]byte{c})
		return nil
	}
	w.buf = append(w.buf, c)
	return nil
}

// WriteRune buffers r as UTF-8. The error is always nil.
func (w *Writer) WriteRune(r rune) (int, error) {
	var b [utf8.UTFMax]byte
	return w.Write(utf8.AppendRune(b[:0], r))
}

// Flush sends what is buffered.
func (w *Writer) Flush() {
	if len(w.buf) == 0 {
		return
	}
	b := w.buf
	w.buf = w.buf[:0]
	w.send(b)
}

func (w *Writer) send(b []byte) {
	w.p.Tick(1 + len(b)>>10)
	_, err := w.w.Write(b)
	if err == nil {
		return
	}
	if cause := w.p.Budget.Err(); cause != nil {
		panic(Death{Status: 137, Killed: true, Cause: cause})
	}
	w.buf = nil
	if errors.Is(err, vfs.EPIPE) {
		panic(Death{Status: 141})
	}
	_, _ = io.WriteString(w.p.Stderr, w.p.Name()+": write error: "+Strerror(err)+"\n")
	panic(Death{Status: w.ErrorStatus})
}
