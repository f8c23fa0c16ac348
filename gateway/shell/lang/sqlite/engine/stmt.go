package engine

import (
	"math"
	"strings"
)

// Stmt is a prepared statement.
type Stmt struct {
	c   *Conn
	p   int32
	err error
}

// Script is SQL text that is run statement by statement.
type Script struct {
	c   *Conn
	sql string
	p   int32 // a copy of sql in SQLite's memory
	at  int
}

// Script begins with a text, which ends at its first NUL. The caller closes it.
func (c *Conn) Script(sql string) *Script {
	sql, _, _ = strings.Cut(sql, "\x00")
	return &Script{c: c, sql: sql, p: ask(c, func() int32 { return c.string(sql) })}
}

// Close frees the text.
func (s *Script) Close() {
	ask(s.c, func() bool { s.c.m.Xsqlite3_free(s.p); return true })
}

// Next compiles the next statement; text is what it was made of. After the last one the statement is nil. With an
// error, text is the rest of the script.
func (s *Script) Next() (stmt *Stmt, text string, err error) {
	for {
		for s.at < len(s.sql) && strings.IndexByte(" \t\n\r\f", s.sql[s.at]) >= 0 {
			s.at++
		}
		if s.at == len(s.sql) {
			return nil, "", nil
		}
		var p, end int32
		rc := ask(s.c, func() int32 {
			if s.p == 0 {
				return int32(NoMem)
			}
			at := s.p + int32(s.at)
			rc := s.c.m.Xsqlite3_prepare_v3(s.c.db, at, int32(len(s.sql)-s.at+1), 0, s.c.scratch, s.c.scratch+4)
			p, end = s.c.get32(s.c.scratch), s.c.get32(s.c.scratch+4)-at
			return rc
		})
		text = s.sql[s.at:]
		if rc != 0 || s.c.broken {
			return nil, text, s.c.errorOf(max(rc, 1), text)
		}
		s.at += max(int(end), 1)
		if p != 0 {
			return &Stmt{c: s.c, p: p}, text[:end], nil
		}
		// A comment, or a semicolon.
	}
}

// Prepare compiles one statement.
func (c *Conn) Prepare(sql string) (*Stmt, error) {
	s := c.Script(sql)
	defer s.Close()
	stmt, _, err := s.Next()
	return stmt, err
}

// Exec runs one statement that returns no rows.
func (c *Conn) Exec(sql string) error {
	s, err := c.Prepare(sql)
	if err != nil || s == nil {
		return err
	}
	s.Step()
	err = s.Err()
	s.Close()
	return err
}

// Close frees the statement.
func (s *Stmt) Close() { s.call(s.c.m.Xsqlite3_finalize) }

// Reset makes the statement ready to run again and returns the error of the last run.
func (s *Stmt) Reset() error { return s.c.errorOf(s.call(s.c.m.Xsqlite3_reset), "") }

func (s *Stmt) call(f func(int32) int32) (rc int32) {
	if s.c.broken {
		return int32(NoMem)
	}
	defer s.c.trap(&rc)
	return f(s.p)
}

// Step reports whether there is another row.
func (s *Stmt) Step() bool {
	rc := s.call(s.c.m.Xsqlite3_step)
	s.err = nil
	if rc != resultRow && rc != resultDone {
		s.err = s.c.errorOf(rc, "")
	}
	return rc == resultRow
}

// Err is why Step returned false, nil for the end of the rows.
func (s *Stmt) Err() error { return s.err }

// Type is the type of a value.
type Type int32

// The types of values.
const (
	Integer Type = 1 + iota
	Float
	Text
	Blob
	Null
)

// ask calls f, which has no result code. It panics in SQLite when the connection's context ends.
func ask[T any](c *Conn, f func() T) (v T) {
	if c.broken {
		return v
	}
	defer c.trap(nil)
	return f()
}

func column[T any](s *Stmt, i int, f func(stmt, i int32) T) T {
	return ask(s.c, func() T { return f(s.p, int32(i)) })
}

