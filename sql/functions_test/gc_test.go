package functions_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

// gcDatabase is a database of the test's own: gc sees all sandboxes.
func gcDatabase(t *testing.T) (q *sqlcgen.Queries, u string, id uuid.UUID) {
	u = sqltest.Database(t)
	pool, err := sqltest.NewPool(context.Background(), sqltest.GatewayURL(u))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	q = sqlcgen.New(pool)
	return q, u, create(t, q, sqlcgen.CreateSandboxParams{Name: "gc"}).ID
}

func gc(t testing.TB, q *sqlcgen.Queries, grace time.Duration) sqlcgen.GCRow {
	t.Helper()
	return must[sqlcgen.GCRow](t)(q.GC(t.Context(), sqlcgen.GCParams{Grace: grace, MaxRows: 100000}))
}

func TestGC_deletesWhatNothingRefersTo(t *testing.T) {
	t.Parallel()
	q, _, id := gcDatabase(t)
	ino := write(t, q, id, "gone", "gone")
	write(t, q, id, "stays", "stays")
	must[int64](t)(q.PutBlobs(t.Context(), sqlcgen.PutBlobsParams{Sandbox: id, Data: [][]byte{[]byte("never used")}}))
	d := begin(t, q, id)
	d.remove(1, "gone", ino, 4)
	d.apply(t, q)

	// Within the grace period nothing goes: a reader of the older version may still fetch it.
	for range 2 {
		if r := gc(t, q, time.Hour); r.Blobs != 0 {
			t.Fatalf("%+v within the grace period", r)
		}
	}
	if r := gc(t, q, 0); r.Blobs != 2 || r.Bytes != 4+10 {
		t.Fatalf("%+v", r)
	}
	if m := must[[][]byte](t)(q.MissingBlobs(t.Context(), sqlcgen.MissingBlobsParams{Sandbox: id,
		SHA256: [][]byte{hash([]byte("gone")), hash([]byte("stays"))}})); len(m) != 1 {
		t.Fatalf("%d missing", len(m))
	}
}

// A content that was on its way out and is used again stays, also when its time is up.
func TestGC_contentUsedAgainStays(t *testing.T) {
	t.Parallel()
	q, u, id := gcDatabase(t)
	must[int64](t)(q.PutBlobs(t.Context(), sqlcgen.PutBlobsParams{Sandbox: id, Data: [][]byte{[]byte("back")}}))
	gc(t, q, time.Hour)
	d := begin(t, q, id)
	d.create(1, "f", "back")
	d.Blob = nil
	d.apply(t, q)
	if r := gc(t, q, 0); r.Blobs != 0 {
		t.Fatalf("%+v", r)
	}
	owner := sqltest.Connect(t, u)
	var idle bool
	if err := owner.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pgbox.loose_blob WHERE sha256 = $1)",
		hash([]byte("back"))).Scan(&idle); err != nil || idle {
		t.Fatalf("idle %v, %v", idle, err)
	}
}

// That a content is idle was written into its row, which stored it once more only to delete it.
func TestGC_writesNoContentAgain(t *testing.T) {
	t.Parallel()
	q, u, id := gcDatabase(t)
	ino := write(t, q, id, "gone", "gone")
	d := begin(t, q, id)
	d.remove(1, "gone", ino, 4)
	d.apply(t, q)
	owner := sqltest.Connect(t, u)
	rows := func() string {
		return one[string](t, owner, "SELECT string_agg(b.ctid::text, ' ' ORDER BY b.sha256) FROM pgbox.blob b")
	}
	before := rows()
	gc(t, q, time.Hour)
	if after := rows(); after != before {
		t.Errorf("contents lie at %s, were at %s", after, before)
	}
	if n := one[int](t, owner, "SELECT count(*)::int FROM pgbox.loose_blob WHERE since IS NOT NULL"); n != 1 {
		t.Errorf("%d contents wait for their time", n)
	}
	if r := gc(t, q, 0); r.Blobs != 1 {
		t.Errorf("%+v", r)
	}
	if n := one[int](t, owner, "SELECT count(*)::int FROM pgbox.loose_blob"); n != 0 {
		t.Errorf("%d contents are left in the queue", n)
	}
}

