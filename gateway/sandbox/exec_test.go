package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/pgbox/pgbox/gateway/lock"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
	"github.com/pgbox/pgbox/sql/sqltest"
)

func TestMain(m *testing.M) { sqltest.Main(m) }

var alice = sandbox.Caller{Tenant: "test", Subject: "owner", Route: "test"}

// service returns a service over the shared database that leaves nothing running behind.
func service(t testing.TB, c sandbox.Config) *sandbox.Service {
	t.Helper()
	if c.Store == nil {
		st, err := store.Open(context.Background(), store.Config{URL: sqltest.ServingURL(t, sqltest.URL(t))})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(st.Close)
		c.Store = st
	}
	if c.Commands == nil {
		c.Commands = command.All()
	}
	s := sandbox.New(c)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return s
}

func emptySandbox(t testing.TB) uuid.UUID { return sqltest.Sandbox(t, sqltest.Pool(t)) }

func run(t testing.TB, s *sandbox.Service, id uuid.UUID, script string) *sandbox.Result {
	t.Helper()
	res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: script})
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return res
}

func read(t testing.TB, s *sandbox.Service, id uuid.UUID, path string) string {
	t.Helper()
	f, err := s.OpenFile(t.Context(), alice, id, path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return string(b)
}

func wantNoFile(t testing.TB, s *sandbox.Service, id uuid.UUID, path string) {
	t.Helper()
	if _, err := s.Stat(t.Context(), alice, id, path); !errors.Is(err, vfs.ENOENT) {
		t.Fatalf("%s: %v", path, err)
	}
}

func wantError(t testing.TB, err error, code wire.Code, applied sandbox.Applied) *sandbox.Error {
	t.Helper()
	var e *sandbox.Error
	if !errors.As(err, &e) || e.Code != code || e.Applied != applied || e.Retryable != code.Retryable() {
		t.Fatalf("got %#v, want %s applied %s", err, code, applied)
	}
	return e
}

// patiently does what has to get somewhere within a timeout with longer and longer ones, until the machine is not too
// busy for one: wrong is what was to be seen and was not.
func patiently(t testing.TB, timeout time.Duration, do func(timeout time.Duration) (wrong string)) {
	t.Helper()
	wrong := ""
	for ; timeout < 30*time.Second; timeout *= 5 {
		if wrong = do(timeout); wrong == "" {
			return
		}
	}
	t.Fatal(wrong)
}

// psql runs one fs.* statement as a DBA in psql would.
func psql(t testing.TB, id uuid.UUID, sql string, args ...any) {
	t.Helper()
	err := pgx.BeginFunc(context.Background(), sqltest.Pool(t), func(tx pgx.Tx) error {
		if _, err := tx.Exec(context.Background(), "SELECT set_config('app.sandbox_id', $1, true)", id.String()); err != nil {
			return err
		}
		_, err := tx.Exec(context.Background(), sql, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestExec(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	res := run(t, s, id, `echo hi; echo oops >&2; echo x > f; exit 3`)
	if string(res.Stdout) != "hi\n" || string(res.Stderr) != "oops\n" || res.ExitCode != 3 || !res.Committed ||
		res.Version != 1 || res.TimedOut || res.Truncated {
		t.Fatalf("%+v", res)
	}
	if got := read(t, s, id, "/home/user/f"); got != "x\n" {
		t.Fatalf("f: %q", got)
	}
	// Another process finds the same.
	if got := read(t, service(t, sandbox.Config{}), id, "/home/user/f"); got != "x\n" {
		t.Fatalf("f from another process: %q", got)
	}
}

// What a script leaves running is ended with it, or when the caller's wait is over, and the result counts it.
func TestBackgroundProcessesThatWereEndedAreCounted(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	for _, tt := range []struct {
		script string
		linger time.Duration
		ended  int
	}{
		{"sleep 100 & sleep 101 & echo x > f", 0, 2},
		{"true & true", 0, 0},
		{"{ sleep 0.1; echo late > f; } &", time.Minute, 0},
	} {
		res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: tt.script, Linger: tt.linger})
		if err != nil || res.BackgroundEnded != tt.ended || res.ExitCode != 0 {
			t.Errorf("%s: %+v, %v; want %d", tt.script, res, err, tt.ended)
		}
	}
	if got := read(t, s, id, "/home/user/f"); got != "late\n" {
		t.Errorf("f holds %q", got)
	}
}

func TestRunThatChangesNothingCommitsNothing(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	for range 2 {
		if res := run(t, s, id, `echo hi; ls / > /dev/null; x=1`); res.Committed || res.Version != 0 {
			t.Fatalf("%+v", res)
		}
	}
}

func TestStatePersists(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	run(t, s, id, `mkdir d; cd d; export A=1; B=2`)
	want := "/home/user/d 1 unset\n"
	script := `echo $PWD $A ${B-unset}`
	if res := run(t, s, id, script); string(res.Stdout) != want || res.Committed {
		t.Fatalf("%q committed %v", res.Stdout, res.Committed)
	}
	if res := run(t, service(t, sandbox.Config{}), id, script); string(res.Stdout) != want {
		t.Fatalf("in another process: %q", res.Stdout)
	}
	// Neither an explicit directory nor the request's variables nor a read-only run are remembered.
	for _, r := range []sandbox.Request{
		{Script: `cd ..; echo $PWD`, Cwd: "/tmp"},
		{Script: `echo $A$C`, Env: map[string]string{"A": "x", "C": "y"}},
		{Script: `cd /; export A=2`, ReadOnly: true},
	} {
		r.Sandbox, r.Caller = id, alice
		if _, err := s.Exec(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if res := run(t, s, id, script+`$C`); string(res.Stdout) != want {
			t.Fatalf("after %q: %q", r.Script, res.Stdout)
		}
	}
	run(t, s, id, `rmdir /home/user/d`)
	if res := run(t, s, id, `pwd`); string(res.Stdout) != "/home/user\n" {
		t.Fatalf("after its directory was removed: %q", res.Stdout)
	}
	_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: "pwd", Cwd: "/nowhere"})
	wantError(t, err, wire.CodeENOENT, sandbox.AppliedNo)
}

func TestDefaultEnvironment(t *testing.T) {
	t.Parallel()
	s := service(t, sandbox.Config{})
	b, err := s.CreateSandbox(t.Context(), alice, sandbox.NewSandbox{Name: "n",
		Env: map[string]string{"A": "one", "B": "two"}})
	if err != nil {
		t.Fatal(err)
	}
	if res := run(t, s, b.ID, `echo $A $B; export B=three`); string(res.Stdout) != "one two\n" {
		t.Fatalf("%q", res.Stdout)
	}
	if res := run(t, s, b.ID, `echo $A $B`); string(res.Stdout) != "one three\n" {
		t.Fatalf("%q", res.Stdout)
	}
	if _, err := s.UpdateSandbox(t.Context(), alice, b.ID,
		sandbox.SandboxUpdate{Env: map[string]string{"A": "uno"}}); err != nil {
		t.Fatal(err)
	}
	if res := run(t, s, b.ID, `echo $A $B`); string(res.Stdout) != "uno three\n" {
		t.Fatalf("after an update: %q", res.Stdout)
	}
}

func TestAtomicRollsBackAFailure(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: `echo 1 > f; cd /tmp; false`,
		Atomic: true})
	if err != nil || res.ExitCode != 1 || res.Committed || res.Version != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	wantNoFile(t, s, id, "/home/user/f")
	res, err = s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: `pwd; echo 1 > f`, Atomic: true})
	if err != nil || !res.Committed || string(res.Stdout) != "/home/user\n" {
		t.Fatalf("%+v, %v", res, err)
	}
}

