package data

import (
	"bytes"
	"context"
	_ "embed" // the text of --help
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/lang/jq"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

//go:embed jq.txt
var jqUsage string

const jqVersion = "1.8.2"

const jqHint = `Use jq --help for help with command-line options,
or see the jq manpage, or online docs at https://jqlang.org
`

// jqRun is a jq command line and its progress.
type jqRun struct {
	p     *proc.Process
	style jq.Style

	raw, join, zero, color, seq, null, slurp, rawInput, exitStatus, stream, streamErrors bool

	filter string
	got    bool // filter is set
	names  []string
	vals   []any
	named  *jq.Object
	pos    []any
	files  []string
	dirs   []string // -L

	dec      *jq.Decoder
	lines    *jqLines
	file     string
	opened   bool
	next     int // file
	held     int // for values
	buffered int
	slurped  bool
	status   int
	unread   bool // an input file could not be opened
	lastNull int  // of -e: 4 nothing, 1 null or false, 0
}

func jqMain(_ context.Context, p *proc.Process) int {
	r := &jqRun{p: p, named: jq.NewObject()}
	r.style.Indent = "  "
	r.lastNull = 4
	defer func() { p.Release(r.held + r.buffered) }()
	if done, status := r.options(p.Args[1:]); done {
		return status
	}
	return r.run()
}

func (r *jqRun) fail(format string, args ...any) (bool, int) {
	r.p.Errorf(format, args...)
	r.p.Err.WriteString(jqHint)
	return true, 2
}

// isJqOption tells options from filters like -1 or -.a.
func isJqOption(a string) bool {
	return len(a) > 1 && a[0] == '-' && (a[1] == '-' || a[1]|0x20 >= 'a' && a[1]|0x20 <= 'z')
}

var jqLetters = map[byte]string{
	'r': "raw-output", 'j': "join-output", 'a': "ascii-output", 'c': "compact-output", 's': "slurp", 'n': "null-input",
	'e': "exit-status",
	'S': "sort-keys", 'C': "color-output", 'M': "monochrome-output", 'R': "raw-input", 'h': "help", 'V': "version",
	'f': "from-file", 'b': "binary",
}

// flag sets an option that takes no argument and does not change how the rest of the line is read.
func (r *jqRun) flag(name string) bool {
	switch name {
	case "raw-output":
		r.raw = true
	case "join-output":
		r.raw, r.join = true, true
	case "ascii-output":
		r.style.ASCII = true
	case "compact-output":
		r.style.Indent, r.style.Lines = "", false
	case "slurp":
		r.slurp = true
	case "null-input":
		r.null = true
	case "exit-status":
		r.exitStatus = true
	case "sort-keys":
		r.style.Sort = true
	case "color-output":
		r.color = true
	case "monochrome-output":
		r.color = false
	case "raw-input":
		r.rawInput = true
	case "tab":
		r.style.Indent = "\t"
	case "seq":
		r.seq = true
	case "stream":
		r.stream = true
	case "stream-errors":
		r.stream, r.streamErrors = true, true
	case "raw-output0":
		r.raw, r.join, r.zero = true, true, true
	case "unbuffered", "binary":
	default:
		return false
	}
	return true
}

// bind gives a named argument its value.
func (r *jqRun) bind(what, name, arg string) (done bool, status int) {
	var v any = arg
	switch what {
	case "argjson":
		x, err := r.parse(arg)
		if err != nil {
			return r.fail("invalid JSON text passed to --argjson")
		}
		v = x
	case "slurpfile", "rawfile":
		b, err := r.p.ReadFile(arg)
		if err != nil {
			r.p.Errorf("Bad JSON in --%s %s %s: Could not open %s: %s", what, name, arg, arg, proc.Strerror(err))
			return true, 2
		}
		if v = string(b); what != "rawfile" {
			list, err := r.slurpAll(b)
			if err != nil {
				r.p.Errorf("Bad JSON in --%s %s %s: %v", what, name, arg, err)
				return true, 2
			}
			v = jq.NewArray(list)
		}
	}
	if _, dup := r.named.Get(name); !dup {
		r.names = append(r.names, "$"+name)
		r.vals = append(r.vals, v)
		r.named = r.named.Set(name, v)
	}
	return false, 0
}

// options reads the command line; done says that it ends here.
func (r *jqRun) options(args []string) (done bool, status int) {
	further, restArgs, jsonArgs, fileGiven := true, false, false, false
	take := func(n int) ([]string, bool) {
		if len(args) < n {
			return nil, false
		}
		t := args[:n]
		args = args[n:]
		return t, true
	}
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		if !further || !isJqOption(a) {
			switch {
			case !r.got && !fileGiven:
				r.filter, r.got = a, true
			case restArgs:
				r.pos = append(r.pos, a)
			case jsonArgs:
				v, err := r.parse(a)
				if err != nil {
					return r.fail("invalid JSON text passed to --jsonargs")
				}
				r.pos = append(r.pos, v)
			default:
				r.files = append(r.files, a)
			}
			continue
		}
		if a == "--" {
			further = false
			continue
		}
		names := []string{a[2:]}
		if a[1] != '-' {
			names = names[:0]
			for i := 1; i < len(a); i++ {
				if a[i] == 'L' { // the rest, or the next argument, is a folder
					dir := a[i+1:]
					if dir == "" {
						t, ok := take(1)
						if !ok {
							r.p.Err.WriteString("-L takes a parameter: (e.g. -L /search/path or -L/search/path)\n" + jqHint)
							return true, 2
						}
						dir = t[0]
					}
					r.dirs = append(r.dirs, dir)
					break
				}
				name, ok := jqLetters[a[i]]
				if !ok {
					return r.fail("Unknown option %s", a)
				}
				names = append(names, name)
			}
		}
		for _, name := range names {
			if r.flag(name) {
				continue
			}
			switch name {
			case "help":
				r.p.Out.WriteString(jqUsage)
				return true, 0
			case "version":
				r.p.Out.WriteString("jq-" + jqVersion + "\n")
				return true, 0
			case "build-configuration":
				r.p.Out.WriteString("pgbox\n")
				return true, 0
			case "library-path":
				t, ok := take(1)
				if !ok {
					r.p.Err.WriteString("-L takes a parameter: (e.g. -L /search/path or -L/search/path)\n" + jqHint)
					return true, 2
				}
				r.dirs = append(r.dirs, t[0])
			case "from-file":
				fileGiven = true
			case "args":
				restArgs, jsonArgs = true, false
			case "jsonargs":
				restArgs, jsonArgs = false, true
			case "indent":
				t, ok := take(1)
				if !ok {
					return r.fail("--indent takes one parameter")
				}
				n, err := strconv.Atoi(t[0])
				switch {
				case err != nil || n < -1 || n > 7:
					return r.fail("--indent takes a number between -1 and 7")
				case n == -1:
					r.style.Indent = "\t"
				default:
					r.style.Indent, r.style.Lines = strings.Repeat(" ", n), true
				}
			case "arg", "argjson", "slurpfile", "rawfile":
				t, ok := take(2)
				if !ok {
					return r.fail("--%s takes two parameters (e.g. --%s varname %s)", name, name, map[string]string{
						"arg": "value", "argjson": "text", "slurpfile": "filename", "rawfile": "filename"}[name])
				}
				if done, status := r.bind(name, t[0], t[1]); done {
					return done, status
				}
			default:
				return r.fail("Unknown option %s", a)
			}
		}
	}
	if fileGiven {
		// The filter file is the first operand, wherever the option stood.
		name := r.filter
		if !r.got {
			if len(r.files) == 0 {
				short, _, _ := strings.Cut(jqUsage, "Command options:")
				r.p.Err.WriteString(short + "For listing the command options, use jq --help.\n")
				return true, 2
			}
			name, r.files = r.files[0], r.files[1:]
		}
		b, err := r.p.ReadFile(name)
		if err != nil {
			r.p.Errorf("Could not open %s: %s", name, proc.Strerror(err))
			return true, 2
		}
		r.filter, r.got = string(b), true
	}
	if !r.got {
		r.filter = "."
	}
	return false, 0
}

