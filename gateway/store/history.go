package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgbox/pgbox/sqlcgen"
)

// Run is a row of the audit log.
type Run struct {
	Exec
	VersionBefore int64
	VersionAfter  int64
	Committed     bool
}

// TimelineFilter selects runs. Nil and zero fields let all through.
type TimelineFilter struct {
	Limit     int
	Before    *time.Time // only runs older than that, and, of those of that moment, than BeforeID
	BeforeID  *uuid.UUID
	Since     *time.Time
	Caller    *string
	Agent     *string
	Route     *string
	Script    *string // a text that the script holds
	Committed *bool
	Failed    *bool // ended from outside, or with an exit status other than 0
}

// Timeline returns the newest runs of a sandbox that a filter lets through, newest first.
func (s *Store) Timeline(ctx context.Context, sandbox uuid.UUID, f TimelineFilter) ([]Run, error) {
	var rows []sqlcgen.FsExec
	err := s.read(ctx, "timeline", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		rows, err = sqlcgen.New(c).Timeline(ctx, sqlcgen.TimelineParams{
			Sandbox: sandbox, MaxRows: int32(f.Limit), Before: f.Before, BeforeID: f.BeforeID, Since: f.Since,
			Caller: f.Caller, Route: f.Route, Script: f.Script, Committed: f.Committed, Failed: f.Failed, Agent: f.Agent,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Run, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i] = Run{
			Exec: Exec{
				ID: r.ID, Tenant: r.Tenant, Route: r.Route, Caller: r.Caller, Agent: r.Agent, Key: deref(r.IdempotencyKey),
				Error: deref(r.Error), Script: r.Script, Cwd: r.Cwd,
				ReadOnly: r.ReadOnly, StartedAt: r.StartedAt, Duration: time.Duration(r.DurationUs) * time.Microsecond,
				StdoutBytes: r.StdoutBytes, StderrBytes: r.StderrBytes, StdoutHead: []byte(r.StdoutHead),
				StderrHead: []byte(r.StderrHead),
			},
			VersionBefore: r.VersionBefore, VersionAfter: r.VersionAfter, Committed: r.Committed,
		}
		if r.ExitCode != nil {
			code := int(*r.ExitCode)
			out[i].ExitCode = &code
		}
	}
	return out, nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Touch is an operation of the journal with the run that did it. Exec is nil for what was done in SQL, and Caller
// is then the database role.
type Touch struct {
	Change
	Caller, Agent, Route, Script string
}

// History returns what happened to a path and to the file that has it now, newest first: operations before number seq
// of a version, or (version 0) all.
func (s *Store) History(
	ctx context.Context, sandbox uuid.UUID, path string, limit int, version int64, seq int32,
) ([]Touch, error) {
	p := sqlcgen.HistoryParams{Sandbox: sandbox, Path: path, MaxRows: int32(limit)}
	if version > 0 {
		p.Before, p.BeforeSeq = &version, &seq
	}
	var rows []sqlcgen.FsTouch
	err := s.read(ctx, "history", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		rows, err = sqlcgen.New(c).History(ctx, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Touch, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i] = Touch{
			Change: Change{
				Version: r.Version, Seq: r.Seq, Exec: r.ExecID, Op: r.Op, Path: r.Path, PathTo: deref(r.PathTo), Ino: r.Ino,
				At:         r.At,
				SizeBefore: r.SizeBefore, SizeAfter: r.SizeAfter, HashBefore: r.HashBefore, HashAfter: r.HashAfter,
			},
			Caller: r.Caller, Agent: deref(r.Agent), Route: deref(r.Route), Script: deref(r.Script),
		}
	}
	return out, nil
}

// LastWrite says who wrote a file last. Version is 0 where the journal does not say; Exec is nil for what was done in
// SQL, and Caller is then the database role.
type LastWrite struct {
	Path                         string
	Ino, Size, Version           int64
	At                           *time.Time
	Exec                         *uuid.UUID
	Caller, Agent, Route, Script string
}

// Blame returns the last writer of each regular file at or below a path, by path.
func (s *Store) Blame(ctx context.Context, sandbox uuid.UUID, path string) ([]LastWrite, error) {
	var rows []sqlcgen.FsLastWrite
	err := s.read(ctx, "blame", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		rows, err = sqlcgen.New(c).Blame(ctx, sqlcgen.BlameParams{Sandbox: sandbox, Path: path})
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]LastWrite, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i] = LastWrite{Path: r.Path, Ino: r.Ino, Size: r.Size, At: r.At, Exec: r.ExecID, Caller: deref(r.Caller),
			Agent: deref(r.Agent), Route: deref(r.Route), Script: deref(r.Script)}
		if r.Version != nil {
			out[i].Version = *r.Version
		}
	}
	return out, nil
}

// Quota is what all sandboxes of an owner together, or of a tenant, may hold; nil is no limit.
type Quota struct {
	MaxBytes, MaxInodes, MaxSnapshots, MaxSandboxes *int64
}

// Holding is what a tenant or an owner holds, and may.
type Holding struct {
	Quota
	Bytes, Inodes, Snapshots, Sandboxes int64
}

// Quota returns what a tenant holds and, unless owner is empty, one of its owners.
func (s *Store) Quota(ctx context.Context, tenant, owner string) ([]Holding, error) {
	var rows []sqlcgen.FsQuota
	err := s.read(ctx, "quota", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		rows, err = sqlcgen.New(c).Quota(ctx, sqlcgen.QuotaParams{Tenant: tenant, Owner: owner})
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Holding, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i] = Holding{Quota{r.MaxBytes, r.MaxInodes, r.MaxSnapshots, r.MaxSandboxes}, r.UsedBytes, r.UsedInodes,
			r.Snapshots, r.Sandboxes}
	}
	return out, nil
}

// SetQuota sets the quota of an owner, or (owner "") of a tenant. One without limits removes it.
func (s *Store) SetQuota(ctx context.Context, tenant, owner string, q Quota, by Exec) error {
	return s.write(ctx, "set_quota", &by, func(ctx context.Context, c *sqlcgen.Queries) error {
		return c.SetQuota(ctx, sqlcgen.SetQuotaParams{
			Tenant: tenant, Owner: owner, MaxBytes: q.MaxBytes, MaxInodes: q.MaxInodes, MaxSnapshots: q.MaxSnapshots,
			MaxSandboxes: q.MaxSandboxes,
		})
	})
}
