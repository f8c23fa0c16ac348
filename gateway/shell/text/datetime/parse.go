package datetime

import (
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// Parse reads a date the way GNU date -d does, relative to now and in now's zone unless the text names another. The
// result is in the zone of now. Text that is no date is vfs.EINVAL.
func Parse(text string, now time.Time) (time.Time, error) {
	if len(text) > maxText {
		return time.Time{}, vfs.EINVAL
	}
	local := now.Location()
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	if rest, ok := strings.CutPrefix(text, `TZ="`); ok {
		name, after, ok := strings.Cut(rest, `"`)
		if !ok {
			return time.Time{}, vfs.EINVAL
		}
		now = now.In(Zone(name))
		text = after
	}
	tokens, ok := scan(text)
	if !ok {
		return time.Time{}, vfs.EINVAL
	}
	d := newDraft(now)
	ps := parser{tokens: tokens, d: d}
	for ps.pos < len(ps.tokens) {
		if !ps.item() {
			return time.Time{}, vfs.EINVAL
		}
	}
	t, ok := d.resolve(now)
	if !ok {
		return time.Time{}, vfs.EINVAL
	}
	return t.In(local), nil
}

// maxText bounds the text of a date.
const maxText = 64 << 10

type tokenKind uint8

const (
	tokNumber  tokenKind = iota // unsigned
	tokSigned                   // with + or -
	tokDecimal                  // unsigned, with a fraction
	tokSignedDecimal
	tokWord
	tokChar
)

type token struct {
	kind   tokenKind
	word   string // lower case
	char   byte
	value  int64
	nanos  int64
	digits int
	neg    bool
}

// maxDigits keeps numbers within int64.
const maxDigits = 18

func scan(s string) (tokens []token, ok bool) {
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r':
			i++
		case c == '(':
			depth := 0
			for ; i < len(s); i++ {
				if s[i] == '(' {
					depth++
				} else if s[i] == ')' {
					if depth--; depth == 0 {
						break
					}
				}
			}
			if i == len(s) {
				return nil, false
			}
			i++
		case isDigit(c) || c == '+' || c == '-':
			t := token{kind: tokNumber}
			if c == '+' || c == '-' {
				t.kind, t.neg = tokSigned, c == '-'
				for i++; i < len(s) && (s[i] == ' ' || s[i] == '\t'); i++ {
				}
				if i == len(s) || !isDigit(s[i]) {
					// A lone sign means nothing.
					continue
				}
			}
			start := i
			for i < len(s) && isDigit(s[i]) {
				t.value = t.value*10 + int64(s[i]-'0')
				if i-start >= maxDigits {
					return nil, false
				}
				i++
			}
			t.digits = i - start
			if i+1 < len(s) && (s[i] == '.' || s[i] == ',') && isDigit(s[i+1]) {
				t.kind += tokDecimal
				scale := int64(1e9)
				for i++; i < len(s) && isDigit(s[i]); i++ {
					scale /= 10
					t.nanos += scale * int64(s[i]-'0')
				}
			}
			if t.neg {
				t.value, t.nanos = -t.value, -t.nanos
			}
			tokens = append(tokens, t)
		case isLetter(c):
			start := i
			for i < len(s) && (isLetter(s[i]) || s[i] == '.') {
				i++
			}
			w := strings.ToLower(strings.ReplaceAll(s[start:i], ".", ""))
			// "2024-01-02T03:04Z": the T stands between numbers.
			tokens = append(tokens, token{kind: tokWord, word: w})
		default:
			tokens = append(tokens, token{kind: tokChar, char: c})
			i++
		}
	}
	return tokens, true
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// draft is what the items of a date have said so far.
type draft struct {
	year                    int64
	yearDigits              int
	month, day              int64
	hour, minute            int64
	sec, nanos              int64
	meridian                int // 0 none (24 h), 1 am, 2 pm
	dayOrdinal, dayNumber   int64
	zoneOffset              int64 // seconds east
	relYear, relMonth       int64
	relDay, relHour         int64
	relMinute, relSec       int64
	relNanos                int64
	times, dates, days      int
	zones, localZones, dsts int
	rels                    bool
	stamp                   *time.Time
}

func newDraft(now time.Time) *draft {
	y, m, d := now.Date()
	return &draft{
		year: int64(y), month: int64(m), day: int64(d), hour: int64(now.Hour()), minute: int64(now.Minute()),
		sec: int64(now.Second()), nanos: int64(now.Nanosecond()),
	}
}

