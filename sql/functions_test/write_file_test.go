package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestWriteFile(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.touches([]string{"/tmp"}, []string{"/"}, "SELECT fs.write_file('/tmp/f', $1, 384)", make([]byte, 200_000))
		if got := s.lastChange(); got != "create /tmp/f" {
			t.Errorf("journal: %s", got)
		}
		s.wantUsage(200_000, 1)
		between()
		ino := get[int64](s, "SELECT fs.resolve('/tmp/f')")
		s.must("SELECT fs.symlink('f', '/tmp/l')")
		s.must("SELECT fs.link('/tmp/f', '/tmp/hard')")
		between()
		// Content is replaced; inode, mode and names stay.
		s.touches([]string{"/tmp/f", "/tmp/hard"}, []string{"/tmp", "/tmp/l"}, "SELECT fs.write_file('/tmp/l', 'new', 511)")
		if got := s.lastChange(); got != "write /tmp/f" {
			t.Errorf("journal: %s", got)
		}
		wants(s, ino, "SELECT fs.resolve('/tmp/f')")
		wants(s, "384 3 2", "SELECT concat_ws(' ', mode, size, nlink) FROM fs.stat('/tmp/f')")
		wants(s, "new", "SELECT convert_from(fs.read_file('/tmp/hard'), 'UTF8')")
		s.wantUsage(3, 2)
		between()
		// A dangling link makes its target.
		s.must("SELECT fs.symlink('../tmp/made', '/tmp/dangling')")
		s.must("SELECT fs.write_file('/tmp/dangling', '')")
		wants(s, int16(8), "SELECT kind FROM fs.lstat('/tmp/made')")
		s.wantUsage(3, 4)
		// The empty file holds nothing.
		s.must("SELECT fs.write_file('/tmp/f', '')")
		wants(s, int64(0), "SELECT allocated FROM fs.du('/tmp')")
		s.must("SELECT fs.write_file('/dev/null', 'gone')")
		wants(s, 0, "SELECT length(fs.read_file('/dev/null'))")
		s.fails(vfs.ENOSPC, "SELECT fs.write_file('/dev/full', 'x')")
		s.fails(vfs.ENXIO, "SELECT fs.write_file('/dev/tty', 'x')")
		s.fails(vfs.EISDIR, "SELECT fs.write_file('/tmp', 'x')")
		s.fails(vfs.EISDIR, "SELECT fs.write_file('/tmp/new/', 'x')")
		s.fails(vfs.EISDIR, "SELECT fs.write_file('/', 'x')")
		s.fails(vfs.ENOENT, "SELECT fs.write_file('/none/x', 'x')")
		s.fails(vfs.ENOTDIR, "SELECT fs.write_file('/tmp/f/x', 'x')")
		s.fails(vfs.EINVAL, "SELECT fs.write_file('/tmp/f', NULL)")
	})
}

// Equal content is one row, in one sandbox and in two.
func TestWriteFileShares(t *testing.T) {
	a, b := newScope(t), newScope(t)
	a.must("SELECT fs.write_file('/x', convert_to(repeat('shared by two', 5000), 'UTF8'))")
	a.must("SELECT fs.write_file('/y', convert_to(repeat('shared by two', 5000), 'UTF8'))")
	b.must("SELECT fs.write_file('/z', convert_to(repeat('shared by two', 5000), 'UTF8'))")
	wants(a, true, "SELECT fs.read_file('/x') = fs.read_file('/y')")
	if n := one[int](t, a.admin,
		"SELECT count(*)::int FROM pgbox.blob WHERE sha256 = sha256(convert_to(repeat('shared by two', 5000), 'UTF8'))"); n != 1 {
		t.Errorf("%d blobs", n)
	}
}

// The quota counts what is there afterwards; one that is over it may still shrink.
func TestWriteFileQuota(t *testing.T) {
	s := newScope(t)
	s.root("UPDATE pgbox.sandbox SET max_bytes = 100, max_inodes = 3 WHERE id = $1", s.id)
	s.must("SELECT fs.write_file('/a', $1)", make([]byte, 100))
	version := s.version()
	s.fails(vfs.EDQUOT, "SELECT fs.append_file('/a', 'x')")
	s.fails(vfs.EDQUOT, "SELECT fs.write_file('/b', 'x')")
	s.fails(vfs.EDQUOT, "SELECT fs.truncate('/a', 101)")
	s.fails(vfs.EDQUOT, "SELECT fs.write_at('/a', 'x', 100)")
	s.fails(vfs.EDQUOT, "SELECT fs.cp('/a', '/c')")
	if s.version() != version {
		t.Error("a refused write bumped the version")
	}
	s.must("SELECT fs.write_at('/a', 'x', 99)")
	s.must("SELECT fs.write_file('/a', $1)", make([]byte, 98))
	s.must("SELECT fs.write_file('/b', '')")
	s.must("SELECT fs.mkdir('/d')")
	s.fails(vfs.EDQUOT, "SELECT fs.symlink('x', '/l')")
	s.fails(vfs.EDQUOT, "SELECT fs.mkdir('/e')")
	s.fails(vfs.EDQUOT, "SELECT fs.write_file('/c', '')")
	s.must("SELECT fs.link('/b', '/hard')") // no inode
	s.root("UPDATE pgbox.sandbox SET max_bytes = 10, max_inodes = 1 WHERE id = $1", s.id)
	s.must("SELECT fs.truncate('/a', 50)")
	s.must("SELECT fs.rm('/d')")
	s.wantUsage(50, 2)
}
