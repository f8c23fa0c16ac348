package awk

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// piece is a part of a replacement text: literal, or a group when lit is nil.
type piece struct {
	lit   string
	group int // -1: lit
}

// replacement parses the text of sub, gsub and, with groups, gensub.
func replacement(s string, groups, posix bool) []piece {
	var out []piece
	var lit []byte
	emit := func(g int) {
		if len(lit) > 0 {
			out = append(out, piece{string(lit), -1})
			lit = nil
		}
		out = append(out, piece{group: g})
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '&':
			emit(0)
		case c != '\\':
			lit = append(lit, c)
		case groups && i+1 < len(s):
			i++
			switch c = s[i]; {
			case isDigit(c):
				emit(int(c - '0'))
			case c == '&':
				lit = append(lit, '&')
			default:
				lit = append(lit, '\\', c)
				if c == '\\' {
					lit = lit[:len(lit)-1]
				}
			}
		case posix:
			if i+1 < len(s) && (s[i+1] == '&' || s[i+1] == '\\') {
				i++
			}
			lit = append(lit, s[i])
		case strings.HasPrefix(s[i:], `\\\&`), strings.HasPrefix(s[i:], `\\\\`):
			lit = append(lit, '\\', s[i+3])
			i += 3
		case strings.HasPrefix(s[i:], `\\&`):
			lit = append(lit, '\\')
			i++
		case strings.HasPrefix(s[i:], `\&`):
			lit = append(lit, '&')
			i++
		default:
			lit = append(lit, c)
		}
	}
	if len(lit) > 0 {
		out = append(out, piece{string(lit), -1})
	}
	return out
}

// replace substitutes the which-th match (0: all) and returns the new text and the number of substitutions.
func (in *interp) replace(re *regex, pieces []piece, text string, which int) (string, int) {
	groups := false
	for _, p := range pieces {
		groups = groups || p.group > 0
	}
	var out []byte
	held := 0
	defer func() { in.p.Release(held) }()
	copied, pos, last, seen, n := 0, 0, -1, 0, 0
	for pos <= len(text) {
		var a, b int
		var loc []int
		if groups {
			if loc = re.submatches(text, pos); loc == nil {
				break
			}
			a, b = loc[0], loc[1]
		} else if a, b = re.find(text, pos); a < 0 {
			break
		}
		if a == b && a == last { // no empty match right behind a match
			pos = a + in.charLen(text, a)
			continue
		}
		seen++
		if which == 0 || seen == which {
			n++
			if out == nil {
				out = make([]byte, 0, len(text)+64)
			}
			out = append(out, text[copied:a]...)
			for _, p := range pieces {
				switch {
				case p.group < 0:
					out = append(out, p.lit...)
				case p.group == 0:
					out = append(out, text[a:b]...)
				case 2*p.group+1 < len(loc) && loc[2*p.group] >= 0:
					out = append(out, text[loc[2*p.group]:loc[2*p.group+1]]...)
				}
			}
			copied = b
			if more := cap(out) - held; more > memBatch {
				held += more
				in.p.Hold(more)
			}
		}
		if which != 0 && seen == which {
			break
		}
		last, pos = b, b
		if a == b {
			pos = a + in.charLen(text, a)
		}
		in.p.Tick(1)
	}
	if n == 0 {
		return text, 0
	}
	out = append(out, text[copied:]...)
	return view(out), n
}

func (in *interp) charLen(s string, i int) int {
	if i >= len(s) || in.bytes {
		return 1
	}
	_, n := utf8.DecodeRuneInString(s[i:])
	return n
}

// count is the number of characters of s.
func (in *interp) count(s string) int {
	if in.bytes {
		return len(s)
	}
	return utf8.RuneCountInString(s)
}

func (c *compiler) substitute(e *builtinCall) numFn {
	re, repl := c.regexArg(e.args[0]), c.str(e.args[1])
	which := 1
	if e.fn == fGsub {
		which = 0
	}
	var fixed []piece
	if lit, ok := unparen(e.args[1]).(*strLit); ok {
		fixed = replacement(lit.s, false, c.posix)
		if fixed == nil {
			fixed = []piece{}
		}
	}
	change := c.changer(e)
	return func(in *interp) float64 {
		r := re(in)
		pieces := fixed
		if pieces == nil {
			pieces = replacement(repl(in), false, in.posix)
		}
		n := 0
		change(in, func(text string) (string, bool) {
			text, n = in.replace(r, pieces, text, which)
			return text, n > 0
		})
		return float64(n)
	}
}

