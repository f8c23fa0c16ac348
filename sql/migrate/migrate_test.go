package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	pgboxsql "github.com/pgbox/pgbox/sql"
	"github.com/pgbox/pgbox/sql/migrate"
	"github.com/pgbox/pgbox/sql/sqltest"
)

func TestMain(m *testing.M) { sqltest.Main(m) }

func up(t testing.TB, u string, opts migrate.Options) migrate.Result {
	t.Helper()
	r, err := migrate.Up(t.Context(), u, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// repeatables returns the embedded files with some replaced (or, with "", left out).
func repeatables(t testing.TB, change map[string]string) fs.FS {
	t.Helper()
	m := copyFS(t, pgboxsql.Repeatables)
	for name, text := range change {
		if text == "" {
			delete(m, name)
		} else {
			m[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return m
}

func copyFS(t testing.TB, src fs.FS) fstest.MapFS {
	t.Helper()
	m := fstest.MapFS{}
	err := fs.WalkDir(src, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(src, name)
		m[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// catalog describes everything the migrator makes, for comparison.
func catalog(t testing.TB, u string) map[string]string {
	t.Helper()
	conn := sqltest.Connect(t, u)
	rows, err := conn.Query(t.Context(), `
		SELECT 'function ' || p.oid::regprocedure, md5(concat_ws('|', pg_get_functiondef(p.oid), p.proowner::regrole, p.proacl, obj_description(p.oid)))
		  FROM pg_proc p WHERE p.pronamespace IN ('fs'::regnamespace, 'pgbox'::regnamespace)
		UNION ALL
		SELECT 'relation ' || c.oid::regclass, md5(concat_ws('|', c.relkind, c.relowner::regrole, c.relacl, c.relrowsecurity, c.relforcerowsecurity, pg_get_viewdef(c.oid)))
		  FROM pg_class c WHERE c.relnamespace IN ('fs'::regnamespace, 'pgbox'::regnamespace) AND c.relkind IN ('r', 'v', 'i')
		UNION ALL
		SELECT 'policy ' || p.polrelid::regclass || ' ' || p.polname, md5(concat_ws('|', p.polcmd, p.polroles::regrole[], pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)))
		  FROM pg_policy p
		UNION ALL
		SELECT 'publication', string_agg(tablename, ',' ORDER BY tablename) FROM pg_publication_tables WHERE pubname = 'pgbox'
		UNION ALL
		SELECT 'digest', digest || fingerprint || base_layer FROM pgbox.schema_digest`)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	var name, text string
	if _, err := pgx.ForEachRow(rows, []any{&name, &text}, func() error { all[name] = text; return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestUp_secondRunDoesNothing(t *testing.T) {
	t.Parallel()
	u := sqltest.EmptyDatabase(t)
	if r := up(t, u, migrate.Options{}); r.Migrations == 0 || !r.Repeatables {
		t.Fatalf("first: %+v", r)
	}
	before := catalog(t, u)
	if r := up(t, u, migrate.Options{}); r.Migrations != 0 || r.Repeatables {
		t.Fatalf("second: %+v", r)
	}
	if !maps.Equal(before, catalog(t, u)) {
		t.Fatal("the second run changed the database")
	}
	if err := migrate.Check(t.Context(), sqltest.Connect(t, sqltest.GatewayURL(u))); err != nil {
		t.Fatal(err)
	}
}

func TestUp_twentyAtOnce(t *testing.T) {
	t.Parallel()
	u := sqltest.EmptyDatabase(t)
	results := make([]migrate.Result, 20)
	errs := make([]error, len(results))
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i], errs[i] = migrate.Up(context.Background(), u, migrate.Options{}) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	worked := 0
	for _, r := range results {
		if r.Migrations > 0 || r.Repeatables {
			worked++
		}
	}
	if worked != 1 {
		t.Fatalf("%d of them did something", worked)
	}
	reference := sqltest.EmptyDatabase(t)
	up(t, reference, migrate.Options{})
	if !maps.Equal(catalog(t, u), catalog(t, reference)) {
		t.Fatal("the result differs from that of one run")
	}
}

// Roles belong to the cluster: migrations of different databases meet there, and no lock keeps them apart.
func TestUp_manyDatabasesAtOnce(t *testing.T) {
	t.Parallel()
	var urls []string
	for range 6 {
		urls = append(urls, sqltest.EmptyDatabase(t))
	}
	errs := make([]error, len(urls))
	var wg sync.WaitGroup
	for i, u := range urls {
		wg.Go(func() { _, errs[i] = migrate.Up(context.Background(), u, migrate.Options{}) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// A database that had other functions, an overload among them, ends up equal to a fresh one.
func TestUp_upgradedEqualsFresh(t *testing.T) {
	t.Parallel()
	u := sqltest.EmptyDatabase(t)
	old := repeatables(t, map[string]string{
		"functions/usage.sql": "CREATE FUNCTION fs.usage(p_sandbox uuid, p_old integer) RETURNS integer LANGUAGE sql RETURN 1;",
		"functions/relic.sql": "CREATE FUNCTION pgbox.relic() RETURNS integer LANGUAGE sql RETURN 1;",
		"views/relic.sql":     "CREATE VIEW fs.relic AS SELECT pgbox.relic() AS n;",
	})
	up(t, u, migrate.Options{Repeatables: old})
	if _, ok := catalog(t, u)["relation fs.relic"]; !ok {
		t.Fatal("the old files were not applied")
	}
	if r := up(t, u, migrate.Options{}); r.Migrations != 0 || !r.Repeatables {
		t.Fatalf("%+v", r)
	}
	fresh := sqltest.EmptyDatabase(t)
	up(t, fresh, migrate.Options{})
	got, want := catalog(t, u), catalog(t, fresh)
	for name := range got {
		if want[name] != got[name] {
			t.Errorf("%s differs", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d objects, fresh has %d", len(got), len(want))
	}
}

// A file that cannot be applied leaves the database as it was.
func TestUp_failureChangesNothing(t *testing.T) {
	t.Parallel()
	u := sqltest.EmptyDatabase(t)
	up(t, u, migrate.Options{})
	before := catalog(t, u)
	for what, text := range map[string]string{
		"syntax":  "CREATE FUNCTION fs.broken( nonsense",
		"missing": "CREATE VIEW fs.broken AS SELECT * FROM pgbox.no_such_table",
	} {
		_, err := migrate.Up(t.Context(), u, migrate.Options{Repeatables: repeatables(t,
			map[string]string{"views/broken.sql": text})})
		if err == nil || !strings.Contains(err.Error(), "views/broken.sql") {
			t.Fatalf("%s: %v", what, err)
		}
	}
	if !maps.Equal(before, catalog(t, u)) {
		t.Fatal("the database changed")
	}
}

func TestCheck_refusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil string // SQL
		want  error
	}{
		{"newer", "INSERT INTO pgbox.migration (version_id, is_applied) VALUES (99999, true)", migrate.ErrNewer},
		{"older", "DELETE FROM pgbox.migration WHERE version_id > 1", migrate.ErrOlder},
		{"other functions", "UPDATE pgbox.schema_digest SET digest = 'another'", migrate.ErrDigest},
		{"never finished", "DELETE FROM pgbox.schema_digest", migrate.ErrNotMigrated},
		{"function edited", "CREATE OR REPLACE FUNCTION fs.drop_sandbox(p_sandbox uuid) RETURNS void LANGUAGE sql AS ''",
			migrate.ErrTampered},
		{"function added", "CREATE FUNCTION fs.backdoor() RETURNS void LANGUAGE sql AS ''", migrate.ErrTampered},
		{"function unprotected", "ALTER FUNCTION fs.apply SECURITY INVOKER", migrate.ErrTampered},
		{"function of another owner", "ALTER FUNCTION fs.apply OWNER TO CURRENT_USER", migrate.ErrTampered},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := sqltest.Database(t)
			owner := sqltest.Connect(t, u)
			tx, err := owner.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback(context.Background()) }()
			if err := migrate.Check(t.Context(), tx); err != nil {
				t.Fatalf("before: %v", err)
			}
			if _, err := tx.Exec(t.Context(), c.spoil); err != nil {
				t.Fatal(err)
			}
			err = migrate.Check(t.Context(), tx)
			se, ok := errors.AsType[*migrate.SchemaError](err)
			if !ok || !errors.Is(err, c.want) || se.Advice == "" {
				t.Fatalf("got %v, want %v", err, c.want)
			}
		})
	}
	t.Run("empty", func(t *testing.T) {
		t.Parallel()
		if err := migrate.Check(t.Context(), sqltest.Connect(t, sqltest.EmptyDatabase(t))); !errors.Is(err,
			migrate.ErrNotMigrated) {
			t.Fatalf("got %v", err)
		}
	})
}

func TestUp_refusesANewerDatabase(t *testing.T) {
	t.Parallel()
	u := sqltest.EmptyDatabase(t)
	newer := copyFS(t, must(fs.Sub(pgboxsql.Migrations, "migrations")))
	newer["99999_future.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE pgbox.future (id integer);\n")}
	up(t, u, migrate.Options{Migrations: newer})
	before := catalog(t, u)
	if _, err := migrate.Up(t.Context(), u, migrate.Options{}); !errors.Is(err, migrate.ErrNewer) {
		t.Fatalf("got %v", err)
	}
	if !maps.Equal(before, catalog(t, u)) {
		t.Fatal("the refused run changed the database")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// An older database gets the missing migrations and its functions anew.
func TestUp_fromAnOlderSchema(t *testing.T) {
	t.Parallel()
	u := sqltest.EmptyDatabase(t)
	up(t, u, migrate.Options{})
	newer := copyFS(t, must(fs.Sub(pgboxsql.Migrations, "migrations")))
	newer["99999_future.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE pgbox.future (id integer);\n")}
	if r := up(t, u, migrate.Options{Migrations: newer}); r.Version != 99999 || r.Migrations != 1 || !r.Repeatables {
		t.Fatalf("%+v", r)
	}
}

// Contents that were idle before their rows lost the mark wait in the queue, since the same time.
func TestUp_idleContentsAreQueued(t *testing.T) {
	t.Parallel()
	u := sqltest.EmptyDatabase(t)
	older := copyFS(t, must(fs.Sub(pgboxsql.Migrations, "migrations")))
	for name := range older {
		if name >= "00062" {
			delete(older, name)
		}
	}
	// Functions are those of today: none of them runs before the rest of the migrations.
	up(t, u, migrate.Options{Migrations: older})
	c := sqltest.Connect(t, u)
	const idle = "INSERT INTO pgbox.blob (sha256, size, data, idle_since) VALUES (sha256('idle'), 4, 'idle', '2025-01-02 03:04:05+00')"
	if _, err := c.Exec(t.Context(), idle); err != nil {
		t.Fatal(err)
	}
	up(t, u, migrate.Options{})
	var since string
	const queued = "SELECT string_agg((since AT TIME ZONE 'UTC')::text, ' ') FROM pgbox.loose_blob WHERE sha256 = sha256('idle')"
	if err := c.QueryRow(t.Context(), queued).Scan(&since); err != nil || since != "2025-01-02 03:04:05" {
		t.Fatalf("idle since %q, %v", since, err)
	}
	var gone int
	if err := c.QueryRow(t.Context(), "SELECT blobs FROM fs.gc('1 hour')").Scan(&gone); err != nil || gone != 1 {
		t.Fatalf("%d contents went, %v", gone, err)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	u := sqltest.EmptyDatabase(t)
	st := must(migrate.Status(t.Context(), u))
	if len(st.Migrations) < 2 || st.Migrations[0].Applied || st.Digest != "" || st.WantDigest == "" {
		t.Fatalf("empty: %+v", st)
	}
	up(t, u, migrate.Options{})
	st = must(migrate.Status(t.Context(), u))
	for _, m := range st.Migrations {
		if !m.Applied {
			t.Errorf("%s is not applied", fmt.Sprint(m.Version, m.Name))
		}
	}
	if st.Digest != st.WantDigest {
		t.Fatalf("%+v", st)
	}
}

// A user who is not a superuser, as managed services give out, can migrate its own database.
func TestUp_withoutSuperuser(t *testing.T) {
	t.Parallel()
	u := sqltest.EmptyDatabase(t)
	up(t, sqltest.Database(t), migrate.Options{}) // the roles exist already
	owner := sqltest.Connect(t, u)
	for _, text := range []string{
		`DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'pgbox_test_admin') THEN CREATE ROLE pgbox_test_admin LOGIN CREATEROLE; END IF; END $$`,
		`GRANT pgbox_owner, pgbox_maintainer TO pgbox_test_admin`,
		`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I OWNER TO pgbox_test_admin', current_database()); END $$`,
	} {
		if _, err := owner.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	r, err := migrate.Up(t.Context(), sqltest.RoleURL(u, "pgbox_test_admin"), migrate.Options{})
	if err != nil || r.Migrations == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := migrate.Check(t.Context(), sqltest.Connect(t, sqltest.GatewayURL(u))); err != nil {
		t.Fatal(err)
	}
}
