package proc

import "unsafe"

// The processors cannot be taken from a goroutine that copies, and a collection of garbage waits for it, and
// everybody for that: long texts are copied in pieces.
const piece = 256 << 10

// Copy is copy.
func Copy[T string | []byte](to []byte, from T) int {
	n := min(len(to), len(from))
	for at := 0; at < n; at += piece {
		copy(to[at:n], from[at:min(at+piece, n)])
	}
	return n
}

// Grow returns b with room for n more bytes.
func Grow(b []byte, n int) []byte {
	if need := len(b) + n; need > cap(b) {
		size := 2 * cap(b)
		if size < need || size > 64<<20 {
			size = max(need+need/4, size/2+size/8)
		}
		bigger := make([]byte, len(b), size)
		Copy(bigger, b)
		return bigger
	}
	return b
}

// AppendString is append(b, s...).
func AppendString(b []byte, s string) []byte {
	if len(b)+len(s) < piece {
		return append(b, s...)
	}
	at := len(b)
	b = Grow(b, len(s))[:at+len(s)]
	Copy(b[at:], s)
	return b
}

// String is string(b).
func String(b []byte) string {
	if len(b) < piece {
		return string(b)
	}
	s := make([]byte, len(b))
	Copy(s, b)
	return unsafe.String(&s[0], len(s)) // nobody else has s
}
