package mcp

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/wire"
)

const (
	maxTimeout = 300_000 // milliseconds
	maxScript  = 8 << 20
	maxScripts = 50
	// maxOutput is what a model gets of each stream when it does not say: more is seldom read and always paid for.
	maxOutput = 64 << 10
	// maxOutputs is what it gets of all scripts of a batch when it does not say.
	maxOutputs = 192 << 10
)

type bashArgs struct {
	sandboxArg
	Script         string            `json:"script" jsonschema:"bash"`
	Timeout        int64             `json:"timeout,omitempty" jsonschema:"wall clock, milliseconds: 1 to 300000, by default 30000"`
	Cwd            string            `json:"cwd,omitempty" jsonschema:"absolute; by default where the last script left off"`
	Env            map[string]string `json:"env,omitempty" jsonschema:"for this run only"`
	Stdin          *string           `json:"stdin,omitempty" jsonschema:"a pipe with this text; /dev/null when not given"`
	BackgroundWait int64             `json:"backgroundWait,omitempty" jsonschema:"how long background processes may go on when the script has ended, milliseconds within the timeout; by default they are ended with it"`
	Debug          bool              `json:"debug,omitempty" jsonschema:"set -x"`
	ReadOnly       bool              `json:"readOnly,omitempty" jsonschema:"run beside any writer; any change fails"`
	At             string            `json:"at,omitempty" jsonschema:"run on an earlier state, read-only: a snapshot by name or id, a version or a time"`
	Agent          string            `json:"agent,omitempty" jsonschema:"your name, for the log: several agents of one caller are told apart by it"`
	Session        sandbox.Session   `json:"session,omitzero" jsonschema:"a name gives you a working directory and variables of your own, kept 30 days: for several agents in one sandbox. true keeps functions, aliases and options too, as a name does"`
	Atomic         bool              `json:"atomic,omitempty" jsonschema:"a non-zero exit status applies nothing"`
	MaxOutputBytes int               `json:"maxOutputBytes,omitempty" jsonschema:"of stdout, and of stderr; by default 65536, at most 1048576. Of more the middle is left out: redirect into a file and read that, to have all of it"`
}

func (a *bashArgs) wants() int { return 2 * a.MaxOutputBytes }

type bashResult struct {
	ok
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr"`
	ExitCode   int    `json:"exitCode"`
	TimedOut   bool   `json:"timedOut,omitempty"`
	DurationMs int64  `json:"durationMs"`
	Version    int64  `json:"version"`
	Committed  bool   `json:"committed"`
	Truncated  bool   `json:"truncated"`
	// background processes that outlived the script; stderr names them
	Ended int `json:"backgroundEnded,omitempty"`
}

type batchArgs struct {
	sandboxArg
	Scripts []struct {
		ID     string `json:"id" jsonschema:"names the script in the results"`
		Script string `json:"script"`
	} `json:"scripts" jsonschema:"1 to 50"`
	Timeout          int64 `json:"timeout,omitempty" jsonschema:"of all together, milliseconds: 1 to 300000, by default 30000"`
	PerScriptTimeout int64 `json:"perScriptTimeout,omitempty" jsonschema:"milliseconds"`
	ReadOnly         bool  `json:"readOnly,omitempty" jsonschema:"in parallel on one snapshot"`

	Session sandbox.Session `json:"session,omitzero" jsonschema:"as in bash_exec"`

	MaxOutputBytes int `json:"maxOutputBytes,omitempty" jsonschema:"of each stream of each script; by default 65536 or less, so that all together are at most 196608; at most 1048576"`
}

func (a *batchArgs) wants() int { return 2 * len(a.Scripts) * a.MaxOutputBytes }

type batchEntry struct {
	ID string `json:"id"`
	bashResult
	Error string    `json:"error,omitempty"`
	Code  wire.Code `json:"code,omitempty"`
}

type batchResult struct {
	ok
	Results []batchEntry `json:"results"`
}

func (s *server) execTools(m *sdk.Server) {
	add(m, "bash_exec", "Run bash",
		"Run a bash script in a sandbox and return its output and exit status. What it changes is committed when it ends, all at once; a script that is killed changes nothing. The working directory and exported variables are kept for the next script; session names a set of your own. Background processes end with their script (stderr says which): nothing runs on between calls, so start a server and use it in one script.",
		overrides, s.bash)
	add(m, "bash_exec_batch", "Run several scripts",
		"Run up to 50 scripts in sequence, each committed by itself; with readOnly in parallel on one snapshot.", overrides,
		s.batch)
}

func milliseconds(name string, ms int64) (time.Duration, error) {
	if ms < 0 || ms > maxTimeout {
		return 0, failure(wire.CodeInvalidInput, fmt.Sprintf("%s: want milliseconds, 1 to %d", name, maxTimeout))
	}
	return time.Duration(ms) * time.Millisecond, nil
}

func checkScript(script string) error {
	if len(script) > maxScript {
		return failure(wire.CodePayloadTooLarge, fmt.Sprintf("a script has at most %d bytes", maxScript))
	}
	return nil
}

const maxScriptOutput = 1 << 20

func outputLimit(n int) (int, error) {
	switch {
	case n < 0 || n > maxScriptOutput:
		return 0, failure(wire.CodeInvalidInput, fmt.Sprintf("maxOutputBytes: want 1 to %d", maxScriptOutput))
	case n == 0:
		return maxOutput, nil
	}
	return n, nil
}

