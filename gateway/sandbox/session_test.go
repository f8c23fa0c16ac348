package sandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/wire"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// in runs a script in a named session and wants it to print out.
func in(t testing.TB, s *sandbox.Service, id uuid.UUID, name, script, out string) *sandbox.Result {
	t.Helper()
	res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: script,
		Session: sandbox.Session{Full: true, Name: name}})
	if err != nil {
		t.Fatalf("%s: %s: %v", name, script, err)
	}
	if got := string(res.Stdout) + string(res.Stderr); got != out {
		t.Fatalf("%s: %s: %q, want %q", name, script, got, out)
	}
	return res
}

// names are the sessions that are listed.
func names(t testing.TB, s *sandbox.Service, id uuid.UUID) (out []string) {
	t.Helper()
	list, err := s.Sessions(t.Context(), alice, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		out = append(out, e.Name)
	}
	return out
}

// TestSessionsHaveTheirOwnDirectoryAndVariables: what one session does to its shell neither the others nor runs without
// a name see; files are everybody's.
func TestSessionsHaveTheirOwnDirectoryAndVariables(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	run(t, s, id, "cd /tmp; export WHO=nobody; f() { echo nobody; }")
	in(t, s, id, "a",
		"pwd; echo ${WHO-none}; mkdir x; cd x; export WHO=a; f() { echo f of a; }; alias g=f; echo hi > file",
		"/home/user\nnone\n")
	in(t, s, id, "b", "pwd; echo ${WHO-none}; cat x/file; type f 2> /dev/null; cd /usr; WHO=b; export WHO",
		"/home/user\nnone\nhi\n")
	// Another gateway knows them too.
	other := service(t, sandbox.Config{})
	in(t, other, id, "a", "pwd; echo $WHO; f; shopt -s expand_aliases\ng", "/home/user/x\na\nf of a\nf of a\n")
	in(t, other, id, "b", "pwd; echo $WHO", "/usr\nb\n")
	if res := run(t, other, id, "pwd; echo $WHO; type f"); string(res.Stdout) != "/tmp\nnobody\n" || res.ExitCode != 1 {
		t.Fatalf("%q %d", res.Stdout, res.ExitCode)
	}
	// A reader sees a session and leaves it alone; one that is not there is not made.
	for name, want := range map[string]string{"a": "/home/user/x\n", "new": "/home/user\n"} {
		res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: "pwd; cd /etc", ReadOnly: true,
			Session: sandbox.Session{Full: true, Name: name}})
		if err != nil || string(res.Stdout) != want || res.Committed {
			t.Fatalf("%+v %v", res, err)
		}
	}
	// A batch stays in its session.
	results, err := s.ExecBatch(t.Context(), sandbox.BatchRequest{Sandbox: id, Caller: alice,
		Session: sandbox.Session{Full: true, Name: "b"}, Scripts: []sandbox.BatchScript{{ID: "1", Script: "cd /bin"},
			{ID: "2", Script: "pwd; echo $WHO"}}})
	if err != nil || string(results[1].Stdout) != "/bin\nb\n" {
		t.Fatalf("%+v %v", results, err)
	}
	list, err := s.Sessions(t.Context(), alice, id)
	if err != nil || len(list) != 2 || list[0].Name != "a" || list[0].Dir != "/home/user/x" || list[1].Dir != "/bin" ||
		list[0].Bytes == 0 ||
		list[0].ExpiresAt.Sub(list[0].UsedAt) != sandbox.SessionLife || time.Since(list[0].UsedAt) > time.Hour ||
		list[1].Variables < 2 {
		t.Fatalf("%+v %v", list, err)
	}
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	in(t, s, id, "a", "export X=1", "")
	in(t, s, id, "b", "export X=2", "")
	if err := s.DropSession(t.Context(), alice, id, "a"); err != nil {
		t.Fatal(err)
	}
	if got := names(t, s, id); !slices.Equal(got, []string{"b"}) {
		t.Fatalf("%q", got)
	}
	in(t, s, id, "a", "echo ${X-none}", "none\n")
	in(t, s, id, "b", "echo $X", "2\n")
	wantError(t, s.DropSession(t.Context(), alice, id, "c"), wire.CodeENOENT, sandbox.AppliedNo)
	mallory := alice
	mallory.Subject = "mallory"
	wantError(t, s.DropSession(t.Context(), mallory, id, "b"), wire.CodeForbidden, sandbox.AppliedNo)
	_, err := s.Sessions(t.Context(), mallory, id)
	wantError(t, err, wire.CodeForbidden, sandbox.AppliedNo)
}

