package grep

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/text/regex"
)

// compile makes the one expression of all patterns.
func (g *rgRun) compile(patterns []string) {
	fold := g.ignoreCase
	if g.smartCase {
		fold = !slices.ContainsFunc(patterns, hasUpper)
		letters := slices.ContainsFunc(patterns, func(s string) bool { return strings.ContainsFunc(s, unicode.IsLetter) })
		fold = fold && letters
	}
	parts := make([]string, 0, len(patterns))
	for _, src := range patterns {
		src = strings.TrimSuffix(src, "\n")
		if !g.fixed && !g.perl {
			src = g.rustSyntax(src)
		}
		if g.fixed {
			parts = append(parts, quoteMeta(src))
			continue
		}
		if !g.perl {
			g.check(src)
		}
		parts = append(parts, src)
	}
	src := ""
	switch len(parts) {
	case 0:
		src = `[^\s\S]`
	case 1:
		src = parts[0]
	default:
		src = "(?:" + strings.Join(parts, ")|(?:") + ")"
	}
	if len(src) <= maxRgParsed {
		if t, err := syntax.Parse(src, syntax.Perl|syntax.UnicodeGroups); err == nil {
			g.names = t.CapNames()
		}
	}
	flags := ""
	if g.multiline {
		flags = "m"
		if g.dotAll {
			flags += "s"
		}
	}
	if flags != "" {
		src = "(?" + flags + ")" + src
		if g.line {
			src = "(?" + flags + ")^(?:" + src + ")$"
		}
	}
	re, err := regex.Compile(src, regex.Options{Perl: true, IgnoreCase: fold, WholeWord: g.word,
		WholeLine: g.line && !g.multiline, Unicode: !g.ascii, Bytes: g.ascii})
	if err != nil {
		g.fail("%s", g.parseError(patterns[0], err.Error()))
	}
	re.SetTick(g.p.Tick)
	g.re = re
}

// maxRgParsed bounds the patterns that Go's parser reads, for their names and what is wrong with them: it cannot be
// ended.
const maxRgParsed = 64 << 10

// rustSyntax writes what only Rust's regular expressions have in the way that Go's and Perl's have it, too.
func (g *rgRun) rustSyntax(src string) string {
	if rest, ok := strings.CutPrefix(src, "(?-u)"); ok {
		src, g.ascii = rest, true
	} else {
		src = strings.TrimPrefix(src, "(?u)")
	}
	if !strings.Contains(src, `\u`) && !strings.Contains(src, `\U`) {
		return src
	}
	return rustEscape.ReplaceAllStringFunc(src, func(s string) string {
		if s[1] != 'u' && s[1] != 'U' {
			return s
		}
		return `\x{` + strings.Trim(s[2:], "{}") + "}"
	})
}

// rustEscape is any escape: \u{e9}, \u00e9 and \U000000e9, or a backslash with what follows it.
var rustEscape = regexp.MustCompile(`(?s)\\(?:[uU]\{[0-9A-Fa-f]+\}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)`)

func quoteMeta(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(`\.+*?()|[]{}^$`, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// hasUpper reports whether a pattern has an upper-case letter that is not part of an escape.
func hasUpper(s string) bool {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == '\\' && i+1 < len(s) {
			if (s[i+1] == 'p' || s[i+1] == 'P') && strings.HasPrefix(s[i+2:], "{") {
				if j := strings.IndexByte(s[i:], '}'); j > 0 {
					i += j + 1
					continue
				}
			}
			i += 2
			continue
		}
		if unicode.IsUpper(r) {
			return true
		}
		i += n
	}
	return false
}

// check refuses what rg's own regular expressions do not have.
func (g *rgRun) check(src string) {
	hint := "\n\nConsider enabling PCRE2 with the --pcre2 flag, which can handle backreferences\nand look-around."
	inSet := false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '\\' && i+1 < len(src):
			i++
			switch {
			case inSet:
			case src[i] >= '1' && src[i] <= '9':
				g.fail("%s%s", rgParseError(src, i-1, 2, "backreferences are not supported"), hint)
			case src[i] == 'n' && !g.multiline:
				g.fail("the literal '\"\\n\"' is not allowed in a regex\n\nConsider enabling multiline mode with the --multiline flag (or -U for short).\nWhen multiline mode is enabled, new line characters can be matched.")
			}
		case c == '[' && !inSet:
			inSet = true
			if strings.HasPrefix(src[i+1:], "^]") {
				i += 2
			} else if strings.HasPrefix(src[i+1:], "]") {
				i++
			}
		case c == ']':
			inSet = false
		case c == '(' && !inSet:
			for _, look := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
				if strings.HasPrefix(src[i:], look) {
					g.fail("%s%s", rgParseError(src, i, len(look),
						"look-around, including look-ahead and look-behind, is not supported"), hint)
				}
			}
		}
	}
	if len(src) > maxRgParsed {
		return
	}
	_, err := syntax.Parse(src, syntax.Perl|syntax.UnicodeGroups)
	var e *syntax.Error
	if !errors.As(err, &e) {
		return
	}
	at, width := max(strings.Index(src, e.Expr), 0), 1
	msg := string(e.Code)
	switch e.Code {
	case syntax.ErrMissingParen:
		msg = "unclosed group"
		at = strings.LastIndexByte(src, '(')
	case syntax.ErrUnexpectedParen:
		msg = "unopened group"
		at = strings.LastIndexByte(src, ')')
	case syntax.ErrMissingBracket:
		msg = "unclosed character class"
	case syntax.ErrMissingRepeatArgument:
		msg = "repetition operator missing expression"
	case syntax.ErrTrailingBackslash:
		msg = "incomplete escape sequence, reached end of pattern prematurely"
		at = len(src) - 1
	case syntax.ErrInvalidEscape:
		msg, width = "unrecognized escape sequence", 2
	case syntax.ErrInvalidCharRange:
		msg, width = "invalid character class range, the start must be <= the end", len(e.Expr)
		if strings.HasPrefix(e.Expr, `\p`) || strings.HasPrefix(e.Expr, `\P`) {
			msg = "Unicode property not found"
		}
	case syntax.ErrInvalidRepeatOp, syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrNestingDepth:
		return // Go's limits: the other engine may take it
	}
	g.fail("%s", rgParseError(src, max(at, 0), width, msg))
}

func rgParseError(src string, at, width int, msg string) string {
	return fmt.Sprintf("regex parse error:\n    %s\n    %s%s\nerror: %s", src,
		strings.Repeat(" ", utf8.RuneCountInString(src[:at])), strings.Repeat("^", width), msg)
}

func (g *rgRun) parseError(src, msg string) string {
	if g.perl {
		return "PCRE2: error compiling pattern: " + msg
	}
	return rgParseError(src, 0, 1, msg)
}
