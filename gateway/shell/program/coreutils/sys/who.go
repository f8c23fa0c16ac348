package sys

import (
	"context"
	"fmt"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var (
	whoSpec = getopt.New("abdHlmpqrsTwtu",
		"all=a boot=b dead=d heading=H login=l lookup message=T mesg=T writable=T process=p count=q runlevel=r short=s time=t users=u").
		WithUsage("[OPTION]... [ FILE | ARG1 ARG2 ]", "Print information about users who are currently logged in.")
	wSpec = getopt.New("hufsoVipc",
		"no-header=h no-current=u short=s from=f old-style=o ip-addr=i pids=p container=c help version=V").WithUsage("[options] [user]", "").WithVersion("from procps-ng 4.0.2")
	freeSpec = getopt.New("bkmghltc:s:wvVL",
		"bytes=b kilo mega giga tera peta kibi=k mebi=m gibi=g tebi pebi human=h si lohi=l total=t committed=v seconds:=s count:=c wide=w line=L help version=V").
		WithUsage("[options]",
			"").WithVersion("from procps-ng 4.0.2").WithHint("\nUsage:\n %[1]s [options]\n\nFor more details see %[1]s(1).")
	hostidSpec = getopt.New("", "").WithUsage("[OPTION]",
		"Print the numeric identifier (in hexadecimal) for the current host.")
)

// who prints headings only: nobody is logged in on a terminal, and no record says when the machine started.
func who(_ context.Context, p *proc.Process) int {
	opts, args := whoSpec.Parse(p)
	var all, heading, count, message, idle bool
	for _, o := range opts {
		switch o.Key {
		case "a":
			all = true
		case "H":
			heading = true
		case "q":
			count = true
		case "T", "w":
			message = true
		case "u", "l":
			idle = true
		}
	}
	program.NoOperand(p, whoSpec, args, 2)
	switch {
	case count:
		p.Out.WriteString("\n# users=0\n")
	case heading && all:
		p.Out.WriteString("NAME       LINE         TIME             IDLE          PID COMMENT  EXIT\n")
	case heading:
		line := "NAME     LINE         TIME            "
		if message {
			line = "NAME       LINE         TIME            "
		}
		if idle {
			line += " IDLE          PID"
		}
		p.Out.WriteString(line + " COMMENT\n")
	}
	return 0
}

// w prints its heading: nobody is logged in.
func wCommand(_ context.Context, p *proc.Process) int {
	opts, _ := wSpec.Parse(p)
	heading, short, from := true, false, true
	for _, o := range opts {
		switch o.Key {
		case "h":
			heading = false
		case "s":
			short = true
		case "f":
			from = !from
		case "V":
			p.Out.WriteString("w from procps-ng 4.0.2\n")
			return 0
		}
	}
	if !heading {
		return 0
	}
	fmt.Fprintf(p.Out, " %s up 0 min,  0 users,  load average: 0.00, 0.00, 0.00\n", program.LocalNow(p).Format("15:04:05"))
	line := "USER     TTY      "
	if from {
		line += "FROM             "
	}
	if short {
		line += " IDLE WHAT"
	} else {
		line += "LOGIN@   IDLE   JCPU   PCPU WHAT"
	}
	p.Out.WriteString(line + "\n")
	return 0
}

// free shows the memory that the exec may use.
func free(ctx context.Context, p *proc.Process) int {
	opts, args := freeSpec.Parse(p)
	unit, si, human := int64(1024), false, false
	power := 1
	var total, wide, lohi, committed, line bool
	count, every := 1, time.Duration(0)
	for _, o := range opts {
		switch o.Key {
		case "b":
			power = 0
		case "k", "kilo":
			power, si = 1, si || o.Key == "kilo"
		case "m", "mega":
			power, si = 2, si || o.Key == "mega"
		case "g", "giga":
			power, si = 3, si || o.Key == "giga"
		case "tebi", "tera":
			power, si = 4, si || o.Key == "tera"
		case "pebi", "peta":
			power, si = 5, si || o.Key == "peta"
		case "h":
			human = true
		case "si":
			si = true
		case "l":
			lohi = true
		case "t":
			total = true
		case "v":
			committed = true
		case "L":
			line = true
		case "w":
			wide = true
		case "c":
			n, problem := program.ParseCount(o.Value, "")
			if problem != program.NumberOK || n < 1 {
				p.Errorf("failed to parse count argument: '%s'", o.Value)
				return 1
			}
			count = int(min(n, 1<<30))
			if every == 0 {
				every = time.Second
			}
		case "s":
			d, ok := program.ParseDuration(o.Value)
			if !ok || d <= 0 {
				p.Errorf("seconds argument failed: '%s'", o.Value)
				return 1
			}
			every = d
		case "V":
			p.Out.WriteString("free from procps-ng 4.0.2\n")
			return 0
		}
	}
	if len(args) > 0 {
		freeSpec.Hint(p)
	}
	if si {
		unit = 1000
	}
	show := func(bytes int64) string {
		if human {
			return freeHuman(bytes, unit)
		}
		for range power {
			bytes /= unit
		}
		return fmt.Sprint(bytes)
	}
	row := func(name string, values ...int64) {
		fmt.Fprintf(p.Out, "%-9s", name)
		for n, v := range values {
			w := 11
			if n > 0 {
				w = 12
			}
			fmt.Fprintf(p.Out, "%*s", w, show(v))
		}
		p.Out.WriteString("\n")
	}
	for n := range count {
		if n > 0 {
			if status := program.Pause(ctx, p, every); status != 0 {
				return status
			}
			p.Out.WriteString("\n")
		}
		limit, live := p.Budget.Limits.LiveBytes, p.Budget.Live()
		switch {
		case line:
			fmt.Fprintf(p.Out, "SwapUse %11s CachUse %11s  MemUse %11s MemFree %11s\n", show(0), show(0), show(live),
				show(limit-live))
			p.Out.Flush()
			continue
		case wide:
			p.Out.WriteString("               total        used        free      shared     buffers       cache   available\n")
			row("Mem:", limit, live, limit-live, 0, 0, 0, limit-live)
		default:
			p.Out.WriteString("               total        used        free      shared  buff/cache   available\n")
			row("Mem:", limit, live, limit-live, 0, 0, limit-live)
		}
		if lohi {
			row("Low:", limit, live, limit-live)
			row("High:", 0, 0, 0)
		}
		row("Swap:", 0, 0, 0)
		if total {
			row("Total:", limit, live, limit-live)
		}
		if committed {
			row("Comm:", limit, live, limit-live)
		}
		p.Out.Flush()
	}
	return 0
}

// freeHuman is a size of at most three figures.
func freeHuman(n, unit int64) string {
	suffix := "i"
	if unit == 1000 {
		suffix = ""
	}
	if n < unit {
		return fmt.Sprintf("%dB", n)
	}
	for k, letter := range "KMGTP" {
		div := float64(unit)
		for range k {
			div *= float64(unit)
		}
		v := float64(n) / div
		if v < 10 {
			return fmt.Sprintf("%.1f%c%s", v, letter, suffix)
		}
		if v < float64(unit) || letter == 'P' {
			return fmt.Sprintf("%d%c%s", int64(v), letter, suffix)
		}
	}
	return ""
}

// hostid is made of the sandbox's address, as glibc does without /etc/hostid.
func hostid(_ context.Context, p *proc.Process) int {
	_, args := hostidSpec.Parse(p)
	program.NoOperand(p, hostidSpec, args, 0)
	id := "007f0100"
	if data, err := p.ReadFile("/etc/hostid"); err == nil && len(data) >= 4 {
		id = fmt.Sprintf("%02x%02x%02x%02x", data[3], data[2], data[1], data[0])
	}
	p.Out.WriteString(id + "\n")
	return 0
}
