package sandbox_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

func TestFileVerbs(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	ctx := t.Context()
	info, err := s.WriteFile(ctx, alice, id, "/home/user/a/b/f", []byte("one"), sandbox.WriteOptions{})
	if err != nil || info.Path != "/home/user/a/b/f" || info.Size != 3 || info.Mode != 0o644 || info.UID != 1000 {
		t.Fatalf("%+v, %v", info, err)
	}
	run(t, s, id, "chmod 755 a/b/f; ln -s b a/l")
	if _, err := s.WriteFile(ctx, alice, id, "/home/user/a/l/f", []byte("two"), sandbox.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	info, err = s.Stat(ctx, alice, id, "/home/user/a/l/../b/f")
	if err != nil || info.Path != "/home/user/a/b/f" || info.Mode != 0o755 {
		t.Fatalf("%+v, %v", info, err)
	}
	f, err := s.OpenFile(ctx, alice, id, "/home/user/a/b/f")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("two"))
	if f.ETag != hex.EncodeToString(sum[:]) {
		t.Fatalf("etag %s", f.ETag)
	}
	// An open file is of one version.
	if _, err := s.WriteFile(ctx, alice, id, "/home/user/a/b/f", []byte("three"),
		sandbox.WriteOptions{IfMatch: f.ETag}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(1, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(f); err != nil || string(b) != "wo" {
		t.Fatalf("%q, %v", b, err)
	}
	f.Close()
	_, err = s.WriteFile(ctx, alice, id, "/home/user/a/b/f", []byte("four"), sandbox.WriteOptions{IfMatch: f.ETag})
	wantError(t, err, wire.CodePreconditionFailed, sandbox.AppliedNo)
	_, err = s.WriteFile(ctx, alice, id, "/home/user/new", nil, sandbox.WriteOptions{IfMatch: "*"})
	wantError(t, err, wire.CodePreconditionFailed, sandbox.AppliedNo)
	if got := read(t, s, id, "/home/user/a/b/f"); got != "three" {
		t.Fatalf("%q", got)
	}

	wantError(t, s.Mkdir(ctx, alice, id, "/home/user/a", false), wire.CodeEEXIST, sandbox.AppliedNo)
	wantError(t, s.Mkdir(ctx, alice, id, "/home/user/x/y", false), wire.CodeENOENT, sandbox.AppliedNo)
	if err := s.Mkdir(ctx, alice, id, "/home/user/x/y", true); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.Delete(ctx, alice, id, "/home/user/a", false), wire.CodeENOTEMPTY, sandbox.AppliedNo)
	wantError(t, s.Delete(ctx, alice, id, "/home/user/nope", true), wire.CodeENOENT, sandbox.AppliedNo)
	wantError(t, s.Delete(ctx, alice, id, "relative", true), wire.CodeEINVAL, sandbox.AppliedNo)
	if err := s.Delete(ctx, alice, id, "/home/user/a/l", false); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, id, "/home/user/a/b/f"); got != "three" {
		t.Fatalf("removing a symlink removed its target: %q", got)
	}
	if err := s.Delete(ctx, alice, id, "/home/user/a", true); err != nil {
		t.Fatal(err)
	}
	_, err = s.OpenFile(ctx, alice, id, "/home/user/x")
	wantError(t, err, wire.CodeEISDIR, sandbox.AppliedNo)
	_, err = s.OpenFile(ctx, alice, id, "/dev/null")
	wantError(t, err, wire.CodeEINVAL, sandbox.AppliedNo)
	_, err = s.OpenFile(ctx, alice, id, "/home/user/nul\x00")
	wantError(t, err, wire.CodeEINVAL, sandbox.AppliedNo)
	_, err = s.WriteFile(ctx, alice, id, "/home/user/"+strings.Repeat("n", 256), nil, sandbox.WriteOptions{})
	wantError(t, err, wire.CodeENAMETOOLONG, sandbox.AppliedNo)
	_, err = s.WriteFile(ctx, alice, id, "/home/user/\xff", nil, sandbox.WriteOptions{})
	wantError(t, err, wire.CodeEILSEQ, sandbox.AppliedNo)
}

