package procps

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

const pgrepHint = "Try `%[1]s --help' for more information."

var (
	pgrepSpec = getopt.New("d:lavwcfg:G:iO:noP:s:t:u:U:xF:Lr:AVh",
		"delimiter:=d list-name=l list-full=a inverse=v lightweight=w count=c full=f pgroup:=g group:=G ignore-case=i older:=O "+
			"newest=n oldest=o parent:=P session:=s terminal:=t euid:=u uid:=U exact=x pidfile:=F logpidfile=L runstates:=r ignore-ancestors=A cgroup: env: ns: nslist: help=h version=V").WithStatus(2).
		WithHint(pgrepHint).WithUsage("[options] <pattern>", "").WithVersion("from procps-ng 4.0.2")
	pkillSpec = getopt.New("eq:H0123456789cfg:G:iO:noP:s:t:u:U:xF:Lr:AVh",
		"signal: echo=e queue:=q require-handler=H count=c full=f pgroup:=g group:=G ignore-case=i older:=O newest=n oldest=o parent:=P "+
			"session:=s terminal:=t euid:=u uid:=U exact=x pidfile:=F logpidfile=L runstates:=r ignore-ancestors=A cgroup: env: ns: nslist: help=h version=V").WithStatus(2).
		WithHint(pgrepHint).WithUsage("[options] <pattern>", "").WithVersion("from procps-ng 4.0.2")
	pidofSpec = getopt.New("cxsnqwo:d:S:tVh",
		"single-shot=s check-root=c quiet=q with-workers=w omit-pid:=o separator:=S lightweight=t help=h version=V").WithUsage("[options] [program [...]]", "").WithVersion("from procps-ng 4.0.2")
	killallSpec = getopt.New("eIgilqrs:u:vwVZ:n:y:o:",
		"exact=e ignore-case=I process-group=g interactive=i list=l quiet=q regexp=r signal:=s user:=u verbose=v wait=w younger-than:=y older-than:=o version=V").
		WithUsage("[OPTION]... [--] NAME...", "").WithVersion("(PSmisc) 23.6")
)

// pgrep is also pkill.
func pgrep(_ context.Context, p *proc.Process) int {
	spec, kill := pgrepSpec, p.Name() == "pkill"
	self := p.Args
	signal := 15
	if kill {
		spec = pkillSpec
		// The signal may be an option of its own.
		for n, a := range p.Args[1:] {
			if a == "--" {
				break
			}
			if len(a) > 1 && a[0] == '-' && a[1] != '-' {
				if s, ok := program.SignalNumber(a[1:]); ok && (program.IsDigit(a[1]) || strings.ToUpper(a[1:]) == a[1:]) {
					signal = s
					p.Args = slices.Delete(slices.Clone(p.Args), n+1, n+2)
					break
				}
			}
		}
	}
	opts, args := spec.Parse(p)
	var full, exact, fold, newest, oldest, invert, count, echo, names, lines, criteria bool
	delim := "\n"
	var parents, uids []string
	for _, o := range opts {
		switch o.Key {
		case "d":
			delim = o.Value
		case "l":
			names = true
		case "a":
			lines = true
		case "v":
			invert = true
		case "c":
			count = true
		case "f":
			full = true
		case "i":
			fold = true
		case "n", "o":
			newest, oldest, criteria = newest || o.Key == "n", oldest || o.Key == "o", true
		case "x":
			exact = true
		case "P":
			parents, criteria = append(parents, strings.Split(o.Value, ",")...), true
		case "u", "U":
			for _, u := range strings.Split(o.Value, ",") {
				if _, ok := program.UserByName(p, u); !ok {
					if _, ok := program.AccountNumber(u); !ok {
						p.Errorf("invalid user name: %s", u)
						return 2
					}
				}
				uids = append(uids, u)
			}
			criteria = true
		case "G", "g", "s", "t", "F", "O", "r":
			criteria = true
		case "e":
			echo = true
		case "signal":
			s, ok := program.SignalNumber(o.Value)
			if !ok {
				spec.Fail(p, "Unknown signal \"%s\".", o.Value)
			}
			signal = s
		case "h":
			p.Out.WriteString("\nUsage:\n " + p.Name() + " [options] <pattern>\n")
			return 0
		case "V":
			p.Out.WriteString(p.Name() + " from procps-ng 4.0.2\n")
			return 0
		}
	}
	switch {
	case len(args) > 1:
		spec.Fail(p, "only one pattern can be provided")
	case len(args) == 0 && !criteria:
		spec.Fail(p, "no matching criteria specified")
	}
	var re *regexp.Regexp
	if len(args) == 1 {
		expr := args[0]
		if exact {
			expr = "^(" + expr + ")$"
		}
		if fold {
			expr = "(?i)" + expr
		}
		var err error
		if re, err = regexp.CompilePOSIX(strings.TrimPrefix(expr, "(?i)")); err == nil && fold {
			re, err = regexp.Compile(expr)
		}
		if err != nil {
			p.Errorf("%s", err)
			return 2
		}
		if !full && len(args[0]) > 15 && !strings.ContainsAny(args[0], `.*+?[](){}^$|\`) {
			p.Errorf("pattern that searches for process name longer than 15 characters will result in zero matches\nTry `%s -f' option to match against the complete command line.", p.Name())
		}
	}
	var found []proc.Info
	for _, i := range p.Processes() {
		if runs(i, p, self) {
			continue
		}
		text := comm(i)
		if len(text) > 15 {
			text = text[:15]
		}
		if full {
			text = commandLine(i)
		}
		ok := re == nil || re.MatchString(text)
		ok = ok && (parents == nil || slices.Contains(parents, strconv.Itoa(i.PPID)))
		ok = ok && (uids == nil || slices.Contains(uids, p.User.Name) || slices.Contains(uids, strconv.Itoa(int(p.User.UID))))
		if ok != invert {
			found = append(found, i)
		}
	}
	if len(found) > 1 && (newest || oldest) {
		order := func(a, b proc.Info) int { return cmp.Or(a.Start.Compare(b.Start), a.PID-b.PID) }
		pick := slices.MinFunc(found, order)
		if newest {
			pick = slices.MaxFunc(found, order)
		}
		found = []proc.Info{pick}
	}
	switch {
	case kill:
		sent := 0
		for _, i := range found {
			if p.Signal(i.PID, signal) {
				sent++
				if echo {
					fmt.Fprintf(p.Out, "%s killed (pid %d)\n", comm(i), i.PID)
				}
			}
		}
		if count {
			fmt.Fprintf(p.Out, "%d\n", sent)
		}
		p.Tick(1024) // it may have been this exec's own shell
	case count:
		fmt.Fprintf(p.Out, "%d\n", len(found))
	default:
		for n, i := range found {
			if n > 0 {
				p.Out.WriteString(delim)
			}
			p.Out.WriteString(strconv.Itoa(i.PID))
			if lines {
				p.Out.WriteString(" " + commandLine(i))
			} else if names {
				p.Out.WriteString(" " + comm(i))
			}
		}
		if len(found) > 0 {
			p.Out.WriteString("\n")
		}
	}
	if len(found) == 0 {
		return 1
	}
	return 0
}

