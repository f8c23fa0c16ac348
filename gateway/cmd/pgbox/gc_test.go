package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A server removes what an expired sandbox leaves behind by itself; `pgbox gc` does it at once.
func TestHousekeeping(t *testing.T) {
	r := startDev(t, dataDir(t), "HOUSEKEEPING_INTERVAL=100ms", "HOUSEKEEPING_GRACE=1ms")
	conn, err := pgx.Connect(t.Context(), r.psql)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	count := func(sql string, args ...any) (n int) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const blobs = "SELECT count(*) FROM pgbox.blob WHERE data LIKE 'to be swept%'"
	id := strings.TrimSpace(r.must(t, "sandbox", "create"))
	r.must(t, "exec", id, "--", "echo to be swept > f")
	if n := count(blobs); n != 1 {
		t.Fatalf("%d contents", n)
	}
	if _, err := conn.Exec(t.Context(), "UPDATE pgbox.sandbox SET expires_at = now() WHERE id = $1", id); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		left := fmt.Sprint(count(blobs), count("SELECT count(*) FROM pgbox.sandbox WHERE id = $1 AND deleted_at IS NULL", id))
		if left != "0 0" {
			return fmt.Errorf("contents and sandboxes left: %s\n%s", left, r.stderr)
		}
		return nil
	})
	r.stop(t)
}

// A check finds what is broken by hand and mends it; a server checks by itself and logs.
func TestFsckCommand(t *testing.T) {
	r := startDev(t, dataDir(t), "FSCK_INTERVAL=100ms")
	conn, err := pgx.Connect(t.Context(), r.psql)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	id := strings.TrimSpace(r.must(t, "sandbox", "create"))
	r.must(t, "exec", id, "--", "mkdir d; echo lost > d/f; echo left > left")
	t.Setenv("DATABASE_URL", r.psql)
	if out := r.must(t, "fsck") + r.must(t, "fsck", id); out != "" {
		t.Errorf("%q", out)
	}
	for _, sql := range []string{
		"UPDATE pgbox.sandbox SET used_bytes = 1 WHERE id = $1",
		"DELETE FROM pgbox.dirent d USING pgbox.sandbox s WHERE s.id = $1 AND d.layer_id = s.layers[1] AND d.name = 'd'",
	} {
		if _, err := conn.Exec(t.Context(), sql, id); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() error {
		if log := r.stderr.String(); !strings.Contains(log, "unreachable_inode") {
			return fmt.Errorf("nothing in the log:\n%s", log)
		}
		return nil
	})
	out, errs, status := r.pgbox(t, "", "fsck", id)
	if status != 1 || !strings.Contains(out, id+" used_bytes: 1, not 10\n") ||
		!strings.Contains(out, " unreachable_inode inode ") || !strings.Contains(errs, "4 broken") {
		t.Errorf("%d, %q, %q", status, out, errs)
	}
	if all, _, status := r.pgbox(t, "", "fsck"); status != 1 || all != out {
		t.Errorf("%d, %q, want %q", status, all, out)
	}
	if out := r.must(t, "fsck", "--repair", id); !strings.Contains(out, "mended "+id+" used_bytes: 1, not 10\n") {
		t.Errorf("%q", out)
	}
	if out := r.must(t, "fsck"); out != "" {
		t.Errorf("%q", out)
	}
	// The server's own cache does not hide it.
	if out := r.must(t, "exec", id, "--", "cat /lost+found/*/f left"); out != "lost\nleft\n" {
		t.Errorf("%q", out)
	}
	if _, errs, status := r.pgbox(t, "", "fsck", "00000000-0000-4000-8000-000000000000"); status != 1 ||
		!strings.Contains(errs, "no such sandbox") {
		t.Errorf("%d, %q", status, errs)
	}
	r.stop(t)
}

func TestGCCommand(t *testing.T) {
	r := startDev(t, dataDir(t), "HOUSEKEEPING_INTERVAL=off")
	id := strings.TrimSpace(r.must(t, "sandbox", "create"))
	r.must(t, "exec", id, "--", "echo one > f; echo two > g")
	r.must(t, "exec", id, "--", "rm f")
	t.Setenv("DATABASE_URL", r.psql)
	const nothing = "0 sandboxes dropped; 0 layers and 0 blobs of 0 bytes deleted; 0 operations and 0 runs forgotten\n"
	if out := r.must(t, "gc"); out != nothing {
		t.Errorf("within the grace period: %q", out)
	}
	if out := r.must(t, "gc", "--grace",
		"0s"); out != "0 sandboxes dropped; 0 layers and 1 blobs of 4 bytes deleted; 0 operations and 0 runs forgotten\n" {
		t.Errorf("after it: %q", out)
	}
	if out := r.must(t, "exec", id, "--", "cat g"); out != "two\n" {
		t.Errorf("what is left: %q", out)
	}
	r.stop(t)
}
