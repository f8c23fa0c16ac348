package migrate

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ours are the functions and views that repeatable files make: not the functions of the migrations, which row policies
// depend on. The place of its catalog row tells whether an object has been made anew since.
const ours = `
SELECT 'ROUTINE' AS kind, p.oid, p.oid::regprocedure::text AS object, p.ctid::text AS place
  FROM pg_catalog.pg_proc p
  JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
 WHERE n.nspname IN ('fs', 'pgbox')
   AND NOT EXISTS (
       SELECT FROM pg_catalog.pg_depend d
        WHERE d.refclassid = 'pg_catalog.pg_proc'::regclass AND d.refobjid = p.oid AND d.classid = 'pg_catalog.pg_policy'::regclass)
UNION ALL
SELECT 'VIEW', c.oid, format('%I.%I', n.nspname, c.relname), w.ctid::text
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_rewrite w ON w.ev_class = c.oid
 WHERE n.nspname = 'fs' AND c.relkind = 'v'`

// before notes what is there, and gives it to pgbox_owner, as new objects are until their files say otherwise.
const before = `
DO $$
DECLARE
    v_row record;
BEGIN
    FOR v_row IN SELECT o.kind, o.object FROM (` + ours + `) o LOOP
        EXECUTE format('ALTER %s %s OWNER TO pgbox_owner', v_row.kind, v_row.object);
    END LOOP;
END
$$;
CREATE TEMPORARY TABLE pgbox_before ON COMMIT DROP AS ` + ours

// after drops what no file has made anew.
const after = `
DO $$
DECLARE
    v_row record;
BEGIN
    FOR v_row IN
        SELECT o.kind, o.object FROM (` + ours + `) o
          JOIN pg_temp.pgbox_before b ON (b.kind, b.oid, b.place) = (o.kind, o.oid, o.place)
    LOOP
        EXECUTE format('DROP %s IF EXISTS %s CASCADE', v_row.kind, v_row.object);
    END LOOP;
END
$$;
DROP TABLE pg_temp.pgbox_before`

// contract is what gateways see of the functions of fs: for each name what it takes and gives. View columns are what
// functions that return their rows give.
const contract = `
SELECT p.proname || '(', pg_catalog.pg_get_function_identity_arguments(p.oid), p.pronargs - p.pronargdefaults AS needed,
       pg_catalog.pg_get_function_result(p.oid) || coalesce((
           SELECT ' ' || string_agg(a.attname || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum)
             FROM pg_catalog.pg_type t JOIN pg_catalog.pg_attribute a ON a.attrelid = t.typrelid
            WHERE t.oid = p.prorettype AND a.attnum > 0 AND NOT a.attisdropped), '') AS result
  FROM pg_catalog.pg_proc p
 WHERE p.pronamespace = pg_catalog.to_regnamespace('fs')`

// adopt gives what the files did not give to another role to pgbox_owner.
const adopt = `
DO $$
DECLARE
    v_object text;
BEGIN
    FOR v_object IN
        SELECT p.oid::regprocedure::text
          FROM pg_catalog.pg_proc p
          JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
         WHERE n.nspname IN ('fs', 'pgbox') AND p.proowner::regrole::text NOT IN ('pgbox_owner', 'pgbox_maintainer')
    LOOP
        EXECUTE 'ALTER ROUTINE ' || v_object || ' OWNER TO pgbox_owner';
    END LOOP;
    FOR v_object IN
        SELECT format('%I.%I', n.nspname, c.relname)
          FROM pg_catalog.pg_class c
          JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'fs' AND c.relkind = 'v' AND c.relowner::regrole::text NOT IN ('pgbox_owner', 'pgbox_maintainer')
    LOOP
        EXECUTE 'ALTER VIEW ' || v_object || ' OWNER TO pgbox_owner';
    END LOOP;
END
$$`

