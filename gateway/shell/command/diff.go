package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/pgbox/pgbox/gateway/fserr"
	"github.com/pgbox/pgbox/gateway/shell/datetime"
	"github.com/pgbox/pgbox/gateway/shell/diff"
	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/regex"
)

var diffSpec = getopt.New("0123456789abBcC:dD:eEfF:hHiI:lL:nNpPqrsS:tTuU:vwW:x:X:yZ",
	"binary brief=q changed-group-format: color:: context::=context ed=e exclude:=x exclude-from:=X expand-tabs=t "+
		"forward-ed=f horizon-lines: ifdef:=D ignore-all-space=w ignore-blank-lines=B ignore-case=i ignore-file-name-case "+
		"ignore-matching-lines:=I ignore-space-change=b ignore-tab-expansion=E ignore-trailing-space=Z initial-tab=T label:=L "+
		"left-column minimal=d new-file=N no-dereference no-ignore-file-name-case normal rcs=n recursive=r "+
		"report-identical-files=s show-c-function=p show-function-line:=F side-by-side=y speed-large-files=H starting-file:=S "+
		"strip-trailing-cr suppress-blank-empty suppress-common-lines tabsize: text=a unidirectional-new-file=P unified::=unified "+
		"width:=W palette:").
	WithStatus(2).
	WithUsage("[OPTION]... FILES", "Compare FILES line by line.").
	WithVersion("(GNU diffutils) 3.8")

// diffRun is one run of diff.
type diffRun struct {
	p          *proc.Process
	now        time.Time
	style      string // normal, unified, context, ed, forward, rcs, side, ifdef
	context    int
	brief      bool
	identical  bool // -s
	recursive  bool
	newFile    bool
	newFirst   bool // -P
	icase      bool
	allSpace   bool
	space      bool
	trailing   bool
	tabExpand  bool
	blankLines bool
	text       bool
	stripCR    bool
	minimal    bool
	noDeref    bool
	ignore     []*regex.Regexp
	function   *regex.Regexp
	labels     []string
	exclude    []string
	width      int
	noCommon   bool
	leftColumn bool
	expand     bool
	initialTab bool
	emptyBlank bool
	startFile  string
	ifdef      string
	switches   string
	color      bool
	status     int
}

// diffFile is one side of a comparison.
type diffFile struct {
	name    string
	st      proc.Stat
	missing bool
	dir     bool
	stdin   bool
	data    []byte
	lines   [][]byte // without newlines
	noEOL   bool     // the last line has none
}

