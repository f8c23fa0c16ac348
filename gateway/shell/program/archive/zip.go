package archive

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/archive"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// Exit statuses of zip.
const (
	zipNothing = 12
	zipCannot  = 15
	zipUsage   = 16
	zipRead    = 18
)

const zipHelp = `Copyright (c) 1990-2008 Info-ZIP - Type 'zip "-L"' for software license.
Zip 3.0 (July 5th 2008). Usage:
zip [-options] [zipfile list] [-xi list]
  The default action is to add or replace zipfile entries from list, which
  can include the special name - to compress standard input.
  -f   freshen: only changed files  -u   update: only changed or new files
  -d   delete entries in zipfile    -m   move into zipfile (delete OS files)
  -r   recurse into directories     -j   junk (don't record) directory names
  -0   store only                   -1   compress faster, -9 compress better
  -q   quiet operation              -v   verbose operation
  -z   add zipfile comment          -@   read names from stdin
  -o   make zipfile as old as latest entry
  -x   exclude the following names  -i   include only the following names
  -D   do not add directory entries -T   test zipfile integrity
  -y   store symbolic links as the link instead of the referenced file
  -X   eXclude eXtra file attributes -FS filesync, -sf show files
`

type zipRun struct {
	p                                             *proc.Process
	messages                                      *proc.Writer
	file                                          string
	names                                         []string
	exclude, include                              []string
	stored                                        []string // suffixes
	level                                         int
	recurse, junk, links, noDirs, move, quiet     bool
	update, freshen, del, sync, verbose, fromList bool
	comment, test, noExtra, show, grow            bool
	old                                           *archive.Zip
	oldFile                                       vfs.File
	oldMode                                       uint32
	wanted                                        []zipFile
	seen                                          map[string]string
	held                                          int
	unmatched                                     bool
}

// zipFile is a file to be added under a name.
type zipFile struct {
	path, name string
	st         vfs.Stat
}

// zipStop ends the run with a status.
type zipStop int

// zipLong maps long options to short ones; a colon takes an argument, @ a list.
var zipLong = map[string]string{
	"recurse-paths": "r", "junk-paths": "j", "quiet": "q", "verbose": "v", "symlinks": "y", "no-dir-entries": "D",
	"move":   "m",
	"update": "u", "freshen": "f", "delete": "d", "exclude": "x", "include": "i", "names-stdin": "@", "filesync": "FS",
	"test":     "T",
	"suffixes": "n", "no-extra": "X", "archive-comment": "z", "latest-time": "o", "show-files": "sf", "grow": "g",
	"help":    "h",
	"version": "v", "temp-path": "b", "output-file": "O", "to-crlf": "l", "from-crlf": "ll", "license": "L", "fix": "F",
	"compression-method": "Z", "split-size": "s", "encrypt": "e", "password": "P", "adjust-sfx": "A", "no-wild": "nw",
}

// zipTwo are the short options of two letters.
var zipTwo = []string{"FS", "sf", "ll", "nw", "sc", "db", "dc", "dd", "dg", "ds", "du", "dv", "la", "lf", "li", "MM",
	"TT", "ws", "h2", "FI", "FF"}

func zipMain(_ context.Context, p *proc.Process) (status int) {
	z := &zipRun{p: p, messages: p.Out, level: 6, seen: map[string]string{},
		stored: []string{".Z", ".zip", ".zoo", ".arc", ".lzh", ".arj"}}
	defer func() {
		p.Release(z.held)
		if z.oldFile != nil {
			_ = z.oldFile.Close()
		}
		if r := recover(); r != nil {
			s, ok := r.(zipStop)
			if !ok {
				panic(r)
			}
			status = int(s)
		}
	}()
	z.options(p.Args[1:])
	return z.run()
}

// fail ends the run with zip's words.
func (z *zipRun) fail(status int, format string, args ...any) {
	z.p.Out.Flush()
	fmt.Fprintf(z.messages, "\nzip error: "+format+"\n", args...)
	panic(zipStop(status))
}

