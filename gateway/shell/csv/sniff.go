package csv

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
)

// delimiters are those that a sample is searched for; the first ones are preferred.
const (
	delimiters = ",\t; :|"
	preferred  = ",\t; :"
)

var quotedFields = func() []*regexp2.Regexp {
	var all []*regexp2.Regexp
	for _, p := range []string{
		`(?<delim>[^\w\n"'])(?<space> ?)(?<quote>["']).*?\k<quote>\k<delim>`,
		`(?:^|\n)(?<quote>["']).*?\k<quote>(?<delim>[^\w\n"'])(?<space> ?)`,
		`(?<delim>[^\w\n"'])(?<space> ?)(?<quote>["']).*?\k<quote>(?:$|\n)`,
		`(?:^|\n)(?<quote>["']).*?\k<quote>(?:$|\n)`,
	} {
		re := regexp2.MustCompile(p, regexp2.Singleline|regexp2.Multiline)
		re.MatchTimeout = time.Second
		all = append(all, re)
	}
	return all
}()

// Sniff guesses the dialect of a sample: from quoted fields and what stands around them, else from characters that are in every line as often.
// ok is false when nothing fits.
func Sniff(sample string) (d Dialect, ok bool) {
	d = Excel()
	quote, delim, space, doubled := sniffQuotes(sample)
	if delim == 0 {
		delim, space = sniffDelimiter(sample)
	}
	if delim == 0 {
		return d, false
	}
	d.Delimiter, d.SkipSpace, d.Doubled = delim, space, doubled
	if quote != 0 {
		d.Quote = quote
	} else {
		d.Doubled = false
	}
	return d, true
}

func sniffQuotes(sample string) (quote, delim rune, space, doubled bool) {
	type count struct {
		c rune
		n int
	}
	add := func(counts []count, c rune) []count {
		if i := slices.IndexFunc(counts, func(x count) bool { return x.c == c }); i >= 0 {
			counts[i].n++
			return counts
		}
		return append(counts, count{c, 1})
	}
	most := func(counts []count) count {
		best := counts[0]
		for _, c := range counts {
			if c.n > best.n {
				best = c
			}
		}
		return best
	}
	for _, re := range quotedFields {
		m, err := re.FindStringMatch(sample)
		if err != nil || m == nil {
			continue
		}
		var quotes, delims []count
		spaces := 0
		for ; m != nil && err == nil; m, err = re.FindNextMatch(m) {
			quotes = add(quotes, []rune(m.GroupByName("quote").String())[0])
			g := m.GroupByName("delim")
			if g == nil {
				continue
			}
			if c := []rune(g.String()); len(c) == 1 && strings.ContainsRune(delimiters, c[0]) {
				delims = add(delims, c[0])
			}
			if s := m.GroupByName("space"); s != nil && s.Length > 0 {
				spaces++
			}
		}
		quote = most(quotes).c
		if len(delims) > 0 {
			best := most(delims)
			delim, space = best.c, best.n == spaces
		}
		q := regexp.QuoteMeta(string(quote))
		if delim != 0 {
			dl := regexp.QuoteMeta(string(delim))
			doubled = regexp.MustCompile(`(?m)((` + dl + `)|^)\W*` + q + `[^` + dl + `\n]*` + q + `[^` + dl + `\n]*` + q + `\W*((` + dl + `)|$)`).MatchString(sample)
		}
		return quote, delim, space, doubled
	}
	return 0, 0, false, false
}

// tally is how often a character is in a line, and in how many lines it is that often.
type tally struct{ per, lines int }

func sniffDelimiter(sample string) (delim rune, space bool) {
	data := slices.DeleteFunc(strings.Split(sample, "\n"), func(l string) bool { return l == "" })
	const chunk = 10
	frequency := [128]map[int]int{}
	found := map[rune]tally{}
	pick := func(c rune) (rune, bool) {
		return c, strings.Count(data[0], string(c)) == strings.Count(data[0], string(c)+" ")
	}
	for start, round := 0, 0; start < len(data); start += chunk {
		round++
		for _, line := range data[start:min(start+chunk, len(data))] {
			var n [128]int
			for i := range len(line) {
				if line[i] < 128 {
					n[line[i]]++
				}
			}
			for c := range n {
				if frequency[c] == nil {
					frequency[c] = map[int]int{}
				}
				frequency[c][n[c]]++
			}
		}
		modes := map[rune]tally{}
		for c, counts := range frequency {
			if len(counts) == 1 && counts[0] > 0 {
				continue
			}
			best, others := tally{-1, 0}, 0
			for per, lines := range counts {
				if lines > best.lines || lines == best.lines && per < best.per {
					best = tally{per, lines}
				}
			}
			for per, lines := range counts {
				if per != best.per {
					others += lines
				}
			}
			modes[rune(c)] = tally{best.per, best.lines - others}
		}
		total := float64(min(chunk*round, len(data)))
		for consistency := 1.0; len(found) == 0 && consistency >= 0.9; consistency -= 0.01 {
			for c, m := range modes {
				if m.per > 0 && m.lines > 0 && float64(m.lines)/total >= consistency && strings.ContainsRune(delimiters, c) {
					found[c] = m
				}
			}
		}
		if len(found) == 1 {
			for c := range found {
				return pick(c)
			}
		}
	}
	if len(found) == 0 {
		return 0, false
	}
	for _, c := range preferred {
		if _, ok := found[c]; ok {
			return pick(c)
		}
	}
	for c := range found {
		delim = max(delim, c)
	}
	return pick(delim)
}
