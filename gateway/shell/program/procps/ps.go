package procps

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
)

// psColumn is one column of ps: its names in -o are the keys of psColumns.
type psColumn struct {
	header string
	width  int // negative: to the left
	value  func(r *psRun, i proc.Info) string
}

func psNumber(f func(r *psRun, i proc.Info) int) func(*psRun, proc.Info) string {
	return func(r *psRun, i proc.Info) string { return strconv.Itoa(f(r, i)) }
}

func psText(s string) func(*psRun, proc.Info) string {
	return func(*psRun, proc.Info) string { return s }
}

// comm is the name of a process, as comm shows it.
func comm(i proc.Info) string {
	name := i.Args[0]
	return name[strings.LastIndexByte(name, '/')+1:]
}

// runs reports whether i is the process of p, or the part of a shell that became it. args are p.Args as they came.
func runs(i proc.Info, p *proc.Process, args []string) bool {
	return i.PID == p.PID || &i.Args[0] == &args[0]
}

func commandLine(i proc.Info) string { return strings.Join(i.Args, " ") }

var (
	psPID     = psNumber(func(_ *psRun, i proc.Info) int { return i.PID })
	psUID     = psNumber(func(r *psRun, _ proc.Info) int { return int(r.p.User.UID) })
	psGID     = psNumber(func(r *psRun, _ proc.Info) int { return int(r.p.User.GID) })
	psUser    = func(r *psRun, _ proc.Info) string { return r.p.User.Name }
	psGroup   = func(r *psRun, _ proc.Info) string { return r.p.User.Group }
	psMemory  = func(r *psRun, _ proc.Info) string { return strconv.FormatInt(r.p.Budget.Live()>>10, 10) }
	psComm    = func(_ *psRun, i proc.Info) string { return comm(i) }
	psArgs    = func(_ *psRun, i proc.Info) string { return commandLine(i) }
	psColumns = map[string]psColumn{
		"pid": {"PID", 5, psPID}, "tgid": {"TGID", 5, psPID}, "tid": {"TID", 5, psPID}, "lwp": {"LWP", 5, psPID},
		"spid": {"SPID", 5, psPID},
		"ppid": {"PPID", 5, psNumber(func(_ *psRun, i proc.Info) int { return i.PPID })},
		"pgid": {"PGID", 5, psNumber((*psRun).leader)}, "pgrp": {"PGRP", 5, psNumber((*psRun).leader)},
		"sid": {"SID", 5, psNumber((*psRun).leader)}, "sess": {"SESS", 5, psNumber((*psRun).leader)},
		"session": {"SESS", 5, psNumber((*psRun).leader)},
		"tpgid":   {"TPGID", 5, psText("-1")},
		"user":    {"USER", -8, psUser}, "euser": {"EUSER", -8, psUser}, "ruser": {"RUSER", -8, psUser},
		"uname": {"USER", -8, psUser}, "suser": {"SUSER", -8, psUser},
		"uid": {"UID", 5, psUID}, "euid": {"EUID", 5, psUID}, "ruid": {"RUID", 5, psUID}, "uid_hack": {"UID", -8, psUser},
		"gid": {"GID", 5, psGID}, "egid": {"EGID", 5, psGID}, "rgid": {"RGID", 5, psGID},
		"group": {"GROUP", -8, psGroup}, "egroup": {"EGROUP", -8, psGroup}, "rgroup": {"RGROUP", -8, psGroup},
		"comm": {"COMMAND", -15, psComm}, "ucmd": {"CMD", -15, psComm}, "ucomm": {"COMMAND", -15, psComm},
		"exe":  {"EXE", -27, psComm},
		"args": {"COMMAND", -27, psArgs}, "cmd": {"CMD", -27, psArgs}, "command": {"COMMAND", -27, psArgs},
		"tty": {"TT", -8, psText("?")}, "tt": {"TT", -8, psText("?")}, "tname": {"TTY", -8, psText("?")},
		"stat": {"STAT", -4, (*psRun).state}, "s": {"S", -1, (*psRun).state}, "state": {"S", -1, (*psRun).state},
		"%cpu": {"%CPU", 4, (*psRun).percentCPU}, "pcpu": {"%CPU", 4, (*psRun).percentCPU}, "c": {"C", 2, psText("0")},
		"%mem": {"%MEM", 4, (*psRun).percentMemory}, "pmem": {"%MEM", 4, (*psRun).percentMemory},
		"vsz": {"VSZ", 6, psMemory}, "vsize": {"VSZ", 6, psMemory}, "rss": {"RSS", 5, psMemory},
		"rssize": {"RSS", 5, psMemory}, "rsz": {"RSZ", 5, psMemory},
		"sz":      {"SZ", 5, func(r *psRun, _ proc.Info) string { return strconv.FormatInt(r.p.Budget.Live()>>12, 10) }},
		"size":    {"SIZE", 5, psMemory},
		"time":    {"TIME", 8, func(r *psRun, i proc.Info) string { return psClock(r.cpu(i)) }},
		"cputime": {"TIME", 8, func(r *psRun, i proc.Info) string { return psClock(r.cpu(i)) }},
		"times":   {"TIME", 8, psNumber(func(r *psRun, i proc.Info) int { return int(r.cpu(i).Seconds()) })},
		"bsdtime": {"TIME", 6, func(r *psRun, i proc.Info) string {
			s := int(r.cpu(i).Seconds())
			return fmt.Sprintf("%d:%02d", s/60, s%60)
		}},
		"etime":  {"ELAPSED", 11, func(r *psRun, i proc.Info) string { return psElapsed(r.elapsed(i)) }},
		"etimes": {"ELAPSED", 7, psNumber(func(r *psRun, i proc.Info) int { return int(r.elapsed(i).Seconds()) })},
		"start":  {"STARTED", 8, psStart("%H:%M:%S")}, "stime": {"STIME", 5, psStart("%H:%M")},
		"bsdstart":   {"START", 5, psStart("%H:%M")},
		"start_time": {"START", 5, psStart("%H:%M")}, "lstart": {"STARTED", 24, psStart("%a %b %e %H:%M:%S %Y")},
		"ni":   {"NI", 3, psNumber(func(r *psRun, _ proc.Info) int { return r.p.Nice })},
		"nice": {"NI", 3, psNumber(func(r *psRun, _ proc.Info) int { return r.p.Nice })},
		"pri":  {"PRI", 3, psText("19")}, "opri": {"PRI", 3, psText("80")}, "priority": {"PRI", 3, psText("20")},
		"cls": {"CLS", 3, psText("TS")}, "rtprio": {"RTPRIO", 6, psText("-")},
		"f": {"F", 1, psText("0")}, "flags": {"F", 1, psText("0")}, "addr_1": {"ADDR", 1, psText("-")},
		"wchan": {"WCHAN", -6, psText("-")},
		"nlwp":  {"NLWP", 4, psText("1")}, "thcount": {"THCNT", 5, psText("1")}, "psr": {"PSR", 3, psText("0")},
		"cp": {"CP", 3, psText("0")},
	}
	psFormats = map[string]string{
		"":   "pid tname time ucmd",
		"-f": "uid_hack pid ppid c stime tname time cmd",
		"-F": "uid_hack pid ppid c sz rss psr stime tname time cmd",
		"-l": "f s uid pid ppid c opri ni addr_1 sz wchan tname time ucmd",
		"-j": "pid pgid sid tname time ucmd",
		"u":  "user pid %cpu %mem vsz rss tname stat bsdstart bsdtime command",
		"l":  "f uid pid ppid priority ni vsz rss wchan stat tname bsdtime command",
		"j":  "ppid pid pgid sid tname tpgid stat uid bsdtime command",
		"b":  "pid tname stat bsdtime command",
	}
)

