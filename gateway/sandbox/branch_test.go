package sandbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/feed"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/wire"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// bob has no sandbox here.
var bob = sandbox.Caller{Tenant: "test", Subject: "bob", Route: "test"}

// remembering is a sandbox whose every commit can be undone.
func remembering(t *testing.T, s *sandbox.Service) uuid.UUID {
	t.Helper()
	b, err := s.CreateSandbox(t.Context(), alice, sandbox.NewSandbox{Name: "n", History: &sandbox.History{Commits: 1}})
	if err != nil || b.History.Commits != 1 || b.History.Keep != 100 {
		t.Fatalf("%+v, %v", b, err)
	}
	return b.ID
}

// Another gateway has the tree cached, and sees every step at once.
func TestUndoAndRedoAreSeenByAllGateways(t *testing.T) {
	t.Parallel()
	s, other := service(t, sandbox.Config{}), service(t, sandbox.Config{})
	id := remembering(t, s)
	want := func(text string) {
		t.Helper()
		for _, s := range []*sandbox.Service{s, other} {
			if res := run(t, s, id, "cat f; pwd"); string(res.Stdout) != text {
				t.Fatalf("%q, want %q", res.Stdout, text)
			}
		}
	}
	run(t, s, id, "echo 1 > f")
	run(t, other, id, "echo 2 > f")
	run(t, s, id, "echo 3 > f; cd /tmp; ln -s /home/user/f f")
	want("3\n/tmp\n")
	b, err := s.Undo(t.Context(), alice, id, 1)
	if err != nil || b.Version != 4 {
		t.Fatalf("%+v, %v", b, err)
	}
	want("2\n/home/user\n")
	if _, err := other.Undo(t.Context(), alice, id, 1); err != nil {
		t.Fatal(err)
	}
	want("1\n/home/user\n")
	if _, err := s.Redo(t.Context(), alice, id, 2); err != nil {
		t.Fatal(err)
	}
	want("3\n/tmp\n")
	_, err = s.Redo(t.Context(), alice, id, 1)
	wantError(t, err, wire.CodeENOENT, sandbox.AppliedNo)
	_, err = s.Undo(t.Context(), alice, id, 9)
	wantError(t, err, wire.CodeENOENT, sandbox.AppliedNo)
	_, err = s.Undo(t.Context(), bob, id, 1)
	wantError(t, err, wire.CodeForbidden, sandbox.AppliedNo)
}

// The commits themselves seal the layers, so the gateway's own cache has to follow without a reload.
func TestCommitsOfASandboxWithHistoryKeepTheCache(t *testing.T) {
	t.Parallel()
	s := service(t, sandbox.Config{})
	id := remembering(t, s)
	for i := range 40 {
		res := run(t, s, id, fmt.Sprintf("echo %d >> f; wc -l < f", i))
		if string(res.Stdout) != fmt.Sprintln(i+1) || res.Version != int64(i+1) {
			t.Fatalf("%+v", res)
		}
	}
	fresh := service(t, sandbox.Config{})
	if res := run(t, fresh, id, "wc -l < f"); string(res.Stdout) != "40\n" {
		t.Fatalf("%q", res.Stdout)
	}
}

func TestEarlierStatesAreRead(t *testing.T) {
	t.Parallel()
	s := service(t, sandbox.Config{})
	id := remembering(t, s)
	run(t, s, id, "echo 1 > f; mkdir d")
	run(t, s, id, "echo 2 > f; rmdir d; export A=b")
	run(t, s, id, "rm f")
	for range 2 {
		for at, want := range map[string]string{"1": "1\nd f\n", "@2": "2\nf\n", "@base": "*\n", "": "*\n"} {
			c := alice
			c.At = at
			res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: c, Script: "cat f 2> /dev/null; echo *",
				ReadOnly: true})
			if err != nil || string(res.Stdout) != want {
				t.Errorf("at %q: %q, %v", at, res.Stdout, err)
			}
		}
		s = service(t, sandbox.Config{}) // with a cold cache, too
	}
	c := alice
	c.At = "1"
	f, err := s.OpenFile(t.Context(), c, id, "/home/user/f")
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(f)
	f.Close()
	if err != nil || string(data) != "1\n" {
		t.Fatalf("%q, %v", data, err)
	}
	_, err = s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: c, Script: "echo x > g", ReadOnly: true})
	wantError(t, err, wire.CodeReadOnlyViolation, sandbox.AppliedNo)
	_, err = s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: c, Script: "echo x > g"})
	wantError(t, err, wire.CodeInvalidInput, sandbox.AppliedNo)
	for at, code := range map[string]wire.Code{"77": wire.CodeENOENT, "nothing": wire.CodeENOENT,
		"2026-99-99": wire.CodeInvalidInput, "2001-01-01": wire.CodeENOENT} {
		c.At = at
		_, err = s.OpenFile(t.Context(), c, id, "/home/user/f")
		wantError(t, err, code, sandbox.AppliedNo)
	}
	c = bob
	c.At = "1"
	_, err = s.OpenFile(t.Context(), c, id, "/home/user/f")
	wantError(t, err, wire.CodeForbidden, sandbox.AppliedNo)
}

