package jq

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// pattern is a compiled regular expression, which may have to find empty matches.
type pattern struct {
	re     *regexp2.Regexp
	global bool
	empty  bool // n: skip empty matches
}

func flagged(v any, more string) any {
	if s, ok := v.(string); ok {
		return s + more
	}
	if v == nil {
		return more
	}
	return v
}

// matchTimeout ends one hopeless match of a backtracking pattern.
const matchTimeout = time.Second

// matches runs the regular expression re, which may be [re, flags].
func (m *Machine) matches(v, re, flags any, testing bool) ([]*regexp2.Match, error) {
	s, ok := v.(string)
	if !ok {
		return nil, errorf("%s cannot be matched, as it is not a string", describe(v))
	}
	if a, ok := re.(*Array); ok {
		if len(a.e) == 0 {
			return nil, errorf("%s not a string or array", kindOf(re))
		}
		re = a.e[0]
		if len(a.e) > 1 {
			if f, ok := a.e[1].(string); ok {
				flags = flagged(flags, f)
			}
		}
	}
	src, ok := re.(string)
	if !ok {
		return nil, errorf("%s not a string or array", kindOf(re))
	}
	f := ""
	if flags != nil {
		if f, ok = flags.(string); !ok {
			return nil, errorf("%s is not a string", describe(flags))
		}
	}
	p, err := m.pattern(src, f)
	if err != nil {
		return nil, err
	}
	m.Tick(1 + len(s)>>6)
	end := -1
	if p.global && s != "" {
		end = utf8.RuneCountInString(s)
	}
	var out []*regexp2.Match
	x, err := p.re.FindStringMatch(s)
	for x != nil && err == nil {
		m.Tick(1)
		if !p.empty || x.Length > 0 {
			out = append(out, x)
			if !p.global || testing {
				break
			}
		}
		// An empty match does not follow the last character.
		if x, err = p.re.FindNextMatch(x); x != nil && x.Length == 0 && x.Index == end {
			break
		}
	}
	if err != nil {
		return nil, errorf("%s (at offset 0) is not a valid regex: match timeout", src)
	}
	return out, nil
}

func (m *Machine) pattern(src, flags string) (*pattern, error) {
	if p, ok := m.regexes[flags+"/"+src]; ok {
		return p, nil
	}
	p := &pattern{}
	opt := regexp2.None
	for _, c := range flags {
		switch c {
		case 'g':
			p.global = true
		case 'i':
			opt |= regexp2.IgnoreCase
		case 'x':
			opt |= regexp2.IgnorePatternWhitespace
		case 's': // about ^ and $, which are never those of lines here
		case 'p':
			opt |= regexp2.Singleline
		case 'n':
			p.empty = true
		case 'l':
		default:
			return nil, errorf("%s is not a valid modifier string", flags)
		}
	}
	re, err := regexp2.Compile(translate(src), opt)
	if err != nil {
		return nil, errorf("Regex failure: %s", regexProblem(err))
	}
	re.MatchTimeout = matchTimeout
	p.re = re
	if m.regexes == nil || len(m.regexes) > 200 {
		m.regexes = map[string]*pattern{}
	}
	m.regexes[flags+"/"+src] = p
	return p, nil
}

