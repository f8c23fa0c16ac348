package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/fserr"
)

// TestScope_garbage: the scope of a session is anybody's to set.
func TestScope_garbage(t *testing.T) {
	t.Parallel()
	s := newScope(t)
	for _, v := range []string{"garbage", "0", "{}", "'; DROP TABLE x; --"} {
		s.must("SELECT set_config('app.sandbox_id', $1, false)", v)
		for _, call := range []string{"SELECT fs.stat('/')", "SELECT fs.write_file('/f', 'x')", "SELECT * FROM fs.fsck()"} {
			s.fails(fserr.EINVAL, call)
		}
	}
}
