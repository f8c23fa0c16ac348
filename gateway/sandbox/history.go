package sandbox

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/store"
)

// auditWait bounds how long a reader of the log waits for the rows of runs that have just ended.
const auditWait = 2 * time.Second

// Timeline returns the newest runs of a sandbox that a filter lets through, newest first. Runs that committed nothing
// get their row from the gateway that ran them up to a second after they ended; this gateway's own are there.
func (s *Service) Timeline(ctx context.Context, c Caller, id uuid.UUID, f store.TimelineFilter) ([]store.Run, error) {
	return owned(ctx, s, c, id, func(ctx context.Context, _ *store.Fence) ([]store.Run, error) {
		wait, cancel := context.WithTimeout(ctx, auditWait)
		defer cancel()
		_ = s.Audited(wait) // the list is no worse for being a moment behind
		return s.store.Timeline(ctx, id, f)
	})
}

// Changes returns up to limit operations of a sandbox's journal from a place on, oldest first.
func (s *Service) Changes(
	ctx context.Context, c Caller, id uuid.UUID, after Cursor, limit int,
) ([]store.Change, error) {
	return owned(ctx, s, c, id, func(ctx context.Context, _ *store.Fence) ([]store.Change, error) {
		return s.store.ChangesSince(ctx, id, after.Version, after.Seq, limit)
	})
}

// History returns what happened to a path and to the file that has it now, newest first; before is the last operation
// of the page before, zero for the first page.
func (s *Service) History(
	ctx context.Context, c Caller, id uuid.UUID, path string, before Cursor, limit int,
) ([]store.Touch, error) {
	if err := absolute(path); err != nil {
		return nil, toError(err)
	}
	return owned(ctx, s, c, id, func(ctx context.Context, _ *store.Fence) ([]store.Touch, error) {
		return s.store.History(ctx, id, path, limit, before.Version, before.Seq)
	})
}

// Blame returns the last writer of each regular file at or below a path, by path.
func (s *Service) Blame(ctx context.Context, c Caller, id uuid.UUID, path string) ([]store.LastWrite, error) {
	if err := absolute(path); err != nil {
		return nil, toError(err)
	}
	return owned(ctx, s, c, id, func(ctx context.Context, _ *store.Fence) ([]store.LastWrite, error) {
		return s.store.Blame(ctx, id, path)
	})
}
