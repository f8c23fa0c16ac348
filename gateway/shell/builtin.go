package shell

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/fserr"
	"github.com/pgbox/pgbox/gateway/shell/arith"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// builtin is a command of the shell itself. It prints with sh.out and returns its status.
type builtin func(sh *Shell, args []string) int

var builtins map[string]builtin

func init() {
	builtins = map[string]builtin{
		":": func(*Shell, []string) int { return 0 }, "true": func(*Shell, []string) int { return 0 },
		"false": func(*Shell, []string) int { return 1 },
		"echo":  builtinEcho, "printf": builtinPrintf, "test": builtinTest, "[": builtinTest,
		"pwd": builtinPwd, "cd": builtinCd, "pushd": builtinPushd, "popd": builtinPopd, "dirs": builtinDirs,
		"declare": builtinDeclare, "typeset": builtinDeclare, "local": builtinDeclare, "export": builtinDeclare, "readonly": builtinDeclare,
		"unset": builtinUnset, "set": builtinSet, "shopt": builtinShopt, "shift": builtinShift, "eval": builtinEval,
		"source": builtinSource, ".": builtinSource, "exec": builtinExec, "exit": builtinExit, "return": builtinReturn,
		"break": builtinBreak, "continue": builtinBreak, "read": builtinRead, "mapfile": builtinMapfile, "readarray": builtinMapfile,
		"let": builtinLet, "getopts": builtinGetopts, "trap": builtinTrap, "kill": builtinKill, "wait": builtinWait, "jobs": builtinJobs,
		"fg": builtinFg, "bg": builtinFg, "disown": builtinDisown, "type": builtinType, "command": builtinCommand, "builtin": builtinBuiltin,
		"hash": builtinHash, "alias": builtinAlias, "unalias": builtinUnalias, "umask": builtinUmask, "ulimit": builtinUlimit,
		"times": builtinTimes, "help": builtinHelp, "history": builtinHistory, "fc": builtinFc, "enable": builtinEnable,
		"caller": builtinCaller, "complete": builtinComplete, "compgen": builtinCompgen, "compopt": builtinCompopt, "bind": builtinBind,
		"suspend": builtinSuspend, "logout": builtinLogout,
	}
}

var specialBuiltins = map[string]bool{":": true, ".": true, "break": true, "continue": true, "eval": true, "exec": true, "exit": true,
	"export": true, "readonly": true, "return": true, "set": true, "shift": true, "source": true, "times": true, "trap": true, "unset": true}

func (sh *Shell) builtin(name string) builtin {
	b := builtins[name]
	if b != nil && sh.disabled[name] {
		return nil
	}
	return b
}

func (sh *Shell) out(s string) {
	sh.obuf = append(sh.obuf, s...)
}

// writeFailed is what a builtin's failed write causes.
func (sh *Shell) writeFailed(name string, err error) {
	sh.checkAlive()
	if errors.Is(err, fserr.EPIPE) {
		panic(exitPanic{141})
	}
	sh.errorf("%s: write error: %s", name, proc.Strerror(err))
	sh.status = 1
}

// usage prints the usage of a builtin after an invalid option.
func (sh *Shell) usage(name, opt, text string) int {
	sh.misused = true
	sh.errorf("%s: %s: invalid option", name, opt)
	sh.eprint(name + ": usage: " + text + "\n")
	return 2
}

func builtinBind(sh *Shell, _ []string) int {
	sh.errorf("bind: warning: line editing not enabled")
	return 0
}

func builtinSuspend(sh *Shell, _ []string) int {
	sh.errorf("suspend: cannot suspend: no job control")
	return 1
}

func builtinEcho(sh *Shell, args []string) int {
	args = args[1:]
	nl, esc := true, sh.opts.shopt(xpgEcho)
	for len(args) > 0 {
		a := args[0]
		if len(a) < 2 || a[0] != '-' || strings.Trim(a[1:], "neE") != "" {
			break
		}
		for _, c := range a[1:] {
			switch c {
			case 'n':
				nl = false
			case 'e':
				esc = true
			case 'E':
				esc = false
			}
		}
		args = args[1:]
	}
	for i, a := range args {
		if i > 0 {
			sh.obuf = append(sh.obuf, ' ')
		}
		if esc {
			s, stop := backslashes(a, escEcho)
			sh.out(s)
			if stop {
				return 0
			}
			continue
		}
		sh.out(a)
	}
	if nl {
		sh.obuf = append(sh.obuf, '\n')
	}
	return 0
}

