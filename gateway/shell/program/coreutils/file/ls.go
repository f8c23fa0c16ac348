package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var lsSpec = getopt.New("abcdfghiklmnopqrstuvw:xABCDFGHI:LNQRST:UXZ1",
	"all=a escape=b directory=d dired=D full-time group-directories-first human-readable=h inode=i kibibytes=k numeric-uid-gid=n "+
		"no-group=G hide-control-chars=q reverse=r size=s width:=w almost-all=A ignore-backups=B classify::=F file-type si "+
		"dereference-command-line=H dereference-command-line-symlink-to-dir hide: ignore:=I indicator-style: dereference=L literal=N quote-name=Q "+
		"quoting-style: recursive=R format: show-control-chars sort: tabsize:=T time: time-style: zero color:: hyperlink:: "+
		"block-size: context=Z author").WithStatus(2).
	WithUsage("[OPTION]... [FILE]...", "List information about the FILEs (the current directory by default).")

// A word that an option does not know ends ls with status 1, unlike other mistakes.
var lsWords = func() *getopt.Spec {
	s := *lsSpec
	return s.WithStatus(1)
}()

// lsFile is one entry of a listing.
type lsFile struct {
	name   string // as shown
	path   string
	st     vfs.Stat
	ok     bool // st is known
	target string
	tst    vfs.Stat
	tok    bool // the symlink leads somewhere
}

type lister struct {
	p      *proc.Process
	names  program.Names
	format byte // '1', 'l', 'C', 'x', 'm'
	sort   string
	quote  string
	status int

	all, almostAll, noBackups, dirs, recursive, reverse, dirsFirst bool
	inode, blocks, numeric, noOwner, noGroup, author, color        bool
	hideControl, context                                           bool
	deref                                                          string // "always", "args", "dirs", "never"
	indicator                                                      string // "", "slash", "file-type", "classify"
	ignore, hide                                                   []string
	size, blockSize                                                program.BlockSize
	width, tab                                                     int
	recent, old                                                    string
	end                                                            string
	now                                                            time.Time
	palette                                                        *palette
	printed, colored                                               bool
	maxInode, maxBlocks                                            int
}

var quotingStyles = []string{"literal", "shell", "shell-always", "shell-escape", "shell-escape-always", "c", "c-maybe",
	"escape", "locale", "clocale"}

func ls(_ context.Context, p *proc.Process) int  { return list(p, '1') }
func dir(_ context.Context, p *proc.Process) int { return list(p, 'C') }
func vdir(_ context.Context, p *proc.Process) int {
	return list(p, 'l')
}

func list(p *proc.Process, format byte) int {
	opts, args := lsSpec.Parse(p)
	l := &lister{
		p: p, format: format, sort: "name", end: "\n", width: 80, tab: 8,
		size: program.BlockSize{Unit: 1}, blockSize: program.BlockSize{Unit: 1024}, now: program.LocalNow(p),
	}
	l.names.P = p
	if p.Name() != "ls" {
		l.quote = "escape"
	}
	style, timeKey, sortSet := p.Getenv("TIME_STYLE"), "", false
	if c := p.Getenv("COLUMNS"); c != "" {
		if n, err := strconv.Atoi(c); err == nil && n >= 0 {
			l.width = n
		}
	}
	if s := p.Getenv("QUOTING_STYLE"); s != "" {
		if slices.Contains(quotingStyles, s) {
			l.quote = s
		} else {
			p.Errorf("ignoring invalid value of environment variable QUOTING_STYLE: %s", program.Quote(s))
		}
	}
	for _, o := range opts {
		l.option(o, &style, &timeKey, &sortSet)
	}
	if l.color && p.Getenv("LS_COLORS") == "" && p.Getenv("COLORTERM") == "" && !colorTerm(p, p.Getenv("TERM")) {
		l.color = false
	}
	if l.color {
		l.palette = newPalette(p)
		l.color = l.palette != nil
	}
	if timeKey != "" && !sortSet && l.format != 'l' {
		l.sort = "time"
	}
	l.timeStyle(style)
	if l.deref == "" {
		l.deref = "dirs"
		if l.dirs || l.indicator == "classify" || l.format == 'l' {
			l.deref = "never"
		}
	}
	if len(args) == 0 {
		if l.dirs {
			l.listFiles([]*lsFile{l.operand(".")})
			return l.finish()
		}
		l.directory(".", l.recursive, 0)
		return l.finish()
	}
	var files, dirs []*lsFile
	for _, a := range args {
		f := l.operand(a)
		if f == nil {
			continue
		}
		if f.st.IsDir() && !l.dirs {
			dirs = append(dirs, f)
		} else {
			files = append(files, f)
		}
	}
	l.arrange(files)
	l.arrange(dirs)
	if len(files) > 0 {
		l.listFiles(files)
		l.printed = true
	}
	header := l.recursive || len(args) > 1
	for _, d := range dirs {
		l.directory(d.path, header, 0)
	}
	return l.finish()
}

