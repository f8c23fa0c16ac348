package functions_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

// remembering makes a sandbox with automatic snapshots.
func remembering(t *testing.T, q *sqlcgen.Queries, pool *pgxpool.Pool, history string) uuid.UUID {
	t.Helper()
	id := sqltest.Sandbox(t, pool)
	must[sqlcgen.FsSandbox](t)(q.UpdateSandbox(t.Context(), sqlcgen.UpdateSandboxParams{Sandbox: id, Clear: []string{},
		History: json.RawMessage(history)}))
	return id
}

func undo(t *testing.T, q *sqlcgen.Queries, id uuid.UUID, steps int32) sqlcgen.FsSandbox {
	t.Helper()
	return must[sqlcgen.FsSandbox](t)(q.Undo(t.Context(), sqlcgen.UndoParams{Sandbox: id, Steps: steps}))
}

func redo(t *testing.T, q *sqlcgen.Queries, id uuid.UUID, steps int32) sqlcgen.FsSandbox {
	t.Helper()
	return must[sqlcgen.FsSandbox](t)(q.Redo(t.Context(), sqlcgen.RedoParams{Sandbox: id, Steps: steps}))
}

// wantFiles expects files f0, f1, … up to n, and none after.
func wantFiles(t *testing.T, pool *pgxpool.Pool, id uuid.UUID, n int) {
	t.Helper()
	for i := range n {
		wantFile(t, pool, id, fmt.Sprint("/f", i), fmt.Sprint(i))
	}
	wantNoFile(t, pool, id, fmt.Sprint("/f", n))
}

func TestUndo_takesCommitsBackOneByOne(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := remembering(t, q, pool, `{"commits": 1}`)
	for i := range 4 {
		d := begin(t, q, id)
		d.create(1, fmt.Sprint("f", i), fmt.Sprint(i))
		d.ShellState = json.RawMessage(fmt.Sprintf(`{"cwd": "/%d"}`, i))
		d.apply(t, q)
	}
	before := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id))
	s := undo(t, q, id, 1)
	if s.Version != before.Version+1 || s.UsedBytes != 3 || s.UsedInodes != 3 ||
		shellState(t, q, s.ID, s.StateSHA256) != `{"cwd": "/2"}` || s.NextIno != before.NextIno {
		t.Fatalf("%+v", s)
	}
	wantFiles(t, pool, id, 3)
	undo(t, q, id, 2)
	wantFiles(t, pool, id, 1)
	redo(t, q, id, 1)
	wantFiles(t, pool, id, 2)
	// A fork seals the top and changes no file: what was undone can still be redone.
	forked(t, q, id)
	if s := redo(t, q, id, 2); shellState(t, q, s.ID, s.StateSHA256) != `{"cwd": "/3"}` {
		t.Fatalf("%+v", s)
	}
	wantFiles(t, pool, id, 4)
	_, err := q.Redo(t.Context(), sqlcgen.RedoParams{Sandbox: id, Steps: 1})
	wantErrno(t, err, vfs.ENODATA)
	undo(t, q, id, 4)
	wantFiles(t, pool, id, 0)
	_, err = q.Undo(t.Context(), sqlcgen.UndoParams{Sandbox: id, Steps: 1})
	wantErrno(t, err, vfs.ENODATA)
	_, err = q.Undo(t.Context(), sqlcgen.UndoParams{Sandbox: id, Steps: 0})
	wantErrno(t, err, vfs.EINVAL)
}

func TestUndo_aCommitEndsTheRedo(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := remembering(t, q, pool, `{"commits": 1}`)
	write(t, q, id, "f0", "0")
	write(t, q, id, "f1", "1")
	undo(t, q, id, 1)
	write(t, q, id, "other", "other")
	_, err := q.Redo(t.Context(), sqlcgen.RedoParams{Sandbox: id, Steps: 1})
	wantErrno(t, err, vfs.ENODATA)
	// What comes back is what was there before the last commit, not what had been undone.
	undo(t, q, id, 1)
	wantFiles(t, pool, id, 1)
	wantNoFile(t, pool, id, "/other")
	redo(t, q, id, 1)
	wantFile(t, pool, id, "/other", "other")
	_, err = q.Redo(t.Context(), sqlcgen.RedoParams{Sandbox: id, Steps: 1})
	wantErrno(t, err, vfs.ENODATA)
}

