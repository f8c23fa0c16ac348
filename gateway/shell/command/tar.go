package command

import (
	stdtar "archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/fserr"
	"github.com/pgbox/pgbox/gateway/shell/archive"
	"github.com/pgbox/pgbox/gateway/shell/datetime"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/regex"
)

const tarHint = "Try 'tar --help' or 'tar --usage' for more information.\n"

// tarArgs are the short options that take an argument.
const tarArgs = "fCTXbIHgKNLVF"

// tarLong maps long options to short ones; names of more than one letter have no short form. A
// colon says that an argument is required.
var tarLong = map[string]string{
	"create": "c", "extract": "x", "get": "x", "list": "t", "append": "r", "update": "u", "diff": "d", "compare": "d",
	"delete": "delete", "catenate": "A", "concatenate": "A", "file": "f:", "directory": "C:", "files-from": "T:",
	"exclude-from": "X:", "exclude": "exclude:", "verbose": "v", "gzip": "z", "gunzip": "z", "ungzip": "z", "bzip2": "j",
	"xz": "J", "zstd": "zstd", "auto-compress": "a", "preserve-permissions": "p", "same-permissions": "p", "to-stdout": "O",
	"keep-old-files": "k", "skip-old-files": "skip-old-files", "keep-newer-files": "keep-newer-files", "overwrite": "overwrite",
	"touch": "m", "absolute-names": "P", "dereference": "h", "strip-components": "strip-components:", "transform": "transform:",
	"xform": "transform:", "owner": "owner:", "group": "group:", "mtime": "mtime:", "mode": "mode:", "sort": "sort:",
	"wildcards": "wildcards", "no-wildcards": "no-wildcards", "no-recursion": "no-recursion", "recursion": "recursion",
	"null": "null", "numeric-owner": "numeric-owner", "full-time": "full-time", "format": "H:", "blocking-factor": "b:",
	"remove-files": "remove-files", "one-top-level": "one-top-level", "anchored": "anchored", "no-anchored": "no-anchored",
	"no-same-owner": "o", "same-owner": "same-owner", "no-same-permissions": "no-same-permissions", "sparse": "S",
	"ignore-failed-read": "ignore-failed-read", "totals": "totals", "show-transformed-names": "show-transformed-names",
	"warning": "warning:", "exclude-vcs": "exclude-vcs", "posix": "posix", "old-archive": "posix", "portability": "posix",
	"xattrs": "posix", "no-xattrs": "posix", "acls": "posix", "no-acls": "posix", "selinux": "posix", "no-selinux": "posix",
	"force-local": "posix", "unlink-first": "U", "verify": "W", "use-compress-program": "I:", "one-file-system": "posix",
	"numeric": "numeric-owner", "no-overwrite-dir": "posix", "keep-directory-symlink": "posix", "delay-directory-restore": "posix",
	"occurrence": "posix", "quoting-style": "warning:", "checkpoint": "posix", "clamp-mtime": "posix", "ignore-zeros": "i",
	"help": "help", "version": "version", "usage": "help",
}

// tarSource is what to put into the archive, or to take out of it, and from where.
type tarSource struct{ dir, name string }

type tarRun struct {
	p   *proc.Process
	ctx context.Context

	op       string
	file     string
	format   archive.Format
	packed   bool // a compression was asked for
	byName   bool // -a
	verbose  int
	sources  []tarSource
	patterns []string // of exclusion
	named    []tarSource
	hit      map[int]bool

	perms, noPerms, stdout, keep, skip, newer, touch, absolute, follow bool
	noRecurse, null, numeric, fullTime, remove, wildcards, overwrite   bool
	noOwner, sameOwner, ignoreZeros                                    bool
	strip                                                              int
	transforms                                                         []tarTransform
	owner, group                                                       *tarOwner
	mtime                                                              *time.Time
	mode                                                               *modeChange
	top                                                                string

	status   int
	width    int
	warned   map[string]bool
	links    map[uint64]string
	users    map[uint32]string
	groups   map[uint32]string
	later    []func() // directories' modes and times, set when all is extracted
	listTo   io.Writer
	archived map[string]int64 // -u: mtimes in the archive
	in       *countingReader  // the archive being read, decompressed
	self     uint64           // inode of the archive, which is not put into itself
}

type tarOwner struct {
	name string
	id   int
}

type tarTransform struct {
	re     *regex.Regexp
	repl   string
	global bool
}

// tarStop ends the run: the message has been printed.
type tarStop struct{}

func tarMain(ctx context.Context, p *proc.Process) (status int) {
	t := &tarRun{p: p, ctx: ctx, width: 19, hit: map[int]bool{}, warned: map[string]bool{}, links: map[uint64]string{}, listTo: p.Out}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(tarStop); !ok {
				panic(r)
			}
			status = t.status
		}
	}()
	if done, status := t.options(p.Args[1:]); done {
		return status
	}
	switch t.op {
	case "":
		return t.usage("You must specify one of the '-Acdtrux', '--delete' or '--test-label' options")
	case "c":
		t.create()
	case "r", "u":
		t.append()
	case "x", "t":
		t.read()
	case "delete":
		t.delete()
	default:
		return t.usage("Option -%s is not supported here", t.op)
	}
	if t.status == 2 {
		t.say("Exiting with failure status due to previous errors")
	}
	return t.status
}

func (t *tarRun) say(format string, args ...any) {
	t.p.Out.Flush()
	fmt.Fprintf(t.p.Err, "tar: "+format+"\n", args...)
}

