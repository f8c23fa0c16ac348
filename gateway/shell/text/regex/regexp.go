package regex

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
)

// Dialect says whose rules about odd patterns hold.
type Dialect uint8

// The dialects. They differ in what they do with operators that have nothing to repeat, unmatched
// closing parentheses and malformed intervals.
const (
	Posix Dialect = iota // regcomp(3): bash, expr, find
	Sed
	Grep // lenient, with [Regexp.Warnings]
	Awk  // backslash escapes inside brackets too, \y; always Extended
)

// strict dialects refuse what lenient ones take literally or skip.
func (d Dialect) strict() bool { return d == Posix || d == Sed }

// dfa is true for the programs that check patterns with GNU's DFA matcher first.
func (d Dialect) dfa() bool { return d == Sed || d == Grep }

// Options select the syntax and the meaning of a pattern.
type Options struct {
	Dialect    Dialect
	Extended   bool
	IgnoreCase bool
	Multiline  bool // ^ and $ match at newlines too (sed's M)
	Literal    bool // the pattern is a plain string (grep -F)
	Perl       bool // Perl syntax (grep -P)
	Unicode    bool // with Perl: \w, \d, \s and \b are those of all scripts, not ASCII's (rg)
	Bytes      bool // every byte is a character (LC_ALL=C)
	WholeLine  bool // matches must be the whole text (grep -x)
	WholeWord  bool // matches must not touch word characters (grep -w)
	NoAnchors  bool // ^ and $ never match (grep -z)

	// Tick is nil, or called while a long pattern is compiled; see [Regexp.SetTick].
	Tick func(int)
}

func (o *Options) tick(n int) {
	if o.Tick != nil {
		o.Tick(n)
	}
}

// Regexp is a compiled pattern. It is not safe for concurrent use.
type Regexp struct {
	opt        Options
	groups     int
	warnings   []string
	prog       *prog
	filter     *prog // a superset without back-references, when prog has some
	exact      needle
	isExact    bool    // the pattern is just this string
	lit        *needle // every match contains this
	finder     *finder
	coarse     bool     // MatchLine may return lines that only seem to have a match
	hits       int      // lines with lit, or what finder looks for, that have a match
	misses     int      // those that have none
	pieces     [][]byte // every match contains each of these
	lacking    []int    // how many of the first misses did not have the piece
	first      [256]bool
	nonempty   bool // first is known
	oneByte    int  // the only byte a match begins with, -1 when there are more
	pinned     bool // matches begin at 0 only
	vm         *machine
	dfas       [3]*dfa
	tick       func(int)
	perl       *perlRegexp
	lines      *Regexp // matches at least the lines that perl does; nil when there is none
	exactly    bool    // lines matches no others
	asciiWords bool    // only ASCII characters are of words
	loc        []int
}

// Compile compiles one pattern.
func Compile(pattern string, opt Options) (*Regexp, error) {
	return CompileAll([]string{pattern}, opt)
}

// CompileAll compiles the alternation of patterns; a back-reference means a group of
// its own pattern. No patterns at all match nothing.
func CompileAll(patterns []string, opt Options) (*Regexp, error) {
	if opt.Dialect == Awk {
		opt.Extended = true
	}
	re := &Regexp{opt: opt, oneByte: -1}
	if opt.Perl {
		var err error
		re.perl, err = compilePerl(strings.Join(patterns, "|"), opt)
		if err != nil {
			return nil, err
		}
		re.groups = re.perl.groups
		re.lines, re.exactly = re.perl.filter, re.perl.exactly
		return re, nil
	}
	alt := &node{op: opAlt}
	for _, src := range patterns {
		n, groups, warn, err := parse(src, opt, re.groups)
		if err != nil {
			return nil, err
		}
		re.warnings = append(re.warnings, warn...)
		re.groups += groups
		alt.sub = append(alt.sub, n)
	}
	var root *node
	switch len(alt.sub) {
	case 0:
		root = &node{op: opSet}
	case 1:
		root = alt.sub[0]
	default:
		root = alt
	}
	wrap := func(a, b assertion) {
		root = &node{op: opCat, sub: []*node{{op: opAssert, assert: a}, root, {op: opAssert, assert: b}}}
	}
	switch {
	case opt.WholeLine:
		wrap(bot, eot)
	case opt.WholeWord:
		wrap(noWordPrev, noWordNext)
	}
	if opt.NoAnchors {
		unanchor(root)
	}
	if err := re.build(root); err != nil {
		return nil, err
	}
	return re, nil
}

