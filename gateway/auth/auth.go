// Package auth issues and verifies the bearer tokens of the HTTP and MCP
// interfaces: HS256 JSON Web Tokens whose subject owns sandboxes.
//
// A token carries sub (the owner), tenant (default "default"), jti, and exp
// unless it never expires. Verified tokens are remembered by their SHA-256 until they
// expire, so that a warm request does not verify a signature again.
package auth

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"

	"github.com/pgbox/pgbox/gateway/wire"
)

// DefaultTenant is the tenant of a token that names none.
const DefaultTenant = "default"

// MinSecret is the shortest secret accepted, in bytes.
const MinSecret = 16

// Error is a reason to refuse a request.
type Error struct {
	Code wire.Code
	text string
}

func (e *Error) Error() string { return e.text }

// The reasons a request is refused.
var (
	ErrRequired      = &Error{wire.CodeAuthRequired, "authentication required"} // no Authorization header
	ErrInvalid       = &Error{wire.CodeAuthInvalid, "invalid or expired token"} // malformed, forged, expired
	ErrUnknownTenant = &Error{wire.CodeAuthUnknownTenant, "the token's tenant is unknown here"}
)

// Identity is who a verified token speaks for.
type Identity struct {
	Subject string
	Tenant  string
	TokenID string
	expires time.Time // zero: never
}

// Verifier issues and verifies tokens. Safe for concurrent use.
type Verifier struct {
	secret  []byte
	tenants map[string]bool // nil: any
	known   *otter.Cache[[sha256.Size]byte, Identity]
	now     func() time.Time
}

// NewVerifier returns a Verifier for an HS256 secret of at least MinSecret bytes. With tenants given, tokens of
// any other tenant are refused.
func NewVerifier(secret string, tenants []string) (*Verifier, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("the token secret must have at least %d bytes", MinSecret)
	}
	known, err := otter.New(&otter.Options[[sha256.Size]byte, Identity]{MaximumSize: 10_000})
	if err != nil {
		return nil, err
	}
	v := &Verifier{secret: []byte(secret), known: known, now: time.Now}
	if len(tenants) > 0 {
		v.tenants = make(map[string]bool, len(tenants))
		for _, t := range tenants {
			v.tenants[t] = true
		}
	}
	return v, nil
}

type claims struct {
	Tenant string `json:"tenant,omitempty"`
	jwt.RegisteredClaims
}

// UnmarshalJSON reads the claims by their exact names (RFC 7519, section 10.1.1): encoding/json takes "SUB" for "sub",
// so that two readers of one token could see two owners.
func (c *claims) UnmarshalJSON(data []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	type plain claims
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return strings.ToLower(name) != name })
	exact, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return json.Unmarshal(exact, (*plain)(c))
}

// Issue signs a token for an owner; ttl 0 means it never expires. It returns the
// token and its expiry (zero when it has none). A tenant whose tokens would be refused is ErrUnknownTenant.
func (v *Verifier) Issue(subject, tenant string, ttl time.Duration) (string, time.Time, error) {
	if v.tenants != nil && !v.tenants[cmp.Or(tenant, DefaultTenant)] {
		return "", time.Time{}, ErrUnknownTenant
	}
	now := v.now()
	c := claims{Tenant: tenant, RegisteredClaims: jwt.RegisteredClaims{
		Subject: subject, ID: uuid.NewString(), IssuedAt: jwt.NewNumericDate(now),
	}}
	var expires time.Time
	if ttl > 0 {
		c.ExpiresAt = jwt.NewNumericDate(now.Add(ttl))
		expires = c.ExpiresAt.Time
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString(v.secret)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("sign token: %w", err)
	}
	return token, expires, nil
}

// Header verifies the value of an Authorization header.
func (v *Verifier) Header(h string) (Identity, error) {
	if h == "" {
		return Identity{}, ErrRequired
	}
	scheme, token, ok := strings.Cut(h, " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return Identity{}, ErrInvalid
	}
	return v.Token(strings.TrimSpace(token))
}

// key refuses what a header demands and nobody here understands (RFC 7515, section 4.1.11).
func (v *Verifier) key(t *jwt.Token) (any, error) {
	if _, ok := t.Header["crit"]; ok {
		return nil, jwt.ErrTokenUnverifiable
	}
	return v.secret, nil
}

// Token verifies a token.
func (v *Verifier) Token(token string) (Identity, error) {
	key := sha256.Sum256([]byte(token))
	id, ok := v.known.GetIfPresent(key)
	if !ok {
		var c claims
		_, err := jwt.ParseWithClaims(token, &c, v.key,
			jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithTimeFunc(v.now))
		if err != nil || c.Subject == "" || len(c.Subject) > 256 || strings.ContainsRune(c.Subject+c.Tenant, 0) {
			return Identity{}, ErrInvalid
		}
		id = Identity{Subject: c.Subject, Tenant: c.Tenant, TokenID: c.ID}
		if id.Tenant == "" {
			id.Tenant = DefaultTenant
		}
		if c.ExpiresAt != nil {
			id.expires = c.ExpiresAt.Time
		}
		v.known.Set(key, id)
	}
	if !id.expires.IsZero() && !v.now().Before(id.expires) {
		return Identity{}, ErrInvalid
	}
	if v.tenants != nil && !v.tenants[id.Tenant] {
		return Identity{}, ErrUnknownTenant
	}
	return id, nil
}
