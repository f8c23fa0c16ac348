package awk

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

type kind uint8

const (
	kUninit  kind = iota
	kNum          // n
	kStr          // s
	kInput        // s from outside: a number if it looks like one, not examined yet
	kStrnum       // s and n
	kMissing      // a field beyond the last: uninitialised, but compared as a string
	kRegex        // s is a strongly typed regexp, @/s/
	kNull         // uninitialised and used as a scalar: it cannot become an array any more
)

// value is an awk value. The zero value is the uninitialised one.
type value struct {
	s    string
	n    float64
	k    kind
	view bool // s is part of a larger string: clone before keeping
}

func num(f float64) value  { return value{n: f, k: kNum} }
func str(s string) value   { return value{s: s, k: kStr} }
func input(s string) value { return value{s: s, k: kInput} }

// text reports whether a settled value is compared as a string.
func (v *value) text() bool { return v.k == kStr || v.k == kMissing || v.k == kRegex }

func boolean(b bool) value {
	if b {
		return value{n: 1, k: kNum}
	}
	return value{k: kNum}
}

// settle decides whether a value from outside is a number.
func (v *value) settle() {
	if f, ok := looksNumeric(v.s); ok {
		v.n, v.k = f, kStrnum
	} else {
		v.k = kStr
	}
}

func (v *value) num() float64 {
	switch v.k {
	case kNum, kStrnum:
		return v.n
	case kInput:
		if f, ok := looksNumeric(v.s); ok {
			v.n, v.k = f, kStrnum
			return f
		}
		v.k = kStr
		fallthrough
	case kStr, kRegex:
		f, _ := parsePrefix(v.s)
		return f
	}
	return 0
}

func (v *value) truth() bool {
	switch v.k {
	case kInput:
		v.settle()
		return v.truth()
	case kNum, kStrnum:
		return v.n != 0
	case kStr, kRegex:
		return v.s != ""
	}
	return false
}

var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// parsePrefix reads the decimal number s begins with, after white space; n is how much
// of s that took, 0 when s does not begin with a number.
func parsePrefix(s string) (f float64, n int) {
	i := 0
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	from := i
	neg := false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		neg = s[i] == '-'
		i++
	}
	var mant uint64
	digits, scale := 0, 0
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		if digits < 19 {
			mant = mant*10 + uint64(s[i]-'0')
		}
		if mant != 0 {
			digits++
		}
		n = i + 1
	}
	if i < len(s) && s[i] == '.' {
		i++
		for ; i < len(s) && s[i]-'0' <= 9; i++ {
			if digits < 19 {
				mant = mant*10 + uint64(s[i]-'0')
				scale--
			}
			if mant != 0 {
				digits++
			}
			n = i + 1
		}
		if n == i-1 && n > 0 {
			n = i // "5."
		}
	}
	if n == 0 {
		if neg || from < len(s) && s[from] == '+' {
			return signedSpecial(s, from)
		}
		return 0, 0
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		eneg := false
		if j < len(s) && (s[j] == '-' || s[j] == '+') {
			eneg = s[j] == '-'
			j++
		}
		if j < len(s) && s[j]-'0' <= 9 {
			e := 0
			for ; j < len(s) && s[j]-'0' <= 9; j++ {
				if e < 100000 {
					e = e*10 + int(s[j]-'0')
				}
			}
			n = j
			if eneg {
				e = -e
			}
			scale += e
		}
	}
	if digits < 19 && mant < 1<<53 && scale >= -22 && scale <= 22 {
		f = float64(mant)
		if scale < 0 {
			f /= pow10[-scale]
		} else {
			f *= pow10[scale]
		}
		if neg {
			f = -f
		}
		return f, n
	}
	f, _ = strconv.ParseFloat(s[from:n], 64) // out of range gives ±Inf or 0
	return f, n
}

// signedSpecial accepts +inf, -inf, +nan and -nan, as gawk does, when nothing else follows.
func signedSpecial(s string, from int) (float64, int) {
	if len(s) < from+4 {
		return 0, 0
	}
	if len(s) > from+4 && !isSpace(s[from+4]) {
		return 0, 0
	}
	sign := 1.0
	if s[from] == '-' {
		sign = -1
	}
	switch strings.ToLower(s[from+1 : from+4]) {
	case "inf":
		return math.Inf(int(sign)), from + 4
	case "nan":
		return math.Copysign(math.NaN(), sign), from + 4
	}
	return 0, 0
}

// looksNumeric reports whether all of s, white space around it aside, is a decimal number.
func looksNumeric(s string) (float64, bool) {
	// Almost every field that is not a number shows it in its first byte.
	if s == "" || s[0] > '9' {
		return 0, false
	}
	f, n := parsePrefix(s)
	if n == 0 {
		return 0, false
	}
	for ; n < len(s); n++ {
		if !isSpace(s[n]) {
			return 0, false
		}
	}
	return f, true
}

// smallInts are the decimal texts of the numbers programs print and index with most.
var smallInts = func() (t [1000]string) {
	for i := range t {
		t[i] = strconv.Itoa(i)
	}
	return
}()

// appendNum appends f as print and string conversion show it: integers in full, everything else by format.
func (in *interp) appendNum(b []byte, f float64, format string) []byte {
	if f == math.Trunc(f) {
		if math.Abs(f) < 1e18 {
			return strconv.AppendInt(b, int64(f), 10)
		}
		if !math.IsInf(f, 0) {
			i, _ := big.NewFloat(f).Int(nil)
			return i.Append(b, 10)
		}
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return in.appendSpecial(b, f)
	}
	if format == "%.6g" {
		return appendG(b, f, 6, false, 'e')
	}
	return in.sprintf(b, format, []value{num(f)})
}

func (in *interp) numStr(f float64, format string) string {
	if f >= 0 && f < float64(len(smallInts)) && f == math.Trunc(f) {
		return smallInts[int(f)]
	}
	var buf [40]byte
	return string(in.appendNum(buf[:0], f, format))
}

// appendSpecial appends an infinity or NaN.
func (in *interp) appendSpecial(b []byte, f float64) []byte {
	switch {
	case math.Signbit(f):
		b = append(b, '-')
	default:
		b = append(b, '+')
	}
	if math.IsNaN(f) {
		return append(b, "nan"...)
	}
	return append(b, "inf"...)
}

// str is the string value.
func (in *interp) str(v value) string {
	switch v.k {
	case kUninit:
		return ""
	case kNum:
		return in.numStr(v.n, in.convfmt)
	}
	return v.s
}

// compare orders two values: as numbers when both are or look like numbers, else as strings.
func (in *interp) compare(a, b *value) int {
	if a.k == kInput {
		a.settle()
	}
	if b.k == kInput {
		b.settle()
	}
	if !a.text() && !b.text() {
		switch {
		case a.n < b.n:
			return -1
		case a.n > b.n:
			return 1
		case a.n == b.n:
			return 0
		}
		// NaN: greater than everything but itself, so that sorting ends.
		switch {
		case math.IsNaN(a.n) && math.IsNaN(b.n):
			return 0
		case math.IsNaN(a.n):
			return 1
		}
		return -1
	}
	x, y := in.str(*a), in.str(*b)
	if in.ignoreCase {
		x, y = strings.ToLower(x), strings.ToLower(y)
	}
	return strings.Compare(x, y)
}
