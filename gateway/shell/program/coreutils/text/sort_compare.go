package text

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"math"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/program"
)

// compareFunc orders lines of text; their places in it make the order total.
func (s *sorter) compareFunc(text []byte) func(x, y sortLine) int {
	if s.plain {
		reverse := s.reverse
		return func(x, y sortLine) int {
			if x.prefix != y.prefix {
				if x.prefix < y.prefix {
					return -1
				}
				return 1
			}
			if x.next != y.next {
				return cmp.Compare(x.next, y.next)
			}
			r := bytes.Compare(text[x.off:x.off+x.size], text[y.off:y.off+y.size])
			if reverse {
				r = -r
			}
			if r == 0 {
				return cmp.Compare(x.off, y.off)
			}
			return r
		}
	}
	first := &s.keys[0]
	isText := first.text()
	return func(x, y sortLine) int {
		if x.prefix != y.prefix {
			if x.prefix < y.prefix {
				return -1
			}
			return 1
		}
		if x.next != y.next {
			return cmp.Compare(x.next, y.next)
		}
		a, b := text[x.off:x.off+x.size], text[y.off:y.off+y.size]
		r := 0
		// Text as short as the prefix is compared already, but for its length: a NUL looks like no character.
		if n := x.end - x.start; !isText || n > 16 || n != y.end-y.start {
			if r = s.compareKey(first, a[x.start:x.end], b[y.start:y.end]); first.reverse {
				r = -r
			}
		}
		if r == 0 && len(s.keys) > 1 {
			r = s.compareKeys(s.keys[1:], a, b)
		}
		if r == 0 && s.lastResort {
			if r = bytes.Compare(a, b); s.reverse {
				r = -r
			}
		}
		if r == 0 {
			return cmp.Compare(x.off, y.off)
		}
		return r
	}
}

// compare is the order that the user asked for, with the last resort.
func (s *sorter) compare(x, y []byte) int {
	if r := s.compareKeys(s.keys, x, y); r != 0 || !s.lastResort {
		return r
	}
	r := bytes.Compare(x, y)
	if s.reverse {
		return -r
	}
	return r
}

func (s *sorter) compareKeys(keys []sortKey, x, y []byte) int {
	if s.plain {
		r := bytes.Compare(x, y)
		if s.reverse {
			return -r
		}
		return r
	}
	for i := range keys {
		k := &keys[i]
		r := s.compareKey(k, s.extract(k, x), s.extract(k, y))
		if r != 0 {
			if k.reverse {
				return -r
			}
			return r
		}
	}
	return 0
}

func (s *sorter) compareKey(k *sortKey, x, y []byte) int {
	switch k.kind {
	case 'n':
		return compareNumeric(x, y)
	case 'g':
		return compareGeneral(x, y)
	case 'h':
		return compareHuman(x, y)
	case 'M':
		return month(x) - month(y)
	}
	if k.dict || k.printing || k.fold {
		if k.kind == 'V' || k.kind == 'R' {
			x, y = k.translate(x), k.translate(y)
		} else {
			return k.compareTranslated(x, y)
		}
	}
	switch k.kind {
	case 'V':
		return program.VersionCompare(x, y)
	case 'R':
		if bytes.Equal(x, y) {
			return 0
		}
		hx, hy := maphash.Bytes(s.seed, x), maphash.Bytes(s.seed, y)
		if hx < hy {
			return -1
		}
		return 1
	}
	return bytes.Compare(x, y)
}

// decimal splits a number as sort -n sees it: optional blanks and minus, digits, fraction.
func decimal(b []byte) (neg bool, whole, frac, rest []byte) {
	b = b[skipBlanks(b, 0):]
	if len(b) > 0 && b[0] == '-' {
		neg, b = true, b[1:]
	}
	n := 0
	for n < len(b) && program.IsDigit(b[n]) {
		n++
	}
	whole, rest = b[:n], b[n:]
	if len(rest) > 0 && rest[0] == '.' {
		n = 1
		for n < len(rest) && program.IsDigit(rest[n]) {
			n++
		}
		frac, rest = rest[1:n], rest[n:]
	}
	for len(whole) > 0 && whole[0] == '0' {
		whole = whole[1:]
	}
	for len(frac) > 0 && frac[len(frac)-1] == '0' {
		frac = frac[:len(frac)-1]
	}
	if len(whole) == 0 && len(frac) == 0 {
		neg = false
	}
	return neg, whole, frac, rest
}

func compareNumeric(x, y []byte) int {
	xn, xw, xf, _ := decimal(x)
	yn, yw, yf, _ := decimal(y)
	if xn != yn {
		if xn {
			return -1
		}
		return 1
	}
	r := len(xw) - len(yw)
	if r == 0 {
		r = bytes.Compare(xw, yw)
	}
	if r == 0 {
		r = bytes.Compare(xf, yf)
	}
	if xn {
		return -r
	}
	return r
}

// unitOrder ranks the suffix of a human number.
func unitOrder(b []byte) int {
	neg, whole, frac, rest := decimal(b)
	order := 0
	if len(rest) > 0 && (len(whole) > 0 || len(frac) > 0) {
		switch rest[0] {
		case 'K', 'k':
			order = 1
		case 'M', 'G', 'T', 'P', 'E', 'Z', 'Y':
			order = strings.IndexByte("MGTPEZY", rest[0]) + 2
		}
	}
	if neg {
		return -order
	}
	return order
}

