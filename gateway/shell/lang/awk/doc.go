// Package awk is the AWK language: POSIX awk with the GNU extensions people
// use, run against a sandbox process.
//
// [Parse] turns a program's text into a resolved syntax tree (every name knows
// whether it is a global, a local, an array or a special variable), compiles it
// to Go closures and returns a [Program]; [Program.Run] executes it. A Program is
// immutable and may be run many times.
//
// # Values and memory
//
// Records and fields are views of the block the input was read into; nothing is
// copied until a value is stored in a variable or an array. What is stored is
// counted against the budget of the exec.
//
// # Dialect
//
// Where the awks differ, gawk's semantics hold (characters rather than bytes, an error for a
// division by zero), down to the order in which `for (k in a)` visits an array.
package awk
