package shell_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// TestSQLiteStaysInside tries every way by which SQL and the shell's commands could reach a file of the host.
func TestSQLiteStaysInside(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret.db")
	if err := os.WriteFile(secret, []byte("the secret of the host"), 0o644); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(dir, "made.db")
	for name, script := range map[string]string{
		"database name":       `sqlite3 "file:TARGET?vfs=os" "create table t(a)"`,
		"escaped parameter":   `sqlite3 "file:TARGET?%76fs=os" "create table t(a)"`,
		"attach":              `sqlite3 :memory: "attach 'file:TARGET?vfs=os' as h; create table h.t(a)"`,
		"attach escaped":      `sqlite3 :memory: "attach 'file:TARGET?%76%66s=os' as h; create table h.t(a)"`,
		"attach expression":   `sqlite3 :memory: "attach 'file:TARGET?v' || 'fs=os' as h; create table h.t(a)"`,
		"attach query":        `sqlite3 :memory: "attach (select 'file:TARGET?vfs=os') as h; create table h.t(a)"`,
		"attach parameter":    `printf '.parameter set @f "file:TARGET?vfs=os"\nattach @f as h;\ncreate table h.t(a);\n' | sqlite3`,
		"attach comment":      `sqlite3 :memory: "/* x */ attach /* y */ database printf('file:TARGET?vfs=os') as h; create table h.t(a)"`,
		"attach explain":      `sqlite3 :memory: "explain attach 'file:TARGET?vfs=os' as h; create table h.t(a)"`,
		"vacuum into":         `sqlite3 :memory: "create table t(a); vacuum into 'file:TARGET?vfs=os'"`,
		"vacuum expression":   `sqlite3 :memory: "create table t(a); vacuum into 'file:TARGET?v' || 'fs=os'"`,
		"vacuum main":         `sqlite3 :memory: "create table t(a); vacuum main into printf('file:%s?vfs=os', 'TARGET')"`,
		"open":                `printf '.open file:TARGET?vfs=os\ncreate table t(a);\n' | sqlite3`,
		"backup":              `sqlite3 :memory: "create table t(a)" ".backup file:TARGET?vfs=os"`,
		"save":                `sqlite3 :memory: "create table t(a)" ".save TARGET"`,
		"output":              `printf '.output TARGET\nselect 1;\n' | sqlite3`,
		"writefile":           `sqlite3 :memory: "select writefile('TARGET', 'x')"`,
		"plain name":          `sqlite3 TARGET "create table t(a)"`,
		"temporary directory": `sqlite3 :memory: "pragma temp_store_directory='DIR'; pragma temp_store=1; create temp table t(a); insert into t values(zeroblob(100000))"`,
		"shell":               `sqlite3 :memory: ".shell echo x > TARGET"`,
		"extension":           `sqlite3 :memory: "select load_extension('TARGET')" ".load TARGET"`,
		"backslash":           `sqlite3 :memory: 'attach "file:TARGET?vfs=o\s" as h; create table h.t(a)'`,
	} {
		t.Run(name, func(t *testing.T) {
			o := runLimited(t, proc.Limits{}, time.Minute, "mkdir -p DIR 2>/dev/null; "+strings.NewReplacer("TARGET", target, "DIR", dir).Replace(script))
			if o.err != nil {
				t.Fatal(o.err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 {
				t.Fatalf("the host's folder has %v, %v after %q %q", entries, err, o.out, o.errs)
			}
		})
	}
	for name, script := range map[string]string{
		"readfile":  `sqlite3 :memory: "select readfile('SECRET')"`,
		"read":      `sqlite3 :memory: ".read SECRET"`,
		"import":    `sqlite3 :memory: ".import SECRET t" "select * from t"`,
		"immutable": `sqlite3 "file:SECRET?vfs=os&immutable=1" "select 1"; sqlite3 "file:SECRET?immutable=1&mode=ro" .dump`,
		"attach":    `sqlite3 :memory: "attach 'file:SECRET?mode=ro' as s; select * from s.sqlite_schema"`,
	} {
		t.Run("reading "+name, func(t *testing.T) {
			o := runLimited(t, proc.Limits{}, time.Minute, strings.ReplaceAll(script, "SECRET", secret))
			if strings.Contains(o.out+o.errs, "the secret") {
				t.Errorf("%q %q", o.out, o.errs)
			}
		})
	}
}
