package decimal

import "math/big"

// The functions of bc's library. Each computes with more digits than asked for and cuts the result off.

const guard = 15

// fixed is arithmetic with a fixed number of digits after the point.
type fixed struct {
	e    *Env
	s    int
	unit *big.Int
}

func (e *Env) fixed(s int) fixed { return fixed{e, s, e.pow10(s)} }

func (f fixed) mul(a, b *big.Int) *big.Int { return f.e.quo(f.e.mul(a, b), f.unit) }
func (f fixed) div(a, b *big.Int) *big.Int { return f.e.quo(f.e.mul(a, f.unit), b) }

// exact gives up what a computation has beyond scale s.
func (f fixed) exact(v *big.Int, s int) Number { return f.e.Truncate(Number{v, f.s}, s) }

// wholeDigits is how many digits n has before the point.
func (e *Env) wholeDigits(n Number) int { return max(digits(n.int())-n.scale, 0) }

// Exp returns e to the power of x.
func (e *Env) Exp(x Number, s int) (Number, error) {
	if e.wholeDigits(x) > 6 {
		if x.Sign() < 0 {
			return e.Truncate(Number{}, s), nil
		}
		return Number{}, ErrTooLong
	}
	whole, _ := e.Int(x)
	grow := 0
	if whole > 0 {
		grow = int(float64(whole)*0.4343) + 1
	}
	if s+grow+guard > MaxDigits/4 {
		return Number{}, ErrTooLong
	}
	// Halve the argument until the series converges fast, then square.
	halvings := uint(8 + 4*e.wholeDigits(x))
	f := e.fixed(s + grow + guard + int(halvings))
	r := new(big.Int).Set(e.at(x, f.s))
	r.Quo(r, new(big.Int).Lsh(one, halvings))
	sum, term := new(big.Int).Set(f.unit), new(big.Int).Set(f.unit)
	for i := int64(1); term.Sign() != 0; i++ {
		term = f.mul(term, r)
		term.Quo(term, big.NewInt(i))
		sum.Add(sum, term)
	}
	for range halvings {
		sum = f.mul(sum, sum)
	}
	return f.exact(sum, s), nil
}

// Log returns the natural logarithm of x; for x <= 0 it is bc's stand-in for minus infinity.
func (e *Env) Log(x Number, s int) (Number, error) {
	if x.Sign() <= 0 {
		return e.Truncate(Number{v: new(big.Int).Sub(one, e.pow10(s))}, s), nil
	}
	if s+guard+e.wholeDigits(x) > MaxDigits/4 {
		return Number{}, ErrTooLong
	}
	roots := 0
	f := e.fixed(s + guard + 10 + x.scale)
	v := e.at(x, f.s)
	// Square roots bring the argument near 1.
	low, high := new(big.Int).Quo(new(big.Int).Mul(f.unit, big.NewInt(99)), big.NewInt(100)),
		new(big.Int).Quo(new(big.Int).Mul(f.unit, big.NewInt(101)), big.NewInt(100))
	for v.Cmp(low) < 0 || v.Cmp(high) > 0 {
		v = new(big.Int).Sqrt(e.mul(v, f.unit))
		roots++
	}
	// 2 atanh((v-1)/(v+1)).
	y := f.div(new(big.Int).Sub(v, f.unit), new(big.Int).Add(v, f.unit))
	square := f.mul(y, y)
	sum, power := new(big.Int).Set(y), y
	for i := int64(3); ; i += 2 {
		power = f.mul(power, square)
		t := new(big.Int).Quo(power, big.NewInt(i))
		if t.Sign() == 0 {
			break
		}
		sum.Add(sum, t)
	}
	sum.Lsh(sum, uint(roots)+1)
	return f.exact(sum, s), nil
}

// pi with the digits of f.
func (f fixed) pi() *big.Int {
	// Machin's formula.
	inv := func(n int64) *big.Int {
		sum, power := new(big.Int), new(big.Int).Quo(f.unit, big.NewInt(n))
		square := big.NewInt(n * n)
		for i := int64(1); power.Sign() != 0; i += 2 {
			f.e.Tick(1 + len(power.Bits()))
			t := new(big.Int).Quo(power, big.NewInt(i))
			if i%4 == 1 {
				sum.Add(sum, t)
			} else {
				sum.Sub(sum, t)
			}
			power.Quo(power, square)
		}
		return sum
	}
	p := new(big.Int).Mul(inv(5), big.NewInt(16))
	return p.Sub(p, new(big.Int).Mul(inv(239), big.NewInt(4)))
}

