package sandbox

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/pgbox/pgbox/gateway/fserr"
	"github.com/pgbox/pgbox/gateway/lock"
	"github.com/pgbox/pgbox/gateway/sched"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/store"
)

func TestErrors(t *testing.T) {
	for _, tc := range []struct {
		err     error
		code    fserr.Code
		applied Applied
	}{
		{store.ErrUnknown, fserr.CodeOutcomeUnknown, AppliedUnknown},
		{store.ErrUnavailable, fserr.CodeUnavailable, AppliedNo},
		{lock.ErrUnavailable, fserr.CodeUnavailable, AppliedNo},
		{lock.ErrTimeout, fserr.CodeLockTimeout, AppliedNo},
		{lock.ErrQueueFull, fserr.CodeRuntimeBusy, AppliedNo},
		{lock.ErrLost, fserr.CodeLockLost, AppliedNo},
		{sched.ErrBusy, fserr.CodeRuntimeBusy, AppliedNo},
		{errDraining, fserr.CodeShuttingDown, AppliedNo},
		{errTimeout{}, fserr.CodeExecTimeout, AppliedNo},
		{errOutput{}, fserr.CodeENOBUFS, AppliedNo},
		{&proc.LimitError{Name: "steps"}, fserr.CodeENOBUFS, AppliedNo},
		{context.Canceled, fserr.CodeSessionClosing, AppliedNo},
		{context.DeadlineExceeded, fserr.CodeUnavailable, AppliedNo},
		{fserr.ESRCH, fserr.CodeSandboxNotFound, AppliedNo},
		{fserr.ESTALE, fserr.CodeESTALE, AppliedNo},
		{fserr.Path("open", "/x", fserr.EISDIR), fserr.CodeEISDIR, AppliedNo},
		{fserr.EIO, fserr.CodeInternal, AppliedNo},
		{errors.New("ERROR: relation pgbox.inode at 10.0.0.1"), fserr.CodeInternal, AppliedNo},
	} {
		e := asError(fmt.Errorf("secret detail: %w", tc.err))
		if e.Code != tc.code || e.Applied != tc.applied || e.Retryable != tc.code.Retryable() || !errors.Is(e, tc.err) {
			t.Errorf("%v: %+v", tc.err, e)
		}
		if e.Code == fserr.CodeInternal && e.Message != "internal error" {
			t.Errorf("%v: the client is told %q", tc.err, e.Message)
		}
		if again := asError(e); again != e {
			t.Errorf("%v: not the same error the second time", tc.err)
		}
	}
	if toError(nil) != nil {
		t.Error("an error of nil")
	}
}