func diffCommand(_ context.Context, p *proc.Process) int {
	p.Args[0] = "diff"
	d := &diffRun{p: p, now: localNow(p), style: "normal", context: -1, width: 130}
	if _, _, err := diffSpec.Scan(p.Args[1:]); err != nil {
		p.Errorf("%v", err)
		return d.hint()
	}
	opts, args := diffSpec.Parse(p)
	style := func(s string) bool {
		if d.style != "normal" && d.style != s {
			p.Errorf("conflicting output style options")
			return false
		}
		d.style = s
		return true
	}
	digits, normal := "", false
	for _, o := range opts {
		if o.Key[0] >= '0' && o.Key[0] <= '9' {
			digits += o.Key
			continue
		}
		ok := true
		switch o.Key {
		case "a", "binary":
			d.text = d.text || o.Key == "a"
		case "q":
			d.brief = true
		case "b":
			d.space = true
		case "B":
			d.blankLines = true
		case "c":
			d.context = max(d.context, 3)
			ok = style("context")
		case "u":
			d.context = max(d.context, 3)
			ok = style("unified")
		case "C", "U", "context", "unified":
			n := 3
			if o.Has {
				v, err := strconv.Atoi(o.Value)
				if errors.Is(err, strconv.ErrRange) {
					err = nil
				}
				if err != nil || v < 0 {
					p.Errorf("invalid context length '%s'", o.Value)
					return d.hint()
				}
				n = min(v, 1<<30)
			}
			d.context = max(d.context, n)
			if o.Key == "C" || o.Key == "context" {
				ok = style("context")
			} else {
				ok = style("unified")
			}
		case "e":
			ok = style("ed")
		case "f":
			ok = style("forward")
		case "n":
			ok = style("rcs")
		case "y":
			ok = style("side")
		case "D":
			d.ifdef = o.Value
			ok = style("ifdef")
		case "normal":
			normal = true
		case "d":
			d.minimal = true
		case "E":
			d.tabExpand = true
		case "Z":
			d.trailing = true
		case "i":
			d.icase = true
		case "w":
			d.allSpace = true
		case "I":
			re, err := regex.Compile(o.Value, regex.Options{Bytes: byteLocale(p)})
			if err != nil {
				p.Errorf("%s: %v", o.Value, err)
				return 2
			}
			re.SetTick(p.Tick)
			d.ignore = append(d.ignore, re)
		case "F", "p":
			pat := o.Value
			if o.Key == "p" {
				pat = "^[[:alpha:]$_]"
			}
			re, err := regex.Compile(pat, regex.Options{Bytes: byteLocale(p)})
			if err != nil {
				p.Errorf("%s: %v", o.Value, err)
				return 2
			}
			d.function = re
		case "L":
			if len(d.labels) == 2 {
				p.Errorf("too many file label options")
				return 2
			}
			d.labels = append(d.labels, o.Value)
		case "N":
			d.newFile = true
		case "P":
			d.newFirst = true
		case "r":
			d.recursive = true
		case "s":
			d.identical = true
		case "S":
			d.startFile = o.Value
		case "t":
			d.expand = true
		case "T":
			d.initialTab = true
		case "W":
			n, err := strconv.Atoi(o.Value)
			if err != nil || n <= 0 {
				p.Errorf("invalid width '%s'", o.Value)
				return d.hint()
			}
			d.width = n
		case "x":
			d.exclude = append(d.exclude, o.Value)
		case "X":
			b, err := d.readNamed(o.Value)
			if err != nil {
				p.Errorf("%s: %s", o.Value, proc.Strerror(err))
				return 2
			}
			for l := range strings.Lines(string(b)) {
				if l = strings.TrimSuffix(l, "\n"); l != "" {
					d.exclude = append(d.exclude, l)
				}
			}
		case "left-column":
			d.leftColumn = true
		case "suppress-common-lines":
			d.noCommon = true
		case "suppress-blank-empty":
			d.emptyBlank = true
		case "strip-trailing-cr":
			d.stripCR = true
		case "no-dereference":
			d.noDeref = true
		case "color":
			d.color = o.Value == "always"
		case "v":
			p.Out.WriteString("diff (GNU diffutils) 3.8\n")
			return 0
		}
		if !ok {
			return d.hint()
		}
	}
	if normal && d.style != "normal" {
		p.Errorf("conflicting output style options")
		return d.hint()
	}
	if d.function != nil && d.style == "normal" && !normal {
		d.style = "context"
	}
	if digits != "" {
		if n, err := strconv.Atoi(digits); err == nil {
			d.context = n
			if d.style == "normal" {
				d.style = "context"
			}
		}
	}
	if d.context < 0 {
		d.context = 3
	}
	switch {
	case len(args) < 2:
		p.Errorf("missing operand after '%s'", append([]string{"diff"}, p.Args[1:]...)[len(p.Args)-1])
		return d.hint()
	case len(args) > 2:
		p.Errorf("extra operand '%s'", args[2])
		return d.hint()
	}
	d.switches = diffSwitches(p.Args[1:])
	d.compare(args[0], args[1], false)
	return d.status
}

func (d *diffRun) hint() int {
	d.p.Errorf("Try 'diff --help' for more information.")
	return 2
}

// diffSwitches is the part of the command line that diff repeats before each file of a directory.
func diffSwitches(args []string) string {
	var b strings.Builder
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			break
		}
		if len(a) < 2 || a[0] != '-' {
			continue
		}
		b.WriteString(" " + shellQuote(a, false))
		var takes bool
		if name, long := strings.CutPrefix(a, "--"); long {
			takes = slices.Contains([]string{"label", "exclude", "exclude-from", "ignore-matching-lines", "width", "ifdef",
				"show-function-line", "starting-file", "horizon-lines", "tabsize"}, name)
		} else {
			j := strings.IndexAny(a[1:], "CDFILSUWXx")
			takes = j >= 0 && j == len(a)-2
		}
		if takes && i+1 < len(args) {
			i++
			b.WriteString(" " + shellQuote(args[i], false))
		}
	}
	return b.String()
}

func (d *diffRun) trouble(name string, err error) {
	d.p.Errorf("%s: %s", name, proc.Strerror(err))
	d.status = 2
}

