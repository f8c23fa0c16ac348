package exec

import (
	"github.com/pgbox/pgbox/gateway/fserr"
)

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
	Code      fserr.Code  // what the wire says; Code.Status() is the HTTP status
	Errno     fserr.Errno // 0 when the failure is not a filesystem error
	Applied   Applied
	Retryable bool
	Message   string   // for the client: no SQL, no host details
	Details   []string // further faults of the same input

	cause error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns what caused the error; errors.Is(err, fserr.ENOENT) works.
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
func newError(c fserr.Code, cause error, message string) *Error {
	return &Error{Code: c, Applied: AppliedNo, Retryable: c.Retryable(), Message: message, cause: cause}
}
