package pattern

import (
	"math/rand/v2"
	"testing"
)

// naive matches a pattern of a, b, é, ? and * by trying everything.
func naive(p, s []rune) bool {
	if len(p) == 0 {
		return len(s) == 0
	}
	switch p[0] {
	case '*':
		return naive(p[1:], s) || len(s) > 0 && naive(p, s[1:])
	case '?':
		return len(s) > 0 && naive(p[1:], s[1:])
	}
	return len(s) > 0 && s[0] == p[0] && naive(p[1:], s[1:])
}

// TestAgainstNaive holds the fast searches against exhaustive ones.
func TestAgainstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(from string, n int) string {
		rs := []rune(from)
		out := make([]rune, r.IntN(n))
		for i := range out {
			out[i] = rs[r.IntN(len(rs))]
		}
		return string(out)
	}
	for range 30_000 {
		ps, s := pick("abé?*", 6), pick("abé", 8)
		p := Compile(ps, 0)
		match := func(x string) bool { return naive([]rune(ps), []rune(x)) }
		if got := p.Match(s); got != match(s) {
			t.Fatalf("Match(%q, %q) = %v", ps, s, got)
		}
		var bounds []int
		for i := range s {
			bounds = append(bounds, i)
		}
		bounds = append(bounds, len(s))
		short, long, sufShort, sufLong, start, end := -1, -1, -1, -1, -1, -1
		for _, i := range bounds {
			if match(s[:i]) {
				if long = i; short < 0 {
					short = i
				}
			}
			if match(s[i:]) {
				if sufShort = i; sufLong < 0 {
					sufLong = i
				}
			}
			for _, j := range bounds {
				if j >= i && (start < 0 || start == i) && match(s[i:j]) {
					start, end = i, j
				}
			}
		}
		if a, b := p.Prefix(s, false), p.Prefix(s, true); a != short || b != long {
			t.Fatalf("Prefix(%q, %q) = %d, %d, want %d, %d", ps, s, a, b, short, long)
		}
		if a, b := p.Suffix(s, false), p.Suffix(s, true); a != sufShort || b != sufLong {
			t.Fatalf("Suffix(%q, %q) = %d, %d, want %d, %d", ps, s, a, b, sufShort, sufLong)
		}
		if a, b := p.Find(s, 0); a != start || a >= 0 && b != end {
			t.Fatalf("Find(%q, %q) = %d, %d, want %d, %d", ps, s, a, b, start, end)
		}
	}
}