// The path verbs take the snapshot, too, and the version of each is kept for reading.
func TestUndo_ofPathVerbs(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	s := enter(t, remembering(t, q, pool, `{"commits": 1, "keep": 3}`))
	for i := range 5 {
		s.must("SELECT fs.write_file('/f', convert_to($1, 'UTF8'))", fmt.Sprint("content ", i))
	}
	wants(s, "content 2", "SELECT convert_from(fs.read_file_at('/f', '@3'), 'UTF8')")
	wants(s, "content 4", "SELECT convert_from(fs.read_file_at('/f', '5'), 'UTF8')")
	s.fails(vfs.ENOENT, "SELECT fs.read_file_at('/f', '@1')") // only the newest are kept
	undo(t, q, s.id, 2)
	wants(s, "content 2", "SELECT convert_from(fs.read_file('/f'), 'UTF8')")
	wants(s, "content 4", "SELECT convert_from(fs.read_file_at('/f', '@5'), 'UTF8')")
	if n := one[int](t, s.admin, "SELECT count(*) FROM pgbox.snapshot WHERE sandbox_id = $1", s.id); n != 3 {
		t.Fatalf("%d snapshots", n)
	}
}

func TestUndo_ofARestore(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	write(t, q, id, "f0", "0")
	must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "s"}))
	write(t, q, id, "f1", "1")
	must[sqlcgen.FsSandbox](t)(q.Restore(t.Context(), sqlcgen.RestoreParams{Sandbox: id, At: "s"}))
	wantFiles(t, pool, id, 1)
	undo(t, q, id, 1)
	wantFiles(t, pool, id, 2)
	redo(t, q, id, 1)
	wantFiles(t, pool, id, 1)
}

func TestHistory_everyFewCommits(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := remembering(t, q, pool, `{"commits": 3}`)
	for i := range 7 {
		write(t, q, id, fmt.Sprint("f", i), fmt.Sprint(i))
	}
	var names []string
	for _, n := range must[[]sqlcgen.FsSnapshot](t)(q.Snapshots(t.Context(), id)) {
		if n.Kind != "automatic" {
			t.Fatalf("%+v", n)
		}
		names = append(names, n.Name)
	}
	wantKeys(t, names, "@2", "@5")
	undo(t, q, id, 1)
	wantFiles(t, pool, id, 5)
	must[sqlcgen.FsSandbox](t)(q.UpdateSandbox(t.Context(), sqlcgen.UpdateSandboxParams{Sandbox: id,
		Clear: []string{"history"}}))
	for i := range 5 {
		write(t, q, id, fmt.Sprint("g", i), "g")
	}
	if n := len(must[[]sqlcgen.FsSnapshot](t)(q.Snapshots(t.Context(), id))); n != 3 { // and the one undo left
		t.Fatalf("%d snapshots", n)
	}
}

func TestHistory_everySoOften(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := remembering(t, q, pool, `{"seconds": 3600}`)
	owner := sqltest.Owner(t)
	count := func() int { return len(must[[]sqlcgen.FsSnapshot](t)(q.Snapshots(t.Context(), id))) }
	write(t, q, id, "f0", "0")
	write(t, q, id, "f1", "1")
	if n := count(); n != 0 {
		t.Fatalf("%d snapshots within the hour", n)
	}
	if _, err := owner.Exec(t.Context(),
		"UPDATE pgbox.sandbox SET history_at = history_at - interval '2 hours' WHERE id = $1", id); err != nil {
		t.Fatal(err)
	}
	write(t, q, id, "f2", "2")
	write(t, q, id, "f3", "3")
	if n := count(); n != 1 {
		t.Fatalf("%d snapshots after it", n)
	}
	undo(t, q, id, 1)
	wantFiles(t, pool, id, 2)
}

