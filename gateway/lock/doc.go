// Package lock keeps the writers of one sandbox in a row: one at a time, in order of arrival.
//
// A lock is for liveness and order only. It saves writers from working on a tree that another is about to
// replace; that nobody's update is lost is the compare-and-set of fs.apply, which holds with no lock at all. So a lease
// may be lost ([Lease].Done), and a Locker may be unavailable: its error then ends the request before anything ran.
//
// [Local] serves a process that is alone. [Redis] serves several: within each of them writers of a sandbox wait in a
// [Local] line and only the first asks Redis, which keeps the line of processes (a list), the holder (a key that
// expires, prolonged at a third of the lease) and a channel for each process on which it is told that a lock was handed
// to it. A lock is passed on within a process for up to 50 ms before the others have their turn. The scripts are the
// .lua files: obtain, refresh, release.
//
// What Redis may do to us, and what follows: it dies or stalls – writers learn [ErrUnavailable] within two calls' time,
// holders keep their lease as long as it lasts by their own clock; it forgets – the holder takes its key again with the
// next heartbeat, and if another was faster it loses the lease; it is full – [ErrUnavailable]; keys hold what we never
// wrote – they are removed. A process that was stopped past its lease finds by its clock that the lease is lost, before
// it commits.
package lock
