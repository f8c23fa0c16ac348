package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/archive"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// compressor is what bzip2, xz and zstd differ in, next to their messages.
type compressor struct {
	name     string
	format   archive.Format
	suffixes [][2]string // the first is what compression appends; the others are known and replaced
	keeps    bool        // input files stay
	usage    string
	version  string
}

var (
	bzip2Tool = &compressor{
		name: "bzip2", format: archive.Bzip2,
		suffixes: [][2]string{{".bz2", ""}, {".bz", ""}, {".tbz2", ".tar"}, {".tbz", ".tar"}},
		usage:    "usage: bzip2 [flags and input files in any order]\n\n   -h -d -z -k -f -t -c -q -v -s -V -1 .. -9\n   --help --decompress --compress --keep --force --test --stdout --quiet --verbose --small --version --fast --best\n",
		version:  "bzip2, a block-sorting file compressor.  Version 1.0.8, 13-Jul-2019.\n",
	}
	xzTool = &compressor{
		name: "xz", format: archive.XZ,
		suffixes: [][2]string{{".xz", ""}, {".txz", ".tar"}, {".lzma", ""}, {".tlz", ".tar"}},
		usage:    "Usage: xz [OPTION]... [FILE]...\nCompress or decompress FILEs in the .xz format.\n\n   -z -d -t -l -k -f -c -0 ... -9 -e -T -q -v -S -F -h -V\n",
		version:  "xz (XZ Utils) 5.4.1\nliblzma 5.4.1\n",
	}
	zstdTool = &compressor{
		name: "zstd", format: archive.Zstd, keeps: true,
		suffixes: [][2]string{{".zst", ""}, {".tzst", ".tar"}, {".gz", ""}, {".tgz", ".tar"}, {".xz", ""}, {".txz", ".tar"},
			{".lzma", ""}},
		usage:   "Compress or decompress the INPUT file(s); reads from STDIN if INPUT is `-` or not provided.\n\nUsage: zstd [OPTIONS...] [INPUT... | -] [-o OUTPUT]\n\n   -o -k --rm -# -d -f -c -t -r -q -v -T -h -H -V\n",
		version: "*** Zstandard CLI (64-bit) v1.5.4, by Yann Collet ***\n",
	}
)

type compressRun struct {
	*compressor
	p                                     *proc.Process
	decompress, stdout, test, keep, force bool
	recursive, quiet, verbose, list       bool
	level                                 int
	suffix                                string // -S
	out                                   string // -o
	names                                 []string
	status                                int
	files                                 int
	in, packed                            int64
}

func bzip2Main(_ context.Context, p *proc.Process) int {
	return (&compressRun{compressor: bzip2Tool, p: p}).run("bunzip2", "bzcat")
}

func xzMain(_ context.Context, p *proc.Process) int {
	r := &compressRun{compressor: xzTool, p: p}
	switch p.Name() {
	case "lzma", "unlzma", "lzcat":
		t := *xzTool
		t.format = archive.LZMA
		t.suffixes = [][2]string{{".lzma", ""}, {".tlz", ".tar"}, {".xz", ""}, {".txz", ".tar"}}
		r.compressor = &t
	}
	return r.run("unxz unlzma", "xzcat lzcat")
}

func zstdMain(_ context.Context, p *proc.Process) int {
	return (&compressRun{compressor: zstdTool, p: p}).run("unzstd", "zstdcat")
}

// run works under the tool's name or those that decompress, to files or to standard output.
func (r *compressRun) run(undo, cat string) int {
	name := r.p.Name()
	for _, n := range strings.Fields(undo) {
		r.decompress = r.decompress || n == name
	}
	for _, n := range strings.Fields(cat) {
		if n == name {
			r.decompress, r.stdout = true, true
			r.force = r.force || r.name == "zstd"
		}
	}
	r.keep = r.keeps
	if !r.options(r.p.Args[1:]) {
		return 1
	}
	const memory = 8 << 20 // of a compressor or decompressor
	r.p.Hold(memory)
	defer r.p.Release(memory)
	if len(r.names) == 0 {
		r.stream()
	}
	for _, n := range r.names {
		if n == "-" {
			r.stream()
		} else {
			r.file(n)
		}
	}
	if r.name == "zstd" && r.files > 1 && !r.stdout && !r.quiet && !r.test {
		r.total()
	}
	return r.status
}

