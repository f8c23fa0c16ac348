package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sqlcgen"
)

// Fence reads the state of a sandbox as last committed. It is ESRCH when there is no such sandbox (any more).
func (s *Store) Fence(ctx context.Context, sandbox uuid.UUID) (*Fence, error) {
	var f *Fence
	err := s.read(ctx, "fence", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		f, err = fence(ctx, sqlcgen.New(c), sandbox)
		return err
	})
	return f, err
}

// FenceAt reads an earlier state of a sandbox; ENOENT when there is none. Its layers begin with the nil id, unless it
// is the present state.
func (s *Store) FenceAt(ctx context.Context, sandbox uuid.UUID, at string) (*Fence, error) {
	var r sqlcgen.FsFence
	err := s.read(ctx, "fence_at", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		r, err = sqlcgen.New(c).FenceAt(ctx, sqlcgen.FenceAtParams{Sandbox: sandbox, At: at})
		return err
	})
	if err != nil {
		return nil, err
	}
	return fenceOf(&r)
}

func fence(ctx context.Context, q *sqlcgen.Queries, sandbox uuid.UUID) (*Fence, error) {
	r, err := q.Fence(ctx, sandbox)
	if err != nil {
		return nil, err
	}
	return fenceOf(&r)
}

func fenceOf(r *sqlcgen.FsFence) (*Fence, error) {
	if len(r.Layers) == 0 {
		return nil, fmt.Errorf("sandbox %s stands on no layer: %w", r.ID, vfs.EIO)
	}
	state, err := hashOf(r.StateSHA256)
	if err != nil {
		return nil, err
	}
	return &Fence{
		ID: r.ID, Tenant: r.Tenant, Owner: r.Owner, Name: r.Name, Version: r.Version, Layers: r.Layers, NextIno: r.NextIno,
		UsedBytes: r.UsedBytes, UsedInodes: r.UsedInodes, MaxBytes: r.MaxBytes, MaxInodes: r.MaxInodes,
		Env: r.Env, Config: r.Config, State: state, ExpiresAt: r.ExpiresAt, ChangedAt: r.LastUsedAt,
	}, nil
}

// hashOf is the hash in a column, nil for NULL.
func hashOf(b []byte) (*tree.Hash, error) {
	if b == nil {
		return nil, nil
	}
	h := new(tree.Hash)
	if len(b) != len(h) {
		return nil, fmt.Errorf("a hash of %d bytes: %w", len(b), vfs.EIO)
	}
	copy(h[:], b)
	return h, nil
}

// ReadState reads the state of a shell that a fence names; ESTALE when it is not kept any more.
func (s *Store) ReadState(ctx context.Context, sandbox uuid.UUID, hash tree.Hash) (state json.RawMessage, err error) {
	err = s.read(ctx, "read_state", func(ctx context.Context, c *pgxpool.Conn) (err error) {
		state, err = sqlcgen.New(c).ReadState(ctx, sqlcgen.ReadStateParams{Sandbox: sandbox, SHA256: hash[:]})
		return err
	})
	return state, err
}

// LoadLayers reads the fence and all rows of some of the sandbox's layers in one snapshot of the database. The patches
// are in the order of layers and have only rows. It is ESTALE when the sandbox does not stand on one of them (any
// more). asked is a fence that was just read: a standby answers only when it has exactly that version; the primary
// answers with the latest.
func (s *Store) LoadLayers(ctx context.Context, asked *Fence, layers []uuid.UUID) (*Fence, []*tree.Patch, error) {
	if s.standby != nil {
		if f, patches, ok := s.standby.load(ctx, asked, layers); ok {
			return f, patches, nil
		}
	}
	var f *Fence
	var patches []*tree.Patch
	err := s.read(ctx, "load", func(ctx context.Context, c *pgxpool.Conn) error {
		return snapshot(ctx, c, func(q *sqlcgen.Queries) (err error) {
			if f, err = fence(ctx, q, asked.ID); err != nil {
				return err
			}
			patches, err = loadLayers(ctx, q, asked.ID, layers)
			return err
		})
	})
	return f, patches, err
}

// snapshot runs fn in one snapshot of the database.
func snapshot(ctx context.Context, c *pgxpool.Conn, fn func(q *sqlcgen.Queries) error) error {
	return pgx.BeginTxFunc(ctx, c, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			return fn(sqlcgen.New(tx))
		})
}

func loadLayers(ctx context.Context, q *sqlcgen.Queries, sandbox uuid.UUID, layers []uuid.UUID) ([]*tree.Patch, error) {
	patches := make([]*tree.Patch, len(layers))
	for i, l := range layers {
		p, err := loadLayer(ctx, q, sandbox, l)
		if err != nil {
			return nil, err
		}
		patches[i] = p
	}
	return patches, nil
}

func loadLayer(ctx context.Context, q *sqlcgen.Queries, sandbox, layer uuid.UUID) (*tree.Patch, error) {
	p := new(tree.Patch)
	inodes, err := q.LoadInodes(ctx, sqlcgen.LoadInodesParams{Sandbox: sandbox, Layer: layer})
	if err != nil {
		return nil, err
	}
	n := 0
	for i := range inodes {
		n += len(inodes[i].Ino)
	}
	p.Inodes = make([]tree.Inode, 0, n)
	for i := range inodes {
		b := &inodes[i]
		for k := range b.Ino {
			p.Inodes = append(p.Inodes, tree.Inode{
				Ino: tree.Ino(b.Ino[k]), Kind: tree.Kind(b.Kind[k]), Mode: uint32(b.Mode[k]), UID: uint32(b.UID[k]),
				GID:   uint32(b.GID[k]),
				Nlink: uint32(b.Nlink[k]), Rdev: uint32(b.Rdev[k]), Size: b.Size[k], Mtime: b.Mtime[k], Ctime: b.Ctime[k],
				Target: b.Target[k],
			})
		}
		inodes[i] = sqlcgen.LoadInodesRow{}
	}
	dirents, err := q.LoadDirents(ctx, sqlcgen.LoadDirentsParams{Sandbox: sandbox, Layer: layer})
	if err != nil {
		return nil, err
	}
	n = 0
	for i := range dirents {
		n += len(dirents[i].Ino)
	}
	p.Dirents = make([]tree.DirentRow, 0, n)
	for i := range dirents {
		b := &dirents[i]
		for k := range b.Ino {
			p.Dirents = append(p.Dirents, tree.DirentRow{Parent: tree.Ino(b.ParentIno[k]), Name: b.Name[k],
				Ino: tree.Ino(b.Ino[k])})
		}
	}
	chunks, err := q.LoadChunks(ctx, sqlcgen.LoadChunksParams{Sandbox: sandbox, Layer: layer})
	if err != nil {
		return nil, err
	}
	n = 0
	for i := range chunks {
		n += len(chunks[i].Ino)
	}
	p.Chunks = make([]tree.ChunkRow, 0, n)
	for i := range chunks {
		b := &chunks[i]
		for k := range b.Ino {
			row := tree.ChunkRow{Ino: tree.Ino(b.Ino[k]), Idx: uint32(b.Idx[k])}
			if b.SHA256[k] == nil {
				row.Hole = true
			} else if copy(row.Hash[:], b.SHA256[k]) != len(row.Hash) {
				return nil, fmt.Errorf("hash of chunk %d of inode %d: %w", row.Idx, row.Ino, vfs.EIO)
			}
			p.Chunks = append(p.Chunks, row)
		}
		chunks[i] = sqlcgen.LoadChunksRow{}
	}
	return p, nil
}
