package file

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/vfs"
)

const treeUsage = "usage: tree [-acdfghilnpqrstuvxACDFJQNSUX] [-L level [-R]] [-H  baseHREF]\n" +
	"\t[-T title] [-o filename] [-P pattern] [-I pattern] [--gitignore]\n" +
	"\t[--gitfile[=]file] [--matchdirs] [--metafirst] [--ignore-case]\n" +
	"\t[--nolinks] [--hintro[=]file] [--houtro[=]file] [--inodes] [--device]\n" +
	"\t[--sort[=]<name>] [--dirsfirst] [--filesfirst] [--filelimit #] [--si]\n" +
	"\t[--du] [--prune] [--charset[=]X] [--timefmt[=]format] [--fromfile]\n" +
	"\t[--fflinks] [--info] [--infofile[=]file] [--noreport] [--version]\n" +
	"\t[--help] [--] [directory ...]\n"

type treeRun struct {
	p     *proc.Process
	names program.Names

	all, dirsOnly, full, noIndent, size, human, si, mode, user, group, date bool
	classify, follow, quote, ascii, color, noReport, prune, du, inodes      bool
	json, xml, foldCase, matchDirs                                          bool
	literal, dirsFirst, filesFirst, reverse                                 bool
	sort                                                                    string
	level, fileLimit                                                        int
	include, exclude                                                        []string
	timeFormat                                                              string
	dirs, files                                                             int
	bytes                                                                   int64
	active                                                                  map[uint64]bool
	status                                                                  int
	closeOut                                                                func() // of -o
}

// treeNode is an entry that will be shown.
type treeNode struct {
	name, path string
	st         vfs.Stat
	target     string
	isDir      bool // a directory, or a symlink to one
	children   []*treeNode
	note       string
	missing    bool
	size       int64
}

func tree(_ context.Context, p *proc.Process) int {
	t := &treeRun{p: p, names: program.Names{P: p}, sort: "name", active: map[uint64]bool{}}
	roots, status := t.parse()
	if t.closeOut != nil {
		defer t.closeOut()
	}
	if status >= 0 {
		return status
	}
	if len(roots) == 0 {
		roots = []string{"."}
	}
	if _, ok := p.Env.Get("TERM"); !ok {
		t.color = false
	}
	switch {
	case t.json:
		p.Out.WriteString("[\n")
	case t.xml:
		p.Out.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<tree>\n")
	}
	for i, root := range roots {
		if t.json && i > 0 {
			p.Out.WriteString(",\n")
		}
		t.root(root)
	}
	t.report()
	return t.status
}