// compressLong maps the long options of the three tools to short ones.
var compressLong = map[string]string{
	"help": "h", "decompress": "d", "uncompress": "d", "compress": "z", "keep": "k", "force": "f", "test": "t",
	"stdout":    "c",
	"to-stdout": "c", "quiet": "q", "verbose": "v", "version": "V", "license": "V", "small": "s", "fast": "1", "best": "9",
	"list":    "l",
	"extreme": "e", "suffix": "S", "threads": "T", "format": "F", "check": "C", "rm": "rm", "ultra": "s", "long-help": "h",
	"single-stream": "s",
	"no-progress":   "s", "progress": "s", "no-check": "s", "sparse": "s", "no-sparse": "s", "long": "s", "adapt": "s",
	"rsyncable":    "s",
	"content-size": "s", "no-content-size": "s", "memory": "M", "no-warn": "Q", "single-thread": "s",
	"exclude-compressed": "s",
	"pass-through":       "s", "no-pass-through": "s", "no-adjust": "s", "ignore-check": "s", "block-size": "B",
	"repetitive-fast": "s", "repetitive-best": "s",
}

// compressArgs are the short options that take an argument.
var compressArgs = map[string]string{"bzip2": "", "xz": "TSFCM", "zstd": "oTMB"}

func (r *compressRun) options(args []string) bool {
	const letters = "hdzkftcqvVLsle0123456789TSFCMBoQrn"
	more := true
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		argument := func(inline string) (string, bool) {
			if inline != "" {
				return inline, true
			}
			if len(args) == 0 {
				return "", false
			}
			v := args[0]
			args = args[1:]
			return v, true
		}
		switch {
		case a == "--" && more:
			more = false
		case !more || len(a) < 2 || a[0] != '-':
			r.names = append(r.names, a)
		case strings.HasPrefix(a, "--"):
			name, val, has := strings.Cut(a[2:], "=")
			key, ok := compressLong[name]
			if !ok {
				return r.bad(a, fmt.Sprintf("unrecognized option '%s'", a))
			}
			if strings.Contains(compressArgs[r.name], key) && !has {
				if val, ok = argument(""); !ok {
					return r.bad(a, fmt.Sprintf("option '%s' requires an argument", a))
				}
			}
			if !r.option(key, val) {
				return false
			}
		default:
			for i := 1; i < len(a); i++ {
				c := a[i : i+1]
				if !strings.Contains(letters, c) {
					return r.bad(a, fmt.Sprintf("invalid option -- '%s'", c))
				}
				if strings.Contains(compressArgs[r.name], c) {
					val, ok := argument(a[i+1:])
					if !ok {
						return r.bad(a, fmt.Sprintf("option requires an argument -- '%s'", c))
					}
					if !r.option(c, val) {
						return false
					}
					break
				}
				if j := i; r.name == "zstd" && a[i] >= '0' && a[i] <= '9' {
					for j < len(a) && a[j] >= '0' && a[j] <= '9' {
						j++
					}
					r.level, _ = strconv.Atoi(a[i:j])
					i = j - 1
					continue
				}
				if !r.option(c, "") {
					return false
				}
			}
		}
	}
	return true
}

func (r *compressRun) option(key, val string) bool {
	switch key {
	case "h", "H":
		r.p.Out.WriteString(r.usage)
		r.p.Exit(0)
	case "V", "L":
		r.p.Out.WriteString(r.version)
		r.p.Exit(0)
	case "d":
		r.decompress = true
	case "z":
		r.decompress = false
	case "k":
		r.keep = true
	case "rm":
		r.keep = false
	case "f":
		r.force = true
	case "t":
		r.test, r.decompress = true, true
	case "c":
		r.stdout = true
	case "q", "Q":
		r.quiet = true
	case "v":
		r.verbose = true
	case "r":
		if r.name != "zstd" {
			return r.bad("-r", "")
		}
		r.recursive = true
	case "l":
		if r.name == "bzip2" {
			return r.bad("-l", "")
		}
		r.list, r.decompress = true, true
	case "S":
		r.suffix = val
	case "o":
		r.out = val
	case "F":
		switch val {
		case "lzma", "alone":
			t := *r.compressor
			t.format, t.suffixes = archive.LZMA, [][2]string{{".lzma", ""}, {".tlz", ".tar"}, {".xz", ""}, {".txz", ".tar"}}
			r.compressor = &t
		case "xz", "auto":
		default:
			return r.bad(val, val+": Unknown file format type")
		}
	default:
		if key[0] >= '0' && key[0] <= '9' {
			r.level = max(1, int(key[0]-'0'))
		}
	}
	return true
}

