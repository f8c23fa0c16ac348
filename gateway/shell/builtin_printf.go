package shell

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/itchyny/timefmt-go"
)

func formatFloat(f float64, prec int) string { return strconv.FormatFloat(f, 'f', prec, 64) }

// builtinPrintf is printf.
func builtinPrintf(sh *Shell, args []string) int {
	args = args[1:]
	target := ""
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		if a == "--" {
			args = args[1:]
			break
		}
		if !strings.HasPrefix(a, "-v") {
			return sh.usage("printf", a[:2])
		}
		args = args[1:]
		if target = a[2:]; target == "" {
			if len(args) == 0 {
				sh.errorf("printf: -v: option requires an argument")
				sh.eprint(usageLine("printf"))
				return 2
			}
			target, args = args[0], args[1:]
		}
		if n, _, _ := strings.Cut(target, "["); !isName(n) {
			sh.errorf("printf: `%s': not a valid identifier", target)
			return 2
		}
	}
	if len(args) == 0 {
		sh.eprint(sh.prefixIf(usageLine("printf")))
		return 2
	}
	p := printer{sh: sh, args: args[1:], now: sh.x.now, out: target == ""}
	p.run(args[0])
	if target != "" {
		text, _, _ := strings.Cut(string(p.buf), "\x00")
		sh.setTarget(target, text)
		return p.status
	}
	sh.obuf = append(sh.obuf, p.buf...)
	return p.status
}

func (sh *Shell) prefixIf(s string) string { return s }

// maxPad bounds field widths and precisions.
const maxPad = 1 << 24

type printer struct {
	sh     *Shell
	args   []string
	used   int
	buf    []byte
	status int
	stop   bool
	now    func() time.Time
	out    bool // to standard output: a message comes after the lines that were printed before
	gone   int  // bytes of it that are no longer in buf
}

func (p *printer) next() (string, bool) {
	p.used++
	if p.used > len(p.args) {
		return "", false
	}
	return p.args[p.used-1], true
}

func (p *printer) run(format string) {
	for {
		before := p.used
		p.once(format)
		p.sh.tick()
		if p.stop || p.used >= len(p.args) || p.used == before {
			return
		}
		if int64(len(p.buf)) > 1<<20 {
			p.sh.hold(int64(len(p.buf)))
			p.sh.hold(-int64(len(p.buf)))
		}
	}
}

func (p *printer) fail(format string, args ...any) {
	p.warn(format, args...)
	p.status = 1
}

func (p *printer) warn(format string, args ...any) {
	if n := bytes.LastIndexByte(p.buf, '\n') + 1; p.out && n > 0 {
		p.sh.obuf = append(p.sh.obuf, p.buf[:n]...)
		p.gone += n
		p.buf = append(p.buf[:0], p.buf[n:]...)
	}
	name := "printf"
	if p.sh.program {
		name = p.sh.name
	}
	p.sh.errorf(name+": "+format, args...)
}

// once goes through the format one time.
func (p *printer) once(f string) {
	for i := 0; i < len(f); i++ {
		switch f[i] {
		case '\\':
			n := escapeLen(f[i:])
			if p.sh.program && p.strict(f[i:]) {
				return
			}
			s, stop := backslashes(f[i:i+n], escFormat)
			p.buf = append(p.buf, s...)
			if stop {
				p.stop = true
				return
			}
			i += n - 1
		case '%':
			n, ok := p.directive(f[i:])
			if !ok {
				p.stop = true
				return
			}
			i += n - 1
		default:
			p.buf = append(p.buf, f[i])
		}
		if p.stop {
			return
		}
	}
}

// strict reports whether the program printf, which is coreutils', ends at the escape sequence s begins with.
func (p *printer) strict(s string) bool {
	if len(s) < 2 {
		return false
	}
	most, least := 0, 0
	switch s[1] {
	case 'c':
		p.stop = true
		return true
	case 'x':
		most, least = 2, 1
	case 'u':
		most, least = 4, 4
	case 'U':
		most, least = 8, 8
	}
	if n, _ := digits(s[2:], 16, most); n < least {
		p.fail("missing hexadecimal number in escape")
		p.stop = true
	}
	return p.stop
}

