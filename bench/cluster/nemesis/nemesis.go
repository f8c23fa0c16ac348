// Package nemesis breaks a test bed at random, and mends it: kills and freezes programs, restarts and empties Redis,
// crashes Postgres and lets the standby take over, ends connections at the server, and cuts, freezes and delays the
// links between any two parts. Which fault follows which is a matter of the seed; when, of the machine.
package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/pgbox/pgbox/bench/cluster/testbed"
	"github.com/pgbox/pgbox/gateway/devdb/link"
)

// Nemesis breaks a test bed.
type Nemesis struct {
	bed   *testbed.Bed
	seed  uint64
	lease time.Duration
	log   func(format string, args ...any)

	mu     sync.Mutex
	busy   map[string]bool
	counts map[string]int
	errs   []error
}

// New returns a nemesis of a test bed whose locks have a lease; log hears what it does.
func New(bed *testbed.Bed, seed uint64, lease time.Duration, log func(format string, args ...any)) *Nemesis {
	return &Nemesis{bed: bed, seed: seed, lease: lease, log: log, busy: map[string]bool{}, counts: map[string]int{}}
}

// fault is one way to break things. It returns when what it broke is whole again.
type fault struct {
	name   string
	weight int
	part   func(n *Nemesis, rng *rand.Rand) string // what it needs for itself
	do     func(n *Nemesis, ctx context.Context, rng *rand.Rand, part string) error
}

func one(part string) func(*Nemesis, *rand.Rand) string {
	return func(*Nemesis, *rand.Rand) string { return part }
}

func (n *Nemesis) anyGateway(rng *rand.Rand) string {
	return n.bed.Gateways[rng.IntN(len(n.bed.Gateways))].Name
}

func (n *Nemesis) anyLink(rng *rand.Rand) string {
	all := n.bed.Links()
	return all[rng.IntN(len(all))].Name
}

func (n *Nemesis) gateway(name string) *testbed.Gateway {
	i := slices.IndexFunc(n.bed.Gateways, func(g *testbed.Gateway) bool { return g.Name == name })
	return n.bed.Gateways[i]
}

func (n *Nemesis) link(name string) *link.Link {
	all := n.bed.Links()
	return all[slices.IndexFunc(all, func(l *link.Link) bool { return l.Name == name })]
}

