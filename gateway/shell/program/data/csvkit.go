package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/itchyny/timefmt-go"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/csv"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// What the tools of csvkit have in common.
const (
	csvkitShort = "d:tq:u:bp:z:e:SHK:vlhV"
	csvkitLong  = " delimiter:=d tabs=t quotechar:=q quoting:=u no-doublequote=b escapechar:=p maxfieldsize:=z encoding:=e skipinitialspace=S no-header-row=H skip-lines:=K verbose=v linenumbers=l zero help=h version=V "
	// csvkitTyped are the options of those that guess types.
	csvkitTyped = " locale:=L blanks date-format: datetime-format: snifflimit:=y no-inference=I "
)

func csvkitSpec(short, long string) *getopt.Spec {
	return getopt.New(csvkitShort+short, csvkitLong+long).WithStatus(2).WithVersion("1.0.7")
}

// csvkitTool is one of the tools.
type csvkitTool struct {
	spec  *getopt.Spec
	about string
	many  bool // takes several files
	run   func(k *csvkitRun) error
}

var csvkitTools map[string]csvkitTool

func init() {
	csvkitTools = map[string]csvkitTool{
		"csvcut": {csvkitSpec("nc:C:x", "names=n columns:=c not-columns:=C delete-empty-rows=x"),
			`Filter and truncate CSV files. Like the Unix "cut" command, but for tabular data.`, false, csvCut},
		"csvgrep": {csvkitSpec("nc:m:r:f:ia", "names=n columns:=c match:=m regex:=r file:=f invert-match=i any-match=a"),
			`Search CSV files. Like the Unix "grep" command, but for tabular data.`, false, csvGrep},
		"csvsort": {csvkitSpec("nc:ry:IL:", csvkitTyped+"names=n columns:=c reverse=r"),
			`Sort CSV files. Like the Unix "sort" command, but for tabular data.`, false, csvSort},
		"csvjoin": {csvkitSpec("c:y:IL:", csvkitTyped+"columns:=c outer left right"),
			"Execute a SQL-like join to merge CSV files on a specified column or columns.", true, csvJoin},
		"csvstack": {csvkitSpec("g:n:", "groups:=g group-name:=n filenames"),
			"Stack up the rows from multiple CSV files, optionally adding a grouping value.", true, csvStack},
		"csvformat": {csvkitSpec("D:TQ:U:BP:M:",
			"out-delimiter:=D out-tabs=T out-quotechar:=Q out-quoting:=U out-no-doublequote=B out-escapechar:=P out-lineterminator:=M"), "Convert a CSV file to a custom output format.", false, csvFormat},
		"csvclean": {csvkitSpec("n", "dry-run=n"), "Fix common errors in a CSV file.", false, csvClean},
		"csvlook": {csvkitSpec("y:IL:", csvkitTyped+"max-rows: max-columns: max-column-width:"),
			"Render a CSV file in the console as a Markdown-compatible, fixed-width table.", false, csvLook},
		"csvjson": {csvkitSpec("i:k:y:IL:", csvkitTyped+"indent:=i key:=k lat: lon: type: geometry: crs: no-bbox stream"),
			"Convert a CSV file into JSON (or GeoJSON).", false, csvJSON},
		"csvstat": {csvkitSpec("nc:y:",
			"csv names=n columns:=c type nulls unique min max sum mean median stdev len freq freq-count: count snifflimit:=y"),
			"Print descriptive statistics for each column in a CSV file.", false, csvStat},
		"in2csv": {csvkitSpec("f:s:k:ny:IL:",
			csvkitTyped+"format:=f schema:=s key:=k names=n sheet: write-sheets: encoding-xls:"),
			"Convert common, but less awesome, tabular data formats to CSV.", false, in2csv},
	}
}

// csvkitRun is a run of one of the tools.
type csvkitRun struct {
	p        *proc.Process
	opts     map[string]string
	args     []string
	in       csv.Dialect
	out      csv.Dialect
	delim    bool // -d or -t: nothing is guessed
	skip     int
	rows     int // written
	held     int
	text     []byte
	openFile io.Closer
	count    int // rows read after it
}

