package program

import (
	"math"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// BaseName is the last component of name without trailing slashes; "/" when name
// is slashes only, "" when it is empty.
func BaseName(name string) string {
	trimmed := strings.TrimRight(name, "/")
	if trimmed == "" {
		if name != "" {
			return "/"
		}
		return ""
	}
	return trimmed[strings.LastIndexByte(trimmed, '/')+1:]
}

// DirName is everything before the last component, as dirname(1) has it.
func DirName(name string) string {
	trimmed := strings.TrimRight(name, "/")
	if trimmed == "" {
		if name != "" {
			return "/"
		}
		return "."
	}
	i := strings.LastIndexByte(trimmed, '/')
	if i < 0 {
		return "."
	}
	if d := strings.TrimRight(trimmed[:i], "/"); d != "" {
		return d
	}
	return "/"
}

// EmacsToExtended rewrites Emacs syntax, where groups and alternation have a backslash and
// braces are ordinary, as an extended expression.
func EmacsToExtended(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			if strings.IndexByte("(|)", s[i]) < 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(s[i])
		case strings.IndexByte("(|){}", c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '[':
			j := i + 1
			if j < len(s) && s[j] == '^' {
				j++
			}
			if j < len(s) && s[j] == ']' {
				j++
			}
			for j < len(s) && s[j] != ']' {
				if s[j] == '[' && j+1 < len(s) && s[j+1] == ':' {
					if k := strings.Index(s[j:], ":]"); k > 0 {
						j += k + 1
					}
				}
				j++
			}
			b.WriteString(s[i:min(j+1, len(s))])
			i = j
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// IsSpaceByte is isspace(3) in the C locale; c may be EOF.
func IsSpaceByte(c int) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// WordSet is the set of the words of a text.
func WordSet(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// IsDigit reports whether c is an ASCII digit.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

// AppendSpaces adds n spaces.
func AppendSpaces(b []byte, n int) []byte {
	for ; n > 0; n-- {
		b = append(b, ' ')
	}
	return b
}

// AppendRadix adds u in width digits of bits bits each.
func AppendRadix(out []byte, u uint64, width int, bits uint) []byte {
	for k := width - 1; k >= 0; k-- {
		digit := uint64(0)
		if s := uint(k) * bits; s < 64 {
			digit = u >> s & (1<<bits - 1)
		}
		out = append(out, "0123456789abcdef"[digit])
	}
	return out
}

// ParallelBase is what follows the last slash.
func ParallelBase(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }

// Chomp cuts the delimiter off a line.
func Chomp(line []byte, delim byte) []byte {
	if n := len(line); n > 0 && line[n-1] == delim {
		return line[:n-1]
	}
	return line
}

// CFloat is printf's %e, %f and %g.
func CFloat(verb byte, v float64, prec int, alt bool) string {
	upper := verb >= 'A' && verb <= 'Z'
	verb |= 0x20
	var s string
	switch {
	case math.IsInf(v, 0) || math.IsNaN(v):
		s = strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+"))
	case verb == 'g':
		if prec == 0 {
			prec = 1
		}
		e := strconv.FormatFloat(v, 'e', prec-1, 64)
		x, _ := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:]) // always a number
		if x < -4 || x >= prec {
			s = e
		} else {
			s = strconv.FormatFloat(v, 'f', prec-1-x, 64)
		}
		if !alt && strings.Contains(s, ".") {
			mantissa, exp, has := strings.Cut(s, "e")
			s = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
			if has {
				s += "e" + exp
			}
		}
	default:
		s = strconv.FormatFloat(v, verb, prec, 64)
		if alt && prec == 0 && verb == 'f' {
			s += "."
		}
	}
	if upper {
		s = strings.ToUpper(s)
	}
	return s
}

// IsHex reports whether c is a hexadecimal digit.
func IsHex(c byte) bool { return IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// Blanks is a line of spaces to cut from.
const Blanks = "                                                                "

// WriteSpaces prints n spaces.
func WriteSpaces(p *proc.Process, n int64) {
	for n > 0 {
		k := min(n, int64(len(Blanks)))
		p.Out.WriteString(Blanks[:k])
		n -= k
		p.Tick(1)
	}
}

// VersionCompare orders names with numbers in them, as sort -V and ls -v do.
func VersionCompare[S ~string | ~[]byte](a, b S) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return min(len(a), 1) - min(len(b), 1)
	case a[0] == '.' && b[0] != '.':
		return -1
	case a[0] != '.' && b[0] == '.':
		return 1
	case a[0] == '.':
		// "." and ".." come before other names with a dot.
		ra, rb := dotRank(a), dotRank(b)
		if ra != rb || ra < 2 {
			return ra - rb
		}
	}
	pa, pb := versionPrefix(a), versionPrefix(b)
	if r := versionRunCompare(a[:pa], b[:pb]); r != 0 || pa == len(a) && pb == len(b) {
		return r
	}
	return versionRunCompare(a, b)
}

func dotRank[S ~string | ~[]byte](s S) int {
	switch string(s) {
	case ".":
		return 0
	case "..":
		return 1
	}
	return 2
}

// versionPrefix is the length of s without suffixes like .tar.gz.
func versionPrefix[S ~string | ~[]byte](s S) int {
	prefix := 0
	for i := 0; i < len(s); {
		i++
		prefix = i
		for i+1 < len(s) && s[i] == '.' && (IsAlpha(s[i+1]) || s[i+1] == '~') {
			for i += 2; i < len(s) && (IsAlpha(s[i]) || IsDigit(s[i]) || s[i] == '~'); i++ {
			}
		}
	}
	return prefix
}

// IsAlpha reports whether c is an ASCII letter.
func IsAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func versionRunCompare[S ~string | ~[]byte](a, b S) int {
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		for i < len(a) && !IsDigit(a[i]) || j < len(b) && !IsDigit(b[j]) {
			x, y := versionOrder(a, i), versionOrder(b, j)
			if x != y {
				return x - y
			}
			i++
			j++
		}
		for i < len(a) && a[i] == '0' {
			i++
		}
		for j < len(b) && b[j] == '0' {
			j++
		}
		diff := 0
		for i < len(a) && j < len(b) && IsDigit(a[i]) && IsDigit(b[j]) {
			if diff == 0 {
				diff = int(a[i]) - int(b[j])
			}
			i++
			j++
		}
		switch {
		case i < len(a) && IsDigit(a[i]):
			return 1
		case j < len(b) && IsDigit(b[j]):
			return -1
		case diff != 0:
			return diff
		}
	}
	return 0
}

func versionOrder[S ~string | ~[]byte](s S, i int) int {
	switch {
	case i >= len(s):
		return -1
	case IsDigit(s[i]):
		return 0
	case IsAlpha(s[i]):
		return int(s[i])
	case s[i] == '~':
		return -2
	}
	return int(s[i]) + 256
}
