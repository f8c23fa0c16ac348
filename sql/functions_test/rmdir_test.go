package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestRmdir(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.mkdir('/tmp/a/b', p_parents => true)")
		s.must("SELECT fs.write_file('/tmp/f', '')")
		s.must("SELECT fs.symlink('a', '/tmp/l')")
		between()
		for path, want := range map[string]vfs.Errno{
			"/": vfs.EBUSY, "/..": vfs.ENOTEMPTY, "/tmp/.": vfs.EINVAL, "/tmp/a/..": vfs.ENOTEMPTY, "/tmp/a": vfs.ENOTEMPTY,
			"/tmp/f":  vfs.ENOTDIR,
			"/tmp/f/": vfs.ENOTDIR, "/tmp/l": vfs.ENOTDIR, "/tmp/l/": vfs.ENOTDIR, "/tmp/none": vfs.ENOENT,
			"/tmp/f/x": vfs.ENOTDIR,
		} {
			s.fails(want, "SELECT fs.rmdir($1)", path)
		}
		s.touches([]string{"/tmp/a"}, []string{"/tmp"}, "SELECT fs.rmdir('/tmp/a/b/')")
		wants(s, int32(2), "SELECT nlink FROM fs.stat('/tmp/a')")
		between()
		s.must("SELECT fs.mkdir('/tmp/a/b')") // a new one, not the old one again
		s.must("SELECT fs.rmdir('/tmp/a/b')")
		s.must("SELECT fs.rmdir('/tmp/a')")
		s.wantUsage(0, 2)
	})
}
