package casetest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// Home is the working directory of every case.
const Home = "/home/user"

// Env is the environment of every case, here and under the real bash.
func Env(home string) map[string]string {
	return map[string]string{"PATH": "/usr/bin:/bin", "HOME": home, "LC_ALL": "C.UTF-8", "TZ": "UTC", "USER": "user",
		"LOGNAME": "user"}
}

type blobs struct {
	mu sync.Mutex
	m  map[tree.Hash][]byte
}

func (b *blobs) Load(_ context.Context, hs []tree.Hash) ([][]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([][]byte, len(hs))
	for i, h := range hs {
		d, ok := b.m[h]
		if !ok {
			return nil, vfs.EIO
		}
		out[i] = d
	}
	return out, nil
}

// Base is a tree like the one every sandbox stands on, with a file in /usr/bin for each command.
type Base struct {
	tree     *tree.Tree
	content  *blobs
	commands map[string]proc.Func
	// Machines is shell.Config.Machines of the cases.
	Machines func(ctx context.Context, program string) (proc.Machine, error)
}

// NewBase makes a base tree for the commands; those that the shell brings itself are added.
func NewBase(commands map[string]proc.Func) (*Base, error) {
	root, err := tree.Empty().Patch(&tree.Patch{Version: 1, NextIno: tree.FirstIno,
		Inodes: []tree.Inode{{Ino: tree.RootIno, Kind: vfs.Dir, Mode: 0o755, Nlink: 2}}})
	if err != nil {
		return nil, err
	}
	b := &Base{content: &blobs{m: map[tree.Hash][]byte{}}, commands: commands}
	w := root.Begin(context.Background(), tree.Options{Content: b.content})
	names := slices.Collect(maps.Keys(commands))
	names = append(names, shell.Programs()...)
	for _, d := range []string{"/usr/bin", "/usr/local/bin", "/dev", "/etc", Home, "/tmp", "/root", "/var/tmp"} {
		if err := w.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	for _, err := range []error{
		w.Symlink("usr/bin", "/bin"), w.Chmod("/tmp", 0o1777), w.Chmod("/var/tmp", 0o1777), w.Chown(Home, 1000, 1000, false),
		w.Mknod("/dev/null", vfs.Char, 0o666, 1<<8|3), w.Mknod("/dev/zero", vfs.Char, 0o666, 1<<8|5),
		w.Mknod("/dev/full", vfs.Char, 0o666, 1<<8|7),
		w.Mknod("/dev/random", vfs.Char, 0o666, 1<<8|8), w.Mknod("/dev/urandom", vfs.Char, 0o666, 1<<8|9),
		w.Mknod("/dev/tty", vfs.Char, 0o666, 5<<8),
		w.WriteFile("/etc/passwd", []byte("root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000::/home/user:/bin/bash\n"),
			0o644),
		w.WriteFile("/etc/group", []byte("root:x:0:\nuser:x:1000:\n"), 0o644),
	} {
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	for _, n := range slices.Compact(names) {
		if err := w.WriteFile("/usr/bin/"+n, []byte("#!/bin/builtin "+n+"\n"), 0o755); err != nil {
			return nil, err
		}
	}
	d := w.Delta()
	for h, data := range d.Blobs {
		b.content.m[h] = bytes.Clone(data)
	}
	b.tree = w.Commit(2)
	return b, nil
}

// Sandbox is a fresh working tree over the base.
func (b *Base) Sandbox(ctx context.Context) *tree.Work {
	return b.tree.Begin(ctx, tree.Options{Content: b.content, UID: 1000, GID: 1000})
}

// Result is what a case did.
type Result struct {
	Stdout, Stderr string
	Exit           int
	Err            error
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// lingering is how long a case waits for background processes: the oracle reads a pipe, which has no end before theirs.
const lingering = 4 * time.Second

// Run runs one case in a fresh sandbox.
func (b *Base) Run(ctx context.Context, c Case) Result {
	ctx, budget := proc.NewBudget(ctx, proc.Limits{})
	defer budget.Close()
	w := b.Sandbox(ctx)
	for _, f := range c.Files {
		p := path.Join(Home, f.Path)
		if err := w.MkdirAll(path.Dir(p), 0o755); err != nil {
			return Result{Err: err}
		}
		if err := w.WriteFile(p, []byte(f.Content), 0o644); err != nil {
			return Result{Err: err}
		}
	}
	var out, errs syncBuffer
	cfg := shell.Config{FS: w, Commands: b.commands, State: shell.State{Dir: Home, Env: Env(Home)}, Budget: budget,
		Stdout: &out, Stderr: &errs, Linger: lingering, Machines: b.Machines}
	if !c.NoStdin {
		cfg.Stdin = strings.NewReader(c.Stdin)
	}
	r, err := shell.Run(ctx, cfg, c.Script)
	return Result{Stdout: out.b.String(), Stderr: errs.b.String(), Exit: r.ExitCode, Err: err}
}

// Replay runs the cases of the files (patterns of filepath.Glob) in sandboxes and compares what they do with what was
// recorded.
func Replay(t *testing.T, commands map[string]proc.Func, patterns ...string) {
	t.Helper()
	base, err := NewBase(commands)
	if err != nil {
		t.Fatal(err)
	}
	ReplayOn(t, func(Case) bool { return true }, base.Run, patterns...)
}

// ReplayOn runs the cases of the files that are wanted with run and compares what they do with what was recorded.
func ReplayOn(t *testing.T, wanted func(Case) bool, run func(context.Context, Case) Result, patterns ...string) {
	t.Helper()
	replay(t, wanted, func(c Case) int {
		if timed.MatchString(c.Script) {
			return tries
		}
		return 1
	}, run, patterns)
}

// timed are scripts in which what happens depends on who is faster by some hundredths of a second, and tries is how
// often one may run until the machine has the time.
var timed = regexp.MustCompile(`\b(sleep|timeout)\b`)

const tries = 6

// ReplayOracle runs the same cases under the real bash and tools: what was recorded is still what they do. A case gets
// several tries, because processes may be scheduled so that the output of two of them is mixed otherwise.
func ReplayOracle(t *testing.T, wanted func(Case) bool, patterns ...string) {
	t.Helper()
	replay(t, wanted, func(Case) int { return tries }, func(ctx context.Context, c Case) Result {
		r, err := Oracle(ctx, c)
		if err != nil {
			r.Err = err
		}
		return r
	}, patterns)
}

func replay(
	t *testing.T, wanted func(Case) bool, tries func(Case) int, run func(context.Context, Case) Result, patterns []string,
) {
	t.Helper()
	var files []string
	for _, p := range patterns {
		m, err := filepath.Glob(p)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, m...)
	}
	if len(files) == 0 {
		t.Fatalf("no case files match %v", patterns)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		cases, err := Parse(string(data))
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(f), ".cases"), func(t *testing.T) {
			for _, c := range cases {
				if !wanted(c) {
					continue
				}
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					if !c.HasOut {
						t.Fatalf("%s:%d: not recorded", f, c.Line)
					}
					d := ""
					for range tries(c) {
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						d = Diff(c, run(ctx, c))
						cancel()
						if d == "" {
							return
						}
					}
					t.Errorf("%s:%d\n%s\n%s", f, c.Line, indent(c.Script), d)
				})
			}
		})
	}
}

