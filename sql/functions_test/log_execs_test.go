package functions_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

// TestPrune_leavesWhatIsYoung: who may tidy up cannot remove the trace of what it has just done.
func TestPrune_leavesWhatIsYoung(t *testing.T) {
	t.Parallel()
	s := newScope(t)
	s.must("SELECT fs.write_file('/f', 'x')")
	for _, args := range []string{"'-1 day', NULL", "'0', NULL", "'23 hours', NULL", "NULL, 0", "NULL, -1", "NULL, 999",
		"NULL, NULL, 0", "'1 day', NULL, -1"} {
		s.fails(vfs.EINVAL, "SELECT fs.housekeep('0', '1 hour', "+limitOf(args)+", "+historyOf(args)+")")
	}
	conn := sqltest.Connect(t, sqltest.GatewayURL(sqltest.URL(t)))
	if _, err := conn.Exec(t.Context(), "SELECT fs.prune('1 day', NULL)"); err == nil ||
		!strings.Contains(err.Error(), "permission denied") {
		t.Errorf("a gateway calls fs.prune: %v", err)
	}
	keeper := sqltest.Connect(t, sqltest.RoleURL(sqltest.URL(t), "pgbox_housekeeper"))
	if _, err := keeper.Exec(t.Context(), "SELECT fs.prune('100 years', NULL)"); err != nil {
		t.Error(err)
	}
	if n := one[int](t, s.admin, "SELECT count(*)::int FROM pgbox.change WHERE sandbox_id = $1", s.id); n != 1 {
		t.Errorf("%d operations are left", n)
	}
}

// limitOf and historyOf are the arguments of fs.prune as those of fs.housekeep.
func limitOf(args string) string {
	if f := strings.Split(args, ", "); len(f) == 3 {
		return f[2]
	}
	return "1000"
}

func historyOf(args string) string { return strings.Join(strings.Split(args, ", ")[:2], ", ") }

// TestLogExecs_cannotForge: a row says who wrote it and when, whatever it claims, and cannot claim what has not
// happened.
func TestLogExecs_cannotForge(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	for _, bad := range []string{`7`, `{}`, `null`} {
		_, err := q.LogExecs(t.Context(), []byte(bad))
		wantErrno(t, err, vfs.EINVAL)
	}
	must[int64](t)(q.LogExecs(t.Context(), fmt.Appendf(nil, `[
		{"sandbox_id": %[1]q, "script": "old", "started_at": "2001-01-01T00:00:00Z", "version": -5, "committed": true, "duration_us": -1, "agent": %[2]q, "stdout_head": %[3]q},
		{"sandbox_id": %[1]q, "script": "new", "started_at": "2100-01-01T00:00:00Z", "version": 999, "db_role": "somebody", "logged_at": "2001-01-01T00:00:00Z"},
		{"sandbox_id": %[4]q, "script": "nowhere"}]`, id, strings.Repeat("a", 200), strings.Repeat("x", 100_000), uuid.New())))
	rows := must[[]sqlcgen.FsExec](t)(q.Timeline(t.Context(), sqlcgen.TimelineParams{Sandbox: id, MaxRows: 10}))
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	me := one[string](t, sqltest.Owner(t), "SELECT session_user::text")
	for _, r := range rows {
		if age := time.Since(r.StartedAt); age < -time.Minute || age > 25*time.Hour {
			t.Errorf("%s began at %v", r.Script, r.StartedAt)
		}
		if r.VersionBefore != 0 || r.VersionAfter != 0 || r.Committed || r.DurationUs < 0 || len(r.Agent) > 128 ||
			len(r.StdoutHead) > 4096 {
			t.Errorf("%+v", r)
		}
		if r.DbRole == nil || *r.DbRole != me || r.LoggedAt == nil || time.Since(*r.LoggedAt) > time.Hour {
			t.Errorf("%s was written by %v at %v", r.Script, r.DbRole, r.LoggedAt)
		}
	}
	// An id that is taken stays with the row that has it.
	d := begin(t, q, id)
	d.create(1, "f", "x")
	d.Exec = fmt.Appendf(nil, `{"id":%q}`, rows[0].ID)
	_, err := q.Apply(t.Context(), d.ApplyParams)
	wantErrno(t, err, vfs.EEXIST)
}

