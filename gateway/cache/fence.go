//go:build !broken_fence

package cache

import (
	"slices"

	"github.com/pgbox/pgbox/gateway/store"
)

// is reports whether the entry is the tree of the version, and of the history, that a fence names. bench/cluster proves that its checks find a build without it.
func (e *entry) is(f *store.Fence) bool {
	return e.fence.Version == f.Version && slices.Equal(e.fence.Layers, f.Layers) && !e.fence.Contradicts(f)
}
