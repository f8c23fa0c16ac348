package text

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var trSpec = getopt.New("+AcCdst", "complement=c delete=d squeeze-repeats=s truncate-set1=t").
	WithUsage("[OPTION]... STRING1 [STRING2]",
		"Translate, squeeze, and/or delete characters from standard input, writing to standard output.")

func tr(_ context.Context, p *proc.Process) int {
	opts, args := trSpec.Parse(p)
	var complement, del, squeeze, truncate bool
	for _, o := range opts {
		switch o.Key {
		case "c", "C":
			complement = true
		case "d":
			del = true
		case "s":
			squeeze = true
		case "t":
			truncate = true
		}
	}
	maxArgs, minArgs := 2, 1
	if del && !squeeze {
		maxArgs = 1
	}
	if del == squeeze {
		minArgs = 2
	}
	hint := func(text string) {
		p.Err.WriteString(text)
		trSpec.Hint(p)
	}
	switch {
	case len(args) == 0:
		trSpec.Fail(p, "missing operand")
	case len(args) < minArgs:
		p.Errorf("missing operand after %s", program.Quote(args[0]))
		if squeeze {
			hint("Two strings must be given when both deleting and squeezing repeats.\n")
		}
		hint("Two strings must be given when translating.\n")
	case len(args) > maxArgs:
		p.Errorf("extra operand %s", program.Quote(args[maxArgs]))
		if len(args) == 2 {
			hint("Only one string may be given when deleting without squeezing repeats.\n")
		}
		trSpec.Hint(p)
	}
	translating := len(args) == 2 && !del
	t, ok := newTranslator(p, args, complement, truncate, translating)
	if !ok {
		return 1
	}
	var squeezed [256]bool
	switch {
	case squeeze && del:
		squeezed = t.in2
	case squeeze && translating:
		squeezed = t.in2
	case squeeze:
		squeezed = t.in1
	}
	last := -1
	out := make([]byte, 0, program.BufferSize)
	err := program.ReadBlocks(p, p.Stdin, func(b []byte) {
		out = out[:0]
		switch {
		case !del && !squeeze:
			out = out[:len(b)]
			for i, c := range b {
				out[i] = t.to[c]
			}
		case del && !squeeze:
			for _, c := range b {
				if !t.in1[c] {
					out = append(out, c)
				}
			}
		default:
			for _, c := range b {
				if del {
					if t.in1[c] {
						continue
					}
				} else if translating {
					c = t.to[c]
				}
				if squeezed[c] && int(c) == last {
					continue
				}
				last = int(c)
				out = append(out, c)
			}
		}
		p.Out.Write(out)
		p.Out.Flush()
	})
	if err != nil {
		p.Errorf("read error: %s", proc.Strerror(err))
		return 1
	}
	return 0
}

type translator struct {
	to       [256]byte
	in1, in2 [256]bool
}

// trItem is an element of a set: a run of characters, or a repeat.
type trItem struct {
	chars  []byte
	class  string
	repeat int // of chars[0]; -1 fills up
	star   bool
	equiv  bool // [=c=]
}

func newTranslator(p *proc.Process, args []string, complement, truncate, translating bool) (*translator, bool) {
	set1, ok := parseSet(p, args[0])
	if !ok {
		return nil, false
	}
	var set2 []trItem
	if len(args) == 2 {
		if set2, ok = parseSet(p, args[1]); !ok {
			return nil, false
		}
	}
	fail := func(format string, a ...any) (*translator, bool) {
		p.Errorf(format, a...)
		return nil, false
	}
	for _, it := range set1 {
		if it.star && it.repeat < 0 {
			return fail("the [c*] repeat construct may not appear in string1")
		}
	}
	from := expandSet(set1, 0)
	classes1 := hasClass(set1)
	t := &translator{}
	for _, c := range from {
		t.in1[c] = true
	}
	if complement {
		from = from[:0:0]
		for c := range 256 {
			t.in1[c] = !t.in1[c]
			if t.in1[c] {
				from = append(from, byte(c))
			}
		}
	}
	for c := range 256 {
		t.to[c] = byte(c)
	}
	if len(args) < 2 {
		return t, true
	}
	stars := 0
	for _, it := range set2 {
		if it.star && it.repeat < 0 {
			stars++
		}
	}
	if stars > 1 {
		return fail("only one [c*] repeat construct may appear in string2")
	}
	if !translating {
		if stars > 0 {
			return fail("the [c*] construct may appear in string2 only when translating")
		}
		for _, c := range expandSet(set2, 0) {
			t.in2[c] = true
		}
		return t, true
	}
	for _, it := range set2 {
		if it.equiv {
			return fail("[=c=] expressions may not appear in string2 when translating")
		}
		if it.class != "" && it.class != "upper" && it.class != "lower" {
			return fail("when translating, the only character classes that may appear in\nstring2 are 'upper' and 'lower'")
		}
	}
	to := expandSet(set2, len(from))
	if !complement && hasCase(set2) {
		if f, g, ok := alignCase(set1, set2, len(from)); ok {
			from, to = f, g
		} else {
			return fail("misaligned [:upper:] and/or [:lower:] construct")
		}
	} else if complement && hasCase(set2) && len(from) > len(to) {
		return fail("when translating with complemented character classes,\nstring2 must map all characters in the domain to one")
	}
	if len(from) > len(to) {
		if truncate {
			from = from[:len(to)]
		} else {
			if len(to) == 0 {
				return fail("when not truncating set1, string2 must be non-empty")
			}
			if lastIsClass(set2) {
				return fail("when translating with string1 longer than string2,\nthe latter string must not end with a character class")
			}
		}
	}
	if complement && classes1 && !allSame(to) {
		return fail("when translating with complemented character classes,\nstring2 must map all characters in the domain to one")
	}
	for i, c := range from {
		if i < len(to) {
			t.to[c] = to[i]
		} else {
			t.to[c] = to[len(to)-1]
		}
	}
	for _, c := range to {
		t.in2[c] = true
	}
	return t, true
}

