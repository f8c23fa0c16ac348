package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/lock"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/wire"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// fault is one way to an error code on a route that writes.
type fault struct {
	name    string // "": the code's
	code    wire.Code
	applied sandbox.Applied // default: no
	changed bool            // the tree is another one afterwards
	config  func(f *faulty, c *sandbox.Config)
	server  func(c *Config)
	do      func(f *faulty) answer
}

// faulty is a service with a sandbox, and what a fault needs.
type faulty struct {
	*api
	id      string
	base    string // path of the sandbox
	service *sandbox.Service
	handler http.Handler
	stop    func() // the service
	locks   *lock.Local
	during  func() // what the command /tmp/sync does
	before  string // the tree
}

// state is all that Postgres has of the sandbox's tree.
func (f *faulty) state() string {
	f.t.Helper()
	var s string
	err := sqltest.Owner(f.t).QueryRow(f.t.Context(), `SELECT (SELECT version FROM pgbox.sandbox WHERE id = $1)::text || coalesce(string_agg(to_jsonb(f)::text, E'\n' ORDER BY f.path), '')
		FROM fs.files f WHERE f.sandbox_id = $1`, f.id).Scan(&s)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func (f *faulty) script(text string, header ...string) answer {
	f.t.Helper()
	return f.do(http.MethodPost, f.base+"/exec-sync", object{"script": text}, header...)
}

func (f *faulty) put(path string, data string, header ...string) answer {
	f.t.Helper()
	return f.do(http.MethodPut, f.base+"/files/home/user/"+path, []byte(data), header...)
}

func newFaulty(t *testing.T, c fault) *faulty {
	t.Helper()
	f := &faulty{locks: lock.NewLocal(lock.Config{Wait: 100 * time.Millisecond, Queue: 1}), during: func() {}}
	f.api = newAPI(t)
	f.id = f.sandbox(object{"files": object{"/home/user/f": "before", "/home/user/d/in": "before"}})
	f.base = "/v1/sandboxes/" + f.id
	f.script("echo '#!/bin/builtin sync' > /tmp/sync; chmod +x /tmp/sync; ln -s loop loop")
	f.before = f.state()

	commands := command.All()
	sync1 := func(context.Context, *proc.Process) int { f.during(); return 0 }
	own := map[string]proc.Func{}
	for k, v := range commands {
		own[k] = v
	}
	own["sync"] = sync1
	cfg := sandbox.Config{Locker: f.locks, Commands: own}
	if c.config != nil {
		c.config(f, &cfg)
	}
	if cfg.Store == nil {
		cfg.Store = f.store(store.Config{})
	}
	f.service = sandbox.New(cfg)
	f.stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := f.service.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { f.stop() })
	hc := Config{Version: "test", Service: f.service, Verifier: f.verifier, AuthSecret: testSecret}
	if c.server != nil {
		c.server(&hc)
	}
	f.handler = New(hc)
	srv := httptest.NewServer(f.handler)
	t.Cleanup(srv.Close)
	f.url = srv.URL
	return f
}

func (f *faulty) store(c store.Config) *store.Store {
	f.t.Helper()
	if c.URL == "" {
		c.URL = sqltest.ServingURL(f.t, sqltest.URL(f.t))
	}
	st, err := store.Open(context.Background(), c)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(st.Close)
	return st
}

// hold takes the sandbox's lock until the test ends.
func (f *faulty) hold() {
	f.t.Helper()
	lease, err := f.locks.Lock(f.t.Context(), uuid.MustParse(f.id))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(lease.Unlock)
}

// lostLocks are locks that are lost as soon as they are had.
type lostLocks struct{ lock.Locker }

type lostLease struct{ lock.Lease }

func (l lostLocks) Lock(ctx context.Context, id uuid.UUID) (lock.Lease, error) {
	e, err := l.Locker.Lock(ctx, id)
	return lostLease{e}, err
}

func (lostLease) Done() <-chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}

