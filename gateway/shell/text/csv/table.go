package csv

import (
	"cmp"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Type is what the values of a column are.
type Type uint8

// The types, the preferred ones first.
const (
	Boolean Type = iota
	Number
	TimeDelta
	Date
	DateTime
	Text
	types
)

func (t Type) String() string {
	return [...]string{"Boolean", "Number", "TimeDelta", "Date", "DateTime", "Text"}[t]
}

// Value is a typed field. The zero value is null.
type Value struct {
	Text  string // how it is written
	Valid bool   // false: null
	Num   *big.Rat
	Time  time.Time
	Span  float64 // seconds
	Truth bool
}

// Nulls are the words for nothing, in lower case.
var nulls = map[string]bool{"": true, "na": true, "n/a": true, "none": true, "null": true, ".": true}

// Casts are the options of reading values.
type Casts struct {
	Blanks                 bool // the words for null are text
	DateFormat, TimeFormat func(string) (time.Time, bool)
}

// Cast reads a field as a value of a type.
func (o Casts) Cast(t Type, s string) (v Value, ok bool) {
	trimmed := strings.TrimSpace(s)
	if !o.Blanks && nulls[strings.ToLower(trimmed)] {
		return Value{}, true
	}
	switch t {
	case Boolean:
		switch strings.ToLower(strings.TrimSpace(strings.ReplaceAll(s, ",", ""))) {
		case "yes", "y", "true", "t", "1":
			return Value{Text: "True", Valid: true, Truth: true}, true
		case "no", "n", "false", "f", "0":
			return Value{Text: "False", Valid: true}, true
		}
	case Number:
		return castNumber(trimmed)
	case TimeDelta:
		if d, ok := castSpan(trimmed); ok {
			return Value{Text: SpanText(d), Valid: true, Span: d}, true
		}
	case Date:
		if o.DateFormat != nil {
			d, ok := o.DateFormat(trimmed)
			return dateValue(d), ok
		}
		for _, layout := range dateLayouts {
			if d, err := time.Parse(layout, titled(trimmed)); err == nil {
				return dateValue(d), true
			}
		}
	case DateTime:
		if o.TimeFormat != nil {
			d, ok := o.TimeFormat(trimmed)
			return timeValue(d, false), ok
		}
		for _, layout := range timeLayouts {
			if d, err := time.Parse(layout, trimmed); err == nil {
				return timeValue(d, strings.HasSuffix(layout, "Z07:00")), true
			}
		}
		if v, ok := o.Cast(Date, s); ok && v.Valid {
			return timeValue(v.Time, false), true
		}
	case Text:
		return Value{Text: s, Valid: true}, true
	}
	return Value{}, false
}

var (
	dateLayouts = []string{"2006-01-02", "2006-1-2", "2006/01/02", "1/2/2006", "1/2/06", "1-2-2006", "Jan 2, 2006",
		"January 2, 2006", "Jan 2 2006", "January 2 2006", "2 Jan 2006", "2 January 2006", "Jan. 2, 2006"}
	timeLayouts = []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04:05.999999",
		"2006-01-02 15:04:05.999999", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05Z07:00",
		"2006-01-02T15:04:05.999999Z07:00",
		"1/2/2006 15:04", "1/2/2006 15:04:05", "1/2/2006 3:04 PM", "1/2/2006 3:04:05 PM", "Jan 2, 2006 3:04 PM",
		"January 2, 2006 3:04 PM", "20060102T150405"}
)

// titled is a date with its month as the layouts have it.
func titled(s string) string {
	if len(s) > 40 {
		return s
	}
	f := strings.Fields(s)
	for i, w := range f {
		if w[0]|0x20 >= 'a' && w[0]|0x20 <= 'z' {
			f[i] = strings.ToUpper(w[:1]) + strings.ToLower(w[1:])
		}
	}
	return strings.Join(f, " ")
}

func dateValue(d time.Time) Value { return Value{Text: d.Format("2006-01-02"), Valid: true, Time: d} }

func timeValue(d time.Time, zone bool) Value {
	layout := "2006-01-02T15:04:05"
	if d.Nanosecond() != 0 {
		layout += ".000000"
	}
	if zone {
		layout += "-07:00"
	}
	return Value{Text: d.Format(layout), Valid: true, Time: d}
}

// maxExponent bounds the numbers that are computed with.
const maxExponent = 300

var numberText = regexp.MustCompile(`^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$`)