// integerOperand reads an integer; blanks around it do not count.
func integerOperand(s string) (int, error) {
	return strconv.Atoi(strings.TrimRight(strings.TrimLeft(s, " \t\n\v\f\r"), " \t"))
}

func builtinShift(sh *Shell, args []string) int {
	n := 1
	if len(args) > 2 {
		sh.fatal("shift: too many arguments")
	}
	if len(args) > 1 {
		v, err := integerOperand(args[1])
		if err != nil {
			sh.errorf("shift: %s: numeric argument required", args[1])
			return 1
		}
		n = v
	}
	if n < 0 {
		sh.errorf("shift: %d: shift count out of range", n)
		return 1
	}
	if n > len(sh.args) {
		if sh.opts.shopt(shiftVerbose) || sh.posix {
			sh.errorf("shift: %d: shift count out of range", n)
		}
		return 1
	}
	sh.args = sh.args[n:]
	return 0
}

func builtinEval(sh *Shell, args []string) int {
	args = args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	} else if len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		return sh.usage("eval", args[0][:2], "eval [arg ...]")
	}
	text := strings.Join(args, " ")
	if !hasCommands(text) {
		return 0
	}
	line := sh.line
	sh.enter()
	sh.checkSize(text)
	defer sh.hold(-parsedSize(text))
	p := sh.cachedParse(text, max(line-1, 0))
	sh.xtrace++
	defer func() { sh.xtrace-- }()
	sh.runProgram(p, "eval: ")
	sh.leave()
	return sh.status
}

// hasCommands reports whether a text is more than blank lines and comments.
func hasCommands(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return true
		}
	}
	return false
}

func builtinSource(sh *Shell, args []string) int {
	name := args[0]
	args = args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		sh.errorf("%s: filename argument required", name)
		sh.eprint(name + ": usage: " + name + " filename [arguments]\n")
		return 2
	}
	file := args[0]
	path := sh.abs(file)
	if !strings.Contains(file, "/") && sh.opts.shopt(sourcepath) {
		for _, d := range strings.Split(sh.str("PATH"), ":") {
			if d == "" {
				d = "."
			}
			full := strings.TrimSuffix(d, "/") + "/" + file
			if st, err := sh.x.fs.Stat(sh.abs(full)); err == nil && st.Kind == proc.Regular {
				path, file = sh.abs(full), full
				break
			}
		}
	}
	d, err := sh.openFile(path, proc.ReadOnly)
	if err != nil {
		if sh.posix && !strings.Contains(file, "/") {
			sh.errorf("%s: %s: file not found", name, file)
			panic(exitPanic{1})
		}
		sh.errorf("%s: %s", file, proc.Strerror(err))
		if sh.posix {
			panic(exitPanic{1})
		}
		return 1
	}
	if _, ok := d.stream.(*dirStream); ok {
		d.release()
		sh.errorf("%s: %s: is a directory", name, file)
		return 1
	}
	data := sh.slurp(d)
	d.release()
	f := &frame{name: "source", source: file, callLine: sh.line}
	sh.enter()
	sh.frames = append(sh.frames, f)
	saved := sh.args
	if len(args) > 1 {
		sh.args = args[1:]
	}
	sh.checkSize(data)
	if !hasCommands(data) {
		sh.status = 0
	}
	replaced := len(args) > 1
	own := sh.args
	sh.xtrace++
	defer func() { sh.xtrace-- }()
	sh.runText(data, "")
	sh.returning = false
	sh.xtrace-- // the trap runs in the shell that reads on
	if t := sh.traps["RETURN"]; t != "" {
		sh.runTrap("RETURN", t)
	}
	sh.xtrace++
	sh.popTo(f)
	if replaced && slices.Equal(own, sh.args) {
		sh.args = saved
	} else if replaced {
		sh.args = saved
	}
	sh.line = f.callLine
	sh.leave()
	sh.hold(-parsedSize(data))
	return sh.status
}

