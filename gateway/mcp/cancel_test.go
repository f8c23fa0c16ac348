package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/lock/redistest"
	"github.com/pgbox/pgbox/gateway/relay"
)

const current = "2026-07-28"

// versions are the protocols that clients speak.
var versions = []string{"2025-03-26", "2025-06-18", "2025-11-25", current}

// raw is a client that writes its requests itself.
type raw struct {
	t       *testing.T
	token   string
	version string
	session string
}

// post sends one message, whose answer is read as it comes.
func (c *raw) post(ctx context.Context, url, method string, id any, params object) *http.Response {
	c.t.Helper()
	body := object{"jsonrpc": "2.0", "method": method, "params": params}
	if id != nil {
		body["id"] = id
	}
	if c.version == current {
		params["_meta"] = object{"io.modelcontextprotocol/protocolVersion": current, "progressToken": "p",
			"io.modelcontextprotocol/clientInfo":         object{"name": "raw", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": object{}}
	} else if id != nil {
		params["_meta"] = object{"progressToken": "p"}
	}
	data, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(string(data)))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if method != "initialize" {
		req.Header.Set("Mcp-Protocol-Version", c.version)
	}
	if c.version == current {
		req.Header.Set("Mcp-Method", method)
		if name, ok := params["name"].(string); ok {
			req.Header.Set("Mcp-Name", name)
		}
	}
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// initialize introduces the client, which keeps the session that it is given.
func (c *raw) initialize(url string) {
	c.t.Helper()
	if c.version == current {
		return
	}
	res := c.post(c.t.Context(), url, "initialize", 0, object{"protocolVersion": c.version, "capabilities": object{},
		"clientInfo": object{"name": "raw", "version": "1"}})
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(b), c.version) {
		c.t.Fatalf("initialize: %d %s %v", res.StatusCode, b, err)
	}
	if c.session = res.Header.Get("Mcp-Session-Id"); c.session == "" {
		c.t.Fatal("initialize: no session to tell this client's requests from another's")
	}
}

// script calls bash_exec and returns its stream once the script has begun.
func (c *raw) script(ctx context.Context, url string, id any, box, script string) *bufio.Scanner {
	c.t.Helper()
	res := c.post(ctx, url, "tools/call", id, object{"name": "bash_exec",
		"arguments": object{"id": box, "script": script, "timeout": 120_000}})
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "begun") {
			return lines
		}
	}
	c.t.Fatalf("%s: the stream ends before the script begins: %d", c.version, res.StatusCode)
	return nil
}

func (c *raw) cancelled(url string, id any) {
	c.t.Helper()
	res := c.post(c.t.Context(), url, "notifications/cancelled", nil, object{"requestId": id, "reason": "test"})
	if res.StatusCode != http.StatusAccepted {
		b, _ := io.ReadAll(res.Body)
		c.t.Fatalf("%s: %d %s", c.version, res.StatusCode, b)
	}
}

// rest is what is left of a stream.
func rest(lines *bufio.Scanner) string {
	var b strings.Builder
	for lines.Scan() {
		b.WriteString(lines.Text() + "\n")
	}
	return b.String()
}

// A call that its client gives up ends its script, which then changes nothing: whatever the protocol, however it is
// said, and whichever gateway is told.
func TestCancelledCallStopsItsScript(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	replica := func(tenant string) *endpoint {
		r, err := relay.New(redis.URL(), "cancel")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		e := newEndpoint(t, func(c *Config) { c.Relay = r })
		if tenant != "" {
			e.tenant = tenant
		}
		return e
	}
	a := replica("")
	b := replica(a.tenant)
	for _, version := range versions {
		for _, way := range []string{"closed connection", "notification", "notification to another gateway",
			"end of the session"} {
			if version == current && way != "closed connection" {
				continue // the one way there
			}
			t.Run(version+" "+way, func(t *testing.T) {
				t.Parallel()
				user := a.as("alice")
				box := user.sandbox(object{})
				c := &raw{t: t, token: a.token("alice"), version: version}
				c.initialize(a.url)
				ctx, closed := context.WithCancel(t.Context())
				defer closed()
				began := time.Now()
				lines := c.script(ctx, a.url, "id é", box, "echo begun; sleep 100; touch ran")
				other := *c // another client of the same user, with the same ids
				other.session = "other"
				switch way {
				case "closed connection":
					closed()
				case "notification":
					other.cancelled(a.url, "id é")
					c.cancelled(a.url, 7)
					c.cancelled(a.url, "id é")
				case "notification to another gateway":
					c.cancelled(b.url, "id é")
				default:
					req, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, b.url, nil)
					req.Header.Set("Authorization", "Bearer "+c.token)
					req.Header.Set("Mcp-Session-Id", c.session)
					res, err := http.DefaultClient.Do(req)
					if err != nil || res.StatusCode != http.StatusNoContent {
						t.Fatal(res, err)
					}
					_ = res.Body.Close()
				}
				if way != "closed connection" {
					if s := rest(lines); !strings.Contains(s, "ESESSIONCLOSING") || !strings.Contains(s, `\"applied\":\"no\"`) {
						t.Errorf("answered %s", s)
					}
				}
				// A writer gets its turn when the script before it has ended.
				got := user.must("bash_exec", object{"id": box, "script": "ls; touch next"})
				if took := time.Since(began); took > time.Minute || got["stdout"] != "" {
					t.Errorf("after %v: %v", took, got)
				}
			})
		}
	}
}

