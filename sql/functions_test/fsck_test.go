package functions_test

import (
	"context"
	neturl "net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/sql/sqltest"
)

// Each invariant is broken by hand, on a chain of three layers, and fsck must name it.
func TestFsck(t *testing.T) {
	const layers = "(SELECT layers FROM pgbox.sandbox WHERE id = $1)"
	const top = "(SELECT layers[1] FROM pgbox.sandbox WHERE id = $1)"
	// inodes of the tree below
	const d, sub, f, big, hard = "1024", "1025", "1026", "1027", "1028"
	upsertInode := func(ino, column, value string) string {
		return `INSERT INTO pgbox.inode (layer_id, ino, kind, mode, uid, gid, nlink, rdev, size, mtime, ctime, target)
			SELECT ` + top + `, ino, kind, mode, uid, gid, nlink, rdev, size, mtime, ctime, target FROM pgbox.inode
			 WHERE layer_id = ANY (` + layers + `::uuid[]) AND ino = ` + ino + ` ORDER BY array_position(` + layers + `, layer_id) LIMIT 1
			ON CONFLICT (layer_id, ino) DO NOTHING;
			UPDATE pgbox.inode SET ` + column + ` = ` + value + ` WHERE layer_id = ` + top + ` AND ino = ` + ino
	}
	name := func(parent, name, ino string) string {
		return "INSERT INTO pgbox.dirent VALUES (" + top + ", " + parent + ", '" + name + "', " + ino +
			") ON CONFLICT (layer_id, parent_ino, name) DO UPDATE SET ino = excluded.ino"
	}
	chunk := func(ino, idx, sha string) string {
		return "INSERT INTO pgbox.chunk VALUES (" + top + ", " + ino + ", " + idx + ", " + sha +
			") ON CONFLICT (layer_id, ino, idx) DO UPDATE SET sha256 = excluded.sha256"
	}
	const abc = "sha256('abc')" // the content of /d/f
	// What fs.repair leaves: it would have to guess, or throw away.
	hopeless := []string{"missing_layer", "repeated_layer", "missing_root", "cycle", "directory_names", "chunk_length",
		"missing_blob"}
	for _, c := range []struct {
		name string
		sql  string   // statements; $1 is the sandbox
		want []string // check:ino
	}{
		{"missing layer", "UPDATE pgbox.sandbox SET layers = layers || gen_random_uuid() WHERE id = $1",
			[]string{"missing_layer:"}},
		{"sealed top", "UPDATE pgbox.layer SET sealed_at = now() WHERE id = " + top, []string{"sealed_top:"}},
		{"unsealed layer",
			"UPDATE pgbox.layer SET sealed_at = NULL WHERE id = (SELECT layers[2] FROM pgbox.sandbox WHERE id = $1)",
			[]string{"unsealed_layer:"}},
		{"repeated layer", "UPDATE pgbox.sandbox SET layers = layers || layers[2] WHERE id = $1",
			[]string{"repeated_layer:", "repeated_layer:"}},
		{"root gone", "INSERT INTO pgbox.inode (layer_id, ino, kind, mode, uid, gid, nlink, mtime, ctime) VALUES (" + top +
			", 1, 0, 0, 0, 0, 0, 0, 0) ON CONFLICT (layer_id, ino) DO UPDATE SET kind = 0",
			[]string{"missing_root:1", "orphan_dirent:" + d, "orphan_dirent:" + big, "orphan_dirent:" + hard}},
		{"inode gone", upsertInode(hard, "kind", "0") + ";" +
			"UPDATE pgbox.sandbox SET used_inodes = used_inodes - 1, used_bytes = used_bytes - 4 WHERE id = $1",
			[]string{"dangling_dirent:" + hard}},
		{"name gone", name(d, "f", "NULL"), []string{"nlink:" + f, "unreachable_inode:" + f}},
		{"name in a file", name(f, "x", hard), []string{"nlink:" + hard, "orphan_dirent:" + hard}},
		{"second name", name("1", "x", hard), []string{"nlink:" + hard}},
		{"nlink of a file", upsertInode(f, "nlink", "7"), []string{"nlink:" + f}},
		{"nlink of a directory", upsertInode(d, "nlink", "2"), []string{"nlink:" + d}},
		{"directory with two names", name("1", "again", sub) + ";" + upsertInode("1", "nlink", "nlink + 1"),
			[]string{"directory_names:" + sub}},
		{"cycle", name("1", "d", "NULL") + ";" + name(sub, "loop", d) + ";" + upsertInode("1", "nlink", "nlink - 1") + ";" +
			upsertInode(sub, "nlink", "3"),
			[]string{"cycle:" + d, "cycle:" + sub, "unreachable_inode:" + d, "unreachable_inode:" + sub,
				"unreachable_inode:" + f}},
		{"cycle below the root", name(sub, "loop", d) + ";" + upsertInode(sub, "nlink", "3"),
			[]string{"cycle:" + d, "directory_names:" + d}},
		{"cycle with the root", name(sub, "loop", "1") + ";" + upsertInode(sub, "nlink", "3"), []string{"cycle:1"}},
		{"next_ino", "UPDATE pgbox.sandbox SET next_ino = 1028 WHERE id = $1", []string{"next_ino:1028"}},
		{"next_ino in the base layer", "UPDATE pgbox.sandbox SET next_ino = 1 WHERE id = $1", []string{"next_ino:1028"}},
		{"used_bytes", "UPDATE pgbox.sandbox SET used_bytes = used_bytes + 1 WHERE id = $1", []string{"used_bytes:"}},
		{"used_inodes", "UPDATE pgbox.sandbox SET used_inodes = used_inodes + 1 WHERE id = $1", []string{"used_inodes:"}},
		{"size", upsertInode(hard, "size", "5"), []string{"chunk_length:" + hard, "used_bytes:"}},
		{"chunk of a directory", chunk(sub, "0", abc), []string{"orphan_chunk:" + sub}},
		{"chunk of nothing", chunk("5000", "0", abc), []string{"orphan_chunk:5000"}},
		{"chunk past the end", chunk(f, "1", abc), []string{"chunk_past_end:" + f}},
		{"short chunk", chunk(big, "0", abc), []string{"chunk_length:" + big}},
		{"short last chunk", chunk(big, "2", abc), []string{"chunk_length:" + big}},
		{"blob missing", chunk(f, "0", "sha256('never stored')"), []string{"missing_blob:" + f}},
		{"hole", chunk(big, "1", "NULL"), nil},
		{"nothing", "SELECT 1 WHERE $1::uuid IS NOT NULL", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScope(t)
			if c.want != nil {
				sqltest.Broken(s.id)
			}
			s.must("SELECT fs.mkdir('/d')")
			s.must("SELECT fs.mkdir('/d/sub')")
			s.must("SELECT fs.write_file('/d/f', 'abc')")
			s.stack()
			s.must("SELECT fs.write_file('/big', convert_to(repeat('b', 140000), 'UTF8'))")
			s.must("SELECT fs.write_file('/hard', 'hard')")
			s.stack()
			s.must("SELECT fs.write_file('/tmp/gone', 'gone')")
			s.must("SELECT fs.rm('/tmp/gone')")
			s.root("UPDATE pgbox.sandbox SET next_ino = 1029 WHERE id = $1", s.id)
			s.must("SELECT fs.append_file('/big', 'b')")
			for _, sql := range strings.Split(c.sql, ";") {
				s.root(sql, s.id)
			}
			slices.Sort(c.want)
			got := list[string](s,
				"SELECT check_name || ':' || coalesce(ino::text, '') FROM fs.fsck() WHERE sandbox_id = $1 AND coalesce(ino NOT BETWEEN 2 AND 1023, true)", s.id)
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}

			mends := slices.ContainsFunc(c.want, func(f string) bool {
				check, _, _ := strings.Cut(f, ":")
				return !slices.Contains(hopeless, check)
			}) &&
				!strings.HasPrefix(c.name, "cycle") && c.name != "root gone"
			before := s.version()
			mended := list[string](s, "SELECT check_name || ':' || coalesce(ino::text, '') FROM fs.repair($1)", s.id)
			if mends != (len(mended) > 0) || mends != (s.version() == before+1) {
				t.Errorf("mended %q, version %d, was %d", mended, s.version(), before)
			}
			for _, f := range list[string](s, "SELECT check_name || ':' || coalesce(ino::text, '') FROM fs.fsck()") {
				check, _, _ := strings.Cut(f, ":")
				if mends && !slices.Contains(hopeless, check) || slices.Contains(mended, f) {
					t.Errorf("%s is left", f)
				}
			}
			lists(s, nil, "SELECT check_name FROM fs.repair($1)", s.id)
			if c.name == "name gone" {
				wants(s, "abc", "SELECT convert_from(fs.read_file('/lost+found/#1026'), 'UTF8')")
				wants(s, "mkdir /lost+found,link /lost+found/#1026",
					"SELECT string_agg(op || ' ' || path, ',' ORDER BY seq) FROM fs.changes_since($1, $2, 1 << 30, 9)", s.id, before)
			}
			if mends {
				s.must("SELECT fs.write_file('/after', 'after')")
			}
		})
	}
}

