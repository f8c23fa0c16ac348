package format

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/lang/jq"
)

// Bounds of TOML: together they keep values below maxDepth.
const (
	maxParts  = 300  // of a key with dots
	maxInline = 300  // of arrays and inline tables in each other
	maxNumber = 1000 // bytes
)

// tomlTable is a table that is being read. What may still be added to it depends on how it began.
type tomlTable struct {
	keys  []string
	vals  map[string]any // *tomlTable, []*tomlTable of an array of tables, or a value
	begun tomlBeginning
}

type tomlBeginning uint8

const (
	byPath   tomlBeginning = iota // in the header of a table within it
	byHeader                      // [table]
	byKey                         // in a key with dots
	inline                        // { }
)

func (t *tomlTable) set(k string, v any) {
	if t.vals == nil {
		t.vals = map[string]any{}
	}
	t.keys = append(t.keys, k)
	t.vals[k] = v
}

func (t *tomlTable) value(tick func(int)) *jq.Object {
	o := jq.NewObject()
	for _, k := range t.keys {
		tick(1)
		v := t.vals[k]
		switch x := v.(type) {
		case *tomlTable:
			v = x.value(tick)
		case []*tomlTable:
			list := make([]any, len(x))
			for i, t := range x {
				tick(1)
				list[i] = t.value(tick)
			}
			v = jq.NewArray(list)
		}
		o = o.Set(k, v)
	}
	return o
}

// tomlParser reads TOML 1.0, https://toml.io/en/v1.0.0.
type tomlParser struct {
	s          string
	i          int
	depth      int
	tick, hold func(int)
}

type tomlError struct{ err error }

func (p *tomlParser) fail(format string, args ...any) {
	line := 1 + strings.Count(p.s[:min(p.i, len(p.s))], "\n")
	panic(tomlError{fmt.Errorf("toml: line %d: %s", line, fmt.Sprintf(format, args...))})
}

func decodeTOML(text []byte, tick, hold func(int)) (v any, err error) {
	if err := size(text); err != nil {
		return nil, err
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case tomlError:
			err = r.err
		default:
			panic(r)
		}
	}()
	hold(2 * len(text))
	p := &tomlParser{s: strings.TrimPrefix(string(text), "\ufeff"), tick: tick, hold: hold}
	root := &tomlTable{begun: byHeader}
	table := root
	for {
		p.lines()
		if p.i == len(p.s) {
			return root.value(tick), nil
		}
		if p.peek() == '[' {
			table = p.header(root)
		} else {
			p.pair(table)
		}
		p.end()
	}
}

func (p *tomlParser) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *tomlParser) take(s string) bool {
	if strings.HasPrefix(p.s[p.i:], s) {
		p.i += len(s)
		return true
	}
	return false
}

func (p *tomlParser) need(s string) {
	if !p.take(s) {
		p.fail("expected %q", s)
	}
}

func (p *tomlParser) blanks() {
	from := p.i
	for p.peek() == ' ' || p.peek() == '\t' {
		p.i++
	}
	p.tick(1 + (p.i-from)>>6)
}

// comment passes over a comment, up to the end of its line.
func (p *tomlParser) comment() {
	if p.peek() != '#' {
		return
	}
	n := strings.IndexByte(p.s[p.i:], '\n')
	if n < 0 {
		n = len(p.s) - p.i
	}
	p.tick(1 + n>>6)
	for _, c := range []byte(p.s[p.i : p.i+n]) {
		if c < ' ' && c != '\t' && c != '\r' || c == 0x7f {
			p.fail("control character in a comment")
		}
	}
	p.i += n
}

func (p *tomlParser) newline() bool { return p.take("\n") || p.take("\r\n") }

// lines passes over blanks, comments and ends of lines.
func (p *tomlParser) lines() {
	for {
		p.blanks()
		p.comment()
		if !p.newline() {
			return
		}
	}
}

func (p *tomlParser) end() {
	p.blanks()
	p.comment()
	if p.i < len(p.s) && !p.newline() {
		p.fail("expected the end of the line, found %q", p.s[p.i:min(p.i+20, len(p.s))])
	}
}

// key reads a key with its dots.
func (p *tomlParser) key() []string {
	var parts []string
	for {
		if len(parts) == maxParts {
			panic(tomlError{ErrTooDeep})
		}
		p.blanks()
		p.hold(64)
		parts = append(parts, p.part())
		p.blanks()
		if !p.take(".") {
			return parts
		}
	}
}

func (p *tomlParser) part() string {
	switch p.peek() {
	case '"':
		p.i++
		return p.basic(false)
	case '\'':
		p.i++
		return p.literal(false)
	}
	from := p.i
	for p.i < len(p.s) {
		c := p.s[p.i]
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			break
		}
		p.i++
	}
	p.tick(1 + (p.i-from)>>6)
	if p.i == from {
		p.fail("expected a key")
	}
	return p.s[from:p.i]
}