// slurp reads a description to its end.
func (sh *Shell) slurp(d *desc) string {
	var out []byte
	buf := make([]byte, 32<<10)
	for {
		n, err := d.read(sh.ctx, buf)
		out = append(out, buf[:n]...)
		if int64(len(out)) > sh.x.budget.Limits.ScriptSize {
			sh.checkSize(string(out))
		}
		sh.tick()
		if err != nil || n == 0 && err == nil && len(out) == 0 {
			sh.checkAlive()
			return string(out)
		}
	}
}

func builtinExec(sh *Shell, args []string) int {
	args = args[1:]
	clear, login, as := false, false, ""
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		switch a {
		case "-c":
			clear = true
		case "-l":
			login = true
		case "-a":
			if len(args) == 0 {
				sh.errorf("exec: -a: option requires an argument")
				sh.eprint("exec: usage: exec [-cl] [-a name] [command [argument ...]] [redirection ...]\n")
				return 2
			}
			as, args = args[0], args[1:]
		default:
			return sh.usage("exec", a[:2], "exec [-cl] [-a name] [command [argument ...]] [redirection ...]")
		}
	}
	_ = login
	if len(args) == 0 {
		return 0
	}
	var path string
	if strings.Contains(args[0], "/") {
		p, status := sh.findProgram(args, nil)
		if status != 0 {
			if st, err := sh.x.fs.Stat(sh.abs(args[0])); err == nil && st.IsDir() {
				sh.errorf("exec: %s: cannot execute: Is a directory", args[0])
			}
			if sh.opts.shopt(execfail) {
				return status
			}
			panic(exitPanic{status})
		}
		path = p
	} else {
		p, denied := sh.x.search(args[0], sh.str("PATH"), sh.dir)
		if p == "" {
			status := 127
			if denied != "" {
				sh.errorf("exec: %s: cannot execute: Permission denied", denied)
				status = 126
			} else {
				sh.errorf("exec: %s: not found", args[0])
			}
			if sh.opts.shopt(execfail) {
				return status
			}
			panic(exitPanic{status})
		}
		path = p
	}
	// The trap on EXIT does not run: the shell is gone.
	delete(sh.ownTraps(), "EXIT")
	if as != "" {
		args = append([]string{as}, args[1:]...)
	}
	var env proc.Environ = &environ{sh: sh, path: path}
	if clear {
		env = emptyEnv{}
	}
	p := sh.process(args, env)
	p.PID = sh.proc.pid
	st := sh.x.runFile(sh.ctx, p, path, 0)
	sh.checkAlive()
	panic(exitPanic{st})
}

type emptyEnv struct{}

func (emptyEnv) Get(string) (string, bool) { return "", false }
func (emptyEnv) List() []string            { return nil }

func builtinExit(sh *Shell, args []string) int {
	if sh.exiting && len(args) == 1 {
		panic(exitPanic{sh.exitedWith})
	}
	panic(exitPanic{sh.exitStatus("exit", args)})
}

func builtinLogout(sh *Shell, _ []string) int {
	sh.errorf("logout: not login shell: use `exit'")
	return 1
}

// exitStatus reads the operand of exit and return.
func (sh *Shell) exitStatus(name string, args []string) int {
	args = args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return sh.status
	}
	n, err := integerOperand(args[0])
	if err != nil {
		sh.errorf("%s: %s: numeric argument required", name, args[0])
		return 2
	}
	if len(args) > 1 {
		sh.errorf("%s: too many arguments", name)
		panic(abortPanic{status: 1, errexit: true})
	}
	return n & 255
}

func builtinReturn(sh *Shell, args []string) int {
	ok := sh.funcDepth > 0 || sh.inTrap > 0
	for _, f := range sh.frames {
		if !f.isTemp {
			ok = true
		}
	}
	if !ok {
		sh.misused = true
		sh.errorf("return: can only `return' from a function or sourced script")
		return 2
	}
	st := sh.exitStatus("return", args)
	sh.returning, sh.beforeReturn = true, sh.status
	return st
}

func builtinBreak(sh *Shell, args []string) int {
	n := 1
	if len(args) > 1 {
		v, err := integerOperand(args[1])
		if err != nil {
			sh.errorf("%s: %s: numeric argument required", args[0], args[1])
			panic(exitPanic{128})
		}
		if v <= 0 {
			sh.errorf("%s: %s: loop count out of range", args[0], args[1])
			sh.breaks = sh.loops
			return 1
		}
		n = v
	}
	if len(args) > 2 && sh.loops > 0 {
		sh.errorf("%s: too many arguments", args[0])
		panic(abortPanic{status: 1, errexit: true})
	}
	if sh.loops == 0 {
		if sh.posix {
			return 0
		}
		sh.errorf("%s: only meaningful in a `for', `while', or `until' loop", args[0])
		return 0
	}
	n = min(n, sh.loops)
	if args[0] == "break" {
		sh.breaks = n
	} else {
		sh.continues = n
	}
	return 0
}

