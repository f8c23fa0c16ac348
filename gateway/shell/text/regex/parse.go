package regex

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is a pattern that cannot be compiled. Its text is GNU's.
type Error struct {
	Msg string
	// Plain is set when GNU's sed prints the message without the position in the script.
	Plain bool
}

func (e *Error) Error() string { return e.Msg }

var (
	errBadPattern  = &Error{Msg: "Invalid regular expression"}
	errCollate     = &Error{Msg: "Invalid collation character"}
	errCharClass   = &Error{Msg: "Invalid character class name"}
	errEscape      = &Error{Msg: "Trailing backslash"}
	errBackref     = &Error{Msg: "Invalid back reference"}
	errBracket     = &Error{Msg: "Unmatched [, [^, [:, [., or [="}
	errParen       = &Error{Msg: `Unmatched ( or \(`}
	errRightParen  = &Error{Msg: `Unmatched ) or \)`}
	errBrace       = &Error{Msg: `Unmatched \{`}
	errBadBrace    = &Error{Msg: `Invalid content of \{\}`}
	errRange       = &Error{Msg: "Invalid range end"}
	errTooBig      = &Error{Msg: "Regular expression too big"}
	errRepeat      = &Error{Msg: "Invalid preceding regular expression"}
	errClassSyntax = &Error{Msg: "character class syntax is [[:space:]], not [:space:]", Plain: true}
)

type op uint8

const (
	opEmpty op = iota
	opSet      // one character of set
	opByte     // one byte that is not valid text
	opCat
	opAlt
	opRepeat
	opGroup
	opBackref
	opAssert
)

type assertion uint8

const (
	bol        assertion = iota // ^
	eol                         // $
	bot                         // \`
	eot                         // \'
	wordEdge                    // \b
	notEdge                     // \B
	wordStart                   // \<
	wordEnd                     // \>
	noWordPrev                  // grep -w, before the match
	noWordNext                  // grep -w, after it
)

type node struct {
	op       op
	assert   assertion
	b        byte
	set      runeSet
	sub      []*node
	min, max int // repeat: max < 0 is unbounded
	n        int // group or back-reference number
}

const (
	maxRepeat = 32767
	maxDepth  = 1000 // nesting of groups: the parser recurses
)

type parser struct {
	src  string
	pos  int
	opt  Options
	base int // groups of earlier patterns
	next int // number of the next group, from 1, relative to base
	done []bool
	warn []string
	deep int
}

type parseError struct{ err *Error }

func (p *parser) fail(e *Error) { panic(parseError{e}) }

// parse parses one pattern; base is the number of groups before it.
func parse(src string, opt Options, base int) (n *node, groups int, warn []string, err error) {
	if opt.Dialect == Awk && strings.IndexByte(src, '\\') >= 0 {
		src = awkCodes(src)
	}
	p := &parser{src: src, opt: opt, base: base, next: 1, done: make([]bool, 10)}
	defer func() {
		if r := recover(); r != nil {
			pe, ok := r.(parseError)
			if !ok {
				panic(r)
			}
			err = pe.err
		}
	}()
	if opt.Literal {
		return p.literal(), 0, nil, nil
	}
	n = p.alternation(0)
	return n, p.next - 1, p.warn, nil
}

func (p *parser) literal() *node {
	cat := &node{op: opCat}
	p.opt.tick(1)
	for p.pos < len(p.src) {
		if len(cat.sub)&63 == 63 {
			p.opt.tick(4)
		}
		cat.sub = append(cat.sub, p.char())
	}
	return cat
}

// char consumes one character of the pattern as itself.
func (p *parser) char() *node {
	if p.opt.Bytes {
		c := rune(p.src[p.pos])
		p.pos++
		return p.lit(c)
	}
	r, n := utf8.DecodeRuneInString(p.src[p.pos:])
	if r == utf8.RuneError && n == 1 {
		p.pos++
		return &node{op: opByte, b: p.src[p.pos-1]}
	}
	p.pos += n
	return p.lit(r)
}

