package grep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/encoding"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var rgSpec = getopt.New("A:B:bsC:cE:e:Ff:g:HhIij:LlM:m:NnoPpqr:SUT:t:uvVwxz0a.",
	"after-context:=A before-context:=B context:=C byte-offset=b no-byte-offset case-sensitive=s count=c count-matches encoding:=E no-encoding "+
		"fixed-strings=F no-fixed-strings file:=f glob:=g with-filename=H no-filename=I ignore-case=i threads:=j follow=L no-follow "+
		"files-with-matches=l files-without-match max-columns:=M max-columns-preview no-max-columns-preview max-count:=m no-line-number=N "+
		"line-number=n only-matching=o pcre2=P no-pcre2 pretty=p quiet=q replace:=r smart-case=S multiline=U no-multiline multiline-dotall "+
		"no-multiline-dotall type-not:=T type:=t unrestricted=u invert-match=v no-invert-match word-regexp=w line-regexp=x search-zip=z no-search-zip null=0 "+
		"text=a no-text hidden=. no-hidden regexp:=e column no-column color: colors: context-separator: no-context-separator "+
		"field-context-separator: field-match-separator: files heading no-heading iglob: glob-case-insensitive no-glob-case-insensitive "+
		"ignore-file: ignore-file-case-insensitive no-ignore-file-case-insensitive include-zero no-include-zero json no-json line-buffered no-line-buffered block-buffered "+
		"no-block-buffered max-depth: maxdepth:=max-depth max-filesize: mmap no-mmap no-config no-ignore ignore no-ignore-dot ignore-dot "+
		"no-ignore-exclude ignore-exclude no-ignore-files ignore-files no-ignore-global ignore-global no-ignore-messages ignore-messages "+
		"no-ignore-parent ignore-parent no-ignore-vcs ignore-vcs no-messages messages no-require-git require-git no-pcre2-unicode pcre2-unicode "+
		"no-unicode unicode null-data one-file-system no-one-file-system passthru passthrough=passthru path-separator: pcre2-version regex-size-limit: "+
		"dfa-size-limit: engine: auto-hybrid-regex no-auto-hybrid-regex pre: no-pre pre-glob: sort: sortr: sort-files no-sort-files stats no-stats trim no-trim type-add: "+
		"type-clear: type-list vimgrep binary no-binary crlf no-crlf debug trace stop-on-nonmatch help=h version=V").
	WithStatus(2).
	WithUsage("[OPTIONS] PATTERN [PATH ...]",
		"Search the files below the paths (the current directory unless given) for a regular expression.\n"+
			"What .gitignore, .ignore and .rgignore name, hidden files and binary files are left out.").
	WithVersion("(compatible with ripgrep) 13.0.0")

const rgVersion = "ripgrep 13.0.0\nThis is pgbox's own implementation, compatible with that version.\n"

const rgUsage = `
USAGE:
    
    rg [OPTIONS] PATTERN [PATH ...]
    rg [OPTIONS] -e PATTERN ... [PATH ...]
    rg [OPTIONS] -f PATTERNFILE ... [PATH ...]
    rg [OPTIONS] --files [PATH ...]
    rg [OPTIONS] --type-list
    command | rg [OPTIONS] PATTERN
    rg [OPTIONS] --help
    rg [OPTIONS] --version

For more information try --help

`

