package jq

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// Style is how values are printed.
type Style struct {
	Indent string // "": on one line
	Lines  bool   // on several lines, even without Indent
	Sort   bool   // keys in byte order
	ASCII  bool
	Color  *Palette // nil: none

	limit int       // when not 0, about how many bytes are wanted
	tick  func(int) // may be nil
	hold  func(int) // may be nil
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
	ofKey
)

// Palette is the escape sequences of the colours.
type Palette [ofKey + 1]string

const colReset = "\x1b[0m"

// maxPrintDepth is how deep a value is printed.
const maxPrintDepth = 10000

const tooDeep = "<skipped: too deep>"

// NewPalette reads JQ_COLORS: the parameters of the escape sequences of null, false, true, numbers, strings, arrays,
// objects and keys, with colons between them. What is not given keeps jq's colour; ok is false when the text is
// malformed, and then nothing of it counts.
func NewPalette(spec string) (*Palette, bool) {
	usual := &Palette{"\x1b[0;90m", "\x1b[0;39m", "\x1b[0;39m", "\x1b[0;39m", "\x1b[0;32m", "\x1b[1;39m", "\x1b[1;39m",
		"\x1b[1;34m"}
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
	p := printer{Style: s, b: b}
	p.value(v, 0)
	return p.b
}

// Ticking returns s that counts its work and the memory of what it appends.
func (s Style) Ticking(tick, hold func(int)) Style {
	s.tick, s.hold = tick, hold
	return s
}

// printer appends values to b. Its recursion ends at maxPrintDepth.
type printer struct {
	Style
	b     []byte
	known int // bytes of b that have been counted
}

// full counts what was appended and reports whether it is enough.
func (p *printer) full() bool {
	if n := len(p.b) - p.known; n > 1<<12 {
		p.known = len(p.b)
		if p.tick != nil {
			p.tick(n >> 6)
		}
		if p.hold != nil {
			p.hold(3 * n)
		}
	}
	return p.limit > 0 && len(p.b) > p.limit
}

func (p *printer) color(i int) {
	if p.Color != nil {
		p.b = append(p.b, p.Color[i]...)
	}
}

func (p *printer) reset() {
	if p.Color != nil {
		p.b = append(p.b, colReset...)
	}
}

func (p *printer) value(v any, depth int) {
	if p.full() {
		return
	}
	switch v := v.(type) {
	case *Array:
		if depth > maxPrintDepth {
			p.b = append(p.b, tooDeep...)
			return
		}
		p.array(v, depth)
	case *Object:
		if depth > maxPrintDepth {
			p.b = append(p.b, tooDeep...)
			return
		}
		p.object(v, depth)
	case nil:
		p.scalar(ofNull, v)
	case bool:
		if v {
			p.scalar(ofTrue, v)
		} else {
			p.scalar(ofFalse, v)
		}
	case string:
		p.scalar(ofString, v)
	default:
		p.scalar(ofNumber, v)
	}
}

func (p *printer) scalar(color int, v any) {
	p.color(color)
	p.b = p.Style.scalar(p.b, v)
	p.reset()
}

// mark appends punctuation in the colour of what it belongs to.
func (p *printer) mark(color int, c string) {
	if p.Color == nil {
		p.b = append(p.b, c...)
		return
	}
	p.b = append(p.b, p.Color[color]...)
	p.b = append(p.b, c...)
	p.b = append(p.b, colReset...)
}

func (p *printer) array(v *Array, depth int) {
	e := v.Values()
	if len(e) == 0 {
		p.mark(ofArray, "[]")
		return
	}
	p.mark(ofArray, "[")
	for i, x := range e {
		if i > 0 {
			p.mark(ofArray, ",")
		}
		p.b = p.newline(p.b, depth+1)
		p.value(x, depth+1)
		if p.limit > 0 && len(p.b) > p.limit {
			return
		}
	}
	p.b = p.newline(p.b, depth)
	p.mark(ofArray, "]")
}

func (p *printer) object(v *Object, depth int) {
	keys, vals := v.keys(), v.vals()
	if len(keys) == 0 {
		p.mark(ofObject, "{}")
		return
	}
	p.mark(ofObject, "{")
	var at []int
	if p.Sort {
		tick := p.tick
		if tick == nil {
			tick = noTick
		}
		at = v.sorted(tick)
	}
	for i := range keys {
		k := i
		if at != nil {
			k = at[i]
		}
		if i > 0 {
			p.mark(ofObject, ",")
		}
		p.b = p.newline(p.b, depth+1)
		p.color(ofKey)
		p.b = p.quote(p.b, keys[k])
		p.reset()
		p.mark(ofObject, ":")
		if p.Indent != "" || p.Lines {
			p.b = append(p.b, ' ')
		}
		p.value(vals[k], depth+1)
		if p.limit > 0 && len(p.b) > p.limit {
			return
		}
	}
	p.b = p.newline(p.b, depth)
	p.mark(ofObject, "}")
}

func (s Style) newline(b []byte, depth int) []byte {
	if s.Indent == "" && !s.Lines {
		return b
	}
	b = append(b, '\n')
	for range depth {
		b = append(b, s.Indent...)
	}
	return b
}

func (s Style) scalar(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case float64:
		return appendNumber(b, v)
	case *Literal:
		return append(b, v.text...)
	case string:
		if s.limit > 0 && len(v) > s.limit {
			v = v[:s.limit]
		}
		return s.quote(b, v)
	}
	return b
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
