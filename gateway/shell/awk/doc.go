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
// # Dialects
//
// Where mawk and gawk differ, the semantics are gawk's (characters rather than bytes, errors for
// a division by zero), except for what a program called awk or mawk can see
// of the order of `for (k in a)` and of unknown escapes in strings, where [Options].Mawk
// chooses mawk's.
package awk
