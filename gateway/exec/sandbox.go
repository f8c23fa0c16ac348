package exec

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Sandbox is what a client sees of a sandbox.
type Sandbox struct {
	ID         uuid.UUID
	Tenant     string
	Owner      string
	Name       string
	Env        map[string]string
	Config     json.RawMessage // the client's runtime switches (python, javascript, network), an object
	Labels     map[string]string
	Version    int64
	UsedBytes  int64
	UsedInodes int64
	MaxBytes   *int64 // nil: no limit
	MaxInodes  *int64
	CreatedAt  time.Time
	LastUsedAt *time.Time
	ExpiresAt  *time.Time
}

// NewSandbox describes a sandbox to be created. Owner and tenant are the caller's.
type NewSandbox struct {
	Name      string
	Env       map[string]string
	Config    json.RawMessage
	Labels    map[string]string
	MaxBytes  *int64
	MaxInodes *int64
	ExpiresAt *time.Time
	Files     map[string][]byte // by absolute path; parents are made. All or nothing with the sandbox itself
}

// SandboxUpdate changes what is not nil.
type SandboxUpdate struct {
	Name      *string
	Env       map[string]string
	Labels    map[string]string
	ExpiresAt *time.Time
	MaxBytes  *int64
	MaxInodes *int64
}

// ListOptions pages through a caller's sandboxes, newest first.
type ListOptions struct {
	Limit int       // 0: 100
	After uuid.UUID // the last sandbox of the page before; zero: from the start
}

// Snapshot is a named state of a sandbox.
type Snapshot struct {
	ID        uuid.UUID
	Sandbox   uuid.UUID
	Name      string
	Version   int64
	CreatedAt time.Time
}

// ParseID reads a sandbox id as it came over the wire: EINVAL when it cannot be an id at all, SANDBOX_NOT_FOUND when it is none of ours.
func ParseID(s string) (uuid.UUID, error) {
	return uuid.Nil, errNotWired
}

// CreateSandbox creates a sandbox with its first files, in one transaction.
func (s *Service) CreateSandbox(ctx context.Context, c Caller, n NewSandbox) (*Sandbox, error) {
	return nil, errNotWired
}

// ListSandboxes returns one page of the caller's sandboxes, newest first.
func (s *Service) ListSandboxes(ctx context.Context, c Caller, o ListOptions) ([]Sandbox, error) {
	return nil, errNotWired
}

// GetSandbox describes a sandbox.
func (s *Service) GetSandbox(ctx context.Context, c Caller, id uuid.UUID) (*Sandbox, error) {
	return nil, errNotWired
}

// UpdateSandbox changes a sandbox's name, environment, labels, expiry or limits.
func (s *Service) UpdateSandbox(ctx context.Context, c Caller, id uuid.UUID, u SandboxUpdate) (*Sandbox, error) {
	return nil, errNotWired
}

// DropSandbox deletes a sandbox. Its id is never used again.
func (s *Service) DropSandbox(ctx context.Context, c Caller, id uuid.UUID) error {
	return errNotWired
}

// Fork makes a new sandbox of the caller's that starts as a copy of id.
func (s *Service) Fork(ctx context.Context, c Caller, id uuid.UUID, name string) (*Sandbox, error) {
	return nil, errNotWired
}

// Snapshot names the present state of a sandbox.
func (s *Service) Snapshot(ctx context.Context, c Caller, id uuid.UUID, name string) (*Snapshot, error) {
	return nil, errNotWired
}

// Snapshots lists the snapshots of a sandbox, oldest first.
func (s *Service) Snapshots(ctx context.Context, c Caller, id uuid.UUID) ([]Snapshot, error) {
	return nil, errNotWired
}

// Restore brings a sandbox back to the state of one of its snapshots.
func (s *Service) Restore(ctx context.Context, c Caller, id, snapshot uuid.UUID) (*Sandbox, error) {
	return nil, errNotWired
}