type parser struct {
	tokens []token
	pos    int
	d      *draft
}

func (ps *parser) at(n int) token {
	if ps.pos+n < len(ps.tokens) {
		return ps.tokens[ps.pos+n]
	}
	return token{kind: tokChar}
}

func (ps *parser) isChar(n int, c byte) bool {
	t := ps.at(n)
	return t.kind == tokChar && t.char == c && c != 0
}

func (t token) unsigned() bool { return t.kind == tokNumber }
func (t token) signed() bool   { return t.kind == tokSigned }

func (ps *parser) item() bool {
	t := ps.at(0)
	switch t.kind {
	case tokChar:
		if t.char == '@' && ps.pos == 0 {
			return ps.seconds()
		}
		if t.char == ',' && ps.pos > 0 {
			ps.pos++
			return true
		}
		return false
	case tokNumber:
		return ps.number()
	case tokSigned, tokSignedDecimal:
		u, ok := ps.relUnit(1)
		if !ok || (t.kind == tokSignedDecimal && u != unitSecond) {
			return false
		}
		ps.pos += 2
		return ps.relative(u, t.value, t.nanos)
	case tokDecimal:
		u, ok := ps.relUnit(1)
		if !ok || u != unitSecond {
			return false
		}
		ps.pos += 2
		return ps.relative(u, t.value, t.nanos)
	}
	return ps.wordItem(t)
}

func (ps *parser) seconds() bool {
	t := ps.at(1)
	if t.kind > tokSignedDecimal || len(ps.tokens) != 2 || t.digits > 17 {
		return false
	}
	ps.pos += 2
	stamp := time.Unix(t.value, t.nanos)
	ps.d.stamp = &stamp
	return true
}

func (ps *parser) number() bool {
	d, t := ps.d, ps.at(0)
	a, b, c := ps.at(1), ps.at(2), ps.at(3)
	switch {
	case ps.isChar(1, ':'):
		return ps.clock()
	case a.kind == tokWord && (a.word == "am" || a.word == "pm" || a.word == "a" && false):
		d.setTime(t.value, 0, 0, 0, meridianOf(a.word))
		ps.pos += 2
		return true
	case ps.isChar(1, '/') && b.unsigned():
		d.dates++
		if ps.isChar(3, '/') && ps.at(4).unsigned() {
			e := ps.at(4)
			if t.digits >= 4 {
				d.year, d.yearDigits, d.month, d.day = t.value, t.digits, b.value, e.value
			} else {
				d.month, d.day, d.year, d.yearDigits = t.value, b.value, e.value, e.digits
			}
			ps.pos += 5
			return true
		}
		d.month, d.day = t.value, b.value
		ps.pos += 3
		return true
	case a.signed() && a.neg && b.signed() && b.neg:
		d.dates++
		d.year, d.yearDigits, d.month, d.day = t.value, t.digits, -a.value, -b.value
		ps.pos += 3
		// ISO 8601: a T may stand between date and time.
		if w := ps.at(0); w.kind == tokWord && w.word == "t" && ps.at(1).unsigned() {
			ps.pos++
			return ps.isChar(1, ':') && ps.clock()
		}
		return true
	case a.kind == tokWord:
		if m, ok := monthOf(a.word); ok {
			d.dates++
			d.day, d.month = t.value, m
			ps.pos += 2
			switch {
			case b.signed() && b.neg:
				d.year, d.yearDigits = -b.value, b.digits
				ps.pos++
			case b.unsigned() && !(c.kind == tokChar && c.char == ':') && !ps.unitOrMeridian(1):
				d.year, d.yearDigits = b.value, b.digits
				ps.pos++
			}
			return true
		}
		if n, ok := weekdayOf(a.word); ok {
			d.days++
			d.dayOrdinal, d.dayNumber = t.value, n
			ps.pos += 2
			return true
		}
		if u, ok := ps.relUnit(1); ok {
			ps.pos += 2
			return ps.relative(u, t.value, 0)
		}
	}
	return ps.bareNumber()
}

// unitOrMeridian reports whether the token after the next makes the next a relative item or an hour.
func (ps *parser) unitOrMeridian(n int) bool {
	t := ps.at(n)
	if t.kind != tokWord {
		return false
	}
	_, unit := ps.relUnit(n)
	return unit || meridianOf(t.word) != 0
}