func TestImages(t *testing.T) {
	t.Parallel()
	s := service(t, sandbox.Config{})
	id := emptySandbox(t)
	run(t, s, id, "echo base > f; mkdir d; cd d")
	name := "img-" + uuid.NewString()
	if _, err := s.CreateImage(t.Context(), alice, id, name, "", "", false); err != nil {
		t.Fatal(err)
	}
	_, err := s.CreateImage(t.Context(), alice, id, name, "", "", false)
	wantError(t, err, wire.CodeEEXIST, sandbox.AppliedNo)
	for _, files := range []map[string][]byte{nil, {"/home/user/g": []byte("g")}} {
		b, err := s.CreateSandbox(t.Context(), alice, sandbox.NewSandbox{Name: "n", Image: name, Files: files})
		if err != nil {
			t.Fatal(err)
		}
		if res := run(t, s, b.ID, "cat ../f; echo more >> ../f; pwd"); string(res.Stdout) != "base\n/home/user/d\n" {
			t.Fatalf("%q", res.Stdout)
		}
		if b, err = s.GetSandbox(t.Context(), alice, b.ID); err != nil || b.UsedBytes != int64(10+len(files)) {
			t.Fatalf("%+v, %v", b, err)
		}
	}
	if got := read(t, s, id, "/home/user/f"); got != "base\n" {
		t.Fatalf("%q", got)
	}
	_, err = s.CreateSandbox(t.Context(), alice, sandbox.NewSandbox{Name: "n", Image: "none"})
	wantError(t, err, wire.CodeENOENT, sandbox.AppliedNo)
	if _, err := s.TagImage(t.Context(), alice, name, name, "two"); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Images(t.Context(), alice, name); err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	wantError(t, s.DropImage(t.Context(), bob, name), wire.CodeEPERM, sandbox.AppliedNo)
	if err := s.DropImage(t.Context(), alice, name); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.DropImage(t.Context(), alice, name), wire.CodeENOENT, sandbox.AppliedNo)
}

func TestKeyValues(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	run(t, s, id, "echo 1 > f")
	v, err := s.KvSet(t.Context(), alice, id, "a", json.RawMessage(`{"x":1}`), sandbox.Expect{})
	if err != nil {
		t.Fatal(err)
	}
	old := v - 1
	_, err = s.KvSet(t.Context(), alice, id, "a", json.RawMessage(`2`), sandbox.Expect{Version: &old})
	wantError(t, err, wire.CodeESTALE, sandbox.AppliedNo)
	run(t, s, id, "cat f >> g") // the tree is at the version that the key led to
	got, err := s.KvGet(t.Context(), alice, id, "a")
	if err != nil || string(got.Value) != `{"x": 1}` || got.Version != v {
		t.Fatalf("%+v, %v", got, err)
	}
	if list, err := s.KvList(t.Context(), alice, id, "a", 10, ""); err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	_, err = s.KvGet(t.Context(), bob, id, "a")
	wantError(t, err, wire.CodeForbidden, sandbox.AppliedNo)
	if err := s.KvDelete(t.Context(), alice, id, "a", sandbox.Expect{Version: &v}); err != nil {
		t.Fatal(err)
	}
	_, err = s.KvGet(t.Context(), alice, id, "a")
	wantError(t, err, wire.CodeENOENT, sandbox.AppliedNo)
}

