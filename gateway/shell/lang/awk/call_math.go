package awk

import (
	"math"
	"math/bits"
	"strings"
)

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
