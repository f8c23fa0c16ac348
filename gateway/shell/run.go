package shell

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"mvdan.cc/sh/v3/syntax"
)

// runScript parses and runs a whole script; where names it in syntax errors ("-c", a file's name or "").
func (sh *Shell) runScript(src, where string) {
	if where != "" && where[0] != '-' {
		where = ""
	}
	if where != "" {
		where += ": "
	}
	sh.checkSize(src)
	sh.runText(src, where)
}

// longScript is the length from which a script is read and run in parts: its syntax tree may take a hundred times its
// length.
const longScript = 64 << 10

// runText parses and runs a text. What would be an error in a part of it may be right in a longer one.
func (sh *Shell) runText(src, where string) {
	lines := 0
	for size := longScript; size < len(src); {
		end := strings.LastIndexByte(src[:size], '\n') + 1
		part := src[:end]
		if end == 0 || strings.HasSuffix(part, "\\\n") || strings.Contains(part, "<<") {
			size *= 4
			continue
		}
		prog := sh.parse(part, lines)
		if prog.err != nil {
			size *= 4
			continue
		}
		sh.runProgram(prog, where)
		if sh.jumping() {
			return
		}
		lines += strings.Count(part, "\n")
		src, size = src[end:], longScript
	}
	sh.runProgram(sh.parse(src, lines), where)
}

func (sh *Shell) checkSize(src string) {
	if limit := sh.x.budget.Limits.ScriptSize; int64(len(src)) > limit {
		err := error(&proc.LimitError{Name: "script size", Limit: limit})
		sh.x.budget.Kill(err)
		panic(killPanic{cmpErr(sh.x.over(), err)})
	}
	sh.hold(parsedSize(src))
	sh.tick()
}

// readStep counts a kilobyte, statement or word of a script that is being read. Unlike tick it runs no traps: they come
// between commands.
func (sh *Shell) readStep() {
	if sh.ticks++; sh.ticks < 32 {
		return
	}
	n := sh.ticks
	sh.ticks = 0
	if err := sh.turn.Step(n); err != nil {
		panic(killPanic{err})
	}
	sh.checkAlive()
}

// parsedSize is what the syntax tree of a text may take.
func parsedSize(src string) int64 { return 32 * int64(len(src)) }

// runProgram runs the lines of a program; an abandoned line goes on with the next.
func (sh *Shell) runProgram(p *program, where string) {
	if where != substitution {
		defer func(shift int) { sh.shift = shift }(sh.shift)
		sh.shift = 0
	}
	for p != nil {
		p = sh.runLines(p, where)
	}
}

// runLines runs the lines of a program up to where the rest has to be read again, which it returns.
func (sh *Shell) runLines(p *program, where string) (rest *program) {
	for _, w := range p.warnings {
		sh.eprint(sh.name + ": " + w)
	}
	for i, g := range p.groups {
		if sh.opts.get('v') && i < len(p.ends) {
			sh.verbose(p, i)
		}
		if sh.opts.get('Y') && where != "eval: " && sh.inTrap == 0 && len(sh.frames) == 0 {
			sh.recordLine(p, i)
		}
		sh.group(g)
		if sh.jumping() {
			return nil
		}
		if sh.opts.get('Y') && !sh.byLine && where != "eval: " && sh.inTrap == 0 && len(sh.frames) == 0 {
			sh.remembering(p, i, where)
			return nil
		}
		if sh.readGen != p.gen && (i+1 < len(p.groups) || p.err != nil) {
			// An alias or option changed how what follows is read.
			if src, lines := p.rest(i); src != "" {
				return sh.parse(src, lines+p.lines)
			}
			return nil
		}
	}
	if p.err == nil {
		return nil
	}
	sh.syntaxError(p.err, where)
	if p.err.array && !p.err.subst {
		sh.status = 1
		if src, lines := p.after(p.err.line - p.lines); src != "" {
			return sh.parse(src, lines+p.lines)
		}
	}
	return nil
}

