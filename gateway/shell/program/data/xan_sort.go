package data

import (
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/lang/xan"
)

func xanSort(x *xanRun) error {
	rows, err := x.all()
	if err != nil {
		return err
	}
	columns, err := x.chosen()
	if err != nil {
		return err
	}
	order := func(a, b []string) int {
		x.p.Tick(1)
		for _, c := range columns {
			s, t := cellAt(a, c), cellAt(b, c)
			d := strings.Compare(s, t)
			if x.has("N") {
				f, ok1 := xan.Number(s)
				g, ok2 := xan.Number(t)
				switch {
				case ok1 && ok2 && f != g:
					d = 1
					if f < g {
						d = -1
					}
				case ok1 && ok2:
					d = 0
				case ok1:
					d = -1
				case ok2:
					d = 1
				}
			}
			if d != 0 {
				if x.has("R") || x.has("r") {
					return -d
				}
				return d
			}
		}
		return 0
	}
	slices.SortStableFunc(rows, order)
	x.head(x.headers)
	for i, row := range rows {
		if i == 0 || !x.has("u") || order(rows[i-1], row) != 0 {
			x.write(row)
		}
	}
	return nil
}
