package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestMknod(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.mknod('/tmp/pipe', 1::smallint, 384)")
		between()
		s.must("SELECT fs.mknod('/tmp/null', 2::smallint, 438, 259)")
		s.must("SELECT fs.mknod('/tmp/file', 8::smallint)")
		wants(s, "1 384 0,2 438 259,8 420 0",
			"SELECT string_agg(concat_ws(' ', kind, mode, rdev), ',' ORDER BY kind) FROM fs.readdir('/tmp')")
		between()
		s.must("SELECT fs.write_file('/tmp/null', 'x')")
		s.fails(vfs.ENXIO, "SELECT fs.write_file('/tmp/pipe', 'x')")
		s.fails(vfs.ENXIO, "SELECT fs.read_file('/tmp/pipe')")
		s.fails(vfs.EPERM, "SELECT fs.mknod('/tmp/d', 4::smallint)")
		s.fails(vfs.EINVAL, "SELECT fs.mknod('/tmp/d', 10::smallint)")
		s.fails(vfs.EEXIST, "SELECT fs.mknod('/tmp/pipe', 1::smallint)")
		s.wantUsage(0, 3)
	})
}
