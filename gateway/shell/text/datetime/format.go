package datetime

import (
	"fmt"
	"strings"
	"time"
)

var weekdays = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}

// Meter counts work, and memory before it is taken. A process is one.
type Meter interface {
	Tick(n int)
	Hold(n int)
	Release(n int)
}

// piece is how much of a format is read, or text written, between two looks at the meter.
const piece = 64 << 10

// Format is strftime(3) in the C locale with the extensions of GNU date: the flags - _ 0 + ^ #, a width, the
// modifiers E and O, %N %:z %::z %:::z %P %q %k %l %s. Unknown conversions are copied. It is for the formats of a
// program; those of a script, which may be of any length, are for [Counted].
func Format(format string, t time.Time) string {
	b := make([]byte, 0, 64)
	for at := 0; at < len(format); {
		b, at = appendPiece(b, format, at, t)
	}
	return string(b)
}

// Counted is [Format] for a format that a script has chosen. The result is held: its taker releases its length.
func Counted(m Meter, format string, t time.Time) string {
	b, at := appendPiece(nil, format, 0, t)
	m.Hold(len(b))
	if at == len(format) {
		return string(b)
	}
	pieces, size := [][]byte{b}, len(b)
	for at < len(format) {
		m.Tick(piece / 64)
		b, at = appendPiece(make([]byte, 0, piece+2*maxWidth), format, at, t)
		m.Hold(cap(b))
		pieces, size = append(pieces, b), size+cap(b)
	}
	n := 0
	for _, b := range pieces {
		n += len(b)
	}
	m.Hold(n)
	var text strings.Builder
	text.Grow(n)
	for _, b := range pieces {
		m.Tick(piece >> 10)
		text.Write(b)
	}
	m.Release(size)
	return text.String()
}

// appendPiece appends what comes of about a piece of the format, from at, and returns where the rest begins.
func appendPiece(b []byte, format string, at int, t time.Time) ([]byte, int) {
	start, i := len(b), at
	for ; i < len(format) && i-at < piece && len(b)-start < piece; i++ {
		if format[i] != '%' {
			b = append(b, format[i])
			continue
		}
		begin := i
		var c conversion
		i = c.parse(format, i+1)
		if i >= len(format) {
			return c.literal(b, format[begin:]), i
		}
		var ok bool
		if b, ok = c.append(b, format[i], t); !ok {
			if format[i] == '%' && c.width >= 0 {
				c.width++ // as GNU has it
			}
			b = c.literal(b, format[begin:i+1])
		}
	}
	return b, i
}

// maxWidth bounds a padded field.
const maxWidth = 4096

type conversion struct {
	pad    byte // 0 the default, '-', '_', '0', '+'
	upper  bool
	swap   bool
	width  int // -1 unset
	colons int
	mod    byte // 'E' or 'O'
}

// literal copies a conversion that is none, in the width it asks for.
func (c *conversion) literal(b []byte, s string) []byte {
	plain := conversion{pad: c.pad, width: c.width}
	return plain.text(b, s)
}

func (c *conversion) parse(f string, i int) int {
	c.width = -1
	for ; i < len(f); i++ {
		switch f[i] {
		case '-', '_', '0', '+':
			c.pad = f[i]
			continue
		case '^':
			c.upper = true
			continue
		case '#':
			c.swap = true
			continue
		}
		break
	}
	for ; i < len(f) && f[i] >= '0' && f[i] <= '9'; i++ {
		c.width = min(max(c.width, 0)*10+int(f[i]-'0'), maxWidth)
	}
	for ; i < len(f) && f[i] == ':'; i++ {
		c.colons++
	}
	if i < len(f) && (f[i] == 'E' || f[i] == 'O') && c.colons == 0 {
		c.mod = f[i]
		i++
	}
	return i
}

func (c *conversion) text(b []byte, s string) []byte {
	if c.upper {
		s = strings.ToUpper(s)
	}
	if c.pad != '-' {
		fill := byte(' ')
		if c.pad == '0' || c.pad == '+' {
			fill = '0'
		}
		for n := c.width - len(s); n > 0; n-- {
			b = append(b, fill)
		}
	}
	return append(b, s...)
}

