package wasi

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// calls are the system calls: each takes its arguments from in and puts its results into out, which is dropped when
// there is an error.
var calls = [...]func(g *program, in, out *Frame) error{
	FdAdvise:             (*program).fdAdvise,
	FdAllocate:           (*program).fdAllocate,
	FdClose:              (*program).fdClose,
	FdFdstatGet:          (*program).fdFdstatGet,
	FdFdstatSetFlags:     (*program).fdFdstatSetFlags,
	FdFilestatGet:        (*program).fdFilestatGet,
	FdFilestatSetSize:    (*program).fdFilestatSetSize,
	FdFilestatSetTimes:   (*program).fdFilestatSetTimes,
	FdPread:              (*program).fdPread,
	FdPrestatDirName:     (*program).fdPrestatDirName,
	FdPwrite:             (*program).fdPwrite,
	FdRead:               (*program).fdRead,
	FdReaddir:            (*program).fdReaddir,
	FdRenumber:           (*program).fdRenumber,
	FdSeek:               (*program).fdSeek,
	FdSync:               (*program).fdSync,
	FdWrite:              (*program).fdWrite,
	PathCreateDirectory:  (*program).pathCreateDirectory,
	PathFilestatGet:      (*program).pathFilestatGet,
	PathFilestatSetTimes: (*program).pathFilestatSetTimes,
	PathLink:             (*program).pathLink,
	PathOpen:             (*program).pathOpen,
	PathReadlink:         (*program).pathReadlink,
	PathRemoveDirectory:  (*program).pathRemoveDirectory,
	PathRename:           (*program).pathRename,
	PathSymlink:          (*program).pathSymlink,
	PathUnlinkFile:       (*program).pathUnlinkFile,
	PollOneoff:           (*program).pollOneoff,
}

// regular is the seekable file behind a descriptor.
func (g *program) regular(fd uint32) (vfs.File, error) {
	f, err := g.file(fd)
	if err != nil {
		return nil, err
	}
	if f.dir != "" {
		return nil, vfs.EISDIR
	}
	r, ok := f.stream.(vfs.File)
	if !ok {
		return nil, vfs.ESPIPE
	}
	return r, nil
}

func (g *program) fdAllocate(in, _ *Frame) error {
	r, err := g.regular(in.U32())
	end := in.U64() + in.U64()
	if err != nil {
		return err
	}
	st, err := r.Stat()
	if err != nil || st.Size >= int64(end) {
		return err
	}
	return r.Truncate(int64(end))
}

func (g *program) fdClose(in, _ *Frame) error {
	fd := in.U32()
	f, err := g.file(fd)
	if err != nil {
		return err
	}
	g.files[fd] = nil
	return f.release()
}

func (g *program) fdFdstatGet(in, out *Frame) error {
	f, err := g.file(in.U32())
	if err != nil {
		return err
	}
	st, err := f.stat(g.p)
	if err != nil {
		return err
	}
	out.PutU16(uint16(types[st.Kind]))
	out.PutU16(f.flags)
	out.PutU32(0)
	rights := f.rights
	if f.dir == "" {
		// A device that cannot be sought in is taken for a terminal, and there are none.
		rights |= rightSeek | rightTell
	}
	out.PutU64(rights)
	out.PutU64(rightsAll)
	return nil
}

func (g *program) fdFdstatSetFlags(in, _ *Frame) error {
	f, err := g.file(in.U32())
	if err == nil {
		f.flags = in.U16()
	}
	return err
}

func (g *program) fdFilestatGet(in, out *Frame) error {
	f, err := g.file(in.U32())
	if err != nil {
		return err
	}
	st, err := f.stat(g.p)
	putStat(out, st)
	return err
}

func (g *program) fdFilestatSetSize(in, _ *Frame) error {
	r, err := g.regular(in.U32())
	size := int64(in.U64())
	switch {
	case err != nil:
		return err
	case size < 0:
		return vfs.EINVAL
	}
	return r.Truncate(size)
}

// times is the time of change that a call asks for; ok is false when it asks for none. Times of access are not kept.
func (g *program) times(in *Frame) (mtime int64, ok bool, err error) {
	_, mtim, flags := in.U64(), in.U64(), in.U16()
	const setMtime, setMtimeNow = 4, 8
	switch flags & (setMtime | setMtimeNow) {
	case setMtime | setMtimeNow:
		return 0, false, vfs.EINVAL
	case setMtime:
		return int64(mtim), true, nil
	case setMtimeNow:
		return g.p.Now().UnixNano(), true, nil
	}
	return 0, false, nil
}

func (g *program) fdFilestatSetTimes(in, _ *Frame) error {
	f, err := g.file(in.U32())
	if err != nil {
		return err
	}
	mtime, ok, err := g.times(in)
	if err != nil || !ok || f.path == "" {
		return err
	}
	return g.p.FS.Utimes(f.path, mtime, true)
}