func TestOwnership(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	for range 2 { // not cached, then cached
		bob := sandbox.Caller{Tenant: "test", Subject: "bob"}
		stranger := sandbox.Caller{Tenant: "other", Subject: "owner"}
		for _, ro := range []bool{true, false} {
			_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: bob, Script: "echo > f", ReadOnly: ro})
			wantError(t, err, wire.CodeForbidden, sandbox.AppliedNo)
			_, err = s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: stranger, Script: "echo > f", ReadOnly: ro})
			wantError(t, err, wire.CodeSandboxNotFound, sandbox.AppliedNo)
			_, err = s.Exec(t.Context(), sandbox.Request{Sandbox: uuid.New(), Caller: alice, Script: "echo > f", ReadOnly: ro})
			wantError(t, err, wire.CodeSandboxNotFound, sandbox.AppliedNo)
		}
		_, err := s.GetSandbox(t.Context(), bob, id)
		wantError(t, err, wire.CodeForbidden, sandbox.AppliedNo)
		_, err = s.OpenFile(t.Context(), stranger, id, "/etc/passwd")
		wantError(t, err, wire.CodeSandboxNotFound, sandbox.AppliedNo)
		wantError(t, s.DropSandbox(t.Context(), bob, id), wire.CodeForbidden, sandbox.AppliedNo)
		run(t, s, id, "true")
	}
}

