package archive

import (
	stdtar "archive/tar"
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// cpioHeader describes a member.
type cpioHeader struct {
	name, target string // target of a symlink
	stat         vfs.Stat
	mtime        int64 // nanoseconds since the epoch
	key          cpioKey
	once         bool   // of the names of a file only the last has the content
	sum          uint32 // of the content's bytes, in the crc format
	hardLink     bool   // a tar member that is another name of target
}

const (
	cpioTrailer = "TRAILER!!!"
	// cpioNameMax bounds what a header may ask for; a longer name is no header at all.
	cpioNameMax = 1 << 16
	cpioBinary  = 0o70707
)

// kindBits are the file types of st_mode.
var kindBits = map[vfs.Kind]uint32{vfs.FIFO: 0o010000, vfs.Char: 0o020000, vfs.Dir: 0o040000, vfs.Regular: 0o100000,
	vfs.Symlink: 0o120000}

func kindOfBits(mode uint32) vfs.Kind {
	for k, bits := range kindBits {
		if mode&0o170000 == bits {
			return k
		}
	}
	if mode&0o170000 == 0o060000 {
		return vfs.Char // a block device: there are none here
	}
	return vfs.Regular
}

var (
	errCpioShort   = errors.New("premature end of file")
	errCpioArchive = errors.New("premature end of archive")
)

// Read reads the archive and counts what was read.
func (c *cpioRun) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	c.bytes += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("read error: %s", proc.Strerror(err))
	}
	return n, err
}

func (c *cpioRun) readFull(b []byte) error {
	_, err := io.ReadFull(c, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCpioShort
	}
	return err
}

// cpioMember reads the content of one member.
type cpioMember struct {
	r    io.Reader
	left int64
}

func (m *cpioMember) Read(b []byte) (int, error) {
	if m.left == 0 {
		return 0, io.EOF
	}
	n, err := m.r.Read(b[:min(int64(len(b)), m.left)])
	m.left -= int64(n)
	if errors.Is(err, io.EOF) && m.left > 0 {
		err = errCpioShort
	}
	return n, err
}

// copyIn is -i.
func (c *cpioRun) copyIn() error {
	src := c.p.Stdin
	if c.file != "" && c.file != "-" {
		f, err := c.p.Open(c.file, vfs.ReadOnly, 0)
		if err != nil {
			return fmt.Errorf("Cannot open %s: %s", c.file, proc.Strerror(err))
		}
		defer f.Close()
		src = f
	}
	c.in = bufio.NewReaderSize(src, 64<<10)
	if c.format == "" {
		if err := c.detect(); err != nil {
			return err
		}
	}
	owners := &program.Names{P: c.p}
	var err error
	if c.format == "tar" || c.format == "ustar" {
		err = c.readTar(owners)
	} else {
		err = c.readCpio(owners)
	}
	if err != nil {
		return err
	}
	for _, l := range c.links { // names whose content was in none of the members
		for i := range l.waiting {
			h := l.waiting[i]
			h.stat.Nlink = 1
			if _, err := c.place(&h, bytes.NewReader(nil), false); err != nil {
				return err
			}
		}
	}
	for _, f := range slices.Backward(c.later) {
		f()
	}
	return nil
}

func cpioFormatOf(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("070701")):
		return "newc"
	case bytes.HasPrefix(b, []byte("070702")):
		return "crc"
	case bytes.HasPrefix(b, []byte("070707")):
		return "odc"
	case len(b) >= 2 && (binary.LittleEndian.Uint16(b) == cpioBinary || binary.BigEndian.Uint16(b) == cpioBinary):
		return "bin"
	case len(b) >= 512 && bytes.HasPrefix(b[257:], []byte("ustar")):
		return "ustar"
	}
	return ""
}

