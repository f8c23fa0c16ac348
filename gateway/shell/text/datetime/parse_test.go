package datetime_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// TestParseLikeDate replays texts against the date of this machine. The texts do not depend on the time of day.
func TestParseLikeDate(t *testing.T) {
	texts := strings.Split(`2024-02-29
2024-02-30
2023-02-29
2024-01-31 +1 month
2024-01-01 10:00 +2 hours
2024-01-01 10:00:00.25 -0330
2024-01-01 10:00 UTC + 3 days
2024-01-01T10:00:00Z
2024-01-01T10:00:00+05:30
2024-01-01 next friday
20240115
20240115 1030
Jan 5 2024
Jan 5, 2024 3pm
5 Jan 2024 3:04:05 pm
5-Jan-2024
Jan-05-2024
Fri, 05 Jan 2024 10:00:00 GMT
Fri Jan  5 10:00:00 UTC 2024
Fri Jan  5 10:00:00 EST 2024
1/2/2024
1/2/24
2024/1/2
@0
@-1.5
@1700000000.123456789
@1700000000 UTC
2024-03-10 12am
2024-03-10 12pm
2024-03-10 13pm
2024-03-10 25:00
2024-03-10 24:00
2024-03-10 23:59:60
2024-03-10 23:60
2024-03-10 3 days ago
2024-03-10 3 days 2 hours ago
2024-03-10 - 1 week
2024-03-10 last month
2024-03-10 1 fortnight ago
2024-03-10 yesterday
2024-03-10 tomorrow 10:00
2024-03-10 10:00 tomorrow
2024-03-10 noon
today 00:00
tomorrow 12:34
monday 10:00
last monday
next month 2024-01-31
third tuesday
2 weeks ago 00:00
TZ="America/New_York" 2024-07-01 12:00
TZ="Nope/Zone" 2024-07-01 12:00
foo
2024-13-01
2024-00-01
10:00 11:00

00:00
2024-01-01 (comment) 11:00
2024-01-01 10:00 PST
2024-01-01 10:00 CET DST
1 Jan
Sept 3 2020
2024-05-05 10:00 next year
12/31/1999 11:59:59 PM
2024-1-2
24-1-2
70-1-2
1 month ago 2024-03-31
2024-01-01 1.5 seconds
2024-01-01 next day
2024-06-15 12:00 Z
2024-06-15 12:00 A
2024-06-15T12
+1 day 2024-01-01
1 year 2 months 3 days 2024-01-01
2024-01-01 second
12
99
2024-01-01 12
2024-12-25 10 am
now + foo
99999999999999999999
2024-01-01 1000000000000 years`, "\n")
	for _, zone := range []string{"UTC", "America/New_York"} {
		now := time.Now().In(datetime.Zone(zone))
		for _, text := range texts {
			want := "invalid"
			cmd := exec.Command("date", "-d", text, "+%Y-%m-%d %H:%M:%S.%N %z")
			cmd.Env = []string{"TZ=" + zone, "LC_ALL=C", "PATH=/usr/bin:/bin"}
			if out, err := cmd.Output(); err == nil {
				want = strings.TrimSpace(string(out))
			}
			got := "invalid"
			v, err := datetime.Parse(text, now)
			if err == nil {
				got = datetime.Format("%Y-%m-%d %H:%M:%S.%N %z", v)
			} else if !errors.Is(err, vfs.EINVAL) {
				t.Errorf("%q: %v", text, err)
			}
			if got != want {
				t.Errorf("TZ=%s %q: got %s, want %s", zone, text, got, want)
			}
		}
	}
}

// TestFormatLikeDate compares every conversion, flag and some widths with the date of this machine.
func TestFormatLikeDate(t *testing.T) {
	stamps := []time.Time{time.Unix(0, 0), time.Unix(1700000000, 123456789), time.Unix(1330473600, 0),
		time.Unix(-157000000, 0), time.Unix(1735689599, 0)}
	var formats []string
	for _, c := range "aAbBcCdDeFgGhHIjklmMnNpPqrRsStTuUVwWxXyYzZ%QJ" {
		for _, prefix := range []string{"", "-", "_", "0", "^", "#", "+", "10", "_10", "010", "-10", "3", "E", "O", "+8"} {
			formats = append(formats, "%"+prefix+string(c))
		}
	}
	formats = append(formats, "%:z", "%::z", "%:::z", "%_:z", "%8:z", "%-:z", "%", "%1", "x%5", "%::::z", "%:d")
	format := strings.Join(formats, "|")
	for _, zone := range []string{"UTC", "Asia/Kolkata", "America/St_Johns", "EST5EDT,M3.2.0,M11.1.0", "<+03>-3"} {
		for _, at := range stamps {
			cmd := exec.Command("date", "-d", "@"+datetime.Format("%s.%N", at), "+"+format)
			cmd.Env = []string{"TZ=" + zone, "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Split(strings.TrimSuffix(string(out), "\n"), "|")
			got := strings.Split(datetime.Format(format, at.In(datetime.Zone(zone))), "|")
			if len(got) != len(want) {
				t.Fatalf("%d fields, want %d", len(got), len(want))
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("TZ=%s %v %q: got %q, want %q", zone, at.UTC(), formats[i], got[i], want[i])
				}
			}
		}
	}
}

// meter is what a format has cost.
type meter struct{ held, most, ticks int }

func (m *meter) Tick(n int)    { m.ticks += n }
func (m *meter) Hold(n int)    { m.held += n; m.most = max(m.most, m.held) }
func (m *meter) Release(n int) { m.held -= n }

// TestFormatOfAScriptIsCounted: a format of megabytes makes gigabytes, which are held before they are there.
func TestFormatOfAScriptIsCounted(t *testing.T) {
	t.Parallel()
	when := time.Unix(1e9, 0).UTC()
	for _, format := range []string{"", "%Y", "plain", strings.Repeat("%c %9999Y%N %-", 20_000),
		strings.Repeat("a", 200_000) + "%", strings.Repeat("%", 200_001)} {
		var m meter
		text := datetime.Counted(&m, format, when)
		if text != datetime.Format(format, when) {
			t.Errorf("%.20q: another text than Format", format)
		}
		if m.held != len(text) || m.most < len(text) || len(text) > 64<<10 &&
			(m.most < 2*len(text) || m.ticks < len(text)>>12) {
			t.Errorf("%.20q: %d bytes, %+v", format, len(text), m)
		}
	}
}