func (p *parser) lit(r rune) *node {
	s := runeSet{{r, r}}
	if p.opt.IgnoreCase {
		s = s.fold(p.opt.Bytes)
	}
	return &node{op: opSet, set: s}
}

func (p *parser) limit() rune {
	if p.opt.Bytes {
		return maxByte
	}
	return maxRune
}

func (p *parser) class(name string, negate bool) *node {
	s, _ := namedClass(name, p.opt.Bytes)
	if negate {
		s = s.negate(p.limit())
	}
	return &node{op: opSet, set: s}
}

func (p *parser) more() bool { return p.pos < len(p.src) }

func (p *parser) at(s string) bool { return strings.HasPrefix(p.src[p.pos:], s) }

func (p *parser) bar() bool {
	if p.opt.Extended {
		return p.at("|")
	}
	return p.at(`\|`)
}

func (p *parser) closing() bool {
	if p.opt.Extended {
		return p.at(")")
	}
	return p.at(`\)`)
}

func (p *parser) tokenLen() int {
	if p.opt.Extended {
		return 1
	}
	return 2
}

func (p *parser) alternation(depth int) *node {
	// A back-reference may not name a group of another alternative.
	before, after := slices.Clone(p.done), slices.Clone(p.done)
	branches := []*node{p.branch(depth)}
	for p.more() && p.bar() {
		for i := range after {
			after[i] = after[i] || p.done[i]
		}
		copy(p.done, before)
		p.pos += p.tokenLen()
		branches = append(branches, p.branch(depth))
	}
	for i := range after {
		p.done[i] = p.done[i] || after[i]
	}
	if len(branches) == 1 {
		return branches[0]
	}
	return &node{op: opAlt, sub: branches}
}

// branch parses up to an alternation sign, the end of the group, or the end.
func (p *parser) branch(depth int) *node {
	cat := &node{op: opCat}
	start := true // a repetition sign here has nothing to repeat
	first := true // ^ is an anchor here in a basic expression
	for p.more() && !p.bar() {
		if p.closing() {
			if depth > 0 {
				break
			}
			if !p.opt.Extended || p.opt.Dialect == Sed {
				p.fail(errRightParen)
			}
		}
		n := p.atom(depth, start, first)
		if n == nil { // an operator that was skipped
			continue
		}
		first = false
		start = n.op == opAssert
		switch {
		case !start:
			n = p.repeats(n)
		case p.opt.Dialect == Awk: // an operator after an anchor is a character
		case p.opt.Extended && !p.opt.Dialect.strict() && p.more() && strings.IndexByte("*+?", p.src[p.pos]) >= 0:
			if n.assert == bol {
				p.warning(p.src[p.pos : p.pos+1])
			}
			n, start = p.repeats(n), false
		}
		cat.sub = append(cat.sub, n)
	}
	if len(cat.sub) == 1 {
		return cat.sub[0]
	}
	return cat
}

func (p *parser) warning(what string) {
	p.warn = append(p.warn, what+" at start of expression")
}

func (p *parser) atom(depth int, start, first bool) *node {
	if p.pos&15 == 0 {
		p.opt.tick(1)
	}
	c := p.src[p.pos]
	ext := p.opt.Extended
	switch {
	case c == '\\':
		return p.escape(depth, start)
	case c == '[':
		return p.bracket()
	case c == '.':
		p.pos++
		return &node{op: opSet, set: runeSet{{0, p.limit()}}}
	case c == '^' && (ext || first):
		p.pos++
		return &node{op: opAssert, assert: bol}
	case c == '$':
		rest := p.src[p.pos+1:]
		if ext || rest == "" || strings.HasPrefix(rest, `\)`) || strings.HasPrefix(rest, `\|`) {
			p.pos++
			return &node{op: opAssert, assert: eol}
		}
	case ext && c == '(':
		return p.group(depth)
	case ext && start && (c == '*' || c == '+' || c == '?') && p.opt.Dialect != Awk:
		if p.opt.Dialect.strict() {
			p.fail(errRepeat)
		}
		p.warning(string(c))
		p.pos++
		return nil
	case ext && start && c == '{':
		if p.opt.Dialect.strict() {
			p.fail(errRepeat)
		}
		save := p.pos
		p.pos++
		if _, _, ok := p.interval(); ok {
			p.warning("{...}")
			return nil
		}
		p.pos = save
	}
	return p.char()
}

