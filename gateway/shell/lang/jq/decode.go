package jq

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxNesting is how deep arrays and objects of the input may be nested, as in jq.
const MaxNesting = 10000

// A ParseError is malformed JSON.
type ParseError struct {
	Msg          string
	Line, Column int // 0 when it does not matter where
}

func (e *ParseError) Error() string {
	if e.Line == 0 {
		return e.Msg
	}
	return fmt.Sprintf("%s at line %d, column %d", e.Msg, e.Line, e.Column)
}

// Decoder reads a stream of JSON values.
type Decoder struct {
	r     io.Reader
	buf   []byte
	pos   int
	eof   bool
	err   error
	lines int // newlines before buf[0]
	col   int // bytes of the line before buf[0]
	tick  func(int)
	hold  func(int)

	// Stream makes Next return events, [path, leaf] and the closing [path], as soon as they are known.
	Stream bool

	// Seq makes Next skip what comes before the first record separator.
	Seq       bool
	separated bool

	// Buffer, when not nil, counts the memory of the input's buffer instead of hold, which is then told about values only.
	Buffer func(int)

	// Literals makes numbers keep the text they were written with, see [Literal].
	Literals bool

	abandoned *ParseError
	before    int // lines of the files before this one
	stack     []openValue
	lost      []openValue // where the last error was
	next      any         // a value whose place is not yet known
	has       bool
	events    []any
}

// NewDecoder reads from r; tick counts work and hold memory.
func NewDecoder(r io.Reader, tick, hold func(int)) *Decoder {
	return &Decoder{r: r, tick: tick, hold: hold}
}

// fill reads more; false at the end.
func (d *Decoder) fill() bool {
	if d.eof {
		return false
	}
	if d.pos > 0 {
		d.forget()
	}
	if len(d.buf) == cap(d.buf) {
		n := max(64<<10, 2*cap(d.buf))
		count := d.hold
		if d.Buffer != nil {
			count = d.Buffer
		}
		count(n - cap(d.buf))
		b := make([]byte, len(d.buf), n)
		copy(b, d.buf)
		d.buf = b
	}
	for {
		n, err := d.r.Read(d.buf[len(d.buf):cap(d.buf)])
		d.buf = d.buf[:len(d.buf)+n]
		d.tick(1 + n>>10)
		if err != nil {
			d.eof = true
			if !errors.Is(err, io.EOF) {
				d.err = err
			}
		}
		if n > 0 {
			return true
		}
		if d.eof {
			return false
		}
	}
}

// forget drops what has been read.
func (d *Decoder) forget() {
	gone := d.buf[:d.pos]
	if n := bytes.Count(gone, []byte{'\n'}); n > 0 {
		d.lines += n
		d.col = len(gone) - bytes.LastIndexByte(gone, '\n') - 1
	} else {
		d.col += len(gone)
	}
	d.buf = d.buf[:copy(d.buf, d.buf[d.pos:])]
	d.pos = 0
}

// Lines is how many lines have been read, the one the last value ended on included.
func (d *Decoder) Lines() int {
	for bytes.IndexByte(d.buf[d.pos:], '\n') < 0 {
		n := len(d.buf) - d.pos
		if !d.fill() || n > 1<<20 {
			break
		}
	}
	n := d.lines - d.before + bytes.Count(d.buf[:d.pos], []byte{'\n'})
	if bytes.IndexByte(d.buf[d.pos:], '\n') >= 0 && !(d.pos > 0 && d.buf[d.pos-1] == '\n') {
		n++
	}
	return n
}

func (d *Decoder) fail(msg string) *ParseError {
	read := d.buf[:d.pos]
	line := d.lines + 1 + bytes.Count(read, []byte{'\n'})
	col := d.col + len(read)
	if i := bytes.LastIndexByte(read, '\n'); i >= 0 {
		col = len(read) - i - 1
	}
	return &ParseError{msg, line, col}
}

func (d *Decoder) unfinished(what string) error {
	if d.err != nil {
		return d.err
	}
	d.pos = len(d.buf)
	return d.fail(what + " at EOF")
}

// Restart begins to count lines anew, for the next file of the same stream.
func (d *Decoder) Restart() {
	d.before = d.lines + bytes.Count(d.buf, []byte{'\n'})
}

// peek returns the next byte that is no white space; ok is false at the end.
func (d *Decoder) peek() (byte, bool) {
	for {
		for d.pos < len(d.buf) {
			switch c := d.buf[d.pos]; c {
			case ' ', '\t', '\n', '\r':
				d.pos++
			case 0x1e:
				if !d.separated {
					return c, true
				}
				d.pos++
			default:
				return c, true
			}
		}
		if !d.fill() {
			return 0, false
		}
	}
}

