package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/sqlcgen"
)

// Difference is a path that differs between two states.
type Difference struct {
	Path     string
	Status   string // A added, D deleted, R renamed, T of another kind, M modified
	Kind     tree.Kind
	PathFrom string // of what was renamed, or lies in a directory that was; else ""
}

// Diff returns what differs between a state of one sandbox (from) and one of another of its owner; ENOENT when there is
// no such state.
func (s *Store) Diff(
	ctx context.Context, sandbox uuid.UUID, at string, from uuid.UUID, fromAt string,
) ([]Difference, error) {
	var rows []sqlcgen.DiffRow
	err := s.read(ctx, "diff", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		rows, err = sqlcgen.New(c).Diff(ctx, sqlcgen.DiffParams{Sandbox: sandbox, At: at, From: &from, FromAt: fromAt})
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Difference, len(rows))
	for i, r := range rows {
		out[i] = Difference{r.Path, r.Status, tree.Kind(r.Kind), r.PathFrom}
	}
	return out, nil
}

// MergeChange is the outcome of one change in a merge.
type MergeChange struct {
	Path    string
	Status  string // as in Difference
	Outcome string // merged, same, kept, conflict
	Detail  string // why
	Winner  string // of a conflict, what is there now: ours, theirs, both (marked), none (nothing was done); else ""
}

// Merge does in a sandbox what happened in another of its owner between two states. conflict says what to do when both
// changed the same: lines merges texts line by line and does nothing at all when that is not clean, fail does nothing
// at all, ours leaves it, theirs takes the other side's, markers writes both sides of texts. It is ENOENT when there is
// no such sandbox or state. e is the audit row of a merge that changes something.
func (s *Store) Merge(
	ctx context.Context, sandbox, from uuid.UUID, fromAt, base, conflict string, e Exec,
) ([]MergeChange, error) {
	audit, err := e.json()
	if err != nil {
		return nil, err
	}
	var rows []sqlcgen.MergeRow
	err = s.write(ctx, "merge", nil, func(ctx context.Context, q *sqlcgen.Queries) (err error) {
		rows, err = q.Merge(ctx, sqlcgen.MergeParams{Sandbox: sandbox, From: from, FromAt: fromAt, Base: base,
			Conflict: conflict, Exec: audit})
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]MergeChange, len(rows))
	for i, r := range rows {
		out[i] = MergeChange(r)
	}
	return out, nil
}