// rgRun is one run of rg.
type rgRun struct {
	p   *proc.Process
	out *rgOutput
	re  *regex.Regexp
	// What to search for.
	names      []string // of the groups
	ignoreCase bool
	smartCase  bool
	multiline  bool
	dotAll     bool
	perl       bool
	fixed      bool
	word, line bool
	invert     bool
	maxCount   int
	// What to print.
	// 0 lines, 'c' counts of lines, 'm' counts of matches, 'l', 'L' (without match), 'f' (--files), 'j' JSON
	mode        byte
	quiet       bool
	zero        bool // --include-zero
	only        bool
	number      bool
	column      bool
	offset      bool
	vimgrep     bool
	trim        bool
	passthru    bool
	heading     bool
	color       bool
	nul         bool
	stats       bool
	noMessages  bool
	paths       bool
	before      int
	after       int
	replace     *string
	maxColumns  int
	preview     bool
	matchSep    string
	contextSep  string
	between     []byte
	noBetween   bool
	delim       byte
	text        bool              // -a
	unzip       bool              // -z
	raw         bool              // -E none
	decode      encoding.Encoding // -E, nil: UTF-8, or what a byte order mark says
	ascii       bool              // --no-unicode
	showBinary  bool              // --binary
	walk        rgWalk
	failed      bool
	matchedAny  bool
	firstOutput bool
	total       rgStats
	began       time.Time

	// Of the file that is searched.
	name     string
	shown    bool // its heading or the first line was printed
	printed  int  // end of the last line printed, -1 before any
	lineNo   int64
	counted  int
	selected int
	matches  int
	json     *rgJSON
}

type rgStats struct {
	matches, lines, matched, searched int
	bytes                             int64
}

func (g *rgRun) usage(format string, args ...any) int {
	g.p.Out.Flush()
	fmt.Fprintf(g.p.Err, "error: "+format+"\n"+rgUsage, args...)
	return 2
}

// fail says why there is nothing to do.
func (g *rgRun) fail(format string, args ...any) {
	g.p.Out.Flush()
	fmt.Fprintf(g.p.Err, format+"\n", args...)
	g.p.Exit(2)
}

func (g *rgRun) complain(name string, err error) {
	g.failed = true
	if g.noMessages {
		return
	}
	g.p.Out.Flush()
	fmt.Fprintf(g.p.Err, "%s: %s\n", name, rgError(err))
}

