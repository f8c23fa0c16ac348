package replication_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/gateway/devdb"
	"github.com/pgbox/pgbox/gateway/devdb/link"
	"github.com/pgbox/pgbox/replication"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// patience is how long a test waits for what has to happen: much longer than it takes on the busiest machine.
const patience = time.Minute

// scribe writes down what it hears.
type scribe struct {
	mu     sync.Mutex
	lines  []string
	refuse string                      // a table whose changes are not understood
	during func(c *replication.Commit) // called while a commit is being applied; may be nil
	news   chan struct{}
}

func newScribe() *scribe { return &scribe{news: make(chan struct{}, 1)} }

func (s *scribe) note(format string, args ...any) {
	s.mu.Lock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
	s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
}

func (s *scribe) Reset(reason string)      { s.note("reset %s", reason) }
func (s *scribe) Begin(*replication.Begin) { s.note("begin") }
func (s *scribe) Commit(c *replication.Commit) {
	if s.during != nil {
		s.during(c)
	}
	s.note("commit")
}

func (s *scribe) Change(c *replication.Change) error {
	if c.Relation.Name == s.refuse {
		return errors.New("refused")
	}
	word := map[replication.Op]string{replication.Inserted: "insert", replication.Updated: "update",
		replication.Deleted: "delete"}[c.Op]
	s.note("%s %s%s%s", word, c.Relation.Name, show(c.Old), show(c.New))
	return nil
}

// show prints a row of texts and int4s.
func show(t replication.Tuple) string {
	if t == nil {
		return ""
	}
	out := make([]string, len(t))
	for i, v := range t {
		switch {
		case v.Kind == replication.Null:
			out[i] = "null"
		case v.Kind == replication.Unchanged:
			out[i] = "unchanged"
		case len(v.Data) == 4 && v.Data[0] == 0:
			out[i] = fmt.Sprint(v.Data[3])
		case len(v.Data) > 20:
			out[i] = fmt.Sprintf("%d bytes", len(v.Data))
		default:
			out[i] = string(v.Data)
		}
	}
	return " (" + strings.Join(out, ", ") + ")"
}

// wait returns once the last lines are those; before, it fails at the test's deadline.
func (s *scribe) wait(t *testing.T, want ...string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		n := len(s.lines)
		ok := n >= len(want) && slices.Equal(s.lines[n-len(want):], want)
		all := strings.Join(s.lines, "\n")
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-s.news:
		case <-deadline:
			t.Fatalf("heard\n%s\n\nexpected at the end\n%s", all, strings.Join(want, "\n"))
		}
	}
}

// seen reports whether a line was heard.
func (s *scribe) seen(line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.lines, line)
}

// count is how often a line was heard.
func (s *scribe) count(line string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lines {
		if l == line {
			n++
		}
	}
	return n
}

// database is one with a table t and a publication p of it.
func database(t *testing.T) (string, *pgx.Conn) {
	t.Helper()
	u := sqltest.EmptyDatabase(t)
	conn := sqltest.Connect(t, u)
	t.Cleanup(func() { unused(t, conn) })
	do(t, conn, "CREATE TABLE t (k int PRIMARY KEY, v text)", "ALTER TABLE t ALTER v SET STORAGE EXTERNAL",
		"CREATE PUBLICATION p FOR TABLE t")
	return u, conn
}