func TestETagFollowsTheContentAndNothingElse(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	tag := func(path string) string {
		t.Helper()
		f, err := s.OpenFile(t.Context(), alice, id, path)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		return f.ETag
	}
	big := make([]byte, 200<<10)
	big[0] = 'x'
	if err := s.WriteFiles(t.Context(), alice, id, map[string][]byte{"/tmp/a": big, "/tmp/b": big,
		"/tmp/hole": []byte("x"), "/tmp/empty": nil}); err != nil {
		t.Fatal(err)
	}
	psql(t, id, "SELECT fs.truncate('/tmp/hole', 204800)")
	if tag("/tmp/a") != tag("/tmp/b") || tag("/tmp/a") != tag("/tmp/hole") {
		t.Fatal("equal contents have different tags")
	}
	big[199<<10] = 'y'
	if _, err := s.WriteFile(t.Context(), alice, id, "/tmp/b", big, sandbox.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if tag("/tmp/a") == tag("/tmp/b") || tag("/tmp/empty") == tag("/tmp/a") {
		t.Fatal("different contents have equal tags")
	}
}

func TestEdit(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	before := map[string][]byte{"/tmp/f": []byte("a b a\n"), "/tmp/bin": {0xff, 'a'}, "/tmp/nul": {'a', 0}}
	if err := s.WriteFiles(t.Context(), alice, id, before); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		path, from, to string
		code           wire.Code
	}{
		{"/tmp/f", "x", "y", wire.CodeEditNoMatch},
		{"/tmp/f", "a", "y", wire.CodeEditNotUnique},
		{"/tmp/f", "a", "a", wire.CodeInvalidInput},
		{"/tmp/f", "", "a", wire.CodeInvalidInput},
		{"/tmp/bin", "a", "b", wire.CodeEditBinary},
		{"/tmp/nul", "a", "b", wire.CodeEditBinary},
		{"/tmp/none", "a", "b", wire.CodeENOENT},
		{"/tmp", "a", "b", wire.CodeEISDIR},
	} {
		_, err := s.Edit(t.Context(), alice, id, tc.path, []sandbox.Edit{{Old: tc.from, New: tc.to, All: false}},
			sandbox.EditOptions{})
		wantError(t, err, tc.code, sandbox.AppliedNo)
	}
	for path, want := range before {
		if got := read(t, s, id, path); got != string(want) {
			t.Fatalf("%s: %q", path, got)
		}
	}
	if r, err := s.Edit(t.Context(), alice, id, "/tmp/f", []sandbox.Edit{{Old: "b", New: "longer", All: false}},
		sandbox.EditOptions{}); err != nil || r.Replacements != 1 || r.Size != 11 {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err := s.Edit(t.Context(), alice, id, "/tmp/f", []sandbox.Edit{{Old: "a", New: "A", All: true}},
		sandbox.EditOptions{}); err != nil || r.Replacements != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := read(t, s, id, "/tmp/f"); got != "A longer A\n" {
		t.Fatalf("%q", got)
	}
}

func TestSeveralFilesAreAllOrNothing(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	err := s.WriteFiles(t.Context(), alice, id, map[string][]byte{"/tmp/a": []byte("1"), "/tmp/a/b": []byte("2"),
		"/tmp/0": []byte("0")})
	wantError(t, err, wire.CodeENOTDIR, sandbox.AppliedNo)
	wantNoFile(t, s, id, "/tmp/a")
	wantNoFile(t, s, id, "/tmp/0")
	_, err = s.Ingest(t.Context(), alice, id, "/home/user", []sandbox.IngestFile{{Path: "ok"}, {Path: "../x"},
		{Path: "/y"}, {Path: "a//b"}, {Path: "a\x00"}, {Path: ""}})
	e := wantError(t, err, wire.CodeInvalidInput, sandbox.AppliedNo)
	if len(e.Details) != 1 || e.Details[0] != "invalid paths: ../x, /y, a//b, a\x00, " {
		t.Fatalf("%q", e.Details)
	}
	_, err = s.Ingest(t.Context(), alice, id, "/home/user", []sandbox.IngestFile{{Path: "x"}, {Path: "x"}})
	wantError(t, err, wire.CodeEEXIST, sandbox.AppliedNo)
	wantNoFile(t, s, id, "/home/user/x")
	n, err := s.Ingest(t.Context(), alice, id, "/home/user/src/", []sandbox.IngestFile{
		{Path: "d/f", Data: []byte("1")}, {Path: "run", Data: []byte("#!/bin/sh\necho ran\n"), Mode: 0o755},
		{Path: "l", Target: "d/f"}, {Path: "d/l", Target: "/etc"},
	})
	if err != nil || n != 4 {
		t.Fatalf("%d, %v", n, err)
	}
	if res := run(t, s, id, "cd src; cat l; ./run; readlink d/l"); string(res.Stdout) != "1ran\n/etc\n" {
		t.Fatalf("%q %q", res.Stdout, res.Stderr)
	}
}

func TestWalk(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	run(t, s, id, "mkdir -p d/e; echo 1 > d/e/f; echo 2 > d/a; ln -s /etc d/l; echo > z")
	list := func(prefix string, depth int) (paths []string) {
		t.Helper()
		err := s.Walk(t.Context(), alice, id, prefix, depth, func(i sandbox.Info) error {
			paths = append(paths, i.Path)
			if i.Path == "/home/user/d/l" && i.Kind != vfs.Symlink {
				t.Errorf("%+v", i)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}
	if got, want := list("/home/user/", 0), []string{"d", "d/a", "d/e", "d/e/f", "d/l", "z"}; strings.Join(got,
		" ") != "/home/user/"+strings.Join(want, " /home/user/") {
		t.Fatalf("%q", got)
	}
	if got := list("/home/user", 1); !slices.Equal(got, []string{"/home/user/d", "/home/user/z"}) {
		t.Fatalf("%q", got)
	}
	if got := list("/", 1); !slices.Contains(got, "/bin") || !slices.Contains(got, "/tmp") {
		t.Fatalf("%q", got)
	}
	err := s.Walk(t.Context(), alice, id, "/home/user/z", 0, func(sandbox.Info) error { return nil })
	wantError(t, err, wire.CodeENOTDIR, sandbox.AppliedNo)
	stop := errors.New("enough")
	n := 0
	err = s.Walk(t.Context(), alice, id, "/", 0, func(sandbox.Info) error { n++; return stop })
	if !errors.Is(err, stop) || n != 1 {
		t.Fatalf("%v after %d", err, n)
	}
}
