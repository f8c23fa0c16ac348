package functions_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/gateway/tree/model"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

func diff(t testing.TB, q *sqlcgen.Queries, id uuid.UUID, from *uuid.UUID, at string) []string {
	t.Helper()
	lines := []string{}
	for _, r := range must[[]sqlcgen.DiffRow](t)(q.Diff(t.Context(),
		sqlcgen.DiffParams{Sandbox: id, From: from, FromAt: at})) {
		line := r.Status + " " + r.Path
		if r.PathFrom != "" {
			line += " <- " + r.PathFrom
		}
		lines = append(lines, line)
	}
	return lines
}

func wantDiff(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestDiff_everyStatus(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	d := begin(t, q, id)
	dir := d.NextIno
	d.NextIno++
	d.UsedInodes++
	base := must[uuid.UUID](t)(q.BaseLayer(t.Context()))
	root := must[[]sqlcgen.LoadInodesRow](t)(q.LoadInodes(t.Context(),
		sqlcgen.LoadInodesParams{Sandbox: id, Layer: base}))[0]
	d.inode(1, 4, root.Nlink[0]+1, 0, "")
	d.Mode[0], d.UID[0], d.GID[0] = root.Mode[0], root.UID[0], root.GID[0]
	d.inode(dir, 4, 2, 0, "")
	d.name(1, "dir", dir)
	inner := d.create(dir, "inner", "inner")
	d.create(1, "same", "same")
	changed := d.create(1, "changed", "old")
	removed := d.create(1, "removed", "removed")
	kind := d.create(1, "kind", "kind")
	moved := d.create(1, "moved", "moved")
	d.apply(t, q)
	must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "s"}))
	wantDiff(t, diff(t, q, id, nil, "s"))

	d = begin(t, q, id)
	d.name(1, "dir", 0)
	d.name(1, "renamed-dir", dir)
	d.remove(1, "removed", removed, 7)
	d.remove(1, "kind", kind, 4)
	link := d.NextIno
	d.NextIno++
	d.UsedInodes++
	d.inode(link, 10, 1, 4, "same")
	d.Parent, d.Name, d.Child = d.Parent[:len(d.Parent)-1], d.Name[:len(d.Name)-1], d.Child[:len(d.Child)-1]
	d.name(1, "kind", link)
	d.name(1, "moved", 0)
	d.name(1, "moved-on", moved)
	d.create(1, "added", "added")
	d.inode(changed, 8, 1, 3, "")
	d.chunk(changed, 0, hash([]byte("new")))
	d.Blob = append(d.Blob, []byte("new"))
	d.apply(t, q)
	wantDiff(t, diff(t, q, id, nil, "s"),
		"A /added", "M /changed", "T /kind", "R /moved-on <- /moved", "D /removed", "R /renamed-dir <- /dir")
	wantDiff(t, diff(t, q, id, nil, "@base"),
		"A /added", "A /changed", "A /kind", "A /moved-on", "A /renamed-dir", "A /renamed-dir/inner", "A /same")

	// A change under a renamed directory is listed where it is now.
	d = begin(t, q, id)
	d.inode(inner, 8, 1, 3, "")
	d.UsedBytes -= 2
	d.chunk(inner, 0, hash([]byte("new")))
	d.apply(t, q)
	if got := diff(t, q, id, nil, "s"); !slices.Contains(got, "M /renamed-dir/inner <- /dir/inner") {
		t.Fatalf("got %q", got)
	}
}

// Siblings give the same inode numbers to different files: their paths compare.
func TestDiff_againstASibling(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	write(t, q, id, "common", "common")
	child := forked(t, q, id)
	write(t, q, id, "left", "left")
	write(t, q, id, "both", "both")
	write(t, q, child, "right", "right")
	write(t, q, child, "both", "both")
	wantDiff(t, diff(t, q, child, &id, ""), "D /left", "A /right")
}

func TestDiff_againstWhatIsNotTheOwners(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	foreign := create(t, q, sqlcgen.CreateSandboxParams{Owner: "somebody else", Name: "n"}).ID
	for i, from := range []uuid.UUID{foreign, uuid.New()} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			_, err := q.Diff(t.Context(), sqlcgen.DiffParams{Sandbox: id, From: &from})
			wantErrno(t, err, vfs.ENOENT)
		})
	}
}

