package program

import (
	"bytes"
	"errors"
	"io"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// BufferSize is what streaming commands read at a time.
const BufferSize = 128 << 10

// LineReader splits a stream into lines without copying them.
type LineReader struct {
	p          *proc.Process
	r          io.Reader
	delim      byte
	buf        []byte
	Start, End int
	scanned    int // bytes after start known to hold no delimiter
	held       int
	eof        bool
	Err        error // what ended the stream, nil for its end
}

// NewLineReader reads lines of r that end in delim. The caller checks err when next
// has returned false, and calls close.
func NewLineReader(p *proc.Process, r io.Reader, delim byte) *LineReader {
	return &LineReader{p: p, r: r, delim: delim}
}

// Next returns the next line with its delimiter, which only the last line may lack. The
// slice is valid until the following call.
func (l *LineReader) Next() ([]byte, bool) {
	for {
		if i := bytes.IndexByte(l.buf[l.Start+l.scanned:l.End], l.delim); i >= 0 {
			n := l.scanned + i + 1
			line := l.buf[l.Start : l.Start+n]
			l.Start += n
			l.scanned = 0
			return line, true
		}
		l.scanned = l.End - l.Start
		if l.eof {
			if l.scanned == 0 {
				return nil, false
			}
			line := l.buf[l.Start:l.End]
			l.Start, l.scanned = l.End, 0
			return line, true
		}
		l.fill()
	}
}

func (l *LineReader) fill() {
	if l.Start > 0 {
		copy(l.buf, l.buf[l.Start:l.End])
		l.End -= l.Start
		l.Start = 0
	}
	if l.End == len(l.buf) {
		n := max(BufferSize, 2*len(l.buf))
		l.p.Hold(n - len(l.buf))
		l.held += n - len(l.buf)
		l.buf = append(make([]byte, 0, n), l.buf[:l.End]...)[:n]
	}
	n, err := l.r.Read(l.buf[l.End:])
	l.p.Tick(1 + n>>10)
	l.End += n
	if err != nil {
		l.eof = true
		if !errors.Is(err, io.EOF) {
			l.Err = err
		}
	}
}

// Close gives the buffer back to the budget.
func (l *LineReader) Close() {
	l.p.Release(l.held)
	l.held, l.buf = 0, nil
}

// ReadBlocks calls f with the content of r, block by block.
func ReadBlocks(p *proc.Process, r io.Reader, f func(block []byte)) error {
	size := BufferSize
	if f, ok := r.(vfs.File); ok {
		// A small file needs no more than its size, and one byte to find its end.
		if st, err := f.Stat(); err == nil && st.Kind == vfs.Regular {
			size = int(min(max(st.Size+1, 512), BufferSize))
		}
	}
	buf := make([]byte, size)
	for {
		n, err := r.Read(buf)
		p.Tick(1 + n>>10)
		if n > 0 {
			f(buf[:n])
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// AsciiLower turns A to Z into small letters in place: most programs know no others.
func AsciiLower(b []byte) {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
}

func upperByte(c byte) byte {
	if c >= 'a' && c <= 'z' {
		return c &^ 0x20
	}
	return c
}

// CompareASCIIFold compares with small letters as capitals.
func CompareASCIIFold(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if x, y := upperByte(a[i]), upperByte(b[i]); x != y {
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}

// EqualASCIIFold reports whether two texts are equal but for the case of ASCII letters.
func EqualASCIIFold(a, b []byte) bool { return len(a) == len(b) && CompareASCIIFold(a, b) == 0 }

// OutputFile is the inode of a regular file on standard output, 0 when there is none.
func OutputFile(p *proc.Process) uint64 {
	if out, ok := p.Stdout.(interface{ Stat() (vfs.Stat, error) }); ok {
		if st, err := out.Stat(); err == nil && st.Kind == vfs.Regular {
			return st.Ino
		}
	}
	return 0
}

// EachInput calls f for every operand (standard input when there is none), says what cannot be opened
// or read, and returns 1 when anything failed.
func EachInput(p *proc.Process, names []string, f func(name string, r io.Reader) error) int {
	status := 0
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		if err := WithInput(p, name, f); err != nil {
			shown := QuoteColon(name)
			p.Errorf("%s: %s", shown, proc.Strerror(err))
			status = 1
		}
	}
	return status
}

// WithInput calls f with the file of a name, or with standard input for "-".
func WithInput(p *proc.Process, name string, f func(name string, r io.Reader) error) error {
	r, err := p.OpenInput(name)
	if err != nil {
		return err
	}
	defer r.Close()
	return f(name, r)
}
