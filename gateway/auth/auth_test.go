package auth

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const secret = "a secret of enough bytes"

func verifier(t *testing.T, tenants ...string) *Verifier {
	t.Helper()
	v, err := NewVerifier(secret, tenants)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestIssuedTokenVerifies(t *testing.T) {
	v := verifier(t)
	token, expires, err := v.Issue("alice", "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if expires.IsZero() {
		t.Fatal("a token with a lifetime has no expiry")
	}
	for range 2 { // the second time from memory
		id, err := v.Header("Bearer " + token)
		if err != nil || id.Subject != "alice" || id.Tenant != DefaultTenant || id.TokenID == "" {
			t.Fatalf("got %+v, %v", id, err)
		}
	}
}

func TestExpiredTokenIsRefusedAlsoWhenRemembered(t *testing.T) {
	v := verifier(t)
	now := time.Now()
	v.now = func() time.Time { return now }
	token, _, err := v.Issue("alice", "t1", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Token(token); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Minute)
	if _, err := v.Token(token); !errors.Is(err, ErrInvalid) {
		t.Fatalf("remembered expired token: %v", err)
	}
	if _, err := verifier(t).Token(token); err != nil {
		t.Fatalf("the token is still good by the real clock: %v", err)
	}
}

func TestForgedTokensAreRefused(t *testing.T) {
	v := verifier(t)
	good, _, _ := v.Issue("alice", "", 0)
	other, _ := NewVerifier("another secret entirely", nil)
	foreign, _, _ := other.Issue("alice", "", 0)
	none, err := jwt.NewWithClaims(jwt.SigningMethodNone,
		jwt.MapClaims{"sub": "alice"}).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	hs512, err := jwt.NewWithClaims(jwt.SigningMethodHS512, jwt.MapClaims{"sub": "alice"}).SignedString([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	noSub, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{}).SignedString([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(good, ".")
	for name, h := range map[string]string{
		"empty token": "Bearer ", "other scheme": "Basic " + good, "foreign key": "Bearer " + foreign,
		"alg none":        "Bearer " + none,
		"other algorithm": "Bearer " + hs512, "no subject": "Bearer " + noSub,
		"no signature": "Bearer " + parts[0] + "." + parts[1] + ".",
		"noise":        "Bearer x.y.z", "no scheme": good,
	} {
		if _, err := v.Header(h); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := v.Header(""); !errors.Is(err, ErrRequired) {
		t.Errorf("no header: %v", err)
	}
}

func TestTenantAllowList(t *testing.T) {
	v := verifier(t, "acme")
	in, _, _ := v.Issue("alice", "acme", 0)
	out, _, _ := verifier(t).Issue("alice", "evil", 0)
	if _, err := v.Token(in); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Token(out); !errors.Is(err, ErrUnknownTenant) {
		t.Fatalf("foreign tenant: %v", err)
	}
}

// No token is issued that would be refused.
func TestTokensOfUnknownTenantsAreNotIssued(t *testing.T) {
	v := verifier(t, "acme")
	for _, tenant := range []string{"evil", ""} {
		if token, _, err := v.Issue("alice", tenant, 0); !errors.Is(err, ErrUnknownTenant) || token != "" {
			t.Errorf("%q: %q %v", tenant, token, err)
		}
	}
	if _, _, err := verifier(t, DefaultTenant).Issue("alice", "", 0); err != nil {
		t.Error(err)
	}
}

func signed(t *testing.T, header map[string]any, c jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, c)
	for k, v := range header {
		token.Header[k] = v
	}
	s, err := token.SignedString([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Names of claims are compared exactly: encoding/json alone would not.
func TestClaimsAreCaseSensitive(t *testing.T) {
	v := verifier(t)
	if _, err := v.Token(signed(t, nil, jwt.MapClaims{"SUB": "alice"})); !errors.Is(err, ErrInvalid) {
		t.Errorf("SUB is taken for sub: %v", err)
	}
	for range 20 { // whatever comes first
		id, err := v.Token(signed(t, nil, jwt.MapClaims{"sub": "alice", "Sub": "bob", "Tenant": "evil", "tEnant": "evil",
			"iat": time.Now().UnixNano()}))
		if err != nil || id.Subject != "alice" || id.Tenant != DefaultTenant {
			t.Fatalf("%+v %v", id, err)
		}
	}
	if _, err := v.Token(signed(t, nil, jwt.MapClaims{"sub": "alice", "exp": 1,
		"EXP": time.Now().Add(time.Hour).Unix()})); !errors.Is(err, ErrInvalid) {
		t.Errorf("EXP is taken for exp: %v", err)
	}
}

// A header that says what has to be understood is not passed over.
func TestCriticalHeadersAreRefused(t *testing.T) {
	v := verifier(t)
	for _, crit := range []any{[]string{"b64"}, []string{"exp"}, []string{}, nil, "x"} {
		if _, err := v.Token(signed(t, map[string]any{"crit": crit, "b64": false},
			jwt.MapClaims{"sub": "alice"})); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v: %v", crit, err)
		}
	}
}

func TestShortSecretIsRefused(t *testing.T) {
	if _, err := NewVerifier("short", nil); err == nil {
		t.Fatal("a short secret was accepted")
	}
}
