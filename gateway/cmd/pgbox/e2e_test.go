package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/sql/sqltest"
)

// binary is the program under test: $PGBOX_BINARY, or built once.
var binary = sync.OnceValues(func() (string, error) {
	if b := os.Getenv("PGBOX_BINARY"); b != "" {
		return b, nil
	}
	dir, err := os.MkdirTemp("", "pgbox-e2e")
	if err != nil {
		return "", err
	}
	b := filepath.Join(dir, "pgbox")
	out, err := exec.Command("go", "build", "-o", b, ".").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return b, err
})

func TestMain(m *testing.M) {
	if os.Getenv(confinedProbe) != "" {
		tryEverything()
		os.Exit(0)
	}
	sqltest.Main(m, func() {
		if b, err := binary(); err == nil && os.Getenv("PGBOX_BINARY") == "" {
			_ = os.RemoveAll(filepath.Dir(b))
		}
	})
}

// running is a `pgbox dev` process.
type running struct {
	cmd              *exec.Cmd
	url, token, psql string
	config           string // XDG_CONFIG_HOME
	stderr           *printed
}

// printed is what a process prints, to be read while it does.
type printed struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.Write(b)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.String()
}

var announced = regexp.MustCompile(`(?m)^  (url|token|psql) +(?:psql ')?([^ '\n]+)`)

// startDev starts a server on a data directory and waits for what it prints.
func startDev(t *testing.T, data string, env ...string) *running {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return startBinary(t, bin, data, env...)
}

// startBinary is startDev for another program than the one under test.
func startBinary(t *testing.T, bin, data string, env ...string) *running {
	t.Helper()
	r := &running{cmd: exec.Command(bin, "dev", "--data", data, "--port", "0"), config: t.TempDir(), stderr: new(printed)}
	r.cmd.Env = append(os.Environ(), append(env, "XDG_CONFIG_HOME="+r.config)...)
	r.cmd.Stderr = r.stderr
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			_ = r.cmd.Process.Kill()
			_ = r.cmd.Wait()
		}
	})
	var text strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "/files/home/user/hello.txt") {
		text.WriteString(lines.Text() + "\n")
	}
	for _, m := range announced.FindAllStringSubmatch(text.String(), -1) {
		switch m[1] {
		case "url":
			r.url = m[2]
		case "token":
			r.token = m[2]
		case "psql":
			r.psql = m[2]
		}
	}
	if r.url == "" || r.token == "" {
		t.Fatalf("pgbox dev printed\n%s\n%s", &text, r.stderr)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return r
}

// stop ends the server in order and fails when it complains.
func (r *running) stop(t *testing.T) {
	t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Fatalf("pgbox dev: %v\n%s", err, r.stderr)
	}
}

// pgbox runs the command line against the server and returns what it printed and its exit status.
func (r *running) pgbox(t *testing.T, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, args...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errOut
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+r.config, "PGBOX_URL=", "PGBOX_TOKEN=")
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return out.String(), errOut.String(), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), errOut.String(), 0
}

// must is pgbox for what has to succeed.
func (r *running) must(t *testing.T, args ...string) string {
	t.Helper()
	out, errOut, status := r.pgbox(t, "", args...)
	if status != 0 {
		t.Fatalf("pgbox %s: status %d\n%s%s", strings.Join(args, " "), status, out, errOut)
	}
	return out
}

// dataDir is open to the unprivileged user that Postgres runs as, which t.TempDir is not.
func dataDir(t *testing.T) string {
	t.Helper()
	d, err := os.MkdirTemp("", "pgbox-data")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(d, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(d); err != nil {
			t.Error(err)
		}
	})
	return d
}

