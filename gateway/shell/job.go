package shell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// job is a background job of one shell environment.
type job struct {
	id       int
	pid      int
	src      string
	status   int
	done     chan struct{}
	proc     *process
	hidden   bool // a process substitution
	disowned bool
	coproc   string // the name of a coprocess
	fds      [2]int // its descriptors in the shell
}

func (j *job) running() bool {
	select {
	case <-j.done:
		return false
	default:
		return true
	}
}

// jobEnded wakes every wait -n; it re-checks its own jobs.
func (x *exec) jobEnded() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range x.procs {
		p.poke()
	}
}

func (p *process) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (sh *Shell) mainPID() int {
	if sh.mainShell {
		return sh.proc.pid
	}
	return sh.rootPID
}

// signals by name; the numbers are Linux's.
var signalNames = []string{"EXIT", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV",
	"USR2", "PIPE",
	"ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF",
	"WINCH", "IO", "PWR", "SYS"}

const sigCHLD = 17

// signalName names a signal number, with the real-time ones as bash does.
func signalName(n int) string {
	switch {
	case n < 0 || n > 64 || n == 32 || n == 33:
		return ""
	case n < len(signalNames):
		return signalNames[n]
	case n == 34:
		return "RTMIN"
	case n == 64:
		return "RTMAX"
	case n <= 49:
		return "RTMIN+" + itoa(n-34)
	}
	return "RTMAX-" + itoa(64-n)
}

// signalNumber reads a signal given by number or name, with or without SIG; -1 when there is none.
func signalNumber(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		if signalName(n) == "" {
			return -1
		}
		return n
	}
	s = strings.TrimPrefix(strings.ToUpper(s), "SIG")
	for n := 0; n <= 64; n++ {
		if nm := signalName(n); nm != "" && nm == s {
			return n
		}
	}
	switch s {
	case "IOT":
		return 6
	case "CLD":
		return 17
	case "POLL":
		return 29
	}
	return -1
}

// signal delivers sig to a process of the exec.
func (x *exec) signal(p *process, sig int) {
	if sig == 0 {
		return
	}
	if sig != 9 && sig != 19 && p.caught.Load()&(1<<uint(sig)) != 0 {
		p.pending.Or(1 << uint(sig))
		p.poke()
		return
	}
	switch sig {
	case 17, 18, 19, 20, 21, 22, 23, 28: // ignored or stopping by default
		return
	}
	if p.killed.CompareAndSwap(0, int32(sig)) {
		p.cancel(nil)
	}
}

// syncCaught tells the process which signals have traps.
func (sh *Shell) syncCaught() {
	var caught, ignored uint64
	for k, action := range sh.traps {
		if n := signalNumber(k); n > 0 {
			caught |= 1 << uint(n)
			if action == "" {
				ignored |= 1 << uint(n)
			}
		}
	}
	sh.proc.caught.Store(caught)
	sh.proc.ignored.Store(ignored)
}

// ignore has a shell ignore signals for good, as it does with those that were ignored when it started.
func (sh *Shell) ignore(signals uint64) {
	if sh.unheeded = signals; signals == 0 {
		return
	}
	for n := 1; n <= 64; n++ {
		if signals&(1<<uint(n)) != 0 {
			sh.ownTraps()[signalName(n)] = ""
		}
	}
	sh.syncCaught()
}

func (sh *Shell) ownTraps() map[string]string {
	if !sh.trapsOwn {
		m := make(map[string]string, len(sh.traps)+2)
		for k, v := range sh.traps {
			m[k] = v
		}
		sh.traps, sh.trapsOwn = m, true
	}
	return sh.traps
}

// runPending runs the traps of signals that arrived.
func (sh *Shell) runPending() {
	for {
		m := sh.proc.pending.Load()
		if m == 0 {
			return
		}
		for n := 1; n <= 64; n++ {
			if m&(1<<uint(n)) == 0 {
				continue
			}
			sh.proc.pending.And(^(uint64(1) << uint(n)))
			times := int64(1)
			if n == sigCHLD {
				times = max(sh.proc.children.Swap(0), 1) // one for each process
			}
			for ; times > 0; times-- {
				if t := sh.traps[signalName(n)]; t != "" {
					sh.runTrap(signalName(n), t)
				}
			}
		}
	}
}

// pseudoTraps is a set of the traps that are no signals'.
type pseudoTraps uint8

var pseudoTrap = map[string]pseudoTraps{"DEBUG": 1, "ERR": 2, "RETURN": 4}

// runPseudo runs the trap on DEBUG, ERR or RETURN, if there is one and it does not run already (nor that on DEBUG, for
// RETURN), and returns its status.
func (sh *Shell) runPseudo(name string) int {
	not := pseudoTrap[name]
	if name == "RETURN" {
		not |= pseudoTrap["DEBUG"]
	}
	if t := sh.traps[name]; t != "" && sh.trapping&not == 0 {
		return sh.runTrap(name, t)
	}
	return 0
}

