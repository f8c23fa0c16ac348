package archive

import (
	stdtar "archive/tar"
	"context"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/archive"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/vfs"
)

const tarHelp = `Usage: tar [OPTION...] [FILE]...
GNU 'tar' saves many files together into a single tape or disk archive, and can
restore individual files from the archive.

Examples:
  tar -cf archive.tar foo bar  # Create archive.tar from files foo and bar.
  tar -tvf archive.tar         # List all files in archive.tar verbosely.
  tar -xf archive.tar          # Extract all files from archive.tar.

Options:
`

const tarHint = "Try 'tar --help' or 'tar --usage' for more information.\n"

// tarArgs are the short options that take an argument.
const tarArgs = "fCTXbIHgKNLVF"

// tarLong maps long options to short ones; names of more than one letter have no short form. A
// colon says that an argument is required.
var tarLong = map[string]string{
	"create": "c", "extract": "x", "get": "x", "list": "t", "append": "r", "update": "u", "diff": "d", "compare": "d",
	"delete": "delete", "catenate": "A", "concatenate": "A", "file": "f:", "directory": "C:", "files-from": "T:",
	"exclude-from": "X:", "exclude": "exclude:", "verbose": "v", "gzip": "z", "gunzip": "z", "ungzip": "z", "bzip2": "j",
	"xz": "J", "zstd": "zstd", "auto-compress": "a", "preserve-permissions": "p", "same-permissions": "p",
	"to-stdout":      "O",
	"keep-old-files": "k", "skip-old-files": "skip-old-files", "keep-newer-files": "keep-newer-files",
	"overwrite": "overwrite", "check-links": "check-links", "show-defaults": "show-defaults", "compress": "Z",
	"uncompress":         "Z",
	"listed-incremental": "listed-incremental:", "incremental": "G", "interactive": "w", "confirmation": "w",
	"multi-volume": "M",
	"touch":        "m", "absolute-names": "P", "dereference": "h", "strip-components": "strip-components:",
	"transform": "transform:",
	"xform":     "transform:", "owner": "owner:", "group": "group:", "mtime": "mtime:", "mode": "mode:", "sort": "sort:",
	"wildcards": "wildcards", "no-wildcards": "no-wildcards", "no-recursion": "no-recursion", "recursion": "recursion",
	"null": "null", "numeric-owner": "numeric-owner", "full-time": "full-time", "format": "H:", "blocking-factor": "b:",
	"remove-files": "remove-files", "one-top-level": "one-top-level", "anchored": "anchored", "no-anchored": "no-anchored",
	"no-same-owner": "o", "same-owner": "same-owner", "no-same-permissions": "no-same-permissions", "sparse": "S",
	"ignore-failed-read": "ignore-failed-read", "totals": "totals", "show-transformed-names": "show-transformed-names",
	"warning": "warning:", "exclude-vcs": "exclude-vcs", "posix": "pax", "old-archive": "v7", "portability": "v7",
	"xattrs": "posix", "no-xattrs": "posix", "acls": "posix", "no-acls": "posix", "selinux": "posix",
	"no-selinux":  "posix",
	"force-local": "posix", "unlink-first": "U", "verify": "W", "use-compress-program": "I:", "one-file-system": "posix",
	"numeric": "numeric-owner", "no-overwrite-dir": "posix", "keep-directory-symlink": "keep-directory-symlink",
	"delay-directory-restore": "posix",
	"occurrence":              "occurrence", "quoting-style": "quoting-style:", "checkpoint": "checkpoint",
	"clamp-mtime": "clamp-mtime", "ignore-zeros": "i",
	"to-command": "to-command:", "utc": "utc", "record-size": "record-size:", "lzma": "lzma", "test-label": "test-label",
	"label":  "V:",
	"backup": "backup", "suffix": "suffix:", "index-file": "index-file:", "checkpoint-action": "checkpoint-action:",
	"newer": "N:", "after-date": "N:",
	"newer-mtime": "newer-mtime:", "starting-file": "K:", "add-file": "add-file:", "hard-dereference": "hard-dereference",
	"exclude-backups": "exclude-backups", "exclude-caches": "exclude-caches",
	"exclude-caches-under": "exclude-caches-under",
	"exclude-caches-all":   "exclude-caches-all", "exclude-tag": "exclude-tag:", "exclude-tag-under": "exclude-tag-under:",
	"exclude-tag-all": "exclude-tag-all:", "exclude-vcs-ignores": "exclude-vcs-ignores",
	"exclude-ignore": "exclude-ignore:", "exclude-ignore-recursive": "exclude-ignore-recursive:",
	"wildcards-match-slash": "wildcards-match-slash", "no-wildcards-match-slash": "no-wildcards-match-slash",
	"ignore-case":    "ignore-case",
	"no-ignore-case": "no-ignore-case", "block-number": "R", "show-stored-names": "show-transformed-names",
	"verbatim-files-from": "verbatim-files-from", "no-verbatim-files-from": "no-verbatim-files-from", "no-null": "no-null",
	"recursive-unlink": "U", "preserve-order": "posix", "same-order": "posix",
	"ignore-command-error": "ignore-command-error", "no-auto-compress": "posix",
	"no-ignore-command-error": "no-ignore-command-error", "restrict": "posix", "pax-option": "warning:",
	"hole-detection": "warning:", "sparse-version": "warning:",
	"check-device": "posix", "no-check-device": "posix", "overwrite-dir": "posix", "no-delay-directory-restore": "posix",
	"seek":    "posix",
	"no-seek": "posix", "owner-map": "warning:", "group-map": "warning:", "quote-chars": "quote-chars:",
	"no-quote-chars": "no-quote-chars:",
	"atime-preserve": "posix", "set-mtime-command": "warning:", "level": "warning:",
	"help": "help", "version": "version", "usage": "help",
}

