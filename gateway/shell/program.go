package shell

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

type (
	reader = io.Reader
	writer = io.Writer
)

const errBadFD = vfs.EBADF

type hashEntry struct {
	path string
	hits int
}

// environ is the environment a program gets: the exported variables, and what its own command adds.
type environ struct {
	sh   *Shell
	over [][2]string
	path string
}

// Get returns one variable.
func (e *environ) Get(name string) (string, bool) {
	for i := len(e.over) - 1; i >= 0; i-- {
		if e.over[i][0] == name {
			return e.over[i][1], true
		}
	}
	if name == "_" && e.path != "" {
		return e.path, true
	}
	v := e.sh.vars[name]
	if v == nil || v.attrs&(aExport|aSet) != aExport|aSet || v.isArray() {
		return "", false
	}
	return v.str, true
}

// List returns "NAME=value" strings in the order of bash: what the command adds, the locals of functions from the
// innermost on, the other variables, each as its hash table has them, and the functions.
func (e *environ) List() []string {
	seen := map[string]bool{"_": e.path != ""}
	var out []string
	add := func(names map[string]assocValue, buckets uint32) {
		for _, n := range hashOrder(names, buckets) {
			val, _ := e.Get(n)
			out = append(out, n+"="+val)
		}
	}
	group := func() (map[string]assocValue, func(string)) {
		names := map[string]assocValue{}
		return names, func(n string) {
			if !seen[n] {
				seen[n] = true
				names[n] = assocValue{seq: uint64(len(names))}
			}
		}
	}
	const few, many = 4, 1024 // buckets of the tables
	names, take := group()
	for _, o := range e.over {
		take(o[0])
	}
	add(names, few)
	exported := func(n string) bool {
		v := e.sh.vars[n]
		return v != nil && v.attrs&(aExport|aSet) == aExport|aSet && !v.isArray()
	}
	for _, f := range slices.Backward(e.sh.frames) {
		names, take = group()
		for _, l := range f.locals {
			if exported(l.name) {
				take(l.name)
			}
		}
		add(names, few)
	}
	names, take = group()
	for n := range e.sh.vars {
		if exported(n) {
			take(n)
		}
	}
	add(names, many)
	for _, n := range slices.Sorted(maps.Keys(e.sh.funcs)) {
		if f := e.sh.funcs[n]; f.exported {
			out = append(out, "BASH_FUNC_"+f.name+"%%="+exportedText(f))
		}
	}
	if e.path != "" {
		out = append(out, "_="+e.path)
	}
	return out
}

// findProgram finds a command's file; when it cannot be run it says so and returns the status.
func (sh *Shell) findProgram(args []string, temps [][2]string) (string, int) {
	name := args[0]
	if strings.Contains(name, "/") {
		path := sh.abs(name)
		st, err := sh.x.fs.Stat(path)
		switch {
		case err != nil:
			e, _ := vfs.Of(err)
			if sh.dash && (e == vfs.ENOENT || e == vfs.ENOTDIR) {
				sh.errorf("%s: not found", name)
				return "", 127
			}
			sh.errorf("%s: %s", name, proc.Strerror(err))
			if e, ok := vfs.Of(err); ok && e != vfs.ENOENT && e != vfs.ENOTDIR {
				return "", 126
			}
			return "", 127
		case st.IsDir():
			sh.errorf(sh.either("%s: Is a directory", "%s: Permission denied"), name)
			return "", 126
		case !executable(st):
			sh.errorf("%s: Permission denied", name)
			return "", 126
		}
		return path, 0
	}
	pathVar, ok := sh.get("PATH")
	for _, t := range temps {
		if t[0] == "PATH" {
			path, denied := sh.x.search(name, t[1], sh.dir)
			if path == "" {
				return "", sh.notFound(args, denied, t[1])
			}
			return path, 0
		}
	}
	if h := sh.hashed[name]; h != nil {
		if st, err := sh.x.fs.Stat(h.path); err == nil && executable(st) {
			sh.hashed[name] = &hashEntry{h.path, h.hits + 1} // subshells share the entries
			return h.path, 0
		}
		delete(sh.hashed, name)
	}
	if !ok {
		pathVar = ""
	}
	path, denied := sh.x.search(name, pathVar, sh.dir)
	if path == "" {
		return "", sh.notFound(args, denied, pathVar)
	}
	if sh.opts.get('h') && path[0] == '/' {
		if sh.hashed == nil {
			sh.hashed = map[string]*hashEntry{}
		}
		sh.hashed[name] = &hashEntry{path, 1}
	}
	return path, 0
}

