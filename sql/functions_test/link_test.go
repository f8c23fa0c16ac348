package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestLink(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.write_file('/tmp/f', 'abc')")
		s.must("SELECT fs.symlink('f', '/tmp/l')")
		between()
		s.touches([]string{"/tmp"}, []string{"/"}, "SELECT fs.link('/tmp/f', '/tmp/g')")
		wants(s, "2 true", "SELECT nlink || ' ' || (fs.resolve('/tmp/g') = ino)::text FROM fs.stat('/tmp/f')")
		s.wantUsage(3, 2)
		between()
		s.must("SELECT fs.link('/tmp/l', '/tmp/l2')") // the symlink itself
		wants(s, "10 2", "SELECT kind || ' ' || nlink FROM fs.lstat('/tmp/l2')")
		s.must("SELECT fs.link('/bin/ls', '/tmp/ls')") // of the base layer
		wants(s, int32(2), "SELECT nlink FROM fs.stat('/usr/bin/ls')")
		between()
		s.must("SELECT fs.append_file('/tmp/g', 'd')")
		wants(s, "abcd", "SELECT convert_from(fs.read_file('/tmp/f'), 'UTF8')")
		for _, c := range []struct {
			from, to string
			want     vfs.Errno
		}{
			{"/tmp", "/tmp/x", vfs.EPERM}, {"/tmp", "/tmp/f", vfs.EEXIST}, {"/tmp/f", "/tmp/g", vfs.EEXIST},
			{"/tmp/f", "/tmp/x/", vfs.ENOENT},
			{"/tmp/none", "/tmp/x", vfs.ENOENT}, {"/tmp/f/", "/tmp/x", vfs.ENOTDIR}, {"/tmp/f", "/", vfs.EEXIST},
			{"/tmp/none", "/none/x", vfs.ENOENT},
			{"/tmp/f", "/tmp/f/x", vfs.ENOTDIR},
		} {
			s.fails(c.want, "SELECT fs.link($1, $2)", c.from, c.to)
		}
	})
}