// detect finds the beginning of the archive, over junk if need be.
func (c *cpioRun) detect() error {
	skipped := 0
	for {
		head, err := c.in.Peek(cpioBlock)
		if len(head) < 6 {
			if err != nil && !errors.Is(err, io.EOF) {
				return fmt.Errorf("read error: %s", proc.Strerror(err))
			}
			return errCpioArchive
		}
		if c.format = cpioFormatOf(head); c.format != "" {
			c.junk(skipped)
			return nil
		}
		c.skipByte()
		skipped++
	}
}

func (c *cpioRun) skipByte() {
	c.p.Tick(1)
	_, _ = c.in.Discard(1)
	c.bytes++
}

func (c *cpioRun) junk(n int) {
	switch {
	case n == 1:
		c.p.Errorf("warning: skipped 1 byte of junk")
	case n > 1:
		c.p.Errorf("warning: skipped %d bytes of junk", n)
	}
}

func (c *cpioRun) readCpio(owners *program.Names) error {
	for {
		c.p.Tick(1)
		h, err := c.readHeader()
		if err != nil {
			return err
		}
		if h.name == cpioTrailer {
			return nil
		}
		content := &cpioMember{c, h.stat.Size}
		pad := c.padding(h.stat.Size)
		if h.stat.Kind == vfs.Symlink {
			b := make([]byte, min(h.stat.Size, cpioNameMax))
			if err := c.readFull(b); err != nil {
				return err
			}
			content.left -= int64(len(b))
			h.target = string(b)
		}
		if err := c.member(h, content, owners); err != nil {
			return err
		}
		if err := c.drop(content); err != nil { // what nobody wanted
			return err
		}
		if err := c.readFull(make([]byte, pad)); err != nil {
			return err
		}
	}
}

// padding is what follows n bytes of a member.
func (c *cpioRun) padding(n int64) int64 {
	switch c.format {
	case "newc", "crc":
		return -n & 3
	case "bin", "hpbin":
		return n & 1
	}
	return 0
}

// member lists or extracts one member.
func (c *cpioRun) member(h *cpioHeader, content io.Reader, owners *program.Names) error {
	if !c.wanted(h.name) {
		// Names that were extracted may wait for this content.
		if l := c.links[h.key]; l != nil && len(l.waiting) > 0 && h.once && h.stat.Size > 0 {
			first := l.waiting[0]
			l.waiting = l.waiting[1:]
			first.stat.Size = h.stat.Size
			_, err := c.place(&first, content, false)
			return err
		}
		return nil
	}
	switch {
	case c.list:
		if c.verbose {
			c.listing(h, owners)
		} else {
			c.p.Out.WriteString(h.name + "\n")
		}
		return nil
	case c.verify:
		if c.format == "crc" && h.stat.Kind == vfs.Regular {
			s := &cpioSum{}
			if err := c.copy(s, content); err != nil {
				return err
			}
			if s.sum != h.sum {
				c.p.Errorf("%s: checksum error (0x%x, should be 0x%x)", h.name, s.sum, h.sum)
			}
		}
		if h.stat.Kind != vfs.Symlink {
			c.done(h.name)
		}
		return nil
	case c.toStdout:
		if h.stat.Kind == vfs.Regular {
			if err := c.copy(c.swapped(c.p.Out, h), content); err != nil {
				return err
			}
		}
		c.done(h.name)
		return nil
	}
	shown := h.name
	h.name = c.safeName(h.name, c.relative)
	var s *cpioSum
	if c.format == "crc" && h.stat.Kind == vfs.Regular {
		s = &cpioSum{}
		content = io.TeeReader(content, s)
	}
	if h.hardLink {
		_ = c.p.FS.Unlink(c.p.Abs(h.name))
		if err := c.linkTo(h.target, h.name); err != nil {
			c.fail("%s: Cannot link to %s: %s", h.target, h.name, proc.Strerror(err))
		}
	} else if _, err := c.place(h, content, false); err != nil {
		return err
	}
	if s != nil && s.n == h.stat.Size && s.sum != h.sum {
		c.fail("%s: checksum error (0x%x, should be 0x%x)", h.name, s.sum, h.sum)
	}
	c.done(shown)
	return nil
}

