package grep

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

// separate prints what stands between groups of lines that do not touch, and before a file's first line.
func (g *rgRun) separate(start int) {
	if !g.shown {
		g.shown = true
		first := g.firstOutput
		g.firstOutput = false
		switch {
		case g.mode == 'j':
			g.json.begin()
		case g.heading && g.paths:
			if !first {
				g.out.putByte('\n')
			}
			g.path(g.name)
			g.out.putByte('\n')
		case !first && (g.before > 0 || g.after > 0) && !g.passthru:
			g.divide()
		}
		return
	}
	if g.printed >= 0 && start > g.printed && (g.before > 0 || g.after > 0) && !g.passthru && g.mode != 'j' {
		g.divide()
	}
}

func (g *rgRun) divide() {
	if g.noBetween {
		return
	}
	g.out.put(g.between)
	g.out.putByte('\n')
}

// context prints the lines after the last selected one, up to limit.
func (g *rgRun) context(b []byte, limit int) {
	if g.passthru && g.printed < 0 && g.mode == 0 && limit == len(b) && !g.quiet {
		g.separate(0)
		g.printed = 0
	}
	if g.printed < 0 || g.after == 0 {
		return
	}
	from := g.printed
	for n := 0; n < g.after && g.printed < limit; n++ {
		end := lineEndAt(b, g.printed, g.delim)
		g.printContext(b, g.printed, end)
		g.printed = end
	}
	if from == g.printed || g.printed >= limit {
		return
	}
}

func (g *rgRun) printContext(b []byte, s, e int) {
	if g.mode == 'j' {
		g.json.line("context", b, s, e, g.lineAt(b, s))
		return
	}
	g.prefix(b, s, -1, -1, g.contextSep)
	g.body(g.bare(b, s, e), "context")
	g.out.putByte(g.delim)
}

// lineAt is the number of the line that begins at pos.
func (g *rgRun) lineAt(b []byte, pos int) int64 {
	if pos > g.counted {
		g.lineNo += int64(bytes.Count(b[g.counted:pos], []byte{g.delim}))
		g.counted = pos
	}
	return g.lineNo
}

func (g *rgRun) printMatch(b []byte, s, e int) {
	if g.mode == 'j' {
		g.json.line("match", b, s, e, g.lineAt(b, s))
		return
	}
	span := b[s:e]
	if g.invert {
		g.prefix(b, s, -1, -1, g.matchSep)
		g.body(g.bare(b, s, e), "matching")
		g.out.putByte(g.delim)
		return
	}
	text := g.bare(b, s, e)
	switch {
	case g.only:
		g.eachMatch(text, func(loc []int) {
			m := text[loc[0]:loc[1]]
			if g.replace != nil {
				m = g.expand(nil, text, loc)
			}
			for i, l := range bytes.Split(m, []byte("\n")) {
				at := loc[0]
				if i > 0 {
					at += bytes.IndexByte(text[loc[0]:], '\n') + 1
				}
				g.prefix(b, s+at, columnOf(text, loc[0]), s+at, g.matchSep)
				g.paint(rgMatchColor, l)
				g.out.putByte(g.delim)
			}
		})
	case g.vimgrep:
		g.eachMatch(text, func(loc []int) {
			line := bytes.LastIndexByte(text[:loc[0]], '\n') + 1
			end := lineEndAt(text, line, '\n')
			g.prefix(b, s+line, columnOf(text, loc[0]), s+line, g.matchSep)
			g.replaced(bytes.TrimSuffix(text[line:end], []byte("\n")))
			g.out.putByte(g.delim)
		})
	case g.replace != nil && g.multiline:
		out := g.replaceAll(text)
		g.prefix(b, s, g.firstColumn(text), s, g.matchSep)
		g.out.put(out)
		g.out.putByte(g.delim)
	case g.multiline && bytes.IndexByte(text, '\n') >= 0:
		var spans [][2]int
		g.eachMatch(text, func(loc []int) { spans = append(spans, [2]int{loc[0], loc[1]}) })
		for pos := 0; pos < len(span); {
			end := lineEndAt(span, pos, '\n')
			col := -1
			if len(spans) > 0 {
				col = columnOf(text, spans[0][0])
			}
			g.prefix(b, s+pos, col, s+pos, g.matchSep)
			line := bytes.TrimSuffix(span[pos:end], []byte("\n"))
			at := 0
			for _, m := range spans {
				a, z := max(m[0]-pos, 0), min(m[1]-pos, len(line))
				if a < z {
					g.out.put(line[at:a])
					g.paint(rgMatchColor, line[a:z])
					at = z
				}
			}
			g.out.put(line[at:])
			g.out.putByte('\n')
			pos = end
		}
	default:
		col := -1
		if g.column {
			col = g.firstColumn(text)
		}
		g.prefix(b, s, col, s, g.matchSep)
		g.replaced(text)
		g.out.putByte(g.delim)
	}
}

