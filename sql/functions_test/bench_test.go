package functions_test

import (
	"context"
	"testing"
)

// One resolution of a path of five components over a chain of three layers; the bar is 0.15 ms.
func BenchmarkResolve(b *testing.B) {
	s := newScope(b)
	s.must("SELECT fs.mkdir('/home/user/a/b', p_parents => true)")
	s.stack()
	s.must("SELECT fs.write_file('/home/user/a/b/c', 'x')")
	s.stack()
	const sql = "SELECT fs.resolve('/home/user/a/b/c') FROM generate_series(1, $1)"
	s.must(sql, 100)
	b.ResetTimer()
	if _, err := s.conn.Exec(context.Background(), sql, b.N); err != nil {
		b.Fatal(err)
	}
}

// One small write, the database's work alone.
func BenchmarkWriteFile(b *testing.B) {
	s := newScope(b)
	s.must("SELECT fs.write_file('/tmp/f', 'x')")
	b.ResetTimer()
	for range b.N {
		s.must("SELECT fs.write_file('/tmp/f', 'x')")
	}
}

// An append to a large file rewrites its last chunk only.
func BenchmarkAppendFile(b *testing.B) {
	for name, size := range map[string]int{"1 KiB": 1 << 10, "64 MiB": 64 << 20} {
		b.Run(name, func(b *testing.B) {
			s := newScope(b)
			s.must("SELECT fs.write_file('/tmp/f', $1)", make([]byte, size))
			b.ResetTimer()
			for range b.N {
				s.must("SELECT fs.append_file('/tmp/f', 'x')")
			}
		})
	}
}

// Whole-tree verbs over 10 000 files, half of them in a sealed layer.
func BenchmarkWholeTree(b *testing.B) {
	s := newScope(b)
	fill := func(from, to int) {
		for n := from; n < to; n += 100 {
			s.must("SELECT fs.mkdir('/t/' || $1::int, p_parents => true)", n)
			s.must("SELECT fs.write_file('/t/' || $1::int || '/f' || n, convert_to('line ' || n % 100 || E'\\nanother\\n', 'UTF8')) FROM generate_series(1, 100) n", n)
		}
	}
	fill(0, 5000)
	s.stack()
	fill(5000, 10000)
	for _, c := range []struct{ name, sql string }{
		{"tree", "SELECT count(*) FROM fs.tree('/t')"},
		{"find", "SELECT count(*) FROM fs.find('/t', '*9')"},
		{"grep", "SELECT count(*) FROM fs.grep('line 9', '/t')"},
		{"du", "SELECT fs.du('/t')"},
		{"fsck", "SELECT fs.fsck()"},
		{"cp", "SELECT fs.cp('/t', '/copy' || random(), true)"},
		{"rm", "SELECT fs.rm(path, true) FROM fs.glob('/copy*') path LIMIT 1"},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				s.must(c.sql)
			}
		})
	}
}
