package cache

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"

	"github.com/pgbox/pgbox/gateway/tree"
)

// StateReader reads states of shells from where they are kept.
type StateReader interface {
	ReadState(ctx context.Context, sandbox uuid.UUID, hash tree.Hash) (json.RawMessage, error)
}

// States caches the states of shells by hash for the whole process.
type States struct {
	src   StateReader
	cache *otter.Cache[tree.Hash, json.RawMessage]
}

// NewStates returns a cache of at most max bytes.
func NewStates(src StateReader, max int64) *States {
	return &States{src, otter.Must(&otter.Options[tree.Hash, json.RawMessage]{
		MaximumWeight: uint64(max),
		Weigher:       func(_ tree.Hash, b json.RawMessage) uint32 { return uint32(len(b) + blobOverhead) },
	})}
}

// Get returns a state, which must not be changed; the one without a name is empty. It is ESTALE when the state is not
// kept any more.
func (s *States) Get(ctx context.Context, sandbox uuid.UUID, hash *tree.Hash) (json.RawMessage, error) {
	if hash == nil {
		return json.RawMessage("{}"), nil
	}
	if state, ok := s.cache.GetIfPresent(*hash); ok {
		return state, nil
	}
	state, err := s.src.ReadState(ctx, sandbox, *hash)
	if err == nil {
		s.cache.Set(*hash, state)
	}
	return state, err
}

// Put adds a state that is known to be stored.
func (s *States) Put(hash tree.Hash, state json.RawMessage) { s.cache.Set(hash, state) }
