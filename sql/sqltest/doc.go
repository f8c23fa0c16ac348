// Package sqltest gives tests a real, migrated PostgreSQL.
//
// A test package calls [Main] from its TestMain. The first test that asks for a
// database starts a private cluster in a temporary folder (or uses the
// server that DATABASE_URL names, whose user must be a superuser) and migrates
// a template in it once; the package works on one clone of the template.
//
//   - [Pool] connects to that shared database as the gateway does. A fresh
//     [Sandbox] per test is the isolation: tests run in parallel, and row
//     level security is tested by all of them.
//   - [Owner] is a superuser's connection to the same database, for looking
//     behind the functions and for breaking things.
//   - [Database] is a clone of a test's own, for what is wider than a sandbox: slots,
//     publications, gc, roles. [EmptyDatabase] is one without any schema.
//
// The sandboxes of a test must end with an empty fs.fsck, unless the test said
// [Broken].
//
// PGBOX_TEST_POSTGRES_BIN names the bin folder of another PostgreSQL to test on.
package sqltest
