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
