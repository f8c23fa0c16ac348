package text

import (
	"bytes"
	"context"
	"io"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var headSpec = getopt.New("c:n:qvz0123456789", "bytes:=c lines:=n quiet=q silent=q verbose=v zero-terminated=z").
	WithUsage("[OPTION]... [FILE]...", "Print the first 10 lines of each FILE to standard output.")

type headRun struct {
	p     *proc.Process
	bytes bool
	elide bool // all but the last count
	count int64
	delim byte
}

func head(_ context.Context, p *proc.Process) int {
	h := &headRun{p: p, count: 10, delim: '\n'}
	always, never := false, false
	if len(p.Args) > 1 && len(p.Args[1]) > 1 && p.Args[1][0] == '-' && program.IsDigit(p.Args[1][1]) {
		p.Args = append([]string{p.Args[0]}, h.obsolete(p.Args[1:])...)
	}
	opts, args := headSpec.Parse(p)
	for _, o := range opts {
		switch o.Key {
		case "c", "n":
			h.set(o.Key == "c", o.Value)
		case "q":
			never, always = true, false
		case "v":
			always, never = true, false
		case "z":
			h.delim = 0
		default:
			headSpec.Fail(p, "invalid trailing option -- %s", o.Key)
		}
	}
	if len(args) == 0 {
		args = []string{"-"}
	}
	titles := always || len(args) > 1 && !never
	status, first := 0, true
	for _, name := range args {
		shown := name
		if name == "-" {
			shown = "standard input"
		}
		r, err := p.OpenInput(name)
		if err != nil {
			p.Errorf("cannot open %s for reading: %s", program.QuoteName(name), proc.Strerror(err))
			status = 1
			continue
		}
		if titles {
			title(p, shown, first)
		}
		first = false
		if err := h.file(r); err != nil {
			p.Errorf("error reading %s: %s", program.QuoteName(shown), proc.Strerror(err))
			status = 1
		}
		_ = r.Close()
	}
	return status
}

func title(p *proc.Process, name string, first bool) {
	if !first {
		p.Out.WriteByte('\n')
	}
	p.Out.WriteString("==> " + name + " <==\n")
}

// obsolete turns -NUM[bkm][cqvz…] into options.
func (h *headRun) obsolete(args []string) []string {
	s := args[0][1:]
	n := 0
	for n < len(s) && program.IsDigit(s[n]) {
		n++
	}
	num, kind := s[:n], "-n"
	var more []string
	for _, c := range []byte(s[n:]) {
		switch c {
		case 'c':
			kind = "-c"
		case 'b', 'k', 'm':
			kind = "-c"
			num += string(c)
		case 'l':
			kind = "-n"
		case 'q', 'v', 'z':
			more = append(more, "-"+string(c))
		default:
			headSpec.Fail(h.p, "invalid trailing option -- %c", c)
		}
	}
	return append(append([]string{kind, num}, more...), args[1:]...)
}

func (h *headRun) set(isBytes bool, value string) {
	h.bytes = isBytes
	h.elide = value != "" && value[0] == '-'
	if h.elide {
		value = value[1:]
	}
	n, problem := program.ParseCount(value, program.SizeSuffixes)
	h.count = n
	if problem != program.NumberOK {
		countError(h.p, isBytes, value, problem)
	}
}

func countError(p *proc.Process, isBytes bool, value string, problem program.NumberProblem) {
	what, tail := "lines", ""
	if isBytes {
		what = "bytes"
	}
	if problem == program.NumberOverflow {
		tail = ": Value too large for defined data type"
	}
	p.Errorf("invalid number of %s: %s%s", what, program.Quote(value), tail)
	p.Exit(1)
}

func (h *headRun) file(r io.Reader) error {
	switch {
	case h.elide && h.bytes:
		return h.elideBytes(r)
	case h.elide:
		return h.elideLines(r)
	case h.bytes:
		left := h.count
		return h.blocks(r, &left, func(b []byte) []byte {
			b = b[:min(int64(len(b)), left)]
			left -= int64(len(b))
			return b
		})
	}
	left := h.count
	return h.blocks(r, &left, func(b []byte) []byte {
		n := 0
		for left > 0 && n < len(b) {
			i := bytes.IndexByte(b[n:], h.delim)
			if i < 0 {
				return b
			}
			n += i + 1
			left--
		}
		return b[:n]
	})
}

// blocks copies what take leaves of each block until *left is zero. Standard input that can seek is left behind the
// last byte taken, as the next reader of it expects.
func (h *headRun) blocks(r io.Reader, left *int64, take func([]byte) []byte) error {
	if *left == 0 {
		return nil
	}
	buf := make([]byte, 32<<10)
	for *left > 0 {
		want := buf
		if h.bytes {
			want = buf[:min(int64(len(buf)), *left)]
		}
		n, err := r.Read(want)
		h.p.Tick(1 + n>>10)
		taken := take(want[:n])
		h.p.Out.Write(taken)
		if len(taken) < n {
			program.SeekBack(r, n-len(taken))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if *left > 0 {
			h.p.Out.Flush()
		}
	}
	return nil
}

func (h *headRun) elideBytes(r io.Reader) error {
	var kept []byte
	err := program.ReadBlocks(h.p, r, func(b []byte) {
		h.p.Hold(len(b))
		kept = append(kept, b...)
		if over := int64(len(kept)) - h.count; over > program.BufferSize {
			h.p.Out.Write(kept[:over])
			h.p.Release(int(over))
			kept = append(kept[:0], kept[over:]...)
		}
	})
	if over := int64(len(kept)) - h.count; over > 0 {
		h.p.Out.Write(kept[:over])
	}
	h.p.Release(len(kept))
	return err
}

func (h *headRun) elideLines(r io.Reader) error {
	if f, ok := r.(vfs.File); ok && program.IsRegular(f) {
		if done, err := h.elideFromEnd(f); done {
			return err
		}
	}
	l := program.NewLineReader(h.p, r, h.delim)
	defer l.Close()
	var ring [][]byte
	next := 0
	for line, ok := l.Next(); ok; line, ok = l.Next() {
		if h.count == 0 {
			h.p.Out.Write(line)
			continue
		}
		if int64(len(ring)) < h.count {
			h.p.Hold(len(line) + 24)
			ring = append(ring, bytes.Clone(line))
			continue
		}
		h.p.Out.Write(ring[next])
		h.p.Hold(len(line) - len(ring[next]))
		ring[next] = append(ring[next][:0], line...)
		next = (next + 1) % len(ring)
	}
	for _, b := range ring {
		h.p.Release(len(b) + 24)
	}
	return l.Err
}

// elideFromEnd finds the end of what is printed by reading backwards.
func (h *headRun) elideFromEnd(f vfs.File) (done bool, err error) {
	st, err := f.Stat()
	if err != nil {
		return false, nil //nolint:nilerr // what cannot seek is read as a stream
	}
	start, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return false, nil //nolint:nilerr // what cannot seek is read as a stream
	}
	end := st.Size
	if h.count > 0 {
		t := &tailRun{p: h.p, count: h.count, delim: h.delim}
		if end, err = t.lineStart(f, start, st.Size); err != nil {
			return true, err
		}
	}
	return true, program.ReadBlocks(h.p, io.LimitReader(f, end-start), func(b []byte) { h.p.Out.Write(b) })
}
