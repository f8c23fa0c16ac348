package regex

import (
	"bytes"
	"unicode/utf8"
)

// machine runs a program without a DFA: where assertions need characters, where
// groups are wanted, and where there are back-references.
type machine struct {
	p      *prog
	multi  bool
	tick   func(int)
	cur    sparse
	nxt    sparse
	starts []int // by pc, of threads in cur
	ns     []int
	stack  []int32

	visited []uint64
	jobs    []job
	slots   []int
}

// job is a choice left for later, or (pc < 0) a slot to restore.
type job struct {
	pc  int32
	pos int
}

func newMachine(p *prog, multi bool) *machine {
	m := &machine{p: p, multi: multi}
	m.cur.init(len(p.insts))
	m.nxt.init(len(p.insts))
	m.starts = make([]int, len(p.insts))
	m.ns = make([]int, len(p.insts))
	return m
}

// holdsAt evaluates an assertion at a position.
func (m *machine) holdsAt(a assertion, b []byte, pos int) bool {
	return holds(a, contextAt(b, pos, m.p.bytes), m.multi,
		pos == len(b), pos < len(b) && b[pos] == '\n', a >= wordEdge && wordAt(b, pos, m.p.bytes))
}

// follow adds pc and what it leads to, as threads that began at start.
func (m *machine) follow(s *sparse, starts []int, pc int32, start int, b []byte, pos int) {
	m.stack = append(m.stack[:0], pc)
	for len(m.stack) > 0 {
		pc := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		if !s.add(pc) {
			continue
		}
		starts[pc] = start
		switch in := &m.p.insts[pc]; in.op {
		case iSplit:
			m.stack = append(m.stack, in.arg, in.out)
		case iSave:
			m.stack = append(m.stack, in.out)
		case iAssert:
			if m.holdsAt(in.assert, b, pos) {
				m.stack = append(m.stack, in.out)
			}
		}
	}
}

// find returns the leftmost-longest match that begins at or after pos.
func (m *machine) find(b []byte, pos int, anchored bool) (start, end int, ok bool) {
	m.cur.clear()
	begin := pos
	boundary := pos // where the next character begins
	start = -1
	for ; pos <= len(b); pos++ {
		if m.tick != nil && pos&1023 == 0 {
			m.tick(1 + len(m.cur.dense)>>2)
		}
		if start < 0 && (!anchored || pos == begin) && pos == boundary {
			m.follow(&m.cur, m.starts, m.p.start, pos, b, pos)
		}
		if pos == boundary && pos < len(b) {
			boundary++
			if !m.p.bytes && b[pos] >= utf8.RuneSelf {
				_, n := utf8.DecodeRune(b[pos:])
				boundary = pos + n
			}
		}
		if len(m.cur.dense) == 0 && (start >= 0 || anchored) {
			break
		}
		for _, pc := range m.cur.dense {
			if m.p.insts[pc].op == iMatch && (start < 0 || m.starts[pc] <= start) {
				start, end = m.starts[pc], pos
				break
			}
		}
		if pos == len(b) {
			break
		}
		m.nxt.clear()
		for _, pc := range m.cur.dense {
			if start >= 0 && m.starts[pc] > start {
				continue
			}
			if in := &m.p.insts[pc]; in.op == iBytes {
				if to := in.step(b[pos]); to >= 0 {
					m.follow(&m.nxt, m.ns, to, m.starts[pc], b, pos+1)
				}
			}
		}
		m.cur, m.nxt = m.nxt, m.cur
		m.starts, m.ns = m.ns, m.starts
	}
	return start, end, start >= 0
}

// maxVisited bounds the memo of the backtracker, in bits.
const maxVisited = 32 << 20

// groups fills loc for the match b[start:end], taking the first way to match that
// a backtracking search finds.
func (m *machine) groups(b []byte, start, end int, loc []int) {
	n := end - start + 1
	if n > maxVisited/len(m.p.insts) {
		m.groupsLong(b, start, end, loc)
		return
	}
	words := (n*len(m.p.insts) + 63) / 64
	if cap(m.visited) < words {
		m.visited = make([]uint64, words)
	} else {
		m.visited = m.visited[:words]
		clear(m.visited)
	}
	if m.tick != nil {
		m.tick(1 + words>>7)
	}
	steps := 0
	m.jobs = append(m.jobs[:0], job{m.p.start, start})
	for len(m.jobs) > 0 {
		j := m.jobs[len(m.jobs)-1]
		m.jobs = m.jobs[:len(m.jobs)-1]
		if j.pc < 0 {
			loc[-j.pc-1] = j.pos
			continue
		}
		pc, pos := j.pc, j.pos
	thread:
		for {
			if steps++; steps&1023 == 0 && m.tick != nil {
				m.tick(4)
			}
			in := &m.p.insts[pc]
			switch in.op {
			case iBytes:
				if pos >= end {
					break thread
				}
				if pc = in.step(b[pos]); pc < 0 {
					break thread
				}
				pos++
			case iSplit:
				bit := int(pc)*n + pos - start
				if m.visited[bit>>6]&(1<<(bit&63)) != 0 {
					break thread
				}
				m.visited[bit>>6] |= 1 << (bit & 63)
				m.jobs = append(m.jobs, job{in.arg, pos})
				pc = in.out
			case iAssert:
				if !m.holdsAt(in.assert, b, pos) {
					break thread
				}
				pc = in.out
			case iSave:
				if int(in.arg) < len(loc) {
					m.jobs = append(m.jobs, job{-in.arg - 1, loc[in.arg]})
					loc[in.arg] = pos
				}
				pc = in.out
			case iMatch:
				if pos == end {
					return
				}
				break thread
			default:
				break thread
			}
		}
	}
}

