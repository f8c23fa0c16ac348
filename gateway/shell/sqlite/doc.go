// Package sqlite is the sqlite3 command-line shell over the files of the sandbox.
//
// SQLite itself is github.com/ncruces/go-sqlite3, a translation of the C library. Its default VFS opens files of the host, so nothing
// here may ever name it: every connection is opened with a VFS of its own (vfs.go), whose name is random; file names in SQL that
// are URIs with a vfs parameter, and names that are computed while a statement runs, are refused before SQLite sees them (guard.go).
package sqlite