func (z *zipRun) warn(format string, args ...any) {
	if !z.quiet {
		fmt.Fprintf(z.messages, "\tzip warning: "+format+"\n", args...)
	}
}

func (z *zipRun) say(format string, args ...any) {
	if !z.quiet {
		fmt.Fprintf(z.messages, format, args...)
	}
}

func (z *zipRun) options(args []string) {
	more := true
	list := func() (out []string) {
		for len(args) > 0 && args[0] != "@" && !strings.HasPrefix(args[0], "-") {
			out = append(out, args[0])
			args = args[1:]
		}
		if len(args) > 0 && args[0] == "@" {
			args = args[1:]
		}
		return out
	}
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		switch {
		case !more || a == "-" || !strings.HasPrefix(a, "-"):
			if z.file == "" {
				if z.file = a; a == "-" {
					z.messages = z.p.Err
				}
			} else {
				z.names = append(z.names, a)
			}
			continue
		case a == "--":
			more = false
			continue
		}
		var keys []string
		value, has := "", false
		if long, ok := strings.CutPrefix(a, "--"); ok {
			long, value, has = strings.Cut(long, "=")
			key, ok := zipLong[long]
			if !ok {
				z.fail(zipUsage, "Invalid command arguments (long option '%s' not supported)", long)
			}
			keys = []string{key}
		} else {
			for rest := a[1:]; rest != ""; {
				key := rest[:1]
				for _, two := range zipTwo {
					if strings.HasPrefix(rest, two) {
						key = two
					}
				}
				keys = append(keys, key)
				rest = rest[len(key):]
				if strings.Contains("xinbtPsOZ", key) && rest != "" {
					value, has, rest = strings.TrimPrefix(rest, "="), true, ""
				}
			}
		}
		for _, key := range keys {
			if !has && strings.Contains("nbtPsOZ", key) {
				if len(args) == 0 {
					z.fail(zipUsage, "Invalid command arguments (option '%s' requires a value)", key)
				}
				value = args[0]
				args = args[1:]
			}
			switch key {
			case "x", "i":
				var l []string
				if has {
					l = append(l, value)
				}
				l = append(l, list()...)
				if key == "x" {
					z.exclude = append(z.exclude, l...)
				} else {
					z.include = append(z.include, l...)
				}
			default:
				z.option(key, value)
			}
		}
	}
}

func (z *zipRun) option(key, value string) {
	switch key {
	case "r", "R":
		z.recurse = true
	case "j":
		z.junk = true
	case "q":
		z.quiet = true
	case "v":
		z.verbose = true
	case "y":
		z.links = true
	case "D":
		z.noDirs = true
	case "m":
		z.move = true
	case "u":
		z.update = true
	case "f":
		z.freshen = true
	case "d":
		z.del = true
	case "FS":
		z.sync = true
	case "@":
		z.fromList = true
	case "T":
		z.test = true
	case "X":
		z.noExtra = true
	case "z":
		z.comment = true
	case "sf":
		z.show = true
	case "g":
		z.grow = true
	case "n":
		z.stored = strings.FieldsFunc(value, func(r rune) bool { return r == ':' || r == ',' || r == ';' })
	case "h", "h2", "L":
		z.p.Out.WriteString(zipHelp)
		z.p.Exit(0)
	case "Z":
		if value == "store" {
			z.level = 0
		}
	case "e", "P":
		z.fail(zipUsage, "Invalid command arguments (encryption is not supported here)")
	case "o", "l", "ll", "A", "nw", "S", "k", "b", "t", "s", "F", "FF", "c", "w", "a", "lf", "la", "li", "dc", "db", "dd",
		"dg", "du", "dv", "ds", "sc", "ws":
		// Nothing of it makes a difference in the sandbox.
	default:
		if len(key) == 1 && key[0] >= '0' && key[0] <= '9' {
			z.level = int(key[0] - '0')
			return
		}
		z.fail(zipUsage, "Invalid command arguments (short option '%s' not supported)", key)
	}
}

