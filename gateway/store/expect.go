//go:build !broken_cas

package store

import "context"

// expected is the version that a commit has to find. bench/cluster proves that its checks find a build that asks for none.
func (s *Store) expected(_ context.Context, c *Commit) (int64, error) { return c.Version, nil }
