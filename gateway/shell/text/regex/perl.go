package regex

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// perlRegexp is a Perl-syntax pattern. What the own matcher does not know, or gives up, is left to Go's linear-time
// matcher where that understands the pattern. That one does not tick: what it gets is bounded.
type perlRegexp struct {
	own     *perlMatcher
	std     *regexp.Regexp
	filter  *Regexp // of lines
	exactly bool    // filter matches no line that has no match
	groups  int
	keep    int     // the group that marks \K, 0 when there is none
	all     [][]int // what is left of the matches in allOf
	allOf   []byte
}

// The longest pattern and text for Go's matcher: a tenth of a second.
const (
	maxStdPattern = 8 << 10
	maxStdText    = 256 << 10
)

const keepName = "pgboxkeep"

func compilePerl(src string, opt Options) (*perlRegexp, error) {
	root, m, err := newPerlMatcher(src, opt)
	if err != nil {
		return nil, err
	}
	if len(src) > maxStdPattern {
		if m == nil {
			return nil, &Error{Msg: tooLarge}
		}
		p := &perlRegexp{own: m, groups: m.groups}
		p.filter, p.exactly = newPerlFilter(root, opt)
		return p, nil
	}
	opt.tick(len(src) >> 3)
	rewritten, keep := rewritePerl(src)
	switch {
	case opt.WholeLine:
		rewritten = `\A(?:` + rewritten + `)\z`
	case opt.WholeWord:
		rewritten = `(?<!\w)(?:` + rewritten + `)(?!\w)`
	}
	p := &perlRegexp{own: m}
	if opt.Unicode && !opt.Bytes {
		rewritten = spellClasses(rewritten)
	}
	if m != nil {
		p.groups = m.groups
		p.filter, p.exactly = newPerlFilter(root, opt)
	}
	p.std, err = compileStd(rewritten, opt)
	if p.std != nil {
		p.groups = p.std.NumSubexp()
		if keep {
			p.keep = p.std.SubexpIndex(keepName)
		}
	}
	if p.own == nil && p.std == nil {
		return nil, &Error{Msg: perlMessage(err)}
	}
	return p, nil
}

