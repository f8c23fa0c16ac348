package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/wire"
)

// Config is what the server stands on.
type Config struct {
	Version  string
	Service  *sandbox.Service
	Verifier *auth.Verifier // of bearer tokens
	Static   StaticKey
	// Origins of web pages that may call: "*" is any of them, which a token that no browser sends by itself makes safe.
	Origins []string
	// Quota of new sandboxes; 0: no limit.
	MaxBytes, MaxInodes int64
	// Relay hands cancellations on to the other gateways; nil: there are none.
	Relay Relay
	// Heartbeat is how often a stream in which nothing comes says that it lives; 0: every 15 s.
	Heartbeat time.Duration
}

// StaticKey lets an application that speaks for many users in with one key, and a header that names the user.
type StaticKey struct {
	Key     string // "": there is none; else at least auth.MinSecret bytes
	Header  string // names the owner of the sandboxes
	Subject string // the owner when the header is missing; "": that is refused
	Tenant  string
}

// maxBody bounds a request: what an agent sends, files in base64 included.
const maxBody = 64 << 20

const instructions = `Each sandbox is a persistent Linux-like filesystem with bash 5.2, GNU tools, jq, rg, sqlite3, awk, python3 (where the server has it) and more; there is no network, node or git
(what is absent says what to use instead).
Create one with sandbox_create and keep its id: files, the working directory and exported variables are still there in the next call, and days later.
Run scripts with bash_exec; several commands in one script are one transaction: a script that is killed (timeout, limit) changes nothing.
readOnly scripts run at once, beside any writer. Use file_read, file_write and file_edit for single files, fs_ingest for many.
Before something risky take a sandbox_snapshot or a sandbox_fork: both take no time and no space. sandbox_diff shows what changed, sandbox_merge brings a fork's work back.
An error says in "applied" whether anything was changed, and in "retryable" whether the same call may succeed later.`

type server struct {
	Config
	next  http.Handler
	calls *calls
}

// New returns the handler of /mcp.
func New(cfg Config) http.Handler {
	s := &server{Config: cfg, calls: newCalls()}
	if s.Heartbeat <= 0 {
		s.Heartbeat = heartbeat
	}
	if s.Relay != nil {
		s.Relay.Hear(s.hear)
	}
	impl := sdk.NewServer(&sdk.Implementation{Name: "pgbox", Title: "pgbox sandboxes", Version: cfg.Version},
		&sdk.ServerOptions{
			Instructions: instructions,
			// Nothing is kept between requests, so a change of the list cannot be told.
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		})
	s.sandboxTools(impl)
	s.branchTools(impl)
	s.historyTools(impl)
	s.sessionTools(impl)
	s.execTools(impl)
	s.fileTools(impl)
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return impl }, &sdk.StreamableHTTPOptions{
		Stateless: true,
		// The check is authorize's: every request needs a token, wherever it is from.
		DisableLocalhostProtection: true,
		MaxRequestBodyBytes:        maxBody,
	})
	// The SDK hands an identity to tools only as what its own middleware found out.
	s.next = sdkauth.RequireBearerToken(func(ctx context.Context, _ string, _ *http.Request) (*sdkauth.TokenInfo, error) {
		id, ok := ctx.Value(identityKey{}).(auth.Identity)
		if !ok {
			return nil, sdkauth.ErrInvalidToken
		}
		extra := map[string]any{extraIdentity: id, extraRequest: ctx.Value(requestKey{})}
		return &sdkauth.TokenInfo{UserID: id.Tenant + "/" + id.Subject, Extra: extra}, nil
	}, &sdkauth.RequireBearerTokenOptions{AllowMissingExpiration: true})(handler)
	return s
}

type (
	identityKey struct{}
	requestKey  struct{}
)

