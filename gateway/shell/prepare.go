package shell

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// This is the one place where a text is made ready for the parser, which reads some of what bash does in another way or
// not at all: first, prepare rewrites what the scanner knows about; then, where the parser has stopped, parseFile masks
// and missing adds what bash does not need.

// prepare encodes a text and rewrites it. deep is the line where it nests too deep, 0 if it does not.
func prepare(
	src string, lines int, posix bool, step func(),
) (text string, stray encoding, warnings []string, deep int) {
	deep = tooDeep(src)
	text, stray = encode(src)
	quotes := strings.Contains(src, "${") && strings.ContainsAny(src, "'\"")
	if deep == 0 && !quotes && !strings.Contains(src, "\\\n") && !strings.Contains(src, "<<") {
		return text, stray, nil, 0
	}
	block := stray
	if block == 0 {
		block = unusedBlock(text)
	}
	r := scan(text, block, posix, deep > 0, step)
	if r.lost {
		r.out = append(r.out[:r.safe.out], text[r.safe.in:]...)
		r.warnings = r.warnings[:r.safe.warnings]
	} else if deep > 0 {
		deep = tooDeep(string(r.code))
	}
	for _, w := range r.warnings {
		warnings = append(warnings, docEnded(w.at+lines, w.line+lines, stray.decode(w.delim)))
	}
	if r.changed {
		text, stray = string(r.out), block
	}
	return text, stray, warnings, deep
}

// docEnded warns of a here-document that ends without its delimiter.
func docEnded(at, line int, delim string) string {
	return fmt.Sprintf("line %d: warning: here-document at line %d delimited by end-of-file (wanted `%s')\n", at, line,
		delim)
}

// missing finds what the parser, unlike bash, cannot do without before the place of err: where it goes and what it is;
// -1 when there is nothing.
func missing(src string, err error, patterns bool) (at int, text string) {
	if at := subshells(src, err); at >= 0 {
		return at, " " // "((" may also begin two subshells; the parser only tries arithmetic
	}
	if at, ok := errorOffset(err); ok && patterns && at > 0 && strings.HasPrefix(src[min(int(at), len(src)):], "()") &&
		strings.IndexByte("?*+@!", src[at-1]) >= 0 {
		return int(at) + 1, `""` // a pattern of nothing
	}
	if at := bareFunction(src, err); at >= 0 {
		return at, "()"
	}
	if at, ok := errorOffset(err); ok && err != nil && !patterns {
		from := max(int(at)-4096, 0)
		for end := min(int(at)+1, len(src)); ; {
			i := strings.LastIndex(src[from:end], "!(")
			if i < 0 {
				break
			}
			if beginsCommand(src[:from+i]) {
				return from + i + 1, " "
			}
			end = from + i + 1
		}
	}
	return -1, ""
}

// bare is the head of a function whose body begins with a keyword, without parentheses.
var bare = regexp.MustCompile("(?:^|[\\s;&|({])function[ \t]+[^\\s;&|()<>$`\"']+()[ \t]+(?:(?:if|while|until|for|case|select|\\[\\[)[\\s(]|\\(\\s*[^)\\s])")

// bareFunction finds the end of such a function's name before the place of err.
func bareFunction(src string, err error) int {
	at, ok := errorOffset(err)
	if err == nil || !ok {
		return -1
	}
	from := max(int(at)-4096, 0)
	name := -1
	for _, m := range bare.FindAllStringSubmatchIndex(src[from:min(int(at)+256, len(src))], -1) {
		if from+m[0] <= int(at) {
			name = from + m[2]
		}
	}
	return name
}

// negatedSubshell finds the parenthesis of "!(…)" where a command begins, which the parser takes for a pattern and the
// compiler has refused.
func negatedSubshell(src string, refused error) int {
	var le syntax.LangError
	if !errors.As(refused, &le) {
		return -1
	}
	at := int(le.Pos.Offset())
	if at < 1 || at >= len(src) || src[at] != '(' || src[at-1] != '!' {
		return -1
	}
	if beginsCommand(src[:at-1]) {
		return at
	}
	return -1
}

