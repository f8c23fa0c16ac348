package grep

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/shell/text/ignore"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var fdSpec = getopt.New("HIuUsigFapLld:t:e:S:o:x:X:E:c:j:1q0hV",
	"hidden=H no-hidden no-ignore=I ignore no-ignore-vcs ignore-vcs no-ignore-parent no-global-ignore-file unrestricted=u case-sensitive=s ignore-case=i glob=g regex fixed-strings=F "+
		"absolute-path=a relative-path list-details=l follow=L no-follow full-path=p print0=0 max-depth:=d min-depth: exact-depth: prune type:=t extension:=e size:=S changed-within: changed-before: newer: older: change-newer-than:=changed-within "+
		"change-older-than:=changed-before owner:=o exec:=x exec-batch:=X batch-size: exclude:=E ignore-file: color:=c threads:=j max-results: quiet=q show-errors base-directory: path-separator: search-path: strip-cwd-prefix one-file-system "+
		"mount=one-file-system xdev=one-file-system no-require-git and: has-results=q version=V help=h").
	WithStatus(2).WithVersion("8.6.0").WithUsage("[OPTIONS] [pattern] [path]...",
	"Find files and directories whose names match a regular expression.\n"+
		"What .gitignore, .ignore and .fdignore name, and hidden files, are left out.")

type fdRun struct {
	p            *proc.Process
	ctx          context.Context
	walk         rgWalk
	re           *regexp.Regexp
	fullPath     bool
	absolute     bool
	types        string
	extensions   []string
	minDepth     int
	prune        bool
	sizes        []fdSize
	after        int64
	before       int64
	uid, gid     int
	notUID       bool
	separator    string
	end          string
	limit        int
	found        int
	quiet        bool
	details      bool
	color        bool
	exec, batch  []string
	matches      []string
	stripPrefix  bool
	status       int
	filterOwners bool
}

type fdSize struct {
	sign byte
	n    int64
}

func (f *fdRun) fail(format string, args ...any) int {
	f.p.Out.Flush()
	fmt.Fprintf(f.p.Err, "[fd error]: "+format+"\n", args...)
	return 1
}