// ColumnCount is the number of columns of a row.
func (s *Stmt) ColumnCount() int {
	return ask(s.c, func() int { return int(s.c.m.Xsqlite3_column_count(s.p)) })
}

// ColumnName is the name of column i.
func (s *Stmt) ColumnName(i int) string {
	return column(s, i, func(stmt, i int32) string {
		if p := s.c.m.Xsqlite3_column_name(stmt, i); p != 0 {
			return string(s.c.cstring(p))
		}
		return ""
	})
}

// ColumnType is the type of column i.
func (s *Stmt) ColumnType(i int) Type { return Type(column(s, i, s.c.m.Xsqlite3_column_type)) }

// ColumnInt64 is column i as an integer.
func (s *Stmt) ColumnInt64(i int) int64 { return column(s, i, s.c.m.Xsqlite3_column_int64) }

// ColumnFloat is column i as a floating-point number.
func (s *Stmt) ColumnFloat(i int) float64 { return column(s, i, s.c.m.Xsqlite3_column_double) }

// ColumnSize is the length of column i as text or blob, in bytes.
func (s *Stmt) ColumnSize(i int) int { return int(column(s, i, s.c.m.Xsqlite3_column_bytes)) }

// ColumnText is column i as text.
func (s *Stmt) ColumnText(i int) string {
	return column(s, i, func(stmt, i int32) string {
		return string(s.c.sized(s.c.m.Xsqlite3_column_text(stmt, i), s.c.m.Xsqlite3_column_bytes(stmt, i)))
	})
}

// ColumnBlob is column i as a string of bytes.
func (s *Stmt) ColumnBlob(i int) string {
	return column(s, i, func(stmt, i int32) string {
		return string(s.c.sized(s.c.m.Xsqlite3_column_blob(stmt, i), s.c.m.Xsqlite3_column_bytes(stmt, i)))
	})
}

func (c *Conn) sized(p, n int32) []byte {
	if p == 0 {
		return nil
	}
	return c.bytes(p, n)
}

// BindCount is the largest number of a parameter.
func (s *Stmt) BindCount() int {
	return ask(s.c, func() int { return int(s.c.m.Xsqlite3_bind_parameter_count(s.p)) })
}

// BindName is the name of parameter i with its prefix, "" when it has none.
func (s *Stmt) BindName(i int) string {
	return column(s, i, func(stmt, i int32) string {
		if p := s.c.m.Xsqlite3_bind_parameter_name(stmt, i); p != 0 {
			return string(s.c.cstring(p))
		}
		return ""
	})
}

// BindInt64 sets parameter i.
func (s *Stmt) BindInt64(i int, v int64) error {
	return s.c.errorOf(s.call(func(p int32) int32 { return s.c.m.Xsqlite3_bind_int64(p, int32(i), v) }), "")
}

// BindFloat sets parameter i.
func (s *Stmt) BindFloat(i int, v float64) error {
	return s.c.errorOf(s.call(func(p int32) int32 { return s.c.m.Xsqlite3_bind_double(p, int32(i), v) }), "")
}

// BindNull sets parameter i.
func (s *Stmt) BindNull(i int) error {
	return s.c.errorOf(s.call(func(p int32) int32 { return s.c.m.Xsqlite3_bind_null(p, int32(i)) }), "")
}

// BindText sets parameter i.
func (s *Stmt) BindText(i int, v string) error {
	return s.c.errorOf(s.call(func(stmt int32) int32 {
		p := s.c.string(v)
		if p == 0 {
			return int32(NoMem)
		}
		return s.c.m.Xsqlite3_bind_text_go(stmt, int32(i), p, int64(len(v)))
	}), "")
}

// Limit is what SQLite bounds: https://sqlite.org/c3ref/c_limit_attached.html.
type Limit int32

// The limits.
const (
	LimitLength        Limit = 0
	LimitSQLLength     Limit = 1
	LimitExprDepth     Limit = 3
	LimitPatternLength Limit = 8
	LimitTriggerDepth  Limit = 10
	LimitParserDepth   Limit = 12
)

