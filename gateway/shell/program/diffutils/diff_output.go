package diffutils

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/shell/text/diff"
)

// diffOutput prints the comparison of two files.
type diffOutput struct {
	d    *diffRun
	a, b *diffFile
	list []diff.Change
}

// key is what a line is compared by.
func (d *diffRun) key(line []byte) []byte {
	if !(d.icase || d.allSpace || d.space || d.trailing || d.tabExpand) {
		return line
	}
	isSpace := func(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
	out := make([]byte, 0, len(line))
	col := 0
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case isSpace(c) && d.allSpace:
			continue
		case isSpace(c) && d.space:
			for i+1 < len(line) && isSpace(line[i+1]) {
				i++
			}
			if i+1 < len(line) {
				out = append(out, ' ')
			}
			continue
		case c == '\t' && d.tabExpand:
			for n := 8 - col%8; n > 0; n-- {
				out = append(out, ' ')
				col++
			}
			continue
		}
		col++
		out = append(out, c)
	}
	if d.trailing {
		out = bytes.TrimRight(out, " \t\r\v\f")
	}
	if d.icase {
		program.AsciiLower(out)
	}
	return out
}

func (o *diffOutput) changes() {
	classes := map[string]int{}
	// ed cannot say that a newline is missing, so it is no difference to it.
	spaces := o.d.allSpace || o.d.space || o.d.trailing || o.d.style == "ed" || o.d.style == "forward"
	class := func(f *diffFile) []int {
		out := make([]int, len(f.lines))
		for i, l := range f.lines {
			o.d.p.Tick(1 + len(l)>>10)
			k := string(o.d.key(l))
			if f.noEOL && i == len(f.lines)-1 && !spaces {
				k += "\n" // differs from every line that has its newline
			}
			n, ok := classes[k]
			if !ok {
				n = len(classes) + 1
				classes[k] = n
				o.d.p.Hold(len(k) + 64)
			}
			out[i] = n
		}
		return out
	}
	x, y := class(o.a), class(o.b)
	horizon := 0
	if o.d.style == "unified" || o.d.style == "context" {
		horizon = o.d.context
	}
	o.list = diff.Lines(x, y, diff.Options{Minimal: o.d.minimal, Horizon: horizon, Tick: o.d.p.Tick})
	for k := range classes {
		o.d.p.Release(len(k) + 64)
	}
}

// ignored reports whether -B or -I hides a change.
func (o *diffOutput) ignored(c diff.Change) bool {
	if !o.d.blankLines && len(o.d.ignore) == 0 {
		return false
	}
	ok := func(line []byte) bool {
		if o.d.blankLines && len(o.d.key(line)) == 0 {
			return true
		}
		for _, re := range o.d.ignore {
			if re.Match(line) {
				return true
			}
		}
		return false
	}
	for i := range c.Del {
		if !ok(o.a.lines[c.A+i]) {
			return false
		}
	}
	for i := range c.Ins {
		if !ok(o.b.lines[c.B+i]) {
			return false
		}
	}
	return true
}

// line prints one line of a file after a mark.
func (o *diffOutput) line(mark string, f *diffFile, i int, code string) {
	out := o.d.p.Out
	o.d.p.Tick(1)
	l := f.lines[i]
	if o.d.initialTab && mark != "" {
		mark = strings.TrimSuffix(mark, " ") + "\t"
	}
	if o.d.emptyBlank && len(l) == 0 {
		mark = strings.TrimRight(mark, " ")
	}
	if o.d.color && code != "" {
		fmt.Fprintf(out, "\x1b[%sm%s%s\x1b[0m", code, mark, l)
	} else {
		out.WriteString(mark)
		if o.d.expand {
			out.WriteString(expandTabs(l))
		} else {
			out.Write(l)
		}
	}
	out.WriteByte('\n')
	if f.noEOL && i == len(f.lines)-1 {
		out.WriteString("\\ No newline at end of file\n")
	}
}

func expandTabs(l []byte) string {
	var b strings.Builder
	col := 0
	for _, c := range l {
		if c == '\t' {
			n := 8 - col%8
			b.WriteString(strings.Repeat(" ", n))
			col += n
			continue
		}
		b.WriteByte(c)
		col++
	}
	return b.String()
}