// repeat makes functions, views and grants anew when the stored digest is another one (or always, after a migration:
// policies and tables may have changed under them) and reports whether it did. What stays the same by name and
// arguments keeps its place in the catalog: statements of gateways that are under way find it.
func (s *source) repeat(ctx context.Context, tx pgx.Tx, always bool) (bool, error) {
	var (
		stored string
		serves []string
	)
	err := tx.QueryRow(ctx, "SELECT digest, serves FROM pgbox.schema_digest").Scan(&stored, &serves)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, err
	}
	if stored == s.digest && !always {
		return false, nil
	}
	old, err := functions(ctx, tx)
	if err != nil {
		return false, err
	}
	// Bodies are checked by the tests, which run every function; here they may name what comes later.
	for _, text := range []string{"SET LOCAL check_function_bodies = off", "SET LOCAL client_min_messages = warning",
		before} {
		if err := run(ctx, tx, text); err != nil {
			return false, err
		}
	}
	if err := create(ctx, tx, s.repeatables); err != nil {
		return false, err
	}
	for _, o := range []object{{"what is no more", after}, {"owners", adopt}, {"grants.sql", s.grants}} {
		if err := run(ctx, tx, o.text); err != nil {
			return false, fmt.Errorf("%s: %w", o.name, err)
		}
	}
	now, err := functions(ctx, tx)
	if err != nil {
		return false, err
	}
	// The gateways of one release back go on serving when they find everything that they call.
	switch {
	case stored == s.digest:
	case stored != "" && keeps(old, now):
		serves = []string{stored}
	default:
		serves = []string{}
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO pgbox.schema_digest (digest, fingerprint, base_layer, serves)
		SELECT $1, (`+fingerprint+`), pgbox.refresh_base(), $2::text[]
		ON CONFLICT (singleton) DO UPDATE
		SET digest = excluded.digest, fingerprint = excluded.fingerprint, base_layer = excluded.base_layer, serves = excluded.serves, applied_at = now()`, s.digest, serves)
	if err != nil {
		return false, fmt.Errorf("base layer: %w", err)
	}
	return true, nil
}

// function is what a caller sees of one.
type function struct {
	name, arguments, result string
	needed                  int // arguments without a default
}

func functions(ctx context.Context, tx pgx.Tx) ([]function, error) {
	rows, err := tx.Query(ctx, contract)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (f function, err error) {
		return f, row.Scan(&f.name, &f.arguments, &f.needed, &f.result)
	})
}

// keeps reports whether every call of an old function finds a new one that takes it and gives at least what it gave, in
// the same places.
func keeps(old, now []function) bool {
	for _, o := range old {
		if !slices.ContainsFunc(now, func(n function) bool {
			return n.name == o.name && begins(n.arguments, o.arguments) && n.needed <= o.needed &&
				begins(strings.TrimSuffix(n.result, ")"), strings.TrimSuffix(o.result, ")"))
		}) {
			return false
		}
	}
	return true
}

// begins reports whether a list of columns or arguments is another one with more at its end.
func begins(list, head string) bool {
	return list == head || head == "" || strings.HasPrefix(list, head+",")
}

// header is where a file begins an object.
var header = regexp.MustCompile(`(?m)^CREATE (FUNCTION|VIEW|TRIGGER) `)

// create runs files that depend on each other in an order nobody wrote down: a file that names something missing waits
// for the next round, until a round makes nothing new. What is there is replaced in place; what cannot be, because it
// gives another type or takes other names, is dropped with all that depends on it, and everything is begun again.
func create(ctx context.Context, tx pgx.Tx, files []object) error {
	dropped := map[string]bool{}
	for left := files; len(left) > 0; {
		var waiting []object
		var missing error
		restart := false
		for _, f := range left {
			if err := run(ctx, tx, "SAVEPOINT file"); err != nil {
				return err
			}
			err := run(ctx, tx, header.ReplaceAllString(f.text, "CREATE OR REPLACE $1 "))
			switch {
			case err == nil:
				err = run(ctx, tx, "RELEASE SAVEPOINT file")
			case undefined(err):
				waiting = append(waiting, f)
				missing = fmt.Errorf("%s: %w", f.name, err)
				err = run(ctx, tx, "ROLLBACK TO SAVEPOINT file")
			case irreplaceable(err) && !dropped[f.name]:
				dropped[f.name], restart = true, true
				err = run(ctx, tx, "ROLLBACK TO SAVEPOINT file; "+dropNamed(f.name))
			}
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			if restart {
				break
			}
		}
		switch {
		case restart:
			left = files
		case len(waiting) == len(left):
			return missing
		default:
			left = waiting
		}
	}
	return nil
}

// dropNamed drops the objects that a file is named after.
func dropNamed(file string) string {
	name := strings.TrimSuffix(path.Base(file), ".sql")
	return `
DO $$
DECLARE
    v_row record;
BEGIN
    FOR v_row IN SELECT o.kind, o.object FROM (` + ours + `) o
        WHERE substring(o.object FROM '^[a-z]+\.([a-z0-9_]+)') = '` + name + `'
    LOOP
        EXECUTE format('DROP %s IF EXISTS %s CASCADE', v_row.kind, v_row.object);
    END LOOP;
END
$$`
}

// irreplaceable reports whether err says that an object would have to be dropped first.
func irreplaceable(err error) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	// invalid_function_definition, invalid_table_definition, wrong_object_type
	return ok && slices.Contains([]string{"42P13", "42P16", "42809"}, pe.Code)
}

// undefined reports whether err says that an object a statement names does not exist (yet).
func undefined(err error) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	// undefined_table, undefined_function, undefined_object, undefined_column
	return ok && slices.Contains([]string{"42P01", "42883", "42704", "42703"}, pe.Code)
}
