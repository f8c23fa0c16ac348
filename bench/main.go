package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

// benchmark is one line of the table.
type benchmark struct {
	name string
	what string  // A against B
	bar  float64 // the ratio should not be above this
	run  func(ctx context.Context, e *env) (ratio, error)
}

var benchmarks = []benchmark{
	{"read", "warm read-only `echo hi` over HTTP / bare handler with one primary-key SELECT", 4, benchRead},
	{"write", "warm `echo x >> log` over HTTP / bare handler with a one-row UPDATE", 4, benchWrite},
	{"append-64MiB", "append to a 64 MiB file / append to a 1 KiB file", 1.5, benchAppend},
	{"append-64MiB+", "append to a 64 MiB + 60 KiB file (a nearly full last chunk) / append to a 1 KiB file", 1.5, benchAppendWorst},
	{"commit-1000", "script that writes 1000 new 1 KiB files / raw unnest inserts of the same rows", 2.5, benchCommit},
	{"ingest-10000", "ingest of 10 000 files of 1 KiB over HTTP / raw unnest inserts of the same rows", 2.5, benchIngest},
	{"tree-load-100k", "cold tree load of 100 000 entries / raw SELECT of the same rows", 2, benchTreeLoad},
	{"tree-bytes", "memory per cached entry of a 100 000-entry tree, bytes / 300", 1, benchTreeBytes},
	{"fork-100k", "fork of a 100 000-file sandbox / fork of a 10-file one", 1.5, benchFork},
	{"create", "round trips of create_sandbox / 1", 1, benchCreate},
	{"grep-133", "grep -r over 133 files in a warm sandbox over HTTP / GNU grep -r on tmpfs as a process", 2, benchGrep133},
	{"grep-1000", "grep -r over 1000 files in a warm sandbox over HTTP / GNU grep -r on tmpfs as a process", 2, benchGrep1000},
	{"listener-20k", "reader's entry after another process wrote one file of 20 000 entries: patched by the listener / reloaded (version mode)", 0.1, benchListener(20_000)},
	{"listener-100k", "the same in a tree of 100 000 entries", 0.02, benchListener(100_000)},
	{"listener-flat", "reader's entry with the listener, 100 000 entries / 133 entries", 1.3, benchListenerFlat},
	{"listener-applied", "commit of another process until the tree is patched / until a bare pglogrepl receiver has it", 3, benchApplied},
	{"peak-grep", "largest resident size of the server during `grep` over 1 GiB / 1 GiB", 1, shellPeak("grep -c 'status=503' large")},
	{"peak-sort", "largest resident size of the server during `sort` of 1 GiB / 1 GiB", 1, shellPeak("sort large | tail -n 1")},
}

func main() {
	quick := flag.Bool("quick", false, "few iterations: only to see that every benchmark works")
	only := flag.String("only", "", "run the benchmarks whose name contains this")
	bare := flag.String("bare", "", "serve the bare baseline for the database at this URL (used by bench itself)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *quick, *only, *bare)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// number prints a ratio to two digits at least.
func number(r float64) string {
	if r < 0.1 {
		return fmt.Sprintf("%.2g", r)
	}
	return fmt.Sprintf("%.2f", r)
}

func run(ctx context.Context, quick bool, only, bare string) (err error) {
	if bare != "" {
		return serveBare(ctx, bare)
	}
	e, err := start(ctx, quick)
	if err != nil {
		return err
	}
	defer e.stop()
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"name", "ratio", "min", "max", "bar", "", "A / B (medians)", "A / just-bash", "what"})
	all := benchmarks
	for _, s := range scripts {
		all = append(all, benchmark{"shell-" + s.name, "`" + s.text + "` in process / bash and GNU tools on tmpfs", s.bar, shellScript(s)})
	}
	for _, b := range all {
		if !strings.Contains(b.name, only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s …\n", b.name)
		r, err := b.run(ctx, e)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		verdict := "ok"
		if r.median > b.bar {
			verdict = "MISSED"
		}
		t.AppendRow(table.Row{b.name, number(r.median), number(r.lo), number(r.hi), b.bar, verdict, r.detail, r.other, b.what})
	}
	fmt.Println(t.Render())
	return nil
}
