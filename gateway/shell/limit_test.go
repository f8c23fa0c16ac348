// The bounds of these tests are wall-clock times, and the race detector makes everything ten times slower: they run
// without it.

//go:build !race

package shell_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

func TestLimits(t *testing.T) {
	small := proc.Limits{Steps: 10_000_000, LiveBytes: 24 << 20, Words: 500_000, Goroutines: 100}
	for _, c := range []struct{ name, script, limit string }{
		{"fork bomb", `f() { f | f & }; f; wait`, "processes"},
		{"recursion", `f() { f; }; f`, "depth"},
		{"recursion in substitutions", `f() { echo $(f); }; f`, "depth"},
		{"recursion in subshells", `f() { (f); }; f`, "depth"},
		{"recursion of eval", `e='eval "$e"'; eval "$e"`, "depth"},
		{"recursion of source", `echo '. ./s' > s; . ./s`, "depth"},
		{"recursion of scripts", `printf '#!/bin/bash\n./s\n' > s; chmod +x s; ./s`, "processes"},
		{"recursion of traps", `trap 'false' ERR; f() { false; f; }; f`, "depth"},
		{"doubling", `x=aaaaaaaa; while :; do x=$x$x; done`, "live bytes"},
		{"doubling by append", `x=aaaaaaaa; while :; do x+=$x; done`, "live bytes"},
		{"doubling by replacement", `x=aaaaaaaa; while :; do x=${x//a/aa}; done`, ""},
		{"doubling of an array", `a=(1 2 3); while :; do a+=("${a[@]}"); done`, ""},
		{"array element by element", `while :; do a[i++]=xxxxxxxxxxxxxxxx; done`, "live bytes"},
		{"associative array", `declare -A m; while :; do m[$((i++))]=x; done`, "live bytes"},
		{"many variables", `while :; do eval "v$((i++))=xxxxxxxxxxxxxxx"; done`, ""},
		{"endless loop", `while :; do :; done`, "steps"},
		{"endless arithmetic loop", `for ((;;)); do ((i++)); done`, "steps"},
		{"endless substitution",
			`x=$(while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done)`, ""},
		{"endless pipe", `while :; do echo y; done | while read x; do :; done`, "steps"},
		{"brace expansion", `echo {1..100000000}`, "words"},
		{"brace product", `echo {1..999}{1..999}{1..999}`, "words"},
		{"printf width", `while :; do printf -v x%s '%16000000d' 1; x=$x1$x; done`, ""},
		{"background jobs", `while :; do sleep 100 & done`, "processes"},
		{"open files", `for ((i=0;i<3000;i++)); do exec {fd}>f || break; done; echo $((i<3000))`, "none"},
		{"here-documents", `x=aaaaaaaaaaaaaaaa; for i in {1..20}; do x=$x$x; done; while :; do exec {fd}<<<"$x"; done`, ""},
		{"function definitions", `while :; do eval "f$((i++)) () { echo; }"; done`, ""},
		{"process substitutions", `f() { cat <(f); }; f`, ""},
		{"make with a doubling variable",
			`printf 'x:=aaaaaaaa\n$(foreach i,$(shell seq 100),$(eval x:=$(x)$(x)))\na:;\n' > m; make -f m`, "live bytes"},
		{"make with a long substitution",
			`printf 'x:=$(shell seq -s a 200000)\na:;@: $(subst a,$(x),$(x))\n' > m; make -f m; echo $(($? == 2))`, "none"},
		{"make with a long product", `printf 'x:=$(shell seq 20000)\na:;@: $(words $(foreach i,$(x),$(x)))\n' > m; make -f m`,
			"live bytes"},
		{"make with endless variables",
			`printf 'f=$(eval v$1:=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)\n$(foreach i,$(shell seq 300000),$(call f,$i))\na:;\n' > m; make -f m`, "live bytes"},
		{"make again and again",
			`printf 'x:=$(shell seq 100000)\na:;@: $(words $(x))\n' > m; for ((i=0;i<30;i++)); do make -f m || break; done; echo $((i==30))`, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := runLimited(t, small, 2*time.Minute, c.script)
			if c.limit == "none" {
				if o.err != nil || o.out != "1\n" {
					t.Fatalf("err %v, out %q", o.err, o.out)
				}
				return
			}
			l, ok := proc.IsLimit(o.err)
			if !ok {
				t.Fatalf("ended with %v after %v (exit %d, stderr %.300q), want a limit", o.err, o.took, o.res.ExitCode, o.errs)
			}
			if c.limit != "" && l.Name != c.limit {
				t.Errorf("limit %q, want %q", l.Name, c.limit)
			}
		})
	}
}

