package text

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var prSpec = getopt.New("0123456789abcdD:e::fFh:i::Jl:mn::N:o:rs::S::tTvw:W:",
	"pages: columns: across=a show-control-chars=c double-space=d date-format:=D expand-tabs::=e form-feed=F header:=h output-tabs::=i join-lines=J length:=l "+
		"merge=m number-lines::=n first-line-number:=N indent:=o no-file-warnings=r separator::=s sep-string::=S omit-header=t omit-pagination=T show-nonprinting=v width:=w page-width:=W").
	WithUsage("[OPTION]... [FILE]...", "Paginate or columnate FILE(s) for printing.")

// prMargin is the lines that header and footer take.
const prMargin = 10

type prRun struct {
	p                                         *proc.Process
	columns                                   int
	across, merge, caret, octal, double       bool
	join, noHeader, keepFeed, formFeed, quiet bool
	aligned, truncate                         bool
	dateFormat, title                         string
	hasTitle                                  bool
	first, last                               int
	length, width, body, margin               int
	inTab                                     byte
	inTabWidth                                int
	expand, tabify                            bool
	outTab                                    byte
	outTabWidth                               int
	number                                    bool
	numberSep                                 byte
	numberWidth, nextNumber                   int
	sep                                       string
	column                                    int // width of one
	status                                    int

	page     int
	pos      int // column of the output
	spaces   int // not yet written
	out      []byte
	date     string
	name     string
	shown    bool // the page at work is printed
	rowsLeft int
}

