package sandbox

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/store"
)

// Change is one committed operation on a file of a sandbox.
type Change = store.Change

// Cursor is a place in the journal of a sandbox: behind operation Seq of a version.
type Cursor struct {
	Version int64
	Seq     int32
}

// Whole is the Seq behind all operations of a version.
const Whole = math.MaxInt32

// News is what Follow delivers at once: operations, oldest first, and the place behind them. A version that changed
// no file (a restore, a snapshot, a shell variable) moves the place alone. No operations and the place of the call
// before mean that nothing has happened for a while. Without a place to begin at, the first call says where that is.
type News struct {
	Changes []Change
	At      Cursor
	// Gap: operations of At's version and of those before it are no longer in the journal. Who keeps a copy of the tree
	// has to read it again.
	Gap bool
}

// newsMax is how many operations are delivered at once.
const newsMax = 512

// Follow delivers what is committed in a sandbox, from after on or, when that is nil, from now on, until deliver
// returns an error, ctx is done, the sandbox is gone (SANDBOX_NOT_FOUND) or the process shuts down (ESHUTTINGDOWN).
// Nothing is left out or repeated, however slow deliver is, but what housekeeping has removed from the journal, which
// is told first. What happened before after is not looked at, and a place that does not exist yet waits for it.
func (s *Service) Follow(ctx context.Context, c Caller, id uuid.UUID, after *Cursor, deliver func(News) error) error {
	return do(ctx, s, func(ctx context.Context) error { return s.follow(ctx, c, id, after, deliver) })
}

func (s *Service) follow(ctx context.Context, c Caller, id uuid.UUID, after *Cursor, deliver func(News) error) error {
	// Subscribed before the first look, or a commit could fall between them.
	news, look, cancel := s.cfg.Feed.Subscribe(id)
	defer cancel()
	var at Cursor
	if after != nil {
		at = *after
	}
	for first := true; ; first = false {
		f, err := s.fence(ctx, c, id)
		if err != nil {
			return err
		}
		if first && after == nil {
			at = Cursor{f.Version, Whole}
			if err := deliver(News{At: at}); err != nil {
				return err
			}
		}
		if first && after != nil {
			if err := s.skipGap(ctx, id, &at, deliver); err != nil {
				return err
			}
		}
		if err := s.catchUp(ctx, f, &at, deliver); err != nil {
			return err
		}
		timer := time.NewTimer(look())
		quiet := false
		select {
		case <-news:
		case <-timer.C:
			quiet = true
		case <-s.calls.stop:
			err = errDraining
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		timer.Stop()
		if err == nil && quiet {
			err = deliver(News{At: at})
		}
		if err != nil {
			return err
		}
	}
}

// skipGap delivers that what follows a place is gone from the journal, if it is.
func (s *Service) skipGap(ctx context.Context, id uuid.UUID, at *Cursor, deliver func(News) error) error {
	b, err := s.store.Get(ctx, id)
	if err != nil {
		return err
	}
	if at.Version > b.Pruned || at.Version == b.Pruned && at.Seq == Whole {
		return nil
	}
	*at = Cursor{b.Pruned, Whole}
	return deliver(News{At: *at, Gap: true})
}

// catchUp delivers the journal from a place to the version of f.
func (s *Service) catchUp(ctx context.Context, f *store.Fence, at *Cursor, deliver func(News) error) error {
	for at.Version < f.Version || at.Version == f.Version && at.Seq != Whole {
		rows, err := s.store.ChangesSince(ctx, f.ID, at.Version, at.Seq, newsMax)
		if err != nil {
			return err
		}
		n := News{Changes: rows}
		if len(rows) > 0 {
			last := &rows[len(rows)-1]
			n.At = Cursor{last.Version, last.Seq}
		}
		if len(rows) < newsMax && n.At.Version <= f.Version {
			// All there was when the fence was read.
			n.At = Cursor{f.Version, Whole}
		}
		*at = n.At
		if err := deliver(n); err != nil {
			return err
		}
	}
	return nil
}