// beginsCommand reports whether a command begins after a text.
func beginsCommand(before string) bool {
	before = strings.TrimRight(before, " \t")
	if before == "" || strings.IndexByte("\n;&|({", before[len(before)-1]) >= 0 {
		return true
	}
	switch before[strings.LastIndexAny(before, " \t\n;&|(")+1:] {
	case "if", "while", "until", "then", "else", "elif", "do", "time", "!":
		return true
	}
	return false
}

// subshells finds the "((" before the place of err whose inner parenthesis closes without the outer: the offset of the
// inner one, -1 when there is none.
func subshells(src string, err error) int {
	if err == nil {
		return -1
	}
	at, ok := errorOffset(err)
	if !ok {
		return -1
	}
	for end := min(int(at)+3, len(src)); ; {
		i := strings.LastIndex(src[:end], "((")
		if i < 0 || i < int(at)-4096 {
			return -1
		}
		if inner := skipNest(src, i+1); inner+1 < len(src) && src[inner+1] != ')' && skipNest(src, i) < len(src) {
			return i + 1
		}
		end = i + 1
	}
}

// parsers are used again: eval in a loop makes many small texts.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// parseFile parses src. Where the parser is stricter than bash (text in arithmetic and subscripts that only makes sense
// after expansion, and bad substitutions, which bash reports when they are expanded) the text is masked by a
// placeholder of the same length and parsed again; the compiler reads those texts from src itself.
func parseFile(src string, step func()) (*syntax.File, map[uint]int, error) {
	masked := src
	var bad map[uint]int
	for try := 0; ; try++ {
		parser := parsers.Get().(*syntax.Parser)
		f, err := parser.Parse(&script{masked, step}, "")
		parsers.Put(parser)
		// Each try reads the whole text again.
		if err == nil || try >= 200 || try >= 8 && try*len(src) > 16<<20 {
			return f, bad, err
		}
		at, ok := errorOffset(err)
		if !ok {
			return f, bad, err
		}
		next, from, length := maskArray(masked, int(at)), 0, 0
		if next == "" {
			next = maskBackquotes(masked, int(at))
		}
		if next == "" {
			next, from, length = mask(masked, int(at))
		}
		if opening := masked[min(int(at), len(masked)):]; next == "" && strings.HasPrefix(opening, "$((") {
			next, from, length = mask(masked, int(at)+3)
		} else if next == "" && strings.HasPrefix(opening, "((") {
			next, from, length = mask(masked, int(at)+2) // a comment hides its end
		} else if next == "" && strings.HasPrefix(opening, "${") {
			next, from, length = mask(masked, int(at)+2)
		}
		if s := masked[:min(int(at), len(masked))]; int(at) < len(masked) && masked[at] == '!' &&
			(strings.HasSuffix(s, "time ") || strings.HasSuffix(s, "time -p ")) {
			next, from, length = s+" "+masked[at+1:], 0, 0
		} else if strings.HasPrefix(masked[min(int(at), len(masked)):], "(())") {
			next, from, length = masked[:at]+"_   "+masked[at+4:], int(at), -4
		} else if loneNot(masked, int(at)) {
			next, from, length = masked[:at]+"_"+masked[at+1:], int(at), -1
		} else if n := doubleNot(masked, int(at)); n > 0 && loneNot(masked, int(at)+n-1) {
			last := int(at) + n - 1
			next, from, length = masked[:last]+"_"+masked[last+1:], last, -1
		} else if n > 0 {
			next, from, length = masked[:at]+strings.Repeat(" ", n)+masked[int(at)+n:], 0, 0
		}
		if next == "" || next == masked {
			if next, from, length = maskKeyword(masked, int(at)); next == "" {
				return f, bad, err
			}
		}
		if length != 0 {
			if bad == nil {
				bad = map[uint]int{}
			}
			bad[uint(from)] = length
		}
		masked = next
	}
}