// cpioSum adds up bytes.
type cpioSum struct {
	sum uint32
	n   int64
}

func (s *cpioSum) Write(b []byte) (int, error) {
	for _, c := range b {
		s.sum += uint32(c)
	}
	s.n += int64(len(b))
	return len(b), nil
}

// readHeader finds and reads the next header.
func (c *cpioRun) readHeader() (*cpioHeader, error) {
	skipped := 0
	for {
		head, err := c.in.Peek(6)
		if len(head) < 6 {
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("read error: %s", proc.Strerror(err))
			}
			return nil, errCpioShort
		}
		if found := cpioFormatOf(head); found != "" && found == cpioFamily(c.format) {
			c.junk(skipped)
			break
		}
		c.skipByte()
		skipped++
	}
	switch cpioFamily(c.format) {
	case "odc":
		return c.readOctal()
	case "bin":
		return c.readBinary()
	}
	return c.readHex()
}

func cpioFamily(format string) string {
	if format == "hpodc" || format == "hpbin" {
		return format[2:]
	}
	return format
}

func cpioNumber(b []byte, base int) uint64 {
	// what is no number counts as none
	n, _ := strconv.ParseUint(string(bytes.TrimSpace(bytes.TrimRight(b, "\x00"))), base, 64)
	return n
}

func (c *cpioRun) readHex() (*cpioHeader, error) {
	var b [110]byte
	if err := c.readFull(b[:]); err != nil {
		return nil, err
	}
	var v [13]uint32
	for i := range v {
		v[i] = uint32(cpioNumber(b[6+8*i:14+8*i], 16))
	}
	h := &cpioHeader{once: true, sum: v[12], mtime: int64(v[5]) * 1e9, key: cpioKey{v[7], v[8], uint64(v[0])}}
	h.stat = vfs.Stat{Ino: uint64(v[0]), Kind: kindOfBits(v[1]), Mode: v[1] & 0o7777, UID: v[2], GID: v[3], Nlink: v[4],
		Size: int64(v[6]), Rdev: v[9]<<8 | v[10]}
	return h, c.readName(h, int64(v[11]), len(b))
}

func (c *cpioRun) readOctal() (*cpioHeader, error) {
	var b [76]byte
	if err := c.readFull(b[:]); err != nil {
		return nil, err
	}
	var v [7]uint32
	for i := range v {
		v[i] = uint32(cpioNumber(b[6+6*i:12+6*i], 8))
	}
	h := &cpioHeader{mtime: int64(cpioNumber(b[48:59], 8)) * 1e9, key: cpioKey{v[0], 0, uint64(v[1])}}
	h.stat = vfs.Stat{Ino: uint64(v[1]), Kind: kindOfBits(v[2]), Mode: v[2] & 0o7777, UID: v[3], GID: v[4], Nlink: v[5],
		Rdev: v[6], Size: int64(cpioNumber(b[65:76], 8))}
	return h, c.readName(h, int64(cpioNumber(b[59:65], 8)), len(b))
}

