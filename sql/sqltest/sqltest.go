package sqltest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgbox/pgbox/gateway/devdb"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/migrate"
)

// Main runs the tests of a package and then stops and removes what they
// started, after an interrupt too. Then it calls after.
func Main(m *testing.M, after ...func()) {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		teardown()
		os.Exit(130)
	}()
	status := run(m)
	for _, f := range after {
		f()
	}
	os.Exit(status)
}

func run(m *testing.M) int {
	defer teardown()
	return m.Run()
}

// server is the PostgreSQL of this test process.
type server struct {
	cluster  *devdb.Cluster // nil when DATABASE_URL names a server
	dir      string
	admin    string // superuser's URL of a database that always exists
	template string
	shared   string   // name of the package's database
	made     sync.Map // names of the databases made, to be dropped on a server that stays
}

var (
	started  atomic.Pointer[server]
	start    = sync.OnceValues(boot)
	teardown = sync.OnceFunc(func() {
		for target := range maps.Clone(poolers) {
			endPooler(target)
		}
		s := started.Load()
		if s == nil {
			return
		}
		if s.cluster != nil {
			s.cluster.Stop()
			_ = os.RemoveAll(s.dir)
			return
		}
		s.made.Range(func(name, _ any) bool {
			_ = s.exec(context.Background(), "DROP DATABASE IF EXISTS "+name.(string)+" WITH (FORCE)")
			return true
		})
	})
	counter atomic.Int64
)

func boot() (*server, error) {
	ctx := context.Background()
	s := &server{admin: os.Getenv("DATABASE_URL")}
	if s.admin == "" {
		removeStale()
		dir, err := os.MkdirTemp("", "pgbox-test-")
		if err != nil {
			return nil, err
		}
		s.dir = dir
		s.cluster, err = devdb.Start(ctx, devdb.Config{Dir: dir, BinDir: os.Getenv("PGBOX_TEST_POSTGRES_BIN")})
		if err != nil {
			_ = os.RemoveAll(dir)
			return nil, err
		}
		s.admin = s.cluster.URL("postgres")
	}
	started.Store(s)
	if err := s.makeTemplate(ctx); err != nil {
		return nil, err
	}
	var err error
	s.shared, err = s.clone(ctx, s.template)
	return s, err
}

// removeStale removes clusters whose test process was killed: their servers
// shut down with it, and nobody holds their locks.
func removeStale() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "pgbox-test-*")) // the pattern is well-formed
	for _, dir := range dirs {
		f, err := os.Open(filepath.Join(dir, "lock"))
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			if _, err := os.Stat(filepath.Join(dir, "data", "postmaster.pid")); errors.Is(err, os.ErrNotExist) {
				_ = os.RemoveAll(dir)
			}
		}
		_ = f.Close()
	}
}

// makeTemplate migrates the template database of this build, once per server.
func (s *server) makeTemplate(ctx context.Context) error {
	id, err := migrate.BuildID()
	if err != nil {
		return err
	}
	s.template = "pgbox_template_" + id[:12]
	conn, err := pgx.Connect(ctx, s.admin)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	// Other test processes may want the same template on the same server.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtext('pgbox sqltest'))"); err != nil {
		return err
	}
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)",
		s.template).Scan(&exists); err != nil || exists {
		return err
	}
	temp := s.template + "_new"
	for _, text := range []string{"DROP DATABASE IF EXISTS " + temp + " WITH (FORCE)", "CREATE DATABASE " + temp} {
		if _, err := conn.Exec(ctx, text); err != nil {
			return err
		}
	}
	if _, err := migrate.Up(ctx, s.url(temp), migrate.Options{}); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+temp+" RENAME TO "+s.template)
	return err
}

func (s *server) exec(ctx context.Context, text string) error {
	conn, err := pgx.Connect(ctx, s.admin)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, text)
	return err
}

// clone makes a database from a template and returns its name.
func (s *server) clone(ctx context.Context, template string) (string, error) {
	name := fmt.Sprintf("pgbox_test_%d_%d", os.Getpid(), counter.Add(1))
	s.made.Store(name, true)
	return name, s.exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+template)
}

// url returns the superuser's URL of a database.
func (s *server) url(database string) string {
	u, err := url.Parse(s.admin)
	if err != nil {
		panic("sqltest: DATABASE_URL is not a URL")
	}
	u.Path = "/" + database
	return u.String()
}

