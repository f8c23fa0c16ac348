package regex

import (
	"bytes"
	"math"
	"slices"
	"unicode/utf8"
)

// perlMatcher matches a Perl pattern by backtracking over bytes, in the order in which Perl tries things.
type perlMatcher struct {
	code    []perlInst
	groups  int
	guards  int
	bytes   bool
	unicode bool      // word characters are those of all scripts
	anchor  bool      // a match begins at the start of the text only
	first   *perlSet8 // the bytes it can begin with, nil when not known
	prefix  needle    // it begins with this
	lead    int       // the instructions at the start that are just the prefix
	onward  bool      // it does not look at what is before it
	before  needle    // this is before it
	slots   []int
	loc     []int
	jobs    []perlJob
	keep    int // where \K was, -1
	steps   int
	due     int // steps, when to tick again
	tick    func(int)
	overrun bool
}

type perlSet8 [256]bool

type perlInstOp uint8

const (
	pByte   perlInstOp = iota // b
	pSet                      // one character of set
	pRepeat                   // set, min, max, mode
	pSplit                    // x first, then y
	pJump                     // x
	pSave                     // slot n
	pReset                    // guard n
	pGuard                    // guard n; x when the turn before consumed nothing
	pAssert                   // assert
	pLook                     // to the pMatch before x; negative
	pPeek                     // text is here, or just before here; negative
	pAtomic                   // to the pMatch before x
	pBack                     // n characters
	pRef                      // group n
	pKeep                     //
	pCond                     // x when group n has not matched
	pMatch                    //
)

type perlInst struct {
	op       perlInstOp
	mode     repeatMode
	b        byte
	negative bool
	fold     bool
	assert   assertion
	x, y, n  int32
	min, max int
	set      *perlChars
	text     []byte
	behind   bool
}

// perlChars is a set of characters.
type perlChars struct {
	low  [256]bool // by byte: of ASCII, or of all bytes when every byte is a character
	set  runeSet
	rest bool // all characters that are not ASCII are in it
	none bool // none is
}

func newPerlChars(s runeSet, bytes bool) *perlChars {
	c := &perlChars{set: s, none: true}
	limit := rune(utf8.RuneSelf)
	if bytes {
		limit = maxByte + 1
	}
	for _, r := range s {
		for x := r.lo; x <= r.hi && x < limit; x++ {
			c.low[x] = true
		}
		if r.hi >= limit {
			c.none = false
			c.rest = c.rest || r.lo <= limit && r.hi >= maxRune
		}
	}
	return c
}

// at is the length of the character of the set at b[pos], 0 when there is none.
func (c *perlChars) at(b []byte, pos int) int {
	if pos >= len(b) {
		return 0
	}
	if x := b[pos]; x < utf8.RuneSelf || c.low[x] {
		if c.low[x] {
			return 1
		}
		return 0
	}
	if c.none {
		return 0
	}
	r, n := utf8.DecodeRune(b[pos:])
	if r == utf8.RuneError && n == 1 || !c.rest && !c.set.contains(r) {
		return 0
	}
	return n
}

type perlJobKind uint8

const (
	jobAlt     perlJobKind = iota // go on at pc, pos
	jobRestore                    // slots[pc] = pos
	jobKeep                       // keep = pos
	jobGreedy                     // give back a character, down to low, and go on at pc
	jobLazy                       // take one more character of the repeat at pc, at most low of them
)

type perlJob struct {
	kind     perlJobKind
	pc       int32
	pos, low int
}

// Bounds of one attempt, after which it counts as one without a match.
const (
	perlMaxSteps = 20_000_000
	perlMaxJobs  = 1 << 20
	perlMaxCode  = 20_000
	perlTurn     = 4096 // steps between ticks
)

type perlCompiler struct {
	m        *perlMatcher
	tick     func(int)
	large    bool
	variable bool // a look-behind has no fixed length
}

