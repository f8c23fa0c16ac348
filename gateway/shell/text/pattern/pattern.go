package pattern

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Flags change how a pattern is read.
type Flags uint8

const (
	// FoldCase ignores case.
	FoldCase Flags = 1 << iota
	// ExtGlob recognises ?(…) *(…) +(…) @(…) !(…).
	ExtGlob
	// Bytes makes every byte a character, as the C locale does.
	Bytes
)

// maxNest bounds the nesting of extended patterns: reading them recurses over it.
const maxNest = 200

type kind uint8

const (
	kLit kind = iota
	kAny
	kClass
	kStar
	kExt
)

type elem struct {
	kind  kind
	lit   string // kLit
	chars int    // kLit: characters in lit
	class *class
	group *group // kExt
}

// group is an extended form.
type group struct {
	op   byte // one of ?*+@!
	alts [][]elem
}

// Pattern is a compiled pattern. It is immutable and safe for concurrent use.
type Pattern struct {
	elems []elem
	segs  [][]elem // the elements between stars; nil for extended patterns
	chars []int    // characters each segment matches
	prog  *program // of an extended pattern
	fold  bool
	bytes bool
	step  func() // nil, or called for every stepChars characters looked at
}

// stepChars is how many characters take about as long as a step of a script.
const stepChars = 64

// Counting returns the pattern with a function that its matches call all the time that they take, about every
// microsecond. The function may panic to end one.
func (p *Pattern) Counting(step func()) *Pattern {
	c := *p
	c.step = step
	return &c
}

// Backtracks reports whether even a short text may take long.
func (p *Pattern) Backtracks() bool { return p.prog != nil }

// work counts what a call looks at.
type work struct {
	p *Pattern
	n int
}

// count is how many characters s has.
func (w *work) count(s string) int {
	if w.p.bytes {
		return len(s)
	}
	return utf8.RuneCountInString(s)
}

// look counts n characters, or elements of the pattern, that were looked at.
func (w *work) look(n int) {
	if w.n += n; w.n >= stepChars {
		w.n = 0
		if w.p.step != nil {
			w.p.step()
		}
	}
}

// HasMeta reports whether s holds an unquoted pattern character.
func HasMeta(s string, ext bool) bool {
	last := -1 // ']'
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*', '?':
			return true
		case '[': // without its end it stands for itself
			if last < 0 {
				last = strings.LastIndexByte(s, ']')
			}
			if last > i {
				return true
			}
			last = 0
		case '\\':
			i++
		case '+', '@', '!':
			if ext && i+1 < len(s) && s[i+1] == '(' {
				return true
			}
		}
	}
	return false
}

// Quote returns a pattern that matches s alone.
func Quote(s string) string {
	if !strings.ContainsAny(s, special) {
		return s
	}
	return string(AppendQuoted(nil, s))
}

const special = `*?[]\!()|+@-^`

// AppendQuoted appends s to dst with every pattern character quoted.
func AppendQuoted(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(special, s[i]) >= 0 {
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return dst
}

// Unquote removes the backslashes that quote characters.
func Unquote(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b = append(b, s[i])
	}
	return string(b)
}

// Compile reads a pattern. Every string is a pattern: what is malformed matches itself. step, unless it is nil, is
// called as by the matches of [Pattern.Counting], by Compile and by all matches.
func Compile(s string, flags Flags, step func()) *Pattern {
	p := &Pattern{fold: flags&FoldCase != 0, bytes: flags&Bytes != 0, step: step}
	c := compiler{flags: flags, w: work{p: p}, colons: strings.LastIndex(s, ":]"), brackets: strings.LastIndexByte(s, ']')}
	if flags&ExtGlob != 0 && strings.IndexByte(s, '(') >= 0 {
		c.pair(s)
	}
	p.elems, _ = c.list(s, 0, false)
	if c.ext {
		p.prog = newProgram(p, false)
		return p
	}
	var seg []elem
	add := func() {
		n := 0
		for i := range seg {
			n += seg[i].width()
		}
		p.segs = append(p.segs, seg)
		p.chars = append(p.chars, n)
	}
	start := 0
	for i := range p.elems {
		if p.elems[i].kind == kStar {
			seg = p.elems[start:i:i]
			add()
			start = i + 1
		}
	}
	seg = p.elems[start:]
	add()
	return p
}

// width is how many characters an element of one width matches.
func (e *elem) width() int {
	if e.kind == kLit {
		return e.chars
	}
	return 1
}

type compiler struct {
	flags    Flags
	ext      bool
	depth    int
	open     []bool // for each offset, whether it is that of a '(' that is closed
	colons   int    // offset of the last ":]"
	brackets int    // offset of the last ']'
	w        work
}

