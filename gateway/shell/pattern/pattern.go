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
)

// maxWork bounds the backtracking of one call, whatever number of matches it tries, of an extended pattern.
const maxWork = 4_000_000

// maxNest bounds the nesting of extended patterns: the matcher recurses over it.
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
	op    byte // kExt: one of ?*+@!
	alts  [][]elem
}

// Pattern is a compiled pattern. It is immutable and safe for concurrent use.
type Pattern struct {
	elems []elem
	segs  [][]elem // the elements between stars; nil for extended patterns
	chars []int    // characters each segment matches
	fold  bool
	ext   bool
	step  func() // nil, or called for every stepChars characters looked at
}

// stepChars is how many characters take about as long as a step of a script.
const stepChars = 64

// Counting returns the pattern with a function that its matches call all the time that they take, about every microsecond. The function may panic to end one.
func (p *Pattern) Counting(step func()) *Pattern {
	c := *p
	c.step = step
	return &c
}

// Backtracks reports whether even a short text may take long.
func (p *Pattern) Backtracks() bool { return p.ext }

// look counts one character that was looked at, of n so far.
func (p *Pattern) look(n *int) {
	if *n++; *n%stepChars == 0 && p.step != nil {
		p.step()
	}
}

// HasMeta reports whether s holds an unquoted pattern character.
func HasMeta(s string, ext bool) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*', '?':
			return true
		case '[': // without its end it stands for itself
			if strings.IndexByte(s[i+1:], ']') >= 0 {
				return true
			}
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

// Compile reads a pattern. Every string is a pattern: what is malformed matches itself.
func Compile(s string, flags Flags) *Pattern {
	c := compiler{flags: flags}
	if flags&ExtGlob != 0 {
		c.pair(s)
	}
	p := &Pattern{fold: flags&FoldCase != 0}
	p.elems, _ = c.list(s, 0, false)
	p.ext = c.ext
	if !p.ext {
		var seg []elem
		add := func() {
			n := 0
			for _, e := range seg {
				if e.kind == kLit {
					n += e.chars
				} else {
					n++
				}
			}
			p.segs = append(p.segs, seg)
			p.chars = append(p.chars, n)
			seg = nil
		}
		for _, e := range p.elems {
			if e.kind == kStar {
				add()
				continue
			}
			seg = append(seg, e)
		}
		add()
	}
	return p
}

type compiler struct {
	flags Flags
	ext   bool
	depth int
	open  map[int]bool // offsets of the '(' that are closed
}

