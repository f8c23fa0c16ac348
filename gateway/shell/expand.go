package shell

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/pattern"
	"github.com/pgbox/pgbox/gateway/vfs"
	"mvdan.cc/sh/v3/syntax"
)

// ifsTable says how $IFS splits: 1 for white space, 2 for other separators.
type ifsTable struct {
	class [256]byte
	first string // what "$*" joins with
	null  bool
	hard  bool            // there are other separators than white space
	wide  map[string]bool // separators outside ASCII
}

func (sh *Shell) loadIFS() {
	sh.ifsChanged = false
	v, ok := sh.get("IFS")
	if !ok {
		v = " \t\n"
	}
	t := ifsTable{null: v == ""}
	if v != "" {
		t.first = v[:sh.charLen(v)]
	}
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == ' ' || c == '\t' || c == '\n':
			t.class[c] = 1
		case c >= 0x80 && !sh.bytes():
			_, w := utf8.DecodeRuneInString(v[i:])
			if t.wide == nil {
				t.wide = map[string]bool{}
			}
			t.wide[v[i:i+w]] = true
			t.hard = true
			i += w - 1
		default:
			t.class[c] = 2
			t.hard = true
		}
	}
	sh.ifs = t
}

// expander turns the parts of words into fields.
type expander struct {
	sh        *Shell
	split     bool // word splitting and pathname expansion
	record    bool // keep the quoted spans: the result is a pattern
	out       []string
	buf       []byte
	spans     []int // start, end of quoted text in buf
	active    bool  // the current field exists, even when empty
	glob      bool  // it holds an unquoted pattern character
	afterWS   bool  // white space ended the last field, no other separator since
	emptyList bool  // a "$@" without elements was met in these double quotes
	inDQ      bool
	inDoc     bool // it is a here-document, where "$*" joins with a blank
}

func (e *expander) quoted(s string) {
	if s == "" {
		if !e.inDQ {
			e.active = true
		}
		return
	}
	e.active = true
	if e.split || e.record {
		n := len(e.buf)
		if k := len(e.spans); k > 0 && e.spans[k-1] == n {
			e.spans[k-1] = n + len(s)
		} else {
			e.spans = append(e.spans, n, n+len(s))
		}
	}
	e.add(s)
}

// add appends to the current field. A long one is checked before it grows: nothing else may come between.
func (e *expander) add(s string) {
	if n := len(e.buf) + len(s); n > longText {
		e.sh.longValue(n)
		e.buf = proc.AppendString(e.buf, s)
		return
	}
	e.buf = append(e.buf, s...)
}

// longText is the length from which texts are copied with care.
const longText = 64 << 10

// longValue checks that a text of n bytes may be made, which takes a moment.
func (sh *Shell) longValue(n int) {
	if limit := sh.x.budget.Limits.ValueBytes; int64(n) > limit {
		err := error(&proc.LimitError{Name: "bytes of one value", Limit: limit})
		sh.x.budget.Kill(err)
		panic(killPanic{cmpErr(sh.x.over(), err)})
	}
	sh.hold(int64(n))
	sh.hold(-int64(n))
	sh.ticks += int64(n >> 12)
	if sh.ticks > 32 {
		sh.tick()
	}
}

func (e *expander) literal(s string) {
	e.active = true
	if e.split && !e.glob && hasGlobChar(s) {
		e.glob = true
	}
	e.add(s)
}

// end completes the current field.
func (e *expander) end() {
	if e.glob && !e.sh.opts.get('f') {
		e.globField()
	} else {
		e.out = append(e.out, proc.String(e.buf))
	}
	e.buf, e.spans, e.active, e.glob = e.buf[:0], e.spans[:0], false, false
	if len(e.out)&1023 == 0 {
		e.sh.wordLimit(len(e.out))
		e.sh.tick()
	}
}

// splitText adds the result of an unquoted expansion.
func (e *expander) splitText(s string) {
	if !e.split {
		e.add(s)
		e.active = e.active || s != ""
		return
	}
	if e.sh.ifsChanged {
		e.sh.loadIFS()
	}
	t := &e.sh.ifs
	if t.null {
		if s != "" {
			e.literal(s)
		}
		return
	}
	start := 0
	for i := 0; i < len(s); i++ {
		cl := t.class[s[i]]
		w := 1
		if s[i] >= 0x80 && t.wide != nil {
			_, w = utf8.DecodeRuneInString(s[i:])
			if t.wide[s[i:i+w]] {
				cl = 2
			}
		}
		if cl == 0 {
			i += w - 1
			continue
		}
		if i > start {
			e.literal(s[start:i])
			e.afterWS = false
		}
		start = i + w
		i += w - 1
		if cl == 1 {
			if e.active {
				e.end()
				e.afterWS = true
			}
			continue
		}
		switch {
		case e.active:
			e.end()
		case e.afterWS:
			// The white space before belongs to this separator.
		default:
			e.active = true
			e.end()
		}
		e.afterWS = false
	}
	if start < len(s) {
		e.literal(s[start:])
		e.afterWS = false
	}
}

