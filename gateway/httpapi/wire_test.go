package httpapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/sandbox"
)

func TestCreateWithoutABody(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, body := range []any{nil, "{}"} {
		if got := into[sandboxSummary](t, a.do(http.MethodPost, "/v1/sandboxes", body)); got.ID == "" ||
			!strings.HasPrefix(got.Name, "sandbox-") {
			t.Errorf("%v: %+v", body, got)
		}
	}
	a.want(a.do(http.MethodPost, "/v1/sandboxes", "{"), 400, "INVALID_INPUT")
}

// A stream in which nothing comes says that it lives, so that no proxy gives up on it.
func TestStreamOfASilentScriptStaysAlive(t *testing.T) {
	t.Parallel()
	a := newAPIOf(t, func(c *Config) { c.Heartbeat = 50 * time.Millisecond })
	id := a.sandbox(object{})
	r, hangUp := a.open(id, object{"script": "sleep 1; echo over", "readOnly": true})
	defer hangUp()
	b, err := io.ReadAll(r)
	if n := strings.Count(string(b), ": still here\n\n"); err != nil || n < 2 || !strings.Contains(string(b), `over\n`) ||
		!strings.Contains(string(b), "event: exit") {
		t.Errorf("%d heartbeats: %s %v", n, b, err)
	}
}

func TestTreeOfNothingIsEmpty(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	base := "/v1/sandboxes/" + a.sandbox(object{"files": object{"/f": "x"}})
	for _, path := range []string{"/nope", "/home/user/nope/deeper"} {
		got := a.do(http.MethodGet, base+"/tree?prefix="+path, nil)
		if got.status != 200 || strings.TrimSpace(string(got.body)) != "[]" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		got = a.do(http.MethodGet, base+"/tree?prefix="+path, nil, "Accept", "application/x-ndjson")
		if got.status != 200 || len(got.body) != 0 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	a.want(a.do(http.MethodGet, base+"/tree?prefix=/f", nil), 400, "ENOTDIR")
	a.want(a.do(http.MethodGet, base+"/tree?at=none", nil), 404, "ENOENT")
	a.want(a.do(http.MethodGet, "/v1/sandboxes/00000000-0000-4000-8000-000000000000/tree", nil), 404, "SANDBOX_NOT_FOUND")
}

// The time of a batch is cut to what is allowed, however large; that of one script is refused.
func TestTimeOfABatchIsCut(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(c *sandbox.Config) { c.MaxTimeout = time.Second })
	base := "/v1/sandboxes/" + a.sandbox(object{})
	for _, ms := range []int64{300_001, 1 << 62} {
		in := object{"scripts": []object{{"id": "a", "script": "sleep 100"}}, "timeoutMs": ms, "perScriptTimeoutMs": ms}
		type results struct{ Results []batchResult }
		got := into[results](t, a.do(http.MethodPost, base+"/exec-sync-batch", in))
		if len(got.Results) != 1 || got.Results[0].Error != "timeout" {
			t.Errorf("%d: %+v", ms, got)
		}
	}
	a.want(a.do(http.MethodPost, base+"/exec-sync-batch", object{"scripts": []object{{"id": "a", "script": ":"}},
		"timeoutMs": -1}), 400, "INVALID_INPUT")
	a.want(a.do(http.MethodPost, base+"/exec-sync", object{"script": ":", "timeoutMs": 300_001}), 400, "INVALID_INPUT")
}

