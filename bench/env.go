package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/devdb"
	"github.com/pgbox/pgbox/gateway/devdb/link"
	"github.com/pgbox/pgbox/sql/migrate"
)

// env is what the benchmarks run on: a cluster, a pgbox process, a bare process.
type env struct {
	quick   bool
	dir     string
	cluster *devdb.Cluster
	dbURL   string
	owner   *pgxpool.Pool // superuser, for the raw baselines
	pgbox   *process
	bare    *process
	token   string
	http    *http.Client
	data    *shellData // of the shell's table, once that has been asked for
	fleet   *fleet     // of the replicas, likewise
	plot    figures
}

type process struct {
	cmd *exec.Cmd
	url string
}

const secret = "the benchmark's own secret"

func start(ctx context.Context, quick bool) (_ *env, err error) {
	e := &env{quick: quick, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	defer func() {
		if err != nil {
			e.stop()
		}
	}()
	// Open to the unprivileged user that the server runs as.
	if e.dir, err = os.MkdirTemp("", "pgbox-bench-"); err != nil {
		return e, err
	}
	if err := os.Chmod(e.dir, 0o755); err != nil {
		return e, err
	}
	bin, err := devdb.EnsureBinaries(ctx, filepath.Join(e.dir, "postgresql"),
		func(s string) { fmt.Fprintln(os.Stderr, s) })
	if err != nil {
		return e, err
	}
	if e.cluster, err = devdb.Start(ctx, devdb.Config{Dir: filepath.Join(e.dir, "cluster"), BinDir: bin.Dir, Fsync: true,
		Settings: map[string]string{"shared_buffers": "256MB", "max_wal_size": "4GB"}}); err != nil {
		return e, err
	}
	e.dbURL = e.cluster.URL("postgres")
	if _, err := migrate.Up(ctx, e.dbURL, migrate.Options{}); err != nil {
		return e, err
	}
	if e.owner, err = pgxpool.New(ctx, e.dbURL); err != nil {
		return e, err
	}
	binary, err := e.binary(ctx)
	if err != nil {
		return e, err
	}
	if out, err := exec.CommandContext(ctx, binary, "runtimes", "install").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "bench: the interpreters are not installed: %s", out)
	}
	if e.pgbox, err = launch(e.serve(ctx, binary, e.dbURL)); err != nil {
		return e, fmt.Errorf("start %s: %w", binary, err)
	}
	self, err := os.Executable()
	if err != nil {
		return e, err
	}
	if e.bare, err = launch(exec.CommandContext(ctx, self, "-bare", e.dbURL)); err != nil {
		return e, fmt.Errorf("start the baseline: %w", err)
	}
	v, err := auth.NewVerifier(secret, nil)
	if err != nil {
		return e, err
	}
	e.token, _, err = v.Issue("bench", "", time.Hour)
	return e, err
}

// binary is the pgbox under test: $PGBOX_BINARY, or built here.
func (e *env) binary(ctx context.Context) (string, error) {
	if b := os.Getenv("PGBOX_BINARY"); b != "" {
		return b, nil
	}
	b := filepath.Join(e.dir, "pgbox")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", b, "github.com/pgbox/pgbox/gateway/cmd/pgbox")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build pgbox: %w\n%s", err, out)
	}
	return b, nil
}

// launch starts a server that prints its URL as the first line with "http://".
func launch(cmd *exec.Cmd) (*process, error) {
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "http://"); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			url, _, _ = strings.Cut(url, " ")
			return &process{cmd, "http://" + url}, nil
		}
	}
	return nil, errors.Join(errors.New("it ended without printing its URL"), cmd.Wait())
}

func (p *process) stop() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
}

func (e *env) stop() {
	e.data.stop()
	e.fleet.stop()
	e.pgbox.stop()
	e.bare.stop()
	if e.owner != nil {
		e.owner.Close()
	}
	if e.cluster != nil {
		e.cluster.Stop()
	}
	if e.dir != "" {
		_ = os.RemoveAll(e.dir)
	}
}

// times chooses between the count of a real run and that of -quick.
func (e *env) times(full, quick int) int {
	if e.quick {
		return quick
	}
	return full
}

// post sends a body and returns the answer of a 2xx status.
func (e *env) post(ctx context.Context, url string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+e.token)
	res, err := e.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s: %s", url, res.Status, data)
	}
	return data, err
}

// get reads a JSON answer.
func (e *env) get(ctx context.Context, url string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := e.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, res.Status)
	}
	return json.NewDecoder(res.Body).Decode(out)
}

// sandbox creates one and returns its route.
func (e *env) sandbox(ctx context.Context) (id, route string, err error) {
	data, err := e.post(ctx, e.pgbox.url+"/v1/sandboxes", []byte(`{"name":"bench"}`))
	if err != nil {
		return "", "", err
	}
	var out struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return "", "", err
	}
	return out.ID, e.pgbox.url + "/v1/sandboxes/" + out.ID, nil
}

// exec runs a script and fails unless it exits 0.
func (e *env) exec(ctx context.Context, route string, in map[string]any) (string, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	data, err := e.post(ctx, route+"/exec-sync", body)
	if err != nil {
		return "", err
	}
	var out struct {
		Stdout, Stderr string
		ExitCode       int
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return "", err
	}
	if out.ExitCode != 0 {
		return "", fmt.Errorf("exit status %d: %s", out.ExitCode, out.Stderr)
	}
	return out.Stdout, nil
}

// trips counts the round trips to Postgres that f causes in a pgbox process of its own, warmed by one run of f.
func (e *env) trips(ctx context.Context, f func(url string) error) (int64, error) {
	wire, err := link.New("postgres")
	if err != nil {
		return 0, err
	}
	defer wire.Close()
	var trips link.Trips
	wire.Tap(trips.Tap)
	url, err := wire.ToPostgres(e.dbURL)
	if err != nil {
		return 0, err
	}
	binary, err := e.binary(ctx)
	if err != nil {
		return 0, err
	}
	cmd := e.serve(ctx, binary, url)
	cmd.Env = append(cmd.Env, "CACHE_INVALIDATION=version") // a listener has traffic of its own
	p, err := launch(cmd)
	if err != nil {
		return 0, err
	}
	defer p.stop()
	// The first runs open connections and prepare statements.
	for range 32 {
		if err := f(p.url); err != nil {
			return 0, err
		}
	}
	before := trips.Load()
	err = f(p.url)
	return trips.Load() - before, err
}

// serve is a pgbox process on a database.
func (e *env) serve(ctx context.Context, binary, dbURL string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, "serve")
	cmd.Env = append(os.Environ(), "DATABASE_URL="+dbURL, "AUTH_SECRET="+secret, "PORT=0", "HOST=127.0.0.1",
		"LOG_LEVEL=warn",
		"SANDBOX_MAX_BYTES=0", "SANDBOX_MAX_INODES=0", "SUPERVISE=off") // its memory and processor time are read by process
	return cmd
}
