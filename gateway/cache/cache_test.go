package cache_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/cache"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
)

func TestMain(m *testing.M) { sqltest.Main(m) }

// source is the store, counted, and held up where the test asks for it.
type source struct {
	*store.Store
	loads, rows, reads atomic.Int64
	hold               atomic.Pointer[chan struct{}] // loads and reads wait for it
	after              atomic.Pointer[chan struct{}] // what a load has read waits for it
	read               atomic.Value                  // the first layer of the last load that was read
	panics             atomic.Int64                  // so many loads panic
}

func newSource(t testing.TB) *source {
	t.Helper()
	s, err := store.Open(context.Background(), store.Config{URL: sqltest.ServingURL(t, sqltest.URL(t))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &source{Store: s}
}

func (s *source) wait(ctx context.Context) error {
	if h := s.hold.Load(); h != nil {
		select {
		case <-*h:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (s *source) LoadLayers(
	ctx context.Context, asked *store.Fence, layers []uuid.UUID,
) (*store.Fence, []*tree.Patch, error) {
	s.loads.Add(1)
	if err := s.wait(ctx); err != nil {
		return nil, nil, err
	}
	if s.panics.Add(-1) >= 0 {
		panic("a bug in a load")
	}
	f, p, err := s.Store.LoadLayers(ctx, asked, layers)
	for _, p := range p {
		s.rows.Add(int64(len(p.Inodes) + len(p.Dirents) + len(p.Chunks)))
	}
	s.read.Store(layers[0])
	if h := s.after.Load(); h != nil && err == nil && layers[0] == f.Layers[0] {
		<-*h
	}
	return f, p, err
}

func (s *source) ReadBlobs(ctx context.Context, id uuid.UUID, h []tree.Hash) ([][]byte, error) {
	s.reads.Add(1)
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.Store.ReadBlobs(ctx, id, h)
}

func fence(t testing.TB, s *source, id uuid.UUID) *store.Fence {
	t.Helper()
	f, err := s.Fence(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func get(t testing.TB, c *cache.Trees, f *store.Fence) cache.Pin {
	t.Helper()
	p, err := c.Get(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	if p.Fence.Version < f.Version || p.Tree.Version() != p.Fence.Version {
		t.Fatalf("asked for version %d, got the fence of %d and the tree of %d", f.Version, p.Fence.Version, p.Tree.Version())
	}
	return p
}

// commit changes a sandbox behind the cache's back.
func commit(t testing.TB, s *source, id uuid.UUID, fn func(w *tree.Work) error) (*store.Fence, *tree.Delta) {
	t.Helper()
	ctx := context.Background()
	c := cache.NewTrees(s.Store, 1)
	p := get(t, c, fence(t, s, id))
	defer p.Release()
	w := p.Tree.Begin(ctx, tree.Options{})
	if err := fn(w); err != nil {
		t.Fatal(err)
	}
	d := w.Delta()
	if _, err := s.Apply(ctx, store.Commit{Sandbox: id, Version: p.Fence.Version, Delta: d,
		Exec: store.Exec{ID: uuid.New()}}); err != nil {
		t.Fatal(err)
	}
	return fence(t, s, id), d
}

// A request that dies in a load must not leave those behind it waiting for ever.
func TestALoadThatPanicsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"the sealed layers", "the top layer"} {
		s := newSource(t)
		id := sqltest.Sandbox(t, sqltest.Pool(t))
		f, _ := commit(t, s, id, files(1))
		c := cache.NewTrees(s, 1<<30)
		if name == "the top layer" {
			// The sealed ones are there already.
			p := get(t, c, f)
			p.Release()
			c.Drop(id)
		}
		s.panics.Store(1)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			_, _ = c.Get(t.Context(), f)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		p, err := c.Get(ctx, f)
		cancel()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p.Release()
	}
}

// files makes n files in a sandbox.
func files(n int) func(w *tree.Work) error {
	return func(w *tree.Work) error {
		for i := range n {
			if err := w.WriteFile(fmt.Sprintf("/tmp/file%d", i), fmt.Appendf(nil, "content %d", i), 0o644); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestForkLoadsOnlyItsTopLayer(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	id := sqltest.Sandbox(t, sqltest.Pool(t))
	commit(t, s, id, files(2000))
	var forks []uuid.UUID
	for range 10 {
		b, err := forked(s.Fork(t.Context(), id, []uuid.UUID{uuid.New()}, "fork", "owner", "", store.Exec{}, nil))
		if err != nil {
			t.Fatal(err)
		}
		forks = append(forks, b.ID)
	}
	c := cache.NewTrees(s, 1<<30)
	first := get(t, c, fence(t, s, forks[0]))
	first.Release()
	weight, rows := c.Weight(), s.rows.Load()
	for _, f := range forks[1:] {
		p := get(t, c, fence(t, s, f))
		if _, err := p.Tree.Lookup("/tmp/file1999", true); err != nil {
			t.Fatal(err)
		}
		p.Release()
	}
	if s.rows.Load() != rows {
		t.Errorf("nine more forks loaded %d rows", s.rows.Load()-rows)
	}
	if more := c.Weight() - weight; more > weight/4 {
		t.Errorf("one fork weighs %d bytes, nine more weigh %d", weight, more)
	}
	if loads := s.loads.Load(); loads != 11 {
		t.Errorf("%d loads: one of the chain and one of each top were to be expected", loads)
	}
}

func TestAVersionIsLoadedOnce(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	id := sqltest.Sandbox(t, sqltest.Pool(t))
	f, _ := commit(t, s, id, files(10))
	c := cache.NewTrees(s, 1<<30)
	hold := make(chan struct{})
	s.hold.Store(&hold)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			p := get(t, c, f)
			p.Release()
		})
	}
	// One of those who wait for the load goes away, and the load itself is not its business.
	ctx, cancel := context.WithCancel(t.Context())
	wg.Go(func() {
		p, _ := c.Get(ctx, f)
		p.Release()
	})
	for s.loads.Load() == 0 {
		runtime.Gosched()
	}
	cancel()
	close(hold)
	wg.Wait()
	if n := s.loads.Load(); n > 3 {
		t.Fatalf("%d loads of one version of two layers", n)
	}
	before := s.loads.Load()
	f, _ = commit(t, s, id, files(11))
	p := get(t, c, f)
	p.Release()
	if n := s.loads.Load() - before; n != 1 {
		t.Fatalf("%d loads of the next version: the sealed layer is there", n)
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	const max = 600 << 10
	c := cache.NewTrees(s, max)
	var pinned cache.Pin
	var fences []*store.Fence
	for i := range 12 {
		id := sqltest.Sandbox(t, sqltest.Pool(t))
		f, _ := commit(t, s, id, files(300))
		fences = append(fences, f)
		p := get(t, c, f)
		if i == 0 {
			pinned = p
			continue
		}
		p.Release()
		if c.Weight() > max {
			t.Fatalf("%d bytes held, the budget is %d", c.Weight(), max)
		}
	}
	if n := c.Len(); n >= 12 || n < 2 {
		t.Fatalf("%d trees in the cache", n)
	}
	if _, ok := c.Known(fences[0].ID); !ok {
		t.Fatal("a tree in use was dropped")
	}
	if _, ok := c.Known(fences[1].ID); ok {
		t.Fatal("the least recently used tree is still there")
	}
	if _, ok := c.Known(fences[11].ID); !ok {
		t.Fatal("the tree used last is not there")
	}
	pinned.Release()
	loads := s.loads.Load()
	for _, f := range fences[1:] {
		p := get(t, c, f)
		p.Release()
	}
	if _, ok := c.Known(fences[0].ID); ok {
		t.Fatal("a tree that is not in use any more stays for ever")
	}
	// The base layer is in use by all of them, however seldom it is asked for.
	if n := s.loads.Load() - loads; n > 11 {
		t.Fatalf("%d loads of 11 trees", n)
	}
	c.DropAll()
	if c.Weight() != 0 || c.Len() != 0 {
		t.Fatalf("%d bytes in %d trees after everything was dropped", c.Weight(), c.Len())
	}
	// Nothing fits: everything works all the same.
	tiny := cache.NewTrees(s, 1)
	for _, f := range fences {
		p := get(t, tiny, f)
		p.Release()
	}
	if tiny.Weight() != 0 {
		t.Fatalf("%d bytes held, the budget is 1", tiny.Weight())
	}
}

func TestDatabaseThatWentBackIsBelieved(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	id := sqltest.Sandbox(t, sqltest.Pool(t))
	commit(t, s, id, files(1))
	f, _ := commit(t, s, id, files(2))
	c := cache.NewTrees(s, 1<<30)
	p := get(t, c, f)
	p.Release()
	// As after a failover to a standby that lacked the last commits.
	if _, err := sqltest.Owner(t).Exec(t.Context(), "UPDATE pgbox.sandbox SET version = version - 1 WHERE id = $1",
		id); err != nil {
		t.Fatal(err)
	}
	back := fence(t, s, id)
	p = get(t, c, back)
	defer p.Release()
	if p.Fence.Version != back.Version {
		t.Fatalf("version %d is shown, Postgres has %d", p.Fence.Version, back.Version)
	}
}

// After a failover that lost the last commit, and another one in its place: the version is that of the cached tree, the
// tree is not.
func TestTreeOfALostHistoryIsNotBelieved(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	id := sqltest.Sandbox(t, sqltest.Pool(t))
	commit(t, s, id, files(1))
	f, _ := commit(t, s, id, files(2))
	c := cache.NewTrees(s, 1<<30)
	p := get(t, c, f)
	p.Release()
	owner, lost := sqltest.Owner(t), f.Version
	for _, sql := range []string{"UPDATE pgbox.sandbox SET version = version - 1 WHERE id = $1",
		"DELETE FROM pgbox.change c USING pgbox.sandbox s WHERE s.id = $1 AND c.sandbox_id = s.id AND c.version > s.version"} {
		if _, err := owner.Exec(t.Context(), sql, id); err != nil {
			t.Fatal(err)
		}
	}
	f, _ = commit(t, s, id, files(3))
	loads := s.loads.Load()
	p = get(t, c, f)
	defer p.Release()
	if f.Version != lost || s.loads.Load() == loads {
		t.Fatalf("version %d, lost was %d; %d loads", f.Version, lost, s.loads.Load()-loads)
	}
}

// A commit that is heard of a primary that dies before its standby has it: what comes in its place has the same
// version. Nothing is made of the tree of what was lost, however far the listener of the dead one had come.
func TestTreeOfALostCommitThatWasHeardIsNotBelieved(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	for _, ahead := range []int64{1, 2} {
		id := sqltest.Sandbox(t, sqltest.Pool(t))
		f0, _ := commit(t, s, id, files(1))
		c := cache.NewTrees(s, 1<<30)
		c.Following(true)
		p := get(t, c, f0)
		p.Release()
		at := f0.ChangedAt.Add(-time.Second)
		for n := range ahead {
			w := p.Tree.Begin(t.Context(), tree.Options{})
			if err := w.Mkdir(fmt.Sprintf("/tmp/lost%d", n), 0o755); err != nil {
				t.Fatal(err)
			}
			lost := *f0
			lost.Version, lost.NextIno, lost.ChangedAt = f0.Version+n+1, f0.NextIno+10, &at
			if out := c.Follow(heard(&lost, w.Delta())); out != cache.Patched {
				t.Fatalf("%v", out)
			}
		}
		f, d := commit(t, s, id, files(2))
		p = get(t, c, f)
		if _, err := p.Tree.Lookup("/tmp/lost0", true); err == nil {
			t.Errorf("%d ahead: a directory is there that no commit made", ahead)
		}
		p.Release()
		// The row of another history is not put on the tree that is there.
		lost := *f
		lost.ChangedAt = &at
		if out := c.Follow(heard(&lost, d)); out != cache.Dropped {
			t.Errorf("%d ahead: what the dead one sends still is %v", ahead, out)
		}
	}
}

// The cache has a version that Postgres has shown, and then Postgres goes back behind it: the next who asks sees what
// Postgres has.
func TestTreeAheadOfADatabaseThatWentBackIsNotBelieved(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	id := sqltest.Sandbox(t, sqltest.Pool(t))
	f0, _ := commit(t, s, id, files(1))
	f1, _ := commit(t, s, id, files(2))
	c := cache.NewTrees(s, 1<<30)
	c.Following(true)
	p := get(t, c, f1)
	p.Release()
	owner := sqltest.Owner(t)
	if _, err := owner.Exec(t.Context(), "UPDATE pgbox.sandbox SET version = version - 1, last_used_at = $2 WHERE id = $1",
		id, f0.ChangedAt); err != nil {
		t.Fatal(err)
	}
	p = get(t, c, fence(t, s, id))
	defer p.Release()
	if p.Fence.Version != f0.Version {
		t.Fatalf("version %d is shown, Postgres has %d", p.Fence.Version, f0.Version)
	}
}

func TestOlderFenceGetsTheNewerTree(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	id := sqltest.Sandbox(t, sqltest.Pool(t))
	old := fence(t, s, id)
	f, _ := commit(t, s, id, files(1))
	c := cache.NewTrees(s, 1<<30)
	p := get(t, c, f)
	p.Release()
	loads := s.loads.Load()
	p = get(t, c, old)
	defer p.Release()
	if p.Fence.Version != f.Version || s.loads.Load() != loads {
		t.Fatalf("version %d after %d loads", p.Fence.Version, s.loads.Load()-loads)
	}
}

// heard is a commit as a listener hands it in.
func heard(f *store.Fence, d *tree.Delta) *cache.Commit {
	return &cache.Commit{Fence: *f, First: f.Version,
		Layers: map[uuid.UUID]*cache.Rows{f.Layers[0]: {Patch: *d.Patch(f.Version)}}}
}

func TestFollowPatchesOrDrops(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	id := sqltest.Sandbox(t, sqltest.Pool(t))
	c := cache.NewTrees(s, 1<<30)
	c.Following(true)
	f0 := fence(t, s, id)
	if out := c.Follow(&cache.Commit{Fence: *f0, First: f0.Version}); out != cache.Absent {
		t.Fatalf("a tree that is not there: %v", out)
	}
	p := get(t, c, f0)
	p.Release()
	f1, d := commit(t, s, id, files(1))
	loads := s.loads.Load()
	if out := c.Follow(heard(f1, d)); out != cache.Patched {
		t.Fatalf("the next version: %v", out)
	}
	if out := c.Follow(heard(f1, d)); out != cache.Current {
		t.Fatalf("the same version again: %v", out)
	}
	p = get(t, c, f1)
	if _, err := p.Tree.Lookup("/tmp/file0", true); err != nil || s.loads.Load() != loads {
		t.Fatalf("%v after %d loads", err, s.loads.Load()-loads)
	}
	p.Release()
	commit(t, s, id, files(2))
	f3, d := commit(t, s, id, files(3))
	if out := c.Follow(heard(f3, d)); out != cache.Dropped {
		t.Fatalf("over a gap: %v", out)
	}
	if _, ok := c.Known(id); ok {
		t.Fatal("a tree with a gap is still there")
	}
	// Rows that were not kept, although the version follows.
	p = get(t, c, f3)
	p.Release()
	f4, d := commit(t, s, id, files(4))
	lost := heard(f4, d)
	lost.Layers[f4.Layers[0]] = &cache.Rows{Lost: true}
	if out := c.Follow(lost); out != cache.Dropped {
		t.Fatalf("without its rows: %v", out)
	}
}

// A commit is heard before it can be seen, and may never be: nobody gets its tree until the fence has its version.
func TestACommitHeardEarlyIsNotShown(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	id := sqltest.Sandbox(t, sqltest.Pool(t))
	c := cache.NewTrees(s, 1<<30)
	c.Following(true)
	f0 := fence(t, s, id)
	p := get(t, c, f0)
	p.Release()
	f1, d := commit(t, s, id, files(1))
	loads := s.loads.Load()
	if out := c.Follow(heard(f1, d)); out != cache.Patched {
		t.Fatalf("%v", out)
	}
	p = get(t, c, f0)
	if _, err := p.Tree.Lookup("/tmp/file0", true); p.Fence.Version != f0.Version || err == nil {
		t.Errorf("the tree of version %d, with the file: %v", p.Fence.Version, err)
	}
	p.Release()
	if _, ok := c.Cached(id); ok {
		t.Error("given out unseen")
	}
	p = get(t, c, f1)
	p.Release()
	p, ok := c.Cached(id)
	if !ok || p.Fence.Version != f1.Version {
		t.Error("not given out although it was seen")
	}
	p.Release()
	if n := s.loads.Load() - loads; n != 0 {
		t.Errorf("%d loads", n)
	}
}

func TestForkIsFollowed(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	id := sqltest.Sandbox(t, sqltest.Pool(t))
	f0, _ := commit(t, s, id, files(3))
	c := cache.NewTrees(s, 1<<30)
	c.Following(true)
	p := get(t, c, f0)
	p.Release()
	fork, err := forked(s.Fork(t.Context(), id, []uuid.UUID{uuid.New()}, "fork", "owner", "", store.Exec{}, nil))
	if err != nil {
		t.Fatal(err)
	}
	f1 := fence(t, s, id)
	loads := s.loads.Load()
	if out := c.Follow(&cache.Commit{Fence: *f1, First: f1.Version,
		Layers: map[uuid.UUID]*cache.Rows{f1.Layers[0]: {New: true}}}); out != cache.Patched {
		t.Fatalf("a fork: %v", out)
	}
	p = get(t, c, f1)
	p.Release()
	if n := s.loads.Load() - loads; n != 0 {
		t.Errorf("%d loads of a tree that did not change", n)
	}
	// The other side stands on the chain that was the tree.
	p = get(t, c, fence(t, s, fork.ID))
	p.Release()
	if n := s.loads.Load() - loads; n != 1 {
		t.Errorf("%d loads of a fork, whose top layer alone is new", n)
	}
}

func TestGetWaitsForThePatch(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	id := sqltest.Sandbox(t, sqltest.Pool(t))
	c := cache.NewTrees(s, 1<<30)
	c.Following(true)
	f0, _ := commit(t, s, id, files(20000))
	p := get(t, c, f0)
	p.Release()
	// It waits about 25 ms, in which a busy machine may not get to the patch: one time of many is enough.
	waited := func() bool {
		f1, d := commit(t, s, id, files(1))
		loads := s.loads.Load()
		done := make(chan struct{})
		go func() {
			defer close(done)
			p := get(t, c, f1)
			p.Release()
		}()
		for !c.Awaited(id) && s.loads.Load() == loads {
			runtime.Gosched()
		}
		c.Follow(heard(f1, d))
		<-done
		return s.loads.Load() == loads
	}
	for attempt := 1; !waited(); attempt++ {
		if attempt == 100 {
			t.Fatal("no patch was waited for")
		}
	}
	loads := s.loads.Load()
	// A patch that does not come is not waited for long.
	f2, _ := commit(t, s, id, files(2))
	p = get(t, c, f2)
	p.Release()
	if n := s.loads.Load() - loads; n != 1 {
		t.Fatalf("%d loads", n)
	}
}

func TestCommitHeardDuringALoadIsNotLost(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	id := sqltest.Sandbox(t, sqltest.Pool(t))
	f0, _ := commit(t, s, id, files(1))
	c := cache.NewTrees(s, 1<<30)
	c.Following(true)
	hold := make(chan struct{})
	s.after.Store(&hold)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p, err := c.Get(context.Background(), f0)
		if err != nil {
			t.Error(err)
		}
		p.Release()
	}()
	// The rows of the top layer have been read, and are not in the cache yet.
	for s.read.Load() != f0.Layers[0] {
		runtime.Gosched()
	}
	// More than one, because each follows on the one before.
	var last *store.Fence
	for n := range 3 {
		f, d := commit(t, s, id, files(n+2))
		if out := c.Follow(heard(f, d)); out != cache.Absent {
			t.Fatalf("%v", out)
		}
		last = f
	}
	s.after.Store(nil)
	close(hold)
	<-done
	if f, ok := c.Known(id); !ok || f.Version != last.Version {
		t.Fatalf("the cache has %+v, version %d was heard", f, last.Version)
	}
}

func TestLoadBegunBeforeDropAllIsNotKept(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	f, _ := commit(t, s, sqltest.Sandbox(t, sqltest.Pool(t)), files(1))
	c := cache.NewTrees(s, 1<<30)
	hold := make(chan struct{})
	s.hold.Store(&hold)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p := get(t, c, f)
		p.Release()
	}()
	for s.loads.Load() == 0 {
		runtime.Gosched()
	}
	c.DropAll()
	close(hold)
	<-done
	if c.Len() != 0 {
		t.Fatal("a tree from before is kept")
	}
}

func TestBlobIsReadOnce(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	id := sqltest.Sandbox(t, sqltest.Pool(t))
	data := []byte("content of " + id.String())
	if err := s.PutBlobs(t.Context(), id, [][]byte{data}); err != nil {
		t.Fatal(err)
	}
	h := tree.Hash(sha256.Sum256(data))
	b := cache.NewBlobs(s, 1<<20)
	content := b.Of(id)
	if _, ok := content.Peek(h); ok {
		t.Fatal("there before it was read")
	}
	hold := make(chan struct{})
	s.hold.Store(&hold)
	// The first reader goes away during its read; the others must not suffer for it.
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() { _, err := content.Load(ctx, []tree.Hash{h}); first <- err }()
	for s.reads.Load() == 0 {
		runtime.Gosched()
	}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			got, err := content.Load(t.Context(), []tree.Hash{h, h})
			if err != nil || string(got[0]) != string(data) || string(got[1]) != string(data) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(hold)
	wg.Wait()
	reads := s.reads.Load()
	if got, err := content.Load(t.Context(), []tree.Hash{h}); err != nil || string(got[0]) != string(data) ||
		s.reads.Load() != reads {
		t.Fatalf("%q, %v after %d more reads", got, err, s.reads.Load()-reads)
	}
	if _, ok := content.Peek(h); !ok {
		t.Fatal("not there after it was read")
	}
	_, err := content.Load(t.Context(), []tree.Hash{h, sha256.Sum256([]byte("no such content"))})
	if !errors.Is(err, vfs.EIO) {
		t.Fatalf("a chunk that does not exist: %v", err)
	}
}

func TestBlobsStayUnderTheirBound(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	b := cache.NewBlobs(s, 1<<20)
	for i := range 200 {
		data := make([]byte, 64<<10)
		data[0] = byte(i)
		b.Put(sha256.Sum256(data), data)
	}
	deadline := time.Now().Add(time.Minute)
	for b.Weight() > 1<<20 {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes held", b.Weight())
		}
		runtime.Gosched()
	}
}

// forked is the one sandbox that a fork made.
func forked(list []store.Sandbox, err error) (*store.Sandbox, error) {
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}
