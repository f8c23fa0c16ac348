// Package ignore matches paths against the patterns of .gitignore files and of
// ripgrep's -g, which share a language: * and ? stop at slashes, ** does not, {a,b} is an alternation,
// a pattern with a slash before its end is anchored where its file stands, one that ends in a slash is for
// directories, and one that begins with ! takes back what earlier ones said. The last pattern
// that matches decides.
package ignore

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Verdict is what a list says about a path.
type Verdict uint8

// The verdicts: no pattern matched, one that ignores did, one that begins with ! did.
const (
	None Verdict = iota
	Ignored
	Kept
)

// List is a list of patterns. The zero List matches nothing.
type List struct {
	patterns []pattern
}

type pattern struct {
	keep, dirOnly bool
	base          bool // compared with the last component only
	exact         string
	suffix        string // *.suffix
	re            *regexp.Regexp
}

// Parse reads the patterns of an ignore file. Lines that are no patterns are left out.
func Parse(text string, fold bool) *List {
	l := &List{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if !strings.HasSuffix(line, `\ `) {
			line = strings.TrimRight(line, " ")
		}
		if line != "" {
			_ = l.Add(line, fold)
		}
	}
	return l
}

// Add appends a pattern; fold ignores the case of letters.
func (l *List) Add(glob string, fold bool) error {
	p := pattern{}
	g := glob
	switch {
	case strings.HasPrefix(g, "!"):
		p.keep, g = true, g[1:]
	case strings.HasPrefix(g, `\!`), strings.HasPrefix(g, `\#`):
		g = g[1:]
	}
	anchored := strings.HasPrefix(g, "/")
	g = strings.TrimPrefix(g, "/")
	if strings.HasSuffix(g, "/") {
		p.dirOnly, g = true, strings.TrimSuffix(g, "/")
	}
	if g == "" {
		return nil
	}
	p.base = !anchored && !strings.Contains(g, "/")
	switch {
	case fold:
	case !strings.ContainsAny(g, `*?[{\`):
		p.exact = g
	case p.base && strings.HasPrefix(g, "*.") && !strings.ContainsAny(g[1:], `*?[{\`):
		p.suffix = g[1:]
	}
	if p.exact == "" && p.suffix == "" {
		re, err := Compile(g, fold)
		if err != nil {
			return err
		}
		p.re = re
	}
	l.patterns = append(l.patterns, p)
	return nil
}

// Empty reports whether there are no patterns.
func (l *List) Empty() bool { return l == nil || len(l.patterns) == 0 }

// Len is the number of patterns.
func (l *List) Len() int { return len(l.patterns) }

// Match asks about a path relative to where the list stands.
func (l *List) Match(path string, dir bool) Verdict {
	if l == nil {
		return None
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	for i := len(l.patterns) - 1; i >= 0; i-- {
		p := &l.patterns[i]
		if p.dirOnly && !dir {
			continue
		}
		s := path
		if p.base {
			s = name
		}
		var ok bool
		switch {
		case p.exact != "":
			ok = s == p.exact
		case p.suffix != "":
			ok = strings.HasSuffix(s, p.suffix)
		default:
			ok = p.re.MatchString(s)
		}
		if !ok {
			continue
		}
		if p.keep {
			return Kept
		}
		return Ignored
	}
	return None
}

// Compile translates a glob into a regular expression over a whole path.
func Compile(glob string, fold bool) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString("(?s")
	if fold {
		b.WriteByte('i')
	}
	b.WriteString(`)\A`)
	depth := 0
	for i := 0; i < len(glob); {
		c := glob[i]
		rest := glob[i:]
		switch {
		case strings.HasPrefix(rest, "**/") && (i == 0 || glob[i-1] == '/'):
			b.WriteString("(?:.*/)?")
			i += 3
			continue
		case rest == "**" && i > 0 && glob[i-1] == '/':
			b.WriteString(".+")
			i += 2
			continue
		case strings.HasPrefix(rest, "**"):
			// Between other characters two stars mean what one does, except where they are the whole glob.
			if i == 0 && len(rest) == 2 {
				b.WriteString(".*")
			} else {
				b.WriteString("[^/]*")
			}
			i += 2
			continue
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '[':
			n, set, err := class(rest)
			if err != nil {
				return nil, err
			}
			b.WriteString(set)
			i += n
			continue
		case c == '{':
			depth++
			b.WriteString("(?:")
		case c == '}':
			if depth == 0 {
				return nil, errors.New("unopened alternate group; missing '{' (maybe escape '}' with '[}]'?)")
			}
			depth--
			b.WriteByte(')')
		case c == ',' && depth > 0:
			b.WriteByte('|')
		case c == '\\':
			if i+1 == len(glob) {
				return nil, errors.New(`dangling '\'`)
			}
			i++
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		case c < 0x80:
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		default:
			b.WriteByte(c)
		}
		i++
	}
	if depth > 0 {
		return nil, errors.New("unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)")
	}
	b.WriteString(`\z`)
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, fmt.Errorf("invalid glob: %w", err)
	}
	return re, nil
}

// class translates the bracket expression s begins with; n is its length.
func class(s string) (n int, set string, err error) {
	i := 1
	var b strings.Builder
	b.WriteByte('[')
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		b.WriteString("^/")
		i++
	}
	for first := true; ; first = false {
		if i >= len(s) {
			return 0, "", errors.New("unclosed character class; missing ']'")
		}
		c := s[i]
		if c == ']' && !first {
			break
		}
		switch c {
		case '[', ']', '^', '\\', '&', '~':
			b.WriteByte('\\')
		}
		b.WriteByte(c)
		i++
	}
	b.WriteByte(']')
	return i + 1, b.String(), nil
}