// changer finds the target of sub and gsub, evaluating its subscript or number once, and gives it a new text where
// there is one.
func (c *compiler) changer(e *builtinCall) func(in *interp, edit func(string) (string, bool)) {
	var target expr = &fieldRef{idx: &numLit{}}
	if len(e.args) == 3 {
		target = unparen(e.args[2])
	}
	switch to := target.(type) {
	case *indexRef:
		if to.base == nil && isTable(to.arr) {
			break
		}
		cell := c.cell(to)
		return func(in *interp, edit func(string) (string, bool)) {
			k := cell(in)
			if k.sub != nil {
				in.fatal("attempt to use array in a scalar context")
			}
			if s, changed := edit(in.str(k.v)); changed {
				in.store(&k.v, edited(k.v, s))
			}
		}
	case *fieldRef:
		idx := c.num(to.idx)
		return func(in *interp, edit func(string) (string, bool)) {
			n := in.fieldIndex(idx(in))
			if s, changed := edit(in.str(*in.field(n))); changed {
				in.setField(n, str(s))
			}
		}
	}
	get, set := c.val(target), func(*interp, value) {}
	if isLvalue(target) {
		set = c.setter(target)
	}
	return func(in *interp, edit func(string) (string, bool)) {
		v := get(in)
		if s, changed := edit(in.str(v)); changed {
			set(in, edited(v, s))
		}
	}
}

// edited is the new text of a target: a typed regexp stays one.
func edited(old value, s string) value {
	if old.k == kRegex {
		return value{s: s, k: kRegex}
	}
	return str(s)
}

func (c *compiler) matchCall(args []expr) numFn {
	s, re := c.str(args[0]), c.regexArg(args[1])
	var arr arrFn
	if len(args) == 3 {
		arr = c.arr(unparen(args[2]))
	}
	return func(in *interp) float64 {
		text := s(in)
		r := re(in)
		var loc []int
		if arr == nil {
			a, b := r.find(text, 0)
			if a >= 0 {
				loc = []int{a, b}
			}
		} else {
			loc = r.submatches(text, 0)
			in.clear(arr(in))
		}
		if loc == nil {
			in.specials[vRSTART], in.specials[vRLENGTH] = num(0), num(-1)
			return 0
		}
		start := float64(in.count(text[:loc[0]]) + 1)
		in.specials[vRSTART] = num(start)
		in.specials[vRLENGTH] = num(float64(in.count(text[loc[0]:loc[1]])))
		if arr != nil {
			a := arr(in)
			for i := 0; i+1 < len(loc); i += 2 {
				if loc[i] < 0 {
					continue
				}
				n := strconv.Itoa(i / 2)
				in.store(&in.get(a, n, false).v, value{s: text[loc[i]:loc[i+1]], k: kInput, view: true})
				at := float64(in.count(text[:loc[i]]) + 1)
				in.get(a, n+in.subsep+"start", false).v = num(at)
				in.get(a, n+in.subsep+"length", false).v = num(float64(in.count(text[loc[i]:loc[i+1]])))
			}
		}
		return start
	}
}

func (c *compiler) gensub(args []expr) valFn {
	re, repl, how := c.regexArg(args[0]), c.str(args[1]), c.val(args[2])
	target := func(in *interp) string { return in.record() }
	if len(args) == 4 {
		target = c.str(args[3])
	}
	return func(in *interp) value {
		r := re(in)
		pieces := replacement(repl(in), true, false)
		h := how(in)
		which := 1
		s := in.str(h)
		if s != "" && (s[0] == 'g' || s[0] == 'G') {
			which = 0
		} else if n := clampInt(h.num()); n >= 1 {
			which = n
		} else {
			in.p.Errorf("%swarning: gensub: third argument `%s' treated as 1", in.where(), s)
		}
		out, n := in.replace(r, pieces, target(in), which)
		return value{s: out, k: kStr, view: n == 0}
	}
}