// bareNumber is a year, a date without separators or an hour, whichever is still missing.
func (ps *parser) bareNumber() bool {
	d, t := ps.d, ps.at(0)
	if d.dates > 0 && d.yearDigits == 0 && !d.rels && (d.times > 0 || t.digits > 2) {
		d.year, d.yearDigits = t.value, t.digits
		ps.pos++
		return true
	}
	if t.digits > 4 {
		d.dates++
		d.day, d.month = t.value%100, t.value/100%100
		d.year, d.yearDigits = t.value/10000, t.digits-4
		ps.pos++
		return true
	}
	if t.digits < 3 {
		d.setTime(t.value, 0, 0, 0, 0)
	} else {
		d.setTime(t.value/100, t.value%100, 0, 0, 0)
	}
	ps.pos++
	return true
}

func (d *draft) setTime(hour, minute, sec, nanos int64, meridian int) {
	d.times++
	d.hour, d.minute, d.sec, d.nanos, d.meridian = hour, minute, sec, nanos, meridian
}

// clock is H:M[:S[.F]] [am|pm] or with a zone correction.
func (ps *parser) clock() bool {
	h, m := ps.at(0), ps.at(2)
	if m.kind == tokDecimal || !m.unsigned() {
		return false
	}
	var sec, nanos int64
	ps.pos += 3
	if ps.isChar(0, ':') {
		s := ps.at(1)
		if s.kind != tokNumber && s.kind != tokDecimal {
			return false
		}
		sec, nanos = s.value, s.nanos
		ps.pos += 2
	}
	t := ps.at(0)
	if t.kind == tokWord {
		if mer := meridianOf(t.word); mer != 0 {
			ps.d.setTime(h.value, m.value, sec, nanos, mer)
			ps.pos++
			return true
		}
	}
	ps.d.setTime(h.value, m.value, sec, nanos, 0)
	if t.signed() {
		ps.d.zones++
		return ps.correction()
	}
	return true
}

// correction is a zone offset: +h, +hhmm, +h:mm.
func (ps *parser) correction() bool {
	t := ps.at(0)
	ps.pos++
	n := t.value
	if t.neg {
		n = -n
	}
	var minutes int64
	switch {
	case ps.isChar(0, ':') && ps.at(1).unsigned():
		minutes = n*60 + ps.at(1).value
		ps.pos += 2
	case t.digits <= 2:
		minutes = n * 60
	default:
		minutes = n/100*60 + n%100
	}
	if minutes > 24*60 {
		return false
	}
	if t.neg {
		minutes = -minutes
	}
	ps.d.zoneOffset += minutes * 60
	return true
}

func (ps *parser) wordItem(t token) bool {
	d := ps.d
	if m, ok := monthOf(t.word); ok {
		return ps.monthFirst(m)
	}
	if n, ok := weekdayOf(t.word); ok {
		d.days++
		d.dayOrdinal, d.dayNumber = 0, n
		ps.pos++
		if ps.isChar(0, ',') {
			ps.pos++
		}
		return true
	}
	if shift, ok := dayShifts[t.word]; ok {
		ps.pos++
		d.rels = true
		d.relDay += shift
		return true
	}
	if n, ok := ordinals[t.word]; ok {
		if a := ps.at(1); a.kind == tokWord {
			if day, ok := weekdayOf(a.word); ok {
				d.days++
				d.dayOrdinal, d.dayNumber = n, day
				ps.pos += 2
				return true
			}
		}
		if u, ok := ps.relUnit(1); ok {
			ps.pos += 2
			return ps.relative(u, n, 0)
		}
		if t.word != "second" {
			return false
		}
	}
	if u, ok := ps.relUnit(0); ok {
		ps.pos++
		return ps.relative(u, 1, 0)
	}
	if t.word == "dst" {
		d.dsts++
		ps.pos++
		return true
	}
	off, ok := zoneOffsets[t.word]
	if !ok && len(t.word) == 1 {
		off, ok = military(t.word[0])
	}
	if !ok {
		return false
	}
	d.zones++
	d.zoneOffset = int64(off * 3600)
	ps.pos++
	if a := ps.at(0); a.kind == tokWord && a.word == "dst" {
		d.zoneOffset += 3600
		ps.pos++
	}
	if a := ps.at(0); a.signed() {
		if _, unit := ps.relUnit(1); !unit {
			return ps.correction()
		}
	}
	return true
}

func (ps *parser) monthFirst(m int64) bool {
	d := ps.d
	a, b := ps.at(1), ps.at(2)
	switch {
	case a.signed() && a.neg && b.signed() && b.neg:
		d.month, d.day, d.year, d.yearDigits = m, -a.value, -b.value, b.digits
		ps.pos += 3
	case a.unsigned():
		d.month, d.day = m, a.value
		ps.pos += 2
		if ps.isChar(0, ',') && ps.at(1).unsigned() && !ps.isChar(2, ':') {
			d.year, d.yearDigits = ps.at(1).value, ps.at(1).digits
			ps.pos += 2
		}
	default:
		return false
	}
	d.dates++
	return true
}