// TestSessionsExpire: a session lives 30 days from its last use, which a run that changes nothing commits once a day.
func TestSessionsExpire(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s, id := service(t, sandbox.Config{Now: func() time.Time { return now }}), emptySandbox(t)
	in(t, s, id, "idle", "export X=1", "")
	in(t, s, id, "used", "export X=1", "")
	days := func(n int) { now = now.Add(time.Duration(n)*24*time.Hour + time.Minute) }
	if res := in(t, s, id, "used", "true", ""); res.Committed {
		t.Fatal("a run that changed nothing was committed")
	}
	days(1)
	if res := in(t, s, id, "used", "true", ""); !res.Committed {
		t.Fatal("the time of the last use is not kept")
	}
	if res := in(t, s, id, "used", "true", ""); res.Committed {
		t.Fatal("it is kept twice a day")
	}
	days(29)
	if got := names(t, s, id); !slices.Equal(got, []string{"used"}) {
		t.Fatalf("%q", got)
	}
	in(t, s, id, "idle", "echo ${X-none}", "none\n")
	in(t, s, id, "used", "echo $X", "1\n")
	// What has expired is not kept for ever where nobody names a session any more.
	days(31)
	run(t, s, id, "cd /tmp")
	var state string
	err := sqltest.Owner(t).QueryRow(t.Context(),
		"SELECT t.state::text FROM pgbox.shell_state t JOIN pgbox.sandbox b ON b.state_sha256 = t.sha256 WHERE b.id = $1",
		id).Scan(&state)
	if err != nil || strings.Contains(state, "sessions") {
		t.Fatalf("%s %v", state, err)
	}
}

// TestSessionsGoWithForksAndSnapshots, as all of the state of the shell does.
func TestSessionsGoWithForksAndSnapshots(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	in(t, s, id, "a", "export X=1", "")
	if _, err := s.Snapshot(t.Context(), alice, id, "s"); err != nil {
		t.Fatal(err)
	}
	fork, err := forked(s.Fork(t.Context(), alice, id, "n", 1, ""))
	if err != nil {
		t.Fatal(err)
	}
	in(t, s, id, "a", "export X=2", "")
	in(t, s, id, "b", "export X=2", "")
	in(t, s, fork.ID, "a", "echo $X; X=3", "1\n")
	at := alice
	at.At = "s"
	res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: at, Script: "echo $X", ReadOnly: true,
		Session: sandbox.Session{Full: true, Name: "a"}})
	if err != nil || string(res.Stdout) != "1\n" {
		t.Fatalf("%+v %v", res, err)
	}
	if _, err := s.Restore(t.Context(), alice, id, "s"); err != nil {
		t.Fatal(err)
	}
	in(t, s, id, "a", "echo $X", "1\n")
	if got := names(t, s, id); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("%q", got)
	}
}

func TestNamesOfSessions(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	for _, name := range []string{"\x00", "a\nb", "\t", "\xff", "\u202e", "\u200b", ".", "..", strings.Repeat("a", 129),
		strings.Repeat("a", 1<<20)} {
		of := sandbox.Session{Full: true, Name: name}
		_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: "true", Session: of})
		wantError(t, err, wire.CodeInvalidInput, sandbox.AppliedNo)
		for _, readOnly := range []bool{false, true} {
			_, err = s.ExecBatch(t.Context(), sandbox.BatchRequest{Sandbox: id, Caller: alice, ReadOnly: readOnly, Session: of,
				Scripts: []sandbox.BatchScript{{ID: "1", Script: "true"}}})
			wantError(t, err, wire.CodeInvalidInput, sandbox.AppliedNo)
		}
	}
	var want []string
	for i, name := range []string{`"},"x":{"`, "a/b", "a b", "cwd", "env", "sessions", "true", "ä€😀",
		strings.Repeat("ä", 128), "'; DROP TABLE pgbox.sandbox; --", "<&>", "../x", "%2e"} {
		in(t, s, id, name, fmt.Sprintf("export N=%d", i), "")
		want = append(want, name)
	}
	for i, name := range want {
		in(t, s, id, name, "echo $N", fmt.Sprintf("%d\n", i))
	}
	slices.Sort(want)
	if got := names(t, s, id); !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	for _, name := range want {
		if err := s.DropSession(t.Context(), alice, id, name); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if got := names(t, s, id); len(got) > 0 {
		t.Fatalf("%q", got)
	}
}

