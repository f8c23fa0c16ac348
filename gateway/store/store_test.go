package store_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
)

func TestMain(m *testing.M) { sqltest.Main(m) }

// open returns a store on the shared database, or through another URL.
func open(t *testing.T, c store.Config) *store.Store {
	t.Helper()
	if c.URL == "" {
		c.URL = sqltest.ServingURL(t, sqltest.URL(t))
	}
	s, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func sandbox(t *testing.T) uuid.UUID { return sqltest.Sandbox(t, sqltest.Pool(t)) }

func fence(t *testing.T, s *store.Store, id uuid.UUID) *store.Fence {
	t.Helper()
	f, err := s.Fence(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// stateOf is the state of the shell that a fence names.
func stateOf(t *testing.T, s *store.Store, f *store.Fence) string {
	t.Helper()
	if f.State == nil {
		return "{}"
	}
	state, err := s.ReadState(t.Context(), f.ID, *f.State)
	if err != nil {
		t.Fatal(err)
	}
	return string(state)
}

// content reads chunks through a store.
type content struct {
	s  *store.Store
	id uuid.UUID
}

func (c content) Load(ctx context.Context, h []tree.Hash) ([][]byte, error) {
	return c.s.ReadBlobs(ctx, c.id, h)
}

// load builds the latest tree of a sandbox.
func load(t *testing.T, s *store.Store, id uuid.UUID) (*store.Fence, *tree.Tree) {
	t.Helper()
	now := fence(t, s, id)
	f, patches, err := s.LoadLayers(t.Context(), now, now.Layers)
	if err != nil {
		t.Fatal(err)
	}
	tr := tree.Empty()
	for i := len(patches) - 1; i >= 0; i-- {
		p := patches[i]
		p.Version, p.NextIno, p.UsedBytes, p.UsedInodes = f.Version, tree.Ino(f.NextIno), f.UsedBytes, f.UsedInodes
		if tr, err = tr.Patch(p); err != nil {
			t.Fatal(err)
		}
	}
	return f, tr
}

// change is a commit that does what fn does, on the latest version.
func change(t *testing.T, s *store.Store, id uuid.UUID, fn func(w *tree.Work) error) store.Commit {
	t.Helper()
	f, tr := load(t, s, id)
	w := tr.Begin(t.Context(), tree.Options{Content: content{s, id}, UID: 1000, GID: 1000})
	if err := fn(w); err != nil {
		t.Fatal(err)
	}
	return store.Commit{Sandbox: id, Version: f.Version, Delta: w.Delta(),
		Exec: store.Exec{ID: uuid.New(), Script: "marker " + id.String(), StartedAt: time.Now()}}
}

func writing(path, data string) func(w *tree.Work) error {
	return func(w *tree.Work) error { return w.WriteFile(path, []byte(data), 0o644) }
}

// wantFile compares a file as Postgres has it.
func wantFile(t *testing.T, s *store.Store, id uuid.UUID, path, want string) {
	t.Helper()
	_, tr := load(t, s, id)
	got, err := tr.Begin(t.Context(), tree.Options{Content: content{s, id}, ReadOnly: true}).ReadFile(path)
	if err != nil || string(got) != want {
		t.Fatalf("%s: %q, %v; want %q", path, got, err, want)
	}
}

func wantNoFile(t *testing.T, s *store.Store, id uuid.UUID, path string) {
	t.Helper()
	_, tr := load(t, s, id)
	if _, err := tr.Lookup(path, true); !errors.Is(err, vfs.ENOENT) {
		t.Fatalf("%s is there: %v", path, err)
	}
}

func TestEveryExecMode(t *testing.T) {
	for _, mode := range []store.ExecMode{store.CacheStatement, store.CacheDescribe, store.DirectExec} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			cfg := store.Config{ExecMode: mode}
			if mode == store.CacheStatement {
				cfg.URL = sqltest.URL(t) // what it prepares stays with a session, which a pooler gives to others
			}
			s := open(t, cfg)
			id := sandbox(t)
			c := change(t, s, id, func(w *tree.Work) error {
				if err := w.MkdirAll("/home/user/a/b", 0o755); err != nil {
					return err
				}
				if err := w.Symlink("b", "/home/user/a/l"); err != nil {
					return err
				}
				return w.WriteFile("/home/user/a/l/f", []byte("hello"), 0o600)
			})
			c.ShellState = []byte(`{"cwd": "/home/user/a"}`)
			a, err := s.Apply(t.Context(), c)
			if err != nil || a.Version != c.Version+1 {
				t.Fatalf("%+v, %v", a, err)
			}
			wantFile(t, s, id, "/home/user/a/b/f", "hello")
			if f := fence(t, s, id); f.Version != a.Version || stateOf(t, s, f) != `{"cwd": "/home/user/a"}` ||
				f.UsedBytes != 5 {
				t.Fatalf("fence %+v", f)
			}
			del := change(t, s, id, func(w *tree.Work) error { return w.RemoveAll("/home/user/a") })
			if _, err := s.Apply(t.Context(), del); err != nil {
				t.Fatal(err)
			}
			wantNoFile(t, s, id, "/home/user/a/b/f")
		})
	}
	if _, err := store.Open(t.Context(), store.Config{URL: sqltest.URL(t), ExecMode: "nonsense"}); err == nil {
		t.Fatal("an unknown exec mode was accepted")
	}
}

