package shell

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// simple runs a simple command.
func (sh *Shell) simple(c *simpleCmd, st *stmt) {
	sh.at(c.line)
	if sh.inTrap == 0 {
		sh.command = st
	}
	if sh.debugTrap() {
		sh.status = 0
		return
	}
	if sh.returning { // the trap did
		return
	}
	sh.substSt = -1
	if len(c.args) == 0 {
		sh.assignments(c, st)
		return
	}
	subs := len(sh.procSubs)
	var args []string
	var ops []operand
	if c.isDecl {
		name := c.args[0].lit
		sh.misused, sh.running = false, name
		var ok bool
		if ops, ok = sh.declOperands(name, c.decl); !ok {
			return
		}
		args = append(make([]string, 0, len(ops)+1), name)
		for _, o := range ops {
			args = append(args, o.text())
		}
	} else if args = sh.fields(c.args); len(args) == 0 {
		sh.assignments(c, st)
		return
	}
	sh.invoke(c, st, args, ops)
	sh.closeProcSubs(subs)
}

// closeProcSubs closes the descriptors of process substitutions that a finished command was given.
func (sh *Shell) closeProcSubs(from int) {
	if len(sh.procSubs) <= from {
		return
	}
	for _, n := range sh.procSubs[from:] {
		sh.fds.set(n, nil)
	}
	sh.procSubs = sh.procSubs[:from]
}

// assignments runs a command without words: redirections and assignments in the shell itself.
func (sh *Shell) assignments(c *simpleCmd, st *stmt) {
	subs := len(sh.procSubs)
	for _, a := range c.assigns {
		sh.assign(a, true)
	}
	undo, ok := sh.redirect(st.redirs, false)
	sh.restore(undo)
	sh.lastArg = ""
	switch {
	case !ok:
		sh.status = sh.redirected()
	default:
		sh.status = max(sh.substSt, 0)
	}
	sh.closeProcSubs(subs)
}

// assign performs one assignment in the shell.
func (sh *Shell) assign(a *assign, trace bool) {
	if a.arr != nil {
		if trace && sh.opts.get('x') {
			sh.trace(a.name + op(a) + "(" + arrSource(a.arr) + ")")
		}
		sh.assignArray(a)
		return
	}
	val := sh.expandStr(a.val)
	if trace && sh.opts.get('x') {
		n := a.name
		if a.sub != nil {
			n += "[" + a.sub.text + "]"
		}
		v := ""
		if val != "" {
			v = traceQuote(val)
		}
		sh.trace(n + op(a) + v)
	}
	if a.sub != nil {
		sh.setElement(a.name, a.sub, val, a.add)
		return
	}
	if a.add {
		r := sh.follow(a.name, nil)
		if r.sub != nil {
			sh.setElement(r.name, r.sub, val, true)
			return
		}
		name := r.name
		if r.global {
			sh.globally(name, func() { sh.setNoRef(name, sh.str(name)+val) })
			return
		}
		if v := sh.vars[name]; v != nil {
			if v.attrs&aReadonly != 0 {
				sh.readonlyErr(name)
			}
			if v.isArray() {
				sh.setElement(name, &subscript{text: "0", lit: "0", expr: zeroExpr}, val, true)
				return
			}
			old, _ := sh.get(name)
			if v.attrs&aInteger != 0 {
				val = sh.appended(v, old, val)
			} else {
				if n := len(old) + len(val); n > longText {
					sh.longValue(n)
				}
				val = sh.own(name).extend(old, val)
			}
		}
		sh.setVar(name, val)
		return
	}
	sh.setVar(a.name, val)
}

func op(a *assign) string {
	if a.add {
		return "+="
	}
	return "="
}

