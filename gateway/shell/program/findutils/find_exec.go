package findutils

import (
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

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
				f.fatal("In ‘%s ... {} +’ the ‘{}’ must appear by itself, but you specified %s", name, program.Quote(a))
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
	if _, err := child.LookPath(argv[0]); err != nil {
		f.p.Out.Flush()
		f.p.Errorf("%s: %s", program.Quote(argv[0]), proc.Strerror(err))
		return 127
	}
	status := f.p.Exec(f.ctx, child)
	if child.Signaled != 0 {
		f.p.Errorf("%s terminated by signal %d", program.Quote(argv[0]), child.Signaled)
	}
	return status
}
