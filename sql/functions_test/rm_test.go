package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestRm(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.mkdir('/tmp/d/e', p_parents => true)")
		s.must("SELECT fs.write_file('/tmp/d/e/' || n, 'abc') FROM generate_series(1, 20) n")
		s.must("SELECT fs.link('/tmp/d/e/1', '/tmp/outside')")
		s.must("SELECT fs.link('/tmp/d/e/1', '/tmp/d/again')")
		between()
		s.must("SELECT fs.write_file('/tmp/d/e/new', 'x')")
		s.must("SELECT fs.rm('/tmp/d/e/2')")
		s.must("SELECT fs.symlink('/usr', '/tmp/d/usr')")
		s.fails(vfs.ENOTEMPTY, "SELECT fs.rm('/tmp/d')")
		for path, want := range map[string]vfs.Errno{
			"/": vfs.EBUSY, "/tmp/.": vfs.EINVAL, "/tmp/..": vfs.ENOTEMPTY, "/tmp/none": vfs.ENOENT,
			"/tmp/outside/": vfs.ENOTDIR,
		} {
			s.fails(want, "SELECT fs.rm($1, true)", path)
		}
		between()
		version := s.version()
		s.touches([]string{"/tmp"}, []string{"/usr"}, "SELECT fs.rm('/tmp/d', true)")
		if s.version() != version+1 || s.lastChange() != "remove /tmp/d" {
			t.Errorf("journal: %s", s.lastChange())
		}
		wants(s, int32(1), "SELECT nlink FROM fs.stat('/tmp/outside')")
		s.wantUsage(3, 1)
		between()
		s.must("SELECT fs.mkdir('/tmp/d')")
		lists(s, nil, "SELECT name FROM fs.readdir('/tmp/d')")
		s.must("SELECT fs.rm('/usr', true)") // sealed in the base layer
		s.fails(vfs.ENOENT, "SELECT fs.readdir('/usr')")
		wants(s, int32(2), "SELECT nlink FROM fs.stat('/tmp/d')")
	})
}