// editRange is a range of lines as the normal and ed styles write it.
func editRange(start, n int) string {
	switch n {
	case 0:
		return strconv.Itoa(start)
	case 1:
		return strconv.Itoa(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, start+n)
}

func changeLetter(c diff.Change) string {
	switch {
	case c.Del == 0:
		return "a"
	case c.Ins == 0:
		return "d"
	}
	return "c"
}

func (o *diffOutput) normal() {
	for _, c := range o.list {
		if o.ignored(c) {
			continue
		}
		o.d.paint("36", editRange(c.A, c.Del)+changeLetter(c)+editRange(c.B, c.Ins))
		for i := range c.Del {
			o.line("< ", o.a, c.A+i, "31")
		}
		if c.Del > 0 && c.Ins > 0 {
			o.d.p.Out.WriteString("---\n")
		}
		for i := range c.Ins {
			o.line("> ", o.b, c.B+i, "32")
		}
	}
}

func (o *diffOutput) header(mark string, f *diffFile, i int) {
	if i < len(o.d.labels) {
		o.d.paint("1", mark+" "+o.d.labels[i])
		return
	}
	when := time.Unix(0, f.st.Mtime)
	if f.missing {
		when = time.Unix(0, 0)
	}
	stamp := when.In(o.d.now.Location())
	name := f.name
	if strings.ContainsAny(name, " \t\n\\\"") && strings.ContainsAny(name, "\t\n\\\"") {
		name = strconv.Quote(name)
	}
	o.d.paint("1", mark+" "+name+"\t"+datetime.Format("%Y-%m-%d %H:%M:%S.%N %z", stamp))
}

// groups joins changes whose context touches.
func (o *diffOutput) groups() [][]diff.Change {
	var out [][]diff.Change
	var cur []diff.Change
	for _, c := range o.list {
		if n := len(cur); n > 0 {
			last := cur[n-1]
			gap := c.A - (last.A + last.Del)
			limit := 2*o.d.context + 1
			if o.ignored(c) || o.ignored(last) {
				limit = o.d.context
			}
			if gap >= limit {
				out = append(out, cur)
				cur = nil
			}
		}
		cur = append(cur, c)
	}
	if len(cur) > 0 {
		out = append(out, cur)
	}
	return slices.DeleteFunc(out, func(g []diff.Change) bool {
		return !slices.ContainsFunc(g, func(c diff.Change) bool { return !o.ignored(c) })
	})
}

// bounds are the lines of a group with its context.
func (o *diffOutput) bounds(g []diff.Change) (a0, a1, b0, b1 int) {
	first, last := g[0], g[len(g)-1]
	before := min(o.d.context, first.A, first.B)
	ea, eb := last.A+last.Del, last.B+last.Ins
	after := min(o.d.context, len(o.a.lines)-ea, len(o.b.lines)-eb)
	return first.A - before, ea + after, first.B - before, eb + after
}

func (o *diffOutput) function(line int) string {
	if o.d.function == nil {
		return ""
	}
	for i := line - 1; i >= 0; i-- {
		if o.d.function.Match(o.a.lines[i]) {
			l := bytes.TrimLeft(o.a.lines[i], " \t")
			return " " + string(bytes.TrimRight(l[:min(len(l), 40)], " \t"))
		}
	}
	return ""
}

func (o *diffOutput) unified() {
	o.header("---", o.a, 0)
	o.header("+++", o.b, 1)
	num := func(start, n int) string {
		switch n {
		case 0:
			return strconv.Itoa(start) + ",0"
		case 1:
			return strconv.Itoa(start + 1)
		}
		return fmt.Sprintf("%d,%d", start+1, n)
	}
	for _, g := range o.groups() {
		a0, a1, b0, b1 := o.bounds(g)
		head := "@@ -" + num(a0, a1-a0) + " +" + num(b0, b1-b0) + " @@"
		if o.d.color {
			head = "\x1b[36m" + head + "\x1b[0m"
		}
		o.d.p.Out.WriteString(head + o.function(a0) + "\n")
		i := a0
		for _, c := range g {
			for ; i < c.A; i++ {
				o.line(" ", o.a, i, "")
			}
			for ; i < c.A+c.Del; i++ {
				o.line("-", o.a, i, "31")
			}
			for k := range c.Ins {
				o.line("+", o.b, c.B+k, "32")
			}
		}
		for ; i < a1; i++ {
			o.line(" ", o.a, i, "")
		}
	}
}

func (o *diffOutput) contextStyle() {
	o.header("***", o.a, 0)
	o.header("---", o.b, 1)
	num := func(start, end int) string {
		if end-start <= 1 {
			return strconv.Itoa(end)
		}
		return fmt.Sprintf("%d,%d", start+1, end)
	}
	for _, g := range o.groups() {
		a0, a1, b0, b1 := o.bounds(g)
		o.d.p.Out.WriteString("***************" + o.function(a0) + "\n")
		o.d.paint("36", "*** "+num(a0, a1)+" ****")
		o.contextHalf(g, o.a, a0, a1, "- ", "31", func(c diff.Change) (at, n, other int) { return c.A, c.Del, c.Ins })
		o.d.paint("36", "--- "+num(b0, b1)+" ----")
		o.contextHalf(g, o.b, b0, b1, "+ ", "32", func(c diff.Change) (at, n, other int) { return c.B, c.Ins, c.Del })
	}
}

// contextHalf prints one file's lines of a group, nothing if no change has any of them.
func (o *diffOutput) contextHalf(
	g []diff.Change, f *diffFile, from, to int, mark, color string, side func(diff.Change) (at, n, other int),
) {
	if !slices.ContainsFunc(g, func(c diff.Change) bool { _, n, _ := side(c); return n > 0 }) {
		return
	}
	i := from
	for _, c := range g {
		at, n, other := side(c)
		for ; i < at; i++ {
			o.line("  ", f, i, color)
		}
		m := mark
		if other > 0 {
			m = "! "
		}
		for ; i < at+n; i++ {
			o.line(m, f, i, color)
		}
	}
	for ; i < to; i++ {
		o.line("  ", f, i, color)
	}
}