// TestBlame_seesThroughMerges: the writer of what a merge brought is the run in the fork, through two of them as well.
func TestBlame_seesThroughMerges(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	fork := forked(t, q, id)
	second := forked(t, q, fork)
	d := begin(t, q, second)
	d.create(1, "f", "by a run")
	content := sha256.Sum256([]byte("by a run"))
	d.Op, d.Path, d.PathTo, d.ChangeIno = []string{"create"}, []string{"/f"}, []string{""}, []int64{firstIno}
	d.SizeBefore, d.SizeAfter, d.HashBefore, d.HashAfter = []int64{-1}, []int64{8}, [][]byte{nil}, [][]byte{content[:]}
	d.Exec = []byte(`{"script":"make f","caller":"carol","agent":"planner"}`)
	d.apply(t, q)
	for _, m := range [][2]uuid.UUID{{fork, second}, {id, fork}} {
		must[[]sqlcgen.MergeRow](t)(q.Merge(t.Context(), sqlcgen.MergeParams{
			Sandbox: m[0], From: m[1], Base: "@base", Conflict: "fail", Exec: []byte(`{"script":"merge","caller":"bob"}`),
		}))
	}
	rows := must[[]sqlcgen.FsLastWrite](t)(q.Blame(t.Context(), sqlcgen.BlameParams{Sandbox: id, Path: "/f"}))
	if len(rows) != 1 || rows[0].Script == nil || *rows[0].Script != "make f" || *rows[0].Caller != "carol" ||
		*rows[0].Agent != "planner" {
		t.Fatalf("%+v", rows)
	}
}

