package text

import (
	"context"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var numfmtSpec = getopt.New("d:z",
	"debug delimiter:=d field: format: from: from-unit: grouping header:: invalid: padding: round: suffix: to: to-unit: zero-terminated=z").
	WithUsage("[OPTION]... [NUMBER]...", "Reformat NUMBER(s), or the numbers from standard input if none are specified.")

// numfmtPrecision is the mantissa of the long doubles that the real tool counts with: what it rounds depends on it.
const numfmtPrecision = 64

const (
	numfmtUnscaled = 18 // digits without a unit
	numfmtLargest  = 33 // digits at all
)

type numfmtRun struct {
	p                    *proc.Process
	from, to, round      string
	fromUnit, toUnit     int64
	invalid              string
	padding              int
	left                 bool
	zeroWidth            int
	autoPadding          bool
	prefix, tail, suffix string
	precision            int // of --format, -1: as the input
	delim                int // -1: blanks
	fields               []span
	debug                bool
	failed               bool
	end                  byte
}

func newFloat(v float64) *big.Float { return new(big.Float).SetPrec(numfmtPrecision).SetFloat64(v) }

func numfmt(_ context.Context, p *proc.Process) int {
	opts, args := numfmtSpec.Parse(p)
	n := &numfmtRun{p: p, from: "none", to: "none", round: "from-zero", fromUnit: 1, toUnit: 1, invalid: "abort",
		precision: -1, delim: -1, end: '\n'}
	header, format, grouping, hasFormat, hasField := int64(0), "", false, false, false
	for _, o := range opts {
		switch o.Key {
		case "d":
			if len(o.Value) > 1 {
				p.Errorf("the delimiter must be a single character")
				return 1
			}
			n.delim = 0
			if o.Value != "" {
				n.delim = int(o.Value[0])
			}
		case "z":
			n.end = 0
		case "debug":
			n.debug = true
		case "field":
			if hasField {
				p.Errorf("multiple field specifications")
				return 1
			}
			hasField = true
			spans, problem := []span{{1, int(^uint(0) >> 1)}}, ""
			if o.Value != "-" {
				spans, problem = parseSpans(o.Value, true)
			}
			if problem != "" {
				numfmtSpec.Fail(p, "%s", problem)
			}
			n.fields = mergeSpans(spans, false)
		case "format":
			format, hasFormat = o.Value, true
		case "from":
			n.from = program.Choose(p, numfmtSpec, o.Key, o.Value, "none", "auto", "si", "iec", "iec-i")
		case "to":
			n.to = program.Choose(p, numfmtSpec, o.Key, o.Value, "none", "si", "iec", "iec-i")
		case "from-unit":
			n.fromUnit = n.unit(o.Value)
		case "to-unit":
			n.toUnit = n.unit(o.Value)
		case "grouping":
			grouping = true
		case "header":
			header = 1
			if o.Has {
				var problem program.NumberProblem
				if header, problem = program.ParseCount(o.Value, ""); problem != program.NumberOK || header == 0 {
					p.Errorf("invalid header value %s", program.Quote(o.Value))
					return 1
				}
			}
		case "invalid":
			n.invalid = program.Choose(p, numfmtSpec, o.Key, o.Value, "abort", "fail", "warn", "ignore")
		case "padding":
			v, err := strconv.Atoi(o.Value)
			if err != nil || v == 0 || v == math.MinInt {
				p.Errorf("invalid padding value %s", program.Quote(o.Value))
				return 1
			}
			n.padding, n.left = min(max(v, -v), 1<<20), v < 0
		case "round":
			n.round = program.Choose(p, numfmtSpec, o.Key, o.Value, "up", "down", "from-zero", "towards-zero", "nearest")
		case "suffix":
			n.suffix = o.Value
		}
	}
	switch {
	case hasFormat && grouping:
		p.Errorf("--grouping cannot be combined with --format")
		return 1
	case n.debug && n.from == "none" && n.to == "none" && !grouping && n.padding == 0 && !hasFormat:
		p.Errorf("no conversion option specified")
	}
	if hasFormat {
		grouping = n.parseFormat(format) || grouping
	}
	if grouping {
		if n.to != "none" {
			p.Errorf("grouping cannot be combined with --to")
			return 1
		}
		if n.debug {
			p.Errorf("grouping has no effect in this locale")
		}
	}
	if n.fields == nil {
		n.fields = []span{{1, 1}}
	}
	n.autoPadding = n.padding == 0 && n.delim < 0
	status := 0
	if len(args) > 0 {
		if n.debug && header > 0 {
			p.Errorf("--header ignored with command-line input")
		}
		for _, a := range args {
			n.line(a)
			p.Out.WriteByte(n.end)
		}
	} else {
		status = program.EachInput(p, nil, func(_ string, r io.Reader) error {
			l := program.NewLineReader(p, r, n.end)
			defer l.Close()
			for raw, ok := l.Next(); ok; raw, ok = l.Next() {
				if header > 0 {
					header--
					p.Out.Write(raw)
					continue
				}
				text := program.Chomp(raw, n.end)
				n.line(string(text))
				if len(text) < len(raw) {
					p.Out.WriteByte(n.end)
				}
			}
			return l.Err
		})
	}
	if n.failed {
		if n.debug {
			p.Errorf("failed to convert some of the input numbers")
		}
		if n.invalid == "fail" {
			status = 2
		}
	}
	return status
}

func (n *numfmtRun) unit(s string) int64 {
	digits := 0
	for digits < len(s) && program.IsDigit(s[digits]) {
		digits++
	}
	base, suffix := int64(1), s[digits:]
	v, err := strconv.ParseInt(s[:digits], 10, 64)
	if digits == 0 && suffix != "" {
		v, err = 1, nil
	}
	if suffix != "" {
		power := strings.IndexByte("KMGTPE", suffix[0]) + 1
		scale := int64(1000)
		rest := suffix[1:]
		if rest == "i" {
			scale, rest = 1024, ""
		}
		if power == 0 || rest != "" {
			err = strconv.ErrSyntax
		}
		for range power {
			if base > (1<<63-1)/scale {
				err = strconv.ErrRange
				break
			}
			base *= scale
		}
	}
	if err != nil || v == 0 || v > (1<<63-1)/base {
		n.p.Errorf("invalid unit size: %s", program.Quote(s))
		n.p.Exit(1)
	}
	return v * base
}

// parseFormat reads --format and reports whether it asks for grouping.
func (n *numfmtRun) parseFormat(f string) (grouping bool) {
	fail := func(format string, args ...any) {
		n.p.Errorf(format, args...)
		n.p.Exit(1)
	}
	i := 0
	for ; i < len(f) && (f[i] != '%' || i+1 < len(f) && f[i+1] == '%'); i++ {
		if f[i] == '%' {
			i++
		}
	}
	if i >= len(f) {
		fail("format %s has no %% directive", program.Quote(f))
	}
	n.prefix = strings.ReplaceAll(f[:i], "%%", "%")
	i++
	zero := false
	for i < len(f) && strings.IndexByte(" '0", f[i]) >= 0 {
		grouping = grouping || f[i] == '\''
		zero = zero || f[i] == '0'
		i++
	}
	start := i
	if i < len(f) && f[i] == '-' {
		i++
	}
	for i < len(f) && program.IsDigit(f[i]) {
		i++
	}
	if width, err := strconv.Atoi(f[start:i]); err == nil && width != 0 {
		switch {
		case width < 0:
			n.padding, n.left = min(-width, 1<<20), true
		case zero:
			n.zeroWidth = min(width, 1<<20)
		default:
			n.padding, n.left = min(width, 1<<20), false
		}
	}
	if i == len(f) {
		fail("format %s ends in %%", program.Quote(f))
	}
	if f[i] == '.' {
		i++
		start = i
		for i < len(f) && program.IsDigit(f[i]) {
			i++
		}
		n.precision = 0
		if i > start {
			v, err := strconv.Atoi(f[start:i])
			if err != nil || v > 4096 {
				fail("invalid precision in format %s", program.Quote(f))
			}
			n.precision = v
		} else if i < len(f) && strings.IndexByte("-+ ", f[i]) >= 0 {
			fail("invalid precision in format %s", program.Quote(f))
		}
	}
	if i == len(f) || f[i] != 'f' {
		fail("invalid format %s, directive must be %%[0]['][-][N][.][N]f", program.Quote(f))
	}
	rest := f[i+1:]
	if strings.Contains(strings.ReplaceAll(rest, "%%", ""), "%") {
		fail("format %s has too many %% directives", program.Quote(f))
	}
	n.tail = rest // as it is, unlike what stands before
	return grouping
}

func (n *numfmtRun) wanted(field int) bool {
	for _, s := range n.fields {
		if field >= s.lo && field <= s.hi {
			return true
		}
	}
	return false
}

func (n *numfmtRun) line(s string) {
	for field := 1; ; field++ {
		n.p.Tick(1)
		end := 0
		if n.delim >= 0 {
			if end = strings.IndexByte(s, byte(n.delim)); end < 0 {
				end = len(s)
			}
		} else {
			for end < len(s) && isBlank(s[end]) {
				end++
			}
			for end < len(s) && !isBlank(s[end]) {
				end++
			}
		}
		n.field(s[:end], field)
		if end == len(s) {
			return
		}
		sep := byte(' ')
		if n.delim >= 0 {
			sep = byte(n.delim)
		}
		n.p.Out.WriteByte(sep)
		s = s[end+1:]
	}
}

func (n *numfmtRun) field(text string, field int) {
	if !n.wanted(field) {
		n.p.Out.WriteString(text)
		return
	}
	out, ok := n.convert(text, field)
	if !ok {
		n.failed = true
		n.p.Out.WriteString(text)
		return
	}
	n.p.Out.WriteString(n.prefix + out + n.tail)
}

// bad reports a number that is none.
func (n *numfmtRun) bad(format string, args ...any) {
	if n.invalid == "ignore" {
		return
	}
	n.p.Errorf(format, args...)
	if n.invalid == "abort" {
		n.p.Exit(2)
	}
}

func (n *numfmtRun) convert(text string, field int) (string, bool) {
	number := text
	if n.suffix != "" && len(text) > len(n.suffix) {
		number = strings.TrimSuffix(text, n.suffix)
	}
	body := strings.TrimLeft(number, " \t\n")
	if n.autoPadding {
		n.padding = 0
		if len(body) < len(number) || field > 1 {
			n.padding = len(number)
		}
	}
	v, precision, rest, ok := n.parse(body)
	if !ok {
		return "", false
	}
	if rest != "" {
		n.bad("invalid suffix in input %s: %s", program.Quote(body), program.Quote(rest))
		return "", false
	}
	if n.fromUnit != 1 || n.toUnit != 1 {
		v.Mul(v, new(big.Float).SetPrec(numfmtPrecision).SetInt64(n.fromUnit))
		v.Quo(v, new(big.Float).SetPrec(numfmtPrecision).SetInt64(n.toUnit))
	}
	return n.show(v, precision)
}

const numfmtUnits = "KMGTPEZY"

// parse reads a number and its unit; rest is what follows them.
func (n *numfmtRun) parse(s string) (v *big.Float, precision int, rest string, ok bool) {
	t, negative := s, false
	if strings.HasPrefix(t, "-") {
		t, negative = t[1:], true
	}
	k := 0
	for k < len(t) && program.IsDigit(t[k]) {
		k++
	}
	whole, t := t[:k], t[k:]
	if whole == "" && !strings.HasPrefix(t, ".") {
		n.bad("invalid number: %s", program.Quote(s))
		return nil, 0, "", false
	}
	frac := ""
	if strings.HasPrefix(t, ".") {
		k = 1
		for k < len(t) && program.IsDigit(t[k]) {
			k++
		}
		if frac, t = t[1:k], t[k:]; frac == "" {
			n.bad("invalid number: %s", program.Quote(s))
			return nil, 0, "", false
		}
	}
	if len(strings.TrimLeft(whole, "0")) > 27 || len(frac) > 27 {
		n.bad("value too large to be converted: %s", program.Quote(s))
		return nil, 0, "", false
	}
	v = newFloat(0)
	digits := func(d string) *big.Float {
		f := newFloat(0)
		for _, c := range d {
			f.Mul(f, newFloat(10))
			f.Add(f, newFloat(float64(c-'0')))
		}
		return f
	}
	v.Add(v, digits(whole))
	if frac != "" {
		v.Add(v, new(big.Float).SetPrec(numfmtPrecision).Quo(digits(frac), powerOf(10, len(frac))))
		precision = len(frac)
	}
	if negative {
		v.Neg(v)
	}
	if t == "" {
		return v, precision, "", true
	}
	t = strings.TrimLeft(t, " \t")
	power := 0
	if t != "" {
		power = strings.IndexByte(numfmtUnits, t[0]) + 1
	}
	if power == 0 {
		n.bad("invalid suffix in input: %s", program.Quote(s))
		return nil, 0, "", false
	}
	if n.from == "none" {
		n.bad("rejecting suffix in input: %s (consider using --from)", program.Quote(s))
		return nil, 0, "", false
	}
	t = t[1:]
	base := 1000.0
	switch n.from {
	case "iec":
		base = 1024
	case "iec-i":
		if !strings.HasPrefix(t, "i") {
			n.bad("missing 'i' suffix in input: %s (e.g Ki/Mi/Gi)", program.Quote(s))
			return nil, 0, "", false
		}
		base, t = 1024, t[1:]
	case "auto":
		if strings.HasPrefix(t, "i") {
			base, t = 1024, t[1:]
		}
	}
	v.Mul(v, powerOf(base, power))
	return v, 0, t, true
}

func powerOf(base float64, n int) *big.Float {
	f := newFloat(1)
	for range n {
		f.Mul(f, newFloat(base))
	}
	return f
}

// rounded is v as a whole number, in the way asked for.
func (n *numfmtRun) rounded(v *big.Float) *big.Float {
	i, acc := v.Int(nil) // towards zero
	out := new(big.Float).SetPrec(numfmtPrecision)
	exact := acc == big.Exact
	away := false
	switch n.round {
	case "up":
		away = v.Sign() > 0
	case "down":
		away = v.Sign() < 0
	case "from-zero":
		away = true
	case "nearest":
		half := new(big.Float).SetPrec(numfmtPrecision).Sub(v, new(big.Float).SetInt(i))
		away = half.Abs(half).Cmp(newFloat(0.5)) >= 0
	}
	if away && !exact {
		i.Add(i, big.NewInt(int64(v.Sign())))
	}
	return out.SetInt(i)
}

func (n *numfmtRun) show(v *big.Float, precision int) (string, bool) {
	used := precision
	if n.precision >= 0 {
		used = n.precision
	}
	abs := new(big.Float).Abs(v)
	exponent := 0
	for x := new(big.Float).Copy(abs); x.Cmp(newFloat(10)) >= 0; exponent++ {
		x.Quo(x, newFloat(10))
	}
	if n.to == "none" && exponent+used > numfmtUnscaled {
		if used > 0 {
			n.bad("value/precision too large to be printed: '%s/%d' (consider using --to)", general6(v), used)
		} else {
			n.bad("value too large to be printed: '%s' (consider using --to)", general6(v))
		}
		return "", false
	}
	if exponent > numfmtLargest-1 {
		n.bad("value too large to be printed: '%s' (cannot handle values > 999Y)", general6(v))
		return "", false
	}
	text := ""
	if n.to == "none" {
		scale := powerOf(10, used)
		v = n.rounded(new(big.Float).SetPrec(numfmtPrecision).Mul(v, scale))
		v.Quo(v, scale)
		text = n.zeros(v.Text('f', used), 0)
	} else {
		text = n.scaled(v)
	}
	text += n.suffix
	if gap := n.padding - len(text); gap > 0 {
		if n.left {
			text += strings.Repeat(" ", gap)
		} else {
			text = strings.Repeat(" ", gap) + text
		}
	}
	return text, true
}

// zeros fills a number up to the width of --format=%0Nf.
func (n *numfmtRun) zeros(s string, taken int) string {
	gap := n.zeroWidth - len(s) - taken
	if gap <= 0 {
		return s
	}
	if strings.HasPrefix(s, "-") {
		return "-" + strings.Repeat("0", gap) + s[1:]
	}
	return strings.Repeat("0", gap) + s
}

func general6(v *big.Float) string {
	f, _ := v.Float64()
	return program.CFloat('g', f, 6, false)
}

func (n *numfmtRun) scaled(v *big.Float) string {
	base := 1024.0
	if n.to == "si" {
		base = 1000
	}
	v = new(big.Float).SetPrec(numfmtPrecision).Set(v)
	below := func(limit float64) bool { return new(big.Float).Abs(v).Cmp(newFloat(limit)) < 0 }
	power := 0
	for !below(base) {
		v.Quo(v, newFloat(base))
		power++
	}
	adjust := 0
	if n.precision >= 0 {
		adjust = min(power*3, n.precision)
	} else if below(10) {
		adjust = 1
	}
	scale := powerOf(10, adjust)
	v = n.rounded(v.Mul(v, scale))
	v.Quo(v, scale)
	if !below(base) {
		v.Quo(v, newFloat(base))
		power++
	}
	decimals := max(n.precision, 0)
	if n.precision < 0 && v.Sign() != 0 && below(10) && power > 0 {
		decimals = 1
	}
	unit := ""
	if power > 0 {
		unit = "?"
		if power <= len(numfmtUnits) {
			unit = numfmtUnits[power-1 : power]
		}
		if n.to == "iec-i" {
			unit += "i"
		}
	}
	return n.zeros(v.Text('f', decimals), 0) + unit
}