func (c *cpioRun) readBinary() (*cpioHeader, error) {
	var b [26]byte
	if err := c.readFull(b[:]); err != nil {
		return nil, err
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if order.Uint16(b[:]) != cpioBinary {
		order = binary.BigEndian
	}
	var v [13]uint32
	for i := range v {
		v[i] = uint32(order.Uint16(b[2*i:]))
	}
	h := &cpioHeader{mtime: int64(v[8]<<16|v[9]) * 1e9, key: cpioKey{v[1], 0, uint64(v[2])}}
	h.stat = vfs.Stat{Ino: uint64(v[2]), Kind: kindOfBits(v[3]), Mode: v[3] & 0o7777, UID: v[4], GID: v[5], Nlink: v[6],
		Rdev: v[7], Size: int64(v[11]<<16 | v[12])}
	return h, c.readName(h, int64(v[10]), len(b))
}

// readName reads the name that follows a header of the given size.
func (c *cpioRun) readName(h *cpioHeader, size int64, header int) error {
	if size < 1 || size > cpioNameMax {
		return errCpioShort
	}
	b := make([]byte, size+c.padding(int64(header)+size))
	if err := c.readFull(b); err != nil {
		return err
	}
	name, _, _ := bytes.Cut(b[:size], []byte{0})
	h.name = string(name)
	return nil
}

// readTar lists or extracts a tar archive.
func (c *cpioRun) readTar(owners *program.Names) error {
	r := stdtar.NewReader(c)
	for {
		c.p.Tick(1)
		t, err := r.Next()
		if errors.Is(err, io.EOF) {
			c.bytes = max(c.bytes-cpioBlock, 0) // the second block of zeros is not looked at
			return nil
		}
		if err != nil {
			return errCpioShort
		}
		h := &cpioHeader{name: t.Name, mtime: t.ModTime.UnixNano(), target: t.Linkname}
		h.stat = vfs.Stat{Kind: vfs.Regular, Mode: uint32(t.Mode) & 0o7777, UID: uint32(t.Uid), GID: uint32(t.Gid), Nlink: 1,
			Size: t.Size}
		switch t.Typeflag {
		case stdtar.TypeDir:
			h.stat.Kind = vfs.Dir
		case stdtar.TypeSymlink:
			h.stat.Kind = vfs.Symlink
		case stdtar.TypeLink:
			h.hardLink = true
		case stdtar.TypeChar, stdtar.TypeBlock:
			h.stat.Kind, h.stat.Rdev = vfs.Char, uint32(t.Devmajor)<<8|uint32(t.Devminor)
		case stdtar.TypeFifo:
			h.stat.Kind = vfs.FIFO
		case stdtar.TypeXGlobalHeader:
			continue
		}
		if err := c.member(h, r, owners); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return errCpioShort
			}
			return err
		}
	}
}

// copyOut is -o.
func (c *cpioRun) copyOut() error {
	if c.format == "" {
		c.format = "bin"
	}
	c.out = c.p.Out
	if c.file != "" && c.file != "-" {
		flag := vfs.ReadWrite | vfs.Create | vfs.Trunc
		if c.add {
			flag = vfs.ReadWrite
		}
		f, err := c.p.Open(c.file, flag, 0o666)
		if err != nil {
			return fmt.Errorf("Cannot open %s: %s", c.file, proc.Strerror(err))
		}
		defer f.Close()
		if c.add {
			if err := c.toTrailer(f); err != nil {
				return err
			}
		}
		w := bufio.NewWriterSize(f, 64<<10)
		c.out = w
		err = c.writeMembers()
		return errors.Join(err, w.Flush())
	}
	return c.writeMembers()
}

// toTrailer moves to where the archive's last header is, so that new members replace it.
func (c *cpioRun) toTrailer(f vfs.File) error {
	c.in = bufio.NewReaderSize(f, 64<<10)
	if err := c.detect(); err != nil {
		return err
	}
	if c.format == "ustar" {
		return errors.New("cannot append to a tar archive")
	}
	for {
		at := c.bytes
		h, err := c.readHeader()
		if err != nil {
			return err
		}
		if h.name == cpioTrailer {
			c.bytes = 0
			if _, err := f.Seek(at, io.SeekStart); err != nil {
				return err
			}
			c.bytes = at
			return f.Truncate(at)
		}
		if err := c.drop(&cpioMember{c, h.stat.Size + c.padding(h.stat.Size)}); err != nil {
			return err
		}
	}
}

func (c *cpioRun) write(b []byte) error {
	n, err := c.out.Write(b)
	c.bytes += int64(n)
	if err != nil {
		return fmt.Errorf("write error: %s", proc.Strerror(err))
	}
	return nil
}

// Write lets the archive of a tar format be counted.
func (c *cpioRun) Write(b []byte) (int, error) { return len(b), c.write(b) }