// Next returns the next value (an event, with Stream), io.EOF after the last. After a [ParseError] it goes on with what
// follows.
func (d *Decoder) Next() (any, error) {
	v, err := d.value()
	var pe *ParseError
	if errors.As(err, &pe) {
		d.lost = d.stack
		d.stack, d.events, d.has = nil, nil, false
	}
	return v, err
}

func (d *Decoder) value() (any, error) {
	if d.lines == 0 && d.col == 0 && d.pos == 0 {
		for len(d.buf) < 3 && d.fill() {
		}
		if bytes.HasPrefix(d.buf, []byte("\xef\xbb\xbf")) {
			d.pos = 3
		}
	}
	if d.Seq && !d.seek() {
		return nil, io.EOF
	}
	d.tick(1)
	for {
		if len(d.events) > 0 {
			v := d.events[0]
			d.events = d.events[1:]
			return v, nil
		}
		c, ok := d.peek()
		if !ok {
			if d.err != nil {
				return nil, d.err
			}
			if len(d.stack) > 0 {
				return nil, d.unfinished("Unfinished JSON term")
			}
			return nil, io.EOF
		}
		if err := d.step(c); err != nil {
			return nil, err
		}
		if len(d.stack) == 0 && d.has {
			d.has = false
			if d.Stream {
				return NewArray([]any{NewArray(nil), d.next}), nil
			}
			return d.next, nil
		}
	}
}

// seek moves to the first record separator.
func (d *Decoder) seek() bool {
	d.Seq, d.separated = false, true
	lost := false
	for {
		if i := bytes.IndexByte(d.buf[d.pos:], 0x1e); i >= 0 {
			d.pos += i
			return true
		}
		lost = lost || d.pos < len(d.buf)
		d.pos = len(d.buf)
		if !d.fill() {
			if lost {
				d.abandoned = d.fail("Unfinished abandoned text at EOF")
			}
			return false
		}
	}
}

// Abandoned is the text that Seq ignored because no record separator came, nil when there was none.
func (d *Decoder) Abandoned() *ParseError { return d.abandoned }

// openValue is an array or object that is being read.
type openValue struct {
	array bool
	keyed bool // the object's key has been read
	comma bool // a comma came last
	key   string
	e     []any   // of an array
	n     int     // elements before this one
	obj   *Object // nil for an array, and with Stream
}

// step reads one token, which begins with c.
func (d *Decoder) step(c byte) error {
	switch c {
	case '"':
		d.pos++
		s, err := d.str()
		if err != nil {
			return err
		}
		return d.put(s)
	case '[', '{', ':', ',', ']', '}':
		d.pos++
		return d.structure(c)
	}
	v, err := d.literal()
	if err != nil {
		return err
	}
	if d.has {
		d.delimiter()
	}
	if err := d.put(v); err != nil || len(d.stack) > 0 || d.pos == len(d.buf) {
		return err
	}
	// What ends a number at the top is part of the same step.
	switch c := d.buf[d.pos]; c {
	case '[', '{', ':', ',', ']', '}':
		d.pos++
		return d.structure(c)
	}
	return nil
}

func (d *Decoder) put(v any) error {
	if d.has {
		return d.fail("Expected separator between values")
	}
	d.next, d.has = v, true
	return nil
}

