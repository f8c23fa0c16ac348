package sqlite

import (
	"fmt"
	"strings"
)

// fields reads the rows of a file that .import is given.
type fields struct {
	s        *Shell
	file     string
	b        []byte
	pos      int
	line     int
	col, row string
	plain    bool // no quotes
	ended    bool // the field that was read was the last of its row
}

// next reads one field; ok is false at the end of the file.
func (f *fields) next() (v string, ok bool) {
	from := f.pos
	defer func() { f.s.p.Tick(1 + (f.pos-from)>>8) }()
	f.ended = false
	if f.pos >= len(f.b) {
		return "", false
	}
	if !f.plain && f.b[f.pos] == '"' {
		return f.quoted(), true
	}
	for i := f.pos; i < len(f.b); i++ {
		switch {
		case f.b[i] == f.col[0] && f.separator(f.b[i:]):
			f.pos = i + len(f.col)
			return string(f.b[from:i]), true
		case f.b[i] == f.row[len(f.row)-1]:
			f.pos, f.ended = i+1, true
			f.line++
			v := string(f.b[from:i])
			if f.b[i] == '\n' {
				v = strings.TrimSuffix(v, "\r")
			}
			return v, true
		}
	}
	f.pos, f.ended = len(f.b), true
	return string(f.b[from:]), true
}

// separator reports whether b begins with the separator of columns.
func (f *fields) separator(b []byte) bool {
	f.s.p.Tick(len(f.col) >> 8)
	return len(b) >= len(f.col) && string(b[:len(f.col)]) == f.col
}

func (f *fields) quoted() string {
	var v strings.Builder
	start := f.line
	for i := f.pos + 1; i < len(f.b); i++ {
		c := f.b[i]
		if c == '\n' {
			f.line++
		}
		if c != '"' {
			v.WriteByte(c)
			continue
		}
		rest := f.b[i+1:]
		switch {
		case len(rest) > 0 && rest[0] == '"':
			v.WriteByte('"')
			i++
		case len(rest) == 0:
			f.pos, f.ended = len(f.b), true
			return v.String()
		case f.separator(rest):
			f.pos = i + 1 + len(f.col)
			return v.String()
		case rest[0] == '\n' || rest[0] == '\r' && len(rest) > 1 && rest[1] == '\n':
			f.pos, f.ended = i+2, true
			if rest[0] == '\r' {
				f.pos++
			}
			f.line++
			return v.String()
		default:
			f.s.errorf("%s:%d: unescaped \" character", f.file, f.line)
			v.WriteByte('"')
		}
	}
	f.s.errorf("%s:%d: unterminated \"-quoted field", f.file, start)
	f.pos, f.ended = len(f.b), true
	return v.String()
}