func (z *zipRun) run() int {
	p := z.p
	if z.file == "" {
		if z.verbose {
			p.Out.WriteString("Copyright (c) 1990-2008 Info-ZIP - Type 'zip \"-L\"' for software license.\nThis is Zip 3.0 (July 5th 2008), by Info-ZIP.\n")
			return 0
		}
		p.Out.WriteString(zipHelp)
		return 0
	}
	if z.file != "-" {
		if base := path.Base(z.file); !strings.Contains(base, ".") {
			z.file += ".zip"
		}
		z.load()
	}
	if z.show && len(z.names) == 0 {
		z.list()
		return 0
	}
	if z.fromList {
		lines := program.NewLineReader(p, p.Stdin, '\n')
		for l, ok := lines.Next(); ok; l, ok = lines.Next() {
			if name := strings.TrimRight(string(l), "\r\n"); name != "" {
				z.names = append(z.names, name)
			}
		}
		lines.Close()
	}
	if z.del {
		return z.delete()
	}
	if len(z.names) == 0 && !z.freshen && !z.comment && !z.test && !z.sync {
		z.nothing()
	}
	if z.freshen && len(z.names) == 0 && z.old != nil {
		for _, e := range z.old.Entries {
			z.names = append(z.names, e.Name)
		}
		z.names = slices.DeleteFunc(z.names, func(n string) bool { _, err := p.Lstat(n); return err != nil })
	}
	for _, n := range z.names {
		z.gather(n)
	}
	return z.write()
}

func (z *zipRun) nothing() {
	hint := z.file
	if z.recurse && len(z.names) > 0 {
		hint = fmt.Sprintf("try: zip -r %s . -i %s", strings.TrimSuffix(z.file, ".zip")+".zip", strings.Join(z.names, " "))
	}
	z.fail(zipNothing, "Nothing to do! (%s)", hint)
}

// load reads the archive that is there already.
func (z *zipRun) load() {
	f, err := z.p.Open(z.file, vfs.ReadOnly, 0)
	if err != nil {
		return
	}
	st, err := f.Stat()
	if err == nil {
		z.oldFile, z.oldMode = f, st.Mode
		z.old, err = archive.OpenZip(f, st.Size)
	}
	if err != nil {
		fmt.Fprintf(z.messages,
			"\tzip warning: missing end signature--probably not a zip file (did you\n\tzip warning: remember to use binary mode when you transferred it?)\n\tzip warning: (if you are trying to read a damaged archive try -F)\n")
		z.fail(3, "Zip file structure invalid (%s)", z.file)
	}
	z.hold(len(z.old.Entries) * 200)
}

func (z *zipRun) hold(n int) {
	z.p.Hold(n)
	z.held += n
}

func (z *zipRun) list() {
	total := int64(0)
	n := 0
	if z.old != nil {
		z.p.Out.WriteString("Archive contains:\n")
		for _, e := range z.old.Entries {
			z.p.Out.WriteString("  " + e.Name + "\n")
			total += e.Size
			n++
		}
	}
	fmt.Fprintf(z.p.Out, "Total %d entries (%d bytes)\n", n, total)
}

// member is the name in the archive.
func (z *zipRun) member(name string) string {
	for strings.HasPrefix(name, "./") {
		name = strings.TrimLeft(name[2:], "/")
	}
	name = strings.TrimLeft(name, "/")
	if z.junk {
		if strings.HasSuffix(name, "/") {
			return ""
		}
		return path.Base(name)
	}
	return name
}

func (z *zipRun) matches(patterns []string, name string) bool {
	for _, pat := range patterns {
		if program.Fnmatch(z.p, pat, name, false) {
			return true
		}
	}
	return false
}

// gather finds the files that a name on the command line stands for.
func (z *zipRun) gather(name string) {
	p := z.p
	if name == "-" {
		z.want(zipFile{path: "-", name: "-", st: vfs.Stat{Kind: vfs.FIFO, Mode: 0o600, Mtime: p.Now().UnixNano(),
			UID: p.User.UID, GID: p.User.GID}})
		return
	}
	st, err := z.stat(name)
	if err != nil {
		z.warn("name not matched: %s", name)
		z.unmatched = true
		return
	}
	z.walk(strings.TrimSuffix(name, "/"), st)
}

