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
	none, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims{"sub": "alice"}).SignedString(jwt.UnsafeAllowNoneSignatureType)
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
		"empty token": "Bearer ", "other scheme": "Basic " + good, "foreign key": "Bearer " + foreign, "alg none": "Bearer " + none,
		"other algorithm": "Bearer " + hs512, "no subject": "Bearer " + noSub, "no signature": "Bearer " + parts[0] + "." + parts[1] + ".",
		"noise": "Bearer x.y.z", "no scheme": good,
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
	out, _, _ := v.Issue("alice", "evil", 0)
	if _, err := v.Token(in); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Token(out); !errors.Is(err, ErrUnknownTenant) {
		t.Fatalf("foreign tenant: %v", err)
	}
}

func TestShortSecretIsRefused(t *testing.T) {
	if _, err := NewVerifier("short", nil); err == nil {
		t.Fatal("a short secret was accepted")
	}
}
