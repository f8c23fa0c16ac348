package awk

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/datetime"
)

// numBuiltin compiles a built-in function whose result is a number.
func (c *compiler) numBuiltin(e *builtinCall) numFn {
	args := e.args
	switch e.fn {
	case fLength:
		return c.length(args)
	case fIndex:
		s, t := c.str(args[0]), c.str(args[1])
		return func(in *interp) float64 {
			x := s(in)
			y := t(in)
			if y == "" {
				return 1
			}
			if in.ignoreCase {
				x, y = strings.ToLower(x), strings.ToLower(y)
			}
			i := strings.Index(x, y)
			if i < 0 {
				return 0
			}
			return float64(in.count(x[:i]) + 1)
		}
	case fSplit:
		return c.split(args)
	case fPatsplit:
		return c.patsplit(args)
	case fSub, fGsub:
		return c.substitute(e)
	case fMatch:
		return c.matchCall(args)
	case fSin:
		return c.math1(args, math.Sin)
	case fCos:
		return c.math1(args, math.Cos)
	case fExp:
		return c.exp(args)
	case fLog:
		return c.domain(args, "log", math.Log)
	case fSqrt:
		return c.domain(args, "sqrt", math.Sqrt)
	case fInt:
		return c.math1(args, math.Trunc)
	case fAtan2:
		y, x := c.num(args[0]), c.num(args[1])
		return func(in *interp) float64 { a := y(in); return math.Atan2(a, x(in)) }
	case fRand:
		return func(in *interp) float64 { return in.random() }
	case fSrand:
		if len(args) == 0 {
			return func(in *interp) float64 {
				old := in.seed
				in.srand(float64(in.p.Now().Unix()))
				return old
			}
		}
		seed := c.num(args[0])
		return func(in *interp) float64 {
			old := in.seed
			in.srand(seed(in))
			return old
		}
	case fSystem:
		cmd := c.str(args[0])
		return func(in *interp) float64 { return in.system(cmd(in)) }
	case fClose:
		name := c.str(args[0])
		how := func(*interp) string { return "" }
		if len(args) == 2 {
			how = c.str(args[1])
		}
		return func(in *interp) float64 { n := name(in); return in.closeNamed(n, how(in)) }
	case fFflush:
		if len(args) == 0 {
			return func(in *interp) float64 { return in.flush("", true) }
		}
		name := c.str(args[0])
		return func(in *interp) float64 { n := name(in); return in.flush(n, n == "") }
	case fMktime:
		spec := c.str(args[0])
		utc := func(*interp) bool { return false }
		if len(args) == 2 {
			utc = c.cond(args[1])
		}
		return func(in *interp) float64 { s := spec(in); return in.mktime(s, utc(in)) }
	case fSystime:
		return func(in *interp) float64 { return float64(in.p.Now().Unix()) }
	case fAsort, fAsorti:
		return c.asort(e)
	case fStrtonum:
		v := c.val(args[0])
		return func(in *interp) float64 {
			x := v(in)
			if x.k == kNum || x.k == kStrnum {
				return x.n
			}
			return strtonum(in.str(x))
		}
	case fAnd, fOr, fXor:
		return c.bitwise(e)
	case fLshift, fRshift:
		l, r := c.num(args[0]), c.num(args[1])
		left, name := e.fn == fLshift, builtinTable[e.fn].name
		return func(in *interp) float64 {
			a, b := in.bits(name, 1, l(in)), in.bits(name, 2, r(in))
			if left {
				return adjust(a << b)
			}
			return adjust(a >> b)
		}
	case fCompl:
		x := c.num(args[0])
		return func(in *interp) float64 { return adjust(^in.bits("compl", 1, x(in))) }
	case fIsarray:
		if c.isArrayArg(args[0]) {
			return func(*interp) float64 { return 1 }
		}
		if ix, ok := unparen(args[0]).(*indexRef); ok {
			cell := c.cell(ix)
			return func(in *interp) float64 {
				if cell(in).sub != nil {
					return 1
				}
				return 0
			}
		}
		x := c.val(args[0])
		return func(in *interp) float64 { x(in); return 0 }
	case fMkbool:
		f := c.cond(args[0])
		return func(in *interp) float64 {
			if f(in) {
				return 1
			}
			return 0
		}
	}
	panic("awk: unknown function")
}

