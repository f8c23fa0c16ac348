package utillinux

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var calSpec = getopt.New("31A:B:d:hjm:yCbN", "")

const calUsage = `Usage: cal [general options] [-jy] [[month] year]
       cal [general options] [-j] [-m month] [year]
General options: [-31] [-A months] [-B months] [-d yyyy-mm]
`

// calRun prints months in blocks next to each other.
type calRun struct {
	p      *proc.Process
	julian bool // days of the year
}

func cal(_ context.Context, p *proc.Process) int {
	usage := func() int {
		p.Err.WriteString(calUsage)
		return 64
	}
	opts, args, err := calSpec.Scan(p.Args[1:])
	if err != nil {
		p.Errorf("%v", err)
		return usage()
	}
	now := program.LocalNow(p)
	c := &calRun{p: p}
	year, month := now.Year(), int(now.Month())
	before, after := 0, 0
	wholeYear, hasMonth := false, false
	number := func(s string) (int, bool) {
		n, err := strconv.ParseUint(s, 10, 16)
		return int(n), err == nil && n <= 1200
	}
	for _, o := range opts {
		switch o.Key {
		case "3":
			before, after = 1, 1
		case "1":
			before, after = 0, 0
		case "A", "B":
			n, ok := number(o.Value)
			if !ok {
				p.Errorf("Argument to -%s must be positive", o.Key)
				return 64
			}
			if o.Key == "A" {
				after = n
			} else {
				before = n
			}
		case "d":
			y, m, ok := strings.Cut(o.Value, "-")
			yn, err1 := strconv.Atoi(y)
			mn, err2 := strconv.Atoi(m)
			if !ok || err1 != nil || err2 != nil || mn < 1 || mn > 12 || yn < 1 || yn > 9999 {
				return usage()
			}
			year, month, hasMonth = yn, mn, true
		case "j":
			c.julian = true
		case "m":
			if month = c.month(o.Value); month == 0 {
				return 64
			}
			hasMonth = true
		case "y":
			wholeYear = true
		case "h", "N":
			return usage()
		}
	}
	switch len(args) {
	case 0:
	case 1, 2:
		text := args[len(args)-1]
		if len(args) == 2 {
			if month = c.month(args[0]); month == 0 {
				return 64
			}
		} else if !hasMonth {
			wholeYear = true
		}
		if strings.Trim(text, "0123456789") != "" || text == "" {
			p.Errorf("not a valid year %s", text)
			return 64
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 9999 {
			p.Errorf("year `%s' not in range 1..9999", text)
			return 64
		}
		year = n
	default:
		return usage()
	}
	if wholeYear {
		month, before, after = 1, 0, 11
	}
	c.print(year*12+month-1-before, before+after+1)
	return 0
}

// month reads a month's number or name; 0 after saying that it is neither.
func (c *calRun) month(s string) int {
	if n, err := strconv.Atoi(s); err == nil && n >= 1 && n <= 12 {
		return n
	}
	if len(s) >= 3 {
		for m := time.January; m <= time.December; m++ {
			if name := m.String(); len(s) <= len(name) && strings.EqualFold(name[:len(s)], s) || strings.EqualFold(name[:3], s) {
				return int(m)
			}
		}
	}
	c.p.Errorf("%s is neither a month number (1..12) nor a name", s)
	return 0
}

func (c *calRun) print(first, count int) {
	width, perRow := 20, 3
	if c.julian {
		width, perRow = 27, 2
	}
	out := c.p.Out
	// Rows that are those of a whole year have it above them, others with each month.
	oneYear := count >= perRow && first%12%perRow == 0
	for at := 0; at < count; at += perRow {
		if at > 0 {
			out.WriteByte('\n')
		}
		if oneYear && (at == 0 || (first+at)%12 == 0) {
			year := strconv.Itoa((first + at) / 12)
			out.WriteString(strings.Repeat(" ", (perRow*width-len(year))/2) + year + "\n")
		}
		n := min(perRow, count-at)
		var months [][]string
		for k := range n {
			m := first + at + k
			title := time.Month(m%12 + 1).String()
			if !oneYear {
				title += " " + strconv.Itoa(m/12)
			}
			lines := append([]string{strings.Repeat(" ", max((width-len(title))/2, 0)) + title}, c.lines(m/12, m%12+1)...)
			months = append(months, lines)
		}
		for row := range months[0] {
			for k := range n {
				fmt.Fprintf(out, "%-*s", width+2, months[k][row])
			}
			out.WriteByte('\n')
		}
	}
}

// weekday is 0 on Sundays, in the calendar of Britain, which changed on 2 September 1752.
func weekday(year, month, day int) int {
	y := year - 1
	days := y*365 + y/4 + day
	for m := 1; m < month; m++ {
		days += monthDays(year, m)
	}
	if year*10000+month*100+day <= 17520902 {
		return (days + 5) % 7
	}
	// From then on centuries have no leap day but every fourth. 1752's own one is counted by monthDays.
	return (days - y/100 + y/400) % 7
}

func leapYear(y int) bool {
	if y <= 1752 {
		return y%4 == 0
	}
	return y%4 == 0 && (y%100 != 0 || y%400 == 0)
}

func monthDays(year, month int) int {
	if month == 2 && leapYear(year) {
		return 29
	}
	return []int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month-1]
}

// lines is the names of the days and the six weeks of a month.
func (c *calRun) lines(year, month int) []string {
	format := "%2d"
	out := []string{"Su Mo Tu We Th Fr Sa"}
	if c.julian {
		format = "%3d"
		out[0] = " Su  Mo  Tu  We  Th  Fr  Sa"
	}
	blank := strings.Repeat(" ", len(fmt.Sprintf(format, 0)))
	inYear := 0
	for m := 1; m < month; m++ {
		inYear += monthDays(year, m)
		if year == 1752 && m == 9 {
			inYear -= 11
		}
	}
	var cells []string
	for range weekday(year, month, 1) {
		cells = append(cells, blank)
	}
	for d := 1; d <= monthDays(year, month); d++ {
		if year == 1752 && month == 9 && d > 2 && d < 14 {
			continue
		}
		inYear++
		if c.julian {
			cells = append(cells, fmt.Sprintf(format, inYear))
		} else {
			cells = append(cells, fmt.Sprintf(format, d))
		}
	}
	for row := range 6 {
		out = append(out, strings.Join(cells[min(7*row, len(cells)):min(7*row+7, len(cells))], " "))
	}
	return out
}
