package mcp

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/wire"
)

type sandboxArg struct {
	ID string `json:"id" jsonschema:"the sandbox's id"`
}

type createArgs struct {
	Name      string            `json:"name,omitempty" jsonschema:"at most 255 bytes"`
	Env       map[string]string `json:"env,omitempty" jsonschema:"default environment of every script"`
	Files     map[string]string `json:"files,omitempty" jsonschema:"first files: text by absolute path"`
	Labels    map[string]string `json:"labels,omitempty" jsonschema:"for sandbox_list"`
	Image     string            `json:"image,omitempty" jsonschema:"start from this image: NAME or NAME:TAG of image_list"`
	Undo      bool              `json:"undo,omitempty" jsonschema:"keep what every commit changes, for sandbox_undo"`
	ExpiresIn int64             `json:"expiresIn,omitempty" jsonschema:"seconds after which the sandbox is dropped; by default it stays"`
}

type sandboxResult struct {
	ok
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	CreatedAt  string            `json:"createdAt"`
	LastUsedAt *string           `json:"lastUsedAt"`
	ExpiresAt  *string           `json:"expiresAt"`
	Version    int64             `json:"version"`
	UsedBytes  int64             `json:"usedBytes"`
	UsedInodes int64             `json:"usedInodes"`
	Labels     map[string]string `json:"labels,omitempty"`
}

func describe(b *sandbox.Sandbox) sandboxResult {
	return sandboxResult{ok: done, ID: b.ID.String(), Name: b.Name, CreatedAt: sandbox.Timestamp(b.CreatedAt),
		LastUsedAt: sandbox.OptionalTimestamp(b.LastUsedAt),
		ExpiresAt:  sandbox.OptionalTimestamp(b.ExpiresAt), Version: b.Version, UsedBytes: b.UsedBytes,
		UsedInodes: b.UsedInodes, Labels: b.Labels}
}

type listArgs struct {
	Name   string            `json:"name,omitempty" jsonschema:"only sandboxes of this name"`
	Labels map[string]string `json:"labels,omitempty" jsonschema:"only sandboxes with these labels"`
	Limit  int               `json:"limit,omitempty" jsonschema:"1 to 1000; 100 by default"`
	Cursor string            `json:"cursor,omitempty" jsonschema:"nextCursor of the page before"`
}

type listResult struct {
	ok
	Sandboxes  []sandboxResult `json:"sandboxes"`
	NextCursor string          `json:"nextCursor,omitempty"`
}

type forkArgs struct {
	sandboxArg
	Name  string `json:"name,omitempty" jsonschema:"of the new sandbox; by default that of the original. Several get -1, -2, … after it"`
	Count int    `json:"count,omitempty" jsonschema:"how many, 1 to 100"`
	At    string `json:"at,omitempty" jsonschema:"an earlier state of the original: a snapshot by name or id, a version or a time"`
}

type snapshotArgs struct {
	sandboxArg
	Name string `json:"name" jsonschema:"1 to 255 bytes, unique in the sandbox"`
}

type snapshotResult struct {
	ok
	ID        string `json:"snapshotId"`
	Name      string `json:"name"`
	Version   int64  `json:"version"`
	CreatedAt string `json:"createdAt"`
}

func describeSnapshot(n *sandbox.Snapshot) snapshotResult {
	return snapshotResult{ok: done, ID: n.ID.String(), Name: n.Name, Version: n.Version,
		CreatedAt: sandbox.Timestamp(n.CreatedAt)}
}

type restoreArgs struct {
	sandboxArg
	At string `json:"at" jsonschema:"a snapshot by name or id, @base (how the sandbox began), a version or a time (RFC 3339)"`
}

type forkResult struct {
	ok
	ID        string          `json:"id"` // of the first
	Sandboxes []sandboxResult `json:"sandboxes"`
}

type snapshotsResult struct {
	ok
	Snapshots []snapshotResult `json:"snapshots"`
}

