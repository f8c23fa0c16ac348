// The real tools are the same with and without the race detector.

//go:build !race

package shell_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
)

var (
	programs = flag.Int("programs", 60, "random scripts for each grammar")
	seed     = flag.Uint64("seed", 1, "of the random scripts")
)

// Random scripts do the same here and under the real bash and tools.
func TestRandomPrograms(t *testing.T) {
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/grammars/*.grammar")
	if err != nil || len(files) == 0 {
		t.Fatal("no grammars", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".grammar"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			g, err := casetest.ParseGrammar(string(data))
			if err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			r := rand.New(rand.NewPCG(*seed, 0))
			for i := range *programs {
				compare(t, base, g.Script(r), i)
			}
		})
	}
}

func compare(t *testing.T, base *casetest.Base, script string, i int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	c := casetest.Case{Script: script + "\n", HasStderr: true}
	want, err := casetest.Oracle(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr, c.Exit = want.Stdout, want.Stderr, want.Exit
	if d := casetest.Diff(c, base.Run(ctx, c)); d != "" {
		t.Errorf("program %d of seed %d:\n%s\n%s", i, *seed, script, d)
	}
}
