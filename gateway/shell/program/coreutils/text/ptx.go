package text

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var ptxSpec = getopt.New("AF:GM:ORS:TW:b:fg:i:o:rtw:",
	"auto-reference=A break-file:=b flag-truncation:=F ignore-case=f gap-size:=g ignore-file:=i macro-name:=M only-file:=o references=r "+
		"right-side-refs=R format: sentence-regexp:=S traditional=G typeset-mode=t width:=w word-regexp:=W").
	WithUsage("[OPTION]... [INPUT]...", "Output a permuted index, including context, of the words in the input files.")

const (
	ptxPlain = ""
	ptxRoff  = "roff"
	ptxTex   = "tex"
)

// ptxText is one input file; lines counts those of the files before it, too.
type ptxText struct {
	name  string
	data  []byte
	lines int
}

// ptxOccurrence is a keyword: bytes start to end of a text, and the bounds of the sentence or line it is in.
type ptxOccurrence struct {
	text                     *ptxText
	index                    int
	start, end               int
	contextStart, contextEnd int
	reference                int // a line number with -A, where the line begins with -r
}

// ptxField is a part of an output line; cut says that it has to be flagged as truncated.
type ptxField struct {
	b   []byte
	cut bool
}

type ptxRun struct {
	p                                  *proc.Process
	gnu, auto, refs, right, fold       bool
	format, macro, flag, sentence      string
	gap, width                         int
	context, word                      *regex.Regexp
	letters                            [256]bool
	ignore, only                       []string
	hasOnly                            bool
	texts                              []*ptxText
	found                              []ptxOccurrence
	longest, refWidth, half            int
	beforeWidth, afterWidth, lineCount int
}

func ptx(_ context.Context, p *proc.Process) int {
	opts, args := ptxSpec.Parse(p)
	r := &ptxRun{p: p, gnu: true, macro: "xx", flag: "/", gap: 3, width: 72}
	var sentence, word *string
	var breakFile, ignoreFile, onlyFile string
	for _, o := range opts {
		switch o.Key {
		case "A":
			r.auto = true
		case "F":
			r.flag = ptxUnescape(o.Value)
		case "G":
			r.gnu = false
		case "M":
			r.macro = o.Value
		case "O":
			r.format = ptxRoff
		case "R":
			r.right = true
		case "S":
			sentence = &o.Value
		case "T":
			r.format = ptxTex
		case "W":
			word = &o.Value
		case "b":
			breakFile = o.Value
		case "f":
			r.fold = true
		case "g":
			r.gap = ptxNumber(p, "gap", o.Value)
		case "i":
			ignoreFile = o.Value
		case "o":
			onlyFile = o.Value
		case "r":
			r.refs = true
		case "w":
			r.width = ptxNumber(p, "line", o.Value)
		case "format":
			r.format = program.Choose(p, ptxSpec, "format", o.Value, ptxRoff, ptxTex)
		}
	}
	if !r.gnu && r.format == ptxPlain {
		r.format = ptxRoff
	}
	output := ""
	if !r.gnu && len(args) > 1 {
		if len(args) > 2 {
			ptxSpec.Fail(p, "extra operand %s", program.Quote(args[2]))
		}
		args, output = args[:1], args[1]
	}
	r.expressions(sentence, word)
	r.wordLetters(breakFile)
	if ignoreFile != "" {
		r.ignore = r.table(ignoreFile)
	}
	if onlyFile != "" {
		r.only, r.hasOnly = r.table(onlyFile), true
	}
	if len(args) == 0 {
		args = []string{"-"}
	}
	for _, name := range args {
		t := &ptxText{name: name, data: r.read(name)}
		if name == "-" {
			t.name = ""
		}
		r.texts = append(r.texts, t)
	}
	for i, t := range r.texts {
		r.find(i, t)
		r.lineCount++
		t.lines = r.lineCount
	}
	p.Tick(len(r.found))
	slices.SortStableFunc(r.found, func(a, b ptxOccurrence) int {
		p.Tick(1)
		return r.compare(a.text.data[a.start:a.end], b.text.data[b.start:b.end])
	})
	if output != "" {
		f, err := p.Open(output, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
		if err != nil {
			p.Errorf("%s: %s", program.QuoteColon(output), proc.Strerror(err))
			return 1
		}
		defer f.Close()
		p.Out = proc.NewWriter(f, p)
		defer p.Out.Flush()
	}
	r.widths()
	for i := range r.found {
		r.write(&r.found[i])
	}
	return 0
}

func ptxNumber(p *proc.Process, what, s string) int {
	n, err := strconv.Atoi(strings.TrimLeft(s, " \t+"))
	if err != nil || n <= 0 || n > 1<<30 {
		p.Errorf("invalid %s width: %s", what, program.Quote(s))
		p.Exit(1)
	}
	return n
}

// ptxUnescape resolves C's escapes in an option's value.
func ptxUnescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if k := strings.IndexByte("abfnrtv", s[i]); k >= 0 {
			b.WriteByte("\a\b\f\n\r\t\v"[k])
			continue
		}
		digits, base, most := i+1, 8, 3
		switch s[i] {
		case 'c':
			return b.String()
		case 'x':
			base = 16
		case '0':
		default:
			b.WriteString(s[i-1 : i+1])
			continue
		}
		v, n := 0, 0
		for n < most && digits+n < len(s) {
			d := strings.IndexByte("0123456789abcdef", s[digits+n]|0x20)
			if d < 0 || d >= base {
				break
			}
			v, n = v*base+d, n+1
		}
		if n == 0 && base == 16 {
			b.WriteString("\\x")
			continue
		}
		b.WriteByte(byte(v))
		i = digits + n - 1
	}
	return b.String()
}

