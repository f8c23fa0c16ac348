package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

// Sandbox is what a client sees of a sandbox.
type Sandbox struct {
	ID           uuid.UUID
	Tenant       string
	Owner        string
	Name         string
	Env          map[string]string
	Config       json.RawMessage // the client's runtime switches (python, javascript, network), an object
	Labels       map[string]string
	Version      int64
	UsedBytes    int64
	UsedInodes   int64
	MaxBytes     *int64 // nil: no limit
	MaxInodes    *int64
	MaxSnapshots *int64
	Journal      bool // operations on files are written to the journal
	CreatedAt    time.Time
	LastUsedAt   *time.Time
	ExpiresAt    *time.Time
	History      History
	Steps        []Step // what an undo or redo did; else nil
}

// Step is what one step of an undo or redo did.
type Step = store.Step

// History says when commits take automatic snapshots of what they are about to change.
type History = store.History

// NewSandbox describes a sandbox to be created. Owner and tenant are the caller's.
type NewSandbox struct {
	Name      string
	Env       map[string]string
	Config    json.RawMessage
	Labels    map[string]string
	MaxBytes  *int64
	MaxInodes *int64
	ExpiresAt *time.Time
	Image     string            // name or name:tag of the image to start from; "": an empty sandbox
	History   *History          // nil: no automatic snapshots
	Files     map[string][]byte // by absolute path; parents are made. All or nothing with the sandbox itself
}

// SandboxUpdate changes what is not nil.
type SandboxUpdate struct {
	Name         *string
	Env          map[string]string
	Labels       map[string]string
	ExpiresAt    *time.Time
	MaxBytes     *int64
	MaxInodes    *int64
	MaxSnapshots *int64
	Journal      *bool
	History      *History
	Clear        []string // of "max_bytes", "max_inodes", "max_snapshots", "expires_at", "history": those to remove
}

// ListOptions pages through a caller's sandboxes, newest first.
type ListOptions struct {
	Limit  int               // 0: 100
	After  uuid.UUID         // the last sandbox of the page before; zero: from the start
	Name   string            // only sandboxes of this name; "": any
	Labels map[string]string // only sandboxes with these labels
}

// Snapshot is a state of a sandbox that is kept.
type Snapshot = store.Snapshot