func (sh *Shell) notFound(args []string, denied, pathVar string) int {
	name := args[0]
	if pathVar == "" { // the name itself was tried
		sh.errorf("%s: No such file or directory", name)
		return 127
	}
	if denied != "" {
		sh.errorf("%s: Permission denied", denied)
		return 126
	}
	if fn := sh.funcs["command_not_found_handle"]; fn != nil && !sh.inHandle {
		child := sh.fork(sh.ctx, sh.x.newPID())
		child.inHandle = true
		return child.child(func() { child.call(fn, append([]string{fn.name}, args...), nil) })
	}
	sh.errorf(sh.either("%s: command not found%s", "%s: not found%s"), printable(name), advice(name))
	return 127
}

func executable(st vfs.Stat) bool { return !st.IsDir() && st.Mode&0o111 != 0 }

func (sh *Shell) abs(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	if sh.dir == "/" {
		return "/" + name
	}
	return sh.dir + "/" + name
}

// search looks for an executable file in the directories of a PATH. denied is a file that is there but not executable.
func (x *exec) search(name, pathVar, dir string) (path, denied string) {
	if name == "" {
		return "", ""
	}
	for _, d := range strings.Split(pathVar, ":") {
		switch {
		case d == "":
			d = dir + "/."
		case d[0] != '/':
			d = dir + "/" + d
		}
		full := strings.TrimSuffix(d, "/") + "/" + name
		st, err := x.fs.Stat(full)
		if err != nil || st.IsDir() {
			continue
		}
		if executable(st) {
			return full, ""
		}
		if denied == "" {
			denied = full
		}
	}
	return "", denied
}

// spawnProgram is proc.Process.Spawn: it looks a program up as execvp does and runs it.
func (x *exec) spawnProgram(ctx context.Context, p *proc.Process) int {
	if len(p.Args) == 0 || p.Args[0] == "" {
		return 127
	}
	// A chain of programs (env env env …) is nesting of Go frames, each with its own list of arguments.
	held := int64(32 * len(p.Args))
	err := x.budget.Spawn()
	if err == nil {
		defer x.budget.Exited()
		err = x.budget.Hold(held)
		defer x.budget.Release(held)
	}
	if err == nil {
		err = proc.TurnOf(ctx).Step(int64(len(p.Args)))
	}
	if err != nil {
		panic(proc.Death{Status: 137, Killed: true, Cause: err})
	}
	x.mu.Lock()
	p.PPID, p.PID = p.PID, x.newPID() // interrupt reads it
	x.mu.Unlock()
	name := p.Args[0]
	path := p.Abs(name)
	if !strings.Contains(name, "/") {
		pathVar, ok := p.Env.Get("PATH")
		if !ok {
			pathVar = "/bin:/usr/bin"
		}
		var denied string
		if path, denied = x.search(name, pathVar, p.Dir); path == "" {
			if denied != "" {
				return 126
			}
			return 127
		}
	} else {
		st, err := x.fs.Stat(path)
		if err != nil {
			return 127
		}
		if !executable(st) {
			return 126
		}
	}
	return x.runFile(ctx, p, path, p.Name()+": ", 0)
}

// runFile executes a file of the tree: a builtin program, an interpreter's script or a shell script.
// says begins its messages.
func (x *exec) runFile(ctx context.Context, p *proc.Process, path, says string, depth int) int {
	data, err := x.fs.ReadFile(path)
	if err != nil {
		_, _ = io.WriteString(p.Stderr, "bash: "+p.Args[0]+": "+proc.Strerror(err)+"\n")
		return 126
	}
	rest, ok := strings.CutPrefix(string(data[:min(len(data), 256)]), "#!")
	line, _, _ := strings.Cut(rest, "\n")
	if line = strings.Trim(line, " \t"); ok && line != "" {
		interp, arg, _ := strings.Cut(line, " ")
		arg = strings.Trim(arg, " \t")
		if interp == "/bin/builtin" {
			f := x.program(arg)
			if f == nil {
				_, _ = io.WriteString(p.Stderr, "bash: "+p.Args[0]+": command not found\n")
				return 127
			}
			p.FS = &procFS{FS: x.cfg.FS, x: x, p: p}
			return proc.Run(ctx, f, p)
		}
		st, err := x.fs.Stat(interp)
		if err != nil || !executable(st) || depth > 4 {
			_, _ = io.WriteString(p.Stderr, says+p.Args[0]+": cannot execute: required file not found\n")
			return 127
		}
		args := []string{interp}
		if arg != "" {
			args = append(args, arg)
		}
		name := shownPath(p, path)
		p.Args = append(append(args, name), p.Args[1:]...)
		return x.runFile(ctx, p, interp, says, depth+1)
	}
	if isBinary(data) {
		_, _ = io.WriteString(p.Stderr, says+p.Args[0]+": cannot execute binary file: Exec format error\n")
		return 126
	}
	name := shownPath(p, path)
	p.Args = append([]string{"bash", name}, p.Args[1:]...)
	return proc.Run(ctx, x.bashMain, p)
}

