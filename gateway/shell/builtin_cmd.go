package shell

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

var keywords = []string{"if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do",
	"done", "in", "function",
	"time", "{", "}", "!", "[[", "]]", "coproc"}

// programPaths lists where PATH has the program, all of them or the first.
func (sh *Shell) programPaths(name string, all bool) []string {
	if strings.Contains(name, "/") {
		if st, err := sh.x.fs.Stat(sh.abs(name)); err == nil && executable(st) {
			return []string{name}
		}
		return nil
	}
	var out []string
	for _, d := range strings.Split(sh.str("PATH"), ":") {
		if d == "" {
			d = "."
		}
		full := strings.TrimSuffix(d, "/") + "/" + name
		if st, err := sh.x.fs.Stat(sh.abs(full)); err == nil && executable(st) {
			out = append(out, full)
			if !all {
				return out
			}
		}
	}
	return out
}

func builtinType(sh *Shell, args []string) int {
	cmd := args[0]
	args = args[1:]
	var all, kind, path, force, noFunc bool
	for c := range letters(&args) {
		switch c {
		case 'a':
			all = true
		case 't':
			kind = true
		case 'p':
			path = true
		case 'P':
			force = true
		case 'f':
			noFunc = true
		default:
			return sh.usage("type", "-"+string(c))
		}
	}
	status, failed := 0, 0
	for _, name := range args {
		found := false
		put := func(k, long string, isPath bool) {
			found = true
			switch {
			case kind:
				sh.out(k + "\n")
			case path || force:
				if isPath {
					sh.out(long + "\n")
				}
			case isPath:
				sh.out(name + " is " + long + "\n")
			default:
				sh.out(long + "\n")
			}
		}
		done := func() bool { return found && !all }
		if !force {
			if v, ok := sh.aliases[name]; ok && sh.opts.shopt(expandAliases) {
				put("alias", name+" is aliased to `"+v+"'", false)
			}
			if !done() && slices.Contains(keywords, name) {
				put("keyword", name+" is a shell keyword", false)
			}
			if f := sh.funcs[name]; !done() && f != nil && !noFunc {
				put("function", name+" is a function\n"+sh.funcText(f), false)
			}
			if !done() && sh.builtin(name) != nil {
				long := name + " is a shell builtin"
				if sh.posix && specialBuiltins[name] {
					long = name + " is a special shell builtin"
				}
				put("builtin", long, false)
			}
		}
		if !done() {
			if h := sh.hashed[name]; h != nil && !all && !path && !force && !kind {
				found = true
				sh.out(name + " is hashed (" + h.path + ")\n")
			} else {
				for _, p := range sh.programPaths(name, all) {
					put("file", p, true)
				}
			}
		}
		if !found {
			failed++
			status = 1
			if !kind && !path && !force {
				if sh.dash {
					sh.out(name + ": not found\n")
					continue
				}
				sh.errorf("%s: %s: not found", cmd, name)
			}
		}
	}
	if cmd == "command" && failed < len(args) {
		return 0
	}
	return status
}

func builtinCommand(sh *Shell, args []string) int {
	args = args[1:]
	var brief, verbose, std bool
	for c := range letters(&args) {
		switch c {
		case 'v':
			brief = true
		case 'V':
			verbose = true
		case 'p':
			std = true
		default:
			return sh.usage("command", "-"+string(c))
		}
	}
	if len(args) == 0 {
		return 0
	}
	if verbose {
		st := builtinType(sh, append([]string{"command", "--"}, args...))
		return st
	}
	if brief {
		status := 1
		for _, name := range args {
			switch {
			case sh.aliases[name] != "" && sh.opts.shopt(expandAliases):
				sh.out("alias " + name + "=" + singleQuote(sh.aliases[name]) + "\n")
			case slices.Contains(keywords, name), sh.funcs[name] != nil, sh.builtin(name) != nil:
				sh.out(name + "\n")
			default:
				p := sh.programPaths(name, false)
				if len(p) == 0 {
					continue
				}
				if strings.Contains(name, "/") {
					sh.out(name + "\n")
				} else {
					sh.out(p[0] + "\n")
				}
			}
			status = 0
		}
		return status
	}
	var temps [][2]string
	if std {
		temps = [][2]string{{"PATH", "/usr/bin:/bin"}}
	}
	return sh.runNamed(args, temps)
}

