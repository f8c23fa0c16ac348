package sys

import (
	"bytes"
	"context"
	"math/big"
	"math/bits"
	"slices"
	"strconv"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var factorSpec = getopt.New("", "").WithUsage("[NUMBER]...",
	"Print the prime factors of each specified integer NUMBER.")

// factorDigits bounds a number: finding the factors of a larger one would not end anyway.
const factorDigits = 1000

func factor(_ context.Context, p *proc.Process) int {
	_, args := factorSpec.Parse(p)
	f := &factorRun{p: p}
	for _, a := range args {
		f.print([]byte(a))
	}
	if len(args) > 0 {
		return f.status
	}
	l := program.NewLineReader(p, p.Stdin, '\n')
	defer l.Close()
	for line, ok := l.Next(); ok; line, ok = l.Next() {
		for _, word := range bytes.Fields(line) {
			f.print(word)
		}
		p.Out.Flush()
	}
	if l.Err != nil {
		p.Errorf("read error: %s", proc.Strerror(l.Err))
		return 1
	}
	return f.status
}

type factorRun struct {
	p      *proc.Process
	status int
	out    []byte
}

func (f *factorRun) print(word []byte) {
	digits := bytes.TrimPrefix(bytes.TrimLeft(word, " "), []byte("+"))
	valid := len(digits) > 0 && len(digits) <= factorDigits
	for _, c := range digits {
		valid = valid && program.IsDigit(c)
	}
	if !valid {
		f.p.Errorf("%s is not a valid positive integer", program.Quote(string(word)))
		f.status = 1
		return
	}
	f.out = f.out[:0]
	if n, err := strconv.ParseUint(string(digits), 10, 64); err == nil {
		f.out = append(strconv.AppendUint(f.out, n, 10), ':')
		var found []uint64
		f.split(n, &found)
		slices.Sort(found)
		for _, q := range found {
			f.out = strconv.AppendUint(append(f.out, ' '), q, 10)
		}
	} else {
		n, _ := new(big.Int).SetString(string(digits), 10)
		f.out = append(n.Append(f.out, 10), ':')
		var found []*big.Int
		f.splitBig(n, &found)
		slices.SortFunc(found, (*big.Int).Cmp)
		for _, q := range found {
			f.out = q.Append(append(f.out, ' '), 10)
		}
	}
	f.p.Out.Write(append(f.out, '\n'))
}

// split collects the prime factors of n: small ones by division, the rest by Pollard's rho.
func (f *factorRun) split(n uint64, found *[]uint64) {
	if n < 2 {
		return
	}
	for n%2 == 0 {
		*found = append(*found, 2)
		n /= 2
	}
	for d := uint64(3); d < 1000 && d*d <= n; d += 2 {
		for n%d == 0 {
			*found = append(*found, d)
			n /= d
		}
	}
	f.rho(n, found)
}

func (f *factorRun) rho(n uint64, found *[]uint64) {
	if n < 2 {
		return
	}
	if n < 1_000_000 || new(big.Int).SetUint64(n).ProbablyPrime(0) {
		*found = append(*found, n)
		return
	}
	for c := uint64(1); ; c++ {
		if d := f.divisor(n, c); d != n {
			f.rho(d, found)
			f.rho(n/d, found)
			return
		}
	}
}

func mulMod(a, b, n uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	_, r := bits.Div64(hi, lo, n)
	return r
}

// divisor looks for a factor in the cycle of x²+c, by Brent's steps; n when that fails.
func (f *factorRun) divisor(n, c uint64) uint64 {
	step := func(x uint64) uint64 {
		x = mulMod(x, x, n)
		if x >= n-c {
			return x - (n - c)
		}
		return x + c
	}
	diff := func(a, b uint64) uint64 {
		if a > b {
			return a - b
		}
		return b - a
	}
	y, g, r, q := uint64(2), uint64(1), 1, uint64(1)
	var x, ys uint64
	for g == 1 {
		x = y
		for range r {
			y = step(y)
		}
		for k := 0; k < r && g == 1; k += 128 {
			ys = y
			for range min(128, r-k) {
				y = step(y)
				q = mulMod(q, diff(x, y), n)
			}
			f.p.Tick(8)
			g = gcd64(q, n)
		}
		r *= 2
	}
	if g == n {
		for g = 1; g == 1; {
			ys = step(ys)
			g = gcd64(diff(x, ys), n)
		}
	}
	return g
}

func gcd64(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (f *factorRun) splitBig(n *big.Int, found *[]*big.Int) {
	var q, r big.Int
	for d := int64(2); d < 10000; d++ {
		for b := big.NewInt(d); ; {
			if q.QuoRem(n, b, &r); r.Sign() != 0 {
				break
			}
			*found = append(*found, b)
			n = new(big.Int).Set(&q)
		}
		f.p.Tick(1)
	}
	f.rhoBig(n, found)
}

func (f *factorRun) rhoBig(n *big.Int, found *[]*big.Int) {
	switch {
	case n.IsUint64():
		var small []uint64
		f.rho(n.Uint64(), &small)
		for _, q := range small {
			*found = append(*found, new(big.Int).SetUint64(q))
		}
		return
	case n.ProbablyPrime(20):
		*found = append(*found, n)
		return
	}
	one := big.NewInt(1)
	for c := int64(1); ; c++ {
		add := big.NewInt(c)
		x, y, q, d := big.NewInt(2), big.NewInt(2), big.NewInt(1), big.NewInt(1)
		var diff big.Int
		next := func(v *big.Int) { v.Mod(v.Add(v.Mul(v, v), add), n) }
		for i := 1; d.Cmp(one) == 0; i++ {
			next(x)
			next(y)
			next(y)
			q.Mod(q.Mul(q, diff.Abs(diff.Sub(x, y))), n)
			f.p.Tick(8)
			if i%64 == 0 || q.Sign() == 0 {
				d.GCD(nil, nil, q, n)
			}
		}
		if d.Cmp(n) != 0 {
			f.rhoBig(d, found)
			f.rhoBig(new(big.Int).Quo(n, d), found)
			return
		}
	}
}
