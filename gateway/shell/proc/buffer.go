package proc

import "bytes"

// Buffer is a buffer that counts against the exec's memory. A child writes to it from its own goroutine, so that
// it returns the error instead of dying.
type Buffer struct {
	bytes.Buffer
	p *Process
}

// NewBuffer is an empty buffer of p.
func NewBuffer(p *Process) *Buffer { return &Buffer{p: p} }

func (b *Buffer) Write(d []byte) (int, error) {
	if err := b.p.Budget.Hold(int64(len(d))); err != nil {
		return 0, err
	}
	return b.Buffer.Write(d)
}

// WriteString is Write of a string.
func (b *Buffer) WriteString(s string) (int, error) {
	if err := b.p.Budget.Hold(int64(len(s))); err != nil {
		return 0, err
	}
	return b.Buffer.WriteString(s)
}
