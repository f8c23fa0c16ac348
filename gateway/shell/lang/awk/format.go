package awk

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// spec is one piece of a format: literal text, or a conversion.
type spec struct {
	lit           string
	verb          byte // 0: lit only
	minus, plus   bool
	space, alt    bool
	zero          bool
	width, prec   int // -1: none
	starW         bool
	starP         bool
	widthN, precN int    // *N$: 1-based, 0 none
	argN          int    // %N$…: 1-based, 0 none
	src           string // the conversion as written
	bytes         bool   // characters are bytes
	end           int    // where it ends in the format
}

const maxFormats = 200

// formatOf parses a format, once.
func (in *interp) formatOf(f string) []spec {
	if s, ok := in.formats[f]; ok {
		return s
	}
	s := parseFormat(f)
	if len(in.formats) >= maxFormats {
		clear(in.formats)
	}
	in.formats[strings.Clone(f)] = s
	return s
}

func parseFormat(format string) []spec {
	f := format
	var out []spec
	lit := func(s string) {
		if s == "" {
			return
		}
		if n := len(out); n > 0 && out[n-1].verb == 0 {
			out[n-1].lit += s
			return
		}
		out = append(out, spec{lit: s})
	}
	for f != "" {
		i := strings.IndexByte(f, '%')
		if i < 0 {
			lit(f)
			break
		}
		lit(f[:i])
		f = f[i:]
		sp := spec{width: -1, prec: -1}
		j := 1
		n := j
		for n < len(f) && isDigit(f[n]) {
			n++
		}
		if n > j && n < len(f) && f[n] == '$' {
			sp.argN, _ = strconv.Atoi(f[j:n])
			j = n + 1
		}
	flags:
		for ; j < len(f); j++ {
			switch f[j] {
			case '-':
				sp.minus = true
			case '+':
				sp.plus = true
			case ' ':
				sp.space = true
			case '#':
				sp.alt = true
			case '0':
				sp.zero = true
			case '\'':
			default:
				break flags
			}
		}
		if j < len(f) && f[j] == '*' {
			sp.starW = true
			sp.widthN, j = starArgument(f, j+1)
		} else {
			for ; j < len(f) && isDigit(f[j]); j++ {
				sp.width = min(max(sp.width, 0)*10+int(f[j]-'0'), math.MaxInt32)
			}
		}
		if j < len(f) && f[j] == '.' {
			j++
			sp.prec = 0
			if j < len(f) && f[j] == '*' {
				sp.starP = true
				sp.precN, j = starArgument(f, j+1)
			} else {
				for ; j < len(f) && isDigit(f[j]); j++ {
					sp.prec = min(sp.prec*10+int(f[j]-'0'), math.MaxInt32)
				}
			}
		}
		// Each length letter once: %lld is no directive.
		for seen := ""; j < len(f) && strings.IndexByte("hlLqjzt", f[j]) >= 0 && strings.IndexByte(seen, f[j]) < 0; j++ {
			seen += f[j : j+1]
		}
		if j >= len(f) {
			lit(f)
			break
		}
		switch c := f[j]; c {
		case '%':
			lit("%")
		case 'd', 'i', 'o', 'u', 'x', 'X', 'c', 's', 'e', 'E', 'f', 'F', 'g', 'G', 'a', 'A':
			sp.verb, sp.src, sp.end = c, f[:j+1], len(format)-len(f)+j+1
			out = append(out, sp)
		default:
			lit(f[:j+1])
		}
		f = f[j+1:]
	}
	return out
}

// starArgument reads the N$ that may follow a * before f[j:]; next is where the directive goes on.
func starArgument(f string, j int) (n, next int) {
	k := j
	for k < len(f) && isDigit(f[k]) {
		k++
	}
	if k == j || k == len(f) || f[k] != '$' {
		return 0, j
	}
	n, _ = strconv.Atoi(f[j:k])
	return n, k + 1
}

// mixed reports whether some of the arguments of a format are numbered and some are not.
func mixed(specs []spec) bool {
	var numbered, plain bool
	for _, sp := range specs {
		if sp.verb == 0 {
			continue
		}
		for _, used := range []struct {
			use bool
			n   int
		}{{true, sp.argN}, {sp.starW, sp.widthN}, {sp.starP, sp.precN}} {
			numbered = numbered || used.use && used.n > 0
			plain = plain || used.use && used.n == 0
		}
	}
	return numbered && plain
}

