package decimal

import (
	"errors"
	"math"
	"math/big"
	"strings"
)

// Number is v / 10^scale. The zero value is 0. Numbers are immutable.
type Number struct {
	v     *big.Int
	scale int
}

// MaxDigits bounds the length of a number: what takes longer than a moment cannot be interrupted in between.
const MaxDigits = 400_000

// What arithmetic can fail with.
var (
	ErrDivideByZero = errors.New("divide by zero")
	ErrTooLong      = errors.New("number too long")
	ErrExponent     = errors.New("exponent too large")
	ErrNegative     = errors.New("square root of a negative number")
)

// Env is what arithmetic counts its work against.
type Env struct {
	Tick func(int)

	tens map[int]*big.Int
}

var (
	zero = new(big.Int)
	one  = big.NewInt(1)
	ten  = big.NewInt(10)
)

func (n Number) int() *big.Int {
	if n.v == nil {
		return zero
	}
	return n.v
}

// Int64 returns i as a number.
func Int64(i int64) Number { return Number{v: big.NewInt(i)} }

// Scale is the number of digits after the point.
func (n Number) Scale() int { return n.scale }

// Sign is -1, 0 or 1.
func (n Number) Sign() int { return n.int().Sign() }

// IsZero reports whether n is 0.
func (n Number) IsZero() bool { return n.Sign() == 0 }

// Neg returns -n.
func (n Number) Neg() Number { return Number{new(big.Int).Neg(n.int()), n.scale} }

// Abs returns |n|.
func (n Number) Abs() Number { return Number{new(big.Int).Abs(n.int()), n.scale} }

// digits is about how many decimal digits v has.
func digits(v *big.Int) int { return int(float64(v.BitLen())*math.Log10(2)) + 1 }

func (e *Env) pow10(n int) *big.Int {
	if p, ok := e.tens[n]; ok {
		return p
	}
	if e.tens == nil || len(e.tens) > 64 {
		e.tens = map[int]*big.Int{}
	}
	e.Tick(1 + n>>4)
	p := new(big.Int).Exp(ten, big.NewInt(int64(n)), nil)
	e.tens[n] = p
	return p
}

// at returns n's digits with scale s, cut off where it is less.
func (e *Env) at(n Number, s int) *big.Int {
	switch {
	case s > n.scale:
		return e.mul(n.int(), e.pow10(s-n.scale))
	case s < n.scale:
		return e.quo(n.int(), e.pow10(n.scale-s))
	}
	return n.int()
}

// Truncate returns n with scale s.
func (e *Env) Truncate(n Number, s int) Number { return Number{e.at(n, s), s} }

// Integer returns n without its fraction.
func (e *Env) Integer(n Number) Number { return e.Truncate(n, 0) }

// Cmp compares two numbers.
func (e *Env) Cmp(a, b Number) int {
	s := max(a.scale, b.scale)
	return e.at(a, s).Cmp(e.at(b, s))
}

// Add returns a+b with the larger scale of the two.
func (e *Env) Add(a, b Number) Number {
	s := max(a.scale, b.scale)
	e.Tick(1)
	return Number{new(big.Int).Add(e.at(a, s), e.at(b, s)), s}
}

// Sub returns a-b with the larger scale of the two.
func (e *Env) Sub(a, b Number) Number { return e.Add(a, b.Neg()) }

// Mul returns a*b with the scale that bc gives it when scale is s.
func (e *Env) Mul(a, b Number, s int) (Number, error) {
	if digits(a.int())+digits(b.int()) > MaxDigits {
		return Number{}, ErrTooLong
	}
	full := a.scale + b.scale
	p := Number{e.mul(a.int(), b.int()), full}
	return e.Truncate(p, min(full, max(s, a.scale, b.scale))), nil
}

// leaf is up to how many words big multiplies at once; larger products are put together here, so that work is counted.
const leaf = 4096

func (e *Env) mul(a, b *big.Int) *big.Int {
	n := max(len(a.Bits()), len(b.Bits()))
	e.Tick(1 + n>>2)
	if n <= leaf {
		return new(big.Int).Mul(a, b)
	}
	half := uint(n/2) * 64
	cut := func(x *big.Int) (hi, lo *big.Int) {
		neg := x.Sign() < 0
		abs := new(big.Int).Abs(x)
		hi = new(big.Int).Rsh(abs, half)
		lo = new(big.Int).Sub(abs, new(big.Int).Lsh(hi, half))
		if neg {
			hi.Neg(hi)
			lo.Neg(lo)
		}
		return hi, lo
	}
	ah, al := cut(a)
	bh, bl := cut(b)
	h, l := e.mul(ah, bh), e.mul(al, bl)
	mid := e.mul(new(big.Int).Add(ah, al), new(big.Int).Add(bh, bl))
	mid.Sub(mid, h).Sub(mid, l)
	h.Lsh(h, half).Add(h, mid)
	return h.Lsh(h, half).Add(h, l)
}

