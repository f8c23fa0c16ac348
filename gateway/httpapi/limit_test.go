package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// A run that goes beyond a limit is ended, applies nothing, and the answer names the limit and says so.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name      string
		configure func(*sandbox.Config)
		script    string
		status    int
		code      string
		message   string
	}{
		{"CPU time", func(c *sandbox.Config) { c.Limits.CPU = 100 * time.Millisecond }, "while :; do :; done",
			http.StatusRequestEntityTooLarge, "ENOBUFS", "milliseconds of CPU time (max 100)"},
		{"CPU time of all jobs together", func(c *sandbox.Config) { c.Limits.CPU = 100 * time.Millisecond },
			"for i in 1 2 3; do while :; do :; done & done; wait", http.StatusRequestEntityTooLarge, "ENOBUFS",
			"milliseconds of CPU time (max 100)"},
		{"wall time", func(c *sandbox.Config) { c.MaxTimeout = 3 * time.Second }, "sleep 100", http.StatusRequestTimeout,
			"EXEC_TIMEOUT", "timed out after 3000 ms"},
		{"printed bytes", func(c *sandbox.Config) { c.OutputMax = 1 << 20 }, "yes", http.StatusRequestEntityTooLarge,
			"ENOBUFS", "output is larger than 1048576 bytes"},
		{"live bytes", func(c *sandbox.Config) { c.Limits.LiveBytes = 8 << 20 }, "while :; do a+=(xxxxxxxxxxxxxxxx); done",
			http.StatusRequestEntityTooLarge, "ENOBUFS", "live bytes (max 8388608)"},
		{"bytes of one value", func(c *sandbox.Config) { c.Limits.ValueBytes = 1 << 20 }, "x=x; while :; do x=$x$x; done",
			http.StatusRequestEntityTooLarge, "ENOBUFS", "bytes of one value (max 1048576)"},
		{"bytes of one value by +=", func(c *sandbox.Config) { c.Limits.ValueBytes = 1 << 20 },
			"x=x; while :; do x+=$x; done", http.StatusRequestEntityTooLarge, "ENOBUFS", "bytes of one value (max 1048576)"},
		{"words", func(c *sandbox.Config) { c.Limits.Words = 10_000 }, "echo {1..100000}", http.StatusRequestEntityTooLarge,
			"ENOBUFS", "words (max 10000)"},
		{"depth", func(c *sandbox.Config) { c.Limits.Depth = 50 }, "f() { f; }; f", http.StatusRequestEntityTooLarge,
			"ENOBUFS", "depth (max 50)"},
		{"processes", func(c *sandbox.Config) { c.Limits.Goroutines = 20 }, "while :; do sleep 100 & done",
			http.StatusRequestEntityTooLarge, "ENOBUFS", "processes (max 20)"},
		{"steps", func(c *sandbox.Config) { c.Limits.Steps = 10_000 }, "while :; do :; done",
			http.StatusRequestEntityTooLarge, "ENOBUFS", "steps (max 10000)"},
		{"script size", func(c *sandbox.Config) { c.Limits.ScriptSize = 10_000 },
			`x=$(printf ':;%.0s' {1..10000}); eval "$x"`, http.StatusRequestEntityTooLarge, "ENOBUFS",
			"script size (max 10000)"},
		{"bytes written", func(c *sandbox.Config) { c.Limits.Written = 8 << 20 },
			"while :; do head -c 1M /dev/zero > g; done", http.StatusRequestEntityTooLarge, "ENOBUFS",
			"bytes written (max 8388608)"},
		{"memory of all scripts", func(c *sandbox.Config) { c.MaxLiveBytes = 4 << 20 },
			"x=x; while [ ${#x} -lt 8000000 ]; do x=$x$x; done; sleep 100", http.StatusRequestEntityTooLarge, "ENOBUFS",
			"memory of all scripts (max 4194304)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, c.configure)
			id := a.sandbox(object{})
			before := a.version(id)
			got := a.do(http.MethodPost, "/v1/sandboxes/"+id+"/exec-sync",
				object{"script": "echo before; echo x > f; " + c.script})
			e := got.error(t)
			if got.status != c.status || e.Code != c.code || !strings.Contains(e.Message, c.message) ||
				!strings.HasSuffix(e.Message, "nothing was applied") || e.Applied != "no" || e.Retryable {
				t.Errorf("%d %.300s", got.status, got.body)
			}
			if e.Stdout == nil || !strings.HasPrefix(*e.Stdout, "before\n") {
				t.Errorf("what was printed before is not there: %.300s", got.body)
			}
			if after := a.version(id); after != before {
				t.Errorf("version %v, then %v", before, after)
			}
		})
	}
}

// These limits fail a command as the operating system's would; the script goes on.
func TestLimitsThatACommandSees(t *testing.T) {
	for _, c := range []struct {
		name      string
		configure func(*sandbox.Config)
		limits    object
		script    string
		stderr    string
	}{
		{"open files", func(c *sandbox.Config) { c.Limits.OpenFiles = 50 }, nil,
			"for i in {1..100}; do exec {fd}> f || break; done", "Too many open files"},
		{"file size", func(c *sandbox.Config) { c.MaxFileSize = 1 << 20 }, nil, "head -c 2M /dev/zero > f", "File too large"},
		{"bytes of all files", nil, object{"maxBytes": 1 << 20}, "head -c 2M /dev/urandom > f", "Disk quota exceeded"},
		{"files made", nil, object{"maxInodes": 30}, "for i in {1..50}; do : > f$i; done", "Disk quota exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			configure := c.configure
			if configure == nil {
				configure = func(*sandbox.Config) {}
			}
			a := newAPI(t, configure)
			in := object{}
			if c.limits != nil {
				in["limits"] = c.limits
			}
			if r := a.exec(a.sandbox(in), c.script+"\necho on"); !strings.Contains(r.Stderr, c.stderr) ||
				!strings.HasSuffix(r.Stdout, "on\n") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Of long output the first and the last half of the bound are kept.
func TestOutputIsTruncated(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(c *sandbox.Config) { c.OutputKeep = 1000 })
	id := a.sandbox(object{})
	r := a.exec(id, "seq 100000; seq 100000 >&2")
	for _, s := range []string{r.Stdout, r.Stderr} {
		if !r.Truncated || len(s) > 1100 || !strings.HasPrefix(s, "1\n2\n3\n") ||
			!strings.HasSuffix(s, "\n99999\n100000\n") || !strings.Contains(s, "bytes omitted") {
			t.Errorf("truncated %v, %d bytes: %.100q", r.Truncated, len(s), s)
		}
	}
	got := a.do(http.MethodPost, "/v1/sandboxes/"+id+"/exec-sync",
		object{"script": "seq 100000; sleep 100", "timeoutMs": 5000})
	if e := got.error(t); !e.Truncated || e.Stdout == nil || !strings.HasSuffix(*e.Stdout, "\n100000\n") {
		t.Errorf("%.300s", got.body)
	}
}

// Zero values are the defaults, and every default is a bound.
func TestDefaultLimitsAreBounds(t *testing.T) {
	l := proc.DefaultLimits()
	for name, v := range map[string]int64{"CPU": int64(l.CPU), "Steps": l.Steps, "LiveBytes": l.LiveBytes,
		"ValueBytes": l.ValueBytes, "Words": l.Words, "Depth": l.Depth,
		"Goroutines": l.Goroutines, "OpenFiles": l.OpenFiles, "Written": l.Written, "ScriptSize": l.ScriptSize} {
		if v <= 0 {
			t.Errorf("%s: %d", name, v)
		}
	}
}
