package lock_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/pgbox/pgbox/gateway/lock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, l lock.Locker, id uuid.UUID) lock.Lease {
	t.Helper()
	e, err := l.Lock(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// waitFor spins until n callers are in line.
func waitFor(l *lock.Local, id uuid.UUID, n int) {
	for l.Waiting(id) < n {
		runtime.Gosched()
	}
}

func TestOrderOfArrival(t *testing.T) {
	l, id := lock.NewLocal(lock.Config{}), uuid.New()
	first := must(t, l, id)
	var (
		mu    sync.Mutex
		order []int
		wg    sync.WaitGroup
	)
	for i := range 20 {
		wg.Go(func() {
			e := must(t, l, id)
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			e.Unlock()
		})
		waitFor(l, id, i+1)
	}
	first.Unlock()
	wg.Wait()
	if want := slices.Sorted(slices.Values(order)); len(order) != 20 || !slices.Equal(order, want) {
		t.Fatalf("served in order %v", order)
	}
	if l.Waiting(id) != 0 {
		t.Fatal("somebody still waits")
	}
}

func TestMutualExclusion(t *testing.T) {
	l, id := lock.NewLocal(lock.Config{}), uuid.New()
	inside, n := 0, 0
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 200 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration((w+i)%5)*50*time.Microsecond+time.Microsecond)
				e, err := l.Lock(ctx, id)
				if err == nil {
					if inside++; inside != 1 {
						t.Error("two holders")
					}
					n++
					inside--
					e.Unlock()
					e.Unlock()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	must(t, l, id).Unlock()
}

func TestSandboxesAreIndependent(t *testing.T) {
	l := lock.NewLocal(lock.Config{})
	defer must(t, l, uuid.New()).Unlock()
	defer must(t, l, uuid.New()).Unlock()
}

func TestTimeout(t *testing.T) {
	l, id := lock.NewLocal(lock.Config{Wait: time.Millisecond}), uuid.New()
	e := must(t, l, id)
	if _, err := l.Lock(t.Context(), id); !errors.Is(err, lock.ErrTimeout) {
		t.Fatalf("got %v", err)
	}
	e.Unlock()
	must(t, l, id).Unlock()
}

func TestQueueBound(t *testing.T) {
	l, id := lock.NewLocal(lock.Config{Queue: 1}), uuid.New()
	e := must(t, l, id)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("client gone")
	res := make(chan error)
	go func() { _, err := l.Lock(ctx, id); res <- err }()
	waitFor(l, id, 1)
	if _, err := l.Lock(t.Context(), id); !errors.Is(err, lock.ErrQueueFull) {
		t.Fatalf("got %v", err)
	}
	cancel(gone)
	if err := <-res; !errors.Is(err, gone) {
		t.Fatalf("a waiter whose caller went away got %v", err)
	}
	if l.Waiting(id) != 0 {
		t.Fatal("a place in the line is still taken")
	}
	e.Unlock()
}
