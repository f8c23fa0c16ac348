package sqlite

import (
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
)

// host is the process that SQLite works for.
type host struct{ p *proc.Process }

// stepTicks is what a thousand steps of SQLite's machine cost.
const stepTicks = 50

func (h host) Step() { h.p.Tick(stepTicks) }

func (h host) Grow(n int) bool {
	err := h.p.Budget.Hold(int64(n))
	if err != nil {
		h.p.Release(n)
	}
	return err == nil
}

func (h host) Wait(d time.Duration) {
	h.p.Pause()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-h.p.Context().Done():
	}
	h.p.Tick(1)
}

func (h host) Local() *time.Location { return datetime.Zone(h.p.Getenv("TZ")) }

// Over dies like [proc.Process.Tick].
func (h host) Over() {
	if err := h.p.Budget.Err(); err != nil {
		panic(proc.Death{Status: 137, Killed: true, Cause: err})
	}
	panic(proc.Death{Status: 143})
}
