package sandbox

import (
	"context"
	"errors"
	"sync"

	"github.com/pgbox/pgbox/gateway/sched"
)

// errDraining: the process is shutting down.
var errDraining = errors.New("the server is shutting down")

// calls counts what is in flight, so that a shutdown can wait for it and then end it.
type calls struct {
	max  int
	life context.Context // done when everything must end now
	kill context.CancelCauseFunc

	mu       sync.Mutex
	n        int
	draining bool
	stop     chan struct{} // closed when draining: for calls without an end of their own
	idle     chan struct{} // closed when draining and n is 0
}

func newCalls(max int) *calls {
	life, kill := context.WithCancelCause(context.Background())
	return &calls{max: max, life: life, kill: kill, stop: make(chan struct{}), idle: make(chan struct{})}
}

// begin counts a call. The returned context is also done when a shutdown runs out of patience; end must be called.
func (c *calls) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.draining:
		return nil, nil, errDraining
	case c.n >= c.max:
		return nil, nil, sched.ErrBusy
	}
	c.n++
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.life, func() { cancel(errDraining) })
	return ctx, func() {
		stop()
		cancel(nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.n--; c.n == 0 && c.draining {
			close(c.idle)
		}
	}, nil
}

// drain refuses new calls and waits for the others; when ctx is done it ends them and still waits.
func (c *calls) drain(ctx context.Context) error {
	c.mu.Lock()
	if !c.draining {
		c.draining = true
		close(c.stop)
		if c.n == 0 {
			close(c.idle)
		}
	}
	c.mu.Unlock()
	select {
	case <-c.idle:
		c.kill(nil)
		return nil
	case <-ctx.Done():
	}
	c.kill(errDraining)
	<-c.idle
	return context.Cause(ctx)
}