// header reads [table] or [[array of tables]] and returns the table.
func (p *tomlParser) header(root *tomlTable) *tomlTable {
	closing := "]"
	p.need("[")
	if p.take("[") {
		closing = "]]"
	}
	parts := p.key()
	p.need(closing)
	t := root
	for _, k := range parts[:len(parts)-1] {
		t = p.below(t, k)
	}
	k := parts[len(parts)-1]
	p.hold(256)
	made := &tomlTable{begun: byHeader}
	switch v := t.vals[k].(type) {
	case nil:
		if closing == "]]" {
			t.set(k, []*tomlTable{made})
		} else {
			t.set(k, made)
		}
		return made
	case *tomlTable:
		if closing == "]" && v.begun == byPath {
			v.begun = byHeader
			return v
		}
	case []*tomlTable:
		if closing == "]]" {
			t.vals[k] = append(v, made)
			return made
		}
	}
	p.fail("table %q is already defined", strings.Join(parts, "."))
	return nil
}

// below walks into a table for a header.
func (p *tomlParser) below(t *tomlTable, k string) *tomlTable {
	switch v := t.vals[k].(type) {
	case nil:
		p.hold(256)
		made := &tomlTable{begun: byPath}
		t.set(k, made)
		return made
	case *tomlTable:
		if v.begun != inline {
			return v
		}
	case []*tomlTable:
		return v[len(v)-1]
	}
	p.fail("key %q is not a table that can be extended", k)
	return nil
}

// pair reads key = value.
func (p *tomlParser) pair(t *tomlTable) {
	parts := p.key()
	p.need("=")
	p.blanks()
	v := p.value()
	for _, k := range parts[:len(parts)-1] {
		switch next := t.vals[k].(type) {
		case nil:
			p.hold(256)
			made := &tomlTable{begun: byKey}
			t.set(k, made)
			t = made
			continue
		case *tomlTable:
			if next.begun == byKey {
				t = next
				continue
			}
		}
		p.fail("key %q is not a table that can be extended", k)
	}
	k := parts[len(parts)-1]
	if _, has := t.vals[k]; has {
		p.fail("key %q is already defined", strings.Join(parts, "."))
	}
	p.hold(256)
	t.set(k, v)
}

func (p *tomlParser) value() any {
	p.tick(1)
	if p.depth++; p.depth > maxInline {
		panic(tomlError{ErrTooDeep})
	}
	defer func() { p.depth-- }()
	switch c := p.peek(); {
	case p.take(`"""`):
		return p.basic(true)
	case p.take(`'''`):
		return p.literal(true)
	case p.take(`"`):
		return p.basic(false)
	case p.take(`'`):
		return p.literal(false)
	case p.take("["):
		return p.array()
	case p.take("{"):
		return p.inline()
	case c == 0 || c == '\n' || c == '\r' || c == '#':
		p.fail("expected a value")
	}
	return p.plain()
}

func (p *tomlParser) array() any {
	list := []any{}
	for {
		p.lines()
		if p.take("]") {
			return jq.NewArray(list)
		}
		p.hold(48)
		v := p.value()
		if t, ok := v.(*tomlTable); ok {
			v = t.value(p.tick)
		}
		list = append(list, v)
		p.lines()
		if !p.take(",") {
			p.need("]")
			return jq.NewArray(list)
		}
	}
}

func (p *tomlParser) inline() any {
	t := &tomlTable{begun: byHeader}
	p.blanks()
	if !p.take("}") {
		for {
			p.pair(t)
			p.blanks()
			if !p.take(",") {
				break
			}
		}
		p.need("}")
	}
	t.begun = inline
	return t
}

// literal reads the rest of a text in single quotes.
func (p *tomlParser) literal(long bool) string {
	quote := "'"
	if long {
		quote = "'''"
		_ = p.newline()
	}
	n := strings.Index(p.s[p.i:], quote)
	if n < 0 {
		p.fail("a string has no end")
	}
	for long && strings.HasPrefix(p.s[p.i+n+1:], quote) { // up to two quotes belong to the text
		n++
	}
	t := p.s[p.i : p.i+n]
	p.tick(1 + n>>3)
	p.check(t, long)
	p.i += n + len(quote)
	return t
}

// check refuses what a text may not hold.
func (p *tomlParser) check(t string, long bool) {
	if !utf8.ValidString(t) {
		p.fail("invalid UTF-8")
	}
	for i := range len(t) {
		if c := t[i]; c == 0x7f || c < ' ' && c != '\t' && !(long &&
			(c == '\n' || c == '\r' && i+1 < len(t) && t[i+1] == '\n')) {
			p.fail("control character in a string")
		}
	}
}

