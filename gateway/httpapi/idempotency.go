package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pgbox/pgbox/gateway/sandbox"
)

const (
	idempotencyHeader = "Idempotency-Key"
	maxIdempotencyKey = 255
)

// Keyed is the header of the routes that may be repeated. It is exported because huma sets it by reflection.
type Keyed struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"1 to 255 printable ASCII characters. A repeat with the same key and body is answered with the kept result, for a day; with another body it is IDEMPOTENCY_KEY_REUSED; during the first request it waits."`
}

// keyed is the caller with the request's key; in is everything the request says.
func keyed(ctx context.Context, c sandbox.Caller, name string, in any) (sandbox.Caller, error) {
	if name == "" {
		return c, nil
	}
	body, err := json.Marshal(in)
	if err != nil {
		return c, err
	}
	return withKey(ctx, c, name, sha256.Sum256(fmt.Appendf(nil, "%s %s", c.Route, body)))
}

func withKey(ctx context.Context, c sandbox.Caller, name string, digest [sha256.Size]byte) (sandbox.Caller, error) {
	if len(name) > maxIdempotencyKey || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) {
		return c, invalidInput(ctx, idempotencyHeader+": want 1 to 255 printable ASCII characters")
	}
	c.Key = &sandbox.Key{Name: name, Digest: digest}
	return c, nil
}