// shownPath is what a script is told it is called: the path as typed, or as PATH gives it.
func shownPath(p *proc.Process, path string) string {
	if strings.Contains(p.Args[0], "/") {
		return p.Args[0]
	}
	if rest, ok := strings.CutPrefix(path, p.Dir+"/"); ok && rest[0] == '.' {
		return rest
	}
	return path
}

// isBinary is bash's check: a NUL in the first line.
func isBinary(b []byte) bool {
	b = b[:min(len(b), 128)]
	for _, c := range b {
		if c == '\n' {
			return false
		}
		if c == 0 {
			return true
		}
	}
	return false
}

// Programs lists the external programs that the evaluator brings itself; an entry in Config.Commands replaces
// any of them but bash and sh.
func Programs() []string {
	return slices.Sorted(slices.Values(append([]string{"bash", "sh"}, builtinPrograms...)))
}

// builtinPrograms are the builtins that are programs as well.
var builtinPrograms = []string{"echo", "printf", "test", "[", "pwd", "true", "false", "kill"}

// program is the external program of a name, nil when there is none.
func (x *exec) program(name string) proc.Func {
	if name == "bash" || name == "sh" {
		return x.bashMain
	}
	if f, ok := x.cfg.Commands[name]; ok {
		return f
	}
	if slices.Contains(builtinPrograms, name) {
		return x.builtinProgram(name)
	}
	return nil
}

// builtinProgram is a builtin that is a program as well.
func (x *exec) builtinProgram(name string) proc.Func {
	return func(ctx context.Context, p *proc.Process) int {
		return x.runShell(ctx, p, p.Args[0], nil, func(sh *Shell) {
			sh.program = true
			args := append([]string{name}, p.Args[1:]...)
			sh.status = builtins[name](sh, args)
			sh.flush(name)
		})
	}
}

// runShell makes a shell out of a process and runs body as its life.
func (x *exec) runShell(ctx context.Context, p *proc.Process, name string, args []string, body func(*Shell)) int {
	if err := x.budget.Spawn(); err != nil { // nested programs are goroutine depth, too
		panic(proc.Death{Status: 137, Killed: true, Cause: err})
	}
	defer x.budget.Exited()
	sh := x.newShell(ctx, name, args, p.PID)
	x.mu.Lock()
	sh.proc.args = slices.Clone(p.Args)
	if p.PPID != 0 {
		sh.proc.parent = p.PPID
	}
	x.mu.Unlock()
	sh.umask = p.Umask
	sh.ignore(p.Ignored)
	for _, kv := range p.Env.List() {
		k, v, _ := strings.Cut(kv, "=")
		sh.importVar(k, v)
	}
	sh.dir = p.Dir
	sh.initVars()
	sh.fds.put(0, unbind(x.budget, p.Stdin))
	sh.fds.put(1, unbind(x.budget, p.Stdout))
	sh.fds.put(2, unbind(x.budget, p.Stderr))
	for n := 3; n < 64; n++ {
		if s, ok := p.FD(n); ok {
			sh.fds.put(n, unbind(x.budget, s))
		}
	}
	status, err := x.runMain(sh, func() { body(sh) })
	p.Signaled = int(sh.proc.killed.Load())
	for _, j := range sh.jobs {
		if !j.hidden && j.proc != nil {
			continue // they outlive their shell, as children of the exec
		}
	}
	sh.finish()
	if err != nil {
		panic(proc.Death{Status: 137, Killed: true, Cause: err})
	}
	return status
}

// importVar takes a variable, or an exported function, from the environment.
func (sh *Shell) importVar(k, v string) {
	if name, ok := strings.CutPrefix(k, "BASH_FUNC_"); ok && strings.HasSuffix(name, "%%") && strings.HasPrefix(v, "() ") {
		name = strings.TrimSuffix(name, "%%")
		prog := parse(name+" "+v, reading{step: sh.readStep, extglob: true})
		if prog.err == nil && len(prog.groups) == 1 {
			if d, ok := prog.groups[0][0].cmd.(*funcDecl); ok {
				sh.ownFuncs()[name] = &funcDef{name: name, body: d.body, source: "environment", src: d.src, exported: true}
			}
		}
		return
	}
	sh.export(k, v)
}

