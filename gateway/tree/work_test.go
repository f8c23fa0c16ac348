package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func is(t testing.TB, what string, err error, want vfs.Errno) {
	t.Helper()
	if want == 0 && err == nil || want != 0 && errors.Is(err, want) {
		return
	}
	t.Errorf("%s: %v, want %s", what, err, want.Name())
}

// commitTo stores the blobs of a Work and commits it.
func commitTo(s *store, w *Work) *Tree {
	d := w.Delta()
	for _, b := range d.Blobs {
		s.put(b)
	}
	return w.Commit(d.Base + 1)
}

func content(t testing.TB, w *Work, path string) string {
	t.Helper()
	b, err := w.ReadFile(path)
	must(t, err)
	return string(b)
}

func TestReadOnlyRefusesEveryMutation(t *testing.T) {
	s := newStore()
	w := begin(t, rootTree(t), s, Options{})
	must(t, w.Mkdir("/d", 0o755))
	must(t, w.WriteFile("/f", []byte("x"), 0o644))
	must(t, w.Mknod("/null", vfs.Char, 0o666, devNull))
	tr := commitTo(s, w)
	r := begin(t, tr, s, Options{ReadOnly: true})
	for what, err := range map[string]error{
		"mkdir": r.Mkdir("/x", 0), "rmdir": r.Rmdir("/d"), "unlink": r.Unlink("/f"), "rename": r.Rename("/f", "/g"),
		"link": r.Link("/f", "/g"), "symlink": r.Symlink("f", "/g"), "mknod": r.Mknod("/g", vfs.FIFO, 0, 0),
		"chmod": r.Chmod("/f", 0), "chown": r.Chown("/f", 1, 1, true), "utimes": r.Utimes("/f", 1, true),
		"truncate": r.Truncate("/f", 0), "write": r.WriteFile("/f", nil, 0), "create": r.WriteFile("/g", nil, 0),
		"remove": r.RemoveAll("/d"), "mkdirall": r.MkdirAll("/x/y", 0),
	} {
		is(t, what, err, vfs.EROFS)
	}
	is(t, "mkdir of what exists", r.Mkdir("/d", 0), vfs.EEXIST)
	is(t, "mkdir in nothing", r.Mkdir("/x/y", 0), vfs.ENOENT)
	for _, flag := range []int{vfs.WriteOnly, vfs.ReadWrite, vfs.ReadOnly | vfs.Trunc, vfs.WriteOnly | vfs.Create} {
		_, err := r.Open("/f", flag, 0)
		is(t, fmt.Sprintf("open %#x", flag), err, vfs.EROFS)
	}
	f, err := r.Open("/f", vfs.ReadOnly|vfs.Create, 0)
	must(t, err)
	if b, err := io.ReadAll(f); err != nil || string(b) != "x" {
		t.Errorf("read %q, %v", b, err)
	}
	_, err = f.Write([]byte("y"))
	is(t, "write", err, vfs.EBADF)
	must(t, f.Close())
	n, err := r.Open("/null", vfs.WriteOnly|vfs.Trunc, 0)
	must(t, err)
	if _, err := n.Write([]byte("gone")); err != nil {
		t.Errorf("write to a device: %v", err)
	}
	if r.Dirty() || !r.Delta().Empty() {
		t.Error("a read-only Work has changes")
	}
}

