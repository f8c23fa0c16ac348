package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/sql/sqltest"
)

const testSecret = "the secret of the tests"

// api is a server on a real database and a client with a token.
type api struct {
	t        *testing.T
	url      string
	service  *sandbox.Service
	verifier *auth.Verifier
	tenant   string // of this test alone: the tests share a database
	token    string

	stall   *sync.Once
	stalled chan struct{} // closed when a client has kept the server waiting for so long that it is too slow
}

func newAPI(t *testing.T, configure ...func(*sandbox.Config)) *api {
	t.Helper()
	return newAPIOf(t, nil, configure...)
}

// newAPIOf is newAPI with another configuration of the server.
func newAPIOf(t *testing.T, change func(*Config), configure ...func(*sandbox.Config)) *api {
	t.Helper()
	st, err := store.Open(t.Context(), store.Config{URL: sqltest.ServingURL(t, sqltest.URL(t)), Role: "pgbox_gateway"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	cfg := sandbox.Config{Store: st, Commands: command.All(), Governor: governor}
	for _, f := range configure {
		f(&cfg)
	}
	svc := sandbox.New(cfg)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := svc.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	v, err := auth.NewVerifier(testSecret, nil)
	if err != nil {
		t.Fatal(err)
	}
	hc := Config{Version: "test", Service: svc, Verifier: v, AuthSecret: testSecret, AdminSecret: testAdminSecret}
	if change != nil {
		change(&hc)
	}
	a := &api{t: t, stall: new(sync.Once), stalled: make(chan struct{})}
	srv := httptest.NewUnstartedServer(New(hc))
	srv.Listener = &watchedListener{srv.Listener, a}
	srv.Start()
	t.Cleanup(srv.Close)
	a.url, a.service, a.verifier, a.tenant = srv.URL, svc, v, uuid.NewString()
	a.token = a.tokenOf("alice", a.tenant)
	return a
}

// watchedListener closes stalled.
type watchedListener struct {
	net.Listener
	a *api
}

func (l *watchedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &watchedConn{c, l.a}, nil
}

type watchedConn struct {
	net.Conn
	a *api
}

func (c *watchedConn) Write(b []byte) (int, error) {
	late := time.AfterFunc(slowAfter+time.Second, func() { c.a.stall.Do(func() { close(c.a.stalled) }) })
	defer late.Stop()
	return c.Conn.Write(b)
}

func (a *api) tokenOf(sub, tenant string) string {
	a.t.Helper()
	token, _, err := a.verifier.Issue(sub, tenant, time.Hour)
	if err != nil {
		a.t.Fatal(err)
	}
	return token
}

// answer is a response that was read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) error(t *testing.T) ErrorBody {
	t.Helper()
	var e ErrorBody
	if err := json.Unmarshal(a.body, &e); err != nil {
		t.Fatalf("status %d, body %q: %v", a.status, a.body, err)
	}
	return e
}

func into[T any](t *testing.T, a answer) T {
	t.Helper()
	var v T
	if a.status/100 != 2 {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Fatalf("%q: %v", a.body, err)
	}
	return v
}

func (a *api) do(method, path string, body any, header ...string) answer {
	a.t.Helper()
	var r io.Reader
	contentType := "application/json"
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	case []byte:
		r, contentType = bytes.NewReader(b), "application/octet-stream"
	default:
		data, err := json.Marshal(b)
		if err != nil {
			a.t.Fatal(err)
		}
		r = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, r)
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Authorization", "Bearer "+a.token)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, data}
}

type object = map[string]any

func (a *api) sandbox(in object) string {
	a.t.Helper()
	return into[struct{ ID string }](a.t, a.do(http.MethodPost, "/v1/sandboxes", in)).ID
}

func (a *api) exec(id, script string) execResult {
	a.t.Helper()
	return into[execResult](a.t, a.do(http.MethodPost, "/v1/sandboxes/"+id+"/exec-sync", object{"script": script}))
}

// version is what a sandbox was last committed as.
func (a *api) version(id string) float64 {
	a.t.Helper()
	return into[object](a.t, a.do(http.MethodGet, "/v1/sandboxes/"+id, nil))["version"].(float64)
}

func (a *api) want(got answer, status int, code string) ErrorBody {
	a.t.Helper()
	e := got.error(a.t)
	if got.status != status || e.Code != code {
		a.t.Errorf("got %d %s, want %d %s: %s", got.status, e.Code, status, code, got.body)
	}
	return e
}