func fd(ctx context.Context, p *proc.Process) int {
	f := &fdRun{p: p, ctx: ctx, end: "\n", separator: "/", uid: -1, gid: -1}
	f.walk.init(p)
	f.walk.ownIgnore = ".fdignore"
	argv := p.Args[1:]
	// --exec takes all that follows, up to a semicolon.
	for i := 0; i < len(argv); i++ {
		if argv[i] == "--" {
			break
		}
		name, _, _ := strings.Cut(argv[i], "=")
		if name != "-x" && name != "--exec" && name != "-X" && name != "--exec-batch" {
			continue
		}
		stop := i + 1
		for stop < len(argv) && argv[stop] != ";" {
			stop++
		}
		words := argv[i+1 : stop]
		if len(words) == 0 {
			long := "--exec"
			if name == "-X" || name == "--exec-batch" {
				long = "--exec-batch"
			}
			p.Err.WriteString("error: The argument '" + long +
				" <cmd>...' requires a value but none was supplied\n\nFor more information try '--help'\n")
			return 2
		}
		if name == "-x" || name == "--exec" {
			f.exec = words
		} else {
			f.batch = words
		}
		argv = append(slices.Clone(argv[:i]), argv[min(stop+1, len(argv)):]...)
		i--
	}
	opts, args, err := fdSpec.Scan(argv)
	if err != nil {
		text := err.Error()
		if i := strings.Index(text, "option '"); i >= 0 && strings.HasPrefix(text, "unrecognized") {
			text = "Found argument " + text[i+7:] + " which wasn't expected, or isn't valid in this context"
		} else if c, ok := strings.CutPrefix(text, "invalid option -- '"); ok {
			text = "Found argument '-" + c + " which wasn't expected, or isn't valid in this context"
		}
		p.Err.WriteString("error: " + text + "\n\nFor more information try '--help'\n")
		return 2
	}
	glob, fixed, sensitive, fold, hidden, noIgnore, unrestricted := false, false, false, false, false, false, 0
	var roots []string
	number := func(o getopt.Option) int {
		n, err := strconv.Atoi(o.Value)
		if err != nil || n < 0 {
			fmt.Fprintf(p.Err,
				"error: Invalid value \"%s\" for '--%s': invalid digit found in string\n\nFor more information try '--help'\n",
				o.Value, o.Key)
			p.Exit(2)
		}
		return n
	}
	when := func(s string) int64 {
		if m := fdAge.FindStringSubmatch(s); m != nil {
			n, _ := strconv.Atoi(m[1])
			unit := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour,
				'w': 7 * 24 * time.Hour, 'y': 365 * 24 * time.Hour}[m[2][0]]
			if strings.HasPrefix(m[2], "mo") || m[2] == "M" {
				unit = 30 * 24 * time.Hour
			}
			return p.Now().Add(-time.Duration(n) * unit).UnixNano()
		}
		t, err := datetime.Parse(s, program.LocalNow(p))
		if err != nil {
			p.Exit(f.fail("'%s' is not a valid date or duration. See 'fd --help'.", s))
		}
		return t.UnixNano()
	}
	for _, o := range opts {
		switch o.Key {
		case "H":
			hidden = true
		case "no-hidden":
			hidden = false
		case "I":
			noIgnore = true
		case "ignore":
			noIgnore = false
		case "no-ignore-vcs":
			f.walk.noVCS = true
		case "no-ignore-parent":
			f.walk.noParent = true
		case "no-require-git":
			f.walk.noRequireGit = true
		case "u":
			unrestricted++
		case "s":
			sensitive, fold = true, false
		case "i":
			fold, sensitive = true, false
		case "g":
			glob = true
		case "regex":
			glob, fixed = false, false
		case "F":
			fixed = true
		case "a":
			f.absolute = true
		case "relative-path":
			f.absolute = false
		case "l":
			f.details = true
		case "L":
			f.walk.follow = true
		case "no-follow":
			f.walk.follow = false
		case "p":
			f.fullPath = true
		case "0":
			f.end = "\x00"
		case "d":
			f.walk.maxDepth = number(o)
		case "min-depth":
			f.minDepth = number(o)
		case "exact-depth":
			f.minDepth = number(o)
			f.walk.maxDepth = f.minDepth
		case "prune":
			f.prune = true
		case "t":
			kinds := map[string]string{"f": "f", "file": "f", "d": "d", "directory": "d", "l": "l", "symlink": "l", "x": "x",
				"executable": "x", "e": "e", "empty": "e", "s": "s", "socket": "s", "p": "p", "pipe": "p"}
			if kinds[o.Value] == "" {
				p.Err.WriteString("error: '" + o.Value +
					"' isn't a valid value for '--type <filetype>'\n  [possible values: file, directory, symlink, executable, empty, socket, pipe]\n\nFor more information try '--help'\n")
				return 2
			}
			f.types += kinds[o.Value]
		case "e":
			f.extensions = append(f.extensions, "."+strings.ToLower(strings.TrimPrefix(o.Value, ".")))
		case "S":
			m := fdSizes.FindStringSubmatch(strings.ToLower(o.Value))
			if m == nil {
				fmt.Fprintf(p.Err,
					"error: Invalid value '%[1]s' for '--size <size>': '%[1]s' is not a valid size constraint. See 'fd --help'.\n\nFor more information try '--help'\n", o.Value)
				return 2
			}
			n, _ := strconv.ParseInt(m[2], 10, 64)
			for i, unit := range []string{"k", "m", "g", "t"} {
				if strings.HasPrefix(m[3], unit) {
					base := int64(1000)
					if strings.HasSuffix(m[3], "i") || strings.HasSuffix(m[3], "ib") {
						base = 1024
					}
					for range i + 1 {
						n *= base
					}
				}
			}
			sign := byte('=')
			if m[1] != "" {
				sign = m[1][0]
			}
			f.sizes = append(f.sizes, fdSize{sign, n})
		case "changed-within", "newer":
			f.after = when(o.Value)
		case "changed-before", "older":
			f.before = when(o.Value)
		case "o":
			user, group, _ := strings.Cut(o.Value, ":")
			user, f.notUID = strings.CutPrefix(user, "!")
			f.filterOwners = true
			if user != "" {
				u, ok := program.UserByName(p, user)
				if n, number := program.AccountNumber(user); !ok && number {
					u, ok = program.Account{UID: n}, true
				}
				if !ok {
					return f.fail("'%s' is not a recognized user name", user)
				}
				f.uid = int(u.UID)
			}
			if group != "" {
				gid, ok := program.GroupByName(p, group)
				if n, number := program.AccountNumber(group); !ok && number {
					gid, ok = n, true
				}
				if !ok {
					return f.fail("'%s' is not a recognized group name", group)
				}
				f.gid = int(gid)
			}
		case "E":
			if err := f.walk.globs.Add("!"+o.Value, false); err != nil {
				return f.fail("Malformed exclude pattern: %v", err)
			}
		case "ignore-file":
			if !f.walk.ignoreFile(o.Value) {
				return f.fail("Malformed pattern in custom ignore file. %s.", proc.Strerror(f.walk.err))
			}
		case "c":
			f.color = o.Value == "always"
		case "1":
			f.limit = 1
		case "max-results":
			f.limit = number(o)
		case "q":
			f.quiet = true
		case "base-directory":
			if !program.IsDir(p, o.Value) {
				return f.fail("Could not set '%s' as the current working directory", o.Value)
			}
			p.Dir, _ = p.FS.Realpath(p.Abs(o.Value))
		case "path-separator":
			f.separator = o.Value
		case "search-path":
			roots = append(roots, o.Value)
		case "strip-cwd-prefix":
			f.stripPrefix = true
		case "V", "version":
			p.Out.WriteString(p.Name() + " 8.6.0\n")
			return 0
		case "h", "help":
			fdSpec.Help(p)
			return 0
		}
	}
	f.walk.hidden, f.walk.noIgnore = hidden || unrestricted > 0, noIgnore || unrestricted > 0
	pattern := ""
	if len(args) > 0 {
		pattern = args[0]
		roots = append(roots, args[1:]...)
	}
	if strings.Contains(pattern, "/") && !f.fullPath && program.IsDir(p, pattern) {
		return f.fail("The search pattern '%[1]s' contains a path-separation character ('/') and will not lead to any search results.\n\nIf you want to search for all files inside the '%[1]s' directory, use a match-all pattern:\n\n  fd . '%[1]s'\n\n"+
			"Instead, if you want your pattern to match the full file path, use:\n\n  fd --full-path '%[1]s'", pattern)
	}
	expr := pattern
	switch {
	case fixed:
		expr = regexp.QuoteMeta(pattern)
	case glob && pattern != "":
		re, err := ignore.Compile(pattern, false)
		if err != nil {
			return f.fail("error parsing glob '%s': %v", pattern, err)
		}
		expr = re.String()
	}
	if !sensitive && !fold {
		fold = !strings.ContainsFunc(pattern, unicode.IsUpper)
	}
	if fold {
		expr = "(?i)" + expr
	}
	if f.re, err = regexp.Compile(expr); err != nil {
		why := err.Error()
		if strings.Contains(why, "missing closing ]") {
			why = "unclosed character class"
		} else if strings.Contains(why, "missing closing )") {
			why = "unclosed group"
		}
		f.fail("regex parse error:\n    %s\n    ^\nerror: %s\n\nNote: You can use the '--fixed-strings' option to search for a literal string instead of a regular expression. Alternatively, you can also use the '--glob' option to match on a glob pattern.", pattern, why)
		return 1
	}
	bare := len(roots) == 0
	if bare {
		roots = []string{"."}
	}
	valid := 0
	for _, root := range roots {
		if !program.IsDir(p, root) {
			f.fail("Search path '%s' is not a directory.", root)
			continue
		}
		valid++
		abs, err := p.FS.Realpath(p.Abs(root))
		if err != nil {
			f.fail("%s: %s", root, proc.Strerror(err))
			continue
		}
		prefix := program.JoinPath(root, "")
		if bare {
			prefix = ""
			if (f.end == "\x00" || f.exec != nil || f.batch != nil) && !f.stripPrefix {
				prefix = "./"
			}
		}
		if f.absolute {
			prefix = program.JoinPath(abs, "")
		}
		f.directory(abs, prefix, f.walk.above(abs), 1, nil)
		if f.done() {
			break
		}
	}
	switch {
	case valid == 0:
		return f.fail("No valid search paths given.")
	case f.quiet:
		if f.found > 0 {
			return 0
		}
		return 1
	case f.details && len(f.matches) > 0:
		f.batch = []string{"ls", "-l", "-h", "-d"}
		if f.color {
			f.batch = append(f.batch, "--color=always")
		}
	}
	if f.batch != nil && len(f.matches) > 0 {
		f.runBatch()
	}
	return f.status
}