// newPerlMatcher returns nil when the pattern has something it does not know, and an error when it is certain to be
// wrong.
func newPerlMatcher(src string, opt Options) (*perlNode, *perlMatcher, error) {
	root, groups, err := parsePerl(src, opt)
	if root == nil {
		return nil, nil, err
	}
	cat := func(sub ...*perlNode) *perlNode { return &perlNode{op: perlCat, sub: sub} }
	switch {
	case opt.WholeLine:
		root = cat(&perlNode{op: perlAssert, assert: bot}, root, &perlNode{op: perlAssert, assert: eot})
	case opt.WholeWord:
		word := &perlNode{op: perlSet, set: perlWord}
		if opt.Unicode && !opt.Bytes {
			word.set = unicodeWord()
		}
		root = cat(&perlNode{op: perlLook, behind: true, negative: true, sub: []*perlNode{word}}, root,
			&perlNode{op: perlLook, negative: true, sub: []*perlNode{word}})
	}
	m := &perlMatcher{groups: groups, bytes: opt.Bytes, unicode: opt.Unicode && !opt.Bytes}
	c := &perlCompiler{m: m, tick: opt.tick}
	c.node(root)
	c.add(perlInst{op: pMatch})
	switch {
	case c.variable:
		return nil, nil, &Error{Msg: "lookbehind assertion is not fixed length"}
	case c.large:
		return nil, nil, nil
	}
	m.anchor = startsPinned(root)
	m.prefix.text, _ = perlPrefix(root, nil, opt.Bytes)
	for m.lead < len(m.prefix.text) && m.code[m.lead].op == pByte {
		m.lead++
	}
	m.onward = !slices.ContainsFunc(m.code, func(i perlInst) bool {
		return i.op == pBack || i.op == pAssert || i.op == pPeek && i.behind
	})
	if root.op == perlCat && len(root.sub) > 0 && root.sub[0].op == perlLook && root.sub[0].behind &&
		!root.sub[0].negative {
		if lit, whole := perlPrefix(root.sub[0].sub[0], nil, opt.Bytes); whole {
			m.before.text = lit
		}
	}
	var first perlSet8
	if perlFirst(root, &first, opt.Bytes) {
		m.first = &first
	}
	m.slots = make([]int, 2*(groups+1)+m.guards)
	return root, m, nil
}

func (c *perlCompiler) add(i perlInst) int32 {
	c.tick(1)
	if len(c.m.code) >= perlMaxCode {
		c.large = true
		return 0
	}
	c.m.code = append(c.m.code, i)
	return int32(len(c.m.code) - 1)
}

func (c *perlCompiler) here() int32 { return int32(len(c.m.code)) }

func (c *perlCompiler) node(n *perlNode) {
	if c.large {
		return
	}
	code := func(pc int32) *perlInst { return &c.m.code[pc] }
	switch n.op {
	case perlSet:
		if r, ok := n.set.single(); ok {
			for _, b := range []byte(encode(r, c.limit())) {
				c.add(perlInst{op: pByte, b: b})
			}
			return
		}
		c.add(perlInst{op: pSet, set: newPerlChars(n.set, c.m.bytes)})
	case perlCat:
		for _, s := range n.sub {
			c.node(s)
		}
	case perlAlt:
		var ends []int32
		for i, s := range n.sub {
			if i == len(n.sub)-1 {
				c.node(s)
				break
			}
			split := c.add(perlInst{op: pSplit})
			code(split).x = c.here()
			c.node(s)
			ends = append(ends, c.add(perlInst{op: pJump}))
			code(split).y = c.here()
		}
		for _, e := range ends {
			code(e).x = c.here()
		}
	case perlRepeat:
		c.repeat(n)
	case perlGroup:
		c.add(perlInst{op: pSave, n: int32(2 * n.n)})
		c.node(n.sub[0])
		c.add(perlInst{op: pSave, n: int32(2*n.n + 1)})
	case perlAtomic:
		c.atomic(func() { c.node(n.sub[0]) })
	case perlLook:
		body := n.sub[0]
		if text, ok := perlText(body, nil, c.m.bytes); ok {
			c.add(perlInst{op: pPeek, negative: n.negative, text: text, behind: n.behind})
			return
		}
		look := c.add(perlInst{op: pLook, negative: n.negative})
		switch {
		case !n.behind:
			c.node(body)
		case body.op == perlAlt:
			var ends []int32
			for i, s := range body.sub {
				split := int32(-1)
				if i < len(body.sub)-1 {
					split = c.add(perlInst{op: pSplit})
					code(split).x = c.here()
				}
				c.behind(s)
				if split >= 0 {
					ends = append(ends, c.add(perlInst{op: pJump}))
					code(split).y = c.here()
				}
			}
			for _, e := range ends {
				code(e).x = c.here()
			}
		default:
			c.behind(body)
		}
		c.add(perlInst{op: pMatch})
		code(look).x = c.here()
	case perlRef:
		c.add(perlInst{op: pRef, n: int32(n.n), fold: n.fold})
	case perlKeep:
		c.add(perlInst{op: pKeep})
	case perlCond:
		test := c.add(perlInst{op: pCond, n: int32(n.n)})
		c.node(n.sub[0])
		end := c.add(perlInst{op: pJump})
		code(test).x = c.here()
		c.node(n.sub[1])
		code(end).x = c.here()
	case perlAssert:
		c.add(perlInst{op: pAssert, assert: n.assert})
	}
}