// finish leaves a terminal with codes of its own as it was.
func (l *lister) finish() int {
	if l.colored {
		if left, right := l.palette.code("lc"), l.palette.code("rc"); left != paletteDefaults["lc"] ||
			right != paletteDefaults["rc"] {
			l.p.Out.WriteString(left + right)
		}
	}
	return l.status
}

func (l *lister) option(o getopt.Option, style, timeKey *string, sortSet *bool) {
	p := l.p
	setSort := func(s string) { l.sort, *sortSet = s, true }
	switch o.Key {
	case "a":
		l.all = true
	case "A":
		l.almostAll, l.all = true, false
	case "b":
		l.quote = "escape"
	case "B":
		l.noBackups = true
	case "c":
		*timeKey = "ctime"
	case "u":
		*timeKey = "atime"
	case "time":
		*timeKey = program.Choose(p, lsWords, "time", o.Value, "atime access use", "ctime status", "birth creation")
	case "C", "x", "m", "l", "1":
		if o.Key != "1" || l.format != 'l' {
			l.format = o.Key[0]
		}
	case "format":
		l.format = map[string]byte{"verbose": 'l', "commas": 'm', "across": 'x', "vertical": 'C',
			"single-column": '1'}[program.Choose(p, lsWords, "format", o.Value, "verbose long", "commas", "horizontal across",
			"vertical", "single-column")]
		if l.format == 0 {
			l.format = 'x'
		}
	case "d":
		l.dirs = true
	case "f":
		l.all, l.color = true, false
		setSort("none")
		if l.format == 'l' {
			l.format = '1'
		}
	case "F":
		l.indicator = "classify"
		if o.Has && program.Choose(p, lsWords, "classify", o.Value, "always yes force", "never no none",
			"auto tty if-tty") != "always" {
			l.indicator = ""
		}
	case "p":
		l.indicator = "slash"
	case "file-type":
		l.indicator = "file-type"
	case "indicator-style":
		l.indicator = program.Choose(p, lsWords, o.Key, o.Value, "none", "slash", "file-type", "classify")
		if l.indicator == "none" {
			l.indicator = ""
		}
	case "g":
		l.format, l.noOwner = 'l', true
	case "o":
		l.format, l.noGroup = 'l', true
	case "G":
		l.noGroup = true
	case "n":
		l.format, l.numeric = 'l', true
	case "author":
		l.author = true
	case "Z":
		l.context = true
	case "h":
		l.size, l.blockSize = program.BlockSize{Human: 1024}, program.BlockSize{Human: 1024}
	case "si":
		l.size, l.blockSize = program.BlockSize{Human: 1000}, program.BlockSize{Human: 1000}
	case "k":
		l.blockSize = program.BlockSize{Unit: 1024}
	case "block-size":
		b, ok := program.ParseBlockSize(o.Value)
		if !ok {
			program.BadBlockSize(p, o)
			p.Exit(2)
		}
		l.size, l.blockSize = b, b
	case "H":
		l.deref = "args"
	case "dereference-command-line-symlink-to-dir":
		l.deref = "dirs"
	case "L":
		l.deref = "always"
	case "i":
		l.inode = true
	case "s":
		l.blocks = true
	case "I":
		l.ignore = append(l.ignore, o.Value)
	case "hide":
		l.hide = append(l.hide, o.Value)
	case "N":
		l.quote = "literal"
	case "Q":
		l.quote = "c"
	case "q":
		l.hideControl = true
	case "show-control-chars":
		l.hideControl = false
	case "quoting-style":
		l.quote = program.Choose(p, lsWords, o.Key, o.Value, quotingStyles...)
	case "r":
		l.reverse = true
	case "R":
		l.recursive = true
	case "S":
		setSort("size")
	case "t":
		setSort("time")
	case "U":
		setSort("none")
	case "v":
		setSort("version")
	case "X":
		setSort("extension")
	case "sort":
		setSort(program.Choose(p, lsWords, "sort", o.Value, "none", "time", "size", "extension", "version", "width"))
	case "group-directories-first":
		l.dirsFirst = true
	case "full-time":
		l.format, *style = 'l', "full-iso"
	case "time-style":
		*style = o.Value
	case "T":
		if n, ok := columnCount(o.Value); !ok {
			p.Errorf("invalid tab size: %s", program.Quote(o.Value))
			p.Exit(2)
		} else {
			l.tab = n
		}
	case "w":
		n, ok := columnCount(o.Value)
		if !ok {
			p.Errorf("invalid line width: %s", program.Quote(o.Value))
			p.Exit(2)
		}
		l.width = n
	case "zero":
		l.end = "\x00"
		l.color, l.quote = false, "literal"
		if l.format != 'l' {
			l.format = '1'
		}
	case "color":
		l.color = !o.Has || program.Choose(p, lsWords, "color", o.Value, "always yes force", "never no none",
			"auto tty if-tty") == "always"
	}
}

