package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/gateway/cache"
	"github.com/pgbox/pgbox/gateway/store"
)

// deep makes a sandbox that stands on so many layers: files in the lowest, and one more in each above it.
func (e *env) deep(ctx context.Context, layers, files int) (id string, err error) {
	if id, _, err = e.filled(ctx, files); err != nil {
		return "", err
	}
	for n := 0; n < layers; {
		if _, err := e.owner.Exec(ctx, "SELECT fs.use($1)", id); err != nil {
			return "", err
		}
		if n > 0 {
			if _, err := e.owner.Exec(ctx, "SELECT fs.write_file('/home/user/above' || $1::integer, 'above')", n); err != nil {
				return "", err
			}
		}
		if _, err := e.owner.Exec(ctx, "SELECT fs.snapshot($1, 'depth' || $2::integer)", id, n); err != nil {
			return "", err
		}
		// With the empty top and the layer that all sandboxes share.
		if err := e.owner.QueryRow(ctx, "SELECT layers - 2 FROM fs.usage($1)", id).Scan(&n); err != nil {
			return "", err
		}
	}
	_, err = e.owner.Exec(ctx, "ANALYZE pgbox.inode, pgbox.dirent, pgbox.chunk, pgbox.layer, pgbox.sandbox")
	return id, err
}

// benchDepth compares a statement in a sandbox on a deep chain of layers (A) with the same on one layer (B), in SQL.
func benchDepth(layers int, sql string) func(ctx context.Context, e *env) (ratio, error) {
	return func(ctx context.Context, e *env) (ratio, error) {
		var steps [2]work
		for i, n := range []int{layers, 1} {
			id, err := e.deep(ctx, n, e.times(1000, 50))
			if err != nil {
				return ratio{}, err
			}
			steps[i] = func(ctx context.Context) (took time.Duration, err error) {
				err = pgx.BeginFunc(ctx, e.owner, func(tx pgx.Tx) error {
					if _, err := tx.Exec(ctx, "SELECT fs.use($1)", id); err != nil {
						return err
					}
					start := time.Now()
					defer func() { took = time.Since(start) }()
					_, err := tx.Exec(ctx, sql)
					return err
				})
				return took, err
			}
		}
		return compare(ctx, e.times(10, 1), e.times(7, 1), e.times(50, 2), steps[0], steps[1])
	}
}

const (
	sqlResolve = "SELECT fs.resolve('/home/user/../user')"
	sqlReaddir = "SELECT count(*) FROM fs.readdir('/home/user')"
)

// benchFlatten is a flatten of 16 layers over a large one against copying the rows of the result with plain statements.
func benchFlatten(ctx context.Context, e *env) (ratio, error) {
	id, err := e.deep(ctx, 16, e.times(10_000, 100))
	if err != nil {
		return ratio{}, err
	}
	undone := errors.New("undone")
	// Neither is committed, so that both find the same the next time.
	step := func(f func(tx pgx.Tx) error) work {
		return func(ctx context.Context) (took time.Duration, err error) {
			err = pgx.BeginFunc(ctx, e.owner, func(tx pgx.Tx) error {
				start := time.Now()
				if err := f(tx); err != nil {
					return err
				}
				took = time.Since(start)
				return undone
			})
			if errors.Is(err, undone) {
				err = nil
			}
			return took, err
		}
	}
	flatten := step(func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SELECT fs.flatten($1)", id)
		return err
	})
	raw := step(func(tx pgx.Tx) error {
		for table, columns := range map[string]string{
			"inode": "ino, kind, mode, uid, gid, nlink, rdev, size, mtime, ctime, target", "dirent": "parent_ino, name, ino",
			"chunk": "ino, idx, sha256",
		} {
			sql := fmt.Sprintf("INSERT INTO pgbox.%s (layer_id, %s) SELECT gen.id, %s FROM pgbox.%s r, (SELECT gen_random_uuid() AS id OFFSET 0) gen WHERE r.layer_id = (SELECT layers[cardinality(layers) - 1] FROM pgbox.sandbox WHERE id = $1)", table, columns, columns, table)
			if _, err := tx.Exec(ctx, sql, id); err != nil {
				return err
			}
		}
		return nil
	})
	return compare(ctx, 1, e.times(5, 1), e.times(3, 1), flatten, raw)
}