const bashUsage = "Usage:\tbash [GNU long option] [option] ...\n\tbash [GNU long option] [option] script-file ...\nGNU long options:\n" +
	"\t--debug\n\t--debugger\n\t--dump-po-strings\n\t--dump-strings\n\t--help\n\t--init-file\n\t--login\n\t--noediting\n\t--noprofile\n" +
	"\t--norc\n\t--posix\n\t--pretty-print\n\t--rcfile\n\t--restricted\n\t--verbose\n\t--version\nShell options:\n" +
	"\t-ilrsD or -c command or -O shopt_option\t\t(invocation only)\n\t-abefhkmnptuvxBCEHPT or -o option"

// bashMain is the program bash (and sh).
func (x *exec) bashMain(ctx context.Context, p *proc.Process) int {
	args := p.Args[1:]
	var cmd *string
	opts := defaultOptions()
	dash := p.Name() == "sh"
	posix := dash
	wantCmd, stdin := false, false
	start := startFiles{login: strings.HasPrefix(p.Args[0], "-")}
	fail := func(msg string, status int) int {
		_, _ = io.WriteString(p.Stderr, p.Args[0]+": "+msg+"\n")
		return status
	}
loop:
	for len(args) > 0 {
		a := args[0]
		switch {
		case a == "--" || a == "-":
			args = args[1:]
			break loop
		case dash && strings.HasPrefix(a, "--"):
			return fail("0: Illegal option --", 2)
		case a == "--version":
			_, _ = io.WriteString(p.Stdout, "GNU bash, version "+bashVersion+" (x86_64-pc-linux-gnu)\n")
			return 0
		case a == "--help":
			_, _ = io.WriteString(p.Stdout, "GNU bash, version "+bashVersion+"-(x86_64-pc-linux-gnu)\n")
			return 0
		case a == "--posix":
			posix = true
		case a == "--rcfile" || a == "--init-file":
			if len(args) > 1 {
				args = args[1:]
				start.rc = args[0]
			}
		case a == "--norc":
			start.norc = true
		case a == "--noprofile":
			start.noprofile = true
		case a == "--login":
			start.login = true
		case strings.HasPrefix(a, "--"):
			switch a {
			case "--noediting", "--verbose", "--restricted", "--debugger":
			default:
				return fail(a+": invalid option\n"+bashUsage, 2)
			}
		case len(a) > 1 && (a[0] == '-' || a[0] == '+'):
			on := a[0] == '-'
			for i := 1; i < len(a); i++ {
				switch c := a[i]; c {
				case 'c':
					wantCmd = true
				case 's':
					stdin = true
				case 'l':
					start.login = on
				case 'i':
					opts.set('i', on)
				case 'r', 'D':
				case 'o', 'O':
					if len(args) < 2 {
						return fail(a+": option requires an argument", 2)
					}
					args = args[1:]
					if c == 'O' {
						if n, ok := shoptByName(args[0]); ok {
							opts.setShopt(n, on)
						}
					} else if l, ok := setLetter(args[0]); ok {
						opts.set(l, on)
					} else {
						return fail(args[0]+": invalid option name", 2)
					}
				default:
					if strings.IndexByte(setLetters, c) < 0 && dash {
						return fail("0: Illegal option -"+string(c), 2)
					}
					if strings.IndexByte(setLetters, c) < 0 {
						return fail("-"+string(c)+": invalid option\n"+bashUsage, 2)
					}
					opts.set(c, on)
				}
			}
		default:
			break loop
		}
		args = args[1:]
	}
	name := p.Args[0]
	if wantCmd {
		if len(args) == 0 {
			return fail("-c: option requires an argument", 2)
		}
		cmd = &args[0]
		args = args[1:]
		if len(args) > 0 {
			name, args = args[0], args[1:]
		}
	} else if len(args) > 0 && !stdin {
		file := args[0]
		data, err := p.ReadFile(file)
		if err != nil && !strings.Contains(file, "/") {
			if pv, ok := p.Env.Get("PATH"); ok {
				if found, _ := x.search(file, pv, p.Dir); found != "" {
					data, err = p.FS.ReadFile(found)
				}
			}
		}
		if err != nil {
			if e, ok := vfs.Of(err); ok && e == vfs.EISDIR {
				return fail(file+": Is a directory", 126)
			}
			if dash {
				return fail("0: cannot open "+file+": "+openError(err, false), 2)
			}
			return fail(file+": "+proc.Strerror(err), 127)
		}
		if isBinary(data) {
			_, _ = io.WriteString(p.Stderr, file+": "+file+": cannot execute binary file\n")
			return 126
		}
		name, args = file, args[1:]
		return x.runShell(ctx, p, name, args, func(sh *Shell) {
			sh.setup(opts, posix)
			sh.dash = dash
			sh.stdinName = file
			sh.opts.set('c', false)
			sh.start(start)
			sh.runScript(string(data), "")
		})
	}
	return x.runShell(ctx, p, name, args, func(sh *Shell) {
		sh.setup(opts, posix)
		sh.dash = dash
		if cmd != nil {
			sh.opts.set('c', true)
			sh.setExecutionString(*cmd)
			sh.start(start)
			sh.runScript(*cmd, "-c")
			return
		}
		sh.opts.set('s', true)
		sh.start(start)
		if sh.interactive() {
			sh.startSession()
			defer sh.endSession(start.login)
		}
		sh.stdinScript()
	})
}