// castNumber reads a decimal number, with signs of currencies, per cent and groups of thousands.
func castNumber(s string) (v Value, ok bool) {
	s = strings.Trim(s, "%")
	negative := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	for _, c := range "؋$ƒ៛¥₡₱£€¢﷼₪₩₭₮₦฿₤₫" {
		s = strings.Trim(s, string(c))
	}
	s = strings.ReplaceAll(s, ",", "")
	m := numberText.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil || m[2]+m[3] == "" || len(s) > 1000 {
		return v, false
	}
	exponent, _ := strconv.Atoi(m[4])
	exponent -= len(m[3])
	digits := strings.TrimLeft(m[2]+m[3], "0")
	if digits == "" {
		digits = "0"
	}
	if exponent > maxExponent || exponent < -maxExponent {
		return v, false
	}
	negative = negative != (m[1] == "-")
	r, _ := new(big.Rat).SetString(digits + "e" + strconv.Itoa(exponent))
	if negative {
		r.Neg(r)
	}
	return Value{Text: decimalText(negative, digits, exponent), Valid: true, Num: r}, true
}

// decimalText is a decimal number in Python's words.
func decimalText(negative bool, digits string, exponent int) string {
	sign := ""
	if negative {
		sign = "-"
	}
	point := len(digits) + exponent
	switch {
	case exponent == 0:
		return sign + digits
	case exponent < 0 && point > -6:
		if point <= 0 {
			return sign + "0." + strings.Repeat("0", -point) + digits
		}
		return sign + digits[:point] + "." + digits[point:]
	}
	mantissa := digits[:1]
	if len(digits) > 1 {
		mantissa += "." + digits[1:]
	}
	return fmt.Sprintf("%s%sE%+d", sign, mantissa, point-1)
}

var spanTexts = []*regexp.Regexp{
	regexp.MustCompile(`(?i)^(?:(?P<w>[\d.]+)\s*(?:w|wks?|weeks?)\s*(?:[,/]\s*)?)?\s*(?:(?P<d>[\d.]+)\s*(?:d|dys?|days?)\s*(?:[,/]\s*)?)?\s*(?:(?P<h>[\d.]+)\s*(?:h|hrs?|hours?)\s*(?:[,/]\s*)?)?\s*(?:(?P<m>[\d.]+)\s*(?:m|mins?|minutes?)\s*(?:[,/]\s*)?)?\s*(?:(?P<s>[\d.]+)\s*(?:s|secs?|seconds?))?\s*$`),
	regexp.MustCompile(`^(?P<m>\d{1,2}):(?P<s>\d{2}(?:\.\d+)?)\s*$`),
	regexp.MustCompile(`(?i)^(?:(?P<w>[\d.]+)\s*(?:w|wks?|weeks?)\s*(?:[,/]\s*)?)?\s*(?:(?P<d>[\d.]+)\s*(?:d|dys?|days?)\s*(?:[,/]\s*)?)?\s*(?P<h>\d+):(?P<m>\d{2}):(?P<s>\d{2}(?:\.\d+)?)\s*$`),
	regexp.MustCompile(`^(?P<d>\d+):(?P<h>\d{2}):(?P<m>\d{2}):(?P<s>\d{2}(?:\.\d+)?)\s*$`),
	regexp.MustCompile(`^:(?P<s>\d{2}(?:\.\d+)?)\s*$`),
}

