package data

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/lang/jq"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/csv"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
	"github.com/pgbox/pgbox/gateway/vfs"
)

func csvGrep(k *csvkitRun) error {
	if k.has("n") {
		return k.names()
	}
	if k.opts["c"] == "" {
		return csvUsage("You must specify at least one column to search using the -c option.")
	}
	if !k.has("r") && !k.has("m") && !k.has("f") {
		return csvUsage("One of -r, -m or -f must be specified, unless using the -n option.")
	}
	var match func(s string) bool
	switch {
	case k.opts["r"] != "":
		re, err := regex.Compile(k.opts["r"], regex.Options{Perl: true, Tick: k.p.Tick})
		if err != nil {
			return &csv.Error{Kind: "error", Text: err.Error()}
		}
		re.SetTick(k.p.Tick)
		match = func(s string) bool { return re.Match([]byte(s)) }
	case k.has("f"):
		data, err := k.p.ReadFile(k.opts["f"])
		if err != nil {
			e := noFile(k.opts["f"], err).Error()
			return csvUsage("argument -f/--file: can't open '" + k.opts["f"] + "': " + e[strings.Index(e, ": ")+2:])
		}
		lines := map[string]bool{}
		for line := range strings.Lines(string(data)) {
			k.hold(64 + len(line))
			lines[strings.TrimRight(line, " \t\r\n\v\f")] = true
		}
		match = func(s string) bool { return lines[s] }
	case k.opts["m"] != "":
		match = func(s string) bool { return strings.Contains(s, k.opts["m"]) }
	}
	r, err := k.reader(k.name())
	if err != nil {
		return err
	}
	names, first, err := k.begin(r)
	if errors.Is(err, io.EOF) {
		return k.put(nil)
	}
	if err != nil {
		return err
	}
	// The numbers of lines are a column here, which counts.
	offset, numbered := k.offset(), k.has("l")
	delete(k.opts, "l")
	if numbered {
		names = append([]string{"line_numbers"}, names...)
		offset--
	}
	columns, err := k.chosen(names, offset)
	if err != nil {
		return err
	}
	if match == nil {
		columns = nil // an empty text to look for is in every row
	}
	if err := k.put(names); err != nil {
		return err
	}
	any, invert := k.has("a"), k.has("i")
	return k.each(r, first, func(row []string) error {
		k.count++
		if numbered {
			row = append([]string{strconv.Itoa(k.count)}, row...)
		}
		hit := !any
		for _, c := range columns {
			if match(cellAt(row, c)) == any {
				hit = any
				break
			}
		}
		if hit == invert {
			return nil
		}
		return k.put(row)
	})
}

func csvLook(k *csvkitRun) error {
	maxRows, err1 := k.number("max-rows", "--max-rows", math.MaxInt)
	maxColumns, err2 := k.number("max-columns", "--max-columns", math.MaxInt)
	maxWidth, err3 := k.number("max-column-width", "--max-column-width", math.MaxInt)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	t, err := k.table(k.name(), k.has("l"))
	if err != nil {
		return err
	}
	short := func(s string) string {
		if utf8.RuneCountInString(s) > maxWidth {
			return string([]rune(s)[:max(maxWidth-3, 0)]) + "..."
		}
		return s
	}
	columns := min(len(t.Names), max(maxColumns, 0))
	names := make([]string, 0, columns+1)
	for _, n := range t.Names[:columns] {
		names = append(names, short(n))
	}
	if columns < len(t.Names) {
		names = append(names, "...")
	}
	widths := make([]int, len(names))
	for i, n := range names {
		widths[i] = utf8.RuneCountInString(n)
	}
	shown := t.Rows[:min(len(t.Rows), max(maxRows, 0))]
	places := make([]int, columns)
	for _, row := range shown {
		for i := range columns {
			if v := row[i]; v.Num != nil {
				places[i] = max(places[i], decimals(v.Num))
			}
		}
	}
	var cells [][]string
	for _, row := range shown {
		k.p.Tick(4 * len(names))
		line := make([]string, len(names))
		for i := range names {
			switch {
			case i >= columns:
				line[i] = "..."
			case row[i].Num != nil:
				line[i] = grouped(row[i].Num, min(places[i], 3))
				if places[i] > 3 {
					line[i] += "…"
				}
			case row[i].Valid:
				line[i] = row[i].Shown(t.Types[i])
			}
			line[i] = short(line[i])
			widths[i] = max(widths[i], utf8.RuneCountInString(line[i]))
			k.hold(16 + len(line[i]))
		}
		cells = append(cells, line)
	}
	write := func(line []string) {
		for i, s := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(s))
			if t.Types[i] == csv.Text {
				k.p.Out.WriteString("| " + s + pad + " ")
			} else {
				k.p.Out.WriteString("| " + pad + s + " ")
			}
		}
		k.p.Out.WriteString("|\n")
	}
	write(names)
	for _, w := range widths {
		k.p.Out.WriteString("| " + strings.Repeat("-", w) + " ")
	}
	k.p.Out.WriteString("|\n")
	for _, line := range cells {
		k.p.Tick(len(line))
		write(line)
	}
	if len(shown) < len(t.Rows) {
		line := make([]string, len(names))
		for i := range line {
			line[i] = "..."
			widths[i] = max(widths[i], 3)
		}
		write(line)
	}
	return nil
}