// unused returns once the server has noticed that the listeners are gone.
func unused(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for n := 1; n > 0; {
		if err := conn.QueryRow(context.Background(),
			"SELECT count(*) FROM pg_replication_slots WHERE database = current_database()").Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
}

func do(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := conn.Exec(context.Background(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// follow runs a listener until the test ends.
func follow(t *testing.T, u string, s *scribe) *replication.Listener {
	t.Helper()
	l := replication.New(config(u, s))
	run(t, l)
	s.wait(t, "reset connected")
	awaitLive(t, l)
	return l
}

// awaitLive returns when the listener's stream is live, which it is just after the handler was reset.
func awaitLive(t *testing.T, l *replication.Listener) {
	t.Helper()
	eventually(t, l, "a stream", func() bool { return l.State().Live })
}

func eventually(t *testing.T, l *replication.Listener, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s: %+v", what, l.State())
		}
	}
}

// reached waits until everything committed so far has been handed over and is counted.
func reached(t *testing.T, l *replication.Listener, conn *pgx.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := l.WaitFor(ctx, flushed(t, conn)); err != nil {
		t.Fatal(err)
	}
}

func config(u string, s *scribe) replication.Config {
	return replication.Config{
		URL: u, Publication: "p", Tables: []string{"public.t"}, Handler: s,
		RetryMin: 10 * time.Millisecond, RetryMax: 100 * time.Millisecond, FindingsRetry: 50 * time.Millisecond,
	}
}

func run(t *testing.T, l *replication.Listener) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); l.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

// flushed is how far the server's log is on disk.
func flushed(t *testing.T, conn *pgx.Conn) replication.LSN {
	t.Helper()
	var s string
	if err := conn.QueryRow(context.Background(), "SELECT pg_current_wal_flush_lsn()::text").Scan(&s); err != nil {
		t.Fatal(err)
	}
	at, err := replication.ParseLSN(s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestEveryChangeIsHeardInOrder(t *testing.T) {
	u, conn := database(t)
	noLeak(t)
	s := newScribe()
	l := follow(t, u, s)
	do(t, conn, "INSERT INTO t VALUES (1, repeat('x', 5000))")
	s.wait(t, "begin", "insert t (1, 5000 bytes)", "commit")
	// A value out of line that does not change is not sent; an old key is, when it changed.
	do(t, conn, "UPDATE t SET k = 2 WHERE k = 1")
	s.wait(t, "begin", "update t (1, null) (2, unchanged)", "commit")
	do(t, conn, "BEGIN", "UPDATE t SET v = 'y'", "SAVEPOINT s", "INSERT INTO t VALUES (9, 'undone')", "ROLLBACK TO s",
		"DELETE FROM t", "COMMIT")
	s.wait(t, "begin", "update t (2, y)", "delete t (2, null)", "commit")
	reached(t, l, conn)
	if at, live := l.Applied(); !live || at == 0 {
		t.Fatalf("applied %s, live %v", at, live)
	}
	if st := l.State(); st.Commits != 3 || st.Changes != 4 || st.Streams != 1 || st.Slot == "" || st.System == "" ||
		st.Timeline == 0 {
		t.Fatalf("%+v", st)
	}
}

// What is not applied yet counts as such, and so is neither waited for in vain nor acknowledged.
func TestCommitCountsWhenItIsApplied(t *testing.T) {
	u, conn := database(t)
	s := newScribe()
	var l *replication.Listener
	live := make(chan struct{})
	s.during = func(c *replication.Commit) {
		<-live
		if at := l.State().Applied; at >= c.End {
			t.Errorf("%v counts as applied within the commit that ends at %v", at, c.End)
		}
	}
	l = follow(t, u, s)
	close(live)
	do(t, conn, "INSERT INTO t VALUES (1, 'x')", "INSERT INTO t VALUES (2, 'y')")
	reached(t, l, conn)
	if n := s.count("commit"); n < 2 {
		t.Fatalf("%d commits", n)
	}
}

func TestWaitForCommitsOfOthersAndOfOtherDatabases(t *testing.T) {
	u, conn := database(t)
	other := sqltest.Connect(t, sqltest.EmptyDatabase(t))
	do(t, other, "CREATE TABLE t (k int)")
	s := newScribe()
	l := follow(t, u, s)
	// A server that is not asked speaks after half a minute, and each time of forty would cost that.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for i := range 20 {
		do(t, conn, fmt.Sprintf("INSERT INTO t VALUES (%d, 'v')", i))
		if err := l.WaitFor(ctx, flushed(t, conn)); err != nil {
			t.Fatal(err)
		}
		if !s.seen(fmt.Sprintf("insert t (%d, v)", i)) {
			t.Fatalf("row %d was not heard before its position was reached", i)
		}
		// Nothing of this comes over the stream, and a keepalive has to be asked for.
		do(t, other, "INSERT INTO t VALUES (1)")
		if err := l.WaitFor(ctx, flushed(t, other)); err != nil {
			t.Fatal(err)
		}
	}
	short, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if err := l.WaitFor(short, 1<<62); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a position that is never reached: %v", err)
	}
}

func TestFreshIsProvenByABarrier(t *testing.T) {
	u, conn := database(t)
	s := newScribe()
	l := follow(t, u, s)
	eventually(t, l, "freshness", func() bool { return l.Fresh(200 * time.Millisecond) })
	// A transaction that keeps the listener from going on keeps it from being fresh, too.
	hold := make(chan struct{})
	l2 := replication.New(replication.Config{URL: u, Publication: "p", Tables: []string{"public.t"},
		Handler: &holder{scribe: newScribe(), hold: hold}})
	run(t, l2)
	fresh := func() bool { return l2.Fresh(100 * time.Millisecond) }
	eventually(t, l2, "freshness", fresh)
	do(t, conn, "INSERT INTO t VALUES (1, 'v')")
	eventually(t, l2, "the end of freshness", func() bool { return !fresh() })
	eventually(t, l2, "a lag", func() bool { return l2.State().Lag > 100*time.Millisecond })
	if fresh() {
		t.Error("fresh although a commit was not applied")
	}
	close(hold)
	eventually(t, l2, "freshness after the commit was applied", fresh)
}

// holder is a scribe that is held up at commits.
type holder struct {
	*scribe
	hold chan struct{}
}

func (h *holder) Commit(c *replication.Commit) { <-h.hold; h.scribe.Commit(c) }

func TestNewStreamAfterTheWalsenderWasKilled(t *testing.T) {
	u, conn := database(t)
	noLeak(t)
	s := newScribe()
	l := follow(t, u, s)
	before, _ := l.Applied()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	waited := make(chan error, 1)
	go func() { waited <- l.WaitFor(ctx, 1<<62) }()
	slot := l.State().Slot
	do(t, conn, "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '"+slot+"'")
	s.wait(t, "reset lost", "reset connected")
	if err := <-waited; !errors.Is(err, replication.ErrInterrupted) {
		t.Fatalf("who waited for a position of the old stream: %v", err)
	}
	do(t, conn, "INSERT INTO t VALUES (1, 'v')")
	s.wait(t, "begin", "insert t (1, v)", "commit")
	reached(t, l, conn)
	after, live := l.Applied()
	if st := l.State(); !live || after <= before || st.Slot == slot || st.Streams != 2 {
		t.Fatalf("%s after %s, %+v", after, before, st)
	}
	// The backend of the old slot says goodbye before it drops it.
	eventually(t, l, "the end of the old slot", func() bool {
		var left int
		if err := conn.QueryRow(ctx,
			"SELECT count(*) FROM pg_replication_slots WHERE database = current_database()").Scan(&left); err != nil {
			t.Fatal(err)
		}
		return left == 1
	})
}

// A stream that is cut again and again comes back as soon the last time as the first.
func TestPausesDoNotGrowWhileStreamsWork(t *testing.T) {
	u, conn := database(t)
	s := newScribe()
	c := config(u, s)
	c.RetryMax = time.Hour // what the pauses would come to
	l := replication.New(c)
	run(t, l)
	for i := range 16 {
		s.wait(t, "reset connected")
		awaitLive(t, l)
		do(t, conn, fmt.Sprintf("INSERT INTO t VALUES (%d, 'v')", i))
		reached(t, l, conn)
		do(t, conn, "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '"+
			l.State().Slot+"'")
		eventually(t, l, "the cut", func() bool { return s.count("reset lost") > i })
	}
	s.wait(t, "reset lost", "reset connected")
}

func TestTruncateEmptiesTheCache(t *testing.T) {
	u, conn := database(t)
	s := newScribe()
	follow(t, u, s)
	do(t, conn, "TRUNCATE t")
	s.wait(t, "begin", "reset truncate", "commit")
}

func TestChangedTableEmptiesTheCache(t *testing.T) {
	u, conn := database(t)
	s := newScribe()
	follow(t, u, s)
	do(t, conn, "INSERT INTO t VALUES (1, 'v')", "ALTER TABLE t ADD w text", "INSERT INTO t VALUES (2, 'v', 'w')")
	s.wait(t, "begin", "reset schema", "insert t (2, v, w)", "commit")
}

func TestWhatIsNotUnderstoodEmptiesTheCache(t *testing.T) {
	u, conn := database(t)
	s := newScribe()
	s.refuse = "t"
	follow(t, u, s)
	do(t, conn, "INSERT INTO t VALUES (1, 'v'), (2, 'v')")
	s.wait(t, "begin", "reset unknown", "commit")
}

func TestMissingPreconditionIsFoundAndFollowingBeginsOnceItIsThere(t *testing.T) {
	u, conn := database(t)
	do(t, conn, "ALTER PUBLICATION p DROP TABLE t")
	s := newScribe()
	l := replication.New(config(u, s))
	run(t, l)
	<-l.Tried()
	st := l.State()
	if st.Live || len(st.Findings) != 1 || !strings.Contains(st.Findings[0].Advice,
		`ALTER PUBLICATION "p" ADD TABLE public.t`) {
		t.Fatalf("%+v", st)
	}
	do(t, conn, strings.ReplaceAll(st.Findings[0].Advice, "public.t", "t"))
	s.wait(t, "reset connected")
	awaitLive(t, l)
	if st := l.State(); st.Err != nil || st.Findings != nil {
		t.Fatalf("%+v", st)
	}
}

// Every advice is SQL that mends what was found.
func TestAdviceMends(t *testing.T) {
	u, conn := database(t)
	for _, breaking := range []string{
		"ALTER PUBLICATION p SET (publish = 'insert')",
		"ALTER PUBLICATION p SET TABLE t (k)",
		"ALTER PUBLICATION p SET TABLE t WHERE (k > 1)",
		"ALTER TABLE t REPLICA IDENTITY NOTHING",
	} {
		do(t, conn, breaking)
		found, err := replication.Preflight(t.Context(), u, "p", []string{"public.t"})
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v, %v", breaking, found, err)
		}
		advice, _, _ := strings.Cut(found[0].Advice, " (it needs")
		do(t, conn, advice)
		if found, err = replication.Preflight(t.Context(), u, "p", []string{"public.t"}); err != nil || len(found) > 0 {
			t.Fatalf("%s, mended by %s: %v, %v", breaking, advice, found, err)
		}
	}
	found, err := replication.Preflight(t.Context(), u, "missing", []string{"public.t"})
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
}

