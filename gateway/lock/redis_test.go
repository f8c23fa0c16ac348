package lock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/lock"
	"github.com/pgbox/pgbox/gateway/lock/redistest"
)

func locker(t *testing.T, s *redistest.Server, c lock.RedisConfig) *lock.Redis {
	t.Helper()
	c.URL = s.URL()
	// A machine that does something else for a while is no failure of Redis, unless the test is about that.
	for _, d := range []*time.Duration{&c.Lease, &c.Call} {
		if *d == 0 {
			*d = time.Minute
		}
	}
	l, err := lock.NewRedis(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// patiently does what depends on a lease with longer and longer ones, until the machine is not too busy for one: wrong
// is what was to be seen and was not.
func patiently(t *testing.T, lease time.Duration, do func(lease time.Duration) (wrong string)) {
	t.Helper()
	wrong := ""
	for ; lease < 30*time.Second; lease *= 4 {
		if wrong = do(lease); wrong == "" {
			return
		}
	}
	t.Fatal(wrong)
}

// key is the lock's key of a sandbox, lineKey that of the processes that wait for it.
func key(id uuid.UUID) string     { return "pgbox:lock:{" + id.String() + "}" }
func lineKey(id uuid.UUID) string { return "pgbox:line:{" + id.String() + "}" }

// inLine waits until n processes stand in Redis' line.
func inLine(t *testing.T, s *redistest.Server, id uuid.UUID, n int64) {
	t.Helper()
	c := s.Client()
	defer func() { _ = c.Close() }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		got, err := c.LLen(t.Context(), lineKey(id)).Result()
		if err != nil {
			t.Fatal(err)
		}
		if got == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d in line, want %d", got, n)
		}
	}
}

// never is a fallback interval no test waits for: what passes with it was woken.
const never = time.Hour

func TestRedis_mutualExclusionAmongProcesses(t *testing.T) {
	s := redistest.Start(t)
	id := uuid.New()
	var wg sync.WaitGroup
	var mu sync.Mutex
	inside, served := 0, 0
	for range 4 {
		l := locker(t, s, lock.RedisConfig{})
		for w := range 4 {
			wg.Go(func() {
				for i := range 50 {
					// Some are impatient: what they leave behind must not stop the others.
					patience := time.Duration((w*50+i)%7)*time.Millisecond + time.Microsecond
					if i%10 == 0 {
						patience = time.Minute
					}
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					e, err := l.Lock(ctx, id)
					if err == nil {
						mu.Lock()
						inside++
						served++
						if inside != 1 {
							t.Error("two holders")
						}
						mu.Unlock()
						mu.Lock()
						inside--
						mu.Unlock()
						e.Unlock()
						e.Unlock()
					} else if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
					cancel()
				}
			})
		}
	}
	wg.Wait()
	if served < 4*4*5 {
		t.Fatalf("%d were served, the patient ones alone are 80", served)
	}
	must(t, locker(t, s, lock.RedisConfig{Lease: time.Minute}), id).Unlock()
}

// Processes are served in the order in which the first of each asked, and woken without polling.
func TestRedis_handsOverInOrderAndWakes(t *testing.T) {
	s := redistest.Start(t)
	id := uuid.New()
	a := locker(t, s, lock.RedisConfig{Fallback: never})
	held := must(t, a, id)
	var mu sync.Mutex
	var order []string
	var wg sync.WaitGroup
	wait := func(name string, l *lock.Redis) {
		wg.Go(func() {
			e := must(t, l, id)
			mu.Lock()
			order = append(order, name)
			mu.Unlock()
			e.Unlock()
		})
	}
	for i, name := range []string{"b", "c", "d"} {
		wait(name, locker(t, s, lock.RedisConfig{Fallback: never}))
		inLine(t, s, id, int64(i+1))
	}
	held.Unlock()
	// Whoever asks now stands behind them.
	wait("a", a)
	wg.Wait()
	if want := []string{"b", "c", "d", "a"}; !slices.Equal(order, want) {
		t.Fatalf("served %v, want %v", order, want)
	}
}

