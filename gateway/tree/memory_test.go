package tree

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// bigRows are the rows of a tree of n files, ten to a directory, a hundred directories to a directory, as
// they come from the database: in key order, each name a string of its own.
func bigRows(n int) *Patch {
	p := &Patch{Version: 1}
	p.Inodes = append(p.Inodes, Inode{Ino: RootIno, Kind: vfs.Dir, Mode: 0o755, Nlink: 2})
	ino := FirstIno
	dir := func(parent *Ino, name string) Ino {
		d := ino
		ino++
		p.Inodes = append(p.Inodes, Inode{Ino: d, Kind: vfs.Dir, Mode: 0o755, Nlink: 2})
		p.Dirents = append(p.Dirents, DirentRow{*parent, strings.Clone(name), d})
		return d
	}
	root := RootIno
	var mid, leaf Ino
	for i := range n {
		if i%1000 == 0 {
			mid = dir(&root, fmt.Sprintf("module-%04d", i/1000))
		}
		if i%10 == 0 {
			leaf = dir(&mid, fmt.Sprintf("package-%04d", i/10%100))
		}
		f := Inode{Ino: ino, Kind: vfs.Regular, Mode: 0o644, Nlink: 1, Size: 100}
		ino++
		p.Inodes = append(p.Inodes, f)
		p.Dirents = append(p.Dirents, DirentRow{leaf, strings.Clone(fmt.Sprintf("source-file-%d.go", i%10)), f.Ino})
		var h Hash
		copy(h[:], fmt.Sprintf("%032d", i))
		p.Chunks = append(p.Chunks, ChunkRow{Ino: f.Ino, Hash: h})
	}
	p.NextIno = ino
	sortRows(p)
	return p
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// rowNames makes the names of the rows strings of their own again, so that two trees share none.
func rowNames(p *Patch) *Patch {
	c := *p
	c.Dirents = append([]DirentRow(nil), p.Dirents...)
	for i := range c.Dirents {
		c.Dirents[i].Name = strings.Clone(c.Dirents[i].Name)
	}
	return &c
}

func TestMemoryPerEntry(t *testing.T) {
	const n = 100_000
	const bound = 300
	rows := bigRows(n)
	check := func(what string, make func() *Tree) {
		before := heap()
		tr := make()
		per := float64(heap()-before) / float64(tr.Len())
		estimate := float64(tr.Bytes()) / float64(tr.Len())
		t.Logf("%s: %.0f bytes per entry, estimated %.0f", what, per, estimate)
		if per > bound {
			t.Errorf("%s: %.0f bytes per entry, want at most %d", what, per, bound)
		}
		if estimate < 0.8*per || estimate > 1.25*per {
			t.Errorf("%s: estimate of %.0f bytes per entry is off: %.0f", what, estimate, per)
		}
		runtime.KeepAlive(tr)
	}
	check("bulk load", func() *Tree {
		tr, err := Empty().Patch(rowNames(rows))
		must(t, err)
		return tr
	})
	check("patch by patch", func() *Tree {
		p := rowNames(rows)
		tr, err := Empty().Patch(&Patch{Inodes: p.Inodes[:1]})
		must(t, err)
		for i := 1; i < len(p.Inodes); i += 500 {
			tr, err = tr.Patch(&Patch{Inodes: p.Inodes[i:min(i+500, len(p.Inodes))]})
			must(t, err)
		}
		for i := 0; i < len(p.Dirents); i += 500 {
			tr, err = tr.Patch(&Patch{Dirents: p.Dirents[i:min(i+500, len(p.Dirents))]})
			must(t, err)
		}
		for i := 0; i < len(p.Chunks); i += 500 {
			tr, err = tr.Patch(&Patch{Chunks: p.Chunks[i:min(i+500, len(p.Chunks))]})
			must(t, err)
		}
		return tr
	})
	check("commits", func() *Tree {
		tr := rootTree(t)
		for i := 0; i < n; i += 1000 {
			w := tr.Begin(t.Context(), Options{})
			for j := i; j < i+1000; j++ {
				if j%10 == 0 {
					must(t, w.MkdirAll(fmt.Sprintf("/module-%04d/package-%04d", i/1000, j/10%100), 0o755))
				}
				must(t, w.WriteFile(fmt.Sprintf("/module-%04d/package-%04d/source-file-%d.go", i/1000, j/10%100, j%10),
					[]byte{byte(i), byte(j)}, 0o644))
			}
			tr = w.Commit(int64(i))
		}
		return tr
	})
	runtime.KeepAlive(rows)
}

func BenchmarkBulkLoad100k(b *testing.B) {
	rows := bigRows(100_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Empty().Patch(rows); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolve5(b *testing.B) {
	rows := bigRows(100_000)
	tr, err := Empty().Patch(rows)
	must(b, err)
	w := tr.Begin(context.Background(), Options{})
	must(b, w.MkdirAll("/module-0050/package-0050/deep/er", 0o755))
	must(b, w.WriteFile("/module-0050/package-0050/deep/er/file", nil, 0o644))
	must(b, w.Symlink("/module-0050/package-0050", "/link"))
	for _, path := range []string{
		"/module-0050/package-0050/deep/er/file",
		"/module-0050/package-0050/deep/../deep/er/file",
		"/link/deep/er/file",
		"/module-0050/package-0050/source-file-5.go",
	} {
		b.Run(path[1:], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Stat(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBeginCommit(b *testing.B) {
	for _, n := range []int{10, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			tr, err := Empty().Patch(bigRows(n))
			must(b, err)
			b.ReportAllocs()
			for b.Loop() {
				w := tr.Begin(context.Background(), Options{})
				must(b, w.WriteFile("/new", []byte("x"), 0o644))
				if w.Delta().Empty() {
					b.Fatal("nothing")
				}
				w.Commit(2)
			}
		})
	}
}

func BenchmarkWrite1000Files(b *testing.B) {
	tr := rootTree(b)
	data := make([]byte, 1024)
	b.ReportAllocs()
	for b.Loop() {
		w := tr.Begin(context.Background(), Options{})
		for i := range 1000 {
			data[0], data[1] = byte(i), byte(i>>8)
			must(b, w.WriteFile(fmt.Sprintf("/file-%d", i), data, 0o644))
		}
		w.Delta()
		w.Commit(2)
	}
}

func BenchmarkReadFileWarm(b *testing.B) {
	s := newStore()
	w := begin(b, rootTree(b), s, Options{})
	must(b, w.MkdirAll("/home/user/src", 0o755))
	must(b, w.WriteFile("/home/user/src/main.go", make([]byte, 1000), 0o644))
	tr := commitTo(s, w)
	for _, ro := range []bool{true, false} {
		b.Run(fmt.Sprintf("ReadOnly=%v", ro), func(b *testing.B) {
			w := tr.Begin(context.Background(), Options{Content: &cache{store: s, held: map[Hash][]byte{}}, ReadOnly: ro})
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := w.ReadFile("/home/user/src/main.go"); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