func TestQuota(t *testing.T) {
	w := begin(t, rootTree(t), newStore(), Options{MaxBytes: 100_000, MaxInodes: 3, MaxFileSize: 90_000})
	must(t, w.WriteFile("/a", make([]byte, 80_000), 0o644))
	is(t, "beyond the quota", w.WriteFile("/b", make([]byte, 20_001), 0o644), vfs.EDQUOT)
	_, err := w.Lstat("/b")
	is(t, "a failed WriteFile leaves nothing", err, vfs.ENOENT)
	is(t, "up to the quota", w.WriteFile("/b", make([]byte, 20_000), 0o644), 0)
	f, err := w.Open("/b", vfs.WriteOnly|vfs.Append, 0)
	must(t, err)
	_, err = f.Write([]byte("x"))
	is(t, "append", err, vfs.EDQUOT)
	is(t, "grow", f.Truncate(20_001), vfs.EDQUOT)
	g, err := w.Open("/b", vfs.WriteOnly, 0)
	must(t, err)
	_, err = g.WriteAt([]byte("x"), 90_000)
	is(t, "too large", err, vfs.EFBIG)
	must(t, g.Close())
	is(t, "too large", w.Truncate("/b", 90_001), vfs.EFBIG)
	is(t, "negative", f.Truncate(-1), vfs.EINVAL)
	is(t, "replace", w.WriteFile("/a", make([]byte, 70_000), 0o644), 0)
	_, err = f.Write([]byte("x"))
	is(t, "append after room was made", err, 0)
	must(t, w.Mkdir("/d", 0o755))
	is(t, "inodes", w.Mkdir("/e", 0o755), vfs.EDQUOT)
	is(t, "inodes", w.Symlink("a", "/e"), vfs.EDQUOT)
	is(t, "another name is no inode", w.Link("/a", "/e"), 0)
	if u := w.Usage(); u.Bytes != 90_001 || u.Inodes != 3 {
		t.Errorf("usage %+v", u)
	}
	// A file that was unlinked while open still takes room until it is closed.
	must(t, w.Unlink("/a"))
	must(t, w.Unlink("/b"))
	if u := w.Usage(); u.Bytes != 70_000 {
		t.Errorf("usage %+v", u)
	}
	is(t, "room of an open file", w.WriteFile("/a", make([]byte, 10_000), 0o644), vfs.EDQUOT)
	must(t, w.Unlink("/e"))
	is(t, "room of an open file", w.WriteFile("/a", make([]byte, 80_000), 0o644), vfs.EDQUOT)
	must(t, f.Close())
	is(t, "after close", w.WriteFile("/a", make([]byte, 80_000), 0o644), 0)
}

// TestQuotaOfBaseFiles: files of the base layer do not count, but do not hold more than the quota either.
func TestQuotaOfBaseFiles(t *testing.T) {
	s := newStore()
	tr, err := rootTree(t).Patch(&Patch{
		NextIno: FirstIno, Inodes: []Inode{{Ino: 5, Kind: vfs.Regular, Nlink: 1}}, Dirents: []DirentRow{{RootIno, "f", 5}},
	})
	must(t, err)
	w := begin(t, tr, s, Options{MaxBytes: 1000})
	is(t, "up to the quota", w.WriteFile("/f", make([]byte, 1000), 0), 0)
	is(t, "beyond", w.WriteFile("/f", make([]byte, 1001), 0), vfs.EDQUOT)
	is(t, "beyond", w.Truncate("/f", 1001), vfs.EDQUOT)
	is(t, "an own file", w.WriteFile("/g", make([]byte, 1000), 0), 0)
	if u := w.Usage(); u.Bytes != 1000 || u.Inodes != 1 {
		t.Errorf("usage %+v", u)
	}
	checkTree(t, commitTo(s, w), s)
}

func TestUnlinkedFileLivesUntilClose(t *testing.T) {
	s := newStore()
	w := begin(t, rootTree(t), s, Options{})
	must(t, w.WriteFile("/old", bytes.Repeat([]byte("o"), 3*ChunkSize), 0o644))
	tr := commitTo(s, w)
	w = begin(t, tr, s, Options{})
	f, err := w.Open("/old", vfs.ReadWrite, 0)
	must(t, err)
	g, err := w.Open("/new", vfs.ReadWrite|vfs.Create, 0o600)
	must(t, err)
	must(t, w.Unlink("/old"))
	must(t, w.Unlink("/new"))
	for _, h := range []vfs.File{f, g} {
		_, err = h.WriteAt([]byte("written after unlink"), ChunkSize-5)
		must(t, err)
		buf := make([]byte, 20)
		if _, err := h.ReadAt(buf, ChunkSize-5); err != nil || string(buf) != "written after unlink" {
			t.Errorf("read %q, %v", buf, err)
		}
		st, err := h.Stat()
		must(t, err)
		if st.Nlink != 0 {
			t.Errorf("nlink %d", st.Nlink)
		}
	}
	d := w.Delta()
	if len(d.Gone) != 1 || len(d.Chunks) != 0 || len(d.Blobs) != 0 || len(d.Dirents) != 1 || d.UsedBytes != 0 ||
		d.UsedInodes != 0 {
		t.Errorf("delta %+v", d)
	}
	checkTree(t, w.Commit(2), s)
	buf := make([]byte, 20)
	if _, err := f.ReadAt(buf, ChunkSize-5); err != nil || string(buf) != "written after unlink" {
		t.Errorf("read after commit: %q, %v", buf, err)
	}
	must(t, f.Close())
	must(t, g.Close())
	is(t, "second close", g.Close(), vfs.EBADF)
	if w.dirty != 0 || w.orphans != 0 || len(w.opens) != 0 {
		t.Errorf("left: dirty %d orphans %d opens %v", w.dirty, w.orphans, w.opens)
	}
}