// buffer counts what is held until the command ends.
func (r *jqRun) buffer(n int) {
	r.buffered += n
	r.p.Hold(n)
}

func (r *jqRun) hold(n int) {
	r.held += n
	r.p.Hold(n)
}

// parse reads one value from a text that holds nothing else.
func (r *jqRun) parse(text string) (any, error) {
	list, err := r.slurpAll([]byte(text))
	if err != nil || len(list) != 1 {
		return nil, errors.Join(err, errors.New("not one value"))
	}
	return list[0], nil
}

func (r *jqRun) slurpAll(b []byte) ([]any, error) {
	d := jq.NewDecoder(bytes.NewReader(b), r.p.Tick, r.hold)
	d.Literals = true
	var list []any
	for {
		v, err := d.Next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

// modules is where the filter's imports are found.
func (r *jqRun) modules() *jq.Modules {
	p := r.p
	shown := []string{"~/.jq", "$ORIGIN/../lib/jq", "$ORIGIN/../lib"}
	if len(r.dirs) > 0 {
		shown = make([]string, len(r.dirs))
		for i, d := range r.dirs {
			if shown[i] = d; !strings.HasPrefix(d, "~") {
				if st, err := p.Stat(d); err == nil && st.Kind == vfs.Dir {
					shown[i] = p.Abs(d)
				}
			}
		}
	}
	ms := &jq.Modules{Shown: shown, Home: p.Getenv("HOME"), Dir: p.Dir}
	for _, d := range shown {
		if rest, ok := strings.CutPrefix(d, "~"); ok {
			d = ms.Home + rest
		}
		ms.Paths = append(ms.Paths, p.Abs(strings.Replace(d, "$ORIGIN", "/usr/bin", 1)))
	}
	ms.Read = func(name string) ([]byte, error) {
		b, err := p.ReadFile(name)
		if err == nil {
			r.buffer(len(b))
		}
		return b, err
	}
	ms.Value = func(b []byte) (any, error) {
		list, err := r.slurpAll(b)
		return jq.NewArray(list), err
	}
	return ms
}

func (r *jqRun) run() int {
	p := r.p
	palette, ok := jq.NewPalette(p.Getenv("JQ_COLORS"))
	if !ok {
		p.Err.WriteString("Failed to set $JQ_COLORS\n")
	}
	if r.color {
		r.style.Color = palette
	}
	args := jq.NewObject().Set("positional", jq.NewArray(r.pos)).Set("named", r.named)
	names, vals := append(r.names, "$ARGS"), append(r.vals, any(args))
	modules := r.modules()
	prog, err := jq.Compile(r.filter, names, vals, modules, true, jq.Meter{Tick: p.Tick, Hold: r.buffer})
	if err != nil {
		var ce *jq.CompileError
		if !errors.As(err, &ce) {
			p.Errorf("error: %v", err)
			return 3
		}
		for _, problem := range ce.Problems {
			p.Errorf("error: %s", problem)
		}
		plural := "s"
		if len(ce.Problems) == 1 {
			plural = ""
		}
		p.Errorf("%d compile error%s", len(ce.Problems), plural)
		return 3
	}
	r.buffered, r.held = r.buffered+r.held, 0 // the values of arguments stay until the end
	env := jq.NewObject()
	for _, kv := range p.Env.List() {
		k, v, _ := strings.Cut(kv, "=")
		env = env.Set(k, v)
	}
	m := &jq.Machine{
		Tick: p.Tick, Hold: p.Hold, Release: p.Release, Env: env,
		Literals: true,
		Room:     func() int { return int(p.Budget.Limits.LiveBytes - p.Budget.Live()) },
		File: func() any {
			if r.dec == nil && r.lines == nil { // nothing has been read
				return nil
			}
			return r.name()
		},
		Line: func() float64 {
			switch {
			case r.dec != nil:
				return float64(r.dec.Lines())
			case r.lines != nil:
				return float64(r.lines.n)
			}
			return 0
		},
		Debug: func(v any) {
			p.Out.Flush()
			r.tell(`["DEBUG:",`, v, "]\n")
		},
		Warn: func(v any) {
			p.Out.Flush()
			if s, ok := v.(string); ok {
				p.Err.WriteString(s)
				return
			}
			r.tell("", v, "")
		},
		Now:     func() float64 { return float64(p.Now().UnixMicro()) / 1e6 },
		Modules: modules,
	}
	m.Input = func() (any, bool, error) {
		v, ok, err := r.input()
		r.adopted(m)
		return v, ok, err
	}
	if r.null {
		if halted, status := r.eval(m, prog, nil); halted {
			return status
		}
		return r.end()
	}
	for {
		v, ok, err := r.input()
		if err != nil {
			return r.parseFailed(err)
		}
		if !ok {
			return r.end()
		}
		if halted, status := r.eval(m, prog, v); halted {
			return status
		}
	}
}

// jqBadInput is the exit status after malformed JSON.
const jqBadInput = 5

func (r *jqRun) parseFailed(err error) int {
	r.p.Out.Flush()
	var pe *jq.ParseError
	if errors.As(err, &pe) {
		fmt.Fprintf(r.p.Err, "jq: parse error: %v\n", pe)
		return jqBadInput
	}
	r.p.Errorf("error: %s", proc.Strerror(err))
	return 2
}

func (r *jqRun) end() int {
	if r.unread {
		return 2
	}
	if r.status != 0 {
		return r.status
	}
	if r.exitStatus {
		return r.lastNull
	}
	return 0
}

// eval runs the program on one input and prints its results.
func (r *jqRun) eval(m *jq.Machine, prog *jq.Program, v any) (halted bool, status int) {
	p := r.p
	r.status = 0 // the last input decides
	var buf []byte
	held := 0
	style := r.style.Ticking(p.Tick, func(n int) { held += n; p.Hold(n) })
	r.adopted(m)
	err := m.Eval(prog, v, func(x any) error {
		defer func() { p.Release(held); held = 0 }()
		r.lastNull = 0
		if x == nil || x == false {
			r.lastNull = 1
		}
		buf = buf[:0]
		if r.seq {
			buf = append(buf, 0x1e)
		}
		if s, ok := x.(string); ok && r.raw {
			switch {
			case r.zero && strings.IndexByte(s, 0) >= 0:
				return &jq.Error{Value: "Cannot dump a string containing NUL with --raw-output0 option"}
			case r.style.ASCII:
				buf = style.Append(buf, x)
			default:
				buf = append(buf, s...)
			}
		} else {
			buf = style.Append(buf, x)
		}
		if r.zero {
			buf = append(buf, 0)
		}
		if !r.join {
			buf = append(buf, '\n')
		}
		_, _ = p.Out.Write(buf)
		return nil
	})
	var h *jq.Halt
	var raised *jq.Error
	switch {
	case err == nil:
	case errors.As(err, &h):
		p.Out.Flush()
		if h.Print {
			if h.Value == nil {
				return true, h.Status
			}
			if s, ok := h.Value.(string); ok {
				p.Err.WriteString(s)
			} else {
				r.tell("", h.Value, "\n")
			}
		}
		return true, h.Status
	case errors.As(err, &raised):
		r.status = 5
		if s, ok := raised.Value.(string); ok {
			p.Errorf("error (at %s): %s", r.where(), s)
		} else {
			r.tell(fmt.Sprintf("jq: error (at %s) (not a string): ", r.where()), raised.Value, "\n")
		}
	default:
		return true, r.parseFailed(err)
	}
	return false, 0
}

// tell prints v, which may be much longer than it is large, to the standard error.
func (r *jqRun) tell(before string, v any, after string) {
	held := 0
	b := jq.Style{}.Ticking(r.p.Tick, func(n int) { held += n; r.p.Hold(n) }).Append([]byte(before), v)
	_, _ = r.p.Err.Write(append(b, after...))
	r.p.Release(held)
}

// adopted makes what has been counted for the input the machine's, which finds out what of it is still in use.
func (r *jqRun) adopted(m *jq.Machine) {
	m.Adopt(r.held)
	r.held = 0
}

// where is the position error messages give.
func (r *jqRun) where() string {
	if r.dec == nil {
		if r.lines != nil {
			return fmt.Sprintf("%s:%d", r.name(), r.lines.n)
		}
		return "<unknown>"
	}
	return fmt.Sprintf("%s:%d", r.name(), r.dec.Lines())
}

func (r *jqRun) name() string {
	if r.file == "" {
		return "<stdin>"
	}
	return r.file
}

// source opens the next input file.
func (r *jqRun) source() (io.Reader, bool) {
	if len(r.files) == 0 {
		if r.opened {
			return nil, false
		}
		r.opened = true
		return r.p.Stdin, true
	}
	for r.next < len(r.files) {
		name := r.files[r.next]
		r.next++
		f, err := r.p.OpenInput(name)
		if err == nil {
			if st, ok := f.(vfs.File); ok {
				if s, e := st.Stat(); e == nil && s.IsDir() {
					r.p.Errorf("error: Could not open %s: It's a directory", name)
					r.unread = true
					continue
				}
			}
			r.file = name
			return f, true
		}
		r.p.Errorf("error: Could not open file %s: %s", name, proc.Strerror(err))
		r.unread = true
	}
	return nil, false
}

// allSources is every input file, one after the other.
type allSources struct {
	r   *jqRun
	cur io.Reader
}

func (a *allSources) Read(b []byte) (int, error) {
	for {
		if a.cur == nil {
			next, ok := a.r.source()
			if !ok {
				return 0, io.EOF
			}
			if a.cur = next; a.r.dec != nil {
				a.r.dec.Restart()
			}
		}
		n, err := a.cur.Read(b)
		if err != nil {
			if c, ok := a.cur.(io.Closer); ok && len(a.r.files) > 0 {
				_ = c.Close()
			}
			a.cur = nil
			if !errors.Is(err, io.EOF) {
				return n, err
			}
			if n == 0 {
				continue
			}
		}
		return n, nil
	}
}

// jqLines gives the lines of a stream.
type jqLines struct {
	src  io.Reader
	buf  []byte
	pos  int
	done bool
	n    int
}

func (l *jqLines) next(hold func(int)) (string, bool, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.pos:], '\n'); i >= 0 {
			s := string(l.buf[l.pos : l.pos+i])
			l.pos += i + 1
			l.n++
			return s, true, nil
		}
		if l.done {
			s := string(l.buf[l.pos:])
			l.pos = len(l.buf)
			return s, s != "", nil
		}
		l.buf = l.buf[:copy(l.buf, l.buf[l.pos:])]
		l.pos = 0
		if len(l.buf) == cap(l.buf) {
			n := max(64<<10, 2*cap(l.buf))
			hold(n - cap(l.buf))
			l.buf = append(make([]byte, 0, n), l.buf...)
		}
		n, err := l.src.Read(l.buf[len(l.buf):cap(l.buf)])
		l.buf = l.buf[:len(l.buf)+n]
		if err != nil {
			l.done = true
			if !errors.Is(err, io.EOF) {
				return "", false, err
			}
		}
	}
}

