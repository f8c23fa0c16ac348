package text

import (
	"bytes"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/pgbox/pgbox/gateway/shell/program"
)

// sortDebugger writes lines as sort --debug does: under each one the parts that were compared.
type sortDebugger struct {
	s    *sorter
	w    io.Writer
	line []byte
}

// Write takes the text of a line or its end.
func (d *sortDebugger) Write(b []byte) (int, error) {
	n := len(b)
	if n != 1 || b[0] != d.s.delim {
		d.line = append(d.line, b...)
		return n, nil
	}
	line := d.line
	d.line = d.line[:0]
	out := append(bytes.ReplaceAll(line, []byte("\t"), []byte(">")), '\n')
	for i := range d.s.keys {
		start, end := d.s.compared(&d.s.keys[i], line)
		out = markKey(out, line, start, end)
	}
	if len(d.s.keys) == 0 || d.s.lastResort {
		out = markKey(out, line, 0, len(line))
	}
	_, err := d.w.Write(out)
	return n, err
}

func markKey(out, line []byte, start, end int) []byte {
	width := tabbedWidth(line[start:end])
	out = append(out, strings.Repeat(" ", tabbedWidth(line[:start]))...)
	if width == 0 {
		return append(out, "^ no match for key\n"...)
	}
	return append(append(out, strings.Repeat("_", width)...), '\n')
}

// tabbedWidth is how wide a text is with > for every tab.
func tabbedWidth(b []byte) int {
	return runewidth.StringWidth(string(b)) + bytes.Count(b, []byte("\t"))
}

// compared is the part of a key that its kind looks at.
func (s *sorter) compared(k *sortKey, line []byte) (start, end int) {
	start, end = s.span(k, line)
	if k.kind == 0 || k.kind == 'R' || k.kind == 'V' {
		return start, end
	}
	key := line[start:end]
	blanks := skipBlanks(key, 0)
	start, key = start+blanks, key[blanks:]
	switch k.kind {
	case 'M':
		end = start
		if month(key) > 0 {
			end += 3
		}
	case 'g':
		end = start + floatLength(key)
	default:
		n := 0
		if n < len(key) && key[n] == '-' {
			n++
		}
		digits, point := 0, false
		for ; n < len(key) && (program.IsDigit(key[n]) || key[n] == '.' && !point); n++ {
			if point = point || key[n] == '.'; key[n] != '.' {
				digits++
			}
		}
		switch {
		case digits == 0:
			n = 0
		case k.kind == 'h' && n < len(key) && strings.IndexByte("KkMGTPEZY", key[n]) >= 0:
			n++
		}
		end = start + n
	}
	return start, end
}

// warnKeys says what is likely to be a mistake among the keys.
func (s *sorter) warnKeys(global sortKey, globalOnly bool) {
	warn := func(format string, args ...any) { s.p.Errorf(format, args...) }
	if program.ByteLocale(s.p) {
		warn("text ordering performed using simple byte comparison")
	} else {
		warn("text ordering performed using %s sorting rules", program.Quote("C.UTF-8"))
	}
	unused := global
	numbers, basicSpan, generalSpan := false, false, false
	for i, k := range s.keys {
		numeric := k.kind == 'n' || k.kind == 'h' || k.kind == 'g'
		zero := k.endField >= 0 && k.endField < k.startField
		if zero {
			warn("key %d has zero width and will be ignored", i+1)
		}
		offset := k.endField == 0 && k.endChar != 0
		if !zero && !globalOnly && s.tab < 0 && !offset &&
			(!k.skipStart && (!numeric && k.kind != 'M' || k.startChar != 0) ||
				!k.skipEnd && k.endField >= 0 && k.endChar != 0) {
			warn("leading blanks are significant in key %d; consider also specifying 'b'", i+1)
		}
		if !globalOnly && numeric && (k.endField < 0 || k.startField < k.endField) {
			warn("key %d is numeric and spans multiple fields", i+1)
			basicSpan = basicSpan || k.kind != 'g'
			generalSpan = generalSpan || k.kind == 'g'
		}
		numbers = numbers || numeric
		unused.dict = unused.dict && !k.dict
		unused.printing = unused.printing && !k.printing
		unused.fold = unused.fold && !k.fold
		unused.skipStart = unused.skipStart && !k.skipStart
		unused.skipEnd = unused.skipEnd && !k.skipEnd
		unused.reverse = unused.reverse && !k.reverse
		for _, c := range k.kinds {
			unused.kinds = strings.ReplaceAll(unused.kinds, string(c), "")
		}
	}
	told := false
	if basicSpan || generalSpan {
		if what := map[int]string{'.': "decimal point", '-': "minus sign"}[s.tab]; what != "" {
			warn("field separator %s is treated as a %s in numbers", program.Quote(string(rune(s.tab))), what)
			told = true
		} else if generalSpan && s.tab == '+' {
			warn("field separator %s is treated as a plus sign in numbers", program.Quote("+"))
			told = true
		}
	}
	if numbers && !told {
		warn("note numbers use ‘.’ as a decimal point in this locale")
	}
	s.warnUnused(unused)
}

// warnUnused names the global options that no key took.
func (s *sorter) warnUnused(k sortKey) {
	letters := ""
	for _, o := range []struct {
		on     bool
		letter string
	}{
		{k.skipStart || k.skipEnd, "b"}, {k.dict, "d"}, {k.fold, "f"}, {strings.Contains(k.kinds, "g"), "g"},
		{strings.Contains(k.kinds, "h"), "h"},
		{k.printing && !k.dict, "i"}, {strings.Contains(k.kinds, "M"), "M"}, {strings.Contains(k.kinds, "n"), "n"},
		{strings.Contains(k.kinds, "R"), "R"},
		{k.reverse && !s.lastResort, "r"}, {strings.Contains(k.kinds, "V"), "V"},
	} {
		if o.on {
			letters += o.letter
		}
	}
	switch {
	case len(s.keys) == 0:
	case len(letters) > 1:
		s.p.Errorf("options '-%s' are ignored", letters)
	case letters != "":
		s.p.Errorf("option '-%s' is ignored", letters)
	}
	if k.reverse && s.lastResort && len(s.keys) > 0 {
		s.p.Errorf("option '-r' only applies to last-resort comparison")
	}
}