func get(t testing.TB) *server {
	t.Helper()
	s, err := start()
	if err != nil {
		t.Fatalf("sqltest: %v", err)
	}
	return s
}

// GatewayURL turns a superuser's URL into one whose sessions run as pgbox_gateway.
func GatewayURL(connString string) string { return RoleURL(connString, "pgbox_gateway") }

// RoleURL turns a superuser's URL into one whose sessions run as role.
func RoleURL(connString, role string) string {
	u, err := url.Parse(connString)
	if err != nil {
		panic("sqltest: not a URL")
	}
	q := u.Query()
	q.Set("role", role)
	u.RawQuery = q.Encode()
	return u.String()
}

// ServerDir is an empty directory for a server's data until the test ends. It is not t.TempDir: the parents of that are
// closed to the unprivileged user that servers run as.
func ServerDir(t testing.TB) string {
	t.Helper()
	d, err := os.MkdirTemp("", "pgbox-server-") // a name that removeStale does not look at
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(d); err != nil {
			t.Error(err)
		}
	})
	return d
}

// URL returns the superuser's URL of the package's shared database.
func URL(t testing.TB) string {
	t.Helper()
	s := get(t)
	return s.url(s.shared)
}

var (
	poolOnce sync.Once
	pool     *pgxpool.Pool
	errPool  error
)

// ServingURL turns a superuser's URL into the one by which a gateway is to reach that database: the same, or, when
// PGBOX_TEST_POOLER is set, one through a PgBouncer that pools transactions and whose sessions run as pgbox_gateway.
func ServingURL(t testing.TB, connString string) string {
	t.Helper()
	if os.Getenv("PGBOX_TEST_POOLER") == "" {
		return connString
	}
	return PooledURL(t, connString)
}

// PooledURL turns a superuser's URL into one through such a PgBouncer.
func PooledURL(t testing.TB, connString string) string {
	t.Helper()
	target := addressOf(connString)
	poolersMu.Lock()
	defer poolersMu.Unlock()
	p := poolers[target]
	if p == nil {
		dir, err := os.MkdirTemp("", "pgbox-pooler-")
		if err == nil {
			// A server that was away is asked again at once.
			p, err = devdb.StartPooler(context.Background(), devdb.PoolerConfig{
				Dir: dir, Target: connString, Role: "pgbox_gateway", Settings: map[string]string{"server_login_retry": "0.2"},
			})
		}
		if err != nil {
			t.Fatalf("sqltest: %v", err)
		}
		if s := started.Load(); s == nil || addressOf(s.admin) != target {
			t.Cleanup(func() { endPooler(target) })
		}
		poolers[target], poolerDirs[target] = p, dir
	}
	return p.URL(database(connString))
}

// addressOf names the server of a URL, and database what follows.
func addressOf(connString string) string {
	u := parse(connString)
	return u.Host + " " + u.Query().Get("host") + " " + u.Query().Get("port")
}

func database(connString string) string { return strings.TrimPrefix(parse(connString).Path, "/") }

func parse(connString string) *url.URL {
	u, err := url.Parse(connString)
	if err != nil {
		panic("sqltest: not a URL")
	}
	return u
}

// The PgBouncers of this test process, by the server they lead to.
var (
	poolersMu  sync.Mutex
	poolers    = map[string]*devdb.Pooler{}
	poolerDirs = map[string]string{}
)

func endPooler(target string) {
	poolersMu.Lock()
	defer poolersMu.Unlock()
	if p := poolers[target]; p != nil {
		p.Stop()
		_ = os.RemoveAll(poolerDirs[target])
		delete(poolers, target)
	}
}

// Pool returns the package's pool on the shared database, in the gateway's role.
func Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	u := GatewayURL(URL(t))
	poolOnce.Do(func() { pool, errPool = NewPool(context.Background(), u) })
	if errPool != nil {
		t.Fatalf("sqltest: %v", errPool)
	}
	return pool
}

// NewPool returns a pool on any URL; the caller closes it.
func NewPool(ctx context.Context, connString string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(connString)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = 16
	return pgxpool.NewWithConfig(ctx, cfg)
}

// Owner returns a superuser's connection to the shared database, closed when
// the test ends.
func Owner(t testing.TB) *pgx.Conn {
	t.Helper()
	return Connect(t, URL(t))
}

