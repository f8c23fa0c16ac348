package tree

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/tree/model"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// target drives a Work as a model.Target.
type target struct {
	t     testing.TB
	s     *store
	w     *Work
	clock int64
	o     Options
}

func newTarget(t testing.TB, o Options) *target {
	g := &target{t: t, s: newStore()}
	o.Now = func() int64 { return g.clock }
	o.Content = g.s
	if o.DirtyMax > 0 {
		o.Spill = g.s.spill
	}
	g.o = o
	g.w = rootTree(t).Begin(t.Context(), o)
	return g
}

func (g *target) Apply(op model.Op) (model.Result, vfs.Errno) {
	g.clock++
	r, err := apply(g.w, op)
	if err == nil {
		return r, 0
	}
	e, ok := vfs.Of(err)
	if !ok {
		g.t.Fatalf("%s: an error without errno: %v", op, err)
	}
	return model.Result{}, e
}

func apply(w *Work, op model.Op) (r model.Result, err error) {
	switch op.Verb {
	case model.WriteFile:
		return r, w.WriteFile(op.Path, op.Data, op.Mode)
	case model.AppendFile:
		return r, write(w, op.Path, vfs.WriteOnly|vfs.Append|vfs.Create, op.Mode, func(f vfs.File) error {
			_, err := f.Write(op.Data)
			return err
		})
	case model.WriteAt:
		return r, write(w, op.Path, vfs.WriteOnly, 0, func(f vfs.File) error {
			_, err := f.WriteAt(op.Data, op.Off)
			return err
		})
	case model.Truncate:
		return r, w.Truncate(op.Path, op.Off)
	case model.ReadFile:
		if op.Off == 0 && op.Len < 0 {
			r.Data, err = w.ReadFile(op.Path)
		} else {
			r.Data, _, err = w.ReadRange(op.Path, op.Off, op.Len)
		}
	case model.Mkdir:
		return r, w.Mkdir(op.Path, op.Mode)
	case model.MkdirAll:
		return r, w.MkdirAll(op.Path, op.Mode)
	case model.Rmdir:
		return r, w.Rmdir(op.Path)
	case model.Unlink:
		return r, w.Unlink(op.Path)
	case model.RemoveAll:
		return r, w.RemoveAll(op.Path)
	case model.Rename:
		return r, w.Rename(op.Path, op.To)
	case model.Link:
		return r, w.Link(op.Path, op.To)
	case model.Symlink:
		return r, w.Symlink(op.To, op.Path)
	case model.Readlink:
		r.Text, err = w.Readlink(op.Path)
	case model.Realpath:
		r.Text, err = w.Realpath(op.Path)
	case model.Chmod:
		return r, w.Chmod(op.Path, op.Mode)
	case model.Chown:
		return r, w.Chown(op.Path, op.UID, op.GID, op.Follow)
	case model.Utimes:
		return r, w.Utimes(op.Path, op.Mtime, op.Follow)
	case model.Stat, model.Lstat:
		st, err := w.Stat, error(nil)
		if op.Verb == model.Lstat {
			st = w.Lstat
		}
		s, err := st(op.Path)
		if err != nil {
			return r, err
		}
		r.Stat = attr(s)
	case model.Readdir:
		list, err := w.ReadDir(op.Path)
		if err != nil {
			return r, err
		}
		for _, d := range list {
			r.Names = append(r.Names, model.Name{Name: d.Name, Kind: d.Kind})
		}
	default:
		return r, fmt.Errorf("verb %q", op.Verb)
	}
	return r, err
}

func write(w *Work, path string, flag int, mode uint32, f func(vfs.File) error) error {
	h, err := w.Open(path, flag, mode)
	if err != nil {
		return err
	}
	return errors.Join(f(h), h.Close())
}

func attr(s vfs.Stat) model.Attr {
	a := model.Attr{Kind: s.Kind, Mode: s.Mode, UID: s.UID, GID: s.GID, Nlink: s.Nlink, Size: s.Size, Mtime: s.Mtime}
	if s.Kind == vfs.Dir {
		a.Size = 0
	}
	return a
}