func (p *parser) group(depth int) *node {
	if depth >= maxDepth {
		p.fail(errTooBig)
	}
	p.pos += p.tokenLen()
	n := p.next
	p.next++
	body := p.alternation(depth + 1)
	if !p.more() {
		p.fail(errParen)
	}
	p.pos += p.tokenLen()
	if n < len(p.done) {
		p.done[n] = true
	}
	return &node{op: opGroup, n: p.base + n, sub: []*node{body}}
}

func (p *parser) escape(depth int, start bool) *node {
	if p.pos+1 >= len(p.src) {
		p.fail(errEscape)
	}
	c := p.src[p.pos+1]
	if p.opt.Dialect == Awk {
		if n := p.awkEscape(); n != nil {
			return n
		}
	}
	if !p.opt.Extended {
		switch c {
		case '(':
			return p.group(depth)
		case '{':
			if start && p.opt.Dialect.strict() {
				p.fail(errRepeat)
			}
		}
	}
	assert := func(a assertion) *node {
		p.pos += 2
		return &node{op: opAssert, assert: a}
	}
	switch c {
	case '<':
		return assert(wordStart)
	case '>':
		return assert(wordEnd)
	case 'b':
		return assert(wordEdge)
	case 'B':
		return assert(notEdge)
	case '`':
		return assert(bot)
	case '\'':
		return assert(eot)
	case 'w', 'W':
		p.pos += 2
		return p.class("word", c == 'W')
	case 's', 'S':
		p.pos += 2
		return p.class("space", c == 'S')
	}
	if c >= '1' && c <= '9' && p.opt.Dialect != Awk {
		if !p.done[c-'0'] {
			p.fail(errBackref)
		}
		p.pos += 2
		return &node{op: opBackref, n: p.base + int(c-'0')}
	}
	p.pos++
	return p.char()
}

// awkEscape handles what awk adds to extended expressions; nil when it adds nothing.
func (p *parser) awkEscape() *node {
	c := p.src[p.pos+1]
	if c == 'y' {
		p.pos += 2
		return &node{op: opAssert, assert: wordEdge}
	}
	if r, ok := p.awkChar(); ok {
		return p.lit(r)
	}
	return nil
}

var awkEscapes = map[byte]rune{'n': '\n', 't': '\t', 'r': '\r', 'f': '\f', 'v': '\v', 'a': '\a', 'b': '\b', '/': '/',
	'"': '"'}

// awkChar consumes an escape that stands for one character.
func (p *parser) awkChar() (rune, bool) {
	c := p.src[p.pos+1]
	if r, ok := awkEscapes[c]; ok {
		p.pos += 2
		return r, true
	}
	if c < '0' || c > '7' {
		return 0, false
	}
	p.pos++
	v := rune(0)
	for i := 0; i < 3 && p.more() && p.src[p.pos] >= '0' && p.src[p.pos] <= '7'; i++ {
		v = v*8 + rune(p.src[p.pos]-'0')
		p.pos++
	}
	return v & 0xff, true
}

