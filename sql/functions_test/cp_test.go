package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestCp(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.mkdir('/t/d/sub', p_parents => true)")
		s.must("SELECT fs.write_file('/t/d/f', convert_to(repeat('x', 100000), 'UTF8'), 493)")
		between()
		s.must("SELECT fs.link('/t/d/f', '/t/d/sub/hard')")
		s.must("SELECT fs.link('/t/d/f', '/t/outside')")
		s.must("SELECT fs.symlink('../f', '/t/d/sub/l')")
		s.must("SELECT fs.utimes('/t/d/f', 1500000000000000000)")
		s.must("SELECT fs.truncate('/t/d/f', 200000)")
		s.wantUsage(200000, 5)
		between()
		// one file
		s.must("SELECT fs.cp('/t/d/sub/l', '/t/copy')")
		wants(s, "8 493 1 200000", "SELECT concat_ws(' ', kind, mode, nlink, size) FROM fs.lstat('/t/copy')")
		wants(s, true, "SELECT fs.read_file('/t/copy') = fs.read_file('/t/d/f')")
		s.must("SELECT fs.write_file('/t/small', 'y', 384)")
		s.must("SELECT fs.cp('/t/small', '/t/copy')") // over a longer one, whose mode stays
		wants(s, "y 493", "SELECT convert_from(fs.read_file('/t/copy'), 'UTF8') || ' ' || mode FROM fs.stat('/t/copy')")
		s.must("SELECT fs.cp('/t/copy', '/dev/null')")
		s.fails(vfs.EINVAL, "SELECT fs.cp('/t/copy', '/t/../t/copy')")
		s.fails(vfs.EISDIR, "SELECT fs.cp('/t/d', '/t/x')")
		s.fails(vfs.EISDIR, "SELECT fs.cp('/t/copy', '/t/d')")
		s.fails(vfs.ENOENT, "SELECT fs.cp('/t/none', '/t/x')")
		s.fails(vfs.ENXIO, "SELECT fs.cp('/dev/null', '/t/x')")
		between()
		// a tree
		bytes, inodes := s.usage()
		s.touches([]string{"/t"}, []string{"/t/d"}, "SELECT fs.cp('/t/d', '/t/e', true)")
		if got := s.lastChange(); got != "copy /t/d /t/e" {
			t.Errorf("journal: %s", got)
		}
		s.wantUsage(bytes+200000, inodes+4)
		lists(s, []string{"/t/e", "/t/e/f", "/t/e/sub", "/t/e/sub/hard", "/t/e/sub/l"}, "SELECT path FROM fs.find('/t/e')")
		wants(s, "2 493", "SELECT nlink || ' ' || mode FROM fs.stat('/t/e/f')")
		wants(s, true,
			"SELECT fs.resolve('/t/e/f') = fs.resolve('/t/e/sub/hard') AND fs.resolve('/t/e/f') <> fs.resolve('/t/d/f')")
		wants(s, true, "SELECT fs.read_file('/t/e/sub/l') = fs.read_file('/t/d/f')")
		s.must("SELECT fs.write_file('/t/e/f', 'changed')") // the copy is its own file
		wants(s, int64(200000), "SELECT size FROM fs.stat('/t/d/f')")
		s.must("SELECT fs.cp('/t/d/sub/l', '/t/linkcopy', true)")
		wants(s, "../f", "SELECT fs.readlink('/t/linkcopy')")
		s.fails(vfs.EEXIST, "SELECT fs.cp('/t/d', '/t/e', true)")
		s.fails(vfs.EINVAL, "SELECT fs.cp('/t/d', '/t/d/sub/x', true)")
		s.fails(vfs.ENOENT, "SELECT fs.cp('/t/d', '/none/x', true)")
	})
}
