package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/wire"
)

// Key makes a request safe to repeat: the answer is kept, for a day, in the transaction of the change, and a repeat is
// answered with it. A request that failed applied nothing and keeps nothing: its repeat is a new attempt. A key belongs
// to the caller, not to a sandbox.
type Key struct {
	Name   string
	Digest [sha256.Size]byte // of the request: the same name with another request is IDEMPOTENCY_KEY_REUSED
}

// part is the key of one script of a batch. Names hold no control characters.
func (k *Key) part(i int) *Key { return &Key{k.Name + "\x1f" + strconv.Itoa(i), k.Digest} }

// lock is what repeats of a request wait for: a lock like that of a sandbox, with an id made of caller and key.
func (k *Key) lock(c Caller) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%q %q %q", c.Tenant, c.Subject, k.Name))
}

// answer is what is kept of v.
func (k *Key) answer(c Caller, v any) (*store.Answer, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &store.Answer{Tenant: c.Tenant, Owner: c.Subject, Key: k.Name, Digest: k.Digest, Result: data}, nil
}

// kept reads what was kept under k into v.
func (k *Key) kept(a store.Answer, v any) error {
	if a.Digest != k.Digest {
		return newError(wire.CodeIdempotencyKeyReused, nil,
			"this idempotency key came with another request; nothing was applied")
	}
	return json.Unmarshal(a.Result, v)
}

// recall looks up what was kept under keys.
func (s *Service) recall(ctx context.Context, c Caller, keys ...*Key) (map[string]store.Answer, error) {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name
	}
	return s.store.Recall(ctx, c.Tenant, c.Subject, names)
}

// once runs do for the first request with the caller's key and answers a repeat with what that returned. do reports
// whether the answer is kept already, with the change. Without a key it just runs do.
func once[T any](
	ctx context.Context, s *Service, c Caller, do func() (v T, kept bool, err error),
) (v T, repeat bool, err error) {
	k := c.Key
	if k == nil {
		v, _, err = do()
		return v, false, err
	}
	lease, err := s.lock.Lock(ctx, k.lock(c))
	if err != nil {
		return v, false, err
	}
	defer lease.Unlock()
	found := func() (ok bool, err error) {
		all, err := s.recall(ctx, c, k)
		if a, ok := all[k.Name]; ok && err == nil {
			return true, k.kept(a, &v)
		}
		return false, err
	}
	if ok, err := found(); ok || err != nil {
		return v, ok, err
	}
	v, kept, err := do()
	if err == nil && !kept {
		var a *store.Answer
		if a, err = k.answer(c, v); err == nil {
			err = s.store.Remember(ctx, a)
		}
	}
	if errors.Is(err, store.ErrRepeated) {
		// The lock was lost to a repeat, which was faster, or the first request is the one whose connection we lost.
		if ok, err := found(); ok || err != nil {
			return v, ok, err
		}
	}
	return v, false, err
}