// tarSource is what to put into the archive, or to take out of it, and from where.
type tarSource struct {
	dir, name string
	flat      bool         // --no-recursion came before it
	matching  *tarMatching // how it selects members
}

type tarRun struct {
	headers *headerWriter

	p   *proc.Process
	ctx context.Context
	buf []byte // of copy

	op       string
	file     string
	lists    int // -T within -T
	format   archive.Format
	packed   bool // a compression was asked for
	byName   bool // -a
	verbose  int
	sources  []tarSource
	patterns []tarPattern // of exclusion
	matching tarMatching
	late     []string // options that only matter to later names
	tags     []tarTag
	named    []tarSource
	hit      map[int]bool

	perms, noPerms, stdout, keep, skip, newer, touch, absolute, follow bool
	noRecurse, null, numeric, fullTime, remove, overwrite              bool
	noOwner, sameOwner, ignoreZeros, utc, totals, transformed, blocks  bool
	verbatim, clamp, hardDereference, keepDirLinks, noFail             bool
	checkLinks, anyStatus, v7, oneTop                                  bool
	strip                                                              int
	transforms                                                         []tarTransform
	owner, group                                                       *tarOwner
	mtime                                                              *time.Time
	mode                                                               *program.ModeChange
	top                                                                string

	status    int
	width     int
	warned    map[string]bool
	links     map[uint64]*tarLink
	users     map[uint32]string
	groups    map[uint32]string
	backup    program.Backups
	hformat   stdtar.Format
	record    int64
	label     string
	quoting   string
	extra     string // --quote-chars
	spared    string // --no-quote-chars
	listed    bool   // -T was given
	verify    bool   // -W
	written   []string
	command   string     // --to-command
	newerThan *time.Time // -N, --newer-mtime
	changed   bool       // -N: the time of the last change of the inode counts too
	start     string     // -K
	nth       int        // --occurrence
	seen      map[string]int
	at        int64    // where the header of the current member begins
	later     []func() // directories' modes and times, set when all is extracted
	listTo    io.Writer
	archived  map[string]int64 // -u: mtimes in the archive
	index     func()           // closes --index-file
	in        *tarInput        // the archive being read, decompressed
	current   int              // index of the source that is being added
	topLevel  string           // --one-top-level
	every     int64            // --checkpoint
	actions   []checkpoint
	ignores   []tarIgnore
	ignored   []tarIgnored // those of the directories above the current file
	self      uint64       // inode of the archive, which is not put into itself
}

