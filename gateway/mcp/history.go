package mcp

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/wire"
)

const maxHistory = 1000

type timelineArgs struct {
	sandboxArg
	Limit     int    `json:"limit,omitempty" jsonschema:"1 to 1000; 50 by default"`
	Since     string `json:"since,omitempty" jsonschema:"only what began then or later (RFC 3339)"`
	Script    string `json:"script,omitempty" jsonschema:"only scripts that hold this text"`
	Caller    string `json:"caller,omitempty" jsonschema:"only of this caller"`
	Agent     string `json:"agent,omitempty" jsonschema:"only of this agent"`
	Committed *bool  `json:"committed,omitempty" jsonschema:"only what changed the sandbox, or only what did not"`
	Failed    *bool  `json:"failed,omitempty" jsonschema:"only what was ended from outside or has an exit status other than 0, or only the rest"`
}

type run struct {
	ID            string `json:"id"`
	StartedAt     string `json:"startedAt"`
	DurationMs    int64  `json:"durationMs"`
	Caller        string `json:"caller"`
	Agent         string `json:"agent,omitempty"`
	Route         string `json:"route"`
	Script        string `json:"script"`
	Cwd           string `json:"cwd,omitempty"`
	ReadOnly      bool   `json:"readOnly,omitempty"`
	ExitCode      *int   `json:"exitCode,omitempty"` // absent: no script
	Error         string `json:"error,omitempty"`    // code of what ended it from outside
	StdoutHead    string `json:"stdoutHead,omitempty"`
	StderrHead    string `json:"stderrHead,omitempty"`
	VersionBefore int64  `json:"versionBefore"`
	VersionAfter  int64  `json:"versionAfter"`
	Committed     bool   `json:"committed"`
}

type timelineResult struct {
	ok
	Execs []run `json:"execs"`
}

type logArgs struct {
	pathArg
	Limit int `json:"limit,omitempty" jsonschema:"1 to 1000; 50 by default"`
}

type touch struct {
	Version    int64  `json:"version"`
	At         string `json:"at"`
	Op         string `json:"op"`
	Path       string `json:"path"`
	PathTo     string `json:"pathTo,omitempty"`
	SizeBefore *int64 `json:"sizeBefore,omitempty"`
	SizeAfter  *int64 `json:"sizeAfter,omitempty"`
	HashBefore string `json:"hashBefore,omitempty"`
	HashAfter  string `json:"hashAfter,omitempty"`
	Exec       string `json:"execId,omitempty"` // absent for what was done in SQL
	Caller     string `json:"caller,omitempty"` // of what was done in SQL: the database role
	Agent      string `json:"agent,omitempty"`
	Script     string `json:"script,omitempty"`
}

type logResult struct {
	ok
	Changes []touch `json:"changes"`
}

type blameArgs struct {
	sandboxArg
	Path string `json:"path,omitempty" jsonschema:"a file, or a directory whose files are meant; by default /home/user"`
}

type lastWrite struct {
	Path    string  `json:"path"`
	Size    int64   `json:"size"`
	Version int64   `json:"version,omitempty"` // absent: before the journal begins, or with the fork
	At      *string `json:"at,omitempty"`
	Exec    string  `json:"execId,omitempty"`
	Caller  string  `json:"caller,omitempty"`
	Agent   string  `json:"agent,omitempty"`
	Script  string  `json:"script,omitempty"`
}

type blameResult struct {
	ok
	Files []lastWrite `json:"files"`
}

func (s *server) historyTools(m *sdk.Server) {
	add(m, "sandbox_timeline", "List what was run",
		"List the scripts and changes that were run in a sandbox, newest first, with how they ended and the head of their output. Filters apply before the limit.", reads, s.timeline)
	add(m, "file_log", "History of a file",
		"List what happened to a path and to the file that has it now, newest first, with the script that did it. Read the file as it was then with file_read and at.", reads, s.log)
	add(m, "file_blame", "Last writers", "List who wrote each file at or below a path last, and with which script.", reads,
		s.blame)
}