func TestSandboxes(t *testing.T) {
	a := newAPI(t)
	made := into[object](t, a.do(http.MethodPost, "/v1/sandboxes", object{
		"name": "first", "env": object{"GREETING": "hi there"}, "files": object{"/home/user/a/b.txt": "text\n"},
		"python_runtime": nil, "labels": object{"k": "v"},
	}))
	id := made["id"].(string)
	for _, key := range []string{"id", "name", "owner", "createdAt", "python", "python_runtime", "javascript", "network"} {
		if _, ok := made[key]; !ok {
			t.Errorf("create does not answer %s: %v", key, made)
		}
	}
	if made["owner"] != "alice" || made["name"] != "first" {
		t.Errorf("%v", made)
	}
	if _, err := time.Parse("2006-01-02T15:04:05.000Z", made["createdAt"].(string)); err != nil {
		t.Error(err)
	}
	unused := a.sandbox(object{"name": "unused"})
	got := into[object](t, a.do(http.MethodGet, "/v1/sandboxes/"+unused, nil))
	a.do(http.MethodDelete, "/v1/sandboxes/"+unused, nil)
	if v, ok := got["lastUsedAt"]; !ok || v != nil {
		t.Errorf("lastUsedAt of an unused sandbox: %v, %v", v, ok)
	}
	if r := a.exec(id, `echo "$GREETING"; cat a/b.txt`); r.Stdout != "hi there\ntext\n" {
		t.Errorf("%+v", r)
	}
	if r := a.exec(id, "echo x > new"); !r.Committed {
		t.Errorf("a write is not committed: %+v", r)
	}
	got = into[object](t, a.do(http.MethodGet, "/v1/sandboxes/"+id, nil))
	if got["lastUsedAt"] == nil || got["version"].(float64) < 1 {
		t.Errorf("after use: %v", got)
	}
	second := a.sandbox(object{"name": "second"})
	list := into[struct {
		Sandboxes  []sandboxSummary
		NextCursor string
	}](t, a.do(http.MethodGet, "/v1/sandboxes", nil))
	if len(list.Sandboxes) != 2 || list.Sandboxes[0].ID != second || list.Sandboxes[1].ID != id {
		t.Errorf("list: %+v", list)
	}
	page := into[struct {
		Sandboxes  []sandboxSummary
		NextCursor string
	}](t, a.do(http.MethodGet, "/v1/sandboxes?limit=1", nil))
	rest := into[struct{ Sandboxes []sandboxSummary }](t, a.do(http.MethodGet,
		"/v1/sandboxes?limit=1&cursor="+page.NextCursor, nil))
	if len(page.Sandboxes) != 1 || page.Sandboxes[0].ID != second || len(rest.Sandboxes) != 1 ||
		rest.Sandboxes[0].ID != id {
		t.Errorf("pages: %+v, %+v", page, rest)
	}
	if got := into[object](t, a.do(http.MethodPatch, "/v1/sandboxes/"+id,
		object{"name": "renamed", "labels": object{"a": "b"}})); got["name"] != "renamed" {
		t.Errorf("patch: %v", got)
	}
	if got := a.do(http.MethodDelete, "/v1/sandboxes/"+id, nil); got.status != 204 {
		t.Errorf("delete: %d", got.status)
	}
	a.want(a.do(http.MethodGet, "/v1/sandboxes/"+id, nil), 404, "SANDBOX_NOT_FOUND")
	a.want(a.do(http.MethodPost, "/v1/sandboxes/"+id+"/exec-sync", object{"script": "true"}), 404, "SANDBOX_NOT_FOUND")
}

func TestCreateIsAtomic(t *testing.T) {
	a := newAPI(t)
	a.want(a.do(http.MethodPost, "/v1/sandboxes", object{"files": object{"/a": "1", "/a/b": "2"}}), 400, "ENOTDIR")
	if list := into[struct{ Sandboxes []any }](t, a.do(http.MethodGet, "/v1/sandboxes", nil)); len(list.Sandboxes) != 0 {
		t.Errorf("a sandbox was left behind: %v", list)
	}
}

func TestOwnership(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{"files": object{"/home/user/f": "x"}})
	routes := []struct {
		method, path string
		body         any
	}{
		{http.MethodGet, "", nil}, {http.MethodPatch, "", object{"name": "x"}}, {http.MethodDelete, "", nil},
		{http.MethodGet, "/files/home/user/f", nil}, {http.MethodPut, "/files/home/user/f", []byte("y")},
		{http.MethodPatch, "/files/home/user/f", object{"oldString": "x", "newString": "y"}},
		{http.MethodDelete, "/files/home/user/f", nil},
		{http.MethodPost, "/writeFiles", object{"files": object{"/a": "b"}}},
		{http.MethodPost, "/mkdir", object{"path": "/d"}}, {http.MethodGet, "/tree", nil},
		{http.MethodPost, "/ingest-files", object{"files": object{"a": ""}}},
		{http.MethodPost, "/exec-sync", object{"script": "true"}},
		{http.MethodPost, "/fork", object{}}, {http.MethodPost, "/snapshots", object{"name": "n"}},
		{http.MethodGet, "/snapshots", nil},
		{http.MethodPost, "/restore", object{"snapshot": "00000000-0000-4000-8000-000000000000"}},
		{http.MethodPost, "/exec", object{"script": "true"}}, {http.MethodPost, "/exec-sync-batch",
			object{"scripts": []object{{"id": "1", "script": "true"}}}},
	}
	alice := a.token
	for _, r := range routes {
		a.token = a.tokenOf("mallory", a.tenant)
		if e := a.want(a.do(r.method, "/v1/sandboxes/"+id+r.path, r.body), 403, "FORBIDDEN"); e.Applied != "no" {
			t.Errorf("%s %s: applied %s", r.method, r.path, e.Applied)
		}
		a.token = a.tokenOf("alice", "elsewhere")
		a.want(a.do(r.method, "/v1/sandboxes/"+id+r.path, r.body), 404, "SANDBOX_NOT_FOUND")
		a.token = alice
		a.want(a.do(r.method, "/v1/sandboxes/00000000-0000-4000-8000-000000000000"+r.path, r.body), 404, "SANDBOX_NOT_FOUND")
		bad, code := 400, "EINVAL"
		if r.method == http.MethodGet && r.path != "/snapshots" {
			bad, code = 404, "SANDBOX_NOT_FOUND"
		}
		a.want(a.do(r.method, "/v1/sandboxes/a.b"+r.path, r.body), bad, code)
	}
	if got := a.do(http.MethodGet, "/v1/sandboxes/"+id+"/files/home/user/f", nil); string(got.body) != "x" {
		t.Errorf("the file was changed: %q", got.body)
	}
}

