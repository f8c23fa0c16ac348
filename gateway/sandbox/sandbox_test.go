package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
	"github.com/pgbox/pgbox/sql/sqltest"
)

func TestCreateSandboxWithFiles(t *testing.T) {
	t.Parallel()
	s := service(t, sandbox.Config{})
	carol := sandbox.Caller{Tenant: "test", Subject: uuid.NewString(), Route: "test"}
	for range 2 { // with the base layer cached, too
		b, err := s.CreateSandbox(t.Context(), carol, sandbox.NewSandbox{
			Name: "n", Labels: map[string]string{"k": "v"}, Config: []byte(`{"python": null}`),
			Files: map[string][]byte{"/home/user/a/f": []byte("1"), "/tmp/big": make([]byte, 1<<20)},
		})
		if err != nil || b.Owner != carol.Subject || b.Labels["k"] != "v" || b.Version != 1 {
			t.Fatalf("%+v, %v", b, err)
		}
		got, err := s.GetSandbox(t.Context(), carol, b.ID)
		if err != nil || got.UsedBytes != 1<<20+1 || string(got.Config) != `{"python": null}` {
			t.Fatalf("%+v, %v", got, err)
		}
		res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: b.ID, Caller: carol, Script: "cat a/f"})
		if err != nil || string(res.Stdout) != "1" {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	_, err := s.CreateSandbox(t.Context(), carol, sandbox.NewSandbox{Name: "n",
		Files: map[string][]byte{"/etc/passwd/x": nil}})
	wantError(t, err, wire.CodeENOTDIR, sandbox.AppliedNo)
	list, err := s.ListSandboxes(t.Context(), carol, sandbox.ListOptions{})
	if err != nil || len(list) != 2 || list[0].CreatedAt.Before(list[1].CreatedAt) {
		t.Fatalf("%d, %v", len(list), err)
	}
	page, err := s.ListSandboxes(t.Context(), carol, sandbox.ListOptions{Limit: 1, After: list[0].ID})
	if err != nil || len(page) != 1 || page[0].ID != list[1].ID {
		t.Fatalf("%v, %v", page, err)
	}
}

func TestForksAreIsolated(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	run(t, s, id, "echo base > f; mkdir d; cd d; export A=1")
	fork, err := forked(s.Fork(t.Context(), alice, id, "fork", 1, ""))
	if err != nil || fork.Name != "fork" || fork.Owner != "owner" {
		t.Fatalf("%+v, %v", fork, err)
	}
	if res := run(t, s, fork.ID, "cat ../f; pwd; echo $A"); string(res.Stdout) != "base\n/home/user/d\n1\n" {
		t.Fatalf("%q", res.Stdout)
	}
	run(t, s, id, "echo mine > ../f; rm -r /home/user/d")
	run(t, s, fork.ID, "echo theirs >> ../f; echo new > g")
	for range 2 {
		if got := read(t, s, id, "/home/user/f"); got != "mine\n" {
			t.Fatalf("%q", got)
		}
		if got := read(t, s, fork.ID, "/home/user/f"); got != "base\ntheirs\n" {
			t.Fatalf("%q", got)
		}
		wantNoFile(t, s, id, "/home/user/d/g")
		if got := read(t, s, fork.ID, "/home/user/d/g"); got != "new\n" {
			t.Fatalf("%q", got)
		}
		s = service(t, sandbox.Config{}) // as Postgres has it
	}
	if err := s.DropSandbox(t.Context(), alice, id); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, fork.ID, "/home/user/f"); got != "base\ntheirs\n" {
		t.Fatalf("after the origin was dropped: %q", got)
	}
}