// Another client of the same user, or another user, whose request has the same id is left alone.
func TestCancellationIsTheClientsOwn(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, nil)
	box := e.as("alice").sandbox(object{})
	c := &raw{t: t, token: e.token("alice"), version: "2025-06-18"}
	c.initialize(e.url)
	other := &raw{t: t, token: c.token, version: c.version}
	other.initialize(e.url)
	mallory := &raw{t: t, token: e.token("mallory"), version: c.version, session: c.session}
	lines := c.script(t.Context(), e.url, 1, box,
		"echo begun; until test -n \"$(find /tmp -newermt '2 seconds ago' -name none)\"; do sleep 0.1; (( ++n < 10 )) || break; done; echo over")
	other.cancelled(e.url, 1)
	mallory.cancelled(e.url, 1)
	if s := rest(lines); !strings.Contains(s, "over") || strings.Contains(s, "ESESSIONCLOSING") {
		t.Errorf("ended by another client: %s", s)
	}
}

// A cancellation can come before its call, by a faster way: the call does not run.
func TestCancellationBeforeItsCall(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, nil)
	user := e.as("alice")
	box := user.sandbox(object{})
	c := &raw{t: t, token: e.token("alice"), version: "2025-06-18"}
	c.initialize(e.url)
	c.cancelled(e.url, 5)
	res := c.post(t.Context(), e.url, "tools/call", 5, object{"name": "bash_exec",
		"arguments": object{"id": box, "script": "touch ran"}})
	if b, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(b), "ESESSIONCLOSING") {
		t.Errorf("%s %v", b, err)
	}
	same(t, "files", user.must("bash_exec", object{"id": box, "script": "ls"})["stdout"], "")
}

// A call that takes long is answered with headers at once and with a comment every now and then, so that no proxy gives
// up; clients do not mind.
func TestLongCallStaysAlive(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, func(c *Config) { c.Heartbeat = 50 * time.Millisecond })
	box := e.as("alice").sandbox(object{})
	for _, version := range versions {
		c := &raw{t: t, token: e.token("alice"), version: version}
		c.initialize(e.url)
		res := c.post(t.Context(), e.url, "tools/call", 1, object{"name": "bash_exec",
			"arguments": object{"id": box, "script": "sleep 1", "readOnly": true}})
		if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") ||
			res.Header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("%s: %v", version, res.Header)
		}
		b, err := io.ReadAll(res.Body)
		if n := strings.Count(string(b), ": still here\n\n"); err != nil || n < 2 ||
			!strings.Contains(string(b), "event: message") {
			t.Errorf("%s: %d heartbeats in %s %v", version, n, b, err)
		}
	}
	same(t, "the SDK's client", e.as("alice").must("bash_exec",
		object{"id": box, "script": "sleep 0.3; echo well"})["stdout"], "well\n")
}

// What is larger than a request may be is refused, in the one form of errors.
func TestLargeRequestIsRefused(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, nil)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, e.url, io.LimitReader(zeros{}, maxBody+1))
	req.Header.Set("Authorization", "Bearer "+e.token("alice"))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(b),
		fmt.Sprintf("more than %d bytes", maxBody)) {
		t.Errorf("%d %s", res.StatusCode, b)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
