package shell_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// TestSQLiteStaysInside tries every way by which SQL and the shell's commands could reach a file of the host: each name
// of a VFS, in each place that takes a name, however it is spelled. Whatever SQLite opens is a file of the sandbox.
func TestSQLiteStaysInside(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret.db")
	made := runLimited(t, proc.Limits{}, time.Minute,
		`sqlite3 s.db "create table t(a); insert into t values ('the secret of the host')"; cat s.db`)
	if err := os.WriteFile(secret, []byte(made.out), 0o644); err != nil || !strings.Contains(made.out, "the secret") {
		t.Fatal(made, err)
	}
	target := filepath.Join(dir, "made.db")
	scripts := map[string]string{
		"database name":       `sqlite3 "file:TARGET?vfs=os" "create table t(a)"`,
		"escaped parameter":   `sqlite3 "file:TARGET?%76fs=os" "create table t(a)"`,
		"upper case":          `sqlite3 "FILE:TARGET?vfs=os" "create table t(a)"`,
		"authority":           `sqlite3 "file://localhostTARGET?vfs=os" "create table t(a)"`,
		"second parameter":    `sqlite3 "file:TARGET?vfs=tree&vfs=os" "create table t(a)"`,
		"pragma parameter":    `sqlite3 "file::memory:?_pragma=temp_store_directory('DIR')" "create temp table t(a)"`,
		"open":                `printf '.open file:TARGET?vfs=os\ncreate table t(a);\n' | sqlite3`,
		"open new":            `printf '.open --new file:TARGET?vfs=os\ncreate table t(a);\n' | sqlite3`,
		"backup":              `sqlite3 :memory: "create table t(a)" ".backup file:TARGET?vfs=os"`,
		"backup of main":      `sqlite3 :memory: "create table t(a)" ".backup main file:TARGET?vfs=os"`,
		"save":                `sqlite3 :memory: "create table t(a)" ".save TARGET"`,
		"restore":             `sqlite3 :memory: ".restore file:SECRET?vfs=os" "select * from t"`,
		"clone":               `sqlite3 :memory: "create table t(a)" ".clone TARGET"`,
		"output":              `printf '.output TARGET\nselect 1;\n' | sqlite3`,
		"once":                `printf '.once TARGET\nselect 1;\n' | sqlite3`,
		"log":                 `printf '.log TARGET\nselect 1;\n' | sqlite3`,
		"trace":               `printf '.trace TARGET\nselect 1;\n' | sqlite3`,
		"pipe":                `printf '.output |cat > TARGET\nselect 1;\n' | sqlite3`,
		"writefile":           `sqlite3 :memory: "select writefile('TARGET', 'x')"`,
		"edit":                `sqlite3 :memory: "select edit('x', 'cp /dev/stdin TARGET')"`,
		"plain name":          `sqlite3 TARGET "create table t(a)"`,
		"journal":             `sqlite3 TARGET "begin; create table t(a); insert into t values(zeroblob(9000000)); commit"`,
		"wal":                 `sqlite3 TARGET "pragma journal_mode=wal; create table t(a)"`,
		"temporary directory": `sqlite3 :memory: "pragma temp_store_directory='DIR'; pragma temp_store=1; create temp table t(a); insert into t values(zeroblob(100000))"`,
		"sorter":              `SQLITE_TMPDIR=DIR sqlite3 :memory: "pragma cache_size=1; select a from (select randomblob(1000) a from generate_series(1, 20000)) order by a limit 0"`,
		"shell":               `sqlite3 :memory: ".shell echo x > TARGET"`,
		"extension":           `sqlite3 :memory: "select load_extension('TARGET')" ".load TARGET"`,
		"init":                `sqlite3 -init SECRET :memory: "select 1"`,
		"virtual table":       `sqlite3 :memory: "create virtual table c using csv(filename='SECRET'); select * from c; create virtual table z using zipfile('SECRET'); select * from z"`,
		"readfile":            `sqlite3 :memory: "select readfile('SECRET')"`,
		"read":                `sqlite3 :memory: ".read SECRET"`,
		"import":              `sqlite3 :memory: ".import SECRET t" "select * from t"`,
		"immutable":           `sqlite3 "file:SECRET?vfs=os&immutable=1" "select * from t"; sqlite3 "file:SECRET?immutable=1&mode=ro" .dump`,
		"nolock":              `sqlite3 "file:SECRET?nolock=1&vfs=unix-none" "select * from t"`,
		"readonly":            `sqlite3 -readonly "file:SECRET?vfs=os" "select * from t"`,
		"page":                `sqlite3 "file:SECRET?vfs=os" "select data from sqlite_dbpage"`,
	}
	// Statements that open a file, with a name that means the host to the library's own file systems.
	names := map[string]string{
		"literal":    `'file:NAME?vfs=os'`,
		"escaped":    `'file:NAME?%76%66s=os'`,
		"operator":   `'file:NAME?v'||'fs=os'`,
		"query":      `(select 'file:NAME?vfs=os')`,
		"function":   `printf('file:%s?vfs=os', 'NAME')`,
		"characters": `'file:NAME?'||char(118,102,115)||'=os'`,
		"unix":       `'file:NAME?vfs=unix'`,
		"empty":      `'file:NAME?vfs='`,
		"blob":       `cast(x'66696c653a'||'NAME?vfs=os' as text)`,
	}
	before := map[string]string{
		"": "", "semicolon ": ";", "semicolons ": "; ;;", "mark ": "\uFEFF", "mark and semicolon ": "\uFEFF;",
		"no-break space ": "\u00a0",
		"line separator ": "\u2028", "comment ": "/* x */", "line comment ": "-- attach\n", "open comment ": "/**/;/*;*/",
		"vertical tab ": "\v",
		"select ":       "select 1;", "explain ": "explain ", "empty string ": "'';",
	}
	for which, name := range names {
		for how, b := range before {
			scripts[how+"attach "+which] = "sqlite3 :memory: <<'EOF'\n" + b + "attach " +
				strings.ReplaceAll(name, "NAME", "TARGET") +
				" as y;\ncreate table y.t(a);\n" + b + "attach database " + strings.ReplaceAll(name, "NAME", "SECRET") +
				" as z;\nselect * from z.t;\nEOF"
		}
		scripts["vacuum "+which] = `sqlite3 :memory: "create table t(a); vacuum main into ` +
			strings.ReplaceAll(name, "NAME", "TARGET") + `"`
		scripts["trigger "+which] = `sqlite3 :memory: "create table t(a); create trigger r after insert on t begin select writefile('TARGET', 'x'), readfile('SECRET'); end;
			insert into t values (` + name + `); create view v as select readfile('SECRET'); select * from v"`
	}
	scripts["parameter"] = `printf '.parameter set @f "file:TARGET?vfs=os"\nattach @f as h;\ncreate table h.t(a);\n' | sqlite3`
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			o := runLimited(t, proc.Limits{}, time.Minute, "mkdir -p DIR 2>/dev/null; "+
				strings.NewReplacer("TARGET", target, "SECRET", secret, "DIR", dir).Replace(script))
			if o.err != nil {
				t.Fatal(o.err)
			}
			if strings.Contains(o.out+o.errs, "the secret of the host") {
				t.Errorf("the host's file was read: %q %q", o.out, o.errs)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 {
				t.Fatalf("the host's folder has %v, %v after %q %q", entries, err, o.out, o.errs)
			}
		})
	}
}