// gc runs while the transaction that adopts a content is still open: it must leave the content alone, then and
// afterwards.
func TestGC_doesNotDeleteWhatApplyIsAdopting(t *testing.T) {
	t.Parallel()
	q, u, id := gcDatabase(t)
	must[int64](t)(q.PutBlobs(t.Context(), sqlcgen.PutBlobsParams{Sandbox: id, Data: [][]byte{[]byte("adopted")}}))
	gc(t, q, time.Hour) // marked idle
	d := begin(t, q, id)
	d.create(1, "f", "adopted")
	d.Blob = nil
	conn := sqltest.Connect(t, sqltest.GatewayURL(u))
	tx := must[pgx.Tx](t)(conn.Begin(t.Context()))
	must[sqlcgen.ApplyRow](t)(sqlcgen.New(tx).Apply(t.Context(), d.ApplyParams))
	if r := gc(t, q, 0); r.Blobs != 0 {
		t.Fatalf("%+v while apply holds it", r)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := gc(t, q, 0); r.Blobs != 0 {
		t.Fatalf("%+v after the commit", r)
	}
	if m := must[[][]byte](t)(q.MissingBlobs(t.Context(), sqlcgen.MissingBlobsParams{Sandbox: id,
		SHA256: d.ChunkSHA256})); len(m) != 0 {
		t.Fatal("the adopted content is gone")
	}
}

// Writers write, remove and write again the same few contents while gc, without grace, takes away whatever nobody
// refers to at a moment: with fs.apply, which names contents that it believes to be there, and with the path verbs.
// Whatever was committed can be read, then and at the end.
func TestGC_besideWritersOfTheSameContents(t *testing.T) {
	t.Parallel()
	_, u, _ := gcDatabase(t)
	const writers, rounds, contents = 4, 60, 5
	var failed atomic.Bool
	var running atomic.Int32
	var refused atomic.Int64
	var wg sync.WaitGroup
	content := func(i int) string { return strings.Repeat(fmt.Sprint("content ", i, " "), 3000) }
	fail := func(format string, args ...any) {
		failed.Store(true)
		t.Errorf(format, args...)
	}
	ids := make([]uuid.UUID, writers)
	running.Store(writers)
	for w := range writers {
		conn := sqltest.Connect(t, sqltest.GatewayURL(u))
		q := sqlcgen.New(conn)
		ids[w] = create(t, q, sqlcgen.CreateSandboxParams{Name: "writer"}).ID
		wg.Go(func() {
			defer running.Add(-1)
			ctx := context.Background()
			exec := func(sql string, args ...any) bool {
				_, err := conn.Exec(ctx, sql, args...)
				if err != nil {
					fail("%s: %v", sql, err)
				}
				return err == nil
			}
			if !exec("SELECT fs.use($1)", ids[w]) {
				return
			}
			for n := 0; n < rounds && !failed.Load(); n++ {
				i := (n*(w+1) + w) % contents
				if w%2 == 0 {
					if !exec("SELECT fs.write_file('/f', convert_to($1, 'UTF8'))", content(i)) {
						return
					}
				} else {
					d := begin(t, q, ids[w])
					d.create(1, fmt.Sprint("g", n), content(i))
					blobs := d.Blob
					d.Blob = nil
					_, err := q.Apply(ctx, d.ApplyParams)
					for range 10 { // as the gateway does
						if errno, _ := vfs.FromSQLState(code(err)); errno != vfs.ENODATA {
							break
						}
						refused.Add(1)
						d.Blob = blobs
						_, err = q.Apply(ctx, d.ApplyParams)
					}
					if err != nil {
						fail("apply: %v", err)
						return
					}
					if !exec("SELECT fs.mv($1, '/f')", fmt.Sprint("/g", n)) {
						return
					}
				}
				var got string
				if err := conn.QueryRow(ctx, "SELECT convert_from(fs.read_file('/f'), 'UTF8')").Scan(&got); err != nil ||
					got != content(i) {
					fail("writer %d, round %d: read %d bytes, %v", w, n, len(got), err)
					return
				}
				if n < rounds-1 && !exec("SELECT fs.rm('/f')") {
					return
				}
			}
		})
	}
	collector := sqlcgen.New(sqltest.Connect(t, sqltest.GatewayURL(u)))
	deleted := int64(0)
	for running.Load() > 0 {
		r, err := collector.GC(t.Context(), sqlcgen.GCParams{Grace: 0, MaxRows: 3})
		if err != nil {
			failed.Store(true)
			t.Error(err)
			break
		}
		deleted += r.Blobs
	}
	wg.Wait()
	if deleted < contents || refused.Load() == 0 {
		t.Errorf("%d contents deleted, %d writers asked for theirs: they did not meet", deleted, refused.Load())
	}
	admin := sqltest.Connect(t, u)
	if n := one[int](t, admin, "SELECT count(*)::int FROM fs.fsck_all()"); n != 0 {
		t.Errorf("%d faults", n)
	}
	gc(t, collector, 0)
	gc(t, collector, 0)
	if n := one[int](t, admin,
		"SELECT count(*)::int FROM pgbox.blob b WHERE NOT EXISTS (SELECT FROM pgbox.chunk c WHERE c.sha256 = b.sha256) OR EXISTS (SELECT FROM pgbox.loose_blob l WHERE l.sha256 = b.sha256)"); n != 0 {
		t.Errorf("%d contents are left that nothing refers to, or marked that something does", n)
	}
	if n := one[int](t, admin, "SELECT count(*)::int FROM fs.fsck_all()"); n != 0 {
		t.Errorf("%d faults after the last gc", n)
	}
}

// The other way round: apply comes while gc has decided but not committed. It waits, and then asks for the content.
func TestGC_applyAfterTheDecisionAsksForTheContent(t *testing.T) {
	t.Parallel()
	q, u, id := gcDatabase(t)
	must[int64](t)(q.PutBlobs(t.Context(), sqlcgen.PutBlobsParams{Sandbox: id, Data: [][]byte{[]byte("late")}}))
	d := begin(t, q, id)
	d.create(1, "f", "late")
	d.Blob = nil
	conn := sqltest.Connect(t, sqltest.GatewayURL(u))
	tx := must[pgx.Tx](t)(conn.Begin(t.Context()))
	if r := must[sqlcgen.GCRow](t)(sqlcgen.New(tx).GC(t.Context(),
		sqlcgen.GCParams{Grace: 0, MaxRows: 100})); r.Blobs != 1 {
		t.Fatalf("%+v", r)
	}
	result := make(chan error)
	go func() {
		_, err := q.Apply(context.Background(), d.ApplyParams)
		result <- err
	}()
	waitForLock(t, u)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantErrno(t, <-result, vfs.ENODATA)
	d.Blob = [][]byte{[]byte("late")}
	d.apply(t, q)
}

// waitForLock returns when some session of the database waits for a lock.
func waitForLock(t testing.TB, u string) {
	t.Helper()
	owner := sqltest.Connect(t, u)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		var waiting bool
		if err := owner.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		if waiting {
			return
		}
	}
}

