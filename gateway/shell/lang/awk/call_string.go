package awk

import (
	"math"
	"unicode/utf8"
)

func (c *compiler) length(args []expr) numFn {
	if len(args) == 0 {
		return func(in *interp) float64 { return float64(in.count(in.record())) }
	}
	if c.isArrayArg(args[0]) {
		arr := c.arr(unparen(args[0]))
		return func(in *interp) float64 { return float64(arr(in).size()) }
	}
	if ix, ok := unparen(args[0]).(*indexRef); ok {
		cell := c.cell(ix)
		return func(in *interp) float64 {
			k := cell(in)
			if k.sub != nil {
				return float64(k.sub.size())
			}
			return float64(in.count(in.str(k.v)))
		}
	}
	s := c.str(args[0])
	return func(in *interp) float64 { return float64(in.count(s(in))) }
}

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func upperByte(c byte) byte {
	if c >= 'a' && c <= 'z' {
		c -= 'a' - 'A'
	}
	return c
}

// mapCase maps the letters of s and leaves bytes that are no characters alone; with no wide, those of ASCII only.
func mapCase(s string, ascii func(byte) byte, wide func(rune) rune) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf || wide == nil {
			b = append(b, ascii(s[i]))
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(b, s[i])
		} else {
			b = utf8.AppendRune(b, wide(r))
		}
		i += n
	}
	return view(b)
}

func (c *compiler) substr(args []expr) valFn {
	s, from := c.str(args[0]), c.num(args[1])
	var length numFn
	if len(args) == 3 {
		length = c.num(args[2])
	}
	return func(in *interp) value {
		text := s(in)
		f := math.Trunc(from(in))
		n := math.Inf(1)
		if length != nil {
			n = math.Trunc(length(in))
		}
		if !(f >= 1) {
			f = 1
		}
		if !(n >= 1) || f > float64(len(text)) {
			return str("")
		}
		// Mostly ASCII: cut by bytes when the part before and in the cut is.
		i := in.skipChars(text, int(f)-1)
		text = text[i:]
		if n < float64(len(text)) {
			text = text[:in.skipChars(text, int(n))]
		}
		return value{s: text, k: kStr, view: true}
	}
}

// skipChars is the offset of the n-th character of s, len(s) when there are fewer.
func (in *interp) skipChars(s string, n int) int {
	if in.bytes {
		return min(n, len(s))
	}
	i := 0
	for ; n > 0 && i < len(s); n-- {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		_, w := utf8.DecodeRuneInString(s[i:])
		i += w
	}
	return i
}