// sprintf appends the formatted args to b.
func (in *interp) sprintf(b []byte, format string, args []value) []byte {
	next := 0
	at := 0 // the end of the conversion
	arg := func(n int) *value {
		if n > 0 {
			next = n - 1
		}
		if next >= len(args) {
			in.fatal("not enough arguments to satisfy format string\n\t`%s'\n\t%*s^ ran out for this one", format, at-1, "")
		}
		next++
		return &args[next-1]
	}
	specs := in.formatOf(format)
	if mixed(specs) {
		in.fatal("must use `count$' on all formats or none")
	}
	for _, sp := range specs {
		if sp.verb == 0 {
			b = append(b, sp.lit...)
			continue
		}
		at, sp.bytes = sp.end, in.bytes
		if sp.starW {
			w := clampInt(arg(sp.widthN).num())
			if w < 0 {
				sp.minus = true
				w = -w
			}
			sp.width = w
		}
		if sp.starP {
			if sp.prec = clampInt(arg(sp.precN).num()); sp.prec < 0 {
				sp.prec = -1
			}
		}
		if n := max(sp.width, sp.prec); n > 4096 {
			// The length of what follows is known before it is built.
			in.p.Hold(n + len(b))
			in.p.Release(n + len(b))
		}
		b = in.convert(b, sp, arg(sp.argN))
	}
	return b
}

func clampInt(f float64) int {
	switch {
	case f != f:
		return 0
	case f > math.MaxInt32:
		return math.MaxInt32
	case f < math.MinInt32:
		return math.MinInt32
	}
	return int(f)
}

func (in *interp) convert(b []byte, sp spec, v *value) []byte {
	switch sp.verb {
	case 'c':
		if v.k == kInput {
			v.settle()
		}
		var s string
		if v.k == kNum || v.k == kStrnum {
			s = charOf(v.n)
			if in.bytes {
				s = string([]byte{byte(int64(v.n))})
			}
		} else if s = in.str(*v); s != "" {
			s = s[:in.charLen(s, 0)]
		} else {
			s = "\x00"
		}
		return pad(b, s, sp, false)
	case 's':
		s := in.str(*v)
		if sp.prec >= 0 {
			s = in.prefixChars(s, sp.prec)
		}
		if sp.width <= 0 {
			return append(b, s...)
		}
		return pad(b, s, sp, false)
	case 'd', 'i':
		return in.integer(b, sp, v.num(), 10)
	case 'u':
		return in.integer(b, sp, v.num(), 10)
	case 'o':
		return in.integer(b, sp, v.num(), 8)
	case 'x', 'X':
		return in.integer(b, sp, v.num(), 16)
	}
	return in.float(b, sp, v.num())
}

func charOf(f float64) string {
	if f != f || f < 0 || f > math.MaxInt32 {
		return string([]byte{byte(int64(f))})
	}
	n := int(f)
	if n < 0x80 || n <= utf8.MaxRune && utf8.ValidRune(rune(n)) {
		return string(rune(n))
	}
	return string([]byte{byte(n)})
}

// prefixChars is the first n characters of s.
func (in *interp) prefixChars(s string, n int) string {
	if n >= len(s) {
		return s
	}
	if in.bytes {
		return s[:n]
	}
	i := 0
	for ; n > 0 && i < len(s); n-- {
		_, w := utf8.DecodeRuneInString(s[i:])
		i += w
	}
	return s[:i]
}

// pad appends s filled up to the width; zero says whether zeros may be used, after the sign.
func pad(b []byte, s string, sp spec, zero bool) []byte {
	n := sp.width
	if n > 0 {
		if sp.bytes {
			n -= len(s)
		} else {
			n -= utf8.RuneCountInString(s)
		}
	}
	if n <= 0 {
		return append(b, s...)
	}
	switch {
	case sp.minus:
		b = append(b, s...)
		return fill(b, ' ', n)
	case zero && sp.zero:
		i := 0
		if s != "" && (s[0] == '-' || s[0] == '+' || s[0] == ' ') {
			i = 1
		}
		if strings.HasPrefix(s[i:], "0x") || strings.HasPrefix(s[i:], "0X") {
			i += 2
		}
		b = append(b, s[:i]...)
		b = fill(b, '0', n)
		return append(b, s[i:]...)
	}
	b = fill(b, ' ', n)
	return append(b, s...)
}

func fill(b []byte, c byte, n int) []byte {
	for ; n > 0; n-- {
		b = append(b, c)
	}
	return b
}