// expressions compiles -S and -W; an empty one stands for none.
func (r *ptxRun) expressions(sentence, word *string) {
	switch {
	case sentence != nil:
		r.sentence = ptxUnescape(*sentence)
	case r.gnu && !r.refs:
		r.sentence = "[.?!][]\"')}]*\\($\\|\t\\|  \\)[ \t\n]*"
	default:
		r.sentence = "\n"
	}
	if r.sentence != "" {
		r.context = r.compile(r.sentence)
	}
	if word != nil && *word != "" {
		r.word = r.compile(ptxUnescape(*word))
	}
}

// compile takes the syntax of Emacs: basic expressions in which + and ? are operators without a backslash, and braces
// are not.
func (r *ptxRun) compile(pattern string) *regex.Regexp {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '\\':
			if i+1 < len(pattern) {
				i++
				if strings.IndexByte("+?{}", pattern[i]) < 0 {
					b.WriteByte(c)
				}
			} else {
				b.WriteByte(c)
			}
			b.WriteByte(pattern[i])
		case '+', '?':
			if i > 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
		case '[':
			end := i + 1
			if end < len(pattern) && pattern[end] == '^' {
				end++
			}
			if end < len(pattern) && pattern[end] == ']' {
				end++
			}
			for end < len(pattern) && pattern[end] != ']' {
				end++
			}
			end = min(end, len(pattern)-1)
			b.WriteString(pattern[i : end+1])
			i = end
		default:
			b.WriteByte(c)
		}
	}
	re, err := regex.Compile(b.String(), regex.Options{IgnoreCase: r.fold, Multiline: true,
		Bytes: program.ByteLocale(r.p)})
	if err != nil {
		r.p.Errorf("%v (for regexp %s)", err, program.Quote(pattern))
		r.p.Exit(1)
	}
	re.SetTick(r.p.Tick)
	return re
}

// wordLetters decides what words consist of when there is no expression for them.
func (r *ptxRun) wordLetters(breakFile string) {
	switch {
	case breakFile != "":
		for i := range r.letters {
			r.letters[i] = true
		}
		for _, c := range r.read(breakFile) {
			r.letters[c] = false
		}
		if !r.gnu {
			r.letters[' '], r.letters['\t'], r.letters['\n'] = false, false, false
		}
	case r.gnu:
		for c := 'a'; c <= 'z'; c++ {
			r.letters[c], r.letters[c-'a'+'A'] = true, true
		}
	default:
		for i := range r.letters {
			r.letters[i] = i != ' ' && i != '\t' && i != '\n'
		}
	}
}

func (r *ptxRun) read(name string) []byte {
	var data []byte
	err := program.WithInput(r.p, name, func(_ string, in io.Reader) (err error) {
		data, err = r.p.ReadAll(in)
		return err
	})
	if err != nil {
		r.p.Errorf("%s: %s", program.QuoteColon(name), proc.Strerror(err))
		r.p.Exit(1)
	}
	return data
}

