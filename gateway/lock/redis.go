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
	// Fallback is how often a waiter asks again although nobody woke it: a wake-up is lost when the connection that carries
	// them breaks. Default 1 s.
	Fallback time.Duration
	Config
}

// Redis locks among the processes that share a Redis. Within a process writers wait in order of arrival and only the
// first of a sandbox asks Redis; among processes the first ones wait in a line that Redis keeps. Whoever releases hands the lock to the
// first process in line and wakes it: nobody polls.
//
// What Redis says is advice. It may forget (restart, flush, failover) and it may answer late; two writers at once cost one of them a
// repetition, since the compare-and-set of the commit lets only one through.
type Redis struct {
	c       RedisConfig
	process string
	tokens  atomic.Uint64 // numbers them, so that Redis can tell a late call from a new one
	local   *Local
	client  *redis.Client
	wakes   *redis.PubSub

	mu      sync.Mutex
	waiting map[string]chan struct{} // by token; gets one value at the wake-up

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
	l := &Redis{c: c, process: uuid.NewString(), local: NewLocal(c.Config), client: redis.NewClient(o), waiting: map[string]chan struct{}{}, began: time.Now()}
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

func (l *Redis) channel() string { return l.c.Prefix + "wake:" }

// keys are those of one sandbox, in one slot of a Redis cluster.
func (l *Redis) keys(sandbox uuid.UUID) []string {
	return []string{l.c.Prefix + "lock:{" + sandbox.String() + "}", l.c.Prefix + "line:{" + sandbox.String() + "}"}
}

// wake tells the waiter that a grant is for ("token sandbox"). A grant for one that is not there any more is given back.
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
	e := &redisLease{l: l, sandbox: sandbox, token: l.process + "/" + strconv.FormatUint(l.tokens.Add(1), 10), done: make(chan struct{}), turn: turn}
	woken := make(chan struct{}, 1)
	l.mu.Lock()
	l.waiting[e.token] = woken
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.waiting, e.token)
		l.mu.Unlock()
	}()
	if err := l.obtain(ctx, e, woken, deadline); err != nil {
		// Perhaps it is ours, or will be, and we did not hear of it. When Redis does not answer, those behind us need not wait
		// until it was told.
		e.giveBack(errors.Is(err, ErrUnavailable))
		return nil, err
	}
	e.timer = time.AfterFunc(l.c.Lease/3, e.beat)
	return e, nil
}

func (l *Redis) obtain(ctx context.Context, e *redisLease, woken <-chan struct{}, deadline time.Time) error {
	late := time.NewTimer(time.Until(deadline))
	defer late.Stop()
	for {
		if time.Since(l.began) < time.Duration(l.down.Load()) {
			return ErrUnavailable
		}
		sent := time.Now()
		got, err := l.call(ctx, obtainScript, l.keys(e.sandbox), e.token, l.c.Lease.Milliseconds(), l.grant().Milliseconds(),
			(l.c.Wait + l.c.Lease).Milliseconds(), l.channel())
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			l.down.Store(int64(time.Since(l.began) + breather))
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		if got {
			e.until = sent.Add(l.c.Lease)
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

// grant is how long a lock waits for the process it was handed to. One that is stopped must not keep the others longer than
// needed; one that is merely slow must not lose its turn.
func (l *Redis) grant() time.Duration { return min(l.c.Lease, 2*time.Second) }

func (l *Redis) call(ctx context.Context, s *redis.Script, keys []string, args ...any) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, l.c.Call)
	defer cancel()
	n, err := s.Run(ctx, l.client, keys, args...).Int()
	return n == 1, err
}

type redisLease struct {
	l       *Redis
	sandbox uuid.UUID
	token   string
	turn    Lease // of the line within the process
	done    chan struct{}

	mu       sync.Mutex
	until    time.Time // by our clock, counted from before the call was sent: Redis lets go later
	lost     bool
	released bool
	timer    *time.Timer
}

// Done implements [Lease].
func (e *redisLease) Done() <-chan struct{} { return e.done }

// Err implements [Lease]. It asks the clock, not the heartbeat: a process that was stopped and goes on
// gets here before its timers do.
func (e *redisLease) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.lost && !time.Now().Before(e.until) {
		e.lose()
	}
	if e.lost {
		return ErrLost
	}
	return nil
}

// lose ends the lease; e.mu is held.
func (e *redisLease) lose() {
	if !e.lost && !e.released {
		e.lost = true
		close(e.done)
	}
}

// beat prolongs the lease, and itself. A failed call is repeated as long as the lease lasts.
func (e *redisLease) beat() {
	if e.Err() != nil {
		return
	}
	e.mu.Lock()
	if e.released {
		e.mu.Unlock()
		return
	}
	ctx, cancel := context.WithDeadline(context.Background(), e.until)
	e.mu.Unlock()
	defer cancel()
	sent := time.Now()
	ours, err := e.l.call(ctx, refreshScript, e.l.keys(e.sandbox)[:1], e.token, e.l.c.Lease.Milliseconds())

	e.mu.Lock()
	defer e.mu.Unlock()
	next := e.l.c.Lease / 3
	switch {
	case e.released:
		// The release may have come before the refresh, which then took the lock again.
		if err != nil || ours {
			e.l.running.Go(func() { e.l.release(e.sandbox, e.token) })
		}
		return
	case err == nil && ours:
		e.until = sent.Add(e.l.c.Lease)
	case err == nil, !time.Now().Before(e.until):
		e.lose()
		return
	default:
		next = min(e.l.c.Lease/10, time.Until(e.until))
	}
	e.timer = time.AfterFunc(next, e.beat)
}

// Unlock implements [Lease]. The caller does not wait for Redis; the next one in this process does.
func (e *redisLease) Unlock() { e.giveBack(false) }

func (e *redisLease) giveBack(nextFirst bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.released {
		return
	}
	e.released = true
	if e.timer != nil {
		e.timer.Stop()
	}
	if nextFirst {
		e.turn.Unlock()
	}
	e.l.running.Go(func() {
		e.l.release(e.sandbox, e.token)
		e.turn.Unlock()
	})
}

// release gives back what Redis may know of a token. When it cannot be told, the lease expires.
func (l *Redis) release(sandbox uuid.UUID, token string) {
	_, _ = l.call(context.Background(), releaseScript, l.keys(sandbox), token, l.c.Lease.Milliseconds(), l.grant().Milliseconds(), l.channel())
}