func rgMain(_ context.Context, p *proc.Process) int {
	g := &rgRun{p: p, out: &rgOutput{w: p.Out}, maxCount: math.MaxInt, before: 0, after: 0, matchSep: ":", contextSep: "-",
		between: []byte("--"), delim: '\n', firstOutput: true, began: p.Now()}
	p.Out.ErrorStatus = 2
	scanned, args, err := rgSpec.Scan(p.Args[1:])
	if err != nil {
		var u *getopt.UsageError
		if errors.As(err, &u) {
			return g.usage("%s", rgUsageMessage(u.Message))
		}
		return 2
	}
	g.walk.init(p)
	var patterns []string
	given, lineNumbers, filenames := false, 0, 0
	unrestricted, around := 0, false
	var selections []getopt.Option
	for _, o := range scanned {
		switch o.Key {
		case "h":
			rgSpec.Help(p)
			return 0
		case "V":
			p.Out.WriteString(rgVersion)
			return 0
		case "A", "B", "C", "M", "m", "j", "max-depth":
			n, err := strconv.ParseUint(o.Value, 10, 62)
			if err != nil {
				fmt.Fprintf(p.Err, "error: Invalid value for '%s': invalid digit found in string\n\n", rgOptionName(o.Key))
				return 2
			}
			v := int(min(n, math.MaxInt32))
			switch o.Key {
			case "A", "B": // and -C override each other
				if around {
					g.before, g.after, around = 0, 0, false
				}
				if o.Key == "A" {
					g.after = v
				} else {
					g.before = v
				}
			case "C":
				g.before, g.after, around = v, v, true
			case "M":
				g.maxColumns = v
			case "m":
				g.maxCount = v
				if n > math.MaxInt32 {
					g.maxCount = math.MaxInt
				}
			case "max-depth":
				g.walk.maxDepth = v
			}
		case "b":
			g.offset = true
		case "s":
			g.ignoreCase, g.smartCase = false, false
		case "i":
			g.ignoreCase, g.smartCase = true, false
		case "S":
			g.ignoreCase, g.smartCase = false, true
		case "c":
			g.mode = 'c'
		case "count-matches":
			g.mode = 'm'
		case "l":
			g.mode = 'l'
		case "files-without-match":
			g.mode = 'L'
		case "files":
			g.mode = 'f'
		case "json":
			g.mode = 'j'
		case "no-json":
			if g.mode == 'j' {
				g.mode = 0
			}
		case "z":
			g.unzip = true
		case "no-search-zip":
			g.unzip = false
		case "no-unicode", "no-pcre2-unicode":
			g.ascii = true
		case "unicode", "pcre2-unicode":
			g.ascii = false
		case "E":
			if !g.chooseEncoding(o.Value) {
				g.fail("grep config error: unknown encoding: %s", o.Value)
			}
		case "no-encoding":
			g.raw, g.decode = false, nil
		case "F":
			g.fixed = true
		case "no-fixed-strings":
			g.fixed = false
		case "e":
			patterns, given = append(patterns, o.Value), true
		case "f":
			r, err := p.OpenInput(o.Value)
			if err != nil {
				g.fail("%s: %s", o.Value, rgError(err))
			}
			data, err := p.ReadAll(r)
			_ = r.Close()
			if err != nil {
				g.fail("%s: %s", o.Value, rgError(err))
			}
			for l := range strings.Lines(string(data)) {
				patterns = append(patterns, strings.TrimSuffix(l, "\n"))
			}
			given = true
		case "g", "iglob":
			if err := g.walk.globs.Add(o.Value, o.Key == "iglob" || g.walk.foldGlobs); err != nil {
				g.fail("error parsing glob '%s': %v", strings.TrimPrefix(o.Value, "!"), err)
			}
			g.walk.selects = g.walk.selects || !strings.HasPrefix(o.Value, "!")
		case "glob-case-insensitive":
			g.walk.foldGlobs = true
		case "H":
			filenames = 1
		case "I":
			filenames = -1
		case "L":
			g.walk.follow = true
		case "no-follow":
			g.walk.follow = false
		case "max-columns-preview":
			g.preview = true
		case "n":
			lineNumbers = 1
		case "N":
			lineNumbers = -1
		case "o":
			g.only = true
		case "P":
			g.perl = true
		case "no-pcre2":
			g.perl = false
		case "engine":
			g.perl = o.Value == "pcre2" || o.Value == "auto"
		case "auto-hybrid-regex":
			g.perl = true
		case "p":
			g.heading, lineNumbers = true, 1
			g.color = p.Getenv("TERM") != "" && p.Getenv("TERM") != "dumb"
		case "q":
			g.quiet = true
		case "r":
			v := o.Value
			g.replace = &v
		case "U":
			g.multiline = true
		case "no-multiline":
			g.multiline = false
		case "multiline-dotall":
			g.dotAll = true
		case "T", "t":
			selections = append(selections, o) // from the types as they are in the end
		case "type-add":
			if !g.walk.defineType(o.Value) {
				g.fail("invalid definition (format is type:glob, e.g., html:*.html)")
			}
		case "type-clear":
			delete(g.walk.known(), o.Value)
		case "type-list":
			g.walk.listTypes(p.Out)
			return 0
		case "u":
			unrestricted++
		case "v":
			g.invert = true
		case "no-invert-match":
			g.invert = false
		case "w":
			g.word, g.line = true, false
		case "x":
			g.line, g.word = true, false
		case "0":
			g.nul = true
		case "a":
			g.text = true
		case "binary":
			g.showBinary = true
		case ".":
			g.walk.hidden = true
		case "no-hidden":
			g.walk.hidden = false
		case "column":
			g.column = true
			if lineNumbers == 0 {
				lineNumbers = 1
			}
		case "color":
			switch o.Value {
			case "always", "ansi":
				g.color = true
			case "never", "auto":
				g.color = false
			default:
				fmt.Fprintf(p.Err,
					"error: '%s' isn't a valid value for '--color <WHEN>'\n\t[possible values: always, ansi, auto, never]\n\n%s",
					o.Value, rgUsage)
				return 2
			}
		case "context-separator":
			g.between, g.noBetween = []byte(unescapeSeparator(o.Value)), false
		case "no-context-separator":
			g.noBetween = true
		case "field-context-separator":
			g.contextSep = unescapeSeparator(o.Value)
		case "field-match-separator":
			g.matchSep = unescapeSeparator(o.Value)
		case "heading":
			g.heading = true
		case "no-heading":
			g.heading = false
		case "ignore-file":
			if !g.walk.ignoreFile(o.Value) {
				g.complain(o.Value, g.walk.err)
			}
		case "ignore-file-case-insensitive":
			g.walk.foldFiles = true
		case "include-zero":
			g.zero = true
		case "max-filesize":
			n, problem := program.ParseCount(o.Value, "KMG")
			if problem == program.NumberInvalid {
				g.fail("error: Invalid value for '--max-filesize <NUM+SUFFIX?>': invalid digit found in string")
			}
			g.walk.maxSize = n
		case "no-ignore":
			g.walk.noIgnore, g.walk.noDot, g.walk.noVCS = true, true, true
		case "no-ignore-dot":
			g.walk.noDot = true
		case "no-ignore-vcs":
			g.walk.noVCS = true
		case "no-ignore-parent":
			g.walk.noParent = true
		case "no-ignore-files":
			g.walk.noFiles = true
		case "no-ignore-exclude":
			g.walk.noExclude = true
		case "no-require-git":
			g.walk.noRequireGit = true
		case "require-git":
			g.walk.noRequireGit = false
		case "no-messages":
			g.noMessages = true
		case "null-data":
			g.delim = 0
		case "passthru":
			g.passthru = true
		case "pcre2-version":
			p.Out.WriteString("PCRE2 patterns are matched by a backtracking engine of its own\n")
			return 0
		case "pre":
			g.fail("--pre is not supported")
		case "sort", "sortr":
			switch o.Value {
			case "path", "modified", "accessed", "created", "none":
			default:
				fmt.Fprintf(p.Err,
					"error: '%s' isn't a valid value for '--%s <SORTBY>'\n\t[possible values: accessed, created, modified, none, path]\n\n%s", o.Value, o.Key, rgUsage)
				return 2
			}
			g.walk.byTime, g.walk.reverse = o.Value != "path" && o.Value != "none", o.Key == "sortr"
		case "stats":
			g.stats = true
		case "trim":
			g.trim = true
		case "vimgrep":
			g.vimgrep, g.column = true, true
			if lineNumbers == 0 {
				lineNumbers = 1
			}
			if filenames == 0 {
				filenames = 1
			}
		}
	}
	for _, o := range selections {
		if !g.walk.addType(o.Value, o.Key == "t") {
			g.fail("unrecognized file type: %s", o.Value)
		}
	}
	if unrestricted > 0 {
		g.walk.noIgnore, g.walk.noDot, g.walk.noVCS = true, true, true
	}
	g.walk.hidden = g.walk.hidden || unrestricted > 1
	g.showBinary = g.showBinary || unrestricted > 2
	if g.mode != 'f' {
		if !given {
			if len(args) == 0 {
				return g.usage("The following required arguments were not provided:\n    <PATTERN>")
			}
			patterns, args = []string{args[0]}, args[1:]
		}
		g.compile(patterns)
	}
	if g.mode == 'c' && g.only && !g.invert {
		g.mode = 'm'
	}
	g.number = lineNumbers > 0
	if g.vimgrep {
		g.heading = false
	}
	if g.passthru {
		g.before, g.after = math.MaxInt32, math.MaxInt32
	}
	stdin := len(args) == 0 && g.mode != 'f' && hasInput(p)
	g.paths = filenames > 0
	if filenames == 0 && !stdin {
		g.paths = len(args) != 1
		if len(args) == 1 && args[0] != "-" {
			st, err := p.Stat(args[0])
			g.paths = err == nil && st.IsDir()
		}
	}
	if g.maxCount == 0 && g.mode != 'f' {
		return 1
	}
	if g.mode == 'j' {
		g.json = &rgJSON{g: g}
	}
	if stdin {
		args = []string{"-"}
	}
	switch {
	case len(args) == 0:
		g.walk.run(g, ".", "")
		if g.total.searched == 0 && g.mode != 'f' {
			g.failed = true
			if !g.noMessages {
				p.Out.Flush()
				p.Err.WriteString("No files were searched, which means ripgrep probably applied a filter you didn't expect.\nRunning with --debug will show why files are being skipped.\n")
			}
		}
	default:
		for _, a := range args {
			g.operand(a)
		}
	}
	g.finish()
	switch {
	case g.matchedAny && (g.quiet || !g.failed):
		return 0
	case g.failed:
		return 2
	}
	return 1
}

