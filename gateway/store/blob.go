package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/sqlcgen"
)

// Bounds of one upload.
const (
	batchBytes = 4 << 20
	batchBlobs = 4096
)

func raw(hashes []tree.Hash) [][]byte {
	out := make([][]byte, len(hashes))
	for i := range hashes {
		out[i] = hashes[i][:]
	}
	return out
}

// ReadBlobs returns contents in the order of hashes, nil for one that the database does not hold.
func (s *Store) ReadBlobs(ctx context.Context, sandbox uuid.UUID, hashes []tree.Hash) ([][]byte, error) {
	if s.standby == nil {
		return s.readBlobs(ctx, sandbox, hashes)
	}
	out, missing := s.standby.blobs(ctx, sandbox, hashes)
	if len(missing) == 0 {
		return out, nil
	}
	rest := make([]tree.Hash, len(missing))
	for i, k := range missing {
		rest[i] = hashes[k]
	}
	data, err := s.readBlobs(ctx, sandbox, rest)
	if err != nil {
		return nil, err
	}
	for i, k := range missing {
		out[k] = data[i]
	}
	return out, nil
}

// readBlobs is ReadBlobs from the primary.
func (s *Store) readBlobs(ctx context.Context, sandbox uuid.UUID, hashes []tree.Hash) ([][]byte, error) {
	var rows []sqlcgen.ReadBlobsRow
	err := s.read(ctx, "read_blobs", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		rows, err = sqlcgen.New(c).ReadBlobs(ctx, sqlcgen.ReadBlobsParams{Sandbox: sandbox, SHA256: raw(hashes)})
		return err
	})
	if err != nil {
		return nil, err
	}
	return inOrder(hashes, rows), nil
}

// inOrder puts contents in the order of hashes.
func inOrder(hashes []tree.Hash, rows []sqlcgen.ReadBlobsRow) [][]byte {
	if len(hashes) == 1 && len(rows) == 1 {
		return [][]byte{rows[0].Data}
	}
	by := make(map[tree.Hash][]byte, len(rows))
	for _, r := range rows {
		by[tree.Hash(r.SHA256)] = r.Data
	}
	out := make([][]byte, len(hashes))
	for i, h := range hashes {
		out[i] = by[h]
	}
	return out
}

// MissingBlobs returns those of the hashes that the database holds no content for.
func (s *Store) MissingBlobs(ctx context.Context, sandbox uuid.UUID, hashes []tree.Hash) ([]tree.Hash, error) {
	var rows [][]byte
	err := s.read(ctx, "missing_blobs", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		rows, err = sqlcgen.New(c).MissingBlobs(ctx, sqlcgen.MissingBlobsParams{Sandbox: sandbox, SHA256: raw(hashes)})
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]tree.Hash, len(rows))
	for i, r := range rows {
		out[i] = tree.Hash(r)
	}
	return out, nil
}

// PutBlobs stores contents, a bounded number of bytes at a time. Nothing refers to them before a commit does.
func (s *Store) PutBlobs(ctx context.Context, sandbox uuid.UUID, data [][]byte) error {
	return batches(data, func(part [][]byte) error {
		// Storing the same content twice is storing it once, so an upload is repeated like a read.
		return s.read(ctx, "put_blobs", func(ctx context.Context, c *pgxpool.Conn) error {
			return putBlobs(ctx, sqlcgen.New(c), sandbox, part)
		})
	})
}

func putBlobs(ctx context.Context, q *sqlcgen.Queries, sandbox uuid.UUID, data [][]byte) error {
	_, err := q.PutBlobs(ctx, sqlcgen.PutBlobsParams{Sandbox: sandbox, Data: data})
	return err
}

// batches calls f with consecutive parts of data.
func batches(data [][]byte, f func([][]byte) error) error {
	for len(data) > 0 {
		n, size := 0, 0
		for n < len(data) && n < batchBlobs && (n == 0 || size+len(data[n]) <= batchBytes) {
			size += len(data[n])
			n++
		}
		if err := f(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