// awkHex replaces \xHH by the character, as gawk does before it reads the expression: \x2e is the dot that matches
// everything.
func awkCodes(src string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(src, '\\')
		if i < 0 || i+2 >= len(src) {
			b.WriteString(src)
			return b.String()
		}
		b.WriteString(src[:i])
		n := 2
		for n < min(4, len(src)-i) && isHex(src[i+n]) {
			n++
		}
		octal := 1
		for octal < min(4, len(src)-i) && src[i+octal] >= '0' && src[i+octal] <= '7' {
			octal++
		}
		switch {
		case src[i+1] == 'x' && n > 2:
			u, _ := strconv.ParseUint(src[i+2:i+n], 16, 8)
			b.WriteByte(byte(u))
		case octal > 1:
			u, _ := strconv.ParseUint(src[i+1:i+octal], 8, 16)
			b.WriteByte(byte(u))
			n = octal
		default:
			n = 2
			b.WriteString(src[i : i+2])
		}
		src = src[i+n:]
	}
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// repeats applies the repetition signs after atom n.
func (p *parser) repeats(n *node) *node {
	for p.more() {
		lo, hi := 0, -1
		switch {
		case p.at("*"):
			p.pos++
		case p.opt.Extended && p.at("+"), !p.opt.Extended && p.at(`\+`):
			lo = 1
			p.pos += p.tokenLen()
		case p.opt.Extended && p.at("?"), !p.opt.Extended && p.at(`\?`):
			hi = 1
			p.pos += p.tokenLen()
		case p.opt.Extended && p.at("{"), !p.opt.Extended && p.at(`\{`):
			save := p.pos
			p.pos += p.tokenLen()
			var ok bool
			if lo, hi, ok = p.interval(); !ok {
				p.pos = save
				return n // the brace is ordinary
			}
		default:
			return n
		}
		p.deep++
		if p.deep > 10*maxDepth {
			p.fail(errTooBig)
		}
		n = repeat(n, lo, hi)
		if !p.opt.Extended && p.opt.Dialect == Sed && (p.at("*") || p.at(`\{`)) {
			p.fail(errRepeat)
		}
	}
	return n
}

// repeat builds n{lo,hi}, flattening x** and the like so that the tree stays shallow.
func repeat(n *node, lo, hi int) *node {
	if n.op == opRepeat && n.max < 0 && hi < 0 && n.min <= 1 && lo <= 1 {
		return &node{op: opRepeat, min: min(n.min, lo), max: -1, sub: n.sub}
	}
	return &node{op: opRepeat, min: lo, max: hi, sub: []*node{n}}
}

// interval parses "n,m}" after the opening brace. ok is false where an invalid
// interval stands for itself; elsewhere it is an error.
func (p *parser) interval() (lo, hi int, ok bool) {
	end := `\}`
	if p.opt.Extended {
		end = "}"
	}
	// grep takes a malformed interval literally, unless only its numbers are wrong.
	bad := func(e *Error, numbers bool) (int, int, bool) {
		if !p.opt.Extended || p.opt.Dialect.strict() || e == errTooBig || numbers && p.opt.Dialect != Sed {
			p.fail(e)
		}
		return 0, 0, false
	}
	rest := p.src[p.pos:]
	i := strings.Index(rest, end)
	if i < 0 {
		return bad(errBrace, false)
	}
	body := rest[:i]
	first, second, comma := strings.Cut(body, ",")
	num := func(s string) (int, bool) {
		v := 0
		for _, c := range []byte(s) {
			if c < '0' || c > '9' {
				return 0, false
			}
			v = min(v*10+int(c-'0'), maxRepeat+1)
		}
		return v, true
	}
	lo, ok1 := num(first)
	hi, ok2 := num(second)
	if !ok1 || !ok2 || first == "" && !comma {
		return bad(errBadBrace, strings.Trim(body, "0123456789,") == "")
	}
	switch {
	case !comma:
		hi = lo
	case second == "":
		hi = -1
	}
	if hi >= 0 && lo > hi {
		return bad(errBadBrace, true)
	}
	if lo > maxRepeat || hi > maxRepeat {
		return bad(errTooBig, true)
	}
	p.pos += i + len(end)
	return lo, hi, true
}

