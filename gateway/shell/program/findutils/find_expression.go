package findutils

import (
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// The grammar: comma < or < and < not.

func (f *findRun) peek() string {
	if f.pos < len(f.args) {
		return f.args[f.pos]
	}
	return ""
}

// The operands of a chain are called one after the other: a chain may be as long as the arguments, and the stack must
// not grow with it.

func (f *findRun) comma() findTest {
	tests := []findTest{f.or()}
	for f.pos < len(f.args) && f.peek() == "," {
		f.pos++
		f.needOperand(",")
		tests = append(tests, f.or())
	}
	if len(tests) == 1 {
		return tests[0]
	}
	return func(e *findEntry) bool {
		ok := false
		for i, test := range tests {
			if f.stopped(i) {
				return false
			}
			ok = test(e)
		}
		return ok
	}
}

func (f *findRun) or() findTest {
	tests := []findTest{f.and()}
	for f.pos < len(f.args) && (f.peek() == "-o" || f.peek() == "-or") {
		op := f.peek()
		f.pos++
		f.needOperand(op)
		tests = append(tests, f.and())
	}
	if len(tests) == 1 {
		return tests[0]
	}
	return func(e *findEntry) bool {
		for i, test := range tests {
			if f.stopped(i) {
				return false
			}
			if test(e) {
				return true
			}
		}
		return false
	}
}

// stopped counts the operands of a chain and reports whether one of those before the i-th was -quit.
func (f *findRun) stopped(i int) bool {
	const many = 64
	if i%many == many-1 {
		f.p.Tick(many)
	}
	return i > 0 && f.quit
}

func (f *findRun) needOperand(op string) {
	if f.pos >= len(f.args) || f.peek() == ")" {
		f.fatal("expected an expression after '%s'", op)
	}
}

func (f *findRun) and() findTest {
	tests := []findTest{f.not()}
loop:
	for f.pos < len(f.args) {
		op := f.peek()
		switch op {
		case "-o", "-or", ",", ")":
			break loop
		case "-a", "-and":
			f.pos++
			f.needOperand(op)
		}
		tests = append(tests, f.not())
	}
	if len(tests) == 1 {
		return tests[0]
	}
	return func(e *findEntry) bool {
		for i, test := range tests {
			if f.stopped(i) || !test(e) {
				return false
			}
		}
		return true
	}
}

func (f *findRun) not() findTest {
	if f.depth++; f.depth > 2000 {
		f.fatal("expression is nested too deeply")
	}
	defer func() { f.depth-- }()
	switch op := f.peek(); op {
	case "!", "-not":
		f.pos++
		f.needOperand(op)
		x := f.not()
		return func(e *findEntry) bool { return !x(e) }
	case "(":
		f.pos++
		if f.pos >= len(f.args) {
			f.fatal("invalid expression; expected to find a ')' but didn't see one. Perhaps you need an extra predicate after '('")
		}
		if f.peek() == ")" {
			f.fatal("invalid expression; empty parentheses are not allowed.")
		}
		x := f.comma()
		if f.pos >= len(f.args) {
			f.fatal("invalid expression; I was expecting to find a ')' somewhere but did not see one.")
		}
		f.pos++
		return x
	case ")":
		f.fatal("invalid expression; you have used a binary operator or closed a parenthesis with nothing before it.")
	case "-o", "-or", "-a", "-and", ",":
		f.fatal("invalid expression; you have used a binary operator '%s' with nothing before it.", op)
	}
	return f.predicate()
}

// arg takes the argument of predicate name.
func (f *findRun) arg(name string) string {
	if f.pos >= len(f.args) {
		f.fatal("missing argument to `%s'", name)
	}
	f.pos++
	return f.args[f.pos-1]
}

func (f *findRun) invalid(name, arg string) { f.fatal("invalid argument `%s' to `%s'", arg, name) }

// compare parses [+-]N into a comparison.
func (f *findRun) compare(name, arg string) func(n int64) bool {
	cmp, digits := signOf(arg)
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || digits == "" || digits[0] == '-' || digits[0] == '+' {
		f.invalid(name, arg)
	}
	return comparison(cmp, n)
}

func signOf(arg string) (sign byte, rest string) {
	if arg != "" && (arg[0] == '+' || arg[0] == '-') {
		return arg[0], arg[1:]
	}
	return 0, arg
}

func comparison(sign byte, n int64) func(int64) bool {
	switch sign {
	case '+':
		return func(v int64) bool { return v > n }
	case '-':
		return func(v int64) bool { return v < n }
	}
	return func(v int64) bool { return v == n }
}

func always(*findEntry) bool { return true }

// timeOf picks a timestamp; there are no access times, the time of modification stands for them.
func timeOf(which byte) func(*vfs.Stat) int64 {
	if which == 'c' {
		return func(st *vfs.Stat) int64 { return st.Ctime }
	}
	return func(st *vfs.Stat) int64 { return st.Mtime }
}

func (f *findRun) predicate() findTest {
	name := f.args[f.pos]
	if !strings.HasPrefix(name, "-") {
		shown := name
		f.p.Errorf("paths must precede expression: `%s'", shown)
		if _, err := f.p.Lstat(name); err == nil && slices.Contains([]string{"-name", "-iname", "-path", "-ipath",
			"-wholename", "-iwholename", "-lname", "-ilname", "-regex", "-iregex"}, f.lastPred) {
			f.p.Errorf("possible unquoted pattern after predicate `%s'?", f.lastPred)
		}
		f.p.Exit(1)
	}
	f.pos++
	if strings.HasPrefix(name, "--") {
		name = name[1:]
	}
	defer func() { f.lastPred = name }()
	switch name {
	case "-name", "-iname":
		pat, fold := f.arg(name), name == "-iname"
		return func(e *findEntry) bool { return program.Fnmatch(f.p, pat, e.base(), fold) }
	case "-path", "-ipath", "-wholename", "-iwholename":
		pat, fold := f.arg(name), name[1] == 'i'
		return func(e *findEntry) bool { return program.Fnmatch(f.p, pat, e.path, fold) }
	case "-lname", "-ilname":
		pat, fold := f.arg(name), name == "-ilname"
		return func(e *findEntry) bool {
			if e.stat().Kind != vfs.Symlink {
				return false
			}
			target, err := f.p.FS.Readlink(f.p.Abs(e.path))
			return err == nil && program.Fnmatch(f.p, pat, target, fold)
		}
	case "-regex", "-iregex":
		return f.regexTest(f.arg(name), name == "-iregex")
	case "-regextype":
		f.regexType = f.arg(name)
		if !slices.Contains(findRegexTypes, f.regexType) {
			f.fatal("Unknown regular expression type %s; valid types are ‘%s’.", program.Quote(f.regexType),
				strings.Join(findRegexTypes, "’, ‘"))
		}
		return always
	case "-type", "-xtype":
		return f.typeTest(name, f.arg(name))
	case "-size":
		return f.sizeTest(f.arg(name))
	case "-empty":
		return func(e *findEntry) bool {
			switch st := e.stat(); st.Kind {
			case vfs.Regular:
				return st.Size == 0
			case vfs.Dir:
				list, err := f.p.ReadDir(e.path)
				return err == nil && len(list) == 0
			}
			return false
		}
	case "-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin":
		return f.ageTest(name, f.arg(name))
	case "-newer", "-anewer", "-cnewer":
		st := f.reference(f.arg(name))
		get := timeOf(name[1])
		return func(e *findEntry) bool { return get(e.stat()) > st.Mtime }
	case "-perm":
		return f.permTest(f.arg(name))
	case "-user", "-group":
		return f.ownerTest(name, f.arg(name))
	case "-uid":
		cmp := f.compare(name, f.arg(name))
		return func(e *findEntry) bool { return cmp(int64(e.stat().UID)) }
	case "-gid":
		cmp := f.compare(name, f.arg(name))
		return func(e *findEntry) bool { return cmp(int64(e.stat().GID)) }
	case "-nouser":
		return func(e *findEntry) bool { return f.userName(e.stat().UID) == "" }
	case "-nogroup":
		return func(e *findEntry) bool { return f.groupName(e.stat().GID) == "" }
	case "-links":
		cmp := f.compare(name, f.arg(name))
		return func(e *findEntry) bool { return cmp(int64(e.stat().Nlink)) }
	case "-inum":
		cmp := f.compare(name, f.arg(name))
		return func(e *findEntry) bool { return cmp(int64(e.stat().Ino)) }
	case "-used":
		arg := f.arg(name)
		if n, err := strconv.ParseFloat(strings.TrimLeft(arg, "+-"), 64); err != nil || math.IsNaN(n) {
			f.fatal("Invalid argument %s to -used", arg)
		}
		cmp := f.compare(name, arg)
		return func(e *findEntry) bool { return cmp((e.stat().Mtime - e.stat().Ctime) / int64(24*time.Hour)) }
	case "-samefile":
		st := f.reference(f.arg(name))
		return func(e *findEntry) bool { return e.stat().Ino == st.Ino }
	case "-maxdepth", "-mindepth":
		arg := f.arg(name)
		n, err := strconv.ParseUint(arg, 10, 31)
		if err != nil {
			f.fatal("Expected a positive decimal integer argument to %s, but got %s", name, program.Quote(arg))
		}
		if name == "-maxdepth" {
			f.maxDepth = int(n)
		} else {
			f.minDepth = int(n)
		}
		return always
	case "-depth", "-d":
		f.postOrder, f.explicit = true, true
		return always
	case "-daystart":
		y, m, d := f.now.Date()
		f.origin = time.Date(y, m, d+1, 0, 0, 0, 0, f.now.Location())
		return always
	case "-follow":
		f.follow = 'L'
		return always
	case "-xdev", "-mount", "-noleaf", "-warn", "-nowarn", "-ignore_readdir_race", "-noignore_readdir_race":
		return always
	case "-fstype":
		fs := f.arg(name)
		return func(*findEntry) bool { return fs == findFileSystem }
	case "-true":
		return always
	case "-false":
		return func(*findEntry) bool { return false }
	case "-readable":
		return f.accessTest(4)
	case "-writable":
		return f.accessTest(2)
	case "-executable":
		return f.accessTest(1)
	case "-prune":
		f.prunes = true
		return func(*findEntry) bool { f.prune = true; return true }
	case "-quit":
		f.action = true
		return func(*findEntry) bool { f.quit = true; return true }
	case "-print":
		f.action = true
		return f.printer("\n")
	case "-print0":
		f.action = true
		return f.printer("\x00")
	case "-printf":
		f.action = true
		return f.formatter(f.arg(name), f.p.Out)
	case "-ls":
		f.action = true
		return func(e *findEntry) bool { f.list(f.p.Out, e); return true }
	case "-fprint", "-fprint0", "-fprintf", "-fls":
		f.action = true
		w := f.file(f.arg(name))
		switch name {
		case "-fprintf":
			return f.formatter(f.arg(name), w)
		case "-fls":
			return func(e *findEntry) bool { f.list(w, e); return true }
		}
		end := "\n"
		if name == "-fprint0" {
			end = "\x00"
		}
		return func(e *findEntry) bool { _, _ = io.WriteString(w, e.path+end); return true }
	case "-delete":
		f.action, f.deletes, f.postOrder = true, true, true
		return f.remove
	case "-exec", "-execdir", "-ok", "-okdir":
		f.action = true
		return f.execTest(name)
	case "-help":
		f.p.Out.WriteString("Usage: find [-H] [-L] [-P] [-Olevel] [-D debugopts] [path...] [expression]\n\n" +
			"Looks at the paths, the current directory without one, and at everything below; the expression says what to print or do, -print without one.\n\n")
		getopt.ListSection(f.p)
		f.p.Exit(0)
	case "-version":
		f.p.Out.WriteString("find (GNU findutils) 4.9.0\n")
		f.p.Exit(0)
	case "-context":
		f.fatal("invalid predicate -context: SELinux is not enabled.")
	}
	if xy, ok := strings.CutPrefix(name, "-newer"); ok {
		if len(xy) == 2 && strings.IndexByte("acm", xy[0]) >= 0 && strings.IndexByte("acmt", xy[1]) >= 0 {
			return f.newerTest(xy, f.arg(name))
		}
		if len(xy) == 2 && (xy[0] == 'B' || xy[1] == 'B') {
			f.p.Errorf("This system does not provide a way to find the birth time of a file.")
		}
		f.fatal("invalid predicate `%s'", name)
	}
	f.fatal("unknown predicate `%s'", f.args[f.pos-1])
	return nil
}