func (lostLease) Err() error { return lock.ErrLost }

// darkAt returns the URL of a way to the database that breaks for good at the first commit, which gets through or does
// not.
func darkAt(t *testing.T, direct string, through bool) string {
	t.Helper()
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	network, address := "unix", filepath.Join(q.Get("host"), ".s.PGSQL."+q.Get("port"))
	if q.Get("host") == "" {
		network, address = "tcp", u.Host
	}
	dir, err := os.MkdirTemp("", "dark")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.1"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	dark := false
	open := map[net.Conn]bool{}
	serve := func(c net.Conn) {
		s, err := net.Dial(network, address)
		if err != nil {
			_ = c.Close()
			return
		}
		mu.Lock()
		open[c], open[s] = true, true
		mu.Unlock()
		mute := make(chan struct{})
		wg.Go(func() {
			buf := make([]byte, 64<<10)
			for {
				n, err := s.Read(buf)
				select {
				case <-mute:
					err = io.EOF
				default:
				}
				if err != nil {
					_ = c.Close()
					_ = s.Close()
					return
				}
				_, _ = c.Write(buf[:n])
			}
		})
		buf := make([]byte, 1<<20)
		for {
			n, err := c.Read(buf)
			if err != nil {
				_ = s.Close()
				return
			}
			if bytes.Contains(buf[:n], []byte("the marked script")) {
				mu.Lock()
				dark = true
				mu.Unlock()
				close(mute)
				if through {
					_, _ = s.Write(buf[:n])
				} else {
					_ = c.Close()
					_ = s.Close()
				}
				return
			}
			_, _ = s.Write(buf[:n])
		}
	}
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			refuse := dark
			mu.Unlock()
			if refuse {
				_ = c.Close()
				continue
			}
			wg.Go(func() { serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
		_ = os.RemoveAll(dir)
	})
	q.Set("host", dir)
	q.Set("port", "1")
	u.RawQuery, u.Host = q.Encode(), ""
	return u.String()
}

// elsewhere are the codes that no writing route of this interface can answer.
var elsewhere = map[wire.Code]string{
	wire.CodeAuthIdentityRequired: "of /mcp",
	wire.CodeAuthIdentityInvalid:  "of /mcp",
	wire.CodeEPERM:                "a hard link to a directory, which only a script can ask for; it sees the errno",
	wire.CodeEACCES:               "a script alone meets it",
	wire.CodeSlow:                 "of the events' stream, which only reads",
}

