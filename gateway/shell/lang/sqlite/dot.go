package sqlite

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// dotResult is how a dot command ended.
type dotResult uint8

const (
	dotOK dotResult = iota
	dotFailed
	dotExit
)

// words splits a dot command: quotes group, and in double quotes backslashes escape.
func words(text string) []string {
	var out []string
	for i := 0; ; {
		for i < len(text) && strings.IndexByte(" \t\n\r", text[i]) >= 0 {
			i++
		}
		if i == len(text) {
			return out
		}
		if q := text[i]; q == '\'' || q == '"' {
			i++
			from := i
			for i < len(text) && text[i] != q {
				if q == '"' && text[i] == '\\' && i+1 < len(text) {
					i++
				}
				i++
			}
			w := text[from:min(i, len(text))]
			if q == '"' {
				w = backslashes(w)
			}
			out = append(out, w)
			i = min(i+1, len(text))
			continue
		}
		from := i
		for i < len(text) && strings.IndexByte(" \t\n\r", text[i]) < 0 {
			i++
		}
		out = append(out, backslashes(text[from:i]))
	}
}

// backslashes resolves the escapes of C.
func backslashes(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if k := strings.IndexByte(`abfnrtv`, s[i]); k >= 0 {
			b.WriteByte("\a\b\f\n\r\t\v"[k])
			continue
		}
		if s[i] >= '0' && s[i] <= '7' {
			v := byte(0)
			for n := 0; n < 3 && i < len(s) && s[i] >= '0' && s[i] <= '7'; n++ {
				v = v<<3 + s[i] - '0'
				i++
			}
			i--
			b.WriteByte(v)
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// dotCommands are the names a command may be shortened to a prefix of.
var dotCommands = []string{"backup", "bail", "cd", "changes", "databases", "dump", "echo", "eqp", "excel", "exit",
	"explain", "fullschema", "headers", "help", "import",
	"indexes", "indices", "limit", "lint", "load", "log", "mode", "nullvalue", "once", "open", "output", "parameter",
	"print", "progress", "prompt", "quit", "read",
	"restore", "save", "scanstats", "schema", "separator", "shell", "show", "stats", "system", "tables", "timeout",
	"timer", "trace", "version", "width"}

func (s *Shell) boolean(v string) bool {
	switch strings.ToLower(v) {
	case "on", "yes":
		return true
	case "off", "no":
		return false
	}
	if n, err := strconv.Atoi(v); err == nil {
		return n != 0
	}
	s.errorf("ERROR: Not a boolean value: \"%s\". Assuming \"no\".", v)
	return false
}

func (s *Shell) usage(text string) dotResult {
	s.errorf("Usage: %s", text)
	return dotFailed
}

// dot runs a dot command.
func (s *Shell) dot(text string, _ int) dotResult {
	args := words(strings.TrimPrefix(text, "."))
	if len(args) == 0 {
		return dotOK
	}
	name := ""
	for _, c := range dotCommands {
		if strings.HasPrefix(c, args[0]) && (len(args[0]) > 1 || c == "quit" || c == "tables" || c == "schema" ||
			c == "headers" || c == "dump" || c == "mode") {
			name = c
			break
		}
	}
	if name == "" {
		s.errorf("Error: unknown command or invalid arguments:  \"%s\". Enter \".help\" for help", args[0])
		return dotFailed
	}
	args = args[1:]
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	switch name {
	case "quit":
		return dotExit
	case "exit":
		if n, _ := strconv.Atoi(arg(0)); n != 0 {
			s.p.Exit(n & 0xff)
		}
		return dotExit
	case "bail", "echo", "changes":
		if len(args) != 1 {
			return s.usage("." + name + " on|off")
		}
		v := s.boolean(args[0])
		switch name {
		case "bail":
			s.Bail = v
		case "echo":
			s.Echo = v
		case "changes":
			s.changes = v
		}
	case "headers":
		if len(args) != 1 {
			return s.usage(".headers on|off")
		}
		s.style.headers, s.style.headSet = s.boolean(args[0]), true
	case "eqp":
		if len(args) != 1 {
			return s.usage(".eqp off|on|trace|trigger|full")
		}
		s.plan = args[0] == "full" || args[0] == "trigger" || s.boolean(args[0])
	case "explain", "timer", "stats", "scanstats", "progress", "prompt", "log", "trace", "limit", "timeout", "lint":
		// These change what is measured or how long is waited, not results.
	case "mode":
		return s.modeCommand(args)
	case "nullvalue":
		if len(args) != 1 {
			return s.usage(".nullvalue STRING")
		}
		s.style.null = args[0]
	case "separator":
		if len(args) < 1 || len(args) > 2 {
			return s.usage(".separator COL ?ROW?")
		}
		s.style.col = args[0]
		if len(args) == 2 {
			s.style.row = args[1]
		}
	case "width":
		s.style.widths = nil
		for _, a := range args {
			n, _ := strconv.Atoi(a)
			s.style.widths = append(s.style.widths, max(min(n, 10_000), -10_000))
		}
	case "print":
		s.println(strings.Join(args, " "))
	case "version":
		rows, _ := s.rows("SELECT 'SQLite ' || sqlite_version() || ' ' || sqlite_source_id()")
		for _, r := range rows {
			s.println(r[0])
		}
	case "help":
		for _, c := range dotCommands {
			s.println("." + c)
		}
	case "shell", "system":
		if len(args) == 0 {
			return s.usage("." + name + " COMMAND")
		}
		if c := s.p.Exec(s.p.Context(), s.p.Child("/bin/sh", "-c", strings.Join(args, " "))); c != 0 {
			s.errorf("System command returns %d", c<<8)
		}
	case "load":
		s.errorf("Error: extensions cannot be loaded")
		return dotFailed
	case "cd":
		s.errorf("Cannot change to directory \"%s\"", arg(0))
		return dotFailed
	case "show":
		s.show()
	case "output", "once", "excel":
		return s.redirect(name, args)
	case "read":
		return s.read(args)
	case "open":
		return s.reopen(args)
	case "parameter":
		return s.parameter(args)
	default:
		if !s.Open() {
			return dotFailed
		}
		s.code = 1
		if err := s.catalog(name, args); err != nil {
			if err.Error() != "" {
				_, msg := describe(err)
				s.errorf("Error: %s", msg)
			}
			return dotFailed
		}
	}
	return dotOK
}

// rows is query for a shell whose database may not be open yet.
func (s *Shell) rows(sql string, args ...string) ([][]string, error) {
	if !s.Open() {
		return nil, said{}
	}
	return s.query(sql, args...)
}

// said is an error that has been printed.
type said struct{}

func (said) Error() string { return "" }

// catalog runs the commands that look at, or copy, the database.
func (s *Shell) catalog(name string, args []string) error {
	switch name {
	case "tables", "indexes", "indices":
		return s.list(name, args)
	case "schema", "fullschema":
		return s.schema(name, args)
	case "databases":
		rows, err := s.query("PRAGMA database_list")
		for _, r := range rows {
			access := "r/w"
			if s.db.ReadOnly(r[1]) {
				access = "r/o"
			}
			file := r[2]
			if file == "" {
				file = `""`
			}
			s.printf("%s: %s %s\n", r[1], file, access)
		}
		return err
	case "dump":
		return s.dump(args)
	case "import":
		return s.importFile(args)
	case "backup", "save":
		if len(args) == 0 {
			s.errorf("missing FILENAME argument on .%s", name)
			return said{}
		}
		file := args[len(args)-1]
		_ = s.p.FS.Unlink(s.p.Abs(file))
		_, err := s.query("VACUUM main INTO " + string(appendText(nil, s.p.Abs(file))))
		return err
	case "restore":
		s.errorf("Error: .restore is not supported: use .open")
		return said{}
	}
	return nil
}

func (s *Shell) modeCommand(args []string) dotResult {
	name, table := "", ""
	for _, a := range args {
		switch {
		case strings.HasPrefix(a, "--"):
		case name == "":
			name = a
		case table == "":
			table = a
		}
	}
	switch {
	case name == "":
		s.printf("current output mode: %s\n", s.style.mode)
	case !s.style.setMode(name):
		s.errorf("Error: mode should be one of: %s", strings.Join(modes, " "))
		return dotFailed
	case s.style.mode == "insert":
		s.style.table = "table"
		if table != "" {
			s.style.table = table
		}
	}
	return dotOK
}

func onOff(v bool) string {
	if v {
		return "on"
	}
	return "off"
}

func (s *Shell) show() {
	plan := onOff(s.plan)
	var widths strings.Builder
	for _, w := range s.style.widths {
		fmt.Fprintf(&widths, "%d ", w)
	}
	quoted := func(t string) string { return string(style{mode: "tcl"}.field(nil, t)) }
	for _, l := range [][2]string{{"echo", onOff(s.Echo)}, {"eqp", plan}, {"explain", "auto"},
		{"headers", onOff(s.style.headers)}, {"mode", s.style.mode},
		{"nullvalue", quoted(s.style.null)}, {"output", s.outName}, {"colseparator", quoted(s.style.col)},
		{"rowseparator", quoted(s.style.row)},
		{"stats", "off"}, {"width", widths.String()}, {"filename", s.name}} {
		s.printf("%12s: %s\n", l[0], l[1])
	}
}

// closeOutput goes back to standard output.
func (s *Shell) closeOutput() {
	if s.outFile != nil {
		s.outFile.Close()
	}
	s.outFile, s.once, s.out, s.outName = nil, false, s.p.Out, "stdout"
}

func (s *Shell) redirect(name string, args []string) dotResult {
	s.closeOutput()
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		args = args[1:]
	}
	if len(args) == 0 || args[0] == "stdout" {
		return dotOK
	}
	if strings.HasPrefix(args[0], "|") || name == "excel" {
		s.errorf("Error: pipes are not supported in this build")
		return dotFailed
	}
	if args[0] == "off" {
		s.out = io.Discard
		return dotOK
	}
	f, err := s.p.Open(args[0], vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
	if err != nil {
		s.errorf("Error: cannot open \"%s\"", args[0])
		return dotFailed
	}
	s.outFile, s.out, s.outName, s.once = f, &fileWriter{s: s, f: f}, args[0], name == "once"
	return dotOK
}

// fileWriter says once that a file cannot be written.
type fileWriter struct {
	s      *Shell
	f      vfs.File
	failed bool
}

func (w *fileWriter) Write(b []byte) (int, error) {
	if _, err := w.f.Write(b); err != nil && !w.failed {
		w.failed = true
		w.s.errorf("Error: cannot write \"%s\": %s", w.s.outName, proc.Strerror(err))
	}
	return len(b), nil
}

func (s *Shell) read(args []string) dotResult {
	if len(args) != 1 {
		return s.usage(".read FILE")
	}
	st, statErr := s.p.Stat(args[0])
	f, err := s.p.OpenInput(args[0])
	if err != nil || statErr != nil || st.IsDir() || strings.HasPrefix(args[0], "|") {
		if err == nil {
			f.Close()
		}
		s.errorf("Error: cannot open \"%s\"", args[0])
		return dotFailed
	}
	defer f.Close()
	if s.depth++; s.depth > 25 {
		s.depth--
		s.errorf("Input nesting limit (25) reached at line 0. Check recursion.")
		return dotFailed
	}
	before := s.errs
	s.Script(f)
	s.depth--
	if s.errs > before {
		s.errs = before // counted once, by the caller
		return dotFailed
	}
	return dotOK
}

func (s *Shell) reopen(args []string) dotResult {
	s.closeDB()
	s.ReadOnly = false
	s.name = ":memory:"
	for _, a := range args {
		switch strings.TrimLeft(a, "-") {
		case "readonly":
			s.ReadOnly = true
		case "new":
			if last := args[len(args)-1]; last != a {
				_ = s.p.FS.Unlink(s.p.Abs(last))
			}
		default:
			s.name = a
		}
	}
	if !s.Open() {
		return dotFailed
	}
	return dotOK
}

func (s *Shell) parameter(args []string) dotResult {
	switch {
	case len(args) == 1 && args[0] == "clear":
		clear(s.params)
	case len(args) == 1 && args[0] == "init":
	case len(args) == 1 && args[0] == "list":
		width := 0
		for k := range s.params {
			width = max(width, len(k))
		}
		for _, k := range slices.Sorted(maps.Keys(s.params)) {
			s.printf("%-*s %s\n", width, k, s.params[k])
		}
	case len(args) == 3 && args[0] == "set":
		s.params[args[1]] = args[2]
	case len(args) == 2 && args[0] == "unset":
		delete(s.params, args[1])
	default:
		return s.usage(".parameter CMD ...\n  clear, init, list, set NAME VALUE, unset NAME")
	}
	return dotOK
}

// list prints names in columns, as .tables does.
func (s *Shell) list(name string, args []string) error {
	dbs, err := s.query("PRAGMA database_list")
	if err != nil {
		return err
	}
	kind, on := "type IN ('table','view')", "name"
	if name != "tables" {
		kind, on = "type = 'index'", "tbl_name"
	}
	pattern := "%"
	if len(args) > 0 {
		pattern = args[0]
	}
	var names []string
	for _, db := range dbs {
		rows, err := s.query("SELECT name FROM "+identifier(db[1])+".sqlite_schema WHERE "+kind+
			" AND name NOT LIKE 'sqlite_%' AND "+on+" LIKE ?1", pattern)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if db[1] != "main" {
				r[0] = db[1] + "." + r[0]
			}
			names = append(names, r[0])
		}
	}
	slices.Sort(names)
	width := 0
	for _, n := range names {
		width = max(width, len(n))
	}
	columns := max(80/(width+2), 1)
	count := (len(names) + columns - 1) / columns
	for i := range count {
		for j := i; j < len(names); j += count {
			if j > i {
				s.printf("  ")
			}
			s.printf("%-*s", width, names[j])
		}
		s.printf("\n")
	}
	return nil
}

// schemaLine is a statement of the schema as .schema shows it.
func schemaLine(sql string) string {
	if rest, ok := strings.CutPrefix(sql, "CREATE TABLE "); ok && rest != "" && (rest[0] == '\'' || rest[0] == '"') {
		return "CREATE TABLE IF NOT EXISTS " + rest
	}
	return sql
}

func (s *Shell) schema(name string, args []string) error {
	pattern := "%"
	for _, a := range args {
		if !strings.HasPrefix(a, "-") && name == "schema" {
			pattern = a
		}
	}
	dbs, err := s.query("PRAGMA database_list")
	if err != nil {
		return err
	}
	for _, db := range dbs {
		rows, err := s.query("SELECT sql, type, name FROM "+identifier(db[1])+
			".sqlite_schema WHERE sql NOT NULL AND (name LIKE ?1 OR tbl_name LIKE ?1 OR ?2 || '.' || tbl_name LIKE ?1) ORDER BY rowid",
			pattern, db[1])
		if err != nil {
			return err
		}
		for _, r := range rows {
			sql := schemaLine(r[0])
			if db[1] != "main" {
				for _, kind := range []string{"TABLE", "INDEX", "UNIQUE INDEX", "VIEW", "TRIGGER"} {
					if rest, ok := strings.CutPrefix(sql, "CREATE "+kind+" "); ok {
						sql = "CREATE " + kind + " " + db[1] + "." + rest
						break
					}
				}
			}
			if r[1] == "view" || strings.HasPrefix(strings.ToUpper(sql), "CREATE VIRTUAL") {
				cols, err := s.query("SELECT name FROM pragma_table_info(?1)", r[2])
				if err == nil && len(cols) > 0 {
					list := make([]string, len(cols))
					for i, c := range cols {
						list[i] = identifier(c[0])
					}
					sql += "\n/* " + identifier(r[2]) + "(" + strings.Join(list, ",") + ") */"
				}
			}
			s.printf("%s;\n", sql)
		}
	}
	if name == "fullschema" {
		s.printf("/* No STAT tables available */\n")
	}
	return nil
}

func (s *Shell) dump(args []string) error {
	var patterns []string
	for _, a := range args {
		if !strings.HasPrefix(a, "--") {
			patterns = append(patterns, a)
		}
	}
	if len(patterns) == 0 {
		patterns = []string{"%"}
	}
	s.printf("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n")
	cond := strings.TrimSuffix(strings.Repeat("tbl_name LIKE ? OR ", len(patterns)), " OR ")
	for i := range patterns {
		cond = strings.Replace(cond, "?", "?"+strconv.Itoa(i+1), 1) // numbered from left to right
	}
	tables, err := s.query("SELECT name, sql FROM sqlite_schema WHERE ("+cond+
		") AND type = 'table' AND sql NOT NULL ORDER BY tbl_name = 'sqlite_sequence', rowid", patterns...)
	if err != nil {
		return err
	}
	writable := false
	for _, t := range tables {
		name, sql := t[0], t[1]
		switch {
		case name == "sqlite_sequence":
			s.printf("DELETE FROM sqlite_sequence;\n")
		case strings.HasPrefix(name, "sqlite_stat"):
			s.printf("ANALYZE sqlite_schema;\n")
		case strings.HasPrefix(name, "sqlite_"):
			continue
		case strings.HasPrefix(strings.ToUpper(sql), "CREATE VIRTUAL"):
			if !writable {
				s.printf("PRAGMA writable_schema=ON;\n")
				writable = true
			}
			s.printf("INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table',%s,%s,0,%s);\n",
				appendText(nil, name), appendText(nil, name), appendText(nil, sql))
			continue
		default:
			s.printf("%s;\n", schemaLine(sql))
		}
		if err := s.dumpRows(name); err != nil {
			return err
		}
	}
	rest, err := s.query("SELECT sql FROM sqlite_schema WHERE ("+cond+
		") AND sql NOT NULL AND type IN ('index','trigger','view') ORDER BY type = 'trigger', rowid", patterns...)
	if err != nil {
		return err
	}
	for _, r := range rest {
		s.printf("%s;\n", r[0])
	}
	if writable {
		s.printf("PRAGMA writable_schema=OFF;\n")
	}
	s.printf("COMMIT;\n")
	return nil
}

func (s *Shell) dumpRows(table string) error {
	cols, err := s.query("SELECT name FROM pragma_table_info(?1)", table)
	if err != nil {
		return err
	}
	list := make([]string, len(cols))
	for i, c := range cols {
		list[i] = `"` + strings.ReplaceAll(c[0], `"`, `""`) + `"`
	}
	stmt, err := s.db.Prepare("SELECT " + strings.Join(list, ",") + ` FROM "` + strings.ReplaceAll(table, `"`, `""`) + `"`)
	if err != nil {
		return err
	}
	defer stmt.Close()
	var b []byte
	for stmt.Step() {
		s.p.Tick(1)
		b = append(b[:0], "INSERT INTO "...)
		b = append(b, identifier(table)...)
		b = append(b, " VALUES("...)
		for i := range list {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendLiteral(b, stmt, i, 'X', appendText)
		}
		b = append(b, ");\n"...)
		if _, err := s.out.Write(b); err != nil {
			return err
		}
	}
	return stmt.Err()
}