func (c *compiler) isArrayArg(e expr) bool {
	v, ok := unparen(e).(*varRef)
	return ok && c.isArrayRef(v)
}

func (c *compiler) math1(args []expr, f func(float64) float64) numFn {
	x := c.num(args[0])
	return func(in *interp) float64 { return f(x(in)) }
}

// domain is math1 for functions that do not take negative numbers.
func (c *compiler) exp(args []expr) numFn {
	x := c.num(args[0])
	return func(in *interp) float64 {
		v := x(in)
		r := math.Exp(v)
		if (r == 0 || math.IsInf(r, 0)) && !math.IsInf(v, 0) {
			in.p.Errorf("%swarning: exp: argument %s is out of range", in.where(), in.numStr(v, "%.6g"))
		}
		return r
	}
}

func (c *compiler) domain(args []expr, name string, f func(float64) float64) numFn {
	x := c.num(args[0])
	return func(in *interp) float64 {
		v := x(in)
		if v < 0 {
			in.p.Errorf("%swarning: %s: received negative argument %s", in.where(), name, in.numStr(v, "%.6g"))
			return math.Copysign(math.NaN(), -1)
		}
		return f(v)
	}
}

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

// splitterArg compiles the separator argument of split.
func (c *compiler) splitterArg(e expr) func(in *interp) *splitter {
	if re, ok := unparen(e).(*regexLit); ok {
		if re.src == "" {
			return func(in *interp) *splitter { return in.separator("", false) }
		}
		r := c.constRegex(re.src)
		return func(in *interp) *splitter { return &splitter{kind: splitRegex, re: r(in)} }
	}
	s := c.str(e)
	return func(in *interp) *splitter { return in.separator(s(in), false) }
}

func (c *compiler) split(args []expr) numFn {
	s, arr := c.str(args[0]), c.arr(unparen(args[1]))
	sep := func(in *interp) *splitter {
		if in.splitBy != vFS {
			return in.separator(in.str(in.specials[vFS]), false)
		}
		return in.fs
	}
	if len(args) > 2 {
		sep = c.splitterArg(args[2])
	}
	var seps arrFn
	if len(args) > 3 {
		seps = c.arr(unparen(args[3]))
	}
	return func(in *interp) float64 {
		text := s(in)
		sp := sep(in)
		a := arr(in)
		in.clear(a)
		var sa *array
		if seps != nil {
			if sa = seps(in); sa == a {
				in.fatal("split: cannot use the same array for second and fourth args")
			}
			in.clear(sa)
		}
		n, pos, end := 0, 0, 0
		keep := func(f float64, t string, k kind) value { return value{s: t, k: k, view: true, n: f} }
		for pos >= 0 {
			from, to, next := sp.next(text, pos)
			if from < 0 {
				break
			}
			if sa != nil && (n > 0 || sp.kind == splitSpace && from > 0) {
				in.store(&in.getNum(sa, float64(n)).v, keep(0, text[end:from], kStr))
			}
			n++
			in.p.Tick(1)
			in.store(&in.getNum(a, float64(n)).v, keep(0, text[from:to], kInput))
			pos, end = next, to
		}
		if sa != nil && sp.kind == splitSpace && end < len(text) && n > 0 {
			in.store(&in.getNum(sa, float64(n)).v, keep(0, text[end:], kStr))
		}
		return float64(n)
	}
}

