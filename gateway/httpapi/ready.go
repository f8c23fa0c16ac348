package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/pgbox/pgbox/gateway/confine"
	"github.com/pgbox/pgbox/gateway/feed"
	"github.com/pgbox/pgbox/gateway/store"
)

// readyFor is how long the outcome of a check answers /readyz. However many ask, there is one check at a time, and none
// more often.
const readyFor = time.Second

// retryAfter is how many seconds a client is told to wait when this process cannot serve it now; another one behind the
// same address may at once.
const retryAfter = "1"

// probe checks what the process stands on, for whoever asks.
type probe struct {
	check func(ctx context.Context) map[string]string

	mu     sync.Mutex
	flight chan struct{} // closed when the check that runs is over; nil: none does
	until  time.Time
	down   map[string]string
}

// get is the outcome of a check of the last readyFor, or of the next one to end.
func (p *probe) get(ctx context.Context) map[string]string {
	p.mu.Lock()
	if p.flight == nil && time.Now().Before(p.until) {
		defer p.mu.Unlock()
		return p.down
	}
	if p.flight == nil {
		p.flight = make(chan struct{})
		// It serves everyone who waits, so it does not end with the one who came first. The check bounds itself.
		go p.run(context.WithoutCancel(ctx), p.flight)
	}
	flight := p.flight
	p.mu.Unlock()
	select {
	case <-flight:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.down
}

func (p *probe) run(ctx context.Context, flight chan struct{}) {
	down := p.check(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down, p.until, p.flight = down, time.Now().Add(readyFor), nil
	close(flight)
}

// state is the body of the probes.
type state struct {
	Status   string                `json:"status" enum:"ok,degraded,draining"`
	Down     map[string]string     `json:"down,omitempty" doc:"what is down, with the reason"`
	Cache    *feed.Status          `json:"cacheInvalidation,omitempty" doc:"readyz: how cached trees are kept current"`
	Replica  *store.ReplicaStatus  `json:"replica,omitempty" doc:"readyz: how often a standby answered what it was asked, and how often the primary had to"`
	Runtimes map[string]string     `json:"runtimes,omitempty" doc:"readyz: the interpreters of sandboxes: ready, or why a command is missing"`
	Sandbox  *confine.Restrictions `json:"sandbox,omitempty" doc:"readyz: what the kernel keeps this process from"`
}

type readiness struct {
	Status     int
	RetryAfter string `header:"Retry-After"`
	Body       state
}

// readyRoute is GET /readyz.
func (s *server) readyRoute() {
	p := &probe{check: s.Ready}
	handle(s, operation(http.MethodGet, "/readyz", "ready", "The process can serve", "service", true),
		func(ctx context.Context, _ *struct{}) (*readiness, error) {
			h := &readiness{Status: http.StatusOK}
			h.Body.Status, h.Body.Sandbox = "ok", s.Sandbox
			h.Body.Runtimes = s.Runtimes
			if s.Feed != nil {
				st := s.Feed()
				h.Body.Cache = &st
			}
			if s.Replica != nil {
				h.Body.Replica = s.Replica()
			}
			// Asked before the check, which may take its time, and after it: a balancer must hear of it at once.
			draining := func() bool { return s.Draining != nil && s.Draining() }
			if s.Ready != nil && !draining() {
				if down := p.get(ctx); len(down) > 0 {
					h.Status, h.Body.Status, h.Body.Down = http.StatusServiceUnavailable, "degraded", down
				}
			}
			if draining() {
				h.Status, h.Body.Status = http.StatusServiceUnavailable, "draining"
			}
			if h.Status != http.StatusOK {
				h.RetryAfter = retryAfter
			}
			return h, nil
		})
}

// GetHeaders tells clients when to come back to a process that cannot serve them now.
func (e *ErrorBody) GetHeaders() http.Header {
	if e.status == http.StatusServiceUnavailable && e.Retryable {
		return http.Header{"Retry-After": {retryAfter}}
	}
	return nil
}
