// Package archive holds the compressed formats that gzip, tar and their relatives share: what a stream is compressed
// with, and readers and writers for it. Everything is synchronous: no goroutine
// of a library reads or writes a stream of the sandbox.
package archive
