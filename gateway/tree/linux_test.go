//go:build linux

package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pgbox/pgbox/gateway/tree/model"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// openStart is a tree with one of each kind of thing that a path can lead to.
var openStart = []model.Op{
	{Verb: model.Mkdir, Path: "/d", Mode: 0o755},
	{Verb: model.Mkdir, Path: "/d/sub", Mode: 0o755},
	{Verb: model.WriteFile, Path: "/f", Data: []byte("content"), Mode: 0o640},
	{Verb: model.WriteFile, Path: "/d/g", Data: []byte("more"), Mode: 0o600},
	{Verb: model.Symlink, Path: "/lf", To: "f"},
	{Verb: model.Symlink, Path: "/lfs", To: "f/"},
	{Verb: model.Symlink, Path: "/ld", To: "/d"},
	{Verb: model.Symlink, Path: "/lds", To: "d/"},
	{Verb: model.Symlink, Path: "/dangle", To: "d/new"},
	{Verb: model.Symlink, Path: "/dangles", To: "d/new/"},
	{Verb: model.Symlink, Path: "/deep", To: "nodir/new"},
	{Verb: model.Symlink, Path: "/loop", To: "loop"},
	{Verb: model.Symlink, Path: "/two", To: "d/../dangle"},
	{Verb: model.Symlink, Path: "/root", To: "/"},
}

var openPaths = []string{
	"/d", "/d/", "/f", "/f/", "/f/.", "/f/x", "/lf", "/lf/", "/lfs", "/ld", "/ld/", "/ld/g", "/lds", "/lds/g", "/dangle",
	"/dangle/",
	"/dangles", "/deep", "/loop", "/loop/x", "/two", "/root", "/root/", "/", "/.", "/..", "/d/.", "/d/..", "/d/sub/..",
	"/new",
	"/new/", "/new/x", "/d/new", "", "//f", "/d/../f", "/" + strings.Repeat("n", 255), "/" + strings.Repeat("n", 256),
	"/" + strings.Repeat("n", 256) + "/", "/d/" + strings.Repeat("./", 2045) + "g",
	"/d/" + strings.Repeat("./", 2046) + "gg",
}

// TestOpenAgainstLinux opens everything with all combinations of flags here and in the kernel and compares errno,
// what was opened, and the tree after it.
func TestOpenAgainstLinux(t *testing.T) {
	var combos []int
	for _, access := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR} {
		for bits := range 1 << 6 {
			flag := access
			for i, f := range []int{vfs.Create, vfs.Excl, vfs.Trunc, vfs.Append, vfs.NoFollow, vfs.Directory} {
				if bits&(1<<i) != 0 {
					flag |= f
				}
			}
			// Without O_CREAT, O_EXCL means nothing; with O_DIRECTORY, O_CREAT means another thing in each kernel.
			if flag&vfs.Excl != 0 && flag&vfs.Create == 0 || flag&vfs.Create != 0 && flag&vfs.Directory != 0 {
				continue
			}
			combos = append(combos, flag)
		}
	}
	n := 0
	model.OnLinux(t, func(l *model.Linux) {
		setup := func() {
			for _, op := range openStart {
				if _, e := l.Apply(op); e != 0 {
					t.Errorf("%s: %v", op, e)
					return
				}
			}
		}
		clean := func() {
			list := l.Dump()
			for i := len(list) - 1; i > 0; i-- {
				verb := model.Unlink
				if list[i].Attr.Kind == vfs.Dir {
					verb = model.Rmdir
				}
				if _, e := l.Apply(model.Op{Verb: verb, Path: list[i].Path}); e != 0 {
					t.Errorf("clean %s: %v", list[i], e)
				}
			}
		}
		setup()
		before := dumpText(l.Dump())
		g := newTarget(t, Options{})
		for _, op := range openStart {
			if _, e := g.Apply(op); e != 0 {
				t.Fatalf("%s: %v", op, e)
			}
		}
		for _, b := range g.w.Delta().Blobs {
			g.s.put(b)
		}
		base := g.w.Commit(1)
		for _, path := range openPaths {
			for _, flag := range combos {
				n++
				name := fmt.Sprintf("open %.40q flags %#x", path, flag)
				var wantStat vfs.Stat
				fd, err := unix.Open(path, kernelFlags(flag)|unix.O_CLOEXEC, 0o604)
				want := l.Errno(err)
				if err == nil {
					var st unix.Stat_t
					if err := unix.Fstat(fd, &st); err != nil {
						t.Error(err)
					}
					wantStat = vfs.Stat{Mode: st.Mode & 0o7777, Nlink: uint32(st.Nlink), Size: st.Size}
					if st.Mode&unix.S_IFMT == unix.S_IFDIR {
						wantStat.Size = blockSize
					}
					_ = unix.Close(fd)
				}
				g.w = base.Begin(t.Context(), g.o)
				f, err := g.w.Open(path, flag, 0o604)
				got, _ := vfs.Of(err)
				if got != want {
					t.Errorf("%s: %s, Linux says %s", name, got.Name(), want.Name())
				}
				if err == nil {
					st, err := f.Stat()
					must(t, err)
					if s := (vfs.Stat{Mode: st.Mode, Nlink: st.Nlink, Size: st.Size}); s != wantStat {
						t.Errorf("%s: opened %+v, Linux %+v", name, s, wantStat)
					}
					must(t, f.Close())
				}
				after := dumpText(l.Dump())
				if ours := dumpText(g.Dump()); ours != after {
					t.Errorf("%s: the trees differ:\n%s\nLinux:\n%s", name, ours, after)
				}
				if after != before {
					clean()
					setup()
				}
				if t.Failed() {
					return
				}
			}
		}
	})
	t.Logf("%d calls of open compared", n)
}

