package awk

import (
	"math"
	"strings"
	"unicode"
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
	case fDcgettext, fBindtextdomain: // there are no translations
		return c.text(args)
	case fDcngettext:
		n := c.num(args[2])
		one, many := c.text(args[:1]), c.text(args[1:2])
		return func(in *interp) value {
			a, b := one(in), many(in)
			if n(in) == 1 {
				return a
			}
			return b
		}
	}
	panic("awk: unknown function")
}

// text evaluates all arguments; its value is the first.
func (c *compiler) text(args []expr) valFn {
	all := make([]func(*interp) string, len(args))
	for i, a := range args {
		all[i] = c.str(a)
	}
	return func(in *interp) value {
		first := all[0](in)
		for _, f := range all[1:] {
			f(in)
		}
		return str(first)
	}
}

func (c *compiler) typeof(e expr) valFn {
	fixed := func(s string) valFn { return func(*interp) value { return str(s) } }
	if c.isArrayArg(e) {
		arr := c.arr(unparen(e))
		return func(in *interp) value {
			if !arr(in).used {
				return str("untyped")
			}
			return str("array")
		}
	}
	switch x := unparen(e).(type) {
	case *regexLit:
		return fixed("number")
	case *varRef:
		if x.scope != scopeSpecial {
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
	case kRegex:
		return "regexp"
	}
	return "unassigned"
}
