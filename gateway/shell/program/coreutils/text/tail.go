package text

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var tailSpec = getopt.New("c:n:fFqs:vz0123456789",
	"bytes:=c lines:=n follow:: quiet=q silent=q verbose=v zero-terminated=z retry pid: sleep-interval:=s max-unchanged-stats:").
	WithUsage("[OPTION]... [FILE]...", "Print the last 10 lines of each FILE to standard output.")

type tailRun struct {
	p         *proc.Process
	bytes     bool
	fromStart bool
	count     int64
	delim     byte
	byName    bool // -F: the file that has the name, not the one that had it
	follow    bool
	pid       int // end when this process has; 0: none
	interval  time.Duration
}

func tail(ctx context.Context, p *proc.Process) int {
	t := &tailRun{p: p, count: 10, delim: '\n', interval: time.Second}
	always, never, retry := false, false, false
	p.Args = append([]string{p.Args[0]}, t.obsolete(p.Args[1:])...)
	if len(p.Args) > 1 && len(p.Args[1]) > 1 && p.Args[1][0] == '-' && program.IsDigit(p.Args[1][1]) {
		p.Errorf("option used in invalid context -- %c", p.Args[1][1])
		return 1
	}
	opts, args := tailSpec.Parse(p)
	for _, o := range opts {
		switch o.Key {
		case "c", "n":
			t.set(o.Key == "c", o.Value)
		case "f":
			t.follow, t.byName = true, false
		case "F":
			t.follow, t.byName, retry = true, true, true
		case "follow":
			t.follow, t.byName = true, o.Has && program.Choose(p, tailSpec, "follow", o.Value, "descriptor", "name") == "name"
		case "s":
			d, ok := program.ParseDuration(o.Value)
			if !ok {
				p.Errorf("invalid number of seconds: %s", program.Quote(o.Value))
				return 1
			}
			t.interval = d
		case "q":
			never, always = true, false
		case "v":
			always, never = true, false
		case "z":
			t.delim = 0
		case "pid":
			n, err := strconv.ParseInt(o.Value, 10, 32)
			if err != nil || n < 0 {
				p.Errorf("invalid PID: %s", program.Quote(o.Value))
				return 1
			}
			t.pid = int(n)
		case "max-unchanged-stats":
			if _, problem := program.ParseCount(o.Value, ""); problem == program.NumberInvalid {
				p.Errorf("invalid maximum number of unchanged stats between opens: %s", program.Quote(o.Value))
				return 1
			}
		case "retry":
			retry = true
		default:
			p.Errorf("option used in invalid context -- %s", o.Key)
			return 1
		}
	}
	if retry && !t.follow {
		p.Errorf("warning: --retry ignored; --retry is useful only when following")
	}
	if t.pid > 0 && !t.follow {
		p.Errorf("warning: PID ignored; --pid=PID is useful only when following")
	}
	if len(args) == 0 {
		args = []string{"-"}
	}
	titles := always || len(args) > 1 && !never
	if t.count == 0 && !t.fromStart && !t.follow {
		return 0 // not even a file is opened
	}
	status, first := 0, true
	var followed []*tailFile
	last := ""
	for _, name := range args {
		shown := name
		if name == "-" {
			shown = "standard input"
		}
		r, err := p.OpenInput(name)
		if err != nil {
			p.Errorf("cannot open %s for reading: %s", program.QuoteName(name), proc.Strerror(err))
			status = 1
			if t.follow && retry && name != "-" {
				followed = append(followed, &tailFile{name: name})
			}
			continue
		}
		if titles {
			title(p, shown, first)
			last = name
		}
		first = false
		if err := t.file(r); err != nil {
			p.Errorf("error reading %s: %s", program.QuoteName(shown), proc.Strerror(err))
			status = 1
			_ = r.Close()
			continue
		}
		if f, ok := r.(vfs.File); ok && t.follow && isFollowed(f) {
			followed = append(followed, &tailFile{name, f})
			continue
		}
		_ = r.Close()
	}
	defer func() {
		for _, f := range followed {
			f.close()
		}
	}()
	if t.follow && len(followed) == 0 && status != 0 {
		p.Errorf("no files remaining")
	}
	if len(followed) > 0 {
		t.watch(ctx, followed, titles, last)
	}
	return status
}

// tailFile is a file that is followed; f is nil while nothing has its name.
type tailFile struct {
	name string
	f    vfs.File
}

func (f *tailFile) close() {
	if f.f != nil {
		_ = f.f.Close()
		f.f = nil
	}
}

