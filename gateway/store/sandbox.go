package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sqlcgen"
)

func sandboxOf(r *sqlcgen.FsSandbox) *Sandbox {
	b := &Sandbox{
		ID: r.ID, Tenant: r.Tenant, Owner: r.Owner, Name: r.Name, Env: r.Env, Config: r.Config, Labels: r.Labels,
		Version:   r.Version,
		UsedBytes: r.UsedBytes, UsedInodes: r.UsedInodes, MaxBytes: r.MaxBytes, MaxInodes: r.MaxInodes,
		MaxSnapshots: r.MaxSnapshots, Journal: r.Journal, Pruned: r.PrunedVersion,
		CreatedAt: r.CreatedAt, LastUsedAt: r.LastUsedAt, ExpiresAt: r.ExpiresAt, History: History{Keep: r.HistoryKeep},
	}
	if r.HistoryCommits != nil {
		b.History.Commits = *r.HistoryCommits
	}
	if r.HistorySeconds != nil {
		b.History.Seconds = *r.HistorySeconds
	}
	return b
}

func snapshotOf(r *sqlcgen.FsSnapshot) *Snapshot {
	return &Snapshot{ID: r.ID, Sandbox: r.SandboxID, Name: r.Name, Automatic: r.Kind == "automatic", Version: r.Version,
		CreatedAt: r.CreatedAt}
}

func (n *NewSandbox) params() sqlcgen.CreateSandboxParams {
	p := sqlcgen.CreateSandboxParams{
		ID: &n.ID, Tenant: n.Tenant, Owner: n.Owner, Name: n.Name, Env: n.Env, Config: n.Config, Labels: n.Labels,
		MaxBytes: n.MaxBytes, MaxInodes: n.MaxInodes, ExpiresAt: n.ExpiresAt, History: n.History.json(),
	}
	if n.Image != "" {
		p.Image = &n.Image
	}
	return p
}

// write runs one statement that changes something, at most once: only what was certainly not sent is sent again. An
// outcome that is open is ErrUnknown. e is the audit row, which is written with it; nil: the statement takes it
// otherwise, or has none.
func (s *Store) write(
	ctx context.Context, op string, e *Exec, fn func(ctx context.Context, q *sqlcgen.Queries) error,
) error {
	return s.writeKeeping(ctx, op, e, false, func(ctx context.Context, q *sqlcgen.Queries) (*Answer, error) {
		return nil, fn(ctx, q)
	})
}

// writeKeeping is write for a statement whose answer is kept with it.
func (s *Store) writeKeeping(
	ctx context.Context, op string, e *Exec, keep bool, fn func(ctx context.Context, q *sqlcgen.Queries) (*Answer, error),
) error {
	exec, err := e.json()
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		var cause error
		dead, err := s.lockOnce(ctx, op, func(ctx context.Context, c *pgxpool.Conn, wait time.Duration) error {
			cause = keeping(ctx, c, wait, exec, keep, func(q *sqlcgen.Queries) (*Answer, error) { return fn(ctx, q) })
			return cause
		})
		switch {
		case cause == nil:
			return err
		case !refused(cause):
			return fmt.Errorf("%s: %w: %w", op, ErrUnknown, cause)
		case !dead || attempt == readAttempts:
			return err
		}
	}
}

// AnswerFunc makes the answer that is kept of a sandbox that was made. A nil function keeps none.
type AnswerFunc func(*Sandbox) (*Answer, error)

// Create makes an empty sandbox, in one round trip unless an answer is kept. by is the audit row; nil: there is none.
func (s *Store) Create(ctx context.Context, n NewSandbox, by *Exec, answer AnswerFunc) (*Sandbox, error) {
	var r sqlcgen.FsSandbox
	err := s.writeKeeping(ctx, "create_sandbox", by, answer != nil,
		func(ctx context.Context, q *sqlcgen.Queries) (_ *Answer, err error) {
			if r, err = q.CreateSandbox(ctx, n.params()); err != nil || answer == nil {
				return nil, err
			}
			return answer(sandboxOf(&r))
		})
	if err != nil {
		return s.created(ctx, n.ID, err)
	}
	return sandboxOf(&r), nil
}

// open reports whether an error leaves open that a creation was done: the ids are ours alone, so what has one already
// was made by an earlier attempt whose answer did not come.
func open(err error) bool { return errors.Is(err, ErrUnknown) || errors.Is(err, vfs.EEXIST) }

// created settles an outcome that is open: the sandbox is there or it is not.
func (s *Store) created(ctx context.Context, id uuid.UUID, err error) (*Sandbox, error) {
	if !open(err) {
		return nil, err
	}
	if b, err := s.Get(ctx, id); err == nil {
		return b, nil
	}
	return nil, err
}

