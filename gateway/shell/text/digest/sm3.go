package digest

import (
	"encoding/binary"
	"hash"
	"math/bits"
)

// sm3 is the hash of GB/T 32905-2016, which the standard library lacks.
type sm3 struct {
	h   [8]uint32
	buf [64]byte
	n   int
	len uint64
}

// NewSM3 is SM3, GB/T 32905-2016.
func NewSM3() hash.Hash {
	d := &sm3{}
	d.Reset()
	return d
}

// Reset starts over.
func (d *sm3) Reset() {
	*d = sm3{h: [8]uint32{0x7380166f, 0x4914b2b9, 0x172442d7, 0xda8a0600, 0xa96f30bc, 0x163138aa, 0xe38dee4d, 0xb0fb0e4e}}
}

// Size is the length of the digest in bytes.
func (*sm3) Size() int { return 32 }

// BlockSize is the length of a block in bytes.
func (*sm3) BlockSize() int { return 64 }

// Write adds data; the error is always nil.
func (d *sm3) Write(b []byte) (int, error) {
	total := len(b)
	d.len += uint64(total)
	for len(b) > 0 {
		k := copy(d.buf[d.n:], b)
		d.n += k
		b = b[k:]
		if d.n == 64 {
			d.block()
			d.n = 0
		}
	}
	return total, nil
}

// Sum appends the digest.
func (d *sm3) Sum(b []byte) []byte {
	c := *d
	length := c.len * 8
	_, _ = c.Write([]byte{0x80})
	for c.n != 56 {
		_, _ = c.Write([]byte{0})
	}
	var tail [8]byte
	binary.BigEndian.PutUint64(tail[:], length)
	_, _ = c.Write(tail[:])
	for _, v := range c.h {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

func (d *sm3) block() {
	var w [68]uint32
	for i := range 16 {
		w[i] = binary.BigEndian.Uint32(d.buf[4*i:])
	}
	p1 := func(x uint32) uint32 { return x ^ bits.RotateLeft32(x, 15) ^ bits.RotateLeft32(x, 23) }
	for i := 16; i < 68; i++ {
		w[i] = p1(w[i-16]^w[i-9]^bits.RotateLeft32(w[i-3], 15)) ^ bits.RotateLeft32(w[i-13], 7) ^ w[i-6]
	}
	a, b, c, e, f, g := d.h[0], d.h[1], d.h[2], d.h[4], d.h[5], d.h[6]
	dd, h := d.h[3], d.h[7]
	for i := range 64 {
		t, ff, gg := uint32(0x79cc4519), a^b^c, e^f^g
		if i >= 16 {
			t, ff, gg = 0x7a879d8a, a&b|a&c|b&c, e&f|^e&g
		}
		s1 := bits.RotateLeft32(bits.RotateLeft32(a, 12)+e+bits.RotateLeft32(t, i%32), 7)
		s2 := s1 ^ bits.RotateLeft32(a, 12)
		t1 := ff + dd + s2 + (w[i] ^ w[i+4])
		t2 := gg + h + s1 + w[i]
		dd, c, b, a = c, bits.RotateLeft32(b, 9), a, t1
		h, g, f, e = g, bits.RotateLeft32(f, 19), e, t2^bits.RotateLeft32(t2, 9)^bits.RotateLeft32(t2, 17)
	}
	for i, v := range [8]uint32{a, b, c, dd, e, f, g, h} {
		d.h[i] ^= v
	}
}
