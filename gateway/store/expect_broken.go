//go:build broken_cas

package store

import "context"

// expected is whatever version there is.
func (s *Store) expected(ctx context.Context, c *Commit) (int64, error) {
	f, err := s.Fence(ctx, c.Sandbox)
	if err != nil {
		return 0, err
	}
	return f.Version, nil
}
