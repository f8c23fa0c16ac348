package functions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

// A batch holds runs of any sandboxes, may come twice, and changes no sandbox.
func TestLogExecs(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	a, b := sqltest.Sandbox(t, pool), sqltest.Sandbox(t, pool)
	id := uuid.New()
	batch := fmt.Appendf(nil, `[{"id":%q,"sandbox_id":%q,"script":"ls","read_only":true,"exit_code":0,"error":"EXEC_TIMEOUT","idempotency_key":"k","tenant":"t"},
		{"sandbox_id":%q,"script":"id"},{"sandbox_id":%q,"script":"of no sandbox"}]`, id, a, b, uuid.New())
	if n := must[int64](t)(q.LogExecs(t.Context(), batch)); n != 2 {
		t.Errorf("%d rows", n)
	}
	if n := must[int64](t)(q.LogExecs(t.Context(), fmt.Appendf(nil, `[{"id":%q,"sandbox_id":%q,"script":"other"}]`, id,
		a))); n != 0 {
		t.Errorf("%d rows of a batch that is sent again", n)
	}
	owner := sqltest.Owner(t)
	if got := one[string](t, owner,
		"SELECT concat_ws(' ', script, read_only, exit_code, error, idempotency_key, tenant, version_before, version_after, committed) FROM pgbox.exec WHERE id = $1 AND sandbox_id = $2", id, a); got != "ls t 0 EXEC_TIMEOUT k t 0 0 f" {
		t.Errorf("row %q", got)
	}
	if f := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), a)); f.Version != 0 {
		t.Errorf("version %d", f.Version)
	}
}

// What was logged can be changed by nobody, and removed by the maintainer's functions only.
func TestLogsAreInsertOnly(t *testing.T) {
	t.Parallel()
	s := newScope(t)
	tenant(t, s.conn, s, "logged")
	for _, role := range []string{"pgbox_gateway", "pgbox_owner", "pgbox_maintainer", "pgbox_auditor", "pgbox_dump"} {
		conn := sqltest.Connect(t, sqltest.RoleURL(sqltest.URL(t), role))
		if _, err := conn.Exec(t.Context(), "SELECT set_config('app.sandbox_id', $1, false)", s.id.String()); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"exec", "change"} {
			for _, sql := range []string{
				"UPDATE pgbox." + table + " SET sandbox_id = sandbox_id WHERE sandbox_id = $1",
				"DELETE FROM pgbox." + table + " WHERE sandbox_id = $1",
				"TRUNCATE pgbox." + table,
			} {
				var args []any
				if strings.Contains(sql, "$1") {
					args = append(args, s.id)
				}
				tx, err := conn.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				_, err = tx.Exec(t.Context(), sql, args...)
				_ = tx.Rollback(t.Context())
				may := role == "pgbox_maintainer" && strings.HasPrefix(sql, "DELETE")
				if may && err != nil || !may && code(err) != insufficientPrivilege {
					t.Errorf("%s: %s: %v", role, sql, err)
				}
			}
		}
	}
}

const journalRow = `SELECT concat_ws(' ', op, path, path_to, coalesce(size_before::text, '-'), coalesce(size_after::text, '-'),
	CASE WHEN hash_before IS NULL THEN '-' WHEN hash_before = sha256('one') THEN 'one' WHEN hash_before = sha256('onetwo') THEN 'onetwo' WHEN hash_before = sha256('') THEN 'empty' ELSE 'other' END,
	CASE WHEN hash_after IS NULL THEN '-' WHEN hash_after = sha256('one') THEN 'one' WHEN hash_after = sha256('onetwo') THEN 'onetwo' WHEN hash_after = sha256('') THEN 'empty' ELSE 'other' END)
	FROM pgbox.change WHERE sandbox_id = $1 ORDER BY version, seq`

