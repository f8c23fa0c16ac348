package sched

import (
	"log/slog"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

// Run is what a [Watchdog] asks of a script that runs.
type Run interface {
	Live() int64    // bytes that it has declared
	Spawned() int64 // its goroutines besides the first
	Err() error     // not nil when it is over
}

// Watchdog ends the run that holds the most memory when all of them together hold too much. It looks at what
// the runs have declared, and at the heap of the process for what they have not. It knows, too, which runs
// are over and have goroutines still.
type Watchdog struct {
	maxLive int64 // bytes declared by all runs
	maxHeap int64 // bytes of live and not yet collected objects; 0: not looked at
	every   time.Duration
	grace   time.Duration // overdueAfter
	end     func(r Run, limit string, most int64)

	mu     sync.Mutex
	runs   map[Run]*watched
	stop   chan struct{}
	exited chan struct{}
}

// watched is what the watchdog knows of a run.
type watched struct {
	sandbox  string
	over     time.Time // when it was first seen to be over
	returned bool      // the first goroutine is back
	told     bool      // the log has it
}

// overdueAfter is how long the goroutines of a run may take to end before they count as overdue.
const overdueAfter = time.Second

// watchdogFloor: a run smaller than this is never ended on account of the heap.
const watchdogFloor = 16 << 20

// NewWatchdog looks at all runs that often, and calls end with one and the limit that all of them exceed.
func NewWatchdog(maxLive, maxHeap int64, every time.Duration, end func(r Run, limit string, most int64)) *Watchdog {
	return &Watchdog{maxLive: maxLive, maxHeap: maxHeap, every: every, grace: overdueAfter, end: end,
		runs: map[Run]*watched{}}
}

// Watch adds a run. The goroutine lives only while there are runs.
func (w *Watchdog) Watch(b Run, sandbox string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[b] = &watched{sandbox: sandbox}
	if w.stop == nil {
		w.stop, w.exited = make(chan struct{}), make(chan struct{})
		go w.patrol(w.stop, w.exited)
	}
}

// Forget takes a run out that has returned, unless some of its goroutines have not.
func (w *Watchdog) Forget(b Run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b.Spawned() == 0 {
		delete(w.runs, b)
		return
	}
	r := w.runs[b]
	r.returned = true
	if r.over.IsZero() {
		r.over = time.Now()
	}
}

// Overdue is the number of goroutines of runs that have been over for a while.
func (w *Watchdog) Overdue() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	var sum int64
	for b, r := range w.runs {
		if r.over.IsZero() || time.Since(r.over) < w.grace {
			continue
		}
		n := b.Spawned()
		if !r.returned {
			n++
		}
		if sum += n; n > 0 && !r.told {
			r.told = true
			slog.Error("a script that was ended goes on", "op", "watchdog", "sandbox", r.sandbox, "goroutines", n, "err",
				b.Err())
		}
	}
	return sum
}

// Close ends the goroutine and waits for it.
func (w *Watchdog) Close() {
	w.mu.Lock()
	stop, exited := w.stop, w.exited
	w.stop, w.exited = nil, nil
	w.mu.Unlock()
	if stop != nil {
		close(stop)
		<-exited
	}
}

func (w *Watchdog) patrol(stop, exited chan struct{}) {
	defer close(exited)
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	idle := 0
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		w.mu.Lock()
		if len(w.runs) == 0 {
			// An idle process has no timer running.
			if idle++; idle > 50 && w.stop == stop {
				w.stop, w.exited = nil, nil
				w.mu.Unlock()
				return
			}
			w.mu.Unlock()
			continue
		}
		idle = 0
		w.mu.Unlock()
		w.check()
		w.Overdue()
	}
}

// check ends at most one run.
func (w *Watchdog) check() {
	var sum, largest int64
	var victim Run
	w.mu.Lock()
	for b, r := range w.runs {
		if r.returned && b.Spawned() == 0 {
			delete(w.runs, b)
			continue
		}
		if b.Err() != nil {
			if r.over.IsZero() {
				r.over = time.Now()
			}
			continue
		}
		live := b.Live()
		sum += live
		if victim == nil || live > largest {
			victim, largest = b, live
		}
	}
	w.mu.Unlock()
	switch {
	case victim == nil:
	case sum > w.maxLive:
		w.end(victim, "memory of all scripts", w.maxLive)
	case w.maxHeap > 0 && largest > watchdogFloor && heapBytes() > w.maxHeap:
		// Much of the heap may be garbage by now: collect before ending anything.
		runtime.GC()
		if heapBytes() > w.maxHeap {
			w.end(victim, "memory of the process", w.maxHeap)
		}
	}
}

func heapBytes() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(min(s[0].Value.Uint64(), 1<<62))
}
