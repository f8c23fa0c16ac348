package command

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/jq"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/regex"
	"github.com/pgbox/pgbox/gateway/shell/xan"
)

// xanVerb is a sub-command: its options beside -d, -n and -o, how many operands come before the file, and what it does.
type xanVerb struct {
	spec     *getopt.Spec
	operands int
	run      func(x *xanRun) error
}

func xanSpec(short, longs string) *getopt.Spec {
	return getopt.New(short+"d:no:", longs+" delimiter:=d no-headers=n output:=o").WithVersion("(compatible with xan)").WithUsage("COMMAND [OPTION]... [FILE]", "Process CSV.")
}

var xanVerbs map[string]xanVerb

func init() {
	xanVerbs = map[string]xanVerb{
		"headers": {xanSpec("js:", "just-names=j start:=s"), 0, xanHeaders}, "count": {xanSpec("", ""), 0, xanCount},
		"select": {xanSpec("e", "evaluate=e"), 1, xanSelect}, "drop": {xanSpec("", ""), 1, xanDrop}, "head": {xanSpec("l:", "limit:=l"), 0, xanHead},
		"tail": {xanSpec("l:", "limit:=l"), 0, xanTail}, "slice": {xanSpec("s:e:l:i:", "start:=s skip:=s end:=e len:=l limit:=l index:=i"), 0, xanSlice},
		"reverse": {xanSpec("", ""), 0, xanReverse}, "search": {xanSpec("s:eriv", "select:=s exact=e regex=r ignore-case=i invert-match=v"), 1, xanSearch},
		"filter": {xanSpec("vl:", "invert-match=v limit:=l"), 1, xanFilter}, "map": {xanSpec("O", "overwrite=O"), 1, xanMap},
		"transform": {xanSpec("r:", "rename:=r"), 2, xanTransform}, "sort": {xanSpec("s:NRru", "select:=s numeric=N reverse=R uniq=u"), 0, xanSort},
		"dedup": {xanSpec("s:", "select:=s"), 0, xanDedup}, "frequency": {xanSpec("s:l:A", "select:=s limit:=l all=A"), 0, xanFrequency},
		"freq": {xanSpec("s:l:A", "select:=s limit:=l all=A"), 0, xanFrequency}, "stats": {xanSpec("s:Acq", "select:=s all=A cardinality=c quartiles=q"), 0, xanStats},
		"agg": {xanSpec("", ""), 1, xanAgg}, "groupby": {xanSpec("S", "sorted=S"), 2, xanGroup}, "behead": {xanSpec("", ""), 0, xanBehead},
		"enum": {xanSpec("c:S:", "column-name:=c start:=S"), 0, xanEnum}, "rename": {xanSpec("s:", "select:=s"), 1, xanRename}, "cat": {xanSpec("", ""), 1, xanCat},
		"explode": {xanSpec("s:r:", "sep:=s rename:=r"), 1, xanExplode}, "transpose": {xanSpec("", ""), 0, xanTranspose}, "fmt": {xanSpec("t:", "out-delimiter:=t tabs"), 0, xanFmt},
		"view": {xanSpec("l:pAC", "limit:=l pager=p all=A"), 0, xanView}, "table": {xanSpec("l:", "limit:=l"), 0, xanView}, "flatten": {xanSpec("l:", "limit:=l"), 0, xanFlatten},
		"f": {xanSpec("l:", "limit:=l"), 0, xanFlatten}, "v": {xanSpec("l:", "limit:=l"), 0, xanView}, "to": {xanSpec("", ""), 1, xanTo}, "from": {xanSpec("f:", "format:=f"), 0, xanFrom},
	}
}

// xanRun is one command of xan.
type xanRun struct {
	p       *proc.Process
	opts    map[string]string
	words   []string // operands before the files
	files   []string
	delim   byte
	outSep  byte
	headers []string
	close   func()
	in      *csv.Reader
	index   int
	out     *proc.Writer
	held    int
}

