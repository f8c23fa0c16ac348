package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/pgbox/pgbox/gateway/sandbox"
)

// sessionArg is sandbox.Session as a request has it.
type sessionArg struct{ sandbox.Session }

// Schema describes both forms.
func (sessionArg) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Description: "true: shell options, functions and aliases of earlier runs with true are taken up and kept, too (at most 256 KiB), as the working directory and exported variables always are. " +
			"The name of a session (1 to 128 printable characters): all of that is the session's own. One that is not there begins afresh; it is gone 30 days after its last use",
		OneOf: []*huma.Schema{{Type: huma.TypeBoolean}, {Type: huma.TypeString}},
	}
}

type sessionBody struct {
	Name       string `json:"name"`
	Cwd        string `json:"cwd"`
	Variables  int    `json:"variables" doc:"how many it exports"`
	Bytes      int64  `json:"bytes" doc:"of what a sandbox may keep of its shells"`
	LastUsedAt string `json:"lastUsedAt" doc:"to the day: a run that leaves the session as it was sets it once a day"`
	ExpiresAt  string `json:"expiresAt"`
}

type sessionsOutput struct {
	Body struct {
		Sessions []sessionBody `json:"sessions" doc:"by name; at most 100"`
	}
}

type sessionInput struct {
	SandboxID
	Name string `path:"name"`
}

func (s *server) sessionRoutes() {
	const base = sandboxesPath + "/{id}/sessions"
	handle(s, operation(http.MethodGet, base, "listSessions", "List the named sessions of runs", "exec", false),
		s.listSessions)
	drop := operation(http.MethodDelete, base+"/{name}", "deleteSession",
		"Forget a named session; the next run that names it begins afresh", "exec", false)
	drop.DefaultStatus = http.StatusNoContent
	handle(s, drop, func(ctx context.Context, in *sessionInput) (*struct{}, error) {
		id, err := sandbox.ParseID(in.ID)
		if err != nil {
			return nil, err
		}
		return nil, s.Service.DropSession(ctx, caller(ctx, "sessions"), id, in.Name)
	})
}

func (s *server) listSessions(ctx context.Context, in *SandboxID) (*sessionsOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	list, err := s.Service.Sessions(ctx, caller(ctx, "sessions"), id)
	if err != nil {
		return nil, err
	}
	out := new(sessionsOutput)
	out.Body.Sessions = make([]sessionBody, len(list))
	for i, e := range list {
		out.Body.Sessions[i] = sessionBody{e.Name, e.Dir, e.Variables, e.Bytes, sandbox.Timestamp(e.UsedAt),
			sandbox.Timestamp(e.ExpiresAt)}
	}
	return out, nil
}