// build makes what matches root.
func (re *Regexp) build(root *node) (err error) {
	opt := re.opt
	limit := rune(maxRune)
	if opt.Bytes {
		limit = maxByte
	}
	if re.prog, err = compile(root, re.groups, opt, false); err != nil {
		return err
	}
	re.prog.asciiWords = re.asciiWords
	if s, ok := exactString(root, limit); ok {
		re.exact, re.isExact = needle{text: []byte(s)}, true
	}
	if lits := analyse(root, limit, &opt).best(); len(lits) == 1 && len(lits[0]) >= 2 {
		re.lit = &needle{text: []byte(lits[0])}
	}
	if !re.isExact {
		re.finder = newFinder(root, limit, &opt)
		for _, s := range pieces(root, limit) {
			re.pieces = append(re.pieces, []byte(s))
		}
		re.lacking = make([]int, len(re.pieces))
	}
	if re.prog.backrefs {
		if re.filter, err = compile(root, re.groups, opt, true); err != nil {
			return err
		}
	}
	re.first, re.nonempty = firstBytes(re.prog)
	if re.nonempty {
		for c, in := range re.first {
			if in && re.oneByte >= 0 {
				re.oneByte = -1
				break
			} else if in {
				re.oneByte = c
			}
		}
	}
	re.pinned = pinned(root, opt.Multiline)
	re.vm = newMachine(re.prog, opt.Multiline)
	return nil
}

// unanchor makes ^ and $ match nowhere.
func unanchor(n *node) {
	if n.op == opAssert && (n.assert == bol || n.assert == eol) {
		*n = node{op: opSet}
	}
	for _, s := range n.sub {
		unanchor(s)
	}
}

// pinned reports whether every match of n begins at the start of the text.
func pinned(n *node, multi bool) bool {
	switch n.op {
	case opAssert:
		return n.assert == bot || n.assert == bol && !multi
	case opGroup:
		return pinned(n.sub[0], multi)
	case opCat:
		return len(n.sub) > 0 && pinned(n.sub[0], multi)
	case opAlt:
		for _, s := range n.sub {
			if !pinned(s, multi) {
				return false
			}
		}
		return len(n.sub) > 0
	}
	return false
}

// SetTick installs a function that is called with units of work, often enough for a
// cancelled exec to stop in time; it may panic. proc.Process.Tick is one.
func (re *Regexp) SetTick(tick func(int)) {
	re.tick = tick
	if re.vm != nil {
		re.vm.tick = tick
	}
	if re.lines != nil {
		re.lines.SetTick(tick)
	}
}

// Groups is the number of groups in the pattern.
func (re *Regexp) Groups() int { return re.groups }

// Warnings are what grep says about the pattern on stderr.
func (re *Regexp) Warnings() []string { return re.warnings }

func (re *Regexp) dfa(m mode) *dfa {
	if re.dfas[m] == nil {
		p := re.prog
		if p.backrefs {
			p = re.filter
		}
		re.dfas[m] = newDFA(p, m, re.opt.Multiline)
	}
	return re.dfas[m]
}

// Match reports whether b contains a match.
func (re *Regexp) Match(b []byte) bool {
	switch {
	case re.perl != nil:
		return re.perl.find(b, 0, re.tick) != nil
	case re.isExact:
		return re.exact.index(b) >= 0
	}
	if re.lit != nil && re.lit.index(b) < 0 {
		return false
	}
	return re.matchText(b)
}

// matchText is Match without the literal filter.
func (re *Regexp) matchText(b []byte) bool {
	_, ok, quit := re.dfa(search).earliest(b, 0, ctxText, re.tick)
	switch {
	case re.prog.backrefs && (ok || quit):
		_, _, ok = re.findBackref(b, 0, true, nil)
	case quit:
		_, _, ok = re.vm.find(b, 0, false)
	}
	return ok
}

// FindIndex returns the bounds of the leftmost-longest match that begins at or after start.
func (re *Regexp) FindIndex(b []byte, start int) (s, e int, ok bool) {
	if re.perl != nil {
		loc := re.perl.find(b, start, re.tick)
		if loc == nil {
			return 0, 0, false
		}
		return loc[0], loc[1], true
	}
	if re.isExact {
		i := re.exact.index(b[start:])
		return start + i, start + i + len(re.exact.text), i >= 0
	}
	if re.lit != nil && re.lit.index(b[start:]) < 0 {
		return 0, 0, false
	}
	if re.prog.backrefs {
		return re.findBackref(b, start, false, nil)
	}
	return re.find(b, start)
}

