package functions_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

func settle(t testing.TB, q *sqlcgen.Queries, id, exec uuid.UUID) []int64 {
	t.Helper()
	return must[[]int64](t)(q.Settle(t.Context(), sqlcgen.SettleParams{Sandbox: id, Exec: exec}))
}

func TestSettle_appliedIsTheVersionItLedTo(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	exec := uuid.New()
	d := begin(t, q, id)
	d.create(1, "a", "1")
	d.Exec = must[[]byte](t)(json.Marshal(map[string]any{"id": exec}))
	led := d.apply(t, q).Version
	write(t, q, id, "b", "2")
	if got := settle(t, q, id, exec); len(got) != 1 || got[0] != led {
		t.Fatalf("settled as %v, it led to %d", got, led)
	}
	if f := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)); f.Version != led+1 {
		t.Fatalf("version %d: settling an applied commit changes nothing", f.Version)
	}
}

func TestSettle_whatWasNotAppliedNeverIs(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	late := begin(t, q, id)
	late.create(1, "late", "late")
	exec := uuid.New()
	late.Exec = must[[]byte](t)(json.Marshal(map[string]any{"id": exec}))
	if got := settle(t, q, id, exec); len(got) != 0 {
		t.Fatalf("settled as %v before it came", got)
	}
	_, err := q.Apply(t.Context(), late.ApplyParams)
	wantErrno(t, err, vfs.ESTALE)
	wantNoFile(t, pool, id, "/late")
}

func TestSettle_waitsForTheTransactionThatIsStillThere(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	exec := uuid.New()
	d := begin(t, q, id)
	d.create(1, "a", "1")
	d.Exec = must[[]byte](t)(json.Marshal(map[string]any{"id": exec}))
	tx := must[pgx.Tx](t)(pool.Begin(t.Context()))
	defer func() { _ = tx.Rollback(t.Context()) }()
	led := must[sqlcgen.ApplyRow](t)(q.WithTx(tx).Apply(t.Context(), d.ApplyParams)).Version
	got := make(chan []int64)
	go func() { got <- settle(t, q, id, exec) }()
	waiting := "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%fs.settle%' AND datname = current_database()"
	for owner, n := sqltest.Owner(t), 0; n == 0; {
		if err := owner.QueryRow(t.Context(), waiting).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-got; len(got) != 1 || got[0] != led {
		t.Fatalf("settled as %v, it led to %d", got, led)
	}
}

func TestSettle_unknownSandbox(t *testing.T) {
	t.Parallel()
	q, _ := queries(t)
	_, err := q.Settle(t.Context(), sqlcgen.SettleParams{Sandbox: uuid.New(), Exec: uuid.New()})
	wantErrno(t, err, vfs.ESRCH)
}

// After a failover that lost the last commits, another one may have the same version: what was made on the lost one
// does not fit.
func TestApply_wantsTheHistoryItStandsOn(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	write(t, q, id, "a", "1")
	f := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id))
	lost := begin(t, q, id)
	lost.create(1, "lost", "lost")
	at := f.LastUsedAt.Add(-time.Microsecond)
	lost.ChangedAt = &at
	_, err := q.Apply(t.Context(), lost.ApplyParams)
	wantErrno(t, err, vfs.ESTALE)
	wantNoFile(t, pool, id, "/lost")
	fits := begin(t, q, id)
	fits.create(1, "fits", "fits")
	fits.ChangedAt = f.LastUsedAt
	if got := fits.apply(t, q).Version; got != f.Version+1 {
		t.Fatalf("version %d after %d", got, f.Version)
	}
	fresh := sqltest.Sandbox(t, pool)
	first := begin(t, q, fresh)
	first.create(1, "first", "first")
	first.ChangedAt = &at
	if must[sqlcgen.FsFence](t)(q.Fence(t.Context(), fresh)).LastUsedAt != nil {
		t.Fatal("a sandbox that was never changed has a time")
	}
	_, err = q.Apply(t.Context(), first.ApplyParams)
	wantErrno(t, err, vfs.ESTALE)
}