// basic reads the rest of a text in double quotes.
func (p *tomlParser) basic(long bool) string {
	var b strings.Builder
	if long {
		_ = p.newline()
	}
	for {
		from := p.i
		for p.i < len(p.s) && p.s[p.i] != '"' && p.s[p.i] != '\\' && (long || p.s[p.i] != '\n') {
			p.i++
		}
		p.tick(1 + (p.i-from)>>3)
		p.check(p.s[from:p.i], long)
		b.WriteString(p.s[from:p.i])
		switch {
		case p.take(`\`):
			p.escape(&b, long)
		case p.peek() != '"':
			p.fail("a string has no end")
		case !long:
			p.i++
			return b.String()
		case p.take(`"""`):
			for range 2 { // up to two quotes belong to the text
				if p.take(`"`) {
					b.WriteByte('"')
				}
			}
			return b.String()
		default:
			p.i++
			b.WriteByte('"')
		}
	}
}

func (p *tomlParser) escape(b *strings.Builder, long bool) {
	c := p.peek()
	p.i++
	if k := strings.IndexByte(`btnfr"\`, c); k >= 0 {
		b.WriteByte("\b\t\n\f\r\"\\"[k])
		return
	}
	if c == 'u' || c == 'U' {
		n := 4
		if c == 'U' {
			n = 8
		}
		v, err := strconv.ParseUint(p.s[p.i:min(p.i+n, len(p.s))], 16, 32)
		if err != nil || p.i+n > len(p.s) || !utf8.ValidRune(rune(v)) {
			p.fail("invalid escape of a character")
		}
		p.i += n
		b.WriteRune(rune(v))
		return
	}
	p.i--
	if long {
		// A backslash takes the end of its line away, and all white space after it.
		p.blanks()
		if p.newline() {
			for {
				p.blanks()
				if !p.newline() {
					return
				}
			}
		}
	}
	p.fail("invalid escape \\%c", c)
}

// plain reads a number, a truth value or a time.
func (p *tomlParser) plain() any {
	word := func() {
		for p.i < len(p.s) && strings.IndexByte(" \t\r\n,]}#", p.s[p.i]) < 0 {
			p.i++
		}
	}
	from := p.i
	word()
	if p.i-from == len(time.DateOnly) && p.s[from+4] == '-' && p.peek() == ' ' && p.i+1 < len(p.s) && p.s[p.i+1] >= '0' &&
		p.s[p.i+1] <= '9' {
		p.i++
		word()
	}
	s := p.s[from:p.i]
	p.tick(1 + len(s)>>3)
	if len(s) > maxNumber {
		p.fail("number too long")
	}
	switch s {
	case "true":
		return true
	case "false":
		return false
	}
	if v, ok := tomlNumber(s); ok {
		return v
	}
	if v, ok := tomlTime(s); ok {
		return v
	}
	p.fail("invalid value %q", s)
	return nil
}

func tomlNumber(s string) (float64, bool) {
	digits := strings.TrimLeft(s, "+-")
	if len(s)-len(digits) > 1 || digits == "" {
		return 0, false
	}
	for i := range len(s) {
		if s[i] == '_' && (i == 0 || i+1 == len(s) || !isAlnum(s[i-1]) || !isAlnum(s[i+1])) {
			return 0, false
		}
	}
	clean := strings.ReplaceAll(s, "_", "")
	digits = strings.ReplaceAll(digits, "_", "")
	switch {
	case digits == "inf" || digits == "nan":
		f, err := strconv.ParseFloat(clean, 64)
		return f, err == nil
	case len(digits) > 2 && digits[0] == '0' && strings.IndexByte("xob", digits[1]) >= 0:
		i, err := strconv.ParseInt(clean, 0, 64)
		return float64(i), err == nil && digits == clean // no sign
	case digits[0] < '0' || digits[0] > '9' || len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9':
		return 0, false
	}
	if i, err := strconv.ParseInt(clean, 10, 64); err == nil {
		return float64(i), true
	}
	dot := strings.IndexByte(digits, '.')
	if !strings.ContainsAny(digits, ".eE") || strings.ContainsAny(digits, "xXpP") ||
		dot >= 0 && (dot+1 == len(digits) || digits[dot+1] < '0' || digits[dot+1] > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(clean, 64)
	return f, err == nil
}

func isAlnum(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// tomlTime is a date, a time or both as the file has it, in one form.
func tomlTime(s string) (string, bool) {
	if len(s) > len(time.DateOnly) && (s[10] == ' ' || s[10] == 't') {
		s = s[:10] + "T" + s[11:]
	}
	s = strings.ToUpper(s)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", time.DateOnly,
		"15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Format(layout), true
		}
	}
	return "", false
}
