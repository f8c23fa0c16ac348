package shell

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

func builtinPwd(sh *Shell, args []string) int {
	phys := sh.physic
	for _, a := range args[1:] {
		switch a {
		case "-P":
			phys = true
		case "-L":
			phys = false
		case "--":
		default:
			if strings.HasPrefix(a, "-") && len(a) > 1 {
				return sh.usage("pwd", a[:2])
			}
		}
	}
	dir := sh.dir
	if phys || sh.program {
		if p, err := sh.x.fs.Realpath(dir); err == nil {
			dir = p
		}
	}
	sh.out(dir + "\n")
	return 0
}

// cleanPath resolves . and .. textually, as cd -L does.
func cleanPath(p string) string {
	var out []string
	for _, c := range strings.Split(p, "/") {
		switch c {
		case "", ".":
		case "..":
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
		default:
			out = append(out, c)
		}
	}
	clean := "/" + strings.Join(out, "/")
	if strings.HasPrefix(p, "//") && !strings.HasPrefix(p, "///") {
		clean = "/" + clean // POSIX lets exactly two slashes be special, and bash keeps them
	}
	return clean
}

// chdir changes the directory; name is what messages call it.
func (sh *Shell) chdir(cmd, name, target string, phys bool) bool {
	path := sh.abs(target)
	st, err := sh.x.fs.Stat(path)
	if err == nil && !phys {
		// A ".." that textually goes through something missing is an error as well.
		path = cleanPath(path)
		st, err = sh.x.fs.Stat(path)
	}
	switch {
	case err == nil && !st.IsDir():
		err = vfs.ENOTDIR
	case err == nil && !sh.access(st, 1):
		err = vfs.EACCES
	}
	if err != nil {
		if sh.dash {
			sh.errorf("%s: can't cd to %s", cmd, name)
		} else {
			sh.errorf("%s: %s: %s", cmd, printable(name), proc.Strerror(err))
		}
		return false
	}
	if phys {
		if p, err := sh.x.fs.Realpath(path); err == nil {
			path = p
		}
	}
	sh.setDir(path)
	return true
}

func (sh *Shell) setDir(path string) {
	old := sh.str("PWD")
	if old == "" {
		old = sh.dir
	}
	sh.dir = path
	sh.setVar("OLDPWD", old)
	sh.setVar("PWD", path)
}

func builtinCd(sh *Shell, args []string) int {
	phys := sh.physic
	args = args[1:]
	for c := range letters(&args) {
		switch c {
		case 'P':
			phys = true
		case 'L':
			phys = false
		case 'e', '@':
		default:
			return sh.usage("cd", "-"+string(c))
		}
	}
	if len(args) > 1 {
		sh.errorf("cd: too many arguments")
		return 1
	}
	var target string
	show := false
	switch {
	case len(args) == 0:
		h, ok := sh.get("HOME")
		if !ok {
			sh.errorf("cd: HOME not set")
			return 1
		}
		if target = h; target == "" {
			return 0
		}
	case args[0] == "-":
		o, ok := sh.get("OLDPWD")
		if !ok {
			sh.errorf("cd: OLDPWD not set")
			return 1
		}
		target, show = o, true
	default:
		target = args[0]
	}
	if target == "" {
		if show {
			sh.out("\n")
		}
		return 0
	}
	if target[0] != '/' && target != "." && target != ".." && !strings.HasPrefix(target, "./") &&
		!strings.HasPrefix(target, "../") {
		for _, d := range strings.Split(sh.str("CDPATH"), ":") {
			if d == "" {
				continue
			}
			p := strings.TrimSuffix(d, "/") + "/" + target
			if st, err := sh.x.fs.Stat(sh.abs(p)); err == nil && st.IsDir() {
				target, show = p, true
				break
			}
		}
	}
	if !sh.chdir("cd", target, target, phys) {
		return sh.redirected()
	}
	if show {
		sh.out(sh.dir + "\n")
	}
	return 0
}

// stack is the directory stack, the current directory first.
func (sh *Shell) stack() []string { return append([]string{sh.dir}, sh.dirStack...) }

func (sh *Shell) homely(p string) string {
	h := sh.str("HOME")
	if h != "" && (p == h || strings.HasPrefix(p, h+"/")) {
		return "~" + p[len(h):]
	}
	return p
}

func (sh *Shell) printStack() {
	var out []string
	for _, d := range sh.stack() {
		out = append(out, sh.homely(d))
	}
	sh.out(strings.Join(out, " ") + "\n")
}

// stackIndex reads +N and -N.
func stackIndex(s string, n int) (int, bool) {
	k, err := strconv.Atoi(s[1:])
	if err != nil {
		return 0, false
	}
	if s[0] == '-' {
		k = n - 1 - k
	}
	return k, true
}

