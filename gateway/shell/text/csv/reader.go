package csv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Quoting says which fields have quotes.
type Quoting int

// The styles of quoting, numbered as the options of csvkit number them.
const (
	QuoteMinimal Quoting = iota
	QuoteAll
	QuoteNonNumeric
	QuoteNone
)

// Dialect is how values are separated. Quote and Escape are 0 for none.
type Dialect struct {
	Delimiter, Quote, Escape rune
	Doubled                  bool // two quotes in a quoted field are one
	SkipSpace                bool // blanks after a delimiter do not count
	Quoting                  Quoting
	End                      string // of written lines
}

// Excel is the dialect of plain CSV.
func Excel() Dialect { return Dialect{Delimiter: ',', Quote: '"', Doubled: true, End: "\n"} }

// Reader reads rows. Ends of lines are \n, \r\n or \r.
type Reader struct {
	d    Dialect
	r    *bufio.Reader
	line int
	buf  strings.Builder
	skip bool // a \n after \r is part of it

	// MaxField is how many bytes a field may have.
	MaxField int
}

// Bounds of what is read: Python's of a field, and one of a row.
const (
	maxField = 131072
	maxRow   = 16 << 20
)

// NewReader reads rows of r.
func NewReader(r io.Reader, d Dialect) *Reader {
	return &Reader{d: d, r: bufio.NewReaderSize(r, 64<<10), MaxField: maxField}
}

// Line is the number of the line that the last row ended on.
func (r *Reader) Line() int { return r.line }

func (r *Reader) rune() (rune, error) {
	for {
		c, _, err := r.r.ReadRune()
		if err != nil {
			return 0, err
		}
		if r.skip {
			if r.skip = false; c == '\n' {
				continue
			}
		}
		if c == '\r' {
			r.skip, c = true, '\n'
		}
		if c == '\n' {
			r.line++
		}
		return c, nil
	}
}

// SkipLine reads past a line.
func (r *Reader) SkipLine() error {
	for {
		if c, err := r.rune(); err != nil || c == '\n' {
			r.line = 0
			return err
		}
	}
}

// state of a row that is being read.
type state uint8

const (
	startRow state = iota
	startField
	inField
	inQuotes
	afterQuote
	escaped
	escapedQuoted
)

// Read returns the next row, which is the caller's; an empty line has no fields. The error is io.EOF at the end.
func (r *Reader) Read() ([]string, error) {
	row := []string{}
	at := startRow
	r.buf.Reset()
	size := 0
	save := func() {
		size += 16 + r.buf.Len()
		row = append(row, strings.Clone(r.buf.String()))
		r.buf.Reset()
	}
	for {
		if r.buf.Len() > r.MaxField {
			return nil, &Error{"FieldSizeLimitError", fmt.Sprintf("CSV contains a field longer than the maximum length of %d characters. Try raising the maximum with the field_size_limit parameter, or try setting quoting=csv.QUOTE_NONE.", r.MaxField)}
		}
		if size > maxRow {
			return nil, &Error{"Error", "row too long"}
		}
		c, err := r.rune()
		if err != nil {
			if !errors.Is(err, io.EOF) || at == startRow {
				return nil, err
			}
			save()
			r.line++
			return row, nil
		}
		switch at {
		case startRow, startField:
			switch {
			case c == '\n':
				if at == startField {
					save()
				}
				return row, nil
			case c == r.d.Quote && c != 0 && r.d.Quoting != QuoteNone:
				at = inQuotes
			case c == r.d.Escape && c != 0:
				at = escaped
			case c == ' ' && r.d.SkipSpace:
				at = startField
			case c == r.d.Delimiter:
				save()
				at = startField
			default:
				r.buf.WriteRune(c)
				at = inField
			}
		case inField:
			switch {
			case c == '\n':
				save()
				return row, nil
			case c == r.d.Escape && c != 0:
				at = escaped
			case c == r.d.Delimiter:
				save()
				at = startField
			default:
				r.buf.WriteRune(c)
			}
		case inQuotes:
			switch {
			case c == r.d.Escape && c != 0:
				at = escapedQuoted
			case c == r.d.Quote && r.d.Doubled:
				at = afterQuote
			case c == r.d.Quote:
				at = inField
			default:
				r.buf.WriteRune(c)
			}
		case afterQuote:
			switch {
			case c == r.d.Quote:
				r.buf.WriteRune(c)
				at = inQuotes
			case c == r.d.Delimiter:
				save()
				at = startField
			case c == '\n':
				save()
				return row, nil
			default:
				r.buf.WriteRune(c)
				at = inField
			}
		case escaped:
			r.buf.WriteRune(c)
			at = inField
		case escapedQuoted:
			r.buf.WriteRune(c)
			at = inQuotes
		}
	}
}

// ErrNoEscape is what a field that must be escaped meets in a dialect without an escape.
var ErrNoEscape = error(&Error{"Error", "need to escape, but no escapechar set"})

// Append appends a row as a line.
func (d Dialect) Append(b []byte, row []string) ([]byte, error) {
	for i, f := range row {
		if i > 0 {
			b = append(b, string(d.Delimiter)...)
		}
		quoted := d.Quoting == QuoteAll || d.Quoting == QuoteNonNumeric
		if d.Quoting == QuoteMinimal {
			quoted = f == "" && len(row) == 1
			for _, c := range f {
				if c == d.Delimiter || c == d.Quote && d.Doubled || strings.ContainsRune(d.End, c) {
					quoted = true
					break
				}
			}
		}
		if d.Quoting == QuoteNone && f == "" && len(row) == 1 {
			return nil, &Error{"Error", "single empty field record must be quoted"}
		}
		if quoted {
			b = append(b, string(d.Quote)...)
		}
		for _, c := range f {
			special := c == d.Delimiter && !quoted || c == d.Escape && c != 0 || c == d.Quote && d.Quote != 0 ||
				!quoted && strings.ContainsRune(d.End, c)
			switch {
			case !special || quoted && c != d.Quote && c != d.Escape:
			case c == d.Quote && quoted && d.Doubled:
				b = append(b, string(c)...)
			case d.Escape == 0:
				return nil, ErrNoEscape
			default:
				b = append(b, string(d.Escape)...)
			}
			b = append(b, string(c)...)
		}
		if quoted {
			b = append(b, string(d.Quote)...)
		}
	}
	return append(b, d.End...), nil
}