func TestGC_freesLayersNobodyStandsOn(t *testing.T) {
	t.Parallel()
	q, u, id := gcDatabase(t)
	write(t, q, id, "f", "f")
	owner := sqltest.Connect(t, u)
	var orphan uuid.UUID
	if err := owner.QueryRow(t.Context(),
		"INSERT INTO pgbox.layer DEFAULT VALUES RETURNING id").Scan(&orphan); err != nil {
		t.Fatal(err)
	}
	if _, err := owner.Exec(t.Context(), "INSERT INTO pgbox.dirent VALUES ($1, 1, 'x', 2)", orphan); err != nil {
		t.Fatal(err)
	}
	if _, err := owner.Exec(t.Context(), "INSERT INTO pgbox.loose_layer VALUES ($1), ($2)", orphan,
		must[uuid.UUID](t)(q.BaseLayer(t.Context()))); err != nil {
		t.Fatal(err)
	}
	if r := gc(t, q, time.Hour); r.Layers != 1 || rows(t, owner, orphan) != 0 {
		t.Fatalf("%+v", r)
	}
	if r := gc(t, q, time.Hour); r.Layers != 0 {
		t.Fatalf("%+v", r)
	}
	base := must[uuid.UUID](t)(q.BaseLayer(t.Context()))
	if rows(t, owner, base) == 0 {
		t.Fatal("the base layer is gone")
	}
}