// A chain that grows by a layer with every commit stays short, and the merges do not copy what is large and old again
// and again. Commits go on when a sandbox has as many snapshots as it may: the oldest automatic ones make room, those
// with names never.
func TestHistory_withinMaxSnapshots(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := remembering(t, q, pool, `{"commits": 1}`)
	atMost := func(n int64) {
		t.Helper()
		must[sqlcgen.FsSandbox](t)(q.UpdateSandbox(t.Context(), sqlcgen.UpdateSandboxParams{Sandbox: id, MaxSnapshots: &n,
			Clear: []string{}}))
	}
	wantNames := func(want ...string) {
		t.Helper()
		var names []string
		for _, n := range must[[]sqlcgen.FsSnapshot](t)(q.Snapshots(t.Context(), id)) {
			names = append(names, n.Name)
		}
		wantKeys(t, names, want...)
	}
	write(t, q, id, "f0", "0")
	must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "mine"}))
	atMost(3)
	for i := range 4 {
		write(t, q, id, fmt.Sprint("g", i), "g")
	}
	named := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)).Version
	wantNames("mine", fmt.Sprint("@", named-2), fmt.Sprint("@", named-1))
	undo(t, q, id, 1)
	wantNoFile(t, pool, id, "/g3")
	redo(t, q, id, 1)
	wantFile(t, pool, id, "/g3", "g")
	atMost(1) // no room beside the one with a name
	d := begin(t, q, id)
	d.create(1, "h", "h")
	_, err := q.Apply(t.Context(), d.ApplyParams)
	wantErrno(t, err, vfs.EDQUOT)
	wantNoFile(t, pool, id, "/h")
	atMost(2)
	d.apply(t, q)
	wantFile(t, pool, id, "/h", "h")
}

func TestHistory_keepsTheChainShort(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := remembering(t, q, pool, `{"commits": 1}`)
	d := begin(t, q, id)
	for i := range 500 {
		d.create(1, fmt.Sprint("large", i), "")
	}
	d.apply(t, q)
	for i := range 70 {
		write(t, q, id, fmt.Sprint("f", i), fmt.Sprint(i))
	}
	f := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id))
	if len(f.Layers) > 33 {
		t.Fatalf("%d layers", len(f.Layers))
	}
	wantFiles(t, pool, id, 70)
	owner := sqltest.Owner(t)
	if n := one[int64](t, owner, "SELECT coalesce(sum(row_count), 0)::bigint FROM pgbox.layer WHERE id = ANY ($1)",
		f.Layers); n < 1000 || n > 1400 {
		t.Fatalf("%d rows in the chain", n)
	}
	if n := one[int64](t, owner, "SELECT count(*) FROM pgbox.layer WHERE id = ANY ($1) AND row_count > 900",
		f.Layers); n != 1 {
		t.Fatalf("%d large layers", n)
	}
	for i := 69; i >= 40; i-- {
		undo(t, q, id, 1)
	}
	wantFiles(t, pool, id, 40)
	wantFile(t, pool, id, "/large499", "")
}

