package regex

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// perlOp is what a node of a Perl pattern is.
type perlOp uint8

const (
	perlEmpty perlOp = iota
	perlSet
	perlCat
	perlAlt
	perlRepeat
	perlGroup  // n
	perlAtomic // (?>…)
	perlLook   // behind, negative
	perlRef    // n
	perlKeep   // \K
	perlAssert
	perlCond // sub[0] when group n has matched, else sub[1]
)

type repeatMode uint8

const (
	greedy repeatMode = iota
	lazy
	possessive
)

type perlNode struct {
	op       perlOp
	set      runeSet
	sub      []*perlNode
	min, max int // max < 0: unbounded
	mode     repeatMode
	n        int
	behind   bool
	negative bool
	fold     bool
	assert   assertion
}

// perlParser reads the part of PCRE's syntax that the matcher knows. Whatever else there is makes it give up, so that
// it never takes a pattern for another; what is certain to be wrong is an error with PCRE's words.
type perlParser struct {
	src    string
	pos    int
	bytes  bool
	limit  rune
	groups int
	names  map[string]int
	deep   int
	tick   func(int)
	atoms  int // seen so far
	// flags
	fold, multi, dotAll, extended, unicode bool
}

// perlUnknown is what the parser panics with when it gives up.
type perlUnknown struct{}

func (p *perlParser) giveUp() { panic(perlUnknown{}) }

// wrong ends the parser with an error.
func (p *perlParser) wrong(msg string) { panic(&Error{Msg: msg}) }

const tooLarge = "regular expression is too large"

// parsePerl returns nil when there is something in src that it does not know.
func parsePerl(src string, opt Options) (root *perlNode, groups int, err error) {
	p := &perlParser{src: src, bytes: opt.Bytes, limit: maxRune, fold: opt.IgnoreCase,
		unicode: opt.Unicode && !opt.Bytes, names: map[string]int{}, tick: opt.tick}
	if p.bytes {
		p.limit = maxByte
	} else if !utf8.ValidString(src) {
		return nil, 0, nil
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case perlUnknown:
			root, groups, err = nil, 0, nil
		case *Error:
			root, groups, err = nil, 0, r
		default:
			panic(r)
		}
	}()
	root = p.alternation()
	if p.pos < len(p.src) {
		p.wrong("unmatched closing parenthesis")
	}
	checkRefs(root, p.groups, p)
	return root, p.groups, nil
}

func checkRefs(n *perlNode, groups int, p *perlParser) {
	p.tick(1)
	if (n.op == perlRef || n.op == perlCond) && (n.n < 1 || n.n > groups) {
		p.wrong("reference to non-existent subpattern")
	}
	for _, s := range n.sub {
		checkRefs(s, groups, p)
	}
}