// atMost gives a limit its default and checks it.
func atMost(limit int) (int, error) {
	if limit == 0 {
		return 50, nil
	}
	if limit < 0 || limit > maxHistory {
		return 0, failure(wire.CodeInvalidInput, fmt.Sprintf("limit: want 1 to %d", maxHistory))
	}
	return limit, nil
}

// given is nil for "".
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (s *server) timeline(ctx context.Context, c call, in *timelineArgs) (any, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	f := store.TimelineFilter{Caller: given(in.Caller), Agent: given(in.Agent), Script: given(in.Script),
		Committed: in.Committed, Failed: in.Failed}
	if f.Limit, err = atMost(in.Limit); err != nil {
		return nil, err
	}
	if in.Since != "" {
		at, err := time.Parse(time.RFC3339Nano, in.Since)
		if err != nil {
			return nil, failure(wire.CodeInvalidInput, "since: want a time like 2026-01-31T12:00:00Z")
		}
		f.Since = &at
	}
	runs, err := s.Service.Timeline(ctx, c.Caller, id, f)
	if err != nil {
		return nil, err
	}
	out := timelineResult{ok: done, Execs: make([]run, len(runs))}
	for i := range runs {
		r := &runs[i]
		out.Execs[i] = run{
			ID: r.ID.String(), StartedAt: sandbox.Timestamp(r.StartedAt), DurationMs: r.Duration.Milliseconds(),
			Caller: r.Caller, Agent: r.Agent, Route: r.Route, Script: r.Script, Cwd: r.Cwd,
			ReadOnly: r.ReadOnly, ExitCode: r.ExitCode, Error: r.Error, StdoutHead: string(r.StdoutHead),
			StderrHead:    string(r.StderrHead),
			VersionBefore: r.VersionBefore, VersionAfter: r.VersionAfter, Committed: r.Committed,
		}
	}
	return out, nil
}

func (s *server) log(ctx context.Context, c call, in *logArgs) (any, error) {
	id, path, err := in.parse()
	if err != nil {
		return nil, err
	}
	limit, err := atMost(in.Limit)
	if err != nil {
		return nil, err
	}
	rows, err := s.Service.History(ctx, c.Caller, id, path, sandbox.Cursor{}, limit)
	if err != nil {
		return nil, err
	}
	out := logResult{ok: done, Changes: make([]touch, len(rows))}
	for i := range rows {
		r := &rows[i]
		out.Changes[i] = touch{
			Version: r.Version, At: sandbox.Timestamp(r.At), Op: r.Op, Path: r.Path, PathTo: r.PathTo, SizeBefore: r.SizeBefore,
			SizeAfter:  r.SizeAfter,
			HashBefore: hex.EncodeToString(r.HashBefore), HashAfter: hex.EncodeToString(r.HashAfter), Caller: r.Caller,
			Agent: r.Agent, Script: r.Script,
		}
		if r.Exec != nil {
			out.Changes[i].Exec = r.Exec.String()
		}
	}
	return out, nil
}

func (s *server) blame(ctx context.Context, c call, in *blameArgs) (any, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	path, err := absolute(in.Path, home)
	if err != nil {
		return nil, err
	}
	rows, err := s.Service.Blame(ctx, c.Caller, id, path)
	if err != nil {
		return nil, err
	}
	out := blameResult{ok: done, Files: make([]lastWrite, len(rows))}
	for i := range rows {
		r := &rows[i]
		out.Files[i] = lastWrite{Path: r.Path, Size: r.Size, Version: r.Version, At: sandbox.OptionalTimestamp(r.At),
			Caller: r.Caller, Agent: r.Agent, Script: r.Script}
		if r.Exec != nil {
			out.Files[i].Exec = r.Exec.String()
		}
	}
	return out, nil
}