func (e *expander) parts(ps []part, quoted bool) {
	for _, p := range ps {
		switch x := p.(type) {
		case *litPart:
			if quoted {
				e.quoted(x.s)
			} else {
				e.literal(x.s)
			}
		case *quotedPart:
			e.quoted(x.s)
		case *dqPart:
			e.dq(x.parts)
		case *paramPart:
			e.param(x, quoted)
		case *cmdPart:
			e.text(e.sh.cmdSubst(x), quoted)
		case *arithPart:
			e.text(strconv.FormatInt(e.sh.evalArith(x.x, ""), 10), quoted)
		case *tildePart:
			if x.loose && e.sh.posix {
				e.literal("~" + x.user)
				continue
			}
			e.quoted(e.sh.tilde(x.user))
		case *procPart:
			e.quoted(e.sh.procSubst(x))
		case *badPart:
			e.sh.badSubstitution(x.src)
		}
	}
}

func (e *expander) text(s string, quoted bool) {
	if quoted {
		e.quoted(s)
	} else {
		e.splitText(s)
	}
}

func (e *expander) dq(ps []part) {
	was, list := e.inDQ, e.emptyList
	e.inDQ, e.emptyList = true, false
	e.parts(ps, true)
	if !e.emptyList {
		e.active = true
	}
	e.inDQ, e.emptyList = was, list
}

// fields expands words completely: braces, expansions, splitting, pathnames.
func (sh *Shell) fields(ws []*word) []string {
	out := make([]string, 0, len(ws)+4)
	e := expander{sh: sh, split: true}
	for _, w := range ws {
		if w.isLit {
			out = append(out, w.lit)
			continue
		}
		e.out = out
		if w.brace && sh.opts.get('B') {
			for _, b := range sh.braces(w) {
				e.word(b)
			}
		} else {
			e.word(w)
		}
		out = e.out
	}
	sh.wordLimit(len(out))
	return out
}

func (e *expander) word(w *word) {
	if w.isLit {
		e.out = append(e.out, w.lit)
		return
	}
	e.afterWS = false
	e.parts(w.parts, false)
	if e.active {
		e.end()
	}
}

// str expands a word to one string, without splitting or pathname expansion.
func (sh *Shell) expandStr(w *word) string {
	if w == nil {
		return ""
	}
	if w.isLit {
		return w.lit
	}
	return sh.joinParts(w.parts)
}

func (sh *Shell) joinParts(ps []part) string {
	e := expander{sh: sh, buf: sh.scratch[:0]}
	sh.scratch = nil
	e.parts(ps, false)
	s := proc.String(e.buf)
	if cap(e.buf) < 4096 {
		sh.scratch = e.buf[:0]
	}
	return s
}

// heredocText expands the body of a here-document.
func (sh *Shell) heredocText(ps []part) string {
	e := expander{sh: sh, inDQ: true, inDoc: true}
	e.parts(ps, true)
	return proc.String(e.buf)
}

// expandPattern expands a word to a pattern: what was quoted matches itself.
func (sh *Shell) expandPattern(w *word) string {
	if w == nil {
		return ""
	}
	e := expander{sh: sh, record: true}
	e.parts(w.parts, false)
	return string(e.pattern())
}

// pattern is the current field with its quoted spans escaped.
func (e *expander) pattern() []byte {
	if len(e.spans) == 0 {
		return e.buf
	}
	out := make([]byte, 0, len(e.buf)+8)
	at := 0
	for i := 0; i < len(e.spans); i += 2 {
		out = append(out, e.buf[at:e.spans[i]]...)
		out = pattern.AppendQuoted(out, string(e.buf[e.spans[i]:e.spans[i+1]]))
		at = e.spans[i+1]
	}
	return append(out, e.buf[at:]...)
}

func (sh *Shell) patternFlags(fold bool) pattern.Flags {
	var f pattern.Flags
	if sh.opts.shopt(extglob) {
		f |= pattern.ExtGlob
	}
	if fold {
		f |= pattern.FoldCase
	}
	if sh.bytes() {
		f |= pattern.Bytes
	}
	return f
}

func (sh *Shell) tilde(user string) string {
	switch user {
	case "":
		if h, ok := sh.get("HOME"); ok {
			return h
		}
		return sh.x.cfg.User.Home
	case "+":
		return sh.dir
	case "-":
		if o, ok := sh.get("OLDPWD"); ok {
			return o
		}
		return "~-"
	case sh.x.cfg.User.Name:
		return sh.x.cfg.User.Home
	case "root":
		return "/root"
	}
	// ~N, ~+N and ~-N are entries of the directory stack.
	n := strings.TrimPrefix(user, "+")
	if n != "" && strings.Trim(n[1:], "0123456789") == "" && (n[0] == '-' && len(n) > 1 || '0' <= n[0] && n[0] <= '9') {
		if n[0] != '-' {
			n = "+" + n
		}
		st := sh.stack()
		if k, ok := stackIndex(n, len(st)); ok && k >= 0 && k < len(st) {
			return st[k]
		}
	}
	return "~" + user
}

