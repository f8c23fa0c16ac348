package data

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/lang/xan"
)

func xanFrequency(x *xanRun) error {
	limit, err := x.count("l", 10)
	if err != nil {
		return err
	}
	if limit == 0 || x.has("A") {
		limit = 1 << 40
	}
	var columns []int
	var counts []map[string]int
	if err := x.each(func() (err error) {
		columns, err = x.chosen()
		for range columns {
			counts = append(counts, map[string]int{})
		}
		return err
	}, func(row []string) error {
		for i, c := range columns {
			v := cellAt(row, c)
			if counts[i][v] == 0 {
				x.hold(64 + len(v))
			}
			counts[i][v]++
		}
		return nil
	}); err != nil {
		return err
	}
	x.write([]string{"field", "value", "count"})
	for i, c := range columns {
		values := make([]string, 0, len(counts[i]))
		for v := range counts[i] {
			values = append(values, v)
		}
		slices.SortFunc(values, func(a, b string) int {
			x.p.Tick(1)
			if d := counts[i][b] - counts[i][a]; d != 0 {
				return d
			}
			return strings.Compare(a, b)
		})
		for _, v := range values[:min(limit, len(values))] {
			shown := v
			if v == "" {
				shown = "<empty>"
			}
			x.write([]string{x.headers[c], shown, strconv.Itoa(counts[i][v])})
		}
	}
	return nil
}

// xanStats describes each column.
func xanStats(x *xanRun) error {
	kinds := []string{"count", "count_empty", "sum", "mean", "median", "stddev", "min", "max", "cardinality", "lex_first",
		"lex_last"}
	rows, err := x.all()
	if err != nil {
		return err
	}
	columns, err := x.chosen()
	if err != nil {
		return err
	}
	x.write(append([]string{"field", "type"}, kinds...))
	for _, c := range columns {
		kind := "empty"
		for _, row := range rows {
			v := cellAt(row, c)
			if v == "" {
				continue
			}
			k := "string"
			if _, ok := xan.Number(v); ok {
				if k = "float"; !strings.ContainsAny(v, ".eE") {
					k = "int"
				}
			}
			switch {
			case kind == "empty" || kind == "int" && k == "float":
				kind = k
			case kind == "string" || k == "string":
				kind = "string"
			}
		}
		numeric := kind == "int" || kind == "float"
		out := []string{x.headers[c], kind}
		for _, k := range kinds {
			if !numeric && slices.Contains([]string{"sum", "mean", "median", "stddev", "min", "max"}, k) {
				out = append(out, "")
				continue
			}
			list, err := xan.CompileAggregations(k+"(col("+strconv.Itoa(c)+"))", x.headers)
			if err != nil {
				return err
			}
			acc := xan.NewAccumulator(list, x.hold)
			for i, row := range rows {
				x.p.Tick(1)
				if err := acc.Add(row, i); err != nil {
					return err
				}
			}
			out = append(out, acc.Row()...)
		}
		x.write(out)
	}
	return nil
}

func aggregationNames(list []xan.Aggregation) []string {
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.Name
	}
	return names
}

func xanAgg(x *xanRun) error {
	var acc *xan.Accumulator
	if err := x.each(func() error {
		list, err := xan.CompileAggregations(x.words[0], x.headers)
		if err != nil {
			return err
		}
		x.write(aggregationNames(list))
		acc = xan.NewAccumulator(list, x.hold)
		return nil
	}, func(row []string) error { return acc.Add(row, x.index-1) }); err != nil {
		return err
	}
	x.write(acc.Row())
	return nil
}

func xanGroup(x *xanRun) error {
	var columns []int
	var list []xan.Aggregation
	groups := map[string]*xan.Accumulator{}
	var order [][]string
	if err := x.each(func() (err error) {
		if columns, err = x.columns(x.words[0]); err != nil {
			return err
		}
		if list, err = xan.CompileAggregations(x.words[1], x.headers); err != nil {
			return err
		}
		x.write(append(pick(x.headers, columns), aggregationNames(list)...))
		return nil
	}, func(row []string) error {
		cells := pick(row, columns)
		key := strings.Join(cells, "\x00")
		acc := groups[key]
		if acc == nil {
			x.hold(256 * len(list))
			acc = xan.NewAccumulator(list, x.hold)
			groups[key] = acc
			order = append(order, x.keep(cells))
		}
		return acc.Add(row, x.index-1)
	}); err != nil {
		return err
	}
	for _, cells := range order {
		x.write(append(slices.Clone(cells), groups[strings.Join(cells, "\x00")].Row()...))
	}
	return nil
}