// Diff says how a result differs from what was recorded, "" when it does not.
func Diff(c Case, r Result) string {
	var b strings.Builder
	if r.Err != nil {
		fmt.Fprintf(&b, "ended: %v\n", r.Err)
	}
	if r.Stdout != c.Stdout {
		fmt.Fprintf(&b, "stdout:\n%swant:\n%s", indent(r.Stdout), indent(c.Stdout))
	}
	if c.HasStderr && r.Stderr != c.Stderr {
		fmt.Fprintf(&b, "stderr:\n%swant:\n%s", indent(r.Stderr), indent(c.Stderr))
	}
	if r.Exit != c.Exit {
		fmt.Fprintf(&b, "exit %d, want %d\n", r.Exit, c.Exit)
	}
	if b.Len() > 0 && r.Stdout == c.Stdout && r.Stderr != "" && !c.HasStderr {
		fmt.Fprintf(&b, "(stderr:\n%s)", indent(r.Stderr))
	}
	if b.Len() > 0 && r.Stdout != c.Stdout && r.Stderr != "" && !c.HasStderr {
		fmt.Fprintf(&b, "(stderr:\n%s)", indent(r.Stderr))
	}
	return b.String()
}

func indent(s string) string {
	if len(s) > 4000 {
		s = s[:4000] + "…\n"
	}
	var b strings.Builder
	for l := range strings.Lines(s) {
		b.WriteString("    | " + strings.TrimSuffix(l, "\n"))
		if !strings.HasSuffix(l, "\n") {
			b.WriteString("⏎̸")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
