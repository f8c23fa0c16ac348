package casetest

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

func TestGrammarScript(t *testing.T) {
	g, err := ParseGrammar("# sums\nstart = «sum»«sp»«end?»\nsum =\n  3: «n»\n  («sum»+«sum»)\nn = 1 | 22\nend = ;\n")
	if err != nil {
		t.Fatal(err)
	}
	valid := regexp.MustCompile(`^[()+12]+ ;?$`)
	seen := map[string]bool{}
	r := rand.New(rand.NewPCG(1, 0))
	for range 200 {
		s := g.Script(r)
		if !valid.MatchString(s) {
			t.Fatalf("%q", s)
		}
		seen[s] = true
	}
	if len(seen) < 20 {
		t.Errorf("only %d texts", len(seen))
	}
}

func TestGrammarErrors(t *testing.T) {
	for name, g := range map[string]string{
		"no start":   "a = b\n",
		"no rule":    "start = «x»\n",
		"no end":     "start = a«start»\n",
		"twice":      "start = a\nstart = b\n",
		"no rule up": "  a\n",
		"bad":        "start = «A»\n",
	} {
		if _, err := ParseGrammar(g); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
