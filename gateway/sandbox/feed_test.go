package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/cache"
	"github.com/pgbox/pgbox/gateway/feed"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/tree/model"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// fed returns a service whose cache a listener feeds, with the feed, and the count of its statements.
func fed(t testing.TB, c feed.Config) (*sandbox.Service, *feed.Feed, *counter) {
	t.Helper()
	n := new(counter)
	st, err := store.Open(context.Background(), store.Config{URL: sqltest.ServingURL(t, sqltest.URL(t)), Tracer: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	c.URL = sqltest.URL(t)
	f := feed.New(c)
	s := service(t, sandbox.Config{Store: st, Feed: f})
	t.Cleanup(f.Stop)
	if err := f.Start(context.Background(), s.Trees()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a stream", func() bool { return f.Active() == feed.Replication })
	return s, f, n
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		runtime.Gosched()
	}
}

// follower compares the trees of a cache that only a listener keeps current with freshly loaded ones.
type follower struct {
	t     testing.TB
	st    *store.Store
	trees *cache.Trees
}

func (f *follower) fence(id uuid.UUID) *store.Fence {
	f.t.Helper()
	fence, err := f.st.Fence(context.Background(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	return fence
}

// warm has the tree of a sandbox in the cache.
func (f *follower) warm(id uuid.UUID) {
	f.t.Helper()
	p, err := f.trees.Get(context.Background(), f.fence(id))
	if err != nil {
		f.t.Fatal(err)
	}
	p.Release()
}

// check waits until the cache has what is committed, and reports whether it got there by a patch: the tree was not
// dropped.
func (f *follower) check(id uuid.UUID) (patched bool) {
	f.t.Helper()
	want := f.fence(id)
	gone := false
	eventually(f.t, "the version", func() bool {
		have, ok := f.trees.Known(id)
		gone = !ok
		return gone || have.Version > want.Version || have.Version == want.Version && settings(have) == settings(want)
	})
	if gone {
		f.warm(id)
		return false
	}
	pin, err := f.trees.Get(context.Background(), want)
	if err != nil {
		f.t.Fatal(err)
	}
	defer pin.Release()
	fresh, err := cache.NewTrees(f.st, 1<<30).Get(context.Background(), want)
	if err != nil {
		f.t.Fatal(err)
	}
	defer fresh.Release()
	if diff := difference(fresh.Tree, pin.Tree); diff != "" {
		f.t.Fatalf("version %d, patched, differs from what is loaded: %s", want.Version, diff)
	}
	return true
}

// settings is a fence as text.
func settings(f *store.Fence) string {
	c := *f
	for _, at := range []**time.Time{&c.ExpiresAt, &c.ChangedAt} {
		if *at != nil {
			u := (*at).UTC()
			*at = &u
		}
	}
	b, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// difference describes the first difference between two trees.
func difference(want, got *tree.Tree) string {
	type numbers struct {
		version, bytes, inodes int64
		next                   tree.Ino
		len                    int
		mem                    int64
	}
	of := func(t *tree.Tree) numbers {
		return numbers{t.Version(), t.UsedBytes(), t.UsedInodes(), t.NextIno(), t.Len(), t.Bytes()}
	}
	if w, g := of(want), of(got); w != g {
		return fmt.Sprintf("%+v, want %+v", g, w)
	}
	diff := ""
	want.Inodes(func(w *tree.Inode) bool {
		g := got.Inode(w.Ino)
		if g == nil {
			diff = fmt.Sprintf("inode %d is missing", w.Ino)
			return false
		}
		line := func(in *tree.Inode) string {
			var b strings.Builder
			fmt.Fprint(&b, in.Kind, in.Mode, in.UID, in.GID, in.Nlink, in.Rdev, in.Size, in.Mtime, in.Ctime, in.Target)
			for i := int64(0); i <= w.Size/tree.ChunkSize; i++ {
				fmt.Fprintf(&b, " %x", in.Chunk(uint32(i)))
			}
			return b.String()
		}
		if a, b := line(w), line(g); a != b {
			diff = fmt.Sprintf("inode %d is %s, want %s", w.Ino, b, a)
		}
		return diff == ""
	})
	var visit func(dir string)
	visit = func(dir string) {
		w, err1 := want.ReadDir(dir)
		g, err2 := got.ReadDir(dir)
		if err1 != nil || err2 != nil || fmt.Sprint(w) != fmt.Sprint(g) {
			diff = fmt.Sprintf("%s holds %v, %v, want %v, %v", dir, g, err2, w, err1)
			return
		}
		for _, d := range w {
			if d.Kind == vfs.Dir && diff == "" {
				visit(strings.TrimSuffix(dir, "/") + "/" + d.Name)
			}
		}
	}
	if diff == "" {
		visit("/")
	}
	return diff
}

// writer changes a sandbox at random: through a gateway of its own, which commits with fs.apply, and in transactions of
// psql.
type writer struct {
	*both
	g *model.Generator
	m *model.Model // of what is there, more or less: it makes operations that meet something
}

func (w *writer) gateway() {
	n := 1 + w.r.IntN(4)
	err := w.s[0].Update(context.Background(), alice, w.id, "test", "/", func(_ *tree.Tree, work *tree.Work) error {
		for range n {
			op := w.g.Next(w.m)
			if _, err := onWork(work, op); err == nil {
				w.m.Apply(op)
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.db.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

// transaction is several verbs in one transaction, each in a subtransaction that may be undone.
func (w *writer) transaction() {
	w.exec("BEGIN")
	for range 1 + w.r.IntN(5) {
		w.exec("SAVEPOINT s")
		op := w.g.Next(w.m)
		known, err := w.psql(op)
		_, isErrno := vfs.Of(err)
		switch {
		case err != nil && !isErrno:
			w.t.Fatalf("%s: %v", op, err)
		case err != nil || known && w.r.IntN(8) == 0:
			w.exec("ROLLBACK TO s")
		case known:
			w.m.Apply(op)
		}
		switch w.r.IntN(16) {
		case 0:
			w.exec("SELECT fs.snapshot($1, $2)", w.id, uuid.NewString())
		case 1:
			w.exec("SELECT fs.fork($1, NULL, 'left')", w.id)
		case 2:
			w.exec("SELECT fs.flatten($1)", w.id)
		}
	}
	if w.r.IntN(10) == 0 {
		w.exec("ROLLBACK")
		return
	}
	w.exec("COMMIT")
}

// After every commit of random writers, the tree that only patches keep current is what a fresh load gives: rows of one
// layer and of chains, forks, snapshots, restores and merges of layers, settings, values that are stored out of line.
func TestPatchedTreeEqualsALoadedOneAfterEveryCommit(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s, f, _ := fed(t, feed.Config{Mode: feed.Replication})
	st, err := store.Open(context.Background(), store.Config{URL: sqltest.ServingURL(t, sqltest.URL(t))})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	b := &both{t: t, r: rand.New(rand.NewPCG(seed, 7)), id: emptySandbox(t),
		db: sqltest.Connect(t, sqltest.GatewayURL(sqltest.URL(t)))}
	b.s[0] = service(t, sandbox.Config{})
	b.s[1] = b.s[0]
	start := b.Dump()
	w := &writer{b, model.NewGenerator(seed), model.New(start, func(path string) []byte {
		return []byte(read(t, b.s[0], b.id, path))
	}, 1000, 1000)}
	w.exec("SELECT fs.use($1)", w.id)
	follow := &follower{t, st, s.Trees()}
	follow.warm(w.id)
	before, _ := f.Status()
	commits, patched := 300, 0
	if testing.Short() {
		commits = 60
	}
	for i := range commits {
		switch w.r.IntN(20) {
		case 0:
			if _, err := w.s[0].Fork(t.Context(), alice, w.id, "fork", 1, ""); err != nil {
				t.Fatal(err)
			}
		case 1: // and go on in the fork, whose tree is loaded first
			fork, err := forked(w.s[0].Fork(t.Context(), alice, w.id, "fork", 1, ""))
			if err != nil {
				t.Fatal(err)
			}
			if i%4 == 0 {
				follow.check(w.id)
				w.id = fork.ID
				w.exec("SELECT fs.use($1)", w.id)
				follow.warm(w.id)
			}
		case 2:
			snap, err := w.s[0].Snapshot(t.Context(), alice, w.id, uuid.NewString())
			if err != nil {
				t.Fatal(err)
			}
			w.gateway()
			if _, err := w.s[0].Restore(t.Context(), alice, w.id, snap.ID.String()); err != nil {
				t.Fatal(err)
			}
		case 3:
			if i%2 == 0 {
				w.exec("SELECT fs.flatten($1)", w.id)
				break
			}
			// a fork comes back
			fork, err := forked(w.s[0].Fork(t.Context(), alice, w.id, "branch", 1, ""))
			if err != nil {
				t.Fatal(err)
			}
			ours := w.id
			w.id = fork.ID
			w.gateway()
			w.id = ours
			w.gateway()
			if _, err := w.s[0].Merge(t.Context(), alice, w.id, sandbox.MergeSpec{From: fork.ID,
				Conflict: "theirs"}); err != nil {
				t.Fatal(err)
			}
		case 4: // settings alone
			soon := time.Now().Add(time.Hour).Truncate(time.Microsecond)
			if _, err := w.s[0].UpdateSandbox(t.Context(), alice, w.id, sandbox.SandboxUpdate{Name: new(fmt.Sprint("name ", i)),
				Env: map[string]string{"BIG": strings.Repeat("x", w.r.IntN(9000))}, ExpiresAt: &soon}); err != nil {
				t.Fatal(err)
			}
		case 5: // the shell's state, too long for its row
			text := make([]byte, 4000)
			for k := range text {
				text[k] = 'a' + byte(w.r.IntN(26))
			}
			run(t, w.s[0], w.id, "export LONG="+string(text))
		case 6: // a layer for every commit from here on, or no longer
			u := sandbox.SandboxUpdate{History: &sandbox.History{Commits: 1, Keep: 5}}
			if w.r.IntN(3) == 0 {
				u = sandbox.SandboxUpdate{Clear: []string{"history"}}
			}
			if _, err := w.s[0].UpdateSandbox(t.Context(), alice, w.id, u); err != nil {
				t.Fatal(err)
			}
		case 7, 8:
			step := w.s[0].Undo
			if w.r.IntN(3) == 0 {
				step = w.s[0].Redo
			}
			if _, err := step(t.Context(), alice, w.id, 1); err != nil {
				wantError(t, err, wire.CodeENOENT, sandbox.AppliedNo)
			}
		case 9, 10, 11, 12:
			w.transaction()
		default:
			w.gateway()
		}
		if follow.check(w.id) {
			patched++
		}
	}
	if patched < commits*3/4 {
		t.Errorf("only %d of %d commits were followed by patches", patched, commits)
	}
	after, _ := f.Status()
	t.Logf("%d of %d trees followed by patches; %d patches, %d drops", patched, commits, after.Patches-before.Patches,
		after.Drops-before.Drops)
	w.id = uuid.Nil
}

// Rows of the top layer that nothing below has are deleted, not covered by a whiteout: names, inodes and chunks that
// came and went.
func TestPatchedTreeOfWhatCameAndWent(t *testing.T) {
	t.Parallel()
	s, _, _ := fed(t, feed.Config{Mode: feed.Replication})
	st, err := store.Open(context.Background(), store.Config{URL: sqltest.ServingURL(t, sqltest.URL(t))})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	id, other := emptySandbox(t), service(t, sandbox.Config{})
	follow := &follower{t, st, s.Trees()}
	follow.warm(id)
	for _, script := range []string{
		"echo a > f; mkdir d; ln -s f l; head -c 200000 /dev/zero | tr '\\0' x > big",
		"mv f d/g; truncate -s 70000 big",
		"truncate -s 200000 big; ln d/g h",
		"rm h l; rmdir -p d/e 2>/dev/null; mv d/g f",
		"rm f big; rmdir d",
	} {
		run(t, other, id, script)
		if !follow.check(id) {
			t.Fatalf("not patched: %s", script)
		}
	}
}

// Many writers at once, of one sandbox and of others: the trees are right when all is done.
func TestPatchedTreesOfConcurrentWriters(t *testing.T) {
	t.Parallel()
	s, _, _ := fed(t, feed.Config{})
	st, err := store.Open(context.Background(), store.Config{URL: sqltest.ServingURL(t, sqltest.URL(t))})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	follow := &follower{t, st, s.Trees()}
	ids := make([]uuid.UUID, 4)
	done := make(chan error)
	writers := []*sandbox.Service{service(t, sandbox.Config{}), service(t, sandbox.Config{}), s}
	for i := range ids {
		ids[i] = emptySandbox(t)
		follow.warm(ids[i])
		for k, other := range writers {
			go func() {
				for n := range 25 {
					_, err := other.Exec(context.Background(), sandbox.Request{Sandbox: ids[i], Caller: alice,
						Script: fmt.Sprintf("mkdir -p d%d && echo %d >> d%d/log && cp d%d/log f%d", k, n, k, k, n%5)})
					if err != nil && !errors.Is(err, vfs.ESTALE) {
						done <- err
						return
					}
					if n%5 == 0 {
						if _, err := s.Exec(context.Background(), sandbox.Request{Sandbox: ids[i], Caller: alice,
							Script: "find . | wc -l", ReadOnly: true}); err != nil {
							done <- err
							return
						}
					}
				}
				done <- nil
			}()
		}
	}
	for range len(ids) * len(writers) {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range ids {
		follow.check(id)
	}
}

func TestLargeTransactionReloads(t *testing.T) {
	t.Parallel()
	s, f, _ := fed(t, feed.Config{MaxRows: 50})
	id := emptySandbox(t)
	run(t, s, id, "echo warm > warm")
	other := service(t, sandbox.Config{})
	before, _ := f.Status()
	run(t, other, id, "for i in {1..100}; do echo $i > f$i; done")
	eventually(t, "the drop", func() bool { _, ok := s.Trees().Known(id); return !ok })
	if got := read(t, s, id, "/home/user/f100"); got != "100\n" {
		t.Fatalf("%q", got)
	}
	run(t, other, id, "echo again > f1")
	eventually(t, "the patch", func() bool {
		now, _ := f.Status()
		return now.Patches > before.Patches
	})
	if got := read(t, s, id, "/home/user/f1"); got != "again\n" {
		t.Fatalf("%q", got)
	}
}

// A read that may be a little old asks Postgres nothing; one that may not asks once.
func TestReadWithinItsStalenessAsksNobody(t *testing.T) {
	t.Parallel()
	s, f, n := fed(t, feed.Config{Mode: feed.Replication})
	id := emptySandbox(t)
	run(t, s, id, "echo one > f")
	stale := alice
	stale.MaxStaleness = 10 * time.Second
	cat := func(c sandbox.Caller) string {
		t.Helper()
		res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: c, Script: "cat f", ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		return string(res.Stdout)
	}
	cat(alice) // the content is cached now
	eventually(t, "freshness", func() bool { return f.Fresh(stale.MaxStaleness) })
	before := n.n.Load()
	if got := cat(stale); got != "one\n" || n.n.Load() != before {
		t.Fatalf("%q after %d statements", got, n.n.Load()-before)
	}
	if got := cat(alice); got != "one\n" || n.n.Load() != before+1 {
		t.Fatalf("%q after %d statements", got, n.n.Load()-before)
	}
	if _, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id,
		Caller: sandbox.Caller{Tenant: "test", Subject: "mallory", MaxStaleness: time.Minute}, Script: "cat f",
		ReadOnly: true}); err == nil {
		t.Fatal("a stranger reads from the cache")
	}
	// What somebody else wrote is there when the age is over, and before.
	run(t, service(t, sandbox.Config{}), id, "echo two > f")
	eventually(t, "the other's write", func() bool { return cat(stale) == "two\n" })
	// A write is never made on an old tree.
	before = n.n.Load()
	if _, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: stale, Script: "echo three > f"}); err != nil {
		t.Fatal(err)
	}
	if n.n.Load() < before+2 {
		t.Fatal("a write without a fence")
	}
}

// Without a listener a staleness is no licence: the fence is asked.
func TestStalenessWithoutAListenerIsIgnored(t *testing.T) {
	t.Parallel()
	s := service(t, sandbox.Config{})
	id := emptySandbox(t)
	run(t, s, id, "echo one > f")
	run(t, service(t, sandbox.Config{}), id, "echo two > f")
	c := alice
	c.MaxStaleness = time.Hour
	f, err := s.OpenFile(t.Context(), c, id, "/home/user/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(f); err != nil || b.String() != "two\n" {
		t.Fatalf("%q, %v", b.String(), err)
	}
}

func TestAutoFallsBackToVersion(t *testing.T) {
	t.Parallel()
	u := sqltest.Database(t)
	owner := sqltest.Connect(t, u)
	if _, err := owner.Exec(t.Context(), "DROP PUBLICATION pgbox"); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(context.Background(), store.Config{URL: u})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	f := feed.New(feed.Config{Mode: feed.Replication, URL: u})
	if err := f.Start(t.Context(), cache.NewTrees(st, 1)); err == nil ||
		!strings.Contains(err.Error(), "pgbox migrate up") {
		t.Fatalf("%v", err)
	}
	f = feed.New(feed.Config{URL: u})
	defer f.Stop()
	s := service(t, sandbox.Config{Store: st, Feed: f})
	if err := f.Start(t.Context(), s.Trees()); err != nil {
		t.Fatal(err)
	}
	if now, down := f.Status(); f.Active() != feed.Version || now.Mode != "version" || now.Configured != "auto" ||
		!strings.Contains(now.Reason, "migrate") || down != "" {
		t.Fatalf("%+v, %q", now, down)
	}
	b, err := s.CreateSandbox(t.Context(), alice, sandbox.NewSandbox{Name: "works"})
	if err != nil {
		t.Fatal(err)
	}
	run(t, s, b.ID, "echo one > f")
	run(t, service(t, sandbox.Config{Store: st}), b.ID, "echo two > f")
	if got := read(t, s, b.ID, "/home/user/f"); got != "two\n" {
		t.Fatalf("%q", got)
	}
}
