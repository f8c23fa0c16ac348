package data

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/lang/xan"
)

func xanMap(x *xanRun) error {
	var list []xan.Named
	var at []int
	// The older form gives the name of the column as an operand of its own.
	if len(x.files) > 0 {
		if _, err := x.p.Stat(x.files[0]); err != nil && x.files[0] != "-" {
			x.words[0] += " as `" + x.files[0] + "`"
			x.files = x.files[1:]
		}
	}
	width := 0
	return x.each(func() (err error) {
		if list, err = xan.CompileAll(x.words[0], x.headers); err != nil {
			return err
		}
		names := slices.Clone(x.headers)
		for _, n := range list {
			i := slices.Index(names, n.Name)
			if i < 0 || !x.has("O") {
				i = len(names)
				names = append(names, n.Name)
			}
			at = append(at, i)
		}
		width = len(names)
		x.head(names)
		return nil
	}, func(row []string) error {
		values, err := x.evaluate(list, row)
		if err != nil {
			return err
		}
		out := make([]string, width)
		copy(out, row)
		for i, v := range values {
			out[at[i]] = v
		}
		x.write(out)
		return nil
	})
}

func xanTransform(x *xanRun) error {
	var e *xan.Expression
	var columns []int
	return x.each(func() (err error) {
		if columns, err = x.columns(x.words[0]); err != nil {
			return err
		}
		if len(columns) != 1 {
			return errors.New("transform takes one column")
		}
		name := x.headers[columns[0]]
		if e, err = xan.Compile("`"+name+"` | "+x.words[1], x.headers); err != nil {
			return err
		}
		names := slices.Clone(x.headers)
		if r, ok := x.opts["r"]; ok {
			names[columns[0]] = r
		}
		x.head(names)
		return nil
	}, func(row []string) error {
		v, err := e.Eval(row, x.index-1)
		if err != nil {
			return err
		}
		if columns[0] < len(row) {
			row[columns[0]] = xan.Text(v)
		}
		x.write(row)
		return nil
	})
}

func xanEnum(x *xanRun) error {
	name, ok := x.opts["c"]
	if !ok {
		name = "index"
	}
	start, err := x.count("S", 0)
	if err != nil {
		return err
	}
	return x.each(func() error {
		x.head(append([]string{name}, x.headers...))
		return nil
	}, func(row []string) error {
		x.write(append([]string{strconv.Itoa(start + x.index - 1)}, row...))
		return nil
	})
}

func xanRename(x *xanRun) error {
	return x.each(func() error {
		columns, err := x.chosen()
		if err != nil {
			return err
		}
		to, err := csv.NewReader(strings.NewReader(x.words[0])).Read()
		if err != nil || len(to) != len(columns) {
			return fmt.Errorf("%d names for %d columns", len(to), len(columns))
		}
		names := slices.Clone(x.headers)
		for i, c := range columns {
			names[c] = to[i]
		}
		x.head(names)
		return nil
	}, func(row []string) error {
		x.write(row)
		return nil
	})
}

func xanExplode(x *xanRun) error {
	sep, ok := x.opts["s"]
	if !ok {
		sep = "|"
	}
	var columns []int
	return x.each(func() (err error) {
		if columns, err = x.columns(x.words[0]); err != nil {
			return err
		}
		names := slices.Clone(x.headers)
		if r, ok := x.opts["r"]; ok && len(columns) == 1 {
			names[columns[0]] = r
		}
		x.head(names)
		return nil
	}, func(row []string) error {
		var parts [][]string
		most := 1
		for _, c := range columns {
			p := strings.Split(cellAt(row, c), sep)
			parts, most = append(parts, p), max(most, len(p))
		}
		for i := range most {
			out := slices.Clone(row)
			for k, c := range columns {
				if c < len(out) {
					out[c] = cellAt(parts[k], i)
				}
			}
			x.write(out)
		}
		return nil
	})
}

func xanTranspose(x *xanRun) error {
	rows, err := x.all()
	if err != nil {
		return err
	}
	for i, h := range x.headers {
		out := []string{h}
		for _, row := range rows {
			x.p.Tick(1)
			out = append(out, cellAt(row, i))
		}
		x.write(out)
	}
	return nil
}
