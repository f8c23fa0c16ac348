package program

import (
	"fmt"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

func badChoice(p *proc.Process, s *getopt.Spec, kind, option, value string, choices ...string) {
	if !strings.Contains(option, " ") {
		option = "--" + option
	}
	p.Errorf("%s argument %s for %s", kind, Quote(value), Quote(option))
	fmt.Fprintf(p.Err, "Valid arguments are:\n")
	for _, c := range choices {
		fmt.Fprintf(p.Err, "  - %s\n", c)
	}
	s.Hint(p)
}

// Choose resolves the value of an option among words: synonyms share an element and are separated by
// spaces. The result is the element's first word. Unique prefixes are accepted.
func Choose(p *proc.Process, s *getopt.Spec, option, value string, words ...string) string {
	found, ambiguous := "", false
	for _, w := range words {
		for _, syn := range strings.Fields(w) {
			if syn == value {
				return strings.Fields(w)[0]
			}
			if strings.HasPrefix(syn, value) {
				first := strings.Fields(w)[0]
				ambiguous = ambiguous || (found != "" && found != first)
				found = first
			}
		}
	}
	if found != "" && !ambiguous {
		return found
	}
	kind := "invalid"
	if ambiguous {
		kind = "ambiguous"
	}
	lines := make([]string, len(words))
	for i, w := range words {
		f := strings.Fields(w)
		for j := range f {
			f[j] = Quote(f[j])
		}
		lines[i] = strings.Join(f, ", ")
	}
	badChoice(p, s, kind, option, value, lines...)
	return ""
}
