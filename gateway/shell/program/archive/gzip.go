package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/archive"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var gzipSpec = getopt.New("acdfklLnNqrS:tvZ123456789",
	"ascii=a stdout=c to-stdout=c decompress=d uncompress=d force=f keep=k list=l license=L no-name=n name=N quiet=q silent=q recursive=r suffix:=S synchronous test=t verbose=v fast=1 best=9 rsyncable").
	WithHint("Try `%[1]s --help' for more information.").
	WithUsage("[OPTION]... [FILE]...", "Compress or uncompress FILEs (by default, compress FILES in-place).").
	WithVersion("1.12").WithLetters()

// gzipMemory is what a compressor holds.
const gzipMemory = 1 << 20

type gzipRun struct {
	p                                                 *proc.Process
	stdout, decompress, force, keep, list, test       bool
	noName, withName, quiet, recursive, verbose, head bool
	suffix                                            string
	level                                             int
	status                                            int
	files                                             int
	totalIn, totalOut                                 int64
	overhead                                          int64 // bytes around the data of the file listed last
}

func gzipMain(ctx context.Context, p *proc.Process) int {
	g := &gzipRun{p: p, suffix: ".gz", level: 6}
	switch p.Name() {
	case "gunzip", "uncompress":
		g.decompress = true
	case "zcat":
		g.decompress, g.stdout = true, true
	}
	opts, args := gzipSpec.Parse(p)
	for _, o := range opts {
		switch o.Key {
		case "c":
			g.stdout = true
		case "d":
			g.decompress = true
		case "f":
			g.force = true
		case "k":
			g.keep = true
		case "l":
			g.list, g.decompress = true, true
		case "n":
			g.noName = true
		case "N":
			g.withName = true
		case "q":
			g.quiet = true
		case "r":
			g.recursive = true
		case "S":
			if g.suffix = o.Value; g.suffix == "" || len(g.suffix) > 30 {
				g.say("invalid suffix '%s'", g.suffix)
				return 1
			}
		case "t":
			g.test, g.decompress = true, true
		case "v":
			g.verbose = true
		case "L":
			p.Out.WriteString("gzip 1.12\n")
			return 0
		case "Z":
			p.Errorf("-Z not supported in this version")
			gzipSpec.Hint(p)
		default:
			if len(o.Key) == 1 && o.Key[0] >= '1' && o.Key[0] <= '9' {
				g.level = int(o.Key[0] - '0')
			}
		}
	}
	p.Hold(gzipMemory)
	defer p.Release(gzipMemory)
	if len(args) == 0 {
		g.stdin()
	}
	for _, a := range args {
		if a == "-" {
			g.stdin()
		} else {
			g.file(a)
		}
	}
	if g.list && g.files > 1 {
		g.line(g.totalIn, g.totalOut, ratio(g.totalOut-(g.totalIn-g.overhead), g.totalOut), "(totals)")
	}
	return g.status
}

// warn is a message that makes the status 2, fail one that makes it 1. Both are "gzip: …" under any name.
func (g *gzipRun) warn(format string, args ...any) {
	if !g.quiet {
		g.say(format, args...)
	}
	if g.status == 0 {
		g.status = 2
	}
}

func (g *gzipRun) fail(format string, args ...any) {
	g.say(format, args...)
	g.status = 1
}

func (g *gzipRun) say(format string, args ...any) {
	g.p.Out.Flush()
	fmt.Fprintf(g.p.Err, "gzip: "+format+"\n", args...)
}

func ratio(saved, total int64) string {
	r := 0.0
	if total > 0 {
		r = 100 * float64(saved) / float64(total)
	}
	return fmt.Sprintf("%5.1f%%", r)
}

func (g *gzipRun) stdin() {
	st := vfs.Stat{Kind: vfs.FIFO}
	if f, ok := g.p.Stdin.(vfs.File); ok {
		if s, err := f.Stat(); err == nil {
			st = s
		}
	}
	switch {
	case g.list:
		g.listing("stdin", g.p.Stdin)
	case g.decompress:
		var out io.Writer = g.p.Out
		if g.test {
			out = io.Discard
		}
		g.unzip("stdin", g.p.Stdin, out)
	default:
		g.zip(g.p.Stdin, g.p.Out, "", st)
	}
}

// knownSuffixes are those that decompression removes.
var knownSuffixes = []string{".gz", "-gz", ".z", "-z", "_z", ".Z", ".tgz", ".taz"}

// target is the name without its suffix, ok=false when it has none.
func (g *gzipRun) target(name string) (string, bool) {
	base := path.Base(name)
	for _, s := range append([]string{g.suffix}, knownSuffixes...) {
		if len(base) > len(s) && strings.HasSuffix(strings.ToLower(base), strings.ToLower(s)) {
			t := name[:len(name)-len(s)]
			if s == ".tgz" || s == ".taz" {
				t += ".tar"
			}
			return t, true
		}
	}
	return "", false
}

