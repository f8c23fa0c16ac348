package awk

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
)

// location is the time zone of the exec.
func (in *interp) location() *time.Location { return datetime.Zone(in.p.Getenv("TZ")) }

func (c *compiler) strftime(args []expr) valFn {
	format := func(in *interp) string {
		info := in.globalArray("PROCINFO")
		if info.has("strftime") {
			return in.str(in.get(info, "strftime", false).v)
		}
		return "%a %b %e %H:%M:%S %Z %Y"
	}
	if len(args) > 0 {
		format = c.str(args[0])
	}
	var stamp numFn
	if len(args) > 1 {
		stamp = c.num(args[1])
	}
	utc := func(*interp) bool { return false }
	if len(args) > 2 {
		utc = c.cond(args[2])
	}
	return func(in *interp) value {
		f := format(in)
		t := in.p.Now()
		if stamp != nil {
			s := stamp(in)
			if s != s || math.Abs(s) > 1<<50 {
				in.fatal("strftime: second argument less than 0 or too big for time_t")
			}
			t = time.Unix(int64(math.Floor(s)), 0)
		}
		loc := in.location()
		if utc(in) {
			loc = gmt
		}
		in.checkSize(len(f) * 2)
		f = nanoseconds.Replace(f)
		text := datetime.Counted(in.p, f, t.In(loc))
		in.p.Release(len(text))
		return str(text)
	}
}

// nanoseconds makes %N what it is to strftime(3): nothing special.
var nanoseconds = strings.NewReplacer("%%", "%%", "%N", "%%N")

// gmt is the time zone of strftime's third argument, by the name that gmtime(3) gives it.
var gmt = time.FixedZone("GMT", 0)

func (in *interp) mktime(spec string, utc bool) float64 {
	fields := strings.Fields(spec)
	if len(fields) < 6 {
		return -1
	}
	var n [6]int
	for i := range n {
		f := fields[i]
		if i == len(n)-1 { // the scan stops at what is no digit
			if k := strings.IndexFunc(f, func(r rune) bool { return !unicode.IsDigit(r) && r != '-' && r != '+' }); k > 0 {
				f = f[:k]
			}
		}
		v, err := strconv.Atoi(f)
		if err != nil || v > 1<<30 || v < -1<<30 {
			return -1
		}
		n[i] = v
	}
	loc := in.location()
	if utc {
		loc = time.UTC
	}
	t := time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], 0, loc)
	if len(fields) > 6 {
		if dst, err := strconv.Atoi(fields[6]); err == nil && dst > 0 && !t.IsDST() {
			return float64(t.Unix() - 3600)
		}
	}
	return float64(t.Unix())
}