// FindSubmatchIndex returns the bounds of the match and its groups in pairs, -1 for a group that took
// no part, or nil. The slice is reused by the next call.
func (re *Regexp) FindSubmatchIndex(b []byte, start int) []int {
	if re.perl != nil {
		return re.perl.find(b, start, re.tick)
	}
	n := 2 * (re.groups + 1)
	if cap(re.loc) < n {
		re.loc = make([]int, n)
	}
	loc := re.loc[:n]
	for i := range loc {
		loc[i] = -1
	}
	if re.prog.backrefs {
		s, e, ok := re.findBackref(b, start, false, loc)
		if !ok {
			return nil
		}
		loc[0], loc[1] = s, e
		return loc
	}
	s, e, ok := re.FindIndex(b, start)
	if !ok {
		return nil
	}
	if re.groups > 0 {
		re.vm.groups(b, s, e, loc)
	}
	loc[0], loc[1] = s, e
	return loc
}

// find is FindIndex for programs without back-references.
func (re *Regexp) find(b []byte, start int) (s, e int, ok bool) {
	if re.pinned {
		if start > 0 {
			return 0, 0, false
		}
		e, quit := re.dfa(anchored).longest(b, 0, ctxText)
		if quit {
			return re.vm.find(b, 0, true)
		}
		return 0, e, e >= 0
	}
	end, ok, quit := re.dfa(search).earliest(b, start, contextAt(b, start, re.opt.Bytes), re.tick)
	if quit {
		return re.vm.find(b, start, false)
	}
	if !ok {
		return 0, 0, false
	}
	// A match begins at or before end: try the places from the left.
	d := re.dfa(anchored)
	cost := 0
	for s = start; s <= end; {
		if re.nonempty {
			if re.oneByte >= 0 {
				i := bytes.IndexByte(b[s:], byte(re.oneByte))
				if i < 0 {
					break
				}
				s += i
			} else if s < len(b) && !re.first[b[s]] {
				s++
				continue
			}
		}
		e, quit := d.longest(b, s, contextAt(b, s, re.opt.Bytes))
		if quit {
			return re.vm.find(b, s, false)
		}
		if e >= 0 {
			return s, e, true
		}
		if cost++; cost > 64 { // many false starts: one pass that knows all of them
			return re.vm.find(b, s, false)
		}
		if s == len(b) {
			break
		}
		s += runeLen(b, s, re.opt.Bytes)
	}
	return re.vm.find(b, start, false)
}

// findBackref tries every start; any asks only whether there is a match.
func (re *Regexp) findBackref(b []byte, start int, any bool, loc []int) (s, e int, ok bool) {
	_, ok, quit := re.dfa(search).earliest(b, start, contextAt(b, start, re.opt.Bytes), re.tick)
	if !ok && !quit {
		return 0, 0, false
	}
	for s = start; s <= len(b); {
		if re.nonempty && (s == len(b) || !re.first[b[s]]) {
			s++
			continue
		}
		if e := re.vm.backtrack(b, s, any, re.opt.IgnoreCase, loc); e >= 0 {
			return s, e, true
		}
		if re.pinned || s == len(b) {
			break
		}
		s += runeLen(b, s, re.opt.Bytes)
	}
	return 0, 0, false
}

