package functions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

func TestApply_commitsFilesNamesChunksJournalAndAudit(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	exec := uuid.New()

	d := begin(t, q, id)
	d.create(1, "a", "hello")
	d.create(1, "empty", "")
	link := d.NextIno
	d.NextIno++
	d.UsedInodes++
	d.inode(link, 10, 1, 1, "a")
	d.name(1, "l", link)
	d.Exec = must[[]byte](t)(json.Marshal(map[string]any{"id": exec, "script": "echo", "exit_code": 3, "read_only": false,
		"duration_us": 12}))
	d.ShellState = []byte(`{"cwd":"/tmp"}`)
	got := d.apply(t, q)
	if got.Version != d.Version+1 || got.UsedBytes != 5 || got.UsedInodes != 3 {
		t.Fatalf("got %+v", got)
	}
	wantFile(t, pool, id, "/l", "hello")
	wantFile(t, pool, id, "/empty", "")
	f := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id))
	if f.Version != got.Version || f.NextIno != firstIno+3 || shellState(t, q, f.ID, f.StateSHA256) != `{"cwd": "/tmp"}` {
		t.Fatalf("fence %+v", f)
	}

	owner := sqltest.Owner(t)
	var committed bool
	var exit, changes int
	err := owner.QueryRow(t.Context(), `SELECT e.committed, e.exit_code, (SELECT count(*) FROM pgbox.change c WHERE c.exec_id = e.id AND c.version = e.version_after)
		FROM pgbox.exec e WHERE e.id = $1 AND e.version_before + 1 = e.version_after`, exec).Scan(&committed, &exit, &changes)
	if err != nil || !committed || exit != 3 || changes != 2 {
		t.Fatalf("audit: committed %v exit %d changes %d, %v", committed, exit, changes, err)
	}
}

func TestApply_staleVersionAppliesNothing(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	stale := begin(t, q, id)
	stale.create(1, "late", "late")
	write(t, q, id, "first", "1")
	before := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id))
	_, err := q.Apply(t.Context(), stale.ApplyParams)
	wantErrno(t, err, vfs.ESTALE)
	wantNoFile(t, pool, id, "/late")
	if after := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)); after.Version != before.Version ||
		after.NextIno != before.NextIno {
		t.Fatalf("the sandbox changed: %+v, was %+v", after, before)
	}
}

// Sixteen writers at one version: exactly one wins, the others are told.
func TestApply_concurrentWritersAtOneVersion(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	base := begin(t, q, id)
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() {
			d := &delta{base.ApplyParams}
			d.create(1, fmt.Sprintf("f%d", i), fmt.Sprint("content ", i))
			_, errs[i] = q.Apply(context.Background(), d.ApplyParams)
		})
	}
	wg.Wait()
	won := -1
	for i, err := range errs {
		if err == nil {
			if won >= 0 {
				t.Fatalf("writers %d and %d both won", won, i)
			}
			won = i
			continue
		}
		wantErrno(t, err, vfs.ESTALE)
	}
	if won < 0 {
		t.Fatal("nobody won")
	}
	wantFile(t, pool, id, fmt.Sprintf("/f%d", won), fmt.Sprint("content ", won))
	if f := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)); f.Version != base.Version+1 || f.UsedInodes != 1 {
		t.Fatalf("fence %+v", f)
	}
}

