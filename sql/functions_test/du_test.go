package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestDu(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.mkdir('/t/d', p_parents => true)")
		s.must("SELECT fs.write_file('/t/f', 'abc')")
		between()
		s.must("SELECT fs.link('/t/f', '/t/d/hard')")
		s.must("SELECT fs.symlink('f', '/t/l')")
		s.must("SELECT fs.write_file('/t/sparse', '')")
		s.must("SELECT fs.truncate('/t/sparse', 1000000)")
		between()
		s.must("SELECT fs.write_at('/t/sparse', 'x', 65536)")
		const row = "SELECT concat_ws(' ', path, inodes, bytes, allocated) FROM fs.du($1)"
		wants(s, "/t 5 1000003 65539", row, "/t")
		wants(s, "/t/f 1 3 3", row, "/t/../t/f")
		wants(s, "/t/l 1 0 0", row, "/t/l")
		s.fails(vfs.ENOENT, "SELECT fs.du('/none')")
	})
}