// TestParentsCountTheirDepth: mkdir -p looks each parent up from the root, and stops in the midst of it.
func TestParentsCountTheirDepth(t *testing.T) {
	t.Parallel()
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	ctx, budget := proc.NewBudget(t.Context(), proc.Limits{Steps: 40_000})
	defer budget.Close()
	_, err = shell.Run(ctx, shell.Config{FS: base.Sandbox(ctx), Commands: command.All(), Budget: budget},
		"mkdir -p "+strings.Repeat("d/", 2000))
	if l, ok := proc.IsLimit(err); !ok || l.Name != "steps" {
		t.Errorf("%v after %d steps", err, budget.Steps())
	}
}

// TestNesting feeds the parser what would overflow its stack; nothing but an exit status may come of it.
func TestNesting(t *testing.T) {
	const n = 1_000_000
	rep := strings.Repeat
	for _, c := range []struct{ name, script string }{
		{"parentheses", rep("(", n)},
		{"closed parentheses", rep("(", n) + ":" + rep(")", n)},
		{"braces", rep("{ ", n)},
		{"arithmetic", "echo $((" + rep("(", n) + "1" + rep(")", n) + "))"},
		{"arithmetic signs", "echo $((" + rep("-", n) + "1))"},
		{"arithmetic powers", "echo $((1" + rep("**1", n) + "))"},
		{"arithmetic ternaries", "echo $((" + rep("1?1:", n) + "1))"},
		{"arithmetic assignments", "echo $((" + rep("a=", n) + "1))"},
		{"substitutions", rep("echo $(", n)},
		{"quoted substitutions", rep(`"$(`, n)},
		{"parameters", rep("${x:-", n)},
		{"if", rep("if ", n)},
		{"while", rep("while\n", n)},
		{"functions", rep("f()", n)},
		{"function words", rep("function f ", n)},
		{"negations", rep("! ", n) + "true"},
		{"time", rep("time ", n)},
		{"tests", "[[ " + rep("! ", n) + "a ]]"},
		{"test parentheses", "[[ " + rep("( ", n) + "a" + rep(" )", n) + " ]]"},
		{"test conjunctions", "[[ a" + rep(" && a", n) + " ]]"},
		{"and lists", "true" + rep(" && true", 200_000)},
		{"case", rep("case x in x) ", n)},
		{"backquotes", rep("`echo ", n)},
		{"subscripts", "echo ${" + rep("a[", n)},
		{"extended globs", "echo " + rep("@(", n)},
		{"eval", `x=$(printf '%*s' 900000 ''); eval "${x// /(}"`},
		{"arithmetic at run time", `x=$(printf '%*s' 900000 ''); x=${x// /(}; echo $((x)) $(($x))`},
		{"pattern at run time",
			`shopt -s extglob; x=$(printf '%*s' 300000 ''); x=${x// /@(}; [[ a == $x ]]; case a in $x) ;; esac`},
		{"brace at run time", "echo " + rep("{a,", 100_000) + rep("}", 100_000)},
		{"test builtin", `x=$(printf '%*s' 300000 ''); [ ${x// /! } a ]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := runLimited(t, proc.Limits{}, 60*time.Second, c.script)
			if o.err != nil {
				if _, ok := proc.IsLimit(o.err); !ok {
					t.Fatalf("ended with %v", o.err)
				}
			}
			if strings.Contains(o.errs, "internal error") {
				t.Fatal("the evaluator panicked")
			}
		})
	}
}

// TestKill ends execs that wait for something; each must be over within 50 ms of its end.
func TestKill(t *testing.T) {
	for _, c := range []struct{ name, script string }{
		{"loop", `echo ready; while :; do :; done`},
		{"pipe nobody writes", `echo ready; { exec 3<&0; read x <&3; } < <(sleep 1000)`},
		{"pipe nobody reads", `echo ready; while :; do echo yyyyyyyyyyyyyyyyyyyyyyy; done | { sleep 1000; }`},
		{"wait", `sleep 1000 & echo ready; wait`},
		{"wait -n", `sleep 1000 & echo ready; wait -n`},
		{"sleep", `echo ready; sleep 1000`},
		{"nested shell", `echo ready; bash -c 'bash -c "sleep 1000"'`},
		{"substitution", `echo ready; x=$(sleep 1000)`},
		{"substitution held by a job", `echo ready; x=$(sleep 1000 &)`},
		{"read with timeout", `echo ready; read -t 1000 x < <(sleep 1000)`},
		{"trap that ignores", `trap '' TERM INT HUP; echo ready; sleep 1000; sleep 1000`},
		{"stdin", `echo ready; read x`},
		{"coproc", `coproc cat; echo ready; read x <&${COPROC[0]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, err := casetest.NewBase(withSleep())
			if err != nil {
				t.Fatal(err)
			}
			var took, most time.Duration
			for range attempts {
				if took = killed(t, base, c.script); took < prompt {
					return
				}
				// The machine may be busy with other things.
				if most = 8 * busyness(); took < most {
					return
				}
			}
			t.Errorf("took %v to end, has to be within %v", took, most)
		})
	}
}