// hasInput reports whether standard input is something to search: a pipe, a file or a here-document, and not what is
// there when nothing was given.
func hasInput(p *proc.Process) bool {
	f, ok := p.Stdin.(interface{ Stat() (vfs.Stat, error) })
	if !ok {
		return true
	}
	st, err := f.Stat()
	if err != nil {
		return false
	}
	return st.Kind == vfs.FIFO || st.Kind == vfs.Regular
}

// operand searches a path of the command line.
func (g *rgRun) operand(name string) {
	if name == "-" && g.mode != 'f' {
		data, err := g.p.ReadAll(g.p.Stdin)
		if err != nil {
			g.complain("<stdin>", err)
			return
		}
		g.search("<stdin>", g.decoded(data), true)
		return
	}
	st, err := g.p.Stat(name)
	if err != nil {
		g.complain(name, err)
		return
	}
	if st.IsDir() {
		g.walk.run(g, name, strings.TrimSuffix(name, "/")+"/")
		return
	}
	g.file(name, true)
}

// file searches a file, or prints its name for --files.
func (g *rgRun) file(name string, explicit bool) {
	if g.mode == 'f' {
		g.matchedAny = true
		if g.quiet {
			g.p.Exit(0)
		}
		g.path(name)
		g.endName()
		return
	}
	data, err := g.read(name)
	if err != nil {
		g.complain(name, err)
		return
	}
	g.p.Tick(8)
	g.search(name, g.decoded(data), explicit)
}

