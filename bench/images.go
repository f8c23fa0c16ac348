package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// small and large are the numbers of files of the two trees whose verbs are compared.
func (e *env) branchSizes() (small, large int) { return 10, e.times(100_000, 1000) }

// change is what precedes a verb that needs something to have changed, in a transaction of its own.
func (e *env) change(ctx context.Context, id string) error {
	return pgx.BeginFunc(ctx, e.owner, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx,
			"SELECT fs.write_file(p, 'changed') FROM fs.use($1), unnest(ARRAY['/home/user/new0', '/home/user/new1']) p", id)
		return err
	})
}

// onTrees compares a verb, in SQL, on a large tree (A) with the same on a small one (B). What before does is not
// measured.
func onTrees(
	before func(e *env, ctx context.Context, id string) error, verb func(ctx context.Context, tx pgx.Tx, id string) error,
) func(ctx context.Context, e *env) (ratio, error) {
	return func(ctx context.Context, e *env) (ratio, error) {
		small, large := e.branchSizes()
		var steps [2]work
		for i, n := range []int{large, small} {
			id, err := e.branched(ctx, n)
			if err != nil {
				return ratio{}, err
			}
			steps[i] = func(ctx context.Context) (took time.Duration, err error) {
				if before != nil {
					if err := before(e, ctx, id); err != nil {
						return 0, err
					}
				}
				err = pgx.BeginFunc(ctx, e.owner, func(tx pgx.Tx) error {
					start := time.Now()
					defer func() { took = time.Since(start) }()
					return verb(ctx, tx, id)
				})
				return took, err
			}
		}
		return compare(ctx, e.times(5, 1), e.times(7, 1), e.times(15, 2), steps[0], steps[1])
	}
}

// branched makes a sandbox of n files with an image and a snapshot of them, and ten changes since.
func (e *env) branched(ctx context.Context, n int) (string, error) {
	id, route, err := e.filled(ctx, n)
	if err != nil {
		return "", err
	}
	if _, err := e.owner.Exec(ctx, "SELECT fs.snapshot($1, 'full'), fs.create_image($1, $2)", id,
		"bench-"+id); err != nil {
		return "", err
	}
	if _, err := e.exec(ctx, route,
		map[string]any{"script": "for i in 0 1 2 3 4 5 6 7 8 9; do echo changed > new$i; done"}); err != nil {
		return "", err
	}
	_, err = e.owner.Exec(ctx,
		"ANALYZE pgbox.inode, pgbox.dirent, pgbox.chunk, pgbox.layer, pgbox.sandbox, pgbox.snapshot")
	return id, err
}

func sqlVerb(sql string) func(ctx context.Context, tx pgx.Tx, id string) error {
	return func(ctx context.Context, tx pgx.Tx, id string) error {
		_, err := tx.Exec(ctx, sql, id)
		return err
	}
}

var (
	benchSnapshot    = onTrees((*env).change, sqlVerb("SELECT fs.snapshot($1, gen_random_uuid()::text)"))
	benchRestore     = onTrees((*env).change, sqlVerb("SELECT fs.restore($1, 'full')"))
	benchCreateImage = onTrees(nil,
		sqlVerb("SELECT fs.create_sandbox(NULL, i.tenant, i.owner, 'n', NULL, NULL, NULL, NULL, NULL, NULL, i.name) FROM pgbox.image i WHERE i.name = 'bench-' || $1::text"))
	benchDiff = onTrees(nil, func(ctx context.Context, tx pgx.Tx, id string) error {
		var n int
		if err := tx.QueryRow(ctx, "SELECT count(*) FROM fs.diff($1, NULL, NULL, 'full')", id).Scan(&n); err != nil {
			return err
		}
		if n < 1 {
			return errors.New("the diff is empty")
		}
		return nil
	})
)

// benchForkBytes is what each of many forks of one image adds to the tables, indexes included, in units of 2 KiB.
func benchForkBytes(ctx context.Context, e *env) (ratio, error) {
	id, err := e.branched(ctx, e.times(10_000, 100))
	if err != nil {
		return ratio{}, err
	}
	const size = "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c WHERE c.relnamespace = 'pgbox'::regnamespace AND c.relkind = 'r'"
	var before, after int64
	if err := e.owner.QueryRow(ctx, size).Scan(&before); err != nil {
		return ratio{}, err
	}
	forks := 1000
	for range forks / 100 {
		ids := make([]uuid.UUID, 100)
		for i := range ids {
			ids[i] = uuid.New()
		}
		if _, err := e.owner.Exec(ctx, "SELECT fs.fork($1, $2, 'fork')", id, ids); err != nil {
			return ratio{}, err
		}
	}
	if err := e.owner.QueryRow(ctx, size).Scan(&after); err != nil {
		return ratio{}, err
	}
	each := float64(after-before) / float64(forks)
	r := each / 2048
	return ratio{median: r, lo: r, hi: r, detail: fmt.Sprintf("%.0f B", each)}, nil
}

// benchHistory is a commit that takes an automatic snapshot against one that does not, over HTTP.
func benchHistory(ctx context.Context, e *env) (ratio, error) {
	var steps [2]work
	for i := range steps {
		id, route, err := e.sandbox(ctx)
		if err != nil {
			return ratio{}, err
		}
		if i == 0 {
			if _, err := e.owner.Exec(ctx,
				`SELECT fs.update_sandbox($1, NULL, NULL, NULL, NULL, NULL, NULL, p_history => '{"commits": 1}')`, id); err != nil {
				return ratio{}, err
			}
		}
		steps[i] = timed(func(ctx context.Context) error {
			_, err := e.exec(ctx, route, map[string]any{"script": "echo x >> log"})
			return err
		})
	}
	return compare(ctx, e.times(50, 2), e.times(7, 1), e.times(100, 5), steps[0], steps[1])
}
