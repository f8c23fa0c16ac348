package history_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/pgbox/pgbox/bench/cluster/history"
)

// shown is what Show prints after tokens, with files in put.
func shown(tokens string, put ...string) string {
	s := history.NewState()
	for _, token := range strings.Fields(tokens) {
		s.Apply(token)
	}
	return s.String() + "==\n" + strings.Join(append(put, ""), "\n")
}

// The scripts do in bash what the model says.
func TestStateIsWhatTheScriptsMake(t *testing.T) {
	tokens := "a1 m2 v3 r4 g5 v6 r8 r5 m9 g10 g11 v12 r13"
	script := history.Setup + "\n"
	for _, token := range strings.Fields(tokens) {
		script += history.Script(token) + "\n"
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script+": > put/x.1\n"+history.Show)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := shown(tokens, "x.1"); string(out) != want {
		t.Errorf("bash has\n%s\nthe model\n%s", out, want)
	}
}

func TestCheck(t *testing.T) {
	type change = history.Change
	const ok, no, open = history.Applied, history.Refused, history.Unknown
	changes := func(all ...change) []change { return all }
	for _, c := range []struct {
		name    string
		changes []change
		views   []history.View
		last    string
		want    string // in the only violation; "" for none
	}{
		{"all is well", changes(change{Token: "a1", Call: 1, Return: 2, Outcome: ok, Version: 2},
			change{Token: "m2", Call: 1, Return: 4, Outcome: ok, Version: 3}),
			[]history.View{{Shown: shown("a1"), Call: 3, Return: 5, Version: 2},
				{Shown: shown("a1 m2"), Call: 5, Return: 6, Version: 3}}, shown("a1 m2"), ""},
		{"lost", changes(change{Token: "a1", Call: 1, Return: 2, Outcome: ok}), nil, shown(""), "is lost"},
		{"applied twice", changes(change{Token: "a1", Call: 1, Return: 2, Outcome: ok}), nil, shown("a1 a1"),
			"applied twice"},
		{"applied although refused", changes(change{Token: "a1", Call: 1, Return: 2, Outcome: no}), nil, shown("a1"),
			"said not to be applied"},
		{"refused and not there", changes(change{Token: "a1", Call: 1, Return: 2, Outcome: no}), nil, shown(""), ""},
		{"unknown and there", changes(change{Token: "a1", Call: 1, Return: 2, Outcome: open}), nil, shown("a1"), ""},
		{"unknown and not there", changes(change{Token: "a1", Call: 1, Return: 2, Outcome: open}), nil, shown(""), ""},
		{"nobody's", nil, nil, shown("a1"), "nobody wrote it"},
		{"against the order of time", changes(change{Token: "a1", Call: 1, Return: 2, Outcome: ok},
			change{Token: "a2", Call: 3, Return: 4, Outcome: ok}), nil, shown("a2 a1"), "comes before"},
		{"an unknown one before what was acknowledged before it was called",
			changes(change{Token: "a1", Call: 1, Return: 2, Outcome: ok},
				change{Token: "a2", Call: 3, Return: 4, Outcome: open}), nil, shown("a2 a1"), "comes before"},
		{"versions against the order", changes(change{Token: "a1", Call: 1, Return: 9, Outcome: ok, Version: 5},
			change{Token: "a2", Call: 1, Return: 9, Outcome: ok, Version: 4}), nil, shown("a1 a2"), "led to version"},
		{"a stale view", changes(change{Token: "a1", Call: 1, Return: 2, Outcome: ok}),
			[]history.View{{Shown: shown(""), Call: 3, Return: 4}}, shown("a1"), "lacks a1"},
		{"as stale as it may be", changes(change{Token: "a1", Call: 1, Return: 2, Outcome: ok}),
			[]history.View{{Shown: shown(""), Call: 3, Return: 4, Stale: 2}}, shown("a1"), ""},
		{"a view of the future", changes(change{Token: "a1", Call: 3, Return: 4, Outcome: ok}),
			[]history.View{{Shown: shown("a1"), Call: 1, Return: 2}}, shown("a1"), "before it was called"},
		{"a torn write", changes(change{Token: "m1", Call: 1, Return: 5, Outcome: ok}),
			[]history.View{{Shown: strings.Replace(shown("m1"), "m1\nm1\nm1\nm1\nbox", "m1\nm1\nm1\n0\nbox", 1), Call: 1,
				Return: 2}}, shown("m1"), "no state there ever was"},
		{"a view of what was undone", changes(change{Token: "a1", Call: 1, Return: 5, Outcome: open}),
			[]history.View{{Shown: shown("a1"), Call: 1, Return: 6}}, shown(""), "shows what never was"},
		{"back in time", changes(change{Token: "a1", Call: 1, Return: 9, Outcome: ok}),
			[]history.View{{Shown: shown("a1"), Call: 1, Return: 2}, {Shown: shown(""), Call: 3, Return: 4}}, shown("a1"),
			"an earlier one"},
		{"a version of two states", changes(change{Token: "a1", Call: 1, Return: 9, Outcome: open}),
			[]history.View{{Shown: shown("a1"), Call: 1, Return: 9, Version: 2},
				{Shown: shown(""), Call: 1, Return: 9, Version: 3}}, shown("a1"), "has 1 changes"},
		{"committed on another state than it saw", changes(change{Token: "a1", Call: 1, Return: 9, Outcome: ok},
			change{Token: "a2", Call: 1, Return: 9, Outcome: ok}),
			[]history.View{{Shown: shown(""), Call: 1, Return: 9, Own: "a2"}}, shown("a1 a2"), "committed after 1"},
		{"a set", changes(change{Token: "p1", Put: true, Call: 1, Return: 2, Outcome: ok}),
			[]history.View{{Shown: shown("", "p1.1", "p1.2"), Call: 3, Return: 4}}, shown("", "p1.1", "p1.2"), ""},
		{"lost of a set", changes(change{Token: "p1", Put: true, Call: 1, Return: 2, Outcome: ok}), nil, shown(""),
			"lacks p1"},
		{"half of a set", changes(change{Token: "p1", Put: true, Call: 1, Return: 2, Outcome: open}), nil, shown("", "p1.1"),
			"half of p1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &history.History{Sandbox: "s"}
			for i := range c.changes {
				h.AddChange(&c.changes[i])
			}
			for _, v := range c.views {
				h.AddView(v)
			}
			got := h.Check(history.View{Shown: c.last, Call: 100, Return: 101})
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("found %q", got)
			case c.want != "" && (len(got) == 0 || !strings.Contains(strings.Join(got, "\n"), c.want)):
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
