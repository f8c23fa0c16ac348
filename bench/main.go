package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// benchmark is one line of the table.
type benchmark struct {
	name string
	what string  // A against B
	bar  float64 // the ratio should not be above this at full size; 0: no bar
	run  func(ctx context.Context, e *env) (ratio, error)
}

var benchmarks = []benchmark{
	{"read", "warm read-only `echo hi` over HTTP / bare handler with one primary-key SELECT", 4, benchRead},
	{"write", "warm `echo x >> log` over HTTP / bare handler with a one-row UPDATE", 4, benchWrite},
	{"read-refused",
		"warm read-only `ls` over HTTP in 20 000 files after a commit that the owner's quota refused / after none", 1.5,
		benchRefused},
	{"append-64MiB", "append to a 64 MiB file / append to a 1 KiB file", 1.5, benchAppend},
	{"append-64MiB+", "append to a 64 MiB + 60 KiB file (a nearly full last chunk) / append to a 1 KiB file", 1.5,
		benchAppendWorst},
	{"commit-1000", "script that writes 1000 new 1 KiB files / raw unnest inserts of the same rows", 2.5, benchCommit},
	{"ingest-10000", "ingest of 10 000 files of 1 KiB over HTTP / raw unnest inserts of the same rows", 2.5, benchIngest},
	{"remove-10000", "script that removes 10 000 files of 1 KiB / raw unnest inserts of their rows", 2,
		benchRemove(false)},
	{"remove-fork", "the same in a fork, which hides each file of the original / raw unnest inserts of as many rows", 2.5,
		benchRemove(true)},
	{"journal-10000", "ingest of 10 000 files of 1 KiB with the journal of operations / without", 1.25, benchJournal},
	{"export", "`pgbox export` of 64 MB in 2000 files / pg_dump of a plain table of the same contents", 0, benchExport},
	{"import", "`pgbox import` of that / psql of the table's dump", 0, benchImport},
	{"tree-load-100k", "cold tree load of 100 000 entries / raw SELECT of the same rows", 2, benchTreeLoad},
	{"tree-bytes", "memory per cached entry of a 100 000-entry tree, bytes / 300", 1, benchTreeBytes},
	{"fork-first", "first fork after an ingest of 50 000 files / of 10 files", 2, benchFirstFork},
	{"fork-100k", "fork of a 100 000-file sandbox / fork of a 10-file one", 1.5, benchFork},
	{"images-snapshot", "snapshot of a sandbox of 100 000 files / of 10 files", 1.5, benchSnapshot},
	{"images-restore", "restore of a sandbox of 100 000 files / of 10 files", 1.5, benchRestore},
	{"images-create", "create from an image of 100 000 files / of 10 files", 1.5, benchCreateImage},
	{"images-diff", "diff after 10 changes in 100 000 files / in 10 files", 1.5, benchDiff},
	{"images-fork-bytes", "what each of 1000 forks of a sandbox of 10 000 files adds to tables and indexes / 2 KiB", 1,
		benchForkBytes},
	{"images-history", "`echo x >> log` over HTTP with an automatic snapshot before every commit / without", 0,
		benchHistory},
	{"images-warm-forks", "memory of the cached trees of 1000 forks of a sandbox of 10 000 files / of one", 2,
		benchWarmForks},
	{"images-edit-1GiB", "script that changes a byte of a file of 1 GiB in a sealed layer / of 1 MiB", 2, benchEdit},
	{"images-resolve-8", "path resolution in SQL on 8 layers / on one", 0, benchDepth(8, sqlResolve)},
	{"images-resolve-32", "path resolution in SQL on 30 layers, the deepest there are / on one", 0,
		benchDepth(30, sqlResolve)},
	{"images-readdir-8", "readdir of 1000 files in SQL on 8 layers / on one", 0, benchDepth(8, sqlReaddir)},
	{"images-readdir-32", "readdir of 1000 files in SQL on 30 layers, the deepest there are / on one", 0,
		benchDepth(30, sqlReaddir)},
	{"images-flatten", "flatten of 16 layers over 10 000 files / plain copy of their rows", 0, benchFlatten},
	{"storage-files", "bytes in the database for each of 100 000 files of 158 bytes, by table / 700", 1, benchStorage},
	{"storage-appends", "what 3000 appends of 20 bytes to one file leave in the database / 2 MB", 1, benchAppends},
	{"sql-verbs-du", "fs.du of 10 000 files / the gateway's loads of their rows", 2,
		benchReadVerb(1, "SELECT * FROM fs.du('/')")},
	{"sql-verbs-du-4", "the same, the files in 4 layers", 2, benchReadVerb(4, "SELECT * FROM fs.du('/')")},
	{"sql-verbs-tree", "fs.tree of 10 000 files / the gateway's loads of their rows", 2,
		benchReadVerb(1, "SELECT * FROM fs.tree('/')")},
	{"sql-verbs-tree-4", "the same, the files in 4 layers", 2, benchReadVerb(4, "SELECT * FROM fs.tree('/')")},
	{"sql-verbs-files", "the view fs.files of 10 000 files / the gateway's loads of their rows", 2,
		benchReadVerb(1, sqlFiles)},
	{"sql-verbs-files-4", "the same, the files in 4 layers", 2, benchReadVerb(4, sqlFiles)},
	{"sql-verbs-files-400", "the view fs.files of 400 sandboxes / the gateway's loads of their rows", 2, benchFiles},
	{"sql-verbs-cp", "fs.cp of 10 000 files / `cp -r` of them over HTTP", 2, benchWriteVerb(1, "", sqlCopy, "cp -r r c")},
	{"sql-verbs-cp-4", "the same, the files in 4 layers", 2, benchWriteVerb(4, "", sqlCopy, "cp -r r c")},
	{"sql-verbs-rm", "fs.rm of 10 000 files of a fork's own / `rm -rf` of them over HTTP", 2,
		benchWriteVerb(1, "cp -r r c", sqlRemove("c"), "rm -rf c")},
	{"sql-verbs-rm-fork", "the same, the files in a lower layer", 2, benchWriteVerb(1, "", sqlRemove("r"), "rm -rf r")},
	{"sql-verbs-rm-4", "the same, the files in 4 layers", 2, benchWriteVerb(4, "", sqlRemove("r"), "rm -rf r")},
	{"create", "round trips of create_sandbox / 1", 1, benchCreate},
	{"grep-133", "grep -r over 133 files in a warm sandbox over HTTP / GNU grep -r on tmpfs as a process", 2,
		benchGrep133},
	{"grep-1000", "grep -r over 1000 files in a warm sandbox over HTTP / GNU grep -r on tmpfs as a process", 2,
		benchGrep1000},
	{"python-start", "`python3 -c 'print(1)'` in a warm sandbox over HTTP / native python3 as a process", 4,
		benchPython("print(1)")},
	{"python-loop", "a million turns of a loop of python3, the same", 0,
		benchPython("s = 0\nfor i in range(1000000): s += i * i\nprint(s)")},
	{"python-json", "json of 40 000 objects there and back in python3, the same", 0,
		benchPython("import json\nd = [{\"id\": i, \"name\": \"n%d\" % i} for i in range(40000)]\nprint(len(json.loads(json.dumps(d))))")},
	{"python-memory", "dirty memory of a machine that has run a program / 12 MiB", 1, benchPythonMemory},
	{"listener-20k",
		"reader's entry after another process wrote one file of 20 000 entries: patched by the listener / reloaded (version mode)", 0.1, benchListener(20_000)},
	{"listener-100k", "the same in a tree of 100 000 entries", 0.02, benchListener(100_000)},
	{"listener-flat", "reader's entry with the listener, 100 000 entries / 133 entries", 1.3, benchListenerFlat},
	{"listener-applied", "commit of another process until the tree is patched / until a bare pglogrepl receiver has it", 3,
		benchApplied},
	{"replicas-write",
		"`echo x >> log` over HTTP through Redis and Postgres / bare handler with SET, SELECT, one-row UPDATE, DEL", 4,
		benchLocked},
	{"replicas-read", "round trips to Postgres of a read-only exec, which calls Redis never / 1", 1, benchReadTrips},
	{"replicas-handover",
		"unlock in one process until the waiting process has the lock / PUBLISH until a listening process has the message", 0,
		benchHandover(0)},
	{"replicas-handover-2ms", "unlock in one process until the waiting process has the lock / 2 ms", 1,
		benchHandover(2 * time.Millisecond)},
	{"replicas-at-once-133",
		"read-only exec on B begun when A has committed one file of 133, by replication / by version (reload)", 0,
		benchVisible(133, 0)},
	{"replicas-at-once-10k", "the same, 10 000 files", 0, benchVisible(10_000, 0)},
	{"replicas-at-once-100k", "the same, 100 000 files", 0.02, benchVisible(100_000, 0)},
	{"replicas-flat", "read-only exec on B begun when A has committed, by replication: 100 000 files / 133 files", 1.3,
		benchVisibleFlat},
	{"replicas-later-133",
		"read-only exec on B 20 ms after A has committed one file of 133, by replication / by version (reload)", 0,
		benchVisible(133, later)},
	{"replicas-later-10k", "the same, 10 000 files", 0, benchVisible(10_000, later)},
	{"replicas-later-100k", "the same, 100 000 files", 0.02, benchVisible(100_000, later)},
	{"replicas-cpu-1",
		"processor time of 1 replica that reads and of Postgres, under 200 writes/s, by replication / by version", 0,
		benchListeners(1)},
	{"replicas-cpu-2", "the same with 2 replicas", 0, benchListeners(2)},
	{"replicas-cpu-4", "the same with 4 replicas", 0, benchListeners(4)},
	{"replicas-recovery", "replication connection cut until the gateway follows again / bare connect, slot and stream", 0,
		benchRecovery},
	{"replicas-cold-133", "first exec in a sandbox of 133 files on a gateway that never saw it / raw SELECT of its rows",
		0, benchCold(133)},
	{"replicas-cold-10k", "the same, 10 000 files", 0, benchCold(10_000)},
	{"replicas-cold-100k", "the same, 100 000 files", 0, benchCold(100_000)},
	{"peak-grep", "largest resident size of the server during `grep` over 1 GiB / 1 GiB", 1,
		shellPeak("grep -c 'status=503' large")},
	{"peak-sort", "largest resident size of the server during `sort` of 1 GiB / 1 GiB", 1,
		shellPeak("sort large | tail -n 1")},
}

