package pattern

import (
	"slices"
	"strings"
	"unicode"
)

// class is a bracket expression.
type class struct {
	negate bool
	ranges []span // in order, apart from each other
	named  []namedClass
}

type span struct{ lo, hi rune }

type namedClass struct {
	name string
	has  func(rune) bool
}

func (c *class) has(r rune, fold bool) bool {
	if c.contains(r) || fold && (c.contains(unicode.ToLower(r)) || c.contains(unicode.ToUpper(r))) {
		return !c.negate
	}
	return c.negate
}

func (c *class) contains(r rune) bool {
	if len(c.ranges) < 8 {
		for _, s := range c.ranges {
			if s.lo <= r && r <= s.hi {
				return true
			}
		}
	} else if i, found := slices.BinarySearchFunc(c.ranges, r, func(s span, r rune) int { return int(s.lo - r) }); found ||
		i > 0 && r <= c.ranges[i-1].hi {
		return true
	}
	for _, n := range c.named {
		if n.has(r) {
			return true
		}
	}
	return false
}

// tidy puts the ranges in order and joins those that overlap, so that a bracket expression of megabytes costs no more
// than it says.
func (c *class) tidy() {
	slices.SortFunc(c.ranges, func(a, b span) int { return int(a.lo - b.lo) })
	out := c.ranges[:0]
	for _, s := range c.ranges {
		if n := len(out); n > 0 && s.lo <= out[n-1].hi {
			out[n-1].hi = max(out[n-1].hi, s.hi)
			continue
		}
		out = append(out, s)
	}
	c.ranges = out
}

func (c *class) addNamed(name string) {
	if f, known := classes[name]; known && !slices.ContainsFunc(c.named,
		func(n namedClass) bool { return n.name == name }) {
		c.named = append(c.named, namedClass{name, f})
	}
}

// InClass reports whether r is in the POSIX class called name; ok is false when there is no such class.
func InClass(name string, r rune) (in, ok bool) {
	f, ok := classes[name]
	return ok && f(r), ok
}

var classes = map[string]func(rune) bool{
	"alpha": unicode.IsLetter,
	"digit": func(r rune) bool { return '0' <= r && r <= '9' },
	"alnum": func(r rune) bool { return '0' <= r && r <= '9' || unicode.IsLetter(r) || unicode.IsDigit(r) },
	"upper": unicode.IsUpper,
	"lower": unicode.IsLower,
	"space": func(r rune) bool {
		return r == ' ' || '\t' <= r && r <= '\r' || r > 0x7f && unicode.IsSpace(r) && r != 0xa0 && r != 0x85
	},
	"blank": func(r rune) bool { return r == ' ' || r == '\t' },
	"punct": func(r rune) bool {
		return r > 0x20 && r < 0x7f && !('0' <= r && r <= '9') && !unicode.IsLetter(r) ||
			r > 0x7f && (unicode.IsPunct(r) || unicode.IsSymbol(r))
	},
	"print": func(r rune) bool {
		return r >= 0x20 && r < 0x7f || r > 0x9f && (r < 0xD800 || r > 0xDFFF) && unicode.IsPrint(r)
	},
	"graph": func(r rune) bool {
		return r > 0x20 && r < 0x7f || r > 0x9f && (r < 0xD800 || r > 0xDFFF) && unicode.IsGraphic(r) && !unicode.IsSpace(r)
	},
	"cntrl":  func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 },
	"xdigit": func(r rune) bool { return '0' <= r && r <= '9' || 'a' <= r && r <= 'f' || 'A' <= r && r <= 'F' },
	"word":   func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) },
	"ascii":  func(r rune) bool { return r < 0x80 },
}

// class reads the bracket expression at s[i]; ok is false when it is not closed.
func (p *compiler) class(s string, i int) (c *class, end int, ok bool) {
	if i > p.brackets {
		return nil, 0, false
	}
	c = &class{}
	i++
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		c.negate = true
		i++
	}
	first := true
	for ; ; first = false {
		p.w.look(1)
		if i > p.brackets {
			return nil, 0, false
		}
		if s[i] == ']' && !first {
			c.tidy()
			return c, i + 1, true
		}
		if i+2 <= p.colons && s[i] == '[' && s[i+1] == ':' {
			k := strings.Index(s[i+2:], ":]")
			c.addNamed(s[i+2 : i+2+k])
			p.w.look(k / 64)
			i += k + 4
			continue
		}
		lo, next, fine := p.classChar(s, i)
		if !fine {
			return nil, 0, false
		}
		i = next
		if i+1 < len(s) && s[i] == '-' && s[i+1] != ']' {
			hi, next, fine := p.classChar(s, i+1)
			if !fine {
				return nil, 0, false
			}
			i = next
			if lo <= hi {
				c.ranges = append(c.ranges, span{lo, hi})
			}
			continue
		}
		c.ranges = append(c.ranges, span{lo, lo})
	}
}

// classChar reads one character of a bracket expression: plain, quoted, [.x.] or [=x=].
func (p *compiler) classChar(s string, i int) (r rune, next int, ok bool) {
	if s[i] == '[' && i+1 < len(s) && (s[i+1] == '.' || s[i+1] == '=') {
		// The name of a collating symbol is short.
		if k := strings.Index(s[i+2:min(i+66, len(s))], s[i+1:i+2]+"]"); k > 0 {
			r, _ = char(s, i+2, p.w.p.bytes)
			return r, i + k + 4, true
		}
	}
	if s[i] == '\\' {
		if i++; i >= len(s) {
			return 0, 0, false
		}
	}
	r, w := char(s, i, p.w.p.bytes)
	return r, i + w, true
}
