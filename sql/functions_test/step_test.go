package functions_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

// cd is a run that changes the state of the shell and no file.
func cd(t *testing.T, q *sqlcgen.Queries, id uuid.UUID, dir string) {
	t.Helper()
	d := begin(t, q, id)
	d.ShellState = json.RawMessage(fmt.Sprintf(`{"cwd": %q}`, dir))
	d.apply(t, q)
}

func snapshotNames(t *testing.T, q *sqlcgen.Queries, id uuid.UUID) (names []string) {
	t.Helper()
	for _, n := range must[[]sqlcgen.FsSnapshot](t)(q.Snapshots(t.Context(), id)) {
		names = append(names, n.Name)
	}
	return names
}

// A working directory and exported variables are no change of files: an undo used to take back the cd and leave the
// file.
func TestUndo_aRunThatOnlyMovedIsNoStep(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := remembering(t, q, pool, `{"commits": 1}`)
	write(t, q, id, "f0", "0")
	cd(t, q, id, "/tmp")
	write(t, q, id, "f1", "1")
	for i := range 5 {
		cd(t, q, id, fmt.Sprint("/", i))
	}
	if names := snapshotNames(t, q, id); !slices.Equal(names, []string{"@0", "@2"}) {
		t.Fatalf("snapshots %q", names)
	}
	if s := undo(t, q, id, 1); shellState(t, q, id, s.StateSHA256) != `{"cwd": "/tmp"}` {
		t.Fatalf("%+v", s)
	}
	wantFiles(t, pool, id, 1)
	undo(t, q, id, 1)
	wantFiles(t, pool, id, 0)
}

func TestRedo_survivesACdAndAFlatten(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := remembering(t, q, pool, `{"commits": 1}`)
	for i := range 3 {
		write(t, q, id, fmt.Sprint("f", i), fmt.Sprint(i))
	}
	undo(t, q, id, 2)
	wantFiles(t, pool, id, 1)
	cd(t, q, id, "/tmp")
	redo(t, q, id, 1)
	wantFiles(t, pool, id, 2)
	must[int32](t)(q.Flatten(t.Context(), id))
	cd(t, q, id, "/")
	redo(t, q, id, 1)
	wantFiles(t, pool, id, 3)
	_, err := q.Redo(t.Context(), sqlcgen.RedoParams{Sandbox: id, Steps: 1})
	wantErrno(t, err, vfs.ENODATA)
}

// The tree of a time is that of its last change, however often the shell has moved since.
func TestStateAt_aTimeBeforeACd(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := remembering(t, q, pool, `{"commits": 1}`)
	s := enter(t, id)
	write(t, q, id, "f0", "0")
	between := get[time.Time](s, "SELECT clock_timestamp()").UTC().Format(time.RFC3339Nano)
	cd(t, q, id, "/tmp")
	wants(s, "0", "SELECT convert_from(fs.read_file_at('/f0', $1), 'UTF8')", between)
	write(t, q, id, "f1", "1")
	wants(s, "0", "SELECT convert_from(fs.read_file_at('/f0', $1), 'UTF8')", between)
	s.fails(vfs.ENOENT, "SELECT fs.read_file_at('/f1', $1)", between)
}

// stepOf is a step as fs.undo and fs.redo tell it.
type stepOf struct {
	Version, First, Last int64
	Total                int
	Paths                []string
	Runs                 []struct {
		Version                      int64
		Script, Caller, Agent, Route string
		Exec                         *uuid.UUID
	}
}