func TestSnapshotAndRestore(t *testing.T) {
	t.Parallel()
	s, other, id := service(t, sandbox.Config{}), service(t, sandbox.Config{}), emptySandbox(t)
	run(t, s, id, "echo 1 > f")
	snap, err := s.Snapshot(t.Context(), alice, id, "one")
	if err != nil || snap.Name != "one" || snap.Sandbox != id {
		t.Fatalf("%+v, %v", snap, err)
	}
	_, err = s.Snapshot(t.Context(), alice, id, "one")
	wantError(t, err, wire.CodeEEXIST, sandbox.AppliedNo)
	run(t, s, id, "echo 2 > f; echo g > g; cd /tmp")
	run(t, other, id, "cat /home/user/f")
	if _, err := s.Restore(t.Context(), alice, id, snap.Name); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*sandbox.Service{s, other} {
		if res := run(t, s, id, "cat f; pwd"); string(res.Stdout) != "1\n/home/user\n" {
			t.Fatalf("%q", res.Stdout)
		}
		wantNoFile(t, s, id, "/home/user/g")
	}
	_, err = s.Restore(t.Context(), alice, id, uuid.NewString())
	wantError(t, err, wire.CodeENOENT, sandbox.AppliedNo)
	all, err := s.Snapshots(t.Context(), alice, id)
	if err != nil || len(all) != 2 || all[0].ID != snap.ID || !all[1].Automatic {
		t.Fatalf("%+v, %v", all, err)
	}
}

// A snapshot that is gone is gone for all that name it, and nothing else is: the sandbox, its other snapshots, and
// forks that were made of it.
func TestDroppedSnapshotTakesNothingElseAlong(t *testing.T) {
	t.Parallel()
	s, other, id, stranger := service(t, sandbox.Config{}), service(t, sandbox.Config{}), emptySandbox(t), emptySandbox(t)
	for _, name := range []string{"one", "two", "three"} {
		run(t, s, id, "echo "+name+" > f")
		if _, err := s.Snapshot(t.Context(), alice, id, name); err != nil {
			t.Fatal(err)
		}
	}
	at := alice
	at.At = "one"
	fork, err := forked(s.Fork(t.Context(), alice, id, "of one", 1, "one"))
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, s.DropSnapshot(t.Context(), alice, stranger, "one"), wire.CodeENOENT, sandbox.AppliedNo)
	if err := s.DropSnapshot(t.Context(), alice, id, "one"); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.DropSnapshot(t.Context(), alice, id, "one"), wire.CodeENOENT, sandbox.AppliedNo)
	_, err = s.Restore(t.Context(), alice, id, "one")
	wantError(t, err, wire.CodeENOENT, sandbox.AppliedNo)
	for _, s := range []*sandbox.Service{s, other} {
		_, err = s.OpenFile(t.Context(), at, id, "/home/user/f")
		wantError(t, err, wire.CodeENOENT, sandbox.AppliedNo)
		for id, want := range map[uuid.UUID]string{id: "three\n", fork.ID: "one\n"} {
			if got := read(t, s, id, "/home/user/f"); got != want {
				t.Errorf("f holds %q, want %q", got, want)
			}
		}
	}
	if _, err := s.Restore(t.Context(), alice, id, "two"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, other, id, "/home/user/f"); got != "two\n" {
		t.Errorf("f holds %q", got)
	}
}

func TestUpdateSandbox(t *testing.T) {
	t.Parallel()
	s := service(t, sandbox.Config{})
	b, err := s.CreateSandbox(t.Context(), alice, sandbox.NewSandbox{Name: "old"})
	if err != nil {
		t.Fatal(err)
	}
	run(t, s, b.ID, "echo 1 > f")
	name, limit := "new", int64(3)
	u, err := s.UpdateSandbox(t.Context(), alice, b.ID, sandbox.SandboxUpdate{Name: &name, MaxBytes: &limit,
		Labels: map[string]string{"a": "b"}})
	if err != nil || u.Name != "new" || *u.MaxBytes != 3 || u.Labels["a"] != "b" {
		t.Fatalf("%+v, %v", u, err)
	}
	if res := run(t, s, b.ID, "echo 12345 > g; echo $?"); string(res.Stdout) != "1\n" {
		t.Fatalf("a new limit: %q %q", res.Stdout, res.Stderr)
	}
	if u, err = s.UpdateSandbox(t.Context(), alice, b.ID,
		sandbox.SandboxUpdate{Clear: []string{"max_bytes"}}); err != nil || u.MaxBytes != nil {
		t.Fatalf("%+v, %v", u, err)
	}
	run(t, s, b.ID, "echo 12345 > g")
	past := time.Now().Add(-time.Hour)
	if _, err := s.UpdateSandbox(t.Context(), alice, b.ID, sandbox.SandboxUpdate{ExpiresAt: &past}); err != nil {
		t.Fatal(err)
	}
	_, err = s.Exec(t.Context(), sandbox.Request{Sandbox: b.ID, Caller: alice, Script: "true"})
	wantError(t, err, wire.CodeSandboxNotFound, sandbox.AppliedNo)
}

