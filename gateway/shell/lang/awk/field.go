package awk

import (
	"strings"
	"unicode/utf8"
)

const maxFields = 1 << 24

type splitKind uint8

const (
	splitSpace splitKind = iota
	splitByte
	splitRegex
	splitChars
	splitWidths
	splitFpat
)

// splitter says where a string is cut.
type splitter struct {
	kind   splitKind
	sep    byte
	nl     bool // paragraph mode: a newline separates too, beside a single byte (gawk; POSIX: always)
	re     *regex
	bytes  bool  // characters are bytes
	widths []int // pairs: skip, width; width -1 is the rest
}

// separatorOf makes the splitter of a value: a typed regexp is never a single character.
func (in *interp) separatorOf(v value, nl bool) *splitter {
	if v.k == kRegex {
		return &splitter{kind: splitRegex, re: in.regexOf(v.s)}
	}
	return in.separator(in.str(v), nl)
}

// separator makes the splitter of a FS or split() string.
func (in *interp) separator(fs string, nl bool) *splitter {
	switch {
	case fs == " ":
		return &splitter{kind: splitSpace}
	case fs == "":
		return &splitter{kind: splitChars, bytes: in.bytes}
	case len(fs) == 1:
		return &splitter{kind: splitByte, sep: fs[0], nl: nl}
	}
	return &splitter{kind: splitRegex, re: in.regexOf(fs)}
}

// next returns the field of s that begins at pos and where the one after it begins: -1 when it
// was the last; start is -1 when there is no field any more. sepEnd … is for callers that want the separators:
// the separator lies between end and next.
func (sp *splitter) next(s string, pos int) (start, end, next int) {
	switch sp.kind {
	case splitSpace:
		i := pos
		for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n') {
			i++
		}
		if i == len(s) {
			return -1, 0, -1
		}
		j := i + 1
		for j < len(s) && s[j] != ' ' && s[j] != '\t' && s[j] != '\n' {
			j++
		}
		if j == len(s) {
			return i, j, -1
		}
		return i, j, j
	case splitByte:
		if s == "" {
			return -1, 0, -1
		}
		i := strings.IndexByte(s[pos:], sp.sep)
		if sp.nl {
			if k := strings.IndexByte(s[pos:], '\n'); k >= 0 && (i < 0 || k < i) {
				i = k
			}
		}
		if i < 0 {
			return pos, len(s), -1
		}
		return pos, pos + i, pos + i + 1
	case splitRegex:
		if s == "" {
			return -1, 0, -1
		}
		from := pos
		for {
			a, b := sp.re.find(s, from)
			if a >= 0 && a == b { // an empty match separates nothing
				if from = a + 1; from > len(s) {
					a = -1
				} else {
					continue
				}
			}
			if a < 0 {
				return pos, len(s), -1
			}
			return pos, a, b
		}
	case splitChars:
		if pos == len(s) {
			return -1, 0, -1
		}
		n := 1
		if !sp.bytes {
			_, n = utf8.DecodeRuneInString(s[pos:])
		}
		if pos+n == len(s) {
			return pos, pos + n, -1
		}
		return pos, pos + n, pos + n
	}
	panic("awk: splitter without next")
}

// setRecord makes s the current record.
func (in *interp) setRecord(s string, view bool) {
	in.rec = value{s: s, k: kInput, view: view}
	in.recOK = true
	in.nsplit, in.splitPos, in.splitDone = 0, 0, false
	in.fieldSep = in.fs
}

// record is $0.
func (in *interp) record() string {
	if !in.recOK {
		in.rebuild()
	}
	return in.rec.s
}

func (in *interp) rebuild() {
	n := 0
	for i := range in.nsplit {
		if f := &in.fields[i]; f.k == kNum {
			*f = value{s: in.numStr(f.n, in.convfmt), n: f.n, k: kStrnum}
		}
		n += len(in.fields[i].s) + len(in.ofs)
	}
	in.checkSize(n)
	var b strings.Builder
	b.Grow(n)
	for i := range in.nsplit {
		if i > 0 {
			b.WriteString(in.ofs)
		}
		b.WriteString(in.fields[i].s)
	}
	in.hold(b.Len() - in.recHeld)
	in.recHeld = b.Len()
	in.rec = value{s: b.String(), k: kInput, view: true}
	in.recOK = true
}

// field is $n; the pointer is good until the record changes.
func (in *interp) field(n int) *value {
	if n == 0 {
		if !in.recOK {
			in.rebuild()
		}
		return &in.rec
	}
	if n > in.nsplit {
		if in.splitDone || !in.splitTo(n) {
			in.none = value{k: kMissing}
			return &in.none
		}
	}
	return &in.fields[n-1]
}