func (c *perlCompiler) limit() rune {
	if c.m.bytes {
		return maxByte
	}
	return maxRune
}

func (c *perlCompiler) atomic(body func()) {
	at := c.add(perlInst{op: pAtomic})
	body()
	c.add(perlInst{op: pMatch})
	c.m.code[at].x = c.here()
}

// behind compiles one alternative of a look-behind, which has a fixed length.
func (c *perlCompiler) behind(n *perlNode) {
	w, ok := perlWidth(n)
	if !ok {
		c.variable = true
		return
	}
	c.add(perlInst{op: pBack, n: int32(w)})
	c.node(n)
}

// perlWidth is the number of characters that n matches, when that is always the same.
func perlWidth(n *perlNode) (int, bool) {
	switch n.op {
	case perlEmpty, perlLook, perlAssert, perlKeep:
		return 0, true
	case perlSet:
		return 1, true
	case perlGroup, perlAtomic:
		return perlWidth(n.sub[0])
	case perlCat:
		sum := 0
		for _, s := range n.sub {
			w, ok := perlWidth(s)
			if !ok {
				return 0, false
			}
			sum += w
		}
		return sum, true
	case perlAlt, perlCond:
		first, ok := perlWidth(n.sub[0])
		for _, s := range n.sub[1:] {
			w, fixed := perlWidth(s)
			ok = ok && fixed && w == first
		}
		return first, ok
	case perlRepeat:
		w, ok := perlWidth(n.sub[0])
		return w * n.min, ok && n.min == n.max
	}
	return 0, false
}

func (c *perlCompiler) repeat(n *perlNode) {
	x := n.sub[0]
	if x.op == perlSet {
		limit := n.max
		if limit < 0 {
			limit = math.MaxInt
		}
		c.add(perlInst{op: pRepeat, set: newPerlChars(x.set, c.m.bytes), min: n.min, max: limit, mode: n.mode})
		return
	}
	if n.mode == possessive {
		c.atomic(func() { c.repeat(&perlNode{op: perlRepeat, sub: n.sub, min: n.min, max: n.max}) })
		return
	}
	for range n.min {
		if c.node(x); c.large {
			return
		}
	}
	fork := func() int32 { return c.add(perlInst{op: pSplit}) }
	aim := func(split, body, out int32) {
		i := &c.m.code[split]
		if i.x, i.y = body, out; n.mode == lazy {
			i.x, i.y = out, body
		}
	}
	if n.max >= 0 {
		var splits []int32
		for range n.max - n.min {
			splits = append(splits, fork())
			c.node(x)
			if c.large {
				return
			}
		}
		for _, s := range splits {
			aim(s, s+1, c.here())
		}
		return
	}
	guard := int32(2*(c.m.groups+1) + c.m.guards)
	c.m.guards++
	c.add(perlInst{op: pReset, n: guard})
	check := c.add(perlInst{op: pGuard, n: guard})
	split := fork()
	c.node(x)
	c.add(perlInst{op: pJump, x: check})
	if c.large {
		return
	}
	aim(split, split+1, c.here())
	c.m.code[check].x = c.here()
}

// startsPinned reports whether n matches at the start of the text only.
func startsPinned(n *perlNode) bool {
	switch n.op {
	case perlAssert:
		return n.assert == bot
	case perlGroup, perlAtomic:
		return startsPinned(n.sub[0])
	case perlCat:
		for _, s := range n.sub {
			if s.op != perlLook && s.op != perlKeep {
				return startsPinned(s)
			}
		}
	case perlAlt:
		for _, s := range n.sub {
			if !startsPinned(s) {
				return false
			}
		}
		return true
	}
	return false
}