var faults = []fault{
	{code: wire.CodeAuthRequired, do: func(f *faulty) answer {
		f.token = ""
		return f.script("echo x > f", "Authorization", "")
	}},
	{code: wire.CodeAuthInvalid, do: func(f *faulty) answer {
		return f.script("echo x > f", "Authorization", "Bearer nonsense")
	}},
	{code: wire.CodeAuthUnknownTenant, server: func(c *Config) {
		c.Verifier, _ = auth.NewVerifier(testSecret, []string{"another"})
	}, do: func(f *faulty) answer { return f.script("echo x > f") }},
	{code: wire.CodeAuthNotConfigured, server: func(c *Config) { c.Verifier = nil },
		do: func(f *faulty) answer { return f.script("echo x > f") }},
	{code: wire.CodeAdminNotConfigured, do: func(f *faulty) answer {
		return f.do(http.MethodPost, adminPath, object{"sub": "x"}, "X-Admin-Secret", testSecret)
	}},
	{code: wire.CodeForbidden, do: func(f *faulty) answer {
		f.token = f.tokenOf("mallory", f.tenant)
		return f.script("echo x > f")
	}},
	{code: wire.CodeENOENT, do: func(f *faulty) answer {
		return f.do(http.MethodPatch, f.base+"/files/home/user/none", object{"oldString": "a", "newString": "b"})
	}},
	{code: wire.CodeSandboxNotFound, do: func(f *faulty) answer {
		return f.do(http.MethodPost, "/v1/sandboxes/"+uuid.NewString()+"/exec-sync", object{"script": "echo x > f"})
	}},
	{code: wire.CodeNotFound, do: func(f *faulty) answer {
		return f.do(http.MethodPost, f.base+"/exec-never", object{"script": "echo x > f"})
	}},
	{code: wire.CodeMethodNotAllowed, do: func(f *faulty) answer {
		return f.do(http.MethodPut, f.base+"/exec-sync", object{"script": "echo x > f"})
	}},
	{code: wire.CodeRange, do: func(f *faulty) answer {
		return f.do(http.MethodGet, f.base+"/files/home/user/f", nil, "Range", "bytes=99-")
	}},
	{code: wire.CodeRedirect, do: func(f *faulty) answer {
		r := httptest.NewRequestWithContext(f.t.Context(), http.MethodPut, f.base+"/files//home/user/f",
			strings.NewReader("x"))
		r.Header.Set("Authorization", "Bearer "+f.token)
		rec := httptest.NewRecorder()
		f.handler.ServeHTTP(rec, r)
		return answer{rec.Code, rec.Header(), rec.Body.Bytes()}
	}},
	{code: wire.CodeExecTimeout, do: func(f *faulty) answer {
		return f.do(http.MethodPost, f.base+"/exec-sync", object{"script": "echo x > f; sleep 60", "timeoutMs": 200})
	}},
	{code: wire.CodeEEXIST, do: func(f *faulty) answer {
		return f.do(http.MethodPost, f.base+"/mkdir", object{"path": "/home/user/f"})
	}},
	{code: wire.CodeENOTEMPTY, do: func(f *faulty) answer {
		return f.do(http.MethodDelete, f.base+"/files/home/user/d", nil)
	}},
	{code: wire.CodeEditNoMatch, do: func(f *faulty) answer {
		return f.do(http.MethodPatch, f.base+"/files/home/user/f", object{"oldString": "none", "newString": "b"})
	}},
	{code: wire.CodeEditNotUnique, do: func(f *faulty) answer {
		return f.do(http.MethodPatch, f.base+"/files/home/user/f", object{"oldString": "e", "newString": "b"})
	}},
	{code: wire.CodeEditBinary, do: func(f *faulty) answer {
		f.put("bin", "a\x00\xff")
		f.before = f.state()
		return f.do(http.MethodPatch, f.base+"/files/home/user/bin", object{"oldString": "a", "newString": "b"})
	}},
	{code: wire.CodeEditLoneSurrogate, do: func(f *faulty) answer {
		return f.do(http.MethodPatch, f.base+"/files/home/user/f", `{"oldString":"before\ud83d","newString":"x"}`)
	}},
	{code: wire.CodeESTALE, config: func(_ *faulty, c *sandbox.Config) { c.StaleRetries = -1 },
		do: func(f *faulty) answer {
			f.during = func() {
				if _, err := sqltest.Owner(f.t).Exec(context.Background(),
					"SELECT fs.use('"+f.id+"'); SELECT fs.write_file('/tmp/psql', 'x')"); err != nil {
					f.t.Error(err)
				}
				f.before = f.state()
			}
			return f.script("echo x > f; /tmp/sync")
		}},
	{code: wire.CodeIdempotencyKeyReused, do: func(f *faulty) answer {
		f.script("echo first > f", idempotencyHeader, "k-"+f.id)
		f.before = f.state()
		return f.script("echo second > f", idempotencyHeader, "k-"+f.id)
	}},
	{code: wire.CodePreconditionFailed, do: func(f *faulty) answer { return f.put("f", "x", "If-Match", `"another"`) }},
	{code: wire.CodeInvalidInput, do: func(f *faulty) answer {
		return f.do(http.MethodPost, f.base+"/exec-sync", `{"script":`)
	}},
	{code: wire.CodeEISDIR, do: func(f *faulty) answer { return f.put("d", "x") }},
	{code: wire.CodeENOTDIR, do: func(f *faulty) answer { return f.put("f/x", "x") }},
	{code: wire.CodeELOOP, do: func(f *faulty) answer { return f.put("loop/x", "x") }},
	{code: wire.CodeEINVAL, do: func(f *faulty) answer {
		return f.do(http.MethodPost, "/v1/sandboxes/no.id/exec-sync", object{"script": "echo x > f"})
	}},
	{code: wire.CodeEILSEQ, do: func(f *faulty) answer { return f.put("bad%FFname", "x") }},
	{code: wire.CodeENAMETOOLONG, do: func(f *faulty) answer { return f.put(strings.Repeat("n", 256), "x") }},
	{code: wire.CodePayloadTooLarge, config: func(_ *faulty, c *sandbox.Config) { c.Limits.ScriptSize = 10 },
		do: func(f *faulty) answer { return f.script("echo x > f # too long") }},
	{code: wire.CodeEFBIG, config: func(_ *faulty, c *sandbox.Config) { c.MaxFileSize = 10 },
		do: func(f *faulty) answer { return f.put("f", strings.Repeat("x", 11)) }},
	{code: wire.CodeENOBUFS, config: func(_ *faulty, c *sandbox.Config) { c.OutputMax = 1000 },
		do: func(f *faulty) answer { return f.script("echo x > f; yes") }},
	{code: wire.CodeEDQUOT, do: func(f *faulty) answer {
		f.do(http.MethodPatch, f.base, object{"limits": object{"maxBytes": 20}})
		f.before = f.state()
		return f.put("g", strings.Repeat("x", 1000))
	}},
	{code: wire.CodeUnsupportedMediaType, do: func(f *faulty) answer {
		return f.script("echo x > f", "Content-Type", "application/xml")
	}},
	{code: wire.CodeReadOnlyViolation, do: func(f *faulty) answer {
		return f.do(http.MethodPost, f.base+"/exec-sync", object{"script": "echo x > f", "readOnly": true})
	}},
	{code: wire.CodeRateLimited, do: func(f *faulty) (a answer) {
		for range 6 {
			a = f.do(http.MethodPost, bootstrapPath, object{"sub": "x"}, "X-Auth-Secret", "wrong")
		}
		return a
	}},
	{code: wire.CodeLockTimeout, do: func(f *faulty) answer { f.hold(); return f.script("echo x > f") }},
	{code: wire.CodeLockLost, config: func(f *faulty, c *sandbox.Config) { c.Locker = lostLocks{f.locks} },
		do: func(f *faulty) answer { return f.script("echo x > f; sleep 60") }},
	{name: "lost while a file is written", code: wire.CodeLockLost,
		config: func(f *faulty, c *sandbox.Config) { c.Locker = lostLocks{f.locks} },
		do:     func(f *faulty) answer { return f.put("f", "x") }},
	{code: wire.CodeSessionClosing, do: func(f *faulty) answer {
		ctx, cancel := context.WithCancel(f.t.Context())
		defer cancel()
		f.during = cancel
		body, err := json.Marshal(object{"script": "echo x > f; /tmp/sync; sleep 60"})
		if err != nil {
			f.t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, f.base+"/exec-sync", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+f.token)
		rec := httptest.NewRecorder()
		f.handler.ServeHTTP(rec, r)
		return answer{rec.Code, rec.Header(), rec.Body.Bytes()}
	}},
	{code: wire.CodeShuttingDown, do: func(f *faulty) answer { f.stop(); return f.script("echo x > f") }},
	{code: wire.CodeRuntimeBusy, config: func(f *faulty, c *sandbox.Config) {
		f.locks = lock.NewLocal(lock.Config{Wait: 10 * time.Second, Queue: 1})
		c.Locker = f.locks
	}, do: func(f *faulty) answer {
		id := uuid.MustParse(f.id)
		f.hold()
		ctx, cancel := context.WithCancel(f.t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := f.locks.Lock(ctx, id); err == nil {
				f.t.Error("two holders")
			}
		}()
		defer func() { cancel(); <-done }()
		for f.locks.Waiting(id) == 0 {
			time.Sleep(time.Millisecond)
		}
		return f.script("echo x > f")
	}},
	{code: wire.CodeUnavailable, config: func(f *faulty, c *sandbox.Config) {
		c.Store = f.store(store.Config{URL: "postgres://postgres@127.0.0.1:1/x"})
	}, do: func(f *faulty) answer { return f.script("echo x > f") }},
	{name: "no locks", code: wire.CodeUnavailable, config: func(f *faulty, c *sandbox.Config) {
		l, err := lock.NewRedis(lock.RedisConfig{URL: "redis://127.0.0.1:1", Call: 300 * time.Millisecond})
		if err != nil {
			f.t.Fatal(err)
		}
		f.t.Cleanup(func() { _ = l.Close() })
		c.Locker = l
	}, do: func(f *faulty) answer { return f.script("echo x > f") }},
	{name: "the commit arrives", code: wire.CodeOutcomeUnknown, applied: sandbox.AppliedUnknown, changed: true,
		config: func(f *faulty, c *sandbox.Config) {
			c.Store = f.store(store.Config{URL: darkAt(f.t, sqltest.ServingURL(f.t, sqltest.URL(f.t)), true),
				Timeout: 8 * time.Second})
		}, do: func(f *faulty) answer { return f.script("echo x > f # the marked script") }},
	{name: "the commit is lost", code: wire.CodeOutcomeUnknown, applied: sandbox.AppliedUnknown,
		config: func(f *faulty, c *sandbox.Config) {
			c.Store = f.store(store.Config{URL: darkAt(f.t, sqltest.ServingURL(f.t, sqltest.URL(f.t)), false),
				Timeout: 8 * time.Second})
		}, do: func(f *faulty) answer { return f.script("echo x > f # the marked script") }},
	{code: wire.CodeInternal, config: func(f *faulty, _ *sandbox.Config) { f.put("lost", f.id) },
		do: func(f *faulty) answer {
			// A content that the database has lost.
			if tag, err := sqltest.Owner(f.t).Exec(f.t.Context(), "DELETE FROM pgbox.blob WHERE data = $1",
				[]byte(f.id)); err != nil || tag.RowsAffected() != 1 {
				f.t.Fatal(tag, err)
			}
			f.before = f.state()
			return f.do(http.MethodPatch, f.base+"/files/home/user/lost", object{"oldString": f.id, "newString": "b"})
		}},
}

