package jq

import (
	"math"
	"strings"
	"unsafe"
)

// arith is a binary operator.
type arith uint8

const (
	addition arith = iota
	subtraction
	multiplication
	division
	remainder
	equal
	unequal
	less
	lessEqual
	greater
	greaterEqual
)

var arithmetic = map[string]arith{"+": addition, "-": subtraction, "*": multiplication, "/": division, "%": remainder,
	"==": equal, "!=": unequal,
	"<": less, "<=": lessEqual, ">": greater, ">=": greaterEqual}

func (m *Machine) binary(op arith, l, r any) (any, error) {
	a, aok := l.(float64)
	b, bok := r.(float64)
	if op >= equal {
		var c int
		if aok && bok {
			c = compareFloats(a, b)
		} else {
			c = compareTick(l, r, m.Tick)
		}
		return ordered(op, c), nil
	}
	if !aok || !bok {
		a, aok = number(l)
		b, bok = number(r)
	}
	if aok && bok {
		switch op {
		case addition:
			m.alloc(8)
			return a + b, nil
		case subtraction:
			m.alloc(8)
			return a - b, nil
		case multiplication:
			m.alloc(8)
			return a * b, nil
		}
	}
	fail := func(verb string) (any, error) {
		return nil, errorf("%s and %s cannot be %s", describe(l), describe(r), verb)
	}
	switch op {
	case addition:
		return m.add(l, r)
	case subtraction:
		x, ok := l.(*Array)
		y, ok2 := r.(*Array)
		if !ok || !ok2 {
			return fail("subtracted")
		}
		return m.subtract(x, y), nil
	case multiplication:
		return m.multiply(l, r, fail)
	case division:
		if aok && bok {
			if b == 0 {
				return fail("divided because the divisor is zero")
			}
			return a / b, nil
		}
		s, ok := l.(string)
		t, ok2 := r.(string)
		if !ok || !ok2 {
			return fail("divided")
		}
		return m.split(s, t), nil
	}
	if !aok || !bok {
		return fail("divided (remainder)")
	}
	if a != a || b != b {
		return nan, nil
	}
	x, y := toInt64(a), toInt64(b)
	if y == 0 {
		return fail("divided (remainder) because the divisor is zero")
	}
	if y < 0 && y != math.MinInt64 {
		y = -y
	}
	if y == -1 || y == 1 {
		return 0.0, nil
	}
	return float64(x % y), nil
}

func ordered(op arith, c int) bool {
	switch op {
	case equal:
		return c == 0
	case unequal:
		return c != 0
	case less:
		return c < 0
	case lessEqual:
		return c <= 0
	case greater:
		return c > 0
	}
	return c >= 0
}

// toInt64 truncates, to the nearest integer there is.
func toInt64(f float64) int64 {
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}

func (m *Machine) subtract(x, y *Array) *Array {
	var out []any
	m.alloc(112 + 16*x.n)
	texts := map[string]bool{}
	var others []any
	for _, w := range y.Values() {
		if s, ok := w.(string); ok {
			texts[s] = true
		} else {
			others = append(others, w)
		}
	}
	for _, v := range x.Values() {
		m.Tick(1)
		found := false
		if s, ok := v.(string); ok {
			found = texts[s]
		} else {
			for _, w := range others {
				m.Tick(1)
				if compareTick(v, w, m.Tick) == 0 {
					found = true
					break
				}
			}
		}
		if !found {
			out = append(out, v)
		}
	}
	return NewArray(out)
}

func (m *Machine) multiply(l, r any, fail func(string) (any, error)) (any, error) {
	s, ok := l.(string)
	n, num := number(r)
	if !ok {
		s, ok = r.(string)
		n, num = number(l)
	}
	if ok && num {
		if n < 0 || n != n {
			return nil, nil
		}
		times := clampInt(n)
		if times > 0 && len(s) > math.MaxInt32/times {
			return nil, errorf("Repeat string result too long")
		}
		if err := m.room(len(s) * times); err != nil {
			return nil, err
		}
		return strings.Repeat(s, times), nil
	}
	x, ok := l.(*Object)
	y, ok2 := r.(*Object)
	if !ok || !ok2 {
		return fail("multiplied")
	}
	return m.merge(x, y), nil
}

// concatText is a + b. What is added to the latest result goes behind it: a text that grows piece by piece is not
// copied each time.
func (m *Machine) concatText(a, b string) string {
	n := len(a) + len(b)
	if n < 512 {
		m.alloc(16 + n)
		return a + b
	}
	m.Tick(1 + len(b)>>10)
	if len(m.text) != len(a) || len(a) == 0 || unsafe.StringData(a) != unsafe.SliceData(m.text) {
		_ = m.room(n)
		m.text = append(append(make([]byte, 0, n), a...), b...)
	} else {
		if n > cap(m.text) {
			_ = m.room(2 * n)
			m.text = append(make([]byte, 0, 2*n), m.text...)
		}
		m.alloc(16)
		m.text = append(m.text, b...)
	}
	return unsafe.String(unsafe.SliceData(m.text), n)
}

// room counts a text of n bytes before it is made.
func (m *Machine) room(n int) error {
	m.Tick(n >> 10)
	m.alloc(16 + n)
	return nil
}

func (m *Machine) merge(x, y *Object) *Object {
	vals := y.vals()
	for i, k := range y.keys() {
		m.Tick(1)
		v := vals[i]
		if old, ok := x.Get(k); ok {
			a, ok := old.(*Object)
			b, ok2 := v.(*Object)
			if ok && ok2 {
				v = m.merge(a, b)
			}
		}
		x = m.setKey(x, k, v)
	}
	return x
}

func (m *Machine) add(l, r any) (any, error) {
	switch a := l.(type) {
	case nil:
		return r, nil
	case string:
		if b, ok := r.(string); ok {
			return m.concatText(a, b), nil
		}
	case *Array:
		if b, ok := r.(*Array); ok {
			return m.concat(a, b.Values()), nil
		}
	case *Object:
		if b, ok := r.(*Object); ok {
			for i, k := range b.keys() {
				m.Tick(1)
				a = m.setKey(a, k, b.vals()[i])
			}
			return a, nil
		}
	}
	if r == nil {
		return l, nil
	}
	if a, ok := number(l); ok {
		if b, ok := number(r); ok {
			return a + b, nil
		}
	}
	return nil, errorf("%s and %s cannot be added", describe(l), describe(r))
}

func (m *Machine) split(s, sep string) *Array {
	if s == "" {
		return NewArray(nil)
	}
	n := strings.Count(s, sep) + 1
	m.Tick(len(s)>>10 + n)
	m.alloc(112 + 32*n + len(s))
	e := make([]any, 0, n)
	for p := range strings.SplitSeq(s, sep) {
		e = append(e, p)
	}
	return NewArray(e)
}
