package awk

import (
	"math"
	"strings"
)

// num compiles e for its number.
func (c *compiler) num(e expr) numFn {
	switch e := e.(type) {
	case *numLit:
		v := e.v
		return func(*interp) float64 { return v }
	case *group:
		if len(e.list) == 1 {
			return c.num(e.list[0])
		}
	case *varRef:
		c.wantScalar(e)
		if e.scope == scopeSpecial {
			slot := e.slot
			return func(in *interp) float64 {
				v := in.special(slot)
				return v.num()
			}
		}
		if e.scope == scopeLocal {
			slot := e.slot
			return func(in *interp) float64 { return in.frame.vals[slot].num() }
		}
		slot := c.globals[e.name].slot
		return func(in *interp) float64 { return in.globals[slot].num() }
	case *fieldRef:
		if lit, ok := e.idx.(*numLit); ok && lit.v >= 0 && lit.v < maxFields {
			n := int(lit.v)
			return func(in *interp) float64 { return in.field(n).num() }
		}
		idx := c.num(e.idx)
		return func(in *interp) float64 { return in.field(in.fieldIndex(idx(in))).num() }
	case *incdec:
		return c.incdec(e)
	case *builtinCall:
		if c.isNumeric(e) {
			return c.numBuiltin(e)
		}
	case *getline:
		return c.getline(e)
	case *unary:
		x := e.x
		switch e.op {
		case tMinus:
			f := c.num(x)
			return func(in *interp) float64 { return -f(in) }
		case tPlus:
			return c.num(x)
		}
	case *binary:
		if f := c.arith(e); f != nil {
			return f
		}
	}
	switch e.(type) {
	case *unary, *binary, *regexLit, *inExpr:
		f := c.cond(e)
		return func(in *interp) float64 {
			if f(in) {
				return 1
			}
			return 0
		}
	}
	f := c.val(e)
	return func(in *interp) float64 {
		v := f(in)
		return v.num()
	}
}

func (c *compiler) arith(e *binary) numFn {
	switch e.op {
	case tPlus, tMinus, tStar, tSlash, tPercent, tCaret:
	default:
		return nil
	}
	l, r := c.num(e.l), c.num(e.r)
	switch e.op {
	case tPlus:
		if k, ok := unparen(e.r).(*numLit); ok {
			v := k.v
			return func(in *interp) float64 { return l(in) + v }
		}
		return func(in *interp) float64 { a := l(in); return a + r(in) }
	case tMinus:
		return func(in *interp) float64 { a := l(in); return a - r(in) }
	case tStar:
		return func(in *interp) float64 { a := l(in); return a * r(in) }
	}
	op := binop(e.op)
	return func(in *interp) float64 { a := l(in); return op(in, a, r(in)) }
}

// binop is the function of an arithmetic operator or its assignment.
func binop(op token) func(in *interp, a, b float64) float64 {
	divAssign, mod := "", "%"
	switch op {
	case tDivAssign:
		divAssign = " in `/='"
	case tModAssign:
		mod = "%="
	}
	switch op {
	case tPlus, tAddAssign:
		return func(_ *interp, a, b float64) float64 { return a + b }
	case tMinus, tSubAssign:
		return func(_ *interp, a, b float64) float64 { return a - b }
	case tStar, tMulAssign:
		return func(_ *interp, a, b float64) float64 { return a * b }
	case tSlash, tDivAssign:
		return func(in *interp, a, b float64) float64 {
			if b == 0 {
				in.fatal("division by zero attempted%s", divAssign)
			}
			return a / b
		}
	case tPercent, tModAssign:
		return func(in *interp, a, b float64) float64 {
			if b == 0 {
				in.fatal("division by zero attempted in `%s'", mod)
			}
			return modulo(a, b)
		}
	}
	return func(_ *interp, a, b float64) float64 { return power(a, b) }
}

// modulo is fmod, by integer division where that is exact.
func modulo(a, b float64) float64 {
	if a >= 0 && a < 1<<53 && b >= 1 && b < 1<<53 {
		if x, y := int64(a), int64(b); float64(x) == a && float64(y) == b {
			return float64(x % y)
		}
	}
	return math.Mod(a, b)
}

func power(a, b float64) float64 {
	if n := int(b); float64(n) == b && n >= 0 && n <= 1024 {
		r := 1.0
		for ; n > 0; n >>= 1 {
			if n&1 != 0 {
				r *= a
			}
			a *= a
		}
		return r
	}
	return math.Pow(a, b)
}

// str compiles e for its string.
func (c *compiler) str(e expr) strFn {
	switch e := e.(type) {
	case *strLit:
		s := e.s
		return func(*interp) string { return s }
	case *group:
		if len(e.list) == 1 {
			return c.str(e.list[0])
		}
	case *concat:
		parts := make([]strFn, len(e.parts))
		for i, x := range e.parts {
			parts[i] = c.str(x)
		}
		if len(parts) == 2 {
			a, b := parts[0], parts[1]
			return func(in *interp) string {
				x := a(in)
				y := b(in)
				in.checkSize(len(x) + len(y))
				return x + y
			}
		}
		return func(in *interp) string {
			var stack [8]string
			list := stack[:0]
			for _, f := range parts {
				list = append(list, f(in))
			}
			return in.join(list)
		}
	case *fieldRef:
		if lit, ok := e.idx.(*numLit); ok && lit.v == 0 {
			return func(in *interp) string { return in.record() }
		}
	}
	f := c.val(e)
	return func(in *interp) string {
		v := f(in)
		return in.str(v)
	}
}

