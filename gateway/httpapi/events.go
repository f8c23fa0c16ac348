package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"
)

// event is one server-sent event of an exec; T is also its name.
type event struct {
	T          string  `json:"t" enum:"stdout,stderr,error,exit"`
	Data       *string `json:"data,omitempty"`
	ExitCode   *int    `json:"exitCode,omitempty"`
	DurationMs *int64  `json:"durationMs,omitempty"`
	Code       string  `json:"code,omitempty" doc:"error, exit: of what ended the script"`
	Error      string  `json:"error,omitempty" doc:"exit: timeout, read_only_violation or error"`
	Retryable  *bool   `json:"retryable,omitempty"`
	Applied    string  `json:"applied,omitempty"`
	Ended      int     `json:"backgroundEnded,omitempty" doc:"exit: how many background processes outlived the script and were ended"`
}

// maxPending is how much a script may print ahead of its reader before it has to wait.
const maxPending = 1 << 20

// events writes the stream of one exec. A goroutine of its own sends what has come together since its
// last turn, so that a script that prints byte by byte does not pay a packet for each.
type events struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	gone func() // called once when the client cannot be written to any more

	mu      sync.Mutex
	changed *sync.Cond
	queue   []chunk
	pending int
	closing bool
	silent  bool // nothing was sent for a while
	err     error
	every   time.Duration
	timer   *time.Timer // makes it silent
	done    chan struct{}
}

// chunk is output of one stream, or a whole event.
type chunk struct {
	name string
	data []byte
	ev   *event
}

// heartbeat is how often a stream in which nothing comes says that it lives: proxies give up on one often after a
// minute.
const heartbeat = 15 * time.Second

func newEvents(w http.ResponseWriter, every time.Duration, gone func()) *events {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	e := &events{w: w, rc: http.NewResponseController(w), gone: gone, every: every, done: make(chan struct{})}
	e.changed = sync.NewCond(&e.mu)
	e.timer = time.AfterFunc(every, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.silent = true
		e.changed.Broadcast()
	})
	go e.run()
	return e
}

type eventStream struct {
	e    *events
	name string
	tail []byte // the first bytes of a character whose rest has not come yet
}

func (e *events) stream(name string) io.Writer { return &eventStream{e: e, name: name} }

// Write queues p; it blocks while the client is too far behind.
func (s *eventStream) Write(p []byte) (int, error) {
	data := p
	if len(s.tail) > 0 {
		data = append(s.tail, p...)
		s.tail = nil
	}
	if cut := incomplete(data); cut > 0 && cut < utf8.UTFMax {
		s.tail = append([]byte(nil), data[len(data)-cut:]...)
		data = data[:len(data)-cut]
	}
	e := s.e
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.pending > maxPending && e.err == nil {
		e.changed.Wait()
	}
	if e.err != nil {
		return 0, e.err
	}
	if len(data) == 0 {
		return len(p), nil
	}
	e.pending += len(data)
	if n := len(e.queue); n > 0 && e.queue[n-1].name == s.name {
		e.queue[n-1].data = append(e.queue[n-1].data, data...)
	} else {
		e.queue = append(e.queue, chunk{name: s.name, data: append([]byte(nil), data...)})
	}
	e.changed.Broadcast()
	return len(p), nil
}

// incomplete is the length of an unfinished UTF-8 sequence at the end of b.
func incomplete(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		c := b[len(b)-n]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// send queues an event behind all output so far.
func (e *events) send(ev event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = append(e.queue, chunk{ev: &ev})
	e.changed.Broadcast()
}

// close waits until everything is sent or the client is gone.
func (e *events) close() {
	e.mu.Lock()
	e.closing = true
	e.changed.Broadcast()
	e.mu.Unlock()
	<-e.done
}

// writeTimeout bounds how long a reader that does not read may hold the stream.
const writeTimeout = 30 * time.Second

func (e *events) run() {
	defer close(e.done)
	defer e.timer.Stop()
	_ = e.rc.Flush() // the headers
	for {
		e.mu.Lock()
		for len(e.queue) == 0 && !e.closing && !e.silent {
			e.changed.Wait()
		}
		queue, silent := e.queue, e.silent
		e.queue, e.silent = nil, false
		e.mu.Unlock()
		if len(queue) == 0 && !silent {
			return
		}
		e.timer.Reset(e.every)
		_ = e.rc.SetWriteDeadline(time.Now().Add(writeTimeout))
		sent := 0
		if len(queue) == 0 {
			if _, err := io.WriteString(e.w, ": still here\n\n"); err != nil {
				e.fail()
				return
			}
		}
		for _, c := range queue {
			ev := c.ev
			if ev == nil {
				text := string(c.data)
				ev = &event{T: c.name, Data: &text}
				sent += len(c.data)
			}
			if err := e.write(ev); err != nil {
				e.fail()
				return
			}
		}
		if err := e.rc.Flush(); err != nil {
			e.fail()
			return
		}
		e.mu.Lock()
		e.pending -= sent
		e.changed.Broadcast()
		e.mu.Unlock()
	}
}

func (e *events) write(ev *event) error {
	data, err := json.Marshal(ev)
	if err != nil {
		return err
	}
	for _, part := range [][]byte{[]byte("event: " + ev.T + "\ndata: "), data, []byte("\n\n")} {
		if _, err := e.w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

func (e *events) fail() {
	e.mu.Lock()
	e.err = errClientGone
	e.queue = nil
	e.changed.Broadcast()
	e.mu.Unlock()
	e.gone()
}