func allSame(b []byte) bool {
	for _, c := range b {
		if c != b[0] {
			return false
		}
	}
	return true
}

func hasClass(s []trItem) bool {
	for _, it := range s {
		if it.class != "" {
			return true
		}
	}
	return false
}

func hasCase(s []trItem) bool {
	for _, it := range s {
		if it.class == "upper" || it.class == "lower" {
			return true
		}
	}
	return false
}

func lastIsClass(s []trItem) bool { return len(s) > 0 && s[len(s)-1].class != "" }

// alignCase maps [:upper:] to [:lower:] and back where they stand at the same place.
func alignCase(set1, set2 []trItem, n int) (from, to []byte, ok bool) {
	star := n
	for _, it := range set2 {
		if it.repeat >= 0 || !it.star {
			star -= it.size()
		}
	}
	type cell struct {
		c     byte
		class string // at the start of a class
	}
	flat := func(s []trItem, fill int) (cells []cell) {
		for _, it := range s {
			switch {
			case it.star && it.repeat < 0:
				for range max(fill, 0) {
					cells = append(cells, cell{c: it.chars[0]})
				}
			case it.star:
				for range it.repeat {
					cells = append(cells, cell{c: it.chars[0]})
				}
			default:
				for i, c := range it.chars {
					x := cell{c: c}
					if i == 0 {
						x.class = it.class
					}
					cells = append(cells, x)
				}
			}
		}
		return cells
	}
	a, b := flat(set1, 0), flat(set2, star)
	for j, x := range b {
		if x.class == "" {
			continue
		}
		if j >= len(a) || a[j].class != "upper" && a[j].class != "lower" {
			return nil, nil, false
		}
	}
	for _, x := range a {
		from = append(from, x.c)
	}
	for _, x := range b {
		to = append(to, x.c)
	}
	return from, to, true
}

func (it trItem) size() int {
	if it.star {
		return max(it.repeat, 0)
	}
	return len(it.chars)
}

// expandSet lists the characters; a [c*] fills up to n.
func expandSet(items []trItem, n int) []byte {
	fixed := 0
	for _, it := range items {
		fixed += it.size()
	}
	var out []byte
	for _, it := range items {
		switch {
		case it.star && it.repeat < 0:
			for range n - fixed {
				out = append(out, it.chars[0])
			}
		case it.star:
			for range min(it.repeat, max(n, 256)) {
				out = append(out, it.chars[0])
			}
		default:
			out = append(out, it.chars...)
		}
	}
	return out
}

