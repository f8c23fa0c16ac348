package sched

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrBusy: too many scripts run, and too many waiting, or waited too long.
var ErrBusy = errors.New("too many scripts are running")

// Gate bounds how many scripts run at once, in all and per owner. Who does not get in waits in order of arrival;
// an owner at its bound does not hold up the others behind it.
type Gate struct {
	all, perOwner int
	queue         int
	wait          time.Duration

	mu      sync.Mutex
	running int
	owners  map[string]int
	line    []*gateTurn
}

type gateTurn struct {
	owner   string
	granted chan struct{}
}

// NewGate lets all scripts in at once, perOwner of one owner; queue more wait, each for as long as wait.
func NewGate(all, perOwner, queue int, wait time.Duration) *Gate {
	return &Gate{all: all, perOwner: perOwner, queue: queue, wait: wait, owners: map[string]int{}}
}

func (g *Gate) fits(owner string) bool { return g.running < g.all && g.owners[owner] < g.perOwner }

func (g *Gate) take(owner string) {
	g.running++
	g.owners[owner]++
}

// Active is the number of places that are taken.
func (g *Gate) Active() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running
}

// Enter waits for a place; Leave gives it back.
func (g *Gate) Enter(ctx context.Context, owner string) error {
	g.mu.Lock()
	if g.fits(owner) {
		g.take(owner)
		g.mu.Unlock()
		return nil
	}
	if len(g.line) >= g.queue {
		g.mu.Unlock()
		return ErrBusy
	}
	t := &gateTurn{owner: owner, granted: make(chan struct{})}
	g.line = append(g.line, t)
	g.mu.Unlock()

	timer := time.NewTimer(g.wait)
	defer timer.Stop()
	var err error
	select {
	case <-t.granted:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timer.C:
		err = ErrBusy
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, w := range g.line {
		if w == t {
			g.line = append(g.line[:i], g.line[i+1:]...)
			return err
		}
	}
	// Let in at the same moment.
	g.free(owner)
	return err
}

// Leave gives the place of an owner back.
func (g *Gate) Leave(owner string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.free(owner)
}

func (g *Gate) free(owner string) {
	g.running--
	if g.owners[owner]--; g.owners[owner] == 0 {
		delete(g.owners, owner)
	}
	for i := 0; i < len(g.line) && g.running < g.all; {
		t := g.line[i]
		if !g.fits(t.owner) {
			i++
			continue
		}
		g.take(t.owner)
		close(t.granted)
		g.line = append(g.line[:i], g.line[i+1:]...)
	}
}

// waiting is the number of callers in line.
func (g *Gate) waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.line)
}
