// The bounds of these tests are wall-clock times, and the race detector makes everything ten times slower: they run without it.

//go:build !race

package shell_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var errStop = errors.New("stopped by the test")

// Whatever a script is busy with, its end takes effect soon: as soon as 50 ms on a quiet machine, and in proportion on a busy one.
func TestCancelTakesEffect(t *testing.T) {
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	big := `x=$(printf 'some words of a line, and 12345 numbers\n%.0s' {1..1000}); for i in {1..200}; do echo "$x"; done > big; : `
	for _, c := range []struct{ name, setup, busy string }{
		{"loop", "", "while :; do :; done"},
		{"arithmetic", "", "for ((;;)); do ((x=x*3+1)); done"},
		{"brace expansion", "", "while :; do : {1..9}{1..9}{1..9}{1..9}{1..9}; done"},
		{"glob", "mkdir -p {a..j}/{a..j}/{a..j}", "while :; do : */*/*/../../*/*/*; done"},
		{"wide printf", "", "while :; do printf %100000000s > /dev/null; done"},
		{"here-document", "x=$(printf %1000000s)", "while :; do : <<< \"$x$x$x$x$x$x$x$x\"; done"},
		{"sleep", "", "sleep 1000"},
		{"wait", "", "sleep 1000 & wait"},
		{"read", "", "read x < <(sleep 1000)"},
		{"pipeline", "", "yes | cat | cat > /dev/null"},
		{"many jobs", "", "for i in {1..100}; do while :; do :; done & done; wait"},
		{"regular expression", big, "while :; do grep -cE '(a|b|c)*x.*[0-9]{3}.*y$' big; done"},
		{"regular expression with back-references", big, "while :; do grep -c '\\(.\\).*\\1.*\\(..\\).*\\2.*z$' big; done"},
		{"sort", big, "while :; do sort -k3 -r big > /dev/null; done"},
		{"sed", big, "sed ':a;s/^/x/;ba' big"},
		{"awk", "", "awk 'BEGIN{while(1)x=x+1}'"},
		{"awk over lines", big, "while :; do awk '{n+=length($0); gsub(/[aeiou]/,\"<&>\")} END{print n}' big; done"},
		{"jq", "", "jq -n 'reduce range(1e12) as $i (0; .+$i)'"},
		{"jq over a large document", "seq 1000000 > n", "while :; do jq -s 'map(.+1)|add' n; done"},
		{"diff", "for i in {1..20000}; do echo $RANDOM; done > a; for i in {1..20000}; do echo $RANDOM; done > b", "while :; do diff -d a b > /dev/null; done"},
		{"gzip", "", "yes | gzip > /dev/null"},
		{"gunzip of a bomb", "head -c 50M /dev/zero | gzip > z", "while :; do gunzip -c z > /dev/null; done"},
		{"checksum", "", "sha256sum /dev/zero"},
		{"find", "mkdir -p {a..z}/{a..z}", "while :; do find . -name '*x*' > /dev/null; done"},
		{"tar", big, "while :; do tar cf - big | tar tf - ; done"},
		{"reading a long script", "x=$(printf 'echo a b c;%.0s' {1..100000})", "while :; do eval \"if false; then $x fi\"; done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			best := time.Hour
			for range 3 { // what the machine does at one moment is no fault of the shell's
				if best = min(best, cancelled(t, base, c.setup, c.busy)); best < 50*time.Millisecond {
					break
				}
			}
			if most := max(50*time.Millisecond, 4*busyness()); best > most {
				t.Errorf("ended %v after it was told to, has to be within %v", best, most)
			}
		})
	}
}

// busyness is how long what takes 10 ms of a quiet machine takes now, at worst.
func busyness() time.Duration {
	var took []time.Duration
	for range 5 {
		began := time.Now()
		sha256.Sum256(make([]byte, 8<<20))
		took = append(took, time.Since(began))
	}
	return slices.Max(took)
}

// cancelled runs a script, ends it in the midst of being busy and returns how long that takes.
func cancelled(t *testing.T, base *casetest.Base, setup, busy string) time.Duration {
	t.Helper()
	ctx, budget := proc.NewBudget(t.Context(), proc.Limits{Steps: 1 << 50, CPU: time.Hour})
	defer budget.Close()
	at := make(chan time.Time, 1)
	ready := &marker{mark: func() {
		time.AfterFunc(300*time.Millisecond, func() {
			at <- time.Now()
			budget.Kill(errStop)
		})
	}}
	_, err := shell.Run(ctx, shell.Config{FS: base.Sandbox(context.WithoutCancel(ctx)), Commands: command.All(), Budget: budget, Stdout: ready, Stderr: &capped{w: &bytes.Buffer{}}},
		setup+"\necho ready\n"+busy)
	select {
	case told := <-at:
		if !errors.Is(err, errStop) {
			t.Fatalf("ended with %v", err)
		}
		return time.Since(told)
	default:
		t.Fatalf("ended by itself: %v", err)
		return 0
	}
}

// marker calls mark at the first write.
type marker struct {
	mark func()
	done bool
}

func (m *marker) Write(b []byte) (int, error) {
	if !m.done {
		m.done = true
		m.mark()
	}
	return len(b), nil
}
