package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pgbox/pgbox/gateway/sandbox"
)

type sessionArgs struct {
	sandboxArg
	Name string `json:"name" jsonschema:"as bash_exec has it in session"`
}

type sessionEntry struct {
	Name       string `json:"name"`
	Cwd        string `json:"cwd"`
	Variables  int    `json:"variables"`
	Bytes      int64  `json:"bytes"`
	LastUsedAt string `json:"lastUsedAt"` // to the day
	ExpiresAt  string `json:"expiresAt"`
}

type sessionsResult struct {
	ok
	Sessions []sessionEntry `json:"sessions"`
}

func (s *server) sessionTools(m *sdk.Server) {
	add(m, "session_list", "List sessions",
		"List the named sessions of a sandbox, which bash_exec goes on with: their working directory, how many variables they export, when they were last used and when they are forgotten. A sandbox has at most 100.", reads,
		func(ctx context.Context, c call, in *sandboxArg) (any, error) {
			id, err := sandbox.ParseID(in.ID)
			if err != nil {
				return nil, err
			}
			list, err := s.Service.Sessions(ctx, c.Caller, id)
			if err != nil {
				return nil, err
			}
			out := sessionsResult{ok: done, Sessions: make([]sessionEntry, len(list))}
			for i, e := range list {
				out.Sessions[i] = sessionEntry{e.Name, e.Dir, e.Variables, e.Bytes, sandbox.Timestamp(e.UsedAt),
					sandbox.Timestamp(e.ExpiresAt)}
			}
			return out, nil
		})
	add(m, "session_delete", "Forget a session",
		"Forget a named session of a sandbox: its working directory, variables, functions and options. Files stay. The next script that names it begins afresh.", repeats,
		func(ctx context.Context, c call, in *sessionArgs) (any, error) {
			id, err := sandbox.ParseID(in.ID)
			if err != nil {
				return nil, err
			}
			return done, s.Service.DropSession(ctx, c.Caller, id, in.Name)
		})
}
