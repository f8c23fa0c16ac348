package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/sql/sqltest"
)

type object = map[string]any

const staticKey = "the key of an application"

// endpoint is a server with a database of its own tenant.
type endpoint struct {
	t        *testing.T
	url      string
	tenant   string
	verifier *auth.Verifier
}

func newEndpoint(t *testing.T, change func(*Config)) *endpoint {
	t.Helper()
	st, err := store.Open(t.Context(), store.Config{URL: sqltest.ServingURL(t, sqltest.URL(t)), Role: "pgbox_gateway"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	svc := sandbox.New(sandbox.Config{Store: st, Commands: command.All()})
	t.Cleanup(func() {
		if err := svc.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	v, err := auth.NewVerifier("a secret of enough bytes", nil)
	if err != nil {
		t.Fatal(err)
	}
	e := &endpoint{t: t, tenant: uuid.NewString(), verifier: v}
	cfg := Config{Version: "test", Service: svc, Verifier: v, Origins: []string{"https://app.example"}, MaxInodes: 1000,
		MaxBytes: 1 << 30,
		Static:   StaticKey{Key: staticKey, Header: "X-User", Tenant: e.tenant}}
	if change != nil {
		change(&cfg)
	}
	srv := httptest.NewServer(New(cfg))
	t.Cleanup(srv.Close)
	e.url = srv.URL
	return e
}

func (e *endpoint) token(sub string) string {
	e.t.Helper()
	token, _, err := e.verifier.Issue(sub, e.tenant, time.Hour)
	if err != nil {
		e.t.Fatal(err)
	}
	return token
}

// headers adds some to every request.
type headers map[string]string

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range h {
		r.Header.Set(k, v)
	}
	return http.DefaultTransport.RoundTrip(r)
}

type client struct {
	*sdk.ClientSession
	t *testing.T
}

// connect returns a client of the protocol's own SDK.
func (e *endpoint) connect(h headers, progress func(*sdk.ProgressNotificationClientRequest)) *client {
	e.t.Helper()
	o := &sdk.ClientOptions{}
	if progress != nil {
		o.ProgressNotificationHandler = func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { progress(r) }
	}
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o)
	s, err := c.Connect(e.t.Context(), &sdk.StreamableClientTransport{Endpoint: e.url,
		HTTPClient: &http.Client{Transport: h}}, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { _ = s.Close() })
	return &client{s, e.t}
}

func (e *endpoint) as(sub string) *client {
	e.t.Helper()
	return e.connect(headers{"Authorization": "Bearer " + e.token(sub)}, nil)
}

// call returns the structured result of a tool, which the text has to repeat.
func (c *client) call(tool string, args object) (out object, isError bool) {
	c.t.Helper()
	res, err := c.CallTool(c.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		c.t.Fatalf("%s: %v", tool, err)
	}
	return c.read(tool, res)
}

func (c *client) read(tool string, res *sdk.CallToolResult) (out object, isError bool) {
	c.t.Helper()
	out, _ = res.StructuredContent.(object)
	text, isText := res.Content[0].(*sdk.TextContent)
	var again object
	if len(res.Content) != 1 || !isText || json.Unmarshal([]byte(text.Text), &again) != nil ||
		!reflect.DeepEqual(out, again) {
		c.t.Fatalf("%s: content %+v, structured %v", tool, res.Content, out)
	}
	if out["ok"] == res.IsError {
		c.t.Fatalf("%s: isError %v with %v", tool, res.IsError, out)
	}
	return out, res.IsError
}

func (c *client) must(tool string, args object) object {
	c.t.Helper()
	out, isError := c.call(tool, args)
	if isError {
		c.t.Fatalf("%s %v: %v", tool, args, out)
	}
	return out
}

func (c *client) fails(tool string, args object, code string) object {
	c.t.Helper()
	out, isError := c.call(tool, args)
	if !isError || out["code"] != code || out["applied"] != "no" || out["error"] == "" {
		c.t.Fatalf("%s %v: %v, want %s", tool, args, out, code)
	}
	return out
}

func (c *client) sandbox(args object) string {
	c.t.Helper()
	id, _ := c.must("sandbox_create", args)["id"].(string)
	return id
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if string(g) != string(w) {
		t.Errorf("%s: %s, want %s", what, g, w)
	}
}

func TestToolsAreDescribed(t *testing.T) {
	t.Parallel()
	c := newEndpoint(t, nil).as("alice")
	if in := c.InitializeResult().Instructions; !strings.Contains(in, "sandbox_create") {
		t.Errorf("instructions %q", in)
	}
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	reading := map[string]bool{"sandbox_list": true, "file_read": true, "fs_list": true, "fs_glob": true, "fs_grep": true,
		"fs_export": true, "sandbox_snapshots": true, "image_list": true,
		"sandbox_diff": true, "sandbox_timeline": true, "file_log": true, "file_blame": true, "kv_get": true, "kv_list": true,
		"session_list": true}
	for _, tool := range tools.Tools {
		a := tool.Annotations
		schema, _ := tool.InputSchema.(object)
		if tool.Description == "" || a == nil || a.Title == "" || a.ReadOnlyHint != reading[tool.Name] ||
			a.OpenWorldHint == nil || *a.OpenWorldHint || schema["type"] != "object" {
			t.Errorf("%s: %+v, annotations %+v", tool.Name, tool, a)
		}
		delete(reading, tool.Name)
	}
	if len(reading) > 0 {
		t.Errorf("missing: %v", reading)
	}
}

func TestSandboxes(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, nil)
	alice, bob := e.as("alice"), e.as("bob")
	id := alice.sandbox(object{"name": "first", "files": object{"/home/user/a": "one\n"}, "env": object{"GREETING": "hi"},
		"labels": object{"k": "v"}, "expiresIn": 3600})
	alice.sandbox(object{"name": "second"})
	list := alice.must("sandbox_list", object{"limit": 1})["sandboxes"].([]any)
	if len(list) != 1 || list[0].(object)["name"] != "second" {
		t.Errorf("%v", list)
	}
	page := alice.must("sandbox_list", object{"limit": 1})
	next := alice.must("sandbox_list", object{"limit": 5, "cursor": page["nextCursor"]})["sandboxes"].([]any)
	if len(next) != 1 || next[0].(object)["id"] != id || next[0].(object)["expiresAt"] == nil {
		t.Errorf("%v", next)
	}
	if got := alice.must("sandbox_list", object{"labels": object{"k": "v"}})["sandboxes"].([]any); len(got) != 1 {
		t.Errorf("by label: %v", got)
	}
	if got := bob.must("sandbox_list", object{})["sandboxes"].([]any); len(got) != 0 {
		t.Errorf("bob sees %v", got)
	}
	bob.fails("bash_exec", object{"id": id, "script": "cat a"}, "FORBIDDEN")
	bob.fails("sandbox_delete", object{"id": id}, "FORBIDDEN")
	same(t, "stdout", alice.must("bash_exec", object{"id": id, "script": "cat a; echo $GREETING"})["stdout"], "one\nhi\n")

	snap := alice.must("sandbox_snapshot", object{"id": id, "name": "s"})
	alice.fails("sandbox_snapshot", object{"id": id, "name": "s"}, "EEXIST")
	fork := alice.must("sandbox_fork", object{"id": id})
	same(t, "name of the fork", fork["sandboxes"].([]any)[0].(object)["name"], "first")
	alice.must("bash_exec", object{"id": id, "script": "echo two > a"})
	same(t, "in the fork", alice.must("file_read", object{"id": fork["id"], "path": "/home/user/a"})["content"], "one\n")
	alice.must("sandbox_restore", object{"id": id, "at": "s"})
	same(t, "restored", alice.must("file_read", object{"id": id, "path": "/home/user/a"})["content"], "one\n")
	alice.must("sandbox_restore", object{"id": id, "at": snap["snapshotId"]})
	same(t, "snapshots", alice.must("sandbox_snapshots", object{"id": id})["snapshots"].([]any)[0].(object)["name"], "s")
	alice.fails("sandbox_restore", object{"id": id, "at": "none"}, "ENOENT")
	same(t, "earlier", alice.must("bash_exec", object{"id": id, "script": "cat a", "at": "s"})["stdout"], "one\n")
	same(t, "earlier", alice.must("file_read", object{"id": id, "path": "/home/user/a", "at": "s"})["content"], "one\n")
	alice.fails("bash_exec", object{"id": id, "script": "touch x", "at": "s"}, "EREADONLY_VIOLATION")
	forks := alice.must("sandbox_fork", object{"id": id, "name": "f", "count": 3, "at": "s"})["sandboxes"].([]any)
	same(t, "forks", []any{len(forks), forks[2].(object)["name"]}, []any{3, "f-3"})
	undo := alice.sandbox(object{"undo": true})
	alice.must("bash_exec", object{"id": undo, "script": "echo 1 > n"})
	alice.must("bash_exec", object{"id": undo, "script": "echo 2 > n"})
	alice.must("bash_exec", object{"id": undo, "script": "cd /tmp; cd"})
	step := alice.must("sandbox_undo", object{"id": undo})["steps"].([]any)[0].(object)
	same(t, "what was undone", step["runs"].([]any)[0].(object)["script"], "echo 2 > n")
	same(t, "paths", step["paths"].([]any)[0], "/home/user/n")
	same(t, "undone", alice.must("bash_exec", object{"id": undo, "script": "cat n"})["stdout"], "1\n")
	alice.must("sandbox_redo", object{"id": undo})
	same(t, "redone", alice.must("bash_exec", object{"id": undo, "script": "cat n"})["stdout"], "2\n")
	alice.fails("sandbox_redo", object{"id": undo}, "ENOENT")
	alice.fails("sandbox_undo", object{"id": undo, "steps": -1}, "INVALID_INPUT")
	same(t, "images", alice.must("image_list", object{})["images"], []any{})
	alice.fails("sandbox_create", object{"image": "none"}, "ENOENT")
	alice.must("sandbox_delete", object{"id": id})
	alice.fails("bash_exec", object{"id": id, "script": ":"}, "SANDBOX_NOT_FOUND")
	alice.fails("sandbox_create", object{"files": object{"relative": "x"}}, "INVALID_INPUT")
	alice.fails("sandbox_create", object{"name": strings.Repeat("x", 256)}, "INVALID_INPUT")
	alice.fails("sandbox_list", object{"cursor": "x"}, "INVALID_INPUT")
	alice.fails("bash_exec", object{"id": id}, "INVALID_INPUT") // no script
	alice.fails("bash_exec", object{"id": id, "script": ":", "nothing": 1}, "INVALID_INPUT")
	if _, err := alice.CallTool(t.Context(), &sdk.CallToolParams{Name: "no_such_tool"}); err == nil {
		t.Error("an unknown tool is no error")
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, nil)
	c := e.as("alice")
	id := c.sandbox(object{})
	got := c.must("bash_exec", object{"id": id,
		"script": "mkdir d; cd d; export X=1; read l; echo \"$l $Y\"; echo bad >&2; exit 3", "stdin": "in\n",
		"env": object{"Y": "2"}})
	same(t, "stdout", got["stdout"], "in 2\n")
	same(t, "stderr", got["stderr"], "bad\n")
	same(t, "exitCode", got["exitCode"], 3)
	same(t, "committed", got["committed"], true)
	const input = "[ -c /dev/stdin ] && echo device; [ -p /dev/stdin ] && echo pipe; echo needle > /tmp/f; cd /tmp; rg needle"
	same(t, "without stdin", c.must("bash_exec", object{"id": id, "script": input, "cwd": "/"})["stdout"],
		"device\nf:needle\n")
	same(t, "with empty stdin", c.must("bash_exec", object{"id": id, "script": input, "cwd": "/", "stdin": ""})["stdout"],
		"pipe\n")
	same(t, "what is kept", c.must("bash_exec", object{"id": id, "script": "pwd; echo $X"})["stdout"], "/home/user/d\n1\n")
	c.must("bash_exec", object{"id": id, "script": "touch never; false", "atomic": true})
	same(t, "atomic", c.must("bash_exec", object{"id": id, "script": "ls", "readOnly": true})["stdout"], "")
	c.fails("bash_exec", object{"id": id, "script": "touch f", "readOnly": true}, "EREADONLY_VIOLATION")
	late := c.fails("bash_exec", object{"id": id, "script": "echo begun; sleep 60", "timeout": 300}, "EXEC_TIMEOUT")
	same(t, "until the timeout", late["output"].(object)["stdout"], "begun\n")
	c.fails("bash_exec", object{"id": id, "script": ":", "timeout": 300_001}, "INVALID_INPUT")
	c.fails("bash_exec", object{"id": id, "script": ":", "cwd": "d"}, "INVALID_INPUT")
	c.fails("bash_exec", object{"id": id, "script": ":", "env": object{"a=b": ""}}, "INVALID_INPUT")
	long := c.must("bash_exec", object{"id": id, "script": "seq 100000", "maxOutputBytes": 100, "readOnly": true})
	if s := long["stdout"].(string); long["truncated"] != true || len(s) > 200 || !strings.HasPrefix(s, "1\n2\n") ||
		!strings.HasSuffix(s, "100000\n") || !strings.Contains(s, "left out") {
		t.Errorf("%v", long)
	}

	results := c.must("bash_exec_batch", object{"id": id, "timeout": 20_000,
		"scripts": []object{{"id": "a", "script": "echo 1 > n; cd /tmp"}, {"id": "b", "script": "pwd; cat ~/d/n"},
			{"id": "c", "script": "exit 7"}}})["results"].([]any)
	same(t, "second", results[1].(object)["stdout"], "/tmp\n1\n")
	same(t, "third", results[2].(object)["exitCode"], 7)
	results = c.must("bash_exec_batch", object{"id": id, "perScriptTimeout": 200, "readOnly": true,
		"scripts": []object{{"id": "a", "script": "sleep 60"}, {"id": "b", "script": "echo x"}}})["results"].([]any)
	if a, b := results[0].(object), results[1].(object); a["code"] != "EXEC_TIMEOUT" || a["ok"] != false ||
		b["stdout"] != "x\n" || b["ok"] != true {
		t.Errorf("%v", results)
	}
	c.fails("bash_exec_batch", object{"id": id, "scripts": []object{}}, "INVALID_INPUT")
}

func TestFiles(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, nil)
	c := e.as("alice")
	id := c.sandbox(object{})
	c.must("fs_ingest", object{"id": id, "basePath": "/home/user/src", "files": []object{
		{"path": "a.go", "text": "package a\n\nfunc A() {}\n", "mode": 0o755},
		{"path": "sub/b.go", "text": "package sub // é\n"},
		{"path": "sub/bin", "base64": base64.StdEncoding.EncodeToString([]byte{0, 1, 255})},
		{"path": "link", "symlink": "a.go"},
	}})
	c.fails("fs_ingest", object{"id": id, "files": []object{{"path": "../x", "text": ""}}}, "INVALID_INPUT")
	c.fails("fs_ingest", object{"id": id, "files": []object{{"path": "x", "base64": "?"}}}, "INVALID_INPUT")
	c.fails("fs_ingest", object{"id": id, "files": []object{{"path": "x", "text": "x", "symlink": "y"}}}, "INVALID_INPUT")

	same(t, "glob", c.must("fs_glob", object{"id": id, "pattern": "**/*.go"})["lines"],
		[]string{"src/a.go", "src/sub/b.go"})
	same(t, "nothing", c.must("fs_glob", object{"id": id, "pattern": "$(touch /tmp/x)*"})["lines"], []string{})
	c.fails("fs_glob", object{"id": id, "path": "/home/user/src/a.go", "pattern": "*"}, "ENOTDIR")
	same(t, "grep", c.must("fs_grep", object{"id": id, "path": "/home/user/src", "pattern": "^(func|package) [as]",
		"include": "*.go", "ignoreCase": true})["lines"],
		[]string{"/home/user/src/a.go:1:package a", "/home/user/src/a.go:3:func A() {}",
			"/home/user/src/sub/b.go:1:package sub // é"})
	same(t, "fixed", c.must("fs_grep", object{"id": id, "pattern": "A() {", "fixed": true})["lines"],
		[]string{"/home/user/src/a.go:3:func A() {}"})
	limited := c.must("fs_grep", object{"id": id, "pattern": ".", "limit": 1})
	same(t, "limited", []any{len(limited["lines"].([]any)), limited["truncated"]}, []any{1, true})
	c.fails("fs_grep", object{"id": id, "pattern": "("}, "INVALID_INPUT")
	c.fails("fs_grep", object{"id": id, "path": "/none", "pattern": "x"}, "ENOENT")

	var paths []string
	for _, x := range c.must("fs_list", object{"id": id, "path": "/home/user/src"})["entries"].([]any) {
		paths = append(paths, x.(object)["path"].(string)+" "+x.(object)["kind"].(string))
	}
	same(t, "list", paths, []string{"/home/user/src/a.go file", "/home/user/src/link symlink", "/home/user/src/sub dir"})
	all := c.must("fs_list", object{"id": id, "path": "/home/user", "depth": -1, "limit": 3})
	same(t, "all", []any{len(all["entries"].([]any)), all["truncated"]}, []any{3, true})
	c.fails("fs_list", object{"id": id, "path": "/home/user/src/a.go"}, "ENOTDIR")

	export := c.must("fs_export", object{"id": id, "path": "/home/user/src"})
	same(t, "export", export["files"], []object{
		{"path": "a.go", "mode": 0o755, "content": "package a\n\nfunc A() {}\n", "encoding": "utf-8"},
		{"path": "link", "mode": 0o777, "symlink": "a.go"},
		{"path": "sub/b.go", "mode": 0o644, "content": "package sub // é\n", "encoding": "utf-8"},
		{"path": "sub/bin", "mode": 0o644, "content": base64.StdEncoding.EncodeToString([]byte{0, 1, 255}),
			"encoding": "base64"},
	})
	same(t, "one", c.must("fs_export", object{"id": id,
		"path": "/home/user/src/a.go"})["files"].([]any)[0].(object)["path"], "a.go")
	same(t, "too much", c.must("fs_export", object{"id": id, "path": "/home/user/src", "maxBytes": 30})["truncated"], true)

	same(t, "write", c.must("file_write", object{"id": id, "path": "/home/user/new/f", "content": "a b a"}),
		object{"ok": true, "path": "/home/user/new/f", "size": 5})
	c.fails("file_edit", object{"id": id, "path": "/home/user/new/f", "oldString": "a", "newString": "c"},
		"EDIT_NOT_UNIQUE")
	c.fails("file_edit", object{"id": id, "path": "/home/user/new/f", "oldString": "x", "newString": "c"}, "EDIT_NO_MATCH")
	c.fails("file_edit", object{"id": id, "path": "/home/user/new/f", "oldString": "a", "newString": "a"}, "INVALID_INPUT")
	same(t, "edit", c.must("file_edit", object{"id": id, "path": "/home/user/new/f", "oldString": "a", "newString": "c",
		"replaceAll": true})["replacements"], 2)
	same(t, "edited", c.must("file_read", object{"id": id, "path": "/home/user/new/f"})["content"], "c b c")
	c.must("file_write", object{"id": id, "path": "/home/user/new/f", "content": "AAH/", "encoding": "base64"})
	bin := c.must("file_read", object{"id": id, "path": "/home/user/new/f"})
	same(t, "bytes", []any{bin["encoding"], bin["content"]}, []any{"base64", "AAH/"})
	c.fails("file_write", object{"id": id, "path": "f", "content": ""}, "INVALID_INPUT")
	c.fails("file_write", object{"id": id, "path": "/f", "content": "?", "encoding": "base64"}, "INVALID_INPUT")
	c.fails("file_read", object{"id": id, "path": "/home/user"}, "EISDIR")
}

