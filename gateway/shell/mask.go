package shell

import (
	"errors"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// missing finds what the parser, unlike bash, cannot do without before the place of err: where it goes and what it is; -1 when there is nothing.
func missing(src string, err error, patterns bool) (at int, text string) {
	if at := subshells(src, err); at >= 0 {
		return at, " " // "((" may also begin two subshells; the parser only tries arithmetic
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

// negatedSubshell finds the parenthesis of "!(…)" where a command begins, which the parser takes for a pattern and the compiler has refused.
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

// joinOperator moves the continued line ends within the operator around offset at behind it: the parser reads an operator in one piece only.
func joinOperator(s string, at int) string {
	const operator = "&|<>;-("
	first := min(at, len(s))
	for first > 0 && strings.IndexByte("&|<>;$", s[first-1]) >= 0 {
		first--
	}
	for strings.HasSuffix(s[:first], "\\\n") { // at is behind the line's end
		first -= 2
	}
	if first > 0 && first < len(s) && s[first] == '\\' {
		first--
	}
	end := first
	for end < len(s) && strings.IndexByte("&|<>;$", s[end]) >= 0 {
		end++
	}
	rest := s[end:]
	tail := rest
	for strings.HasPrefix(tail, "\\\n") {
		tail = tail[2:]
	}
	n := 0
	for n < len(tail) && n < 2 && strings.IndexByte(operator, tail[n]) >= 0 {
		n++
	}
	if end == first || len(tail) == len(rest) || n == 0 {
		return ""
	}
	return s[:end] + tail[:n] + rest[:len(rest)-len(tail)] + tail[n:]
}

// maskDelimiter makes a word of the expansion at offset at that is the delimiter of a here-document, which bash does not expand, and of the line that
// ends it.
func maskDelimiter(s string, at int) string {
	before := strings.TrimRight(s[:min(at, len(s))], " \t")
	if !strings.HasSuffix(before, "<<") && !strings.HasSuffix(before, "<<-") {
		return ""
	}
	end := at
	for end < len(s) && strings.IndexByte(" \t\n;&|<>", s[end]) < 0 {
		if s[end] == '(' || s[end] == '{' {
			end = skipNest(s, end)
		}
		end++
	}
	if end >= len(s) || end == at {
		return ""
	}
	delim := s[at:end]
	if strings.ContainsAny(delim, "'\"\\\n") || strings.Trim(delim, "_") == "" {
		return ""
	}
	name := strings.Repeat("_", len(delim))
	line := end
	for {
		k := strings.IndexByte(s[line:], '\n')
		if k < 0 {
			return s[:at] + name + s[end:]
		}
		line += k + 1
		text, _, _ := strings.Cut(s[line:], "\n")
		if strings.HasSuffix(before, "-") {
			text = strings.TrimLeft(text, "\t")
		}
		if text == delim {
			from := line + strings.Index(s[line:], delim)
			return s[:at] + name + s[end:from] + name + s[from+len(delim):]
		}
	}
}
