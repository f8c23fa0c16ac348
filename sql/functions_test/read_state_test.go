package functions_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

// shellState is the state of the shell by its name.
func shellState(t *testing.T, q *sqlcgen.Queries, id uuid.UUID, sha256 []byte) string {
	t.Helper()
	if sha256 == nil {
		return "{}"
	}
	return string(must[[]byte](t)(q.ReadState(t.Context(), sqlcgen.ReadStateParams{Sandbox: id, SHA256: sha256})))
}

func TestReadState(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	_, err := q.ReadState(t.Context(), sqlcgen.ReadStateParams{Sandbox: id, SHA256: make([]byte, 32)})
	wantErrno(t, err, vfs.ESTALE)
	// Exported variables may be secrets: knowing the name is not enough.
	other := sqltest.Sandbox(t, pool)
	d := begin(t, q, other)
	d.ShellState = []byte(`{"env": {"TOKEN": "secret"}}`)
	name := d.apply(t, q).StateSHA256
	_, err = q.ReadState(t.Context(), sqlcgen.ReadStateParams{Sandbox: id, SHA256: name})
	wantErrno(t, err, vfs.ESTALE)
	if got := shellState(t, q, other, name); got != `{"env": {"TOKEN": "secret"}}` {
		t.Error(got)
	}
	d = begin(t, q, id)
	d.ShellState = []byte(`7`)
	_, err = q.Apply(t.Context(), d.ApplyParams)
	wantErrno(t, err, vfs.EINVAL)
	d.ShellState = []byte(fmt.Sprintf(`{"cwd": %q}`, strings.Repeat("x", 17<<20)))
	_, err = q.Apply(t.Context(), d.ApplyParams)
	wantErrno(t, err, vfs.EFBIG)
}

// TestState_isStoredOnce: automatic snapshots and forks name the state of the sandbox, and what nobody names goes.
func TestState_isStoredOnce(t *testing.T) {
	t.Parallel()
	q, url, _ := gcDatabase(t)
	owner := sqltest.Connect(t, url)
	id := create(t, q, sqlcgen.CreateSandboxParams{Name: "n", History: []byte(`{"commits": 1}`)}).ID
	state := func(i int) []byte {
		return []byte(fmt.Sprintf(`{"env": {"A": "%d%s"}}`, i, strings.Repeat("x", 10_000)))
	}
	for i := range 4 {
		d := begin(t, q, id)
		if i < 2 {
			d.ShellState = state(i)
		}
		d.create(1, fmt.Sprint("f", i), "1")
		d.apply(t, q)
	}
	forked(t, q, id)
	count := func() (n int) {
		if err := owner.QueryRow(t.Context(), "SELECT count(*) FROM pgbox.shell_state").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(); n != 2 {
		t.Fatalf("%d states are stored", n)
	}
	now := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id))
	if got := shellState(t, q, id, now.StateSHA256); !strings.HasPrefix(got, `{"env": {"A": "1x`) ||
		now.UsedBytes != 4+int64(len(got)) {
		t.Fatalf("%d bytes used, state of %d", now.UsedBytes, len(got))
	}
	for range 2 {
		gc(t, q, 0)
	}
	if n := count(); n != 2 {
		t.Fatalf("%d states are left, and both are in use", n)
	}
	// A name that is left behind goes after the grace period, and not before.
	if _, err := owner.Exec(t.Context(), "DELETE FROM pgbox.snapshot WHERE kind = 'automatic'"); err != nil {
		t.Fatal(err)
	}
	gc(t, q, time.Hour)
	if n := count(); n != 2 {
		t.Fatalf("%d states are left within the grace period", n)
	}
	gc(t, q, 0)
	if n := count(); n != 1 {
		t.Fatalf("%d states are left", n)
	}
	if got := shellState(t, q, id, now.StateSHA256); !strings.HasPrefix(got, `{"env": {"A": "1x`) {
		t.Fatal("the one in use went")
	}
}

func TestState_countsAndIsLimited(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	limit := int64(20_000)
	must[sqlcgen.FsSandbox](t)(q.UpdateSandbox(t.Context(), sqlcgen.UpdateSandboxParams{Sandbox: id, MaxBytes: &limit,
		Clear: []string{}}))
	set := func(n int) error {
		d := begin(t, q, id)
		d.ShellState = []byte(fmt.Sprintf(`{"cwd": %q}`, strings.Repeat("x", n-len(`{"cwd": ""}`))))
		row, err := q.Apply(t.Context(), d.ApplyParams)
		if err == nil && row.UsedBytes != must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)).UsedBytes {
			t.Errorf("apply says %d bytes", row.UsedBytes)
		}
		return err
	}
	used := func(want int64) {
		t.Helper()
		if got := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)).UsedBytes; got != want {
			t.Errorf("%d bytes used, want %d", got, want)
		}
	}
	for _, step := range []struct {
		size int
		used int64
	}{{4096, 0}, {4097, 4097}, {20_000, 20_000}, {5000, 5000}, {100, 0}, {6000, 6000}} {
		if err := set(step.size); err != nil {
			t.Fatal(err)
		}
		used(step.used)
	}
	wantErrno(t, set(20_001), vfs.EDQUOT)
	used(6000)
}
