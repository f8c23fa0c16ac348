// Package history says whether what clients saw of a sandbox can have happened: whether all of it fits into one order
// in which things took place one after another, each between the call and the answer.
//
// Finding such an order is hard in general, so the clients make it easy, as in Jepsen's list-append workloads: every
// change appends its token, which is unique, to one file (the log) in the same commit as whatever else it does. The log
// is therefore the order of the commits, those nobody was told about included, and a [State] for every prefix of it is
// known: a view of the sandbox must be exactly the state of a prefix. [History.Check] then asks
//
//   - of every change: was it applied once when it was acknowledged, never when the answer said that it was not, at
//     most once otherwise;
//   - of every two: if one was answered before the other was called, does it come first in the log, and has it the
//     smaller version;
//   - of every view: is it a prefix as a whole (not half a commit), with all that had been acknowledged when it was
//     asked for, with nothing that had not been called when it was answered, not older than a view that was answered
//     before.
//
// Files that are made by routes without a script (their names hold the token) are a set beside that order, and are
// checked as one.
package history