// What a lower layer holds is covered by whiteouts; what only the top holds is
// deleted without a trace.
func TestApply_removalLeavesWhiteoutsOnlyOverLowerLayers(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	owner := sqltest.Owner(t)
	id := sqltest.Sandbox(t, pool)
	old := write(t, q, id, "old", "old")
	forked(t, q, id)

	d := begin(t, q, id)
	fresh := d.create(1, "fresh", "fresh")
	d.apply(t, q)
	d = begin(t, q, id)
	d.remove(1, "fresh", fresh, 5)
	d.apply(t, q)
	top := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)).Layers[0]
	if n := rows(t, owner, top); n != 0 {
		t.Fatalf("%d rows in the top layer, want none", n)
	}

	d = begin(t, q, id)
	d.remove(1, "old", old, 3)
	d.apply(t, q)
	wantNoFile(t, pool, id, "/old")
	var whiteouts int
	if err := owner.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pgbox.inode WHERE layer_id = $1 AND kind = 0)
		+ (SELECT count(*) FROM pgbox.dirent WHERE layer_id = $1 AND ino IS NULL)`, top).Scan(&whiteouts); err != nil || whiteouts != 2 || rows(t, owner, top) != 2 {
		t.Fatalf("%d whiteouts, %d rows, %v; want 2 and 2", whiteouts, rows(t, owner, top), err)
	}

	// The name comes back over its whiteout, and goes again.
	again := write(t, q, id, "old", "new")
	wantFile(t, pool, id, "/old", "new")
	d = begin(t, q, id)
	d.remove(1, "old", again, 3)
	d.apply(t, q)
	wantNoFile(t, pool, id, "/old")
}

func TestApply_holes(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	owner := sqltest.Owner(t)
	id := sqltest.Sandbox(t, pool)
	full := make([]byte, 65536)
	full[0] = 'x'
	d := begin(t, q, id)
	ino := d.NextIno
	d.NextIno++
	d.UsedInodes++
	d.UsedBytes += 3 * 65536
	d.inode(ino, 8, 1, 3*65536, "")
	d.name(1, "sparse", ino)
	d.chunk(ino, 0, hash(full))
	d.chunk(ino, 2, hash(full))
	d.chunk(ino, 1, nil) // a hole where nothing was leaves no row
	d.Blob = [][]byte{full}
	d.apply(t, q)
	top := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)).Layers[0]
	if n := rows(t, owner, top); n != 4 {
		t.Fatalf("%d rows, want inode, name and two chunks", n)
	}
	forked(t, q, id)
	d = begin(t, q, id)
	d.chunk(ino, 2, nil)
	d.inode(ino, 8, 1, 2*65536, "")
	d.UsedBytes -= 65536
	d.apply(t, q)
	got, err := read(t, pool, id, "/sparse")
	if err != nil || len(got) != 2*65536 || got[0] != 'x' || got[65536] != 0 {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
}

func TestApply_contentTheDatabaseLacks(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	d := begin(t, q, id)
	content := "unseen " + id.String()
	d.create(1, "f", content)
	d.Blob = nil
	_, err := q.Apply(t.Context(), d.ApplyParams)
	wantErrno(t, err, vfs.ENODATA)
	missing := must[[][]byte](t)(q.MissingBlobs(t.Context(), sqlcgen.MissingBlobsParams{Sandbox: id,
		SHA256: d.ChunkSHA256}))
	if len(missing) != 1 {
		t.Fatalf("%d missing", len(missing))
	}
	if n := must[int64](t)(q.PutBlobs(t.Context(), sqlcgen.PutBlobsParams{Sandbox: id,
		Data: [][]byte{[]byte(content)}})); n != 1 {
		t.Fatalf("put %d", n)
	}
	d.apply(t, q)
	wantFile(t, pool, id, "/f", content)
}

func TestApply_quota(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	ino := write(t, q, id, "f", "12345")
	two, eight := int64(2), int64(8)
	must[sqlcgen.FsSandbox](t)(q.UpdateSandbox(t.Context(), sqlcgen.UpdateSandboxParams{Sandbox: id, MaxBytes: &eight,
		MaxInodes: &two}))
	d := begin(t, q, id)
	d.create(1, "g", "1234")
	_, err := q.Apply(t.Context(), d.ApplyParams)
	wantErrno(t, err, vfs.EDQUOT)
	d = begin(t, q, id)
	d.create(1, "g", "")
	d.create(1, "h", "")
	_, err = q.Apply(t.Context(), d.ApplyParams)
	wantErrno(t, err, vfs.EDQUOT)
	// Over the limit, shrinking is still possible.
	one := int64(1)
	must[sqlcgen.FsSandbox](t)(q.UpdateSandbox(t.Context(), sqlcgen.UpdateSandboxParams{Sandbox: id, MaxBytes: &one}))
	d = begin(t, q, id)
	d.remove(1, "f", ino, 5)
	d.apply(t, q)
}

func TestApply_refusesToGoBackInInodeNumbers(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	write(t, q, id, "f", "")
	d := begin(t, q, id)
	d.NextIno--
	_, err := q.Apply(t.Context(), d.ApplyParams)
	wantErrno(t, err, vfs.EINVAL)
}

func TestApply_unknownSandbox(t *testing.T) {
	t.Parallel()
	q, _ := queries(t)
	_, err := q.Apply(t.Context(), sqlcgen.ApplyParams{Sandbox: uuid.New()})
	wantErrno(t, err, vfs.ESRCH)
}

// One session, one plan for each statement: ten thousand rows after one row, on tables that had nothing in them when
// the plans were made.
func TestApply_plansServeOneRowAndTenThousand(t *testing.T) {
	t.Parallel()
	u := sqltest.Database(t)
	conn := sqltest.Connect(t, sqltest.GatewayURL(u))
	q := sqlcgen.New(conn)
	name, owner := "plans", "owner"
	id := must[sqlcgen.FsSandbox](t)(q.CreateSandbox(t.Context(),
		sqlcgen.CreateSandboxParams{Tenant: "test", Owner: owner, Name: name})).ID
	for i := range 8 {
		write(t, q, id, fmt.Sprint("warm", i), fmt.Sprint(i))
	}
	d := begin(t, q, id)
	for i := range 10_000 {
		d.create(1, fmt.Sprint("f", i), fmt.Sprint("content ", i))
	}
	begun := time.Now()
	must[sqlcgen.ApplyRow](t)(q.Apply(t.Context(), d.ApplyParams))
	created := time.Since(begun)
	d2 := begin(t, q, id)
	for i := range 10_000 {
		d2.remove(1, fmt.Sprint("f", i), d.Ino[i], int64(len(fmt.Sprint("content ", i))))
	}
	begun = time.Now()
	must[sqlcgen.ApplyRow](t)(q.Apply(t.Context(), d2.ApplyParams))
	// A third of it, usually. With a plan that reads the layer for each name it would be ten times.
	removed := time.Since(begun)
	t.Logf("created in %v, removed in %v", created, removed)
	if removed > 3*created {
		t.Errorf("10 000 files were removed in %v, and created in %v", removed, created)
	}
}

// forked forks a sandbox and returns the child.
func forked(t testing.TB, q *sqlcgen.Queries, id uuid.UUID) uuid.UUID {
	t.Helper()
	return must[[]sqlcgen.FsSandbox](t)(q.Fork(t.Context(), sqlcgen.ForkParams{Sandbox: id}))[0].ID
}