func TestRenameOverOpenFile(t *testing.T) {
	w := begin(t, rootTree(t), newStore(), Options{})
	must(t, w.WriteFile("/a", []byte("old"), 0o644))
	must(t, w.WriteFile("/b", []byte("new"), 0o644))
	f, err := w.Open("/a", vfs.ReadOnly, 0)
	must(t, err)
	must(t, w.Rename("/b", "/a"))
	if b, err := io.ReadAll(f); err != nil || string(b) != "old" {
		t.Errorf("the open file reads %q, %v", b, err)
	}
	must(t, f.Close())
	if c := content(t, w, "/a"); c != "new" {
		t.Errorf("the name reads %q", c)
	}
}

func TestDevices(t *testing.T) {
	w := begin(t, rootTree(t), newStore(), Options{})
	for name, rdev := range map[string]uint32{"null": devNull, "zero": devZero, "full": devFull, "random": devRandom,
		"urandom": devURandom, "tty": 5 << 8} {
		must(t, w.Mknod("/"+name, vfs.Char, 0o666, rdev))
	}
	open := func(name string) vfs.File {
		f, err := w.Open(name, vfs.ReadWrite|vfs.Create|vfs.Trunc|vfs.Append, 0o644)
		must(t, err)
		return f
	}
	buf := []byte("some bytes of it")
	if n, err := open("/null").Read(buf); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("null: %d %v", n, err)
	}
	if n, err := open("/zero").Read(buf); n != len(buf) || err != nil || !bytes.Equal(buf, make([]byte, len(buf))) {
		t.Errorf("zero: %d %v %q", n, err, buf)
	}
	a, b := make([]byte, 64), make([]byte, 64)
	for _, p := range [][]byte{a, b} {
		if n, err := open("/urandom").Read(p); n != len(p) || err != nil {
			t.Errorf("urandom: %d %v", n, err)
		}
	}
	if bytes.Equal(a, b) {
		t.Error("urandom repeats itself")
	}
	_, err := open("/full").Write(buf)
	is(t, "full", err, vfs.ENOSPC)
	is(t, "full", w.WriteFile("/full", buf, 0), vfs.ENOSPC)
	is(t, "null", w.WriteFile("/null", buf, 0), 0)
	_, err = w.Open("/tty", vfs.ReadOnly, 0)
	is(t, "tty", err, vfs.ENXIO)
	_, err = w.ReadFile("/zero")
	is(t, "all of zero", err, vfs.ENOMEM)
	if b, err := w.ReadFile("/null"); err != nil || len(b) != 0 {
		t.Errorf("all of null: %q %v", b, err)
	}
	must(t, w.Mknod("/fifo", vfs.FIFO, 0o644, 0))
	_, err = w.Open("/fifo", vfs.ReadOnly, 0)
	is(t, "fifo", err, vfs.EOPNOTSUPP)
	if st, err := w.Stat("/null"); err != nil || st.Kind != vfs.Char || st.Rdev != devNull || st.Size != 0 {
		t.Errorf("stat %+v %v", st, err)
	}
}

func TestSparseFile(t *testing.T) {
	s := newStore()
	w := begin(t, rootTree(t), s, Options{})
	must(t, w.WriteFile("/f", []byte("head"), 0o644))
	must(t, w.Truncate("/f", 1<<40))
	f, err := w.Open("/f", vfs.ReadWrite, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("tail"), 1<<40-4)
	must(t, err)
	must(t, f.Close())
	st, err := w.Stat("/f")
	must(t, err)
	if st.Size != 1<<40 || st.Blocks != 2*128 {
		t.Errorf("stat %+v", st)
	}
	_, err = w.ReadFile("/f")
	is(t, "whole file", err, vfs.ENOMEM)
	d := w.Delta()
	if len(d.Chunks) != 2 {
		t.Errorf("%d chunks", len(d.Chunks))
	}
	for _, b := range d.Blobs {
		if len(b) != ChunkSize {
			t.Errorf("a chunk of %d bytes", len(b))
		}
	}
	w = begin(t, commitTo(s, w), s, Options{})
	b, size, err := w.ReadRange("/f", 1<<40-8, -1)
	if err != nil || size != 1<<40 || string(b) != "\x00\x00\x00\x00tail" {
		t.Errorf("range %q %d %v", b, size, err)
	}
	must(t, w.Truncate("/f", 5))
	if c := content(t, w, "/f"); c != "head\x00" {
		t.Errorf("content %q", c)
	}
	d = w.Delta()
	if len(d.Chunks) != 2 || d.Chunks[0].Hole || !d.Chunks[1].Hole || len(d.Blobs[d.Chunks[0].Hash]) != 5 {
		t.Errorf("delta %+v", d.Chunks)
	}
}

