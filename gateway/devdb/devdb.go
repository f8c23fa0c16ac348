package devdb

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// superuser is the bootstrap role of every cluster.
const superuser = "postgres"

// stopTimeout bounds a fast shutdown before the server is ended the hard way.
const stopTimeout = 30 * time.Second

// ErrInUse: another process runs the cluster in this directory.
var ErrInUse = errors.New("the database directory is in use by another process")

// Config says where and how a cluster runs.
type Config struct {
	// Dir holds the cluster; it is made when missing.
	Dir string
	// Fsync makes commits durable. Tests leave it off.
	Fsync bool
	// Listen also opens a loopback port (a free one), with password authentication.
	Listen bool
	// BinDir is the folder of a PostgreSQL to prefer over what the machine has.
	BinDir string
	// Settings are more server settings, for example {"max_connections": "50"}.
	Settings map[string]string
	// Primary is the URL of another server's superuser. The cluster is then made as a copy of that one and follows it as a
	// streaming standby until it is promoted. Its superuser's password is the one in this URL. The settings that a standby
	// must have as large as its primary (max_connections and the like) are the caller's to repeat.
	Primary string
	// Log receives what the server prints; nil discards it.
	Log io.Writer
}

// Cluster is a running server.
type Cluster struct {
	// Binaries is the PostgreSQL it runs.
	Binaries Binaries
	// Port is the loopback port, 0 when only the socket is open.
	Port int

	socketDir string
	tempDir   string // of the socket, when Dir is too long a path for one
	password  string
	lock      *os.File
	server    *process // nil until it runs
	stop      sync.Once
}

// Start runs the cluster in cfg.Dir, making it on first use, and returns when
// it accepts connections.
func Start(ctx context.Context, cfg Config) (_ *Cluster, err error) {
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	var binDirs []string
	if cfg.BinDir != "" {
		binDirs = append(binDirs, cfg.BinDir)
	}
	bin, err := FindBinaries(ctx, binDirs...)
	if err != nil {
		return nil, err
	}
	cred, err := credential()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	c := &Cluster{Binaries: bin, socketDir: dir}
	if c.lock, err = lockDir(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.release()
		}
	}()
	// sun_path holds 107 bytes; the server's name for its socket takes up to 20 of them.
	if len(dir) > 80 {
		if c.tempDir, err = os.MkdirTemp("", "pgbox-"); err != nil {
			return nil, err
		}
		c.socketDir = c.tempDir
	}
	if cred != nil {
		for _, d := range []string{dir, c.socketDir} {
			if err := os.Chown(d, int(cred.Uid), int(cred.Gid)); err != nil {
				return nil, err
			}
		}
	}
	data := filepath.Join(dir, "data")
	if err := endLeftover(ctx, data); err != nil {
		return nil, err
	}
	if c.password, err = c.initialize(ctx, dir, data, cred, cfg); err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		if cfg.Listen {
			if c.Port, err = freePort(ctx); err != nil {
				return nil, err
			}
		}
		if c.server, err = startProcess(c.command(data, cred, cfg), cfg.Log); err != nil {
			return nil, err
		}
		if err = c.server.ready(ctx, "postgres", c.URL("postgres")); err == nil {
			return c, nil
		}
		if !cfg.Listen || attempt == portAttempts || !c.server.portTaken() {
			c.Stop()
			return nil, err
		}
	}
}

// portAttempts is how many ports are tried: a free one may be taken by another process before the server has it.
const portAttempts = 5

// URL returns a connection string of the superuser for a database, over the
// unix socket.
func (c *Cluster) URL(database string) string {
	q := url.Values{"host": {c.socketDir}, "port": {strconv.Itoa(c.socketPort())}}
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database, RawQuery: q.Encode()}
	return u.String()
}

// TCPURL returns a connection string for a database over the loopback port, ""
// when the cluster does not listen on one.
func (c *Cluster) TCPURL(database string) string {
	if c.Port == 0 {
		return ""
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(superuser, c.password),
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Port)), Path: "/" + database}
	return u.String()
}

// Exited is closed when the server has ended, on its own or by Stop.
func (c *Cluster) Exited() <-chan struct{} { return c.server.exited }

// Stop shuts the server down, waits until it is gone and gives the directory
// free. It may be called more than once.
func (c *Cluster) Stop() {
	c.stop.Do(func() {
		if c.server != nil {
			c.server.end(syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL)
		}
		c.release()
	})
}

// Kill ends the server at once, like a loss of power, and gives the directory free.
func (c *Cluster) Kill() {
	c.stop.Do(func() {
		c.server.endAll()
		c.release()
	})
}