// tarLink is the first name of a file that may have more, and how many are not in the archive yet.
type tarLink struct {
	name string
	left int64
}

type tarOwner struct {
	name string
	id   int
}

// tarStop ends the run: the message has been printed.
type tarStop struct{}

func tarMain(ctx context.Context, p *proc.Process) (status int) {
	t := &tarRun{p: p, ctx: ctx, width: 19, hit: map[int]bool{}, warned: map[string]bool{}, links: map[uint64]*tarLink{},
		listTo: p.Out, backup: program.NewBackups(p), hformat: stdtar.FormatGNU, record: tarRecord, seen: map[string]int{}}
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
	if t.index != nil {
		defer t.index()
	}
	switch t.op {
	case "":
		return t.usage("You must specify one of the '-Acdtrux', '--delete' or '--test-label' options")
	case "c":
		t.create()
	case "r", "u":
		t.append()
	case "A":
		t.concatenate()
	case "d":
		t.compare()
	case "test-label":
		t.testLabel()
	case "x", "t":
		t.read()
	case "delete":
		t.delete()
	default:
		return t.usage("Option -%s is not supported here", t.op)
	}
	if t.status > 1 {
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
				t.source(dir, n)
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
			t.source(dir, a)
		}
	}
	if len(t.late) > 0 && len(t.sources) > 0 && (t.op == "c" || t.op == "r" || t.op == "u") {
		t.say("The following options were used after any non-optional arguments in archive create or update mode.  These options are positional and affect only arguments that follow them.  Please, rearrange them properly.")
		for _, o := range t.late {
			t.say("%s has no effect", o)
		}
		t.status = 2
	}
	if t.oneTop && t.topLevel == "" && !t.deduceTop() {
		return true, t.usage("Cannot deduce top-level directory name; please set it explicitly with --one-top-level=DIR")
	}
	if t.op == "x" || t.op == "t" || t.op == "d" {
		t.named = t.sources
	}
	t.top = dir
	return false, 0
}

// source adds a name from the command line or a list.
func (t *tarRun) source(dir, name string) {
	if name == "" {
		t.say("Substituting `.' for empty member name")
	}
	m := t.matching
	t.sources = append(t.sources, tarSource{dir, name, t.noRecurse, &m})
	t.late = nil
}