func (d *diffRun) readNamed(name string) ([]byte, error) {
	r, err := d.p.OpenInput(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return d.p.ReadAll(r)
}

func (d *diffRun) differ() { d.status = max(d.status, 1) }

// look finds out what name is.
func (d *diffRun) look(name string) (f *diffFile, err error) {
	f = &diffFile{name: name}
	if name == "-" {
		f.stdin = true
		f.st = proc.Stat{Kind: proc.FIFO, Mtime: d.now.UnixNano()}
		if s, ok := d.p.Stdin.(interface{ Stat() (proc.Stat, error) }); ok {
			if st, err := s.Stat(); err == nil && st.Kind == proc.Regular {
				f.st = st
			}
		}
		return f, nil
	}
	if d.noDeref {
		f.st, err = d.p.Lstat(name)
	} else {
		f.st, err = d.p.Stat(name)
	}
	f.dir = err == nil && f.st.IsDir()
	return f, err
}

// compare compares two names; below is set inside a directory comparison.
func (d *diffRun) compare(an, bn string, below bool) {
	a, aerr := d.look(an)
	b, berr := d.look(bn)
	if !below && aerr == nil && berr == nil && a.dir != b.dir {
		// A file against a directory: the file of that name in it.
		if a.dir && !b.stdin {
			a, aerr = d.look(joinPath(an, baseName(bn)))
		} else if b.dir && !a.stdin {
			b, berr = d.look(joinPath(bn, baseName(an)))
		}
		if a.dir || b.dir {
			if a.stdin || b.stdin {
				d.p.Errorf("cannot compare '-' to a directory")
				d.status = 2
				return
			}
		}
	}
	missing := func(err error) bool { return errors.Is(err, fserr.ENOENT) }
	if aerr != nil && berr == nil && missing(aerr) && (d.newFile || d.newFirst) {
		a.missing, a.dir, aerr = true, b.dir, nil
	}
	if berr != nil && aerr == nil && !a.missing && missing(berr) && d.newFile {
		b.missing, b.dir, berr = true, a.dir, nil
	}
	if aerr != nil {
		d.trouble(a.name, aerr)
	}
	if berr != nil {
		d.trouble(b.name, berr)
	}
	if aerr != nil || berr != nil {
		return
	}
	switch {
	case a.dir && b.dir:
		if below && !d.recursive {
			fmt.Fprintf(d.p.Out, "Common subdirectories: %s and %s\n", d.shown(a, 0), d.shown(b, 1))
			return
		}
		d.directories(a, b)
	case a.dir || b.dir:
		fmt.Fprintf(d.p.Out, "File %s is a %s while file %s is a %s\n", d.shown(a, 0), diffKind(a), d.shown(b, 1), diffKind(b))
		d.differ()
	case d.noDeref && (a.st.Kind == proc.Symlink || b.st.Kind == proc.Symlink):
		d.links(a, b)
	default:
		d.files(a, b, below)
	}
}

func (d *diffRun) shown(f *diffFile, i int) string {
	if i < len(d.labels) {
		return d.labels[i]
	}
	return f.name
}

func diffKind(f *diffFile) string {
	if f.st.Kind == 0 {
		return "directory"
	}
	return kindName(f.st)
}

func (d *diffRun) links(a, b *diffFile) {
	if a.st.Kind != b.st.Kind {
		fmt.Fprintf(d.p.Out, "File %s is a %s while file %s is a %s\n", a.name, diffKind(a), b.name, diffKind(b))
		d.differ()
		return
	}
	x, _ := d.p.FS.Readlink(d.p.Abs(a.name))
	y, _ := d.p.FS.Readlink(d.p.Abs(b.name))
	if x != y {
		fmt.Fprintf(d.p.Out, "Symbolic links %s and %s differ\n", a.name, b.name)
		d.differ()
	}
}

func (d *diffRun) directories(a, b *diffFile) {
	list := func(f *diffFile) []proc.Dirent {
		if f.missing {
			return nil
		}
		l, err := d.p.ReadDir(f.name)
		if err != nil {
			d.trouble(f.name, err)
		}
		return slices.DeleteFunc(slices.Clone(l), func(e proc.Dirent) bool {
			return slices.ContainsFunc(d.exclude, func(glob string) bool { return globMatches(glob, e.Name) }) || d.startFile != "" && e.Name < d.startFile
		})
	}
	la, lb := list(a), list(b)
	d.startFile = ""
	i, j := 0, 0
	for i < len(la) || j < len(lb) {
		d.p.Tick(4)
		switch {
		case j == len(lb) || i < len(la) && la[i].Name < lb[j].Name:
			d.onlyIn(a, b, la[i].Name, true, d.newFile)
			i++
		case i == len(la) || la[i].Name > lb[j].Name:
			d.onlyIn(b, a, lb[j].Name, false, d.newFile || d.newFirst)
			j++
		default:
			d.compare(joinPath(a.name, la[i].Name), joinPath(b.name, lb[j].Name), true)
			i++
			j++
		}
	}
}

// onlyIn handles a name that only directory here has. as treats the other as an empty file.
func (d *diffRun) onlyIn(here, there *diffFile, name string, left, as bool) {
	if !as {
		fmt.Fprintf(d.p.Out, "Only in %s: %s\n", strings.TrimSuffix(here.name, "/"), name)
		d.differ()
		return
	}
	x, y := joinPath(here.name, name), joinPath(there.name, name)
	if st, err := d.p.Stat(x); err == nil && st.IsDir() && !d.recursive {
		fmt.Fprintf(d.p.Out, "Only in %s: %s\n", strings.TrimSuffix(here.name, "/"), name)
		d.differ()
		return
	}
	if left {
		d.compare(x, y, true)
	} else {
		d.compare(y, x, true)
	}
}

func (d *diffRun) load(f *diffFile) error {
	if f.missing {
		return nil
	}
	var err error
	if f.stdin || f.st.Kind != proc.Regular {
		f.data, err = d.readNamed(f.name)
	} else {
		f.data, err = d.p.ReadFile(f.name)
	}
	return err
}

func (f *diffFile) split(d *diffRun) {
	b := f.data
	n := bytes.Count(b, []byte{'\n'}) + 1
	d.p.Hold(24 * n)
	f.lines = make([][]byte, 0, n)
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			f.lines = append(f.lines, b)
			f.noEOL = true
			return
		}
		line := b[:i]
		if d.stripCR && i > 0 && line[i-1] == '\r' {
			line = line[:i-1]
		}
		f.lines = append(f.lines, line)
		b = b[i+1:]
	}
}