// Limit lowers a limit.
func (c *Conn) Limit(l Limit, n int) {
	ask(c, func() int32 { return c.m.Xsqlite3_limit(c.db, int32(l), int32(min(n, math.MaxInt32))) })
}

// Option is a switch of a connection: https://sqlite.org/c3ref/c_dbconfig_defensive.html.
type Option int32

// The switches.
const (
	ForeignKeys Option = 1002
	StringsDML  Option = 1013 // "x" is a string where there is no such column
	StringsDDL  Option = 1014
)

// Set turns an option on or off.
func (c *Conn) Set(o Option, on bool) {
	// The arguments of the variadic function are an int and where to write the new state.
	v := int32(0)
	if on {
		v = 1
	}
	ask(c, func() int32 {
		c.put32(c.scratch, v)
		c.put32(c.scratch+4, c.scratch)
		return c.m.Xsqlite3_db_config(c.db, int32(o), c.scratch)
	})
}

// Changes is how many rows the last statement changed.
func (c *Conn) Changes() int64 {
	return ask(c, func() int64 { return c.m.Xsqlite3_changes64(c.db) })
}

// TotalChanges is how many rows were changed since the database was opened.
func (c *Conn) TotalChanges() int64 {
	return ask(c, func() int64 { return c.m.Xsqlite3_total_changes64(c.db) })
}

// Autocommit reports whether no transaction is open.
func (c *Conn) Autocommit() bool {
	return ask(c, func() bool { return c.m.Xsqlite3_get_autocommit(c.db) != 0 })
}

// ReadOnly reports whether a database cannot be written.
func (c *Conn) ReadOnly(schema string) bool {
	return ask(c, func() bool {
		p := c.string(schema)
		yes := p != 0 && c.m.Xsqlite3_db_readonly(c.db, p) == 1
		c.m.Xsqlite3_free(p)
		return yes
	})
}

// Value is an argument of a function.
type Value struct {
	c *Conn
	p int32
}

// Text is the value as text, or its bytes when it is a blob.
func (v Value) Text() string {
	return string(v.c.sized(v.c.m.Xsqlite3_value_blob(v.p), v.c.m.Xsqlite3_value_bytes(v.p)))
}

// Size is the length of what Text returns.
func (v Value) Size() int { return int(v.c.m.Xsqlite3_value_bytes(v.p)) }

// Result is where a function leaves its result; without one it is NULL.
type Result struct {
	c *Conn
	p int32
}

// Int sets the result.
func (r Result) Int(n int64) { r.c.m.Xsqlite3_result_int64(r.p, n) }

// Blob sets the result.
func (r Result) Blob(b []byte) {
	if len(b) == 0 {
		r.c.m.Xsqlite3_result_zeroblob64(r.p, 0)
		return
	}
	p := r.c.alloc(len(b))
	if p == 0 {
		r.c.m.Xsqlite3_result_error_nomem(r.p)
		return
	}
	copy(r.c.bytes(p, int32(len(b))), b)
	r.c.m.Xsqlite3_result_blob_go(r.p, p, int64(len(b)))
}

// TooBig makes the call fail because its result is too long.
func (r Result) TooBig() { r.c.m.Xsqlite3_result_error_toobig(r.p) }

// Error makes the call fail.
func (r Result) Error(text string) {
	if p := r.c.string(text); p != 0 {
		r.c.m.Xsqlite3_result_error(r.p, p, int32(len(text)))
		r.c.m.Xsqlite3_free(p)
	}
}

// Function defines a function of SQL with n arguments, which only statements of the script itself may call, not the
// schema.
func (c *Conn) Function(name string, n int, f func(Result, []Value)) error {
	const directOnly = 0x80000
	c.funcs = append(c.funcs, f)
	return c.errorOf(ask(c, func() int32 {
		p := c.string(name)
		if p == 0 {
			return int32(NoMem)
		}
		rc := c.m.Xsqlite3_create_function_go(c.db, p, int32(n), directOnly, int32(len(c.funcs)))
		c.m.Xsqlite3_free(p)
		return rc
	}), "")
}