// table reads a list of words, one a line, and sorts it for look-ups.
func (r *ptxRun) table(name string) []string {
	var words []string
	for line := range bytes.SplitSeq(r.read(name), []byte{'\n'}) {
		r.p.Tick(1)
		if len(line) > 0 {
			r.p.Hold(16 + len(line))
			words = append(words, r.folded(line))
		}
	}
	slices.Sort(words)
	return words
}

func (r *ptxRun) folded(word []byte) string {
	if r.fold {
		word = asciiUpper(word)
	}
	return string(word)
}

func asciiUpper(word []byte) []byte {
	out := make([]byte, len(word))
	for i, c := range word {
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		out[i] = c
	}
	return out
}

func (r *ptxRun) listed(table []string, word []byte) bool {
	_, ok := slices.BinarySearch(table, r.folded(word))
	return ok
}

func (r *ptxRun) compare(a, b []byte) int {
	if !r.fold {
		return bytes.Compare(a, b)
	}
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x >= 'a' && x <= 'z' {
			x -= 'a' - 'A'
		}
		if y >= 'a' && y <= 'z' {
			y -= 'a' - 'A'
		}
		if x != y {
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}

func isSpaceChar(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func skipSpace(b []byte, at, limit int) int {
	for at < limit && isSpaceChar(b[at]) {
		at++
	}
	return at
}

func skipNonSpace(b []byte, at, limit int) int {
	for at < limit && !isSpaceChar(b[at]) {
		at++
	}
	return at
}

func skipSpaceBack(b []byte, at, start int) int {
	for at > start && isSpaceChar(b[at-1]) {
		at--
	}
	return at
}

// find collects the keywords of a text.
func (r *ptxRun) find(index int, t *ptxText) {
	b := t.data
	lineStart, scan, refLength := 0, 0, 0
	if r.refs {
		scan = skipNonSpace(b, 0, len(b))
		refLength = scan
		scan = skipSpace(b, scan, len(b))
	}
	// catchUp moves the line that is known on to the one of a keyword, counting lines.
	catchUp := func(to int) {
		for scan < to {
			if b[scan] != '\n' {
				scan++
				continue
			}
			r.lineCount++
			scan++
			lineStart = scan
			scan = skipNonSpace(b, scan, len(b))
			refLength = scan - lineStart
		}
	}
	for cursor, next := 0, 0; cursor < len(b); cursor = next {
		contextStart := cursor
		next = len(b)
		if r.context != nil {
			if start, end, ok := r.context.FindIndex(b, cursor); ok {
				// GNU's takes the place of the match for its length, so an empty line is an error.
				if start == cursor {
					r.p.Errorf("error: regular expression has a match of length zero: %s", program.Quote(r.sentence))
					r.p.Exit(1)
				}
				next = end
			}
		}
		contextEnd := skipSpaceBack(b, next, contextStart)
		for {
			r.p.Tick(1)
			start, end, ok := r.nextWord(b, cursor, contextEnd)
			if !ok {
				break
			}
			cursor = end
			if start == end {
				cursor++
				continue
			}
			r.longest = max(r.longest, end-start)
			if r.refs {
				catchUp(start)
				if scan > start {
					continue
				}
			}
			word := b[start:end]
			if r.ignore != nil && r.listed(r.ignore, word) || r.hasOnly && !r.listed(r.only, word) {
				continue
			}
			o := ptxOccurrence{text: t, index: index, start: start, end: end}
			switch {
			case r.auto:
				catchUp(start)
				o.reference = r.lineCount
			case r.refs:
				o.reference = lineStart
				r.refWidth = max(r.refWidth, refLength)
			}
			if r.refs && lineStart == contextStart {
				contextStart = skipNonSpace(b, contextStart, contextEnd)
				contextStart = skipSpace(b, contextStart, contextEnd)
			}
			o.contextStart, o.contextEnd = contextStart, contextEnd
			r.p.Hold(80)
			r.found = append(r.found, o)
		}
	}
	// The lines after the last keyword count, too.
	for ; scan < len(b); scan++ {
		if b[scan] == '\n' {
			r.lineCount++
		}
	}
}

func (r *ptxRun) nextWord(b []byte, at, limit int) (start, end int, ok bool) {
	if r.word != nil {
		return r.word.FindIndex(b[:limit], at)
	}
	for at < limit && !r.letters[b[at]] {
		at++
	}
	if at == limit {
		return 0, 0, false
	}
	for end = at; end < limit && r.letters[b[end]]; end++ {
	}
	return at, end, true
}

// skip passes a word, or one character that is of none.
func (r *ptxRun) skip(b []byte, at, limit int) int {
	r.p.Tick(1)
	if r.word != nil {
		if start, end, ok := r.word.FindIndex(b[:limit], at); ok && start == at && end > at {
			return end
		}
		return at + 1
	}
	if !r.letters[b[at]] {
		return at + 1
	}
	for at < limit && r.letters[b[at]] {
		at++
	}
	return at
}

// widths divides the line: one half for what is before a keyword, one for the keyword and what follows.
func (r *ptxRun) widths() {
	if r.auto {
		r.refWidth = 0
		before := 0
		for _, t := range r.texts {
			r.refWidth = max(r.refWidth, len(strconv.Itoa(t.lines+1-before))+len(t.name))
			before = t.lines
		}
		r.refWidth++ // the colon
	}
	if (r.auto || r.refs) && !r.right {
		r.width -= r.refWidth + r.gap
	}
	r.width = max(r.width, 0)
	r.half = r.width / 2
	r.beforeWidth = r.half - r.gap
	r.afterWidth = r.half
	if r.gnu {
		r.beforeWidth = max(r.beforeWidth-2*len(r.flag), 0)
		r.afterWidth -= 2 * len(r.flag)
	} else {
		r.afterWidth -= 2*len(r.flag) + 1
	}
}

// write makes the fields of a keyword's line and prints it.
func (r *ptxRun) write(o *ptxOccurrence) {
	b := o.text.data
	flagged := r.flag != ""
	// The keyword and what follows it, as much as has room.
	afterEnd := o.end
	cursor := afterEnd
	for cursor < o.contextEnd && cursor <= o.start+r.afterWidth {
		afterEnd = cursor
		cursor = r.skip(b, cursor, o.contextEnd)
	}
	if cursor <= o.start+r.afterWidth {
		afterEnd = cursor
	}
	afterCut := flagged && afterEnd < o.contextEnd
	afterEnd = skipSpaceBack(b, afterEnd, o.start)
	// What is before it. A long way back is cut short, by more than has room.
	left := o.contextStart
	if back := r.half + r.longest; o.start-left > back {
		left = r.skip(b, o.start-back, o.start)
	}
	beforeStart := left
	beforeEnd := skipSpaceBack(b, o.start, beforeStart)
	for beforeStart+r.beforeWidth < beforeEnd {
		beforeStart = r.skip(b, beforeStart, beforeEnd)
	}
	beforeCut := flagged && skipSpaceBack(b, beforeStart, 0) > o.contextStart
	beforeStart = skipSpace(b, beforeStart, len(b))
	// What follows goes on at the left end of the line.
	var tail, head ptxField
	if room := r.beforeWidth - (beforeEnd - beforeStart) - r.gap; room > 0 {
		start := skipSpace(b, afterEnd, len(b))
		end, cursor := start, start
		for cursor < o.contextEnd && cursor < start+room {
			end = cursor
			cursor = r.skip(b, cursor, o.contextEnd)
		}
		if cursor < start+room {
			end = cursor
		}
		if end > start {
			afterCut = false
			tail.cut = flagged && end < o.contextEnd
		}
		tail.b = b[start:skipSpaceBack(b, end, start)]
	}
	// What precedes goes on at the right end.
	if room := r.afterWidth - (afterEnd - o.start) - r.gap; room > 0 {
		end := skipSpaceBack(b, beforeStart, 0)
		start := left
		for start+room < end {
			start = r.skip(b, start, end)
		}
		if end > start {
			beforeCut = false
			head.cut = flagged && start > o.contextStart
			start = skipSpace(b, start, end)
			head.b = b[start:end]
		}
	}
	before := ptxField{b[min(beforeStart, beforeEnd):beforeEnd], beforeCut}
	after := ptxField{b[o.start:afterEnd], afterCut}
	reference := r.referenceOf(o)
	switch r.format {
	case ptxRoff:
		r.writeRoff(tail, before, after, head, reference)
	case ptxTex:
		keyEnd := r.skip(b, o.start, afterEnd)
		r.writeTex(tail.b, before.b, b[o.start:keyEnd], b[keyEnd:afterEnd], head.b, reference)
	default:
		r.writePlain(tail, before, after, head, reference, beforeEnd-beforeStart)
	}
}

func (r *ptxRun) referenceOf(o *ptxOccurrence) []byte {
	switch {
	case r.auto:
		line := o.reference + 1
		if o.index > 0 {
			line -= r.texts[o.index-1].lines
		}
		return fmt.Appendf(nil, "%s:%d", o.text.name, line)
	case r.refs:
		b := o.text.data
		return b[o.reference:skipNonSpace(b, o.reference, o.contextEnd)]
	}
	return nil
}

func (r *ptxRun) spaces(n int) {
	for ; n > 0; n-- {
		r.p.Out.WriteByte(' ')
	}
}

func (r *ptxRun) cut(f ptxField) int {
	if f.cut {
		return len(r.flag)
	}
	return 0
}

func (r *ptxRun) mark(f ptxField) {
	if f.cut {
		r.p.Out.WriteString(r.flag)
	}
}

func (r *ptxRun) writePlain(tail, before, after, head ptxField, reference []byte, beforeLen int) {
	out := r.p.Out
	if !r.right {
		r.field(reference)
		n := r.refWidth + r.gap - len(reference)
		if r.auto {
			out.WriteByte(':')
			n--
		}
		r.spaces(n)
	}
	n := r.half - r.gap - beforeLen - r.cut(before)
	if len(tail.b) > 0 {
		r.field(tail.b)
		r.mark(tail)
		n -= len(tail.b) + r.cut(tail)
	}
	r.spaces(n)
	r.mark(before)
	r.field(before.b)
	r.spaces(r.gap)
	r.field(after.b)
	r.mark(after)
	n = r.half - len(after.b) - r.cut(after)
	if len(head.b) > 0 {
		r.spaces(n - len(head.b) - r.cut(head))
		r.mark(head)
		r.field(head.b)
	} else if (r.auto || r.refs) && r.right {
		r.spaces(n)
	}
	if (r.auto || r.refs) && r.right {
		r.spaces(r.gap)
		r.field(reference)
	}
	out.WriteByte('\n')
}

func (r *ptxRun) writeRoff(tail, before, after, head ptxField, reference []byte) {
	out := r.p.Out
	out.WriteString("." + r.macro + ` "`)
	r.field(tail.b)
	r.mark(tail)
	out.WriteString(`" "`)
	r.mark(before)
	r.field(before.b)
	out.WriteString(`" "`)
	r.field(after.b)
	r.mark(after)
	out.WriteString(`" "`)
	r.mark(head)
	r.field(head.b)
	out.WriteByte('"')
	if r.auto || r.refs {
		out.WriteString(` "`)
		r.field(reference)
		out.WriteByte('"')
	}
	out.WriteByte('\n')
}

func (r *ptxRun) writeTex(tail, before, key, after, head, reference []byte) {
	out := r.p.Out
	out.WriteString(`\` + r.macro + " ")
	fields := [][]byte{tail, before, key, after, head}
	if r.auto || r.refs {
		fields = append(fields, reference)
	}
	for _, f := range fields {
		out.WriteByte('{')
		r.field(f)
		out.WriteByte('}')
	}
	out.WriteByte('\n')
}

// field prints text on one line, quoted for the formatter.
func (r *ptxRun) field(b []byte) {
	out := r.p.Out
	for _, c := range b {
		switch {
		case isSpaceChar(c):
			out.WriteByte(' ')
		case r.format == ptxRoff && c == '"':
			out.WriteString(`""`)
		case r.format != ptxTex:
			out.WriteByte(c)
		case c == '$' || c == '%' || c == '&' || c == '#' || c == '_':
			out.WriteString(`\` + string(rune(c)))
		case c == '{' || c == '}':
			out.WriteString(`$\` + string(rune(c)) + `$`)
		case c == '\\':
			out.WriteString(`\backslash{}`)
		default:
			out.WriteByte(c)
		}
	}
}
