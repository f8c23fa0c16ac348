package archive

import (
	stdtar "archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/archive"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// input opens the archive for reading, decompressed.
func (t *tarRun) input() (r *tarInput, done func()) {
	in := t.p.Stdin
	done = func() {}
	if t.file != "" && t.file != "-" {
		f, err := t.p.Open(t.file, vfs.ReadOnly, 0)
		if err != nil {
			t.noFile(t.packed, err)
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
		status := filterFailed(t.p, t.format, len(head) == 0, false)
		t.say("Child returned status %d", status)
		t.fatal("")
	case format != archive.None && !t.packed && (t.file == "" || t.file == "-"):
		t.say("Archive is compressed. Use -%s option", map[archive.Format]string{archive.Gzip: "z", archive.Bzip2: "j",
			archive.XZ: "J", archive.Zstd: "-zstd"}[format])
		t.fatal("")
	case format == archive.None && len(head) < tarBlock:
		t.fail("This does not look like a tar archive")
		t.missing()
		t.say("Exiting with failure status due to previous errors")
		panic(tarStop{})
	}
	t.p.Hold(tarMemory)
	z, err := archive.NewReader(format, br, t.p)
	if err != nil {
		status := filterFailed(t.p, format, false, true)
		t.say("Child returned status %d", status)
		t.fatal("")
	}
	closeFile := done
	t.in = newTarInput(t, format, z)
	return t.in, func() {
		_ = z.Close()
		t.p.Release(tarMemory)
		closeFile()
	}
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
				t.fatal("%s: Cannot open: %s", d, proc.Strerror(cmpErr(err, vfs.ENOTDIR)))
			}
		}
	}
	if t.stdout && t.index == nil {
		t.listTo = t.p.Err
	}
	first, skipping := true, false
	for {
		t.p.Tick(1)
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, stdtar.ErrHeader) {
			if !skipping {
				t.corrupt(err, first)
			}
			first, skipping = false, true
			continue
		}
		if skipping && errors.Is(err, io.ErrUnexpectedEOF) && t.in.failed == nil {
			break
		}
		if err != nil {
			t.corrupt(err, first)
			break
		}
		t.at = max(t.in.n-tarBlock, 0)
		if first && t.label != "" && (h.Typeflag != 'V' || !program.Fnmatch(t.p, t.label, h.Name, false)) {
			if h.Typeflag != 'V' {
				t.fatal("Archive not labeled to match %s", program.Quote(t.label))
			}
			t.fatal("Volume %s does not match %s", program.Quote(h.Name), program.Quote(t.label))
		}
		first, skipping = false, false
		if h.Typeflag == stdtar.TypeXGlobalHeader {
			continue
		}
		s, ok := t.wanted(h.Name)
		if !ok || t.excluded(h.Name, 1<<30) {
			continue
		}
		if t.op == "t" {
			if h.Typeflag != 'V' {
				t.safe(h.Name, "member names") // only to say so
			}
			if t.transformed {
				h.Name, h.Linkname = t.below(t.rename(t.stripped(h.Name), 'r')), t.rename(h.Linkname, 's')
			}
			t.show(h, t.listTo, t.verbose+1)
			continue
		}
		t.extract(r, h, s)
	}
	if t.blocks {
		_, _ = fmt.Fprintf(t.listTo, "block %d: ** Block of NULs **\n", t.in.n/tarBlock-1)
	}
	for _, f := range slices.Backward(t.later) {
		f()
	}
	t.missing()
	t.total("read", (t.in.n+tarRecord-1)/tarRecord*tarRecord)
}

func (t *tarRun) corrupt(err error, first bool) {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), t.in != nil && t.in.failed != nil:
		if t.in != nil && t.in.failed != nil && t.in.format != archive.None {
			status := filterFailed(t.p, t.in.format, false, true)
			t.in.format = archive.None // once
			if first {
				t.say("Child returned status %d", status)
				t.fatal("")
			}
		}
		t.say("Unexpected EOF in archive")
		t.fatal("")
	case first:
		t.fail("This does not look like a tar archive")
		t.say("Skipping to next header")
	default:
		t.fail("Skipping to next header")
	}
}