// structure handles brackets, commas and colons.
func (d *Decoder) structure(c byte) error {
	var top *openValue
	if n := len(d.stack); n > 0 {
		top = &d.stack[n-1]
	}
	switch c {
	case '[', '{':
		if d.has {
			return d.fail("Expected separator between values")
		}
		if len(d.stack) >= MaxNesting {
			return d.fail("Exceeds depth limit for parsing")
		}
		f := openValue{array: c == '['}
		d.hold(192)
		if c == '{' && !d.Stream {
			f.obj = NewObject()
		}
		d.stack = append(d.stack, f)
		return nil
	case ':':
		if top != nil && top.array {
			return d.fail("':' not as part of an object")
		}
		if !d.has || top == nil {
			return d.fail("Expected string key before ':'")
		}
		key, ok := d.next.(string)
		if !ok {
			return d.fail("Object keys must be strings")
		}
		if top.keyed {
			return d.fail("':' should follow a key")
		}
		top.keyed, top.key, top.comma, d.has = true, key, false, false
		return nil
	case ',':
		if !d.has && !(d.Stream && top != nil && top.n > 0 && !top.comma) || top == nil {
			return d.fail("Expected value before ','")
		}
		if !top.array && d.has && !top.keyed {
			return d.fail("Objects must consist of key:value pairs")
		}
		if d.has {
			d.add(top)
		}
		top.comma, top.keyed = true, false
		return nil
	case ']':
		if top == nil && d.Stream {
			return d.fail("Unmatched ']' at the top-level")
		}
		if top == nil || !top.array {
			return d.fail("Unmatched ']'")
		}
		if top.comma && !d.has {
			return d.fail("Expected another array element")
		}
		if d.has {
			d.add(top)
		}
	case '}':
		if top == nil && d.Stream {
			return d.fail("Unmatched '}' at the top-level")
		}
		if top == nil {
			return d.fail("Unmatched '}'")
		}
		if d.has {
			if !top.keyed {
				return d.fail("Objects must consist of key:value pairs")
			}
			d.add(top)
			break
		}
		if top.array || top.keyed {
			return d.fail("Unmatched '}'")
		}
		if top.comma {
			if d.Stream {
				return d.fail("Expected another key:value pair")
			}
			return d.fail("Expected another key-value pair")
		}
	}
	return d.end()
}

// add puts the pending value into the innermost array or object.
func (d *Decoder) add(top *openValue) {
	d.tick(1)
	d.has = false
	switch {
	case d.Stream:
		d.events = append(d.events, NewArray([]any{d.path(len(d.stack)), d.next}))
	case top.array:
		if len(top.e) == cap(top.e) {
			d.hold(16 * max(4, len(top.e)))
		}
		top.e = append(top.e, d.next)
	default:
		d.hold(64 + len(top.key))
		top.obj.put(top.key, d.next)
	}
	top.n++
	top.keyed, top.comma = false, false
}

// end closes the innermost array or object.
func (d *Decoder) end() error {
	n := len(d.stack) - 1
	top := d.stack[n]
	if d.Stream {
		if top.n > 0 {
			d.stack[n].n--
			d.events = append(d.events, NewArray([]any{d.path(n + 1)}))
		}
		d.stack = d.stack[:n]
		if top.n == 0 {
			empty := any(NewObject())
			if top.array {
				empty = NewArray(nil)
			}
			if n == 0 {
				return d.put(empty)
			}
			d.events = append(d.events, NewArray([]any{d.path(n), empty}))
		}
		if n > 0 {
			up := &d.stack[n-1]
			up.n++
			up.keyed, up.comma = false, false
		}
		return nil
	}
	d.stack[n] = openValue{}
	d.stack = d.stack[:n]
	if top.array {
		return d.put(NewArray(top.e))
	}
	return d.put(top.obj)
}

// Lost is the path to where the last [ParseError] was.
func (d *Decoder) Lost() *Array {
	keys := make([]any, 0, len(d.lost))
	for _, f := range d.lost {
		switch {
		case f.array:
			keys = append(keys, float64(f.n))
		case f.keyed:
			keys = append(keys, f.key)
		default:
			keys = append(keys, nil)
		}
	}
	return NewArray(keys)
}

// path is where the pending value of the nth array or object from the outside stands.
func (d *Decoder) path(n int) *Array {
	d.tick(n >> 6)
	d.hold(256 + 16*n)
	keys := make([]any, n)
	for i, f := range d.stack[:n] {
		if f.array {
			keys[i] = float64(f.n)
		} else {
			keys[i] = f.key
		}
	}
	return NewArray(keys)
}

// str reads the rest of a string, after its opening quote.
func (d *Decoder) str() (string, error) {
	i := d.pos
	plain := true
	for {
		for i < len(d.buf) && d.buf[i] != '"' {
			if c := d.buf[i]; c == '\\' {
				plain = false
				i++
			} else if c < 0x20 {
				plain = false
			}
			i++
		}
		if i < len(d.buf) {
			break
		}
		off := i - d.pos
		if !d.fill() {
			return "", d.unfinished("Unfinished string")
		}
		i = d.pos + off
	}
	raw := d.buf[d.pos:i]
	d.pos = i + 1
	d.hold(len(raw))
	d.tick(len(raw) >> 10)
	if plain && utf8.Valid(raw) {
		return string(raw), nil
	}
	b, problem := unquote(raw)
	if problem != "" {
		return "", d.fail(problem)
	}
	return string(b), nil
}

