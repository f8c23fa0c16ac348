package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/gateway/devdb"
	"github.com/pgbox/pgbox/sql/migrate"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// portable makes a sandbox with everything that a dump has to carry, beside another one, and returns its id.
func portable(t *testing.T, u string) uuid.UUID {
	t.Helper()
	conn := sqltest.Connect(t, sqltest.GatewayURL(u))
	must := func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	var id uuid.UUID
	for _, name := range []string{"foreign", "it's \\ \"wanted\""} {
		if err := conn.QueryRow(t.Context(),
			"SELECT id FROM fs.create_sandbox(NULL, 'test', 'owner', $1, NULL, NULL, NULL, NULL, NULL, NULL)",
			name).Scan(&id); err != nil {
			t.Fatal(err)
		}
		must("SELECT fs.use($1)", id)
		must("SELECT fs.write_file('/' || $1, convert_to($2, 'UTF8'))", "quote'd \\ ;\n(name)", "content of "+name)
		must("SELECT fs.write_file('/' || $1 || '.txt', convert_to($2, 'UTF8'))", id.String(), "a name that looks like an id")
		must("SELECT fs.write_file('/big', convert_to(repeat($1, 30000), 'UTF8'))", name)
		must("SELECT fs.kv_set($1, 'key', $2)", id, `{"it's": ["a;", "\\", null]}`)
		must("SELECT fs.snapshot($1, 'before; ''that')", id)
		must("SELECT fs.append_file('/big', 'x'), fs.symlink('big', '/l'), fs.link('/big', '/hard')")
		must("SELECT fs.log_execs(jsonb_build_array(jsonb_build_object('sandbox_id', $1::text, 'script', $2::text)))",
			id.String(), "echo 'a;'\n-- INSERT INTO x (\n\\. "+id.String()+"\n);\nCOMMIT;\n")
	}
	return id
}