// fail is an error after which the run goes on.
func (t *tarRun) fail(format string, args ...any) {
	t.say(format, args...)
	t.status = 2
}

// fatal ends the run.
func (t *tarRun) fatal(format string, args ...any) {
	if format != "" {
		t.say(format, args...)
	}
	t.say("Error is not recoverable: exiting now")
	t.status = 2
	panic(tarStop{})
}

func (t *tarRun) usage(format string, args ...any) int {
	t.say(format, args...)
	t.p.Err.WriteString(tarHint)
	return 2
}

// options reads the command line, in order: -C holds for what comes after it.
func (t *tarRun) options(args []string) (done bool, status int) {
	dir := ""
	// The old style: letters without a dash, their arguments following in order.
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		letters, rest := args[0], args[1:]
		var out []string
		for _, c := range letters {
			if strings.ContainsRune(tarArgs, c) {
				if len(rest) == 0 {
					return true, t.usage("Old option '%c' requires an argument.", c)
				}
				out = append(out, "-"+string(c), rest[0])
				rest = rest[1:]
			} else {
				out = append(out, "-"+string(c))
			}
		}
		args = append(out, rest...)
	}
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		next := func(name string) (string, bool) {
			if len(args) == 0 {
				return "", false
			}
			v := args[0]
			args = args[1:]
			_ = name
			return v, true
		}
		switch {
		case a == "--":
			for _, n := range args {
				t.sources = append(t.sources, tarSource{dir, n})
			}
			args = nil
		case strings.HasPrefix(a, "--"):
			name, val, has := strings.Cut(a[2:], "=")
			key, ok := longTar(name)
			if !ok {
				t.say("unrecognized option '--%s'", name)
				t.p.Err.WriteString(tarHint)
				return true, 64
			}
			if k, need := strings.CutSuffix(key, ":"); need {
				key = k
				if !has {
					if val, ok = next(name); !ok {
						t.say("option '--%s' requires an argument", name)
						t.p.Err.WriteString(tarHint)
						return true, 64
					}
				}
			}
			if done, status := t.option(key, val, has, &dir); done {
				return done, status
			}
		case len(a) > 1 && a[0] == '-':
			for i := 1; i < len(a); i++ {
				val := ""
				if strings.IndexByte(tarArgs, a[i]) >= 0 {
					if val = a[i+1:]; val == "" {
						var ok bool
						if val, ok = next(a[i : i+1]); !ok {
							t.say("option requires an argument -- '%c'", a[i])
							t.p.Err.WriteString(tarHint)
							return true, 64
						}
					}
					if done, status := t.option(a[i:i+1], val, true, &dir); done {
						return done, status
					}
					break
				}
				if done, status := t.option(a[i:i+1], "", false, &dir); done {
					return done, status
				}
			}
		default:
			t.sources = append(t.sources, tarSource{dir, a})
		}
	}
	if t.op == "x" || t.op == "t" {
		t.named = t.sources
	}
	t.top = dir
	return false, 0
}

func longTar(name string) (string, bool) {
	if k, ok := tarLong[name]; ok {
		return k, true
	}
	found := ""
	for n, k := range tarLong {
		if strings.HasPrefix(n, name) {
			if found != "" && found != k {
				return "", false
			}
			found = k
		}
	}
	return found, found != ""
}

