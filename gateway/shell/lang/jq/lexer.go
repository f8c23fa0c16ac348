package jq

import (
	"fmt"
	"strings"
)

// token is a word of a program. kind is its name in messages.
type token struct {
	kind    string
	text    string // of names and strings
	at, end int
}

// The kinds of tokens that have no text of their own.
const (
	tokEOF     = "end of file"
	tokInvalid = "INVALID_CHARACTER"
	tokIdent   = "IDENT"
	tokField   = "FIELD"
	tokBinding = "BINDING"
	tokLiteral = "LITERAL"
	tokFormat  = "FORMAT"
	tokQuote   = "QQSTRING_START"
	tokText    = "QQSTRING_TEXT"
	tokInterp  = "QQSTRING_INTERP_START"
	tokClose   = "QQSTRING_INTERP_END"
	tokUnquote = "QQSTRING_END"
	tokLoc     = "$__loc__"
)

var keywords = map[string]bool{
	"as": true, "def": true, "module": true, "import": true, "include": true, "if": true, "then": true, "else": true,
	"elif": true,
	"and":  true, "or": true, "end": true, "reduce": true, "foreach": true, "try": true, "catch": true, "label": true,
	"break":   true,
	"__loc__": true,
}

// operators are the ones of several characters, longest first.
var operators = []string{"?//=", "?//", "//=", "!=", "==", "//", "|=", "+=", "-=", "*=", "/=", "%=", "<=", ">=", ".."}

type lexer struct {
	file, src string
	pos       int
	open      []byte // brackets, quotes, and ( of interpolations as i
	last      token  // what was read last, white space too
	problems  []string
	meter     Meter
}

// fail notes a problem with src[at:end].
func (l *lexer) fail(problem string, at, end int) {
	l.problems = append(l.problems, l.meter.located(problem, l.file, l.src, at, end))
}

// located adds to a problem the line of src that it is on, and marks the place.
func (m Meter) located(problem, file, src string, at, end int) string {
	line := strings.LastIndexByte(src[:at], '\n') + 1
	text, _, _ := strings.Cut(src[line:], "\n")
	width := max(1, min(end, line+len(text))-at)
	m.Tick(1 + at>>10)
	m.Hold(2*len(text) + len(problem) + 128)
	return fmt.Sprintf("%s at %s, line %d, column %d:\n    %s\n    %s%s", problem, file, 1+strings.Count(src[:at], "\n"),
		at-line+1, text,
		strings.Repeat(" ", at-line), strings.Repeat("^", width))
}