// TestSQLiteNamesAreNamesOfTheSandbox is the other half: what names a file in SQL names one of the sandbox.
func TestSQLiteNamesAreNamesOfTheSandbox(t *testing.T) {
	o := runLimited(t, proc.Limits{}, time.Minute, `mkdir d; cd d
sqlite3 :memory: ";attach 'file:a.db?v'||'fs=os' as y; create table y.t(a); insert into y.t values('in');vacuum y into 'b'||'.db'" && ls && sqlite3 b.db "select * from t"`)
	if o.out != "a.db\nb.db\nin\n" || o.errs != "" {
		t.Errorf("%q %q", o.out, o.errs)
	}
}

// TestSQLiteStopsInsideOneStep runs work that SQLite does in one step of its machine, of minutes and more.
func TestSQLiteStopsInsideOneStep(t *testing.T) {
	for name, sql := range map[string]string{
		"instr":     `select instr(zeroblob(8000000), zeroblob(4000000)||x'01')`,
		"like":      `select replace(hex(zeroblob(6000000)),'0','a') like '%'||replace(hex(zeroblob(20000)),'0','a')||'b'`,
		"glob":      `select replace(hex(zeroblob(6000000)),'0','a') glob '*'||replace(hex(zeroblob(20000)),'0','a')||'b'`,
		"replace":   `select replace(cast(zeroblob(8000000) as text)||replace(hex(zeroblob(4000000)),'0','a'), replace(hex(zeroblob(2000000)),'0','a')||'b', '')`,
		"trim":      `select length(trim(replace(hex(zeroblob(4000000)),'0','a'), replace(printf('%.*c', 4000000, 'b'),'c','d')||'a'))`,
		"decimal":   `select decimal_mul(replace(hex(zeroblob(2000000)),'0','7'), replace(hex(zeroblob(2000000)),'0','7'))`,
		"power":     `with recursive r(n, d) as (select 0, '7' union all select n+1, decimal_mul(d, d) from r) select max(length(d)) from r`,
		"spellfix":  `select editdist3(replace(hex(zeroblob(2000000)),'0','a'), replace(hex(zeroblob(2000000)),'0','b'))`,
		"edit":      `select spellfix1_editdist(replace(hex(zeroblob(40000)),'0','a'), replace(hex(zeroblob(40000)),'0','b')) from generate_series(1, 1000000)`,
		"regexp":    `select replace(hex(zeroblob(4000000)),'0','a') regexp printf('%s', replace(hex(zeroblob(5000)),'0','(a?)')||'b')`,
		"json":      `select count(json_remove(j, '$[0]')) from (select json_group_array(value) j from generate_series(1,400000)), generate_series(1,100000)`,
		"join":      `select count(*) from generate_series(1,1000000) a, generate_series(1,1000000) b where a.value*b.value = -1`,
		"recursion": `with recursive r(n) as (select 1 union all select n+1 from r) select count(*) from r`,
	} {
		t.Run(name, func(t *testing.T) {
			o := runLimited(t, proc.Limits{}, 400*time.Millisecond, "sqlite3 :memory: <<'EOF'\n"+sql+";\nEOF")
			if o.took > 4*time.Second {
				t.Errorf("took %v: %q", o.took, o.errs)
			}
			if o.err == nil && !strings.Contains(o.errs, "too big") && !strings.Contains(o.errs, "too long") &&
				!strings.Contains(o.errs, "too complex") &&
				!strings.Contains(o.errs, "memory") {
				t.Errorf("ended by itself: %.80q %q", o.out, o.errs)
			}
		})
	}
}