// pair finds the parentheses that have a partner, so that no group is tried in vain: each try reads to the end.
func (c *compiler) pair(s string) {
	c.open = make([]bool, len(s))
	var stack []int32
	for i := 0; i < len(s); i++ {
		c.w.look(1)
		switch s[i] {
		case '\\':
			i++
		case '(':
			stack = append(stack, int32(i))
		case ')':
			if n := len(stack); n > 0 {
				c.open[stack[n-1]] = true
				stack = stack[:n-1]
			}
		}
	}
}

// list reads elements up to the end, or inside parentheses up to '|' or ')'.
func (c *compiler) list(s string, i int, nested bool) ([]elem, int) {
	var out []elem
	var run []byte // literal text that is not in out yet
	lit := func(t string) { run = append(run, t...) }
	flush := func() {
		if len(run) > 0 {
			t := string(run)
			out = append(out, elem{kind: kLit, lit: t, chars: c.w.count(t)})
			run = run[:0]
		}
	}
	for i < len(s) {
		c.w.look(1)
		ch := s[i]
		if nested && (ch == '|' || ch == ')') {
			flush()
			return out, i
		}
		if c.flags&ExtGlob != 0 && i+1 < len(s) && s[i+1] == '(' && strings.IndexByte("?*+@!", ch) >= 0 &&
			c.depth < maxNest && c.open != nil && c.open[i+1] {
			if e, end, ok := c.group(s, i); ok {
				c.ext = true
				flush()
				out = append(out, e)
				i = end
				continue
			}
		}
		switch ch {
		case '*':
			flush()
			if n := len(out); n == 0 || out[n-1].kind != kStar {
				out = append(out, elem{kind: kStar})
			}
			i++
		case '?':
			flush()
			out = append(out, elem{kind: kAny})
			i++
		case '[':
			if cl, end, ok := c.class(s, i); ok {
				flush()
				out = append(out, elem{kind: kClass, class: cl})
				i = end
				continue
			}
			lit("[")
			i++
		case '\\':
			if i+1 >= len(s) {
				lit("\\")
				i++
				continue
			}
			_, w := char(s, i+1, c.w.p.bytes)
			lit(s[i+1 : i+1+w])
			i += 1 + w
		default:
			j := i + 1
			for j < len(s) && strings.IndexByte("*?[\\|)+@!", s[j]) < 0 {
				j++
			}
			lit(s[i:j])
			i = j
		}
	}
	flush()
	return out, i
}

func (c *compiler) group(s string, i int) (e elem, end int, ok bool) {
	c.depth++
	defer func() { c.depth-- }()
	start := i
	g := &group{op: s[i]}
	i += 2
	for {
		var alt []elem
		alt, i = c.list(s, i, true)
		g.alts = append(g.alts, alt)
		if i >= len(s) {
			c.open[start+1] = false
			return elem{}, 0, false
		}
		i++
		if s[i-1] == ')' {
			return elem{kind: kExt, group: g}, i, true
		}
	}
}

// one matches a single-character or literal element at i and returns the end, or -1.
func (w *work) one(e *elem, s string, i int) int {
	switch e.kind {
	case kLit:
		if !w.p.fold {
			if strings.HasPrefix(s[i:], e.lit) {
				return i + len(e.lit)
			}
			return -1
		}
		for l := e.lit; l != ""; {
			w.look(1)
			if i >= len(s) {
				return -1
			}
			a, wa := char(l, 0, w.p.bytes)
			b, wb := char(s, i, w.p.bytes)
			if a != b && unicode.ToLower(a) != unicode.ToLower(b) {
				return -1
			}
			l, i = l[wa:], i+wb
		}
		return i
	case kAny:
		if i >= len(s) {
			return -1
		}
		_, n := char(s, i, w.p.bytes)
		return i + n
	case kClass:
		if i >= len(s) {
			return -1
		}
		r, n := char(s, i, w.p.bytes)
		if e.class.has(r, w.p.fold) {
			return i + n
		}
	}
	return -1
}

// char is the character at i and its length; an invalid byte, and each above ASCII where all bytes are characters, is
// its own character.
func char(s string, i int, bytes bool) (rune, int) {
	if c := s[i]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	if !bytes {
		if r, n := utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || n != 1 {
			return r, n
		}
	}
	return 0xDC00 + rune(s[i]), 1
}

func (w *work) seg(es []elem, s string, i int) int {
	for k := range es {
		w.look(1)
		if i = w.one(&es[k], s, i); i < 0 {
			return -1
		}
	}
	return i
}

