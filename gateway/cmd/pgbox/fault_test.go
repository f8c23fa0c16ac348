package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/devdb"
	"github.com/pgbox/pgbox/gateway/httpapi"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/sql/migrate"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// caller calls a gateway; a call that gets no answer is an error.
type caller struct{ url, token string }

// reply is what the faults look at.
type reply struct {
	Status                int         `json:"-"`
	Header                http.Header `json:"-"`
	ID, Code, Applied     string
	Stdout, Stderr, Error string
	State                 string `json:"status"`
	Retryable, Committed  bool
	ExitCode              int
}

func (c caller) do(ctx context.Context, method, path string, body any, header ...string) (reply, error) {
	var a reply
	data, err := json.Marshal(body)
	if err != nil {
		return a, err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(string(data)))
	if err != nil {
		return a, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.token)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return a, err
	}
	a.Status, a.Header = res.StatusCode, res.Header
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, fmt.Errorf("status %d, body %q: %w", res.StatusCode, raw, err)
	}
	return a, nil
}

func (c caller) exec(ctx context.Context, id, script string, header ...string) (reply, error) {
	return c.do(ctx, http.MethodPost, "/v1/sandboxes/"+id+"/exec-sync", map[string]any{"script": script}, header...)
}

func (c caller) sandbox(t *testing.T) string {
	t.Helper()
	a, err := c.do(t.Context(), http.MethodPost, "/v1/sandboxes", map[string]any{})
	if err != nil || a.ID == "" {
		t.Fatalf("create: %+v, %v", a, err)
	}
	return a.ID
}

func (c caller) must(t *testing.T, id, script string) string {
	t.Helper()
	a, err := c.exec(t.Context(), id, script)
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("%s: %+v, %v", script, a, err)
	}
	return a.Stdout
}

// soundness fails when fsck finds something in a sandbox.
func soundness(t *testing.T, url, id string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "SELECT fs.use($1)", id); err != nil {
		t.Fatal(err)
	}
	var faults []string
	if err := conn.QueryRow(t.Context(),
		"SELECT coalesce(array_agg(to_jsonb(f)::text), '{}') FROM fs.fsck() f").Scan(&faults); err != nil {
		t.Fatal(err)
	}
	if len(faults) > 0 {
		t.Errorf("fsck: %v", faults)
	}
}

// count is how often each line is in a text.
func count(text string) map[string]int {
	m := map[string]int{}
	for line := range strings.Lines(text) {
		m[strings.TrimSuffix(line, "\n")]++
	}
	return m
}

// What was answered before a kill -9 is there exactly once afterwards; what was not is there at most once and never by
// halves.
func TestKillOfTheGatewayKeepsWhatWasAcknowledged(t *testing.T) {
	const rounds, writers = 20, 3
	cluster, url := ownCluster(t)
	defer func() { cluster.Stop() }()
	var acked sync.Map
	var ids []string
	line := atomic.Int64{}
	for round := range rounds {
		r := startServe(t, url)
		c := caller{r.url, r.token}
		for len(ids) < writers {
			ids = append(ids, c.sandbox(t))
		}
		kill := make(chan struct{})
		var wg sync.WaitGroup
		for _, id := range ids {
			wg.Go(func() {
				for n := 0; ; n++ {
					k := fmt.Sprint(line.Add(1))
					// Three files and a directory: all of it or nothing.
					a, err := c.exec(context.Background(), id,
						fmt.Sprintf("mkdir -p d; echo %s >> log; echo %s >> d/copy; echo %s > d/last", k, k, k))
					if err != nil {
						return // the gateway is gone
					}
					if a.Status != http.StatusOK || !a.Committed {
						t.Errorf("round %d: %+v", round, a)
						return
					}
					acked.Store(id+" "+k, true)
					if n == 0 && id == ids[0] {
						close(kill)
					}
				}
			})
		}
		<-kill
		// Anywhere within the commits that follow.
		<-time.After(time.Duration(rand.IntN(60_000)) * time.Microsecond)
		if err := r.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = r.cmd.Wait()
		wg.Wait()
	}
	r := startServe(t, url)
	c := caller{r.url, r.token}
	total := 0
	for _, id := range ids {
		log := c.must(t, id, "cat log")
		lines := count(log)
		for k, n := range lines {
			if n != 1 {
				t.Errorf("%s: line %s is there %d times", id, k, n)
			}
		}
		acked.Range(func(key, _ any) bool {
			if k, ok := strings.CutPrefix(key.(string), id+" "); ok {
				total++
				if lines[k] != 1 {
					t.Errorf("%s: line %s was acknowledged and is not there", id, k)
				}
			}
			return true
		})
		last := log[strings.LastIndexByte(strings.TrimSuffix(log, "\n"), '\n')+1:]
		if got := c.must(t, id, "cat d/copy"); got != log {
			t.Errorf("%s: a script was applied by halves: %d lines in one file, %d in the other", id, len(lines),
				len(count(got)))
		}
		if got := c.must(t, id, "cat d/last"); got != last {
			t.Errorf("%s: a script was applied by halves: the last line is %q in one file, %q in the other", id, last, got)
		}
		soundness(t, url, id)
	}
	if total < rounds {
		t.Errorf("only %d scripts were acknowledged in %d rounds", total, rounds)
	}
	t.Logf("%d acknowledged scripts, %d kills", total, rounds)
	r.stop(t)
}

