// Command bench measures every number that the documents quote.
//
// A number is always a ratio within one run: what pgbox takes against what a bare baseline takes for the same work, the two in
// turn (A B A B …), so that it holds when the machine is slow or busy. The baselines are honest
// minima: a net/http handler with one statement through pgx, the raw SQL for the same rows, the GNU tool as a process on tmpfs.
//
//	go run ./bench            the whole table
//	go run ./bench -quick     every benchmark once, to see that it works
//	go run ./bench -only grep those whose name contains a word
//
// pgbox runs as its own process (bin/pgbox, or $PGBOX_BINARY) on a private
// PostgreSQL cluster with fsync on; so does the bare handler. Exit status 1 when a benchmark fails; a missed bar is
// printed, not an error.
package main