func TestGC_refusesASnapshotOfItsOwn(t *testing.T) {
	t.Parallel()
	conn := sqltest.Connect(t, sqltest.GatewayURL(sqltest.URL(t)))
	tx := must[pgx.Tx](t)(conn.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead}))
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err := sqlcgen.New(tx).GC(t.Context(), sqlcgen.GCParams{MaxRows: 1})
	wantErrno(t, err, vfs.EINVAL)
}

// A restore leaves the layers above the snapshot behind; when it cannot be undone any more, they are gc's.
func TestGC_freesWhatARestoreLeft(t *testing.T) {
	t.Parallel()
	q, u, id := gcDatabase(t)
	snap := must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "s"}))
	write(t, q, id, "f", "f")
	left := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)).Layers[0]
	must[sqlcgen.FsSandbox](t)(q.Restore(t.Context(), sqlcgen.RestoreParams{Sandbox: id, At: snap.Name}))
	owner := sqltest.Connect(t, u)
	if r := gc(t, q, 0); rows(t, owner, left) == 0 {
		t.Fatalf("%+v", r)
	}
	if _, err := owner.Exec(t.Context(), "DELETE FROM pgbox.snapshot WHERE sandbox_id = $1 AND kind = 'automatic'",
		id); err != nil {
		t.Fatal(err)
	}
	if r := gc(t, q, 0); r.Layers == 0 || rows(t, owner, left) != 0 {
		t.Fatalf("%+v", r)
	}
	wantNoFileIn(t, q, id)
}

// wantNoFileIn fails the test unless the sandbox holds nothing of its own.
func wantNoFileIn(t testing.TB, q *sqlcgen.Queries, id uuid.UUID) {
	t.Helper()
	if us := must[sqlcgen.UsageRow](t)(q.Usage(t.Context(), id)); us.UsedInodes != 0 || us.UsedBytes != 0 {
		t.Fatalf("%+v", us)
	}
}

// blocks runs a statement as the owner and returns how many pages it touched, which unlike a time is the same on every
// machine.
func blocks(t testing.TB, conn *pgx.Conn, sql string, args ...any) int {
	t.Helper()
	var plan []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql, args...).Scan(&plan); err != nil {
		t.Fatal(err)
	}
	return plan[0].Plan.Hit + plan[0].Plan.Read
}

func many(t testing.TB, q *sqlcgen.Queries, id uuid.UUID, prefix string, n int) {
	t.Helper()
	d := begin(t, q, id)
	for i := range n {
		name := fmt.Sprint(prefix, i)
		d.create(1, name, name)
	}
	d.apply(t, q)
}