// pause waits between two bounds, or until ctx is done.
func pause(ctx context.Context, rng *rand.Rand, from, to time.Duration) {
	t := time.NewTimer(from + time.Duration(rng.Int64N(int64(to-from))))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

var faults = []fault{
	{"gateway killed", 10, (*Nemesis).anyGateway, func(n *Nemesis, ctx context.Context, rng *rand.Rand,
		part string) error {
		n.gateway(part).Kill()
		pause(ctx, rng, 0, 2*time.Second)
		return n.gateway(part).Restart(context.WithoutCancel(ctx))
	}},
	{"gateway replaced", 3, (*Nemesis).anyGateway, func(n *Nemesis, ctx context.Context, _ *rand.Rand, part string) error {
		return n.gateway(part).Replace(context.WithoutCancel(ctx))
	}},
	{"gateway frozen past its lease", 8, (*Nemesis).anyGateway,
		func(n *Nemesis, ctx context.Context, rng *rand.Rand, part string) error {
			n.gateway(part).Freeze()
			pause(ctx, rng, n.lease, 2*n.lease)
			n.gateway(part).Thaw()
			return nil
		}},
	{"gateway frozen for a moment", 6, (*Nemesis).anyGateway, func(n *Nemesis, ctx context.Context, rng *rand.Rand,
		part string) error {
		n.gateway(part).Freeze()
		pause(ctx, rng, 0, n.lease/2)
		n.gateway(part).Thaw()
		return nil
	}},
	{"redis restarted", 5, one("redis"), func(n *Nemesis, ctx context.Context, _ *rand.Rand, _ string) error {
		return n.bed.RestartRedis(context.WithoutCancel(ctx))
	}},
	{"redis emptied", 6, one("redis"), func(n *Nemesis, ctx context.Context, _ *rand.Rand, _ string) error {
		return n.bed.Redis(ctx, func(c *redis.Client) error { return c.FlushAll(ctx).Err() })
	}},
	{"redis stalled", 4, one("redis"), func(n *Nemesis, ctx context.Context, rng *rand.Rand, _ string) error {
		n.bed.StallRedis()
		pause(ctx, rng, 0, 2*n.lease)
		n.bed.ResumeRedis()
		return nil
	}},
	{"pgbouncer restarted", 3, one("pgbouncer"), func(n *Nemesis, ctx context.Context, _ *rand.Rand, _ string) error {
		return n.bed.RestartBouncer(context.WithoutCancel(ctx))
	}},
	{"link cut", 10, (*Nemesis).anyLink, func(n *Nemesis, ctx context.Context, rng *rand.Rand, part string) error {
		n.link(part).Cut()
		pause(ctx, rng, 0, 3*time.Second)
		n.link(part).Heal()
		return nil
	}},
	{"link reset", 6, (*Nemesis).anyLink, func(n *Nemesis, _ context.Context, _ *rand.Rand, part string) error {
		n.link(part).Reset()
		return nil
	}},
	{"link frozen", 10, (*Nemesis).anyLink, func(n *Nemesis, ctx context.Context, rng *rand.Rand, part string) error {
		l, way := n.link(part), rng.IntN(3)
		l.Freeze(way != 1, way != 2)
		pause(ctx, rng, 0, 5*time.Second)
		if rng.IntN(2) == 0 {
			l.Reset() // what was on its way is lost
		}
		l.Heal()
		return nil
	}},
	{"link delayed", 6, (*Nemesis).anyLink, func(n *Nemesis, ctx context.Context, rng *rand.Rand, part string) error {
		n.link(part).Delay(time.Duration(1+rng.IntN(100)) * time.Millisecond)
		pause(ctx, rng, time.Second, 4*time.Second)
		n.link(part).Heal()
		return nil
	}},
	{"backends killed", 8, one("postgres"), func(n *Nemesis, ctx context.Context, rng *rand.Rand, _ string) error {
		for range 1 + rng.IntN(10) {
			err := n.bed.Admin(ctx, func(c *pgx.Conn) error {
				// One that waits for the standby would show its commit although a failover may still lose it, which no client can
				// allow for. PostgreSQL, 27.2.8.
				_, err := c.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity WHERE usename IN ('gateway', 'analyst')
					AND backend_type = 'client backend' AND wait_event IS DISTINCT FROM 'SyncRep' ORDER BY state = 'active' DESC, random() LIMIT 3) b`)
				return err
			})
			if err != nil {
				return err
			}
			pause(ctx, rng, 0, 200*time.Millisecond)
		}
		return nil
	}},
	{"listener's walsender killed", 6, one("postgres"), func(n *Nemesis, ctx context.Context, _ *rand.Rand,
		_ string) error {
		return n.bed.Admin(ctx, func(c *pgx.Conn) error {
			_, err := c.Exec(ctx,
				`SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_type = 'logical' AND active ORDER BY random() LIMIT 1`)
			return err
		})
	}},
	{"slot dropped", 4, one("postgres"), func(n *Nemesis, ctx context.Context, _ *rand.Rand, _ string) error {
		return n.bed.Admin(ctx, func(c *pgx.Conn) error {
			// It is temporary, and goes with its walsender; one that is still there is dropped.
			_, err := c.Exec(ctx,
				`SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_type = 'logical' AND active`)
			if err == nil {
				_, err = c.Exec(ctx,
					`SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_type = 'logical' AND NOT active AND NOT temporary`)
			}
			return err
		})
	}},
	{"postgres crashed", 2, one("postgres"), func(n *Nemesis, ctx context.Context, rng *rand.Rand, _ string) error {
		return n.bed.RestartPostgres(ctx, time.Duration(rng.IntN(1500))*time.Millisecond)
	}},
	{"failover", 3, one("postgres"), func(n *Nemesis, ctx context.Context, _ *rand.Rand, _ string) error {
		return n.failover(ctx, false)
	}},
	{"failover, clients not told", 3, one("postgres"), func(n *Nemesis, ctx context.Context, _ *rand.Rand,
		_ string) error {
		return n.failover(ctx, true)
	}},
}

func (n *Nemesis) failover(ctx context.Context, silent bool) error {
	err := n.bed.Failover(context.WithoutCancel(ctx), silent)
	if errors.Is(err, testbed.ErrNotInStep) {
		n.log("no failover: the standby does not stream")
		return nil
	}
	return err
}

// Run breaks things until ctx is done, two at a time, and returns when all is whole again. The error says what could
// not be mended.
func (n *Nemesis) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for i := range 2 {
		rng := rand.New(rand.NewPCG(n.seed, uint64(1000+i)))
		wg.Go(func() {
			for ctx.Err() == nil {
				pause(ctx, rng, 100*time.Millisecond, 2*time.Second)
				if ctx.Err() == nil {
					n.strike(ctx, rng)
				}
			}
		})
	}
	wg.Wait()
	n.bed.Heal()
	return errors.Join(n.errs...)
}

// strike breaks one thing, unless it is broken already.
func (n *Nemesis) strike(ctx context.Context, rng *rand.Rand) {
	total := 0
	for _, f := range faults {
		total += f.weight
	}
	k := rng.IntN(total)
	i := 0
	for ; k >= faults[i].weight; i++ {
		k -= faults[i].weight
	}
	f := &faults[i]
	part := f.part(n, rng)
	n.mu.Lock()
	free := !n.busy[part]
	n.busy[part] = true
	n.mu.Unlock()
	if !free {
		return
	}
	n.log("%s (%s)", f.name, part)
	began := time.Now()
	err := f.do(n, ctx, rng, part)
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.busy, part)
	n.counts[f.name]++
	if err != nil && ctx.Err() == nil {
		n.errs = append(n.errs, fmt.Errorf("%s (%s), after %v: %w", f.name, part, time.Since(began).Round(time.Millisecond),
			err))
		n.log("%v", n.errs[len(n.errs)-1])
	}
}

// Counts is how often each fault was made.
func (n *Nemesis) Counts() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for name, c := range n.counts {
		out = append(out, fmt.Sprintf("%-36s %d", name, c))
	}
	sort.Strings(out)
	return out
}
