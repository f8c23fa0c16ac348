package text

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/program"
)

// sortKey is one -k, or the global ordering.
type sortKey struct {
	startField, startChar int // from 0
	endField, endChar     int // endField -1: the end of the line
	skipStart, skipEnd    bool
	kind                  byte // 0 text, n g h M V R
	kinds                 string
	reverse, fold         bool
	dict, printing        bool
	whole                 bool // neither start nor end moves
}

func (k *sortKey) isDefault() bool {
	return k.kind == 0 && !k.skipStart && !k.skipEnd && !k.fold && !k.dict && !k.printing
}

// set applies an ordering letter; where says whether b is about the start, the end or both.
func (k *sortKey) set(c byte, start, end bool) bool {
	switch c {
	case 'b':
		k.skipStart = k.skipStart || start
		k.skipEnd = k.skipEnd || end
	case 'd':
		k.dict = true
	case 'f':
		k.fold = true
	case 'i':
		k.printing = true
	case 'g', 'h', 'M', 'n', 'R', 'V':
		k.kind = c
		if strings.IndexByte(k.kinds, c) < 0 {
			k.kinds += string(c)
		}
	case 'r':
		k.reverse = true
	default:
		return false
	}
	return true
}

// obsoleteKey matches the parts of "+1.2n -3": a key whose fields and characters are counted from 0.
var obsoleteKey = regexp.MustCompile(`^[-+]([0-9]+)(?:\.([0-9]+))?([bdfghiMnRrV]*)$`)

// modernKeys rewrites +POS and -POS as -k.
func modernKeys(args []string) []string {
	out := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			return append(out, args[i:]...)
		}
		m := obsoleteKey.FindStringSubmatch(a)
		if m == nil || a[0] != '+' || i > 0 && slices.Contains([]string{"-k", "-o", "-t", "-S", "-T"}, args[i-1]) {
			out = append(out, a)
			continue
		}
		field, _ := strconv.Atoi(m[1])
		char, _ := strconv.Atoi(m[2])
		key := fmt.Sprintf("-k%d.%d%s", field+1, char+1, m[3])
		if i+1 < len(args) {
			if e := obsoleteKey.FindStringSubmatch(args[i+1]); e != nil && args[i+1][0] == '-' {
				i++
				field, _ = strconv.Atoi(e[1])
				char, _ = strconv.Atoi(e[2])
				if char > 0 {
					field++
				}
				key += fmt.Sprintf(",%d.%d%s", field, char, e[3])
			}
		}
		out = append(out, key)
	}
	return out
}

func (s *sorter) parseKey(spec string) sortKey {
	bad := func(why, rest string) { s.fail("%s: invalid field specification %s", why, program.Quote(rest)) }
	rest := spec
	number := func(where string) int {
		n := 0
		for n < len(rest) && program.IsDigit(rest[n]) {
			n++
		}
		if n == 0 {
			s.fail("%s: invalid count at start of %s", where, program.Quote(rest))
		}
		v, err := strconv.Atoi(rest[:n])
		if err != nil {
			v = math.MaxInt
		}
		rest = rest[n:]
		return v
	}
	letters := func(k *sortKey, start bool) {
		for rest != "" && k.set(rest[0], start, !start) {
			rest = rest[1:]
		}
	}
	k := sortKey{endField: -1}
	if k.startField = number("invalid number at field start"); k.startField == 0 {
		bad("field number is zero", spec)
	}
	k.startField--
	if strings.HasPrefix(rest, ".") {
		rest = rest[1:]
		if k.startChar = number("invalid number after '.'"); k.startChar == 0 {
			bad("character offset is zero", spec)
		}
		k.startChar--
	}
	letters(&k, true)
	if strings.HasPrefix(rest, ",") {
		rest = rest[1:]
		if k.endField = number("invalid number after ','"); k.endField == 0 {
			bad("field number is zero", spec)
		}
		k.endField--
		if strings.HasPrefix(rest, ".") {
			rest = rest[1:]
			k.endChar = number("invalid number after '.'")
		}
		letters(&k, false)
	}
	if rest != "" {
		bad("stray character in field spec", spec)
	}
	return k
}

