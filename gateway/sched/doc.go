// Package sched decides which scripts run, and when: a [Gate] bounds how many there are, a [Governor] shares the
// processors among those that are busy, and a [Watchdog] ends the largest when all of them together hold too much
// memory, and counts what goes on after its script was ended.
//
// It knows scripts as owners, contexts and numbers only; shell/proc puts it under the budget of each.
//
// # Turns
//
// Go's scheduler is fair to goroutines and not to scripts, and it knows no priorities: every busy goroutine stands in
// the way of the few that answer a request, for up to its ten milliseconds. So the scripts of a process share the
// processors among themselves. A script that has used little CPU time runs at once. Every goroutine of the others needs
// one of a few places and keeps it for a quantum; then the place goes to the owner that has had the least.
package sched
