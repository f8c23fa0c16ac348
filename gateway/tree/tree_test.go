package tree

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// store is a content store in memory that counts its loads.
type store struct {
	mu    sync.Mutex
	blobs map[Hash][]byte
	loads int
}

func newStore() *store { return &store{blobs: make(map[Hash][]byte)} }

func (s *store) Load(_ context.Context, hashes []Hash) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	out := make([][]byte, len(hashes))
	for i, h := range hashes {
		b, ok := s.blobs[h]
		if !ok {
			return nil, fmt.Errorf("no blob %x: %w", h[:4], vfs.EIO)
		}
		out[i] = b
	}
	return out, nil
}

func (s *store) put(b []byte) Hash {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := Hash(sha256.Sum256(b))
	s.blobs[h] = append([]byte(nil), b...)
	return h
}

func (s *store) spill(_ context.Context, chunks [][]byte) error {
	for _, c := range chunks {
		s.put(c)
	}
	return nil
}

// rootTree is a tree of a root directory only.
func rootTree(t testing.TB) *Tree {
	t.Helper()
	tr, err := Empty().Patch(&Patch{NextIno: FirstIno, Inodes: []Inode{{Ino: RootIno, Kind: vfs.Dir, Mode: 0o755,
		Nlink: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func begin(t testing.TB, tr *Tree, s *store, o Options) *Work {
	t.Helper()
	o.Content = s
	return tr.Begin(t.Context(), o)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAppendCommitRead(t *testing.T) {
	s := newStore()
	w := begin(t, rootTree(t), s, Options{})
	must(t, w.Mkdir("/a", 0o755))
	var want []byte
	for i := range 5000 {
		f, err := w.Open("/a/log", vfs.WriteOnly|vfs.Append|vfs.Create, 0o644)
		must(t, err)
		line := fmt.Appendf(nil, "line %d of the log of this test\n", i)
		_, err = f.Write(line)
		must(t, err)
		must(t, f.Close())
		want = append(want, line...)
		if i%1000 == 0 {
			d := w.Delta()
			for _, b := range d.Blobs {
				s.put(b)
			}
			w = begin(t, w.Commit(int64(i)), s, Options{})
		}
	}
	got, err := w.ReadFile("/a/log")
	must(t, err)
	if string(got) != string(want) {
		t.Fatalf("content differs: %d bytes, want %d", len(got), len(want))
	}
	f, err := w.Open("/a/log", vfs.ReadOnly, 0)
	must(t, err)
	defer f.Close()
	got, err = io.ReadAll(f)
	must(t, err)
	if string(got) != string(want) {
		t.Fatalf("stream differs: %d bytes, want %d", len(got), len(want))
	}
}