func TestParseID(t *testing.T) {
	id := uuid.New()
	if got, err := sandbox.ParseID(id.String()); err != nil || got != id {
		t.Fatalf("%v, %v", got, err)
	}
	for _, s := range []string{"abc", "A-b_9", strings.ToUpper(id.String()), strings.ReplaceAll(id.String(), "-", "")} {
		_, err := sandbox.ParseID(s)
		if strings.ToLower(s) == s || s != id.String() {
			wantError(t, err, wire.CodeSandboxNotFound, sandbox.AppliedNo)
		}
	}
	for _, s := range []string{"", "a b", "../x", "a/b", "é", strings.Repeat("a", 129), "a\x00", "urn:uuid:" + id.String(),
		"{" + id.String() + "}"} {
		_, err := sandbox.ParseID(s)
		wantError(t, err, wire.CodeEINVAL, sandbox.AppliedNo)
		if !errors.Is(err, vfs.EINVAL) {
			t.Fatalf("%q: %v", s, err)
		}
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	batch := func(r sandbox.BatchRequest, scripts ...string) ([]sandbox.BatchResult, error) {
		r.Sandbox, r.Caller = id, alice
		for i, sc := range scripts {
			r.Scripts = append(r.Scripts, sandbox.BatchScript{ID: fmt.Sprint("s", i), Script: sc})
		}
		return s.ExecBatch(t.Context(), r)
	}
	res, err := batch(sandbox.BatchRequest{}, "mkdir d; cd d; echo 1 > f", "cat f; exit 4", "pwd; echo 2 >> f", "if")
	if err != nil || len(res) != 4 || string(res[1].Stdout) != "1\n" || res[1].ExitCode != 4 ||
		string(res[2].Stdout) != "/home/user/d\n" || res[2].ID != "s2" ||
		res[3].ExitCode != 2 || res[0].Version != 1 || res[2].Version != 2 || res[1].Committed {
		t.Fatalf("%+v, %v", res, err)
	}
	// One that is ended applies nothing; those before and after it do. A used-up budget is a timeout of those that are
	// left.
	patiently(t, 100*time.Millisecond, func(timeout time.Duration) string {
		res, err = batch(sandbox.BatchRequest{ScriptTimeout: timeout, Timeout: time.Minute}, "echo a > a",
			"echo b > b; while :; do :; done", "echo c > c")
		if err != nil || res[0].Err != nil || res[1].Err == nil || res[1].Err.Code != wire.CodeExecTimeout ||
			res[1].ExitCode != -1 || res[2].Err != nil {
			return fmt.Sprintf("%+v, %v", res, err)
		}
		return ""
	})
	read(t, s, id, "/home/user/d/a")
	wantNoFile(t, s, id, "/home/user/d/b")
	read(t, s, id, "/home/user/d/c")
	res, err = batch(sandbox.BatchRequest{Timeout: 50 * time.Millisecond}, "while :; do :; done", "echo never > never")
	if err != nil || res[1].ExitCode != -1 || res[1].Err == nil || res[1].Err.Code != wire.CodeExecTimeout {
		t.Fatalf("%+v, %v", res, err)
	}
	wantNoFile(t, s, id, "/home/user/d/never")

	scripts := make([]string, 16)
	for i := range scripts {
		scripts[i] = fmt.Sprintf("cat f; echo %d", i)
	}
	if res, err = batch(sandbox.BatchRequest{ReadOnly: true}, scripts...); err != nil {
		t.Fatal(err)
	}
	for i, r := range res {
		if r.ID != fmt.Sprint("s", i) || string(r.Stdout) != fmt.Sprintf("1\n2\n%d\n", i) || r.Err != nil {
			t.Fatalf("%d: %+v", i, r)
		}
	}
	_, err = batch(sandbox.BatchRequest{ReadOnly: true}, "cat f", "rm f", "cat f")
	wantError(t, err, wire.CodeReadOnlyViolation, sandbox.AppliedNo)
	if got := read(t, s, id, "/home/user/d/f"); got != "1\n2\n" {
		t.Fatalf("%q", got)
	}
	id = uuid.New()
	_, err = batch(sandbox.BatchRequest{}, "true")
	wantError(t, err, wire.CodeSandboxNotFound, sandbox.AppliedNo)
}

func TestAuditRow(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	res := run(t, s, id, "echo out; echo err >&2; printf '\\0\\377' ; echo 1 > f; exit 7")
	if !res.Committed {
		t.Fatalf("%+v %s", res, res.Stderr)
	}
	var route, caller, script, stdout string
	var exit, outBytes, changes int
	var committed bool
	err := sqltest.Owner(t).QueryRow(t.Context(), `SELECT route, caller, script, stdout_head, exit_code, stdout_bytes, committed,
		(SELECT count(*) FROM pgbox.change c WHERE c.exec_id = e.id) FROM pgbox.exec e WHERE sandbox_id = $1`, id).
		Scan(&route, &caller, &script, &stdout, &exit, &outBytes, &committed, &changes)
	if err != nil {
		t.Fatal(err)
	}
	if route != "test" || caller != "owner" || exit != 7 || outBytes != 6 || !committed || changes == 0 ||
		stdout != "out\n\uFFFD\uFFFD" || !strings.HasPrefix(script, "echo out;") {
		t.Fatalf("%q %q %q %d %d %v %d %q", route, caller, script, exit, outBytes, committed, changes, stdout)
	}
}

// forked is the one sandbox that a fork made.
func forked(list []sandbox.Sandbox, err error) (*sandbox.Sandbox, error) {
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// logged returns what the audit log says of a sandbox, oldest first.
func logged(t testing.TB, s *sandbox.Service, id uuid.UUID) []string {
	t.Helper()
	if err := s.Audited(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := sqltest.Owner(t).Query(t.Context(), `SELECT concat_ws(' ', script, '|', tenant, caller, CASE WHEN read_only THEN 'ro' ELSE 'rw' END, exit_code, error, CASE WHEN committed THEN 'committed' END)
		FROM pgbox.exec WHERE sandbox_id = $1 ORDER BY started_at, version_before, script`, id)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Every run has its row: those that commit, read, change nothing, fail, are killed or are refused, on every route.
func TestAuditLogOfEveryRun(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	all := func(r sandbox.Request) {
		r.Sandbox, r.Caller = id, alice
		_, _ = s.Exec(t.Context(), r)
	}
	all(sandbox.Request{Script: "echo 1 > f"})
	all(sandbox.Request{Script: "cat f", ReadOnly: true})
	all(sandbox.Request{Script: "false"})
	all(sandbox.Request{Script: "rm f", ReadOnly: true})
	all(sandbox.Request{Script: "echo 2 > f; sleep 60", Timeout: 50 * time.Millisecond})
	all(sandbox.Request{Script: "echo 3 > f; exit 4", Atomic: true})
	if _, err := s.ExecBatch(t.Context(), sandbox.BatchRequest{Sandbox: id, Caller: alice, ReadOnly: true,
		Scripts: []sandbox.BatchScript{{ID: "a", Script: "head f"}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Mkdir(t.Context(), alice, id, "/home/user", false); !errors.Is(err, vfs.EEXIST) {
		t.Fatal(err)
	}
	want := []string{
		"echo 1 > f | test owner rw 0 committed", "cat f | test owner ro 0", "false | test owner rw 1",
		"rm f | test owner ro 1 EREADONLY_VIOLATION",
		"echo 2 > f; sleep 60 | test owner rw 124 EXEC_TIMEOUT", "echo 3 > f; exit 4 | test owner rw 4",
		"head f | test owner ro 0",
		"mkdir /home/user | test owner rw EEXIST",
	}
	if got := logged(t, s, id); !slices.Equal(got, want) {
		t.Errorf("log\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What waits to be written when a service stops is written.
func TestAuditLogIsWrittenAtShutdown(t *testing.T) {
	t.Parallel()
	st, err := store.Open(context.Background(), store.Config{URL: sqltest.ServingURL(t, sqltest.URL(t))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	s, id := sandbox.New(sandbox.Config{Store: st, Commands: command.All()}), emptySandbox(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if _, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: ":",
					ReadOnly: true}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := sqltest.Owner(t).QueryRow(t.Context(), "SELECT count(*) FROM pgbox.exec WHERE sandbox_id = $1",
		id).Scan(&n); err != nil || n != 400 {
		t.Errorf("%d rows, %v", n, err)
	}
}

// The journal of a run says what each file held before and after it, and means the same by a hash as SQL does.
func TestJournalOfContent(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	run(t, s, id, "printf one > f; head -c 200000 /dev/zero | tr '\\0' x > big; : > none; mkdir d")
	run(t, s, id, "printf two >> f; printf y | dd of=big bs=1 seek=100000 conv=notrunc status=none; chmod 600 none; echo 1 > brief; rm brief")
	run(t, s, id, "mv f d/g; rm big; truncate -s 100000 hole")
	rows, err := sqltest.Owner(t).Query(t.Context(), `SELECT concat_ws(' ', c.version, c.op, replace(c.path, '/home/user/', ''), coalesce(c.size_before::text, '-'), coalesce(c.size_after::text, '-'),
			CASE c.hash_before WHEN sha256('one') THEN 'one' WHEN sha256('onetwo') THEN 'onetwo' WHEN sha256('') THEN 'empty'
				WHEN fs.hash_of(convert_to(repeat('x', 200000), 'UTF8')) THEN 'x' WHEN fs.hash_of(convert_to(repeat('x', 100000) || 'y' || repeat('x', 99999), 'UTF8')) THEN 'y' ELSE coalesce(encode(c.hash_before, 'hex'), '-') END,
			CASE c.hash_after WHEN sha256('one') THEN 'one' WHEN sha256('onetwo') THEN 'onetwo' WHEN sha256('') THEN 'empty'
				WHEN fs.hash_of(convert_to(repeat('x', 200000), 'UTF8')) THEN 'x' WHEN fs.hash_of(convert_to(repeat('x', 100000) || 'y' || repeat('x', 99999), 'UTF8')) THEN 'y'
				WHEN f.content_hash THEN 'as in fs.files' ELSE coalesce(encode(c.hash_after, 'hex'), '-') END)
		FROM pgbox.change c
		LEFT JOIN fs.files f ON f.sandbox_id = c.sandbox_id AND f.ino = c.ino
		WHERE c.sandbox_id = $1 AND c.op NOT IN ('utimes') ORDER BY c.version, c.path, c.seq`, id)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"1 create big - 200000 - x", "1 mkdir d - - - -", "1 create f - 3 - one", "1 create none - 0 - empty",
		"2 write big 200000 200000 x y", "2 create brief - - - -", "2 unlink brief - - - -", "2 write f 3 6 one onetwo",
		"2 chmod none 0 0 empty empty",
		"3 unlink big 200000 - y -", "3 rename f 6 6 onetwo onetwo", "3 create hole - 100000 - as in fs.files",
	}
	if !slices.Equal(got, want) {
		t.Errorf("journal\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
