package utillinux

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var columnSpec = getopt.New("c:dE:eH:hi:JLl:N:n:O:o:p:R:r:s:T:tVW:x",
	"columns:=c fillrows=x help=h input-separator:=s json=J keep-empty-lines=L output-separator:=o output-width:=c separator:=s table=t table-columns:=N "+
		"table-columns-limit:=l table-hide:=H table-name:=n table-noextreme:=E table-noheadings=d table-order:=O table-right:=R table-truncate:=T "+
		"table-wrap:=W table-empty-lines=L table-header-repeat=e tree:=r tree-id:=i tree-parent:=p version=V").
	WithUsage("[options] [<file>...]", "Columnate lists.").WithVersion("from util-linux 2.38.1")

type columnRun struct {
	p            *proc.Process
	table, json  bool
	keepEmpty    bool
	noHeadings   bool
	fillRows     bool
	width        int
	limit        int
	separators   string
	greedy       bool
	outSeparator string
	name         string
	names        []string
	lines        []string   // of a list
	rows         [][]string // of a table; nil for a kept empty line
}

func column(_ context.Context, p *proc.Process) int {
	opts, args := columnSpec.Parse(p)
	c := &columnRun{p: p, width: 80, separators: " \t", greedy: true, outSeparator: "  ", name: "table"}
	if n, err := strconv.Atoi(p.Getenv("COLUMNS")); err == nil && n > 0 {
		c.width = n
	}
	var hide, right, order, tree, treeID, treeParent string
	tableOption := false
	for _, o := range opts {
		switch o.Key {
		case "h":
			p.Args = []string{p.Args[0], "--help"}
			getopt.New("", "").WithUsage("[options] [<file>...]", "Columnate lists.").Parse(p)
		case "V":
			p.Out.WriteString("column from util-linux 2.38.1\n")
			return 0
		case "c":
			switch n, err := strconv.ParseUint(o.Value, 10, 31); {
			case o.Value == "unlimited":
				c.width = math.MaxInt32
			case err != nil:
				p.Errorf("invalid columns argument: '%s'", o.Value)
				return 1
			default:
				c.width = int(n)
			}
		case "d":
			c.noHeadings, tableOption = true, true
		case "H":
			hide, tableOption = o.Value, true
		case "J":
			c.json, c.table = true, true
		case "L":
			c.keepEmpty = true
		case "l":
			n, err := strconv.ParseUint(o.Value, 10, 31)
			if err != nil || n == 0 {
				p.Errorf("columns limit must be greater than zero")
				return 1
			}
			c.limit, tableOption = int(n), true
		case "N":
			c.names, tableOption = strings.Split(o.Value, ","), true
		case "n":
			c.name, tableOption = o.Value, true
		case "O":
			order, tableOption = o.Value, true
		case "o":
			c.outSeparator = o.Value
		case "R":
			right, tableOption = o.Value, true
		case "s":
			c.separators, c.greedy = o.Value, false
		case "T", "W", "E":
			tableOption = true
		case "r":
			tree = o.Value
		case "i":
			treeID = o.Value
		case "p":
			treeParent = o.Value
		case "t":
			c.table = true
		case "x":
			c.fillRows = true
		}
	}
	if c.fillRows && c.table {
		other := "table"
		if c.json {
			other = "json"
		}
		p.Errorf("mutually exclusive arguments: --%s --fillrows", other)
		return 1
	}
	switch {
	case tree != "" && (treeID == "" || treeParent == ""):
		p.Errorf("options --tree-id and --tree-parent are required for tree formatting")
		return 1
	case tableOption && !c.table:
		p.Errorf("option --table required for all --table-*")
		return 1
	case c.json && c.names == nil:
		p.Errorf("option --table-columns required for --json")
		return 1
	}
	status := c.read(args)
	if !c.table {
		c.list()
		return status
	}
	c.grid(hide, right, order, tree, treeID, treeParent)
	return status
}