// Dump reads every file through a stream with a buffer of an odd size, so that chunk edges are crossed.
func (g *target) Dump() []model.Entry {
	var list []model.Entry
	var walk func(path string)
	walk = func(path string) {
		s, err := g.w.Lstat(path)
		must(g.t, err)
		e := model.Entry{Path: path, Attr: attr(s), Same: fmt.Sprint(s.Ino)}
		switch s.Kind {
		case vfs.Regular:
			f, err := g.w.Open(path, vfs.ReadOnly, 0)
			must(g.t, err)
			var b strings.Builder
			buf := make([]byte, 10_007)
			for {
				n, err := f.Read(buf)
				b.Write(buf[:n])
				if errors.Is(err, io.EOF) {
					break
				}
				must(g.t, err)
			}
			must(g.t, f.Close())
			e.Sum = model.Sum([]byte(b.String()))
		case vfs.Symlink:
			e.Target, err = g.w.Readlink(path)
			must(g.t, err)
		}
		list = append(list, e)
		if s.Kind == vfs.Dir {
			names, err := g.w.ReadDir(path)
			must(g.t, err)
			for _, n := range names {
				walk(strings.TrimSuffix(path, "/") + "/" + n.Name)
			}
		}
	}
	walk("/")
	model.Sort(list)
	return list
}

// commit stores the delta, checks that it is the patch from the base to the committed tree, and goes
// on from the one or the other.
func (g *target) commit(r *rand.Rand, version int64) {
	t := g.t
	d := g.w.Delta()
	for h, b := range d.Blobs {
		if g.s.put(b) != h {
			t.Fatalf("blob is not what its hash says")
		}
	}
	base := g.w.base
	was := reload(t, base)
	patched, err := base.Patch(d.Patch(version))
	must(t, err)
	next := g.w.Commit(version)
	if diff := diffTrees(next, patched); diff != "" {
		t.Fatalf("the patched base differs from the committed tree: %s", diff)
	}
	if diff := diffTrees(base, was); diff != "" {
		t.Fatalf("the base changed: %s", diff)
	}
	if d := g.w.Delta(); !d.Empty() || g.w.Dirty() || len(d.Journal) != 0 || len(d.Blobs) != 0 {
		t.Fatalf("changes are left after commit: %+v", d)
	}
	if g.w.dirty != 0 || g.w.orphans != 0 || len(g.w.touched) != 0 || len(g.w.opens) != 0 {
		t.Fatalf("state is left after commit: dirty %d orphans %d touched %d opens %d", g.w.dirty, g.w.orphans,
			len(g.w.touched), len(g.w.opens))
	}
	checkTree(t, next, g.s)
	switch r.IntN(3) {
	case 0: // the same Work goes on
	case 1:
		g.w = next.Begin(t.Context(), g.o)
	case 2:
		g.w = reload(t, patched).Begin(t.Context(), g.o)
	}
}

// rowsOf returns the rows of a whole tree in key order.
func rowsOf(t *Tree) *Patch {
	p := &Patch{Version: t.version, NextIno: t.NextIno(), UsedBytes: t.UsedBytes(), UsedInodes: t.UsedInodes()}
	t.Inodes(func(in *Inode) bool {
		p.Inodes = append(p.Inodes, *in)
		if in.ext != nil {
			in.ext.entries.all(func(name string, ino Ino) bool {
				p.Dirents = append(p.Dirents, DirentRow{in.Ino, name, ino})
				return true
			})
		}
		in.chunksFrom(0, func(idx uint32, h Hash) { p.Chunks = append(p.Chunks, ChunkRow{Ino: in.Ino, Idx: idx, Hash: h}) })
		return true
	})
	return p
}

// reload makes a tree of the rows of another.
func reload(t testing.TB, tr *Tree) *Tree {
	n, err := Empty().Patch(rowsOf(tr))
	must(t, err)
	if n.Bytes() != tr.Bytes() {
		t.Fatalf("estimated size %d after reload, %d before", n.Bytes(), tr.Bytes())
	}
	return n
}