// TestSQLiteMemoryIsCounted runs processes that stay below SQLite's own limit each, and have more than the exec's live
// bytes together.
func TestSQLiteMemoryIsCounted(t *testing.T) {
	one := `sqlite3 :memory: "create table t(a); insert into t values (zeroblob(1500000)), (zeroblob(1500000)), (zeroblob(1500000))" ".read /dev/stdin"`
	o := runLimited(t, proc.Limits{LiveBytes: 32 << 20}, time.Minute, strings.Repeat(one+" | ", 11)+one)
	if o.err == nil || !strings.Contains(o.err.Error(), "live bytes") {
		t.Errorf("%v %q", o.err, o.errs)
	}
	o = runLimited(t, proc.Limits{LiveBytes: 32 << 20}, time.Minute, strings.Repeat(one+" </dev/null;", 12)+"echo done")
	if o.out != "done\n" {
		t.Errorf("%v %q %q", o.err, o.out, o.errs)
	}
	o = runLimited(t, proc.Limits{LiveBytes: 32 << 20}, time.Minute,
		`sqlite3 -json :memory: "select zeroblob(1800000) a, zeroblob(1800000) b, zeroblob(1800000) c"`)
	if o.err == nil || !strings.Contains(o.err.Error(), "live bytes") {
		t.Errorf("a row six times as long in JSON: %v %q", o.err, o.errs)
	}
}

