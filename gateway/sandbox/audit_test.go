package sandbox_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/wire"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// TestEveryVerbHasItsRow: what changes or reads a sandbox, and what is refused, is in its audit log, with the agent
// that asked.
func TestEveryVerbHasItsRow(t *testing.T) {
	t.Parallel()
	s := service(t, sandbox.Config{})
	c := alice
	c.Agent = "planner"
	b, err := s.CreateSandbox(t.Context(), c, sandbox.NewSandbox{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	id, name := b.ID, "renamed"
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	_, err = s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: c, Script: "echo 1 > f"})
	must("exec", err)
	_, err = s.KvSet(t.Context(), c, id, "k", []byte("1"), sandbox.Expect{})
	must("kv set", err)
	_, err = s.KvGet(t.Context(), c, id, "k")
	must("kv get", err)
	must("kv rm", s.KvDelete(t.Context(), c, id, "k", sandbox.Expect{}))
	snap, err := s.Snapshot(t.Context(), c, id, "s")
	must("snapshot", err)
	must("snapshot rm", s.DropSnapshot(t.Context(), c, id, snap.ID.String()))
	forks, err := s.Fork(t.Context(), c, id, "", 1, "")
	must("fork", err)
	_, err = s.CreateImage(t.Context(), c, id, strings.ToLower(uuid.NewString()), "", "", false)
	must("image", err)
	_, _, err = s.Flatten(t.Context(), c, id)
	must("flatten", err)
	_, err = s.UpdateSandbox(t.Context(), c, id, sandbox.SandboxUpdate{Name: &name})
	must("update", err)
	f, err := s.OpenFile(t.Context(), c, id, "/home/user/f")
	must("read", err)
	must("read", f.Close())
	must("tar export", s.ExportTar(t.Context(), c, id, "/home/user", io.Discard, func() {}))
	_, err = s.Sessions(t.Context(), c, id)
	must("session ls", err)
	wantError(t, s.DropSession(t.Context(), c, id, "none"), wire.CodeENOENT, sandbox.AppliedNo)
	_, err = s.Undo(t.Context(), c, id, 1)
	wantError(t, err, wire.CodeENOENT, sandbox.AppliedNo)
	_, err = s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: c, Script: "refused", Cwd: "relative"})
	wantError(t, err, wire.CodeInvalidInput, sandbox.AppliedNo)
	stranger := c
	stranger.Subject = "mallory"
	_, err = s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: stranger, Script: "not mine"})
	wantError(t, err, wire.CodeForbidden, sandbox.AppliedNo)

	rows := func(id uuid.UUID) (out []string) {
		runs, err := s.Timeline(t.Context(), c, id, store.TimelineFilter{Limit: 100, Agent: &c.Agent})
		must("timeline", err)
		for _, r := range runs {
			out = append(out, strings.TrimSpace(strings.Fields(r.Script + " -")[0]+" "+r.Error))
		}
		slices.Sort(out)
		return out
	}
	want := []string{
		"create", "echo", "flatten", "fork", "image", "kv", "kv", "kv", "not FORBIDDEN", "read", "refused INVALID_INPUT",
		"session", "session ENOENT", "snapshot", "snapshot", "tar", "undo ENOENT", "update",
	}
	if got := rows(id); !slices.Equal(got, want) {
		t.Errorf("the log has\n%q, want\n%q", got, want)
	}
	if got := rows(forks[0].ID); !slices.Equal(got, []string{"fork"}) {
		t.Errorf("the log of the fork has %q", got)
	}
	wrote, err := s.Blame(t.Context(), c, id, "/home/user/f")
	if err != nil || len(wrote) != 1 || wrote[0].Agent != "planner" {
		t.Errorf("blame: %+v, %v", wrote, err)
	}
}

func TestAgentsWithNamesTooLong(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{"": true, strings.Repeat("ä", 128): true, strings.Repeat("a", 129): false,
		"\xff": false, "a\x00": false} {
		if err := sandbox.CheckAgent(name); (err == nil) != ok {
			t.Errorf("%.20q: %v", name, err)
		}
	}
}

