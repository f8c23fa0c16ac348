package regex

import (
	"slices"
	"sync"
	"unicode"
)

// runeSet is a set of runes as sorted, disjoint, non-adjacent closed ranges. In
// byte mode the "runes" are the bytes 0..255.
type runeSet []runeRange

type runeRange struct{ lo, hi rune }

func (s runeSet) contains(r rune) bool {
	_, ok := slices.BinarySearchFunc(s, r, func(x runeRange, r rune) int {
		switch {
		case x.hi < r:
			return -1
		case x.lo > r:
			return 1
		}
		return 0
	})
	return ok
}

// normalize sorts and merges.
func (s runeSet) normalize() runeSet {
	slices.SortFunc(s, func(a, b runeRange) int { return int(a.lo - b.lo) })
	out := s[:0]
	for _, r := range s {
		if n := len(out); n > 0 && r.lo <= out[n-1].hi+1 {
			out[n-1].hi = max(out[n-1].hi, r.hi)
			continue
		}
		out = append(out, r)
	}
	return out
}

// negate returns the runes up to limit that are not in s.
func (s runeSet) negate(limit rune) runeSet {
	var out runeSet
	next := rune(0)
	for _, r := range s {
		if r.lo > next {
			out = append(out, runeRange{next, r.lo - 1})
		}
		next = r.hi + 1
	}
	if next <= limit {
		out = append(out, runeRange{next, limit})
	}
	return out
}

// What \d, \w and \s are in Unicode (UTS 18, annex C).
var (
	unicodeDigit = sync.OnceValue(func() runeSet { return fromTable(unicode.Nd).normalize() })
	unicodeWord  = sync.OnceValue(func() runeSet {
		return fromTable(unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic,
			unicode.Join_Control).normalize()
	})
	unicodeSpace = sync.OnceValue(func() runeSet { return fromTable(unicode.White_Space).normalize() })
)

// single returns the one rune of s, if it has just one.
func (s runeSet) single() (rune, bool) {
	if len(s) == 1 && s[0].lo == s[0].hi {
		return s[0].lo, true
	}
	return 0, false
}

// foldable lists every rune that has another case.
var foldable = sync.OnceValue(func() []rune {
	var out []rune
	for _, t := range []*unicode.RangeTable{unicode.L, unicode.M, unicode.Nl, unicode.So} {
		for _, r := range fromTable(t) {
			for c := r.lo; c <= r.hi; c++ {
				if unicode.SimpleFold(c) != c {
					out = append(out, c)
				}
			}
		}
	}
	slices.Sort(out)
	return out
})

// fold adds the other cases of every member.
func (s runeSet) fold(bytes bool) runeSet {
	out := slices.Clone(s)
	if bytes {
		for c := rune('a'); c <= 'z'; c++ {
			if s.contains(c) {
				out = append(out, runeRange{c - 32, c - 32})
			}
			if s.contains(c - 32) {
				out = append(out, runeRange{c, c})
			}
		}
		return out.normalize()
	}
	add := func(r rune) {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			out = append(out, runeRange{f, f})
		}
	}
	if r, ok := s.single(); ok {
		add(r)
		return out.normalize()
	}
	for _, r := range foldable() {
		if s.contains(r) {
			add(r)
		}
	}
	return out.normalize()
}

func fromTable(tables ...*unicode.RangeTable) runeSet {
	var s runeSet
	for _, t := range tables {
		for _, r := range t.R16 {
			s = addStride(s, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			s = addStride(s, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return s.normalize()
}

func addStride(s runeSet, lo, hi, stride rune) runeSet {
	if stride == 1 {
		return append(s, runeRange{lo, hi})
	}
	for c := lo; c <= hi; c += stride {
		s = append(s, runeRange{c, c})
	}
	return s
}

const (
	maxRune = unicode.MaxRune
	maxByte = 0xff
)

var (
	asciiClasses = map[string]runeSet{
		"alpha":  {{'A', 'Z'}, {'a', 'z'}},
		"digit":  {{'0', '9'}},
		"alnum":  {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}},
		"upper":  {{'A', 'Z'}},
		"lower":  {{'a', 'z'}},
		"space":  {{'\t', '\r'}, {' ', ' '}},
		"blank":  {{'\t', '\t'}, {' ', ' '}},
		"punct":  {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}},
		"print":  {{' ', '~'}},
		"graph":  {{'!', '~'}},
		"cntrl":  {{0, 31}, {127, 127}},
		"xdigit": {{'0', '9'}, {'A', 'F'}, {'a', 'f'}},
		"word":   {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
	}
	unicodeClasses = sync.OnceValue(func() map[string]runeSet {
		// glibc counts every digit but 0-9 as a letter, and no-break spaces as graphic.
		digit := asciiClasses["digit"]
		letters := slices.Concat(fromTable(unicode.L, unicode.Nl, unicode.Nd, unicode.Other_Alphabetic),
			runeSet{{0x24b6, 0x24e9}}).normalize()
		var alpha runeSet
		for _, r := range letters {
			if r.lo == '0' && r.hi == '9' {
				continue
			}
			alpha = append(alpha, r)
		}
		alnum := slices.Concat(alpha, digit).normalize()
		blank := runeSet{{'\t', '\t'}, {' ', ' '}, {0x1680, 0x1680}, {0x2000, 0x2006}, {0x2008, 0x200a}, {0x205f, 0x205f},
			{0x3000, 0x3000}}
		space := slices.Concat(blank, runeSet{{'\n', '\r'}, {0x2028, 0x2029}}).normalize()
		cntrl := runeSet{{0, 31}, {127, 159}, {0x2028, 0x2029}}
		assigned := fromTable(unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cf, unicode.Co)
		graph := subtract(subtract(assigned, space), cntrl)
		return map[string]runeSet{
			"alpha":  alpha,
			"digit":  digit,
			"alnum":  alnum,
			"upper":  fromTable(unicode.Lu, unicode.Lt, unicode.Other_Uppercase),
			"lower":  fromTable(unicode.Ll, unicode.Other_Lowercase),
			"space":  space,
			"blank":  blank,
			"punct":  subtract(graph, alnum),
			"print":  subtract(slices.Concat(graph, blank).normalize(), runeSet{{'\t', '\t'}}),
			"graph":  graph,
			"cntrl":  cntrl,
			"xdigit": asciiClasses["xdigit"],
			"word":   slices.Concat(alnum, runeSet{{'_', '_'}}).normalize(),
		}
	})
)

func subtract(a, b runeSet) runeSet {
	// a ∖ b = ¬(¬a ∪ b)
	return slices.Concat(a.negate(maxRune), b).normalize().negate(maxRune)
}

// namedClass returns a [:name:] class; "word" is \w.
func namedClass(name string, bytes bool) (runeSet, bool) {
	if bytes {
		s, ok := asciiClasses[name]
		return s, ok
	}
	s, ok := unicodeClasses()[name]
	return s, ok
}

// isWord reports whether r is a letter, a digit or an underscore.
func isWord(r rune) bool {
	if r < 0x80 {
		return wordByte[r]
	}
	return unicodeClasses()["word"].contains(r)
}

var wordByte = func() (t [256]bool) {
	for i := range t {
		c := byte(i)
		t[i] = c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	return t
}()
