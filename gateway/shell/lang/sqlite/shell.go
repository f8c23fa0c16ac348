package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/lang/sqlite/engine"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// maxMemory bounds what SQLite may use; a quarter of the exec's live bytes when that is less.
const maxMemory = 64 << 20

// Shell is one sqlite3 command.
type Shell struct {
	p    *proc.Process
	db   *engine.Conn
	name string

	ReadOnly bool
	Bail     bool
	Echo     bool

	out     io.Writer // of results
	outFile vfs.File  // what .output opened
	once    bool
	outName string

	style   style
	params  map[string]string
	changes bool
	plan    bool
	errs    int
	code    int // the exit status of the dot command that failed
	limit   int // of one value
	depth   int // of .read
}

// New makes a shell for the database name.
func New(p *proc.Process, name string) *Shell {
	return &Shell{p: p, name: name, out: p.Out, outName: "stdout", style: newStyle(), params: map[string]string{}}
}

// Close closes the database.
func (s *Shell) Close() {
	s.closeOutput()
	s.closeDB()
}

func (s *Shell) closeDB() {
	if s.db != nil {
		s.db.Close()
		s.db = nil
	}
}

func (s *Shell) errorf(format string, args ...any) {
	s.p.Out.Flush()
	fmt.Fprintf(s.p.Err, format+"\n", args...)
}

// Open opens the database, if it is not; false says that it cannot be, which has been told.
func (s *Shell) Open() bool {
	if s.db != nil {
		return true
	}
	flags := engine.OpenReadWrite | engine.OpenCreate
	if s.ReadOnly {
		flags = engine.OpenReadOnly
	}
	limit := int(min(maxMemory, s.p.Budget.Limits.LiveBytes/4))
	db, err := engine.Open(s.p.Context(), host{s.p}, tree{s.p}, s.name, flags, limit)
	if err != nil {
		_, msg := describe(err)
		msg, _, _ = strings.Cut(msg, " (")
		s.errorf("Error: unable to open database \"%s\": %s", s.name, msg)
		return false
	}
	s.db, s.limit = db, limit/4
	db.Limit(engine.LimitLength, s.limit)
	db.Limit(engine.LimitSQLLength, s.limit)
	db.Set(engine.ForeignKeys, false)
	// The shell takes "x" for a string where there is no such column.
	db.Set(engine.StringsDML, true)
	db.Set(engine.StringsDDL, true)
	if err := errors.Join(db.Function("readfile", 1, s.readFile), db.Function("writefile", 2, s.writeFile)); err != nil {
		s.errorf("Error: %v", err)
		s.closeDB()
		return false
	}
	return true
}

func (s *Shell) readFile(result engine.Result, args []engine.Value) {
	name := args[0].Text()
	if st, err := s.p.Stat(name); err == nil && st.Size > int64(s.limit) {
		result.TooBig()
		return
	}
	if b, err := s.p.ReadFile(name); err == nil {
		result.Blob(b)
	}
}

