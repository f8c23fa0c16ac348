package main

import (
	"bufio"
	"bytes"
	"context"
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
		t.Fatalf("grep in the sandbox finds %s files, the real one %d", strings.TrimSpace(got), bytes.Count(want, []byte("\n")))
	}

	r.must(t, "exec", id, "--", "cd src/fserr && sed -i 's/Linux errno/LINUX ERRNO/' fserr.go && mkdir -p /home/user/notes && echo done > /home/user/notes/log")
	// The working directory outlives the script, and the server below.
	if pwd := r.must(t, "exec", id, "--", "pwd"); pwd != "/home/user/src/fserr\n" {
		t.Fatalf("pwd %q", pwd)
	}

	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = r.cmd.Wait()
	r = startDev(t, data)

	if out := r.must(t, "exec", id, "--", "pwd; cat /home/user/notes/log"); out != "/home/user/src/fserr\ndone\n" {
		t.Fatalf("after kill -9: %q", out)
	}
	local, err := os.ReadFile(filepath.Join(source, "fserr", "fserr.go"))
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.ReplaceAll(string(local), "Linux errno", "LINUX ERRNO")
	if edited == string(local) {
		t.Fatal("the edit under test would change nothing")
	}
	if cat := r.must(t, "fs", "cat", id, "/home/user/src/fserr/fserr.go"); cat != edited {
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
	if err := conn.QueryRow(ctx, "SELECT fs.read_file('/home/user/src/fserr/fserr.go')").Scan(&content); err != nil {
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
	req.Header = http.Header{"Authorization": {"Bearer " + r.token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(answer), `"lines":["/home/user/notes/log:1:done","/home/user/notes/sql:1:from psql"]`) {
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
	if _, errOut, status := r.pgbox(t, "", "exec", id, "--", "true"); status != 1 || !strings.Contains(errOut, "SANDBOX_NOT_FOUND") {
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
	t.Run("script from standard input", func(t *testing.T) {
		if out, _, _ := r.pgbox(t, "for i in 1 2 3; do echo $i; done", "exec", id, "--", "-"); out != "1\n2\n3\n" {
			t.Fatalf("%q", out)
		}
	})
	t.Run("a script that runs out of time says so", func(t *testing.T) {
		_, errOut, status := r.pgbox(t, "", "exec", id, "--timeout", "300ms", "--", "sleep 60")
		if status != 1 || !strings.Contains(errOut, "EXEC_TIMEOUT") {
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
		if _, errOut, status := r.pgbox(t, "", "fs", "rm", id, "/home/user/a dir"); status != 1 || !strings.Contains(errOut, "ENOTEMPTY") {
			t.Fatalf("%q %d", errOut, status)
		}
		r.must(t, "fs", "rm", "-r", id, "/home/user/a dir")
		if _, errOut, status := r.pgbox(t, "", "fs", "cat", id, "/home/user/a dir/ü file"); status != 1 || !strings.Contains(errOut, "ENOENT") {
			t.Fatalf("%q %d", errOut, status)
		}
	})
	t.Run("ingest keeps modes and symlinks and honours .gitignore", func(t *testing.T) {
		dir := t.TempDir()
		for name, mode := range map[string]os.FileMode{"run.sh": 0o755, "secret.log": 0o644, "sub/keep.txt": 0o600, "sub/.gitignore": 0o644, "sub/drop.tmp": 0o644, ".gitignore": 0o644} {
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
		r.must(t, "undo", box)
		want(box, "cat f", "one\n")
		r.must(t, "redo", box)
		want(box, "cat f", "two\n")
		if out := r.must(t, "fs", "cat", box, "/home/user/f", "--at", "@base"); out != "one\n" {
			t.Fatalf("%q", out)
		}
		r.must(t, "exec", fork[0], "--", "echo three > f")
		if out, _, status := r.pgbox(t, "", "merge", box, fork[0]); status != 1 || !strings.Contains(out, "conflict M /home/user/f (changed on both sides)") {
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
		r.must(t, "image", "commit", box, "base:next")
		r.must(t, "image", "rm", "base", "base:tar")
		if out := r.must(t, "image", "ls", "base"); !strings.Contains(out, "base:next") || strings.Contains(out, "base:tar") {
			t.Fatalf("%q", out)
		}
	})
	r.stop(t)
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
		"bad values":  {[]string{"PORT=x", "DATABASE_URL=mysql://h", "AUTH_SECRET=short"}, []string{"PORT=", "DATABASE_URL=", "AUTH_SECRET="}},
		"no database": {[]string{"DATABASE_URL=postgres://127.0.0.1:1/none?connect_timeout=2", "AUTH_SECRET=0123456789abcdef"}, []string{"127.0.0.1"}},
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
