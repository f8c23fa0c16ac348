package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestWriteAt(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.write_file('/f', '0123456789')")
		between()
		s.must("SELECT fs.write_at('/f', 'ab', 3)")
		wants(s, "012ab56789", "SELECT convert_from(fs.read_file('/f'), 'UTF8')")
		between()
		// Past the end, into a chunk that is not there yet: the old last chunk is filled up with zeros.
		s.must("SELECT fs.write_at('/f', 'z', 200000)")
		wants(s, int64(65537), "SELECT allocated - (200001 - 3 * 65536) + 1 FROM fs.du('/f')")
		wants(s, true, "SELECT fs.read_file('/f') = '012ab56789'::bytea || decode(repeat('00', 199990), 'hex') || 'z'::bytea")
		between()
		// Across two chunks.
		s.must("SELECT fs.write_at('/f', $1, 65530)", []byte("across the border"))
		wants(s, "\\000across the border\\000", "SELECT encode(fs.read_file('/f', 65529, 19), 'escape')")
		s.touches(nil, []string{"/f"}, "SELECT fs.write_at('/f', '', 500000)")
		s.wantUsage(200001, 1)
		s.must("SELECT fs.write_at('/dev/null', 'x', 5)")
		s.fails(vfs.ENOENT, "SELECT fs.write_at('/none', 'x', 0)")
		s.fails(vfs.EINVAL, "SELECT fs.write_at('/f', 'x', -1)")
		s.fails(vfs.EISDIR, "SELECT fs.write_at('/tmp', 'x', 0)")
		s.fails(vfs.EFBIG, "SELECT fs.write_at('/f', 'x', 140737488355328)")
		s.fails(vfs.EFBIG, "SELECT fs.write_at('/f', 'x', 9223372036854775807)")
	})
}
