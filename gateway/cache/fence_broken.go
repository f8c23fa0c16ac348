//go:build broken_fence

package cache

import "github.com/pgbox/pgbox/gateway/store"

// is believes every cached tree.
func (e *entry) is(f *store.Fence) bool {
	*f = *e.fence
	return true
}