func compareHuman(x, y []byte) int {
	// A sign or unit decides before the digits.
	if r := unitOrder(x) - unitOrder(y); r != 0 {
		return r
	}
	return compareNumeric(x, y)
}

func month(b []byte) int {
	b = b[skipBlanks(b, 0):]
	if len(b) < 3 {
		return 0
	}
	const names = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"
	var m [3]byte
	for i := range m {
		m[i] = b[i]
		if program.IsAlpha(m[i]) {
			m[i] &^= 0x20
		}
	}
	for i := 0; i < len(names); i += 3 {
		if names[i:i+3] == string(m[:]) {
			return i/3 + 1
		}
	}
	return 0
}

// general reads what strtold would; ok is false when there is no number.
func general(b []byte) (f float64, ok bool) {
	b = b[skipBlanks(b, 0):]
	n := floatLength(b)
	if n == 0 {
		return 0, false
	}
	text := string(b[:n])
	if n > 2 && text[n-1] != '.' && strings.ContainsAny(text, "xX") {
		text += "p0" // ParseFloat wants an exponent after hexadecimal digits
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil || math.IsInf(f, 0)
}

// floatLength is the length of the longest prefix that is a number.
func floatLength(b []byte) int {
	i := 0
	if i < len(b) && (b[i] == '+' || b[i] == '-') {
		i++
	}
	low := bytes.ToLower(b[i:min(len(b), i+8)])
	switch {
	case bytes.HasPrefix(low, []byte("infinity")):
		return i + 8
	case bytes.HasPrefix(low, []byte("inf")), bytes.HasPrefix(low, []byte("nan")):
		return i + 3
	}
	if len(low) > 2 && low[0] == '0' && low[1] == 'x' && program.IsHex(low[2]) {
		for i += 2; i < len(b) && program.IsHex(b[i]); i++ {
		}
		return i
	}
	digits := 0
	for i < len(b) && program.IsDigit(b[i]) {
		i++
		digits++
	}
	if i < len(b) && b[i] == '.' {
		j := i + 1
		for j < len(b) && program.IsDigit(b[j]) {
			j++
			digits++
		}
		if digits > 0 {
			i = j
		}
	}
	if digits == 0 {
		return 0
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		j := i + 1
		if j < len(b) && (b[j] == '+' || b[j] == '-') {
			j++
		}
		if j < len(b) && program.IsDigit(b[j]) {
			for j < len(b) && program.IsDigit(b[j]) {
				j++
			}
			i = j
		}
	}
	return i
}

func compareGeneral(x, y []byte) int {
	a, aok := general(x)
	b, bok := general(y)
	// No number sorts first, then NaN, then numbers.
	rank := func(f float64, ok bool) int {
		switch {
		case !ok:
			return 0
		case math.IsNaN(f):
			return 1
		}
		return 2
	}
	ra, rb := rank(a, aok), rank(b, bok)
	switch {
	case ra != rb:
		return ra - rb
	case ra < 2 || a == b:
		return 0
	case a < b:
		return -1
	}
	return 1
}

// prefix is a number that orders like the first key does, as far as eight bytes can tell.
func (s *sorter) prefix(k *sortKey, key []byte) uint64 {
	var v uint64
	switch {
	case k.kind == 'n':
		v = orderedFloat(approximate(key))
	case k.kind == 'M':
		v = uint64(month(key))
	case k.kind != 0 || k.dict || k.printing:
		return 0
	case k.fold:
		var b [8]byte
		for i, c := range key {
			if i == len(b) {
				break
			}
			b[i] = k.mapped(c)
		}
		v = binary.BigEndian.Uint64(b[:])
	default:
		v = bigEndian(key)
	}
	if k.reverse {
		return ^v
	}
	return v
}

// text reports whether the key is compared byte by byte.
func (k *sortKey) text() bool { return k.kind == 0 && !k.dict && !k.printing && !k.fold }

// textPrefix is the first 16 bytes of a text in a form that compares as numbers.
func textPrefix(b []byte) (first, next uint64) {
	if len(b) <= 8 {
		return bigEndian(b), 0
	}
	return bigEndian(b), bigEndian(b[8:])
}

func bigEndian(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var v uint64
	for i, c := range b {
		v |= uint64(c) << (56 - 8*i)
	}
	return v
}

// approximate is the nearest float of a number; rounding keeps the order.
func approximate(b []byte) float64 {
	neg, whole, frac, _ := decimal(b)
	var f float64
	if len(whole)+len(frac) <= 15 {
		var m uint64
		for _, c := range whole {
			m = m*10 + uint64(c-'0')
		}
		for _, c := range frac {
			m = m*10 + uint64(c-'0')
		}
		f = float64(m)
		if len(frac) > 0 {
			f /= powersOfTen[len(frac)]
		}
	} else {
		// Out of range is infinite, which orders well enough.
		f, _ = strconv.ParseFloat("0"+string(whole)+"."+string(frac), 64)
	}
	if neg {
		return -f
	}
	return f
}

var powersOfTen = func() (t [16]float64) {
	t[0] = 1
	for i := 1; i < len(t); i++ {
		t[i] = t[i-1] * 10
	}
	return t
}()

func orderedFloat(f float64) uint64 {
	if f == 0 {
		f = 0 // no negative zero
	}
	v := math.Float64bits(f)
	if v>>63 != 0 {
		return ^v
	}
	return v | 1<<63
}
