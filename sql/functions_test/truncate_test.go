package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestTruncate(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.write_file('/f', convert_to(repeat('a', 150000), 'UTF8'))")
		between()
		s.touches([]string{"/f"}, []string{"/"}, "SELECT fs.truncate('/f', 70000)")
		between()
		s.must("SELECT fs.truncate('/f', 140000)")
		// What was cut off does not come back.
		wants(s, true,
			"SELECT fs.read_file('/f') = convert_to(repeat('a', 70000), 'UTF8') || decode(repeat('00', 70000), 'hex')")
		between()
		s.must("SELECT fs.truncate('/f', 65536)")
		s.must("SELECT fs.truncate('/f', 65537)")
		wants(s, "a\\000", "SELECT encode(fs.read_file('/f', 65535), 'escape')")
		between()
		s.must("SELECT fs.truncate('/f', 0)")
		wants(s, "0 0", "SELECT bytes || ' ' || allocated FROM fs.du('/f')")
		s.must("SELECT fs.truncate('/f', 1000000000000)") // a hole costs nothing
		wants(s, "1000000000000 0", "SELECT bytes || ' ' || allocated FROM fs.du('/f')")
		s.must("SELECT fs.truncate('/f', 140737488355328)")
		wants(s, 1, "SELECT length(fs.read_file('/f', 140737488355327))")
		s.wantUsage(140737488355328, 1)
		s.fails(vfs.EFBIG, "SELECT fs.truncate('/f', 140737488355329)")
		s.fails(vfs.EINVAL, "SELECT fs.truncate('/none', -1)")
		s.fails(vfs.ENOENT, "SELECT fs.truncate('/none', 1)")
		s.fails(vfs.EISDIR, "SELECT fs.truncate('/tmp', 1)")
		s.fails(vfs.EINVAL, "SELECT fs.truncate('/dev/null', 1)")
	})
}