// killed runs a script, kills it once it has said that it is ready, and returns how long its end takes.
func killed(t *testing.T, base *casetest.Base, script string) time.Duration {
	t.Helper()
	ctx, budget := proc.NewBudget(t.Context(), proc.Limits{})
	gone := errors.New("client gone")
	ready := make(chan time.Time, 1)
	stdin, w := io.Pipe()
	defer func() { _ = w.Close() }()
	go func() {
		<-ready
		runtime.Gosched()
		budget.Kill(gone)
		ready <- time.Now()
	}()
	out := writerFunc(func(b []byte) (int, error) {
		if bytes.Contains(b, []byte("ready")) {
			ready <- time.Time{}
		}
		return len(b), nil
	})
	_, err := shell.Run(ctx, shell.Config{FS: base.Sandbox(ctx), Commands: withSleep(), Budget: budget, Stdin: stdin,
		Stdout: out}, script)
	took := time.Since(<-ready)
	if !errors.Is(err, gone) {
		t.Errorf("ended with %v", err)
	}
	return took
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// withSleep is the commands with a sleep that waits for the end of its context only.
func withSleep() map[string]proc.Func {
	m := command.All()
	m["sleep"] = func(ctx context.Context, _ *proc.Process) int {
		<-ctx.Done()
		return 143
	}
	return m
}

// TestSortSpills: what does not fit into a batch is sorted in compressed runs, with the same result, and within the
// limit.
func TestSortSpills(t *testing.T) {
	t.Parallel()
	const script = `awk 'BEGIN { srand(7); for (i = 0; i < 250000; i++) printf "%d %s line %d\n", rand() * 50000, substr("abcdefghij", 1 + i % 7, 3), i; printf "last" }' > f
		sort f | md5sum; sort -n f | md5sum; sort -s -k2,2 f | md5sum; sort -u -k1,1n f | md5sum; sort -r f | tail -n 2; sort -u -k2,2 f
		sort -n f > g; sort -n -r -o g g f; md5sum < g; sort -z f | md5sum; sort f f | uniq -d | wc -l`
	wide := runLimited(t, proc.Limits{LiveBytes: 512 << 20}, time.Minute, script)
	narrow := runLimited(t, proc.Limits{LiveBytes: 24 << 20}, time.Minute, script)
	if wide.err != nil || narrow.err != nil || narrow.errs != "" {
		t.Fatal(wide.err, narrow.err, narrow.errs)
	}
	if wide.out != narrow.out || len(wide.out) < 300 {
		t.Errorf("with runs:\n%s\nwithout:\n%s", narrow.out, wide.out)
	}
}
