package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/sandbox"
)

// probed is a server without a database whose probes are those of a test.
func probed(t *testing.T, c Config) *api {
	t.Helper()
	v, err := auth.NewVerifier(testSecret, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Version, c.Verifier = "test", v
	if c.Service == nil {
		c.Service = sandbox.New(sandbox.Config{})
	}
	srv := httptest.NewServer(New(c))
	t.Cleanup(srv.Close)
	token, _, err := v.Issue("alice", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	return &api{t: t, url: srv.URL, verifier: v, token: token}
}

// A balancer hears of the drain at once, whatever the database does.
func TestReadyIsDrainingTheMomentItBegins(t *testing.T) {
	for _, tt := range []struct{ before, during bool }{{true, true}, {false, true}, {false, false}} {
		var draining atomic.Bool
		draining.Store(tt.before)
		a := probed(t, Config{Draining: draining.Load, Ready: func(context.Context) map[string]string {
			if tt.before {
				t.Error("the database is asked, which may not answer")
			}
			draining.Store(tt.during)
			return nil
		}})
		got := a.do(http.MethodGet, "/readyz", nil)
		if !tt.during {
			if got.status != http.StatusOK || got.header.Get("Retry-After") != "" {
				t.Errorf("%d %v %s", got.status, got.header, got.body)
			}
			continue
		}
		if got.status != http.StatusServiceUnavailable || !strings.Contains(string(got.body), `"status":"draining"`) ||
			got.header.Get("Retry-After") == "" {
			t.Errorf("%+v: %d %v %s", tt, got.status, got.header, got.body)
		}
	}
}

// Who is refused because the server stops is told when to come back: the next one behind the address may be there at
// once.
func TestRefusalsOfAServerThatStopsCarryRetryAfter(t *testing.T) {
	svc := sandbox.New(sandbox.Config{})
	a := probed(t, Config{Service: svc})
	if err := svc.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	const sandbox = "/v1/sandboxes/00000000-0000-4000-8000-000000000000"
	for path, body := range map[string]any{
		sandbox + "/exec-sync": object{"script": "true"}, sandbox + "/exec": object{"script": "true"},
		sandbox + "/fork": object{}, "/v1/sandboxes": object{},
	} {
		got := a.do(http.MethodPost, path, body)
		if a.want(got, http.StatusServiceUnavailable, "ESHUTTINGDOWN"); got.header.Get("Retry-After") == "" {
			t.Errorf("%s: %v", path, got.header)
		}
	}
}

// However many ask, the database is asked once at a time, and not again within a second.
func TestReadyAsksOnceAtATime(t *testing.T) {
	const probes = 250
	var running, most, checks atomic.Int32
	go1, arrived := make(chan struct{}), make(chan struct{}, probes)
	p := &probe{check: func(context.Context) map[string]string {
		checks.Add(1)
		most.Store(max(most.Load(), running.Add(1)))
		<-go1
		running.Add(-1)
		return map[string]string{"postgres": "does not answer"}
	}}
	var wg sync.WaitGroup
	for range probes {
		wg.Go(func() {
			arrived <- struct{}{}
			if down := p.get(t.Context()); down["postgres"] == "" {
				t.Error("not told what is down")
			}
		})
	}
	for range probes {
		<-arrived
	}
	// One that hangs up waits no longer, and takes the check from nobody.
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	p.get(gone)
	close(go1)
	wg.Wait()
	if p.get(t.Context()); most.Load() != 1 || checks.Load() != 1 {
		t.Errorf("%d checks, %d at once", checks.Load(), most.Load())
	}
}
