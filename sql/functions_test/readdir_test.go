package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestReaddir(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.mkdir('/d')")
		s.must("SELECT fs.write_file('/d/' || n, 'x') FROM unnest(ARRAY['b', 'B', 'a', 'é', '.h']) n")
		between()
		s.must("SELECT fs.rm('/d/b')")
		s.must("SELECT fs.mkdir('/d/sub')")
		between()
		s.must("SELECT fs.write_file('/d/b', 'again')")
		s.must("SELECT fs.rm('/d/a')")
		s.must("SELECT fs.write_file('/d/sub/deep', 'x')")
		lists(s, []string{".h", "B", "b", "sub", "é"}, "SELECT name FROM fs.readdir('/d')")
		lists(s, []string{"/d/.h", "/d/B", "/d/b", "/d/sub", "/d/é"}, "SELECT path FROM fs.readdir('d/')")
		wants(s, true, "SELECT count(*) > 5 FROM fs.readdir('/bin')")
		s.fails(vfs.ENOTDIR, "SELECT fs.readdir('/d/b')")
		s.fails(vfs.ENOENT, "SELECT fs.readdir('/d/a')")
	})
}
