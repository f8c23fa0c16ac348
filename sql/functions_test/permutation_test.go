package functions_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// session runs one transaction, step by step; a step may wait for the other session.
type session struct {
	*scope
	steps []string // BEGIN, the statement, COMMIT
	pid   int32
	next  int
	busy  chan vfs.Errno // a step that has not returned yet
	errno vfs.Errno
}

func (s *session) start(ctx context.Context) {
	sql := s.steps[s.next]
	s.next++
	done := make(chan vfs.Errno, 1)
	s.busy = done
	go func() {
		_, err := s.conn.Exec(ctx, sql)
		if err == nil {
			done <- 0
			return
		}
		if e, ok := vfs.FromSQLState(code(err)); ok {
			done <- e
			return
		}
		done <- 999
	}()
}

// settle waits until the step has returned or hangs on a lock, and reports whether it returned. It asks the server, but
// gives the step a moment first: the question stops every backend that takes a lock.
func (s *session) settle() bool {
	for {
		select {
		case e := <-s.busy:
			s.busy = nil
			if e != 0 && s.errno == 0 {
				s.errno = e
			}
			return true
		case <-time.After(time.Millisecond):
		}
		if one[bool](s, s.admin, "SELECT cardinality(pg_blocking_pids($1)) > 0", s.pid) {
			return false
		}
	}
}

// interleavings lists every order of two sequences of n steps, as which session (0 or 1) makes the next step.
func interleavings(a, b int) [][]int {
	if a == 0 && b == 0 {
		return [][]int{nil}
	}
	var list [][]int
	if a > 0 {
		for _, rest := range interleavings(a-1, b) {
			list = append(list, append([]int{0}, rest...))
		}
	}
	if b > 0 {
		for _, rest := range interleavings(a, b-1) {
			list = append(list, append([]int{1}, rest...))
		}
	}
	return list
}

// outcome is what two statements left behind.
func outcome(s *scope, a, b vfs.Errno) string {
	var text strings.Builder
	fmt.Fprintf(&text, "errnos %d %d\n", a, b)
	dump := func(title string) {
		fmt.Fprintf(&text, "%s\n", title)
		for _, dir := range get[[]string](s,
			"SELECT coalesce(array_agg('/' || name), '{}') FROM fs.readdir('/') WHERE name LIKE 'p%' AND kind = 4") {
			for _, e := range (target{s}).dump(dir) {
				e.Attr.Mtime = 0
				fmt.Fprintln(&text, e)
			}
		}
	}
	dump("tree")
	id := s.id
	for _, fork := range list[uuid.UUID](&scope{TB: s, conn: s.admin},
		"SELECT id FROM pgbox.sandbox WHERE name = $1 ORDER BY created_at", "fork of "+id.String()) {
		s.must("SELECT fs.use($1)", fork)
		dump("fork")
		lists(s, nil, "SELECT f::text FROM fs.fsck() f")
	}
	s.must("SELECT fs.use($1)", id)
	lists(s, nil, "SELECT f::text FROM fs.fsck() f")
	return text.String()
}

