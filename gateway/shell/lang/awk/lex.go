package awk

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

type token uint8

const (
	tEOF token = iota
	tNewline
	tLbrace
	tRbrace
	tLparen
	tRparen
	tLbracket
	tRbracket
	tSemi
	tComma
	tPlus
	tMinus
	tStar
	tSlash
	tPercent
	tCaret
	tNot
	tGt
	tLt
	tPipe
	tPipeAmp
	tQuestion
	tColon
	tTilde
	tNoMatch
	tDollar
	tAssign
	tAddAssign
	tSubAssign
	tMulAssign
	tDivAssign
	tModAssign
	tPowAssign
	tEq
	tLe
	tGe
	tNe
	tIncr
	tDecr
	tAnd
	tOr
	tAppend
	tAt
	tNumber
	tString
	tRegex
	tName
	tFuncName // a name directly followed by '('
	tBuiltin
	// Keywords.
	tBegin
	tEnd
	tBeginFile
	tEndFile
	tFunction
	tIf
	tElse
	tWhile
	tFor
	tDo
	tBreak
	tContinue
	tNext
	tNextFile
	tExit
	tReturn
	tDelete
	tIn
	tGetline
	tPrint
	tPrintf
	tSwitch
	tCase
	tDefault
)

var keywords = map[string]token{
	"BEGIN": tBegin, "END": tEnd, "BEGINFILE": tBeginFile, "ENDFILE": tEndFile,
	"function": tFunction, "func": tFunction, "if": tIf, "else": tElse, "while": tWhile,
	"for": tFor, "do": tDo, "break": tBreak, "continue": tContinue, "next": tNext,
	"nextfile": tNextFile, "exit": tExit, "return": tReturn, "delete": tDelete, "in": tIn,
	"getline": tGetline, "print": tPrint, "printf": tPrintf, "switch": tSwitch, "case": tCase,
	"default": tDefault,
}

// SyntaxError is what is wrong with a program, and where.
type SyntaxError struct {
	Source string // the file, "" for the command line
	Line   int
	Text   string // the offending line
	Col    int    // where in Text
	Msg    string
	Again  bool // the message comes twice
}

func (e *SyntaxError) Error() string { return e.Report("awk") }

// Report is the message as the program called name prints it: the text and a pointer below it, except
// for errors that are about the program as a whole.
func (e *SyntaxError) Report(name string) string {
	src := e.Source
	if src == "" {
		src = "cmd. line"
	}
	at := fmt.Sprintf("%s: %s:%d: ", name, src, e.Line)
	if e.Text == "" || e.Fatal() || strings.HasPrefix(e.Msg, "error: ") {
		if e.Again {
			return at + e.Msg + "\n" + at + e.Msg
		}
		return at + e.Msg
	}
	return at + e.Text + "\n" + at + strings.Repeat(" ", e.Col) + "^ " + e.Msg
}

// Fatal reports whether gawk answers the error with status 2 instead of 1.
func (e *SyntaxError) Fatal() bool { return strings.HasPrefix(e.Msg, "fatal: ") }

// Source is one piece of program text.
type Source struct {
	Name string // the file's name, "" for the command line
	Text string
}

// lexer is a plain value: the parser copies it to look ahead.
type lexer struct {
	src  string
	name string
	pos  int
	line int

	// The current token.
	tok      token
	start    int     // its offset
	previous int     // that of the token before it
	text     string  // name, string value or regex source
	num      float64 // of tNumber
	bi       builtin // of tBuiltin
	space    bool    // white space came before it

	warn func(string)
}

func (l *lexer) errorAt(pos int, format string, args ...any) *SyntaxError {
	pos = min(pos, len(l.src))
	line := 1 + strings.Count(l.src[:pos], "\n")
	from := strings.LastIndexByte(l.src[:pos], '\n') + 1
	text := l.src[from:]
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return &SyntaxError{Source: l.name, Line: line, Text: text, Col: pos - from, Msg: fmt.Sprintf(format, args...)}
}

func isNameStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// next reads the next token. A '/' is always division: the parser calls
// regex where a regular expression may begin.
func (l *lexer) next() {
	l.space = false
	l.previous = l.start
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == ' ' || c == '\t' || c == '\r':
			l.pos++
		case c == '\\' && strings.HasPrefix(l.src[l.pos+1:], "\n"):
			l.pos += 2
			l.line++
		case c == '\\' && strings.HasPrefix(l.src[l.pos+1:], "\r\n"):
			l.pos += 3
			l.line++
		case c == '#':
			for l.pos < len(l.src) && l.src[l.pos] != '\n' {
				l.pos++
			}
		default:
			l.scan(c)
			return
		}
		l.space = true
	}
	l.start, l.tok = l.pos, tEOF
}

