package diffutils

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var diffSpec = getopt.New("0123456789abBcC:dD:eEfF:hHiI:lL:nNpPqrsS:tTuU:vwW:x:X:yZ",
	"binary brief=q changed-group-format: old-group-format: new-group-format: unchanged-group-format: "+
		"line-format: old-line-format: new-line-format: unchanged-line-format: color:: context::=context ed=e exclude:=x exclude-from:=X expand-tabs=t "+
		"forward-ed=f horizon-lines: ifdef:=D ignore-all-space=w ignore-blank-lines=B ignore-case=i ignore-file-name-case "+
		"ignore-matching-lines:=I ignore-space-change=b ignore-tab-expansion=E ignore-trailing-space=Z initial-tab=T label:=L "+
		"left-column minimal=d new-file=N no-dereference no-ignore-file-name-case normal rcs=n recursive=r "+
		"report-identical-files=s show-c-function=p show-function-line:=F side-by-side=y speed-large-files=H starting-file:=S "+
		"strip-trailing-cr suppress-blank-empty suppress-common-lines tabsize: text=a unidirectional-new-file=P unified::=unified "+
		"width:=W palette: from-file: to-file: paginate=l").
	WithStatus(2).WithHint(getopt.NamedHint).
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
	formats    diffFormats
	switches   string
	color      bool
	status     int
}

// diffFile is one side of a comparison.
type diffFile struct {
	name    string
	st      vfs.Stat
	missing bool
	dir     bool
	stdin   bool
	data    []byte
	lines   [][]byte // without newlines
	noEOL   bool     // the last line has none
}

