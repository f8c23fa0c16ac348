package replication

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// freshness is what is known about how current the follower is, in time of this process's monotonic clock.
type freshness struct {
	base    time.Time
	proven  atomic.Int64 // everything committed before this moment has been applied; nanoseconds since base, 0: nothing
	pending atomic.Int64 // when the barrier under way began, 0: none
	demand  atomic.Int64 // the smallest age that somebody asked for lately, 0: nobody
	asked   atomic.Int64 // when that was last asked for
	wake    chan struct{}
}

// demandFor is how long barriers keep the pace of the smallest age after it was last asked for.
const demandFor = 10 * time.Second

func (f *freshness) init() {
	f.base = time.Now().Add(-time.Nanosecond)
	f.wake = make(chan struct{}, 1)
}

func (f *freshness) now() int64 { return int64(time.Since(f.base)) }

// within reports whether the follower is known to be at most max old, and makes barriers come often enough for that to
// stay so.
func (f *freshness) within(max time.Duration) bool {
	now := f.now()
	d := f.demand.Load()
	if d == 0 || int64(max) <= d || now-f.asked.Load() > int64(demandFor) {
		f.demand.Store(int64(max))
		f.asked.Store(now)
	}
	if d == 0 || int64(max) < d {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
	p := f.proven.Load()
	return p > 0 && now-p <= int64(max)
}

func (f *freshness) void() { f.proven.Store(0); f.pending.Store(0) }

// lag is for how long the barrier under way has not been reached, beyond what one takes anyway.
func (f *freshness) lag() time.Duration {
	if p := f.pending.Load(); p > 0 {
		return time.Duration(f.now() - p)
	}
	return 0
}

// interval is the pause between barriers: a third of the age asked for, so that one barrier that is late does no harm.
func (f *freshness) interval(idle time.Duration) time.Duration {
	d := f.demand.Load()
	if d == 0 {
		return idle
	}
	if f.now()-f.asked.Load() > int64(demandFor) {
		f.demand.Store(0)
		return idle
	}
	return min(idle, max(time.Duration(d)/3, 5*time.Millisecond))
}

// Fresh reports whether everything that was committed until max ago has been handed over. It asks nobody; the first
// call may say no until the barriers have taken up the pace.
func (l *Listener) Fresh(max time.Duration) bool {
	fresh := l.fresh.within(max)
	_, live := l.pos.get()
	return fresh && live
}

// barriers runs barriers until ctx is done: each reads how far the log is on disk and waits until that is applied.
func (l *Listener) barriers(ctx context.Context, conn *pgconn.PgConn) {
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-l.fresh.wake:
		}
		began := l.fresh.now()
		l.fresh.pending.Store(began)
		at, err := flushed(ctx, conn)
		if err == nil {
			l.server.Store(max(l.server.Load(), uint64(at)))
			err = l.WaitFor(ctx, at)
		}
		l.fresh.pending.Store(0)
		if err != nil {
			if ctx.Err() == nil && conn.IsClosed() {
				conn = l.reopen(ctx, conn)
			}
			timer.Reset(l.cfg.BarrierIdle)
			continue
		}
		l.fresh.proven.Store(began)
		timer.Reset(l.fresh.interval(l.cfg.BarrierIdle))
	}
}

// reopen replaces the barriers' connection, which the stream does not depend on; old again when ctx is done.
func (l *Listener) reopen(ctx context.Context, old *pgconn.PgConn) *pgconn.PgConn {
	for {
		c, err := connect(ctx, l.cfg.URL, false)
		if err == nil {
			return c
		}
		select {
		case <-ctx.Done():
			return old
		case <-time.After(l.cfg.BarrierIdle):
		}
	}
}
