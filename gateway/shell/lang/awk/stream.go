package awk

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

type streamKind uint8

const (
	outFile streamKind = iota
	outCmd
	inFile
	inCmd
	coproc
)

type streamKey struct {
	kind streamKind
	name string
}

// stream is a redirection that is open until close() or the end.
type stream struct {
	key          streamKey
	w            *proc.Writer
	rd           *reader
	sink         *sink          // of outCmd: where w writes to
	file         io.Closer      // of files
	child        *proc.Running  // of inCmd and coproc
	to           io.WriteCloser // of coproc: the child's standard input
	std          bool           // one of the process's own streams
	noTo, noFrom bool           // of coproc: that end was closed
}

const pipeSize = 64 << 10

// pipe is a bounded pipe between the program and a command it runs.
type pipe struct {
	mu           sync.Mutex
	cond         sync.Cond
	buf          []byte
	rdone, wdone bool
	ctx          context.Context
	stop         func() bool
}

func newPipe(ctx context.Context) *pipe {
	p := &pipe{ctx: ctx}
	p.cond.L = &p.mu
	p.stop = context.AfterFunc(ctx, func() {
		p.mu.Lock()
		p.cond.Broadcast()
		p.mu.Unlock()
	})
	return p
}

func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.buf) == 0 {
		if p.wdone || p.ctx.Err() != nil {
			return 0, io.EOF
		}
		p.cond.Wait()
	}
	n := copy(b, p.buf)
	p.buf = p.buf[:copy(p.buf, p.buf[n:])]
	p.cond.Broadcast()
	return n, nil
}

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := 0
	for len(b) > 0 {
		if p.rdone || p.ctx.Err() != nil {
			return done, vfs.EPIPE
		}
		n := min(len(b), pipeSize-len(p.buf))
		if n == 0 {
			p.cond.Wait()
			continue
		}
		p.buf = append(p.buf, b[:n]...)
		b = b[n:]
		done += n
		p.cond.Broadcast()
	}
	return done, nil
}

// closeRead makes writers fail with EPIPE.
func (p *pipe) closeRead() {
	p.mu.Lock()
	p.rdone = true
	p.mu.Unlock()
	p.cond.Broadcast()
	p.stop()
}

// Close ends the input of the reader.
func (p *pipe) Close() error {
	p.mu.Lock()
	p.wdone = true
	p.mu.Unlock()
	p.cond.Broadcast()
	return nil
}

// start runs cmd beside the program; after is called when it has ended.
func (in *interp) start(cmd string, stdin io.Reader, stdout io.Writer, after func()) *proc.Running {
	in.flushAll()
	return in.p.Start(in.p.Context(), in.p.Shell(cmd, stdin, stdout), after)
}

// sink collects what is printed to a command. A little output is handed over when the stream is closed;
// more of it, or fflush, starts the command beside the program.
type sink struct {
	in    *interp
	cmd   string
	buf   []byte
	pipe  *pipe
	child *proc.Running
}

func (s *sink) Write(b []byte) (int, error) {
	if s.pipe == nil && len(s.buf)+len(b) <= pipeSize {
		s.buf = append(s.buf, b...)
		return len(b), nil
	}
	if err := s.run(); err != nil {
		return 0, err
	}
	return s.pipe.Write(b)
}

// run starts the command and gives it what has been collected.
func (s *sink) run() error {
	if s.pipe == nil {
		p := newPipe(s.in.p.Context())
		s.pipe = p
		s.child = s.in.start(s.cmd, p, nil, p.closeRead)
	}
	b := s.buf
	s.buf = nil
	_, err := s.pipe.Write(b)
	return err
}

func (s *sink) finish() int {
	if s.pipe == nil {
		if p := s.in.p; s.in.ending {
			return p.Spawn(p.Context(), p.Shell(s.cmd, bytes.NewReader(s.buf), nil)) // what has been printed stays where it is
		}
		return s.in.p.Exec(s.in.p.Context(), s.in.p.Shell(s.cmd, bytes.NewReader(s.buf), nil))
	}
	_ = s.pipe.Close()
	return s.child.Wait(s.in.p)
}