func TestBranches(t *testing.T) {
	t.Parallel()
	c := newEndpoint(t, nil).as("alice")
	id := c.sandbox(object{"files": object{"/home/user/a": "one\ntwo\n", "/home/user/b": "b\n"}})
	fork := c.must("sandbox_fork", object{"id": id})["id"]
	c.must("bash_exec", object{"id": fork, "script": "sed -i s/two/2/ a; mv b c; echo new > d"})
	changes := c.must("sandbox_diff", object{"id": fork, "lines": true})["changes"].([]any)
	var got []string
	for _, x := range changes {
		d := x.(object)
		got = append(got, d["status"].(string)+" "+d["path"].(string))
		if d["path"] == "/home/user/a" && !strings.Contains(d["unified"].(string), "-two\n+2\n") {
			t.Errorf("%v", d)
		}
	}
	same(t, "diff", got, []string{"M /home/user/a", "R /home/user/c", "A /home/user/d"})
	c.must("bash_exec", object{"id": id, "script": "echo other > d"})
	refused, isError := c.call("sandbox_merge", object{"id": id, "from": fork})
	same(t, "a conflict", []any{isError, refused["ok"], refused["applied"], refused["merged"], refused["conflicts"]},
		[]any{true, false, "no", false, 1})
	same(t, "nothing was done", c.must("bash_exec", object{"id": id, "script": "cat a; ls"})["stdout"],
		"one\ntwo\na\nb\nd\n")
	merged := c.must("sandbox_merge", object{"id": id, "from": fork, "conflict": "theirs"})
	same(t, "theirs", merged["merged"], true)
	same(t, "merged", c.must("bash_exec", object{"id": id, "script": "cat a d; ls"})["stdout"], "one\n2\nnew\na\nc\nd\n")
	c.must("bash_exec", object{"id": id, "script": "echo mine > d"})
	c.must("bash_exec", object{"id": fork, "script": "echo its > d"})
	marked := c.must("sandbox_merge", object{"id": id, "from": fork, "conflict": "markers"})
	same(t, "markers", []any{marked["merged"], marked["conflicts"]}, []any{true, 1})
	same(t, "marked", c.must("file_read", object{"id": id, "path": "/home/user/d"})["content"],
		"<<<<<<< ours\nmine\n=======\nits\n>>>>>>> theirs\n")
	c.fails("sandbox_undo", object{"id": id, "steps": 10001}, "INVALID_INPUT")
	c.fails("sandbox_redo", object{"id": id, "steps": -1}, "INVALID_INPUT")
	c.must("sandbox_undo", object{"id": id}) // of a merge always
	same(t, "unmarked", c.must("file_read", object{"id": id, "path": "/home/user/d"})["content"], "mine\n")
	c.fails("sandbox_undo", object{"id": id, "steps": 9}, "ENOENT")
	c.fails("sandbox_merge", object{"id": id, "from": id}, "INVALID_INPUT")
	c.fails("sandbox_merge", object{"id": id, "from": fork, "conflict": "maybe"}, "INVALID_INPUT")
	c.fails("sandbox_diff", object{"id": id, "fromAt": "none"}, "ENOENT")

	v := c.must("kv_set", object{"id": id, "key": "k/1", "value": object{"n": 1, "a": []int{1, 2}}})["version"]
	c.must("kv_set", object{"id": id, "key": "k/2", "value": "text"})
	same(t, "get", c.must("kv_get", object{"id": id, "key": "k/1"})["value"], object{"n": 1, "a": []int{1, 2}})
	c.must("kv_set", object{"id": id, "key": "k/1", "value": 2, "expectVersion": v})
	c.fails("kv_set", object{"id": id, "key": "k/1", "value": 3, "expectVersion": v}, "ESTALE")
	c.fails("kv_set", object{"id": id, "key": "k/1", "value": nil}, "INVALID_INPUT")
	c.fails("kv_set", object{"id": id, "key": "", "value": 1}, "INVALID_INPUT")
	same(t, "list", len(c.must("kv_list", object{"id": id, "prefix": "k/"})["keys"].([]any)), 2)
	same(t, "page", c.must("kv_list", object{"id": id, "prefix": "k/", "limit": 1,
		"after": "k/1"})["keys"].([]any)[0].(object)["value"], "text")
	c.must("kv_delete", object{"id": id, "key": "k/1"})
	c.fails("kv_get", object{"id": id, "key": "k/1"}, "ENOENT")
}

