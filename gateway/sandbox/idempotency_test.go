package sandbox_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/wire"
)

// withKey is alice's request with an idempotency key; body stands for what the digest is of.
func withKey(name, body string) sandbox.Caller {
	c := alice
	c.Key = &sandbox.Key{Name: name, Digest: sha256.Sum256([]byte(body))}
	return c
}

func reused(err error) bool {
	var e *sandbox.Error
	return errors.As(err, &e) && e.Code == wire.CodeIdempotencyKeyReused && e.Applied == sandbox.AppliedNo && !e.Retryable
}

func TestIdempotency_execIsDoneOnce(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	for _, script := range []string{
		"echo line >> log; printf 'out\\xff\\0put'; echo err >&2; exit 3",
		"date +%N; exit 4", // commits nothing
	} {
		key := uuid.NewString()
		do := func(body string) (*sandbox.Result, string, string, error) {
			var out, errs bytes.Buffer
			res, err := s.Exec(t.Context(), sandbox.Request{Sandbox: id, Caller: withKey(key, body), Script: script,
				Stdout: &out, Stderr: &errs})
			return res, out.String(), errs.String(), err
		}
		first, out, errs, err := do("b")
		if err != nil {
			t.Fatal(err)
		}
		again, out2, errs2, err := do("b")
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(*again) != fmt.Sprint(*first) || out2 != out || errs2 != errs {
			t.Errorf("%s: answered %+v, the repeat %+v", script, first, again)
		}
		if _, _, _, err := do("another body"); !reused(err) {
			t.Errorf("another request with the key: %v", err)
		}
	}
	if got := string(run(t, s, id, "cat log").Stdout); got != "line\n" {
		t.Errorf("the log holds %q", got)
	}
}

// Repeats that come during the first request wait for it, in whatever process they are.
func TestIdempotency_repeatDuringTheFirstWaits(t *testing.T) {
	t.Parallel()
	a, b, id := service(t, sandbox.Config{}), service(t, sandbox.Config{}), emptySandbox(t)
	// Two processes without Redis do not see each other's locks: then the table decides, and the loser answers with the
	// winner's result.
	c := withKey(uuid.NewString(), "b")
	outs := make([]string, 12)
	var wg sync.WaitGroup
	for i := range outs {
		wg.Go(func() {
			res, err := []*sandbox.Service{a, b}[i%2].Exec(t.Context(),
				sandbox.Request{Sandbox: id, Caller: c, Script: "sleep 0.2; echo line >> log; echo $RANDOM$RANDOM$RANDOM"})
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			outs[i] = string(res.Stdout)
		})
	}
	wg.Wait()
	for _, o := range outs {
		if o != outs[0] {
			t.Fatalf("answers differ: %q", outs)
		}
	}
	if got := string(run(t, a, id, "cat log").Stdout); got != "line\n" {
		t.Errorf("the log holds %q", got)
	}
}

// What failed applied nothing, so its repeat is a new attempt.
func TestIdempotency_failureKeepsNothing(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	r := sandbox.Request{Sandbox: id, Caller: withKey(uuid.NewString(), "b"),
		Script: "test -e go || while :; do :; done; echo done > f; echo ok", Timeout: 100 * time.Millisecond}
	var e *sandbox.Error
	if _, err := s.Exec(t.Context(), r); !errors.As(err, &e) || e.Code != wire.CodeExecTimeout {
		t.Fatalf("got %v", err)
	}
	run(t, s, id, "touch go")
	r.Timeout = time.Minute
	res, err := s.Exec(t.Context(), r)
	if err != nil || string(res.Stdout) != "ok\n" || !res.Committed {
		t.Fatalf("%+v, %v", res, err)
	}
}