func (g *gzipRun) file(name string) {
	p := g.p
	p.Tick(1)
	st, err := p.Stat(name)
	if errors.Is(err, vfs.ENOENT) && g.decompress && !strings.HasSuffix(name, g.suffix) {
		name += g.suffix
		st, err = p.Stat(name)
	}
	if err != nil {
		g.fail("%s: %s", name, proc.Strerror(err))
		return
	}
	if st.IsDir() {
		if !g.recursive {
			g.warn("%s is a directory -- ignored", name)
			return
		}
		list, err := p.ReadDir(name)
		if err != nil {
			g.fail("%s: %s", name, proc.Strerror(err))
		}
		for _, d := range list {
			g.file(strings.TrimSuffix(name, "/") + "/" + d.Name)
		}
		return
	}
	if l, err := p.Lstat(name); err == nil && l.Kind == vfs.Symlink && !g.stdout && !g.force && !g.test && !g.list {
		g.fail("%s: %s", name, proc.Strerror(vfs.ELOOP))
		return
	}
	if st.Kind != vfs.Regular && !g.stdout {
		g.warn("%s is not a directory or a regular file - ignored", name)
		return
	}
	if !g.stdout && !g.force && !g.test && !g.list && st.Nlink > 1 {
		g.warn("%s has %d other link%s -- file ignored", name, st.Nlink-1, map[bool]string{true: "s"}[st.Nlink > 2])
		return
	}
	target, suffixed := g.target(name)
	switch {
	case g.decompress && !suffixed && !g.stdout && !g.list && !g.test:
		if !g.recursive || g.verbose {
			g.warn("%s: unknown suffix -- ignored", name)
		}
		return
	case !g.decompress && suffixed && !g.stdout && !g.force:
		if !g.quiet && (!g.recursive || g.verbose) {
			g.say("%s already has %s suffix -- unchanged", name, name[len(strings.TrimSuffix(target, ".tar")):])
		}
		return
	case !g.decompress:
		target = name + g.suffix
	}
	in, err := p.Open(name, vfs.ReadOnly, 0)
	if err != nil {
		g.fail("%s: %s", name, proc.Strerror(err))
		return
	}
	defer in.Close()
	switch {
	case g.list:
		g.listing(name, in)
	case g.test:
		if g.unzip(name, in, io.Discard) && g.verbose {
			fmt.Fprintf(p.Err, "%s:\t OK\n", name)
		}
	case g.stdout && g.decompress:
		g.unzip(name, in, p.Out)
	case g.stdout:
		n, m := g.zip(in, p.Out, path.Base(name), st)
		if g.verbose {
			fmt.Fprintf(p.Err, "%s:\t%s -- replaced with stdout\n", name, ratio(n-m, n))
		}
	default:
		g.replace(name, target, in, st)
	}
}

// replace writes target and removes name.
func (g *gzipRun) replace(name, target string, in io.Reader, st vfs.Stat) {
	p := g.p
	if g.withName && g.decompress {
		if h, err := gzip.NewReader(in); err == nil && h.Name != "" {
			target = path.Join(path.Dir(name), path.Base(h.Name))
		}
		if s, ok := in.(io.Seeker); ok {
			_, _ = s.Seek(0, io.SeekStart)
		}
	}
	if _, err := p.Lstat(target); err == nil {
		if !g.force {
			g.warn("%s already exists;\tnot overwritten", target)
			return
		}
		_ = p.FS.Unlink(p.Abs(target))
	}
	f, err := p.Open(target, vfs.WriteOnly|vfs.Create|vfs.Excl, 0o600)
	if err != nil {
		g.fail("%s: %s", target, proc.Strerror(err))
		return
	}
	w := &checkedWriter{w: f}
	ok := true
	var n, m int64
	if g.decompress {
		ok = g.unzip(name, in, w)
		m, n = st.Size-int64(gzipHeader(in))-8, w.n
	} else {
		n, m = g.zip(in, w, path.Base(name), st)
	}
	if w.err != nil {
		g.fail("%s: %s", target, proc.Strerror(w.err))
		ok = false
	}
	_ = f.Close()
	if !ok {
		_ = p.FS.Unlink(p.Abs(target))
		return
	}
	_ = p.FS.Chmod(p.Abs(target), st.Mode)
	_ = p.FS.Utimes(p.Abs(target), st.Mtime, true)
	what := "created"
	if !g.keep {
		what = "replaced with"
		if err := p.FS.Unlink(p.Abs(name)); err != nil {
			g.fail("%s: %s", name, proc.Strerror(err))
		}
	}
	if g.verbose {
		fmt.Fprintf(p.Err, "%s:\t%s -- %s %s\n", name, ratio(n-m, n), what, target)
	}
}