func (sh *Shell) setup(o options, posix bool) {
	sh.opts = o
	if posix {
		sh.posix = true
		sh.opts.set('W', true)
		sh.opts.setShopt(expandAliases, true)
		sh.export("POSIXLY_CORRECT", "y")
		sh.own("POSIXLY_CORRECT").attrs &^= aExport
	}
}

// stdinScript runs the script on standard input. It is read line by line, so that commands of the script can read
// what follows them.
func (sh *Shell) stdinScript() {
	sh.lineByLine(0, "", nil, func(more bool) (string, error) {
		d := sh.fds.get(0)
		if d == nil {
			return "", io.EOF
		}
		sh.prompt(more)
		return sh.readLine(d, '\n')
	})
}

// remembering runs the rest of a script whose commands go into the history: each line is read, and its events expanded,
// when it is its turn.
func (sh *Shell) remembering(p *program, from int, where string) {
	rest, lines := p.rest(from)
	if rest == "" {
		return
	}
	group := from + 1
	within := func(line int) bool {
		line -= p.lines
		for group < len(p.groups) && p.ends[group] <= line {
			group++
		}
		return group < len(p.groups) && p.starts[group] <= line
	}
	sh.lineByLine(lines+p.lines, where, within, func(bool) (string, error) {
		line, after, ok := strings.Cut(rest, "\n")
		rest = after
		if !ok {
			return line, io.EOF
		}
		return line + "\n", nil
	})
}

// lineByLine runs commands as soon as their last line has come; the one before the first has the number line. within
// says of a line that the command it is in does not end there, as far as is known.
func (sh *Shell) lineByLine(line int, where string, within func(line int) bool, next func(more bool) (string, error)) {
	defer func(was bool) { sh.byLine = was }(sh.byLine)
	sh.byLine = true
	var text strings.Builder
	first := line
	var q quoting
	for {
		l, err := next(text.Len() > 0)
		sh.at(line + 1)
		if l != "" {
			line++
		}
		if l = sh.typed(&q, l); l == "" && err == nil {
			if sh.history.failed && !sh.interactive() {
				line-- // it is not counted
				sh.history.failed = false
			}
			if text.Len() == 0 {
				first = line
			}
			continue
		}
		text.WriteString(l)
		if err == nil && within != nil && within(line) {
			sh.tick()
			continue
		}
		if text.Len() > 0 {
			src := text.String()
			sh.checkSize(src)
			if err == nil && strings.HasSuffix(l, "\\\n") && unfinished(src, sh.readStep) {
				sh.hold(-parsedSize(src))
				continue
			}
			prog := sh.parse(src, first)
			sh.hold(-parsedSize(src))
			if err == nil && prog.err != nil && incomplete(prog.err) {
				sh.tick()
				continue
			}
			if err == nil && unfinished(src, sh.readStep) {
				continue
			}
			if len(prog.groups) == 0 && strings.HasPrefix(strings.TrimLeft(src, " \t"), "#") && sh.opts.get('Y') {
				sh.remember(strings.TrimSuffix(src, "\n"))
			}
			sh.runProgram(prog, where)
			text.Reset()
			first, q = line, quoting{}
			if sh.jumping() || prog.err != nil && !prog.err.array && !sh.interactive() {
				return
			}
		}
		if err != nil {
			return
		}
		sh.tick()
	}
}

func incomplete(e *syntaxError) bool {
	return strings.Contains(e.msg, "unexpected end of file") || strings.Contains(e.msg, "unexpected EOF")
}
