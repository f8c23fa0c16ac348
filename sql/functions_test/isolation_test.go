package functions_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// tables of schema pgbox that hold what belongs to a sandbox, with the condition for the rows of $1.
var tables = map[string]string{
	"sandbox":  "id = $1",
	"layer":    "id IN (SELECT l FROM pgbox.sandbox s, unnest(s.layers[1:cardinality(s.layers) - 1]) l WHERE s.id = $1)",
	"inode":    "layer_id IN (SELECT l FROM pgbox.sandbox s, unnest(s.layers[1:cardinality(s.layers) - 1]) l WHERE s.id = $1)",
	"dirent":   "layer_id IN (SELECT l FROM pgbox.sandbox s, unnest(s.layers[1:cardinality(s.layers) - 1]) l WHERE s.id = $1)",
	"chunk":    "layer_id IN (SELECT l FROM pgbox.sandbox s, unnest(s.layers[1:cardinality(s.layers) - 1]) l WHERE s.id = $1)",
	"kv":       "layer_id IN (SELECT l FROM pgbox.sandbox s, unnest(s.layers[1:cardinality(s.layers) - 1]) l WHERE s.id = $1)",
	"snapshot": "sandbox_id = $1",
	"exec":     "sandbox_id = $1",
	"change":   "sandbox_id = $1",
}

// fingerprint is a hash over all rows of a sandbox in one table, and their number.
func fingerprint(t *testing.T, admin *pgx.Conn, table string, id uuid.UUID) string {
	t.Helper()
	return one[string](t, admin,
		"SELECT count(*) || ' ' || coalesce(md5(string_agg(r::text, '|' ORDER BY r::text)), '') FROM pgbox."+table+
			" r WHERE "+tables[table], id)
}

// tenant makes a sandbox with rows in every table and a file that names it.
func tenant(t *testing.T, pool interface {
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
}, s *scope, mark string) {
	t.Helper()
	s.must("SELECT fs.write_file('/" + mark + "', '" + mark + " content')")
	s.must("SELECT fs.symlink('" + mark + "', '/link-" + mark + "')")
	s.must("SELECT fs.mkdir('/dir-" + mark + "')")
	s.must("SELECT fs.snapshot($1, '"+mark+"')", s.id)
	s.must("SELECT fs.write_file('/dir-" + mark + "/top', '" + mark + " top')")
	s.must("SELECT fs.log_execs(jsonb_build_array($2::jsonb || jsonb_build_object('sandbox_id', $1::uuid)))", s.id,
		map[string]any{
			"route": "test", "caller": mark, "script": mark, "cwd": "/", "read_only": true, "exit_code": 0,
			"started_at":  "2026-01-01T00:00:00Z",
			"duration_us": 1, "stdout_bytes": 0, "stderr_bytes": 0, "stdout_head": "", "stderr_head": "", "version": s.version(),
		})
	s.must("SELECT fs.kv_set($1, $2, '1')", s.id, mark)
}