type psRun struct {
	p       *proc.Process
	now     time.Time
	all     []proc.Info
	columns []psColumn
}

func (r *psRun) leader(proc.Info) int { return r.all[0].PID }

func (r *psRun) state(i proc.Info) string {
	if runs(i, r.p, r.p.Args) {
		return "R"
	}
	return "S"
}

// cpu is counted for the whole exec, which its first process stands for.
func (r *psRun) cpu(i proc.Info) time.Duration {
	if i.PID == r.all[0].PID {
		return r.p.Budget.CPU()
	}
	return 0
}

func (r *psRun) elapsed(i proc.Info) time.Duration { return max(r.now.Sub(i.Start), 0) }

func (r *psRun) percentCPU(i proc.Info) string {
	lived := r.elapsed(i)
	if lived < time.Second {
		return "0.0"
	}
	return fmt.Sprintf("%.1f", min(100*r.cpu(i).Seconds()/lived.Seconds(), 999))
}

func (r *psRun) percentMemory(proc.Info) string {
	return fmt.Sprintf("%.1f", 100*float64(r.p.Budget.Live())/float64(r.p.Budget.Limits.LiveBytes))
}

func psStart(format string) func(*psRun, proc.Info) string {
	return func(r *psRun, i proc.Info) string { return datetime.Format(format, i.Start.In(r.now.Location())) }
}

