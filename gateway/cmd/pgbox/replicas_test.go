package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/lock/redistest"
)

// replicas starts n gateways that share a database and a Redis.
func replicas(t *testing.T, n int, redis, db string, env ...string) []*running {
	t.Helper()
	all := make([]*running, n)
	for i := range all {
		all[i] = startServe(t, db, append(env, "REDIS_URL="+redis)...)
	}
	return all
}

func (r *running) caller() caller { return caller{r.url, r.token} }

func TestSixteenAppendersOverThreeGateways(t *testing.T) {
	const clients, each = 16, 60
	cluster, db := ownCluster(t)
	defer cluster.Stop()
	gateways := replicas(t, 3, redistest.Start(t).URL(), db)
	id := gateways[0].caller().sandbox(t)
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				a, err := gateways[(c+i)%3].caller().exec(t.Context(), id, fmt.Sprintf("echo %d.%d >> log", c, i))
				if err != nil || a.Status != http.StatusOK || !a.Committed {
					t.Errorf("%+v, %v", a, err)
				}
			}
		})
	}
	wg.Wait()
	for _, g := range gateways {
		lines := count(g.caller().must(t, id, "cat log"))
		if len(lines) != clients*each {
			t.Errorf("%d different lines, want %d", len(lines), clients*each)
		}
		for line, n := range lines {
			if n != 1 {
				t.Errorf("line %s is there %d times", line, n)
			}
		}
	}
	soundness(t, db, id)
}

// A gateway that is stopped past its lease and goes on: what it was about to commit is refused, whether or not
// somebody else wrote in between.
func TestGatewayStoppedPastItsLeaseCommitsNothing(t *testing.T) {
	cluster, db := ownCluster(t)
	defer cluster.Stop()
	server := redistest.Start(t)
	// One process each, because all of it is stopped.
	gateways := replicas(t, 2, server.URL(), db, "LOCK_LEASE=1s", "SUPERVISE=off")
	a, b := gateways[0], gateways[1]
	redis := server.Client()
	defer func() { _ = redis.Close() }()
	// On a busy machine a writer may lose such a short lease by itself.
	write := func(t *testing.T, r *running, id, script string) {
		t.Helper()
		eventually(t, func() error {
			a, err := r.caller().exec(t.Context(), id, script)
			if err == nil && a.Status != http.StatusOK {
				err = fmt.Errorf("%+v", a)
			}
			return err
		})
	}
	for _, between := range []bool{false, true} {
		t.Run(fmt.Sprintf("another writer %v", between), func(t *testing.T) {
			id := a.caller().sandbox(t)
			locked := func(want int64) {
				t.Helper()
				eventually(t, func() error {
					if n, err := redis.Exists(t.Context(), "pgbox:lock:{"+id+"}").Result(); err != nil || n != want {
						return fmt.Errorf("%d locks, %w", n, err)
					}
					return nil
				})
			}
			type answer struct {
				reply
				err error
			}
			res := make(chan answer, 1)
			go func() {
				r, err := a.caller().exec(context.WithoutCancel(t.Context()), id, "echo late > f; sleep 30; echo late >> f")
				res <- answer{r, err}
			}()
			locked(1)
			if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			locked(0)
			if between {
				write(t, b, id, "echo early > f")
			}
			if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			got := <-res
			if got.err != nil || got.Status != http.StatusServiceUnavailable || got.Code != "ELOCKLOST" || got.Applied != "no" ||
				!got.Retryable {
				t.Errorf("answered %+v, %v", got.reply, got.err)
			}
			want := map[bool]string{false: "none\n", true: "early\n"}[between]
			out, err := b.caller().do(t.Context(), http.MethodPost, "/v1/sandboxes/"+id+"/exec-sync",
				map[string]any{"script": "cat f 2>/dev/null || echo none", "readOnly": true})
			if err != nil || out.Stdout != want {
				t.Errorf("the file holds %q, want %q (%v)", out.Stdout, want, err)
			}
			write(t, a, id, "echo again > f")
		})
	}
}

// Without Redis nobody writes and everybody reads; when it is back, nothing has to be done.
func TestRedisDownStopsWritersOnly(t *testing.T) {
	cluster, db := ownCluster(t)
	defer cluster.Stop()
	redis := redistest.Start(t)
	g := replicas(t, 1, redis.URL(), db)[0].caller()
	id := g.sandbox(t)
	g.must(t, id, "echo 1 > f")
	redis.Kill()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			began := time.Now()
			a, err := g.exec(t.Context(), id, "echo 2 > f")
			if err != nil || a.Status != http.StatusServiceUnavailable || a.Code != "EUNAVAILABLE" || a.Applied != "no" ||
				!a.Retryable {
				t.Errorf("a writer got %+v, %v", a, err)
			}
			if took := time.Since(began); took > 15*time.Second { // thrice what is promised
				t.Errorf("told after %v", took)
			}
		})
	}
	wg.Wait()
	a, err := g.do(t.Context(), http.MethodPost, "/v1/sandboxes/"+id+"/exec-sync",
		map[string]any{"script": "cat f", "readOnly": true})
	if err != nil || a.Stdout != "1\n" {
		t.Errorf("a reader got %+v, %v", a, err)
	}
	if a, err := g.do(t.Context(), http.MethodGet, "/readyz", nil); err != nil ||
		a.Status != http.StatusServiceUnavailable {
		t.Errorf("readyz: %+v, %v", a, err)
	}
	redis.Start()
	eventually(t, func() error {
		a, err := g.exec(t.Context(), id, "echo 3 > f")
		if err == nil && a.Status != http.StatusOK {
			err = fmt.Errorf("%+v", a)
		}
		return err
	})
	if out := g.must(t, id, "cat f"); strings.TrimSpace(out) != "3" {
		t.Errorf("the file holds %q", out)
	}
}
