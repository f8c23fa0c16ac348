package program

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
)

// ListedOptions are the options of a command that reads its own command line: long ones by what they mean, a letter or
// a word with a colon when they take an argument, and the letters that have no long form. Words in plain stand for
// several options.
func ListedOptions(long map[string]string, letters string, plain ...string) []getopt.Listed {
	by := map[string]*getopt.Listed{}
	for name, key := range long {
		arity := getopt.None
		if k, ok := strings.CutSuffix(key, ":"); ok {
			key, arity = k, getopt.Required
		}
		if slices.Contains(plain, key) {
			key = name
		}
		if by[key] == nil {
			by[key] = &getopt.Listed{Key: key}
		}
		by[key].Arity = max(by[key].Arity, arity)
		by[key].Longs = append(by[key].Longs, name)
	}
	for _, c := range strings.Split(letters, "") {
		by[c] = &getopt.Listed{Key: c}
	}
	out := make([]getopt.Listed, 0, len(by))
	for _, o := range by {
		slices.Sort(o.Longs)
		out = append(out, *o)
	}
	slices.SortFunc(out, func(a, b getopt.Listed) int {
		return cmp.Or(cmp.Compare(min(len(a.Key), 2), min(len(b.Key), 2)),
			strings.Compare(strings.ToLower(a.Key), strings.ToLower(b.Key)),
			strings.Compare(b.Key, a.Key))
	})
	return out
}