func isNameStart(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigitByte(c byte) bool { return c >= '0' && c <= '9' }
func isNameByte(c byte) bool  { return isNameStart(c) || isDigitByte(c) }

// name is the end of the name with :: that begins at i.
func (l *lexer) name(i int, parts bool) int {
	s := l.src
	if i >= len(s) || !isNameStart(s[i]) {
		return i
	}
	for i < len(s) {
		switch {
		case isNameByte(s[i]):
			i++
		case parts && i+2 < len(s) && s[i] == ':' && s[i+1] == ':' && isNameStart(s[i+2]):
			i += 2
		default:
			return i
		}
	}
	return i
}

// skip passes over white space and comments.
func (l *lexer) skip() {
	s := l.src
	for l.pos < len(s) {
		from := l.pos
		switch s[l.pos] {
		case ' ', '\t', '\n', '\r':
			for l.pos < len(s) && strings.IndexByte(" \t\n\r", s[l.pos]) >= 0 {
				l.pos++
			}
		case '#':
			for l.pos < len(s) && s[l.pos] != '\n' {
				if s[l.pos] == '\\' && l.pos+1 < len(s) {
					l.pos++
					if s[l.pos] == '\r' && l.pos+1 < len(s) && s[l.pos+1] == '\n' {
						l.pos++
					}
				}
				l.pos++
			}
			l.pos = min(l.pos, len(s))
		default:
			return
		}
		l.last = token{at: from, end: l.pos}
	}
}

func (l *lexer) next() token {
	if n := len(l.open); n > 0 && l.open[n-1] == '"' {
		return l.inString()
	}
	l.skip()
	if l.pos >= len(l.src) {
		return token{kind: tokEOF, at: l.last.at, end: max(l.last.end, l.last.at)}
	}
	t := l.word()
	l.pos = t.end
	l.last = t
	return t
}

// word reads the token at the position.
func (l *lexer) word() token {
	s, i := l.src, l.pos
	one := func(kind string, end int) token { return token{kind: kind, text: s[i:end], at: i, end: end} }
	c := s[i]
	next := byte(0)
	if i+1 < len(s) {
		next = s[i+1]
	}
	switch {
	case c == '"':
		l.open = append(l.open, '"')
		return one(tokQuote, i+1)
	case c == '$' && isNameStart(next):
		t := one(tokBinding, l.name(i+1, true))
		t.text = t.text[1:]
		if t.text == "__loc__" {
			t.kind = tokLoc
		}
		return t
	case c == '.' && isNameStart(next):
		t := one(tokField, l.name(i+1, false))
		t.text = t.text[1:]
		return t
	case c == '@' && isNameByte(next):
		end := i + 1
		for end < len(s) && isNameByte(s[end]) {
			end++
		}
		return one(tokFormat, end)
	case isNameStart(c):
		t := one(tokIdent, l.name(i, true))
		if keywords[t.text] {
			t.kind = t.text
		}
		return t
	case isDigitByte(c) || c == '.' && isDigitByte(next):
		return one(tokLiteral, numberEnd(s, i))
	}
	for _, op := range operators {
		if strings.HasPrefix(s[i:], op) && op != "?//=" {
			return one(op, i+len(op))
		}
	}
	switch c {
	case '(', '[', '{':
		l.open = append(l.open, c)
		return one("'"+string(c)+"'", i+1)
	case ')', ']', '}':
		return l.closing(one("'"+string(c)+"'", i+1), c)
	}
	if strings.IndexByte(".?=;,:|+-*/%<>", c) >= 0 {
		return one("'"+string(c)+"'", i+1)
	}
	return one(tokInvalid, i+1)
}

// closing closes what is open.
func (l *lexer) closing(t token, c byte) token {
	n := len(l.open) - 1
	if n < 0 {
		t.kind = tokInvalid
		return t
	}
	switch open := l.open[n]; {
	case open == 'i' && c == ')':
		t.kind = tokClose
	case open == '(' && c == ')', open == '[' && c == ']', open == '{' && c == '}':
	default:
		t.kind = tokInvalid
		return t
	}
	l.open = l.open[:n]
	return t
}

func numberEnd(s string, i int) int {
	digits := func() {
		for i < len(s) && isDigitByte(s[i]) {
			i++
		}
	}
	digits()
	if i < len(s) && s[i] == '.' {
		i++
		digits()
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if j < len(s) && isDigitByte(s[j]) {
			i = j
			digits()
		}
	}
	return i
}

// inString reads the next part of a string.
func (l *lexer) inString() token {
	s, i := l.src, l.pos
	if i >= len(s) {
		return token{kind: tokEOF, at: l.last.at, end: l.last.end}
	}
	t := token{kind: tokText, at: i}
	switch {
	case s[i] == '"':
		l.open = l.open[:len(l.open)-1]
		t.kind, i = tokUnquote, i+1
	case strings.HasPrefix(s[i:], `\(`):
		l.open = append(l.open, 'i')
		t.kind, i = tokInterp, i+2
	case s[i] == '\\':
		i = l.escapes(i)
		raw := s[t.at:i]
		b, problem := unquote([]byte(raw))
		if problem != "" {
			l.fail(fmt.Sprintf("%s at line 1, column %d (while parsing '\"%s\"')", problem, len(raw)+2, raw), t.at, i)
		}
		t.text = string(b)
	default:
		for i < len(s) && s[i] != '"' && s[i] != '\\' {
			i++
		}
		t.text = strings.ToValidUTF8(s[t.at:i], "\uFFFD")
	}
	t.end = i
	l.pos, l.last = i, t
	return t
}

// escapes is the end of the backslash sequences that begin at i.
func (l *lexer) escapes(i int) int {
	s := l.src
	for i+1 < len(s) && s[i] == '\\' && s[i+1] != '(' {
		i += 2
		if s[i-1] == 'u' {
			for n := 0; n < 4 && i < len(s) && isNameByte(s[i]) && s[i] != '_'; n++ {
				i++
			}
		}
	}
	if i < len(s) && s[i] == '\\' && i+1 == len(s) {
		i++
	}
	return i
}