func (t *treeRun) parse() (roots []string, status int) {
	p := t.p
	args := p.Args[1:]
	usage := func(message string) int {
		p.Out.Flush()
		p.Err.WriteString("tree: " + message + "\n")
		return 1
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			return append(roots, args[i+1:]...), -1
		}
		if len(a) < 2 || a[0] != '-' {
			roots = append(roots, a)
			continue
		}
		if strings.HasPrefix(a, "--") {
			name, value, has := strings.Cut(a[2:], "=")
			argument := func() (string, bool) {
				if has {
					return value, true
				}
				if i+1 < len(args) {
					i++
					return args[i], true
				}
				return "", false
			}
			ok := true
			switch name {
			case "help":
				p.Out.WriteString(treeUsage)
				return nil, 0
			case "version":
				p.Out.WriteString("tree v2.1.0 (compatible)\n")
				return nil, 0
			case "noreport":
				t.noReport = true
			case "dirsfirst":
				t.dirsFirst = true
			case "filesfirst":
				t.filesFirst = true
			case "prune":
				t.prune = true
			case "du":
				t.du, t.size = true, true
			case "si":
				t.si, t.human, t.size = true, true, true
			case "inodes":
				t.inodes = true
			case "ignore-case":
				t.foldCase = true
			case "matchdirs":
				t.matchDirs = true
			case "gitignore", "metafirst", "nolinks", "device", "info", "fflinks":
			case "charset":
				var c string
				if c, ok = argument(); ok {
					t.ascii = !strings.HasPrefix(strings.ToLower(c), "utf")
				}
			case "timefmt":
				t.timeFormat, ok = argument()
				t.date = true
			case "sort":
				t.sort, ok = argument()
				t.sort = map[string]string{"name": "name", "size": "size", "mtime": "time", "ctime": "time",
					"version": "version"}[t.sort]
				if t.sort == "" {
					return nil, usage("Sort type '" + value + "' not valid, should be one of: name,version,size,mtime,ctime")
				}
			case "filelimit":
				var v string
				if v, ok = argument(); ok {
					n, err := strconv.Atoi(v)
					if err != nil {
						n = 0
					}
					t.fileLimit = n
				}
			default:
				p.Out.Flush()
				p.Err.WriteString("tree: Invalid argument `" + a + "'.\n" + treeUsage)
				return nil, 1
			}
			if !ok {
				return nil, usage("Missing argument to --" + name + "=")
			}
			continue
		}
		for _, c := range a[1:] {
			switch c {
			case 'a':
				t.all = true
			case 'd':
				t.dirsOnly = true
			case 'f':
				t.full = true
			case 'i':
				t.noIndent = true
			case 's':
				t.size = true
			case 'h':
				t.size, t.human = true, true
			case 'p':
				t.mode = true
			case 'u':
				t.user = true
			case 'g':
				t.group = true
			case 'D':
				t.date = true
			case 'F':
				t.classify = true
			case 'l':
				t.follow = true
			case 'Q':
				t.quote = true
			case 'C':
				t.color = true
			case 'n':
				t.color = false
			case 'J':
				t.json = true
			case 'X':
				t.xml = true
			case 't', 'c':
				t.sort = "time"
			case 'v':
				t.sort = "version"
			case 'U':
				t.sort = "none"
			case 'r':
				t.reverse = true
			case 'N':
				t.literal = true
			case 'A', 'S', 'q', 'x', 'R':
			case 'L', 'P', 'I', 'o', 'H', 'T':
				if i+1 >= len(args) {
					return nil, usage(fmt.Sprintf("Missing argument to -%c option.", c))
				}
				i++
				switch c {
				case 'L':
					n, err := strconv.Atoi(args[i])
					if err != nil || n < 1 {
						return nil, usage("Invalid level, must be greater than 0.")
					}
					t.level = n
				case 'o':
					f, err := p.Open(args[i], vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
					if err != nil {
						return nil, usage(fmt.Sprintf("invalid filename '%s'", args[i]))
					}
					stdout := p.Out
					p.Out = proc.NewWriter(f, p)
					t.closeOut = func() {
						p.Out.Flush()
						p.Out = stdout
						_ = f.Close()
					}
				case 'P':
					t.include = append(t.include, strings.Split(args[i], "|")...)
				case 'I':
					t.exclude = append(t.exclude, strings.Split(args[i], "|")...)
				default:
					return nil, usage(fmt.Sprintf("option -%c is not supported", c))
				}
			default:
				p.Out.Flush()
				p.Err.WriteString(fmt.Sprintf("tree: Invalid argument -`%c'.\n", c) + treeUsage)
				return nil, 1
			}
		}
	}
	return roots, -1
}

func (t *treeRun) matches(patterns []string, name string, dir bool) bool {
	for _, pattern := range patterns {
		if onlyDirs, ok := strings.CutSuffix(pattern, "/"); ok {
			if dir && program.Fnmatch(t.p, onlyDirs, name, t.foldCase) {
				return true
			}
			continue
		}
		if program.Fnmatch(t.p, pattern, name, t.foldCase) {
			return true
		}
	}
	return false
}

func (t *treeRun) root(name string) {
	p := t.p
	st, err := p.Stat(name)
	n := &treeNode{name: name, path: name, st: st, missing: err != nil, isDir: err == nil && st.IsDir(), size: st.Size}
	if err != nil || !st.IsDir() {
		n.note = "error opening dir"
		if err == nil {
			t.files++
		} else {
			t.status = 2
		}
	} else {
		t.load(n, 1)
		if len(n.children) > 0 || n.note != "" {
			t.dirs++ // an empty root does not count itself
		}
	}
	t.bytes += n.size
	switch {
	case t.json:
		t.writeJSON(n, 1)
		p.Out.WriteByte('\n')
	case t.xml:
		t.writeXML(n, 1)
	default:
		t.write(n, "", "", true)
	}
}