// verbose prints the lines of a group before it runs, as set -v does.
func (sh *Shell) verbose(p *program, i int) {
	from := 0
	if i > 0 {
		from = p.ends[i-1]
	}
	lines := strings.Split(p.src, "\n")
	for _, l := range lines[min(from, len(lines)):min(p.ends[i], len(lines))] {
		sh.eprint(l + "\n")
	}
}

func (sh *Shell) syntaxError(e *syntaxError, where string) {
	name := sh.name
	for i := len(sh.frames) - 1; i >= 0; i-- {
		if f := sh.frames[i]; !f.isTemp && !f.isFunc && f.source != "" {
			name = f.source
			where = ""
			break
		}
	}
	sh.misused = true
	if sh.dash {
		if where == "eval: " {
			name += ": " + itoa(cmp.Or(e.shLine, e.line)) + ": eval"
		} else {
			name += ": " + itoa(cmp.Or(e.shLine, e.line))
		}
		sh.eprint(name + ": Syntax error: " + cmp.Or(e.sh, e.msg) + "\n")
		panic(exitPanic{2})
	}
	if !e.silent {
		head := name + ": " + where + "line " + itoa(e.line) + ": "
		sh.eprint(head + e.msg + "\n")
		if e.text != "" {
			sh.eprint(head + "`" + e.text + "'\n")
		}
		if e.more != "" {
			sh.eprint(head + e.more + "\n")
		}
	}
	if e.keep && where != "eval: " && len(sh.frames) == 0 {
		return
	}
	sh.status = cmp.Or(e.status, 2)
	if e.subst {
		if sh.opts.get('c') {
			sh.status = 127
		}
		panic(exitPanic{sh.status})
	}
}

// group runs the statements of one line and takes what abandons it.
func (sh *Shell) group(g []*stmt) {
	frames, subs, depth, noErr, loops := len(sh.frames), len(sh.procSubs), sh.depth, sh.noErr, sh.loops
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		a, ok := r.(abortPanic)
		if !ok {
			panic(r)
		}
		for len(sh.frames) > frames {
			sh.popFrame()
		}
		sh.depth, sh.noErr, sh.loops = depth, noErr, loops
		sh.closeProcSubs(subs)
		sh.inTrap, sh.trapping = 0, 0
		sh.obuf = sh.obuf[:0]
		sh.status = a.status
		if sh.sub > 0 || a.errexit && sh.opts.get('e') && sh.noErr == 0 {
			panic(exitPanic{a.status})
		}
	}()
	sh.stmts(g)
}

// jumping reports that the statements that follow must not run.
func (sh *Shell) jumping() bool { return sh.breaks > 0 || sh.continues > 0 || sh.returning }

func (sh *Shell) stmts(list []*stmt) {
	for _, st := range list {
		sh.stmt(st)
		if sh.jumping() {
			return
		}
	}
}

// at says that the shell is at a line of the text it runs.
func (sh *Shell) at(line int) { sh.line = line + sh.shift }

// stmt runs one statement and leaves its status in sh.status.
func (sh *Shell) stmt(st *stmt) {
	sh.tick()
	if sh.opts.get('n') || sh.returning { // a trap returned
		return
	}
	if st.line > 0 {
		sh.at(st.line)
	}
	if st.background {
		sh.background(st)
		return
	}
	if st.negated {
		sh.negated(st)
		return
	}
	if sh.command1(st) == uncounted || sh.status == 0 || sh.noErr > 0 || sh.jumping() {
		return
	}
	sh.failed()
}

// negated runs a command after "!". Where set -e is on, nothing in it counts as failed.
func (sh *Shell) negated(st *stmt) {
	if sh.opts.get('e') {
		sh.noErr++
		defer func() { sh.noErr-- }()
	}
	switch ran := sh.command1(st); {
	case sh.returning || ran == notRun:
	case sh.status == 0:
		sh.status = 1
	default:
		sh.status = 0
	}
}

