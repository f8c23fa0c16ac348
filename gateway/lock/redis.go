package lock

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// The scripts. Each is atomic in Redis; what they share is prefixed.
var (
	//go:embed common.lua
	commonLua string
	//go:embed obtain.lua
	obtainLua string
	//go:embed refresh.lua
	refreshLua string
	//go:embed release.lua
	releaseLua string

	obtainScript  = redis.NewScript(commonLua + obtainLua)
	refreshScript = redis.NewScript(commonLua + refreshLua)
	releaseScript = redis.NewScript(commonLua + releaseLua)
)

// RedisConfig is what a [Redis] needs. Zero durations mean the defaults.
type RedisConfig struct {
	URL    string        // redis://, rediss:// or unix://
	Prefix string        // of every key and channel; default "pgbox:"
	Lease  time.Duration // how long a lease lasts that nobody prolongs; default 10 s. It is prolonged at a third of it.
	// Call bounds one call of Redis, with what the client repeats of it; default 2 s. A writer is told that locks are
	// unavailable after at most this long.
	Call time.Duration
	// Fallback is how often a waiter asks again although nobody woke it: a wake-up is lost when the connection that
	// carries them breaks. Default 1 s.
	Fallback time.Duration
	Config
}

// Redis locks among the processes that share a Redis. Within a process writers wait in order of arrival and only the
// first of a sandbox asks Redis; among processes the first ones wait in a line that Redis keeps. Whoever releases hands
// the lock to the first process in line and wakes it: nobody polls.
//
// What Redis says is advice. It may forget (restart, flush, failover) and it may answer late; two writers at once cost
// one of them a repetition, since the compare-and-set of the commit lets only one through.
type Redis struct {
	c       RedisConfig
	process string
	tokens  atomic.Uint64 // numbers them, so that Redis can tell a late call from a new one
	local   *Local
	client  *redis.Client
	wakes   *redis.PubSub

	mu      sync.Mutex
	waiting map[string]chan struct{} // by token; gets one value at the wake-up
	kept    map[uuid.UUID]*tenure    // passed on to the next in line within this process, who has not come yet

	// down is the time, in nanoseconds since began, until which Redis is taken to be unreachable after a failed call:
	// otherwise each of a long line would wait for its own failure.
	began time.Time
	down  atomic.Int64

	running sync.WaitGroup // releases and the reader of wake-ups
}

// breather is how long nobody asks Redis again after a failed call.
const breather = 250 * time.Millisecond

// clientLog keeps what the client library says of its connections off standard error.
type clientLog struct{}

func (clientLog) Printf(ctx context.Context, format string, v ...any) {
	slog.DebugContext(ctx, "redis client", "msg", fmt.Sprintf(format, v...))
}

var quiet = sync.OnceFunc(func() { redis.SetLogger(clientLog{}) })

// NewRedis returns a Locker. It does not need Redis to be up yet; only the URL has to make sense.
func NewRedis(c RedisConfig) (*Redis, error) {
	if c.Prefix == "" {
		c.Prefix = "pgbox:"
	}
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{{&c.Lease, 10 * time.Second}, {&c.Call, 2 * time.Second}, {&c.Fallback, time.Second}, {&c.Wait, time.Minute}} {
		if *d.v <= 0 {
			*d.v = d.def
		}
	}
	quiet()
	o, err := redis.ParseURL(c.URL)
	if err != nil {
		return nil, errors.New("REDIS_URL cannot be parsed") // the error's own text may hold the password
	}
	// A pool of the locks' own: large values elsewhere must not stand in front of a heartbeat.
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = c.Call/2, c.Call, c.Call
	o.MaxRetries = 2
	l := &Redis{c: c, process: uuid.NewString(), local: NewLocal(c.Config), client: redis.NewClient(o),
		waiting: map[string]chan struct{}{}, kept: map[uuid.UUID]*tenure{}, began: time.Now()}
	l.local.idle = l.abandoned
	l.wakes = l.client.Subscribe(context.Background(), l.channel()+l.process)
	// Made at once, so that Close ends it also when it comes first.
	granted := l.wakes.Channel(redis.WithChannelSize(1024))
	l.running.Go(func() {
		for m := range granted {
			l.wake(m.Payload)
		}
	})
	return l, nil
}

// Close returns when every lock that was given back is given back in Redis too. Leases still held are left to expire.
func (l *Redis) Close() error {
	err := l.wakes.Close()
	l.running.Wait()
	return errors.Join(err, l.client.Close())
}

