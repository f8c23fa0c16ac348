package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/sandbox"
)

type forkInput struct {
	SandboxID
	Keyed
	Body *struct {
		Name  string `json:"name,omitempty" maxLength:"255" doc:"by default the name of the original; several get -1, -2, … after it"`
		Count int    `json:"count,omitempty" minimum:"1" maximum:"100" default:"1" doc:"how many"`
		At    string `json:"at,omitempty" maxLength:"300" doc:"an earlier state of the original: a snapshot by name or id, @base, a version or a time"`
	}
}

type forkOutput struct {
	Body struct {
		sandboxSummary
		Forks []sandboxSummary `json:"forks,omitempty" doc:"all of them, when count is more than one"`
	}
}

type snapshotInput struct {
	SandboxID
	Body struct {
		Name string `json:"name" required:"true" minLength:"1" maxLength:"255" doc:"unique in the sandbox"`
	}
}

type snapshotBody struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Automatic bool   `json:"automatic" doc:"taken before a commit; named @ and the version"`
	Version   int64  `json:"version" doc:"the sandbox's version it holds"`
	CreatedAt string `json:"createdAt" format:"date-time"`
}

type snapshotOutput struct{ Body snapshotBody }

type snapshotsOutput struct {
	Body struct {
		Snapshots []snapshotBody `json:"snapshots"`
	}
}

type restoreInput struct {
	SandboxID
	Body struct {
		Snapshot string `json:"snapshot,omitempty" format:"uuid" doc:"id of one of the sandbox's snapshots"`
		At       string `json:"at,omitempty" maxLength:"300" doc:"instead: a snapshot by name, @base, a version or a time"`
	}
}

type stepsInput struct {
	SandboxID
	Body *struct {
		Steps int `json:"steps,omitempty" minimum:"1" maximum:"10000" default:"1" doc:"how many"`
	}
}

type stepBody struct {
	Version int64     `json:"version" doc:"that it made"`
	First   int64     `json:"first" doc:"of the versions that it took back, or brought again"`
	Last    int64     `json:"last"`
	Runs    []stepRun `json:"runs" doc:"that made those versions, newest first; at most 20"`
	Paths   []string  `json:"paths" doc:"that changed by it, at most 100"`
	Total   int       `json:"total" doc:"how many paths there are"`
}

type stepRun struct {
	Version int64  `json:"version"`
	Exec    string `json:"exec,omitempty" doc:"id of the run; absent: done in SQL"`
	Script  string `json:"script" doc:"its first 2000 characters"`
	Caller  string `json:"caller"`
	Agent   string `json:"agent,omitempty"`
	Route   string `json:"route"`
	At      string `json:"at" format:"date-time"`
}

type stepsOutput struct {
	Body struct {
		*sandboxDetail
		Steps []stepBody `json:"steps" doc:"what each of the first 100 steps did"`
	}
}

type flattenOutput struct {
	Body struct {
		LayersBefore int `json:"layersBefore"`
		Layers       int `json:"layers" doc:"with the base layer"`
	}
}

type snapshotID struct {
	SandboxID
	Snapshot string `path:"snapshot" doc:"id or name of a snapshot"`
}

func (s *server) snapshotRoutes() {
	const base = sandboxesPath + "/{id}"
	fork := operation(http.MethodPost, base+"/fork", "forkSandbox",
		"Make a new sandbox that starts as a copy; nothing is copied", "snapshots", false)
	fork.DefaultStatus = http.StatusCreated
	handle(s, fork, s.fork)
	snap := operation(http.MethodPost, base+"/snapshots", "createSnapshot", "Name the present state of a sandbox",
		"snapshots", false)
	snap.DefaultStatus = http.StatusCreated
	handle(s, snap, s.snapshot)
	handle(s, operation(http.MethodGet, base+"/snapshots", "listSnapshots",
		"List the snapshots of a sandbox, oldest first", "snapshots", false), s.snapshots)
	handle(s, operation(http.MethodPost, base+"/restore", "restoreSnapshot",
		"Bring a sandbox back to an earlier state; undo takes it back", "snapshots", false), s.restore)
	drop := operation(http.MethodDelete, base+"/snapshots/{snapshot}", "deleteSnapshot", "Forget a snapshot", "snapshots",
		false)
	drop.DefaultStatus = http.StatusNoContent
	handle(s, drop, s.dropSnapshot)
	handle(s, operation(http.MethodPost, base+"/undo", "undo",
		"Take back what was committed since the newest automatic snapshot; needs history. Runs that changed no file (cd, export) are no steps", "snapshots", false),
		func(ctx context.Context, in *stepsInput) (*stepsOutput, error) {
			return s.step(ctx, in, "undo", s.Service.Undo)
		})
	handle(s, operation(http.MethodPost, base+"/redo", "redo", "Bring back what undo took away", "snapshots", false),
		func(ctx context.Context, in *stepsInput) (*stepsOutput, error) {
			return s.step(ctx, in, "redo", s.Service.Redo)
		})
	handle(s, operation(http.MethodPost, base+"/flatten", "flattenSandbox",
		"Merge the layers of a sandbox into one over the base, for faster cold loads; snapshots and forks keep theirs, and its files stay as they are", "snapshots", false), s.flatten)
}

