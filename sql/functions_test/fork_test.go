package functions_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

func TestFork_sidesDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	ino := write(t, q, id, "common", "common")
	name, owner := "child", "somebody"
	child := must[[]sqlcgen.FsSandbox](t)(q.Fork(t.Context(), sqlcgen.ForkParams{Sandbox: id, Name: &name,
		Owner: &owner}))[0]
	if child.Name != name || child.Owner != owner || child.UsedBytes != 6 || child.UsedInodes != 1 ||
		child.NextIno != ino+1 {
		t.Fatalf("%+v", child)
	}
	write(t, q, id, "parent", "p")
	write(t, q, child.ID, "child", "c")
	d := begin(t, q, child.ID)
	d.remove(1, "common", ino, 6)
	d.apply(t, q)

	wantFile(t, pool, id, "/common", "common")
	wantFile(t, pool, id, "/parent", "p")
	wantNoFile(t, pool, id, "/child")
	wantNoFile(t, pool, child.ID, "/common")
	wantNoFile(t, pool, child.ID, "/parent")
	wantFile(t, pool, child.ID, "/child", "c")
	_, err := q.Fork(t.Context(), sqlcgen.ForkParams{Sandbox: id, Ids: []uuid.UUID{child.ID}})
	wantErrno(t, err, vfs.EEXIST)
}

// The first fork or snapshot after an ingest seals the layer that holds it, which used to count its rows.
func TestFork_firstAfterAnIngestCostsTheSame(t *testing.T) {
	t.Parallel()
	q, u, small := gcDatabase(t)
	large := create(t, q, sqlcgen.CreateSandboxParams{Name: "large"}).ID
	owner := sqltest.Connect(t, u)
	for _, sql := range []string{"SELECT * FROM fs.fork($1, NULL, NULL)", "SELECT * FROM fs.snapshot($1, 's')"} {
		many(t, q, small, sql[14:18], 10)
		many(t, q, large, sql[14:18], 20000)
		few := blocks(t, owner, sql, small)
		if n := blocks(t, owner, sql, large); n > 2*few {
			t.Errorf("%s: %d pages over 20 000 files, %d over 10", sql, n, few)
		}
	}
}

// Forking again and again without a change between does not grow the chain, nor the version.
func TestFork_emptyTopIsReused(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	write(t, q, id, "f", "f")
	first := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id))
	for range 5 {
		forked(t, q, id)
	}
	f := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id))
	if len(f.Layers) != 3 || f.Version != first.Version+1 {
		t.Fatalf("%d layers at version %d, was %d", len(f.Layers), f.Version, first.Version)
	}
}

func TestFork_sealedLayerIsImmutable(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	write(t, q, id, "f", "f")
	sealed := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)).Layers[0]
	forked(t, q, id)
	owner := sqltest.Owner(t)
	tx := must[pgx.Tx](t)(owner.Begin(t.Context()))
	defer func() { _ = tx.Rollback(context.Background()) }()
	layers := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)).Layers
	text := "{"
	for i, l := range layers {
		if i > 0 {
			text += ","
		}
		text += l.String()
	}
	if _, err := tx.Exec(t.Context(), "SELECT set_config('app.sandbox_id', $1, true), set_config('app.layers', $2, true)",
		id.String(), text+"}"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SET LOCAL ROLE pgbox_owner"); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"UPDATE pgbox.inode SET size = 0 WHERE layer_id = $1",
		"DELETE FROM pgbox.dirent WHERE layer_id = $1"} {
		tag, err := tx.Exec(t.Context(), query, sealed)
		if err != nil || tag.RowsAffected() != 0 {
			t.Fatalf("%s: %d rows, %v", query, tag.RowsAffected(), err)
		}
	}
	_, err := tx.Exec(t.Context(), "INSERT INTO pgbox.dirent VALUES ($1, 1, 'x', 1)", sealed)
	if pe, ok := errors.AsType[*pgconn.PgError](err); !ok || pe.Code != "42501" {
		t.Fatalf("insert into a sealed layer: %v", err)
	}
}

