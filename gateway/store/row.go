package store

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/tree"
)

// Fence is the state of a sandbox at one moment: its latest version and what a request needs to know of it.
type Fence struct {
	ID         uuid.UUID
	Tenant     string
	Owner      string
	Name       string
	Version    int64
	Layers     []uuid.UUID // newest first; the first one is the sandbox's own, the others are sealed
	NextIno    int64
	UsedBytes  int64
	UsedInodes int64
	MaxBytes   *int64 // nil: no limit
	MaxInodes  *int64
	Env        json.RawMessage // object of strings
	Config     json.RawMessage
	State      *tree.Hash // names the state of the shell; nil: a fresh one
	ExpiresAt  *time.Time
	// ChangedAt is when Version came about by the clock of the server; nil for a sandbox that was never changed, and where
	// it is not known. Two histories of a sandbox (a standby that was promoted while its primary lived on) share versions,
	// but not this.
	ChangedAt *time.Time
}

// Contradicts reports whether f and g are of one version, but not of one history: the database is not the one it was.
func (f *Fence) Contradicts(g *Fence) bool {
	return f.Version == g.Version && f.ChangedAt != nil && g.ChangedAt != nil && !f.ChangedAt.Equal(*g.ChangedAt)
}

// same reports whether f and g are of one version of one history.
func (f *Fence) same(g *Fence) bool {
	at := func(f *Fence) time.Time {
		if f.ChangedAt == nil {
			return time.Time{}
		}
		return *f.ChangedAt
	}
	return f.ID == g.ID && f.Version == g.Version && slices.Equal(f.Layers, g.Layers) && at(f).Equal(at(g))
}

// Sandbox is a sandbox as the list shows it.
type Sandbox struct {
	ID           uuid.UUID
	Tenant       string
	Owner        string
	Name         string
	Env          json.RawMessage
	Config       json.RawMessage
	Labels       json.RawMessage
	Version      int64
	UsedBytes    int64
	UsedInodes   int64
	MaxBytes     *int64
	MaxInodes    *int64
	MaxSnapshots *int64
	Journal      bool  // operations on files are written to the journal
	Pruned       int64 // operations of this version and of those before are gone from the journal; 0: none
	CreatedAt    time.Time
	LastUsedAt   *time.Time
	ExpiresAt    *time.Time
	History      History
	Steps        []Step // after an undo or redo: of the first 100
}

// Step is what one step of an undo or redo did.
type Step struct {
	Version int64     `json:"version"` // it made this one
	First   int64     `json:"first"`   // of the versions that it took back, or brought again
	Last    int64     `json:"last"`
	Runs    []StepRun `json:"runs"`  // what made those, newest first; at most 20
	Paths   []string  `json:"paths"` // what changed by it, at most 100
	Total   int       `json:"total"` // how many paths there are
}

// StepRun is a run whose changes were taken back or brought again.
type StepRun struct {
	Version int64      `json:"version"`
	Exec    *uuid.UUID `json:"exec,omitempty"` // nil: done in SQL
	Script  string     `json:"script"`         // its beginning
	Caller  string     `json:"caller"`
	Agent   string     `json:"agent,omitempty"`
	Route   string     `json:"route"`
	At      time.Time  `json:"at"`
}

// History says when commits take automatic snapshots of what they are about to change: when the last one is so many
// versions or seconds old; 0: not for that reason. Keep is how many are kept, 0 for the default.
type History struct {
	Commits int32 `json:"commits,omitempty"`
	Seconds int32 `json:"seconds,omitempty"`
	Keep    int32 `json:"keep,omitempty"`
}

// Off reports whether there are no automatic snapshots.
func (h *History) Off() bool { return h.Commits == 0 && h.Seconds == 0 }

// json is the argument of the SQL functions.
func (h *History) json() json.RawMessage {
	if h == nil {
		return nil
	}
	b, _ := json.Marshal(h) // integers only
	return b
}

// NewSandbox is what Create makes. The JSON values may be nil for empty objects.
type NewSandbox struct {
	ID        uuid.UUID
	Tenant    string
	Owner     string
	Name      string
	Env       json.RawMessage
	Config    json.RawMessage
	Labels    json.RawMessage
	MaxBytes  *int64
	MaxInodes *int64
	ExpiresAt *time.Time
	Image     string   // name or name:tag of the image to start from; "": the empty sandbox
	History   *History // nil: none
}

// Update changes the columns of a sandbox that are not nil.
type Update struct {
	Name         *string
	Env          json.RawMessage
	Labels       json.RawMessage
	MaxBytes     *int64
	MaxInodes    *int64
	MaxSnapshots *int64
	Journal      *bool
	ExpiresAt    *time.Time
	History      *History
	Clear        []string // of max_bytes, max_inodes, max_snapshots, expires_at, history: those to remove
}

// Snapshot is a state of a sandbox that is kept.
type Snapshot struct {
	ID        uuid.UUID
	Sandbox   uuid.UUID
	Name      string
	Automatic bool
	Version   int64
	CreatedAt time.Time
}

// Image is a tree that sandboxes start from.
type Image struct {
	ID         uuid.UUID
	Owner      string
	Name       string
	Tag        string
	UsedBytes  int64
	UsedInodes int64
	CreatedAt  time.Time
}

// KeyValue is a key of a sandbox's store.
type KeyValue struct {
	Key     string
	Value   json.RawMessage
	Version int64
}

// Exec is the audit row of one run or verb. Its texts are made fit for Postgres (no NUL, valid UTF-8)
// on the way.
type Exec struct {
	ID          uuid.UUID
	Tenant      string
	Route       string
	Caller      string
	Agent       string // which of the caller's agents, as the client says; "": it does not
	Key         string // idempotency key; "": none
	Error       string // code of what ended it from outside; "": it came to its own end
	Script      string
	Cwd         string
	ReadOnly    bool
	ExitCode    *int // nil: no script
	StartedAt   time.Time
	Duration    time.Duration
	StdoutBytes int64
	StderrBytes int64
	StdoutHead  []byte
	StderrHead  []byte
}

// Commit is one change of a sandbox's tree: everything fs.apply needs.
type Commit struct {
	Sandbox uuid.UUID
	Version int64 // the version the change was made on
	// when that came about (Fence.ChangedAt): with another time it is of another history; nil: not known
	ChangedAt  *time.Time
	Delta      *tree.Delta
	ShellState json.RawMessage // nil: unchanged
	Exec       Exec            // ID is needed: it settles an unknown outcome
	Answer     *Answer         // kept in the same transaction; may be nil
	Wait       time.Duration   // for another transaction that holds the sandbox; 0, and at most: the store's LockWait
}

// Committed is what a commit led to.
type Committed struct {
	Version    int64
	UsedBytes  int64 // with what a large state of the shell counts
	UsedInodes int64
	Layers     []uuid.UUID // others than before when an automatic snapshot was taken; nil: not known
	ChangedAt  time.Time   // when Version came about by the clock of the server; zero: not known, and neither is State
	State      *tree.Hash  // names the state of the shell
}

// Change is one operation of the journal; Exec is nil for what was done in SQL.
type Change struct {
	Version int64
	Seq     int32 // within the version, from 0
	Exec    *uuid.UUID
	Op      string
	Path    string
	PathTo  string // of a rename, link or symlink; "" otherwise
	Ino     int64
	At      time.Time
	// Of a regular file, before and after the whole version; nil: there was none, or (a hash) it has more than 64 MiB.
	SizeBefore, SizeAfter *int64
	HashBefore, HashAfter []byte
}