type unit uint8

const (
	unitYear unit = iota
	unitMonth
	unitFortnight
	unitWeek
	unitDay
	unitHour
	unitMinute
	unitSecond
)

var units = map[string]unit{
	"year": unitYear, "month": unitMonth, "fortnight": unitFortnight, "week": unitWeek, "day": unitDay,
	"hour": unitHour, "minute": unitMinute, "min": unitMinute, "second": unitSecond, "sec": unitSecond,
}

func (ps *parser) relUnit(n int) (unit, bool) {
	t := ps.at(n)
	if t.kind != tokWord {
		return 0, false
	}
	if u, ok := units[t.word]; ok {
		return u, true
	}
	u, ok := units[strings.TrimSuffix(t.word, "s")]
	return u, ok
}

func (ps *parser) relative(u unit, n, nanos int64) bool {
	if t := ps.at(0); t.kind == tokWord && t.word == "ago" {
		ps.pos++
		n, nanos = -n, -nanos
	}
	const tooMuch = 1 << 40 // nothing past this is a date
	if n > tooMuch || n < -tooMuch {
		return false
	}
	d := ps.d
	d.rels = true
	switch u {
	case unitYear:
		d.relYear += n
	case unitMonth:
		d.relMonth += n
	case unitFortnight:
		d.relDay += 14 * n
	case unitWeek:
		d.relDay += 7 * n
	case unitDay:
		d.relDay += n
	case unitHour:
		d.relHour += n
	case unitMinute:
		d.relMinute += n
	case unitSecond:
		d.relSec += n
		d.relNanos += nanos
	}
	return true
}

func (d *draft) resolve(now time.Time) (time.Time, bool) {
	if d.stamp != nil {
		return *d.stamp, true
	}
	if d.times > 1 || d.dates > 1 || d.days > 1 || d.dsts > 1 || d.zones+d.localZones > 1 {
		return time.Time{}, false
	}
	year := d.year
	if d.yearDigits == 2 {
		if year < 69 {
			year += 2000
		} else {
			year += 1900
		}
	}
	hour, minute, sec, nanos := d.hour, d.minute, d.sec, d.nanos
	if d.times > 0 {
		switch d.meridian {
		case 0:
			if hour > 23 {
				return time.Time{}, false
			}
		default:
			if hour < 1 || hour > 12 {
				return time.Time{}, false
			}
			hour %= 12
			if d.meridian == 2 {
				hour += 12
			}
		}
		if minute > 59 || sec > 59 {
			return time.Time{}, false
		}
	} else if !d.rels || d.dates > 0 || d.days > 0 {
		hour, minute, sec, nanos = 0, 0, 0, 0
	}
	loc := now.Location()
	if d.zones > 0 {
		loc = time.FixedZone("", int(d.zoneOffset))
	}
	if d.dates > 0 || d.yearDigits > 0 {
		if d.month < 1 || d.month > 12 || d.day < 1 || d.day > int64(daysIn(year, d.month)) {
			return time.Time{}, false
		}
	}
	if year > 1<<31 || year < -1<<31 {
		return time.Time{}, false
	}
	month, day := d.month, d.day
	if d.days > 0 && d.dates == 0 {
		wday := int64(time.Date(int(year), time.Month(month), int(day), 0, 0, 0, 0, time.UTC).Weekday())
		ord := d.dayOrdinal
		if ord > 0 && wday != d.dayNumber {
			ord--
		}
		day += (d.dayNumber-wday+7)%7 + 7*ord
	}
	year += d.relYear
	month += d.relMonth
	day += d.relDay
	const far = 1 << 31
	if year > far || year < -far || month > far || month < -far || day > 1<<40 || day < -(1<<40) {
		return time.Time{}, false
	}
	t := time.Date(int(year), time.Month(month), int(day), int(hour), int(minute), int(sec), int(nanos), loc)
	asked := time.Date(int(year), time.Month(month), int(day), int(hour), int(minute), int(sec), int(nanos), time.UTC)
	if _, offset := t.Zone(); asked.Unix() != t.Unix()+int64(offset) {
		// Clocks skip this time: it does not exist, unless the day was counted from another.
		if d.relYear == 0 && d.relMonth == 0 && d.relDay == 0 {
			return time.Time{}, false
		}
		t = t.Add(max(0, time.Duration(asked.Unix()-t.Unix()-int64(offset))*time.Second))
	}
	secs := d.relHour*3600 + d.relMinute*60 + d.relSec
	return time.Unix(t.Unix()+secs, int64(t.Nanosecond())+d.relNanos), true
}