func TestSessionOnTheWire(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]sandbox.Session{`true`: {Full: true}, `false`: {}, `"a"`: {Full: true, Name: "a"}} {
		var got sandbox.Session
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
		if b, err := json.Marshal(got); err != nil || string(b) != text {
			t.Errorf("%s: %s %v", text, b, err)
		}
	}
	for _, text := range []string{`""`, `1`, `{}`, `[]`, `"\u0000"`, `"."`} {
		if err := json.Unmarshal([]byte(text), new(sandbox.Session)); err == nil ||
			!strings.Contains(err.Error(), "session:") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestManySessionsOfLargeStates: together they stay within the bound of a state, whoever does not fit is told, and
// files are kept.
func TestManySessionsOfLargeStates(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	kept := 0
	for i := range sandbox.MaxSessions {
		script := fmt.Sprintf("echo %d > f%d; export R=$(head -c 30000 /dev/zero | tr '\\0' x)", i, i)
		res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: script,
			Session: sandbox.Session{Full: true, Name: fmt.Sprint("s", i)}})
		if err != nil || !res.Committed {
			t.Fatalf("%d: %+v %v", i, res, err)
		}
		if len(res.Stderr) == 0 {
			kept++
		} else if !strings.Contains(string(res.Stderr), "are not kept") {
			t.Fatalf("%q", res.Stderr)
		}
	}
	if kept < 30 || kept > 35 {
		t.Errorf("%d sessions of 30000 bytes are kept in 1 MiB", kept)
	}
	if got := len(names(t, s, id)); got != kept {
		t.Errorf("%d sessions are listed, %d were kept", got, kept)
	}
	if res := run(t, s, id, "ls | wc -l; cd /tmp"); strings.TrimSpace(string(res.Stdout)) != "100" || len(res.Stderr) > 0 {
		t.Fatalf("%q %q", res.Stdout, res.Stderr)
	}
	in(t, s, id, "s0", "echo ${#R}; unset R", "30000\n")
	in(t, s, id, "s99", "cd /tmp", "")
	in(t, s, id, "s99", "pwd", "/tmp\n")
}

func TestAtMostAHundredSessions(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	for i := range sandbox.MaxSessions {
		in(t, s, id, fmt.Sprint("s", i), "true", "")
	}
	one := sandbox.Request{Sandbox: id, Caller: alice, Script: "echo 1 > f",
		Session: sandbox.Session{Full: true, Name: "more"}}
	_, err := s.Exec(t.Context(), one)
	e := wantError(t, err, wire.CodeEDQUOT, sandbox.AppliedNo)
	if !strings.Contains(e.Message, "at most 100 sessions") {
		t.Error(e.Message)
	}
	in(t, s, id, "s7", "cd /tmp", "")
	if err := s.DropSession(t.Context(), alice, id, "s7"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Exec(t.Context(), one); err != nil {
		t.Fatal(err)
	}
}

// TestSessionsInAQuotaLoseNoFiles: what Postgres counts for a state is what the gateway thinks it does, so that no
// commit fails for its state.
func TestSessionsInAQuotaLoseNoFiles(t *testing.T) {
	t.Parallel()
	s, limit := service(t, sandbox.Config{}), int64(20_000)
	b, err := s.CreateSandbox(t.Context(), alice, sandbox.NewSandbox{Name: "n", MaxBytes: &limit})
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range 60 {
		// Values whose JSON is longer, names that make many commas and colons.
		script := fmt.Sprintf(`echo %d > f; mkdir -p d%d; cd d%d; export A%d='<&>:,"\\' B%d=: C%d=, D=$'\x01\xff'`, i, i, i,
			i, i, i)
		res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: b.ID, Caller: alice, Script: script,
			Session: sandbox.Session{Full: true, Name: fmt.Sprint("s", i)}})
		if err != nil || !res.Committed {
			t.Fatalf("%d: %+v %v", i, res, err)
		}
		if len(res.Stderr) > 0 {
			refused++
		}
		if res := run(t, s, b.ID, fmt.Sprintf("cd ~; cd /tmp; export V=%d", i)); len(res.Stderr) > 0 && refused == 0 {
			t.Fatalf("%d: %q", i, res.Stderr)
		}
	}
	if refused == 0 || refused > 50 {
		t.Errorf("%d of 60 sessions did not fit into 20000 bytes", refused)
	}
	got, err := s.GetSandbox(t.Context(), alice, b.ID)
	if err != nil || got.UsedBytes > limit {
		t.Errorf("%d bytes used, %v", got.UsedBytes, err)
	}
}

