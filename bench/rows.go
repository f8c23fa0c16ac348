package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// raw are tables like pgbox's own, for the baselines: same columns, keys, checks and storage.
const raw = `
CREATE SCHEMA IF NOT EXISTS raw;
CREATE TABLE IF NOT EXISTS raw.inode  (LIKE pgbox.inode  INCLUDING ALL);
CREATE TABLE IF NOT EXISTS raw.dirent (LIKE pgbox.dirent INCLUDING ALL);
CREATE TABLE IF NOT EXISTS raw.chunk  (LIKE pgbox.chunk  INCLUDING ALL);
CREATE TABLE IF NOT EXISTS raw.blob   (LIKE pgbox.blob   INCLUDING ALL);`

// rawInsert writes the rows of n files of the given contents, one unnest insert a table, in one transaction.
func (e *env) rawInsert(ctx context.Context, contents [][]byte) error {
	n := len(contents)
	layer := uuid.New()
	var (
		inos, sizes, mtimes = make([]int64, n), make([]int64, n), make([]int64, n)
		names               = make([]string, n)
		hashes              = make([][]byte, n)
		now                 = time.Now().UnixNano()
	)
	for i, c := range contents {
		h := sha256.Sum256(c)
		inos[i], sizes[i], mtimes[i], names[i], hashes[i] = int64(1024+i), int64(len(c)), now, fmt.Sprintf("f%d", i), h[:]
	}
	return pgx.BeginFunc(ctx, e.owner, func(tx pgx.Tx) error {
		for _, q := range []struct {
			sql  string
			args []any
		}{
			{"INSERT INTO raw.blob (sha256, size, data) SELECT h, octet_length(d), d FROM unnest($1::bytea[], $2::bytea[]) AS t(h, d) ON CONFLICT DO NOTHING", []any{hashes, contents}},
			{"INSERT INTO raw.inode (layer_id, ino, kind, mode, uid, gid, nlink, size, mtime, ctime) SELECT $1, i, 8, 420, 1000, 1000, 1, s, m, m FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS t(i, s, m)", []any{layer, inos, sizes, mtimes}},
			{"INSERT INTO raw.dirent (layer_id, parent_ino, name, ino) SELECT $1, 1023, n, i FROM unnest($2::text[], $3::bigint[]) AS t(n, i)", []any{layer, names, inos}},
			{"INSERT INTO raw.chunk (layer_id, ino, idx, sha256) SELECT $1, i, 0, h FROM unnest($2::bigint[], $3::bytea[]) AS t(i, h)", []any{layer, inos, hashes}},
		} {
			if _, err := tx.Exec(ctx, q.sql, q.args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// contents are n different texts of 1 KiB.
func contents(round, n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = fmt.Appendf(nil, "%-1024d", round*1_000_003+i)
	}
	return out
}

func benchCommit(ctx context.Context, e *env) (ratio, error) {
	if _, err := e.owner.Exec(ctx, raw); err != nil {
		return ratio{}, err
	}
	_, route, err := e.sandbox(ctx)
	if err != nil {
		return ratio{}, err
	}
	a, b := 0, 1<<20
	return compare(ctx, e.times(3, 1), e.times(7, 1), e.times(5, 1),
		timed(func(ctx context.Context) error {
			a++
			_, err := e.exec(ctx, route,
				map[string]any{"script": fmt.Sprintf("mkdir d%[1]d; for ((i=0;i<1000;i++)); do printf '%%-1024d' $((%[1]d*1000003+i)) > d%[1]d/f$i; done", a)})
			return err
		}),
		func(ctx context.Context) (time.Duration, error) {
			b++
			c := contents(b, 1000)
			start := time.Now()
			err := e.rawInsert(ctx, c)
			return time.Since(start), err
		})
}

func benchIngest(ctx context.Context, e *env) (ratio, error) {
	if _, err := e.owner.Exec(ctx, raw); err != nil {
		return ratio{}, err
	}
	a, b := 1<<22, 1<<23
	return compare(ctx, e.times(1, 0), e.times(5, 1), 1,
		func(ctx context.Context) (time.Duration, error) {
			a++
			_, route, err := e.sandbox(ctx)
			if err != nil {
				return 0, err
			}
			body, err := ingestBody(a, 10_000)
			if err != nil {
				return 0, err
			}
			start := time.Now()
			_, err = e.post(ctx, route+"/ingest-files", body)
			return time.Since(start), err
		},
		func(ctx context.Context) (time.Duration, error) {
			b++
			c := contents(b, 10_000)
			start := time.Now()
			err := e.rawInsert(ctx, c)
			return time.Since(start), err
		})
}

// benchRemove removes 10 000 files: of a fork, where each needs a whiteout, or its own.
func benchRemove(fork bool) func(context.Context, *env) (ratio, error) {
	return func(ctx context.Context, e *env) (ratio, error) {
		if _, err := e.owner.Exec(ctx, raw); err != nil {
			return ratio{}, err
		}
		n := e.times(10_000, 100)
		b := 1 << 25
		return compare(ctx, e.times(1, 0), e.times(5, 1), 1,
			func(ctx context.Context) (time.Duration, error) {
				_, route, err := e.filled(ctx, n)
				if err != nil {
					return 0, err
				}
				if fork {
					if _, err := e.post(ctx, route+"/fork", []byte("{}")); err != nil {
						return 0, err
					}
				}
				if _, err := e.exec(ctx, route, map[string]any{"script": "ls -R >/dev/null"}); err != nil { // warm
					return 0, err
				}
				start := time.Now()
				_, err = e.exec(ctx, route, map[string]any{"script": "rm -rf *"})
				return time.Since(start), err
			},
			func(ctx context.Context) (time.Duration, error) {
				b++
				c := contents(b, n)
				start := time.Now()
				err := e.rawInsert(ctx, c)
				return time.Since(start), err
			})
	}
}

func ingestBody(round, n int) ([]byte, error) {
	files := make(map[string]string, n)
	for i, c := range contents(round, n) {
		files[fmt.Sprintf("r%d/d%d/f%d", round, i%100, i)] = base64.StdEncoding.EncodeToString(c)
	}
	return json.Marshal(map[string]any{"files": files})
}

// filled is a sandbox of n small files.
func (e *env) filled(ctx context.Context, n int) (id, route string, err error) {
	if id, route, err = e.sandbox(ctx); err != nil {
		return "", "", err
	}
	for done, round := 0, 1<<24+n; done < n; round++ {
		k := min(10_000, n-done)
		body, err := ingestBody(round, k)
		if err != nil {
			return "", "", err
		}
		if _, err := e.post(ctx, route+"/ingest-files", body); err != nil {
			return "", "", err
		}
		done += k
	}
	return id, route, nil
}

func benchFork(ctx context.Context, e *env) (ratio, error) {
	fork := func(n int) (work, error) {
		id, route, err := e.filled(ctx, n)
		return func(ctx context.Context) (time.Duration, error) {
			// One change before each fork, so that there is a layer to seal.
			if _, err := e.exec(ctx, route, map[string]any{"script": "echo $RANDOM > changed"}); err != nil {
				return 0, err
			}
			start := time.Now()
			_, err := e.owner.Exec(ctx, "SELECT FROM fs.fork($1, ARRAY[$2::uuid], 'fork')", id, uuid.New())
			return time.Since(start), err
		}, err
	}
	large, err := fork(e.times(100_000, 2000))
	if err != nil {
		return ratio{}, err
	}
	small, err := fork(10)
	if err != nil {
		return ratio{}, err
	}
	// Few, because every fork makes the chain of layers one longer.
	return compare(ctx, 2, e.times(5, 1), e.times(5, 2), large, small)
}

// benchFirstFork seals the layer that an ingest filled, in a new sandbox each time.
func benchFirstFork(ctx context.Context, e *env) (ratio, error) {
	fork := func(n int) work {
		return func(ctx context.Context) (time.Duration, error) {
			id, _, err := e.filled(ctx, n)
			if err != nil {
				return 0, err
			}
			start := time.Now()
			_, err = e.owner.Exec(ctx, "SELECT FROM fs.fork($1, ARRAY[$2::uuid], 'fork')", id, uuid.New())
			return time.Since(start), err
		}
	}
	return compare(ctx, 1, 1, e.times(5, 1), fork(e.times(50_000, 2000)), fork(10))
}

func benchCreate(ctx context.Context, e *env) (ratio, error) {
	n, err := e.trips(ctx, func(url string) error {
		_, err := e.post(ctx, url+"/v1/sandboxes", []byte(`{"name":"counted"}`))
		return err
	})
	return ratio{median: float64(n), lo: float64(n), hi: float64(n), detail: fmt.Sprintf("%d / 1", n)}, err
}
