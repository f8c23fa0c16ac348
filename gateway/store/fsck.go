package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/sqlcgen"
)

// Fault is a broken invariant.
type Fault struct {
	Sandbox uuid.UUID // zero: of an image
	Check   string    // which invariant; fs.fsck lists them
	Ino     int64     // 0: of no inode
	Detail  string
}

// Not s.read in what follows: reading all contents may take longer than any request does.

// Fsck checks every invariant of a sandbox.
func (s *Store) Fsck(ctx context.Context, sandbox uuid.UUID) ([]Fault, error) {
	rows, err := sqlcgen.New(s.pool).FsckSandbox(ctx, sandbox)
	return faultsOf(rows), wrap("fsck", err)
}

// FsckAll checks every invariant of all sandboxes, snapshots and images. With every above 0 it does nothing while
// another process is at it, or when that was done less than every ago.
func (s *Store) FsckAll(ctx context.Context, every time.Duration) ([]Fault, error) {
	var p *time.Duration
	if every > 0 {
		p = &every
	}
	rows, err := sqlcgen.New(s.pool).FsckAll(ctx, p)
	return faultsOf(rows), wrap("fsck_all", err)
}

// Repair mends what can be mended in a sandbox without loss, and returns what that was.
func (s *Store) Repair(ctx context.Context, sandbox uuid.UUID) ([]Fault, error) {
	rows, err := sqlcgen.New(s.pool).Repair(ctx, sandbox)
	return faultsOf(rows), wrap("repair", err)
}

func faultsOf(rows []sqlcgen.FsFault) []Fault {
	out := make([]Fault, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i].Check, out[i].Detail = r.CheckName, r.Detail
		if r.SandboxID != nil {
			out[i].Sandbox = *r.SandboxID
		}
		if r.Ino != nil {
			out[i].Ino = *r.Ino
		}
	}
	return out
}