// The lines are those that diff -u prints in the sandbox.
func TestDiffLines(t *testing.T) {
	t.Parallel()
	s := service(t, sandbox.Config{})
	id := remembering(t, s)
	run(t, s, id, `seq 40 > same; seq 40 > f; printf 'a\nb' > g; seq 3 > h; mkdir d; seq 9 > d/i; printf '\0' > bin; mkdir old; mv f old`)
	run(t, s, id, `mv old/f f; mkdir /tmp/a; cp -r . /tmp/a; cat f > /dev/null
		sed '2d; 20s/$/ more/; 24a new' f > /tmp/t; cat /tmp/t > f; printf 'a\nc\n' > g; rm h; printf x > k; mv d e; echo 10 >> e/i; printf '\0\1' > bin`)
	list, err := s.Diff(t.Context(), alice, id, sandbox.DiffSpec{FromAt: "@base", At: "1", Lines: true})
	if err != nil || len(list) != 8 {
		t.Fatalf("%d, %v", len(list), err)
	}
	list, err = s.Diff(t.Context(), alice, id, sandbox.DiffSpec{FromAt: "1", Lines: true})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]sandbox.Difference{}
	for _, d := range list {
		if strings.HasPrefix(d.Path, "/home/user/") {
			got[strings.TrimPrefix(d.Path, "/home/user/")] = d
		}
	}
	for path, want := range map[string]string{"f": "R", "g": "M", "h": "D", "k": "A", "e": "R", "e/i": "M", "bin": "M"} {
		d, ok := got[path]
		if !ok || d.Status != want || d.Binary != (path == "bin") {
			t.Errorf("%s: %+v", path, d)
		}
		if path == "e" || path == "bin" {
			continue
		}
		old := path
		if path == "e/i" {
			old = "d/i"
		}
		lines := string(run(t, s, id, fmt.Sprintf("diff -uN /tmp/a/%s %s | tail -n +3", old, path)).Stdout)
		_, text, _ := strings.Cut(d.Unified, "\n")
		if _, text, _ = strings.Cut(text, "\n"); text != lines || lines == "" {
			t.Errorf("%s:\n%s\nwant:\n%s", path, text, lines)
		}
	}
	if f := got["f"]; f.Inserted != 2 || f.Deleted != 2 {
		t.Errorf("%+v", f)
	}
	if _, ok := got["same"]; ok {
		t.Error("what was only read has changed")
	}
	_, err = s.Diff(t.Context(), alice, id, sandbox.DiffSpec{From: uuid.New()})
	wantError(t, err, wire.CodeENOENT, sandbox.AppliedNo)
	_, err = s.Diff(t.Context(), bob, id, sandbox.DiffSpec{})
	wantError(t, err, wire.CodeForbidden, sandbox.AppliedNo)
}

// A merge changes the tree behind the caches of all gateways.
func TestMerge(t *testing.T) {
	t.Parallel()
	s, other := service(t, sandbox.Config{}), service(t, sandbox.Config{})
	id := emptySandbox(t)
	run(t, s, id, "echo 1 > f; echo 1 > g; mkdir d; echo x > d/x")
	fork, err := forked(s.Fork(t.Context(), alice, id, "fork", 1, ""))
	if err != nil {
		t.Fatal(err)
	}
	run(t, s, fork.ID, "echo 2 > f; mv d e; echo y > e/y")
	run(t, other, id, "echo 3 > g; echo z > d/z")
	run(t, s, id, "cat g")
	list, err := s.Merge(t.Context(), alice, id, sandbox.MergeSpec{From: fork.ID})
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, s := range []*sandbox.Service{s, other} {
		if res := run(t, s, id, "cat f g; cat e/*; echo *"); string(res.Stdout) != "2\n3\nx\ny\nz\ne f g\n" {
			t.Fatalf("%q", res.Stdout)
		}
	}
	run(t, s, fork.ID, "echo 4 > f")
	run(t, s, id, "echo 5 > f")
	list, err = s.Merge(t.Context(), alice, id, sandbox.MergeSpec{From: fork.ID})
	if err != nil || !slices.ContainsFunc(list, func(c sandbox.MergeChange) bool {
		return c.Outcome == "conflict" && c.Path == "/home/user/f"
	}) {
		t.Fatalf("%+v, %v", list, err)
	}
	if got := read(t, s, id, "/home/user/f"); got != "5\n" {
		t.Fatalf("%q", got)
	}
	spec := sandbox.MergeSpec{From: fork.ID, Conflict: "markers"}
	if list, err = s.Merge(t.Context(), alice, id, spec); err != nil {
		t.Fatal(err)
	}
	if n, merged, _ := spec.Outcome(list); n != 1 || !merged {
		t.Errorf("%d conflicts, merged %v", n, merged)
	}
	if got := read(t, other, id, "/home/user/f"); got != "<<<<<<< ours\n5\n=======\n4\n>>>>>>> theirs\n" {
		t.Fatalf("%q", got)
	}
	if _, err := other.Undo(t.Context(), alice, id, 1); err != nil {
		t.Fatal(err)
	}
	if _, err = s.Merge(t.Context(), alice, id, sandbox.MergeSpec{From: fork.ID, Conflict: "theirs"}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, other, id, "/home/user/f"); got != "4\n" {
		t.Fatalf("%q", got)
	}
	if _, err := other.Undo(t.Context(), alice, id, 1); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, id, "/home/user/f"); got != "5\n" {
		t.Fatalf("%q", got)
	}
	_, err = s.Merge(t.Context(), alice, id, sandbox.MergeSpec{From: uuid.New()})
	wantError(t, err, wire.CodeENOENT, sandbox.AppliedNo)
}

