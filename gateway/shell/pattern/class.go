package pattern

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// class is a bracket expression.
type class struct {
	negate bool
	ranges []span
	named  []func(rune) bool
}

type span struct{ lo, hi rune }

func (c *class) has(r rune, fold bool) bool {
	if c.contains(r) || fold && (c.contains(unicode.ToLower(r)) || c.contains(unicode.ToUpper(r))) {
		return !c.negate
	}
	return c.negate
}

func (c *class) contains(r rune) bool {
	for _, s := range c.ranges {
		if s.lo <= r && r <= s.hi {
			return true
		}
	}
	for _, f := range c.named {
		if f(r) {
			return true
		}
	}
	return false
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
		return r > 0x20 && r < 0x7f && !('0' <= r && r <= '9') && !unicode.IsLetter(r) || r > 0x7f && (unicode.IsPunct(r) || unicode.IsSymbol(r))
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

// parseClass reads the bracket expression at s[i]; ok is false when it is not closed.
func parseClass(s string, i int, _ bool) (c *class, end int, ok bool) {
	c = &class{}
	i++
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		c.negate = true
		i++
	}
	first := true
	for ; ; first = false {
		if i >= len(s) {
			return nil, 0, false
		}
		if s[i] == ']' && !first {
			return c, i + 1, true
		}
		if s[i] == '[' && i+1 < len(s) && s[i+1] == ':' {
			if k := strings.Index(s[i+2:], ":]"); k >= 0 {
				name := s[i+2 : i+2+k]
				if f, known := classes[name]; known {
					c.named = append(c.named, f)
				}
				i += k + 4
				continue
			}
		}
		lo, next, fine := classChar(s, i)
		if !fine {
			return nil, 0, false
		}
		i = next
		if i+1 < len(s) && s[i] == '-' && s[i+1] != ']' {
			hi, next, fine := classChar(s, i+1)
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
func classChar(s string, i int) (r rune, next int, ok bool) {
	if s[i] == '[' && i+1 < len(s) && (s[i+1] == '.' || s[i+1] == '=') {
		if k := strings.Index(s[i+2:], s[i+1:i+2]+"]"); k > 0 {
			r, _ = utf8.DecodeRuneInString(s[i+2:])
			return r, i + k + 4, true
		}
	}
	if s[i] == '\\' {
		if i++; i >= len(s) {
			return 0, 0, false
		}
	}
	r, w := utf8.DecodeRuneInString(s[i:])
	if r == utf8.RuneError && w == 1 {
		r = 0xDC00 + rune(s[i])
	}
	return r, i + w, true
}
