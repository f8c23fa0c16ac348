package grep

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// binaryLook is how far into a file a NUL byte makes it binary at once.
const binaryLook = 64 << 10

// search searches one file. A file that was found in a directory is left out when it is binary; one that was named is
// searched, but its lines are not shown.
func (g *rgRun) search(name string, data []byte, explicit bool) {
	g.name, g.shown, g.printed, g.lineNo, g.counted, g.selected, g.matches = name, false, -1, 1, 0, 0, 0
	g.total.searched++
	nul := -1
	if !g.text && g.delim == '\n' {
		nul = bytes.IndexByte(data, 0)
	}
	quit := false
	if nul >= 0 {
		switch {
		case explicit || g.showBinary:
			data = bytes.Clone(data)
			g.p.Hold(len(data))
			defer g.p.Release(len(data))
			for i, c := range data {
				if c == 0 {
					data[i] = '\n'
				}
			}
		case nul < binaryLook:
			g.total.bytes += int64(nul)
			return
		default:
			data, quit = data[:nul], true
		}
	}
	g.total.bytes += int64(len(data))
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		data = data[3:]
	}
	if g.multiline {
		g.spans(data, nul, quit)
	} else {
		g.lines(data, nul, quit)
	}
	g.total.matches += g.matches
	g.total.lines += g.selected
	if g.selected > 0 {
		g.total.matched++
	}
	g.report(nul, quit)
}

// report ends a file.
func (g *rgRun) report(nul int, quit bool) {
	found := g.selected > 0
	if g.mode == 'L' {
		found = !found
	}
	if found {
		g.matchedAny = true
		if g.quiet && !g.stats {
			g.p.Exit(0)
		}
	}
	if g.quiet {
		return
	}
	switch g.mode {
	case 'c', 'm':
		n := g.selected
		if g.mode == 'm' {
			n = g.matches
		}
		if n == 0 && !g.zero {
			return
		}
		if g.paths {
			g.path(g.name)
			if g.nul {
				g.out.putByte(0)
			} else {
				g.out.WriteString(":")
			}
		}
		g.out.WriteString(strconv.Itoa(n))
		g.out.putByte('\n')
	case 'l', 'L':
		if found {
			g.path(g.name)
			g.endName()
		}
	case 'j':
		g.json.end(nul)
	default:
		if quit && g.shown {
			if g.paths && !g.heading {
				g.path(g.name)
				g.out.WriteString(": ")
			}
			g.out.printf("WARNING: stopped searching binary file after match (found \"\\0\" byte around offset %d)\n", nul)
		}
	}
}

func (g *rgRun) endName() {
	if g.nul {
		g.out.putByte(0)
		return
	}
	g.out.putByte('\n')
}

// lines searches line by line.
func (g *rgRun) lines(b []byte, nul int, quit bool) {
	for pos := 0; pos < len(b); {
		s, e, ok := g.next(b, pos)
		if !g.invert {
			if !ok {
				break
			}
			pos = min(e+1, len(b))
			if !g.selectLines(b, s, pos, nul, quit) {
				return
			}
			continue
		}
		if !ok {
			s, e = len(b), len(b)
		}
		for pos < s {
			end := lineEndAt(b, pos, g.delim)
			g.p.Tick(1)
			if !g.selectLines(b, pos, end, nul, quit) {
				return
			}
			pos = end
		}
		pos = e + 1
	}
	g.context(b, len(b))
}

func lineEndAt(b []byte, pos int, delim byte) int {
	if i := bytes.IndexByte(b[pos:], delim); i >= 0 {
		return pos + i + 1
	}
	return len(b)
}

// next finds the next line with a match at or after pos, without its delimiter.
func (g *rgRun) next(b []byte, pos int) (s, e int, ok bool) {
	return matchingLine(g.p, g.re, b, pos, g.delim)
}

