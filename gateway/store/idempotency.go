package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgbox/pgbox/sqlcgen"
)

// ErrRepeated: an answer is kept under the idempotency key already. Nothing was applied.
var ErrRepeated = errors.New("the idempotency key has been used")

// Answer is what was answered to a request, kept under the request's idempotency key. A key belongs to an owner.
type Answer struct {
	Tenant, Owner, Key string
	Digest             [32]byte // of the request
	Result             []byte
}

func (a *Answer) params() sqlcgen.RememberParams {
	return sqlcgen.RememberParams{Tenant: a.Tenant, Owner: a.Owner, Key: a.Key, Digest: a.Digest[:], Result: a.Result}
}

// Remember keeps an answer to a request that changed nothing.
func (s *Store) Remember(ctx context.Context, a *Answer) error {
	return s.write(ctx, "remember", nil, func(ctx context.Context, q *sqlcgen.Queries) error {
		return q.Remember(ctx, a.params())
	})
}

// Recall returns the answers kept under keys of an owner, by key.
func (s *Store) Recall(ctx context.Context, tenant, owner string, keys []string) (map[string]Answer, error) {
	var rows []sqlcgen.RecallRow
	err := s.read(ctx, "recall", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		rows, err = sqlcgen.New(c).Recall(ctx, sqlcgen.RecallParams{Tenant: tenant, Owner: owner, Keys: keys})
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make(map[string]Answer, len(rows))
	for _, r := range rows {
		out[r.Key] = Answer{tenant, owner, r.Key, [32]byte(r.Digest), r.Result}
	}
	return out, nil
}

// beginner is a connection or what holds one.
type beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	batcher
}

// keeping runs fn, and keeps the answer it returns in the same transaction. Without an answer to be kept (keep is
// false) there is no transaction around fn: one statement needs none. A statement of fn waits for a lock for as long as
// wait at most. exec is as in bounded.
func keeping(
	ctx context.Context, conn beginner, wait time.Duration, exec []byte, keep bool,
	fn func(q *sqlcgen.Queries) (*Answer, error),
) error {
	if !keep {
		_, err := fn(sqlcgen.New(bounded{conn, wait, exec}))
		return err
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	// Without effect after the commit.
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	q := sqlcgen.New(bounded{tx, wait, exec})
	a, err := fn(q)
	if err != nil {
		return err
	}
	if a != nil {
		if err := q.Remember(ctx, a.params()); err != nil {
			return err
		}
	}
	return tx.Commit(ctx)
}

func repeated(pg *pgconn.PgError) bool { return pg.ConstraintName == "idempotency_pkey" }
