package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/pgbox/pgbox/gateway/cache"
	"github.com/pgbox/pgbox/gateway/feed"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/tree"
)

// replica is what a gateway has for its trees: a pool, a cache and, unless it works in version mode, a listener.
type replica struct {
	st    *store.Store
	trees *cache.Trees
	feed  *feed.Feed
}

func (e *env) replica(ctx context.Context, mode feed.Mode) (*replica, error) {
	st, err := store.Open(ctx, store.Config{URL: e.dbURL})
	if err != nil {
		return nil, err
	}
	r := &replica{st: st, trees: cache.NewTrees(st, 1<<30), feed: feed.New(feed.Config{Mode: mode, URL: e.dbURL})}
	if err := r.feed.Start(ctx, r.trees); err != nil {
		r.stop()
		return nil, err
	}
	if got := r.feed.Active(); got != mode {
		r.stop()
		return nil, fmt.Errorf("mode %s, want %s", got, mode)
	}
	return r, nil
}

func (r *replica) stop() {
	r.feed.Stop()
	r.st.Close()
}

// enter is what every exec begins with: the fence, and the tree of its version.
func (r *replica) enter(ctx context.Context, id uuid.UUID) error {
	f, err := r.st.Fence(ctx, id)
	if err != nil {
		return err
	}
	p, err := r.trees.Get(ctx, f)
	p.Release()
	return err
}

// otherWriter commits one-file writes to a sandbox, as another gateway does.
type otherWriter struct {
	st *store.Store
	id uuid.UUID
	t  *tree.Tree
	f  *store.Fence
	n  int
}

func (e *env) otherWriter(ctx context.Context, entries int) (*otherWriter, error) {
	id, _, err := e.filled(ctx, entries)
	if err != nil {
		return nil, err
	}
	w := new(otherWriter)
	if w.st, err = store.Open(ctx, store.Config{URL: e.dbURL}); err != nil {
		return nil, err
	}
	if w.id, err = uuid.Parse(id); err != nil {
		return nil, err
	}
	if w.f, err = w.st.Fence(ctx, w.id); err != nil {
		return nil, err
	}
	p, err := cache.NewTrees(w.st, 1<<30).Get(ctx, w.f)
	w.t, w.f = p.Tree, p.Fence
	return w, err
}

// write commits a new content of one file and returns when the commit was known.
func (w *otherWriter) write(ctx context.Context) (time.Time, error) {
	work := w.t.Begin(ctx, tree.Options{})
	w.n++
	if err := work.WriteFile("/tmp/written", fmt.Appendf(nil, "%s %d", w.id, w.n), 0o644); err != nil {
		return time.Time{}, err
	}
	d := work.Delta()
	a, err := w.st.Apply(ctx, store.Commit{Sandbox: w.id, Version: w.f.Version, Delta: d,
		Exec: store.Exec{ID: uuid.New(), Route: "bench"}})
	at := time.Now()
	if err != nil {
		return at, err
	}
	next := *w.f
	next.Version, next.UsedBytes, next.UsedInodes, next.NextIno = a.Version, a.UsedBytes, a.UsedInodes, int64(d.NextIno)
	w.f, w.t = &next, work.Commit(a.Version)
	return at, nil
}

// entry is a reader's way in after somebody else wrote one file.
func entry(w *otherWriter, r *replica) work {
	return func(ctx context.Context) (time.Duration, error) {
		if _, err := w.write(ctx); err != nil {
			return 0, err
		}
		start := time.Now()
		err := r.enter(ctx, w.id)
		return time.Since(start), err
	}
}

// benchListener compares a reader's entry after a write of another process: patched against reloaded.
func benchListener(entries int) func(ctx context.Context, e *env) (ratio, error) {
	return func(ctx context.Context, e *env) (ratio, error) {
		w, err := e.otherWriter(ctx, e.times(entries, 500))
		if err != nil {
			return ratio{}, err
		}
		defer w.st.Close()
		var both [2]*replica
		for i, mode := range []feed.Mode{feed.Replication, feed.Version} {
			if both[i], err = e.replica(ctx, mode); err != nil {
				return ratio{}, err
			}
			defer both[i].stop()
			if err := both[i].enter(ctx, w.id); err != nil {
				return ratio{}, err
			}
		}
		return compare(ctx, 3, e.times(7, 1), e.times(20, 2), entry(w, both[0]), entry(w, both[1]))
	}
}

