package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/wire"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// hold writes to sandboxes in one transaction, as a DBA in psql does, and leaves it open; release ends it.
func hold(t *testing.T, ids ...uuid.UUID) (release func()) {
	t.Helper()
	ctx := context.Background()
	tx, err := sqltest.Connect(t, sqltest.GatewayURL(sqltest.URL(t))).Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if _, err := tx.Exec(ctx, "SELECT set_config('app.sandbox_id', $1, true)", id.String()); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(ctx, "SELECT fs.write_file('/home/user/held', 'x')"); err != nil {
			t.Fatal(err)
		}
	}
	return sync.OnceFunc(func() {
		if err := tx.Rollback(ctx); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
			t.Error(err)
		}
	})
}

func TestHeldSandboxTellsItsWriterInTime(t *testing.T) {
	t.Parallel()
	s := service(t, sandbox.Config{LockTimeout: time.Second})
	for name, tt := range map[string]struct {
		timeout, least, most time.Duration
		do                   func(id uuid.UUID, timeout time.Duration) error
	}{
		"the script's timeout": {500 * time.Millisecond, 400 * time.Millisecond, 900 * time.Millisecond,
			func(id uuid.UUID, timeout time.Duration) error {
				_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: "echo x > f", Timeout: timeout})
				return err
			}},
		"the lock's timeout": {time.Minute, time.Second, 10 * time.Second, func(id uuid.UUID, timeout time.Duration) error {
			_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: "echo x > f", Timeout: timeout})
			return err
		}},
		"a file verb": {0, time.Second, 10 * time.Second, func(id uuid.UUID, _ time.Duration) error {
			return s.Mkdir(t.Context(), alice, id, "/home/user/d", false)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := emptySandbox(t)
			run(t, s, id, "echo 1 > f") // everything is warm
			release := hold(t, id)
			defer release()
			began := time.Now()
			err := tt.do(id, tt.timeout)
			took := time.Since(began)
			wantError(t, err, wire.CodeLockTimeout, sandbox.AppliedNo)
			if took < tt.least || took > tt.most+5*time.Second {
				t.Errorf("told after %v", took)
			}
			release()
			if got := read(t, s, id, "/home/user/f"); got != "1\n" {
				t.Errorf("f holds %q", got)
			}
			run(t, s, id, "echo 2 > f")
		})
	}
}

func TestHeldSandboxIsWaitedForNoLongerThanNeeded(t *testing.T) {
	t.Parallel()
	s := service(t, sandbox.Config{})
	id := emptySandbox(t)
	release := hold(t, id)
	time.AfterFunc(time.Second, release)
	if res := run(t, s, id, "echo x > f"); !res.Committed {
		t.Error("not committed")
	}
	release()
}

// TestHeldSandboxesLeaveTheirNeighboursAlone: a transaction in psql holds more sandboxes than there are connections.
// Readers and writers of another sandbox, and readers of those that are held, go on as before.
func TestHeldSandboxesLeaveTheirNeighboursAlone(t *testing.T) {
	t.Parallel()
	const conns = 8
	st, err := store.Open(context.Background(), store.Config{URL: sqltest.ServingURL(t, sqltest.URL(t)), MaxConns: conns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	s := service(t, sandbox.Config{Store: st, MaxOwnerRuns: 64})
	var held []uuid.UUID
	for range 2 * conns {
		held = append(held, emptySandbox(t))
	}
	other := emptySandbox(t)
	run(t, s, other, "echo 0 > f")
	release := hold(t, held...)
	defer release()
	var blocked sync.WaitGroup
	for i, id := range held {
		blocked.Go(func() {
			if i%2 == 0 {
				_, _ = s.Exec(context.Background(), sandbox.Request{Sandbox: id, Caller: alice, Script: "echo x > f"})
			} else if _, err := s.Snapshot(context.Background(), alice, id, "s"); err != nil {
				t.Error(err)
			}
		})
	}
	defer blocked.Wait()
	defer release()
	// The others wait with the connections there are for that.
	watch := sqltest.Owner(t)
	for waiting := 0; waiting < conns/4; {
		err := watch.QueryRow(t.Context(), `SELECT count(*) FROM pg_sleep(0.01), pg_stat_activity a
			WHERE a.datname = current_database() AND a.wait_event_type = 'Lock' AND a.query_start < now() - interval '0.5 s'`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		began := time.Now()
		run(t, s, other, fmt.Sprintf("echo %d > f", i))
		if got := read(t, s, other, "/home/user/f"); got != fmt.Sprintln(i) {
			t.Fatalf("f holds %q", got)
		}
		wantNoFile(t, s, held[i], "/home/user/held")
		// One that waits for the others waits for 30 s.
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("a neighbour waited for %v", took)
		}
	}
}

// TestCommitThatGetsNoConnection: when a script has ended all connections are taken, and stay so for longer than a
// commit waits.
func TestCommitThatGetsNoConnection(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := sqltest.Database(t)
	st, err := store.Open(ctx, store.Config{URL: url, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close() // before the database is dropped
	s := sandbox.New(sandbox.Config{Store: st, CommitTimeout: 300 * time.Millisecond})
	defer func() { _ = s.Shutdown(ctx) }()
	b, err := s.CreateSandbox(ctx, alice, sandbox.NewSandbox{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	run(t, s, b.ID, "echo 1 > f")
	in, out := io.Pipe()
	said := make(chan error)
	go func() {
		_, err := s.Exec(ctx, sandbox.Request{Sandbox: b.ID, Caller: alice, Script: "read x; echo 2 > f; read x", Stdin: in})
		said <- err
	}()
	if _, err := io.WriteString(out, "begun\n"); err != nil {
		t.Fatal(err)
	}
	dba := sqltest.Connect(t, url)
	tx, err := dba.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "LOCK TABLE pgbox.sandbox IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	read1 := make(chan error)
	go func() {
		_, err := s.Stat(ctx, alice, b.ID, "/home/user/f")
		read1 <- err
	}()
	for waiting := false; !waiting; {
		err := tx.QueryRow(ctx,
			"SELECT EXISTS (SELECT FROM pg_sleep(0.01), pg_locks l WHERE NOT l.granted AND pg_backend_pid() = ANY (pg_blocking_pids(l.pid)))").Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, <-said, wire.CodeUnavailable, sandbox.AppliedNo)
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-read1; err != nil {
		t.Error(err)
	}
	if got := read(t, s, b.ID, "/home/user/f"); got != "1\n" {
		t.Errorf("f holds %q", got)
	}
	run(t, s, b.ID, "echo 3 > f")
	if got := read(t, s, b.ID, "/home/user/f"); got != "3\n" {
		t.Errorf("f holds %q", got)
	}
}