func isBinary(b []byte) bool { return bytes.IndexByte(b[:min(len(b), 32<<10)], 0) >= 0 }

func (d *diffRun) files(a, b *diffFile, below bool) {
	if err := d.load(a); err != nil {
		d.trouble(a.name, err)
		return
	}
	if b.stdin && a.stdin {
		b.data = a.data
	} else if err := d.load(b); err != nil {
		d.trouble(b.name, err)
		return
	}
	same := a.missing == b.missing && bytes.Equal(a.data, b.data)
	binary := !d.text && (isBinary(a.data) || isBinary(b.data))
	switch {
	case same:
		d.sameFiles(a, b)
		return
	case binary || d.brief && !d.tolerant():
		if d.brief {
			fmt.Fprintf(d.p.Out, "Files %s and %s differ\n", d.shown(a, 0), d.shown(b, 1))
		} else {
			fmt.Fprintf(d.p.Out, "Binary files %s and %s differ\n", d.shown(a, 0), d.shown(b, 1))
		}
		d.differ()
		return
	}
	a.split(d)
	b.split(d)
	o := &diffOutput{d: d, a: a, b: b}
	held := 16 * (len(a.lines) + len(b.lines))
	d.p.Hold(held)
	defer func() { d.p.Release(held + 24*(len(a.lines)+len(b.lines)+2)) }()
	o.changes()
	real := false
	for _, c := range o.list {
		if !o.ignored(c) {
			real = true
			break
		}
	}
	if !real {
		if d.style != "side" && d.style != "ifdef" {
			d.sameFiles(a, b)
			return
		}
	} else {
		d.differ()
	}
	if d.brief {
		if real {
			fmt.Fprintf(d.p.Out, "Files %s and %s differ\n", d.shown(a, 0), d.shown(b, 1))
		}
		return
	}
	if below {
		x, y := a.name, b.name
		if len(d.labels) > 0 {
			x, y = d.shown(a, 0), d.shown(b, 1)
		}
		d.paint("1", fmt.Sprintf("diff%s %s %s", d.switches, diffName(x), diffName(y)))
	}
	switch d.style {
	case "unified":
		o.unified()
	case "context":
		o.contextStyle()
	case "ed":
		o.ed()
	case "forward":
		o.forward()
	case "rcs":
		o.rcs()
	case "side":
		o.side()
	case "ifdef":
		o.ifdef()
	default:
		o.normal()
	}
}

// diffName quotes a name for a header line.
func diffName(s string) string { return shellQuote(s, false) }

