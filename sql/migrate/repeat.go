package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
)

// drop removes every view of fs and every function of fs and pgbox, except the
// functions of the migrations, which row policies depend on.
const drop = `
DO $$
DECLARE
    v_object text;
BEGIN
    FOR v_object IN
        SELECT format('%I.%I', n.nspname, c.relname)
          FROM pg_catalog.pg_class c
          JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'fs' AND c.relkind = 'v'
    LOOP
        EXECUTE 'DROP VIEW IF EXISTS ' || v_object || ' CASCADE';
    END LOOP;
    FOR v_object IN
        SELECT p.oid::regprocedure::text
          FROM pg_catalog.pg_proc p
          JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
         WHERE n.nspname IN ('fs', 'pgbox')
           AND NOT EXISTS (
               SELECT FROM pg_catalog.pg_depend d
                WHERE d.refclassid = 'pg_catalog.pg_proc'::regclass AND d.refobjid = p.oid
                  AND d.classid = 'pg_catalog.pg_policy'::regclass)
    LOOP
        EXECUTE 'DROP ROUTINE IF EXISTS ' || v_object || ' CASCADE';
    END LOOP;
END
$$`

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

// repeat makes functions, views and grants anew when the stored digest is
// another one (or always, after a migration: policies and tables may have
// changed under them) and reports whether it did.
func (s *source) repeat(ctx context.Context, db *sql.DB, always bool) (bool, error) {
	var stored string
	err := db.QueryRowContext(ctx, "SELECT digest FROM pgbox.schema_digest").Scan(&stored)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	if stored == s.digest && !always {
		return false, nil
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }()
	// Bodies are checked by the tests, which run every function; here they may name what comes later.
	for _, text := range []string{"SET LOCAL check_function_bodies = off", "SET LOCAL client_min_messages = warning", drop} {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return false, err
		}
	}
	if err := create(ctx, tx, s.repeatables); err != nil {
		return false, err
	}
	for _, o := range []object{{"owners", adopt}, {"grants.sql", s.grants}} {
		if _, err := tx.ExecContext(ctx, o.text); err != nil {
			return false, fmt.Errorf("%s: %w", o.name, err)
		}
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO pgbox.schema_digest (digest, fingerprint, base_layer)
		SELECT $1, (`+fingerprint+`), pgbox.refresh_base()
		ON CONFLICT (singleton) DO UPDATE
		SET digest = excluded.digest, fingerprint = excluded.fingerprint, base_layer = excluded.base_layer, applied_at = now()`, s.digest)
	if err != nil {
		return false, fmt.Errorf("base layer: %w", err)
	}
	return true, tx.Commit()
}

// create runs files that depend on each other in an order nobody wrote down: a
// file that names something missing waits for the next round, until a round makes nothing new.
func create(ctx context.Context, tx *sql.Tx, files []object) error {
	for len(files) > 0 {
		var waiting []object
		var missing error
		for _, f := range files {
			if _, err := tx.ExecContext(ctx, "SAVEPOINT file"); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, f.text)
			switch {
			case err == nil:
				_, err = tx.ExecContext(ctx, "RELEASE SAVEPOINT file")
			case undefined(err):
				waiting = append(waiting, f)
				missing = fmt.Errorf("%s: %w", f.name, err)
				_, err = tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT file")
			}
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
		if len(waiting) == len(files) {
			return missing
		}
		files = waiting
	}
	return nil
}

// undefined reports whether err says that an object a statement names does not exist (yet).
func undefined(err error) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	// undefined_table, undefined_function, undefined_object, undefined_column
	return ok && slices.Contains([]string{"42P01", "42883", "42704", "42703"}, pe.Code)
}
