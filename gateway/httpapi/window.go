package httpapi

import (
	"sync"
	"time"
)

// window is a fixed-window rate limit by key.
type window struct {
	limit int
	every time.Duration
	now   func() time.Time

	mu    sync.Mutex
	start time.Time
	count map[string]int
}

func newWindow(limit int, every time.Duration) *window {
	return &window{limit: limit, every: every, now: time.Now, count: map[string]int{}}
}

// take counts one attempt of key and, when it is one too many, returns how long to wait. All windows turn
// together, so that the table empties itself.
func (w *window) take(key string) (wait time.Duration, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if now.Sub(w.start) >= w.every {
		w.start = now
		clear(w.count)
	}
	if w.count[key] >= w.limit {
		return w.start.Add(w.every).Sub(now), false
	}
	w.count[key]++
	return 0, true
}
