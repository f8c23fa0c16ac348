package engine

import "fmt"

// Code is a result code of SQLite, possibly an extended one: https://sqlite.org/rescode.html.
type Code int32

// The codes that are named here or by users of the package.
const (
	Generic    Code = 1
	Busy       Code = 5
	NoMem      Code = 7
	ReadOnly   Code = 8
	ioErr      Code = 10
	Full       Code = 13
	CantOpen   Code = 14
	tooBig     Code = 18
	notFound        = 12
	resultRow       = 100
	resultDone      = 101

	ioErrRead      = ioErr | 1<<8
	ioErrShortRead = ioErr | 2<<8
	ioErrWrite     = ioErr | 3<<8
	ioErrTruncate  = ioErr | 6<<8
	ioErrStat      = ioErr | 7<<8
	ioErrUnlock    = ioErr | 8<<8
	ioErrDelete    = ioErr | 10<<8
	ioErrLock      = ioErr | 15<<8
	ioErrClose     = ioErr | 16<<8
	// NoSuchFile is what an [FS] answers when there is nothing to delete.
	NoSuchFile = ioErr | 23<<8
)

func (c Code) Error() string { return fmt.Sprintf("SQLite result code %d", int32(c)) }

// Error is an error of SQLite.
type Error struct {
	Code Code // the primary code
	Text string
	At   int // the offset in the statement of what it is about, or -1
}

func (e *Error) Error() string { return e.Text }

func (e *Error) Unwrap() error { return e.Code }

// errorOf is the error of a call that returned rc, nil for success.
func (c *Conn) errorOf(rc int32, sql string) error {
	switch {
	case rc == 0:
		return nil
	case c.broken || c.db == 0 || Code(rc&0xff) == NoMem:
		return &Error{Code(rc & 0xff), "out of memory", -1}
	}
	e := &Error{Code: Code(rc & 0xff), At: -1}
	func() {
		defer c.trap(&rc)
		e.Text = string(c.cstring(c.m.Xsqlite3_errmsg(c.db)))
		if at := int(c.m.Xsqlite3_error_offset(c.db)); at < len(sql) {
			e.At = at
		}
	}()
	return e
}
