package cache

import "github.com/google/uuid"

// Awaited reports whether somebody waits for the patch of a sandbox's tree.
func (c *Trees) Awaited(sandbox uuid.UUID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.sandboxes[sandbox]
	return e != nil && e.next != nil
}
