package sqlite

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/lang/sqlite/engine"
)

// style is how results are printed.
type style struct {
	mode     string
	headers  bool
	headSet  bool // headers were asked for or refused
	col, row string
	null     string
	widths   []int
	table    string // of mode insert
	quoteBox bool   // qbox
}

func newStyle() style { return style{mode: "list", col: "|", row: "\n", table: "table"} }

// modes are the names .mode takes.
var modes = []string{"ascii", "box", "column", "csv", "html", "insert", "json", "line", "list", "markdown", "qbox",
	"quote", "table", "tabs", "tcl"}

// setMode selects a mode, by any prefix of its name; false when there is none.
func (st *style) setMode(name string) bool {
	for _, m := range append([]string{"lines", "columns"}, modes...) {
		if name == "" || !strings.HasPrefix(m, name) {
			continue
		}
		switch m {
		case "lines", "columns":
			m = m[:len(m)-1]
		case "tabs":
			st.col, m = "\t", "list"
		case "csv":
			st.col, st.row = ",", "\r\n"
		case "ascii":
			st.col, st.row = "\x1f", "\x1e"
		case "quote":
			st.col, st.row = ",", "\n"
		case "list":
			st.col, st.row = "|", "\n"
		case "tcl":
			st.col, st.row = " ", "\n"
		}
		if m == "box" || m == "column" || m == "table" || m == "markdown" || m == "qbox" {
			if !st.headSet {
				st.headers = true
			}
		}
		st.quoteBox = m == "qbox"
		if m == "qbox" {
			m = "box"
		}
		st.mode = m
		return true
	}
	return false
}

// Option sets what an option of the command line stands for; unlike .mode, a mode leaves the headers and the end of
// rows as they are.
func (s *Shell) Option(name, value string) {
	st := &s.style
	switch name {
	case "header", "headers":
		st.headers, st.headSet = true, true
	case "noheader", "noheaders":
		st.headers, st.headSet = false, true
	case "separator":
		st.col = value
	case "newline":
		st.row = value
	case "nullvalue":
		st.null = value
	default:
		st.mode = name
		switch name {
		case "tabs":
			st.mode, st.col = "list", "\t"
		case "csv", "quote":
			st.col = ","
		case "ascii":
			st.col, st.row = "\x1f", "\x1e"
		}
	}
}

// printer prints the rows of one statement.
type printer struct {
	s     *Shell
	st    style
	w     io.Writer
	names []string
	rows  int
	cells [][]string // of the modes that need to see every row first
	held  int
	width int // of names, in mode line
	buf   []byte
}

func (st style) begin(s *Shell, stmt *engine.Stmt) *printer {
	p := &printer{s: s, st: st, w: s.out}
	p.names = make([]string, stmt.ColumnCount())
	p.width = 5
	for i := range p.names {
		p.names[i] = stmt.ColumnName(i)
		p.width = max(p.width, len(p.names[i]))
	}
	return p
}

// text is a column as SQLite converts it.
func text(stmt *engine.Stmt, i int, null string) string {
	switch stmt.ColumnType(i) {
	case engine.Null:
		return null
	case engine.Float:
		return float(stmt.ColumnFloat(i))
	}
	t := stmt.ColumnText(i)
	// The shell's strings end at the first NUL.
	t, _, _ = strings.Cut(t, "\x00")
	return t
}

// float is SQLite's %!.15g.
func float(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "Inf"
	case math.IsInf(f, -1):
		return "-Inf"
	case f == 0:
		return "0.0"
	}
	e := strconv.FormatFloat(f, 'e', 14, 64)
	mantissa, exp, _ := strings.Cut(e, "e")
	n, _ := strconv.Atoi(exp)
	if n < -4 || n > 14 {
		mantissa = strings.TrimRight(mantissa, "0")
		if strings.HasSuffix(mantissa, ".") {
			mantissa += "0"
		}
		return fmt.Sprintf("%se%+03d", mantissa, n)
	}
	t := strconv.FormatFloat(f, 'f', max(14-n, 0), 64)
	if strings.Contains(t, ".") {
		t = strings.TrimRight(t, "0")
	} else {
		t += "."
	}
	if strings.HasSuffix(t, ".") {
		t += "0"
	}
	return t
}

func (p *printer) row(stmt *engine.Stmt) {
	n := len(p.names)
	p.rows++
	if n == 0 {
		return
	}
	size := 0
	for i := range n {
		if t := stmt.ColumnType(i); t == engine.Text || t == engine.Blob {
			size += stmt.ColumnSize(i)
		}
	}
	if size > 1<<16 {
		// The row, its columns and what they become: JSON writes a byte as up to six.
		p.s.p.Tick(size >> 8)
		p.s.p.Hold(8 * size)
		defer p.s.p.Release(8 * size)
	}
	p.write(stmt)
}

