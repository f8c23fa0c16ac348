package sandbox

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

// KeyValue is a key of a sandbox's store.
type KeyValue = store.KeyValue

// Expect is what a key must be like for a change of it to happen.
type Expect = store.Expect

// KvGet returns a key of a sandbox's store.
func (s *Service) KvGet(ctx context.Context, c Caller, id uuid.UUID, key string) (*KeyValue, error) {
	return told(ctx, s, c, id, "kv get "+key, func(ctx context.Context, _ *store.Fence) (*KeyValue, error) {
		v, err := s.store.KvGet(ctx, id, key)
		return v, noKey(err)
	})
}

// KvList returns up to limit keys that begin with prefix, in byte order after the given one.
func (s *Service) KvList(
	ctx context.Context, c Caller, id uuid.UUID, prefix string, limit int, after string,
) ([]KeyValue, error) {
	return told(ctx, s, c, id, "kv ls "+prefix, func(ctx context.Context, _ *store.Fence) ([]KeyValue, error) {
		return s.store.KvList(ctx, id, prefix, limit, after)
	})
}

// KvSet sets a key and returns its new version; ESTALE when it is not as expected.
func (s *Service) KvSet(
	ctx context.Context, c Caller, id uuid.UUID, key string, value json.RawMessage, e Expect,
) (version int64, err error) {
	return verb(ctx, s, c, id, "kv set "+key, func(ctx context.Context, _ *store.Fence, row store.Exec) (int64, error) {
		version, err := s.store.KvSet(ctx, id, key, value, e, row)
		return version, noKey(err)
	})
}

// KvDelete removes a key; ESTALE when it is not as expected.
func (s *Service) KvDelete(ctx context.Context, c Caller, id uuid.UUID, key string, e Expect) error {
	return s.act(ctx, c, id, "kv rm "+key, func(ctx context.Context, _ *store.Fence, row store.Exec) error {
		return noKey(s.store.KvDelete(ctx, id, key, e, row))
	})
}

func noKey(err error) error {
	switch {
	case errors.Is(err, vfs.ENOENT):
		return newError(wire.CodeENOENT, err, "no such key")
	case errors.Is(err, vfs.ESTALE):
		return newError(wire.CodeESTALE, err, "the key is not as expected")
	}
	return err
}