// load reads a directory, and below it as far as -L allows.
func (t *treeRun) load(dir *treeNode, depth int) {
	p := t.p
	entries, err := p.ReadDir(dir.path)
	if err != nil {
		dir.note = "error opening dir"
		t.status = 2
		return
	}
	t.active[dir.st.Ino] = true
	defer delete(t.active, dir.st.Ino)
	var kept []*treeNode
	for _, e := range entries {
		p.Tick(1)
		if !t.all && e.Name[0] == '.' {
			continue
		}
		n := &treeNode{name: e.Name, path: program.JoinPath(dir.path, e.Name)}
		if n.st, err = p.Lstat(n.path); err != nil {
			continue
		}
		n.isDir, n.size = n.st.IsDir(), n.st.Size
		var tst vfs.Stat
		if n.st.Kind == vfs.Symlink {
			n.target, _ = p.FS.Readlink(p.Abs(n.path))
			if tst, err = p.Stat(n.path); err == nil {
				n.isDir = tst.IsDir()
			}
		}
		if t.dirsOnly && !n.isDir || len(t.exclude) > 0 && t.matches(t.exclude, e.Name, n.isDir) {
			continue
		}
		if len(t.include) > 0 && (!n.isDir || n.st.Kind == vfs.Symlink) && !t.matches(t.include, e.Name, n.isDir) {
			continue
		}
		if n.isDir && n.st.Kind == vfs.Symlink && t.follow {
			if t.active[tst.Ino] {
				n.note = "recursive, not followed"
			} else {
				n.st.Ino = tst.Ino
			}
		}
		kept = append(kept, n)
	}
	if t.fileLimit > 0 && len(kept) > t.fileLimit {
		dir.note = fmt.Sprintf("%d entries exceeds filelimit, not opening dir", len(kept))
		return
	}
	t.arrange(kept)
	for _, n := range kept {
		descend := n.st.IsDir() || n.isDir && t.follow && n.note == ""
		if descend && (t.level == 0 || depth < t.level) && depth < program.MaxTreeDepth {
			before := [2]int{t.dirs, t.files}
			t.load(n, depth+1)
			if t.prune && len(n.children) == 0 && n.note == "" {
				t.dirs, t.files = before[0], before[1]
				continue
			}
		} else if t.prune && n.isDir && n.st.IsDir() {
			continue
		}
		if n.isDir {
			t.dirs++
		} else {
			t.files++
		}
		if t.du {
			dir.size += n.size
		}
		dir.children = append(dir.children, n)
	}
}

func (t *treeRun) arrange(nodes []*treeNode) {
	if t.sort == "none" {
		return
	}
	slices.SortStableFunc(nodes, func(a, b *treeNode) int {
		if (t.dirsFirst || t.filesFirst) && a.isDir != b.isDir {
			if a.isDir == t.dirsFirst {
				return -1
			}
			return 1
		}
		r := 0
		switch t.sort {
		case "size":
			r = cmp.Compare(b.st.Size, a.st.Size)
		case "time":
			r = cmp.Compare(a.st.Mtime, b.st.Mtime)
		case "version":
			r = program.VersionCompare(a.name, b.name)
		}
		if r == 0 {
			r = strings.Compare(a.name, b.name)
		}
		if t.reverse {
			return -r
		}
		return r
	})
}

// info is the part in brackets before a name.
func (t *treeRun) info(n *treeNode) string {
	var parts []string
	if t.inodes {
		parts = append(parts, fmt.Sprintf("%7d", n.st.Ino))
	}
	if t.mode {
		parts = append(parts, string(program.KindLetter(n.st.Kind))+program.ModeString(n.st.Mode))
	}
	if t.user {
		parts = append(parts, fmt.Sprintf("%-8.32s", program.OrNumber(t.names.User(n.st.UID), n.st.UID)))
	}
	if t.group {
		parts = append(parts, fmt.Sprintf("%-8.32s", program.OrNumber(t.names.Group(n.st.GID), n.st.GID)))
	}
	if t.size {
		parts = append(parts, t.sizeText(n.size))
	}
	if t.date {
		parts = append(parts, t.dateText(n))
	}
	if len(parts) == 0 {
		return ""
	}
	return "[" + strings.Join(parts, " ") + "]  "
}