func (d *diffRun) sameFiles(a, b *diffFile) {
	if d.identical {
		fmt.Fprintf(d.p.Out, "Files %s and %s are identical\n", d.shown(a, 0), d.shown(b, 1))
	}
	if d.style == "side" && !d.noCommon && !d.brief {
		a.split(d)
		b.split(d)
		(&diffOutput{d: d, a: a, b: b}).side()
	}
}

// tolerant reports whether differing bytes may still be equal lines.
func (d *diffRun) tolerant() bool {
	return d.icase || d.allSpace || d.space || d.trailing || d.tabExpand || d.blankLines || d.stripCR || len(d.ignore) > 0
}

// paint prints a line in a color when colors are on.
func (d *diffRun) paint(code, s string) {
	if d.color {
		s = "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	d.p.Out.WriteString(s)
	d.p.Out.WriteByte('\n')
}

// diffOutput prints the comparison of two files.
type diffOutput struct {
	d    *diffRun
	a, b *diffFile
	list []diff.Change
}

// key is what a line is compared by.
func (d *diffRun) key(line []byte) []byte {
	if !(d.icase || d.allSpace || d.space || d.trailing || d.tabExpand) {
		return line
	}
	isSpace := func(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
	out := make([]byte, 0, len(line))
	col := 0
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case isSpace(c) && d.allSpace:
			continue
		case isSpace(c) && d.space:
			for i+1 < len(line) && isSpace(line[i+1]) {
				i++
			}
			if i+1 < len(line) {
				out = append(out, ' ')
			}
			continue
		case c == '\t' && d.tabExpand:
			for n := 8 - col%8; n > 0; n-- {
				out = append(out, ' ')
				col++
			}
			continue
		}
		col++
		out = append(out, c)
	}
	if d.trailing {
		out = bytes.TrimRight(out, " \t\r\v\f")
	}
	if d.icase {
		out = bytes.Map(unicode.ToLower, out)
	}
	return out
}

func (o *diffOutput) changes() {
	classes := map[string]int{}
	// ed cannot say that a newline is missing, so it is no difference to it.
	spaces := o.d.allSpace || o.d.space || o.d.trailing || o.d.style == "ed" || o.d.style == "forward"
	class := func(f *diffFile) []int {
		out := make([]int, len(f.lines))
		for i, l := range f.lines {
			o.d.p.Tick(1 + len(l)>>10)
			k := string(o.d.key(l))
			if f.noEOL && i == len(f.lines)-1 && !spaces {
				k += "\n" // differs from every line that has its newline
			}
			n, ok := classes[k]
			if !ok {
				n = len(classes) + 1
				classes[k] = n
				o.d.p.Hold(len(k) + 64)
			}
			out[i] = n
		}
		return out
	}
	x, y := class(o.a), class(o.b)
	horizon := 0
	if o.d.style == "unified" || o.d.style == "context" {
		horizon = o.d.context
	}
	o.list = diff.Lines(x, y, diff.Options{Minimal: o.d.minimal, Horizon: horizon, Tick: o.d.p.Tick})
	for k := range classes {
		o.d.p.Release(len(k) + 64)
	}
}

// ignored reports whether -B or -I hides a change.
func (o *diffOutput) ignored(c diff.Change) bool {
	if !o.d.blankLines && len(o.d.ignore) == 0 {
		return false
	}
	ok := func(line []byte) bool {
		if o.d.blankLines && len(o.d.key(line)) == 0 {
			return true
		}
		for _, re := range o.d.ignore {
			if re.Match(line) {
				return true
			}
		}
		return false
	}
	for i := range c.Del {
		if !ok(o.a.lines[c.A+i]) {
			return false
		}
	}
	for i := range c.Ins {
		if !ok(o.b.lines[c.B+i]) {
			return false
		}
	}
	return true
}

// line prints one line of a file after a mark.
func (o *diffOutput) line(mark string, f *diffFile, i int, code string) {
	out := o.d.p.Out
	o.d.p.Tick(1)
	l := f.lines[i]
	if o.d.initialTab && mark != "" {
		mark = strings.TrimSuffix(mark, " ") + "\t"
	}
	if o.d.emptyBlank && len(l) == 0 {
		mark = strings.TrimRight(mark, " ")
	}
	if o.d.color && code != "" {
		fmt.Fprintf(out, "\x1b[%sm%s%s\x1b[0m", code, mark, l)
	} else {
		out.WriteString(mark)
		if o.d.expand {
			out.WriteString(expandTabs(l))
		} else {
			out.Write(l)
		}
	}
	out.WriteByte('\n')
	if f.noEOL && i == len(f.lines)-1 {
		out.WriteString("\\ No newline at end of file\n")
	}
}