func TestFiles(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{})
	base := "/v1/sandboxes/" + id
	file := base + "/files/home/user/dir/data.bin"
	content := bytes.Repeat([]byte("0123456789abcdef"), 10_000) // more than two chunks
	if got := a.do(http.MethodPut, file, content); got.status != 204 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	got := a.do(http.MethodGet, file, nil)
	if !bytes.Equal(got.body, content) {
		t.Fatalf("%d bytes of %d", len(got.body), len(content))
	}
	for k, v := range map[string]string{"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'"} {
		if got.header.Get(k) != v {
			t.Errorf("%s: %q", k, got.header.Get(k))
		}
	}
	if !strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("disposition %q", got.header.Get("Content-Disposition"))
	}
	var stat fileStat
	if err := json.Unmarshal([]byte(got.header.Get("X-FS-Stat")), &stat); err != nil || stat.Kind != "file" ||
		stat.Mode != 0o644 || stat.Size != int64(len(content)) {
		t.Errorf("%+v, %v", stat, err)
	}
	etag := got.header.Get("ETag")
	if part := a.do(http.MethodGet, file, nil, "Range", "bytes=65530-65545"); part.status != 206 ||
		!bytes.Equal(part.body, content[65530:65546]) {
		t.Errorf("range: %d %q", part.status, part.body)
	}
	if same := a.do(http.MethodGet, file, nil, "If-None-Match", etag); same.status != 304 {
		t.Errorf("If-None-Match: %d", same.status)
	}
	a.exec(id, "chmod 755 dir/data.bin; ln -s data.bin dir/link")
	a.want(a.do(http.MethodPut, file, []byte("y"), "If-Match", `"other"`), 412, "PRECONDITION_FAILED")
	if got := a.do(http.MethodPut, file, []byte("new"), "If-Match", etag); got.status != 204 {
		t.Errorf("If-Match: %d %s", got.status, got.body)
	}
	if r := a.exec(id, "stat -c %a dir/data.bin; cat dir/link"); r.Stdout != "755\nnew" {
		t.Errorf("the mode is not kept: %q", r.Stdout)
	}
	a.want(a.do(http.MethodGet, base+"/files/home/user/none", nil), 404, "ENOENT")
	if e := a.want(a.do(http.MethodGet, base+"/files/home/user/dir", nil), 400, "EISDIR"); e.Message != "is_directory" {
		t.Errorf("%+v", e)
	}
	a.want(a.do(http.MethodDelete, base+"/files/home/user/dir", nil), 409, "ENOTEMPTY")
	if got := a.do(http.MethodDelete, base+"/files/home/user/dir?recursive=true", nil); got.status != 204 {
		t.Errorf("%d %s", got.status, got.body)
	}
	a.want(a.do(http.MethodDelete, base+"/files/home/user/dir", nil), 404, "ENOENT")
}

func TestEdit(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{"files": object{"/home/user/f.txt": "one two two 😀\n"}})
	base := "/v1/sandboxes/" + id
	file := base + "/files/home/user/f.txt"
	edit := func(in any) answer { return a.do(http.MethodPatch, file, in) }
	a.want(edit(object{"oldString": "two", "newString": "2"}), 409, "EDIT_NOT_UNIQUE")
	a.want(edit(object{"oldString": "three", "newString": "3"}), 409, "EDIT_NO_MATCH")
	a.want(edit(object{"oldString": "one", "newString": "one"}), 400, "INVALID_INPUT")
	a.want(edit(object{"oldString": "", "newString": "x"}), 400, "INVALID_INPUT")
	a.want(edit(`{"oldString":"\ud83d","newString":"x"}`), 400, "EDIT_LONE_SURROGATE")
	if got := a.do(http.MethodGet, file, nil); string(got.body) != "one two two 😀\n" {
		t.Fatalf("a rejected edit changed the file: %q", got.body)
	}
	r := into[struct {
		Path         string
		Replacements int
		Size         int64
	}](t, edit(object{"oldString": "two", "newString": "2", "replaceAll": true}))
	if r.Path != "/home/user/f.txt" || r.Replacements != 2 || r.Size != int64(len("one 2 2 😀\n")) {
		t.Errorf("%+v", r)
	}
	a.do(http.MethodPut, base+"/files/home/user/many", bytes.Repeat([]byte("a"), 1<<20))
	a.want(a.do(http.MethodPatch, base+"/files/home/user/many",
		object{"oldString": "a", "newString": strings.Repeat("b", 1<<20), "replaceAll": true}), 413, "EFBIG")
	a.want(a.do(http.MethodPatch, base+"/files/dev/zero", object{"oldString": "a", "newString": "b"}), 413, "EFBIG")
	a.do(http.MethodPut, base+"/files/home/user/bin", []byte("a\x00\xff"))
	a.want(a.do(http.MethodPatch, base+"/files/home/user/bin", object{"oldString": "a", "newString": "b"}), 400,
		"EDIT_BINARY")
}

