package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/fserr"
	"github.com/pgbox/pgbox/gateway/shell/datetime"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/regex"
)

// findTest is one node of the expression.
type findTest func(e *findEntry) bool

// findEntry is the file under examination.
type findEntry struct {
	f      *findRun
	path   string // as printed
	start  string // the starting point it was found under
	depth  int
	kind   proc.Kind // from the directory: of the name itself
	st     proc.Stat
	loaded bool
	failed bool
}

// stat is what the tests look at: the target of a link with -L.
func (e *findEntry) stat() *proc.Stat {
	if e.loaded {
		return &e.st
	}
	e.loaded = true
	var err error
	follow := e.f.follow == 'L' || e.f.follow == 'H' && e.depth == 0
	if follow {
		if e.st, err = e.f.p.Stat(e.path); err == nil {
			return &e.st
		}
	}
	if e.st, err = e.f.p.Lstat(e.path); err != nil {
		e.failed = true
		e.f.complain(e.path, err)
	}
	return &e.st
}

// kindOf avoids a look-up when the directory has said it.
func (e *findEntry) kindOf() proc.Kind {
	if e.loaded || e.kind == 0 || e.kind == proc.Symlink && e.f.follow == 'L' || e.depth == 0 {
		return e.stat().Kind
	}
	return e.kind
}

func (e *findEntry) base() string { return baseName(e.path) }

// findRun is one run of find.
type findRun struct {
	ctx       context.Context
	p         *proc.Process
	args      []string
	pos       int
	follow    byte // P, H or L
	maxDepth  int
	minDepth  int
	postOrder bool
	action    bool // the expression has an action, so -print is not implied
	deletes   bool
	explicit  bool // -depth was given
	prunes    bool
	regexType string
	now       time.Time
	origin    time.Time // what ages count from
	status    int
	quit      bool
	prune     bool
	batches   []*findBatch
	files     map[string]proc.File
	lastPred  string
	pathList  string // what -files0-from names
	depth     int    // nesting of the expression
}

// findFileSystem is the type that every file is on.
const findFileSystem = "ext4"

// findDebug are the words of -D; none has an effect.
var findDebug = []string{"exec", "opt", "rates", "search", "stat", "time", "tree", "all", "help"}

func findCommand(ctx context.Context, p *proc.Process) int {
	p.Args[0] = "find"
	f := &findRun{ctx: ctx, p: p, follow: 'P', maxDepth: math.MaxInt, regexType: "findutils-default", now: localNow(p), files: map[string]proc.File{}}
	f.origin = f.now
	defer func() {
		for _, file := range f.files {
			_ = file.Close()
		}
	}()
	args := p.Args[1:]
leading:
	for len(args) > 0 {
		switch a := args[0]; {
		case a == "-H" || a == "-L" || a == "-P":
			f.follow = a[1]
		case a == "-D":
			if len(args) < 2 {
				p.Errorf("Missing argument after the -D option.")
				return 1
			}
			for _, flag := range strings.Split(args[1], ",") {
				if flag == "help" {
					p.Out.WriteString("Valid arguments for -D:\n" + strings.Join(findDebug, ", ") + "\n")
					return 0
				}
				if !slices.Contains(findDebug, flag) {
					p.Errorf("Ignoring unrecognised debug flag %s", quote(flag))
				}
			}
			args = args[1:]
		case a == "-O":
			p.Errorf("The -O option must be immediately followed by a decimal integer")
			return 1
		case strings.HasPrefix(a, "-O"):
			if a[2] < '0' || a[2] > '9' {
				p.Errorf("Please specify a decimal number immediately after -O")
				return 1
			}
		case a == "--":
			args = args[1:]
			break leading
		default:
			break leading
		}
		args = args[1:]
	}
	var starts []string
	for len(args) > 0 && !startsExpression(args[0]) {
		starts = append(starts, args[0])
		args = args[1:]
	}
	if i := slices.Index(args, "-files0-from"); i >= 0 {
		if i+1 == len(args) {
			f.fatal("missing argument to `-files0-from'")
		}
		if len(starts) > 0 {
			p.Errorf("extra operand %s", quote(starts[0]))
			p.Errorf("file operands cannot be combined with -files0-from")
			return 1
		}
		list, ok := filesFrom(p, args[i+1], quote, "cannot open %s for reading: %s")
		if !ok {
			return 1
		}
		f.pathList = args[i+1]
		if f.pathList == "-" {
			f.pathList = "(standard input)"
		}
		starts, args = list, slices.Concat(args[:i], args[i+2:])
	} else if len(starts) == 0 {
		starts = []string{"."}
	}
	f.args = args
	var test findTest
	if len(args) > 0 {
		test = f.comma()
		if f.pos < len(f.args) {
			if f.args[f.pos] == ")" {
				f.fatal("you have too many ')'")
			}
			f.fatal("paths must precede expression: `%s'", f.args[f.pos])
		}
	}
	if f.deletes && f.prunes && !f.explicit {
		f.fatal("The -delete action automatically turns on -depth, but -prune does nothing when -depth is in effect.  If you want to carry on anyway, just explicitly use the -depth option.")
	}
	switch {
	case test == nil:
		test = f.printer("\n")
	case !f.action:
		first, print := test, f.printer("\n")
		test = func(e *findEntry) bool { return first(e) && print(e) }
	}
	for i, s := range starts {
		if f.quit {
			break
		}
		if s == "" && f.pathList != "" {
			p.Errorf("%s:%d: invalid zero-length file name", quote(f.pathList), i+1)
			f.status = 1
			continue
		}
		f.walk(s, test)
	}
	for _, b := range f.batches {
		b.run()
	}
	return f.status
}