func (in *interp) fieldIndex(f float64) int {
	n := clampInt(f)
	if n < 0 {
		in.fatal("attempt to access field %d", n)
	}
	return n
}

// splitTo splits the record up to field n and reports whether there is one.
func (in *interp) splitTo(n int) bool {
	s, sp := in.rec.s, in.fieldSep
	switch sp.kind {
	case splitSpace:
		i := in.splitPos
		for in.nsplit < n {
			for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n') {
				i++
			}
			if i == len(s) {
				in.splitDone = true
				break
			}
			from := i
			for i < len(s) && s[i] != ' ' && s[i] != '\t' && s[i] != '\n' {
				i++
			}
			in.addField(s[from:i])
		}
		in.splitPos = i
	case splitWidths:
		in.splitByWidths(s, sp.widths)
	case splitFpat:
		in.splitByPattern(s, sp.re)
	default:
		pos := in.splitPos
		for in.nsplit < n {
			a, b, next := sp.next(s, pos)
			if a >= 0 {
				in.addField(s[a:b])
			}
			if next < 0 {
				in.splitDone = true
				break
			}
			pos = next
		}
		in.splitPos = pos
	}
	return n <= in.nsplit
}

func (in *interp) splitAll() {
	if !in.splitDone {
		in.splitTo(1 << 62)
	}
}

func (in *interp) addField(s string) {
	v := value{s: s, k: kInput, view: true}
	if in.nsplit < len(in.fields) {
		in.fields[in.nsplit] = v
	} else {
		in.growFields(in.nsplit + 1)
		in.fields[in.nsplit] = v
	}
	in.nsplit++
}

func (in *interp) growFields(n int) {
	if n > maxFields {
		in.fatal("too many fields: %d", n)
	}
	if n > cap(in.fields) {
		size := max(2*cap(in.fields), n, 64)
		in.hold((size - cap(in.fields)) * 40)
		f := make([]value, n, size)
		copy(f, in.fields)
		in.fields = f
	}
	in.fields = in.fields[:n]
}

func (in *interp) splitByWidths(s string, widths []int) {
	in.splitDone = true
	for i := 0; i+1 < len(widths); i += 2 {
		s = s[len(in.prefixChars(s, widths[i])):]
		if s == "" {
			return
		}
		f := s
		if widths[i+1] >= 0 {
			f = in.prefixChars(s, widths[i+1])
		}
		in.addField(f)
		s = s[len(f):]
	}
}

func (in *interp) splitByPattern(s string, re *regex) {
	in.splitDone = true
	eachPattern(s, re, func(_, a, b int) { in.addField(s[a:b]) })
}

// eachPattern calls f with the bounds of every field the pattern of FPAT describes, and where the separator
// before it began. An empty field is found only where something separates it.
func eachPattern(s string, re *regex, f func(sep, a, b int)) {
	if s == "" {
		return
	}
	prev := 0 // end of the last field
	first := true
	for pos := 0; pos <= len(s); {
		a, b := re.find(s, pos)
		if a < 0 {
			return
		}
		if a == b && !first && a == prev {
			// An empty match right after a field is no field of its own.
			if pos = a + 1; pos <= len(s) {
				for pos < len(s) && !utf8.RuneStart(s[pos]) {
					pos++
				}
			}
			continue
		}
		f(prev, a, b)
		first = false
		prev, pos = b, b
		if a == b {
			pos++
		}
	}
}

// setField assigns $n.
func (in *interp) setField(n int, v value) {
	if n == 0 {
		s := in.str(v)
		if v.view {
			s = strings.Clone(s)
		}
		in.hold(len(s) - in.recHeld)
		in.recHeld = len(s)
		in.setRecord(s, true)
		if v.k == kStr {
			in.rec.k = kStr // its fields may look like numbers, itself is the text it was given
		}
		return
	}
	in.splitAll()
	if n > in.nsplit {
		in.setNF(n)
	}
	if v.view {
		v.s, v.view = strings.Clone(v.s), false
	}
	// What a field holds lives until the next record: counted with $0 when that is rebuilt.
	in.checkSize(len(v.s))
	in.fields[n-1] = v
	in.fields[n-1].view = true
	in.recOK = false
}

// setNF makes the record n fields long.
func (in *interp) setNF(n int) {
	in.splitAll()
	if n < 0 {
		in.fatal("NF set to negative value")
	}
	if n > len(in.fields) {
		in.growFields(n)
	}
	for i := in.nsplit; i < n; i++ {
		in.fields[i] = value{}
	}
	in.nsplit = n
	in.recOK = false
}