// calls is one call of every function of fs in the scope of sandbox $1, and what it may answer: a call that needs what
// only the other tenant has is refused.
var calls = map[string]string{
	"append_file":    "SELECT fs.append_file('/mine', 'x')",
	"apply":          "", // through the generated query, below
	"base_layer":     "SELECT fs.base_layer()",
	"changes_since":  "SELECT fs.changes_since($1, 0, 0, 10)",
	"chmod":          "SELECT fs.chmod('/mine', 448)",
	"chown":          "SELECT fs.chown('/mine', 1, 1)",
	"cp":             "SELECT fs.cp('/dir-alpha', '/copy', true)",
	"create_sandbox": "SELECT fs.create_sandbox(NULL, 'test', 'a', 'third', NULL, NULL, NULL, NULL, NULL, NULL)",
	"diff":           "SELECT fs.diff($1)",
	"drop_sandbox":   "SELECT fs.drop_sandbox($1)",
	"drop_snapshot":  "SELECT fs.drop_snapshot($1, id) FROM fs.snapshots($1) LIMIT 1",
	"du":             "SELECT fs.du('/')",
	"errnos":         "SELECT fs.errnos()",
	"expire":         "SELECT fs.expire()",
	"fence":          "SELECT fs.fence($1)",
	"find":           "SELECT fs.find('/')",
	"flatten":        "SELECT fs.flatten($1)",
	"fork":           "SELECT fs.fork($1, NULL, 'fork')",
	"fence_at":       "SELECT fs.fence_at($1, 'alpha')",
	"merge":          "SELECT 1 FROM (VALUES (1)) v LEFT JOIN LATERAL (SELECT m.path FROM fs.fork($1, NULL, NULL) f, fs.merge($1, f.id) m) x ON true",
	"create_image":   "SELECT fs.create_image($1, 'img', p_replace => true)",
	"list_images":    "SELECT fs.create_image($1, 'img', p_replace => true), fs.list_images('tenant-alpha')",
	"tag_image":      "SELECT fs.create_image($1, 'img', p_replace => true), fs.tag_image('tenant-alpha', 'owner-alpha', 'img', 'img', 't')",
	"drop_image":     "SELECT fs.drop_image(i.tenant, i.owner, i.name) FROM fs.create_image($1, 'img', p_replace => true) i",
	"kv_get":         "SELECT fs.kv_get($1, 'alpha')",
	"kv_list":        "SELECT fs.kv_list($1)",
	"kv_set":         "SELECT fs.kv_set($1, 'beta', '2')",
	"kv_delete":      "SELECT fs.kv_delete($1, 'alpha')",
	"read_file_at":   "SELECT fs.read_file_at('/alpha', 'alpha')",
	"tree_at":        "SELECT fs.tree_at('/', 'alpha')",
	"readdir_at":     "SELECT fs.readdir_at('/', 'alpha')",
	"undo":           "SELECT fs.restore($1, 'alpha'), fs.undo($1)",
	"redo":           "SELECT fs.redo($1) FROM (SELECT count(*) FROM fs.restore($1, 'alpha'), fs.undo($1)) u",
	"fsck":           "SELECT fs.fsck()",
	"fsck_all":       "SELECT fs.fsck_all()",
	"fsck_sandbox":   "SELECT fs.fsck_sandbox($1)",
	"repair":         "SELECT fs.repair($1)",
	"gc":             "SELECT fs.gc()",
	"get_sandbox":    "SELECT fs.get_sandbox($1)",
	"housekeep":      "SELECT fs.housekeep()",
	"glob":           "SELECT fs.glob('/**')",
	"blame":          "SELECT fs.blame($1, '/')",
	"history":        "SELECT fs.history($1, '/alpha', 10)",
	"timeline":       "SELECT fs.timeline($1, 10)",
	"prune":          "", // not the gateway's
	"set_quota":      "SELECT fs.set_quota('tenant-alpha', 'owner-alpha', 1000000)",
	"quota":          "SELECT fs.quota('tenant-alpha', 'owner-alpha')",
	"hash_file":      "SELECT fs.hash_file('/alpha')",
	"hash_of":        "SELECT fs.hash_of('alpha')",
	"grep":           "SELECT fs.grep('.*', '/')",
	"link":           "SELECT fs.link('/mine', '/hard')",
	"list_sandboxes": "SELECT fs.list_sandboxes('tenant-alpha', 'owner-alpha')",
	"load_chunks":    "SELECT fs.load_chunks($1, layers[1]) FROM fs.fence($1)",
	"load_dirents":   "SELECT fs.load_dirents($1, layers[1]) FROM fs.fence($1)",
	"load_inodes":    "SELECT fs.load_inodes($1, layers[1]) FROM fs.fence($1)",
	"log_execs":      "SELECT fs.log_execs(jsonb_build_array(jsonb_build_object('sandbox_id', $1::text)))",
	"lstat":          "SELECT fs.lstat('/link-alpha')",
	"missing_blobs":  "SELECT fs.missing_blobs($1, ARRAY[sha256('nowhere')])",
	"mkdir":          "SELECT fs.mkdir('/new/dir', p_parents => true)",
	"mknod":          "SELECT fs.mknod('/pipe', 1::smallint)",
	"mv":             "SELECT fs.mv('/mine', '/mine2'), fs.mv('/mine2', '/mine')",
	"put_blobs":      "SELECT fs.put_blobs($1, ARRAY['uploaded'::bytea])",
	"read_state":     "SELECT fs.read_state($1, NULL)",
	"read_blobs":     "SELECT fs.read_blobs($1, ARRAY[sha256('alpha content')])",
	"read_file":      "SELECT fs.read_file('/alpha')",
	"readdir":        "SELECT fs.readdir('/')",
	"readlink":       "SELECT fs.readlink('/link-alpha')",
	"realpath":       "SELECT fs.realpath('/link-alpha')",
	"resolve":        "SELECT fs.resolve('/alpha')",
	"restore":        "SELECT fs.restore($1, 'alpha')",
	"rm":             "SELECT fs.rm('/dir-alpha', true)",
	"rmdir":          "SELECT fs.rmdir('/empty')",
	"schema":         "SELECT fs.schema()",
	"session":        "SELECT fs.session()",
	"settle":         "SELECT count(*) FROM fs.settle($1, gen_random_uuid())",
	"recall":         "SELECT * FROM fs.recall('tenant-alpha', 'owner-alpha', ARRAY['kept']) RIGHT JOIN (VALUES (1)) v ON true",
	"remember":       "SELECT fs.remember('tenant-alpha', 'owner-alpha', $1::text, sha256('a'), 'alpha')",
	"snapshot":       "SELECT fs.snapshot($1, 'another')",
	"snapshots":      "SELECT fs.snapshots($1)",
	"stat":           "SELECT fs.stat('/alpha')",
	"symlink":        "SELECT fs.symlink('x', '/new-link')",
	"tree":           "SELECT fs.tree()",
	"truncate":       "SELECT fs.truncate('/mine', 3)",
	"unlink":         "SELECT fs.unlink('/link-alpha')",
	"update_sandbox": "SELECT fs.update_sandbox($1, 'renamed', NULL, NULL, NULL, NULL, NULL)",
	"usage":          "SELECT fs.usage($1)",
	"use":            "SELECT fs.use($1)",
	"utimes":         "SELECT fs.utimes('/mine', 5)",
	"write_at":       "SELECT fs.write_at('/mine', 'x', 1)",
	"write_file":     "SELECT fs.write_file('/mine', 'mine')",
}

