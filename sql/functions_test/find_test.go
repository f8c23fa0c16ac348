package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestFind(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.mkdir('/t/sub/deep', p_parents => true)")
		s.must("SELECT fs.write_file('/t/a.txt', 'four')")
		s.must("SELECT fs.write_file('/t/.hidden.txt', '')")
		between()
		s.must("SELECT fs.write_file('/t/sub/b.txt', '1')")
		s.must("SELECT fs.write_file('/t/sub/deep/[x].go', '1')")
		s.must("SELECT fs.write_file('/t/sub/gone.txt', '1')")
		s.must("SELECT fs.symlink('sub', '/t/l')")
		between()
		s.must("SELECT fs.rm('/t/sub/gone.txt')")
		s.must("SELECT fs.utimes('/t/a.txt', 5)")
		lists(s, []string{"/t", "/t/.hidden.txt", "/t/a.txt", "/t/l", "/t/sub", "/t/sub/b.txt", "/t/sub/deep",
			"/t/sub/deep/[x].go"}, "SELECT path FROM fs.find('t')")
		lists(s, []string{"/t/.hidden.txt", "/t/a.txt", "/t/sub/b.txt"}, "SELECT path FROM fs.find('/t', '*.txt')")
		lists(s, []string{"/t/a.txt", "/t/sub/b.txt"}, "SELECT path FROM fs.find('/t', '[!.]*.txt')")
		lists(s, []string{"/t/a.txt"}, "SELECT path FROM fs.find('/t', '[[:alpha:]].txt', p_min_size => 4)")
		lists(s, []string{"/t/sub/deep/[x].go"}, `SELECT path FROM fs.find('/t', '\[?].go')`)
		lists(s, []string{"/t", "/t/sub", "/t/sub/deep"}, "SELECT path FROM fs.find('/t', p_kind => 4::smallint)")
		lists(s, []string{"/t/l"}, "SELECT path FROM fs.find('/t', p_kind => 10::smallint)")
		lists(s, []string{"/t/.hidden.txt"}, "SELECT path FROM fs.find('/t', p_kind => 8::smallint, p_max_size => 0)")
		lists(s, []string{"/t/.hidden.txt"}, "SELECT path FROM fs.find('/t', '*.txt', p_since => 6, p_depth => 1)")
		lists(s, []string{"/t"}, "SELECT path FROM fs.find('/t', p_depth => 0)")
		lists(s, []string{"/t/l"}, "SELECT path FROM fs.find('/t/l')")
		s.fails(vfs.ENOENT, "SELECT fs.find('/none')")
	})
}
