//go:build linux

package tree

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pgbox/pgbox/gateway/fserr"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/tree/model"
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
	"/d", "/d/", "/f", "/f/", "/f/.", "/f/x", "/lf", "/lf/", "/lfs", "/ld", "/ld/", "/ld/g", "/lds", "/lds/g", "/dangle", "/dangle/",
	"/dangles", "/deep", "/loop", "/loop/x", "/two", "/root", "/root/", "/", "/.", "/..", "/d/.", "/d/..", "/d/sub/..", "/new",
	"/new/", "/new/x", "/d/new", "", "//f", "/d/../f", "/" + strings.Repeat("n", 255), "/" + strings.Repeat("n", 256),
	"/" + strings.Repeat("n", 256) + "/", "/d/" + strings.Repeat("./", 2045) + "g", "/d/" + strings.Repeat("./", 2046) + "gg",
}

// TestOpenAgainstLinux opens everything with all combinations of flags here and in the kernel and compares errno,
// what was opened, and the tree after it.
func TestOpenAgainstLinux(t *testing.T) {
	var combos []int
	for _, access := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR} {
		for bits := range 1 << 6 {
			flag := access
			for i, f := range []int{proc.Create, proc.Excl, proc.Trunc, proc.Append, proc.NoFollow, proc.Directory} {
				if bits&(1<<i) != 0 {
					flag |= f
				}
			}
			// Without O_CREAT, O_EXCL means nothing; with O_DIRECTORY, O_CREAT means another thing in each kernel.
			if flag&proc.Excl != 0 && flag&proc.Create == 0 || flag&proc.Create != 0 && flag&proc.Directory != 0 {
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
				if list[i].Attr.Kind == proc.Dir {
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
				var wantStat proc.Stat
				fd, err := unix.Open(path, kernelFlags(flag)|unix.O_CLOEXEC, 0o604)
				want := l.Errno(err)
				if err == nil {
					var st unix.Stat_t
					if err := unix.Fstat(fd, &st); err != nil {
						t.Error(err)
					}
					wantStat = proc.Stat{Mode: st.Mode & 0o7777, Nlink: uint32(st.Nlink), Size: st.Size}
					if st.Mode&unix.S_IFMT == unix.S_IFDIR {
						wantStat.Size = blockSize
					}
					_ = unix.Close(fd)
				}
				g.w = base.Begin(t.Context(), g.o)
				f, err := g.w.Open(path, flag, 0o604)
				got, _ := fserr.Of(err)
				if got != want {
					t.Errorf("%s: %s, Linux says %s", name, got.Name(), want.Name())
				}
				if err == nil {
					st, err := f.Stat()
					must(t, err)
					if s := (proc.Stat{Mode: st.Mode, Nlink: st.Nlink, Size: st.Size}); s != wantStat {
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
	k := flag &^ (proc.NoFollow | proc.Directory)
	if flag&proc.NoFollow != 0 {
		k |= unix.O_NOFOLLOW
	}
	if flag&proc.Directory != 0 {
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