// TestReadAhead counts the loads of a scan over cold files.
func TestReadAhead(t *testing.T) {
	s := newStore()
	w := begin(t, rootTree(t), s, Options{})
	const dirs, files = 20, 50
	for d := range dirs {
		must(t, w.Mkdir(fmt.Sprintf("/d%02d", d), 0o755))
		for f := range files {
			must(t, w.WriteFile(fmt.Sprintf("/d%02d/f%02d", d, f), fmt.Appendf(nil, "file %d %d", d, f), 0o644))
		}
	}
	large := make([]byte, 40*ChunkSize)
	for i := range 40 {
		large[i*ChunkSize] = byte(i)
	}
	must(t, w.WriteFile("/large", large, 0o644))
	tr := commitTo(s, w)
	for _, ro := range []bool{true, false} {
		s.loads = 0
		c := &cache{store: s, held: map[Hash][]byte{}}
		w = tr.Begin(t.Context(), Options{Content: c, ReadOnly: ro})
		for d := range dirs {
			for f := range files {
				if got, want := content(t, w, fmt.Sprintf("/d%02d/f%02d", d, f)), fmt.Sprintf("file %d %d", d, f); got != want {
					t.Fatalf("got %q, want %q", got, want)
				}
			}
		}
		if s.loads > 3+1+dirs*files/100 {
			t.Errorf("%d loads for %d files in %d directories", s.loads, dirs*files, dirs)
		}
		s.loads = 0
		c.held = map[Hash][]byte{}
		f, err := w.Open("/large", vfs.ReadOnly, 0)
		must(t, err)
		n, err := io.Copy(io.Discard, f)
		must(t, err)
		must(t, f.Close())
		if n != 40*ChunkSize || s.loads > 8 {
			t.Errorf("%d bytes in %d loads", n, s.loads)
		}
	}
	s.loads = 0
	w = begin(t, tr, s, Options{ReadOnly: true})
	content(t, w, "/d00/f00")
	if s.loads != 1 {
		t.Errorf("%d loads for one file", s.loads)
	}
}

// cache is a Content with a memory, as the gateway's is.
type cache struct {
	*store
	mu   sync.Mutex
	held map[Hash][]byte
}

func (c *cache) Peek(h Hash) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok := c.held[h]
	return b, ok
}

func (c *cache) Load(ctx context.Context, hashes []Hash) ([][]byte, error) {
	data, err := c.store.Load(ctx, hashes)
	if err == nil {
		c.mu.Lock()
		for i, h := range hashes {
			c.held[h] = data[i]
		}
		c.mu.Unlock()
	}
	return data, err
}

func TestSpillBoundsMemory(t *testing.T) {
	s := newStore()
	const limit = 1 << 20
	w := begin(t, rootTree(t), s, Options{DirtyMax: limit, Spill: s.spill})
	f, err := w.Open("/big", vfs.ReadWrite|vfs.Create, 0o644)
	must(t, err)
	line := []byte(strings.Repeat("0123456789", 700))
	var want bytes.Buffer
	for i := range 3000 {
		line[0] = byte(i)
		_, err := f.Write(line)
		must(t, err)
		want.Write(line)
		if w.dirty > limit {
			t.Fatalf("%d bytes in memory", w.dirty)
		}
	}
	_, err = f.WriteAt([]byte("patched"), 100)
	must(t, err)
	copy(want.Bytes()[100:], "patched")
	_, err = f.Seek(0, io.SeekStart)
	must(t, err)
	got, err := io.ReadAll(f)
	must(t, err)
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("content differs")
	}
	must(t, f.Close())
	var inDelta int
	for _, b := range w.Delta().Blobs {
		inDelta += len(b)
	}
	if inDelta > limit {
		t.Errorf("%d bytes are left for the commit", inDelta)
	}
	w = begin(t, commitTo(s, w), s, Options{})
	if c := content(t, w, "/big"); c != want.String() {
		t.Error("content differs after commit")
	}
}

