//go:build !broken_fence

package cache

import (
	"slices"

	"github.com/pgbox/pgbox/gateway/store"
)

// names reports whether two fences name one version of one history. bench/cluster proves that its checks find a build without it.
func names(f, cached *store.Fence) bool {
	return cached.Version == f.Version && slices.Equal(cached.Layers, f.Layers) && !cached.Contradicts(f)
}