// Connect returns a connection that is closed when the test ends.
func Connect(t testing.TB, connString string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), connString)
	if err != nil {
		t.Fatalf("sqltest: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// Database returns the superuser's URL of a migrated database of the test's
// own, which is checked and dropped when the test ends.
func Database(t testing.TB) string {
	t.Helper()
	s := get(t)
	return s.temporary(t, s.template, func(u string) { fsckAll(t, u) })
}

// EmptyDatabase returns the superuser's URL of a database without pgbox in it.
func EmptyDatabase(t testing.TB) string {
	t.Helper()
	return get(t).temporary(t, "template0", func(string) {})
}

func (s *server) temporary(t testing.TB, template string, check func(string)) string {
	t.Helper()
	name, err := s.clone(context.Background(), template)
	if err != nil {
		t.Fatalf("sqltest: %v", err)
	}
	u := s.url(name)
	t.Cleanup(func() {
		if !t.Failed() {
			check(u)
		}
		if err := s.exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("sqltest: %v", err)
		}
		s.made.Delete(name)
	})
	return u
}

// Create creates a sandbox that has no row in the audit log yet: tests look at those of what they do.
func Create(t testing.TB, db interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}) (id uuid.UUID) {
	t.Helper()
	err := pgx.BeginFunc(context.Background(), db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(context.Background(), "SELECT set_config('app.exec', '{}', true)"); err != nil {
			return err
		}
		return tx.QueryRow(context.Background(),
			"SELECT id FROM fs.create_sandbox(NULL, 'test', 'owner', $1, NULL, NULL, NULL, NULL, NULL, NULL)",
			t.Name()[:min(255, len(t.Name()))]).Scan(&id)
	})
	if err != nil {
		t.Fatalf("sqltest: create_sandbox: %v", err)
	}
	return id
}

// Sandbox creates a sandbox for one test; its fs.fsck is checked when the test
// ends.
func Sandbox(t testing.TB, pool *pgxpool.Pool) uuid.UUID {
	t.Helper()
	id := Create(t, pool)
	t.Cleanup(func() {
		if _, ok := broken.Load(id); ok || t.Failed() {
			return
		}
		tx, err := pool.Begin(context.Background())
		if err != nil {
			t.Errorf("sqltest: %v", err)
			return
		}
		defer func() { _ = tx.Rollback(context.Background()) }()
		report(t, id, fsck(tx, id))
	})
	return id
}

var broken sync.Map

// Broken exempts a sandbox from the check at the end of its test, which breaks it on purpose.
func Broken(id uuid.UUID) { broken.Store(id, true) }

func report(t testing.TB, id uuid.UUID, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("sqltest: sandbox %s: %v", id, err)
	}
}

// fsck returns what is wrong with a sandbox, as an error. A dropped one has nothing to check.
func fsck(tx pgx.Tx, id uuid.UUID) error {
	ctx := context.Background()
	var exists bool
	if err := tx.QueryRow(ctx, "SELECT to_regprocedure('fs.fsck()') IS NOT NULL").Scan(&exists); err != nil || !exists {
		return err
	}
	if _, err := tx.Exec(ctx, "SELECT set_config('app.sandbox_id', $1, true)", id.String()); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, "SELECT to_jsonb(f)::text FROM fs.fsck() f LIMIT 20")
	if err != nil {
		return err
	}
	faults, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok && pe.Code == vfs.ESRCH.SQLState() {
		return nil
	}
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		return fmt.Errorf("fsck: %s", strings.Join(faults, "\n"))
	}
	return nil
}

func fsckAll(t testing.TB, connString string) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, connString)
	if err != nil {
		t.Errorf("sqltest: %v", err)
		return
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx,
		"SELECT id FROM pgbox.sandbox WHERE deleted_at IS NULL AND coalesce(expires_at > now(), true)")
	if err != nil {
		t.Errorf("sqltest: %v", err)
		return
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		t.Errorf("sqltest: %v", err)
	}
	for _, id := range ids {
		if _, ok := broken.Load(id); ok {
			continue
		}
		tx, err := conn.Begin(ctx)
		if err != nil {
			t.Errorf("sqltest: %v", err)
			return
		}
		report(t, id, fsck(tx, id))
		_ = tx.Rollback(ctx)
	}
}