// The history that an agent sees is that of the other interfaces; filters come before the limit.
func TestHistory(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, nil)
	c := e.as("alice")
	id := c.sandbox(object{"undo": true})
	for _, script := range []string{"echo one > f; echo g > g", "cat f", "false", "echo two > f"} {
		c.must("bash_exec", object{"id": id, "script": script})
	}
	scripts := func(args object) (out []string) {
		t.Helper()
		args["id"] = id
		for _, x := range c.must("sandbox_timeline", args)["execs"].([]any) {
			r := x.(object)
			if r["route"] == "mcp:sandbox_create" {
				continue // its script is "create"
			}
			if r["caller"] != "alice" || r["route"] != "mcp:bash_exec" || r["startedAt"] == "" {
				t.Errorf("%v", r)
			}
			out = append(out, r["script"].(string))
		}
		return out
	}
	same(t, "all", scripts(object{}), []string{"echo two > f", "false", "cat f", "echo one > f; echo g > g"})
	same(t, "the last failure", scripts(object{"failed": true, "limit": 1}), []string{"false"})
	same(t, "commits", scripts(object{"committed": true, "script": "one", "caller": "alice"}),
		[]string{"echo one > f; echo g > g"})
	same(t, "of nobody", scripts(object{"caller": "bob"}), nil)
	same(t, "of the future", scripts(object{"since": "2999-01-01T00:00:00Z"}), nil)
	read := c.must("sandbox_timeline", object{"id": id, "script": "cat f"})["execs"].([]any)[0].(object)
	same(t, "a reader", []any{read["stdoutHead"], read["exitCode"], read["versionBefore"], read["versionAfter"],
		read["committed"]}, []any{"one\n", 0, 1, 1, false})

	changes := c.must("file_log", object{"id": id, "path": "/home/user/f"})["changes"].([]any)
	if len(changes) != 2 {
		t.Fatalf("%v", changes)
	}
	last, first := changes[0].(object), changes[1].(object)
	same(t, "log", []any{last["op"], last["version"], last["script"], last["sizeAfter"], first["op"], first["version"]},
		[]any{"write", 2, "echo two > f", 4, "create", 1})
	same(t, "contents", last["hashBefore"], first["hashAfter"])
	same(t, "as it was", c.must("file_read", object{"id": id, "path": "/home/user/f", "at": "1"})["content"], "one\n")
	same(t, "the newest", len(c.must("file_log", object{"id": id, "path": "/home/user/f",
		"limit": 1})["changes"].([]any)), 1)

	var blame []any
	for _, x := range c.must("file_blame", object{"id": id})["files"].([]any) {
		f := x.(object)
		blame = append(blame, f["path"], f["version"], f["script"], f["caller"])
	}
	same(t, "blame", blame, []any{"/home/user/f", 2, "echo two > f", "alice", "/home/user/g", 1,
		"echo one > f; echo g > g", "alice"})

	c.fails("sandbox_timeline", object{"id": id, "limit": 1001}, "INVALID_INPUT")
	c.fails("sandbox_timeline", object{"id": id, "since": "yesterday"}, "INVALID_INPUT")
	c.fails("file_log", object{"id": id, "path": "f"}, "INVALID_INPUT")
	c.fails("file_log", object{"id": id, "path": "/f", "limit": -1}, "INVALID_INPUT")
	c.fails("file_blame", object{"id": id, "path": "/nowhere"}, "ENOENT")
	for tool, args := range map[string]object{"sandbox_timeline": {"id": id}, "file_log": {"id": id, "path": "/f"},
		"file_blame": {"id": id}} {
		e.as("mallory").fails(tool, args, "FORBIDDEN")
	}
}

