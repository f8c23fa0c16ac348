package functions_test

import (
	"strings"
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestMkdir(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.touches([]string{"/tmp"}, []string{"/"}, "SELECT fs.mkdir('/tmp/d', 448)")
		between()
		wants(s, "4 448 2 1000", "SELECT concat_ws(' ', kind, mode, nlink, uid) FROM fs.stat('/tmp/d')")
		s.must("SELECT fs.mkdir('/tmp/d/e/')")
		wants(s, int32(3), "SELECT nlink FROM fs.stat('/tmp/d')")
		between()
		for _, path := range []string{"/tmp/d", "/tmp/d/", "/", "/tmp/.", "/tmp/..", "/bin"} {
			s.fails(vfs.EEXIST, "SELECT fs.mkdir($1)", path)
		}
		s.fails(vfs.ENOENT, "SELECT fs.mkdir('/tmp/x/y')")
		s.fails(vfs.ENAMETOOLONG, "SELECT fs.mkdir($1)", "/"+strings.Repeat("x", 256))
		s.must("SELECT fs.mkdir($1)", "/"+strings.Repeat("x", 255))
		s.wantUsage(0, 3)

		// parents
		version := s.version()
		s.must("SELECT fs.mkdir('/tmp/d/p/./q/../r//', 511, true)")
		lists(s, []string{"/tmp/d/p", "/tmp/d/p/q", "/tmp/d/p/r"},
			"SELECT path FROM fs.find('/tmp/d/p', p_kind => 4::smallint)")
		if s.version() != version+1 {
			t.Error("mkdir with parents is not one change")
		}
		s.must("SELECT fs.mkdir('/tmp/d/p', p_parents => true)")
		if s.version() != version+1 {
			t.Error("mkdir of what exists bumped the version")
		}
		s.must("SELECT fs.symlink('none', '/tmp/dangling')")
		s.must("SELECT fs.symlink('d', '/tmp/good')")
		between()
		s.must("SELECT fs.mkdir('/tmp/good/s', p_parents => true)")
		wants(s, "/tmp/d/s", "SELECT fs.realpath('/tmp/good/s')")
		s.must("SELECT fs.write_file('/tmp/f', '')")
		s.fails(vfs.EEXIST, "SELECT fs.mkdir('/tmp/f', p_parents => true)")
		s.fails(vfs.ENOTDIR, "SELECT fs.mkdir('/tmp/f/x', p_parents => true)")
		s.fails(vfs.EEXIST, "SELECT fs.mkdir('/tmp/dangling', p_parents => true)")
		s.fails(vfs.EEXIST, "SELECT fs.mkdir('/tmp/dangling/x', p_parents => true)")
	})
}
