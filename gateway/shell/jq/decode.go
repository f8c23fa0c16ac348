package jq

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxNesting is how deep arrays and objects of the input may be nested, as in jq 1.6.
const MaxNesting = 256

// A ParseError is malformed JSON.
type ParseError struct {
	Msg          string
	Line, Column int
}

func (e *ParseError) Error() string {
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
	depth int
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
		d.hold(n - cap(d.buf))
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
	n := d.lines + bytes.Count(d.buf[:d.pos], []byte{'\n'})
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

func (d *Decoder) unfinished() error {
	if d.err != nil {
		return d.err
	}
	d.pos = len(d.buf)
	return d.fail("Unfinished JSON term at EOF")
}

// peek returns the next byte that is no white space; ok is false at the end.
func (d *Decoder) peek() (byte, bool) {
	for {
		for d.pos < len(d.buf) {
			switch c := d.buf[d.pos]; c {
			case ' ', '\t', '\n', '\r':
				d.pos++
			case 0x1e:
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

// Next returns the next value, io.EOF after the last.
func (d *Decoder) Next() (any, error) {
	if d.lines == 0 && d.col == 0 && d.pos == 0 {
		for len(d.buf) < 3 && d.fill() {
		}
		if bytes.HasPrefix(d.buf, []byte("\xef\xbb\xbf")) {
			d.pos = 3
		}
	}
	if _, ok := d.peek(); !ok {
		if d.err != nil {
			return nil, d.err
		}
		return nil, io.EOF
	}
	d.depth = 0
	d.tick(1)
	return d.value()
}

func (d *Decoder) value() (any, error) {
	c, ok := d.peek()
	if !ok {
		return nil, d.unfinished()
	}
	switch c {
	case '{':
		return d.object()
	case '[':
		return d.array()
	case '"':
		d.pos++
		return d.str()
	case ']', '}':
		d.pos++
		return nil, d.fail("Unmatched '" + string(c) + "'")
	case ',', ':':
		d.pos++
		return nil, d.fail("Expected value before ','")
	}
	return d.literal()
}

func (d *Decoder) enter() error {
	d.pos++
	if d.depth++; d.depth > MaxNesting {
		return d.fail("Exceeds depth limit for parsing")
	}
	return nil
}

func (d *Decoder) array() (any, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	var e []any
	for {
		c, ok := d.peek()
		if !ok {
			return nil, d.unfinished()
		}
		if c == ']' && len(e) == 0 {
			break
		}
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		if len(e) == cap(e) {
			d.hold(16 * max(4, len(e)))
		}
		e = append(e, v)
		d.tick(1)
		if c, ok = d.peek(); !ok {
			return nil, d.unfinished()
		}
		if c == ']' {
			break
		}
		d.pos++
		if c != ',' {
			return nil, d.fail("Expected separator between values")
		}
		if c, ok = d.peek(); ok && c == ']' {
			d.pos++
			return nil, d.fail("Expected another array element")
		}
	}
	d.pos++
	d.depth--
	return NewArray(e), nil
}

func (d *Decoder) object() (any, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	o := NewObject()
	for {
		c, ok := d.peek()
		if !ok {
			return nil, d.unfinished()
		}
		if c == '}' && len(o.keys) == 0 {
			break
		}
		if c != '"' {
			if c == '}' || c == ',' || c == ']' {
				d.pos++
				return nil, d.fail("Objects must consist of key:value pairs")
			}
			if _, err := d.value(); err != nil {
				return nil, err
			}
			return nil, d.fail("Object keys must be strings")
		}
		d.pos++
		k, err := d.str()
		if err != nil {
			return nil, err
		}
		if c, ok = d.peek(); !ok {
			return nil, d.unfinished()
		}
		d.pos++
		if c != ':' {
			return nil, d.fail("Objects must consist of key:value pairs")
		}
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		d.hold(64 + len(k))
		o.put(k, v)
		d.tick(1)
		if c, ok = d.peek(); !ok {
			return nil, d.unfinished()
		}
		if c == '}' {
			break
		}
		d.pos++
		if c != ',' {
			return nil, d.fail("Expected separator between values")
		}
		if c, ok = d.peek(); ok && c == '}' {
			d.pos++
			return nil, d.fail("Objects must consist of key:value pairs")
		}
	}
	d.pos++
	d.depth--
	return o, nil
}

// str reads the rest of a string, after its opening quote.
func (d *Decoder) str() (string, error) {
	i := d.pos
	plain := true
	for {
		for i < len(d.buf) && d.buf[i] != '"' {
			if d.buf[i] == '\\' {
				plain = false
				i++
			}
			i++
		}
		if i < len(d.buf) {
			break
		}
		off := i - d.pos
		if !d.fill() {
			return "", d.unfinished()
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
	b := make([]byte, 0, len(raw))
	for j := 0; j < len(raw); {
		c := raw[j]
		if c != '\\' {
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
		if j >= len(raw) {
			return "", d.fail("Invalid escape")
		}
		switch c = raw[j]; c {
		case '"', '\\', '/':
			b = append(b, c)
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r, ok := hex4(raw[j+1:])
			if !ok {
				return "", d.fail("Invalid escape")
			}
			j += 4
			if utf16.IsSurrogate(r) {
				low, ok := rune(0), false
				if j+2 < len(raw) && raw[j+1] == '\\' && raw[j+2] == 'u' {
					low, ok = hex4(raw[j+3:])
				}
				if r = utf16.DecodeRune(r, low); ok && r != utf8.RuneError {
					j += 6
				} else {
					r = utf8.RuneError
				}
			}
			b = utf8.AppendRune(b, r)
		default:
			return "", d.fail("Invalid escape")
		}
		j++
	}
	return string(b), nil
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	return rune(n), err == nil
}

func (d *Decoder) literal() (any, error) {
	i := d.pos
	for {
		for i < len(d.buf) {
			switch d.buf[i] {
			case ' ', '\t', '\n', '\r', ',', ':', '[', ']', '{', '}', '"', 0x1e:
				goto done
			}
			i++
		}
		off := i - d.pos
		if off > 1<<20 {
			return nil, d.fail("Invalid numeric literal")
		}
		if !d.fill() {
			break
		}
		i = d.pos + off
	}
done:
	word := string(d.buf[d.pos:i])
	d.pos = i
	switch word {
	case "null":
		return nil, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	case "nan":
		return nan, nil
	}
	if f, ok := parseNumber(word); ok {
		return f, nil
	}
	if i < len(d.buf) {
		d.pos++ // jq notices at the byte after the word
	}
	if i == len(d.buf) {
		return nil, d.fail("Invalid numeric literal at EOF")
	}
	return nil, d.fail("Invalid numeric literal")
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
			return 0, false
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

// ParseText reads one value from a text that holds nothing else.
func ParseText(s string, tick, hold func(int)) (any, error) {
	d := &Decoder{buf: []byte(s), eof: true, tick: tick, hold: hold}
	v, err := d.Next()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if _, ok := d.peek(); ok {
		return nil, d.fail("Unexpected extra JSON values")
	}
	return v, nil
}
