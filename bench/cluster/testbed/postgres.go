package testbed

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/gateway/devdb"
)

// node is a PostgreSQL server, primary or standby.
type node struct {
	dir    string
	cfg    devdb.Config
	server *devdb.Cluster
}

// socket is where the server listens.
func (n *node) socket() (string, error) {
	u, err := url.Parse(n.server.URL("postgres"))
	if err != nil {
		return "", err
	}
	return filepath.Join(u.Query().Get("host"), ".s.PGSQL."+u.Query().Get("port")), nil
}

func (n *node) admin(ctx context.Context, fn func(*pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, n.server.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	return fn(c)
}

// newNode starts a server of its own, or a standby of the one at a URL.
func (b *Bed) newNode(ctx context.Context, standbyOf string) (*node, error) {
	b.nodes++
	name := "postgres" + strconv.Itoa(b.nodes)
	log, err := logFile(filepath.Join(b.Dir, name+".log"))
	if err != nil {
		return nil, err
	}
	n := &node{dir: filepath.Join(b.Dir, name)}
	n.cfg = devdb.Config{Dir: n.dir, Primary: standbyOf, Log: log, Settings: map[string]string{
		"synchronous_commit": "on", "wal_sender_timeout": "10s", "wal_receiver_timeout": "10s",
		"wal_retrieve_retry_interval": "200ms",
		"log_line_prefix":             "%m [%p] %a ", "log_min_messages": "log",
	}}
	n.server, err = devdb.Start(ctx, n.cfg)
	return n, err
}

func (b *Bed) startPostgres(ctx context.Context) (err error) {
	if b.primary, err = b.newNode(ctx, ""); err != nil {
		return err
	}
	if err := migrateUp(ctx, b.primary); err != nil {
		return err
	}
	if err := b.lead(); err != nil {
		return err
	}
	return b.addStandby(ctx)
}

// lead makes the links to Postgres lead to the primary.
func (b *Bed) lead() error {
	socket, err := b.primary.socket()
	if err != nil {
		return err
	}
	for _, l := range b.toServer {
		l.To("unix", socket)
	}
	return nil
}

// addStandby makes a standby and has commits wait for it.
func (b *Bed) addStandby(ctx context.Context) (err error) {
	// Another fault may end the copy: then there is another.
	var standby *node
	err = until(ctx, time.Minute, "another standby", func(ctx context.Context) (err error) {
		standby, err = b.newNode(ctx, serverURL(b.stream, "postgres")+"&application_name=standby")
		return err
	})
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.standby = standby
	b.mu.Unlock()
	return b.synchronous(ctx, "standby")
}

// synchronous says which standbys commits wait for, and waits until it is so.
func (b *Bed) synchronous(ctx context.Context, names string) error {
	err := b.Admin(ctx, func(c *pgx.Conn) error {
		if _, err := c.Exec(ctx, "ALTER SYSTEM SET synchronous_standby_names = '"+names+"'"); err != nil {
			return err
		}
		_, err := c.Exec(ctx, "SELECT pg_reload_conf()")
		return err
	})
	if err != nil || names == "" {
		return err
	}
	return b.inStep(ctx, time.Minute)
}

// inStep waits until the standby has all there is.
func (b *Bed) inStep(ctx context.Context, within time.Duration) error {
	return until(ctx, within, "the standby", func(ctx context.Context) error {
		return b.Admin(ctx, func(c *pgx.Conn) error {
			var ok bool
			err := c.QueryRow(ctx,
				`SELECT coalesce(bool_or(sync_state = 'sync' AND state = 'streaming'), false) FROM pg_stat_replication WHERE application_name = 'standby'`).Scan(&ok)
			if err == nil && !ok {
				err = errors.New("does not stream")
			}
			return err
		})
	})
}

// ErrNotInStep: the standby does not stream.
var ErrNotInStep = errors.New("the standby is not in step")

// Failover crashes the primary and makes the standby the primary: the links to Postgres lead there, and a new standby
// is made. The old primary never comes back. With silent its clients are not told: for them it just does not answer any
// more. It fails with ErrNotInStep, and changes nothing, when the standby does not stream: an operator would lose
// commits.
func (b *Bed) Failover(ctx context.Context, silent bool) error {
	if err := b.inStep(ctx, 3*time.Second); err != nil {
		return errors.Join(ErrNotInStep, err)
	}
	for _, l := range b.toServer {
		if silent && l != b.stream {
			l.Abandon()
		}
	}
	b.mu.Lock()
	old, next := b.primary, b.standby
	b.mu.Unlock()
	old.server.Kill()
	if err := next.server.Promote(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	b.primary, b.standby = next, nil
	b.mu.Unlock()
	if err := b.lead(); err != nil {
		return err
	}
	if err := b.synchronous(ctx, ""); err != nil {
		return err
	}
	return b.addStandby(ctx)
}

// RestartPostgres crashes the primary, leaves it away for a while and starts it again.
func (b *Bed) RestartPostgres(ctx context.Context, away time.Duration) error {
	b.primary.server.Kill()
	select {
	case <-time.After(away):
	case <-ctx.Done():
	}
	ctx = context.WithoutCancel(ctx) // it has to be there for whoever stops all this
	var server *devdb.Cluster
	// Some of its processes may be on their way out, and none can start while they are there.
	err := until(ctx, time.Minute, "postgres", func(ctx context.Context) (err error) {
		server, err = devdb.Start(ctx, b.primary.cfg)
		return err
	})
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.primary = &node{dir: b.primary.dir, cfg: b.primary.cfg, server: server}
	b.mu.Unlock()
	return b.lead()
}
