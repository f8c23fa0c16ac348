package grep

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// lineRange searches the lines of b from pos on.
func (g *grepRun) lineRange(b []byte, pos int) {
	g.buf = b
	for pos < len(b) && !g.done {
		s, e, ok := g.next(b, pos)
		if !g.invert {
			if !ok {
				break
			}
			g.selectLine(s, min(e+1, len(b)))
			pos = e + 1
			continue
		}
		if !ok {
			s, e = len(b), len(b)
		}
		for pos < s && !g.done {
			n := len(b)
			if i := bytes.IndexByte(b[pos:], g.delim); i >= 0 {
				n = pos + i + 1
			}
			g.p.Tick(1)
			g.selectLine(pos, n)
			pos = n
		}
		pos = e + 1
	}
	g.trailing(len(b))
}

// trailing prints context lines after a match, up to limit.
func (g *grepRun) trailing(limit int) {
	for g.pending > 0 && g.printed >= 0 && g.printed < limit {
		e := len(g.buf)
		if i := bytes.IndexByte(g.buf[g.printed:], g.delim); i >= 0 {
			e = g.printed + i + 1
		}
		g.pending--
		g.printLine(g.printed, e, '-')
	}
}

// selectLine handles the selected line g.buf[s:e] (with its delimiter, if it has one).
func (g *grepRun) selectLine(s, e int) {
	g.selected++
	g.lastEnd = g.base + int64(e)
	if g.max >= 0 && g.selected >= g.max {
		g.done = true
	}
	if g.quiet || g.list != 0 {
		g.done = true
		return
	}
	if g.count {
		return
	}
	if g.suppress { // a binary file: one match is enough
		g.done = true
		return
	}
	if g.before >= 0 || g.after >= 0 {
		g.trailing(s)
		start := s
		low := max(g.printed, 0)
		for range max(g.before, 0) {
			if start <= low {
				break
			}
			start = bytes.LastIndexByte(g.buf[:start-1], g.delim) + 1
		}
		if g.anyOutput && start != g.printed && !g.noSep {
			g.paint(g.colors.separator, string(g.sep))
			g.p.Out.WriteByte('\n')
		}
		for start < s {
			n := start + bytes.IndexByte(g.buf[start:], g.delim) + 1
			g.printLine(start, n, '-')
			start = n
		}
		g.pending = max(g.after, 0)
	}
	g.printLine(s, e, ':')
	if g.done && g.pending > 0 {
		g.trailing(len(g.buf))
	}
}

// printLine prints a line; mark is ':' for a selected one and '-' for context.
func (g *grepRun) printLine(s, e int, mark byte) {
	g.printed = e
	g.anyOutput = true
	line := g.buf[s:e]
	terminated := e > s && line[len(line)-1] == g.delim
	if terminated {
		line = line[:len(line)-1]
	}
	bad := g.binary != binaryText && g.delim == '\n' && !g.opt.Bytes && !utf8.Valid(line)
	matching := (mark == ':') != g.invert // the line has matches to show
	if g.only {
		if mark == ':' && !g.invert {
			g.parts(s, line, mark, bad)
		}
		return
	}
	if bad {
		g.encErr = g.binary == binaryMessage
		return
	}
	g.head(s, mark)
	if g.color {
		g.colored(line, mark, matching)
	} else {
		g.p.Out.Write(line)
	}
	g.p.Out.WriteByte(g.delim)
	if g.flush {
		g.p.Out.Flush()
	}
}

// parts prints every nonempty match of a line on its own line (-o). In a bad line, which is not text, it ends at the
// first after which there is such a thing.
func (g *grepRun) parts(s int, line []byte, mark byte, bad bool) {
	for pos := 0; pos <= len(line); {
		g.p.Tick(1)
		a, z, ok := g.re.FindIndex(line, pos)
		if !ok {
			return
		}
		if a == z {
			pos = z + 1
			continue
		}
		if bad && !utf8.Valid(line[a:]) {
			g.encErr = g.binary == binaryMessage
			return
		}
		g.head(s+a, mark)
		g.paint(g.colors.selected, string(line[a:z]))
		g.p.Out.WriteByte(g.delim)
		pos = z
	}
}

// colored prints a line in its colour, with its matches highlighted.
func (g *grepRun) colored(line []byte, mark byte, matching bool) {
	c := &g.colors
	match, whole := c.selected, c.context
	if mark != ':' {
		match = c.inContext
	}
	if (mark == ':') != (g.invert && c.reverse) {
		whole = c.selectedLine
	}
	pos := 0
	for at := 0; matching && match != "" && at <= len(line); {
		g.p.Tick(1)
		a, z, ok := g.re.FindIndex(line, at)
		if !ok {
			break
		}
		if a == z {
			at = z + 1
			continue
		}
		if whole != "" {
			g.p.Out.WriteString(c.begin(whole))
		}
		g.p.Out.Write(line[pos:a])
		g.paint(match, string(line[a:z]))
		pos, at = z, z
	}
	if pos < len(line) {
		g.paint(whole, string(line[pos:]))
	}
}

func (g *grepRun) fileName(mark byte) {
	g.paint(g.colors.file, g.name)
	if g.nulName {
		g.p.Out.WriteByte(0)
		return
	}
	g.paint(g.colors.separator, string(mark))
}

// countLines brings the line count up to position pos of the buffer.
func (g *grepRun) countLines(pos int) {
	if pos > g.counted {
		g.lines += int64(bytes.Count(g.buf[g.counted:pos], []byte{g.delim}))
		g.counted = pos
	}
}

// head prints what stands before a line that begins (or, with -o, a match) at pos.
func (g *grepRun) head(pos int, mark byte) {
	number := func(style string, n int64) {
		s := strconv.FormatInt(n, 10)
		for range g.width - len(s) {
			g.p.Out.WriteByte(' ')
		}
		g.paint(style, s)
		g.paint(g.colors.separator, string(mark))
	}
	if g.names {
		g.fileName(mark)
	}
	if g.number {
		g.countLines(pos)
		number(g.colors.line, g.lines+1)
	}
	if g.offset {
		number(g.colors.offset, g.base+int64(pos))
	}
	if g.tab && (g.names || g.number || g.offset) && g.buf[pos] != g.delim {
		g.p.Out.WriteByte('\t')
	}
}