func (c *cpioRun) writeMembers() error {
	before := c.bytes
	tarFormat := c.format == "tar" || c.format == "ustar"
	var tw *stdtar.Writer
	if tarFormat {
		tw = stdtar.NewWriter(c)
	}
	var waiting []cpioKey // in order of appearance
	err := c.eachName(func(name string) error {
		st, err := c.stat(name)
		if err != nil {
			c.fail("%s: Cannot stat: %s", name, proc.Strerror(err))
			return nil
		}
		h := &cpioHeader{name: c.safeName(name, c.relative), stat: st, mtime: st.Mtime / 1e9 * 1e9}
		if c.uid >= 0 {
			h.stat.UID = uint32(c.uid)
		}
		if c.gid >= 0 {
			h.stat.GID = uint32(c.gid)
		}
		key := cpioKey{ino: st.Ino}
		if c.renumber {
			n, ok := c.numbers[key]
			if !ok {
				c.p.Hold(48)
				n = uint32(len(c.numbers))
				c.numbers[key] = n
			}
			h.stat.Ino = uint64(n)
		}
		if tarFormat {
			err = c.writeTar(tw, h, name)
		} else if st.Kind == vfs.Regular && st.Nlink > 1 && (c.format == "newc" || c.format == "crc") {
			l := c.links[key]
			if l == nil {
				l = &cpioLink{name: name}
				c.links[key] = l
				waiting = append(waiting, key)
			}
			c.p.Hold(160 + len(h.name))
			l.waiting = append(l.waiting, *h)
			if len(l.waiting) == int(st.Nlink) {
				err = c.writeLinks(l)
			}
		} else {
			err = c.writeFile(h, name)
		}
		if err == nil {
			c.done(h.name)
		}
		return err
	})
	for _, key := range waiting {
		if err == nil {
			err = c.writeLinks(c.links[key])
		}
	}
	if err != nil {
		return err
	}
	if tarFormat {
		err = tw.Close()
	} else {
		err = c.writeHeader(&cpioHeader{name: cpioTrailer, stat: vfs.Stat{Nlink: 1}})
	}
	if err == nil {
		err = c.write(make([]byte, (c.block-c.bytes%c.block)%c.block))
	}
	c.bytes -= before
	return err
}

// writeLinks writes the names of one file; the last gets the content.
func (c *cpioRun) writeLinks(l *cpioLink) error {
	for i := range l.waiting {
		h := &l.waiting[i]
		if i < len(l.waiting)-1 {
			h.stat.Size = 0
			if err := c.writeHeader(h); err != nil {
				return err
			}
			continue
		}
		if err := c.writeFile(h, l.name); err != nil {
			return err
		}
	}
	l.waiting = nil
	return nil
}

// writeFile writes a member with its content, which is that of the file called name.
func (c *cpioRun) writeFile(h *cpioHeader, name string) error {
	var content io.Reader = bytes.NewReader(nil)
	switch h.stat.Kind {
	case vfs.Regular:
		f, err := c.p.Open(name, vfs.ReadOnly, 0)
		if err != nil {
			c.fail("%s: Cannot open: %s", name, proc.Strerror(err))
			return nil
		}
		defer f.Close()
		if c.format == "crc" {
			s := &cpioSum{}
			if err := c.copy(s, f); err != nil {
				return err
			}
			h.sum = s.sum
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return err
			}
		}
		content = f
	case vfs.Symlink:
		target, err := c.p.FS.Readlink(c.p.Abs(name))
		if err != nil {
			c.fail("%s: Cannot readlink: %s", name, proc.Strerror(err))
			return nil
		}
		content = bytes.NewReader([]byte(target))
	default:
		h.stat.Size = 0
	}
	if err := c.writeHeader(h); err != nil {
		return err
	}
	return c.writeContent(h, name, content)
}

