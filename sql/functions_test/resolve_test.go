package functions_test

import (
	"strings"
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestResolve(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.mkdir('/a/b/c', p_parents => true)")
		between()
		s.must("SELECT fs.write_file('/a/b/f', 'x')")
		s.must("SELECT fs.symlink('b/c', '/a/rel')")
		between()
		s.must("SELECT fs.symlink('/a/rel', '/a/abs')")
		s.must("SELECT fs.symlink('self', '/self')")
		s.must("SELECT fs.symlink('none', '/dangling')")
		between()
		s.must("SELECT fs.symlink('a/b/c/', '/slash')")
		s.must("SELECT fs.symlink('/', '/root-link')")
		between()
		c := get[int64](s, "SELECT fs.resolve('/a/b/c')")
		for _, path := range []string{
			"a/b/c", "//a///b//c", "/a/b/c/", "/a/b/c/.", "/a/./b/../b/c", "/../a/b/c", "/a/rel", "/a/abs", "/a/abs/", "/slash",
			"/a/abs/../c", "/root-link/a/b/c", "/a/rel/../../b/c/../c/.", "/a/b/c" + strings.Repeat("/", 4089),
		} {
			wants(s, c, "SELECT fs.resolve($1)", path)
		}
		wants(s, int64(1), "SELECT fs.resolve('/root-link')")
		wants(s, int64(1), "SELECT fs.resolve('/..')")
		wants(s, true, "SELECT fs.resolve('/a/rel', false) <> fs.resolve('/a/rel')")
		wants(s, c, "SELECT fs.resolve('/a/rel/', false)")
		for path, want := range map[string]vfs.Errno{
			"": vfs.ENOENT, "/none": vfs.ENOENT, "/none/../a": vfs.ENOENT, "/dangling": vfs.ENOENT, "/self": vfs.ELOOP,
			"/self/x": vfs.ELOOP,
			"/a/b/f/": vfs.ENOTDIR, "/a/b/f/.": vfs.ENOTDIR, "/a/b/f/..": vfs.ENOTDIR, "/a/b/f/x": vfs.ENOTDIR,
			"/" + strings.Repeat("x", 256): vfs.ENAMETOOLONG, "/none/" + strings.Repeat("x", 256): vfs.ENOENT,
			"/a/b/f/" + strings.Repeat("x", 256): vfs.ENOTDIR, "/" + strings.Repeat("x", 255): vfs.ENOENT,
			"/" + strings.Repeat("é", 128):       vfs.ENAMETOOLONG,
			"/a/b/c" + strings.Repeat("/", 4090): vfs.ENAMETOOLONG,
		} {
			s.fails(want, "SELECT fs.resolve($1)", path)
		}
		s.fails(vfs.EINVAL, "SELECT fs.resolve(NULL)")
	})
}

// 40 symlinks are followed, the 41st is ELOOP.
func TestResolveHops(t *testing.T) {
	s := newScope(t)
	s.must("SELECT fs.write_file('/l0', 'x')")
	s.must("SELECT fs.symlink('l' || n - 1, '/l' || n) FROM generate_series(1, 41) n")
	s.must("SELECT fs.resolve('/l40')")
	s.fails(vfs.ELOOP, "SELECT fs.resolve('/l41')")
	s.fails(vfs.ELOOP, "SELECT fs.write_file('/l41', 'y')")
}