func (c *columnRun) read(args []string) int {
	status := 0
	// "-" is a file of that name here.
	open := func(name string) (io.ReadCloser, error) { return c.p.Open(name, vfs.ReadOnly, 0) }
	if len(args) == 0 {
		args, open = []string{"-"}, c.p.OpenInput
	}
	for _, name := range args {
		r, err := open(name)
		if err != nil {
			c.p.Errorf("%s: %s", name, proc.Strerror(err))
			status = 1
			continue
		}
		l := program.NewLineReader(c.p, r, '\n')
		for raw, ok := l.Next(); ok; raw, ok = l.Next() {
			c.add(string(program.Chomp(raw, '\n')))
		}
		l.Close()
		_ = r.Close()
		if l.Err != nil {
			c.p.Errorf("read failed: %s", proc.Strerror(l.Err))
			c.p.Exit(1)
		}
	}
	return status
}

func (c *columnRun) add(line string) {
	c.p.Hold(2*len(line) + 48)
	if strings.TrimLeft(line, " \t\n\v\f\r") == "" {
		if c.keepEmpty {
			c.lines = append(c.lines, "")
			c.rows = append(c.rows, nil)
		}
		return
	}
	if !c.table {
		c.lines = append(c.lines, line)
		return
	}
	cells := c.split(line)
	c.p.Hold(32 * len(cells))
	c.rows = append(c.rows, cells)
}

func (c *columnRun) split(line string) []string {
	var out []string
	for {
		if c.limit > 0 && len(out) == c.limit-1 {
			return append(out, line)
		}
		if c.greedy {
			if line = strings.TrimLeft(line, c.separators); line == "" {
				return out
			}
		}
		i := strings.IndexAny(line, c.separators)
		if i < 0 {
			return append(out, line)
		}
		out = append(out, line[:i])
		line = line[i+1:]
	}
}

// list fills the width with the lines, down the columns or along the rows, with tabs between them.
func (c *columnRun) list() {
	const tab = 8
	widths, widest := make([]int, len(c.lines)), 0
	for i, l := range c.lines {
		widths[i] = runewidth.StringWidth(l)
		widest = max(widest, widths[i])
	}
	out := c.p.Out
	if widest >= c.width {
		for _, l := range c.lines {
			out.WriteString(l + "\n")
		}
		return
	}
	widest = (widest + tab) / tab * tab
	columns := max(c.width/widest, 1)
	rows := (len(c.lines) + columns - 1) / columns
	pad := func(at, to int) {
		for at = at/tab*tab + tab; at <= to; at += tab {
			out.WriteByte('\t')
		}
	}
	if c.fillRows {
		at := 0
		for i, l := range c.lines {
			out.WriteString(l)
			if (i+1)%columns == 0 || i == len(c.lines)-1 {
				out.WriteByte('\n')
				at = 0
				continue
			}
			pad(at+widths[i], at+widest)
			at += widest
		}
		return
	}
	for row := range rows {
		for col, at := 0, 0; ; col, at = col+1, at+widest {
			i := col*rows + row
			out.WriteString(c.lines[i])
			if i+rows >= len(c.lines) || col == columns-1 {
				break
			}
			pad(at+widths[i], at+widest)
		}
		out.WriteByte('\n')
	}
}

// pick resolves a list of column names and numbers; "0" is all of them.
func (c *columnRun) pick(list string, count int) []int {
	var out []int
	if list == "" {
		return nil
	}
	for word := range strings.SplitSeq(list, ",") {
		c.p.Tick(1)
		if word == "0" {
			c.p.Hold(16 * count)
			c.p.Tick(count >> 6)
			for i := range count {
				out = append(out, i)
			}
			continue
		}
		i := slices.Index(c.names, word)
		if n, err := strconv.Atoi(word); i < 0 && err == nil && n > 0 {
			i = n - 1
			if i >= count {
				continue
			}
		}
		if i < 0 {
			c.p.Errorf("undefined column name '%s'", word)
			c.p.Exit(1)
		}
		out = append(out, i)
	}
	return out
}