func TestWriteFilesMkdirTree(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{})
	base := "/v1/sandboxes/" + id
	if got := a.do(http.MethodPost, base+"/writeFiles", object{"files": object{"/srv/a": "1",
		"/srv/b/c": "22"}}); got.status != 204 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	a.want(a.do(http.MethodPost, base+"/writeFiles", object{"files": object{"/srv/new": "1", "/srv/a/x": "2"}}), 400,
		"ENOTDIR")
	a.want(a.do(http.MethodGet, base+"/files/srv/new", nil), 404, "ENOENT")
	a.want(a.do(http.MethodPost, base+"/writeFiles", object{"files": object{"relative": "1"}}), 400, "INVALID_INPUT")
	if got := a.do(http.MethodPost, base+"/mkdir", object{"path": "/srv/d"}); got.status != 204 {
		t.Errorf("%d %s", got.status, got.body)
	}
	a.want(a.do(http.MethodPost, base+"/mkdir", object{"path": "/srv/d"}), 409, "EEXIST")
	a.want(a.do(http.MethodPost, base+"/mkdir", object{"path": "/srv/x/y"}), 404, "ENOENT")
	if got := a.do(http.MethodPost, base+"/mkdir", object{"path": "/srv/x/y", "recursive": true}); got.status != 204 {
		t.Errorf("%d %s", got.status, got.body)
	}
	type entry = struct {
		Path, Kind string
		Size       int64
	}
	paths := func(es []entry) (out []string) {
		for _, e := range es {
			out = append(out, e.Path+":"+e.Kind)
		}
		return out
	}
	all := into[[]entry](t, a.do(http.MethodGet, base+"/tree?prefix=/srv", nil))
	want := []string{"/srv/a:file", "/srv/b:dir", "/srv/b/c:file", "/srv/d:dir", "/srv/x:dir", "/srv/x/y:dir"}
	if got := paths(all); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := paths(into[[]entry](t, a.do(http.MethodGet, base+"/tree?prefix=/srv&depth=1", nil))); !slices.Equal(got,
		[]string{"/srv/a:file", "/srv/b:dir", "/srv/d:dir", "/srv/x:dir"}) {
		t.Errorf("%v", got)
	}
	if got := a.do(http.MethodGet, base+"/tree?prefix=/srv/d", nil); strings.TrimSpace(string(got.body)) != "[]" {
		t.Errorf("an empty directory: %s", got.body)
	}
	if nd := a.do(http.MethodGet, base+"/tree?prefix=/srv", nil, "Accept", "application/x-ndjson"); bytes.Count(nd.body,
		[]byte("\n")) != len(want) {
		t.Errorf("NDJSON: %s", nd.body)
	}
	a.want(a.do(http.MethodGet, base+"/tree?depth=0", nil), 400, "INVALID_INPUT")
	a.want(a.do(http.MethodGet, base+"/tree?prefix=srv", nil), 400, "INVALID_INPUT")
}

func TestIngest(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{})
	base := "/v1/sandboxes/" + id
	ingest := func(in any) answer { return a.do(http.MethodPost, base+"/ingest-files", in) }
	b64 := base64.StdEncoding.EncodeToString
	got := into[ingestedBody](t, ingest(object{"files": object{"src/a.go": b64([]byte("package a\n")),
		"bin": b64([]byte{0, 255})}, "modes": object{"bin": 0o755}, "symlinks": object{"l": "src/a.go"}}))
	if got.Status != "ok" || got.FileCount != 3 {
		t.Errorf("%+v", got)
	}
	if r := a.exec(id, "cat l; stat -c %a bin; wc -c < bin"); r.Stdout != "package a\n755\n2\n" {
		t.Errorf("%q", r.Stdout)
	}
	for _, c := range []struct {
		in   any
		code string
		want string
	}{
		{object{"files": object{"../x": "", "/abs": "", "a//b": "", "a/./b": "", "ok": "", "n\x00l": ""}}, "INVALID_INPUT",
			"invalid paths"},
		{object{"files": object{"a": "no base64"}}, "INVALID_INPUT", "invalid base64: a"},
		{object{"basePath": "relative", "files": object{}}, "INVALID_INPUT", "basePath"},
		{"{", "INVALID_INPUT", "Invalid JSON body"},
	} {
		if e := a.want(ingest(c.in), 400, c.code); len(e.Details) == 0 || !strings.HasPrefix(e.Details[0], c.want) {
			t.Errorf("%v: %v", c.in, e.Details)
		}
	}
	a.exec(id, "ln -s src alias")
	a.want(ingest(object{"files": object{"src/same": "", "alias/same": ""}}), 409, "EEXIST")
	if r := a.exec(id, "ls src"); r.Stdout != "a.go\n" {
		t.Errorf("a failed ingest left something: %q", r.Stdout)
	}
}