func xanMain(_ context.Context, p *proc.Process) int {
	if len(p.Args) < 2 || p.Args[1] == "--help" || p.Args[1] == "help" || p.Args[1] == "-h" {
		names := make([]string, 0, len(xanVerbs))
		for n := range xanVerbs {
			names = append(names, n)
		}
		slices.Sort(names)
		fmt.Fprintf(p.Out, "Usage: xan COMMAND [OPTION]... [FILE]\nProcess CSV.\n\nCommands: %s\n", strings.Join(names, " "))
		return 0
	}
	if p.Args[1] == "--version" {
		p.Out.WriteString("xan (pgbox)\n")
		return 0
	}
	verb, ok := xanVerbs[p.Args[1]]
	if !ok {
		p.Errorf("unknown command %q; xan --help lists them", p.Args[1])
		return 1
	}
	p.Args = append([]string{"xan " + p.Args[1]}, p.Args[2:]...)
	opts, args := verb.spec.Parse(p)
	x := &xanRun{p: p, opts: map[string]string{}, delim: ',', outSep: ',', out: p.Out, close: func() {}}
	for _, o := range opts {
		x.opts[o.Key] = o.Value
	}
	if len(args) < verb.operands {
		p.Errorf("missing operand; see %s --help", p.Args[0])
		return 1
	}
	x.words, x.files = args[:verb.operands], args[verb.operands:]
	if d, ok := x.opts["d"]; ok {
		if d = strings.ReplaceAll(d, `\t`, "\t"); d == "tab" {
			d = "\t"
		}
		if len(d) != 1 || strings.Contains("\"\r\n", d) {
			p.Errorf("the delimiter must be one character")
			return 1
		}
		x.delim = d[0]
	}
	if name, ok := x.opts["o"]; ok && name != "-" {
		f, err := p.Open(name, proc.WriteOnly|proc.Create|proc.Trunc, 0o666)
		if err != nil {
			p.Errorf("%s: %s", name, proc.Strerror(err))
			return 1
		}
		defer f.Close()
		x.out = proc.NewWriter(f, p)
	}
	defer func() { p.Release(x.held) }()
	err := verb.run(x)
	x.close()
	if err != nil && !errors.Is(err, io.EOF) {
		p.Errorf("%s", proc.Strerror(err))
		return 1
	}
	x.out.Flush()
	return 0
}

func (x *xanRun) has(key string) bool { _, ok := x.opts[key]; return ok }

// count is the value of an option that is a number.
func (x *xanRun) count(key string, or int) (int, error) {
	s, ok := x.opts[key]
	if !ok {
		return or, nil
	}
	n, problem := parseCount(s, "")
	if problem != numberOK {
		return 0, fmt.Errorf("invalid number %q", s)
	}
	return int(min(n, 1<<40)), nil
}

// open starts reading a table.
func (x *xanRun) open() error {
	name := "-"
	if len(x.files) > 0 {
		name = x.files[0]
	}
	f, err := x.p.OpenInput(name)
	if err != nil {
		return fmt.Errorf("%s: %s", name, proc.Strerror(err))
	}
	x.close = func() { f.Close() }
	x.in = csv.NewReader(bufio.NewReaderSize(&tickReader{x.p, f}, 64<<10))
	x.in.Comma, x.in.LazyQuotes, x.in.FieldsPerRecord = rune(x.delim), true, -1
	if strings.HasSuffix(name, ".tsv") && !x.has("d") {
		x.in.Comma = '\t'
	}
	first, err := x.in.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	x.headers = first
	if x.has("n") {
		x.headers = make([]string, len(first))
		for i := range first {
			x.headers[i] = strconv.Itoa(i)
		}
		f.Close()
		again, err := x.p.OpenInput(name)
		if err != nil || name == "-" {
			return errors.Join(err, errors.New("-n needs a file"))
		}
		x.close = func() { again.Close() }
		x.in = csv.NewReader(bufio.NewReaderSize(&tickReader{x.p, again}, 64<<10))
		x.in.Comma, x.in.LazyQuotes, x.in.FieldsPerRecord = rune(x.delim), true, -1
	}
	return nil
}

// tickReader counts what is read as work.
type tickReader struct {
	p *proc.Process
	r io.Reader
}