func TestSpillFailureReachesTheWriter(t *testing.T) {
	s := newStore()
	broken := true
	spill := func(ctx context.Context, chunks [][]byte) error {
		if broken {
			return vfs.EIO
		}
		return s.spill(ctx, chunks)
	}
	w := begin(t, rootTree(t), s, Options{DirtyMax: 1000, Spill: spill})
	is(t, "write", w.WriteFile("/f", make([]byte, 3000), 0o644), vfs.EIO)
	broken = false
	must(t, w.WriteFile("/g", bytes.Repeat([]byte("g"), 3000), 0o644))
	if w.dirty > 1000 {
		t.Errorf("%d bytes in memory", w.dirty)
	}
	if content(t, w, "/g") != strings.Repeat("g", 3000) || content(t, w, "/f") != string(make([]byte, 3000)) {
		t.Error("content differs")
	}
}

// TestWriteWhileSpilling writes, cuts and removes chunks while they are being handed to Spill.
func TestWriteWhileSpilling(t *testing.T) {
	s := newStore()
	var w *Work
	var during func()
	w = begin(t, rootTree(t), s, Options{DirtyMax: 1, Spill: func(ctx context.Context, chunks [][]byte) error {
		// Whoever holds the turn to spill must not spill again from inside it.
		w.o.DirtyMax = 1 << 20
		before := make([][]byte, len(chunks))
		for i := range chunks {
			before[i] = bytes.Clone(chunks[i])
		}
		if d := during; d != nil {
			during = nil
			d()
		}
		for i := range chunks {
			if !bytes.Equal(chunks[i], before[i]) {
				t.Error("a chunk changed while it was spilled")
			}
		}
		return s.spill(ctx, chunks)
	}})
	w.o.DirtyMax = 1 << 20
	spill := func(d func()) {
		during = d
		w.o.DirtyMax = 1
		must(t, w.spillNow())
		if during != nil {
			t.Fatal("nothing was spilled")
		}
	}
	must(t, w.WriteFile("/f", []byte("before"), 0o644))
	f, err := w.Open("/f", vfs.ReadWrite, 0)
	must(t, err)
	defer f.Close()
	spill(func() {
		_, err := f.WriteAt([]byte("AFTER"), 0)
		must(t, err)
	})
	if c := content(t, w, "/f"); c != "AFTERe" {
		t.Errorf("written: %q", c)
	}
	spill(func() {
		must(t, f.Truncate(2))
		_, err := f.WriteAt([]byte("x"), 3)
		must(t, err)
	})
	if c := content(t, w, "/f"); c != "AF\x00x" {
		t.Errorf("cut: %q", c)
	}
	must(t, w.WriteFile("/g", []byte("gone"), 0o644))
	spill(func() { must(t, w.Unlink("/g")) })
	spill(nil)
	if c := content(t, w, "/f"); c != "AF\x00x" || w.dirty != 0 {
		t.Errorf("at the end: %q, %d bytes in memory", c, w.dirty)
	}
	checkTree(t, commitTo(s, w), s)
}

