package functions_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

// content is the text that a hash is of, or the size of what has none.
func content(hash []byte, size int64) string {
	if hash == nil {
		return fmt.Sprint(size)
	}
	for _, text := range []string{"old", "newer", "f", "ff", "gone", "file", "one", "a", "m", "x", "theirs", "merged"} {
		if sum := sha256.Sum256([]byte(text)); bytes.Equal(hash, sum[:]) && size == int64(len(text)) {
			return text
		}
	}
	return fmt.Sprintf("%d:%x", size, hash)
}

// journal is what a version did, with what the files held before and after, and the run.
func journal(t *testing.T, q *sqlcgen.Queries, id uuid.UUID, version int64) (list []string, exec *uuid.UUID) {
	t.Helper()
	for _, c := range must[[]sqlcgen.FsChange](t)(q.ChangesSince(t.Context(),
		sqlcgen.ChangesSinceParams{Sandbox: id, Version: version - 1, Seq: 1 << 30, MaxRows: 1000})) {
		if c.Version != version {
			continue
		}
		line := c.Op + " " + c.Path
		if c.PathTo != nil {
			line += " > " + *c.PathTo
		}
		for i, size := range []*int64{c.SizeBefore, c.SizeAfter} {
			if size != nil {
				line += " " + content([][]byte{c.HashBefore, c.HashAfter}[i], *size)
			} else {
				line += " -"
			}
		}
		list = append(list, line)
		if len(list) > 1 && (exec == nil) != (c.ExecID == nil) || exec != nil && *exec != *c.ExecID {
			t.Errorf("run %v of %s, want %v", c.ExecID, line, exec)
		}
		exec = c.ExecID
	}
	return list, exec
}

func wantJournal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("journal:\n%s\nwant:\n%s", g, w)
	}
}

// audited is the argument for the audit row of a verb, and its id.
func audited(what string) (uuid.UUID, json.RawMessage) {
	id := uuid.New()
	return id, json.RawMessage(fmt.Sprintf(`{"id": %q, "tenant": "default", "route": %q, "caller": "alice", "script": "the %s"}`, id, what, what))
}

func wantRun(t *testing.T, q *sqlcgen.Queries, sandbox, id uuid.UUID, route string, before, after int64) {
	t.Helper()
	for _, r := range must[[]sqlcgen.FsExec](t)(q.Timeline(t.Context(),
		sqlcgen.TimelineParams{Sandbox: sandbox, MaxRows: 100})) {
		if r.ID != id {
			continue
		}
		if r.Route != route || r.Caller != "alice" || r.Script != "the "+route || r.VersionBefore != before ||
			r.VersionAfter != after || !r.Committed || r.DurationUs <= 0 {
			t.Errorf("%+v, want versions %d and %d", r, before, after)
		}
		return
	}
	t.Errorf("no run of %s", route)
}

