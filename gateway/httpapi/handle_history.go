package httpapi

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/store"
)

type timelineInput struct {
	SandboxID
	Limit     int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	Cursor    string `query:"cursor" doc:"nextCursor of the page before"`
	Since     string `query:"since" format:"date-time" doc:"only runs that began then or later"`
	Caller    string `query:"caller"`
	Agent     string `query:"agent" doc:"as the client named it in X-Agent"`
	Route     string `query:"route" doc:"exec-sync, exec, exec-sync-batch, file, …"`
	Script    string `query:"script" doc:"only scripts that hold this text"`
	Committed string `query:"committed" enum:"true,false"`
	Failed    string `query:"failed" enum:"true,false" doc:"ended from outside, or with an exit status other than 0"`
}

type runBody struct {
	ID             string `json:"id"`
	Route          string `json:"route"`
	Caller         string `json:"caller"`
	Agent          string `json:"agent,omitempty" doc:"which of the caller's agents, as the client named it in X-Agent"`
	Script         string `json:"script" doc:"of a verb that is no script: its name and path"`
	Cwd            string `json:"cwd"`
	ReadOnly       bool   `json:"readOnly"`
	ExitCode       *int   `json:"exitCode" doc:"null: no script"`
	Error          string `json:"error,omitempty" doc:"code of what ended the run from outside"`
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
	StartedAt      string `json:"startedAt" format:"date-time"`
	DurationMs     int64  `json:"durationMs"`
	StdoutBytes    int64  `json:"stdoutBytes"`
	StderrBytes    int64  `json:"stderrBytes"`
	StdoutHead     string `json:"stdoutHead" doc:"the first 2 KiB"`
	StderrHead     string `json:"stderrHead"`
	VersionBefore  int64  `json:"versionBefore"`
	VersionAfter   int64  `json:"versionAfter"`
	Committed      bool   `json:"committed"`
}

type timelineOutput struct {
	Body struct {
		Execs      []runBody `json:"execs"`
		NextCursor string    `json:"nextCursor,omitempty"`
	}
}

type changeBody struct {
	Version    int64  `json:"version"`
	Seq        int32  `json:"seq" doc:"within the version, from 0"`
	Op         string `json:"op" doc:"create, write, truncate, mkdir, rmdir, unlink, remove, rename, link, symlink, mknod, copy, chmod, chown, utimes"`
	Path       string `json:"path"`
	PathTo     string `json:"pathTo,omitempty" doc:"the new name of a rename, link or copy, the target of a symlink"`
	Ino        int64  `json:"ino"`
	SizeBefore *int64 `json:"sizeBefore" doc:"of a regular file, before the version; null: there was none"`
	SizeAfter  *int64 `json:"sizeAfter"`
	HashBefore string `json:"hashBefore,omitempty" doc:"content hash, in hex"`
	HashAfter  string `json:"hashAfter,omitempty"`
	Exec       string `json:"execId,omitempty" doc:"the run that did it; absent for what was done in SQL"`
	At         string `json:"at" format:"date-time"`
}

type touchBody struct {
	changeBody
	Caller string `json:"caller,omitempty" doc:"of what was done in SQL: the database role"`
	Agent  string `json:"agent,omitempty"`
	Route  string `json:"route,omitempty"`
	Script string `json:"script,omitempty"`
}

type changesInput struct {
	SandboxID
	Since string `query:"since" pattern:"^[0-9]+(\\.[0-9]+)?$" default:"0" doc:"a version, or nextCursor of the page before"`
	Limit int    `query:"limit" minimum:"1" maximum:"10000" default:"1000"`
}

type changesOutput struct {
	Body struct {
		Changes    []changeBody `json:"changes"`
		NextCursor string       `json:"nextCursor,omitempty" doc:"absent: there is nothing newer"`
	}
}