func (g *program) pathFilestatSetTimes(in, _ *Frame) error {
	follow := in.U32()&1 != 0
	path, err := g.path(in)
	if err != nil {
		return err
	}
	mtime, ok, err := g.times(in)
	if err != nil || !ok {
		return err
	}
	return g.p.FS.Utimes(path, mtime, follow)
}

// room makes n bytes at the end of out to be read into.
func room(out *Frame, n uint32) []byte {
	n = min(n, MaxData)
	out.PutU32(0)
	at := len(out.B)
	if cap(out.B)-at < int(n) {
		b := make([]byte, at, at+int(n))
		copy(b, out.B)
		out.B = b
	}
	return out.B[at : at+int(n)]
}

// filled is how many bytes of the room are used.
func filled(out *Frame, n int) {
	at := len(out.B)
	binary.LittleEndian.PutUint32(out.B[at-4:], uint32(n))
	out.B = out.B[:at+n]
}

func (g *program) fdRead(in, out *Frame) error {
	f, err := g.file(in.U32())
	n := in.U32()
	if err != nil {
		return err
	}
	r, ok := f.stream.(io.Reader)
	switch {
	case f.dir != "":
		return vfs.EISDIR
	case !ok || f.rights&rightRead == 0:
		return vfs.EBADF
	}
	b := room(out, n)
	got, err := r.Read(b)
	filled(out, max(got, 0))
	if got > 0 || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (g *program) fdPread(in, out *Frame) error {
	r, err := g.regular(in.U32())
	n, off := in.U32(), int64(in.U64())
	switch {
	case err != nil:
		return err
	case off < 0:
		return vfs.EINVAL
	}
	b := room(out, n)
	got, err := r.ReadAt(b, off)
	filled(out, max(got, 0))
	if got > 0 || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (g *program) fdWrite(in, out *Frame) error {
	f, err := g.file(in.U32())
	data := in.Bytes()
	if err != nil {
		return err
	}
	w, ok := f.stream.(io.Writer)
	switch {
	case f.dir != "":
		return vfs.EISDIR
	case !ok || f.rights&rightWrite == 0:
		return vfs.EBADF
	}
	if r, ok := f.stream.(vfs.File); ok && f.flags&flagAppend != 0 {
		_, _ = r.Seek(0, io.SeekEnd)
	}
	n, err := w.Write(data)
	out.PutU32(uint32(max(n, 0)))
	if n > 0 {
		return nil
	}
	return err
}

func (g *program) fdPwrite(in, out *Frame) error {
	r, err := g.regular(in.U32())
	off, data := int64(in.U64()), in.Bytes()
	switch {
	case err != nil:
		return err
	case off < 0:
		return vfs.EINVAL
	}
	n, err := r.WriteAt(data, off)
	out.PutU32(uint32(max(n, 0)))
	if n > 0 {
		return nil
	}
	return err
}

// fdPrestatDirName names the one directory that every program has from the beginning.
func (g *program) fdPrestatDirName(in, out *Frame) error {
	f, err := g.file(in.U32())
	if err != nil || f.dir != "/" {
		return vfs.EBADF
	}
	out.PutString(f.dir)
	return nil
}

func (g *program) fdReaddir(in, out *Frame) error {
	f, err := g.file(in.U32())
	cookie, n := in.U64(), in.U32()
	switch {
	case err != nil:
		return err
	case f.dir == "":
		return vfs.ENOTDIR
	}
	if f.fixed.Kind == 0 && (cookie == 0 || f.names == nil) {
		names, err := g.p.FS.ReadDir(f.dir)
		if err != nil {
			return err
		}
		f.names = append([]vfs.Dirent{{Name: ".", Kind: vfs.Dir}, {Name: "..", Kind: vfs.Dir}}, names...)
	}
	b := room(out, n)[:0]
	limit := int(min(n, MaxData))
	for i := min(cookie, uint64(len(f.names))); i < uint64(len(f.names)) && len(b) < limit; i++ {
		e := f.names[i]
		b = binary.LittleEndian.AppendUint64(b, i+1)
		b = binary.LittleEndian.AppendUint64(b, e.Ino)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(e.Name)))
		b = binary.LittleEndian.AppendUint32(b, uint32(types[e.Kind]))
		b = append(b, e.Name...)
	}
	// The last entry may be cut: a program sees that by the length, and asks again.
	got := min(len(b), limit)
	out.B = append(out.B, b[:got]...)
	binary.LittleEndian.PutUint32(out.B[len(out.B)-got-4:], uint32(got))
	return nil
}

func (g *program) fdRenumber(in, _ *Frame) error {
	from, to := in.U32(), in.U32()
	f, err := g.file(from)
	if err != nil {
		return err
	}
	old, err := g.file(to)
	switch {
	case err != nil:
		return err
	case from != to:
		_ = old.release()
		g.files[to], g.files[from] = f, nil
	}
	return nil
}