// LoadFunc loads the rows of layers in the transaction of a CreateWith.
type LoadFunc func(ctx context.Context, layers []uuid.UUID) ([]*tree.Patch, error)

// CreateWith makes a sandbox and applies its first change in one transaction. build gets the fence of the new sandbox
// and returns the change; nobody else knows of the sandbox, so nobody waits for it.
func (s *Store) CreateWith(
	ctx context.Context, n NewSandbox, answer AnswerFunc, build func(ctx context.Context, f *Fence,
		load LoadFunc) (*Commit, error),
) (*Sandbox, error) {
	var b *Sandbox
	var failed error // of build
	committing := false
	dead, err := s.lockOnce(ctx, "create_sandbox", func(ctx context.Context, c *pgxpool.Conn, wait time.Duration) error {
		failed, committing = nil, false
		tx, err := c.Begin(ctx)
		if err != nil {
			return err
		}
		// Without effect after the commit.
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
		// The row of its files is that of the sandbox, too.
		q := sqlcgen.New(bounded{conn: tx, wait: wait, exec: []byte("{}")})
		r, err := q.CreateSandbox(ctx, n.params())
		if err != nil {
			return err
		}
		b = sandboxOf(&r)
		state, err := hashOf(r.StateSHA256)
		if err != nil {
			return err
		}
		f := &Fence{
			ID: r.ID, Tenant: r.Tenant, Owner: r.Owner, Name: r.Name, Version: r.Version, Layers: r.Layers, NextIno: r.NextIno,
			UsedBytes:  r.UsedBytes,
			UsedInodes: r.UsedInodes, MaxBytes: r.MaxBytes, MaxInodes: r.MaxInodes, Env: r.Env, Config: r.Config, State: state,
			ExpiresAt: r.ExpiresAt,
		}
		commit, err := build(ctx, f, func(ctx context.Context, layers []uuid.UUID) ([]*tree.Patch, error) {
			return loadLayers(ctx, q, r.ID, layers)
		})
		if err != nil {
			failed = err
			return err
		}
		if err := applyIn(ctx, q, commit, b); err != nil {
			return err
		}
		if answer != nil {
			a, err := answer(b)
			if err == nil {
				err = q.Remember(ctx, a.params())
			}
			if err != nil {
				return err
			}
		}
		committing = true
		return tx.Commit(ctx)
	})
	var pg interface{ SQLState() string }
	switch {
	case err == nil:
		return b, nil
	case failed != nil && !dead && !errors.As(failed, &pg):
		return nil, failed
	case committing && dead:
		return s.created(ctx, n.ID, fmt.Errorf("%w: %w", ErrUnknown, err))
	}
	return nil, err
}

// applyIn applies a commit in an open transaction.
func applyIn(ctx context.Context, q *sqlcgen.Queries, c *Commit, b *Sandbox) error {
	p, err := params(c)
	if err != nil {
		return err
	}
	size := 0
	for _, d := range c.Delta.Blobs {
		size += len(d)
		p.Blob = append(p.Blob, d)
	}
	if size > inlineBytes {
		p.Blob = nil
		err := uploadMissing(c.Delta.Blobs,
			func(h []tree.Hash) ([]tree.Hash, error) {
				rows, err := q.MissingBlobs(ctx, sqlcgen.MissingBlobsParams{Sandbox: c.Sandbox, SHA256: raw(h)})
				out := make([]tree.Hash, len(rows))
				for i, r := range rows {
					out[i] = tree.Hash(r)
				}
				return out, err
			},
			func(d [][]byte) error {
				return batches(d, func(part [][]byte) error { return putBlobs(ctx, q, c.Sandbox, part) })
			})
		if err != nil {
			return err
		}
	}
	r, err := q.Apply(ctx, *p)
	if err != nil {
		return err
	}
	b.Version, b.UsedBytes, b.UsedInodes = r.Version, r.UsedBytes, r.UsedInodes
	return nil
}

// Get returns the row of a living sandbox; ESRCH when there is none.
func (s *Store) Get(ctx context.Context, sandbox uuid.UUID) (*Sandbox, error) {
	var r sqlcgen.FsSandbox
	err := s.read(ctx, "get_sandbox", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		r, err = sqlcgen.New(c).GetSandbox(ctx, sandbox)
		return err
	})
	if err != nil {
		return nil, err
	}
	return sandboxOf(&r), nil
}

// ListFilter says which of an owner's sandboxes to list.
type ListFilter struct {
	Limit  int
	After  uuid.UUID // begin after this one; zero: with the newest
	Name   string    // "": any
	Labels []byte    // object that the labels must contain; nil: any
}