func builtinLet(sh *Shell, args []string) int {
	if len(args) > 1 && args[1] == "--" {
		args = args[1:]
	}
	if len(args) == 1 {
		sh.errorf("let: expression expected")
		return 1
	}
	return sh.softly(func() int {
		var v int64
		for _, a := range args[1:] {
			v = sh.evalText(a, "let: ")
		}
		if v == 0 {
			return 1
		}
		return 0
	})
}

func builtinUnset(sh *Shell, args []string) int {
	args = args[1:]
	mode := byte(0)
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		for _, c := range []byte(a[1:]) {
			if strings.IndexByte("fvn", c) < 0 {
				return sh.usage("unset", "-"+string(c), "unset [-f] [-v] [-n] [name ...]")
			}
			if mode == 'f' && c == 'v' || mode == 'v' && c == 'f' {
				sh.errorf("unset: cannot simultaneously unset a function and a variable")
				return 1
			}
			mode = c
		}
	}
	status := 0
	for _, a := range args {
		if mode == 'f' {
			if !sh.unsetFunc(a) {
				status = 1
			}
			continue
		}
		name, rest, isSub := strings.Cut(a, "[")
		if !isName(name) {
			if mode == 'v' || isSub {
				sh.errorf("unset: `%s': not a valid identifier", a)
				status = 1
			} else if !sh.unsetFunc(a) {
				status = 1
			}
			continue
		}
		if mode == 'n' {
			if v := sh.vars[name]; v != nil && v.attrs&aNameref != 0 {
				sh.unsetVar(name)
			}
			continue
		}
		if v := sh.vars[name]; v != nil && v.attrs&aNameref != 0 {
			n, sub := sh.deref(name, nil)
			name = n
			if sub != nil {
				isSub, rest = true, sub.text+"]"
			}
		}
		v := sh.vars[name]
		if v != nil && v.attrs&aReadonly != 0 {
			sh.errorf("unset: %s: cannot unset: readonly variable", name)
			status = 1
			continue
		}
		if isSub {
			if !sh.unsetElement(name, strings.TrimSuffix(rest, "]")) {
				status = 1
			}
			continue
		}
		if v == nil {
			if mode == 0 && !sh.unsetFunc(name) {
				status = 1
			}
			continue
		}
		sh.unsetVar(name)
	}
	return status
}

func (sh *Shell) unsetFunc(name string) bool {
	if sh.readonlyFuncs[name] {
		sh.errorf("unset: %s: cannot unset: readonly function", name)
		return false
	}
	delete(sh.ownFuncs(), name)
	return true
}

func (sh *Shell) unsetElement(name, text string) bool {
	v := sh.vars[name]
	if v == nil {
		return true
	}
	c := compiler{}
	sub := c.subscript(text)
	if !v.isArray() {
		if v.attrs&aSet != 0 && text == "0" {
			sh.unsetVar(name)
			return true
		}
		sh.errorf("unset: %s: not an array variable", name)
		return false
	}
	if sub.all != 0 && v.attrs&aAssoc == 0 {
		v = sh.own(name)
		sh.hold(-v.arr.bytes)
		v.arr = &indexed{}
		return true
	}
	if v.attrs&aAssoc != 0 {
		key := text
		if _, ok := v.assoc.m[key]; !ok {
			key = sh.subKey(sub)
		}
		v = sh.own(name)
		old := v.assoc.bytes
		v.assoc.unset(key)
		sh.hold(v.assoc.bytes - old)
		return true
	}
	sh.running = "" // it is not named in an error of the index
	i := sh.evalText(sh.subKey(sub), asValue)
	if i < 0 {
		if i += v.arr.last() + 1; i < 0 {
			sh.errorf("unset: [%s]: bad array subscript", text)
			return false
		}
	}
	v = sh.own(name)
	old := v.arr.bytes
	v.arr.unset(i)
	sh.hold(v.arr.bytes - old)
	return true
}