func (l *lister) timeStyle(style string) {
	l.recent, l.old = "%b %e %H:%M", "%b %e  %Y"
	style = strings.TrimPrefix(style, "posix-")
	if custom, ok := strings.CutPrefix(style, "+"); ok {
		recent, old, two := strings.Cut(custom, "\n")
		l.old, l.recent = recent, recent
		if two {
			l.recent = old
		}
		return
	}
	if style == "" || l.format != 'l' {
		return
	}
	words := []string{"full-iso", "long-iso", "iso", "locale"}
	match := ""
	for _, w := range words {
		if w == style {
			match = w
			break
		}
		if strings.HasPrefix(w, style) && match == "" {
			match = w
		}
	}
	switch match {
	case "full-iso":
		l.recent = "%Y-%m-%d %H:%M:%S.%N %z"
		l.old = l.recent
	case "long-iso":
		l.recent = "%Y-%m-%d %H:%M"
		l.old = l.recent
	case "iso":
		l.recent, l.old = "%m-%d %H:%M", "%Y-%m-%d "
	case "":
		l.p.Errorf("invalid argument %s for %s", program.Quote(style), program.Quote("time style"))
		l.p.Err.WriteString("Valid arguments are:\n  - [posix-]full-iso\n  - [posix-]long-iso\n  - [posix-]iso\n  - [posix-]locale\n  - +FORMAT (e.g., +%H:%M) for a 'date'-style format\n")
		lsSpec.Hint(l.p)
	}
}

func (l *lister) fail(format string, args ...any) {
	l.p.Errorf(format, args...)
}

func (l *lister) operand(name string) *lsFile {
	follow := l.deref == "always" || l.deref == "args"
	f, err := l.file(name, name, follow)
	if l.deref == "args" && errors.Is(err, vfs.ENOENT) {
		f, err = l.file(name, name, false)
	}
	if err == nil && l.deref == "dirs" && f.st.Kind == vfs.Symlink {
		if t, terr := l.p.Stat(name); terr == nil && t.IsDir() {
			f.st = t
		}
	}
	if err != nil {
		l.fail("cannot access %s: %s", program.QuoteName(name), proc.Strerror(err))
		l.status = 2
		return nil
	}
	return f
}