func (t *tarRun) option(key, val string, has bool, dir *string) (done bool, status int) {
	switch key {
	case "c", "x", "t", "r", "u", "d", "A", "delete":
		if t.op != "" && t.op != key {
			return true, t.usage("You may not specify more than one '-Acdtrux', '--delete' or  '--test-label' option")
		}
		t.op = key
	case "f":
		t.file = val
	case "C":
		if strings.HasPrefix(val, "/") || *dir == "" {
			*dir = val
		} else {
			*dir += "/" + val
		}
	case "T":
		t.fromFile(val, *dir)
	case "X":
		b, err := t.p.ReadFile(val)
		if err != nil {
			t.fatal("%s: Cannot open: %s", val, proc.Strerror(err))
		}
		for _, l := range strings.Split(string(b), "\n") {
			if l != "" {
				t.patterns = append(t.patterns, l)
			}
		}
	case "exclude":
		t.patterns = append(t.patterns, val)
	case "exclude-vcs":
		t.patterns = append(t.patterns, ".git", ".gitignore", ".gitattributes", ".gitmodules", ".svn", ".hg", ".hgignore", ".hgtags", "CVS", ".bzr", ".bzrignore", ".cvsignore", "RCS", "SCCS", "_darcs")
	case "v":
		t.verbose++
	case "z":
		t.format, t.packed = archive.Gzip, true
	case "j":
		t.format, t.packed = archive.Bzip2, true
	case "J":
		t.format, t.packed = archive.XZ, true
	case "zstd":
		t.format, t.packed = archive.Zstd, true
	case "I":
		t.packed = true
		switch strings.Fields(val + " x")[0] {
		case "gzip", "pigz":
			t.format = archive.Gzip
		case "xz":
			t.format = archive.XZ
		case "zstd", "zstdmt":
			t.format = archive.Zstd
		case "bzip2":
			t.format = archive.Bzip2
		default:
			t.fatal("%s: Cannot exec: No such file or directory", val)
		}
	case "a":
		t.byName = true
	case "p":
		t.perms = true
	case "no-same-permissions":
		t.noPerms = true
	case "O":
		t.stdout = true
	case "k":
		t.keep = true
	case "skip-old-files":
		t.skip = true
	case "keep-newer-files":
		t.newer = true
	case "overwrite":
		t.overwrite = true
	case "m":
		t.touch = true
	case "P":
		t.absolute = true
	case "h":
		t.follow = true
	case "i":
		t.ignoreZeros = true
	case "o":
		t.noOwner = true
	case "same-owner":
		t.sameOwner = true
	case "strip-components":
		n, err := strconv.Atoi(val)
		if err != nil || n < 0 {
			return true, t.usage("%s: Invalid number of elements", val)
		}
		t.strip = n
	case "transform":
		t.transform(val)
	case "owner":
		t.owner = parseOwner(val, t.names("/etc/passwd"))
	case "group":
		t.group = parseOwner(val, t.names("/etc/group"))
	case "mtime":
		when, err := datetime.Parse(val, localNow(t.p))
		if err != nil {
			st, serr := t.p.Stat(val)
			if serr != nil {
				return true, t.usage("%s: Invalid date", val)
			}
			when = time.Unix(0, st.Mtime)
		}
		t.mtime = &when
	case "mode":
		m, ok := parseMode(val)
		if !ok {
			return true, t.usage("Invalid mode given on option")
		}
		t.mode = &m
	case "wildcards":
		t.wildcards = true
	case "no-wildcards":
		t.wildcards = false
	case "no-recursion":
		t.noRecurse = true
	case "recursion":
		t.noRecurse = false
	case "null":
		t.null = true
	case "numeric-owner":
		t.numeric = true
	case "full-time":
		t.fullTime = true
	case "remove-files":
		t.remove = true
	case "one-top-level":
		if !has {
			val = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(path.Base(t.file), path.Ext(t.file)), ".tar"), ".")
		}
		_ = t.p.FS.Mkdir(t.p.Abs(val), 0o777&^t.p.Umask)
		*dir = val
	case "help":
		t.p.Out.WriteString("Usage: tar [OPTION...] [FILE]...\n")
		return true, 0
	case "version":
		t.p.Out.WriteString("tar (GNU tar) 1.34\n")
		return true, 0
	case "b", "H", "S", "U", "w", "B", "W", "l", "n", "s", "g", "K", "N", "L", "V", "F", "sort", "posix", "warning", "totals",
		"show-transformed-names", "anchored", "no-anchored", "ignore-failed-read":
		// What an archive of the sandbox always is, or what changes nothing here.
	default:
		t.say("invalid option -- '%s'", key)
		t.p.Err.WriteString(tarHint)
		return true, 64
	}
	return false, 0
}

// fromFile adds the names a -T file lists.
func (t *tarRun) fromFile(name, dir string) {
	var b []byte
	var err error
	if name == "-" {
		b, err = t.p.ReadAll(t.p.Stdin)
	} else {
		b, err = t.p.ReadFile(name)
	}
	if err != nil {
		t.fatal("%s: Cannot open: %s", name, proc.Strerror(err))
	}
	sep := "\n"
	if t.null {
		sep = "\x00"
	}
	for _, l := range strings.Split(string(b), sep) {
		if l != "" {
			t.sources = append(t.sources, tarSource{dir, l})
		}
	}
}

// names reads the names of an /etc file by id.
func (t *tarRun) names(file string) map[uint32]string {
	m := map[uint32]string{}
	b, err := t.p.FS.ReadFile(file)
	if err != nil {
		return m
	}
	for _, l := range strings.Split(string(b), "\n") {
		f := strings.Split(l, ":")
		if len(f) < 3 {
			continue
		}
		if id, err := strconv.ParseUint(f[2], 10, 32); err == nil {
			if _, dup := m[uint32(id)]; !dup {
				m[uint32(id)] = f[0]
			}
		}
	}
	return m
}

func parseOwner(s string, names map[uint32]string) *tarOwner {
	if name, id, ok := strings.Cut(s, ":"); ok {
		if n, err := strconv.Atoi(id); err == nil {
			return &tarOwner{name, n}
		}
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(s, "+")); err == nil {
		return &tarOwner{names[uint32(n)], n}
	}
	for id, name := range names {
		if name == s {
			return &tarOwner{s, int(id)}
		}
	}
	return &tarOwner{s, -1}
}

// transform parses s/re/repl/flags, several joined by semicolons.
func (t *tarRun) transform(expr string) {
	for expr != "" {
		if len(expr) < 4 || expr[0] != 's' {
			t.fatal("Invalid transform expression")
		}
		sep := expr[1]
		var parts []string
		i, from := 2, 2
		for ; i < len(expr) && len(parts) < 2; i++ {
			switch expr[i] {
			case '\\':
				i++
			case sep:
				parts = append(parts, expr[from:i])
				from = i + 1
			}
		}
		if len(parts) < 2 {
			t.fatal("Invalid transform expression")
		}
		flags := expr[i:]
		expr = ""
		if j := strings.IndexByte(flags, ';'); j >= 0 {
			flags, expr = flags[:j], flags[j+1:]
		}
		re, err := regex.Compile(parts[0], regex.Options{Dialect: regex.Sed, Extended: strings.Contains(flags, "x"), IgnoreCase: strings.Contains(flags, "i")})
		if err != nil {
			t.fatal("Invalid transform expression")
		}
		re.SetTick(t.p.Tick)
		t.transforms = append(t.transforms, tarTransform{re, parts[1], strings.Contains(flags, "g")})
	}
}

