package jq

import (
	"strings"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/text/regex"
)

// regexProgram is a compiled regular expression.
type regexProgram struct {
	re    *regex.Regexp
	names []any // of the groups; nil for those without
	empty bool  // n: skip empty matches
	all   bool  // g
}

var regexNatives = map[key]native{
	{"_match", 3}: func(m *Machine, v any, a []any) (any, error) {
		ms, s, p, err := m.matches(v, a[0], a[1], a[2] == true)
		if err != nil {
			return nil, err
		}
		if a[2] == true {
			return len(ms) > 0, nil
		}
		return m.matchObjects(s, ms, p), nil
	},
	{"split", 2}: func(m *Machine, v any, a []any) (any, error) {
		flags := a[1]
		if f, ok := flags.(string); ok {
			flags = f + "g"
		} else if flags == nil {
			flags = "g"
		}
		ms, s, _, err := m.matches(v, a[0], flags, false)
		if err != nil {
			return nil, err
		}
		m.alloc(112 + 32*(len(ms)+1) + len(s))
		out := make([]any, 0, len(ms)+1)
		from := 0
		for _, x := range ms {
			out = append(out, s[from:x[0]])
			from = x[1]
		}
		return NewArray(append(out, s[from:])), nil
	},
}

// matches runs the regular expression re, which may be [re, flags], and returns the places of the groups in bytes.
func (m *Machine) matches(v, re, flags any, testing bool) ([][]int, string, *regexProgram, error) {
	fail := func(format string, args ...any) ([][]int, string, *regexProgram, error) {
		return nil, "", nil, errorf(format, args...)
	}
	if a, ok := re.(*Array); ok && flags == nil {
		if a.n == 0 {
			return fail("%s not a string or array", kindOf(re))
		}
		re = a.Values()[0]
		if a.n > 1 {
			flags = a.Values()[1]
		}
	} else if _, ok := re.(string); !ok && flags == nil {
		return fail("%s not a string or array", kindOf(re))
	}
	s, ok := v.(string)
	if !ok {
		return fail("%s cannot be matched, as it is not a string", describe(v))
	}
	src, ok := re.(string)
	if !ok {
		return fail("%s cannot be matched, as it is not a string", describe(re))
	}
	f := ""
	if flags != nil {
		if f, ok = flags.(string); !ok {
			return fail("%s is not a string", describe(flags))
		}
	}
	p, err := m.regex(src, f)
	if err != nil {
		return nil, "", nil, err
	}
	m.Tick(1 + len(s)>>8)
	m.alloc(len(s))
	b := []byte(s)
	var out [][]int
	for at := 0; at <= len(b); {
		m.Tick(1)
		loc := p.re.FindSubmatchIndex(b, at)
		if loc == nil {
			break
		}
		if !p.empty || loc[1] > loc[0] {
			m.alloc(24 + 8*len(loc))
			out = append(out, append([]int(nil), loc...))
			if !p.all || testing {
				break
			}
		}
		at = loc[1]
		if loc[1] == loc[0] {
			if at >= len(b) {
				break
			}
			_, n := utf8.DecodeRune(b[at:])
			at += n
		}
	}
	return out, s, p, nil
}

// matchObjects are the values of matches in s.
func (m *Machine) matchObjects(s string, ms [][]int, p *regexProgram) *Array {
	out := make([]any, len(ms))
	at, chars := 0, 0
	for i, x := range ms {
		m.Tick(1 + len(x)/2)
		chars += utf8.RuneCountInString(s[at:x[0]])
		m.Tick((x[0] - at) >> 8)
		at = x[0]
		m.alloc(600 + 600*(len(x)/2-1))
		o := NewObject()
		o.put("offset", float64(chars))
		o.put("length", float64(utf8.RuneCountInString(s[x[0]:x[1]])))
		o.put("string", s[x[0]:x[1]])
		caps := make([]any, 0, len(x)/2-1)
		for g := 2; g+1 < len(x); g += 2 {
			c := NewObject()
			if x[g] < 0 {
				c.put("offset", -1.0)
				c.put("string", nil)
				c.put("length", 0.0)
			} else {
				c.put("offset", float64(offsetOf(s, at, chars, x[g])))
				c.put("length", float64(utf8.RuneCountInString(s[x[g]:x[g+1]])))
				c.put("string", s[x[g]:x[g+1]])
			}
			var name any
			if k := g/2 - 1; k < len(p.names) {
				name = p.names[k]
			}
			c.put("name", name)
			caps = append(caps, c)
		}
		o.put("captures", NewArray(caps))
		out[i] = o
	}
	return NewArray(out)
}

