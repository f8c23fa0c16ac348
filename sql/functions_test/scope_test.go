package functions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgbox/pgbox/gateway/vfs"
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

// newScopeIn creates a sandbox in a database of the test's own, and enters it.
func newScopeIn(t testing.TB, url string) *scope {
	t.Helper()
	s := &scope{TB: t, conn: sqltest.Connect(t, sqltest.GatewayURL(url)), admin: sqltest.Connect(t, url)}
	s.id = sqltest.Create(t, s.conn)
	s.must("SELECT fs.use($1)", s.id)
	return s
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
func (s *scope) errno(sql string, args ...any) vfs.Errno {
	s.Helper()
	_, err := s.conn.Exec(context.Background(), sql, args...)
	return s.errnoOf(sql, err)
}

func (s *scope) errnoOf(sql string, err error) vfs.Errno {
	s.Helper()
	if err == nil {
		return 0
	}
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		if e, ok := vfs.FromSQLState(pe.Code); ok {
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
func (s *scope) fails(want vfs.Errno, sql string, args ...any) {
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
		t.Run(fmt.Sprintf("%d layers", depth), func(t *testing.T) {
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

// wants compares the one value of a query.
func wants[T comparable](s *scope, want T, sql string, args ...any) {
	s.Helper()
	if got := get[T](s, sql, args...); got != want {
		s.Errorf("%s %.200v: got %v, want %v", sql, args, got, want)
	}
}

// lists compares the values of the first column of a query.
func lists(s *scope, want []string, sql string, args ...any) {
	s.Helper()
	if got := list[string](s, sql, args...); !slices.Equal(got, want) {
		s.Errorf("%s %.200v:\n got %q\nwant %q", sql, args, got, want)
	}
}

// usage is used_bytes and used_inodes of the sandbox.
func (s *scope) usage() (bytes, inodes int64) {
	s.Helper()
	return one[int64](s, s.admin, "SELECT used_bytes FROM pgbox.sandbox WHERE id = $1", s.id),
		one[int64](s, s.admin, "SELECT used_inodes FROM pgbox.sandbox WHERE id = $1", s.id)
}

func (s *scope) wantUsage(bytes, inodes int64) {
	s.Helper()
	if b, i := s.usage(); b != bytes || i != inodes {
		s.Errorf("usage is %d bytes, %d inodes; want %d, %d", b, i, bytes, inodes)
	}
}

// lastChange is the newest row of the journal, as "op path path_to".
func (s *scope) lastChange() string {
	s.Helper()
	return one[string](s, s.admin,
		"SELECT concat_ws(' ', op, path, path_to) FROM pgbox.change WHERE sandbox_id = $1 ORDER BY version DESC, seq DESC LIMIT 1", s.id)
}

// version is the version of the sandbox.
func (s *scope) version() int64 {
	s.Helper()
	return one[int64](s, s.admin, "SELECT version FROM pgbox.sandbox WHERE id = $1", s.id)
}

// touches expects a statement to move mtime (and with it ctime) of some paths, and of others neither.
func (s *scope) touches(moved, still []string, sql string, args ...any) {
	s.Helper()
	const times = "SELECT mtime || ' ' || ctime FROM fs.lstat($1)"
	before := make(map[string]string)
	for _, p := range slices.Concat(moved, still) {
		before[p] = get[string](s, times, p)
	}
	s.must(sql, args...)
	for _, p := range moved {
		a, b := strings.Fields(before[p]), strings.Fields(get[string](s, times, p))
		if a[0] == b[0] || a[1] == b[1] {
			s.Errorf("%s %.100v: times of %s did not move", sql, args, p)
		}
	}
	for _, p := range still {
		if got := get[string](s, times, p); got != before[p] {
			s.Errorf("%s %.100v: times of %s moved", sql, args, p)
		}
	}
}
