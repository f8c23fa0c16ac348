package command

import (
	"bytes"
	"errors"
	"io"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// bufferSize is what streaming commands read at a time.
const bufferSize = 128 << 10

// lineReader splits a stream into lines without copying them.
type lineReader struct {
	p          *proc.Process
	r          io.Reader
	delim      byte
	buf        []byte
	start, end int
	scanned    int // bytes after start known to hold no delimiter
	held       int
	eof        bool
	err        error // what ended the stream, nil for its end
}

// newLineReader reads lines of r that end in delim. The caller checks err when next
// has returned false, and calls close.
func newLineReader(p *proc.Process, r io.Reader, delim byte) *lineReader {
	return &lineReader{p: p, r: r, delim: delim}
}

// next returns the next line with its delimiter, which only the last line may lack. The
// slice is valid until the following call.
func (l *lineReader) next() ([]byte, bool) {
	for {
		if i := bytes.IndexByte(l.buf[l.start+l.scanned:l.end], l.delim); i >= 0 {
			n := l.scanned + i + 1
			line := l.buf[l.start : l.start+n]
			l.start += n
			l.scanned = 0
			return line, true
		}
		l.scanned = l.end - l.start
		if l.eof {
			if l.scanned == 0 {
				return nil, false
			}
			line := l.buf[l.start:l.end]
			l.start, l.scanned = l.end, 0
			return line, true
		}
		l.fill()
	}
}

func (l *lineReader) fill() {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.end -= l.start
		l.start = 0
	}
	if l.end == len(l.buf) {
		n := max(bufferSize, 2*len(l.buf))
		l.p.Hold(n - len(l.buf))
		l.held += n - len(l.buf)
		l.buf = append(make([]byte, 0, n), l.buf[:l.end]...)[:n]
	}
	n, err := l.r.Read(l.buf[l.end:])
	l.p.Tick(1 + n>>10)
	l.end += n
	if err != nil {
		l.eof = true
		if !errors.Is(err, io.EOF) {
			l.err = err
		}
	}
}

// close gives the buffer back to the budget.
func (l *lineReader) close() {
	l.p.Release(l.held)
	l.held, l.buf = 0, nil
}

// readBlocks calls f with the content of r, block by block.
func readBlocks(p *proc.Process, r io.Reader, f func(block []byte)) error {
	size := bufferSize
	if f, ok := r.(vfs.File); ok {
		// A small file needs no more than its size, and one byte to find its end.
		if st, err := f.Stat(); err == nil && st.Kind == vfs.Regular {
			size = int(min(max(st.Size+1, 512), bufferSize))
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

// asciiLower turns A to Z into small letters in place: most programs know no others.
func asciiLower(b []byte) {
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

// compareASCIIFold compares with small letters as capitals.
func compareASCIIFold(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if x, y := upperByte(a[i]), upperByte(b[i]); x != y {
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}

func equalASCIIFold(a, b []byte) bool { return len(a) == len(b) && compareASCIIFold(a, b) == 0 }

// outputFile is the inode of a regular file on standard output, 0 when there is none.
func outputFile(p *proc.Process) uint64 {
	if out, ok := p.Stdout.(interface{ Stat() (vfs.Stat, error) }); ok {
		if st, err := out.Stat(); err == nil && st.Kind == vfs.Regular {
			return st.Ino
		}
	}
	return 0
}

// eachInput calls f for every operand (standard input when there is none), says what cannot be opened
// or read, and returns 1 when anything failed.
func eachInput(p *proc.Process, names []string, f func(name string, r io.Reader) error) int {
	status := 0
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		if err := withInput(p, name, f); err != nil {
			shown := quoteColon(name)
			p.Errorf("%s: %s", shown, proc.Strerror(err))
			status = 1
		}
	}
	return status
}

func withInput(p *proc.Process, name string, f func(name string, r io.Reader) error) error {
	r, err := p.OpenInput(name)
	if err != nil {
		return err
	}
	defer r.Close()
	return f(name, r)
}
