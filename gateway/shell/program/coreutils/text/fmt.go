package text

import (
	"bufio"
	"context"
	"io"
	"math"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var fmtSpec = getopt.New("0123456789cg:p:stuw:",
	"crown-margin=c goal:=g prefix:=p split-only=s tagged-paragraph=t uniform-spacing=u width:=w").
	WithUsage("[-WIDTH] [OPTION]... [FILE]...", "Reformat each paragraph in the FILE(s), writing to standard output.")

// The badness of a way to break a paragraph, in squares of a tenth of a column: what makes GNU fmt's choices.
const (
	fmtMaxWords = 1000
	fmtMaxChars = 5000
	fmtLeeway   = 7 // percent that lines are shorter than the width
	fmtIndent   = 3

	fmtInfinite    = math.MaxInt64
	fmtLine        = 70 * 70
	fmtSentence    = 50 * 50
	fmtNoBreak     = 600 * 600
	fmtParen       = 40 * 40
	fmtPunctuation = 40 * 40
	fmtLineCredit  = 3 * 3
	fmtWidow       = 200 * 200
	fmtOrphan      = 150 * 150
)

func fmtShort(n int) int64  { return int64(n*10) * int64(n*10) }
func fmtRagged(n int) int64 { return fmtShort(n) / 2 }

type fmtWord struct {
	text   []byte
	length int
	space  int // after the word
	paren  bool
	period bool
	punct  bool
	final  bool // ends a sentence

	lineLength int
	best       int64
	next       int // the word that begins the next line
}

type fmtRun struct {
	p                           *proc.Process
	crown, tagged, split, equal bool
	width, goal                 int
	prefix                      string
	prefixLead, prefixFull      int // spaces before it, length with the spaces behind it

	in         *bufio.Reader
	failed     error
	tabs       bool
	inColumn   int
	outColumn  int
	nextIndent int // of the prefix on the line that follows
	indent     int // of the prefix in this paragraph
	first      int // indent of the first line
	other      int // and of the others
	lastLine   int
	nextChar   int
	words      []fmtWord // one more than count: the end
	count      int
	chars      int
}

const fmtEOF = -1

func fmtCommand(_ context.Context, p *proc.Process) int {
	width := ""
	hasWidth := false
	if len(p.Args) > 1 && len(p.Args[1]) > 1 && p.Args[1][0] == '-' && program.IsDigit(p.Args[1][1]) {
		// -WIDTH is known in the first place only.
		width, hasWidth = p.Args[1][1:], true
		p.Args = append([]string{p.Args[0]}, p.Args[2:]...)
	}
	opts, args := fmtSpec.Parse(p)
	f := &fmtRun{p: p, width: 75}
	goal, hasGoal := "", false
	for _, o := range opts {
		switch o.Key {
		case "c":
			f.crown = true
		case "g":
			goal, hasGoal = o.Value, true
		case "p":
			lead := strings.TrimLeft(o.Value, " ")
			f.prefixLead, f.prefixFull = len(o.Value)-len(lead), len(lead)
			f.prefix = strings.TrimRight(lead, " ")
		case "s":
			f.split = true
		case "t":
			f.tagged = true
		case "u":
			f.equal = true
		case "w":
			width, hasWidth = o.Value, true
		default:
			p.Errorf("invalid option -- %s; -WIDTH is recognized only when it is the first\noption; use -w N instead", o.Key)
			fmtSpec.Hint(p)
		}
	}
	number := func(s string, most int) int {
		n, problem := program.ParseCount(s, "")
		if problem == program.NumberInvalid {
			p.Errorf("invalid width: %s", program.Quote(s))
			p.Exit(1)
		}
		if problem == program.NumberOverflow || n > int64(most) {
			p.Errorf("invalid width: %s: Numerical result out of range", program.Quote(s))
			p.Exit(1)
		}
		return int(n)
	}
	if hasWidth {
		f.width = number(width, fmtMaxChars/2)
	}
	if hasGoal {
		f.goal = number(goal, f.width)
		if !hasWidth {
			f.width = f.goal + 10
		}
	} else {
		f.goal = f.width * (2*(100-fmtLeeway) + 1) / 200
	}
	f.words = make([]fmtWord, fmtMaxWords+1)
	status := 0
	if len(args) == 0 {
		args = []string{"-"}
	}
	for _, name := range args {
		r, err := p.OpenInput(name)
		if err != nil {
			p.Errorf("cannot open %s for reading: %s", program.QuoteName(name), proc.Strerror(err))
			status = 1
			continue
		}
		f.in = bufio.NewReaderSize(r, program.BufferSize)
		f.tabs, f.other, f.failed = false, 0, nil
		f.nextChar = f.readPrefix()
		for f.paragraph() {
			f.arrange()
			f.put(f.count)
		}
		_ = r.Close()
		if f.failed != nil {
			p.Errorf("read error")
			status = 1
		}
	}
	return status
}

func (f *fmtRun) char() int {
	c, err := f.in.ReadByte()
	if err != nil {
		if err != io.EOF {
			f.failed = err
		}
		return fmtEOF
	}
	return int(c)
}

// skipSpace counts blanks into the column and returns what follows them.
func (f *fmtRun) skipSpace(c int) int {
	for {
		switch c {
		case ' ':
			f.inColumn++
		case '\t':
			f.tabs = true
			f.inColumn = (f.inColumn/8 + 1) * 8
		default:
			return c
		}
		c = f.char()
	}
}

// readPrefix reads the beginning of a line, up to what follows the prefix.
func (f *fmtRun) readPrefix() int {
	f.p.Tick(1)
	f.inColumn = 0
	c := f.skipSpace(f.char())
	if f.prefix == "" {
		f.nextIndent = min(f.prefixLead, f.inColumn)
		return c
	}
	f.nextIndent = f.inColumn
	for i := range len(f.prefix) {
		if c != int(f.prefix[i]) {
			return c
		}
		f.inColumn++
		c = f.char()
	}
	return f.skipSpace(c)
}

func (f *fmtRun) sameParagraph(c int) bool {
	return f.nextIndent == f.indent && f.inColumn >= f.nextIndent+f.prefixFull && c != '\n' && c != fmtEOF
}

func (f *fmtRun) setOther(same bool) {
	switch {
	case f.split:
		f.other = f.first
	case f.crown:
		f.other = f.first
		if same {
			f.other = f.inColumn
		}
	case f.tagged:
		if same && f.inColumn != f.first {
			f.other = f.inColumn
		} else if f.other == f.first {
			// One line alone: the indent of before if it differs, else a made-up one.
			f.other = 0
			if f.first == 0 {
				f.other = fmtIndent
			}
		}
	default:
		f.other = f.first
	}
}

// copyRest writes a line that is not part of a paragraph and returns its end.
func (f *fmtRun) copyRest(c int) int {
	f.outColumn = 0
	if f.inColumn > f.nextIndent || c != '\n' && c != fmtEOF {
		f.space(f.nextIndent)
		n := 0
		for ; f.outColumn != f.inColumn && n < len(f.prefix); n++ {
			f.p.Out.WriteByte(f.prefix[n])
			f.outColumn++
		}
		if c != fmtEOF && c != '\n' {
			f.space(f.inColumn - f.outColumn)
		}
		if c == fmtEOF && f.inColumn >= f.nextIndent+len(f.prefix) {
			f.p.Out.WriteByte('\n')
		}
	}
	for c != '\n' && c != fmtEOF {
		f.p.Out.WriteByte(byte(c))
		c = f.char()
	}
	return c
}

// paragraph reads one, after copying what stands before it; false at the end.
func (f *fmtRun) paragraph() bool {
	f.lastLine = 0
	c := f.nextChar
	for c == '\n' || c == fmtEOF || f.nextIndent < f.prefixLead || f.inColumn < f.nextIndent+f.prefixFull {
		c = f.copyRest(c)
		if c == fmtEOF {
			f.nextChar = c
			return false
		}
		f.p.Out.WriteByte('\n')
		c = f.readPrefix()
	}
	f.indent, f.first = f.nextIndent, f.inColumn
	f.count, f.chars = 0, 0
	c = f.line(c)
	f.setOther(f.sameParagraph(c))
	switch {
	case f.split:
	case f.crown:
		if f.sameParagraph(c) {
			for ok := true; ok; ok = f.sameParagraph(c) && f.inColumn == f.other {
				c = f.line(c)
			}
		}
	case f.tagged:
		if f.sameParagraph(c) && f.inColumn != f.first {
			for ok := true; ok; ok = f.sameParagraph(c) && f.inColumn == f.other {
				c = f.line(c)
			}
		}
	default:
		for f.sameParagraph(c) && f.inColumn == f.other {
			c = f.line(c)
		}
	}
	last := &f.words[f.count-1]
	last.period, last.final = true, true
	f.nextChar = c
	return true
}

// line reads the words of a line.
func (f *fmtRun) line(c int) int {
	for {
		w := &f.words[f.count]
		*w = fmtWord{text: w.text[:0]}
		for {
			if f.chars == fmtMaxChars {
				f.setOther(true)
				f.flush()
				w = &f.words[f.count]
			}
			w.text = append(w.text, byte(c))
			f.chars++
			if c = f.char(); c == fmtEOF || program.IsSpaceByte(c) {
				break
			}
		}
		w.length = len(w.text)
		f.inColumn += w.length
		w.punctuation()
		start := f.inColumn
		c = f.skipSpace(c)
		w.space = f.inColumn - start
		w.final = c == fmtEOF || w.period && (c == '\n' || w.space > 1)
		if c == '\n' || c == fmtEOF || f.equal {
			w.space = 1
			if w.final {
				w.space = 2
			}
		}
		if f.count == fmtMaxWords-2 {
			f.setOther(true)
			f.flush()
		}
		f.count++
		if c == '\n' || c == fmtEOF {
			return f.readPrefix()
		}
		if program.IsSpaceByte(c) {
			// A form feed and its like begin a word.
			f.p.Tick(1)
		}
	}
}

func (w *fmtWord) punctuation() {
	w.paren = strings.IndexByte("(['`\"", w.text[0]) >= 0
	end := len(w.text) - 1
	last := w.text[end]
	w.punct = last > ' ' && last < 127 && !program.IsDigit(last) && (last|0x20 < 'a' || last|0x20 > 'z')
	for end > 0 && strings.IndexByte(")]'\"", w.text[end]) >= 0 {
		end--
	}
	w.period = strings.IndexByte(".?!", w.text[end]) >= 0
}

// flush writes most of a paragraph that is too long to hold.
func (f *fmtRun) flush() {
	if f.count == 0 {
		w := &f.words[0]
		f.p.Out.Write(w.text)
		w.text, f.chars = w.text[:0], 0
		return
	}
	f.arrange()
	at, best := f.count, int64(fmtInfinite)
	for w := f.words[0].next; w != f.count; w = f.words[w].next {
		if cost := f.words[w].best - f.words[f.words[w].next].best; cost < best {
			at, best = w, cost
		}
		if best <= fmtInfinite-fmtLineCredit {
			best += fmtLineCredit
		}
	}
	f.put(at)
	for i := range at {
		f.chars -= len(f.words[i].text)
	}
	// The texts swap places, so that their memory serves again.
	for i := at; i <= f.count; i++ {
		f.words[i-at], f.words[i] = f.words[i], f.words[i-at]
	}
	f.count -= at
}

// arrange finds the cheapest line breaks, from the end to the start.
func (f *fmtRun) arrange() {
	end := &f.words[f.count]
	saved := end.length
	end.best, end.length = 0, f.width
	f.p.Tick(f.count)
	for start := f.count - 1; start >= 0; start-- {
		best := int64(fmtInfinite)
		length := f.other
		if start == 0 {
			length = f.first
		}
		s := &f.words[start]
		w := start
		length += s.length
		for {
			w++
			cost := f.lineCost(w, length) + f.words[w].best
			if start == 0 && f.lastLine > 0 {
				cost += fmtRagged(length - f.lastLine)
			}
			if cost < best {
				best, s.next, s.lineLength = cost, w, length
			}
			if w == f.count {
				break
			}
			length += f.words[w-1].space + f.words[w].length
			if length >= f.width {
				break
			}
		}
		s.best = best + f.baseCost(start)
	}
	end.length = saved
}

// baseCost is the cost of a line that begins with word i, wherever it ends.
func (f *fmtRun) baseCost(i int) int64 {
	cost := int64(fmtLine)
	if i > 0 {
		switch prev := &f.words[i-1]; {
		case prev.period && prev.final:
			cost -= fmtSentence
		case prev.period:
			cost += fmtNoBreak
		case prev.punct:
			cost -= fmtPunctuation
		case i > 1 && f.words[i-2].final:
			cost += fmtWidow / int64(prev.length+2)
		}
	}
	if f.words[i].paren {
		cost -= fmtParen
	} else if f.words[i].final {
		cost += fmtOrphan / int64(f.words[i].length+2)
	}
	return cost
}

// lineCost is the cost of a line of that length before word next.
func (f *fmtRun) lineCost(next, length int) int64 {
	if next == f.count {
		return 0
	}
	cost := fmtShort(f.goal - length)
	if n := &f.words[next]; n.next != f.count {
		cost += fmtRagged(length - n.lineLength)
	}
	return cost
}

// put writes the lines before word end.
func (f *fmtRun) put(end int) {
	indent := f.first
	for w := 0; w != end; w = f.words[w].next {
		out := f.p.Out
		f.outColumn = 0
		f.space(f.indent)
		out.WriteString(f.prefix)
		f.outColumn += len(f.prefix)
		f.space(indent - f.outColumn)
		last := f.words[w].next - 1
		for i := w; i <= last; i++ {
			out.Write(f.words[i].text)
			f.outColumn += f.words[i].length
			if i < last {
				f.space(f.words[i].space)
			}
		}
		f.lastLine = f.outColumn
		out.WriteByte('\n')
		indent = f.other
	}
}

// space writes blanks, as tabs where the input had some.
func (f *fmtRun) space(n int) {
	target := f.outColumn + n
	if f.tabs {
		if stop := target / 8 * 8; f.outColumn+1 < stop {
			for f.outColumn < stop {
				f.p.Out.WriteByte('\t')
				f.outColumn = (f.outColumn/8 + 1) * 8
			}
		}
	}
	if f.outColumn < target {
		program.WriteSpaces(f.p, int64(target-f.outColumn))
		f.outColumn = target
	}
}