// columnOf is the number of the byte at pos in its line, from 1.
func columnOf(text []byte, pos int) int { return pos - bytes.LastIndexByte(text[:pos], '\n') }

func (g *rgRun) firstColumn(text []byte) int {
	loc := g.re.FindSubmatchIndex(text, 0)
	if loc == nil {
		return 1
	}
	return columnOf(text, loc[0])
}

// replaced prints a line with its matches highlighted or replaced.
func (g *rgRun) replaced(line []byte) {
	if g.replace == nil && !g.color {
		g.body(line, "matching")
		return
	}
	if g.replace != nil && !g.color {
		g.body(g.replaceAll(line), "matching")
		return
	}
	if g.omit(line, "matching") {
		return
	}
	if g.trim {
		line = bytes.TrimLeft(line, " \t")
	}
	pos := 0
	g.eachMatch(line, func(loc []int) {
		g.out.put(line[pos:loc[0]])
		m := line[loc[0]:loc[1]]
		if g.replace != nil {
			m = g.expand(nil, line, loc)
		}
		g.paint(rgMatchColor, m)
		pos = loc[1]
	})
	g.out.put(line[pos:])
}

func (g *rgRun) replaceAll(text []byte) []byte {
	var out []byte
	pos := 0
	g.eachMatch(text, func(loc []int) {
		out = append(out, text[pos:loc[0]]...)
		out = g.expand(out, text, loc)
		pos = loc[1]
		if len(out) > 1<<20 {
			g.p.Hold(len(out))
			g.p.Release(len(out))
		}
	})
	return append(out, text[pos:]...)
}

// expand appends the replacement of a match: $1, ${name} and $$.
func (g *rgRun) expand(out, text []byte, loc []int) []byte {
	r := *g.replace
	for {
		i := strings.IndexByte(r, '$')
		if i < 0 {
			return append(out, r...)
		}
		out = append(out, r[:i]...)
		r = r[i+1:]
		if strings.HasPrefix(r, "$") {
			out, r = append(out, '$'), r[1:]
			continue
		}
		var name, rest string
		if strings.HasPrefix(r, "{") {
			j := strings.IndexByte(r, '}')
			if j < 0 {
				out = append(out, '$')
				continue
			}
			name, rest = r[1:j], r[j+1:]
		} else {
			n := 0
			for n < len(r) && (r[n] == '_' || program.IsDigit(r[n]) || program.IsAlpha(r[n])) {
				n++
			}
			name, rest = r[:n], r[n:]
		}
		if name == "" {
			out = append(out, '$')
			continue
		}
		r = rest
		k, err := strconv.Atoi(name)
		if err != nil {
			if k = slices.Index(g.names, name); k < 0 {
				continue
			}
		}
		if 2*k+1 < len(loc) && k >= 0 && loc[2*k] >= 0 {
			out = append(out, text[loc[2*k]:loc[2*k+1]]...)
		}
	}
}

