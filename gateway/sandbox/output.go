package sandbox

import (
	"fmt"
	"io"
	"sync"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// outputMeter counts what both streams of one run have printed.
type outputMeter struct {
	mu     sync.Mutex
	total  int64
	hard   int64 // beyond this the run is ended
	budget *proc.Budget
}

// errOutput ends a run that prints without end.
type errOutput struct{ limit int64 }

func (e errOutput) Error() string {
	return fmt.Sprintf("output is larger than %d bytes", e.limit)
}

func (m *outputMeter) add(n int) bool {
	m.mu.Lock()
	m.total += int64(n)
	over := m.total > m.hard
	m.mu.Unlock()
	if over {
		m.budget.Kill(errOutput{m.hard})
	}
	return !over
}

// output collects one stream of a run and passes it on as it comes. It keeps the first and the last
// half of its bound.
type output struct {
	meter *outputMeter
	keep  int
	sink  io.Writer // nil: none

	mu    sync.Mutex
	total int64
	head  []byte
	tail  []byte // a ring once it has keep/2 bytes
	next  int    // where the ring goes on
	sent  bool   // something went to the sink
}

// errClientGone ends a run whose output nobody receives any more.
type errClientGone struct{ cause error }

func (e errClientGone) Error() string { return "client went away: " + e.cause.Error() }
func (e errClientGone) Unwrap() error { return e.cause }

// Write implements io.Writer for the shell. It fails only when the run is being ended.
func (o *output) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if !o.meter.add(len(b)) {
		return 0, vfs.ENOBUFS
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total += int64(len(b))
	if err := o.retain(b); err != nil {
		return 0, err
	}
	if o.sink != nil {
		o.sent = true
		if _, err := o.sink.Write(b); err != nil {
			o.meter.budget.Kill(errClientGone{err})
			return 0, vfs.EPIPE
		}
	}
	return len(b), nil
}

// retain keeps b: all of it up to keep bytes, then half of that from either end.
func (o *output) retain(b []byte) error {
	if o.tail == nil && len(o.head)+len(b) <= o.keep {
		before := cap(o.head)
		o.head = append(o.head, b...)
		if grown := cap(o.head) - before; grown > 0 {
			return o.meter.budget.Hold(int64(grown))
		}
		return nil
	}
	half := max(o.keep/2, 1)
	if o.tail == nil {
		if err := o.meter.budget.Hold(int64(half)); err != nil {
			return err
		}
		o.tail = make([]byte, 0, half)
		if len(o.head) < half {
			n := min(half-len(o.head), len(b))
			o.head = append(o.head, b[:n]...)
			b = b[n:]
		} else {
			o.ring(o.head[half:])
			o.head = o.head[:half]
		}
	}
	o.ring(b)
	return nil
}

func (o *output) ring(b []byte) {
	size := cap(o.tail)
	if len(b) >= size {
		b = b[len(b)-size:]
		o.tail = append(o.tail[:0], b...)
		o.next = 0
		return
	}
	if room := size - len(o.tail); room > 0 {
		n := min(room, len(b))
		o.tail = append(o.tail, b[:n]...)
		b = b[n:]
	}
	for len(b) > 0 {
		n := copy(o.tail[o.next:], b)
		o.next = (o.next + n) % size
		b = b[n:]
	}
}

// bytes returns what was kept. Where the middle is missing a line says how much.
func (o *output) bytes() (b []byte, truncated bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tail == nil {
		return o.head, false
	}
	omitted := o.total - int64(len(o.head)) - int64(len(o.tail))
	out := make([]byte, 0, len(o.head)+len(o.tail)+64)
	out = append(out, o.head...)
	if omitted > 0 {
		out = fmt.Appendf(out, "\n[... %d bytes omitted ...]\n", omitted)
	}
	out = append(out, o.tail[o.next:]...)
	out = append(out, o.tail[:o.next]...)
	return out, omitted > 0
}

// size is the number of bytes written in all.
func (o *output) size() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total
}

// streamed reports whether the sink has got anything.
func (o *output) streamed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent
}

// replayBound is how much standard input is remembered for a second run.
const replayBound = 1 << 20

// replay lets a second run read the standard input from its start, as long as the first one has read little of it.
type replay struct {
	mu   sync.Mutex
	src  io.Reader
	seen []byte
	lost bool // more was read than is remembered
}

// reader reads from the start; ok is false when the start is gone.
func (r *replay) reader() (_ io.Reader, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &replayReader{r: r}, !r.lost
}

type replayReader struct {
	r   *replay
	pos int
}

func (p *replayReader) Read(b []byte) (int, error) {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	if p.pos < len(p.r.seen) {
		n := copy(b, p.r.seen[p.pos:])
		p.pos += n
		return n, nil
	}
	n, err := p.r.src.Read(b)
	if p.r.lost || len(p.r.seen)+n > replayBound {
		p.r.lost, p.r.seen = true, nil
		return n, err
	}
	p.r.seen = append(p.r.seen, b[:n]...)
	p.pos = len(p.r.seen)
	return n, err
}