func (c *compiler) patsplit(args []expr) numFn {
	s, arr := c.str(args[0]), c.arr(unparen(args[1]))
	pat := func(in *interp) *regex { return in.regexOf(in.str(in.specials[vFPAT])) }
	if len(args) > 2 {
		pat = c.regexArg(args[2])
	}
	var seps arrFn
	if len(args) > 3 {
		seps = c.arr(unparen(args[3]))
	}
	return func(in *interp) float64 {
		text := s(in)
		re := pat(in)
		a := arr(in)
		in.clear(a)
		var sa *array
		if seps != nil {
			sa = seps(in)
			in.clear(sa)
		}
		n, last := 0, 0
		eachPattern(text, re, func(sep, from, to int) {
			if sa != nil {
				in.store(&in.getNum(sa, float64(n)).v, value{s: text[sep:from], k: kStr, view: true})
			}
			n++
			last = to
			in.store(&in.getNum(a, float64(n)).v, value{s: text[from:to], k: kInput, view: true})
		})
		if sa != nil {
			in.store(&in.getNum(sa, float64(n)).v, value{s: text[last:], k: kStr, view: true})
		}
		return float64(n)
	}
}

// piece is a part of a replacement text: literal, or a group when lit is nil.
type piece struct {
	lit   string
	group int // -1: lit
}

// replacement parses the text of sub, gsub and, with groups, gensub.
func replacement(s string, groups bool) []piece {
	var out []piece
	var lit []byte
	emit := func(g int) {
		if len(lit) > 0 {
			out = append(out, piece{string(lit), -1})
			lit = nil
		}
		out = append(out, piece{group: g})
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '&':
			emit(0)
		case c != '\\':
			lit = append(lit, c)
		case groups && i+1 < len(s):
			i++
			switch c = s[i]; {
			case isDigit(c):
				emit(int(c - '0'))
			case c == '&':
				lit = append(lit, '&')
			default:
				lit = append(lit, '\\', c)
				if c == '\\' {
					lit = lit[:len(lit)-1]
				}
			}
		case strings.HasPrefix(s[i:], `\\\&`):
			lit = append(lit, '\\', '&')
			i += 3
		case strings.HasPrefix(s[i:], `\\&`):
			lit = append(lit, '\\')
			i++
		case strings.HasPrefix(s[i:], `\&`):
			lit = append(lit, '&')
			i++
		default:
			lit = append(lit, c)
		}
	}
	if len(lit) > 0 {
		out = append(out, piece{string(lit), -1})
	}
	return out
}

// replace substitutes the which-th match (0: all) and returns the new text and the number of substitutions.
func (in *interp) replace(re *regex, pieces []piece, text string, which int) (string, int) {
	groups := false
	for _, p := range pieces {
		groups = groups || p.group > 0
	}
	var out []byte
	held := 0
	defer func() { in.p.Release(held) }()
	copied, pos, last, seen, n := 0, 0, -1, 0, 0
	for pos <= len(text) {
		var a, b int
		var loc []int
		if groups {
			if loc = re.submatches(text, pos); loc == nil {
				break
			}
			a, b = loc[0], loc[1]
		} else if a, b = re.find(text, pos); a < 0 {
			break
		}
		if a == b && a == last { // no empty match right behind a match
			pos = a + in.charLen(text, a)
			continue
		}
		seen++
		if which == 0 || seen == which {
			n++
			if out == nil {
				out = make([]byte, 0, len(text)+64)
			}
			out = append(out, text[copied:a]...)
			for _, p := range pieces {
				switch {
				case p.group < 0:
					out = append(out, p.lit...)
				case p.group == 0:
					out = append(out, text[a:b]...)
				case 2*p.group+1 < len(loc) && loc[2*p.group] >= 0:
					out = append(out, text[loc[2*p.group]:loc[2*p.group+1]]...)
				}
			}
			copied = b
			if more := cap(out) - held; more > memBatch {
				held += more
				in.p.Hold(more)
			}
		}
		if which != 0 && seen == which {
			break
		}
		last, pos = b, b
		if a == b {
			pos = a + in.charLen(text, a)
		}
		in.p.Tick(1)
	}
	if n == 0 {
		return text, 0
	}
	out = append(out, text[copied:]...)
	return view(out), n
}