// escapeLen is the length of the escape sequence s begins with.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	max := 2
	switch c := s[1]; {
	case c == 'x':
		n, _ := digits(s[2:], 16, 2)
		return 2 + n
	case c == 'u':
		n, _ := digits(s[2:], 16, 4)
		return 2 + n
	case c == 'U':
		n, _ := digits(s[2:], 16, 8)
		return 2 + n
	case '0' <= c && c <= '7':
		n, _ := digits(s[1:], 8, 3)
		return 1 + n
	}
	return max
}

// directive handles one % conversion and returns its length.
func (p *printer) directive(s string) (int, bool) {
	i := 1
	flags := ""
	for i < len(s) && strings.IndexByte("-+ #0'", s[i]) >= 0 {
		flags += string(s[i])
		i++
	}
	prec := -1
	number := func() (int, bool) {
		if i < len(s) && s[i] == '*' {
			i++
			a, _ := p.next()
			n := p.integer(a)
			if n > math.MaxInt32 || n < math.MinInt32 {
				return -1, false
			}
			return int(n), true
		}
		start := i
		for i < len(s) && '0' <= s[i] && s[i] <= '9' {
			i++
		}
		n, err := strconv.Atoi(s[start:i])
		if err != nil && i > start {
			n = maxPad
		}
		return n, i > start
	}
	width, ok := number()
	if !ok {
		width = 0
	}
	if width < 0 {
		flags += "-"
		width = -width
	}
	if i < len(s) && s[i] == '.' {
		i++
		prec, _ = number()
	}
	width, prec = min(width, maxPad), min(prec, maxPad)
	for i < len(s) && strings.IndexByte("hlLqjzt", s[i]) >= 0 {
		if s[i] == 'q' {
			break
		}
		i++
	}
	if i < len(s) && s[i] == '(' {
		j := strings.Index(s[i:], ")T")
		if j < 0 {
			p.fail("`%c': invalid format character", '(')
			return len(s), false
		}
		p.pad(p.date(s[i+1:i+j]), flags, width, prec)
		return i + j + 2, true
	}
	if i >= len(s) {
		p.fail("`%s': missing format character", s)
		return len(s), false
	}
	c := s[i]
	switch c {
	case '%':
		if i > 1 {
			p.fail("`%c': invalid format character", c)
			return i + 1, false
		}
		p.buf = append(p.buf, '%')
	case 's':
		a, _ := p.next()
		p.pad(a, flags, width, prec)
	case 'b':
		a, _ := p.next()
		if j := strings.IndexByte(a, '\\'); p.sh.program && j >= 0 {
			for ; j < len(a); j++ {
				if a[j] != '\\' {
					continue
				}
				if rest := a[j:]; len(rest) > 1 && rest[1] != 'c' && p.strict(rest) {
					out, _ := backslashes(a[:j], escB)
					p.pad(out, flags, width, prec)
					return i + 1, true
				}
				j++
			}
		}
		out, stop := backslashes(a, escB)
		p.pad(out, flags, width, prec)
		p.stop = stop
	case 'q', 'Q':
		a, _ := p.next()
		if c == 'Q' && prec >= 0 {
			a = a[:min(prec, len(a))]
			prec = -1
		}
		p.pad(quoteBackslash(a), flags, width, prec)
	case 'c':
		a, _ := p.next()
		if a == "" {
			a = "\x00"
		}
		p.padBytes(a[:1], flags, width)
	case 'd', 'i':
		a, _ := p.next()
		n := p.integer(a)
		neg := n < 0
		d := strconv.FormatUint(abs64(n), 10)
		p.num(d, "", neg, flags, width, prec, true)
	case 'u', 'o', 'x', 'X':
		a, _ := p.next()
		n := p.unsigned(a)
		base, pre := 10, ""
		switch c {
		case 'o':
			base = 8
		case 'x', 'X':
			base = 16
		}
		d := strconv.FormatUint(n, base)
		if c == 'X' {
			d = strings.ToUpper(d)
		}
		if strings.Contains(flags, "#") && n != 0 {
			switch c {
			case 'o':
				d = "0" + d
			case 'x':
				pre = "0x"
			case 'X':
				pre = "0X"
			}
		}
		p.num(d, pre, false, flags, width, prec, false)
	case 'e', 'E', 'f', 'F', 'g', 'G', 'a', 'A':
		a, _ := p.next()
		p.float(a, c, flags, width, prec)
	case 'n':
		a, _ := p.next()
		if isName(a) {
			p.sh.setVar(a, itoa(p.gone+len(p.buf)))
		}
	default:
		p.fail("`%c': invalid format character", c)
		return i + 1, false
	}
	return i + 1, true
}