// ParseID reads a sandbox id as it came over the wire: EINVAL when it cannot be an id at all, SANDBOX_NOT_FOUND when it
// is none of ours.
func ParseID(s string) (uuid.UUID, error) {
	ok := len(s) >= 1 && len(s) <= 128
	for i := 0; ok && i < len(s); i++ {
		c := s[i]
		ok = c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	if !ok {
		e := newError(wire.CodeEINVAL, nil, "not a sandbox id")
		e.Errno = vfs.EINVAL
		return uuid.Nil, e
	}
	// Only the canonical form: an id has one spelling.
	id, err := uuid.Parse(s)
	if err != nil || id.String() != s {
		return uuid.Nil, newError(wire.CodeSandboxNotFound, nil, "no such sandbox")
	}
	return id, nil
}

// object encodes m, nil for a nil map.
func object(m map[string]string) (json.RawMessage, error) {
	if m == nil {
		return nil, nil
	}
	return json.Marshal(m)
}

// strings reads an object of strings; what is not one is left out.
func stringMap(raw json.RawMessage) map[string]string {
	out := map[string]string{}
	var all map[string]any
	if json.Unmarshal(raw, &all) == nil {
		for k, v := range all {
			if s, ok := v.(string); ok {
				out[k] = s
			}
		}
	}
	return out
}

func sandboxOf(r *store.Sandbox) *Sandbox {
	return &Sandbox{
		ID: r.ID, Tenant: r.Tenant, Owner: r.Owner, Name: r.Name, Env: stringMap(r.Env), Config: r.Config,
		Labels:  stringMap(r.Labels),
		Version: r.Version, UsedBytes: r.UsedBytes, UsedInodes: r.UsedInodes, MaxBytes: r.MaxBytes, MaxInodes: r.MaxInodes,
		CreatedAt: r.CreatedAt, LastUsedAt: r.LastUsedAt, ExpiresAt: r.ExpiresAt, History: r.History,
		MaxSnapshots: r.MaxSnapshots, Journal: r.Journal,
		Steps: r.Steps,
	}
}

// CreateSandbox creates a sandbox with its first files, in one transaction.
func (s *Service) CreateSandbox(ctx context.Context, c Caller, n NewSandbox) (*Sandbox, error) {
	return call(ctx, s, func(ctx context.Context) (*Sandbox, error) {
		b, _, err := once(ctx, s, c, func() (*Sandbox, bool, error) {
			b, err := s.create(ctx, c, n)
			return b, true, err
		})
		return b, err
	})
}

// answerOf keeps the sandbox that a caller's request makes under its key, nil when there is none.
func answerOf(c Caller) store.AnswerFunc {
	if c.Key == nil {
		return nil
	}
	return func(b *store.Sandbox) (*store.Answer, error) { return c.Key.answer(c, sandboxOf(b)) }
}

func (s *Service) create(ctx context.Context, c Caller, n NewSandbox) (*Sandbox, error) {
	for path := range n.Files {
		if err := absolute(path); err != nil {
			return nil, err
		}
	}
	if err := checkEnv(n.Env); err != nil {
		return nil, err
	}
	env, err := object(n.Env)
	if err != nil {
		return nil, err
	}
	labels, err := object(n.Labels)
	if err != nil {
		return nil, err
	}
	row := store.NewSandbox{
		ID: uuid.New(), Tenant: c.Tenant, Owner: c.Subject, Name: n.Name, Env: env, Config: n.Config, Labels: labels,
		MaxBytes: n.MaxBytes, MaxInodes: n.MaxInodes, ExpiresAt: n.ExpiresAt, Image: n.Image, History: n.History,
	}
	if len(n.Files) == 0 {
		began := s.cfg.Now()
		e := s.verbRow(c, "create")
		b, err := s.store.Create(ctx, row, &e, answerOf(c))
		if err != nil {
			s.note(c, uuid.Nil, -1, "create "+n.Name, began, err)
			return nil, noImage(n.Image, err)
		}
		return sandboxOf(b), nil
	}
	began := s.cfg.Now()
	b, err := s.store.CreateWith(ctx, row, answerOf(c), func(ctx context.Context, f *store.Fence,
		load store.LoadFunc) (*store.Commit, error) {
		t, ok := s.trees.Chain(f.Layers[1:])
		if !ok {
			var err error
			if t, err = loadChain(ctx, f.Layers[1:], load); err != nil {
				return nil, err
			}
		}
		t, err := t.Patch(&tree.Patch{NextIno: tree.Ino(f.NextIno), UsedBytes: f.UsedBytes, UsedInodes: f.UsedInodes})
		if err != nil {
			return nil, err
		}
		o := s.options(f, false)
		o.Spill, o.DirtyMax = nil, 0
		w := t.Begin(ctx, o)
		if err := writeAll(w, n.Files); err != nil {
			return nil, err
		}
		return &store.Commit{Sandbox: f.ID, Version: f.Version, Delta: w.Delta(), Exec: s.rowOf(c, "create", began)}, nil
	})
	if err != nil {
		return nil, noImage(n.Image, err)
	}
	return sandboxOf(b), nil
}

// noImage says what it is that a creation did not find.
func noImage(image string, err error) error {
	if image != "" && errors.Is(err, vfs.ENOENT) {
		return newError(wire.CodeENOENT, err, fmt.Sprintf("no such image: %s", image))
	}
	return err
}

// loadChain builds the tree of sealed layers, newest first.
func loadChain(ctx context.Context, layers []uuid.UUID, load store.LoadFunc) (*tree.Tree, error) {
	patches, err := load(ctx, layers)
	if err != nil {
		return nil, err
	}
	t := tree.Empty()
	for i := len(patches) - 1; i >= 0; i-- {
		if t, err = t.Patch(patches[i]); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// ListSandboxes returns one page of the caller's sandboxes, newest first.
func (s *Service) ListSandboxes(ctx context.Context, c Caller, o ListOptions) ([]Sandbox, error) {
	return call(ctx, s, func(ctx context.Context) (_ []Sandbox, err error) {
		if o.Limit <= 0 {
			o.Limit = 100
		}
		f := store.ListFilter{Limit: min(o.Limit, 1000), After: o.After, Name: o.Name}
		if len(o.Labels) > 0 {
			if f.Labels, err = object(o.Labels); err != nil {
				return nil, err
			}
		}
		rows, err := s.store.List(ctx, c.Tenant, c.Subject, f)
		return sandboxesOf(rows), err
	})
}

// GetSandbox describes a sandbox.
func (s *Service) GetSandbox(ctx context.Context, c Caller, id uuid.UUID) (*Sandbox, error) {
	return call(ctx, s, func(ctx context.Context) (*Sandbox, error) {
		b, err := s.store.Get(ctx, id)
		if err == nil {
			err = authorize(c, &store.Fence{Tenant: b.Tenant, Owner: b.Owner})
		}
		if err != nil {
			return nil, err
		}
		return sandboxOf(b), nil
	})
}

// UpdateSandbox changes a sandbox's name, environment, labels, expiry or limits.
func (s *Service) UpdateSandbox(ctx context.Context, c Caller, id uuid.UUID, u SandboxUpdate) (*Sandbox, error) {
	if err := checkEnv(u.Env); err != nil {
		return nil, err
	}
	return verb(ctx, s, c, id, "update", func(ctx context.Context, _ *store.Fence, e store.Exec) (*Sandbox, error) {
		env, err := object(u.Env)
		if err != nil {
			return nil, err
		}
		labels, err := object(u.Labels)
		if err != nil {
			return nil, err
		}
		b, err := s.store.Update(ctx, id, store.Update{Name: u.Name, Env: env, Labels: labels, MaxBytes: u.MaxBytes,
			MaxInodes: u.MaxInodes, ExpiresAt: u.ExpiresAt, History: u.History, MaxSnapshots: u.MaxSnapshots, Journal: u.Journal,
			Clear: u.Clear}, e)
		if err != nil {
			return nil, err
		}
		return sandboxOf(b), nil
	})
}

// DropSandbox deletes a sandbox. Its id is never used again.
func (s *Service) DropSandbox(ctx context.Context, c Caller, id uuid.UUID) error {
	return s.act(ctx, c, id, "drop", func(ctx context.Context, _ *store.Fence, row store.Exec) error {
		defer s.trees.Drop(id)
		return s.store.Drop(ctx, id, row)
	})
}

// maxForks is how many forks one request makes at most.
const maxForks = 100

// maxName is the longest name of a sandbox, in characters.
const maxName = 255

// forkName is the name of forks, which get a number behind it when there are several: the one that was asked for, or as
// much of the original's as leaves room.
func forkName(name, original string, count int) (string, error) {
	room := maxName
	if count > 1 {
		room -= len(fmt.Sprint("-", count))
	}
	if utf8.RuneCountInString(name) > room {
		return "", newError(wire.CodeInvalidInput, nil, fmt.Sprintf("name: has at most %d characters", room))
	}
	if name == "" {
		name = string([]rune(original)[:min(room, utf8.RuneCountInString(original))])
	}
	return name, nil
}

// Fork makes count new sandboxes of the caller's that start as copies of id as it is, or was (at as in Caller.At).
// Several get -1, -2, … after their name, which is that of the original when it is empty.
func (s *Service) Fork(
	ctx context.Context, c Caller, id uuid.UUID, name string, count int, at string,
) ([]Sandbox, error) {
	if count < 1 || count > maxForks {
		return nil, newError(wire.CodeInvalidInput, nil, fmt.Sprintf("count: want a number from 1 to %d", maxForks))
	}
	state, err := stateName(at)
	if err != nil {
		return nil, toError(err)
	}
	list, _, err := once(ctx, s, c, func() ([]Sandbox, bool, error) {
		what := fmt.Sprintf("fork %s %d %s", name, count, at)
		list, err := verb(ctx, s, c, id, what, func(ctx context.Context, f *store.Fence, e store.Exec) ([]Sandbox, error) {
			name, err := forkName(name, f.Name, count)
			if err != nil {
				return nil, err
			}
			ids := make([]uuid.UUID, count)
			for i := range ids {
				ids[i] = uuid.New()
			}
			var answer store.ForksFunc
			if c.Key != nil {
				answer = func(rows []store.Sandbox) (*store.Answer, error) { return c.Key.answer(c, sandboxesOf(rows)) }
			}
			rows, err := s.store.Fork(ctx, id, ids, name, c.Subject, state, e, answer)
			if err != nil {
				if at != "" && errors.Is(err, vfs.ENOENT) {
					err = errNoState(at, err)
				}
				return nil, err
			}
			s.sealed(ctx, f)
			return sandboxesOf(rows), nil
		})
		return list, true, err
	})
	return list, toError(err)
}

func sandboxesOf(rows []store.Sandbox) []Sandbox {
	out := make([]Sandbox, len(rows))
	for i := range rows {
		out[i] = *sandboxOf(&rows[i])
	}
	return out
}

// sealed tells the cache that the sandbox of f stands on a new top layer. That it may fail harms nothing: the tree is
// loaded again.
func (s *Service) sealed(ctx context.Context, f *store.Fence) {
	if after, err := s.store.Fence(ctx, f.ID); err == nil {
		s.trees.Sealed(f, after)
	}
}

// Snapshot names the present state of a sandbox.
func (s *Service) Snapshot(ctx context.Context, c Caller, id uuid.UUID, name string) (*Snapshot, error) {
	return verb(ctx, s, c, id, "snapshot "+name, func(ctx context.Context, f *store.Fence, row store.Exec) (*Snapshot,
		error) {
		snap, err := s.store.Snapshot(ctx, id, name, row)
		switch {
		case errors.Is(err, vfs.EEXIST):
			return nil, newError(wire.CodeEEXIST, err, "there is a snapshot of that name already: "+name)
		case errors.Is(err, vfs.EINVAL) && strings.HasPrefix(name, "@"):
			return nil, newError(wire.CodeEINVAL, err, "names that begin with @ are those of automatic snapshots: "+name)
		case err != nil:
			return nil, err
		}
		s.sealed(ctx, f)
		return snap, nil
	})
}

// Snapshots lists the snapshots of a sandbox, oldest first.
func (s *Service) Snapshots(ctx context.Context, c Caller, id uuid.UUID) ([]Snapshot, error) {
	return owned(ctx, s, c, id, func(ctx context.Context, _ *store.Fence) ([]Snapshot, error) {
		return s.store.Snapshots(ctx, id)
	})
}