// kernelFlags translates the flags whose values depend on the architecture.
func kernelFlags(flag int) int {
	k := flag &^ (vfs.NoFollow | vfs.Directory)
	if flag&vfs.NoFollow != 0 {
		k |= unix.O_NOFOLLOW
	}
	if flag&vfs.Directory != 0 {
		k |= unix.O_DIRECTORY
	}
	return k
}

// dumpText is a dump without owners and times.
func dumpText(list []model.Entry) string {
	var b strings.Builder
	for _, e := range list {
		e.Attr.Mtime, e.Attr.UID, e.Attr.GID = 0, 0, 0
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// TestOpenFilesAgainstLinux holds reads, writes, seeks and truncates of open files, whose names come and go, against
// the kernel.
func TestOpenFilesAgainstLinux(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i, o := range []Options{{}, {DirtyMax: 150_000}} {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		model.OnLinux(t, func(l *model.Linux) { compareOpenFiles(t, r, l, newTarget(t, o)) })
	}
}

func compareOpenFiles(t *testing.T, r *rand.Rand, l *model.Linux, g *target) {
	type handle struct {
		f    vfs.File
		fd   int
		name string
	}
	var open []handle
	var trace []string
	agree := func(what string, ours, theirs string, err, kernel error) bool {
		trace = append(trace, what)
		e, _ := vfs.Of(err)
		if errors.Is(err, io.EOF) {
			e = 0
		}
		if k := l.Errno(kernel); e != k || ours != theirs {
			t.Errorf("%s: %s %.100q, Linux %s %.100q\nlast: %s", what, e.Name(), ours, k.Name(), theirs,
				strings.Join(trace[max(0, len(trace)-40):], "; "))
		}
		return !t.Failed()
	}
	names := []string{"/a", "/b", "/c"}
	size := func() int {
		if r.IntN(3) == 0 {
			return r.IntN(3 * ChunkSize)
		}
		return r.IntN(200)
	}
	offset := func() int64 {
		if r.IntN(2) == 0 {
			return int64(r.IntN(4)*ChunkSize + r.IntN(5) - 2)
		}
		return int64(r.IntN(300_000) - 10)
	}
	data := func() []byte {
		return bytes.Repeat([]byte{byte('a' + r.IntN(26)), byte('a' + r.IntN(26)), 'x'}, size()/3+r.IntN(2))
	}
	for i := range 6000 {
		g.clock++
		name := names[r.IntN(len(names))]
		ok := true
		switch k := r.IntN(20); {
		case k == 0:
			_, e := l.Apply(model.Op{Verb: model.Unlink, Path: name})
			ok = agree("unlink "+name, "", "", g.w.Unlink(name), errOf(e))
		case k == 1:
			to := names[r.IntN(len(names))]
			_, e := l.Apply(model.Op{Verb: model.Rename, Path: name, To: to})
			ok = agree("rename "+name+" "+to, "", "", g.w.Rename(name, to), errOf(e))
		case k <= 3 && len(open) < 8 || len(open) == 0:
			flag := []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR}[r.IntN(4)]
			for _, f := range []int{os.O_CREATE, os.O_CREATE, os.O_APPEND, os.O_TRUNC} {
				if r.IntN(4) == 0 {
					flag |= f
				}
			}
			fd, kernel := unix.Open(name, flag|unix.O_CLOEXEC, 0o644)
			f, err := g.w.Open(name, flag, 0o644)
			ok = agree(fmt.Sprintf("open %s %#x", name, flag), "", "", err, kernel)
			if err == nil && kernel == nil {
				open = append(open, handle{f, fd, fmt.Sprintf("%d:%s", i, name)})
			}
		default:
			j := r.IntN(len(open))
			h := open[j]
			switch k {
			case 4, 5, 6:
				a := make([]byte, size()+1)
				n, err := h.f.Read(a)
				b := make([]byte, len(a))
				m, kernel := unix.Read(h.fd, b)
				ok = agree(fmt.Sprintf("read %s %d", h.name, len(a)), string(a[:n]), string(b[:max(0, m)]), err, kernel)
			case 7, 8:
				off := max(0, offset())
				a := make([]byte, size()+1)
				n, err := h.f.ReadAt(a, off)
				b := make([]byte, len(a))
				m, kernel := unix.Pread(h.fd, b, off)
				ok = agree(fmt.Sprintf("pread %s %d at %d", h.name, len(a), off), string(a[:n]), string(b[:max(0, m)]), err, kernel)
			case 9, 10, 11:
				d := data()
				n, err := h.f.Write(d)
				m, kernel := unix.Write(h.fd, d)
				ok = agree(fmt.Sprintf("write %s %d", h.name, len(d)), fmt.Sprint(n), fmt.Sprint(max(0, m)), err, kernel)
			case 12, 13:
				d, off := data(), offset()
				n, err := h.f.WriteAt(d, off)
				m, kernel := unix.Pwrite(h.fd, d, off)
				ok = agree(fmt.Sprintf("pwrite %s %d at %d", h.name, len(d), off), fmt.Sprint(n), fmt.Sprint(max(0, m)), err,
					kernel)
			case 14, 15:
				off, whence := offset(), r.IntN(3)
				n, err := h.f.Seek(off, whence)
				m, kernel := unix.Seek(h.fd, off, whence)
				ok = agree(fmt.Sprintf("seek %s %d %d", h.name, off, whence), fmt.Sprint(n), fmt.Sprint(max(0, m)), err, kernel)
			case 16:
				n := offset()
				ok = agree(fmt.Sprintf("ftruncate %s %d", h.name, n), "", "", h.f.Truncate(n), unix.Ftruncate(h.fd, n))
			case 17:
				var st unix.Stat_t
				kernel := unix.Fstat(h.fd, &st)
				s, err := h.f.Stat()
				ok = agree("fstat "+h.name, fmt.Sprint(s.Size, s.Nlink), fmt.Sprint(st.Size, st.Nlink), err, kernel)
			case 18:
				ok = agree("close "+h.name, "", "", h.f.Close(), unix.Close(h.fd))
				open = append(open[:j], open[j+1:]...)
			case 19:
				if r.IntN(5) == 0 {
					trace = append(trace, "commit")
					checkTree(t, commitTo(g.s, g.w), g.s)
				}
			}
		}
		if !ok {
			return
		}
		if i%100 == 0 {
			if ours, theirs := dumpText(g.Dump()), dumpText(l.Dump()); ours != theirs {
				t.Errorf("the trees differ:\n%s\nLinux:\n%s\nlast: %s", ours, theirs,
					strings.Join(trace[max(0, len(trace)-120):], "; "))
				return
			}
		}
	}
	for _, h := range open {
		must(t, h.f.Close())
		_ = unix.Close(h.fd)
	}
	checkTree(t, commitTo(g.s, g.w), g.s)
	if g.w.dirty != 0 || g.w.orphans != 0 || len(g.w.opens) != 0 || len(g.w.touched) != 0 {
		t.Errorf("left: dirty %d orphans %d opens %v touched %d", g.w.dirty, g.w.orphans, g.w.opens, len(g.w.touched))
	}
}

func errOf(e vfs.Errno) error {
	if e == 0 {
		return nil
	}
	return unix.Errno(e)
}
