package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrLocked: somebody else (another gateway, a DBA's open transaction) held the sandbox's row for as long as the caller
// was ready to wait. Nothing was applied.
var ErrLocked = errors.New("another transaction holds the sandbox")

// errNoPlace: the connections that writers may have were all in use until the deadline.
var errNoPlace = fmt.Errorf("too many writers wait: %w", ErrUnavailable)

// probeWait is how long a writer waits for a lock with a connection that anybody may want. Who finds the lock held for
// longer waits for it with one of the few connections that are for waiting.
const probeWait = 200 * time.Millisecond

// writers says how many of a pool's connections statements that lock rows may hold, so that a transaction somewhere
// that holds many sandboxes stops their writers, and neither readers nor the writers of other sandboxes.
type writers struct {
	all     chan struct{} // a quarter of the connections is for readers
	patient chan struct{} // of all: those that wait for longer than probeWait
}

func newWriters(conns int32) writers {
	quarter := max(1, conns/4)
	return writers{all: make(chan struct{}, max(1, conns-quarter)), patient: make(chan struct{}, quarter)}
}

// take takes a place until the deadline.
func take(ctx context.Context, places chan struct{}, until time.Time) error {
	select {
	case places <- struct{}{}:
		return nil
	default:
	}
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return errNoPlace
	}
}

// locking calls fn, which sends statements that wait for locks no longer than it is told, and calls it again, ready to
// wait longer, when a lock was held: ErrLocked when it was for all of wait. fn has applied nothing when it returns
// ErrLocked.
func (s *Store) locking(ctx context.Context, op string, wait time.Duration, fn func(wait time.Duration) error) error {
	until := time.Now().Add(wait)
	turn := func(wait time.Duration) error {
		if err := take(ctx, s.writers.all, until); err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
		defer func() { <-s.writers.all }()
		return fn(wait)
	}
	err := turn(min(wait, probeWait))
	if !errors.Is(err, ErrLocked) || wait <= probeWait {
		return err
	}
	if take(ctx, s.writers.patient, until) != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", op, context.Cause(ctx))
		}
		return err
	}
	defer func() { <-s.writers.patient }()
	return turn(max(time.Until(until), time.Millisecond))
}

// batcher is a connection, or a transaction on one.
type batcher interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// bounded sends statements that fail when they wait for one lock longer than wait. It is a setting of their own
// transaction, in the same round trip, because the session may be a pooler's.
type bounded struct {
	conn batcher
	wait time.Duration
	// who asks, for the audit row of a verb that changes something (pgbox.log_verb); nil: the statement is told otherwise,
	// or has none
	exec []byte
}

// send sends one statement behind the setting and has read the answer to the latter.
func (b bounded) send(ctx context.Context, sql string, args []any) pgx.BatchResults {
	batch := &pgx.Batch{}
	// 0 would be: for ever.
	wait := strconv.FormatInt(max(b.wait.Milliseconds(), 1), 10)
	if b.exec == nil {
		batch.Queue("SELECT set_config('lock_timeout', $1, true)", wait)
	} else {
		batch.Queue("SELECT set_config('lock_timeout', $1, true), set_config('app.exec', $2, true)", wait, string(b.exec))
	}
	batch.Queue(sql, args...)
	res := b.conn.SendBatch(ctx, batch)
	_, _ = res.Exec() // an error is that of the next result too
	return res
}

// Exec is of [sqlcgen.DBTX].
func (b bounded) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	res := b.send(ctx, sql, args)
	tag, err := res.Exec()
	return tag, errFirst(err, res.Close())
}

// Query is of [sqlcgen.DBTX].
func (b bounded) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	res := b.send(ctx, sql, args)
	rows, err := res.Query()
	if err != nil {
		return nil, errFirst(err, res.Close())
	}
	return &batchRows{Rows: rows, res: res}, nil
}

// QueryRow is of [sqlcgen.DBTX].
func (b bounded) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	res := b.send(ctx, sql, args)
	return batchRow{res.QueryRow(), res}
}

func errFirst(err, next error) error {
	if err != nil {
		return err
	}
	return next
}

// batchRow is the row of a batch that ends with it. What the end of the transaction says counts.
type batchRow struct {
	pgx.Row
	res pgx.BatchResults
}

func (r batchRow) Scan(dest ...any) error {
	err := r.Row.Scan(dest...)
	return errFirst(err, r.res.Close())
}

// batchRows are the rows of a batch that ends with them.
type batchRows struct {
	pgx.Rows
	res    pgx.BatchResults
	closed bool
	err    error
}

func (r *batchRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r *batchRows) Close() {
	if !r.closed {
		r.closed = true
		r.Rows.Close()
		r.err = errFirst(r.Rows.Err(), r.res.Close())
	}
}

func (r *batchRows) Err() error { return errFirst(r.Rows.Err(), r.err) }

// lockOnce is once for statements that lock rows: they wait for locks as long as the store's LockWait at most.
func (s *Store) lockOnce(
	ctx context.Context, op string, fn func(ctx context.Context, c *pgxpool.Conn, wait time.Duration) error,
) (dead bool, err error) {
	err = s.locking(ctx, op, s.lockWait, func(wait time.Duration) (err error) {
		dead, err = s.once(ctx, op, func(ctx context.Context, c *pgxpool.Conn) error { return fn(ctx, c, wait) })
		return err
	})
	return dead, err
}
