package sandbox

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/cache"
	"github.com/pgbox/pgbox/gateway/lock"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

// authorize decides whether the caller may use the sandbox of f.
func authorize(c Caller, f *store.Fence) error {
	switch {
	case f.Tenant != c.Tenant:
		return newError(wire.CodeSandboxNotFound, nil, "no such sandbox")
	case f.Owner != c.Subject:
		return newError(wire.CodeForbidden, nil, "the sandbox belongs to somebody else")
	}
	return nil
}

// fence reads the sandbox row and checks that the caller may use it.
func (s *Service) fence(ctx context.Context, c Caller, id uuid.UUID) (*store.Fence, error) {
	f, err := s.store.Fence(ctx, id)
	if err != nil {
		if errors.Is(err, vfs.ESRCH) {
			s.trees.Drop(id)
		}
		return nil, err
	}
	return f, authorize(c, f)
}

// Check reports whether the sandbox exists and is the caller's, and whether something may be done there now.
func (s *Service) Check(ctx context.Context, c Caller, id uuid.UUID) error {
	return do(ctx, s, func(ctx context.Context) error {
		_, err := s.fence(ctx, c, id)
		return err
	})
}

// acquire takes the sandbox's lock for a writer. A stranger must not stand in the line: tenant and
// owner never change, so what is cached of them is believed before the lock; the fence decides afterwards.
func (s *Service) acquire(ctx context.Context, c Caller, id uuid.UUID) (lock.Lease, error) {
	if f, ok := s.trees.Known(id); ok {
		if err := authorize(c, f); err != nil {
			return nil, err
		}
	} else if _, err := s.fence(ctx, c, id); err != nil {
		return nil, err
	}
	return s.lock.Lock(ctx, id)
}

// options are those of every working tree of a sandbox.
func (s *Service) options(f *store.Fence, readOnly bool) tree.Options {
	o := tree.Options{
		Content: s.blobs.Of(f.ID), ReadOnly: readOnly, UID: userID, GID: userID, MaxFileSize: s.cfg.MaxFileSize,
		Now: func() int64 { return s.cfg.Now().UnixNano() },
	}
	if readOnly {
		return o
	}
	if f.MaxBytes != nil {
		o.MaxBytes = max(*f.MaxBytes, 1)
	}
	if f.MaxInodes != nil {
		o.MaxInodes = max(*f.MaxInodes, 1)
	}
	o.DirtyMax = s.cfg.DirtyMax
	o.Spill = func(ctx context.Context, chunks [][]byte) error {
		return s.store.PutBlobs(ctx, f.ID, chunks)
	}
	return o
}

// userID is the uid and gid of the sandbox's user.
const userID = 1000

// View runs fn over the latest version of a sandbox. It takes no lock and waits for no writer. The tree and the
// read-only working tree may be used until fn returns.
func (s *Service) View(ctx context.Context, c Caller, id uuid.UUID, fn func(t *tree.Tree, w *tree.Work) error) error {
	return do(ctx, s, func(ctx context.Context) error {
		pin, err := s.pinRead(ctx, c, id)
		if err != nil {
			return err
		}
		defer pin.Release()
		return fn(pin.Tree, pin.Tree.Begin(ctx, s.options(pin.Fence, true)))
	})
}

// view is View with a row in the audit log, under the name of a verb and its path. fn calls begin before it hands out
// the first of what it reads.
func (s *Service) view(
	ctx context.Context, c Caller, id uuid.UUID, what string, fn func(w *tree.Work, begin func() error) error,
) error {
	began, begun := s.cfg.Now(), false
	err := s.View(ctx, c, id, func(_ *tree.Tree, w *tree.Work) error {
		return fn(w, func() error {
			begun = true
			return s.noteRead(ctx, c, id, what, began, nil)
		})
	})
	if !begun {
		s.note(c, id, -1, what, began, err)
	}
	return err
}

// pinRead returns the tree for a read: the latest, or one as old as the caller allows.
func (s *Service) pinRead(ctx context.Context, c Caller, id uuid.UUID) (cache.Pin, error) {
	if c.At != "" {
		return s.pinAt(ctx, c, id)
	}
	// First how current the cache is, then the tree: the other way round it could be older than that.
	if c.MaxStaleness > 0 && s.cfg.Feed.Fresh(c.MaxStaleness) {
		if pin, ok := s.trees.Cached(id); ok {
			err := authorize(c, pin.Fence)
			if err == nil && (pin.Fence.ExpiresAt == nil || pin.Fence.ExpiresAt.After(s.cfg.Now())) {
				return pin, nil
			}
			pin.Release()
			if err != nil {
				return cache.Pin{}, err
			}
		}
	}
	return s.pin(ctx, c, id)
}

// pinAt returns the tree of the earlier state that the caller names.
func (s *Service) pinAt(ctx context.Context, c Caller, id uuid.UUID) (cache.Pin, error) {
	at, err := stateName(c.At)
	if err != nil {
		return cache.Pin{}, err
	}
	f, err := s.store.FenceAt(ctx, id, at)
	if err != nil {
		if errors.Is(err, vfs.ENOENT) {
			err = errNoState(c.At, err)
		}
		return cache.Pin{}, err
	}
	if err := authorize(c, f); err != nil {
		return cache.Pin{}, err
	}
	if f.Layers[0] != uuid.Nil {
		return s.trees.Get(ctx, f)
	}
	return s.trees.At(ctx, f)
}

