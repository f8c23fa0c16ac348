package devdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// PoolerConfig says where a PgBouncer runs and what it leads to.
type PoolerConfig struct {
	// Dir holds its configuration; it is made when missing.
	Dir string
	// Target is the URL of the server's superuser; the database in it does not matter.
	Target string
	// Role is what the pooled connections run as; "" is the superuser itself. A client cannot say, since PgBouncer refuses
	// the parameter.
	Role string
	// PoolSize is the number of connections to the server for each database; default 20.
	PoolSize int
	// Settings are more settings, for example {"query_wait_timeout": "5"}.
	Settings map[string]string
	// Log receives what it prints; nil discards it.
	Log io.Writer
}

// Pooler is a running PgBouncer that pools transactions.
type Pooler struct {
	// Port is its loopback port.
	Port int

	password string
	server   *process
	stop     sync.Once
}

// StartPooler runs a PgBouncer in front of a server and returns when it answers.
func StartPooler(ctx context.Context, cfg PoolerConfig) (*Pooler, error) {
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		// Debian keeps it where only root looks.
		if program, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			return nil, errors.New("pgbouncer is not installed (.ci/install installs it)")
		}
	}
	cred, err := credential()
	if err != nil {
		return nil, err
	}
	target, err := pgconn.ParseConfig(cfg.Target)
	if err != nil {
		return nil, errors.New("the pooler's target cannot be parsed") // the error's own text may hold the password
	}
	p := &Pooler{password: newPassword()}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		if p.Port, err = freePort(ctx); err != nil {
			return nil, err
		}
		files := map[string]string{"pgbouncer.ini": p.ini(dir, target, cfg),
			"userlist.txt": fmt.Sprintf("%q %q\n", superuser, p.password)}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				return nil, err
			}
		}
		if cred != nil {
			for _, name := range []string{".", "pgbouncer.ini", "userlist.txt"} {
				if err := os.Chown(filepath.Join(dir, name), int(cred.Uid), int(cred.Gid)); err != nil {
					return nil, err
				}
			}
		}
		// Not bound to a context: it runs until Stop.
		cmd := exec.CommandContext(context.Background(), program, filepath.Join(dir, "pgbouncer.ini"))
		cmd.Dir = dir
		cmd.Env = serverEnv()
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
		if p.server, err = startProcess(cmd, cfg.Log); err != nil {
			return nil, err
		}
		if err = p.server.ready(ctx, "pgbouncer", p.URL("postgres")); err == nil {
			return p, nil
		}
		if attempt == portAttempts || !p.server.portTaken() {
			p.Stop()
			return nil, err
		}
	}
}

// ini is the configuration file. https://www.pgbouncer.org/config.html
func (p *Pooler) ini(dir string, target *pgconn.Config, cfg PoolerConfig) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	database := fmt.Sprintf("* = host=%s port=%d user=%s", quote(target.Host), target.Port, quote(target.User))
	if target.Password != "" {
		database += " password=" + quote(target.Password)
	}
	if cfg.Role != "" {
		database += " connect_query=" + quote("SET ROLE "+cfg.Role)
	}
	size := cfg.PoolSize
	if size == 0 {
		size = 20
	}
	settings := map[string]string{
		"listen_addr": "127.0.0.1", "listen_port": strconv.Itoa(p.Port), "unix_socket_dir": "",
		"auth_type": "scram-sha-256", "auth_file": filepath.Join(dir, "userlist.txt"),
		"pool_mode": "transaction", "default_pool_size": strconv.Itoa(size), "max_client_conn": "1000",
		"log_connections": "0", "log_disconnections": "0", "log_stats": "0",
	}
	for k, v := range cfg.Settings {
		settings[k] = v
	}
	text := "[databases]\n" + database + "\n[pgbouncer]\n"
	for k, v := range settings {
		text += k + " = " + v + "\n"
	}
	return text
}

// URL returns a connection string for a database through the pooler.
func (p *Pooler) URL(database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(superuser, p.password),
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Port)), Path: "/" + database}
	return u.String()
}

// Exited is closed when it has ended, on its own or by Stop.
func (p *Pooler) Exited() <-chan struct{} { return p.server.exited }

// Stop ends it with all its connections. It may be called more than once.
func (p *Pooler) Stop() {
	p.stop.Do(func() { p.server.end(syscall.SIGTERM, syscall.SIGKILL) }) // SIGINT waits for clients
}