func (e *Env) quo(a, b *big.Int) *big.Int {
	e.Tick(1 + len(a.Bits())>>1)
	return new(big.Int).Quo(a, b)
}

// Div returns a/b with scale s.
func (e *Env) Div(a, b Number, s int) (Number, error) {
	if b.IsZero() {
		return Number{}, ErrDivideByZero
	}
	shift := s + b.scale - a.scale
	if digits(a.int())+shift > MaxDigits || s > MaxDigits {
		return Number{}, ErrTooLong
	}
	n := a.int()
	d := b.int()
	if shift >= 0 {
		n = e.mul(n, e.pow10(shift))
	} else {
		d = e.mul(d, e.pow10(-shift))
	}
	return Number{e.quo(n, d), s}, nil
}

// DivMod returns the quotient with scale s and the remainder that goes with it.
func (e *Env) DivMod(a, b Number, s int) (q, r Number, err error) {
	if q, err = e.Div(a, b, s); err != nil {
		return q, r, err
	}
	rs := max(a.scale, b.scale+s)
	p, err := e.Mul(q, b, rs)
	if err != nil {
		return q, r, err
	}
	return q, e.Truncate(e.Sub(a, p), rs), nil
}

// Pow returns a to the power of the integer part of b, with the scale that bc gives it when scale is s.
func (e *Env) Pow(a, b Number, s int) (Number, error) {
	exp := e.at(b, 0)
	if !exp.IsInt64() {
		return Number{}, ErrExponent
	}
	n := exp.Int64()
	if n == 0 {
		return Int64(1), nil
	}
	neg := n < 0
	if neg {
		n = -n
		if a.IsZero() {
			return Number{}, ErrDivideByZero
		}
	}
	if a.IsZero() {
		return Number{}, nil
	}
	base := a.int()
	if new(big.Int).Abs(base).Cmp(one) > 0 && float64(base.BitLen()-1)*float64(n)*math.Log10(2) > MaxDigits ||
		float64(a.scale)*float64(n) > MaxDigits {
		return Number{}, ErrTooLong
	}
	result := new(big.Int).Set(one)
	for k := n; ; {
		if k&1 == 1 {
			result = e.mul(result, base)
		}
		if k >>= 1; k == 0 {
			break
		}
		base = e.mul(base, base)
	}
	p := Number{result, a.scale * int(n)}
	if neg {
		return e.Div(Int64(1), p, s)
	}
	return e.Truncate(p, min(p.scale, max(s, a.scale))), nil
}

// Sqrt returns the square root of n with scale s or n's, whichever is larger.
func (e *Env) Sqrt(n Number, s int) (Number, error) {
	switch n.Sign() {
	case -1:
		return Number{}, ErrNegative
	case 0:
		return Number{}, nil
	}
	if e.Cmp(n, Int64(1)) == 0 {
		return Int64(1), nil
	}
	s = max(s, n.scale)
	if digits(n.int())+2*s > MaxDigits {
		return Number{}, ErrTooLong
	}
	v := e.at(n, 2*s)
	e.Tick(1 + len(v.Bits())*4)
	return Number{new(big.Int).Sqrt(v), s}, nil
}

// Int returns the integer part, ok=false when it does not fit.
func (e *Env) Int(n Number) (i int64, ok bool) {
	v := e.at(n, 0)
	return v.Int64(), v.IsInt64()
}

// Big returns the integer part. The caller must not change it.
func (e *Env) Big(n Number) *big.Int { return e.at(n, 0) }

// FromBig returns v as a number; v must not change afterwards.
func FromBig(v *big.Int) Number { return Number{v: v} }

// Size is about how many bytes n takes.
func (n Number) Size() int { return 16 + 8*len(n.int().Bits()) }

// Len is the number of significant digits, those after the point included; 1 for 0 to 9.
func (n Number) Len() int { return max(n.Significant(), n.scale) }

