//go:build broken_patch

package cache

import "github.com/pgbox/pgbox/gateway/tree"

// patch leads to the version without its rows.
func (s *step) patch() *tree.Patch { return versionOf(s.fence) }