func (t *treeRun) sizeText(n int64) string {
	if !t.human {
		return fmt.Sprintf("%11d", n)
	}
	base := 1024.0
	units := " KMGTPEZY"
	if t.si {
		base, units = 1000, " kMGTPEZY"
	}
	v, k := float64(n), 0
	for v >= base && k < len(units)-1 {
		v /= base
		k++
	}
	switch {
	case k == 0:
		return fmt.Sprintf("%4d", n)
	case v < 10:
		return fmt.Sprintf("%3.1f%c", v, units[k])
	}
	return fmt.Sprintf("%3.0f%c", v, units[k])
}

func (t *treeRun) dateText(n *treeNode) string {
	now := program.LocalNow(t.p)
	at := time.Unix(0, n.st.Mtime).In(now.Location())
	format := t.timeFormat
	if format == "" {
		format = "%b %e  %Y"
		if !at.After(now) && at.Add(180*24*time.Hour).After(now) {
			format = "%b %e %H:%M"
		}
	}
	text := datetime.Counted(t.p, format, at)
	t.p.Release(len(text))
	return text
}

func (t *treeRun) shown(name string) string {
	if t.literal {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		if r < ' ' || r == 0x7f {
			fmt.Fprintf(&b, "\\%03o", r)
		} else {
			b.WriteRune(r)
		}
	}
	if t.quote {
		return `"` + b.String() + `"`
	}
	return b.String()
}

func (t *treeRun) paint(text string, st vfs.Stat) string {
	if !t.color {
		return text
	}
	c, ok := builtinPalette.of("", st)
	if !ok {
		c = "00"
	}
	return "\x1b[" + c + "m" + text + "\x1b[0m"
}

func (t *treeRun) mark(n *treeNode) string {
	if !t.classify {
		return ""
	}
	st := n.st
	if n.target != "" {
		if target, err := t.p.Stat(n.path); err == nil {
			st = target
		}
	}
	switch {
	case st.IsDir():
		return "/"
	case st.Kind == vfs.FIFO:
		return "|"
	case st.Kind == vfs.Regular && st.Mode&0o111 != 0:
		return "*"
	}
	return ""
}

