package diffutils

import (
	"fmt"
	"strconv"
	"strings"
)

// The kinds of lines and groups that a format is for.
const (
	diffUnchanged = iota
	diffOld
	diffNew
	diffChanged
)

var diffFormatKinds = map[string]int{"unchanged": diffUnchanged, "old": diffOld, "new": diffNew, "changed": diffChanged}

// diffFormats are the formats of groups and lines that options ask for, nil where none does.
type diffFormats struct {
	group [4]*string
	line  [3]*string
}

// setGroup and setLine take the options --KIND-group-format, --KIND-line-format and --line-format.
func (f *diffFormats) setGroup(option, format string) {
	f.group[diffFormatKinds[strings.TrimSuffix(option, "-group-format")]] = &format
}

func (f *diffFormats) setLine(option, format string) {
	if option == "line-format" {
		f.line = [3]*string{&format, &format, &format}
		return
	}
	f.line[diffFormatKinds[strings.TrimSuffix(option, "-line-format")]] = &format
}

// complete fills in what no option gave; name is the macro of -D, "" without it.
func (f *diffFormats) complete(name string) {
	def := func(p **string, format string) {
		if *p == nil {
			*p = &format
		}
	}
	if name != "" {
		def(&f.group[diffOld], "#ifndef "+name+"\n%<#endif /* ! "+name+" */\n")
		def(&f.group[diffNew], "#ifdef "+name+"\n%>#endif /* "+name+" */\n")
		def(&f.group[diffChanged], "#ifndef "+name+"\n%<#else /* "+name+" */\n%>#endif /* "+name+" */\n")
	}
	old, fresh := "%<", "%>"
	if c := f.group[diffChanged]; c != nil {
		old, fresh = *c, *c
	}
	def(&f.group[diffOld], old)
	def(&f.group[diffNew], fresh)
	def(&f.group[diffUnchanged], "%=")
	def(&f.group[diffChanged], *f.group[diffOld]+*f.group[diffNew])
	for i := range f.line {
		def(&f.line[i], "%l\n")
	}
}

// diffGroup is a run of lines of one file.
type diffGroup struct {
	f        *diffFile
	from, to int
}

// formatted prints every group by its format.
func (o *diffOutput) formatted() {
	f := &o.d.formats
	f.complete(o.d.ifdef)
	i, j := 0, 0
	show := func(kind, n, m int) {
		o.group(*f.group[kind], [2]diffGroup{{o.a, i, i + n}, {o.b, j, j + m}}, true)
		i, j = i+n, j+m
	}
	for _, c := range o.list {
		if c.A > i {
			show(diffUnchanged, c.A-i, c.A-i)
		}
		switch {
		case c.Ins == 0:
			show(diffOld, c.Del, 0)
		case c.Del == 0:
			show(diffNew, 0, c.Ins)
		default:
			show(diffChanged, c.Del, c.Ins)
		}
	}
	if n := len(o.a.lines) - i; n > 0 {
		show(diffUnchanged, n, n)
	}
}

// group prints format (when it is shown) up to its end, or to the : or ) that ends a part of a conditional, and returns
// what follows.
func (o *diffOutput) group(format string, g [2]diffGroup, shown bool, ends ...byte) string {
	out := o.d.p.Out
	for format != "" {
		c := format[0]
		for _, e := range ends {
			if c == e {
				return format
			}
		}
		format = format[1:]
		if c != '%' || format == "" {
			if shown {
				out.WriteByte(c)
			}
			continue
		}
		kind := strings.IndexByte("=<>", format[0])
		switch {
		case kind >= 0:
			format = format[1:]
			if shown {
				o.lines(*o.d.formats.line[kind], g[max(kind-1, 0)])
			}
		case format[0] == '(':
			rest, ok := o.conditional(format[1:], g, shown)
			if ok {
				format = rest
			} else if shown {
				out.WriteByte('%')
			}
		default:
			text, rest, ok := diffSpecText(format, g)
			if format = rest; !ok {
				text = "%"
			}
			if shown {
				out.WriteString(text)
			}
		}
	}
	return format
}

// conditional prints the rest of %(A=B?T:E).
func (o *diffOutput) conditional(s string, g [2]diffGroup, shown bool) (rest string, ok bool) {
	var v [2]int
	for i, end := range []byte{'=', '?'} {
		at := strings.IndexByte(s, end)
		if at < 1 {
			return "", false
		}
		n, err := strconv.Atoi(s[:at])
		if err != nil {
			if n, ok = diffLetter(s[:at], g); !ok {
				return "", false
			}
		}
		v[i], s = n, s[at+1:]
	}
	s = o.group(s, g, shown && v[0] == v[1], ':', ')')
	if s != "" && s[0] == ':' {
		s = o.group(s[1:], g, shown && v[0] != v[1], ')')
	}
	return strings.TrimPrefix(s, ")"), true
}

// diffLetter is the value of one of the letters e, f, l, m, n, of the second file when it is a capital.
func diffLetter(s string, g [2]diffGroup) (int, bool) {
	if len(s) != 1 {
		return 0, false
	}
	of := g[0]
	if s[0] < 'a' {
		of = g[1]
	}
	switch s[0] | 0x20 {
	case 'e':
		return of.from, true
	case 'f':
		return of.from + 1, true
	case 'l':
		return of.to, true
	case 'm':
		return of.to + 1, true
	case 'n':
		return of.to - of.from, true
	}
	return 0, false
}

// diffSpecText is what s, the text after a percent sign, stands for: a percent sign, c'C', or a number.
func diffSpecText(s string, g [2]diffGroup) (text, rest string, ok bool) {
	switch {
	case s[0] == '%':
		return "%", s[1:], true
	case strings.HasPrefix(s, "c'"):
		char, after, found := strings.Cut(s[2:], "'")
		if strings.HasPrefix(s, "c'''") {
			char, after, found = "'", s[4:], true
		}
		if digits, octal := strings.CutPrefix(char, `\`); octal && found {
			n, err := strconv.ParseUint(digits, 8, 8)
			return string([]byte{byte(n)}), after, err == nil
		}
		if !found || len(char) != 1 {
			return "", s, false
		}
		return char, after, true
	}
	i := 0
	for i < len(s) && strings.IndexByte("-'0", s[i]) >= 0 {
		i++
	}
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.') {
		i++
	}
	if i+1 >= len(s) || strings.IndexByte("doxX", s[i]) < 0 || i > 6 {
		return "", s, false
	}
	n, ok := diffLetter(s[i+1:i+2], g)
	if !ok {
		return "", s, false
	}
	return fmt.Sprintf("%"+strings.ReplaceAll(s[:i+1], "'", ""), n), s[i+2:], true
}

// lines prints the lines of g by a line format.
func (o *diffOutput) lines(format string, g diffGroup) {
	out := o.d.p.Out
	for i := g.from; i < g.to; i++ {
		o.d.p.Tick(1)
		line := g.f.lines[i]
		for s := format; s != ""; {
			if s[0] != '%' || len(s) == 1 {
				out.WriteByte(s[0])
				s = s[1:]
				continue
			}
			s = s[1:]
			switch s[0] {
			case 'l', 'L':
				out.Write(line)
				if s[0] == 'L' && !(g.f.noEOL && i == len(g.f.lines)-1) {
					out.WriteByte('\n')
				}
				s = s[1:]
			default:
				// The only number of a line is its own.
				n := diffGroup{to: i + 1}
				text, rest, ok := diffSpecText(s, [2]diffGroup{n, n})
				if s = rest; !ok {
					text = "%"
				}
				out.WriteString(text)
			}
		}
	}
}
