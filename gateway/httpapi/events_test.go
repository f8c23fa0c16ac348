package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/feed"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// withFeed gives a server a listener. Its cache is one of its own, which is all the same to events.
func withFeed(t *testing.T) func(*sandbox.Config) {
	return func(c *sandbox.Config) {
		f := feed.New(feed.Config{Mode: feed.Replication, URL: sqltest.URL(t)})
		c.Feed = f
		t.Cleanup(f.Stop)
		if err := f.Start(context.Background(), sandbox.New(sandbox.Config{Store: c.Store}).Trees()); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); f.Active() != feed.Replication; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("no stream")
			}
		}
	}
}

// following is an open stream of events.
type following struct {
	t    *testing.T
	res  *http.Response
	scan *bufio.Scanner
	id   string // of the last event
}

func (a *api) follow(id, last string) *following {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, a.url+"/v1/sandboxes/"+id+"/events", nil)
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	if last != "" {
		req.Header.Set(lastEvent, last)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		a.t.Fatalf("%s, %v", res.Status, res.Header)
	}
	f := &following{t: a.t, res: res, scan: bufio.NewScanner(res.Body)}
	f.scan.Buffer(nil, 1<<20)
	return f
}

// next is the next event; ok is false at the end of the stream.
func (f *following) next() (ev sandboxEvent, ok bool) {
	f.t.Helper()
	name := ""
	for f.scan.Scan() {
		key, value, _ := strings.Cut(f.scan.Text(), ": ")
		switch key {
		case "id":
			f.id = value
		case "event":
			name = value
		case "data":
			if err := json.Unmarshal([]byte(value), &ev); err != nil || ev.T != name {
				f.t.Fatalf("%q is event %q: %v", value, name, err)
			}
			ok = true
		case "":
			if ok && f.scan.Text() == "" {
				return ev, true
			}
		}
	}
	return ev, false
}

// operation is "op path", with the other path where there is one.
func (ev *sandboxEvent) operation() string {
	return strings.TrimSuffix(ev.Op+" "+ev.Path+" "+ev.PathTo, " ")
}

// want reads events and compares them: "op path" or "version N more than base".
func (f *following) want(base int64, want ...string) {
	f.t.Helper()
	for _, w := range want {
		ev, ok := f.next()
		got := ev.operation()
		if ev.T == "version" {
			got = fmt.Sprintf("version +%d", ev.Version-base)
		}
		if !ok || got != w {
			f.t.Fatalf("event %q (%+v), want %q", got, ev, w)
		}
	}
}

