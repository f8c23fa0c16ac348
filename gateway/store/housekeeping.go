package store

import (
	"context"
	"time"

	"github.com/pgbox/pgbox/sqlcgen"
)

// Swept is what housekeeping removed.
type Swept struct {
	Sandboxes, Layers, Blobs, Bytes int64
	Changes, Execs                  int64 // rows of the journal and of the audit log
}

// Retention is what housekeeping keeps. Zero values of History and Operations keep all.
type Retention struct {
	Grace      time.Duration // of contents that nothing refers to any more
	History    time.Duration // of the journal and the audit log
	Operations int64         // of the journal of one sandbox
}

// Housekeep drops sandboxes whose time has come, layers nobody stands on, contents that nothing refers to and history
// past its retention, until there are no more, in transactions of at most batch rows of a kind. It does nothing while
// another process is at it, or when that was done less than every ago.
func (s *Store) Housekeep(ctx context.Context, every time.Duration, keep Retention, batch int32) (Swept, error) {
	var sum Swept
	p := sqlcgen.HousekeepParams{Every: every, Grace: keep.Grace, MaxRows: batch}
	if keep.History > 0 {
		p.History = &keep.History
	}
	if keep.Operations > 0 {
		p.Operations = &keep.Operations
	}
	for {
		// Not s.read: looking through all contents may take longer than any request does.
		r, err := sqlcgen.New(s.pool).Housekeep(ctx, p)
		sum.Sandboxes += r.Sandboxes
		sum.Layers += r.Layers
		sum.Blobs += r.Blobs
		sum.Bytes += r.Bytes
		sum.Changes += r.Changes
		sum.Execs += r.Execs
		if err != nil || !r.More {
			return sum, wrap("housekeep", err)
		}
	}
}
