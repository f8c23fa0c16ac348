package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestStat(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.write_file('/f', 'hello', 384)")
		between()
		s.must("SELECT fs.symlink('f', '/l')")
		between()
		s.must("SELECT fs.utimes('/f', 1500000000123456789)")
		const row = "SELECT concat_ws(' ', path, name, kind, mode, uid, gid, nlink, rdev, size, mtime, target) FROM fs.stat($1)"
		wants(s, "/f f 8 384 1000 1000 1 0 5 1500000000123456789", row, "/l")
		wants(s, "/dev/null null 2 438 0 0 1 259 0 1704067200000000000", row, "/dev/null")
		wants(s, "/usr/bin bin 4", "SELECT concat_ws(' ', path, name, kind) FROM fs.stat($1)", "/bin")
		wants(s, "/  4", "SELECT path || ' ' || name || ' ' || kind FROM fs.stat('/')")
		s.fails(vfs.ENOENT, "SELECT fs.stat('/none')")
	})
}
