package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// target is the handler that is fuzzed, without a network in between.
type target struct {
	http.Handler
	token, id string
}

func newTarget(f *testing.F) *target {
	f.Helper()
	st, err := store.Open(f.Context(), store.Config{URL: sqltest.URL(f)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(st.Close)
	svc := sandbox.New(sandbox.Config{Store: st, Commands: command.All(), Limits: proc.Limits{Steps: 100_000}})
	f.Cleanup(func() {
		if err := svc.Shutdown(f.Context()); err != nil && f.Context().Err() == nil {
			f.Error(err)
		}
	})
	v, err := auth.NewVerifier(testSecret, nil)
	if err != nil {
		f.Fatal(err)
	}
	token, _, err := v.Issue("owner", "test", 0)
	if err != nil {
		f.Fatal(err)
	}
	return &target{
		Handler: New(Config{Version: "test", Service: svc, Verifier: v, AuthSecret: testSecret, AdminSecret: testAdminSecret,
			MaxBytes: 1 << 20, MaxInodes: 200}),
		token: token, id: sqltest.Sandbox(f, sqltest.Pool(f)).String(),
	}
}

// send makes a request and checks what holds for every answer: no 500, an error has the one form, JSON is JSON.
func (g *target) send(t *testing.T, method, path, body, authorization string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequest(method, "/", strings.NewReader(body))
	u, err := url.Parse("http://example.com" + path)
	if err != nil {
		// No client can send it: what is fuzzed is the path, percent-encoded.
		u = &url.URL{Scheme: "http", Host: "example.com", Path: "/" + strings.TrimPrefix(path, "/")}
	}
	req.URL, req.RequestURI = u, u.RequestURI()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", authorization)
	w := httptest.NewRecorder()
	g.ServeHTTP(w, req.WithContext(t.Context()))
	if w.Code == http.StatusInternalServerError {
		t.Errorf("%s %q %q: %d %s", method, path, body, w.Code, w.Body)
	}
	if w.Code >= 400 {
		var e ErrorBody
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Code == "" || e.Message == "" || e.Applied != "no" {
			t.Errorf("%s %q %q: %d %s", method, path, body, w.Code, w.Body)
		}
		for _, word := range []string{"SQLSTATE", "pgbox.", "goroutine", "/usr/", "SELECT"} {
			if strings.Contains(w.Body.String(), word) && !strings.Contains(body, word) && !strings.Contains(path, word) {
				t.Errorf("%s %q %q: the answer leaks %q: %s", method, path, body, word, w.Body)
			}
		}
	} else if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") &&
		!strings.Contains(path, "/files/") && !json.Valid(w.Body.Bytes()) {
		t.Errorf("%s %q %q: not JSON: %q", method, path, body, w.Body)
	}
	return w
}

// JSON bodies of every route that takes one.
func FuzzBody(f *testing.F) {
	g := newTarget(f)
	base := "/v1/sandboxes/" + g.id
	routes := []struct{ method, path string }{
		{http.MethodPost, base + "/exec-sync"}, {http.MethodPost, base + "/exec-sync-batch"},
		{http.MethodPost, base + "/exec"}, {http.MethodPost, base + "/ingest-files"},
		{http.MethodPatch, base + "/files/home/user/f"}, {http.MethodPost, base + "/writeFiles"},
		{http.MethodPost, base + "/mkdir"}, {http.MethodPatch, base},
		{http.MethodPost, "/v1/sandboxes"}, {http.MethodPost, "/v1/auth/bootstrap"},
	}
	for i := range routes {
		for _, body := range []string{
			"", "{", "{}", "[]", "null", `"x"`, "1e999", `{"script":"echo hi"}`, `{"script":1}`,
			`{"script":null,"cwd":7,"env":[],"timeoutMs":-1}`,
			`{"script":"echo $A","env":{"A":"\u0000"},"cwd":"/tmp\u0000"}`, `{"script":"echo \ud83d","stdin":"\udfff"}`,
			`{"script":"x","timeoutMs":1e3,"timeoutMs":"a"}`,
			`{"scripts":[{"id":"1","script":"echo hi"},{"id":null}],"readOnly":true}`,
			`{"files":{"a":"eA=="},"basePath":"/home/user"}`, `{"files":{"../x":"eA==","":"?"}}`,
			`{"files":{"/a":"b"}}`, `{"files":{"/a/b":"x","/a":"y"},"name":"\u0000"}`,
			`{"path":"/a/b/../c\u0000","recursive":true}`, `{"path":"/\ud800"}`,
			`{"oldString":"a","newString":"b","replaceAll":true}`, `{"oldString":"","newString":"\ud800"}`,
			`{"name":"n","labels":{"\u0000":"x"},"limits":{"maxBytes":-1,"maxInodes":1e30},"expiresIn":"-1h"}`,
			`{"labels":{"k":"\ud800"},"env":{"":"x","A=B":"y","é\u0000":""}}`,
			`{"sub":"a","tenant":"\u0000","expiresIn":"forever"}`, strings.Repeat("[", 20_000),
			`{"a":` + strings.Repeat(`{"a":`, 20_000),
			"\xff\xfe{}", `{"script":"` + "\xff\xc0\x80" + `"}`,
		} {
			f.Add(uint8(i), body)
		}
	}
	f.Fuzz(func(t *testing.T, route uint8, body string) {
		r := routes[int(route)%len(routes)]
		g.send(t, r.method, r.path, body, "Bearer "+g.token)
	})
}

// The one header that decides who somebody is.
func FuzzAuthorization(f *testing.F) {
	g := newTarget(f)
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	unsigned := part(`{"alg":"none","typ":"JWT"}`) + "." + part(`{"sub":"owner","tenant":"test"}`) + "."
	for _, h := range []string{
		"", "Bearer", "Bearer ", "bearer x", "Basic b3duZXI6", "Bearer a.b.c", "Bearer ..", "Bearer " + unsigned,
		"Bearer " + g.token + "x", "Bearer " + g.token[:len(g.token)-2],
		"Bearer " + part(`{"alg":"HS256"}`) + "." + part(`{"sub":"owner"}`) + "." + part("sig"),
		"Bearer " + part(`{"alg":"RS256","jwk":{},"kid":"../../x"}`) + ".e30.e30",
		"Bearer " + strings.Repeat("a", 100_000), "Bearer \x00", "Bearer " + part(`{"alg":"HS256"}`) + "." +
			part(`{"sub":1,"exp":"x","tenant":[]}`) + ".", "Bearer " + strings.Repeat(".", 1000),
	} {
		f.Add(h)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if strings.TrimSpace(header) == "Bearer "+g.token {
			return
		}
		for _, path := range []string{"/v1/sandboxes", "/v1/sandboxes/" + g.id} {
			if w := g.send(t, http.MethodGet, path, "", header); w.Code != http.StatusUnauthorized {
				t.Errorf("%q is let in: %d %s", header, w.Code, w.Body)
			}
		}
	})
}

// Paths of the routes that name a file: what was put under a name is what is got under it, and nothing else changes.
func FuzzFilePath(f *testing.F) {
	g := newTarget(f)
	for _, p := range []string{
		"home/user/f", "", "/", "//", ".", "..", "../..", "home/user/../../etc/passwd",
		"home/user/" + strings.Repeat("n", 255), "home/user/" + strings.Repeat("n", 256), strings.Repeat("d/", 2100) + "f",
		"home/user/\x00", "home/user/\xff", "home/user/%2e%2e/x", "home/user/ü", "dev/null", "dev/zero", "dev/stdin",
		"proc/self/environ", "home/user/a\nb", "home/user/?x=1", "home/user/#x", "tmp/f/", "bin/ls/x", "etc", ";'\"\\",
	} {
		f.Add(p, "content")
	}
	f.Fuzz(func(t *testing.T, path, content string) {
		file := "/v1/sandboxes/" + g.id + "/files/" + (&url.URL{Path: path}).EscapedPath()
		if strings.Contains(path, "//") || strings.HasPrefix(path, "/") {
			file = "/v1/sandboxes/" + g.id + "/files/" + url.PathEscape(path)
		}
		token := "Bearer " + g.token
		put := g.send(t, http.MethodPut, file, content, token)
		got := g.send(t, http.MethodGet, file, "", token)
		if put.Code == http.StatusNoContent && !strings.HasPrefix(strings.TrimLeft(path, "/."), "dev/") {
			if got.Code != http.StatusOK || got.Body.String() != content {
				t.Errorf("%q: put %d, got %d %q, want %q", path, put.Code, got.Code, got.Body, content)
			}
			if !utf8.ValidString(path) || strings.Contains(path, "\x00") {
				t.Errorf("%q was accepted", path)
			}
		}
		g.send(t, http.MethodPatch, file, `{"oldString":"a","newString":"b"}`, token)
		g.send(t, http.MethodGet, "/v1/sandboxes/"+g.id+"/tree?depth=1&prefix="+url.QueryEscape("/"+path), "", token)
		if put.Code == http.StatusNoContent {
			if w := g.send(t, http.MethodDelete, file, "", token); w.Code != http.StatusNoContent {
				t.Errorf("%q cannot be deleted: %d %s", path, w.Code, fmt.Sprint(w.Body))
			}
		}
	})
}
