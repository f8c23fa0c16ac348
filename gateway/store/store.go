package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sqlcgen"
)

// ExecMode is how statements are sent.
type ExecMode string

// The modes. Behind a transaction pooler (PgBouncer) named prepared statements do not last.
const (
	Auto           ExecMode = "auto"            // CacheDescribe through a pooler, else CacheStatement; the default
	CacheStatement ExecMode = "cache_statement" // prepared once per connection
	CacheDescribe  ExecMode = "cache_describe"  // types are cached, statements are not prepared
	DirectExec     ExecMode = "exec"            // types follow from the arguments
)

// Config says how to reach Postgres. Zero values are the defaults.
type Config struct {
	URL            string
	MaxConns       int32         // default 32
	MinConns       int32         // kept open; default 2
	ExecMode       ExecMode      // default Auto
	ConnectTimeout time.Duration // default 5 s
	// Timeout bounds every statement but a commit, with the wait for a free connection; default 30 s. Postgres ends a
	// session that leaves a transaction open for that long without asking anything: its process is frozen, or gone without
	// a trace, and others wait for its locks.
	Timeout time.Duration
	// LockWait bounds how long a statement waits for a row that another transaction holds, where the caller does not say;
	// default 30 s, and less than Timeout.
	LockWait time.Duration
	// Role is what sessions run as; default pgbox_gateway, which the user of URL must be a member of (or be). A pooler
	// takes no role: there it is for the pooler, or for the rights of the user.
	Role string
	// ReplicaURL leads to a streaming standby of the server at URL, without a pooler; "": there is none. Trees and
	// contents are read from it, as far as it has what is asked for.
	ReplicaURL string
	// ReplicaWait is how long a standby is waited for that has not replayed enough; default 25 ms.
	ReplicaWait time.Duration
	// Tracer observes queries; may be nil.
	Tracer pgx.QueryTracer
}

// Store calls the fs.* functions. It is safe for concurrent use.
type Store struct {
	pool    *pgxpool.Pool
	timeout time.Duration
	writers writers

	lockWait time.Duration
	renewed  atomic.Int64 // when the connections were last replaced
	pooler   pooler
	standby  *standby // nil: there is none
}

// Open makes the pool. It does not wait for Postgres: a Store outlives restarts of the server, and Ping tells.
func Open(ctx context.Context, c Config) (*Store, error) {
	s := &Store{timeout: timeout(&c)}
	pc, err := poolConfig(&c, c.URL)
	if err != nil {
		return nil, err
	}
	switch c.ExecMode {
	case Auto, "":
		s.pooler.auto = true
	case CacheStatement:
	case CacheDescribe:
		pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	case DirectExec:
		pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	default:
		return nil, fmt.Errorf("unknown exec mode %q (auto, cache_statement, cache_describe, exec)", c.ExecMode)
	}
	pc.BeforeConnect = s.pooler.prepare
	pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		registerTypes(conn)
		if conn.Config().DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
			return nil
		}
		return warm(ctx, conn)
	}
	s.writers = newWriters(pc.MaxConns)
	s.lockWait = min(s.timeout*9/10, 30*time.Second)
	if c.LockWait > 0 {
		s.lockWait = min(s.lockWait, c.LockWait)
	}
	if c.ReplicaURL != "" {
		if s.standby, err = openStandby(ctx, &c); err != nil {
			return nil, err
		}
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, pc); err != nil {
		return nil, wrap("connect", err)
	}
	return s, nil
}

func timeout(c *Config) time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return 30 * time.Second
}

