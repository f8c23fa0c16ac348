package diffutils

import (
	"bytes"

	"github.com/pgbox/pgbox/gateway/shell/program"
)

// side prints two columns.
func (o *diffOutput) side() {
	const gutter = 3
	tab := 8
	if o.d.expand {
		tab = 1
	}
	w := o.d.width
	off := w>>1 + (tab+gutter)>>1 + w&(tab+gutter)&1
	off -= off % tab
	half := max(0, min(off-gutter, w-off))
	second := w
	if half > 0 {
		second = off
	}
	i, j := 0, 0
	both := func(upto int) {
		for ; i < upto; i, j = i+1, j+1 {
			if o.d.noCommon {
				continue
			}
			if o.d.leftColumn {
				o.pair(half, second, i, -1, '(')
			} else {
				o.pair(half, second, i, j, ' ')
			}
		}
	}
	for _, c := range o.list {
		both(c.A)
		mark := byte('|')
		n := min(c.Del, c.Ins)
		for k := range n {
			o.pair(half, second, c.A+k, c.B+k, mark)
		}
		for k := n; k < c.Ins; k++ {
			o.pair(half, second, -1, c.B+k, '>')
		}
		for k := n; k < c.Del; k++ {
			o.pair(half, second, c.A+k, -1, '<')
		}
		i, j = c.A+c.Del, c.B+c.Ins
	}
	both(len(o.a.lines))
}

// pair prints a line of each file, -1 for none, with a mark between them.
func (o *diffOutput) pair(half, second, i, j int, mark byte) {
	out := o.d.p.Out
	o.d.p.Tick(1)
	ended := func(f *diffFile, k int) bool { return k >= 0 && !(f.noEOL && k == len(f.lines)-1) }
	col := 0
	newline := false
	if o.d.color && (mark == '<' || mark == '>') {
		o.d.p.Out.WriteString(map[byte]string{'<': "\x1b[31m", '>': "\x1b[32m"}[mark])
		defer o.d.p.Out.WriteString("\x1b[0m")
	}
	if i >= 0 {
		newline = ended(o.a, i)
		col = o.half(o.a.lines[i], 0, half)
	}
	if mark != ' ' {
		col = o.pad(col, (half+second-1)>>1) + 1
		if mark == '|' && newline != ended(o.b, j) {
			mark = '\\'
			if newline {
				mark = '/'
			}
		}
		out.WriteByte(mark)
	}
	if j >= 0 {
		newline = newline || ended(o.b, j)
		if len(o.b.lines[j]) > 0 {
			col = o.pad(col, second)
			o.half(o.b.lines[j], col, half)
		}
	}
	if newline {
		out.WriteByte('\n')
	}
}

// pad moves from one column to another with tabs and blanks.
func (o *diffOutput) pad(from, to int) int {
	if !o.d.expand {
		for tab := from + 8 - from%8; tab <= to; tab += 8 {
			o.d.p.Out.WriteByte('\t')
			from = tab
		}
	}
	for ; from < to; from++ {
		o.d.p.Out.WriteByte(' ')
	}
	return to
}

// half prints what fits of a line into a column and returns the position after it.
func (o *diffOutput) half(line []byte, indent, bound int) int {
	in, outPos := 0, 0
	for k := 0; k < len(line); {
		c := line[k]
		if c == '\t' {
			spaces := 8 - in%8
			if in == outPos {
				stop := outPos + spaces
				if o.d.expand {
					stop = min(stop, bound)
					for ; outPos < stop; outPos++ {
						o.d.p.Out.WriteByte(' ')
					}
				} else if stop < bound {
					outPos = stop
					o.d.p.Out.WriteByte(c)
				}
			}
			in += spaces
			k++
			continue
		}
		n, width := 1, 1
		if c >= 0x80 && !program.ByteLocale(o.d.p) {
			r := bytes.Runes(line[k:min(len(line), k+4)])
			n = len(string(r[0]))
			if r[0] == 0xfffd {
				n = 1
			}
		} else if c < ' ' || c == 127 {
			width = 0
		}
		in += width
		if in <= bound {
			outPos = in
			o.d.p.Out.Write(line[k : k+n])
		}
		k += n
	}
	return indent + outPos
}
