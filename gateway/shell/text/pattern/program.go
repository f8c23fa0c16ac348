package pattern

import (
	"slices"
	"unicode"
)

// program is an extended pattern as the instructions of an automaton. All the ways to match are followed at once, a
// character at a time, so that a match takes time in proportion to pattern × text and no stack.
type program struct {
	insts    []inst
	fold     bool
	backward bool
}

type opcode uint8

const (
	iChar   opcode = iota // the character r, then pc+1
	iAny                  // any character, then x
	iClass                // a character of the class, then pc+1
	iSplit                // x and y
	iNot                  // a text that the body at pc+1 does not match, then x; y is where any text is skipped
	iAccept               // the end, of the program or of a body
)

type inst struct {
	op    opcode
	r     rune
	x, y  int32
	class *class
}

// newProgram translates a pattern; backward is for reading texts from their end.
func newProgram(p *Pattern, backward bool) *program {
	g := generator{w: work{p: p}, backward: backward}
	g.list(p.elems)
	g.emit(inst{op: iAccept})
	return &program{insts: g.insts, fold: p.fold, backward: backward}
}

type generator struct {
	insts    []inst
	backward bool
	w        work
}

func (g *generator) emit(i inst) int32 {
	g.w.look(1)
	g.insts = append(g.insts, i)
	return int32(len(g.insts) - 1)
}

func (g *generator) here() int32 { return int32(len(g.insts)) }

func (g *generator) list(es []elem) {
	for i := range es {
		if g.backward {
			i = len(es) - 1 - i
		}
		g.elem(&es[i])
	}
}

func (g *generator) elem(e *elem) {
	switch e.kind {
	case kLit:
		for i := 0; i < len(e.lit); {
			at := i
			if g.backward {
				at = back(e.lit, len(e.lit)-i, 1, g.w.p.bytes)
			}
			r, n := char(e.lit, at, g.w.p.bytes)
			g.emit(inst{op: iChar, r: r})
			i += n
		}
	case kAny:
		g.emit(inst{op: iAny, x: g.here() + 1})
	case kClass:
		g.emit(inst{op: iClass, class: e.class})
	case kStar:
		g.star()
	case kExt:
		g.group(e.group)
	}
}

// star skips any text; it returns the instruction that skips at least a character of it.
func (g *generator) star() int32 {
	at := g.emit(inst{op: iSplit, x: g.here() + 2, y: g.here() + 1})
	return g.emit(inst{op: iAny, x: at})
}

func (g *generator) group(e *group) {
	switch e.op {
	case '@':
		g.alternatives(e.alts)
	case '?':
		at := g.emit(inst{op: iSplit, x: g.here() + 1})
		g.alternatives(e.alts)
		g.insts[at].y = g.here()
	case '*':
		at := g.emit(inst{op: iSplit, x: g.here() + 1})
		g.alternatives(e.alts)
		g.emit(inst{op: iSplit, x: at, y: at})
		g.insts[at].y = g.here()
	case '+':
		at := g.here()
		g.alternatives(e.alts)
		g.emit(inst{op: iSplit, x: at, y: g.here() + 1})
	case '!':
		at := g.emit(inst{op: iNot})
		g.alternatives(e.alts)
		g.emit(inst{op: iAccept})
		skip := g.star()
		g.insts[at].x, g.insts[at].y = g.here(), skip
	}
}

func (g *generator) alternatives(alts [][]elem) {
	var ends []int32
	for i, a := range alts {
		last := i == len(alts)-1
		at := g.here()
		if !last {
			g.emit(inst{op: iSplit, x: at + 1})
		}
		g.list(a)
		if !last {
			ends = append(ends, g.emit(inst{op: iSplit}))
			g.insts[at].y = g.here()
		}
	}
	for _, at := range ends {
		g.insts[at].x, g.insts[at].y = g.here(), g.here()
	}
}

// set is where the automaton may be after some characters.
type set struct {
	gen      uint32
	pcs      []int32 // of instructions that read a character
	nots     []not
	accepted bool
	seen     map[uint64]int // nots by their hashes
}

// not is a !(…) that has begun; the text must not end where its body does.
type not struct {
	pc   int32
	body *set
	hash uint64
}

func (s *set) dead() bool { return len(s.pcs) == 0 && len(s.nots) == 0 }

// same reports whether what follows is the same for both sets.
func (s *set) same(t *set) bool {
	if s.accepted != t.accepted || !slices.Equal(s.pcs, t.pcs) || len(s.nots) != len(t.nots) {
		return false
	}
	for i := range s.nots {
		if a, b := &s.nots[i], &t.nots[i]; a.pc != b.pc || a.hash != b.hash || !a.body.same(b.body) {
			return false
		}
	}
	return true
}

