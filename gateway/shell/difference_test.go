package shell_test

import (
	"os"
	"testing"

	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
)

// What is known to differ from the real tools differs still, and in the way that is written down.
func TestKnownDifferences(t *testing.T) {
	data, err := os.ReadFile("testdata/known-differences.cases")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := casetest.Parse(string(data))
	if err != nil {
		t.Fatal(err)
	}
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			if c.Ours == nil || !c.HasOut || !c.HasStderr {
				t.Fatalf("line %d: not recorded", c.Line)
			}
			r := base.Run(t.Context(), c)
			if casetest.Diff(c, r) == "" {
				t.Errorf("line %d: no longer a difference: move it to the cases", c.Line)
			}
			c.Stdout, c.Stderr, c.Exit = c.Ours.Stdout, c.Ours.Stderr, c.Ours.Exit
			if d := casetest.Diff(c, r); d != "" {
				t.Errorf("line %d: differs in another way\n%s", c.Line, d)
			}
		})
	}
}