var (
	fdAge   = regexp.MustCompile(`^([0-9]+) ?(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?|M|months?|y|years?)$`)
	fdSizes = regexp.MustCompile(`^([+-]?)([0-9]+)(b|[kmgt](?:i?b?)?)?$`)
)

func (f *fdRun) done() bool {
	return f.quiet && f.found > 0 || f.limit > 0 && f.found >= f.limit
}

func (f *fdRun) directory(abs, prefix string, above *rgRules, depth int, parents []uint64) {
	if f.walk.maxDepth >= 0 && depth > f.walk.maxDepth {
		return
	}
	if f.walk.follow {
		st, err := f.p.FS.Stat(abs)
		if err != nil || slices.Contains(parents, st.Ino) {
			return // a loop, or gone
		}
		parents = append(parents[:len(parents):len(parents)], st.Ino)
	}
	entries, err := f.p.FS.ReadDir(abs)
	if err != nil {
		f.fail("%s: %s", strings.TrimSuffix(prefix, "/"), proc.Strerror(err))
		f.status = 1
		return
	}
	rules := f.walk.rules(abs, above)
	for _, e := range entries {
		f.p.Tick(1)
		full := path.Join(abs, e.Name)
		st, err := f.p.FS.Lstat(full)
		if err != nil {
			continue
		}
		if st.Kind == vfs.Symlink && f.walk.follow {
			if target, err := f.p.FS.Stat(full); err == nil {
				st = target
			}
		}
		if f.walk.skip(rules, full, e.Name, st.IsDir()) {
			continue
		}
		matched := depth >= f.minDepth && f.wants(full, e.Name, st)
		if matched {
			f.match(prefix+e.Name, st)
			if f.done() {
				return
			}
		}
		if st.IsDir() && (!matched || !f.prune) {
			f.directory(full, prefix+e.Name+"/", rules, depth+1, parents)
			if f.done() {
				return
			}
		}
	}
}