var spanUnits = map[string]float64{"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}

// castSpan reads 1:24, 2h 30m, 3 days and the like, in seconds.
func castSpan(s string) (seconds float64, ok bool) {
	sign := 1.0
	if rest, found := strings.CutPrefix(s, "-"); found {
		s, sign = rest, -1
	} else {
		s = strings.TrimPrefix(s, "+")
	}
	s = strings.TrimLeft(s, " \t")
	if s == "" || len(s) > 100 {
		return 0, false
	}
	for _, re := range spanTexts {
		m := re.FindStringSubmatch(s)
		if m == nil {
			continue
		}
		for i, name := range re.SubexpNames() {
			if name == "" || m[i] == "" {
				continue
			}
			f, err := strconv.ParseFloat(m[i], 64)
			if err != nil {
				return 0, false
			}
			seconds += f * spanUnits[name]
		}
		return sign * seconds, seconds < 1e13
	}
	return 0, false
}

// SpanText is a time span in Python's words.
func SpanText(seconds float64) string {
	micro := int64(seconds*1e6 + 0.5)
	if seconds < 0 {
		micro = -int64(-seconds*1e6 + 0.5)
	}
	const day = 86400 * 1_000_000
	days := micro / day
	if micro %= day; micro < 0 {
		days, micro = days-1, micro+day
	}
	text := fmt.Sprintf("%d:%02d:%02d", micro/3600e6, micro/60e6%60, micro/1e6%60)
	if f := micro % 1e6; f != 0 {
		text += fmt.Sprintf(".%06d", f)
	}
	switch days {
	case 0:
		return text
	case 1, -1:
		return fmt.Sprintf("%d day, %s", days, text)
	}
	return fmt.Sprintf("%d days, %s", days, text)
}

// Compare orders values of one type; nulls come last.
func Compare(t Type, a, b Value) int {
	if !a.Valid || !b.Valid {
		switch {
		case a.Valid:
			return -1
		case b.Valid:
			return 1
		}
		return 0
	}
	switch t {
	case Boolean:
		switch {
		case a.Truth == b.Truth:
			return 0
		case b.Truth:
			return -1
		}
		return 1
	case Number:
		return a.Num.Cmp(b.Num)
	case TimeDelta:
		return cmp.Compare(a.Span, b.Span)
	case Date, DateTime:
		return a.Time.Compare(b.Time)
	}
	return strings.Compare(a.Text, b.Text)
}

// Shown is a value as it is shown to people.
func (v Value) Shown(t Type) string {
	switch {
	case !v.Valid:
		return "None"
	case t == DateTime:
		return strings.Replace(v.Text, "T", " ", 1)
	}
	return v.Text
}

// Key is equal for equal values.
func (v Value) Key() string {
	switch {
	case !v.Valid:
		return "\x00"
	case v.Num != nil:
		return v.Num.RatString()
	}
	return v.Text
}

// Error is a problem in Python's words.
type Error struct{ Kind, Text string }

func (e *Error) Error() string { return e.Kind + ": " + e.Text }

// Table is columns with names and types. Every row has a value for each.
type Table struct {
	Names []string
	Types []Type
	Rows  [][]Value
}

// NewTable guesses the types of columns, unless infer is false, and reads their values. tick counts work and hold
// memory.
func NewTable(names []string, rows [][]string, infer bool, o Casts, tick, hold func(int)) (*Table, error) {
	t := &Table{Names: names, Types: make([]Type, len(names))}
	var possible [][types]bool
	for range names {
		p := [types]bool{Text: true}
		if infer {
			p = [types]bool{true, true, true, true, true, true}
		}
		possible = append(possible, p)
	}
	for n, row := range rows {
		tick(4 * (1 + len(row)))
		if len(row) > len(names) {
			return nil, &Error{"ValueError", fmt.Sprintf("Row %d has %d values, but Table only has %d columns.", n, len(row), len(names))}
		}
		if !infer {
			continue
		}
		for i, f := range row {
			for k := range Text {
				if possible[i][k] {
					_, possible[i][k] = o.Cast(k, f)
				}
			}
		}
	}
	order := []Type{Boolean, Number, TimeDelta, Date, DateTime, Text}
	if o.DateFormat != nil || o.TimeFormat != nil {
		order = []Type{Boolean, TimeDelta, Date, DateTime, Number, Text} // 20010101 is a date then
	}
	for i := range names {
		for _, k := range order {
			if possible[i][k] {
				t.Types[i] = k
				break
			}
		}
	}
	for _, row := range rows {
		tick(2 * (1 + len(row)))
		hold(96 * len(names))
		values := make([]Value, len(names))
		for i, f := range row {
			values[i], _ = o.Cast(t.Types[i], f)
		}
		t.Rows = append(t.Rows, values)
	}
	return t, nil
}

// maxLetters bounds the names of columns that have none: they would take a byte for every 26 columns before them.
const maxLetters = 1000

// Letter is the name of a column that has none: a to z, aa, bb and so on.
func Letter(n int) string {
	if n/26 >= maxLetters {
		return "column_" + strconv.Itoa(n+1)
	}
	return strings.Repeat(string(rune('a'+n%26)), n/26+1)
}

// Unique gives names to columns that have none, and others to those that have one twice.
func Unique(names []string) []string {
	seen, last := map[string]bool{}, map[string]int{}
	out := make([]string, len(names))
	for i, n := range names {
		if n == "" {
			n = Letter(i)
		}
		name := n
		for k := max(last[n], 1) + 1; seen[name]; k++ {
			name, last[n] = n+"_"+strconv.Itoa(k), k
		}
		seen[name], out[i] = true, name
	}
	return out
}