// TestSQLiteDescendsNoDeeper gives SQLite every kind of nesting, ten times and ten thousand times as deep as it may go.
func TestSQLiteDescendsNoDeeper(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(64 << 20))
	for name, sql := range map[string]func(n int) string{
		"brackets": func(n int) string { return "select " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n) },
		"open":     func(n int) string { return "select " + strings.Repeat("(", n) },
		"not":      func(n int) string { return "select " + strings.Repeat("not ", n) + "1" },
		"minus":    func(n int) string { return "select " + strings.Repeat("- ", n) + "1" },
		"sum":      func(n int) string { return "select 1" + strings.Repeat("+1", n) },
		"concat":   func(n int) string { return "select 'a'" + strings.Repeat("||'a'", n) },
		"and":      func(n int) string { return "select 1 where 1" + strings.Repeat(" and 1", n) },
		"case": func(n int) string {
			return "select " + strings.Repeat("case when ", n) + "1" + strings.Repeat(" then 1 end", n)
		},
		"function": func(n int) string { return "select " + strings.Repeat("abs(", n) + "1" + strings.Repeat(")", n) },
		"scalar":   func(n int) string { return strings.Repeat("select (", n) + "1" + strings.Repeat(")", n) },
		"exists":   func(n int) string { return strings.Repeat("select exists(", n) + "select 1" + strings.Repeat(")", n) },
		"from":     func(n int) string { return strings.Repeat("select * from (", n) + "select 1" + strings.Repeat(")", n) },
		"join":     func(n int) string { return "select * from " + strings.Repeat("(", n) + "t" + strings.Repeat(")", n) },
		"with": func(n int) string {
			return strings.Repeat("with x as (", n) + "select 1" + strings.Repeat(") select * from x", n)
		},
		"union":  func(n int) string { return "select 1" + strings.Repeat(" union all select 1", n) },
		"values": func(n int) string { return "values (1)" + strings.Repeat(",(1)", n) },
		"in": func(n int) string {
			return "select 1 in (" + strings.Repeat("1 in (", n) + "1" + strings.Repeat(")", n+1)
		},
		"collate": func(n int) string { return "select 1" + strings.Repeat(" collate nocase", n) },
		"arrow":   func(n int) string { return "select '{}'" + strings.Repeat("->'a'", n) },
		"views":   views,
		"trigger": func(n int) string {
			return "pragma recursive_triggers=1; create table t(a); create trigger r after insert on t when new.a < " +
				strconv.Itoa(n) + " begin insert into t values(new.a+1); end; insert into t values(1)"
		},
		"json": func(n int) string {
			return "select json_valid('" + strings.Repeat("[", n) + strings.Repeat("]", n) + "')"
		},
		"json object": func(n int) string {
			return "select json('" + strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) + "')"
		},
		"json patch": func(n int) string {
			return "select json_patch('{}', '" + strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) + "')"
		},
		"json path": func(n int) string { return "select json_set('{}', '$" + strings.Repeat(".a", n) + "', 1)" },
		"json nested": func(n int) string {
			return "with recursive r(i,j) as (select 0,'1' union all select i+1, json_array(json(j)) from r where i < " +
				strconv.Itoa(min(n, 5000)) + ") select max(length(j)) from r"
		},
		"json blob": func(n int) string {
			return "select json(cast(zeroblob(1) as blob)), json(x'" + strings.Repeat("cbffffff", min(n, 100000)) + "')"
		},
		"regexp": func(n int) string {
			return "select 'a' regexp '" + strings.Repeat("(", n) + "a" + strings.Repeat(")", n) + "'"
		},
		"like": func(n int) string {
			return "select '" + strings.Repeat("a", n) + "' like '" + strings.Repeat("%a", n) + "'"
		},
		"fts": func(n int) string {
			return "create virtual table f using fts5(a); select * from f where f match '" + strings.Repeat("(", n) + "a" +
				strings.Repeat(")", n) + "'"
		},
		"fts not": func(n int) string {
			return "create virtual table f using fts5(a); select * from f where f match 'a" + strings.Repeat(" NOT a", n) + "'"
		},
		"fts and": func(n int) string {
			return "create virtual table f using fts5(a); select * from f where f match 'a" + strings.Repeat(" AND a", n) + "'"
		},
		"windows": func(n int) string {
			return "select " + strings.Repeat("sum(", n) + "1" + strings.Repeat(") over ()", n)
		},
		"generated": func(n int) string {
			return "create table g(a, b as (" + strings.Repeat("(", n) + "a" + strings.Repeat(")", n) + "))"
		},
		"geopoly": func(n int) string { return "select geopoly_area('" + strings.Repeat("[", n) + "')" },
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{10_000, 300_000} {
				o := runInput(t, proc.Limits{}, time.Second, "sqlite3 :memory: > /dev/null; echo alive", sql(n)+";\n")
				if o.err == nil && o.out != "alive\n" {
					t.Errorf("%q %.200q", o.out, o.errs)
				}
			}
		})
	}
}

// views is a chain of views, each over the one before.
func views(n int) string {
	var b strings.Builder
	b.WriteString("create table v0(a)")
	for i := range min(n, 20_000) {
		fmt.Fprintf(&b, "; create view v%d as select * from v%d", i+1, i)
	}
	fmt.Fprintf(&b, "; select * from v%d", min(n, 20_000))
	return b.String()
}
