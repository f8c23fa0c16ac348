package shell

import (
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/pattern"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// testStatus is [[ … ]].
func (sh *Shell) testStatus(c *testCmd) int {
	return sh.softly(func() int {
		sh.enter()
		defer sh.leave()
		if sh.evalTest(c.x, 0) {
			return 0
		}
		return 1
	})
}

func (sh *Shell) evalTest(x testExpr, depth int) bool {
	sh.tick()
	switch t := x.(type) {
	case *testParen:
		return sh.evalTest(t.x, depth+1)
	case *testLogic:
		switch t.op {
		case "!":
			switch t.x.(type) {
			case *testUnary, *testBinary:
				return !sh.simpleTest(t.x, true)
			}
			return !sh.evalTest(t.x, depth+1)
		case "&&":
			return sh.evalTest(t.x, depth+1) && sh.evalTest(t.y, depth+1)
		}
		return sh.evalTest(t.x, depth+1) || sh.evalTest(t.y, depth+1)
	}
	return sh.simpleTest(x, false)
}

// simpleTest is a test of one operator; not says that a "!" stands before it, which a trace shows.
func (sh *Shell) simpleTest(x testExpr, not bool) bool {
	switch t := x.(type) {
	case *testUnary:
		s := sh.expandStr(t.x)
		if sh.opts.get('x') {
			sh.traceTest(not, t.op+" "+traceOperand(s))
		}
		return sh.unaryTest(t.op, s)
	case *testBinary:
		return sh.binaryTest(t, not)
	}
	return false
}

func (sh *Shell) traceTest(not bool, text string) {
	if not {
		text = "! " + text
	}
	sh.trace("[[ " + text + " ]]")
}

// traceOperand is what a trace of [[ shows of an operand: nothing is quoted.
func traceOperand(s string) string {
	if s == "" {
		return "''"
	}
	return s
}

func (sh *Shell) binaryTest(t *testBinary, not bool) bool {
	x := sh.expandStr(t.x)
	switch t.op {
	case "=", "==", "!=":
		if sh.opts.get('x') {
			sh.traceTest(not, traceOperand(x)+" "+t.op+" "+sh.tracePattern(t.y))
		}
		return sh.matchWord(t.y, x, true) == (t.op != "!=")
	case "=~":
		re := sh.expandRegex(t.y)
		if sh.opts.get('x') {
			sh.traceTest(not, traceOperand(x)+" =~ "+re)
		}
		return sh.matchRegex(re, x)
	}
	y := sh.expandStr(t.y)
	if sh.opts.get('x') {
		sh.traceTest(not, traceOperand(x)+" "+t.op+" "+traceOperand(y))
	}
	switch t.op {
	case "<":
		return x < y
	case ">":
		return x > y
	case "-nt", "-ot", "-ef":
		return sh.compareFiles(t.op, x, y)
	}
	holds := false
	sh.softly(func() int { // what is no number makes it false
		holds = compareInts(t.op, sh.evalText(x, "[[: "), sh.evalText(y, "[[: "))
		return 0
	})
	return holds
}

// tracePattern is what a trace shows of a pattern: each quoted character has a backslash.
func (sh *Shell) tracePattern(w *word) string {
	e := expander{sh: sh, record: true}
	e.parts(w.parts, false)
	var b strings.Builder
	at := 0
	for i := 0; i < len(e.spans); i += 2 {
		b.Write(e.buf[at:e.spans[i]])
		for _, r := range string(e.buf[e.spans[i]:e.spans[i+1]]) {
			b.WriteByte('\\')
			b.WriteRune(r)
		}
		at = e.spans[i+1]
	}
	b.Write(e.buf[at:])
	return b.String()
}

// matchWord matches s against a word as a pattern, as case and [[ == ]] (cond) do.
func (sh *Shell) matchWord(w *word, s string, cond bool) bool {
	fold := sh.opts.shopt(nocasematch)
	if w.isLit {
		if fold {
			p, release := sh.pattern(pattern.Quote(w.lit), pattern.FoldCase)
			defer release()
			return p.Match(s)
		}
		return w.lit == s
	}
	pat := sh.expandPattern(w)
	if pat == "*" {
		return true
	}
	f := sh.patternFlags(fold)
	if cond {
		f |= pattern.ExtGlob
	}
	if len(pat) >= shortPattern {
		p, release := sh.pattern(pat, f)
		defer release()
		return p.Match(s)
	}
	p := sh.compilePattern(pat, f)
	if len(s) > 256 || p.Backtracks() {
		// The pattern may be shared with subshells, what counts its steps is this one's.
		p = p.Counting(sh.readStep)
	}
	return p.Match(s)
}

type patternKey struct {
	pat   string
	flags pattern.Flags
}

// compilePattern keeps the short patterns that loops use again and again.
func (sh *Shell) compilePattern(pat string, f pattern.Flags) *pattern.Pattern {
	k := patternKey{pat, f}
	if p := sh.patterns[k]; p != nil {
		return p
	}
	p := pattern.Compile(pat, f, nil)
	if sh.patterns == nil || len(sh.patterns) > 200 {
		sh.patterns = map[patternKey]*pattern.Pattern{}
	}
	sh.patterns[k] = p
	return p
}

// shortPattern is the length from which a pattern costs something to read and to keep.
const shortPattern = 256

// pattern reads a pattern that counts the steps of its matches as this shell's. Its bytes are held until release.
func (sh *Shell) pattern(pat string, f pattern.Flags) (p *pattern.Pattern, release func()) {
	if len(pat) < shortPattern {
		return pattern.Compile(pat, f, sh.readStep), func() {}
	}
	// A character may become an element, or a group with the instructions of an automaton.
	n := 64 * int64(len(pat))
	sh.hold(n)
	return pattern.Compile(pat, f, sh.readStep), func() { sh.hold(-n) }
}

func compareInts(op string, x, y int64) bool {
	switch op {
	case "-eq":
		return x == y
	case "-ne":
		return x != y
	case "-lt":
		return x < y
	case "-le":
		return x <= y
	case "-gt":
		return x > y
	}
	return x >= y
}

func (sh *Shell) statFile(name string, follow bool) (vfs.Stat, bool) {
	if name == "" {
		return vfs.Stat{}, false
	}
	path := sh.abs(name)
	if n, ok := proc.DevFD(path); ok && follow {
		d := sh.fds.get(n)
		if d == nil {
			return vfs.Stat{}, false
		}
		switch s := d.stream.(type) {
		case *fileStream:
			st, err := s.f.Stat()
			return st, err == nil
		case *memory:
			if !s.isPipe() {
				return vfs.Stat{Kind: vfs.Regular, Mode: 0o600, Size: int64(len(s.b))}, true
			}
		}
		return vfs.Stat{Kind: vfs.FIFO, Mode: 0o600}, true
	}
	var st vfs.Stat
	var err error
	if follow {
		st, err = sh.x.fs.Stat(path)
	} else {
		st, err = sh.x.fs.Lstat(path)
	}
	return st, err == nil
}

func (sh *Shell) compareFiles(op, x, y string) bool {
	a, okA := sh.statFile(x, true)
	b, okB := sh.statFile(y, true)
	switch op {
	case "-nt":
		return okA && (!okB || a.Mtime > b.Mtime)
	case "-ot":
		return okB && (!okA || a.Mtime < b.Mtime)
	}
	return okA && okB && a.Ino == b.Ino
}

// access is what test -r, -w and -x ask: the owner's, the group's or the others' bits.
func (sh *Shell) access(st vfs.Stat, bit uint32) bool {
	u := sh.x.cfg.User
	if u.UID == 0 {
		return bit != 1 || st.Mode&0o111 != 0 || st.IsDir()
	}
	switch {
	case st.UID == u.UID:
		return st.Mode>>6&bit != 0
	case st.GID == u.GID:
		return st.Mode>>3&bit != 0
	}
	return st.Mode&bit != 0
}

func (sh *Shell) unaryTest(op, s string) bool {
	switch op {
	case "-n":
		return s != ""
	case "-z":
		return s == ""
	case "-v":
		return sh.isSet(s)
	case "-R":
		v := sh.vars[s]
		return v != nil && v.attrs&aNameref != 0 && v.str != ""
	case "-o":
		l, ok := setLetter(s)
		return ok && sh.opts.get(l)
	case "-t":
		return false // no terminals here
	case "-L", "-h":
		st, ok := sh.statFile(s, false)
		return ok && st.Kind == vfs.Symlink
	}
	st, ok := sh.statFile(s, true)
	if !ok {
		return false
	}
	switch op {
	case "-e", "-a":
		return true
	case "-f":
		return st.Kind == vfs.Regular
	case "-d":
		return st.IsDir()
	case "-c":
		return st.Kind == vfs.Char
	case "-b", "-S":
		return false
	case "-p":
		return st.Kind == vfs.FIFO
	case "-s":
		return st.Size > 0
	case "-r":
		return sh.access(st, 4)
	case "-w":
		return sh.access(st, 2)
	case "-x":
		return sh.access(st, 1)
	case "-u":
		return st.Mode&0o4000 != 0
	case "-g":
		return st.Mode&0o2000 != 0
	case "-k":
		return st.Mode&0o1000 != 0
	case "-O":
		return st.UID == sh.x.cfg.User.UID
	case "-G":
		return st.GID == sh.x.cfg.User.GID
	case "-N":
		return true
	}
	return false
}

// isSet is test -v.
func (sh *Shell) isSet(s string) bool {
	if n, rest, ok := strings.Cut(s, "["); ok && strings.HasSuffix(rest, "]") && isName(n) {
		if name, _ := sh.deref(n, nil); sh.hasKey(name, rest[:len(rest)-1]) {
			return true // what was expanded already is not expanded again
		}
		c := compiler{}
		sub := c.subscript(rest[:len(rest)-1])
		if sub.all != 0 {
			v := sh.lookup(n)
			if v != nil && v.attrs&aAssoc != 0 {
				_, ok := v.assoc.m[sub.text]
				return ok
			}
			return v != nil && len(v.elements()) > 0
		}
		_, set := sh.element(n, sub)
		return set
	}
	if n, err := strconv.Atoi(s); err == nil {
		return n == 0 || n > 0 && n <= len(sh.args)
	}
	if strings.Contains(sh.target(s), "[") {
		return false // bash looks for a variable of that name
	}
	_, set := sh.get(s)
	return set
}

// hasKey reports whether an associative array has a key.
func (sh *Shell) hasKey(name, key string) bool {
	v := sh.lookup(name)
	if v == nil || v.attrs&aAssoc == 0 || v.assoc == nil {
		return false
	}
	_, ok := v.assoc.m[key]
	return ok
}

// testError ends test with status 2.
type testError struct{ msg string }

// builtinTest is test and [.
func builtinTest(sh *Shell, args []string) (status int) {
	name := args[0]
	args = args[1:]
	if name == "[" {
		if len(args) == 0 || args[len(args)-1] != "]" {
			sh.errorf("%s", sh.either("[: missing `]'", "[: missing ]"))
			return 2
		}
		args = args[:len(args)-1]
	}
	defer func() {
		if r := recover(); r != nil {
			t, ok := r.(testError)
			if !ok {
				panic(r)
			}
			sh.errorf("%s: %s", name, t.msg)
			status = 2
		}
	}()
	t := tester{sh: sh, args: args}
	if t.run() {
		return 0
	}
	return 1
}

type tester struct {
	sh    *Shell
	args  []string
	i     int
	depth int
}

func isBinaryOp(s string) bool {
	switch s {
	case "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef":
		return true
	}
	return false
}

func isUnaryOp(s string) bool {
	return len(s) == 2 && s[0] == '-' && strings.IndexByte("abcdefghknoprstuvwxzGLNORS", s[1]) >= 0
}

// run decides by the number of arguments, as POSIX wants, and parses an expression otherwise.
func (t *tester) run() bool { return t.posix(t.args) }

func (t *tester) posix(a []string) bool {
	switch len(a) {
	case 0:
		return false
	case 1:
		return a[0] != ""
	case 2:
		if a[0] == "!" {
			return a[1] == ""
		}
		if isUnaryOp(a[0]) {
			return t.unary(a[0], a[1])
		}
		panic(testError{a[0] + t.sh.either(": unary operator expected", ": unexpected operator")})
	case 3:
		if isBinaryOp(a[1]) {
			return t.binary(a[0], a[1], a[2])
		}
		switch {
		case a[1] == "-a":
			return a[0] != "" && a[2] != ""
		case a[1] == "-o":
			return a[0] != "" || a[2] != ""
		case a[0] == "!":
			return !t.posix(a[1:])
		case a[0] == "(" && a[2] == ")":
			return a[1] != ""
		}
		panic(testError{a[1] + t.sh.either(": binary operator expected", ": unexpected operator")})
	case 4:
		if a[0] == "!" {
			return !t.posix(a[1:])
		}
		if a[0] == "(" && a[3] == ")" {
			return t.posix(a[1:3])
		}
	}
	t.args, t.i = a, 0
	v := t.or()
	if t.i < len(t.args) {
		if a := t.args[t.i]; strings.HasPrefix(a, "-") {
			panic(testError{"syntax error: `" + a + "' unexpected"})
		}
		panic(testError{"too many arguments"})
	}
	return v
}

func (t *tester) or() bool {
	v := t.and()
	for t.i < len(t.args) && t.args[t.i] == "-o" {
		t.i++
		w := t.and()
		v = v || w
	}
	return v
}

func (t *tester) and() bool {
	v := t.term()
	for t.i < len(t.args) && t.args[t.i] == "-a" {
		t.i++
		w := t.term()
		v = v && w
	}
	return v
}

func (t *tester) term() bool {
	if t.depth++; t.depth > 1000 {
		panic(testError{"expression nested too deeply"})
	}
	defer func() { t.depth-- }()
	if t.i >= len(t.args) {
		panic(testError{"argument expected"})
	}
	a := t.args[t.i]
	rest := len(t.args) - t.i
	switch {
	case a == "!":
		t.i++
		return !t.term()
	case a == "(":
		t.i++
		v := t.or()
		if t.i >= len(t.args) {
			panic(testError{"`)' expected"})
		}
		if a := t.args[t.i]; a != ")" {
			panic(testError{"`)' expected, found " + a})
		}
		t.i++
		return v
	case rest >= 3 && isBinaryOp(t.args[t.i+1]):
		t.i += 3
		return t.binary(a, t.args[t.i-2], t.args[t.i-1])
	case rest >= 2 && isUnaryOp(a):
		t.i += 2
		return t.unary(a, t.args[t.i-1])
	}
	t.i++
	return a != ""
}

func (t *tester) unary(op, s string) bool {
	return t.sh.unaryTest(op, s)
}

func (t *tester) binary(x, op, y string) bool {
	switch op {
	case "=", "==":
		return x == y
	case "!=":
		return x != y
	case "<":
		return x < y
	case ">":
		return x > y
	case "-nt", "-ot", "-ef":
		return t.sh.compareFiles(op, x, y)
	}
	return compareInts(op, t.number(x), t.number(y))
}

func (t *tester) number(s string) int64 {
	n, err := strconv.ParseInt(strings.Trim(s, " \t\n"), 10, 64)
	if err != nil {
		if t.sh.dash {
			panic(testError{"Illegal number: " + s})
		}
		panic(testError{s + ": integer expression expected"})
	}
	return n
}