func expandTabs(l []byte) string {
	var b strings.Builder
	col := 0
	for _, c := range l {
		if c == '\t' {
			n := 8 - col%8
			b.WriteString(strings.Repeat(" ", n))
			col += n
			continue
		}
		b.WriteByte(c)
		col++
	}
	return b.String()
}

// editRange is a range of lines as the normal and ed styles write it.
func editRange(start, n int) string {
	switch n {
	case 0:
		return strconv.Itoa(start)
	case 1:
		return strconv.Itoa(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, start+n)
}

func changeLetter(c diff.Change) string {
	switch {
	case c.Del == 0:
		return "a"
	case c.Ins == 0:
		return "d"
	}
	return "c"
}

func (o *diffOutput) normal() {
	for _, c := range o.list {
		if o.ignored(c) {
			continue
		}
		o.d.paint("36", editRange(c.A, c.Del)+changeLetter(c)+editRange(c.B, c.Ins))
		for i := range c.Del {
			o.line("< ", o.a, c.A+i, "31")
		}
		if c.Del > 0 && c.Ins > 0 {
			o.d.p.Out.WriteString("---\n")
		}
		for i := range c.Ins {
			o.line("> ", o.b, c.B+i, "32")
		}
	}
}

func (o *diffOutput) header(mark string, f *diffFile, i int) {
	if i < len(o.d.labels) {
		o.d.paint("1", mark+" "+o.d.labels[i])
		return
	}
	when := time.Unix(0, f.st.Mtime)
	if f.missing {
		when = time.Unix(0, 0)
	}
	stamp := when.In(o.d.now.Location())
	name := f.name
	if strings.ContainsAny(name, " \t\n\\\"") && strings.ContainsAny(name, "\t\n\\\"") {
		name = strconv.Quote(name)
	}
	o.d.paint("1", mark+" "+name+"\t"+datetime.Format("%Y-%m-%d %H:%M:%S.%N %z", stamp))
}

// groups joins changes whose context touches.
func (o *diffOutput) groups() [][]diff.Change {
	var out [][]diff.Change
	var cur []diff.Change
	for _, c := range o.list {
		if n := len(cur); n > 0 {
			last := cur[n-1]
			gap := c.A - (last.A + last.Del)
			limit := 2*o.d.context + 1
			if o.ignored(c) || o.ignored(last) {
				limit = o.d.context
			}
			if gap >= limit {
				out = append(out, cur)
				cur = nil
			}
		}
		cur = append(cur, c)
	}
	if len(cur) > 0 {
		out = append(out, cur)
	}
	return slices.DeleteFunc(out, func(g []diff.Change) bool {
		return !slices.ContainsFunc(g, func(c diff.Change) bool { return !o.ignored(c) })
	})
}

// bounds are the lines of a group with its context.
func (o *diffOutput) bounds(g []diff.Change) (a0, a1, b0, b1 int) {
	first, last := g[0], g[len(g)-1]
	before := min(o.d.context, first.A, first.B)
	ea, eb := last.A+last.Del, last.B+last.Ins
	after := min(o.d.context, len(o.a.lines)-ea, len(o.b.lines)-eb)
	return first.A - before, ea + after, first.B - before, eb + after
}

func (o *diffOutput) function(line int) string {
	if o.d.function == nil {
		return ""
	}
	for i := line - 1; i >= 0; i-- {
		if o.d.function.Match(o.a.lines[i]) {
			l := bytes.TrimLeft(o.a.lines[i], " \t")
			return " " + string(bytes.TrimRight(l[:min(len(l), 40)], " \t"))
		}
	}
	return ""
}

func (o *diffOutput) unified() {
	o.header("---", o.a, 0)
	o.header("+++", o.b, 1)
	num := func(start, n int) string {
		switch n {
		case 0:
			return strconv.Itoa(start) + ",0"
		case 1:
			return strconv.Itoa(start + 1)
		}
		return fmt.Sprintf("%d,%d", start+1, n)
	}
	for _, g := range o.groups() {
		a0, a1, b0, b1 := o.bounds(g)
		head := "@@ -" + num(a0, a1-a0) + " +" + num(b0, b1-b0) + " @@"
		if o.d.color {
			head = "\x1b[36m" + head + "\x1b[0m"
		}
		o.d.p.Out.WriteString(head + o.function(a0) + "\n")
		i := a0
		for _, c := range g {
			for ; i < c.A; i++ {
				o.line(" ", o.a, i, "")
			}
			for ; i < c.A+c.Del; i++ {
				o.line("-", o.a, i, "31")
			}
			for k := range c.Ins {
				o.line("+", o.b, c.B+k, "32")
			}
		}
		for ; i < a1; i++ {
			o.line(" ", o.a, i, "")
		}
	}
}

func (o *diffOutput) contextStyle() {
	o.header("***", o.a, 0)
	o.header("---", o.b, 1)
	num := func(start, end int) string {
		if end-start <= 1 {
			return strconv.Itoa(end)
		}
		return fmt.Sprintf("%d,%d", start+1, end)
	}
	for _, g := range o.groups() {
		a0, a1, b0, b1 := o.bounds(g)
		o.d.p.Out.WriteString("***************" + o.function(a0) + "\n")
		o.d.paint("36", "*** "+num(a0, a1)+" ****")
		if slices.ContainsFunc(g, func(c diff.Change) bool { return c.Del > 0 }) {
			i := a0
			for _, c := range g {
				for ; i < c.A; i++ {
					o.line("  ", o.a, i, "")
				}
				mark := "! "
				if c.Ins == 0 {
					mark = "- "
				}
				for ; i < c.A+c.Del; i++ {
					o.line(mark, o.a, i, "31")
				}
			}
			for ; i < a1; i++ {
				o.line("  ", o.a, i, "")
			}
		}
		o.d.paint("36", "--- "+num(b0, b1)+" ----")
		if slices.ContainsFunc(g, func(c diff.Change) bool { return c.Ins > 0 }) {
			i := b0
			for _, c := range g {
				for ; i < c.B; i++ {
					o.line("  ", o.b, i, "")
				}
				mark := "! "
				if c.Del == 0 {
					mark = "+ "
				}
				for ; i < c.B+c.Ins; i++ {
					o.line(mark, o.b, i, "32")
				}
			}
			for ; i < b1; i++ {
				o.line("  ", o.b, i, "")
			}
		}
	}
}

func (o *diffOutput) newlines() {
	for _, f := range []*diffFile{o.a, o.b} {
		if f.noEOL {
			o.d.p.Errorf("%s: No newline at end of file\n", f.name)
			o.d.status = 2
		}
	}
}

func (o *diffOutput) ed() {
	out := o.d.p.Out
	for k := len(o.list) - 1; k >= 0; k-- {
		c := o.list[k]
		if o.ignored(c) {
			continue
		}
		out.WriteString(editRange(c.A, c.Del) + changeLetter(c) + "\n")
		if c.Ins == 0 {
			continue
		}
		input := true
		for i := range c.Ins {
			l := o.b.lines[c.B+i]
			if !input {
				out.WriteString("a\n")
				input = true
			}
			if len(l) == 1 && l[0] == '.' { // a lone dot would end the text
				out.WriteString("..\n.\ns/.//\n")
				input = false
				continue
			}
			out.Write(l)
			out.WriteByte('\n')
		}
		if input {
			out.WriteString(".\n")
		}
	}
	o.newlines()
}

func (o *diffOutput) forward() {
	out := o.d.p.Out
	for _, c := range o.list {
		if o.ignored(c) {
			continue
		}
		out.WriteString(changeLetter(c) + strings.ReplaceAll(editRange(c.A, c.Del), ",", " ") + "\n")
		if c.Ins == 0 {
			continue
		}
		for i := range c.Ins {
			out.Write(o.b.lines[c.B+i])
			out.WriteByte('\n')
		}
		out.WriteString(".\n")
	}
	o.newlines()
}

func (o *diffOutput) rcs() {
	out := o.d.p.Out
	for _, c := range o.list {
		if o.ignored(c) {
			continue
		}
		if c.Del > 0 {
			fmt.Fprintf(out, "d%d %d\n", c.A+1, c.Del)
		}
		if c.Ins == 0 {
			continue
		}
		fmt.Fprintf(out, "a%d %d\n", c.A+c.Del, c.Ins)
		for i := range c.Ins {
			out.Write(o.b.lines[c.B+i])
			if !o.b.noEOL || c.B+i < len(o.b.lines)-1 {
				out.WriteByte('\n')
			}
		}
	}
}

func (o *diffOutput) ifdef() {
	out, name := o.d.p.Out, o.d.ifdef
	raw := func(f *diffFile, i int) {
		out.Write(f.lines[i])
		out.WriteByte('\n')
	}
	i := 0
	for _, c := range o.list {
		for ; i < c.A; i++ {
			raw(o.a, i)
		}
		if c.Del > 0 {
			out.WriteString("#ifndef " + name + "\n")
			for ; i < c.A+c.Del; i++ {
				raw(o.a, i)
			}
			if c.Ins > 0 {
				out.WriteString("#else /* " + name + " */\n")
			}
		} else {
			out.WriteString("#ifdef " + name + "\n")
		}
		for k := range c.Ins {
			raw(o.b, c.B+k)
		}
		if c.Ins > 0 {
			out.WriteString("#endif /* " + name + " */\n")
		} else {
			out.WriteString("#endif /* ! " + name + " */\n")
		}
	}
	for ; i < len(o.a.lines); i++ {
		raw(o.a, i)
	}
}

// side prints two columns.
func (o *diffOutput) side() {
	const gutter = 3
	tab := 8
	if o.d.expand {
		tab = 1
	}
	w := o.d.width
	off := w>>1 + (tab+gutter)>>1 + w&(tab+gutter)&1
	off -= off % tab
	half := max(0, min(off-gutter, w-off))
	second := w
	if half > 0 {
		second = off
	}
	i, j := 0, 0
	both := func(upto int) {
		for ; i < upto; i, j = i+1, j+1 {
			if o.d.noCommon {
				continue
			}
			if o.d.leftColumn {
				o.pair(half, second, i, -1, '(')
			} else {
				o.pair(half, second, i, j, ' ')
			}
		}
	}
	for _, c := range o.list {
		both(c.A)
		mark := byte('|')
		n := min(c.Del, c.Ins)
		for k := range n {
			o.pair(half, second, c.A+k, c.B+k, mark)
		}
		for k := n; k < c.Ins; k++ {
			o.pair(half, second, -1, c.B+k, '>')
		}
		for k := n; k < c.Del; k++ {
			o.pair(half, second, c.A+k, -1, '<')
		}
		i, j = c.A+c.Del, c.B+c.Ins
	}
	both(len(o.a.lines))
}

// pair prints a line of each file, -1 for none, with a mark between them.
func (o *diffOutput) pair(half, second, i, j int, mark byte) {
	out := o.d.p.Out
	o.d.p.Tick(1)
	ended := func(f *diffFile, k int) bool { return k >= 0 && !(f.noEOL && k == len(f.lines)-1) }
	col := 0
	newline := false
	if i >= 0 {
		newline = ended(o.a, i)
		col = o.half(o.a.lines[i], 0, half)
	}
	if mark != ' ' {
		col = o.pad(col, (half+second-1)>>1) + 1
		if mark == '|' && newline != ended(o.b, j) {
			mark = '\\'
			if newline {
				mark = '/'
			}
		}
		out.WriteByte(mark)
	}
	if j >= 0 {
		newline = newline || ended(o.b, j)
		if len(o.b.lines[j]) > 0 {
			col = o.pad(col, second)
			o.half(o.b.lines[j], col, half)
		}
	}
	if newline {
		out.WriteByte('\n')
	}
}

// pad moves from one column to another with tabs and blanks.
func (o *diffOutput) pad(from, to int) int {
	if !o.d.expand {
		for tab := from + 8 - from%8; tab <= to; tab += 8 {
			o.d.p.Out.WriteByte('\t')
			from = tab
		}
	}
	for ; from < to; from++ {
		o.d.p.Out.WriteByte(' ')
	}
	return to
}

// half prints what fits of a line into a column and returns the position after it.
func (o *diffOutput) half(line []byte, indent, bound int) int {
	in, outPos := 0, 0
	for k := 0; k < len(line); {
		c := line[k]
		if c == '\t' {
			spaces := 8 - in%8
			if in == outPos {
				stop := outPos + spaces
				if o.d.expand {
					stop = min(stop, bound)
					for ; outPos < stop; outPos++ {
						o.d.p.Out.WriteByte(' ')
					}
				} else if stop < bound {
					outPos = stop
					o.d.p.Out.WriteByte(c)
				}
			}
			in += spaces
			k++
			continue
		}
		n, width := 1, 1
		if c >= 0x80 && !byteLocale(o.d.p) {
			r := bytes.Runes(line[k:min(len(line), k+4)])
			n = len(string(r[0]))
			if r[0] == 0xfffd {
				n = 1
			}
		} else if c < ' ' || c == 127 {
			width = 0
		}
		in += width
		if in <= bound {
			outPos = in
			o.d.p.Out.Write(line[k : k+n])
		}
		k += n
	}
	return indent + outPos
}
