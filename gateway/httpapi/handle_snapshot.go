package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/exec"
)

type forkInput struct {
	SandboxID
	Keyed
	Body struct {
		Name string `json:"name,omitempty" maxLength:"255" doc:"by default the name of the original"`
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
		Snapshot string `json:"snapshot" required:"true" format:"uuid" doc:"id of one of the sandbox's snapshots"`
	}
}

func (s *server) snapshotRoutes() {
	const base = sandboxesPath + "/{id}"
	fork := operation(http.MethodPost, base+"/fork", "forkSandbox", "Make a new sandbox that starts as a copy; nothing is copied", "snapshots", false)
	fork.DefaultStatus = http.StatusCreated
	handle(s, fork, s.fork)
	snap := operation(http.MethodPost, base+"/snapshots", "createSnapshot", "Name the present state of a sandbox", "snapshots", false)
	snap.DefaultStatus = http.StatusCreated
	handle(s, snap, s.snapshot)
	handle(s, operation(http.MethodGet, base+"/snapshots", "listSnapshots", "List the snapshots of a sandbox, oldest first", "snapshots", false), s.snapshots)
	handle(s, operation(http.MethodPost, base+"/restore", "restoreSnapshot", "Bring a sandbox back to the state of a snapshot", "snapshots", false), s.restore)
}

func (s *server) fork(ctx context.Context, in *forkInput) (*summaryOutput, error) {
	id, err := exec.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	c, err := keyed(ctx, caller(ctx, "fork"), in.IdempotencyKey, in)
	if err != nil {
		return nil, err
	}
	name := in.Body.Name
	if name == "" {
		b, err := s.Service.GetSandbox(ctx, c, id)
		if err != nil {
			return nil, err
		}
		name = b.Name
	}
	b, err := s.Service.Fork(ctx, c, id, name)
	if err != nil {
		return nil, err
	}
	sum, err := summarize(b)
	return &summaryOutput{sum}, err
}

func describeSnapshot(n *exec.Snapshot) snapshotBody {
	return snapshotBody{ID: n.ID.String(), Name: n.Name, Version: n.Version, CreatedAt: timestamp(n.CreatedAt)}
}

func (s *server) snapshot(ctx context.Context, in *snapshotInput) (*snapshotOutput, error) {
	id, err := exec.ParseID(in.ID)
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
	id, err := exec.ParseID(in.ID)
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
	id, err := exec.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	snapshot, err := uuid.Parse(in.Body.Snapshot)
	if err != nil {
		return nil, invalidInput(ctx, "snapshot: expected string to be an RFC 4122 uuid")
	}
	b, err := s.Service.Restore(ctx, caller(ctx, "restore"), id, snapshot)
	if err != nil {
		return nil, err
	}
	d, err := detail(b)
	return &detailOutput{d}, err
}