func diffCommand(_ context.Context, p *proc.Process) int {
	p.Args[0] = "diff"
	d := &diffRun{p: p, now: program.LocalNow(p), style: "normal", context: -1, width: 130}
	opts, args := diffSpec.Parse(p)
	style := func(s string) bool {
		if d.style != "normal" && d.style != s {
			p.Errorf("conflicting output style options")
			return false
		}
		d.style = s
		return true
	}
	digits, normal, function := "", false, false
	from, to, hasFrom, hasTo := "", "", false, false
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
		case "old-group-format", "new-group-format", "unchanged-group-format", "changed-group-format":
			d.formats.setGroup(o.Key, o.Value)
			ok = style("ifdef")
		case "line-format", "old-line-format", "new-line-format", "unchanged-line-format":
			d.formats.setLine(o.Key, o.Value)
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
			re, err := regex.Compile(o.Value, regex.Options{Bytes: program.ByteLocale(p)})
			if err != nil {
				p.Errorf("%s: %v", o.Value, err)
				return 2
			}
			re.SetTick(p.Tick)
			d.ignore = append(d.ignore, re)
		case "F", "p":
			pat := o.Value
			if o.Key == "p" {
				pat, function = "^[[:alpha:]$_]", true
			}
			re, err := regex.Compile(pat, regex.Options{Bytes: program.ByteLocale(p)})
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
		case "from-file":
			from, hasFrom = o.Value, true
		case "to-file":
			to, hasTo = o.Value, true
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
	if function && d.style == "normal" && !normal {
		d.style = "context"
	}
	if digits != "" {
		if n, err := strconv.Atoi(digits); err == nil {
			d.context = n
		}
	}
	if d.context < 0 {
		d.context = 3
	}
	switch {
	case hasFrom && hasTo:
		p.Errorf("--from-file and --to-file both specified")
		return 2
	case hasFrom || hasTo:
		d.switches = diffSwitches(p.Args[1:])
		for _, a := range args {
			if hasFrom {
				d.compare(from, a, false)
			} else {
				d.compare(a, to, false)
			}
		}
		return d.status
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
		b.WriteString(" " + program.ShellQuote(a, false))
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
			b.WriteString(" " + program.ShellQuote(args[i], false))
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
		f.st = vfs.Stat{Kind: vfs.FIFO, Mtime: d.now.UnixNano()}
		if s, ok := d.p.Stdin.(interface{ Stat() (vfs.Stat, error) }); ok {
			if st, err := s.Stat(); err == nil && st.Kind == vfs.Regular {
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
			a, aerr = d.look(program.JoinPath(an, program.BaseName(bn)))
		} else if b.dir && !a.stdin {
			b, berr = d.look(program.JoinPath(bn, program.BaseName(an)))
		}
		if a.dir || b.dir {
			if a.stdin || b.stdin {
				d.p.Errorf("cannot compare '-' to a directory")
				d.status = 2
				return
			}
		}
	}
	missing := func(err error) bool { return errors.Is(err, vfs.ENOENT) }
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
		if !a.missing && a.st.Ino == b.st.Ino && !d.identical && d.style != "side" && d.style != "ifdef" {
			return // the same directory
		}
		if d.style == "ifdef" && !below {
			d.p.Errorf("-D option not supported with directories")
			d.status = 2
			return
		}
		if below && !d.recursive {
			fmt.Fprintf(d.p.Out, "Common subdirectories: %s and %s\n", d.shown(a, 0), d.shown(b, 1))
			return
		}
		d.directories(a, b)
	case a.dir || b.dir:
		fmt.Fprintf(d.p.Out, "File %s is a %s while file %s is a %s\n", d.shown(a, 0), diffKind(a), d.shown(b, 1),
			diffKind(b))
		d.differ()
	case below && !(isFile(a) && isFile(b)):
		here, name := a, a.name
		if a.missing {
			here, name = b, b.name
		}
		if a.missing || b.missing {
			fmt.Fprintf(d.p.Out, "Only in %s: %s\n", strings.TrimSuffix(here.name, "/"+program.BaseName(name)),
				program.BaseName(name))
		} else {
			fmt.Fprintf(d.p.Out, "File %s is a %s while file %s is a %s\n", d.shown(a, 0), diffKind(a), d.shown(b, 1),
				diffKind(b))
		}
		d.differ()
	case d.noDeref && (a.st.Kind == vfs.Symlink || b.st.Kind == vfs.Symlink):
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

// isFile reports whether a file below a directory is one that is read.
func isFile(f *diffFile) bool {
	return f.missing || f.st.Kind == vfs.Regular || f.st.Kind == vfs.Symlink
}

func diffKind(f *diffFile) string {
	if f.st.Kind == 0 {
		return "directory"
	}
	return program.KindName(f.st)
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
	list := func(f *diffFile) []vfs.Dirent {
		if f.missing {
			return nil
		}
		l, err := d.p.ReadDir(f.name)
		if err != nil {
			d.trouble(f.name, err)
		}
		return slices.DeleteFunc(slices.Clone(l), func(e vfs.Dirent) bool {
			return slices.ContainsFunc(d.exclude, func(glob string) bool { return program.GlobMatches(d.p, glob, e.Name) }) ||
				d.startFile != "" && e.Name < d.startFile
		})
	}
	la, lb := list(a), list(b)
	d.startFile = ""
	left, right := program.TrimSlashes(a.name), program.TrimSlashes(b.name)
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
			d.compare(program.JoinPath(left, la[i].Name), program.JoinPath(right, lb[j].Name), true)
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
	x, y := program.JoinPath(here.name, name), program.JoinPath(there.name, name)
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
	if f.stdin || f.st.Kind != vfs.Regular {
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
	if a.stdin && b.stdin { // a file is equal to itself, unread
		d.sameFiles(a, b, below)
		return
	}
	if err := d.load(a); err != nil {
		d.trouble(a.name, err)
		return
	}
	if err := d.load(b); err != nil {
		d.trouble(b.name, err)
		return
	}
	same := a.missing == b.missing && bytes.Equal(a.data, b.data)
	binary := !d.text && (isBinary(a.data) || isBinary(b.data))
	switch {
	case same:
		d.sameFiles(a, b, below)
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
			d.sameFiles(a, b, below)
			if d.style == "ed" || d.style == "forward" {
				o.newlines()
			}
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
		fmt.Fprintf(d.p.Out, "diff%s %s %s\n", d.switches, diffName(x), diffName(y))
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
		o.formatted()
	default:
		o.normal()
	}
}

// diffName quotes a name for a header line.
func diffName(s string) string { return program.ShellQuote(s, false) }

func (d *diffRun) sameFiles(a, b *diffFile, below bool) {
	if d.identical {
		fmt.Fprintf(d.p.Out, "Files %s and %s are identical\n", d.shown(a, 0), d.shown(b, 1))
	}
	if d.brief || d.style != "side" && d.style != "ifdef" {
		return
	}
	a.split(d)
	b.split(d)
	if below {
		fmt.Fprintf(d.p.Out, "diff%s %s %s\n", d.switches, diffName(a.name), diffName(b.name))
	}
	switch o := (&diffOutput{d: d, a: a, b: b}); {
	case d.style == "ifdef":
		o.formatted()
	case !d.noCommon:
		o.side()
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