// positional notes an option that matters only to the names after it.
func (t *tarRun) positional(option string) { t.late = append(t.late, option) }

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
	case "c", "x", "t", "r", "u", "d", "A", "delete", "test-label":
		if t.op != "" && t.op != key {
			return true, t.usage("You may not specify more than one '-Acdtrux', '--delete' or  '--test-label' option")
		}
		t.op = key
	case "f":
		if t.file != "" {
			return true, t.usage("Multiple archive files require '-M' option")
		}
		t.file = val
	case "C":
		t.change(val, dir)
	case "T":
		t.listed = true
		t.fromFile(val, *dir)
	case "X":
		b, err := t.p.ReadFile(val)
		if err != nil {
			t.fatal("%s: %s", val, proc.Strerror(err))
		}
		for _, l := range strings.Split(string(b), "\n") {
			if l != "" {
				t.exclude(l)
			}
		}
		t.positional("--exclude-from " + program.Quote(val))
	case "exclude":
		t.exclude(val)
		t.positional("--exclude " + program.Quote(val))
	case "exclude-backups":
		t.exclude(".#*", "*~", "#*#")
	case "exclude-caches", "exclude-caches-under", "exclude-caches-all":
		t.tags = append(t.tags, tarTag{"CACHEDIR.TAG", strings.TrimPrefix(strings.TrimPrefix(key, "exclude-caches"), "-"),
			true})
	case "exclude-tag", "exclude-tag-under", "exclude-tag-all":
		t.tags = append(t.tags, tarTag{val, strings.TrimPrefix(strings.TrimPrefix(key, "exclude-tag"), "-"), false})
	case "exclude-vcs":
		t.exclude(".git", ".gitignore", ".gitattributes", ".gitmodules", ".svn", ".hg", ".hgignore", ".hgtags", "CVS", ".bzr",
			".bzrignore", ".cvsignore", "RCS", "SCCS", "_darcs")
	case "v":
		t.verbose++
	case "z":
		return t.pack(archive.Gzip)
	case "j":
		return t.pack(archive.Bzip2)
	case "J":
		return t.pack(archive.XZ)
	case "zstd":
		return t.pack(archive.Zstd)
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
			t.noProgram(strings.Fields(val + " x")[0])
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
		when, err := datetime.Parse(val, program.LocalNow(t.p))
		if strings.HasPrefix(val, "/") || strings.HasPrefix(val, ".") {
			st, serr := t.p.Stat(val)
			if serr != nil {
				t.say("%s: Cannot stat: %s", val, proc.Strerror(serr))
				t.fatal("Date sample file not found")
			}
			when = time.Unix(0, st.Mtime)
		} else if err != nil {
			t.say("Substituting %d for unknown date format %s", math.MinInt64+1, program.Quote(val))
			when = time.Unix(0, 0)
		}
		if t.verbose > 0 && !strings.HasPrefix(val, "/") && !strings.HasPrefix(val, ".") && err == nil {
			t.say("Option --mtime: Treating date '%s' as %s", val, tarTime(when))
		}
		t.mtime = &when
	case "mode":
		m, ok := program.ParseMode(val)
		if !ok {
			t.fatal("Invalid mode given on option")
		}
		t.mode = &m
	case "wildcards", "no-wildcards":
		on := key == "wildcards"
		t.matching.wild = &on
	case "anchored", "no-anchored":
		on := key == "anchored"
		t.matching.anchored = &on
	case "wildcards-match-slash", "no-wildcards-match-slash":
		t.matching.noSlash = key != "wildcards-match-slash"
	case "ignore-case", "no-ignore-case":
		t.matching.fold = key == "ignore-case"
	case "no-recursion":
		t.noRecurse = true
		t.positional("--no-recursion")
	case "lzma":
		return t.pack(archive.LZMA)
	case "utc":
		t.utc = true
	case "totals":
		t.totals = true
	case "show-transformed-names":
		t.transformed = true
	case "R":
		t.blocks = true
	case "verbatim-files-from":
		t.verbatim = true
	case "no-verbatim-files-from":
		t.verbatim = false
	case "no-null":
		t.null = false
	case "clamp-mtime":
		t.clamp = true
	case "hard-dereference":
		t.hardDereference = true
	case "keep-directory-symlink":
		t.keepDirLinks = true
	case "ignore-failed-read":
		t.noFail = true
	case "to-command":
		t.command = val
	case "quote-chars":
		t.extra += val
	case "no-quote-chars":
		t.spared += val
	case "quoting-style":
		switch val {
		case "literal", "shell", "shell-always", "shell-escape", "shell-escape-always", "c", "c-maybe", "escape", "locale",
			"clocale":
			t.quoting = val
		default:
			t.fatal("Unknown quoting style '%s'. Try 'tar --quoting-style=help' to get a list.", val)
		}
	case "add-file":
		t.source(*dir, val)
	case "K":
		t.start = val
	case "V":
		t.label = val
	case "occurrence":
		t.nth = 1
		if has {
			n, err := strconv.Atoi(val)
			if err != nil || n < 1 {
				return true, t.usage("%s: Invalid number", val)
			}
			t.nth = n
		}
	case "suffix":
		t.backup.SetSuffix(val)
	case "backup":
		t.backup.Kind = "existing"
		switch val {
		case "numbered", "t":
			t.backup.Kind = "numbered"
		case "simple", "never":
			t.backup.Kind = "simple"
		case "none", "off":
			t.backup.Kind = ""
		}
	case "index-file":
		f, err := t.p.Open(val, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
		if err != nil {
			t.fatal("%s: Cannot open: %s", val, proc.Strerror(err))
		}
		w := proc.NewWriter(f, t.p)
		t.listTo = w
		t.index = func() { w.Flush(); _ = f.Close() }
	case "N", "newer-mtime":
		when, err := datetime.Parse(val, program.LocalNow(t.p))
		switch {
		case strings.HasPrefix(val, "/") || strings.HasPrefix(val, "."):
			st, err := t.p.Stat(val)
			if err != nil {
				t.fatal("%s: Cannot stat: %s", val, proc.Strerror(err))
			}
			when = time.Unix(0, st.Mtime)
		case err != nil:
			t.say("Substituting %d for unknown date format %s", math.MinInt64+1, program.Quote(val))
			when = time.Unix(0, math.MinInt64)
		case t.verbose > 0:
			name := "after-date"
			if key != "N" {
				name = key
			}
			t.say("Option --%s: Treating date '%s' as %s", name, val, tarTime(when))
		}
		t.newerThan, t.changed = &when, key == "N"
	case "b", "record-size":
		n, problem := program.ParseCount(val, program.SizeSuffixes)
		switch {
		case problem != program.NumberOK || n < 1 || n > 1<<20:
			return true, t.usage("%s: Invalid blocking factor", val)
		case key == "b":
			n *= tarBlock
		case n%tarBlock != 0:
			return true, t.usage("Record size must be a multiple of 512.")
		}
		t.record = max(n/tarBlock*tarBlock, tarBlock)
	case "H", "pax", "v7":
		if key != "H" {
			val = key
		}
		switch val {
		case "gnu", "oldgnu":
			t.hformat = stdtar.FormatGNU
		case "pax", "posix":
			t.hformat = stdtar.FormatPAX
		case "ustar", "v7":
			t.hformat, t.v7 = stdtar.FormatUSTAR, val == "v7"
		default:
			return true, t.usage("%s: Invalid archive format", val)
		}
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
		t.oneTop, t.topLevel = true, strings.TrimSuffix(val, "/")
	case "check-links", "l":
		t.checkLinks = true
	case "show-defaults":
		t.p.Out.WriteString("--format=gnu -f- -b20 --quoting-style=escape --rmt-command=/usr/sbin/rmt --rsh-command=/usr/bin/rsh\n")
		return true, 0
	case "ignore-command-error", "no-ignore-command-error":
		t.anyStatus = key == "ignore-command-error"
	case "checkpoint":
		t.every = 10
		if val, dots := strings.CutPrefix(val, "."); has {
			n, err := strconv.ParseInt(val, 10, 64)
			switch {
			case dots:
				t.actions = append(t.actions, checkpoint{what: "dot"})
				if val == "" {
					n, err = 10, nil
				}
			}
			if err != nil || n < 1 {
				t.fatal("%s: invalid checkpoint number", val)
			}
			t.every = n
		}
	case "checkpoint-action":
		t.checkpointAction(val)
		if t.every == 0 {
			t.every = 10
		}
	case "exclude-ignore", "exclude-ignore-recursive":
		t.ignores = append(t.ignores, tarIgnore{val, key != "exclude-ignore"})
		t.positional("--" + key + " " + program.Quote(val))
	case "exclude-vcs-ignores":
		for _, f := range []string{".cvsignore", ".gitignore", ".bzrignore", ".hgignore"} {
			t.ignores = append(t.ignores, tarIgnore{f, f != ".cvsignore"})
		}
	case "sort":
		if val != "none" && val != "name" && val != "inode" {
			t.p.Out.Flush()
			t.say("invalid argument %s for %s\nValid arguments are:\n  - ‘none’\n  - ‘name’\n  - ‘inode’", program.Quote(val),
				program.Quote("--sort"))
			t.status = 2
			panic(tarStop{})
		}
	case "Z":
		t.noProgram("compress")
	case "help":
		t.p.Out.WriteString(tarHelp)
		getopt.List(t.p, program.ListedOptions(tarLong, "BFLglns", "posix", "warning"))
		return true, 0
	case "version":
		t.p.Out.WriteString("tar (GNU tar) 1.34\n")
		return true, 0
	case "W":
		t.verify = true
	case "S", "U", "w", "B", "M", "n", "s", "g", "G", "L", "F", "listed-incremental", "posix", "warning":
		// What an archive of the sandbox always is, or what changes nothing here.
	default:
		t.say("invalid option -- '%s'", key)
		t.p.Err.WriteString(tarHint)
		return true, 64
	}
	return false, 0
}