// Every code is provoked on a route that writes, and what the error says of the change is what has become of the tree.
func TestEveryCodeTellsWhetherItWasApplied(t *testing.T) {
	covered := map[wire.Code]bool{}
	for _, c := range faults {
		covered[c.code] = true
		name := string(c.code)
		if c.name != "" {
			name += " " + c.name
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFaulty(t, c)
			got := c.do(f)
			e := got.error(t)
			want := c.applied
			if want == "" {
				want = sandbox.AppliedNo
			}
			if e.Code != string(c.code) || got.status != c.code.Status() || e.Applied != string(want) {
				t.Fatalf("%d %s; want %d %s, applied %s", got.status, got.body, c.code.Status(), c.code, want)
			}
			if c.changed {
				// It may still be on its way.
				for deadline := time.Now().Add(time.Minute); f.state() == f.before; time.Sleep(10 * time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatal("nothing changed")
					}
				}
			} else if after := f.state(); after != f.before {
				t.Errorf("applied %s, and the tree\n%s\nbecame\n%s", e.Applied, f.before, after)
			}
		})
	}
	for _, code := range wire.Codes() {
		switch _, other := elsewhere[code]; {
		case !covered[code] && !other:
			t.Errorf("%s has no case", code)
		case covered[code] && other:
			t.Errorf("%s has a case and an excuse", code)
		}
	}
}