func parseSet(p *proc.Process, s string) ([]trItem, bool) {
	chars, escaped, ok := unescapeSet(p, s)
	if !ok {
		return nil, false
	}
	var items []trItem
	plain := func(i int, c byte) bool { return i < len(chars) && chars[i] == c && !escaped[i] }
	find := func(from int, c byte) int {
		for i := from; i+1 < len(chars); i++ {
			if plain(i, c) && plain(i+1, ']') {
				return i
			}
		}
		return -1
	}
	for i := 0; i < len(chars); {
		if plain(i, '[') {
			if plain(i+1, ':') {
				if end := find(i+2, ':'); end >= 0 {
					name := string(chars[i+2 : end])
					class, ok := trClass(name)
					if ok {
						items = append(items, trItem{chars: class, class: name})
						i = end + 2
						continue
					}
					if name == "" {
						p.Errorf("missing character class name '[::]'")
						return nil, false
					}
					if !plain(i+2, '*') && !(i+3 < len(chars) && plain(i+2, '*')) {
						p.Errorf("invalid character class %s", program.Quote(name))
						return nil, false
					}
				}
			}
			if plain(i+1, '=') {
				if end := find(i+2, '='); end >= 0 {
					switch end - (i + 2) {
					case 1:
						items = append(items, trItem{chars: chars[i+2 : end], equiv: true})
						i = end + 2
						continue
					case 0:
						p.Errorf("missing equivalence class character '[==]'")
					default:
						p.Errorf("%s: equivalence class operand must be a single character", chars[i+2:end])
					}
					return nil, false
				}
			}
			// [c*n]
			if i+2 < len(chars) && plain(i+2, '*') {
				end := i + 3
				for end < len(chars) && !plain(end, ']') {
					end++
				}
				if end < len(chars) {
					num := string(chars[i+3 : end])
					n := -1
					if num != "" {
						base := 10
						if num[0] == '0' {
							base = 8
						}
						v, err := strconv.ParseInt(num, base, 64)
						if err != nil || v < 0 || strings.HasPrefix(num, "+") {
							p.Errorf("invalid repeat count %s in [c*n] construct", program.Quote(num))
							return nil, false
						}
						n = int(min(v, 1<<16))
						if v == 0 {
							n = -1
						}
					}
					items = append(items, trItem{chars: chars[i+1 : i+2], star: true, repeat: n})
					i = end + 1
					continue
				}
			}
		}
		if i+2 < len(chars) && plain(i+1, '-') {
			lo, hi := chars[i], chars[i+2]
			if lo > hi {
				p.Errorf("range-endpoints of '%s-%s' are in reverse collating sequence order", trShow(lo), trShow(hi))
				return nil, false
			}
			var run []byte
			for c := int(lo); c <= int(hi); c++ {
				run = append(run, byte(c))
			}
			items = append(items, trItem{chars: run})
			i += 3
			continue
		}
		items = append(items, trItem{chars: chars[i : i+1]})
		i++
	}
	return items, true
}

func trShow(c byte) string {
	if c >= ' ' && c < 0x7f {
		return string(rune(c))
	}
	return fmt.Sprintf("\\%03o", c)
}

func unescapeSet(p *proc.Process, s string) (chars []byte, escaped []bool, ok bool) {
	for i := 0; i < len(s); i++ {
		c, esc := s[i], false
		if c == '\\' {
			if i+1 == len(s) {
				p.Errorf("warning: an unescaped backslash at end of string is not portable")
			} else {
				i++
				esc = true
				switch s[i] {
				case 'a':
					c = '\a'
				case 'b':
					c = '\b'
				case 'f':
					c = '\f'
				case 'n':
					c = '\n'
				case 'r':
					c = '\r'
				case 't':
					c = '\t'
				case 'v':
					c = '\v'
				case '0', '1', '2', '3', '4', '5', '6', '7':
					v, n := 0, 0
					for n < 3 && i < len(s) && s[i] >= '0' && s[i] <= '7' && v*8+int(s[i]-'0') < 256 {
						v = v*8 + int(s[i]-'0')
						i++
						n++
					}
					if n == 2 && i < len(s) && s[i] >= '0' && s[i] <= '7' {
						p.Errorf("warning: the ambiguous octal escape \\%s is being\n\tinterpreted as the 2-byte sequence \\0%s, %c",
							s[i-2:i+1], s[i-2:i], s[i])
					}
					i--
					c = byte(v)
				default:
					c = s[i]
				}
			}
		}
		chars, escaped = append(chars, c), append(escaped, esc)
	}
	return chars, escaped, true
}

func trClass(name string) ([]byte, bool) {
	in := func(f func(c byte) bool) []byte {
		var b []byte
		for c := range 128 {
			if f(byte(c)) {
				b = append(b, byte(c))
			}
		}
		return b
	}
	lower := func(c byte) bool { return c >= 'a' && c <= 'z' }
	upper := func(c byte) bool { return c >= 'A' && c <= 'Z' }
	graph := func(c byte) bool { return c > ' ' && c < 0x7f }
	alnum := func(c byte) bool { return lower(c) || upper(c) || program.IsDigit(c) }
	switch name {
	case "alpha":
		return in(func(c byte) bool { return lower(c) || upper(c) }), true
	case "alnum":
		return in(alnum), true
	case "blank":
		return []byte("\t "), true
	case "cntrl":
		return in(func(c byte) bool { return c < ' ' || c == 0x7f }), true
	case "digit":
		return in(program.IsDigit), true
	case "graph":
		return in(graph), true
	case "lower":
		return in(lower), true
	case "print":
		return in(func(c byte) bool { return graph(c) || c == ' ' }), true
	case "punct":
		return in(func(c byte) bool { return graph(c) && !alnum(c) }), true
	case "space":
		return []byte("\t\n\v\f\r "), true
	case "upper":
		return in(upper), true
	case "xdigit":
		return in(func(c byte) bool { return program.IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' && c >= 'A' }), true
	}
	return nil, false
}
