package regex

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

type instOp uint8

const (
	iBytes   instOp = iota // one byte, by ranges
	iSplit                 // out, or else arg
	iAssert                // out when assertion holds
	iSave                  // save the position in slot arg
	iBackref               // the text of group arg
	iMatch
	iFail
)

type byteRange struct {
	lo, hi byte
	next   int32
}

type inst struct {
	op     instOp
	assert assertion
	out    int32
	arg    int32
	slot   int32 // of a split that begins a loop: its guard, from 1
	ranges []byteRange
}

// prog is a byte-level automaton.
type prog struct {
	insts      []inst
	start      int32
	groups     int
	asserts    bool // some assertion looks at the neighbours
	words      bool // some assertion looks at words
	backrefs   bool
	bytes      bool // every byte is a character
	asciiWords bool // words are of ASCII characters
	loops      int  // slots that guard loops against turning without progress
}

// maxInsts bounds a program; the largest patterns people write need a few thousand.
const maxInsts = 200_000

type compiler struct {
	insts  []inst
	limit  rune
	suffix map[string]int32 // shared tails of UTF-8 sequences
	loops  int
	opt    *Options
	loose  bool // replace back-references by "anything": a superset to filter with
}

// compile builds the program of n.
func compile(n *node, groups int, opt Options, loose bool) (p *prog, err error) {
	c := &compiler{limit: maxRune, suffix: map[string]int32{}, opt: &opt, loose: loose}
	if opt.Bytes {
		c.limit = maxByte
	}
	defer func() {
		if r := recover(); r != nil {
			pe, ok := r.(parseError)
			if !ok {
				panic(r)
			}
			err = pe.err
		}
	}()
	match := c.add(inst{op: iMatch})
	start := c.node(n, match)
	p = &prog{insts: c.insts, start: start, groups: groups, bytes: opt.Bytes, loops: c.loops}
	for i := range p.insts {
		switch p.insts[i].op {
		case iAssert:
			p.asserts = true
			if p.insts[i].assert >= wordEdge {
				p.words = true
			}
		case iBackref:
			p.backrefs = true
		}
	}
	return p, nil
}

func (c *compiler) add(i inst) int32 {
	if len(c.insts) >= maxInsts {
		panic(parseError{errTooBig})
	}
	if len(c.insts)&7 == 7 {
		c.opt.tick(1)
	}
	c.insts = append(c.insts, i)
	return int32(len(c.insts) - 1)
}

// node compiles n so that it goes on to next, and returns its entry.
func (c *compiler) node(n *node, next int32) int32 {
	switch n.op {
	case opEmpty:
		return next
	case opSet:
		return c.set(n.set, next)
	case opByte:
		return c.add(inst{op: iBytes, ranges: []byteRange{{n.b, n.b, next}}})
	case opCat:
		for i := len(n.sub) - 1; i >= 0; i-- {
			next = c.node(n.sub[i], next)
		}
		return next
	case opAlt:
		if pc, ok := c.literals(n, next); ok {
			return pc
		}
		pc := c.node(n.sub[len(n.sub)-1], next)
		for i := len(n.sub) - 2; i >= 0; i-- {
			pc = c.add(inst{op: iSplit, out: c.node(n.sub[i], next), arg: pc})
		}
		return pc
	case opRepeat:
		return c.repeat(n, next)
	case opGroup:
		closing := c.add(inst{op: iSave, arg: int32(2*n.n + 1), out: next})
		return c.add(inst{op: iSave, arg: int32(2 * n.n), out: c.node(n.sub[0], closing)})
	case opBackref:
		if !c.loose {
			return c.add(inst{op: iBackref, arg: int32(n.n), out: next})
		}
		loop := c.add(inst{op: iSplit, arg: next})
		anyByte := c.add(inst{op: iBytes, ranges: []byteRange{{0, 255, loop}}})
		c.insts[loop].out = anyByte
		return loop
	case opAssert:
		return c.add(inst{op: iAssert, assert: n.assert, out: next})
	}
	return next
}

// literals compiles an alternation of many plain strings as a trie. Without groups
// the order of the alternatives cannot be seen from outside.
func (c *compiler) literals(n *node, next int32) (int32, bool) {
	if len(n.sub) < 4 {
		return 0, false
	}
	words := make([]string, len(n.sub))
	for i, s := range n.sub {
		c.opt.tick(1)
		w, ok := exactString(s, c.limit)
		if !ok {
			return 0, false
		}
		words[i] = w
	}
	t := &trie{}
	for _, w := range words {
		c.opt.tick(1)
		t.add(w)
	}
	return c.trie(t, next), true
}

type trie struct {
	end  bool
	keys []byte
	kids []*trie
}

func (t *trie) add(w string) {
	for i := range len(w) {
		k := bytes.IndexByte(t.keys, w[i])
		if k < 0 {
			k = len(t.keys)
			t.keys = append(t.keys, w[i])
			t.kids = append(t.kids, &trie{})
		}
		t = t.kids[k]
	}
	t.end = true
}

