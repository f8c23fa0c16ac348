package feed_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pgbox/pgbox/gateway/cache"
	"github.com/pgbox/pgbox/gateway/feed"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/replication"
	"github.com/pgbox/pgbox/sql/sqltest"
)

func TestMain(m *testing.M) { sqltest.Main(m) }

// metric is the value of a metric, labels and all.
func metric(t *testing.T, r *prometheus.Registry, want string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			if name == want {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return 0 // a label that has not come up yet
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// What a probe and the metrics say of a feed at work, cut off, and at work again; and what becomes of the cache.
func TestCutAndReconnectEmptyTheCacheAndShow(t *testing.T) {
	u := sqltest.Database(t)
	owner := sqltest.Connect(t, u)
	do := func(sql string) {
		t.Helper()
		if _, err := owner.Exec(context.Background(), sql); err != nil {
			t.Fatal(err)
		}
	}
	st, err := store.Open(context.Background(), store.Config{URL: u})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	// The listener has a user of its own, who can be kept out: so the cut lasts as long as the test looks at it.
	do("DROP ROLE IF EXISTS pgbox_test_listener")
	do("CREATE ROLE pgbox_test_listener LOGIN REPLICATION")
	t.Cleanup(func() { do("DROP ROLE pgbox_test_listener") })
	listening, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	listening.User = url.User("pgbox_test_listener")
	b, err := st.Create(t.Context(), store.NewSandbox{Name: "cut", Tenant: "t", Owner: "o"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	trees := cache.NewTrees(st, 1<<30)
	f := feed.New(feed.Config{
		Mode: feed.Replication, URL: listening.String(), Silence: time.Millisecond,
		Listener: replication.Config{RetryMin: time.Millisecond, RetryMax: 20 * time.Millisecond},
	})
	metrics := prometheus.NewRegistry()
	f.Register(metrics)
	if err := f.Start(t.Context(), trees); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Stop()
		eventually(t, "the slot to go", func() bool {
			n := 1
			err := owner.QueryRow(context.Background(),
				"SELECT count(*) FROM pg_replication_slots WHERE database = current_database()").Scan(&n)
			return err != nil || n == 0
		})
	})
	eventually(t, "a stream", func() bool { return f.Active() == feed.Replication })
	load := func() {
		t.Helper()
		fence, err := st.Fence(t.Context(), b.ID)
		if err != nil {
			t.Fatal(err)
		}
		p, err := trees.Get(t.Context(), fence)
		if err != nil {
			t.Fatal(err)
		}
		p.Release()
	}
	load()
	// A barrier that is under way may make it look behind.
	healthy := func(reconnects int64) func() bool {
		return func() bool {
			s, down := f.Status()
			return s.Mode == "replication" && s.Configured == "replication" && s.Reason == "" && s.Reconnects == reconnects &&
				down == ""
		}
	}
	eventually(t, "health", healthy(0))
	if metric(t, metrics, "pgbox_feed_active replication") != 1 || metric(t, metrics, "pgbox_feed_active version") != 0 {
		t.Fatal("the active mode is not shown")
	}
	do("ALTER ROLE pgbox_test_listener NOLOGIN")
	do("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE database = current_database()")
	eventually(t, "the cut", func() bool { return f.Active() == feed.Version })
	eventually(t, "the probe", func() bool {
		s, down := f.Status()
		return s.Mode == "version" && s.Reason != "" && down != ""
	})
	// The mode changes first: from then on every tree is compared with its version, so the trees of before do no harm.
	eventually(t, "the trees of before the cut to go", func() bool { return trees.Len() == 0 })
	load() // in version mode everything goes on
	do("ALTER ROLE pgbox_test_listener LOGIN")
	eventually(t, "another stream", func() bool { return f.Active() == feed.Replication })
	eventually(t, "health after one reconnect", healthy(1))
	if trees.Len() != 0 {
		t.Fatal("a tree from between the streams is still there")
	}
	for name, want := range map[string]float64{"pgbox_feed_reconnects_total": 1, "pgbox_feed_resets_total connected": 2,
		"pgbox_feed_resets_total lost": 1, "pgbox_feed_active version": 0} {
		if got := metric(t, metrics, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	// Rows that the publication does not tell about, and an altered table.
	load()
	do("ALTER TABLE pgbox.inode RENAME COLUMN rdev TO device")
	if _, err := owner.Exec(t.Context(),
		"INSERT INTO pgbox.inode (layer_id, ino, kind, mode, uid, gid, nlink, mtime, ctime) SELECT layers[1], 5000, 1, 0, 0, 0, 1, 0, 0 FROM pgbox.sandbox WHERE id = $1", b.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the cache to be empty", func() bool { return trees.Len() == 0 })
	eventually(t, "the reset to be counted", func() bool {
		return metric(t, metrics, "pgbox_feed_resets_total unknown") == 1
	})
	do("DELETE FROM pgbox.inode WHERE ino = 5000")
	do("ALTER TABLE pgbox.inode RENAME COLUMN device TO rdev")
}

func TestVersionModeHasNoListener(t *testing.T) {
	f := feed.New(feed.Config{Mode: feed.Version})
	if err := f.Start(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	defer f.Stop()
	if s, down := f.Status(); s.Mode != "version" || s.Configured != "version" || down != "" || f.Fresh(time.Hour) ||
		f.Active() != feed.Version {
		t.Fatalf("%+v, %q", s, down)
	}
	_, look, cancel := f.Subscribe([16]byte{1})
	defer cancel()
	if d := look(); d != time.Second {
		t.Fatalf("a follower looks every %v", d)
	}
}

func TestUnreachableServerIsNoError(t *testing.T) {
	f := feed.New(feed.Config{URL: "postgres://user:topsecret@127.0.0.1:1/db?sslmode=disable"})
	st, err := store.Open(context.Background(), store.Config{URL: sqltest.ServingURL(t, sqltest.URL(t))})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := f.Start(t.Context(), cache.NewTrees(st, 1)); err != nil {
		t.Fatal(err)
	}
	defer f.Stop()
	if s, down := f.Status(); s.Mode != "version" || down != "" || strings.Contains(s.Reason, "secret") ||
		strings.Contains(s.Reason, "127.0.0.1") {
		t.Fatalf("%+v, %q", s, down)
	}
}
