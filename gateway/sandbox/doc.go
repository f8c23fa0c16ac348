// Package sandbox runs things in sandboxes: bash scripts, file verbs and the verbs that concern a sandbox
// as a whole. It is what the HTTP and MCP interfaces call, and the only package that puts store, cache, lock, tree
// and shell together.
//
// # One write
//
//  1. The sandbox's lock (one writer at a time, in order of arrival).
//  2. The fence: one indexed read of the sandbox row. It says who owns the sandbox and which version is the
//     latest; the cached tree is used when it has that version and loaded otherwise.
//  3. The work runs on a private copy-on-write working tree. No database transaction is open meanwhile.
//  4. The commit: one fs.apply, a compare-and-set on the version. Then the working tree is the cached tree.
//
// A read takes no lock: it works on the immutable tree of the version the fence named.
//
// # Errors
//
// Every method returns a [*Error] (or nil). Its Applied field says whether the change is in Postgres: "no" for
// everything that failed before the commit, and "unknown" only when the connection broke during the
// commit and Postgres could not be asked afterwards.
package sandbox
