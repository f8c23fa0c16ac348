package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// spread is a sandbox of so many files in 100 directories, a part of them in each of so many layers. Their directory is
// /home/user/r.
func (e *env) spread(ctx context.Context, files, layers int) (id string, err error) {
	id, route, err := e.sandbox(ctx)
	if err != nil {
		return "", err
	}
	for l := range layers {
		script := fmt.Sprintf(`mkdir -p r; for ((i=%d; i<%d; i++)); do d=r/d$((i%%100)); [ -d $d ] || mkdir $d; printf '%%-200d' $i > $d/f$i; done`,
			l*files/layers, (l+1)*files/layers)
		if _, err := e.exec(ctx, route, map[string]any{"script": script, "timeoutMs": 300_000}); err != nil {
			return "", err
		}
		if _, err := e.owner.Exec(ctx, "SELECT fs.snapshot($1, 'layer' || $2::integer)", id, l); err != nil {
			return "", err
		}
	}
	_, err = e.owner.Exec(ctx, "ANALYZE pgbox.inode, pgbox.dirent, pgbox.chunk, pgbox.blob, pgbox.layer, pgbox.sandbox")
	return id, err
}

// forked is a fork of a sandbox whose tree the gateway has in its cache.
func (e *env) forked(ctx context.Context, id string) (fork, route string, err error) {
	fork = uuid.NewString()
	if _, err := e.owner.Exec(ctx, "SELECT FROM fs.fork($1, ARRAY[$2::uuid], 'fork')", id, fork); err != nil {
		return "", "", err
	}
	route = e.pgbox.url + "/v1/sandboxes/" + fork
	_, err = e.exec(ctx, route, map[string]any{"script": "ls -R / > /dev/null", "timeoutMs": 300_000})
	return fork, route, err
}

// drain reads what a statement answers, in the scope of a sandbox.
func (e *env) drain(ctx context.Context, id, sql string, args ...any) (took time.Duration, err error) {
	err = pgx.BeginFunc(ctx, e.owner, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT fs.use($1)", id); err != nil {
			return err
		}
		start := time.Now()
		defer func() { took = time.Since(start) }()
		rows, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		for rows.Next() {
		}
		return rows.Err()
	})
	return took, err
}

// benchReadVerb compares a verb that reads a whole tree with the loads of all its rows, which are all that a gateway
// asks for.
func benchReadVerb(layers int, sql string) func(context.Context, *env) (ratio, error) {
	return func(ctx context.Context, e *env) (ratio, error) {
		id, err := e.spread(ctx, e.times(10_000, 100), layers)
		if err != nil {
			return ratio{}, err
		}
		var chain []uuid.UUID
		if err := e.owner.QueryRow(ctx, "SELECT layers FROM pgbox.sandbox WHERE id = $1", id).Scan(&chain); err != nil {
			return ratio{}, err
		}
		return compare(ctx, e.times(3, 1), e.times(5, 1), e.times(5, 1),
			func(ctx context.Context) (time.Duration, error) { return e.drain(ctx, id, sql) },
			func(ctx context.Context) (sum time.Duration, err error) {
				for _, layer := range chain {
					for _, load := range []string{"dirents", "inodes", "chunks"} {
						took, err := e.drain(ctx, id, "SELECT * FROM fs.load_"+load+"($1, $2)", id, layer)
						if err != nil {
							return 0, err
						}
						sum += took
					}
				}
				return sum, nil
			})
	}
}

// benchWriteVerb compares a verb that changes a whole tree with the script that does the same, in a fork of the same
// sandbox each.
func benchWriteVerb(layers int, before, sql, script string) func(context.Context, *env) (ratio, error) {
	return func(ctx context.Context, e *env) (ratio, error) {
		id, err := e.spread(ctx, e.times(10_000, 100), layers)
		if err != nil {
			return ratio{}, err
		}
		fork := func(ctx context.Context) (fork, route string, err error) {
			if fork, route, err = e.forked(ctx, id); err == nil && before != "" {
				_, err = e.exec(ctx, route, map[string]any{"script": before, "timeoutMs": 300_000})
			}
			return fork, route, err
		}
		return compare(ctx, e.times(1, 0), e.times(3, 1), e.times(3, 1),
			func(ctx context.Context) (time.Duration, error) {
				fork, _, err := fork(ctx)
				if err != nil {
					return 0, err
				}
				start := time.Now()
				_, err = e.owner.Exec(ctx, "SELECT set_config('app.sandbox_id', $1, true), "+sql, fork)
				return time.Since(start), err
			},
			func(ctx context.Context) (time.Duration, error) {
				_, route, err := fork(ctx)
				if err != nil {
					return 0, err
				}
				start := time.Now()
				_, err = e.exec(ctx, route, map[string]any{"script": script, "timeoutMs": 300_000})
				return time.Since(start), err
			})
	}
}

// benchFiles asks for the files of all of 400 sandboxes at once, as an auditor does.
func benchFiles(ctx context.Context, e *env) (ratio, error) {
	n := e.times(400, 3)
	prototype, err := e.spread(ctx, e.times(100, 10), 1)
	if err != nil {
		return ratio{}, err
	}
	ids := []string{}
	for len(ids) < n {
		some := make([]string, min(100, n-len(ids)))
		for i := range some {
			some[i] = uuid.NewString()
		}
		if _, err := e.owner.Exec(ctx, "SELECT FROM fs.fork($1, $2::uuid[], 'fork')", prototype, some); err != nil {
			return ratio{}, err
		}
		ids = append(ids, some...)
	}
	all, err := json.Marshal(ids)
	if err != nil {
		return ratio{}, err
	}
	loads := "SELECT l.* FROM (SELECT s.id, unnest(s.layers) AS layer FROM pgbox.sandbox s WHERE s.id::text IN (SELECT jsonb_array_elements_text($1))) s CROSS JOIN LATERAL fs.load_%s(s.id, s.layer) l"
	return compare(ctx, 1, e.times(3, 1), 1,
		func(ctx context.Context) (time.Duration, error) {
			return e.drain(ctx, prototype,
				"SELECT * FROM fs.files WHERE sandbox_id::text IN (SELECT jsonb_array_elements_text($1))", all)
		},
		func(ctx context.Context) (sum time.Duration, err error) {
			for _, load := range []string{"dirents", "inodes", "chunks"} {
				took, err := e.drain(ctx, prototype, fmt.Sprintf(loads, load), all)
				if err != nil {
					return 0, err
				}
				sum += took
			}
			return sum, nil
		})
}

const (
	sqlFiles = "SELECT * FROM fs.files WHERE sandbox_id = current_setting('app.sandbox_id')::uuid"
	sqlCopy  = "fs.cp('/home/user/r', '/home/user/c', true)"
)

func sqlRemove(name string) string { return "fs.rm('/home/user/" + name + "', true)" }
