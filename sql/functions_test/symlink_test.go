package functions_test

import (
	"strings"
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestSymlink(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.touches([]string{"/tmp"}, []string{"/"}, "SELECT fs.symlink($1, '/tmp/l')", strings.Repeat("t/", 2047))
		between()
		wants(s, "10 511 4094 1", "SELECT concat_ws(' ', kind, mode, size, nlink) FROM fs.lstat('/tmp/l')")
		s.wantUsage(0, 1)
		s.fails(vfs.ENAMETOOLONG, "SELECT fs.symlink($1, '/tmp/x')", strings.Repeat("t", 4096))
		s.fails(vfs.ENOENT, "SELECT fs.symlink('', '/tmp/x')")
		s.fails(vfs.EEXIST, "SELECT fs.symlink('t', '/tmp/l')")
		s.fails(vfs.EEXIST, "SELECT fs.symlink('t', '/tmp')")
		s.fails(vfs.ENOENT, "SELECT fs.symlink('t', '/tmp/x/')")
		s.fails(vfs.ENOENT, "SELECT fs.symlink('t', '/none/x')")
		if got := s.lastChange(); got != "symlink /tmp/l "+strings.Repeat("t/", 2047) {
			t.Errorf("journal: %s", got)
		}
	})
}