func rgError(err error) string {
	if n, ok := vfs.Of(err); ok {
		return fmt.Sprintf("%s (os error %d)", proc.Strerror(err), n)
	}
	return proc.Strerror(err)
}

func rgUsageMessage(m string) string {
	switch {
	case strings.HasPrefix(m, "unrecognized option '"):
		return "Found argument " + strings.TrimPrefix(m, "unrecognized option ") +
			" which wasn't expected, or isn't valid in this context"
	case strings.HasPrefix(m, "invalid option -- '"):
		return "Found argument '-" + strings.TrimPrefix(m, "invalid option -- '") +
			" which wasn't expected, or isn't valid in this context"
	case strings.HasPrefix(m, "option requires an argument -- '"):
		return "The argument '" + rgOptionName(strings.Trim(strings.TrimPrefix(m, "option requires an argument -- "), "'")) +
			"' requires a value but none was supplied"
	case strings.HasPrefix(m, "option '--") && strings.HasSuffix(m, "' requires an argument"):
		return "The argument '" + strings.TrimSuffix(strings.TrimPrefix(m, "option '"), "' requires an argument") +
			"' requires a value but none was supplied"
	}
	return m
}

func rgOptionName(key string) string {
	names := map[string]string{
		"A": "--after-context <NUM>", "B": "--before-context <NUM>", "C": "--context <NUM>", "M": "--max-columns <NUM>",
		"m": "--max-count <NUM>",
		"j": "--threads <NUM>", "max-depth": "--max-depth <NUM>", "e": "--regexp <PATTERN>...",
		"f": "--file <PATTERNFILE>...", "g": "--glob <GLOB>...",
		"t": "--type <TYPE>...", "T": "--type-not <TYPE>...", "r": "--replace <REPLACEMENT_TEXT>",
		"E": "--encoding <ENCODING>",
	}
	if n, ok := names[key]; ok {
		return n
	}
	return "--" + key
}

// unescapeSeparator reads \n, \t, \xHH and the like.
func unescapeSeparator(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	if v, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`); err == nil {
		return v
	}
	return s
}
