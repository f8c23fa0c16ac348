package wire_test

import (
	"net/http"
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

func TestErrnoCode(t *testing.T) {
	for e, want := range map[vfs.Errno]struct {
		code   wire.Code
		status int
	}{
		vfs.ENOENT:       {"ENOENT", http.StatusNotFound},
		vfs.ESRCH:        {"SANDBOX_NOT_FOUND", http.StatusNotFound},
		vfs.EEXIST:       {"EEXIST", http.StatusConflict},
		vfs.ENOTEMPTY:    {"ENOTEMPTY", http.StatusConflict},
		vfs.EISDIR:       {"EISDIR", http.StatusBadRequest},
		vfs.ENAMETOOLONG: {"ENAMETOOLONG", http.StatusBadRequest},
		vfs.EROFS:        {"EREADONLY_VIOLATION", http.StatusUnprocessableEntity},
		vfs.EDQUOT:       {"EDQUOT", http.StatusRequestEntityTooLarge},
		vfs.EACCES:       {"EACCES", http.StatusForbidden},
		vfs.ESTALE:       {"ESTALE", http.StatusConflict},
		vfs.EIO:          {"INTERNAL_ERROR", http.StatusInternalServerError},
		vfs.Errno(999):   {"INTERNAL_ERROR", http.StatusInternalServerError},
	} {
		if got := wire.CodeOf(e); got != want.code || got.Status() != want.status {
			t.Errorf("%s: %s %d, want %s %d", e.Name(), got, got.Status(), want.code, want.status)
		}
	}
	if !wire.CodeESTALE.Retryable() || wire.CodeOutcomeUnknown.Retryable() || wire.Code("NO_SUCH").Retryable() {
		t.Error("retryable: ESTALE is, an unknown outcome and an unknown code are not")
	}
}
