package functions_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

// node is a file of a tree that a journal is replayed on. Names of one file share it.
type node struct {
	kind    int16
	content string // hash of a regular file, target of a symlink
}

// replayTree is a tree by path.
type replayTree map[string]*node

func (r replayTree) below(dir string) (out []string) {
	for p := range r {
		if strings.HasPrefix(p, dir+"/") {
			out = append(out, p)
		}
	}
	return out
}

// do applies one operation as a reader of the journal would, and refuses what a file system refuses.
func (r replayTree) do(op, path, to, hash string) error {
	at, parent := r[path], func(p string) bool {
		d := p[:strings.LastIndexByte(p, '/')]
		return d == "" || r[d] != nil && r[d].kind == 4
	}
	makes := map[string]int16{"create": 8, "mkdir": 4, "symlink": 10, "mknod": 1}
	switch kind, isMade := makes[op]; {
	case isMade:
		if at != nil || !parent(path) {
			return fmt.Errorf("%s %s: there already, or no directory", op, path)
		}
		n := &node{kind: kind}
		switch op {
		case "create":
			n.content = hash
		case "symlink":
			n.content = to
		}
		r[path] = n
	case at == nil:
		return fmt.Errorf("%s %s: is not there", op, path)
	case op == "unlink" && at.kind != 4, op == "rmdir" && at.kind == 4 && len(r.below(path)) == 0:
		delete(r, path)
	case op == "rename" && r[to] == nil && parent(to) && !strings.HasPrefix(to, path+"/"):
		for _, p := range r.below(path) {
			r[to+p[len(path):]] = r[p]
			delete(r, p)
		}
		r[to] = at
		delete(r, path)
	case op == "link" && at.kind == 8 && r[to] == nil && parent(to):
		r[to] = at
	case op == "write" && at.kind == 8:
		at.content = hash
	case op == "chmod" || op == "chown":
	default:
		return fmt.Errorf("%s %s %s: cannot be done", op, path, to)
	}
	return nil
}

// show is all that is in a tree, and which names are those of one file.
func (r replayTree) show() string {
	first := map[*node]string{}
	var out strings.Builder
	for _, p := range slices.Sorted(maps.Keys(r)) {
		n := r[p]
		if n.kind == 8 && first[n] == "" {
			first[n] = p
		}
		fmt.Fprintf(&out, "%s %d %s %s\n", p, n.kind, n.content, first[n])
	}
	return out.String()
}

func treeOf(s *scope) replayTree {
	s.Helper()
	type row struct {
		Path, Content string
		Ino           int64
		Kind          int16
	}
	rows, err := s.conn.Query(s.Context(), `SELECT t.path, CASE t.kind WHEN 8 THEN encode(fs.hash_file(t.path), 'hex') WHEN 10 THEN fs.readlink(t.path) ELSE '' END AS content,
		t.ino, t.kind FROM fs.tree('/') t WHERE t.path = '/w' OR t.path ^@ '/w/' OR t.path ^@ '/.'`)
	if err != nil {
		s.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	if err != nil {
		s.Fatal(err)
	}
	out, inos := replayTree{}, map[int64]*node{}
	for _, e := range list {
		if inos[e.Ino] == nil {
			inos[e.Ino] = &node{e.Kind, e.Content}
		}
		out[e.Path] = inos[e.Ino]
	}
	return out
}

// mess changes the tree at random. What cannot be done is not done.
func mess(s *scope, r *rand.Rand, times int) {
	names := []string{"a", "b", "c"}
	path := func() string {
		p := "/w"
		for range 1 + r.IntN(3) {
			p += "/" + names[r.IntN(len(names))]
		}
		return p
	}
	for range times {
		switch r.IntN(9) {
		case 0, 1:
			_ = s.errno("SELECT fs.write_file($1, convert_to($2, 'UTF8'))", path(), fmt.Sprint(r.IntN(5)))
		case 2:
			_ = s.errno("SELECT fs.mkdir($1, p_parents => true)", path())
		case 3, 4, 5:
			_ = s.errno("SELECT fs.mv($1, $2)", path(), path())
		case 6:
			_ = s.errno("SELECT fs.rm($1, true)", path())
		case 7:
			_ = s.errno("SELECT fs.link($1, $2)", path(), path())
		case 8:
			_ = s.errno("SELECT fs.symlink($1, $2)", fmt.Sprint(r.IntN(3)), path())
		}
	}
}

// Whoever applies the rows of an undo, a redo, a restore or a merge one after the other gets the tree. A directory and
// a name in it that were renamed together could not be followed.
func TestJournal_ofStepsCanBeReplayedInOrder(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	replayed := 0
	replay := func(s *scope, what string, seed uint64, step func()) {
		t.Helper()
		tree, version := treeOf(s), s.version()
		step()
		rows, err := q.ChangesSince(t.Context(), sqlcgen.ChangesSinceParams{Sandbox: s.id, Version: version, Seq: 1 << 30,
			MaxRows: 10000})
		if err != nil {
			t.Fatal(err)
		}
		var done []string
		for _, c := range rows {
			to := ""
			if c.PathTo != nil {
				to = *c.PathTo
			}
			done = append(done, strings.TrimSpace(c.Op+" "+c.Path+" "+to))
			if err := tree.do(c.Op, c.Path, to, fmt.Sprintf("%x", c.HashAfter)); err != nil {
				t.Errorf("%s, seed %d: %v\nafter %s", what, seed, err, strings.Join(done, "; "))
				return
			}
		}
		if got, want := tree.show(), treeOf(s).show(); got != want {
			t.Errorf("%s, seed %d: %s\ngot\n%swant\n%s", what, seed, strings.Join(done, "; "), got, want)
		}
		replayed += len(rows)
	}
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := enter(t, sqltest.Sandbox(t, pool))
		s.must("SELECT fs.mkdir('/w')")
		mess(s, r, 25)
		must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: s.id, Name: "then"}))
		fork := enter(t, forked(t, q, s.id))
		mess(fork, r, 12)
		mess(s, r, 25)
		move := func(what string, f func(id uuid.UUID)) { replay(s, what, seed, func() { f(s.id) }) }
		move("restore", func(id uuid.UUID) {
			must[sqlcgen.FsSandbox](t)(q.Restore(t.Context(), sqlcgen.RestoreParams{Sandbox: id, At: "then"}))
		})
		move("undo", func(id uuid.UUID) { undo(t, q, id, 1) })
		move("redo", func(id uuid.UUID) { redo(t, q, id, 1) })
		move("merge", func(id uuid.UUID) {
			must[[]sqlcgen.MergeRow](t)(q.Merge(t.Context(), sqlcgen.MergeParams{Sandbox: id, From: fork.id, Base: "@base",
				Conflict: "lines"}))
		})
		lists(s, nil, "SELECT f::text FROM fs.fsck() f")
	}
	if replayed < 200 {
		t.Errorf("only %d operations", replayed)
	}
}
