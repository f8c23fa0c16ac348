package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

// Relay reaches the other gateways: a cancellation may arrive at another one than the call.
type Relay interface {
	Send(ctx context.Context, message string) error
	Hear(f func(message string))
}

const (
	sessionHeader = "Mcp-Session-Id"
	maxSession    = 128

	// A cancellation can overtake its call, on another connection or by another gateway.
	earlyFor = 10 * time.Second
	maxEarly = 1000
)

// errCancelled ends a call that its client has cancelled.
var errCancelled = &sandbox.Error{Code: wire.CodeSessionClosing, Errno: vfs.ECANCELED, Applied: sandbox.AppliedNo,
	Message: "the call was cancelled; nothing was applied"}

// callKey is what a cancellation names: a request of a client of a user. Request ids are a client's own, and a client
// is told apart from the user's others by the session that the answer to its initialize names. An empty ID is every
// request of the session.
type callKey struct {
	Tenant  string `json:"t"`
	Subject string `json:"u"`
	Session string `json:"s"`
	ID      string `json:"i"`
}

// calls are the requests that are being answered here.
type calls struct {
	mu      sync.Mutex
	running map[callKey]map[*request]struct{}
	early   map[callKey]time.Time // cancelled before they came
}

// request is one POST.
type request struct {
	ctx    context.Context // of the tools it calls: ends with the connection and by a cancellation
	cancel context.CancelCauseFunc
	stream *stream
}

func newCalls() *calls {
	return &calls{running: map[callKey]map[*request]struct{}{}, early: map[callKey]time.Time{}}
}

// begin enters a request under its keys; end takes it out.
func (c *calls) begin(r *request, keys []callKey) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range keys {
		if at, ok := c.early[k]; ok && time.Since(at) < earlyFor {
			r.cancel(errCancelled)
		}
		if c.running[k] == nil {
			c.running[k] = map[*request]struct{}{}
		}
		c.running[k][r] = struct{}{}
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, k := range keys {
			if delete(c.running[k], r); len(c.running[k]) == 0 {
				delete(c.running, k)
			}
		}
	}
}

// cancel ends what key names.
func (c *calls) cancel(key callKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key.ID == "" {
		for k, all := range c.running {
			if k.Tenant == key.Tenant && k.Subject == key.Subject && k.Session == key.Session {
				for r := range all {
					r.cancel(errCancelled)
				}
			}
		}
		return
	}
	for r := range c.running[key] {
		r.cancel(errCancelled)
	}
	// Within a session no id is used twice. Without one the next client may begin with the same ids.
	if len(c.running[key]) > 0 || key.Session == "" {
		return
	}
	for k, at := range c.early {
		if time.Since(at) >= earlyFor {
			delete(c.early, k)
		}
	}
	if len(c.early) < maxEarly {
		c.early[key] = time.Now()
	}
}

// end cancels here and at the other gateways.
func (s *server) end(ctx context.Context, key callKey) {
	s.calls.cancel(key)
	if s.Relay == nil {
		return
	}
	message, err := json.Marshal(key)
	if err == nil {
		err = s.Relay.Send(ctx, string(message))
	}
	if err != nil {
		slog.Warn("a cancellation did not reach the other gateways", "op", "mcp", "err", err)
	}
}

// hear takes a cancellation that another gateway was given.
func (s *server) hear(message string) {
	var key callKey
	if err := json.Unmarshal([]byte(message), &key); err != nil {
		slog.Warn("a message of another gateway is not understood", "op", "mcp", "err", err)
		return
	}
	s.calls.cancel(key)
}

// frame is what is read here of a JSON-RPC message.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// frames are the messages of a body, none when it is not one: that is the protocol's to refuse.
func frames(body []byte) []frame {
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) > 0 && body[0] == '[' {
		var all []frame
		if json.Unmarshal(body, &all) != nil {
			return nil
		}
		return all
	}
	var one frame
	if json.Unmarshal(body, &one) != nil {
		return nil
	}
	return []frame{one}
}

// requestID is the one form of an id, "" for what cannot be one.
func requestID(raw json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if len(raw) == 0 || d.Decode(&v) != nil {
		return ""
	}
	switch v.(type) {
	case string, json.Number:
		b, err := json.Marshal(v)
		if err == nil {
			return string(b)
		}
	}
	return ""
}

// enter finds the calls in a body and obeys the cancellations in it. initialize reports whether a client introduces
// itself.
func (s *server) enter(r *http.Request, id auth.Identity, body []byte) (keys []callKey, initialize bool) {
	session := r.Header.Get(sessionHeader)
	for _, f := range frames(body) {
		key := callKey{id.Tenant, id.Subject, session, requestID(f.ID)}
		switch {
		case f.Method == "initialize":
			initialize = true
		case f.Method == "notifications/cancelled":
			var p struct {
				RequestID json.RawMessage `json:"requestId"`
			}
			if json.Unmarshal(f.Params, &p) == nil {
				if key.ID = requestID(p.RequestID); key.ID != "" {
					s.end(r.Context(), key)
				}
			}
		case f.Method != "" && key.ID != "":
			keys = append(keys, key)
		}
	}
	return keys, initialize
}

// within is the context of a tool: the protocol's own, which before version 2026-07-28 outlives the connection, ended
// by what ends the request. It also begins to keep the connection alive.
func within(ctx context.Context, req *sdk.CallToolRequest) (context.Context, func()) {
	if req.Extra == nil || req.Extra.TokenInfo == nil {
		return ctx, func() {}
	}
	r, ok := req.Extra.TokenInfo.Extra[extraRequest].(*request)
	if !ok {
		return ctx, func() {}
	}
	r.stream.begin()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}