// importFile is .import.
func (s *Shell) importFile(args []string) error {
	col, row, plain := s.style.col, s.style.row, s.style.mode == "ascii"
	if s.style.mode == "csv" && row == "\r\n" {
		row, s.style.row = "\n", "\n"
	}
	schema, skip := "main", 0
	var names []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !strings.HasPrefix(a, "-") {
			names = append(names, a)
			continue
		}
		switch strings.TrimLeft(a, "-") {
		case "csv":
			col, row, plain = ",", "\n", false
		case "ascii":
			col, row, plain = "\x1f", "\x1e", true
		case "v":
		case "schema", "skip":
			if i++; i == len(args) {
				s.errorf("ERROR: missing argument to %s", a)
				return said{}
			}
			if strings.HasSuffix(a, "skip") {
				if _, err := fmt.Sscan(args[i], &skip); err != nil {
					skip = 0
				}
			} else {
				schema = args[i]
			}
		default:
			s.errorf("ERROR: unknown option: \"%s\".  Usage:\n.import FILE TABLE", a)
			return said{}
		}
	}
	if len(names) != 2 {
		missing := "FILE"
		if len(names) == 1 {
			missing = "TABLE"
		}
		s.errorf("ERROR: missing %s argument. Usage:\n.import FILE TABLE", missing)
		return said{}
	}
	if col == "" || row == "" {
		s.errorf("Error: non-null column separator required for import")
		return said{}
	}
	b, err := s.p.ReadFile(names[0])
	if err != nil || strings.HasPrefix(names[0], "|") {
		s.errorf("Error: cannot open \"%s\"", names[0])
		return said{}
	}
	f := &fields{s: s, file: names[0], b: b, line: 1, col: col, row: row, plain: plain}
	for ; skip > 0; skip-- {
		for {
			if _, ok := f.next(); !ok || f.ended {
				break
			}
		}
	}
	table := names[1]
	known, err := s.query("SELECT count(*) FROM pragma_table_info(?1, ?2)", table, schema)
	if err != nil {
		return err
	}
	full := `"` + strings.ReplaceAll(schema, `"`, `""`) + `"."` + strings.ReplaceAll(table, `"`, `""`) + `"`
	n := 0
	if _, err := fmt.Sscan(known[0][0], &n); err != nil {
		return err
	}
	if n == 0 {
		var cols []string
		for {
			v, ok := f.next()
			if !ok {
				break
			}
			cols = append(cols, v)
			if f.ended {
				break
			}
		}
		if len(cols) == 0 {
			s.errorf("%s: empty file", names[0])
			return said{}
		}
		if err := s.createImported(full, cols); err != nil {
			return err
		}
		n = len(cols)
	}
	return s.insertRows(f, full, n)
}

// createImported makes the table for a file whose first row names the columns.
func (s *Shell) createImported(table string, cols []string) error {
	seen := map[string]bool{}
	var defs []string
	for i, c := range cols {
		name := c
		if name == "" {
			name = "?"
		}
		for k := i + 1; seen[strings.ToLower(name)]; k++ {
			name = fmt.Sprintf("%s_%d", c, k)
		}
		seen[strings.ToLower(name)] = true
		defs = append(defs, `"`+strings.ReplaceAll(name, `"`, `""`)+`" TEXT`)
	}
	short := strings.TrimPrefix(table, `"main".`)
	_, err := s.query("CREATE TABLE " + short + "(\n" + strings.Join(defs, ", ") + ")")
	return err
}

func (s *Shell) insertRows(f *fields, table string, n int) error {
	stmt, err := s.db.Prepare("INSERT INTO " + table + " VALUES(?" + strings.Repeat(",?", n-1) + ")")
	if err != nil {
		return err
	}
	defer stmt.Close()
	begun := s.db.Autocommit()
	if begun {
		if err := s.db.Exec("BEGIN"); err != nil {
			return err
		}
	}
	code := 0
	for {
		s.p.Tick(n)
		line := f.line
		got := 0
		for {
			v, ok := f.next()
			if !ok && got == 0 {
				break
			}
			if got < n && ok {
				if err := stmt.BindText(got+1, v); err != nil {
					return err
				}
			}
			got++
			if f.ended || !ok {
				break
			}
		}
		if got == 0 {
			break
		}
		if got < n {
			s.errorf("%s:%d: expected %d columns but found %d - filling the rest with NULL", f.file, line, n, got)
			for i := got; i < n; i++ {
				if err := stmt.BindNull(i + 1); err != nil {
					return err
				}
			}
		} else if got > n {
			s.errorf("%s:%d: expected %d columns but found %d - extras ignored", f.file, line, n, got)
		}
		stmt.Step()
		code = 0
		if err := stmt.Reset(); err != nil {
			var msg string
			code, msg = describe(err)
			if i := strings.LastIndex(msg, " ("); i >= 0 {
				msg = msg[:i]
			}
			s.errorf("%s:%d: INSERT failed: %s", f.file, line, msg)
		}
	}
	if begun {
		if err := s.db.Exec("COMMIT"); err != nil {
			return err
		}
	}
	if code != 0 {
		s.code = code
		return said{}
	}
	return nil
}