// A file is read to its end in pieces, by lines and within a line that is longer than the budget, and nothing is lost
// or repeated.
func TestReadGoesOn(t *testing.T) {
	t.Parallel()
	c := newEndpoint(t, nil).as("alice")
	text := strings.Repeat("zeile mit ümläut\n", 50) + strings.Repeat("é€😀", 100) + "\n\nlast without newline"
	id := c.sandbox(object{"files": object{"/home/user/f": text, "/home/user/empty": ""}})
	for _, args := range []object{{"limit": 7}, {"maxBytes": 64}, {"limit": 3, "maxBytes": 41},
		{"limit": 9, "maxBytes": 23}} {
		var got strings.Builder
		next := object{"offset": 1}
		for n := 0; ; n++ {
			args["id"], args["path"] = id, "/home/user/f"
			for k, v := range next {
				args[k] = v
			}
			out := c.must("file_read", args)
			line := 1 + strings.Count(got.String(), "\n")
			if s := out["content"].(string); s != "" && out["startLine"].(float64) != float64(line) {
				t.Fatalf("%v: line %v, want %d", args, out["startLine"], line)
			}
			got.WriteString(out["content"].(string))
			if out["next"] == nil {
				break
			}
			if next = out["next"].(object); n > 2000 {
				t.Fatal("does not end")
			}
		}
		if got.String() != text {
			t.Fatalf("%v: %q", args, got.String())
		}
	}
	from := c.must("file_read", object{"id": id, "path": "/home/user/f", "offset": 50, "limit": 1})
	same(t, "line 50", []any{from["content"], from["startLine"], from["endLine"]}, []any{"zeile mit ümläut\n", 50, 50})
	beyond := c.must("file_read", object{"id": id, "path": "/home/user/f", "offset": 99})
	same(t, "behind the end", []any{beyond["content"], beyond["next"]}, []any{"", nil})
	same(t, "empty", c.must("file_read", object{"id": id, "path": "/home/user/empty"})["content"], "")
	c.fails("file_read", object{"id": id, "path": "/home/user/f", "limit": -1}, "INVALID_INPUT")
}