// number prints n with at least digits digits, padded with fill unless a flag says otherwise.
func (c *conversion) number(b []byte, n, digits int, fill byte) []byte {
	return c.signed(b, n, digits, fill, false, 0)
}

// year is a number that gets a sign when it has more digits than usual and the flag + is given.
func (c *conversion) year(b []byte, n, digits int) []byte {
	usual := 9999
	if digits == 2 {
		usual = 99
	}
	return c.signed(b, n, digits, '0', c.pad == '+' && (n > usual || c.width > digits), 0)
}

// signed prints n; the sign counts towards the width. Bit k of colons puts a colon before the k-th digit from the
// right.
func (c *conversion) signed(b []byte, n, digits int, fill byte, plus bool, colons uint) []byte {
	switch c.pad {
	case '_':
		fill = ' '
	case '0', '+':
		fill = '0'
	}
	width := digits
	if c.width >= 0 {
		width = c.width
	}
	var sign []byte
	if n < 0 {
		sign, n = []byte{'-'}, -n
	} else if plus {
		sign = []byte{'+'}
	}
	var rev []byte
	for {
		if colons&1 != 0 {
			rev = append(rev, ':')
		}
		colons >>= 1
		rev = append(rev, byte('0'+n%10))
		if n /= 10; n == 0 && colons == 0 {
			break
		}
	}
	short := width - len(sign) - len(rev)
	if c.pad == '-' {
		short = 0
	}
	if fill == '0' {
		b = append(b, sign...)
	}
	for ; short > 0; short-- {
		b = append(b, fill)
	}
	if fill != '0' {
		b = append(b, sign...)
	}
	for i := len(rev) - 1; i >= 0; i-- {
		b = append(b, rev[i])
	}
	return b
}

// modifiable lists the conversions that take the modifiers E and O.
var modifiable = map[byte]string{'E': "cCxXyYpPsutnzZrRTq", 'O': "bhBCdegGHIjklmMNpPrRsSTuUVwWyzZnt"}