// unquote resolves the escapes of a string; problem says why it is none.
func unquote(raw []byte) (b []byte, problem string) {
	b = make([]byte, 0, len(raw))
	for j := 0; j < len(raw); {
		c := raw[j]
		if c != '\\' {
			if c < 0x20 {
				return nil, "Invalid string: control characters from U+0000 through U+001F must be escaped"
			}
			if c < utf8.RuneSelf {
				b = append(b, c)
				j++
				continue
			}
			r, n := utf8.DecodeRune(raw[j:])
			b = utf8.AppendRune(b, r)
			j += n
			continue
		}
		j++
		switch c = raw[j]; c {
		case 'u':
			if len(raw) < j+5 {
				return nil, `Invalid \uXXXX escape`
			}
			r, ok := hex4(raw[j+1:])
			if !ok {
				return nil, `Invalid characters in \uXXXX escape`
			}
			j += 4
			if r >= 0xd800 && r < 0xdc00 {
				low, ok := rune(0), false
				if j+2 < len(raw) && raw[j+1] == '\\' && raw[j+2] == 'u' {
					low, ok = hex4(raw[j+3:])
				}
				if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
					return nil, `Invalid \uXXXX\uXXXX surrogate pair escape`
				}
				j += 6
			}
			b = utf8.AppendRune(b, r)
		default:
			i := strings.IndexByte(`"\/bfnrt`, c)
			if i < 0 {
				return nil, "Invalid escape"
			}
			b = append(b, "\"\\/\b\f\n\r\t"[i])
		}
		j++
	}
	return b, ""
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	return rune(n), err == nil
}

// delimiter moves past the byte after a literal, which is where jq notices what is wrong with it.
func (d *Decoder) delimiter() {
	if d.pos < len(d.buf) {
		d.pos++
	}
}

func (d *Decoder) literal() (any, error) {
	i := d.pos
scan:
	for {
		for i < len(d.buf) {
			switch d.buf[i] {
			case ' ', '\t', '\n', '\r', ',', ':', '[', ']', '{', '}', '"':
				break scan
			case 0x1e:
				if d.separated {
					break scan
				}
			}
			i++
		}
		off := i - d.pos
		if off > 1<<20 {
			return nil, d.fail("Invalid numeric literal")
		}
		if !d.fill() {
			i = len(d.buf)
			break
		}
		i = d.pos + off
	}
	word := d.buf[d.pos:i]
	d.pos = i
	if len(word) > 32 {
		d.hold(len(word))
		d.tick(len(word) >> 8)
	}
	problem := "Invalid numeric literal"
	switch word[0] {
	case '\'':
		problem = `Invalid string literal; expected ", but got '`
	case 'n', 't', 'f':
		switch string(word) {
		case "null":
			return nil, nil
		case "true":
			return true, nil
		case "false":
			return false, nil
		case "nan":
			return nan, nil
		}
		if word[0] == 'n' && !bytes.HasPrefix(word, []byte("nu")) {
			break
		}
		problem = "Invalid literal"
	default:
		w := string(word)
		if f, ok := parseNumber(w); ok {
			if d.Literals {
				return newNumber(w, f), nil
			}
			return f, nil
		}
	}
	if i == len(d.buf) {
		problem += " at EOF"
	}
	d.delimiter()
	return nil, d.fail(problem)
}

// parseNumber reads a JSON number, with the liberties of strtod that jq takes.
func parseNumber(s string) (float64, bool) {
	digits := false
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits = true
		case c == '+' || c == '-':
			if i > 0 && s[i-1] != 'e' && s[i-1] != 'E' {
				return 0, false
			}
		case c == '.' || c == 'e' || c == 'E':
		default:
			return notFinite(s)
		}
	}
	if !digits {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return f, true
}

func notFinite(s string) (float64, bool) {
	sign := 1
	if s[0] == '-' || s[0] == '+' {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	switch strings.ToLower(s) {
	case "nan":
		return nan, true
	case "inf", "infinity":
		return math.Inf(sign), true
	}
	return 0, false
}

// ParseText reads one value from a text that holds nothing else.
func ParseText(s string, tick, hold func(int)) (any, error) { return parseText(s, tick, hold, false) }

func parseText(s string, tick, hold func(int), literals bool) (any, error) {
	d := &Decoder{buf: []byte(s), eof: true, tick: tick, hold: hold, Literals: literals}
	v, err := d.Next()
	if errors.Is(err, io.EOF) {
		return nil, &ParseError{Msg: "Expected JSON value"}
	}
	if err != nil {
		return nil, err
	}
	if _, ok := d.peek(); ok {
		return nil, &ParseError{Msg: "Unexpected extra JSON values"}
	}
	return v, nil
}