// TestVerbsInSQLHaveRows: what a database user does beside all gateways is in the log under the name of that user, when
// it is done and not otherwise.
func TestVerbsInSQLHaveRows(t *testing.T) {
	t.Parallel()
	_, u, id := gcDatabase(t)
	root := sqltest.Connect(t, u)
	exec := func(conn *pgx.Conn, sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	dba := fmt.Sprintf("dba-%s", uuid.NewString()[:8])
	exec(root, fmt.Sprintf("CREATE ROLE %q LOGIN; GRANT pgbox_gateway TO %[1]q", dba))
	defer exec(root, fmt.Sprintf("DROP ROLE %q", dba))
	cc, err := pgx.ParseConfig(u)
	if err != nil {
		t.Fatal(err)
	}
	cc.User = dba
	conn, err := pgx.ConnectConfig(t.Context(), cc)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	fork, twin, snap := uuid.New(), uuid.New(), uuid.UUID{}
	for _, sql := range []string{
		"SELECT fs.kv_set($1, 'k', '1')", "SELECT fs.kv_delete($1, 'k')",
		"SELECT FROM fs.fork($1, ARRAY['" + fork.String() + "']::uuid[], 'f')", "SELECT fs.flatten($1)",
		"SELECT FROM fs.update_sandbox($1, 'new name', NULL, NULL, NULL, NULL, NULL)", "SELECT FROM fs.create_image($1, 'i')",
	} {
		exec(conn, sql, id)
	}
	if err := conn.QueryRow(t.Context(), "SELECT id FROM fs.snapshot($1, 's')", id).Scan(&snap); err != nil {
		t.Fatal(err)
	}
	exec(conn, "SELECT fs.drop_snapshot($1, $2)", id, snap)
	exec(conn, "SELECT FROM fs.tag_image('test', 'owner', 'i', 'j')")
	exec(conn, "SELECT fs.drop_image('test', 'owner', 'i')")
	exec(conn, "SELECT fs.set_quota('test', 'owner', 1000000000)")
	// Going back and forth, and another sandbox.
	born := one[uuid.UUID](t, conn,
		"SELECT id FROM fs.create_sandbox(p_tenant => 'test', p_owner => 'owner', p_name => 'n', p_history => '{\"commits\": 1}')")
	for _, sql := range []string{"SELECT fs.snapshot($1, 's')", "BEGIN", "SELECT fs.use($1)",
		"SELECT fs.write_file('/tmp/f', 'x')", "COMMIT", "SELECT fs.restore($1, 's')", "SELECT fs.undo($1)",
		"SELECT fs.redo($1)"} {
		if strings.Contains(sql, "$1") {
			exec(conn, sql, born)
		} else {
			exec(conn, sql)
		}
	}
	exec(conn, "SELECT FROM fs.fork($1, ARRAY['"+twin.String()+"']::uuid[], 'twin')", born)
	exec(conn, "BEGIN")
	exec(conn, "SELECT fs.use($1)", twin)
	exec(conn, "SELECT fs.write_file('/tmp/g', 'x')")
	exec(conn, "COMMIT")
	exec(conn, "SELECT fs.merge($1, $2)", born, twin)
	// What did nothing has none.
	exec(conn, "SELECT fs.merge($1, $2)", born, twin)
	if _, err := conn.Exec(t.Context(), "SELECT fs.redo($1)", born); err == nil {
		t.Error("there was something to redo")
	}
	// One transaction, two verbs, and who asked; an id that is there already keeps no row away.
	exec(conn, "BEGIN")
	exec(conn, `SELECT set_config('app.exec', jsonb_build_object('id', $1::text, 'caller', 'alice', 'route', 'r', 'script', 'first')::text, true)`,
		one[string](t, root, "SELECT max(id::text) FROM pgbox.exec"))
	exec(conn, "SELECT fs.kv_set($1, 'a', '1')", id)
	exec(conn, "SELECT fs.kv_set($1, 'b', '1')", id)
	exec(conn, "COMMIT")
	exec(conn, "BEGIN")
	exec(conn, "SELECT fs.kv_set($1, 'c', '1')", id)
	exec(conn, "ROLLBACK")
	exec(conn, "SELECT fs.drop_sandbox($1)", fork)
	exec(root, "UPDATE pgbox.sandbox SET expires_at = now() WHERE id = $1", id)
	exec(root, "SELECT fs.housekeep()")
	got := list[string](&scope{TB: t, conn: root}, `SELECT concat_ws(' | ', CASE sandbox_id WHEN $1 THEN 'it' WHEN $2 THEN 'fork' WHEN $4 THEN 'born' WHEN $5 THEN 'twin' ELSE 'none' END, route, replace(caller, $3, 'dba'), replace(db_role, $3, 'dba'),
		regexp_replace(script, '[0-9a-f-]{36}', 'ID'), CASE WHEN committed THEN 'committed' END) FROM pgbox.exec WHERE sandbox_id <> $1 OR script <> 'create' ORDER BY logged_at`, id, fork, dba, born, twin)
	want := []string{
		"it | sql | dba | dba | kv_set k | committed", "it | sql | dba | dba | kv_delete k | committed",
		"it | sql | dba | dba | fork | committed", "fork | sql | dba | dba | fork of ID | committed",
		"it | sql | dba | dba | flatten | committed", "it | sql | dba | dba | update | committed",
		"it | sql | dba | dba | image create i:latest | committed",
		"it | sql | dba | dba | snapshot s | committed", "it | sql | dba | dba | snapshot rm ID | committed",
		"none | sql | dba | dba | image tag i j:latest | committed", "none | sql | dba | dba | image rm i | committed",
		"none | sql | dba | dba | quota set owner | committed",
		"born | sql | dba | dba | create | committed", "born | sql | dba | dba | snapshot s | committed",
		"born | sql | dba | dba | restore s | committed",
		"born | sql | dba | dba | undo | committed", "born | sql | dba | dba | redo | committed",
		"born | sql | dba | dba | fork | committed", "twin | sql | dba | dba | fork of ID | committed",
		"born | sql | dba | dba | merge ID | committed",
		"it | r | alice | dba | first | committed", "it | r | alice | dba | kv_set b | committed",
		"fork | sql | dba | dba | drop | committed", "it | housekeeping | pgbox_housekeeper | postgres | expire | committed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