func (x tarTransform) apply(s string) string {
	var out []byte
	pos, b := 0, []byte(s)
	for pos <= len(b) {
		loc := x.re.FindSubmatchIndex(b, pos)
		if loc == nil {
			break
		}
		out = append(out, b[pos:loc[0]]...)
		for i := 0; i < len(x.repl); i++ {
			switch c := x.repl[i]; {
			case c == '&':
				out = append(out, b[loc[0]:loc[1]]...)
			case c == '\\' && i+1 < len(x.repl):
				i++
				if g := int(x.repl[i] - '0'); g >= 0 && g <= 9 {
					if 2*g+1 < len(loc) && loc[2*g] >= 0 {
						out = append(out, b[loc[2*g]:loc[2*g+1]]...)
					}
				} else {
					out = append(out, x.repl[i])
				}
			default:
				out = append(out, c)
			}
		}
		end := loc[1]
		if end == loc[0] && end < len(b) {
			out = append(out, b[end])
			end++
		} else if end == loc[0] {
			return string(out)
		}
		pos = end
		if !x.global {
			break
		}
	}
	return string(append(out, b[min(pos, len(b)):]...))
}

// at is the path of a source.
func (s tarSource) at(name string) string {
	if s.dir == "" || strings.HasPrefix(name, "/") {
		return name
	}
	return s.dir + "/" + name
}

// excluded reports whether a pattern matches the name, or a part of it that ends at its end or at a slash.
func (t *tarRun) excluded(name string) bool {
	name = strings.TrimSuffix(name, "/")
	for _, pat := range t.patterns {
		pat = strings.TrimSuffix(pat, "/")
		for from := 0; ; {
			s := name[from:]
			for end := len(s); end > 0; end = strings.LastIndexByte(s[:end], '/') {
				if fnmatch(pat, s[:end], false) {
					return true
				}
			}
			i := strings.IndexByte(s, '/')
			if i < 0 {
				break
			}
			from += i + 1
		}
	}
	return false
}

// safe is the member name without what leads out of the directory it is extracted to.
func (t *tarRun) safe(name, what string) string {
	if t.absolute {
		return name
	}
	cut := 0
	for i := 0; i < len(name); {
		j := strings.IndexByte(name[i:], '/')
		part := name[i:]
		if j >= 0 {
			part = name[i : i+j]
		}
		if part == ".." {
			cut = i + 2
			if j >= 0 {
				cut++
			}
		}
		if j < 0 {
			break
		}
		i += j + 1
	}
	for cut < len(name) && name[cut] == '/' {
		cut++
	}
	if cut == 0 {
		return name
	}
	if prefix := name[:cut]; !t.warned[what+prefix] {
		t.warned[what+prefix] = true
		t.say("Removing leading `%s' from %s", prefix, what)
	}
	if name = name[cut:]; name == "" {
		return "."
	}
	return name
}

// compression settles how the archive is written.
func (t *tarRun) compression() archive.Format {
	if t.packed || !t.byName {
		return t.format
	}
	switch {
	case strings.HasSuffix(t.file, ".gz"), strings.HasSuffix(t.file, ".tgz"), strings.HasSuffix(t.file, ".taz"):
		return archive.Gzip
	case strings.HasSuffix(t.file, ".bz2"), strings.HasSuffix(t.file, ".tbz"), strings.HasSuffix(t.file, ".tbz2"):
		return archive.Bzip2
	case strings.HasSuffix(t.file, ".xz"), strings.HasSuffix(t.file, ".txz"):
		return archive.XZ
	case strings.HasSuffix(t.file, ".zst"), strings.HasSuffix(t.file, ".tzst"):
		return archive.Zstd
	}
	return archive.None
}

const (
	tarBlock  = 512
	tarRecord = 20 * tarBlock
	tarMemory = 8 << 20 // of a compressor or decompressor
)

func (t *tarRun) create() {
	if len(t.sources) == 0 {
		t.status = t.usage("Cowardly refusing to create an empty archive")
		panic(tarStop{})
	}
	var out io.Writer = t.p.Out
	if t.file != "" && t.file != "-" {
		f, err := t.p.Open(t.file, proc.WriteOnly|proc.Create|proc.Trunc, 0o666)
		if err != nil {
			t.fatal("%s: Cannot open: %s", t.file, proc.Strerror(err))
		}
		defer f.Close()
		if st, err := f.Stat(); err == nil && st.Kind == proc.Regular {
			t.self = st.Ino
		}
		out = f
	} else {
		t.listTo = t.p.Err
	}
	t.p.Hold(tarMemory)
	defer t.p.Release(tarMemory)
	file := &checkedWriter{w: out}
	z, err := archive.NewWriter(t.compression(), file, 0)
	if err != nil {
		t.fatal("%s: %v", t.compression(), err)
	}
	t.writeAll(z, 0)
	if err := z.Close(); err != nil && file.err == nil {
		file.err = err
	}
	if file.err != nil {
		t.fatal("%s: Cannot write: %s", t.file, proc.Strerror(file.err))
	}
}

