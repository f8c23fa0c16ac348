package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestUtimes(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.write_file('/tmp/f', 'x')")
		s.must("SELECT fs.symlink('f', '/tmp/l')")
		between()
		s.must("SELECT fs.utimes('/tmp/l', 1234567890987654321)")
		wants(s, true, "SELECT mtime = 1234567890987654321 AND ctime > mtime FROM fs.stat('/tmp/f')")
		between()
		s.must("SELECT fs.utimes('/tmp/l', -1, false)")
		wants(s, "1234567890987654321 -1", "SELECT s.mtime || ' ' || l.mtime FROM fs.stat('/tmp/f') s, fs.lstat('/tmp/l') l")
		s.must("SELECT fs.utimes('/tmp/f', NULL)")
		wants(s, true,
			"SELECT abs(mtime - extract(epoch FROM clock_timestamp()) * 1000000000) < 60000000000 FROM fs.stat('/tmp/f')")
		s.fails(vfs.ENOENT, "SELECT fs.utimes('/tmp/none', 1)")
	})
}