func TestUserWithoutReplicationIsTold(t *testing.T) {
	u, conn := database(t)
	do(t, conn, "DROP ROLE IF EXISTS plain_user", "CREATE ROLE plain_user LOGIN")
	t.Cleanup(func() { do(t, conn, "DROP ROLE plain_user") })
	p, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	p.User = url.User("plain_user")
	found, err := replication.Preflight(t.Context(), p.String(), "p", []string{"public.t"})
	if err != nil || len(found) != 1 || found[0].Advice != `ALTER ROLE "plain_user" REPLICATION` {
		t.Fatalf("%v, %v", found, err)
	}
}

// An open transaction holds up the creation of a slot; once it is over, the stream begins.
func TestOpenTransactionDelaysTheStreamOnly(t *testing.T) {
	u, conn := database(t)
	do(t, conn, "BEGIN", "INSERT INTO t VALUES (1, 'v')")
	s := newScribe()
	l := replication.New(config(u, s))
	run(t, l)
	select {
	case <-l.Tried(): // after the lock timeout
	case <-time.After(patience):
		t.Fatal("the attempt does not end while a transaction is open")
	}
	if st := l.State(); st.Live || st.Err == nil {
		t.Fatalf("%+v", st)
	}
	do(t, conn, "COMMIT")
	s.wait(t, "reset connected")
}