// gzipHeader is the size of the header of a file that was read.
func gzipHeader(in io.Reader) int {
	const fixed, hasName = 10, 8
	head := make([]byte, fixed+256)
	f, ok := in.(io.ReaderAt)
	if !ok {
		return fixed
	}
	n, _ := f.ReadAt(head, 0)
	if n <= fixed || head[3]&hasName == 0 {
		return fixed
	}
	return fixed + bytes.IndexByte(head[fixed:n], 0) + 1
}

// checkedWriter remembers the first error, and how much was written.
type checkedWriter struct {
	w   io.Writer
	n   int64
	err error
}

func (w *checkedWriter) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.w.Write(b)
	w.n += int64(n)
	w.err = err
	return n, err
}

// zip compresses in to out and returns the sizes of the data: plain and deflated.
func (g *gzipRun) zip(in io.Reader, out io.Writer, name string, st vfs.Stat) (n, m int64) {
	w := &checkedWriter{w: out}
	start := make([]byte, deflateWhole+1)
	g.p.Hold(len(start))
	defer g.p.Release(len(start))
	have, err := g.fill(in, start)
	if err != nil && !errors.Is(err, io.EOF) {
		g.fail("%s: %s", cmp.Or(name, "stdin"), proc.Strerror(err))
	}
	if have <= deflateWhole {
		return int64(have), g.whole(w, start[:have], name, st)
	}
	in = io.MultiReader(bytes.NewReader(start), in)
	z, err := gzip.NewWriterLevel(w, g.level)
	if err != nil {
		g.fail("%v", err)
		return 0, 0
	}
	z.OS, z.ModTime = 3, time.Unix(0, 0)
	if !g.noName {
		if latin(name) {
			z.Name = name
		}
		if st.Kind == vfs.Regular {
			z.ModTime = time.Unix(0, st.Mtime)
		}
	}
	n, err = g.copy(z, in)
	if err != nil && w.err == nil {
		g.fail("%s: %s", name, proc.Strerror(err))
	}
	if err := z.Close(); err != nil && w.err == nil {
		w.err = err
	}
	head := int64(10)
	if z.Name != "" {
		head += int64(len(name)) + 1
	}
	return n, w.n - head - 8
}

// deflateWhole is up to which size data is compressed in one piece, so that it takes as many bytes as with GNU gzip.
const deflateWhole = 1 << 20

// fill reads until the buffer is full or there is no more.
func (g *gzipRun) fill(in io.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var m int
		m, err = in.Read(b[n:])
		g.p.Tick(1 + m>>10)
		n += m
	}
	return n, err
}

// whole writes the member of data and returns its deflated size.
func (g *gzipRun) whole(w io.Writer, data []byte, name string, st vfs.Stat) int64 {
	const deflated, hasName, unix = 8, 8, 3
	head := []byte{0x1f, 0x8b, deflated, 0, 0, 0, 0, 0, 0, unix}
	switch g.level {
	case 1:
		head[8] = 4
	case 9:
		head[8] = 2
	}
	if !g.noName {
		if st.Kind == vfs.Regular {
			if s := st.Mtime / int64(time.Second); s > 0 && s < 1<<32 {
				binary.LittleEndian.PutUint32(head[4:], uint32(s))
			}
		}
		if name != "" && latin(name) {
			head[3] |= hasName
			head = append(append(head, name...), 0)
		}
	}
	packed := archive.Deflate(data, g.level, g.p.Tick)
	tail := binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(data))
	tail = binary.LittleEndian.AppendUint32(tail, uint32(len(data))) //nolint:gosec // at most deflateWhole
	for _, b := range [][]byte{head, packed, tail} {
		_, _ = w.Write(b) // the writer remembers what went wrong
	}
	return int64(len(packed))
}

// latin reports whether a name can stand in a gzip header.
func latin(s string) bool {
	for _, r := range s {
		if r == 0 || r > 0x7f {
			return false
		}
	}
	return true
}

