// Package tree holds the tree of a sandbox in memory: immutable snapshots
// with O(1) copy ([Tree]) and a private copy-on-write working tree with the POSIX verbs ([Work]).
//
// A Tree is made from rows ([Tree.Patch]), layer by layer, oldest first, and stays current by patches. Any number
// of readers may use it. [Tree.Begin] starts a Work over it, which is a [vfs.FS]: bash runs over it. [Work.Delta] is
// what the transaction of the exec has to store, and [Work.Commit] turns the working tree into the next Tree once it is
// stored.
//
// The verbs mean what Linux means by them, errno for errno and in Linux's order of
// precedence, and the same as the fs.* functions of the database; package model drives both with one generator.
// Permission bits are kept, not enforced.
//
// Bytes are not in the tree: chunks of [ChunkSize] bytes are named by hash and come from a [Content]. Chunks that
// a Work wrote are held in memory until commit; above [Options].DirtyMax they are handed to [Options].Spill early.
package tree
