package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/tree/model"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// both drives one sandbox through two gateways and through psql, in turn at random.
type both struct {
	t    testing.TB
	r    *rand.Rand
	id   uuid.UUID
	s    [2]*sandbox.Service
	db   *pgx.Conn
	keys map[string]string // what the key-value store has to hold
}

func (b *both) Apply(op model.Op) (res model.Result, e vfs.Errno) {
	var err error
	n := b.r.IntN(3)
	switch {
	case n == 2:
		var known bool
		if known, err = b.psql(op); known {
			break
		}
		n = 0
		fallthrough
	default:
		do := func(_ *tree.Tree, w *tree.Work) (err error) {
			res, err = onWork(w, op)
			return err
		}
		if reads(op.Verb) {
			err = b.s[n].View(context.Background(), alice, b.id, do)
		} else {
			err = b.s[n].Update(context.Background(), alice, b.id, "test", op.Path, do)
		}
	}
	if err == nil {
		return res, 0
	}
	e, ok := vfs.Of(err)
	if !ok {
		b.t.Fatalf("%s: %v", op, err)
	}
	return model.Result{}, e
}

func reads(v model.Verb) bool {
	return slices.Contains([]model.Verb{model.ReadFile, model.Readlink, model.Realpath, model.Stat, model.Lstat,
		model.Readdir}, v)
}

// psql applies a mutation as a DBA would; known is false for what it leaves to the gateway.
func (b *both) psql(op model.Op) (known bool, err error) {
	mode, data := int32(op.Mode), op.Data
	if data == nil {
		data = []byte{}
	}
	do := func(sql string, args ...any) error {
		_, err := b.db.Exec(context.Background(), sql, args...)
		if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
			if e, ok := vfs.FromSQLState(pg.Code); ok {
				return e
			}
		}
		return err
	}
	switch op.Verb {
	case model.WriteFile, model.AppendFile:
		return true, do("SELECT fs."+string(op.Verb)+"($1, $2, $3)", op.Path, data, mode)
	case model.WriteAt:
		return true, do("SELECT fs.write_at($1, $2, $3)", op.Path, data, op.Off)
	case model.Truncate:
		return true, do("SELECT fs.truncate($1, $2)", op.Path, op.Off)
	case model.Mkdir, model.MkdirAll:
		return true, do("SELECT fs.mkdir($1, $2, $3)", op.Path, mode, op.Verb == model.MkdirAll)
	case model.Rmdir, model.Unlink:
		return true, do("SELECT fs."+string(op.Verb)+"($1)", op.Path)
	case model.RemoveAll:
		return true, do("SELECT fs.rm($1, true)", op.Path)
	case model.Rename, model.Link:
		return true, do("SELECT fs."+string(op.Verb)+"($1, $2)", op.Path, op.To)
	case model.Symlink:
		return true, do("SELECT fs.symlink($1, $2)", op.To, op.Path)
	case model.Chmod:
		return true, do("SELECT fs.chmod($1, $2)", op.Path, mode)
	case model.Utimes:
		return true, do("SELECT fs.utimes($1, $2, $3)", op.Path, op.Mtime, op.Follow)
	}
	return false, nil
}

func onWork(w *tree.Work, op model.Op) (r model.Result, err error) {
	through := func(flag int, f func(vfs.File) error) error {
		h, err := w.Open(op.Path, flag, op.Mode)
		if err != nil {
			return err
		}
		return errors.Join(f(h), h.Close())
	}
	switch op.Verb {
	case model.WriteFile:
		return r, w.WriteFile(op.Path, op.Data, op.Mode)
	case model.AppendFile:
		return r, through(vfs.WriteOnly|vfs.Append|vfs.Create, func(f vfs.File) error {
			_, err := f.Write(op.Data)
			return err
		})
	case model.WriteAt:
		return r, through(vfs.WriteOnly, func(f vfs.File) error {
			_, err := f.WriteAt(op.Data, op.Off)
			return err
		})
	case model.Truncate:
		return r, w.Truncate(op.Path, op.Off)
	case model.ReadFile:
		if op.Off == 0 && op.Len < 0 {
			r.Data, err = w.ReadFile(op.Path)
			return r, err
		}
		r.Data, _, err = w.ReadRange(op.Path, op.Off, op.Len)
		return r, err
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
		return r, err
	case model.Realpath:
		r.Text, err = w.Realpath(op.Path)
		return r, err
	case model.Chmod:
		return r, w.Chmod(op.Path, op.Mode)
	case model.Chown:
		return r, w.Chown(op.Path, op.UID, op.GID, op.Follow)
	case model.Utimes:
		return r, w.Utimes(op.Path, op.Mtime, op.Follow)
	case model.Stat, model.Lstat:
		stat := w.Stat
		if op.Verb == model.Lstat {
			stat = w.Lstat
		}
		st, err := stat(op.Path)
		r.Stat = attrOf(st)
		return r, err
	case model.Readdir:
		list, err := w.ReadDir(op.Path)
		for _, d := range list {
			r.Names = append(r.Names, model.Name{Name: d.Name, Kind: d.Kind})
		}
		return r, err
	}
	return r, fmt.Errorf("verb %q", op.Verb)
}