// pack is an option that names a compression.
func (t *tarRun) pack(f archive.Format) (done bool, status int) {
	if t.packed && t.format != f {
		return true, t.usage("Conflicting compression options")
	}
	t.format, t.packed = f, true
	return false, 0
}

// noProgram ends the run because there is no such program to compress with.
func (t *tarRun) noProgram(name string) {
	t.p.Out.Flush()
	t.p.Err.WriteString("/bin/sh: 1: " + name + ": not found\n")
	t.say("Child returned status 127")
	t.fatal("")
}

// tarSuffixes are the endings of archives that --one-top-level takes off.
var tarSuffixes = []string{".tgz", ".taz", ".taZ", ".tbz", ".tbz2", ".tz2", ".tlz", ".txz", ".tzst", ".gz", ".Z",
	".bz2", ".lz", ".lzma", ".lzo", ".xz", ".zst"}

// deduceTop names the top-level directory after the archive.
func (t *tarRun) deduceTop() bool {
	base := path.Base(t.file)
	name := base
	for _, x := range tarSuffixes {
		if s, ok := strings.CutSuffix(name, x); ok {
			name = s
			break
		}
	}
	t.topLevel = strings.TrimSuffix(name, ".tar")
	return t.file != "" && t.file != "-" && t.topLevel != base && t.topLevel != ""
}

