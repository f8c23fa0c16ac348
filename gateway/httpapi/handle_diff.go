package httpapi

import (
	"context"
	"net/http"

	"github.com/pgbox/pgbox/gateway/sandbox"
)

type diffInput struct {
	SandboxID
	At     string `query:"at" maxLength:"300" doc:"state of the sandbox: a snapshot by name or id, @base, a version or a time; by default the present one"`
	From   string `query:"from" doc:"id of another sandbox of yours to compare with; by default the same"`
	FromAt string `query:"fromAt" maxLength:"300" doc:"its state; by default @base for the same sandbox and the present one for another"`
	Lines  bool   `query:"lines" doc:"compare texts line by line"`
}

type difference struct {
	Path     string `json:"path"`
	Status   string `json:"status" enum:"A,D,R,T,M" doc:"added, deleted, renamed, of another kind, modified"`
	Kind     string `json:"kind" enum:"file,dir,symlink,char,fifo"`
	PathFrom string `json:"pathFrom,omitempty" doc:"where it was, when that is another path"`
	Inserted int    `json:"inserted,omitempty" doc:"with lines: how many"`
	Deleted  int    `json:"deleted,omitempty" doc:"with lines: how many"`
	Binary   bool   `json:"binary,omitempty" doc:"with lines: not a text, or too long"`
	Unified  string `json:"unified,omitempty" doc:"with lines: as diff -u shows it"`
}

type diffOutput struct {
	Body struct {
		Changes []difference `json:"changes" doc:"by path; under a renamed directory only what changed itself"`
	}
}

type mergeInput struct {
	SandboxID
	Body struct {
		From     string `json:"from" required:"true" doc:"id of another sandbox of yours"`
		FromAt   string `json:"fromAt,omitempty" maxLength:"300" doc:"its state; by default the present one"`
		Base     string `json:"base,omitempty" maxLength:"300" doc:"since which state of it; by default what it was forked from"`
		Conflict string `json:"conflict,omitempty" enum:"lines,fail,ours,theirs,markers" default:"lines" doc:"when both changed the same file: merge texts line by line and do nothing at all when that is not clean (lines), do nothing at all (fail), leave it, take theirs, or write both sides of texts between markers"`
	}
}

type mergeOutput struct {
	Body struct {
		OK        bool            `json:"ok" doc:"false: there were conflicts, and nothing was done"`
		Applied   sandbox.Applied `json:"applied" enum:"no,yes" doc:"whether the sandbox was changed"`
		Merged    bool            `json:"merged" doc:"as ok"`
		Conflicts int             `json:"conflicts"`
		Changes   []mergeChange   `json:"changes"`
	}
}

type mergeChange struct {
	Path    string `json:"path"`
	Status  string `json:"status" enum:"A,D,R,T,M" doc:"what happened there, as in diff"`
	Outcome string `json:"outcome" enum:"merged,same,kept,conflict" doc:"same: it is so here already; kept: a directory deleted there that holds something here"`
	Detail  string `json:"detail,omitempty"`
	Winner  string `json:"winner,omitempty" enum:"ours,theirs,both,none" doc:"of a conflict, what is there now: both, between markers; none: nothing was done at all"`
}

func (s *server) merge(ctx context.Context, in *mergeInput) (*mergeOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	spec := sandbox.MergeSpec{FromAt: in.Body.FromAt, Base: in.Body.Base, Conflict: in.Body.Conflict}
	if spec.From, err = sandbox.ParseID(in.Body.From); err != nil {
		return nil, err
	}
	if spec.From == id {
		return nil, invalidInput(ctx, "from: a sandbox is not merged with itself")
	}
	list, err := s.Service.Merge(ctx, caller(ctx, "merge"), id, spec)
	if err != nil {
		return nil, err
	}
	out := new(mergeOutput)
	out.Body.Changes = make([]mergeChange, len(list))
	for i, c := range list {
		out.Body.Changes[i] = mergeChange(c)
	}
	var changed bool
	out.Body.Conflicts, out.Body.Merged, changed = spec.Outcome(list)
	out.Body.OK, out.Body.Applied = out.Body.Merged, sandbox.AppliedOf(changed)
	return out, nil
}

func (s *server) diffRoutes() {
	handle(s, operation(http.MethodPost, sandboxesPath+"/{id}/merge", "merge",
		"Do in a sandbox what happened in another, all of it or nothing; undo takes it back", "snapshots", false), s.merge)
	handle(s, operation(http.MethodGet, sandboxesPath+"/{id}/diff", "diff",
		"What differs between two states, by content, mode and owner", "snapshots", false), s.diff)
}

func (s *server) diff(ctx context.Context, in *diffInput) (*diffOutput, error) {
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
	list, err := s.Service.Diff(ctx, caller(ctx, "diff"), id, spec)
	if err != nil {
		return nil, err
	}
	out := new(diffOutput)
	out.Body.Changes = make([]difference, len(list))
	for i := range list {
		d := &list[i]
		out.Body.Changes[i] = difference{d.Path, d.Status, d.Kind.Name(), d.PathFrom, d.Inserted, d.Deleted, d.Binary,
			d.Unified}
	}
	return out, nil
}