// Promote makes a standby a primary, and returns when it takes writes.
func (c *Cluster) Promote(ctx context.Context) error {
	conn, err := pgconn.Connect(ctx, c.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return conn.Exec(ctx, "SELECT pg_promote(true, 60)").Close()
}

func (c *Cluster) release() {
	if c.tempDir != "" {
		_ = os.RemoveAll(c.tempDir)
	}
	if c.lock != nil {
		_ = c.lock.Close()
	}
}

// socketPort is the number in the name of the socket; any will do without TCP.
func (c *Cluster) socketPort() int {
	if c.Port != 0 {
		return c.Port
	}
	return 5432
}

// command is the server with its settings.
func (c *Cluster) command(data string, cred *syscall.Credential, cfg Config) *exec.Cmd {
	settings := map[string]string{
		"listen_addresses":        "",
		"port":                    strconv.Itoa(c.socketPort()),
		"unix_socket_directories": c.socketDir,
		"unix_socket_permissions": "0700",
		"wal_level":               "logical",
		"max_connections":         "200",
		"max_wal_senders":         "16",
		"max_replication_slots":   "32",
		"log_min_messages":        "warning",
		"timezone":                "UTC",
	}
	if c.Port != 0 {
		settings["listen_addresses"] = "127.0.0.1"
	}
	if !cfg.Fsync {
		// synchronous_commit stays on: without it a commit reaches replication when the WAL writer next wakes.
		settings["fsync"] = "off"
		settings["full_page_writes"] = "off"
	}
	for k, v := range cfg.Settings {
		settings[k] = v
	}
	args := []string{"-D", data}
	for k, v := range settings {
		args = append(args, "-c", k+"="+v)
	}
	// Not bound to a context: it runs until Stop.
	cmd := exec.CommandContext(context.Background(), c.Binaries.path("postgres"), args...)
	cmd.Dir = data
	cmd.Env = serverEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	return cmd
}

// initialize runs initdb, or pg_basebackup for a standby, unless that was done before, and returns the
// superuser's password. A run that was cut short is begun anew: PG_VERSION may
// be there, but the password file is written last.
func (c *Cluster) initialize(
	ctx context.Context, dir, data string, cred *syscall.Credential, cfg Config,
) (string, error) {
	file := filepath.Join(dir, "password")
	if have, err := os.ReadFile(file); err == nil {
		version, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
		if err != nil {
			return "", fmt.Errorf("%s is not a database cluster: %w", data, err)
		}
		if v := strings.TrimSpace(string(version)); v != strconv.Itoa(c.Binaries.Version) {
			return "", fmt.Errorf("%s was made by PostgreSQL %s, found is %d in %s", data, v, c.Binaries.Version, c.Binaries.Dir)
		}
		return string(have), nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.RemoveAll(data); err != nil {
		return "", err
	}
	password := newPassword()
	if cfg.Primary != "" {
		u, err := url.Parse(cfg.Primary)
		if err != nil {
			return "", errors.New("the primary's URL cannot be parsed") // the error's own text may hold the password
		}
		password, _ = u.User.Password()
	}
	temp := file + ".new"
	if err := os.WriteFile(temp, []byte(password), 0o600); err != nil {
		return "", err
	}
	if cred != nil {
		if err := os.Chown(temp, int(cred.Uid), int(cred.Gid)); err != nil {
			return "", err
		}
	}
	// Who reaches the socket owns the directory around it; the port asks for the password.
	program, args := "initdb", []string{"-D", data, "-U", superuser, "--pwfile", temp, "-E", "UTF8", "--no-locale",
		"--auth-local", "trust", "--auth-host", "scram-sha-256"}
	if cfg.Primary != "" {
		program, args = "pg_basebackup", []string{"-D", data, "-d", cfg.Primary, "-R", "-X", "stream", "-c", "fast"}
	}
	if !cfg.Fsync {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, c.Binaries.path(program), args...)
	cmd.Dir = dir
	cmd.Env = serverEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", program, err, bytes.TrimSpace(out))
	}
	return password, os.Rename(temp, file)
}

func newPassword() string {
	raw := make([]byte, 16)
	_, _ = rand.Read(raw) // never fails
	return hex.EncodeToString(raw)
}

// serverEnv is the environment of the server: none of the PG* variables that
// libpq and the server would obey.
func serverEnv() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
}

// endLeftover shuts down a server whose parent went without stopping it. The
// caller holds the directory's lock, so nobody is using that server.
func endLeftover(ctx context.Context, data string) error {
	file := filepath.Join(data, "postmaster.pid")
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || pid <= 1 || !isServerOf(pid, data) {
		// The number belongs to nobody or to somebody else by now. Postgres would refuse to
		// start in the second case, so the stale file goes.
		return os.Remove(file)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL} {
		if err := syscall.Kill(pid, s); err != nil {
			return nil //nolint:nilerr // it ended by itself
		}
		deadline := time.After(stopTimeout)
		for waiting := true; waiting; {
			if !isServerOf(pid, data) {
				return nil
			}
			select {
			case <-tick.C:
			case <-deadline:
				waiting = false
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return fmt.Errorf("a server of an earlier run (process %d) does not end", pid)
}

// isServerOf reports whether process pid is a PostgreSQL server of this data
// directory, which is the working directory of every such process.
func isServerOf(pid int, data string) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	cwd, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Stat("/proc/self")
		return err != nil // without /proc a living process has to be believed
	}
	real, rerr := filepath.EvalSymlinks(data)
	return err == nil && rerr == nil && cwd == real
}

// lockDir takes the lock of a cluster directory for the life of this process.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", dir, ErrInUse)
	}
	return f, nil
}

// credential returns the user a server runs as: nil for this process's own, an
// unprivileged one when this process is root.
func credential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil && uid != 0 {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("postgres does not run as root, and there is no user postgres or nobody")
}

func freePort(ctx context.Context) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}