// script is a text as the parser reads it, kilobyte by kilobyte.
type script struct {
	rest string
	step func()
}

func (s *script) Read(b []byte) (int, error) {
	if s.step != nil {
		s.step()
	}
	if s.rest == "" {
		return 0, io.EOF
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func errorOffset(err error) (uint, bool) {
	var pe syntax.ParseError
	if errors.As(err, &pe) {
		return pe.Pos.Offset(), true
	}
	var le syntax.LangError
	if errors.As(err, &le) {
		return le.Pos.Offset(), true
	}
	return 0, false
}

// mask blanks the innermost arithmetic or subscript around offset at, or turns the ${…} around it
// into a plain parameter (bad substitution: from and length tell where). It returns "" when there is none.
func mask(s string, at int) (out string, from, length int) {
	if at > len(s) {
		return "", 0, 0
	}
	depth := 0
	for i := min(at, len(s)-1); i >= 0; i-- {
		switch s[i] {
		case ')', ']', '}':
			if i < at {
				depth++
			}
		case '\n':
			if i < at-2000 {
				return "", 0, 0
			}
		case '(', '[', '{':
			if depth > 0 {
				depth--
				continue
			}
			switch {
			case s[i] == '[' && i > 0 && (isNameByte(s[i-1]) || s[i-1] == '$' || s[i-1] == '(' || s[i-1] == ' ' ||
				s[i-1] == '\n'):
				end := closing(s, i)
				if end >= len(s) || end == i+1 {
					return "", 0, 0
				}
				if strings.Trim(s[i+1:end], "0 ") == "" {
					continue // it is not the subscript that the parser refuses
				}
				return s[:i+1] + blank(s[i+1:end]) + s[end:], 0, 0
			case s[i] == '(' && i > 0 && s[i-1] == '(':
				end := skipNest(s, i)
				if end+1 >= len(s) || end == i+1 || s[end+1] != ')' {
					return "", 0, 0
				}
				body := s[i+1 : end]
				if strings.Count(body, ";") == 2 && strings.HasSuffix(strings.TrimRight(s[:i-1], " "), "for") {
					parts := strings.Split(body, ";")
					for k := range parts {
						parts[k] = blank(parts[k])
					}
					return s[:i+1] + strings.Join(parts, ";") + s[end:], 0, 0
				}
				return s[:i+1] + blank(body) + s[end:], 0, 0
			case s[i] == '{' && i > 0 && s[i-1] == '$':
				end := skipNest(s, i)
				if end >= len(s) {
					return "", 0, 0
				}
				if end > i+3 && s[i+1] == '!' && strings.IndexByte("-:+=?", s[i+2]) >= 0 {
					return s[:i+1] + "_" + s[i+2:], 0, 0 // the parameter ! and an operator
				}
				if k := sliceAt(s[i+1 : end]); k >= 0 && i+1+k < at {
					// Offset and length are arithmetic.
					body := s[i+2+k : end]
					return s[:i+2+k] + blank(body) + s[end:], 0, 0
				}
				n := end + 1 - (i - 1)
				if n < 4 {
					return s[:i-1] + "$" + strings.Repeat("_", n-1) + s[end+1:], i - 1, n
				}
				return s[:i+1] + strings.Repeat("_", n-3) + s[end:], i - 1, n
			case s[i] == '(' && i > 0 && s[i-1] != '$' && s[i-1] != '<' && s[i-1] != '>':
				continue // of a term, perhaps
			case s[i] == '[' && i > 0 && s[i-1] != '[', s[i] == '{' && i > 0 && s[i-1] != ' ' && s[i-1] != '\t' &&
				s[i-1] != '\n':
				continue // a character of a word
			}
			return "", 0, 0
		}
	}
	return "", 0, 0
}

// maskArray makes the parser take what it refuses of arrays at offset at: a[]=x, ([x]+=y), x=(…) before a command and
// declare x=(…) after other assignments. The compiler sees the difference in the source.
func maskArray(s string, at int) string {
	if at >= len(s) {
		return ""
	}
	switch {
	case strings.HasPrefix(s[at:], "(("): // of nothing
		end := skipNest(s, at)
		if end >= len(s) || end == at+3 || strings.Trim(s[at:end], "() \t\n") != "" {
			return ""
		}
		return s[:at+2] + blank(s[at+2:end-1]) + s[end-1:]
	case strings.HasPrefix(s[at:], "$(("): // of nothing
		end := skipNest(s, at+1)
		if end >= len(s) || strings.Trim(s[at+1:end], "() \t") != "" {
			return ""
		}
		return s[:at] + "${" + strings.Repeat("_", end-at-2) + "}" + s[end+1:]
	case strings.HasPrefix(s[at:], "[]") && at > 0 && isNameByte(s[at-1]):
		return s[:at] + "__" + s[at+2:]
	case s[at] == '[':
		if end := closing(s, at); end < len(s) && end > at+1 && strings.Trim(s[at+1:end], " \t") == "" {
			return s[:at+1] + blank(s[at+1:end]) + s[end:]
		}
		if strings.HasPrefix(s[at:], "[]=") && at > 0 && strings.IndexByte("( \t\n", s[at-1]) >= 0 {
			return s[:at] + "__" + s[at+2:]
		}
		if end := closing(s, at); strings.HasPrefix(s[min(end+1, len(s)):], "+=") {
			return s[:end+1] + "=+" + s[end+3:]
		}
		return ""
	// a list for an element, which is refused when it runs
	case strings.HasPrefix(s[at:], "=(") && at > 0 && s[at-1] == ']':
		at++
	case s[at] == '(' && at > 0 && s[at-1] == '=':
		for start := max(strings.LastIndexAny(s[:at], "\n;&|")+1, 0); start < at; {
			w := strings.TrimLeft(s[start:at], " \t")
			start = at - len(w)
			end := strings.IndexAny(w, " \t")
			if end < 0 {
				return ""
			}
			name, _, isAssign := strings.Cut(w[:end], "=")
			if !isAssign || !isName(strings.TrimSuffix(name, "+")) {
				if slices.Contains(declarations, w[:end]) || w[:end] == "let" || w[:end] == "eval" {
					break
				}
				if !beginsCommand(w[:end]) && !strings.HasSuffix(w[:end], ")") {
					return ""
				}
			}
			start += end
		}
	default:
		n := at
		for n < len(s) && isNameByte(s[n]) {
			n++
		}
		if n > at && n < len(s) && s[n] == '[' {
			end := closing(s, n) + 1
			value := strings.TrimPrefix(s[min(end, len(s)):], "+")
			if !strings.HasPrefix(value, "=") {
				return ""
			}
			if strings.HasPrefix(value, "=(") {
				return ""
			}
			return s[:n] + strings.Repeat("_", end-n) + s[end:]
		}
		rest := strings.TrimPrefix(s[n:], "+")
		if n == at || !strings.HasPrefix(rest, "=(") {
			return ""
		}
		at = len(s) - len(rest) + 1
	}
	end := skipNest(s, at)
	if end >= len(s) {
		return ""
	}
	b := []byte(s[at : end+1])
	for i := range b {
		if b[i] != '\n' {
			b[i] = '_'
		}
	}
	b[0], b[len(b)-1] = '"', '"'
	return s[:at] + string(b) + s[end+1:]
}

// maskBackquotes blanks the text between the backquotes around offset at: it is read when the substitution runs.
func maskBackquotes(s string, at int) string {
	if strings.IndexByte(s, '`') < 0 {
		return ""
	}
	open, end := backquotesAround(s, at)
	if open < 0 {
		return ""
	}
	body := s[open+1 : end]
	if strings.TrimLeft(body, "_\n") == "" {
		return ""
	}
	b := []byte(body)
	for k := range b {
		if b[k] != '\n' {
			b[k] = '_'
		}
	}
	return s[:open+1] + string(b) + s[end:]
}

// loneNot reports whether the "!" at offset at stands alone.
func loneNot(s string, at int) bool {
	if at >= len(s) || s[at] != '!' {
		return false
	}
	rest := strings.TrimLeft(s[at+1:], " \t")
	return rest == "" || rest[0] == '\n' || rest[0] == ';'
}

// doubleNot is the length of "! !" at offset at, which the parser refuses and which means nothing.
func doubleNot(s string, at int) int {
	if at >= len(s) || s[at] != '!' {
		return 0
	}
	i := at + 1
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	if i == at+1 || i >= len(s) || s[i] != '!' || i+1 < len(s) && strings.IndexByte(" \t\n;", s[i+1]) < 0 {
		return 0
	}
	return i + 1 - at
}

// maskKeyword turns the declaration command or let around offset at into a plain command: the parser refuses operands
// that bash only complains about when it runs. The negative length says that the word at from is the command's name.
func maskKeyword(s string, at int) (out string, from, length int) {
	for start := min(at, len(s)-1); start >= 0; start-- {
		if start < at && strings.IndexByte("\n;&|", s[start]) >= 0 {
			return "", 0, 0
		}
		if start > 0 && strings.IndexByte(" \t\n;&|({", s[start-1]) < 0 {
			continue
		}
		for _, k := range []string{"export", "declare", "local", "readonly", "typeset", "let"} {
			if rest, ok := strings.CutPrefix(s[start:], k); ok && (rest == "" || !isNameByte(rest[0])) {
				return s[:start] + strings.Repeat("_", len(k)) + rest, start, -len(k)
			}
		}
	}
	return "", 0, 0
}

// sliceAt finds the ':' of ${name:offset} when s, the text between the braces, is one.
func sliceAt(s string) int {
	i := 0
	if s != "" && strings.IndexByte("?#$!-", s[0]) >= 0 {
		i = 1
	}
	for i < len(s) && (isNameByte(s[i]) || s[i] == '@' || s[i] == '*') {
		i++
	}
	if i < len(s) && s[i] == '[' {
		i = closing(s, i) + 1
	}
	if i > 0 && i+1 < len(s) && s[i] == ':' && strings.IndexByte("-=?+", s[i+1]) < 0 {
		return i
	}
	return -1
}

func isNameByte(c byte) bool {
	return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}

func blank(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] != '\n' {
			b[i] = ' '
		}
	}
	for i := range b {
		if b[i] == ' ' {
			b[i] = '0'
			break
		}
	}
	return string(b)
}

