package functions_test

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgbox/pgbox/sql/sqltest"
)

// planned is a session in the gateway's role that collects the plan of every statement inside the functions it calls.
type planned struct {
	*scope
	mu    sync.Mutex
	plans []string
}

func newPlanned(t *testing.T, url string) *planned {
	t.Helper()
	p := &planned{}
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.plans = append(p.plans, n.Message)
	}
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	p.scope = &scope{TB: t, conn: conn, admin: sqltest.Connect(t, url)}
	return p
}

// explain runs a statement and returns the plans inside it.
func (p *planned) explain(sql string) []string {
	p.Helper()
	p.mu.Lock()
	p.plans = nil
	p.mu.Unlock()
	p.must(sql)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.plans
}

var seqScan = regexp.MustCompile(`Seq Scan on (?:pgbox\.)?(inode|dirent|chunk|blob|sandbox|layer|change|snapshot)\b`)

// indexScan is a scan of a primary key, with its condition.
var indexScan = regexp.MustCompile(`(?:Index Scan|Index Only Scan|Bitmap Index Scan) (?:using|on) (inode|dirent|chunk)_pkey.*\n\s*Index Cond: (.*)`)

// The verbs read by index only, and the policies read the scope once per statement: in a new database, where the tables
// are thought to be small and the plans made then are kept, and in one with much else in it.
func TestExplain(t *testing.T) {
	for name, others := range map[string]int{"new database": 1, "20 sandboxes": 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := sqltest.Database(t)
			p := newPlanned(t, url)
			pool, err := sqltest.NewPool(t.Context(), sqltest.GatewayURL(url))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			for range others {
				p.id = sqltest.Sandbox(t, pool)
				p.must("SELECT fs.use($1)", p.id)
				p.must("SELECT fs.mkdir('/many/' || n, p_parents => true) FROM generate_series(1, 30) n")
				p.must("SELECT fs.write_file('/many/' || n % 30 + 1 || '/f' || n, convert_to(n || $1, 'UTF8')) FROM generate_series(1, 300) n", p.id.String())
			}
			p.stack()
			p.must("SELECT fs.write_file('/many/1/new', convert_to(repeat('x', 200000), 'UTF8'))")
			p.stack()
			if others > 1 {
				p.root("ANALYZE")
			}
			testPlans(t, p)
		})
	}
}

func testPlans(t *testing.T, p *planned) {
	t.Helper()
	for _, sql := range []string{
		"LOAD 'auto_explain'", "SET auto_explain.log_min_duration = 0", "SET auto_explain.log_nested_statements = on",
		"SET client_min_messages = log",
		"SET ROLE pgbox_gateway",
	} {
		p.must(sql)
	}
	scoped := 0
	for name, sql := range map[string]string{
		"append_file": "SELECT fs.append_file('/many/1/new', 'x')",
		"chmod":       "SELECT fs.chmod('/many/1/f30', 448)",
		"chown":       "SELECT fs.chown('/many/1/f30', 1, 1)",
		"cp":          "SELECT fs.cp('/many/1/new', '/many/copy')",
		"cp tree":     "SELECT fs.cp('/many/2', '/copy2', true)",
		"du":          "SELECT fs.du('/many/3')",
		"find":        "SELECT fs.find('/many/3')",
		"glob":        "SELECT fs.glob('/many/3*/*1*')",
		"grep":        "SELECT fs.grep('1', '/many/3')",
		"link":        "SELECT fs.link('/many/1/f30', '/many/hard')",
		"lstat":       "SELECT fs.lstat('/many/1/f30')",
		"mkdir":       "SELECT fs.mkdir('/many/x')",
		"mknod":       "SELECT fs.mknod('/many/pipe', 1::smallint)",
		"mv":          "SELECT fs.mv('/many/4', '/many/four')",
		"read_file":   "SELECT fs.read_file('/many/1/new')",
		"readdir":     "SELECT fs.readdir('/many/1')",
		"readlink":    "SELECT fs.readlink('/bin')",
		"realpath":    "SELECT fs.realpath('/many/1/../2')",
		"resolve":     "SELECT fs.resolve('/many/1/f30')",
		"rm":          "SELECT fs.rm('/many/5', true)",
		"rmdir":       "SELECT fs.mkdir('/many/y'), fs.rmdir('/many/y')",
		"stat":        "SELECT fs.stat('/many/1/f30')",
		"symlink":     "SELECT fs.symlink('x', '/many/l')",
		"tree":        "SELECT fs.tree('/many/6')",
		"truncate":    "SELECT fs.truncate('/many/1/new', 100000)",
		"unlink":      "SELECT fs.unlink('/many/1/f60')",
		"utimes":      "SELECT fs.utimes('/many/1/f30', 5)",
		"write_at":    "SELECT fs.write_at('/many/1/new', 'y', 70000)",
		"write_file":  "SELECT fs.write_file('/many/1/new', 'y')",
	} {
		// Five executions, then plpgsql may turn to generic plans: both kinds are looked at.
		statements := []string{sql}
		if regexp.MustCompile(`^SELECT fs\.(stat|lstat|read|resolve|real|find|tree|glob|grep|du)`).MatchString(sql) {
			statements = []string{sql, sql, sql, sql, sql, sql, sql}
		}
		for _, sql := range statements {
			plans := p.explain(sql)
			if len(plans) < 3 {
				t.Fatalf("%s: %d plans: auto_explain does not work", name, len(plans))
			}
			for _, plan := range plans {
				if strings.Contains(plan, "One-Time Filter: false") {
					continue // a key that is NULL: nothing is read
				}
				for _, m := range indexScan.FindAllStringSubmatch(plan, -1) {
					if !strings.Contains(m[2], map[string]string{"inode": "(ino = ", "dirent": "(parent_ino = ",
						"chunk": "(ino = "}[m[1]]) {
						t.Errorf("%s reads a whole layer of %s:\n%s", name, m[1], plan)
					}
				}
				if m := seqScan.FindStringSubmatch(plan); m != nil {
					t.Errorf("%s reads all of %s:\n%s", name, m[1], plan)
				}
				if strings.Contains(plan, "scope_layers()") || strings.Contains(plan, "InitPlan") {
					scoped++
				}
				for _, line := range strings.Split(plan, "\n") {
					if strings.Contains(line, "Filter:") && strings.Contains(line, "scope_") {
						t.Errorf("%s evaluates the scope for each row:\n%s", name, plan)
					}
				}
			}
		}
	}
	if scoped == 0 {
		t.Error("no plan had an InitPlan: the policies are not in force")
	}
}