func stepsOf(t *testing.T, s sqlcgen.FsSandbox) string {
	t.Helper()
	var steps []stepOf
	if err := json.Unmarshal(s.Steps, &steps); err != nil {
		t.Fatalf("%s: %v", s.Steps, err)
	}
	var out []string
	for _, p := range steps {
		line := fmt.Sprintf("%d-%d %s", p.First, p.Last, strings.Join(p.Paths, ","))
		if p.Total != len(p.Paths) {
			line += fmt.Sprint(" of ", p.Total)
		}
		for _, r := range p.Runs {
			line += fmt.Sprintf(" [%d %s %s/%s]", r.Version, r.Script, r.Caller, r.Agent)
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

func TestUndo_saysWhatItTookBack(t *testing.T) {
	t.Parallel()
	for _, journal := range []bool{true, false} {
		q, pool := queries(t)
		id := remembering(t, q, pool, `{"commits": 1}`)
		must[sqlcgen.FsSandbox](t)(q.UpdateSandbox(t.Context(), sqlcgen.UpdateSandboxParams{Sandbox: id, Clear: []string{},
			Journal: &journal}))
		runs := func(name string) {
			t.Helper()
			d := begin(t, q, id)
			ino := d.create(1, name, name)
			d.Exec = json.RawMessage(fmt.Sprintf(`{"script": "echo > %s", "caller": "alice", "agent": "a1", "route": "exec"}`,
				name))
			d.Op, d.Path, d.PathTo, d.ChangeIno = []string{"create"}, []string{"/" + name}, []string{""}, []int64{ino}
			d.SizeBefore, d.SizeAfter, d.HashBefore, d.HashAfter = []int64{-1}, []int64{int64(len(name))}, [][]byte{nil},
				[][]byte{nil}
			d.apply(t, q)
		}
		want := func(s sqlcgen.FsSandbox, want string) {
			t.Helper()
			if got := stepsOf(t, s); got != want {
				t.Errorf("journal %v:\n got %s\nwant %s", journal, got, want)
			}
		}
		runs("f1")
		cd(t, q, id, "/tmp")
		runs("f3")
		runs("f4")
		const f1, f3, f4 = "1-2 /f1 [1 echo > f1 alice/a1]", "3-3 /f3 [3 echo > f3 alice/a1]",
			"4-4 /f4 [4 echo > f4 alice/a1]"
		want(undo(t, q, id, 2), f4+"; "+f3)
		cd(t, q, id, "/")
		want(redo(t, q, id, 1), f3)
		want(undo(t, q, id, 1), f3)
		want(redo(t, q, id, 2), f3+"; "+f4)
		want(undo(t, q, id, 1), f4) // version 12
		runs("f13")
		want(undo(t, q, id, 3), "13-13 /f13 [13 echo > f13 alice/a1]; "+f3+"; "+f1)
		// What was done in SQL names the role, where there is a journal.
		s := enter(t, id)
		s.must("SELECT fs.mkdir('/made')")
		done := undo(t, q, id, 1)
		who := get[string](s, "SELECT session_user::text")
		if got := stepsOf(t, done); journal && got != fmt.Sprintf("17-17 /made [17  %s/]", who) ||
			!journal && got != "17-17 /made" {
			t.Errorf("journal %v: %s", journal, got)
		}
	}
}

// Every column of a sandbox is either a setting, which a fork has, or tells of one sandbox's life. A new column has to
// be decided here and in the comment of fs.fork.
func TestFork_everyColumnIsDecided(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	owner := sqltest.Owner(t)
	copied := map[string]string{ // and what the test sets
		"tenant": "", "env": `'{"A": "b"}'`, "config": `'{"python": true}'`, "labels": `'{"l": "v"}'`, "max_bytes": "12345",
		"max_inodes":    "77",
		"max_snapshots": "9", "journal": "false", "history_commits": "3", "history_seconds": "60", "history_keep": "7",
		"expires_at": "now() + interval '1 day'", "used_bytes": "", "used_inodes": "", "next_ino": "", "state_sha256": "",
	}
	own := []string{
		"id", "owner", "name", "layers", "version", "tree_version", "tree_at", "created_at", "last_used_at", "deleted_at",
		"history_version", "history_at",
		"undone_version", "undone_origin", "pruned_version", "open_version",
	}
	id := remembering(t, q, pool, `{"commits": 1}`)
	write(t, q, id, "f0", "0")
	cd(t, q, id, "/tmp")
	for column, value := range copied {
		if value != "" {
			if _, err := owner.Exec(t.Context(), fmt.Sprintf("UPDATE pgbox.sandbox SET %s = %s WHERE id = $1", column, value),
				id); err != nil {
				t.Fatal(err)
			}
		}
	}
	child, fresh := forked(t, q, id), sqltest.Sandbox(t, pool)
	comment := one[string](t, owner, "SELECT obj_description('fs.fork(uuid, uuid[], text, text, text)'::regprocedure)")
	rows, err := owner.Query(t.Context(),
		"SELECT column_name FROM information_schema.columns WHERE table_schema = 'pgbox' AND table_name = 'sandbox'")
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range must[[]string](t)(pgx.CollectRows(rows, pgx.RowTo[string])) {
		value, isCopied := copied[column]
		if isCopied == slices.Contains(own, column) {
			t.Errorf("column %s: decide whether a fork has it", column)
		}
		if !strings.Contains(comment, column) {
			t.Errorf("column %s: the comment of fs.fork does not decide it", column)
		}
		same := func(other uuid.UUID) bool {
			return one[bool](t, owner,
				fmt.Sprintf("SELECT a.%[1]s IS NOT DISTINCT FROM b.%[1]s FROM pgbox.sandbox a, pgbox.sandbox b WHERE a.id = $1 AND b.id = $2", column), id, other)
		}
		if isCopied && !same(child) {
			t.Errorf("column %s: the fork has another value", column)
		}
		if value != "" && same(fresh) {
			t.Errorf("column %s: the test does not set it", column)
		}
	}
}

// What is larger than the limits cannot come back by another way than writing it.
func TestLimits_holdForRestoreUndoMergeForkAndImages(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	ctx := t.Context()
	for _, limit := range []string{"bytes", "inodes"} {
		id := remembering(t, q, pool, `{"commits": 1}`)
		write(t, q, id, "f0", "0")
		fork := forked(t, q, id)
		for i := range 3 {
			write(t, q, fork, fmt.Sprint("large", i), strings.Repeat("x", 1000))
			write(t, q, id, fmt.Sprint("large", i), strings.Repeat("y", 1000))
		}
		s := enter(t, id)
		must[sqlcgen.FsSnapshot](t)(q.Snapshot(ctx, sqlcgen.SnapshotParams{Sandbox: id, Name: "large"}))
		image := "limits-" + id.String()
		must[sqlcgen.FsImage](t)(q.CreateImage(ctx, sqlcgen.CreateImageParams{Sandbox: id, Name: image}))
		s.must("SELECT fs.rm('/large0'), fs.rm('/large1'), fs.rm('/large2')")
		p := sqlcgen.UpdateSandboxParams{Sandbox: id, Clear: []string{}}
		c := sqlcgen.CreateSandboxParams{Tenant: get[string](s, "SELECT tenant FROM fs.get_sandbox($1)", id), Owner: "owner",
			Name: "n", Image: &image}
		if n := int64(2000); limit == "bytes" {
			p.MaxBytes, c.MaxBytes = &n, &n
		} else {
			n = 3
			p.MaxInodes, c.MaxInodes = &n, &n
		}
		must[sqlcgen.FsSandbox](t)(q.UpdateSandbox(ctx, p))
		before := must[sqlcgen.FsFence](t)(q.Fence(ctx, id))
		snapshots := len(snapshotNames(t, q, id))
		_, err := q.Restore(ctx, sqlcgen.RestoreParams{Sandbox: id, At: "large"})
		wantErrno(t, err, vfs.EDQUOT)
		_, err = q.Undo(ctx, sqlcgen.UndoParams{Sandbox: id, Steps: 3})
		wantErrno(t, err, vfs.EDQUOT)
		_, err = q.Merge(ctx, sqlcgen.MergeParams{Sandbox: id, From: fork, Base: "@base", Conflict: "theirs"})
		wantErrno(t, err, vfs.EDQUOT)
		at := "large"
		_, err = q.Fork(ctx, sqlcgen.ForkParams{Sandbox: id, At: &at})
		wantErrno(t, err, vfs.EDQUOT)
		_, err = q.CreateSandbox(ctx, c)
		wantErrno(t, err, vfs.EDQUOT)
		if after := must[sqlcgen.FsFence](t)(q.Fence(ctx, id)); after.Version != before.Version ||
			after.UsedBytes != before.UsedBytes || !slices.Equal(after.Layers, before.Layers) ||
			len(snapshotNames(t, q, id)) != snapshots {
			t.Errorf("%+v, was %+v", after, before)
		}
		// Smaller ones can.
		must[sqlcgen.FsSandbox](t)(q.Restore(ctx, sqlcgen.RestoreParams{Sandbox: id, At: "1"}))
	}
}
