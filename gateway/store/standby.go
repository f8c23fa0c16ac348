package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sqlcgen"
)

// standby reads from a streaming standby what may come from there: the rows of a version that the fence, which the
// primary answered, asks for, and contents by their hash. Whatever is the matter with it, the primary is asked instead.
type standby struct {
	pool *pgxpool.Pool
	wait time.Duration

	mu      sync.Mutex
	after   time.Time     // not asked before, because it failed
	pause   time.Duration // the last one; doubled with each failure
	hurried time.Time     // not waited for before, because it was waited for in vain

	trees, contents uses
	refusals        [refusalCount]atomic.Int64
}

// uses counts reads by who answered.
type uses struct{ replica, primary atomic.Int64 }

func (u *uses) count(replica bool) {
	if replica {
		u.replica.Add(1)
	} else {
		u.primary.Add(1)
	}
}

// refusal is why the primary was asked instead.
type refusal int

const (
	refusedBehind   refusal = iota // has not replayed the version
	refusedOther                   // has gone further, or is of another history
	refusedConflict                // the query stood in the way of the replay
	refusedPromoted                // is not a standby
	refusedDown                    // cannot be reached, or does not answer
	refusedMissing                 // lacks a content
	refusalCount
)

var refusalNames = [refusalCount]string{"behind", "other_version", "conflict", "promoted", "down", "missing_content"}

var (
	errBehind   = errors.New("the standby has not replayed the version")
	errOther    = errors.New("the standby has another version")
	errPromoted = errors.New("the server is no standby")
	errPooler   = errors.New("a pooler stands in front of the standby: whether it still is one cannot be seen")
)

const (
	// standbyTimeout bounds one read: longer, and the primary would have been the better choice.
	standbyTimeout = 5 * time.Second
	// standbyAcquire bounds the wait for a connection to it.
	standbyAcquire = 250 * time.Millisecond
	// After a failure it is left alone for this long, doubled with each further one.
	minPause, maxPause = time.Second, 30 * time.Second
	// After it was waited for in vain, it is asked but not waited for.
	hurry = time.Second
)

func openStandby(ctx context.Context, c *Config) (*standby, error) {
	pc, err := poolConfig(c, c.ReplicaURL)
	if err != nil {
		return nil, errors.New("the replica's URL cannot be parsed")
	}
	pc.MinConns = 1
	pc.BeforeConnect = func(ctx context.Context, cc *pgx.ConnConfig) error {
		pooled, err := behindPooler(ctx, cc)
		if err == nil && pooled {
			err = errPooler
		}
		return err
	}
	pc.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		registerTypes(conn)
		if !inRecovery(conn) {
			return errPromoted
		}
		return nil
	}
	r := &standby{wait: 25 * time.Millisecond}
	if c.ReplicaWait > 0 {
		r.wait = c.ReplicaWait
	}
	r.pool, err = pgxpool.NewWithConfig(ctx, pc)
	return r, err
}

// inRecovery reports whether the server was a standby when it last answered: it reports the change of the parameter
// with the answer to the next query. What a snapshot showed that was taken before came from the primary.
func inRecovery(conn *pgx.Conn) bool { return conn.PgConn().ParameterStatus("in_hot_standby") == "on" }

// load is LoadLayers, false when the primary must be asked.
func (r *standby) load(
	ctx context.Context, asked *Fence, layers []uuid.UUID,
) (f *Fence, patches []*tree.Patch, ok bool) {
	defer func() { r.trees.count(ok) }()
	until := r.patience()
	for pause := time.Millisecond; ; pause *= 2 {
		err := r.ask(ctx, func(ctx context.Context, c *pgxpool.Conn) error {
			return snapshot(ctx, c, func(q *sqlcgen.Queries) (err error) {
				f, err = fence(ctx, q, asked.ID)
				switch {
				case err != nil:
					return err
				case f.Version < asked.Version:
					return errBehind
				case !f.same(asked):
					return errOther
				}
				patches, err = loadLayers(ctx, q, asked.ID, layers)
				return err
			})
		})
		if errors.Is(err, vfs.ESRCH) {
			err = errBehind // not there yet
		}
		if !errors.Is(err, errBehind) {
			return f, patches, r.judge(ctx, err)
		}
		if time.Now().Add(pause).After(until) {
			return nil, nil, r.judge(ctx, err)
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, nil, false
		}
	}
}

// blobs returns contents in the order of hashes, and the places of those that the primary must be asked for.
func (r *standby) blobs(ctx context.Context, sandbox uuid.UUID, hashes []tree.Hash) (out [][]byte, missing []int) {
	var rows []sqlcgen.ReadBlobsRow
	err := r.ask(ctx, func(ctx context.Context, c *pgxpool.Conn) (err error) {
		rows, err = sqlcgen.New(c).ReadBlobs(ctx, sqlcgen.ReadBlobsParams{Sandbox: sandbox, SHA256: raw(hashes)})
		return err
	})
	if errors.Is(err, vfs.ESRCH) {
		err = errBehind
	}
	if r.judge(ctx, err) {
		out = inOrder(hashes, rows)
	} else {
		out = make([][]byte, len(hashes))
	}
	for i := range out {
		if out[i] == nil {
			missing = append(missing, i)
		}
	}
	if err == nil && len(missing) > 0 {
		r.refusals[refusedMissing].Add(1)
	}
	r.contents.count(len(missing) == 0)
	return out, missing
}

