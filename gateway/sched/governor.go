package sched

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	quantum = 4 * time.Millisecond
	// young is the CPU time that a script may use without a place.
	young = 8 * time.Millisecond
	// credit is the CPU time that all young scripts of an owner may use without a place. It fills again at one part in
	// refill of the time that passes, so that starting new scripts all the time gets no more than going on with old ones.
	credit = 4 * young
	refill = 128
	// spare is how many more processors Go's scheduler gets than there are. When all of its processors are busy it looks
	// for news from the network only every ten milliseconds; the operating system gives a thread that waits for them its
	// processor at once.
	spare = 2
	// accounts is how many owners are kept before those that have had nothing for a while are forgotten.
	accounts = 1024
	// overdue is how long the holder of a place may go without a step. It waits for something, then, or does something
	// that cannot be cut; its place goes to another.
	overdue = 4 * quantum
	// breath is how long a goroutine runs before it lets those through that Go's scheduler has waiting.
	breath = 500 * time.Microsecond
)

// Governor shares the processors among the scripts of a process.
type Governor struct {
	processors int
	shares     atomic.Int64 // of scripts that have begun and are not over
	held       atomic.Int64

	mu      sync.Mutex
	holders []*Turn
	waiting []*Share // with goroutines in line
	floor   int64    // virtual time of the last one let in
	guard   bool     // the goroutine that looks for overdue holders runs
	owners  map[string]*account
}

// NewGovernor shares out so many processors.
func NewGovernor(processors int) *Governor {
	return &Governor{processors: processors, owners: map[string]*account{}}
}

// Start returns the Governor of all processors of the process, and gives Go's scheduler a few more, for what must not
// wait. It is for main, which calls it once.
func Start() *Governor {
	n := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(n + spare)
	return NewGovernor(n)
}

// Share is what one script has of the processors.
type Share struct {
	g       *Governor // nil: it shares with nobody, and never waits
	ctx     context.Context
	account *account
	cpu     atomic.Int64 // nanoseconds

	// Guarded by the governor's mutex.
	virtual int64   // nanoseconds of places held
	line    []*Turn // goroutines that wait for a place
}

// Begin is for a script of an owner's, which is over when ctx is done. Without a governor it shares with nobody.
func (g *Governor) Begin(ctx context.Context, owner string) *Share {
	s := &Share{g: g, ctx: ctx}
	if g != nil {
		s.account = g.of(owner)
		g.shares.Add(1)
		context.AfterFunc(ctx, func() { g.shares.Add(-1) })
	}
	return s
}

// CPU is the CPU time used so far, as far as it was noticed.
func (s *Share) CPU() time.Duration { return time.Duration(s.cpu.Load()) }

// Charge counts CPU time that was used outside of this process, and returns all that the script has used.
func (s *Share) Charge(d time.Duration) time.Duration {
	if s.g != nil {
		s.account.free.Add(-int64(d))
	}
	return time.Duration(s.cpu.Add(int64(d)))
}

// young reports whether the script needs no place yet.
func (s *Share) young() bool {
	return s.g == nil || s.cpu.Load() < int64(young) && s.account.free.Load() > 0
}

// Turn is one goroutine's part in the CPU time of its script. It belongs to the goroutine.
type Turn struct {
	s *Share

	looked  time.Duration // when the clock was last read, 0 after a pause
	since   time.Duration // when the quantum began
	breathe time.Duration // when it last let others through

	placed  atomic.Bool  // has a place
	seen    atomic.Int64 // looked, for the governor
	granted chan struct{}
}

// NewTurn is for a goroutine of the script. Pause ends it.
func (s *Share) NewTurn() *Turn { return &Turn{s: s} }

// Look reads the clock and returns the CPU time that the script has used, as far as a clock on the wall can tell.
func (t *Turn) Look() time.Duration {
	now, d := clock(), time.Duration(0)
	if t.looked != 0 {
		d = min(now-t.looked, overdue)
	}
	t.looked = now
	t.seen.Store(int64(now))
	if t.s.g != nil && !t.placed.Load() {
		t.s.account.free.Add(-int64(d))
	}
	return time.Duration(t.s.cpu.Add(int64(d)))
}

// Pass is for just behind a Look: it waits until it is the goroutine's turn.
func (t *Turn) Pass() {
	now, g := t.looked, t.s.g
	switch {
	case t.s.young():
	case !t.placed.Load():
		g.enter(t)
		return
	case now-t.since > quantum || g.crowded():
		if !g.next(t) {
			g.enter(t)
		}
		return
	}
	if now-t.breathe > breath {
		t.breathe = now
		runtime.Gosched()
	}
}

// Queue waits for a place if the goroutine has none: the ends of hundreds of goroutines take turns too.
func (t *Turn) Queue() {
	if t.s.g != nil && !t.placed.Load() {
		t.s.g.enter(t)
	}
}

