package replication

import (
	"context"
	"errors"
	"sync"
)

// ErrInterrupted: the stream ended while somebody waited for a position of it.
var ErrInterrupted = errors.New("the replication stream was interrupted")

// position is the applied position of the present stream, which others can wait on.
type position struct {
	mu      sync.Mutex
	live    bool
	applied LSN
	waiters map[*waiter]struct{}
}

type waiter struct {
	want LSN
	done chan error // with room for one
}

// start begins a stream at a position, which may lie before that of the stream before.
func (p *position) start(at LSN) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live, p.applied = true, at
	p.wake()
}

// advance moves the position of a live stream forward.
func (p *position) advance(to LSN) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if to > p.applied {
		p.applied = to
		p.wake()
	}
}

func (p *position) wake() {
	for w := range p.waiters {
		if w.want <= p.applied {
			delete(p.waiters, w)
			w.done <- nil
		}
	}
}

// stop ends the stream and all waiting.
func (p *position) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live = false
	for w := range p.waiters {
		delete(p.waiters, w)
		w.done <- ErrInterrupted
	}
}

// get returns the position, and whether there is a stream.
func (p *position) get() (LSN, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.applied, p.live
}

// waiting is the largest position that somebody waits for, 0 when nobody does.
func (p *position) waiting() LSN {
	p.mu.Lock()
	defer p.mu.Unlock()
	var most LSN
	for w := range p.waiters {
		most = max(most, w.want)
	}
	return most
}

// wait returns when the position has reached want. asked is called once when it has to wait.
func (p *position) wait(ctx context.Context, want LSN, asked func()) error {
	p.mu.Lock()
	switch {
	case !p.live:
		p.mu.Unlock()
		return ErrInterrupted
	case p.applied >= want:
		p.mu.Unlock()
		return nil
	}
	w := &waiter{want: want, done: make(chan error, 1)}
	if p.waiters == nil {
		p.waiters = map[*waiter]struct{}{}
	}
	p.waiters[w] = struct{}{}
	p.mu.Unlock()
	asked()
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		p.mu.Lock()
		delete(p.waiters, w)
		p.mu.Unlock()
		return context.Cause(ctx)
	}
}