func (in *interp) charLen(s string, i int) int {
	if i >= len(s) || in.bytes {
		return 1
	}
	_, n := utf8.DecodeRuneInString(s[i:])
	return n
}

// count is the number of characters of s.
func (in *interp) count(s string) int {
	if in.bytes {
		return len(s)
	}
	return utf8.RuneCountInString(s)
}

func (c *compiler) substitute(e *builtinCall) numFn {
	re, repl := c.regexArg(e.args[0]), c.str(e.args[1])
	which := 1
	if e.fn == fGsub {
		which = 0
	}
	var fixed []piece
	if lit, ok := unparen(e.args[1]).(*strLit); ok {
		fixed = replacement(lit.s, false)
		if fixed == nil {
			fixed = []piece{}
		}
	}
	get := func(in *interp) string { return in.record() }
	set := func(in *interp, v value) { in.setField(0, v) }
	if len(e.args) == 3 {
		target := e.args[2]
		get = c.str(target)
		if t := unparen(target); isLvalue(t) {
			set = c.setter(t)
		} else {
			set = func(*interp, value) {}
		}
	}
	return func(in *interp) float64 {
		r := re(in)
		pieces := fixed
		if pieces == nil {
			pieces = replacement(repl(in), false)
		}
		text := get(in)
		s, n := in.replace(r, pieces, text, which)
		if n > 0 {
			set(in, str(s))
		}
		return float64(n)
	}
}

func (c *compiler) matchCall(args []expr) numFn {
	s, re := c.str(args[0]), c.regexArg(args[1])
	var arr arrFn
	if len(args) == 3 {
		arr = c.arr(unparen(args[2]))
	}
	return func(in *interp) float64 {
		text := s(in)
		r := re(in)
		var loc []int
		if arr == nil {
			a, b := r.find(text, 0)
			if a >= 0 {
				loc = []int{a, b}
			}
		} else {
			loc = r.submatches(text, 0)
			in.clear(arr(in))
		}
		if loc == nil {
			in.specials[vRSTART], in.specials[vRLENGTH] = num(0), num(-1)
			return 0
		}
		start := float64(in.count(text[:loc[0]]) + 1)
		in.specials[vRSTART] = num(start)
		in.specials[vRLENGTH] = num(float64(in.count(text[loc[0]:loc[1]])))
		if arr != nil {
			a := arr(in)
			for i := 0; i+1 < len(loc); i += 2 {
				if loc[i] < 0 {
					continue
				}
				n := strconv.Itoa(i / 2)
				in.store(&in.get(a, n, false).v, value{s: text[loc[i]:loc[i+1]], k: kInput, view: true})
				at := float64(in.count(text[:loc[i]]) + 1)
				in.get(a, n+in.subsep+"start", false).v = num(at)
				in.get(a, n+in.subsep+"length", false).v = num(float64(in.count(text[loc[i]:loc[i+1]])))
			}
		}
		return start
	}
}

// bits is the operand of a bit operation.
func (in *interp) bits(name string, n int, f float64) uint64 {
	if f < 0 {
		in.fatal("%s: argument %d negative value %s is not allowed", name, n, in.numStr(f, "%.6g"))
	}
	if f >= 1<<64 || f != f {
		return math.MaxUint64
	}
	return uint64(f)
}

// adjust drops the high bits that a double could not hold.
func adjust(n uint64) float64 {
	if n == 0 {
		return 0
	}
	if keep := 53 + bits.TrailingZeros64(n); keep < 64 {
		n &= 1<<keep - 1
	}
	return float64(n)
}

func (c *compiler) bitwise(e *builtinCall) numFn {
	name := builtinTable[e.fn].name
	args := make([]numFn, len(e.args))
	for i, a := range e.args {
		args[i] = c.num(a)
	}
	return func(in *interp) float64 {
		r := in.bits(name, 1, args[0](in))
		for i, a := range args[1:] {
			b := in.bits(name, i+2, a(in))
			switch e.fn {
			case fAnd:
				r &= b
			case fOr:
				r |= b
			default:
				r ^= b
			}
		}
		return adjust(r)
	}
}