func builtinSet(sh *Shell, args []string) int {
	args = args[1:]
	if len(args) == 0 {
		sh.listVars()
		return 0
	}
	for len(args) > 0 {
		a := args[0]
		if a == "--" {
			sh.args = slices.Clone(args[1:])
			return 0
		}
		if a == "-" {
			sh.opts.set('x', false)
			sh.opts.set('v', false)
			if len(args) > 1 {
				sh.args = slices.Clone(args[1:])
			}
			return 0
		}
		if len(a) < 2 || a[0] != '-' && a[0] != '+' {
			break
		}
		on := a[0] == '-'
		args = args[1:]
		for _, c := range []byte(a[1:]) {
			if c == 'o' {
				if len(args) == 0 {
					sh.listSetOptions(!on)
					continue
				}
				l, ok := setLetter(args[0])
				if !ok {
					sh.misused = true
					sh.errorf("set: %s: invalid option name", args[0])
					return 2
				}
				sh.setOption(l, on)
				args = args[1:]
				continue
			}
			if strings.IndexByte(setLetters, c) < 0 {
				return sh.usage("set", a[:1]+string(c), "set [-abefhkmnptuvxBCEHPT] [-o option-name] [--] [-] [arg ...]")
			}
			sh.setOption(c, on)
		}
	}
	if len(args) > 0 {
		sh.args = slices.Clone(args)
	}
	return 0
}

func (sh *Shell) setOption(c byte, on bool) {
	sh.opts.set(c, on)
	switch c {
	case 'W':
		sh.posix = on
		if on {
			sh.store("POSIXLY_CORRECT", "y")
		}
	case 'P':
		sh.physic = on
	}
}

func (sh *Shell) listSetOptions(commands bool) {
	for _, s := range setNames {
		on := sh.opts.get(s.letter)
		if commands {
			sign := "+"
			if on {
				sign = "-"
			}
			sh.out("set " + sign + "o " + s.name + "\n")
			continue
		}
		state := "off"
		if on {
			state = "on"
		}
		sh.out(padRight(s.name, 15) + "\t" + state + "\n")
	}
}

func padRight(s string, n int) string {
	if len(s) >= n {
		return s
	}
	return s + strings.Repeat(" ", n-len(s))
}

// listVars prints all variables (and functions), as set without operands does.
func (sh *Shell) listVars() {
	for _, n := range slices.Sorted(maps.Keys(sh.vars)) {
		v := sh.lookup(n)
		switch {
		case v.isArray():
			if v.attrs&aSet != 0 || len(v.elements()) > 0 {
				sh.out(n + "=" + sh.arrayText(v) + "\n")
			}
		case v.attrs&aSet != 0:
			sh.out(n + "=" + setQuote(v.str) + "\n")
		}
	}
	if !sh.posix {
		for _, n := range slices.Sorted(maps.Keys(sh.funcs)) {
			sh.out(sh.funcText(sh.funcs[n]) + "\n")
		}
	}
}

// setQuote quotes a value only when it has to.
func setQuote(s string) string {
	if s == "" {
		return ""
	}
	if needsANSI(s) {
		return ansiQuote(s)
	}
	if hasShellMeta(s) {
		return singleQuote(s)
	}
	return s
}

