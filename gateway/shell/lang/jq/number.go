package jq

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// Literal is a number as it was written, when its text says more than the float64 nearest to it: it is printed,
// compared with others and
// negated as a decimal number; everything else uses the float64.
type Literal struct {
	f    float64
	text string // canonical
	dec  decimal
}

// decimal is ±digits × 10^exp; digits have no leading zeros.
type decimal struct {
	neg    bool
	digits string
	exp    int
}

// Float is the nearest float64.
func (l *Literal) Float() float64 { return l.f }

func (l *Literal) String() string { return l.text }

// number is the float64 of a number.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case *Literal:
		return v.f, true
	}
	return 0, false
}

// newNumber is the number that s, which is well formed, writes.
func newNumber(s string, f float64) any {
	if plainNumber(s) || !strings.ContainsAny(s, "0123456789") {
		return f
	}
	d, ok := parseDecimal(s)
	if !ok {
		return f
	}
	if d.digits == "" && d.exp == 0 {
		return f // ±0
	}
	return &Literal{f: f, text: d.String(), dec: d}
}

// plainNumber reports whether the float64 of s is printed as s.
func plainNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	if len(s) > 16 || s == "" || s[0] == '0' && len(s) > 1 && s[1] != '.' {
		return false
	}
	point, digits := -1, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == '.' && point < 0:
			point = i
		default:
			return false
		}
	}
	if digits > 15 || point == 0 {
		return false
	}
	if point < 0 {
		return true
	}
	return s[len(s)-1] != '0' && s[len(s)-1] != '.' && !strings.HasPrefix(s, "0.0000")
}

// maxExponent is that of the decimal arithmetic of jq.
const maxExponent = 999_999_999

func parseDecimal(s string) (decimal, bool) {
	var d decimal
	if s != "" && (s[0] == '-' || s[0] == '+') {
		d.neg = s[0] == '-'
		s = s[1:]
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		n, err := strconv.Atoi(s[i+1:])
		if err != nil || n > maxExponent || n < -maxExponent {
			return d, false
		}
		d.exp, s = n, s[:i]
	}
	if i := strings.IndexByte(s, '.'); i >= 0 {
		d.exp -= len(s) - i - 1
		s = s[:i] + s[i+1:]
	}
	d.digits = strings.TrimLeft(s, "0")
	return d, true
}

// String writes d as the General Decimal Arithmetic specification does: exactly, with an exponent where the point
// would be far away.
func (d decimal) String() string {
	digits := d.digits
	if digits == "" {
		digits = "0"
	}
	var b strings.Builder
	if d.neg {
		b.WriteByte('-')
	}
	adjusted := d.exp + len(digits) - 1
	switch {
	case d.exp <= 0 && adjusted >= -6:
		point := len(digits) + d.exp
		if point <= 0 {
			b.WriteString("0.")
			b.WriteString(strings.Repeat("0", -point))
			b.WriteString(digits)
		} else {
			b.WriteString(digits[:point])
			if d.exp < 0 {
				b.WriteByte('.')
				b.WriteString(digits[point:])
			}
		}
	default:
		b.WriteString(digits[:1])
		if len(digits) > 1 {
			b.WriteByte('.')
			b.WriteString(digits[1:])
		}
		b.WriteByte('E')
		if adjusted >= 0 {
			b.WriteByte('+')
		}
		b.WriteString(strconv.Itoa(adjusted))
	}
	return b.String()
}

func compareLiterals(a, b *Literal) int {
	x, y := a.dec, b.dec
	if x.digits == "" || y.digits == "" || x.neg != y.neg {
		return compareFloats(sign(x), sign(y))
	}
	c := cmp.Compare(x.exp+len(x.digits), y.exp+len(y.digits))
	if c == 0 {
		c = strings.Compare(strings.TrimRight(x.digits, "0"), strings.TrimRight(y.digits, "0"))
	}
	if x.neg {
		c = -c
	}
	return c
}

func sign(d decimal) float64 {
	switch {
	case d.digits == "":
		return 0
	case d.neg:
		return -1
	}
	return 1
}

// negate is -v, of a number.
func negate(v any) any {
	switch v := v.(type) {
	case *Literal:
		d := v.dec
		d.neg = !d.neg && d.digits != ""
		return &Literal{f: -v.f, text: d.String(), dec: d}
	case float64:
		if v == 0 {
			return math.Abs(v)
		}
		return -v
	}
	return v
}