// offsetOf is the number of characters of s before byte i, when at has chars of them.
func offsetOf(s string, at, chars, i int) int {
	if i < at {
		return chars - utf8.RuneCountInString(s[i:at])
	}
	return chars + utf8.RuneCountInString(s[at:i])
}

// maxPattern bounds what is compiled: the compiler recurses.
const maxPattern = 64 << 10

func (m *Machine) regex(src, flags string) (*regexProgram, error) {
	if p, ok := m.regexes[flags+"/"+src]; ok {
		return p, nil
	}
	p := &regexProgram{}
	opt := regex.Options{Perl: true, Tick: m.Tick}
	inline := ""
	for _, c := range flags {
		switch c {
		case 'g':
			p.all = true
		case 'i':
			opt.IgnoreCase = true
		case 'x':
			inline = "x"
		case 's', 'l': // ^ and $ are never those of lines, and the longest match is not looked for
		case 'p':
			inline += "s"
		case 'n':
			p.empty = true
		default:
			return nil, errorf("%s is not a valid modifier string", flags)
		}
	}
	pattern := translate(src)
	if inline != "" {
		pattern = "(?" + inline + ")" + pattern
	}
	if len(src) > maxPattern || strings.Count(src, "(") > 1000 {
		return nil, errorf("%s (at offset 0) is not a valid regex: too big", brief(src))
	}
	m.alloc(64 * len(src))
	re, err := regex.Compile(pattern, opt)
	if err != nil {
		return nil, errorf("Regex failure: %s", regexProblem(err))
	}
	re.SetTick(m.Tick)
	p.re = re
	p.names = groupNames(src)
	if m.regexes == nil || len(m.regexes) > 200 {
		m.regexes = map[string]*regexProgram{}
	}
	m.regexes[flags+"/"+src] = p
	return p, nil
}

// groupNames are the names of the capturing groups; when some have names, the others do not capture.
func groupNames(src string) []any {
	var names []any
	class := false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '(' && !class:
			rest := src[i+1:]
			switch {
			case !strings.HasPrefix(rest, "?"):
				names = append(names, nil)
			case strings.HasPrefix(rest, "?<") && !strings.HasPrefix(rest, "?<=") && !strings.HasPrefix(rest, "?<!"):
				name, _, _ := strings.Cut(rest[2:], ">")
				names = append(names, name)
			}
		}
	}
	return names
}

// translate rewrites what Oniguruma has and Perl has otherwise: \h is a hexadecimal digit.
func translate(src string) string {
	if !strings.Contains(src, `\h`) && !strings.Contains(src, `\H`) {
		return src
	}
	var b strings.Builder
	class := false
	for i := 0; i < len(src); i++ {
		c := src[i]
		switch {
		case c == '\\' && i+1 < len(src):
			i++
			switch {
			case src[i] == 'h' && class:
				b.WriteString("0-9a-fA-F")
			case src[i] == 'h':
				b.WriteString("[0-9a-fA-F]")
			case src[i] == 'H' && !class:
				b.WriteString("[^0-9a-fA-F]")
			default:
				b.WriteString(src[i-1 : i+1])
			}
			continue
		case c == '[':
			class = true
		case c == ']':
			class = false
		}
		b.WriteByte(c)
	}
	return b.String()
}

// regexProblem is Oniguruma's wording.
func regexProblem(err error) string {
	s := err.Error()
	for _, w := range []struct{ theirs, ours string }{
		{"missing closing parenthesis", "end pattern with unmatched parenthesis"},
		{"missing terminating ]", "premature end of char-class"},
		{"quantifier does not follow", "target of repeat operator is not specified"},
		{"unmatched closing parenthesis", "unmatched close parenthesis"},
		{`\ at end of pattern`, "end pattern at escape"},
		{"unrecognized", "undefined group option"},
		{"range out of order", "empty range in char class"},
		{"numbers out of order in {}", "upper is smaller than lower in repeat range"},
		{"number too big in {}", "too big number for repeat range"},
		{"non-existent subpattern", "invalid backref number/name"},
	} {
		if strings.Contains(s, w.theirs) {
			return w.ours
		}
	}
	return s
}
