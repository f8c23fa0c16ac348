package findutils

import (
	"context"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// findTest is one node of the expression.
type findTest func(e *findEntry) bool

// findEntry is the file under examination.
type findEntry struct {
	f      *findRun
	path   string // as printed
	start  string // the starting point it was found under
	depth  int
	kind   vfs.Kind // from the directory: of the name itself
	st     vfs.Stat
	loaded bool
	failed bool
}

// stat is what the tests look at: the target of a link with -L.
func (e *findEntry) stat() *vfs.Stat {
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
		if errno, _ := vfs.Of(err); errno == vfs.ELOOP {
			e.failed = true
			e.f.complain(e.path, err)
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
func (e *findEntry) kindOf() vfs.Kind {
	if e.loaded || e.kind == 0 || e.kind == vfs.Symlink && e.f.follow == 'L' || e.depth == 0 {
		return e.stat().Kind
	}
	return e.kind
}

func (e *findEntry) base() string { return program.BaseName(e.path) }

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
	files     map[string]vfs.File
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
	f := &findRun{ctx: ctx, p: p, follow: 'P', maxDepth: math.MaxInt, regexType: "findutils-default",
		now: program.LocalNow(p), files: map[string]vfs.File{}}
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
					p.Errorf("Ignoring unrecognised debug flag %s", program.Quote(flag))
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
			p.Errorf("extra operand %s", program.Quote(starts[0]))
			p.Errorf("file operands cannot be combined with -files0-from")
			return 1
		}
		list, ok := program.FilesFrom(p, args[i+1], program.Quote, "cannot open %s for reading: %s")
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
			p.Errorf("%s:%d: invalid zero-length file name", program.Quote(f.pathList), i+1)
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
	f.p.Errorf("%s: %s", program.Quote(path), proc.Strerror(err))
	f.status = 1
}

func (f *findRun) walk(start string, test findTest) {
	e := &findEntry{f: f, path: start, start: start}
	st := e.stat()
	if e.failed {
		return
	}
	f.visit(e, st.Kind == vfs.Dir, test, nil)
}

func (f *findRun) visit(e *findEntry, dir bool, test findTest, parents []findParent) {
	f.p.Tick(8)
	if dir && f.follow == 'L' {
		for _, a := range parents {
			if a.ino == e.stat().Ino {
				f.p.Errorf("File system loop detected; %s is part of the same file system loop as %s.", program.Quote(e.path),
					program.Quote(a.path))
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
			childDir := d.Kind == vfs.Dir
			if d.Kind == vfs.Symlink && f.follow == 'L' {
				if childDir = child.stat().Kind == vfs.Dir; child.failed {
					continue
				}
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
	w, err := f.p.Open(name, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
	if err != nil {
		f.fatal("%s: %s", program.Quote(name), proc.Strerror(err))
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
		f.p.Errorf("cannot delete %s: %s", program.Quote(e.path), proc.Strerror(err))
		f.status = 1
		return false
	}
	return true
}
