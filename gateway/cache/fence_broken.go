//go:build broken_fence

package cache

import "github.com/pgbox/pgbox/gateway/store"

// names believes every cached tree.
func names(f, cached *store.Fence) bool {
	*f = *cached
	return true
}
