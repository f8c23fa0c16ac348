package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/gateway/config"
	"github.com/pgbox/pgbox/gateway/confine"
)

// worker is the process that serves for a parent.
func (r *running) worker(t *testing.T) int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		var state string
		var parent int
		if _, err := fmt.Sscan(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), &state, &parent); err != nil ||
			parent != r.cmd.Process.Pid || state == "Z" {
			continue
		}
		if line, err := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline")); err == nil &&
			strings.Contains(string(line), workerName) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			return pid
		}
	}
	return 0
}

var statusLine = regexp.MustCompile(`(?m)^(NoNewPrivs|Seccomp):\s+(\d)$`)

func walls(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range statusLine.FindAllStringSubmatch(string(b), -1) {
		out = append(out, m[1]+" "+m[2])
	}
	return strings.Join(out, ", ")
}

// The processes that run are behind the walls that /readyz tells of, and scripts do not notice them.
func TestServerAndParentAreConfined(t *testing.T) {
	_, url := ownCluster(t)
	for mode, want := range map[string]string{"required": "NoNewPrivs 1, Seccomp 2", "off": "NoNewPrivs 0, Seccomp 0"} {
		t.Run(mode, func(t *testing.T) {
			r := startServe(t, url, "SANDBOX="+mode)
			for who, pid := range map[string]int{"parent": r.cmd.Process.Pid, "server": r.worker(t)} {
				if got := walls(t, pid); got != want {
					t.Errorf("%s: %s, want %s", who, got, want)
				}
			}
			res, err := http.Get(r.url + "/readyz")
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			var body struct{ Sandbox confine.Restrictions }
			if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
				t.Fatal(err)
			}
			if body.Sandbox.Complete() != (mode == "required") {
				t.Errorf("/readyz: %+v", body.Sandbox)
			}
			c := r.caller()
			id := c.sandbox(t)
			if out := c.must(t, id,
				"TZ=Asia/Tokyo date -d @0 +%H; echo 'SELECT 1+1;' | sqlite3; echo x | gzip | gzip -d"); out != "09\n2\nx\n" {
				t.Errorf("%q", out)
			}
			// What a script sees of the host is nothing, with the walls and without.
			if out := c.must(t, id,
				"cat /etc/shadow /proc/1/environ 2>/dev/null; : 2>/dev/null < /dev/tcp/127.0.0.1/22 && echo connected; true"); out != "" {
				t.Errorf("%q", out)
			}
			r.stop(t)
		})
	}
}

// What stands beside the requests: numbers at an address of their own, and probes that take nothing away from anybody.
func TestProbesAndMetricsLeaveTheServerAlone(t *testing.T) {
	_, url := ownCluster(t)
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	r := startServe(t, url, "METRICS_ADDR="+address)
	c := r.caller()
	get := func(url string) (int, string) {
		t.Helper()
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	if status, body := get("http://" + address + "/metrics"); status != http.StatusOK ||
		!strings.Contains(body, "pgbox_exec_overdue_goroutines 0") {
		t.Errorf("%d %.300s", status, body)
	}
	for _, u := range []string{r.url + "/metrics", "http://" + address + "/readyz",
		"http://" + address + "/v1/sandboxes"} {
		if status, body := get(u); status != http.StatusNotFound {
			t.Errorf("%s: %d %.300s", u, status, body)
		}
	}

	id := c.sandbox(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	connections := func() (n int) {
		t.Helper()
		if err := conn.QueryRow(t.Context(),
			"SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	c.must(t, id, "echo 0 > f")
	before, most := connections(), 0
	// The check finds the table that it asks held by somebody, as it would find a database that is slow.
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "LOCK TABLE pgbox.schema_digest IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var wg sync.WaitGroup
	var refused atomic.Int64
	for range 250 {
		wg.Go(func() {
			a, err := c.do(t.Context(), http.MethodGet, "/readyz", nil)
			if err != nil {
				t.Error(err)
			}
			if a.Status == http.StatusServiceUnavailable {
				refused.Add(1)
			}
		})
	}
	for n := range 20 {
		most = max(most, connections())
		c.must(t, id, fmt.Sprintf("echo %d > f", n))
	}
	wg.Wait()
	if took := time.Since(began); took > 30*time.Second || refused.Load() == 0 {
		t.Errorf("250 probes were answered after %v; %d heard that the database does not answer", took, refused.Load())
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if most > before+5 { // one, and what the gateway opens by itself
		t.Errorf("%d connections, %d without probes", most, before)
	}
	eventually(t, func() error {
		if a, err := c.do(t.Context(), http.MethodGet, "/readyz", nil); err != nil || a.Status != http.StatusOK {
			return fmt.Errorf("%+v, %w", a, err)
		}
		return nil
	})
	r.stop(t)
}

// confinedProbe makes the test binary a server's process, as far as its walls go.
const confinedProbe = "PGBOX_TEST_CONFINED"

// tryEverything goes behind the walls of a server with the configuration of the environment, and prints what it can
// still do.
func tryEverything() {
	cfg, err := config.Load(os.Getenv)
	if err == nil {
		_, err = enter(cfg)
	}
	if err != nil {
		fmt.Println("enter", err)
		return
	}
	for _, name := range []string{"/etc/passwd", "/etc/shadow", "/proc/1/environ", "/etc/ssl/private", "/etc", "/", "/tmp",
		"/root", os.Args[0]} {
		if f, err := os.Open(name); err == nil {
			_ = f.Close()
			fmt.Println("open", name)
		}
	}
	for _, name := range []string{"/tmp/pgbox-confined", "/dev/shm/pgbox-confined", "/etc/hosts", "/proc/self/mem"} {
		if f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
			_ = f.Close()
			fmt.Println("write", name)
		}
	}
	if exec.CommandContext(context.Background(), "/bin/true").Run() == nil {
		fmt.Println("execute")
	}
	for _, address := range strings.Fields(os.Getenv(confinedProbe)) {
		if c, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			_ = c.Close()
			fmt.Println("connect", address)
		}
	}
	if _, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0"); err == nil {
		fmt.Println("listen")
	}
	if _, err := time.LoadLocation("Asia/Tokyo"); err != nil {
		fmt.Println(err)
	}
	if _, err := net.DefaultResolver.LookupHost(context.Background(), "localhost"); err != nil {
		fmt.Println(err)
	}
}

// The list of what a server keeps lets it do its work and nothing else.
func TestServerReachesNothingButWhatItServesFrom(t *testing.T) {
	listener := func() string {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l.Addr().String()
	}
	db, redis, other := listener(), listener(), listener()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), confinedProbe+"="+strings.Join([]string{db, redis, other}, " "), "SANDBOX=required",
		"LOG_LEVEL=error",
		"DATABASE_URL=postgres://u:p@"+db+"/d", "REDIS_URL=redis://"+redis)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "connect " + db + "\nconnect " + redis + "\n"; string(out) != want {
		t.Errorf("it can\n%s\nwant\n%s", out, want)
	}
}