// op accepts the longest of the operators that the text continues with.
func (l *lexer) op(t token, longer ...any) {
	rest := l.src[l.pos:]
	for i := 0; i < len(longer); i += 2 {
		if s := longer[i].(string); strings.HasPrefix(rest, s) {
			l.pos += len(s)
			l.tok = longer[i+1].(token)
			return
		}
	}
	l.tok = t
}

func (l *lexer) scan(c byte) {
	l.start = l.pos
	switch {
	case isNameStart(c):
		l.scanName()
		return
	case isDigit(c), c == '.' && l.pos+1 < len(l.src) && isDigit(l.src[l.pos+1]):
		l.scanNumber()
		return
	}
	l.pos++
	switch c {
	case '\n':
		l.line++
		l.tok = tNewline
	case '{':
		l.tok = tLbrace
	case '}':
		l.tok = tRbrace
	case '(':
		l.tok = tLparen
	case ')':
		l.tok = tRparen
	case '[':
		l.tok = tLbracket
	case ']':
		l.tok = tRbracket
	case ';':
		l.tok = tSemi
	case ',':
		l.tok = tComma
	case '+':
		l.op(tPlus, "+", tIncr, "=", tAddAssign)
	case '-':
		l.op(tMinus, "-", tDecr, "=", tSubAssign)
	case '*':
		l.op(tStar, "*=", tPowAssign, "*", tCaret, "=", tMulAssign)
	case '/':
		l.op(tSlash, "=", tDivAssign)
	case '%':
		l.op(tPercent, "=", tModAssign)
	case '^':
		l.op(tCaret, "=", tPowAssign)
	case '!':
		l.op(tNot, "=", tNe, "~", tNoMatch)
	case '>':
		l.op(tGt, ">", tAppend, "=", tGe)
	case '<':
		l.op(tLt, "=", tLe)
	case '|':
		l.op(tPipe, "|", tOr, "&", tPipeAmp)
	case '&':
		if l.pos < len(l.src) && l.src[l.pos] == '&' {
			l.pos++
			l.tok = tAnd
			return
		}
		panic(l.errorAt(l.start, "syntax error"))
	case '?':
		l.tok = tQuestion
	case ':':
		l.tok = tColon
	case '~':
		l.tok = tTilde
	case '$':
		l.tok = tDollar
	case '@':
		l.tok = tAt
	case '=':
		l.op(tAssign, "=", tEq)
	case '"':
		l.scanString()
	default:
		r, _ := utf8.DecodeRuneInString(l.src[l.start:])
		panic(l.errorAt(l.start, "invalid char '%c' in expression", r))
	}
}

func (l *lexer) scanName() {
	for l.pos < len(l.src) && (isNameStart(l.src[l.pos]) || isDigit(l.src[l.pos])) {
		l.pos++
	}
	if rest := l.src[l.pos:]; len(rest) > 2 && rest[:2] == "::" && isNameStart(rest[2]) {
		if _, ok := keywords[l.src[l.start:l.pos]]; ok {
			panic(l.errorAt(l.start, "error: using reserved identifier `%s' as a namespace is not allowed",
				l.src[l.start:l.pos]))
		}
		l.pos += 2
		for l.pos < len(l.src) && (isNameStart(l.src[l.pos]) || isDigit(l.src[l.pos])) {
			l.pos++
		}
	}
	l.text = l.src[l.start:l.pos]
	if t, ok := keywords[l.text]; ok {
		l.tok = t
		return
	}
	if b, ok := builtins[strings.TrimPrefix(l.text, "awk::")]; ok {
		l.tok, l.bi = tBuiltin, b
		return
	}
	l.tok = tName
	if l.pos < len(l.src) && l.src[l.pos] == '(' {
		l.tok = tFuncName
	}
}

func (l *lexer) scanNumber() {
	l.tok = tNumber
	rest := l.src[l.pos:]
	if len(rest) > 2 && rest[0] == '0' && (rest[1] == 'x' || rest[1] == 'X') && hexVal(rest[2]) >= 0 {
		n, v := 2, 0.0
		for n < len(rest) && hexVal(rest[n]) >= 0 {
			v = v*16 + float64(hexVal(rest[n]))
			n++
		}
		l.pos += n
		l.num = v
		return
	}
	v, n := parsePrefix(rest)
	// gawk reads 011 in a program as octal.
	if n > 1 && rest[0] == '0' && strings.Trim(rest[:n], "01234567") == "" {
		v = 0
		for i := range n {
			v = v*8 + float64(rest[i]-'0')
		}
	}
	l.pos += n
	l.num = v
}

