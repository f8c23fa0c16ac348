// Package lock keeps the writers of one sandbox in a row: one at a time, in order of arrival.
//
// A lock is for liveness and order only. It saves writers from working on a tree that another is about to
// replace; that nobody's update is lost is the compare-and-set of fs.apply, which holds with no lock at all. So a lease may be
// lost ([Lease].Done), and a Locker may be unavailable: its error then ends the request before anything ran.
package lock
