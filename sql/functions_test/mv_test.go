package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestMv(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.mkdir('/t/d/sub', p_parents => true)")
		s.must("SELECT fs.mkdir('/t/empty')")
		s.must("SELECT fs.write_file('/t/f', 'file')")
		s.must("SELECT fs.write_file('/t/g', 'other')")
		s.must("SELECT fs.link('/t/f', '/t/hard')")
		s.must("SELECT fs.symlink('d', '/t/l')")
		between()
		for _, c := range []struct {
			from, to string
			want     vfs.Errno
		}{
			{"/t/none", "/t/x", vfs.ENOENT}, {"/t/f", "/none/x", vfs.ENOENT}, {"/t/f", "/t/g/x", vfs.ENOTDIR},
			{"/t/d", "/t/f", vfs.ENOTDIR}, {"/t/f", "/t/empty", vfs.EISDIR}, {"/t/f", "/t/d", vfs.EISDIR},
			{"/t/empty", "/t/d", vfs.ENOTEMPTY},
			{"/t/d", "/t/d/sub", vfs.EINVAL}, {"/t/d", "/t/d/sub/x", vfs.EINVAL}, {"/t/d", "/t/d/x", vfs.EINVAL},
			{"/t/d", "/t/l/sub/x", vfs.EINVAL},
			{"/t/d/sub", "/t/d", vfs.ENOTEMPTY}, {"/t/d/sub", "/t", vfs.ENOTEMPTY},
			{"/", "/t/x", vfs.EBUSY}, {"/t/.", "/t/x", vfs.EBUSY}, {"/t/d/..", "/t/x", vfs.EBUSY}, {"/t/f", "/", vfs.EBUSY},
			{"/t/none", "/t/.", vfs.EBUSY},
			{"/t/f/", "/t/x", vfs.ENOTDIR}, {"/t/f", "/t/x/", vfs.ENOTDIR}, {"/t/l/", "/t/x", vfs.ENOTDIR},
			{"/t/f", "/t/g/", vfs.ENOTDIR},
			{"", "/t/x", vfs.ENOENT}, {"/t/f", "", vfs.ENOENT},
		} {
			s.fails(c.want, "SELECT fs.mv($1, $2)", c.from, c.to)
		}
		version := s.version()
		s.must("SELECT fs.mv('/t/f', '/t/hard')") // two names of one file stay
		s.must("SELECT fs.mv('/t/d', '/t/../t/d')")
		if s.version() != version {
			t.Error("mv of a file onto itself bumped the version")
		}
		wants(s, int32(2), "SELECT nlink FROM fs.stat('/t/f')")
		between()
		ctime := get[int64](s, "SELECT ctime FROM fs.stat('/t/g')")
		s.touches([]string{"/t"}, []string{"/t/d"}, "SELECT fs.mv('/t/g', '/t/f')")
		wants(s, "other 1", "SELECT convert_from(fs.read_file('/t/f'), 'UTF8') || ' ' || nlink FROM fs.stat('/t/hard')")
		wants(s, true, "SELECT ctime > $1 FROM fs.stat('/t/f')", ctime)
		between()
		s.must("SELECT fs.mv('/t/d', '/t/empty/')") // over an empty directory
		wants(s, "4 3",
			"SELECT concat_ws(' ', (SELECT nlink FROM fs.stat('/t') s) + 1, (SELECT nlink FROM fs.stat('/t/empty') s))")
		lists(s, []string{"/t/empty/sub"}, "SELECT path FROM fs.tree('/t/empty')")
		s.must("SELECT fs.mv('/t/l', '/t/moved')") // the link, not what it names
		wants(s, "d", "SELECT fs.readlink('/t/moved')")
		s.must("SELECT fs.mv('/t/moved', '/t/hard')")
		s.wantUsage(5, 5)
		if got := s.lastChange(); got != "rename /t/moved /t/hard" {
			t.Errorf("journal: %s", got)
		}
	})
}

// Moving a directory of a sealed layer writes four rows, however much is below it.
func TestMvDirectoryIsOneName(t *testing.T) {
	s := newScope(t)
	s.must("SELECT fs.mkdir('/big')")
	s.must("SELECT fs.write_file('/big/' || n, 'x') FROM generate_series(1, 300) n")
	s.stack()
	s.must("SELECT fs.mv('/big', '/moved')")
	const top = " WHERE layer_id = (SELECT layers[1] FROM pgbox.sandbox WHERE id = $1)"
	if n := one[string](t, s.admin,
		"SELECT string_agg(name || ' ' || coalesce(ino::text, 'gone'), ',' ORDER BY name) FROM pgbox.dirent"+top,
		s.id); n != "big gone,moved 1024" {
		t.Errorf("names in the top layer: %s", n)
	}
	if n := one[int](t, s.admin, "SELECT count(*)::int FROM pgbox.inode"+top, s.id); n != 2 {
		t.Errorf("%d inodes in the top layer, want the root and the directory", n)
	}
	wants(s, int64(300), "SELECT count(*) FROM fs.readdir('/moved')")
	// A new directory of the old name does not show what the old one held.
	s.must("SELECT fs.mkdir('/big')")
	lists(s, nil, "SELECT name FROM fs.readdir('/big')")
}