func (f *fdRun) wants(full, name string, st vfs.Stat) bool {
	text := name
	if f.fullPath {
		text = full
	}
	if !f.re.MatchString(text) {
		return false
	}
	if f.extensions != nil {
		lower := strings.ToLower(name)
		if !slices.ContainsFunc(f.extensions, func(e string) bool {
			return strings.HasSuffix(lower, e) && len(lower) > len(e)
		}) {
			return false
		}
	}
	if f.types != "" && !f.typed(full, st) {
		return false
	}
	for _, s := range f.sizes {
		if st.Kind != vfs.Regular || s.sign == '+' && st.Size < s.n || s.sign == '-' && st.Size > s.n ||
			s.sign == '=' && st.Size != s.n {
			return false
		}
	}
	if f.after != 0 && st.Mtime <= f.after || f.before != 0 && st.Mtime >= f.before {
		return false
	}
	if f.filterOwners {
		if f.uid >= 0 && (int(st.UID) == f.uid) == f.notUID || f.gid >= 0 && int(st.GID) != f.gid {
			return false
		}
	}
	return true
}

func (f *fdRun) typed(full string, st vfs.Stat) bool {
	empty := func() bool {
		if st.IsDir() {
			list, err := f.p.FS.ReadDir(full)
			return err == nil && len(list) == 0
		}
		return st.Kind == vfs.Regular && st.Size == 0
	}
	if strings.Contains(f.types, "e") && !empty() {
		return false
	}
	if kinds := strings.ReplaceAll(f.types, "e", ""); kinds == "" {
		return true
	}
	for _, t := range f.types {
		switch {
		case t == 'f' && st.Kind == vfs.Regular, t == 'd' && st.IsDir(), t == 'l' && st.Kind == vfs.Symlink,
			t == 'p' && st.Kind == vfs.FIFO,
			t == 'x' && st.Kind == vfs.Regular && st.Mode&0o111 != 0:
			return true
		}
	}
	return false
}

