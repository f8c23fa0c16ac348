// Package engine is SQLite over memory and files that its caller provides.
//
// SQLite is github.com/ncruces/go-sqlite3-wasm: the C library, translated to Go. Whatever it wants of a system it asks
// of the interface that New is given, and that interface is implemented here, without the os package. So there is no
// file system but the [FS] of the connection: every name of a VFS, known or not, in a URI or by default, leads to it,
// and nothing has to look at SQL to keep it inside.
//
// SQLite's memory is one region outside of Go's heap. It is counted as it grows ([Host].Grow). When the context of the
// connection ends, the region is made inaccessible: the next access of whatever SQLite does at that moment is a fault,
// which unwinds the goroutine. That ends work which no callback of SQLite interrupts, such as one call of instr or
// like.
package engine
