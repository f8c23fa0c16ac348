package proc

import (
	"context"

	"github.com/pgbox/pgbox/gateway/sched"
)

// clockSteps is how many steps there are between looks at the clock, which takes as long as a few of them.
const clockSteps = 256

// Turn is one goroutine's part in the CPU time of its exec. It belongs to the goroutine; the context carries it.
type Turn struct {
	b     *Budget
	steps int64
	turn  *sched.Turn
}

type turnKey struct{}

// NewTurn is for a goroutine of the exec that begins: its work is done under the context that NewTurn returns.
// End ends it.
func (b *Budget) NewTurn(ctx context.Context) (context.Context, *Turn) {
	t := &Turn{b: b, turn: b.share.NewTurn()}
	return context.WithValue(ctx, turnKey{}, t), t
}

// TurnOf is the turn of the goroutine that works under ctx, nil if it has none.
func TurnOf(ctx context.Context) *Turn {
	t, _ := ctx.Value(turnKey{}).(*Turn)
	return t
}

// Step counts n units of work, waits for the goroutine's turn and reports why the exec must stop, if it must.
func (t *Turn) Step(n int64) error {
	if err := t.b.count(n); err != nil {
		t.Last()
		return err
	}
	if t.steps += n; t.steps < clockSteps {
		return nil
	}
	t.steps = 0
	return t.Pass()
}

// Pass is a Step that looks at the clock: for before and after a piece of work that has no steps.
func (t *Turn) Pass() error {
	if cpu, most := t.turn.Look(), t.b.Limits.CPU; cpu > most {
		t.Last()
		return t.b.exceed("milliseconds of CPU time", most.Milliseconds())
	}
	t.turn.Pass()
	return t.b.Err()
}

// Last is for a goroutine whose exec is over: hundreds may be, at the same moment, and their ends take turns too.
func (t *Turn) Last() {
	if t != nil && t.b.goroutines.Load() > 0 {
		t.turn.Queue()
	}
}

// Pause is for before the goroutine waits for something: another one gets its place. The next step waits for a new one.
func (t *Turn) Pause() {
	if t != nil {
		t.turn.Pause()
	}
}

// End gives back what the goroutine has.
func (t *Turn) End() { t.Pause() }
