package regex

import (
	"bytes"
	"math"
	"math/bits"
	"unicode/utf8"
)

// byteSet is a set of bytes.
type byteSet [4]uint64

func (s *byteSet) add(c byte)      { s[c>>6] |= 1 << (c & 63) }
func (s *byteSet) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }
func (s *byteSet) len() int {
	return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) + bits.OnesCount64(s[2]) + bits.OnesCount64(s[3])
}

// sequence is a literal whose bytes may each be one of several: what "[0-9]ms" or a word in any case is.
type sequence []byteSet

// bits estimates how rare the sequence is in text.
func (s sequence) bits() float64 {
	sum := 0.0
	for i := range s {
		sum += math.Log2(128 / float64(min(s[i].len(), 128)))
	}
	return sum
}

func (s sequence) at(b []byte, pos int) bool {
	if pos < 0 || len(b)-pos < len(s) {
		return false
	}
	for i := range s {
		if !s[i].has(b[pos+i]) {
			return false
		}
	}
	return true
}

// Bounds of what is looked for together.
const (
	maxSequences = 32
	maxSequence  = 24 // bytes
	minWindow    = 3
	maxWindow    = 12
	minBits      = 14
)

// outline is what is known about the texts a node matches.
type outline struct {
	exact    []sequence // all of them; nil when they are too many
	pre, suf []sequence // else each text begins, ends, with one of these; never nil
	must     []sequence // and contains one of these; nil when nothing is known
}

var nothing = []sequence{{}}

func rarity(a []sequence) float64 {
	least := math.Inf(1)
	for _, s := range a {
		if len(s) < minWindow {
			return 0
		}
		least = min(least, s.bits())
	}
	return least - math.Log2(float64(len(a)))
}

func rarer(a, b []sequence) []sequence {
	if a == nil || b != nil && rarity(b) >= rarity(a) {
		return b
	}
	return a
}

// best is the list of which each text contains one.
func (o outline) best() []sequence {
	if o.exact != nil {
		return o.exact
	}
	return rarer(rarer(o.pre, o.suf), o.must)
}

// cross appends each of b to each of a; ok is false when that becomes too much.
func cross(a, b []sequence) ([]sequence, bool) {
	if len(a)*len(b) > maxSequences {
		return nil, false
	}
	out := make([]sequence, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if len(x)+len(y) > maxSequence {
				return nil, false
			}
			out = append(out, append(x[:len(x):len(x)], y...))
		}
	}
	return out, true
}

// The characters outside ASCII that fold to letters of it, which would make every word with a k or an s one of
// several lengths: sequences leave them out, and a finder looks for them separately.
const (
	longS  = 'ſ'
	kelvin = 'K'
)

type outliner struct {
	limit rune
	opt   *Options
	odd   bool // longS or kelvin was left out
}

func (l *outliner) set(set runeSet) outline {
	unknown := outline{pre: nothing, suf: nothing}
	var one byteSet
	var long []sequence
	for _, r := range set {
		for c := r.lo; c <= r.hi; c++ {
			switch {
			case c == '\n': // is in no line
				continue
			case l.limit == maxByte || c < utf8.RuneSelf:
				one.add(byte(c))
				continue
			case c == longS && set.contains('s') || c == kelvin && set.contains('k'):
				l.odd = true
				continue
			case len(long) == 4:
				return unknown
			}
			var s sequence
			for _, b := range []byte(string(c)) {
				var one byteSet
				one.add(b)
				s = append(s, one)
			}
			long = append(long, s)
		}
	}
	if n := one.len(); n > 64 {
		return unknown
	} else if n > 0 {
		long = append(long, sequence{one})
	}
	if len(long) == 0 {
		return unknown
	}
	return outline{exact: long}
}