func builtinPushd(sh *Shell, args []string) int {
	args = args[1:]
	noCD := false
	for len(args) > 0 && (args[0] == "-n" || args[0] == "--") {
		noCD = noCD || args[0] == "-n"
		args = args[1:]
	}
	st := sh.stack()
	switch {
	case len(args) == 0:
		if len(st) < 2 {
			sh.errorf("pushd: no other directory")
			return 1
		}
		old := st[0]
		if !sh.chdir("pushd", st[1], st[1], false) {
			return 1
		}
		sh.dirStack = append([]string{old}, st[2:]...)
	case len(args[0]) > 1 && (args[0][0] == '+' || args[0][0] == '-'):
		k, ok := stackIndex(args[0], len(st))
		if !ok {
			sh.errorf("pushd: %s: invalid number", args[0])
			sh.eprint(usageLine("pushd"))
			return 2
		}
		if len(st) == 1 {
			sh.errorf("pushd: directory stack empty")
			return 1
		}
		if k < 0 || k >= len(st) {
			sh.errorf("pushd: %s: directory stack index out of range", args[0])
			return 1
		}
		rot := append(slices.Clone(st[k:]), st[:k]...)
		if !sh.chdir("pushd", rot[0], rot[0], false) {
			return 1
		}
		sh.dirStack = rot[1:]
	case len(args) > 1:
		sh.errorf("pushd: too many arguments")
		return 1
	default:
		if noCD {
			sh.dirStack = append([]string{args[0]}, sh.dirStack...)
			break
		}
		target := args[0]
		if target == "-" {
			target = sh.str("OLDPWD")
		}
		if !sh.chdir("pushd", target, target, false) {
			return 1
		}
		sh.dirStack = st
	}
	sh.hold(64)
	sh.printStack()
	return 0
}

func builtinPopd(sh *Shell, args []string) int {
	args = args[1:]
	noCD := false
	if len(args) > 0 && args[0] == "-n" {
		noCD = true
		args = args[1:]
	}
	st := sh.stack()
	k := 0
	if len(args) > 0 {
		n, ok := 0, false
		if len(args[0]) > 1 && (args[0][0] == '+' || args[0][0] == '-') {
			n, ok = stackIndex(args[0], len(st))
		}
		if !ok {
			sh.errorf("popd: %s: invalid argument", args[0])
			sh.eprint(usageLine("popd"))
			return 2
		}
		if len(st) < 2 {
			sh.errorf("popd: directory stack empty")
			return 1
		}
		if n < 0 || n >= len(st) {
			sh.errorf("popd: %s: directory stack index out of range", args[0])
			return 1
		}
		k = n
	}
	if len(st) < 2 {
		sh.errorf("popd: directory stack empty")
		return 1
	}
	if k == 0 && !noCD {
		if !sh.chdir("popd", st[1], st[1], false) {
			return 1
		}
		sh.dirStack = st[2:]
	} else {
		if k == 0 {
			k = 1
		}
		sh.dirStack = append(slices.Clone(st[1:k]), st[k+1:]...)
	}
	sh.printStack()
	return 0
}

func builtinDirs(sh *Shell, args []string) int {
	long, lines, numbered := false, false, false
	st := sh.stack()
	pick := -1
	for _, a := range args[1:] {
		switch {
		case a == "-c":
			sh.dirStack = nil
			return 0
		case len(a) > 1 && (a[0] == '+' || a[0] == '-' && a[1] >= '0' && a[1] <= '9'):
			k, ok := stackIndex(a, len(st))
			if len(st) == 1 && k != 0 {
				sh.errorf("dirs: directory stack empty")
				return 1
			}
			if !ok || k < 0 || k >= len(st) {
				sh.errorf("dirs: %s: directory stack index out of range", a)
				return 1
			}
			pick = k
		case len(a) > 1 && a[0] == '-' && strings.Trim(a[1:], "lpv") == "":
			long = long || strings.Contains(a, "l")
			lines = lines || strings.ContainsAny(a, "pv")
			numbered = numbered || strings.Contains(a, "v")
		default:
			what := "option"
			if a != "" && (a[0] == '-' || a[0] == '+') {
				what = "number"
			}
			sh.errorf("dirs: %s: invalid %s", a, what)
			sh.eprint(usageLine("dirs"))
			return 2
		}
	}
	name := func(s string) string {
		if long {
			return s
		}
		return sh.homely(s)
	}
	if pick >= 0 {
		sh.out(name(st[pick]) + "\n")
		return 0
	}
	if !lines {
		out := make([]string, len(st))
		for i, d := range st {
			out[i] = name(d)
		}
		sh.out(strings.Join(out, " ") + "\n")
		return 0
	}
	for i, d := range st {
		if numbered {
			n := itoa(i)
			sh.out(strings.Repeat(" ", max(2-len(n), 0)) + n + "  ")
		}
		sh.out(name(d) + "\n")
	}
	return 0
}
