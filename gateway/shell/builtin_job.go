package shell

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// trapNames lists the traps in the order trap -p prints them.
func trapOrder(m map[string]string) []string {
	keys := slices.Collect(maps.Keys(m))
	rank := func(k string) int {
		switch k {
		case "DEBUG":
			return 65
		case "ERR":
			return 66
		case "RETURN":
			return 67
		}
		return signalNumber(k)
	}
	slices.SortFunc(keys, func(a, b string) int { return rank(a) - rank(b) })
	return keys
}

func trapName(s string) string {
	switch u := strings.ToUpper(s); u {
	case "DEBUG", "ERR", "RETURN":
		return u
	}
	if n := signalNumber(s); n >= 0 {
		return signalName(n)
	}
	return ""
}

func builtinTrap(sh *Shell, args []string) int {
	args = args[1:]
	show := func(k, v string) {
		n := k
		if signalNumber(k) > 0 && !sh.posix {
			n = "SIG" + k
		}
		sh.out("trap -- " + singleQuote(v) + " " + n + "\n")
	}
	current := sh.traps
	if sh.inherited != nil {
		current = sh.inherited
	}
	if len(args) > 0 && args[0] == "-l" {
		return listSignals(sh)
	}
	if len(args) == 0 || args[0] == "-p" {
		names := trapOrder(current)
		if len(args) > 1 {
			names = nil
			for _, a := range args[1:] {
				n := trapName(a)
				if n == "" {
					sh.errorf("trap: %s: invalid signal specification", a)
					return 1
				}
				names = append(names, n)
			}
		}
		for _, n := range names {
			if v, ok := current[n]; ok {
				show(n, v)
			}
		}
		return 0
	}
	if args[0] == "--" {
		args = args[1:]
	} else if len(args[0]) > 1 && args[0][0] == '-' {
		return sh.usage("trap", args[0][:2])
	}
	if len(args) == 0 {
		return 0
	}
	action := args[0]
	sigs := args[1:]
	reset := action == "-"
	if len(sigs) == 0 {
		if trapName(action) == "" {
			sh.eprint(usageLine("trap"))
			return 2
		}
		reset, sigs = true, args
	} else if _, err := strconv.Atoi(action); err == nil && signalNumber(action) >= 0 {
		reset, sigs = true, args
	}
	status := 0
	sh.inherited = nil
	for _, s := range sigs {
		n := trapName(s)
		if n == "" {
			sh.errorf("trap: %s: invalid signal specification", s)
			status = 1
			continue
		}
		if k := signalNumber(n); k > 0 && sh.unheeded&(1<<uint(k)) != 0 && !sh.interactive() {
			continue
		}
		if reset {
			delete(sh.ownTraps(), n)
		} else {
			sh.ownTraps()[n] = action
		}
	}
	sh.syncCaught()
	return status
}

func listSignals(sh *Shell) int {
	if sh.posix {
		var names []string
		for n := 1; n <= 64; n++ {
			if name := signalName(n); name != "" {
				names = append(names, name)
			}
		}
		sh.out(strings.Join(names, " ") + "\n")
		return 0
	}
	col := 0
	for n := 1; n <= 64; n++ {
		name := signalName(n)
		if name == "" {
			continue
		}
		num := itoa(n)
		sh.out(strings.Repeat(" ", 2-len(num)) + num + ") SIG" + name)
		if col++; col%5 == 0 {
			sh.out("\n")
		} else {
			sh.out("\t")
		}
	}
	if col%5 != 0 {
		sh.out("\n")
	}
	return 0
}