// List returns living sandboxes of an owner, newest first.
func (s *Store) List(ctx context.Context, tenant, owner string, f ListFilter) ([]Sandbox, error) {
	p := sqlcgen.ListSandboxesParams{Tenant: tenant, Owner: owner, MaxRows: int32(f.Limit), Labels: f.Labels}
	if f.Name != "" {
		p.Name = &f.Name
	}
	if f.After != uuid.Nil {
		last, err := s.Get(ctx, f.After)
		if err != nil {
			return nil, err
		}
		p.AfterCreatedAt, p.AfterID = &last.CreatedAt, &last.ID
	}
	var rows []sqlcgen.FsSandbox
	err := s.read(ctx, "list_sandboxes", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		rows, err = sqlcgen.New(c).ListSandboxes(ctx, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Sandbox, len(rows))
	for i := range rows {
		out[i] = *sandboxOf(&rows[i])
	}
	return out, nil
}

// Update changes the settings of a sandbox; its tree and version stay.
func (s *Store) Update(ctx context.Context, sandbox uuid.UUID, u Update, by Exec) (*Sandbox, error) {
	var r sqlcgen.FsSandbox
	exec, err := by.json()
	if err != nil {
		return nil, err
	}
	clear := u.Clear
	if clear == nil {
		clear = []string{}
	}
	// Setting the same again changes nothing, so it is repeated like a read.
	err = s.again(func() (dead bool, err error) {
		return s.lockOnce(ctx, "update_sandbox", func(ctx context.Context, c *pgxpool.Conn, wait time.Duration) (err error) {
			r, err = sqlcgen.New(bounded{c, wait, exec}).UpdateSandbox(ctx, sqlcgen.UpdateSandboxParams{
				Sandbox: sandbox, Name: u.Name, Env: u.Env, Labels: u.Labels, MaxBytes: u.MaxBytes, MaxInodes: u.MaxInodes,
				ExpiresAt: u.ExpiresAt, Clear: clear, History: u.History.json(),
				MaxSnapshots: u.MaxSnapshots, Journal: u.Journal,
			})
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return sandboxOf(&r), nil
}

// Drop drops a sandbox and its snapshots.
func (s *Store) Drop(ctx context.Context, sandbox uuid.UUID, by Exec) error {
	err := s.write(ctx, "drop_sandbox", &by, func(ctx context.Context, q *sqlcgen.Queries) error {
		return q.DropSandbox(ctx, sandbox)
	})
	if errors.Is(err, ErrUnknown) {
		if _, gone := s.Fence(ctx, sandbox); errors.Is(gone, vfs.ESRCH) {
			return nil
		}
	}
	return err
}

// ForksFunc makes the answer that is kept of sandboxes that were made. A nil function keeps none.
type ForksFunc func([]Sandbox) (*Answer, error)

// Fork makes sandboxes with the ids, name and owner given that start as copies of another as it is or was; several get
// -1, -2, … after their name.
func (s *Store) Fork(
	ctx context.Context, sandbox uuid.UUID, ids []uuid.UUID, name, owner, at string, by Exec, answer ForksFunc,
) ([]Sandbox, error) {
	p := sqlcgen.ForkParams{Sandbox: sandbox, Ids: ids, Owner: &owner, Name: given(name), At: given(at)}
	var out []Sandbox
	err := s.writeKeeping(ctx, "fork", &by, answer != nil, func(ctx context.Context, q *sqlcgen.Queries) (*Answer, error) {
		rows, err := q.Fork(ctx, p)
		if err != nil {
			return nil, err
		}
		out = make([]Sandbox, len(rows))
		for i := range rows {
			out[i] = *sandboxOf(&rows[i])
		}
		if answer == nil {
			return nil, nil
		}
		return answer(out)
	})
	if err != nil && open(err) {
		// All or none: one tells of the others.
		out = make([]Sandbox, len(ids))
		for i, id := range ids {
			b, found := s.created(ctx, id, err)
			if found != nil {
				return nil, found
			}
			out[i] = *b
		}
		return out, nil
	}
	return out, err
}

// given is an optional argument: nil for the empty string.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Snapshot keeps the present state of a sandbox under a name; EEXIST when it is taken.
func (s *Store) Snapshot(ctx context.Context, sandbox uuid.UUID, name string, by Exec) (*Snapshot, error) {
	var r sqlcgen.FsSnapshot
	err := s.write(ctx, "snapshot", &by, func(ctx context.Context, q *sqlcgen.Queries) (err error) {
		r, err = q.Snapshot(ctx, sqlcgen.SnapshotParams{Sandbox: sandbox, Name: name})
		return err
	})
	if err != nil {
		return nil, err
	}
	return snapshotOf(&r), nil
}

// Snapshots lists the snapshots of a sandbox, oldest first.
func (s *Store) Snapshots(ctx context.Context, sandbox uuid.UUID) ([]Snapshot, error) {
	var rows []sqlcgen.FsSnapshot
	err := s.read(ctx, "snapshots", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		rows, err = sqlcgen.New(c).Snapshots(ctx, sandbox)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Snapshot, len(rows))
	for i := range rows {
		out[i] = *snapshotOf(&rows[i])
	}
	return out, nil
}

// DropSnapshot forgets a snapshot; ENOENT when the sandbox has no such snapshot.
func (s *Store) DropSnapshot(ctx context.Context, sandbox, snapshot uuid.UUID, by Exec) error {
	return s.write(ctx, "drop_snapshot", &by, func(ctx context.Context, q *sqlcgen.Queries) error {
		return q.DropSnapshot(ctx, sqlcgen.DropSnapshotParams{Sandbox: sandbox, Snapshot: snapshot})
	})
}

// Restore puts a sandbox back to an earlier state; ENOENT when there is no such state. Undo takes it back. e is the
// audit row of what changes something.
func (s *Store) Restore(ctx context.Context, sandbox uuid.UUID, at string, e Exec) (*Sandbox, error) {
	return s.moved(ctx, "restore", e, func(ctx context.Context, q *sqlcgen.Queries, audit []byte) (sqlcgen.FsSandbox,
		error) {
		return q.Restore(ctx, sqlcgen.RestoreParams{Sandbox: sandbox, At: at, Exec: audit})
	})
}

// Undo puts a sandbox back to what it was at its newest automatic snapshots; ENODATA when there are fewer than steps.
func (s *Store) Undo(ctx context.Context, sandbox uuid.UUID, steps int, e Exec) (*Sandbox, error) {
	return s.moved(ctx, "undo", e, func(ctx context.Context, q *sqlcgen.Queries, audit []byte) (sqlcgen.FsSandbox, error) {
		return q.Undo(ctx, sqlcgen.UndoParams{Sandbox: sandbox, Steps: int32(steps), Exec: audit})
	})
}

// Redo brings back what Undo took away; ENODATA when there is not as much, or something was committed since.
func (s *Store) Redo(ctx context.Context, sandbox uuid.UUID, steps int, e Exec) (*Sandbox, error) {
	return s.moved(ctx, "redo", e, func(ctx context.Context, q *sqlcgen.Queries, audit []byte) (sqlcgen.FsSandbox, error) {
		return q.Redo(ctx, sqlcgen.RedoParams{Sandbox: sandbox, Steps: int32(steps), Exec: audit})
	})
}

// Flatten merges the layers of a sandbox into one over the base layer, and returns how many there were.
func (s *Store) Flatten(ctx context.Context, sandbox uuid.UUID, by Exec) (layers int, err error) {
	err = s.write(ctx, "flatten", &by, func(ctx context.Context, q *sqlcgen.Queries) error {
		n, err := q.Flatten(ctx, sandbox)
		layers = int(n)
		return err
	})
	return layers, err
}

// moved runs a verb that puts a sandbox on another chain of layers.
func (s *Store) moved(
	ctx context.Context, op string, e Exec, fn func(ctx context.Context, q *sqlcgen.Queries,
		audit []byte) (sqlcgen.FsSandbox, error),
) (*Sandbox, error) {
	audit, err := e.json()
	if err != nil {
		return nil, err
	}
	var r sqlcgen.FsSandbox
	err = s.write(ctx, op, nil, func(ctx context.Context, q *sqlcgen.Queries) (err error) {
		r, err = fn(ctx, q, audit)
		return err
	})
	if err != nil {
		return nil, err
	}
	b := sandboxOf(&r)
	if r.Steps != nil {
		err = json.Unmarshal(r.Steps, &b.Steps)
	}
	return b, err
}

// ChangesSince returns up to limit operations of the journal after operation seq of a version, oldest first.
func (s *Store) ChangesSince(
	ctx context.Context, sandbox uuid.UUID, version int64, seq int32, limit int,
) ([]Change, error) {
	var rows []sqlcgen.FsChange
	err := s.read(ctx, "changes_since", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		rows, err = sqlcgen.New(c).ChangesSince(ctx, sqlcgen.ChangesSinceParams{Sandbox: sandbox, Version: version, Seq: seq,
			MaxRows: int32(limit)})
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Change, len(rows))
	for i, r := range rows {
		out[i] = Change{Version: r.Version, Seq: r.Seq, Exec: r.ExecID, Op: r.Op, Path: r.Path, Ino: r.Ino, At: r.At,
			SizeBefore: r.SizeBefore, SizeAfter: r.SizeAfter, HashBefore: r.HashBefore, HashAfter: r.HashAfter}
		if r.PathTo != nil {
			out[i].PathTo = *r.PathTo
		}
	}
	return out, nil
}