// writeAll writes the sources and the end of the archive, filled to a whole record; before is how long the archive was.
func (t *tarRun) writeAll(out io.Writer, before int64) {
	buf := bufio.NewWriterSize(out, 64<<10)
	n := &checkedWriter{w: buf}
	w := stdtar.NewWriter(n)
	for _, s := range t.sources {
		if st, err := t.p.Stat(cmpOr(s.dir, ".")); s.dir != "" && (err != nil || !st.IsDir()) {
			t.fatal("%s: Cannot open: %s", s.dir, proc.Strerror(cmpErr(err, fserr.ENOTDIR)))
		}
		t.add(w, s, s.name, true)
	}
	if err := w.Close(); err != nil {
		return // the writer below remembers why
	}
	if rest := (before + n.n) % tarRecord; rest != 0 {
		_, _ = n.Write(make([]byte, tarRecord-rest))
	}
	_ = buf.Flush()
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func cmpErr(err, or error) error {
	if err != nil {
		return err
	}
	return or
}

// add writes one file, and what is below it.
func (t *tarRun) add(w *stdtar.Writer, s tarSource, name string, given bool) {
	p := t.p
	p.Tick(1)
	if t.excluded(name) {
		return
	}
	full := s.at(name)
	stat := p.Lstat
	if t.follow {
		stat = p.Stat
	}
	st, err := stat(full)
	if err != nil {
		t.fail("%s: Cannot stat: %s", name, proc.Strerror(err))
		return
	}
	if t.self != 0 && st.Ino == t.self && st.Kind == proc.Regular {
		t.say("%s: file is the archive; not dumped", name)
		return
	}
	member := strings.TrimRight(name, "/")
	if member == "" {
		member = "/"
	}
	if st.IsDir() && member != "/" {
		member += "/"
	}
	member = t.rename(t.safe(member, "member names"))
	if when, ok := t.archived[strings.TrimSuffix(member, "/")]; ok && !st.IsDir() && st.Mtime/1e9 <= when {
		return
	}
	h := &stdtar.Header{
		Name: member, Mode: int64(st.Mode), Uid: int(st.UID), Gid: int(st.GID), Format: stdtar.FormatGNU,
		ModTime: time.Unix(st.Mtime/1e9, 0), Uname: t.user(st.UID), Gname: t.groupName(st.GID),
	}
	if t.owner != nil {
		h.Uname = t.owner.name
		if t.owner.id >= 0 {
			h.Uid = t.owner.id
		}
	}
	if t.group != nil {
		h.Gname = t.group.name
		if t.group.id >= 0 {
			h.Gid = t.group.id
		}
	}
	if t.mode != nil {
		h.Mode = int64(t.mode.apply(st.Mode, st.IsDir(), 0))
	}
	var content io.ReadCloser
	switch st.Kind {
	case proc.Dir:
		h.Typeflag = stdtar.TypeDir
	case proc.Symlink:
		h.Typeflag = stdtar.TypeSymlink
		if h.Linkname, err = p.FS.Readlink(p.Abs(full)); err != nil {
			t.fail("%s: Cannot readlink: %s", name, proc.Strerror(err))
			return
		}
	case proc.FIFO:
		h.Typeflag = stdtar.TypeFifo
	case proc.Char:
		h.Typeflag = stdtar.TypeChar
		h.Devmajor, h.Devminor = int64(st.Rdev>>8), int64(st.Rdev&0xff)
	default:
		h.Typeflag, h.Size = stdtar.TypeReg, st.Size
		if first, ok := t.links[st.Ino]; ok {
			h.Typeflag, h.Size, h.Linkname = stdtar.TypeLink, 0, t.safe(first, "hard link targets")
			break
		}
		if st.Nlink > 1 || t.follow {
			t.links[st.Ino] = member
		}
		if content, err = p.Open(full, proc.ReadOnly, 0); err != nil {
			t.fail("%s: Cannot open: %s", name, proc.Strerror(err))
			return
		}
		defer content.Close()
	}
	if given && h.Typeflag == stdtar.TypeReg && strings.HasPrefix(name, "/") {
		t.safe(name, "hard link targets")
	}
	t.show(h, t.listTo, t.verbose)
	if t.mtime != nil {
		h.ModTime = time.Unix(t.mtime.Unix(), 0)
	}
	if err := w.WriteHeader(h); err != nil {
		t.fail("%s: %v", name, err)
		return
	}
	if content != nil {
		n, err := t.copy(w, io.LimitReader(content, h.Size))
		if err != nil {
			t.fail("%s: Read error at byte %d: %s", name, n, proc.Strerror(err))
		}
		if n < h.Size {
			t.fail("%s: File shrank by %d bytes; padding with zeros", name, h.Size-n)
			_, _ = t.copy(w, io.LimitReader(zeros{}, h.Size-n))
		}
	}
	if st.IsDir() && !t.noRecurse {
		list, err := p.ReadDir(full)
		if err != nil {
			t.fail("%s: Cannot open: %s", name, proc.Strerror(err))
			return
		}
		for _, d := range list {
			t.add(w, s, strings.TrimSuffix(name, "/")+"/"+d.Name, false)
		}
	}
	if t.remove {
		if st.IsDir() {
			err = p.FS.Rmdir(p.Abs(full))
		} else {
			err = p.FS.Unlink(p.Abs(full))
		}
		if err != nil {
			t.fail("%s: Cannot unlink: %s", name, proc.Strerror(err))
		}
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func (t *tarRun) rename(name string) string {
	for _, x := range t.transforms {
		name = x.apply(name)
	}
	return name
}

func (t *tarRun) user(id uint32) string {
	if t.users == nil {
		t.users = t.names("/etc/passwd")
	}
	if n, ok := t.users[id]; ok {
		return n
	}
	if id == t.p.User.UID {
		return t.p.User.Name
	}
	return ""
}

func (t *tarRun) groupName(id uint32) string {
	if t.groups == nil {
		t.groups = t.names("/etc/group")
	}
	if n, ok := t.groups[id]; ok {
		return n
	}
	if id == t.p.User.GID {
		return t.p.User.Group
	}
	return ""
}

// show prints a member as -t and -v do; level 1 is the name, 2 the long form.
func (t *tarRun) show(h *stdtar.Header, w io.Writer, level int) {
	if level == 0 {
		return
	}
	if level == 1 {
		_, _ = fmt.Fprintln(w, tarQuote(h.Name))
		return
	}
	kind, note := "-", ""
	switch h.Typeflag {
	case stdtar.TypeDir:
		kind = "d"
	case stdtar.TypeSymlink:
		kind, note = "l", " -> "+tarQuote(h.Linkname)
	case stdtar.TypeLink:
		kind, note = "h", " link to "+tarQuote(h.Linkname)
	case stdtar.TypeChar:
		kind = "c"
	case stdtar.TypeBlock:
		kind = "b"
	case stdtar.TypeFifo:
		kind = "p"
	}
	owner, group := h.Uname, h.Gname
	if owner == "" || t.numeric {
		owner = strconv.Itoa(h.Uid)
	}
	if group == "" || t.numeric {
		group = strconv.Itoa(h.Gid)
	}
	size := strconv.FormatInt(h.Size, 10)
	if h.Typeflag == stdtar.TypeChar || h.Typeflag == stdtar.TypeBlock {
		size = fmt.Sprintf("%d,%d", h.Devmajor, h.Devminor)
	}
	who := owner + "/" + group
	t.width = max(t.width, len(who)+1+len(size))
	layout := "2006-01-02 15:04"
	if t.fullTime {
		layout = "2006-01-02 15:04:05"
	}
	when := h.ModTime.In(datetime.Zone(t.p.Getenv("TZ"))).Format(layout)
	_, _ = fmt.Fprintf(w, "%s%s %s %*s %s %s%s\n", kind, modeString(uint32(h.Mode)), who, t.width-len(who)-1, size, when, tarQuote(h.Name), note)
}

// tarQuote escapes what would spoil a line.
func tarQuote(s string) string {
	if !strings.ContainsAny(s, "\\\n\t\r\a\b\f\v") {
		return s
	}
	return strings.NewReplacer("\\", `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "\a", `\a`, "\b", `\b`, "\f", `\f`, "\v", `\v`).Replace(s)
}

func (t *tarRun) copy(dst io.Writer, src io.Reader) (int64, error) {
	buf := make([]byte, 64<<10)
	total := int64(0)
	for {
		n, err := src.Read(buf)
		t.p.Tick(1 + n>>10)
		if n > 0 {
			if _, werr := dst.Write(buf[:n]); werr != nil {
				return total, werr
			}
			total += int64(n)
		}
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// input opens the archive for reading, decompressed.
func (t *tarRun) input() (r *stdtar.Reader, done func()) {
	in := t.p.Stdin
	done = func() {}
	if t.file != "" && t.file != "-" {
		f, err := t.p.Open(t.file, proc.ReadOnly, 0)
		if err != nil {
			t.fatal("%s: Cannot open: %s", t.file, proc.Strerror(err))
		}
		if st, err := f.Stat(); err == nil && st.IsDir() {
			t.say("%s: Cannot read: Is a directory", t.file)
			t.say("At beginning of tape, quitting now")
			t.fatal("")
		}
		in = f
		done = func() { _ = f.Close() }
	}
	br := bufio.NewReaderSize(in, 64<<10)
	head, _ := br.Peek(tarBlock)
	format := archive.Detect(head)
	switch {
	case t.packed && format != t.format:
		fmt.Fprintf(t.p.Err, "\n%s: stdin: not in %s format\n", t.format, t.format)
		t.say("Child returned status 1")
		t.fatal("")
	case format != archive.None && !t.packed && (t.file == "" || t.file == "-"):
		t.say("Archive is compressed. Use -%s option", map[archive.Format]string{archive.Gzip: "z", archive.Bzip2: "j", archive.XZ: "J", archive.Zstd: "-zstd"}[format])
		t.fatal("")
	case format == archive.None && len(head) < tarBlock:
		t.say("This does not look like a tar archive")
		t.say("Exiting with failure status due to previous errors")
		t.status = 2
		panic(tarStop{})
	}
	t.p.Hold(tarMemory)
	z, err := archive.NewReader(format, br)
	if err != nil {
		t.fatal("%s: %v", format, err)
	}
	closeFile := done
	t.in = &countingReader{r: z}
	return stdtar.NewReader(t.in), func() {
		_ = z.Close()
		t.p.Release(tarMemory)
		closeFile()
	}
}

// wanted reports whether a member was asked for.
func (t *tarRun) wanted(name string) (tarSource, bool) {
	if len(t.named) == 0 {
		return tarSource{dir: t.top}, true
	}
	name = strings.TrimSuffix(name, "/")
	for i, s := range t.named {
		want := strings.TrimSuffix(s.name, "/")
		if want == name || strings.HasPrefix(name, want+"/") || t.wildcards && t.globbed(want, name) {
			t.hit[i] = true
			return s, true
		}
	}
	return tarSource{}, false
}

// globbed matches a member, or a directory above it.
func (t *tarRun) globbed(pat, name string) bool {
	for end := len(name); end > 0; end = strings.LastIndexByte(name[:end], '/') {
		if fnmatch(pat, name[:end], false) {
			return true
		}
	}
	return false
}

// read is -t and -x.
func (t *tarRun) read() {
	r, done := t.input()
	defer done()
	if t.op == "x" {
		dirs := []string{t.top}
		for _, s := range t.named {
			dirs = append(dirs, s.dir)
		}
		for _, d := range slices.Compact(dirs) {
			if d == "" {
				continue
			}
			if st, err := t.p.Stat(d); err != nil || !st.IsDir() {
				t.fatal("%s: Cannot open: %s", d, proc.Strerror(cmpErr(err, fserr.ENOTDIR)))
			}
		}
	}
	if t.stdout {
		t.listTo = t.p.Err
	}
	first := true
	for {
		t.p.Tick(1)
		h, err := r.Next()
		if errors.Is(err, io.EOF) && t.in.n%tarBlock != 0 {
			err = io.ErrUnexpectedEOF
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.corrupt(err, first)
			break
		}
		first = false
		if h.Typeflag == stdtar.TypeXGlobalHeader {
			continue
		}
		s, ok := t.wanted(h.Name)
		if !ok || t.excluded(h.Name) {
			continue
		}
		if t.op == "t" {
			t.show(h, t.listTo, t.verbose+1)
			continue
		}
		t.extract(r, h, s)
	}
	for _, f := range slices.Backward(t.later) {
		f()
	}
	for i, s := range t.named {
		if !t.hit[i] {
			t.fail("%s: Not found in archive", s.name)
		}
	}
}

func (t *tarRun) corrupt(err error, first bool) {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		t.say("Unexpected EOF in archive")
		t.fatal("")
	case first:
		t.fail("This does not look like a tar archive")
	default:
		t.fail("Skipping to next header")
	}
}

func (t *tarRun) extract(r io.Reader, h *stdtar.Header, s tarSource) {
	p := t.p
	member := h.Name
	if t.strip > 0 {
		parts := strings.Split(strings.TrimSuffix(member, "/"), "/")
		if len(parts) <= t.strip {
			return
		}
		member = strings.Join(parts[t.strip:], "/")
	}
	member = t.rename(member)
	if !t.absolute && slices.Contains(strings.Split(member, "/"), "..") {
		t.fail("%s: Member name contains '..'", h.Name)
		return
	}
	member = t.safe(member, "member names")
	t.show(h, t.listTo, t.verbose)
	if t.stdout {
		if h.Typeflag == stdtar.TypeReg {
			if _, err := t.copy(p.Out, r); err != nil {
				t.corrupt(err, false)
			}
		}
		return
	}
	name := strings.TrimSuffix(member, "/")
	full := s.at(name)
	abs := p.Abs(full)
	mode := uint32(h.Mode) & 0o7777
	if !t.perms && p.User.UID != 0 || t.noPerms {
		mode &= 0o777 &^ p.Umask
	}
	old, oldErr := p.Lstat(full)
	if oldErr == nil && h.Typeflag != stdtar.TypeDir {
		switch {
		case t.skip:
			return
		case t.newer && old.Mtime >= h.ModTime.UnixNano():
			t.say("Current %s is newer or same age", quote(name))
			return
		case t.keep:
			switch h.Typeflag {
			case stdtar.TypeSymlink:
				t.fail("%s: Cannot create symlink to %s: File exists", name, quote(h.Linkname))
			case stdtar.TypeLink:
				if st, err := p.Lstat(s.at(h.Linkname)); err != nil || st.Ino != old.Ino {
					t.fail("%s: Cannot hard link to %s: File exists", name, quote(h.Linkname))
				}
			default:
				t.fail("%s: Cannot open: File exists", name)
			}
			return
		case old.IsDir():
			if err := p.FS.Rmdir(abs); err != nil {
				t.fail("%s: Cannot open: %s", name, proc.Strerror(fserr.EISDIR))
				return
			}
		case !(t.overwrite && h.Typeflag == stdtar.TypeReg):
			if h.Typeflag == stdtar.TypeLink {
				if st, err := p.Lstat(s.at(t.safe(h.Linkname, "hard link targets"))); err == nil && st.Ino == old.Ino {
					return
				}
			}
			_ = p.FS.Unlink(abs)
		}
	}
	place := func(f func() error) bool {
		err := f()
		if errors.Is(err, fserr.ENOENT) {
			t.parents(s, name)
			err = f()
		}
		if err != nil {
			t.fail("%s: Cannot open: %s", name, proc.Strerror(err))
		}
		return err == nil
	}
	switch h.Typeflag {
	case stdtar.TypeDir:
		if oldErr == nil && !old.IsDir() {
			if st, err := p.Stat(full); err != nil || !st.IsDir() || t.keep {
				_ = p.FS.Unlink(abs)
				oldErr = fserr.ENOENT
			}
		}
		if oldErr != nil {
			err := p.FS.Mkdir(abs, mode|0o700)
			if errors.Is(err, fserr.ENOENT) {
				t.parents(s, name)
				err = p.FS.Mkdir(abs, mode|0o700)
			}
			if err != nil && !errors.Is(err, fserr.EEXIST) {
				t.fail("%s: Cannot mkdir: %s", name, proc.Strerror(err))
				return
			}
		}
		when := h.ModTime
		t.later = append(t.later, func() {
			_ = p.FS.Chmod(abs, mode)
			if !t.touch {
				_ = p.FS.Utimes(abs, when.UnixNano(), true)
			}
		})
		return
	case stdtar.TypeSymlink:
		if place(func() error { return p.FS.Symlink(h.Linkname, abs) }) && !t.touch {
			_ = p.FS.Utimes(abs, h.ModTime.UnixNano(), false)
		}
		return
	case stdtar.TypeLink:
		target := t.safe(h.Linkname, "hard link targets")
		if t.strip > 0 {
			if parts := strings.Split(target, "/"); len(parts) > t.strip {
				target = strings.Join(parts[t.strip:], "/")
			}
		}
		target = p.Abs(s.at(t.rename(target)))
		err := p.FS.Link(target, abs)
		if errors.Is(err, fserr.ENOENT) {
			t.parents(s, name)
			err = p.FS.Link(target, abs)
		}
		if err != nil {
			t.fail("%s: Cannot hard link to %s: %s", name, quote(h.Linkname), proc.Strerror(err))
		}
		return
	case stdtar.TypeFifo:
		place(func() error { return p.FS.Mknod(abs, proc.FIFO, mode, 0) })
		return
	case stdtar.TypeChar, stdtar.TypeBlock:
		place(func() error { return p.FS.Mknod(abs, proc.Char, mode, uint32(h.Devmajor<<8|h.Devminor)) })
		return
	case stdtar.TypeReg, stdtar.TypeGNUSparse, stdtar.TypeCont:
	default:
		t.fail("%s: Unknown file type '%c', extracted as normal file", name, h.Typeflag)
	}
	var f proc.File
	if !place(func() (err error) {
		f, err = p.Open(full, proc.WriteOnly|proc.Create|proc.Trunc, 0o600)
		return err
	}) {
		return
	}
	w := &checkedWriter{w: f}
	_, err := t.copy(w, r)
	_ = f.Close()
	_ = p.FS.Chmod(abs, mode)
	if p.User.UID == 0 && !t.noOwner || t.sameOwner {
		_ = p.FS.Chown(abs, h.Uid, h.Gid, false)
	}
	if !t.touch {
		_ = p.FS.Utimes(abs, h.ModTime.UnixNano(), false)
	}
	switch {
	case w.err != nil:
		t.fail("%s: Cannot write: %s", name, proc.Strerror(w.err))
	case err != nil:
		t.corrupt(err, false)
	}
}

// parents makes the directories above a member.
func (t *tarRun) parents(s tarSource, name string) {
	for i := range len(name) {
		if name[i] == '/' && i > 0 {
			_ = t.p.FS.Mkdir(t.p.Abs(s.at(name[:i])), 0o777&^t.p.Umask)
		}
	}
}

// append is -r and -u: the new members go where the old end of the archive was.
func (t *tarRun) append() {
	if t.file == "" || t.file == "-" {
		t.fatal("Options '-Aru' are incompatible with '-f -'")
	}
	if t.packed {
		t.status = t.usage("Cannot update compressed archives")
		panic(tarStop{})
	}
	f, err := t.p.Open(t.file, proc.ReadWrite|proc.Create, 0o666)
	if err != nil {
		t.fatal("%s: Cannot open: %s", t.file, proc.Strerror(err))
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil {
		t.self = st.Ino
	}
	end := t.scan(f)
	if err := f.Truncate(end); err != nil {
		t.fatal("%s: Cannot truncate: %s", t.file, proc.Strerror(err))
	}
	if _, err := f.Seek(end, io.SeekStart); err != nil {
		t.fatal("%s: Cannot seek: %s", t.file, proc.Strerror(err))
	}
	w := &checkedWriter{w: f}
	t.writeAll(w, end)
	if w.err != nil {
		t.fatal("%s: Cannot write: %s", t.file, proc.Strerror(w.err))
	}
}

// scan finds where the members of an archive end, and for -u when each was changed.
func (t *tarRun) scan(f proc.File) int64 {
	st, err := f.Stat()
	if err != nil || st.Size == 0 {
		return 0
	}
	pos := &countingReader{r: f}
	r := stdtar.NewReader(pos)
	end := int64(0)
	if t.op == "u" {
		t.archived = map[string]int64{}
	}
	for {
		t.p.Tick(1)
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return end
		}
		if err != nil {
			t.fail("This does not look like a tar archive")
			t.fatal("")
		}
		if t.op == "u" {
			t.archived[strings.TrimSuffix(h.Name, "/")] = h.ModTime.Unix()
		}
		if _, err := t.copy(io.Discard, r); err != nil {
			t.corrupt(err, false)
		}
		end = (pos.n + tarBlock - 1) / tarBlock * tarBlock
	}
}

// delete is --delete: the archive is written again without the members.
func (t *tarRun) delete() {
	t.named = t.sources
	r, done := t.input()
	var out bytes.Buffer
	held := 0
	defer func() { t.p.Release(held) }()
	w := stdtar.NewWriter(&out)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			done()
			t.corrupt(err, false)
			return
		}
		if _, ok := t.wanted(h.Name); ok {
			continue
		}
		t.p.Hold(int(h.Size) + 1024)
		held += int(h.Size) + 1024
		h.Format = stdtar.FormatGNU
		if err := w.WriteHeader(h); err != nil {
			t.fail("%s: %v", h.Name, err)
			continue
		}
		if _, err := t.copy(w, r); err != nil {
			t.corrupt(err, false)
		}
	}
	done()
	_ = w.Close()
	if rest := out.Len() % tarRecord; rest != 0 {
		out.Write(make([]byte, tarRecord-rest))
	}
	for i, s := range t.named {
		if !t.hit[i] {
			t.fail("%s: Not found in archive", s.name)
		}
	}
	f, err := t.p.Open(t.file, proc.WriteOnly|proc.Trunc, 0)
	if err == nil {
		_, err = f.Write(out.Bytes())
		_ = f.Close()
	}
	if err != nil {
		t.fatal("%s: Cannot write: %s", t.file, proc.Strerror(err))
	}
}