// Pause is for before the goroutine waits for something: another one gets its place. The next Pass waits for a new one.
func (t *Turn) Pause() {
	if t.looked != 0 {
		t.Look()
		t.looked = 0
	}
	if t.placed.Load() {
		t.s.g.leave(t)
	}
}

var epoch = time.Now()

func clock() time.Duration { return time.Since(epoch) }

// account is what the scripts of one owner have had.
type account struct {
	free atomic.Int64 // nanoseconds of CPU time that young scripts may still use

	// Guarded by the governor's mutex.
	filled  time.Duration // when free was last filled
	virtual int64         // nanoseconds of places held, and what it is taken to have had when it came
}

// of is the account of an owner at the beginning of a script.
func (g *Governor) of(owner string) *account {
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

// most is how many places there are. One processor is left to the requests, to Postgres and to the young, unless the
// script is alone.
func (g *Governor) most() int64 {
	n := int64(g.processors)
	if g.shares.Load() > 1 {
		n--
	}
	return max(n, 1)
}

// crowded reports whether more places are taken than there are: they were more when the script was alone.
func (g *Governor) crowded() bool { return g.held.Load() > g.most() }

// enter waits for a place.
func (g *Governor) enter(t *Turn) {
	s := t.s
	g.mu.Lock()
	// Who has slept does not make up for it at the expense of the others.
	s.account.virtual = max(s.account.virtual, g.floor-int64(quantum))
	if int64(len(g.holders)) < g.most() && len(g.waiting) == 0 {
		g.place(t)
		g.mu.Unlock()
		t.begin()
		return
	}
	if t.granted == nil {
		t.granted = make(chan struct{}, 1)
	}
	if len(s.line) == 0 {
		g.waiting = append(g.waiting, s)
	}
	s.line = append(s.line, t)
	if !g.guard {
		g.guard = true
		go g.watch()
	}
	g.mu.Unlock()

	<-t.granted
	t.begin()
}

// begin starts a quantum.
func (t *Turn) begin() {
	now := clock()
	t.looked, t.since, t.breathe = now, now, now
	t.seen.Store(int64(now))
}

// next is for a holder whose quantum is over: it reports whether it may go on with another.
func (g *Governor) next(t *Turn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !t.placed.Load() {
		return false
	}
	now := clock()
	t.s.hold(now - t.since)
	t.since = now
	if w := g.first(); int64(len(g.holders)) <= g.most() && (w == nil || t.s.before(w) && w.ctx.Err() == nil) {
		return true
	}
	g.remove(t)
	return false
}

// leave gives a place up.
func (g *Governor) leave(t *Turn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.placed.Load() {
		t.s.hold(clock() - t.since)
		g.remove(t)
	}
}

func (g *Governor) place(t *Turn) {
	t.placed.Store(true)
	t.seen.Store(int64(clock()))
	g.holders = append(g.holders, t)
	g.held.Store(int64(len(g.holders)))
	g.floor = max(g.floor, t.s.account.virtual)
}

// remove takes a holder's place.
func (g *Governor) remove(t *Turn) {
	t.placed.Store(false)
	if i := slices.Index(g.holders, t); i >= 0 {
		g.holders = slices.Delete(g.holders, i, i+1)
	}
	g.held.Store(int64(len(g.holders)))
	g.fill()
}

// fill gives the free places to who waits.
func (g *Governor) fill() {
	for int64(len(g.holders)) < g.most() {
		s := g.first()
		if s == nil {
			return
		}
		w := s.line[0]
		s.line = slices.Delete(s.line, 0, 1)
		if len(s.line) == 0 {
			g.waiting = slices.DeleteFunc(g.waiting, func(o *Share) bool { return o == s })
		}
		g.place(w)
		w.granted <- struct{}{}
	}
}

// hold counts the time of a place.
func (s *Share) hold(d time.Duration) {
	s.virtual += int64(d)
	s.account.virtual += int64(d)
}

// before reports whether s, or its owner, has had less than o.
func (s *Share) before(o *Share) bool {
	if s.account != o.account {
		return s.account.virtual < o.account.virtual
	}
	return s.virtual < o.virtual
}

// first is the script in line that is over, or else the one that has had the least.
func (g *Governor) first() *Share {
	var least *Share
	for _, w := range g.waiting {
		if w.ctx.Err() != nil {
			return w
		}
		if least == nil || w.before(least) {
			least = w
		}
	}
	return least
}

// watch takes the places of overdue holders for as long as somebody waits.
func (g *Governor) watch() {
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
				t.s.hold(late)
				g.remove(t)
			}
		}
		g.fill()
		g.mu.Unlock()
	}
}
