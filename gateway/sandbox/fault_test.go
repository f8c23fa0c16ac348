package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/devdb/link"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/wire"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// TestOutcomesAreTrueWhileConnectionsDie: writers append while their connections are killed again and again. Who was
// told "committed" finds the line once, who was told "no" does not find it.
func TestOutcomesAreTrueWhileConnectionsDie(t *testing.T) {
	t.Parallel()
	url := sqltest.Database(t)
	st, err := store.Open(context.Background(), store.Config{URL: url, MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	// Before the database is dropped.
	defer st.Close()
	s := sandbox.New(sandbox.Config{Store: st})
	defer func() { _ = s.Shutdown(context.Background()) }()
	b, err := s.CreateSandbox(t.Context(), alice, sandbox.NewSandbox{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	killer := sqltest.Connect(t, url)
	over, stopped := make(chan struct{}), make(chan struct{})
	var killed, committed atomic.Int64
	go func() {
		defer close(stopped)
		for {
			select {
			case <-over:
				return
			default:
			}
			// On a slow machine every run could be hit, and then there is nothing to look at.
			if killed.Load() > committed.Load()+5 {
				time.Sleep(time.Millisecond)
				continue
			}
			var n int64
			err := killer.QueryRow(context.Background(), `SELECT count(pg_terminate_backend(a.pid)) FROM pg_sleep(0.02),
				(SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pgbox' AND state = 'active' ORDER BY random() LIMIT 1) a`).Scan(&n)
			if err != nil {
				t.Errorf("killer: %v", err)
			}
			killed.Add(n)
		}
	}()
	var mu sync.Mutex
	said := map[string]sandbox.Applied{}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := 0; i < 40 || (killed.Load() == 0 || committed.Load() == 0) && i < 10_000; i++ {
				line := fmt.Sprintf("writer %d line %d", w, i)
				res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: b.ID, Caller: alice, Script: "echo " + line + " >> log"})
				applied := sandbox.AppliedYes
				var e *sandbox.Error
				switch {
				case errors.As(err, &e):
					applied = e.Applied
					if e.Code != wire.CodeUnavailable && e.Code != wire.CodeESTALE && e.Code != wire.CodeOutcomeUnknown {
						t.Errorf("%s: %v (%v)", line, e.Code, errors.Unwrap(e))
					}
				case !res.Committed:
					t.Errorf("%s: neither committed nor an error", line)
				default:
					committed.Add(1)
				}
				mu.Lock()
				said[line] = applied
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	close(over)
	<-stopped
	var log string
	for {
		f, err := s.OpenFile(t.Context(), alice, b.ID, "/home/user/log")
		if err == nil {
			f.Close()
			log = read(t, s, b.ID, "/home/user/log")
			break
		}
		if e := new(sandbox.Error); !errors.As(err, &e) || e.Code != wire.CodeUnavailable {
			t.Fatal(err)
		}
	}
	count := map[string]int{}
	for line := range strings.Lines(log) {
		count[strings.TrimSuffix(line, "\n")]++
	}
	outcomes := map[sandbox.Applied]int{}
	for line, applied := range said {
		outcomes[applied]++
		if want, ok := map[sandbox.Applied]int{sandbox.AppliedYes: 1, sandbox.AppliedNo: 0}[applied]; ok &&
			count[line] != want || count[line] > 1 {
			t.Errorf("%s: applied %q was said, it is there %d times", line, applied, count[line])
		}
	}
	t.Logf("%d connections killed; %v", killed.Load(), outcomes)
	if killed.Load() == 0 || outcomes[sandbox.AppliedYes] == 0 {
		t.Error("the test has not tested anything")
	}
}

// TestScriptThatCannotReadIsEnded: a script that meets contents which cannot be had must not go on as if the file were
// damaged: what it would print and commit is nothing that the tree says.
func TestScriptThatCannotReadIsEnded(t *testing.T) {
	t.Parallel()
	l := linkTo(t, "postgres")
	url, err := l.ToPostgres(sqltest.ServingURL(t, sqltest.URL(t)))
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), store.Config{URL: url, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	s, other, id := service(t, sandbox.Config{Store: st}), service(t, sandbox.Config{}), emptySandbox(t)
	run(t, other, id, "echo precious > f")
	for _, r := range []sandbox.Request{
		{Script: `read go; x=$(cat f); echo "$x" > copy; echo "$x"`},
		{Script: `read go; x=$(cat f); echo "[$x]"`, ReadOnly: true},
		{Script: `read go; cat f > /dev/null || exit 0`, ReadOnly: true},
		// Written back in part: what is around it has to be read.
		{Script: `read go; printf x 1<>f`},
	} {
		var seen bytes.Buffer
		r.Sandbox, r.Caller, r.Stdout, r.Stderr = id, alice, &seen, &seen
		r.Stdin = iotest.OneByteReader(io.MultiReader(strings.NewReader("go"), cutting{l}, strings.NewReader("\n")))
		_, err := s.Exec(t.Context(), r)
		if e := wantError(t, err, wire.CodeUnavailable, sandbox.AppliedNo); strings.Contains(e.Message, "127.0.0.1") {
			t.Errorf("%s: %s", r.Script, e.Message)
		}
		if got := seen.String(); strings.Contains(got, "postgres") || strings.Contains(got, "[") {
			t.Errorf("%s printed %q", r.Script, got)
		}
		wantNoFile(t, other, id, "/home/user/copy")
		if got := read(t, other, id, "/home/user/f"); got != "precious\n" {
			t.Errorf("after %s: %q", r.Script, got)
		}
		l.Heal()
	}
	if got := run(t, s, id, "cat f"); string(got.Stdout) != "precious\n" {
		t.Errorf("afterwards: %q %q", got.Stdout, got.Stderr)
	}
}

// cutting is an empty input that cuts a link when it is read.
type cutting struct{ l *link.Link }

func (c cutting) Read([]byte) (int, error) {
	c.l.Cut()
	return 0, io.EOF
}

func TestBrokenShellStateIsAFreshOne(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	for _, state := range []string{`[]`, `{"cwd": 7}`, `{"cwd": "/nowhere", "env": null}`, `{"cwd": "relative"}`} {
		if _, err := sqltest.Owner(t).Exec(t.Context(), `WITH t AS (
			INSERT INTO pgbox.shell_state (sha256, state, size) VALUES (sha256(convert_to($2::text, 'UTF8')), $2::text::jsonb, 1) RETURNING sha256)
			UPDATE pgbox.sandbox SET state_sha256 = t.sha256 FROM t WHERE id = $1`, id, state); err != nil {
			t.Fatal(err)
		}
		if res := run(t, s, id, "pwd; echo $HOME"); string(res.Stdout) != "/home/user\n/home/user\n" {
			t.Fatalf("%s: %q %q", state, res.Stdout, res.Stderr)
		}
	}
}

func TestRequestsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	for _, r := range []sandbox.Request{
		{Cwd: "relative"}, {Cwd: "/a\x00"}, {Env: map[string]string{"": "x"}}, {Env: map[string]string{"A=B": "x"}},
		{Env: map[string]string{"A": "\x00"}},
	} {
		r.Sandbox, r.Caller, r.Script = id, alice, "echo 1 > f"
		_, err := s.Exec(t.Context(), r)
		wantError(t, err, wire.CodeInvalidInput, sandbox.AppliedNo)
	}
	_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: "pwd", Cwd: "/etc/passwd"})
	wantError(t, err, wire.CodeENOTDIR, sandbox.AppliedNo)
	wantNoFile(t, s, id, "/home/user/f")
	_, err = service(t, sandbox.Config{MaxTimeout: 50 * time.Millisecond}).Exec(t.Context(),
		sandbox.Request{Sandbox: id, Caller: alice, Script: "while :; do :; done", Timeout: time.Hour})
	wantError(t, err, wire.CodeExecTimeout, sandbox.AppliedNo) // and not after an hour
	if _, err := s.GetSandbox(t.Context(), alice, uuid.Nil); err == nil {
		t.Fatal("the zero id is a sandbox")
	}
}
