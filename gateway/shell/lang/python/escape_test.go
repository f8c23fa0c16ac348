package python_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/machine"
	"github.com/pgbox/pgbox/gateway/machine/machinetest"
	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// A program sees the tree of its sandbox: no file, process, socket, library or variable of the host, by whatever name.
func TestEscape(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("of the host"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGBOX_TEST_SECRET", "of the host")
	base := newBase(t, machine.Config{})
	for _, c := range []struct{ name, program, want string }{
		{"file", `open(HOST).read()`, "FileNotFoundError"},
		{"descriptor", `os.read(os.open(HOST, os.O_RDONLY), 9)`, "FileNotFoundError"},
		{"dots", `os.open("../" * 40 + HOST.lstrip("/"), os.O_RDONLY)`, "FileNotFoundError"},
		{"descriptor of the root", `os.open("../.." + HOST, os.O_RDONLY, dir_fd=3)`, "FileNotFoundError"},
		{"symlink", `os.symlink(HOST, "l"), open("l").read()`, "FileNotFoundError"},
		{"symlink to dots", `os.symlink("../" * 40 + HOST.lstrip("/"), "m"), open("m").read()`, "FileNotFoundError"},
		{"symlink to the root", `os.symlink("/", "n"), os.listdir("n") == os.listdir("/") and open("n" + HOST).read()`,
			"FileNotFoundError"},
		{"hard link", `os.link(HOST, "h")`, "FileNotFoundError"},
		{"rename", `os.rename(HOST, "r")`, "FileNotFoundError"},
		{"root", `sorted(os.listdir("/"))`, "['bin', 'dev', 'etc', 'home', 'root', 'tmp', 'usr', 'var']"},
		{"our modules", `os.listdir("/.pgbox"), os.listdir("/.py/..")`, "FileNotFoundError"},
		{"maps", `open("/proc/self/maps").read()`, "FileNotFoundError"},
		{"memory", `open("/proc/self/mem", "rb").read(1)`, "FileNotFoundError"},
		{"executable", `open("/proc/self/exe", "rb").read()`, "#!/bin/builtin python3"},
		{"variables", `os.environ.get("PGBOX_TEST_SECRET"), os.environ.get("GOMEMLIMIT"), [k for k in os.environ if "PGBOX" in k]`, "None None []"},
		{"variables of a process", `"GOMAXPROCS" in open("/proc/self/environ").read()`, "False"},
		{"users", `"user:" in open("/etc/passwd").read() and open("/etc/shadow").read()`, "FileNotFoundError"},
		{"descriptors", `[fd for fd in range(5, 64) if stat(fd)]`, "[]"},
		{"libraries", `__import__("ctypes")`, "ModuleNotFoundError"},
		{"sockets", `__import__("socket").create_connection(("127.0.0.1", 22))`, "Error"},
		{"raw sockets", `__import__("_socket").socket()`, "Error"},
		{"threads", `__import__("threading").Thread(target=print).start()`, "RuntimeError: can't start new thread"},
		{"fork", `os.fork()`, "AttributeError"},
		{"exec", `os.execv("/bin/sh", ["sh"])`, "Error"},
		{"processes", `__import__("multiprocessing")`, "ImportError: this Python has no multiprocessing"},
		{"a shell is the sandbox's", `os.system("cat " + HOST)`, "256"},
		{"signals", `os.kill(1, 9), os.kill(os.getppid(), 9)`, "ProcessLookupError"},
		{"long name", `open("/" + "x" * 100000)`, "OSError"},
		{"zero byte", `os.stat("/etc\0/passwd")`, "ValueError"},
		{"control file", `ask("{")`, "OSError"},
		{"unknown request", `ask('{"op":"exec"}')`, "Function not implemented"},
		{"child of nothing", `ask('{"op":"spawn"}')`, `"errno":22`},
		{"child with descriptors of another", `ask('{"op":"spawn","args":["id"],"fds":[7,8,9]}')`, `"errno":9`},
		{"wait for another's", `ask('{"op":"wait","pid":1}')`, `"errno":10`},
	} {
		t.Run(c.name, func(t *testing.T) {
			program := `import os, sys
HOST = ` + fmt.Sprintf("%q", secret) + `
def stat(fd):
    try:
        return os.fstat(fd)
    except OSError:
        return None
def ask(text):
    fd = os.open("/.pgbox/control", os.O_RDWR)
    os.write(fd, text.encode())
    return os.read(fd, 1000).decode()
try:
    print(` + c.program + `)
except BaseException as e:
    print(type(e).__name__ + ": " + str(e))
`
			r := base.Run(t.Context(), casetest.Case{Script: "cat > p.py; python3 p.py", Stdin: program})
			if !strings.Contains(r.Stdout, c.want) || strings.Contains(r.Stdout, "of the host") || r.Err != nil {
				t.Errorf("%s: %q %q %v, want %s", c.program, r.Stdout, r.Stderr, r.Err, c.want)
			}
		})
	}
}

// run runs a script with limits, and says how it ended.
func run(
	ctx context.Context, t *testing.T, base *casetest.Base, limits proc.Limits, script string,
) (stdout, stderr string, err error) {
	t.Helper()
	ctx, end := context.WithTimeout(ctx, time.Minute)
	defer end()
	ctx, budget := proc.NewBudget(ctx, limits)
	defer budget.Close()
	var out, errs capped
	_, err = shell.Run(ctx, shell.Config{
		FS: base.Sandbox(ctx), Commands: command.All(), Budget: budget, Machines: base.Machines, Stdout: &out, Stderr: &errs,
		State: shell.State{Dir: casetest.Home, Env: casetest.Env(casetest.Home)},
	}, script)
	return string(out.b), string(errs.b), err
}

// capped keeps the beginning of what is written.
type capped struct {
	b []byte
	n int
}

func (c *capped) Write(b []byte) (int, error) {
	c.n += len(b)
	c.b = append(c.b, b[:min(len(b), 64<<10-len(c.b))]...)
	return len(b), nil
}

// An endless program ends with its exec, wherever it is; the machine is replaced.
func TestCancelEndsPrograms(t *testing.T) {
	base := newBase(t, machine.Config{})
	for name, program := range map[string]string{
		"loop": "while True: pass", "one long operation": "print('go', flush=True); 10 ** 10 ** 8",
		"sleep":   "import time; time.sleep(1000)",
		"reading": "open('/dev/zero','rb').read()", "child": "import subprocess; subprocess.run(['sleep', '1000'])",
		"writing": "while True: print('x' * 10000)",
		"a fifo":  "import os; os.mkfifo('f'); open('f')", "a pipe": "import os; r, w = os.pipe(); os.read(r, 1)",
		"except": "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
	} {
		t.Run(name, func(t *testing.T) {
			took := time.Hour
			for attempt := 0; attempt < 3 && took > 1500*time.Millisecond; attempt++ {
				ctx, cancel := context.WithCancel(t.Context())
				began := make(chan struct{})
				go func() {
					<-began
					cancel()
				}()
				var ended time.Time
				timer := time.AfterFunc(400*time.Millisecond, func() { ended = time.Now(); close(began) })
				_, _, err := run(ctx, t, base, proc.Limits{LiveBytes: 1 << 30}, "python3 -c \"$(cat <<'E'\n"+program+"\nE\n)\"")
				if timer.Stop() {
					close(began)
					t.Fatalf("ended by itself: %v", err)
				}
				took = time.Since(ended)
			}
			if took > 1500*time.Millisecond {
				t.Errorf("took %v to end", took)
			}
		})
	}
	if out, errs, err := run(t.Context(), t, base, proc.Limits{}, "python3 -c 'print(1)'"); out != "1\n" || err != nil {
		t.Errorf("afterwards: %q %q %v", out, errs, err)
	}
}

// The CPU time of a machine counts as the exec's.
func TestCPUTimeOfAMachineCounts(t *testing.T) {
	base := newBase(t, machine.Config{})
	_, _, err := run(t.Context(), t, base, proc.Limits{CPU: 500 * time.Millisecond}, "python3 -c 'while True: pass'")
	if l, ok := proc.IsLimit(err); !ok || l.Name != "milliseconds of CPU time" {
		t.Errorf("%v, want the limit of CPU time", err)
	}
}

// What a program does too much of ends it, and nothing beside it.
func TestHostilePrograms(t *testing.T) {
	base := newBase(t, machine.Config{Most: 4, PerOwner: 4, Queue: 8})
	for _, c := range []struct{ name, script, want string }{
		{"memory", `python3 -c 'x = []
while True: x.append(bytearray(1 << 20))' 2>&1 | tail -n 1; echo next`, "MemoryError\nnext\n"},
		{"one large object", `python3 -c 'bytearray(1 << 30)' 2>&1 | tail -n 1; echo next`, "MemoryError\nnext\n"},
		{"recursion", `python3 -c 'def f(): f()
f()' 2>&1 | tail -n 1; echo next`, "RecursionError: maximum recursion depth exceeded\nnext\n"},
		{"recursion without a limit", `python3 -c 'import sys; sys.setrecursionlimit(1 << 30)
class A:
  def __repr__(self): return repr(self)
repr(A())' > /dev/null 2>&1; echo $?; echo next`, "134\nnext\n"},
		{"deep literal", `python3 -c 'eval("(" * 100000)' 2>&1 | tail -n 1 | cut -d: -f1; echo next`, "MemoryError\nnext\n"},
		{"exit in the middle", `python3 -c 'import os; os._exit(7)'; echo $?`, "7\n"},
		{"abort", `python3 -c 'import os; os.abort()' 2> /dev/null; echo $?`, "134\n"},
		{"much output", `python3 -c 'print("x" * (64 << 20))' | wc -c`, "67108865\n"},
		{"closed pipe", `python3 -c 'while True: print("x")' 2> /dev/null | head -n 1`, "x\n"},
		{"ten thousand files", `python3 -c 'import os
os.mkdir("d")
for i in range(10000): open(f"d/{i}", "w").write(str(i))
print(len(os.listdir("d")), sum(int(open(e.path).read()) for e in os.scandir("d")))'; ls d | wc -l`, "10000 49995000\n10000\n"},
		{"too many files", `python3 -c 'x = []
while True: x.append(open("/etc/passwd"))' 2>&1 | tail -n 1 | cut -d: -f1`, "OSError\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errs, err := run(t.Context(), t, base, proc.Limits{}, c.script)
			if out != c.want || err != nil {
				t.Errorf("%s\n%q %q %v, want %q", c.script, out, errs, err, c.want)
			}
		})
	}
}