// failed is what a failing command causes: the ERR trap and set -e.
func (sh *Shell) failed() {
	sh.runPseudo("ERR")
	if sh.opts.get('e') {
		panic(exitPanic{sh.status})
	}
}

// ending says what the failure of a statement's command means.
type ending int

const (
	uncounted ending = iota // its parts have counted for set -e
	counted                 // it counts for set -e
	notRun                  // it counts: a redirection failed before anything ran, which "!" does not turn round
)

// counts is the ending of a command that has run.
func counts(yes bool) ending {
	if yes {
		return counted
	}
	return uncounted
}

// command1 runs a statement's command.
func (sh *Shell) command1(st *stmt) ending {
	switch c := st.cmd.(type) {
	case *simpleCmd:
		sh.simple(c, st)
		sh.single()
		return counted
	case *andOr:
		sh.andOr(c)
		return uncounted
	case *pipeline:
		sh.pipeline(c)
		return counted
	case *funcDecl:
		sh.define(c)
		return uncounted
	case *timeCmd:
		sh.timed(c)
		return uncounted
	}
	result := notRun
	if st.cmd == nil { // it is nothing but its redirections
		result = counted
	}
	sh.redirecting(st.redirs, func() {
		if st.cmd == nil {
			sh.status = 0
			return
		}
		result = counts(sh.compound(st))
	})
	return result
}

// redirecting runs a compound command with its redirections in force. Whatever ends it, failed redirections included,
// they are taken back then, and the process substitutions of its words and redirections lose the shell's end of their
// pipes.
func (sh *Shell) redirecting(rs []*redirect, run func()) {
	subs := len(sh.procSubs)
	if len(rs) == 0 { // what unwinds takes the substitutions along
		run()
		sh.closeProcSubs(subs)
		return
	}
	undo, ok := sh.redirect(rs, false)
	defer func() {
		sh.restore(undo)
		sh.closeProcSubs(subs)
	}()
	if !ok {
		sh.status = sh.redirected()
		return
	}
	run()
}

// single records the status of a command that is a pipeline of its own.
func (sh *Shell) single() {
	sh.pipeOne, sh.piped = sh.status, false
}

func (sh *Shell) compound(st *stmt) (counts bool) {
	switch c := st.cmd.(type) {
	case *block:
		sh.enter()
		sh.stmts(c.stmts)
		sh.leave()
	case *subshell:
		sh.enter()
		sh.leave()
		child := sh.fork(sh.ctx, sh.x.newPID())
		if len(sh.traps) > 0 {
			sh.command = st
		}
		status := child.child(func() { child.stmts(c.stmts) })
		sh.checkAlive()
		sh.status = status
		sh.reportKilled(child.proc, st)
		sh.forgetEnded()
		sh.single()
		return true
	case *ifCmd:
		sh.ifThen(c)
	case *whileCmd:
		sh.while(c)
	case *forCmd:
		sh.at(c.line)
		if c.selects {
			sh.selectLoop(c)
		} else {
			sh.forLoop(c, st)
		}
	case *forArith:
		sh.forArith(c)
	case *caseCmd:
		sh.caseOf(c, st)
	case *arithCmd:
		sh.at(c.line)
		if sh.debugTrapAt(st); sh.returning {
			return false
		}
		sh.status = sh.arithStatus(c)
		sh.single()
		return true
	case *testCmd:
		sh.at(c.line)
		if sh.debugTrapAt(st); sh.returning {
			return false
		}
		sh.status = sh.testStatus(c)
		sh.single()
		return true
	case *coprocCmd:
		sh.coproc(c)
	}
	return false
}

// softly runs f; arithmetic and regular expressions that fail in it give a status instead of abandoning the line.
func (sh *Shell) softly(f func() int) int {
	return forgiven(f, func(a abortPanic) bool { return a.soft })
}