// open returns the stream of a redirection, which it opens when there is none.
func (in *interp) open(kind streamKind, name string, appending bool) (*stream, error) {
	key := streamKey{kind, name}
	if s, ok := in.streams[key]; ok {
		return s, nil
	}
	if in.sandbox {
		in.fatal("redirection not allowed in sandbox mode")
	}
	s := &stream{key: key}
	switch kind {
	case outFile:
		switch {
		case name == "/dev/stdout" || name == "-":
			s.w, s.std = in.out, true
		case name == "/dev/stderr":
			s.w, s.std = in.p.Err, true
		default:
			flag := vfs.WriteOnly | vfs.Create | vfs.Trunc
			if appending {
				flag = vfs.WriteOnly | vfs.Create | vfs.Append
			}
			f, err := in.p.Open(name, flag, 0o666)
			if err != nil {
				return nil, err
			}
			s.file = f
			s.w = proc.NewWriter(f, in.p)
		}
	case outCmd:
		in.out.Flush()
		s.sink = &sink{in: in, cmd: name}
		s.w = proc.NewWriter(s.sink, in.p)
	case inFile:
		if name == "-" || name == "/dev/stdin" {
			s.rd, s.std = in.stdinReader(), true
			break
		}
		f, err := in.p.OpenInput(name)
		if err != nil {
			return nil, err
		}
		if f, ok := f.(vfs.File); ok {
			if st, err := f.Stat(); err == nil && st.IsDir() {
				_ = f.Close()
				return nil, vfs.EISDIR
			}
		}
		s.file = f
		s.rd = &reader{src: f}
	case inCmd:
		p := newPipe(in.p.Context())
		s.child = in.start(name, nil, p, func() { _ = p.Close() })
		s.rd = &reader{src: p, close: func() int { p.closeRead(); return s.child.Wait(in.p) }}
	case coproc:
		to, from := newPipe(in.p.Context()), newPipe(in.p.Context())
		s.child = in.start(name, to, from, func() { to.closeRead(); _ = from.Close() })
		s.to = to
		s.w = proc.NewWriter(to, in.p)
		s.rd = &reader{src: from, close: func() int { from.closeRead(); return s.child.Wait(in.p) }}
	}
	in.streams[key] = s
	in.order = append(in.order, s)
	return s, nil
}

// end closes a stream and returns what close() returns.
func (in *interp) end(s *stream) int {
	delete(in.streams, s.key)
	for i, o := range in.order {
		if o == s {
			in.order = append(in.order[:i], in.order[i+1:]...)
			break
		}
	}
	status := 0
	if s.w != nil {
		s.w.Flush()
	}
	switch {
	case s.sink != nil:
		if !in.ending {
			in.out.Flush()
		}
		status = s.sink.finish()
	case s.to != nil:
		_ = s.to.Close()
	}
	if s.rd != nil && !s.std {
		if s.rd.close != nil {
			status = s.rd.close()
		}
		s.rd.release(in)
	}
	if s.file != nil {
		_ = s.file.Close()
	}
	return status
}

// closeAll ends every stream, the last opened first. What commands print comes before what the program has printed
// since they were opened, and not flushed.
func (in *interp) closeAll() {
	in.ending = true
	for len(in.order) > 0 {
		in.end(in.order[len(in.order)-1])
	}
}

// abandon lets go of what a death left open: no goroutine and no file outlives the program.
func (in *interp) abandon() {
	for _, s := range in.order {
		if s.sink != nil && s.sink.pipe != nil {
			_ = s.sink.pipe.Close()
			s.sink.child.Wait(in.p)
		}
		if s.to != nil {
			_ = s.to.Close()
		}
		if s.rd != nil {
			if s.rd.close != nil {
				s.rd.close()
			}
			s.rd.release(in)
		}
		if s.file != nil {
			_ = s.file.Close()
		}
	}
	in.order = nil
	if m := in.main; m != nil {
		if m.close != nil {
			m.close()
		}
		m.release(in)
	}
	if in.stdin != nil {
		in.stdin.release(in)
	}
}