// finish settles what keys inherit and which fast path applies.
func (s *sorter) finish(global sortKey) {
	for i := range s.keys {
		k := &s.keys[i]
		if k.isDefault() && !k.reverse {
			k.kind, k.kinds, k.fold, k.dict, k.printing, k.reverse = global.kind, global.kinds, global.fold, global.dict,
				global.printing, global.reverse
			k.skipStart, k.skipEnd = global.skipStart, global.skipEnd
		}
	}
	if len(s.keys) == 0 && !global.isDefault() {
		s.keys = []sortKey{global}
	}
	s.reverse = global.reverse
	s.lastResort = !s.unique && !s.stable
	s.plain = len(s.keys) == 0
	for _, k := range append(slices.Clone(s.keys), global) {
		letters := ""
		if k.dict && !k.printing {
			letters = "d"
		}
		all := k.kinds
		n := 0
		for _, c := range all {
			if c != 'V' && c != 'R' {
				n++
			}
		}
		if strings.ContainsAny(all, "VR") || k.dict || k.printing {
			n++
		}
		if n > 1 {
			letters = ""
			for _, c := range "dfghiMnRV" {
				if c == 'd' && k.dict || c == 'f' && k.fold || c == 'i' && k.printing || strings.ContainsRune(all, c) {
					letters += string(c)
				}
			}
			s.fail("options '-%s' are incompatible", letters)
		}
	}
}

func isBlank(c byte) bool { return c <= ' ' && (c == ' ' || c == '\t' || c == '\n') }

// extract is the part of the line that key k compares.
func (s *sorter) extract(k *sortKey, line []byte) []byte {
	start, end := s.span(k, line)
	return line[start:end]
}

func (s *sorter) span(k *sortKey, line []byte) (int, int) {
	if k.whole {
		if k.skipStart {
			return skipBlanks(line, 0), len(line)
		}
		return 0, len(line)
	}
	start := s.skipFields(line, k.startField, true)
	if k.skipStart {
		start = skipBlanks(line, start)
	}
	start = addClamped(start, k.startChar, len(line))
	end := len(line)
	if k.endField >= 0 {
		if k.endChar == 0 {
			end = s.skipFields(line, k.endField+1, false)
		} else {
			end = s.skipFields(line, k.endField, true)
			if k.skipEnd {
				end = skipBlanks(line, end)
			}
			end = addClamped(end, k.endChar, len(line))
		}
	}
	return start, max(start, end)
}

func addClamped(a, b, limit int) int {
	if b >= limit-a {
		return limit
	}
	return a + b
}

func skipBlanks(line []byte, at int) int {
	for at < len(line) && isBlank(line[at]) {
		at++
	}
	return at
}

// skipFields returns where field n begins; without after, the separator before it is left out.
func (s *sorter) skipFields(line []byte, n int, after bool) int {
	at := 0
	for ; n > 0 && at < len(line); n-- {
		if s.tab >= 0 {
			i := bytes.IndexByte(line[at:], byte(s.tab))
			if i < 0 {
				return len(line)
			}
			at += i
			if after || n > 1 {
				at++
			}
			continue
		}
		at = skipBlanks(line, at)
		for at < len(line) && !isBlank(line[at]) {
			at++
		}
	}
	return at
}

// ignores reports whether the key leaves c out.
func (k *sortKey) ignores(c byte) bool {
	if k.dict && !program.IsAlpha(c) && !program.IsDigit(c) && !isBlank(c) {
		return true
	}
	return k.printing && (c < ' ' || c > '~')
}

func (k *sortKey) mapped(c byte) byte {
	if k.fold && c >= 'a' && c <= 'z' {
		return c - 32
	}
	return c
}

func (k *sortKey) translate(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for _, c := range b {
		if !k.ignores(c) {
			out = append(out, k.mapped(c))
		}
	}
	return out
}

func (k *sortKey) compareTranslated(x, y []byte) int {
	i, j := 0, 0
	for {
		for i < len(x) && k.ignores(x[i]) {
			i++
		}
		for j < len(y) && k.ignores(y[j]) {
			j++
		}
		if i == len(x) || j == len(y) {
			return min(len(x)-i, 1) - min(len(y)-j, 1)
		}
		if a, b := k.mapped(x[i]), k.mapped(y[j]); a != b {
			return int(a) - int(b)
		}
		i++
		j++
	}
}
