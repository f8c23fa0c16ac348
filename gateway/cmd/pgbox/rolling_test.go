package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/pgbox/pgbox/gateway/lock/redistest"
)

// nextRelease builds what a later pgbox may be: this one with one more migration and one more function.
func nextRelease(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]string{}
	for name, text := range map[string]string{
		"sql/migrations/90001_later.sql": "-- +goose Up\nALTER TABLE pgbox.sandbox ADD COLUMN later integer;\n",
		"sql/functions/later.sql":        "CREATE FUNCTION fs.later() RETURNS integer LANGUAGE sql RETURN 1;\n",
	} {
		file := filepath.Join(dir, filepath.Base(name)+"."+filepath.Base(filepath.Dir(name)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, name)] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list, bin := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "pgbox")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-overlay", list, "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

// A release is rolled out under load as sql/README.md says: `migrate up` of the new one, then one gateway after the
// other is told to stop and a new one takes its place. Every request is answered with what it did, or told to try again
// by a gateway that is leaving; what was answered is there once.
func TestRollingUpgradeUnderLoad(t *testing.T) {
	const clients, gateways = 4, 2
	next := nextRelease(t)
	_, url := ownCluster(t)
	redis := redistest.Start(t).URL()
	var serving [gateways]atomic.Pointer[running]
	for i, r := range replicas(t, gateways, redis, url) {
		serving[i].Store(r)
	}
	var ids [clients]string
	for i := range ids {
		// Two clients share each sandbox, by either gateway.
		if ids[i] = ids[i&^1]; i%2 == 0 {
			ids[i] = serving[0].Load().caller().sandbox(t)
		}
	}
	var answered [clients]atomic.Int64
	var told, gone atomic.Int64
	done := make(chan struct{})
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				script, key := fmt.Sprintf("echo %d.%d >> log", i, n), fmt.Sprintf("%d.%d", i, n)
				for try := 0; ; try++ {
					res, err := serving[(i+n+try)%gateways].Load().caller().exec(t.Context(), ids[i], script, "Idempotency-Key", key)
					if err == nil && res.Status == http.StatusOK {
						break
					}
					switch {
					case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF):
						// It has left, also with what it had not begun to read; the other one serves. With a key,
						// a client may ask again whatever became of the request.
						gone.Add(1)
					case err == nil && res.Status == http.StatusServiceUnavailable && res.Retryable && res.Applied == "no" &&
						res.Header.Get("Retry-After") != "":
						told.Add(1)
					default:
						t.Errorf("%+v, %v", res, err)
						return
					}
				}
				answered[i].Add(1)
			}
		})
	}
	progress := func() {
		t.Helper()
		for i := range clients {
			from := answered[i].Load()
			eventually(t, func() error {
				if now := answered[i].Load(); now < from+10 && !t.Failed() {
					return fmt.Errorf("client %d was answered %d times", i, now-from)
				}
				return nil
			})
		}
	}
	progress()
	up := exec.Command(next, "migrate", "up")
	up.Env = append(os.Environ(), "DATABASE_URL="+url)
	if out, err := up.CombinedOutput(); err != nil || !strings.Contains(string(out),
		"schema version 90001: 1 migrations applied, functions and views made anew") {
		t.Fatalf("%v: %s", err, out)
	}
	progress()
	for i := range serving {
		old := serving[i].Load()
		if probe, err := old.caller().do(t.Context(), http.MethodGet, "/readyz", nil); err != nil ||
			probe.Status != http.StatusOK {
			t.Errorf("a gateway of the release before, after the migration: %+v, %v", probe, err)
		}
		old.stop(t)
		progress()
		serving[i].Store(startBinary(t, next, t.TempDir(), serveEnv(t, url, "REDIS_URL="+redis)...))
		progress()
	}
	close(done)
	wg.Wait()
	c := serving[0].Load().caller()
	for i := 0; i < clients; i += 2 {
		lines := count(c.must(t, ids[i], "cat log"))
		for _, client := range []int{i, i + 1} {
			for n := range answered[client].Load() {
				line := strconv.Itoa(client) + "." + strconv.FormatInt(n, 10)
				if lines[line] != 1 {
					t.Errorf("line %s is there %d times", line, lines[line])
				}
				delete(lines, line)
			}
		}
		if len(lines) > 0 {
			t.Errorf("lines that nobody was answered for: %v", lines)
		}
		soundness(t, url, ids[i])
	}
	t.Logf("%d requests were told to try again, %d found nobody", told.Load(), gone.Load())
	for i := range serving {
		serving[i].Load().stop(t)
	}
}
