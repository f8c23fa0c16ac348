package keeper

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is the server, too: that is what it is when a parent started it.
func TestMain(m *testing.M) {
	w, err := Inherit()
	switch {
	case err != nil:
		panic(err)
	case w != nil:
		serve(w)
	}
	goleak.VerifyTestMain(m)
}

// serve answers as the requests ask.
func serve(w *Worker) {
	if code := os.Getenv("TEST_FAIL"); code != "" {
		os.Exit(3)
	}
	die := func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }
	mux := http.NewServeMux()
	mux.HandleFunc("/pid", func(rw http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(rw, os.Getpid()) })
	mux.HandleFunc("/die", func(http.ResponseWriter, *http.Request) { die() })
	mux.HandleFunc("/begin", func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(rw, "begun")
		_ = http.NewResponseController(rw).Flush()
		select {}
	})
	var waiting atomic.Int32
	mux.HandleFunc("/wait", func(http.ResponseWriter, *http.Request) { waiting.Add(1); select {} })
	mux.HandleFunc("/waiting", func(rw http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(rw, waiting.Load()) })
	mux.HandleFunc("/body", func(rw http.ResponseWriter, r *http.Request) {
		waiting.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
	})
	var deep func(n int) int
	deep = func(n int) int { return deep(n+1) + 1 }
	mux.HandleFunc("/overflow", func(rw http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(rw, deep(0)) })
	debug.SetMaxStack(1 << 20)
	srv := &http.Server{Handler: mux}
	w.Configure(srv)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go func() {
		<-stop
		_ = srv.Shutdown(context.Background())
		os.Exit(0)
	}()
	if err := w.Ready(); err != nil {
		panic(err)
	}
	_ = srv.Serve(w.Listeners[0])
	select {}
}

// kept starts a parent with its server, and returns the address and what ends them.
func kept(t *testing.T, env ...string) (base string, stop func() error) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, over := make(chan struct{}), make(chan error, 1)
	go func() {
		over <- Run(ctx, Config{Listeners: []*net.TCPListener{l.(*net.TCPListener)}, Env: env, Grace: time.Minute, Ready: func() error { close(ready); return nil }})
	}()
	var once sync.Once
	var ended error
	stop = func() error {
		once.Do(func() {
			cancel()
			ended = <-over
		})
		return ended
	}
	t.Cleanup(func() { _ = stop(); _ = l.Close() })
	select {
	case <-ready:
	case err := <-over:
		once.Do(func() { cancel(); ended = err })
	}
	return "http://" + l.Addr().String(), stop
}

// fresh is a client without connections.
func fresh() *http.Client { return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} }

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := fresh().Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// end asks a server for its death; what it answers is no matter.
func end(url string) {
	if res, err := fresh().Get(url); err == nil {
		_ = res.Body.Close()
	}
}

// However the server dies, nobody who connects is refused, and another one answers.
func TestListenerNeverRefuses(t *testing.T) {
	base, stop := kept(t)
	for _, how := range []string{"/die", "/overflow", "/die"} {
		before := get(t, base+"/pid")
		done := make(chan struct{})
		var wg sync.WaitGroup
		var asked atomic.Int32
		for range 4 {
			wg.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					// One that was accepted may be cut or told 503; one that connects may not be refused.
					c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
					if err != nil {
						t.Errorf("after %s: %v", how, err)
						return
					}
					_, _ = io.WriteString(c, "GET /pid HTTP/1.0\r\n\r\n")
					_, _ = io.Copy(io.Discard, c)
					_ = c.Close()
					asked.Add(1)
				}
			})
		}
		began := time.Now()
		end(base + how)
		after := get(t, base+"/pid")
		t.Logf("%s: another server answered after %v", how, time.Since(began))
		close(done)
		wg.Wait()
		if after == before {
			t.Errorf("after %s: still process %s", how, after)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("after %s: another server answered after %v", how, took)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// What was under way is answered, with what is known of it.
func TestRequestsUnderWayAreAnswered(t *testing.T) {
	base, _ := kept(t)
	address := strings.TrimPrefix(base, "http://")
	type answer struct{ name, text string }
	answers := make(chan answer)
	requests := map[string]struct{ send, want string }{
		"reads": {"GET /wait HTTP/1.1\r\nHost: h\r\n\r\n", `"code":"EUNAVAILABLE","retryable":true,"applied":"no"`},
		"changes": {"POST /wait HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
			`"code":"EOUTCOMEUNKNOWN","retryable":false,"applied":"unknown"`},
		"repeatable": {"POST /wait HTTP/1.1\r\nHost: h\r\nIdempotency-Key: k\r\nContent-Length: 0\r\n\r\n",
			`"code":"EOUTCOMEUNKNOWN","retryable":true,"applied":"unknown"`},
		"second of two": {"GET /pid HTTP/1.1\r\nHost: h\r\n\r\nPOST /wait HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
			`"retryable":false,"applied":"unknown"`},
		"with a body": {"POST /body HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n12",
			`"retryable":false,"applied":"unknown"`},
		"begun":     {"POST /begin HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", "begun"},
		"half sent": {"POST /wait HT", `"code":"EUNAVAILABLE","retryable":true,"applied":"no"`},
	}
	var conns []net.Conn
	for name, r := range requests {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		if _, err := io.WriteString(c, r.send); err != nil {
			t.Fatal(err)
		}
		begun := make(chan struct{})
		go func() {
			b := bufio.NewReader(c)
			if name == "begun" || name == "second of two" || name == "with a body" {
				_, _ = b.Peek(1)
			}
			close(begun)
			text, _ := io.ReadAll(b)
			answers <- answer{name, string(text)}
		}()
		<-begun
	}
	for deadline := time.Now().Add(time.Minute); get(t, base+"/waiting") != "5"; {
		if time.Now().After(deadline) {
			t.Fatal("the requests did not arrive")
		}
	}
	end(base + "/die")
	for range requests {
		a := <-answers
		if !strings.Contains(a.text, requests[a.name].want) {
			t.Errorf("%s: %q, want %s", a.name, a.text, requests[a.name].want)
		}
		if (a.name == "begun") == strings.Contains(a.text, "503") {
			t.Errorf("%s: %q", a.name, a.text)
		}
	}
	for _, c := range conns {
		_ = c.Close()
	}
}

// A connection that the server has closed is closed, and its slot is used again, although the parent has had a
// duplicate.
func TestClosedConnectionsAreLetGo(t *testing.T) {
	base, stop := kept(t)
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, "GET /pid HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(text), "HTTP/1.0 200") {
		t.Fatalf("%q, %v", text, err)
	}
	before := openFiles(t)
	for range 200 {
		get(t, base+"/pid")
	}
	for deadline := time.Now().Add(time.Minute); openFiles(t) > before+20; {
		if time.Now().After(deadline) {
			t.Fatalf("%d files are open, were %d", openFiles(t), before)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// What is wrong from the beginning is said once, not again and again.
func TestServerThatCannotStartEndsTheParent(t *testing.T) {
	_, stop := kept(t, "TEST_FAIL=1")
	var ended *ExitError
	if err := stop(); !errors.As(err, &ended) || ended.Status != 3 {
		t.Fatalf("%v", err)
	}
}

func TestBreaksGetLonger(t *testing.T) {
	for deaths, want := range map[int]time.Duration{1: 0, 2: firstBreak, 3: 2 * firstBreak, 4: 4 * firstBreak,
		50: lastBreak} {
		if got := pause(deaths); got != want {
			t.Errorf("after %d deaths %v, want %v", deaths, got, want)
		}
	}
}
