package data

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

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// xanVerb is a sub-command: its options beside -d, -n and -o, how many operands come before the file, and what it does.
type xanVerb struct {
	spec     *getopt.Spec
	operands int
	run      func(x *xanRun) error
}

func xanSpec(short, longs string) *getopt.Spec {
	return getopt.New(short+"d:no:", longs+
		" delimiter:=d no-headers=n output:=o").WithVersion("(compatible with xan)").WithUsage("COMMAND [OPTION]... [FILE]",
		"Process CSV.")
}

var xanVerbs map[string]xanVerb

func init() {
	xanVerbs = map[string]xanVerb{
		"headers": {xanSpec("js:", "just-names=j start:=s"), 0, xanHeaders}, "count": {xanSpec("", ""), 0, xanCount},
		"select": {xanSpec("e", "evaluate=e"), 1, xanSelect}, "drop": {xanSpec("", ""), 1, xanDrop},
		"head": {xanSpec("l:", "limit:=l"), 0, xanHead},
		"tail": {xanSpec("l:", "limit:=l"), 0, xanTail}, "slice": {xanSpec("s:e:l:i:",
			"start:=s skip:=s end:=e len:=l limit:=l index:=i"), 0, xanSlice},
		"reverse": {xanSpec("", ""), 0, xanReverse}, "search": {xanSpec("s:eriv",
			"select:=s exact=e regex=r ignore-case=i invert-match=v"), 1, xanSearch},
		"filter": {xanSpec("vl:", "invert-match=v limit:=l"), 1, xanFilter}, "map": {xanSpec("O", "overwrite=O"), 1, xanMap},
		"transform": {xanSpec("r:", "rename:=r"), 2, xanTransform},
		"sort":      {xanSpec("s:NRru", "select:=s numeric=N reverse=R uniq=u"), 0, xanSort},
		"dedup":     {xanSpec("s:", "select:=s"), 0, xanDedup}, "frequency": {xanSpec("s:l:A", "select:=s limit:=l all=A"), 0,
			xanFrequency},
		"freq":  {xanSpec("s:l:A", "select:=s limit:=l all=A"), 0, xanFrequency},
		"stats": {xanSpec("s:Acq", "select:=s all=A cardinality=c quartiles=q"), 0, xanStats},
		"agg":   {xanSpec("", ""), 1, xanAgg}, "groupby": {xanSpec("S", "sorted=S"), 2, xanGroup},
		"behead": {xanSpec("", ""), 0, xanBehead},
		"enum":   {xanSpec("c:S:", "column-name:=c start:=S"), 0, xanEnum},
		"rename": {xanSpec("s:", "select:=s"), 1, xanRename}, "cat": {xanSpec("", ""), 1, xanCat},
		"explode": {xanSpec("s:r:", "sep:=s rename:=r"), 1, xanExplode}, "transpose": {xanSpec("", ""), 0, xanTranspose},
		"fmt":  {xanSpec("t:", "out-delimiter:=t tabs"), 0, xanFmt},
		"view": {xanSpec("l:pAC", "limit:=l pager=p all=A"), 0, xanView}, "table": {xanSpec("l:", "limit:=l"), 0, xanView},
		"flatten": {xanSpec("l:", "limit:=l"), 0, xanFlatten},
		"f":       {xanSpec("l:", "limit:=l"), 0, xanFlatten}, "v": {xanSpec("l:", "limit:=l"), 0, xanView},
		"to": {xanSpec("", ""), 1, xanTo}, "from": {xanSpec("f:", "format:=f"), 0, xanFrom},
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
		f, err := p.Open(name, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
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
	n, problem := program.ParseCount(s, "")
	if problem != program.NumberOK {
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
				if program.Fnmatch(x.p, part, h, false) {
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

func xanBehead(x *xanRun) error {
	return x.each(nil, func(row []string) error {
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