func csvkit(_ context.Context, p *proc.Process) int {
	tool := csvkitTools[p.Name()]
	opts, args, err := tool.spec.Scan(p.Args[1:])
	k := &csvkitRun{p: p, opts: map[string]string{}, args: args, in: csv.Excel(), out: csv.Excel()}
	defer func() {
		if k.openFile != nil {
			_ = k.openFile.Close()
		}
		p.Release(k.held)
	}()
	if err == nil {
		for _, o := range opts {
			k.opts[o.Key] = o.Value
		}
		if k.has("h") || k.has("help") {
			p.Args = []string{p.Args[0], "--help"}
			tool.spec.WithUsage("[-h] [options] [FILE]", tool.about).Parse(p)
		}
		if k.has("V") || k.has("version") {
			p.Out.WriteString(p.Name() + " 1.0.7\n")
			return 0
		}
		if !tool.many && len(args) > 1 {
			err = csvUsage("unrecognized arguments: " + strings.Join(args[1:], " "))
		}
	} else {
		err = csvUsage(err.Error())
	}
	if err == nil {
		err = k.dialect()
	}
	if err == nil {
		err = tool.run(k)
	}
	var usage csvUsage
	var known *csv.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		p.Out.Flush()
		fmt.Fprintf(p.Err, "usage: %s [-h] [options] [FILE]\n%s: error: %s\n", p.Name(), p.Name(), string(usage))
		return 2
	case errors.As(err, &known):
		p.Out.Flush()
		p.Err.WriteString(known.Error() + "\n")
	default:
		p.Out.Flush()
		p.Err.WriteString("Error: " + proc.Strerror(err) + "\n")
	}
	return 1
}

// csvUsage is a command line that does not fit.
type csvUsage string

func (e csvUsage) Error() string { return string(e) }

func (k *csvkitRun) has(key string) bool { _, ok := k.opts[key]; return ok }

func (k *csvkitRun) hold(n int) {
	k.held += n
	k.p.Hold(n)
}

// number is the value of an option.
func (k *csvkitRun) number(key, name string, or int) (int, error) {
	s, ok := k.opts[key]
	if !ok {
		return or, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, csvUsage("argument " + name + ": invalid int value: '" + s + "'")
	}
	return n, nil
}

// char is the value of an option that is one character.
func (k *csvkitRun) char(key, name string, c *rune) error {
	s, ok := k.opts[key]
	if !ok || s == "" {
		return nil
	}
	r, n := utf8.DecodeRuneInString(s)
	if n != len(s) {
		return &csv.Error{Kind: "TypeError", Text: `"` + name + `" must be a 1-character string`}
	}
	*c = r
	return nil
}

func (k *csvkitRun) quoting(key, name string, q *csv.Quoting) error {
	s, ok := k.opts[key]
	if !ok {
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return csvUsage("argument " + name + ": invalid int value: '" + s + "'")
	}
	if n < 0 || n > 3 {
		return csvUsage("argument " + name + ": invalid choice: " + s + " (choose from 0, 1, 2, 3)")
	}
	*q = csv.Quoting(n)
	return nil
}

func (k *csvkitRun) dialect() (err error) {
	if k.skip, err = k.number("K", "-K/--skip-lines", 0); err != nil {
		return err
	}
	if err = k.char("d", "delimiter", &k.in.Delimiter); err != nil {
		return err
	}
	k.delim = k.has("d") || k.has("t")
	if k.has("t") {
		k.in.Delimiter = '\t'
	}
	k.in.Doubled, k.in.SkipSpace = !k.has("b"), k.has("S")
	return errors.Join(k.char("q", "quotechar", &k.in.Quote), k.char("p", "escapechar", &k.in.Escape),
		k.quoting("u", "-u/--quoting", &k.in.Quoting))
}

// noFile is what Python says of a file that cannot be opened.
func noFile(name string, err error) error {
	e, _ := vfs.Of(err)
	kind := "OSError"
	switch {
	case errors.Is(err, vfs.ENOENT):
		kind = "FileNotFoundError"
	case errors.Is(err, vfs.EISDIR):
		kind = "IsADirectoryError"
	case errors.Is(err, vfs.EACCES):
		kind = "PermissionError"
	case errors.Is(err, vfs.ENOTDIR):
		kind = "NotADirectoryError"
	}
	return &csv.Error{Kind: kind, Text: fmt.Sprintf("[Errno %d] %s: '%s'", int(e), proc.Strerror(err), name)}
}

