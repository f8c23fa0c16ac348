// Package model is a reference model of the sandbox filesystem, with the generator of random
// operations that drives it and the implementations it is held against: the Go tree
// and the fs.* functions of the database.
//
// The model is made of pointers and maps and is meant to be obviously right, not fast: it counts links by walking, and
// resolves paths by splicing lists of components. An implementation is a [Target]; [Run] applies one
// operation after the other to the model and to the target and compares results, errnos and dumps of the
// whole tree. A failure prints the operations that lead to it, shrunk where the target can be made anew.
//
// Times: the model's clock is the number of the operation; times that utimes sets are at least [UtimesFloor]. A target
// with a clock of its own is compared on the latter only.
package model