// benchListenerFlat compares a reader's entry after a write of another process in a large tree and in a small one.
func benchListenerFlat(ctx context.Context, e *env) (ratio, error) {
	r, err := e.replica(ctx, feed.Replication)
	if err != nil {
		return ratio{}, err
	}
	defer r.stop()
	var steps [2]work
	for i, n := range []int{e.treeSize(), 133} {
		w, err := e.otherWriter(ctx, n)
		if err != nil {
			return ratio{}, err
		}
		defer w.st.Close()
		if err := r.enter(ctx, w.id); err != nil {
			return ratio{}, err
		}
		steps[i] = entry(w, r)
	}
	return compare(ctx, 10, e.times(9, 1), e.times(100, 2), steps[0], steps[1])
}

// benchApplied compares the time from a commit until the tree is patched with the time until a bare receiver has the
// commit.
func benchApplied(ctx context.Context, e *env) (ratio, error) {
	w, err := e.otherWriter(ctx, e.times(20_000, 500))
	if err != nil {
		return ratio{}, err
	}
	defer w.st.Close()
	r, err := e.replica(ctx, feed.Replication)
	if err != nil {
		return ratio{}, err
	}
	defer r.stop()
	if err := r.enter(ctx, w.id); err != nil {
		return ratio{}, err
	}
	commits, stop, err := bareReceiver(ctx, e.dbURL)
	if err != nil {
		return ratio{}, err
	}
	defer stop()
	var patched, bare []time.Duration
	res, err := compare(ctx, 50, e.times(9, 1), e.times(200, 5),
		func(ctx context.Context) (time.Duration, error) {
			at, err := w.write(ctx)
			if err != nil {
				return 0, err
			}
			p, err := r.trees.Get(ctx, w.f)
			took := time.Since(at)
			p.Release()
			patched = append(patched, took)
			<-commits
			return took, err
		},
		func(ctx context.Context) (time.Duration, error) {
			at, err := w.write(ctx)
			if err != nil {
				return 0, err
			}
			got, ok := <-commits
			if !ok {
				return 0, errors.New("the bare receiver ended")
			}
			took := max(0, got.Sub(at))
			bare = append(bare, took)
			p, err := r.trees.Get(ctx, w.f)
			p.Release()
			return took, err
		})
	res.detail += fmt.Sprintf(", p99 %s / %s", round(percentile(patched, 99)), round(percentile(bare, 99)))
	return res, err
}

func percentile(d []time.Duration, p int) time.Duration {
	s := slices.Clone(d)
	slices.Sort(s)
	return s[min(len(s)-1, len(s)*p/100)]
}

// bareReceiver follows the publication with pglogrepl and nothing else, and tells when each commit came.
func bareReceiver(ctx context.Context, url string) (<-chan time.Time, func(), error) {
	c, err := pgconn.ParseConfig(url)
	if err != nil {
		return nil, nil, err
	}
	c.RuntimeParams["replication"] = "database"
	conn, err := pgconn.ConnectConfig(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	commits, done := make(chan time.Time, 16), make(chan struct{})
	stop := func() {
		cancel()
		<-done
		_ = conn.Close(context.WithoutCancel(ctx))
	}
	go func() {
		defer close(done)
		defer close(commits)
		slot, err := pglogrepl.CreateReplicationSlot(ctx, conn, "bench_"+fmt.Sprint(time.Now().UnixNano()), "pgoutput",
			pglogrepl.CreateReplicationSlotOptions{Temporary: true, Mode: pglogrepl.LogicalReplication,
				SnapshotAction: "NOEXPORT_SNAPSHOT"})
		if err != nil {
			return
		}
		err = pglogrepl.StartReplication(ctx, conn, slot.SlotName, 0, pglogrepl.StartReplicationOptions{
			Mode: pglogrepl.LogicalReplication, PluginArgs: []string{"proto_version '1'",
				"publication_names '" + feed.Publication + "'"},
		})
		if err != nil {
			return
		}
		commits <- time.Time{} // it listens
		for {
			m, err := conn.ReceiveMessage(ctx)
			if err != nil {
				return
			}
			d, ok := m.(*pgproto3.CopyData)
			if !ok {
				continue
			}
			switch {
			case d.Data[0] == pglogrepl.XLogDataByteID && len(d.Data) > 25 && d.Data[25] == 'C':
				commits <- time.Now()
			case d.Data[0] == pglogrepl.PrimaryKeepaliveMessageByteID && d.Data[17] == 1:
				at := pglogrepl.LSN(binary.BigEndian.Uint64(d.Data[1:9]))
				if pglogrepl.SendStandbyStatusUpdate(ctx, conn, pglogrepl.StandbyStatusUpdate{WALWritePosition: at}) != nil {
					return
				}
			}
		}
	}()
	if _, ok := <-commits; !ok {
		stop()
		return nil, nil, errors.New("the bare receiver does not start")
	}
	return commits, stop, nil
}