// name is the file operand.
func (k *csvkitRun) name() string {
	if len(k.args) == 0 {
		return "-"
	}
	return k.args[0]
}

// open opens a file, past its byte order mark and the lines of -K.
func (k *csvkitRun) open(name string) (io.Reader, error) {
	if k.openFile != nil {
		_ = k.openFile.Close()
		k.openFile = nil
	}
	f, err := k.p.OpenInput(name)
	if err != nil {
		return nil, noFile(name, err)
	}
	k.openFile = f
	var r io.Reader = &tickReader{k.p, f}
	mark := make([]byte, 3)
	n, err := io.ReadFull(r, mark)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, noFile(name, err)
	}
	if string(mark[:n]) == "\xef\xbb\xbf" {
		n = 0
	}
	return io.MultiReader(strings.NewReader(string(mark[:n])), r), nil
}

// reader reads rows of a file.
func (k *csvkitRun) reader(name string) (*csv.Reader, error) {
	r, err := k.open(name)
	if err != nil {
		return nil, err
	}
	rows := csv.NewReader(r, k.in)
	skipped := 0
	for skipped < k.skip && rows.SkipLine() == nil { // an error is for whoever reads on
		skipped++
	}
	return rows, nil
}

func (k *csvkitRun) next(r *csv.Reader) ([]string, error) {
	row, err := r.Read()
	var known *csv.Error
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &known) {
		return nil, noFile(k.name(), err)
	}
	k.p.Tick(1 + len(row))
	return row, err
}

// write writes a row, with its number in front where -l asks for it.
func (k *csvkitRun) write(row []string) error {
	if k.has("l") {
		first := "line_number"
		if k.rows > 0 {
			first = strconv.Itoa(k.rows)
		}
		row = append([]string{first}, row...)
	}
	k.rows++
	return k.put(row)
}

func (k *csvkitRun) put(row []string) (err error) {
	if k.text, err = k.out.Append(k.text[:0], row); err == nil {
		k.p.Out.Write(k.text)
	}
	return err
}

func letters(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = csv.Letter(i)
	}
	return names
}

// begin reads the header line: the names of the columns, and with -H the row that was read in its place.
func (k *csvkitRun) begin(r *csv.Reader) (names, first []string, err error) {
	row, err := k.next(r)
	if err != nil {
		return nil, nil, err
	}
	if k.has("H") {
		return letters(len(row)), row, nil
	}
	return row, nil, nil
}

// each calls f with every row, the first one being what begin returned.
func (k *csvkitRun) each(r *csv.Reader, first []string, f func(row []string) error) error {
	if first != nil {
		if err := f(first); err != nil {
			return err
		}
	}
	for {
		row, err := k.next(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(row)
		}
		if err != nil {
			return err
		}
	}
}

// names prints the names of the columns.
func (k *csvkitRun) names() error {
	if k.has("H") {
		return &csv.Error{Kind: "RequiredHeaderError", Text: "You cannot use --no-header-row with the -n or --names options."}
	}
	r, err := k.reader(k.name())
	if err != nil {
		return err
	}
	row, err := k.next(r)
	if errors.Is(err, io.EOF) {
		return &csv.Error{Kind: "StopIteration", Text: ""}
	}
	if err != nil {
		return err
	}
	for i, n := range row {
		fmt.Fprintf(k.p.Out, "%3d: %s\n", i+k.offset(), n)
	}
	return nil
}

func (k *csvkitRun) offset() int {
	if k.has("zero") {
		return 0
	}
	return 1
}

func columnError(format string, args ...any) error {
	return &csv.Error{Kind: "ColumnIdentifierError", Text: fmt.Sprintf(format, args...)}
}

// oneColumn finds a column by its name or number.
func oneColumn(names []string, id string, offset int) (int, error) {
	digits := id != "" && strings.Trim(id, "0123456789") == ""
	if i := slices.Index(names, id); i >= 0 && !digits {
		return i, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(id))
	if err != nil {
		shown := make([]string, len(names))
		for i, s := range names {
			shown[i] = pythonRepr(s)
		}
		return 0, columnError("Column '%s' is invalid. It is neither an integer nor a column name. Column names are: %s", id,
			strings.Join(shown, ", "))
	}
	return columnAt(names, n, offset)
}