func (l *lister) file(path, name string, follow bool) (*lsFile, error) {
	l.p.Tick(1)
	f := &lsFile{name: name, path: path}
	var err error
	if follow {
		f.st, err = l.p.Stat(path)
	} else {
		f.st, err = l.p.Lstat(path)
	}
	if err != nil {
		return nil, err
	}
	f.ok = true
	if f.st.Kind == vfs.Symlink && (l.format == 'l' || l.color || l.dirsFirst || l.indicator != "") {
		f.target, _ = l.p.FS.Readlink(l.p.Abs(path))
		f.tst, err = l.p.Stat(path)
		f.tok = err == nil
	}
	return f, nil
}

func (l *lister) hidden(name string) bool {
	if !l.all && !l.almostAll {
		if name[0] == '.' {
			return true
		}
		for _, h := range l.hide {
			if program.Fnmatch(l.p, h, name, false) {
				return true
			}
		}
	}
	if !l.all && (name == "." || name == "..") {
		return true
	}
	if l.noBackups && strings.HasSuffix(name, "~") {
		return true
	}
	for _, h := range l.ignore {
		if program.Fnmatch(l.p, h, name, false) && (name[0] != '.' || h[0] == '.') {
			return true
		}
	}
	return false
}

func (l *lister) directory(path string, header bool, depth int) {
	p := l.p
	entries, err := p.ReadDir(path)
	if err != nil {
		l.fail("cannot open directory %s: %s", program.QuoteName(path), proc.Strerror(err))
		l.status = max(l.status, 1)
		if depth == 0 {
			l.status = 2
		}
		return
	}
	if l.printed {
		p.Out.WriteByte('\n')
	}
	l.printed = true
	if header {
		p.Out.WriteString(l.quoted(path) + ":\n")
	}
	var files []*lsFile
	add := func(name string) {
		if l.hidden(name) {
			return
		}
		full := program.JoinPath(path, name)
		if path == "." && depth == 0 && !l.recursive {
			full = name
		}
		f, err := l.file(full, name, l.deref == "always")
		if err != nil && !l.needsStat() {
			f, err = l.file(full, name, false)
		}
		if err != nil {
			l.fail("cannot access %s: %s", program.QuoteName(full), proc.Strerror(err))
			l.status = max(l.status, 1)
			f = &lsFile{name: name, path: full}
			if e, lerr := p.Lstat(full); lerr == nil {
				f.st.Kind = e.Kind
			}
		}
		files = append(files, f)
	}
	add(".")
	add("..")
	for _, e := range entries {
		add(e.Name)
	}
	l.arrange(files)
	if l.format == 'l' || l.blocks {
		var sum uint64
		for _, f := range files {
			sum += uint64(f.st.Blocks) * 512
		}
		p.Out.WriteString("total " + l.blockSize.Format(sum) + l.end)
	}
	l.listFiles(files)
	if !l.recursive || depth >= program.MaxTreeDepth {
		return
	}
	for _, f := range files {
		if f.st.IsDir() && f.name != "." && f.name != ".." {
			l.directory(program.JoinPath(path, f.name), true, depth+1)
		}
	}
}

// needsStat reports whether the listing shows more than names.
func (l *lister) needsStat() bool {
	return l.format == 'l' || l.inode || l.blocks || l.color || l.dirsFirst || l.indicator != "" || l.sort == "time" ||
		l.sort == "size"
}

// colorTerm reports whether a terminal is one of those GNU's table of colours is made for.
func colorTerm(p *proc.Process, term string) bool {
	for _, t := range colorTerms {
		if program.Fnmatch(p, t, term, false) {
			return true
		}
	}
	return false
}