func (p *perlParser) has(s string) bool {
	if strings.HasPrefix(p.src[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

func (p *perlParser) alternation() *perlNode {
	if p.deep++; p.deep > 200 {
		p.giveUp()
	}
	defer func() { p.deep-- }()
	alt := &perlNode{op: perlAlt}
	for {
		alt.sub = append(alt.sub, p.sequence())
		if !p.has("|") {
			break
		}
	}
	if len(alt.sub) == 1 {
		return alt.sub[0]
	}
	return alt
}

func (p *perlParser) sequence() *perlNode {
	cat := &perlNode{op: perlCat}
	for p.pos < len(p.src) && p.src[p.pos] != '|' && p.src[p.pos] != ')' {
		p.tick(1)
		if p.atoms++; p.atoms > maxInsts {
			p.wrong(tooLarge)
		}
		if p.extended {
			if strings.IndexByte(" \t\n\r\f\v", p.src[p.pos]) >= 0 {
				p.pos++
				continue
			}
			if p.src[p.pos] == '#' {
				_, after, _ := strings.Cut(p.src[p.pos:], "\n")
				p.pos = len(p.src) - len(after)
				continue
			}
		}
		if p.has(`\Q`) {
			text, after, ok := strings.Cut(p.src[p.pos:], `\E`)
			p.pos = len(p.src)
			if ok {
				p.pos -= len(after)
			}
			for len(text) > 0 {
				r, n := p.decode(text)
				c := p.char(r)
				if text = text[n:]; text == "" {
					c = p.quantified(c)
				}
				cat.sub = append(cat.sub, c)
			}
			continue
		}
		if p.has(`\E`) {
			continue
		}
		if c := p.src[p.pos]; c == '*' || c == '+' || c == '?' {
			if len(cat.sub) > 0 { // a comment is between it and what it repeats
				p.giveUp()
			}
			p.wrong("quantifier does not follow a repeatable item")
		}
		atom := p.atom()
		if atom == nil {
			continue
		}
		cat.sub = append(cat.sub, p.quantified(atom))
	}
	return cat
}

func (p *perlParser) decode(s string) (rune, int) {
	if p.bytes {
		return rune(s[0]), 1
	}
	return utf8.DecodeRuneInString(s)
}

func (p *perlParser) char(r rune) *perlNode { return p.of(runeSet{{r, r}}) }

func (p *perlParser) of(s runeSet) *perlNode {
	p.tick(1 + len(s)>>4)
	if p.fold {
		p.tick(len(s) << 2)
		s = s.fold(p.bytes)
	}
	return &perlNode{op: perlSet, set: s}
}

func (p *perlParser) quantified(atom *perlNode) *perlNode {
	for turn := 0; p.pos < len(p.src); turn++ {
		lo, hi := 0, -1
		switch c := p.src[p.pos]; {
		case c == '*':
			p.pos++
		case c == '+':
			lo = 1
			p.pos++
		case c == '?':
			hi = 1
			p.pos++
		case c == '{':
			var n int
			if lo, hi, n = interval(p.src[p.pos:]); n == 0 {
				return atom
			}
			p.pos += n
		default:
			return atom
		}
		switch {
		case turn > 0 || atom.op == perlAssert || atom.op == perlKeep:
			p.wrong("quantifier does not follow a repeatable item")
		case lo > perlMaxRepeat || hi > perlMaxRepeat:
			p.wrong("number too big in {} quantifier")
		case hi >= 0 && hi < lo:
			p.wrong("numbers out of order in {} quantifier")
		}
		if atom.op == perlLook { // once is as good as often
			if lo = min(lo, 1); hi != 0 {
				hi = 1
			}
		}
		mode := greedy
		if p.has("?") {
			mode = lazy
		} else if p.has("+") {
			mode = possessive
		}
		atom = &perlNode{op: perlRepeat, sub: []*perlNode{atom}, min: lo, max: hi, mode: mode}
	}
	return atom
}

const perlMaxRepeat = 65535

// interval reads {n}, {n,} or {n,m}; n is 0 when s begins with none of them, which is literal then.
func interval(s string) (lo, hi, n int) {
	end := strings.IndexByte(s, '}')
	if end < 0 {
		return 0, 0, 0
	}
	a, b, two := strings.Cut(s[1:end], ",")
	lo, err := strconv.Atoi(a)
	if err != nil || a[0] == '+' || a[0] == '-' {
		return 0, 0, 0
	}
	hi = lo
	if two {
		hi = -1
		if b != "" {
			if hi, err = strconv.Atoi(b); err != nil || b[0] == '+' || b[0] == '-' {
				return 0, 0, 0
			}
		}
	}
	return lo, hi, end + 1
}

func (p *perlParser) atom() *perlNode {
	switch c := p.src[p.pos]; c {
	case '(':
		return p.group()
	case '[':
		return p.of(p.class())
	case '.':
		p.pos++
		if p.dotAll {
			return &perlNode{op: perlSet, set: runeSet{{0, p.limit}}}
		}
		return &perlNode{op: perlSet, set: runeSet{{'\n', '\n'}}.negate(p.limit)}
	case '^':
		p.pos++
		if p.multi {
			return &perlNode{op: perlAssert, assert: bol}
		}
		return &perlNode{op: perlAssert, assert: bot}
	case '$':
		p.pos++
		if p.multi {
			return &perlNode{op: perlAssert, assert: eol}
		}
		return &perlNode{op: perlAssert, assert: eot}
	case '\\':
		return p.escape()
	}
	r, n := p.decode(p.src[p.pos:])
	p.pos += n
	return p.char(r)
}

// conditional reads what follows (?( of a condition that is a group: the group, and one or two alternatives.
func (p *perlParser) conditional() *perlNode {
	name, rest, ok := strings.Cut(p.src[p.pos:], ")")
	if !ok {
		p.giveUp()
	}
	p.pos = len(p.src) - len(rest)
	n, err := strconv.Atoi(name)
	if err != nil {
		if n = p.names[strings.Trim(name, "<>'")]; n == 0 {
			p.giveUp()
		}
	}
	body := p.alternation()
	branches := []*perlNode{body, {op: perlEmpty}}
	if body.op == perlAlt {
		if branches = body.sub; len(branches) > 2 {
			p.wrong("conditional subpattern contains more than two branches")
		}
	}
	return &perlNode{op: perlCond, n: n, sub: branches}
}

// close takes the parenthesis at the end of a group.
func (p *perlParser) close() {
	if !p.has(")") {
		p.wrong("missing closing parenthesis")
	}
}

func (p *perlParser) group() *perlNode {
	p.pos++
	fold, multi, dotAll, extended := p.fold, p.multi, p.dotAll, p.extended
	restore := func() { p.fold, p.multi, p.dotAll, p.extended = fold, multi, dotAll, extended }
	wrap := &perlNode{op: perlCat}
	switch {
	case p.has("?:"):
	case p.has("?("):
		cond := p.conditional()
		p.close()
		restore()
		return cond
	case p.has("?>"):
		wrap.op = perlAtomic
	case p.has("?="):
		wrap.op = perlLook
	case p.has("?!"):
		wrap.op, wrap.negative = perlLook, true
	case p.has("?<="):
		wrap.op, wrap.behind = perlLook, true
	case p.has("?<!"):
		wrap.op, wrap.behind, wrap.negative = perlLook, true, true
	case p.has("?P="):
		name, rest, ok := strings.Cut(p.src[p.pos:], ")")
		if !ok {
			p.giveUp()
		}
		p.pos = len(p.src) - len(rest)
		return p.named(name)
	case p.has("?#"):
		i := strings.IndexByte(p.src[p.pos:], ')')
		if i < 0 {
			p.wrong("missing ) after (?# comment")
		}
		p.pos += i + 1
		return nil
	case p.has("?<"), p.has("?P<"), p.has("?'"):
		end := strings.IndexAny(p.src[p.pos:], ">'")
		if end <= 0 {
			p.giveUp()
		}
		p.groups++
		name := p.src[p.pos : p.pos+end]
		if p.names[name] != 0 {
			p.giveUp()
		}
		p.names[name] = p.groups
		p.pos += end + 1
		wrap.op, wrap.n = perlGroup, p.groups
	case p.has("?"):
		on := true
		for {
			if p.pos == len(p.src) {
				p.giveUp()
			}
			c := p.src[p.pos]
			p.pos++
			switch c {
			case '-':
				on = false
			case 'i':
				p.fold = on
			case 'm':
				p.multi = on
			case 's':
				p.dotAll = on
			case 'x':
				p.extended = on
			case ')': // until the end of the group around
				return nil
			case ':':
				wrap.sub = []*perlNode{p.alternation()}
				p.close()
				restore()
				return wrap
			default:
				p.giveUp()
			}
		}
	case p.has("*"):
		p.giveUp()
	default:
		p.groups++
		wrap.op, wrap.n = perlGroup, p.groups
	}
	wrap.sub = []*perlNode{p.alternation()}
	p.close()
	restore()
	return wrap
}

func (p *perlParser) named(name string) *perlNode {
	n := p.names[name]
	if n == 0 {
		p.giveUp()
	}
	return &perlNode{op: perlRef, n: n, fold: p.fold}
}

func (p *perlParser) escape() *perlNode {
	p.pos++
	if p.pos == len(p.src) {
		p.wrong(`\ at end of pattern`)
	}
	assert := func(a assertion) *perlNode {
		p.pos++
		return &perlNode{op: perlAssert, assert: a}
	}
	switch c := p.src[p.pos]; c {
	case 'A':
		return assert(bot)
	case 'Z':
		return assert(eot)
	case 'b':
		return assert(wordEdge)
	case 'B':
		return assert(notEdge)
	case 'K':
		p.pos++
		return &perlNode{op: perlKeep}
	case 'R':
		p.pos++
		crlf := &perlNode{op: perlCat, sub: []*perlNode{{op: perlSet, set: runeSet{{'\r', '\r'}}},
			{op: perlSet, set: runeSet{{'\n', '\n'}}}}}
		one := runeSet{{'\n', '\r'}}
		if !p.bytes {
			one = runeSet{{'\n', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}}
		}
		return &perlNode{op: perlAtomic, sub: []*perlNode{{op: perlAlt, sub: []*perlNode{crlf, {op: perlSet, set: one}}}}}
	case 'N':
		p.pos++
		if strings.HasPrefix(p.src[p.pos:], "{") {
			p.giveUp()
		}
		return &perlNode{op: perlSet, set: runeSet{{'\n', '\n'}}.negate(p.limit)}
	case 'g', 'k':
		p.pos++
		return p.reference(c)
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		n, from := 0, p.pos
		for p.pos < len(p.src) && p.src[p.pos] >= '0' && p.src[p.pos] <= '9' && n < 100 {
			n = n*10 + int(p.src[p.pos]-'0')
			p.pos++
		}
		if n >= 10 && n > p.groups { // a character
			p.pos = from
			r := rune(0)
			for p.pos < min(from+3, len(p.src)) && p.src[p.pos] >= '0' && p.src[p.pos] <= '7' {
				r = r<<3 + rune(p.src[p.pos]-'0')
				p.pos++
			}
			if p.pos == from || r > p.limit {
				p.giveUp()
			}
			return p.char(r)
		}
		return &perlNode{op: perlRef, n: n, fold: p.fold}
	}
	c := p.src[p.pos]
	set, r := p.escaped()
	if set == nil {
		return p.char(r)
	}
	if !p.unicode && (c == 'D' || c == 'S' || c == 'W') {
		// Only characters of ASCII, as PCRE 10.42's compiler of native code has it where text need not be valid.
		set = slices.Clone(set)
		for !p.bytes && len(set) > 0 && set[len(set)-1].lo >= utf8.RuneSelf {
			set = set[:len(set)-1]
		}
		if n := len(set); n > 0 && !p.bytes {
			set[n-1].hi = min(set[n-1].hi, utf8.RuneSelf-1)
		}
	}
	return &perlNode{op: perlSet, set: set}
}

func (p *perlParser) reference(c byte) *perlNode {
	rest := p.src[p.pos:]
	name := ""
	switch {
	case rest == "":
		p.giveUp()
	case rest[0] == '{' || c == 'k' && (rest[0] == '<' || rest[0] == '\''):
		end := strings.IndexAny(rest[1:], "}>'")
		if end < 0 {
			p.giveUp()
		}
		name = rest[1 : 1+end]
		p.pos += end + 2
	case c == 'g':
		n := 0
		for n < len(rest) && (rest[n] >= '0' && rest[n] <= '9' || n == 0 && rest[n] == '-') {
			n++
		}
		name = rest[:n]
		p.pos += n
	default:
		p.giveUp()
	}
	n, err := strconv.Atoi(name)
	if err != nil || c == 'k' {
		return p.named(name)
	}
	if n < 0 {
		n += p.groups + 1
	}
	return &perlNode{op: perlRef, n: n, fold: p.fold}
}

var (
	perlDigit = runeSet{{'0', '9'}}
	perlWord  = runeSet{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	perlSpace = runeSet{{'\t', '\r'}, {' ', ' '}}
	perlHoriz = runeSet{{'\t', '\t'}, {' ', ' '}, {0xa0, 0xa0}, {0x1680, 0x1680}, {0x180e, 0x180e}, {0x2000, 0x200a},
		{0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}}
	perlVert = runeSet{{'\n', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}}
)

// clip cuts a set at the largest character.
func (p *perlParser) clip(s runeSet) runeSet {
	out := runeSet{}
	for _, r := range s {
		if r.lo <= p.limit {
			out = append(out, runeRange{r.lo, min(r.hi, p.limit)})
		}
	}
	return out
}

// escaped reads what is after a backslash, in a class or outside: a set or a character.
func (p *perlParser) escaped() (runeSet, rune) {
	if p.pos == len(p.src) {
		p.giveUp()
	}
	c := p.src[p.pos]
	p.pos++
	var set runeSet
	switch c | 0x20 {
	case 'd':
		if set = perlDigit; p.unicode {
			set = unicodeDigit()
		}
	case 'w':
		if set = perlWord; p.unicode {
			set = unicodeWord()
		}
	case 's':
		if set = perlSpace; p.unicode {
			set = unicodeSpace()
		}
	case 'h':
		set = p.clip(perlHoriz)
	case 'v':
		set = p.clip(perlVert)
	case 'p':
		set = p.property()
	}
	if set != nil {
		set = slices.Clone(set)
		if c >= 'A' && c <= 'Z' {
			set = set.negate(p.limit)
		}
		return set, 0
	}
	hex := func(max int) rune {
		n := 0
		for n < max && p.pos+n < len(p.src) && strings.IndexByte("0123456789abcdefABCDEF", p.src[p.pos+n]) >= 0 {
			n++
		}
		v, _ := strconv.ParseInt("0"+p.src[p.pos:p.pos+n], 16, 32)
		p.pos += n
		return rune(v)
	}
	var r rune
	switch c {
	case 't':
		return nil, '\t'
	case 'n':
		return nil, '\n'
	case 'r':
		return nil, '\r'
	case 'f':
		return nil, '\f'
	case 'e':
		return nil, 0x1b
	case 'a':
		return nil, 7
	case 'c':
		if p.pos == len(p.src) {
			p.wrong(`\c at end of pattern`)
		}
		n := p.src[p.pos]
		if n < ' ' || n > '~' {
			p.wrong(`\c must be followed by a printable ASCII character`)
		}
		if n >= 'a' && n <= 'z' {
			n -= 'a' - 'A'
		}
		p.pos++
		return nil, rune(n ^ 0x40)
	case '0':
		n := 0
		for n < 2 && p.pos+n < len(p.src) && p.src[p.pos+n] >= '0' && p.src[p.pos+n] <= '7' {
			n++
		}
		v, _ := strconv.ParseInt("0"+p.src[p.pos:p.pos+n], 8, 32)
		p.pos += n
		return nil, rune(v)
	case 'x':
		if p.has("{") {
			r = hex(6)
			if !p.has("}") {
				p.giveUp()
			}
		} else {
			r = hex(2)
		}
		if r > p.limit || r >= 0xd800 && r <= 0xdfff {
			p.giveUp()
		}
		return nil, r
	}
	if c < utf8.RuneSelf && (isAlnum(c)) {
		p.giveUp()
	}
	p.pos--
	r, n := p.decode(p.src[p.pos:])
	p.pos += n
	return nil, r
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// property reads the name after \p or \P.
func (p *perlParser) property() runeSet {
	if p.bytes || p.pos == len(p.src) {
		p.giveUp()
	}
	name := p.src[p.pos : p.pos+1]
	p.pos++
	if name == "{" {
		end := strings.IndexByte(p.src[p.pos:], '}')
		if end < 0 {
			p.giveUp()
		}
		name = p.src[p.pos : p.pos+end]
		p.pos += end + 1
	}
	negative := strings.HasPrefix(name, "^")
	name = strings.TrimPrefix(name, "^")
	var set runeSet
	switch t, ok := unicode.Categories[name]; {
	case ok:
		set = fromTable(t)
	case name == "Any":
		set = runeSet{{0, maxRune}}
	case name == "L&":
		set = fromTable(unicode.Lu, unicode.Ll, unicode.Lt)
	default:
		if t, ok = unicode.Scripts[name]; !ok {
			p.giveUp()
		}
		set = fromTable(t)
	}
	set = set.normalize()
	if negative {
		set = set.negate(maxRune)
	}
	return set
}

var perlPosix = map[string]runeSet{
	"alpha": {{'A', 'Z'}, {'a', 'z'}}, "digit": perlDigit, "alnum": {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}},
	"upper": {{'A', 'Z'}}, "lower": {{'a', 'z'}},
	"space": perlSpace, "blank": {{'\t', '\t'}, {' ', ' '}}, "punct": {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}},
	"xdigit": {{'0', '9'}, {'A', 'F'}, {'a', 'f'}},
	"word":   perlWord, "print": {{' ', '~'}}, "graph": {{'!', '~'}}, "cntrl": {{0, 0x1f}, {0x7f, 0x7f}},
	"ascii": {{0, 0x7f}},
}

// class reads a bracket expression.
func (p *perlParser) class() runeSet {
	p.pos++
	negative := p.has("^")
	var set runeSet
	for first := true; ; first = false {
		if p.pos == len(p.src) {
			p.wrong("missing terminating ] for character class")
		}
		p.tick(1)
		if p.src[p.pos] == ']' && !first {
			p.pos++
			break
		}
		if p.has("[:") {
			name, rest, ok := strings.Cut(p.src[p.pos:], ":]")
			if !ok {
				p.giveUp()
			}
			not := strings.HasPrefix(name, "^")
			members, known := perlPosix[strings.TrimPrefix(name, "^")]
			if !known {
				p.giveUp()
			}
			if not {
				members = members.negate(p.limit)
			}
			set = append(set, members...)
			p.pos = len(p.src) - len(rest)
			continue
		}
		members, lo := p.member()
		if members != nil {
			set = append(set, members...)
			continue
		}
		hi := lo
		if rest := p.src[p.pos:]; len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			p.pos++
			if p.pos == len(p.src) {
				p.wrong("missing terminating ] for character class")
			}
			if members, hi = p.member(); members != nil {
				p.wrong("invalid range in character class")
			} else if hi < lo {
				p.wrong("range out of order in character class")
			}
		}
		set = append(set, runeRange{lo, hi})
	}
	p.tick(len(set))
	set = set.normalize()
	if p.fold {
		p.tick(len(set) << 2)
		set = set.fold(p.bytes)
	}
	if negative {
		set = set.negate(p.limit)
	}
	return set
}

func (p *perlParser) member() (runeSet, rune) {
	if p.src[p.pos] != '\\' {
		if strings.HasPrefix(p.src[p.pos:], "[.") || strings.HasPrefix(p.src[p.pos:], "[=") {
			p.giveUp()
		}
		r, n := p.decode(p.src[p.pos:])
		p.pos += n
		return nil, r
	}
	p.pos++
	switch {
	case p.pos == len(p.src), p.src[p.pos] == 'Q', p.src[p.pos] == 'E', p.src[p.pos] >= '1' && p.src[p.pos] <= '9':
		p.giveUp()
	case p.src[p.pos] == 'b':
		p.pos++
		return nil, '\b'
	}
	return p.escaped()
}
