package archive

import (
	stdtar "archive/tar"
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/archive"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/vfs"
)

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
	case strings.HasSuffix(t.file, ".xz"), strings.HasSuffix(t.file, ".txz"), strings.HasSuffix(t.file, ".lzma"):
		return archive.XZ
	case strings.HasSuffix(t.file, ".zst"), strings.HasSuffix(t.file, ".tzst"):
		return archive.Zstd
	}
	return archive.None
}

func (t *tarRun) create() {
	if len(t.sources) == 0 && !t.listed {
		t.status = t.usage("Cowardly refusing to create an empty archive")
		panic(tarStop{})
	}
	var out io.Writer = t.p.Out
	if t.file != "" && t.file != "-" {
		f, err := t.p.Open(t.file, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
		if err != nil {
			t.noFile(t.compression() != archive.None, err)
		}
		defer f.Close()
		// a child writes a compressed one
		if st, err := f.Stat(); err == nil && st.Kind == vfs.Regular && t.compression() == archive.None {
			t.self = st.Ino
		}
		out = f
	} else if t.index == nil {
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
	for _, name := range t.written { // with -v
		_, _ = io.WriteString(t.listTo, "Verify "+name+"\n")
	}
}

// tarTime is how tar repeats a time it was given.
func tarTime(t time.Time) string {
	if t.Nanosecond() != 0 {
		return datetime.Format("%Y-%m-%d %H:%M:%S.%N", t)
	}
	return datetime.Format("%Y-%m-%d %H:%M:%S", t)
}

// writeAll writes the sources and the end of the archive, filled to a whole record; before is how long the archive was.
func (t *tarRun) writeAll(out io.Writer, before int64) {
	buf := bufio.NewWriterSize(out, 64<<10)
	records := &recordWriter{t: t, w: buf, n: before, last: before / t.record}
	n := &checkedWriter{w: records}
	t.headers = &headerWriter{w: n}
	w := stdtar.NewWriter(t.headers)
	if t.label != "" {
		if err := w.WriteHeader(&stdtar.Header{Typeflag: 'V', Name: t.label, ModTime: t.p.Now(),
			Format: stdtar.FormatGNU}); err != nil {
			t.fail("%v", err)
		}
	}
	for i, s := range t.sources {
		t.current = i
		if st, err := t.p.Stat(cmp.Or(s.dir, ".")); s.dir != "" && (err != nil || !st.IsDir()) {
			t.fatal("%s: Cannot open: %s", s.dir, proc.Strerror(cmpErr(err, vfs.ENOTDIR)))
		}
		t.add(w, s, s.name, true)
	}
	if err := w.Close(); err != nil {
		return // the writer below remembers why
	}
	for _, l := range t.links {
		if t.checkLinks && l.left > 0 {
			t.say("Missing links to %s.", program.Quote(l.name))
		}
	}
	if rest := (before + n.n) % t.record; rest != 0 {
		_, _ = n.Write(make([]byte, t.record-rest))
	}
	t.total("written", before+n.n)
	_ = buf.Flush()
}

func cmpErr(err, or error) error {
	if err != nil {
		return err
	}
	return or
}

// hardLink makes h a link to the member that has the same file already; false when there is none.
func (t *tarRun) hardLink(h *stdtar.Header, st vfs.Stat, name, original string) bool {
	if t.hardDereference {
		return false
	}
	if first := t.links[st.Ino]; first != nil {
		first.left--
		h.Typeflag, h.Size, h.Linkname = stdtar.TypeLink, 0, t.rename(first.name, 'h')
		return true
	}
	t.safe(name, "hard link targets")
	t.links[st.Ino] = &tarLink{original, int64(st.Nlink) - 1}
	return false
}

// add writes one file, and what is below it.
func (t *tarRun) add(w *stdtar.Writer, s tarSource, name string, given bool) {
	p := t.p
	p.Tick(1)
	if t.excluded(name, t.current) {
		return
	}
	full := s.at(name)
	stat := p.Lstat
	if t.follow {
		stat = p.Stat
	}
	st, err := stat(full)
	if err != nil {
		if t.noFail {
			t.say("%s: Warning: Cannot stat: %s", name, proc.Strerror(err))
			return
		}
		t.fail("%s: Cannot stat: %s", name, proc.Strerror(err))
		return
	}
	if t.newerThan != nil && !st.IsDir() && st.Mtime < t.newerThan.UnixNano() &&
		!(t.changed && st.Ctime >= t.newerThan.UnixNano()) {
		if given || t.verbose > 0 {
			t.say("%s: file is unchanged; not dumped", name)
		}
		return
	}
	if t.ignoring(name) {
		return
	}
	content, below := true, !s.flat
	if st.IsDir() && below {
		var whole bool
		if whole, content, below = t.tagged(name, full); !whole {
			return
		}
	}
	if t.self != 0 && st.Ino == t.self && st.Kind == vfs.Regular {
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
	typed, original := member, t.safe(member, "member names")
	member = t.rename(original, 'r')
	known, inArchive := t.archived[strings.TrimSuffix(member, "/")]
	if inArchive && !st.IsDir() && st.Mtime/1e9 <= known {
		return
	}
	h := &stdtar.Header{
		Name: member, Mode: int64(st.Mode), Uid: int(st.UID), Gid: int(st.GID), Format: t.hformat,
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
		h.Mode = int64(t.mode.Apply(st.Mode, st.IsDir(), 0))
	}
	var data io.ReadCloser
	switch st.Kind {
	case vfs.Dir:
		h.Typeflag = stdtar.TypeDir
	case vfs.Symlink:
		h.Typeflag = stdtar.TypeSymlink
		if h.Linkname, err = p.FS.Readlink(p.Abs(full)); err != nil {
			t.fail("%s: Cannot readlink: %s", name, proc.Strerror(err))
			return
		}
		h.Linkname = t.rename(h.Linkname, 's')
		if st.Nlink > 1 {
			t.hardLink(h, st, name, original)
		}
	case vfs.FIFO:
		h.Typeflag = stdtar.TypeFifo
	case vfs.Char:
		h.Typeflag = stdtar.TypeChar
		h.Devmajor, h.Devminor = int64(st.Rdev>>8), int64(st.Rdev&0xff)
	default:
		h.Typeflag, h.Size = stdtar.TypeReg, st.Size
		if (st.Nlink > 1 || t.follow || len(t.sources) > 1) && t.hardLink(h, st, name, original) {
			break
		}
		if data, err = p.Open(full, vfs.ReadOnly, 0); err != nil {
			if t.noFail {
				t.say("%s: Warning: Cannot open: %s", name, proc.Strerror(err))
				return
			}
			t.fail("%s: Cannot open: %s", name, proc.Strerror(err))
			return
		}
		defer data.Close()
	}
	dirKnown := inArchive && st.IsDir() // -u looks only at what is in it
	if t.numeric {
		h.Uname, h.Gname = "", ""
	}
	if t.v7 {
		h.Uname, h.Gname = "", ""
		if len(h.Name) > 99 {
			t.fail("%s: file name is too long (max 99); not dumped", name)
			return
		}
	}
	if !dirKnown {
		t.display(h, typed, t.verbose)
		if t.verify && t.verbose > 0 {
			t.p.Hold(len(h.Name) + 16)
			t.written = append(t.written, t.quoteName(h.Name))
		}
	}
	if t.mtime != nil && !(t.clamp && h.ModTime.Before(*t.mtime)) {
		h.ModTime = time.Unix(t.mtime.Unix(), 0)
	}
	if dirKnown {
		err = nil
	} else {
		t.headers.inHeader = true
		err = w.WriteHeader(h)
		t.headers.inHeader = false
	}
	switch {
	case err == nil:
	case t.hformat == stdtar.FormatUSTAR && len(h.Name) > 256:
		t.fail("%s: file name is too long (max 256); not dumped", name)
		return
	case t.hformat == stdtar.FormatUSTAR:
		t.fail("%s: file name is too long (cannot be split); not dumped", name)
		return
	default:
		t.fail("%s: %v", name, err)
		return
	}
	if data != nil {
		n, err := t.copy(w, io.LimitReader(data, h.Size))
		if err != nil {
			t.fail("%s: Read error at byte %d: %s", name, n, proc.Strerror(err))
		}
		if n < h.Size {
			t.fail("%s: File shrank by %d bytes; padding with zeros", name, h.Size-n)
			_, _ = t.copy(w, io.LimitReader(zeros{}, h.Size-n))
		}
	}
	if st.IsDir() && below {
		list, err := p.ReadDir(full)
		if err != nil {
			t.fail("%s: Cannot open: %s", name, proc.Strerror(err))
			return
		}
		defer t.ignoreIn(full, name)()
		for _, d := range list {
			if !content && !t.isTag(d.Name) {
				continue
			}
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

// headerWriter leaves the device numbers of what is no device empty in GNU headers, as GNU tar does; archive/tar
// fills them with zeros.
type headerWriter struct {
	w        io.Writer
	inHeader bool
}

func (g *headerWriter) Write(b []byte) (int, error) {
	if !g.inHeader || len(b) != 512 || string(b[257:265]) != "ustar  \x00" || strings.IndexByte("34KL", b[156]) >= 0 {
		return g.w.Write(b)
	}
	var h [512]byte
	copy(h[:], b)
	clear(h[329:345])
	copy(h[148:156], "        ")
	sum := 0
	for _, c := range h {
		sum += int(c)
	}
	copy(h[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return g.w.Write(h[:])
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// isTag reports whether a name is that of an --exclude-tag.
func (t *tarRun) isTag(name string) bool {
	return slices.ContainsFunc(t.tags, func(g tarTag) bool { return g.name == name })
}

// cacheSignature begins the tag of a cache directory.
const cacheSignature = "Signature: 8a477f597d28d172789f06886806bc55"

// tagged looks for the tags in a directory: whether it goes into the archive at all, its content besides the tag, and
// anything below it.
func (t *tarRun) tagged(name, full string) (whole, content, below bool) {
	warn := func(tag, what string) {
		if t.verbose > 0 {
			t.say("%s: contains a cache directory tag %s; %s not dumped", strings.TrimSuffix(name, "/")+"/", tag, what)
		}
	}
	for _, g := range t.tags {
		tag := program.JoinPath(full, g.name)
		if _, err := t.p.Lstat(tag); err != nil {
			continue
		}
		if g.cache {
			if b, err := t.p.ReadFile(tag); err != nil || !strings.HasPrefix(string(b), cacheSignature) {
				continue
			}
		}
		switch g.what {
		case "all":
			warn(g.name, "directory")
			return false, false, false
		case "under":
			warn(g.name, "contents")
			return true, true, false
		default:
			warn(g.name, "contents")
			return true, false, true
		}
	}
	return true, true, true
}

// total is --totals.
func (t *tarRun) total(what string, n int64) {
	if t.totals {
		t.p.Out.Flush()
		fmt.Fprintf(t.p.Err, "Total bytes %s: %d (%siB, 0B/s)\n", what, n, program.HumanSize(uint64(max(n, 0)), 1024))
	}
}

// tarIgnore is a file of patterns that is looked for in every directory (--exclude-ignore).
type tarIgnore struct {
	file  string
	below bool // its patterns hold in the directories below too
}

// tarIgnored is what such a file says.
type tarIgnored struct {
	dir      string
	patterns []string
	below    bool
}

// ignoreIn reads the directory's files of patterns; what it returns ends their scope.
func (t *tarRun) ignoreIn(full, name string) func() {
	before := len(t.ignored)
	for _, g := range t.ignores {
		b, err := t.p.ReadFile(program.JoinPath(full, g.file))
		if err != nil {
			continue
		}
		in := tarIgnored{dir: strings.TrimSuffix(name, "/") + "/", below: g.below}
		for l := range strings.Lines(string(b)) {
			if l = strings.TrimSpace(l); l != "" && l[0] != '#' {
				in.patterns = append(in.patterns, l)
			}
		}
		t.ignored = append(t.ignored, in)
	}
	return func() { t.ignored = t.ignored[:before] }
}

// ignoring reports whether a pattern of a directory above keeps the name out.
func (t *tarRun) ignoring(name string) bool {
	for _, in := range t.ignored {
		rel, ok := strings.CutPrefix(name, in.dir)
		if !ok || !in.below && strings.Contains(rel, "/") {
			continue
		}
		for _, p := range in.patterns {
			if program.Fnmatch(t.p, p, rel, false) || program.Fnmatch(t.p, p, program.BaseName(rel), false) {
				return true
			}
		}
	}
	return false
}