// pair finds the parentheses that have a partner, so that no group is tried in vain: each try reads to the end.
func (c *compiler) pair(s string) {
	var stack []int
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '(':
			stack = append(stack, i)
		case ')':
			if n := len(stack); n > 0 {
				if c.open == nil {
					c.open = map[int]bool{}
				}
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
			out = append(out, elem{kind: kLit, lit: t, chars: utf8.RuneCountInString(t)})
			run = run[:0]
		}
	}
	for i < len(s) {
		ch := s[i]
		if nested && (ch == '|' || ch == ')') {
			flush()
			return out, i
		}
		if c.flags&ExtGlob != 0 && i+1 < len(s) && s[i+1] == '(' && strings.IndexByte("?*+@!", ch) >= 0 && c.depth < maxNest && c.open[i+1] {
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
			if cl, end, ok := parseClass(s, i, c.flags&FoldCase != 0); ok {
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
			_, w := utf8.DecodeRuneInString(s[i+1:])
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
	e = elem{kind: kExt, op: s[i]}
	i += 2
	for {
		var alt []elem
		alt, i = c.list(s, i, true)
		e.alts = append(e.alts, alt)
		if i >= len(s) {
			delete(c.open, start+1)
			return elem{}, 0, false
		}
		i++
		if s[i-1] == ')' {
			return e, i, true
		}
	}
}

// one matches a single-character or literal element at i and returns the end, or -1.
func (e *elem) one(s string, i int, fold bool) int {
	switch e.kind {
	case kLit:
		if !fold {
			if strings.HasPrefix(s[i:], e.lit) {
				return i + len(e.lit)
			}
			return -1
		}
		for l := e.lit; l != ""; {
			if i >= len(s) {
				return -1
			}
			a, wa := utf8.DecodeRuneInString(l)
			b, wb := utf8.DecodeRuneInString(s[i:])
			if a != b && unicode.ToLower(a) != unicode.ToLower(b) || wa == 1 && wb == 1 && a == utf8.RuneError && l[0] != s[i] {
				return -1
			}
			l, i = l[wa:], i+wb
		}
		return i
	case kAny:
		if i >= len(s) {
			return -1
		}
		_, w := utf8.DecodeRuneInString(s[i:])
		return i + w
	case kClass:
		if i >= len(s) {
			return -1
		}
		r, w := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && w == 1 {
			r = 0xDC00 + rune(s[i]) // an invalid byte is its own character
		}
		if e.class.has(r, fold) {
			return i + w
		}
	}
	return -1
}

func seg(es []elem, s string, i int, fold bool) int {
	for k := range es {
		if i = es[k].one(s, i, fold); i < 0 {
			return -1
		}
	}
	return i
}

// find returns the earliest place at or after i where the segment matches.
func (p *Pattern) find(es []elem, s string, i int) (start, end int) {
	if len(es) == 0 {
		return i, i
	}
	for n := 0; ; p.look(&n) {
		if es[0].kind == kLit && !p.fold {
			k := strings.Index(s[i:], es[0].lit)
			if k < 0 {
				return -1, -1
			}
			i += k
		}
		if e := seg(es, s, i, p.fold); e >= 0 {
			return i, e
		}
		if i >= len(s) {
			return -1, -1
		}
		_, w := utf8.DecodeRuneInString(s[i:])
		i += w
	}
}

// rfind returns the latest place from which the segment matches and ends at or before limit, not before low.
func (p *Pattern) rfind(es []elem, chars int, s string, low, limit int) int {
	i := back(s, limit, chars)
	for n := 0; i >= low && i >= 0; p.look(&n) {
		if e := seg(es, s, i, p.fold); e >= 0 && e <= limit {
			return i
		}
		if i == 0 {
			return -1
		}
		i = back(s, i, 1)
	}
	return -1
}

// back steps n characters back from i, or returns -1.
func back(s string, i, n int) int {
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
	if p.ext {
		return p.extended(&work{p: p}, s)
	}
	n := len(p.segs)
	i := seg(p.segs[0], s, 0, p.fold)
	if n == 1 {
		return i == len(s)
	}
	if i < 0 {
		return false
	}
	last := back(s, len(s), p.chars[n-1])
	if last < i || seg(p.segs[n-1], s, last, p.fold) != len(s) {
		return false
	}
	for _, g := range p.segs[1 : n-1] {
		if _, i = p.find(g, s, i); i < 0 || i > last {
			return false
		}
	}
	return true
}

// extended is Match for extended patterns. w is shared by all matches of one call, so that the bound is one, too.
func (p *Pattern) extended(w *work, s string) bool {
	return w.n <= maxWork && w.match(p.elems, s, 0, func(i int) bool { return i == len(s) })
}

// at matches from i on and returns the shortest or longest end, or -1; never means that no later start can match either.
func (p *Pattern) at(w *work, s string, i int, longest bool) (end int, never bool) {
	if p.ext {
		end = -1
		w.match(p.elems, s, i, func(j int) bool {
			if end < 0 || longest == (j > end) {
				end = j
			}
			return longest && j == len(s) || !longest && j == i
		})
		return end, false
	}
	j := seg(p.segs[0], s, i, p.fold)
	n := len(p.segs)
	if j < 0 || n == 1 {
		return j, false
	}
	for _, g := range p.segs[1 : n-1] {
		if _, j = p.find(g, s, j); j < 0 {
			return -1, true
		}
	}
	g := p.segs[n-1]
	if !longest {
		_, j = p.find(g, s, j)
		return j, j < 0
	}
	if len(g) == 0 {
		return len(s), false
	}
	k := p.rfind(g, p.chars[n-1], s, j, len(s))
	if k < 0 {
		return -1, true
	}
	return seg(g, s, k, p.fold), false
}

// Prefix returns the length of the shortest or longest prefix of s that matches, or -1.
func (p *Pattern) Prefix(s string, longest bool) int {
	e, _ := p.at(&work{p: p}, s, 0, longest)
	return e
}

// Suffix returns where the shortest or longest suffix of s that matches begins, or -1.
func (p *Pattern) Suffix(s string, longest bool) int {
	if p.ext {
		w := &work{p: p}
		if longest {
			for i := 0; ; {
				if p.extended(w, s[i:]) {
					return i
				}
				if i >= len(s) {
					return -1
				}
				_, n := utf8.DecodeRuneInString(s[i:])
				i += n
			}
		}
		for i := len(s); i >= 0; i = back(s, i, 1) {
			if p.extended(w, s[i:]) {
				return i
			}
		}
		return -1
	}
	n := len(p.segs)
	last := back(s, len(s), p.chars[n-1])
	if last < 0 || seg(p.segs[n-1], s, last, p.fold) != len(s) {
		return -1
	}
	if n == 1 {
		return last
	}
	if longest {
		start, i := p.find(p.segs[0], s, 0)
		for _, g := range p.segs[1 : n-1] {
			if i < 0 {
				return -1
			}
			_, i = p.find(g, s, i)
		}
		if i < 0 || i > last {
			return -1
		}
		return start
	}
	for k := n - 2; k >= 0; k-- {
		if last = p.rfind(p.segs[k], p.chars[k], s, 0, last); last < 0 {
			return -1
		}
	}
	return last
}

// Find returns the leftmost, then longest, match at or after from; start is -1 when there is none.
func (p *Pattern) Find(s string, from int) (start, end int) {
	w, looked := &work{p: p}, 0
	for i := from; ; p.look(&looked) {
		if !p.ext && !p.fold && len(p.segs[0]) > 0 && p.segs[0][0].kind == kLit {
			k := strings.Index(s[i:], p.segs[0][0].lit)
			if k < 0 {
				return -1, -1
			}
			i += k
		}
		e, never := p.at(w, s, i, true)
		if e >= 0 {
			return i, e
		}
		if never || i >= len(s) || w.n > maxWork {
			return -1, -1
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		i += n
	}
}

type work struct {
	p *Pattern
	n int
}

// match is the backtracking matcher of extended patterns: it calls k with every end the elements can reach
// until k accepts one.
func (w *work) match(es []elem, s string, i int, k func(int) bool) bool {
	if w.p.look(&w.n); w.n > maxWork {
		return false
	}
	for len(es) > 0 {
		e := &es[0]
		switch e.kind {
		case kStar:
			for j := i; ; {
				if w.match(es[1:], s, j, k) {
					return true
				}
				if j >= len(s) || w.n > maxWork {
					return false
				}
				_, n := utf8.DecodeRuneInString(s[j:])
				j += n
			}
		case kExt:
			return w.ext(e, es[1:], s, i, k)
		default:
			if i = e.one(s, i, w.p.fold); i < 0 {
				return false
			}
			es = es[1:]
		}
	}
	return k(i)
}

func (w *work) ext(e *elem, rest []elem, s string, i int, k func(int) bool) bool {
	next := func(j int) bool { return w.match(rest, s, j, k) }
	alts := func(i int, k func(int) bool) bool {
		for _, a := range e.alts {
			if w.match(a, s, i, k) {
				return true
			}
		}
		return false
	}
	var many func(i int) bool
	many = func(i int) bool {
		if w.p.look(&w.n); w.n > maxWork {
			return false
		}
		return alts(i, func(j int) bool { return j > i && many(j) }) || next(i)
	}
	switch e.op {
	case '@':
		return alts(i, next)
	case '?':
		return alts(i, next) || next(i)
	case '*':
		return many(i)
	case '+':
		return alts(i, func(j int) bool { return many(j) })
	}
	// !(…): every end that no alternative reaches exactly.
	for j := len(s); j >= i; j = back(s, j, 1) {
		if !alts(i, func(x int) bool { return x == j }) && next(j) {
			return true
		}
		if j == 0 || w.n > maxWork {
			break
		}
	}
	return false
}
