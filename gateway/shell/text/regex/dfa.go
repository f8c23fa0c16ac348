package regex

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// Context of a position: what the character before it is.
const (
	ctxText uint8 = 1 << iota // start of the text
	ctxLine                   // after a newline
	ctxWord                   // after a word character
)

// mode is what a DFA is built for.
type mode uint8

const (
	anchored mode = iota // from a given start, to the longest end
	search               // from anywhere, to the earliest end
	lines                // like search, in a buffer where newlines end and begin texts
)

// A transition is target<<1, or has bit 0 set when the loop must look closer:
const (
	transUnknown uint32 = 1 // not computed yet
	transQuit    uint32 = 3 // the answer depends on more than bytes: ask the NFA
	transDead    uint32 = 5 // no match from here on
	transMatch   uint32 = 7 // search: a match ended before this byte
	transBase    uint32 = 9 // anchored: transBase + target<<4: a match ended before this byte
)

const (
	classEOT     = 256     // pseudo-byte: end of the text
	maxDFAStates = 4000    // the cache starts anew past this
	maxDFABytes  = 8 << 20 // or past this many bytes of sets and transitions
)

type dfaState struct {
	set []int32 // closed over splits; assertions are kept
	ctx uint8
}

// dfa is a lazily built automaton with one transition table.
type dfa struct {
	p       *prog
	mode    mode
	multi   bool // ^ and $ match at newlines
	classes [257]uint8
	stride  int
	repr    []int // one byte per class
	trans   []uint32
	states  []dfaState
	index   map[string]uint32
	bytes   int
	starts  [8]uint32 // state+1 by context
	list    sparse
	tmp     sparse
	key     []byte
	stack   []int32
}

// sparse is a set of program counters in insertion order.
type sparse struct {
	dense []int32
	where []int32
}

func (s *sparse) init(n int) { s.where = make([]int32, n) }

func (s *sparse) clear() { s.dense = s.dense[:0] }

func (s *sparse) has(pc int32) bool {
	i := s.where[pc]
	return int(i) < len(s.dense) && s.dense[i] == pc
}

func (s *sparse) add(pc int32) bool {
	if s.has(pc) {
		return false
	}
	s.where[pc] = int32(len(s.dense))
	s.dense = append(s.dense, pc)
	return true
}

func newDFA(p *prog, m mode, multi bool) *dfa {
	d := &dfa{p: p, mode: m, multi: multi, index: map[string]uint32{}}
	d.list.init(len(p.insts))
	d.tmp.init(len(p.insts))
	// Bytes that no instruction tells apart share a class.
	var edge [257]bool // edge[i]: a class begins at i
	edge[0], edge[256] = true, true
	mark := func(lo, hi int) { edge[lo], edge[hi+1] = true, true }
	for i := range p.insts {
		for _, r := range p.insts[i].ranges {
			mark(int(r.lo), int(r.hi))
		}
	}
	if m == lines || p.asserts {
		mark('\n', '\n')
	}
	if p.words {
		for _, r := range asciiClasses["word"] {
			mark(int(r.lo), int(r.hi))
		}
		mark(0x80, 0xff)
	}
	c := -1
	for b := range 256 {
		if edge[b] {
			c++
			d.repr = append(d.repr, b)
		}
		d.classes[b] = uint8(c)
	}
	d.stride = c + 2 // the last is the end of text
	d.reset()
	return d
}

func (d *dfa) reset() {
	d.trans = d.trans[:0]
	d.states = d.states[:0]
	clear(d.index)
	d.starts = [8]uint32{}
	d.bytes = 0
}

// close adds pc and all it leads to without consuming.
func (d *dfa) close(s *sparse, pc int32) {
	d.stack = append(d.stack[:0], pc)
	for len(d.stack) > 0 {
		pc := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if !s.add(pc) {
			continue
		}
		switch in := &d.p.insts[pc]; in.op {
		case iSplit:
			d.stack = append(d.stack, in.arg, in.out)
		case iSave:
			d.stack = append(d.stack, in.out)
		}
	}
}

