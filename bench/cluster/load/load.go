package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pgbox/pgbox/bench/cluster/history"
)

// Config says who changes what. All of it is needed.
type Config struct {
	Replicas  []Replica
	SQL       string // URL of Postgres, as one who may call fs.*
	Clients   int
	Sandboxes int // in use at once
	Changes   int // after which a sandbox is checked, and another one takes its place
	Seed      uint64
}

// Load is clients at work.
type Load struct {
	cfg   Config
	began time.Time
	token atomic.Int64

	mu      sync.Mutex
	active  []*sandbox
	retired []*sandbox
	found   []string
	counts  map[string]int
	retire  sync.WaitGroup
}

// sandbox is one that is in use.
type sandbox struct {
	id      string
	history *history.History
	changes atomic.Int64
	users   sync.WaitGroup
}

// New returns clients that do nothing until Run.
func New(c Config) *Load {
	l := &Load{cfg: c, began: time.Now(), counts: map[string]int{}}
	l.cfg.Replicas = slices.Clone(c.Replicas)
	for i := range l.cfg.Replicas {
		l.cfg.Replicas[i].keys = fmt.Sprintf("%x ", l.began.UnixNano())
	}
	return l
}

func (l *Load) now() int64 { return int64(time.Since(l.began)) }

// requestTimeout is when a client gives up.
const requestTimeout = 30 * time.Second

// patience is how long a client tries something that has to succeed in the end.
const patience = 90 * time.Second

// Run lets the clients work until ctx is done, then waits for the checks of the sandboxes that were in use. It fails
// when there is no sandbox to work on.
func (l *Load) Run(ctx context.Context) error {
	rng := rand.New(rand.NewPCG(l.cfg.Seed, 0))
	for range l.cfg.Sandboxes {
		s, err := l.create(ctx, rng)
		if err != nil {
			return err
		}
		l.active = append(l.active, s)
	}
	var wg sync.WaitGroup
	for i := range l.cfg.Clients {
		c := &worker{Load: l, name: fmt.Sprintf("client %d", i), rng: rand.New(rand.NewPCG(l.cfg.Seed, uint64(i+1)))}
		wg.Go(func() {
			for ctx.Err() == nil {
				c.step(ctx)
			}
		})
	}
	wg.Wait()
	return nil
}

// Finish checks the sandboxes that are still in use. Nothing may be wrong any more.
func (l *Load) Finish(ctx context.Context) {
	l.mu.Lock()
	rest := l.active
	l.active = nil
	l.mu.Unlock()
	for _, s := range rest {
		l.retire.Go(func() { l.check(ctx, s) })
	}
	l.retire.Wait()
}

// Found is what cannot have happened.
func (l *Load) Found() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.found)
}

// Sandboxes are the ids of all that were checked.
func (l *Load) Sandboxes() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]string, len(l.retired))
	for i, s := range l.retired {
		out[i] = s.id
	}
	return out
}

// Counts is how often each kind of request ended in each way.
func (l *Load) Counts() (lines []string, applied int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, n := range l.counts {
		lines = append(lines, fmt.Sprintf("%-36s %d", k, n))
		if strings.HasSuffix(k, " applied") {
			applied += n
		}
	}
	sort.Strings(lines)
	return lines, applied
}

func (l *Load) count(what, how string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[what+" "+how]++
}

func (l *Load) tell(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found = append(l.found, fmt.Sprintf(format, args...))
}

func (l *Load) replica(rng *rand.Rand) Replica { return l.cfg.Replicas[rng.IntN(len(l.cfg.Replicas))] }

// create makes a sandbox in its first state, however long that takes.
func (l *Load) create(ctx context.Context, rng *rand.Rand) (*sandbox, error) {
	key := fmt.Sprintf("create %d", l.token.Add(1))
	a, err := l.insist(ctx, rng, key, http.MethodPost, "/v1/sandboxes", map[string]any{"name": key})
	if err != nil {
		return nil, fmt.Errorf("no sandbox: %w", err)
	}
	id := a.ID
	if a, err = l.insist(ctx, rng, key+" setup", http.MethodPost, "/v1/sandboxes/"+id+"/exec-sync",
		map[string]any{"script": history.Setup}); err != nil {
		return nil, fmt.Errorf("no sandbox: %w", err)
	}
	if a.ExitCode != 0 || a.Stderr != "" {
		return nil, fmt.Errorf("the first script failed: %s", a.Stderr)
	}
	return &sandbox{id: id, history: &history.History{Sandbox: id}}, nil
}

// insist repeats a request, with its key, until it succeeds.
func (l *Load) insist(ctx context.Context, rng *rand.Rand, key, method, path string, body any) (a Reply, err error) {
	deadline := time.Now().Add(patience)
	for {
		rctx, cancel := context.WithTimeout(ctx, requestTimeout)
		a, err = l.replica(rng).Do(rctx, method, path, key, body)
		cancel()
		switch {
		case err == nil && a.ok():
			if a.Stderr != "" {
				l.tell("the script of %s (version %d) failed: %s", path, a.Version, a.Stderr)
			}
			return a, nil
		case ctx.Err() != nil:
			return a, ctx.Err()
		case time.Now().After(deadline):
			return a, errors.Join(errors.New("still, after "+patience.String()+": "+a.String()), err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// borrow returns a sandbox in use; give it back with its users.
func (l *Load) borrow(rng *rand.Rand) *sandbox {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.active[rng.IntN(len(l.active))]
	s.users.Add(1)
	return s
}

// replace takes a sandbox out of use that has seen enough. It is checked when its last user is done.
func (l *Load) replace(ctx context.Context, rng *rand.Rand, s *sandbox) {
	if s.changes.Add(1) != int64(l.cfg.Changes) {
		return
	}
	next, err := l.create(ctx, rng)
	if err != nil {
		if ctx.Err() == nil {
			l.tell("%v", err)
		}
		s.changes.Store(0) // it goes on instead
		return
	}
	l.mu.Lock()
	l.active[slices.Index(l.active, s)] = next
	l.mu.Unlock()
	l.retire.Go(func() { l.check(context.WithoutCancel(ctx), s) })
}

// check asks Postgres for the last state of a sandbox and checks its history.
func (l *Load) check(ctx context.Context, s *sandbox) {
	s.users.Wait()
	deadline := time.Now().Add(patience)
	for {
		rctx, cancel := context.WithTimeout(ctx, requestTimeout)
		v := history.View{Call: l.now(), By: "Postgres, at the end"}
		var err error
		v.Shown, v.Version, err = sqlShow(rctx, l.cfg.SQL, s.id)
		cancel()
		if err == nil {
			v.Return = l.now()
			found := s.history.Check(v)
			l.mu.Lock()
			l.retired = append(l.retired, s)
			l.found = append(l.found, found...)
			l.mu.Unlock()
			return
		}
		if ctx.Err() != nil {
			return
		}
		if time.Now().After(deadline) {
			l.tell("%s: Postgres does not show it: %v", s.id, err)
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}
