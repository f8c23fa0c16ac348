// What is measured here are times and the memory of a whole process, which the race detector changes.

//go:build !race

package shell_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var (
	hostileOnly = flag.String("hostile.only", "", "run the hostile cases whose names match this regular expression")
	hostileMax  = flag.Int("hostile.max", 4<<20, "bytes of the largest input that is generated")
	hostileAll  = flag.Bool("hostile.all", false, "run all hostile cases, not one of forty: a quarter of an hour")
	hostileLog  = flag.Bool("hostile.log", false, "print what each hostile case took")
)

const (
	hostileChild = "PGBOX_HOSTILE_CHILD"
	// hostileStack is a fourteenth part of what a server has on a machine of 64 bits.
	hostileStack = 64 << 20
	// hostileTime is the time limit of a hostile script.
	hostileTime = 200 * time.Millisecond
	// recursionTime is that of a script that descends, so that it gets there.
	recursionTime = time.Second
	// overshoot is how long a script may live on after its limit. The aim is 150 ms on an idle core; the machine of a test
	// is not idle.
	overshoot = 1500 * time.Millisecond
	// hostileHeap is what the heap may grow to besides four times what was declared as live: garbage, and what the test
	// itself holds.
	hostileHeap = 256 << 20
)

// attack is a script with an input that grows until a limit answers.
type attack struct {
	name   string
	in     func(n int) string // the file "in", of about n bytes; nil for none
	script string             // "" runs the input itself
	max    int                // of n, 0 is the flag's
	always bool               // in every run: it has ended a server, or gone on for minutes
}

// attackResult is how one run ended.
type attackResult struct {
	Name     string
	N        int
	Begun    bool // only told that it begins
	End      string
	Took     time.Duration
	Over     time.Duration // wall-clock time after the limit
	CPU      time.Duration // CPU time after the limit
	Heap     int64         // largest heap
	Live     int64         // largest number of live bytes that were declared
	Internal bool          // the evaluator panicked
}

// TestAttacks runs a sample of scripts with the largest and deepest input there is for every interpreter, each in turn
// in a child process with a small stack. A script that ends the process, outlives its limit or takes more memory than
// it was charged for fails.
func TestAttacks(t *testing.T) {
	only, err := regexp.Compile(*hostileOnly)
	if err != nil {
		t.Fatal(err)
	}
	var todo []string
	for _, h := range attacks {
		// The sample goes by names: what is added does not change which of the others are in it.
		if !*hostileAll && *hostileOnly == "" && crc32.ChecksumIEEE([]byte(h.name))%40 != 0 && !h.always {
			continue
		}
		if only.MatchString(h.name) {
			todo = append(todo, h.name)
		}
	}
	runAllAttacks(t, todo)
}

// TestRecursions makes everything that is nested and that a function descends into ten times as deep as it may be, on a
// small stack.
func TestRecursions(t *testing.T) {
	var todo []string
	only := regexp.MustCompile(*hostileOnly)
	for _, h := range recursionAttacks {
		if only.MatchString(h.name) {
			todo = append(todo, h.name)
		}
	}
	runAllAttacks(t, todo)
}

// runAllAttacks runs the cases in as many children as it takes.
func runAllAttacks(t *testing.T, todo []string) {
	t.Helper()
	for len(todo) > 0 {
		last, stderr := runAttacks(t, todo)
		if last == nil {
			return
		}
		t.Errorf("%s: with %d bytes the process ended:\n%s", last.Name, last.N, stderr)
		for todo[0] != last.Name {
			todo = todo[1:]
		}
		todo = todo[1:]
	}
}

// runAttacks runs the cases in one child and returns the one in which it ended, if it did.
func runAttacks(t *testing.T, names []string) (last *attackResult, stderr string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", hostileChild, *hostileMax), "GOMEMLIMIT=3GiB",
		"GOTRACEBACK=single")
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &capped{w: &errs}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var r attackResult
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%v: %q", err, lines.Text())
		}
		if r.Begun {
			last = &r
			continue
		}
		judge(t, &r)
	}
	if err := cmd.Wait(); err == nil {
		return nil, ""
	}
	if last == nil {
		t.Fatalf("the child did not begin: %s", errs.String())
	}
	return last, firstLines(errs.String(), 60)
}