// writeContent copies as many bytes as the header promised.
func (c *cpioRun) writeContent(h *cpioHeader, name string, content io.Reader) error {
	m := &cpioMember{content, h.stat.Size}
	if err := c.copy(c, m); err != nil && !errors.Is(err, errCpioShort) {
		return err
	}
	if m.left > 0 {
		c.fail("File %s shrunk by %d bytes, padding with zeros", name, m.left)
		if err := c.copy(c, io.LimitReader(zeros{}, m.left)); err != nil {
			return err
		}
	}
	return c.write(make([]byte, c.padding(h.stat.Size)))
}

func (c *cpioRun) writeHeader(h *cpioHeader) error {
	st := h.stat
	mode := st.Mode
	if h.name != cpioTrailer {
		mode |= kindBits[st.Kind]
	}
	seconds, nameSize := h.mtime/1e9, len(h.name)+1
	var b []byte
	switch cpioFamily(c.format) {
	case "newc", "crc":
		magic := "070701"
		if c.format == "crc" {
			magic = "070702"
		}
		b = fmt.Appendf(nil, "%s%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", magic, uint32(st.Ino), mode, st.UID,
			st.GID, st.Nlink, uint32(seconds),
			uint32(st.Size), 0, 0, st.Rdev>>8, st.Rdev&0xff, nameSize, h.sum)
	case "odc":
		b = fmt.Appendf(nil, "070707%06o%06o%06o%06o%06o%06o%06o%011o%06o%011o", 0, st.Ino&0o777777, mode, st.UID&0o777777,
			st.GID&0o777777, st.Nlink, st.Rdev, seconds, nameSize, st.Size)
	default:
		for _, v := range []uint32{cpioBinary, 0, uint32(st.Ino), mode, st.UID, st.GID, st.Nlink, st.Rdev,
			uint32(seconds >> 16), uint32(seconds), uint32(nameSize), uint32(st.Size >> 16), uint32(st.Size)} {
			b = binary.LittleEndian.AppendUint16(b, uint16(v))
		}
	}
	size := int64(len(b) + nameSize)
	b = append(append(b, h.name...), 0)
	return c.write(append(b, make([]byte, c.padding(size))...))
}

// writeTar writes a member of a tar archive.
func (c *cpioRun) writeTar(w *stdtar.Writer, h *cpioHeader, name string) error {
	t := &stdtar.Header{
		Name: h.name, Mode: int64(h.stat.Mode), Uid: int(h.stat.UID), Gid: int(h.stat.GID),
		ModTime: time.Unix(h.mtime/1e9, 0), Typeflag: stdtar.TypeReg,
		Format: stdtar.FormatUSTAR,
	}
	owners := &program.Names{P: c.p}
	t.Uname, t.Gname = owners.User(h.stat.UID), owners.Group(h.stat.GID)
	var content io.Reader
	key := cpioKey{ino: h.stat.Ino}
	switch h.stat.Kind {
	case vfs.Dir:
		t.Typeflag, t.Name = stdtar.TypeDir, strings.TrimRight(t.Name, "/")+"/"
	case vfs.Symlink:
		target, err := c.p.FS.Readlink(c.p.Abs(name))
		if err != nil {
			c.fail("%s: Cannot readlink: %s", name, proc.Strerror(err))
			return nil
		}
		t.Typeflag, t.Linkname = stdtar.TypeSymlink, target
	case vfs.Regular:
		if l := c.links[key]; l != nil {
			t.Typeflag, t.Linkname = stdtar.TypeLink, l.name
			break
		}
		if h.stat.Nlink > 1 {
			c.p.Hold(64 + len(h.name))
			c.links[key] = &cpioLink{name: h.name}
		}
		f, err := c.p.Open(name, vfs.ReadOnly, 0)
		if err != nil {
			c.fail("%s: Cannot open: %s", name, proc.Strerror(err))
			return nil
		}
		defer f.Close()
		content, t.Size = f, h.stat.Size
	default:
		c.fail("%s: cannot be put into a tar archive", name)
		return nil
	}
	if err := w.WriteHeader(t); err != nil {
		c.fail("%s: file name too long", name)
		return nil
	}
	if content == nil {
		return nil
	}
	return c.copy(w, io.LimitReader(content, t.Size))
}