func columnAt(names []string, n, offset int) (int, error) {
	i := n - offset
	if i < 0 {
		return 0, columnError("Column %d is invalid. Columns are 1-based.", n)
	}
	if i >= len(names) {
		return 0, columnError("Column %d is invalid. The last column is '%s' at index %d.", n, names[len(names)-1],
			len(names)-1+offset)
	}
	return i, nil
}

func pythonRepr(s string) string {
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		return `"` + strings.ReplaceAll(s, `\`, `\\`) + `"`
	}
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(s) + "'"
}

// columnList resolves a list of names, numbers and ranges; last is where an open range ends.
func (k *csvkitRun) columnList(names []string, list string, offset, last int) (out []int, err error) {
	for id := range strings.SplitSeq(list, ",") {
		i, err := oneColumn(names, id, offset)
		if err == nil {
			out = append(out, i)
			continue
		}
		from, to, ok := strings.Cut(id, ":")
		if !ok {
			from, to, ok = strings.Cut(id, "-")
		}
		if !ok {
			return nil, err
		}
		a, b := 1, last
		var bad error
		if from != "" {
			a, bad = strconv.Atoi(from)
		}
		if to != "" && bad == nil {
			b, bad = strconv.Atoi(to)
		}
		if bad != nil {
			return nil, columnError("Invalid range %%s. Ranges must be two integers separated by a - or : character.")
		}
		for n := a; n <= b; n++ {
			i, err := columnAt(names, n, offset)
			if err != nil {
				return nil, err
			}
			out = append(out, i)
		}
	}
	return out, nil
}

// chosen are the columns of -c without those of -C.
func (k *csvkitRun) chosen(names []string, offset int) (out []int, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	if k.opts["c"] != "" {
		if out, err = k.columnList(names, k.opts["c"], offset, len(names)); err != nil {
			return nil, err
		}
	} else {
		for i := range names {
			out = append(out, i)
		}
	}
	if k.opts["C"] == "" {
		return out, nil
	}
	not, err := k.columnList(names, k.opts["C"], offset, len(names)-1)
	return slices.DeleteFunc(out, func(i int) bool { return slices.Contains(not, i) }), err
}

func csvCut(k *csvkitRun) error {
	if k.has("n") {
		return k.names()
	}
	r, err := k.reader(k.name())
	if err != nil {
		return err
	}
	names, first, err := k.begin(r)
	if errors.Is(err, io.EOF) {
		return k.write(nil)
	}
	if err != nil {
		return err
	}
	columns, err := k.chosen(names, k.offset())
	if err != nil {
		return err
	}
	if err := k.write(pick(names, columns)); err != nil {
		return err
	}
	return k.each(r, first, func(row []string) error {
		cut := pick(row, columns)
		if k.has("x") && !slices.ContainsFunc(cut, func(s string) bool { return s != "" }) {
			return nil
		}
		return k.write(cut)
	})
}

func csvStack(k *csvkitRun) error {
	files := k.args
	if len(files) == 0 {
		files = []string{"-"}
	}
	var groups []string
	grouped := k.has("g") || k.has("filenames")
	if k.has("g") && !k.has("filenames") {
		if groups = strings.Split(k.opts["g"], ","); len(groups) != len(files) {
			return csvUsage("The number of grouping values must be equal to the number of CSV files being stacked.")
		}
	}
	title := k.opts["n"]
	if title == "" {
		title = "group"
	}
	for i, name := range files {
		r, err := k.reader(name)
		if err != nil {
			return err
		}
		group := name[strings.LastIndexByte(name, '/')+1:]
		if name == "-" {
			group = "<stdin>"
		}
		if groups != nil {
			group = groups[i]
		}
		with := func(first string, row []string) []string {
			if grouped {
				return append([]string{first}, row...)
			}
			return row
		}
		names, first, err := k.begin(r)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if k.has("H") && first == nil {
			first = []string{}
		}
		if i == 0 {
			if err := k.write(with(title, names)); err != nil {
				return err
			}
		}
		if err := k.each(r, first, func(row []string) error { return k.write(with(group, row)) }); err != nil {
			return err
		}
	}
	return nil
}