// A newcomer's first hour: create, ingest a real source tree, grep and edit it, kill the server, start it
// again, find everything; and a DBA sees the same in SQL.
func TestNewcomer(t *testing.T) {
	data := dataDir(t)
	r := startDev(t, data)
	id := strings.TrimSpace(r.must(t, "sandbox", "create", "first"))
	if list := r.must(t, "sandbox", "list"); !strings.Contains(list, id) || !strings.Contains(list, "first") {
		t.Fatalf("list:\n%s", list)
	}

	source := filepath.Join("..", "..")
	r.must(t, "ingest", id, source, "--to", "/home/user/src", "--quiet", "--gitignore")
	want, err := exec.Command("grep", "-rlw", "--include=*.go", "Errno", source).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := r.must(t, "exec", id, "--", "grep -rlw --include='*.go' Errno src | wc -l")
	if strings.TrimSpace(got) != fmt.Sprint(bytes.Count(want, []byte("\n"))) {
		t.Fatalf("grep in the sandbox finds %s files, the real one %d", strings.TrimSpace(got),
			bytes.Count(want, []byte("\n")))
	}

	r.must(t, "exec", id, "--",
		"cd src/vfs && sed -i 's/Linux errno/LINUX ERRNO/' errno.go && mkdir -p /home/user/notes && echo done > /home/user/notes/log")
	// The working directory outlives the script, and the server below.
	if pwd := r.must(t, "exec", id, "--", "pwd"); pwd != "/home/user/src/vfs\n" {
		t.Fatalf("pwd %q", pwd)
	}

	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = r.cmd.Wait()
	r = startDev(t, data)

	if out := r.must(t, "exec", id, "--", "pwd; cat /home/user/notes/log"); out != "/home/user/src/vfs\ndone\n" {
		t.Fatalf("after kill -9: %q", out)
	}
	local, err := os.ReadFile(filepath.Join(source, "vfs", "errno.go"))
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.ReplaceAll(string(local), "Linux errno", "LINUX ERRNO")
	if edited == string(local) {
		t.Fatal("the edit under test would change nothing")
	}
	if cat := r.must(t, "fs", "cat", id, "/home/user/src/vfs/errno.go"); cat != edited {
		t.Fatalf("the edited file differs:\n%s", cat)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, r.psql)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(ctx, "SELECT fs.use($1)", id); err != nil {
		t.Fatal(err)
	}
	var content []byte
	if err := conn.QueryRow(ctx, "SELECT fs.read_file('/home/user/src/vfs/errno.go')").Scan(&content); err != nil {
		t.Fatal(err)
	}
	if string(content) != edited {
		t.Fatal("SQL reads another file")
	}
	// What SQL writes, bash sees.
	if _, err := conn.Exec(ctx, "SELECT fs.write_file('/home/user/notes/sql', 'from psql')"); err != nil {
		t.Fatal(err)
	}
	if out := r.must(t, "exec", id, "--", "cat /home/user/notes/sql"); out != "from psql" {
		t.Fatalf("written in SQL: %q", out)
	}
	// And an agent over MCP sees both.
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fs_grep","arguments":{"id":%q,"path":"/home/user/notes","pattern":"done|psql"}}}`, id)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/mcp", strings.NewReader(call))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + r.token}, "Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(answer),
		`"lines":["/home/user/notes/log:1:done","/home/user/notes/sql:1:from psql"]`) {
		t.Fatalf("fs_grep over MCP: %d %s, %v", res.StatusCode, answer, err)
	}
	var broken int
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM fs.fsck()").Scan(&broken); err != nil {
		t.Fatal(err)
	}
	if broken != 0 {
		t.Fatalf("fsck finds %d broken invariants", broken)
	}
	r.must(t, "sandbox", "rm", id)
	if _, errOut, status := r.pgbox(t, "", "exec", id, "--", "true"); status != 1 ||
		!strings.Contains(errOut, "SANDBOX_NOT_FOUND") {
		t.Fatalf("exec in a removed sandbox: status %d, %s", status, errOut)
	}
	r.stop(t)
}