// input returns the next input value.
func (r *jqRun) input() (any, bool, error) {
	if r.slurp {
		if r.slurped {
			return nil, false, nil
		}
		r.slurped = true
		if r.rawInput {
			b, err := r.p.ReadAll(&allSources{r: r})
			r.lines = &jqLines{n: bytes.Count(b, []byte{'\n'})}
			return strings.ToValidUTF8(string(b), "\uFFFD"), err == nil, err
		}
		var list []any
		for {
			v, ok, err := r.value()
			if err != nil {
				return nil, false, err
			}
			if !ok {
				return jq.NewArray(list), true, nil
			}
			r.hold(16)
			list = append(list, v)
		}
	}
	return r.value()
}

// value reads one value, or one event of --stream.
func (r *jqRun) value() (any, bool, error) {
	if r.rawInput {
		if r.lines == nil {
			r.lines = &jqLines{src: &allSources{r: r}}
		}
		s, ok, err := r.lines.next(r.buffer)
		r.p.Tick(1)
		if !ok || err != nil {
			return nil, false, err
		}
		r.hold(16 + len(s))
		return strings.ToValidUTF8(s, "\uFFFD"), true, nil
	}
	if r.dec == nil {
		src := io.Reader(&allSources{r: r})
		r.dec = jq.NewDecoder(src, r.p.Tick, r.hold)
		r.dec.Stream, r.dec.Seq, r.dec.Literals, r.dec.Buffer = r.stream, r.seq, true, r.buffer
	}
	// What the value before held is garbage by now, unless it was slurped.
	if !r.slurp && !r.stream {
		r.p.Release(r.held)
		r.held = 0
	}
	v, err := r.dec.Next()
	var pe *jq.ParseError
	if r.streamErrors && errors.As(err, &pe) {
		return jq.NewArray([]any{pe.Error(), r.dec.Lost()}), true, nil
	}
	if errors.Is(err, io.EOF) {
		if pe := r.dec.Abandoned(); pe != nil {
			r.p.Out.Flush()
			fmt.Fprintf(r.p.Err, "jq: ignoring parse error: %v\n", pe)
		}
		return nil, false, nil
	}
	return v, err == nil, err
}
