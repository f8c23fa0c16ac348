package testbed

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/pgbox/pgbox/gateway/devdb"
	"github.com/pgbox/pgbox/gateway/devdb/link"
	"github.com/pgbox/pgbox/sql/migrate"
)

// Config says what is run.
type Config struct {
	Binary   string        // pgbox
	Gateways int           // default 3
	Lease    time.Duration // of the locks; default 2 s
	Env      []string      // more variables of the gateways
	Keep     bool          // the folder with the logs stays
}

// Secret signs the tokens of every gateway.
const Secret = "the secret of the test bed"

// Bed is a running installation.
type Bed struct {
	Dir      string // logs and data
	Gateways []*Gateway

	cfg     Config
	redis   process
	port    int // of redis
	pooling devdb.PoolerConfig
	psql    *link.Link
	stream  *link.Link // standby → primary
	server  *link.Link // PgBouncer → primary

	alive context.Context // until Stop
	quit  func()

	bouncing sync.Mutex // of whoever ends and starts PgBouncer

	mu        sync.Mutex
	links     []*link.Link
	toServer  []*link.Link // those that lead to the primary
	toBouncer []*link.Link
	bouncer   *devdb.Pooler
	primary   *node
	standby   *node
	nodes     int
}

// Start starts all of it and waits until it serves.
func Start(ctx context.Context, cfg Config) (_ *Bed, err error) {
	if cfg.Gateways == 0 {
		cfg.Gateways = 3
	}
	if cfg.Lease == 0 {
		cfg.Lease = 2 * time.Second
	}
	dir, err := os.MkdirTemp("", "pgbox-cluster-")
	if err != nil {
		return nil, err
	}
	// The unprivileged users must get through.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	b := &Bed{Dir: dir, cfg: cfg}
	b.alive, b.quit = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			b.Stop()
		}
	}()
	for _, step := range []func(context.Context) error{b.startLinks, b.startPostgres, b.startRedis, b.startBouncer,
		b.startGateways} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// newLink makes a link that Links returns.
func (b *Bed) newLink(name string, toServer bool) (*link.Link, error) {
	l, err := link.New(name)
	if err != nil {
		return nil, err
	}
	b.links = append(b.links, l)
	if toServer {
		b.toServer = append(b.toServer, l)
	}
	return l, nil
}

func (b *Bed) startLinks(context.Context) (err error) {
	if b.psql, err = b.newLink("psql → postgres", true); err != nil {
		return err
	}
	if b.stream, err = b.newLink("standby → postgres", true); err != nil {
		return err
	}
	b.server, err = b.newLink("pgbouncer → postgres", true)
	return err
}

// Links are all links, whose names say what they connect.
func (b *Bed) Links() []*link.Link { return slices.Clone(b.links) }

// Heal ends every fault of every link.
func (b *Bed) Heal() {
	for _, l := range b.links {
		l.Heal()
	}
}

// Stop ends everything that was started.
func (b *Bed) Stop() {
	for _, l := range b.links {
		l.Heal()
	}
	var wg sync.WaitGroup
	for _, g := range b.Gateways {
		wg.Go(func() {
			g.process.signal(syscall.SIGCONT)
			g.process.end(syscall.SIGTERM, 10*time.Second)
		})
	}
	wg.Wait()
	b.quit()
	b.bouncing.Lock()
	defer b.bouncing.Unlock()
	if b.bouncer != nil {
		b.bouncer.Stop()
	}
	b.redis.signal(syscall.SIGCONT)
	b.redis.end(syscall.SIGKILL, time.Second)
	for _, n := range []*node{b.standby, b.primary} {
		if n != nil {
			n.server.Kill()
		}
	}
	for _, l := range b.links {
		l.Close()
	}
	if !b.cfg.Keep {
		_ = os.RemoveAll(b.Dir)
	}
}

// freePort is a port nobody has now.
func freePort(ctx context.Context) (int, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().(*net.TCPAddr).Port, nil
}

func (b *Bed) startRedis(ctx context.Context) (err error) {
	if b.port, err = freePort(ctx); err != nil {
		return err
	}
	log, err := logFile(filepath.Join(b.Dir, "redis.log"))
	if err != nil {
		return err
	}
	b.redis = process{name: "redis", make: func() *exec.Cmd {
		cmd := exec.CommandContext(context.Background(), "redis-server", "--port", strconv.Itoa(b.port), "--bind",
			"127.0.0.1",
			"--save", "", "--appendonly", "no", "--dir", b.Dir, "--loglevel", "warning")
		cmd.Stdout, cmd.Stderr = log, log
		return cmd
	}}
	return b.RestartRedis(ctx)
}

