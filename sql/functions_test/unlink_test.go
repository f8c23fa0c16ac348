package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestUnlink(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.write_file('/tmp/f', 'abc')")
		s.must("SELECT fs.link('/tmp/f', '/tmp/g')")
		s.must("SELECT fs.symlink('f', '/tmp/l')")
		s.must("SELECT fs.symlink('/tmp', '/tmp/dirlink')")
		between()
		for path, want := range map[string]vfs.Errno{
			"/tmp": vfs.EISDIR, "/": vfs.EISDIR, "/tmp/.": vfs.EISDIR, "/tmp/..": vfs.EISDIR, "/tmp/none": vfs.ENOENT,
			"/tmp/none/": vfs.ENOENT,
			"/tmp/f/":    vfs.ENOTDIR, "/tmp/f/x": vfs.ENOTDIR, "/tmp/dirlink/": vfs.ENOTDIR, "": vfs.ENOENT,
		} {
			s.fails(want, "SELECT fs.unlink($1)", path)
		}
		s.touches([]string{"/tmp"}, []string{"/"}, "SELECT fs.unlink('/tmp/l')")
		s.wantUsage(3, 2)
		between()
		ctime := get[int64](s, "SELECT ctime FROM fs.stat('/tmp/g')")
		s.must("SELECT fs.unlink('/tmp/f')")
		wants(s, int32(1), "SELECT nlink FROM fs.stat('/tmp/g')")
		wants(s, true, "SELECT ctime > $1 FROM fs.stat('/tmp/g')", ctime)
		s.wantUsage(3, 2)
		between()
		s.must("SELECT fs.unlink('/tmp/g')")
		s.must("SELECT fs.unlink('/usr/bin/ls')") // of the base layer: does not count
		s.wantUsage(0, 1)
		s.fails(vfs.ENOENT, "SELECT fs.stat('/bin/ls')")
	})
}