// perlPrefix appends the bytes every match of n begins with to b; whole says that n matches nothing else.
func perlPrefix(n *perlNode, b []byte, bytes bool) (_ []byte, whole bool) {
	switch n.op {
	case perlEmpty, perlLook, perlAssert, perlKeep:
		return b, true
	case perlSet:
		limit := rune(maxRune)
		if bytes {
			limit = maxByte
		}
		if r, ok := n.set.single(); ok {
			return append(b, encode(r, limit)...), true
		}
	case perlGroup, perlAtomic:
		return perlPrefix(n.sub[0], b, bytes)
	case perlCat:
		whole = true
		for _, s := range n.sub {
			if b, whole = perlPrefix(s, b, bytes); !whole {
				break
			}
		}
		return b, whole
	}
	return b, false
}

// perlText appends the one text that n matches, without looking at anything else, to b.
func perlText(n *perlNode, b []byte, bytes bool) (_ []byte, ok bool) {
	switch n.op {
	case perlEmpty:
		return b, true
	case perlSet:
		return perlPrefix(n, b, bytes)
	case perlCat:
		for _, s := range n.sub {
			if b, ok = perlText(s, b, bytes); !ok {
				return nil, false
			}
		}
		return b, true
	}
	return nil, false
}

// perlFirst marks the bytes that a match of n can begin with; false when it can be empty.
func perlFirst(n *perlNode, first *perlSet8, bytes bool) bool {
	switch n.op {
	case perlSet:
		for _, r := range n.set {
			for x := r.lo; x <= r.hi && x <= maxByte; x++ {
				if x < utf8.RuneSelf || bytes {
					first[x] = true
				}
			}
			if r.hi >= utf8.RuneSelf && !bytes {
				for x := 0xc2; x < 0xf5; x++ {
					first[x] = true
				}
			}
		}
		return true
	case perlGroup, perlAtomic:
		return perlFirst(n.sub[0], first, bytes)
	case perlCat:
		for _, s := range n.sub {
			if perlFirst(s, first, bytes) {
				return true
			}
		}
	case perlAlt, perlCond:
		all := true
		for _, s := range n.sub {
			all = perlFirst(s, first, bytes) && all
		}
		return all
	case perlRepeat:
		return perlFirst(n.sub[0], first, bytes) && n.min > 0
	case perlRef:
		// Whatever the group was.
		for x := range first {
			first[x] = true
		}
	}
	return false
}

// find returns the first match that begins at or after start, with its groups. ok is false when the attempt was given
// up.
func (m *perlMatcher) find(b []byte, start int) (loc []int, ok bool) {
	m.steps, m.due, m.overrun = 0, perlTurn, false
	if m.anchor && start > 0 {
		return nil, true
	}
	for at := start; at <= len(b); {
		switch {
		case len(m.prefix.text) > 0:
			i := m.prefix.index(b[at:])
			if i < 0 {
				return nil, true
			}
			at += i
		case len(m.before.text) > 0:
			i := m.before.index(b[max(at-len(m.before.text), 0):])
			if i < 0 {
				return nil, true
			}
			at = max(at-len(m.before.text), 0) + i + len(m.before.text)
		case m.first != nil:
			for at < len(b) && !m.first[b[at]] {
				at++
			}
			if at == len(b) {
				return nil, true
			}
		}
		if end, ok := m.try(b, at); ok {
			loc = append(m.loc[:0], m.slots[:2*(m.groups+1)]...)
			m.loc = loc
			if loc[0], loc[1] = at, end; m.keep >= 0 {
				loc[0] = m.keep
			}
			return loc, true
		}
		if m.overrun {
			return nil, false
		}
		if m.anchor || at == len(b) {
			break
		}
		at += runeLen(b, at, m.bytes)
	}
	return nil, true
}

// try matches at a place where the prefix is.
func (m *perlMatcher) try(b []byte, at int) (end int, ok bool) {
	for i := range m.slots {
		m.slots[i] = -1
	}
	m.keep = -1
	m.jobs = m.jobs[:0]
	return m.run(b, int32(m.lead), at+m.lead)
}

// byPrefix reports whether line is of use: the prefix is worth looking for, and to try a place takes nothing but what
// is after it.
func (m *perlMatcher) byPrefix() bool {
	return m.onward && !m.anchor && len(m.prefix.text) >= minWindow && !bytes.ContainsRune(m.prefix.text, '\n')
}