func TestDroppedSandboxIsGoneForWhoHasItCached(t *testing.T) {
	t.Parallel()
	s, other := service(t, sandbox.Config{}), service(t, sandbox.Config{})
	id := emptySandbox(t)
	run(t, s, id, "echo 1 > f")
	if err := other.DropSandbox(t.Context(), alice, id); err != nil {
		t.Fatal(err)
	}
	for _, ro := range []bool{true, false} {
		_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: "cat f", ReadOnly: ro})
		wantError(t, err, wire.CodeSandboxNotFound, sandbox.AppliedNo)
	}
}

func TestFiftyConcurrentAppendersAreFiftyLines(t *testing.T) {
	t.Parallel()
	id := emptySandbox(t)
	// Two processes: the in-process lock keeps order, the compare-and-set keeps the lines.
	services := []*sandbox.Service{service(t, sandbox.Config{StaleRetries: 1000}),
		service(t, sandbox.Config{StaleRetries: 1000})}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			res, err := services[i%2].Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice,
				Script: fmt.Sprintf("echo line %d >> log", i)})
			if err != nil || !res.Committed {
				t.Errorf("%d: %+v, %v", i, res, err)
			}
		})
	}
	wg.Wait()
	lines := strings.Split(strings.TrimSuffix(read(t, services[0], id, "/home/user/log"), "\n"), "\n")
	slices.Sort(lines)
	if len(slices.Compact(lines)) != 50 {
		t.Fatalf("%d different lines", len(lines))
	}
}

// signal is a command that tells the test where a script is.
func signal(reached chan<- struct{}, resume <-chan struct{}) proc.Func {
	return func(ctx context.Context, p *proc.Process) int {
		select {
		case reached <- struct{}{}:
		case <-ctx.Done():
			return 1
		}
		select {
		case <-resume:
		case <-ctx.Done():
			return 1
		}
		return 0
	}
}

// with adds a command in the place of a program that every tree has.
func with(name string, f proc.Func) map[string]proc.Func {
	c := maps.Clone(command.All())
	c[name] = f
	return c
}

func TestReadersDoNotWaitForWriters(t *testing.T) {
	t.Parallel()
	reached, resume := make(chan struct{}), make(chan struct{})
	s, id := service(t, sandbox.Config{Commands: with("sync", signal(reached, resume))}), emptySandbox(t)
	run(t, s, id, "echo old > f; echo '#!/bin/builtin sync' > /tmp/sync; chmod +x /tmp/sync")
	done := make(chan error)
	go func() {
		_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: "echo new > f; /tmp/sync"})
		done <- err
	}()
	<-reached
	if got := read(t, s, id, "/home/user/f"); got != "old\n" {
		t.Fatalf("a reader saw %q", got)
	}
	res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: "read -r x < f; echo $x",
		ReadOnly: true})
	if err != nil || string(res.Stdout) != "old\n" {
		t.Fatalf("%+v, %v", res, err)
	}
	close(resume)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, id, "/home/user/f"); got != "new\n" {
		t.Fatalf("afterwards: %q", got)
	}
}