func pr(_ context.Context, p *proc.Process) int {
	// +FIRST[:LAST] may stand anywhere.
	r := &prRun{p: p, columns: 1, first: 1, last: math.MaxInt, length: 66, width: 72, inTab: '\t', inTabWidth: 8,
		outTab: '\t', outTabWidth: 8,
		numberSep: '\t', numberWidth: 5, nextNumber: 1, dateFormat: "%Y-%m-%d %H:%M", aligned: true}
	if _, ok := p.Env.Get("POSIXLY_CORRECT"); ok {
		r.dateFormat = "%b %e %H:%M %Y"
	}
	files, widthSet, pageWidthSet, separated := r.options()
	if r.across && r.merge {
		p.Errorf("cannot specify both printing across and printing in parallel")
		return 1
	}
	if r.merge {
		r.columns = max(len(files), 1)
	}
	r.layout(widthSet, pageWidthSet, separated)
	if r.merge {
		r.mergeFiles(files)
		return r.status
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, f := range files {
		r.file(f)
	}
	return r.status
}

func (r *prRun) options() (files []string, widthSet, pageWidthSet, separated bool) {
	p := r.p
	fail := func(format string, args ...any) {
		p.Errorf(format, args...)
		p.Exit(1)
	}
	number := func(v, what string, low int) int {
		n, err := strconv.ParseInt(v, 10, 32)
		switch {
		case errors.Is(err, strconv.ErrRange):
			fail("'%s: %s: Value too large for defined data type", what, program.Quote(v))
		case err != nil:
			fail("'%s: %s", what, program.Quote(v))
		case int(n) < low:
			fail("'%s: %s: Numerical result out of range", what, program.Quote(v))
		}
		return int(n)
	}
	// charAndNumber is the argument of -e, -i and -n: a character, a number, or both.
	charAndNumber := func(o getopt.Option, char *byte, n *int) {
		v := o.Value
		if v != "" && !program.IsDigit(v[0]) {
			*char, v = v[0], v[1:]
		}
		if v != "" {
			k, err := strconv.Atoi(v)
			if err != nil || k <= 0 {
				p.Errorf("'-%s' extra characters or invalid number in the argument: %s", o.Key, program.Quote(v))
				prSpec.Hint(p)
			}
			*n = min(k, 1<<16)
		}
	}
	pages := func(v string) bool {
		a, b, has := strings.Cut(v, ":")
		first, err := strconv.Atoi(a)
		if err != nil || first < 1 {
			return false
		}
		last := math.MaxInt
		if has {
			if last, err = strconv.Atoi(b); err != nil || last < first {
				return false
			}
		}
		r.first, r.last = first, last
		return true
	}
	opts, args := prSpec.Parse(p)
	digits := ""
	for _, o := range opts {
		if program.IsDigit(o.Key[0]) {
			digits += o.Key
			continue
		}
		switch o.Key {
		case "pages":
			if !pages(o.Value) {
				fail("invalid --pages argument '%s'", o.Value)
			}
		case "columns":
			digits = strconv.Itoa(number(o.Value, "--columns=COLUMN' invalid number of columns", 1))
		case "a":
			r.across = true
		case "c":
			r.caret = true
		case "d":
			r.double = true
		case "D":
			r.dateFormat = o.Value
		case "e":
			charAndNumber(o, &r.inTab, &r.inTabWidth)
			r.expand = true
		case "f", "F":
			r.formFeed = true
		case "h":
			r.title, r.hasTitle = o.Value, true
		case "i":
			charAndNumber(o, &r.outTab, &r.outTabWidth)
			r.tabify = true
		case "J":
			r.join = true
		case "l":
			r.length = number(o.Value, "-l PAGE_LENGTH' invalid number of lines", 1)
		case "m":
			r.merge = true
		case "n":
			charAndNumber(o, &r.numberSep, &r.numberWidth)
			r.number = true
		case "N":
			r.nextNumber = number(o.Value, "-N NUMBER' invalid starting line number", math.MinInt32)
		case "o":
			r.margin = number(o.Value, "-o MARGIN' invalid line offset", 0)
		case "r":
			r.quiet = true
		case "s":
			separated = true
			r.sep = "\t"
			if o.Has && o.Value != "" {
				r.sep = o.Value
			}
		case "S":
			r.sep = o.Value
			if o.Value == "" {
				r.sep = ""
				separated = true
			}
		case "t":
			r.noHeader, r.keepFeed = true, true
		case "T":
			r.noHeader, r.keepFeed = true, false
		case "v":
			r.octal = true
		case "w":
			r.width, widthSet = number(o.Value, "-w PAGE_WIDTH' invalid number of characters", 1), true
		case "W":
			r.width, pageWidthSet = number(o.Value, "-W PAGE_WIDTH' invalid number of characters", 1), true
		}
	}
	if digits != "" {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 {
			fail("invalid number of columns: %s", program.Quote(digits))
		}
		if r.merge {
			fail("cannot specify number of columns when printing in parallel")
		}
		r.columns = n
	}
	for _, a := range args {
		if r.first == 1 && r.last == math.MaxInt && len(a) > 1 && a[0] == '+' && program.IsDigit(a[1]) && pages(a[1:]) {
			continue
		}
		files = append(files, a)
	}
	return files, widthSet, pageWidthSet, separated
}

func (r *prRun) layout(widthSet, pageWidthSet, separated bool) {
	if r.length <= prMargin {
		r.noHeader = true
	}
	r.body = r.length
	if !r.noHeader {
		r.body -= prMargin
	}
	if r.double {
		r.body = max(r.body/2, 1)
	}
	many := r.columns > 1
	if many {
		r.expand, r.tabify = true, true
	}
	switch {
	case r.join:
		r.aligned = false
		if r.sep == "" {
			r.sep = "\t"
		}
	case separated:
		r.aligned = widthSet || pageWidthSet
	}
	if r.sep == "" && !separated {
		r.sep = " "
	}
	r.truncate = many && r.aligned || pageWidthSet && !r.join
	used := 0
	if r.number && r.merge {
		used = r.numberTotal()
	}
	r.column = (r.width - used - (r.columns-1)*utf8.RuneCountInString(r.sep)) / r.columns
	if r.column < 1 || many && r.number && !r.merge && r.column <= r.numberTotal() && r.aligned {
		r.p.Errorf("page width too narrow")
		r.p.Exit(1)
	}
}

// numberTotal is the width of a line number with what follows it.
func (r *prRun) numberTotal() int {
	if r.numberSep == '\t' {
		return r.numberWidth + 8 - r.numberWidth%8
	}
	return r.numberWidth + 1
}

func (r *prRun) fail(name string, err error) {
	r.status = 1
	if !r.quiet {
		r.p.Errorf("%s: %s", program.QuoteColon(name), proc.Strerror(err))
	}
}

// prSource is an input and the page breaks in it.
type prSource struct {
	lines *program.LineReader
	close func() error
	name  string
	rest  []byte // of a line with a form feed in it
	has   bool
	ended bool
	pause bool // at a form feed: nothing more on this page
}

func (r *prRun) open(name string) (*prSource, bool) {
	if program.IsDir(r.p, name) {
		r.fail(name, vfs.EISDIR)
		return nil, false
	}
	in, err := r.p.OpenInput(name)
	if err != nil {
		r.fail(name, err)
		return nil, false
	}
	return &prSource{lines: program.NewLineReader(r.p, in, '\n'), close: in.Close, name: name}, true
}

func (s *prSource) done() {
	s.lines.Close()
	_ = s.close()
}

// next is the next line of the page.
func (s *prSource) next() ([]byte, bool) {
	if s.pause || s.ended {
		return nil, false
	}
	line := s.rest
	if !s.has {
		raw, ok := s.lines.Next()
		if !ok {
			s.ended = true
			return nil, false
		}
		line = program.Chomp(raw, '\n')
	}
	s.has = false
	for i, c := range line {
		if c != '\f' {
			continue
		}
		s.pause = true
		s.rest, s.has = append([]byte(nil), line[i+1:]...), i+1 < len(line)
		if i == 0 {
			return nil, false
		}
		return line[:i], true
	}
	return line, true
}

// more reports whether there is anything for another page.
func (s *prSource) more() bool {
	s.pause = false
	if s.has {
		return true
	}
	if s.ended {
		return false
	}
	raw, ok := s.lines.Next()
	if !ok {
		s.ended = true
		return false
	}
	s.rest, s.has = append(s.rest[:0], program.Chomp(raw, '\n')...), true
	return true
}

func (r *prRun) stamp(name string) string {
	t := program.LocalNow(r.p)
	if name != "-" && name != "" {
		if st, err := r.p.Stat(name); err == nil {
			t = time.Unix(0, st.Mtime).In(t.Location())
		}
	}
	text := datetime.Counted(r.p, r.dateFormat, t)
	r.p.Release(len(text))
	return text
}

func (r *prRun) file(name string) {
	s, ok := r.open(name)
	if !ok {
		return
	}
	defer s.done()
	r.name = name
	if name == "-" {
		r.name = ""
	}
	r.date, r.page = r.stamp(name), 0
	for s.more() {
		r.startPage()
		if r.page > r.last {
			break
		}
		switch {
		case r.columns == 1:
			for r.rowsLeft > 0 {
				line, ok := s.next()
				if !ok {
					break
				}
				r.row([][]byte{line})
			}
		case r.across:
			r.acrossPage(s)
		default:
			r.downPage(s)
		}
		r.endPage(s.pause)
	}
	r.pageCount()
	if err := s.lines.Err; err != nil {
		r.fail(name, err)
	}
}

func (r *prRun) pageCount() {
	if r.page < r.first && r.first > 1 {
		r.p.Errorf("starting page number %d exceeds page count %d", r.first, r.page)
	}
}

func (r *prRun) acrossPage(s *prSource) {
	for r.rowsLeft > 0 {
		var cells [][]byte
		for range r.columns {
			line, ok := s.next()
			if !ok {
				break
			}
			cells = append(cells, append([]byte{}, line...))
		}
		if len(cells) == 0 {
			return
		}
		r.row(cells)
	}
}

// downPage fills the columns one after the other; on a page that is not full they are of equal length.
func (r *prRun) downPage(s *prSource) {
	var lines [][]byte
	for len(lines) < r.body*r.columns {
		line, ok := s.next()
		if !ok {
			break
		}
		r.p.Hold(len(line) + 24)
		lines = append(lines, append([]byte{}, line...))
	}
	for _, l := range lines {
		defer r.p.Release(len(l) + 24)
	}
	starts := make([]int, r.columns+1)
	for i := range r.columns {
		n := len(lines) / r.columns
		if i < len(lines)%r.columns {
			n++
		}
		starts[i+1] = starts[i] + n
	}
	numbers := r.nextNumber
	for row := range starts[1] {
		var cells [][]byte
		var at []int
		for i := range r.columns {
			if k := starts[i] + row; k < starts[i+1] {
				cells = append(cells, lines[k])
				at = append(at, numbers+k)
			}
		}
		r.numberedRow(cells, at)
	}
	r.nextNumber = numbers + len(lines)
}

func (r *prRun) mergeFiles(names []string) {
	var sources []*prSource
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, n := range names {
		if s, ok := r.open(n); ok {
			defer s.done()
			sources = append(sources, s)
		}
	}
	r.date = r.stamp("")
	for {
		any := false
		for _, s := range sources {
			any = s.more() || any
		}
		if !any {
			break
		}
		r.startPage()
		if r.page > r.last {
			break
		}
		for r.rowsLeft > 0 {
			cells, found := make([][]byte, len(sources)), false
			for i, s := range sources {
				if line, ok := s.next(); ok {
					cells[i], found = append([]byte{}, line...), true
				}
			}
			if !found {
				break
			}
			r.row(cells)
		}
		r.endPage(false)
	}
	r.pageCount()
}

func (r *prRun) startPage() {
	r.page++
	r.rowsLeft = r.body
	r.shown = r.page >= r.first && r.page <= r.last
	if r.noHeader || !r.shown {
		return
	}
	title := r.name
	if r.hasTitle {
		title = r.title
	}
	page := fmt.Sprintf("Page %d", r.page)
	gap := max(r.width-runewidth.StringWidth(r.date)-len(page)-runewidth.StringWidth(title), 0)
	fmt.Fprintf(r.p.Out, "\n\n%s%s%s%s%s%s\n\n\n", strings.Repeat(" ", r.margin), r.date,
		strings.Repeat(" ", max(gap/2, 1)), title, strings.Repeat(" ", max(gap-gap/2, 1)), page)
}

func (r *prRun) endPage(feed bool) {
	switch {
	case !r.shown:
	case r.noHeader:
		// With -t a page ends where its lines end, and a form feed stays one.
		if feed && r.keepFeed {
			r.p.Out.WriteByte('\f')
		}
	case r.formFeed:
		r.p.Out.WriteByte('\f')
	default:
		n := r.rowsLeft
		if r.double {
			n *= 2
		}
		r.p.Out.WriteString(strings.Repeat("\n", n+prMargin/2))
	}
}

// row writes one line of a page.
func (r *prRun) row(cells [][]byte) {
	at := make([]int, len(cells))
	for i := range cells {
		at[i] = r.nextNumber
		if !r.merge || i == len(cells)-1 {
			r.nextNumber++
		}
	}
	r.numberedRow(cells, at)
}

func (r *prRun) numberedRow(cells [][]byte, at []int) {
	r.rowsLeft--
	r.p.Tick(1)
	if !r.shown {
		return
	}
	r.out, r.pos, r.spaces = r.out[:0], 0, r.margin
	if r.number && r.merge {
		r.lineNumber(at[0])
	}
	start := r.margin
	if r.number && r.merge {
		start += r.numberTotal()
	}
	for i, cell := range cells {
		if i > 0 {
			start += r.column + utf8.RuneCountInString(r.sep)
		}
		if i > 0 {
			if r.aligned {
				if want := start - utf8.RuneCountInString(r.sep); want > r.pos+r.spaces {
					r.spaces = want - r.pos
				}
			}
			for _, c := range r.sep {
				r.put(c)
			}
			r.white() // not with the blanks that follow
		}
		if r.number && !r.merge {
			r.lineNumber(at[i])
		}
		r.cell(cell)
	}
	r.p.Out.Write(append(r.out, '\n'))
	if r.double {
		r.p.Out.WriteByte('\n')
	}
}

// put writes a character; blanks wait until something follows them.
func (r *prRun) put(c rune) {
	if c == ' ' && r.tabify {
		r.spaces++
		return
	}
	r.white()
	r.out = utf8.AppendRune(r.out, c)
	if c == '\t' {
		r.pos += 8 - r.pos%8
	} else {
		r.pos++
	}
}

// white writes the blanks that wait, as tabs where they reach a stop.
func (r *prRun) white() {
	goal := r.pos + r.spaces
	r.spaces = 0
	if r.tabify {
		for goal-r.pos > 1 {
			next := r.pos + r.outTabWidth - r.pos%r.outTabWidth
			if next > goal {
				break
			}
			r.out = append(r.out, r.outTab)
			r.pos = next
		}
	}
	for ; r.pos < goal; r.pos++ {
		r.out = append(r.out, ' ')
	}
}

func (r *prRun) lineNumber(n int) {
	text := strconv.Itoa(n)
	if len(text) > r.numberWidth {
		text = text[len(text)-r.numberWidth:]
	}
	r.spaces += r.numberWidth - len(text)
	for _, c := range text {
		r.put(c)
	}
	if r.columns > 1 && r.numberSep == '\t' {
		r.spaces += r.numberTotal() - r.numberWidth
		return
	}
	r.put(rune(r.numberSep))
}

// cell writes the text of a column, cut off at its width.
func (r *prRun) cell(b []byte) {
	room, used := math.MaxInt, 0
	if r.truncate {
		room = r.column
		if r.number && !r.merge {
			room -= r.numberTotal()
		}
	}
	emit := func(s string) bool {
		n := len(s)
		if used+n > room {
			return false
		}
		used += n
		for i := range len(s) {
			r.raw(s[i])
		}
		return true
	}
	for _, c := range b {
		var s string
		switch {
		case c == r.inTab && r.expand:
			n := r.inTabWidth - used%r.inTabWidth
			if used+n > room {
				n = room - used
			}
			used += n
			for range n {
				r.raw(' ')
			}
			continue
		case c == '\t' || c == '\b' || c >= ' ' && c < 127 || c >= 128 && !r.octal && !r.caret:
			s = string([]byte{c})
		case r.octal || r.caret && c >= 128:
			s = fmt.Sprintf("\\%03o", c)
		case r.caret && c < 128:
			s = "^" + string(rune(c^64))
		default:
			s = string([]byte{c})
		}
		if !emit(s) {
			return
		}
	}
}

// raw is put for a byte of the input.
func (r *prRun) raw(c byte) {
	if c == ' ' && r.tabify {
		r.spaces++
		return
	}
	r.white()
	r.out = append(r.out, c)
	r.pos++
}
