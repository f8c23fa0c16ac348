package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestLstat(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.symlink('none/é', '/l')")
		between()
		wants(s, "/l l 10 511 7 none/é", "SELECT concat_ws(' ', path, name, kind, mode, size, target) FROM fs.lstat('/l')")
		wants(s, int16(4), "SELECT kind FROM fs.lstat('/bin/')")
		s.fails(vfs.ENOENT, "SELECT fs.lstat('/l/')")
	})
}