// line is the first line of b[pos:] that has a match, of which nothing else is found out. ok is false when there is
// none or the attempt at the one that is returned was given up.
func (m *perlMatcher) line(b []byte, pos int, tick func(int)) (start, end int, ok bool) {
	const slice = 1 << 20 // searched between ticks
	m.steps, m.due, m.overrun, m.tick = 0, perlTurn, false, tick
	for at, next := pos, pos; ; {
		i := m.prefix.index(b[at:min(len(b), at+slice)])
		if i < 0 {
			if len(b)-at <= slice {
				return 0, 0, false
			}
			at += slice - len(m.prefix.text) + 1
			if tick != nil {
				tick(1 + slice>>12)
			}
			continue
		}
		if at += i; at >= next+slice {
			next = at
			if tick != nil {
				tick(1 + slice>>12)
			}
		}
		end = lineEnd(b, at)
		_, ok = m.try(b[at:end], 0)
		if ok || m.overrun {
			return lineStart(b, pos, at), end, ok
		}
		m.steps, m.due = 0, perlTurn
		at += runeLen(b, at, m.bytes)
	}
}

func (m *perlMatcher) set(slot int32, v int) {
	m.jobs = append(m.jobs, perlJob{kind: jobRestore, pc: slot, pos: m.slots[slot]})
	m.slots[slot] = v
}

// previous is where the character before pos begins.
func (m *perlMatcher) previous(b []byte, pos int) int {
	if pos--; m.bytes || b[pos] < utf8.RuneSelf {
		return pos
	}
	_, n := utf8.DecodeLastRune(b[:pos+1])
	return pos + 1 - n
}

func (m *perlMatcher) holds(a assertion, b []byte, pos int) bool {
	switch a {
	case bot:
		return pos == 0
	case eot: // or before a newline at the end
		return pos == len(b) || pos == len(b)-1 && b[pos] == '\n'
	case bol:
		return pos == 0 || b[pos-1] == '\n'
	case eol:
		return pos == len(b) || b[pos] == '\n'
	}
	before := pos > 0 && wordByte[b[pos-1]]
	after := pos < len(b) && wordByte[b[pos]]
	if m.unicode {
		before, after = contextAt(b, pos, false) == ctxWord, wordAt(b, pos, false)
	}
	return (before != after) == (a == wordEdge)
}

// run matches from pc at pos to the next pMatch. What is on the stack of jobs when it begins stays there.
func (m *perlMatcher) run(b []byte, pc int32, pos int) (end int, ok bool) {
	base := len(m.jobs)
	for {
		if m.steps++; m.steps >= m.due {
			if m.tick != nil {
				m.tick(16 + (m.steps-m.due)>>8)
			}
			m.due = m.steps + perlTurn
			if m.steps > perlMaxSteps || len(m.jobs) > perlMaxJobs {
				m.overrun = true
			}
		}
		if m.overrun {
			return 0, false
		}
		in := &m.code[pc]
		matched := true
		switch in.op {
		case pByte:
			if matched = pos < len(b) && b[pos] == in.b; matched {
				pos++
			}
		case pSet:
			n := in.set.at(b, pos)
			matched = n > 0
			pos += n
		case pRepeat:
			pos, matched = m.repeat(b, in, pc, pos)
		case pSplit:
			m.jobs = append(m.jobs, perlJob{kind: jobAlt, pc: in.y, pos: pos})
			pc = in.x
			continue
		case pJump:
			pc = in.x
			continue
		case pSave:
			m.set(in.n, pos)
		case pReset:
			m.set(in.n, -1)
		case pGuard:
			if m.slots[in.n] == pos {
				pc = in.x
				continue
			}
			m.set(in.n, pos)
		case pAssert:
			matched = m.holds(in.assert, b, pos)
		case pLook, pAtomic:
			mark := len(m.jobs)
			e, found := m.run(b, pc+1, pos)
			if found && in.negative {
				m.undo(mark)
			} else if found {
				m.commit(mark)
			}
			if matched = found != in.negative; matched {
				if in.op == pAtomic {
					pos = e
				}
				pc = in.x
				continue
			}
		case pPeek:
			if in.behind {
				matched = bytes.HasSuffix(b[:pos], in.text) != in.negative
			} else {
				matched = bytes.HasPrefix(b[pos:], in.text) != in.negative
			}
		case pBack:
			for k := int32(0); k < in.n && matched; k++ {
				if matched = pos > 0; matched {
					pos = m.previous(b, pos)
				}
			}
		case pRef:
			s, e := m.slots[2*in.n], m.slots[2*in.n+1]
			if matched = s >= 0 && e >= s && e-s <= len(b)-pos; matched {
				x, y := b[s:e], b[pos:pos+e-s]
				matched = bytes.Equal(x, y) || in.fold && bytes.EqualFold(x, y)
				pos += e - s
			}
		case pCond:
			if m.slots[2*in.n+1] < 0 {
				pc = in.x
				continue
			}
		case pKeep:
			m.jobs = append(m.jobs, perlJob{kind: jobKeep, pos: m.keep})
			m.keep = pos
		case pMatch:
			return pos, true
		}
		if matched {
			pc++
			continue
		}
		if pc, pos, ok = m.back(b, base); !ok {
			return 0, false
		}
	}
}

