package text

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var seqSpec = getopt.New("+f:s:w", "equal-width=w format:=f separator:=s").
	WithUsage("[OPTION]... LAST\n  or:  seq [OPTION]... FIRST LAST\n  or:  seq [OPTION]... FIRST INCREMENT LAST",
		"Print numbers from FIRST to LAST, in steps of INCREMENT.")

// seqNumber is an operand: its value, and how many digits it shows.
type seqNumber struct {
	value     float64
	width     int
	precision int // -1: not a plain decimal
	text      string
}

func seq(_ context.Context, p *proc.Process) int {
	// Negative numbers are operands, not options.
	args := p.Args[1:]
	for i, a := range args {
		if len(a) > 1 && a[0] == '-' && (a[1] == '.' || program.IsDigit(a[1])) {
			if _, operands, err := seqSpec.Scan(args[:i]); err == nil && len(operands) == 0 && !slices.Contains(args[:i], "--") {
				p.Args = slices.Concat(p.Args[:1], args[:i], []string{"--"}, args[i:])
			}
			break
		}
	}
	opts, args := seqSpec.Parse(p)
	format, sep, equal := (*string)(nil), "\n", false
	for _, o := range opts {
		switch o.Key {
		case "f":
			format = &o.Value
		case "s":
			sep = o.Value
		case "w":
			equal = true
		}
	}
	switch {
	case len(args) == 0:
		seqSpec.Fail(p, "missing operand")
	case len(args) > 3:
		seqSpec.Fail(p, "extra operand %s", program.Quote(args[3]))
	}
	if format != nil {
		if problem := checkSeqFormat(*format); problem != "" {
			p.Errorf("format %s %s", program.Quote(*format), problem)
			return 1
		}
		if equal {
			p.Errorf("format string may not be specified when printing equal width strings")
			seqSpec.Hint(p)
		}
	}
	first, step := seqNumber{value: 1, width: 1, text: "1"}, seqNumber{value: 1, width: 1, text: "1"}
	last := seqOperand(p, args[len(args)-1])
	if len(args) > 1 {
		first = seqOperand(p, args[0])
	}
	if len(args) == 3 {
		step = seqOperand(p, args[1])
		if step.value == 0 {
			seqSpec.Fail(p, "invalid Zero increment value: %s", program.Quote(args[1]))
		}
	}
	if format == nil && allDigits(first, step, last) && !allInts(first, step, last) {
		seqBig(p, first.text, step.text, last.text, sep, equal)
		return 0
	}
	if format == nil && allInts(first, step, last) {
		seqInts(p, first, step, last, sep, equal)
		return 0
	}
	seqFloats(p, first, step, last, sep, format, equal)
	return 0
}