// runTrap runs a trap's commands and returns their status; $? is what it was before.
func (sh *Shell) runTrap(name, text string) (result int) {
	status, line, ret := sh.status, sh.line, sh.returning
	before, debugging := sh.beforeTrap, sh.debugging
	sh.beforeTrap, sh.debugging = status, name == "DEBUG"
	pipe, piped, one := sh.pipeStatus, sh.piped, sh.pipeOne
	sh.returning = false
	trapping := sh.trapping
	sh.trapping |= pseudoTrap[name]
	sh.inTrap++
	sh.enter()
	func() {
		sh.xtrace++
		defer func() {
			sh.inTrap--
			sh.trapping = trapping
			sh.xtrace--
			sh.beforeTrap, sh.debugging = before, debugging
		}()
		sh.evalString(text, sh.line-1)
	}()
	sh.leave()
	result = sh.status
	if !sh.returning {
		sh.status, sh.returning = status, ret
	}
	sh.line, sh.pipeStatus, sh.piped, sh.pipeOne = line, pipe, piped, one
	return result
}

// debugTrapAt is debugTrap before a compound command, of which BASH_COMMAND shows the head.
func (sh *Shell) debugTrapAt(st *stmt) {
	if len(sh.traps) > 0 {
		if sh.inTrap == 0 {
			sh.command = st
		}
		sh.debugTrap()
	}
}

// debugTrap runs the DEBUG trap; skip says that under extdebug it had the command left out.
func (sh *Shell) debugTrap() (skip bool) {
	if len(sh.traps) == 0 {
		return false
	}
	if sh.debugged {
		sh.debugged = false
		return false
	}
	return sh.runPseudo("DEBUG") != 0 && sh.opts.shopt(extdebug)
}

// exitTrap runs the EXIT trap, once; trap still lists it then.
func (sh *Shell) exitTrap() {
	t, ok := sh.traps["EXIT"]
	if !ok || t == "" || sh.exiting {
		return
	}
	sh.returning, sh.breaks, sh.continues, sh.inTrap = false, 0, 0, 0
	sh.trapping = 0
	sh.exiting, sh.exitedWith = true, sh.status
	for len(sh.frames) > 0 {
		sh.popFrame()
	}
	sh.evalString(t, 0)
	sh.status = sh.exitedWith
}

// evalString runs text as eval does.
func (sh *Shell) evalString(text string, lines int) {
	sh.enter()
	sh.checkSize(text)
	defer sh.hold(-parsedSize(text))
	p := sh.cachedParse(text, max(lines, 0))
	sh.runProgram(p, "")
	sh.leave()
}

// cachedParse keeps the programs of short texts that traps and eval run again and again.
func (sh *Shell) cachedParse(text string, lines int) *program {
	if len(text) > 512 {
		return sh.parse(text, lines)
	}
	key := parseKey{text, lines, sh.readGen}
	if p := sh.parsed[key]; p != nil {
		return p
	}
	p := sh.parse(text, lines)
	if len(sh.parsed) > 200 {
		sh.parsed = nil
	}
	if sh.parsed == nil {
		sh.parsed = map[parseKey]*program{}
	}
	sh.parsed[key] = p
	return p
}

type parseKey struct {
	text  string
	lines int
	gen   int
}

// waitFor blocks until the job ends or a trapped signal arrives; interrupted is that signal.
func (sh *Shell) waitFor(j *job) (interrupted int) {
	sh.turn.Pause()
	for {
		select {
		case <-j.done:
			return 0
		case <-sh.ctx.Done():
			sh.checkAlive()
		case <-sh.proc.wake:
			if m := sh.proc.pending.Load(); m != 0 {
				for n := 1; n <= 64; n++ {
					if m&(1<<uint(n)) != 0 && n != sigCHLD && sh.traps[signalName(n)] != "" {
						return n
					}
				}
			}
		}
	}
}

// findJob resolves %1, %+, %-, %name, %?text and process ids.
func (sh *Shell) findJob(spec string) *job {
	visible := slices.DeleteFunc(slices.Clone(sh.jobs), func(j *job) bool { return j.hidden })
	if !strings.HasPrefix(spec, "%") {
		pid, err := strconv.Atoi(spec)
		if err != nil {
			return nil
		}
		for _, j := range sh.jobs {
			if j.pid == pid {
				return j
			}
		}
		return nil
	}
	s := spec[1:]
	n := len(visible)
	switch s {
	case "", "+", "%":
		if n > 0 {
			return visible[n-1]
		}
		return nil
	case "-":
		if n > 1 {
			return visible[n-2]
		}
		if n > 0 {
			return visible[0]
		}
		return nil
	}
	if id, err := strconv.Atoi(s); err == nil {
		for _, j := range visible {
			if j.id == id {
				return j
			}
		}
		return nil
	}
	var found *job
	for _, j := range visible {
		if q, ok := strings.CutPrefix(s, "?"); ok && strings.Contains(j.src, q) || !ok && strings.HasPrefix(j.src, s) {
			if found != nil {
				sh.errorf("%s: %s: ambiguous job spec", sh.running, strings.TrimPrefix(s, "?"))
				return nil
			}
			found = j
		}
	}
	return found
}

