// Package sed is the stream editor: GNU sed 4.9's language, parsed by [Parse] into
// a [Program] and run by [Program.Run].
//
// All commands and address forms of GNU sed are there. What e and s///e run is a
// command of the sandbox.
// Messages and exit statuses are GNU's: 1 for a bad script, 2 for an input file
// that cannot be read, 4 for an I/O error, and what q and Q ask for.
package sed
