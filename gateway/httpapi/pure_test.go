package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/wire"
)

func TestWindowLimitsEachKeyAndTurns(t *testing.T) {
	w := newWindow(2, time.Minute)
	now := time.Unix(1000, 0)
	w.now = func() time.Time { return now }
	for i, want := range []bool{true, true, false} {
		if _, ok := w.take("a"); ok != want {
			t.Fatalf("attempt %d: %v", i, ok)
		}
	}
	if _, ok := w.take("b"); !ok {
		t.Fatal("another key is limited too")
	}
	now = now.Add(20 * time.Second)
	if wait, ok := w.take("a"); ok || wait != 40*time.Second {
		t.Fatalf("wait %v, %v", wait, ok)
	}
	now = now.Add(40 * time.Second)
	if _, ok := w.take("a"); !ok {
		t.Fatal("the window did not turn")
	}
}

func TestLoneSurrogate(t *testing.T) {
	for body, want := range map[string]bool{
		`{"a":"\ud83d\ude00"}`: false, `{"a":"\uD83D"}`: true, `{"a":"\ude00"}`: true, `{"a":"\ud83d x \ude00"}`: true,
		`{"a":"\\ud83d"}`: false, `{"a":"\\\ud83d"}`: true, `{"a":"\ud83d\ud83d\ude00"}`: true, `{"a":"plain"}`: false,
		`{"a":"\u00e9"}`: false,
	} {
		if got := loneSurrogate([]byte(body)); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
}

func decode(t *testing.T, body string) (*ingestRequest, *ErrorBody) {
	t.Helper()
	in, err := decodeIngest(context.Background(), json.NewDecoder(strings.NewReader(body)))
	var eb *ErrorBody
	if err != nil && !errors.As(err, &eb) {
		t.Fatalf("not an ErrorBody: %v", err)
	}
	return in, eb
}

func TestIngestBody(t *testing.T) {
	in, e := decode(t,
		`{"files":{"a/b":"aGk=","c":""},"modes":{"a/b":493},"symlinks":{"l":"a/b"},"basePath":"/srv","other":[1,{}]}`)
	if e != nil {
		t.Fatal(e)
	}
	if in.base != "/srv" || len(in.files) != 3 || string(in.files[0].Data) != "hi" || in.files[0].Mode != 0o755 ||
		in.files[2].Target != "a/b" {
		t.Fatalf("%+v", in)
	}
}

func TestIngestReportsEveryFault(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want []string
	}{
		"not JSON":     {`{"files":`, []string{"Invalid JSON body"}},
		"trailing":     {`{"files":{}} x`, []string{"Invalid JSON body"}},
		"array":        {`[]`, []string{"Invalid JSON body"}},
		"wrong type":   {`{"files":{"a":1}}`, []string{"Invalid JSON body"}},
		"files a list": {`{"files":[]}`, []string{"files: expected object"}},
		"nothing":      {`{}`, []string{"files: required"}},
		"base64":       {`{"files":{"a":"a","b":"aGk","c":"aGl="}}`, []string{"invalid base64: a, b, c"}},
		"base path": {`{"basePath":"/a/../b","files":{}}`, []string{"basePath: must match " + validBase.String() +
			" without .."}},
		"mode":          {`{"files":{"a":""},"modes":{"a":65536}}`, []string{`modes: "a": want permission bits`}},
		"empty symlink": {`{"symlinks":{"a":""}}`, []string{`symlinks: "a": want a target`}},
	} {
		_, e := decode(t, c.body)
		if e == nil || e.Code != string(wire.CodeInvalidInput) || !slices.Equal(e.Details, c.want) || e.Applied != "no" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestIngestCountsEntries(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"files":{`)
	for i := range maxIngestEntries + 5 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"f` + base64.RawURLEncoding.EncodeToString([]byte{byte(i), byte(i >> 8)}) + `":""`)
	}
	b.WriteString(`}}`)
	_, e := decode(t, b.String())
	if e == nil || !slices.Equal(e.Details, []string{"too many entries: 10005 (max 10000)"}) {
		t.Fatalf("%+v", e)
	}
}

// sse parses a whole stream into its events.
func sse(t *testing.T, r io.Reader) []event {
	t.Helper()
	var out []event
	name := ""
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		line := sc.Text()
		if n, ok := strings.CutPrefix(line, "event: "); ok {
			name = n
		}
		if d, ok := strings.CutPrefix(line, "data: "); ok {
			var ev event
			if err := json.Unmarshal([]byte(d), &ev); err != nil {
				t.Fatalf("%q: %v", d, err)
			}
			if ev.T != name {
				t.Fatalf("event %q says it is %q", name, ev.T)
			}
			out = append(out, ev)
		}
	}
	return out
}

