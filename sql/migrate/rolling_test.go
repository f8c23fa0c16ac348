package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5/pgxpool"

	pgboxsql "github.com/pgbox/pgbox/sql"
	"github.com/pgbox/pgbox/sql/migrate"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// release is what a later binary may carry: every function with another body, one more argument with a default, one
// more function.
func release(t testing.TB, n int) migrate.Options {
	t.Helper()
	files := copyFS(t, pgboxsql.Repeatables)
	for name, f := range files {
		if strings.HasPrefix(name, "functions/") {
			f.Data = []byte(strings.Replace(string(f.Data), "\nBEGIN\n", fmt.Sprintf("\nBEGIN\n    -- release %d\n", n), 1))
		}
	}
	files["functions/later.sql"] = &fstest.MapFile{Data: fmt.Appendf(nil,
		"CREATE FUNCTION fs.later() RETURNS integer LANGUAGE sql RETURN %d;", n)}
	newer := copyFS(t, must(fs.Sub(pgboxsql.Migrations, "migrations")))
	newer[fmt.Sprintf("%05d_later.sql", 90000+n)] = &fstest.MapFile{Data: fmt.Appendf(nil,
		"-- +goose Up\nALTER TABLE pgbox.sandbox ADD COLUMN later_%d integer;\n", n)}
	return migrate.Options{Repeatables: files, Migrations: newer}
}

// Gateways of one release back serve while and after the database is migrated, and can be started anew; those of two
// releases back are told to go.
func TestUp_underLoadLosesNothingAndTakesNobodyOut(t *testing.T) {
	t.Parallel()
	u := sqltest.EmptyDatabase(t)
	up(t, u, migrate.Options{})
	pool := must(pgxpool.New(t.Context(), sqltest.GatewayURL(u)))
	defer pool.Close()
	const writers = 4
	var written [writers]atomic.Int64
	var ids [writers]string
	for i := range ids {
		if err := pool.QueryRow(t.Context(),
			"SELECT id::text FROM fs.create_sandbox(NULL, 'default', 'alice', $1, NULL, NULL, NULL, NULL, NULL, NULL)",
			fmt.Sprint("box", i)).Scan(&ids[i]); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				// Prepared once for each connection, as a gateway does.
				err := func() error {
					tx, err := pool.Begin(t.Context())
					if err != nil {
						return err
					}
					defer func() { _ = tx.Rollback(context.Background()) }()
					if _, err := tx.Exec(t.Context(), "SELECT set_config('app.sandbox_id', $1, true)", ids[i]); err != nil {
						return err
					}
					if _, err := tx.Exec(t.Context(), "SELECT fs.append_file($1, $2)", "/home/user/log", []byte("x")); err != nil {
						return err
					}
					return tx.Commit(t.Context())
				}()
				if err == nil {
					_, err = pool.Exec(t.Context(), "SELECT * FROM fs.fence($1)", ids[i])
				}
				if err != nil {
					t.Errorf("a gateway at work: %v", err)
					return
				}
				written[i].Add(1)
			}
		})
	}
	progress := func() {
		for i := range writers {
			for from := written[i].Load(); written[i].Load() < from+5 && !t.Failed(); {
			}
		}
	}
	progress()
	first := release(t, 1)
	if r := up(t, u, first); r.Migrations != 1 || !r.Repeatables {
		t.Errorf("%+v", r)
	}
	progress()
	gateway := sqltest.Connect(t, sqltest.GatewayURL(u))
	if err := migrate.Check(t.Context(), gateway); err != nil {
		t.Errorf("a gateway of one release back: %v", err)
	}
	if err := migrate.CheckOptions(t.Context(), gateway, first); err != nil {
		t.Errorf("the new one: %v", err)
	}
	second := release(t, 2)
	second.Migrations.(fstest.MapFS)["90001_later.sql"] = first.Migrations.(fstest.MapFS)["90001_later.sql"]
	up(t, u, second)
	progress()
	close(stop)
	wg.Wait()
	if err := migrate.Check(t.Context(), gateway); !errors.Is(err, migrate.ErrNewer) {
		t.Errorf("a gateway of two releases back: %v", err)
	}
	if err := migrate.CheckOptions(t.Context(), gateway, first); err != nil {
		t.Errorf("a gateway of one release back: %v", err)
	}
	for i, id := range ids {
		var size int64
		if _, err := gateway.Exec(t.Context(), "SELECT fs.use($1)", id); err != nil {
			t.Fatal(err)
		}
		if err := gateway.QueryRow(t.Context(), "SELECT length(fs.read_file('/home/user/log'))").Scan(&size); err != nil {
			t.Fatal(err)
		}
		if size != written[i].Load() {
			t.Errorf("%d bytes are there, %d were written", size, written[i].Load())
		}
	}
}

