package lang

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/lang/sed"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var sedSpec = getopt.New("bsnrzuEe:f:l:i::V:",
	"binary=b regexp-extended=r debug in-place::=i line-length:=l null-data=z zero-terminated=z quiet=n posix=p "+
		"silent=n sandbox separate=s unbuffered=u expression:=e file:=f follow-symlinks").
	WithVersion("(GNU sed) 4.9")

const sedUsage = `Usage: sed [OPTION]... {script-only-if-no-other-script} [input-file]...

  -n, --quiet, --silent
                 suppress automatic printing of pattern space
      --debug
                 annotate program execution
  -e script, --expression=script
                 add the script to the commands to be executed
  -f script-file, --file=script-file
                 add the contents of script-file to the commands to be executed
  --follow-symlinks
                 follow symlinks when processing in place
  -i[SUFFIX], --in-place[=SUFFIX]
                 edit files in place (makes backup if SUFFIX supplied)
  -l N, --line-length=N
                 specify the desired line-wrap length for the ` + "`l'" + ` command
  --posix
                 disable all GNU extensions.
  -E, -r, --regexp-extended
                 use extended regular expressions in the script
                 (for portability use POSIX -E).
  -s, --separate
                 consider files as separate rather than as a single,
                 continuous long stream.
      --sandbox
                 operate in sandbox mode (disable e/r/w commands).
  -u, --unbuffered
                 load minimal amounts of data from the input files and flush
                 the output buffers more often
  -z, --null-data
                 separate lines by NUL characters
      --help     display this help and exit
      --version  output version information and exit

If no -e, --expression, -f, or --file option is given, then the first
non-option argument is taken as the sed script to interpret.  All
remaining arguments are names of input files; if no input files are
specified, then the standard input is read.

GNU sed home page: <https://www.gnu.org/software/sed/>.
General help using GNU software: <https://www.gnu.org/gethelp/>.
`

// sedFactor is how much more than its text a script may take.
const sedFactor = 100