// benchEdit is a script that changes one byte of a file of 1 GiB in a sealed layer, against the same in 1 MiB.
func benchEdit(ctx context.Context, e *env) (ratio, error) {
	var steps [2]work
	for i, chunks := range []int{e.times(1<<14, 64), 16} {
		id, route, err := e.sandbox(ctx)
		if err != nil {
			return ratio{}, err
		}
		if _, err := e.exec(ctx, route, map[string]any{"script": "head -c 1048576 /dev/zero | tr '\\0' x > f"}); err != nil {
			return ratio{}, err
		}
		// The rest has the same content, so that a gigabyte of rows is made and not of bytes.
		for _, sql := range []string{
			"UPDATE pgbox.sandbox SET version = version + 1, tree_version = version + 1, used_bytes = $2::bigint * 65536 WHERE id = $1",
			"UPDATE pgbox.inode i SET size = $2::bigint * 65536 FROM pgbox.sandbox s WHERE s.id = $1 AND i.layer_id = s.layers[1] AND i.kind = 8",
			`INSERT INTO pgbox.chunk SELECT c.layer_id, c.ino, g, c.sha256 FROM pgbox.sandbox s JOIN pgbox.chunk c ON c.layer_id = s.layers[1] AND c.idx = 0, generate_series(16, $2::bigint - 1) g WHERE s.id = $1`,
		} {
			if _, err := e.owner.Exec(ctx, sql, id, chunks); err != nil {
				return ratio{}, err
			}
		}
		if _, err := e.owner.Exec(ctx, "SELECT fs.snapshot($1, 'sealed')", id); err != nil {
			return ratio{}, err
		}
		n := 0
		steps[i] = timed(func(ctx context.Context) error {
			n++
			_, err := e.exec(ctx, route,
				map[string]any{"script": fmt.Sprintf("printf y | dd of=f bs=1 seek=%d conv=notrunc status=none", n*4099%(1<<20))})
			return err
		})
	}
	return compare(ctx, e.times(10, 1), e.times(7, 1), e.times(20, 2), steps[0], steps[1])
}

// benchWarmForks is the memory of the trees of 1000 forks of a sandbox of 10 000 files in a gateway's cache, against
// that of one.
func benchWarmForks(ctx context.Context, e *env) (ratio, error) {
	id, _, err := e.filled(ctx, e.times(10_000, 500))
	if err != nil {
		return ratio{}, err
	}
	st, err := store.Open(ctx, store.Config{URL: e.dbURL})
	if err != nil {
		return ratio{}, err
	}
	defer st.Close()
	forks := e.times(1000, 100)
	var ids []uuid.UUID
	for range forks / 100 {
		some := make([]uuid.UUID, 100)
		for i := range some {
			some[i] = uuid.New()
		}
		if _, err := e.owner.Exec(ctx, "SELECT fs.fork($1, $2, 'fork')", id, some); err != nil {
			return ratio{}, err
		}
		ids = append(ids, some...)
	}
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	trees := cache.NewTrees(st, 1<<30)
	warm := func(ids []uuid.UUID) error {
		for _, id := range ids {
			f, err := st.Fence(ctx, id)
			if err != nil {
				return err
			}
			pin, err := trees.Get(ctx, f)
			if err != nil {
				return err
			}
			pin.Release()
		}
		return nil
	}
	// The store's own buffers are there after the first.
	before := heap()
	if err := warm(ids[:1]); err != nil {
		return ratio{}, err
	}
	one := heap() - before
	if err := warm(ids); err != nil {
		return ratio{}, err
	}
	all := heap() - before
	for _, id := range ids {
		if _, ok := trees.Known(id); !ok {
			return ratio{}, fmt.Errorf("fork %s is not warm", id)
		}
	}
	r := all / one
	return ratio{median: r, lo: r, hi: r, detail: fmt.Sprintf("%.1f MiB / %.1f MiB", all/(1<<20), one/(1<<20))}, nil
}
