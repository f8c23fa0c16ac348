package devdb_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/gateway/devdb"
	"github.com/pgbox/pgbox/sql/sqltest"
)

func start(t *testing.T, d string) *devdb.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := devdb.Start(ctx, devdb.Config{Dir: d, BinDir: os.Getenv("PGBOX_TEST_POSTGRES_BIN"), Listen: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

func query(t *testing.T, url, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var out string
	if err := conn.QueryRow(t.Context(), sql).Scan(&out); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out
}

func TestClusterKeepsItsDataAcrossRestarts(t *testing.T) {
	d := sqltest.ServerDir(t)
	c := start(t, d)
	if got := query(t, c.URL("postgres"), "SHOW wal_level"); got != "logical" {
		t.Fatalf("wal_level %s", got)
	}
	query(t, c.TCPURL("postgres"), "SELECT lo_create(4711)::text")
	c.Stop()
	if got := query(t, start(t, d).URL("postgres"),
		"SELECT count(*)::text FROM pg_largeobject_metadata WHERE oid = 4711"); got != "1" {
		t.Fatalf("%s rows", got)
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	d := sqltest.ServerDir(t)
	start(t, d)
	_, err := devdb.Start(t.Context(), devdb.Config{Dir: d, BinDir: os.Getenv("PGBOX_TEST_POSTGRES_BIN")})
	if !errors.Is(err, devdb.ErrInUse) {
		t.Fatalf("got %v", err)
	}
}

func TestServerNeverRunsAsRoot(t *testing.T) {
	d := sqltest.ServerDir(t)
	start(t, d)
	pid, _, _ := strings.Cut(string(read(t, filepath.Join(d, "data", "postmaster.pid"))), "\n")
	info, err := os.Stat(filepath.Join("/proc", pid))
	if err != nil {
		t.Fatal(err)
	}
	if info.Sys().(*syscall.Stat_t).Uid == 0 {
		t.Fatal("postgres runs as root")
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestServerEndsWithAKilledParentAndStartsAgain(t *testing.T) {
	d := sqltest.ServerDir(t)
	// A parent of its own: this test binary again, which starts the cluster and waits to be killed.
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHelperParent$")
	cmd.Env = append(os.Environ(), "DEVDB_PARENT_DIR="+d)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1)
	if _, err := out.Read(buf); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	query(t, start(t, d).URL("postgres"), "SELECT 'up'")
}

// TestHelperParent is the parent process of the test above; by itself it has nothing to do.
func TestHelperParent(t *testing.T) {
	d := os.Getenv("DEVDB_PARENT_DIR")
	if d == "" {
		return
	}
	start(t, d)
	if _, err := os.Stdout.WriteString("."); err != nil {
		t.Fatal(err)
	}
	<-t.Context().Done()
}

func TestStalePidFileIsNoObstacle(t *testing.T) {
	d := sqltest.ServerDir(t)
	c := start(t, d)
	file := filepath.Join(d, "data", "postmaster.pid")
	saved := read(t, file)
	c.Stop()
	_, rest, _ := strings.Cut(string(saved), "\n")
	for _, pid := range []string{"4194303", strconv.Itoa(os.Getpid())} { // nobody's, and somebody else's
		if err := os.WriteFile(file, []byte(pid+"\n"+rest), 0o644); err != nil {
			t.Fatal(err)
		}
		c := start(t, d)
		query(t, c.URL("postgres"), "SELECT 'up'")
		c.Stop()
	}
}

func TestClusterOfAnotherMajorVersionIsRefusedClearly(t *testing.T) {
	d := sqltest.ServerDir(t)
	start(t, d).Stop()
	if err := os.WriteFile(filepath.Join(d, "data", "PG_VERSION"), []byte("9.6\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := devdb.Start(t.Context(), devdb.Config{Dir: d, BinDir: os.Getenv("PGBOX_TEST_POSTGRES_BIN")})
	if err == nil || !strings.Contains(err.Error(), "made by PostgreSQL 9.6") {
		t.Fatalf("got %v", err)
	}
}

func TestDeadServerIsReported(t *testing.T) {
	d := sqltest.ServerDir(t)
	c := start(t, d)
	pid, _, _ := strings.Cut(string(read(t, filepath.Join(d, "data", "postmaster.pid"))), "\n")
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(n, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Exited():
	case <-time.After(30 * time.Second):
		t.Fatal("nobody noticed")
	}
}

// TestKilledServerLeavesNobodyBehind: a backend that does not notice the end of its server would keep the directory.
func TestKilledServerLeavesNobodyBehind(t *testing.T) {
	d := sqltest.ServerDir(t)
	c := start(t, d)
	conn, err := pgx.Connect(t.Context(), c.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	backend := int(conn.PgConn().PID())
	if err := syscall.Kill(backend, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(backend, syscall.SIGKILL) // it should be gone
		_ = conn.Close(context.Background())
	}()
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		c.Kill()
	}()
	select {
	case <-killed:
	case <-time.After(time.Minute):
		t.Fatal("the server is still there")
	}
	if got := query(t, start(t, d).URL("postgres"), "SELECT 'here'"); got != "here" {
		t.Fatal(got)
	}
}

func TestStandbyFollowsAndIsPromoted(t *testing.T) {
	primary := start(t, sqltest.ServerDir(t))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d := sqltest.ServerDir(t)
	standby, err := devdb.Start(ctx, devdb.Config{Dir: d, BinDir: primary.Binaries.Dir, Listen: true,
		Primary: primary.TCPURL("postgres")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { standby.Stop() })
	query(t, primary.URL("postgres"), "SELECT lo_create(4712)::text")
	there := func(c *devdb.Cluster) bool {
		return query(t, c.TCPURL("postgres"), "SELECT count(*)::text FROM pg_largeobject_metadata WHERE oid = 4712") == "1"
	}
	for !there(standby) {
		if ctx.Err() != nil {
			t.Fatal("the standby does not follow")
		}
	}
	// It is what it is after a crash too.
	standby.Kill()
	if standby, err = devdb.Start(ctx, devdb.Config{Dir: d, BinDir: primary.Binaries.Dir, Listen: true,
		Primary: primary.TCPURL("postgres")}); err != nil {
		t.Fatal(err)
	}
	if query(t, standby.URL("postgres"), "SELECT pg_is_in_recovery()::text") != "true" || !there(standby) {
		t.Fatal("no standby any more")
	}
	primary.Stop()
	if err := standby.Promote(ctx); err != nil {
		t.Fatal(err)
	}
	query(t, standby.TCPURL("postgres"), "SELECT lo_create(4713)::text")
}

func TestPoolerPoolsTransactions(t *testing.T) {
	c := start(t, sqltest.ServerDir(t))
	for _, target := range []string{c.URL("postgres"), c.TCPURL("postgres")} {
		p, err := devdb.StartPooler(t.Context(), devdb.PoolerConfig{Dir: sqltest.ServerDir(t), Target: target,
			Role: "pg_monitor", PoolSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Stop()
		u := p.URL("postgres") + "?default_query_exec_mode=exec"
		a, b := query(t, u, "SELECT pg_backend_pid()::text"), query(t, u, "SELECT pg_backend_pid()::text")
		if a != b {
			t.Errorf("two connections came from a pool of one: %s and %s", a, b)
		}
		if role := query(t, u, "SELECT current_user::text"); role != "pg_monitor" {
			t.Errorf("pooled connections run as %s", role)
		}
		p.Stop()
		<-p.Exited()
	}
}