func (g *program) fdSeek(in, out *Frame) error {
	r, err := g.regular(in.U32())
	off, whence := int64(in.U64()), int(in.U32())
	if err != nil {
		return err
	}
	at, err := r.Seek(off, whence)
	out.PutU64(uint64(at))
	return err
}

// fdSync has nothing to do: what a script has written is there for good when its exec is committed.
func (g *program) fdSync(in, _ *Frame) error {
	_, err := g.file(in.U32())
	return err
}

func (g *program) pathCreateDirectory(in, _ *Frame) error {
	path, err := g.path(in)
	if err != nil {
		return err
	}
	return g.p.FS.Mkdir(path, 0o777&^g.p.Umask)
}

func (g *program) pathFilestatGet(in, out *Frame) error {
	follow := in.U32()&1 != 0
	path, err := g.path(in)
	if err != nil {
		return err
	}
	if _, st, ok, err := g.over.open(path); ok {
		putStat(out, st)
		return err
	}
	stat := g.p.FS.Lstat
	if follow {
		stat = g.p.FS.Stat
	}
	st, err := stat(path)
	putStat(out, st)
	return err
}

func (g *program) pathLink(in, _ *Frame) error {
	follow := in.U32()&1 != 0
	from, err := g.path(in)
	if err != nil {
		return err
	}
	to, err := g.path(in)
	if err != nil {
		return err
	}
	if follow {
		if from, err = g.p.FS.Realpath(from); err != nil {
			return err
		}
	}
	return g.p.FS.Link(from, to)
}

func (g *program) pathOpen(in, out *Frame) error {
	follow := in.U32()&1 != 0
	path, err := g.path(in)
	oflags, rights, fdflags := in.U32(), in.U64(), in.U16()
	if err != nil {
		return err
	}
	f, err := g.open(path, follow, oflags, rights, fdflags)
	if err != nil {
		return err
	}
	fd, err := g.add(f)
	out.PutU32(fd)
	return err
}

// Flags of path_open.
const (
	openCreate = 1 << iota
	openDirectory
	openExclusive
	openTruncate
)

func (g *program) open(path string, follow bool, oflags uint32, rights uint64, fdflags uint16) (*file, error) {
	if f, _, ok, err := g.over.open(path); ok {
		return f, err
	}
	if f, ok, err := g.special(path); ok {
		return f, err
	}
	flag := vfs.ReadOnly
	switch {
	case rights&rightWrite != 0 && rights&rightRead != 0:
		flag = vfs.ReadWrite
	case rights&rightWrite != 0:
		flag = vfs.WriteOnly
	}
	for bit, v := range map[uint32]int{openCreate: vfs.Create, openExclusive: vfs.Excl, openTruncate: vfs.Trunc} {
		if oflags&bit != 0 {
			flag |= v
		}
	}
	if fdflags&flagAppend != 0 {
		flag |= vfs.Append
	}
	if !follow {
		flag |= vfs.NoFollow
	}
	if oflags&openCreate == 0 && flag&3 == vfs.ReadOnly {
		st, err := g.p.FS.Stat(path)
		switch {
		case err != nil:
		case st.IsDir():
			return newDir(path), nil
		case oflags&openDirectory != 0:
			return nil, vfs.ENOTDIR
		}
	}
	s, err := g.p.Open(path, flag, 0o666)
	if err != nil {
		return nil, err
	}
	f := newFile(s, path, rights&(rightRead|rightWrite), true)
	f.flags = fdflags
	return f, nil
}

func (g *program) pathReadlink(in, out *Frame) error {
	path, err := g.path(in)
	if err != nil {
		return err
	}
	target, err := g.p.FS.Readlink(path)
	out.PutString(target)
	return err
}

func (g *program) pathRemoveDirectory(in, _ *Frame) error {
	path, err := g.path(in)
	if err != nil {
		return err
	}
	return g.p.FS.Rmdir(path)
}

func (g *program) pathRename(in, _ *Frame) error {
	from, err := g.path(in)
	if err != nil {
		return err
	}
	to, err := g.path(in)
	if err != nil {
		return err
	}
	return g.p.FS.Rename(from, to)
}

func (g *program) pathSymlink(in, _ *Frame) error {
	target := string(in.Bytes())
	path, err := g.path(in)
	switch {
	case err != nil:
		return err
	case strings.IndexByte(target, 0) >= 0:
		return vfs.EINVAL
	}
	return g.p.FS.Symlink(target, path)
}

func (g *program) pathUnlinkFile(in, _ *Frame) error {
	path, err := g.path(in)
	if err != nil {
		return err
	}
	return g.p.FS.Unlink(path)
}

// pollOneoff answers which of some descriptors are ready: 0 is not, else an error number above 1. All are: a call on
// one that is not waits.
func (g *program) pollOneoff(in, out *Frame) error {
	for n := in.U32(); n > 0 && !in.Bad(); n-- {
		_ = in.U16()
		_, err := g.file(in.U32())
		out.PutU16(1 + uint16(errnoOf(err)))
	}
	_ = in.U64()
	return nil
}