// Ping reports whether Redis answers.
func (l *Redis) Ping(ctx context.Context) error { return l.client.Ping(ctx).Err() }

// Waiting is the number of callers of this process in line for a sandbox behind the one that holds the lock or asks
// Redis for it.
func (l *Redis) Waiting(sandbox uuid.UUID) int { return l.local.Waiting(sandbox) }

func (l *Redis) channel() string { return l.c.Prefix + "wake:" }

// keys are those of one sandbox, in one slot of a Redis cluster.
func (l *Redis) keys(sandbox uuid.UUID) []string {
	return []string{l.c.Prefix + "lock:{" + sandbox.String() + "}", l.c.Prefix + "line:{" + sandbox.String() + "}"}
}

// wake tells the waiter that a grant is for ("token sandbox"). A grant for one that is not there any more is given
// back.
func (l *Redis) wake(grant string) {
	token, of, _ := strings.Cut(grant, " ")
	l.mu.Lock()
	ch, ok := l.waiting[token]
	l.mu.Unlock()
	if ok {
		select {
		case ch <- struct{}{}:
		default:
		}
		return
	}
	if sandbox, err := uuid.Parse(of); err == nil {
		l.running.Go(func() { l.release(sandbox, token) })
	}
}

// Lock implements [Locker].
func (l *Redis) Lock(ctx context.Context, sandbox uuid.UUID) (Lease, error) {
	deadline := time.Now().Add(l.c.Wait)
	turn, err := l.local.Lock(ctx, sandbox)
	if err != nil {
		return nil, err
	}
	if e := l.adopt(sandbox, turn); e != nil {
		return e, nil
	}
	h := &tenure{l: l, sandbox: sandbox, token: l.process + "/" + strconv.FormatUint(l.tokens.Add(1), 10),
		done: make(chan struct{})}
	woken := make(chan struct{}, 1)
	l.mu.Lock()
	l.waiting[h.token] = woken
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.waiting, h.token)
		l.mu.Unlock()
	}()
	if err := l.obtain(ctx, h, woken, deadline); err != nil {
		// Perhaps it is ours, or will be, and we did not hear of it. When Redis does not answer, those behind us need not
		// wait until it was told.
		h.giveBack(turn, errors.Is(err, ErrUnavailable))
		return nil, err
	}
	h.mu.Lock()
	h.timer = time.AfterFunc(l.c.Lease/3, h.beat)
	h.mu.Unlock()
	return &redisLease{tenure: h, turn: turn}, nil
}

// adopt takes over what the one before in this process has kept.
func (l *Redis) adopt(sandbox uuid.UUID, turn Lease) *redisLease {
	l.mu.Lock()
	h := l.kept[sandbox]
	delete(l.kept, sandbox)
	l.mu.Unlock()
	if h == nil {
		return nil
	}
	if h.Err() != nil {
		h.end()
		return nil
	}
	return &redisLease{tenure: h, turn: turn}
}

// abandoned gives back what was kept for somebody who did not come, when nobody else is in line.
func (l *Redis) abandoned(sandbox uuid.UUID) {
	l.mu.Lock()
	h := l.kept[sandbox]
	delete(l.kept, sandbox)
	l.mu.Unlock()
	if h != nil && h.end() {
		l.running.Go(func() { l.release(sandbox, h.token) })
	}
}

func (l *Redis) obtain(ctx context.Context, h *tenure, woken <-chan struct{}, deadline time.Time) error {
	late := time.NewTimer(time.Until(deadline))
	defer late.Stop()
	for {
		if time.Since(l.began) < time.Duration(l.down.Load()) {
			return ErrUnavailable
		}
		sent := time.Now()
		got, err := l.call(ctx, obtainScript, l.keys(h.sandbox), h.token, l.c.Lease.Milliseconds(), l.grant().Milliseconds(),
			(l.c.Wait + l.c.Lease).Milliseconds(), l.channel())
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			l.down.Store(int64(time.Since(l.began) + breather))
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		if got {
			h.began, h.until = time.Now(), sent.Add(l.c.Lease)
			return nil
		}
		again := time.NewTimer(l.c.Fallback)
		select {
		case <-woken:
		case <-again.C:
		case <-late.C:
			err = ErrTimeout
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		again.Stop()
		if err != nil {
			return err
		}
	}
}

// grant is how long a lock waits for the process it was handed to. One that is stopped must not keep the others longer
// than needed; one that is merely slow must not lose its turn.
func (l *Redis) grant() time.Duration { return min(l.c.Lease, 2*time.Second) }

func (l *Redis) call(ctx context.Context, s *redis.Script, keys []string, args ...any) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, l.c.Call)
	defer cancel()
	n, err := s.Run(ctx, l.client, keys, args...).Int()
	return n == 1, err
}