func TestRedis_waitIsBoundedAndLeavesTheLine(t *testing.T) {
	s := redistest.Start(t)
	id := uuid.New()
	held := must(t, locker(t, s, lock.RedisConfig{}), id)
	b := locker(t, s, lock.RedisConfig{Config: lock.Config{Wait: 50 * time.Millisecond}})
	if _, err := b.Lock(t.Context(), id); !errors.Is(err, lock.ErrTimeout) {
		t.Fatalf("got %v", err)
	}
	inLine(t, s, id, 0)
	gone := errors.New("client gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	res := make(chan error)
	c := locker(t, s, lock.RedisConfig{})
	go func() { _, err := c.Lock(ctx, id); res <- err }()
	inLine(t, s, id, 1)
	cancel(gone)
	if err := <-res; !errors.Is(err, gone) {
		t.Fatalf("got %v", err)
	}
	inLine(t, s, id, 0)
	held.Unlock()
	must(t, c, id).Unlock()
}

func TestRedis_leaseIsProlonged(t *testing.T) {
	s := redistest.Start(t)
	patiently(t, 150*time.Millisecond, func(lease time.Duration) string {
		id := uuid.New()
		e := must(t, locker(t, s, lock.RedisConfig{Lease: lease}), id)
		defer e.Unlock()
		b := locker(t, s, lock.RedisConfig{Config: lock.Config{Wait: 4 * lease}, Lease: lease, Fallback: lease / 8})
		taken, err := b.Lock(t.Context(), id)
		if err == nil {
			taken.Unlock()
		}
		if !errors.Is(err, lock.ErrTimeout) || e.Err() != nil {
			return fmt.Sprintf("a lease of %v: the holder has %v, the other got %v", lease, e.Err(), err)
		}
		return ""
	})
}

func TestRedis_lockTakenByAnotherIsLost(t *testing.T) {
	s := redistest.Start(t)
	c := s.Client()
	defer func() { _ = c.Close() }()
	patiently(t, 300*time.Millisecond, func(lease time.Duration) string {
		id := uuid.New()
		e := must(t, locker(t, s, lock.RedisConfig{Lease: lease}), id)
		defer e.Unlock()
		began := time.Now()
		if err := c.Set(t.Context(), key(id), "another/1", lease).Err(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-e.Done():
		case <-time.After(10 * lease):
			return "the holder does not notice"
		}
		if !errors.Is(e.Err(), lock.ErrLost) {
			t.Fatalf("got %v", e.Err())
		}
		if took := time.Since(began); took > lease*9/10 {
			return fmt.Sprintf("noticed after %v of %v, by the clock perhaps", took, lease)
		}
		return ""
	})
}

// A holder whose heartbeat could not run: Err knows by the clock, before any timer says so.
func TestRedis_leaseEndsByTheClockWhenRedisDoesNotAnswer(t *testing.T) {
	s := redistest.Start(t)
	id := uuid.New()
	e := must(t, locker(t, s, lock.RedisConfig{Lease: 200 * time.Millisecond}), id)
	s.Stall()
	defer s.Resume()
	began := time.Now()
	for e.Err() == nil {
		if time.Since(began) > time.Minute {
			t.Fatal("the lease does not end")
		}
		time.Sleep(time.Millisecond)
	}
	if !errors.Is(e.Err(), lock.ErrLost) {
		t.Fatalf("got %v", e.Err())
	}
	<-e.Done()
	e.Unlock()
}

// Redis forgets everything, once by FLUSHALL and once by dying: holders go on, others still wait.
func TestRedis_restartAndFlushAreSurvived(t *testing.T) {
	s := redistest.Start(t)
	c := s.Client()
	defer func() { _ = c.Close() }()
	patiently(t, time.Second, func(lease time.Duration) string {
		id := uuid.New()
		e := must(t, locker(t, s, lock.RedisConfig{Lease: lease}), id)
		defer e.Unlock()
		back := func() bool {
			for e.Err() == nil {
				if v, err := c.Get(t.Context(), key(id)).Result(); err == nil && v != "" {
					return true
				}
				time.Sleep(5 * time.Millisecond)
			}
			return false
		}
		if err := c.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if !back() {
			return "lost after a flush"
		}
		s.Kill()
		s.Start()
		if !back() {
			return "lost after a restart"
		}
		// A waiter whose wake-up connection broke in between is served all the same.
		b := locker(t, s, lock.RedisConfig{Fallback: 50 * time.Millisecond})
		res := make(chan error)
		go func() {
			e, err := b.Lock(t.Context(), id)
			if err == nil {
				e.Unlock()
			}
			res <- err
		}()
		inLine(t, s, id, 1)
		e.Unlock()
		if err := <-res; err != nil {
			t.Fatal(err)
		}
		return ""
	})
}

// A long line learns within the bound of one call that Redis is away, and is served when it is back.
func TestRedis_downIsToldToAllWithinBound(t *testing.T) {
	for _, how := range []string{"killed", "stalled"} {
		t.Run(how, func(t *testing.T) {
			s := redistest.Start(t)
			id := uuid.New()
			l := locker(t, s, lock.RedisConfig{Call: 300 * time.Millisecond})
			served := func() {
				t.Helper()
				for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
					if e, err := l.Lock(t.Context(), id); err == nil {
						e.Unlock()
						return
					} else if time.Now().After(deadline) {
						t.Fatalf("not served: %v", err)
					}
				}
			}
			served()
			if how == "killed" {
				s.Kill()
			} else {
				s.Stall()
			}
			began := time.Now()
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() {
					if _, err := l.Lock(t.Context(), id); !errors.Is(err, lock.ErrUnavailable) {
						t.Errorf("got %v", err)
					}
				})
			}
			wg.Wait()
			// One after the other it would be the time of fifty calls.
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("told after %v", took)
			}
			if how == "killed" {
				s.Start()
			} else {
				s.Resume()
			}
			served()
		})
	}
}

