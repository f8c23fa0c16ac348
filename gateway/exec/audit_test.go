package exec_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/exec"
	"github.com/pgbox/pgbox/gateway/fserr"
	"github.com/pgbox/pgbox/gateway/store"
)

// TestEveryVerbHasItsRow: what changes or reads a sandbox, and what is refused, is in its audit log, with the agent that asked.
func TestEveryVerbHasItsRow(t *testing.T) {
	t.Parallel()
	s := service(t, exec.Config{})
	c := alice
	c.Agent = "planner"
	b, err := s.CreateSandbox(t.Context(), c, exec.NewSandbox{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	id, name := b.ID, "renamed"
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	_, err = s.Exec(t.Context(), exec.Request{Sandbox: id, Caller: c, Script: "echo 1 > f"})
	must("exec", err)
	_, err = s.KvSet(t.Context(), c, id, "k", []byte("1"), exec.Expect{})
	must("kv set", err)
	_, err = s.KvGet(t.Context(), c, id, "k")
	must("kv get", err)
	must("kv rm", s.KvDelete(t.Context(), c, id, "k", exec.Expect{}))
	snap, err := s.Snapshot(t.Context(), c, id, "s")
	must("snapshot", err)
	must("snapshot rm", s.DropSnapshot(t.Context(), c, id, snap.ID.String()))
	forks, err := s.Fork(t.Context(), c, id, "", 1, "")
	must("fork", err)
	_, err = s.CreateImage(t.Context(), c, id, strings.ToLower(uuid.NewString()), "", "", false)
	must("image", err)
	_, _, err = s.Flatten(t.Context(), c, id)
	must("flatten", err)
	_, err = s.UpdateSandbox(t.Context(), c, id, exec.SandboxUpdate{Name: &name})
	must("update", err)
	f, err := s.OpenFile(t.Context(), c, id, "/home/user/f")
	must("read", err)
	must("read", f.Close())
	must("tar export", s.ExportTar(t.Context(), c, id, "/home/user", io.Discard, func() {}))
	_, err = s.Undo(t.Context(), c, id, 1)
	wantError(t, err, fserr.CodeENOENT, exec.AppliedNo)
	_, err = s.Exec(t.Context(), exec.Request{Sandbox: id, Caller: c, Script: "refused", Cwd: "relative"})
	wantError(t, err, fserr.CodeInvalidInput, exec.AppliedNo)
	stranger := c
	stranger.Subject = "mallory"
	_, err = s.Exec(t.Context(), exec.Request{Sandbox: id, Caller: stranger, Script: "not mine"})
	wantError(t, err, fserr.CodeForbidden, exec.AppliedNo)

	rows := func(id uuid.UUID) (out []string) {
		runs, err := s.Timeline(t.Context(), c, id, store.TimelineFilter{Limit: 100, Agent: &c.Agent})
		must("timeline", err)
		for _, r := range runs {
			out = append(out, strings.TrimSpace(strings.Fields(r.Script + " -")[0]+" "+r.Error))
		}
		slices.Sort(out)
		return out
	}
	want := []string{
		"create", "echo", "flatten", "fork", "image", "kv", "kv", "kv", "not FORBIDDEN", "read", "refused INVALID_INPUT", "snapshot", "snapshot", "tar", "undo ENOENT", "update",
	}
	if got := rows(id); !slices.Equal(got, want) {
		t.Errorf("the log has\n%q, want\n%q", got, want)
	}
	if got := rows(forks[0].ID); !slices.Equal(got, []string{"fork"}) {
		t.Errorf("the log of the fork has %q", got)
	}
	wrote, err := s.Blame(t.Context(), c, id, "/home/user/f")
	if err != nil || len(wrote) != 1 || wrote[0].Agent != "planner" {
		t.Errorf("blame: %+v, %v", wrote, err)
	}
}

func TestAgentsWithNamesTooLong(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{"": true, strings.Repeat("ä", 128): true, strings.Repeat("a", 129): false, "\xff": false, "a\x00": false} {
		if err := exec.CheckAgent(name); (err == nil) != ok {
			t.Errorf("%.20q: %v", name, err)
		}
	}
}
