package functions_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/fserr"
	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

func diff(t testing.TB, q *sqlcgen.Queries, id uuid.UUID, from *uuid.UUID) []string {
	t.Helper()
	lines := []string{}
	for _, r := range must[[]sqlcgen.DiffRow](t)(q.Diff(t.Context(), sqlcgen.DiffParams{Sandbox: id, From: from})) {
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
	root := must[[]sqlcgen.LoadInodesRow](t)(q.LoadInodes(t.Context(), sqlcgen.LoadInodesParams{Sandbox: id, Layer: base}))[0]
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
	snap := must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "s"}))
	wantDiff(t, diff(t, q, id, &snap.ID))

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
	wantDiff(t, diff(t, q, id, &snap.ID),
		"A /added", "M /changed", "T /kind", "R /moved-on <- /moved", "D /removed", "R /renamed-dir <- /dir")
	wantDiff(t, diff(t, q, id, nil),
		"A /added", "A /changed", "A /kind", "A /moved-on", "A /renamed-dir", "A /renamed-dir/inner", "A /same")

	// A change under a renamed directory is listed where it is now.
	d = begin(t, q, id)
	d.inode(inner, 8, 1, 3, "")
	d.UsedBytes -= 2
	d.chunk(inner, 0, hash([]byte("new")))
	d.apply(t, q)
	if got := diff(t, q, id, &snap.ID); !slices.Contains(got, "M /renamed-dir/inner") {
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
	wantDiff(t, diff(t, q, child, &id), "D /left", "A /right")
}

func TestDiff_againstWhatIsNotTheOwners(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	foreign := create(t, q, sqlcgen.CreateSandboxParams{Owner: "somebody else", Name: "n"}).ID
	for i, from := range []uuid.UUID{foreign, uuid.New()} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			_, err := q.Diff(t.Context(), sqlcgen.DiffParams{Sandbox: id, From: &from})
			wantErrno(t, err, fserr.ENOENT)
		})
	}
}
