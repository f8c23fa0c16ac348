package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/devdb/link"
	"github.com/pgbox/pgbox/gateway/feed"
	"github.com/pgbox/pgbox/gateway/lock"
	"github.com/pgbox/pgbox/gateway/lock/redistest"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/wire"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// wire is a link that is closed with the test.
func linkTo(t testing.TB, name string) *link.Link {
	t.Helper()
	l, err := link.New(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// locks returns a locker of its own process, as it were, whose Redis is behind a link.
func locks(t testing.TB, l *link.Link, c lock.RedisConfig) *lock.Redis {
	t.Helper()
	c.URL = "redis://" + l.Addr()
	r, err := lock.NewRedis(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() }) // Redis may be gone
	return r
}

// A warm read-only exec is one round trip to Postgres and none to Redis; with a staleness it is none at all.
func TestReadOnlyExecOnTheWire(t *testing.T) {
	t.Parallel()
	var trips link.Trips
	var redis atomic.Int64
	pg := linkTo(t, "postgres")
	pg.Tap(trips.Tap)
	url, err := pg.ToPostgres(sqltest.ServingURL(t, sqltest.URL(t)))
	if err != nil {
		t.Fatal(err)
	}
	rd := linkTo(t, "redis")
	rd.Tap(func() func([]byte) { return func([]byte) { redis.Add(1) } })
	rd.To("unix", redistest.Start(t).Socket())
	st, err := store.Open(context.Background(), store.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	f := feed.New(feed.Config{Mode: feed.Replication, URL: sqltest.URL(t)})
	s := service(t, sandbox.Config{Store: st, Feed: f, Locker: locks(t, rd, lock.RedisConfig{})})
	t.Cleanup(f.Stop)
	if err := f.Start(context.Background(), s.Trees()); err != nil {
		t.Fatal(err)
	}
	id := emptySandbox(t)
	run(t, s, id, "echo one > f")
	if redis.Load() == 0 || trips.Load() == 0 {
		t.Fatalf("a write was %d round trips and called Redis %d times: nothing is counted", trips.Load(), redis.Load())
	}
	stale := alice
	stale.MaxStaleness = time.Minute
	for _, c := range []struct {
		caller sandbox.Caller
		want   int64
	}{{alice, 1}, {stale, 0}} {
		if c.want == 0 {
			eventually(t, "freshness", func() bool { return f.Fresh(stale.MaxStaleness) })
		}
		// Connections that the pool opens, and pings of Redis, fall between now and then: the smallest count of several is
		// that of the exec.
		leastTrips, leastRedis := int64(1<<30), int64(1<<30)
		for range 10 {
			tripsBefore, redisBefore := trips.Load(), redis.Load()
			res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: c.caller, Script: "cat f", ReadOnly: true})
			if err != nil || string(res.Stdout) != "one\n" {
				t.Fatalf("%+v, %v", res, err)
			}
			leastTrips, leastRedis = min(leastTrips, trips.Load()-tripsBefore), min(leastRedis, redis.Load()-redisBefore)
		}
		if leastTrips != c.want || leastRedis != 0 {
			t.Errorf("with a staleness of %v: %d round trips to Postgres, want %d; %d to Redis", c.caller.MaxStaleness,
				leastTrips, c.want, leastRedis)
		}
	}
}

// appended is what writers were told of the lines that they appended.
type appended struct {
	t  *testing.T
	id uuid.UUID

	mu   sync.Mutex
	said map[string]sandbox.Applied
	yes  atomic.Int64
	next atomic.Int64
}

// line appends a line and notes what is said of it. What is not done may be tried again, and says so.
func (a *appended) line(s *sandbox.Service) bool {
	line := strconv.FormatInt(a.next.Add(1), 10)
	began := time.Now()
	_, err := s.Exec(context.Background(), sandbox.Request{Sandbox: a.id, Caller: alice,
		Script: "echo " + line + " >> log"})
	word := sandbox.AppliedYes
	if err != nil {
		e := new(sandbox.Error)
		if !errors.As(err, &e) || e.Applied != sandbox.AppliedNo || !e.Retryable ||
			e.Code != wire.CodeUnavailable && e.Code != wire.CodeLockLost && e.Code != wire.CodeESTALE {
			a.t.Errorf("line %s: %v", line, err)
			return false
		}
		word = e.Applied
		if took := time.Since(began); took > 15*time.Second { // thrice what is promised
			a.t.Errorf("line %s: %s after %v", line, e.Code, took)
		}
	} else {
		a.yes.Add(1)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said[line] = word
	return err == nil
}

// during runs writers on every service while do is under way, and returns what they were told.
func during(t *testing.T, services []*sandbox.Service, do func(a *appended)) {
	t.Helper()
	a := &appended{t: t, id: emptySandbox(t), said: map[string]sandbox.Applied{}}
	over := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if !a.line(services[i%len(services)]) {
					time.Sleep(5 * time.Millisecond)
				}
			}
		})
	}
	a.progress()
	do(a)
	close(over)
	wg.Wait()
	for _, s := range services {
		eventually(t, "a write by everybody", func() bool { return a.line(s) })
	}
	lines := map[string]int{}
	for line := range strings.Lines(read(t, services[0], a.id, "/home/user/log")) {
		lines[strings.TrimSuffix(line, "\n")]++
	}
	for line, word := range a.said {
		if want := map[sandbox.Applied]int{sandbox.AppliedYes: 1}[word]; lines[line] != want {
			t.Errorf("line %s: applied %s was said, it is there %d times", line, word, lines[line])
		}
	}
	t.Logf("%d lines, %d of them applied", len(a.said), a.yes.Load())
}

