package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/wire"
)

const (
	maxTimeoutMs = 300_000
	maxBatch     = 50
	maxScript    = 8 << 20
)

type execBody struct {
	Script    string            `json:"script" required:"true" doc:"bash"`
	Cwd       string            `json:"cwd,omitempty" doc:"absolute; by default where the last script left off"`
	Env       map[string]string `json:"env,omitempty" doc:"for this run only"`
	TimeoutMs int64             `json:"timeoutMs,omitempty" minimum:"1" maximum:"300000" doc:"wall clock; 30000 by default"`
	Debug     bool              `json:"debug,omitempty" doc:"set -x"`
	WaitMs    int64             `json:"backgroundWaitMs,omitempty" minimum:"0" maximum:"300000" doc:"how long background processes may go on when the script has ended, within its wall clock; by default they are ended with it"`
	Session   sessionArg        `json:"session,omitzero"`
	ReadOnly  bool              `json:"readOnly,omitempty" doc:"run on a snapshot without a lock; any change fails with EREADONLY_VIOLATION"`
	Atomic    bool              `json:"atomic,omitempty" doc:"a non-zero exit status applies nothing"`
	Stdin     *string           `json:"stdin,omitempty" doc:"a pipe with this text, even if it is empty; /dev/null when not given"`
	At        string            `json:"at,omitempty" maxLength:"300" doc:"with readOnly: an earlier state: a snapshot by name or id, @base, a version (57 or @57) or a time"`
	Stale     int64             `json:"maxStalenessMs,omitempty" minimum:"0" maximum:"60000" doc:"with readOnly: the sandbox may be shown as it was up to that many milliseconds ago, which spares a question to the database"`
}

type execInput struct {
	SandboxID
	Keyed
	TimeoutMs int64 `query:"timeoutMs" minimum:"1" maximum:"300000" doc:"for bodies that are the bare script"`
	Body      execBody
}

// scriptFormat lets a body be the bare script: it decodes to what {"script": …} would.
var scriptFormat = huma.Format{Unmarshal: func(data []byte, v any) error {
	wrapped := map[string]any{"script": string(data)}
	if p, ok := v.(*any); ok {
		*p = wrapped
		return nil
	}
	b, err := json.Marshal(wrapped)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}}

// jsonFormat writes long output in pieces.
var jsonFormat = huma.Format{Marshal: encode, Unmarshal: huma.DefaultJSONFormat.Unmarshal}

type execResult struct {
	Stdout     string  `json:"stdout"`
	Stderr     string  `json:"stderr"`
	ExitCode   int     `json:"exitCode"`
	ExitSignal *string `json:"exitSignal" doc:"always null"`
	TimedOut   bool    `json:"timedOut"`
	DurationMs int64   `json:"durationMs"`
	Version    int64   `json:"version" doc:"the sandbox's version afterwards"`
	Committed  bool    `json:"committed" doc:"the run changed something"`
	Truncated  bool    `json:"truncated" doc:"the middle of stdout or stderr is missing"`
	Ended      int     `json:"backgroundEnded,omitempty" doc:"how many background processes outlived the script and were ended; stderr names them"`
}

type execOutput struct{ Body execResult }

func (s *server) execRoutes() {
	const base = sandboxesPath + "/{id}"
	sync := operation(http.MethodPost, base+"/exec-sync", "execSync", "Run a bash script and wait for its end", "exec",
		false)
	sync.MaxBodyBytes = 4 * maxScript
	sync.RequestBody = s.execRequestBody()
	handle(s, sync, s.execSync)

	stream := operation(http.MethodPost, base+"/exec", "exec",
		"Run a bash script and stream its output as server-sent events", "exec", false)
	stream.MaxBodyBytes = 4 * maxScript
	stream.RequestBody = s.execRequestBody()
	stream.Responses = map[string]*huma.Response{"200": {Description: "Events stdout, stderr, error (not for a timeout) and, always last, exit; a comment when nothing comes for 15 s", Content: map[string]*huma.MediaType{
		"text/event-stream": {Schema: huma.SchemaFromType(s.api.OpenAPI().Components.Schemas, typeOfEvent)},
	}}}
	handle(s, stream, s.execStream)

	batch := operation(http.MethodPost, base+"/exec-sync-batch", "execSyncBatch", "Run several scripts", "exec", false)
	batch.MaxBodyBytes = 4 * maxScript
	handle(s, batch, s.execBatch)
}