func TestIdempotency_createForkAndIngest(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	same := func(name string, do func(c sandbox.Caller) (fmt.Stringer, error)) {
		t.Helper()
		key := uuid.NewString()
		first, err := do(withKey(key, "b"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := do(withKey(key, "b"))
		if err != nil || again.String() != first.String() {
			t.Errorf("%s: %v, the repeat %v, %v", name, first, again, err)
		}
		if _, err := do(withKey(key, "c")); !reused(err) {
			t.Errorf("%s, another request with the key: %v", name, err)
		}
	}
	made := func(b *sandbox.Sandbox, err error) (fmt.Stringer, error) {
		if err != nil {
			return nil, err
		}
		return b.ID, nil
	}
	owner := "owner " + uuid.NewString()
	alone := func(c sandbox.Caller) sandbox.Caller { c.Subject = owner; return c }
	same("create", func(c sandbox.Caller) (fmt.Stringer, error) {
		return made(s.CreateSandbox(t.Context(), alone(c), sandbox.NewSandbox{Name: "n"}))
	})
	same("create with files", func(c sandbox.Caller) (fmt.Stringer, error) {
		return made(s.CreateSandbox(t.Context(), alone(c), sandbox.NewSandbox{Name: "n",
			Files: map[string][]byte{"/home/user/f": []byte("x")}}))
	})
	same("fork", func(c sandbox.Caller) (fmt.Stringer, error) {
		return made(forked(s.Fork(t.Context(), c, id, "fork", 1, "")))
	})
	list, err := s.ListSandboxes(t.Context(), sandbox.Caller{Tenant: alice.Tenant, Subject: owner}, sandbox.ListOptions{})
	if err != nil || len(list) != 2 {
		t.Errorf("%d sandboxes, want 2: %v", len(list), err)
	}
	c := withKey(uuid.NewString(), "b")
	for range 2 {
		if n, err := s.Ingest(t.Context(), c, id, "/in", []sandbox.IngestFile{{Path: "f", Data: []byte("x")}}); err != nil ||
			n != 1 {
			t.Fatal(n, err)
		}
		run(t, s, id, "echo more >> /in/f") // would be undone by a second ingest
	}
	if got := string(run(t, s, id, "cat /in/f").Stdout); got != "xmore\nmore\n" {
		t.Errorf("the file holds %q", got)
	}
}

// Each script of a batch is kept by itself: the repeat of one that was cut short goes on where it stopped.
func TestIdempotency_batchGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	s, id := service(t, sandbox.Config{}), emptySandbox(t)
	c := withKey(uuid.NewString(), "b")
	batch := func(timeout time.Duration) []sandbox.BatchResult {
		t.Helper()
		res, err := s.ExecBatch(t.Context(), sandbox.BatchRequest{Sandbox: id, Caller: c, Timeout: timeout,
			Scripts: []sandbox.BatchScript{
				{ID: "a", Script: "echo a >> log"}, {ID: "b", Script: "echo unchanged"},
				{ID: "c", Script: "test -e go || sleep 1000; echo c >> log"},
			}})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	patiently(t, 500*time.Millisecond, func(timeout time.Duration) string {
		if res := batch(timeout); res[0].Err != nil || res[1].Err != nil || res[2].Err == nil {
			return fmt.Sprintf("%+v", res)
		}
		return ""
	})
	run(t, s, id, "touch go")
	for range 2 {
		for _, r := range batch(time.Minute) {
			if r.Err != nil || r.ExitCode != 0 {
				t.Errorf("%+v", r)
			}
		}
	}
	if got := string(run(t, s, id, "cat log").Stdout); got != "a\nc\n" {
		t.Errorf("the log holds %q", strings.ReplaceAll(got, "\n", " "))
	}
	c.Key = &sandbox.Key{Name: c.Key.Name, Digest: sha256.Sum256([]byte("another"))}
	if _, err := s.ExecBatch(t.Context(), sandbox.BatchRequest{Sandbox: id, Caller: c,
		Scripts: []sandbox.BatchScript{{Script: "echo never >> log"}}}); !reused(err) {
		t.Errorf("another request with the key: %v", err)
	}
}