// A server that is there but says nothing, as behind a dead network, is given up.
func TestSilentServerIsGivenUp(t *testing.T) {
	u, _ := database(t)
	noLeak(t)
	wire, err := link.New("postgres")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(wire.Close)
	through, err := wire.ToPostgres(u)
	if err != nil {
		t.Fatal(err)
	}
	s := newScribe()
	c := config(through, s)
	c.StatusInterval = 500 * time.Millisecond
	l := replication.New(c)
	run(t, l)
	s.wait(t, "reset connected")
	wire.Freeze(true, true)
	s.wait(t, "reset lost")
	wire.Heal()
	s.wait(t, "reset lost", "reset connected")
}

// The server takes the slot of a listener that is too far behind, and goes on without it: so does the listener, with
// another.
func TestSlotLostToMaxSlotWALKeepSizeIsReplaced(t *testing.T) {
	cluster, err := devdb.Start(t.Context(), devdb.Config{Dir: sqltest.ServerDir(t),
		BinDir: os.Getenv("PGBOX_TEST_POSTGRES_BIN"), Settings: map[string]string{"max_slot_wal_keep_size": "1MB",
			"wal_keep_size": "0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	u := cluster.URL("postgres")
	conn := sqltest.Connect(t, u)
	do(t, conn, "CREATE TABLE t (k int PRIMARY KEY, v text)", "CREATE PUBLICATION p FOR TABLE t")
	h := &holder{scribe: newScribe(), hold: make(chan struct{})}
	c := config(u, h.scribe)
	c.Handler = h
	l := replication.New(c)
	run(t, l)
	h.wait(t, "reset connected")
	slot := l.State().Slot
	do(t, conn, "INSERT INTO t VALUES (1, 'v')")
	h.wait(t, "begin", "insert t (1, v)")
	// Held up in that commit, the listener acknowledges nothing, while the log grows by whole segments.
	for i := range 4 {
		do(t, conn, fmt.Sprintf("INSERT INTO t VALUES (%d, 'v')", 10+i), "SELECT pg_switch_wal()", "CHECKPOINT")
	}
	for n := 1; n > 0; {
		do(t, conn, "CHECKPOINT")
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_replication_slots WHERE slot_name = $1 AND active",
			slot).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	close(h.hold)
	h.wait(t, "reset lost", "reset connected")
	do(t, conn, "INSERT INTO t VALUES (2, 'v')")
	h.wait(t, "begin", "insert t (2, v)", "commit")
	if st := l.State(); st.Slot == slot || st.Streams != 2 {
		t.Fatalf("%+v", st)
	}
}

// A server that crashes and comes back.
func TestServerRestart(t *testing.T) {
	cfg := devdb.Config{Dir: sqltest.ServerDir(t), BinDir: os.Getenv("PGBOX_TEST_POSTGRES_BIN")}
	cluster, err := devdb.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Stop() })
	u := cluster.URL("postgres")
	conn := sqltest.Connect(t, u)
	do(t, conn, "CREATE TABLE t (k int PRIMARY KEY, v text)", "CREATE PUBLICATION p FOR TABLE t")
	s := newScribe()
	l := follow(t, u, s)
	cluster.Stop()
	s.wait(t, "reset lost")
	if _, live := l.Applied(); live || l.State().Err == nil && l.State().Live {
		t.Fatalf("%+v", l.State())
	}
	if cluster, err = devdb.Start(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	s.wait(t, "reset lost", "reset connected")
	do(t, sqltest.Connect(t, u), "INSERT INTO t VALUES (1, 'v')")
	s.wait(t, "begin", "insert t (1, v)", "commit")
}