func pidof(_ context.Context, p *proc.Process) int {
	opts, args := pidofSpec.Parse(p)
	single, quiet, sep := false, false, " "
	omit := map[string]bool{}
	for _, o := range opts {
		switch o.Key {
		case "s":
			single = true
		case "q":
			quiet = true
		case "o":
			for w := range strings.SplitSeq(o.Value, ",") {
				omit[w] = true
			}
		case "S", "d":
			sep = o.Value
		case "h":
			p.Out.WriteString("\nUsage:\n pidof [options] [program [...]]\n")
			return 0
		case "V":
			p.Out.WriteString("pidof from procps-ng 4.0.2\n")
			return 0
		}
	}
	if len(args) == 0 {
		return 1
	}
	var found []string
	for _, name := range args {
		for _, i := range slices.Backward(p.Processes()) {
			pid := strconv.Itoa(i.PID)
			if (comm(i) == name || i.Args[0] == name) && !omit[pid] && !runs(i, p, p.Args) && (!single || len(found) == 0) {
				found = append(found, pid)
			}
		}
	}
	if len(found) == 0 {
		return 1
	}
	if !quiet {
		p.Out.WriteString(strings.Join(found, sep) + "\n")
	}
	return 0
}

func killall(ctx context.Context, p *proc.Process) int {
	signal, self := 15, p.Args
	for n, a := range p.Args[1:] {
		if len(a) > 1 && a[0] == '-' && a[1] != '-' {
			if s, ok := program.SignalNumber(a[1:]); ok && (program.IsDigit(a[1]) || strings.ToUpper(a[1:]) == a[1:]) {
				signal = s
				p.Args = slices.Delete(slices.Clone(p.Args), n+1, n+2)
				break
			}
		}
	}
	opts, args := killallSpec.Parse(p)
	var fold, quiet, isRegexp, verbose, wait bool
	for _, o := range opts {
		switch o.Key {
		case "I":
			fold = true
		case "q":
			quiet = true
		case "r":
			isRegexp = true
		case "v":
			verbose = true
		case "w":
			wait = true
		case "l":
			line := ""
			for n := 1; n < 32; n++ {
				if name := program.SignalName(n); len(line)+len(name)+1 > 80 {
					p.Out.WriteString(line + "\n")
					line = name
				} else {
					line = strings.TrimPrefix(line+" "+name, " ")
				}
			}
			p.Out.WriteString(line + "\n")
			return 0
		case "s":
			s, ok := program.SignalNumber(o.Value)
			if !ok {
				p.Err.WriteString(o.Value + ": unknown signal; killall -l lists signals.\n")
				return 1
			}
			signal = s
		case "u":
			if _, ok := program.UserByName(p, o.Value); !ok {
				p.Err.WriteString("Cannot find user " + o.Value + "\n")
				return 1
			}
		case "V":
			p.Err.WriteString("killall (PSmisc) 23.6\n")
			return 0
		}
	}
	if len(args) == 0 {
		p.Err.WriteString("Usage: killall [OPTION]... [--] NAME...\n       killall -l, --list\n       killall -V, --version\n")
		return 1
	}
	status := 0
	for _, name := range args {
		same := func(s string) bool { return s == name || fold && strings.EqualFold(s, name) }
		if isRegexp {
			re, err := regexp.CompilePOSIX(name)
			if err != nil {
				p.Err.WriteString("killall: Bad regular expression: " + name + "\n")
				return 1
			}
			same = re.MatchString
		}
		n := 0
		for _, i := range p.Processes() {
			if runs(i, p, self) || !same(comm(i)) || !p.Signal(i.PID, signal) {
				continue
			}
			n++
			if verbose {
				fmt.Fprintf(p.Err, "Killed %s(%d) with signal %d\n", comm(i), i.PID, signal)
			}
			for wait && p.Alive(i.PID) {
				if status := program.Pause(ctx, p, 20*time.Millisecond); status != 0 {
					return status
				}
			}
		}
		if n == 0 {
			status = 1
			if !quiet {
				p.Err.WriteString(name + ": no process found\n")
			}
		}
	}
	p.Tick(1024)
	return status
}
