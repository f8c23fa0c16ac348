package sandbox

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/pgbox/pgbox/gateway/lock"
	"github.com/pgbox/pgbox/gateway/sched"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

func TestErrors(t *testing.T) {
	for _, tc := range []struct {
		err     error
		code    wire.Code
		applied Applied
	}{
		{store.ErrUnknown, wire.CodeOutcomeUnknown, AppliedUnknown},
		{store.ErrUnavailable, wire.CodeUnavailable, AppliedNo},
		{lock.ErrUnavailable, wire.CodeUnavailable, AppliedNo},
		{lock.ErrTimeout, wire.CodeLockTimeout, AppliedNo},
		{lock.ErrQueueFull, wire.CodeRuntimeBusy, AppliedNo},
		{lock.ErrLost, wire.CodeLockLost, AppliedNo},
		{sched.ErrBusy, wire.CodeRuntimeBusy, AppliedNo},
		{errDraining, wire.CodeShuttingDown, AppliedNo},
		{errTimeout{}, wire.CodeExecTimeout, AppliedNo},
		{errOutput{}, wire.CodeENOBUFS, AppliedNo},
		{&proc.LimitError{Name: "steps"}, wire.CodeENOBUFS, AppliedNo},
		{context.Canceled, wire.CodeSessionClosing, AppliedNo},
		{context.DeadlineExceeded, wire.CodeUnavailable, AppliedNo},
		{vfs.ESRCH, wire.CodeSandboxNotFound, AppliedNo},
		{vfs.ESTALE, wire.CodeESTALE, AppliedNo},
		{vfs.Path("open", "/x", vfs.EISDIR), wire.CodeEISDIR, AppliedNo},
		{vfs.EIO, wire.CodeInternal, AppliedNo},
		{errors.New("ERROR: relation pgbox.inode at 10.0.0.1"), wire.CodeInternal, AppliedNo},
	} {
		e := asError(fmt.Errorf("secret detail: %w", tc.err))
		if e.Code != tc.code || e.Applied != tc.applied || e.Retryable != tc.code.Retryable() || !errors.Is(e, tc.err) {
			t.Errorf("%v: %+v", tc.err, e)
		}
		if e.Code == wire.CodeInternal && e.Message != "internal error" {
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