func daysIn(year, month int64) int {
	return time.Date(int(year), time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func meridianOf(w string) int {
	switch w {
	case "am":
		return 1
	case "pm":
		return 2
	}
	return 0
}

func monthOf(w string) (int64, bool) {
	if w == "sept" {
		return 9, true
	}
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		if w == name || w == name[:3] {
			return int64(m), true
		}
	}
	return 0, false
}

func weekdayOf(w string) (int64, bool) {
	switch w {
	case "tues":
		return 2, true
	case "wednes":
		return 3, true
	case "thur", "thurs":
		return 4, true
	}
	for i, name := range weekdays {
		if l := strings.ToLower(name); w == l || w == l[:3] {
			return int64(i), true
		}
	}
	return 0, false
}

var dayShifts = map[string]int64{"tomorrow": 1, "yesterday": -1, "today": 0, "now": 0}

var ordinals = map[string]int64{
	"last": -1, "this": 0, "next": 1, "first": 1, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
	"eighth": 8, "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12,
}

// zoneOffsets are the names gnulib knows, in hours east of Greenwich; summer time names include it.
var zoneOffsets = map[string]float64{
	"gmt": 0, "ut": 0, "utc": 0, "wet": 0, "west": 1, "bst": 1, "art": -3, "brt": -3, "brst": -2, "nst": -3.5, "ndt": -2.5,
	"ast": -4, "adt": -3, "clt": -4, "clst": -3, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6,
	"pst": -8, "pdt": -7, "akst": -9, "akdt": -8, "hst": -10, "hast": -10, "hadt": -9, "sst": -12, "wat": 1, "cet": 1,
	"cest": 2, "met": 1, "mez": 1, "mest": 2, "mesz": 2, "eet": 2, "eest": 3, "cat": 2, "sast": 2, "eat": 3, "msk": 3,
	"msd": 4, "ist": 5.5, "sgt": 8, "kst": 9, "jst": 9, "gst": 10, "nzst": 12, "nzdt": 13,
}

// military is the offset of a one-letter zone; J does not exist.
func military(c byte) (float64, bool) {
	switch {
	case c >= 'a' && c <= 'i':
		return float64(c - 'a' + 1), true
	case c >= 'k' && c <= 'm':
		return float64(c - 'k' + 10), true
	case c >= 'n' && c <= 'y':
		return -float64(c - 'n' + 1), true
	case c == 'z':
		return 0, true
	}
	return 0, false
}

// ParseStamp reads the [[CC]YY]MMDDhhmm[.ss] of touch -t.
func ParseStamp(s string, now time.Time) (time.Time, error) {
	digits, secs, hasSecs := strings.Cut(s, ".")
	n := len(digits)
	if (n != 8 && n != 10 && n != 12) || (hasSecs && len(secs) != 2) {
		return time.Time{}, vfs.EINVAL
	}
	num := func(s string) int {
		v := 0
		for _, c := range []byte(s) {
			if !isDigit(c) {
				return -1
			}
			v = v*10 + int(c-'0')
		}
		return v
	}
	year := now.Year()
	switch n {
	case 10:
		if year = num(digits[:2]); year < 69 {
			year += 2000
		} else {
			year += 1900
		}
	case 12:
		year = num(digits[:4])
	}
	r := digits[n-8:]
	month, day, hour, minute, sec := num(r[:2]), num(r[2:4]), num(r[4:6]), num(r[6:]), 0
	if hasSecs {
		sec = num(secs)
	}
	if strings.Trim(digits+secs, "0123456789") != "" || month < 1 || month > 12 || day < 1 ||
		day > daysIn(int64(year), int64(month)) ||
		hour > 23 || minute > 59 || sec > 60 || sec < 0 {
		return time.Time{}, vfs.EINVAL
	}
	return time.Date(year, time.Month(month), day, hour, minute, sec, 0, now.Location()), nil
}

// Seconds prints a time as seconds since the epoch with nanoseconds, as stat %.Y does.
func Seconds(ns int64) string {
	t := time.Unix(0, ns)
	return strconv.FormatInt(t.Unix(), 10) + "." + Format("%N", t)
}