func TestCommandLine(t *testing.T) {
	r := startDev(t, dataDir(t))
	id := strings.TrimSpace(r.must(t, "sandbox", "create"))
	t.Run("exit status and both streams pass through", func(t *testing.T) {
		out, errOut, status := r.pgbox(t, "", "exec", id, "--", "echo out; echo err >&2; exit 7")
		if out != "out\n" || errOut != "err\n" || status != 7 {
			t.Fatalf("%q %q %d", out, errOut, status)
		}
	})
	t.Run("standard input", func(t *testing.T) {
		if out, _, _ := r.pgbox(t, "a\nb\n", "exec", id, "--",
			"[ -p /dev/stdin ] && cat -n"); out != "     1\ta\n     2\tb\n" {
			t.Errorf("stdin is a pipe: %q", out)
		}
		const search = "(cd /tmp; echo needle > f; rg needle; [ -c /dev/stdin ] && echo device)"
		if out, _, _ := r.pgbox(t, "not read", "exec", id, "-n", "--", search); out != "f:needle\ndevice\n" {
			t.Errorf("no stdin: %q", out)
		}
		null := exec.Command(r.cmd.Path, "exec", id, "--", search)
		null.Env = append(os.Environ(), "XDG_CONFIG_HOME="+r.config)
		if out, err := null.Output(); err != nil || string(out) != "f:needle\ndevice\n" {
			t.Errorf("stdin is a device: %q, %v", out, err)
		}
		if _, errOut, status := r.pgbox(t, "\xff", "exec", id, "--", "cat"); status != 1 ||
			!strings.Contains(errOut, "not UTF-8") {
			t.Errorf("stdin is not text: %d, %q", status, errOut)
		}
	})
	t.Run("script from standard input", func(t *testing.T) {
		if out, _, _ := r.pgbox(t, "for i in 1 2 3; do echo $i; done", "exec", id, "--", "-"); out != "1\n2\n3\n" {
			t.Fatalf("%q", out)
		}
	})
	t.Run("a script that runs out of time says so", func(t *testing.T) {
		_, errOut, status := r.pgbox(t, "", "exec", id, "--timeout", "300ms", "--", "sleep 60")
		if status != 124 || !strings.Contains(errOut, "EXEC_TIMEOUT") {
			t.Fatalf("%q %d", errOut, status)
		}
	})
	t.Run("put, ls, cat, rm", func(t *testing.T) {
		if _, errOut, status := r.pgbox(t, "bytes\x00\xff", "fs", "put", id, "/home/user/a dir/ü file"); status != 0 {
			t.Fatal(errOut)
		}
		if out := r.must(t, "fs", "cat", id, "/home/user/a dir/ü file"); out != "bytes\x00\xff" {
			t.Fatalf("%q", out)
		}
		if out := r.must(t, "fs", "ls", id, "/home/user/a dir"); !strings.Contains(out, "/home/user/a dir/ü file") {
			t.Fatal(out)
		}
		if _, errOut, status := r.pgbox(t, "", "fs", "rm", id, "/home/user/a dir"); status != 1 ||
			!strings.Contains(errOut, "ENOTEMPTY") {
			t.Fatalf("%q %d", errOut, status)
		}
		r.must(t, "fs", "rm", "-r", id, "/home/user/a dir")
		if _, errOut, status := r.pgbox(t, "", "fs", "cat", id, "/home/user/a dir/ü file"); status != 1 ||
			!strings.Contains(errOut, "ENOENT") {
			t.Fatalf("%q %d", errOut, status)
		}
	})
	t.Run("ingest keeps modes and symlinks and honours .gitignore", func(t *testing.T) {
		dir := t.TempDir()
		for name, mode := range map[string]os.FileMode{"run.sh": 0o755, "secret.log": 0o644, "sub/keep.txt": 0o600,
			"sub/.gitignore": 0o644, "sub/drop.tmp": 0o644, ".gitignore": 0o644} {
			p := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			content := map[string]string{".gitignore": "*.log\n", "sub/.gitignore": "*.tmp\n"}[name]
			if err := os.WriteFile(p, []byte(content), mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("sub/keep.txt", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		r.must(t, "ingest", id, dir, "--to", "/home/user/in", "--gitignore", "-q")
		out := r.must(t, "exec", id, "--", "cd in && find . -type f -printf '%m %p\\n' | sort; readlink link; cd")
		if want := "600 ./sub/keep.txt\n644 ./.gitignore\n644 ./sub/.gitignore\n755 ./run.sh\nsub/keep.txt\n"; out != want {
			t.Fatalf("got\n%s", out)
		}
	})
	t.Run("branches", func(t *testing.T) {
		dir := t.TempDir()
		for name, text := range map[string]string{"f": "one\n", "sub/g": "g\n"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r.must(t, "image", "create", "base", dir, "-q")
		archive := filepath.Join(t.TempDir(), "a.tgz")
		if out, err := exec.Command("tar", "-C", dir, "-czf", archive, ".").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		r.must(t, "image", "create", "base:tar", archive, "-q")
		box := strings.TrimSpace(r.must(t, "sandbox", "create", "--from", "base:tar", "--history", "1"))
		want := func(id, script, out string) {
			t.Helper()
			if got := r.must(t, "exec", id, "--", script); got != out {
				t.Fatalf("%s: %q, want %q", script, got, out)
			}
		}
		want(box, "cat f sub/g", "one\ng\n")
		fork := strings.Fields(r.must(t, "fork", box, "-n", "2"))
		if len(fork) != 2 {
			t.Fatalf("%q", fork)
		}
		r.must(t, "exec", fork[1], "--", "echo two > f")
		if out := r.must(t, "diff", fork[1], "-u"); out != "--- a/home/user/f\n+++ b/home/user/f\n@@ -1 +1 @@\n-one\n+two\n" {
			t.Fatalf("%q", out)
		}
		r.must(t, "merge", box, fork[1])
		want(box, "cat f", "two\n")
		if out := r.must(t, "undo", box); !strings.HasSuffix(out, "\t1\tmerge "+fork[1]+"\n") {
			t.Errorf("undo says %q", out)
		}
		want(box, "cat f", "one\n")
		r.must(t, "redo", box)
		want(box, "cat f", "two\n")
		if out := r.must(t, "fs", "cat", box, "/home/user/f", "--at", "@base"); out != "one\n" {
			t.Fatalf("%q", out)
		}
		r.must(t, "exec", fork[0], "--", "echo three > f")
		if out, _, status := r.pgbox(t, "", "merge", box, fork[0]); status != 1 ||
			!strings.Contains(out, "conflict M /home/user/f (changed on both sides, one place)") {
			t.Fatalf("%d: %q", status, out)
		}
		r.must(t, "restore", box, "@base")
		want(box, "cat f", "one\n")
		r.must(t, "kv", "set", box, "a/b", `{"n":1}`)
		if out := r.must(t, "kv", "get", box, "a/b"); strings.TrimSpace(out) != `{"n":1}` {
			t.Fatalf("%q", out)
		}
		if out := r.must(t, "kv", "ls", box, "a/"); !strings.HasPrefix(out, "a/b\t") {
			t.Fatalf("%q", out)
		}
		r.must(t, "exec", box, "--session", "a/b ?", "--", "cd /tmp; export WHO=me")
		want(box, "pwd", "/home/user\n")
		if out := r.must(t, "exec", box, "--session", "a/b ?", "--", "pwd; echo $WHO"); out != "/tmp\nme\n" {
			t.Fatalf("%q", out)
		}
		if out := r.must(t, "session", "ls", box); !strings.HasPrefix(out, "a/b ?\t/tmp\t") {
			t.Fatalf("%q", out)
		}
		r.must(t, "session", "rm", box, "a/b ?")
		if out := r.must(t, "session", "ls", box, "--json"); out != "[]\n" {
			t.Fatalf("%q", out)
		}
		if _, errOut, status := r.pgbox(t, "", "exec", box, "--session", "", "--", "true"); status != 1 ||
			!strings.Contains(errOut, "session: a name has 1 to 128 printable characters") {
			t.Fatalf("%d: %q", status, errOut)
		}
		r.must(t, "image", "commit", box, "base:next")
		r.must(t, "image", "rm", "base", "base:tar")
		if out := r.must(t, "image", "ls", "base"); !strings.Contains(out, "base:next") || strings.Contains(out, "base:tar") {
			t.Fatalf("%q", out)
		}
	})
	t.Run("a sandbox that expires", func(t *testing.T) {
		if _, errOut, status := r.pgbox(t, "", "sandbox", "create", "--expires", "10ms"); status != 1 ||
			errOut != "pgbox: validation_error: expiresIn: expected number >= 1 (INVALID_INPUT, applied: no)\n" {
			t.Fatalf("%q %d", errOut, status)
		}
		short := strings.TrimSpace(r.must(t, "sandbox", "create", "--expires", "1s"))
		eventually(t, func() error {
			if _, errOut, status := r.pgbox(t, "", "exec", short, "--", "true"); status != 1 ||
				errOut != "pgbox: no such sandbox (SANDBOX_NOT_FOUND, applied: no)\n" {
				return fmt.Errorf("it is still there: %d %s", status, errOut)
			}
			return nil
		})
	})
	t.Run("images", func(t *testing.T) { imageCommands(t, r) })
	t.Run("shell", func(t *testing.T) { shellHabits(t, r) })
	t.Run("history", func(t *testing.T) { historyCommands(t, r) })
	r.stop(t)
}

// imageCommands are what people do with images: a git work tree goes in without what .gitignore files exclude, and
// sandboxes of it are apart.
func imageCommands(t *testing.T, r *running) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		".gitignore": "*.log\n/out/\n!keep.log\n", "a.log": "x", "keep.log": "kept", "out/bin": "x", "src/out/kept": "k",
		"src/.gitignore": "*.tmp\n", "src/b.tmp": "x", "src/main.go": "package main\n", ".git/HEAD": "ref: refs/heads/main\n",
	} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fails := func(want string, args ...string) {
		t.Helper()
		out, errOut, status := r.pgbox(t, "", args...)
		if status != 1 || errOut != want || out != "" {
			t.Errorf("pgbox %s: status %d, %q, %q; want %q", strings.Join(args, " "), status, out, errOut, want)
		}
	}
	prints := func(want string, args ...string) {
		t.Helper()
		if out := r.must(t, args...); out != want {
			t.Errorf("pgbox %s: %q, want %q", strings.Join(args, " "), out, want)
		}
	}
	prints("7 entries in image work\n", "image", "create", "work", dir, "-q")
	fails("pgbox: there is an image of that name and tag already: work (EEXIST, applied: no)\n", "image", "create", "work",
		dir, "-q")
	prints("13 entries in image work:all\n", "image", "create", "work:all", dir, "-q", "--all", "--to", "/srv")
	one := strings.TrimSpace(r.must(t, "sandbox", "create", "--from", "work:latest"))
	two := strings.TrimSpace(r.must(t, "sandbox", "create", "--from", "work"))
	prints(".\n./.gitignore\n./keep.log\n./src\n./src/.gitignore\n./src/main.go\n./src/out\n./src/out/kept\n", "exec", one,
		"--", "find . | sort")
	all := strings.TrimSpace(r.must(t, "sandbox", "create", "--from", "work:all"))
	prints("/srv/.git/HEAD\n/srv/a.log\n/srv/out/bin\n", "exec", all, "--", "ls -d /srv/.git/HEAD /srv/a.log /srv/out/bin")
	// The directory that moves is the image's; what is in it comes along, and only here.
	prints("package main\nkept\n", "exec", one, "--", "mv src lib; cat lib/main.go keep.log; echo; rm keep.log")
	prints("kept", "exec", two, "--", "cat keep.log; ls lib 2> /dev/null; echo two >> src/main.go")
	prints("package main\n", "exec", one, "--", "cat lib/main.go")
	prints("D /home/user/keep.log\nR /home/user/src -> /home/user/lib\n", "diff", one)
	r.must(t, "image", "commit", one, "work:next")
	r.must(t, "image", "tag", "work:next", "work")
	three := strings.TrimSpace(r.must(t, "sandbox", "create", "--from", "work"))
	prints("lib\n", "exec", three, "--", "ls")
	prints("keep.log\nsrc\n", "exec", two, "--", "ls")
	r.must(t, "image", "rm", "work", "work:all", "work:next") // in use, all of them
	prints("package main\ntwo\n", "exec", two, "--", "cat src/main.go")
	fails("pgbox: no such image: work (ENOENT, applied: no)\n", "sandbox", "create", "--from", "work")
	fails("pgbox: remove work: no such image: work (ENOENT, applied: no)\n", "image", "rm", "work")
	prints("2 layers, were 4\n", "flatten", one)
	prints("lib\n", "exec", one, "--", "ls")
}

// historyCommands are timeline, log, blame and diff, to the letter.
func historyCommands(t *testing.T, r *running) {
	id := strings.TrimSpace(r.must(t, "sandbox", "create", "--history", "1"))
	for _, script := range []string{"echo one > f; echo x > gone", "echo two >> f; mkdir d; mv gone d/moved", "false",
		"cat f", "printf 'two\\nthree\\n' > f"} {
		r.pgbox(t, "", "exec", id, "--", script)
	}
	at := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	ms := regexp.MustCompile(`^T\t\d+\t`)
	table := func(args ...string) string {
		t.Helper()
		var out strings.Builder
		for line := range strings.Lines(r.must(t, args...)) {
			cells := strings.Split(strings.TrimSuffix(ms.ReplaceAllString(at.ReplaceAllString(line, "T"), "T\tN\t"), "\n"), "\t")
			out.WriteString("│ " + strings.Join(cells, " │ ") + " │\n")
		}
		return out.String()
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"│ T │ N │ dev │ exec │ 0 │ 2 → 3 │ printf 'two\\nthree\\n' > f │\n│ T │ N │ dev │ exec │ 0 │ 2 │ cat f │\n│ T │ N │ dev │ exec │ 1 │ 2 │ false │\n", []string{"timeline", id, "-n", "3"}},
		{"│ T │ N │ dev │ exec │ 1 │ 2 │ false │\n", []string{"timeline", id, "--failed", "-n", "1"}},
		{"│ T │ N │ dev │ exec │ 0 │ 0 → 1 │ echo one > f; echo x > gone │\n",
			[]string{"timeline", id, "--committed", "--script", "x > gone", "-n", "1"}},
		{"│ T │ N │ dev │ exec │ 0 │ 2 │ cat f │\n", []string{"timeline", id, "--unchanged", "--succeeded", "--caller", "dev",
			"--route", "exec", "--since", "1h"}},
		{"", []string{"timeline", id, "--caller", "nobody"}},
		{"│ 3 │ T │ write │ /home/user/f │ 10 │ f3952ccd5acb │ dev │ printf 'two\\nthree\\n' > f │\n│ 2 │ T │ write │ /home/user/f │ 8 │ c3f9c8c283a2 │ dev │ echo two >> f; mkdir d; mv gone d/moved │\n│ 1 │ T │ create │ /home/user/f │ 4 │ 2c8b08da5ce6 │ dev │ echo one > f; echo x > gone │\n", []string{"log", id, "/home/user/f"}},
		{"│ 2 │ T │ rename │ /home/user/gone → /home/user/d/moved │ 2 │ 73cb3858a687 │ dev │ echo two >> f; mkdir d; mv gone d/moved │\n", []string{"log", id, "/home/user/d/moved", "-n", "1"}},
		{"│ /home/user/d/moved │ 2 │ 1 │ T │ dev │ echo one > f; echo x > gone │\n│ /home/user/f │ 10 │ 3 │ T │ dev │ printf 'two\\nthree\\n' > f │\n", []string{"blame", id, "/home"}},
	} {
		if got := table(c.args...); got != c.want {
			t.Errorf("pgbox %s:\n%s\nwant\n%s", strings.Join(c.args, " "), got, c.want)
		}
	}
	var runs []struct{ Script, Caller, Route string }
	if err := json.Unmarshal([]byte(r.must(t, "timeline", id, "--json", "-n", "2")), &runs); err != nil ||
		len(runs) != 2 || runs[1].Script != "cat f" || runs[1].Caller != "dev" || runs[1].Route != "exec" {
		t.Errorf("%+v, %v", runs, err)
	}
	for want, args := range map[string][]string{
		"A /home/user/d\nA /home/user/d/moved\nA /home/user/f\n":                    {"diff", id},
		"A /home/user/d\nR /home/user/gone -> /home/user/d/moved\nM /home/user/f\n": {"diff", id + "@1", id},
		"": {"diff", id, id},
		"M /home/user/f | +1 -1\n1 changed, 1 lines inserted, 1 deleted\n": {"diff", "--stat", id + "@2", id + "@3"},
		"--- a/home/user/f\n+++ b/home/user/f\n@@ -1,2 +1,2 @@\n-one\n two\n+three\n": {"diff",
			"--unified", id + "@2", id},
		"[\n  {\n    \"path\": \"/home/user/f\",\n    \"status\": \"M\",\n    \"kind\": \"file\"\n  }\n]\n": {"diff",
			"--json", id + "@2", id},
		"one\ntwo\n": {"exec", id, "--at", "2", "--", "cat f"},
	} {
		if got := r.must(t, args...); got != want {
			t.Errorf("pgbox %s: %q, want %q", strings.Join(args, " "), got, want)
		}
	}
	for want, args := range map[string][]string{
		"pgbox: no such snapshot or version, or it is not kept any more: 9 (ENOENT, applied: no)\n": {"restore", id, "9"},
		"pgbox: no such sandbox, snapshot or version of yours, or it is not kept any more (ENOENT, applied: no)\n": {"diff",
			id + "@9", id},
		"pgbox: there is nothing to redo (ENOENT, applied: no)\n":                     {"redo", id},
		"pgbox: there is no automatic snapshot to go back to (ENOENT, applied: no)\n": {"undo", id, "-n", "9"},
		"pgbox: validation_error: steps: expected number <= 10000 (INVALID_INPUT, applied: no)\n": {"undo",
			id, "-n", "10001"},
		"pgbox: the script tried to change a file (EREADONLY_VIOLATION, applied: no)\n": {"exec",
			id, "--at", "2", "--", "touch f 2> /dev/null"},
	} {
		if out, errOut, status := r.pgbox(t, "", args...); status != 1 || errOut != want || out != "" {
			t.Errorf("pgbox %s: status %d, %q, %q; want %q", strings.Join(args, " "), status, out, errOut, want)
		}
	}
	// Markers are written, and the status says that there is something to look at.
	fork := strings.TrimSpace(r.must(t, "fork", id))
	r.must(t, "exec", fork, "--", "sed -i s/three/THEIRS/ f")
	r.must(t, "exec", id, "--", "sed -i s/three/OURS/ f")
	if out, _, status := r.pgbox(t, "", "merge", id, fork, "--markers"); status != 1 ||
		out != "conflict M /home/user/f (changed on both sides, one place marked)\n" {
		t.Errorf("%d: %q", status, out)
	}
	if out := r.must(t, "fs", "cat", id,
		"/home/user/f"); out != "two\n<<<<<<< ours\nOURS\n=======\nTHEIRS\n>>>>>>> theirs\n" {
		t.Errorf("%q", out)
	}
	r.must(t, "undo", id)
	if out := r.must(t, "merge", id, fork,
		"--theirs"); out != "conflict M /home/user/f (changed on both sides: theirs)\n" {
		t.Errorf("%q", out)
	}
	if out := r.must(t, "fs", "cat", id, "/home/user/f"); out != "two\nTHEIRS\n" {
		t.Errorf("%q", out)
	}
}

func TestServeRefusesBadConfiguration(t *testing.T) {
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  []string
		want []string
	}{
		"nothing set": {nil, []string{"DATABASE_URL is not set", "AUTH_SECRET is not set"}},
		"bad values": {[]string{"PORT=x", "DATABASE_URL=mysql://h", "AUTH_SECRET=short"},
			[]string{"PORT=", "DATABASE_URL=", "AUTH_SECRET="}},
		"no database": {[]string{"DATABASE_URL=postgres://127.0.0.1:1/none?connect_timeout=2",
			"AUTH_SECRET=0123456789abcdef"}, []string{"127.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(bin, "serve")
			cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, c.env...)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatal("accepted")
			}
			for _, w := range c.want {
				if !strings.Contains(string(out), w) {
					t.Errorf("%q is not said:\n%s", w, out)
				}
			}
		})
	}
}