func TestExecSync(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{})
	base := "/v1/sandboxes/" + id
	raw := into[object](t, a.do(http.MethodPost, base+"/exec-sync",
		object{"script": "echo out; echo err >&2; exit 3", "retryOn5xx": true}))
	if raw["stdout"] != "out\n" || raw["stderr"] != "err\n" || raw["exitCode"] != 3.0 || raw["timedOut"] != false {
		t.Errorf("%v", raw)
	}
	if v, ok := raw["exitSignal"]; !ok || v != nil {
		t.Errorf("exitSignal %v", v)
	}
	for _, ct := range []string{"text/plain", "text/x-shellscript; charset=utf-8"} {
		if r := into[execResult](t, a.do(http.MethodPost, base+"/exec-sync?timeoutMs=5000", `echo "bare $((1+1))"`,
			"Content-Type", ct)); r.Stdout != "bare 2\n" {
			t.Errorf("%s: %+v", ct, r)
		}
	}
	a.want(a.do(http.MethodPost, base+"/exec-sync", "<x/>", "Content-Type", "application/xml"), 415,
		"UNSUPPORTED_MEDIA_TYPE")
	if r := into[execResult](t, a.do(http.MethodPost, base+"/exec-sync",
		object{"script": "pwd; echo $A; cat", "cwd": "/tmp", "env": object{"A": "b"},
			"stdin": "in"})); r.Stdout != "/tmp\nb\nin" {
		t.Errorf("%+v", r)
	}
	if r := into[execResult](t, a.do(http.MethodPost, base+"/exec-sync",
		object{"script": "x=1; echo $x", "debug": true})); r.Stderr != "+ x=1\n+ echo 1\n" {
		t.Errorf("debug: %q", r.Stderr)
	}
	a.exec(id, "mkdir w; cd w; export KEPT=yes; local_only=1")
	if r := a.exec(id, `pwd; echo "$KEPT$local_only"`); r.Stdout != "/home/user/w\nyes\n" {
		t.Errorf("state between scripts: %q", r.Stdout)
	}
	if e := a.want(a.do(http.MethodPost, base+"/exec-sync",
		object{"script": "echo part; echo x > /home/user/late; sleep 60", "timeoutMs": 300}), 408,
		"EXEC_TIMEOUT"); !e.TimedOut || e.Stdout == nil || *e.Stdout != "part\n" || e.DurationMs == nil || e.Applied != "no" {
		t.Errorf("%+v", e)
	}
	a.want(a.do(http.MethodGet, base+"/files/home/user/late", nil), 404, "ENOENT")
	if e := a.want(a.do(http.MethodPost, base+"/exec-sync", object{"script": "echo x > /home/user/ro", "readOnly": true}),
		422, "EREADONLY_VIOLATION"); e.Applied != "no" {
		t.Errorf("%+v", e)
	}
	r := into[execResult](t, a.do(http.MethodPost, base+"/exec-sync",
		object{"script": "echo x > /home/user/at; false", "atomic": true}))
	if r.ExitCode != 1 || r.Committed {
		t.Errorf("atomic: %+v", r)
	}
	a.want(a.do(http.MethodGet, base+"/files/home/user/at", nil), 404, "ENOENT")
}

// Options, functions and aliases live on between the runs of a session, and nowhere else.
func TestSession(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{})
	base := "/v1/sandboxes/" + id
	run := func(session bool, script string) execResult {
		t.Helper()
		return into[execResult](t, a.do(http.MethodPost, base+"/exec-sync", object{"script": script, "session": session}))
	}
	first := run(true,
		"set -o pipefail; shopt -s extglob expand_aliases; alias hi='echo hello'\nf() { echo \"f $1\"; }; export -f f")
	if first.ExitCode != 0 || !first.Committed {
		t.Fatalf("%+v", first)
	}
	const probe = "shopt -q extglob && echo ext; set -o | grep pipefail | tr -d ' \\t'; f x 2>&1 | tail -1; type -t hi"
	const kept = "ext\npipefailon\nf x\nalias\n"
	if r := run(true, probe); r.Stdout != kept {
		t.Errorf("in the session: %q %q", r.Stdout, r.Stderr)
	}
	if r := run(false, "cd /tmp; "+probe); r.Stdout != "pipefailoff\nbash: line 1: f: command not found\n" {
		t.Errorf("outside of the session: %q", r.Stdout)
	}
	if r := run(true, "hi you; bash -c 'f sub'; "+probe); r.Stdout != "hello you\nf sub\n"+kept {
		t.Errorf("after another run: %q %q", r.Stdout, r.Stderr)
	}
	if r := run(true, "unset -f f; unalias hi; shopt -u extglob; set +o pipefail"); r.ExitCode != 0 {
		t.Errorf("%+v", r)
	}
	if r := run(true, probe); r.Stdout != "pipefailoff\nbash: line 1: f: command not found\n" {
		t.Errorf("after it was taken back: %q", r.Stdout)
	}
	if r := run(true, "g() { :; }; eval \"f() { echo $(printf '%300000s' | tr ' ' x); }\""); r.ExitCode != 0 ||
		!strings.Contains(r.Stderr, "session: ") {
		t.Errorf("too much to keep: exit %d, %q", r.ExitCode, r.Stderr)
	}
	if r := run(true, "type -t g f; set -n"); r.Stdout != "" {
		t.Errorf("kept more than the limit: %q", r.Stdout)
	}
	if r := run(true, "echo still"); r.Stdout != "still\n" {
		t.Errorf("set -n outlived its run: %q", r.Stdout)
	}
}

func TestExecValidation(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{})
	path := "/v1/sandboxes/" + id + "/exec-sync"
	for name, body := range map[string]any{
		"not JSON": "{", "empty": "", "no script": object{}, "script a number": object{"script": 1},
		"timeout 0":        object{"script": "", "timeoutMs": 0},
		"timeout too long": object{"script": "", "timeoutMs": 300_001}, "relative cwd": object{"script": "", "cwd": "x"},
		"env name":  object{"script": "", "env": object{"A=B": ""}},
		"env value": object{"script": "", "env": object{"A": 1}}, "array": "[]", "null": "null",
	} {
		e := a.want(a.do(http.MethodPost, path, body), 400, "INVALID_INPUT")
		if e.Message != "validation_error" || len(e.Details) == 0 || e.Applied != "no" {
			t.Errorf("%s: %+v", name, e)
		}
		if strings.Contains(fmt.Sprint(e), "script a number") {
			t.Errorf("%s: the submitted value is echoed", name)
		}
	}
	a.want(a.do(http.MethodPost, path, `{"script":"`+strings.Repeat("x", 5*maxScript)+`"}`), 413, "PAYLOAD_TOO_LARGE")
}