func (t *tarRun) extract(r io.Reader, h *stdtar.Header, s tarSource) {
	p := t.p
	member := h.Name
	if h.Typeflag == 'V' {
		t.show(h, t.listTo, t.verbose)
		return
	}
	if t.strip > 0 {
		if member = t.stripped(member); member == "" || member == "/" {
			return
		}
	}
	member = t.rename(member, 'r')
	if h.Typeflag == stdtar.TypeSymlink {
		h.Linkname = t.rename(h.Linkname, 's')
	}
	inside := t.safe(member, "member names")
	if !t.absolute && slices.Contains(strings.Split(member, "/"), "..") {
		t.fail("%s: Member name contains '..'", h.Name)
		return
	}
	member = t.below(inside)
	if t.transformed {
		c := *h
		c.Name = member
		t.show(&c, t.listTo, t.verbose)
	} else {
		t.show(h, t.listTo, t.verbose)
	}
	if t.command != "" {
		if h.Typeflag == stdtar.TypeReg {
			t.pipe(r, h, member)
		}
		return
	}
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
	if oldErr == nil && t.skip && (h.Typeflag != stdtar.TypeDir || old.IsDir()) {
		if t.verbose > 0 {
			t.say("%s: skipping existing file", name)
		}
		return
	}
	if oldErr == nil && h.Typeflag != stdtar.TypeDir {
		if t.backup.Kind != "" && !old.IsDir() {
			if to, err := t.backup.Move(p, full); err != nil {
				t.fail("%s: Cannot rename to %s: %s", name, to, proc.Strerror(err))
			} else if t.verbose > 0 && to != "" {
				_, _ = fmt.Fprintf(t.listTo, "Renaming %s to %s\n", program.Quote(name), program.Quote(to))
			}
		}
		switch {
		case t.backup.Kind != "":
		case t.newer && old.Mtime >= h.ModTime.UnixNano():
			t.say("Current %s is newer or same age", program.Quote(name))
			return
		case t.keep:
			switch h.Typeflag {
			case stdtar.TypeSymlink:
				t.fail("%s: Cannot create symlink to %s: File exists", name, program.Quote(h.Linkname))
			case stdtar.TypeLink:
				if st, err := p.Lstat(s.at(h.Linkname)); err != nil || st.Ino != old.Ino {
					t.fail("%s: Cannot hard link to %s: File exists", name, program.Quote(h.Linkname))
				}
			default:
				t.fail("%s: Cannot open: File exists", name)
			}
			return
		case old.IsDir():
			if err := p.FS.Rmdir(abs); err != nil {
				t.fail("%s: Cannot open: %s", name, proc.Strerror(vfs.EISDIR))
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
		if errors.Is(err, vfs.ENOENT) {
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
			if st, err := p.Stat(full); err != nil || !st.IsDir() || !t.keepDirLinks {
				_ = p.FS.Unlink(abs)
				oldErr = vfs.ENOENT
			}
		}
		if oldErr != nil {
			err := p.FS.Mkdir(abs, mode|0o700)
			if errors.Is(err, vfs.ENOENT) {
				t.parents(s, name)
				err = p.FS.Mkdir(abs, mode|0o700)
			}
			if err != nil && !errors.Is(err, vfs.EEXIST) {
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
			target = t.stripped(target)
		}
		target = p.Abs(s.at(t.below(t.rename(target, 'h'))))
		err := p.FS.Link(target, abs)
		if errors.Is(err, vfs.ENOENT) {
			t.parents(s, name)
			err = p.FS.Link(target, abs)
		}
		if err != nil {
			t.fail("%s: Cannot hard link to %s: %s", name, program.Quote(h.Linkname), proc.Strerror(err))
		}
		return
	case stdtar.TypeFifo:
		place(func() error { return p.FS.Mknod(abs, vfs.FIFO, mode, 0) })
		return
	case stdtar.TypeChar, stdtar.TypeBlock:
		place(func() error { return p.FS.Mknod(abs, vfs.Char, mode, uint32(h.Devmajor<<8|h.Devminor)) })
		return
	case stdtar.TypeReg, stdtar.TypeGNUSparse, stdtar.TypeCont:
	default:
		t.fail("%s: Unknown file type '%c', extracted as normal file", name, h.Typeflag)
	}
	var f vfs.File
	if !place(func() (err error) {
		f, err = p.Open(full, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o600)
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
		if errors.Is(err, io.ErrUnexpectedEOF) {
			if t.in.failed != nil && t.in.format != archive.None {
				filterFailed(p, t.in.format, false, true)
				t.in.format = archive.None
			}
			t.say("Unexpected EOF in archive") // once for the data, once for the header that should follow
		}
		t.corrupt(err, false)
	}
}

// below puts a name below --one-top-level's directory, unless it is there already.
func (t *tarRun) below(name string) string {
	top := t.topLevel
	if top == "" || name == top || strings.HasPrefix(name, top+"/") {
		return name
	}
	return top + "/" + name
}

// stripped is a member name without --strip-components' components; a directory keeps its slash.
func (t *tarRun) stripped(name string) string {
	if t.strip == 0 {
		return name
	}
	dir := strings.HasSuffix(name, "/")
	parts := strings.Split(strings.TrimSuffix(name, "/"), "/")
	name = strings.Join(parts[min(t.strip, len(parts)):], "/")
	if dir {
		name += "/"
	}
	return name
}

// pipe gives a member to --to-command.
func (t *tarRun) pipe(r io.Reader, h *stdtar.Header, member string) {
	child := t.p.Child("sh", "-c", t.command)
	env := t.p.Variables()
	for _, kv := range []string{
		"TAR_FILENAME=" + member, "TAR_REALNAME=" + h.Name, "TAR_FILETYPE=f", "TAR_SIZE=" + strconv.FormatInt(h.Size, 10),
		fmt.Sprintf("TAR_MODE=%#o", h.Mode), "TAR_UNAME=" + h.Uname, "TAR_GNAME=" + h.Gname, "TAR_UID=" + strconv.Itoa(h.Uid),
		"TAR_GID=" + strconv.Itoa(h.Gid), "TAR_MTIME=" + strconv.FormatInt(h.ModTime.Unix(), 10), "TAR_ARCHIVE=" + t.file,
		"TAR_VERSION=1.34",
	} {
		env = env.Set(kv)
	}
	child.Env, child.Stdin = env, r
	if status := t.p.Exec(t.ctx, child); status != 0 && !t.anyStatus {
		t.fail("%d: Child returned status %d", t.p.PID, status)
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

func (t *tarRun) copy(dst io.Writer, src io.Reader) (int64, error) {
	if t.buf == nil {
		t.buf = make([]byte, 64<<10) // one for all members: clearing it costs more than a small one's copy
	}
	return program.CopyThrough(t.p, t.buf, dst, src, 10)
}
