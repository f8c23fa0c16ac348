package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pgbox/pgbox/gateway/lock"
	"github.com/pgbox/pgbox/gateway/sched"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

// Timestamp is a time as clients see it, in milliseconds.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// OptionalTimestamp is Timestamp of a time that may not be there.
func OptionalTimestamp(t *time.Time) *string {
	if t == nil {
		return nil
	}
	return new(Timestamp(*t))
}

// Applied says whether a failed call changed the sandbox.
type Applied string

// The values of [Error.Applied].
const (
	AppliedNo      Applied = "no"
	AppliedYes     Applied = "yes"
	AppliedUnknown Applied = "unknown"
)

// Error is the one error type of this package.
type Error struct {
	Code      wire.Code // what the wire says; Code.Status() is the HTTP status
	Errno     vfs.Errno // 0 when the failure is not a filesystem error
	Applied   Applied
	Retryable bool
	Message   string   // for the client: no SQL, no host details
	Details   []string // further faults of the same input

	cause error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns what caused the error; errors.Is(err, vfs.ENOENT) works.
func (e *Error) Unwrap() []error {
	var errs []error
	if e.Errno != 0 {
		errs = append(errs, e.Errno)
	}
	if e.cause != nil {
		errs = append(errs, e.cause)
	}
	return errs
}

// newError returns an Error of code c that changed nothing.
func newError(c wire.Code, cause error, message string) *Error {
	return &Error{Code: c, Applied: AppliedNo, Retryable: c.Retryable(), Message: message, cause: cause}
}

// errTimeout ends a run whose time is up.
type errTimeout struct{ after time.Duration }

func (e errTimeout) Error() string {
	return fmt.Sprintf("timed out after %d ms", e.after.Milliseconds())
}

// toError makes an *Error of what the packages below return. It returns nil for nil.
func toError(err error) error {
	if err == nil {
		return nil
	}
	return asError(err)
}

func asError(err error) *Error {
	var (
		known   *Error
		timeout errTimeout
		output  errOutput
		gone    errClientGone
		path    *vfs.PathError
	)
	limit, isLimit := proc.IsLimit(err)
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, store.ErrUnknown):
		e := newError(wire.CodeOutcomeUnknown, err,
			"the connection to the database was lost during the commit; it may have been applied")
		e.Applied = AppliedUnknown
		return e
	case errors.As(err, &timeout):
		return newError(wire.CodeExecTimeout, err, timeout.Error()+"; nothing was applied")
	case errors.As(err, &output):
		return newError(wire.CodeENOBUFS, err, output.Error()+"; nothing was applied")
	case isLimit:
		return newError(wire.CodeENOBUFS, err, limit.Error()+"; nothing was applied")
	case errors.Is(err, store.ErrRefusedValue):
		return newError(wire.CodeInvalidInput, err, "a value of the request is not acceptable")
	case errors.Is(err, lock.ErrTimeout):
		return newError(wire.CodeLockTimeout, err, "timed out waiting for the sandbox's other writers")
	case errors.Is(err, store.ErrLocked):
		return newError(wire.CodeLockTimeout, err,
			"timed out waiting for a transaction that holds the sandbox; nothing was applied")
	case errors.Is(err, lock.ErrQueueFull):
		return newError(wire.CodeRuntimeBusy, err, "too many writers are waiting for this sandbox")
	case errors.Is(err, lock.ErrLost):
		return newError(wire.CodeLockLost, err, "the lock of the sandbox was lost; nothing was applied")
	case errors.Is(err, sched.ErrBusy):
		return newError(wire.CodeRuntimeBusy, err, "the server is busy")
	case errors.Is(err, errDraining):
		return newError(wire.CodeShuttingDown, err, "the server is shutting down; nothing was applied")
	case errors.Is(err, lock.ErrUnavailable):
		return newError(wire.CodeUnavailable, err, "the locks are not available; read-only scripts run")
	case errors.Is(err, store.ErrUnavailable):
		return newError(wire.CodeUnavailable, err, "the database is not available")
	case errors.As(err, &gone), errors.Is(err, context.Canceled):
		e := newError(wire.CodeSessionClosing, err, "the client went away; nothing was applied")
		e.Errno = vfs.ECANCELED
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return newError(wire.CodeUnavailable, err, "the request took too long; nothing was applied")
	}
	errno, ok := vfs.Of(err)
	if !ok {
		return newError(wire.CodeInternal, err, "internal error")
	}
	e := newError(wire.CodeOf(errno), err, errno.Error())
	e.Errno = errno
	switch {
	case e.Code == wire.CodeInternal:
		e.Message = "internal error"
	case errors.As(err, &path):
		e.Message = path.Error()
	case errno == vfs.ESRCH:
		e.Message = "no such sandbox"
	case errno == vfs.ESTALE:
		e.Message = "another writer committed first; nothing was applied"
	}
	return e
}
