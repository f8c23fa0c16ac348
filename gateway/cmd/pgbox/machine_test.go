package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/machine"
	"github.com/pgbox/pgbox/gateway/machine/machinetest"
)

// descendants are the processes that a process has started, and those that these have.
func descendants(t *testing.T, of int) map[int]string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	children := map[int][]int{}
	for _, name := range all {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		var pid, parent int
		var state string
		rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
		if _, err := fmt.Sscan(rest, &state, &parent); err == nil && state != "Z" {
			_, _ = fmt.Sscan(string(stat), &pid)
			children[parent] = append(children[parent], pid)
		}
	}
	found := map[int]string{}
	for next := []int{of}; len(next) > 0; next = next[1:] {
		for _, pid := range children[next[0]] {
			args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			found[pid] = strings.ReplaceAll(string(args), "\x00", " ")
			next = append(next, pid)
		}
	}
	return found
}

// filesOf are the files that a machine has open, besides what it prints to and what Go's runtime reads.
func filesOf(pid int) []string {
	var files []string
	fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)) // none when it has ended
	for _, fd := range fds {
		target, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name()))
		if strings.HasPrefix(target, "/") && target != os.DevNull && fd.Name() != "1" && fd.Name() != "2" &&
			!strings.HasPrefix(target, "/sys/fs/cgroup/") {
			files = append(files, target)
		}
	}
	return files
}

// gone reports whether all processes have ended, for which they have a while.
func gone(pids map[int]string) bool {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left := 0
		for pid := range pids {
			if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil &&
				!strings.Contains(string(stat), ") Z ") {
				left++
			}
		}
		if left == 0 || time.Now().After(deadline) {
			return left == 0
		}
	}
}

// python3 on a server that is confined as far as can be: in the script's transaction, on machines that are confined
// themselves and end with the server.
func TestPythonOfAServer(t *testing.T) {
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := machinetest.Dir(t, bin)
	_, url := ownCluster(t)
	r := startServe(t, url, "SANDBOX=required", "PGBOX_RUNTIMES="+dir)
	c := r.caller()
	id := c.sandbox(t)
	if out := c.must(t, id, "python3 -c 'open(\"f\", \"w\").write(\"one\"); print(6 * 7)'; cat f"); out != "42\none" {
		t.Fatalf("%q", out)
	}
	exec := func(body map[string]any) reply {
		t.Helper()
		a, err := c.do(t.Context(), http.MethodPost, "/v1/sandboxes/"+id+"/exec-sync", body)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := exec(map[string]any{"atomic": true,
		"script": "python3 -c 'open(\"f\", \"w\").write(\"two\"); raise SystemExit(3)'"}); a.ExitCode != 3 || a.Committed {
		t.Errorf("a failed atomic script: %+v", a)
	}
	if a := exec(map[string]any{"timeoutMs": 1500,
		"script": "python3 -c 'open(\"f\", \"w\").write(\"two\")\nwhile True: pass'"}); a.Committed {
		t.Errorf("a script that was ended: %+v", a)
	}
	if a := exec(map[string]any{"readOnly": true,
		"script": "python3 -c 'print(open(\"f\").read()); open(\"f\", \"w\")'"}); a.Stdout != "one\n" ||
		a.Code != "EREADONLY_VIOLATION" || !strings.Contains(a.Stderr, "Read-only file system") {
		t.Errorf("a read-only script: %+v", a)
	}
	if out := c.must(t, id, "cat f"); out != "one" {
		t.Errorf("what the scripts left: %q", out)
	}
	res, err := http.Get(r.url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var ready struct{ Runtimes map[string]string }
	if err := json.NewDecoder(res.Body).Decode(&ready); err != nil || ready.Runtimes["python"] != "ready" {
		t.Errorf("/readyz: %v, %v", ready, err)
	}

	running := descendants(t, r.cmd.Process.Pid)
	machines := map[int]string{}
	for pid, args := range running {
		switch {
		case strings.Contains(args, " machine required "):
			machines[pid] = args
			fallthrough
		case strings.Contains(args, " start-machines required "):
			if got := walls(t, pid); got != "NoNewPrivs 1, Seccomp 2" {
				t.Errorf("%s: %s", args, got)
			}
		}
	}
	if len(machines) == 0 {
		t.Fatalf("no machine among %v", running)
	}
	for pid := range machines {
		// One that starts reads its program first.
		var files []string
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if files = filesOf(pid); len(files) == 0 || time.Now().After(deadline) {
				break
			}
		}
		if len(files) > 0 {
			t.Errorf("a machine has %v open", files)
		}
	}
	worker := r.worker(t)
	under := descendants(t, worker)
	if err := syscall.Kill(worker, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !gone(under) {
		t.Errorf("left after the server's end: %v", under)
	}
	// A request that comes while the server is being replaced may be told to try again.
	eventually(t, func() error {
		a := exec(map[string]any{"script": "python3 -c 'print(open(\"f\").read())'"})
		if a.Retryable && a.Applied == "no" {
			return fmt.Errorf("%+v", a)
		}
		if a.Stdout != "one\n" {
			t.Fatalf("after a restart: %+v", a)
		}
		return nil
	})
	under = descendants(t, r.cmd.Process.Pid)
	r.stop(t)
	if !gone(under) {
		t.Errorf("left after the end: %v", under)
	}
}

// A server without interpreters serves, and says so.
func TestServerWithoutInterpreters(t *testing.T) {
	_, url := ownCluster(t)
	r := startServe(t, url, "PGBOX_RUNTIMES="+t.TempDir())
	c := r.caller()
	a, err := c.exec(t.Context(), c.sandbox(t), "python3 -c 1")
	if err != nil || a.ExitCode != 127 || !strings.Contains(a.Stderr,
		"python3: not available: this server has no python") {
		t.Errorf("%+v, %v", a, err)
	}
	res, err := http.Get(r.url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var ready struct{ Runtimes map[string]string }
	if err := json.NewDecoder(res.Body).Decode(&ready); err != nil ||
		!strings.HasPrefix(ready.Runtimes["python"], "not installed") || res.StatusCode != http.StatusOK {
		t.Errorf("/readyz: %d, %v, %v", res.StatusCode, ready, err)
	}
	for _, a := range machine.Assets {
		if a.Check(t.TempDir()) == nil {
			t.Errorf("%s is installed in an empty directory", a.Name)
		}
	}
}
