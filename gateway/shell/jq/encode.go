package jq

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// Style is how values are printed.
type Style struct {
	Indent string // "": on one line
	Sort   bool   // keys in byte order
	ASCII  bool
	Color  *Palette // nil: none
}

// The colours of values, in the order of JQ_COLORS.
const (
	ofNull = iota
	ofFalse
	ofTrue
	ofNumber
	ofString
	ofArray
	ofObject
)

// Palette is the escape sequences of the colours.
type Palette [ofObject + 1]string

const (
	colKey   = "\x1b[34;1m"
	colReset = "\x1b[0m"
)

// NewPalette reads JQ_COLORS: the parameters of the escape sequences of null, false, true, numbers, strings, arrays and objects, with colons between
// them. What is not given keeps jq's colour; ok is false when the text is malformed, and then nothing of it counts.
func NewPalette(spec string) (*Palette, bool) {
	usual := &Palette{"\x1b[1;30m", "\x1b[0;39m", "\x1b[0;39m", "\x1b[0;39m", "\x1b[0;32m", "\x1b[1;39m", "\x1b[1;39m"}
	p := *usual
	for i := 0; i < len(p) && spec != ""; i++ {
		n := 0
		for n < len(spec) && (spec[n] >= '0' && spec[n] <= '9' || spec[n] == ';') {
			n++
		}
		if n < len(spec) && spec[n] != ':' {
			return usual, false
		}
		p[i] = "\x1b[" + spec[:n] + "m"
		spec = spec[min(n+1, len(spec)):]
	}
	return &p, true
}

// Append appends the text of v to b.
func (s Style) Append(b []byte, v any) []byte {
	if s.Color != nil {
		return s.colored(b, v, 0)
	}
	return s.plain(b, v, 0)
}

func (s Style) newline(b []byte, depth int) []byte {
	if s.Indent == "" {
		return b
	}
	b = append(b, '\n')
	for range depth {
		b = append(b, s.Indent...)
	}
	return b
}

func (s Style) plain(b []byte, v any, depth int) []byte {
	switch v := v.(type) {
	case *Array:
		if len(v.e) == 0 {
			return append(b, "[]"...)
		}
		b = append(b, '[')
		for i, e := range v.e {
			if i > 0 {
				b = append(b, ',')
			}
			b = s.newline(b, depth+1)
			b = s.plain(b, e, depth+1)
		}
		b = s.newline(b, depth)
		return append(b, ']')
	case *Object:
		if len(v.keys) == 0 {
			return append(b, "{}"...)
		}
		b = append(b, '{')
		var at []int
		if s.Sort {
			at = v.sorted()
		}
		for i := range v.keys {
			if i > 0 {
				b = append(b, ',')
			}
			k := i
			if at != nil {
				k = at[i]
			}
			b = s.newline(b, depth+1)
			b = s.quote(b, v.keys[k])
			b = append(b, ':')
			if s.Indent != "" {
				b = append(b, ' ')
			}
			b = s.plain(b, v.vals[k], depth+1)
		}
		b = s.newline(b, depth)
		return append(b, '}')
	}
	return s.scalar(b, v)
}

func (s Style) scalar(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case float64:
		return appendNumber(b, v)
	case string:
		return s.quote(b, v)
	}
	return b
}

// colored lays the escape sequences where jq 1.6 puts them.
func (s Style) colored(b []byte, v any, depth int) []byte {
	switch v := v.(type) {
	case *Array:
		b = append(b, s.Color[ofArray]...)
		if len(v.e) == 0 {
			b = append(b, "[]"...)
			return append(b, colReset...)
		}
		b = append(b, '[')
		for i, e := range v.e {
			if i > 0 {
				b = append(b, s.Color[ofArray]...)
				b = append(b, ',')
			}
			b = s.newline(b, depth+1)
			b = s.colored(b, e, depth+1)
		}
		b = append(b, s.Color[ofArray]...)
		b = s.newline(b, depth)
		b = append(b, s.Color[ofArray]...)
		b = append(b, ']')
		return append(b, colReset...)
	case *Object:
		b = append(b, s.Color[ofObject]...)
		if len(v.keys) == 0 {
			b = append(b, "{}"...)
			return append(b, colReset...)
		}
		b = append(b, '{')
		var at []int
		if s.Sort {
			at = v.sorted()
		}
		for i := range v.keys {
			k := i
			if at != nil {
				k = at[i]
			}
			if i > 0 {
				b = append(b, s.Color[ofObject]...)
				b = append(b, ',')
			}
			b = s.newline(b, depth+1)
			b = append(b, colReset...)
			b = append(b, colKey...)
			b = s.quote(b, v.keys[k])
			b = append(b, colReset...)
			b = append(b, s.Color[ofObject]...)
			b = append(b, ':')
			if s.Indent != "" {
				b = append(b, ' ')
			}
			b = append(b, colReset...)
			b = s.colored(b, v.vals[k], depth+1)
		}
		b = append(b, s.Color[ofObject]...)
		b = s.newline(b, depth)
		b = append(b, s.Color[ofObject]...)
		b = append(b, '}')
		return append(b, colReset...)
	}
	col := s.Color[ofNull]
	switch v := v.(type) {
	case bool:
		col = s.Color[ofFalse]
		if v {
			col = s.Color[ofTrue]
		}
	case float64:
		col = s.Color[ofNumber]
	case string:
		col = s.Color[ofString]
	}
	b = append(b, col...)
	b = s.scalar(b, v)
	return append(b, colReset...)
}

const hexDigits = "0123456789abcdef"

func (s Style) quote(b []byte, t string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(t); {
		c := t[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < 0x7f {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(t[i:])
			switch {
			case r == utf8.RuneError && n == 1:
				b = append(b, t[from:i]...)
				b = append(b, "\uFFFD"...)
				from = i + 1
			case s.ASCII:
				b = append(b, t[from:i]...)
				if r > 0xffff {
					r -= 0x10000
					b = appendU(b, 0xd800+r>>10)
					r = 0xdc00 + r&0x3ff
				}
				b = appendU(b, r)
				from = i + n
			}
			i += n
			continue
		}
		b = append(b, t[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		default:
			b = appendU(b, rune(c))
		}
		i++
		from = i
	}
	b = append(b, t[from:]...)
	return append(b, '"')
}

func appendU(b []byte, r rune) []byte {
	return append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// appendNumber prints the shortest digits that give f back; infinities as the largest numbers, NaN as null.
func appendNumber(b []byte, f float64) []byte {
	switch {
	case f != f:
		return append(b, "null"...)
	case f > math.MaxFloat64:
		f = math.MaxFloat64
	case f < -math.MaxFloat64:
		f = -math.MaxFloat64
	case f == 0:
		if math.Signbit(f) {
			b = append(b, '-')
		}
		return append(b, '0')
	}
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.AppendInt(b, int64(f), 10)
	}
	var buf [32]byte
	t := strconv.AppendFloat(buf[:0], f, 'e', -1, 64) // d.ddde±xx
	e := len(t) - 1
	for t[e] != 'e' {
		e--
	}
	exp, _ := strconv.Atoi(string(t[e+1:]))
	digits := e
	if t[0] == '-' {
		digits--
	}
	if digits > 1 {
		digits-- // the point
	}
	if point := exp + 1; point <= -4 || point > digits+15 {
		return append(b, t...)
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64)
}

// text is v as compact JSON.
func text(v any) string { return string(Style{}.Append(nil, v)) }