// What the database does to a tree in one step, another gateway has in its cache, by a patch or by a reload; in the log
// it is one run of the caller's.
func TestMergeUndoAndRestoreAreOneVersionForOthers(t *testing.T) {
	t.Parallel()
	for _, mode := range []feed.Mode{feed.Replication, feed.Version} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			s, other := service(t, sandbox.Config{}), service(t, sandbox.Config{})
			var follow *follower
			if mode == feed.Replication {
				other, _, _ = fed(t, feed.Config{Mode: mode})
				st, err := store.Open(t.Context(), store.Config{URL: sqltest.ServingURL(t, sqltest.URL(t))})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(st.Close)
				follow = &follower{t, st, other.Trees()}
			}
			id := emptySandbox(t)
			run(t, s, id, "echo 1 > f; mkdir d; echo x > d/x; echo gone > gone")
			fork, err := forked(s.Fork(t.Context(), alice, id, "fork", 1, ""))
			if err != nil {
				t.Fatal(err)
			}
			run(t, s, fork.ID, "echo 2 > f; mv d e; echo y > e/y; rm gone")
			run(t, s, id, "echo mine > d/mine")

			version := func() int64 {
				b, err := s.GetSandbox(t.Context(), alice, id)
				if err != nil {
					t.Fatal(err)
				}
				return b.Version
			}
			const before, after = "d f gone\n1\nmine\nx\n", "e f\n2\nmine\nx\ny\n"
			want := func(text string) {
				t.Helper()
				if follow != nil {
					follow.check(id)
				}
				if res, err := other.Exec(t.Context(), sandbox.Request{Caller: alice, Sandbox: id, Script: "echo *; cat f */*",
					ReadOnly: true}); err != nil || string(res.Stdout) != text {
					t.Errorf("%q, %v, want %q", res.Stdout, err, text)
				}
			}
			want(before)
			kept := version()
			for _, v := range []struct {
				route, what, want string
				do                func(c sandbox.Caller) error
			}{
				{"merge", "merge " + fork.ID.String(), after, func(c sandbox.Caller) error {
					_, err := s.Merge(t.Context(), c, id, sandbox.MergeSpec{From: fork.ID})
					return err
				}},
				{"undo", "undo 1", before, func(c sandbox.Caller) error { _, err := s.Undo(t.Context(), c, id, 1); return err }},
				{"redo", "redo 1", after, func(c sandbox.Caller) error { _, err := s.Redo(t.Context(), c, id, 1); return err }},
				{"restore", fmt.Sprint("restore ", kept), before, func(c sandbox.Caller) error {
					_, err := s.Restore(t.Context(), c, id, fmt.Sprint(kept))
					return err
				}},
			} {
				c := alice
				c.Route = v.route
				was := version()
				if err := v.do(c); err != nil {
					t.Fatalf("%s: %v", v.route, err)
				}
				if now := version(); now != was+1 {
					t.Errorf("%s: version %d, was %d", v.route, now, was)
				}
				want(v.want)
				runs, err := s.Timeline(t.Context(), alice, id, store.TimelineFilter{Limit: 10, Route: &v.route})
				if err != nil || len(runs) != 1 || runs[0].Caller != alice.Subject || runs[0].Script != v.what ||
					!runs[0].Committed || runs[0].VersionAfter != was+1 {
					t.Fatalf("%s: %+v, %v", v.route, runs, err)
				}
				ops, err := s.Changes(t.Context(), alice, id, sandbox.Cursor{Version: was, Seq: 1 << 30}, 100)
				if err != nil || len(ops) != 4 {
					t.Errorf("%s: journal %+v, %v", v.route, ops, err)
				}
				for _, op := range ops {
					if op.Exec == nil || *op.Exec != runs[0].ID {
						t.Errorf("%s: operation of %v, want %v", v.route, op.Exec, runs[0].ID)
					}
				}
			}
			// What does nothing, or fails, is a run that committed nothing.
			c := alice
			c.Route = "undo"
			_, err = s.Undo(t.Context(), c, id, 50)
			wantError(t, err, wire.CodeENOENT, sandbox.AppliedNo)
			runs, err := s.Timeline(t.Context(), alice, id, store.TimelineFilter{Limit: 1, Route: &c.Route})
			if err != nil || len(runs) != 1 || runs[0].Committed || runs[0].Error != string(wire.CodeENOENT) ||
				runs[0].Script != "undo 50" {
				t.Errorf("%+v, %v", runs, err)
			}
		})
	}
}
