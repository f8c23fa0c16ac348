package sched

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"
)

func TestGate(t *testing.T) {
	g := NewGate(3, 2, 2, time.Minute)
	enter := func(owner string) {
		t.Helper()
		if err := g.Enter(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
	}
	later := func(owner string) chan error {
		n := g.waiting()
		c := make(chan error, 1)
		go func() { c <- g.Enter(t.Context(), owner) }()
		for g.waiting() == n {
			runtime.Gosched()
		}
		return c
	}
	enter("a")
	enter("a")
	third := later("a") // over its owner's bound
	enter("b")          // passes by
	fourth := later("c")
	if err := g.Enter(t.Context(), "d"); !errors.Is(err, ErrBusy) {
		t.Fatalf("a full queue: %v", err)
	}
	g.Leave("b")
	if err := <-fourth; err != nil {
		t.Fatalf("who fits goes before who does not: %v", err)
	}
	g.Leave("a")
	if err := <-third; err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := make(chan error, 1)
	go func() { waiting <- g.Enter(ctx, "a") }()
	for g.waiting() == 0 {
		runtime.Gosched()
	}
	cancel(gone)
	if err := <-waiting; !errors.Is(err, gone) || g.waiting() != 0 {
		t.Fatalf("%v, %d wait", err, g.waiting())
	}
	g.Leave("a")
	g.Leave("a")
	g.Leave("c")
	if g.running != 0 || len(g.owners) != 0 {
		t.Fatalf("%d running, %v", g.running, g.owners)
	}
	g = NewGate(1, 1, 1, time.Microsecond)
	enter("a")
	if err := g.Enter(t.Context(), "a"); !errors.Is(err, ErrBusy) {
		t.Fatalf("after the wait: %v", err)
	}
}