func (c *compiler) trie(t *trie, next int32) int32 {
	if len(t.keys) == 0 {
		return next
	}
	var in inst
	in.op = iBytes
	in.ranges = make([]byteRange, 0, len(t.keys))
	for _, b := range slices.Sorted(slices.Values(t.keys)) {
		in.ranges = append(in.ranges, byteRange{b, b, c.trie(t.kids[bytes.IndexByte(t.keys, b)], next)})
	}
	pc := c.add(in)
	if t.end {
		pc = c.add(inst{op: iSplit, out: pc, arg: next})
	}
	return pc
}

func (c *compiler) repeat(n *node, next int32) int32 {
	x := n.sub[0]
	pc := next
	if n.max < 0 {
		c.loops++
		loop := c.add(inst{op: iSplit, arg: next, slot: int32(c.loops)})
		body := c.node(x, loop)
		c.insts[loop].out = body
		if n.min == 0 {
			return loop
		}
		// x{n,} is n-1 copies and then x+, which enters the loop at its body.
		pc = c.insts[loop].out
		for range n.min - 1 {
			pc = c.node(x, pc)
		}
		return pc
	}
	for range n.max - n.min {
		pc = c.add(inst{op: iSplit, out: c.node(x, pc), arg: next})
	}
	for range n.min {
		pc = c.node(x, pc)
	}
	return pc
}

// set compiles one character of s.
func (c *compiler) set(s runeSet, next int32) int32 {
	if c.limit == maxByte {
		in := inst{op: iBytes}
		for _, r := range s {
			in.ranges = append(in.ranges, byteRange{byte(r.lo), byte(r.hi), next})
		}
		return c.add(in)
	}
	var seqs []utf8Seq
	for _, r := range s {
		seqs = appendUTF8(seqs, r.lo, r.hi)
	}
	return c.sequences(seqs, next)
}

// utf8Seq is a sequence of byte ranges that matches a range of characters.
type utf8Seq []byteRange

// appendUTF8 splits lo..hi into sequences, in order, disjoint at their first
// byte or equal there.
func appendUTF8(seqs []utf8Seq, lo, hi rune) []utf8Seq {
	if lo > hi {
		return seqs
	}
	if lo < 0xd800 && hi > 0xdfff { // surrogates have no encoding
		seqs = appendUTF8(seqs, lo, 0xd7ff)
		return appendUTF8(seqs, 0xe000, hi)
	}
	if lo >= 0xd800 && lo <= 0xdfff {
		return appendUTF8(seqs, 0xe000, hi)
	}
	if hi >= 0xd800 && hi <= 0xdfff {
		return appendUTF8(seqs, lo, 0xd7ff)
	}
	for _, top := range []rune{0x7f, 0x7ff, 0xffff} { // one length only
		if lo <= top && hi > top {
			seqs = appendUTF8(seqs, lo, top)
			return appendUTF8(seqs, top+1, hi)
		}
	}
	if hi <= 0x7f {
		return append(seqs, utf8Seq{{lo: byte(lo), hi: byte(hi)}})
	}
	for shift := 6; shift < 24; shift += 6 { // ends on boundaries of the continuation bytes
		m := rune(1)<<shift - 1
		if lo&^m == hi&^m {
			continue
		}
		if lo&m != 0 {
			seqs = appendUTF8(seqs, lo, lo|m)
			return appendUTF8(seqs, (lo|m)+1, hi)
		}
		if hi&m != m {
			seqs = appendUTF8(seqs, lo, hi&^m-1)
			return appendUTF8(seqs, hi&^m, hi)
		}
	}
	var a, b [utf8.UTFMax]byte
	n := utf8.EncodeRune(a[:], lo)
	utf8.EncodeRune(b[:], hi)
	seq := make(utf8Seq, n)
	for i := range n {
		seq[i] = byteRange{lo: a[i], hi: b[i]}
	}
	return append(seqs, seq)
}

// sequences compiles an alternation of sequences as a trie with shared tails.
func (c *compiler) sequences(seqs []utf8Seq, next int32) int32 {
	in := inst{op: iBytes}
	for i := 0; i < len(seqs); {
		s := seqs[i]
		r := byteRange{lo: s[0].lo, hi: s[0].hi, next: next}
		j := i + 1
		if len(s) > 1 {
			var tails []utf8Seq
			for j = i; j < len(seqs) && len(seqs[j]) == len(s) && seqs[j][0] == s[0]; j++ {
				tails = append(tails, seqs[j][1:])
			}
			r.next = c.sequences(tails, next)
		}
		if n := len(in.ranges); n > 0 && in.ranges[n-1].next == r.next && in.ranges[n-1].hi+1 == r.lo {
			in.ranges[n-1].hi = r.hi
		} else {
			in.ranges = append(in.ranges, r)
		}
		i = j
	}
	var key strings.Builder
	for _, r := range in.ranges {
		key.WriteByte(r.lo)
		key.WriteByte(r.hi)
		key.WriteString(strconv.Itoa(int(r.next)))
		key.WriteByte(',')
	}
	if pc, ok := c.suffix[key.String()]; ok {
		return pc
	}
	pc := c.add(in)
	c.suffix[key.String()] = pc
	return pc
}

func (in *inst) step(b byte) int32 {
	for i := range in.ranges {
		if r := &in.ranges[i]; b <= r.hi {
			if b >= r.lo {
				return r.next
			}
			return -1
		}
	}
	return -1
}
