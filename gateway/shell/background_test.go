package shell_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// What runs on when the script has ended is ended with it, and both the caller and the reader of its errors are told.
func TestBackgroundProcessesEndWithTheScript(t *testing.T) {
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		script, stdout, stderr string
		linger                 time.Duration
		ended                  int
	}{
		{script: "sleep 600 & (sleep 700; echo never) & echo started", stdout: "started\n", ended: 2,
			stderr: "bash: 2 background processes were ended with the script: sleep 600, ( sleep 700; echo never )\n"},
		{script: "nohup sleep 600 > /dev/null & disown; setsid sleep 700 & bash -c 'sleep 800 &'; echo x", stdout: "x\n",
			ended:  3,
			stderr: "bash: 3 background processes were ended with the script: nohup sleep 600 > /dev/null, setsid sleep 700, sleep 800\n"},
		{script: "echo quick & true", stdout: "quick\n"},
		{script: "(sleep 0.3; echo late) & true", stdout: "late\n", linger: time.Minute},
		{script: "echo through > >(sleep 0.2; cat)", stdout: "through\n"},
		{script: "coproc { sleep 600; }", ended: 1,
			stderr: "bash: 1 background process was ended with the script: { sleep 600; }\n"},
		{script: "mkfifo p; cat p & exit 3", ended: 1,
			stderr: "bash: 1 background process was ended with the script: cat p\n"},
	} {
		ctx, budget := proc.NewBudget(context.Background(), proc.Limits{})
		var out, errs bytes.Buffer
		began := time.Now()
		res, err := shell.Run(ctx, shell.Config{FS: base.Sandbox(ctx), Commands: command.All(), Budget: budget,
			Stdout: &capped{w: &out}, Stderr: &capped{w: &errs}, Linger: tc.linger}, tc.script)
		budget.Close()
		if err != nil || res.BackgroundEnded != tc.ended || out.String() != tc.stdout || errs.String() != tc.stderr {
			t.Errorf("%s\nended %d, want %d (%v)\nstdout %q, want %q\nstderr %q, want %q",
				tc.script, res.BackgroundEnded, tc.ended, err, out.String(), tc.stdout, errs.String(), tc.stderr)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: took %v", tc.script, took)
		}
	}
}

// A script that opens a FIFO without another end waits until its time is over.
func TestDeadlockOnAFIFOEndsWithTheTime(t *testing.T) {
	for _, script := range []string{"mkfifo p; cat p", "mkfifo p; echo x > p", "mkfifo p; cat < p",
		"mkfifo p; while :; do cat p; done & wait"} {
		if o := runLimited(t, proc.Limits{}, 200*time.Millisecond, script); o.err == nil || o.took > 10*time.Second {
			t.Errorf("%s: %v after %v", script, o.err, o.took)
		}
	}
}

// FIFOs that are closed hold no memory of the exec.
func TestFIFOsAreForgotten(t *testing.T) {
	script := "for ((i = 0; i < 3000; i++)); do mkfifo p$i; exec 3<>p$i; echo x >&3; exec 3>&-; done"
	if o := runLimited(t, proc.Limits{LiveBytes: 8 << 20}, time.Minute, script); o.err != nil || o.errs != "" {
		t.Fatal(o.err, o.errs)
	}
}