// TestBrokenSessions: what a DBA made of the state is as if it had never been, each part by itself.
func TestBrokenSessions(t *testing.T) {
	t.Parallel()
	s, db := service(t, sandbox.Config{}), sqltest.Owner(t)
	used := time.Now().UTC().Format(time.RFC3339)
	for _, c := range []struct{ state, own, a string }{
		{`{"cwd":"/tmp","sessions":7}`, "/tmp", "/home/user"},
		{`{"cwd":"/tmp","sessions":{"a":7}}`, "/tmp", "/home/user"},
		{`{"cwd":"/tmp","sessions":{"a":{"state":7,"usedAt":"` + used + `"}}}`, "/tmp", "/home/user"},
		{`{"cwd":"/tmp","sessions":{"a":{"state":{"cwd":"/usr","env":[]},"usedAt":"` + used + `"}}}`, "/tmp", "/home/user"},
		{`{"cwd":"/tmp","sessions":{"a":{"state":{"cwd":"/usr"},"usedAt":"soon"}}}`, "/tmp", "/home/user"},
		{`{"cwd":"/tmp","sessions":{"a":{"usedAt":"` + used + `"}}}`, "/tmp", "/home/user"},
		{`{"cwd":"/tmp","sessions":{"a":{"state":{"cwd":"/nope"},"usedAt":"` + used + `"}}}`, "/tmp", "/home/user"},
		{`{"cwd":"/tmp","sessions":{"b":7,"a":{"state":{"cwd":"/usr"},"usedAt":"` + used + `"}}}`, "/tmp", "/usr"},
		{`{"cwd":7,"sessions":{"a":{"state":{"cwd":"/usr"},"usedAt":"` + used + `"}}}`, "/home/user", "/usr"},
		{`{"cwd":"/tmp","env":[],"sessions":{"":{},"a":{"state":{"cwd":"/usr"},"usedAt":"` + used + `"}}}`, "/home/user",
			"/usr"},
	} {
		id := emptySandbox(t)
		if _, err := db.Exec(t.Context(), `WITH s AS (INSERT INTO pgbox.shell_state (sha256, state, size) VALUES (sha256($2::jsonb::text::bytea), $2::jsonb, octet_length($2::jsonb::text))
			ON CONFLICT DO NOTHING) UPDATE pgbox.sandbox SET state_sha256 = sha256($2::jsonb::text::bytea) WHERE id = $1`, id, c.state); err != nil {
			t.Fatal(err)
		}
		names(t, s, id)
		in(t, s, id, "a", "pwd; export X=1", c.a+"\n")
		if res := run(t, s, id, "pwd"); string(res.Stdout) != c.own+"\n" {
			t.Errorf("%s: %q, want %q", c.state, res.Stdout, c.own)
		}
		in(t, s, id, "a", "echo $X", "1\n")
		if got := names(t, s, id); !slices.Equal(got, []string{"a"}) {
			t.Errorf("%s: %q", c.state, got)
		}
	}
}

// TestSessionsTakeTurns: they are runs of one sandbox.
func TestSessionsTakeTurns(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	errs := make(chan error, 8)
	for i := range cap(errs) {
		go func() {
			_, err := s.Exec(t.Context(), sandbox.Request{
				Sandbox: id, Caller: alice, Stdout: io.Discard, Session: sandbox.Session{Full: true, Name: fmt.Sprint("s", i%2)},
				Script: "n=$(cat ~/n 2> /dev/null); sleep .01; echo $((n + 1)) > ~/n; export MINE=$((MINE + 1))",
			})
			errs <- err
		}()
	}
	var err error
	for range cap(errs) {
		err = errors.Join(err, <-errs)
	}
	if err != nil {
		t.Fatal(err)
	}
	in(t, s, id, "s0", "cat ~/n; echo $MINE", "8\n4\n")
	in(t, s, id, "s1", "echo $MINE", "4\n")
}