// keepFor is how long a lock may be passed on within a process before the other processes have their turn: handing it
// to one of them takes longer than a short exec, and there it finds a tree that is not current yet and contents that
// are not cached. So with many writers in each of several processes most of the time would go into that.
const keepFor = 50 * time.Millisecond

// tenure is the time for which this process has a lock in Redis. It belongs to one lease after the other.
type tenure struct {
	l       *Redis
	sandbox uuid.UUID
	token   string
	done    chan struct{}
	began   time.Time

	mu       sync.Mutex
	until    time.Time // by our clock, counted from before the call was sent: Redis lets go later
	lost     bool
	released bool
	timer    *time.Timer
}

// redisLease is one holder's part of a tenure.
type redisLease struct {
	*tenure
	turn Lease // of the line within the process
	once sync.Once
}

// Done implements [Lease].
func (h *tenure) Done() <-chan struct{} { return h.done }

// Err implements [Lease]. It asks the clock, not the heartbeat: a process that was stopped and goes on
// gets here before its timers do.
func (h *tenure) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.lost && !time.Now().Before(h.until) {
		h.lose()
	}
	if h.lost {
		return ErrLost
	}
	return nil
}

// lose ends the tenure; h.mu is held.
func (h *tenure) lose() {
	if !h.lost && !h.released {
		h.lost = true
		close(h.done)
	}
}

// beat prolongs the tenure, and itself. A failed call is repeated as long as the tenure lasts.
func (h *tenure) beat() {
	if h.Err() != nil {
		return
	}
	h.mu.Lock()
	if h.released {
		h.mu.Unlock()
		return
	}
	ctx, cancel := context.WithDeadline(context.Background(), h.until)
	h.mu.Unlock()
	defer cancel()
	sent := time.Now()
	ours, err := h.l.call(ctx, refreshScript, h.l.keys(h.sandbox)[:1], h.token, h.l.c.Lease.Milliseconds())

	h.mu.Lock()
	defer h.mu.Unlock()
	next := h.l.c.Lease / 3
	switch {
	case h.released:
		// The release may have come before the refresh, which then took the lock again.
		if err != nil || ours {
			h.l.running.Go(func() { h.l.release(h.sandbox, h.token) })
		}
		return
	case err == nil && ours:
		h.until = sent.Add(h.l.c.Lease)
	case err == nil, !time.Now().Before(h.until):
		h.lose()
		return
	default:
		next = min(h.l.c.Lease/10, time.Until(h.until))
	}
	h.timer = time.AfterFunc(next, h.beat)
}

// Unlock implements [Lease]. The caller does not wait for Redis; the next one in this process does, unless the lock is
// kept for it.
func (e *redisLease) Unlock() {
	e.once.Do(func() {
		if !e.keep() {
			e.giveBack(e.turn, false)
			return
		}
		e.turn.Unlock()
	})
}

// keep leaves the tenure to the next in line within this process, if there is one and the others have not waited long
// enough.
func (h *tenure) keep() bool {
	if time.Since(h.began) > keepFor || h.l.local.Waiting(h.sandbox) == 0 || h.Err() != nil {
		return false
	}
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	h.l.kept[h.sandbox] = h
	return true
}

// end stops the heartbeat; false when that was done before.
func (h *tenure) end() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.released {
		return false
	}
	h.released = true
	if h.timer != nil {
		h.timer.Stop()
	}
	return true
}

// giveBack ends the tenure, and then the turn within the process.
func (h *tenure) giveBack(turn Lease, nextFirst bool) {
	if !h.end() {
		return
	}
	if nextFirst {
		turn.Unlock()
	}
	h.l.running.Go(func() {
		h.l.release(h.sandbox, h.token)
		turn.Unlock()
	})
}

// release gives back what Redis may know of a token. When it cannot be told, the lease expires.
func (l *Redis) release(sandbox uuid.UUID, token string) {
	_, _ = l.call(context.Background(), releaseScript, l.keys(sandbox), token, l.c.Lease.Milliseconds(),
		l.grant().Milliseconds(), l.channel())
}
