package exec_test

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/exec"
	"github.com/pgbox/pgbox/gateway/fserr"
)

// bob has no sandbox here.
var bob = exec.Caller{Tenant: "test", Subject: "bob", Route: "test"}

// remembering is a sandbox whose every commit can be undone.
func remembering(t *testing.T, s *exec.Service) uuid.UUID {
	t.Helper()
	b, err := s.CreateSandbox(t.Context(), alice, exec.NewSandbox{Name: "n", History: &exec.History{Commits: 1}})
	if err != nil || b.History.Commits != 1 || b.History.Keep != 100 {
		t.Fatalf("%+v, %v", b, err)
	}
	return b.ID
}

// Another gateway has the tree cached, and sees every step at once.
func TestUndoAndRedoAreSeenByAllGateways(t *testing.T) {
	t.Parallel()
	s, other := service(t, exec.Config{}), service(t, exec.Config{})
	id := remembering(t, s)
	want := func(text string) {
		t.Helper()
		for _, s := range []*exec.Service{s, other} {
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
	wantError(t, err, fserr.CodeENOENT, exec.AppliedNo)
	_, err = s.Undo(t.Context(), alice, id, 9)
	wantError(t, err, fserr.CodeENOENT, exec.AppliedNo)
	_, err = s.Undo(t.Context(), bob, id, 1)
	wantError(t, err, fserr.CodeForbidden, exec.AppliedNo)
}

// The commits themselves seal the layers, so the gateway's own cache has to follow without a reload.
func TestCommitsOfASandboxWithHistoryKeepTheCache(t *testing.T) {
	t.Parallel()
	s := service(t, exec.Config{})
	id := remembering(t, s)
	for i := range 40 {
		res := run(t, s, id, fmt.Sprintf("echo %d >> f; wc -l < f", i))
		if string(res.Stdout) != fmt.Sprintln(i+1) || res.Version != int64(i+1) {
			t.Fatalf("%+v", res)
		}
	}
	fresh := service(t, exec.Config{})
	if res := run(t, fresh, id, "wc -l < f"); string(res.Stdout) != "40\n" {
		t.Fatalf("%q", res.Stdout)
	}
}

func TestEarlierStatesAreRead(t *testing.T) {
	t.Parallel()
	s := service(t, exec.Config{})
	id := remembering(t, s)
	run(t, s, id, "echo 1 > f; mkdir d")
	run(t, s, id, "echo 2 > f; rmdir d; export A=b")
	run(t, s, id, "rm f")
	for range 2 {
		for at, want := range map[string]string{"1": "1\nd f\n", "@2": "2\nf\n", "@base": "*\n", "": "*\n"} {
			c := alice
			c.At = at
			res, err := s.Exec(t.Context(), exec.Request{Sandbox: id, Caller: c, Script: "cat f 2> /dev/null; echo *", ReadOnly: true})
			if err != nil || string(res.Stdout) != want {
				t.Errorf("at %q: %q, %v", at, res.Stdout, err)
			}
		}
		s = service(t, exec.Config{}) // with a cold cache, too
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
	_, err = s.Exec(t.Context(), exec.Request{Sandbox: id, Caller: c, Script: "echo x > g", ReadOnly: true})
	wantError(t, err, fserr.CodeReadOnlyViolation, exec.AppliedNo)
	_, err = s.Exec(t.Context(), exec.Request{Sandbox: id, Caller: c, Script: "echo x > g"})
	wantError(t, err, fserr.CodeInvalidInput, exec.AppliedNo)
	for at, code := range map[string]fserr.Code{"77": fserr.CodeENOENT, "nothing": fserr.CodeENOENT, "2026-99-99": fserr.CodeInvalidInput, "2001-01-01": fserr.CodeENOENT} {
		c.At = at
		_, err = s.OpenFile(t.Context(), c, id, "/home/user/f")
		wantError(t, err, code, exec.AppliedNo)
	}
	c = bob
	c.At = "1"
	_, err = s.OpenFile(t.Context(), c, id, "/home/user/f")
	wantError(t, err, fserr.CodeForbidden, exec.AppliedNo)
}

func TestImages(t *testing.T) {
	t.Parallel()
	s := service(t, exec.Config{})
	id := sandbox(t)
	run(t, s, id, "echo base > f; mkdir d; cd d")
	name := "img-" + uuid.NewString()
	if _, err := s.CreateImage(t.Context(), alice, id, name, "", "", false); err != nil {
		t.Fatal(err)
	}
	_, err := s.CreateImage(t.Context(), alice, id, name, "", "", false)
	wantError(t, err, fserr.CodeEEXIST, exec.AppliedNo)
	for _, files := range []map[string][]byte{nil, {"/home/user/g": []byte("g")}} {
		b, err := s.CreateSandbox(t.Context(), alice, exec.NewSandbox{Name: "n", Image: name, Files: files})
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
	_, err = s.CreateSandbox(t.Context(), alice, exec.NewSandbox{Name: "n", Image: "none"})
	wantError(t, err, fserr.CodeENOENT, exec.AppliedNo)
	if _, err := s.TagImage(t.Context(), alice, name, name, "two"); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Images(t.Context(), alice, name); err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	wantError(t, s.DropImage(t.Context(), bob, name), fserr.CodeEPERM, exec.AppliedNo)
	if err := s.DropImage(t.Context(), alice, name); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.DropImage(t.Context(), alice, name), fserr.CodeENOENT, exec.AppliedNo)
}

func TestKeyValues(t *testing.T) {
	t.Parallel()
	s, id := service(t, exec.Config{}), sandbox(t)
	run(t, s, id, "echo 1 > f")
	v, err := s.KvSet(t.Context(), alice, id, "a", json.RawMessage(`{"x":1}`), exec.Expect{})
	if err != nil {
		t.Fatal(err)
	}
	old := v - 1
	_, err = s.KvSet(t.Context(), alice, id, "a", json.RawMessage(`2`), exec.Expect{Version: &old})
	wantError(t, err, fserr.CodeESTALE, exec.AppliedNo)
	run(t, s, id, "cat f >> g") // the tree is at the version that the key led to
	got, err := s.KvGet(t.Context(), alice, id, "a")
	if err != nil || string(got.Value) != `{"x": 1}` || got.Version != v {
		t.Fatalf("%+v, %v", got, err)
	}
	if list, err := s.KvList(t.Context(), alice, id, "a", 10, ""); err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	_, err = s.KvGet(t.Context(), bob, id, "a")
	wantError(t, err, fserr.CodeForbidden, exec.AppliedNo)
	if err := s.KvDelete(t.Context(), alice, id, "a", exec.Expect{Version: &v}); err != nil {
		t.Fatal(err)
	}
	_, err = s.KvGet(t.Context(), alice, id, "a")
	wantError(t, err, fserr.CodeENOENT, exec.AppliedNo)
}