// Sin returns the sine of x radians.
func (e *Env) Sin(x Number, s int) (Number, error) { return e.wave(x, s, 0) }

// Cos returns the cosine of x radians.
func (e *Env) Cos(x Number, s int) (Number, error) { return e.wave(x, s, 1) }

// wave is sin(x + shift * pi/2).
func (e *Env) wave(x Number, s, shift int) (Number, error) {
	if x.IsZero() {
		if shift == 0 {
			return Number{}, nil
		}
		return e.Truncate(Int64(1), s), nil
	}
	if s+guard+e.wholeDigits(x) > MaxDigits/4 {
		return Number{}, ErrTooLong
	}
	f := e.fixed(max(s, x.scale) + guard + e.wholeDigits(x))
	quarter := f.pi()
	quarter.Rsh(quarter, 1)
	v := e.at(x, f.s)
	turns, r := new(big.Int).QuoRem(v, quarter, new(big.Int))
	turns.Add(turns, big.NewInt(int64(shift)))
	k := int(new(big.Int).And(turns, big.NewInt(3)).Int64())
	// k quarters and r beyond: sine for even k, cosine for odd.
	square := f.mul(r, r)
	term := new(big.Int).Set(r)
	i := int64(2)
	if k%2 == 1 {
		term.Set(f.unit)
		i = 1
	}
	sum := new(big.Int).Set(term)
	for term.Sign() != 0 {
		term = f.mul(term, square)
		term.Quo(term, big.NewInt(i*(i+1)))
		term.Neg(term)
		sum.Add(sum, term)
		i += 2
	}
	if k >= 2 {
		sum.Neg(sum)
	}
	return f.exact(sum, s), nil
}

// Atan returns the arc tangent of x.
func (e *Env) Atan(x Number, s int) (Number, error) {
	if x.IsZero() {
		return Number{}, nil
	}
	if s+guard+e.wholeDigits(x)+x.scale > MaxDigits/4 {
		return Number{}, ErrTooLong
	}
	f := e.fixed(max(s, x.scale) + guard + 2*e.wholeDigits(x))
	v := e.at(x, f.s)
	neg := v.Sign() < 0
	v = new(big.Int).Abs(v)
	inverted := v.Cmp(f.unit) > 0
	if inverted {
		v = f.div(f.unit, v)
	}
	// atan(v) = 2 atan(v / (1 + sqrt(1 + v²))), until v is small.
	halvings := uint(0)
	small := new(big.Int).Quo(f.unit, big.NewInt(20))
	for v.Cmp(small) > 0 {
		root := new(big.Int).Sqrt(e.mul(new(big.Int).Add(f.unit, f.mul(v, v)), f.unit))
		v = f.div(v, root.Add(root, f.unit))
		halvings++
	}
	square := f.mul(v, v)
	sum, power := new(big.Int).Set(v), v
	for i := int64(3); ; i += 2 {
		power = f.mul(power, square)
		t := new(big.Int).Quo(power, big.NewInt(i))
		if t.Sign() == 0 {
			break
		}
		if i%4 == 3 {
			sum.Sub(sum, t)
		} else {
			sum.Add(sum, t)
		}
	}
	sum.Lsh(sum, halvings)
	if inverted {
		half := f.pi()
		sum.Sub(half.Rsh(half, 1), sum)
	}
	if neg {
		sum.Neg(sum)
	}
	return f.exact(sum, s), nil
}

// Bessel returns the Bessel function of integer order n of x.
func (e *Env) Bessel(n, x Number, s int) (Number, error) {
	order, ok := e.Int(n)
	if !ok || order > 100_000 || order < -100_000 || e.wholeDigits(x) > 4 || s > MaxDigits/8 {
		return Number{}, ErrTooLong
	}
	neg := order < 0 && order%2 != 0
	if order < 0 {
		order = -order
	}
	whole, _ := e.Int(x.Abs())
	f := e.fixed(max(s, x.scale) + guard + int(whole) + int(order)/2)
	v := e.at(x, f.s)
	half := new(big.Int).Quo(v, big.NewInt(2))
	term := new(big.Int).Set(f.unit)
	for i := int64(1); i <= order; i++ {
		term = f.mul(term, half)
		term.Quo(term, big.NewInt(i))
	}
	square := f.mul(half, half)
	sum := new(big.Int).Set(term)
	for i := int64(1); term.Sign() != 0; i++ {
		term = f.mul(term, square)
		term.Quo(term, big.NewInt(i*(i+order)))
		term.Neg(term)
		sum.Add(sum, term)
	}
	if neg {
		sum.Neg(sum)
	}
	return f.exact(sum, s), nil
}