func (l *lister) arrange(files []*lsFile) {
	if l.sort == "none" {
		return
	}
	slices.SortStableFunc(files, func(a, b *lsFile) int {
		if l.dirsFirst {
			if da, db := a.leadsToDir(), b.leadsToDir(); da != db {
				if da {
					return -1
				}
				return 1
			}
		}
		r := 0
		switch l.sort {
		case "size":
			r = cmp.Compare(b.st.Size, a.st.Size)
		case "time":
			r = cmp.Compare(b.st.Mtime, a.st.Mtime)
		case "version":
			r = program.VersionCompare(a.name, b.name)
		case "extension":
			r = strings.Compare(extension(a.name), extension(b.name))
		case "width":
			r = l.nameWidth(a) - l.nameWidth(b)
		}
		if r == 0 {
			r = strings.Compare(a.name, b.name)
		}
		if l.reverse {
			return -r
		}
		return r
	})
}

func (f *lsFile) leadsToDir() bool {
	return f.st.IsDir() || f.st.Kind == vfs.Symlink && f.tok && f.tst.IsDir()
}

func extension(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[i:]
	}
	return ""
}

// quoted is a name in the quoting style of the listing.
func (l *lister) quoted(name string) string {
	switch l.quote {
	case "c":
		return `"` + l.cQuoted(name, true) + `"`
	case "c-maybe":
		if q := l.cQuoted(name, true); q != name {
			return `"` + q + `"`
		}
		return name
	case "escape":
		return strings.ReplaceAll(l.cQuoted(name, false), " ", `\ `)
	case "shell-escape":
		return program.ShellQuote(name, false)
	case "shell-escape-always":
		return program.ShellQuote(name, true)
	case "shell", "shell-always":
		if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
		}
		return program.ShellQuote(name, l.quote == "shell-always")
	case "locale", "clocale":
		return program.Quote(name)
	}
	if l.hideControl && program.ByteLocale(l.p) {
		shown := []byte(name)
		for i, c := range shown {
			if c < ' ' || c > '~' {
				shown[i] = '?'
			}
		}
		return string(shown)
	}
	if l.hideControl {
		return strings.Map(func(r rune) rune {
			if r == utf8.RuneError || !unicode.IsPrint(r) {
				return '?'
			}
			return r
		}, name)
	}
	return name
}

func (l *lister) cQuoted(s string, quotes bool) string {
	var b strings.Builder
	ascii := program.ByteLocale(l.p)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case n == 1 && program.CEscape(s[i]) != "":
			b.WriteString(program.CEscape(s[i]))
		case r == '"' && quotes:
			b.WriteString(`\"`)
		case r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) || ascii && n > 1:
			for _, c := range []byte(s[i : i+n]) {
				fmt.Fprintf(&b, "\\%03o", c)
			}
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

func (l *lister) mark(st vfs.Stat, ok bool) string {
	if l.indicator == "" || !ok {
		return ""
	}
	switch st.Kind {
	case vfs.Dir:
		return "/"
	case vfs.Symlink:
		if l.indicator != "slash" {
			return "@"
		}
	case vfs.FIFO:
		if l.indicator != "slash" {
			return "|"
		}
	case vfs.Regular:
		if l.indicator == "classify" && st.Mode&0o111 != 0 {
			return "*"
		}
	}
	return ""
}

func (l *lister) nameWidth(f *lsFile) int { return runewidth.StringWidth(l.quoted(f.name)) }

// cell is what short formats show of a file, and its width on a terminal.
func (l *lister) cell(f *lsFile) (text string, width int) {
	if l.inode {
		s := "?"
		if f.ok {
			s = strconv.FormatUint(f.st.Ino, 10)
		}
		text = pad(s, l.maxInode) + " "
	}
	if l.blocks {
		s := "?"
		if f.ok {
			s = l.blockSize.Format(uint64(f.st.Blocks) * 512)
		}
		text += pad(s, l.maxBlocks) + " "
	}
	if l.context {
		text += "? "
	}
	name, mark := l.quoted(f.name), l.mark(f.st, true)
	width = len(text) + runewidth.StringWidth(name) + len(mark)
	return text + l.paintFile(name, f) + mark, width
}

