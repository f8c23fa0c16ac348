package functions_test

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/sql"
	"github.com/pgbox/pgbox/sql/sqltest"
)

type function struct {
	Schema, Name, Owner string
	Definer             bool
	Volatile            string // i, s, v
	Config              []string
	Comment             *string
	Source              string
}

func functions(t *testing.T, conn *pgx.Conn) []function {
	t.Helper()
	rows, err := conn.Query(t.Context(), `
		SELECT n.nspname, p.proname, p.proowner::regrole::text, p.prosecdef, p.provolatile::text, coalesce(p.proconfig, '{}'),
		       obj_description(p.oid, 'pg_proc'), pg_get_functiondef(p.oid)
		  FROM pg_proc p
		  JOIN pg_namespace n ON n.oid = p.pronamespace
		 WHERE n.nspname IN ('fs', 'pgbox')
		 ORDER BY 1, 2`)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[function])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var (
	writes = regexp.MustCompile(`(?i)\b(INSERT INTO|UPDATE pgbox|DELETE FROM|FOR (NO KEY )?UPDATE|FOR (KEY )?SHARE|CREATE TEMPORARY)\b`)
	random = regexp.MustCompile(`\b(clock_timestamp|gen_random_uuid|set_config|nextval)\(|\bRAISE EXCEPTION\b`)
	// one line at most: an apostrophe in a comment must not swallow the code after it
	literal = regexp.MustCompile(`'[^'\n]*'`)
	called  = regexp.MustCompile(`\b(fs|pgbox)\.(\w+)\(`)
)

// Owners, rights, search paths, volatility, comments of every function.
func TestLintFunctions(t *testing.T) {
	all := functions(t, sqltest.Owner(t))
	byName := make(map[string]function)
	for _, f := range all {
		name := f.Schema + "." + f.Name
		if _, ok := byName[name]; ok {
			t.Errorf("%s is overloaded", name)
		}
		byName[name] = f
	}
	if len(all) < 60 {
		t.Fatalf("%d functions: the catalog query is wrong", len(all))
	}
	for name, f := range byName {
		switch {
		case f.Owner != "pgbox_owner" && f.Owner != "pgbox_maintainer":
			t.Errorf("%s: owner %s", name, f.Owner)
		case f.Schema == "fs" && !f.Definer:
			t.Errorf("%s: callers have no rights on tables, so it must be SECURITY DEFINER", name)
		case f.Schema == "pgbox" && f.Definer && f.Owner != "pgbox_maintainer":
			t.Errorf("%s: a helper runs with the rights of who calls it, unless that is the maintainer's", name)
		}
		if !slices.ContainsFunc(f.Config, func(s string) bool { return s == "search_path=pg_catalog, pg_temp" }) {
			t.Errorf("%s: search_path %q", name, f.Config)
		}
		planned := func(prefix string) bool {
			return slices.ContainsFunc(f.Config, func(s string) bool { return strings.HasPrefix(s, prefix) })
		}
		if planned("enable_") && !planned("jit=off") {
			t.Errorf("%s: a forbidden scan that is taken all the same costs 10^10 in the plan, and a plan that dear is compiled for 0.2 s", name)
		}
		if planned("plan_cache_mode=force_generic_plan") && !planned("enable_seqscan=off") {
			t.Errorf("%s: the plan that a session keeps may have been made when the tables were empty, and would read all of them for ever", name)
		}
		if f.Comment == nil || !regexp.MustCompile(`^([A-Z]|pgbox\.).+\.( |\)|$)`).MatchString(*f.Comment) {
			t.Errorf("%s: needs a comment that is a sentence", name)
		}
		// What only calls something volatile is volatile too. raise_errno is not counted: it ends the statement.
		body := literal.ReplaceAllString(f.Source[strings.Index(f.Source, "AS $")+1:], "''")
		volatile := writes.MatchString(body) || random.MatchString(body)
		for _, c := range called.FindAllStringSubmatch(body, -1) {
			if g, ok := byName[c[1]+"."+c[2]]; ok && g.Volatile == "v" && g.Name != "raise_errno" {
				volatile = true
				if f.Volatile != "v" {
					t.Errorf("%s is not VOLATILE and calls %s, which is", name, c[0])
				}
			}
		}
		if f.Volatile != "v" && writes.MatchString(body) {
			t.Errorf("%s is not VOLATILE and writes or locks", name)
		}
		if f.Volatile == "v" && !volatile {
			t.Errorf("%s is VOLATILE without need", name)
		}
	}
}

