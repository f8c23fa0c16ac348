package proc

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Go's scheduler is fair to goroutines and not to execs, and it knows no priorities: every busy goroutine stands in the way of the
// few that answer a request for up to its ten milliseconds. So the execs of a process share the processors among themselves.
// An exec that has used little CPU time runs at once. Every goroutine of the others needs one of a few places, and keeps it for a quantum;
// then the place goes to the owner that has had the least.
const (
	quantum = 4 * time.Millisecond
	// young is the CPU time that an exec may use without a place.
	young = 8 * time.Millisecond
	// credit is the CPU time that all young execs of an owner may use without a place. It fills again at one part in refill of the
	// time that passes, so who starts new execs all the time has no more than who goes on with old ones.
	credit = 4 * young
	refill = 128
	// spare is how many more processors Go's scheduler gets than there are. When all of its processors are busy it looks for news from the network
	// only every ten milliseconds; the operating system gives a thread that waits for them its processor at once.
	spare = 2
	// accounts is how many owners are kept before those that have had nothing for a while are forgotten.
	accounts = 1024
	// overdue is how long the holder of a place may go without a step. It waits for something, then, or does something
	// that cannot be cut; its place goes to another.
	overdue = 4 * quantum
	// breath is how long a goroutine runs before it lets those through that Go's scheduler has waiting.
	breath = 500 * time.Microsecond
	// clockSteps is how many steps there are between looks at the clock, which takes as long as a few of them.
	clockSteps = 256
)

// Turn is one goroutine's part in the CPU time of its exec. It belongs to the goroutine; the context carries it.
type Turn struct {
	b     *Budget
	steps int64

	looked  time.Duration // when the clock was last read, 0 after a pause
	since   time.Duration // when the quantum began
	breathe time.Duration // when it last let others through

	placed  atomic.Bool  // has a place
	seen    atomic.Int64 // looked, for the governor
	granted chan struct{}
}

type turnKey struct{}

// NewTurn is for a goroutine of the exec that begins: its work is done under the context that NewTurn returns.
// End ends it.
func (b *Budget) NewTurn(ctx context.Context) (context.Context, *Turn) {
	t := &Turn{b: b}
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
	now := clock()
	if err := t.b.used(t.lap(now), t.placed.Load()); err != nil {
		t.Last()
		return err
	}
	switch {
	case t.b.young():
	case !t.placed.Load():
		return governor.enter(t)
	case now-t.since > quantum || governor.crowded():
		if governor.next(t) {
			return t.b.Err()
		}
		return governor.enter(t)
	}
	if now-t.breathe > breath {
		t.breathe = now
		runtime.Gosched()
	}
	return t.b.Err()
}

// Last is for a goroutine whose exec is over: hundreds may be, at the same moment, and their ends take turns too.
func (t *Turn) Last() {
	if t != nil && !t.placed.Load() && t.b.goroutines.Load() > 0 {
		_ = governor.enter(t)
	}
}

// lap is the CPU time since the last one, as far as a clock on the wall can tell.
func (t *Turn) lap(now time.Duration) time.Duration {
	d := time.Duration(0)
	if t.looked != 0 {
		d = min(now-t.looked, overdue)
	}
	t.looked = now
	t.seen.Store(int64(now))
	return d
}

// Pause is for before the goroutine waits for something: another one gets its place. The next step waits for a new one.
func (t *Turn) Pause() {
	if t == nil {
		return
	}
	if t.looked != 0 {
		_ = t.b.used(t.lap(clock()), t.placed.Load()) // the next step says so
		t.looked = 0
	}
	if t.placed.Load() {
		governor.leave(t)
	}
}

// End gives back what the goroutine has.
func (t *Turn) End() { t.Pause() }

var epoch = time.Now()

func clock() time.Duration { return time.Since(epoch) }

// places are what the goroutines of execs that are no longer young share.
type places struct {
	execs atomic.Int64 // that have begun and are not over
	held  atomic.Int64

	mu      sync.Mutex
	holders []*Turn
	waiting []*Budget // with goroutines in line
	floor   int64     // virtual time of the last one let in
	guard   bool      // the goroutine that looks for overdue holders runs
	owners  map[string]*account
}

var governor = places{owners: map[string]*account{}}

// processors is how many there are to share.
var processors = runtime.GOMAXPROCS(0)

var spareProcessors = sync.OnceFunc(func() { runtime.GOMAXPROCS(processors + spare) })

// account is what the execs of one owner have had.
type account struct {
	free atomic.Int64 // nanoseconds of CPU time that young execs may still use

	// Guarded by the governor's mutex.
	filled  time.Duration // when free was last filled
	virtual int64         // nanoseconds of places held, and what it is taken to have had when it came
}