func builtinShopt(sh *Shell, args []string) int {
	args = args[1:]
	var set, unset, quiet, print, isO bool
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		for _, c := range []byte(a[1:]) {
			switch c {
			case 's':
				set = true
			case 'u':
				unset = true
			case 'q':
				quiet = true
			case 'p':
				print = true
			case 'o':
				isO = true
			default:
				return sh.usage("shopt", "-"+string(c), "shopt [-pqsu] [-o] [optname ...]")
			}
		}
	}
	if set && unset {
		sh.errorf("shopt: cannot set and unset shell options simultaneously")
		return 1
	}
	type opt struct {
		name string
		on   bool
	}
	var all []opt
	if isO {
		for _, s := range setNames {
			all = append(all, opt{s.name, sh.opts.get(s.letter)})
		}
	} else {
		for i, n := range shoptNames {
			all = append(all, opt{n, sh.opts.shopt(shoptIndex(i))})
		}
	}
	show := func(o opt) {
		switch {
		case quiet:
		case print && isO:
			sign := "+"
			if o.on {
				sign = "-"
			}
			sh.out("set " + sign + "o " + o.name + "\n")
		case print:
			sign := "-u"
			if o.on {
				sign = "-s"
			}
			sh.out("shopt " + sign + " " + o.name + "\n")
		default:
			state := "off"
			if o.on {
				state = "on"
			}
			sh.out(padRight(o.name, 15) + "\t" + state + "\n")
		}
	}
	if len(args) == 0 {
		for _, o := range all {
			if !set && !unset || set && o.on || unset && !o.on {
				show(o)
			}
		}
		return 0
	}
	status := 0
	for _, a := range args {
		k := slices.IndexFunc(all, func(o opt) bool { return o.name == a })
		if k < 0 {
			kind := "shell option name"
			if isO {
				kind = "option name"
			}
			sh.errorf("shopt: %s: invalid %s", a, kind)
			status = 1
			continue
		}
		if set || unset {
			if isO {
				l, _ := setLetter(a)
				sh.setOption(l, set)
			} else {
				i, _ := shoptByName(a)
				if sh.opts.shopt(i) != set && (i == extglob || i == expandAliases && len(sh.aliases) > 0) {
					sh.readGen++
				}
				sh.opts.setShopt(i, set)
			}
			continue
		}
		if !all[k].on {
			status = 1
		}
		show(all[k])
	}
	return status
}

func builtinGetopts(sh *Shell, args []string) int {
	args = args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) < 2 {
		sh.eprint("getopts: usage: getopts optstring name [arg ...]\n")
		return 2
	}
	spec, name := args[0], args[1]
	operands := sh.args
	if len(args) > 2 {
		operands = args[2:]
	}
	if !isName(name) {
		sh.errorf("getopts: `%s': not a valid identifier", name)
		return 1
	}
	silent := strings.HasPrefix(spec, ":")
	spec = strings.TrimPrefix(spec, ":")
	if v, ok := sh.get("OPTERR"); ok && v == "0" {
		silent = silent || false
	}
	quiet := silent || sh.str("OPTERR") == "0"
	ind, err := strconv.Atoi(sh.str("OPTIND"))
	if err != nil || ind < 1 {
		ind = 1
	}
	st := sh.optind
	done := func() int {
		sh.setVar(name, "?")
		sh.setVar("OPTIND", itoa(ind))
		sh.optind = optState{}
		if v := sh.vars["OPTARG"]; v != nil {
			sh.unsetVar("OPTARG")
		}
		return 1
	}
	if st.pos == 0 {
		if ind > len(operands) {
			return done()
		}
		a := operands[ind-1]
		if a == "--" {
			ind++
			return done()
		}
		if len(a) < 2 || a[0] != '-' {
			return done()
		}
		st.pos = 1
	}
	if ind > len(operands) || st.pos >= len(operands[ind-1]) {
		return done()
	}
	a := operands[ind-1]
	c := a[st.pos]
	st.pos++
	advance := func() {
		if st.pos >= len(a) {
			ind++
			st.pos = 0
		}
	}
	k := strings.IndexByte(spec, c)
	status := 0
	switch {
	case k < 0 || c == ':':
		advance()
		sh.setVar(name, "?")
		if silent {
			sh.setVar("OPTARG", string([]byte{c}))
		} else {
			sh.unsetVar("OPTARG")
			if !quiet {
				sh.eprint(sh.name + ": illegal option -- " + string([]byte{c}) + "\n")
			}
		}
	case k+1 < len(spec) && spec[k+1] == ':':
		var val string
		switch {
		case st.pos < len(a):
			val = a[st.pos:]
			ind++
		case ind < len(operands):
			val = operands[ind]
			ind += 2
		default:
			ind++
			st.pos = 0
			if silent {
				sh.setVar(name, ":")
				sh.setVar("OPTARG", string([]byte{c}))
			} else {
				sh.setVar(name, "?")
				sh.unsetVar("OPTARG")
				if !quiet {
					sh.eprint(sh.name + ": option requires an argument -- " + string([]byte{c}) + "\n")
				}
			}
			sh.setVar("OPTIND", itoa(ind))
			sh.optind = optState{}
			return 0
		}
		st.pos = 0
		sh.setVar(name, string([]byte{c}))
		sh.setVar("OPTARG", val)
	default:
		advance()
		sh.setVar(name, string([]byte{c}))
		sh.unsetVar("OPTARG")
	}
	sh.setVar("OPTIND", itoa(ind))
	sh.optind = st
	return status
}