// forgiven runs f and returns the status of what abandons the line in it, where that is taken.
func forgiven(f func() int, taken func(abortPanic) bool) (status int) {
	defer func() {
		if r := recover(); r != nil {
			a, ok := r.(abortPanic)
			if !ok || !taken(a) {
				panic(r)
			}
			status = a.status
		}
	}()
	return f()
}

// traceFor shows the head of a loop.
func (sh *Shell) traceFor(keyword string, c *forCmd) {
	src := []string{}
	for _, x := range c.words {
		src = append(src, x.src)
	}
	if !c.in {
		src = []string{`"$@"`}
	}
	sh.trace(keyword + c.name + " in " + strings.Join(src, " "))
}

// traceArith shows an expression; the head of a loop has no blanks before it.
func (sh *Shell) traceArith(a *arithText, head bool) {
	text := a.text
	if a.parts != nil {
		text = sh.joinParts(a.parts)
	}
	if head {
		text = strings.TrimLeft(text, " \t\n")
	}
	sh.trace("(( " + text + " ))")
}

func (sh *Shell) arithStatus(c *arithCmd) int {
	return sh.softly(func() int {
		if sh.opts.get('x') {
			sh.traceArith(c.x, false)
		}
		if sh.evalArith(c.x, "((: ") != 0 {
			return 0
		}
		return 1
	})
}

func (sh *Shell) andOr(c *andOr) {
	for i, st := range c.stmts {
		if i > 0 && c.or[i-1] == (sh.status == 0) {
			continue
		}
		if i < len(c.stmts)-1 {
			sh.noErr++
			sh.stmt(st)
			sh.noErr--
		} else {
			sh.stmt(st)
		}
		if sh.jumping() {
			return
		}
	}
}

func (sh *Shell) cond(list []*stmt) bool {
	sh.noErr++
	sh.stmts(list)
	sh.noErr--
	return sh.status == 0
}

func (sh *Shell) ifThen(c *ifCmd) {
	sh.enter()
	defer sh.leave()
	for ; c != nil; c = c.other {
		if c.cond != nil {
			ok := sh.cond(c.cond)
			if sh.jumping() {
				return
			}
			if !ok {
				continue
			}
		}
		sh.stmts(c.then)
		return
	}
	sh.status = 0
}

// loopEnd handles break and continue after a loop's body; stop means the loop is over.
func (sh *Shell) loopEnd() (stop bool) {
	if sh.returning {
		return true
	}
	if sh.breaks > 0 {
		sh.breaks--
		return true
	}
	if sh.continues > 0 {
		sh.continues--
		return sh.continues > 0
	}
	return false
}

func (sh *Shell) while(c *whileCmd) {
	sh.enter()
	sh.loops++
	status := 0
	for {
		sh.tick()
		if ok := sh.cond(c.cond); ok == c.until || sh.returning {
			sh.loopEnd()
			break
		}
		if !sh.jumping() {
			sh.stmts(c.do)
		}
		status = sh.status
		if sh.loopEnd() {
			break
		}
	}
	sh.loops--
	sh.leave()
	if !sh.returning {
		sh.status = status
	}
}

func (sh *Shell) forLoop(c *forCmd, st *stmt) {
	words := sh.args
	if c.in {
		words = sh.fields(c.words)
	}
	if !isName(c.name) {
		sh.errorf("`%s': not a valid identifier", c.name)
		sh.status = 1
		if sh.posix {
			panic(exitPanic{2})
		}
		return
	}
	sh.enter()
	sh.loops++
	status := 0
	for _, w := range words {
		sh.tick()
		sh.at(c.line)
		if sh.debugTrapAt(st); sh.returning {
			break
		}
		if sh.opts.get('x') {
			sh.traceFor("for ", c)
		}
		if v := sh.vars[c.name]; v != nil && v.attrs&aReadonly != 0 {
			sh.errorf("%s: readonly variable", c.name)
			if status = 1; sh.opts.get('e') {
				panic(exitPanic{status})
			}
			break
		}
		if v := sh.vars[c.name]; v != nil && v.attrs&aNameref != 0 {
			if !canRefer(w) {
				sh.errorf("`%s': not a valid identifier", w)
				status = 1
				break
			}
			sh.bindRef(c.name, w)
		} else {
			sh.setVar(c.name, w)
		}
		sh.stmts(c.do)
		status = sh.status
		if sh.loopEnd() {
			break
		}
	}
	sh.loops--
	sh.leave()
	if !sh.returning {
		sh.status = status
	}
}

