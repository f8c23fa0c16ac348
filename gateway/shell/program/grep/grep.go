package grep

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var grepSpec = getopt.New("0123456789A:B:C:D:EFGHILPTUVX:abcd:e:f:hiLlm:noqRrsuvwxyZz",
	"basic-regexp=G extended-regexp=E fixed-strings=F perl-regexp=P after-context:=A before-context:=B "+
		"binary-files: binary=U byte-offset=b context:=C color:: colour::=color count=c devices:=D directories:=d exclude: exclude-from: "+
		"exclude-dir: file:=f files-with-matches=l files-without-match=L include: ignore-case=i no-ignore-case initial-tab=T label: "+
		"line-buffered line-number=n line-regexp=x max-count:=m no-filename=h group-separator: no-group-separator no-messages=s null=Z null-data=z only-matching=o quiet=q "+
		"recursive=r dereference-recursive=R regexp:=e invert-match=v silent=q text=a version=V with-filename=H word-regexp=w").
	WithStatus(2).
	WithUsage("[OPTION]... PATTERNS [FILE]...", "Search for PATTERNS in each FILE.").
	WithVersion("(GNU grep) 3.8")

const (
	binaryMessage = iota // say that a binary file matches
	binaryText
	binarySkip
)

// grepRun is one run of grep.
type grepRun struct {
	p          *proc.Process
	re         *regex.Regexp
	opt        regex.Options
	delim      byte
	invert     bool
	count      bool
	list       byte // 'l', 'L' or 0
	quiet      bool
	silent     bool // no messages about files
	only       bool
	number     bool
	offset     bool
	names      bool
	nulName    bool
	tab        bool
	width      int // of numbers with -T
	color      bool
	colors     grepColors
	flush      bool
	max        int // -1: no limit
	before     int // -1: not asked for
	after      int
	sep        []byte
	noSep      bool
	binary     int
	recurse    bool
	deref      bool
	skipDirs   bool
	devices    bool // skip devices
	label      string
	origin     map[int]string // of the patterns from files: the file and the line
	filters    []nameFilter   // --include and --exclude, in their order
	excludeDir []string
	outIno     uint64 // of a regular file on standard output, 0 when there is none

	matched bool
	failed  bool

	// of the file being searched
	name      string
	buf       []byte
	base      int64 // offset of buf in the file
	lines     int64 // newlines before counted
	counted   int   // position in buf up to which lines are counted
	printed   int   // position in buf after the last line printed, -1 before any
	pending   int   // lines of trailing context still to print
	selected  int
	lastEnd   int64 // offset of the end of the last selected line
	suppress  bool  // a binary file: print no lines
	encErr    bool  // a line was left out because it is not text
	anyOutput bool  // something of any file was printed: separators are due
	done      bool
}

func grep(ctx context.Context, p *proc.Process) int { return grepMain(ctx, p, 'G') }

func egrep(ctx context.Context, p *proc.Process) int { return grepMain(ctx, p, 'E') }

func rgrep(ctx context.Context, p *proc.Process) int {
	p.Args = slices.Insert(p.Args, 1, "-r")
	return grepMain(ctx, p, 'G')
}

func fgrep(ctx context.Context, p *proc.Process) int { return grepMain(ctx, p, 'F') }