func attrOf(s vfs.Stat) model.Attr {
	a := model.Attr{Kind: s.Kind, Mode: s.Mode, UID: s.UID, GID: s.GID, Nlink: s.Nlink, Size: s.Size, Mtime: s.Mtime}
	if s.Kind == vfs.Dir {
		a.Size = 0
	}
	return a
}

// Dump is what one of the gateways sees.
func (b *both) Dump() []model.Entry { return dump(b.t, b.s[b.r.IntN(2)], b.id) }

func dump(t testing.TB, s *sandbox.Service, id uuid.UUID) []model.Entry {
	var list []model.Entry
	err := s.View(context.Background(), alice, id, func(_ *tree.Tree, w *tree.Work) error {
		var visit func(path string) error
		visit = func(path string) error {
			st, err := w.Lstat(path)
			if err != nil {
				return err
			}
			e := model.Entry{Path: path, Attr: attrOf(st), Same: fmt.Sprint(st.Ino)}
			switch st.Kind {
			case vfs.Regular:
				f, err := w.Open(path, vfs.ReadOnly, 0)
				if err != nil {
					return err
				}
				data, err := io.ReadAll(f)
				if err := errors.Join(err, f.Close()); err != nil {
					return err
				}
				e.Sum = model.Sum(data)
			case vfs.Symlink:
				if e.Target, err = w.Readlink(path); err != nil {
					return err
				}
			}
			list = append(list, e)
			if st.Kind != vfs.Dir {
				return nil
			}
			names, err := w.ReadDir(path)
			if err != nil {
				return err
			}
			for _, d := range names {
				below := path + "/" + d.Name
				if path == "/" {
					below = "/" + d.Name
				}
				if err := visit(below); err != nil {
					return err
				}
			}
			return nil
		}
		return visit("/")
	})
	if err != nil {
		t.Fatal(err)
	}
	model.Sort(list)
	return list
}

// key does something with a key, by one of the gateways or psql, and looks whether it is as it has to be.
func (b *both) key() {
	b.t.Helper()
	ctx, name, value := context.Background(), fmt.Sprint("k", b.r.IntN(8)), fmt.Sprint(b.r.IntN(1000))
	s := b.s[b.r.IntN(2)]
	_, there := b.keys[name]
	sql := b.r.IntN(3) == 0
	var err error
	switch b.r.IntN(4) {
	case 0:
		if sql {
			_, err = b.db.Exec(ctx, "SELECT fs.kv_set($1, $2, $3::text::jsonb)", b.id, name, value)
		} else {
			_, err = s.KvSet(ctx, alice, b.id, name, []byte(value), sandbox.Expect{})
		}
		b.keys[name], there = value, true
	case 1:
		if sql {
			_, err = b.db.Exec(ctx, "SELECT fs.kv_delete($1, $2)", b.id, name)
		} else {
			err = s.KvDelete(ctx, alice, b.id, name, sandbox.Expect{})
		}
		delete(b.keys, name)
	case 2:
		var v *sandbox.KeyValue
		if v, err = s.KvGet(ctx, alice, b.id, name); err == nil && string(v.Value) != b.keys[name] {
			b.t.Fatalf("%s holds %s, want %s", name, v.Value, b.keys[name])
		}
	default:
		b.wantKeys(b.id, b.keys)
		return
	}
	pg, isPg := errors.AsType[*pgconn.PgError](err)
	gone := errors.Is(err, vfs.ENOENT) || isPg && pg.Code == vfs.ENOENT.SQLState()
	if there && err != nil || !there && !gone {
		b.t.Fatalf("%s, which is there: %v: %v", name, there, err)
	}
}

// wantKeys compares the list of keys that a gateway gives with what has to be there.
func (b *both) wantKeys(id uuid.UUID, want map[string]string) {
	b.t.Helper()
	list, err := b.s[b.r.IntN(2)].KvList(context.Background(), alice, id, "k", 100, "")
	if err != nil {
		b.t.Fatal(err)
	}
	got := map[string]string{}
	for i, v := range list {
		if i > 0 && list[i-1].Key >= v.Key {
			b.t.Fatalf("%q stands behind %q", v.Key, list[i-1].Key)
		}
		got[v.Key] = string(v.Value)
	}
	if !maps.Equal(got, want) {
		b.t.Fatalf("the keys are %v, want %v", got, want)
	}
}