// flushAll makes everything printed so far visible to commands.
func (in *interp) flushAll() {
	in.out.Flush()
	for _, s := range in.order {
		if s.key.kind == outFile || s.key.kind == coproc {
			s.w.Flush()
		}
	}
}

// closeNamed is close(name).
func (in *interp) closeNamed(name, how string) float64 {
	status, found := -1, false
	for kind := outFile; kind <= coproc; kind++ {
		s, ok := in.streams[streamKey{kind, name}]
		if !ok {
			continue
		}
		if kind == coproc && how == "to" {
			s.w.Flush()
			_ = s.to.Close()
			s.noTo = true
			if status, found = 0, true; s.noFrom {
				status = in.end(s)
			}
			continue
		}
		if kind == coproc && how == "from" && !s.noTo {
			s.noFrom, status, found = true, 0, true
			continue
		}
		status, found = in.end(s), true
	}
	if !found {
		in.specials[vERRNO] = str("close of redirection that was never opened")
		in.errnoNumber(0)
	}
	return float64(status)
}

// flush is fflush(): of everything, or of what name is open for.
func (in *interp) flush(name string, all bool) float64 {
	in.flushAll()
	found := all || name == "/dev/stdout" || name == "/dev/stderr"
	for _, s := range in.order {
		if s.w == nil || !all && s.key.name != name {
			continue
		}
		if s.noTo {
			if !all {
				in.p.Errorf("%swarning: fflush: cannot flush: two-way pipe `%s' has closed write end", in.where(), name)
			}
			continue
		}
		found = true
		s.w.Flush()
		if s.sink != nil {
			_ = s.sink.run()
		}
	}
	if found {
		return 0
	}
	return -1
}

// system runs a command and returns its exit status.
func (in *interp) system(cmd string) float64 {
	if in.sandbox {
		in.fatal("'system' function not allowed in sandbox mode")
	}
	in.flushAll()
	child := in.p.Shell(cmd, nil, nil)
	status := in.p.Exec(in.p.Context(), child)
	if child.Signaled != 0 {
		return float64(256 + child.Signaled)
	}
	return float64(status)
}

// getline compiles the forms of getline: 1 for a record, 0 at the end, -1 for an error.
func (c *compiler) getline(e *getline) numFn {
	var set func(in *interp, v value)
	if e.to != nil {
		set = c.setter(e.to)
	}
	if e.kind == getMain {
		return func(in *interp) float64 {
			rec, term, ok, r := in.readMain()
			if r == ctlExit {
				panic(unwind(ctlExit))
			}
			if !ok {
				return 0
			}
			in.specials[vRT] = value{s: term, k: kStr, view: true}
			if set != nil {
				set(in, value{s: rec, k: kInput, view: true})
			} else {
				in.setRecord(rec, true)
			}
			return 1
		}
	}
	kind := map[getlineKind]streamKind{getFile: inFile, getCmd: inCmd, getCoproc: coproc}[e.kind]
	src := c.str(e.src)
	// The element or field is settled before anything is read: its subscript counts even at the end of the input.
	var at func(in *interp) *cell
	var nth numFn
	switch to := e.to.(type) {
	case *indexRef:
		at = c.cell(to)
	case *fieldRef:
		nth = c.num(to.idx)
	}
	return func(in *interp) float64 {
		name := src(in)
		var elem *cell
		var field float64
		if at != nil {
			elem = at(in)
		} else if nth != nil {
			field = nth(in)
		}
		s, err := in.open(kind, name, false)
		if err != nil {
			in.setErrno(err)
			return -1
		}
		if kind == coproc {
			if s.noFrom {
				in.fatal("getline: attempt to read from closed read end of two-way pipe")
			}
			s.w.Flush()
		}
		in.p.Tick(1)
		rec, term, ok := s.rd.record(in)
		if !ok {
			if s.rd.err != nil {
				in.setErrno(s.rd.err)
				return -1
			}
			return 0
		}
		in.specials[vRT] = value{s: term, k: kStr, view: true}
		v := value{s: rec, k: kInput, view: true}
		switch {
		case elem != nil:
			if elem.sub != nil {
				in.fatal("attempt to use array in a scalar context")
			}
			in.store(&elem.v, v)
		case nth != nil:
			in.setField(in.fieldIndex(field), v)
		case set != nil:
			set(in, v)
		default:
			in.setRecord(rec, true)
		}
		return 1
	}
}