// runNamed runs a builtin or program, never a function.
func (sh *Shell) runNamed(args []string, temps [][2]string) int {
	if b := sh.builtin(args[0]); b != nil {
		sh.flush(args[0])
		return b(sh, args)
	}
	sh.flush(args[0])
	sh.external(args, temps)
	return sh.status
}

func builtinBuiltin(sh *Shell, args []string) int {
	args = args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		return sh.usage("builtin", args[0][:2])
	}
	if len(args) == 0 {
		return 0
	}
	b := builtins[args[0]]
	if b == nil {
		sh.errorf("builtin: %s: not a shell builtin", args[0])
		return 1
	}
	status := b(sh, args)
	sh.execed = false // unlike command, it does not let exec keep its redirections
	return status
}

func builtinHash(sh *Shell, args []string) int {
	args = args[1:]
	var del, list, tell bool
	as := ""
	if !sh.opts.get('h') && !sh.dash {
		sh.errorf("hash: hashing disabled")
		return 1
	}
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		for _, c := range []byte(a[1:]) {
			switch c {
			case 'r':
				sh.hashed = nil
			case 'd':
				del = true
			case 'l':
				list = true
			case 't':
				tell = true
			case 'p':
				if len(args) == 0 {
					sh.errorf("hash: -p: option requires an argument")
					sh.eprint(usageLine("hash"))
					return 2
				}
				as, args = args[0], args[1:]
			default:
				return sh.usage("hash", "-"+string(c))
			}
		}
		if strings.Contains(a, "r") && len(args) == 0 {
			return 0
		}
	}
	if len(args) == 0 && (tell || del) {
		letter := "t"
		if del {
			letter = "d"
		}
		sh.errorf("hash: -%s: option requires an argument", letter)
		return 1
	}
	if len(args) == 0 {
		if len(sh.hashed) == 0 {
			sh.out("hash: hash table empty\n")
			return 0
		}
		if !list {
			sh.out("hits\tcommand\n")
		}
		table := map[string]assocValue{}
		for i, n := range slices.Sorted(maps.Keys(sh.hashed)) {
			table[n] = assocValue{seq: uint64(i)}
		}
		for _, n := range hashOrder(table, 256) {
			h := sh.hashed[n]
			if list {
				sh.out("builtin hash -p " + h.path + " " + n + "\n")
				continue
			}
			c := itoa(h.hits)
			sh.out(strings.Repeat(" ", max(4-len(c), 0)) + c + "\t" + h.path + "\n")
		}
		return 0
	}
	status := 0
	for _, a := range args {
		switch {
		case as != "":
			sh.hashAs(a, as)
		case del:
			if sh.hashed[a] == nil {
				sh.errorf("hash: %s: not found", a)
				status = 1
			}
			delete(sh.hashed, a)
		case tell:
			h := sh.hashed[a]
			if h == nil {
				sh.errorf("hash: %s: not found", a)
				status = 1
				continue
			}
			if len(args) > 1 {
				sh.out(a + "\t")
			}
			sh.out(h.path + "\n")
		default:
			if sh.builtin(a) != nil || sh.funcs[a] != nil || strings.Contains(a, "/") {
				continue
			}
			p := sh.programPaths(a, false)
			if len(p) == 0 {
				sh.errorf("hash: %s: not found", a)
				status = 1
				continue
			}
			if sh.hashed == nil {
				sh.hashed = map[string]*hashEntry{}
			}
			sh.hashed[a] = &hashEntry{path: p[0]}
		}
	}
	return status
}

