package functions_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

var update = flag.Bool("update", false, "write COOKBOOK.md anew")

// The queries of the cookbook answer what it says, as the auditor.
func TestCookbook(t *testing.T) {
	t.Parallel()
	u := sqltest.Database(t)
	seedCookbook(t, u)
	conn := sqltest.Connect(t, sqltest.RoleURL(u, "pgbox_auditor"))
	const page = "../COOKBOOK.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	rest, queries := string(text), 0
	for {
		before, after, ok := strings.Cut(rest, "```sql\n")
		out.WriteString(before)
		if !ok {
			break
		}
		query, after, ok := strings.Cut(after, "```\n")
		if !ok {
			t.Fatalf("a query does not end: %s", after)
		}
		queries++
		answer := answerOf(t, conn, query)
		fmt.Fprintf(&out, "```sql\n%s```\n\n```\n%s```\n", query, answer)
		// What it said before.
		if said, ok := strings.CutPrefix(after, "\n```\n"); ok {
			said, after, ok = strings.Cut(said, "```\n")
			if !ok {
				t.Fatalf("an answer does not end: %s", said)
			}
			if !*update && said != answer {
				t.Errorf("%s\nsays\n%s\nthe page has\n%s", query, answer, said)
			}
			rest = after
			continue
		}
		if !*update {
			t.Errorf("%s\nhas no answer on the page", query)
		}
		rest = after
	}
	if queries < 20 {
		t.Errorf("%d queries", queries)
	}
	if *update {
		if err := os.WriteFile(page, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Where a key is given, the auditors' views have an index to go by.
func TestAuditorViews_plans(t *testing.T) {
	t.Parallel()
	u := sqltest.Database(t)
	conn := sqltest.Connect(t, sqltest.RoleURL(u, "pgbox_auditor"))
	for _, sql := range []string{"SET enable_seqscan = off", "SET jit = off"} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	const id = "'00000000-0000-4000-8000-00000000000a'"
	for _, query := range []string{
		"SELECT * FROM fs.execs WHERE sandbox_id = " + id + " ORDER BY started_at DESC LIMIT 10",
		"SELECT * FROM fs.execs WHERE id = " + id,
		"SELECT * FROM fs.execs WHERE started_at >= now() - interval '1 hour'",
		"SELECT * FROM fs.changes WHERE sandbox_id = " + id + " AND version > 5",
		"SELECT * FROM fs.changes WHERE at >= now() - interval '1 hour'",
		"SELECT * FROM fs.touches WHERE path = '/a'", "SELECT * FROM fs.touches WHERE path_to = '/a'",
		"SELECT * FROM fs.touches WHERE '/a' IN (path, path_to)",
		"SELECT * FROM fs.touches WHERE hash_after = '\\x00'", "SELECT * FROM fs.touches WHERE hash_before = '\\x00'",
		"SELECT * FROM fs.touches WHERE fs.hash_of('x') IN (hash_before, hash_after)",
		"SELECT * FROM fs.files WHERE sandbox_id = " + id, "SELECT * FROM fs.usage WHERE sandbox_id = " + id,
		"SELECT * FROM fs.layers WHERE id = " + id,
	} {
		rows, err := conn.Query(t.Context(), "EXPLAIN "+query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(lines, "\n")
		if m := regexp.MustCompile(`Seq Scan on (?:pgbox\.)?(inode|dirent|chunk|blob|sandbox|layer|change|snapshot|exec)\b`).FindString(plan); m != "" {
			t.Errorf("%s: %s\n%s", query, m, plan)
		}
	}
}

// answerOf is the table that a query returns, as psql prints it without alignment.
func answerOf(t *testing.T, conn *pgx.Conn, query string) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), query, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var out strings.Builder
	for i, f := range rows.FieldDescriptions() {
		if i > 0 {
			out.WriteString(" | ")
		}
		out.WriteString(f.Name)
	}
	out.WriteByte('\n')
	n := 0
	for ; rows.Next(); n++ {
		for i, v := range rows.RawValues() {
			if i > 0 {
				out.WriteString(" | ")
			}
			out.WriteString(strings.ReplaceAll(string(v), "\n", "↵"))
		}
		out.WriteByte('\n')
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if n == 0 {
		t.Errorf("%s answers nothing: the example does not show what it is for", query)
	}
	return strings.ReplaceAll(out.String(), " \n", "\n")
}

// seedCookbook makes three sandboxes in which some things have happened.
func seedCookbook(t *testing.T, u string) {
	t.Helper()
	conn, admin := sqltest.Connect(t, sqltest.GatewayURL(u)), sqltest.Connect(t, u)
	q := sqlcgen.New(conn)
	at := time.Date(2026, 2, 1, 9, 0, 0, 0, time.UTC)
	ids := map[string]uuid.UUID{}
	boxes := map[string]*scope{}
	for _, box := range [][2]string{{"a", "ann"}, {"b", "ann"}, {"c", "carl"}} {
		name, who := box[0], box[1]
		ids[name] = uuid.MustParse("00000000-0000-4000-8000-00000000000" + name)
		id := ids[name]
		create(t, q, sqlcgen.CreateSandboxParams{ID: &id, Tenant: "acme", Owner: who, Name: "box " + name})
		boxes[name] = &scope{TB: t, conn: conn, admin: admin, id: id}
	}
	in := func(name, sql string, args ...any) {
		t.Helper()
		boxes[name].must("SELECT fs.use($1)", ids[name])
		boxes[name].must(sql, args...)
	}
	// run is a run that wrote a file, or (path "") one that changed nothing.
	runs := 0
	run := func(box, caller, script, path, content, more string) {
		t.Helper()
		runs++
		id, ms := uuid.NewSHA1(uuid.NameSpaceOID, []byte{byte(runs)}), 10*runs
		row := fmt.Sprintf(`"id":%q,"sandbox_id":%q,"tenant":"acme","route":"exec","caller":%q,"script":%q,"cwd":"/home/user","started_at":%q,"duration_us":%d%s`,
			id, ids[box], caller, script, at.Add(time.Duration(runs)*time.Minute).Format(time.RFC3339), ms*1000, more)
		if path == "" {
			must[int64](t)(q.LogExecs(t.Context(), []byte("[{"+row+"}]")))
			// Nobody may log what is so long ago.
			boxes[box].root("UPDATE pgbox.exec SET started_at = $2 WHERE id = $1", id, at.Add(time.Duration(runs)*time.Minute))
			return
		}
		in(box, "SELECT fs.write_file($1, convert_to($2, 'UTF8'))", path, content)
		boxes[box].root("INSERT INTO pgbox.exec (id, sandbox_id, tenant, route, caller, script, cwd, read_only, exit_code, started_at, duration_us, stdout_bytes, stderr_bytes, stdout_head, stderr_head, version_before, version_after, committed) "+
			"SELECT $1, s.id, s.tenant, 'exec', $3, $4, '/home/user', false, 0, $5, $6, 0, 0, '', '', s.version - 1, s.version, true FROM pgbox.sandbox s WHERE s.id = $2", id, ids[box], caller, script, at.Add(time.Duration(runs)*time.Minute), ms*1000)
		boxes[box].root("UPDATE pgbox.change c SET exec_id = $1 FROM pgbox.sandbox s WHERE s.id = $2 AND c.sandbox_id = s.id AND c.version = s.version", id, ids[box])
	}
	run("a", "ann", "make report > report.txt", "/home/user/report.txt", strings.Repeat("report\n", 200), "")
	run("a", "ann", "cat report.txt", "", "", `,"read_only":true,"exit_code":0,"stdout_bytes":1400,"stdout_head":"report"`)
	run("a", "ann", "echo -n 'secret key' > .key", "/home/user/.key", "secret key", "")
	run("b", "ann", "cp /in/key key", "/home/user/key", "secret key", "")
	run("b", "ann", "while :; do :; done", "", "", `,"exit_code":124,"error":"EXEC_TIMEOUT"`)
	run("c", "carl", "curl http://example.org | sh", "", "", `,"exit_code":127`)
	run("c", "carl", "make report >> report.txt", "/home/user/report.txt", strings.Repeat("report\n", 200),
		`,"idempotency_key":"k-1"`)
	run("c", "carl", "test -s report.txt", "", "", `,"exit_code":0,"idempotency_key":"k-1"`)
	in("a", "SELECT fs.unlink('/home/user/.key')")
	in("a", "SELECT fs.snapshot($1, 'monthly')", ids["a"])
	in("a", "SELECT fs.write_file('/home/user/report.txt', 'new')")
	in("a", "SELECT fs.mv('/home/user/report.txt', '/home/user/old.txt')")
	in("b", "SELECT fs.chmod('/home/user/key', 438)")
	in("b", "SELECT fs.write_file('/home/user/copy.txt', convert_to($1, 'UTF8'))", strings.Repeat("report\n", 200))
	in("b", "SELECT fs.write_file('/home/user/big', convert_to(repeat('x', 100000), 'UTF8'))")
	in("c", "SELECT fs.mkdir('/home/user/tmp'), fs.write_file('/home/user/tmp/big', convert_to(repeat('x', 100000), 'UTF8'))")
	if err := q.SetQuota(t.Context(), sqlcgen.SetQuotaParams{Tenant: "acme", Owner: "carl",
		MaxBytes: new(int64(200000))}); err != nil {
		t.Fatal(err)
	}
	for name, day := range map[string]int{"a": 14, "b": 3, "c": 12} {
		month := map[string]int{"a": 2, "b": 1, "c": 2}[name]
		boxes[name].root("UPDATE pgbox.sandbox SET last_used_at = make_timestamptz(2026, $2, $3, 12, 0, 0, 'UTC') WHERE id = $1", ids[name], month, day)
	}
}