func psClock(d time.Duration) string {
	s := int(d.Seconds())
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

func psElapsed(d time.Duration) string {
	s := int(d.Seconds())
	switch {
	case s >= 86400:
		return fmt.Sprintf("%d-%02d:%02d:%02d", s/86400, s/3600%24, s/60%60, s%60)
	case s >= 3600:
		return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

const psUsage = `
Usage:
 ps [options]

 Try 'ps --help <simple|list|output|threads|misc|all>'
  or 'ps --help <s|l|o|t|m|a>'
 for additional help text.

For more details see ps(1).
`

func (r *psRun) fail(format string, args ...any) {
	fmt.Fprintf(r.p.Err, "error: "+format+"\n", args...)
	r.p.Err.WriteString(psUsage)
	r.p.Exit(1)
}

// add appends the columns of a list of names, each with an optional header.
func (r *psRun) add(list string) {
	for list != "" {
		var name string
		if i := strings.IndexAny(list, ", \t"); i >= 0 {
			name, list = list[:i], list[i+1:]
		} else {
			name, list = list, ""
		}
		if name == "" {
			continue
		}
		name, header, has := strings.Cut(name, "=")
		c, ok := psColumns[name]
		if !ok {
			r.fail("unknown user-defined format specifier \"%s\"", name)
		}
		if has {
			c.header = header
			if w := len(header); w > max(c.width, -c.width) {
				if c.width < 0 {
					w = -w
				}
				c.width = w
			}
		}
		r.columns = append(r.columns, c)
	}
}

// psSelect are the processes asked for; with none of its parts all of them.
type psSelect struct {
	pids, parents map[int]bool
	names         map[string]bool
	users         []string
	any, negate   bool
}

func (s *psSelect) wants(r *psRun, i proc.Info) bool {
	if !s.any {
		return true
	}
	user := slices.ContainsFunc(s.users, func(u string) bool {
		return u == r.p.User.Name || u == strconv.Itoa(int(r.p.User.UID))
	})
	return (s.pids[i.PID] || s.parents[i.PPID] || s.names[comm(i)] || user) != s.negate
}

func ps(_ context.Context, p *proc.Process) int {
	r := &psRun{p: p, now: program.LocalNow(p), all: p.Processes()}
	sel := &psSelect{pids: map[int]bool{}, parents: map[int]bool{}, names: map[string]bool{}}
	format, heading, forest := "", true, false
	var keys []string
	numbers := func(m map[int]bool, list string) {
		sel.any = true
		for _, w := range strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' }) {
			n, err := strconv.Atoi(w)
			if err != nil || n <= 0 {
				r.fail("process ID list syntax error")
			}
			m[n] = true
		}
	}
	names := func(list string) {
		sel.any = true
		for w := range strings.SplitSeq(list, ",") {
			sel.names[w] = true
		}
	}
	users := func(list string) {
		sel.any = true
		for w := range strings.SplitSeq(list, ",") {
			if _, ok := program.UserByName(p, w); !ok {
				if n, number := program.AccountNumber(w); !number {
					r.fail("user name does not exist")
				} else if _, ok := program.UserByID(p, n); !ok && n != p.User.UID {
					continue
				}
			}
			sel.users = append(sel.users, w)
		}
	}
	args := p.Args[1:]
	for n := 0; n < len(args); n++ {
		a := args[n]
		// value is the rest of the word, or the next one.
		value := func(rest string) string {
			if rest == "" {
				if n++; n >= len(args) {
					r.fail("list of process IDs must follow %s", a)
				}
				rest = args[n]
			}
			return rest
		}
		switch {
		case strings.HasPrefix(a, "--"):
			name, v, has := strings.Cut(a[2:], "=")
			need := func() string {
				if has {
					return v
				}
				return value("")
			}
			switch name {
			case "help":
				p.Out.WriteString(psUsage[1:])
				return 0
			case "version", "info":
				p.Out.WriteString("ps from procps-ng 4.0.2\n")
				return 0
			case "no-headers", "no-heading", "no-headings", "noheaders", "noheader", "noheading":
				heading = false
			case "headers", "heading", "headings", "cumulative", "cols", "columns", "width", "lines", "rows":
				if !has && slices.Contains([]string{"cols", "columns", "width", "lines", "rows"}, name) {
					value("")
				}
			case "forest":
				forest = true
			case "deselect":
				sel.negate, sel.any = true, true
			case "pid":
				numbers(sel.pids, need())
			case "ppid":
				numbers(sel.parents, need())
			case "quick-pid":
				numbers(sel.pids, need())
			case "user", "User", "uid":
				users(need())
			case "format":
				r.add(need())
			case "sort":
				keys = append(keys, strings.Split(need(), ",")...)
			default:
				r.fail("unknown gnu long option")
			}
		case len(a) > 1 && a[0] == '-':
		letters:
			for i := 1; i < len(a); i++ {
				rest := a[i+1:]
				switch c := a[i]; c {
				case 'e', 'A', 'a', 'd', 'T', 'L', 'm', 'y', 'c', 'w', 'M', 'Z':
				case 'N':
					sel.negate, sel.any = true, true
				case 'H':
					forest = true
				case 'f', 'F', 'l', 'j':
					format = "-" + string(c)
				case 'p', 'q':
					numbers(sel.pids, value(rest))
					break letters
				case 'C':
					names(value(rest))
					break letters
				case 'u', 'U':
					users(value(rest))
					break letters
				case 'o', 'O':
					if c == 'O' {
						r.add("pid")
					}
					r.add(value(rest))
					if c == 'O' {
						r.add("state,tname,time,command")
					}
					break letters
				case 'g', 'G', 's', 't':
					value(rest)
					break letters
				case 'V':
					p.Out.WriteString("ps from procps-ng 4.0.2\n")
					return 0
				default:
					r.fail("unsupported option (BSD syntax)")
				}
			}
		case a != "" && program.IsDigit(a[0]):
			numbers(sel.pids, a)
		default:
		words:
			for i := 0; i < len(a); i++ {
				rest := a[i+1:]
				switch c := a[i]; c {
				case 'a', 'x', 'w', 'g', 'r', 'c', 'e', 'n', 'S', 'T', 'H', 'm':
				case 'f':
					forest = true
				case 'h':
					heading = false
				case 'u', 'l', 'j', 'v', 's', 'X':
					format = string(c)
					if psFormats[format] == "" {
						format = "b"
					}
				case 'p', 'q':
					numbers(sel.pids, value(rest))
					break words
				case 'U':
					users(value(rest))
					break words
				case 'o', 'O':
					r.add(value(rest))
					break words
				case 'k':
					keys = append(keys, strings.Split(value(rest), ",")...)
					break words
				case 't':
					break words
				case 'V':
					p.Out.WriteString("ps from procps-ng 4.0.2\n")
					return 0
				default:
					r.fail("unsupported SysV option")
				}
			}
			if format == "" && len(r.columns) == 0 {
				format = "b"
			}
		}
	}
	if len(r.columns) == 0 {
		for name := range strings.FieldsSeq(psFormats[format]) {
			r.columns = append(r.columns, psColumns[name])
		}
	}
	list := slices.DeleteFunc(slices.Clone(r.all), func(i proc.Info) bool { return !sel.wants(r, i) })
	r.sort(list, keys)
	depth := map[int]int{}
	if forest {
		list = psForest(list, depth)
	}
	r.print(list, depth, heading)
	if len(list) == 0 {
		return 1
	}
	return 0
}

func (r *psRun) sort(list []proc.Info, keys []string) {
	for _, k := range slices.Backward(keys) {
		down := strings.HasPrefix(k, "-")
		c, ok := psColumns[strings.TrimLeft(k, "+-")]
		if !ok {
			r.fail("unknown sort specifier")
		}
		slices.SortStableFunc(list, func(a, b proc.Info) int {
			x, y := c.value(r, a), c.value(r, b)
			m, err1 := strconv.ParseFloat(x, 64)
			n, err2 := strconv.ParseFloat(y, 64)
			order := cmp.Compare(x, y)
			if err1 == nil && err2 == nil {
				order = cmp.Compare(m, n)
			}
			if down {
				return -order
			}
			return order
		})
	}
}

// psForest puts children below their parents.
func psForest(list []proc.Info, depth map[int]int) []proc.Info {
	here := map[int]bool{}
	for _, i := range list {
		here[i.PID] = true
	}
	var out []proc.Info
	var add func(parent, level int)
	add = func(parent, level int) {
		for _, i := range list {
			if i.PPID == parent && i.PID != parent && here[i.PID] {
				delete(here, i.PID)
				depth[i.PID] = level
				out = append(out, i)
				add(i.PID, level+1)
			}
		}
	}
	for _, i := range list {
		if here[i.PID] && !here[i.PPID] {
			delete(here, i.PID)
			out = append(out, i)
			add(i.PID, 1)
		}
	}
	return out
}

func (r *psRun) print(list []proc.Info, depth map[int]int, heading bool) {
	line := func(cell func(c psColumn) string) {
		var b strings.Builder
		for n, c := range r.columns {
			if n > 0 {
				b.WriteByte(' ')
			}
			last := n == len(r.columns)-1
			switch s := cell(c); {
			case c.width < 0 && last:
				b.WriteString(s)
			case c.width < 0:
				fmt.Fprintf(&b, "%-*s", -c.width, s)
			default:
				fmt.Fprintf(&b, "%*s", c.width, s)
			}
		}
		b.WriteByte('\n')
		r.p.Out.WriteString(b.String())
	}
	named := func(c psColumn) bool { return c.header != "" }
	if heading && slices.ContainsFunc(r.columns, named) {
		line(func(c psColumn) string { return c.header })
	}
	for _, i := range list {
		r.p.Tick(1)
		line(func(c psColumn) string {
			v := c.value(r, i)
			if d := depth[i.PID]; d > 0 && (c.header == "CMD" || c.header == "COMMAND") {
				v = strings.Repeat("    ", d-1) + ` \_ ` + v
			}
			return v
		})
	}
}

var topSpec = getopt.New("+bcd:e:E:Hhin:o:Op:s1SuU:vVw::", "help=h version=V batch=b iterations:=n delay:=d")

// top prints what top -b does, -n times; without -n once, because nobody could end it.
func top(ctx context.Context, p *proc.Process) int {
	opts, _, err := topSpec.Scan(p.Args[1:])
	if err != nil {
		p.Err.WriteString("top: " + strings.Replace(err.Error(), "invalid option -- ", "unknown option ", 1) +
			"\nUsage:\n  top -hv | -bcEeHiOSs1 -d secs -n max -u|U user -p pid(s) -o field -w [cols]\n")
		return 1
	}
	batch, rounds, delay := false, 1, 3*time.Second
	only := map[int]bool{}
	for _, o := range opts {
		switch o.Key {
		case "b":
			batch = true
		case "n":
			n, err := strconv.Atoi(o.Value)
			if err != nil || n < 1 {
				p.Errorf("bad iterations argument '%s'", o.Value)
				return 1
			}
			rounds = n
		case "d":
			f, err := strconv.ParseFloat(o.Value, 64)
			if err != nil || f < 0 || f > 1<<20 {
				p.Errorf("bad delay interval '%s'", o.Value)
				return 1
			}
			delay = time.Duration(f * float64(time.Second))
		case "p":
			for w := range strings.SplitSeq(o.Value, ",") {
				n, err := strconv.Atoi(w)
				if err != nil {
					p.Errorf("bad pid '%s'", w)
					return 1
				}
				only[n] = true
			}
		case "h":
			p.Out.WriteString("  procps-ng 4.0.2\nUsage:\n  top -hv | -bcEeHiOSs1 -d secs -n max -u|U user -p pid(s) -o field -w [cols]\n")
			return 0
		case "v", "V":
			p.Out.WriteString("top from procps-ng 4.0.2\n")
			return 0
		}
	}
	if !batch {
		p.Errorf("failed tty get")
		return 1
	}
	for n := range rounds {
		if n > 0 {
			if status := program.Pause(ctx, p, delay); status != 0 {
				return status
			}
			p.Out.WriteString("\n")
		}
		topScreen(p, only)
		p.Out.Flush()
	}
	return 0
}

func topScreen(p *proc.Process, only map[int]bool) {
	r := &psRun{p: p, now: program.LocalNow(p), all: p.Processes()}
	list := slices.DeleteFunc(slices.Clone(r.all), func(i proc.Info) bool { return len(only) > 0 && !only[i.PID] })
	limit, live := float64(p.Budget.Limits.LiveBytes)/(1<<20), float64(p.Budget.Live())/(1<<20)
	fmt.Fprintf(p.Out, "top - %s up 0 min,  0 users,  load average: 0.00, 0.00, 0.00\n",
		datetime.Format("%H:%M:%S", r.now))
	fmt.Fprintf(p.Out, "Tasks: %3d total, %3d running, %3d sleeping, %3d stopped, %3d zombie\n", len(list), 1,
		max(len(list)-1, 0), 0, 0)
	fmt.Fprintf(p.Out, "%%Cpu(s): %4.1f us, %4.1f sy, %4.1f ni, %4.1f id, %4.1f wa, %4.1f hi, %4.1f si, %4.1f st \n", 0.0,
		0.0, 0.0, 100.0, 0.0, 0.0, 0.0, 0.0)
	fmt.Fprintf(p.Out, "MiB Mem : %8.1f total, %8.1f free, %8.1f used, %8.1f buff/cache     \n", limit, limit-live,
		live, 0.0)
	fmt.Fprintf(p.Out, "MiB Swap: %8.1f total, %8.1f free, %8.1f used. %8.1f avail Mem \n\n", 0.0, 0.0, 0.0, limit-live)
	fmt.Fprintf(p.Out, "%7s %-8s %3s %3s %7s %6s %6s S %5s %5s %9s COMMAND\n", "PID", "USER", "PR", "NI", "VIRT", "RES",
		"SHR", "%CPU", "%MEM", "TIME+")
	for _, i := range list {
		cpu := r.cpu(i)
		fmt.Fprintf(p.Out, "%7d %-8s %3d %3d %7s %6s %6d %s %5s %5s %9s %s\n", i.PID, p.User.Name, 20+p.Nice, p.Nice,
			psMemory(r, i), psMemory(r, i), 0, r.state(i),
			r.percentCPU(i), r.percentMemory(i), fmt.Sprintf("%d:%05.2f", int(cpu.Minutes()),
				cpu.Seconds()-60*float64(int(cpu.Minutes()))), comm(i))
	}
}