// decimals is how many decimal places a number needs.
func decimals(r *big.Rat) int {
	n, _ := r.FloatPrec()
	return n
}

// grouped is a number with groups of thousands, rounded to even.
func grouped(r *big.Rat, places int) string {
	s := roundEven(r, places)
	sign := ""
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		sign, s = "-", rest
	}
	whole, fraction, has := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if has {
		whole += "." + fraction
	}
	return sign + whole
}

func roundEven(r *big.Rat, places int) string {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
	scaled := new(big.Rat).Mul(r, new(big.Rat).SetInt(scale))
	q, rest := new(big.Int).QuoRem(scaled.Num(), scaled.Denom(), new(big.Int))
	twice := rest.Abs(rest).Lsh(rest, 1)
	if c := twice.Cmp(scaled.Denom()); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(int64(r.Sign())))
	}
	return new(big.Rat).SetFrac(q, scale).FloatString(places)
}

// csvNumber is a number as csvstat prints it.
func csvNumber(r *big.Rat) string {
	s := roundEven(r, 3)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// pythonFloat is a number as Python prints a float.
func pythonFloat(f float64) string {
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func csvJSON(k *csvkitRun) error {
	indent := -1
	if k.has("i") {
		n, err := k.number("i", "-i/--indent", 0)
		if err != nil {
			return err
		}
		indent = min(max(n, 0), 1000)
	}
	for _, o := range []string{"lat", "lon", "type", "geometry", "crs"} {
		if k.has(o) {
			return csvUsage("GeoJSON is not supported")
		}
	}
	stream := k.has("stream")
	if stream && k.has("k") {
		return csvUsage("--key is only allowed with --stream when --lat and --lon are also specified.")
	}
	t, err := k.table(k.name(), false)
	if err != nil {
		return err
	}
	key := -1
	if k.opts["k"] != "" {
		if key = slices.Index(t.Names, k.opts["k"]); key < 0 {
			return &csv.Error{Kind: "KeyError", Text: pythonRepr(k.opts["k"])}
		}
	}
	var b []byte
	newline := func(depth int) {
		if indent >= 0 && !stream {
			b = append(b, '\n')
			for range depth * indent {
				b = append(b, ' ')
			}
		}
	}
	separator := func() {
		b = append(b, ',')
		if indent < 0 || stream {
			b = append(b, ' ')
		}
	}
	object := func(row []csv.Value, depth int) {
		k.p.Tick(1 + len(row))
		b = append(b, '{')
		for i, v := range row {
			if i > 0 {
				separator()
			}
			newline(depth + 1)
			b = append(append(pythonJSON(b, t.Names[i]), ": "...), jsonValue(t.Types[i], v)...)
		}
		newline(depth)
		b = append(b, '}')
	}
	flush := func() {
		k.p.Out.Write(b)
		b = b[:0]
	}
	if stream {
		for _, row := range t.Rows {
			object(row, 0)
			b = append(b, '\n')
			flush()
		}
		return nil
	}
	ends := "[]"
	if key >= 0 {
		ends = "{}"
	}
	b = append(b, ends[0])
	seen := map[string]bool{}
	for i, row := range t.Rows {
		if i > 0 {
			separator()
		}
		newline(1)
		if key >= 0 {
			name := row[key].Text
			if !row[key].Valid {
				name = "None"
			}
			if seen[name] {
				return &csv.Error{Kind: "ValueError", Text: "Value " + name + " is not unique in the key column."}
			}
			seen[name] = true
			b = append(pythonJSON(b, name), ": "...)
		}
		object(row, 1)
		if key < 0 {
			flush()
		}
	}
	if len(t.Rows) > 0 {
		newline(0)
	}
	b = append(b, ends[1])
	flush()
	return nil
}

// pythonJSON is a string as Python's json writes it.
func pythonJSON(b []byte, s string) []byte {
	return append(b, bytes.ReplaceAll(jq.Style{}.Append(nil, s), []byte("\\u007f"), []byte("\x7f"))...)
}

func jsonValue(t csv.Type, v csv.Value) []byte {
	switch {
	case !v.Valid:
		return []byte("null")
	case t == csv.Boolean:
		return []byte(strings.ToLower(v.Text))
	case t == csv.Number:
		f, _ := v.Num.Float64()
		return []byte(pythonFloat(f))
	}
	return pythonJSON(nil, v.Text)
}

// csvOperations are the statistics, in order, with their labels.
var csvOperations = []struct{ name, label string }{
	{"type", "Type of data: "}, {"nulls", "Contains null values: "}, {"unique", "Unique values: "},
	{"min", "Smallest value: "}, {"max", "Largest value: "}, {"sum", "Sum: "},
	{"mean", "Mean: "}, {"median", "Median: "}, {"stdev", "StDev: "}, {"len", "Longest value: "},
	{"freq", "Most common values: "},
}

// csvFrequency is a value and how often it is there.
type csvFrequency struct {
	value csv.Value
	count int
}

func csvStat(k *csvkitRun) error {
	if k.has("n") {
		return k.names()
	}
	var only []string
	for _, o := range csvOperations {
		if k.has(o.name) {
			only = append(only, o.name)
		}
	}
	switch {
	case len(only) > 1:
		return csvUsage("Only one operation argument may be specified (--mean, --median, etc).")
	case len(only) > 0 && k.has("csv"):
		return csvUsage("You may not specify --csv and an operation (--mean, --median, etc) at the same time.")
	case len(only) > 0 && k.has("count"):
		return csvUsage("You may not specify --count and an operation (--mean, --median, etc) at the same time.")
	}
	common, err := k.number("freq-count", "--freq-count", 5)
	if err != nil {
		return err
	}
	if common == 0 {
		common = 5
	}
	if k.has("count") {
		r, err := k.reader(k.name())
		if err != nil {
			return err
		}
		n := 0
		if !k.has("H") {
			n--
		}
		err = k.each(r, nil, func([]string) error {
			n++
			return nil
		})
		fmt.Fprintf(k.p.Out, "%d\n", n)
		return err
	}
	t, err := k.table(k.name(), false)
	if err != nil {
		return err
	}
	columns, err := k.chosen(t.Names, k.offset())
	if err != nil {
		return err
	}
	if len(only) > 0 {
		for _, c := range columns {
			s, ok := k.statistics(t, c, common, only)[only[0]]
			if !ok {
				s = "None"
			}
			if len(columns) == 1 {
				k.p.Out.WriteString(s + "\n")
			} else {
				fmt.Fprintf(k.p.Out, "%3d. %s: %s\n", c+1, t.Names[c], s)
			}
		}
		return nil
	}
	var header []string
	for _, o := range csvOperations {
		header = append(header, o.name)
	}
	if k.has("csv") {
		if err := k.put(append([]string{"column_id", "column_name"}, header...)); err != nil {
			return err
		}
	}
	for _, c := range columns {
		stats := k.statistics(t, c, common, header)
		if k.has("csv") {
			row := []string{strconv.Itoa(c + 1), t.Names[c]}
			for _, o := range header {
				if o == "freq" {
					row = append(row, stats["values"])
				} else {
					row = append(row, stats[o])
				}
			}
			if err := k.put(row); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(k.p.Out, "%3d. \"%s\"\n\n", c+1, t.Names[c])
		for _, o := range csvOperations {
			s, ok := stats[o.name]
			switch {
			case !ok:
				continue
			case o.name == "nulls" && s == "True":
				s += " (excluded from calculations)"
			case o.name == "len":
				s += " characters"
			case o.name == "freq":
				label := o.label
				for line := range strings.SplitSeq(stats["lines"], "\x00") {
					fmt.Fprintf(k.p.Out, "\t%-22s %s\n", label, line)
					label = ""
				}
				continue
			}
			fmt.Fprintf(k.p.Out, "\t%-22s %s\n", o.label, s)
		}
		k.p.Out.WriteByte('\n')
	}
	if !k.has("csv") {
		fmt.Fprintf(k.p.Out, "Row count: %d\n", len(t.Rows))
	}
	return nil
}

// statistics are those of a column that make sense for its type. Beside "freq", "values" and "lines" are the frequent
// values in other forms.
func (k *csvkitRun) statistics(t *csv.Table, c, common int, wanted []string) map[string]string {
	s := map[string]string{"type": t.Types[c].String(), "nulls": "False"}
	kind := t.Types[c]
	index := map[string]int{}
	var frequent []csvFrequency
	var valid []csv.Value
	longest := 0
	for _, row := range t.Rows {
		k.p.Tick(2)
		v := row[c]
		key := v.Key()
		if i, ok := index[key]; ok {
			frequent[i].count++
		} else {
			k.hold(96 + len(key))
			index[key] = len(frequent)
			frequent = append(frequent, csvFrequency{v, 1})
		}
		if !v.Valid {
			s["nulls"] = "True"
			continue
		}
		valid = append(valid, v)
		longest = max(longest, utf8.RuneCountInString(v.Text))
	}
	s["unique"] = strconv.Itoa(len(frequent))
	if slices.Contains(wanted, "freq") {
		slices.SortStableFunc(frequent, func(a, b csvFrequency) int {
			k.p.Tick(1)
			return cmp.Compare(b.count, a.count)
		})
		var all, values, lines []string
		for _, f := range frequent[:min(max(common, 0), len(frequent))] {
			text := f.value.Shown(kind)
			shown := text
			if f.value.Num != nil {
				shown = csvNumber(f.value.Num)
			}
			all = append(all, fmt.Sprintf("%q: %d", "\x00", f.count))
			all[len(all)-1] = strings.Replace(all[len(all)-1], `"\x00"`, `"`+text+`"`, 1)
			values, lines = append(values, text), append(lines, fmt.Sprintf("%s (%dx)", shown, f.count))
		}
		s["freq"] = "{ " + strings.Join(all, ", ") + " }"
		s["values"] = strings.Join(values, ", ")
		if s["lines"] = strings.Join(lines, "\x00"); len(lines) == 0 {
			delete(s, "freq")
		}
	}
	if kind == csv.Text {
		s["len"] = strconv.Itoa(longest)
		return s
	}
	if kind == csv.Boolean || len(valid) == 0 {
		return s
	}
	slices.SortFunc(valid, func(a, b csv.Value) int {
		k.p.Tick(1)
		return csv.Compare(kind, a, b)
	})
	text := func(v csv.Value) string {
		if v.Num != nil {
			return csvNumber(v.Num)
		}
		return v.Shown(kind)
	}
	s["min"], s["max"] = text(valid[0]), text(valid[len(valid)-1])
	switch kind {
	case csv.Number:
		sum := new(big.Rat)
		for _, v := range valid {
			k.p.Tick(4)
			sum.Add(sum, v.Num)
		}
		n := new(big.Rat).SetInt64(int64(len(valid)))
		mean := new(big.Rat).Quo(sum, n)
		half := len(valid) / 2
		median := valid[half].Num
		if len(valid)%2 == 0 {
			median = new(big.Rat).Add(valid[half-1].Num, valid[half].Num)
			median.Quo(median, big.NewRat(2, 1))
		}
		s["sum"], s["mean"], s["median"] = csvNumber(sum), csvNumber(mean), csvNumber(median)
		if len(valid) > 1 {
			center, _ := mean.Float64()
			squares := 0.0
			for _, v := range valid {
				f, _ := v.Num.Float64()
				squares += (f - center) * (f - center)
			}
			if r := new(big.Rat).SetFloat64(math.Sqrt(squares / float64(len(valid)-1))); r != nil {
				s["stdev"] = csvNumber(r)
			}
		}
	case csv.TimeDelta:
		sum := 0.0
		for _, v := range valid {
			sum += v.Span
		}
		s["sum"] = csv.SpanText(sum)
	}
	return s
}

// badRow is a row of another length than the header.
type badRow struct {
	line int
	text string
	row  []string
}

func csvClean(k *csvkitRun) error {
	r, err := k.reader(k.name())
	if err != nil {
		return err
	}
	names, err := k.next(r)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var clean bytes.Buffer
	out := func(row []string) (err error) {
		if k.has("n") {
			return nil
		}
		if k.has("l") {
			first := "line_number"
			if k.rows > 0 {
				first = strconv.Itoa(k.rows)
			}
			row = append([]string{first}, row...)
		}
		k.rows++
		if k.text, err = k.out.Append(k.text[:0], row); err == nil {
			k.hold(len(k.text))
			clean.Write(k.text)
		}
		return err
	}
	if err := out(names); err != nil {
		return err
	}
	var bad []*badRow
	var joinable []*badRow
	joined, joins := 0, 0
	line := r.Line()
	if err := k.each(r, nil, func(row []string) error {
		at := line
		line = r.Line()
		if len(row) == len(names) {
			joinable = nil
			return out(row)
		}
		b := &badRow{at, fmt.Sprintf("Expected %d columns, found %d columns", len(names), len(row)), row}
		k.hold(96 + 16*len(row))
		bad = append(bad, b)
		if len(row) > len(names) {
			joinable = nil
			return nil
		}
		for joinable = append(joinable, b); len(joinable) > 0; joinable = joinable[1:] {
			k.p.Tick(len(joinable))
			fixed := joinRows(joinable)
			if len(fixed) < len(names) {
				break
			}
			if len(fixed) > len(names) {
				continue
			}
			joined, joins = joined+len(joinable), joins+1
			if err := out(fixed); err != nil {
				return err
			}
			// csvkit takes rows off the list that it walks along, and so leaves every other one.
			for i := 0; i < len(joinable); i++ {
				fixed := joinable[i]
				joinable = slices.Delete(joinable, i, i+1)
				bad = slices.DeleteFunc(bad, func(x *badRow) bool { return x == fixed })
			}
			break
		}
		return nil
	}); err != nil {
		return err
	}
	p := k.p
	if k.has("n") {
		for _, b := range bad {
			fmt.Fprintf(p.Out, "Line %d: %s\n", b.line, b.text)
		}
		if len(bad) == 0 {
			p.Out.WriteString("No errors.\n")
		}
		if joins > 0 {
			fmt.Fprintf(p.Out,
				"%d rows would have been joined/reduced to %d rows after eliminating expected internal line breaks.\n", joined,
				joins)
		}
		return nil
	}
	base := "stdin"
	if n := k.name(); n != "-" {
		base = n
		if dot := strings.LastIndexByte(n, '.'); dot > strings.LastIndexByte(n, '/')+1 {
			base = n[:dot]
		}
	}
	save := func(name string, data []byte) error {
		f, err := p.Open(name, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
		if err == nil {
			_, err = f.Write(data)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return noFile(name, err)
		}
		return nil
	}
	if err := save(base+"_out.csv", clean.Bytes()); err != nil {
		return err
	}
	if len(bad) > 0 {
		text, err := k.out.Append(nil, append([]string{"line_number", "msg"}, names...))
		for _, b := range bad {
			if err == nil {
				text, err = k.out.Append(text, append([]string{strconv.Itoa(b.line), b.text}, b.row...))
			}
		}
		if err != nil {
			return err
		}
		if err := save(base+"_err.csv", text); err != nil {
			return err
		}
		s := "s"
		if len(bad) == 1 {
			s = ""
		}
		fmt.Fprintf(p.Out, "%d error%s logged to %s\n", len(bad), s, base+"_err.csv")
	} else {
		p.Out.WriteString("No errors.\n")
	}
	if joins > 0 {
		fmt.Fprintf(p.Out, "%d rows were joined/reduced to %d rows after eliminating expected internal line breaks.\n",
			joined, joins)
	}
	return nil
}

// joinRows makes one row of several: the last field of one and the first of the next are one.
func joinRows(rows []*badRow) []string {
	out := slices.Clone(rows[0].row)
	for _, r := range rows[1:] {
		row := r.row
		if len(row) == 0 {
			row = []string{""}
		}
		if len(out) == 0 {
			out = []string{""}
		}
		out[len(out)-1] += " " + row[0]
		out = append(out, row[1:]...)
	}
	return out
}

func in2csv(k *csvkitRun) error {
	format := k.opts["f"]
	known := []string{"csv", "dbf", "fixed", "geojson", "json", "ndjson", "xls", "xlsx"}
	if k.has("f") && !slices.Contains(known, format) {
		return csvUsage("argument -f/--format: invalid choice: '" + format + "' (choose from '" +
			strings.Join(known, "', '") + "')")
	}
	switch name := k.name(); {
	case format != "":
	case k.has("s"):
		format = "fixed"
	case k.opts["k"] != "":
		format = "json"
	case name == "-":
		return csvUsage("You must specify a format when providing input as piped data via STDIN.")
	default:
		switch name[strings.LastIndexByte(name, '.')+1:] {
		case "csv", "dbf", "fixed", "xls", "xlsx":
			format = name[strings.LastIndexByte(name, '.')+1:]
		case "json", "js":
			format = "json"
		default:
			return csvUsage("Unable to automatically determine the format of the input file. Try specifying a format with --format.")
		}
	}
	if k.has("n") && format != "xls" && format != "xlsx" {
		return csvUsage("You cannot use the -n or --names options with non-Excel files.")
	}
	switch format {
	case "csv":
		t, err := k.table(k.name(), false)
		if err != nil {
			return err
		}
		return k.writeTable(t)
	case "json", "ndjson":
		return k.fromJSON(format == "ndjson")
	case "fixed":
		return k.fromFixed()
	}
	return &csv.Error{Kind: "ValueError", Text: "the format " + format + " is not supported"}
}

// fromJSON makes a table of objects, or of arrays; what is nested becomes columns named by its path.
func (k *csvkitRun) fromJSON(lines bool) error {
	in, err := k.open(k.name())
	if err != nil {
		return err
	}
	d := jq.NewDecoder(in, k.p.Tick, k.hold)
	var list []any
	for {
		v, err := d.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return &csv.Error{Kind: "JSONDecodeError", Text: err.Error()}
		}
		list = append(list, v)
		if !lines {
			break
		}
	}
	if !lines {
		if len(list) == 0 {
			return &csv.Error{Kind: "JSONDecodeError", Text: "Expecting value: line 1 column 1 (char 0)"}
		}
		top := list[0]
		if o, ok := top.(*jq.Object); ok {
			if k.opts["k"] == "" {
				return &csv.Error{Kind: "TypeError",
					Text: "When converting a JSON document with a top-level dictionary element, a key must be specified."}
			}
			if top, ok = o.Get(k.opts["k"]); !ok {
				return &csv.Error{Kind: "KeyError", Text: pythonRepr(k.opts["k"])}
			}
		}
		a, ok := top.(*jq.Array)
		if !ok {
			return &csv.Error{Kind: "TypeError", Text: "the document is no list of objects"}
		}
		list = a.Values()
	}
	var names []string
	index := map[string]int{}
	rows := make([][]string, len(list))
	for n, v := range list {
		var put func(path string, v any)
		put = func(path string, v any) {
			k.p.Tick(1)
			switch v := v.(type) {
			case *jq.Object:
				for key, x := range v.All() {
					put(path+key+"/", x)
				}
				return
			case *jq.Array:
				for i, x := range v.Values() {
					put(path+strconv.Itoa(i)+"/", x)
				}
				return
			}
			name := strings.Trim(path, "/")
			at, ok := index[name]
			if !ok {
				at = len(names)
				index[name], names = at, append(names, name)
			}
			for len(rows[n]) <= at {
				k.hold(16)
				rows[n] = append(rows[n], "")
			}
			rows[n][at] = jsonField(v)
		}
		put("", v)
	}
	t, err := csv.NewTable(names, rows, !k.has("I"), k.casts(), k.p.Tick, k.hold)
	if err != nil {
		return err
	}
	return k.writeTable(t)
}

func jsonField(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "True"
		}
		return "False"
	}
	return string(jq.Style{}.Append(nil, v))
}

// fromFixed cuts lines at the columns of a schema: column,start,length.
func (k *csvkitRun) fromFixed() error {
	if k.opts["s"] == "" {
		return &csv.Error{Kind: "ValueError", Text: `schema must not be null when format is "fixed"`}
	}
	type field struct {
		name          string
		start, length int
	}
	var fields []field
	in, err := k.open(k.opts["s"])
	if err != nil {
		return err
	}
	r := csv.NewReader(in, csv.Excel())
	head, err := k.next(r)
	if err != nil {
		return &csv.Error{Kind: "ValueError", Text: "A column named \"column\" must exist in the schema file."}
	}
	at := map[string]int{}
	for _, n := range []string{"column", "start", "length"} {
		i := slices.Index(head, n)
		if i < 0 {
			return &csv.Error{Kind: "ValueError", Text: "A column named \"" + n + "\" must exist in the schema file."}
		}
		at[n] = i
	}
	if err := k.each(r, nil, func(row []string) error {
		start, err1 := strconv.Atoi(cellAt(row, at["start"]))
		length, err2 := strconv.Atoi(cellAt(row, at["length"]))
		if err1 != nil || err2 != nil || start < 0 || length < 0 {
			return &csv.Error{Kind: "ValueError", Text: "Error reading schema at line " + strconv.Itoa(len(fields)+2)}
		}
		fields = append(fields, field{cellAt(row, at["column"]), start, length})
		return nil
	}); err != nil {
		return err
	}
	if len(fields) > 0 && !slices.ContainsFunc(fields, func(f field) bool { return f.start == 0 }) &&
		slices.MinFunc(fields, func(a, b field) int { return a.start - b.start }).start == 1 {
		for i := range fields {
			fields[i].start--
		}
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	if err := k.write(names); err != nil {
		return err
	}
	if in, err = k.open(k.name()); err != nil {
		return err
	}
	l := program.NewLineReader(k.p, in, '\n')
	defer l.Close()
	for n := 0; ; n++ {
		raw, ok := l.Next()
		if !ok {
			return l.Err
		}
		if n < k.skip {
			continue
		}
		line := []rune(string(program.Chomp(raw, '\n')))
		row := make([]string, len(fields))
		for i, f := range fields {
			start := min(f.start, len(line))
			row[i] = strings.TrimSpace(string(line[start:min(start+f.length, len(line))]))
		}
		if err := k.write(row); err != nil {
			return err
		}
	}
}