// spellClasses spells \w, \d and \s out, which are ASCII's for Go's matcher. That one takes the pattern when the own
// one does not know it or gives up; what it cannot say makes the pattern one that it refuses.
func spellClasses(src string) string {
	const word, space = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}`, `\s\x{b}\x{85}\p{Z}`
	var b strings.Builder
	inClass := false
	for i := 0; i < len(src); i++ {
		c := src[i]
		if c != '\\' || i+1 == len(src) {
			switch {
			case c == '[' && !inClass:
				inClass = true
				if strings.HasPrefix(src[i+1:], "^]") || strings.HasPrefix(src[i+1:], "]") {
					n := strings.IndexByte(src[i:], ']')
					b.WriteString(src[i : i+n])
					i += n
					c = ']'
				}
			case c == ']':
				inClass = false
			}
			b.WriteByte(c)
			continue
		}
		i++
		set := map[byte]string{'d': `\p{Nd}`, 'w': word, 's': space}[src[i]|0x20]
		switch {
		case set == "" && (src[i] == 'b' || src[i] == 'B') && !inClass:
			b.WriteString("(?=)" + src[i-1:i+1]) // look-ahead for nothing, which it does not take
		case set == "":
			b.WriteString(src[i-1 : i+1])
		case src[i] >= 'a' && inClass:
			b.WriteString(set)
		case src[i] >= 'a':
			b.WriteString("[" + set + "]")
		case src[i] == 'D':
			b.WriteString(`\P{Nd}`)
		case inClass:
			b.WriteString(src[i-1 : i+1])
		default:
			b.WriteString("[^" + set + "]")
		}
	}
	return b.String()
}

// compileStd returns Go's matcher, or why it does not understand src.
func compileStd(src string, opt Options) (*regexp.Regexp, error) {
	if strings.Contains(src, `\Z`) {
		return nil, errors.New(`\Z is not known`)
	}
	src = strings.ReplaceAll(src, "(?<"+keepName+">", "(?P<"+keepName+">")
	if opt.IgnoreCase {
		src = "(?i)" + src
	}
	return regexp.Compile(src)
}

// perlMessage gives PCRE's words for the common mistakes.
func perlMessage(err error) string {
	msg := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	for _, m := range []struct{ has, say string }{
		{"missing closing )", "missing closing parenthesis"},
		{"unexpected )", "unmatched closing parenthesis"},
		{"missing closing ]", "missing terminating ] for character class"},
		{"missing argument to repetition", "quantifier does not follow a repeatable item"},
		{"invalid nested repetition", "quantifier does not follow a repeatable item"},
		{"trailing backslash", `\ at end of pattern`},
		{"invalid character class range: `\\p", `unknown property after \P or \p`},
		{"invalid character class range: `\\P", `unknown property after \P or \p`},
		{"invalid character class range: `[:", "unknown POSIX class name"},
		{"invalid character class range", "range out of order in character class"},
		{"invalid escape sequence", `unrecognized character follows \`},
		{"duplicate", "two named subpatterns have the same name (PCRE2_DUPNAMES not set)"},
		{"invalid named capture", "syntax error in subpattern name (missing terminator?)"},
		{"invalid or unsupported Perl syntax", "unrecognized character after (? or (?-"},
		{"expression nests too deeply", "parentheses are too deeply nested"},
		{"expression too large", tooLarge},
	} {
		if strings.Contains(msg, m.has) {
			return m.say
		}
	}
	return msg
}

// rewritePerl translates what PCRE has and neither engine knows: \K, \h, \H, \R, \Q…\E,
// possessive quantifiers of single items, \e, \N and POSIX-style (?P=name).
func rewritePerl(src string) (out string, keep bool) {
	var b strings.Builder
	inClass := false
	itemStart := -1 // in b: where the last item begins
	quantified := 0 // in b: the end of the last quantifier
	var open []int
	var groups []int // where the capturing groups begin
	for i := 0; i < len(src); i++ {
		c := src[i]
		if c == '\\' && i+1 < len(src) {
			i++
			n := src[i]
			at := b.Len()
			switch {
			case n == 'Q':
				lit := src[i+1:]
				if j := strings.Index(lit, `\E`); j >= 0 {
					lit = lit[:j]
					i += j + 2
				} else {
					i = len(src)
				}
				b.WriteString(regexp.QuoteMeta(lit))
				itemStart = at
				continue
			case n == 'K' && !inClass:
				b.WriteString("(?<" + keepName + ">)")
				keep = true
			case n == 'h':
				if inClass {
					b.WriteString(` \t`)
				} else {
					b.WriteString(`[ \t]`)
				}
			case n == 'H' && !inClass:
				b.WriteString(`[^ \t]`)
			case n == 'R' && !inClass:
				b.WriteString(`(?:\r\n|[\n\r\f\v])`)
			case n == 'N' && !inClass:
				b.WriteString(`[^\n]`)
			case n == 'e':
				b.WriteString(`\x1b`)
			case n == 'E':
				continue
			case n == 'G':
				b.WriteString(`\G`)
			case (n == 'g' || n == 'k') && !inClass && i+1 < len(src):
				ref, skip := groupReference(src[i+1:], len(groups))
				if ref == "" {
					b.WriteString(`\` + string(n))
					break
				}
				b.WriteString(ref)
				i += skip
			default:
				b.WriteByte('\\')
				_, w := utf8.DecodeRuneInString(src[i:])
				if strings.IndexByte("pPxo", n) >= 0 && strings.HasPrefix(src[i+1:], "{") {
					w += 1 + strings.IndexByte(src[i+1:], '}')
				}
				b.WriteString(src[i : i+w])
				i += w - 1
			}
			if !inClass {
				itemStart = at
			}
			continue
		}
		if inClass {
			if c == '[' && i+1 < len(src) && src[i+1] == ':' {
				if j := strings.Index(src[i:], ":]"); j > 0 {
					b.WriteString(src[i : i+j+2])
					i += j + 1
					continue
				}
			}
			if c == '[' {
				b.WriteString(`\[`)
				continue
			}
			b.WriteByte(c)
			if c == ']' {
				inClass = false
			}
			continue
		}
		switch c {
		case '[':
			itemStart = b.Len()
			inClass = true
			b.WriteByte(c)
			if i+1 < len(src) && src[i+1] == '^' {
				i++
				b.WriteByte('^')
			}
			if i+1 < len(src) && src[i+1] == ']' {
				i++
				b.WriteString(`\]`)
			}
		case '(':
			open = append(open, b.Len())
			if rest := src[i+1:]; !strings.HasPrefix(rest, "?") || strings.HasPrefix(rest, "?P<") ||
				strings.HasPrefix(rest, "?<") && !strings.HasPrefix(rest, "?<=") && !strings.HasPrefix(rest, "?<!") {
				groups = append(groups, i)
			}
			b.WriteByte(c)
			if strings.HasPrefix(src[i:], "(?P=") {
				if j := strings.IndexByte(src[i:], ')'); j > 0 {
					b.WriteString(`?:\k<` + src[i+4:i+j] + `>`)
					i += j - 1
				}
			} else if strings.HasPrefix(src[i:], "(?P<") {
				b.WriteString("?<")
				i += 3
			}
		case ')':
			if len(open) > 0 {
				itemStart = open[len(open)-1]
				open = open[:len(open)-1]
			}
			b.WriteByte(c)
		case '+':
			// x++, x*+, x?+, x{n}+ are atomic.
			s := b.String()
			if itemStart >= 0 && quantified == len(s) {
				b.Reset()
				b.WriteString(s[:itemStart] + "(?>" + s[itemStart:] + ")")
				continue
			}
			b.WriteByte(c)
			quantified = b.Len()
		case '*', '?', '{', '}', ',', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			if c >= '0' && c <= '9' || c == ',' {
				s := b.String()
				if k := strings.LastIndexByte(s, '{'); k < 0 || strings.IndexByte(s[k:], '}') >= 0 {
					itemStart = b.Len()
				}
			}
			b.WriteByte(c)
			if c == '*' || c == '?' || c == '}' {
				quantified = b.Len()
			}
		default:
			itemStart = b.Len()
			b.WriteByte(c)
		}
	}
	return b.String(), keep
}

// groupReference translates what follows \g or \k: a number, a negative number, or a name, in braces, quotes or angle
// brackets. groups is how many groups have begun.
func groupReference(s string, groups int) (out string, width int) {
	var name string
	switch end := map[byte]byte{'{': '}', '<': '>', '\'': '\''}[s[0]]; {
	case end != 0:
		j := strings.IndexByte(s[1:], end)
		if j < 0 {
			return "", 0
		}
		name, width = s[1:1+j], j+2
	default:
		for width < len(s) && (s[width] >= '0' && s[width] <= '9' || width == 0 && s[0] == '-') {
			width++
		}
		name = s[:width]
	}
	if name == "" {
		return "", 0
	}
	n, err := strconv.Atoi(name)
	if err != nil {
		return `\k<` + name + `>`, width
	}
	if n < 0 {
		n += groups + 1
	}
	return `(?:\` + strconv.Itoa(n) + `)`, width
}

// find returns the match and its groups. An attempt that is given up counts as no match.
func (p *perlRegexp) find(b []byte, start int, tick func(int)) []int {
	if tick != nil {
		tick(1 + len(b)>>10)
	}
	if p.own != nil {
		p.own.tick = tick
		if loc, ok := p.own.find(b, start); ok || p.std == nil {
			return loc
		}
	}
	if len(b) > maxStdText {
		return nil
	}
	if tick != nil {
		tick(len(b) >> 2)
	}
	return p.findStd(b, start)
}

func (p *perlRegexp) findStd(b []byte, start int) []int {
	if start == 0 {
		p.all, p.allOf = nil, nil
		return p.kept(p.std.FindSubmatchIndex(b))
	}
	// The text before start is context, so search all of it, once, and take the first
	// match that does not begin before start.
	if p.allOf == nil || len(p.allOf) != len(b) || &p.allOf[0] != &b[0] {
		p.all, p.allOf = p.std.FindAllSubmatchIndex(b, -1), b
	}
	for len(p.all) > 0 && p.all[0][0] < start {
		p.all = p.all[1:]
	}
	if len(p.all) == 0 {
		return nil
	}
	return p.kept(slices.Clone(p.all[0]))
}

func (p *perlRegexp) kept(loc []int) []int {
	if loc != nil && p.keep > 0 && 2*p.keep < len(loc) && loc[2*p.keep] >= 0 {
		loc[0] = loc[2*p.keep]
	}
	return loc
}