func TestStateAt_everyName(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := remembering(t, q, pool, `{"commits": 1}`)
	s := enter(t, id)
	size := func(at string) string {
		return get[string](s,
			"SELECT coalesce(string_agg(name, ' ' ORDER BY name), '') FROM fs.tree_at('/', $1) WHERE name ~ '^f[0-9]$'", at)
	}
	write(t, q, id, "f0", "0")
	snap := must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "named"}))
	between := get[time.Time](s, "SELECT clock_timestamp()")
	write(t, q, id, "f1", "1")
	wants(s, int64(0), "SELECT count(*) FROM fs.readdir_at('/', '@base') WHERE name ~ '^f[0-9]$'")
	for at, want := range map[string]string{
		"": "f0 f1", "@head": "f0 f1", "@base": "", "named": "f0", snap.ID.String(): "f0", "@0": "", "1": "f0", "@2": "f0",
		"3":                                    "f0 f1",
		between.UTC().Format(time.RFC3339Nano): "f0", between.Add(time.Hour).UTC().Format(time.RFC3339Nano): "f0 f1",
	} {
		if got := size(at); got != want {
			t.Errorf("at %q: %q, want %q", at, got, want)
		}
	}
	for _, at := range []string{"4", "@99", "nothing", uuid.NewString(), "2001-01-01"} {
		s.fails(vfs.ENOENT, "SELECT fs.read_file_at('/f0', $1)", at)
	}
	// The whole session can be put there; then nothing can be changed.
	s.must("SELECT fs.use($1, 'named')", id)
	s.fails(vfs.ENOENT, "SELECT fs.read_file('/f1')")
	wants(s, "0", "SELECT convert_from(fs.read_file('/f0'), 'UTF8')")
	s.fails(vfs.EROFS, "SELECT fs.write_file('/x', 'x')")
	s.must("SELECT fs.use($1)", id)
	s.must("SELECT fs.write_file('/x', 'x')")

	_, err := q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "@1"})
	wantErrno(t, err, vfs.EINVAL)
}

// What an earlier state stands on can be loaded, and nothing else.
func TestFenceAt(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := remembering(t, q, pool, `{"commits": 1}`)
	write(t, q, id, "f0", "0")
	write(t, q, id, "f1", "1")
	f := must[sqlcgen.FsFence](t)(q.FenceAt(t.Context(), sqlcgen.FenceAtParams{Sandbox: id, At: "1"}))
	if f.Version != 1 || f.UsedInodes != 1 || f.Layers[0] != uuid.Nil || len(f.Layers) != 3 {
		t.Fatalf("%+v", f)
	}
	must[sqlcgen.FsSandbox](t)(q.Restore(t.Context(), sqlcgen.RestoreParams{Sandbox: id, At: "@base"}))
	must[[]sqlcgen.LoadDirentsRow](t)(q.LoadDirents(t.Context(),
		sqlcgen.LoadDirentsParams{Sandbox: id, Layer: f.Layers[1]}))
	_, err := q.LoadDirents(t.Context(), sqlcgen.LoadDirentsParams{Sandbox: sqltest.Sandbox(t, pool), Layer: f.Layers[1]})
	wantErrno(t, err, vfs.ESTALE)
	now := must[sqlcgen.FsFence](t)(q.FenceAt(t.Context(), sqlcgen.FenceAtParams{Sandbox: id, At: ""}))
	if now.Layers[0] == uuid.Nil {
		t.Fatalf("%+v", now)
	}
}

func TestFork_manyAtOnce(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	write(t, q, id, "f0", "0")
	must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "s"}))
	write(t, q, id, "f1", "1")
	ids := make([]uuid.UUID, 100)
	for i := range ids {
		ids[i] = uuid.New()
	}
	name, at := "many", "s"
	list := must[[]sqlcgen.FsSandbox](t)(q.Fork(t.Context(), sqlcgen.ForkParams{Sandbox: id, Ids: ids, Name: &name,
		At: &at}))
	for i, s := range list {
		if s.ID != ids[i] || s.Name != fmt.Sprint("many-", i+1) {
			t.Fatalf("%d: %+v", i, s)
		}
	}
	write(t, q, ids[7], "own", "own")
	wantFiles(t, pool, ids[7], 1)
	wantFiles(t, pool, ids[99], 1)
	wantNoFile(t, pool, ids[99], "/own")
	_, err := q.Fork(t.Context(), sqlcgen.ForkParams{Sandbox: id, Ids: append(ids, uuid.New())})
	wantErrno(t, err, vfs.EINVAL)
	// All or none.
	fresh := uuid.New()
	_, err = q.Fork(t.Context(), sqlcgen.ForkParams{Sandbox: id, Ids: []uuid.UUID{fresh, ids[0]}})
	wantErrno(t, err, vfs.EEXIST)
	_, err = q.Fence(t.Context(), fresh)
	wantErrno(t, err, vfs.ESRCH)
}
