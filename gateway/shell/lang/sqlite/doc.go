// Package sqlite is the sqlite3 command-line shell over the files of the sandbox.
//
// SQLite itself is package engine, which has no way to a file of the host: whatever a name in SQL, in a URI or in a
// command of the shell says, it is resolved by the file system of the process (vfs.go).
package sqlite
