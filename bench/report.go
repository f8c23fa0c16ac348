package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// The ratios of the last full run of each benchmark, and the page that shows them.
const (
	measuredFile = "bench/measured.json"
	reportFile   = "bench/README.md"
)

// measured is a benchmark's entry in measuredFile.
type measured struct {
	Ratio  float64 `json:"ratio"`
	Low    float64 `json:"low,omitempty"`  // of the blocks of pairs
	High   float64 `json:"high,omitempty"` // of the blocks of pairs
	Detail string  `json:"detail,omitempty"`
	Peer   string  `json:"peer,omitempty"` // against just-bash
}

func readMeasured() (map[string]measured, error) {
	all := map[string]measured{}
	text, err := os.ReadFile(measuredFile)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	return all, err
}

// save adds what a run measured to measuredFile and writes the page anew.
func save(found map[string]measured) error {
	all, err := readMeasured()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, b := range everything() {
		known[b.name] = true
		if m, ok := found[b.name]; ok {
			all[b.name] = m
		}
	}
	for name := range all {
		if !known[name] {
			delete(all, name)
		}
	}
	text, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(measuredFile, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(reportFile, report(all), 0o644)
}

// groups are the tables of the page: a benchmark is in the first group whose prefix its name has.
var groups = []struct{ prefix, title, about string }{
	{"replicas-", "Several gateways",
		"Gateways as processes of their own that share Postgres and Redis; `-svg FILE` draws these. The answer of every read is checked."},
	{"listener-", "The listener", "A reader's entry after another process has committed."},
	{"images-", "Layers: snapshots, forks, images", ""},
	{"sql-verbs-", "The same verbs in SQL and over HTTP", ""},
	{"storage-", "What it takes in the database", "`go run ./bench -only storage` prints bytes by table."},
	{"shell-", "The shell and its commands",
		"The same script in process over the tree and content caches / by bash and the GNU tools as processes on tmpfs, over 50 MB of log lines,\n" +
			"tab-separated fields or JSON. `echo` is a whole exec, with its round trip to Postgres, against `bash -c`. The last column is the same script in\n" +
			"just-bash from npm (in memory, in a node process), where it ran it and gave the right answer."},
	{"peak-", "Memory",
		"`grep` streams: it holds a block and the longest line. `sort` keeps up to two fifths of the limit on live bytes; beyond that it sorts in batches,\n" +
			"which are kept as compressed runs in memory and merged. The content cache may keep 256 MiB of these."},
	{"", "One gateway", ""},
}

const intro = `# Measured

Written by ` + "`make bench`" + ` from bench/measured.json; do not edit.

A number is a ratio within one run: what pgbox takes against what a bare baseline takes for the same work, the two in turn (two cores, fsync on,
each a process of its own). Small is good. So a ratio holds when the machine is slow; it is blurred when others are busy on it, so the load average
is printed with each run. A bar is the most that the ratio should be: ` + "`make bench`" + ` fails when one is missed.

    make bench                     # everything, about an hour; writes this page
    go run ./bench -only grep,read # some of it
    go run ./bench -quick          # everything once, on little data: only to see that it works
`

// report is the page.
func report(all map[string]measured) []byte {
	var b bytes.Buffer
	b.WriteString(intro)
	for _, g := range append(groups[len(groups)-1:], groups[:len(groups)-1]...) {
		var rows []string
		for _, bm := range everything() {
			if m, ok := all[bm.name]; ok && group(bm.name) == g.prefix {
				rows = append(rows, row(bm, m))
			}
		}
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", g.title)
		if g.about != "" {
			fmt.Fprintf(&b, "%s\n\n", g.about)
		}
		b.WriteString("| name | A / B | ratio | bar | |\n|---|---|--:|--:|---|\n")
		b.WriteString(strings.Join(rows, ""))
	}
	return b.Bytes()
}

func group(name string) string {
	for _, g := range groups {
		if strings.HasPrefix(name, g.prefix) {
			return g.prefix
		}
	}
	return ""
}

func row(bm benchmark, m measured) string {
	bar, verdict := "", m.Peer
	if bm.bar > 0 {
		bar = fmt.Sprint(bm.bar)
		if m.Ratio > bm.bar {
			verdict = strings.TrimSpace("missed " + verdict)
		}
	}
	what := strings.TrimSuffix(bm.what, shellSuffix)
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", bm.name, strings.ReplaceAll(what, "|", `\|`), number(m.Ratio), bar,
		verdict)
}