// A restore, its undo and the redo of that are journalled as the operations that would have done the same.
func TestRestore_isInTheJournal(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	s := enter(t, sqltest.Sandbox(t, pool))
	for _, sql := range []string{
		"SELECT fs.write_file('/changed', 'old')", "SELECT fs.write_file('/mode', 'm')",
		"SELECT fs.mkdir('/dir/sub', p_parents => true)", "SELECT fs.write_file('/dir/f', 'f')",
		"SELECT fs.write_file('/gone', 'gone')", "SELECT fs.symlink('changed', '/link')",
		"SELECT fs.write_file('/kind', 'file')", "SELECT fs.write_file('/one', 'one')",
		"SELECT fs.snapshot(current_setting('app.sandbox_id')::uuid, 's')",
		"SELECT fs.write_file('/changed', 'newer')", "SELECT fs.chmod('/mode', 384)", "SELECT fs.chown('/mode', 7, 8)",
		"SELECT fs.mv('/dir', '/renamed')", "SELECT fs.write_file('/renamed/f', 'ff')",
		"SELECT fs.rm('/gone')", "SELECT fs.rm('/link')", "SELECT fs.symlink('mode', '/link')", "SELECT fs.rm('/kind')",
		"SELECT fs.mkdir('/kind/in', p_parents => true)",
		"SELECT fs.link('/one', '/two')", "SELECT fs.write_file('/added', 'a')", "SELECT fs.read_file('/one')",
	} {
		s.must(sql)
	}
	before := s.version()
	id, audit := audited("restore")
	b := must[sqlcgen.FsSandbox](t)(q.Restore(t.Context(), sqlcgen.RestoreParams{Sandbox: s.id, At: "s", Exec: audit}))
	if b.Version != before+1 {
		t.Fatalf("version %d, was %d", b.Version, before)
	}
	wantRun(t, q, s.id, id, "restore", before, b.Version)
	list, run := journal(t, q, s.id, b.Version)
	if run == nil || *run != id {
		t.Errorf("run %v, want %v", run, id)
	}
	wantJournal(t, list,
		"unlink /added a -", "unlink /link - -", "unlink /two one -", "rmdir /kind/in - -", "rmdir /kind - -",
		"rename /renamed > /dir - -",
		"create /gone - gone", "create /kind - file", "symlink /link > changed - -",
		"write /changed newer old", "write /dir/f ff f", "chmod /mode m m", "chown /mode m m")

	id, audit = audited("undo")
	b = must[sqlcgen.FsSandbox](t)(q.Undo(t.Context(), sqlcgen.UndoParams{Sandbox: s.id, Steps: 1, Exec: audit}))
	wantRun(t, q, s.id, id, "undo", b.Version-1, b.Version)
	list, _ = journal(t, q, s.id, b.Version)
	wantJournal(t, list,
		"unlink /gone gone -", "unlink /kind file -", "unlink /link - -", "mkdir /kind - -", "mkdir /kind/in - -",
		"rename /dir > /renamed - -",
		"create /added - a", "symlink /link > mode - -", "link /one > /two one one",
		"write /changed old newer", "write /renamed/f f ff", "chmod /mode m m", "chown /mode m m")

	id, audit = audited("redo")
	b = must[sqlcgen.FsSandbox](t)(q.Redo(t.Context(), sqlcgen.RedoParams{Sandbox: s.id, Steps: 1, Exec: audit}))
	wantRun(t, q, s.id, id, "redo", b.Version-1, b.Version)
	if list, _ = journal(t, q, s.id, b.Version); len(list) != 13 {
		t.Errorf("journal: %q", list)
	}
	// In SQL it is the run of the database role; without a journal nothing is written.
	b = must[sqlcgen.FsSandbox](t)(q.Undo(t.Context(), sqlcgen.UndoParams{Sandbox: s.id, Steps: 1}))
	if list, run := journal(t, q, s.id, b.Version); len(list) != 13 || run == nil ||
		one[string](t, s.admin, "SELECT route FROM pgbox.exec WHERE id = $1", run) != "sql" {
		t.Errorf("journal: %q by %v", list, run)
	}
	s.must("SELECT fs.update_sandbox($1, NULL, NULL, NULL, NULL, NULL, NULL, p_journal => false)", s.id)
	b = must[sqlcgen.FsSandbox](t)(q.Redo(t.Context(), sqlcgen.RedoParams{Sandbox: s.id, Steps: 1}))
	if list, _ := journal(t, q, s.id, b.Version); len(list) != 0 {
		t.Errorf("journal: %q", list)
	}
}

// Every version of an undo of several steps has its own part of the journal; the run is one.
func TestUndo_ofSeveralStepsIsOneRun(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := remembering(t, q, pool, `{"commits": 1}`)
	for i := range 3 {
		write(t, q, id, fmt.Sprint("f", i), "x")
	}
	run, audit := audited("undo")
	b := must[sqlcgen.FsSandbox](t)(q.Undo(t.Context(), sqlcgen.UndoParams{Sandbox: id, Steps: 2, Exec: audit}))
	wantRun(t, q, id, run, "undo", 3, 5)
	for version, want := range map[int64]string{4: "unlink /f2 x -", 5: "unlink /f1 x -"} {
		list, by := journal(t, q, id, version)
		wantJournal(t, list, want)
		if by == nil || *by != run {
			t.Errorf("run %v, want %v", by, run)
		}
	}
	if b.Version != 5 {
		t.Errorf("version %d", b.Version)
	}
}

// A file whose content has no hash for its length is still told apart from one whose mode changed.
func TestRestore_journalOfLargeFiles(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	s := enter(t, sqltest.Sandbox(t, pool))
	s.must("SELECT fs.write_file('/content', ''), fs.write_file('/mode', ''), fs.truncate('/content', 100 << 20), fs.truncate('/mode', 100 << 20)")
	s.must("SELECT fs.snapshot($1, 's')", s.id)
	s.must("SELECT fs.write_at('/content', 'x', 5), fs.chmod('/mode', 384)")
	b := must[sqlcgen.FsSandbox](t)(q.Restore(t.Context(), sqlcgen.RestoreParams{Sandbox: s.id, At: "s"}))
	list, _ := journal(t, q, s.id, b.Version)
	wantJournal(t, list, "write /content 104857600 104857600", "chmod /mode 104857600 104857600")
}