// Two sessions in all interleavings of BEGIN, statement, COMMIT: results and trees are those of one after the other, in
// one of the two orders. "$id" in a statement is the sandbox.
func TestPermutations(t *testing.T) {
	t.Parallel()
	setup := []string{
		"SELECT fs.mkdir('/p/a', p_parents => true), fs.mkdir('/p/b')",
		"SELECT fs.write_file('/p/f', 'file f'), fs.write_file('/p/g', 'file g')",
	}
	for _, c := range []struct{ name, a, b string }{
		{"mv into each other", "SELECT fs.mv('/p/a', '/p/b/a')", "SELECT fs.mv('/p/b', '/p/a/b')"},
		{"mv same source", "SELECT fs.mv('/p/f', '/p/x')", "SELECT fs.mv('/p/f', '/p/y')"},
		{"mv same target", "SELECT fs.mv('/p/f', '/p/x')", "SELECT fs.mv('/p/g', '/p/x')"},
		{"mv swap", "SELECT fs.mv('/p/f', '/p/g')", "SELECT fs.mv('/p/g', '/p/f')"},
		{"mv over rmdir", "SELECT fs.mv('/p/a', '/p/b')", "SELECT fs.rmdir('/p/b')"},
		{"rm and create in it", "SELECT fs.rm('/p/a')", "SELECT fs.write_file('/p/a/new', 'x')"},
		{"rm recursive and create in it", "SELECT fs.rm('/p/a', true)", "SELECT fs.mkdir('/p/a/x/y', p_parents => true)"},
		{"rm and write", "SELECT fs.unlink('/p/f')", "SELECT fs.write_file('/p/f', 'again')"},
		{"rm and link", "SELECT fs.unlink('/p/f')", "SELECT fs.link('/p/f', '/p/hard')"},
		{"create and create", "SELECT fs.mkdir('/p/new')", "SELECT fs.symlink('a', '/p/new')"},
		{"write and write", "SELECT fs.write_file('/p/f', 'one')", "SELECT fs.write_file('/p/f', 'the other')"},
		{"append and append", "SELECT fs.append_file('/p/f', 'one')", "SELECT fs.append_file('/p/f', 'two')"},
		{"append and truncate", "SELECT fs.append_file('/p/f', 'one')", "SELECT fs.truncate('/p/f', 2)"},
		{"new files", "SELECT fs.write_file('/p/new', 'one')", "SELECT fs.write_file('/p/other', 'one')"},
		{"cp and write", "SELECT fs.cp('/p', '/pcopy', true)", "SELECT fs.write_file('/p/f', 'later')"},
		{"fork and write", "SELECT fs.fork('$id', NULL, 'fork of $id')", "SELECT fs.append_file('/p/f', 'more')"},
		{"fork and mv", "SELECT fs.fork('$id', NULL, 'fork of $id')", "SELECT fs.mv('/p/a', '/p/b/a')"},
		{"fork and fork", "SELECT fs.fork('$id', NULL, 'fork of $id')", "SELECT fs.fork('$id', NULL, 'fork of $id')"},
		{"snapshot and rm", "SELECT fs.snapshot('$id', 's')", "SELECT fs.rm('/p', true)"},
		{"flatten and write", "SELECT fs.flatten('$id')", "SELECT fs.append_file('/p/f', 'more')"},
		{"flatten and rm", "SELECT fs.flatten('$id')", "SELECT fs.rm('/p/f')"},
		{"gc and write", "SELECT fs.gc('0')", "SELECT fs.write_file('/p/new', 'garbage')"},
		{"gc and append", "SELECT fs.gc('0')", "SELECT fs.append_file('/p/f', ' and garbage')"},
		{"gc and rm", "SELECT fs.gc('0')", "SELECT fs.rm('/p/f')"},
		{"gc and fork", "SELECT fs.gc('0')", "SELECT fs.fork('$id', NULL, 'fork of $id')"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// gc looks at every sandbox there is, so each case has a database.
			url := sqltest.Database(t)
			admin := sqltest.Connect(t, url)
			connect := func() *scope {
				return &scope{TB: t, conn: sqltest.Connect(t, sqltest.GatewayURL(url)), admin: admin}
			}
			watch := connect()
			sessions := [2]*session{{scope: connect()}, {scope: connect()}}
			for _, s := range sessions {
				s.pid = get[int32](s.scope, "SELECT pg_backend_pid()")
			}
			// fresh makes the sandbox that each order begins with: three layers, and content that nothing refers to.
			fresh := func() {
				id := get[uuid.UUID](watch,
					"SELECT id FROM fs.create_sandbox(NULL, 'test', 'owner', 'permutation', NULL, NULL, NULL, NULL, NULL, NULL)")
				watch.id = id
				watch.must("SELECT fs.use($1)", id)
				for _, sql := range setup {
					watch.must(sql)
					watch.stack()
				}
				if strings.HasPrefix(c.name, "gc") {
					// What the order before left would refer to the content that is to be garbage.
					watch.root("SELECT fs.drop_sandbox(id) FROM pgbox.sandbox WHERE deleted_at IS NULL AND id <> $1", id)
					watch.root("SELECT fs.gc('0')")
					if n := one[int](t, admin,
						"SELECT count(*)::int FROM pgbox.blob WHERE data IN ('garbage', 'file f and garbage')"); n != 0 {
						t.Fatal("gc left garbage")
					}
				}
				watch.must("SELECT fs.put_blobs($1, ARRAY['garbage', 'file f and garbage']::bytea[])", id)
				for i, s := range sessions {
					s.id, s.next, s.errno = id, 0, 0
					s.must("SELECT fs.use($1)", id)
					s.steps = []string{"BEGIN", strings.ReplaceAll([]string{c.a, c.b}[i], "$id", id.String()), "COMMIT"}
				}
			}
			var serial []string
			for _, order := range [][]int{{0, 0, 0, 1, 1, 1}, {1, 1, 1, 0, 0, 0}} {
				fresh()
				for _, i := range order {
					sessions[i].start(t.Context())
					if !sessions[i].settle() {
						t.Fatal("a session alone is blocked")
					}
				}
				serial = append(serial, outcome(watch, sessions[0].errno, sessions[1].errno))
			}
			waited := false
			for _, order := range interleavings(3, 3) {
				fresh()
				queue := slices.Clone(order)
				for len(queue) > 0 {
					// A session that waits for a lock makes its next step when it got it.
					i := queue[0]
					if s := sessions[i]; s.busy != nil && !s.settle() {
						at := slices.Index(queue, 1-i)
						if at < 0 {
							t.Fatalf("order %v: both wait", order)
						}
						queue = slices.Delete(queue, at, at+1)
						i = 1 - i
					} else {
						queue = queue[1:]
					}
					s := sessions[i]
					s.start(t.Context())
					if !s.settle() {
						waited = true
					}
				}
				for _, s := range sessions {
					if s.busy != nil && !s.settle() {
						t.Fatalf("order %v: a session waits for ever", order)
					}
				}
				got := outcome(watch, sessions[0].errno, sessions[1].errno)
				if !slices.Contains(serial, got) {
					t.Fatalf("order %v:\n%s\nis neither of the serial orders:\n%s\n%s", order, got, serial[0], serial[1])
				}
			}
			if !waited && !strings.HasPrefix(c.name, "gc") {
				t.Error("no session ever waited for the other: nothing was interleaved")
			}
		})
	}
}