func (l *outliner) node(n *node) outline {
	unknown := outline{pre: nothing, suf: nothing}
	switch n.op {
	case opEmpty, opAssert:
		return outline{exact: nothing}
	case opByte:
		var one byteSet
		one.add(n.b)
		return outline{exact: []sequence{{one}}}
	case opSet:
		return l.set(n.set)
	case opGroup:
		return l.node(n.sub[0])
	case opRepeat:
		if n.min == 0 {
			return unknown
		}
		o := l.node(n.sub[0])
		if n.min == 1 && n.max == 1 {
			return o
		}
		if o.exact == nil {
			return outline{pre: o.pre, suf: o.suf, must: o.must}
		}
		run := nothing
		for i := range n.min {
			next, ok := cross(run, o.exact)
			if !ok {
				return outline{pre: run, suf: run}
			}
			if run = next; i+1 == n.max {
				return outline{exact: run}
			}
		}
		return outline{pre: run, suf: run}
	case opAlt:
		var exact, must []sequence
		whole, known := true, true
		for _, s := range n.sub {
			l.opt.tick(1)
			o := l.node(s)
			b := o.best()
			exact, must = append(exact, o.exact...), append(must, b...)
			whole = whole && o.exact != nil && len(exact) <= maxSequences
			known = known && rarity(b) > 0 && len(must) <= maxSequences
			if !whole && !known {
				return unknown
			}
		}
		if whole && len(exact) > 0 {
			return outline{exact: exact}
		}
		if known && len(must) > 0 {
			unknown.must = must
		}
		return unknown
	case opCat:
		run, whole := nothing, true
		var out outline
		flush := func(next []sequence) {
			if whole {
				out.pre = run
			} else {
				out.must = rarer(run, out.must)
			}
			run, whole = next, false
		}
		for _, s := range n.sub {
			o := l.node(s)
			if o.exact != nil {
				next, ok := cross(run, o.exact)
				if !ok {
					flush(o.exact)
					continue
				}
				run = next
				continue
			}
			if next, ok := cross(run, o.pre); ok {
				run = next
			}
			flush(o.suf)
			out.must = rarer(o.must, out.must)
		}
		if whole {
			return outline{exact: run}
		}
		out.suf = run
		return out
	}
	return unknown
}

// finder looks for the next place where one of several sequences is, skipping most of the text: Wu and Manber's
// algorithm with blocks of two bytes.
type finder struct {
	seqs  []sequence
	from  []int // where in its sequence each one's window begins
	size  int   // of the windows
	shift [1 << 13]uint8
	whole bool // a sequence found is a match of the pattern
	odd   bool // does not know about longS and kelvin
}

func block(a, b byte) uint { return (uint(a)<<5 ^ uint(b)) & (1<<13 - 1) }

// newFinder returns a finder of what every match of n contains, nil when that is too little.
func newFinder(n *node, limit rune, opt *Options) *finder {
	l := &outliner{limit: limit, opt: opt}
	o := l.node(n)
	seqs := o.best()
	if len(seqs) == 0 || rarity(seqs) < minBits {
		return nil
	}
	f := &finder{seqs: seqs, size: maxWindow, odd: l.odd, whole: o.exact != nil && !asserts(n)}
	for _, s := range seqs {
		f.size = min(f.size, len(s))
	}
	for i := range f.shift {
		f.shift[i] = uint8(f.size - 1)
	}
	for _, s := range seqs {
		from := 0
		for i := 1; i+f.size <= len(s); i++ {
			if s[i:i+f.size].bits() > s[from:from+f.size].bits() {
				from = i
			}
		}
		f.from = append(f.from, from)
		w := s[from : from+f.size]
		for i := 1; i < len(w); i++ {
			left := uint8(len(w) - 1 - i)
			for a := range 256 {
				if !w[i-1].has(byte(a)) {
					continue
				}
				for b := range 256 {
					if w[i].has(byte(b)) {
						h := block(byte(a), byte(b))
						f.shift[h] = min(f.shift[h], left)
					}
				}
			}
		}
	}
	return f
}

// asserts reports whether n looks at what is around.
func asserts(n *node) bool {
	if n.op == opAssert {
		return true
	}
	for _, s := range n.sub {
		if asserts(s) {
			return true
		}
	}
	return false
}

// find returns a position within the first sequence in b[pos:], -1 when there is none.
func (f *finder) find(b []byte, pos int) int {
	last := f.size - 1
	for i := pos + last; i < len(b); {
		if s := f.shift[block(b[i-1], b[i])]; s > 0 {
			i += int(s)
			continue
		}
		for k, s := range f.seqs {
			if at := i - last - f.from[k]; at >= pos && s.at(b, at) {
				return i
			}
		}
		i++
	}
	return -1
}

var oddBytes = [][]byte{[]byte(string(longS)), []byte(string(kelvin))}

// finderLine looks for a sequence and verifies the lines that have one.
func (re *Regexp) finderLine(b []byte, pos int) (start, end int, ok bool) {
	const slice = 1 << 20 // searched between ticks
	f := re.finder
	for pos < len(b) {
		stop := len(b)
		if stop-pos > slice {
			stop = lineEnd(b, pos+slice)
		}
		if re.tick != nil {
			re.tick(1 + (stop-pos)>>12)
		}
		part := b[:stop]
		for pos < stop {
			i := f.find(part, pos)
			sure := f.whole && i >= 0
			if f.odd {
				limit := len(part)
				if i >= 0 {
					limit = i
				}
				for _, odd := range oddBytes {
					if k := bytes.Index(part[pos:limit], odd); k >= 0 {
						i, limit, sure = pos+k, pos+k, false
					}
				}
			}
			if i < 0 {
				break
			}
			s := lineStart(part, pos, i)
			e := lineEnd(part, i)
			if sure || re.confirm(part[s:e]) {
				return s, e, true
			}
			pos = e + 1
		}
		pos = max(pos, stop+1)
	}
	return 0, 0, false
}