func TestStaleCommitAppliesNothing(t *testing.T) {
	t.Parallel()
	s, id := open(t, store.Config{}), sandbox(t)
	first, second := change(t, s, id, writing("/tmp/1", "1")), change(t, s, id, writing("/tmp/2", "2"))
	if _, err := s.Apply(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), second); !errors.Is(err, vfs.ESTALE) {
		t.Fatalf("got %v", err)
	}
	wantNoFile(t, s, id, "/tmp/2")
}

func TestLargeContentIsUploadedOnceAndOnlyWhenMissing(t *testing.T) {
	t.Parallel()
	s, id := open(t, store.Config{}), sandbox(t)
	big := make([]byte, 9<<20+123)
	for i := 0; i < len(big); i += 8 {
		copy(big[i:], fmt.Sprintf("%08x", i))
	}
	copy(big, id[:])
	if _, err := s.Apply(t.Context(), change(t, s, id, func(w *tree.Work) error {
		return w.WriteFile("/tmp/big", big, 0o644)
	})); err != nil {
		t.Fatal(err)
	}
	wantFile(t, s, id, "/tmp/big", string(big))
	first := sha256.Sum256(big[:tree.ChunkSize])
	none := sha256.Sum256(append([]byte("never stored"), id[:]...))
	missing, err := s.MissingBlobs(t.Context(), id, []tree.Hash{first, none})
	if err != nil || len(missing) != 1 || missing[0] != none {
		t.Fatalf("missing %x, %v", missing, err)
	}
	got, err := s.ReadBlobs(t.Context(), id, []tree.Hash{none, first})
	if err != nil || got[0] != nil || tree.Hash(sha256.Sum256(got[1])) != first {
		t.Fatalf("ReadBlobs: %d %d, %v", len(got[0]), len(got[1]), err)
	}
}

// collector deletes contents as gc would, once, right before the first fs.apply is sent.
type collector struct {
	t      *testing.T
	owner  *pgx.Conn
	hashes [][]byte
	mu     sync.Mutex
	done   bool
	armed  bool
}

func (c *collector) TraceBatchStart(ctx context.Context, conn *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	for _, q := range d.Batch.QueuedQueries {
		c.TraceQueryStart(ctx, conn, pgx.TraceQueryStartData{SQL: q.SQL})
	}
	return ctx
}

func (*collector) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*collector) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func (c *collector) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.armed && !c.done && strings.Contains(d.SQL, "fs.apply(") {
		c.done = true
		tag, err := c.owner.Exec(ctx, "DELETE FROM pgbox.blob WHERE sha256 = ANY ($1)", c.hashes)
		if err != nil || tag.RowsAffected() == 0 {
			c.t.Errorf("collect: %v, %v", tag, err)
		}
	}
	return ctx
}

