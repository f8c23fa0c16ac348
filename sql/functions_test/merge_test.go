package functions_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

func merge(t *testing.T, q *sqlcgen.Queries, id, from uuid.UUID, conflict string) []string {
	t.Helper()
	var out []string
	for _, r := range must[[]sqlcgen.MergeRow](t)(q.Merge(t.Context(),
		sqlcgen.MergeParams{Sandbox: id, From: from, Base: "@base", Conflict: conflict})) {
		line := r.Outcome + " " + r.Status + " " + r.Path
		if r.Detail != "" {
			line += ": " + r.Detail
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// sides makes a sandbox by some statements and forks it.
func sides(t *testing.T, sql ...string) (q *sqlcgen.Queries, ours, theirs *scope) {
	t.Helper()
	q, pool := queries(t)
	ours = enter(t, sqltest.Sandbox(t, pool))
	for _, s := range sql {
		ours.must(s)
	}
	return q, ours, enter(t, forked(t, q, ours.id))
}

const text = "SELECT convert_from(fs.read_file($1), 'UTF8')"

func TestMerge_cleanChanges(t *testing.T) {
	t.Parallel()
	q, ours, theirs := sides(t, "SELECT fs.write_file('/f', 'f')", "SELECT fs.write_file('/gone', 'x')",
		"SELECT fs.mkdir('/d/e', p_parents => true)",
		"SELECT fs.write_file('/d/in', 'in')", "SELECT fs.write_file('/d/e/low', 'low')",
		"SELECT fs.write_file('/mine', 'm')", "SELECT fs.symlink('f', '/l')",
		"SELECT fs.write_file('/moved', 'moved')")
	for _, s := range []string{
		"SELECT fs.write_file('/f', convert_to(repeat('theirs', 30000), 'UTF8'))", "SELECT fs.rm('/gone')",
		"SELECT fs.mv('/d', '/renamed')",
		"SELECT fs.write_file('/renamed/in', 'changed below')", "SELECT fs.mkdir('/new/sub', p_parents => true)",
		"SELECT fs.write_file('/new/sub/n', 'n', 448)",
		"SELECT fs.rm('/l')", "SELECT fs.symlink('g', '/l')", "SELECT fs.write_file('/moved', 'moved and changed')",
		"SELECT fs.read_file('/mine')",
	} {
		theirs.must(s)
	}
	for _, s := range []string{
		"SELECT fs.write_file('/mine', 'changed here')", "SELECT fs.write_file('/d/added', 'here')",
		"SELECT fs.mv('/moved', '/elsewhere')", "SELECT fs.write_file('/here', 'here')",
	} {
		ours.must(s)
	}
	got := merge(t, q, ours.id, theirs.id, "fail")
	for _, want := range []string{"merged M /f", "merged D /gone", "merged R /renamed", "merged M /renamed/in",
		"merged A /new", "merged A /new/sub/n", "merged M /l", "merged M /elsewhere"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	for path, want := range map[string]string{
		"/mine": "changed here", "/renamed/added": "here", "/renamed/in": "changed below", "/renamed/e/low": "low",
		"/new/sub/n": "n", "/elsewhere": "moved and changed", "/here": "here",
	} {
		wants(ours, want, text, path)
	}
	wants(ours, 180000, "SELECT octet_length(fs.read_file('/f'))")
	wants(ours, "g", "SELECT fs.readlink('/l')")
	wants(ours, int32(448), "SELECT mode FROM fs.stat('/new/sub/n')")
	for _, path := range []string{"/gone", "/d", "/moved"} {
		ours.fails(vfs.ENOENT, "SELECT fs.lstat($1)", path)
	}
	lists(ours, nil, "SELECT f::text FROM fs.fsck() f")
	// Again, there is nothing left to do; and all of it is one step back.
	for _, line := range merge(t, q, ours.id, theirs.id, "fail") {
		if line[:4] != "same" {
			t.Errorf("again: %s", line)
		}
	}
	undo(t, q, ours.id, 1)
	wants(ours, "f", text, "/f")
	wants(ours, "here", text, "/d/added")
	lists(ours, nil, "SELECT f::text FROM fs.fsck() f")
}

func TestMerge_conflicts(t *testing.T) {
	t.Parallel()
	for conflict, want := range map[string][3]string{"fail": {"ours", "o", "left"}, "ours": {"ours", "o", "left"},
		"theirs": {"theirs", "t", "changed there"}} {
		t.Run(conflict, func(t *testing.T) {
			t.Parallel()
			q, ours, theirs := sides(t, "SELECT fs.write_file('/f', 'f')", "SELECT fs.write_file('/kept', 'k')",
				"SELECT fs.write_file('/removed', 'r')", "SELECT fs.write_file('/clean', 'c')",
				"SELECT fs.mkdir('/dir')", "SELECT fs.write_file('/dir/x', 'x')")
			for _, s := range []string{"SELECT fs.write_file('/f', 'theirs')", "SELECT fs.write_file('/both', 't')",
				"SELECT fs.rm('/kept')", "SELECT fs.write_file('/removed', 'changed there')",
				"SELECT fs.write_file('/clean', 'clean')", "SELECT fs.write_file('/dir/y', 'y')"} {
				theirs.must(s)
			}
			for _, s := range []string{"SELECT fs.write_file('/f', 'ours')", "SELECT fs.write_file('/both', 'o')",
				"SELECT fs.write_file('/kept', 'left')", "SELECT fs.rm('/removed')",
				"SELECT fs.rm('/dir', true)"} {
				ours.must(s)
			}
			before := ours.version()
			got := merge(t, q, ours.id, theirs.id, conflict)
			lists(&scope{TB: t, conn: ours.conn}, []string{
				"conflict A /both: added on both sides", "conflict A /dir/y: its directory was deleted here",
				"conflict D /kept: changed here, deleted there",
				"conflict M /f: changed on both sides", "conflict M /removed: deleted here, changed there", "merged M /clean"},
				"SELECT unnest($1::text[])", got)
			wants(ours, want[0], text, "/f")
			wants(ours, want[1], text, "/both")
			if conflict == "theirs" {
				ours.fails(vfs.ENOENT, text, "/kept")
				wants(ours, want[2], text, "/removed")
				wants(ours, "y", text, "/dir/y")
			} else {
				wants(ours, "left", text, "/kept")
				ours.fails(vfs.ENOENT, text, "/removed")
				ours.fails(vfs.ENOENT, text, "/dir/y")
			}
			wants(ours, map[string]string{"fail": "c"}[conflict]+map[string]string{"ours": "clean", "theirs": "clean"}[conflict],
				text, "/clean")
			if conflict == "fail" && ours.version() != before {
				t.Errorf("version %d after a merge that did nothing, was %d", ours.version(), before)
			}
			lists(ours, nil, "SELECT f::text FROM fs.fsck() f")
		})
	}
}

// A trigger of a DBA that refuses a change ends the merge with its error. It was taken for the merge's own way to take
// everything back, and "merged" was told.
func TestMerge_passesOnWhatATriggerRaises(t *testing.T) {
	t.Parallel()
	url := sqltest.Database(t)
	ours, theirs := newScopeIn(t, url), newScopeIn(t, url)
	theirs.must("SELECT fs.write_file('/clean', 'theirs')")
	theirs.must("SELECT fs.write_file('/forbidden', 'theirs')")
	before := ours.version()
	for _, sql := range []string{
		"CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not in this house'; END $$",
		"CREATE TRIGGER refuse BEFORE INSERT ON pgbox.dirent FOR EACH ROW WHEN (NEW.name = 'forbidden') EXECUTE FUNCTION public.refuse()",
	} {
		if _, err := ours.admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, conflict := range []string{"lines", "fail", "ours", "theirs", "markers"} {
		rows, err := ours.conn.Query(t.Context(), "SELECT outcome || ' ' || path FROM fs.merge($1, $2, p_conflict => $3)",
			ours.id, theirs.id, conflict)
		if err != nil {
			t.Fatal(err)
		}
		told, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if pe, ok := errors.AsType[*pgconn.PgError](err); !ok || pe.Code != "P0001" || pe.Message != "not in this house" {
			t.Errorf("%s: the merge told %q, %v", conflict, told, err)
		}
	}
	ours.fails(vfs.ENOENT, text, "/clean")
	if v := ours.version(); v != before {
		t.Errorf("version %d after merges that failed, was %d", v, before)
	}
}

// What one sandbox changed since its image is done in another that has nothing to do with it.
func TestMerge_intoAnUnrelatedSandbox(t *testing.T) {
	t.Parallel()
	q, _, theirs := sides(t, "SELECT fs.mkdir('/d')", "SELECT fs.write_file('/d/f', 'f')")
	theirs.must("SELECT fs.mv('/d', '/e')")
	theirs.must("SELECT fs.write_file('/e/f', 'g')")
	ours := newScope(t)
	ours.must("SELECT fs.mkdir('/d')")
	ours.must("SELECT fs.write_file('/d/f', 'f')")
	ours.must("SELECT fs.write_file('/d/other', 'other')")
	merge(t, q, ours.id, theirs.id, "fail")
	wants(ours, "g", text, "/e/f")
	wants(ours, "other", text, "/e/other")
	lists(ours, nil, "SELECT f::text FROM fs.fsck() f")
}

func TestMerge_isForTheOwner(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	foreign := create(t, q, sqlcgen.CreateSandboxParams{Owner: "somebody else", Name: "n"}).ID
	for _, p := range []sqlcgen.MergeParams{{From: foreign, Conflict: "fail"}, {From: uuid.New(), Conflict: "fail"}} {
		p.Sandbox, p.Base = id, "@base"
		_, err := q.Merge(t.Context(), p)
		wantErrno(t, err, vfs.ENOENT)
	}
	for _, p := range []sqlcgen.MergeParams{{From: id, Conflict: "fail"}, {From: foreign, Conflict: "x"}} {
		p.Sandbox, p.Base = id, "@base"
		_, err := q.Merge(t.Context(), p)
		wantErrno(t, err, vfs.EINVAL)
	}
}

// With markers texts are merged line by line; what both sides changed differently stands between markers, and is told.
func TestMerge_markers(t *testing.T) {
	t.Parallel()
	q, ours, theirs := sides(t, `SELECT fs.write_file('/clean', E'1\n2\n3\n4\n5\n')`,
		`SELECT fs.write_file('/marked', E'1\n2\n3\n4\n5\n6\n')`,
		"SELECT fs.write_file('/end', 'x')", `SELECT fs.write_file('/binary', '\x6100'::bytea)`,
		"SELECT fs.write_file('/removed', 'r')", "SELECT fs.write_file('/empty', '')")
	for _, s := range []string{`SELECT fs.write_file('/clean', E'1\n2\n3\n4\n5\n6\n')`, "SELECT fs.chmod('/clean', 448)",
		`SELECT fs.write_file('/marked', E'1\ntwo\n3\n4\n5\nsix\n')`,
		"SELECT fs.write_file('/end', 'theirs')", `SELECT fs.write_file('/both', E'theirs\n')`,
		`SELECT fs.write_file('/binary', '\x6200'::bytea)`,
		"SELECT fs.write_file('/removed', 'changed there')", `SELECT fs.write_file('/empty', E'theirs\n')`} {
		theirs.must(s)
	}
	for _, s := range []string{`SELECT fs.write_file('/clean', E'one\n2\n4\n5\n')`,
		`SELECT fs.write_file('/marked', E'0\n1\n2\n2b\n3\n4\n5\n')`, `SELECT fs.write_file('/end', E'ours\n')`,
		`SELECT fs.write_file('/both', E'ours\n')`, `SELECT fs.write_file('/binary', '\x6300'::bytea)`,
		"SELECT fs.rm('/removed')"} {
		ours.must(s)
	}
	before := ours.version()
	got := merge(t, q, ours.id, theirs.id, "markers")
	want := []string{
		"conflict A /both: added on both sides, one place marked", "conflict M /binary: changed on both sides",
		"conflict M /end: changed on both sides, one place marked",
		"conflict M /marked: changed on both sides, 2 places marked", "conflict M /removed: deleted here, changed there",
		"merged M /clean: line by line", "merged M /empty",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if v := ours.version(); v != before+1 {
		t.Errorf("version %d, was %d", v, before)
	}
	for path, want := range map[string]string{
		"/clean":  "one\n2\n4\n5\n6\n",
		"/marked": "0\n1\n<<<<<<< ours\n2\n2b\n=======\ntwo\n>>>>>>> theirs\n3\n4\n5\n<<<<<<< ours\n=======\nsix\n>>>>>>> theirs\n", "/end": "<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\n",
		"/both": "<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\n", "/binary": "c\x00",
	} {
		wants(ours, fmt.Sprintf("%x", want), "SELECT encode(fs.read_file($1), 'hex')", path)
	}
	wants(ours, int32(448), "SELECT mode FROM fs.stat('/clean')")
	ours.fails(vfs.ENOENT, text, "/removed")
	lists(ours, nil, "SELECT f::text FROM fs.fsck() f")
	undo(t, q, ours.id, 1)
	wants(ours, "one\n2\n4\n5\n", text, "/clean")
}