func (s *Shell) writeFile(result engine.Result, args []engine.Value) {
	name := args[0].Text()
	f, err := s.p.Open(name, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
	if err == nil {
		defer f.Close()
		size := args[1].Size()
		s.p.Hold(size)
		defer s.p.Release(size)
		size, err = io.WriteString(f, args[1].Text())
		result.Int(int64(size))
	}
	if err != nil {
		result.Error("failed to write file: " + name)
	}
}

// Arg runs one command of the command line: status is that of the shell, if it is not 0.
func (s *Shell) Arg(text string) (status int) {
	if strings.HasPrefix(text, ".") {
		switch s.dot(text, 0) {
		case dotFailed:
			return max(s.code, 1)
		case dotExit:
			return -1
		}
		return 0
	}
	if !s.Open() {
		return 1
	}
	code, msg := s.exec(text)
	if code == 0 {
		return 0
	}
	s.errorf("Error: %s", msg)
	return code
}

// Script runs lines of SQL and dot commands; stop is set by .exit and by an error under -bail.
func (s *Shell) Script(r io.Reader) (stop bool) {
	var sql strings.Builder
	line, first, held := 0, 0, 0
	buf := bufio(s.p, r)
	defer func() {
		buf.close()
		s.p.Release(held)
	}()
	for {
		text, ok := buf.next()
		if !ok {
			break
		}
		line++
		s.p.Tick(1)
		text = strings.TrimSuffix(text, "\n")
		if sql.Len() == 0 {
			if blankSQL(text) {
				continue
			}
			first = line
			if text[0] == '.' || text[0] == '#' {
				if s.Echo {
					s.println(text)
				}
				if text[0] == '#' {
					continue
				}
				switch s.dot(text, line) {
				case dotExit:
					return true
				case dotFailed:
					if s.errs++; s.Bail {
						return true
					}
				}
				continue
			}
		} else if t := strings.ToLower(strings.TrimSpace(text)); t == "go" || t == "/" {
			text = ";"
		}
		if sql.Len() > 0 {
			sql.WriteByte('\n')
		}
		s.p.Hold(len(text))
		held += len(text)
		sql.WriteString(text)
		s.p.Tick(len(text) >> 8)
		if strings.Contains(text, ";") && s.complete(sql.String()) {
			if s.chunk(sql.String(), first) && s.Bail {
				return true
			}
			sql.Reset()
			s.p.Release(held)
			held = 0
		}
	}
	if sql.Len() > 0 && !blankSQL(sql.String()) {
		return s.chunk(sql.String(), first) && s.Bail
	}
	return false
}

func (s *Shell) complete(sql string) bool {
	s.p.Tick(len(sql) >> 8)
	return complete(sql)
}

func blankSQL(text string) bool {
	for i := 0; i < len(text); {
		n := tokenLen(text[i:])
		if t := text[i : i+n]; !blank(t) || strings.HasPrefix(t, "/*") && !strings.HasSuffix(t, "*/") {
			return false
		}
		i += n
	}
	return true
}

// chunk runs what was read up to a semicolon.
func (s *Shell) chunk(sql string, line int) (failed bool) {
	if s.Echo {
		s.println(sql)
	}
	if !s.Open() {
		s.errs++
		return true
	}
	code, msg := s.exec(sql)
	if code != 0 {
		s.errs++
		kind := "Runtime"
		if m, ok := strings.CutPrefix(msg, "in prepare, "); ok {
			kind, msg = "Parse", m
		} else {
			msg = strings.TrimPrefix(msg, "stepping, ")
		}
		s.errorf("%s error near line %d: %s", kind, line, msg)
		return true
	}
	if s.changes {
		s.printf("changes: %d   total_changes: %d\n", s.db.Changes(), s.db.TotalChanges())
	}
	if s.once {
		s.closeOutput()
	}
	return false
}

// Errors is how many errors the scripts had.
func (s *Shell) Errors() int { return s.errs }

// exec runs every statement of sql and prints the results. It returns SQLite's result code and what is wrong.
func (s *Shell) exec(sql string) (code int, msg string) {
	script := s.db.Script(sql)
	defer func() {
		script.Close()
		if s.db.Broken() {
			s.closeDB()
		}
	}()
	for {
		s.p.Tick(1)
		stmt, text, err := script.Next()
		if err != nil {
			code, msg = describe(err)
			return code, "in prepare, " + msg + pointer(text, err)
		}
		if stmt == nil {
			return 0, ""
		}
		code, msg = s.statement(stmt, strings.TrimSpace(text))
		stmt.Close()
		if code != 0 {
			return code, msg
		}
	}
}

// describe is the code and the text of an error of SQLite.
func describe(err error) (code int, msg string) {
	var c engine.Code
	if !errors.As(err, &c) {
		c = engine.Generic
	}
	msg = err.Error()
	if c != engine.Generic {
		msg += fmt.Sprintf(" (%d)", c)
	}
	return int(c), msg
}

// pointer shows where in the statement an error is.
func pointer(sql string, err error) string {
	var e *engine.Error
	if !errors.As(err, &e) || e.At < 0 {
		return ""
	}
	at := e.At
	for at > 50 {
		at--
		sql = sql[1:]
		for sql != "" && !utf8.RuneStart(sql[0]) {
			at--
			sql = sql[1:]
		}
	}
	n := min(len(sql), 78)
	for n > 0 && n < len(sql) && !utf8.RuneStart(sql[n]) {
		n--
	}
	code := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return r
	}, sql[:n])
	if at < 25 {
		return "\n  " + code + "\n  " + strings.Repeat(" ", at) + "^--- error here"
	}
	return "\n  " + code + "\n  " + strings.Repeat(" ", at-14) + "error here ---^"
}