func sedCommand(_ context.Context, p *proc.Process) int {
	p.Args[0] = "sed"
	scanned, _, err := sedSpec.Scan(p.Args[1:])
	if err != nil {
		p.Errorf("%v", err)
		p.Err.WriteString(sedUsage)
		return 1
	}
	if slices.ContainsFunc(scanned, func(o getopt.Option) bool { return o.Key == "help" }) {
		p.Out.WriteString(sedUsage)
		return 0
	}
	opts, args := sedSpec.Parse(p)
	o := sed.Options{LineLen: 70, Bytes: program.ByteLocale(p), Tick: p.Tick}
	_, o.Posix = p.Env.Get("POSIXLY_CORRECT")
	if cols, _ := p.Env.Get("COLS"); cols != "" {
		if n, err := strconv.Atoi(cols); err == nil && n > 1 {
			o.LineLen = n - 1
		}
	}
	var chunks []sed.Chunk
	in := &sedInput{p: p, delim: '\n', stdout: p.Out}
	for _, opt := range opts {
		switch opt.Key {
		case "n":
			o.Quiet = true
		case "r", "E":
			o.Extended = true
		case "z":
			o.NullData = true
			in.delim = 0
		case "s":
			o.Separate = true
		case "u":
			o.Unbuffer, in.unbuffered = true, true
		case "p":
			o.Posix = true
		case "sandbox":
			o.Sandbox = true
		case "debug":
			o.Debug = true
		case "follow-symlinks":
			in.follow = true
		case "l":
			o.LineLen, _ = strconv.Atoi(opt.Value) // anything else counts as 0
		case "i":
			o.Separate, in.inPlace, in.suffix = true, true, opt.Value
		case "e":
			chunks = append(chunks, sed.Chunk{Text: opt.Value})
		case "f":
			text, err := sedScript(p, opt.Value)
			if err != nil {
				p.Errorf("couldn't open file %s: %s", opt.Value, proc.Strerror(err))
				return 4
			}
			chunks = append(chunks, sed.Chunk{Text: text, File: opt.Value})
		}
	}
	if len(chunks) == 0 {
		if len(args) == 0 {
			p.Err.WriteString(sedUsage)
			return 1
		}
		chunks, args = []sed.Chunk{{Text: args[0]}}, args[1:]
	}
	size := 0
	for _, c := range chunks {
		size += sedFactor * len(c.Text)
	}
	p.Hold(size)
	defer p.Release(size)
	var files []*sedOutput
	prog, err := sed.Parse(chunks, o, func(name string) (io.Writer, error) {
		switch name {
		case "/dev/stdout":
			return p.Out, nil
		case "/dev/stderr":
			return p.Err, nil
		}
		f, err := p.Open(name, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
		if err != nil {
			return nil, fmt.Errorf("couldn't open file %s: %s", name, proc.Strerror(err))
		}
		out := &sedOutput{f: f, name: name}
		files = append(files, out)
		return out, nil
	})
	defer func() {
		for _, f := range files {
			_ = f.f.Close()
		}
	}()
	if err != nil {
		p.Errorf("%v", err)
		var se *sed.ScriptError
		if errors.As(err, &se) {
			return se.Status
		}
		return 1
	}
	if len(args) == 0 {
		if in.inPlace {
			p.Errorf("no input files")
			return 4
		}
		args = []string{"-"}
	}
	in.files = args
	in.separate = o.Separate
	status := prog.Run(p, in)
	in.finish()
	for _, f := range files {
		if f.err != nil {
			p.Errorf("couldn't write to %s: %s", f.name, proc.Strerror(f.err))
			return 4
		}
	}
	if status == 0 {
		status = in.status
	}
	return status
}

func sedScript(p *proc.Process, name string) (string, error) {
	r, err := p.OpenInput(name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := p.ReadAll(r)
	// The last newline ends a command, unless it belongs to the text of a, i or c.
	if !bytes.HasSuffix(b, []byte("\\\n")) {
		b = bytes.TrimSuffix(b, []byte("\n"))
	}
	return string(b), err
}

// sedOutput is a file of the w command. Every write goes through at once, so that the script may read it.
type sedOutput struct {
	f    vfs.File
	name string
	err  error
}

func (o *sedOutput) Write(b []byte) (int, error) {
	n, err := o.f.Write(b)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// sedInput gives sed the lines of its files, and makes the new versions for -i.
type sedInput struct {
	p          *proc.Process
	files      []string
	delim      byte
	separate   bool
	inPlace    bool
	unbuffered bool
	follow     bool
	suffix     string
	status     int
	stdout     io.Writer

	current *sedSource
	ahead   *sedSource // the file after the current one, opened to see if it has lines
	fresh   bool
	edit    *sedEdit
}

// sedSource is an open input file.
type sedSource struct {
	name   string
	data   []byte // of a regular file
	pos    int
	lines  *program.LineReader // of a stream
	next   []byte
	nextOK bool
	peeked bool
	close  io.Closer
}

// more reports whether the source has another line.
func (s *sedSource) more() bool {
	if s.lines == nil {
		return s.pos < len(s.data)
	}
	if !s.peeked {
		s.next, s.nextOK = s.lines.Next()
		s.peeked = true
	}
	return s.nextOK
}

func (s *sedSource) line(delim byte) (line []byte, terminated bool) {
	if s.lines != nil {
		s.more()
		s.peeked = false
		line = s.next
	} else {
		rest := s.data[s.pos:]
		if i := bytes.IndexByte(rest, delim); i >= 0 {
			rest = rest[:i+1]
		}
		s.pos += len(rest)
		line = rest
	}
	if n := len(line); n > 0 && line[n-1] == delim {
		return line[:n-1], true
	}
	return line, false
}

func (s *sedSource) done() {
	if s.lines != nil {
		s.lines.Close()
	}
	if s.close != nil {
		_ = s.close.Close()
	}
}

// open opens the next file that can be read; nil when there is none.
func (in *sedInput) open() *sedSource {
	for len(in.files) > 0 {
		name := in.files[0]
		in.files = in.files[1:]
		if name == "-" && !in.inPlace {
			r := in.p.Stdin
			if _, ok := r.(io.Seeker); in.unbuffered && !ok {
				r = byteReader{r}
			}
			return &sedSource{name: name, lines: program.NewLineReader(in.p, r, in.delim)}
		}
		st, err := in.p.Stat(name)
		if err != nil {
			in.p.Errorf("can't read %s: %s", name, proc.Strerror(err))
			in.status = 2
			continue
		}
		if in.inPlace && st.Kind != vfs.Regular {
			in.p.Errorf("couldn't edit %s: not a regular file", name)
			in.status = 4
			continue
		}
		if st.IsDir() {
			in.p.Errorf("read error on %s: %s", name, proc.Strerror(vfs.EISDIR))
			in.finish()
			in.p.Exit(4)
		}
		if st.Kind == vfs.Regular {
			data, err := in.p.ReadFile(name)
			if err != nil {
				in.p.Errorf("can't read %s: %s", name, proc.Strerror(err))
				in.status = 2
				continue
			}
			return &sedSource{name: name, data: data}
		}
		f, err := in.p.Open(name, vfs.ReadOnly, 0)
		if err != nil {
			in.p.Errorf("can't read %s: %s", name, proc.Strerror(err))
			in.status = 2
			continue
		}
		return &sedSource{name: name, lines: program.NewLineReader(in.p, f, in.delim), close: f}
	}
	return nil
}

func (in *sedInput) Next() (line []byte, terminated, ok bool) {
	in.fresh = false
	for {
		if in.current == nil {
			in.current, in.ahead = in.ahead, nil
			if in.current == nil {
				in.current = in.open()
			}
			if in.current == nil {
				return nil, false, false
			}
			in.fresh = true
			if in.inPlace {
				in.beginEdit(in.current.name)
			}
		}
		if in.current.more() {
			line, terminated = in.current.line(in.delim)
			return line, terminated, true
		}
		in.closeCurrent()
	}
}

func (in *sedInput) closeCurrent() {
	if in.edit != nil {
		in.edit.commit(in)
		in.edit = nil
	}
	in.current.done()
	in.current = nil
}

func (in *sedInput) Last() bool {
	if in.current != nil && in.current.more() {
		return false
	}
	if in.separate {
		return true
	}
	for {
		if in.ahead == nil {
			in.ahead = in.open()
		}
		if in.ahead == nil {
			return true
		}
		if in.ahead.more() {
			return false
		}
		in.ahead.done()
		in.ahead = nil
	}
}

func (in *sedInput) NewFile() bool { return in.fresh }

func (in *sedInput) Name() string {
	if in.current == nil {
		return "-"
	}
	return in.current.name
}

func (in *sedInput) Output() io.Writer {
	if in.edit != nil {
		return in.edit.buf
	}
	return in.stdout
}

// finish ends the run: q drops the rest of a file edited in place, and leaves the rest of standard input to whoever
// reads it next.
func (in *sedInput) finish() {
	c := in.current
	if c == nil {
		return
	}
	if c.name == "-" && c.lines != nil {
		n := c.lines.End - c.lines.Start
		if c.peeked {
			n += len(c.next)
		}
		program.SeekBack(in.p.Stdin, n)
	}
	in.closeCurrent()
}

// byteReader takes no more from a pipe than what is asked for.
type byteReader struct{ io.Reader }

func (r byteReader) Read(b []byte) (int, error) {
	return r.Reader.Read(b[:min(len(b), 1)])
}

// sedEdit is the new version of a file that is edited in place.
type sedEdit struct {
	target string // the file that is replaced
	temp   string
	st     vfs.Stat
	f      vfs.File
	buf    *bufio.Writer
}

func (in *sedInput) beginEdit(name string) {
	target := name
	if in.follow {
		if real, err := in.p.FS.Realpath(in.p.Abs(name)); err == nil {
			target = real
		}
	}
	st, err := in.p.Stat(target)
	dir := ""
	if i := strings.LastIndexByte(target, '/'); i >= 0 {
		dir = target[:i+1]
	}
	for i := 0; err == nil; i++ {
		temp := fmt.Sprintf("%ssed%06x", dir, (in.p.PID*7919+i)&0xffffff)
		var f vfs.File
		f, err = in.p.Open(temp, vfs.WriteOnly|vfs.Create|vfs.Excl, 0o600)
		if err == nil {
			in.edit = &sedEdit{target: target, temp: temp, st: st, f: f, buf: bufio.NewWriterSize(f, 64<<10)}
			return
		}
		if errors.Is(err, vfs.EEXIST) && i < 1000 {
			err = nil
		}
	}
	shown := dir
	if shown == "" {
		shown = "./"
	}
	in.p.Errorf("couldn't open temporary file %ssed%06x: %s", shown, in.p.PID*7919&0xffffff, proc.Strerror(err))
	in.p.Exit(4)
}

// commit puts the new version in the place of the old, which becomes the backup.
func (e *sedEdit) commit(in *sedInput) {
	p := in.p
	err := e.buf.Flush()
	if cerr := e.f.Close(); err == nil {
		err = cerr
	}
	temp, target := p.Abs(e.temp), p.Abs(e.target)
	if err == nil {
		if e.st.UID != p.User.UID || e.st.GID != p.User.GID {
			_ = p.FS.Chown(temp, int(e.st.UID), int(e.st.GID), true)
		}
		err = p.FS.Chmod(temp, e.st.Mode)
	}
	if err == nil && in.suffix != "" {
		base := e.target[strings.LastIndexByte(e.target, '/')+1:]
		backup := base + in.suffix
		if strings.Contains(in.suffix, "*") {
			backup = strings.ReplaceAll(in.suffix, "*", base)
		}
		if !strings.Contains(backup, "/") {
			backup = e.target[:len(e.target)-len(base)] + backup
		}
		err = p.FS.Rename(target, p.Abs(backup))
	}
	if err == nil {
		err = p.FS.Rename(temp, target)
	}
	if err != nil {
		_ = p.FS.Unlink(temp)
		p.Errorf("cannot rename %s: %s", e.temp, proc.Strerror(err))
		p.Exit(4)
	}
}