func (in *interp) integer(b []byte, sp spec, f float64, base int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		s := string(in.appendSpecial(nil, f))
		return pad(b, s, sp, false)
	}
	signed := sp.verb == 'd' || sp.verb == 'i'
	if !signed && (f >= 1<<64 || f < -1<<63) {
		sp.verb = 'g'
		return in.float(b, sp, f)
	}
	given := f
	f = math.Trunc(f)
	var digits []byte
	var buf [32]byte
	neg := f < 0
	switch {
	case f >= -1<<63 && f < 1<<63:
		n := int64(f)
		if neg && (base != 10 || sp.verb == 'u') {
			digits, neg = strconv.AppendUint(buf[:0], uint64(n), base), false
		} else {
			digits = strconv.AppendUint(buf[:0], uint64(max(n, -n)), base)
		}
	default:
		i, _ := big.NewFloat(math.Abs(f)).Int(nil)
		digits = i.Append(buf[:0], base)
	}
	s := string(digits)
	if sp.verb == 'X' {
		s = strings.ToUpper(s)
	}
	if sp.prec >= 0 {
		if sp.prec == 0 && s == "0" {
			s = ""
		}
		if n := sp.prec - len(s); n > 0 {
			s = strings.Repeat("0", n) + s
		}
	}
	if sp.alt {
		switch {
		case given != 0 && (sp.verb == 'x' || sp.verb == 'X'):
			s = "0" + string(sp.verb) + s
		case s == "" && sp.verb != 'o':
			s = "0"
		case sp.verb == 'o' && (s == "" || s[0] != '0' || f == 0 && given != 0):
			s = "0" + s
		}
	}
	switch {
	case neg:
		s = "-" + s
	case signed && sp.plus:
		s = "+" + s
	case signed && sp.space:
		s = " " + s
	}
	return pad(b, s, sp, sp.prec < 0)
}

func (in *interp) float(b []byte, sp spec, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		s := string(in.appendSpecial(nil, f))
		return pad(b, s, sp, false)
	}
	var buf [64]byte
	d := buf[:0]
	if !math.Signbit(f) {
		switch {
		case sp.plus:
			d = append(d, '+')
		case sp.space:
			d = append(d, ' ')
		}
	}
	prec := sp.prec
	if prec < 0 {
		prec = 6
	}
	switch sp.verb {
	case 'f', 'F':
		d = appendExact(d, f, 'f', prec)
		if sp.alt && prec == 0 {
			d = append(d, '.')
		}
	case 'e', 'E':
		d = appendExact(d, f, sp.verb, prec)
	case 'g', 'G':
		d = appendG(d, f, prec, sp.alt, sp.verb-2)
	case 'a', 'A':
		d = appendHexFloat(d, f, sp.prec, sp.verb)
	}
	if sp.width <= len(d) {
		return append(b, d...)
	}
	return pad(b, string(d), sp, true)
}

// appendExact is strconv.AppendFloat with a bound on its own work: no double has more than 1100 significant digits.
func appendExact(b []byte, f float64, verb byte, prec int) []byte {
	if prec <= 1100 {
		return strconv.AppendFloat(b, f, verb, prec, 64)
	}
	t := strconv.AppendFloat(nil, f, verb, 1100, 64)
	e := len(t)
	if verb != 'f' {
		e = strings.LastIndexByte(string(t), verb)
	}
	b = append(b, t[:e]...)
	b = fill(b, '0', prec-1100)
	return append(b, t[e:]...)
}

// appendG is C's %g: the shorter of %e and %f at prec significant digits, trailing zeros removed
// unless alt is set. e is 'e' or 'E'.
func appendG(b []byte, f float64, prec int, alt bool, e byte) []byte {
	if prec == 0 {
		prec = 1
	}
	if f == 0 {
		if math.Signbit(f) {
			b = append(b, '-')
		}
		b = append(b, '0')
		if alt {
			b = append(b, '.')
			b = fill(b, '0', prec-1)
		}
		return b
	}
	var buf [48]byte
	t := appendExact(buf[:0], f, 'e', prec-1)
	i := len(t) - 1
	for t[i] != 'e' {
		i--
	}
	x, _ := strconv.Atoi(string(t[i+1:]))
	from := len(b)
	if x < -4 || x >= prec {
		b = append(b, t[:i]...)
		if !alt {
			b = trimZeros(b, from)
		} else if prec == 1 {
			b = append(b, '.')
		}
		b = append(b, e)
		return append(b, t[i+1:]...)
	}
	b = appendExact(b, f, 'f', prec-1-x)
	if !alt {
		b = trimZeros(b, from)
	} else if prec-1-x == 0 {
		b = append(b, '.')
	}
	return b
}

// trimZeros removes the trailing zeros of the fraction that begins after from.
func trimZeros(b []byte, from int) []byte {
	dot := -1
	for i := from; i < len(b); i++ {
		if b[i] == '.' {
			dot = i
			break
		}
	}
	if dot < 0 {
		return b
	}
	n := len(b)
	for n > dot && b[n-1] == '0' {
		n--
	}
	if n == dot+1 {
		n = dot
	}
	return b[:n]
}

// appendHexFloat is C's %a.
func appendHexFloat(b []byte, f float64, prec int, verb byte) []byte {
	t := strconv.FormatFloat(f, 'x', min(prec, 1100), 64)
	// Go pads the exponent to two digits, C does not.
	if i := strings.IndexByte(t, 'p'); i >= 0 && i+2 < len(t) {
		exp := strings.TrimLeft(t[i+2:], "0")
		if exp == "" {
			exp = "0"
		}
		t = t[:i+2] + exp
	}
	if verb == 'A' {
		t = strings.ToUpper(t)
	}
	return append(b, t...)
}
