package sched

import (
	"context"
	"runtime"
	"testing"
)

// old is a script that has used up what the young may.
func old(t *testing.T, g *Governor, owner string) *Share {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	s := g.Begin(ctx, owner)
	s.cpu.Store(int64(young))
	return s
}

// step is what a goroutine does that works.
func step(turn *Turn) {
	turn.Look()
	turn.Pass()
}

// inLine waits until so many goroutines do.
func inLine(t *testing.T, g *Governor, n int) {
	for t.Context().Err() == nil {
		g.mu.Lock()
		waiting := 0
		for _, s := range g.waiting {
			waiting += len(s.line)
		}
		g.mu.Unlock()
		if waiting == n {
			return
		}
		runtime.Gosched()
	}
}

func TestAPlaceGoesToTheOwnerThatHadLeast(t *testing.T) {
	g := NewGovernor(1)
	holder := old(t, g, "first").NewTurn()
	step(holder)
	if !holder.placed.Load() {
		t.Fatal("a free place is not given")
	}
	got := make(chan string)
	ask := func(owner string, had int64) {
		s := old(t, g, owner)
		s.account.virtual = had
		turn := s.NewTurn()
		go func() {
			step(turn)
			got <- owner
			turn.Pause()
		}()
	}
	ask("greedy", int64(1<<40))
	inLine(t, g, 1)
	ask("modest", 0)
	inLine(t, g, 2)
	holder.Pause()
	if first, second := <-got, <-got; first != "modest" || second != "greedy" {
		t.Errorf("%s before %s", first, second)
	}
}

// A holder that waits for something, or does something that has no steps, must not keep the others out.
func TestAnOverdueHolderLosesItsPlace(t *testing.T) {
	g := NewGovernor(1)
	silent, other := old(t, g, "silent").NewTurn(), old(t, g, "other").NewTurn()
	step(silent)
	step(other) // returns when the place has been taken away
	if silent.placed.Load() || !other.placed.Load() {
		t.Error("the place was not handed on")
	}
}

func TestTheYoungNeedNoPlace(t *testing.T) {
	g := NewGovernor(1)
	step(old(t, g, "old").NewTurn())
	turn := g.Begin(t.Context(), "young").NewTurn()
	step(turn)
	if turn.placed.Load() {
		t.Error("a script that has just begun took a place")
	}
	// New scripts all the time are no way round: what the young of an owner may use together runs out.
	s := g.Begin(t.Context(), "young")
	s.account.free.Store(0)
	if s.young() {
		t.Error("an owner without credit is young")
	}
}

func TestWhatIsOverGoesFirst(t *testing.T) {
	g := NewGovernor(1)
	holder := old(t, g, "holder").NewTurn()
	step(holder)
	ctx, cancel := context.WithCancel(t.Context())
	over := g.Begin(ctx, "over")
	over.cpu.Store(int64(young))
	over.account.virtual = 1 << 40
	got := make(chan string)
	wait := func(name string, turn *Turn) {
		step(turn)
		got <- name
		turn.Pause()
	}
	go wait("waiting", old(t, g, "waiting").NewTurn())
	inLine(t, g, 1)
	go wait("over", over.NewTurn())
	inLine(t, g, 2)
	cancel()
	holder.Pause()
	if first := <-got; first != "over" {
		t.Errorf("%s is let in before what only has to end", first)
	}
	<-got
}

func TestWithoutAGovernorNobodyWaits(t *testing.T) {
	s := (*Governor)(nil).Begin(t.Context(), "")
	s.cpu.Store(int64(1 << 40))
	turn := s.NewTurn()
	step(turn)
	turn.Queue()
	turn.Pause()
	if s.CPU() < 1<<40 {
		t.Error("its time is not counted")
	}
}