func (t *tickReader) Read(b []byte) (int, error) {
	n, err := t.r.Read(b)
	t.p.Tick(1 + n>>8)
	return n, err
}

// next is the next row; the error is io.EOF at the end.
func (x *xanRun) next() ([]string, error) {
	row, err := x.in.Read()
	if err == nil {
		x.p.Tick(1)
		x.index++
	}
	return row, err
}

// each opens the table, calls begin and then f with every row.
func (x *xanRun) each(begin func() error, f func(row []string) error) error {
	if err := x.open(); err != nil {
		return err
	}
	if begin != nil {
		if err := begin(); err != nil {
			return err
		}
	}
	if x.headers == nil {
		return nil
	}
	for {
		row, err := x.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(row); err != nil {
			return err
		}
	}
}

func (x *xanRun) hold(n int) {
	x.held += n
	x.p.Hold(n)
}

// keep counts a row that is held.
func (x *xanRun) keep(row []string) []string {
	n := 24
	for _, c := range row {
		n += 16 + len(c)
	}
	x.hold(n)
	return row
}

// all reads the whole table.
func (x *xanRun) all() (rows [][]string, err error) {
	err = x.each(nil, func(row []string) error {
		rows = append(rows, x.keep(row))
		return nil
	})
	return rows, err
}

// head writes the header line, where there is one.
func (x *xanRun) head(names []string) {
	if !x.has("n") && names != nil {
		x.write(names)
	}
}

func (x *xanRun) write(row []string) {
	for i, c := range row {
		if i > 0 {
			x.out.WriteByte(x.outSep)
		}
		if strings.IndexByte(c, x.outSep) < 0 && !strings.ContainsAny(c, "\"\r\n") && (c != "" || len(row) > 1) {
			x.out.WriteString(c)
			continue
		}
		x.out.WriteByte('"')
		x.out.WriteString(strings.ReplaceAll(c, `"`, `""`))
		x.out.WriteByte('"')
	}
	x.out.WriteByte('\n')
}

func cellAt(row []string, i int) string {
	if i < len(row) {
		return row[i]
	}
	return ""
}

// columns resolves a selection: names, numbers, ranges a:b, globs, and ! for all others.
func (x *xanRun) columns(selection string) ([]int, error) {
	selection, others := strings.CutPrefix(selection, "!")
	var out []int
	find := func(name string, or int) (int, error) {
		if name == "" {
			return or, nil
		}
		if i := slices.Index(x.headers, name); i >= 0 {
			return i, nil
		}
		if n, err := strconv.Atoi(name); err == nil {
			if n < 0 {
				n += len(x.headers)
			}
			if n >= 0 && n < len(x.headers) {
				return n, nil
			}
		}
		return 0, fmt.Errorf("unknown column %q", name)
	}
	r := csv.NewReader(strings.NewReader(selection))
	r.LazyQuotes = true
	parts, err := r.Read()
	if err != nil && selection != "" {
		return nil, fmt.Errorf("bad selection %q", selection)
	}
	for _, part := range parts {
		if strings.Contains(part, "*") && slices.Index(x.headers, part) < 0 {
			for i, h := range x.headers {
				if fnmatch(part, h, false) {
					out = append(out, i)
				}
			}
			continue
		}
		from, to, isRange := strings.Cut(part, ":")
		if !isRange || slices.Index(x.headers, part) >= 0 {
			i, err := find(part, 0)
			if err != nil {
				return nil, err
			}
			out = append(out, i)
			continue
		}
		a, err := find(from, 0)
		if err != nil {
			return nil, err
		}
		b, err := find(to, len(x.headers)-1)
		if err != nil {
			return nil, err
		}
		step := 1
		if b < a {
			step = -1
		}
		for i := a; i != b+step; i += step {
			out = append(out, i)
		}
	}
	if !others {
		return out, nil
	}
	var rest []int
	for i := range x.headers {
		if !slices.Contains(out, i) {
			rest = append(rest, i)
		}
	}
	return rest, nil
}