type stepsArgs struct {
	sandboxArg
	Steps int `json:"steps,omitempty" jsonschema:"how many, 1 to 10000; 1 by default"`
}

type stepsResult struct {
	sandboxResult
	Steps []sandbox.Step `json:"steps"`
}

type imagesArgs struct {
	Name string `json:"name,omitempty" jsonschema:"only images of this name"`
}

type imageResult struct {
	Name       string `json:"name"`
	Tag        string `json:"tag"`
	UsedBytes  int64  `json:"usedBytes"`
	UsedInodes int64  `json:"usedInodes"`
	CreatedAt  string `json:"createdAt"`
}

type imagesResult struct {
	ok
	Images []imageResult `json:"images"`
}

func (s *server) sandboxTools(m *sdk.Server) {
	add(m, "sandbox_create", "Create a sandbox",
		"Create a persistent sandbox, optionally with first files. Keep the id it returns.", adds,
		func(ctx context.Context, c call, in *createArgs) (any, error) {
			n := sandbox.NewSandbox{Name: in.Name, Env: in.Env, Labels: in.Labels, Image: in.Image, Files: map[string][]byte{}}
			if len(in.Name) > 255 {
				return nil, failure(wire.CodeInvalidInput, "name: has at most 255 bytes")
			}
			if in.ExpiresIn < 0 {
				return nil, failure(wire.CodeInvalidInput, "expiresIn: want seconds")
			} else if in.ExpiresIn > 0 {
				n.ExpiresAt = new(time.Now().Add(time.Duration(in.ExpiresIn) * time.Second))
			}
			if in.Undo {
				n.History = &sandbox.History{Commits: 1}
			}
			for path, text := range in.Files {
				if !strings.HasPrefix(path, "/") {
					return nil, failure(wire.CodeInvalidInput, "files: "+path+" is not absolute")
				}
				n.Files[path] = []byte(text)
			}
			if s.MaxBytes > 0 {
				n.MaxBytes = &s.MaxBytes
			}
			if s.MaxInodes > 0 {
				n.MaxInodes = &s.MaxInodes
			}
			b, err := s.Service.CreateSandbox(ctx, c.Caller, n)
			if err != nil {
				return nil, err
			}
			return describe(b), nil
		})
	add(m, "sandbox_list", "List sandboxes", "List your sandboxes, newest first.", reads,
		func(ctx context.Context, c call, in *listArgs) (any, error) {
			o := sandbox.ListOptions{Name: in.Name, Labels: in.Labels, Limit: in.Limit}
			if o.Limit == 0 {
				o.Limit = 100
			}
			if o.Limit < 0 || o.Limit > 1000 {
				return nil, failure(wire.CodeInvalidInput, "limit: want 1 to 1000")
			}
			if in.Cursor != "" {
				after, err := uuid.Parse(in.Cursor)
				if err != nil {
					return nil, failure(wire.CodeInvalidInput, "cursor: is none of ours")
				}
				o.After = after
			}
			page, err := s.Service.ListSandboxes(ctx, c.Caller, o)
			if err != nil {
				return nil, err
			}
			out := listResult{ok: done, Sandboxes: make([]sandboxResult, len(page))}
			for i := range page {
				out.Sandboxes[i] = describe(&page[i])
			}
			if len(page) == o.Limit {
				out.NextCursor = page[len(page)-1].ID.String()
			}
			return out, nil
		})
	add(m, "sandbox_delete", "Delete a sandbox", "Delete a sandbox with all its files and snapshots.", overrides,
		func(ctx context.Context, c call, in *sandboxArg) (any, error) {
			id, err := sandbox.ParseID(in.ID)
			if err != nil {
				return nil, err
			}
			return done, s.Service.DropSandbox(ctx, c.Caller, id)
		})
	add(m, "sandbox_fork", "Fork a sandbox",
		"Make a new sandbox that starts as a copy of this one. It takes no time, whatever its size.", adds,
		func(ctx context.Context, c call, in *forkArgs) (any, error) {
			id, err := sandbox.ParseID(in.ID)
			if err != nil {
				return nil, err
			}
			if in.Count == 0 {
				in.Count = 1
			}
			forks, err := s.Service.Fork(ctx, c.Caller, id, in.Name, in.Count, in.At)
			if err != nil {
				return nil, err
			}
			out := forkResult{ok: done, ID: forks[0].ID.String()}
			for i := range forks {
				out.Sandboxes = append(out.Sandboxes, describe(&forks[i]))
			}
			return out, nil
		})
	add(m, "sandbox_snapshot", "Snapshot a sandbox",
		"Name the present state of a sandbox, so that sandbox_restore can bring it back. It takes no time.", adds,
		func(ctx context.Context, c call, in *snapshotArgs) (any, error) {
			id, err := sandbox.ParseID(in.ID)
			if err != nil {
				return nil, err
			}
			n, err := s.Service.Snapshot(ctx, c.Caller, id, in.Name)
			if err != nil {
				return nil, err
			}
			return describeSnapshot(n), nil
		})
	add(m, "sandbox_snapshots", "List snapshots", "List the snapshots of a sandbox, oldest first.", reads,
		func(ctx context.Context, c call, in *sandboxArg) (any, error) {
			id, err := sandbox.ParseID(in.ID)
			if err != nil {
				return nil, err
			}
			all, err := s.Service.Snapshots(ctx, c.Caller, id)
			if err != nil {
				return nil, err
			}
			out := snapshotsResult{ok: done, Snapshots: make([]snapshotResult, len(all))}
			for i := range all {
				out.Snapshots[i] = describeSnapshot(&all[i])
			}
			return out, nil
		})
	add(m, "sandbox_restore", "Restore an earlier state",
		"Bring a sandbox back to an earlier state: files, working directory and variables. sandbox_undo takes it back where undo is on.", overrides,
		func(ctx context.Context, c call, in *restoreArgs) (any, error) {
			id, err := sandbox.ParseID(in.ID)
			if err != nil {
				return nil, err
			}
			if in.At == "" {
				return nil, failure(wire.CodeInvalidInput, "at: names the state")
			}
			return moved(s.Service.Restore(ctx, c.Caller, id, in.At))
		})
	add(m, "sandbox_undo", "Undo",
		"Take back the last commits of a sandbox that was created with undo, and tell which: the scripts, who ran them, the paths that changed. Runs that changed no file (cd, export) do not count.", overrides,
		func(ctx context.Context, c call, in *stepsArgs) (any, error) { return step(ctx, c, in, s.Service.Undo) })
	add(m, "sandbox_redo", "Redo", "Bring back what sandbox_undo took away, until a file is changed.", overrides,
		func(ctx context.Context, c call, in *stepsArgs) (any, error) { return step(ctx, c, in, s.Service.Redo) })
	add(m, "image_list", "List images", "List the images that sandbox_create can start from.", reads,
		func(ctx context.Context, c call, in *imagesArgs) (any, error) {
			all, err := s.Service.Images(ctx, c.Caller, in.Name)
			if err != nil {
				return nil, err
			}
			out := imagesResult{ok: done, Images: make([]imageResult, len(all))}
			for i, m := range all {
				out.Images[i] = imageResult{m.Name, m.Tag, m.UsedBytes, m.UsedInodes, sandbox.Timestamp(m.CreatedAt)}
			}
			return out, nil
		})
}

// moved is the result of what moved a sandbox to another of its states.
func moved(b *sandbox.Sandbox, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return describe(b), nil
}

func step(
	ctx context.Context, c call, in *stepsArgs, f func(ctx context.Context, c sandbox.Caller, id uuid.UUID,
		steps int) (*sandbox.Sandbox, error),
) (any, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	if in.Steps == 0 {
		in.Steps = 1
	}
	b, err := f(ctx, c.Caller, id, in.Steps)
	if err != nil {
		return nil, err
	}
	return stepsResult{describe(b), b.Steps}, nil
}