func grepMain(_ context.Context, p *proc.Process, kind byte) int {
	p.Args[0] = "grep"
	if _, _, err := grepSpec.Scan(p.Args[1:]); err != nil {
		p.Errorf("%v", err)
		return grepUsage(p)
	}
	opts, args := grepSpec.Parse(p)
	p.Out.ErrorStatus = 2
	g := &grepRun{p: p, delim: '\n', max: -1, before: -1, after: -1, sep: []byte("--"), label: "(standard input)",
		origin: map[int]string{}}
	g.opt = regex.Options{Dialect: regex.Grep, Bytes: program.ByteLocale(p), Tick: p.Tick}
	var patterns []string
	havePatterns := false
	chosen := byte(0)
	withName, noName := false, false
	digits, more := "", false // more: the option before was a digit, too
	for _, o := range opts {
		if len(o.Key) == 1 && o.Key[0] >= '0' && o.Key[0] <= '9' {
			if !more {
				digits = ""
			}
			digits, more = digits+o.Key, true
			continue
		}
		more = false
		switch o.Key {
		case "E", "F", "G", "P":
			if chosen != 0 && chosen != o.Key[0] {
				p.Errorf("conflicting matchers specified")
				return 2
			}
			chosen = o.Key[0]
		case "e":
			patterns, havePatterns = append(patterns, strings.Split(o.Value, "\n")...), true
		case "f":
			more, err := g.patternFile(o.Value)
			if err != nil {
				p.Errorf("%s: %s", o.Value, proc.Strerror(err))
				return 2
			}
			for i := range more {
				g.origin[len(patterns)+i] = o.Value + ":" + strconv.Itoa(i+1) + ": "
			}
			patterns, havePatterns = append(patterns, more...), true
		case "i", "y":
			g.opt.IgnoreCase = true
		case "no-ignore-case":
			g.opt.IgnoreCase = false
		case "w":
			g.opt.WholeWord = true
		case "x":
			g.opt.WholeLine = true
		case "z":
			g.delim = 0
		case "s":
			g.silent = true
		case "v":
			g.invert = true
		case "m":
			n, err := strconv.ParseInt(o.Value, 10, 64)
			if err != nil && !errors.Is(err, strconv.ErrRange) {
				p.Errorf("invalid max count")
				return 2
			}
			g.max = int(max(n, -1))
		case "b":
			g.offset = true
		case "n":
			g.number = true
		case "H":
			withName, noName = true, false
		case "h":
			noName, withName = true, false
		case "label":
			g.label = o.Value
		case "o":
			g.only = true
		case "q":
			g.quiet = true
		case "line-buffered":
			g.flush = true
		case "a":
			g.binary = binaryText
		case "I":
			g.binary = binarySkip
		case "binary-files":
			switch o.Value {
			case "binary":
				g.binary = binaryMessage
			case "text":
				g.binary = binaryText
			case "without-match":
				g.binary = binarySkip
			default:
				p.Errorf("unknown binary-files type")
				return 2
			}
		case "d":
			switch o.Value {
			case "read":
				g.recurse, g.skipDirs = false, false
			case "skip":
				g.recurse, g.skipDirs = false, true
			case "recurse":
				g.recurse, g.skipDirs = true, false
			default:
				p.Errorf("invalid argument ‘%s’ for ‘--directories’\nValid arguments are:\n  - ‘read’\n  - ‘recurse’\n  - ‘skip’",
					o.Value)
				grepUsage(p)
				return 1
			}
		case "D":
			switch o.Value {
			case "read":
				g.devices = false
			case "skip":
				g.devices = true
			default:
				p.Errorf("unknown devices method")
				return 2
			}
		case "r":
			g.recurse, g.deref = true, false
		case "R":
			g.recurse, g.deref = true, true
		case "include", "exclude":
			g.filters = append(g.filters, nameFilter{glob: o.Value, include: o.Key == "include"})
		case "exclude-from":
			more, err := g.patternFile(o.Value)
			if err != nil {
				p.Errorf("%s: %s", o.Value, proc.Strerror(err))
				return 2
			}
			for _, glob := range more {
				g.filters = append(g.filters, nameFilter{glob: glob})
			}
		case "exclude-dir":
			g.excludeDir = append(g.excludeDir, strings.TrimRight(o.Value, "/"))
		case "L", "l":
			g.list = o.Key[0]
		case "c":
			g.count = true
		case "T":
			g.tab = true
		case "Z":
			g.nulName = true
		case "u":
			p.Errorf("warning: --unix-byte-offsets (-u) is obsolete")
		case "A", "B", "C":
			n, err := strconv.ParseInt(o.Value, 10, 64)
			if errors.Is(err, strconv.ErrRange) && n > 0 {
				err = nil
			}
			if err != nil || n < 0 {
				p.Errorf("%s: invalid context length argument", o.Value)
				return 2
			}
			n = min(n, 1<<40)
			switch o.Key {
			case "A":
				g.after = int(n)
			case "B":
				g.before = int(n)
			default:
				digits = strconv.FormatInt(n, 10)
			}
		case "group-separator":
			g.sep = []byte(o.Value)
		case "no-group-separator":
			g.noSep = true
		case "color":
			switch o.Value {
			case "always", "yes", "force":
				g.color = true
			case "never", "no", "none", "auto", "tty", "if-tty", "":
				g.color = false
			default:
				p.Args[1] = "--help"
				grepSpec.Parse(p)
			}
		case "V":
			p.Out.WriteString("grep (GNU grep) 3.8\n")
			return 0
		}
	}
	if g.color {
		g.colors = newGrepColors(p)
	}
	if digits != "" {
		n, err := strconv.Atoi(digits)
		if err != nil {
			n = 1 << 40
		}
		if g.after < 0 {
			g.after = n
		}
		if g.before < 0 {
			g.before = n
		}
	}
	if !havePatterns {
		if len(args) == 0 {
			return grepUsage(p)
		}
		patterns = strings.Split(args[0], "\n")
		args = args[1:]
	}
	if chosen != 0 {
		kind = chosen
	}
	if status, ok := g.compile(kind, patterns); !ok {
		return status
	}
	if g.list != 0 {
		g.count = false
	}
	if (g.max == 0 || len(patterns) == 0 && !g.invert) && g.list != 'L' {
		return 1 // before any file is read
	}
	if g.quiet || g.list != 0 {
		g.before, g.after = -1, -1
	}
	if g.invert && g.only && g.list == 0 && !g.count {
		// Selected lines have no matching part: only the status is left.
		g.quiet = g.quiet || g.before < 0 && g.after < 0
	}
	switch {
	case withName:
		g.names = true
	case noName:
	default:
		g.names = len(args) > 1 || g.recurse
	}
	g.outIno = program.OutputFile(p)
	if len(args) == 0 {
		if g.recurse {
			g.directory(".", "", nil)
		} else {
			g.operand("-")
		}
	}
	// One operand that is a file gets no name even with -r.
	if g.recurse && len(args) == 1 && !withName && !noName {
		if st, err := p.Stat(args[0]); args[0] == "-" || err != nil || !st.IsDir() {
			g.names = false
		}
	}
	for _, a := range args {
		g.operand(a)
	}
	switch {
	case g.failed:
		return 2
	case g.matched:
		return 0
	}
	return 1
}