// A merge is one version, one run and one part of the journal, which says of each file what it held before and after
// all of it.
func TestMerge_isOneVersion(t *testing.T) {
	t.Parallel()
	q, ours, theirs := sides(t, "SELECT fs.write_file('/f', 'f')", "SELECT fs.write_file('/gone', 'gone')",
		"SELECT fs.mkdir('/d')", "SELECT fs.write_file('/d/in', 'old')",
		"SELECT fs.symlink('f', '/l')")
	for _, s := range []string{"SELECT fs.write_file('/f', 'ff')", "SELECT fs.chmod('/f', 384)", "SELECT fs.rm('/gone')",
		"SELECT fs.mv('/d', '/e')", "SELECT fs.write_file('/e/in', 'newer')",
		"SELECT fs.mkdir('/new')", "SELECT fs.write_file('/new/a', 'a')", "SELECT fs.rm('/l')",
		"SELECT fs.symlink('g', '/l')"} {
		theirs.must(s)
	}
	before, used := ours.version(), get[int64](ours, "SELECT used_bytes FROM fs.usage($1)", ours.id)
	run, audit := audited("merge")
	p := sqlcgen.MergeParams{Sandbox: ours.id, From: theirs.id, Base: "@base", Conflict: "fail", Exec: audit}
	must[[]sqlcgen.MergeRow](t)(q.Merge(t.Context(), p))
	if v := ours.version(); v != before+1 {
		t.Fatalf("version %d, was %d", v, before)
	}
	wantRun(t, q, ours.id, run, "merge", before, before+1)
	list, by := journal(t, q, ours.id, before+1)
	if by == nil || *by != run {
		t.Errorf("run %v, want %v", by, run)
	}
	wantJournal(t, list, "unlink /gone gone -", "unlink /l - -", "mkdir /new - -", "rename /d > /e - -",
		"symlink /l > g - -", "create /new/a - a",
		"write /e/in old newer", "write /f f ff", "chmod /f f ff")
	wants(ours, used-4+2+1+1, "SELECT used_bytes FROM fs.usage($1)", ours.id)
	wants(ours, true, "SELECT count(*) = 1 FROM fs.snapshots($1) WHERE kind = 'automatic'", ours.id)

	// What has nothing to do, and what is refused, leaves no version, no snapshot and no run.
	_, p.Exec = audited("merge")
	must[[]sqlcgen.MergeRow](t)(q.Merge(t.Context(), p))
	theirs.must("SELECT fs.write_file('/f', 'theirs')")
	ours.must("SELECT fs.write_file('/f', 'one')")
	theirs.must("SELECT fs.write_file('/more', 'x')")
	must[[]sqlcgen.MergeRow](t)(q.Merge(t.Context(), p))
	if v := ours.version(); v != before+2 {
		t.Errorf("version %d, was %d", v, before+2)
	}
	wants(ours, true, "SELECT count(*) = 1 FROM fs.snapshots($1) WHERE kind = 'automatic'", ours.id)
	if runs := must[[]sqlcgen.FsExec](t)(q.Timeline(t.Context(),
		sqlcgen.TimelineParams{Sandbox: ours.id, MaxRows: 100})); len(runs) != 2 {
		t.Errorf("%d runs, want the merge's and the fork's", len(runs))
	}

	// With theirs it is one version again, and the sandbox' own snapshots go on as before.
	ours.must("SELECT fs.update_sandbox($1, NULL, NULL, NULL, NULL, NULL, NULL, $2, '{\"commits\": 1}')", ours.id,
		[]string{})
	p.Conflict = "theirs"
	must[[]sqlcgen.MergeRow](t)(q.Merge(t.Context(), p))
	list, _ = journal(t, q, ours.id, before+3)
	wantJournal(t, list, "create /more - x", "write /f one theirs")
	undo(t, q, ours.id, 1)
	wants(ours, "one", text, "/f")
	ours.must("SELECT fs.write_file('/f', 'again')")
	undo(t, q, ours.id, 1)
	wants(ours, "one", text, "/f")
}