func seqOperand(p *proc.Process, s string) seqNumber {
	t := strings.TrimLeft(s, " \t\n\v\f\r")
	t = strings.TrimPrefix(t, "+")
	number := t
	if strings.ContainsAny(t, "xX") && !strings.ContainsAny(t, "pP") {
		number += "p0"
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil && !math.IsInf(v, 0) || strings.Contains(t, "_") || t == "" {
		seqSpec.Fail(p, "invalid floating point argument: %s", program.Quote(s))
	}
	if math.IsNaN(v) {
		seqSpec.Fail(p, "invalid %s argument: %s", program.Quote("not-a-number"), program.Quote(s))
	}
	n := seqNumber{value: v, text: t, width: len(t)}
	if math.IsInf(v, 0) || strings.ContainsAny(t, "xXpP") {
		n.width = 0
		if strings.ContainsAny(t, ".pP") {
			n.precision = -1
		}
		return n
	}
	mantissa, exp, hasExp := strings.Cut(strings.ToLower(t), "e")
	_, frac, point := strings.Cut(mantissa, ".")
	if point {
		n.precision = len(frac)
		if frac == "" {
			n.width--
		}
		if strings.HasPrefix(mantissa, ".") || strings.HasPrefix(mantissa, "-.") {
			n.width++
		}
	}
	if hasExp {
		e, _ := strconv.Atoi(exp)
		e = max(min(e, 400), -400)
		n.width -= len(t) - len(mantissa)
		if e < 0 {
			n.precision -= e
			n.width -= e
			if frac == "" { // the number shows a point that its text has not, or that was not counted
				n.width++
			}
		} else {
			if n.precision = max(0, n.precision-e); n.precision == 0 && frac != "" {
				n.width--
			}
			n.width += e - min(e, len(frac))
		}
	}
	return n
}

func allInts(ns ...seqNumber) bool {
	for _, n := range ns {
		if n.precision != 0 || strings.ContainsAny(n.text, ".eExXpPiI") || math.Abs(n.value) >= 1<<53 {
			return false
		}
	}
	return true
}

func allDigits(ns ...seqNumber) bool {
	for _, n := range ns {
		if len(n.text) > 4096 || strings.Trim(strings.TrimPrefix(n.text, "-"), "0123456789") != "" {
			return false
		}
	}
	return true
}

// seqBig counts with numbers that a float cannot hold.
func seqBig(p *proc.Process, first, step, last, sep string, equal bool) {
	var a, d, z big.Int
	a.SetString(first, 10)
	d.SetString(step, 10)
	z.SetString(last, 10)
	width := 0
	if equal {
		width = max(len(first), len(last))
	}
	for n := 0; a.Cmp(&z)*d.Sign() <= 0; n++ {
		if n > 0 {
			p.Out.WriteString(sep)
		}
		s := a.String()
		if pad := width - len(s); pad > 0 {
			if a.Sign() < 0 {
				p.Out.WriteByte('-')
				s = s[1:]
			}
			p.Out.WriteString(strings.Repeat("0", pad))
		}
		p.Out.WriteString(s)
		p.Tick(1)
		a.Add(&a, &d)
		if z := a.Cmp(&z) * d.Sign(); z > 0 {
			p.Out.WriteByte('\n')
			return
		}
	}
}

func seqInts(p *proc.Process, first, step, last seqNumber, sep string, equal bool) {
	a, d, z := int64(first.value), int64(step.value), int64(last.value)
	width := 0
	if equal {
		width = max(len(strconv.FormatInt(a, 10)), len(strconv.FormatInt(z, 10)), first.width, last.width)
	}
	if d > 0 && a > z || d < 0 && a < z {
		return
	}
	buf := make([]byte, 0, 4096)
	for n := 0; ; n++ {
		if n > 0 {
			buf = append(buf, sep...)
		}
		if width > 0 {
			buf = appendPadded(buf, a, width)
		} else {
			buf = strconv.AppendInt(buf, a, 10)
		}
		if len(buf) > 3500 {
			p.Out.Write(buf)
			p.Tick(1)
			buf = buf[:0]
		}
		if d > 0 && a > z-d || d < 0 && a < z-d {
			break
		}
		a += d
	}
	p.Out.Write(append(buf, '\n'))
}

func appendPadded(b []byte, v int64, width int) []byte {
	s := strconv.FormatInt(v, 10)
	if v < 0 {
		b = append(b, '-')
		s = s[1:]
		width--
	}
	for n := width - len(s); n > 0; n-- {
		b = append(b, '0')
	}
	return append(b, s...)
}

func seqFloats(p *proc.Process, first, step, last seqNumber, sep string, format *string, equal bool) {
	precision := max(first.precision, step.precision)
	show := func(v float64) string {
		if format != nil {
			return formatFloat(*format, v)
		}
		if first.precision < 0 || step.precision < 0 || last.precision < 0 || math.IsInf(v, 0) {
			return program.CFloat('g', v, 6, false)
		}
		return strconv.FormatFloat(v, 'f', precision, 64)
	}
	if equal && first.precision >= 0 && step.precision >= 0 && last.precision >= 0 {
		// Widths of the operands in the common precision.
		wf := first.width + precision - first.precision
		wl := last.width + precision - last.precision
		if last.precision > 0 && precision == 0 {
			wl--
		}
		if last.precision == 0 && precision > 0 {
			wl++
		}
		if first.precision == 0 && precision > 0 {
			wf++
		}
		width := max(wf, wl)
		plain := show
		show = func(v float64) string {
			s := plain(v)
			if n := width - len(s); n > 0 {
				neg := strings.HasPrefix(s, "-")
				s = strings.TrimPrefix(s, "-")
				s = strings.Repeat("0", n) + s
				if neg {
					s = "-" + s
				}
			}
			return s
		}
	}
	past := func(v float64) bool {
		if step.value < 0 {
			return v < last.value
		}
		return v > last.value
	}
	if past(first.value) {
		return
	}
	for i := 0.0; ; i++ {
		v := first.value + i*step.value
		if past(v) {
			// Rounding may put the last number a little past the end.
			s := show(v)
			r, err := strconv.ParseFloat(s, 64)
			if format != nil || err != nil || r != last.value || i > 0 && show(first.value+(i-1)*step.value) == s {
				break
			}
		}
		if i > 0 {
			p.Out.WriteString(sep)
		}
		p.Out.WriteString(show(v))
		p.Tick(1)
	}
	p.Out.WriteByte('\n')
}

// checkSeqFormat returns what is wrong with a format, "" when it holds exactly one floating conversion.
func checkSeqFormat(f string) string {
	i := 0
	for ; ; i++ {
		if i >= len(f) {
			return "has no % directive"
		}
		if f[i] == '%' {
			if i+1 < len(f) && f[i+1] == '%' {
				i++
				continue
			}
			break
		}
	}
	i++
	for i < len(f) && strings.IndexByte("-+#0 '", f[i]) >= 0 {
		i++
	}
	for i < len(f) && program.IsDigit(f[i]) {
		i++
	}
	if i < len(f) && f[i] == '.' {
		for i++; i < len(f) && program.IsDigit(f[i]); i++ {
		}
	}
	if i < len(f) && f[i] == 'L' {
		i++
	}
	if i >= len(f) {
		return "ends in %"
	}
	if strings.IndexByte("efgaEFGA", f[i]) < 0 {
		return "has unknown %" + f[i:i+1] + " directive"
	}
	for i++; i < len(f); i++ {
		if f[i] == '%' {
			if i+1 < len(f) && f[i+1] == '%' {
				i++
				continue
			}
			return "has too many % directives"
		}
	}
	return ""
}

// formatFloat applies a checked format.
func formatFloat(f string, v float64) string {
	var b strings.Builder
	for i := 0; i < len(f); i++ {
		if f[i] != '%' {
			b.WriteByte(f[i])
			continue
		}
		if f[i+1] == '%' {
			b.WriteByte('%')
			i++
			continue
		}
		j := i + 1
		for strings.IndexByte("efgaEFGA", f[j]) < 0 {
			j++
		}
		spec := strings.NewReplacer("'", "", "L", "").Replace(f[i+1 : j])
		i = j
		flags := spec[:len(spec)-len(strings.TrimLeft(spec, "-+#0 "))]
		widthText, precText, hasPrec := strings.Cut(spec[len(flags):], ".")
		width, _ := strconv.Atoi(widthText) // "" is no width
		prec := 6
		if hasPrec {
			prec, _ = strconv.Atoi(precText) // "" is zero
		}
		width, prec = min(width, 4096), min(prec, 4096)
		verb := f[j]
		var s string
		switch verb {
		case 'a', 'A':
			s = fmt.Sprintf("%x", v)
		default:
			s = program.CFloat(verb, v, prec, strings.Contains(flags, "#"))
		}
		sign := ""
		if strings.HasPrefix(s, "-") {
			sign, s = "-", s[1:]
		} else if strings.Contains(flags, "+") {
			sign = "+"
		} else if strings.Contains(flags, " ") {
			sign = " "
		}
		n := width - len(sign) - len(s)
		switch {
		case n <= 0:
			b.WriteString(sign + s)
		case strings.Contains(flags, "-"):
			b.WriteString(sign + s + strings.Repeat(" ", n))
		case strings.Contains(flags, "0") && !math.IsInf(v, 0):
			b.WriteString(sign + strings.Repeat("0", n) + s)
		default:
			b.WriteString(strings.Repeat(" ", n) + sign + s)
		}
	}
	return b.String()
}