// A directory that lost its name comes back with all that is in it, from sealed layers too.
func TestRepair_ofALostTree(t *testing.T) {
	t.Parallel()
	s := newScope(t)
	s.must("SELECT fs.mkdir('/d/sub', p_parents => true)")
	s.must("SELECT fs.write_file('/d/sub/f', 'f')")
	s.stack()
	s.root("INSERT INTO pgbox.dirent SELECT layers[1], 1, 'd', NULL FROM pgbox.sandbox WHERE id = $1", s.id)
	s.root("UPDATE pgbox.sandbox SET used_bytes = 7, used_inodes = 0 WHERE id = $1", s.id)
	wants(s, int64(6), "SELECT count(*) FROM fs.fsck()")
	wants(s, int64(6), "SELECT count(*) FROM fs.fsck_sandbox($1)", s.id)
	s.must("SELECT fs.repair($1)", s.id)
	lists(s, nil, "SELECT f::text FROM fs.fsck() f")
	wants(s, "f", "SELECT convert_from(fs.read_file('/lost+found/#1024/sub/f'), 'UTF8')")
	wants(s, int64(4), "SELECT used_inodes FROM fs.usage($1)", s.id)
	s.must("SELECT fs.mv('/lost+found/#1024', '/d')")
	lists(s, nil, "SELECT f::text FROM fs.fsck() f")
}