// tooDeep returns the line where the text nests deeper than maxNesting, or 0. It ignores quoting, so it may only
// overestimate.
func tooDeep(s string) int {
	if len(s) < maxNesting {
		return 0
	}
	depth, words, run, calls, arith, line := 0, 0, 0, 0, 0, 1
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; ch {
		case '\n':
			line++
			arith = 0
		case '(', '{', '[':
			if ch == '(' && i+1 < len(s) && s[i+1] == ')' {
				calls++
			}
			depth++
		case ')', '}', ']':
			depth = max(depth-1, 0)
		case '`':
			calls++
		case ' ', '\t':
			continue
		case '!', '-', '~', '+':
			if run++; run > maxNesting {
				return line
			}
			continue
		case '=', '?', '&', '|', '*', ',':
			if arith++; arith > 10*maxNesting {
				return line
			}
		case ';':
			calls = 0
		case 'i', 'w', 'u', 'c', 't', 'f', 'd', 'e', 's':
			if i > 0 && isNameByte(s[i-1]) {
				break
			}
			j := i
			for j < len(s) && isNameByte(s[j]) {
				j++
			}
			switch s[i:j] {
			case "if", "while", "until", "case", "time", "function", "for", "coproc", "select", "elif", "else":
				words++
			case "fi", "done", "esac":
				words = max(words-1, 0)
			}
			i = j - 1
		}
		run = 0
		if depth > maxNesting || words > 5*maxNesting || calls > 5*maxNesting {
			return line
		}
	}
	return 0
}