func abs64(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// pad writes text; like everything printf measures, width and precision count bytes.
func (p *printer) pad(s, flags string, width, prec int) {
	if prec >= 0 && prec < len(s) {
		s = s[:prec]
	}
	p.padBytes(s, flags, width)
}

func (p *printer) padBytes(s, flags string, width int) {
	fill := strings.Repeat(" ", max(width-len(s), 0))
	if strings.Contains(flags, "-") {
		p.buf = append(append(p.buf, s...), fill...)
		return
	}
	p.buf = append(append(p.buf, fill...), s...)
}

// num writes an integer's digits.
func (p *printer) num(d, pre string, neg bool, flags string, width, prec int, signed bool) {
	if prec == 0 && d == "0" {
		d = ""
	}
	if strings.Contains(flags, "'") && signed {
		d = group(d)
	}
	if len(d) < prec {
		d = strings.Repeat("0", prec-len(d)) + d
	}
	sign := ""
	switch {
	case neg:
		sign = "-"
	case signed && strings.Contains(flags, "+"):
		sign = "+"
	case signed && strings.Contains(flags, " "):
		sign = " "
	}
	sign += pre
	if strings.Contains(flags, "0") && !strings.Contains(flags, "-") && prec < 0 {
		if n := width - len(sign) - len(d); n > 0 {
			d = strings.Repeat("0", n) + d
		}
	}
	p.padBytes(sign+d, flags, width)
}

// group would insert thousands separators; the C.UTF-8 locale has none.
func group(d string) string { return d }

// integer reads a numeric argument: decimal, octal, hexadecimal, or a quote and a character.
func (p *printer) integer(s string) int64 {
	if s == "" {
		return 0
	}
	if s[0] == '\'' || s[0] == '"' {
		return p.charCode(s[1:])
	}
	t := strings.TrimLeft(s, " \t\n")
	n, rest, err := parseInt(t)
	switch {
	case rest != "" || t == "":
		p.invalid(s)
	case err != nil:
		p.warn("warning: %s: Numerical result out of range", s)
	}
	return n
}

// invalid says that an operand is no number, of the kind that it begins as.
func (p *printer) invalid(s string) {
	kind := ""
	if len(s) > 1 && s[0] == '0' {
		switch {
		case '0' <= s[1] && s[1] <= '9':
			kind = "octal "
		case s[1] == 'x':
			kind = "hex "
		}
	}
	p.fail("%s: invalid %snumber", s, kind)
}

// unsigned is integer for the formats that take an unsigned value: the negative ones are those of strtoumax.
func (p *printer) unsigned(s string) uint64 {
	if s == "" || s[0] == '\'' || s[0] == '"' {
		return uint64(p.integer(s))
	}
	t := strings.TrimLeft(s, " \t\n")
	neg, n, rest, err := parseMagnitude(t)
	switch {
	case rest != "" || t == "":
		p.invalid(s)
	case err != nil:
		p.warn("warning: %s: Numerical result out of range", s)
	}
	if neg && err == nil {
		return -n
	}
	return n
}

func (p *printer) charCode(s string) int64 {
	if s == "" {
		return 0
	}
	r, w := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && w <= 1 || p.sh.bytes() {
		return int64(s[0])
	}
	return int64(r)
}

// parseInt is strtoimax with base 0.
func parseInt(s string) (n int64, rest string, err error) {
	neg, u, rest, err := parseMagnitude(s)
	switch {
	case neg && (err != nil || u > 1<<63):
		return math.MinInt64, rest, errRange
	case neg:
		return int64(-u), rest, nil
	case err != nil || u > math.MaxInt64:
		return math.MaxInt64, rest, errRange
	}
	return int64(u), rest, nil
}

// parseMagnitude reads the sign and the digits of an integer, in the base that they say.
func parseMagnitude(s string) (neg bool, n uint64, rest string, err error) {
	t := s
	if t != "" && (t[0] == '-' || t[0] == '+') {
		neg = t[0] == '-'
		t = t[1:]
	}
	base := 10
	if len(t) > 2 && t[0] == '0' && (t[1] == 'x' || t[1] == 'X') {
		base, t = 16, t[2:]
	} else if len(t) > 1 && t[0] == '0' {
		base = 8
	}
	k, _ := digits(t, uint64(base), len(t))
	if k == 0 {
		return false, 0, s, nil
	}
	n, perr := strconv.ParseUint(t[:k], base, 64)
	if perr != nil {
		return neg, math.MaxUint64, t[k:], errRange
	}
	return neg, n, t[k:], nil
}

var errRange = errors.New("out of range")

// float writes a floating-point argument. bash computes in long double; decimal text is kept exact here, which prints
// the same digits.
func (p *printer) float(a string, c byte, flags string, width, prec int) {
	var v *big.Float
	special := ""
	switch {
	case a == "":
		v = new(big.Float)
	case a[0] == '\'' || a[0] == '"':
		v = new(big.Float).SetInt64(p.charCode(a[1:]))
	default:
		v, special = p.parseFloat(a)
	}
	if prec < 0 && c != 'a' && c != 'A' {
		prec = 6
	}
	neg := special == "" && v.Signbit() || strings.HasPrefix(special, "-")
	var d string
	upper := c >= 'A' && c <= 'Z'
	if special != "" {
		d = strings.TrimPrefix(special, "-")
		flags = strings.ReplaceAll(flags, "0", "")
	} else {
		abs := new(big.Float).Abs(v)
		switch c | 0x20 {
		case 'f':
			d = abs.Text('f', prec)
		case 'e':
			d = abs.Text('e', prec)
		case 'g':
			d = formatG(abs, prec, strings.Contains(flags, "#"))
		case 'a':
			d = formatA(abs, prec)
		}
		if prec == 0 && strings.Contains(flags, "#") && !strings.Contains(d, ".") {
			d += "."
		}
	}
	if upper {
		d = strings.ToUpper(d)
	}
	sign := ""
	switch {
	case neg:
		sign = "-"
	case strings.Contains(flags, "+"):
		sign = "+"
	case strings.Contains(flags, " "):
		sign = " "
	}
	if strings.Contains(flags, "0") && !strings.Contains(flags, "-") {
		if n := width - len(sign) - len(d); n > 0 {
			if strings.HasPrefix(d, "0x") {
				d = "0x" + strings.Repeat("0", n) + d[2:]
			} else {
				d = strings.Repeat("0", n) + d
			}
		}
	}
	p.padBytes(sign+d, flags, width)
}

// longDouble is the number of binary digits that bash's arithmetic on fractions has.
const longDouble = 64

func formatA(v *big.Float, prec int) string {
	if v.Sign() == 0 {
		if prec > 0 {
			return "0x0." + strings.Repeat("0", prec) + "p+0"
		}
		return "0x0p+0"
	}
	v = new(big.Float).SetPrec(longDouble).Set(v)
	// Long double keeps its leading digit between 8 and f.
	m := new(big.Float).SetPrec(longDouble)
	exp := v.MantExp(m)
	exp -= 4
	n, _ := m.SetMantExp(m, longDouble).Int(nil) // the mantissa, as sixteen digits
	if prec >= 0 && prec < 15 {
		// Halves are rounded to even.
		drop := uint(4 * (15 - prec))
		rest := new(big.Int).And(n, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), drop), big.NewInt(1)))
		half := new(big.Int).Lsh(big.NewInt(1), drop-1)
		n.Rsh(n, drop)
		if c := rest.Cmp(half); c > 0 || c == 0 && n.Bit(0) == 1 {
			n.Add(n, big.NewInt(1))
		}
		if n.BitLen() > 4*(prec+1) {
			n.Rsh(n, 4)
			exp += 4
		}
	}
	ds := n.Text(16)
	frac := ds[1:]
	if prec < 0 {
		frac = strings.TrimRight(frac, "0")
	} else {
		frac += strings.Repeat("0", max(prec-len(frac), 0))
	}
	s := "0x" + ds[:1]
	if frac != "" {
		s += "." + frac
	}
	return s + fmt.Sprintf("p%+d", exp)
}