// RestartRedis kills Redis and starts it again, empty.
func (b *Bed) RestartRedis(ctx context.Context) error {
	b.redis.end(syscall.SIGKILL, time.Second)
	if err := b.redis.start(nil); err != nil {
		return err
	}
	return until(ctx, 20*time.Second, "redis", func(ctx context.Context) error {
		return b.Redis(ctx, func(c *redis.Client) error { return c.Ping(ctx).Err() })
	})
}

// StallRedis and ResumeRedis stop it without closing its connections, and let it go on.
func (b *Bed) StallRedis()  { b.redis.signal(syscall.SIGSTOP) }
func (b *Bed) ResumeRedis() { b.redis.signal(syscall.SIGCONT) }

// Redis calls fn with a client that uses no link.
func (b *Bed) Redis(_ context.Context, fn func(*redis.Client) error) error {
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + strconv.Itoa(b.port)})
	defer func() { _ = c.Close() }()
	return fn(c)
}

// startBouncer makes PgBouncer let everybody in as the gateways' user: only this machine reaches it.
func (b *Bed) startBouncer(ctx context.Context) error {
	log, err := logFile(filepath.Join(b.Dir, "pgbouncer.log"))
	if err != nil {
		return err
	}
	b.pooling = devdb.PoolerConfig{Dir: filepath.Join(b.Dir, "pgbouncer"), Target: serverURL(b.server, "gateway"),
		Role: "pgbox_gateway", PoolSize: 40, Log: log, Settings: map[string]string{
			"auth_type": "any", "server_connect_timeout": "3", "server_login_retry": "1", "query_wait_timeout": "10",
			"query_timeout":             "15",   // of a failover that nobody was told of it keeps connections that never answer
			"idle_transaction_timeout":  "30",   // of a gateway that is frozen
			"ignore_startup_parameters": "role", // it is that of Role
		}}
	return b.RestartBouncer(ctx)
}

// RestartBouncer ends PgBouncer, with all its connections, and starts it again.
func (b *Bed) RestartBouncer(ctx context.Context) (err error) {
	b.bouncing.Lock()
	defer b.bouncing.Unlock()
	return b.restartBouncer(ctx)
}

// keepBouncer starts PgBouncer again when p has ended by itself, as whoever runs a server does: 1.18 ends with "bad
// client state" when a cancel request meets a connection to the server that is cut.
func (b *Bed) keepBouncer(p *devdb.Pooler) {
	select {
	case <-p.Exited():
	case <-b.alive.Done():
		return
	}
	b.bouncing.Lock()
	defer b.bouncing.Unlock()
	b.mu.Lock()
	current := b.bouncer == p
	b.mu.Unlock()
	if current && b.alive.Err() == nil {
		_ = b.restartBouncer(b.alive) // fails only when b.Stop has been called
	}
}

// restartBouncer wants bouncing.
func (b *Bed) restartBouncer(ctx context.Context) (err error) {
	b.mu.Lock()
	old := b.bouncer
	b.mu.Unlock()
	if old != nil {
		old.Stop()
	}
	// It is started when it leads to the server, which may take its time.
	var next *devdb.Pooler
	for next == nil {
		if next, err = devdb.StartPooler(ctx, b.pooling); err != nil && ctx.Err() != nil {
			return err
		}
	}
	b.mu.Lock()
	b.bouncer = next
	links := slices.Clone(b.toBouncer)
	b.mu.Unlock()
	go b.keepBouncer(next)
	for _, l := range links {
		l.To("tcp", "127.0.0.1:"+strconv.Itoa(next.Port))
	}
	return nil
}

// URL leads to the primary, over a link of its own, as a user of the role that SQL's users have.
func (b *Bed) URL() string { return serverURL(b.psql, "analyst") }

func serverURL(l *link.Link, user string) string {
	return "postgres://" + user + "@" + l.Addr() + "/postgres?sslmode=disable"
}

// Admin calls fn with a superuser's connection to the primary that uses no link.
func (b *Bed) Admin(ctx context.Context, fn func(*pgx.Conn) error) error {
	b.mu.Lock()
	n := b.primary
	b.mu.Unlock()
	return n.admin(ctx, fn)
}

// until calls f until it is content.
func until(ctx context.Context, within time.Duration, what string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: not within %v: %w", what, within, err)
		}
	}
}

// migrateUp makes the schema and the users.
func migrateUp(ctx context.Context, n *node) error {
	if _, err := migrate.Up(ctx, n.server.URL("postgres"), migrate.Options{}); err != nil {
		return err
	}
	return n.admin(ctx, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, strings.Join([]string{
			"CREATE ROLE gateway LOGIN REPLICATION IN ROLE pgbox_gateway",
			"CREATE ROLE analyst LOGIN IN ROLE pgbox_gateway",
		}, ";"))
		return err
	})
}