// It used to look at every content that is alive, each time.
func TestGC_costsWhatTheGarbageCosts(t *testing.T) {
	t.Parallel()
	q, u, id := gcDatabase(t)
	owner := sqltest.Connect(t, u)
	pass := func() int {
		gc(t, q, time.Hour)
		for i := range 100 {
			must[int64](t)(q.PutBlobs(t.Context(), sqlcgen.PutBlobsParams{Sandbox: id,
				Data: [][]byte{[]byte(fmt.Sprint("garbage", i))}}))
		}
		return blocks(t, owner, "SELECT * FROM fs.gc('0', 1000)")
	}
	few := pass()
	many(t, q, id, "f", 20000)
	if _, err := owner.Exec(t.Context(), "VACUUM ANALYZE pgbox.blob, pgbox.chunk, pgbox.loose_blob"); err != nil {
		t.Fatal(err)
	}
	if n := pass(); n > 3*few {
		t.Errorf("%d pages with 20 000 contents alive, %d with none", n, few)
	}
}

// overwrite gives the only file of a sandbox another content.
func overwrite(t testing.TB, q *sqlcgen.Queries, id uuid.UUID, ino int64, content string) {
	t.Helper()
	d := begin(t, q, id)
	d.inode(ino, 8, 1, int64(len(content)), "")
	d.chunk(ino, 0, hash([]byte(content)))
	d.Blob = [][]byte{[]byte(content)}
	d.UsedBytes = int64(len(content))
	d.apply(t, q)
}

// An overwritten file lets go of its old content, also in a sealed layer that is dropped with its snapshot.
func TestGC_findsWhatWasOverwritten(t *testing.T) {
	t.Parallel()
	q, _, id := gcDatabase(t)
	ino := write(t, q, id, "f", "one")
	overwrite(t, q, id, ino, "two")
	if r := gc(t, q, 0); r.Blobs != 1 || r.Bytes != 3 {
		t.Fatalf("%+v", r)
	}
	snap := must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "s"}))
	overwrite(t, q, id, ino, "three")
	if r := gc(t, q, 0); r.Blobs != 0 {
		t.Fatalf("%+v while a snapshot has it", r)
	}
	if err := q.DropSnapshot(t.Context(), sqlcgen.DropSnapshotParams{Sandbox: id, Snapshot: snap.ID}); err != nil {
		t.Fatal(err)
	}
	must[int32](t)(q.Flatten(t.Context(), id))
	if r := gc(t, q, 0); r.Blobs != 1 || r.Bytes != 3 {
		t.Fatalf("%+v after the snapshot went", r)
	}
}

// It used to ask of every state that is alive who has it, each time.
func TestGC_costsWhatTheIdleStatesCost(t *testing.T) {
	t.Parallel()
	q, u, id := gcDatabase(t)
	owner := sqltest.Connect(t, u)
	run := func(sql string, args ...any) {
		t.Helper()
		if _, err := owner.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	states := func() int { return one[int](t, owner, "SELECT count(*)::int FROM pgbox.shell_state") }
	round := 0
	pass := func() int {
		gc(t, q, 0)
		before := states()
		for range 50 {
			round++
			run("UPDATE pgbox.sandbox SET state_sha256 = pgbox.put_state(jsonb_build_object('cwd', $2::int)) WHERE id = $1", id,
				round)
		}
		n := blocks(t, owner, "SELECT * FROM fs.gc('0', 1000)")
		if left := states(); left > before+1 {
			t.Fatalf("%d states are left of 50", left-before)
		}
		return n
	}
	pass()
	few := pass()
	run(`INSERT INTO pgbox.image (tenant, owner, name, tag, layers, next_ino, used_bytes, used_inodes, state_sha256)
	     SELECT 'test', 'owner', 'image' || n, 'latest', ARRAY[fs.base_layer()], 1024, 0, 0, pgbox.put_state(jsonb_build_object('of', n))
	       FROM generate_series(1, 3000) n`)
	run("VACUUM ANALYZE pgbox.shell_state, pgbox.image, pgbox.loose_state")
	if n := pass(); n > 3*few {
		t.Errorf("%d pages with 3000 states alive, %d with none", n, few)
	}
}