// formatG is %g: the shorter of e and f, without trailing zeros unless alt.
func formatG(v *big.Float, prec int, alt bool) string {
	if prec == 0 {
		prec = 1
	}
	e := v.Text('e', prec-1)
	k := strings.IndexByte(e, 'e')
	exp, err := strconv.Atoi(e[k+1:])
	if err != nil || exp < -4 || exp >= prec {
		m := e[:k]
		if !alt && strings.Contains(m, ".") {
			m = strings.TrimRight(strings.TrimRight(m, "0"), ".")
		}
		return m + e[k:]
	}
	f := v.Text('f', prec-1-exp)
	if !alt && strings.Contains(f, ".") {
		f = strings.TrimRight(strings.TrimRight(f, "0"), ".")
	}
	return f
}

func (p *printer) parseFloat(a string) (*big.Float, string) {
	t := strings.TrimLeft(a, " \t\n")
	sign := ""
	body := t
	if body != "" && (body[0] == '-' || body[0] == '+') {
		if body[0] == '-' {
			sign = "-"
		}
		body = body[1:]
	}
	low := strings.ToLower(body)
	for _, w := range []string{"infinity", "inf", "nan"} {
		if strings.HasPrefix(low, w) {
			if low != w {
				p.invalid(a)
			}
			return nil, sign + w[:3]
		}
	}
	// The longest prefix that is a number.
	n := 0
	hex := strings.HasPrefix(low, "0x")
	if hex {
		n = 2
		for n < len(low) && (strings.IndexByte("0123456789abcdef.", low[n]) >= 0) {
			n++
		}
		if n < len(low) && low[n] == 'p' {
			n = expEnd(low, n)
		}
	} else {
		dot := false
		for n < len(low) && ('0' <= low[n] && low[n] <= '9' || low[n] == '.' && !dot) {
			dot = dot || low[n] == '.'
			n++
		}
		if n < len(low) && low[n] == 'e' && n > 0 {
			n = expEnd(low, n)
		}
	}
	num := low[:n]
	if hex && !strings.Contains(num, "p") {
		num += "p0"
	}
	if n == 0 || num == "." {
		p.invalid(a)
		return new(big.Float), ""
	}
	if n < len(low) {
		p.invalid(a)
	}
	if k := strings.IndexByte(num, 'e'); !hex && k >= 0 && len(num)-k > 6 {
		return nil, sign + "inf"
	}
	v, _, err := big.ParseFloat(num, 0, 64, big.ToNearestEven)
	if err != nil {
		v, _, err = big.ParseFloat(strings.TrimLeft(num, "0"), 10, 64, big.ToNearestEven)
		if err != nil {
			return new(big.Float), ""
		}
	}
	if sign != "" {
		v.Neg(v)
	}
	return v, ""
}

func expEnd(s string, n int) int {
	j := n + 1
	if j < len(s) && (s[j] == '+' || s[j] == '-') {
		j++
	}
	if j >= len(s) || s[j] < '0' || s[j] > '9' {
		return n
	}
	for j < len(s) && '0' <= s[j] && s[j] <= '9' {
		j++
	}
	return j
}

// date is %(format)T.
func (p *printer) date(format string) string {
	a, ok := p.next()
	t := p.now()
	if ok {
		switch n := p.integer(a); n {
		case -1:
		case -2:
			t = p.sh.x.start
		default:
			t = time.Unix(n, 0)
		}
	}
	if format == "" {
		format = "%X"
	}
	const room = 128 // of bash, for the text and its end; one that does not fit is empty
	if len(format) > 64*room {
		return ""
	}
	text := timefmt.Format(t.In(p.sh.zone()), format)
	if len(text) >= room {
		return ""
	}
	return text
}