// repeat matches a repeated set of characters and leaves a job that tries other counts.
func (m *perlMatcher) repeat(b []byte, in *perlInst, pc int32, pos int) (int, bool) {
	limit := in.max
	if in.mode == lazy {
		limit = in.min
	}
	count, low := 0, pos
	set := in.set
	for count < limit {
		if count == in.min {
			low = pos
		}
		// ASCII, and bytes that are characters, without a call.
		if pos < len(b) && set.low[b[pos]] {
			pos++
			count++
			continue
		}
		n := set.at(b, pos)
		if n == 0 {
			break
		}
		pos += n
		count++
	}
	m.steps += count >> 3
	if count < in.min {
		return pos, false
	}
	if count == in.min {
		low = pos
	}
	switch {
	case in.mode == lazy && in.max > in.min:
		m.jobs = append(m.jobs, perlJob{kind: jobLazy, pc: pc, pos: pos, low: in.max - in.min})
	case in.mode == greedy && pos > low:
		m.jobs = append(m.jobs, perlJob{kind: jobGreedy, pc: pc + 1, pos: pos, low: low})
	}
	return pos, true
}

// back takes the latest job above base.
func (m *perlMatcher) back(b []byte, base int) (pc int32, pos int, ok bool) {
	for len(m.jobs) > base {
		j := &m.jobs[len(m.jobs)-1]
		switch j.kind {
		case jobAlt:
			pc, pos = j.pc, j.pos
			m.jobs = m.jobs[:len(m.jobs)-1]
			return pc, pos, true
		case jobRestore:
			m.slots[j.pc] = j.pos
		case jobKeep:
			m.keep = j.pos
		case jobGreedy:
			if next := &m.code[j.pc]; next.op == pByte {
				// No other place is worth a try.
				i := -1
				if j.pos > j.low {
					i = bytes.LastIndexByte(b[j.low:j.pos], next.b)
				}
				m.steps += (j.pos - j.low) >> 6
				if i < 0 {
					break
				}
				j.pos = j.low + i
			} else if j.pos > j.low {
				j.pos = m.previous(b, j.pos)
			}
			pc, pos = j.pc, j.pos
			if j.pos == j.low {
				m.jobs = m.jobs[:len(m.jobs)-1]
			}
			return pc, pos, true
		case jobLazy:
			n := m.code[j.pc].set.at(b, j.pos)
			if n == 0 {
				break
			}
			j.pos += n
			pc, pos = j.pc+1, j.pos
			if j.low--; j.low == 0 {
				m.jobs = m.jobs[:len(m.jobs)-1]
			}
			return pc, pos, true
		}
		m.jobs = m.jobs[:len(m.jobs)-1]
	}
	return 0, 0, false
}

// undo takes back what was done since there were mark jobs.
func (m *perlMatcher) undo(mark int) {
	for len(m.jobs) > mark {
		switch j := m.jobs[len(m.jobs)-1]; j.kind {
		case jobRestore:
			m.slots[j.pc] = j.pos
		case jobKeep:
			m.keep = j.pos
		}
		m.jobs = m.jobs[:len(m.jobs)-1]
	}
}

// commit drops the alternatives since there were mark jobs, but not what a failure later has to take back.
func (m *perlMatcher) commit(mark int) {
	kept := m.jobs[:mark]
	for _, j := range m.jobs[mark:] {
		if j.kind == jobRestore || j.kind == jobKeep {
			kept = append(kept, j)
		}
	}
	m.jobs = kept
}