// spans searches the whole text (-U): a match selects the lines it touches.
func (g *rgRun) spans(b []byte, nul int, quit bool) {
	last := 0 // end of the lines selected so far
	first, end, count := -1, 0, 0
	flush := func() bool {
		if first < 0 {
			return true
		}
		s, e := first, end
		first = -1
		if !g.invert {
			last = e
			g.matches += count
			return g.selectSpan(b, s, e, nul, quit)
		}
		for last < s {
			n := lineEndAt(b, last, '\n')
			if !g.selectLines(b, last, n, nul, quit) {
				return false
			}
			last = n
		}
		last = e
		return true
	}
	for pos := 0; pos <= len(b); {
		g.p.Tick(1)
		a, z, ok := g.re.FindIndex(b, pos)
		if !ok || a >= len(b) && len(b) > 0 {
			break
		}
		s := bytes.LastIndexByte(b[:a], '\n') + 1
		e := lineEndAt(b, max(z-1, a), '\n')
		if first >= 0 && s >= end {
			if !flush() {
				return
			}
		}
		if first < 0 {
			first, count = s, 0
		}
		end = max(end, e)
		count++
		pos = z
		if a == z {
			pos++
		}
	}
	if !flush() {
		return
	}
	if g.invert {
		first, end = len(b), len(b)
		if !flush() {
			return
		}
	}
	g.context(b, len(b))
}

// selectLines handles a selected line b[s:e], with its delimiter; it reports whether to go on.
func (g *rgRun) selectLines(b []byte, s, e int, nul int, quit bool) bool {
	if !g.invert && g.counting() {
		g.matches += g.countMatches(g.bare(b, s, e))
	} else {
		g.matches++
	}
	return g.selectSpan(b, s, e, nul, quit)
}

// counting reports whether somebody asks how many matches a line has.
func (g *rgRun) counting() bool { return g.mode == 'm' || g.stats || g.mode == 'j' }

func (g *rgRun) countMatches(line []byte) int {
	n := 0
	g.eachMatch(line, func([]int) { n++ })
	return n
}

// bare is a line without its delimiter.
func (g *rgRun) bare(b []byte, s, e int) []byte {
	if e > s && b[e-1] == g.delim {
		e--
	}
	return b[s:e]
}

// eachMatch calls f with the bounds of every match of text and its groups.
func (g *rgRun) eachMatch(text []byte, f func(loc []int)) {
	last := -1
	for pos := 0; pos <= len(text); {
		g.p.Tick(1)
		loc := g.re.FindSubmatchIndex(text, pos)
		if loc == nil {
			return
		}
		if loc[0] == loc[1] && loc[0] == last {
			_, n := utf8.DecodeRune(text[loc[0]:])
			pos = loc[0] + max(n, 1)
			last = -1
			continue
		}
		f(loc)
		last = loc[1]
		pos = loc[1]
		if loc[0] == loc[1] {
			_, n := utf8.DecodeRune(text[pos:])
			pos += max(n, 1)
		}
	}
}

func (g *rgRun) selectSpan(b []byte, s, e int, nul int, quit bool) bool {
	g.selected++
	g.matchedAny = true
	if g.quiet && g.mode != 'L' {
		if !g.stats {
			g.p.Exit(0)
		}
		return true
	}
	switch g.mode {
	case 'l', 'L':
		return g.stats
	case 'c', 'm':
		return g.selected < g.maxCount
	}
	if nul >= 0 && !quit && g.mode == 0 && (nul < binaryLook || e > nul) {
		if g.paths {
			g.path(g.name)
			g.out.WriteString(": ")
		}
		g.out.printf("binary file matches (found \"\\0\" byte around offset %d)\n", nul)
		return false
	}
	g.context(b, s)
	start := s
	for low := max(g.printed, 0); start > low && g.before > 0 && linesBetween(b, start, s, g.delim) < g.before; {
		start = bytes.LastIndexByte(b[:start-1], g.delim) + 1
	}
	g.separate(start)
	for start < s {
		end := lineEndAt(b, start, g.delim)
		g.printContext(b, start, end)
		start = end
	}
	g.printMatch(b, s, e)
	g.printed = e
	if g.selected >= g.maxCount {
		g.context(b, len(b))
		return false
	}
	return true
}

// linesBetween counts the lines of b[from:to].
func linesBetween(b []byte, from, to int, delim byte) int {
	return bytes.Count(b[from:to], []byte{delim})
}