// change is -C.
func (t *tarRun) change(val string, dir *string) {
	if strings.HasPrefix(val, "/") || *dir == "" {
		*dir = val
	} else {
		*dir += "/" + val
	}
}

// maxTarLists bounds how deep lists of files may name each other.
const maxTarLists = 100

// fromFile adds the names a -T file lists.
func (t *tarRun) fromFile(name, dir string) {
	if t.lists++; t.lists > maxTarLists {
		t.fatal("%s: file lists are nested too deeply", name)
	}
	defer func() { t.lists-- }()
	var b []byte
	var err error
	if name == "-" {
		b, err = t.p.ReadAll(t.p.Stdin)
	} else {
		b, err = t.p.ReadFile(name)
	}
	if err != nil {
		t.fatal("%s: Cannot stat: %s", name, proc.Strerror(err))
	}
	sep := "\n"
	if t.null {
		sep = "\x00"
	}
	lines := strings.Split(string(b), sep)
	for i, l := range lines {
		switch {
		case l == "":
		case t.null || t.verbatim || l[0] != '-' || l == "-":
			t.source(dir, l)
		case strings.HasPrefix(l, "-C") && len(l) > 2:
			t.change(strings.TrimLeft(l[2:], " "), &dir)
		case strings.HasPrefix(l, "--directory="):
			t.change(l[len("--directory="):], &dir)
		case strings.HasPrefix(l, "--"):
			long, val, has := strings.Cut(l[2:], "=")
			key, ok := longTar(long)
			if !ok {
				t.fail("%s:%d: unrecognized option", name, i+1)
				continue
			}
			if done, status := t.option(strings.TrimSuffix(key, ":"), val, has, &dir); done {
				t.status = status
				panic(tarStop{})
			}
		default:
			t.fail("%s:%d: unrecognized option", name, i+1)
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

// at is the path of a source.
func (s tarSource) at(name string) string {
	if s.dir == "" || strings.HasPrefix(name, "/") {
		return name
	}
	return s.dir + "/" + name
}

const (
	tarBlock  = 512
	tarRecord = 20 * tarBlock
	tarMemory = 8 << 20 // of a compressor or decompressor
)