// join concatenates.
func (in *interp) join(list []string) string {
	n := 0
	for _, s := range list {
		n += len(s)
	}
	in.checkSize(n)
	return strings.Join(list, "")
}

// cond compiles e for its truth.
func (c *compiler) cond(e expr) boolF {
	switch e := e.(type) {
	case *group:
		if len(e.list) == 1 {
			return c.cond(e.list[0])
		}
	case *regexLit:
		src := e.src
		re := c.constRegex(src)
		return func(in *interp) bool { return re(in).match(in.record()) }
	case *unary:
		if e.op == tNot {
			f := c.cond(e.x)
			return func(in *interp) bool { return !f(in) }
		}
	case *inExpr:
		arr, key := c.arr(e.arr), c.subscript(e.subs)
		return func(in *interp) bool {
			k := key(in)
			return arr(in).has(k)
		}
	case *binary:
		switch e.op {
		case tAnd:
			l, r := c.cond(e.l), c.cond(e.r)
			return func(in *interp) bool { return l(in) && r(in) }
		case tOr:
			l, r := c.cond(e.l), c.cond(e.r)
			return func(in *interp) bool { return l(in) || r(in) }
		case tTilde, tNoMatch:
			s, re := c.str(e.l), c.regexArg(e.r)
			want := e.op == tTilde
			return func(in *interp) bool {
				t := s(in)
				return re(in).match(t) == want
			}
		case tLt, tLe, tGt, tGe, tEq, tNe:
			return c.comparison(e)
		}
		f := c.num(e)
		return func(in *interp) bool { return f(in) != 0 }
	case *incdec, *numLit, *getline:
		f := c.num(e)
		return func(in *interp) bool { return f(in) != 0 }
	}
	f := c.val(e)
	return func(in *interp) bool {
		v := f(in)
		return v.truth()
	}
}

func (c *compiler) comparison(e *binary) boolF {
	op := e.op
	if c.isNumeric(e.l) && c.isNumeric(e.r) {
		return c.numComparison(e)
	}
	if lit, ok := unparen(e.r).(*strLit); ok && (op == tEq || op == tNe) {
		l := c.str(e.l)
		want, eq := lit.s, op == tEq
		return func(in *interp) bool {
			s := l(in)
			if in.ignoreCase {
				return strings.EqualFold(s, want) == eq
			}
			return (s == want) == eq
		}
	}
	l, r := c.val(e.l), c.val(e.r)
	test := order(op)
	return func(in *interp) bool {
		a := l(in)
		b := r(in)
		if a.k == kNum && b.k == kNum {
			return test(a.n, b.n)
		}
		if op != tEq && op != tNe && (a.n != a.n || b.n != b.n) {
			a.num()
			b.num()
		}
		return test(float64(in.compare(&a, &b)), 0)
	}
}

func order(op token) func(a, b float64) bool {
	switch op {
	case tLt:
		return func(a, b float64) bool { return a < b }
	case tLe:
		return func(a, b float64) bool { return a <= b }
	case tGt:
		return func(a, b float64) bool { return a > b }
	case tGe:
		return func(a, b float64) bool { return a >= b }
	case tEq:
		return func(a, b float64) bool { return a == b }
	}
	return func(a, b float64) bool { return a != b }
}

func (c *compiler) numComparison(e *binary) boolF {
	l, r := c.num(e.l), c.num(e.r)
	switch e.op {
	case tLt:
		return func(in *interp) bool { a := l(in); return a < r(in) }
	case tLe:
		return func(in *interp) bool { a := l(in); return a <= r(in) }
	case tGt:
		return func(in *interp) bool { a := l(in); return a > r(in) }
	case tGe:
		return func(in *interp) bool { a := l(in); return a >= r(in) }
	case tEq:
		return func(in *interp) bool { a := l(in); return a == r(in) }
	}
	return func(in *interp) bool { a := l(in); return a != r(in) }
}

// constRegex compiles a regex literal when the program first needs it, once per run and
// setting of IGNORECASE.
func (c *compiler) constRegex(src string) func(in *interp) *regex {
	slot := c.prog.nRegexes
	c.prog.nRegexes++
	return func(in *interp) *regex {
		r := in.constRegexes[slot]
		if r == nil {
			r = in.regexOf(src)
			in.constRegexes[slot] = r
		}
		return r
	}
}

// regexArg compiles an expression used as a regular expression.
func (c *compiler) regexArg(e expr) func(in *interp) *regex {
	switch e := unparen(e).(type) {
	case *regexLit:
		return c.constRegex(e.src)
	case *strLit:
		return c.constRegex(e.s)
	}
	s := c.str(e)
	return func(in *interp) *regex { return in.regexOf(s(in)) }
}