// of is the account of an owner at the beginning of an exec.
func (g *places) of(owner string) *account {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := clock()
	a := g.owners[owner]
	if a == nil {
		if len(g.owners) >= accounts {
			maps.DeleteFunc(g.owners, func(_ string, o *account) bool { return now-o.filled > 2*refill*credit })
		}
		a = newAccount(now)
		g.owners[owner] = a
	}
	a.free.Store(min(int64(credit), max(a.free.Load(), -int64(credit))+int64(now-a.filled)/refill))
	a.filled = now
	return a
}

func newAccount(now time.Duration) *account {
	a := &account{filled: now}
	a.free.Store(int64(credit))
	return a
}

// most is how many places there are. One processor is left to the requests, to Postgres and to the young, unless the exec is alone.
func (g *places) most() int64 {
	n := int64(processors)
	if g.execs.Load() > 1 {
		n--
	}
	return max(n, 1)
}

// crowded reports whether more places are taken than there are: they were more when the exec was alone.
func (g *places) crowded() bool { return g.held.Load() > g.most() }

// enter waits for a place.
func (g *places) enter(t *Turn) error {
	b := t.b
	g.mu.Lock()
	// Who has slept does not make up for it at the expense of the others.
	b.account.virtual = max(b.account.virtual, g.floor-int64(quantum))
	if int64(len(g.holders)) < g.most() && len(g.waiting) == 0 {
		g.place(t)
		g.mu.Unlock()
		t.begin()
		return b.Err()
	}
	if t.granted == nil {
		t.granted = make(chan struct{}, 1)
	}
	if len(b.line) == 0 {
		g.waiting = append(g.waiting, b)
	}
	b.line = append(b.line, t)
	if !g.guard {
		g.guard = true
		go g.watch()
	}
	g.mu.Unlock()

	<-t.granted
	t.begin()
	return b.Err()
}

// begin starts a quantum.
func (t *Turn) begin() {
	now := clock()
	t.looked, t.since, t.breathe = now, now, now
	t.seen.Store(int64(now))
}

// next is for a holder whose quantum is over: it reports whether it may go on with another.
func (g *places) next(t *Turn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !t.placed.Load() {
		return false
	}
	now := clock()
	t.b.held(now - t.since)
	t.since = now
	if w := g.first(); int64(len(g.holders)) <= g.most() && (w == nil || t.b.before(w) && w.ctx.Err() == nil) {
		return true
	}
	g.remove(t)
	return false
}

// leave gives a place up.
func (g *places) leave(t *Turn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.placed.Load() {
		t.b.held(clock() - t.since)
		g.remove(t)
	}
}

func (g *places) place(t *Turn) {
	t.placed.Store(true)
	t.seen.Store(int64(clock()))
	g.holders = append(g.holders, t)
	g.held.Store(int64(len(g.holders)))
	g.floor = max(g.floor, t.b.account.virtual)
}

// remove takes a holder's place.
func (g *places) remove(t *Turn) {
	t.placed.Store(false)
	if i := slices.Index(g.holders, t); i >= 0 {
		g.holders = slices.Delete(g.holders, i, i+1)
	}
	g.held.Store(int64(len(g.holders)))
	g.fill()
}

// fill gives the free places to who waits.
func (g *places) fill() {
	for int64(len(g.holders)) < g.most() {
		b := g.first()
		if b == nil {
			return
		}
		w := b.line[0]
		b.line = slices.Delete(b.line, 0, 1)
		if len(b.line) == 0 {
			g.waiting = slices.DeleteFunc(g.waiting, func(o *Budget) bool { return o == b })
		}
		g.place(w)
		w.granted <- struct{}{}
	}
}

// held counts the time of a place.
func (b *Budget) held(d time.Duration) {
	b.virtual += int64(d)
	b.account.virtual += int64(d)
}

// before reports whether b, or b's owner, has had less than o.
func (b *Budget) before(o *Budget) bool {
	if b.account != o.account {
		return b.account.virtual < o.account.virtual
	}
	return b.virtual < o.virtual
}

// first is the exec in line that is over, or else the one that has had the least.
func (g *places) first() *Budget {
	var b *Budget
	for _, w := range g.waiting {
		if w.ctx.Err() != nil {
			return w
		}
		if b == nil || w.before(b) {
			b = w
		}
	}
	return b
}

// watch takes the places of overdue holders for as long as somebody waits.
func (g *places) watch() {
	tick := time.NewTicker(quantum)
	defer tick.Stop()
	for range tick.C {
		g.mu.Lock()
		if len(g.waiting) == 0 {
			g.guard = false
			g.mu.Unlock()
			return
		}
		now := clock()
		for _, t := range slices.Clone(g.holders) {
			if late := now - time.Duration(t.seen.Load()); late > overdue {
				t.b.held(late)
				g.remove(t)
			}
		}
		g.fill()
		g.mu.Unlock()
	}
}