func TestPsqlWriterInBetweenRunsTheScriptAgain(t *testing.T) {
	t.Parallel()
	reached, resume := make(chan struct{}), make(chan struct{})
	s, id := service(t, sandbox.Config{Commands: with("sync", signal(reached, resume))}), emptySandbox(t)
	run(t, s, id, "echo 0 > f; echo '#!/bin/builtin sync' > /tmp/sync; chmod +x /tmp/sync")
	type outcome struct {
		res *sandbox.Result
		err error
	}
	start := func(r sandbox.Request) chan outcome {
		r.Sandbox, r.Caller = id, alice
		done := make(chan outcome)
		go func() {
			res, err := s.Exec(t.Context(), r)
			done <- outcome{res, err}
		}()
		return done
	}

	done := start(sandbox.Request{Script: "read -r line; read -r x < f; /tmp/sync; echo $line $x; echo $((x+1)) > f",
		Stdin: strings.NewReader("in\n")})
	<-reached
	psql(t, id, "SELECT fs.write_file('/home/user/f', '10\n')")
	resume <- struct{}{}
	<-reached
	resume <- struct{}{}
	if o := <-done; o.err != nil || string(o.res.Stdout) != "in 10\n" {
		t.Fatalf("%+v, %v", o.res, o.err)
	}
	if got := read(t, s, id, "/home/user/f"); got != "11\n" {
		t.Fatalf("f is %q", got)
	}

	// What has been streamed cannot be unsaid.
	var sink bytes.Buffer
	done = start(sandbox.Request{Script: "echo begun; /tmp/sync; echo 20 > f", Stdout: &sink})
	<-reached
	psql(t, id, "SELECT fs.write_file('/home/user/f', '15\n')")
	resume <- struct{}{}
	o := <-done
	wantError(t, o.err, wire.CodeESTALE, sandbox.AppliedNo)
	if sink.String() != "begun\n" || read(t, s, id, "/home/user/f") != "15\n" {
		t.Fatalf("streamed %q, f is %q", &sink, read(t, s, id, "/home/user/f"))
	}
}

func TestCacheShowsWhatPsqlWrote(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	run(t, s, id, "echo 1 > f")
	for i := range 5 {
		want := fmt.Sprintf("psql %d\n", i)
		psql(t, id, "SELECT fs.write_file('/home/user/f', $1)", []byte(want))
		if got := read(t, s, id, "/home/user/f"); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
		psql(t, id, "SELECT fs.mv('/home/user/f', '/home/user/g')")
		psql(t, id, "SELECT fs.mv('/home/user/g', '/home/user/f')")
		if res := run(t, s, id, "read -r x < f; echo $x; echo 2 >> f"); string(res.Stdout) != want {
			t.Fatalf("%q, want %q", res.Stdout, want)
		}
	}
}

// After a failover that lost a commit of this process, and another one in its place: the version is that of the cached
// tree, the tree is not.
func TestCommitLostInAFailoverIsNotShown(t *testing.T) {
	t.Parallel()
	s, other, id := service(t, sandbox.Config{}), service(t, sandbox.Config{}), emptySandbox(t)
	run(t, s, id, "echo 1 > f")
	lost := run(t, s, id, "echo lost > g")
	owner := sqltest.Owner(t)
	for _, sql := range []string{"UPDATE pgbox.sandbox SET version = version - 1 WHERE id = $1",
		"DELETE FROM pgbox.change c USING pgbox.sandbox s WHERE s.id = $1 AND c.sandbox_id = s.id AND c.version > s.version"} {
		if _, err := owner.Exec(t.Context(), sql, id); err != nil {
			t.Fatal(err)
		}
	}
	if kept := run(t, other, id, "rm -f g; echo kept > h"); kept.Version != lost.Version {
		t.Fatalf("versions %d and %d", lost.Version, kept.Version)
	}
	if got := read(t, s, id, "/home/user/h"); got != "kept\n" {
		t.Errorf("%q", got)
	}
	wantNoFile(t, s, id, "/home/user/g")
}