// What a script prints reaches a client that asked for it before the script has ended.
func TestProgress(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, nil)
	var mu sync.Mutex
	var seen strings.Builder
	first := make(chan struct{})
	c := e.connect(headers{"Authorization": "Bearer " + e.token("alice")}, func(r *sdk.ProgressNotificationClientRequest) {
		mu.Lock()
		defer mu.Unlock()
		if seen.Len() == 0 {
			close(first)
		}
		seen.WriteString(r.Params.Message)
	})
	id := c.sandbox(object{})
	params := &sdk.CallToolParams{Name: "bash_exec", Arguments: object{"id": id,
		"script":  "echo begun; until test -e /tmp/go; do sleep 0.1; test $((++n)) -lt 600 || exit 1; done",
		"timeout": 60_000}}
	params.SetProgressToken("token")
	// The script runs on its own version of the files, so it is ended, not told.
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, params)
		ended <- err
	}()
	select {
	case <-first:
	case err := <-ended:
		t.Fatalf("ended before any news: %v", err)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("a call that was given up has a result")
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.HasPrefix(seen.String(), "begun\n") {
		t.Errorf("%q", seen.String())
	}
}

func TestWhoMayCall(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, nil)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	send := func(method, body string, h headers) (int, http.Header, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, e.url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		for k, v := range h {
			req.Header.Set(k, v)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, res.Header, string(b)
	}
	other, _ := auth.NewVerifier("another secret of enough bytes", nil)
	forged, _, _ := other.Issue("alice", e.tenant, time.Hour)
	bearer := "Bearer " + e.token("alice")
	for _, tc := range []struct {
		name, code string
		status     int
		h          headers
	}{
		{"nobody", "AUTH_REQUIRED", 401, nil},
		{"forged", "AUTH_INVALID", 401, headers{"Authorization": "Bearer " + forged}},
		{"half a key", "AUTH_INVALID", 401, headers{"Authorization": "Bearer " + staticKey[:20], "X-User": "u"}},
		{"a key for nobody", "AUTH_IDENTITY_REQUIRED", 401, headers{"Authorization": "Bearer " + staticKey, "X-User": "  "}},
		{"too long a name", "AUTH_IDENTITY_INVALID", 401, headers{"Authorization": "Bearer " + staticKey,
			"X-User": strings.Repeat("x", 257)}},
		{"no text", "AUTH_IDENTITY_INVALID", 401, headers{"Authorization": "Bearer " + staticKey, "X-User": "a\tb"}},
		{"another origin", "FORBIDDEN", 403, headers{"Authorization": bearer, "Origin": "https://evil.example"}},
		{"a token", "", 200, headers{"Authorization": bearer}},
		{"a key", "", 200, headers{"Authorization": "Bearer " + staticKey, "X-User": "u"}},
		{"the origin", "", 200, headers{"Authorization": bearer, "Origin": "https://app.example"}},
	} {
		status, h, body := send(http.MethodPost, list, tc.h)
		if status != tc.status || tc.code != "" && !strings.Contains(body, `"code":"`+tc.code+`"`) ||
			tc.code == "" && !strings.Contains(body, "bash_exec") {
			t.Errorf("%s: %d %s", tc.name, status, body)
		}
		if status == 401 && h.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", tc.name)
		}
		if o := tc.h["Origin"]; status == 200 && o != "" && h.Get("Access-Control-Allow-Origin") != o {
			t.Errorf("%s: %v", tc.name, h)
		}
	}
	status, h, _ := send(http.MethodOptions, "", headers{"Origin": "https://app.example",
		"Access-Control-Request-Method": "POST"})
	if status != 204 || !strings.Contains(h.Get("Access-Control-Allow-Headers"), "Authorization") ||
		!strings.Contains(h.Get("Access-Control-Allow-Headers"), "X-User") {
		t.Errorf("preflight: %d %v", status, h)
	}
	if status, _, _ := send(http.MethodGet, "", headers{"Authorization": bearer}); status != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", status)
	}
	if status, _, body := send(http.MethodPost, "{", headers{"Authorization": bearer}); status/100 != 4 {
		t.Errorf("no JSON: %d %s", status, body)
	}
}

// The users of an application with a key are apart from each other, and from the owners of tokens of other tenants.
func TestUsersOfAKey(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, func(c *Config) { c.Static.Subject = "nobody" })
	user := func(name string) *client {
		h := headers{"Authorization": "Bearer " + staticKey}
		if name != "" {
			h["X-User"] = name
		}
		return e.connect(h, nil)
	}
	id := user("u1").sandbox(object{})
	user(" u1 ").must("bash_exec", object{"id": id, "script": "true"})
	user("u2").fails("bash_exec", object{"id": id, "script": "true"}, "FORBIDDEN")
	user("").fails("bash_exec", object{"id": id, "script": "true"}, "FORBIDDEN")
	user("").must("bash_exec", object{"id": user("").sandbox(object{}), "script": "true"})
	e.as("u1").must("bash_exec", object{"id": id, "script": "true"}) // the same owner, with a token of the tenant
	e.tenant = uuid.NewString()
	e.as("u1").fails("bash_exec", object{"id": id, "script": "true"}, "SANDBOX_NOT_FOUND")
}