// Programs that start themselves come to an end: there are only so many machines, and who waits for one holds one.
func TestRecursionThroughSubprocessIsBounded(t *testing.T) {
	base := newBase(t, machine.Config{Most: 4, PerOwner: 4, Queue: 4})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	out, errs, err := run(ctx, t, base, proc.Limits{}, `cat > f.py <<'E'
import subprocess, sys
n = int(sys.argv[1])
print(n, flush=True)
sys.exit(subprocess.run(["python3", "f.py", str(n + 1)]).returncode)
E
python3 f.py 1; echo $?`)
	if !strings.Contains(out, "1\n2\n3\n4\n126\n") || !strings.Contains(errs, "ERUNTIME_BUSY") || err != nil {
		t.Errorf("%q %q %v", out, errs, err)
	}
}

// However busy one owner's programs are, another's run.
func TestANeighbourIsServed(t *testing.T) {
	pool := machinetest.Pool(t, machine.Config{Most: 3, PerOwner: 2, Queue: 16})
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	of := func(owner string) *casetest.Base {
		b := *base
		b.Machines = func(ctx context.Context, program string) (proc.Machine, error) { return pool.Get(ctx, owner, program) }
		return &b
	}
	ctx, cancel := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for range 6 {
		busy.Go(func() { _, _, _ = run(ctx, t, of("busy"), proc.Limits{}, "python3 -c 'while True: pass'") })
	}
	defer busy.Wait()
	defer cancel()
	for range 3 {
		limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		out, errs, err := run(limited, t, of("neighbour"), proc.Limits{}, "python3 -c 'print(1)'")
		cancel()
		if out != "1\n" || err != nil {
			t.Errorf("%q %q %v", out, errs, err)
		}
	}
}