// holds reports whether a holds between ctx and the following byte.
func holds(a assertion, ctx uint8, multi bool, eotNext, nlNext, wordNext bool) bool {
	prev := ctx&ctxWord != 0
	switch a {
	case bol:
		return ctx&ctxText != 0 || multi && ctx&ctxLine != 0
	case eol:
		return eotNext || multi && nlNext
	case bot:
		return ctx&ctxText != 0
	case eot:
		return eotNext
	case wordEdge:
		return prev != wordNext
	case notEdge:
		return prev == wordNext
	case wordStart:
		return !prev && wordNext
	case wordEnd:
		return prev && !wordNext
	case noWordPrev:
		return !prev
	case noWordNext:
		return !wordNext
	}
	return false
}

// start returns the start state for a context.
func (d *dfa) start(ctx uint8) uint32 {
	if !d.p.asserts {
		ctx = 0
	}
	if s := d.starts[ctx]; s != 0 {
		return s - 1
	}
	d.list.clear()
	d.close(&d.list, d.p.start)
	s := d.state(&d.list, ctx)
	d.starts[ctx] = s + 1
	return s
}

// state returns the offset of the state with this set and context.
func (d *dfa) state(s *sparse, ctx uint8) uint32 {
	set := d.key[:0]
	pcs := make([]int32, 0, len(s.dense))
	for _, pc := range s.dense {
		switch d.p.insts[pc].op {
		case iBytes, iAssert, iMatch:
			pcs = append(pcs, pc)
		}
	}
	slices.Sort(pcs)
	for _, pc := range pcs {
		set = binary.AppendUvarint(set, uint64(pc))
	}
	set = append(set, ctx)
	d.key = set
	if i, ok := d.index[string(set)]; ok {
		return i
	}
	i := uint32(len(d.states) * d.stride)
	d.index[string(set)] = i
	d.states = append(d.states, dfaState{pcs, ctx})
	d.bytes += 6*len(pcs) + 4*d.stride + 64
	for range d.stride {
		d.trans = append(d.trans, transUnknown)
	}
	return i
}

// full says that the cache is to be emptied before the next state.
func (d *dfa) full() bool { return len(d.states) >= maxDFAStates || d.bytes > maxDFABytes }

// room empties a full cache, keeping state s, and returns where s is then.
func (d *dfa) room(s uint32) uint32 {
	if !d.full() {
		return s
	}
	keep := d.states[int(s)/d.stride]
	d.reset()
	d.list.clear()
	for _, pc := range keep.set {
		d.close(&d.list, pc)
	}
	return d.state(&d.list, keep.ctx)
}

// step computes the transition of state at (an offset) on class c.
func (d *dfa) step(at uint32, c int) uint32 {
	st := d.states[int(at)/d.stride]
	b := classEOT
	if c < d.stride-1 {
		b = d.repr[c]
	}
	isEOT := b == classEOT || d.mode == lines && b == '\n'
	nl := b == '\n'
	word := b < 0x80 && wordByte[b]
	if d.p.words && !d.p.bytes && !d.p.asciiWords && b >= 0x80 && b < 0x100 {
		return transQuit
	}
	d.list.clear()
	for _, pc := range st.set {
		d.close(&d.list, pc)
	}
	if d.p.asserts {
		// The list grows while assertions that hold are followed.
		for i := 0; i < len(d.list.dense); i++ {
			in := &d.p.insts[d.list.dense[i]]
			if in.op == iAssert && holds(in.assert, st.ctx, d.multi, isEOT, nl, word) {
				d.close(&d.list, in.out)
			}
		}
	}
	matched := false
	for _, pc := range d.list.dense {
		if d.p.insts[pc].op == iMatch {
			matched = true
			break
		}
	}
	if matched && d.mode != anchored {
		return transMatch
	}
	if b == classEOT {
		if matched {
			return transBase
		}
		return transDead
	}
	var next uint32
	if isEOT { // a new text begins
		next = d.start(ctxText)
	} else {
		d.tmp.clear()
		for _, pc := range d.list.dense {
			if in := &d.p.insts[pc]; in.op == iBytes {
				if to := in.step(byte(b)); to >= 0 {
					d.close(&d.tmp, to)
				}
			}
		}
		if d.mode != anchored {
			d.close(&d.tmp, d.p.start)
		}
		if len(d.tmp.dense) == 0 {
			if matched {
				return transBase | transDead<<1
			}
			return transDead
		}
		ctx := uint8(0)
		if d.p.asserts {
			if nl {
				ctx |= ctxLine
			}
			if word {
				ctx |= ctxWord
			}
		}
		next = d.state(&d.tmp, ctx)
	}
	t := next << 1
	if matched {
		t = transBase | next<<4
	}
	d.trans[int(at)+c] = t
	return t
}