// Content whose hash does not match: in a database of its own, because blobs are shared.
func TestFsckContent(t *testing.T) {
	url := sqltest.Database(t)
	pool, err := sqltest.NewPool(t.Context(), sqltest.GatewayURL(url))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	id := sqltest.Sandbox(t, pool)
	sqltest.Broken(id)
	s := &scope{TB: t, id: id, conn: sqltest.Connect(t, sqltest.GatewayURL(url)), admin: sqltest.Connect(t, url)}
	s.must("SELECT fs.use($1)", id)
	s.must("SELECT fs.write_file('/f', 'abc')")
	lists(s, nil, "SELECT check_name FROM fs.fsck()")
	s.root("UPDATE pgbox.blob SET data = 'abd' WHERE sha256 = sha256('abc')")
	lists(s, []string{"corrupt_blob"}, "SELECT check_name FROM fs.fsck()")
	s.root("DELETE FROM pgbox.blob WHERE sha256 = sha256('abc')")
	lists(s, []string{"missing_blob"}, "SELECT check_name FROM fs.fsck()")
	if e := s.errno("SELECT fs.read_file('/f')"); e != 5 {
		t.Errorf("reading lost content: errno %d", e)
	}
}

// fsck_all looks at every living sandbox and leaves the scope as it was; on a schedule one does it, and not more often
// than asked.
func TestFsckAll(t *testing.T) {
	url := sqltest.Database(t)
	admin := sqltest.Connect(t, url)
	pool, err := sqltest.NewPool(t.Context(), sqltest.GatewayURL(url))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	a, b := sqltest.Sandbox(t, pool), sqltest.Sandbox(t, pool)
	const sql = "SELECT count(*)::int FROM fs.fsck_all()"
	if n := one[int](t, admin, sql); n != 0 {
		t.Errorf("%d faults in new sandboxes", n)
	}
	sqltest.Broken(b)
	if _, err := admin.Exec(t.Context(), "UPDATE pgbox.sandbox SET used_bytes = 1 WHERE id = $1", b); err != nil {
		t.Fatal(err)
	}
	if got := one[string](t, admin, "SELECT sandbox_id || ' ' || check_name FROM fs.fsck_all()"); got != b.String()+
		" used_bytes" {
		t.Error(got)
	}
	// The login of a gateway is told that something is broken, and nothing about the sandbox that it is.
	login := "gateway_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	if _, err := admin.Exec(t.Context(), "CREATE ROLE "+login+" LOGIN PASSWORD 'p' IN ROLE pgbox_gateway"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = admin.Exec(context.Background(), "DROP ROLE "+login) })
	serving, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	serving.User = neturl.UserPassword(login, "p")
	if got := one[string](t, sqltest.Connect(t, serving.String()),
		"SELECT f::text FROM fs.fsck_all() f"); got != `(,used_bytes,,"where is told to members of pgbox_auditor",,,,)` {
		t.Error(got)
	}
	if _, err := admin.Exec(t.Context(), "UPDATE pgbox.sandbox SET expires_at = now() WHERE id = $1", b); err != nil {
		t.Fatal(err)
	}
	one[int](t, admin, "SELECT count(*)::int FROM fs.use($1)", a)
	if n := one[int](t, admin, sql); n != 0 {
		t.Errorf("%d faults in an expired sandbox", n)
	}

	if _, err := admin.Exec(t.Context(), "UPDATE pgbox.sandbox SET expires_at = NULL WHERE id = $1", b); err != nil {
		t.Fatal(err)
	}
	const due = "SELECT count(*)::int FROM fs.fsck_all('1 hour')"
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	var n int
	if err := tx.QueryRow(t.Context(), due).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d faults, %v", n, err)
	}
	if n := one[int](t, admin, due); n != 0 {
		t.Error("two of them at once")
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := one[int](t, admin, due); n != 0 {
		t.Error("again within the hour")
	}
	if n := one[int](t, admin, "SELECT count(*)::int FROM fs.fsck_all('0')"); n != 1 {
		t.Errorf("%d faults after the hour", n)
	}
}
