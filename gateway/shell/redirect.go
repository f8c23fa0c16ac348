package shell

import (
	"errors"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
	"mvdan.cc/sh/v3/syntax"
)

// savedFD is a descriptor as it was before a redirection.
type savedFD struct {
	n   int
	old *desc
}

// redirect performs redirections on the shell's own descriptors; restore takes them back, and where a child of its own
// would have performed them (inChild) also those of {fd}>. On failure it has said why.
func (sh *Shell) redirect(rs []*redirect, inChild bool) (undo []savedFD, ok bool) {
	for _, r := range rs {
		if undo, ok = sh.redirectOne(r, undo, inChild); !ok {
			return undo, false
		}
	}
	return undo, true
}

// assigns reports whether a redirection may change variables: {fd}>, ${x:=…}, $((x++)).
func (r *redirect) assigns() bool {
	src := r.word.src
	if r.heredoc != nil && !r.quoted {
		src = r.heredoc.src
	}
	return r.varName != "" || strings.Contains(src, "$") && (strings.ContainsAny(src, "=") ||
		strings.Contains(src, "++") || strings.Contains(src, "--"))
}

// shareVars makes changes of variables go to a copy, which the caller lets go of by putting the former map back.
func (sh *Shell) shareVars() {
	c := make(map[string]*variable, len(sh.vars)+1)
	for n, v := range sh.vars {
		if !v.shared {
			v.shared = true
		}
		c[n] = v
	}
	sh.vars = c
}

// openError is how sh says why a file cannot be opened.
func openError(err error, creates bool) string {
	switch e, _ := vfs.Of(err); {
	case e == vfs.ENOENT && creates:
		return "Directory nonexistent"
	case e == vfs.ENOENT:
		return "No such file"
	}
	return proc.Strerror(err)
}

// redirected is the status of a command whose redirection failed, and of cd.
func (sh *Shell) redirected() int {
	if sh.dash {
		return 2
	}
	return 1
}

func (sh *Shell) restore(undo []savedFD) {
	for i := len(undo) - 1; i >= 0; i-- {
		sh.fds.set(undo[i].n, undo[i].old)
	}
}

// errNetwork refuses what bash takes for the address of a connection.
var errNetwork = errors.New("the sandbox has no network")

// isSocket reports whether a path is /dev/tcp/HOST/PORT or that of udp.
func isSocket(path string) bool {
	rest, ok := strings.CutPrefix(path, "/dev/tcp/")
	if !ok {
		rest, ok = strings.CutPrefix(path, "/dev/udp/")
	}
	host, port, more := strings.Cut(rest, "/")
	return ok && more && host != "" && port != ""
}

// openFile opens a file for a redirection; /dev/fd/N is a descriptor of ours.
func (sh *Shell) openFile(name string, flag int) (*desc, error) {
	if name == "" {
		return nil, vfs.ENOENT
	}
	path := sh.abs(name)
	if n, ok := proc.DevFD(path); ok {
		d := sh.fds.get(n)
		if d == nil {
			return nil, vfs.ENOENT
		}
		return d.retain(), nil
	}
	if isSocket(path) {
		return nil, errNetwork
	}
	f, err := sh.x.fs.Open(path, flag, 0o666&^sh.umask)
	if isFIFO(err) {
		s, err := sh.x.openFIFO(sh.ctx, path, flag)
		sh.checkAlive()
		if err != nil {
			return nil, err
		}
		if d := newDesc(sh.x.budget, s); d != nil {
			return d, nil
		}
		return nil, vfs.EMFILE
	}
	if err != nil {
		return nil, err
	}
	if flag == vfs.ReadOnly {
		if st, err := f.Stat(); err == nil && st.IsDir() {
			s := &dirStream{fileStream{f: f, path: path}}
			if d := newDesc(sh.x.budget, s); d != nil {
				return d, nil
			}
			return nil, vfs.EMFILE
		}
	}
	d := newDesc(sh.x.budget, &fileStream{f: f, path: path})
	if d == nil {
		return nil, vfs.EMFILE
	}
	return d, nil
}