func exported(t *testing.T, u string, id uuid.UUID) string {
	t.Helper()
	var out bytes.Buffer
	if err := export(t.Context(), u, id, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// psql restores a dump by hand.
func psql(t *testing.T, u, dump string) (string, error) {
	t.Helper()
	cmd := exec.Command("psql", "-X", "-q", "-d", u)
	cmd.Stdin = strings.NewReader(dump)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func ask[T any](t *testing.T, u, sql string, args ...any) (v T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

const digestOf = "SELECT pgbox.digest_sandbox($1)"

// The counts are those of tables, and each kind of row weighs in the hash.
func TestExport_digest(t *testing.T) {
	t.Parallel()
	u := sqltest.Database(t)
	id := portable(t, u)
	sqltest.Broken(id)
	digest := ask[string](t, u, digestOf, id)
	if want := ask[string](t, u, `SELECT format('%s chunks, %s contents, %s inodes, 1 keys, 3 layers, %s names, %s operations, 4 runs, 1 sandboxes, 1 snapshots, ',
		(SELECT count(*) FROM pgbox.chunk WHERE layer_id = ANY (s.layers)), (SELECT count(DISTINCT sha256) FROM pgbox.chunk WHERE layer_id = ANY (s.layers)),
		(SELECT count(*) FROM pgbox.inode WHERE layer_id = ANY (s.layers)), (SELECT count(*) FROM pgbox.dirent WHERE layer_id = ANY (s.layers)),
		(SELECT count(*) FROM pgbox.change c WHERE c.sandbox_id = s.id)) FROM pgbox.sandbox s WHERE id = $1`, id); !strings.HasPrefix(digest, want) {
		t.Errorf("%s, want %s…", digest, want)
	}
	for _, sql := range []string{
		"UPDATE pgbox.inode SET mode = 1 WHERE layer_id = ANY (v_layers)",
		"UPDATE pgbox.dirent SET name = 'other' WHERE layer_id = v_layers[2] AND name = 'big'",
		"UPDATE pgbox.chunk SET idx = idx + 10 WHERE layer_id = v_layers[2]",
		"UPDATE pgbox.blob SET data = 'xx', size = 2, base = NULL", "UPDATE pgbox.kv SET value = '1'",
		"UPDATE pgbox.snapshot SET version = 99", "UPDATE pgbox.exec SET script = 'x'", "UPDATE pgbox.change SET path = 'x'",
		"UPDATE pgbox.sandbox SET name = 'x'",
		"UPDATE pgbox.layer SET sealed_at = NULL", "DELETE FROM pgbox.exec", "DELETE FROM pgbox.layer WHERE id = v_layers[3]",
	} {
		conn := sqltest.Connect(t, u)
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "DO $$ DECLARE v_layers uuid[] := (SELECT layers FROM pgbox.sandbox WHERE id = '"+
			id.String()+"'); BEGIN "+sql+"; END $$"); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		var got string
		if err := tx.QueryRow(t.Context(), digestOf, id).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got == digest {
			t.Errorf("%s makes no difference", sql)
		}
		_ = tx.Rollback(t.Context())
	}
	// A column that is forgotten would be lost unseen.
	if missing := ask[[]string](t, u, `SELECT coalesce(array_agg(c.relname || '.' || a.attname), '{}')
		  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		 WHERE c.oid = ANY (ARRAY['pgbox.sandbox', 'pgbox.snapshot', 'pgbox.inode', 'pgbox.dirent', 'pgbox.chunk', 'pgbox.kv', 'pgbox.exec', 'pgbox.change']::regclass[])
		   AND a.attnum > 0 AND NOT a.attisdropped
		   AND pg_get_functiondef('pgbox.digest_sandbox(uuid)'::regprocedure) !~ ('\m' || CASE c.relname WHEN 'change' THEN 'c' WHEN 'exec' THEN 'e' WHEN 'kv' THEN 'k' WHEN 'snapshot' THEN 'n' ELSE left(c.relname, 1) END || '\.' || a.attname || '\M')
		   AND NOT (c.relname IN ('exec', 'snapshot') AND a.attname = 'id')`); len(missing) > 0 {
		t.Errorf("columns that the digest does not know: %q", missing)
	}
}

func TestExport_restoresElsewhere(t *testing.T) {
	t.Parallel()
	source := sqltest.Database(t)
	id := portable(t, source)
	dump := exported(t, source, id)
	if strings.Contains(dump, "foreign") || strings.Contains(dump, fmt.Sprintf("%x", "content of foreign")) ||
		!strings.Contains(dump, fmt.Sprintf("%x", "content of it's")) {
		t.Error("the dump holds another sandbox")
	}
	want := ask[string](t, source, digestOf, id)
	for name, restoring := range map[string]func(u string) error{
		"psql": func(u string) error {
			out, err := psql(t, u, dump)
			if err != nil {
				t.Log(out)
			}
			return err
		},
		"import": func(u string) error {
			got, err := restore(t.Context(), u, strings.NewReader(dump), "")
			if err == nil && got != id {
				t.Errorf("restored %s", got)
			}
			return err
		},
	} {
		target := sqltest.Database(t)
		other := portable(t, target) // others live there
		before := ask[string](t, target, digestOf, other)
		if err := restoring(target); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := ask[string](t, target, digestOf, id); got != want {
			t.Errorf("%s: source %s\ntarget %s", name, want, got)
		}
		if ask[uuid.UUID](t, target, "SELECT layers[1] FROM pgbox.sandbox WHERE id = $1", id) == ask[uuid.UUID](t, source,
			"SELECT layers[1] FROM pgbox.sandbox WHERE id = $1", id) {
			t.Errorf("%s: the open layer has its old name", name)
		}
		if ask[int](t, target,
			"SELECT count(*)::int FROM pgbox.layer l WHERE NOT EXISTS (SELECT FROM pgbox.sandbox s WHERE l.id = ANY (s.layers))") != 0 {
			t.Errorf("%s: layers are left that nobody stands on", name)
		}
		// Again, whether or not it went on: it is not mixed with what it was.
		for range 2 {
			if err := restoring(target); err == nil {
				t.Errorf("%s: restored twice", name)
			} else if name == "import" && !strings.Contains(err.Error(), "EEXIST") {
				t.Errorf("restored twice: %v", err)
			}
			if got := ask[string](t, target, digestOf, id); got != want {
				t.Errorf("%s: it was %s, it is %s", name, want, got)
			}
			conn := sqltest.Connect(t, target)
			if _, err := conn.Exec(t.Context(), "SELECT fs.use('"+id.String()+
				"'); SELECT fs.write_file('/later', 'x')"); err != nil {
				t.Fatal(err)
			}
			want = ask[string](t, target, digestOf, id)
		}
		want = ask[string](t, source, digestOf, id)
		if got := ask[string](t, target, digestOf, other); got != before {
			t.Errorf("%s: another sandbox was %s, is %s", name, before, got)
		}
	}
}

// Beside the original, and as often as wanted.
func TestExport_underANewID(t *testing.T) {
	t.Parallel()
	u := sqltest.Database(t)
	id := portable(t, u)
	dump := exported(t, u, id)
	want := ask[string](t, u, digestOf, id)
	first, err := restore(t.Context(), u, strings.NewReader(dump), "new")
	if err != nil {
		t.Fatal(err)
	}
	second := uuid.New()
	if got, err := restore(t.Context(), u, strings.NewReader(dump), second.String()); err != nil || got != second {
		t.Fatalf("%v, %v", got, err)
	}
	for _, copied := range []uuid.UUID{first, second, id} {
		if got := ask[string](t, u, digestOf, copied); got != want {
			t.Errorf("%s: %s, want %s", copied, got, want)
		}
	}
	if n := ask[int](t, u,
		"SELECT count(DISTINCT layers[1])::int * 10 + count(DISTINCT layers[2])::int FROM pgbox.sandbox WHERE id = ANY ($1)",
		[]uuid.UUID{id, first, second}); n != 31 {
		t.Errorf("%d: tops are their own, sealed layers are shared", n)
	}
	// The copies live lives of their own, snapshots included.
	conn := sqltest.Connect(t, sqltest.GatewayURL(u))
	for _, sql := range []string{"SELECT fs.use('" + first.String() + "')", "SELECT fs.unlink('/big')",
		"SELECT fs.restore('" + first.String() + "', 'before; ''that')", "SELECT fs.drop_sandbox('" + first.String() + "')"} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for _, other := range []uuid.UUID{id, second} {
		if got := ask[string](t, u, digestOf, other); got != want {
			t.Errorf("%s changed: %s", other, got)
		}
	}
	// Ids are never used again.
	if _, err := restore(t.Context(), u, strings.NewReader(dump), first.String()); err == nil ||
		!strings.Contains(err.Error(), "EEXIST") {
		t.Errorf("under the id of a dropped sandbox: %v", err)
	}
}

// A dump of nothing that ends with status 0 is a backup nobody has; half a dump is none.
func TestExport_failsLoudly(t *testing.T) {
	t.Parallel()
	u, target := sqltest.Database(t), sqltest.Database(t)
	var out bytes.Buffer
	if err := export(t.Context(), u, uuid.New(), &out); err == nil || !strings.Contains(err.Error(), "no such sandbox") ||
		out.Len() > 0 {
		t.Errorf("an unknown sandbox: %v, %q", err, out.String())
	}
	for _, args := range [][]string{{"", u}, {"x", u}, {}, {uuid.NewString(), u + "nowhere"}} {
		if out, err := exec.Command("../../../deploy/export-sandbox.sh", args...).Output(); err == nil || len(out) > 0 {
			t.Errorf("%q: %v, %q", args, err, out)
		}
	}
	id := portable(t, u)
	dump := exported(t, u, id)
	for name, text := range map[string]string{
		"empty": "", "something else": "SELECT 1;\n", "cut": dump[:len(dump)/2],
		"cut between statements": dump[:strings.LastIndex(dump, "INSERT INTO")],
		"without its end":        strings.TrimSuffix(dump, "COMMIT;\n"),
		"with another content":   strings.Replace(dump, "'\\x", "'\\x00", 1),
		"without a row":          strings.Replace(dump, "INSERT INTO pgbox.exec", "-- ", 1),
	} {
		for _, as := range []string{"", "new"} {
			if got, err := restore(t.Context(), target, strings.NewReader(text), as); err == nil {
				t.Errorf("%s: no error", name)
			} else if n := ask[int](t, target, "SELECT count(*)::int FROM pgbox.sandbox WHERE id = ANY ($1)",
				[]uuid.UUID{id, got}); n != 0 {
				t.Errorf("%s: it is there", name)
			}
		}
		if _, err := psql(t, target, text); err != nil && ask[int](t, target,
			"SELECT count(*)::int FROM pgbox.sandbox") != 0 {
			t.Errorf("%s: it is there", name)
		}
	}
	if n := ask[int](t, target, "SELECT count(*)::int FROM pgbox.sandbox"); n != 0 {
		t.Errorf("%d sandboxes", n)
	}
	// What is dropped cannot be dumped any more.
	if _, err := sqltest.Connect(t, u).Exec(t.Context(), "SELECT fs.drop_sandbox($1)", id); err != nil {
		t.Fatal(err)
	}
	if err := export(t.Context(), u, id, &out); err == nil || out.Len() > 0 {
		t.Errorf("a dropped sandbox: %v, %q", err, out.String())
	}
}

// A sealed layer that is another one here (its database is an old copy of the source that went its own way) gets no
// rows of the dump.
func TestExport_ofALayerThatIsAnother(t *testing.T) {
	t.Parallel()
	source, target := sqltest.Database(t), sqltest.Database(t)
	id := portable(t, source)
	dump := exported(t, source, id)
	if _, err := restore(t.Context(), target, strings.NewReader(dump), ""); err != nil {
		t.Fatal(err)
	}
	conn := sqltest.Connect(t, target)
	if _, err := conn.Exec(t.Context(),
		"DELETE FROM pgbox.dirent WHERE name = 'big' AND layer_id = (SELECT layers[2] FROM pgbox.sandbox WHERE id = $1)",
		id); err != nil {
		t.Fatal(err)
	}
	sqltest.Broken(id)
	before := ask[string](t, target, digestOf, id)
	if got, err := restore(t.Context(), target, strings.NewReader(dump), "new"); err == nil ||
		!strings.Contains(err.Error(), "ESTALE") {
		t.Errorf("restored as %s: %v", got, err)
	}
	if after := ask[string](t, target, digestOf, id); after != before {
		t.Errorf("was %s, is %s", before, after)
	}
}

// A dump of this version of Postgres goes into a newer one.
func TestExport_intoNewerPostgres(t *testing.T) {
	t.Parallel()
	bin, err := exec.Command("../../../.ci/postgres18").Output()
	if err != nil {
		t.Fatal(err)
	}
	newer, err := devdb.Start(t.Context(), devdb.Config{Dir: sqltest.ServerDir(t), BinDir: strings.TrimSpace(string(bin))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(newer.Stop)
	target := newer.URL("postgres")
	if _, err := migrate.Up(t.Context(), target, migrate.Options{}); err != nil {
		t.Fatal(err)
	}
	source := sqltest.Database(t)
	id := portable(t, source)
	if a, b := ask[int](t, source, "SELECT current_setting('server_version_num')::int / 10000"),
		ask[int](t, target, "SELECT current_setting('server_version_num')::int / 10000"); a >= b {
		t.Fatalf("from %d to %d", a, b)
	}
	if _, err := restore(t.Context(), target, strings.NewReader(exported(t, source, id)), ""); err != nil {
		t.Fatal(err)
	}
	if a, b := ask[string](t, source, digestOf, id), ask[string](t, target, digestOf, id); a != b {
		t.Errorf("source %s\ntarget %s", a, b)
	}
	if n := ask[int](t, target, "SELECT count(*)::int FROM fs.fsck_all()"); n != 0 {
		t.Errorf("%d faults", n)
	}
}

// The whole database goes through pg_dump and pg_restore as any other: rows, functions, policies, rights, publication.
func TestDump_ofTheWholeDatabase(t *testing.T) {
	t.Parallel()
	source, target := sqltest.Database(t), sqltest.EmptyDatabase(t)
	id := portable(t, source)
	archive := filepath.Join(t.TempDir(), "all.dump")
	for _, args := range [][]string{{"pg_dump", "-Fc", "-f", archive, "-d", source},
		{"pg_restore", "--exit-on-error", "-d", target, archive}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", args[0], err, out)
		}
	}
	conn := sqltest.Connect(t, target)
	if err := migrate.Check(t.Context(), conn); err != nil {
		t.Error(err)
	}
	for _, sql := range []string{
		"SELECT coalesce(string_agg(f::text, ' '), '') FROM fs.fsck_all() f",
		"SELECT string_agg(pgbox.digest_sandbox(s.id), ' ' ORDER BY s.id) FROM pgbox.sandbox s",
		"SELECT count(*) || md5(string_agg(concat_ws(' ', p.proowner::regrole, ARRAY(SELECT unnest(p.proacl)::text ORDER BY 1), pg_get_functiondef(p.oid)), ' ' ORDER BY p.oid::regprocedure::text)) FROM pg_proc p WHERE p.pronamespace IN ('fs'::regnamespace, 'pgbox'::regnamespace)",
		"SELECT string_agg(p::text, ' ' ORDER BY p::text) FROM pg_policies p WHERE p.schemaname = 'pgbox'",
		"SELECT string_agg(concat_ws(' ', c.oid::regclass, c.relowner::regrole, ARRAY(SELECT unnest(c.relacl)::text ORDER BY 1), c.relrowsecurity, c.relforcerowsecurity), ' ' ORDER BY c.relnamespace::regnamespace::text, c.relname) FROM pg_class c WHERE c.relnamespace IN ('fs'::regnamespace, 'pgbox'::regnamespace)",
		"SELECT string_agg(t.schemaname || t.tablename, ' ' ORDER BY t.tablename) FROM pg_publication_tables t",
	} {
		if a, b := ask[string](t, source, sql), ask[string](t, target, sql); a != b {
			t.Errorf("%s\nsource %s\ntarget %s", sql, a, b)
		}
	}
	// It goes on there.
	if _, err := sqltest.Connect(t, sqltest.GatewayURL(target)).Exec(t.Context(),
		"SELECT fs.use('"+id.String()+"'); SELECT fs.write_file('/later', 'x')"); err != nil {
		t.Error(err)
	}
}

// A sandbox that is restored under a gateway at work, to an earlier state than the gateway has cached, is served as it
// was restored.
func TestExport_besideALiveGateway(t *testing.T) {
	for _, mode := range []string{"version", "replication"} {
		t.Run(mode, func(t *testing.T) {
			r := startDev(t, dataDir(t), "CACHE_INVALIDATION="+mode)
			id := strings.TrimSpace(r.must(t, "sandbox", "create"))
			run := func(want, script string, args ...string) {
				t.Helper()
				if got := r.must(t, append(append([]string{"exec", id}, args...), "--", script)...); got != want {
					t.Errorf("%s: %q, want %q", script, got, want)
				}
			}
			run("", "echo one > f; echo kept > g")
			dump := exported(t, r.psql, uuid.MustParse(id))
			// The open layer of the dump is sealed later, with other rows, and a chain that holds it is cached.
			run("", "echo two > f; rm g; echo new > h")
			r.must(t, "snapshot", "create", id, "later")
			run("", "echo three > f")
			run("three\nf h hello\n", "cat f; touch hello; echo *")
			purge := `WITH gone AS (DELETE FROM pgbox.sandbox WHERE id = '` + id + `' RETURNING layers), old AS (SELECT unnest(layers) AS id FROM gone),
				a AS (DELETE FROM pgbox.inode WHERE layer_id IN (SELECT id FROM old EXCEPT SELECT fs.base_layer())), b AS (DELETE FROM pgbox.dirent WHERE layer_id IN (SELECT id FROM old EXCEPT SELECT fs.base_layer())),
				c AS (DELETE FROM pgbox.chunk WHERE layer_id IN (SELECT id FROM old EXCEPT SELECT fs.base_layer())), d AS (DELETE FROM pgbox.snapshot WHERE sandbox_id = '` + id + `'),
				e AS (DELETE FROM pgbox.change WHERE sandbox_id = '` + id + `'), f AS (DELETE FROM pgbox.exec WHERE sandbox_id = '` + id + `')
				DELETE FROM pgbox.layer WHERE id IN (SELECT id FROM old EXCEPT SELECT fs.base_layer());`
			// In one transaction, so that the gateway never finds it gone.
			if out, err := psql(t, r.psql, strings.Replace(dump, "\nBEGIN;\n", "\nBEGIN;\n"+purge+"\n", 1)); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for range 3 {
				run("one\nkept\nf g\n", "cat f g; echo *", "--read-only")
			}
			// The same versions come again, on other ways.
			run("", "echo other > f")
			r.must(t, "snapshot", "create", id, "later")
			run("", "rm g")
			run("other\nf\n", "cat f; echo *")
			if got := ask[string](t, r.psql,
				"SELECT set_config('app.sandbox_id', $1, false) || string_agg(name, ' ' ORDER BY name) FROM (SELECT set_config('app.sandbox_id', $1, false)) s, fs.readdir('/home/user')", id); got != id+"f" {
				t.Errorf("in SQL: %s", got)
			}
			if n := ask[int](t, r.psql, "SELECT count(*)::int FROM fs.fsck_all()"); n != 0 {
				t.Errorf("%d faults", n)
			}
			r.stop(t)
		})
	}
}