// Writers go on while the sandbox is forked; every fork is the tree of one
// version: if it has file n it has all files before n.
func TestFork_besideWriters(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	const files = 40
	var wg sync.WaitGroup
	var forks []uuid.UUID
	done := make(chan struct{})
	var errWrite, errFork error
	wg.Go(func() {
		defer close(done)
		for i := 0; i < files; {
			f, err := q.Fence(context.Background(), id)
			if err != nil {
				errWrite = err
				return
			}
			d := &delta{sqlcgen.ApplyParams{Sandbox: id, Version: f.Version, NextIno: f.NextIno, UsedBytes: f.UsedBytes,
				UsedInodes: f.UsedInodes}}
			d.create(1, fmt.Sprint("f", i), fmt.Sprint(i))
			_, err = q.Apply(context.Background(), d.ApplyParams)
			if pe, ok := errors.AsType[*pgconn.PgError](err); ok && pe.Code == vfs.ESTALE.SQLState() {
				continue // a fork sealed the top in between
			}
			if err != nil {
				errWrite = err
				return
			}
			i++
		}
	})
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			s, err := q.Fork(context.Background(), sqlcgen.ForkParams{Sandbox: id})
			if err != nil {
				errFork = err
				return
			}
			forks = append(forks, s[0].ID)
		}
	})
	wg.Wait()
	if errWrite != nil || errFork != nil || len(forks) == 0 {
		t.Fatalf("%v, %v, %d forks", errWrite, errFork, len(forks))
	}
	for _, f := range forks {
		n := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), f)).UsedInodes
		if n > 0 {
			wantFile(t, pool, f, fmt.Sprint("/f", n-1), fmt.Sprint(n-1))
		}
		wantNoFile(t, pool, f, fmt.Sprint("/f", n))
	}
	wantFile(t, pool, id, fmt.Sprint("/f", files-1), fmt.Sprint(files-1))
	if l := len(must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)).Layers); l > 33 {
		t.Fatalf("%d layers: chains are to be flattened", l)
	}
}

func TestSnapshot_restore(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	ino := write(t, q, id, "f", "one")
	d := begin(t, q, id)
	d.ShellState = []byte(`{"cwd":"/one"}`)
	d.apply(t, q)
	one := must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "one"}))
	oneID := one.ID.String()
	_, err := q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "one"})
	wantErrno(t, err, vfs.EEXIST)

	d = begin(t, q, id)
	d.remove(1, "f", ino, 3)
	g := d.create(1, "g", "four")
	d.ShellState = []byte(`{"cwd":"/two"}`)
	d.apply(t, q)
	two := must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "two"}))
	if s := must[[]sqlcgen.FsSnapshot](t)(q.Snapshots(t.Context(), id)); len(s) != 2 || s[0].ID != one.ID ||
		s[1].ID != two.ID || s[1].UsedBytes != 4 {
		t.Fatalf("%+v", s)
	}

	before := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id))
	after := must[sqlcgen.FsSandbox](t)(q.Restore(t.Context(), sqlcgen.RestoreParams{Sandbox: id, At: one.ID.String()}))
	if after.Version != before.Version+1 || after.UsedBytes != 3 || after.UsedInodes != 1 || after.NextIno <= g ||
		shellState(t, q, after.ID, after.StateSHA256) != `{"cwd": "/one"}` {
		t.Fatalf("%+v", after)
	}
	wantFile(t, pool, id, "/f", "one")
	wantNoFile(t, pool, id, "/g")
	must[sqlcgen.FsSandbox](t)(q.Restore(t.Context(), sqlcgen.RestoreParams{Sandbox: id, At: two.ID.String()}))
	wantFile(t, pool, id, "/g", "four")

	other := sqltest.Sandbox(t, pool)
	_, err = q.Restore(t.Context(), sqlcgen.RestoreParams{Sandbox: other, At: one.ID.String()})
	wantErrno(t, err, vfs.ENOENT)
	_, err = q.Fork(t.Context(), sqlcgen.ForkParams{Sandbox: other, At: &oneID})
	wantErrno(t, err, vfs.ENOENT)
	child := must[[]sqlcgen.FsSandbox](t)(q.Fork(t.Context(), sqlcgen.ForkParams{Sandbox: id, At: &oneID}))[0].ID
	wantFile(t, pool, child, "/f", "one")
	wantNoFile(t, pool, child, "/g")

	if err := q.DropSnapshot(t.Context(), sqlcgen.DropSnapshotParams{Sandbox: id, Snapshot: one.ID}); err != nil {
		t.Fatal(err)
	}
	wantErrno(t, q.DropSnapshot(t.Context(), sqlcgen.DropSnapshotParams{Sandbox: id, Snapshot: one.ID}), vfs.ENOENT)
	wantFile(t, pool, child, "/f", "one")
}

