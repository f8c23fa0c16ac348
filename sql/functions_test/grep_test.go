package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestGrep(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.mkdir('/t/sub', p_parents => true)")
		s.must("SELECT fs.write_file('/t/a.go', $1)", []byte("package a\n\nfunc Find() {}\nno newline func"))
		s.must("SELECT fs.write_file('/t/sub/b.txt', $1)", []byte("FUNC\n"))
		between()
		s.must("SELECT fs.write_file('/t/bin', $1)", []byte("func\x00"))
		s.must("SELECT fs.write_file('/t/latin', $1)", []byte("caf\xe9 func\n"))
		s.must("SELECT fs.write_file('/t/empty', '')")
		s.must("SELECT fs.symlink('a.go', '/t/link')")
		between()
		const rows = "SELECT path || ':' || line_number || ':' || line FROM "
		lists(s, []string{"/t/a.go:3:func Find() {}", "/t/a.go:4:no newline func", "/t/latin:1:café func"},
			rows+"fs.grep('func', '/t')")
		lists(s, []string{"/t/sub/b.txt:1:FUNC"}, rows+"fs.grep('^func$', '/t', '*.txt', true)")
		lists(s, []string{"/t/a.go:2:"}, rows+"fs.grep('^$', '/t')")
		lists(s, []string{"/t/a.go:1:package a"}, rows+"fs.grep('p.c', '/t/link')")
		lists(s, nil, rows+"fs.grep('nothing', '/t')")
		s.fails(vfs.ENOENT, "SELECT fs.grep('x', '/none')")
	})
}

// A match may lie on the border of two chunks, and of a hole.
func TestGrepChunks(t *testing.T) {
	s := newScope(t)
	s.must("SELECT fs.write_file('/f', convert_to(repeat('x', 65530) || 'across the border' || E'\\nnext', 'UTF8'))")
	lists(s, []string{"1"}, "SELECT line_number::text FROM fs.grep('across the border$', '/f')")
}
