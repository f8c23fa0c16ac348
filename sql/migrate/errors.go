package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Why [Check] or [Up] refuses a database; compare with errors.Is.
var (
	// ErrNotMigrated: the database holds no pgbox schema at all.
	ErrNotMigrated = errors.New("the database has no pgbox schema")
	// ErrOlder: the database stopped at an older migration than this binary carries.
	ErrOlder = errors.New("the database has an older schema")
	// ErrNewer: the database was migrated by a newer binary.
	ErrNewer = errors.New("the database has a newer schema")
	// ErrDigest: same migrations, but functions and views from other files.
	ErrDigest = errors.New("the functions of the database are those of another build")
	// ErrTampered: functions were changed in the database after they were applied.
	ErrTampered = errors.New("the functions of the database were changed by hand")
	// ErrGrant: the user may not do what it has to.
	ErrGrant = errors.New("the database user lacks rights")
)

// SchemaError is a refusal with what to do about it.
type SchemaError struct {
	Err    error  // one of the Err values of this package
	Have   string // what the database has
	Want   string // what this binary carries
	Advice string // one sentence for the operator
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("%v (database %s, this binary %s): %s", e.Err, e.Have, e.Want, e.Advice)
}

// Unwrap makes errors.Is(err, ErrOlder) work.
func (e *SchemaError) Unwrap() error { return e.Err }

// explain turns a refusal of rights into the statements that give them.
func (s *source) explain(ctx context.Context, conn *pgx.Conn, err error) error {
	if pe, ok := errors.AsType[*pgconn.PgError](err); !ok || pe.Code != "42501" {
		return err
	}
	var statements []string
	const missing = `
SELECT coalesce(array_agg(statement), '{}') FROM (
    SELECT format('ALTER ROLE %I CREATEROLE;', current_user) AS statement
      FROM pg_catalog.pg_roles r
     WHERE r.rolname = current_user AND NOT r.rolsuper AND NOT r.rolcreaterole
       AND (SELECT count(*) FROM pg_catalog.pg_roles o WHERE o.rolname IN ('pgbox_owner', 'pgbox_maintainer', 'pgbox_gateway', 'pgbox_auditor', 'pgbox_dump')) < 5
    UNION ALL
    SELECT format('GRANT CREATE ON DATABASE %I TO %I;', current_database(), current_user)
     WHERE NOT pg_catalog.has_database_privilege(current_database(), 'CREATE')
    UNION ALL
    SELECT format('GRANT %I TO %I;', o.rolname, current_user)
      FROM pg_catalog.pg_roles o
     WHERE o.rolname IN ('pgbox_owner', 'pgbox_maintainer') AND NOT pg_catalog.pg_has_role(o.oid, 'MEMBER')) s`
	if queryErr := conn.QueryRow(ctx, missing).Scan(&statements); queryErr != nil || len(statements) == 0 {
		return err
	}
	return fmt.Errorf("%w: as a superuser run: %s (%w)", ErrGrant, strings.Join(statements, " "), err)
}
