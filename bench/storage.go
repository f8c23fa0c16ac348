package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// storageBytes is the bar for what a file of smallFile bytes may take in all tables, its content included.
const (
	storageBytes = 700
	smallFile    = 158
)

// tableBytes is how large the tables of pgbox are once they are vacuumed: rows, indexes and what is stored out of line.
type tableBytes map[string][3]int64

func (e *env) tableBytes(ctx context.Context) (tableBytes, error) {
	if _, err := e.owner.Exec(ctx, "VACUUM"); err != nil {
		return nil, err
	}
	rows, err := e.owner.Query(ctx, `
		SELECT c.relname, pg_relation_size(c.oid), pg_indexes_size(c.oid), coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0)
		  FROM pg_class c WHERE c.relnamespace = 'pgbox'::regnamespace AND c.relkind = 'r'`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := tableBytes{}
	for rows.Next() {
		var name string
		var b [3]int64
		if err := rows.Scan(&name, &b[0], &b[1], &b[2]); err != nil {
			return nil, err
		}
		out[name] = b
	}
	return out, rows.Err()
}

// grown prints by how much each table has grown, in units of n, and returns the sum.
func (t tableBytes) grown(since tableBytes, title string, n int) float64 {
	w := table.NewWriter()
	w.SetOutputMirror(os.Stderr)
	w.SetTitle(title)
	w.AppendHeader(table.Row{"table", "rows", "indexes", "out of line", "sum"})
	var sum [4]float64
	cells := func(name string, c [4]float64) table.Row {
		row := table.Row{name}
		for _, v := range c {
			row = append(row, fmt.Sprintf("%.0f", v))
		}
		return row
	}
	for name, b := range t {
		var c [4]float64
		for i := range b {
			c[i] = float64(b[i]-since[name][i]) / float64(n)
			c[3] += c[i]
		}
		for i := range c {
			sum[i] += c[i]
		}
		if c[3] >= 0.5 || c[3] <= -0.5 {
			w.AppendRow(cells(name, c))
		}
	}
	w.SortBy([]table.SortBy{{Name: "sum", Mode: table.DscNumeric}})
	w.AppendFooter(cells("", sum))
	w.Render()
	return sum[3]
}

// collect removes the garbage.
func (e *env) collect(ctx context.Context) error {
	for more := true; more; {
		if err := e.owner.QueryRow(ctx, "SELECT more FROM fs.gc('0')").Scan(&more); err != nil {
			return err
		}
	}
	return nil
}

// benchStorage has scripts make many small files, each with a content of its own, and prints what they take table by
// table.
func benchStorage(ctx context.Context, e *env) (ratio, error) {
	_, route, err := e.sandbox(ctx)
	if err != nil {
		return ratio{}, err
	}
	before, err := e.tableBytes(ctx)
	if err != nil {
		return ratio{}, err
	}
	const each = 10_000
	batches := e.times(10, 1)
	for b := range batches {
		script := fmt.Sprintf(`for ((i=%d; i<%d; i++)); do d=src/module$((i/100)); [ -d $d ] || mkdir -p $d; printf '%%-%dd' $i > $d/file$i.go; done`,
			b*each, (b+1)*each, smallFile)
		if _, err := e.exec(ctx, route, map[string]any{"script": script}); err != nil {
			return ratio{}, err
		}
	}
	if err := e.collect(ctx); err != nil {
		return ratio{}, err
	}
	after, err := e.tableBytes(ctx)
	if err != nil {
		return ratio{}, err
	}
	n := batches * each
	per := after.grown(before, fmt.Sprintf("bytes for each of %d files of %d bytes", n, smallFile), n)
	r := per / storageBytes
	return ratio{median: r, lo: r, hi: r, detail: fmt.Sprintf("%.0f B / %d B", per, storageBytes)}, nil
}

// benchAppends is what many small appends to one file leave when the garbage has been collected and all is vacuumed, in
// units of 2 MB.
func benchAppends(ctx context.Context, e *env) (ratio, error) {
	_, route, err := e.sandbox(ctx)
	if err != nil {
		return ratio{}, err
	}
	before, err := e.tableBytes(ctx)
	if err != nil {
		return ratio{}, err
	}
	start := time.Now()
	n := e.times(3000, 30)
	for i := range n {
		if _, err := e.exec(ctx, route, map[string]any{"script": fmt.Sprintf("printf '%%-19d\\n' %d >> log",
			i)}); err != nil {
			return ratio{}, err
		}
	}
	took := time.Since(start)
	if grown, err := e.tableBytes(ctx); err != nil {
		return ratio{}, err
	} else {
		grown.grown(before, fmt.Sprintf("KiB after %d appends of 20 bytes to one file", n), 1024)
	}
	if err := e.collect(ctx); err != nil {
		return ratio{}, err
	}
	after, err := e.tableBytes(ctx)
	if err != nil {
		return ratio{}, err
	}
	mb := after.grown(before, "KiB when fs.gc has been there", 1024) / 1000 * 1.024
	return ratio{median: mb / 2, lo: mb / 2, hi: mb / 2, detail: fmt.Sprintf("%.2f MB / 2 MB, in %s", mb,
		round(took))}, nil
}