// nonfatal reports whether a redirection to name may fail (PROCINFO["NONFATAL"]).
func (in *interp) nonfatal(name string) bool {
	info := in.globalArray("PROCINFO")
	return info.has("NONFATAL") || info.has(name+in.str(in.specials[vSUBSEP])+"NONFATAL")
}

// discard is a writer whose output nobody reads.
func (in *interp) discard() *proc.Writer { return proc.NewWriter(io.Discard, in.p) }

// print compiles print and printf.
func (c *compiler) print(s *printStmt) block {
	verb := "print"
	if s.printf {
		verb = "printf"
	}
	to := func(in *interp) *proc.Writer { return in.out }
	if s.redir != 0 {
		dest := c.str(s.dest)
		kind := map[token]streamKind{tGt: outFile, tAppend: outFile, tPipe: outCmd, tPipeAmp: coproc}[s.redir]
		appending := s.redir == tAppend
		to = func(in *interp) *proc.Writer {
			name := dest(in)
			if name == "" {
				in.fatal("expression for `%s' redirection has null string value",
					map[token]string{tGt: ">", tAppend: ">>", tPipe: "|", tPipeAmp: "|&"}[s.redir])
			}
			st, err := in.open(kind, name, appending)
			if err != nil && in.nonfatal(name) {
				in.setErrno(err)
				return in.discard()
			}
			if err != nil {
				in.fatal("cannot redirect to `%s': %s", name, proc.Strerror(err))
			}
			if st.noTo {
				in.fatal("%s: attempt to write to closed write end of two-way pipe", verb)
			}
			return st.w
		}
	}
	if s.printf {
		return c.printf(s.args, to)
	}
	if len(s.args) == 0 {
		return func(in *interp) ctl {
			w := to(in)
			w.WriteString(in.record())
			w.WriteString(in.ors)
			return ctlNone
		}
	}
	args := make([]valFn, len(s.args))
	for i, a := range s.args {
		args[i] = c.val(a)
	}
	write := func(in *interp, w *proc.Writer, v value) {
		if v.k == kNum {
			var buf [40]byte
			_, _ = w.Write(in.appendNum(buf[:0], v.n, in.ofmt))
			return
		}
		w.WriteString(v.s)
	}
	if len(args) == 1 {
		arg := args[0]
		return func(in *interp) ctl {
			v := arg(in)
			w := to(in)
			write(in, w, v)
			w.WriteString(in.ors)
			return ctlNone
		}
	}
	return func(in *interp) ctl {
		var stack [8]value
		vs := stack[:0]
		for _, a := range args {
			vs = append(vs, a(in))
		}
		w := to(in)
		for i, v := range vs {
			if i > 0 {
				w.WriteString(in.ofs)
			}
			write(in, w, v)
		}
		w.WriteString(in.ors)
		return ctlNone
	}
}

func (c *compiler) printf(list []expr, to func(in *interp) *proc.Writer) block {
	if len(list) == 0 { // with --posix
		return func(*interp) ctl { return ctlNone }
	}
	format := c.str(list[0])
	args := make([]valFn, len(list)-1)
	for i, a := range list[1:] {
		args[i] = c.val(a)
	}
	return func(in *interp) ctl {
		f := format(in)
		var stack [8]value
		vs := stack[:0]
		for _, a := range args {
			vs = append(vs, a(in))
		}
		var buf [256]byte
		b := in.sprintf(buf[:0], f, vs)
		_, _ = to(in).Write(b)
		return ctlNone
	}
}
