package data

import (
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
)

func xanFmt(x *xanRun) error {
	if t := strings.ReplaceAll(x.opts["t"], `\t`, "\t"); len(t) == 1 {
		x.outSep = t[0]
	} else if x.has("tabs") {
		x.outSep = '\t'
	}
	return x.passing(nil, func([]string) (bool, error) { return true, nil })
}

// xanView draws the table.
func xanView(x *xanRun) error {
	limit, err := x.count("l", 1<<40)
	if err != nil {
		return err
	}
	rows, err := x.all()
	if err != nil {
		return err
	}
	rows = rows[:min(limit, len(rows))]
	widths := make([]int, len(x.headers))
	measure := func(row []string) {
		for i := range widths {
			widths[i] = max(widths[i], runewidth.StringWidth(cellAt(row, i)))
		}
	}
	measure(x.headers)
	for _, row := range rows {
		x.p.Tick(1)
		measure(row)
	}
	rule := func(left, middle, right string) {
		for i, w := range widths {
			if i == 0 {
				x.out.WriteString(left)
			} else {
				x.out.WriteString(middle)
			}
			x.out.WriteString(strings.Repeat("─", w+2))
		}
		x.out.WriteString(right + "\n")
	}
	line := func(row []string) {
		for i, w := range widths {
			c := strings.ReplaceAll(cellAt(row, i), "\n", "⏎")
			x.out.WriteString("│ " + c + strings.Repeat(" ", max(0, w-runewidth.StringWidth(c))+1))
		}
		x.out.WriteString("│\n")
	}
	rule("┌", "┬", "┐")
	line(x.headers)
	rule("├", "┼", "┤")
	for _, row := range rows {
		x.p.Tick(1)
		line(row)
	}
	rule("└", "┴", "┘")
	return nil
}

func xanFlatten(x *xanRun) error {
	limit, err := x.count("l", 1<<40)
	if err != nil {
		return err
	}
	width := 0
	return x.each(func() error {
		for _, h := range x.headers {
			width = max(width, runewidth.StringWidth(h))
		}
		return nil
	}, func(row []string) error {
		if x.index > limit {
			return io.EOF
		}
		if x.index > 1 {
			x.out.WriteByte('\n')
		}
		fmt.Fprintf(x.out, "Row n°%d\n", x.index-1)
		for i, h := range x.headers {
			x.out.WriteString(h + strings.Repeat(" ", width-runewidth.StringWidth(h)+1) + cellAt(row, i) + "\n")
		}
		return nil
	})
}
