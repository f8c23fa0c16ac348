package shell

import (
	"maps"
	"slices"
	"strings"
)

func builtinSet(sh *Shell, args []string) int {
	args = args[1:]
	if len(args) == 0 {
		sh.listVars()
		return 0
	}
	if bad := badSetOption(args); bad != "" {
		return sh.usage("set", bad)
	}
	for len(args) > 0 {
		a := args[0]
		if a == "--" {
			sh.setArgs(args[1:])
			return 0
		}
		if a == "-" {
			sh.opts.set('x', false)
			sh.opts.set('v', false)
			if len(args) > 1 {
				sh.setArgs(args[1:])
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
					sh.errorf(sh.either("set: %s: invalid option name", "set: Illegal option -o %s"), args[0])
					return sh.misuse(2)
				}
				sh.setOption(l, on)
				args = args[1:]
				continue
			}
			sh.setOption(c, on)
		}
	}
	if len(args) > 0 {
		sh.setArgs(args)
	}
	return 0
}

// badSetOption is the first option that set does not have: nothing is set then.
func badSetOption(args []string) string {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if len(a) < 2 || a[0] != '-' && a[0] != '+' || a == "--" {
			return ""
		}
		for _, c := range []byte(a[1:]) {
			switch {
			case c == 'o':
				i++
			case strings.IndexByte(setLetters, c) < 0:
				return a[:1] + string(c)
			}
		}
	}
	return ""
}

func (sh *Shell) setOption(c byte, on bool) {
	sh.opts.set(c, on)
	if c == 'Y' && on {
		sh.loadHistory()
	}
	switch c {
	case 'W':
		if sh.posix != on {
			sh.readGen++
		}
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
	for c := range letters(&args) {
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
			return sh.usage("shopt", "-"+string(c))
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
				if i == extdebug { // functions and subshells have the traps then
					sh.setOption('E', set)
					sh.setOption('T', set)
				}
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

// setArgs sets the positional parameters, for good also in a sourced file.
func (sh *Shell) setArgs(args []string) {
	sh.args, sh.argsSet = slices.Clone(args), true
}