func builtinUmask(sh *Shell, args []string) int {
	args = args[1:]
	var symbolic, print bool
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		for _, c := range a[1:] {
			switch c {
			case 'S':
				symbolic = true
			case 'p':
				print = true
			default:
				return sh.usage("umask", "-"+string(c))
			}
		}
	}
	if len(args) == 0 {
		s := "0" + octal(sh.umask, 3)
		if symbolic {
			s = symbolicMask(sh.umask)
		}
		if print {
			p := "umask "
			if symbolic {
				p += "-S "
			}
			s = p + s
		}
		sh.out(s + "\n")
		return 0
	}
	a := args[0]
	if a[:min(1, len(a))] >= "0" && a[:min(1, len(a))] <= "9" {
		n, err := strconv.ParseUint(a, 8, 32)
		if err != nil || n > 0o777 {
			sh.errorf("umask: %s: octal number out of range", a)
			return 1
		}
		sh.umask = uint32(n)
		if symbolic {
			sh.out(symbolicMask(sh.umask) + "\n")
		}
		return 0
	}
	mask, bad, what := parseMask(a, sh.umask)
	if bad != 0 {
		sh.errorf("umask: `%c': invalid symbolic mode %s", bad, what)
		return 1
	}
	sh.umask = mask
	if symbolic {
		sh.out(symbolicMask(mask) + "\n")
	}
	return 0
}

func octal(n uint32, w int) string {
	s := strconv.FormatUint(uint64(n), 8)
	return strings.Repeat("0", max(w-len(s), 0)) + s
}

func symbolicMask(m uint32) string {
	var b strings.Builder
	for i, who := range []string{"u=", ",g=", ",o="} {
		b.WriteString(who)
		bits := ^m >> (6 - 3*i) & 7
		for k, c := range "rwx" {
			if bits>>(2-k)&1 != 0 {
				b.WriteRune(c)
			}
		}
	}
	return b.String()
}

// parseMask applies a symbolic mode to what a mask allows; bad is the character it stumbled over.
func parseMask(s string, mask uint32) (out uint32, bad byte, what string) {
	allow := ^mask & 0o777
	for _, clause := range strings.Split(s, ",") {
		i, who := 0, uint32(0)
		for i < len(clause) && strings.IndexByte("ugoa", clause[i]) >= 0 {
			who |= map[byte]uint32{'u': 0o700, 'g': 0o070, 'o': 0o007, 'a': 0o777}[clause[i]]
			i++
		}
		if who == 0 {
			who = 0o777
		}
		if i >= len(clause) {
			return mask, ' ', "operator"
		}
		op := clause[i]
		if strings.IndexByte("+-=", op) < 0 {
			return mask, op, "operator"
		}
		i++
		perm := uint32(0)
		for ; i < len(clause); i++ {
			switch clause[i] {
			case 'r':
				perm |= 0o444
			case 'w':
				perm |= 0o222
			case 'x', 'X':
				perm |= 0o111
			default:
				return mask, clause[i], "character"
			}
		}
		switch op {
		case '+':
			allow |= perm & who
		case '-':
			allow &^= perm & who
		default:
			allow = allow&^who | perm&who
		}
	}
	return ^allow & 0o777, 0, ""
}

func builtinTimes(sh *Shell, args []string) int {
	if len(args) > 1 && len(args[1]) > 1 && args[1][0] == '-' && args[1] != "--" {
		return sh.usage("times", args[1][:2])
	}
	t := timeFormat("%3lR", sh.x.now().Sub(sh.x.start))
	sh.out(t + " 0m0.000s\n0m0.000s 0m0.000s\n")
	return 0
}

func builtinEnable(sh *Shell, args []string) int {
	args = args[1:]
	var off, all, print, special bool
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		for _, c := range args[0][1:] {
			switch c {
			case 'n':
				off = true
			case 'a':
				all = true
			case 'p':
				print = true
			case 's':
				special = true
			default:
				return sh.usage("enable", "-"+string(c))
			}
		}
		args = args[1:]
	}
	if len(args) == 0 || print {
		for _, n := range slices.Sorted(maps.Keys(builtins)) {
			if special && !specialBuiltins[n] {
				continue
			}
			switch dis := sh.disabled[n]; {
			case dis && (off || all):
				sh.out("enable -n " + n + "\n")
			case !dis && (!off || all):
				sh.out("enable " + n + "\n")
			}
		}
		return 0
	}
	status := 0
	for _, a := range args {
		if builtins[a] == nil {
			sh.errorf("enable: %s: not a shell builtin", a)
			status = 1
			continue
		}
		if sh.disabled == nil {
			sh.disabled = map[string]bool{}
		}
		sh.disabled[a] = off
	}
	return status
}
