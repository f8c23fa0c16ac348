package python_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/pgbox/pgbox/gateway/machine"
	"github.com/pgbox/pgbox/gateway/machine/machinetest"
	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

func TestMain(m *testing.M) {
	machinetest.Entry()
	os.Exit(m.Run())
}

// newBase is a base tree whose scripts have machines.
func newBase(t testing.TB, cfg machine.Config) *casetest.Base {
	t.Helper()
	pool := machinetest.Pool(t, cfg)
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	base.Machines = func(ctx context.Context, program string) (proc.Machine, error) {
		return pool.Get(ctx, "somebody", program)
	}
	return base
}

// What programs do here is what the python3 of this machine does.
func TestCases(t *testing.T) {
	base := newBase(t, machine.Config{PerOwner: 16, Queue: 1024})
	casetest.ReplayOn(t, func(casetest.Case) bool { return true }, base.Run, "testdata/*.cases")
}

func TestCasesOnTheRealPython(t *testing.T) {
	casetest.ReplayOracle(t, func(casetest.Case) bool { return true }, "testdata/python.cases")
}

// Without machines the command says what is missing, and the rest of the script goes on.
func TestNotInstalled(t *testing.T) {
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	r := base.Run(t.Context(), casetest.Case{Script: "python3 -c 1; echo $?; command -v python3; pip list; echo $?"})
	want := "python3: not available: this server has no python; `pgbox runtimes install` on it installs it\n"
	if r.Stdout != "127\n/usr/bin/python3\n127\n" || r.Stderr != want+strings.Replace(want, "python3:", "pip:", 1) {
		t.Errorf("%q %q", r.Stdout, r.Stderr)
	}
}
