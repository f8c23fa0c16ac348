package shell_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
)

// What is in /proc is the sandbox's: neither the host's processes nor its machine, and no other process's environment.
func TestProcIsTheSandboxs(t *testing.T) {
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run := func(script string) casetest.Result { return base.Run(ctx, casetest.Case{Script: script}) }

	for _, file := range []string{"cpuinfo", "meminfo", "version", "stat", "mounts", "self/cgroup"} {
		host, err := os.ReadFile("/proc/" + file)
		if err != nil {
			continue
		}
		if r := run("cat /proc/" + file); r.Exit != 0 || r.Stdout == "" || r.Stdout == string(host) {
			t.Errorf("/proc/%s: exit %d, %q", file, r.Exit, r.Stdout)
		}
	}
	if r := run("cd /proc && ls -d [0-9]* | wc -l; ps -e --no-headers | wc -l"); strings.TrimSpace(r.Stdout) == "" ||
		len(strings.Fields(r.Stdout)) != 2 {
		t.Errorf("processes: %q", r.Stdout)
	}
	for _, name := range []string{"/proc/1/environ", "/proc/1/root/etc/shadow", "/proc/self/root/proc/1",
		"/proc/self/maps", "/proc/kcore",
		"/proc/self/../../proc/1/cmdline"} {
		if r := run("cat " + name); r.Exit == 0 {
			t.Errorf("%s can be read: %q", name, r.Stdout)
		}
	}
	r := run("SECRET=s sleep 9 & sleep 0.1; cat /proc/$!/environ /proc/$!/fd/0; ls /proc/$!/fd; readlink /proc/$!/cwd; kill $!")
	if r.Stdout != "" {
		t.Errorf("another process's own: %q", r.Stdout)
	}
	// Links to links, names of any length and deep paths end.
	r = run("cd /proc/self/cwd; ls /proc/self/cwd/proc/self/cwd/; for i in {1..60}; do p=$p/proc/self/root; done; cat $p/etc/group; " +
		"cat /proc/self/fd/" + strings.Repeat("9", 4000) +
		"; find /proc >/dev/null; rm -rf /proc/self; ls /proc/self/fd >/dev/null && echo still")
	if !strings.HasSuffix(r.Stdout, "still\n") || r.Err != nil {
		t.Errorf("stdout %q, stderr %.300q, %v", r.Stdout, r.Stderr, r.Err)
	}
	if r := run("ls /; find / -name cpuinfo; du -s / >/dev/null && echo du"); strings.Contains(r.Stdout, "proc") ||
		strings.Contains(r.Stdout, "cpuinfo") {
		t.Errorf("/proc is listed in /: %q", r.Stdout)
	}
}