// omit prints a placeholder for a line that is longer, with its delimiter, than -M allows.
func (g *rgRun) omit(line []byte, kind string) bool {
	if g.maxColumns == 0 || len(line) < g.maxColumns {
		return false
	}
	if g.preview {
		g.out.put(line[:min(g.maxColumns, len(line))])
		g.out.WriteString(" [... omitted end of long line]")
		return true
	}
	g.out.WriteString("[Omitted long " + kind + " line]")
	return true
}

// body prints a line as it is.
func (g *rgRun) body(line []byte, kind string) {
	if g.omit(line, kind) {
		return
	}
	if g.trim {
		line = bytes.TrimLeft(line, " \t")
	}
	g.out.put(line)
}

// The colours of rg, as the parameters of the SGR sequences.
var (
	rgPathColor   = []string{"35"}
	rgLineColor   = []string{"32"}
	rgMatchColor  = []string{"1", "31"}
	rgColumnColor = []string{}
)

func (g *rgRun) paint(style []string, s []byte) {
	if !g.color {
		g.out.put(s)
		return
	}
	g.out.WriteString("\x1b[0m")
	for _, c := range style {
		g.out.WriteString("\x1b[" + c + "m")
	}
	g.out.put(s)
	g.out.WriteString("\x1b[0m")
}

func (g *rgRun) path(name string) { g.paint(rgPathColor, []byte(name)) }

// prefix prints what stands before a line; col and offset are -1 for a context line.
func (g *rgRun) prefix(b []byte, pos, col, offset int, sep string) {
	if g.paths && !g.heading {
		g.path(g.name)
		if g.nul {
			g.out.putByte(0)
		} else {
			g.out.WriteString(sep)
		}
	}
	if g.number {
		g.paint(rgLineColor, strconv.AppendInt(nil, g.lineAt(b, bytes.LastIndexByte(b[:pos], g.delim)+1), 10))
		g.out.WriteString(sep)
	}
	if g.column && col >= 0 {
		g.paint(rgColumnColor, strconv.AppendInt(nil, int64(col), 10))
		g.out.WriteString(sep)
	}
	if g.offset {
		if offset < 0 {
			offset = pos
		}
		g.paint(rgColumnColor, strconv.AppendInt(nil, int64(offset), 10))
		g.out.WriteString(sep)
	}
}

// finish prints the statistics.
func (g *rgRun) finish() {
	if g.mode == 'j' {
		g.json.summary()
		return
	}
	if !g.stats {
		return
	}
	t, took := g.total, g.p.Now().Sub(g.began).Seconds()
	g.out.printf("\n%d matches\n%d matched lines\n%d files contained matches\n%d files searched\n%d bytes printed\n%d bytes searched\n%f seconds spent searching\n%f seconds\n",
		t.matches, t.lines, t.matched, t.searched, g.printedBytes(), t.bytes, took, took)
}

// printedBytes is how much of the output are lines.
func (g *rgRun) printedBytes() int64 {
	if g.mode == 0 || g.mode == 'j' {
		return g.out.n
	}
	return 0
}

// rgOutput counts the bytes that are printed.
type rgOutput struct {
	w *proc.Writer
	n int64
}

func (o *rgOutput) Write(b []byte) (int, error) {
	o.n += int64(len(b))
	return o.w.Write(b)
}

func (o *rgOutput) WriteString(s string) {
	o.n += int64(len(s))
	_, _ = o.w.WriteString(s)
}

func (o *rgOutput) put(b []byte) {
	o.n += int64(len(b))
	_, _ = o.w.Write(b)
}

func (o *rgOutput) putByte(c byte) {
	o.n++
	_ = o.w.WriteByte(c)
}

func (o *rgOutput) printf(format string, args ...any) { _, _ = fmt.Fprintf(o, format, args...) }