// substitution is what messages about the text of a command substitution begin with.
const substitution = "command substitution: "

// cmdSubst runs a command substitution and returns its output without trailing newlines and NULs.
func (sh *Shell) cmdSubst(p *cmdPart) string {
	sh.tick()
	if name := p.onlyFile(); name != nil {
		return sh.fileSubst(name)
	}
	stmts := p.stmts
	c := &capture{budget: sh.x.budget, closed: make(chan struct{})}
	d := newDesc(sh.x.budget, c)
	if d == nil {
		sh.fatal("cannot make pipe for command substitution: Too many open files")
	}
	child := sh.fork(sh.ctx, sh.x.newPID())
	child.isCmdSub = true
	child.shownJobs = sh.jobs
	child.fds.set(1, d)
	if !sh.opts.shopt(inheritErrexit) && !sh.posix {
		child.opts.set('e', false)
	}
	child.xtrace++
	if p.placed {
		child.shift = sh.line - 1
	} else if p.prog != nil {
		child.shift = sh.line - p.line
	}
	status := child.child(func() {
		if p.prog != nil {
			child.runProgram(p.prog, substitution)
			return
		}
		child.stmts(stmts)
	})
	if len(p.stmts) == 0 && (p.prog == nil || len(p.prog.groups) == 0 && p.prog.err == nil) {
		status = 0
	}
	sh.substSt, sh.status = status, status
	// A background job may still hold the pipe open.
	select {
	case <-c.closed:
	default:
		sh.turn.Pause()
		select {
		case <-c.closed:
		case <-sh.ctx.Done():
		}
	}
	sh.checkAlive()
	out, err := c.text(sh.checkAlive)
	sh.x.budget.Release(c.held)
	if err != nil {
		panic(killPanic{err})
	}
	return sh.cleanSubst(out)
}

func (sh *Shell) cleanSubst(out string) string {
	if strings.IndexByte(out, 0) >= 0 {
		sh.errorf("warning: command substitution: ignored null byte in input")
		out = strings.ReplaceAll(out, "\x00", "")
	}
	return strings.TrimRight(out, "\n")
}

// onlyFile is the word of a substitution that is no more than <word: it gives the file's content.
func (p *cmdPart) onlyFile() *word {
	stmts := p.stmts
	if p.prog != nil && p.prog.err == nil && len(p.prog.groups) == 1 {
		stmts = p.prog.groups[0]
	}
	if len(stmts) != 1 {
		return nil
	}
	st := stmts[0]
	if st.cmd != nil || st.negated || st.background || len(st.redirs) != 1 {
		return nil
	}
	if r := st.redirs[0]; r.op == syntax.RdrIn && r.fd < 0 && r.varName == "" {
		return r.word
	}
	return nil
}

// fileSubst is the content of the file that a word names.
func (sh *Shell) fileSubst(file *word) string {
	name := sh.expandStr(file)
	d, err := sh.openFile(name, vfs.ReadOnly)
	if err != nil {
		sh.errorf("%s: %s", name, proc.Strerror(err))
		if sh.substSt = 1; sh.opts.get('e') {
			panic(exitPanic{1}) // it is the shell itself that fails
		}
		return ""
	}
	defer d.release()
	var out []byte
	buf := make([]byte, 32<<10)
	held := int64(0)
	for {
		n, err := d.read(sh.ctx, buf)
		if n > 0 {
			if need := int64(len(out) + n); need > held {
				sh.hold(need)
				held += need
			}
			out = append(out, buf[:n]...)
			sh.tick()
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				sh.errorf("%s: %s", name, proc.Strerror(err))
			}
			break
		}
		sh.tick()
	}
	sh.hold(-held)
	sh.checkAlive()
	sh.substSt = 0
	return sh.cleanSubst(string(out))
}

// procSubst starts a process substitution and returns its name.
func (sh *Shell) procSubst(p *procPart) string {
	pp := newPipe(sh.x.budget)
	r := newDesc(sh.x.budget, pipeReader{pp})
	w := newDesc(sh.x.budget, pipeWriter{pp})
	if r == nil || w == nil {
		sh.fatal("cannot make pipe for process substitution: Too many open files")
	}
	n := 63
	for sh.fds.get(n) != nil && n > 10 {
		n--
	}
	pid := sh.x.newPID()
	child := sh.fork(sh.x.ctx, pid)
	if p.placed {
		child.shift = sh.line - 1
	}
	sh.lastBG = pid
	if p.in {
		child.fds.set(1, w)
		sh.fds.put(n, r)
	} else {
		child.fds.set(0, r)
		sh.fds.put(n, w)
	}
	sh.procSubs = append(sh.procSubs, n)
	j := &job{pid: pid, done: make(chan struct{}), hidden: true}
	sh.jobs = append(sh.jobs, j)
	child.spawn(func() { child.stmts(p.stmts) }, func(st int) {
		j.status = st
		close(j.done)
	})
	return "/dev/fd/" + itoa(n)
}