func (sh *Shell) forArith(c *forArith) {
	sh.enter()
	sh.loops++
	status := 0
	eval := func(a *arithText, blank int64) (int64, bool) {
		if a == nil {
			if sh.opts.get('x') {
				sh.trace("(( 1 ))")
			}
			return blank, true
		}
		sh.at(c.line)
		if sh.opts.get('x') {
			sh.traceArith(a, true)
		}
		ok := true
		var v int64
		if sh.softly(func() int { v = sh.evalArith(a, "((: "); return 0 }) != 0 {
			ok = false
		}
		return v, ok
	}
	_, ok := eval(c.init, 0)
	for ok {
		sh.tick()
		var v int64
		if v, ok = eval(c.cond, 1); !ok || v == 0 {
			break
		}
		sh.stmts(c.do)
		status = sh.status
		if sh.loopEnd() {
			break
		}
		_, ok = eval(c.post, 0)
	}
	if !ok {
		status = 1
	}
	sh.loops--
	sh.leave()
	if !sh.returning {
		sh.status = status
	}
}

func (sh *Shell) caseOf(c *caseCmd, st *stmt) {
	sh.at(c.line)
	if sh.debugTrapAt(st); sh.returning {
		return
	}
	sh.enter()
	defer sh.leave()
	s := sh.expandStr(c.word)
	if sh.opts.get('x') {
		sh.trace("case " + c.word.src + " in")
	}
	result := 0 // $? stays what it was until a command runs
	through := false
	for _, it := range c.items {
		hit := through
		for _, p := range it.patterns {
			if hit {
				break
			}
			hit = sh.matchWord(p, s, false)
		}
		if !hit {
			continue
		}
		if result = 0; len(it.stmts) > 0 {
			sh.stmts(it.stmts)
			if sh.jumping() {
				return
			}
			result = sh.status
		}
		if it.op != syntax.Fallthrough && it.op != syntax.Resume && it.op != syntax.ResumeKorn {
			break
		}
		through = it.op == syntax.Fallthrough
	}
	sh.status = result
}

// define makes a function.
func (sh *Shell) define(c *funcDecl) {
	if v := sh.readonlyFuncs; v[c.name] {
		sh.errorf("%s: readonly function", c.name)
		sh.status = 1
		return
	}
	if strings.ContainsAny(c.name, "'\"\\$`") || sh.posix && !isName(c.name) {
		sh.errorf("`%s': not a valid identifier", c.name)
		sh.status = 1
		if sh.posix {
			panic(exitPanic{2})
		}
		return
	}
	if sh.posix && specialBuiltins[c.name] {
		sh.errorf("`%s': is a special builtin", c.name)
		panic(exitPanic{2})
	}
	source := "environment"
	if f := sh.sourceFrame(); f != "" {
		source = f
	} else if sh.stdinName != "" {
		source = sh.stdinName
	} else if !sh.opts.get('c') {
		source = "main"
	}
	sh.hold(int64(512 + 8*len(c.src)))
	sh.ownFuncs()[c.name] = &funcDef{name: c.name, body: c.body, source: source, line: c.line, shift: sh.shift, src: c.src}
	sh.status = 0
}

func (sh *Shell) ownFuncs() map[string]*funcDef {
	if !sh.funcsOwn {
		m := make(map[string]*funcDef, len(sh.funcs)+4)
		for k, v := range sh.funcs {
			m[k] = v
		}
		sh.funcs, sh.funcsOwn = m, true
	}
	return sh.funcs
}