func TestBatch(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{})
	path := "/v1/sandboxes/" + id + "/exec-sync-batch"
	run := func(in object) []batchResult {
		return into[struct{ Results []batchResult }](t, a.do(http.MethodPost, path, in)).Results
	}
	rs := run(object{"scripts": []object{{"id": "a", "script": "mkdir d; cd d"},
		{"id": "b", "script": "pwd; echo 1 > f; exit 2"}, {"id": "c", "script": "cat f"}}})
	if len(rs) != 3 || rs[1].Stdout != "/home/user/d\n" || rs[1].ExitCode != 2 || rs[2].Stdout != "1\n" ||
		rs[2].ID != "c" {
		t.Errorf("%+v", rs)
	}
	rs = run(object{"readOnly": true, "scripts": []object{{"id": "1", "script": "cat /home/user/d/f"},
		{"id": "2", "script": "echo two"}}})
	if rs[0].Stdout != "1\n" || rs[1].Stdout != "two\n" {
		t.Errorf("%+v", rs)
	}
	a.want(a.do(http.MethodPost, path, object{"readOnly": true,
		"scripts": []object{{"id": "1", "script": "echo"}, {"id": "2", "script": "rm -rf /home/user/d"}}}), 422,
		"EREADONLY_VIOLATION")
	rs = run(object{"timeoutMs": 400, "scripts": []object{{"id": "1", "script": "echo first > /home/user/kept"},
		{"id": "2", "script": "sleep 60"}, {"id": "3", "script": "echo never"}}})
	if rs[0].ExitCode != 0 || rs[1].ExitCode != -1 || rs[1].Error != "timeout" || rs[2].ExitCode != -1 ||
		rs[2].Error != "timeout" {
		t.Errorf("%+v", rs)
	}
	if r := a.exec(id, "cat /home/user/kept"); r.Stdout != "first\n" {
		t.Errorf("the first script's commit is gone: %+v", r)
	}
	a.want(a.do(http.MethodPost, path, object{"scripts": []object{}}), 400, "INVALID_INPUT")
	a.want(a.do(http.MethodPost, path, object{"scripts": slices.Repeat([]object{{"id": "x", "script": ""}}, 51)}), 400,
		"INVALID_INPUT")
}

// open starts a stream and returns its reader and a way to hang up.
func (a *api) open(id string, in object) (io.Reader, func()) {
	a.t.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		a.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(a.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+"/v1/sandboxes/"+id+"/exec", bytes.NewReader(data))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+a.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	if ct := res.Header.Get("Content-Type"); ct != "text/event-stream" {
		a.t.Fatalf("content type %q", ct)
	}
	return res.Body, func() { cancel(); res.Body.Close() }
}

func TestStreamSendsOutputWhileTheScriptRuns(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{})
	r, hangUp := a.open(id, object{"script": "echo first; sleep 30; echo second"})
	defer hangUp()
	buf := make([]byte, 4096)
	n, err := r.Read(buf) // would not return before the end of the sleep if output were held back
	if err != nil || !strings.Contains(string(buf[:n]), `"data":"first\n"`) {
		t.Fatalf("%q, %v", buf[:n], err)
	}
}

func TestStreamEndsWithAnExitEvent(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{})
	for name, c := range map[string]struct {
		in          object
		exit        int
		short, code string
	}{
		"plain":     {object{"script": "echo hi; echo e >&2; exit 4"}, 4, "", ""},
		"timeout":   {object{"script": "sleep 60", "timeoutMs": 200}, -1, "timeout", "EXEC_TIMEOUT"},
		"read only": {object{"script": "touch x", "readOnly": true}, -1, "read_only_violation", "EREADONLY_VIOLATION"},
	} {
		r, hangUp := a.open(id, c.in)
		evs := sse(t, r)
		hangUp()
		last := evs[len(evs)-1]
		if last.T != "exit" || *last.ExitCode != c.exit || last.Error != c.short || last.DurationMs == nil {
			t.Errorf("%s: last event %+v", name, last)
		}
		if last.Code != c.code || c.code != "" && (last.Applied != "no" || last.Retryable == nil) {
			t.Errorf("%s: last event %+v", name, last)
		}
		// To a client of sql-fs an error event is the end.
		if errors := slices.DeleteFunc(evs,
			func(e event) bool { return e.T != "error" }); (len(errors) > 0) != (c.short == "read_only_violation") {
			t.Errorf("%s: %+v", name, errors)
		}
	}
	a.want(a.do(http.MethodPost, "/v1/sandboxes/00000000-0000-4000-8000-000000000000/exec", object{"script": "true"}), 404,
		"SANDBOX_NOT_FOUND")
}

func TestClientThatGoesAwayStopsTheScript(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{})
	r, hangUp := a.open(id, object{"script": "echo started; echo x > gone; sleep 250"})
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	hangUp()
	// The next writer would be told after a minute that the sandbox is locked if the script still held it.
	if res := a.exec(id, "ls"); res.Stdout != "" {
		t.Errorf("a stopped script has changed the tree: %q", res.Stdout)
	}
}

