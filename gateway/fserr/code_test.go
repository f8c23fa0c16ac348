package fserr_test

import (
	"net/http"
	"testing"

	"github.com/pgbox/pgbox/gateway/fserr"
)

func TestErrnoCode(t *testing.T) {
	for e, want := range map[fserr.Errno]struct {
		code   fserr.Code
		status int
	}{
		fserr.ENOENT:       {"ENOENT", http.StatusNotFound},
		fserr.ESRCH:        {"SANDBOX_NOT_FOUND", http.StatusNotFound},
		fserr.EEXIST:       {"EEXIST", http.StatusConflict},
		fserr.ENOTEMPTY:    {"ENOTEMPTY", http.StatusConflict},
		fserr.EISDIR:       {"EISDIR", http.StatusBadRequest},
		fserr.ENAMETOOLONG: {"ENAMETOOLONG", http.StatusBadRequest},
		fserr.EROFS:        {"EREADONLY_VIOLATION", http.StatusUnprocessableEntity},
		fserr.EDQUOT:       {"EDQUOT", http.StatusRequestEntityTooLarge},
		fserr.EACCES:       {"EACCES", http.StatusForbidden},
		fserr.ESTALE:       {"ESTALE", http.StatusConflict},
		fserr.EIO:          {"INTERNAL_ERROR", http.StatusInternalServerError},
		fserr.Errno(999):   {"INTERNAL_ERROR", http.StatusInternalServerError},
	} {
		if got := e.Code(); got != want.code || got.Status() != want.status {
			t.Errorf("%s: %s %d, want %s %d", e.Name(), got, got.Status(), want.code, want.status)
		}
	}
	if !fserr.CodeESTALE.Retryable() || fserr.CodeOutcomeUnknown.Retryable() || fserr.Code("NO_SUCH").Retryable() {
		t.Error("retryable: ESTALE is, an unknown outcome and an unknown code are not")
	}
}