func TestRedis_fullMemory(t *testing.T) {
	s := redistest.Start(t)
	id, other := uuid.New(), uuid.New()
	l := locker(t, s, lock.RedisConfig{})
	held := must(t, l, id)
	c := s.Client()
	defer func() { _ = c.Close() }()
	memory := func(v string) {
		t.Helper()
		if err := c.ConfigSet(t.Context(), "maxmemory", v).Err(); err != nil {
			t.Fatal(err)
		}
	}
	memory("1")
	if _, err := l.Lock(t.Context(), other); !errors.Is(err, lock.ErrUnavailable) ||
		!strings.Contains(err.Error(), "OOM") {
		t.Fatalf("got %v", err)
	}
	held.Unlock() // what is there can be given back
	for deadline := time.Now().Add(time.Minute); c.Exists(t.Context(), key(id)).Val() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not given back")
		}
	}
	memory("0")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) { // for the breather after a failure
		if e, err := l.Lock(t.Context(), other); err == nil {
			e.Unlock()
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// Values under our keys that we never write must not lock a sandbox for ever.
func TestRedis_foreignValuesUnderOurKeys(t *testing.T) {
	s := redistest.Start(t)
	l := locker(t, s, lock.RedisConfig{Lease: time.Second})
	c := s.Client()
	defer func() { _ = c.Close() }()
	for name, put := range map[string]func(id uuid.UUID) error{
		"no expiry":         func(id uuid.UUID) error { return c.Set(t.Context(), key(id), "x", 0).Err() },
		"expiry in a year":  func(id uuid.UUID) error { return c.Set(t.Context(), key(id), "x", 8760*time.Hour).Err() },
		"list for the lock": func(id uuid.UUID) error { return c.LPush(t.Context(), key(id), "x").Err() },
		"text for the line": func(id uuid.UUID) error { return c.Set(t.Context(), lineKey(id), "x", 0).Err() },
		"noise in the line": func(id uuid.UUID) error {
			return c.RPush(t.Context(), lineKey(id), "", "/", "x", "\x00\xff").Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := uuid.New()
			if err := put(id); err != nil {
				t.Fatal(err)
			}
			e := must(t, l, id)
			e.Unlock()
			must(t, l, id).Unlock()
		})
	}
}

// A process that stood in the line and is gone is passed over at once.
func TestRedis_deadProcessInTheLine(t *testing.T) {
	s := redistest.Start(t)
	id := uuid.New()
	held := must(t, locker(t, s, lock.RedisConfig{}), id)
	c := s.Client()
	defer func() { _ = c.Close() }()
	if err := c.RPush(t.Context(), lineKey(id), uuid.NewString()+"/1").Err(); err != nil {
		t.Fatal(err)
	}
	b := locker(t, s, lock.RedisConfig{Fallback: never})
	res := make(chan error)
	go func() {
		e, err := b.Lock(t.Context(), id)
		if err == nil {
			e.Unlock()
		}
		res <- err
	}()
	inLine(t, s, id, 2)
	held.Unlock()
	if err := <-res; err != nil {
		t.Fatal(err)
	}
}

// calls is how many scripts Redis has run.
func calls(t *testing.T, s *redistest.Server) int {
	t.Helper()
	c := s.Client()
	defer func() { _ = c.Close() }()
	info, err := c.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if _, rest, ok := strings.Cut(info, "cmdstat_evalsha:calls="); ok {
		if _, err := fmt.Sscan(strings.SplitN(rest, ",", 2)[0], &n); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// Those who wait in one process take over from one another without asking Redis, as long as that is short.
func TestRedis_isPassedOnWithinAProcess(t *testing.T) {
	s := redistest.Start(t)
	l := locker(t, s, lock.RedisConfig{})
	const waiters = 20
	for attempt := 1; ; attempt++ { // a busy machine may take longer than the lock is kept for
		id, before := uuid.New(), calls(t, s)
		held := must(t, l, id)
		var wg sync.WaitGroup
		for range waiters {
			wg.Go(func() { must(t, l, id).Unlock() })
		}
		for l.Waiting(id) < waiters {
			time.Sleep(time.Millisecond)
		}
		held.Unlock()
		wg.Wait()
		n := calls(t, s) - before
		if n < 2*waiters {
			return
		}
		if attempt == 50 {
			t.Fatalf("%d calls for %d leases", n, waiters+1)
		}
	}
}

// A process whose line is never empty does not keep the others out.
func TestRedis_isNotKeptForEver(t *testing.T) {
	s := redistest.Start(t)
	id := uuid.New()
	a, b := locker(t, s, lock.RedisConfig{}), locker(t, s, lock.RedisConfig{})
	over := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				held := must(t, a, id)
				// Somebody of its own process is in the line whenever it lets go: only time gives the others their turn.
				for waiting := false; !waiting; {
					select {
					case <-over:
						waiting = true
					default:
						runtime.Gosched()
						waiting = a.Waiting(id) > 0
					}
				}
				held.Unlock()
			}
		})
	}
	for range 5 {
		must(t, b, id).Unlock()
	}
	close(over)
	wg.Wait()
}

// What was kept for somebody who went away is given back.
func TestRedis_isGivenBackWhenTheNextOneLeaves(t *testing.T) {
	s := redistest.Start(t)
	l := locker(t, s, lock.RedisConfig{})
	c := s.Client()
	defer func() { _ = c.Close() }()
	for range 50 {
		id := uuid.New()
		held := must(t, l, id)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if e, err := l.Lock(ctx, id); err == nil {
				e.Unlock()
			}
		})
		for l.Waiting(id) == 0 {
			time.Sleep(100 * time.Microsecond)
		}
		wg.Go(cancel)
		held.Unlock()
		wg.Wait()
		for deadline := time.Now().Add(30 * time.Second); c.Exists(t.Context(),
			key(id)).Val() != 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the lock is still held")
			}
		}
	}
}

func TestRedis_badURL(t *testing.T) {
	if _, err := lock.NewRedis(lock.RedisConfig{URL: "redis://u:secret@h:port"}); err == nil ||
		strings.Contains(err.Error(), "secret") {
		t.Fatalf("got %v", err)
	}
}