// bad complains about the command line, in the words of the tool.
func (r *compressRun) bad(arg, message string) bool {
	switch r.name {
	case "bzip2":
		r.say("%s: Bad flag `%s'\n%s%s", r.p.Name(), arg, r.version, "\n   "+r.usage)
	case "xz":
		if message != "" {
			r.say("%s: %s\n", r.p.Name(), message)
		}
		r.say("%s: Try `%[1]s --help' for more information.\n", r.p.Name())
	default:
		r.say("Incorrect parameters \n%s", r.usage)
	}
	return false
}

func (r *compressRun) say(format string, args ...any) {
	r.p.Out.Flush()
	fmt.Fprintf(r.p.Err, format, args...)
}

// fail prints the message for the tool at hand and sets its status: 1 for each, and warn for xz's warnings.
func (r *compressRun) fail(status int, bzip2, xz, zstd string, args ...any) {
	switch r.name {
	case "bzip2":
		r.say("%s: "+bzip2+"\n", append([]any{r.p.Name()}, args...)...)
		if strings.Contains(bzip2, "is not a bzip2 file") {
			status = 2
		}
	case "xz":
		if status != 2 || !r.quiet {
			r.say("%s: "+xz+"\n", append([]any{r.p.Name()}, args...)...)
		}
	default:
		r.say("zstd: "+zstd+" \n", args...)
		status = 1
	}
	if r.status == 0 || status == 1 {
		r.status = status
	}
}

func (r *compressRun) stream() {
	name := map[string]string{"bzip2": "(stdin)", "xz": "(stdin)", "zstd": "/*stdin*\\"}[r.name]
	if r.out != "" {
		r.write(name, r.out, r.p.Stdin, vfs.Stat{Mode: 0o666 &^ r.p.Umask})
		return
	}
	if r.decompress {
		var w io.Writer = r.p.Out
		if r.test {
			w = io.Discard
		}
		r.unpack(name, r.p.Stdin, w)
		return
	}
	_, _, _ = r.pack(name, r.p.Stdin, r.p.Out)
}

// target is the name of the result; ok is false when the input's name does not fit.
func (r *compressRun) target(name string) (target string, ok bool) {
	base := path.Base(name)
	if r.decompress {
		if s := r.suffix; s != "" && len(base) > len(s) && strings.HasSuffix(base, s) {
			return strings.TrimSuffix(name, s), true
		}
		for _, s := range r.suffixes {
			if len(base) > len(s[0]) && strings.HasSuffix(base, s[0]) {
				return strings.TrimSuffix(name, s[0]) + s[1], true
			}
		}
		if r.name == "bzip2" {
			return name + ".out", true
		}
		return "", false
	}
	if r.suffix != "" {
		return name + r.suffix, !strings.HasSuffix(name, r.suffix)
	}
	for _, s := range r.suffixes[:min(4, len(r.suffixes))] {
		if r.name != "zstd" && strings.HasSuffix(base, s[0]) {
			return s[0], false
		}
	}
	return name + r.suffixes[0][0], true
}