// find returns the earliest place at or after i where the segment matches.
func (w *work) find(es []elem, s string, i int) (start, end int) {
	if len(es) == 0 {
		return i, i
	}
	for {
		w.look(1)
		if es[0].kind == kLit && !w.p.fold {
			k := strings.Index(s[i:], es[0].lit)
			if k < 0 {
				return -1, -1
			}
			i += k
		}
		if e := w.seg(es, s, i); e >= 0 {
			return i, e
		}
		if i >= len(s) {
			return -1, -1
		}
		_, n := char(s, i, w.p.bytes)
		i += n
	}
}

// rfind returns the latest place from which the segment matches and ends at or before limit, not before low.
func (w *work) rfind(es []elem, chars int, s string, low, limit int) int {
	for i := back(s, limit, chars, w.p.bytes); i >= low && i >= 0; i = back(s, i, 1, w.p.bytes) {
		w.look(1)
		if e := w.seg(es, s, i); e >= 0 && e <= limit {
			return i
		}
	}
	return -1
}

// back steps n characters back from i, or returns -1.
func back(s string, i, n int, bytes bool) int {
	if bytes {
		return max(i-n, -1)
	}
	for ; n > 0; n-- {
		if i <= 0 {
			return -1
		}
		_, w := utf8.DecodeLastRuneInString(s[:i])
		i -= w
	}
	return i
}

// Match reports whether the pattern matches all of s.
func (p *Pattern) Match(s string) bool {
	w := work{p: p}
	if p.prog != nil {
		return w.run(p.prog, s, 0, true) == len(s)
	}
	n := len(p.segs)
	i := w.seg(p.segs[0], s, 0)
	if n == 1 {
		return i == len(s)
	}
	if i < 0 {
		return false
	}
	last := back(s, len(s), p.chars[n-1], p.bytes)
	if last < i || w.seg(p.segs[n-1], s, last) != len(s) {
		return false
	}
	for _, g := range p.segs[1 : n-1] {
		if _, i = w.find(g, s, i); i < 0 || i > last {
			return false
		}
	}
	return true
}

// at matches from i on and returns the shortest or longest end, or -1; never means that no later start can match
// either.
func (w *work) at(s string, i int, longest bool) (end int, never bool) {
	p := w.p
	if p.prog != nil {
		return w.run(p.prog, s, i, longest), false
	}
	j := w.seg(p.segs[0], s, i)
	n := len(p.segs)
	if j < 0 || n == 1 {
		return j, false
	}
	for _, g := range p.segs[1 : n-1] {
		if _, j = w.find(g, s, j); j < 0 {
			return -1, true
		}
	}
	g := p.segs[n-1]
	if !longest {
		_, j = w.find(g, s, j)
		return j, j < 0
	}
	if len(g) == 0 {
		return len(s), false
	}
	k := w.rfind(g, p.chars[n-1], s, j, len(s))
	if k < 0 {
		return -1, true
	}
	return w.seg(g, s, k), false
}

// Prefix returns the length of the shortest or longest prefix of s that matches, or -1.
func (p *Pattern) Prefix(s string, longest bool) int {
	e, _ := (&work{p: p}).at(s, 0, longest)
	return e
}

// Suffix returns where the shortest or longest suffix of s that matches begins, or -1.
func (p *Pattern) Suffix(s string, longest bool) int {
	w := &work{p: p}
	if p.prog != nil {
		return w.run(newProgram(p, true), s, len(s), longest)
	}
	n := len(p.segs)
	last := back(s, len(s), p.chars[n-1], p.bytes)
	if last < 0 || w.seg(p.segs[n-1], s, last) != len(s) {
		return -1
	}
	if n == 1 {
		return last
	}
	if longest {
		start, i := w.find(p.segs[0], s, 0)
		for _, g := range p.segs[1 : n-1] {
			if i < 0 {
				return -1
			}
			_, i = w.find(g, s, i)
		}
		if i < 0 || i > last {
			return -1
		}
		return start
	}
	for k := n - 2; k >= 0; k-- {
		if last = w.rfind(p.segs[k], p.chars[k], s, 0, last); last < 0 {
			return -1
		}
	}
	return last
}

// Find returns the leftmost, then longest, match at or after from; start is -1 when there is none.
func (p *Pattern) Find(s string, from int) (start, end int) {
	w := &work{p: p}
	for i := from; ; w.look(1) {
		if p.prog == nil && !p.fold && len(p.segs[0]) > 0 && p.segs[0][0].kind == kLit {
			k := strings.Index(s[i:], p.segs[0][0].lit)
			if k < 0 {
				return -1, -1
			}
			i += k
		}
		e, never := w.at(s, i, true)
		if e >= 0 {
			return i, e
		}
		if never || i >= len(s) {
			return -1, -1
		}
		_, n := char(s, i, w.p.bytes)
		i += n
	}
}