// Significant is the number of digits without zeros in front, at least 1.
func (n Number) Significant() int {
	d := max(digits(n.int())-1, 1)
	// digits is one too many at most.
	if limit := new(big.Int).Exp(ten, big.NewInt(int64(d)), nil); n.int().CmpAbs(limit) >= 0 {
		d++
	}
	return d
}

// Parse reads digits, at most one point among them, in a base of 2 to 36. The scale is the number of digits after the
// point. A digit that the base has not counts as the base's highest when clip is set and the number has more than one
// digit.
func (e *Env) Parse(s string, base int, clip bool) (Number, error) {
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	whole, frac, _ := strings.Cut(s, ".")
	clip = clip && len(whole)+len(frac) > 1
	if len(s) > MaxDigits {
		return Number{}, ErrTooLong
	}
	e.Tick(1 + len(s)>>2)
	value := func(c byte) int {
		d := int(c - '0')
		if c >= 'A' {
			d = int(c-'A') + 10
		}
		if clip && d >= base {
			d = base - 1
		}
		return d
	}
	var n Number
	if base == 10 && strings.Trim(s, "0123456789.") == "" {
		v, _ := new(big.Int).SetString("0"+whole+frac, 10)
		n = Number{v, len(frac)}
	} else {
		b := big.NewInt(int64(base))
		v := new(big.Int)
		for i := range len(whole) {
			e.Tick(1 + len(v.Bits())>>2)
			v.Mul(v, b).Add(v, big.NewInt(int64(value(whole[i]))))
		}
		n = Number{v: v}
		if frac != "" {
			f, div := new(big.Int), new(big.Int).Set(one)
			for i := range len(frac) {
				e.Tick(1 + len(f.Bits())>>2)
				f.Mul(f, b).Add(f, big.NewInt(int64(value(frac[i]))))
				div.Mul(div, b)
			}
			q, err := e.Div(Number{v: f}, Number{v: div}, len(frac))
			if err != nil {
				return Number{}, err
			}
			n = e.Add(n, q)
		}
	}
	if neg {
		n = n.Neg()
	}
	return n, nil
}

// Format writes n in base base, which is 2 or more: without a zero before the point, digits above 16 as decimal groups.
func (e *Env) Format(n Number, base int) string {
	if n.IsZero() {
		return "0"
	}
	var b strings.Builder
	if n.Sign() < 0 {
		b.WriteByte('-')
		n = n.Abs()
	}
	if base == 10 {
		e.Tick(1 + len(n.v.Bits())*2)
		s := n.v.String()
		if pad := n.scale - len(s); pad > 0 {
			s = strings.Repeat("0", pad) + s
		}
		b.WriteString(s[:len(s)-n.scale])
		if n.scale > 0 {
			b.WriteByte('.')
			b.WriteString(s[len(s)-n.scale:])
		}
		return b.String()
	}
	whole := e.at(n, 0)
	width := len(big.NewInt(int64(base - 1)).String())
	digit := func(d int64, space bool) {
		if base <= 16 {
			b.WriteByte("0123456789ABCDEF"[d])
			return
		}
		if space {
			b.WriteByte(' ')
		}
		t := big.NewInt(d).String()
		b.WriteString(strings.Repeat("0", max(width-len(t), 0)) + t)
	}
	if base <= 16 && whole.Sign() != 0 {
		e.Tick(1 + len(whole.Bits())*2)
		b.WriteString(strings.ToUpper(whole.Text(base)))
	} else {
		for _, d := range e.split(whole, int64(base)) {
			digit(d, true)
		}
	}
	if n.scale == 0 {
		return b.String()
	}
	b.WriteByte('.')
	frac := new(big.Int).Sub(n.v, e.mul(whole, e.pow10(n.scale)))
	unit, bigBase := e.pow10(n.scale), big.NewInt(int64(base))
	// As many digits as it takes for base^digits to have more decimal digits than the scale.
	for t := big.NewInt(1); t.Cmp(unit) < 0; t.Mul(t, bigBase) {
		e.Tick(1 + len(frac.Bits()))
		d := new(big.Int)
		frac.Mul(frac, bigBase)
		d.QuoRem(frac, unit, frac)
		digit(d.Int64(), t.Cmp(one) != 0)
	}
	return b.String()
}

// split returns the digits of v in a base, highest first.
func (e *Env) split(v *big.Int, base int64) []int64 {
	var out []int64
	b, d := big.NewInt(base), new(big.Int)
	v = new(big.Int).Set(v)
	for v.Sign() != 0 {
		e.Tick(1 + len(v.Bits()))
		v.QuoRem(v, b, d)
		out = append(out, d.Int64())
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}
