package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/wire"
)

const (
	bootstrapPath = "/v1/auth/bootstrap"
	adminPath     = "/v1/auth/admin"
)

var lifetimes = map[string]time.Duration{"24h": 24 * time.Hour, "30d": 30 * 24 * time.Hour, "1y": 365 * 24 * time.Hour,
	"never": 0}

type tokenInput struct {
	Body struct {
		Subject   string `json:"sub" required:"true" minLength:"1" maxLength:"256" doc:"owner of the sandboxes"`
		Tenant    string `json:"tenant,omitempty" maxLength:"256"`
		ExpiresIn string `json:"expiresIn,omitempty" enum:"24h,30d,1y,never" default:"30d"`
		// What would narrow a token and is not understood must not make one that is wide.
		_ struct{} `additionalProperties:"false"`
	}
}

type tokenOutput struct {
	Body struct {
		Token     string  `json:"token"`
		Subject   string  `json:"sub"`
		Tenant    string  `json:"tenant,omitempty"`
		ExpiresAt *string `json:"expiresAt" doc:"null: never"`
	}
}

func (s *server) authRoutes() {
	bootstrap := operation(http.MethodPost, bootstrapPath, "bootstrap", "Issue a token, with the deployment's secret",
		"auth", true)
	bootstrap.DefaultStatus = http.StatusCreated
	bootstrap.Middlewares = huma.Middlewares{s.secretGate("X-Auth-Secret", s.AuthSecret, wire.CodeAuthNotConfigured)}
	handle(s, bootstrap, s.issue)
	admin := operation(http.MethodPost, adminPath, "issueToken", "Issue a token, as an administrator", "auth", false)
	admin.DefaultStatus = http.StatusCreated
	admin.Middlewares = huma.Middlewares{s.secretGate("X-Admin-Secret", s.AdminSecret, wire.CodeAdminNotConfigured)}
	handle(s, admin, s.issue)
}

// secretGate lets a request pass whose header holds the secret. It runs before the body is read. Every wrong attempt
// counts against the rate limit of the client's address and, where there is one, of the token's owner; the right secret
// always passes, so that nobody locks out who shares an address with them.
func (s *server) secretGate(header, secret string, missing wire.Code) func(huma.Context, func(huma.Context)) {
	want := sha256.Sum256([]byte(secret))
	return func(hctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(hctx)
		if secret == "" || s.Verifier == nil {
			writeError(w, r, newErrorBody(r.Context(), missing, "this way to get a token is not configured"))
			return
		}
		// Equal-length digests: the comparison tells nothing of the secret, not even its length.
		got := sha256.Sum256([]byte(r.Header.Get(header)))
		if subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
			next(hctx)
			return
		}
		keys := []string{header + " ip " + s.clientAddress(r)}
		if id := fromContext(r.Context()).identity; id.Subject != "" {
			keys = append(keys, header+" sub "+id.Tenant+"\x00"+id.Subject)
		}
		for _, key := range keys {
			if wait, ok := s.attempts.take(key); !ok {
				w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
				writeError(w, r, newErrorBody(r.Context(), wire.CodeRateLimited, "too many attempts"))
				return
			}
		}
		writeError(w, r, newErrorBody(r.Context(), wire.CodeForbidden, "wrong secret"))
	}
}

func (s *server) issue(_ context.Context, in *tokenInput) (*tokenOutput, error) {
	token, expires, err := s.Verifier.Issue(in.Body.Subject, in.Body.Tenant, lifetimes[in.Body.ExpiresIn])
	if err != nil {
		return nil, err
	}
	out := new(tokenOutput)
	out.Body.Token, out.Body.Subject, out.Body.Tenant = token, in.Body.Subject, in.Body.Tenant
	if !expires.IsZero() {
		out.Body.ExpiresAt = new(string)
		*out.Body.ExpiresAt = sandbox.Timestamp(expires)
	}
	return out, nil
}