// Dropping a snapshot frees the layers that nothing else stands on, at once, and no other one.
func TestDropSnapshot_freesWhatOnlyItHad(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	owner := sqltest.Owner(t)
	id, other := sqltest.Sandbox(t, pool), sqltest.Sandbox(t, pool)
	ino := write(t, q, id, "f", "zero")
	var snaps []sqlcgen.FsSnapshot
	var tops []uuid.UUID // what each snapshot has and the one before it has not
	for _, name := range []string{"one", "two"} {
		overwrite(t, q, id, ino, name)
		tops = append(tops, must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)).Layers[0])
		snaps = append(snaps, must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(),
			sqlcgen.SnapshotParams{Sandbox: id, Name: name})))
	}
	overwrite(t, q, id, ino, "three")
	must[int32](t)(q.Flatten(t.Context(), id)) // the sandbox stands on none of them any more
	left := func() (out []uuid.UUID) {
		rows, err := owner.Query(t.Context(),
			"SELECT id FROM pgbox.layer WHERE id = ANY ($1) ORDER BY array_position($1, id)", tops)
		if err != nil {
			t.Fatal(err)
		}
		return must[[]uuid.UUID](t)(pgx.CollectRows(rows, pgx.RowTo[uuid.UUID]))
	}
	drop := func(sandbox, snapshot uuid.UUID) error {
		return q.DropSnapshot(t.Context(), sqlcgen.DropSnapshotParams{Sandbox: sandbox, Snapshot: snapshot})
	}
	wantErrno(t, drop(other, snaps[1].ID), vfs.ENOENT)
	if got := left(); len(got) != 2 {
		t.Fatalf("%d layers are left", len(got))
	}
	if err := drop(id, snaps[1].ID); err != nil {
		t.Fatal(err)
	}
	if got := left(); len(got) != 1 || got[0] != tops[0] {
		t.Fatalf("%v are left of %v", got, tops)
	}
	wantFile(t, pool, id, "/f", "three")
	must[sqlcgen.FsSandbox](t)(q.Restore(t.Context(), sqlcgen.RestoreParams{Sandbox: id, At: "one"}))
	wantFile(t, pool, id, "/f", "one")
	if err := drop(id, snaps[0].ID); err != nil {
		t.Fatal(err)
	}
	wantFile(t, pool, id, "/f", "one")
}

func TestFlatten_keepsTheTree(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	owner := sqltest.Owner(t)
	id := sqltest.Sandbox(t, pool)
	gone := write(t, q, id, "gone", "gone")
	for i := range 4 {
		forked(t, q, id)
		write(t, q, id, fmt.Sprint("f", i), fmt.Sprint(i))
	}
	forked(t, q, id)
	d := begin(t, q, id)
	d.remove(1, "gone", gone, 4)
	d.name(1, "tmp", 0) // a whiteout over the base layer has to survive
	d.apply(t, q)
	n := must[int32](t)(q.Flatten(t.Context(), id))
	layers := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)).Layers
	if n != 7 || len(layers) != 2 {
		t.Fatalf("from %d to %d layers", n, len(layers))
	}
	wantNoFile(t, pool, id, "/gone")
	wantNoFile(t, pool, id, "/tmp/x")
	for i := range 4 {
		wantFile(t, pool, id, fmt.Sprint("/f", i), fmt.Sprint(i))
	}
	// Four inodes, names and chunks, and the one whiteout; the removed file left nothing.
	if got := rows(t, owner, layers[0]); got != 13 {
		t.Fatalf("%d rows", got)
	}
	sqltest.Broken(id) // /tmp lost its name without its inode
}