func (r *compressRun) file(name string) {
	p := r.p
	p.Tick(1)
	st, err := p.Stat(name)
	if err != nil {
		if r.name == "bzip2" && r.test {
			r.fail(1, "Can't open input %s: %s.", "", "", name, proc.Strerror(err))
			return
		}
		r.fail(1, "Can't open input file %s: %s.", "%s: %s", "can't stat %s : %s -- ignored", name, proc.Strerror(err))
		return
	}
	if st.IsDir() {
		if !r.recursive {
			r.fail(map[string]int{"bzip2": 1, "xz": 2, "zstd": 1}[r.name], "Input file %s is a directory.",
				"%s: Is a directory, skipping", "%s is a directory -- ignored", name)
			return
		}
		list, err := p.ReadDir(name)
		if err != nil {
			r.fail(1, "%s: %s", "%s: %s", "%s : %s", name, proc.Strerror(err))
		}
		for _, d := range list {
			r.file(program.JoinPath(strings.TrimSuffix(name, "/"), d.Name))
		}
		return
	}
	in, err := p.OpenInput(name)
	if err != nil {
		r.fail(1, "Can't open input file %s: %s.", "%s: %s", "%s: %s", name, proc.Strerror(err))
		return
	}
	defer in.Close()
	switch {
	case r.list:
		r.listing(name, in)
		return
	case r.test:
		if r.unpack(name, in, io.Discard) && r.verbose && r.name == "bzip2" {
			r.say("%sok\n", r.padded(name))
		}
		return
	case r.stdout && r.decompress:
		r.unpack(name, in, p.Out)
		return
	case r.stdout:
		_, _, _ = r.pack(name, in, p.Out)
		return
	}
	target, ok := r.target(name)
	if r.out != "" {
		target, ok = r.out, true
	}
	switch {
	case !ok && r.decompress && r.name == "xz":
		var head [6]byte
		n, _ := io.ReadFull(in, head[:]) // what is missing is not recognised either
		if !r.accepts(archive.Detect(head[:n])) {
			r.alien(name)
			return
		}
		r.fail(2, "", "%s: Filename has an unknown suffix, skipping", "", name)
		return
	case !ok && r.decompress:
		r.say("zstd: %s: unknown suffix (.zst/.tzst/.gz/.tgz/.lzma/.xz/.txz/.lz4/.tlz4 expected). Can't derive the output file name. Specify it with -o dstFileName. Ignoring.\n", name)
		r.status = 1
		return
	case !ok:
		r.fail(map[string]int{"bzip2": 1, "xz": 2}[r.name], "Input file %s already has %s suffix.",
			"%s: File already has `%s' suffix, skipping", "", name, target)
		return
	case r.decompress && r.name == "bzip2" && target == name+".out":
		r.say("%s: Can't guess original name for %s -- using %s\n", p.Name(), name, target)
	}
	r.write(name, target, in, st)
}

// write makes the target and removes the input.
func (r *compressRun) write(name, target string, in io.Reader, st vfs.Stat) {
	p := r.p
	if old, err := p.Lstat(target); err == nil {
		if !r.force {
			switch r.name {
			case "zstd":
				if r.quiet {
					r.say("zstd: %s already exists; not overwritten  \n", target)
				} else {
					r.say("zstd: %s already exists; overwrite (y/n) ? Not overwritten  \n \n", target)
				}
				r.status = 1
			default:
				r.fail(1, "Output file %s already exists.", "%s: File exists", "", target)
			}
			return
		}
		if old.Kind != vfs.Char {
			_ = p.FS.Unlink(p.Abs(target))
		}
	}
	f, err := p.Open(target, vfs.WriteOnly|vfs.Create, 0o600)
	if err != nil {
		r.fail(1, "Can't create output file %s: %s.", "%s: %s", "%s: %s", target, proc.Strerror(err))
		return
	}
	w := &checkedWriter{w: f}
	var ok bool
	var n, m int64
	if r.decompress {
		ok = r.unpack(name, in, w)
	} else {
		n, m, ok = r.pack(name, in, w)
	}
	if w.err != nil {
		r.fail(1, "%s: %s", "%s: %s", "%s: %s", target, proc.Strerror(w.err))
		ok = false
	}
	_ = f.Close()
	if !ok {
		_ = p.FS.Unlink(p.Abs(target))
		return
	}
	_ = p.FS.Chmod(p.Abs(target), st.Mode)
	if st.Mtime != 0 {
		_ = p.FS.Utimes(p.Abs(target), st.Mtime, true)
	}
	r.tell(name, target, n, m, w.n, st.Size)
	if !r.keep && st.Kind == vfs.Regular {
		_ = p.FS.Unlink(p.Abs(name))
	}
}

