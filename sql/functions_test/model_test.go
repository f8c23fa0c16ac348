package functions_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/gateway/tree/model"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// target is the filesystem of the database as a [model.Target].
type target struct{ *scope }

var _ model.Target = target{}

func attr(r fsEntry) model.Attr {
	a := model.Attr{
		Kind: vfs.Kind(r.Kind), Mode: uint32(r.Mode), UID: uint32(r.UID), GID: uint32(r.GID), Nlink: uint32(r.Nlink),
		Mtime: r.Mtime,
	}
	if a.Kind == vfs.Regular || a.Kind == vfs.Symlink {
		a.Size = r.Size
	}
	return a
}

// fsEntry is a row of fs.entry.
type fsEntry struct {
	Path   string
	Name   string
	Ino    int64
	Kind   int16
	Mode   int32
	UID    int32
	GID    int32
	Nlink  int32
	Rdev   int32
	Size   int64
	Mtime  int64
	Ctime  int64
	Target *string
}

func (g target) entries(sql string, args ...any) ([]fsEntry, vfs.Errno) {
	rows, err := g.conn.Query(context.Background(), sql, args...)
	if err != nil {
		return nil, g.errnoOf(sql, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[fsEntry])
	return list, g.errnoOf(sql, err)
}

func (g target) Apply(op model.Op) (res model.Result, e vfs.Errno) {
	ctx := context.Background()
	mode := int32(op.Mode)
	length := &op.Len
	if op.Len < 0 {
		length = nil
	}
	data := op.Data
	if data == nil {
		data = []byte{}
	}
	switch op.Verb {
	case model.WriteFile, model.AppendFile:
		return res, g.errno("SELECT fs."+string(op.Verb)+"($1, $2, $3)", op.Path, data, mode)
	case model.WriteAt:
		return res, g.errno("SELECT fs.write_at($1, $2, $3)", op.Path, data, op.Off)
	case model.Truncate:
		return res, g.errno("SELECT fs.truncate($1, $2)", op.Path, op.Off)
	case model.ReadFile:
		const sql = "SELECT fs.read_file($1, $2, $3)"
		err := g.conn.QueryRow(ctx, sql, op.Path, op.Off, length).Scan(&res.Data)
		return res, g.errnoOf(sql, err)
	case model.Mkdir, model.MkdirAll:
		return res, g.errno("SELECT fs.mkdir($1, $2, $3)", op.Path, mode, op.Verb == model.MkdirAll)
	case model.Rmdir, model.Unlink:
		return res, g.errno("SELECT fs."+string(op.Verb)+"($1)", op.Path)
	case model.RemoveAll:
		return res, g.errno("SELECT fs.rm($1, true)", op.Path)
	case model.Rename, model.Link:
		return res, g.errno("SELECT fs."+string(op.Verb)+"($1, $2)", op.Path, op.To)
	case model.Symlink:
		return res, g.errno("SELECT fs.symlink($1, $2)", op.To, op.Path)
	case model.Readlink, model.Realpath:
		sql := "SELECT fs." + string(op.Verb) + "($1)"
		err := g.conn.QueryRow(ctx, sql, op.Path).Scan(&res.Text)
		return res, g.errnoOf(sql, err)
	case model.Chmod:
		return res, g.errno("SELECT fs.chmod($1, $2)", op.Path, mode)
	case model.Chown:
		return res, g.errno("SELECT fs.chown($1, $2, $3, $4)", op.Path, op.UID, op.GID, op.Follow)
	case model.Utimes:
		return res, g.errno("SELECT fs.utimes($1, $2, $3)", op.Path, op.Mtime, op.Follow)
	case model.Stat, model.Lstat, model.Readdir:
		rows, e := g.entries("SELECT * FROM fs."+string(op.Verb)+"($1)", op.Path)
		switch {
		case e != 0:
			return res, e
		case op.Verb == model.Readdir:
			for _, r := range rows {
				res.Names = append(res.Names, model.Name{Name: r.Name, Kind: vfs.Kind(r.Kind)})
			}
		case len(rows) != 1:
			g.Fatalf("%s: %d rows", op, len(rows))
		default:
			res.Stat = attr(rows[0])
		}
		return res, 0
	}
	g.Fatalf("no such verb: %s", op.Verb)
	return res, 0
}

func (g target) Dump() []model.Entry { return g.dump("/") }

// dump lists a directory and all that is below it, with the hashes of what the files contain.
func (g target) dump(dir string) []model.Entry {
	rows, e := g.entries("SELECT * FROM fs.stat($1) UNION ALL SELECT * FROM fs.tree($1)", dir)
	if e != 0 {
		g.Fatalf("tree: %v", e)
	}
	var paths []string
	for _, r := range rows {
		if vfs.Kind(r.Kind) == vfs.Regular {
			paths = append(paths, r.Path)
		}
	}
	sums := list[[]byte](g.scope,
		"SELECT sha256(fs.read_file(p.path)) FROM unnest($1::text[]) WITH ORDINALITY AS p (path, n) ORDER BY n", paths)
	var dump []model.Entry
	for _, r := range rows {
		d := model.Entry{Path: r.Path, Attr: attr(r), Same: strconv.FormatInt(r.Ino, 10)}
		if r.Target != nil {
			d.Target = *r.Target
		}
		if d.Attr.Kind == vfs.Regular {
			d.Sum = hex.EncodeToString(sums[0])
			sums = sums[1:]
		}
		dump = append(dump, d)
	}
	model.Sort(dump)
	return dump
}

// The verbs agree with the model on one growing top layer, and on chains: between operations the sandbox is
// snapshotted, forked (the run goes on in either side), flattened, or simply gets a new top layer. No tree that was
// left behind may change, and fsck finds nothing at any time.
func TestModel(t *testing.T) {
	for _, c := range []struct {
		name  string
		ops   int
		every int // a step of the sandbox every so many operations, on average
	}{
		{"one layer", 800, 0},
		{"long layers", 800, 60},
		{"short layers", 800, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 1))
			s := newScope(t)
			g := target{s}
			left := make(map[uuid.UUID][]model.Entry) // trees that were left behind
			model.Run(t, model.Config{
				Seed: seed, Ops: c.ops, DumpEvery: 100,
				Start: g.Dump(), UID: 1000, GID: 1000,
				Read: func(path string) []byte { return get[[]byte](s, "SELECT fs.read_file($1)", path) },
				Between: func(n int) {
					if c.every == 0 || r.IntN(c.every) > 0 {
						return
					}
					switch r.IntN(12) {
					case 10: // changes of another sort, and back to before them
						s.must("SELECT fs.snapshot($1, $2)", s.id, "before "+strconv.Itoa(n))
						g.shake(r, n)
						lists(s, nil, "SELECT f::text FROM fs.fsck() f")
						s.must("SELECT fs.restore($1, $2)", s.id, "before "+strconv.Itoa(n))
					case 11: // a fork comes back, and what came with it goes again
						ours := s.id
						s.must("SELECT fs.use(id) FROM fs.fork($1, NULL, NULL)", ours)
						theirs := get[uuid.UUID](s, "SELECT current_setting('app.sandbox_id')::uuid")
						s.id = theirs
						g.shake(r, n)
						want := looks(g.Dump())
						s.id = ours
						s.must("SELECT fs.use($1)", ours)
						version := s.version()
						lists(s, nil,
							"SELECT path || ' ' || outcome || ' ' || detail FROM fs.merge($1, $2) WHERE outcome NOT IN ('merged', 'same')",
							ours, theirs)
						if got := looks(g.Dump()); !slices.Equal(got, want) {
							t.Errorf("merged:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
						}
						if v := s.version(); v != version+1 {
							t.Errorf("version %d after a merge, was %d", v, version)
						}
						lists(s, nil, "SELECT f::text FROM fs.fsck() f")
						s.must("SELECT fs.undo($1)", ours)
					case 8: // a layer and a snapshot for every operation from here on, or no longer
						s.must("SELECT fs.update_sandbox($1, NULL, NULL, NULL, NULL, NULL, NULL, $2, $3)", s.id,
							pick(r, []string{}, []string{"history"}),
							map[string]int{"commits": 1, "keep": 9})
					case 9: // there and back again
						const steps = "SELECT count(*)::integer FROM pgbox.snapshot WHERE sandbox_id = $1 AND stack = 'undo'"
						n := one[int32](s, s.admin, steps, s.id)
						if n == 0 {
							return
						}
						n = 1 + r.Int32N(min(n, 4))
						s.must("SELECT fs.undo($1, $2)", s.id, n)
						lists(s, nil, "SELECT f::text FROM fs.fsck() f")
						s.must("SELECT fs.redo($1, $2)", s.id, n)
					case 0, 1:
						s.must("SELECT fs.snapshot($1, $2)", s.id, strconv.Itoa(n))
					case 2:
						fork := get[uuid.UUID](s, "SELECT id FROM fs.fork($1, NULL, NULL)", s.id)
						if len(left) > 5 {
							return
						}
						left[s.id] = g.Dump()
						s.id = fork
						s.must("SELECT fs.use($1)", fork)
					case 3:
						fork := get[uuid.UUID](s, "SELECT id FROM fs.fork($1, NULL, NULL)", s.id)
						if len(left) < 10 {
							left[fork] = g.Dump()
						}
					case 4:
						s.must("SELECT fs.flatten($1)", s.id)
					default:
						if get[int](s, "SELECT layers FROM fs.usage($1)", s.id) < 12 {
							s.stack()
						}
					}
					lists(s, nil, "SELECT f::text FROM fs.fsck() f")
				},
			}, g)
			for id, want := range left {
				s.must("SELECT fs.use($1)", id)
				if got := g.Dump(); !slices.Equal(got, want) {
					t.Errorf("sandbox %s changed after the run left it", id)
				}
				lists(s, nil, "SELECT f::text FROM fs.fsck() f")
			}
		})
	}
}

