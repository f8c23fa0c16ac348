package shell

import (
	"regexp"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/pgbox/pgbox/gateway/shell/pattern"
)

// expandRegex expands the right side of =~ : quoted text matches itself.
func (sh *Shell) expandRegex(w *word) string {
	e := expander{sh: sh, record: true}
	e.parts(w.parts, false)
	if len(e.spans) == 0 {
		return string(e.buf)
	}
	var out []byte
	at := 0
	for i := 0; i < len(e.spans); i += 2 {
		out = append(out, e.buf[at:e.spans[i]]...)
		for _, c := range e.buf[e.spans[i]:e.spans[i+1]] {
			if strings.IndexByte(`\.[]{}()*+?^$|`, c) >= 0 {
				out = append(out, '\\')
			}
			out = append(out, c)
		}
		at = e.spans[i+1]
	}
	return string(append(out, e.buf[at:]...))
}

// matchRegex matches and sets BASH_REMATCH.
func (sh *Shell) matchRegex(re, s string) bool {
	m, err := sh.compileRegex(re)
	if err != nil {
		sh.setRematch(nil)
		panic(abortPanic{2})
	}
	groups := m.find(s)
	sh.setRematch(groups)
	return groups != nil
}

func (sh *Shell) setRematch(groups []string) {
	if v := sh.vars["BASH_REMATCH"]; v != nil && v.attrs&aReadonly != 0 {
		return
	}
	if groups == nil {
		groups = []string{}
	}
	sh.setArray("BASH_REMATCH", groups)
}

type matcher struct {
	std  *regexp.Regexp
	back *regexp2.Regexp // when there are back-references
}

func (m *matcher) find(s string) []string {
	if m.std != nil {
		return m.std.FindStringSubmatch(s)
	}
	mt, err := m.back.FindStringMatch(s)
	if err != nil || mt == nil {
		return nil
	}
	var out []string
	for _, g := range mt.Groups() {
		out = append(out, g.String())
	}
	return out
}

type regexKey struct {
	re   string
	fold bool
}

func (sh *Shell) compileRegex(re string) (*matcher, error) {
	k := regexKey{re, sh.opts.shopt(nocasematch)}
	if m := sh.regexes[k]; m != nil {
		return m, nil
	}
	src, back := translateERE(re)
	if k.fold {
		src = "(?i)" + src
	}
	m := &matcher{}
	var err error
	if back {
		m.back, err = regexp2.Compile(src, regexp2.RE2)
		if err == nil {
			m.back.MatchTimeout = 5 * time.Second
		}
	} else {
		m.std, err = regexp.Compile("(?s)" + src)
		if err == nil {
			m.std.Longest()
		}
	}
	if err != nil {
		return nil, err
	}
	if sh.regexes == nil || len(sh.regexes) > 100 {
		sh.regexes = map[regexKey]*matcher{}
	}
	sh.regexes[k] = m
	return m, nil
}

// translateERE turns a POSIX extended regular expression, with GNU's extensions, into Go syntax. back reports back-references.
func translateERE(s string) (out string, back bool) {
	var b strings.Builder
	start := true // at the beginning of an expression, where * is literal
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch c {
		case '\\':
			if i+1 >= len(s) {
				b.WriteString(`\\`)
				continue
			}
			i++
			switch n := s[i]; {
			case '1' <= n && n <= '9':
				back = true
				b.WriteString(`(?:\` + string(n) + `)`)
			case n == '<':
				b.WriteString(`\b`)
			case n == '>':
				b.WriteString(`\b`)
			case n == '`':
				b.WriteString(`\A`)
			case n == '\'':
				b.WriteString(`\z`)
			case n == 'w':
				b.WriteString(`[\pL\pN_]`)
			case n == 'W':
				b.WriteString(`[^\pL\pN_]`)
			case n == 's' || n == 'S' || n == 'b' || n == 'B':
				b.WriteByte('\\')
				b.WriteByte(n)
			case n >= 0x80:
				b.WriteByte(n)
			case isNameByte(n):
				b.WriteByte(n)
			default:
				b.WriteString(regexp.QuoteMeta(string(n)))
			}
			start = false
			continue
		case '[':
			end := bracketEnd(s, i)
			if end < 0 {
				b.WriteByte('[')
				continue
			}
			b.WriteString(bracket(s[i : end+1]))
			i = end
			start = false
			continue
		case '*', '+', '?':
			if start {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
			// A repeated repetition is allowed in POSIX, an error (or lazy) in Go.
			for i+1 < len(s) && (s[i+1] == '*' || s[i+1] == '+' || s[i+1] == '?') {
				i++
			}
			start = false
			continue
		case '{':
			if j := strings.IndexByte(s[i:], '}'); j < 0 || !isInterval(s[i+1:i+j]) || start {
				b.WriteString(`\{`)
				start = false
				continue
			}
			if i+1 < len(s) && s[i+1] == ',' {
				b.WriteString("{0")
				continue
			}
		case '(', '|':
			b.WriteByte(c)
			start = true
			continue
		case '^':
			b.WriteString("^")
			continue
		}
		b.WriteByte(c)
		start = false
	}
	return b.String(), back
}

func isInterval(s string) bool {
	if s == "" {
		return false
	}
	comma := 0
	for i := 0; i < len(s); i++ {
		if s[i] == ',' {
			comma++
		} else if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return comma <= 1 && s != ","
}

func bracketEnd(s string, i int) int {
	j := i + 1
	if j < len(s) && s[j] == '^' {
		j++
	}
	if j < len(s) && s[j] == ']' {
		j++
	}
	for j < len(s) {
		if s[j] == '[' && j+1 < len(s) && (s[j+1] == ':' || s[j+1] == '.' || s[j+1] == '=') {
			if k := strings.Index(s[j+2:], s[j+1:j+2]+"]"); k >= 0 {
				j += k + 4
				continue
			}
		}
		if s[j] == ']' {
			return j
		}
		j++
	}
	return -1
}

// bracket translates a bracket expression: backslash is ordinary in it.
func bracket(s string) string {
	var b strings.Builder
	b.WriteByte('[')
	i := 1
	if s[i] == '^' {
		b.WriteByte('^')
		i++
	}
	first := true
	for ; i < len(s)-1; i++ {
		c := s[i]
		if c == '[' && i+1 < len(s) && s[i+1] == ':' {
			if k := strings.Index(s[i+2:], ":]"); k >= 0 {
				name := s[i+2 : i+2+k]
				switch name {
				case "alpha":
					b.WriteString(`\pL`)
				case "digit":
					b.WriteString(`0-9`)
				case "alnum":
					b.WriteString(`\pL\pN`)
				case "upper":
					b.WriteString(`\p{Lu}`)
				case "lower":
					b.WriteString(`\p{Ll}`)
				default:
					if _, ok := pattern.InClass(name, 'a'); ok {
						b.WriteString("[:" + name + ":]")
					}
				}
				i += k + 3
				first = false
				continue
			}
		}
		if c == '[' && i+1 < len(s) && (s[i+1] == '.' || s[i+1] == '=') {
			if k := strings.Index(s[i+2:], s[i+1:i+2]+"]"); k >= 0 {
				b.WriteString(regexp.QuoteMeta(s[i+2 : i+2+k]))
				i += k + 3
				continue
			}
		}
		switch c {
		case '\\', '[', '^', '&', '~':
			b.WriteByte('\\')
		case ']':
			if first {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(c)
		first = false
	}
	b.WriteByte(']')
	return b.String()
}
