package bc

import "strings"

type kind uint8

const (
	tokEOF kind = iota
	tokNewline
	tokNumber
	tokString
	tokName
	tokKeyword
	tokOp // operators and punctuation
)

type token struct {
	kind kind
	text string
	line int
}

var keywords = map[string]bool{"define": true, "break": true, "quit": true, "length": true, "return": true, "for": true,
	"if": true, "while": true,
	"sqrt": true, "else": true, "scale": true, "ibase": true, "obase": true, "auto": true, "read": true, "random": true,
	"warranty": true,
	"halt":     true, "last": true, "continue": true, "print": true, "limits": true, "history": true, "void": true}

type lexer struct {
	src     string
	pos     int
	line    int
	illegal func(line int, c string)
}

func isNumberByte(c byte) bool { return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' }

func isNameByte(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' }

func (l *lexer) next() token {
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		rest := l.src[l.pos:]
		switch {
		case c == ' ' || c == '\t' || c == '\r':
			l.pos++
		case strings.HasPrefix(rest, "\\\n"):
			l.pos += 2
			l.line++
		case c == '#':
			if i := strings.IndexByte(rest, '\n'); i >= 0 {
				l.pos += i
			} else {
				l.pos = len(l.src)
			}
		case strings.HasPrefix(rest, "/*"):
			i := strings.Index(rest[2:], "*/")
			if i < 0 {
				l.pos = len(l.src)
				break
			}
			l.line += strings.Count(rest[:i+4], "\n")
			l.pos += i + 4
		case c == '\n':
			l.pos++
			l.line++
			return token{tokNewline, "\n", l.line}
		case isNumberByte(c) || c == '.' && len(rest) > 1 && isNumberByte(rest[1]):
			return token{tokNumber, l.number(), l.line}
		case c >= 'a' && c <= 'z':
			n := 1
			for n < len(rest) && isNameByte(rest[n]) {
				n++
			}
			l.pos += n
			if keywords[rest[:n]] {
				return token{tokKeyword, rest[:n], l.line}
			}
			return token{tokName, rest[:n], l.line}
		case c == '"' && strings.IndexByte(rest[1:], '"') >= 0:
			n := strings.IndexByte(rest[1:], '"')
			s := rest[1 : n+1]
			l.pos += n + 2
			l.line += strings.Count(s, "\n")
			return token{tokString, s, l.line}
		default:
			for _, op := range []string{"&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "==", "!=", "<=", ">="} {
				if strings.HasPrefix(rest, op) {
					l.pos += 2
					return token{tokOp, op, l.line}
				}
			}
			l.pos++
			if strings.IndexByte("+-*/%^=<>!()[]{},;.", c) >= 0 {
				return token{tokOp, rest[:1], l.line}
			}
			l.illegal(l.line, rest[:1])
		}
	}
	return token{tokEOF, "", l.line}
}

// number reads digits and at most one point; a line may be continued in between.
func (l *lexer) number() string {
	var b strings.Builder
	point := false
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case isNumberByte(c):
		case c == '.' && !point:
			point = true
		case strings.HasPrefix(l.src[l.pos:], "\\\n"):
			l.pos += 2
			l.line++
			continue
		default:
			return b.String()
		}
		b.WriteByte(c)
		l.pos++
	}
	return b.String()
}