// later is when a patch has long been applied.
const later = 20 * time.Millisecond

// shellSuffix says what A and B are in the shell's table.
const shellSuffix = " in process / bash and GNU tools on tmpfs"

// everything is the whole table, with what is a product of several lists.
func everything() []benchmark {
	all := slices.Clone(benchmarks)
	for _, writing := range []bool{false, true} {
		for _, own := range []bool{true, false} {
			for _, clients := range []int{1, 4, 16, 64} {
				what := fmt.Sprintf("%d clients, two gateways, %s: baseline's requests/s / pgbox's", clients, kind(own, writing))
				all = append(all, benchmark{fmt.Sprintf("replicas-throughput-%s-%d", kind(own, writing), clients), what, 0,
					benchThroughput(clients, own, writing)})
			}
		}
	}
	for _, s := range scripts {
		all = append(all, benchmark{"shell-" + s.name, "`" + s.text + "`" + shellSuffix, s.bar, shellScript(s)})
	}
	return all
}

func main() {
	var o options
	flag.BoolVar(&o.quick, "quick", false, "few iterations on little data: only to see that every benchmark works")
	flag.StringVar(&o.only, "only", "", "run the benchmarks whose name contains one of these, comma-separated")
	flag.StringVar(&o.svg, "svg", "", "draw what the replicas-… benchmarks found into this file")
	flag.BoolVar(&o.save, "save", false, "write what was measured into "+measuredFile+" and "+reportFile)
	flag.StringVar(&o.profile, "cpuprofile", "",
		"write a profile of this process's CPU, in which the shell-… scripts run, to this file")
	page := flag.Bool("page", false, "only write "+reportFile+" from "+measuredFile)
	bare := flag.String("bare", "", "serve the bare baseline for the database at this URL (used by bench itself)")
	redisURL := flag.String("redis", "", "Redis of the bare baseline")
	waits := flag.String("waiter", "", "wait for locks of the Redis at this URL (used by bench itself)")
	flag.Parse()
	if o.quick && o.save {
		fmt.Fprintln(os.Stderr, "bench: -quick measures nothing that is worth saving")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	switch {
	case *page:
		err = save(nil)
	case *bare != "":
		err = serveBare(ctx, *bare, *redisURL)
	case *waits != "":
		err = serveWaiter(ctx, *waits)
	default:
		err = run(ctx, o)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	quick     bool
	save      bool
	only, svg string
	profile   string
}

// number prints a ratio to two digits at least.
func number(r float64) string {
	if r < 0.1 {
		return fmt.Sprintf("%.2g", r)
	}
	return fmt.Sprintf("%.2f", r)
}

func run(ctx context.Context, o options) (err error) {
	e, err := start(ctx, o.quick)
	if err != nil {
		return err
	}
	defer e.stop()
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"name", "ratio", "min", "max", "bar", "", "A / B (medians)", "A / just-bash", "what"})
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer func() {
			pprof.StopCPUProfile()
			err = errors.Join(err, f.Close())
		}()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
	}
	began, load := time.Now(), loadAverage()
	var failed []error
	found := map[string]measured{}
	for _, b := range everything() {
		if !slices.ContainsFunc(strings.Split(o.only, ","), func(s string) bool { return strings.Contains(b.name, s) }) {
			continue
		}
		start := time.Now()
		r, err := b.run(ctx, e)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			// The others are worth their numbers all the same.
			err = fmt.Errorf("%s: %w", b.name, err)
			fmt.Fprintln(os.Stderr, "bench:", err)
			failed = append(failed, err)
			continue
		}
		bar, verdict := fmt.Sprint(b.bar), "ok"
		switch {
		case b.bar == 0, o.quick: // a bar is for the full size
			bar, verdict = "", ""
		case r.median > b.bar:
			verdict = "MISSED"
			failed = append(failed, fmt.Errorf("%s: %s is above the bar of %v", b.name, number(r.median), b.bar))
		}
		found[b.name] = measured{Ratio: r.median, Low: r.lo, High: r.hi, Detail: r.detail, Peer: r.other}
		fmt.Fprintf(os.Stderr, "%s: %s %s (%s, in %s)\n", b.name, number(r.median), verdict, r.detail,
			round(time.Since(start)))
		t.AppendRow(table.Row{b.name, number(r.median), number(r.lo), number(r.hi), bar, verdict, r.detail, r.other, b.what})
	}
	fmt.Println(t.Render())
	fmt.Printf("load average %s before, %s after; took %s\n", load, loadAverage(), round(time.Since(began)))
	if o.save {
		failed = append(failed, save(found))
	}
	return errors.Join(append(failed, e.draw(o.svg))...)
}

// draw writes the figures to a file, or nowhere, to see that they can be.
func (e *env) draw(name string) error {
	var b bytes.Buffer
	if err := e.plot.draw(&b); err != nil || name == "" || b.Len() == 0 {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}

// loadAverage is how many processes wanted to run in the last minute: what is beyond the benchmark's own blurs its
// ratios.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}