func startsExpression(a string) bool {
	return len(a) > 1 && a[0] == '-' || a == "(" || a == ")" || a == "!"
}

func (f *findRun) fatal(format string, args ...any) {
	f.p.Errorf(format, args...)
	f.p.Exit(1)
}

func (f *findRun) complain(path string, err error) {
	f.p.Errorf("%s: %s", quote(path), proc.Strerror(err))
	f.status = 1
}

func (f *findRun) walk(start string, test findTest) {
	e := &findEntry{f: f, path: start, start: start}
	st := e.stat()
	if e.failed {
		return
	}
	f.visit(e, st.Kind == proc.Dir, test, nil)
}

func (f *findRun) visit(e *findEntry, dir bool, test findTest, parents []findParent) {
	f.p.Tick(8)
	if dir && f.follow == 'L' {
		for _, a := range parents {
			if a.ino == e.stat().Ino {
				f.p.Errorf("File system loop detected; %s is part of the same file system loop as %s.", quote(e.path), quote(a.path))
				f.status = 1
				return
			}
		}
		parents = append(parents[:len(parents):len(parents)], findParent{e.stat().Ino, e.path})
	}
	f.prune = false
	if !f.postOrder && e.depth >= f.minDepth {
		test(e)
		if f.quit {
			return
		}
	}
	if dir && !f.prune && e.depth < f.maxDepth {
		entries, err := f.p.ReadDir(e.path)
		if err != nil {
			f.complain(e.path, err)
		}
		prefix := e.path
		if !strings.HasSuffix(prefix, "/") {
			prefix += "/"
		}
		for i := range entries {
			d := &entries[i]
			child := &findEntry{f: f, path: prefix + d.Name, start: e.start, depth: e.depth + 1, kind: d.Kind}
			childDir := d.Kind == proc.Dir
			if d.Kind == proc.Symlink && f.follow == 'L' {
				childDir = child.stat().Kind == proc.Dir
			}
			f.visit(child, childDir, test, parents)
			if f.quit {
				return
			}
		}
	}
	f.prune = false
	if f.postOrder && e.depth >= f.minDepth {
		test(e)
	}
}

type findParent struct {
	ino  uint64
	path string
}

// The grammar: comma < or < and < not.

func (f *findRun) peek() string {
	if f.pos < len(f.args) {
		return f.args[f.pos]
	}
	return ""
}

func (f *findRun) comma() findTest {
	left := f.or()
	for f.pos < len(f.args) && f.peek() == "," {
		f.pos++
		f.needOperand(",")
		a, b := left, f.or()
		left = func(e *findEntry) bool { a(e); return !f.quit && b(e) }
	}
	return left
}

func (f *findRun) or() findTest {
	left := f.and()
	for f.pos < len(f.args) && (f.peek() == "-o" || f.peek() == "-or") {
		op := f.peek()
		f.pos++
		f.needOperand(op)
		a, b := left, f.and()
		left = func(e *findEntry) bool { return a(e) || !f.quit && b(e) }
	}
	return left
}

func (f *findRun) needOperand(op string) {
	if f.pos >= len(f.args) || f.peek() == ")" {
		f.fatal("expected an expression after '%s'", op)
	}
}