// sourceFrame is the file that is being sourced, or whose function runs.
func (sh *Shell) sourceFrame() string {
	for i := len(sh.frames) - 1; i >= 0; i-- {
		if !sh.frames[i].isTemp {
			return sh.frames[i].source
		}
	}
	return ""
}

func (sh *Shell) pipeline(c *pipeline) {
	n := len(c.stmts)
	statuses := make([]int, n)
	done := make(chan int, n)
	var in *desc
	fail := func() {
		sh.errorf("pipe error: Too many open files")
		sh.status = 1
	}
	started := 0
	lastHere := sh.opts.shopt(lastpipe)
	for i := 0; i < n-1; i++ {
		p := newPipe(sh.x.budget)
		r := newDesc(sh.x.budget, pipeReader{p})
		w := newDesc(sh.x.budget, pipeWriter{p})
		if r == nil || w == nil {
			fail()
			break
		}
		var traced chan struct{}
		debugged := sh.debugTrapOf(c.stmts[i])
		child := sh.fork(sh.ctx, sh.x.newPID())
		child.debugged = debugged
		if _, ok := c.stmts[i].cmd.(*simpleCmd); ok {
			child.shownJobs = slices.Clip(sh.jobs)
			if sh.opts.get('x') { // stages show themselves in their order
				traced = make(chan struct{})
				child.traced = traced
			}
		}
		if in != nil {
			child.fds.set(0, in)
		}
		child.fds.set(1, w)
		if c.all[i] {
			child.fds.set(2, w.retain())
		}
		st := c.stmts[i]
		started++
		child.spawn(func() { child.alone(st) }, func(s int) {
			statuses[i] = s
			done <- i
		})
		if traced != nil {
			sh.turn.Pause()
			t := time.NewTimer(2 * headStart)
			select {
			case <-traced:
			case <-t.C:
			}
			t.Stop()
		}
		in = r
	}
	if started == n-1 {
		last := c.stmts[n-1]
		if lastHere {
			saved := sh.fds.get(0)
			sh.fds.put(0, in)
			func() {
				defer func() {
					sh.fds.set(0, saved)
				}()
				sh.stmt(last)
			}()
			statuses[n-1] = sh.status
		} else {
			debugged := sh.debugTrapOf(last)
			child := sh.fork(sh.ctx, sh.x.newPID())
			child.debugged = debugged
			child.fds.set(0, in)
			statuses[n-1] = child.child(func() { child.alone(last) })
			sh.terminated(child.signaled)
		}
	} else if in != nil {
		in.release()
	}
	sh.turn.Pause()
	for ; started > 0; started-- {
		<-done
	}
	sh.checkAlive()
	sh.forgetEnded()
	sh.pipeStatus = statuses
	sh.piped = true
	sh.status = statuses[n-1]
	if sh.opts.get('o') {
		for _, s := range statuses {
			if s != 0 {
				sh.status = s
			}
		}
	}
}

// alone runs a statement as the whole life of the process that was made for it, a job or a part of a pipeline: what
// would get a process of its own elsewhere, ( ) and programs, is this one, so that signals reach it. The failure of a
// simple command is left to the shell that waits.
func (sh *Shell) alone(st *stmt) {
	sub, isSub := st.cmd.(*subshell)
	_, isSimple := st.cmd.(*simpleCmd)
	if !isSub && !isSimple || st.negated || sh.opts.get('n') {
		sh.stmt(st)
		return
	}
	sh.tick()
	if st.line > 0 {
		sh.at(st.line)
	}
	if isSub {
		sh.redirecting(st.redirs, func() { sh.stmts(sub.stmts) })
		return
	}
	sh.isAlone = true
	sh.command1(st)
}

// debugTrapOf runs the DEBUG trap for a simple command of a pipeline: the shell does, before the process is made.
func (sh *Shell) debugTrapOf(st *stmt) bool {
	if _, ok := st.cmd.(*simpleCmd); !ok || len(sh.traps) == 0 {
		return false
	}
	sh.at(st.line)
	if sh.inTrap == 0 {
		sh.command = st
	}
	sh.debugTrap()
	return true
}