// Whoever changes a file with plain SQL leaves what it held before and after.
func TestJournal_contentOfVerbs(t *testing.T) {
	t.Parallel()
	s := newScope(t)
	for _, sql := range []string{
		"SELECT fs.mkdir('/d/e', p_parents => true)", "SELECT fs.write_file('/d/f', 'one')",
		"SELECT fs.append_file('/d/f', 'two')",
		"SELECT fs.chmod('/d/f', 384)", "SELECT fs.truncate('/d/f', 3)", "SELECT fs.write_at('/d/f', 'x', 5)",
		"SELECT fs.write_file('/d/f', '')",
		"SELECT fs.cp('/d/f', '/d/g')", "SELECT fs.write_file('/d/g', 'one')", "SELECT fs.cp('/d/g', '/d/f')",
		"SELECT fs.mv('/d/g', '/d/e/g')",
		"SELECT fs.symlink('f', '/d/l')", "SELECT fs.cp('/d', '/c', true)", "SELECT fs.unlink('/d/f')",
		"SELECT fs.rm('/d', true)",
	} {
		s.must(sql)
		s.stack() // the next one stands on sealed layers
	}
	want := []string{
		"mkdir /d - - - -", "mkdir /d/e - - - -", "create /d/f - 3 - one", "write /d/f 3 6 one onetwo",
		"chmod /d/f 6 6 onetwo onetwo", "truncate /d/f 6 3 onetwo one", "write /d/f 3 6 one other",
		"write /d/f 6 0 other empty",
		"create /d/g - 0 - empty", "write /d/g 0 3 empty one", "write /d/f 0 3 empty one", "rename /d/g /d/e/g 3 3 one one",
		"symlink /d/l f - - - -",
		"mkdir /c/e - - - -", "create /c/f - 3 - one", "symlink /c/l f - - - -", "create /c/e/g - 3 - one",
		"copy /d /c - - - -",
		"unlink /d/f 3 - one -", "remove /d/e/g 3 - one -", "remove /d/e - - - -", "remove /d/l - - - -", "remove /d - - - -",
	}
	if got := list[string](&scope{TB: t, conn: s.admin}, journalRow, s.id); !slices.Equal(got, want) {
		t.Errorf("journal\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// One definition of the hash of a content: in the view, in the functions, in the journal.
func TestContentHash(t *testing.T) {
	t.Parallel()
	s := newScope(t)
	for _, size := range []int{0, 1, 65535, 65536, 65537, 200000} {
		path := fmt.Sprintf("/f%d", size)
		s.must("SELECT fs.write_file($1, convert_to(repeat('x', $2), 'UTF8'))", path, size)
		want := get[[]byte](s, "SELECT fs.hash_of(convert_to(repeat('x', $1), 'UTF8'))", size)
		for what, got := range map[string][]byte{
			"hash_file": get[[]byte](s, "SELECT fs.hash_file($1)", path),
			"view": one[[]byte](t, s.admin, "SELECT content_hash FROM fs.files WHERE sandbox_id = $1 AND path = $2", s.id,
				path),
			"journal": one[[]byte](t, s.admin, "SELECT hash_after FROM fs.changes WHERE sandbox_id = $1 AND path = $2", s.id,
				path),
		} {
			if !slices.Equal(got, want) {
				t.Errorf("%s of %d bytes: %x, want %x", what, size, got, want)
			}
		}
		if size <= 65536 && !slices.Equal(want, hash([]byte(strings.Repeat("x", size)))) {
			t.Errorf("%d bytes: not the SHA-256 of the content", size)
		}
	}
	// A hole is no chunk; where it is counts, and how long the file is.
	s.must("SELECT fs.write_file('/hole', ''), fs.truncate('/hole', 70000)")
	s.must("SELECT fs.write_file('/longer', ''), fs.truncate('/longer', 70001)")
	if get[bool](s, "SELECT fs.hash_file('/hole') = fs.hash_file('/longer')") {
		t.Error("two sizes have one hash")
	}
	s.fails(vfs.EISDIR, "SELECT fs.hash_file('/')")
	s.fails(vfs.ENOENT, "SELECT fs.hash_file('/nowhere')")
	// Beyond 64 MiB there is none.
	s.must("SELECT fs.truncate('/hole', 67108865)")
	if !get[bool](s, "SELECT fs.hash_file('/hole') IS NULL") {
		t.Error("a large file has a hash")
	}
}

// A sandbox without a journal writes none, whoever changes it, and counts its versions all the same.
func TestJournal_off(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	s := newScope(t)
	off, on := false, true
	if u := must[sqlcgen.FsSandbox](t)(q.UpdateSandbox(t.Context(),
		sqlcgen.UpdateSandboxParams{Sandbox: s.id, Journal: &off})); u.Journal {
		t.Error("the switch is still on")
	}
	for _, sql := range []string{"SELECT fs.write_file('/f', 'one')", "SELECT fs.write_file('/f', 'onetwo')",
		"SELECT fs.cp('/f', '/g')", "SELECT fs.mkdir('/d')", "SELECT fs.cp('/d', '/e', true)", "SELECT fs.rm('/d', true)"} {
		s.must(sql)
	}
	write(t, sqlcgen.New(pool), s.id, "applied", "by apply")
	if n := one[int](t, s.admin, "SELECT count(*)::int FROM pgbox.change WHERE sandbox_id = $1", s.id); n != 0 {
		t.Errorf("%d rows", n)
	}
	if v := s.version(); v != 7 {
		t.Errorf("version %d", v)
	}
	must[sqlcgen.FsSandbox](t)(q.UpdateSandbox(t.Context(), sqlcgen.UpdateSandboxParams{Sandbox: s.id, Journal: &on}))
	s.must("SELECT fs.unlink('/f')")
	if got := list[string](&scope{TB: t, conn: s.admin}, journalRow, s.id); !slices.Equal(got,
		[]string{"unlink /f 6 - onetwo -"}) {
		t.Errorf("journal %q", got)
	}
}
