package proc

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pgbox/pgbox/gateway/sched"
)

// Limits bounds one exec. Zero means the default of [DefaultLimits].
type Limits struct {
	CPU        time.Duration
	Steps      int64 // statements, expansions, loop turns and command ticks
	LiveBytes  int64 // bytes of variables, pipes and command buffers held at once
	ValueBytes int64 // bytes of one variable, expansion or here-document
	Words      int64 // words that one expansion may produce
	Depth      int64 // nesting of functions, eval, source, subshells and substitutions
	Goroutines int64 // subshells, pipeline stages and background jobs alive at once
	OpenFiles  int64
	Written    int64 // bytes written into files, whatever becomes of them
	ScriptSize int64 // bytes of a script, eval or sourced text
}

// DefaultLimits is what an exec gets unless configured otherwise.
func DefaultLimits() Limits {
	return Limits{
		CPU:        2 * time.Minute,
		Steps:      2_000_000_000,
		LiveBytes:  512 << 20,
		ValueBytes: 128 << 20,
		Words:      4_000_000,
		Depth:      1000,
		Goroutines: 512,
		OpenFiles:  1024,
		Written:    16 << 30,
		ScriptSize: 8 << 20,
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	if l.CPU == 0 {
		l.CPU = d.CPU
	}
	for _, f := range []struct{ v, d *int64 }{
		{&l.Steps, &d.Steps}, {&l.LiveBytes, &d.LiveBytes}, {&l.ValueBytes, &d.ValueBytes}, {&l.Words, &d.Words},
		{&l.Depth, &d.Depth},
		{&l.Goroutines, &d.Goroutines}, {&l.OpenFiles, &d.OpenFiles}, {&l.Written, &d.Written},
		{&l.ScriptSize, &d.ScriptSize},
	} {
		if *f.v == 0 {
			*f.v = *f.d
		}
	}
	return l
}

// LimitError says which limit ended an exec.
type LimitError struct {
	Name  string // "steps", "live bytes", …
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("limit exceeded: %s (max %d)", e.Name, e.Limit)
}

// Budget counts what one exec uses and ends it when it uses too much. Safe for
// concurrent use.
type Budget struct {
	Limits Limits
	Locks  Locks // of flock(2), between the processes of the exec

	ctx        context.Context
	cancel     context.CancelCauseFunc
	steps      atomic.Int64
	live       atomic.Int64
	peak       atomic.Int64
	goroutines atomic.Int64
	files      atomic.Int64
	written    atomic.Int64
	first      *Turn
	share      *sched.Share
}

// NewBudget starts a budget. The returned context is done when the
// budget is used up, [Budget.Kill] is called or the parent is done; its cause says why.
// The caller calls Kill(nil) when the exec is over. The context carries the [Turn] of the exec's first goroutine.
func NewBudget(ctx context.Context, l Limits) (context.Context, *Budget) {
	return NewShared(ctx, l, nil, "")
}

// NewShared is [NewBudget] for an exec of an owner's that shares the processors with the others of a governor.
func NewShared(ctx context.Context, l Limits, g *sched.Governor, owner string) (context.Context, *Budget) {
	ctx, cancel := context.WithCancelCause(ctx)
	b := &Budget{Limits: l.withDefaults(), ctx: ctx, cancel: cancel, share: g.Begin(ctx, owner)}
	ctx, b.first = b.NewTurn(ctx)
	return ctx, b
}

// Close ends the turn of the exec's first goroutine, which calls it when the exec is over.
func (b *Budget) Close() {
	b.cancel(nil)
	b.first.End()
}

// Kill ends the exec with cause err (nil: context.Canceled).
func (b *Budget) Kill(err error) { b.cancel(err) }

// Err is the cause of the end, nil while the exec may run.
func (b *Budget) Err() error {
	if b.ctx.Err() == nil {
		return nil
	}
	return context.Cause(b.ctx)
}

func (b *Budget) exceed(name string, limit int64) error {
	b.cancel(&LimitError{Name: name, Limit: limit})
	return b.Err()
}

// count counts n units of work.
func (b *Budget) count(n int64) error {
	if b.steps.Add(n) > b.Limits.Steps {
		return b.exceed("steps", b.Limits.Steps)
	}
	return b.Err()
}

// CPU is the CPU time used so far, as far as it was noticed.
func (b *Budget) CPU() time.Duration { return b.share.CPU() }

// Charge counts CPU time that the exec has used outside of this process.
func (b *Budget) Charge(d time.Duration) error {
	if most := b.Limits.CPU; b.share.Charge(d) > most {
		return b.exceed("milliseconds of CPU time", most.Milliseconds())
	}
	return nil
}

// Hold counts n more live bytes; the holder calls Release(n) when it lets go.
func (b *Budget) Hold(n int64) error {
	v := b.live.Add(n)
	for p := b.peak.Load(); v > p && !b.peak.CompareAndSwap(p, v); p = b.peak.Load() {
	}
	if v > b.Limits.LiveBytes {
		return b.exceed("live bytes", b.Limits.LiveBytes)
	}
	return nil
}

// Release gives back n bytes of an earlier Hold.
func (b *Budget) Release(n int64) { b.live.Add(-n) }

// Live is the number of bytes held now; the memory watchdog ends the exec
// with the largest.
func (b *Budget) Live() int64 { return b.live.Load() }

// Peak is the largest value Live has had.
func (b *Budget) Peak() int64 { return b.peak.Load() }

// Steps is the number of steps counted so far.
func (b *Budget) Steps() int64 { return b.steps.Load() }

// Spawn counts one more goroutine of the exec; Exited takes it back.
func (b *Budget) Spawn() error {
	if b.goroutines.Add(1) > b.Limits.Goroutines {
		b.goroutines.Add(-1)
		return b.exceed("processes", b.Limits.Goroutines)
	}
	return nil
}

// Spawned is the number of goroutines of the exec that are alive, besides its first.
func (b *Budget) Spawned() int64 { return b.goroutines.Load() }

// Exited ends a Spawn that succeeded.
func (b *Budget) Exited() { b.goroutines.Add(-1) }

// OpenFile counts one more open file; it does not end the exec but fails like EMFILE.
func (b *Budget) OpenFile() bool {
	if b.files.Add(1) > b.Limits.OpenFiles {
		b.files.Add(-1)
		return false
	}
	return true
}

// Write counts n more bytes written into files.
func (b *Budget) Write(n int64) error {
	if b.written.Add(n) > b.Limits.Written {
		return b.exceed("bytes written", b.Limits.Written)
	}
	return nil
}

// CloseFile ends an OpenFile that succeeded.
func (b *Budget) CloseFile() { b.files.Add(-1) }

// Death is what a command panics with to stop at once; [Run] recovers it.
type Death struct {
	Status int   // exit status: 128+n for signal n
	Killed bool  // the exec is over: the evaluator must stop too, not only this command
	Cause  error // why, when Killed
}

func (d Death) Error() string { return fmt.Sprintf("exit status %d", d.Status) }

// IsLimit reports whether err is, or wraps, a LimitError, and returns it.
func IsLimit(err error) (*LimitError, bool) {
	var l *LimitError
	ok := errors.As(err, &l)
	return l, ok
}
