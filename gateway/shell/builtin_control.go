package shell

import (
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/arith"
	"github.com/pgbox/pgbox/gateway/vfs"
)

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
			sh.errorf(sh.either("shift: %s: numeric argument required", "shift: Illegal number: %s"), args[1])
			return sh.misuse(1)
		}
		n = v
	}
	if n > len(sh.args) && sh.dash {
		sh.errorf("shift: can't shift that many")
		sh.misuse(2)
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
		return sh.usage("eval", args[0][:2])
	}
	text := strings.Join(args, " ")
	if !hasCommands(text) {
		return 0
	}
	line, cmd := sh.line, sh.command
	sh.enter()
	sh.checkSize(text)
	defer sh.hold(-parsedSize(text))
	p := sh.cachedParse(text, max(line-1, 0))
	sh.xtrace++
	defer func() { sh.xtrace-- }()
	sh.runProgram(p, "eval: ")
	sh.command = cmd
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
	} else if len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && !sh.dash {
		return sh.usage(name, args[0][:2])
	}
	if len(args) == 0 {
		sh.errorf("%s: filename argument required", name)
		sh.eprint(usageLine(name))
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
			if st, err := sh.x.fs.Stat(sh.abs(full)); err == nil && st.Kind == vfs.Regular {
				path, file = sh.abs(full), full
				break
			}
		}
	}
	d, err := sh.openFile(path, vfs.ReadOnly)
	if err != nil {
		if sh.posix && !sh.dash && !strings.Contains(file, "/") {
			sh.errorf("%s: %s: file not found", name, file)
			panic(exitPanic{1})
		}
		if sh.dash {
			sh.errorf("%s: cannot open %s: %s", name, file, openError(err, false))
			sh.misuse(2)
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
	argsSet, cmd := sh.argsSet, sh.command
	sh.argsSet = false
	sh.xtrace++
	defer func() { sh.xtrace-- }()
	sh.runText(data, "")
	sh.returning = false
	sh.xtrace-- // the trap runs in the shell that reads on
	sh.runPseudo("RETURN")
	sh.xtrace++
	sh.popTo(f)
	if len(args) > 1 && (!sh.argsSet || sh.topFunc() != nil) {
		sh.args = saved
	}
	sh.argsSet = argsSet
	sh.line, sh.command = f.callLine, cmd
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

func builtinExit(sh *Shell, args []string) int {
	if sh.exiting && len(args) == 1 {
		panic(exitPanic{sh.exitedWith})
	}
	if sh.interactive() {
		sh.eprint("exit\n")
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
		if sh.inTrap > 0 && !sh.debugging { // what a trap does counts for nothing
			return sh.beforeTrap
		}
		return sh.status
	}
	n, err := integerOperand(args[0])
	if err != nil {
		sh.errorf(sh.either("%s: %s: numeric argument required", "%s: Illegal number: %s"), name, args[0])
		return sh.misuse(2)
	}
	if len(args) > 1 {
		sh.errorf("%s: too many arguments", name)
		panic(abortPanic{status: 1, errexit: true})
	}
	return n & 255
}

func builtinReturn(sh *Shell, args []string) int {
	ok := sh.funcDepth > 0
	for _, f := range sh.frames {
		if !f.isTemp {
			ok = true
		}
	}
	if !ok && sh.dash {
		panic(exitPanic{sh.exitStatus("return", args)})
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

func builtinCaller(sh *Shell, args []string) int {
	n := 0
	if _, sources, _ := sh.callStack(); len(sources) == 0 {
		return 1
	}
	if len(args) > 1 {
		v, err := strconv.Atoi(args[1])
		if err != nil {
			sh.errorf("caller: %s: invalid number", args[1])
			sh.eprint(usageLine("caller"))
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
	e, err := arith.Parse("0", nil)
	if err != nil {
		panic(err)
	}
	return e
}()
