package sandbox_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// TestLargeShellStateIsNotKeptAndTheFilesAre: what a script exports beyond the bound is refused in so many words; its
// files, its working directory and what was exported before stay.
func TestLargeShellStateIsNotKeptAndTheFilesAre(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	run(t, s, id, "export A=before")
	res := run(t, s, id, "echo 1 > f; cd /tmp; A=after; export R=$(head -c 2000000 /dev/zero | tr '\\0' x)")
	if res.ExitCode != 0 || !res.Committed || !strings.Contains(string(res.Stderr),
		"exported variables and functions are not kept") {
		t.Fatalf("%+v", res)
	}
	if res := run(t, s, id, "pwd; echo $A ${#R}; cat ~/f"); string(res.Stdout) != "/tmp\nbefore 0\n1\n" {
		t.Fatalf("%q %q", res.Stdout, res.Stderr)
	}
	// Below the bound it is kept.
	run(t, s, id, "export R=$(head -c 1000000 /dev/zero | tr '\\0' x)")
	if res := run(t, s, id, "echo ${#R}"); string(res.Stdout) != "1000000\n" {
		t.Fatalf("%q %q", res.Stdout, res.Stderr)
	}
}

func TestShellStateCountsInTheQuota(t *testing.T) {
	t.Parallel()
	s := service(t, sandbox.Config{})
	limit := int64(50_000)
	b, err := s.CreateSandbox(t.Context(), alice, sandbox.NewSandbox{Name: "n", MaxBytes: &limit})
	if err != nil {
		t.Fatal(err)
	}
	export := func(n int) string {
		return fmt.Sprintf("echo %d > f; export R=$(head -c %d /dev/zero | tr '\\0' x)", n, n)
	}
	run(t, s, b.ID, export(20_000))
	usage := func(least, most int64) {
		t.Helper()
		got, err := s.GetSandbox(t.Context(), alice, b.ID)
		if err != nil || got.UsedBytes < least || got.UsedBytes > most {
			t.Fatalf("%d bytes used, %v", got.UsedBytes, err)
		}
	}
	usage(20_000, 21_000)
	if res := run(t, s, b.ID, export(60_000)); !strings.Contains(string(res.Stderr), "not kept") {
		t.Fatalf("%q", res.Stderr)
	}
	if res := run(t, s, b.ID, "echo ${#R}; cat f"); string(res.Stdout) != "20000\n60000\n" {
		t.Fatalf("%q %q", res.Stdout, res.Stderr)
	}
	// What is left is for files, and they count beside it.
	run(t, s, b.ID, "head -c 25000 /dev/zero > g; cd /tmp")
	usage(45_000, 46_000)
	run(t, s, b.ID, "unset R; rm ~/g")
	usage(0, 100)
}

// TestFilesAreReadWithoutTheShellState: the state of a shell costs only who runs a script.
func TestFilesAreReadWithoutTheShellState(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	run(t, s, id, "echo 1 > f; export R=$(head -c 100000 /dev/zero | tr '\\0' x)")
	st, err := store.Open(context.Background(), store.Config{URL: sqltest.ServingURL(t, sqltest.URL(t))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	other := service(t, sandbox.Config{Store: st})
	// Whoever reads it now fails.
	if _, err := sqltest.Owner(t).Exec(t.Context(),
		`UPDATE pgbox.sandbox SET state_sha256 = sha256(id::text::bytea) WHERE id = $1`, id); err != nil {
		t.Fatal(err)
	}
	sqltest.Broken(id)
	if got := read(t, other, id, "/home/user/f"); got != "1\n" {
		t.Fatalf("f holds %q", got)
	}
	if _, err := other.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: alice, Script: "true",
		ReadOnly: true}); err == nil {
		t.Fatal("a script ran without its state")
	}
}
