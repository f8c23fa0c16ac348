package program

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// Fnmatch matches a shell pattern as fnmatch(3) does with no flags: * and ? match slashes and
// leading dots too. fold ignores case.
func Fnmatch(p *proc.Process, pattern, name string, fold bool) bool {
	m := fnmatcher{p: p, fold: fold, bracket: len(pattern), class: len(pattern)}
	if strings.IndexByte(pattern, '[') >= 0 {
		// Behind these nothing is searched for again and again that is not there.
		m.bracket, m.class = strings.LastIndexByte(pattern, ']'), strings.LastIndex(pattern, ":]")
	}
	return m.match(pattern, name)
}

// fnmatcher counts its steps: a name is short, a bracket expression may be of megabytes.
type fnmatcher struct {
	p              *proc.Process
	fold           bool
	bracket, class int // where the last ] and the last :] of the pattern are
}

func (m *fnmatcher) match(pattern, name string) bool {
	px, nx := 0, 0
	starP, starN := -1, 0
	for nx < len(name) || px < len(pattern) {
		if px < len(pattern) && pattern[px] == '*' {
			starP, starN = px, nx
			px++
			continue
		}
		if nx < len(name) && px < len(pattern) {
			r, n := utf8.DecodeRuneInString(name[nx:])
			if ok, w := m.one(pattern, px, r, name[nx:nx+n]); ok {
				px += w
				nx += n
				continue
			}
		}
		if starP < 0 || starN >= len(name) {
			return false
		}
		_, n := utf8.DecodeRuneInString(name[starN:])
		starN += n
		m.p.Tick(1)
		px, nx = starP+1, starN
	}
	return true
}

// one matches one character against the pattern element at px, and returns its width.
func (m *fnmatcher) one(pattern string, px int, r rune, text string) (ok bool, width int) {
	p := pattern[px:]
	same := func(a rune) bool {
		return a == r || m.fold && (unicode.ToLower(a) == unicode.ToLower(r))
	}
	switch p[0] {
	case '?':
		return true, 1
	case '[':
		if px < m.bracket {
			if ok, w := m.set(p, r, m.class-px); w > 0 {
				return ok, w
			}
		}
	case '\\':
		if len(p) > 1 {
			c, n := utf8.DecodeRuneInString(p[1:])
			return same(c), 1 + n
		}
		return false, 1
	}
	c, n := utf8.DecodeRuneInString(p)
	if c == utf8.RuneError && n == 1 {
		return p[:1] == text, 1
	}
	return same(c), n
}

// set matches a bracket expression; the width is 0 when it is not closed. class is where the last :] of p is.
func (m *fnmatcher) set(p string, r rune, class int) (ok bool, width int) {
	i := 1
	defer func() { m.p.Tick(i >> 6) }()
	negate := false
	if i < len(p) && (p[i] == '!' || p[i] == '^') {
		negate = true
		i++
	}
	in := func(lo, hi rune) bool {
		if lo <= r && r <= hi {
			return true
		}
		if !m.fold {
			return false
		}
		l, u := unicode.ToLower(r), unicode.ToUpper(r)
		return lo <= l && l <= hi || lo <= u && u <= hi
	}
	char := func() rune {
		if p[i] == '\\' && i+1 < len(p) {
			i++
		}
		c, n := utf8.DecodeRuneInString(p[i:])
		i += n
		return c
	}
	for first := true; ; first = false {
		if i >= len(p) {
			return false, 0
		}
		if p[i] == ']' && !first {
			return ok != negate, i + 1
		}
		if i+2 <= class && strings.HasPrefix(p[i:], "[:") {
			if j := strings.Index(p[i+2:], ":]"); j >= 0 {
				if fnmatchClass(p[i+2:i+2+j], r) {
					ok = true
				}
				i += j + 4
				continue
			}
		}
		lo := char()
		hi := lo
		if i+1 < len(p) && p[i] == '-' && p[i+1] != ']' {
			i++
			hi = char()
		}
		if in(lo, hi) {
			ok = true
		}
	}
}

func fnmatchClass(name string, r rune) bool {
	switch name {
	case "alpha":
		return unicode.IsLetter(r)
	case "digit":
		return r >= '0' && r <= '9'
	case "alnum":
		return unicode.IsLetter(r) || unicode.IsDigit(r)
	case "upper":
		return unicode.IsUpper(r)
	case "lower":
		return unicode.IsLower(r)
	case "space":
		return unicode.IsSpace(r)
	case "blank":
		return r == ' ' || r == '\t'
	case "punct":
		return unicode.IsPunct(r) || unicode.IsSymbol(r)
	case "print":
		return unicode.IsPrint(r)
	case "graph":
		return unicode.IsGraphic(r) && !unicode.IsSpace(r)
	case "cntrl":
		return unicode.IsControl(r)
	case "xdigit":
		return r < utf8.RuneSelf && strings.ContainsRune("0123456789abcdefABCDEF", r)
	}
	return false
}