// reopen finds what has the name of a file now.
func (t *tailRun) reopen(f *tailFile) {
	st, err := t.p.Stat(f.name)
	if err != nil {
		if f.f != nil {
			t.p.Errorf("%s has become inaccessible: %s", program.QuoteName(f.name), proc.Strerror(err))
			f.close()
		}
		return
	}
	was := "appeared"
	if f.f != nil {
		if old, err := f.f.Stat(); err == nil && old.Ino == st.Ino {
			return
		}
		was = "been replaced"
	}
	r, err := t.p.OpenInput(f.name)
	if err != nil {
		return
	}
	file, ok := r.(vfs.File)
	if !ok || !isFollowed(file) {
		_ = r.Close()
		return
	}
	f.close()
	f.f = file
	t.p.Errorf("%s has %s;  following new file", program.QuoteName(f.name), was)
}

// isFollowed reports whether -f waits for more of a file: not of a pipe.
func isFollowed(f vfs.File) bool {
	st, err := f.Stat()
	return err == nil && (st.Kind == vfs.Regular || st.Kind == vfs.Char)
}

// watch prints what is appended to the files until the process is ended.
func (t *tailRun) watch(ctx context.Context, files []*tailFile, titles bool, last string) {
	interval := min(max(t.interval, 10*time.Millisecond), 100*time.Millisecond)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		t.p.Out.Flush()
		t.p.Pause()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		t.p.Tick(64)
		// Asked first, so that what the process wrote last is printed.
		alive := t.pid == 0 || t.p.Alive(t.pid)
		for _, f := range files {
			if t.byName || f.f == nil {
				t.reopen(f)
			}
			if f.f == nil {
				continue
			}
			if st, err := f.f.Stat(); err == nil {
				if at, err := f.f.Seek(0, io.SeekCurrent); err == nil && st.Size < at {
					t.p.Errorf("%s: file truncated", program.QuoteColon(f.name))
					_, _ = f.f.Seek(0, io.SeekStart)
				}
			}
			_ = program.ReadBlocks(t.p, f.f, func(b []byte) {
				if titles && last != f.name {
					title(t.p, f.name, false)
					last = f.name
				}
				t.p.Out.Write(b)
			})
		}
		if !alive {
			return
		}
	}
}

// obsolete turns a first argument -NUM[bcl][f] or +NUM[bcl][f] into options. It is only recognised before at
// most one operand.
func (t *tailRun) obsolete(args []string) []string {
	if len(args) == 0 || len(args[0]) < 2 || (args[0][0] != '-' && args[0][0] != '+') || len(args) > 3 ||
		len(args) == 3 && args[1] != "--" || len(args) == 2 && strings.HasPrefix(args[1], "-") && args[1] != "-" {
		return args
	}
	s := args[0][1:]
	n := 0
	for n < len(s) && program.IsDigit(s[n]) {
		n++
	}
	if n == 0 && s[0] == 'c' && args[0][0] == '-' || s[0] == '-' {
		return args
	}
	num, kind, rest := s[:n], "-n", s[n:]
	if n == 0 {
		if args[0][0] == '-' && (rest == "" || rest[0] != 'b' && rest[0] != 'l') {
			return args
		}
		num = "10"
	}
	if rest != "" {
		switch rest[0] {
		case 'b':
			num, kind, rest = num+"b", "-c", rest[1:]
		case 'c':
			kind, rest = "-c", rest[1:]
		case 'l':
			rest = rest[1:]
		}
	}
	if rest != "" && rest != "f" {
		return args
	}
	if args[0][0] == '+' {
		num = "+" + num
	}
	out := []string{kind, num}
	if rest == "f" {
		out = append(out, "-f")
	}
	return append(out, args[1:]...)
}

func (t *tailRun) set(isBytes bool, value string) {
	t.bytes = isBytes
	t.fromStart = strings.HasPrefix(value, "+")
	num := strings.TrimLeft(value, "+-")
	if len(value)-len(num) > 1 {
		countError(t.p, isBytes, value, program.NumberInvalid)
	}
	n, problem := program.ParseCount(num, program.SizeSuffixes)
	t.count = n
	if problem == program.NumberInvalid {
		countError(t.p, isBytes, value, problem)
	}
	if t.fromStart && t.count > 0 {
		t.count--
	}
}