func judge(t *testing.T, r *attackResult) {
	t.Helper()
	if *hostileLog {
		t.Logf("%-40s %9d %8s took %8v over %8v cpu %8v heap %5d MB live %5d MB %s", r.Name, r.N, r.End,
			r.Took.Round(time.Millisecond), r.Over.Round(time.Millisecond),
			r.CPU.Round(time.Millisecond), r.Heap>>20, r.Live>>20, strings.Repeat("!", int(r.Over/(100*time.Millisecond))))
	}
	if r.Over > overshoot && r.CPU > overshoot {
		t.Errorf("%s: with %d bytes it ended %v after its limit, with %v of CPU time", r.Name, r.N, r.Over, r.CPU)
	}
	if r.Heap > hostileHeap+4*r.Live {
		t.Errorf("%s: with %d bytes the heap grew to %d MB, with %d MB declared", r.Name, r.N, r.Heap>>20, r.Live>>20)
	}
	if r.Internal {
		t.Errorf("%s: with %d bytes the evaluator panicked", r.Name, r.N)
	}
}

func firstLines(s string, n int) string {
	lines := strings.SplitN(s, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

// The child process gets the names of cases on stdin and writes results to stdout.
func init() {
	if largest, err := strconv.Atoi(os.Getenv(hostileChild)); err == nil {
		runHostileChild(largest)
		os.Exit(0)
	}
}

func runHostileChild(largest int) {
	debug.SetMaxStack(hostileStack)
	base, err := casetest.NewBase(command.All())
	if err != nil {
		panic(err)
	}
	out := json.NewEncoder(os.Stdout)
	names := bufio.NewScanner(os.Stdin)
	for names.Scan() {
		for _, h := range recursionAttacks {
			if h.name == names.Text() {
				_ = out.Encode(attackResult{Name: h.name, N: h.max, Begun: true})
				_ = out.Encode(h.run(base, h.max, recursionTime))
				debug.FreeOSMemory()
			}
		}
		for _, h := range attacks {
			if h.name != names.Text() {
				continue
			}
			most := largest
			if h.max > 0 {
				most = min(most, h.max)
			}
			for n := 1 << 10; n <= most; n *= 8 {
				if h.in == nil {
					n = most
				}
				_ = out.Encode(attackResult{Name: h.name, N: n, Begun: true})
				r := h.run(base, n, hostileTime)
				_ = out.Encode(r)
				debug.FreeOSMemory()
				if r.Over > overshoot || r.End == "time" && !h.always {
					break
				}
				if r.End == "time" && n < most {
					n = most / 8 // what is done with all of the input at once takes longest with the largest
				}
			}
		}
	}
}

var errHostileTime = errors.New("time")

// run runs the case with an input of n bytes.
func (h *attack) run(base *casetest.Base, n int, limit time.Duration) attackResult {
	r := attackResult{Name: h.name, N: n}
	w := base.Sandbox(context.Background())
	script := "cd /tmp; " + h.script
	if h.in != nil {
		in := h.in(n)
		if h.script == "" {
			script = in
		}
		if err := w.WriteFile("/tmp/in", []byte(in), 0o755); err != nil {
			panic(err)
		}
	}
	ctx, budget := proc.NewBudget(context.Background(), proc.Limits{Steps: 1 << 50, CPU: time.Hour, Written: 256 << 20})
	defer budget.Close()
	var heap, killed, killedCPU atomic.Int64
	done := make(chan struct{})
	began := time.Now()
	go func() {
		for tick := time.Tick(2 * time.Millisecond); ; {
			select {
			case <-done:
				return
			case <-tick:
			}
			heap.Store(max(heap.Load(), heapNow()))
			took := time.Since(began)
			if took > limit && killed.Load() == 0 {
				killedCPU.Store(int64(cpuTime()))
				killed.Store(int64(time.Since(began)))
				budget.Kill(errHostileTime)
			}
			if took > 30*time.Second {
				panic("the script has outlived its limit by half a minute")
			}
		}
	}()
	var errs bytes.Buffer
	_, err := shell.Run(ctx, shell.Config{FS: w, Commands: command.All(), Budget: budget,
		State:  shell.State{Dir: "/tmp", Env: casetest.Env("/tmp")},
		Stdout: writerFunc(func(b []byte) (int, error) { return len(b), nil }), Stderr: &capped{w: &errs}}, script)
	r.Took = time.Since(began)
	close(done)
	r.End = "done"
	if k := killed.Load(); k > 0 {
		r.Over, r.CPU = r.Took-time.Duration(k), cpuTime()-time.Duration(killedCPU.Load())
	}
	if l, ok := proc.IsLimit(err); ok {
		r.End = l.Name
	} else if err != nil {
		r.End = err.Error()
	}
	r.Heap, r.Live = max(heap.Load(), heapNow()), budget.Peak()
	r.Internal = strings.Contains(errs.String(), "internal error")
	return r
}

func heapNow() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}
