package csv

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/text/regex"
)

// delimiters are those that a sample is searched for; the first ones are preferred.
const (
	delimiters = ",\t; :|"
	preferred  = ",\t; :"
)

// quotedFields are the patterns of a quoted field with what is around it, and which groups are the delimiter, the space
// after it (0: none) and the quote.
var quotedFields = []struct {
	pattern             string
	delim, space, quote int
}{
	{`(?sm)([^\w\n"'])( ?)(["']).*?\3\1`, 1, 2, 3},
	{`(?sm)(?:^|\n)(["']).*?\1([^\w\n"'])( ?)`, 2, 3, 1},
	{`(?sm)([^\w\n"'])( ?)(["']).*?\3(?:$|\n)`, 1, 2, 3},
	{`(?sm)(?:^|\n)(["']).*?\1(?:$|\n)`, 0, 0, 1},
}

// Sniff guesses the dialect of a sample: from quoted fields and what stands around them, else from characters that are
// in every line as often. ok is false when nothing fits. tick counts the work.
func Sniff(sample string, tick func(int)) (d Dialect, ok bool) {
	d = Excel()
	quote, delim, space, doubled := sniffQuotes(sample, tick)
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

func sniffQuotes(sample string, tick func(int)) (quote, delim rune, space, doubled bool) {
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
	b := []byte(sample)
	for _, field := range quotedFields {
		re, err := regex.Compile(field.pattern, regex.Options{Perl: true, Unicode: true, Tick: tick})
		if err != nil {
			panic(err) // a constant
		}
		re.SetTick(tick)
		var quotes, delims []count
		spaces := 0
		for at := 0; at <= len(b); {
			m := re.FindSubmatchIndex(b, at)
			if m == nil {
				break
			}
			at = max(m[1], at+1)
			group := func(n int) string { return sample[m[2*n]:m[2*n+1]] }
			c, _ := utf8.DecodeRuneInString(group(field.quote))
			quotes = add(quotes, c)
			if field.delim == 0 {
				continue
			}
			if c, _ := utf8.DecodeRuneInString(group(field.delim)); strings.ContainsRune(delimiters, c) {
				delims = add(delims, c)
			}
			if group(field.space) != "" {
				spaces++
			}
		}
		if len(quotes) == 0 {
			continue
		}
		quote = most(quotes).c
		if len(delims) > 0 {
			best := most(delims)
			delim, space = best.c, best.n == spaces
		}
		q := regexp.QuoteMeta(string(quote))
		if delim != 0 {
			dl := regexp.QuoteMeta(string(delim))
			doubled = regexp.MustCompile(`(?m)((` + dl + `)|^)\W*` + q + `[^` + dl + `\n]*` + q + `[^` + dl + `\n]*` + q +
				`\W*((` + dl + `)|$)`).MatchString(sample)
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
