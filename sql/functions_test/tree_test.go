package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestTree(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.mkdir('/t/a/b', p_parents => true)")
		s.must("SELECT fs.write_file('/t/a-x', 'x')")
		between()
		s.must("SELECT fs.write_file('/t/a/b/f', 'x')")
		s.must("SELECT fs.symlink('a', '/t/link')")
		between()
		s.must("SELECT fs.mv('/t/a/b', '/t/a/c')")
		all := []string{"/t/a", "/t/a/c", "/t/a/c/f", "/t/a-x", "/t/link"}
		lists(s, all, "SELECT path FROM fs.tree('/t')")
		lists(s, all[1:3], "SELECT path FROM fs.tree('/t/link')") // the link itself is followed, as stat does
		lists(s, []string{"/t/a", "/t/a-x", "/t/link"}, "SELECT path FROM fs.tree('/t', 1)")
		lists(s, nil, "SELECT path FROM fs.tree('/t', 0)")
		wants(s, true, "SELECT count(*) > 50 FROM fs.tree()")
		s.fails(vfs.ENOTDIR, "SELECT fs.tree('/t/a-x')")
		s.fails(vfs.ENOENT, "SELECT fs.tree('/none')")
	})
}