// A crash under load: nobody is refused, what was acknowledged is there once, and what was under way is told what is
// known of it.
func TestCrashOfTheServerUnderLoad(t *testing.T) {
	const clients, crashes = 4, 3
	_, url := ownCluster(t)
	r := startServe(t, url)
	c := r.caller()
	var ids []string
	for range clients {
		ids = append(ids, c.sandbox(t))
	}
	var acked, answered sync.Map
	var told, total atomic.Int64
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				key := fmt.Sprintf("%s-%d", id, n)
				// With its key the same request is sent until it is answered.
				for {
					res, err := c.exec(t.Context(), id, fmt.Sprintf("echo %d >> log", n), "Idempotency-Key", key)
					total.Add(1)
					if err == nil && res.Status == http.StatusOK {
						acked.Store(key, true)
						break
					}
					if err != nil && strings.Contains(err.Error(), "refused") {
						t.Errorf("refused: %v", err)
						return
					}
					if err == nil {
						told.Add(1)
						answered.Store(res.Code, true)
						if res.Status != http.StatusServiceUnavailable || !res.Retryable {
							t.Errorf("%+v", res)
							return
						}
					}
				}
			}
		})
	}
	for i := range crashes {
		before := total.Load()
		eventually(t, func() error {
			if total.Load() < before+20 {
				return fmt.Errorf("%d requests", total.Load())
			}
			return nil
		})
		pid := r.worker(t)
		began := time.Now()
		if err := syscall.Kill(pid, []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGKILL}[i]); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			if now := r.worker(t); now == pid || now == 0 {
				return fmt.Errorf("process %d", now)
			}
			res, err := http.Get(r.url + "/healthz")
			if err != nil {
				return err
			}
			return res.Body.Close()
		})
		t.Logf("served again after %v", time.Since(began))
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("served again after %v", took)
		}
	}
	close(done)
	wg.Wait()
	for _, id := range ids {
		lines := count(c.must(t, id, "cat log"))
		for n := range len(lines) {
			if _, ok := acked.Load(fmt.Sprintf("%s-%d", id, n)); !ok || lines[strconv.Itoa(n)] != 1 {
				t.Errorf("%s: line %d is there %d times", id, n, lines[strconv.Itoa(n)])
			}
		}
		soundness(t, url, id)
	}
	t.Logf("%d requests, %d told 503", total.Load(), told.Load())
	r.stop(t)
}

// The parent takes its server with it, however it ends.
func TestNoServerOutlivesItsParent(t *testing.T) {
	_, url := ownCluster(t)
	for _, s := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT} {
		r := startServe(t, url)
		pid := r.worker(t)
		if err := r.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		err := r.cmd.Wait()
		if (err == nil) != (s != syscall.SIGKILL) {
			t.Errorf("after %v: %v\n%s", s, err, r.stderr)
		}
		eventually(t, func() error {
			if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil &&
				strings.Contains(string(b), workerName) {
				return fmt.Errorf("after %v process %d is there", s, pid)
			}
			return nil
		})
	}
}
