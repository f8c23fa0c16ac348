// Package embed takes the place of a package that sqlc imports for its effect: loading SQLite. The version of
// github.com/ncruces/go-sqlite3 that pgbox uses has SQLite compiled in and no such package any more.
package embed
