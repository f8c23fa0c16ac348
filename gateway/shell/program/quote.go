package program

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote is how GNU tools show a word in a message: ‘x’, with control characters escaped.
func Quote(s string) string {
	var b strings.Builder
	b.WriteString("‘")
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if e := CEscape(s[i]); e != "" && n == 1 {
			b.WriteString(e)
		} else if r == '’' {
			b.WriteString(`\’`)
		} else if (r == utf8.RuneError && n == 1) || !unicode.IsPrint(r) {
			for _, c := range []byte(s[i : i+n]) {
				fmt.Fprintf(&b, "\\%03o", c)
			}
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	b.WriteString("’")
	return b.String()
}

// CEscape is the C escape of c, "" when it has none.
func CEscape(c byte) string {
	switch c {
	case '\a':
		return `\a`
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	case '\v':
		return `\v`
	case '\\':
		return `\\`
	}
	return ""
}

// QuoteName is how GNU tools show a file name in a message: 'x', quoted for the shell.
func QuoteName(s string) string { return ShellQuote(s, true) }

// QuoteColon is quoteName for messages of the form "name: text": quoted only when it has to be,
// which includes a colon.
func QuoteColon(s string) string {
	if strings.Contains(s, ":") {
		return ShellQuote(s, true)
	}
	return ShellQuote(s, false)
}

// ShellQuote quotes s so that a shell reads it back as one word, with
// $'…' for what cannot be printed. Without always it leaves plain words alone.
func ShellQuote(s string, always bool) string {
	const special = "!\"#$&'()*;<=>?[\\^`{|}~ \t\n\v\f\r"
	plain, printable, single := s != "", true, false
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case (r == utf8.RuneError && n == 1) || !unicode.IsPrint(r):
			plain, printable = false, false
		case r == '\'':
			plain, single = false, true
		case r == '#' || r == '~':
			if i == 0 {
				plain = false
			}
		case r == '{' || r == '}':
			if len(s) == 1 {
				plain = false
			}
		case r < utf8.RuneSelf && strings.IndexByte(special, byte(r)) >= 0:
			plain = false
		}
		i += n
	}
	if plain && !always {
		return s
	}
	if printable && single && !strings.ContainsAny(s, "\"$`\\!") {
		return `"` + s + `"`
	}
	var b strings.Builder
	b.WriteByte('\'')
	escaped := false // inside $'…'
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		bad := (r == utf8.RuneError && n == 1) || !unicode.IsPrint(r)
		if bad && !escaped {
			b.WriteString(`'$'`)
			escaped = true
		}
		switch {
		case bad:
			for _, c := range []byte(s[i : i+n]) {
				if e := CEscape(c); e != "" {
					b.WriteString(e)
				} else {
					fmt.Fprintf(&b, "\\%03o", c)
				}
			}
		case r == '\'':
			if escaped {
				b.WriteString(`'\'''`)
				escaped = false
			} else {
				b.WriteString(`'\''`)
			}
		default:
			if escaped {
				b.WriteString(`''`)
				escaped = false
			}
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	b.WriteByte('\'')
	return b.String()
}