func strtonum(s string) float64 {
	u := s // blanks or a sign before it make it decimal
	base := 0.0
	switch {
	case len(u) > 1 && u[0] == '0' && (u[1] == 'x' || u[1] == 'X'):
		base, u = 16, u[2:]
	case len(u) > 1 && u[0] == '0' && !strings.ContainsAny(u, ".eE89"):
		base, u = 8, u[1:]
	default:
		f, _ := parsePrefix(strings.TrimLeft(s, " \t\n"))
		return f
	}
	v := 0.0
	for i := 0; i < len(u); i++ {
		d := hexVal(u[i])
		if d < 0 || float64(d) >= base {
			break
		}
		v = v*base + float64(d)
	}
	return v
}

// strBuiltin compiles a built-in function whose result is a string.
func (c *compiler) strBuiltin(e *builtinCall) valFn {
	args := e.args
	switch e.fn {
	case fSubstr:
		return c.substr(args)
	case fSprintf:
		format := c.str(args[0])
		rest := make([]valFn, len(args)-1)
		for i, a := range args[1:] {
			rest[i] = c.val(a)
		}
		return func(in *interp) value {
			f := format(in)
			var stack [8]value
			vs := stack[:0]
			for _, a := range rest {
				vs = append(vs, a(in))
			}
			var buf [128]byte
			b := in.sprintf(buf[:0], f, vs)
			in.checkSize(len(b))
			return str(string(b))
		}
	case fTolower, fToupper:
		s := c.str(args[0])
		ascii, wide := lowerByte, unicode.ToLower
		if e.fn == fToupper {
			ascii, wide = upperByte, unicode.ToUpper
		}
		return func(in *interp) value {
			if in.bytes {
				return str(mapCase(s(in), ascii, nil))
			}
			return str(mapCase(s(in), ascii, wide))
		}
	case fGensub:
		return c.gensub(args)
	case fStrftime:
		return c.strftime(args)
	case fTypeof:
		return c.typeof(args[0])
	}
	panic("awk: unknown function")
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

func (c *compiler) gensub(args []expr) valFn {
	re, repl, how := c.regexArg(args[0]), c.str(args[1]), c.val(args[2])
	target := func(in *interp) string { return in.record() }
	if len(args) == 4 {
		target = c.str(args[3])
	}
	return func(in *interp) value {
		r := re(in)
		pieces := replacement(repl(in), true)
		h := how(in)
		which := 1
		s := in.str(h)
		if s != "" && (s[0] == 'g' || s[0] == 'G') {
			which = 0
		} else if n := clampInt(h.num()); n >= 1 {
			which = n
		} else {
			in.p.Errorf("%swarning: gensub: third argument `%s' treated as 1", in.where(), s)
		}
		out, n := in.replace(r, pieces, target(in), which)
		return value{s: out, k: kStr, view: n == 0}
	}
}

func (c *compiler) typeof(e expr) valFn {
	fixed := func(s string) valFn { return func(*interp) value { return str(s) } }
	if c.isArrayArg(e) {
		return fixed("array")
	}
	switch x := unparen(e).(type) {
	case *regexLit:
		return fixed("number")
	case *varRef:
		if x.scope == scopeGlobal && !c.globals[x.name].scalar {
			ptr := c.ptr(x)
			return func(in *interp) value {
				v := ptr(in)
				if v.k == kUninit {
					return str("untyped")
				}
				return str(typeName(v))
			}
		}
	case *indexRef:
		cell := c.cell(x)
		return func(in *interp) value {
			k := cell(in)
			if k.sub != nil {
				return str("array")
			}
			if k.v.k == kUninit {
				return str("untyped")
			}
			return str(typeName(&k.v))
		}
	}
	f := c.val(e)
	return func(in *interp) value {
		v := f(in)
		return str(typeName(&v))
	}
}

func typeName(v *value) string {
	if v.k == kInput {
		v.settle()
	}
	switch v.k {
	case kNum:
		return "number"
	case kStrnum:
		return "strnum"
	case kStr:
		return "string"
	}
	return "unassigned"
}

// location is the time zone of the exec.
func (in *interp) location() *time.Location { return datetime.Zone(in.p.Getenv("TZ")) }

func (c *compiler) strftime(args []expr) valFn {
	format := func(in *interp) string {
		info := in.globalArray("PROCINFO")
		if info.has("strftime") {
			return in.str(in.get(info, "strftime", false).v)
		}
		return "%a %b %e %H:%M:%S %Z %Y"
	}
	if len(args) > 0 {
		format = c.str(args[0])
	}
	var stamp numFn
	if len(args) > 1 {
		stamp = c.num(args[1])
	}
	utc := func(*interp) bool { return false }
	if len(args) > 2 {
		utc = c.cond(args[2])
	}
	return func(in *interp) value {
		f := format(in)
		t := in.p.Now()
		if stamp != nil {
			s := stamp(in)
			if s != s || math.Abs(s) > 1<<50 {
				in.fatal("strftime: second argument less than 0 or too big for time_t")
			}
			t = time.Unix(int64(math.Floor(s)), 0)
		}
		loc := in.location()
		if utc(in) {
			loc = gmt
		}
		in.checkSize(len(f) * 4)
		f = nanoseconds.Replace(f)
		return str(datetime.Format(f, t.In(loc)))
	}
}

// nanoseconds makes %N what it is to strftime(3): nothing special.
var nanoseconds = strings.NewReplacer("%%", "%%", "%N", "%%N")

// gmt is the time zone of strftime's third argument, by the name that gmtime(3) gives it.
var gmt = time.FixedZone("GMT", 0)

func (in *interp) mktime(spec string, utc bool) float64 {
	fields := strings.Fields(spec)
	if len(fields) < 6 {
		return -1
	}
	var n [6]int
	for i := range n {
		f := fields[i]
		if i == len(n)-1 { // the scan stops at what is no digit
			if k := strings.IndexFunc(f, func(r rune) bool { return !unicode.IsDigit(r) && r != '-' && r != '+' }); k > 0 {
				f = f[:k]
			}
		}
		v, err := strconv.Atoi(f)
		if err != nil || v > 1<<30 || v < -1<<30 {
			return -1
		}
		n[i] = v
	}
	loc := in.location()
	if utc {
		loc = time.UTC
	}
	t := time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], 0, loc)
	if len(fields) > 6 {
		if dst, err := strconv.Atoi(fields[6]); err == nil && dst > 0 && !t.IsDST() {
			return float64(t.Unix() - 3600)
		}
	}
	return float64(t.Unix())
}