func (sh *Shell) dropJob(j *job) {
	sh.jobs = slices.DeleteFunc(sh.jobs, func(k *job) bool { return k == j })
	if j.coproc != "" {
		for _, n := range j.fds {
			sh.fds.set(n, nil)
		}
		sh.unsetVar(j.coproc)
		sh.unsetVar(j.coproc + "_PID")
	}
	if sh.finished == nil {
		sh.finished = map[int]int{}
	}
	if len(sh.finished) > 4096 {
		clear(sh.finished)
	}
	sh.finished[j.pid] = j.status
}

// forgetEnded drops the jobs that ended while a command ran in the foreground. bash -c does so without a word;
// wait still knows their status.
func (sh *Shell) forgetEnded() {
	if len(sh.jobs) == 0 || !sh.opts.get('c') {
		return
	}
	for _, j := range slices.Clone(sh.jobs) {
		if !j.hidden && j.coproc == "" && !j.running() {
			sh.dropJob(j)
		}
	}
}

// signalTexts describe signals as bash does when one ended a command.
var signalTexts = map[int]string{1: "Hangup", 2: "Interrupt", 3: "Quit", 4: "Illegal instruction",
	5: "Trace/breakpoint trap", 6: "Aborted",
	7: "Bus error", 8: "Floating point exception", 9: "Killed", 10: "User defined signal 1", 11: "Segmentation fault",
	12: "User defined signal 2",
	13: "Broken pipe", 14: "Alarm clock", 15: "Terminated", 16: "Stack fault", 24: "CPU time limit exceeded",
	25: "File size limit exceeded",
	26: "Virtual timer expired", 27: "Profiling timer expired", 29: "I/O possible", 30: "Power failure",
	31: "Bad system call"}

// reportSignaled says that a program in the foreground was ended by a signal.
func (sh *Shell) reportSignaled(st *stmt) {
	switch sh.signaled {
	case 2, 13:
	case 15:
		sh.terminated(15)
	default:
		sh.eprint(sh.prefix() + fmt.Sprintf("%5d", sh.x.pid.Load()) + " " + padRight(signalTexts[sh.signaled], 23) + " " +
			stmtText(st) + "\n")
	}
}

// terminated says so when sig is the usual signal.
func (sh *Shell) terminated(sig int) {
	if sig == 15 && !sh.isCmdSub {
		sh.eprint("Terminated\n")
	}
}

// reportKilled says that a subshell in the foreground was ended by a signal.
func (sh *Shell) reportKilled(p *process, st *stmt) {
	switch sig := int(p.killed.Load()); sig {
	case 0, 2, 13:
	case 15:
		sh.terminated(sig)
	default:
		sh.eprint(sh.prefix() + fmt.Sprintf("%5d", p.pid) + " " + padRight(signalTexts[sig], 23) + " " + stmtText(st) + "\n")
	}
}

// reportJob says that a signal ended a job that was waited for.
func (sh *Shell) reportJob(j *job) {
	if j.proc == nil || j.hidden {
		return
	}
	switch sig := int(j.proc.killed.Load()); sig {
	case 0, 2, 13, 15:
	default:
		sh.eprint(sh.prefix() + fmt.Sprintf("%5d", j.pid) + " " + padRight(signalTexts[sig], 23) + " " + j.src + "\n")
	}
}

// coproc starts a coprocess: a job with pipes to its input and output.
func (sh *Shell) coproc(c *coprocCmd) {
	in, out := newPipe(sh.x.budget), newPipe(sh.x.budget)
	var ds [4]*desc
	for i, s := range []stream{pipeReader{in}, pipeWriter{in}, pipeReader{out}, pipeWriter{out}} {
		if ds[i] = newDesc(sh.x.budget, s); ds[i] == nil {
			sh.errorf("cannot make pipe for coprocess: Too many open files")
			sh.status = 1
			return
		}
	}
	for _, j := range sh.jobs {
		if j.coproc != "" && j.running() {
			sh.errorf("warning: execute_coproc: coproc [%d:%s] still exists", j.pid, j.coproc)
			break
		}
	}
	pid := sh.x.newPID()
	child := sh.fork(sh.x.ctx, pid)
	child.fds.set(0, ds[0])
	child.fds.set(1, ds[3])
	r := sh.fds.free(60)
	sh.fds.put(r, ds[2])
	w := sh.fds.free(60)
	sh.fds.put(w, ds[1])
	name := c.name
	sh.setArray(name, []string{itoa(r), itoa(w)})
	sh.setVar(name+"_PID", itoa(pid))
	sh.nextJob++
	j := &job{id: sh.nextJob, pid: pid, src: c.st.src, done: make(chan struct{}), proc: child.proc, coproc: name,
		fds: [2]int{r, w}}
	sh.jobs = append(sh.jobs, j)
	sh.lastBG = pid
	st := c.st
	sh.x.startJob(pid, j.src)
	child.spawn(func() { child.alone(st) }, func(s int) {
		j.status = s
		close(j.done)
		sh.x.endJob(pid)
	})
	sh.status = 0
}
