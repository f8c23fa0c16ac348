package functions_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

// What a sandbox leaves by flattening stays as long as a snapshot, an image or another sandbox stands on it, each
// alone.
func TestFreeLayers_keepsWhatOthersStandOn(t *testing.T) {
	t.Parallel()
	for holder, keep := range map[string]func(t *testing.T, q *sqlcgen.Queries, owner *pgx.Conn, tenant string,
		id uuid.UUID) (reader func() uuid.UUID){
		"snapshot": func(t *testing.T, q *sqlcgen.Queries, _ *pgx.Conn, _ string, id uuid.UUID) func() uuid.UUID {
			must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "s"}))
			return func() uuid.UUID {
				must[sqlcgen.FsSandbox](t)(q.Restore(t.Context(), sqlcgen.RestoreParams{Sandbox: id, At: "s"}))
				return id
			}
		},
		"image": func(t *testing.T, q *sqlcgen.Queries, _ *pgx.Conn, tenant string, id uuid.UUID) func() uuid.UUID {
			must[sqlcgen.FsImage](t)(q.CreateImage(t.Context(), sqlcgen.CreateImageParams{Sandbox: id, Name: "img"}))
			return func() uuid.UUID { return fromImage(t, q, tenant, "img") }
		},
		"fork": func(t *testing.T, q *sqlcgen.Queries, owner *pgx.Conn, _ string, id uuid.UUID) func() uuid.UUID {
			child := forked(t, q, id)
			// Its @base would hold the layers, too.
			if _, err := owner.Exec(t.Context(), "DELETE FROM pgbox.snapshot WHERE sandbox_id = $1", child); err != nil {
				t.Fatal(err)
			}
			return func() uuid.UUID { return child }
		},
	} {
		t.Run(holder, func(t *testing.T) {
			t.Parallel()
			q, u, _ := gcDatabase(t)
			pool, err := sqltest.NewPool(context.Background(), sqltest.GatewayURL(u))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			tenant, id := tenantOf(t, q)
			write(t, q, id, "f", "one")
			reader := keep(t, q, sqltest.Connect(t, u), tenant, id)
			write(t, q, id, "g", "two")
			must[int32](t)(q.Flatten(t.Context(), id))
			gc(t, q, 0)
			wantFile(t, pool, id, "/g", "two")
			at := reader()
			wantFile(t, pool, at, "/f", "one")
			wantNoFile(t, pool, at, "/g")
			if at != id {
				if err := q.DropSandbox(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				gc(t, q, 0)
				wantFile(t, pool, reader(), "/f", "one")
			}
		})
	}
}

// A dropped sandbox gives back what it counted against its owner's quota.
func TestQuota_dropGivesBack(t *testing.T) {
	t.Parallel()
	q, _ := queries(t)
	tenant, ten, one := uuid.NewString(), int64(10), int64(1)
	set := sqlcgen.SetQuotaParams{Tenant: tenant, Owner: "ann", MaxBytes: &ten, MaxSandboxes: &one, MaxSnapshots: &one}
	if err := q.SetQuota(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		id := create(t, q, sqlcgen.CreateSandboxParams{Tenant: tenant, Owner: "ann", Name: "n"}).ID
		write(t, q, id, "f", "1234567890")
		must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "s"}))
		if err := q.DropSandbox(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
}

// Keys live in the layers: they outlast the merge of many, also those that are gone.
func TestKv_survivesTheMergeOfLayers(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	kvSet(t, q, id, "early", "1")
	kvSet(t, q, id, "gone", "1")
	for range 40 {
		forked(t, q, id)
		kvSet(t, q, id, "counter", "2")
	}
	forked(t, q, id)
	if err := q.KvDelete(t.Context(), sqlcgen.KvDeleteParams{Sandbox: id, Key: "gone"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"counter=2", "early=1"}
	wantKeys(t, keys(t, q, id, ""), want...)
	if n := len(must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)).Layers); n > 32 {
		t.Fatalf("%d layers: nothing was merged", n)
	}
	must[int32](t)(q.Flatten(t.Context(), id))
	wantKeys(t, keys(t, q, id, ""), want...)
	if r := gc(t, q, time.Hour); r.More {
		t.Fatalf("%+v", r)
	}
	wantKeys(t, keys(t, q, id, ""), want...)
}
