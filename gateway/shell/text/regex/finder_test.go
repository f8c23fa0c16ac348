package regex

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestFinder holds MatchLine, which skips text with a finder or a filter, against a look at each line.
func TestFinder(t *testing.T) {
	t.Parallel()
	patterns := []struct {
		src string
		opt Options
	}{
		{"timeout", Options{IgnoreCase: true}},
		{"task|desk", Options{Extended: true, IgnoreCase: true}},
		{"panic|deadlock|refused", Options{Extended: true}},
		{"[0-9]{4}ms", Options{Extended: true}},
		{"x[0-9]{3,}-[ab]c", Options{Extended: true}},
		{"(ab|cd)+ef+g", Options{Extended: true}},
		{"caf[éÉ]s", Options{Extended: true}},
		{"\\bpanic|timeout\\b", Options{Extended: true, IgnoreCase: true}},
		{"a[[:space:]]bcd", Options{Extended: true, IgnoreCase: true}},
		{"desk\\s+lamp", Options{Perl: true, IgnoreCase: true}},
		{"ab(?!c)[cd]", Options{Perl: true}},
		{"(?<=x)\\d{3}", Options{Perl: true}},
		{"([ab])\\1[cd]{2}", Options{Perl: true}},
		{"\\bcaf", Options{Perl: true}},
		{"task(?!desk)", Options{Perl: true}},
		{"tas(?=k)(?:k|xx)(?!des).", Options{Perl: true}},
		{"cafés?+(?!a)", Options{Perl: true}},
		{"bcd\\K(a|de)(?=\\1)", Options{Perl: true}},
		{"panic\\n|timeout\\b", Options{Perl: true}},
		{"efg(?>[a-z]*)(?! )", Options{Perl: true}},
		{"^(?=.*ab)(?=.*cd)", Options{Perl: true}},
	}
	words := []string{"timeout", "TimeOut", "task", "taſk", "desK", "deſk", "panic", "deadlock", "refused", "1234ms",
		"x123-ac", "x12-bc", "abcdeffg", "cafés",
		"cafÉs", "ab", "cd", "efg", " ", "a\tbcd", "a", "bcd", "lamp", "desk  lamp", "\xc5", "\xff", "x999", "aacd", "bbdd",
		"é", "K"}
	r := rand.New(rand.NewPCG(1, 1))
	for _, p := range patterns {
		p.opt.Dialect = Grep
		re, err := Compile(p.src, p.opt)
		if err != nil {
			t.Fatal(err)
		}
		hits := 0
		for range 300 {
			var b strings.Builder
			for range r.IntN(40) {
				b.WriteString(words[r.IntN(len(words))])
				if r.IntN(3) == 0 {
					b.WriteByte('\n')
				}
			}
			text := []byte(b.String())
			var got, want []string
			for pos := 0; pos < len(text); {
				s, e, ok := re.MatchLine(text, pos)
				if !ok {
					break
				}
				got = append(got, fmt.Sprint(s, e))
				pos = e + 1
			}
			for pos := 0; pos < len(text); {
				e := lineEnd(text, pos)
				if re.Match(text[pos:e]) {
					want = append(want, fmt.Sprint(pos, e))
				}
				pos = e + 1
			}
			if strings.Join(got, ",") != strings.Join(want, ",") {
				t.Fatalf("%s in %q: lines %v, want %v", p.src, text, got, want)
			}
			hits += len(want)
		}
		if hits == 0 {
			t.Errorf("%s: no line has a match", p.src)
		}
	}
}
