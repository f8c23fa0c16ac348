package store_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/gateway/devdb"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/sql/migrate"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// cluster starts a server of the test's own, which follows primary if there is one.
func cluster(t *testing.T, dir, primary string) *devdb.Cluster {
	t.Helper()
	c, err := devdb.Start(t.Context(), devdb.Config{Dir: dir, Primary: primary, Settings: map[string]string{
		"max_standby_streaming_delay": "0", "wal_receiver_status_interval": "1s",
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// interloper does something once, before the first statement that holds a marker.
type interloper struct {
	marker string
	do     func()
	done   atomic.Bool
}

func (i *interloper) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	if i.do != nil && strings.Contains(d.SQL, i.marker) && i.done.CompareAndSwap(false, true) {
		i.do()
	}
	return ctx
}

func (*interloper) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// pair is a primary with its standby and a sandbox.
type pair struct {
	t                *testing.T
	primary, standby *devdb.Cluster
	dir              string // of the standby
	direct           *store.Store
	id               uuid.UUID
}

func (p *pair) exec(c *devdb.Cluster, sql string) {
	p.t.Helper()
	if _, err := sqltest.Connect(p.t, c.URL("postgres")).Exec(p.t.Context(), sql); err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
}

// caughtUp waits until the standby has what the primary has.
func (p *pair) caughtUp() {
	p.t.Helper()
	var lsn string
	// A commit, so that what is before it is sent.
	p.exec(p.primary, "SELECT pg_logical_emit_message(true, 'test', '')")
	if err := sqltest.Connect(p.t, p.primary.URL("postgres")).QueryRow(p.t.Context(),
		"SELECT pg_current_wal_flush_lsn()::text").Scan(&lsn); err != nil {
		p.t.Fatal(err)
	}
	conn := sqltest.Connect(p.t, p.standby.URL("postgres"))
	p.eventually("the replay", func() bool {
		var ok bool
		if err := conn.QueryRow(p.t.Context(), "SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn",
			lsn).Scan(&ok); err != nil {
			p.t.Fatal(err)
		}
		return ok
	})
}

func (p *pair) eventually(what string, ok func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Errorf("waited in vain for %s", what)
			return
		}
	}
}

// write commits a file on the primary.
func (p *pair) write(path, data string) {
	p.t.Helper()
	if _, err := p.direct.Apply(p.t.Context(), change(p.t, p.direct, p.id, writing(path, data))); err != nil {
		p.t.Fatal(err)
	}
}

// open returns a store that uses the standby.
func (p *pair) open(c store.Config) *store.Store {
	p.t.Helper()
	c.URL = p.primary.URL("postgres")
	if c.ReplicaURL == "" {
		c.ReplicaURL = p.standby.URL("postgres")
	}
	return open(p.t, c)
}

// want loads the tree at what the primary says is the latest version, and compares a file in it.
func (p *pair) want(s *store.Store, path, data string) {
	p.t.Helper()
	f, tr := load(p.t, s, p.id)
	if now := fence(p.t, p.direct, p.id); f.Version != now.Version {
		p.t.Fatalf("loaded version %d, asked for %d", f.Version, now.Version)
	}
	got, err := tr.Begin(p.t.Context(), tree.Options{Content: content{s, p.id}, ReadOnly: true}).ReadFile(path)
	if err != nil || string(got) != data {
		p.t.Fatalf("%s: %q, %v; want %q", path, got, err, data)
	}
}

func (p *pair) status(s *store.Store, trees, treesPrimary int64, refusal string) {
	p.t.Helper()
	st := s.Replica()
	if st.Trees != trees || st.TreesPrimary != treesPrimary || refusal != "" && st.Refusals[refusal] == 0 {
		p.t.Errorf("%+v; want %d loads from the standby, %d from the primary, refused: %s", st, trees, treesPrimary, refusal)
	}
}

// Whatever happens to the standby, the tree is that of the version asked for.
func TestStandby(t *testing.T) {
	whole := t
	p := &pair{t: t, dir: sqltest.ServerDir(t)}
	p.primary = cluster(t, sqltest.ServerDir(t), "")
	if _, err := migrate.Up(t.Context(), p.primary.URL("postgres"), migrate.Options{}); err != nil {
		t.Fatal(err)
	}
	p.standby = cluster(whole, p.dir, p.primary.URL("postgres"))
	p.direct = open(t, store.Config{URL: p.primary.URL("postgres")})
	pool, err := sqltest.NewPool(t.Context(), sqltest.GatewayURL(p.primary.URL("postgres")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	p.id = sqltest.Sandbox(t, pool)
	p.write("/tmp/f", "one")
	p.caughtUp()
	within := func(t *testing.T, f func(p *pair)) {
		q := *p
		q.t = t
		f(&q)
		p.standby = q.standby
	}

	t.Run("it answers what it has", func(t *testing.T) {
		within(t, func(p *pair) {
			s := p.open(store.Config{})
			p.want(s, "/tmp/f", "one")
			p.status(s, 1, 0, "")
			if st := s.Replica(); st.Contents != 1 || st.ContentsPrimary != 0 {
				t.Errorf("%+v", st)
			}
		})
	})
	t.Run("replay is behind", func(t *testing.T) {
		within(t, func(p *pair) {
			s := p.open(store.Config{})
			p.exec(p.standby, "SELECT pg_wal_replay_pause()")
			p.write("/tmp/f", "two")
			p.want(s, "/tmp/f", "two")
			p.status(s, 0, 1, "behind")
			if st := s.Replica(); st.ContentsPrimary != 1 || st.Refusals["missing_content"] != 1 {
				t.Errorf("%+v", st)
			}
			// Others are as far as they need to be.
			patient := p.open(store.Config{ReplicaWait: time.Minute})
			resume := time.AfterFunc(100*time.Millisecond, func() {
				// Whatever runs on this standby may be cancelled for the replay.
				for attempt := 0; ; attempt++ {
					conn, err := pgx.Connect(context.Background(), p.standby.URL("postgres"))
					if err == nil {
						_, err = conn.Exec(context.Background(), "SELECT pg_wal_replay_resume()")
						_ = conn.Close(context.Background())
					}
					if err == nil {
						return
					}
					if attempt == 5 {
						t.Error(err)
						return
					}
				}
			})
			defer resume.Stop()
			p.want(patient, "/tmp/f", "two")
			p.status(patient, 1, 0, "")
			p.want(s, "/tmp/f", "two")
			p.status(s, 1, 1, "")
		})
	})
	t.Run("a query stands in the way of the replay", func(t *testing.T) {
		within(t, func(p *pair) {
			i := &interloper{marker: "fs.load_inodes("}
			s := p.open(store.Config{Tracer: i})
			var wg sync.WaitGroup
			i.do = func() {
				// The load has read the fence, so it has a lock on pgbox.sandbox. Now it is made to wait for one on pgbox.inode.
				inode := sqltest.Connect(t, p.primary.URL("postgres"))
				if _, err := inode.Exec(t.Context(), "BEGIN; LOCK TABLE pgbox.inode IN ACCESS EXCLUSIVE MODE"); err != nil {
					t.Error(err)
				}
				p.caughtUp()
				watch := sqltest.Connect(t, p.standby.URL("postgres"))
				wg.Go(func() {
					p.eventually("the load's wait for a lock", func() bool {
						var n int
						err := watch.QueryRow(t.Context(),
							"SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%fs.load_inodes(%'").Scan(&n)
						return err == nil && n == 1
					})
					p.exec(p.primary, "BEGIN; LOCK TABLE pgbox.sandbox IN ACCESS EXCLUSIVE MODE; COMMIT")
					p.caughtUp()
					if _, err := inode.Exec(t.Context(), "COMMIT"); err != nil {
						t.Error(err)
					}
				})
			}
			p.want(s, "/tmp/f", "two")
			wg.Wait()
			p.status(s, 0, 1, "conflict")
			p.want(s, "/tmp/f", "two")
			p.status(s, 1, 1, "")
		})
	})
	t.Run("a session stands in the way of the replay", func(t *testing.T) {
		within(t, func(p *pair) {
			i := &interloper{marker: "fs.load_inodes("}
			s := p.open(store.Config{Tracer: i})
			i.do = func() {
				p.exec(p.primary, "BEGIN; LOCK TABLE pgbox.sandbox IN ACCESS EXCLUSIVE MODE; COMMIT")
				p.caughtUp()
			}
			p.want(s, "/tmp/f", "two")
			if !i.done.Load() {
				t.Error("nothing stood in the way")
			}
		})
	})
	t.Run("it dies and comes back", func(t *testing.T) {
		within(t, func(p *pair) {
			s := p.open(store.Config{})
			p.want(s, "/tmp/f", "two")
			p.standby.Kill()
			for range 20 {
				p.want(s, "/tmp/f", "two")
			}
			p.status(s, 1, 20, "down")
			p.standby = cluster(whole, p.dir, p.primary.URL("postgres"))
			p.eventually("its use", func() bool {
				p.want(s, "/tmp/f", "two")
				return s.Replica().Trees > 1
			})
		})
	})
	t.Run("it becomes a primary of its own", func(t *testing.T) {
		within(t, func(p *pair) {
			p.caughtUp()
			s := p.open(store.Config{})
			p.want(s, "/tmp/f", "two")
			if err := p.standby.Promote(t.Context()); err != nil {
				t.Fatal(err)
			}
			// Two histories with the same versions.
			other := open(t, store.Config{URL: p.standby.URL("postgres")})
			if _, err := other.Apply(t.Context(), change(t, other, p.id, writing("/tmp/f", "elsewhere"))); err != nil {
				t.Fatal(err)
			}
			p.write("/tmp/f", "here")
			p.want(s, "/tmp/f", "here")
			p.want(s, "/tmp/f", "here")
			p.status(s, 1, 2, "promoted")
			// A standby, but of the other one.
			third := cluster(t, sqltest.ServerDir(t), p.standby.URL("postgres"))
			astray := p.open(store.Config{ReplicaURL: third.URL("postgres")})
			p.want(astray, "/tmp/f", "here")
			p.status(astray, 0, 1, "other_version")
		})
	})
}
