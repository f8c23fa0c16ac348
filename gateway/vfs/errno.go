// Package vfs is the filesystem of a sandbox as the shell and the tree see it ([FS], [File], [Stat]), and the one
// vocabulary of errors that crosses every seam of pgbox: Linux errno values.
//
// The fs.* functions raise SQLSTATE class VF followed by the three-digit errno
// (VF002 is ENOENT); the in-memory tree returns the same [Errno] values, the
// shell prints their glibc texts, and package wire makes them codes and HTTP statuses.
// Errors are compared by value with errors.Is, never by text.
package vfs

import (
	"errors"
	"fmt"
	"strconv"
)

// Errno is a Linux errno value (asm-generic numbering). Its Error text is what
// glibc's strerror prints in the C locale.
type Errno uint16

// The values that pgbox raises or passes on. Numbers: Linux asm-generic/errno.h.
const (
	EPERM        Errno = 1
	ENOENT       Errno = 2
	ESRCH        Errno = 3 // no such sandbox
	EINTR        Errno = 4
	EIO          Errno = 5
	ENXIO        Errno = 6
	E2BIG        Errno = 7
	ENOEXEC      Errno = 8
	EBADF        Errno = 9
	ECHILD       Errno = 10
	EAGAIN       Errno = 11
	ENOMEM       Errno = 12
	EACCES       Errno = 13
	EBUSY        Errno = 16
	EEXIST       Errno = 17
	EXDEV        Errno = 18
	ENODEV       Errno = 19
	ENOTDIR      Errno = 20
	EISDIR       Errno = 21
	EINVAL       Errno = 22
	EMFILE       Errno = 24
	ENOTTY       Errno = 25
	ETXTBSY      Errno = 26
	EFBIG        Errno = 27
	ENOSPC       Errno = 28
	ESPIPE       Errno = 29
	EROFS        Errno = 30
	EMLINK       Errno = 31
	EPIPE        Errno = 32
	EDOM         Errno = 33
	ERANGE       Errno = 34
	ENAMETOOLONG Errno = 36
	ENOSYS       Errno = 38
	ENOTEMPTY    Errno = 39
	ELOOP        Errno = 40
	ENODATA      Errno = 61
	EOVERFLOW    Errno = 75
	EILSEQ       Errno = 84
	EOPNOTSUPP   Errno = 95
	ENOBUFS      Errno = 105
	ETIMEDOUT    Errno = 110
	ESTALE       Errno = 116 // the compare-and-set on sandbox.version lost
	EDQUOT       Errno = 122
	ECANCELED    Errno = 125
)

