package engine

import (
	"bytes"
	"math"
)

// What SQLite takes from the C library. Addresses are unsigned; one that is not in the memory panics, as everywhere.

// cstring is the string at s without its NUL.
func (e *env) cstring(s int32) []byte {
	m := e.mem.buf[uint32(s):]
	return m[:bytes.IndexByte(m, 0)]
}

func (e *env) bytes(s, n int32) []byte { return e.mem.buf[uint32(s):][:uint32(n):uint32(n)] }

func (e *env) Xstrlen(s int32) int32 { return int32(len(e.cstring(s))) }

func (e *env) Xstrchrnul(s, c int32) int32 {
	t := e.cstring(s)
	if i := bytes.IndexByte(t, byte(c)); i >= 0 {
		return s + int32(i)
	}
	return s + int32(len(t))
}

func (e *env) Xstrchr(s, c int32) int32 {
	if s = e.Xstrchrnul(s, c); e.mem.buf[uint32(s)] == byte(c) {
		return s
	}
	return 0
}

func (e *env) Xstrrchr(s, c int32) int32 {
	m := e.mem.buf[uint32(s):]
	if i := bytes.LastIndexByte(m[:bytes.IndexByte(m, 0)+1], byte(c)); i >= 0 {
		return s + int32(i)
	}
	return 0
}

func (e *env) Xmemchr(s, c, n int32) int32 {
	m := e.mem.buf[uint32(s):]
	if i := bytes.IndexByte(m[:min(len(m), int(uint32(n)))], byte(c)); i >= 0 {
		return s + int32(i)
	}
	return 0
}

func (e *env) Xmemcmp(a, b, n int32) int32 { return int32(bytes.Compare(e.bytes(a, n), e.bytes(b, n))) }

func (e *env) Xstrcmp(a, b int32) int32 { return int32(bytes.Compare(e.cstring(a), e.cstring(b))) }

func (e *env) Xstrncmp(a, b, n int32) int32 {
	first := func(s int32) []byte {
		m := e.mem.buf[uint32(s):]
		m = m[:min(len(m), int(uint32(n)))]
		if i := bytes.IndexByte(m, 0); i >= 0 {
			return m[:i]
		}
		return m
	}
	return int32(bytes.Compare(first(a), first(b)))
}

func (e *env) Xstrspn(s, accept int32) int32 {
	set := e.cstring(accept)
	n := int32(0)
	for _, b := range e.cstring(s) {
		if bytes.IndexByte(set, b) < 0 {
			break
		}
		n++
	}
	return n
}

func (e *env) Xstrcspn(s, reject int32) int32 {
	set := e.cstring(reject)
	n := int32(0)
	for _, b := range e.cstring(s) {
		if bytes.IndexByte(set, b) >= 0 {
			break
		}
		n++
	}
	return n
}

func (e *env) Xstrstr(s, t int32) int32 {
	if i := bytes.Index(e.cstring(s), e.cstring(t)); i >= 0 {
		return s + int32(i)
	}
	return 0
}

func (e *env) Xstrcpy(d, s int32) int32 {
	t := e.bytes(s, e.Xstrlen(s)+1)
	copy(e.bytes(d, int32(len(t))), t)
	return d
}

func (*env) Xacos(x float64) float64     { return math.Acos(x) }
func (*env) Xacosh(x float64) float64    { return math.Acosh(x) }
func (*env) Xasin(x float64) float64     { return math.Asin(x) }
func (*env) Xasinh(x float64) float64    { return math.Asinh(x) }
func (*env) Xatan(x float64) float64     { return math.Atan(x) }
func (*env) Xatan2(y, x float64) float64 { return math.Atan2(y, x) }
func (*env) Xatanh(x float64) float64    { return math.Atanh(x) }
func (*env) Xcos(x float64) float64      { return math.Cos(x) }
func (*env) Xcosh(x float64) float64     { return math.Cosh(x) }
func (*env) Xexp(x float64) float64      { return math.Exp(x) }
func (*env) Xfmod(x, y float64) float64  { return math.Mod(x, y) }
func (*env) Xlog(x float64) float64      { return math.Log(x) }
func (*env) Xlog10(x float64) float64    { return math.Log10(x) }
func (*env) Xlog2(x float64) float64     { return math.Log2(x) }
func (*env) Xpow(x, y float64) float64   { return math.Pow(x, y) }
func (*env) Xsin(x float64) float64      { return math.Sin(x) }
func (*env) Xsinh(x float64) float64     { return math.Sinh(x) }
func (*env) Xtan(x float64) float64      { return math.Tan(x) }
func (*env) Xtanh(x float64) float64     { return math.Tanh(x) }
