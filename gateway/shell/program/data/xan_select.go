package data

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/lang/xan"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
)

func pick(row []string, columns []int) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = cellAt(row, c)
	}
	return out
}

func xanHeaders(x *xanRun) error {
	return x.each(func() error {
		for i, h := range x.headers {
			if x.has("j") {
				x.out.WriteString(h + "\n")
			} else {
				fmt.Fprintf(x.out, "%-3d %s\n", i, h)
			}
		}
		return io.EOF
	}, nil)
}

func xanCount(x *xanRun) error {
	err := x.each(nil, func([]string) error { return nil })
	if err == nil {
		fmt.Fprintf(x.out, "%d\n", x.index)
	}
	return err
}

func xanSelect(x *xanRun) error {
	var columns []int
	var list []xan.Named
	return x.each(func() (err error) {
		if !x.has("e") {
			if columns, err = x.columns(x.words[0]); err == nil {
				x.head(pick(x.headers, columns))
			}
			return err
		}
		if list, err = xan.CompileAll(x.words[0], x.headers); err != nil {
			return err
		}
		var names []string
		for _, n := range list {
			names = append(names, n.Name)
		}
		x.head(names)
		return nil
	}, func(row []string) error {
		if list == nil {
			x.write(pick(row, columns))
			return nil
		}
		out, err := x.evaluate(list, row)
		if err != nil {
			return err
		}
		x.write(out)
		return nil
	})
}

func (x *xanRun) evaluate(list []xan.Named, row []string) ([]string, error) {
	out := make([]string, len(list))
	for i, n := range list {
		v, err := n.Eval(row, x.index-1)
		if err != nil {
			return nil, err
		}
		out[i] = xan.Text(v)
	}
	return out, nil
}

func xanDrop(x *xanRun) error {
	x.words[0] = "!" + x.words[0]
	return xanSelect(x)
}

// passing copies the rows that f wants.
func (x *xanRun) passing(begin func() error, f func(row []string) (bool, error)) error {
	return x.each(func() error {
		if begin != nil {
			if err := begin(); err != nil {
				return err
			}
		}
		x.head(x.headers)
		return nil
	}, func(row []string) error {
		ok, err := f(row)
		if ok {
			x.write(row)
		}
		return err
	})
}

func (x *xanRun) window(from, to int) error {
	return x.passing(func() error {
		if from >= to {
			x.head(x.headers)
			return io.EOF
		}
		return nil
	}, func([]string) (bool, error) {
		if x.index > to {
			return false, io.EOF
		}
		return x.index > from, nil
	})
}

func xanHead(x *xanRun) error {
	n, err := x.count("l", 10)
	if err != nil {
		return err
	}
	return x.window(0, n)
}

func xanSlice(x *xanRun) error {
	from, err := x.count("s", 0)
	if err != nil {
		return err
	}
	to, err := x.count("e", 1<<40)
	if err != nil {
		return err
	}
	n, err := x.count("l", 1<<40)
	if err != nil {
		return err
	}
	if x.has("i") {
		if from, err = x.count("i", 0); err != nil {
			return err
		}
		n = 1
	}
	return x.window(from, min(to, from+n))
}

func xanTail(x *xanRun) error {
	n, err := x.count("l", 10)
	if err != nil {
		return err
	}
	rows, err := x.all()
	x.head(x.headers)
	for _, row := range rows[max(0, len(rows)-n):] {
		x.write(row)
	}
	return err
}

func xanReverse(x *xanRun) error {
	rows, err := x.all()
	x.head(x.headers)
	for _, row := range slices.Backward(rows) {
		x.write(row)
	}
	return err
}

func xanSearch(x *xanRun) error {
	var columns []int
	re, err := regex.Compile(x.words[0], regex.Options{Extended: true, Literal: !x.has("r"), IgnoreCase: x.has("i"),
		WholeLine: x.has("e")})
	if err != nil {
		return err
	}
	re.SetTick(x.p.Tick)
	return x.passing(func() (err error) {
		columns, err = x.chosen()
		return err
	}, func(row []string) (bool, error) {
		found := slices.ContainsFunc(columns, func(c int) bool { return re.Match([]byte(cellAt(row, c))) })
		return found != x.has("v"), nil
	})
}

func xanFilter(x *xanRun) error {
	var e *xan.Expression
	limit, err := x.count("l", 1<<40)
	if err != nil {
		return err
	}
	return x.passing(func() (err error) {
		e, err = xan.Compile(x.words[0], x.headers)
		return err
	}, func(row []string) (bool, error) {
		if limit == 0 {
			return false, io.EOF
		}
		v, err := e.Eval(row, x.index-1)
		if err != nil || xan.Truthy(v) == x.has("v") {
			return false, err
		}
		limit--
		return true, nil
	})
}

func xanDedup(x *xanRun) error {
	var columns []int
	seen := map[string]bool{}
	return x.passing(func() (err error) {
		columns, err = x.chosen()
		return err
	}, func(row []string) (bool, error) {
		key := strings.Join(pick(row, columns), "\x00")
		if seen[key] {
			return false, nil
		}
		x.hold(48 + len(key))
		seen[key] = true
		return true, nil
	})
}