// execRequestBody describes the JSON form and the bare scripts.
func (s *server) execRequestBody() *huma.RequestBody {
	text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/json": {Schema: huma.SchemaFromType(s.api.OpenAPI().Components.Schemas, typeOfExec)},
		"text/plain":       text, "text/x-shellscript": text,
	}}
}

// request checks what a schema cannot and makes the sandbox.Request.
func (s *server) request(ctx context.Context, in *execInput, route string) (sandbox.Request, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return sandbox.Request{}, err
	}
	b := &in.Body
	if b.Cwd != "" && (!strings.HasPrefix(b.Cwd, "/") || strings.ContainsRune(b.Cwd, 0)) {
		return sandbox.Request{}, invalidInput(ctx, "cwd: must be absolute")
	}
	if len(b.Script) > maxScript {
		return sandbox.Request{}, newErrorBody(ctx, wire.CodePayloadTooLarge,
			fmt.Sprintf("a script has at most %d bytes", maxScript))
	}
	c, err := keyed(ctx, caller(ctx, route), in.IdempotencyKey, in)
	if err != nil {
		return sandbox.Request{}, err
	}
	r := sandbox.Request{
		Sandbox: id, Caller: c, Script: b.Script, Cwd: b.Cwd, Env: b.Env, Debug: b.Debug, ReadOnly: b.ReadOnly,
		Atomic: b.Atomic, Session: b.Session.Session,
		Timeout: time.Duration(max(b.TimeoutMs, in.TimeoutMs)) * time.Millisecond,
		Linger:  time.Duration(b.WaitMs) * time.Millisecond,
	}
	r.Caller.MaxStaleness, r.Caller.At = time.Duration(b.Stale)*time.Millisecond, b.At
	if b.Stdin != nil {
		r.Stdin = strings.NewReader(*b.Stdin)
	}
	return r, nil
}

func result(r *sandbox.Result) execResult {
	return execResult{
		Stdout: string(r.Stdout), Stderr: string(r.Stderr), ExitCode: r.ExitCode, TimedOut: r.TimedOut,
		DurationMs: r.Duration.Milliseconds(),
		Version:    r.Version, Committed: r.Committed, Truncated: r.Truncated, Ended: r.BackgroundEnded,
	}
}

func (s *server) execSync(ctx context.Context, in *execInput) (*execOutput, error) {
	req, err := s.request(ctx, in, "exec-sync")
	if err != nil {
		return nil, err
	}
	res, err := s.Service.Exec(ctx, req)
	if err != nil {
		body := toBody(ctx, err)
		if res != nil {
			// What the script had printed when it was ended.
			out, errOut, ms := string(res.Stdout), string(res.Stderr), res.Duration.Milliseconds()
			body.Stdout, body.Stderr, body.DurationMs, body.TimedOut = &out, &errOut, &ms,
				body.Code == string(wire.CodeExecTimeout)
			body.Truncated = res.Truncated
		}
		return nil, body
	}
	return &execOutput{result(res)}, nil
}

type batchInput struct {
	SandboxID
	Keyed
	Body struct {
		Scripts []struct {
			ID     string `json:"id" required:"true" maxLength:"256"`
			Script string `json:"script" required:"true"`
		} `json:"scripts" required:"true" minItems:"1" maxItems:"50"`
		TimeoutMs          int64 `json:"timeoutMs,omitempty" minimum:"1" doc:"for all of them together; 30000 by default, more than 300000 is 300000"`
		PerScriptTimeoutMs int64 `json:"perScriptTimeoutMs,omitempty" minimum:"1" doc:"more than 300000 is 300000"`
		ReadOnly           bool  `json:"readOnly,omitempty" doc:"in parallel on one snapshot"`
		Stale              int64 `json:"maxStalenessMs,omitempty" minimum:"0" maximum:"60000" doc:"with readOnly: the sandbox may be shown as it was up to that many milliseconds ago, which spares a question to the database"`

		Session sessionArg `json:"session,omitzero"`
	}
}

