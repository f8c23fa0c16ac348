package pattern

import (
	"math/rand/v2"
	"runtime/debug"
	"strings"
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
		hold(t, ps, Compile(ps, 0, nil), s, func(x string) bool { return naive([]rune(ps), []rune(x)) })
	}
	for range 30_000 {
		ps, match := anyPattern(r, 3)
		hold(t, ps, Compile(ps, ExtGlob, nil), pick("abé", 7), match)
	}
}

// anyPattern is an extended pattern and what it matches, by trying everything.
func anyPattern(r *rand.Rand, depth int) (ps string, match func(string) bool) {
	match = func(s string) bool { return s == "" }
	for range r.IntN(3) {
		var e string
		var one func(string) bool
		switch k := r.IntN(8); {
		case k < 3 || depth == 0:
			e = string([]rune("abé")[r.IntN(3)])
			one = func(s string) bool { return s == e }
		case k == 3:
			e, one = "?", func(s string) bool { return len([]rune(s)) == 1 }
		case k == 4:
			e, one = "*", func(string) bool { return true }
		default:
			a, first := anyPattern(r, depth-1)
			b, second := anyPattern(r, depth-1)
			either := func(s string) bool { return first(s) || second(s) }
			op := string("?*+@!"[r.IntN(5)])
			e = op + "(" + a + "|" + b + ")"
			one = func(s string) bool { return repeated(op, either, s) }
		}
		before := match
		ps, match = ps+e, func(s string) bool { return divided(s, before, one) }
	}
	return ps, match
}

// divided reports whether s is a text of one sort and one of another.
func divided(s string, a, b func(string) bool) bool {
	for i := range s {
		if a(s[:i]) && b(s[i:]) {
			return true
		}
	}
	return a(s) && b("")
}

// repeated is what an operator makes of what its alternatives match.
func repeated(op string, either func(string) bool, s string) bool {
	switch op {
	case "@":
		return either(s)
	case "!":
		return !either(s)
	case "?":
		return s == "" || either(s)
	case "*":
		return s == "" || repeated("+", either, s)
	}
	return either(s) || divided(s, func(x string) bool { return x != "" && x != s && either(x) },
		func(x string) bool { return x != "" && repeated("+", either, x) })
}

// hold holds a pattern against what it has to match.
func hold(t *testing.T, ps string, p *Pattern, s string, match func(string) bool) {
	t.Helper()
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

// TestLargeAndDeep matches patterns and texts of megabytes on a small stack: nothing may recurse over them, and all of
// it is counted.
func TestLargeAndDeep(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	const n = 1 << 19
	rep := strings.Repeat
	for _, c := range []struct{ name, pattern, text string }{
		{"text", "+(a)", rep("a", n)}, {"text of alternatives", "*(a|b|?)c", rep("a", n)},
		{"text that does not match", "!(a*)", rep("a", n)},
		{"groups", rep("+(a)", n/4), rep("a", 8)}, {"optional groups", rep("?(a)", n/256), rep("a", 8)},
		{"alternatives", "@(" + rep("a|", n/2) + ")", "a"}, {"nesting", rep("@(", n/4) + rep(")", n/4), "a"},
		{"open groups", rep("@(", n/2), "a"}, {"open classes", rep("[", n), "a"},
		{"open named classes", rep("[[:", n/256) + "]", "a"}, {"one class", "[" + rep("a-c[:alpha:]", n/12) + "]",
			rep("a", 1000)},
		{"characters", rep("?", n), rep("a", n)}, {"stars", rep("*a", n/2), rep("a", n)},
		{"classes", rep("[a]", n/3), rep("a", n/3)}, {"backslashes", rep("\\", n), "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			steps := 0
			p := Compile(c.pattern, ExtGlob, func() { steps++ })
			if compiled := steps; compiled < len(c.pattern)/stepChars/16 {
				t.Errorf("reading %d characters took %d steps", len(c.pattern), compiled)
			}
			p.Match(c.text)
			p.Prefix(c.text, true)
			p.Suffix(c.text, false)
			_ = HasMeta(c.pattern, true)
			if len(c.text) == n && steps < n/stepChars/2 {
				t.Errorf("%d steps", steps)
			}
		})
	}
}