func builtinKill(sh *Shell, args []string) int {
	args = args[1:]
	sig := 15
	usage := func() int {
		sh.eprint(usageLine("kill"))
		return 2
	}
	if len(args) == 0 {
		return usage()
	}
	switch a := args[0]; {
	case a == "-l" || a == "-L":
		if len(args) == 1 {
			return listSignals(sh)
		}
		status := 0
		for _, s := range args[1:] {
			if n, err := strconv.Atoi(s); err == nil {
				if n > 128 {
					n -= 128
				}
				if name := signalName(n); name != "" {
					sh.out(name + "\n")
					continue
				}
			} else if n := signalNumber(s); n >= 0 {
				sh.out(itoa(n) + "\n")
				continue
			}
			sh.errorf("kill: %s: invalid signal specification", s)
			status = 1
		}
		return status
	case a == "-s" || a == "-n":
		if len(args) < 2 {
			sh.errorf("kill: %s: option requires an argument", a)
			return 1
		}
		if sig = signalNumber(args[1]); sig < 0 {
			sh.errorf("kill: %s: invalid signal specification", args[1])
			return 1
		}
		args = args[2:]
	case a == "--":
		args = args[1:]
	case len(a) > 1 && a[0] == '-':
		if sig = signalNumber(a[1:]); sig < 0 {
			sh.errorf("kill: %s: invalid signal specification", a[1:])
			return 1
		}
		args = args[1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return usage()
	}
	status := 0
	for _, a := range args {
		if !sh.killOne(a, sig) {
			status = 1
		}
	}
	sh.status = status // of the kill, which has done what it was to do when a trap runs
	sh.tick()
	sh.checkAlive()
	return sh.status // which a return in the trap may have changed
}

func (sh *Shell) killOne(target string, sig int) bool {
	var p *process
	if strings.HasPrefix(target, "%") {
		j := sh.findJob(target)
		if j == nil {
			sh.errorf("kill: %s: no such job", target)
			return false
		}
		if p = j.proc; !j.running() {
			p = nil
		} else if now := sh.x.processOf(j.pid); now != nil {
			p = now // a program that the job has become
		}
	} else {
		n, err := strconv.Atoi(target)
		if target == "" {
			sh.errorf("kill: `': not a pid or valid job spec")
			return false
		}
		if err != nil {
			sh.errorf("kill: %s: arguments must be process or job IDs", target)
			return false
		}
		if n <= 0 {
			n = sh.mainPID() // the process group is the script's
			if n < 0 {
				n = -n
			}
		}
		if p = sh.x.processOf(n); p == nil {
			sh.errorf("kill: (%d) - No such process", n)
			return false
		}
	}
	if p == nil {
		sh.errorf("kill: (%s) - No such process", target)
		return false
	}
	sh.x.signal(p, sig)
	return true
}

func (x *exec) processOf(pid int) *process {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.procs[pid]
}

func builtinWait(sh *Shell, args []string) int {
	args = args[1:]
	next := false
	pidVar := ""
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		switch a {
		case "-n":
			next = true
		case "-f":
		case "-p":
			if len(args) == 0 {
				sh.errorf("wait: -p: option requires an argument")
				return 2
			}
			pidVar, args = args[0], args[1:]
		default:
			return sh.usage("wait", a[:2])
		}
	}
	if pidVar != "" {
		sh.unsetVar(pidVar)
	}
	if next {
		return sh.waitNext(args, pidVar)
	}
	if len(args) == 0 {
		for len(sh.jobs) > 0 {
			j := sh.jobs[0]
			if sig := sh.waitFor(j); sig != 0 {
				return sh.interruptedBy(sig)
			}
			sh.reportJob(j)
			sh.dropJob(j)
		}
		return 0
	}
	status := 0
	for _, a := range args {
		if !strings.HasPrefix(a, "%") {
			if _, err := strconv.Atoi(a); err != nil {
				sh.errorf("wait: `%s': not a pid or valid job spec", a)
				status = 1
				continue
			}
		}
		j := sh.findJob(a)
		if j == nil {
			if pid, err := strconv.Atoi(a); err == nil {
				if st, ok := sh.finished[pid]; ok {
					status = st
					continue
				}
				sh.errorf("wait: pid %s is not a child of this shell", a)
			} else {
				sh.errorf("wait: %s: no such job", a)
			}
			status = 127
			continue
		}
		if sig := sh.waitFor(j); sig != 0 {
			return sh.interruptedBy(sig)
		}
		sh.reportJob(j)
		sh.dropJob(j)
		status = j.status
		if pidVar != "" {
			sh.setVar(pidVar, itoa(j.pid))
		}
	}
	return status
}

// interruptedBy runs the trap of the signal that has ended a wait and returns the status of the wait, or that of a
// return in the trap.
func (sh *Shell) interruptedBy(sig int) int {
	sh.status = 128 + sig
	sh.runPending()
	return sh.status
}

