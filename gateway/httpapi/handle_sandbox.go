package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/wire"
)

const (
	maxFiles     = 1000
	maxFileBytes = 50 << 20
	// JSON escapes can make a text several times longer than its content.
	maxFilesBody = 4 * maxFileBytes
)

// SandboxID is the path parameter of every route of one sandbox. It is exported because huma sets it by reflection.
type SandboxID struct {
	ID string `path:"id" doc:"sandbox id"`
}

type limits struct {
	MaxBytes  *int64 `json:"maxBytes,omitempty" minimum:"0" doc:"bytes of all files"`
	MaxInodes *int64 `json:"maxInodes,omitempty" minimum:"0" doc:"files, directories and symlinks"`
}

type history struct {
	Commits int32 `json:"commits,omitempty" minimum:"0" maximum:"1000000" doc:"a commit takes an automatic snapshot of what it changes when the last one is so many versions old; 1: every commit can be undone"`
	Seconds int32 `json:"seconds,omitempty" minimum:"0" maximum:"1000000000" doc:"… when the last one is so old"`
	Keep    int32 `json:"keep,omitempty" minimum:"0" maximum:"10000" doc:"how many automatic snapshots are kept; 100 by default"`
}

// of is what the database is told, nil for what turns the history off.
func (h *history) of() *sandbox.History {
	if h == nil || h.Commits == 0 && h.Seconds == 0 {
		return nil
	}
	return &sandbox.History{Commits: h.Commits, Seconds: h.Seconds, Keep: h.Keep}
}

