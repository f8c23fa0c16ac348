package functions_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgbox/pgbox/gateway/fserr"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// scope is a session of the gateway's role in the scope of one sandbox.
type scope struct {
	testing.TB
	id    uuid.UUID
	conn  *pgx.Conn
	admin *pgx.Conn // superuser, for what lies behind the functions
}

// newScope creates a sandbox for the test and enters it.
func newScope(t testing.TB) *scope {
	t.Helper()
	return enter(t, sqltest.Sandbox(t, sqltest.Pool(t)))
}

// enter opens a session in the scope of a sandbox.
func enter(t testing.TB, id uuid.UUID) *scope {
	t.Helper()
	s := &scope{
		TB: t, id: id,
		conn:  sqltest.Connect(t, sqltest.GatewayURL(sqltest.URL(t))),
		admin: sqltest.Owner(t),
	}
	s.must("SELECT fs.use($1)", id)
	return s
}

// errno runs a statement and returns the errno it raised, 0 for success. Any other error fails the test.
func (s *scope) errno(sql string, args ...any) fserr.Errno {
	s.Helper()
	_, err := s.conn.Exec(context.Background(), sql, args...)
	return s.errnoOf(sql, err)
}

func (s *scope) errnoOf(sql string, err error) fserr.Errno {
	s.Helper()
	if err == nil {
		return 0
	}
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		if e, ok := fserr.FromSQLState(pe.Code); ok {
			return e
		}
	}
	s.Fatalf("%s: %v", sql, err)
	return 0
}

func (s *scope) must(sql string, args ...any) {
	s.Helper()
	if e := s.errno(sql, args...); e != 0 {
		s.Fatalf("%s %v: %v", sql, args, e)
	}
}

// fails expects an errno.
func (s *scope) fails(want fserr.Errno, sql string, args ...any) {
	s.Helper()
	if e := s.errno(sql, args...); e != want {
		s.Errorf("%s %.200v: errno %d (%v), want %d (%v)", sql, args, e, e, want, want)
	}
}

// get returns the one value of a query.
func get[T any](s *scope, sql string, args ...any) T {
	s.Helper()
	return one[T](s, s.conn, sql, args...)
}

func one[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	rows, err := conn.Query(context.Background(), sql, args...)
	if err != nil {
		t.Fatalf("%s %v: %v", sql, args, err)
	}
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatalf("%s %v: %v", sql, args, err)
	}
	return v
}

// list returns the first column of a query.
func list[T any](s *scope, sql string, args ...any) []T {
	s.Helper()
	rows, err := s.conn.Query(context.Background(), sql, args...)
	if err != nil {
		s.Fatalf("%s %v: %v", sql, args, err)
	}
	v, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		s.Fatalf("%s %v: %v", sql, args, err)
	}
	return v
}

// root runs statements as a superuser.
func (s *scope) root(sql string, args ...any) {
	s.Helper()
	if _, err := s.admin.Exec(context.Background(), sql, args...); err != nil {
		s.Fatalf("%s %v: %v", sql, args, err)
	}
}

// stack seals the top layer and puts a new one on it, as a snapshot does.
func (s *scope) stack() {
	s.Helper()
	s.root(`WITH sealed AS (
			UPDATE pgbox.layer l SET sealed_at = now() FROM pgbox.sandbox s WHERE s.id = $1 AND l.id = s.layers[1]
		), top AS (
			INSERT INTO pgbox.layer DEFAULT VALUES RETURNING id
		)
		UPDATE pgbox.sandbox s SET layers = top.id || s.layers, version = s.version + 1 FROM top WHERE s.id = $1`, s.id)
}

// onChains runs a test on chains of 1 to 5 layers above the base. Its steps call between, which stacks
// layers until the chain is long enough, so that each prefix of the steps is sealed in some run.
func onChains(t *testing.T, f func(t *testing.T, s *scope, between func())) {
	t.Helper()
	for depth := 1; depth <= 5; depth++ {
		t.Run(map[int]string{1: "1 layer"}[depth]+map[bool]string{true: string(rune('0'+depth)) + " layers"}[depth > 1], func(t *testing.T) {
			t.Parallel()
			s := newScope(t)
			n := 1
			f(t, s, func() {
				if n < depth {
					s.stack()
					n++
				}
			})
		})
	}
}
