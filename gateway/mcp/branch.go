package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/wire"
)

const maxKeys = 1000

type diffArgs struct {
	sandboxArg
	At     string `json:"at,omitempty" jsonschema:"a state of the sandbox: a snapshot by name or id, a version or a time; by default the present one"`
	From   string `json:"from,omitempty" jsonschema:"id of the sandbox to compare with; by default the same one"`
	FromAt string `json:"fromAt,omitempty" jsonschema:"its state; by default what the sandbox began as (@base), or the present one of another sandbox"`
	Lines  bool   `json:"lines,omitempty" jsonschema:"with the changes of texts, as diff -u shows them"`
}

type difference struct {
	Path     string `json:"path"`
	Status   string `json:"status"` // A added, D deleted, R renamed, T of another kind, M modified
	Kind     string `json:"kind"`
	PathFrom string `json:"pathFrom,omitempty"`
	Inserted int    `json:"inserted,omitempty"`
	Deleted  int    `json:"deleted,omitempty"`
	Binary   bool   `json:"binary,omitempty"`
	Unified  string `json:"unified,omitempty"`
}

type diffResult struct {
	ok
	Changes []difference `json:"changes"`
}

type mergeArgs struct {
	sandboxArg
	From     string `json:"from" jsonschema:"id of the other sandbox"`
	FromAt   string `json:"fromAt,omitempty" jsonschema:"its state; by default the present one"`
	Base     string `json:"base,omitempty" jsonschema:"since which state of it; by default since what it was forked from"`
	Conflict string `json:"conflict,omitempty" jsonschema:"what to do where both changed the same file: lines (default: texts are merged line by line, and nothing at all is done when that is not clean), fail (nothing at all is done), ours, theirs, markers (texts are merged line by line; both sides of what is left stand between <<<<<<< and >>>>>>>)"`
}

type mergeChange struct {
	Path    string `json:"path"`
	Status  string `json:"status"`
	Outcome string `json:"outcome"` // merged, same, kept, conflict
	Detail  string `json:"detail,omitempty"`
	Winner  string `json:"winner,omitempty"` // of a conflict: ours, theirs, both, none
}

type mergeResult struct {
	ok
	Applied   sandbox.Applied `json:"applied"`
	Merged    bool            `json:"merged"`
	Conflicts int             `json:"conflicts"`
	Changes   []mergeChange   `json:"changes"`
}

type keyArg struct {
	sandboxArg
	Key string `json:"key" jsonschema:"1 to 1024 bytes"`
}

type kvSetArgs struct {
	keyArg
	Value         any    `json:"value" jsonschema:"any JSON value but null"`
	ExpectVersion *int64 `json:"expectVersion,omitempty" jsonschema:"set it only when the key has this version; 0: when it is not there"`
}

type kvListArgs struct {
	sandboxArg
	Prefix string `json:"prefix,omitempty"`
	Limit  int    `json:"limit,omitempty" jsonschema:"1 to 1000; 100 by default"`
	After  string `json:"after,omitempty" jsonschema:"the last key of the page before"`
}

type keyValue struct {
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Version int64           `json:"version"`
}

type kvResult struct {
	ok
	keyValue
}

type kvSetResult struct {
	ok
	Key     string `json:"key"`
	Version int64  `json:"version"`
}

type kvListResult struct {
	ok
	Keys []keyValue `json:"keys"`
}

