package jq

import (
	"math"
	"strings"
	"time"

	"github.com/itchyny/timefmt-go"
)

// brokenDown reads a broken down time.
func brokenDown(v any, msg string) (time.Time, error) {
	a, ok := v.(*Array)
	if !ok || a.n == 0 {
		return time.Time{}, errorf("%s", msg)
	}
	var n [6]int
	frac := 0.0
	for i := range min(a.n, len(n)) {
		f, ok := number(a.Values()[i])
		if !ok {
			return time.Time{}, errorf("%s", msg)
		}
		n[i] = clampInt(f)
		frac = f - math.Floor(f)
	}
	return time.Date(n[0], time.Month(n[1]+1), n[2], n[3], n[4], n[5], int(frac*1e9), time.UTC), nil
}

func brokenUp(t time.Time, frac float64) *Array {
	return NewArray([]any{float64(t.Year()), float64(t.Month() - 1), float64(t.Day()), float64(t.Hour()),
		float64(t.Minute()),
		float64(t.Second()) + frac, float64(t.Weekday()), float64(t.YearDay() - 1)})
}

// withoutDay replaces the fields that a time parsed by format has only by default: a day of the month that was not
// given is 0, and without any part of a date there is no telling the weekday and the day of the year.
func withoutDay(t time.Time, format string) *Array {
	a := brokenUp(t, 0)
	e := a.e
	given := func(letters string) bool {
		for i := 0; i+1 < len(format); i++ {
			if format[i] != '%' {
				continue
			}
			for i++; i+1 < len(format) && strings.IndexByte("EO-_0^#", format[i]) >= 0; i++ {
			}
			if strings.IndexByte(letters, format[i]) >= 0 {
				return true
			}
		}
		return false
	}
	switch {
	case given("cdDeFjsxGv"):
	case given("YyCmbBh"):
		e[2], e[6], e[7] = 0.0, float64((t.Weekday()+6)%7), float64(t.YearDay()-2)
	default:
		e[2], e[6], e[7] = 0.0, 8.0, 367.0
	}
	return a
}

func gmtime(v any, name string) (any, error) {
	f, ok := number(v)
	if !ok {
		return nil, errorf("%s requires numeric inputs", name)
	}
	if math.Abs(f) > 1e15 {
		return nil, errorf("error converting number of seconds since epoch to datetime")
	}
	sec := math.Floor(f)
	return brokenUp(time.Unix(int64(sec), 0).UTC(), f-sec), nil
}

func strftime(name string) native {
	return func(m *Machine, v any, a []any) (any, error) {
		f, ok := a[0].(string)
		if !ok {
			return nil, errorf("%s requires a string format", name)
		}
		if _, ok := number(v); ok {
			x, err := gmtime(v, name)
			if err != nil {
				return nil, errorf("%s requires parsed datetime inputs", name)
			}
			v = x
		}
		t, err := brokenDown(v, name+" requires parsed datetime inputs")
		if err != nil {
			return nil, err
		}
		const widest = 2048 // of a conversion, with what is left behind when the text grows
		if err := m.room(len(f) + widest*strings.Count(f, "%")); err != nil {
			return nil, err
		}
		text := timefmt.Format(t, f)
		if len(text) >= len(f)+100 { // the room that jq has for it
			return nil, errorf("%s: unknown system failure", name)
		}
		return text, nil
	}
}

var timeNatives = map[key]native{
	{"mktime", 0}: func(_ *Machine, v any, _ []any) (any, error) {
		if _, ok := v.(*Array); !ok {
			return nil, errorf("mktime requires array inputs")
		}
		t, err := brokenDown(v, "mktime requires parsed datetime inputs")
		if err != nil {
			return nil, err
		}
		return float64(t.Unix()), nil
	},
	{"gmtime", 0}:    func(_ *Machine, v any, _ []any) (any, error) { return gmtime(v, "gmtime()") },
	{"localtime", 0}: func(_ *Machine, v any, _ []any) (any, error) { return gmtime(v, "localtime()") },
	{"strftime", 1}:  strftime("strftime/1"), {"strflocaltime", 1}: strftime("strflocaltime/1"),
	{"strptime", 1}: func(_ *Machine, v any, a []any) (any, error) {
		s, ok := v.(string)
		f, ok2 := a[0].(string)
		if !ok || !ok2 {
			return nil, errorf("strptime/1 requires string inputs and arguments")
		}
		t, err := timefmt.Parse(s, f)
		if err != nil {
			return nil, errorf("date \"%s\" does not match format \"%s\"", s, f)
		}
		return withoutDay(t, f), nil
	},
}