// tell is what -v prints, and zstd without -q.
func (r *compressRun) tell(name, target string, n, m, out, size int64) {
	r.files++
	r.in += n
	r.packed += m
	switch {
	case r.name == "bzip2" && r.verbose && r.decompress:
		r.say("%sdone\n", r.padded(name))
	case r.name == "bzip2" && r.verbose:
		if n == 0 {
			r.say("%s no data compressed.\n", r.padded(name))
			return
		}
		r.say("%s%6.3f:1, %6.3f bits/byte, %5.2f%% saved, %d in, %d out.\n", r.padded(name), float64(n)/float64(m),
			8*float64(m)/float64(n), 100*(1-float64(m)/float64(n)), n, m)
	case r.name == "xz" && r.verbose:
		if r.decompress {
			n, m = out, size
		}
		r.say("%s: %d B / %d B = %.3f\n", name, m, n, float64(m)/float64(max(n, 1)))
	case r.name == "zstd" && !r.quiet && !r.decompress && (len(r.names) < 2 || r.verbose):
		r.say("%-21s:%6.2f%%   (%6d B => %6d B, %s) \n", name, 100*float64(m)/float64(max(n, 1)), n, m, target)
	case r.name == "zstd" && !r.quiet && r.decompress && len(r.names) < 2:
		r.say("%-20s: %d bytes \n", name, out)
	}
}

// padded is how bzip2 -v begins a line.
func (r *compressRun) padded(name string) string {
	width := 7
	for _, n := range r.names {
		width = max(width, len(n))
	}
	return "  " + name + ": " + strings.Repeat(" ", width-len(name))
}

func (r *compressRun) total() {
	if !r.decompress {
		r.say("%3d files compressed : %.2f%% (%6d   B => %6d   B)\n", r.files, 100*float64(r.packed)/float64(max(r.in, 1)),
			r.in, r.packed)
	}
}