func (t *tailRun) file(r io.Reader) error {
	if t.fromStart {
		return t.skip(r)
	}
	if f, ok := r.(vfs.File); ok && program.IsRegular(f) {
		if done, err := t.fromEnd(f); done {
			return err
		}
	}
	if t.bytes {
		return t.lastBytes(r)
	}
	return t.lastLines(r)
}

// skip leaves out the first count bytes or lines.
func (t *tailRun) skip(r io.Reader) error {
	left := t.count
	return program.ReadBlocks(t.p, r, func(b []byte) {
		for left > 0 && len(b) > 0 {
			if t.bytes {
				n := min(int64(len(b)), left)
				b, left = b[n:], left-n
				continue
			}
			i := bytes.IndexByte(b, t.delim)
			if i < 0 {
				return
			}
			b = b[i+1:]
			left--
		}
		if len(b) > 0 {
			t.p.Out.Write(b)
			t.p.Out.Flush()
		}
	})
}

// fromEnd reads backwards in a file that can seek.
func (t *tailRun) fromEnd(f vfs.File) (done bool, err error) {
	st, err := f.Stat()
	if err != nil {
		return false, nil //nolint:nilerr // what cannot be measured is read from its start
	}
	start, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return false, nil //nolint:nilerr // what cannot seek is read from its start
	}
	var from int64
	if t.bytes {
		from = max(start, st.Size-t.count)
	} else if from, err = t.lineStart(f, start, st.Size); err != nil {
		return true, err
	}
	if _, err := f.Seek(max(from, start), io.SeekStart); err != nil {
		return true, err
	}
	return true, program.ReadBlocks(t.p, f, func(b []byte) { t.p.Out.Write(b) })
}

func (t *tailRun) lineStart(f vfs.File, start, size int64) (int64, error) {
	if t.count == 0 || size <= start {
		return size, nil
	}
	left := t.count
	buf := make([]byte, 64<<10)
	end := size
	for end > start {
		from := max(start, end-int64(len(buf)))
		b := buf[:end-from]
		if n, err := f.ReadAt(b, from); err != nil && !(errors.Is(err, io.EOF) && n == len(b)) {
			return 0, err
		}
		t.p.Tick(1 + len(b)>>10)
		if end == size && b[len(b)-1] == t.delim {
			b = b[:len(b)-1] // the last line's own end does not count
		}
		for {
			i := bytes.LastIndexByte(b, t.delim)
			if i < 0 {
				break
			}
			if left--; left == 0 {
				return from + int64(i) + 1, nil
			}
			b = b[:i]
		}
		end = from
	}
	return start, nil
}

func (t *tailRun) lastBytes(r io.Reader) error {
	var kept []byte
	err := program.ReadBlocks(t.p, r, func(b []byte) {
		t.p.Hold(len(b))
		kept = append(kept, b...)
		if over := int64(len(kept)) - t.count; over > max(program.BufferSize, t.count) {
			kept = append(kept[:0], kept[over:]...)
			t.p.Release(int(over))
		}
	})
	if over := int64(len(kept)) - t.count; over > 0 {
		t.p.Out.Write(kept[over:])
	} else {
		t.p.Out.Write(kept)
	}
	t.p.Release(len(kept))
	return err
}

// lastLines keeps whole blocks as long as what follows them holds too few lines.
func (t *tailRun) lastLines(r io.Reader) error {
	type block struct {
		data  []byte
		lines int64
	}
	var kept []block
	var total int64
	err := program.ReadBlocks(t.p, r, func(b []byte) {
		n := int64(bytes.Count(b, []byte{t.delim}))
		if k := len(kept); k > 0 && len(kept[k-1].data)+len(b) <= program.BufferSize {
			kept[k-1].data = append(kept[k-1].data, b...)
			kept[k-1].lines += n
		} else {
			kept = append(kept, block{bytes.Clone(b), n})
		}
		t.p.Hold(len(b))
		total += n
		for len(kept) > 1 && total-kept[0].lines > t.count {
			total -= kept[0].lines
			t.p.Release(len(kept[0].data))
			kept = kept[1:]
		}
	})
	if err != nil || len(kept) == 0 || t.count == 0 {
		return err
	}
	if last := kept[len(kept)-1].data; last[len(last)-1] != t.delim {
		total++ // a last line without an end counts
	}
	skip := total - t.count
	for _, k := range kept {
		b := k.data
		for skip > 0 {
			i := bytes.IndexByte(b, t.delim)
			if i < 0 {
				b = nil
				break
			}
			b = b[i+1:]
			skip--
		}
		t.p.Out.Write(b)
		t.p.Release(len(k.data))
	}
	return nil
}