func TestReadOnlyViolation(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	run(t, s, id, "echo 1 > f")
	for _, script := range []string{"echo 2 > f", "rm f", "mkdir d", "mv f g || true",
		"( chmod 600 f ) 2>/dev/null; echo fine", "ln f g", "touch new"} {
		res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: script, ReadOnly: true})
		wantError(t, err, wire.CodeReadOnlyViolation, sandbox.AppliedNo)
		if res == nil {
			t.Fatalf("%s: no result", script)
		}
	}
	res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice,
		Script: "cat f; echo x > /dev/null; cat < f", ReadOnly: true})
	if err != nil || string(res.Stdout) != "1\n1\n" {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := read(t, s, id, "/home/user/f"); got != "1\n" {
		t.Fatalf("f: %q", got)
	}
}

func TestTimeoutAppliesNothing(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{Commands: with("sync", signal(nil, nil))}), emptySandbox(t)
	run(t, s, id, "echo '#!/bin/builtin sync' > /tmp/sync; chmod +x /tmp/sync")
	for _, script := range []string{"echo begun; echo 1 > f; /tmp/sync", "echo begun; echo 1 > f; while :; do :; done"} {
		patiently(t, 100*time.Millisecond, func(timeout time.Duration) string {
			res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: script, Timeout: timeout})
			wantError(t, err, wire.CodeExecTimeout, sandbox.AppliedNo)
			if res != nil && res.TimedOut && string(res.Stdout) == "begun\n" && !res.Committed {
				return ""
			}
			return fmt.Sprintf("%+v", res)
		})
		wantNoFile(t, s, id, "/home/user/f")
	}
}

func TestClientGoneAppliesNothing(t *testing.T) {
	t.Parallel()
	reached, resume := make(chan struct{}), make(chan struct{})
	s, id := service(t, sandbox.Config{Commands: with("sync", signal(reached, resume))}), emptySandbox(t)
	run(t, s, id, "echo '#!/bin/builtin sync' > /tmp/sync; chmod +x /tmp/sync")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := s.Exec(ctx, sandbox.Request{Sandbox: id, Caller: alice, Script: "echo 1 > f; /tmp/sync; echo 2 > f"})
		done <- err
	}()
	<-reached
	cancel()
	wantError(t, <-done, wire.CodeSessionClosing, sandbox.AppliedNo)
	wantNoFile(t, s, id, "/home/user/f")
	// A sink that fails is a client that went away, too.
	_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice,
		Script: "echo 1 > f; echo x; echo 2 > f; while :; do echo x; done", Stdout: broken{}})
	wantError(t, err, wire.CodeSessionClosing, sandbox.AppliedNo)
	wantNoFile(t, s, id, "/home/user/f")
	// The lock is free again.
	run(t, s, id, "echo 3 > f")
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// lossy hands out leases that the test can take away.
type lossy struct {
	lock.Locker
	lost chan struct{}
}

type lossyLease struct {
	lock.Lease
	lost chan struct{}
}

func (l lossy) Lock(ctx context.Context, id uuid.UUID) (lock.Lease, error) {
	e, err := l.Locker.Lock(ctx, id)
	return lossyLease{e, l.lost}, err
}

func (l lossyLease) Done() <-chan struct{} { return l.lost }

func (l lossyLease) Err() error {
	select {
	case <-l.lost:
		return lock.ErrLost
	default:
		return nil
	}
}

func TestLostLeaseAppliesNothing(t *testing.T) {
	t.Parallel()
	reached, resume := make(chan struct{}), make(chan struct{})
	l := lossy{lock.NewLocal(lock.Config{}), make(chan struct{})}
	s, id := service(t, sandbox.Config{Locker: l, Commands: with("sync", signal(reached, resume))}), emptySandbox(t)
	run(t, s, id, "echo '#!/bin/builtin sync' > /tmp/sync; chmod +x /tmp/sync")
	done := make(chan error)
	go func() {
		_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: "echo 1 > f; /tmp/sync"})
		done <- err
	}()
	<-reached
	close(l.lost)
	wantError(t, <-done, wire.CodeLockLost, sandbox.AppliedNo)
	wantNoFile(t, s, id, "/home/user/f")
	wantError(t, s.Mkdir(t.Context(), alice, id, "/home/user/d", false), wire.CodeLockLost, sandbox.AppliedNo)
}

