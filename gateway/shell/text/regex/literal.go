package regex

import "unicode/utf8"

// exactString returns the one string that n matches.
func exactString(n *node, limit rune) (string, bool) {
	switch n.op {
	case opEmpty:
		return "", true
	case opByte:
		return string([]byte{n.b}), true
	case opSet:
		r, ok := n.set.single()
		if !ok {
			return "", false
		}
		return encode(r, limit), true
	case opCat:
		var out []byte
		for _, s := range n.sub {
			w, ok := exactString(s, limit)
			if !ok {
				return "", false
			}
			out = append(out, w...)
		}
		return string(out), true
	}
	return "", false
}

func encode(r, limit rune) string {
	if limit == maxByte {
		return string([]byte{byte(r)})
	}
	return string(r)
}

// required is what is known about the texts a node matches.
type required struct {
	exact []string // all of them, when they are few; nil otherwise
	must  []string // each contains one of these; nil when nothing is known
}

const (
	maxLiterals = 16
	// maxLiteral is the length of a literal that finds as well as any longer one. They are put together from characters.
	maxLiteral = 4096
)

// better reports whether literals a are the better filter.
func better(a, b []string) bool {
	if len(a) == 0 {
		return false
	}
	if len(b) == 0 {
		return true
	}
	x, y := shortest(a), shortest(b)
	return x > y && (len(a) <= 2*len(b) || y < 2) || x == y && len(a) < len(b)
}

func shortest(a []string) int {
	n := len(a[0])
	for _, s := range a {
		n = min(n, len(s))
	}
	return n
}

func (r required) best() []string {
	if len(r.exact) > 0 && shortest(r.exact) > 0 && !better(r.must, r.exact) {
		return r.exact
	}
	return r.must
}

func analyse(n *node, limit rune, opt *Options) required {
	switch n.op {
	case opEmpty, opAssert:
		return required{exact: []string{""}}
	case opByte:
		return required{exact: []string{string([]byte{n.b})}}
	case opGroup:
		return analyse(n.sub[0], limit, opt)
	case opSet:
		var out []string
		for _, r := range n.set {
			for c := r.lo; c <= r.hi; c++ {
				if len(out) == 4 {
					return required{}
				}
				out = append(out, encode(c, limit))
			}
		}
		return required{exact: out}
	case opRepeat:
		r := analyse(n.sub[0], limit, opt)
		switch {
		case n.min == 0:
			return required{}
		case n.min == 1 && n.max == 1:
			return r
		}
		return required{must: r.best()}
	case opAlt:
		var out required
		exact, must := true, true
		for _, s := range n.sub {
			opt.tick(1)
			r := analyse(s, limit, opt)
			b := r.best()
			out.exact, out.must = append(out.exact, r.exact...), append(out.must, b...)
			exact = exact && r.exact != nil && len(out.exact) <= maxLiterals
			must = must && b != nil && len(out.must) <= maxLiterals
			if !exact && !must {
				return required{}
			}
		}
		if !exact {
			out.exact = nil
		}
		if !must {
			out.must = nil
		}
		return out
	case opCat:
		run := []string{""}
		var best []string
		whole := true
		flush := func() {
			if shortest(run) > 0 && better(run, best) {
				best = run
			}
			run = []string{""}
		}
		for _, s := range n.sub {
			r := analyse(s, limit, opt)
			opt.tick(1)
			if r.exact == nil || len(r.exact)*len(run) > maxLiterals || len(run[0]) > maxLiteral {
				flush()
				whole = false
				if r.exact == nil {
					if better(r.must, best) {
						best = r.must
					}
					continue
				}
				run = r.exact
				continue
			}
			next := make([]string, 0, len(run)*len(r.exact))
			for _, a := range run {
				for _, b := range r.exact {
					next = append(next, a+b)
				}
			}
			run = next
		}
		if whole {
			return required{exact: run}
		}
		flush()
		return required{must: best}
	}
	return required{}
}

// pieces are the strings that every match of n contains, one after another.
func pieces(n *node, limit rune) (out []string) {
	switch n.op {
	case opGroup:
		return pieces(n.sub[0], limit)
	case opRepeat:
		if n.min > 0 {
			return pieces(n.sub[0], limit)
		}
	case opCat:
		run := ""
		flush := func() {
			if len(run) >= minPiece {
				out = append(out, run)
			}
			run = ""
		}
		for _, s := range n.sub {
			if s.op == opAssert {
				continue // takes no text
			}
			if w, ok := exactString(s, limit); ok {
				if run += w; len(run) > maxLiteral {
					flush()
				}
				continue
			}
			flush()
			out = append(out, pieces(s, limit)...)
		}
		flush()
	}
	return out
}

// minPiece is the shortest string that is worth looking for by itself.
const minPiece = 3

// firstBytes marks the bytes a match can begin with; ok is false when it can be empty.
func firstBytes(p *prog) (set [256]bool, ok bool) {
	var seen sparse
	seen.init(len(p.insts))
	stack := []int32{p.start}
	for len(stack) > 0 {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !seen.add(pc) {
			continue
		}
		switch in := &p.insts[pc]; in.op {
		case iBytes:
			for _, r := range in.ranges {
				for c := int(r.lo); c <= int(r.hi); c++ {
					set[c] = true
				}
			}
		case iSplit:
			stack = append(stack, in.arg, in.out)
		case iSave, iAssert:
			stack = append(stack, in.out)
		case iMatch, iBackref:
			return set, false
		}
	}
	return set, true
}

// runeLen is the length of the character at b[pos], 1 for a byte that is none.
func runeLen(b []byte, pos int, bytes bool) int {
	if bytes || b[pos] < utf8.RuneSelf {
		return 1
	}
	_, n := utf8.DecodeRune(b[pos:])
	return n
}