func (z *zipRun) stat(name string) (vfs.Stat, error) {
	if z.links {
		return z.p.Lstat(name)
	}
	return z.p.Stat(name)
}

func (z *zipRun) walk(name string, st vfs.Stat) {
	p := z.p
	p.Tick(4)
	if !st.IsDir() {
		z.want(zipFile{name, z.member(name), st})
		return
	}
	if m := z.member(name + "/"); !z.noDirs && m != "" && m != "./" {
		z.want(zipFile{name, m, st})
	}
	if !z.recurse {
		return
	}
	list, err := p.ReadDir(name)
	if err != nil {
		z.warn("could not open directory: %s", name)
		return
	}
	for _, d := range list {
		full := program.JoinPath(name, d.Name)
		if name == "." {
			full = d.Name
		}
		st, err := z.stat(full)
		if err != nil {
			z.warn("could not open for reading: %s", full)
			continue
		}
		z.walk(full, st)
	}
}

func (z *zipRun) want(f zipFile) {
	if z.matches(z.exclude, f.name) || len(z.include) > 0 && !z.matches(z.include, f.name) {
		return
	}
	if f.path != "-" && z.file != "-" && z.p.Abs(f.path) == z.p.Abs(z.file) {
		return
	}
	if first, ok := z.seen[f.name]; ok {
		if first != f.path {
			z.warn("  first full name: %s\n                      second full name: %s\n                     name in zip file repeated: %s\n                     this may be a result of using -j", first, f.path, f.name)
			z.fail(zipUsage, "Invalid command arguments (cannot repeat names in zip file)")
		}
		return
	}
	z.seen[f.name] = f.path
	z.wanted = append(z.wanted, f)
}

func (z *zipRun) entries() []*archive.ZipEntry {
	if z.old == nil {
		return nil
	}
	return z.old.Entries
}

// write makes the new archive: the old entries in their places, then the new ones.
func (z *zipRun) write() int {
	p := z.p
	files := map[string]zipFile{}
	for _, f := range z.wanted {
		files[f.name] = f
	}
	if len(z.wanted) == 0 && !z.comment && !z.test && !z.sync {
		switch {
		case z.freshen || z.update && z.old != nil:
			return zipNothing
		case z.unmatched:
			z.nothing()
		case z.old == nil:
			z.warn("zip file empty")
		}
	}
	work := 0
	inArchive := map[string]bool{}
	loc := datetime.Zone(p.Getenv("TZ"))
	newer := func(f zipFile, e *archive.ZipEntry) bool {
		then := e.Time(loc).Unix()
		if z.sync {
			return f.st.Mtime/1e9 != then || !f.st.IsDir() && f.st.Size != e.Size
		}
		return !z.update && !z.freshen || f.st.Mtime/1e9 > then
	}
	for _, e := range z.entries() {
		inArchive[e.Name] = true
		if f, ok := files[e.Name]; ok && newer(f, e) || !ok && z.sync {
			work++
		}
	}
	for _, f := range z.wanted {
		if !inArchive[f.name] && !z.freshen {
			work++
		}
	}
	if work == 0 && (z.update || z.freshen) {
		return zipNothing
	}
	comment := ""
	if z.old != nil {
		comment = z.old.Comment
	}
	out, commit, undo := z.output()
	w := archive.NewZipWriter(out)
	add := func(verb string, f zipFile) {
		z.say("%s: %s", verb, f.name)
		e, note, err := z.pack(f)
		if err != nil {
			z.say("\n")
			z.warn("could not open for reading: %s", f.path)
			return
		}
		z.say("%s\n", note)
		if err := w.Add(e, bytes.NewReader(e.Data), e.LocalExtra); err != nil {
			undo()
			z.fail(14, "Output file write failure (%s)", proc.Strerror(err))
		}
		p.Release(len(e.Data))
		z.held -= len(e.Data)
	}
	for _, e := range z.entries() {
		f, ok := files[e.Name]
		switch {
		case ok && newer(f, e):
			if z.freshen {
				add("freshening", f)
			} else {
				add("updating", f)
			}
		case !ok && z.sync:
			z.say("deleting: %s\n", e.Name)
		default:
			z.keep(w, e, undo)
		}
	}
	for _, f := range z.wanted {
		if !inArchive[f.name] && !z.freshen {
			add("  adding", f)
		}
	}
	if z.comment {
		z.p.Out.Flush()
		z.say("enter new zip file comment (end with .):\n")
		lines := program.NewLineReader(p, p.Stdin, '\n')
		var text []string
		for l, ok := lines.Next(); ok; l, ok = lines.Next() {
			s := strings.TrimRight(string(l), "\r\n")
			if s == "." {
				break
			}
			text = append(text, s)
		}
		lines.Close()
		comment = strings.Join(text, "\r\n")
		comment = comment[:min(len(comment), 0xffff)]
	}
	if err := w.Close(comment); err != nil {
		undo()
		z.fail(14, "Output file write failure (%s)", proc.Strerror(err))
	}
	commit()
	if z.test {
		z.say("test of %s OK\n", z.file)
	}
	if z.move {
		for _, f := range slices.Backward(z.wanted) {
			if f.st.IsDir() {
				_ = p.FS.Rmdir(p.Abs(f.path))
			} else if f.path != "-" {
				_ = p.FS.Unlink(p.Abs(f.path))
			}
		}
	}
	if z.unmatched && len(z.wanted) == 0 {
		return zipNothing
	}
	return 0
}

