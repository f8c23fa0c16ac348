package decimal

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"
)

func env() *Env { return &Env{Tick: func(int) {}} }

func number(t *testing.T, e *Env, s string) Number {
	t.Helper()
	n, err := e.Parse(s, 10, false)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func rat(n Number) *big.Rat {
	return new(big.Rat).SetFrac(n.int(), new(big.Int).Exp(ten, big.NewInt(int64(n.scale)), nil))
}

// TestExactArithmetic holds random operations against rational numbers.
func TestExactArithmetic(t *testing.T) {
	e := env()
	r := rand.New(rand.NewPCG(1, 2))
	random := func() Number {
		v := new(big.Int).SetUint64(r.Uint64() >> r.IntN(60))
		v.Mul(v, new(big.Int).SetUint64(r.Uint64()>>r.IntN(63)))
		if r.IntN(2) == 0 {
			v.Neg(v)
		}
		return Number{v, r.IntN(12)}
	}
	cut := func(x *big.Rat, s int) *big.Rat {
		unit := new(big.Rat).SetInt(e.pow10(s))
		y := new(big.Rat).Mul(x, unit)
		return new(big.Rat).Quo(new(big.Rat).SetInt(new(big.Int).Quo(y.Num(), y.Denom())), unit)
	}
	for range 3000 {
		a, b, s := random(), random(), r.IntN(15)
		if got := e.Add(a, b); rat(got).Cmp(new(big.Rat).Add(rat(a), rat(b))) != 0 {
			t.Fatalf("%v + %v = %v", rat(a), rat(b), rat(got))
		}
		p, err := e.Mul(a, b, s)
		if want := cut(new(big.Rat).Mul(rat(a), rat(b)), p.scale); err != nil || rat(p).Cmp(want) != 0 {
			t.Fatalf("%v * %v = %v, %v; want %v", rat(a), rat(b), rat(p), err, want)
		}
		if b.IsZero() {
			continue
		}
		q, rem, err := e.DivMod(a, b, s)
		if want := cut(new(big.Rat).Quo(rat(a), rat(b)), s); err != nil || rat(q).Cmp(want) != 0 {
			t.Fatalf("%v / %v = %v, %v; want %v", rat(a), rat(b), rat(q), err, want)
		}
		back := new(big.Rat).Add(new(big.Rat).Mul(rat(q), rat(b)), rat(rem))
		if back.Cmp(rat(a)) != 0 {
			t.Fatalf("%v %% %v = %v", rat(a), rat(b), rat(rem))
		}
		if got := number(t, e, e.Format(a, 10)); rat(got).Cmp(rat(a)) != 0 {
			t.Fatalf("%v is printed as %s", rat(a), e.Format(a, 10))
		}
	}
}

// TestLongProducts holds the products that are put together from pieces against those of math/big.
func TestLongProducts(t *testing.T) {
	e := env()
	r := rand.New(rand.NewPCG(3, 4))
	long := func(words int) *big.Int {
		b := make([]byte, 8*words)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return new(big.Int).SetBytes(b)
	}
	for _, n := range [][2]int{{leaf + 1, leaf + 1}, {3 * leaf, 10}, {2*leaf + 3, 5 * leaf}} {
		a, b := long(n[0]), long(n[1]).Neg(long(n[1]))
		if e.mul(a, b).Cmp(new(big.Int).Mul(a, b)) != 0 {
			t.Errorf("product of %d and %d words", n[0], n[1])
		}
	}
}

// TestFunctions holds the functions against those of package math.
func TestFunctions(t *testing.T) {
	e := env()
	for _, x := range []string{"0.001", ".5", "1", "-1", "2.75", "10", "-3.3", "42.5"} {
		f, _ := strconv.ParseFloat(x, 64)
		for _, c := range []struct {
			name string
			got  func(Number, int) (Number, error)
			want float64
		}{{"sin", e.Sin, math.Sin(f)}, {"cos", e.Cos, math.Cos(f)}, {"atan", e.Atan, math.Atan(f)},
			{"exp", e.Exp, math.Exp(f)}, {"log", e.Log, math.Log(f)}} {
			if math.IsNaN(c.want) {
				continue
			}
			n, err := c.got(number(t, e, x), 30)
			got, _ := rat(n).Float64()
			if err != nil || math.Abs(got-c.want) > 1e-12*max(1, math.Abs(c.want)) {
				t.Errorf("%s(%s) = %v, %v; want %v", c.name, x, got, err, c.want)
			}
		}
		n, err := e.Bessel(Int64(2), number(t, e, x), 30)
		if got, _ := rat(n).Float64(); err != nil || math.Abs(got-math.Jn(2, f)) > 1e-12 {
			t.Errorf("J2(%s) = %v, %v", x, got, err)
		}
	}
}

func TestTooLong(t *testing.T) {
	e := env()
	nine := Int64(9)
	if _, err := e.Pow(nine, Int64(1_000_000_000), 0); err == nil {
		t.Error("9^10^9 was computed")
	}
	if _, err := e.Div(nine, Int64(7), MaxDigits+1); err == nil {
		t.Error("9/7 has too many digits")
	}
	if _, err := e.Sqrt(nine.Neg(), 0); err == nil {
		t.Error("the square root of -9")
	}
	if _, err := e.Exp(Int64(100_000_000), 0); err == nil {
		t.Error("e^10^8 was computed")
	}
}