// TestRowsOfVerbsComeWithTheirChange: the row of a verb that changes something is in the transaction of the change,
// that of a read is there before the answer. Nobody waits for the log here.
func TestRowsOfVerbsComeWithTheirChange(t *testing.T) {
	t.Parallel()
	s := service(t, sandbox.Config{})
	c, db := alice, sqltest.Owner(t)
	c.Agent, c.Route = "planner", uuid.NewString()
	row := func(id uuid.UUID, script string) (committed bool, n int) {
		t.Helper()
		err := db.QueryRow(t.Context(),
			"SELECT count(*), coalesce(bool_or(committed), false) FROM pgbox.exec WHERE sandbox_id = $1 AND route = $2 AND script LIKE $3 AND agent = 'planner' AND caller = 'owner' AND error IS NULL",
			id, c.Route, script).Scan(&n, &committed)
		if err != nil {
			t.Fatal(err)
		}
		return committed, n
	}
	b, err := s.CreateSandbox(t.Context(), c, sandbox.NewSandbox{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	id, image := b.ID, strings.ToLower(uuid.NewString())
	if committed, n := row(id, "create"); n != 1 || !committed {
		t.Errorf("create: %d rows, committed %v", n, committed)
	}
	// One with files has a single row, too: that of the files.
	filled, err := s.CreateSandbox(t.Context(), c, sandbox.NewSandbox{Name: "n",
		Files: map[string][]byte{"/tmp/f": []byte("x")}})
	if err != nil {
		t.Fatal(err)
	}
	var all int
	if err := db.QueryRow(t.Context(), "SELECT count(*) FROM pgbox.exec WHERE sandbox_id = $1",
		filled.ID).Scan(&all); err != nil || all != 1 {
		t.Errorf("%d rows of a sandbox with files, %v", all, err)
	}
	var fork uuid.UUID
	for _, v := range []struct {
		sandbox *uuid.UUID
		script  string
		durable bool
		do      func() error
	}{
		{&id, "kv set k", true, func() error {
			_, err := s.KvSet(t.Context(), c, id, "k", []byte("1"), sandbox.Expect{})
			return err
		}},
		{&id, "kv get k", false, func() error {
			_, err := s.KvGet(t.Context(), c, id, "k")
			return err
		}},
		{&id, "kv ls ", false, func() error {
			_, err := s.KvList(t.Context(), c, id, "", 10, "")
			return err
		}},
		{&id, "kv rm k", true, func() error { return s.KvDelete(t.Context(), c, id, "k", sandbox.Expect{}) }},
		{&id, "write%", true, func() error { return s.WriteFiles(t.Context(), c, id, map[string][]byte{"/tmp/f": nil}) }},
		{&id, "echo", true, func() error {
			_, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: c, Script: "echo",
				Session: sandbox.Session{Full: true, Name: "a/b"}})
			return err
		}},
		{&id, "session ls", false, func() error {
			_, err := s.Sessions(t.Context(), c, id)
			return err
		}},
		{&id, "session rm a/b", true, func() error { return s.DropSession(t.Context(), c, id, "a/b") }},
		{&id, "snapshot s", true, func() error {
			_, err := s.Snapshot(t.Context(), c, id, "s")
			return err
		}},
		{&id, "snapshot rm s", true, func() error { return s.DropSnapshot(t.Context(), c, id, "s") }},
		{&id, "fork n 1 ", true, func() error {
			f, err := forked(s.Fork(t.Context(), c, id, "n", 1, ""))
			if err == nil {
				fork = f.ID
			}
			return err
		}},
		{&fork, "fork of %", true, func() error { return nil }},
		{&fork, "drop", true, func() error { return s.DropSandbox(t.Context(), c, fork) }},
		{&id, "flatten", true, func() error {
			_, _, err := s.Flatten(t.Context(), c, id)
			return err
		}},
		{&id, "update", true, func() error {
			_, err := s.UpdateSandbox(t.Context(), c, id, sandbox.SandboxUpdate{Name: &image})
			return err
		}},
		{&id, "image create %", true, func() error {
			_, err := s.CreateImage(t.Context(), c, id, image, "", "", false)
			return err
		}},
		{&uuid.Nil, "image tag " + image + "%", true, func() error {
			_, err := s.TagImage(t.Context(), c, image, image, "again")
			return err
		}},
		{&uuid.Nil, "image rm " + image, true, func() error { return s.DropImage(t.Context(), c, image) }},
		{&id, "stat /tmp/f", false, func() error {
			_, err := s.Stat(t.Context(), c, id, "/tmp/f")
			return err
		}},
		{&id, "read /tmp/f", false, func() error {
			f, err := s.OpenFile(t.Context(), c, id, "/tmp/f")
			if err != nil {
				return err
			}
			return f.Close()
		}},
		{&id, "tree /tmp", false, func() error {
			return s.Walk(t.Context(), c, id, "/tmp", 0, func(sandbox.Info) error {
				if _, n := row(id, "tree /tmp"); n != 1 {
					t.Error("an entry was handed out before it was logged")
				}
				return nil
			})
		}},
		{&id, "export /tmp", false, func() error {
			return s.Export(t.Context(), c, id, "/tmp", func(sandbox.Info, sandbox.Reader) error { return nil })
		}},
		{&id, "tar export /tmp", false, func() error {
			return s.ExportTar(t.Context(), c, id, "/tmp", io.Discard, func() {})
		}},
	} {
		if err := v.do(); err != nil {
			t.Fatalf("%s: %v", v.script, err)
		}
		if committed, n := row(*v.sandbox, v.script); n != 1 || committed != v.durable {
			t.Errorf("%s: %d rows, committed %v", v.script, n, committed)
		}
	}
	// What was not done has no row that says so.
	none := int64(99)
	_, err = s.KvSet(t.Context(), c, id, "other", []byte("1"), sandbox.Expect{Version: &none})
	wantError(t, err, wire.CodeESTALE, sandbox.AppliedNo)
	if committed, n := row(id, "kv set other"); committed || n != 0 {
		t.Errorf("%d rows of what was refused, committed %v", n, committed)
	}
}

// A read that cannot be logged is not answered.
func TestReadsAreNotAnsweredWithoutTheirRow(t *testing.T) {
	t.Parallel()
	url := sqltest.Database(t)
	st, err := store.Open(context.Background(), store.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close() // before the database is dropped
	s := sandbox.New(sandbox.Config{Store: st})
	defer func() { _ = s.Shutdown(context.Background()) }()
	b, err := s.CreateSandbox(t.Context(), alice, sandbox.NewSandbox{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	id := b.ID
	run(t, s, id, "echo 1 > f")
	tx, err := sqltest.Connect(t, url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), "LOCK TABLE pgbox.exec IN SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	_, err = s.OpenFile(t.Context(), alice, id, "/home/user/f")
	wantError(t, err, wire.CodeUnavailable, sandbox.AppliedNo)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, id, "/home/user/f"); got != "1\n" {
		t.Errorf("f holds %q", got)
	}
}