func hexVal(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func (l *lexer) scanString() {
	l.tok = tString
	from := l.pos
	for l.pos < len(l.src) {
		switch l.src[l.pos] {
		case '"':
			l.text = unescape(strings.ReplaceAll(strings.ReplaceAll(l.src[from:l.pos], "\\\n", ""), "\\\r\n", ""), l.warn)
			l.pos++
			return
		case '\\':
			l.pos++
			if strings.HasPrefix(l.src[l.pos:], "\r\n") {
				l.pos++
			}
			if l.pos < len(l.src) && l.src[l.pos] == '\n' {
				l.line++
			}
		case '\n':
			panic(l.errorAt(l.start, "unterminated string"))
		}
		l.pos++
	}
	l.pos = len(l.src)
	panic(l.errorAt(l.start, "unterminated string"))
}

// regex reads a regular expression; the current token is the '/' or '/=' it begins with.
func (l *lexer) regex() {
	l.pos = l.start + 1
	var b strings.Builder
	inClass := false
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case c == '\n':
			panic(l.errorAt(l.start+1, "unterminated regexp"))
		case c == '\\' && l.pos+1 < len(l.src):
			l.pos++
			if strings.HasPrefix(l.src[l.pos:], "\r\n") {
				l.pos++
			}
			switch l.src[l.pos] {
			case '\n':
				l.line++
			case '/':
				b.WriteByte('/')
			default:
				b.WriteByte('\\')
				b.WriteByte(l.src[l.pos])
			}
			l.pos++
			continue
		case c == '[' && !inClass:
			// A bracket expression hides '/' only when it is closed on this line.
			if n := bracketEnd(l.src[l.pos:]); n > 0 {
				b.WriteString(strings.ReplaceAll(l.src[l.pos:l.pos+n], `\/`, "/"))
				l.pos += n
				continue
			}
		case c == '/':
			l.pos++
			l.tok, l.text = tRegex, b.String()
			return
		}
		b.WriteByte(c)
		l.pos++
	}
	panic(l.errorAt(l.start+1, "unterminated regexp"))
}

// bracketEnd returns the length of the bracket expression s begins with, 0
// when it does not end on the line.
func bracketEnd(s string) int {
	i := 1
	if i < len(s) && s[i] == '^' {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	for i < len(s) && s[i] != '\n' {
		switch {
		case s[i] == ']':
			return i + 1
		case s[i] == '\\':
			i++
		case s[i] == '[' && i+1 < len(s) && (s[i+1] == ':' || s[i+1] == '.' || s[i+1] == '='):
			if j := strings.Index(s[i+2:], s[i+1:i+2]+"]"); j >= 0 && !strings.Contains(s[i+2:i+2+j], "\n") {
				i += j + 3
			}
		}
		i++
	}
	return 0
}

// unescape replaces the escapes of a string literal, an assignment operand or an -F value. What warn is told
// begins with "warning: ".
func unescape(s string, warn func(string)) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	b = append(b, s[:i]...)
	for ; i < len(s); i++ {
		c := s[i]
		if c != '\\' {
			b = append(b, c)
			continue
		}
		i++
		if i >= len(s) {
			b = append(b, '\\')
			break
		}
		switch c = s[i]; c {
		case '"', '\\':
			b = append(b, c)
		case 'n':
			b = append(b, '\n')
		case 't':
			b = append(b, '\t')
		case 'r':
			b = append(b, '\r')
		case 'a':
			b = append(b, 7)
		case 'b':
			b = append(b, 8)
		case 'f':
			b = append(b, 12)
		case 'v':
			b = append(b, 11)
		case '0', '1', '2', '3', '4', '5', '6', '7':
			v, n := 0, 0
			for n < 3 && i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '7' {
				v = v*8 + int(s[i+n]-'0')
				n++
			}
			b = append(b, byte(v))
			i += n - 1
		case 'x':
			v, n := 0, 0
			for n < 2 && i+1+n < len(s) && hexVal(s[i+1+n]) >= 0 {
				v = v*16 + hexVal(s[i+1+n])
				n++
			}
			if n == 0 {
				b = append(b, '\\', 'x')
				break
			}
			b = append(b, byte(v))
			i += n
		default:
			if warn != nil {
				warn(fmt.Sprintf("warning: escape sequence `\\%c' treated as plain `%c'", c, c))
			}
			b = append(b, c)
		}
	}
	return string(b)
}