func (s *set) hash(pc int32) uint64 {
	h := uint64(pc)
	mix := func(v uint64) { h = (h ^ v) * 0x9E3779B97F4A7C15; h ^= h >> 29 }
	for _, p := range s.pcs {
		mix(uint64(p))
	}
	for i := range s.nots {
		mix(s.nots[i].hash)
	}
	return h
}

// maxStates bounds the places where the bodies of !(…) may be, at once: each may have begun at every character of the
// text.
const maxStates = 1 << 20

// runner is one match.
type runner struct {
	*work
	prog   *program
	mark   []uint32 // for each instruction, the set that it was last added to
	gen    uint32
	stack  []int32 // instructions to add
	states int     // in bodies of !(…), at this character
}

// run matches a text from i on, to its end or, if the program goes backward, to its beginning. It returns where the
// longest or shortest match ends, -1 if there is none.
func (w *work) run(prog *program, s string, i int, longest bool) int {
	r := runner{work: w, prog: prog, mark: make([]uint32, len(prog.insts))}
	now, next, end := &set{}, &set{}, -1
	r.renew(now)
	r.add(now, 0)
	for {
		if now.accepted {
			if end = i; !longest {
				return i
			}
		}
		var c rune
		switch {
		case now.dead() || r.states > maxStates:
			return end
		case prog.backward:
			if i == 0 {
				return end
			}
			i = back(s, i, 1, w.p.bytes)
			c, _ = char(s, i, w.p.bytes)
		default:
			if i == len(s) {
				return end
			}
			var n int
			c, n = char(s, i, w.p.bytes)
			i += n
		}
		r.states = 0
		r.advance(now, next, c)
		now, next = next, now
	}
}

// renew makes s an empty set.
func (r *runner) renew(s *set) {
	if r.gen++; r.gen == 0 {
		clear(r.mark)
		r.gen = 1
	}
	s.gen, s.pcs, s.nots, s.accepted, s.seen = r.gen, s.pcs[:0], s.nots[:0], false, nil
}

// advance makes to what from becomes by reading c.
func (r *runner) advance(from, to *set, c rune) {
	r.renew(to)
	for _, pc := range from.pcs {
		r.look(1)
		switch in := &r.prog.insts[pc]; in.op {
		case iAny:
			r.add(to, in.x)
		case iClass:
			if in.class.has(c, r.prog.fold) {
				r.add(to, pc+1)
			}
		default:
			if in.r == c || r.prog.fold && unicode.ToLower(in.r) == unicode.ToLower(c) {
				r.add(to, pc+1)
			}
		}
	}
	for _, n := range from.nots {
		body := &set{}
		r.advance(n.body, body, c)
		r.settle(to, n.pc, body)
		r.drain(to, 0)
	}
}

// add adds an instruction, and those that it leads to without reading a character.
func (r *runner) add(s *set, pc int32) {
	base := len(r.stack)
	r.stack = append(r.stack, pc)
	r.drain(s, base)
}

// drain adds the instructions on the stack above base.
func (r *runner) drain(s *set, base int) {
	for len(r.stack) > base {
		r.look(1)
		pc := r.stack[len(r.stack)-1]
		r.stack = r.stack[:len(r.stack)-1]
		if r.mark[pc] == s.gen {
			continue
		}
		r.mark[pc] = s.gen
		switch in := &r.prog.insts[pc]; in.op {
		case iSplit:
			r.stack = append(r.stack, in.y, in.x)
		case iAccept:
			s.accepted = true
		case iNot: // its body is nested no deeper than the pattern is
			body := &set{}
			r.renew(body)
			r.add(body, pc+1)
			r.settle(s, pc, body)
		default:
			s.pcs = append(s.pcs, pc)
		}
	}
}

// settle puts on the stack where the !(…) at pc may end, when its body is at body.
func (r *runner) settle(s *set, pc int32, body *set) {
	in := &r.prog.insts[pc]
	if !body.accepted {
		r.stack = append(r.stack, in.x)
	}
	if body.dead() {
		r.stack = append(r.stack, in.y)
		return
	}
	n := not{pc, body, body.hash(pc)}
	if s.seen == nil {
		s.seen = map[uint64]int{}
	}
	if i, ok := s.seen[n.hash]; ok && s.nots[i].pc == pc && s.nots[i].body.same(body) {
		return
	}
	s.seen[n.hash] = len(s.nots)
	s.nots = append(s.nots, n)
	r.states += len(body.pcs) + len(body.nots) + 8
}