func TestNamesAndPaths(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{})
	base := "/v1/sandboxes/" + id
	put := func(escaped string) answer { return a.do(http.MethodPut, base+"/files/"+escaped, []byte("x")) }
	a.want(put("home/user/"+strings.Repeat("n", 256)), 400, "ENAMETOOLONG")
	a.want(put("home/user/bad%FFname"), 400, "EILSEQ")
	a.want(put("home/user/nul%00"), 400, "EINVAL")
	if got := put("home/user/" + strings.Repeat("n", 255)); got.status != 204 {
		t.Errorf("255 bytes: %d %s", got.status, got.body)
	}
	for _, name := range []string{"ünïcode 名前", "a%b", "q?x#y", "back\\slash", "'\"", "-", "~"} {
		if got := put("home/user/" + url.PathEscape(name)); got.status != 204 {
			t.Errorf("%q: %d %s", name, got.status, got.body)
			continue
		}
		if got := a.do(http.MethodGet, base+"/files/home/user/"+url.PathEscape(name), nil); string(got.body) != "x" {
			t.Errorf("%q: %d %s", name, got.status, got.body)
		}
	}
}

// A path can climb only to the sandbox's own root, however it is written.
func TestPathTraversal(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{})
	host := strings.TrimPrefix(a.url, "http://")
	for _, p := range []string{"/files/../../../../etc/passwd", "/files/%2e%2e/%2e%2e/%2e%2e/etc/hostname",
		"/files/home/..%2f..%2f..%2fetc/shadow", "/files//etc/shadow"} {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(conn,
			"GET /v1/sandboxes/%s%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", id, p,
			a.token)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := io.ReadAll(conn)
		if err = errors.Join(err, conn.Close()); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(reply), "root:") {
			t.Errorf("%s: %s", p, reply)
		}
	}
	a.want(a.do(http.MethodPost, "/v1/sandboxes/"+id+"/ingest-files",
		object{"basePath": "/home/../etc", "files": object{"x": ""}}), 400, "INVALID_INPUT")
}

func TestBodiesOverTheLimit(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{})
	base := "/v1/sandboxes/" + id
	// Without a Content-Length, so that it is counted on the stream.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, a.url+base+"/files/home/user/big",
		io.LimitReader(zeros{}, maxFileBytes+1))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	a.want(answer{res.StatusCode, res.Header, body}, 413, "PAYLOAD_TOO_LARGE")
	a.want(a.do(http.MethodGet, base+"/files/home/user/big", nil), 404, "ENOENT")
	files := object{}
	for i := range maxFiles + 1 {
		files[fmt.Sprintf("/f%d", i)] = ""
	}
	a.want(a.do(http.MethodPost, base+"/writeFiles", object{"files": files}), 413, "PAYLOAD_TOO_LARGE")
	a.want(a.do(http.MethodPost, "/v1/sandboxes", object{"files": files}), 413, "PAYLOAD_TOO_LARGE")
	a.want(a.do(http.MethodPost, "/v1/sandboxes", object{"name": strings.Repeat("n", 256)}), 400, "INVALID_INPUT")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A quota is a disk that is full: the script learns it, and nothing of what is over it is stored.
func TestQuota(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{"limits": object{"maxBytes": 100_000, "maxInodes": 20}})
	r := a.exec(id,
		"head -c 90000 /dev/zero > a && echo a; head -c 90000 /dev/zero > b || echo full; rm b; for i in {1..50}; do : > f$i || { echo no more; break; }; done")
	if !strings.HasPrefix(r.Stdout, "a\nfull\n") || !strings.HasSuffix(r.Stdout, "no more\n") ||
		!strings.Contains(r.Stderr, "Disk quota exceeded") {
		t.Errorf("%+v", r)
	}
	a.want(a.do(http.MethodPut, "/v1/sandboxes/"+id+"/files/home/user/c", make([]byte, 50_000)), 413, "EDQUOT")
	a.want(a.do(http.MethodGet, "/v1/sandboxes/"+id+"/files/home/user/c", nil), 404, "ENOENT")
}

func TestForkSnapshotRestore(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{"name": "original", "files": object{"/home/user/f": "1"}})
	base := "/v1/sandboxes/" + id
	fork := into[object](t, a.do(http.MethodPost, base+"/fork", object{}))
	if fork["name"] != "original" || fork["id"] == id {
		t.Errorf("%v", fork)
	}
	a.exec(id, "echo 2 > f")
	a.exec(fork["id"].(string), "echo 3 > f; mkdir only")
	snap := into[object](t, a.do(http.MethodPost, base+"/snapshots", object{"name": "two"}))
	a.want(a.do(http.MethodPost, base+"/snapshots", object{"name": "two"}), 409, "EEXIST")
	a.exec(id, "rm f; touch g")
	if list := into[struct{ Snapshots []snapshotBody }](t, a.do(http.MethodGet, base+"/snapshots",
		nil)); len(list.Snapshots) != 1 || list.Snapshots[0].Name != "two" {
		t.Errorf("%+v", list)
	}
	into[object](t, a.do(http.MethodPost, base+"/restore", object{"snapshot": snap["id"]}))
	if r := a.exec(id, "cat f; echo *"); r.Stdout != "2\nf\n" {
		t.Errorf("after restore: %q", r.Stdout)
	}
	if r := a.exec(fork["id"].(string), "cat f; echo *"); r.Stdout != "3\nf only\n" {
		t.Errorf("the fork: %q", r.Stdout)
	}
	a.want(a.do(http.MethodPost, base+"/restore", object{"snapshot": "00000000-0000-4000-8000-000000000000"}), 404,
		"ENOENT")
	a.want(a.do(http.MethodPost, base+"/restore", object{"snapshot": "x"}), 400, "INVALID_INPUT")
}

