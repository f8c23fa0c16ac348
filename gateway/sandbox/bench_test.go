package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// counter counts statements and batches: each is one round trip on a warm connection.
type counter struct{ n atomic.Int64 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

func (*counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (c *counter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.n.Add(1)
	return ctx
}

func (*counter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*counter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func counted(t testing.TB) (*sandbox.Service, *counter) {
	t.Helper()
	n := new(counter)
	st, err := store.Open(context.Background(), store.Config{URL: sqltest.ServingURL(t, sqltest.URL(t)), Tracer: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	return service(t, sandbox.Config{Store: st}), n
}

// An owner over quota is refused by the commit. The tree that is cached is still that of the version, and the next read
// does not load it again.
func TestARefusedCommitKeepsTheCachedTree(t *testing.T) {
	t.Parallel()
	s, n := counted(t)
	full := sandbox.Caller{Tenant: alice.Tenant, Route: "test", Subject: "full " + uuid.NewString()}
	b, err := s.CreateSandbox(t.Context(), full, sandbox.NewSandbox{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetQuota(t.Context(), full.Tenant, full.Subject, sandbox.Quota{MaxBytes: new(int64(1))}); err != nil {
		t.Fatal(err)
	}
	least := int64(1 << 30)
	for range 5 {
		_, err := s.WriteFile(t.Context(), full, b.ID, "/tmp/f", []byte("four"), sandbox.WriteOptions{})
		wantError(t, err, wire.CodeEDQUOT, sandbox.AppliedNo)
		before := n.n.Load()
		if _, err := s.Exec(t.Context(), sandbox.Request{Sandbox: b.ID, Caller: full, Script: "ls /tmp",
			ReadOnly: true}); err != nil {
			t.Fatal(err)
		}
		least = min(least, n.n.Load()-before)
	}
	if least != 1 {
		t.Errorf("%d round trips, want the fence's", least)
	}
}

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	s, n := counted(t)
	id := emptySandbox(t)
	run(t, s, id, "echo x >> log")
	trips := func(what string, want int64, do func() error) {
		t.Helper()
		// New connections of the pool bring their own statements: the smallest of a few counts.
		least := int64(1 << 30)
		for range 5 {
			before := n.n.Load()
			if err := do(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			least = min(least, n.n.Load()-before)
		}
		if least != want {
			t.Errorf("%s: %d round trips, want %d", what, least, want)
		}
	}
	script := func(script string, ro bool) func() error {
		return func() error {
			_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: script, ReadOnly: ro})
			return err
		}
	}
	trips("read-only echo", 1, script("echo hi", true))
	trips("echo", 1, script("echo hi", false))
	trips("append", 2, script("echo x >> log", false))
	trips("cat", 1, script("cat log /etc/passwd > /dev/null", true))
	trips("write a file", 2, func() error {
		_, err := s.WriteFile(t.Context(), alice, id, "/tmp/f", []byte("x"), sandbox.WriteOptions{})
		return err
	})
	trips("read a file", 2, func() error {
		f, err := s.OpenFile(t.Context(), alice, id, "/tmp/f")
		if err != nil {
			return err
		}
		return f.Close()
	})
	trips("create a sandbox", 1, func() error {
		_, err := s.CreateSandbox(t.Context(), alice, sandbox.NewSandbox{Name: "n"})
		return err
	})
}

// TestBackendKilledDuringCommit: what the caller is told is what happened, and the sandbox goes on.
func TestBackendKilledDuringCommit(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	run(t, s, id, "echo 1 > f")
	blocker, admin := sqltest.Owner(t), sqltest.Owner(t)
	for range 3 {
		tx, err := blocker.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "SELECT FROM pgbox.sandbox WHERE id = $1 FOR UPDATE", id); err != nil {
			t.Fatal(err)
		}
		got := make(chan error)
		go func() {
			_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: "echo 2 >> f"})
			got <- err
		}()
		for killed := 0; killed == 0; {
			err := admin.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity a
				WHERE $1 = ANY (pg_blocking_pids(a.pid)) AND a.query LIKE '%fs.apply(%'`, blocker.PgConn().PID()).Scan(&killed)
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantError(t, <-got, wire.CodeUnavailable, sandbox.AppliedNo)
		if got := read(t, s, id, "/home/user/f"); got != "1\n" {
			t.Fatalf("%q", got)
		}
	}
	run(t, s, id, "echo 3 >> f")
	if got := read(t, s, id, "/home/user/f"); got != "1\n3\n" {
		t.Fatalf("%q", got)
	}
}

// TestNoDatabase: everything fails in bounded time and says that nothing was applied.
func TestNoDatabase(t *testing.T) {
	t.Parallel()
	st, err := store.Open(context.Background(), store.Config{URL: "postgres://postgres@127.0.0.1:1/x"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	s, id := service(t, sandbox.Config{Store: st}), emptySandbox(t)
	_, err = s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: "true"})
	wantError(t, err, wire.CodeUnavailable, sandbox.AppliedNo)
	_, err = s.CreateSandbox(t.Context(), alice, sandbox.NewSandbox{Name: "n"})
	wantError(t, err, wire.CodeUnavailable, sandbox.AppliedNo)
	wantError(t, s.Mkdir(t.Context(), alice, id, "/tmp/d", false), wire.CodeUnavailable, sandbox.AppliedNo)
	if errors.Is(err, vfs.ENOENT) {
		t.Fatal("a database that is away is not a missing file")
	}
}

func BenchmarkReadOnly(b *testing.B) {
	s, id := service(b, sandbox.Config{}), emptySandbox(b)
	ctx := context.Background()
	pool := sqltest.Pool(b)
	b.Run("bare primary key read", func(b *testing.B) {
		conn := sqltest.Owner(b)
		for b.Loop() {
			var v int64
			if err := conn.QueryRow(ctx, "SELECT version FROM pgbox.sandbox WHERE id = $1", id).Scan(&v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("fence", func(b *testing.B) {
		for b.Loop() {
			if _, err := pool.Exec(ctx, "SELECT * FROM fs.fence($1)", id); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("echo hi", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Exec(ctx, sandbox.Request{Sandbox: id, Caller: alice, Script: "echo hi",
				ReadOnly: true}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	s, id := service(b, sandbox.Config{}), emptySandbox(b)
	ctx := context.Background()
	b.Run("bare update", func(b *testing.B) {
		conn := sqltest.Owner(b)
		for b.Loop() {
			if _, err := conn.Exec(ctx, "UPDATE pgbox.sandbox SET last_used_at = clock_timestamp() WHERE id = $1",
				id); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, size := range []int{1 << 10, 64 << 20} {
		path := fmt.Sprintf("/tmp/log%d", size)
		if _, err := s.WriteFile(ctx, alice, id, path, make([]byte, size), sandbox.WriteOptions{}); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("echo x to %d bytes", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Exec(ctx, sandbox.Request{Sandbox: id, Caller: alice, Script: "echo x >> " + path}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