// TestConcurrentUse is for the race detector; appends of many writers must all be there.
func TestConcurrentUse(t *testing.T) {
	s := newStore()
	w := begin(t, rootTree(t), s, Options{})
	must(t, w.MkdirAll("/d/e", 0o755))
	must(t, w.WriteFile("/d/base", bytes.Repeat([]byte("b"), 5*ChunkSize), 0o644))
	tr := commitTo(s, w)
	w = begin(t, tr, s, Options{DirtyMax: 50_000, Spill: s.spill})
	ro := begin(t, tr, s, Options{ReadOnly: true})
	const writers, lines = 8, 300
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for j := range lines {
				f, err := w.Open("/d/log", vfs.WriteOnly|vfs.Append|vfs.Create, 0o644)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := fmt.Fprintf(f, "%d %d\n", i, j); err != nil {
					t.Error(err)
				}
				_ = f.Close()
				name := fmt.Sprintf("/d/e/f%d-%d", i, j)
				is(t, "write", w.WriteFile(name, []byte(name), 0o644), 0)
				if _, err := w.ReadDir("/d/e"); err != nil {
					t.Error(err)
				}
				if b, err := w.ReadFile(name); err != nil || string(b) != name {
					t.Errorf("%q %v", b, err)
				}
				if b, err := w.ReadFile("/d/base"); err != nil || len(b) != 5*ChunkSize {
					t.Errorf("%d %v", len(b), err)
				}
				is(t, "rename", w.Rename(name, "/d/e/"+fmt.Sprint(i)), 0)
				if b, err := ro.ReadFile("/d/base"); err != nil || len(b) != 5*ChunkSize {
					t.Errorf("%d %v", len(b), err)
				}
				if _, err := tr.Patch(&Patch{Dirents: []DirentRow{{RootIno, "x", 1025}}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := strings.Count(content(t, w, "/d/log"), "\n"); n != writers*lines {
		t.Errorf("%d lines, want %d", n, writers*lines)
	}
	checkTree(t, commitTo(s, w), s)
	if list, err := tr.ReadDir("/d/e"); err != nil || len(list) != 0 {
		t.Errorf("the base changed: %v %v", list, err)
	}
}

func TestJournal(t *testing.T) {
	s := newStore()
	w := begin(t, rootTree(t), s, Options{})
	must(t, w.Mkdir("/d", 0o755))
	must(t, w.Symlink("d", "/l"))
	must(t, w.WriteFile("/l/../l/f", []byte("x"), 0o644))
	for range 3 {
		must(t, w.WriteFile("/d/f", []byte("y"), 0o644))
	}
	must(t, w.Rename("/l/f", "/g"))
	must(t, w.Unlink("//g"))
	var b strings.Builder
	for _, c := range w.Delta().Journal {
		fmt.Fprintf(&b, "%s %s %s %d\n", c.Op, c.Path, c.PathTo, c.Ino)
	}
	const want = "mkdir /d  1024\nsymlink /l d 1025\ncreate /d/f  1026\nrename /d/f /g 1026\nunlink /g  1026\n"
	if b.String() != want {
		t.Errorf("journal\n%swant\n%s", b.String(), want)
	}
}

// A file that a script made had two entries, and two files that it wrote to in turn had one for each write.
func TestJournal_oneEntryForEachFile(t *testing.T) {
	w := begin(t, rootTree(t), newStore(), Options{})
	for range 100 {
		for _, name := range []string{"/a", "/b"} {
			must(t, w.WriteFile(name, []byte("x"), 0o644))
		}
	}
	must(t, w.Truncate("/a", 5))
	w.Commit(1)
	for range 100 {
		for _, name := range []string{"/a", "/b"} {
			must(t, w.WriteFile(name, []byte("y"), 0o644))
		}
	}
	must(t, w.Chmod("/a", 0o600))
	must(t, w.WriteFile("/a", []byte("z"), 0o644))
	var got []string
	for _, c := range w.Delta().Journal {
		got = append(got, c.Op+" "+c.Path)
	}
	if want := []string{"write /a", "write /b", "chmod /a", "write /a"}; !slices.Equal(got, want) {
		t.Errorf("journal %q, want %q", got, want)
	}
}

func TestSymlinkHops(t *testing.T) {
	w := begin(t, rootTree(t), newStore(), Options{})
	must(t, w.WriteFile("/0", []byte("end"), 0o644))
	for i := range 41 {
		must(t, w.Symlink(fmt.Sprint(i), fmt.Sprintf("/%d", i+1)))
	}
	if c := content(t, w, "/40"); c != "end" {
		t.Errorf("40 hops: %q", c)
	}
	_, err := w.ReadFile("/41")
	is(t, "41 hops", err, vfs.ELOOP)
}

func TestPatchRefusesForeignRows(t *testing.T) {
	tr := rootTree(t)
	for name, p := range map[string]*Patch{
		"dirent": {Dirents: []DirentRow{{Parent: 99, Name: "x", Ino: 1}}},
		"chunk":  {Chunks: []ChunkRow{{Ino: 99, Hash: Hash{1}}}},
		"dir":    {Chunks: []ChunkRow{{Ino: RootIno, Hash: Hash{1}}}},
	} {
		if _, err := tr.Patch(p); !errors.Is(err, vfs.EIO) {
			t.Errorf("%s: %v", name, err)
		}
		p.Inodes = []Inode{{Ino: RootIno, Kind: vfs.Dir}}
		if _, err := Empty().Patch(p); !errors.Is(err, vfs.EIO) {
			t.Errorf("%s in bulk: %v", name, err)
		}
	}
	// Rows that remove what is gone already are no fault.
	next, err := tr.Patch(&Patch{
		Inodes:  []Inode{{Ino: 7, Kind: Whiteout}},
		Dirents: []DirentRow{{Parent: 7, Name: "x"}, {Parent: RootIno, Name: "y"}},
		Chunks:  []ChunkRow{{Ino: 7, Hole: true}},
	})
	must(t, err)
	if d := diffTrees(tr, next); d != "" && next.Len() != tr.Len() {
		t.Error(d)
	}
}
