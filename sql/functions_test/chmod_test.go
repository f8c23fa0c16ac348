package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestChmod(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.write_file('/tmp/f', 'x')")
		s.must("SELECT fs.symlink('f', '/tmp/l')")
		between()
		was := get[string](s, "SELECT mtime || ' ' || ctime FROM fs.stat('/tmp/f')")
		s.must("SELECT fs.chmod('/tmp/l', 33261)") // only the permission bits of 0100755 count
		wants(s, "493 511", "SELECT s.mode || ' ' || l.mode FROM fs.stat('/tmp/f') s, fs.lstat('/tmp/l') l")
		wants(s, true,
			"SELECT mtime || '' = split_part($1, ' ', 1) AND ctime > split_part($1, ' ', 2)::bigint FROM fs.stat('/tmp/f')", was)
		between()
		s.must("SELECT fs.chmod('/usr/bin/ls', 4095)")
		wants(s, "4095 8", "SELECT mode || ' ' || kind FROM fs.stat('/bin/ls')")
		wants(s, true, "SELECT length(fs.read_file('/bin/ls')) > 10") // its chunks stay in the layer below
		s.fails(vfs.ENOENT, "SELECT fs.chmod('/tmp/none', 420)")
		s.wantUsage(1, 2)
	})
}