// MatchLine returns the bounds, without the newline, of the first line at or after pos that
// contains a match. pos must be the start of a line. A newline at the end of b ends the last line.
func (re *Regexp) MatchLine(b []byte, pos int) (start, end int, ok bool) {
	if re.perl != nil && !re.exactly && re.perl.own != nil && re.perl.own.byPrefix() {
		for {
			s, e, ok := re.perl.own.line(b, pos, re.tick)
			if ok || e == 0 || re.Match(b[s:e]) {
				return s, e, ok || e > 0
			}
			pos = min(e+1, len(b))
		}
	}
	if re.lines != nil {
		for {
			s, e, ok := re.lines.MatchLine(b, pos)
			if !ok || re.exactly || re.Match(b[s:e]) {
				return s, e, ok
			}
			pos = min(e+1, len(b))
		}
	}
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
		if pos == n {
			return 0, 0, false
		}
	} else if pos == n {
		return 0, 0, false
	}
	switch {
	case re.perl != nil:
		return re.eachLine(b, pos)
	case re.finder != nil && (re.lit == nil || re.misses > 64 && re.misses > 2*re.hits):
		return re.finderLine(b, pos)
	case re.lit != nil || re.isExact && len(re.exact.text) > 0:
		return re.literalLine(b, pos)
	}
	end, ok, quit := re.dfa(lines).earliest(b, pos, ctxText, re.tick)
	if quit {
		// Decide the line that has the character, then go on with bytes.
		for {
			s := bytes.LastIndexByte(b[:end], '\n') + 1
			e := lineEnd(b, end)
			if re.matchText(b[s:e]) {
				return s, e, true
			}
			if e == len(b) {
				return 0, 0, false
			}
			pos = e + 1
			end, ok, quit = re.dfa(lines).earliest(b, pos, ctxText, re.tick)
			if !quit {
				break
			}
		}
	}
	if ok {
		s := bytes.LastIndexByte(b[:end], '\n') + 1
		e := lineEnd(b, end)
		if !re.prog.backrefs || re.matchText(b[s:e]) {
			return s, e, true
		}
		if e == len(b) {
			return 0, 0, false
		}
		return re.MatchLine(b, e+1)
	}
	return 0, 0, false
}

// samples is how many lines without a match decide which piece is looked for.
const samples = 256

// confirm decides whether a line with a literal of the pattern is a match. When most are none for the lack of another
// piece of the pattern, that one is looked for from then on.
func (re *Regexp) confirm(line []byte) bool {
	if re.coarse || re.matchText(line) {
		re.hits++
		return true
	}
	if re.misses++; re.misses <= samples && len(re.pieces) > 1 {
		for i, p := range re.pieces {
			if !bytes.Contains(line, p) {
				re.lacking[i]++
			}
		}
		if re.misses == samples && re.misses > re.hits/2 {
			rarest := 0
			for i, n := range re.lacking {
				if n > re.lacking[rarest] {
					rarest = i
				}
			}
			if re.lacking[rarest] > samples/2 {
				re.lit, re.finder = &needle{text: re.pieces[rarest]}, nil
			}
		}
	}
	return false
}

func lineEnd(b []byte, pos int) int {
	i := bytes.IndexByte(b[pos:], '\n')
	if i < 0 {
		return len(b)
	}
	return pos + i
}

// lineStart is where the line of b[pos] begins, not before least. Eight bytes at a time: bytes.LastIndexByte takes them
// one by one.
func lineStart(b []byte, least, pos int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for pos-least >= 8 {
		x := binary.LittleEndian.Uint64(b[pos-8:]) ^ '\n'*ones
		// The top bit of each byte of x that is zero; exact, unlike the subtraction alone.
		if zero := ^((x&^tops + ^uint64(tops)) | x | ^uint64(tops)); zero != 0 {
			return pos - bits.LeadingZeros64(zero)/8
		}
		pos -= 8
	}
	return least + bytes.LastIndexByte(b[least:pos], '\n') + 1
}

func (re *Regexp) eachLine(b []byte, pos int) (start, end int, ok bool) {
	for {
		e := lineEnd(b, pos)
		if re.tick != nil {
			re.tick(1 + (e-pos)>>10)
		}
		if re.Match(b[pos:e]) {
			return pos, e, true
		}
		if e == len(b) {
			return 0, 0, false
		}
		pos = e + 1
	}
}

// literalLine looks for the literal and verifies the lines that have it.
func (re *Regexp) literalLine(b []byte, pos int) (start, end int, ok bool) {
	const slice = 4 << 20 // searched between ticks
	lit := re.lit
	if re.isExact {
		lit = &re.exact
	}
	for {
		stop := len(b)
		if stop-pos > slice {
			stop = lineEnd(b, pos+slice)
		}
		if re.tick != nil {
			re.tick(1 + (stop-pos)>>12)
		}
		part := b[:stop]
		for {
			i := lit.index(part[pos:])
			if i < 0 {
				break
			}
			i += pos
			s := lineStart(part, pos, i)
			e := lineEnd(part, i)
			if re.isExact || re.confirm(part[s:e]) {
				return s, e, true
			}
			if e == len(part) {
				break
			}
			pos = e + 1
		}
		if stop == len(b) {
			return 0, 0, false
		}
		pos = stop + 1
	}
}