// element is one entry of an array being sorted.
type element struct {
	key string
	c   *cell
}

// ordering returns the comparison that a PROCINFO["sorted_in"] or asort argument names, nil when it names none.
func (in *interp) ordering(name string) func(a, b element) int {
	desc := strings.HasSuffix(name, "_desc")
	var f func(a, b element) int
	switch strings.TrimSuffix(strings.TrimSuffix(name, "_asc"), "_desc") {
	case "@ind_str":
		f = func(a, b element) int { return strings.Compare(a.key, b.key) }
	case "@ind_num":
		f = func(a, b element) int {
			x, _ := parsePrefix(a.key)
			y, _ := parsePrefix(b.key)
			return cmp.Or(cmp.Compare(x, y), strings.Compare(a.key, b.key))
		}
	case "@val_str":
		f = func(a, b element) int {
			if c, ok := arraysLast(a, b); ok {
				return c
			}
			return cmp.Or(strings.Compare(in.str(a.c.v), in.str(b.c.v)), strings.Compare(a.key, b.key))
		}
	case "@val_num":
		f = func(a, b element) int {
			if c, ok := arraysLast(a, b); ok {
				return c
			}
			return cmp.Or(cmp.Compare(a.c.v.num(), b.c.v.num()), strings.Compare(in.str(a.c.v), in.str(b.c.v)), strings.Compare(a.key, b.key))
		}
	case "@val_type":
		f = func(a, b element) int {
			return cmp.Or(in.compareTyped(a, b), strings.Compare(a.key, b.key))
		}
	default:
		fn := in.prog.funcs[name]
		if fn == nil || !fn.defined || len(fn.params) < 1 {
			return nil
		}
		return func(a, b element) int {
			in.p.Tick(1)
			v := in.callWith(fn, input(a.key), a.c.v, input(b.key), b.c.v)
			return cmp.Compare(v.num(), 0)
		}
	}
	if desc {
		return func(a, b element) int { return f(b, a) }
	}
	return f
}

