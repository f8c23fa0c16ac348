package shell_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outcome is how one limited exec ended.
type outcome struct {
	res  shell.Result
	err  error
	out  string
	errs string
	took time.Duration
}

func runLimited(t *testing.T, l proc.Limits, timeout time.Duration, script string) outcome {
	t.Helper()
	return runInput(t, l, timeout, script, "")
}

// runInput is runLimited with something on standard input.
func runInput(t *testing.T, l proc.Limits, timeout time.Duration, script, stdin string) outcome {
	t.Helper()
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	ctx, budget := proc.NewBudget(ctx, l)
	defer budget.Close()
	var out, errs bytes.Buffer
	start := time.Now()
	res, err := shell.Run(ctx, shell.Config{FS: base.Sandbox(ctx), Commands: command.All(), Budget: budget,
		Stdin: strings.NewReader(stdin), Stdout: &capped{w: &out}, Stderr: &capped{w: &errs}}, script)
	return outcome{res, err, out.String(), errs.String(), time.Since(start)}
}

// capped keeps the first megabyte.
type capped struct{ w *bytes.Buffer }

func (c *capped) Write(b []byte) (int, error) {
	if c.w.Len() < 1<<20 {
		return c.w.Write(b)
	}
	return len(b), nil
}