// ownCluster starts a migrated PostgreSQL of the test's own and returns it with its superuser's URL. Commits are
// durable in it.
func ownCluster(t *testing.T) (*devdb.Cluster, string) {
	t.Helper()
	c, err := devdb.Start(t.Context(), devdb.Config{Dir: dataDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	if _, err := migrate.Up(t.Context(), c.URL("postgres"), migrate.Options{}); err != nil {
		t.Fatal(err)
	}
	return c, c.URL("postgres")
}

const faultSecret = "the secret of the fault tests"

// startServe starts `pgbox dev` on a database that is there, because it says when it is ready and which port it has.
func startServe(t *testing.T, url string, env ...string) *running {
	t.Helper()
	return startDev(t, t.TempDir(), serveEnv(t, url, env...)...)
}

func serveEnv(t *testing.T, url string, env ...string) []string {
	t.Helper()
	return append(env, "DATABASE_URL="+sqltest.ServingURL(t, url), "DATABASE_DIRECT_URL="+url, "AUTH_SECRET="+faultSecret)
}

// inProcess serves from url in this process.
func inProcess(t *testing.T, url string) caller {
	t.Helper()
	st, err := store.Open(t.Context(), store.Config{URL: sqltest.ServingURL(t, url)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	svc := sandbox.New(sandbox.Config{Store: st, Commands: command.All(), CommitTimeout: 10 * time.Second})
	v, err := auth.NewVerifier(faultSecret, nil)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(httpapi.New(httpapi.Config{Version: "test", Service: svc, Verifier: v,
		AuthSecret: faultSecret, Ready: func(ctx context.Context) map[string]string {
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			if st.Ping(ctx) != nil {
				return map[string]string{"postgres": "does not answer"}
			}
			return nil
		}}))
	t.Cleanup(srv.Close)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := svc.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	token, _, err := v.Issue("alice", "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return caller{srv.URL, token}
}

// tally keeps what was said about each appended line.
type tally struct {
	mu   sync.Mutex
	said map[string]string // line → yes, no, unknown
}

func (y *tally) note(t *testing.T, line string, a reply, err error) {
	t.Helper()
	word := "yes"
	switch {
	case err != nil:
		t.Errorf("no answer: %v", err)
		word = "unknown"
	case a.Status != http.StatusOK:
		word = a.Applied
		if a.Status != http.StatusServiceUnavailable || word != "no" && word != "unknown" || a.Retryable != (word == "no") {
			t.Errorf("answer to a fault: %+v", a)
		}
	case !a.Committed:
		t.Errorf("answered and not committed: %+v", a)
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.said[line] = word
}

// check compares what was said with what is there.
func (y *tally) check(t *testing.T, text string) {
	t.Helper()
	lines, words := count(text), map[string]int{}
	for line, word := range y.said {
		words[word]++
		if n := lines[line]; n > 1 || word == "yes" && n != 1 || word == "no" && n != 0 {
			t.Errorf("line %s: applied %s was said, it is there %d times", line, word, n)
		}
		delete(lines, line)
	}
	if len(lines) > 0 {
		t.Errorf("lines that nobody wrote: %v", lines)
	}
	t.Logf("said: %v", words)
}

// Backends are terminated all the time: what each answer says of its append is true.
func TestTerminatedBackendsNeverMakeAnAnswerWrong(t *testing.T) {
	cluster, url := ownCluster(t)
	defer cluster.Stop()
	c := inProcess(t, url)
	const writers, each = 4, 60
	ids := make([]string, writers)
	for i := range ids {
		ids[i] = c.sandbox(t)
	}
	killer, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = killer.Close(context.Background()) }()
	over, stopped := make(chan struct{}), make(chan struct{})
	killed := 0
	go func() {
		defer close(stopped)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			// Those in the middle of a statement first: that is where outcomes become unknown.
			var n int
			err := killer.QueryRow(context.Background(), `SELECT count(pg_terminate_backend(pid)) FROM (
				SELECT pid FROM pg_stat_activity WHERE application_name = 'pgbox' AND pid <> pg_backend_pid() ORDER BY state = 'active' DESC, random() LIMIT 1) b`).Scan(&n)
			if err != nil {
				t.Error(err)
				return
			}
			killed += n
		}
	}()
	tallies := make([]*tally, writers)
	var wg sync.WaitGroup
	for i, id := range ids {
		tallies[i] = &tally{said: map[string]string{}}
		wg.Go(func() {
			for n := range each {
				line := fmt.Sprintf("%d-%d", i, n)
				a, err := c.exec(context.Background(), id, "echo "+line+" >> log")
				tallies[i].note(t, line, a, err)
			}
		})
	}
	wg.Wait()
	close(over)
	<-stopped
	t.Logf("%d backends terminated", killed)
	if killed == 0 {
		t.Error("no backend was terminated")
	}
	for i, id := range ids {
		// The last victims are found on the way.
		var text string
		eventually(t, func() error {
			a, err := c.exec(t.Context(), id, "cat log")
			if err != nil || a.Status != http.StatusOK {
				return fmt.Errorf("%+v, %w", a, err)
			}
			text = a.Stdout
			return nil
		})
		tallies[i].check(t, text)
		soundness(t, url, id)
	}
}

// eventually calls f until it is content.
func eventually(t *testing.T, f func() error) {
	t.Helper()
	const within = time.Minute
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("still, after %v: %v", within, err)
		}
	}
}

// Postgres stops and starts again under load: answers are true, nothing needs a restart, /readyz says what is down.
func TestPostgresRestartUnderLoad(t *testing.T) {
	dir := dataDir(t)
	start := func() *devdb.Cluster {
		c, err := devdb.Start(t.Context(), devdb.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	cluster := start()
	defer func() { cluster.Stop() }()
	url := cluster.URL("postgres")
	if _, err := migrate.Up(t.Context(), url, migrate.Options{}); err != nil {
		t.Fatal(err)
	}
	c := inProcess(t, url)
	const writers = 3
	ids := make([]string, writers)
	for i := range ids {
		ids[i] = c.sandbox(t)
		c.must(t, ids[i], ": > log")
	}
	over := make(chan struct{})
	tallies := make([]*tally, writers)
	var wg sync.WaitGroup
	stop := sync.OnceFunc(func() { close(over); wg.Wait() })
	defer stop()
	var committed, refusedReads, reads atomic.Int64
	running := func() bool {
		select {
		case <-over:
			return false
		default:
			return true
		}
	}
	for i, id := range ids {
		tallies[i] = &tally{said: map[string]string{}}
		wg.Go(func() {
			for n := 0; running(); n++ {
				line := fmt.Sprintf("%d-%d", i, n)
				a, err := c.exec(context.Background(), id, "echo "+line+" >> log")
				tallies[i].note(t, line, a, err)
				if a.Status == http.StatusOK {
					committed.Add(1)
				}
			}
		})
		wg.Go(func() {
			for running() {
				a, err := c.do(context.Background(), http.MethodPost, "/v1/sandboxes/"+id+"/exec-sync",
					map[string]any{"script": "cat log > /dev/null", "readOnly": true})
				switch {
				case err == nil && a.Status == http.StatusOK:
					reads.Add(1)
				case err == nil && a.Status == http.StatusServiceUnavailable && a.Retryable && a.Applied == "no":
					refusedReads.Add(1)
				default:
					t.Errorf("read: %+v, %v", a, err)
				}
			}
		})
	}
	ready := func() (int, string) {
		res, err := http.Get(c.url + "/readyz")
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
	progress := func() {
		t.Helper()
		before, readBefore := committed.Load(), reads.Load()
		eventually(t, func() error {
			if committed.Load() < before+5 || reads.Load() < readBefore+5 {
				return errors.New("no commits and reads")
			}
			return nil
		})
	}
	for range 2 {
		progress()
		cluster.Stop()
		eventually(t, func() error {
			if status, body := ready(); status != http.StatusServiceUnavailable || !strings.Contains(body, "postgres") {
				return fmt.Errorf("/readyz while Postgres is down: %d %s", status, body)
			}
			return nil
		})
		refused := refusedReads.Load()
		eventually(t, func() error {
			if refusedReads.Load() == refused {
				return errors.New("no read is refused while Postgres is down")
			}
			return nil
		})
		cluster = start()
		began := time.Now()
		progress()
		t.Logf("commits and reads again after %v", time.Since(began))
		eventually(t, func() error {
			if status, body := ready(); status != http.StatusOK {
				return fmt.Errorf("/readyz: %d %s", status, body)
			}
			return nil
		})
	}
	stop()
	for i, id := range ids {
		tallies[i].check(t, c.must(t, id, "cat log"))
		soundness(t, url, id)
	}
}

// SIGTERM lets a script that runs finish and answers it; new ones are refused.
func TestShutdownLetsScriptsFinish(t *testing.T) {
	cluster, url := ownCluster(t)
	defer cluster.Stop()
	r := startServe(t, url)
	c := caller{r.url, r.token}
	id, other := c.sandbox(t), c.sandbox(t)
	// The stream says when the script has begun, and holds it up until it is read on: more is printed than fits on the
	// way.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+"/v1/sandboxes/"+id+"/exec",
		strings.NewReader(`{"script":"echo begun; yes | head -c 20M; echo done | tee f"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := res.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		a, err := c.exec(t.Context(), other, "echo new > f")
		if err != nil {
			return fmt.Errorf("not refused but cut off: %w", err)
		}
		if a.Code != "ESHUTTINGDOWN" || a.Status != http.StatusServiceUnavailable || !a.Retryable || a.Applied != "no" ||
			a.Header.Get("Retry-After") == "" {
			return fmt.Errorf("%+v", a)
		}
		return nil
	})
	if probe, err := c.do(t.Context(), http.MethodGet, "/readyz", nil); err != nil || probe.State != "draining" ||
		probe.Status != http.StatusServiceUnavailable ||
		probe.Header.Get("Retry-After") == "" {
		t.Errorf("/readyz while scripts finish: %+v, %v", probe, err)
	}
	rest, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(rest), `done\n"`) || !strings.Contains(string(rest), `"t":"exit","exitCode":0`) {
		t.Errorf("the script was not let finish: %s", rest[max(0, len(rest)-1000):])
	}
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("exit: %v\n%s", err, r.stderr)
	}
	again := startServe(t, url)
	c = caller{again.url, again.token}
	if out := c.must(t, id, "cat f"); out != "done\n" {
		t.Errorf("f is %q", out)
	}
	// A connection that a client holds in reserve is no reason to stop with an error.
	reserve, err := net.Dial("tcp", strings.TrimPrefix(again.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reserve.Close() }()
	again.stop(t)
}

// A client that hangs up in the middle of a script has changed nothing, and the sandbox is free for the next one.
func TestClientGoneAppliesNothing(t *testing.T) {
	cluster, url := ownCluster(t)
	defer cluster.Stop()
	r := startServe(t, url)
	c := caller{r.url, r.token}
	id := c.sandbox(t)
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := c.exec(ctx, id, "echo x >> f; sleep 200; echo y >> f")
		cancel()
		if err == nil {
			t.Fatal("answered")
		}
	}
	// It would be told after a minute that the sandbox is locked.
	if out := c.must(t, id, "echo /home/user/*; echo free > g"); out != "/home/user/*\n" {
		t.Errorf("a script whose client went away has applied: %q", out)
	}
	soundness(t, url, id)
	r.stop(t)
}
