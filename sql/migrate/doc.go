// Package migrate brings a database to the schema this binary carries, and
// checks that it is there.
//
// [Up] is one transaction: the versioned migrations that are missing, which goose runs in savepoints of it, and then,
// when the digest of the repeatable files differs from the stored one, every function and view of pgbox, replaced in
// place; what no file makes any more is dropped. It runs while gateways serve: it waits for locks in short turns, and
// functions keep their places in the catalog. A session-level advisory lock keeps two of them apart, so it needs a
// direct connection, not a transaction pooler.
//
// [Check] is what a server runs before it serves, and while it does: it refuses a database of an older or newer schema,
// of other functions, or with functions that somebody edited by hand. The schema of the next release is no refusal when
// every function of this one is still there, takes what it took and gives what it gave; the release after that is.
package migrate
