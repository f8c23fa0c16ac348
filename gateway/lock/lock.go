package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
)

// What Lock fails with, besides the cause of the caller's context.
var (
	// ErrTimeout: the lock was not free within the bound on waiting.
	ErrTimeout = errors.New("lock: timed out waiting")
	// ErrQueueFull: too many are waiting already.
	ErrQueueFull = errors.New("lock: queue full")
	// ErrUnavailable: the lock service cannot be reached.
	ErrUnavailable = errors.New("lock: unavailable")
	// ErrLost is what Err of a lease says that was lost.
	ErrLost = errors.New("lock: lease lost")
)

// Locker hands out the lock of a sandbox.
type Locker interface {
	// Lock waits for its turn and returns the lease. The error is ErrTimeout, ErrQueueFull, ErrUnavailable or the cause of
	// ctx.
	Lock(ctx context.Context, sandbox uuid.UUID) (Lease, error)
}

// Lease is a lock that is held.
type Lease interface {
	// Done is closed when the lease is lost. It is never closed by Unlock; a nil channel means it cannot be lost.
	Done() <-chan struct{}
	// Err is ErrLost after Done is closed, nil before.
	Err() error
	// Unlock lets the next one in. Calling it again does nothing.
	Unlock()
}

// Config bounds a [Local]. Zero values mean the defaults.
type Config struct {
	Wait  time.Duration // how long a caller waits for its turn; default 60 s
	Queue int           // how many may wait for one sandbox; default 256
}

// Local locks within this process.
type Local struct {
	wait  time.Duration
	queue int
	idle  func(sandbox uuid.UUID) // called when nobody holds the lock or waits for it any more; may be nil

	mu   sync.Mutex
	held map[uuid.UUID]*line
}

// line is the holder of one sandbox's lock and those who wait behind it.
type line struct {
	waiting []*turn
}

type turn struct {
	granted chan struct{} // closed when the lock is handed over
}

// NewLocal returns a Locker for one process that serves alone.
func NewLocal(c Config) *Local {
	if c.Wait <= 0 {
		c.Wait = time.Minute
	}
	if c.Queue <= 0 {
		c.Queue = 256
	}
	return &Local{wait: c.Wait, queue: c.Queue, held: map[uuid.UUID]*line{}}
}

// Lock implements [Locker].
func (l *Local) Lock(ctx context.Context, sandbox uuid.UUID) (Lease, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l.mu.Lock()
	q, busy := l.held[sandbox]
	if !busy {
		l.held[sandbox] = &line{}
		l.mu.Unlock()
		return &localLease{l: l, sandbox: sandbox}, nil
	}
	if len(q.waiting) >= l.queue {
		l.mu.Unlock()
		return nil, ErrQueueFull
	}
	t := &turn{granted: make(chan struct{})}
	q.waiting = append(q.waiting, t)
	l.mu.Unlock()

	timer := time.NewTimer(l.wait)
	defer timer.Stop()
	var err error
	select {
	case <-t.granted:
		return &localLease{l: l, sandbox: sandbox}, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timer.C:
		err = ErrTimeout
	}
	if !l.leave(sandbox, t) {
		// Granted in the same moment: it is ours to pass on.
		l.release(sandbox)
	}
	return nil, err
}

// leave takes t out of the line; false when it is not there any more because the lock is t's.
func (l *Local) leave(sandbox uuid.UUID, t *turn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q, ok := l.held[sandbox]; ok {
		for i, w := range q.waiting {
			if w == t {
				q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
				return true
			}
		}
	}
	return false
}

func (l *Local) release(sandbox uuid.UUID) {
	l.mu.Lock()
	q := l.held[sandbox]
	if len(q.waiting) == 0 {
		delete(l.held, sandbox)
		l.mu.Unlock()
		if l.idle != nil {
			l.idle(sandbox)
		}
		return
	}
	t := q.waiting[0]
	q.waiting[0] = nil
	q.waiting = q.waiting[1:]
	close(t.granted)
	l.mu.Unlock()
}

// Waiting is the number of callers in line for a sandbox behind its holder.
func (l *Local) Waiting(sandbox uuid.UUID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q, ok := l.held[sandbox]; ok {
		return len(q.waiting)
	}
	return 0
}

type localLease struct {
	l       *Local
	sandbox uuid.UUID
	once    sync.Once
}

func (*localLease) Done() <-chan struct{} { return nil }
func (*localLease) Err() error            { return nil }
func (e *localLease) Unlock()             { e.once.Do(func() { e.l.release(e.sandbox) }) }