func (sh *Shell) timed(c *timeCmd) {
	start := sh.x.now()
	if c.st != nil {
		st := c.st
		if _, ok := st.cmd.(*subshell); ok && len(st.redirs) > 0 { // it tells its time itself
			inner := *st
			inner.redirs = nil
			sh.redirecting(st.redirs, func() { sh.timed(&timeCmd{posix: c.posix, st: &inner}) })
			return
		}
		sh.stmt(st)
	} else {
		sh.status = 0
	}
	d := sh.x.now().Sub(start)
	format := "\nreal\t%3lR\nuser\t%3lU\nsys\t%3lS"
	if v, ok := sh.get("TIMEFORMAT"); ok {
		format = v
	}
	if c.posix {
		format = "real %2R\nuser %2U\nsys %2S"
	}
	if format == "" {
		return
	}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		i++
		if verb := strings.TrimLeft(format[min(i, len(format)):], "0123456789l"); verb != "" &&
			strings.IndexByte("%PRUS", verb[0]) < 0 {
			sh.errorf("TIMEFORMAT: `%c': invalid format character", verb[0])
			return
		}
	}
	sh.eprint(timeFormat(format, d) + "\n")
}

// timeFormat renders $TIMEFORMAT; CPU time is not told apart from elapsed time per command, so it shows as elapsed user
// time.
func timeFormat(f string, d time.Duration) string {
	var b strings.Builder
	for i := 0; i < len(f); i++ {
		if f[i] != '%' || i+1 >= len(f) {
			b.WriteByte(f[i])
			continue
		}
		i++
		prec, long := 3, false
		if f[i] >= '0' && f[i] <= '9' && i+1 < len(f) {
			prec = min(int(f[i]-'0'), 3)
			i++
		}
		if f[i] == 'l' && i+1 < len(f) {
			long = true
			i++
		}
		switch f[i] {
		case '%':
			b.WriteByte('%')
		case 'P':
			b.WriteString("100.00")
		case 'R', 'U', 'S':
			v := d
			if f[i] == 'S' {
				v = 0
			}
			sec := v.Seconds()
			if long {
				m := int(sec) / 60
				b.WriteString(itoa(m) + "m")
				sec -= float64(m * 60)
			}
			b.WriteString(formatFloat(sec, prec))
			if long {
				b.WriteByte('s')
			}
		}
	}
	return b.String()
}

// background starts a job.
func (sh *Shell) background(st *stmt) {
	sh.debugTrapOf(st)
	fg := *st
	fg.background = false
	pid := sh.x.newPID()
	child := sh.fork(sh.x.ctx, pid) // a job outlives the shell that started it
	if child.fds.get(0) != nil && sh.stdinOpen() {
		child.fds.set(0, newDesc(sh.x.budget, nullInput()))
	}
	sh.nextJob++
	if len(sh.jobs) == 0 {
		sh.nextJob = 1
	}
	j := &job{id: sh.nextJob, pid: pid, src: stmtText(&fg), done: make(chan struct{}), proc: child.proc}
	sh.jobs = append(sh.jobs, j)
	sh.lastBG = pid
	sh.x.startJob(pid, j.src)
	child.spawn(func() { child.alone(&fg) }, func(s int) {
		j.status = s
		close(j.done)
		sh.x.endJob(pid)
	})
	// As after a fork, the child mostly comes first: short jobs print in the order they were started.
	sh.turn.Pause()
	t := time.NewTimer(headStart)
	select {
	case <-j.done:
	case <-t.C:
	}
	t.Stop()
	sh.status = 0
}

// headStart is how long a shell waits for the job it has just started.
const headStart = 500 * time.Microsecond

// stdinOpen reports whether jobs get /dev/null as standard input, as they do without job control.
func (sh *Shell) stdinOpen() bool { return !sh.opts.get('m') }

var _ = context.Background