func csvFormat(k *csvkitRun) error {
	if err := k.char("D", "delimiter", &k.out.Delimiter); err != nil {
		return err
	}
	if k.has("T") {
		k.out.Delimiter = '\t'
	}
	if v, ok := k.opts["M"]; ok {
		k.out.End = v
	}
	k.out.Doubled = !k.has("B")
	if err := errors.Join(k.char("Q", "quotechar", &k.out.Quote), k.char("P", "escapechar", &k.out.Escape),
		k.quoting("U", "-U/--out-quoting", &k.out.Quoting)); err != nil {
		return err
	}
	r, err := k.reader(k.name())
	if err != nil {
		return err
	}
	var first []string
	if k.has("H") {
		var names []string
		if names, first, err = k.begin(r); errors.Is(err, io.EOF) {
			return &csv.Error{Kind: "StopIteration", Text: ""}
		}
		if err == nil {
			err = k.write(names)
		}
		if err != nil {
			return err
		}
	}
	return k.each(r, first, k.write)
}

// casts are the options of reading values.
func (k *csvkitRun) casts() csv.Casts {
	c := csv.Casts{Blanks: k.has("blanks")}
	parse := func(key string) func(string) (time.Time, bool) {
		format, ok := k.opts[key]
		if !ok || format == "" {
			return nil
		}
		return func(s string) (time.Time, bool) {
			t, err := timefmt.Parse(s, format)
			return t, err == nil
		}
	}
	c.DateFormat, c.TimeFormat = parse("date-format"), parse("datetime-format")
	return c
}

// table reads a file whole, in the dialect that its beginning looks like, and guesses the types of its columns.
func (k *csvkitRun) table(name string, numbered bool) (*csv.Table, error) {
	limit, err := k.number("y", "-y/--snifflimit", 1024)
	if err != nil {
		return nil, err
	}
	in, err := k.open(name)
	if err != nil {
		return nil, err
	}
	data, err := k.p.ReadAll(in)
	if err != nil {
		return nil, noFile(name, err)
	}
	k.held += cap(data)
	text := strings.ReplaceAll(strings.ReplaceAll(string(data), "\r\n", "\n"), "\r", "\n")
	for range k.skip {
		_, text, _ = strings.Cut(text, "\n")
	}
	d := k.in
	if limit != 0 {
		sample := text
		if runes := []rune(text[:min(len(text), max(4*limit, 0))]); limit > 0 && len(runes) > limit {
			sample = string(runes[:limit])
		} else if limit < 0 {
			sample = text[:min(len(text), 1<<20)]
		}
		if guess, ok := csv.Sniff(sample, k.p.Tick); ok {
			k.p.Tick(len(sample))
			guess.Escape, guess.Quoting = k.in.Escape, k.in.Quoting
			if k.delim {
				guess.Delimiter = k.in.Delimiter
			}
			if k.has("q") {
				guess.Quote = k.in.Quote
			}
			guess.SkipSpace = k.in.SkipSpace
			guess.Doubled = k.in.Doubled
			d = guess
		}
	}
	r := csv.NewReader(strings.NewReader(text), d)
	var names []string
	var rows [][]string
	if err := k.each(r, nil, func(row []string) error {
		if numbered {
			first := "line_numbers"
			if k.count > 0 || k.has("H") {
				first = strconv.Itoa(k.count)
			}
			k.count++
			row = append([]string{first}, row...)
		}
		if names == nil && !k.has("H") {
			names = row
			return nil
		}
		n := 24
		for _, f := range row {
			n += 16 + len(f)
		}
		k.hold(n)
		rows = append(rows, row)
		return nil
	}); err != nil {
		return nil, err
	}
	if k.has("H") {
		widest := 0
		for _, row := range rows {
			widest = max(widest, len(row))
		}
		names = letters(widest)
	} else if names == nil {
		return nil, &csv.Error{Kind: "StopIteration", Text: ""}
	}
	return csv.NewTable(csv.Unique(names), rows, !k.has("I"), k.casts(), k.p.Tick, k.hold)
}