func (c *columnRun) grid(hide, right, order, tree, treeID, treeParent string) {
	count := len(c.names)
	for _, r := range c.rows {
		count = max(count, len(r))
	}
	if len(c.rows) == 0 {
		return
	}
	hide, unnamed := strings.CutPrefix(hide, "-") // all columns without a name
	hidden, rights := c.pick(strings.TrimPrefix(hide, ","), count), c.pick(right, count)
	for i := len(c.names); unnamed && i < count; i++ {
		hidden = append(hidden, i)
	}
	shown := c.pick(order, count)
	c.p.Hold(10 * count)
	c.p.Tick(1 + count>>6)
	isShown, isHidden := make([]bool, count), make([]bool, count)
	for _, i := range shown {
		isShown[i] = true
	}
	for _, i := range hidden {
		isHidden[i] = true
	}
	for i, ok := range isShown {
		if !ok {
			shown = append(shown, i)
		}
	}
	shown = slices.DeleteFunc(shown, func(i int) bool { return isHidden[i] })
	if tree != "" {
		c.branch(c.pick(tree, count)[0], c.pick(treeID, count)[0], c.pick(treeParent, count)[0])
	}
	if c.json {
		c.printJSON(shown)
		return
	}
	rows := c.rows
	if c.names != nil && !c.noHeadings {
		rows = append([][]string{c.names}, rows...)
	}
	cell := func(r []string, i int) string {
		if i < len(r) {
			return r[i]
		}
		return ""
	}
	widths := make([]int, count)
	for _, r := range rows {
		c.p.Tick(1 + len(r)>>4)
		for i, s := range r {
			widths[i] = max(widths[i], runewidth.StringWidth(s))
		}
	}
	out := c.p.Out
	isRight := make([]bool, count)
	for _, i := range rights {
		isRight[i] = true
	}
	for _, r := range rows {
		c.p.Tick(1 + len(shown)>>4)
		for k, i := range shown {
			text := cell(r, i)
			gap := widths[i] - runewidth.StringWidth(text)
			last := k == len(shown)-1
			switch {
			case isRight[i] && (!last || text != ""):
				program.WriteSpaces(c.p, int64(gap))
				out.WriteString(text)
			case last:
				out.WriteString(text)
			default:
				out.WriteString(text)
				program.WriteSpaces(c.p, int64(gap))
			}
			if !last {
				out.WriteString(c.outSeparator)
			}
		}
		out.WriteByte('\n')
	}
}

func (c *columnRun) printJSON(shown []int) {
	text := func(s string) string {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(s) // strings always encode
		return strings.TrimSuffix(b.String(), "\n")
	}
	out := c.p.Out
	out.WriteString("{\n   " + text(strings.ToLower(c.name)) + ": [\n      ")
	for k, r := range c.rows {
		if k > 0 {
			out.WriteString(",")
		}
		out.WriteString("{\n")
		for j, i := range shown {
			name := ""
			if i < len(c.names) {
				name = strings.ToLower(c.names[i])
			}
			value := "null"
			if i < len(r) && r[i] != "" {
				value = text(r[i])
			}
			out.WriteString("         " + text(name) + ": " + value)
			if j < len(shown)-1 {
				out.WriteByte(',')
			}
			out.WriteByte('\n')
		}
		out.WriteString("      }")
	}
	out.WriteString("\n   ]\n}\n")
}

// branch sorts the rows as a tree and draws its lines in column at.
func (c *columnRun) branch(at, id, parent int) {
	cell := func(r []string, i int) string {
		if i < len(r) {
			return r[i]
		}
		return ""
	}
	index := map[string]int{}
	for i, r := range c.rows {
		if k := cell(r, id); k != "" {
			if _, ok := index[k]; !ok {
				index[k] = i
			}
		}
	}
	children := make([][]int, len(c.rows))
	var roots []int
	for i, r := range c.rows {
		if up, ok := index[cell(r, parent)]; ok && up != i {
			children[up] = append(children[up], i)
		} else {
			roots = append(roots, i)
		}
	}
	var sorted [][]string
	done := make([]bool, len(c.rows))
	var walk func(i int, lead, branch string, depth int)
	walk = func(i int, lead, branch string, depth int) {
		if done[i] || depth > program.MaxTreeDepth {
			return
		}
		done[i] = true
		r := slices.Clone(c.rows[i])
		for len(r) <= at {
			r = append(r, "")
		}
		r[at] = lead + branch + r[at]
		sorted = append(sorted, r)
		switch branch {
		case "├─":
			lead += "│ "
		case "└─":
			lead += "  "
		}
		for k, child := range children[i] {
			mark := "├─"
			if k == len(children[i])-1 {
				mark = "└─"
			}
			walk(child, lead, mark, depth+1)
		}
	}
	for _, i := range roots {
		walk(i, "", "", 0)
	}
	c.rows = sorted
}
