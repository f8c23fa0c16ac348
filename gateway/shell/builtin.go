package shell

import (
	"errors"
	"iter"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
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
		"declare": builtinDeclare, "typeset": builtinDeclare, "local": builtinDeclare, "export": builtinDeclare,
		"readonly": builtinDeclare,
		"unset":    builtinUnset, "set": builtinSet, "shopt": builtinShopt, "shift": builtinShift, "eval": builtinEval,
		"source": builtinSource, ".": builtinSource, "exec": builtinExec, "exit": builtinExit, "return": builtinReturn,
		"break": builtinBreak, "continue": builtinBreak, "read": builtinRead, "mapfile": builtinMapfile,
		"readarray": builtinMapfile,
		"let":       builtinLet, "getopts": builtinGetopts, "trap": builtinTrap, "kill": builtinKill, "wait": builtinWait,
		"jobs": builtinJobs,
		"fg":   builtinFg, "bg": builtinFg, "disown": builtinDisown, "type": builtinType, "command": builtinCommand,
		"builtin": builtinBuiltin,
		"hash":    builtinHash, "alias": builtinAlias, "unalias": builtinUnalias, "umask": builtinUmask,
		"ulimit": builtinUlimit,
		"times":  builtinTimes, "help": builtinHelp, "history": builtinHistory, "fc": builtinFc, "enable": builtinEnable,
		"caller": builtinCaller, "complete": builtinComplete, "compgen": builtinCompgen, "compopt": builtinCompopt,
		"bind":    builtinBind,
		"suspend": builtinSuspend, "logout": builtinLogout,
	}
}

var specialBuiltins = map[string]bool{":": true, ".": true, "break": true, "continue": true, "eval": true, "exec": true,
	"exit":   true,
	"export": true, "readonly": true, "return": true, "set": true, "shift": true, "source": true, "times": true,
	"trap": true, "unset": true}

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
	if errors.Is(err, vfs.EPIPE) {
		const sigpipe = 13
		switch bit := uint64(1) << sigpipe; {
		case sh.proc.caught.Load()&bit == 0:
			panic(exitPanic{128 + sigpipe})
		case sh.proc.ignored.Load()&bit == 0:
			sh.proc.pending.Or(bit)
		}
	}
	sh.errorf("%s: write error: %s", name, proc.Strerror(err))
	sh.status = 1
}

// usage prints the usage of a builtin after an invalid option.
func (sh *Shell) usage(name, opt string) int {
	sh.misused = true
	if sh.dash {
		sh.errorf("%s: Illegal option %s", name, opt)
		return 2
	}
	sh.errorf("%s: %s: invalid option", name, opt)
	sh.eprint(usageLine(name))
	return 2
}

// letters gives the option letters at the beginning of args, and leaves the operands in it.
func letters(args *[]string) iter.Seq[byte] {
	return func(yield func(byte) bool) {
		for len(*args) > 0 && len((*args)[0]) > 1 && (*args)[0][0] == '-' {
			word := (*args)[0]
			*args = (*args)[1:]
			if word == "--" {
				return
			}
			for _, c := range []byte(word[1:]) {
				if !yield(c) {
					return
				}
			}
		}
	}
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
	nl, esc, mode := true, sh.opts.shopt(xpgEcho), escEcho
	if sh.dash {
		esc, mode = true, escDash
		if len(args) > 0 && args[0] == "-n" {
			nl, args = false, args[1:]
		}
	}
	for !sh.dash && len(args) > 0 {
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
			s, stop := backslashes(a, mode)
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
