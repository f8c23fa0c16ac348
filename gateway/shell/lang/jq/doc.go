// Package jq is the jq language over JSON values that keep the order of their keys: jq 1.8, with the functions and
// formats of other versions that it has not (toarray, ascii, leaf_paths, recurse_down, date, dateadd, datesub, @base32,
// @base32d).
//
//	prog, err := jq.Compile(src, names, values, modules, true, jq.Meter{Tick: p.Tick, Hold: p.Hold})
//	m := &jq.Machine{Tick: p.Tick, Hold: p.Hold, Release: p.Release, …}
//	err = m.Eval(prog, input, func(v any) error { … })
//
// # Values
//
// Values are nil, bool, float64, [*Literal], string, [*Array] and [*Object]; they are immutable. A changed array or
// object takes over the storage of the one that it is made of, which keeps what was changed and is copied when somebody
// looks at it again. So a reduce that changes its state is as fast as if it changed it in place, and nobody sees the
// difference.
//
// # How programs run
//
// The parser makes a syntax tree, the compiler code for a machine with registers. The machine backtracks: an operator
// with several results leaves a fork, and when the rest of the program has done with one result, it goes back there for
// the next. Every place in the code writes a register of its own, so that a fork needs no more than the place, the
// frame and the path. Frames, forks and arguments are on the heap: how deep a program calls is a question of memory
// only, calls in the last place take none. Library functions that are written in jq are compiled into their callers
// where that is possible.
//
// Paths are tracked as jq does it: while path(f) runs, the machine knows the current path and the value that it leads
// to, and an access to any other value is an error.
//
// # Limits
//
// Every instruction and every loop over script data ticks. Memory is counted when it is allocated; now and then, the
// machine measures how much of it is still in use, and gives the rest back. What recurses is bounded: the parser and
// the compiler by the nesting of the program, the printer at jq's 10000 levels, comparisons by the 100000 levels that
// values may have.
package jq
