package shell

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

const pipeSize = 64 << 10

// pipe is an in-memory pipe: a ring under one mutex. Who waits is woken by the other side or by the end
// of its own context.
type pipe struct {
	mu      sync.Mutex
	cond    sync.Cond
	buf     []byte
	r, n    int // read position, bytes held
	readers int
	writers int
	reads   int    // how often a FIFO has been opened for reading,
	writes  int    // and for writing
	empty   func() // of a FIFO: called when its last end has been closed
	err     error  // what a reader gets instead of EOF
	budget  *proc.Budget
}

func newPipe(b *proc.Budget) *pipe {
	p := &pipe{readers: 1, writers: 1, budget: b}
	p.cond.L = &p.mu
	return p
}

// wait blocks until the pipe changes or ctx is done. The mutex is held before and after.
func (p *pipe) wait(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		p.mu.Lock()
		p.cond.Broadcast()
		p.mu.Unlock()
	})
	proc.TurnOf(ctx).Pause()
	p.cond.Wait()
	stop()
}

// grow makes room for more bytes, up to pipeSize.
func (p *pipe) grow(need int) error {
	size := max(len(p.buf), 4096)
	for size < need && size < pipeSize {
		size *= 2
	}
	if size == len(p.buf) {
		return nil
	}
	if err := p.budget.Hold(int64(size - len(p.buf))); err != nil {
		return err
	}
	b := make([]byte, size)
	k := copy(b, p.buf[p.r:min(p.r+p.n, len(p.buf))])
	copy(b[k:], p.buf[:p.n-k])
	p.buf, p.r = b, 0
	return nil
}

func (p *pipe) write(ctx context.Context, b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := 0
	for {
		if p.readers == 0 || ctx.Err() != nil {
			return done, vfs.EPIPE
		}
		if len(b) == 0 {
			return done, nil
		}
		if p.n+len(b) > len(p.buf) && len(p.buf) < pipeSize {
			if err := p.grow(p.n + len(b)); err != nil {
				return done, err
			}
		}
		if p.n == len(p.buf) {
			p.wait(ctx)
			continue
		}
		for len(b) > 0 && p.n < len(p.buf) {
			w := (p.r + p.n) % len(p.buf)
			end := len(p.buf)
			if w < p.r {
				end = p.r
			}
			k := copy(p.buf[w:end], b)
			b = b[k:]
			p.n += k
			done += k
		}
		p.cond.Broadcast()
	}
}

func (p *pipe) read(ctx context.Context, b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.filled(ctx); err != nil {
		return 0, err
	}
	return p.take(b), nil
}

// filled waits for a byte; the error says why there will be none.
func (p *pipe) filled(ctx context.Context) error {
	for p.n == 0 {
		if p.writers == 0 {
			if p.err != nil {
				return p.err
			}
			return io.EOF
		}
		if ctx.Err() != nil {
			return io.EOF
		}
		p.wait(ctx)
	}
	return nil
}

func (p *pipe) take(b []byte) int {
	k := copy(b, p.buf[p.r:min(p.r+p.n, len(p.buf))])
	if k < len(b) && k < p.n {
		k += copy(b[k:], p.buf[:p.n-k])
	}
	p.r = (p.r + k) % len(p.buf)
	p.n -= k
	if p.n == 0 {
		p.r = 0
	}
	p.cond.Broadcast()
	return k
}

// readUntil takes bytes up to and including delim, at most limit; it returns as soon as some are there.
func (p *pipe) readUntil(ctx context.Context, delim byte, limit int) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.filled(ctx); err != nil {
		return nil, err
	}
	first := p.buf[p.r:min(p.r+p.n, len(p.buf))]
	k := bytes.IndexByte(first, delim) + 1
	if k == 0 {
		k = len(first)
	}
	out := make([]byte, min(k, limit))
	p.take(out)
	return out, nil
}

func (p *pipe) closeEnd(writer bool) {
	p.mu.Lock()
	if writer {
		p.writers--
	} else {
		p.readers--
	}
	empty := p.readers == 0 && p.writers == 0
	if empty && p.buf != nil {
		p.budget.Release(int64(len(p.buf)))
		p.buf, p.r, p.n = nil, 0, 0
	}
	p.cond.Broadcast()
	p.mu.Unlock()
	if empty && p.empty != nil {
		p.empty()
	}
}
