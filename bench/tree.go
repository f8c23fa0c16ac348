package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/tree"
)

// treeSize is how many entries the trees of these benchmarks have.
func (e *env) treeSize() int { return e.times(100_000, 2000) }

// coldLoad loads the layers of a sandbox and builds its tree, as a gateway does that has never seen it.
func coldLoad(ctx context.Context, st *store.Store, id uuid.UUID) (*tree.Tree, error) {
	f, err := st.Fence(ctx, id)
	if err != nil {
		return nil, err
	}
	_, patches, err := st.LoadLayers(ctx, f, f.Layers)
	if err != nil {
		return nil, err
	}
	t := tree.Empty()
	for i := len(patches) - 1; i >= 0; i-- { // newest first
		if t, err = t.Patch(patches[i]); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (e *env) largeSandbox(ctx context.Context) (uuid.UUID, *store.Store, error) {
	id, _, err := e.filled(ctx, e.treeSize())
	if err != nil {
		return uuid.Nil, nil, err
	}
	st, err := store.Open(ctx, store.Config{URL: e.dbURL})
	if err != nil {
		return uuid.Nil, nil, err
	}
	u, err := uuid.Parse(id)
	return u, st, err
}

func benchTreeLoad(ctx context.Context, e *env) (ratio, error) {
	id, st, err := e.largeSandbox(ctx)
	if err != nil {
		return ratio{}, err
	}
	defer st.Close()
	var layers []uuid.UUID
	if err := e.owner.QueryRow(ctx, "SELECT layers FROM pgbox.sandbox WHERE id = $1", id).Scan(&layers); err != nil {
		return ratio{}, err
	}
	if _, err := e.owner.Exec(ctx, "VACUUM ANALYZE pgbox.inode, pgbox.dirent, pgbox.chunk"); err != nil {
		return ratio{}, err
	}
	return compare(ctx, 1, e.times(7, 1), e.times(3, 1),
		timed(func(ctx context.Context) error {
			t, err := coldLoad(ctx, st, id)
			if err == nil && t.Len() < e.treeSize() {
				err = fmt.Errorf("%d entries of %d", t.Len(), e.treeSize())
			}
			return err
		}),
		timed(func(ctx context.Context) error { return e.rawSelect(ctx, layers) }))
}

// rawSelect reads the same rows with plain statements and keeps them in slices of structs.
func (e *env) rawSelect(ctx context.Context, layers []uuid.UUID) error {
	type inode struct {
		ino, size, mtime, ctime     int64
		kind                        int16
		mode, uid, gid, nlink, rdev int32
		target                      *string
	}
	type dirent struct {
		parent int64
		name   string
		ino    *int64
	}
	type chunk struct {
		ino  int64
		idx  int32
		hash []byte
	}
	var (
		inodes  []inode
		dirents []dirent
		chunks  []chunk
	)
	rows, err := e.owner.Query(ctx,
		"SELECT ino, kind, mode, uid, gid, nlink, rdev, size, mtime, ctime, target FROM pgbox.inode WHERE layer_id = ANY ($1) ORDER BY layer_id, ino", layers)
	if err != nil {
		return err
	}
	for rows.Next() {
		var i inode
		if err := rows.Scan(&i.ino, &i.kind, &i.mode, &i.uid, &i.gid, &i.nlink, &i.rdev, &i.size, &i.mtime, &i.ctime,
			&i.target); err != nil {
			return err
		}
		inodes = append(inodes, i)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	rows, err = e.owner.Query(ctx,
		"SELECT parent_ino, name, ino FROM pgbox.dirent WHERE layer_id = ANY ($1) ORDER BY layer_id, parent_ino, name",
		layers)
	if err != nil {
		return err
	}
	for rows.Next() {
		var d dirent
		if err := rows.Scan(&d.parent, &d.name, &d.ino); err != nil {
			return err
		}
		dirents = append(dirents, d)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	rows, err = e.owner.Query(ctx,
		"SELECT ino, idx, sha256 FROM pgbox.chunk WHERE layer_id = ANY ($1) ORDER BY layer_id, ino, idx", layers)
	if err != nil {
		return err
	}
	for rows.Next() {
		var c chunk
		if err := rows.Scan(&c.ino, &c.idx, &c.hash); err != nil {
			return err
		}
		chunks = append(chunks, c)
	}
	if len(inodes) == 0 || len(dirents) == 0 || len(chunks) == 0 {
		return fmt.Errorf("%d inodes, %d names, %d chunks", len(inodes), len(dirents), len(chunks))
	}
	return rows.Err()
}

// bytesPerEntry is the bar for what a cached tree may cost.
const bytesPerEntry = 300

func benchTreeBytes(ctx context.Context, e *env) (ratio, error) {
	id, st, err := e.largeSandbox(ctx)
	if err != nil {
		return ratio{}, err
	}
	defer st.Close()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	start, before := time.Now(), heap()
	t, err := coldLoad(ctx, st, id)
	if err != nil {
		return ratio{}, err
	}
	per := float64(heap()-before) / float64(t.Len())
	runtime.KeepAlive(t)
	r := per / bytesPerEntry
	return ratio{median: r, lo: r, hi: r, detail: fmt.Sprintf("%.0f bytes / %d (%d entries, %s)", per, bytesPerEntry,
		t.Len(), round(time.Since(start)))}, nil
}
