package functions_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

// dump runs pg_dump in the role that sees one sandbox.
func dump(t testing.TB, u, sandbox string) (string, error) {
	t.Helper()
	// A session of a login role that is a member, as an installation has it; here the superuser steps down.
	cmd := exec.Command("pg_dump", "--role=pgbox_dump", "--enable-row-security", "--data-only", "--inserts", "--on-conflict-do-nothing",
		"--schema=pgbox", "--exclude-table=pgbox.schema_digest", "--exclude-table=pgbox.migration", "--exclude-table=pgbox.idempotency",
		"--exclude-table=pgbox.housekeeping", "--exclude-table=pgbox.image", "--exclude-table=pgbox.quota", u)
	cmd.Env = append(os.Environ(), "PGOPTIONS=-c app.sandbox_id="+sandbox)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		t.Log(errs.String())
	}
	return out.String(), err
}

func TestDump_oneSandboxIntoAnotherDatabase(t *testing.T) {
	t.Parallel()
	u, target := sqltest.Database(t), sqltest.Database(t)
	q := sqlcgen.New(sqltest.Connect(t, sqltest.GatewayURL(u)))
	id := create(t, q, sqlcgen.CreateSandboxParams{Name: "wanted"}).ID
	write(t, q, id, "before", "in the sealed layer")
	snap := must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "s"}))
	write(t, q, id, "after", "in the top layer")
	other := create(t, q, sqlcgen.CreateSandboxParams{Name: "foreign"}).ID
	write(t, q, other, "secret", "secret of another")

	text, err := dump(t, u, id.String())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, other.String()) || strings.Contains(text, "736563726574206f6620616e6f74686572") {
		t.Fatal("the dump holds another sandbox")
	}
	psql := exec.Command("psql", "-q", "-v", "ON_ERROR_STOP=1", target)
	psql.Stdin = strings.NewReader(text)
	if out, err := psql.CombinedOutput(); err != nil {
		t.Fatalf("restore: %v: %s", err, out)
	}
	pool, err := sqltest.NewPool(context.Background(), sqltest.GatewayURL(target))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	wantFile(t, pool, id, "/before", "in the sealed layer")
	wantFile(t, pool, id, "/after", "in the top layer")
	must[sqlcgen.FsSandbox](t)(sqlcgen.New(pool).Restore(t.Context(), sqlcgen.RestoreParams{Sandbox: id, At: snap.Name}))
	wantNoFile(t, pool, id, "/after")
}

// A dump of nothing that ends with status 0 is a backup nobody has.
func TestDump_withoutASandboxFails(t *testing.T) {
	t.Parallel()
	u := sqltest.Database(t)
	for _, id := range []string{"", uuid.NewString()} {
		if _, err := dump(t, u, id); err == nil {
			t.Errorf("sandbox %q: no error", id)
		}
	}
}