func (p *printer) write(stmt *engine.Stmt) {
	st, n := p.st, len(p.names)
	b := p.buf[:0]
	switch st.mode {
	case "line":
		if p.rows > 1 {
			b = append(b, '\n')
		}
		for i := range n {
			b = fmt.Appendf(b, "%*s = %s\n", p.width, p.names[i], text(stmt, i, st.null))
		}
	case "column", "box", "table", "markdown":
		cells := make([]string, n)
		size := 16 * n
		for i := range n {
			if st.quoteBox {
				cells[i] = string(appendLiteral(nil, stmt, i, 'x', appendQuoted))
			} else {
				cells[i] = text(stmt, i, st.null)
			}
			size += 16 + len(cells[i])
		}
		p.s.p.Hold(size)
		p.held += size
		p.cells = append(p.cells, cells)
		return
	case "html":
		if p.rows == 1 && st.headers {
			b = p.html(b, "TH", func(i int) string { return p.names[i] })
		}
		b = p.html(b, "TD", func(i int) string { return text(stmt, i, st.null) })
	case "json":
		b = append(b, ",\n{"...)
		if p.rows == 1 {
			b = append(b[:0], "[{"...)
		}
		for i := range n {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, p.names[i])
			b = append(b, ':')
			switch stmt.ColumnType(i) {
			case engine.Null:
				b = append(b, "null"...)
			case engine.Integer:
				b = strconv.AppendInt(b, stmt.ColumnInt64(i), 10)
			case engine.Float:
				b = append(b, jsonFloat(stmt.ColumnFloat(i))...)
			default:
				b = appendJSON(b, stmt.ColumnBlob(i))
			}
		}
		b = append(b, '}')
	case "insert":
		b = append(b, "INSERT INTO "...)
		b = append(b, identifier(st.table)...)
		if st.headers {
			b = append(b, '(')
			for i, name := range p.names {
				if i > 0 {
					b = append(b, ',')
				}
				b = append(b, identifier(name)...)
			}
			b = append(b, ')')
		}
		b = append(b, " VALUES("...)
		for i := range n {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendLiteral(b, stmt, i, 'X', appendText)
		}
		b = append(b, ");\n"...)
	default:
		if p.rows == 1 && st.headers {
			for i, name := range p.names {
				if i > 0 {
					b = append(b, st.col...)
				}
				switch st.mode {
				case "quote":
					b = appendQuoted(b, name)
				default:
					b = st.field(b, name)
				}
			}
			b = append(b, st.row...)
		}
		for i := range n {
			if i > 0 {
				b = append(b, st.col...)
			}
			switch {
			case st.mode == "quote":
				b = appendLiteral(b, stmt, i, 'X', appendQuoted)
			case st.mode == "csv" && stmt.ColumnType(i) == engine.Null:
				b = append(b, st.null...)
			case st.mode == "tcl" && stmt.ColumnType(i) == engine.Blob:
				b = st.field(b, stmt.ColumnBlob(i))
			default:
				b = st.field(b, text(stmt, i, st.null))
			}
		}
		b = append(b, st.row...)
	}
	if _, _ = p.w.Write(b); cap(b) > 1<<16 {
		b = nil
	}
	p.buf = b
}

// field writes a text as csv and tcl quote it.
func (st style) field(b []byte, t string) []byte {
	switch st.mode {
	case "csv":
		plain := t != "" && !strings.Contains(t, st.col)
		for i := 0; plain && i < len(t); i++ {
			plain = t[i] > ' ' && t[i] < 0x7f && t[i] != '"' && t[i] != '\''
		}
		if plain {
			return append(b, t...)
		}
		b = append(b, '"')
		b = append(b, strings.ReplaceAll(t, `"`, `""`)...)
		return append(b, '"')
	case "tcl":
		b = append(b, '"')
		for i := range len(t) {
			switch c := t[i]; {
			case c == '"' || c == '\\':
				b = append(b, '\\', c)
			case c == '\n':
				b = append(b, `\n`...)
			case c == '\t':
				b = append(b, `\t`...)
			case c == '\r':
				b = append(b, `\r`...)
			case c < ' ' || c >= 0x7f:
				b = fmt.Appendf(b, "\\%03o", c)
			default:
				b = append(b, c)
			}
		}
		return append(b, '"')
	}
	return append(b, t...)
}

func (p *printer) html(b []byte, tag string, cell func(int) string) []byte {
	b = append(b, "<TR>"...)
	for i := range p.names {
		b = append(b, "<"+tag+">"...)
		b = append(b, htmlEscaper.Replace(cell(i))...)
		b = append(b, "</"+tag+">\n"...)
	}
	return append(b, "</TR>\n"...)
}

var htmlEscaper = strings.NewReplacer("<", "&lt;", "&", "&amp;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

func jsonFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "1e999"
	case math.IsInf(f, -1):
		return "-1e999"
	}
	return float(f)
}

