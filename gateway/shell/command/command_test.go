package command

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// forever is an endless input; each read blocks a moment's work, not a moment's time.
type forever byte

func (f forever) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(f)
	}
	return len(b), nil
}

// start runs a command on an empty filesystem and returns how it ended.
func start(
	ctx context.Context, t *testing.T, limits proc.Limits, stdin io.Reader, stdout io.Writer, args ...string,
) (status int, killed error) {
	ctx, budget := proc.NewBudget(ctx, limits)
	defer budget.Close()
	base, err := casetest.NewBase(registry)
	if err != nil {
		t.Error(err)
	}
	p := &proc.Process{
		Args: args, Env: proc.Variables{"PATH=/bin"}, Dir: "/", FS: base.Sandbox(ctx), Budget: budget,
		Stdin: stdin, Stdout: stdout, Stderr: io.Discard, Now: time.Now,
		FD: func(int) (any, bool) { return nil, false },
	}
	defer func() {
		if d, ok := recover().(proc.Death); ok {
			status, killed = d.Status, d.Cause
		}
	}()
	return proc.Run(ctx, registry[args[0]], p), nil
}

// TestUnboundedInputIsLimited: what has to be kept is counted, so that an endless input ends the exec and not the
// process.
func TestUnboundedInputIsLimited(t *testing.T) {
	limits := proc.Limits{LiveBytes: 16 << 20}
	for _, script := range []string{
		"head -c -1000000000000", "head -n -1000000000000", "tail -c 1000000000000", "tail -n 1000000000000", "sort",
		"sort -u", "tac", "rev", "cut -f2", "uniq",
		"paste", "nl", "split -n r/2", "wc --files0-from=-", "cut -c1",
		"sponge", "pee cat", "combine - and -", "ts", "jo", "jo -a", "col", "colrm 2", "ul -tdumb", "batcat -A", "xmllint -",
		"yq .", "yq -p xml .", "csvsort", "csvjoin",
		"csvlook", "csvjson", "csvstat", "in2csv -f csv", "run-parts --stdin /bin", "parallel echo", "column", "ed f",
	} {
		args := strings.Fields(script)
		_, killed := start(t.Context(), t, limits, forever('a'), io.Discard, args...)
		if _, ok := proc.IsLimit(killed); !ok {
			t.Errorf("%s: ended with %v, want a limit", script, killed)
		}
	}
}

// TestCancelEndsCommands: every command that can run for long ends soon after its exec.
func TestCancelEndsCommands(t *testing.T) {
	for _, script := range []string{"sleep 1000", "yes", "cat", "tr a b", "wc", "md5sum", "base64", "od", "xxd",
		"head -c 1T", "tail -c 1", "seq inf", "cut -z -c1", "tee", "pv -q", "iconv -f UTF-8 -t UTF-16", "isutf8", "batcat",
		"dos2unix", "openssl dgst", "openssl base64"} {
		// The machine may be busy: a command that cannot be interrupted is late each time.
		took := time.Hour
		for attempt := 0; attempt < 5 && took > 500*time.Millisecond; attempt++ {
			took = cancelled(t, script)
		}
		if took > 500*time.Millisecond {
			t.Errorf("%s: took %v to end", script, took)
		}
	}
}

// cancelled is how long a command takes to end after its exec.
func cancelled(t *testing.T, script string) time.Duration {
	t.Helper()
	stop := errors.New("stop")
	args := strings.Fields(script)
	ctx, cancel := context.WithCancelCause(t.Context())
	out := &signalWriter{first: make(chan struct{})}
	done := make(chan error, 1)
	go func() {
		_, killed := start(ctx, t, proc.Limits{}, forever(0), out, args...)
		done <- killed
	}()
	if args[0] == "yes" || args[0] == "cat" {
		<-out.first // it is in the middle of its work
	}
	began := time.Now()
	cancel(stop)
	killed := <-done
	took := time.Since(began)
	if !errors.Is(killed, stop) {
		t.Errorf("%s: ended with %v, want the cause", script, killed)
	}
	return took
}

// signalWriter says when something was written.
type signalWriter struct {
	first chan struct{}
	once  bool
}

func (w *signalWriter) Write(b []byte) (int, error) {
	if !w.once {
		w.once = true
		close(w.first)
	}
	return len(b), nil
}

// TestBrokenPipe: a reader that went away ends the writer like SIGPIPE.
func TestBrokenPipe(t *testing.T) {
	status, killed := start(t.Context(), t, proc.Limits{}, strings.NewReader(""), brokenPipe{}, "yes")
	if status != 141 || killed != nil {
		t.Errorf("status %d, killed %v; want 141", status, killed)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, vfs.EPIPE }