func TestRecursiveIsTrueOnly(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	file := "/v1/sandboxes/" + a.sandbox(object{"files": object{"/d/f": "x"}}) + "/files/d"
	for _, v := range []string{"1", "TRUE", "t", "yes", "false", ""} {
		a.want(a.do(http.MethodDelete, file+"?recursive="+v, nil), 409, "ENOTEMPTY")
	}
	if got := a.do(http.MethodDelete, file+"?recursive=true", nil); got.status != 204 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// A client that sends all of its body before it reads, as Python's http.client does, sees why it was refused.
func TestLargeBodiesAreRefusedAudibly(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.sandbox(object{})
	for _, c := range []struct {
		method, path string
		size         int
		declared     bool
		token        string
		status       int
		code         string
	}{
		{http.MethodPut, "/files/home/user/f", maxFileBytes + 20<<20, true, a.token, 413, "PAYLOAD_TOO_LARGE"},
		{http.MethodPut, "/files/home/user/f", maxFileBytes + 20<<20, false, a.token, 413, "PAYLOAD_TOO_LARGE"},
		{http.MethodPost, "/mkdir", 20 << 20, true, a.token, 413, "PAYLOAD_TOO_LARGE"},
		{http.MethodPost, "/exec-sync", 4*maxScript + 20<<20, false, a.token, 413, "PAYLOAD_TOO_LARGE"},
		{http.MethodPut, "/files/home/user/f", 20 << 20, true, "wrong", 401, "AUTH_INVALID"},
	} {
		u, err := url.Parse(a.url)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		w := bufio.NewWriter(conn)
		_, _ = fmt.Fprintf(w,
			"%s /v1/sandboxes/%s%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n",
			c.method, id, c.path, c.token)
		piece := []byte(strings.Repeat(" ", 1<<20))
		if c.declared {
			_, _ = fmt.Fprintf(w, "Content-Length: %d\r\n\r\n", c.size)
		} else {
			_, _ = fmt.Fprint(w, "Transfer-Encoding: chunked\r\n\r\n")
		}
		for range c.size >> 20 {
			if !c.declared {
				_, _ = fmt.Fprintf(w, "%x\r\n", len(piece))
			}
			_, _ = w.Write(piece)
			if !c.declared {
				_, _ = fmt.Fprint(w, "\r\n")
			}
		}
		if !c.declared {
			_, _ = fmt.Fprint(w, "0\r\n\r\n")
		}
		if err := w.Flush(); err != nil {
			t.Errorf("%s %s: sending: %v", c.method, c.path, err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s %s: %v", c.method, c.path, err)
		}
		var e ErrorBody
		err = json.NewDecoder(res.Body).Decode(&e)
		if err != nil || res.StatusCode != c.status || e.Code != c.code {
			t.Errorf("%s %s: %d %+v %v", c.method, c.path, res.StatusCode, e, err)
		}
		_ = conn.Close()
	}
}

// What a route does not know is refused, never passed over.
func TestUnknownParametersAreRefused(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	base := "/v1/sandboxes/" + a.sandbox(object{})
	for _, path := range []string{
		"/v1/sandboxes?names=x", "/v1/sandboxes?limit=1&limit=2", "/v1/sandboxes?label=k",
		"/v1/sandboxes?label=k=1&label=k=2", "/v1/sandboxes?a;b", "/v1/sandboxes?%zz=1",
		base + "?full=1", base + "/tree?dept=1", base + "/files/etc?recursive=true", base + "/export?format=sql",
		base + "/export?format=zip", base + "/events?since=1",
		base + "/kv?limits=1", base + "/execs?status=1", "/v1/quota?owner=bob",
	} {
		if e := a.want(a.do(http.MethodGet, path, nil), 400, "INVALID_INPUT"); len(e.Details) == 0 {
			t.Errorf("%s: no details", path)
		}
	}
	a.want(a.do(http.MethodPost, base+"/exec-sync?timeout=1", object{"script": ":"}), 400, "INVALID_INPUT")
	if got := a.do(http.MethodGet, base+"/export?format=tar", nil); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := a.do(http.MethodGet, "/healthz?now=1", nil); got.status != 200 {
		t.Errorf("a probe: %d %s", got.status, got.body)
	}
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	one := a.sandbox(object{"name": "one", "labels": object{"k": "1", "l": "a=b"}})
	two := a.sandbox(object{"name": "two", "labels": object{"k": "2"}})
	for query, want := range map[string]string{
		"": two + one, "name=one": one, "name=none": "", "label=k=2": two, "label=k%3D1&label=l%3Da=b": one,
		"name=two&label=k=1": "", "label=k=": "",
	} {
		var out struct{ Sandboxes []sandboxSummary }
		if err := json.Unmarshal(a.do(http.MethodGet, "/v1/sandboxes?"+query, nil).body, &out); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, s := range out.Sandboxes {
			got += s.ID
		}
		if got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// A token that was asked to be narrow is not made wide.
func TestTokensAreNotWiderThanAskedFor(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, body := range []string{`{"sub":"x","scopes":["read"]}`, `{"sub":"x","scope":"read"}`,
		`{"sub":"x","sandbox":"y"}`, `{"sub":"x","Scopes":[]}`} {
		for path, header := range map[string][2]string{bootstrapPath: {"X-Auth-Secret", testSecret},
			adminPath: {"X-Admin-Secret", testAdminSecret}} {
			if e := a.want(a.do(http.MethodPost, path, body, header[0], header[1]), 400,
				"INVALID_INPUT"); !strings.Contains(strings.Join(e.Details, " "), "unexpected") {
				t.Errorf("%s: %+v", body, e)
			}
		}
	}
}

func TestBootstrapRefusesUnknownTenants(t *testing.T) {
	t.Parallel()
	a := newAPIOf(t, func(c *Config) {
		v, err := auth.NewVerifier(testSecret, []string{"acme"})
		if err != nil {
			t.Fatal(err)
		}
		c.Verifier = v
	})
	for _, body := range []object{{"sub": "x", "tenant": "evil"}, {"sub": "x"}} {
		a.want(a.do(http.MethodPost, bootstrapPath, body, "X-Auth-Secret", testSecret), 401, "AUTH_UNKNOWN_TENANT")
	}
	if got := a.do(http.MethodPost, bootstrapPath, object{"sub": "x", "tenant": "acme"}, "X-Auth-Secret",
		testSecret); got.status != 201 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// Whoever guesses does not lock out who knows, from the same address too; guessing stays limited.
func TestWrongSecretsDoNotLockOutTheRightOne(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	try := func(secret string) answer {
		return a.do(http.MethodPost, bootstrapPath, object{"sub": "x"}, "X-Auth-Secret", secret)
	}
	for range 10 {
		if got := try(testSecret); got.status != 201 { // it does not count
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	for range 5 {
		a.want(try("wrong"), 403, "FORBIDDEN")
	}
	if got := try("wrong"); got.status != 429 || got.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := try(testSecret); got.status != 201 {
		t.Errorf("the right one: %d %s", got.status, got.body)
	}
}

// Owners of the same name in two tenants are two.
func TestAdminLimitCountsTenantAndSubject(t *testing.T) {
	t.Parallel()
	a := newAPIOf(t, func(c *Config) { c.TrustProxy = true })
	n := 0
	try := func(token string) answer {
		n++
		return a.do(http.MethodPost, adminPath, object{"sub": "x"}, "X-Admin-Secret", "wrong", "Authorization",
			"Bearer "+token, "X-Forwarded-For", fmt.Sprintf("10.0.0.%d", n))
	}
	for range 5 {
		a.want(try(a.token), 403, "FORBIDDEN")
	}
	a.want(try(a.token), 429, "RATE_LIMITED")
	a.want(try(a.tokenOf("alice", "another tenant")), 403, "FORBIDDEN")
}

// Errors that others would write in plain text have the one form, and every answer the headers that keep browsers out
// of trouble.
func TestEveryErrorHasTheOneForm(t *testing.T) {
	t.Parallel()
	a := newAPIOf(t, func(c *Config) {
		c.MCP = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Accept is missing", http.StatusBadRequest)
		})
	})
	base := "/v1/sandboxes/" + a.sandbox(object{"files": object{"/f": "0123456789"}})
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, c := range []struct {
		method, path string
		status       int
		code, says   string
		header       [2]string
	}{
		{http.MethodGet, base + "/files/f", 416, "RANGE_NOT_SATISFIABLE", "overlap", [2]string{"Range", "bytes=100-200"}},
		{http.MethodPost, base + "/tree", 405, "METHOD_NOT_ALLOWED", "GET, HEAD", [2]string{}},
		{http.MethodPut, "/healthz", 405, "METHOD_NOT_ALLOWED", "GET, HEAD", [2]string{}},
		{http.MethodOptions, "/v1/sandboxes", 405, "METHOD_NOT_ALLOWED", "GET, HEAD, POST", [2]string{}},
		{http.MethodGet, base + "/files//f", 307, "REDIRECT", "Location", [2]string{}},
		{http.MethodDelete, base + "/files/a/../f", 307, "REDIRECT", "Location", [2]string{}},
		{http.MethodGet, "/v1/nothing", 404, "NOT_FOUND", "no such route", [2]string{}},
		{http.MethodPost, "/mcp", 400, "INVALID_INPUT", "Accept is missing", [2]string{}},
		{http.MethodGet, base + "/files/f", 401, "AUTH_INVALID", "token", [2]string{"Authorization", "Bearer x"}},
		{http.MethodGet, base, 200, "", "", [2]string{}},
		{http.MethodGet, "/docs", 200, "", "", [2]string{}},
		{http.MethodGet, "/metrics", 200, "", "", [2]string{}},
		{http.MethodGet, base + "/files/f", 200, "", "", [2]string{}},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, a.url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+a.token)
		if c.header[0] != "" {
			req.Header.Set(c.header[0], c.header[1])
		}
		res, err := stay.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("%s %s: %d %s %.300s", c.method, c.path, res.StatusCode, res.Header, b)
		if res.Header.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(res.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
			t.Errorf("headers: %s", what)
		}
		var e ErrorBody
		if res.StatusCode != c.status {
			t.Error(what)
		} else if c.code != "" {
			err := json.Unmarshal(b, &e)
			if err != nil || e.Code != c.code || e.Applied != "no" || e.RequestID == "" ||
				!strings.Contains(e.Message, c.says) || !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
				t.Errorf("%v: %s", err, what)
			}
		}
		if c.status == 405 && res.Header.Get("Allow") != c.says || c.status == 307 && res.Header.Get("Location") == "" ||
			c.status == 416 && res.Header.Get("Content-Range") == "" {
			t.Errorf("%s", what)
		}
	}
}

func TestSnapshotsAreDeletedByName(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	base := "/v1/sandboxes/" + a.sandbox(object{}) + "/snapshots"
	id := into[snapshotBody](t, a.do(http.MethodPost, base, object{"name": "before: a/b"})).ID
	// A name can look like the id of another one: the id goes first.
	into[snapshotBody](t, a.do(http.MethodPost, base, object{"name": id}))
	count := func(want int) {
		t.Helper()
		var out struct{ Snapshots []snapshotBody }
		if err := json.Unmarshal(a.do(http.MethodGet, base, nil).body, &out); err != nil || len(out.Snapshots) != want {
			t.Errorf("%+v %v, want %d", out, err, want)
		}
	}
	count(2)
	a.want(a.do(http.MethodDelete, base+"/none", nil), 404, "ENOENT")
	a.do(http.MethodDelete, base+"/"+id, nil)
	a.want(a.do(http.MethodDelete, base+"/"+url.PathEscape("before: a/b"), nil), 404, "ENOENT")
	a.do(http.MethodDelete, base+"/"+id, nil)
	count(0)
	into[snapshotBody](t, a.do(http.MethodPost, base, object{"name": "before: a/b"}))
	if got := a.do(http.MethodDelete, base+"/"+url.PathEscape("before: a/b"), nil); got.status != 204 {
		t.Errorf("%d %s", got.status, got.body)
	}
	count(0)
}

// Several forks get a number behind a name that is as long as names get.
func TestForksOfLongNames(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	long := strings.Repeat("é", 255)
	base := "/v1/sandboxes/" + a.sandbox(object{"name": long})
	a.want(a.do(http.MethodPost, base+"/fork", object{"name": long, "count": 2}), 400, "INVALID_INPUT")
	var out struct {
		Name  string
		Forks []sandboxSummary
	}
	for count, name := range map[int]string{1: long, 2: strings.Repeat("é", 253) + "-1",
		10: strings.Repeat("é", 252) + "-1"} {
		if err := json.Unmarshal(a.do(http.MethodPost, base+"/fork", object{"count": count}).body, &out); err != nil ||
			out.Name != name {
			t.Errorf("%d: %q %v", count, out.Name, err)
		}
	}
	into[sandboxSummary](t, a.do(http.MethodPost, base+"/fork", object{"name": long}))
}

// Values that the database refuses are faults of the request.
func TestValuesThatTheDatabaseRefuses(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	base := "/v1/sandboxes/" + a.sandbox(object{})
	for _, c := range []struct{ method, path, body, code string }{
		{http.MethodPut, "/kv/k", `{"value":"\ud800"}`, "INVALID_INPUT"},
		{http.MethodPut, "/kv/k", `{"value":{"\udfff":1}}`, "INVALID_INPUT"},
		{http.MethodPut, "/kv/k", `{"value":1,"expectValue":["\ud800"]}`, "INVALID_INPUT"},
		{http.MethodPut, "/kv/k", `{"value":"\u0000"}`, "EINVAL"},
		{http.MethodPut, "/kv/k", `{"value":1e999999}`, "INVALID_INPUT"},
		{http.MethodGet, "/execs?since=9999999-01-01T00:00:00Z", "", "INVALID_INPUT"},
		{http.MethodGet, "/changes?since=99999999999999999999", "", "INVALID_INPUT"},
	} {
		a.want(a.do(c.method, base+c.path, c.body), 400, c.code)
	}
}

// A run that only reads is a use of the sandbox, too; its row comes behind its answer.
func TestLastUsedCountsReaders(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	base := "/v1/sandboxes/" + a.sandbox(object{})
	used := func() string {
		t.Helper()
		if at := into[sandboxDetail](t, a.do(http.MethodGet, base, nil)).LastUsedAt; at != nil {
			return *at
		}
		return ""
	}
	before := used()
	a.do(http.MethodPost, base+"/exec-sync", object{"script": "true", "readOnly": true})
	if err := a.service.Audited(t.Context()); err != nil {
		t.Fatal(err)
	}
	if used() <= before {
		t.Fatalf("a read-only run is no use: %q", used())
	}
}

// What outlives its script is ended with it, or when the caller's wait is over, and the answer says so.
func TestBackgroundProcessesEndWithTheScript(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.sandbox(object{})
	run := func(in object) execResult {
		t.Helper()
		return into[execResult](t, a.do(http.MethodPost, "/v1/sandboxes/"+id+"/exec-sync", in))
	}
	if r := run(object{"script": "sleep 100 & sleep 101 &"}); r.Ended != 2 || !strings.Contains(r.Stderr, "sleep 100") ||
		r.ExitCode != 0 || r.DurationMs > 60_000 {
		t.Errorf("%+v", r)
	}
	if r := run(object{"script": "{ sleep 0.2; echo late; } &", "backgroundWaitMs": 25_000}); r.Ended != 0 ||
		r.Stdout != "late\n" {
		t.Errorf("%+v", r)
	}
	if r := run(object{"script": "{ sleep 100; echo late; } &", "backgroundWaitMs": 100}); r.Ended != 1 ||
		r.Stdout != "" || r.DurationMs > 60_000 {
		t.Errorf("%+v", r)
	}
	a.want(a.do(http.MethodPost, "/v1/sandboxes/"+id+"/exec-sync", object{"script": ":", "backgroundWaitMs": -1}), 400,
		"INVALID_INPUT")
	r, hangUp := a.open(id, object{"script": "sleep 100 &"})
	defer hangUp()
	evs := sse(t, r)
	if last := evs[len(evs)-1]; last.T != "exit" || last.Ended != 1 {
		t.Errorf("%+v", evs)
	}
}