// errResting: it failed a moment ago.
var errResting = errors.New("the standby is left alone for a while")

// ask runs fn on a connection, for a bounded time; on another one when that one turns out to be dead.
func (r *standby) ask(ctx context.Context, fn func(ctx context.Context, c *pgxpool.Conn) error) error {
	r.mu.Lock()
	resting := time.Now().Before(r.after)
	r.mu.Unlock()
	if resting {
		return errResting
	}
	dead, err := r.once(ctx, fn)
	if dead {
		// The others are probably as old.
		r.pool.Reset()
		if ctx.Err() == nil && !conflict(err) {
			_, err = r.once(ctx, fn)
		}
	}
	return err
}

// once runs fn on a connection. dead reports that it is of no use any more.
func (r *standby) once(
	ctx context.Context, fn func(ctx context.Context, c *pgxpool.Conn) error,
) (dead bool, err error) {
	actx, cancel := context.WithTimeout(ctx, standbyAcquire)
	c, err := r.pool.Acquire(actx)
	cancel()
	if err != nil {
		return false, err
	}
	defer c.Release()
	ctx, cancel = context.WithTimeout(ctx, standbyTimeout)
	defer cancel()
	if err = fn(ctx, c); err == nil && !inRecovery(c.Conn()) {
		return true, errPromoted
	}
	return c.Conn().IsClosed(), wrap("standby", err)
}

// patience is until when a load may wait for the replay.
func (r *standby) patience() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Before(r.hurried) {
		return now
	}
	return now.Add(r.wait)
}

// judge draws the conclusions from a read; true when it was answered.
func (r *standby) judge(ctx context.Context, err error) bool {
	why := refusedDown
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.pause = 0
		return true
	case ctx.Err() != nil:
		return false // it is not to blame
	case errors.Is(err, errBehind):
		why = refusedBehind
		r.hurried = time.Now().Add(hurry)
	case errors.Is(err, errOther), errors.Is(err, vfs.ESTALE):
		why = refusedOther
	case conflict(err):
		why = refusedConflict
	case errors.Is(err, errResting):
	default:
		if errors.Is(err, errPromoted) {
			why = refusedPromoted
		}
		r.pause = min(max(2*r.pause, minPause), maxPause)
		r.after = time.Now().Add(r.pause)
	}
	r.refusals[why].Add(1)
	return false
}

// ReplicaStatus says how reads were divided between the primary and its standby.
type ReplicaStatus struct {
	Trees           int64            `json:"trees" doc:"loads of trees that the standby answered"`
	TreesPrimary    int64            `json:"treesPrimary" doc:"those that the primary had to answer"`
	Contents        int64            `json:"contents" doc:"reads of file content that the standby answered"`
	ContentsPrimary int64            `json:"contentsPrimary" doc:"those that the primary had to answer, at least in part"`
	Refusals        map[string]int64 `json:"refusals,omitempty" doc:"why the primary had to: behind, other_version, conflict, promoted, down, missing_content"`
}

// Replica describes the use of the standby, nil when there is none.
func (s *Store) Replica() *ReplicaStatus {
	r := s.standby
	if r == nil {
		return nil
	}
	st := &ReplicaStatus{
		Trees: r.trees.replica.Load(), TreesPrimary: r.trees.primary.Load(),
		Contents: r.contents.replica.Load(), ContentsPrimary: r.contents.primary.Load(), Refusals: map[string]int64{},
	}
	for i, name := range refusalNames {
		if n := r.refusals[i].Load(); n > 0 {
			st.Refusals[name] = n
		}
	}
	return st
}

var (
	descReads = prometheus.NewDesc("pgbox_store_cold_reads_total",
		"Reads that may come from the standby, by what was read and who answered.", []string{"of", "from"}, nil)
	descRefusals = prometheus.NewDesc("pgbox_store_replica_refusals_total",
		"Times the primary was asked instead of the standby, by reason.", []string{"reason"}, nil)
	descConnections = prometheus.NewDesc("pgbox_store_connections", "Connections to Postgres, by server and state.",
		[]string{"server", "state"}, nil)
)

// collector reads the counters when it is asked.
type collector struct{ s *Store }

// Register adds the store's metrics.
func (s *Store) Register(r prometheus.Registerer) { r.MustRegister(collector{s}) }

func (c collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- descReads
	ch <- descRefusals
	ch <- descConnections
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	pool := func(server string, p *pgxpool.Pool) {
		st := p.Stat()
		for state, n := range map[string]int32{"acquired": st.AcquiredConns(), "idle": st.IdleConns(),
			"constructing": st.ConstructingConns()} {
			ch <- prometheus.MustNewConstMetric(descConnections, prometheus.GaugeValue, float64(n), server, state)
		}
	}
	pool("primary", c.s.pool)
	r := c.s.standby
	if r == nil {
		return
	}
	pool("replica", r.pool)
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	count(descReads, r.trees.replica.Load(), "tree", "replica")
	count(descReads, r.trees.primary.Load(), "tree", "primary")
	count(descReads, r.contents.replica.Load(), "content", "replica")
	count(descReads, r.contents.primary.Load(), "content", "primary")
	for i, name := range refusalNames {
		count(descRefusals, r.refusals[i].Load(), name)
	}
}