type batchResult struct {
	ID         string `json:"id"`
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr"`
	ExitCode   int    `json:"exitCode" doc:"-1: did not run to its end"`
	DurationMs int64  `json:"durationMs"`
	Error      string `json:"error,omitempty" doc:"timeout, or the code of what ended it"`
	Version    int64  `json:"version"`
	Committed  bool   `json:"committed"`
	Truncated  bool   `json:"truncated"`
	Ended      int    `json:"backgroundEnded,omitempty" doc:"as in exec-sync"`
}

type batchOutput struct {
	Body struct {
		Results []batchResult `json:"results"`
	}
}

// shortError is how streams and batches name what ended a script.
func shortError(code wire.Code) string {
	switch code {
	case wire.CodeExecTimeout:
		return "timeout"
	case wire.CodeReadOnlyViolation:
		return "read_only_violation"
	}
	return "error"
}

func (s *server) execBatch(ctx context.Context, in *batchInput) (*batchOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	c, err := keyed(ctx, caller(ctx, "exec-sync-batch"), in.IdempotencyKey, in)
	if err != nil {
		return nil, err
	}
	req := sandbox.BatchRequest{
		Sandbox: id, Caller: c, ReadOnly: in.Body.ReadOnly, Session: in.Body.Session.Session,
		Timeout:       time.Duration(min(in.Body.TimeoutMs, maxTimeoutMs)) * time.Millisecond,
		ScriptTimeout: time.Duration(min(in.Body.PerScriptTimeoutMs, maxTimeoutMs)) * time.Millisecond,
	}
	req.Caller.MaxStaleness = time.Duration(in.Body.Stale) * time.Millisecond
	for _, sc := range in.Body.Scripts {
		if len(sc.Script) > maxScript {
			return nil, newErrorBody(ctx, wire.CodePayloadTooLarge, fmt.Sprintf("a script has at most %d bytes", maxScript))
		}
		req.Scripts = append(req.Scripts, sandbox.BatchScript{ID: sc.ID, Script: sc.Script})
	}
	results, err := s.Service.ExecBatch(ctx, req)
	if err != nil {
		return nil, err
	}
	out := new(batchOutput)
	out.Body.Results = make([]batchResult, len(results))
	for i := range results {
		r := result(&results[i].Result)
		b := batchResult{results[i].ID, r.Stdout, r.Stderr, r.ExitCode, r.DurationMs, "", r.Version, r.Committed, r.Truncated,
			r.Ended}
		if e := results[i].Err; e != nil {
			b.ExitCode, b.Error = -1, shortError(e.Code)
			if b.Error == "error" {
				b.Error = string(e.Code)
			}
		}
		out.Body.Results[i] = b
	}
	return out, nil
}

// execStream answers with server-sent events. What is wrong before the script starts is plain JSON.
func (s *server) execStream(ctx context.Context, in *execInput) (*huma.StreamResponse, error) {
	req, err := s.request(ctx, in, "exec")
	if err != nil {
		return nil, err
	}
	if err := s.Service.Check(ctx, req.Caller, req.Sandbox); err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		r, w := humago.Unwrap(hctx)
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		ev := newEvents(w, s.Heartbeat, cancel)
		req.Stdout, req.Stderr = ev.stream("stdout"), ev.stream("stderr")
		start := time.Now()
		res, err := s.Service.Exec(ctx, req)
		exit := event{T: "exit", DurationMs: new(int64)}
		*exit.DurationMs = time.Since(start).Milliseconds()
		code := 0
		if res != nil {
			code, *exit.DurationMs, exit.Ended = res.ExitCode, res.Duration.Milliseconds(), res.BackgroundEnded
		}
		if err != nil {
			body := toBody(ctx, err)
			exit.Error, code = shortError(wire.Code(body.Code)), -1
			// To clients of sql-fs an error event is the end of the stream, and a timeout is told by the exit alone.
			exit.Code, exit.Retryable, exit.Applied = body.Code, &body.Retryable, body.Applied
			if exit.Error != "timeout" {
				ev.send(event{T: "error", Code: body.Code, Error: body.Message, Retryable: &body.Retryable, Applied: body.Applied})
			}
		}
		exit.ExitCode = &code
		ev.send(exit)
		ev.close()
	}}, nil
}

var errClientGone = errors.New("the client went away")