// pin returns the latest tree of a sandbox that the caller may use.
func (s *Service) pin(ctx context.Context, c Caller, id uuid.UUID) (cache.Pin, error) {
	f, err := s.fence(ctx, c, id)
	if err != nil {
		return cache.Pin{}, err
	}
	return s.trees.Get(ctx, f)
}

// Update runs fn over a working tree of the latest version of a sandbox and commits what it changed, all or nothing. An
// error of fn commits nothing. fn is run again on a fresh tree when somebody else committed in between. op and path are
// for the audit log.
func (s *Service) Update(
	ctx context.Context, c Caller, id uuid.UUID, op, path string, fn func(t *tree.Tree, w *tree.Work) error,
) error {
	return do(ctx, s, func(ctx context.Context) error {
		_, _, err := once(ctx, s, c, func() (_ struct{}, committed bool, _ error) {
			err := s.commits(ctx, c, id, func(lease lock.Lease) (err error) {
				committed, err = s.update(ctx, lease, c, id, op, path, fn)
				return err
			})
			return struct{}{}, committed, err
		})
		return err
	})
}

// update is one attempt of Update. It reports whether there was something to commit.
func (s *Service) update(
	ctx context.Context, lease lock.Lease, c Caller, id uuid.UUID, op, path string,
	fn func(t *tree.Tree, w *tree.Work) error,
) (committed bool, err error) {
	pin, err := s.pin(ctx, c, id)
	if err != nil {
		return false, err
	}
	defer pin.Release()
	began := s.cfg.Now()
	row := func() store.Exec { return s.rowOf(c, op+" "+path, began) }
	defer func() {
		if committed {
			return
		}
		e := store.LoggedExec{Exec: row(), Sandbox: id, Version: pin.Fence.Version}
		if err != nil {
			e.Error = string(asError(err).Code)
		}
		s.log.add(e)
	}()
	w := pin.Tree.Begin(ctx, s.options(pin.Fence, false))
	if err := fn(pin.Tree, w); err != nil {
		return false, err
	}
	d := w.Delta()
	if d.Empty() {
		return false, nil
	}
	if err := stillOurs(ctx, lease); err != nil {
		return false, err
	}
	var answer *store.Answer
	if c.Key != nil {
		if answer, err = c.Key.answer(c, struct{}{}); err != nil {
			return false, err
		}
	}
	_, err = s.commit(ctx, pin.Fence, w, store.Commit{Delta: d, Exec: row(), Answer: answer, Wait: s.cfg.LockTimeout})
	return err == nil, err
}

// stillOurs is the last look before a commit.
func stillOurs(ctx context.Context, lease lock.Lease) error {
	if err := lease.Err(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// cachedBlobBytes bounds how much of one commit goes into the content cache.
const cachedBlobBytes = 32 << 20

// commit applies what was made on the version of f and makes the working tree the cached one. Once begun it does
// not depend on the caller's patience any more.
func (s *Service) commit(ctx context.Context, f *store.Fence, w *tree.Work, c store.Commit) (*store.Fence, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.CommitTimeout)
	defer cancel()
	c.Sandbox, c.Version, c.ChangedAt = f.ID, f.Version, f.ChangedAt
	a, err := s.store.Apply(ctx, c)
	if err != nil {
		// What was refused has changed nothing, and the next fence tells a stale tree. Only after an unknown outcome may the
		// cached tree be wrong.
		if store.OutcomeOf(err) == store.Unknown {
			s.trees.Drop(f.ID)
		}
		return nil, err
	}
	next := *f
	if a.ChangedAt.IsZero() {
		// A commit whose connection was lost: what it has led to is only half known.
		s.trees.Drop(f.ID)
		next.Version = a.Version
		return &next, nil
	}
	next.ChangedAt = &a.ChangedAt
	if a.Layers != nil && !slices.Equal(a.Layers, f.Layers) {
		// An automatic snapshot sealed what the run stood on.
		before := next
		before.Layers = a.Layers
		s.trees.Sealed(f, &before)
		next.Layers = a.Layers
	}
	next.Version, next.UsedBytes, next.UsedInodes, next.NextIno = a.Version, a.UsedBytes, a.UsedInodes,
		int64(c.Delta.NextIno)
	if c.ShellState != nil {
		if next.State = a.State; a.State != nil {
			s.states.Put(*a.State, c.ShellState)
		}
	}
	kept := 0
	for h, b := range c.Delta.Blobs {
		if kept += len(b); kept > cachedBlobBytes {
			break
		}
		s.blobs.Put(h, b)
	}
	t := w.Commit(a.Version)
	if a.UsedBytes != c.Delta.UsedBytes {
		if t, err = t.Patch(&tree.Patch{Version: a.Version, NextIno: c.Delta.NextIno, UsedBytes: a.UsedBytes,
			UsedInodes: a.UsedInodes}); err != nil {
			return nil, err
		}
	}
	s.trees.Put(&next, t)
	return &next, nil
}

// elapsed is the time since t by the service's clock.
func (s *Service) elapsed(t time.Time) time.Duration { return s.cfg.Now().Sub(t) }