func TestOutputIsCutInTheMiddle(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{OutputKeep: 1000, OutputMax: 1 << 20}), emptySandbox(t)
	res := run(t, s, id, `for ((i=0;i<1000;i++)); do echo $i; done`)
	out := string(res.Stdout)
	if !res.Truncated || !strings.HasPrefix(out, "0\n1\n2\n") || !strings.HasSuffix(out, "\n998\n999\n") ||
		len(out) > 1100 || !strings.Contains(out, " bytes omitted ") {
		t.Fatalf("%v %d %q", res.Truncated, len(out), out)
	}
	res = run(t, s, id, `for ((i=0;i<100;i++)); do echo 12345678$((i%10)); done`)
	if res.Truncated || len(res.Stdout) != 1000 {
		t.Fatalf("what fits is cut: %v %d", res.Truncated, len(res.Stdout))
	}
}

func TestEndlessOutputIsEnded(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{OutputKeep: 1000, OutputMax: 100_000}), emptySandbox(t)
	res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice,
		Script: `echo 1 > f; while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done`})
	wantError(t, err, wire.CodeENOBUFS, sandbox.AppliedNo)
	if res == nil || !res.Truncated || len(res.Stdout) > 1100 {
		t.Fatalf("%+v", res)
	}
	wantNoFile(t, s, id, "/home/user/f")
}

func TestLimitsEndTheRunAndApplyNothing(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{Limits: proc.Limits{LiveBytes: 8 << 20, Depth: 100, Goroutines: 32}}),
		emptySandbox(t)
	for _, script := range []string{
		`echo 1 > f; x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done`,
		`echo 1 > f; f() { f; }; f`,
		`echo 1 > f; b() { b | b & }; b; wait`,
	} {
		_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: script})
		wantError(t, err, wire.CodeENOBUFS, sandbox.AppliedNo)
		wantNoFile(t, s, id, "/home/user/f")
	}
}

func TestWatchdogEndsTheLargestRun(t *testing.T) {
	t.Parallel()
	reached, resume := make(chan struct{}), make(chan struct{})
	s := service(t, sandbox.Config{MaxLiveBytes: 32 << 20, Commands: with("sync", signal(reached, resume))})
	small, large := emptySandbox(t), emptySandbox(t)
	run(t, s, small, "echo '#!/bin/builtin sync' > /tmp/sync; chmod +x /tmp/sync")
	done := make(chan error)
	go func() {
		_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: small, Caller: alice, Script: `x=1; /tmp/sync; echo $x > f`})
		done <- err
	}()
	<-reached
	_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: large, Caller: alice,
		Script: `x=0123456789abcdef; while [ ${#x} -lt 40000000 ]; do x=$x$x; done; while :; do :; done`})
	e := wantError(t, err, wire.CodeENOBUFS, sandbox.AppliedNo)
	if !strings.Contains(e.Message, "memory of all scripts") {
		t.Fatalf("ended by something else: %v", e)
	}
	close(resume)
	if err := <-done; err != nil {
		t.Fatalf("the small one: %v", err)
	}
}

