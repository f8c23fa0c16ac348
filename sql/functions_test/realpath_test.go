package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestRealpath(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.mkdir('/tmp/a/b', p_parents => true)")
		between()
		s.must("SELECT fs.symlink('tmp/a', '/short')")
		s.must("SELECT fs.write_file('/tmp/a/f', '')")
		between()
		for path, want := range map[string]string{
			"/": "/", ".": "/", "/..": "/", "tmp/": "/tmp", "/short": "/tmp/a", "/short/..": "/tmp", "/short/b/../f": "/tmp/a/f",
			"/bin/ls": "/usr/bin/ls", "//tmp//a": "/tmp/a",
		} {
			wants(s, want, "SELECT fs.realpath($1)", path)
		}
		s.fails(vfs.ENOENT, "SELECT fs.realpath('/tmp/none')")
		s.fails(vfs.ENOTDIR, "SELECT fs.realpath('/tmp/a/f/..')")
	})
}