// shake changes something everywhere: a new file, a new directory, and of what is in the root a name, a mode and a
// removal.
func (g target) shake(r *rand.Rand, n int) {
	s := g.scope
	names := list[string](s, "SELECT '/' || name FROM fs.readdir('/') WHERE ino >= 1024 AND kind IN (4, 8) ORDER BY name")
	// Not among them, so that it stays, and something has changed in an empty tree, too.
	s.must("SELECT fs.mkdir($1)", fmt.Sprint("/shaken-", n))
	s.must("SELECT fs.write_file($1, 'shaken')", fmt.Sprint("/shaken-", n, "/f"))
	r.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	for i, sql := range []string{"SELECT fs.rm($1, true)", "SELECT fs.mv($1, '/moved-' || $2::text)",
		"SELECT fs.chmod($1, 448) WHERE $2::text <> ''"} {
		if i < len(names) {
			args := []any{names[i], strconv.Itoa(n)}
			if i == 0 {
				args = args[:1]
			}
			s.must(sql, args...)
		}
	}
}

// looks is a dump without what a merge makes anew: times, and which files are one.
func looks(dump []model.Entry) []string {
	out := make([]string, len(dump))
	for i, e := range dump {
		size := e.Attr.Size
		if e.Attr.Kind == vfs.Dir {
			size = 0
		}
		out[i] = fmt.Sprintf("%s kind=%d mode=%#o owner=%d:%d size=%d sum=%.12s target=%q", e.Path, e.Attr.Kind, e.Attr.Mode,
			e.Attr.UID, e.Attr.GID, size, e.Sum, e.Target)
	}
	return out
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }
