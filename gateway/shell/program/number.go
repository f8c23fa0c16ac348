package program

import (
	"math"
	"math/big"
	"strings"
)

// NumberProblem says why a count is not valid.
type NumberProblem uint8

const (
	NumberOK NumberProblem = iota
	NumberInvalid
	NumberOverflow
)

// ParseCount reads an unsigned count with an optional multiplier of those in suffixes: b (512), K, M, G, T, P, E, Z and
// Y, each alone or as KiB (1024) or KB (1000).
func ParseCount(s, suffixes string) (int64, NumberProblem) {
	s = strings.TrimLeft(s, " \t")
	s = strings.TrimPrefix(s, "+")
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	digits, suffix := s[:n], s[n:]
	if n == 0 {
		if suffix == "" || strings.IndexByte(suffixes, suffix[0]) < 0 {
			return 0, NumberInvalid
		}
		digits = "1"
	}
	v := new(big.Int)
	if len(digits) > 40 {
		digits = digits[:40] // an overflow all the same
	}
	v.SetString(digits, 10)
	if suffix != "" {
		mult, rest, ok := Multiplier(suffix, suffixes)
		if !ok || rest != "" {
			return 0, NumberInvalid
		}
		v.Mul(v, mult)
	}
	if !v.IsInt64() {
		return math.MaxInt64, NumberOverflow
	}
	return v.Int64(), NumberOK
}

// Multiplier reads the suffix of a size that s begins with, of those in suffixes.
func Multiplier(s, suffixes string) (m *big.Int, rest string, ok bool) {
	if strings.IndexByte(suffixes, s[0]) < 0 {
		return nil, s, false
	}
	base, power := int64(1024), strings.IndexByte("KMGTPEZY", s[0]&^0x20)+1
	switch s[0] {
	case 'b':
		return big.NewInt(512), s[1:], true
	case 'w':
		return big.NewInt(2), s[1:], true
	case 'c':
		return big.NewInt(1), s[1:], true
	}
	if power == 0 {
		return nil, s, false
	}
	rest = s[1:]
	switch {
	case strings.HasPrefix(rest, "iB"):
		rest = rest[2:]
	case strings.HasPrefix(rest, "B") || strings.HasPrefix(rest, "D"):
		base, rest = 1000, rest[1:]
	}
	return new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(power)), nil), rest, true
}

// SizeSuffixes are the multipliers of head, tail and split.
const SizeSuffixes = "bkKmMGTPEZY0"