// translate rewrites what Oniguruma has and regexp2 has not: bracket classes and \h.
func translate(src string) string {
	if !strings.Contains(src, "[:") && !strings.Contains(src, `\h`) && !strings.Contains(src, `\H`) {
		return src
	}
	var b strings.Builder
	depth := 0
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '\\' && i+1 < len(src):
			i++
			switch src[i] {
			case 'h':
				if depth > 0 {
					b.WriteString("0-9a-fA-F")
				} else {
					b.WriteString("[0-9a-fA-F]")
				}
			case 'H':
				b.WriteString("[^0-9a-fA-F]")
			default:
				b.WriteString(src[i-1 : i+1])
			}
		case c == '[' && depth > 0:
			if end := strings.Index(src[i:], ":]"); end > 0 && strings.HasPrefix(src[i:], "[:") {
				if class, ok := bracketClass(src[i+2 : i+end]); ok {
					b.WriteString(class)
					i += end + 1
					continue
				}
			}
			b.WriteString(`\[`)
		case c == '[':
			depth++
			b.WriteByte(c)
			if i+1 < len(src) && src[i+1] == '^' {
				i++
				b.WriteByte('^')
			}
			if i+1 < len(src) && src[i+1] == ']' {
				i++
				b.WriteString(`\]`)
			}
		case c == ']' && depth > 0:
			depth--
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func bracketClass(name string) (string, bool) {
	negated := strings.HasPrefix(name, "^")
	class, ok := map[string]string{
		"alpha": `\pL`, "digit": `\d`, "alnum": `\pL\pN`, "upper": `\p{Lu}`, "lower": `\p{Ll}`, "space": `\s`, "punct": `\pP\pS`,
		"cntrl": `\p{Cc}`, "xdigit": `0-9a-fA-F`, "blank": ` \t`, "word": `\w`, "graph": `\pL\pM\pN\pP\pS`, "print": `\pL\pM\pN\pP\pS `,
	}[strings.TrimPrefix(name, "^")]
	class = propertyLetter.Replace(class)
	if negated {
		one := map[string]string{"alpha": `\P{L}`, "digit": `\D`, "space": `\S`, "upper": `\P{Lu}`, "lower": `\P{Ll}`, "cntrl": `\P{Cc}`, "word": `\W`}
		class, ok = one[name[1:]]
	}
	return class, ok
}

// regexp2 wants braces.
var propertyLetter = strings.NewReplacer(`\pL`, `\p{L}`, `\pM`, `\p{M}`, `\pN`, `\p{N}`, `\pP`, `\p{P}`, `\pS`, `\p{S}`)

// regexProblem is Oniguruma's wording.
func regexProblem(err error) string {
	s := err.Error()
	for _, w := range []struct{ theirs, ours string }{
		{"missing closing )", "end pattern with unmatched parenthesis"}, {"unterminated [] set", "premature end of char-class"},
		{"missing argument to repetition operator", "target of repeat operator is not specified"}, {"unexpected )", "unmatched close parenthesis"},
		{"invalid repeat count", "upper is smaller than lower in repeat range"}, {"illegal \\ at end", "end pattern at escape"},
		{"unrecognized grouping", "undefined group option"}, {"invalid nested repetition", "target of repeat operator is invalid"},
		{"invalid character class range", "empty range in char class"}, {"[x-y] range in reverse order", "empty range in char class"},
	} {
		if strings.Contains(s, w.theirs) {
			return w.ours
		}
	}
	return s
}

// edits finds what sub replaces: with g, each match is looked for in what follows the one before as if that were all of the text.
func (m *Machine) edits(v, re, flags any) ([]any, error) {
	f, ok := flags.(string)
	s, isText := v.(string)
	if !ok || !isText || !strings.Contains(f, "g") {
		ms, err := m.matches(v, re, flags, false)
		if len(ms) > 1 {
			ms = ms[:1]
		}
		return matchObjects(ms, 0), err
	}
	one := strings.ReplaceAll(f, "g", "")
	var out []any
	for at := 0; ; {
		ms, err := m.matches(s, re, one, false)
		if err != nil {
			return nil, err
		}
		if len(ms) == 0 {
			return out, nil
		}
		x := ms[0]
		if x.Length == 0 && at > 0 {
			// jq would loop for ever: go on like other tools.
			rest, err := m.matches(v, re, flags, false)
			return matchObjects(rest, 0), err
		}
		out = append(out, matchObjects(ms[:1], at)...)
		end := x.Index + x.Length
		if x.Length == 0 {
			end++
		}
		n := byteOffset(s, end)
		if n >= len(s) {
			return out, nil
		}
		at += end
		s = s[n:]
	}
}

// matchObjects are the values of matches in a text that begins offset characters into another.
func matchObjects(ms []*regexp2.Match, offset int) []any {
	out := make([]any, len(ms))
	for i, x := range ms {
		o := matchObject(x)
		o.put("offset", float64(offset+x.Index))
		out[i] = o
	}
	return out
}

func matchObject(x *regexp2.Match) *Object {
	o := NewObject()
	o.put("offset", float64(x.Index))
	o.put("length", float64(x.Length))
	o.put("string", x.String())
	var caps []any
	for i, g := range x.Groups() {
		if i == 0 {
			continue
		}
		c := NewObject()
		if len(g.Captures) == 0 {
			c.put("offset", -1.0)
			c.put("string", nil)
			c.put("length", 0.0)
		} else {
			c.put("offset", float64(g.Index))
			c.put("length", float64(g.Length))
			c.put("string", g.String())
		}
		var name any
		if _, err := strconv.Atoi(g.Name); err != nil {
			name = g.Name
		}
		c.put("name", name)
		caps = append(caps, c)
	}
	o.put("captures", NewArray(caps))
	return o
}