// What tools find in the SDK's description of the token.
const (
	extraIdentity = "identity"
	extraRequest  = "request"
)

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	origin := r.Header.Get("Origin")
	if origin != "" && !s.allowed(origin, r.Host) {
		refuse(w, wire.CodeForbidden, "this origin may not call: MCP_ALLOWED_ORIGINS")
		return
	}
	if origin != "" {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Add("Vary", "Origin")
		h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate, X-Request-Id")
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Methods", "POST, DELETE, OPTIONS")
			h.Set("Access-Control-Allow-Headers",
				strings.Join(append([]string{"Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name"}, s.identityHeaders()...), ", "))
			h.Set("Access-Control-Max-Age", "86400")
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	id, err := s.identify(r)
	if err != nil {
		var (
			known   *sandbox.Error
			refused *auth.Error
		)
		code, message := wire.CodeInternal, "internal error"
		switch {
		case errors.As(err, &known):
			code, message = known.Code, known.Message
		case errors.As(err, &refused):
			code, message = refused.Code, err.Error()
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(w, code, message)
		return
	}
	s.serve(w, r, id)
}

// serve answers a request of a known user.
func (s *server) serve(w http.ResponseWriter, r *http.Request, id auth.Identity) {
	session := r.Header.Get(sessionHeader)
	if len(session) > maxSession {
		refuse(w, wire.CodeInvalidInput, fmt.Sprintf("%s has at most %d bytes", sessionHeader, maxSession))
		return
	}
	if r.Method == http.MethodDelete && session != "" {
		s.end(r.Context(), callKey{id.Tenant, id.Subject, session, ""})
		w.WriteHeader(http.StatusNoContent)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			refuse(w, wire.CodePayloadTooLarge, fmt.Sprintf("the request body has more than %d bytes", maxBody))
			return
		}
		refuse(w, wire.CodeInvalidInput, "the request body ended early")
		return
	}
	keys, initialize := s.enter(r, id, body)
	if initialize && session == "" {
		// Nothing is kept under it: it tells a client's requests from those of the user's other clients.
		w.Header().Set(sessionHeader, uuid.NewString())
	}
	answer := &stream{ResponseWriter: w, every: s.Heartbeat}
	defer answer.end()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	call := &request{ctx: ctx, cancel: cancel, stream: answer}
	defer s.calls.begin(call, keys)()
	r = r.Clone(context.WithValue(context.WithValue(r.Context(), identityKey{}, id), requestKey{}, call))
	r.Header.Set("Authorization", "Bearer known") // nothing behind needs the secret
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.next.ServeHTTP(answer, r)
}

func (s *server) identityHeaders() []string {
	if s.Static.Key == "" {
		return nil
	}
	return []string{s.Static.Header}
}

// allowed: the server's own pages, and those of the configuration.
func (s *server) allowed(origin, host string) bool {
	if slices.Contains(s.Origins, "*") || slices.Contains(s.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

// identify says who asks: the user that the holder of the static key names, or the owner of a token.
func (s *server) identify(r *http.Request) (auth.Identity, error) {
	header := r.Header.Get("Authorization")
	scheme, token, _ := strings.Cut(header, " ")
	if s.Static.Key == "" || !strings.EqualFold(scheme, "bearer") || !sameKey(strings.TrimSpace(token), s.Static.Key) {
		return s.Verifier.Header(header)
	}
	subject := strings.TrimSpace(r.Header.Get(s.Static.Header))
	if subject == "" {
		subject = s.Static.Subject
	}
	switch {
	case subject == "":
		return auth.Identity{}, failure(wire.CodeAuthIdentityRequired,
			fmt.Sprintf("the header %s has to name the user", s.Static.Header))
	case len(subject) > 256 || !utf8.ValidString(subject) || strings.ContainsFunc(subject, unicode.IsControl):
		return auth.Identity{}, failure(wire.CodeAuthIdentityInvalid,
			fmt.Sprintf("the header %s has to be at most 256 bytes of text", s.Static.Header))
	}
	return auth.Identity{Subject: subject, Tenant: s.Static.Tenant}, nil
}

// sameKey compares in constant time, whatever the lengths are.
func sameKey(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// refuse answers a request that never reaches the protocol, as the REST interface does.
func refuse(w http.ResponseWriter, code wire.Code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code.Status())
	// the client is gone when this fails
	_ = json.NewEncoder(w).Encode(map[string]any{"error": message, "code": code, "retryable": code.Retryable(),
		"applied": sandbox.AppliedNo})
}

func failure(code wire.Code, message string, details ...string) *sandbox.Error {
	return &sandbox.Error{Code: code, Applied: sandbox.AppliedNo, Retryable: code.Retryable(), Message: message,
		Details: details}
}

// caller is who a tool is called by.
func caller(req *sdk.CallToolRequest) sandbox.Caller {
	c := sandbox.Caller{Route: "mcp:" + req.Params.Name}
	if req.Extra != nil && sandbox.CheckAgent(req.Extra.Header.Get(sandbox.AgentHeader)) == nil {
		c.Agent = req.Extra.Header.Get(sandbox.AgentHeader)
	}
	if req.Extra != nil && req.Extra.TokenInfo != nil {
		if id, ok := req.Extra.TokenInfo.Extra[extraIdentity].(auth.Identity); ok {
			c.Tenant, c.Subject = id.Tenant, id.Subject
		}
	}
	return c
}

// internal logs what a client may not see.
func internal(tool string, err error) *sandbox.Error {
	slog.Error("internal error", "op", "mcp", "tool", tool, "err", err)
	return failure(wire.CodeInternal, "internal error")
}