func TestEventsShowEveryCommitAndGoOnWhereTheyEnded(t *testing.T) {
	for name, configure := range map[string]func(*sandbox.Config){"listener": withFeed(t),
		"version": func(*sandbox.Config) {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, configure)
			id := a.sandbox(object{"name": "followed"})
			a.exec(id, "echo before > before")
			f := a.follow(id, "")
			first, _ := f.next()
			base := first.Version
			if first.T != "version" || base < 1 {
				t.Fatalf("%+v", first)
			}
			a.exec(id, "mkdir d; echo one > d/f; mv d/f d/g")
			f.want(base, "mkdir /home/user/d")
			place := f.id
			var ops []string
			for range 2 {
				ev, _ := f.next()
				ops = append(ops, ev.operation())
				if ev.Version != base+1 || ev.Exec == "" || uuid.Validate(ev.Exec) != nil || ev.At == "" {
					t.Errorf("%+v", ev)
				}
			}
			// Outside the gateway; and what changes no file.
			pool := sqltest.Pool(t)
			tx, err := pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, sql := range []string{"SELECT fs.use('" + id + "')", "SELECT fs.mkdir('/by-sql')"} {
				if _, err := tx.Exec(t.Context(), sql); err != nil {
					t.Fatal(err)
				}
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.wantRest(&ops, "mkdir /by-sql")
			if !slices.Contains(ops, "rename /home/user/d/f /home/user/d/g") {
				t.Errorf("the new name is missing: %q", ops)
			}
			a.exec(id, "export ONLY=state")
			f.want(base, "version +3")
			last := f.id
			_ = f.res.Body.Close()
			a.exec(id, "echo while nobody listened > h")
			f = a.follow(id, last)
			ev, _ := f.next()
			if ev.T != "change" || ev.Path != "/home/user/h" || ev.Version != base+4 {
				t.Fatalf("%+v", ev)
			}
			_ = f.res.Body.Close()
			// What the journal no longer has is told, once.
			old, recent := fmt.Sprintf("%d.0", base), fmt.Sprint(base+4)
			if _, err := sqltest.Owner(t).Exec(t.Context(), "SELECT pgbox.prune_journal($1, $2, 1000, 1000)", id,
				base); err != nil {
				t.Fatal(err)
			}
			for _, from := range []string{"0", old} {
				f = a.follow(id, from)
				if ev, _ := f.next(); ev.T != "gap" || ev.Version != base {
					t.Fatalf("resumed after %s: %+v", from, ev)
				}
				if ev, _ := f.next(); ev.Op != "mkdir" || ev.Version != base+1 {
					t.Fatalf("behind the gap: %+v", ev)
				}
				_ = f.res.Body.Close()
			}
			f = a.follow(id, recent)
			a.exec(id, "echo no gap > i")
			if ev, _ := f.next(); ev.T != "change" || ev.Version != base+5 {
				t.Fatalf("%+v", ev)
			}
			_ = f.res.Body.Close()
			// From the middle of a version on.
			f = a.follow(id, place)
			var again []string
			for range len(ops) {
				ev, _ := f.next()
				again = append(again, ev.operation())
			}
			if !slices.Equal(again, ops) {
				t.Fatalf("resumed after %s: %q, want %q", place, again, ops)
			}
			a.do(http.MethodDelete, "/v1/sandboxes/"+id, nil)
			for ev, ok := f.next(); ; ev, ok = f.next() {
				if !ok {
					t.Fatal("no last event")
				}
				if ev.T == "error" {
					if ev.Code != "SANDBOX_NOT_FOUND" {
						t.Fatalf("%+v", ev)
					}
					break
				}
			}
			if _, ok := f.next(); ok {
				t.Fatal("an event after the last")
			}
		})
	}
}

// wantRest reads on until an event and collects what comes, that one included.
func (f *following) wantRest(ops *[]string, until string) {
	f.t.Helper()
	for {
		ev, ok := f.next()
		if !ok {
			f.t.Fatalf("no event %q, but %q", until, *ops)
		}
		*ops = append(*ops, ev.operation())
		if ev.operation() == until {
			if ev.Exec != "" {
				f.t.Errorf("what SQL did has a run: %+v", ev)
			}
			return
		}
	}
}

func TestEventsFaultsArePlainAnswers(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.sandbox(object{"name": "faults"})
	path := "/v1/sandboxes/" + id + "/events"
	for _, bad := range []string{"x", "1.x", "-1", "1.2.3", "1.99999999999"} {
		a.want(a.do(http.MethodGet, path, nil, lastEvent, bad), 400, "INVALID_INPUT")
		a.want(a.do(http.MethodGet, path+"?after="+bad, nil), 400, "INVALID_INPUT")
	}
	a.want(a.do(http.MethodGet, "/v1/sandboxes/"+uuid.NewString()+"/events", nil), 404, "SANDBOX_NOT_FOUND")
	b := *a
	b.token = a.tokenOf("mallory", a.tenant)
	a.want(b.do(http.MethodGet, path, nil), 403, "FORBIDDEN")
}