// poolConfig is what the pools of a store have in common.
func poolConfig(c *Config, url string) (*pgxpool.Config, error) {
	pc, err := pgxpool.ParseConfig(url)
	if err != nil {
		// The text of this error may hold the password.
		return nil, errors.New("the database URL cannot be parsed")
	}
	pc.MaxConns = 32
	if c.MaxConns > 0 {
		pc.MaxConns = c.MaxConns
	}
	pc.MinConns = min(2, pc.MaxConns)
	if c.MinConns > 0 {
		pc.MinConns = min(c.MinConns, pc.MaxConns)
	}
	pc.HealthCheckPeriod = 15 * time.Second
	pc.PingTimeout = 5 * time.Second
	cc := pc.ConnConfig
	cc.Tracer = c.Tracer
	if cc.ConnectTimeout == 0 {
		cc.ConnectTimeout = 5 * time.Second
	}
	if c.ConnectTimeout > 0 {
		cc.ConnectTimeout = c.ConnectTimeout
	}
	cc.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	role := c.Role
	if role == "" {
		role = "pgbox_gateway"
	}
	cc.RuntimeParams[roleParam] = role
	cc.RuntimeParams[idleParam] = strconv.FormatInt(timeout(c).Milliseconds(), 10)
	if cc.RuntimeParams["application_name"] == "" {
		cc.RuntimeParams["application_name"] = "pgbox"
	}
	return pc, nil
}

// registerTypes lets pgx send google's uuids as they are. Without it an id is written as text, refused, parsed and
// written again, which costs a fence a third of its time.
func registerTypes(conn *pgx.Conn) { pgxuuid.Register(conn.TypeMap()) }

// warm prepares the two statements of the hot path, so that the first request of a connection costs what the later ones
// do. They name no sandbox and fail with ESRCH.
func warm(ctx context.Context, conn *pgx.Conn) error {
	q := sqlcgen.New(conn)
	_, err := q.Fence(ctx, uuid.Nil)
	if err = wrap("fence", err); !errors.Is(err, vfs.ESRCH) {
		return err
	}
	_, err = sqlcgen.New(bounded{conn: conn, wait: probeWait}).Apply(ctx, sqlcgen.ApplyParams{})
	if err = wrap("apply", err); !errors.Is(err, vfs.ESRCH) {
		return err
	}
	return nil
}

// Close closes the connections; it waits for those in use.
func (s *Store) Close() {
	s.pool.Close()
	if s.standby != nil {
		s.standby.pool.Close()
	}
}

// Ping reports whether Postgres answers.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, "ping", func(ctx context.Context, c *pgxpool.Conn) error { return c.Ping(ctx) })
}

// Stat describes the pool.
func (s *Store) Stat() *pgxpool.Stat { return s.pool.Stat() }

// readAttempts is how often a read is sent when connections turn out to be dead.
const readAttempts = 3

// read runs fn on a connection, on another one when that one turns out to be dead.
func (s *Store) read(ctx context.Context, op string, fn func(ctx context.Context, c *pgxpool.Conn) error) error {
	return s.again(func() (bool, error) { return s.once(ctx, op, fn) })
}

// again does once more what found a dead connection, where that does no harm.
func (s *Store) again(fn func() (dead bool, err error)) error {
	for attempt := 1; ; attempt++ {
		dead, err := fn()
		if !dead || attempt == readAttempts {
			return err
		}
	}
}

// once runs fn on a connection for a bounded time. dead reports that the connection broke.
func (s *Store) once(
	ctx context.Context, op string, fn func(ctx context.Context, c *pgxpool.Conn) error,
) (dead bool, err error) {
	octx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	c, err := s.pool.Acquire(octx)
	if err == nil {
		err = fn(octx, c)
		dead = c.Conn().IsClosed()
		c.Release()
	}
	switch {
	case err == nil:
		return false, nil
	case ctx.Err() != nil:
		return false, fmt.Errorf("%s: %w", op, context.Cause(ctx))
	case octx.Err() != nil:
		return false, fmt.Errorf("%s: %w: %w", op, ErrUnavailable, err)
	}
	if dead {
		s.renew()
	}
	return dead, wrap(op, err)
}

// renew replaces all connections after one was found dead: the others are probably as old as the server that is gone.
func (s *Store) renew() {
	now := time.Now().UnixNano()
	last := s.renewed.Load()
	if now-last > int64(time.Second) && s.renewed.CompareAndSwap(last, now) {
		s.pool.Reset()
	}
}