// earliest reports whether a match exists in b[pos:]; end is where the earliest one
// ends, or for mode lines a position on the line that has one. quit asks for the NFA.
func (d *dfa) earliest(b []byte, pos int, ctx uint8, tick func(int)) (end int, ok, quit bool) {
	if d.full() {
		d.reset()
	}
	s := d.start(ctx)
	const slice = 64 << 10
	for pos < len(b) {
		stop := min(len(b), pos+slice)
		if tick != nil {
			tick(1 + (stop-pos)>>10)
		}
		for pos < stop {
			t := d.trans[s+uint32(d.classes[b[pos]])]
			if t&1 == 0 {
				s = t >> 1
				pos++
				continue
			}
			if t == transUnknown {
				s = d.room(s)
				c := int(d.classes[b[pos]])
				t = d.step(s, c)
				d.trans[int(s)+c] = t
				if t&1 == 0 {
					s = t >> 1
					pos++
					continue
				}
			}
			if t == transMatch {
				return pos, true, false
			}
			return pos, false, t == transQuit
		}
	}
	c := d.stride - 1
	t := d.trans[int(s)+c]
	if t == transUnknown {
		t = d.step(s, c)
		d.trans[int(s)+c] = t
	}
	return pos, t == transMatch, false
}

// longest returns the end of the longest match that begins at pos.
func (d *dfa) longest(b []byte, pos int, ctx uint8) (end int, quit bool) {
	if d.full() {
		d.reset()
	}
	s := d.start(ctx)
	end = -1
	for ; pos <= len(b); pos++ {
		c := d.stride - 1
		if pos < len(b) {
			c = int(d.classes[b[pos]])
		}
		t := d.trans[int(s)+c]
		if t == transUnknown {
			s = d.room(s)
			t = d.step(s, c)
			d.trans[int(s)+c] = t
		}
		switch {
		case t&1 == 0:
			s = t >> 1
		case t == transDead:
			return end, false
		case t == transQuit:
			return end, true
		default: // a match ends here
			end = pos
			if pos == len(b) || t == transBase|transDead<<1 {
				return end, false
			}
			s = t >> 4
		}
	}
	return end, false
}

// contextAt says what is before position pos of b.
func contextAt(b []byte, pos int, bytes bool) uint8 {
	if pos == 0 {
		return ctxText
	}
	c := b[pos-1]
	switch {
	case c == '\n':
		return ctxLine
	case c < utf8.RuneSelf || bytes:
		if wordByte[c] {
			return ctxWord
		}
	default:
		if r, n := utf8.DecodeLastRune(b[max(0, pos-utf8.UTFMax):pos]); (r != utf8.RuneError || n > 1) && isWord(r) {
			return ctxWord
		}
	}
	return 0
}

// wordAt reports whether a word character begins at pos.
func wordAt(b []byte, pos int, bytes bool) bool {
	if pos >= len(b) {
		return false
	}
	if b[pos] < utf8.RuneSelf || bytes {
		return wordByte[b[pos]]
	}
	r, n := utf8.DecodeRune(b[pos:])
	return (r != utf8.RuneError || n > 1) && isWord(r)
}