func (sh *Shell) redirectOne(r *redirect, undo []savedFD, inChild bool) ([]savedFD, bool) {
	fd := r.fd
	def := 1
	switch r.op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		def = 0
	}
	if fd < 0 {
		fd = def
	}
	install := func(n int, d *desc) bool {
		if r.varName != "" {
			n = sh.fds.free(10)
			sh.fds.put(n, d)
			if inChild {
				undo = append(undo, savedFD{n, nil})
			}
			if r.varSub != "" {
				c := compiler{}
				sh.setElement(r.varName, c.subscript(r.varSub), itoa(n), false)
			} else {
				sh.setVar(r.varName, itoa(n))
			}
			return true
		}
		if n >= 1024 {
			d.release()
			sh.errorf("%s: %s", r.word.src, vfs.EBADF)
			return false
		}
		undo = append(undo, savedFD{n, sh.fds.get(n)})
		sh.fds.put(n, d)
		return true
	}
	switch r.op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		var text string
		switch {
		case r.op == syntax.WordHdoc:
			text = sh.expandStr(r.word) + "\n"
		default:
			text = sh.heredocText(r.heredoc.parts)
		}
		if err := sh.x.budget.Hold(int64(len(text))); err != nil {
			panic(killPanic{err})
		}
		d := newDesc(sh.x.budget, &memory{b: []byte(text), budget: sh.x.budget, held: int64(len(text))})
		if d == nil {
			sh.errorf("cannot create temp file for here-document: Too many open files")
			return undo, false
		}
		return undo, install(fd, d)
	}
	var name string
	if r.word.isLit {
		name = r.word.lit
	} else {
		f := sh.fields([]*word{r.word})
		if len(f) != 1 {
			sh.errorf("%s: ambiguous redirect", r.word.src)
			return undo, false
		}
		name = f[0]
	}
	both := r.op == syntax.RdrAll || r.op == syntax.AppAll
	if r.op == syntax.DplIn || r.op == syntax.DplOut {
		if name == "-" {
			if r.varName != "" {
				val := sh.str(r.varName)
				if r.varSub != "" {
					c := compiler{}
					val, _ = sh.element(r.varName, c.subscript(r.varSub))
				}
				n, err := strconv.Atoi(val)
				if err != nil || sh.fds.get(n) == nil {
					sh.errorf("%s: Bad file descriptor", r.varName)
					return undo, false
				}
				sh.fds.set(n, nil)
				return undo, true
			}
			undo = append(undo, savedFD{fd, sh.fds.get(fd)})
			sh.fds.put(fd, nil)
			return undo, true
		}
		num, move := name, strings.HasSuffix(r.word.src, "-")
		if move {
			num = strings.TrimSuffix(name, "-")
		}
		n, err := strconv.Atoi(num)
		switch {
		case err == nil && n >= 0 && num[0] != '+':
			d := sh.fds.get(n)
			if d == nil {
				sh.errorf("%s: Bad file descriptor", num)
				return undo, false
			}
			d = d.retain()
			if !install(fd, d) {
				return undo, false
			}
			if move && n != fd {
				undo = append(undo, savedFD{n, sh.fds.get(n)})
				sh.fds.put(n, nil)
			}
			return undo, true
		case r.op == syntax.DplOut && fd == 1 && r.varName == "" && !move:
			both = true // >&word
		default:
			sh.errorf("%s: ambiguous redirect", num)
			return undo, false
		}
	}
	flag := vfs.WriteOnly | vfs.Create | vfs.Trunc
	switch r.op {
	case syntax.RdrIn:
		flag = vfs.ReadOnly
	case syntax.RdrInOut:
		flag = vfs.ReadWrite | vfs.Create
	case syntax.AppOut, syntax.AppAll:
		flag = vfs.WriteOnly | vfs.Create | vfs.Append
	case syntax.RdrOut, syntax.RdrAll, syntax.DplOut:
		if sh.opts.get('C') {
			if st, err := sh.x.fs.Stat(sh.abs(name)); err == nil && st.Kind == vfs.Regular {
				sh.errorf("%s: cannot overwrite existing file", name)
				return undo, false
			}
		}
	}
	d, err := sh.openFile(name, flag)
	if err != nil {
		creates := r.op != syntax.RdrIn
		switch {
		case !sh.dash:
			sh.errorf("%s: %s", name, proc.Strerror(err))
		case creates:
			sh.errorf("cannot create %s: %s", name, openError(err, true))
		default:
			sh.errorf("cannot open %s: %s", name, openError(err, false))
		}
		return undo, false
	}
	if both {
		e := d.retain()
		undo = append(undo, savedFD{1, sh.fds.get(1)}, savedFD{2, sh.fds.get(2)})
		sh.fds.put(1, d)
		sh.fds.put(2, e)
		return undo, true
	}
	return undo, install(fd, d)
}