func arrSource(l *arrayLit) string {
	var out []string
	for _, e := range l.elems {
		s := ""
		if e.sub != nil {
			s = "[" + e.sub.text + "]="
			if e.add {
				s = "[" + e.sub.text + "]+="
			}
		}
		if e.val != nil {
			s += e.val.src
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// refusedElement says so when a list has an element that there cannot be; the others are assigned.
func (sh *Shell) refusedElement(arr *indexed, sub *subscript, val string) bool {
	switch {
	case sub.all != 0:
		sh.errorf("[%s]=%s: cannot assign to non-numeric index", sub.text, val)
		return true
	case sub.text == "", sub.text[0] == '-' && sh.subIndex("", sub)+arr.last()+1 < 0:
		sh.errorf("[%s]=%s: bad array subscript", sub.text, val)
		return true
	}
	return false
}

// assignArray performs name=(…) and name+=(…).
func (sh *Shell) assignArray(a *assign) {
	running := sh.running // a declaration is not named in errors of its elements
	sh.running = ""
	trace := sh.traceArray
	sh.traceArray = false
	defer func() { sh.running = running }()
	if a.sub != nil {
		sh.errorf("%s[%s]: cannot assign list to array member", a.name, a.sub.text)
		panic(abortPanic{status: 1, errexit: true, soft: true})
	}
	name, ok := sh.arrayTarget(a.name, true)
	if !ok {
		return
	}
	if v := sh.vars[name]; v != nil && v.attrs&aReadonly != 0 {
		sh.readonlyErr(name)
	}
	type item struct {
		sub  *subscript
		vals []string
		add  bool
	}
	items := make([]item, 0, len(a.arr.elems))
	v := sh.vars[name]
	isAssoc := v != nil && v.attrs&aAssoc != 0
	for _, e := range a.arr.elems {
		switch {
		case e.sub != nil:
			items = append(items, item{e.sub, []string{sh.expandStr(e.val)}, e.add})
		case isAssoc:
			items = append(items, item{vals: []string{sh.expandStr(e.val)}})
		default:
			items = append(items, item{vals: sh.fields([]*word{e.val})})
		}
		sh.tick()
	}
	if trace {
		text := make([]string, 0, len(items))
		for _, it := range items {
			for _, s := range it.vals {
				s = singleQuote(s)
				if it.sub != nil {
					s = "[" + singleQuote(it.sub.lit) + "]=" + s
				}
				text = append(text, s)
			}
		}
		sh.trace(name + op(a) + "(" + strings.Join(text, " ") + ")")
	}
	v = sh.own(name)
	v.dyn = nil
	size := v.size()
	if isAssoc {
		before := v.assoc // what [key]+= adds to
		if !a.add || v.assoc == nil {
			v.assoc = newAssoc()
		}
		var flat []string
		for _, it := range items {
			if it.sub == nil {
				if items[0].sub != nil {
					sh.errorf("%s: '%s': must use subscript when assigning associative array", name, it.vals[0])
					continue
				}
				flat = append(flat, it.vals...)
				continue
			}
			key := sh.subKey(it.sub)
			if key == "" {
				sh.errorf("%s: bad array subscript", "["+it.sub.text+"]="+it.vals[0])
				continue
			}
			v = sh.own(name)
			v.assoc.set(key, sh.appendedIf(it.add, v, before.value(key), it.vals[0]))
		}
		for i := 0; i < len(flat); i += 2 {
			val := ""
			if i+1 < len(flat) {
				val = flat[i+1]
			}
			v.assoc.set(flat[i], sh.convert(v, val))
		}
		v.attrs |= aSet
		sh.hold(v.size() - size)
		return
	}
	arr := &indexed{}
	if a.add {
		sh.makeArray(v)
		arr = v.arr
	}
	next := arr.last() + 1
	for _, it := range items {
		if it.sub != nil {
			if sh.refusedElement(arr, it.sub, it.vals[0]) {
				continue
			}
			next = sh.indexForWrite(name, &variable{attrs: aArray, arr: arr}, it.sub)
			old := ""
			if it.add {
				old, _ = arr.get(next)
			}
			arr.set(next, sh.appendedIf(it.add, v, old, it.vals[0]))
			next++
			continue
		}
		for _, s := range it.vals {
			arr.set(next, sh.convert(v, s))
			next++
		}
	}
	v = sh.own(name)
	v.str = ""
	v.arr = arr
	v.attrs |= aArray | aSet
	if sh.opts.get('a') {
		v.attrs |= aExport
	}
	sh.hold(v.size() - size)
}

// invoke runs the command args name: a function, a builtin or a program.
func (sh *Shell) invoke(c *simpleCmd, st *stmt, args []string, ops []operand) {
	name := args[0]
	fn := sh.funcs[name]
	alone := sh.isAlone
	sh.isAlone = false
	var b builtin
	if sh.posix && specialBuiltins[name] {
		fn = nil
	}
	if fn == nil {
		b = sh.builtin(name)
	}
	var temps [][2]string
	if len(c.assigns) > 0 {
		temps = sh.tempEnv(c.assigns)
	}
	if sh.opts.get('x') {
		sh.traceCommand(args)
	}
	vars := sh.vars
	program := fn == nil && b == nil
	if program && slices.ContainsFunc(st.redirs, (*redirect).assigns) {
		sh.shareVars()
	}
	undo, ok := sh.redirect(st.redirs, program)
	if program {
		sh.vars = vars // a program's redirections are the work of its process
	}
	if !ok {
		sh.restore(undo)
		sh.status = sh.redirected()
		if sh.posix && specialBuiltins[name] {
			panic(exitPanic{sh.status})
		}
		return
	}
	if fn == nil && b != nil && len(undo) == 0 && len(temps) == 0 {
		// The common case needs no clean-up, so that builtins cost no defer.
		sh.runBuiltin(b, args, ops)
		sh.execed = false
		sh.setLastArg(args)
		return
	}
	keep := false
	func() {
		defer func() {
			if !keep {
				sh.restore(undo)
			}
		}()
		switch {
		case fn != nil:
			sh.call(fn, args, temps)
		case b != nil:
			if len(temps) > 0 && sh.posix && specialBuiltins[name] {
				// Before a special builtin they are assignments like any other.
				for _, t := range temps {
					sh.setVar(t[0], t[1])
				}
			} else if len(temps) > 0 {
				f := sh.pushTemp(temps)
				defer sh.popTo(f)
			}
			sh.runBuiltin(b, args, ops)
			keep, sh.execed = sh.execed, false
		default:
			sh.isAlone = alone
			sh.external(args, temps)
			sh.forgetEnded()
		}
	}()
	switch {
	case sh.signaled == 0:
	case alone:
		sh.proc.killed.CompareAndSwap(0, int32(sh.signaled))
	case !sh.isCmdSub:
		sh.reportSignaled(st)
	}
	sh.signaled = 0
	if keep {
		for _, u := range undo {
			if u.old != nil {
				u.old.release()
			}
		}
	}
	sh.setLastArg(args)
}

func (sh *Shell) setLastArg(args []string) { sh.lastArg = args[len(args)-1] }

// tempEnv evaluates the assignments before a command.
func (sh *Shell) tempEnv(as []*assign) [][2]string {
	out := make([][2]string, 0, len(as))
	// Later ones see earlier ones.
	var f *frame
	for _, a := range as {
		var val string
		if a.arr != nil {
			val = "(" + arrSource(a.arr) + ")"
		} else {
			val = sh.expandStr(a.val)
		}
		if sh.opts.get('x') {
			v := ""
			if val != "" {
				v = traceQuote(val)
			}
			sh.trace(a.name + op(a) + v)
		}
		name := a.name
		if ref := sh.lastRef(name); ref != "" && isName(sh.vars[ref].str) {
			name = sh.vars[ref].str
		}
		if v := sh.vars[name]; v != nil && v.attrs&aReadonly != 0 {
			sh.errorf("%s: readonly variable", a.name)
			if sh.posix || sh.opts.get('e') {
				panic(exitPanic{1})
			}
			continue
		}
		if a.sub != nil {
			continue
		}
		if v := sh.vars[name]; v != nil && a.arr == nil {
			if a.add {
				val = sh.appended(v, sh.str(name), val)
			} else {
				val = sh.convert(v, val)
			}
		}
		out = append(out, [2]string{name, val})
		if len(as) > 1 {
			if f == nil {
				f = sh.pushTemp(nil)
			}
			sh.addTemp(f, name, val)
		}
	}
	if f != nil {
		sh.popTo(f)
	}
	return out
}

func (sh *Shell) pushTemp(temps [][2]string) *frame {
	f := &frame{isTemp: true}
	sh.frames = append(sh.frames, f)
	for _, t := range temps {
		sh.addTemp(f, t[0], t[1])
	}
	return f
}

func (sh *Shell) addTemp(f *frame, name, val string) {
	prev := sh.vars[name]
	for _, l := range f.locals {
		if l.name == name {
			v := sh.own(name)
			sh.hold(int64(len(val) - len(v.str)))
			v.str = val
			return
		}
	}
	f.locals = append(f.locals, saved{name, prev, true})
	v := &variable{owner: sh, str: val, attrs: aExport | aSet}
	if prev != nil {
		v.attrs |= prev.attrs & (aInteger | aLower | aUpper)
	}
	sh.vars[name] = v
	sh.hold(int64(len(name)+len(val)) + 64)
	sh.replaced(name)
}

// popTo pops frames up to and including f.
func (sh *Shell) popTo(f *frame) {
	for len(sh.frames) > 0 {
		top := sh.frames[len(sh.frames)-1]
		sh.popFrame()
		if top == f {
			return
		}
	}
}

func (sh *Shell) popFrame() {
	n := len(sh.frames) - 1
	f := sh.frames[n]
	sh.frames = sh.frames[:n]
	sh.popLocals(f)
	if f.isFunc {
		sh.args = f.args
		sh.funcDepth--
		sh.line = f.callLine
	}
	if f.opts != nil {
		sh.opts = *f.opts
	}
}

// call runs a function.
func (sh *Shell) call(fn *funcDef, args []string, temps [][2]string) {
	if n, err := strconv.Atoi(sh.str("FUNCNEST")); err == nil && n > 0 && sh.funcDepth >= n {
		sh.fatal("%s: maximum function nesting level exceeded (%d)", fn.name, n)
	}
	sh.enter()
	f := &frame{fn: fn, name: fn.name, source: fn.source, callLine: sh.line, isFunc: true, args: sh.args,
		optind: sh.optind}
	sh.frames = append(sh.frames, f)
	sh.funcDepth++
	sh.args = args[1:]
	for _, t := range temps {
		sh.addTemp(f, t[0], t[1])
	}
	loops, shift := sh.loops, sh.shift
	sh.loops, sh.shift = 0, fn.shift
	var hidden map[string]string
	for _, k := range []string{"ERR", "DEBUG", "RETURN"} {
		opt := byte('T')
		if k == "ERR" {
			opt = 'E'
		}
		if v, ok := sh.traps[k]; ok && !sh.opts.get(opt) && !(fn.traced && k != "ERR") {
			if hidden == nil {
				hidden = map[string]string{}
			}
			hidden[k] = v
			delete(sh.ownTraps(), k)
		}
	}
	depth := len(sh.frames)
	func() {
		done := false
		defer func() {
			if !done { // unwinding
				sh.unhide(hidden)
			}
		}()
		sh.at(fn.line)
		if sh.debugTrap(); !sh.returning {
			sh.stmt(fn.body)
		}
		done = true
	}()
	status := sh.status
	if sh.returning {
		sh.returning = false
		sh.status = sh.beforeReturn
	}
	if len(sh.traps) > 0 {
		sh.at(fn.line)
		sh.runPseudo("RETURN")
	}
	if !sh.returning {
		sh.status = status
	}
	sh.unhide(hidden)
	for len(sh.frames) > depth {
		sh.popFrame()
	}
	sh.popFrame()
	sh.loops, sh.shift = loops, shift
	sh.leave()
}

func (sh *Shell) unhide(hidden map[string]string) {
	for k, v := range hidden {
		if _, ok := sh.traps[k]; !ok {
			sh.ownTraps()[k] = v
		}
	}
}

// assigning are the builtins that a readonly variable makes fail; elsewhere it abandons the line.
var assigning = map[string]bool{"read": true, "mapfile": true, "readarray": true, "getopts": true, "printf": true}

// runBuiltin runs a builtin and prints what it put into obuf.
func (sh *Shell) runBuiltin(b builtin, args []string, ops []operand) {
	status := 0
	sh.misused, sh.running = false, args[0]
	switch {
	case ops != nil:
		status = sh.declare(args[0], ops)
	case assigning[args[0]]:
		status = forgiven(func() int { return b(sh, args) }, func(abortPanic) bool { return true })
	default:
		status = b(sh, args)
	}
	sh.status = status
	sh.flush(args[0])
	sh.running = ""
	if sh.posix && sh.misused && specialBuiltins[args[0]] {
		panic(exitPanic{2})
	}
}

// flush prints the output of the running builtin.
func (sh *Shell) flush(name string) {
	if len(sh.obuf) == 0 {
		return
	}
	b := sh.obuf
	var err error
	if d := sh.fds.get(1); d != nil {
		_, err = d.write(sh.ctx, b)
	} else {
		err = errBadFD
	}
	sh.obuf = b[:0]
	if cap(b) > 64<<10 {
		sh.obuf = nil
	}
	if err != nil {
		sh.writeFailed(name, err)
	}
}

// flushLines prints the whole lines of the running builtin's output: bash's standard output is line buffered, and so a
// message comes after them.
func (sh *Shell) flushLines() {
	n := bytes.LastIndexByte(sh.obuf, '\n') + 1
	if n == 0 {
		return
	}
	rest := string(sh.obuf[n:])
	sh.obuf = sh.obuf[:n]
	sh.flush(sh.running)
	sh.obuf = append(sh.obuf, rest...)
}

func (sh *Shell) external(args []string, temps [][2]string) {
	path, status := sh.findProgram(args, temps)
	if status != 0 {
		sh.status = status
		return
	}
	env := &environ{sh: sh, over: temps, path: path}
	p := sh.process(args, env)
	if p.PPID = sh.proc.pid; sh.isAlone {
		p.PID, p.PPID = sh.proc.pid, sh.proc.parent
	}
	sh.proc.program.Store(&proc.Info{PID: p.PID, PPID: sh.proc.pid, Args: slices.Clone(p.Args), Start: sh.x.now()})
	ctx := sh.ctx
	if sh.proc.caught.Load() != 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		defer stop()
		sh.proc.stopped.Store(0)
		sh.proc.stop.Store(&stop)
	}
	sh.status = sh.runFile(ctx, p, path)
	sh.proc.stop.Store(nil)
	sh.proc.program.Store(nil)
	if !sh.isAlone {
		sh.x.childEnded(sh.proc.pid)
	}
	sh.checkAlive()
	if sh.signaled = p.Signaled; ctx.Err() != nil && sh.signaled == 0 {
		sh.signaled = int(sh.proc.stopped.Load()) // with the shell, by what sends signals to both
		sh.status = 128 + sh.signaled
	}
}

// runFile runs a program and closes the FIFOs that it has left open.
func (sh *Shell) runFile(ctx context.Context, p *proc.Process, path string) int {
	open := &fifos{x: sh.x}
	defer open.closeAll()
	p.FIFO, p.Pipe = open.Open, open.Pipe
	return sh.x.runFile(ctx, p, path, sh.prefix(), 0)
}

// process makes what a program gets.
func (sh *Shell) process(args []string, env proc.Environ) *proc.Process {
	in, out, errs := bind(sh.ctx, sh.fds.get(0)), bind(sh.ctx, sh.fds.get(1)), bind(sh.ctx, sh.fds.get(2))
	p := &proc.Process{
		Args: args, Env: env, Dir: sh.dir, Umask: sh.umask, FS: sh.x.fs, Budget: sh.x.budget,
		FD: func(n int) (any, bool) {
			d := sh.fds.get(n)
			if d == nil {
				return nil, false
			}
			return bind(sh.ctx, d), true
		},
		Spawn: sh.x.spawnProgram, Alive: sh.x.alive, Processes: sh.x.processes, Signal: sh.x.signalPID,
		Interrupt: sh.x.interrupt, Machine: sh.x.cfg.Machines, Now: sh.x.now, PID: sh.x.newPID(),
		Ignored: sh.proc.ignored.Load(), User: sh.x.cfg.User, Hostname: sh.x.cfg.Hostname,
	}
	p.Stdin, _ = in.(reader)
	p.Stdout, _ = out.(writer)
	p.Stderr, _ = errs.(writer)
	return p
}
