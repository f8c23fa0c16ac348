// Package migrate brings a database to the schema this binary carries, and
// checks that it is there.
//
// [Up] applies the versioned migrations with goose and then, when the digest of
// the repeatable files differs from the stored one, drops every function and
// view of pgbox and makes them anew in one transaction: create-or-replace
// would leave old overloads behind. One session-level advisory lock on the one
// connection it uses covers both, so it needs a direct connection, not a
// transaction pooler.
//
// [Check] is what a server runs before it serves: it refuses a database of an
// older or newer schema, of other functions, or with functions that somebody
// edited by hand.
package migrate