type historyInput struct {
	SandboxID
	Path   string `query:"path" required:"true" doc:"absolute"`
	Cursor string `query:"cursor" pattern:"^[0-9]+\\.[0-9]+$" doc:"nextCursor of the page before"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

type historyOutput struct {
	Body struct {
		Changes    []touchBody `json:"changes"`
		NextCursor string      `json:"nextCursor,omitempty"`
	}
}

type blameInput struct {
	SandboxID
	Path string `query:"path" default:"/" doc:"a file, or a directory whose files are meant"`
}

type blameBody struct {
	Path    string  `json:"path"`
	Size    int64   `json:"size"`
	Version int64   `json:"version" doc:"0: the journal does not say; the file came with a fork, or was last written before the journal begins"`
	At      *string `json:"at" format:"date-time"`
	Exec    string  `json:"execId,omitempty" doc:"absent for what was done in SQL"`
	Caller  string  `json:"caller,omitempty" doc:"of what was done in SQL: the database role"`
	Agent   string  `json:"agent,omitempty"`
	Route   string  `json:"route,omitempty"`
	Script  string  `json:"script,omitempty"`
}

type blameOutput struct {
	Body struct {
		Files []blameBody `json:"files"`
	}
}

func (s *server) historyRoutes() {
	const base = sandboxesPath + "/{id}"
	handle(s, operation(http.MethodGet, base+"/execs", "listExecs",
		"List the runs in a sandbox, newest first; filters apply before the limit", "history", false), s.execs)
	handle(s, operation(http.MethodGet, base+"/changes", "listChanges", "List the operations on files, oldest first",
		"history", false), s.changes)
	handle(s, operation(http.MethodGet, base+"/history", "history",
		"What happened to a path and to the file that has it now, newest first", "history", false), s.history)
	handle(s, operation(http.MethodGet, base+"/blame", "blame", "Who wrote each file last", "history", false), s.blame)
}

// optional is nil for "".
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func optionalBool(s string) *bool {
	if s == "" {
		return nil
	}
	b := s == "true"
	return &b
}

func (s *server) execs(ctx context.Context, in *timelineInput) (*timelineOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	f := store.TimelineFilter{
		Limit: in.Limit, Caller: optional(in.Caller), Route: optional(in.Route), Agent: optional(in.Agent),
		Script:    optional(in.Script),
		Committed: optionalBool(in.Committed), Failed: optionalBool(in.Failed),
	}
	if in.Since != "" {
		at, err := time.Parse(time.RFC3339Nano, in.Since)
		if err != nil {
			return nil, invalidInput(ctx, "since: expected string to be RFC 3339 date-time")
		}
		f.Since = &at
	}
	if in.Cursor != "" {
		at, last, _ := strings.Cut(in.Cursor, "_")
		before, err := time.Parse(time.RFC3339Nano, at)
		beforeID, err2 := uuid.Parse(last)
		if err != nil || err2 != nil {
			return nil, invalidInput(ctx, "cursor: not one of ours")
		}
		f.Before, f.BeforeID = &before, &beforeID
	}
	runs, err := s.Service.Timeline(ctx, caller(ctx, "history"), id, f)
	if err != nil {
		return nil, err
	}
	out := new(timelineOutput)
	out.Body.Execs = make([]runBody, len(runs))
	for i := range runs {
		r := &runs[i]
		out.Body.Execs[i] = runBody{
			ID: r.ID.String(), Route: r.Route, Caller: r.Caller, Agent: r.Agent, Script: r.Script, Cwd: r.Cwd,
			ReadOnly: r.ReadOnly, ExitCode: r.ExitCode, Error: r.Error,
			IdempotencyKey: r.Key, StartedAt: sandbox.Timestamp(r.StartedAt), DurationMs: r.Duration.Milliseconds(),
			StdoutBytes: r.StdoutBytes, StderrBytes: r.StderrBytes,
			StdoutHead: string(r.StdoutHead), StderrHead: string(r.StderrHead), VersionBefore: r.VersionBefore,
			VersionAfter: r.VersionAfter, Committed: r.Committed,
		}
	}
	if n := len(runs); n == in.Limit {
		out.Body.NextCursor = runs[n-1].StartedAt.UTC().Format(time.RFC3339Nano) + "_" + runs[n-1].ID.String()
	}
	return out, nil
}

func describeChange(c *store.Change) changeBody {
	b := changeBody{
		Version: c.Version, Seq: c.Seq, Op: c.Op, Path: c.Path, PathTo: c.PathTo, Ino: c.Ino, SizeBefore: c.SizeBefore,
		SizeAfter:  c.SizeAfter,
		HashBefore: hex.EncodeToString(c.HashBefore), HashAfter: hex.EncodeToString(c.HashAfter), At: sandbox.Timestamp(c.At),
	}
	if c.Exec != nil {
		b.Exec = c.Exec.String()
	}
	return b
}

func (s *server) changes(ctx context.Context, in *changesInput) (*changesOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	after, err := cursor(in.Since)
	if err != nil {
		return nil, invalidInput(ctx, "since: not a place in the journal")
	}
	rows, err := s.Service.Changes(ctx, caller(ctx, "history"), id, *after, in.Limit)
	if err != nil {
		return nil, err
	}
	out := new(changesOutput)
	out.Body.Changes = make([]changeBody, len(rows))
	for i := range rows {
		out.Body.Changes[i] = describeChange(&rows[i])
	}
	if n := len(rows); n == in.Limit {
		out.Body.NextCursor = eventID(sandbox.Cursor{Version: rows[n-1].Version, Seq: rows[n-1].Seq})
	}
	return out, nil
}

func (s *server) history(ctx context.Context, in *historyInput) (*historyOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	var before sandbox.Cursor
	if in.Cursor != "" {
		c, err := cursor(in.Cursor)
		if err != nil {
			return nil, invalidInput(ctx, "cursor: not one of ours")
		}
		before = *c
	}
	rows, err := s.Service.History(ctx, caller(ctx, "history"), id, in.Path, before, in.Limit)
	if err != nil {
		return nil, err
	}
	out := new(historyOutput)
	out.Body.Changes = make([]touchBody, len(rows))
	for i := range rows {
		r := &rows[i]
		out.Body.Changes[i] = touchBody{describeChange(&r.Change), r.Caller, r.Agent, r.Route, r.Script}
	}
	if n := len(rows); n == in.Limit {
		out.Body.NextCursor = fmt.Sprintf("%d.%d", rows[n-1].Version, rows[n-1].Seq)
	}
	return out, nil
}

func (s *server) blame(ctx context.Context, in *blameInput) (*blameOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	rows, err := s.Service.Blame(ctx, caller(ctx, "history"), id, in.Path)
	if err != nil {
		return nil, err
	}
	out := new(blameOutput)
	out.Body.Files = make([]blameBody, len(rows))
	for i := range rows {
		r := &rows[i]
		b := blameBody{Path: r.Path, Size: r.Size, Version: r.Version, At: sandbox.OptionalTimestamp(r.At), Caller: r.Caller,
			Agent: r.Agent, Route: r.Route, Script: r.Script}
		if r.Exec != nil {
			b.Exec = r.Exec.String()
		}
		out.Body.Files[i] = b
	}
	return out, nil
}