func TestEventsEndAtShutdown(t *testing.T) {
	t.Parallel()
	st, err := store.Open(t.Context(), store.Config{URL: sqltest.ServingURL(t, sqltest.URL(t))})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	svc := sandbox.New(sandbox.Config{Store: st})
	id := sqltest.Sandbox(t, sqltest.Pool(t))
	began, done := make(chan struct{}), make(chan error)
	go func() {
		done <- svc.Follow(context.Background(), sandbox.Caller{Tenant: "test", Subject: "owner"}, id, nil,
			func(sandbox.News) error {
				select {
				case <-began:
				default:
					close(began)
				}
				return nil
			})
	}()
	<-began
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := svc.Shutdown(ctx); err != nil {
		t.Fatalf("the stream held up the shutdown: %v", err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "shutting down") {
		t.Fatalf("%v", err)
	}
}

// A client that does not read is told so once it does, and can go on from where it was.
func TestSlowClientIsToldAndClosed(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.sandbox(object{"name": "slow"})
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	// The kernel would make it as large as all that is sent.
	if err := conn.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn,
		"GET /v1/sandboxes/%s/events?after=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", id,
		a.token); err != nil {
		t.Fatal(err)
	}
	// More than the buffers of both sides hold.
	a.exec(id, `d=$(printf 'd%.0s' {1..250}); p=$d/$d/$d/$d/$d/$d/$d/$d/$d/$d/$d/$d/$d/$d; mkdir -p $p; cd $p; for i in {1..3000}; do : > $i; done`)
	select {
	case <-a.stalled:
	case <-time.After(2 * time.Minute):
		t.Fatal("the server does not wait for its client")
	}
	if err := conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	f := &following{t: t, res: res, scan: bufio.NewScanner(res.Body)}
	f.scan.Buffer(nil, 1<<20)
	n := 0
	var end sandboxEvent
	for ev, ok := f.next(); ok; ev, ok = f.next() {
		n++
		end = ev
	}
	if end.T != "error" || end.Code != "ESLOW" || end.Retryable == nil || !*end.Retryable {
		t.Fatalf("after %d events the last is %+v", n, end)
	}
	rest := a.follow(id, f.id)
	for n--; n < 3000+14; n++ {
		if ev, ok := rest.next(); !ok || ev.T == "error" {
			t.Fatalf("%d events, then %+v", n, ev)
		}
	}
}

func TestReadsTakeAStaleness(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withFeed(t))
	id := a.sandbox(object{"name": "stale"})
	a.exec(id, "echo content > f")
	base := "/v1/sandboxes/" + id
	if got := a.do(http.MethodGet, base+"/files/home/user/f?maxStalenessMs=1000", nil); got.status != 200 ||
		string(got.body) != "content\n" {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := a.do(http.MethodGet, base+"/tree?prefix=/home&maxStalenessMs=1000", nil); got.status != 200 ||
		!strings.Contains(string(got.body), "/home/user/f") {
		t.Fatalf("%d %s", got.status, got.body)
	}
	for _, bad := range []string{"-1", "x", "60001"} {
		a.want(a.do(http.MethodGet, base+"/files/home/user/f?maxStalenessMs="+bad, nil), 400, "INVALID_INPUT")
		a.want(a.do(http.MethodGet, base+"/tree?maxStalenessMs="+bad, nil), 400, "INVALID_INPUT")
	}
	r := into[execResult](t, a.do(http.MethodPost, base+"/exec-sync",
		object{"script": "cat f", "readOnly": true, "maxStalenessMs": 1000}))
	if r.Stdout != "content\n" {
		t.Fatalf("%+v", r)
	}
	a.want(a.do(http.MethodPost, base+"/exec-sync", object{"script": "cat f", "readOnly": true, "maxStalenessMs": 60001}),
		400, "INVALID_INPUT")
	a.do(http.MethodPost, base+"/exec-sync-batch", object{"scripts": []object{{"id": "1", "script": "cat f"}},
		"readOnly": true, "maxStalenessMs": 1000})
}
