package functions_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/sql/migrate"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// What an administrator may install finds text in all sandboxes through its index, follows their changes, and is in
// nobody's way.
func TestSearch(t *testing.T) {
	t.Parallel()
	u := sqltest.Database(t)
	a, b := newScopeIn(t, u), newScopeIn(t, u)
	a.must("SELECT fs.write_file('/key', 'the needle is here')")
	a.must("SELECT fs.write_file('/other', 'hay')")
	install := exec.CommandContext(t.Context(), "psql", "-qX", "-v", "ON_ERROR_STOP=1", "-f", "../../deploy/search.sql", u)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	auditor := sqltest.Connect(t, sqltest.RoleURL(u, "pgbox_auditor"))
	found := func(pattern string, want ...string) {
		t.Helper()
		got := one[[]string](t, auditor,
			"SELECT coalesce(array_agg(f.sandbox_id || ' ' || f.path ORDER BY f.path COLLATE \"C\", f.sandbox_id::text), '{}') FROM search.files($1) f", pattern)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
	at := func(id uuid.UUID, path string) string { return id.String() + " " + path }
	found("needle is", at(a.id, "/key"))
	b.must("SELECT fs.write_file('/notes', convert_to(repeat('x', 70000) || E'\\nNEEDLE or needle\\n', 'UTF8'))")
	b.must(`SELECT fs.write_file('/latin', '\x6e6565646c65fc'::bytea), fs.write_file('/binary', '\x6e6565646c6500'::bytea)`)
	found("needle", at(a.id, "/key"), at(b.id, "/latin"), at(b.id, "/notes"))
	found("needle|hay", at(a.id, "/key"), at(b.id, "/latin"), at(b.id, "/notes"), at(a.id, "/other"))
	found("nothing of the kind")
	// What was moved is at its new place; what is gone or written anew is not found, neither in a fork, whose original
	// keeps it.
	fork := get[uuid.UUID](a, "SELECT id FROM fs.fork($1, NULL, 'fork')", a.id)
	a.must("SELECT fs.mv('/key', '/moved')")
	b.must("SELECT fs.write_file('/notes', 'short'), fs.unlink('/latin')")
	found("needle", at(fork, "/key"), at(a.id, "/moved"))
	a.must("SELECT fs.drop_sandbox($1)", fork)
	a.must("SELECT fs.use($1)", a.id)
	a.must("SELECT fs.truncate('/moved', 3)")
	found("needle")

	if _, err := auditor.Exec(t.Context(), "SET enable_seqscan = off"); err != nil {
		t.Fatal(err)
	}
	if plan := list[string](&scope{TB: t, conn: auditor},
		"EXPLAIN SELECT sha256 FROM pgbox.blob b WHERE search.text_of(b.data) ~ 'needle'"); !strings.Contains(strings.Join(plan, "\n"), "blob_text_idx") {
		t.Errorf("%q", plan)
	}
	gateway := sqltest.Connect(t, sqltest.GatewayURL(u))
	if _, err := gateway.Exec(t.Context(), "SELECT search.files('needle')"); code(err) != insufficientPrivilege {
		t.Errorf("the gateway: %v", err)
	}
	// Servers and the next migration find the schema they know.
	if _, err := migrate.Up(t.Context(), u, migrate.Options{}); err != nil {
		t.Error(err)
	}
	if err := migrate.Check(t.Context(), gateway); err != nil {
		t.Error(err)
	}
	a.root("DROP SCHEMA search CASCADE")
	a.must("SELECT fs.write_file('/after', 'needle')")
}