// progress waits for some writes that begin after now.
func (a *appended) progress() {
	a.t.Helper()
	want := a.yes.Load() + 8
	eventually(a.t, "writes", func() bool { return a.yes.Load() >= want })
}

// refusals waits for some writes that are refused.
func (a *appended) refusals() {
	a.t.Helper()
	no := func() int64 {
		a.mu.Lock()
		defer a.mu.Unlock()
		return int64(len(a.said)) - a.yes.Load()
	}
	want := no() + 4
	eventually(a.t, "refusals", func() bool { return no() >= want })
}

// Redis that answers late, later than anybody waits, and in time again.
func TestSlowRedisDelaysOrRefusesWriters(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rd := linkTo(t, "redis")
	rd.To("unix", server.Socket())
	var services []*sandbox.Service
	for range 2 {
		services = append(services, service(t, sandbox.Config{StaleRetries: 100,
			Locker: locks(t, rd, lock.RedisConfig{Call: time.Second, Lease: 5 * time.Second})}))
	}
	during(t, services, func(a *appended) {
		rd.Delay(20 * time.Millisecond)
		a.progress()
		rd.Delay(3 * time.Second)
		a.refusals()
		// Readers do not notice.
		if _, err := services[0].Exec(t.Context(), sandbox.Request{Sandbox: a.id, Caller: alice, Script: "cat log",
			ReadOnly: true}); err != nil {
			t.Error(err)
		}
		rd.Heal()
		a.progress()
	})
}

// The master dies with the locks in it and a replica takes its place, which may know of them or not.
func TestRedisFailover(t *testing.T) {
	for _, knows := range []bool{true, false} {
		t.Run(fmt.Sprintf("the replica knows the locks %v", knows), func(t *testing.T) {
			t.Parallel()
			master, replica := redistest.Start(t), redistest.Start(t)
			stream, rd := linkTo(t, "replication"), linkTo(t, "redis")
			stream.To("unix", master.Socket())
			rd.To("unix", master.Socket())
			c := replica.Client()
			defer func() { _ = c.Close() }()
			if err := c.ReplicaOf(t.Context(), "127.0.0.1", strconv.Itoa(stream.Port())).Err(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the replica to follow", func() bool {
				info, err := c.Info(t.Context(), "replication").Result()
				return err == nil && strings.Contains(info, "master_link_status:up")
			})
			reached, resume := make(chan struct{}), make(chan struct{})
			var services []*sandbox.Service
			for range 2 {
				services = append(services, service(t, sandbox.Config{
					StaleRetries: 100, Locker: locks(t, rd, lock.RedisConfig{Lease: time.Minute}),
					Commands: with("sync", signal(reached, resume)),
				}))
			}
			// One that holds the lock of a sandbox of its own all the while.
			id := emptySandbox(t)
			run(t, services[0], id, "echo '#!/bin/builtin sync' > /tmp/sync; chmod +x /tmp/sync")
			held := make(chan error)
			go func() {
				_, err := services[0].Exec(context.Background(), sandbox.Request{Sandbox: id, Caller: alice,
					Script: "echo held >> f; /tmp/sync; echo held >> f"})
				held <- err
			}()
			<-reached
			during(t, services, func(a *appended) {
				if !knows {
					stream.Cut()
					a.progress()
				}
				master.Kill()
				rd.Reset()
				a.refusals()
				if err := c.ReplicaOf(t.Context(), "NO", "ONE").Err(); err != nil {
					t.Fatal(err)
				}
				rd.To("unix", replica.Socket())
				a.progress()
			})
			close(resume)
			if err := <-held; err != nil {
				t.Errorf("who held its lock over the failover: %v", err)
			}
			if got := read(t, services[1], id, "/home/user/f"); got != "held\nheld\n" {
				t.Errorf("f holds %q", got)
			}
		})
	}
}
