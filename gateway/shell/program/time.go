package program

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
)

// Pause waits and returns 0, or ends like a killed process when the exec is over first.
func Pause(ctx context.Context, p *proc.Process, d time.Duration) int {
	if d <= 0 {
		return 0
	}
	p.Pause()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return 0
	case <-ctx.Done():
		p.Tick(1024)
		return 143
	}
}

// ParseDuration reads a non-negative number of seconds with an optional suffix s, m, h or d.
func ParseDuration(s string) (time.Duration, bool) {
	unit := 1.0
	num := s
	if s != "" {
		switch s[len(s)-1] {
		case 's':
			num = s[:len(s)-1]
		case 'm':
			unit, num = 60, s[:len(s)-1]
		case 'h':
			unit, num = 3600, s[:len(s)-1]
		case 'd':
			if !strings.HasPrefix(strings.ToLower(s), "0x") {
				unit, num = 86400, s[:len(s)-1]
			}
		}
	}
	if strings.Contains(num, "_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil && !math.IsInf(f, 0) || math.IsNaN(f) || f < 0 {
		return 0, false
	}
	if f *= unit * 1e9; f >= math.MaxInt64 {
		return math.MaxInt64, true
	}
	return time.Duration(math.Ceil(f)), true
}

// LocalNow is the clock in the zone that TZ names.
func LocalNow(p *proc.Process) time.Time { return p.Now().In(datetime.Zone(p.Getenv("TZ"))) }