// astray takes the sandbox somewhere else, by verbs of all kinds and a merge, and back by a restore, an undo and a
// redo.
func (b *both) astray(s *sandbox.Service, n int) {
	b.t.Helper()
	ctx := context.Background()
	must := func(err error) {
		b.t.Helper()
		if err != nil {
			b.t.Fatal(err)
		}
	}
	snap, err := s.Snapshot(ctx, alice, b.id, fmt.Sprint(n))
	must(err)
	here := maps.Clone(b.keys)
	fork, err := forked(s.Fork(ctx, alice, b.id, "to merge", 1, ""))
	must(err)
	must(s.WriteFiles(ctx, alice, b.id, map[string][]byte{"/tmp/lost": []byte("x"), "/etc/passwd": nil}))
	for range 8 {
		b.key()
	}
	there := maps.Clone(b.keys)
	must(s.WriteFiles(ctx, alice, fork.ID, map[string][]byte{"/tmp/merged": []byte("x")}))
	_, err = s.KvSet(ctx, alice, fork.ID, "k of the fork", []byte("1"), sandbox.Expect{})
	must(err)
	_, err = s.Merge(ctx, alice, b.id, sandbox.MergeSpec{From: fork.ID})
	must(err)
	b.wantKeys(b.id, there) // files are merged, keys are not
	_, err = s.Restore(ctx, alice, b.id, snap.ID.String())
	must(err)
	b.wantKeys(b.id, here)
	_, err = s.Undo(ctx, alice, b.id, 1)
	must(err)
	b.wantKeys(b.id, there)
	_, err = s.Redo(ctx, alice, b.id, 1)
	must(err)
	b.keys = here
	b.wantKeys(b.id, here)
}

// Random operations through two gateways and psql in turn, with forks, snapshots and restores between them: everybody
// sees what the model says, at any time, and no tree that was left behind changes.
func TestRandomOperationsThroughGatewaysAndPsql(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	b := &both{t: t, r: rand.New(rand.NewPCG(seed, 1)), id: emptySandbox(t),
		db:   sqltest.Connect(t, sqltest.GatewayURL(sqltest.URL(t))),
		keys: map[string]string{}}
	// One of them has hardly any room for trees.
	b.s = [2]*sandbox.Service{service(t, sandbox.Config{}), service(t,
		sandbox.Config{TreeCacheBytes: 1, BlobCacheBytes: 200 << 10})}
	use := func() {
		if _, err := b.db.Exec(context.Background(), "SELECT fs.use($1)", b.id); err != nil {
			t.Fatal(err)
		}
	}
	use()
	left, leftKeys := map[uuid.UUID][]model.Entry{}, map[uuid.UUID]map[string]string{}
	model.Run(t, model.Config{
		Seed: seed, Ops: 700, DumpEvery: 25, Start: b.Dump(), UID: 1000, GID: 1000,
		Read: func(path string) []byte { return []byte(read(t, b.s[0], b.id, path)) },
		Between: func(n int) {
			s := b.s[b.r.IntN(2)]
			b.key()
			switch b.r.IntN(100) {
			case 0:
				if _, err := s.Snapshot(t.Context(), alice, b.id, fmt.Sprint(n)); err != nil {
					t.Fatal(err)
				}
			case 1:
				b.astray(s, n)
			case 2, 3:
				fork, err := forked(s.Fork(t.Context(), alice, b.id, "fork", 1, ""))
				if err != nil {
					t.Fatal(err)
				}
				if len(left) < 12 {
					there, here := fork.ID, b.id
					if b.r.IntN(2) == 0 {
						there, here = here, there
					}
					left[there], b.id = b.Dump(), here
					leftKeys[there] = maps.Clone(b.keys)
					use()
				}
			case 4:
				if _, _, err := s.Flatten(t.Context(), alice, b.id); err != nil {
					t.Fatal(err)
				}
			}
		},
	}, b)
	for id, want := range left {
		for _, s := range b.s {
			if got := dump(t, s, id); !slices.Equal(got, want) {
				t.Errorf("sandbox %s changed after the run left it", id)
			}
		}
		b.wantKeys(id, leftKeys[id])
	}
	last := b.Dump()
	if got := dump(t, service(t, sandbox.Config{}), b.id); !slices.Equal(got, last) {
		t.Error("a new gateway sees another tree")
	}
	b.id = uuid.Nil
}