func (s *server) fork(ctx context.Context, in *forkInput) (*forkOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	c, err := keyed(ctx, caller(ctx, "fork"), in.IdempotencyKey, in)
	if err != nil {
		return nil, err
	}
	name, count, at := "", 1, ""
	if in.Body != nil {
		name, count, at = in.Body.Name, max(in.Body.Count, 1), in.Body.At
	}
	list, err := s.Service.Fork(ctx, c, id, name, count, at)
	if err != nil {
		return nil, err
	}
	out := new(forkOutput)
	for i := range list {
		sum, err := summarize(&list[i])
		if err != nil {
			return nil, err
		}
		out.Body.Forks = append(out.Body.Forks, sum)
	}
	out.Body.sandboxSummary = out.Body.Forks[0]
	if len(list) == 1 {
		out.Body.Forks = nil
	}
	return out, nil
}

func describeSnapshot(n *sandbox.Snapshot) snapshotBody {
	return snapshotBody{ID: n.ID.String(), Name: n.Name, Automatic: n.Automatic, Version: n.Version,
		CreatedAt: sandbox.Timestamp(n.CreatedAt)}
}

func (s *server) snapshot(ctx context.Context, in *snapshotInput) (*snapshotOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	n, err := s.Service.Snapshot(ctx, caller(ctx, "snapshot"), id, in.Body.Name)
	if err != nil {
		return nil, err
	}
	return &snapshotOutput{describeSnapshot(n)}, nil
}

func (s *server) snapshots(ctx context.Context, in *SandboxID) (*snapshotsOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	list, err := s.Service.Snapshots(ctx, caller(ctx, "snapshot"), id)
	if err != nil {
		return nil, err
	}
	out := new(snapshotsOutput)
	out.Body.Snapshots = make([]snapshotBody, len(list))
	for i := range list {
		out.Body.Snapshots[i] = describeSnapshot(&list[i])
	}
	return out, nil
}

func (s *server) restore(ctx context.Context, in *restoreInput) (*detailOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	at := in.Body.At
	if in.Body.Snapshot != "" {
		snapshot, err := uuid.Parse(in.Body.Snapshot)
		if err != nil || at != "" {
			return nil, invalidInput(ctx, "snapshot: expected string to be an RFC 4122 uuid")
		}
		at = snapshot.String()
	}
	if at == "" {
		return nil, invalidInput(ctx, "snapshot: expected the id of a snapshot, or at")
	}
	b, err := s.Service.Restore(ctx, caller(ctx, "restore"), id, at)
	if err != nil {
		return nil, err
	}
	d, err := detail(b)
	return &detailOutput{d}, err
}

func (s *server) dropSnapshot(ctx context.Context, in *snapshotID) (*struct{}, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	return nil, s.Service.DropSnapshot(ctx, caller(ctx, "snapshot"), id, in.Snapshot)
}

func (s *server) flatten(ctx context.Context, in *SandboxID) (*flattenOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	before, after, err := s.Service.Flatten(ctx, caller(ctx, "flatten"), id)
	if err != nil {
		return nil, err
	}
	out := new(flattenOutput)
	out.Body.LayersBefore, out.Body.Layers = before, after
	return out, nil
}

func (s *server) step(
	ctx context.Context, in *stepsInput, route string, fn func(context.Context, sandbox.Caller, uuid.UUID,
		int) (*sandbox.Sandbox, error),
) (*stepsOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	steps := 1
	if in.Body != nil {
		steps = max(in.Body.Steps, 1)
	}
	b, err := fn(ctx, caller(ctx, route), id, steps)
	if err != nil {
		return nil, err
	}
	out := new(stepsOutput)
	for _, p := range b.Steps {
		e := stepBody{Version: p.Version, First: p.First, Last: p.Last, Runs: []stepRun{}, Paths: p.Paths, Total: p.Total}
		for _, r := range p.Runs {
			run := stepRun{Version: r.Version, Script: r.Script, Caller: r.Caller, Agent: r.Agent, Route: r.Route,
				At: sandbox.Timestamp(r.At)}
			if r.Exec != nil {
				run.Exec = r.Exec.String()
			}
			e.Runs = append(e.Runs, run)
		}
		out.Body.Steps = append(out.Body.Steps, e)
	}
	out.Body.sandboxDetail, err = detail(b)
	return out, err
}
