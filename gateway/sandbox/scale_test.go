package sandbox_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// forks are n sandboxes over one base of a few files.
func forks(t *testing.T, s *sandbox.Service, n int) []uuid.UUID {
	t.Helper()
	base := emptySandbox(t)
	run(t, s, base, "mkdir -p src/{a..j}; for d in src/*; do for i in {1..10}; do echo $d $i > $d/$i; done; done")
	ids := make([]uuid.UUID, 0, n)
	for len(ids) < n {
		list, err := s.Fork(t.Context(), alice, base, "fork", min(100, n-len(ids)), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, sb := range list {
			ids = append(ids, sb.ID)
		}
	}
	return ids
}

// each does something with n sandboxes, some at once.
func each(t *testing.T, atOnce int, ids []uuid.UUID, do func(ctx context.Context, i int, id uuid.UUID) error) {
	t.Helper()
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(atOnce)
	for i, id := range ids {
		g.Go(func() error { return do(ctx, i, id) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// printed is an error unless a read-only script prints want.
func printed(ctx context.Context, s *sandbox.Service, id uuid.UUID, script, want string) error {
	res, err := s.Exec(ctx, sandbox.Request{Sandbox: id, Caller: alice, Script: script, ReadOnly: true,
		Timeout: 2 * time.Minute})
	if err != nil {
		return err
	}
	if got := string(res.Stdout) + string(res.Stderr); got != want {
		return fmt.Errorf("%s printed %q, want %q", script, got, want)
	}
	return nil
}

// TestThousandWarmSandboxesOnTenConnections: connections are a process's, not a sandbox's.
func TestThousandWarmSandboxesOnTenConnections(t *testing.T) {
	t.Parallel()
	const sandboxes, conns = 1000, 10
	st, err := store.Open(context.Background(), store.Config{URL: sqltest.ServingURL(t, sqltest.URL(t)), MaxConns: conns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	s := service(t, sandbox.Config{Store: st, MaxOwnerRuns: 64, MaxQueue: sandboxes})
	ids := forks(t, s, sandboxes)
	each(t, 32, ids, func(ctx context.Context, i int, id uuid.UUID) error {
		_, err := s.Exec(ctx, sandbox.Request{Sandbox: id, Caller: alice, Script: fmt.Sprintf("echo %d > mine", i),
			Timeout: 2 * time.Minute})
		return err
	})
	if n := s.Trees().Len(); n < sandboxes {
		t.Fatalf("%d trees are warm", n)
	}
	each(t, sandboxes, ids, func(ctx context.Context, i int, id uuid.UUID) error {
		return printed(ctx, s, id, "cat mine src/c/4", fmt.Sprintf("%d\nsrc/c 4\n", i))
	})
	if n := st.Stat().TotalConns(); n > conns {
		t.Fatalf("%d connections", n)
	}
}

// TestTenThousandOpenSandboxes: what is cached of them stays under the budget, whatever is in use meanwhile, and nobody
// reads another's files.
func TestTenThousandOpenSandboxes(t *testing.T) {
	t.Parallel()
	const sandboxes, execs, runs, budget = 10_000, 1000, 64, 4 << 20
	s := service(t, sandbox.Config{TreeCacheBytes: budget, MaxRuns: runs, MaxOwnerRuns: runs, MaxQueue: execs,
		QueueWait: 5 * time.Minute})
	ids := forks(t, s, sandboxes)
	// What is in use counts and cannot be dropped: the base, which all stand on, and a tree for each run.
	run(t, s, ids[0], "echo 0 > mine")
	if err := printed(t.Context(), s, ids[0], "cat mine", "0\n"); err != nil {
		t.Fatal(err)
	}
	over := make(chan int64, 1)
	stop := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		most := int64(0)
		for {
			select {
			case <-tick.C:
				most = max(most, s.Trees().Weight())
			case <-stop:
				over <- most
				return
			}
		}
	})
	each(t, runs, ids, func(ctx context.Context, _ int, id uuid.UUID) error {
		_, err := s.Stat(ctx, alice, id, "/home/user/src/j/10")
		return err
	})
	if n := s.Trees().Len(); n >= sandboxes || n == 0 {
		t.Fatalf("%d of %d trees are cached: the budget of %d bytes counts for nothing", n, sandboxes, budget)
	}
	some := rand.Perm(sandboxes - 1)[:execs]
	for i := range some {
		some[i]++ // the first has its file
	}
	at := func(i int) string { return fmt.Sprintf("mine %d\n", some[i]) }
	picked := make([]uuid.UUID, execs)
	for i, n := range some {
		picked[i] = ids[n]
	}
	each(t, execs, picked, func(ctx context.Context, i int, id uuid.UUID) error {
		_, err := s.Exec(ctx, sandbox.Request{Sandbox: id, Caller: alice, Script: "echo " + at(i)[:len(at(i))-1] + " > mine",
			Timeout: 2 * time.Minute})
		return err
	})
	each(t, execs, picked, func(ctx context.Context, i int, id uuid.UUID) error {
		return printed(ctx, s, id, "cat mine; ls src | wc -l", at(i)+"10\n")
	})
	close(stop)
	watch.Wait()
	most := <-over
	t.Logf("at most %d bytes of trees", most)
	if most > budget+runs*(16<<10) {
		t.Fatalf("%d bytes of trees at once, the budget is %d", most, budget)
	}
	if w := s.Trees().Weight(); w > budget {
		t.Fatalf("%d bytes of trees with nothing in use, the budget is %d", w, budget)
	}
}