func (c *conversion) append(b []byte, verb byte, t time.Time) ([]byte, bool) {
	if c.colons > 0 && (verb != 'z' || c.colons > 3) || c.mod != 0 && strings.IndexByte(modifiable[c.mod], verb) < 0 {
		return b, false
	}
	year, month, day := t.Date()
	hour, minute, sec := t.Clock()
	hour12 := (hour+11)%12 + 1
	sub := func(f string) []byte {
		return c.text(b, Format(f, t))
	}
	name := func(s string) []byte {
		if c.swap {
			s = strings.ToUpper(s)
		}
		return c.text(b, s)
	}
	switch verb {
	case '%':
		if c.pad != 0 || c.upper || c.swap || c.width >= 0 || c.mod != 0 {
			return b, false
		}
		return append(b, '%'), true
	case 'n':
		return c.text(b, "\n"), true
	case 't':
		return c.text(b, "\t"), true
	case 'a':
		return name(weekdays[t.Weekday()][:3]), true
	case 'A':
		return name(weekdays[t.Weekday()]), true
	case 'b', 'h':
		return name(month.String()[:3]), true
	case 'B':
		return name(month.String()), true
	case 'c':
		return sub("%a %b %e %H:%M:%S %Y"), true
	case 'C':
		return c.year(b, floorDiv(year, 100), 2), true
	case 'd':
		return c.number(b, day, 2, '0'), true
	case 'D', 'x':
		return sub("%m/%d/%y"), true
	case 'e':
		return c.number(b, day, 2, ' '), true
	case 'F':
		y := conversion{pad: c.pad, width: max(c.width-6, 0)}
		if c.pad == 0 && c.width < 0 {
			y = conversion{pad: '+', width: 4}
		}
		return append(y.year(b, year, 4), Format("-%m-%d", t)...), true
	case 'g':
		y, _ := t.ISOWeek()
		return c.year(b, ((y%100)+100)%100, 2), true
	case 'G':
		y, _ := t.ISOWeek()
		return c.year(b, y, 4), true
	case 'H':
		return c.number(b, hour, 2, '0'), true
	case 'I':
		return c.number(b, hour12, 2, '0'), true
	case 'j':
		return c.number(b, t.YearDay(), 3, '0'), true
	case 'k':
		return c.number(b, hour, 2, ' '), true
	case 'l':
		return c.number(b, hour12, 2, ' '), true
	case 'm':
		return c.number(b, int(month), 2, '0'), true
	case 'M':
		return c.number(b, minute, 2, '0'), true
	case 'N':
		return c.nanoseconds(b, t.Nanosecond()), true
	case 'p', 'P':
		s := "AM"
		if hour >= 12 {
			s = "PM"
		}
		if verb == 'P' || c.swap {
			return (&conversion{pad: c.pad, width: c.width}).text(b, strings.ToLower(s)), true
		}
		return c.text(b, s), true
	case 'q':
		return c.number(b, (int(month)-1)/3+1, 1, '0'), true
	case 'r':
		return sub("%I:%M:%S %p"), true
	case 'R':
		return sub("%H:%M"), true
	case 's':
		return c.number(b, int(t.Unix()), 1, '0'), true
	case 'S':
		return c.number(b, sec, 2, '0'), true
	case 'T', 'X':
		return sub("%H:%M:%S"), true
	case 'u':
		return c.number(b, (int(t.Weekday())+6)%7+1, 1, '0'), true
	case 'U':
		return c.number(b, (t.YearDay()+6-int(t.Weekday()))/7, 2, '0'), true
	case 'V':
		_, w := t.ISOWeek()
		return c.number(b, w, 2, '0'), true
	case 'w':
		return c.number(b, int(t.Weekday()), 1, '0'), true
	case 'W':
		return c.number(b, (t.YearDay()+6-(int(t.Weekday())+6)%7)/7, 2, '0'), true
	case 'y':
		return c.year(b, ((year%100)+100)%100, 2), true
	case 'Y':
		return c.year(b, year, 4), true
	case 'z':
		return c.offset(b, t), true
	case 'Z':
		z, _ := t.Zone()
		if c.swap {
			z = strings.ToLower(z)
		}
		return c.text(b, z), true
	}
	return b, false
}

// nanoseconds is %N: a width below nine truncates, a larger one pads on the right.
func (c *conversion) nanoseconds(b []byte, ns int) []byte {
	width, n := c.width, 9
	if width <= 0 {
		if c.pad == '-' {
			// GNU date reads %-N as the resolution of the clock.
			c.pad = 0
		}
		width = n
	}
	for width < n || n > 1 && ns%10 == 0 {
		n--
		ns /= 10
	}
	b = append(b, fmt.Sprintf("%0*d", n, ns)...)
	fill := byte('0')
	switch c.pad {
	case '-':
		return b
	case '_':
		fill = ' '
	}
	for ; n < width; n++ {
		b = append(b, fill)
	}
	return b
}

func (c *conversion) offset(b []byte, t time.Time) []byte {
	_, off := t.Zone()
	neg := off < 0
	if neg {
		off = -off
	}
	h, m, s := off/3600, off/60%60, off%60
	colons := c.colons
	if colons == 3 {
		switch {
		case s != 0:
			colons = 2
		case m != 0:
			colons = 1
		default:
			return c.zone(b, neg, h, 3, 0)
		}
	}
	switch colons {
	case 1:
		return c.zone(b, neg, h*100+m, 6, 0b100)
	case 2:
		return c.zone(b, neg, h*10000+m*100+s, 9, 0b10100)
	}
	return c.zone(b, neg, h*100+m, 5, 0)
}

// zone is signed with a sign for zero too.
func (c *conversion) zone(b []byte, neg bool, n, digits int, colons uint) []byte {
	if neg {
		n = -n
	}
	return c.signed(b, n, digits, '0', true, colons)
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
