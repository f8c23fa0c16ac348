package sandbox

import (
	"context"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/lock"
	"github.com/pgbox/pgbox/gateway/store"
)

// Every method of Service is one of these: a plain call, a read of a sandbox, a verb that the database does under the
// sandbox's lock, or a run over a working tree that ends in a commit (Update, Exec).

// call runs fn for a client: a shutdown waits for it and ends it at last, and its error is an [*Error].
func call[T any](ctx context.Context, s *Service, fn func(ctx context.Context) (T, error)) (v T, err error) {
	ctx, end, err := s.calls.begin(ctx)
	if err != nil {
		return v, toError(err)
	}
	defer end()
	v, err = fn(ctx)
	return v, toError(err)
}

// do is call for what has no result.
func do(ctx context.Context, s *Service, fn func(ctx context.Context) error) error {
	_, err := call(ctx, s, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
	return err
}

// owned is call for a sandbox that the caller may use.
func owned[T any](
	ctx context.Context, s *Service, c Caller, id uuid.UUID, fn func(ctx context.Context, f *store.Fence) (T, error),
) (T, error) {
	return call(ctx, s, func(ctx context.Context) (v T, err error) {
		f, err := s.fence(ctx, c, id)
		if err != nil {
			return v, err
		}
		return fn(ctx, f)
	})
}

// told is owned for a read whose row has to be in the audit log before the answer.
func told[T any](
	ctx context.Context, s *Service, c Caller, id uuid.UUID, what string,
	fn func(ctx context.Context, f *store.Fence) (T, error),
) (T, error) {
	began := s.cfg.Now()
	v, err := owned(ctx, s, c, id, fn)
	return v, s.noteRead(ctx, c, id, what, began, err)
}

// locked is owned under the sandbox's lock.
func locked[T any](
	ctx context.Context, s *Service, c Caller, id uuid.UUID, fn func(ctx context.Context, f *store.Fence) (T, error),
) (T, error) {
	return call(ctx, s, func(ctx context.Context) (v T, err error) {
		lease, err := s.acquire(ctx, c, id)
		if err != nil {
			return v, err
		}
		defer lease.Unlock()
		f, err := s.fence(ctx, c, id)
		if err != nil {
			return v, err
		}
		return fn(ctx, f)
	})
}

// verb is locked for what the database does in one statement. what is for the audit log: fn hands the row on to the
// database, which writes it with the change. A verb that failed gets its row from here.
func verb[T any](
	ctx context.Context, s *Service, c Caller, id uuid.UUID, what string,
	fn func(ctx context.Context, f *store.Fence, row store.Exec) (T, error),
) (T, error) {
	began := s.cfg.Now()
	v, err := locked(ctx, s, c, id, func(ctx context.Context, f *store.Fence) (T, error) {
		return fn(ctx, f, s.verbRow(c, what))
	})
	if err != nil {
		s.note(c, id, -1, what, began, err)
	}
	return v, err
}

// act is verb for what has no result.
func (s *Service) act(
	ctx context.Context, c Caller, id uuid.UUID, what string, fn func(ctx context.Context, f *store.Fence,
		row store.Exec) error,
) error {
	_, err := verb(ctx, s, c, id, what, func(ctx context.Context, f *store.Fence, row store.Exec) (struct{}, error) {
		return struct{}{}, fn(ctx, f, row)
	})
	return err
}

// tenantVerb is verb for what concerns no sandbox, and needs no lock.
func tenantVerb[T any](
	ctx context.Context, s *Service, c Caller, what string, fn func(ctx context.Context, row store.Exec) (T, error),
) (T, error) {
	began := s.cfg.Now()
	v, err := call(ctx, s, func(ctx context.Context) (T, error) { return fn(ctx, s.verbRow(c, what)) })
	if err != nil {
		s.note(c, uuid.Nil, -1, what, began, err)
	}
	return v, err
}

// commits calls attempt under the sandbox's lock, and again when somebody else committed in between.
func (s *Service) commits(ctx context.Context, c Caller, id uuid.UUID, attempt func(lease lock.Lease) error) error {
	lease, err := s.acquire(ctx, c, id)
	if err != nil {
		return err
	}
	defer lease.Unlock()
	for n := 0; ; n++ {
		err := attempt(lease)
		if store.OutcomeOf(err) != store.Stale || n >= s.cfg.StaleRetries {
			return err
		}
	}
}

// verbRow is the audit row of a verb that the database is about to do, and to time.
func (s *Service) verbRow(c Caller, what string) store.Exec {
	row := s.rowOf(c, what, s.cfg.Now())
	row.Duration = 0
	return row
}
