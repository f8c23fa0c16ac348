package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestChown(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.write_file('/tmp/f', 'x')")
		s.must("SELECT fs.symlink('f', '/tmp/l')")
		between()
		const owners = "SELECT s.uid || ':' || s.gid || ' ' || l.uid || ':' || l.gid FROM fs.stat('/tmp/f') s, fs.lstat('/tmp/l') l"
		s.must("SELECT fs.chown('/tmp/l', 5, NULL)")
		wants(s, "5:1000 1000:1000", owners)
		between()
		s.must("SELECT fs.chown('/tmp/l', -1, 7, false)")
		wants(s, "5:1000 1000:7", owners)
		s.must("SELECT fs.chown('/tmp/f', 0, 0)")
		wants(s, "0:0 1000:7", owners)
		s.fails(vfs.ENOENT, "SELECT fs.chown('/tmp/none', 1, 1)")
	})
}
