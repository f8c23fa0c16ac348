package mcp

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// Proxies give up on an answer whose headers do not come, and on a stream in which nothing comes, often after a minute.
const (
	headersAfter = 100 * time.Millisecond // most tools have answered by then, in one packet
	heartbeat    = 15 * time.Second
)

// stream is the answer to one POST: while a tool works, it sends the headers and then a comment every now and then.
type stream struct {
	http.ResponseWriter
	every time.Duration

	mu    sync.Mutex
	timer *time.Timer
	over  bool
}

// begin is called when a tool begins to work: the protocol's layer has accepted the request and set the headers.
func (w *stream) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil && !w.over {
		w.timer = time.AfterFunc(min(headersAfter, w.every), w.beat)
	}
}

func (w *stream) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		return
	}
	w.Header().Set("X-Accel-Buffering", "no")
	// A client that is gone ends the request by itself.
	_, _ = w.ResponseWriter.Write([]byte(": still here\n\n"))
	_ = http.NewResponseController(w.ResponseWriter).Flush()
	w.timer.Reset(w.every)
}

// Write writes a whole event: the protocol's layer never writes a part of one.
func (w *stream) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil && !w.over {
		w.timer.Reset(w.every)
	}
	return w.ResponseWriter.Write(b)
}

func (w *stream) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ResponseWriter.WriteHeader(status)
}

// FlushError makes a stream what http.ResponseController flushes.
func (w *stream) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// end comes before the handler returns: nothing is written after it.
func (w *stream) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