// sortRows puts rows into key order.
func sortRows(p *Patch) {
	slices.SortFunc(p.Inodes, func(a, b Inode) int { return cmp.Compare(a.Ino, b.Ino) })
	slices.SortFunc(p.Dirents, func(a, b DirentRow) int {
		return cmp.Or(cmp.Compare(a.Parent, b.Parent), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(p.Chunks, func(a, b ChunkRow) int {
		return cmp.Or(cmp.Compare(a.Ino, b.Ino), cmp.Compare(a.Idx, b.Idx))
	})
}

// diffTrees compares all that two trees hold.
func diffTrees(a, b *Tree) string {
	p, q := rowsOf(a), rowsOf(b)
	switch {
	case p.Version != q.Version || p.NextIno != q.NextIno || p.UsedBytes != q.UsedBytes || p.UsedInodes != q.UsedInodes:
		return fmt.Sprintf("header %+v %+v", *p, *q)
	case len(p.Inodes) != len(q.Inodes):
		return fmt.Sprintf("%d and %d inodes", len(p.Inodes), len(q.Inodes))
	case fmt.Sprint(p.Dirents) != fmt.Sprint(q.Dirents):
		return fmt.Sprintf("dirents %v and %v", p.Dirents, q.Dirents)
	case fmt.Sprint(p.Chunks) != fmt.Sprint(q.Chunks):
		return "chunks"
	}
	for i := range p.Inodes {
		if !sameRow(&p.Inodes[i], &q.Inodes[i]) {
			return fmt.Sprintf("inode %+v and %+v", p.Inodes[i], q.Inodes[i])
		}
	}
	if a.Bytes() != b.Bytes() {
		return fmt.Sprintf("estimated sizes %d and %d", a.Bytes(), b.Bytes())
	}
	return ""
}

// checkTree holds a tree against the invariants that fs.fsck checks in the database.
func checkTree(t testing.TB, tr *Tree, s *store) {
	t.Helper()
	links := map[Ino]uint32{RootIno: 2}
	var bytes, inodes int64
	tr.Inodes(func(in *Inode) bool {
		b, n := in.counts()
		bytes, inodes = bytes+b, inodes+n
		if in.Ino >= tr.NextIno() {
			t.Errorf("inode %d is not below the next, %d", in.Ino, tr.NextIno())
		}
		in.chunksFrom(0, func(idx uint32, h Hash) {
			if in.Kind != vfs.Regular || chunkLen(in.Size, idx) == 0 {
				t.Errorf("inode %d of size %d has chunk %d", in.Ino, in.Size, idx)
			}
			if b, ok := s.blobs[h]; !ok || int64(len(b)) != chunkLen(in.Size, idx) {
				t.Errorf("chunk %d of inode %d of size %d has %d bytes", idx, in.Ino, in.Size, len(b))
			}
		})
		if in.Kind != vfs.Dir || in.ext == nil {
			return true
		}
		in.ext.entries.all(func(name string, ino Ino) bool {
			k := tr.Inode(ino)
			if k == nil {
				t.Errorf("name %q in %d: no inode %d", name, in.Ino, ino)
				return true
			}
			links[ino]++
			if k.Kind == vfs.Dir {
				links[ino]++
				links[in.Ino]++
			}
			return true
		})
		return true
	})
	tr.Inodes(func(in *Inode) bool {
		if links[in.Ino] != in.Nlink {
			t.Errorf("inode %d has nlink %d, %d counted", in.Ino, in.Nlink, links[in.Ino])
		}
		return true
	})
	if bytes != tr.UsedBytes() || inodes != tr.UsedInodes() {
		t.Errorf("usage is %d bytes %d inodes, %d and %d counted", tr.UsedBytes(), tr.UsedInodes(), bytes, inodes)
	}
	if t.Failed() {
		t.FailNow()
	}
}

func TestRandomOperationsAgainstModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for i, o := range []Options{{}, {UID: 1000, GID: 100}, {DirtyMax: 100_000}, {DirtyMax: 1}} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			g := newTarget(t, o)
			model.Run(t, model.Config{
				Seed: seed + uint64(i), Ops: 6000, Exact: true, UID: o.UID, GID: o.GID,
				Gen: func(g *model.Generator) { g.Bytes = true },
				New: func() model.Target { return newTarget(t, o) },
				Between: func(n int) {
					if r.IntN(40) == 0 {
						g.commit(r, int64(n))
					}
				},
			}, g)
		})
	}
}