// Every function, called in the scope of one tenant, shows nothing of the other and changes nothing of it.
func TestIsolationFunctions(t *testing.T) {
	url := sqltest.Database(t)
	admin := sqltest.Connect(t, url)
	for _, f := range functions(t, admin) {
		if _, ok := calls[f.Name]; !ok && f.Schema == "fs" {
			t.Errorf("fs.%s has no call in this test", f.Name)
		}
	}
	conn := sqltest.Connect(t, sqltest.GatewayURL(url))
	open := func(name string) *scope {
		s := &scope{TB: t, conn: conn, admin: admin}
		s.id = get[uuid.UUID](s,
			"SELECT id FROM fs.create_sandbox(NULL, 'tenant-' || $1::text, 'owner-' || $1::text, $1::text, NULL, NULL, NULL, NULL, NULL, NULL)", name)
		s.must("SELECT fs.use($1)", s.id)
		return s
	}
	b := open("beta")
	tenant(t, conn, b, "beta")
	want := make(map[string]string)
	for table := range tables {
		want[table] = fingerprint(t, admin, table, b.id)
		if strings.HasPrefix(want[table], "0 ") {
			t.Errorf("the other tenant has no row in %s", table)
		}
	}
	for name, sql := range calls {
		if sql == "" {
			continue
		}
		a := open("alpha")
		tenant(t, conn, a, "alpha")
		a.must("SELECT fs.write_file('/mine', 'my own')")
		a.must("SELECT fs.mkdir('/empty')")
		var args []any
		if strings.Contains(sql, "$1") {
			args = append(args, a.id)
		}
		rows, err := conn.Query(t.Context(), sql, args...)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		n := 0
		for rows.Next() {
			n++
			for _, v := range rows.RawValues() {
				out.Write(v)
				out.WriteByte(' ')
			}
		}
		if err := rows.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n == 0 && !strings.HasPrefix(name, "fsck") && name != "repair" { // nothing is broken
			t.Errorf("%s: no row", name)
		}
		if strings.Contains(out.String(), "beta") || strings.Contains(out.String(), string(b.id[:])) ||
			strings.Contains(out.String(), b.id.String()) {
			t.Errorf("%s shows the other tenant: %q", name, out.String())
		}
		// What is named like the other tenant's is not there.
		if strings.Contains(sql, "/") && strings.Contains(sql, "alpha'") && !strings.Contains(sql, "$1") {
			a.must("SELECT fs.use($1)", a.id)
			a.fails(vfs.ENOENT, strings.ReplaceAll(sql, "alpha'", "beta'"))
		}
		for table := range tables {
			if got := fingerprint(t, admin, table, b.id); got != want[table] {
				t.Fatalf("%s changed rows of the other tenant in %s", name, table)
			}
		}
	}
}