// groupsLong does the same as groups in memory that does not grow with the match.
func (m *machine) groupsLong(b []byte, start, end int, loc []int) {
	type thread struct {
		pc   int32
		caps []int
	}
	type item struct {
		pc   int32
		caps []int
	}
	var cur, next []thread
	var stack []item
	follow := func(list []thread, seen *sparse, pc int32, caps []int, pos int) []thread {
		stack = append(stack[:0], item{pc, caps})
		for len(stack) > 0 {
			it := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if !seen.add(it.pc) {
				continue
			}
			switch in := &m.p.insts[it.pc]; in.op {
			case iSplit:
				stack = append(stack, item{in.arg, it.caps}, item{in.out, it.caps})
			case iSave:
				c := append([]int(nil), it.caps...)
				if int(in.arg) < len(c) {
					c[in.arg] = pos
				}
				stack = append(stack, item{in.out, c})
			case iAssert:
				if m.holdsAt(in.assert, b, pos) {
					stack = append(stack, item{in.out, it.caps})
				}
			default:
				list = append(list, thread(it))
			}
		}
		return list
	}
	m.cur.clear()
	cur = follow(cur, &m.cur, m.p.start, loc, start)
	for pos := start; pos < end; pos++ {
		if m.tick != nil && pos&255 == 0 {
			m.tick(1 + len(cur))
		}
		m.cur.clear()
		next = next[:0]
		for _, t := range cur {
			if in := &m.p.insts[t.pc]; in.op == iBytes {
				if to := in.step(b[pos]); to >= 0 {
					next = follow(next, &m.cur, to, t.caps, pos+1)
				}
			}
		}
		cur, next = next, cur
	}
	for _, t := range cur {
		if m.p.insts[t.pc].op == iMatch {
			copy(loc, t.caps)
			return
		}
	}
}

// backtrack matches a program with back-references at start and returns the longest end, -1 when
// there is none. shortest stops at the first match found. loc receives the groups of the match.
func (m *machine) backtrack(b []byte, start int, shortest, fold bool, loc []int) int {
	nslots := 2*(m.p.groups+1) + m.p.loops + 1
	if cap(m.slots) < nslots {
		m.slots = make([]int, nslots)
	}
	slots := m.slots[:nslots]
	for i := range slots {
		slots[i] = -1
	}
	guard := 2*(m.p.groups+1) - 1
	best := -1
	steps := 0
	m.jobs = append(m.jobs[:0], job{m.p.start, start})
	for len(m.jobs) > 0 {
		j := m.jobs[len(m.jobs)-1]
		m.jobs = m.jobs[:len(m.jobs)-1]
		if j.pc < 0 {
			slots[-j.pc-1] = j.pos
			continue
		}
		pc, pos := j.pc, j.pos
	thread:
		for {
			if steps++; steps&1023 == 0 && m.tick != nil {
				m.tick(8)
			}
			in := &m.p.insts[pc]
			switch in.op {
			case iBytes:
				if pos >= len(b) {
					break thread
				}
				if pc = in.step(b[pos]); pc < 0 {
					break thread
				}
				pos++
			case iSplit:
				if in.slot > 0 {
					g := guard + int(in.slot)
					if slots[g] == pos { // the last turn consumed nothing
						pc = in.arg
						continue
					}
					m.jobs = append(m.jobs, job{in.arg, pos}, job{int32(-g - 1), slots[g]})
					slots[g] = pos
				} else {
					m.jobs = append(m.jobs, job{in.arg, pos})
				}
				pc = in.out
			case iAssert:
				if !m.holdsAt(in.assert, b, pos) {
					break thread
				}
				pc = in.out
			case iSave:
				m.jobs = append(m.jobs, job{-in.arg - 1, slots[in.arg]})
				slots[in.arg] = pos
				pc = in.out
			case iBackref:
				s, e := slots[2*in.arg], slots[2*in.arg+1]
				if s < 0 || e < s {
					break thread
				}
				n := e - s
				if n > len(b)-pos {
					break thread
				}
				if x, y := b[s:e], b[pos:pos+n]; !bytes.Equal(x, y) && !(fold && bytes.EqualFold(x, y)) {
					break thread
				}
				pos += n
				pc = in.out
			case iMatch:
				if pos > best {
					best = pos
					copy(loc, slots)
					if shortest || best == len(b) {
						return best
					}
				}
				break thread
			default:
				break thread
			}
		}
	}
	return best
}