func (s *server) branchTools(m *sdk.Server) {
	add(m, "sandbox_diff", "Compare states",
		"List what differs between two states of sandboxes: by default what changed in this one since it was created, forked or restored.", reads, s.diff)
	add(m, "sandbox_merge", "Merge a sandbox",
		"Do in this sandbox what happened in another one since it was forked, all of it in one commit or nothing: ok is false when conflicts kept it from being done.", overrides, s.merge)
	add(m, "kv_get", "Get a key",
		"Get a value of the sandbox's key-value store, which is forked, snapshotted and restored with its files.", reads,
		func(ctx context.Context, c call, in *keyArg) (any, error) {
			id, err := in.parse()
			if err != nil {
				return nil, err
			}
			v, err := s.Service.KvGet(ctx, c.Caller, id, in.Key)
			if err != nil {
				return nil, err
			}
			return kvResult{done, keyValue(*v)}, nil
		})
	add(m, "kv_set", "Set a key",
		"Set a value of the sandbox's key-value store; with expectVersion only when nobody else has meanwhile.", repeats,
		func(ctx context.Context, c call, in *kvSetArgs) (any, error) {
			id, err := in.parse()
			if err != nil {
				return nil, err
			}
			if in.Value == nil {
				return nil, failure(wire.CodeInvalidInput, "value: null is no value; delete the key")
			}
			value, err := json.Marshal(in.Value)
			if err != nil {
				return nil, err
			}
			version, err := s.Service.KvSet(ctx, c.Caller, id, in.Key, value, sandbox.Expect{Version: in.ExpectVersion})
			if err != nil {
				return nil, err
			}
			return kvSetResult{done, in.Key, version}, nil
		})
	add(m, "kv_delete", "Delete a key", "Delete a key of the sandbox's key-value store.", repeats,
		func(ctx context.Context, c call, in *keyArg) (any, error) {
			id, err := in.parse()
			if err != nil {
				return nil, err
			}
			return done, s.Service.KvDelete(ctx, c.Caller, id, in.Key, sandbox.Expect{})
		})
	add(m, "kv_list", "List keys", "List the keys of the sandbox's key-value store with their values, sorted.", reads,
		func(ctx context.Context, c call, in *kvListArgs) (any, error) {
			id, err := sandbox.ParseID(in.ID)
			if err != nil {
				return nil, err
			}
			if in.Limit == 0 {
				in.Limit = 100
			}
			if in.Limit < 0 || in.Limit > maxKeys {
				return nil, failure(wire.CodeInvalidInput, fmt.Sprintf("limit: want 1 to %d", maxKeys))
			}
			all, err := s.Service.KvList(ctx, c.Caller, id, in.Prefix, in.Limit, in.After)
			if err != nil {
				return nil, err
			}
			out := kvListResult{ok: done, Keys: make([]keyValue, len(all))}
			for i, v := range all {
				out.Keys[i] = keyValue(v)
			}
			return out, nil
		})
}

func (a *keyArg) parse() (uuid.UUID, error) {
	if len(a.Key) < 1 || len(a.Key) > 1024 {
		return uuid.Nil, failure(wire.CodeInvalidInput, "key: has 1 to 1024 bytes")
	}
	return sandbox.ParseID(a.ID)
}

func (s *server) diff(ctx context.Context, c call, in *diffArgs) (any, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	spec := sandbox.DiffSpec{At: in.At, FromAt: in.FromAt, Lines: in.Lines}
	if in.From != "" {
		if spec.From, err = sandbox.ParseID(in.From); err != nil {
			return nil, err
		}
	}
	list, err := s.Service.Diff(ctx, c.Caller, id, spec)
	if err != nil {
		return nil, err
	}
	out := diffResult{ok: done, Changes: make([]difference, len(list))}
	for i, d := range list {
		out.Changes[i] = difference{d.Path, d.Status, d.Kind.Name(), d.PathFrom, d.Inserted, d.Deleted, d.Binary, d.Unified}
	}
	return out, nil
}

func (s *server) merge(ctx context.Context, c call, in *mergeArgs) (any, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	spec := sandbox.MergeSpec{FromAt: in.FromAt, Base: in.Base, Conflict: in.Conflict}
	if spec.From, err = sandbox.ParseID(in.From); err != nil {
		return nil, err
	}
	if spec.From == id {
		return nil, failure(wire.CodeInvalidInput, "from: a sandbox is not merged with itself")
	}
	if c := in.Conflict; c != "" && c != "lines" && c != "fail" && c != "ours" && c != "theirs" && c != "markers" {
		return nil, failure(wire.CodeInvalidInput, "conflict: want lines, fail, ours, theirs or markers")
	}
	list, err := s.Service.Merge(ctx, c.Caller, id, spec)
	if err != nil {
		return nil, err
	}
	out := mergeResult{Changes: make([]mergeChange, len(list))}
	for i, m := range list {
		out.Changes[i] = mergeChange(m)
	}
	var changed bool
	out.Conflicts, out.Merged, changed = spec.Outcome(list)
	out.OK, out.Applied = out.Merged, sandbox.AppliedOf(changed)
	if !out.OK {
		return refused{out}, nil
	}
	return out, nil
}