func (k *csvkitRun) writeTable(t *csv.Table) error {
	if err := k.write(t.Names); err != nil {
		return err
	}
	for _, row := range t.Rows {
		k.p.Tick(1 + len(row))
		fields := make([]string, len(row))
		for i, v := range row {
			fields[i] = v.Text
		}
		if err := k.write(fields); err != nil {
			return err
		}
	}
	return nil
}

func csvSort(k *csvkitRun) error {
	if k.has("n") {
		return k.names()
	}
	t, err := k.table(k.name(), false)
	if err != nil {
		return err
	}
	columns, err := k.chosen(t.Names, k.offset())
	if err != nil {
		return err
	}
	slices.SortStableFunc(t.Rows, func(a, b []csv.Value) int {
		k.p.Tick(1)
		for _, c := range columns {
			if d := csv.Compare(t.Types[c], a[c], b[c]); d != 0 {
				if k.has("r") {
					return -d
				}
				return d
			}
		}
		return 0
	})
	return k.writeTable(t)
}

func csvJoin(k *csvkitRun) error {
	files := k.args
	if len(files) == 0 {
		files = []string{"-"}
	}
	var keys []string
	if k.opts["c"] != "" {
		for c := range strings.SplitSeq(k.opts["c"], ",") {
			keys = append(keys, strings.TrimSpace(c))
		}
		if len(keys) == 1 {
			keys = slices.Repeat(keys, len(files))
		}
		if len(keys) != len(files) {
			return csvUsage("The number of join column names must match the number of files, or be a single column name that exists in all files.")
		}
	}
	left, right, outer := k.has("left"), k.has("right"), k.has("outer")
	if (left || right || outer) && keys == nil {
		return csvUsage("You must provide join column names when performing an outer join.")
	}
	if left && right {
		return csvUsage("It is not valid to specify both a left and a right join.")
	}
	var tables []*csv.Table
	for _, f := range files {
		t, err := k.table(f, false)
		if err != nil {
			return err
		}
		tables = append(tables, t)
	}
	at := make([]int, len(tables))
	for i := range keys {
		c, err := oneColumn(tables[i].Names, keys[i], 1)
		if err != nil {
			return err
		}
		at[i] = c
	}
	if right {
		slices.Reverse(tables)
		slices.Reverse(at)
	}
	all := tables[0]
	for i, t := range tables[1:] {
		if keys == nil {
			all = k.join(all, t, -1, -1, false, true)
		} else {
			all = k.join(all, t, at[0], at[i+1], !left && !right && !outer, outer && !left && !right)
		}
	}
	return k.writeTable(all)
}

// join joins two tables on a column each, or row by row without (-1).
func (k *csvkitRun) join(a, b *csv.Table, ka, kb int, inner, full bool) *csv.Table {
	out := &csv.Table{Names: slices.Clone(a.Names), Types: slices.Clone(a.Types)}
	var columns []int
	for i, n := range b.Names {
		if !full && i == kb {
			continue
		}
		columns = append(columns, i)
		if slices.Contains(a.Names, n) {
			n += "2"
		}
		out.Names, out.Types = append(out.Names, n), append(out.Types, b.Types[i])
	}
	out.Names = csv.Unique(out.Names)
	key := func(row []csv.Value, c, n int) string {
		if c < 0 {
			return strconv.Itoa(n)
		}
		return row[c].Key()
	}
	index := map[string][]int{}
	for n, row := range b.Rows {
		k.p.Tick(1)
		s := key(row, kb, n)
		k.hold(32 + len(s))
		index[s] = append(index[s], n)
	}
	add := func(left, right []csv.Value) {
		row := make([]csv.Value, len(a.Names)+len(columns))
		k.p.Tick(len(row))
		k.hold(96 * len(row))
		copy(row, left)
		if right != nil {
			for i, c := range columns {
				row[len(a.Names)+i] = right[c]
			}
		}
		out.Rows = append(out.Rows, row)
	}
	seen := map[string]bool{}
	for n, row := range a.Rows {
		s := key(row, ka, n)
		seen[s] = true
		for _, m := range index[s] {
			add(row, b.Rows[m])
		}
		if len(index[s]) == 0 && !inner {
			add(row, nil)
		}
	}
	if full {
		for n, row := range b.Rows {
			if !seen[key(row, kb, n)] {
				add(nil, row)
			}
		}
	}
	return out
}