// keep copies an entry of the old archive.
func (z *zipRun) keep(w *archive.ZipWriter, e *archive.ZipEntry, undo func()) {
	z.p.Tick(1 + int(e.Packed>>10))
	raw, extra, err := z.old.Raw(e)
	if err == nil {
		err = w.Add(e, raw, extra)
	}
	if err != nil {
		undo()
		z.fail(3, "Zip file structure invalid (%s)", z.file)
	}
}

// output opens what the archive is written to. commit puts it in place of the old one, undo forgets it.
func (z *zipRun) output() (w io.Writer, commit, undo func()) {
	p := z.p
	if z.file == "-" {
		return p.Out, func() {}, func() {}
	}
	temp := program.JoinPath(program.DirName(z.file), fmt.Sprintf("zi%06d", p.PID))
	f, err := p.Open(temp, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
	if err != nil {
		fmt.Fprintf(z.messages, "zip I/O error: %s\nzip error: Could not create output file (%s)\n", proc.Strerror(err),
			z.file)
		panic(zipStop(zipCannot))
	}
	buffered := proc.NewWriter(f, p)
	undo = func() {
		_ = f.Close()
		_ = p.FS.Unlink(p.Abs(temp))
	}
	commit = func() {
		buffered.Flush()
		if z.oldFile != nil {
			_ = p.FS.Chmod(p.Abs(temp), z.oldMode)
		}
		_ = f.Close()
		if err := p.FS.Rename(p.Abs(temp), p.Abs(z.file)); err != nil {
			undo()
			z.fail(zipCannot, "Could not create output file (%s)", z.file)
		}
	}
	return buffered, commit, undo
}

// delete is -d.
func (z *zipRun) delete() int {
	drop := map[*archive.ZipEntry]bool{}
	for _, n := range z.names {
		any := false
		for _, e := range z.entries() {
			if program.Fnmatch(z.p, n, e.Name, false) || n == strings.TrimSuffix(e.Name, "/") {
				drop[e], any = true, true
			}
		}
		if !any {
			z.warn("name not matched: %s", n)
		}
	}
	if len(drop) == 0 {
		z.names = nil
		z.nothing()
	}
	out, commit, undo := z.output()
	w := archive.NewZipWriter(out)
	for _, e := range z.entries() {
		if drop[e] {
			z.say("deleting: %s\n", e.Name)
			continue
		}
		z.keep(w, e, undo)
	}
	if err := w.Close(z.old.Comment); err != nil {
		undo()
		z.fail(14, "Output file write failure (%s)", proc.Strerror(err))
	}
	if len(drop) == len(z.old.Entries) {
		z.warn("zip file empty")
	}
	commit()
	return 0
}

// pack reads and compresses a file; the note is what is said of it.
func (z *zipRun) pack(f zipFile) (*archive.ZipEntry, string, error) {
	p := z.p
	e := &archive.ZipEntry{Name: f.name, Creator: 3<<8 | 30, Needed: 10, External: f.st.Mode << 16}
	when := time.Unix(0, f.st.Mtime).In(datetime.Zone(p.Getenv("TZ")))
	e.SetTime(when, f.st.UID, f.st.GID)
	if z.noExtra {
		e.Extra, e.LocalExtra = nil, nil
	}
	if !isASCII(f.name) {
		e.Flags |= 1 << 11
	}
	var in io.ReadCloser
	switch f.st.Kind {
	case vfs.Dir:
		e.External |= 0o040000<<16 | 0x10
		return e, " (stored 0%)", nil
	case vfs.Symlink:
		e.External |= 0o120000 << 16
		target, err := p.FS.Readlink(p.Abs(f.path))
		if err != nil {
			return nil, "", err
		}
		in = io.NopCloser(strings.NewReader(target))
	case vfs.FIFO:
		e.External |= 0o010000 << 16
		in = io.NopCloser(p.Stdin)
		if f.path != "-" {
			return nil, "", vfs.ENXIO
		}
	default:
		e.External |= 0o100000 << 16
		var err error
		if in, err = p.Open(f.path, vfs.ReadOnly, 0); err != nil {
			return nil, "", err
		}
	}
	defer in.Close()
	data, err := p.ReadAll(in)
	if err != nil {
		return nil, "", err
	}
	defer p.Release(cap(data))
	e.Size, e.CRC, e.Data = int64(len(data)), crc32.ChecksumIEEE(data), data
	if z.level > 0 && isZipText(data) {
		e.Internal = 1
	}
	note := " (stored 0%)"
	if store := z.level == 0 || f.st.Kind == vfs.Symlink || slices.ContainsFunc(z.stored,
		func(s string) bool { return strings.HasSuffix(f.name, s) }); !store {
		packed, err := z.deflate(data)
		if err != nil {
			return nil, "", err
		}
		if len(packed) < len(data) {
			e.Data, e.Method, e.Needed = packed, archive.Deflated, 20
			switch {
			case z.level >= 8:
				e.Flags |= 2
			case z.level <= 2:
				e.Flags |= 4
			}
			note = fmt.Sprintf(" (deflated %d%%)", zipPercent(int64(len(data)), int64(len(packed))))
		}
	}
	z.hold(len(e.Data))
	e.Packed = int64(len(e.Data))
	if z.verbose {
		note = fmt.Sprintf("\t(in=%d) (out=%d)%s", e.Size, e.Packed, note)
	}
	return e, note, nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// zipPercent is by how much m is less than n, rounded.
func zipPercent(n, m int64) int64 {
	if n == 0 {
		return 0
	}
	if m > n {
		return -(200*(m-n)/n + 1) / 2
	}
	return (200*(n-m)/n + 1) / 2
}

func (z *zipRun) deflate(data []byte) ([]byte, error) {
	if len(data) <= deflateWhole {
		return archive.Deflate(data, z.level, z.p.Tick), nil
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, z.level)
	if err != nil {
		return nil, err
	}
	if _, err := program.CopyTicking(z.p, w, bytes.NewReader(data)); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// isZipText reports whether there is nothing but text in the first part of a file.
func isZipText(b []byte) bool {
	b = b[:min(len(b), 64<<10)]
	for _, c := range b {
		if c < 7 || c > 13 && c < 26 || c > 27 && c < 32 {
			return false
		}
	}
	return len(b) > 0
}

// errZipDamaged is what unzip says of data it cannot read.
var errZipDamaged = errors.New("invalid compressed data to inflate")