// The answer is that of comparing the two trees whole, after whatever was done between.
func TestDiff_ofRandomTrees(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	for seed := range uint64(4) {
		id := sqltest.Sandbox(t, pool)
		s := enter(t, id)
		g := model.NewGenerator(seed)
		steps := func(n int) {
			m := model.New(target{s}.Dump(), func(path string) []byte { return get[[]byte](s, "SELECT fs.read_file($1)", path) },
				1000, 1000)
			for range n {
				op := g.Next(m)
				_, want := m.Apply(op)
				if _, got := (target{s}).Apply(op); got != want {
					t.Fatalf("seed %d: %+v: %v, want %v", seed, op, got, want)
				}
			}
		}
		steps(60)
		child := forked(t, q, id)
		must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "s"}))
		old := tree(s)
		steps(60)
		wantChanges(t, old, tree(s), must[[]sqlcgen.DiffRow](t)(q.Diff(t.Context(),
			sqlcgen.DiffParams{Sandbox: id, FromAt: "s"})))
		parent := tree(s)
		s.must("SELECT fs.use($1)", child)
		steps(60)
		wantChanges(t, parent, tree(s), must[[]sqlcgen.DiffRow](t)(q.Diff(t.Context(),
			sqlcgen.DiffParams{Sandbox: child, From: &id})))
		if err := q.DropSandbox(t.Context(), child); err != nil {
			t.Fatal(err)
		}
	}
}

// tree is what a diff tells apart of every path.
func tree(s *scope) map[string]string {
	s.Helper()
	out := map[string]string{}
	rows, err := s.conn.Query(s.Context(),
		`SELECT path, concat_ws('|', kind, mode, uid, gid, rdev, target, CASE WHEN kind = 8 THEN sha256(fs.read_file(path))::text END) FROM (SELECT * FROM fs.stat('/') UNION ALL SELECT * FROM fs.tree('/')) t`)
	if err != nil {
		s.Fatal(err)
	}
	var path, looks string
	if _, err := pgx.ForEachRow(rows, []any{&path, &looks}, func() error { out[path] = looks; return nil }); err != nil {
		s.Fatal(err)
	}
	return out
}

// wantChanges carries the changes out on the paths of the old tree, which must give the new one; and none may be
// without effect.
func wantChanges(t *testing.T, old, now map[string]string, rows []sqlcgen.DiffRow) {
	t.Helper()
	got := maps.Clone(old)
	for _, r := range rows {
		if r.Status == "D" {
			if _, ok := got[r.Path]; !ok {
				t.Errorf("%s was not there", r.Path)
			}
			delete(got, r.Path)
		}
	}
	// Renames at once: the name of one may be where another was.
	moved := map[string]string{}
	for path, looks := range got {
		if from, to := nearest(rows, path); from != "" {
			delete(got, path)
			moved[to+strings.TrimPrefix(path, from)] = looks
		}
	}
	maps.Copy(got, moved)
	for _, r := range rows {
		if r.Status == "D" {
			continue
		}
		if r.Status != "R" && got[r.Path] == now[r.Path] {
			t.Errorf("%s %s: nothing changed", r.Status, r.Path)
		}
		got[r.Path] = now[r.Path]
	}
	for path := range now {
		if got[path] != now[path] {
			t.Errorf("%s: %q, want %q", path, got[path], now[path])
		}
	}
	for path := range got {
		if _, ok := now[path]; !ok {
			t.Errorf("%s is left", path)
		}
	}
	if t.Failed() {
		t.Fatalf("%+v", rows)
	}
}

// nearest is the rename of the lowest directory above a path, or of itself.
func nearest(rows []sqlcgen.DiffRow, path string) (from, to string) {
	for _, r := range rows {
		if r.Status == "R" && (path == r.PathFrom || strings.HasPrefix(path, r.PathFrom+"/")) && len(r.PathFrom) > len(from) {
			from, to = r.PathFrom, r.Path
		}
	}
	return from, to
}
