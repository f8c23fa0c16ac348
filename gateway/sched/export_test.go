package sched

import "time"

// SetGrace makes a Watchdog count what is overdue sooner.
func (w *Watchdog) SetGrace(d time.Duration) { w.grace = d }