// optState is where getopts is within an operand.
type optState struct{ pos int }

func builtinAlias(sh *Shell, args []string) int {
	args = args[1:]
	head := "alias "
	if sh.posix {
		head = ""
	}
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		if a == "-p" {
			head = "alias "
		} else if a != "--" {
			return sh.usage("alias", a[:2], "alias [-p] [name[=value] ... ]")
		}
		args = args[1:]
	}
	if len(args) == 0 {
		for _, n := range slices.Sorted(maps.Keys(sh.aliases)) {
			sh.out(head + n + "=" + singleQuote(sh.aliases[n]) + "\n")
		}
		return 0
	}
	status := 0
	for _, a := range args {
		n, v, ok := strings.Cut(a, "=")
		if ok && strings.ContainsAny(n, " \t\n|&;()<>/$`\"'\\") {
			sh.errorf("alias: `%s': invalid alias name", n)
			status = 1
			continue
		}
		if ok && n != "" {
			if sh.aliases == nil {
				sh.aliases = map[string]string{}
			}
			sh.hold(int64(len(a)))
			sh.aliases[n] = v
			sh.rereadAliases()
			continue
		}
		if v, ok := sh.aliases[a]; ok {
			sh.out(head + a + "=" + singleQuote(v) + "\n")
			continue
		}
		sh.errorf("alias: %s: not found", a)
		status = 1
	}
	return status
}

// rereadAliases is told of a change of the aliases: what follows is read anew.
func (sh *Shell) rereadAliases() {
	if sh.opts.shopt(expandAliases) {
		sh.readGen++
	}
}

func builtinUnalias(sh *Shell, args []string) int {
	args = args[1:]
	if len(args) == 0 {
		sh.eprint("unalias: usage: unalias [-a] name [name ...]\n")
		return 2
	}
	sh.rereadAliases()
	if args[0] == "-a" {
		sh.aliases = nil
		return 0
	}
	status := 0
	for _, a := range args {
		if _, ok := sh.aliases[a]; !ok {
			sh.errorf("unalias: %s: not found", a)
			status = 1
		}
		delete(sh.aliases, a)
	}
	return status
}

func builtinCaller(sh *Shell, args []string) int {
	n := 0
	if _, sources, _ := sh.callStack(); len(sources) == 0 {
		return 1
	}
	if len(args) > 1 {
		v, err := strconv.Atoi(args[1])
		if err != nil {
			sh.errorf("caller: %s: invalid number", args[1])
			sh.eprint("caller: usage: caller [expr]\n")
			return 2
		}
		n = v
	}
	names, sources, lines := sh.callStack()
	if len(names) == 0 && len(sources) > 0 && len(args) == 1 {
		sh.out("0 NULL\n")
		return 0
	}
	if len(names) == 0 || len(args) > 1 && n+1 >= len(names) {
		return 1
	}
	src := "NULL"
	if n+1 < len(sources) && sources[n+1] != "" {
		src = sources[n+1]
	}
	if len(args) == 1 {
		sh.out(lines[0] + " " + src + "\n")
		return 0
	}
	name := "main"
	if n+1 < len(names) {
		name = names[n+1]
	}
	sh.out(lines[n] + " " + name + " " + src + "\n")
	return 0
}

// callStack is FUNCNAME, BASH_SOURCE and BASH_LINENO.
func (sh *Shell) callStack() (names, sources, lines []string) {
	for i := len(sh.frames) - 1; i >= 0; i-- {
		f := sh.frames[i]
		if f.isTemp {
			continue
		}
		names = append(names, f.name)
		sources = append(sources, f.source)
		lines = append(lines, itoa(f.callLine))
	}
	if sh.stdinName != "" {
		if len(names) > 0 {
			names = append(names, "main")
		}
		sources = append(sources, sh.stdinName)
		lines = append(lines, "0")
	}
	return names, sources, lines
}

var zeroExpr = func() *arith.Expr {
	e, err := arith.Parse("0")
	if err != nil {
		panic(err)
	}
	return e
}()

func sortStrings(s []string) { slices.Sort(s) }
