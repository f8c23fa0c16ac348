package shell_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
)

func TestAbsentCommandsSayWhatToUse(t *testing.T) {
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(shell.Absent())) {
		if command.All()[name] != nil || slices.Contains(shell.Programs(), name) {
			t.Errorf("%s is a command and is in the table of those that are absent", name)
		}
		r := base.Run(ctx, casetest.Case{Script: "command -v " + name + " || echo none; " + name + " -x"})
		want := "bash: line 1: " + name + ": command not found: not available in this sandbox; " + shell.Absent()[name] + "\n"
		if r.Stdout != "none\n" || r.Stderr != want || r.Exit != 127 {
			t.Errorf("%s: stdout %q, stderr %q, exit %d", name, r.Stdout, r.Stderr, r.Exit)
		}
	}
	r := base.Run(ctx, casetest.Case{Script: "python3.11 x; sh -c 'git log'; nosuchthing"})
	want := "bash: line 1: python3.11: command not found: not available in this sandbox; use python3, awk or bash\n" +
		"sh: 1: git: not found: not available in this sandbox; "
	if !strings.HasPrefix(r.Stderr, want) || !strings.HasSuffix(r.Stderr, "nosuchthing: command not found\n") {
		t.Errorf("stderr %q", r.Stderr)
	}
}