// copy copies with ticks.
func (g *gzipRun) copy(dst io.Writer, src io.Reader) (int64, error) {
	buf := make([]byte, 64<<10)
	total := int64(0)
	for {
		n, err := src.Read(buf)
		g.p.Tick(1 + n>>10)
		if n > 0 {
			total += int64(n)
			if _, werr := dst.Write(buf[:n]); werr != nil {
				return total, werr
			}
		}
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// unzip decompresses every member of in.
func (g *gzipRun) unzip(name string, in io.Reader, out io.Writer) bool {
	br := bufio.NewReaderSize(in, 64<<10)
	head, err := br.Peek(2)
	switch {
	case len(head) == 0 && err != nil:
		if name != "stdin" || !g.force {
			g.notice("%s: unexpected end of file", name)
			return false
		}
		return true
	case len(head) < 2 || head[0] != 0x1f || head[1] != 0x8b:
		if g.force && (g.stdout || name == "stdin") {
			_, err := g.copy(out, br)
			return err == nil
		}
		g.notice("%s: not in gzip format", name)
		return false
	}
	z, err := gzip.NewReader(br)
	for {
		if err != nil {
			g.broken(name, err)
			return false
		}
		z.Multistream(false)
		if _, err = g.copy(out, z); err != nil {
			if w, ok := out.(*checkedWriter); !ok || w.err == nil {
				g.broken(name, err)
			}
			return false
		}
		// Zeros after a member are padding, anything else but another member is garbage.
		for {
			head, err = br.Peek(1)
			if err != nil || head[0] != 0 {
				break
			}
			_, _ = br.Discard(1)
			g.p.Tick(1)
		}
		if err != nil {
			return true
		}
		if head, _ = br.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
			if !g.quiet {
				g.p.Out.Flush()
				fmt.Fprintf(g.p.Err, "\ngzip: %s: decompression OK, trailing garbage ignored\n", name)
			}
			if g.status == 0 {
				g.status = 2
			}
			return true
		}
		err = z.Reset(br)
	}
}

// notice is fail with the empty line gzip puts before it.
func (g *gzipRun) notice(format string, args ...any) {
	g.p.Out.Flush()
	fmt.Fprintf(g.p.Err, "\ngzip: "+format+"\n", args...)
	g.status = 1
}

func (g *gzipRun) broken(name string, err error) {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		g.notice("%s: unexpected end of file", name)
	case errors.Is(err, gzip.ErrChecksum):
		g.notice("%s: invalid compressed data--crc error", name)
	case errors.Is(err, gzip.ErrHeader):
		g.notice("%s: not in gzip format", name)
	default:
		if e, ok := vfs.Of(err); ok {
			g.fail("%s: %s", name, e.Error())
			return
		}
		g.notice("%s: invalid compressed data--format violated", name)
	}
}

func (g *gzipRun) line(in, out int64, r, name string) {
	fmt.Fprintf(g.p.Out, "%19d %19d %s %s\n", in, out, r, name)
}

// listing prints the sizes of one file; like gzip it decompresses to count.
func (g *gzipRun) listing(name string, in io.Reader) {
	br := bufio.NewReader(in)
	count := &countingReader{r: br}
	head, err := br.Peek(2)
	if err != nil || head[0] != 0x1f || head[1] != 0x8b {
		if len(head) == 0 {
			g.notice("%s: unexpected end of file", name)
		} else {
			g.notice("%s: not in gzip format", name)
		}
		return
	}
	tail := &tailWriter{}
	z, err := gzip.NewReader(bufio.NewReader(io.TeeReader(count, tail)))
	if err != nil {
		g.broken(name, err)
		return
	}
	header := 10
	if z.Name != "" {
		header += len(z.Name) + 1
	}
	mtime := z.ModTime
	all, err := g.copy(io.Discard, z)
	if err != nil {
		g.broken(name, err)
		return
	}
	out := int64(binary.LittleEndian.Uint32(tail.last[4:])) // what the last member says
	overhead := int64(header) + 8
	if out != all&(1<<32-1) {
		overhead = 0 // several members: GNU counts their headers as data
	}
	if !g.head && !g.quiet {
		g.head = true
		if g.verbose {
			g.p.Out.WriteString("method  crc     date  time  ")
		}
		g.p.Out.WriteString("         compressed        uncompressed  ratio uncompressed_name\n")
	}
	if g.verbose {
		if mtime.IsZero() {
			mtime = g.p.Now()
		}
		fmt.Fprintf(g.p.Out, "defla %08x %s ", binary.LittleEndian.Uint32(tail.last[:4]), mtime.UTC().Format("Jan _2 15:04"))
	}
	target, ok := g.target(name)
	if !ok {
		target = name
	}
	if name == "stdin" {
		target = "stdout"
	}
	if g.withName && z.Name != "" {
		target = z.Name
	}
	g.overhead = overhead
	g.line(count.n, out, ratio(out-(count.n-overhead), out), target)
	g.files++
	g.totalIn += count.n
	g.totalOut += out
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// tailWriter keeps the last eight bytes: the checksum and the size.
type tailWriter struct{ last [8]byte }

func (t *tailWriter) Write(b []byte) (int, error) {
	if len(b) >= 8 {
		copy(t.last[:], b[len(b)-8:])
	} else {
		copy(t.last[:], t.last[len(b):])
		copy(t.last[8-len(b):], b)
	}
	return len(b), nil
}
