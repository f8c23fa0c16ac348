package functions_test

import (
	"testing"
)

func TestGlob(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.mkdir('/t/a/x', p_parents => true)")
		s.must("SELECT fs.mkdir('/t/b')")
		s.must("SELECT fs.mkdir('/t/.h')")
		between()
		s.must("SELECT fs.write_file(p, '') FROM unnest(ARRAY['/t/a/1.c', '/t/a/2.h', '/t/b/1.c', '/t/a/x/3.c', '/t/.h/4.c', '/t/.c', '/t/*', '/t/é.c']) p")
		between()
		s.must("SELECT fs.symlink('a', '/t/l')")
		for _, c := range []struct {
			pattern string
			want    []string
		}{
			{"/t/*/1.c", []string{"/t/a/1.c", "/t/b/1.c", "/t/l/1.c"}},
			{"t/[ab]/*.[ch]", []string{"/t/a/1.c", "/t/a/2.h", "/t/b/1.c"}},
			{"/t/?", []string{"/t/*", "/t/a", "/t/b", "/t/l"}},
			{"/t/?.c", []string{"/t/é.c"}},
			{"/t/.*", []string{"/t/.c", "/t/.h"}},
			{"/t/*/", []string{"/t/a/", "/t/b/", "/t/l/"}},
			{`/t/\*`, []string{"/t/*"}},
			{"/t/**/*.c", []string{"/t/a/1.c", "/t/a/x/3.c", "/t/b/1.c", "/t/é.c"}},
			{"/t/**", []string{"/t", "/t/*", "/t/a", "/t/a/1.c", "/t/a/2.h", "/t/a/x", "/t/a/x/3.c", "/t/b", "/t/b/1.c", "/t/l",
				"/t/é.c"}},
			{"/t/a/1.c", []string{"/t/a/1.c"}},
			{"/t/none*", nil}, {"/none/*", nil}, {"/t/a/1.c/*", nil}, {"", nil},
			{"/", []string{"/"}},
		} {
			lists(s, c.want, "SELECT * FROM fs.glob($1)", c.pattern)
		}
	})
}