func (f *fdRun) match(name string, st vfs.Stat) {
	f.found++
	if f.quiet {
		return
	}
	if f.exec != nil {
		f.run(name)
		return
	}
	if f.batch != nil || f.details {
		f.p.Hold(len(name) + 16)
		f.matches = append(f.matches, name)
		return
	}
	if f.separator != "/" {
		name = strings.ReplaceAll(name, "/", f.separator)
	}
	if st.IsDir() {
		name += f.separator
	}
	if f.color {
		dir, base := "", name
		if i := strings.LastIndex(strings.TrimSuffix(name, "/"), "/"); i >= 0 {
			dir, base = name[:i+1], name[i+1:]
		}
		if dir != "" {
			dir = "\x1b[1;34m" + dir + "\x1b[0m"
		}
		switch {
		case st.IsDir():
			base = "\x1b[1;34m" + base + "\x1b[0m"
		case st.Kind == vfs.Symlink:
			base = "\x1b[1;36m" + base + "\x1b[0m"
		case st.Mode&0o111 != 0:
			base = "\x1b[1;32m" + base + "\x1b[0m"
		}
		name = dir + base
	}
	f.p.Out.WriteString(name + f.end)
}

// fill puts a match in the place of {} and its like.
func fdFill(word, name string) (string, bool) {
	if !strings.Contains(word, "{") {
		return word, false
	}
	dir := path.Dir(name)
	if strings.HasPrefix(name, "./") && dir != "." {
		dir = "./" + dir
	}
	stem := func(s string) string {
		if i := strings.LastIndexByte(s, '.'); i > strings.LastIndexByte(s, '/')+1 {
			return s[:i]
		}
		return s
	}
	out := strings.NewReplacer("{}", name, "{/}", path.Base(name), "{//}", dir, "{.}",
		stem(strings.TrimPrefix(name, "./")), "{/.}", stem(path.Base(name))).Replace(word)
	return out, out != word
}

func (f *fdRun) run(name string) {
	var argv []string
	used := false
	for _, w := range f.exec {
		s, ok := fdFill(w, name)
		argv, used = append(argv, s), used || ok
	}
	if !used {
		argv = append(argv, name)
	}
	f.spawn(argv)
}

func (f *fdRun) runBatch() {
	var argv []string
	used := false
	for _, w := range f.batch {
		if _, ok := fdFill(w, "x"); !ok {
			argv = append(argv, w)
			continue
		}
		used = true
		for _, m := range f.matches {
			s, _ := fdFill(w, m)
			argv = append(argv, s)
		}
	}
	if !used {
		argv = append(argv, f.matches...)
	}
	f.spawn(argv)
}

func (f *fdRun) spawn(argv []string) {
	child := f.p.Child(argv...)
	if _, err := child.LookPath(argv[0]); err != nil {
		f.fail("Command not found: %s", argv[0])
		f.status = 1
		return
	}
	if f.p.Exec(f.ctx, child) != 0 {
		f.status = 1
	}
}
