package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestReadFile(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		// 3 chunks: content, hole, content
		s.must("SELECT fs.write_file('/f', convert_to(repeat('a', 65536), 'UTF8'))")
		between()
		s.must("SELECT fs.write_at('/f', 'end', 140000)")
		between()
		s.must("SELECT fs.write_at('/f', 'start', 0)")
		wants(s, int64(140003), "SELECT length(fs.read_file('/f'))::bigint")
		wants(s, "startaaa", "SELECT convert_from(fs.read_file('/f', 0, 8), 'UTF8')")
		wants(s, "aa\\000\\000", "SELECT encode(fs.read_file('/f', 65534, 4), 'escape')")
		wants(s, "\\000end", "SELECT encode(fs.read_file('/f', 139999, 100), 'escape')")
		wants(s, "nd", "SELECT convert_from(fs.read_file('/f', 140001), 'UTF8')")
		wants(s, 0, "SELECT length(fs.read_file('/f', 140003))")
		wants(s, 0, "SELECT length(fs.read_file('/f', 9000000000000000000))")
		wants(s, 0, "SELECT length(fs.read_file('/f', 5, 0))")
		wants(s, 0, "SELECT length(fs.read_file('/dev/null'))")
		wants(s, true,
			`SELECT fs.read_file('/f') = convert_to('start' || repeat('a', 65531), 'UTF8') || decode(repeat('00', 74464), 'hex') || 'end'::bytea`)
		s.must("SELECT fs.read_file('/f', 0, 9223372036854775807)")
		s.must("SELECT fs.read_file('/f', 1, 9223372036854775807)")
		s.fails(vfs.EINVAL, "SELECT fs.read_file('/f', -1)")
		s.fails(vfs.EINVAL, "SELECT fs.read_file('/f', 0, -1)")
		s.fails(vfs.EISDIR, "SELECT fs.read_file('/tmp')")
		s.fails(vfs.ENXIO, "SELECT fs.read_file('/dev/zero')")
		s.fails(vfs.ENOTDIR, "SELECT fs.read_file('/f/')")
	})
}

func TestReadFileTooLarge(t *testing.T) {
	s := newScope(t)
	s.must("SELECT fs.write_file('/f', '')")
	s.must("SELECT fs.truncate('/f', 2000000000)")
	s.fails(vfs.EFBIG, "SELECT fs.read_file('/f')")
	wants(s, 3, "SELECT length(fs.read_file('/f', 1999999990, 3))")
}
