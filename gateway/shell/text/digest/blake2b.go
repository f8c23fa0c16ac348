package digest

import (
	"encoding/binary"
	"hash"
	"math/bits"
)

// blake2b is the unkeyed BLAKE2b hash (RFC 7693), which the standard library lacks.
type blake2b struct {
	h    [8]uint64
	len  uint64
	buf  [128]byte
	n    int
	size int
}

var blakeIV = [8]uint64{
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
}

var blakeSigma = [10][16]uint8{
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
	{11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
	{7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
	{9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
	{2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
	{12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
	{13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
	{6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
	{10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
}

// NewBlake2b returns a hash of the given number of bits, a multiple of 8 up to 512.
func NewBlake2b(width int) hash.Hash {
	d := &blake2b{size: width / 8}
	d.Reset()
	return d
}

func (d *blake2b) Size() int      { return d.size }
func (d *blake2b) BlockSize() int { return len(d.buf) }

func (d *blake2b) Reset() {
	d.h, d.len, d.n = blakeIV, 0, 0
	d.h[0] ^= 0x01010000 ^ uint64(d.size)
}

func (d *blake2b) Write(p []byte) (int, error) {
	written := len(p)
	for len(p) > 0 {
		if d.n == len(d.buf) {
			d.block(false)
		}
		k := copy(d.buf[d.n:], p)
		d.n += k
		d.len += uint64(k)
		p = p[k:]
	}
	return written, nil
}

func (d *blake2b) Sum(b []byte) []byte {
	c := *d
	clear(c.buf[c.n:])
	c.block(true)
	var out [64]byte
	for i, v := range c.h {
		binary.LittleEndian.PutUint64(out[8*i:], v)
	}
	return append(b, out[:d.size]...)
}

func (d *blake2b) block(last bool) {
	var m, v [16]uint64
	for i := range m {
		m[i] = binary.LittleEndian.Uint64(d.buf[8*i:])
	}
	copy(v[:8], d.h[:])
	copy(v[8:], blakeIV[:])
	v[12] ^= d.len
	if last {
		v[14] = ^v[14]
	}
	mix := func(a, b, c, e int, x, y uint64) {
		v[a] += v[b] + x
		v[e] = bits.RotateLeft64(v[e]^v[a], -32)
		v[c] += v[e]
		v[b] = bits.RotateLeft64(v[b]^v[c], -24)
		v[a] += v[b] + y
		v[e] = bits.RotateLeft64(v[e]^v[a], -16)
		v[c] += v[e]
		v[b] = bits.RotateLeft64(v[b]^v[c], -63)
	}
	for r := range 12 {
		s := &blakeSigma[r%10]
		mix(0, 4, 8, 12, m[s[0]], m[s[1]])
		mix(1, 5, 9, 13, m[s[2]], m[s[3]])
		mix(2, 6, 10, 14, m[s[4]], m[s[5]])
		mix(3, 7, 11, 15, m[s[6]], m[s[7]])
		mix(0, 5, 10, 15, m[s[8]], m[s[9]])
		mix(1, 6, 11, 12, m[s[10]], m[s[11]])
		mix(2, 7, 8, 13, m[s[12]], m[s[13]])
		mix(3, 4, 9, 14, m[s[14]], m[s[15]])
	}
	for i := range d.h {
		d.h[i] ^= v[i] ^ v[i+8]
	}
	d.n = 0
}
