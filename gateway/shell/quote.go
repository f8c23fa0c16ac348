package shell

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ansiC decodes the inside of $'…'.
func ansiC(s string) string {
	out, _ := backslashes(s, escANSI)
	return out
}

type escapeMode int

const (
	escANSI   escapeMode = iota // $'…'
	escEcho                     // echo -e: \0nnn
	escDash                     // echo of sh
	escB                        // printf %b: \0nnn and \nnn
	escFormat                   // a printf format
)

// backslashes decodes escape sequences; stop is set when \c ended the output.
func backslashes(s string, mode escapeMode) (out string, stop bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, false
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' || i+1 >= len(s) {
			b = append(b, c)
			continue
		}
		i++
		switch c = s[i]; c {
		case 'a':
			b = append(b, 7)
		case 'b':
			b = append(b, 8)
		case 'e':
			b = append(b, 27)
		case 'f':
			b = append(b, 12)
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'v':
			b = append(b, 11)
		case '\\':
			b = append(b, '\\')
		case '\'', '"', '?':
			if mode == escEcho || mode == escB || mode == escDash {
				b = append(b, '\\')
			}
			b = append(b, c)
		case 'x', 'u', 'U', 'E':
			if mode == escDash {
				b = append(b, '\\', c)
				continue
			}
			switch c {
			case 'E':
				b = append(b, 27)
				continue
			case 'u', 'U':
				width := 4
				if c == 'U' {
					width = 8
				}
				n, v := digits(s[i+1:], 16, width)
				if n == 0 {
					b = append(b, '\\', c)
					continue
				}
				i += n
				b = appendWide(b, v)
				continue
			}
			if mode == escANSI && strings.HasPrefix(s[i+1:], "{") {
				n, v := digits(s[i+2:], 16, len(s))
				if i += n + 1; i+1 < len(s) && s[i+1] == '}' {
					i++
				}
				if n > 0 {
					b = append(b, byte(v))
				} else {
					b = append(b, 0)
				}
				continue
			}
			n, v := digits(s[i+1:], 16, 2)
			if n == 0 {
				b = append(b, '\\', 'x')
				continue
			}
			i += n
			b = append(b, byte(v))
		case '0', '1', '2', '3', '4', '5', '6', '7':
			max := 3
			switch {
			case mode == escEcho && c != '0':
				b = append(b, '\\', c)
				continue
			case mode != escANSI && mode != escFormat && c == '0':
				n, v := digits(s[i+1:], 8, 3)
				i += n
				b = append(b, byte(v))
				continue
			}
			n, v := digits(s[i:], 8, max)
			i += n - 1
			b = append(b, byte(v))
		case 'c':
			if mode == escANSI {
				if i+1 < len(s) {
					i++
					b = append(b, s[i]&0x1f)
				}
				continue
			}
			if mode == escFormat {
				b = append(b, '\\', 'c')
				continue
			}
			return string(b), true
		default:
			b = append(b, '\\', c)
		}
	}
	if mode == escANSI {
		if i := strings.IndexByte(string(b), 0); i >= 0 {
			b = b[:i]
		}
	}
	return string(b), false
}

// appendWide appends a code point as UTF-8, also where Go would refuse it.
func appendWide(b []byte, v uint64) []byte {
	if v <= unicode.MaxRune && (v < 0xD800 || v > 0xDFFF) {
		return utf8.AppendRune(b, rune(v))
	}
	switch {
	case v < 0x10000:
		return append(b, 0xE0|byte(v>>12), 0x80|byte(v>>6)&0x3f, 0x80|byte(v)&0x3f)
	case v < 0x200000:
		return append(b, 0xF0|byte(v>>18), 0x80|byte(v>>12)&0x3f, 0x80|byte(v>>6)&0x3f, 0x80|byte(v)&0x3f)
	}
	return b
}

func digits(s string, base uint64, max int) (n int, v uint64) {
	for n < len(s) && n < max {
		c := s[n]
		var d uint64
		switch {
		case '0' <= c && c <= '9':
			d = uint64(c - '0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			d = uint64(c|0x20-'a') + 10
		default:
			return n, v
		}
		if d >= base {
			return n, v
		}
		v = v*base + d
		n++
	}
	return n, v
}

// needsANSI reports whether s holds what only $'…' can show: control characters and invalid UTF-8.
func needsANSI(s string) bool {
	for i := 0; i < len(s); {
		c := s[i]
		if c < 0x80 {
			if c < 0x20 || c == 0x7f {
				return true
			}
			i++
			continue
		}
		r, w := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && w == 1 || !unicode.IsPrint(r) && !unicode.IsSpace(r) &&
			!unicode.In(r, unicode.Cf, unicode.Co) {
			return true
		}
		i += w
	}
	return false
}

// printable is how a name is shown in a message.
func printable(name string) string {
	if needsANSI(name) {
		return ansiQuote(name)
	}
	return name
}

// ansiQuote writes s as $'…'.
func ansiQuote(s string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x80 {
			r, w := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && w == 1 || !unicode.IsPrint(r) && !unicode.IsSpace(r) &&
				!unicode.In(r, unicode.Cf, unicode.Co) {
				for k := 0; k < w; k++ {
					fmt.Fprintf(&b, "\\%03o", s[i+k])
				}
			} else {
				b.WriteString(s[i : i+w])
			}
			i += w
			continue
		}
		switch c {
		case 27:
			b.WriteString(`\E`)
		case 7:
			b.WriteString(`\a`)
		case 8:
			b.WriteString(`\b`)
		case 12:
			b.WriteString(`\f`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case 11:
			b.WriteString(`\v`)
		case '\\':
			b.WriteString(`\\`)
		case '\'':
			b.WriteString(`\'`)
		default:
			if c < 0x20 || c == 0x7f {
				fmt.Fprintf(&b, "\\%03o", c)
			} else {
				b.WriteByte(c)
			}
		}
		i++
	}
	b.WriteByte('\'')
	return b.String()
}

func singleQuote(s string) string {
	if s == "'" {
		return `\'`
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// quoteReusable is what ${x@Q} and set print: single quotes, or $'…' where needed.
func quoteReusable(s string) string {
	if s == "" {
		return "''"
	}
	if needsANSI(s) {
		return ansiQuote(s)
	}
	return singleQuote(s)
}

// quoteDouble is what declare -p prints.
func quoteDouble(s string) string {
	if needsANSI(s) {
		return ansiQuote(s)
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		if strings.IndexByte("$`\"\\", s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	b.WriteByte('"')
	return b.String()
}

// quoteBackslash is what printf %q prints.
func quoteBackslash(s string) string {
	if s == "" {
		return "''"
	}
	if needsANSI(s) {
		return ansiQuote(s)
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if strings.IndexByte(" \t\n'\"\\|&;()<>!{}*[]?^$`,", c) >= 0 || c == '#' && i == 0 ||
			c == '~' && (i == 0 || s[i-1] == '=' || s[i-1] == ':') {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// hasShellMeta reports whether set -x and set quote s.
func hasShellMeta(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if strings.IndexByte(" \t\n'\"\\|&;()<>!{}*[]?^$`", c) >= 0 {
			return true
		}
		if c == '~' && (i == 0 || s[i-1] == '=' || s[i-1] == ':') {
			return true
		}
		if c == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t') {
			return true
		}
	}
	return false
}

// traceQuote is a word as set -x shows it.
func traceQuote(s string) string {
	switch {
	case s == "":
		return "''"
	case hasShellMeta(s):
		return singleQuote(s)
	case needsANSI(s):
		return ansiQuote(s)
	}
	return s
}