// statement runs one prepared statement.
func (s *Shell) statement(stmt *engine.Stmt, sql string) (code int, msg string) {
	for i := 1; i <= stmt.BindCount(); i++ {
		if v, ok := s.params[stmt.BindName(i)]; ok {
			if err := bindLiteral(stmt, i, v); err != nil {
				code, msg = describe(err)
				return code, "stepping, " + msg
			}
		}
	}
	words := tokens(sql, 3)
	if len(words) > 2 && strings.EqualFold(words[0], "explain") && strings.EqualFold(words[1], "query") {
		return s.queryPlan(stmt)
	}
	if s.plan && stmt.ColumnCount() > 0 && len(words) > 0 && !strings.EqualFold(words[0], "pragma") {
		if p, err := s.db.Prepare("EXPLAIN QUERY PLAN " + sql); err == nil && p != nil {
			code, msg = s.queryPlan(p)
			p.Close()
			if code != 0 {
				return code, msg
			}
		}
	}
	w := s.style.begin(s, stmt)
	for stmt.Step() {
		s.p.Tick(1 + stmt.ColumnCount())
		w.row(stmt)
	}
	err := stmt.Err()
	w.end()
	if err != nil {
		code, msg = describe(err)
		return code, "stepping, " + msg
	}
	return 0, ""
}

// bindLiteral binds what .parameter set was given: a number, a string in quotes, or text.
func bindLiteral(stmt *engine.Stmt, i int, v string) error {
	if n, err := strconv.ParseInt(v, 0, 64); err == nil {
		return stmt.BindInt64(i, n)
	}
	if f, err := strconv.ParseFloat(v, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		return stmt.BindFloat(i, f)
	}
	if len(v) > 1 && v[0] == '\'' {
		v = unquoted(v)
	}
	return stmt.BindText(i, v)
}

// queryPlan draws the tree of EXPLAIN QUERY PLAN.
func (s *Shell) queryPlan(stmt *engine.Stmt) (code int, msg string) {
	type row struct {
		id, parent int64
		text       string
	}
	var rows []row
	for stmt.Step() {
		rows = append(rows, row{stmt.ColumnInt64(0), stmt.ColumnInt64(1), stmt.ColumnText(3)})
	}
	if err := stmt.Err(); err != nil {
		return describe(err)
	}
	s.println("QUERY PLAN")
	var draw func(parent int64, prefix string)
	draw = func(parent int64, prefix string) {
		var kids []row
		for _, r := range rows {
			if r.parent == parent && r.id != parent {
				kids = append(kids, r)
			}
		}
		for i, r := range kids {
			mark, next := "|--", "|  "
			if i == len(kids)-1 {
				mark, next = "`--", "   "
			}
			s.println(prefix + mark + r.text)
			draw(r.id, prefix+next)
		}
	}
	draw(0, "")
	return 0, ""
}

// query collects the rows of a statement of the shell's own.
func (s *Shell) query(sql string, args ...string) ([][]string, error) {
	stmt, err := s.db.Prepare(sql)
	if err != nil || stmt == nil {
		return nil, err
	}
	defer stmt.Close()
	for i, a := range args {
		if err := stmt.BindText(i+1, a); err != nil {
			return nil, err
		}
	}
	var rows [][]string
	for stmt.Step() {
		s.p.Tick(1)
		row := make([]string, stmt.ColumnCount())
		for i := range row {
			row[i] = stmt.ColumnText(i)
		}
		rows = append(rows, row)
	}
	return rows, stmt.Err()
}

// lines reads a stream line by line.
type lines struct {
	p    *proc.Process
	r    io.Reader
	buf  []byte
	held int
	eof  bool
}

func bufio(p *proc.Process, r io.Reader) *lines { return &lines{p: p, r: r} }

func (l *lines) close() { l.p.Release(l.held) }

func (l *lines) next() (string, bool) {
	from := 0
	for {
		if i := bytes.IndexByte(l.buf[from:], '\n'); i >= 0 || l.eof {
			n := from + i + 1
			if i < 0 {
				n = len(l.buf)
			}
			t := string(l.buf[:n])
			l.buf = l.buf[n:]
			return t, n > 0
		}
		from = len(l.buf)
		if cap(l.buf)-len(l.buf) < 4096 {
			n := max(2*len(l.buf), 64<<10)
			l.p.Hold(n - l.held)
			l.held = n
			l.buf = append(make([]byte, 0, n), l.buf...)
		}
		n, err := l.r.Read(l.buf[len(l.buf):cap(l.buf)])
		l.buf = l.buf[:len(l.buf)+n]
		l.p.Tick(1 + n>>10)
		l.eof = err != nil
	}
}

// Version is what sqlite3 -version prints.
func Version() string { return "3.53.0 (with the commands of the sqlite3 shell 3.40.1)" }

// printf writes to the output of results, whose writers deal with their errors themselves.
func (s *Shell) printf(format string, args ...any) { _, _ = fmt.Fprintf(s.out, format, args...) }

func (s *Shell) println(line string) { _, _ = io.WriteString(s.out, line+"\n") }
