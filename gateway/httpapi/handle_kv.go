package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/pgbox/pgbox/gateway/sandbox"
)

// KeyPath is the path parameter of every route of one key. It is exported because huma sets it by reflection.
type KeyPath struct {
	SandboxID
	Key string `path:"key" doc:"1 to 1024 bytes; slashes are part of it"`
}

type kvEntry struct {
	Key     string `json:"key"`
	Value   any    `json:"value" doc:"any JSON but null"`
	Version int64  `json:"version" doc:"grows with every change of the key"`
}

type kvOutput struct{ Body kvEntry }

type kvSetInput struct {
	KeyPath
	Body struct {
		Value         json.RawMessage `json:"value" required:"true" doc:"any JSON but null, at most 1 MiB"`
		ExpectVersion *int64          `json:"expectVersion,omitempty" minimum:"0" doc:"fail with ESTALE unless the key has this version; 0: unless it is not there"`
		ExpectValue   json.RawMessage `json:"expectValue,omitempty" doc:"fail with ESTALE unless the key has this value"`
	}
}

type kvSetOutput struct {
	Body struct {
		Key     string `json:"key"`
		Version int64  `json:"version"`
	}
}

type kvDeleteInput struct {
	KeyPath
	ExpectVersion int64 `query:"expectVersion" minimum:"1" doc:"fail with ESTALE unless the key has this version"`
}

type kvListInput struct {
	SandboxID
	Prefix string `query:"prefix"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	After  string `query:"after" doc:"the last key of the page before"`
}

type kvListOutput struct {
	Body struct {
		Entries []kvEntry `json:"entries" doc:"in byte order of keys"`
		More    bool      `json:"more" doc:"ask again with after"`
	}
}

func (s *server) kvRoutes() {
	const base = sandboxesPath + "/{id}/kv"
	handle(s, operation(http.MethodGet, base, "kvList", "List keys and their values by prefix", "kv", false), s.kvList)
	handle(s, operation(http.MethodGet, base+"/{key...}", "kvGet", "Read a key", "kv", false), s.kvGet)
	set := operation(http.MethodPut, base+"/{key...}", "kvSet", "Set a key, perhaps only if it is as expected", "kv",
		false)
	set.MaxBodyBytes = 4 << 20
	handle(s, set, s.kvSet)
	drop := operation(http.MethodDelete, base+"/{key...}", "kvDelete", "Remove a key", "kv", false)
	drop.DefaultStatus = http.StatusNoContent
	handle(s, drop, s.kvDelete)
}

func describeKey(v *sandbox.KeyValue) kvEntry { return kvEntry{v.Key, v.Value, v.Version} }

func (s *server) kvList(ctx context.Context, in *kvListInput) (*kvListOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	list, err := s.Service.KvList(ctx, caller(ctx, "kv"), id, in.Prefix, in.Limit+1, in.After)
	if err != nil {
		return nil, err
	}
	out := new(kvListOutput)
	out.Body.More = len(list) > in.Limit
	out.Body.Entries = make([]kvEntry, min(len(list), in.Limit))
	for i := range out.Body.Entries {
		out.Body.Entries[i] = describeKey(&list[i])
	}
	return out, nil
}

func (s *server) kvGet(ctx context.Context, in *KeyPath) (*kvOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	v, err := s.Service.KvGet(ctx, caller(ctx, "kv"), id, in.Key)
	if err != nil {
		return nil, err
	}
	return &kvOutput{describeKey(v)}, nil
}

func (s *server) kvSet(ctx context.Context, in *kvSetInput) (*kvSetOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	if string(in.Body.Value) == "null" || len(in.Body.Value) == 0 {
		return nil, invalidInput(ctx, "value: null is no value; delete the key")
	}
	// Postgres does not take it, and nothing that reads JSON would give it back.
	if loneSurrogate(in.Body.Value) || loneSurrogate(in.Body.ExpectValue) {
		return nil, invalidInput(ctx, "value: holds half of a surrogate pair")
	}
	e := sandbox.Expect{Version: in.Body.ExpectVersion, Value: in.Body.ExpectValue}
	version, err := s.Service.KvSet(ctx, caller(ctx, "kv"), id, in.Key, in.Body.Value, e)
	if err != nil {
		return nil, err
	}
	out := new(kvSetOutput)
	out.Body.Key, out.Body.Version = in.Key, version
	return out, nil
}

func (s *server) kvDelete(ctx context.Context, in *kvDeleteInput) (*struct{}, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	var e sandbox.Expect
	if in.ExpectVersion > 0 {
		e.Version = &in.ExpectVersion
	}
	return nil, s.Service.KvDelete(ctx, caller(ctx, "kv"), id, in.Key, e)
}
