package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgbox/pgbox/gateway/vfs"
)

var (
	// ErrUnavailable: Postgres cannot be reached, is starting or stopping, or has no connection to give. Nothing was
	// applied.
	ErrUnavailable = errors.New("postgres is not available")
	// ErrRefusedValue: the database does not take a value of the request. Nothing was applied.
	ErrRefusedValue = errors.New("a value is not acceptable")
	// ErrUnknown: the connection was lost during a commit and its outcome could not be learned.
	ErrUnknown = errors.New("outcome of the commit is unknown")
)

// wrap makes the package's errors of pgx's. It keeps the cause for the log.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		if e, ok := vfs.FromSQLState(pg.Code); ok {
			return fmt.Errorf("%s: %w", op, e)
		}
		if repeated(pg) {
			return fmt.Errorf("%s: %w", op, ErrRepeated)
		}
		if refusedInput(pg) {
			return fmt.Errorf("%s: %w: %w", op, vfs.EINVAL, err)
		}
		if pg.Code == "55P03" { // lock_not_available
			return fmt.Errorf("%s: %w", op, ErrLocked)
		}
		if unavailable(pg) {
			return fmt.Errorf("%s: %w: %w", op, ErrUnavailable, err)
		}
		// What a commit brings was made here: there it is a fault of ours.
		if op != "apply" && vfs.RefusedValue(pg.Code) {
			slog.Warn("the database refused a value", "op", op, "sqlstate", pg.Code, "constraint", pg.ConstraintName, "err", err)
			return fmt.Errorf("%s: %w: %w", op, ErrRefusedValue, err)
		}
		return fmt.Errorf("%s: %w", op, err)
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", op, err)
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("%s: %w", op, vfs.ENOENT)
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrUnknown), errors.Is(err, ErrLocked):
		return err
	case carriesErrno(err):
		return err
	}
	// Everything else pgx returns is about the connection: refused, reset, ended, timed out, a closed pool.
	return fmt.Errorf("%s: %w: %w", op, ErrUnavailable, err)
}

// refusedInput reports whether the server could not read an argument (a NUL in a text, half a surrogate in JSON, a date
// that is none), or whether a constraint of a table would not have it. PostgreSQL, appendix A, classes 22 and 23.
func refusedInput(pg *pgconn.PgError) bool {
	// not_null_violation, check_violation
	return pg.Code == "23502" || pg.Code == "23514" || strings.HasPrefix(pg.Code, "22")
}

func carriesErrno(err error) bool {
	_, ok := vfs.Of(err)
	return ok
}

// unavailable reports whether the server said that it, or the connection, is going away. PostgreSQL, appendix A.
func unavailable(pg *pgconn.PgError) bool {
	switch pg.Code {
	case "57P01", "57P02", "57P03", // admin_shutdown, crash_shutdown, cannot_connect_now
		"57P05",          // idle_session_timeout
		"53300", "53400", // too_many_connections, configuration_limit_exceeded
		"25006",          // read_only_sql_transaction: we are talking to a standby
		"40001", "40P01": // serialization_failure, deadlock_detected
		return true
	}
	return len(pg.Code) == 5 && pg.Code[:2] == "08"
}

// conflict reports whether a standby cancelled a query because it stood in the way of the replay. PostgreSQL, 27.4.2.
func conflict(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "40001" || pg.Code == "40P01")
}

// refused reports whether err proves that the server ended the statement's transaction without committing. An error of
// severity FATAL does not: a backend that is told to go may have committed just before.
func refused(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		severity := cmp.Or(pg.SeverityUnlocalized, pg.Severity)
		// What class 08 (connection exception) says comes from a pooler, which does not know.
		return severity == "ERROR" && !strings.HasPrefix(pg.Code, "08")
	}
	// Never sent. pgx says "conn closed" of a statement that was sent, too: in a batch the read that found the connection
	// lost hides its error, and the next one finds it closed.
	return pgconn.SafeToRetry(err) && !errors.Is(err, pgconn.ErrConnClosed)
}
