package regex

// newPerlFilter returns a matcher for lines of the Perl pattern root, nil when there is none. exact says that a line
// the filter matches is one that the pattern matches; otherwise it may not be.
func newPerlFilter(root *perlNode, opt Options) (f *Regexp, exact bool) {
	l := &perlLoosener{exact: true, limit: maxRune}
	if opt.Bytes {
		l.limit = maxByte
	}
	f = &Regexp{opt: Options{Dialect: Grep, Bytes: opt.Bytes}, oneByte: -1, asciiWords: !opt.Unicode}
	if err := f.build(l.node(root, true, true)); err != nil {
		return nil, false
	}
	f.coarse = !l.exact
	return f, l.exact
}

// perlLoosener leaves out of a pattern what only narrows it: look-around, \K and the atomicity of groups.
// Back-references become anything. Greed is lost, but does not change which lines match.
type perlLoosener struct {
	exact bool
	limit rune
}

// node translates n; first and last say that nothing of the pattern is before or after it.
func (l *perlLoosener) node(n *perlNode, first, last bool) *node {
	out := &node{}
	switch n.op {
	case perlSet:
		out.op, out.set = opSet, n.set
	case perlCat:
		out.op = opCat
		for i, s := range n.sub {
			out.sub = append(out.sub, l.node(s, first && i == 0, last && i == len(n.sub)-1))
		}
	case perlAlt, perlCond:
		l.exact = l.exact && n.op == perlAlt
		out.op = opAlt
		for _, s := range n.sub {
			out.sub = append(out.sub, l.node(s, false, false))
		}
	case perlRepeat:
		l.exact = l.exact && n.mode != possessive
		out.op, out.min, out.max = opRepeat, n.min, n.max
		out.sub = []*node{l.node(n.sub[0], false, false)}
	case perlGroup:
		return l.node(n.sub[0], first, last)
	case perlAtomic:
		l.exact = false
		return l.node(n.sub[0], false, false)
	case perlLook:
		if !n.negative && (n.behind && first || !n.behind && last) {
			return l.node(n.sub[0], false, false) // it is just the text before, or after, the match
		}
		l.exact = false
	case perlRef:
		l.exact = false
		out.op, out.max = opRepeat, -1
		out.sub = []*node{{op: opSet, set: runeSet{{0, l.limit}}}}
	case perlAssert:
		out.op, out.assert = opAssert, n.assert
		switch n.assert { // the same in a line
		case bol:
			out.assert = bot
		case eol:
			out.assert = eot
		}
	}
	return out
}