func (c *collector) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func TestContentCollectedBetweenUploadAndCommitIsSentAgain(t *testing.T) {
	t.Parallel()
	col := &collector{t: t, owner: sqltest.Owner(t)}
	s, id := open(t, store.Config{Tracer: col}), sandbox(t)
	big := make([]byte, 600<<10) // more than goes along with the commit
	for i := range big {
		big[i] = id[i%16] ^ byte(i>>16)
	}
	c := change(t, s, id, func(w *tree.Work) error { return w.WriteFile("/tmp/big", big, 0o644) })
	for h := range c.Delta.Blobs {
		col.hashes = append(col.hashes, h[:])
	}
	col.mu.Lock()
	col.armed = true
	col.mu.Unlock()
	if _, err := s.Apply(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if !col.done {
		t.Fatal("nothing was collected")
	}
	wantFile(t, s, id, "/tmp/big", string(big))
}

func TestCommitWithoutItsContentsIsRefused(t *testing.T) {
	t.Parallel()
	s, id := open(t, store.Config{}), sandbox(t)
	c := change(t, s, id, writing("/tmp/small", "nobody else's "+id.String()))
	c.Delta.Blobs = nil
	if _, err := s.Apply(t.Context(), c); !errors.Is(err, vfs.ENODATA) {
		t.Fatalf("got %v", err)
	}
}

func TestUnknownSandboxIsESRCH(t *testing.T) {
	t.Parallel()
	s := open(t, store.Config{})
	if _, err := s.Fence(t.Context(), uuid.New()); !errors.Is(err, vfs.ESRCH) {
		t.Fatalf("fence: %v", err)
	}
	if _, err := s.Get(t.Context(), uuid.New()); !errors.Is(err, vfs.ESRCH) {
		t.Fatalf("get: %v", err)
	}
	if err := s.Drop(t.Context(), uuid.New(), store.Exec{}); !errors.Is(err, vfs.ESRCH) {
		t.Fatalf("drop: %v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	s := open(t, store.Config{URL: "postgres://postgres@127.0.0.1:1/x", ConnectTimeout: time.Second})
	if _, err := s.Fence(t.Context(), uuid.New()); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Fence(ctx, uuid.New()); !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("a caller that went away got %v", err)
	}
}

// TestCommitWhoseConnectionBreaks: whatever is said of the outcome is true, however statements are sent.
func TestCommitWhoseConnectionBreaks(t *testing.T) {
	for _, tc := range []struct {
		name    string
		where   cut
		applied bool
	}{
		{"request lost", cutBefore, false},
		{"half of the request arrives", cutHalf, false},
		{"answer lost", cutAfter, true},
		{"request arrives after it was settled", cutLate, false},
	} {
		for _, mode := range []store.ExecMode{store.CacheStatement, store.CacheDescribe, store.DirectExec} {
			t.Run(tc.name+", "+string(mode), func(t *testing.T) {
				t.Parallel()
				if mode == store.CacheStatement && os.Getenv("PGBOX_TEST_POOLER") != "" {
					mode = store.Auto
				}
				commitBroken(t, mode, tc.where, tc.applied)
			})
		}
	}
}

// commitBroken breaks the connection of a commit and compares what is said of it with what happened.
func commitBroken(t *testing.T, mode store.ExecMode, where cut, applied bool) {
	t.Helper()
	id, direct := sandbox(t), open(t, store.Config{})
	p, u := newProxy(t, sqltest.ServingURL(t, sqltest.URL(t)))
	s := open(t, store.Config{URL: u, ExecMode: mode})
	c := change(t, s, id, writing("/tmp/f", "x"))
	p.breakAt(c.Exec.Script, where, false)
	a, err := s.Apply(t.Context(), c)
	p.wantBroken(t)
	if where == cutLate {
		before := fence(t, direct, id).Version
		close(p.deliver)
		wantRefused(t, c)
		if now := fence(t, direct, id).Version; now != before {
			t.Fatalf("the late request was applied: version %d became %d", before, now)
		}
	}
	if applied {
		if err != nil || a.Version != c.Version+1 || a.UsedBytes != 1 {
			t.Fatalf("applied, and Apply says %+v, %v", a, err)
		}
		wantFile(t, direct, id, "/tmp/f", "x")
		return
	}
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		t.Fatalf("not applied, and Apply says %v", err)
	}
	wantNoFile(t, direct, id, "/tmp/f")
}

// TestCommitWhosePoolerLosesTheServer: PgBouncer itself says that the connection behind it is lost, and that is no
// proof of anything.
func TestCommitWhosePoolerLosesTheServer(t *testing.T) {
	t.Parallel()
	p, target := newProxy(t, sqltest.URL(t))
	pooled := sqltest.PooledURL(t, target)
	direct := open(t, store.Config{})
	for _, mode := range []store.ExecMode{store.CacheDescribe, store.DirectExec} {
		t.Run(string(mode), func(t *testing.T) {
			id := sandbox(t)
			s := open(t, store.Config{URL: pooled, ExecMode: mode})
			c := change(t, s, id, writing("/tmp/f", "x"))
			p.breakAt(c.Exec.Script, cutAfter, false)
			a, err := s.Apply(t.Context(), c)
			p.wantBroken(t)
			if err != nil || a.Version != c.Version+1 {
				t.Fatalf("applied, and Apply says %+v, %v", a, err)
			}
			wantFile(t, direct, id, "/tmp/f", "x")
		})
	}
}

// wantRefused waits until the server has met the late request and refused it: it is the only one that could still apply
// c.
func wantRefused(t *testing.T, c store.Commit) {
	t.Helper()
	conn := sqltest.Owner(t)
	for range 200 {
		var n int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity a, pg_sleep(0.01)
			WHERE a.datname = current_database() AND a.state <> 'idle' AND a.query LIKE '%fs.apply(%' AND a.pid <> pg_backend_pid()`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		var done bool
		if err := conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pgbox.exec WHERE id = $1)",
			c.Exec.ID).Scan(&done); err != nil || done {
			t.Fatalf("the late request was applied: %v %v", done, err)
		}
		if n == 0 {
			return
		}
	}
}

func TestCommitWhoseOutcomeCannotBeLearnedIsUnknown(t *testing.T) {
	t.Parallel()
	id, direct := sandbox(t), open(t, store.Config{})
	p, u := newProxy(t, sqltest.ServingURL(t, sqltest.URL(t)))
	s := open(t, store.Config{URL: u, Timeout: 3 * time.Second, MaxConns: 1})
	c := change(t, direct, id, writing("/tmp/f", "x"))
	p.breakAt(c.Exec.Script, cutAfter, true)
	if _, err := s.Apply(t.Context(), c); !errors.Is(err, store.ErrUnknown) {
		t.Fatalf("got %v", err)
	}
	p.light()
	// A store that stays usable: the next commit goes on from what really happened.
	if _, err := s.Apply(t.Context(), change(t, direct, id, writing("/tmp/g", "y"))); err != nil {
		t.Fatal(err)
	}
	wantFile(t, direct, id, "/tmp/g", "y")
}

// TestBackendKilledDuringCommit: the commit waits for the row when its backend is terminated.
func TestBackendKilledDuringCommit(t *testing.T) {
	t.Parallel()
	s, id := open(t, store.Config{}), sandbox(t)
	c := change(t, s, id, writing("/tmp/f", "x"))
	blocker := sqltest.Owner(t)
	tx, err := blocker.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), "SELECT FROM pgbox.sandbox WHERE id = $1 FOR UPDATE", id); err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() { _, err := s.Apply(t.Context(), c); got <- err }()
	admin := sqltest.Owner(t)
	for killed := 0; killed == 0; {
		err := admin.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(a.pid)) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE NOT l.granted AND $1 = ANY (pg_blocking_pids(a.pid)) AND a.query LIKE '%fs.apply(%'`, blocker.PgConn().PID()).Scan(&killed)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-got; !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	wantNoFile(t, s, id, "/tmp/f")
}

func TestReadsSurviveDeadConnections(t *testing.T) {
	t.Parallel()
	url := sqltest.Database(t)
	s := open(t, store.Config{URL: url, MinConns: 4})
	b, err := s.Create(t.Context(), store.NewSandbox{ID: uuid.New(), Tenant: "t", Owner: "o", Name: "n"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fence(t.Context(), b.ID); err != nil {
		t.Fatal(err)
	}
	admin := sqltest.Connect(t, url)
	if _, err := admin.Exec(t.Context(),
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fence(t.Context(), b.ID); err != nil {
		t.Fatalf("after all connections died: %v", err)
	}
	_ = admin.Close(context.Background())
	s.Close()
}

// TestFrozenTransactionIsEnded: what a process that stands still has locked is given back.
func TestFrozenTransactionIsEnded(t *testing.T) {
	t.Parallel()
	url := sqltest.Database(t)
	s := open(t, store.Config{URL: url, Timeout: 300 * time.Millisecond})
	admin := sqltest.Connect(t, url)
	defer func() { _ = admin.Close(context.Background()) }()
	frozen := func() (n int, err error) {
		err = admin.QueryRow(t.Context(),
			"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'").Scan(&n)
		return n, err
	}
	n := store.NewSandbox{ID: uuid.New(), Tenant: "t", Owner: "o", Name: "n"}
	var stuck error
	_, err := s.CreateWith(t.Context(), n, nil, func(ctx context.Context, f *store.Fence,
		load store.LoadFunc) (*store.Commit, error) {
		for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			n, err := frozen()
			if err != nil {
				stuck = err
				return nil, err
			}
			if n == 0 {
				_, err := load(ctx, f.Layers)
				return nil, err
			}
			if time.Now().After(end) {
				stuck = errors.New("the transaction is still open")
				return nil, stuck
			}
		}
	})
	if stuck != nil || err == nil {
		t.Fatalf("%v, %v", stuck, err)
	}
	var left int
	if err := admin.QueryRow(t.Context(), "SELECT count(*) FROM pgbox.sandbox WHERE id = $1",
		n.ID).Scan(&left); err != nil || left != 0 {
		t.Fatalf("%d sandboxes are left: %v", left, err)
	}
	s.Close()
}

func TestCreateWithFilesIsAllOrNothing(t *testing.T) {
	t.Parallel()
	s := open(t, store.Config{})
	build := func(fail error) func(context.Context, *store.Fence, store.LoadFunc) (*store.Commit, error) {
		return func(ctx context.Context, f *store.Fence, load store.LoadFunc) (*store.Commit, error) {
			if fail != nil {
				return nil, fail
			}
			patches, err := load(ctx, f.Layers)
			if err != nil {
				return nil, err
			}
			tr := tree.Empty()
			for i := len(patches) - 1; i >= 0; i-- {
				patches[i].NextIno = tree.Ino(f.NextIno)
				if tr, err = tr.Patch(patches[i]); err != nil {
					return nil, err
				}
			}
			w := tr.Begin(ctx, tree.Options{})
			err = w.WriteFile("/home/user/f", make([]byte, 300<<10), 0o644)
			return &store.Commit{Sandbox: f.ID, Version: f.Version, Delta: w.Delta(), Exec: store.Exec{ID: uuid.New()}}, err
		}
	}
	n := store.NewSandbox{ID: uuid.New(), Tenant: "t", Owner: "o", Name: "n", Env: []byte(`{"A":"b"}`)}
	b, err := s.CreateWith(t.Context(), n, nil, build(nil))
	if err != nil || b.Version != 1 || b.UsedBytes != 300<<10 {
		t.Fatalf("%+v, %v", b, err)
	}
	wantFile(t, s, n.ID, "/home/user/f", string(make([]byte, 300<<10)))
	n.ID = uuid.New()
	if _, err := s.CreateWith(t.Context(), n, nil, build(vfs.ENOTDIR)); !errors.Is(err, vfs.ENOTDIR) {
		t.Fatalf("got %v", err)
	}
	if _, err := s.Get(t.Context(), n.ID); !errors.Is(err, vfs.ESRCH) {
		t.Fatalf("the sandbox of a failed creation: %v", err)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	s := open(t, store.Config{})
	owner := uuid.NewString()
	var ids []uuid.UUID
	for i := range 5 {
		b, err := s.Create(t.Context(), store.NewSandbox{ID: uuid.New(), Tenant: "t", Owner: owner,
			Name: fmt.Sprint("n", i%2), Labels: []byte(fmt.Sprintf(`{"i":"%d"}`, i))}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		ids = append([]uuid.UUID{b.ID}, ids...)
	}
	first, err := s.List(t.Context(), "t", owner, store.ListFilter{Limit: 3})
	if err != nil || len(first) != 3 || first[0].ID != ids[0] || first[2].ID != ids[2] {
		t.Fatalf("first page %v, %v", first, err)
	}
	rest, err := s.List(t.Context(), "t", owner, store.ListFilter{Limit: 3, After: first[2].ID})
	if err != nil || len(rest) != 2 || rest[0].ID != ids[3] {
		t.Fatalf("second page %v, %v", rest, err)
	}
	named, err := s.List(t.Context(), "t", owner, store.ListFilter{Limit: 9, Name: "n1", Labels: []byte(`{"i":"3"}`)})
	if err != nil || len(named) != 1 || named[0].ID != ids[1] {
		t.Fatalf("filtered %v, %v", named, err)
	}
	if other, err := s.List(t.Context(), "another", owner, store.ListFilter{Limit: 9}); err != nil || len(other) != 0 {
		t.Fatalf("another tenant sees %v, %v", other, err)
	}
}

func TestCloseLeavesNothingRunning(t *testing.T) {
	s, err := store.Open(t.Context(), store.Config{URL: sqltest.URL(t)})
	if err != nil {
		t.Fatal(err)
	}
	ignore := goleak.IgnoreCurrent()
	own, err := store.Open(t.Context(), store.Config{URL: sqltest.URL(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	own.Close()
	if err := goleak.Find(ignore); err != nil {
		t.Error(err)
	}
	s.Close()
}

// TestCreationDoneBeforeIsThere: an id that is ours and is taken was taken by an attempt whose answer was lost.
func TestCreationDoneBeforeIsThere(t *testing.T) {
	t.Parallel()
	s := open(t, store.Config{})
	n := store.NewSandbox{ID: uuid.New(), Tenant: "t", Owner: "o", Name: "n"}
	ids := []uuid.UUID{uuid.New(), uuid.New()}
	for range 2 {
		if b, err := s.Create(t.Context(), n, nil, nil); err != nil || b.ID != n.ID {
			t.Fatalf("%+v, %v", b, err)
		}
		forks, err := s.Fork(t.Context(), n.ID, ids, "f", "o", "", store.Exec{}, nil)
		if err != nil || len(forks) != 2 || forks[0].ID != ids[0] || forks[1].ID != ids[1] {
			t.Fatalf("%+v, %v", forks, err)
		}
	}
}

// TestRefusedInputIsEINVAL: what the database cannot read, or its constraints do not take, is the caller's mistake and
// not an internal error.
func TestRefusedInputIsEINVAL(t *testing.T) {
	t.Parallel()
	s, id := open(t, store.Config{}), sandbox(t)
	for name, do := range map[string]func() error{
		"half a surrogate": func() error {
			_, err := s.KvSet(t.Context(), id, "k", []byte(`"\ud800"`), store.Expect{}, store.Exec{})
			return err
		},
		"a key that is too long": func() error {
			_, err := s.KvSet(t.Context(), id, strings.Repeat("k", 2000), []byte("1"), store.Expect{}, store.Exec{})
			return err
		},
		"a name that is too long": func() error {
			_, err := s.Snapshot(t.Context(), id, strings.Repeat("n", 300), store.Exec{})
			return err
		},
		"a date that is none": func() error { _, err := s.FenceAt(t.Context(), id, "2026-99-99"); return err },
		"a negative limit":    func() error { _, err := s.ChangesSince(t.Context(), id, 0, 0, -1); return err },
	} {
		if err := do(); !errors.Is(err, vfs.EINVAL) && !errors.Is(err, vfs.ENAMETOOLONG) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