func (t *treeRun) write(n *treeNode, lead, indent string, root bool) {
	out := t.p.Out
	name := n.name
	if t.full || root {
		name = n.path
	}
	if !t.noIndent {
		out.WriteString(lead)
	}
	info := t.info(n)
	if n.missing {
		info = ""
	}
	out.WriteString(info + t.paint(t.shown(name), n.st))
	if n.target != "" {
		target := t.shown(n.target)
		if t.color {
			if st, err := t.p.Stat(n.path); err == nil {
				target = t.paint(target, st)
			}
		}
		out.WriteString(" -> " + target)
	}
	if !strings.HasSuffix(name, "/") {
		out.WriteString(t.mark(n))
	}
	if n.note != "" {
		out.WriteString("  [" + n.note + "]")
	}
	out.WriteByte('\n')
	branch, last, bar, none := "├── ", "└── ", "│\u00a0\u00a0 ", "    "
	if t.ascii {
		branch, last, bar = "|-- ", "`-- ", "|   "
	}
	for i, c := range n.children {
		if i == len(n.children)-1 {
			t.write(c, indent+last, indent+none, false)
		} else {
			t.write(c, indent+branch, indent+bar, false)
		}
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func (t *treeRun) report() {
	out := t.p.Out
	dirs := t.dirs
	switch {
	case t.json:
		if !t.noReport {
			out.WriteString(",\n")
			fmt.Fprintf(out, "  {\"type\":\"report\"")
			if t.du {
				fmt.Fprintf(out, ",\"size\":%d", t.bytes)
			}
			fmt.Fprintf(out, ",\"directories\":%d", dirs)
			if !t.dirsOnly {
				fmt.Fprintf(out, ",\"files\":%d", t.files)
			}
			out.WriteString("}")
		}
		out.WriteString("\n]\n")
		return
	case t.xml:
		if !t.noReport {
			out.WriteString("  <report>\n")
			if t.du {
				fmt.Fprintf(out, "    <size>%d</size>\n", t.bytes)
			}
			fmt.Fprintf(out, "    <directories>%d</directories>\n", dirs)
			if !t.dirsOnly {
				fmt.Fprintf(out, "    <files>%d</files>\n", t.files)
			}
			out.WriteString("  </report>\n")
		}
		out.WriteString("</tree>\n")
		return
	case t.noReport:
		return
	}
	out.WriteByte('\n')
	if t.du {
		size := t.sizeText(t.bytes)
		if t.human {
			size = " " + size
		}
		out.WriteString(strings.TrimPrefix(size, "") + map[bool]string{true: " used in ", false: " bytes used in "}[t.human])
	}
	out.WriteString(plural(dirs, "directory", "directories"))
	if !t.dirsOnly {
		out.WriteString(", " + plural(t.files, "file", "files"))
	}
	out.WriteByte('\n')
}

func treeType(n *treeNode) string {
	switch n.st.Kind {
	case vfs.Dir:
		return "directory"
	case vfs.Symlink:
		return "link"
	case vfs.Char:
		return "char"
	case vfs.FIFO:
		return "fifo"
	}
	return "file"
}

// attributes are what JSON and XML say about a node, in order.
func (t *treeRun) attributes(n *treeNode, root bool) [][2]string {
	name := n.name
	if t.full || root {
		name = n.path
	}
	attrs := [][2]string{{"name", name}}
	if n.target != "" {
		attrs = append(attrs, [2]string{"target", n.target})
	}
	if t.inodes {
		attrs = append(attrs, [2]string{"inode", strconv.FormatUint(n.st.Ino, 10)})
	}
	if t.mode {
		attrs = append(attrs, [2]string{"mode", program.OctalMode(n.st.Mode)},
			[2]string{"prot", string(program.KindLetter(n.st.Kind)) + program.ModeString(n.st.Mode)})
	}
	if t.user {
		attrs = append(attrs, [2]string{"user", program.OrNumber(t.names.User(n.st.UID), n.st.UID)})
	}
	if t.group {
		attrs = append(attrs, [2]string{"group", program.OrNumber(t.names.Group(n.st.GID), n.st.GID)})
	}
	if t.size {
		v := strconv.FormatInt(n.size, 10)
		if t.human {
			v = strings.TrimSpace(t.sizeText(n.size))
		}
		attrs = append(attrs, [2]string{"size", v})
	}
	if t.date {
		attrs = append(attrs, [2]string{"time", t.dateText(n)})
	}
	return attrs
}

func jsonText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			fmt.Fprintf(&b, "\\u%04x", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func (t *treeRun) writeJSON(n *treeNode, depth int) {
	out := t.p.Out
	indent := strings.Repeat("  ", depth)
	if t.noIndent {
		indent = ""
	}
	out.WriteString(indent + `{"type":` + jsonText(treeType(n)))
	for _, a := range t.attributes(n, depth == 1) {
		v := jsonText(a[1])
		if a[0] == "inode" || a[0] == "size" && !t.human {
			v = a[1]
		}
		out.WriteString(`,"` + a[0] + `":` + v)
	}
	if n.note != "" && n.note == "error opening dir" {
		out.WriteString(`,"contents":[{"error": "opening dir"}` + "\n" + indent + "]}")
		return
	}
	if len(n.children) > 0 {
		out.WriteString(`,"contents":[` + "\n")
		for i, c := range n.children {
			t.writeJSON(c, depth+1)
			if i < len(n.children)-1 {
				out.WriteByte(',')
			}
			out.WriteByte('\n')
		}
		out.WriteString(indent + "]")
	}
	out.WriteString("}")
}

func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder never fails
	return b.String()
}

func (t *treeRun) writeXML(n *treeNode, depth int) {
	out := t.p.Out
	indent := strings.Repeat("  ", depth)
	if t.noIndent {
		indent = ""
	}
	kind := treeType(n)
	out.WriteString(indent + "<" + kind)
	for _, a := range t.attributes(n, depth == 1) {
		out.WriteString(" " + a[0] + `="` + xmlText(a[1]) + `"`)
	}
	out.WriteString(">")
	if len(n.children) > 0 {
		out.WriteByte('\n')
		for _, c := range n.children {
			t.writeXML(c, depth+1)
		}
		out.WriteString(indent)
	}
	out.WriteString("</" + kind + ">\n")
}
