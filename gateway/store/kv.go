package store

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgbox/pgbox/sqlcgen"
)

// Expect is what a key must be like for a change of it to happen; ESTALE otherwise.
type Expect struct {
	Version *int64          // 0: not there
	Value   json.RawMessage // nil: any
}

// KvGet returns a key of a sandbox's store; ENOENT when there is none.
func (s *Store) KvGet(ctx context.Context, sandbox uuid.UUID, key string) (*KeyValue, error) {
	var r sqlcgen.FsKeyValue
	err := s.read(ctx, "kv_get", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		r, err = sqlcgen.New(c).KvGet(ctx, sqlcgen.KvGetParams{Sandbox: sandbox, Key: key})
		return err
	})
	if err != nil {
		return nil, err
	}
	v := KeyValue(r)
	return &v, nil
}

// KvList returns up to limit keys that begin with prefix, in byte order after the given one.
func (s *Store) KvList(
	ctx context.Context, sandbox uuid.UUID, prefix string, limit int, after string,
) ([]KeyValue, error) {
	var rows []sqlcgen.FsKeyValue
	err := s.read(ctx, "kv_list", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		rows, err = sqlcgen.New(c).KvList(ctx, sqlcgen.KvListParams{Sandbox: sandbox, Prefix: prefix, MaxRows: int32(limit),
			After: after})
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]KeyValue, len(rows))
	for i := range rows {
		out[i] = KeyValue(rows[i])
	}
	return out, nil
}

// KvSet sets a key and returns its new version.
func (s *Store) KvSet(
	ctx context.Context, sandbox uuid.UUID, key string, value json.RawMessage, e Expect, by Exec,
) (version int64, err error) {
	err = s.write(ctx, "kv_set", &by, func(ctx context.Context, q *sqlcgen.Queries) (err error) {
		version, err = q.KvSet(ctx, sqlcgen.KvSetParams{Sandbox: sandbox, Key: key, Value: value, ExpectVersion: e.Version,
			ExpectValue: e.Value})
		return err
	})
	return version, err
}

// KvDelete removes a key; ENOENT when there is none.
func (s *Store) KvDelete(ctx context.Context, sandbox uuid.UUID, key string, e Expect, by Exec) error {
	return s.write(ctx, "kv_delete", &by, func(ctx context.Context, q *sqlcgen.Queries) error {
		return q.KvDelete(ctx, sqlcgen.KvDeleteParams{Sandbox: sandbox, Key: key, ExpectVersion: e.Version,
			ExpectValue: e.Value})
	})
}