func TestReadiness(t *testing.T) {
	down := map[string]string{}
	a := probed(t, Config{Ready: func(context.Context) map[string]string { return down }})
	if got := a.do(http.MethodGet, "/readyz", nil); got.status != http.StatusOK ||
		!strings.Contains(string(got.body), `"status":"ok"`) {
		t.Errorf("ready: %d %s", got.status, got.body)
	}
	down["postgres"] = "does not answer"
	if got := a.do(http.MethodGet, "/readyz", nil); got.status != http.StatusServiceUnavailable ||
		!strings.Contains(string(got.body), `"status":"degraded"`) ||
		!strings.Contains(string(got.body), `"postgres":"does not answer"`) {
		t.Errorf("not ready: %d %s", got.status, got.body)
	}
	if got := a.do(http.MethodGet, "/healthz", nil); got.status != http.StatusOK {
		t.Errorf("healthy all the same: %d %s", got.status, got.body)
	}
}

// A repeated request with an idempotency key is answered and not done again, on every route that takes one.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.sandbox(object{})
	send := func(path, body, key string) answer { return a.do(http.MethodPost, path, body, "Idempotency-Key", key) }
	routes := map[string]struct{ path, body, other string }{
		"create": {"/v1/sandboxes", `{"name":"n"}`, `{"name":"m"}`},
		"fork":   {"/v1/sandboxes/" + id + "/fork", `{"name":"n"}`, `{"name":"m"}`},
		"sync": {"/v1/sandboxes/" + id + "/exec-sync", `{"script":"echo sync >> log; echo $RANDOM"}`,
			`{"script":"echo other >> log"}`},
		"stream": {"/v1/sandboxes/" + id + "/exec", `{"script":"echo stream >> log; echo $RANDOM"}`,
			`{"script":"echo other >> log"}`},
		"batch": {"/v1/sandboxes/" + id + "/exec-sync-batch",
			`{"scripts":[{"id":"1","script":"echo batch >> log; echo $RANDOM"}]}`,
			`{"scripts":[{"id":"1","script":"echo other >> log"}]}`},
		"ingest": {"/v1/sandboxes/" + id + "/ingest-files", `{"files":{"in":"aW4K"}}`, `{"files":{"in":"b3RoZXI="}}`},
	}
	for name, r := range routes {
		k := name + " " + uuid.NewString()
		first := send(r.path, r.body, k)
		again := send(r.path, r.body, k)
		if first.status >= 300 || again.status != first.status || string(again.body) != string(first.body) {
			t.Errorf("%s: %d %s, the repeat %d %s", name, first.status, first.body, again.status, again.body)
		}
		other := send(r.path, r.other, k)
		if name == "stream" {
			if !strings.Contains(string(other.body), "IDEMPOTENCY_KEY_REUSED") {
				t.Errorf("%s with another body: %d %s", name, other.status, other.body)
			}
		} else if other.status != http.StatusConflict || !strings.Contains(string(other.body),
			`"code":"IDEMPOTENCY_KEY_REUSED"`) {
			t.Errorf("%s with another body: %d %s", name, other.status, other.body)
		}
		for _, bad := range []string{strings.Repeat("x", 256), "caf\u00e9"} {
			if got := send(r.path, r.body, bad); got.status != http.StatusBadRequest {
				t.Errorf("%s with key %q: %d %s", name, bad, got.status, got.body)
			}
		}
	}
	if got := a.exec(id, "sort log; cat in"); got.Stdout != "batch\nstream\nsync\nin\n" {
		t.Errorf("afterwards: %+v", got)
	}
}

// Without standard input a script reads /dev/null: rg searches the directory then, and an empty pipe otherwise.
func TestStdin_NotGivenIsTheNullDevice(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const script = "[ -c /dev/stdin ] && echo device; [ -p /dev/stdin ] && echo pipe; cat; rg needle"
	const null, pipe = "device\nf:needle\n", "pipe\n"
	id := a.sandbox(object{})
	if got := a.do(http.MethodPut, "/v1/sandboxes/"+id+"/files/home/user/f",
		[]byte("needle\n")); got.status != http.StatusNoContent {
		t.Fatal(got.status, string(got.body))
	}
	base := "/v1/sandboxes/" + id
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	for _, readOnly := range []bool{false, true} {
		for what, want := range map[string]string{"": null, "empty": pipe} {
			body := object{"script": script, "readOnly": readOnly}
			if what != "" {
				body["stdin"] = ""
			}
			check("exec-sync "+what, into[execResult](t, a.do(http.MethodPost, base+"/exec-sync", body)).Stdout, want)
			events, hangUp := a.open(id, body)
			var out strings.Builder
			for _, e := range sse(t, events) {
				if e.T == "stdout" {
					out.WriteString(*e.Data)
				}
			}
			hangUp()
			check("exec "+what, out.String(), want)
		}
		batch := object{"readOnly": readOnly, "scripts": []object{{"id": "1", "script": script},
			{"id": "2", "script": script}}}
		for _, r := range into[struct{ Results []batchResult }](t,
			a.do(http.MethodPost, base+"/exec-sync-batch", batch)).Results {
			check("batch", r.Stdout, null)
		}
	}
}