func (f *findRun) and() findTest {
	left := f.not()
	for f.pos < len(f.args) {
		op := f.peek()
		switch op {
		case "-o", "-or", ",", ")":
			return left
		case "-a", "-and":
			f.pos++
			f.needOperand(op)
		}
		a, b := left, f.not()
		left = func(e *findEntry) bool { return a(e) && !f.quit && b(e) }
	}
	return left
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
func timeOf(which byte) func(*proc.Stat) int64 {
	if which == 'c' {
		return func(st *proc.Stat) int64 { return st.Ctime }
	}
	return func(st *proc.Stat) int64 { return st.Mtime }
}

func (f *findRun) predicate() findTest {
	name := f.args[f.pos]
	if !strings.HasPrefix(name, "-") {
		shown := name
		f.p.Errorf("paths must precede expression: `%s'", shown)
		if _, err := f.p.Lstat(name); err == nil && slices.Contains([]string{"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-lname", "-ilname", "-regex", "-iregex"}, f.lastPred) {
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
		return func(e *findEntry) bool { return fnmatch(pat, e.base(), fold) }
	case "-path", "-ipath", "-wholename", "-iwholename":
		pat, fold := f.arg(name), name[1] == 'i'
		return func(e *findEntry) bool { return fnmatch(pat, e.path, fold) }
	case "-lname", "-ilname":
		pat, fold := f.arg(name), name == "-ilname"
		return func(e *findEntry) bool {
			if e.stat().Kind != proc.Symlink {
				return false
			}
			target, err := f.p.FS.Readlink(f.p.Abs(e.path))
			return err == nil && fnmatch(pat, target, fold)
		}
	case "-regex", "-iregex":
		return f.regexTest(f.arg(name), name == "-iregex")
	case "-regextype":
		f.regexType = f.arg(name)
		if !slices.Contains(findRegexTypes, f.regexType) {
			f.fatal("Unknown regular expression type %s; valid types are ‘%s’.", quote(f.regexType), strings.Join(findRegexTypes, "’, ‘"))
		}
		return always
	case "-type", "-xtype":
		return f.typeTest(name, f.arg(name))
	case "-size":
		return f.sizeTest(f.arg(name))
	case "-empty":
		return func(e *findEntry) bool {
			switch st := e.stat(); st.Kind {
			case proc.Regular:
				return st.Size == 0
			case proc.Dir:
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
			f.fatal("Expected a positive decimal integer argument to %s, but got %s", name, quote(arg))
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
			"Looks at the paths, the current directory without one, and at everything below; the expression says what to print or do, -print without one.\n")
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

func (f *findRun) reference(name string) proc.Stat {
	st, err := f.p.Stat(name)
	if err != nil && f.follow == 'P' {
		st, err = f.p.Lstat(name)
	}
	if err != nil {
		f.fatal("%s: %s", quote(name), proc.Strerror(err))
	}
	return st
}

func (f *findRun) newerTest(xy, arg string) findTest {
	get := timeOf(xy[0])
	var limit int64
	if xy[1] == 't' {
		t, err := datetime.Parse(arg, f.now)
		if err != nil {
			f.fatal("I cannot figure out how to interpret %s as a date or time", quote(arg))
		}
		limit = t.UnixNano()
	} else {
		st := f.reference(arg)
		limit = timeOf(xy[1])(&st)
	}
	return func(e *findEntry) bool { return get(e.stat()) > limit }
}

func (f *findRun) typeTest(name, arg string) findTest {
	set := map[proc.Kind]bool{}
	none := map[byte]bool{}
	for i := 0; i < len(arg); i++ {
		c := arg[i]
		k := proc.Kind(0)
		switch c {
		case 'f':
			k = proc.Regular
		case 'd':
			k = proc.Dir
		case 'l':
			k = proc.Symlink
		case 'p':
			k = proc.FIFO
		case 'c':
			k = proc.Char
		case 'b', 's', 'D':
		default:
			f.fatal("Unknown argument to %s: %c", name, c)
		}
		if k != 0 && set[k] || none[c] {
			f.fatal("Duplicate file type '%c' in the argument list to %s.", c, name)
		}
		none[c] = true
		if k != 0 {
			set[k] = true
		}
		if i+1 < len(arg) {
			if i++; arg[i] != ',' {
				f.fatal("Must separate multiple arguments to %s using: ','", name)
			}
			if i+1 == len(arg) {
				f.fatal("Last file type in list argument to %s is missing, i.e., list is ending on: ','", name)
			}
		}
	}
	if arg == "" {
		f.fatal("Arguments to %s should contain at least one letter", name)
	}
	if name == "-type" {
		return func(e *findEntry) bool { return set[e.kindOf()] }
	}
	return func(e *findEntry) bool {
		st, err := f.p.Stat(e.path)
		if f.follow == 'L' {
			st, err = f.p.Lstat(e.path)
		} else if err != nil { // a dangling link is a link
			st, err = f.p.Lstat(e.path)
		}
		return err == nil && set[st.Kind]
	}
}

func (f *findRun) sizeTest(arg string) findTest {
	if arg == "" {
		f.fatal("invalid null argument to -size")
	}
	unit, num := int64(512), arg
	switch c := arg[len(arg)-1]; c {
	case 'b':
		num = arg[:len(arg)-1]
	case 'c', 'w', 'k', 'M', 'G':
		unit = map[byte]int64{'c': 1, 'w': 2, 'k': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}[c]
		num = arg[:len(arg)-1]
	default:
		if c < '0' || c > '9' {
			f.fatal("invalid -size type `%c'", c)
		}
	}
	sign, digits := signOf(num)
	n, err := strconv.ParseUint(digits, 10, 62)
	if err != nil {
		f.fatal("Invalid argument `%s' to -size", arg)
	}
	cmp := comparison(sign, int64(n))
	return func(e *findEntry) bool { return cmp((e.stat().Size + unit - 1) / unit) }
}

func (f *findRun) ageTest(name, arg string) findTest {
	sign, digits := signOf(arg)
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || n < 0 || math.IsNaN(n) || math.IsInf(n, 0) {
		f.invalid(name, arg)
	}
	get := timeOf(name[1])
	origin := f.origin.UnixNano()
	unit := float64(24 * time.Hour)
	days := strings.HasSuffix(name, "time")
	if !days {
		unit = float64(time.Minute)
	}
	return func(e *findEntry) bool {
		age := float64(origin-get(e.stat())) / unit
		switch {
		case sign == '+' && days:
			return age >= n+1
		case sign == '+':
			return age > n
		case sign == '-':
			return age < n
		case days:
			return age >= n && age < n+1
		}
		return age >= n-1 && age < n
	}
}

func (f *findRun) permTest(arg string) findTest {
	kind, spec := byte('='), arg
	if arg != "" && (arg[0] == '-' || arg[0] == '/') {
		kind, spec = arg[0], arg[1:]
	}
	change, ok := parseMode(spec)
	if !ok || spec == "" || spec[0] == '+' && len(spec) > 1 && spec[1] >= '0' && spec[1] <= '9' {
		f.fatal("invalid mode %s", quote(arg))
	}
	want := change.apply(0, false, 0)
	wantDir := change.apply(0, true, 0)
	if kind == '/' && want == 0 {
		f.p.Errorf("warning: you have specified a mode pattern %s (which is equivalent to /000). The meaning of -perm /000 has now been changed to be consistent with -perm -000; that is, while it used to match no files, it now matches all files.", arg)
	}
	return func(e *findEntry) bool {
		st := e.stat()
		w := want
		if st.Kind == proc.Dir {
			w = wantDir
		}
		switch kind {
		case '-':
			return st.Mode&w == w
		case '/':
			return w == 0 || st.Mode&w != 0
		}
		return st.Mode == w
	}
}

// accounts lists name:id pairs of /etc/passwd or /etc/group.
func (f *findRun) account(file, name string) (id uint32, ok bool) {
	data, err := f.p.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) > 2 && fields[0] == name {
			n, err := strconv.ParseUint(fields[2], 10, 32)
			return uint32(n), err == nil
		}
	}
	return 0, false
}

func (f *findRun) accountName(file string, id uint32) string {
	data, err := f.p.ReadFile(file)
	if err != nil {
		return ""
	}
	want := strconv.FormatUint(uint64(id), 10)
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) > 2 && fields[2] == want {
			return fields[0]
		}
	}
	return ""
}

func (f *findRun) userName(uid uint32) string {
	switch uid {
	case f.p.User.UID:
		return f.p.User.Name
	case 0:
		return "root"
	}
	return f.accountName("/etc/passwd", uid)
}

func (f *findRun) groupName(gid uint32) string {
	switch gid {
	case f.p.User.GID:
		return f.p.User.Group
	case 0:
		return "root"
	}
	return f.accountName("/etc/group", gid)
}

func orNumber(name string, id uint32) string {
	if name == "" {
		return strconv.FormatUint(uint64(id), 10)
	}
	return name
}

func (f *findRun) ownerTest(name, arg string) findTest {
	user := name == "-user"
	var id uint32
	switch {
	case user && arg == f.p.User.Name:
		id = f.p.User.UID
	case !user && arg == f.p.User.Group:
		id = f.p.User.GID
	case arg == "root":
	default:
		file := "/etc/passwd"
		if !user {
			file = "/etc/group"
		}
		n, ok := f.account(file, arg)
		if !ok {
			v, err := strconv.ParseUint(arg, 10, 32)
			if err != nil {
				if user {
					f.fatal("%s is not the name of a known user", quote(arg))
				}
				f.fatal("%s is not the name of an existing group", quote(arg))
			}
			n = uint32(v)
		}
		id = n
	}
	if user {
		return func(e *findEntry) bool { return e.stat().UID == id }
	}
	return func(e *findEntry) bool { return e.stat().GID == id }
}

func (f *findRun) accessTest(bit uint32) findTest {
	return func(e *findEntry) bool {
		st, err := f.p.Stat(e.path)
		if err != nil {
			return false
		}
		switch u := f.p.User; {
		case u.UID == 0:
			return bit != 1 || st.Kind == proc.Dir || st.Mode&0o111 != 0
		case st.UID == u.UID:
			return st.Mode>>6&bit != 0
		case st.GID == u.GID:
			return st.Mode>>3&bit != 0
		}
		return st.Mode&bit != 0
	}
}

var findRegexTypes = []string{"findutils-default", "ed", "emacs", "gnu-awk", "grep", "posix-awk", "awk", "posix-basic", "posix-egrep", "egrep", "posix-extended", "posix-minimal-basic", "sed"}

func (f *findRun) regexTest(pat string, fold bool) findTest {
	opt := regex.Options{WholeLine: true, IgnoreCase: fold, Bytes: byteLocale(f.p)}
	src := pat
	switch f.regexType {
	case "findutils-default", "emacs":
		opt.Extended, opt.Dialect = true, regex.Grep
		src = emacsToExtended(pat)
	case "gnu-awk", "posix-awk", "awk":
		opt.Dialect = regex.Awk
	case "posix-egrep", "egrep":
		opt.Extended, opt.Dialect = true, regex.Grep
	case "posix-extended":
		opt.Extended = true
	case "posix-minimal-basic":
		// Only POSIX's own operators.
		src = strings.NewReplacer(`\\`, `\\`, `\|`, `|`, `\+`, `+`, `\?`, `?`).Replace(pat)
	}
	re, err := regex.Compile(src, opt)
	if err != nil {
		f.fatal("failed to compile regular expression '%s': %v", pat, err)
	}
	re.SetTick(f.p.Tick)
	return func(e *findEntry) bool { return re.Match([]byte(e.path)) }
}

// emacsToExtended rewrites Emacs syntax, where groups and alternation have a backslash and
// braces are ordinary, as an extended expression.
func emacsToExtended(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			if strings.IndexByte("(|)", s[i]) < 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(s[i])
		case strings.IndexByte("(|){}", c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '[':
			j := i + 1
			if j < len(s) && s[j] == '^' {
				j++
			}
			if j < len(s) && s[j] == ']' {
				j++
			}
			for j < len(s) && s[j] != ']' {
				if s[j] == '[' && j+1 < len(s) && s[j+1] == ':' {
					if k := strings.Index(s[j:], ":]"); k > 0 {
						j += k + 1
					}
				}
				j++
			}
			b.WriteString(s[i:min(j+1, len(s))])
			i = j
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func (f *findRun) printer(end string) findTest {
	return func(e *findEntry) bool {
		f.p.Out.WriteString(e.path)
		f.p.Out.WriteString(end)
		return true
	}
}

// file opens an output file of -fprint and the like, once.
func (f *findRun) file(name string) io.Writer {
	switch name {
	case "/dev/stdout":
		return f.p.Out
	case "/dev/stderr":
		return f.p.Err
	}
	if w, ok := f.files[name]; ok {
		return w
	}
	w, err := f.p.Open(name, proc.WriteOnly|proc.Create|proc.Trunc, 0o666)
	if err != nil {
		f.fatal("%s: %s", quote(name), proc.Strerror(err))
	}
	f.files[name] = w
	return w
}

func (f *findRun) remove(e *findEntry) bool {
	if e.path == "." {
		return true
	}
	path := f.p.Abs(e.path)
	var err error
	if st, lerr := f.p.Lstat(e.path); lerr == nil && st.IsDir() {
		err = f.p.FS.Rmdir(path)
	} else {
		err = f.p.FS.Unlink(path)
	}
	if err != nil {
		f.p.Errorf("cannot delete %s: %s", quote(e.path), proc.Strerror(err))
		f.status = 1
		return false
	}
	return true
}

// list prints a line like ls -dils.
func (f *findRun) list(w io.Writer, e *findEntry) {
	st := e.stat()
	when := time.Unix(0, st.Mtime).In(f.now.Location())
	format := "%b %e %H:%M"
	if age := f.now.Sub(when); age > 182*24*time.Hour+12*time.Hour || age < -time.Hour {
		format = "%b %e  %Y"
	}
	size := strconv.FormatInt(st.Size, 10)
	if st.Kind == proc.Char {
		size = fmt.Sprintf("%d, %3d", st.Rdev>>8, st.Rdev&0xff)
	}
	line := fmt.Sprintf("%9d %6d %c%s %3d %-8s %-8s %8s %s %s", st.Ino, (st.Blocks+1)/2, kindLetter(st.Kind), modeString(st.Mode), st.Nlink,
		orNumber(f.userName(st.UID), st.UID), orNumber(f.groupName(st.GID), st.GID), size, datetime.Format(format, when), findEscape(e.path))
	if st.Kind == proc.Symlink {
		if target, err := f.p.FS.Readlink(f.p.Abs(e.path)); err == nil {
			line += " -> " + findEscape(target)
		}
	}
	_, _ = io.WriteString(w, line+"\n")
}

// findEscape shows a name as -ls does.
func findEscape(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case c == ' ' || c == '\\' || c == '"':
			b.WriteByte('\\')
			b.WriteByte(c)
		case cEscape(c) != "":
			b.WriteString(cEscape(c))
		case c < ' ' || c == 127:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// findPiece is a part of a -printf format.
type findPiece struct {
	text  string
	flags string // flags, width and precision of a directive
	verb  byte
	time  byte // the letter after %A, %C, %T
	stop  bool // \c
}

func (f *findRun) parseFormat(format string) []findPiece {
	var out []findPiece
	var text strings.Builder
	for i := 0; i < len(format); i++ {
		c := format[i]
		switch {
		case c == '\\' && i+1 < len(format):
			i++
			switch e := format[i]; {
			case e >= '0' && e <= '7':
				v := 0
				j := i
				for ; j < len(format) && j < i+3 && format[j] >= '0' && format[j] <= '7'; j++ {
					v = v*8 + int(format[j]-'0')
				}
				text.WriteByte(byte(v))
				i = j - 1
			case e == 'c':
				return append(out, findPiece{text: text.String(), stop: true})
			case strings.IndexByte(`abfnrtv\`, e) >= 0:
				text.WriteByte("\a\b\f\n\r\t\v\\"[strings.IndexByte(`abfnrtv\`, e)])
			default:
				f.p.Errorf("warning: unrecognized escape `\\%c'", e)
				text.WriteByte('\\')
				text.WriteByte(e)
			}
		case c == '%' && i+1 < len(format):
			i++
			start := i
			for i < len(format) && strings.IndexByte("-+ #0123456789.", format[i]) >= 0 {
				i++
			}
			if i >= len(format) {
				f.fatal("error: %% at end of format string")
			}
			flags, verb := format[start:i], format[i]
			switch {
			case verb == '%':
				text.WriteByte('%')
				continue
			case strings.IndexByte("ABCT", verb) >= 0:
				if i+1 >= len(format) {
					f.p.Errorf("warning: format directive `%%%c' should be followed by another character", verb)
					text.WriteString(format[start-1:])
					continue
				}
				i++
				out = append(out, findPiece{text: text.String(), flags: flags, verb: verb, time: format[i]})
			case strings.IndexByte("abcdDfFgGhHiklmMnpPsStuUyYZ", verb) >= 0:
				out = append(out, findPiece{text: text.String(), flags: flags, verb: verb})
			default:
				f.p.Errorf("warning: unrecognized format directive `%%%c'", verb)
				text.WriteString(format[start-1 : i+1])
				continue
			}
			text.Reset()
		case c == '%':
			f.fatal("error: %% at end of format string")
		default:
			text.WriteByte(c)
		}
	}
	return append(out, findPiece{text: text.String()})
}

func (f *findRun) formatter(format string, w io.Writer) findTest {
	pieces := f.parseFormat(format)
	return func(e *findEntry) bool {
		for i := range pieces {
			pc := &pieces[i]
			_, _ = io.WriteString(w, pc.text)
			if pc.stop {
				if w == io.Writer(f.p.Out) {
					f.p.Out.Flush()
				}
				break
			}
			if pc.verb != 0 {
				_, _ = io.WriteString(w, f.directive(pc, e))
			}
		}
		return true
	}
}

func (f *findRun) directive(pc *findPiece, e *findEntry) string {
	str := func(s string) string { return fmt.Sprintf("%"+strings.TrimLeft(pc.flags, "0#")+"s", s) }
	num := func(n int64) string {
		if pc.flags == "" {
			return strconv.FormatInt(n, 10)
		}
		return fmt.Sprintf("%"+pc.flags+"d", n)
	}
	stamp := func(ns int64) time.Time { return time.Unix(0, ns).In(f.now.Location()) }
	st := e.stat()
	switch pc.verb {
	case 'p':
		return str(e.path)
	case 'f':
		switch {
		case strings.Trim(e.path, "/") == "":
			return str("/")
		case strings.HasSuffix(e.path, "/"):
			return str(e.base() + "/")
		}
		return str(e.base())
	case 'h':
		i := strings.LastIndexByte(strings.TrimRight(e.path, "/"), '/')
		switch {
		case i == 0 || strings.Trim(e.path, "/") == "":
			return str("")
		case i < 0:
			return str(".")
		}
		return str(e.path[:i])
	case 'P':
		rest := strings.TrimPrefix(e.path, e.start)
		if e.depth > 0 && !strings.HasSuffix(e.start, "/") {
			rest = strings.TrimPrefix(rest, "/")
		}
		return str(rest)
	case 'H':
		return str(e.start)
	case 'd':
		return num(int64(e.depth))
	case 's':
		return str(strconv.FormatInt(st.Size, 10))
	case 'b':
		return str(strconv.FormatInt(st.Blocks, 10))
	case 'k':
		return str(strconv.FormatInt((st.Blocks+1)/2, 10))
	case 'S':
		if st.Size == 0 {
			return str("1")
		}
		return str(strconv.FormatFloat(float64(st.Blocks*512)/float64(st.Size), 'g', 6, 64))
	case 'm':
		if strings.Contains(pc.flags, "#") || pc.flags != "" {
			return fmt.Sprintf("%"+pc.flags+"o", st.Mode)
		}
		return strconv.FormatUint(uint64(st.Mode), 8)
	case 'M':
		return str(string(kindLetter(st.Kind)) + modeString(st.Mode))
	case 'n':
		return str(strconv.FormatUint(uint64(st.Nlink), 10))
	case 'i':
		return str(strconv.FormatUint(st.Ino, 10))
	case 'u':
		return str(orNumber(f.userName(st.UID), st.UID))
	case 'U':
		return str(strconv.FormatUint(uint64(st.UID), 10))
	case 'g':
		return str(orNumber(f.groupName(st.GID), st.GID))
	case 'G':
		return str(strconv.FormatUint(uint64(st.GID), 10))
	case 'l':
		if st.Kind != proc.Symlink {
			return str("")
		}
		target, _ := f.p.FS.Readlink(f.p.Abs(e.path))
		return str(target)
	case 'y':
		return str(findKind(st.Kind))
	case 'Y':
		lst, lerr := f.p.Lstat(e.path)
		if lerr != nil || lst.Kind != proc.Symlink {
			return str(findKind(st.Kind))
		}
		t, err := f.p.Stat(e.path)
		switch {
		case errors.Is(err, fserr.ELOOP):
			return str("L")
		case err != nil:
			return str("N")
		}
		return str(findKind(t.Kind))
	case 'F':
		return str(findFileSystem)
	case 'D':
		return num(1)
	case 'a', 't':
		return str(findCtime(stamp(st.Mtime)))
	case 'c':
		return str(findCtime(stamp(st.Ctime)))
	case 'A', 'T', 'B':
		return str(findTime(pc.time, stamp(st.Mtime)))
	case 'C':
		return str(findTime(pc.time, stamp(st.Ctime)))
	}
	return ""
}

func findKind(k proc.Kind) string {
	if k == proc.Regular {
		return "f"
	}
	return string(kindLetter(k))
}

// findFraction is the fraction of a second as find prints it: ten digits.
func findFraction(t time.Time) string { return fmt.Sprintf(".%09d0", t.Nanosecond()) }

func findCtime(t time.Time) string {
	return datetime.Format("%a %b %e %H:%M:%S", t) + findFraction(t) + datetime.Format(" %Y", t)
}

func findTime(verb byte, t time.Time) string {
	switch verb {
	case '@':
		return strconv.FormatInt(t.Unix(), 10) + findFraction(t)
	case '+':
		return datetime.Format("%Y-%m-%d+%H:%M:%S", t) + findFraction(t)
	case 'S':
		return datetime.Format("%S", t) + findFraction(t)
	case 'T', 'X':
		return datetime.Format("%H:%M:%S", t) + findFraction(t)
	case 'c':
		return datetime.Format("%c", t)
	}
	return datetime.Format("%"+string(verb), t)
}

// findBatch collects the names for one -exec … +.
type findBatch struct {
	f    *findRun
	argv []string
	dir  string // -execdir: where the names are
	list []string
	size int
}

// batchBytes bounds one command line; GNU takes what the system allows, at most this.
const batchBytes = 128 << 10

func (b *findBatch) run() {
	if len(b.list) == 0 {
		return
	}
	argv := append(append([]string{}, b.argv...), b.list...)
	b.list, b.size = nil, 0
	if b.f.spawn(argv, b.dir) != 0 {
		b.f.status = 1
	}
}

func (f *findRun) execTest(name string) findTest {
	dir := strings.HasSuffix(name, "dir")
	ask := strings.HasPrefix(name, "-ok")
	start := f.pos
	end, plus := -1, false
	for i := f.pos; i < len(f.args); i++ {
		if f.args[i] == ";" {
			end = i
			break
		}
		if f.args[i] == "+" && i > f.pos && f.args[i-1] == "{}" && !ask {
			end, plus = i, true
			break
		}
	}
	if end < 0 {
		for i := f.pos + 1; i < len(f.args) && !ask; i++ {
			if a := f.args[i-1]; f.args[i] == "+" && strings.Contains(a, "{}") {
				f.fatal("In ‘%s ... {} +’ the ‘{}’ must appear by itself, but you specified %s", name, quote(a))
			}
		}
		f.fatal("missing argument to `%s'", name)
	}
	if end == start {
		f.invalid(name, f.args[end])
	}
	f.pos = end + 1
	argv := f.args[start:end]
	if plus {
		argv = argv[:len(argv)-1]
		for _, a := range argv {
			if strings.Contains(a, "{}") {
				f.fatal("Only one instance of {} is supported with %s ... +", name)
			}
		}
		if len(argv) == 0 {
			f.invalid(name, "{}")
		}
		b := &findBatch{f: f, argv: argv}
		f.batches = append(f.batches, b)
		return func(e *findEntry) bool {
			arg, where := e.path, ""
			if dir {
				arg, where = execDirName(e.path)
			}
			if len(b.list) > 0 && (b.dir != where || b.size+len(arg) > batchBytes) {
				b.run()
			}
			b.dir = where
			b.list = append(b.list, arg)
			b.size += len(arg) + 9
			return true
		}
	}
	return func(e *findEntry) bool {
		arg, where := e.path, ""
		if dir {
			arg, where = execDirName(e.path)
		}
		if ask {
			f.p.Out.Flush()
			f.p.Err.WriteString("< " + argv[0] + " ... " + e.path + " > ? ")
			if !readYes(f.p) {
				return false
			}
		}
		line := make([]string, len(argv))
		for i, a := range argv {
			line[i] = strings.ReplaceAll(a, "{}", arg)
		}
		return f.spawn(line, where) == 0
	}
}

// execDirName splits a path for -execdir.
func execDirName(path string) (name, dir string) {
	trimmed := strings.TrimRight(path, "/")
	if trimmed == "" {
		return "/", "/"
	}
	i := strings.LastIndexByte(trimmed, '/')
	switch {
	case i < 0:
		return "./" + trimmed, "."
	case i == 0:
		return "./" + trimmed[1:], "/"
	}
	return "./" + trimmed[i+1:], trimmed[:i]
}

// readYes reads a line of standard input and reports whether it begins with y.
func readYes(p *proc.Process) bool {
	yes, first := false, true
	var b [1]byte
	for {
		n, err := p.Stdin.Read(b[:])
		p.Tick(1)
		if n > 0 {
			if b[0] == '\n' {
				return yes
			}
			if first {
				yes = b[0] == 'y' || b[0] == 'Y'
			}
			first = false
		}
		if err != nil {
			return yes
		}
	}
}

func (f *findRun) spawn(argv []string, dir string) int {
	child := f.p.Child(argv...)
	if dir != "" {
		child.Dir = dir
		if !strings.HasPrefix(dir, "/") {
			if real, err := f.p.FS.Realpath(f.p.Abs(dir)); err == nil {
				child.Dir = real
			}
		}
	}
	if _, err := lookPath(child, argv[0]); err != nil {
		f.p.Out.Flush()
		f.p.Errorf("%s: %s", quote(argv[0]), proc.Strerror(err))
		return 127
	}
	return f.p.Exec(f.ctx, child)
}
