package functions_test

import (
	"slices"
	"testing"

	"github.com/pgbox/pgbox/sql/sqltest"
)

// The auditor reads the views of all sandboxes, and can do nothing else.
func TestViews(t *testing.T) {
	// A view looks at every sandbox there is, so this test has a database.
	url := sqltest.Database(t)
	a, b := newScopeIn(t, url), newScopeIn(t, url)
	for _, s := range []*scope{a, b} {
		s.must("SELECT fs.write_file('/f', convert_to('same content of ' || $1, 'UTF8'), 384)", t.Name())
		s.must("SELECT fs.link('/f', '/hard')")
		s.must("SELECT fs.symlink('f', '/l')")
		s.must("SELECT fs.write_file('/gone', 'x')")
		s.stack()
		s.must("SELECT fs.rm('/gone')")
		s.must("SELECT fs.write_file('/big', convert_to(repeat($1, 10000), 'UTF8'))", t.Name())
		s.must("SELECT fs.mv('/f', '/tmp/moved')")
		s.must("SELECT fs.log_execs(jsonb_build_array($2::jsonb || jsonb_build_object('sandbox_id', $1::uuid)))", s.id,
			map[string]any{
				"route": "exec", "caller": "someone", "script": "ls", "cwd": "/", "read_only": true, "exit_code": 3,
				"started_at":  "2026-01-01T00:00:00Z",
				"duration_us": 5, "stdout_bytes": 1, "stderr_bytes": 2, "stdout_head": "o", "stderr_head": "ee",
				"version": s.version(),
			})
	}
	auditor := &scope{TB: t, conn: sqltest.Connect(t, sqltest.RoleURL(url, "pgbox_auditor")), admin: a.admin}

	content := "same content of " + t.Name()
	lists(auditor, []string{
		"/big 8 420 1 90000 content", "/hard 8 384 2 25 sha content", "/l 10 511 1 1 -> f",
		"/tmp/moved 8 384 2 25 sha content",
	}, `SELECT concat_ws(' ', path, kind, mode, nlink, size, '-> ' || target, CASE WHEN content_hash = sha256(convert_to($2, 'UTF8')) THEN 'sha' END,
	           CASE WHEN content_hash IS NOT NULL THEN 'content' END)
	      FROM fs.files WHERE sandbox_id = $1 AND ino >= 1024 ORDER BY path COLLATE "C"`, a.id, content)
	// The view agrees with the verbs, for every path.
	const row = "concat_ws(' ', path, ino, kind, mode, uid, gid, nlink, size, target)"
	got := list[string](auditor, "SELECT "+row+" FROM fs.files WHERE sandbox_id = $1 AND path <> '/'", a.id)
	want := list[string](a, "SELECT "+row+" FROM fs.tree()")
	slices.Sort(got)
	slices.Sort(want)
	if len(want) < 50 || !slices.Equal(got, want) {
		t.Errorf("fs.files: %d rows, fs.tree: %d rows, or they differ", len(got), len(want))
	}
	wants(auditor, 2,
		"SELECT count(DISTINCT sandbox_id)::int FROM fs.files WHERE sandbox_id IN ($1, $2) AND path = '/tmp/moved'", a.id,
		b.id)
	wants(auditor, true,
		"SELECT abs(extract(epoch FROM modified_at - clock_timestamp())) < 3600 FROM fs.files WHERE sandbox_id = $1 AND path = '/big'", a.id)

	wants(auditor, "2 2 25 25",
		"SELECT concat_ws(' ', files, sandboxes, size, saved_bytes) FROM fs.duplicates WHERE content_hash = (SELECT content_hash FROM fs.files WHERE sandbox_id = $1 AND path = '/hard')", a.id)

	wants(auditor, "exec someone ls 3 false",
		"SELECT concat_ws(' ', route, caller, script, exit_code, committed::text) FROM fs.execs WHERE sandbox_id = $1", a.id)

	lists(auditor, []string{"create /f", "link /f /hard", "symlink /l f", "create /gone", "remove /gone", "create /big",
		"rename /f /tmp/moved"},
		"SELECT concat_ws(' ', op, path, path_to) FROM fs.changes WHERE sandbox_id = $1 AND exec_id IS NULL ORDER BY version, seq", a.id)

	wants(auditor, "90025 3 3",
		"SELECT concat_ws(' ', used_bytes, used_inodes, layer_count) FROM fs.usage WHERE sandbox_id = $1", a.id)
	a.root("UPDATE pgbox.sandbox SET deleted_at = now() WHERE id = $1", a.id)
	wants(auditor, 0, "SELECT count(*)::int FROM fs.usage WHERE sandbox_id = $1", a.id)
	wants(auditor, 0, "SELECT count(*)::int FROM fs.files WHERE sandbox_id = $1", a.id)
	wants(auditor, 7, "SELECT count(*)::int FROM fs.changes WHERE sandbox_id = $1", a.id) // the log stays

	for _, name := range []string{"entry", "grep_match", "disk_usage", "fault", "last_write"} {
		wants(auditor, 0, "SELECT count(*)::int FROM fs."+name)
	}
	for _, sql := range []string{"SELECT fs.rm('/')", "SELECT fs.use('" + b.id.String() + "')",
		"DELETE FROM pgbox.sandbox", "UPDATE pgbox.inode SET mode = 0", "INSERT INTO pgbox.layer DEFAULT VALUES"} {
		if _, err := auditor.conn.Exec(t.Context(), sql); code(err) != insufficientPrivilege {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