func TestTooManyScriptsAreBusy(t *testing.T) {
	t.Parallel()
	reached, resume := make(chan struct{}), make(chan struct{})
	s := service(t, sandbox.Config{MaxOwnerRuns: 1, QueueWait: time.Millisecond,
		Commands: with("sync", signal(reached, resume))})
	id := emptySandbox(t)
	run(t, s, id, "echo '#!/bin/builtin sync' > /tmp/sync; chmod +x /tmp/sync")
	bob := sandbox.Caller{Tenant: "test", Subject: "bob"}
	other, err := s.CreateSandbox(t.Context(), bob, sandbox.NewSandbox{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: "/tmp/sync", ReadOnly: true})
		done <- err
	}()
	<-reached
	_, err = s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: "true", ReadOnly: true})
	wantError(t, err, wire.CodeRuntimeBusy, sandbox.AppliedNo)
	if _, err := s.Exec(t.Context(), sandbox.Request{Sandbox: other.ID, Caller: bob, Script: "true",
		ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	close(resume)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	run(t, s, id, "true")
}

func TestShutdownWaitsThenEnds(t *testing.T) {
	t.Parallel()
	reached, resume := make(chan struct{}), make(chan struct{})
	s, id := service(t, sandbox.Config{Commands: with("sync", signal(reached, resume))}), emptySandbox(t)
	run(t, s, id, "echo '#!/bin/builtin sync' > /tmp/sync; chmod +x /tmp/sync")
	done := make(chan error)
	go func() {
		_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: "echo 1 > f; /tmp/sync"})
		done <- err
	}()
	<-reached
	ctx, cancel := context.WithCancel(t.Context())
	down := make(chan error)
	go func() { down <- s.Shutdown(ctx) }()
	for {
		_, err := s.GetSandbox(t.Context(), alice, id)
		var e *sandbox.Error
		if errors.As(err, &e) && e.Code == wire.CodeShuttingDown {
			break
		}
	}
	cancel()
	wantError(t, <-done, wire.CodeShuttingDown, sandbox.AppliedNo)
	if err := <-down; !errors.Is(err, context.Canceled) {
		t.Fatalf("shutdown: %v", err)
	}
	wantNoFile(t, service(t, sandbox.Config{}), id, "/home/user/f")
}

func TestQuota(t *testing.T) {
	t.Parallel()
	s := service(t, sandbox.Config{})
	limit := int64(1000)
	b, err := s.CreateSandbox(t.Context(), alice, sandbox.NewSandbox{Name: "n", MaxBytes: &limit})
	if err != nil {
		t.Fatal(err)
	}
	res := run(t, s, b.ID, `echo small > f; printf '%2000d' 1 > g; echo $?`)
	if string(res.Stdout) != "1\n" || !strings.Contains(string(res.Stderr), "Disk quota exceeded") {
		t.Fatalf("%q %q", res.Stdout, res.Stderr)
	}
	_, err = s.WriteFile(t.Context(), alice, b.ID, "/tmp/big", make([]byte, 2000), sandbox.WriteOptions{})
	wantError(t, err, wire.CodeEDQUOT, sandbox.AppliedNo)
	wantNoFile(t, s, b.ID, "/tmp/big")
}

func TestMoreThanMemoryHolds(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{DirtyMax: 1 << 20}), emptySandbox(t)
	run(t, s, id, `for ((i=0;i<64;i++)); do printf '%65536d' $i; done > big; printf '%s' end >> big`)
	info, err := s.Stat(t.Context(), alice, id, "/home/user/big")
	if err != nil || info.Size != 4<<20+3 {
		t.Fatalf("%+v, %v", info, err)
	}
	if got := read(t, service(t, sandbox.Config{}), id, "/home/user/big"); !strings.HasSuffix(got, "63end") ||
		len(got) != 4<<20+3 {
		t.Fatalf("%d bytes", len(got))
	}
}

func TestNothingRunsOn(t *testing.T) {
	id := emptySandbox(t)
	u := sqltest.ServingURL(t, sqltest.URL(t))
	ignore := goleak.IgnoreCurrent()
	st, err := store.Open(context.Background(), store.Config{URL: u})
	if err != nil {
		t.Fatal(err)
	}
	s := sandbox.New(sandbox.Config{Store: st, Commands: command.All()})
	run(t, s, id, "echo 1 > f; sleep 100 & cat f | cat | cat")
	_, _ = s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: "yes | cat > /dev/null",
		Timeout: 50 * time.Millisecond})
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	st.Close()
	if err := goleak.Find(ignore); err != nil {
		t.Error(err)
	}
}
