package shell

import (
	pathpkg "path"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

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
				sh.eprint(usageLine("exec"))
				return 2
			}
			as, args = args[0], args[1:]
		default:
			return sh.usage("exec", a[:2])
		}
	}
	_ = login
	if len(args) == 0 {
		sh.execed = true
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
	if st, err := sh.x.fs.Stat(path); err == nil && !st.IsDir() && st.Size == 0 {
		sh.errorf("%s: Success", pathpkg.Clean(path)) // nothing in it runs, and nothing failed
		panic(exitPanic{0})
	}
	sh.leaveLevel()
	var env proc.Environ = &environ{sh: sh}
	if clear {
		env = emptyEnv{}
	}
	p := sh.process(args, env)
	p.PID, p.PPID = sh.proc.pid, sh.proc.parent
	st := sh.runFile(sh.ctx, p, path)
	sh.checkAlive()
	panic(exitPanic{st})
}

// leaveLevel counts the shell off SHLVL: the program takes its place.
func (sh *Shell) leaveLevel() {
	n, err := strconv.Atoi(sh.str("SHLVL"))
	if v := sh.vars["SHLVL"]; err == nil && v.attrs&(aExport|aReadonly) == aExport {
		sh.store("SHLVL", itoa(n-1))
	}
}

type emptyEnv struct{}

func (emptyEnv) Get(string) (string, bool) { return "", false }

func (emptyEnv) List() []string { return nil }