func appendJSON(b []byte, t string) []byte {
	b = append(b, '"')
	for i := range len(t) {
		switch c := t[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\b':
			b = append(b, `\b`...)
		case c == '\f':
			b = append(b, `\f`...)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ':
			b = fmt.Appendf(b, "\\u%04x", c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// appendLiteral writes a column as SQL; x begins a blob.
func appendLiteral(b []byte, stmt *engine.Stmt, i int, x byte, quote func([]byte, string) []byte) []byte {
	switch stmt.ColumnType(i) {
	case engine.Null:
		return append(b, "NULL"...)
	case engine.Integer:
		return strconv.AppendInt(b, stmt.ColumnInt64(i), 10)
	case engine.Float:
		return append(b, jsonFloat(stmt.ColumnFloat(i))...)
	case engine.Blob:
		return fmt.Appendf(b, "%c'%x'", x, stmt.ColumnBlob(i))
	}
	return quote(b, stmt.ColumnText(i))
}

// appendQuoted writes a string literal.
func appendQuoted(b []byte, t string) []byte {
	t, _, _ = strings.Cut(t, "\x00")
	b = append(b, '\'')
	b = append(b, strings.ReplaceAll(t, "'", "''")...)
	return append(b, '\'')
}

// appendText writes a string literal; line ends become calls of char, so that the result is one line.
func appendText(b []byte, t string) []byte {
	prefix, suffix := "", ""
	for _, c := range []struct{ char, escape, code string }{{"\n", `\n`, "10"}, {"\r", `\r`, "13"}} {
		if !strings.Contains(t, c.char) {
			continue
		}
		for i := 0; strings.Contains(t, c.escape); i++ {
			c.escape = fmt.Sprintf(`(%s%d)`, c.escape[:2], i)
		}
		t = strings.ReplaceAll(t, c.char, c.escape)
		prefix = "replace(" + prefix
		suffix += ",'" + c.escape + "',char(" + c.code + "))"
	}
	b = append(b, prefix...)
	b = appendQuoted(b, t)
	return append(b, suffix...)
}

// end prints what had to wait for the last row.
func (p *printer) end() {
	switch p.st.mode {
	case "json":
		if p.rows > 0 {
			_, _ = io.WriteString(p.w, "]\n")
		}
	case "column", "box", "table", "markdown":
		if p.rows > 0 {
			p.grid()
		}
		p.s.p.Release(p.held)
	}
}

// rules are the lines of a grid.
type rules struct{ left, mid, right, bar string }

// grid prints aligned columns.
// cut breaks lines that are wider than width characters.
func (p *printer) cut(lines []string, width int) []string {
	var out []string
	for _, l := range lines {
		for {
			n := 0
			for range width {
				_, size := utf8.DecodeRuneInString(l[n:])
				n += size
			}
			if n == len(l) {
				break
			}
			p.s.p.Tick(1 + n>>8)
			p.s.p.Hold(24)
			p.held += 24
			out = append(out, l[:n])
			l = l[n:]
		}
		out = append(out, l)
	}
	return out
}

func (p *printer) grid() {
	st := p.st
	widths := make([]int, len(p.names))
	right := make([]bool, len(p.names))
	fixed := make([]bool, len(p.names))
	for i := range widths {
		w := 0
		if i < len(st.widths) {
			w = st.widths[i]
		}
		if w < 0 {
			right[i], w = true, -w
		}
		widths[i], fixed[i] = w, w > 0
	}
	names := make([]string, len(p.names))
	copy(names, p.names)
	// Cells are cut at their line ends, and where a width is set, at that.
	multi := false
	split := func(row []string) [][]string {
		out := make([][]string, len(row))
		for i, c := range row {
			// A line costs its header, and a tab becomes eight spaces.
			size := len(c) + 24*strings.Count(c, "\n") + 8*strings.Count(c, "\t")
			p.s.p.Tick(size >> 8)
			p.s.p.Hold(size)
			p.held += size
			out[i] = strings.Split(strings.ReplaceAll(strings.ReplaceAll(c, "\r\n", "\n"), "\t", "        "), "\n")
			if fixed[i] {
				out[i] = p.cut(out[i], widths[i])
			}
			for len(out[i]) > 1 && out[i][len(out[i])-1] == "" {
				out[i] = out[i][:len(out[i])-1]
			}
			for _, l := range out[i] {
				if !fixed[i] {
					widths[i] = max(widths[i], utf8.RuneCountInString(l))
				}
			}
			multi = multi || len(out[i]) > 1
		}
		return out
	}
	head := split(names)
	multi = false
	rows := make([][][]string, len(p.cells))
	for i, row := range p.cells {
		rows[i] = split(row)
		p.s.p.Tick(1)
	}
	var top, sep, bottom *rules
	left, mid, end := "", "  ", "\n"
	switch st.mode {
	case "table":
		r := rules{"+", "+", "+\n", "-"}
		top, sep, bottom = &r, &r, &r
		left, mid, end = "| ", " | ", " |\n"
	case "markdown":
		sep = &rules{"|", "|", "|\n", "-"}
		left, mid, end = "| ", " | ", " |\n"
	case "box":
		top, sep, bottom = &rules{"┌", "┬", "┐\n", "─"}, &rules{"├", "┼", "┤\n", "─"}, &rules{"└", "┴", "┘\n", "─"}
		left, mid, end = "│ ", " │ ", " │\n"
	}
	var b []byte
	rule := func(r *rules) {
		if r == nil {
			return
		}
		b = append(b, r.left...)
		for i, w := range widths {
			if i > 0 {
				b = append(b, r.mid...)
			}
			b = append(b, strings.Repeat(r.bar, w+2)...)
		}
		b = append(b, r.right...)
	}
	total := 0
	flush := func() {
		_, _ = p.w.Write(b)
		b = b[:0]
	}
	line := func(cells [][]string, center bool) {
		height := 1
		for _, c := range cells {
			height = max(height, len(c))
		}
		for k := range height {
			p.s.p.Tick(1 + total>>8)
			if len(b) > 32<<10 {
				flush()
			}
			b = append(b, left...)
			for i, c := range cells {
				if i > 0 {
					b = append(b, mid...)
				}
				t := ""
				if k < len(c) {
					t = c[k]
				}
				pad := max(widths[i]-utf8.RuneCountInString(t), 0)
				before := 0
				if center {
					before = pad / 2
				} else if right[i] {
					before = pad
				}
				b = append(b, strings.Repeat(" ", before)+t+strings.Repeat(" ", pad-before)...)
			}
			b = append(b, end...)
		}
	}
	for _, w := range widths {
		total += w + len(mid)
	}
	p.s.p.Hold(4 * total) // the longest line
	p.held += 4 * total
	rule(top)
	if st.headers || st.mode != "column" {
		line(head, st.mode != "column")
		if st.mode == "column" {
			for i, w := range widths {
				if i > 0 {
					b = append(b, mid...)
				}
				b = append(b, strings.Repeat("-", w)...)
			}
			b = append(b, '\n')
		}
		rule(sep)
	}
	for i, r := range rows {
		if i > 0 && multi {
			switch st.mode {
			case "column":
				b = append(b, '\n')
			case "table", "box":
				rule(sep)
			}
		}
		line(r, false)
		if len(b) > 32<<10 {
			flush()
		}
		p.s.p.Tick(1)
	}
	rule(bottom)
	flush()
}

// identifier quotes a name where SQL needs it.
func identifier(name string) string {
	plain := name != "" && !(name[0] >= '0' && name[0] <= '9')
	for i := 0; plain && i < len(name); i++ {
		plain = wordByte(name[i]) && name[i] < 0x80 && name[i] != '$'
	}
	if plain && !reserved[strings.ToUpper(name)] {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

var reserved = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`ABORT ACTION ADD AFTER ALL ALTER ALWAYS ANALYZE AND AS ASC ATTACH AUTOINCREMENT BEFORE BEGIN BETWEEN BY CASCADE CASE CAST CHECK
		COLLATE COLUMN COMMIT CONFLICT CONSTRAINT CREATE CROSS CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DATABASE DEFAULT DEFERRABLE DEFERRED DELETE DESC
		DETACH DISTINCT DO DROP EACH ELSE END ESCAPE EXCEPT EXCLUDE EXCLUSIVE EXISTS EXPLAIN FAIL FILTER FIRST FOLLOWING FOR FOREIGN FROM FULL GENERATED GLOB GROUP GROUPS
		HAVING IF IGNORE IMMEDIATE IN INDEX INDEXED INITIALLY INNER INSERT INSTEAD INTERSECT INTO IS ISNULL JOIN KEY LAST LEFT LIKE LIMIT MATCH MATERIALIZED NATURAL NO NOT
		NOTHING NOTNULL NULL NULLS OF OFFSET ON OR ORDER OTHERS OUTER OVER PARTITION PLAN PRAGMA PRECEDING PRIMARY QUERY RAISE RANGE RECURSIVE REFERENCES REGEXP REINDEX
		RELEASE RENAME REPLACE RESTRICT RETURNING RIGHT ROLLBACK ROW ROWS SAVEPOINT SELECT SET TABLE TEMP TEMPORARY THEN TIES TO TRANSACTION TRIGGER UNBOUNDED UNION UNIQUE
		UPDATE USING VACUUM VALUES VIEW VIRTUAL WHEN WHERE WINDOW WITH WITHOUT`) {
		m[w] = true
	}
	return m
}()