func (s *server) bash(ctx context.Context, c call, in *bashArgs) (any, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	if err := sandbox.CheckAgent(in.Agent); err != nil {
		return nil, err
	}
	if in.Agent != "" {
		c.Caller.Agent = in.Agent
	}
	timeout, err := milliseconds("timeout", in.Timeout)
	if err != nil {
		return nil, err
	}
	linger, err := milliseconds("backgroundWait", in.BackgroundWait)
	if err != nil {
		return nil, err
	}
	keep, err := outputLimit(in.MaxOutputBytes)
	if err != nil {
		return nil, err
	}
	if err := checkScript(in.Script); err != nil {
		return nil, err
	}
	if in.Cwd != "" && !strings.HasPrefix(in.Cwd, "/") {
		return nil, failure(wire.CodeInvalidInput, "cwd: must be absolute")
	}
	for name, value := range in.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return nil, failure(wire.CodeInvalidInput, fmt.Sprintf("env: %q cannot be a variable", name))
		}
	}
	req := sandbox.Request{Sandbox: id, Caller: c.Caller, Script: in.Script, Cwd: in.Cwd, Env: in.Env, Timeout: timeout,
		Linger: linger, Debug: in.Debug, ReadOnly: in.ReadOnly || in.At != "", Atomic: in.Atomic, Session: in.Session}
	req.Caller.At = in.At
	if in.Stdin != nil {
		req.Stdin = strings.NewReader(*in.Stdin)
	}
	if p := newProgress(ctx, c.req); p != nil {
		defer p.stop()
		req.Stdout, req.Stderr = p, p
	}
	res, err := s.Service.Exec(ctx, req)
	if res == nil {
		return nil, err
	}
	return shown(res, keep, err == nil), err
}

func shown(r *sandbox.Result, keep int, well bool) bashResult {
	stdout, cut1 := middle(r.Stdout, keep)
	stderr, cut2 := middle(r.Stderr, keep)
	return bashResult{ok: ok{well}, Stdout: stdout, Stderr: stderr, ExitCode: r.ExitCode, TimedOut: r.TimedOut,
		DurationMs: r.Duration.Milliseconds(), Version: r.Version,
		Committed: r.Committed, Truncated: r.Truncated || cut1 || cut2, Ended: r.BackgroundEnded}
}

// middle leaves the middle of b out when it is longer than keep, at the ends of characters.
func middle(b []byte, keep int) (string, bool) {
	if len(b) <= keep {
		return string(b), false
	}
	head, tail := keep-keep/2, len(b)-keep/2
	for head > 0 && !utf8.RuneStart(b[head]) {
		head--
	}
	for tail < len(b) && !utf8.RuneStart(b[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", b[:head], tail-head, b[tail:]), true
}

func (s *server) batch(ctx context.Context, c call, in *batchArgs) (any, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	if n := len(in.Scripts); n < 1 || n > maxScripts {
		return nil, failure(wire.CodeInvalidInput, fmt.Sprintf("scripts: want 1 to %d", maxScripts))
	}
	req := sandbox.BatchRequest{Sandbox: id, Caller: c.Caller, ReadOnly: in.ReadOnly, Session: in.Session}
	if req.Timeout, err = milliseconds("timeout", in.Timeout); err != nil {
		return nil, err
	}
	if req.ScriptTimeout, err = milliseconds("perScriptTimeout", in.PerScriptTimeout); err != nil {
		return nil, err
	}
	keep, err := outputLimit(in.MaxOutputBytes)
	if err != nil {
		return nil, err
	}
	if in.MaxOutputBytes == 0 {
		keep = min(keep, maxOutputs/(2*len(in.Scripts)))
	}
	for _, sc := range in.Scripts {
		if err := checkScript(sc.Script); err != nil {
			return nil, err
		}
		req.Scripts = append(req.Scripts, sandbox.BatchScript{ID: sc.ID, Script: sc.Script})
	}
	results, err := s.Service.ExecBatch(ctx, req)
	if err != nil {
		return nil, err
	}
	out := batchResult{ok: done, Results: make([]batchEntry, len(results))}
	for i := range results {
		r := &results[i]
		e := batchEntry{ID: r.ID, bashResult: shown(&r.Result, keep, r.Err == nil)}
		if r.Err != nil {
			e.ExitCode, e.Error, e.Code = -1, r.Err.Message, r.Err.Code
		}
		out.Results[i] = e
	}
	return out, nil
}

const (
	progressEvery = 200 * time.Millisecond
	progressBytes = 4 << 10 // of output in one notification; the result has all of it
)

// progress tells the client what a script prints while it runs.
type progress struct {
	session *sdk.ServerSession
	token   any
	cancel  func()
	over    sync.WaitGroup

	mu      sync.Mutex
	news    []byte
	printed int64
}

// newProgress returns nil when the client has not asked.
func newProgress(ctx context.Context, req *sdk.CallToolRequest) *progress {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &progress{session: req.Session, token: token, cancel: cancel}
	p.over.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.send(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	return p
}

// Write never waits for the client, and never fails: a client that is gone cancels the context.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.printed += int64(len(b))
	if p.news = append(p.news, b[max(0, len(b)-progressBytes):]...); len(p.news) > progressBytes {
		p.news = append(p.news[:0], p.news[len(p.news)-progressBytes:]...)
	}
	return len(b), nil
}

func (p *progress) send(ctx context.Context) {
	p.mu.Lock()
	text, printed := strings.ToValidUTF8(string(p.news), "\ufffd"), p.printed
	p.news = p.news[:0]
	p.mu.Unlock()
	if text == "" {
		return
	}
	// only news: the result has it all
	_ = p.session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: p.token, Message: text,
		Progress: float64(printed)})
}

func (p *progress) stop() {
	p.cancel()
	p.over.Wait()
}
