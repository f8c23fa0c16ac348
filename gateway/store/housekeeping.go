package store

import (
	"context"
	"time"

	"github.com/pgbox/pgbox/sqlcgen"
)

// Swept is what housekeeping removed.
type Swept struct {
	Sandboxes, Layers, Blobs, Bytes int64
}

// Housekeep drops sandboxes whose time has come, layers nobody stands on and contents that nothing has referred to for grace, until there are no more,
// in transactions of at most batch rows of a kind. It does nothing while another process is at it, or when that was done less than every ago.
func (s *Store) Housekeep(ctx context.Context, every, grace time.Duration, batch int32) (Swept, error) {
	var sum Swept
	for {
		// Not s.read: looking through all contents may take longer than any request does.
		r, err := sqlcgen.New(s.pool).Housekeep(ctx, sqlcgen.HousekeepParams{Every: every, Grace: grace, MaxRows: batch})
		sum.Sandboxes += r.Sandboxes
		sum.Layers += r.Layers
		sum.Blobs += r.Blobs
		sum.Bytes += r.Bytes
		if err != nil || !r.More {
			return sum, wrap("housekeep", err)
		}
	}
}
