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
	if !ok || len(a.e) < 8 {
		return time.Time{}, errorf("%s", msg)
	}
	var n [6]int
	frac := 0.0
	for i := range n {
		f, ok := a.e[i].(float64)
		if !ok {
			return time.Time{}, errorf("%s", msg)
		}
		n[i] = clampInt(f)
		frac = f - math.Floor(f)
	}
	return time.Date(n[0], time.Month(n[1]+1), n[2], n[3], n[4], n[5], int(frac*1e9), time.UTC), nil
}

func brokenUp(t time.Time, frac float64) *Array {
	return NewArray([]any{float64(t.Year()), float64(t.Month() - 1), float64(t.Day()), float64(t.Hour()), float64(t.Minute()),
		float64(t.Second()) + frac, float64(t.Weekday()), float64(t.YearDay() - 1)})
}

// withoutDay replaces the fields that a time parsed by format has only by default: a day of the month that was not given is 0, and
// without any part of a date there is no telling the weekday and the day of the year.
func withoutDay(t time.Time, format string) *Array {
	a := brokenUp(t, 0)
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
		a.e[2], a.e[6], a.e[7] = 0.0, float64((t.Weekday()+6)%7), float64(t.YearDay()-2)
	default:
		a.e[2], a.e[6], a.e[7] = 0.0, 8.0, 367.0
	}
	return a
}

func gmtime(v any, name string) (any, error) {
	f, ok := v.(float64)
	if !ok {
		return nil, errorf("%s requires numeric inputs", name)
	}
	if math.Abs(f) > 1e15 {
		return nil, errorf("error converting number of seconds since epoch to datetime")
	}
	sec := math.Floor(f)
	return brokenUp(time.Unix(int64(sec), 0).UTC(), f-sec), nil
}

func strftime(name string) strictFn {
	return func(_ *Machine, v any, a []any) (any, error) {
		f, ok := a[0].(string)
		if !ok {
			return nil, errorf("%s requires a string format", name)
		}
		if _, ok := v.(float64); ok {
			x, err := gmtime(v, name)
			if err != nil {
				return nil, err
			}
			v = x
		}
		t, err := brokenDown(v, name+" requires parsed datetime inputs")
		if err != nil {
			return nil, err
		}
		return timefmt.Format(t, f), nil
	}
}