type createBody struct {
	Name          string            `json:"name,omitempty" maxLength:"255"`
	Env           map[string]string `json:"env,omitempty" doc:"default environment of every script"`
	Files         map[string]string `json:"files,omitempty" doc:"first files, text by absolute path"`
	Python        any               `json:"python,omitempty" doc:"true, or a runtime as in python_runtime"`
	PythonRuntime *string           `json:"python_runtime,omitempty" nullable:"true" enum:"stdlib,pyodide"`
	JavaScript    bool              `json:"javascript,omitempty"`
	Network       any               `json:"network,omitempty"`
	ExpiresIn     int64             `json:"expiresIn,omitempty" minimum:"1" doc:"seconds"`
	Limits        limits            `json:"limits,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
	From          string            `json:"from,omitempty" maxLength:"260" doc:"image to start from, as name or name:tag"`
	History       *history          `json:"history,omitempty" doc:"automatic snapshots; without it there are none, and no undo"`
}

type createInput struct {
	Keyed
	Body *createBody // nil is {}
}

type sandboxConfig struct {
	Python        bool    `json:"python"`
	PythonRuntime *string `json:"python_runtime"`
	JavaScript    bool    `json:"javascript"`
	Network       any     `json:"network"`
}

type sandboxSummary struct {
	ID            string            `json:"id"`
	Name          string            `json:"name"`
	Owner         string            `json:"owner"`
	CreatedAt     string            `json:"createdAt" format:"date-time"`
	Python        bool              `json:"python"`
	PythonRuntime *string           `json:"python_runtime" doc:"stdlib, pyodide or null"`
	JavaScript    bool              `json:"javascript"`
	Network       any               `json:"network"`
	Labels        map[string]string `json:"labels,omitempty"`
}

type sandboxUsage struct {
	Bytes  int64 `json:"bytes"`
	Inodes int64 `json:"inodes"`
}

type sandboxDetail struct {
	sandboxSummary
	LastUsedAt   *string      `json:"lastUsedAt" doc:"null: never"`
	Version      int64        `json:"version" doc:"counts the commits"`
	Usage        sandboxUsage `json:"usage"`
	Limits       limits       `json:"limits"`
	MaxSnapshots *int64       `json:"maxSnapshots" doc:"null: no limit"`
	Journal      bool         `json:"journal" doc:"operations on files are recorded, for changes, history, blame and events"`
	ExpiresAt    *string      `json:"expiresAt" doc:"null: never"`
	History      *history     `json:"history" doc:"automatic snapshots; null: there are none"`
}

func summarize(b *sandbox.Sandbox) (sandboxSummary, error) {
	var c sandboxConfig
	if len(b.Config) > 0 {
		if err := json.Unmarshal(b.Config, &c); err != nil {
			return sandboxSummary{}, fmt.Errorf("configuration of sandbox %s: %w", b.ID, err)
		}
	}
	if c.Network == nil {
		c.Network = false
	}
	return sandboxSummary{
		ID: b.ID.String(), Name: b.Name, Owner: b.Owner, CreatedAt: sandbox.Timestamp(b.CreatedAt),
		Python: c.Python, PythonRuntime: c.PythonRuntime, JavaScript: c.JavaScript, Network: c.Network, Labels: b.Labels,
	}, nil
}

func detail(b *sandbox.Sandbox) (*sandboxDetail, error) {
	sum, err := summarize(b)
	if err != nil {
		return nil, err
	}
	d := &sandboxDetail{
		sandboxSummary: sum, Version: b.Version, Usage: sandboxUsage{b.UsedBytes, b.UsedInodes},
		Limits: limits{b.MaxBytes, b.MaxInodes}, MaxSnapshots: b.MaxSnapshots, Journal: b.Journal,
		LastUsedAt: sandbox.OptionalTimestamp(b.LastUsedAt), ExpiresAt: sandbox.OptionalTimestamp(b.ExpiresAt),
	}
	if !b.History.Off() {
		d.History = &history{b.History.Commits, b.History.Seconds, b.History.Keep}
	}
	return d, nil
}

type summaryOutput struct{ Body sandboxSummary }

type detailOutput struct{ Body *sandboxDetail }

type listInput struct {
	Limit  int      `query:"limit" minimum:"1" maximum:"1000" doc:"page size; without it every sandbox is listed"`
	Cursor string   `query:"cursor" doc:"nextCursor of the page before"`
	Name   string   `query:"name" doc:"only sandboxes of this name"`
	Label  []string `query:"label,explode" maxItems:"100" doc:"only sandboxes with this label, as key=value; may be repeated"`
}

type listOutput struct {
	Body struct {
		Sandboxes  []sandboxSummary `json:"sandboxes"`
		NextCursor string           `json:"nextCursor,omitempty"`
	}
}

type updateInput struct {
	SandboxID
	Body struct {
		Name         *string           `json:"name,omitempty" maxLength:"255"`
		Env          map[string]string `json:"env,omitempty"`
		ExpiresIn    *int64            `json:"expiresIn,omitempty" minimum:"1" doc:"seconds from now"`
		Limits       limits            `json:"limits,omitempty"`
		MaxSnapshots *int64            `json:"maxSnapshots,omitempty" minimum:"0"`
		Journal      *bool             `json:"journal,omitempty" doc:"whether operations on files are recorded"`
		Labels       map[string]string `json:"labels,omitempty"`
		History      *history          `json:"history,omitempty" doc:"automatic snapshots; an empty object ends them"`
	}
}

const sandboxesPath = "/v1/sandboxes"

func (s *server) sandboxRoutes() {
	create := operation(http.MethodPost, sandboxesPath, "createSandbox", "Create a sandbox, with its first files",
		"sandboxes", false)
	create.DefaultStatus, create.MaxBodyBytes = http.StatusCreated, maxFilesBody
	handle(s, create, s.createSandbox)
	handle(s, operation(http.MethodGet, sandboxesPath, "listSandboxes", "List your sandboxes, newest first", "sandboxes",
		false), s.listSandboxes)
	handle(s, operation(http.MethodGet, sandboxesPath+"/{id}", "getSandbox", "Describe a sandbox", "sandboxes", false),
		func(ctx context.Context, in *SandboxID) (*detailOutput, error) {
			id, err := sandbox.ParseID(in.ID)
			if err != nil {
				// A reader learns only that there is no such sandbox.
				return nil, newErrorBody(ctx, wire.CodeSandboxNotFound, "no such sandbox")
			}
			b, err := s.Service.GetSandbox(ctx, caller(ctx, "sandbox"), id)
			if err != nil {
				return nil, err
			}
			d, err := detail(b)
			return &detailOutput{d}, err
		})
	handle(s, operation(http.MethodPatch, sandboxesPath+"/{id}", "updateSandbox",
		"Change name, environment, labels, limits or expiry", "sandboxes", false), s.updateSandbox)
	drop := operation(http.MethodDelete, sandboxesPath+"/{id}", "deleteSandbox", "Delete a sandbox and everything in it",
		"sandboxes", false)
	drop.DefaultStatus = http.StatusNoContent
	handle(s, drop, func(ctx context.Context, in *SandboxID) (*struct{}, error) {
		id, err := sandbox.ParseID(in.ID)
		if err != nil {
			return nil, err
		}
		return nil, s.Service.DropSandbox(ctx, caller(ctx, "sandbox"), id)
	})
}

func (s *server) createSandbox(ctx context.Context, in *createInput) (*summaryOutput, error) {
	b := in.Body
	if b == nil {
		b = new(createBody)
	}
	n := sandbox.NewSandbox{Name: b.Name, Env: b.Env, Labels: b.Labels, MaxBytes: b.Limits.MaxBytes,
		MaxInodes: b.Limits.MaxInodes, Image: b.From, History: b.History.of()}
	if n.MaxBytes == nil && s.MaxBytes > 0 {
		n.MaxBytes = &s.MaxBytes
	}
	if n.MaxInodes == nil && s.MaxInodes > 0 {
		n.MaxInodes = &s.MaxInodes
	}
	if n.Name == "" {
		n.Name = "sandbox-" + uuid.NewString()[:8]
	}
	var err error
	if n.Files, err = textFiles(ctx, b.Files); err != nil {
		return nil, err
	}
	c := sandboxConfig{PythonRuntime: b.PythonRuntime, JavaScript: b.JavaScript, Network: b.Network}
	switch v := b.Python.(type) {
	case nil:
	case bool:
		c.Python = v
	case string:
		if v != "stdlib" && v != "pyodide" {
			return nil, invalidInput(ctx, `python: want true, false, null, "stdlib" or "pyodide"`)
		}
		c.PythonRuntime = &v
	default:
		return nil, invalidInput(ctx, `python: want true, false, null, "stdlib" or "pyodide"`)
	}
	c.Python = c.Python || c.PythonRuntime != nil
	if n.Config, err = json.Marshal(c); err != nil {
		return nil, err
	}
	if b.ExpiresIn > 0 {
		at := time.Now().Add(time.Duration(min(b.ExpiresIn, 1<<32)) * time.Second)
		n.ExpiresAt = &at
	}
	by, err := keyed(ctx, caller(ctx, "sandbox"), in.IdempotencyKey, in)
	if err != nil {
		return nil, err
	}
	made, err := s.Service.CreateSandbox(ctx, by, n)
	if err != nil {
		return nil, err
	}
	sum, err := summarize(made)
	return &summaryOutput{sum}, err
}

// textFiles checks the files of a create or writeFiles body: absolute paths, and bounded.
func textFiles(ctx context.Context, files map[string]string) (map[string][]byte, error) {
	if len(files) > maxFiles {
		return nil, newErrorBody(ctx, wire.CodePayloadTooLarge,
			fmt.Sprintf("too many files: %d (max %d)", len(files), maxFiles))
	}
	var bad []string
	total := 0
	out := make(map[string][]byte, len(files))
	for name, content := range files {
		total += len(content)
		if total > maxFileBytes {
			return nil, newErrorBody(ctx, wire.CodePayloadTooLarge,
				fmt.Sprintf("the files hold more than %d bytes", maxFileBytes))
		}
		if !strings.HasPrefix(name, "/") || path.Clean(name) == "/" || strings.ContainsRune(name, 0) {
			bad = append(bad, fmt.Sprintf("files: %q is not an absolute file path", name))
			continue
		}
		out[name] = []byte(content)
	}
	if bad != nil {
		return nil, invalidInput(ctx, bad...)
	}
	return out, nil
}

func (s *server) listSandboxes(ctx context.Context, in *listInput) (*listOutput, error) {
	o := sandbox.ListOptions{Limit: in.Limit, Name: in.Name}
	for _, l := range in.Label {
		key, value, ok := strings.Cut(l, "=")
		if v, twice := o.Labels[key]; !ok || twice && v != value {
			return nil, invalidInput(ctx, fmt.Sprintf("label: %q: want key=value, and one value of a key", l))
		}
		if o.Labels == nil {
			o.Labels = map[string]string{}
		}
		o.Labels[key] = value
	}
	all := in.Limit == 0
	if all {
		o.Limit = 1000
	}
	if in.Cursor != "" {
		id, err := uuid.Parse(in.Cursor)
		if err != nil {
			return nil, invalidInput(ctx, "cursor: not one of ours")
		}
		o.After = id
	}
	out := new(listOutput)
	out.Body.Sandboxes = []sandboxSummary{}
	for {
		page, err := s.Service.ListSandboxes(ctx, caller(ctx, "sandbox"), o)
		if err != nil {
			return nil, err
		}
		for i := range page {
			sum, err := summarize(&page[i])
			if err != nil {
				return nil, err
			}
			out.Body.Sandboxes = append(out.Body.Sandboxes, sum)
		}
		if len(page) < o.Limit {
			return out, nil
		}
		o.After = page[len(page)-1].ID
		if !all {
			out.Body.NextCursor = o.After.String()
			return out, nil
		}
	}
}

func (s *server) updateSandbox(ctx context.Context, in *updateInput) (*detailOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	u := sandbox.SandboxUpdate{Name: in.Body.Name, Env: in.Body.Env, Labels: in.Body.Labels,
		MaxBytes: in.Body.Limits.MaxBytes, MaxInodes: in.Body.Limits.MaxInodes, MaxSnapshots: in.Body.MaxSnapshots,
		Journal: in.Body.Journal}
	if in.Body.History != nil {
		if u.History = in.Body.History.of(); u.History == nil {
			u.Clear = append(u.Clear, "history")
		}
	}
	if in.Body.ExpiresIn != nil {
		at := time.Now().Add(time.Duration(min(*in.Body.ExpiresIn, 1<<32)) * time.Second)
		u.ExpiresAt = &at
	}
	b, err := s.Service.UpdateSandbox(ctx, caller(ctx, "sandbox"), id, u)
	if err != nil {
		return nil, err
	}
	d, err := detail(b)
	return &detailOutput{d}, err
}
