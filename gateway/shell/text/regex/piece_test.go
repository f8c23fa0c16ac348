package regex_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/pgbox/pgbox/gateway/shell/text/regex"
)

// TestRarePiece: what is looked for changes after many lines that lack another piece of the pattern, and what is found
// does not.
func TestRarePiece(t *testing.T) {
	var text []byte
	for i := range 4000 {
		note := "fine"
		if i%10 == 3 || i > 3000 {
			note = "retry"
		}
		text = fmt.Appendf(text, "time=%d took=%dms %s %d\n", i, i%3000, note, i%7)
	}
	for _, perl := range []bool{false, true} {
		for _, pattern := range []string{
			`took=[0-9]{4,}ms.*retry 3`, `took=[0-9]+ms (retry) [35]`, `(time=[0-9]+ )took=.*(retry )+4`,
			`took=[0-9]{2}ms (fine|retry) 5`, `time=[0-9]*7 took=.*retry`, `took=.*never`, `took=[0-9]{4}ms (never)?[a-z]+ 6`,
		} {
			want := regexp.MustCompile(`(?m)^.*(?:`+pattern+`).*$`).FindAll(text, -1)
			re, err := regex.Compile(pattern, regex.Options{Extended: true, Perl: perl})
			if err != nil {
				t.Fatal(err)
			}
			for _, pass := range []string{"first", "second"} {
				var got [][]byte
				for pos := 0; pos < len(text); {
					s, e, ok := re.MatchLine(text, pos)
					if !ok {
						break
					}
					got = append(got, text[s:e])
					pos = e + 1
				}
				if !slices.EqualFunc(got, want, bytes.Equal) {
					t.Errorf("%s, perl %v, %s pass: %d lines, want %d", pattern, perl, pass, len(got), len(want))
				}
			}
		}
	}
}