// A release that takes something away that gateways call is not for those of the release before.
func TestUp_releaseThatBreaksTheContractServesNoOlderGateway(t *testing.T) {
	t.Parallel()
	later := func(change func(files fstest.MapFS)) migrate.Options {
		o := release(t, 1)
		change(o.Repeatables.(fstest.MapFS))
		return o
	}
	for name, c := range map[string]struct {
		change func(files fstest.MapFS)
		serves bool
	}{
		"an argument with a default": {func(f fstest.MapFS) {
			f["functions/probe.sql"] = &fstest.MapFile{Data: []byte("CREATE FUNCTION fs.probe(p_a integer, p_b integer DEFAULT 1) RETURNS TABLE (a integer, b integer) LANGUAGE sql AS 'SELECT 1, 2';")}
		}, true},
		"an argument without": {func(f fstest.MapFS) {
			f["functions/probe.sql"] = &fstest.MapFile{Data: []byte("CREATE FUNCTION fs.probe(p_a integer, p_b integer) RETURNS TABLE (a integer) LANGUAGE sql AS 'SELECT 1';")}
		}, false},
		"another name": {func(f fstest.MapFS) {
			f["functions/probe.sql"] = &fstest.MapFile{Data: []byte("CREATE FUNCTION fs.probe(p_z integer) RETURNS TABLE (a integer) LANGUAGE sql AS 'SELECT 1';")}
		}, false},
		"another type": {func(f fstest.MapFS) {
			f["functions/probe.sql"] = &fstest.MapFile{Data: []byte("CREATE FUNCTION fs.probe(p_a integer) RETURNS TABLE (a text) LANGUAGE sql AS $$SELECT 'a'$$;")}
		}, false},
		"the function is gone": {func(f fstest.MapFS) { delete(f, "functions/probe.sql") }, false},
		"only the body changed": {func(f fstest.MapFS) {
			f["functions/probe.sql"] = &fstest.MapFile{Data: []byte("CREATE FUNCTION fs.probe(p_a integer) RETURNS TABLE (a integer) LANGUAGE sql AS 'SELECT 5';")}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := sqltest.EmptyDatabase(t)
			before := later(func(f fstest.MapFS) {
				f["functions/probe.sql"] = &fstest.MapFile{Data: []byte("CREATE FUNCTION fs.probe(p_a integer) RETURNS TABLE (a integer) LANGUAGE sql AS 'SELECT 1';")}
			})
			up(t, u, before)
			up(t, u, later(c.change))
			err := migrate.CheckOptions(t.Context(), sqltest.Connect(t, sqltest.GatewayURL(u)), before)
			if (err == nil) != c.serves {
				t.Errorf("a gateway of the release before: %v", err)
			}
		})
	}
}

// A migration waits in short turns: who comes after it is not held up by whom it waits for.
func TestUp_waitsWithoutHoldingUpOthers(t *testing.T) {
	t.Parallel()
	u := sqltest.EmptyDatabase(t)
	up(t, u, migrate.Options{})
	reader := must(sqltest.Connect(t, u).Begin(t.Context()))
	if _, err := reader.Exec(t.Context(), "SELECT count(*) FROM pgbox.sandbox"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { _, err := migrate.Up(context.Background(), u, release(t, 1)); done <- err }()
	other := sqltest.Connect(t, u)
	for waiting := false; !waiting; {
		if err := other.QueryRow(t.Context(),
			"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'LOCK TABLE%' AND datname = current_database())").Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	// It stands in the line now, and is to leave it while the reader is still at it.
	if _, err := other.Exec(t.Context(), "SELECT count(*) FROM pgbox.sandbox"); err != nil {
		t.Fatal(err)
	}
	if err := reader.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// The second of two migrations fails, or the functions after them: the first has left nothing either.
func TestUp_failedMigrationLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	u := sqltest.EmptyDatabase(t)
	up(t, u, migrate.Options{})
	before := catalog(t, u)
	second := release(t, 1)
	second.Migrations.(fstest.MapFS)["90002_broken.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE pgbox.half (id integer);\nALTER TABLE pgbox.no_such_table ADD COLUMN x integer;\n")}
	third := release(t, 1)
	third.Repeatables.(fstest.MapFS)["functions/broken.sql"] = &fstest.MapFile{Data: []byte("CREATE FUNCTION fs.broken( nonsense")}
	for name, o := range map[string]migrate.Options{"90002_broken.sql": second, "functions/broken.sql": third} {
		if _, err := migrate.Up(t.Context(), u, o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		now := catalog(t, u)
		for object := range now {
			if now[object] != before[object] {
				t.Errorf("%s: %s has changed", name, object)
			}
		}
		if len(now) != len(before) {
			t.Errorf("%s: %d objects, were %d", name, len(now), len(before))
		}
		if err := migrate.Check(t.Context(), sqltest.Connect(t, sqltest.GatewayURL(u))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Who lacks a right is told the statement that gives it, and it is enough.
func TestUp_missingRightsAreNamed(t *testing.T) {
	t.Parallel()
	u := sqltest.EmptyDatabase(t)
	up(t, sqltest.Database(t), migrate.Options{}) // the roles exist already
	admin := sqltest.Connect(t, u)
	if _, err := admin.Exec(t.Context(),
		`DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'pgbox_test_nobody') THEN CREATE ROLE pgbox_test_nobody LOGIN; END IF; END $$`); err != nil {
		t.Fatal(err)
	}
	for turn := range 3 {
		_, err := migrate.Up(t.Context(), sqltest.RoleURL(u, "pgbox_test_nobody"), migrate.Options{})
		if err == nil {
			break
		}
		_, advice, found := strings.Cut(err.Error(), "as a superuser run: ")
		if !errors.Is(err, migrate.ErrGrant) || !found || turn == 2 {
			t.Fatal(err)
		}
		if _, err := admin.Exec(t.Context(), advice[:strings.LastIndex(advice, ";")+1]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := admin.Exec(t.Context(),
		`DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'pgbox_test_stranger') THEN CREATE ROLE pgbox_test_stranger LOGIN; END IF; END $$`); err != nil {
		t.Fatal(err)
	}
	err := migrate.Check(t.Context(), sqltest.Connect(t, sqltest.RoleURL(u, "pgbox_test_stranger")))
	if !errors.Is(err, migrate.ErrGrant) || !strings.Contains(err.Error(), "GRANT pgbox_gateway TO pgbox_test_stranger;") {
		t.Errorf("a gateway without rights: %v", err)
	}
}