func code(err error) string {
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pe.Code
	}
	return ""
}

const (
	insufficientPrivilege = "42501"
	noScope               = "VF022"
)

// The gateway's role cannot touch a table or view, nor call a helper, whatever the scope.
func TestIsolationGateway(t *testing.T) {
	s := newScope(t)
	names := list[string](&scope{TB: t, conn: s.admin}, `SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname IN ('pgbox', 'fs') AND c.relkind IN ('r', 'v', 'p') ORDER BY 1`)
	if len(names) < 15 {
		t.Fatalf("only %q", names)
	}
	for _, name := range names {
		statements := []string{"SELECT FROM " + name}
		if strings.HasPrefix(name, "pgbox.") {
			statements = append(statements, "INSERT INTO "+name+" DEFAULT VALUES", "DELETE FROM "+name, "TRUNCATE "+name,
				"COPY "+name+" TO STDOUT")
		}
		for _, sql := range statements {
			if _, err := s.conn.Exec(t.Context(), sql); code(err) != insufficientPrivilege {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
	for _, sql := range []string{
		"SELECT pgbox.enter(true)", "SELECT pgbox.lookup('{}', 1, 'x')", "SET ROLE pgbox_owner", "SET ROLE pgbox_maintainer",
		"CREATE FUNCTION fs.evil() RETURNS int LANGUAGE sql AS 'SELECT 1'", "CREATE TABLE fs.evil ()", "DROP FUNCTION fs.rm",
		"ALTER TABLE pgbox.inode DISABLE ROW LEVEL SECURITY",
	} {
		// A session that a superuser logged in may set any role; what counts is the role's own rights.
		if strings.HasPrefix(sql, "SET ROLE") {
			role := strings.TrimPrefix(sql, "SET ROLE ")
			if one[bool](t, s.admin, "SELECT pg_has_role('pgbox_gateway', $1, 'MEMBER')", role) {
				t.Errorf("the gateway is a member of %s", role)
			}
			continue
		}
		if _, err := s.conn.Exec(t.Context(), sql); code(err) != insufficientPrivilege {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// The owner of tables and functions is bound by the scope: of another sandbox it reads nothing and writes nothing, and
// of its own it writes only the top layer.
func TestIsolationOwner(t *testing.T) {
	a, b := newScope(t), newScope(t)
	tenant(t, a.conn, a, "alpha")
	tenant(t, b.conn, b, "beta")
	layersOf := func(id uuid.UUID) []uuid.UUID {
		return one[[]uuid.UUID](t, a.admin, "SELECT layers FROM pgbox.sandbox WHERE id = $1", id)
	}
	mine, others := layersOf(a.id), layersOf(b.id)
	conn := sqltest.Connect(t, sqltest.RoleURL(sqltest.URL(t), "pgbox_owner"))
	try := func(scoped bool, sql string, args ...any) (int64, error) {
		t.Helper()
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(t.Context()) }()
		if scoped {
			if _, err := tx.Exec(t.Context(), "SELECT set_config('app.sandbox_id', $1, true), pgbox.enter(false)",
				a.id.String()); err != nil {
				t.Fatal(err)
			}
		}
		tag, err := tx.Exec(t.Context(), sql, args...)
		return tag.RowsAffected(), err
	}
	for table := range tables {
		key := "layer_id"
		own, other := any(mine[:len(mine)-1]), any(others[:len(others)-1])
		switch table {
		case "layer":
			key = "id"
		case "sandbox":
			key, own, other = "id", []uuid.UUID{a.id}, []uuid.UUID{b.id}
		case "snapshot", "exec", "change":
			key, own, other = "sandbox_id", []uuid.UUID{a.id}, []uuid.UUID{b.id}
		}
		if n, err := try(true, "SELECT FROM pgbox."+table+" WHERE "+key+" = ANY ($1)", own); err != nil || n == 0 {
			t.Errorf("%s: %d own rows, %v", table, n, err)
		}
		if n, err := try(true, "SELECT FROM pgbox."+table+" WHERE "+key+" = ANY ($1)", other); err != nil || n != 0 {
			t.Errorf("%s: sees %d rows of the other sandbox, %v", table, n, err)
		}
		for _, sql := range []string{"UPDATE pgbox." + table + " SET " + key + " = " + key + " WHERE " + key + " = ANY ($1)",
			"DELETE FROM pgbox." + table + " WHERE " + key + " = ANY ($1)"} {
			if n, err := try(true, sql, other); code(err) != insufficientPrivilege && (err != nil || n != 0) {
				t.Errorf("%s: %d rows, %v", sql, n, err)
			}
		}
		if _, err := try(false, "SELECT FROM pgbox."+table); code(err) != noScope {
			t.Errorf("%s without a scope: %v", table, err)
		}
	}
	for table, row := range map[string]string{
		"inode":  "(layer_id, ino, kind, mode, uid, gid, nlink, mtime, ctime) VALUES ($1, 5000, 8, 0, 0, 0, 1, 0, 0)",
		"dirent": "VALUES ($1, 1, 'evil', 5000)",
		"chunk":  "(layer_id, ino, idx) VALUES ($1, 5000, 0)", "kv": "VALUES ($1, 'evil', '1')",
	} {
		for name, layer := range map[string]uuid.UUID{"the other's top": others[0], "the other's sealed": others[1],
			"own sealed": mine[1], "base": mine[len(mine)-1]} {
			if _, err := try(true, "INSERT INTO pgbox."+table+" "+row, layer); code(err) != insufficientPrivilege {
				t.Errorf("INSERT into %s, layer %s: %v", table, name, err)
			}
			for _, sql := range []string{"UPDATE pgbox." + table + " SET layer_id = layer_id WHERE layer_id = $1",
				"DELETE FROM pgbox." + table + " WHERE layer_id = $1"} {
				if n, err := try(true, sql, layer); err != nil || n != 0 {
					t.Errorf("%s, layer %s: %d rows, %v", sql, name, n, err)
				}
			}
			if _, err := try(true, "UPDATE pgbox."+table+" SET layer_id = $1", layer); code(err) != insufficientPrivilege {
				t.Errorf("%s: moves rows to layer %s: %v", table, name, err)
			}
		}
		if _, err := try(true, "INSERT INTO pgbox."+table+" "+row, mine[0]); err != nil {
			t.Errorf("INSERT into the own top layer of %s: %v", table, err)
		}
	}
}

// Without a scope, in an empty one, in one that is dropped, expired or never was, no verb answers.
func TestIsolationNoScope(t *testing.T) {
	s := newScope(t)
	for name, sql := range calls {
		if sql == "" || strings.Contains(sql, "$1") {
			continue
		}
		switch name {
		case "base_layer", "create_sandbox", "errnos", "expire", "fsck_all", "gc", "hash_of", "housekeep", "list_sandboxes",
			"prune", "quota", "recall", "remember", "schema", "session", "set_quota":
			continue // of no sandbox
		}
		for scope, want := range map[string]vfs.Errno{"": vfs.EINVAL, uuid.NewString(): vfs.ESRCH} {
			s.must("SELECT set_config('app.sandbox_id', $1, false)", scope)
			s.fails(want, sql)
		}
		fresh := sqltest.Connect(t, sqltest.GatewayURL(sqltest.URL(t)))
		if _, err := fresh.Exec(t.Context(), sql); code(err) != noScope {
			t.Errorf("%s in a session without scope: %v", name, err)
		}
		_ = fresh.Close(t.Context())
	}
	for _, sql := range []string{"UPDATE pgbox.sandbox SET expires_at = now() WHERE id = $1",
		"UPDATE pgbox.sandbox SET expires_at = NULL, deleted_at = now() WHERE id = $1"} {
		s.root(sql, s.id)
		s.must("SELECT set_config('app.sandbox_id', $1, false)", s.id.String())
		s.fails(vfs.ESRCH, "SELECT fs.stat('/')")
		s.fails(vfs.ESRCH, "SELECT fs.write_file('/x', 'x')")
	}
}