// bracket parses a bracket expression.
func (p *parser) bracket() *node {
	start := p.pos
	p.pos++
	negate := false
	if p.at("^") {
		negate = true
		p.pos++
	}
	if !p.more() {
		p.fail(errBadPattern)
	}
	var set runeSet
	var raw []byte // bytes that are not valid text
	single := true // there are characters only, no ranges and classes
	for first := true; ; first = false {
		if !p.more() {
			p.fail(errBracket)
		}
		if p.at("]") && !first {
			p.pos++
			break
		}
		if p.at("-") && !first && !p.at("-]") {
			p.fail(errRange)
		}
		if p.at("[:") || p.at("[=") {
			if s, ok := p.bracketClass(); ok {
				set, single = append(set, s...), false
				continue
			}
		}
		lo, isRaw := p.element()
		if isRaw {
			raw = append(raw, byte(lo))
			continue
		}
		if p.at("-") && p.pos+1 == len(p.src) {
			p.fail(errBracket)
		}
		hi := lo
		if p.at("-") && !p.at("-]") {
			p.pos++
			if p.at("[:") || p.at("[=") {
				p.fail(errRange)
			}
			single = false
			hi, isRaw = p.element()
			if isRaw || hi < lo {
				p.fail(errRange)
			}
		}
		set = append(set, runeRange{lo, hi})
	}
	if t := p.src[start+1 : p.pos-1]; single && p.opt.Dialect.dfa() && len(t) > 2 && t[0] == ':' && t[len(t)-1] == ':' {
		p.fail(errClassSyntax)
	}
	set = slices.Clone(set).normalize()
	if p.opt.IgnoreCase {
		set = set.fold(p.opt.Bytes)
	}
	if negate {
		set = set.negate(p.limit())
	}
	n := &node{op: opSet, set: set}
	if len(raw) == 0 || negate {
		return n
	}
	alt := &node{op: opAlt, sub: []*node{n}}
	for _, c := range raw {
		alt.sub = append(alt.sub, &node{op: opByte, b: c})
	}
	return alt
}

// bracketClass parses [:name:] or [=x=].
func (p *parser) bracketClass() (runeSet, bool) {
	kind := p.src[p.pos+1]
	rest := p.src[p.pos+2:]
	i := strings.Index(rest, string(kind)+"]")
	if i < 0 {
		if kind == ':' && !strings.Contains(rest, "]") {
			p.fail(errBracket)
		}
		if kind == '=' {
			p.fail(errBracket)
		}
		return nil, false
	}
	name := rest[:i]
	if kind == '=' {
		r, n := p.decode(name)
		if n == 0 || n != len(name) {
			p.fail(errCollate)
		}
		p.pos += 2 + i + 2
		return runeSet{{r, r}}, true
	}
	for _, c := range []byte(name) {
		if c < 'a' || c > 'z' {
			if strings.IndexByte(name, ']') >= 0 {
				return nil, false
			}
			p.fail(errCharClass)
		}
	}
	if p.opt.IgnoreCase && (name == "upper" || name == "lower") {
		name = "alpha"
	}
	s, ok := namedClass(name, p.opt.Bytes)
	if !ok || name == "word" {
		p.fail(errCharClass)
	}
	p.pos += 2 + i + 2
	return s, true
}

func (p *parser) decode(s string) (rune, int) {
	if s == "" {
		return 0, 0
	}
	if p.opt.Bytes {
		return rune(s[0]), 1
	}
	return utf8.DecodeRuneInString(s)
}

// element consumes one end of a range. raw reports a byte that is not valid text.
func (p *parser) element() (r rune, raw bool) {
	if !p.more() {
		p.fail(errBracket)
	}
	if p.at("[.") {
		rest := p.src[p.pos+2:]
		i := strings.Index(rest, ".]")
		if i < 0 {
			p.fail(errBracket)
		}
		r, n := p.decode(rest[:i])
		if n == 0 || n != i {
			p.fail(errCollate)
		}
		p.pos += 2 + i + 2
		return r, false
	}
	if p.opt.Dialect == Awk && p.src[p.pos] == '\\' && p.pos+1 < len(p.src) {
		if r, ok := p.awkChar(); ok {
			return r, false
		}
		p.pos++
	}
	r, n := p.decode(p.src[p.pos:])
	p.pos += n
	if r == utf8.RuneError && n == 1 && !p.opt.Bytes {
		return rune(p.src[p.pos-1]), true
	}
	return r, false
}
