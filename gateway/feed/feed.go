package feed

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pgbox/pgbox/gateway/cache"
	"github.com/pgbox/pgbox/replication"
)

// Mode is what keeps the cache right; see the package.
type Mode string

// The modes.
const (
	Auto        Mode = "auto"
	Replication Mode = "replication"
	Version     Mode = "version"
)

// Publication is what the listener follows.
const Publication = "pgbox"

// Config is what a Feed is made of. URL is needed unless Mode is Version.
type Config struct {
	Mode    Mode          // default Auto
	URL     string        // of the primary, not through a pooler; its user needs REPLICATION
	MaxRows int           // of one transaction that are kept; default 50 000
	Poll    time.Duration // how often followers look for news without a listener; default 1 s
	// Silence is how long Mode Replication may be without a stream before it counts as down; default 30 s.
	Silence time.Duration
	// Listener has the pauses of the listener; zero values are its defaults.
	Listener replication.Config
}

// Feed feeds the cache. The methods may be called before Start and after Stop, when it is in version mode.
type Feed struct {
	cfg    Config
	news   news
	counts *counts

	mu       sync.Mutex
	listener *replication.Listener
	stop     func()
}

// New returns a Feed that does nothing until Start.
func New(c Config) *Feed {
	if c.Mode == "" {
		c.Mode = Auto
	}
	if c.MaxRows == 0 {
		c.MaxRows = 50_000
	}
	if c.Poll == 0 {
		c.Poll = time.Second
	}
	if c.Silence == 0 {
		c.Silence = 30 * time.Second
	}
	return &Feed{cfg: c, counts: newCounts()}
}

// Start starts the listener, and waits until it streams or has failed once, but not for longer than ctx lasts. In mode
// Replication a failed preflight is an error; otherwise the listener goes on trying. Stop ends it.
func (f *Feed) Start(ctx context.Context, trees *cache.Trees) error {
	if f.cfg.Mode == Version {
		return nil
	}
	lc := f.cfg.Listener
	lc.URL, lc.Publication, lc.Tables = f.cfg.URL, Publication, Tables()
	lc.Handler = newFeeder(trees, &f.news, f.cfg.MaxRows, f.counts)
	l := replication.New(lc)
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { l.Run(run) })
	f.mu.Lock()
	f.listener, f.stop = l, sync.OnceFunc(func() { cancel(); wg.Wait() })
	f.mu.Unlock()
	select {
	case <-l.Tried():
	case <-ctx.Done():
		return nil
	}
	if s := l.State(); !s.Live && len(s.Findings) > 0 {
		err := &replication.PreflightError{Findings: s.Findings}
		if f.cfg.Mode == Replication {
			f.Stop()
			return fmt.Errorf("CACHE_INVALIDATION=replication cannot be: %w", err)
		}
		slog.Warn("trees are reloaded, not patched, when another process changes them (CACHE_INVALIDATION=version)",
			"err", err)
	}
	return nil
}

// Stop ends the listener.
func (f *Feed) Stop() {
	f.mu.Lock()
	stop := f.stop
	f.mu.Unlock()
	if stop != nil {
		stop()
	}
}

func (f *Feed) state() (replication.State, bool) {
	f.mu.Lock()
	l := f.listener
	f.mu.Unlock()
	if l == nil {
		return replication.State{}, false
	}
	return l.State(), true
}

// Active is the mode that is at work now: Replication or Version.
func (f *Feed) Active() Mode {
	if s, ok := f.state(); ok && s.Live {
		return Replication
	}
	return Version
}

// Fresh reports whether the cached trees are known to have everything that was committed until max ago. It asks nobody.
func (f *Feed) Fresh(max time.Duration) bool {
	f.mu.Lock()
	l := f.listener
	f.mu.Unlock()
	return l != nil && max > 0 && l.Fresh(max)
}

// Subscribe returns a channel that holds a token when there may be something new in a sandbox, and how long to wait for
// it at most before looking without one. cancel must be called.
func (f *Feed) Subscribe(sandbox uuid.UUID) (ch <-chan struct{}, look func() time.Duration, cancel func()) {
	ch, cancel = f.news.subscribe(sandbox)
	return ch, func() time.Duration {
		if f.Active() == Replication {
			return 15 * time.Second
		}
		return f.cfg.Poll
	}, cancel
}

// Status is what a probe shows.
type Status struct {
	Mode       string  `json:"mode" enum:"replication,version" doc:"what keeps cached trees current now"`
	Configured string  `json:"configured" enum:"auto,replication,version"`
	LagBytes   int64   `json:"lagBytes" doc:"of the write-ahead log that is not applied yet"`
	LagSeconds float64 `json:"lagSeconds" doc:"how long the log has not been applied as far as it was on disk; 0 when it has"`
	Patches    int64   `json:"patches"`
	Drops      int64   `json:"drops" doc:"cached trees that could not be patched"`
	Reconnects int64   `json:"reconnects"`
	Reason     string  `json:"reason,omitempty" doc:"why there is no replication, and what to run"`
}

// Status describes the feed. down is not empty when the mode that was asked for has not been at work for too long.
func (f *Feed) Status() (st Status, down string) {
	s, ok := f.state()
	st = Status{Mode: string(Version), Configured: string(f.cfg.Mode), Patches: f.counts.patched.Load(),
		Drops: f.counts.dropped.Load()}
	if !ok {
		return st, ""
	}
	st.LagBytes, st.LagSeconds, st.Reconnects = s.LagBytes, s.Lag.Seconds(), max(0, s.Streams-1)
	if s.Live {
		st.Mode = string(Replication)
		if f.cfg.Mode == Replication && s.Lag > f.cfg.Silence {
			down = fmt.Sprintf("the listener is %.0f s behind", s.Lag.Seconds())
		}
		return st, down
	}
	st.Reason = "no replication stream"
	if len(s.Findings) > 0 {
		st.Reason = (&replication.PreflightError{Findings: s.Findings}).Error()
	}
	if f.cfg.Mode == Replication && time.Since(s.Since) > f.cfg.Silence {
		down = "no replication stream"
	}
	return st, down
}

// Register adds the feed's metrics.
func (f *Feed) Register(r prometheus.Registerer) {
	r.MustRegister(f.counts.outcomes, f.counts.resets, f.counts.large, &collector{f})
}
