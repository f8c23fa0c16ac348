// Package cache holds what every process may forget: the bytes of chunks by hash ([Blobs]) and the trees of
// sandboxes ([Trees]).
//
// Bytes are immutable, so they never go stale; they are evicted by weight. A tree is one version of a sandbox. Callers
// that need one pass the fence (the sandbox row as just read): the cached tree is used when it is of that version, and
// loaded otherwise. Loading goes by layer: the trees of sealed layers never change and are
// shared by all sandboxes that stand on them, so that a new sandbox or a fork loads only its own top layer.
//
// A listener that learns of every commit by other means (see package feed) hands them in with [Trees.Follow]; the fence
// then finds the version it asks for already there, or about to be, and [Trees.Get] waits for it for about as long as
// loading the tree again would take. Where a commit does not follow on what is cached, the tree is dropped: correctness
// rests on the fence alone.
package cache
