package archive

import (
	stdtar "archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/archive"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// append is -r and -u: the new members go where the old end of the archive was.
func (t *tarRun) append() {
	if t.file == "" || t.file == "-" {
		t.fatal("Options '-Aru' are incompatible with '-f -'")
	}
	t.onlyPlain()
	f, err := t.p.Open(t.file, vfs.ReadWrite|vfs.Create, 0o666)
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

// onlyPlain refuses to change an archive that is compressed.
func (t *tarRun) onlyPlain() {
	const refusal = "Cannot update compressed archives"
	if t.packed {
		t.status = t.usage(refusal)
		panic(tarStop{})
	}
	f, err := t.p.Open(t.file, vfs.ReadOnly, 0)
	if err != nil {
		return // whoever opens it next says why
	}
	head := make([]byte, 8)
	n, _ := io.ReadFull(f, head)
	_ = f.Close()
	if archive.Detect(head[:n]) != archive.None {
		t.fatal(refusal)
	}
}

// scan finds where the members of an archive end, and for -u when each was changed.
func (t *tarRun) scan(f vfs.File) int64 {
	st, err := f.Stat()
	if err != nil || st.Size == 0 {
		return 0
	}
	r := newTarInput(t, archive.None, f)
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
		end = (r.n + tarBlock - 1) / tarBlock * tarBlock
	}
}

// delete is --delete: the archive is written again without the members.
func (t *tarRun) delete() {
	t.named = t.sources
	t.onlyPlain()
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
	t.missing()
	f, err := t.p.Open(t.file, vfs.WriteOnly|vfs.Trunc, 0)
	if err == nil {
		_, err = f.Write(out.Bytes())
		_ = f.Close()
	}
	if err != nil {
		t.fatal("%s: Cannot write: %s", t.file, proc.Strerror(err))
	}
}

// concatenate is -A: the members of other archives go to the end of this one, as they are.
func (t *tarRun) concatenate() {
	t.onlyPlain()
	f, err := t.p.Open(t.file, vfs.ReadWrite|vfs.Create, 0o666)
	if err != nil {
		t.fatal("%s: Cannot open: %s", t.file, proc.Strerror(err))
	}
	defer f.Close()
	end := t.scan(f)
	for _, s := range t.sources {
		in, err := t.p.Open(s.at(s.name), vfs.ReadOnly, 0)
		if err != nil {
			t.fail("%s: Cannot open: %s", s.name, proc.Strerror(err))
			continue
		}
		n := t.scan(in)
		_, err = in.Seek(0, io.SeekStart)
		if err == nil {
			_, err = f.Seek(end, io.SeekStart)
		}
		if err == nil {
			_, err = t.copy(f, io.LimitReader(in, n))
		}
		_ = in.Close()
		if err != nil {
			t.fatal("%s: Cannot write: %s", t.file, proc.Strerror(err))
		}
		end += n
	}
	rest := t.record - (end+2*tarBlock)%t.record
	if rest == t.record {
		rest = 0
	}
	err = f.Truncate(end)
	if err == nil {
		err = f.Truncate(end + 2*tarBlock + rest)
	}
	if err != nil {
		t.fatal("%s: Cannot write: %s", t.file, proc.Strerror(err))
	}
}

// compare is -d.
func (t *tarRun) compare() {
	r, done := t.input()
	defer done()
	for {
		t.p.Tick(1)
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.corrupt(err, false)
			break
		}
		s, ok := t.wanted(h.Name)
		if !ok || t.excluded(h.Name, 1<<30) || h.Typeflag == 'V' || h.Typeflag == stdtar.TypeXGlobalHeader {
			continue
		}
		t.show(h, t.listTo, t.verbose)
		t.compareMember(r, h, s)
	}
	t.missing()
}

func (t *tarRun) compareMember(r io.Reader, h *stdtar.Header, s tarSource) {
	p := t.p
	name := strings.TrimSuffix(t.safe(h.Name, "member names"), "/")
	full := s.at(name)
	differ := func(what string) {
		fmt.Fprintf(p.Out, "%s: %s\n", t.quoteName(h.Name), what)
		t.status = max(t.status, 1)
	}
	warn := func(call string, err error) {
		t.say("%s: Warning: Cannot %s: %s", h.Name, call, proc.Strerror(err))
		t.status = max(t.status, 1)
	}
	st, err := p.Lstat(full)
	if h.Typeflag == stdtar.TypeSymlink {
		target, err := p.FS.Readlink(p.Abs(full))
		switch {
		case errors.Is(err, vfs.EINVAL):
			differ("File type differs")
		case err != nil:
			warn("readlink", err)
		case target != h.Linkname:
			differ("Symlink differs")
		}
		return
	}
	if err != nil {
		warn("stat", err)
		return
	}
	kinds := map[byte]vfs.Kind{stdtar.TypeDir: vfs.Dir, stdtar.TypeFifo: vfs.FIFO, stdtar.TypeChar: vfs.Char}
	want, ok := kinds[h.Typeflag]
	if !ok {
		want = vfs.Regular
	}
	if h.Typeflag == stdtar.TypeLink {
		if to, err := p.Lstat(s.at(t.safe(h.Linkname, "hard link targets"))); err != nil || to.Ino != st.Ino {
			differ("Not linked to " + h.Linkname)
		}
		return
	}
	if st.Kind != want {
		differ("File type differs")
		return
	}
	if st.Mode != uint32(h.Mode)&0o7777 { //nolint:gosec // twelve bits
		differ("Mode differs")
	}
	if want == vfs.Dir {
		return
	}
	if int(st.UID) != h.Uid {
		differ("Uid differs")
	}
	if int(st.GID) != h.Gid {
		differ("Gid differs")
	}
	if st.Mtime/1e9 != h.ModTime.Unix() {
		differ("Mod time differs")
	}
	if want != vfs.Regular {
		return
	}
	if st.Size != h.Size {
		differ("Size differs")
		return
	}
	f, err := p.Open(full, vfs.ReadOnly, 0)
	if err != nil {
		warn("open", err)
		return
	}
	defer f.Close()
	a, b := bufio.NewReaderSize(f, 32<<10), make([]byte, 32<<10)
	mine := make([]byte, 32<<10)
	for {
		n, err := r.Read(b)
		p.Tick(1 + n>>10)
		if m, _ := io.ReadFull(a, mine[:n]); m != n || !bytes.Equal(mine[:n], b[:n]) {
			differ("Contents differ")
			return
		}
		if err != nil {
			return
		}
	}
}

// testLabel prints the label of the archive, or compares it with those given.
func (t *tarRun) testLabel() {
	r, done := t.input()
	defer done()
	h, err := r.Next()
	labelled := err == nil && h.Typeflag == 'V'
	if len(t.sources) == 0 {
		if labelled {
			fmt.Fprintln(t.p.Out, h.Name)
		}
		return
	}
	if !labelled || !slices.ContainsFunc(t.sources, func(s tarSource) bool { return s.name == h.Name }) {
		if t.verbose > 0 {
			t.say("Archive label mismatch")
		}
		t.status = 1
	}
}
