package sched_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/sched"
	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// TestWatchdogSeesWhatGoesOn: a program that does not notice the end of its script, and spins, is counted until it
// ends.
func TestWatchdogSeesWhatGoesOn(t *testing.T) {
	for _, script := range []string{"spin", "spin & wait", ": | spin"} {
		t.Run(script, func(t *testing.T) {
			w := sched.NewWatchdog(1<<30, 0, time.Millisecond, func(sched.Run, string, int64) {})
			w.SetGrace(time.Millisecond)
			defer w.Close()
			spinning, enough, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
			commands := map[string]proc.Func{"spin": func(context.Context, *proc.Process) int {
				close(spinning)
				for {
					select {
					case <-enough:
						return 0
					default:
						runtime.Gosched()
					}
				}
			}}
			base, err := casetest.NewBase(commands)
			if err != nil {
				t.Fatal(err)
			}
			ctx, budget := proc.NewBudget(t.Context(), proc.Limits{})
			w.Watch(budget, "a sandbox")
			go func() {
				defer close(ended)
				defer budget.Close()
				defer w.Forget(budget)
				_, _ = shell.Run(ctx, shell.Config{FS: base.Sandbox(ctx), Commands: commands, Budget: budget,
					State: shell.State{Env: casetest.Env("/")}}, script)
			}()
			<-spinning
			if n := w.Overdue(); n != 0 {
				t.Errorf("%d goroutines of a script that runs", n)
			}
			budget.Kill(errors.New("enough"))
			for w.Overdue() == 0 && t.Context().Err() == nil {
				runtime.Gosched()
			}
			close(enough)
			<-ended
			for w.Overdue() != 0 && t.Context().Err() == nil {
				runtime.Gosched()
			}
		})
	}
}
