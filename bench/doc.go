// Command bench measures every number that the documents quote.
//
// A number is always a ratio within one run: what pgbox takes against what a bare baseline takes for the same work, the
// two in turn (A B A B …), so that it holds when the machine is slow or busy. The baselines are honest
// minima: a net/http handler with one statement through pgx, the raw SQL for the same rows, the GNU tool as a process
// on tmpfs.
//
//	go run ./bench            the whole table
//	go run ./bench -quick     every benchmark once, to see that it works
//	go run ./bench -only grep those whose name contains a word
//	go run ./bench -only replicas -svg bench/replicas.svg   several gateways on one Postgres and Redis, and the figures
//
// -quick prints no bars: they are for the full size. The load average is printed with the table: what others do on the
// machine blurs even ratios.
//
// The shell-… benchmarks run one script each three ways over the same 50 MB of data: by the evaluator in this process
// over the real tree and content caches, by bash and the GNU tools as processes on tmpfs, and by just-bash from npm in
// a node process, where npm can get it (once, so this third column is a rough one). The peak-… ones read a server's
// largest resident size from /proc.
//
// pgbox runs as its own process (bin/pgbox, or $PGBOX_BINARY) on a private
// PostgreSQL cluster with fsync on; so does the bare handler. Exit status 1 when a benchmark fails or a bar is missed;
// the others are run all the same.
//
// -save writes the ratios into measured.json, and README.md from that; benchmarks that did not run keep theirs.
package main