func TestEventsKeepOrderAndWholeCharacters(t *testing.T) {
	rec := httptest.NewRecorder()
	e := newEvents(rec, time.Hour, func() { t.Error("the client is said to be gone") })
	stdout, stderr := e.stream("stdout"), e.stream("stderr")
	for _, b := range []byte("aé😀b\xff") {
		if _, err := stdout.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := stderr.Write([]byte("oops")); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Write([]byte("end")); err != nil {
		t.Fatal(err)
	}
	e.send(event{T: "exit"})
	e.close()
	var text strings.Builder
	evs := sse(t, rec.Body)
	for _, ev := range evs[:len(evs)-1] {
		text.WriteString("[" + ev.T[3:] + "]" + *ev.Data)
	}
	got := strings.ReplaceAll(strings.ReplaceAll(text.String(), "[out]", ""), "[err]", "|")
	if got != "aé😀b\ufffd|oopsend" || evs[len(evs)-1].T != "exit" {
		t.Fatalf("%q, %+v", got, evs)
	}
}

type brokenWriter struct{ http.ResponseWriter }

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestEventsTellTheScriptWhenTheClientIsGone(t *testing.T) {
	gone := make(chan struct{})
	e := newEvents(brokenWriter{httptest.NewRecorder()}, time.Hour, func() { close(gone) })
	w := e.stream("stdout")
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	<-gone
	if _, err := w.Write([]byte("y")); !errors.Is(err, errClientGone) {
		t.Fatalf("write after the client went: %v", err)
	}
	e.close()
}

// slowWriter lets one write through for each token.
type slowWriter struct {
	http.ResponseWriter
	tokens chan struct{}
}

func (s slowWriter) Write(b []byte) (int, error) {
	<-s.tokens
	return s.ResponseWriter.Write(b)
}

// Unwrap lets the stream flush.
func (s slowWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func TestEventsHoldBackAScriptWhoseReaderIsSlow(t *testing.T) {
	tokens := make(chan struct{})
	rec := httptest.NewRecorder()
	e := newEvents(slowWriter{rec, tokens}, time.Hour, func() { t.Error("gone") })
	w := e.stream("stdout")
	written := make(chan int, 100)
	block := []byte(strings.Repeat("x", maxPending/2))
	go func() {
		for i := range 8 {
			if _, err := w.Write(block); err != nil {
				t.Error(err)
			}
			written <- i
		}
		e.send(event{T: "exit"})
		e.close()
		close(written)
	}()
	n := 0
	for idle := time.NewTimer(200 * time.Millisecond); ; {
		select {
		case <-written:
			n++
			continue
		case <-idle.C:
		}
		break
	}
	if n == 8 {
		t.Fatal("the script was never held back")
	}
	close(tokens)
	for range written {
		n++
	}
	if n != 8 {
		t.Fatalf("%d of 8 writes", n)
	}
}

func newServer(t *testing.T, cfg Config) *server {
	t.Helper()
	if cfg.Service == nil {
		cfg.Service = new(sandbox.Service)
	}
	return New(cfg).(*server)
}

// Every route of rest-api is described, and every reference in the description resolves.
func TestOpenAPIDescribesEveryRoute(t *testing.T) {
	s := newServer(t, Config{Version: "test"})
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	var doc struct {
		OpenAPI    string                                `json:"openapi"`
		Paths      map[string]map[string]json.RawMessage `json:"paths"`
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Fatalf("version %q", doc.OpenAPI)
	}
	for _, route := range []string{
		"get /healthz", "get /readyz", "post /v1/auth/bootstrap", "post /v1/auth/admin",
		"post /v1/sandboxes", "get /v1/sandboxes", "get /v1/sandboxes/{id}", "patch /v1/sandboxes/{id}",
		"delete /v1/sandboxes/{id}",
		"get /v1/sandboxes/{id}/files/{path}", "put /v1/sandboxes/{id}/files/{path}", "patch /v1/sandboxes/{id}/files/{path}",
		"delete /v1/sandboxes/{id}/files/{path}",
		"post /v1/sandboxes/{id}/writeFiles", "post /v1/sandboxes/{id}/mkdir", "get /v1/sandboxes/{id}/tree",
		"post /v1/sandboxes/{id}/ingest-files",
		"post /v1/sandboxes/{id}/exec-sync", "post /v1/sandboxes/{id}/exec-sync-batch", "post /v1/sandboxes/{id}/exec",
		"get /v1/sandboxes/{id}/sessions", "delete /v1/sandboxes/{id}/sessions/{name}",
		"post /v1/sandboxes/{id}/fork", "post /v1/sandboxes/{id}/snapshots", "get /v1/sandboxes/{id}/snapshots",
		"post /v1/sandboxes/{id}/restore",
		"get /v1/sandboxes/{id}/execs", "get /v1/sandboxes/{id}/changes", "get /v1/sandboxes/{id}/history",
		"get /v1/sandboxes/{id}/blame",
		"post /v1/sandboxes/{id}/undo", "post /v1/sandboxes/{id}/redo", "post /v1/sandboxes/{id}/flatten",
		"get /v1/sandboxes/{id}/diff", "post /v1/sandboxes/{id}/merge",
		"delete /v1/sandboxes/{id}/snapshots/{snapshot}", "get /v1/images", "post /v1/images", "post /v1/images/tag",
		"delete /v1/images",
		"get /v1/sandboxes/{id}/kv", "get /v1/sandboxes/{id}/kv/{key...}", "put /v1/sandboxes/{id}/kv/{key...}",
		"delete /v1/sandboxes/{id}/kv/{key...}",
		"get /v1/sandboxes/{id}/export", "post /v1/sandboxes/{id}/import",
	} {
		method, path, _ := strings.Cut(route, " ")
		op, ok := doc.Paths[path][method]
		if !ok {
			t.Errorf("%s is not described", route)
			continue
		}
		if !strings.Contains(string(op), `"default"`) {
			t.Errorf("%s: its errors are not described", route)
		}
		// The described route is the one that answers: without a token it must be refused, not unknown.
		if strings.HasPrefix(path, "/v1/sandboxes") {
			rec := httptest.NewRecorder()
			s.ServeHTTP(rec, httptest.NewRequest(strings.ToUpper(method),
				strings.NewReplacer("{id}", "x", "{path}", "y").Replace(path), nil))
			if rec.Code == http.StatusNotFound {
				t.Errorf("%s is described but not served", route)
			}
		}
	}
	for _, ref := range strings.Split(rec.Body.String(), `"$ref":"#/components/schemas/`)[1:] {
		name, _, _ := strings.Cut(ref, `"`)
		if doc.Components.Schemas[name] == nil {
			t.Errorf("schema %q is referred to but missing", name)
		}
	}
}

func errorOf(t *testing.T, rec *httptest.ResponseRecorder) ErrorBody {
	t.Helper()
	var e ErrorBody
	if err := json.Unmarshal(rec.Body.Bytes(), &e); err != nil {
		t.Fatalf("status %d, body %q: %v", rec.Code, rec.Body, err)
	}
	return e
}

func TestBootstrapChecksTheSecretBeforeTheBody(t *testing.T) {
	const secret = "0123456789abcdef"
	v, err := auth.NewVerifier(secret, nil)
	if err != nil {
		t.Fatal(err)
	}
	post := func(s *server, secret, body string) *httptest.ResponseRecorder {
		rec := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, bootstrapPath, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Auth-Secret", secret)
		s.ServeHTTP(rec, r)
		return rec
	}
	s := newServer(t, Config{Verifier: v, AuthSecret: secret})
	if rec := post(s, "wrong", "not json"); rec.Code != 403 || errorOf(t, rec).Code != "FORBIDDEN" {
		t.Errorf("wrong secret: %d %s", rec.Code, rec.Body)
	}
	if rec := post(s, secret, "not json"); rec.Code != 400 || !slices.Equal(errorOf(t, rec).Details,
		[]string{"Invalid JSON body"}) {
		t.Errorf("bad body: %d %s", rec.Code, rec.Body)
	}
	if rec := post(s, secret, `{"sub":"","expiresIn":"2h"}`); rec.Code != 400 || len(errorOf(t, rec).Details) != 2 ||
		errorOf(t, rec).Message != "validation_error" {
		t.Errorf("invalid body: %d %s", rec.Code, rec.Body)
	}
	rec := post(s, secret, `{"sub":"alice","expiresIn":"never"}`)
	var out map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil || rec.Code != 201 || out["expiresAt"] != nil ||
		out["sub"] != "alice" {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	if id, err := v.Token(out["token"].(string)); err != nil || id.Subject != "alice" {
		t.Errorf("the issued token: %+v, %v", id, err)
	}
	for range 4 {
		post(s, "wrong", "")
	}
	if rec := post(s, "wrong", `{"sub":"alice"}`); rec.Code != 429 || rec.Header().Get("Retry-After") == "" ||
		!errorOf(t, rec).Retryable {
		t.Errorf("the sixth wrong attempt: %d %s", rec.Code, rec.Body)
	}
	if rec := post(newServer(t, Config{}), secret, `{}`); rec.Code != 500 ||
		errorOf(t, rec).Code != "AUTH_NOT_CONFIGURED" {
		t.Errorf("not configured: %d %s", rec.Code, rec.Body)
	}
}

func TestEveryApiRouteNeedsAToken(t *testing.T) {
	v, err := auth.NewVerifier("0123456789abcdef", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, Config{Verifier: v})
	for header, code := range map[string]string{"": "AUTH_REQUIRED", "Bearer x": "AUTH_INVALID"} {
		for path := range s.api.OpenAPI().Paths {
			if !strings.HasPrefix(path, "/v1/") || path == bootstrapPath {
				continue
			}
			r := httptest.NewRequest(http.MethodPost, strings.NewReplacer("{id}", "x", "{path}", "y").Replace(path),
				strings.NewReader("{"))
			r.Header.Set("Authorization", header)
			rec := httptest.NewRecorder()
			s.ServeHTTP(rec, r)
			if e := errorOf(t, rec); rec.Code != 401 || e.Code != code || e.Applied != "no" || e.RequestID == "" ||
				e.RequestID != rec.Header().Get("X-Request-Id") {
				t.Errorf("%s with %q: %d %+v", path, header, rec.Code, e)
			}
		}
	}
}

func TestContentTypeGoesByExtension(t *testing.T) {
	for name, want := range map[string]string{"a.html": "text/html; charset=utf-8", "A.PNG": "image/png",
		"Makefile": "application/octet-stream", "x.unknown": "application/octet-stream"} {
		if got := contentType(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Long output is encoded in pieces, to the same text.
func TestEncode(t *testing.T) {
	for _, unit := range []string{"x", "é", "日本", "\x00", "\xff", "a\xe6\x97", "\U0001f600", "\"\\\n<>&\u2028",
		`"stdout":"","stderr":""`} {
		for _, n := range []int{0, 1, longString / len(unit), longString/len(unit) + 1, 3*longString/len(unit) + 7} {
			out, errs := strings.Repeat(unit, n), strings.Repeat(unit, n/3)
			for _, v := range []any{execResult{Stdout: out, Stderr: errs, ExitCode: 3}, &execResult{Stdout: out, Stderr: errs},
				&ErrorBody{Message: unit, Stdout: &out, Stderr: &errs}} {
				var got, want bytes.Buffer
				if err := encode(&got, v); err != nil {
					t.Fatal(err)
				}
				enc := json.NewEncoder(&want)
				enc.SetEscapeHTML(false)
				if err := enc.Encode(v); err != nil {
					t.Fatal(err)
				}
				var a, b any
				if err := json.Unmarshal(got.Bytes(), &a); err != nil {
					t.Fatalf("%q × %d: %v", unit, n, err)
				}
				if err := json.Unmarshal(want.Bytes(), &b); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(a, b) {
					t.Errorf("%q × %d: not what encoding/json writes", unit, n)
				}
			}
		}
	}
}