func grepUsage(p *proc.Process) int {
	p.Out.Flush()
	p.Err.WriteString("Usage: grep [OPTION]... PATTERNS [FILE]...\nTry 'grep --help' for more information.\n")
	return 2
}

// patternFile reads a file of one pattern per line.
func (g *grepRun) patternFile(name string) ([]string, error) {
	r, err := g.p.OpenInput(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := g.p.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if len(b) == 0 {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"), nil
}

func (g *grepRun) compile(kind byte, patterns []string) (status int, ok bool) {
	switch kind {
	case 'E':
		g.opt.Extended = true
	case 'F':
		g.opt.Literal = true
	case 'P':
		g.opt.Perl = true
		if len(patterns) > 1 {
			g.p.Errorf("the -P option only supports a single pattern")
			return 2, false
		}
	}
	g.opt.NoAnchors = g.delim == 0
	re, err := regex.CompileAll(patterns, g.opt)
	if err != nil && len(g.origin) > 0 && !g.opt.Perl {
		for i, p := range patterns {
			if _, err := regex.Compile(p, g.opt); err != nil {
				g.p.Errorf("%s%v", g.origin[i], err)
			}
		}
		return 2, false
	}
	if err != nil {
		g.p.Errorf("%v", err)
		return 2, false
	}
	for _, w := range re.Warnings() {
		g.p.Errorf("warning: %s", w)
	}
	re.SetTick(g.p.Tick)
	g.re = re
	return 0, true
}

func (g *grepRun) complain(name string, err error) {
	g.failed = true
	if !g.silent {
		g.p.Errorf("%s: %s", name, proc.Strerror(err))
	}
}

// stdin searches standard input. What follows the last line that -m asks for is left to whoever reads it next.
func (g *grepRun) stdin() {
	in := g.p.Stdin
	if f, ok := in.(interface{ Stat() (vfs.Stat, error) }); ok {
		if st, err := f.Stat(); err == nil && g.isOutput(g.label, st) {
			return
		}
	}
	s, seekable := in.(io.Seeker)
	start := int64(0)
	if seekable {
		start, _ = s.Seek(0, io.SeekCurrent)
	}
	g.setWidth(math.MaxInt64)
	if f, ok := in.(vfs.File); ok {
		if st, err := f.Stat(); err == nil && st.Kind == vfs.Regular {
			g.setWidth(st.Size)
		}
	}
	g.stream(g.label, in)
	if seekable && g.max >= 0 && g.selected >= g.max {
		_, _ = s.Seek(start+g.lastEnd, io.SeekStart)
	}
}

// setWidth makes room for the largest line number or offset of a file.
func (g *grepRun) setWidth(size int64) {
	if !g.tab {
		return
	}
	if g.number && size < math.MaxInt64 {
		size++
	}
	g.width = len(strconv.FormatInt(size, 10))
}

// isOutput refuses a file that is also standard output.
func (g *grepRun) isOutput(name string, st vfs.Stat) bool {
	if g.outIno == 0 || st.Ino != g.outIno || st.Kind != vfs.Regular || g.quiet || g.list != 0 || g.max == 1 {
		return false
	}
	g.failed = true
	if !g.silent {
		g.p.Errorf("%s: input file is also the output", name)
	}
	return true
}

func (g *grepRun) file(name string, st vfs.Stat) {
	if g.isOutput(name, st) {
		return
	}
	if st.Kind == vfs.Regular && st.Size == 0 { // the size is not known yet
		var err error
		if st, err = g.p.Stat(name); err != nil {
			g.complain(name, err)
			return
		}
	}
	if st.Kind != vfs.Regular || st.Size > grepWhole {
		f, err := g.p.OpenInput(name)
		if err != nil {
			g.complain(name, err)
			return
		}
		defer f.Close()
		if st.Kind == vfs.Regular {
			g.setWidth(st.Size)
		} else {
			g.setWidth(math.MaxInt64)
		}
		g.stream(name, f)
		return
	}
	b, err := g.p.ReadFile(name)
	if err != nil {
		g.complain(name, err)
		return
	}
	g.p.Tick(8)
	g.setWidth(int64(len(b)))
	g.beginFile(name)
	g.search(b, true)
	g.endFile()
}

// grepWhole is the size of a file up to which it is searched in one piece, without a copy when it is a single chunk.
const grepWhole = 64 << 10

// grepChunk is what is looked at together for NUL bytes, and read of a stream at a time.
const grepChunk = 96 << 10

func (g *grepRun) stream(name string, r io.Reader) {
	g.beginFile(name)
	var buf []byte
	held := 0
	defer func() { g.p.Release(held) }()
	begin := 0 // start of what has not been searched
	for !g.done {
		if cap(buf)-len(buf) < 32<<10 {
			n := max(2*cap(buf), grepChunk)
			g.p.Hold(n - cap(buf))
			held += n - cap(buf)
			buf = append(make([]byte, 0, n), buf...)
		}
		n, err := r.Read(buf[len(buf):min(cap(buf), len(buf)+grepChunk)])
		buf = buf[:len(buf)+n]
		g.p.Tick(1 + n>>10)
		if err != nil && !errors.Is(err, io.EOF) {
			g.complain(name, err)
			break
		}
		end := len(buf)
		if err == nil {
			i := bytes.LastIndexByte(buf[begin:], g.delim)
			if i < 0 {
				continue
			}
			end = begin + i + 1
		}
		g.searchFrom(buf[:end], begin, err != nil)
		if err != nil {
			break
		}
		if g.flush {
			g.p.Out.Flush()
		}
		// Keep the lines that may become leading context.
		keep := end
		for range max(g.before, 0) {
			if keep == 0 || keep <= g.printed {
				break
			}
			keep = bytes.LastIndexByte(buf[:keep-1], g.delim) + 1
		}
		if g.number {
			g.countLines(keep)
		}
		g.base += int64(keep)
		g.counted -= keep
		if g.printed >= 0 {
			g.printed = max(g.printed-keep, -2)
		}
		buf = append(buf[:0], buf[keep:]...)
		begin = end - keep
	}
	g.endFile()
}

func (g *grepRun) beginFile(name string) {
	g.name, g.buf, g.base, g.lines, g.counted = name, nil, 0, 0, 0
	g.printed, g.pending, g.selected = -1, 0, 0
	g.suppress, g.encErr, g.done = false, false, false
}

func (g *grepRun) endFile() {
	if g.selected > 0 {
		g.matched = true
	}
	if g.quiet {
		if g.matched {
			g.p.Exit(0)
		}
		return
	}
	if g.count {
		if g.names {
			g.fileName(':')
		}
		g.p.Out.WriteString(strconv.Itoa(g.selected))
		g.p.Out.WriteByte('\n')
	}
	if g.list == 'l' && g.selected > 0 || g.list == 'L' && g.selected == 0 {
		g.paint(g.colors.file, g.name)
		if g.nulName {
			g.p.Out.WriteByte(0)
		} else {
			g.p.Out.WriteByte('\n')
		}
	}
	if g.list == 0 && !g.count && (g.encErr || g.suppress && g.selected > 0) {
		g.p.Errorf("%s: binary file matches", g.name)
	}
}

// search searches a whole file, which is text up to the first chunk with a NUL byte.
func (g *grepRun) search(b []byte, eof bool) { g.searchFrom(b, 0, eof) }

func (g *grepRun) searchFrom(b []byte, pos int, _ bool) {
	if g.delim == '\n' && g.binary != binaryText && !g.suppress {
		if i := bytes.IndexByte(b[pos:], 0); i >= 0 {
			if g.binary == binarySkip {
				g.selected = 0
				g.done = true
				return
			}
			// The lines before the chunk that has the NUL byte are text.
			text := bytes.LastIndexByte(b[:pos+i/grepChunk*grepChunk], '\n') + 1
			if text > pos {
				g.lineRange(b[:text], pos)
				pos = text
			}
			if g.done {
				return
			}
			g.suppress = true
		}
	}
	if g.suppress {
		g.p.Hold(len(b) - pos)
		defer g.p.Release(len(b) - pos)
		zapped := append([]byte(nil), b...)
		for i := pos; i < len(zapped); i++ {
			if zapped[i] == 0 {
				zapped[i] = '\n'
			}
		}
		b = zapped
	}
	g.lineRange(b, pos)
}

// next finds the next matching line at or after pos.
func (g *grepRun) next(b []byte, pos int) (s, e int, ok bool) {
	return matchingLine(g.p, g.re, b, pos, g.delim)
}

// matchingLine finds the next line with a match at or after pos, without its delimiter.
func matchingLine(p *proc.Process, re *regex.Regexp, b []byte, pos int, delim byte) (s, e int, ok bool) {
	if delim == '\n' {
		return re.MatchLine(b, pos)
	}
	for pos < len(b) {
		e := len(b)
		if i := bytes.IndexByte(b[pos:], delim); i >= 0 {
			e = pos + i
		}
		p.Tick(1)
		if re.Match(b[pos:e]) {
			return pos, e, true
		}
		pos = e + 1
	}
	return 0, 0, false
}