// pack compresses in to out and returns the sizes.
func (r *compressRun) pack(name string, in io.Reader, out io.Writer) (n, m int64, ok bool) {
	level := r.level
	w := &checkedWriter{w: out}
	z, err := archive.NewWriter(r.format, w, level)
	if err == nil {
		n, err = program.CopyTicking(r.p, z, in)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil && w.err == nil {
		r.fail(1, "%s: %s", "%s: %s", "%s: %s", name, proc.Strerror(err))
	}
	return n, w.n, err == nil
}

// accepts reports whether the tool reads the format.
func (r *compressRun) accepts(f archive.Format) bool {
	switch r.name {
	case "xz":
		return f == archive.XZ || f == archive.LZMA
	case "zstd":
		return f == archive.Zstd || f == archive.Gzip || f == archive.XZ || f == archive.LZMA
	}
	return f == r.format
}

// unpack decompresses in to out and reports whether all was well.
func (r *compressRun) unpack(name string, in io.Reader, out io.Writer) bool {
	br := bufio.NewReaderSize(in, 64<<10)
	head, err := br.Peek(6)
	format := archive.Detect(head)
	switch {
	case len(head) == 0 && err != nil && !errors.Is(err, io.EOF):
		r.fail(1, "%s: %s", "%s: %s", "%s: %s", name, proc.Strerror(err))
		return false
	case len(head) == 0:
		r.broken(name, io.ErrUnexpectedEOF, true)
		return false
	case !r.accepts(format):
		if r.force && r.stdout {
			_, err := program.CopyTicking(r.p, out, br)
			return err == nil
		}
		r.alien(name)
		return false
	}
	z, err := archive.NewReader(format, br, r.p)
	if err == nil {
		defer z.Close()
		var n int64
		n, err = program.CopyTicking(r.p, out, z)
		if err == nil && r.test && r.name == "zstd" && !r.quiet {
			r.say("%-20s: %d bytes \n", name, n)
		}
	}
	switch {
	case err == nil:
		return true
	case errors.Is(err, archive.ErrTrailing):
		if !r.quiet {
			r.say("\n%s: %s: trailing garbage after EOF ignored\n", r.p.Name(), name)
		}
		return true
	}
	if w, ok := out.(*checkedWriter); !ok || w.err == nil {
		r.broken(name, err, false)
	}
	return false
}

// alien says that the input is not of the format at all.
func (r *compressRun) alien(name string) {
	if r.name == "bzip2" && r.test {
		r.say("%s: %s: bad magic number (file not created by bzip2)\n%s", r.p.Name(), name, bzip2Hint)
		r.status = 2
		return
	}
	r.fail(1, "%s is not a bzip2 file.", "%s: File format not recognized", "%s: unsupported format", name)
}

const bzip2Hint = "\nYou can use the `bzip2recover' program to attempt to recover\ndata from undamaged sections of corrupted files.\n\n"

func (r *compressRun) broken(name string, err error, empty bool) {
	short := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
	if e, ok := vfs.Of(err); ok {
		r.fail(1, "%s: %s", "%s: %s", "%s: %s", name, e.Error())
		return
	}
	switch {
	case r.name == "bzip2":
		what := "Data integrity error when decompressing."
		if short {
			what = "Compressed file ends unexpectedly;\n\tperhaps it is corrupted?  *Possible* reason follows."
		}
		if r.test {
			if what = "data integrity (CRC) error in data"; short {
				what = "file ends unexpectedly"
			}
			r.say("%s: %s: %s\n%s", r.p.Name(), name, what, bzip2Hint)
		} else {
			r.say("\n%s: %s\n\tInput file = %s\n%s", r.p.Name(), what, name, bzip2Hint)
		}
		r.status = 2
	case r.name == "zstd" && short && !empty:
		r.say("%s : Read error (39) : premature end \n", name)
		r.status = 1
	case short && !empty:
		r.fail(1, "", "%s: Unexpected end of input", "", name)
	case empty:
		r.fail(1, "", "%s: File format not recognized", "%s: unexpected end of file", name)
	default:
		r.fail(1, "", "%s: Compressed data is corrupt", "%s : Decoding error (36) : Data corruption detected", name)
	}
}

// listing is -l: the sizes, found by decompressing.
func (r *compressRun) listing(name string, in io.Reader) {
	count := &countingReader{r: in}
	br := bufio.NewReaderSize(count, 64<<10)
	head, _ := br.Peek(8)
	if f := archive.Detect(head); f != r.format {
		r.fail(1, "", "%s: File format not recognized", "%s: unsupported format", name)
		return
	}
	check := ""
	if r.name == "xz" && len(head) == 8 {
		check = map[byte]string{0: "None", 1: "CRC32", 4: "CRC64", 10: "SHA-256"}[head[7]&15]
	} else if len(head) > 4 && head[4]&4 != 0 {
		check = "XXH64"
	}
	z, err := archive.NewReader(r.format, br, r.p)
	var n int64
	if err == nil {
		n, err = program.CopyTicking(r.p, io.Discard, z)
		_ = z.Close()
	}
	if err != nil {
		r.broken(name, err, false)
		return
	}
	r.files++
	if r.name == "xz" {
		if r.files == 1 {
			r.p.Out.WriteString("Strms  Blocks   Compressed Uncompressed  Ratio  Check   Filename\n")
		}
		ratio := "  ---"
		if n > 0 {
			ratio = fmt.Sprintf("%5.3f", float64(count.n)/float64(n))
		}
		fmt.Fprintf(r.p.Out, "%5d %7d %12s %12s  %s  %-6s  %s\n", 1, min(n, 1), xzSize(count.n), xzSize(n), ratio, check,
			name)
		return
	}
	if r.files == 1 {
		r.p.Out.WriteString("Frames  Skips  Compressed  Uncompressed  Ratio  Check  Filename\n")
	}
	fmt.Fprintf(r.p.Out, "%6d %6d %10s %13s  %5.3f  %5s  %s\n", 1, 0, zstdSize(count.n), zstdSize(n),
		float64(n)/float64(max(count.n, 1)), check, name)
}

// xzSize is a size as xz -l shows it.
func xzSize(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB"}
	v, k := float64(n), 0
	for ; v > 9999.9 && k < 3; k++ {
		v /= 1024
	}
	if k == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[k])
}

// zstdSize is a size as zstd -l shows it.
func zstdSize(n int64) string {
	units := []string{"  B", "KiB", "MiB", "GiB"}
	v, k := float64(n), 0
	for ; v >= 1024 && k < 3; k++ {
		v /= 1024
	}
	if k == 0 {
		return fmt.Sprintf("%d %s", n, units[0])
	}
	return fmt.Sprintf("%.2f %s", v, units[k])
}