// A handler names the condition it is for. What others raise, a DBA's trigger say, it must not swallow: RAISE EXCEPTION
// without more is raise_exception, and a SQLSTATE that ends in 000 stands for its whole class.
func TestLintHandlers(t *testing.T) {
	handler := regexp.MustCompile(`(?i)\bEXCEPTION\s+WHEN\s+([^;]*?)\s+THEN\b`)
	found := 0
	for _, f := range functions(t, sqltest.Owner(t)) {
		for _, h := range handler.FindAllStringSubmatch(f.Source, -1) {
			found++
			if regexp.MustCompile(`(?i)\b(OTHERS|raise_exception|plpgsql_error|P0\w{3}|\w\w000)\b`).MatchString(h[1]) {
				t.Errorf("%s.%s handles %s, which is what others raise, too", f.Schema, f.Name, h[1])
			}
		}
	}
	if found < 5 {
		t.Fatalf("%d handlers: the expression is wrong", found)
	}
}

// Whoever types a call in psql names what they mean and leaves out the rest: three arguments at most have no default,
// but for verbs that mean nothing without more, and those that only gateways call.
func TestLintDefaults(t *testing.T) {
	rows, err := sqltest.Owner(t).Query(t.Context(), `
		SELECT p.proname || ' ' || p.pronargs - p.pronargdefaults FROM pg_proc p
		 WHERE p.pronamespace = 'fs'::regnamespace AND p.pronargs - p.pronargdefaults > 3 ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"apply 5", "remember 5", "tag_image 4"}; !slices.Equal(got, want) {
		t.Errorf("need more than three arguments: %q, not %q", got, want)
	}
}

// One file defines one object, and is named after it.
func TestLintFiles(t *testing.T) {
	conn := sqltest.Owner(t)
	inFile := make(map[string]string)
	create := regexp.MustCompile(`(?m)^CREATE (?:OR REPLACE )?(FUNCTION|VIEW) (\w+)\.(\w+)`)
	err := fs.WalkDir(sql.Repeatables, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == "grants.sql" {
			return err
		}
		text, err := sql.Repeatables.ReadFile(path)
		if err != nil {
			return err
		}
		found := create.FindAllStringSubmatch(string(text), -1)
		if len(found) != 1 {
			t.Errorf("%s defines %d objects", path, len(found))
			return nil
		}
		want := map[string]string{"FUNCTION": "functions/", "VIEW": "views/"}[found[0][1]] + found[0][3] + ".sql"
		if path != want {
			t.Errorf("%s should be %s", path, want)
		}
		inFile[strings.ToLower(found[0][1])+" "+found[0][2]+"."+found[0][3]] = path
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// Policies depend on some functions, which therefore come with the migrations.
	migrated := []string{"function pgbox.scope_sandbox", "function pgbox.scope_layers", "function pgbox.dump_layers",
		"function pgbox.dump_bases"}
	var objects []string
	for _, f := range functions(t, conn) {
		objects = append(objects, "function "+f.Schema+"."+f.Name)
	}
	rows, err := conn.Query(t.Context(),
		"SELECT 'view ' || schemaname || '.' || viewname FROM pg_views WHERE schemaname IN ('fs', 'pgbox')")
	if err != nil {
		t.Fatal(err)
	}
	views, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range slices.Concat(objects, views) {
		if inFile[o] == "" && !slices.Contains(migrated, o) {
			t.Errorf("%s has no file", o)
		}
		delete(inFile, o)
	}
	for o, path := range inFile {
		t.Errorf("%s: %s is not in the database", path, o)
	}
}

// Every function of fs is called by a test of this folder, in SQL or as a generated query.
func TestLintTested(t *testing.T) {
	var tests strings.Builder
	files, err := fs.Glob(os.DirFS("."), "*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	for _, f := range functions(t, sqltest.Owner(t)) {
		if f.Schema != "fs" {
			continue
		}
		pascal := ""
		for _, part := range strings.Split(f.Name, "_") {
			pascal += strings.ToUpper(part[:1]) + part[1:]
		}
		if !strings.Contains(tests.String(), "fs."+f.Name+"(") && !strings.Contains(tests.String(), "."+pascal+"(") {
			t.Errorf("no test calls fs.%s", f.Name)
		}
	}
}

// Every table is bound by row level security, its owner too; the scope is read once per statement, not once per row; no
// policy is for everybody.
func TestLintPolicies(t *testing.T) {
	conn := sqltest.Owner(t)
	rows, err := conn.Query(t.Context(), `
		SELECT c.relname::text FROM pg_class c
		 WHERE c.relnamespace = 'pgbox'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname <> 'migration'
		   AND NOT (c.relrowsecurity AND c.relforcerowsecurity AND c.relowner = 'pgbox_owner'::regrole)`)
	if err != nil {
		t.Fatal(err)
	}
	loose, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if len(loose) > 0 {
		t.Errorf("tables without ENABLE and FORCE row level security, or of another owner: %q", loose)
	}
	type policy struct {
		Table, Name, Roles string
		Expr               string
	}
	rows, err = conn.Query(t.Context(), `
		SELECT c.relname::text, p.polname::text, array_to_string(ARRAY(SELECT coalesce(r.rolname, 'PUBLIC') FROM unnest(p.polroles) o LEFT JOIN pg_roles r ON r.oid = o), ','),
		       concat_ws(' / ', pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
		  FROM pg_policy p
		  JOIN pg_class c ON c.oid = p.polrelid`)
	if err != nil {
		t.Fatal(err)
	}
	policies, err := pgx.CollectRows(rows, pgx.RowToStructByPos[policy])
	if err != nil {
		t.Fatal(err)
	}
	if len(policies) < 30 {
		t.Fatalf("%d policies: the catalog query is wrong", len(policies))
	}
	scope := regexp.MustCompile(`(scope|dump)_\w+\(\)|current_setting\(`)
	init := regexp.MustCompile(`SELECT \(*(pgbox\.)?((scope|dump)_\w+\(\)|current_setting\()`)
	shared := []string{"blob", "shell_state", "schema_digest"} // no scope: content belongs to nobody
	for _, p := range policies {
		if strings.Contains(p.Roles, "PUBLIC") || p.Roles == "" {
			t.Errorf("%s on %s is for everybody", p.Name, p.Table)
		}
		if len(scope.FindAllString(p.Expr, -1)) != len(init.FindAllString(p.Expr, -1)) {
			t.Errorf("%s on %s is evaluated for each row: %s", p.Name, p.Table, p.Expr)
		}
		if p.Roles == "pgbox_owner" && !scope.MatchString(p.Expr) && !slices.Contains(shared, p.Table) {
			t.Errorf("%s on %s has no scope: %s", p.Name, p.Table, p.Expr)
		}
	}
}

// The gateway may call all of fs and nothing else; nobody else may call anything by default.
func TestLintGrants(t *testing.T) {
	conn := sqltest.Owner(t)
	for sql, what := range map[string]string{
		`SELECT coalesce(string_agg(c.oid::regclass::text, ' '), '') FROM pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) r
		  WHERE c.relnamespace IN ('pgbox'::regnamespace, 'fs'::regnamespace) AND c.relkind IN ('r', 'v', 'p') AND has_table_privilege('pgbox_gateway', c.oid, r)`: "the gateway has rights on tables",
		`SELECT coalesce(string_agg(p.oid::regprocedure::text, ' '), '') FROM pg_proc p
		  WHERE p.pronamespace = 'fs'::regnamespace AND p.proname <> 'prune' AND NOT has_function_privilege('pgbox_gateway', p.oid, 'EXECUTE')`: "the gateway may not call",
		`SELECT coalesce(string_agg(p.oid::regprocedure::text, ' '), '') FROM pg_proc p
		  WHERE p.pronamespace = 'pgbox'::regnamespace AND has_function_privilege('pgbox_gateway', p.oid, 'EXECUTE')`: "the gateway may call",
		`SELECT coalesce(string_agg(p.oid::regprocedure::text, ' '), '') FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
		  WHERE p.pronamespace IN ('pgbox'::regnamespace, 'fs'::regnamespace) AND a.grantee = 0`: "everybody may call",
		`SELECT coalesce(string_agg(r.rolname, ' '), '') FROM pg_roles r
		  WHERE r.rolname LIKE 'pgbox\_%' AND (r.rolsuper OR r.rolbypassrls OR r.rolcanlogin OR r.rolcreaterole)`: "roles with too many rights",
	} {
		if got := one[string](t, conn, sql); got != "" {
			t.Errorf("%s: %s", what, got)
		}
	}
}