func (sh *Shell) waitNext(specs []string, pidVar string) int {
	var set []*job
	if len(specs) == 0 {
		for _, j := range sh.jobs {
			if !j.hidden {
				set = append(set, j)
			}
		}
	}
	for _, s := range specs {
		if j := sh.findJob(s); j != nil {
			set = append(set, j)
		} else {
			sh.errorf("wait: %s: no such job", s)
		}
	}
	if len(set) == 0 {
		return 127
	}
	for {
		for _, j := range set {
			if !j.running() {
				sh.dropJob(j)
				if pidVar != "" {
					sh.setVar(pidVar, itoa(j.pid))
				}
				return j.status
			}
		}
		sh.turn.Pause()
		select {
		case <-sh.proc.wake:
			if m := sh.proc.pending.Load(); m != 0 {
				for n := 1; n <= 64; n++ {
					if m&(1<<uint(n)) != 0 {
						return sh.interruptedBy(n)
					}
				}
			}
		case <-sh.ctx.Done():
			sh.checkAlive()
		}
	}
}

func builtinJobs(sh *Shell, args []string) int {
	pids, long, running, stopped := false, false, false, false
	args = args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		for _, c := range args[0][1:] {
			switch c {
			case 'p':
				pids = true
			case 'l':
				long = true
			case 'r':
				running = true
			case 's':
				stopped = true
			case 'n', 'x':
			default:
				return sh.usage("jobs", "-"+string(c))
			}
		}
		args = args[1:]
	}
	jobs := sh.jobs
	if len(jobs) == 0 {
		jobs = sh.shownJobs
	}
	var list []*job
	for _, j := range jobs {
		if !j.hidden && !j.disowned {
			list = append(list, j)
		}
	}
	if len(args) > 0 {
		list = nil
		for _, a := range args {
			j := sh.findJob(a)
			if j == nil {
				sh.errorf("jobs: %s: no such job", a)
				return 1
			}
			list = append(list, j)
		}
	}
	if stopped {
		return 0
	}
	all := slices.DeleteFunc(slices.Clone(jobs), func(j *job) bool { return j.hidden })
	for _, j := range list {
		run := j.running()
		if running && !run {
			continue
		}
		if pids {
			sh.out(itoa(j.pid) + "\n")
			continue
		}
		mark := " "
		if n := len(all); all[n-1] == j {
			mark = "+"
		} else if n > 1 && all[n-2] == j {
			mark = "-"
		}
		state, tail := "Running", " &"
		if !run {
			tail = ""
			switch {
			case j.status == 0:
				state = "Done"
			case j.proc != nil && j.proc.killed.Load() != 0:
				state = signalTexts[int(j.proc.killed.Load())]
			default:
				state = "Exit " + itoa(j.status)
			}
		}
		line := "[" + itoa(j.id) + "]" + mark + "  "
		if long {
			line = "[" + itoa(j.id) + "]" + mark + " " + fmt.Sprintf("%5d", j.pid) + " "
		}
		sh.out(line + padRight(state, 24) + j.src + tail + "\n")
		if !run {
			sh.dropJob(j)
		}
	}
	return 0
}

func builtinFg(sh *Shell, args []string) int {
	if !sh.opts.get('m') {
		sh.errorf("%s: no job control", args[0])
		return 1
	}
	spec := "%+"
	if len(args) > 1 {
		spec = args[1]
	}
	j := sh.findJob(spec)
	if j == nil {
		sh.errorf("%s: %s: no such job", args[0], strings.TrimPrefix(spec, "%"))
		return 1
	}
	if args[0] == "bg" {
		return 0
	}
	sh.out(j.src + "\n")
	sh.flush("fg")
	if sig := sh.waitFor(j); sig != 0 {
		return 128 + sig
	}
	sh.dropJob(j)
	return j.status
}

func builtinDisown(sh *Shell, args []string) int {
	args = args[1:]
	all := false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		all = all || strings.ContainsAny(args[0], "ar")
		args = args[1:]
	}
	if len(args) == 0 {
		if !all && sh.findJob("%+") == nil {
			sh.errorf("disown: current: no such job")
			return 1
		}
		for _, j := range slices.Backward(sh.jobs) {
			if j.hidden || j.disowned {
				continue
			}
			j.disowned = true
			if !all {
				break
			}
		}
		return 0
	}
	status := 0
	for _, a := range args {
		j := sh.findJob(a)
		if j == nil {
			sh.errorf("disown: %s: no such job", a)
			status = 1
			continue
		}
		j.disowned = true
	}
	return status
}