var table = map[Errno]struct{ name, text string }{
	EPERM:        {"EPERM", "Operation not permitted"},
	ENOENT:       {"ENOENT", "No such file or directory"},
	ESRCH:        {"ESRCH", "No such process"},
	EINTR:        {"EINTR", "Interrupted system call"},
	EIO:          {"EIO", "Input/output error"},
	ENXIO:        {"ENXIO", "No such device or address"},
	E2BIG:        {"E2BIG", "Argument list too long"},
	ENOEXEC:      {"ENOEXEC", "Exec format error"},
	EBADF:        {"EBADF", "Bad file descriptor"},
	ECHILD:       {"ECHILD", "No child processes"},
	EAGAIN:       {"EAGAIN", "Resource temporarily unavailable"},
	ENOMEM:       {"ENOMEM", "Cannot allocate memory"},
	EACCES:       {"EACCES", "Permission denied"},
	EBUSY:        {"EBUSY", "Device or resource busy"},
	EEXIST:       {"EEXIST", "File exists"},
	EXDEV:        {"EXDEV", "Invalid cross-device link"},
	ENODEV:       {"ENODEV", "No such device"},
	ENOTDIR:      {"ENOTDIR", "Not a directory"},
	EISDIR:       {"EISDIR", "Is a directory"},
	EINVAL:       {"EINVAL", "Invalid argument"},
	EMFILE:       {"EMFILE", "Too many open files"},
	ENOTTY:       {"ENOTTY", "Inappropriate ioctl for device"},
	ETXTBSY:      {"ETXTBSY", "Text file busy"},
	EFBIG:        {"EFBIG", "File too large"},
	ENOSPC:       {"ENOSPC", "No space left on device"},
	ESPIPE:       {"ESPIPE", "Illegal seek"},
	EROFS:        {"EROFS", "Read-only file system"},
	EMLINK:       {"EMLINK", "Too many links"},
	EPIPE:        {"EPIPE", "Broken pipe"},
	EDOM:         {"EDOM", "Numerical argument out of domain"},
	ERANGE:       {"ERANGE", "Numerical result out of range"},
	ENAMETOOLONG: {"ENAMETOOLONG", "File name too long"},
	ENOSYS:       {"ENOSYS", "Function not implemented"},
	ENOTEMPTY:    {"ENOTEMPTY", "Directory not empty"},
	ELOOP:        {"ELOOP", "Too many levels of symbolic links"},
	ENODATA:      {"ENODATA", "No data available"},
	EOVERFLOW:    {"EOVERFLOW", "Value too large for defined data type"},
	EILSEQ:       {"EILSEQ", "Invalid or incomplete multibyte or wide character"},
	EOPNOTSUPP:   {"EOPNOTSUPP", "Operation not supported"},
	ENOBUFS:      {"ENOBUFS", "No buffer space available"},
	ETIMEDOUT:    {"ETIMEDOUT", "Connection timed out"},
	ESTALE:       {"ESTALE", "Stale file handle"},
	EDQUOT:       {"EDQUOT", "Disk quota exceeded"},
	ECANCELED:    {"ECANCELED", "Operation canceled"},
}

// Error returns the glibc strerror text.
func (e Errno) Error() string {
	if t, ok := table[e]; ok {
		return t.text
	}
	return "Unknown error " + strconv.Itoa(int(e))
}

// Name returns the symbolic name, for example "ENOENT".
func (e Errno) Name() string {
	if t, ok := table[e]; ok {
		return t.name
	}
	return "E" + strconv.Itoa(int(e))
}

// SQLState returns the SQLSTATE that the fs.* functions raise for e.
func (e Errno) SQLState() string { return fmt.Sprintf("VF%03d", uint16(e)) }

// FromSQLState maps a SQLSTATE of class VF to its errno; ok is false for every
// other class.
func FromSQLState(state string) (e Errno, ok bool) {
	if len(state) != 5 || state[:2] != "VF" {
		return 0, false
	}
	n, err := strconv.ParseUint(state[2:], 10, 16)
	if err != nil || n == 0 {
		return 0, false
	}
	return Errno(n), true
}

// RefusedValue reports whether a SQLSTATE says that a value was not acceptable: classes 22, data exception, and 23,
// integrity constraint violation. PostgreSQL, appendix A.
func RefusedValue(state string) bool {
	return len(state) == 5 && (state[:2] == "22" || state[:2] == "23")
}

// Of returns the errno that err carries, or ok=false when it carries none.
func Of(err error) (e Errno, ok bool) {
	ok = errors.As(err, &e)
	return e, ok
}

// PathError is an errno with the operation and the path it happened on.
type PathError struct {
	Op   string // the POSIX verb: "open", "rename", …
	Path string // as the caller wrote it
	Err  Errno
}

func (e *PathError) Error() string { return e.Op + " " + strconv.Quote(e.Path) + ": " + e.Err.Error() }

// Unwrap makes errors.Is(err, ENOENT) work.
func (e *PathError) Unwrap() error { return e.Err }

// Path wraps errno e with its operation and path.
func Path(op, path string, e Errno) error { return &PathError{Op: op, Path: path, Err: e} }

// Wrap adds operation and path to err unless it says them already.
func Wrap(op, path string, err error) error {
	var p *PathError
	if errors.As(err, &p) {
		return err
	}
	return fmt.Errorf("%s %q: %w", op, path, err)
}