func pad(s string, width int) string {
	if n := width - len(s); n > 0 {
		return strings.Repeat(" ", n) + s
	}
	return s
}

func padRight(s string, width int) string {
	if n := width - runewidth.StringWidth(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

func (l *lister) listFiles(files []*lsFile) {
	files = slices.DeleteFunc(files, func(f *lsFile) bool { return f == nil })
	l.maxInode, l.maxBlocks = 0, 0
	for _, f := range files {
		l.maxInode = max(l.maxInode, len(strconv.FormatUint(f.st.Ino, 10)))
		l.maxBlocks = max(l.maxBlocks, len(l.blockSize.Format(uint64(f.st.Blocks)*512)))
	}
	switch l.format {
	case 'l':
		l.long(files)
	case 'C', 'x':
		if l.width > 0 {
			l.columns(files)
			return
		}
		l.separated(files, "  ")
	case 'm':
		l.separated(files, ", ")
	default:
		if !l.inode && !l.blocks {
			l.maxInode, l.maxBlocks = 0, 0
		}
		for _, f := range files {
			text, _ := l.cell(f)
			l.p.Out.WriteString(text + l.end)
		}
	}
}

func (l *lister) separated(files []*lsFile, sep string) {
	l.maxInode, l.maxBlocks = 0, 0
	at := 0
	for i, f := range files {
		text, w := l.cell(f)
		if i > 0 {
			if l.width == 0 || at+w+2 < l.width {
				l.p.Out.WriteString(sep)
				at += 2
			} else {
				l.p.Out.WriteString(sep[:1] + "\n")
				at = 0
			}
		}
		l.p.Out.WriteString(text)
		at += w
	}
	if len(files) > 0 {
		l.p.Out.WriteByte('\n')
	}
}

// columnCount reads a width: decimal, octal after 0 or hexadecimal after 0x.
func columnCount(s string) (n int, ok bool) {
	digits, base := s, 10
	switch {
	case strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X"):
		digits, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		digits, base = s[1:], 8
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(digits, "+"), base, 63)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return int(min(v, 1<<20)), true
}

// columns finds the most columns that fit, as GNU does.
func (l *lister) columns(files []*lsFile) {
	n := len(files)
	if n == 0 {
		return
	}
	text, width := make([]string, n), make([]int, n)
	for i, f := range files {
		text[i], width[i] = l.cell(f)
	}
	best, widths := 1, []int{0}
	for cols := min(n, max((l.width+2)/3, 1)); cols >= 1; cols-- {
		rows := (n + cols - 1) / cols
		w := slices.Repeat([]int{3}, cols) // no column is narrower
		wider := false
		for i := range n {
			c := i / rows
			if l.format == 'x' {
				c = i % cols
			}
			extra := 2
			if c == cols-1 {
				extra = 0
			}
			if width[i]+extra > w[c] {
				w[c], wider = width[i]+extra, true
			}
		}
		total := 0
		for _, x := range w {
			total += x
		}
		best, widths = cols, w
		if total < l.width || !wider { // columns of the least width are not measured
			break
		}
	}
	rows := (n + best - 1) / best
	for r := range rows {
		at, column := 0, 0
		for c := range best {
			i := c*rows + r
			if l.format == 'x' {
				i = r*best + c
			}
			if i >= n {
				break
			}
			if c > 0 {
				l.indent(at, column)
			}
			l.p.Out.WriteString(text[i])
			at = column + width[i]
			column += widths[c]
		}
		l.p.Out.WriteByte('\n')
	}
}

func (l *lister) indent(from, to int) {
	for from < to {
		if l.tab > 0 && to/l.tab > (from+1)/l.tab {
			l.p.Out.WriteByte('\t')
			from += l.tab - from%l.tab
		} else {
			l.p.Out.WriteByte(' ')
			from++
		}
	}
}

func (l *lister) ids(f *lsFile) (owner, group string) {
	if !f.ok {
		return "?", "?"
	}
	if !l.numeric {
		owner, group = l.names.User(f.st.UID), l.names.Group(f.st.GID)
	}
	return program.OrNumber(owner, f.st.UID), program.OrNumber(group, f.st.GID)
}

func (l *lister) sizeText(f *lsFile) string {
	switch {
	case !f.ok:
		return "?"
	case f.st.Kind == vfs.Char:
		return ""
	}
	return l.size.Format(uint64(f.st.Size))
}

func (l *lister) long(files []*lsFile) {
	var links, owners, groups, sizes, majors, minors, dates int
	date := make([]string, len(files))
	half := time.Duration(31556952/2) * time.Second
	held := 0
	defer func() { l.p.Release(held) }()
	for i, f := range files {
		o, g := l.ids(f)
		links = max(links, len(strconv.Itoa(int(f.st.Nlink))))
		owners, groups = max(owners, runewidth.StringWidth(o)), max(groups, runewidth.StringWidth(g))
		if f.ok && f.st.Kind == vfs.Char {
			majors = max(majors, len(strconv.Itoa(int(f.st.Rdev>>8))))
			minors = max(minors, len(strconv.Itoa(int(f.st.Rdev&0xff))))
			sizes = max(sizes, majors+2+minors)
		}
		sizes = max(sizes, len(l.sizeText(f)))
		t := time.Unix(0, f.st.Mtime).In(l.now.Location())
		format := l.old
		if t.After(l.now.Add(-half)) && !t.After(l.now) {
			format = l.recent
		}
		date[i] = datetime.Counted(l.p, format, t)
		held += len(date[i])
		if !f.ok {
			date[i] = "?"
		}
		dates = max(dates, len(date[i]))
	}
	for i, f := range files {
		var b strings.Builder
		if l.inode {
			b.WriteString(pad(strconv.FormatUint(f.st.Ino, 10), l.maxInode) + " ")
		}
		if l.blocks {
			b.WriteString(pad(l.blockSize.Format(uint64(f.st.Blocks)*512), l.maxBlocks) + " ")
		}
		if f.ok {
			b.WriteByte(program.KindLetter(f.st.Kind))
			b.WriteString(program.ModeString(f.st.Mode))
		} else {
			k := program.KindLetter(f.st.Kind)
			b.WriteString(string(k) + "?????????")
		}
		nlink := strconv.Itoa(int(f.st.Nlink))
		if !f.ok {
			nlink = "?"
		}
		b.WriteString(" " + pad(nlink, links) + " ")
		o, g := l.ids(f)
		align := padRight
		if l.numeric {
			align = func(s string, w int) string { return pad(s, w) }
		}
		if !l.noOwner {
			b.WriteString(align(o, owners) + " ")
		}
		if !l.noGroup {
			b.WriteString(align(g, groups) + " ")
		}
		if l.author {
			b.WriteString(align(o, owners) + " ")
		}
		if l.context {
			b.WriteString("? ")
		}
		if f.ok && f.st.Kind == vfs.Char {
			b.WriteString(pad(pad(strconv.Itoa(int(f.st.Rdev>>8)), majors)+", "+pad(strconv.Itoa(int(f.st.Rdev&0xff)), minors),
				sizes))
		} else {
			b.WriteString(pad(l.sizeText(f), sizes))
		}
		b.WriteString(" " + pad(date[i], dates) + " ")
		b.WriteString(l.paintFile(l.quoted(f.name), f))
		if f.st.Kind == vfs.Symlink && f.target != "" {
			b.WriteString(" -> ")
			b.WriteString(l.paintTarget(l.quoted(f.target), f) + l.mark(f.tst, f.tok))
		} else {
			b.WriteString(l.mark(f.st, true))
		}
		l.p.Out.WriteString(b.String() + l.end)
	}
}
