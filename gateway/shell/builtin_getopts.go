package shell

import (
	"strconv"
	"strings"
)

func builtinGetopts(sh *Shell, args []string) int {
	args = args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) < 2 {
		sh.eprint(usageLine("getopts"))
		return 2
	}
	spec, name := args[0], args[1]
	operands := sh.args
	if len(args) > 2 {
		operands = args[2:]
	}
	status := 0
	bind := func(val string) { status = sh.bindOption(name, val) }
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
		bind("?")
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
	switch {
	case k < 0 || c == ':':
		advance()
		bind("?")
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
				bind(":")
				sh.setVar("OPTARG", string([]byte{c}))
			} else {
				bind("?")
				sh.unsetVar("OPTARG")
				if !quiet {
					sh.eprint(sh.name + ": option requires an argument -- " + string([]byte{c}) + "\n")
				}
			}
			sh.setVar("OPTIND", itoa(ind))
			sh.optind = optState{}
			return status
		}
		st.pos = 0
		bind(string([]byte{c}))
		sh.setVar("OPTARG", val)
	default:
		advance()
		bind(string([]byte{c}))
		sh.unsetVar("OPTARG")
	}
	sh.setVar("OPTIND", itoa(ind))
	sh.optind = st
	return status
}

// bindOption assigns the variable of getopts and returns the status of that. A readonly one does not abandon the line.
func (sh *Shell) bindOption(name, val string) int {
	if !isName(name) {
		sh.errorf("getopts: `%s': not a valid identifier", name)
		return 1
	}
	target, _ := sh.deref(name, nil)
	if v := sh.vars[target]; v != nil && v.attrs&aReadonly != 0 {
		sh.errorf("%s: readonly variable", target)
		return 2
	}
	sh.setVar(name, val)
	return 0
}

// optState is where getopts is within an operand.
type optState struct{ pos int }
