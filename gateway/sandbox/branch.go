package sandbox

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

var looksLikeTime = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}`)

// stateName checks the name of an earlier state as a client writes it: what begins like a time has to be one.
func stateName(at string) (string, error) {
	if len(at) > 300 {
		return "", newError(wire.CodeInvalidInput, nil, "at: too long")
	}
	if !looksLikeTime.MatchString(at) {
		return at, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(layout, at); err == nil {
			return t.UTC().Format(time.RFC3339Nano), nil
		}
	}
	return "", newError(wire.CodeInvalidInput, nil, "at: want a time like 2026-01-31T12:00:00Z")
}

func errNoState(at string, err error) error {
	return newError(wire.CodeENOENT, err, fmt.Sprintf("no such snapshot or version, or it is not kept any more: %s", at))
}

// changed is verb for a change of the tree that may turn out to be none: the database writes the row of one that it
// made. fn may report less than was committed: a row is written once.
func (s *Service) changed(
	ctx context.Context, c Caller, id uuid.UUID, what string, fn func(ctx context.Context, e store.Exec) (b *Sandbox,
		committed bool, err error),
) (*Sandbox, error) {
	began, entered := s.cfg.Now(), false
	b, err := locked(ctx, s, c, id, func(ctx context.Context, f *store.Fence) (*Sandbox, error) {
		entered = true
		row := s.verbRow(c, what)
		b, committed, err := fn(ctx, row)
		if _, refused := vfs.Of(err); !refused {
			s.trees.Drop(id)
		}
		if !committed && (b == nil || b.Version == f.Version) {
			row.Duration = s.elapsed(row.StartedAt)
			e := store.LoggedExec{Exec: row, Sandbox: id, Version: f.Version}
			if err != nil {
				e.Error = string(asError(err).Code)
			}
			s.log.add(e)
		}
		return b, err
	})
	if !entered {
		s.note(c, id, -1, what, began, err)
	}
	return b, err
}

// moved is changed for what puts a sandbox on another chain of layers.
func (s *Service) moved(
	ctx context.Context, c Caller, id uuid.UUID, what string, fn func(ctx context.Context, e store.Exec) (*store.Sandbox,
		error),
) (*Sandbox, error) {
	return s.changed(ctx, c, id, what, func(ctx context.Context, e store.Exec) (*Sandbox, bool, error) {
		b, err := fn(ctx, e)
		if err != nil {
			return nil, false, err
		}
		return sandboxOf(b), false, nil // its version tells
	})
}

// Restore brings a sandbox back to an earlier state (at as in Caller.At). Undo takes it back.
func (s *Service) Restore(ctx context.Context, c Caller, id uuid.UUID, at string) (*Sandbox, error) {
	return s.moved(ctx, c, id, "restore "+at, func(ctx context.Context, e store.Exec) (*store.Sandbox, error) {
		state, err := stateName(at)
		if err != nil {
			return nil, err
		}
		b, err := s.store.Restore(ctx, id, state, e)
		if errors.Is(err, vfs.ENOENT) {
			err = errNoState(at, err)
		}
		return b, err
	})
}

// MaxSteps is how many steps Undo and Redo take at once, and how many automatic snapshots a sandbox may keep.
const MaxSteps = 10_000

func checkSteps(steps int) error {
	if steps < 1 || steps > MaxSteps {
		return newError(wire.CodeInvalidInput, nil, fmt.Sprintf("steps: want 1 to %d", MaxSteps))
	}
	return nil
}

// Undo takes back what was committed since the newest automatic snapshots, steps of them, and says so in Steps. Runs
// that changed no file are no steps.
func (s *Service) Undo(ctx context.Context, c Caller, id uuid.UUID, steps int) (*Sandbox, error) {
	if err := checkSteps(steps); err != nil {
		return nil, err
	}
	return s.moved(ctx, c, id, fmt.Sprint("undo ", steps), func(ctx context.Context, e store.Exec) (*store.Sandbox,
		error) {
		b, err := s.store.Undo(ctx, id, steps, e)
		if errors.Is(err, vfs.ENODATA) {
			err = newError(wire.CodeENOENT, vfs.ENOENT, "there is no automatic snapshot to go back to")
		}
		return b, err
	})
}

// Redo brings back what Undo took away.
func (s *Service) Redo(ctx context.Context, c Caller, id uuid.UUID, steps int) (*Sandbox, error) {
	if err := checkSteps(steps); err != nil {
		return nil, err
	}
	return s.moved(ctx, c, id, fmt.Sprint("redo ", steps), func(ctx context.Context, e store.Exec) (*store.Sandbox,
		error) {
		b, err := s.store.Redo(ctx, id, steps, e)
		if errors.Is(err, vfs.ENODATA) {
			err = newError(wire.CodeENOENT, vfs.ENOENT, "there is nothing to redo")
		}
		return b, err
	})
}

// Flatten merges the layers of a sandbox into one over the base layer, and returns how many there were and are. No file
// changes.
func (s *Service) Flatten(ctx context.Context, c Caller, id uuid.UUID) (before, after int, err error) {
	before, err = verb(ctx, s, c, id, "flatten", func(ctx context.Context, _ *store.Fence, row store.Exec) (int, error) {
		defer s.trees.Drop(id)
		return s.store.Flatten(ctx, id, row)
	})
	return before, min(before, 2), err
}

// DropSnapshot forgets a snapshot, which is named by its id or its name.
func (s *Service) DropSnapshot(ctx context.Context, c Caller, id uuid.UUID, snapshot string) error {
	return s.act(ctx, c, id, "snapshot rm "+snapshot, func(ctx context.Context, _ *store.Fence, row store.Exec) error {
		all, err := s.store.Snapshots(ctx, id)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(n Snapshot) bool { return n.ID.String() == strings.ToLower(snapshot) })
		if i < 0 {
			i = slices.IndexFunc(all, func(n Snapshot) bool { return n.Name == snapshot })
		}
		if i < 0 {
			return newError(wire.CodeENOENT, vfs.ENOENT, "no such snapshot")
		}
		err = s.store.DropSnapshot(ctx, id, all[i].ID, row)
		if errors.Is(err, vfs.ENOENT) { // somebody else was faster
			err = newError(wire.CodeENOENT, err, "no such snapshot")
		}
		return err
	})
}