// chosen is the selection of -s, all columns without it.
func (x *xanRun) chosen() ([]int, error) {
	s, ok := x.opts["s"]
	if !ok {
		s = "!"
	}
	return x.columns(s)
}

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
	re, err := regex.Compile(x.words[0], regex.Options{Extended: true, Literal: !x.has("r"), IgnoreCase: x.has("i"), WholeLine: x.has("e")})
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
	kinds := []string{"count", "count_empty", "sum", "mean", "median", "stddev", "min", "max", "cardinality", "lex_first", "lex_last"}
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

func xanBehead(x *xanRun) error {
	return x.each(nil, func(row []string) error {
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

func xanCat(x *xanRun) error {
	if x.words[0] != "rows" {
		return fmt.Errorf("cat %s is not supported; rows is", x.words[0])
	}
	var names []string
	files := x.files
	for i, f := range files {
		x.files = []string{f}
		var at []int
		if err := x.each(func() error {
			if i == 0 {
				names = x.headers
				x.head(names)
			}
			for _, n := range names {
				c := slices.Index(x.headers, n)
				if c < 0 {
					return fmt.Errorf("%s has no column %q", f, n)
				}
				at = append(at, c)
			}
			return nil
		}, func(row []string) error {
			x.write(pick(row, at))
			return nil
		}); err != nil {
			return err
		}
		x.close()
		x.close = func() {}
	}
	return nil
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

// xanTo prints the table in another format; cells that are numbers become numbers.
func xanTo(x *xanRun) error {
	format := x.words[0]
	if format != "json" && format != "jsonl" && format != "ndjson" {
		return fmt.Errorf("unknown format %q: json and jsonl are known", format)
	}
	style := jq.Style{}
	first := true
	if format == "json" {
		style.Indent = "  "
		x.out.WriteString("[")
	}
	err := x.each(nil, func(row []string) error {
		o := jq.NewObject()
		for i, h := range x.headers {
			c := cellAt(row, i)
			var v any = c
			if f, ok := xan.Number(c); ok && xan.FormatNumber(f) == c {
				v = f
			} else if c == "" {
				v = nil
			}
			o = o.Set(h, v)
		}
		text := style.Append(nil, o)
		if format != "json" {
			x.out.Write(append(text, '\n'))
			return nil
		}
		if !first {
			x.out.WriteString(",")
		}
		first = false
		x.out.WriteString("\n  " + strings.ReplaceAll(string(text), "\n", "\n  "))
		return nil
	})
	if format == "json" {
		if !first {
			x.out.WriteByte('\n')
		}
		x.out.WriteString("]\n")
	}
	return err
}

// xanFrom makes a table of JSON: an array of objects, or objects one after the other. The columns are all keys in order of appearance.
func xanFrom(x *xanRun) error {
	switch f := x.opts["f"]; f {
	case "", "json", "jsonl", "ndjson":
	default:
		return fmt.Errorf("unknown format %q: json and jsonl are known", f)
	}
	name := "-"
	if len(x.files) > 0 {
		name = x.files[0]
	}
	f, err := x.p.OpenInput(name)
	if err != nil {
		return fmt.Errorf("%s: %s", name, proc.Strerror(err))
	}
	defer f.Close()
	d := jq.NewDecoder(f, x.p.Tick, x.hold)
	var objects []*jq.Object
	var names []string
	known := map[string]bool{}
	add := func(v any) error {
		o, ok := v.(*jq.Object)
		if !ok {
			return errors.New("objects are expected")
		}
		objects = append(objects, o)
		for k := range o.All() {
			if !known[k] {
				known[k] = true
				names = append(names, k)
			}
		}
		return nil
	}
	for {
		v, err := d.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if list, ok := v.(*jq.Array); ok {
			for _, e := range list.Values() {
				if err := add(e); err != nil {
					return err
				}
			}
			continue
		}
		if err := add(v); err != nil {
			return err
		}
	}
	x.head(names)
	for _, o := range objects {
		x.p.Tick(1)
		row := make([]string, len(names))
		for i, n := range names {
			switch v, _ := o.Get(n); v := v.(type) {
			case nil:
			case string:
				row[i] = v
			default:
				row[i] = string(jq.Style{}.Append(nil, v))
			}
		}
		x.write(row)
	}
	return nil
}