func arraysLast(a, b element) (int, bool) {
	switch {
	case a.c.sub != nil && b.c.sub != nil:
		return strings.Compare(a.key, b.key), true
	case a.c.sub != nil:
		return 1, true
	case b.c.sub != nil:
		return -1, true
	}
	return 0, false
}

// compareTyped orders numbers before strings before arrays.
func (in *interp) compareTyped(a, b element) int {
	if c, ok := arraysLast(a, b); ok {
		return c
	}
	x, y := &a.c.v, &b.c.v
	if x.k == kInput {
		x.settle()
	}
	if y.k == kInput {
		y.settle()
	}
	switch {
	case x.k != kStr && y.k != kStr:
		return cmp.Compare(x.n, y.n)
	case x.k != kStr:
		return -1
	case y.k != kStr:
		return 1
	}
	if in.ignoreCase {
		return strings.Compare(strings.ToLower(x.s), strings.ToLower(y.s))
	}
	return strings.Compare(x.s, y.s)
}

// forKeys lists the subscripts that `for (k in a)` visits, in order.
func (in *interp) forKeys(a *array) []string {
	if info := in.globalArray("PROCINFO"); info.has("sorted_in") {
		how := in.str(in.get(info, "sorted_in", false).v)
		if f := in.ordering(how); f != nil {
			list := in.elements(a)
			slices.SortStableFunc(list, f)
			keys := make([]string, len(list))
			for i, e := range list {
				keys[i] = e.key
			}
			return keys
		}
		if how != "@unsorted" && how != "" {
			in.fatal("sort comparison function `%s' is not defined", how)
		}
	}
	return a.keys()
}

func (in *interp) elements(a *array) []element {
	keys := a.keys()
	list := make([]element, len(keys))
	for i, k := range keys {
		list[i] = element{k, a.m[k]}
	}
	in.checkSize(len(list) * 24)
	return list
}

func (c *compiler) asort(e *builtinCall) numFn {
	src := c.arr(unparen(e.args[0]))
	dst := src
	if len(e.args) > 1 {
		dst = c.arr(unparen(e.args[1]))
	}
	byIndex := e.fn == fAsorti
	how := func(*interp) string { return "" }
	if len(e.args) > 2 {
		how = c.str(e.args[2])
	}
	return func(in *interp) float64 {
		name := how(in)
		if name == "" {
			name = "@val_type_asc"
			if byIndex {
				name = "@ind_str_asc"
			}
		}
		f := in.ordering(name)
		if f == nil {
			in.fatal("sort comparison function `%s' is not defined", name)
		}
		list := in.elements(src(in))
		slices.SortStableFunc(list, f)
		out := make([]value, len(list))
		for i, x := range list {
			if byIndex {
				out[i] = str(x.key)
			} else {
				out[i] = x.c.v
			}
		}
		d := dst(in)
		in.clear(d)
		for i, v := range out {
			c := in.getNum(d, float64(i+1))
			in.store(&c.v, v)
			if !byIndex {
				c.sub = list[i].c.sub
			}
		}
		return float64(len(out))
	}
}
