package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/klauspost/compress/flate"
)

// Methods of a zip entry.
const (
	Stored   = 0
	Deflated = 8
)

// ZipEntry is one file of a zip archive, as its central directory has it.
type ZipEntry struct {
	Name, Comment    string
	Creator, Needed  uint16 // versions; the high byte of Creator is the system, 3 for Unix
	Flags, Method    uint16
	Date, Clock      uint16 // in DOS' format
	CRC              uint32
	Packed, Size     int64
	Internal         uint16 // bit 0: text
	External         uint32 // the high half is the Unix mode
	Extra            []byte
	Offset           int64  // of the local header
	LocalExtra, Data []byte // of an entry to be written
}

// Mode is the Unix mode with its file type, 0 when the archive has none.
func (e *ZipEntry) Mode() uint32 {
	if e.Creator>>8 == 3 {
		return e.External >> 16
	}
	return 0
}

// IsDir reports whether the name is a directory's.
func (e *ZipEntry) IsDir() bool { return len(e.Name) > 0 && e.Name[len(e.Name)-1] == '/' }

// Time is when the file was changed: the extra field's, or that of DOS in loc.
func (e *ZipEntry) Time(loc *time.Location) time.Time {
	for x := e.Extra; len(x) >= 4; {
		n := int(binary.LittleEndian.Uint16(x[2:]))
		if len(x) < 4+n {
			break
		}
		if binary.LittleEndian.Uint16(x) == 0x5455 && n >= 5 && x[4]&1 != 0 {
			return time.Unix(int64(int32(binary.LittleEndian.Uint32(x[5:]))), 0).In(loc) //nolint:gosec // the field is signed
		}
		x = x[4+n:]
	}
	d, c := int(e.Date), int(e.Clock)
	return time.Date(d>>9+1980, time.Month(d>>5&15), d&31, c>>11, c>>5&63, c&31*2, 0, loc)
}

// SetTime stores a time in both formats, and the owner.
func (e *ZipEntry) SetTime(t time.Time, uid, gid uint32) {
	y := max(t.Year(), 1980)
	e.Date = uint16(y-1980)<<9 | uint16(t.Month())<<5 | uint16(t.Day())           //nolint:gosec // they fit
	e.Clock = uint16(t.Hour())<<11 | uint16(t.Minute())<<5 | uint16(t.Second()/2) //nolint:gosec // they fit
	le := binary.LittleEndian
	unix := uint32(t.Unix()) //nolint:gosec // the field has 32 bits
	owner := append(le.AppendUint32([]byte{'u', 'x', 11, 0, 1, 4}, uid), 4)
	owner = le.AppendUint32(owner, gid)
	e.LocalExtra = append(le.AppendUint32(le.AppendUint32([]byte{'U', 'T', 9, 0, 3}, unix), unix), owner...)
	e.Extra = append(le.AppendUint32([]byte{'U', 'T', 5, 0, 3}, unix), owner...)
}

// Zip is an archive that can be read.
type Zip struct {
	r       io.ReaderAt
	Entries []*ZipEntry
	Comment string
	Size    int64
	Prefix  int64 // bytes before the archive
}

// ErrNotZip says that there is no central directory.
var ErrNotZip = errors.New("end of central directory not found")

const (
	zipEnd     = "PK\x05\x06"
	zipCentral = "PK\x01\x02"
	zipLocal   = "PK\x03\x04"
	zipTail    = 22 + 1<<16
)

// OpenZip reads the directory of an archive of size bytes.
func OpenZip(r io.ReaderAt, size int64) (*Zip, error) {
	tail := make([]byte, min(size, zipTail))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	at := bytes.LastIndex(tail, []byte(zipEnd))
	if at < 0 || len(tail)-at < 22 {
		return nil, ErrNotZip
	}
	le := binary.LittleEndian
	end := tail[at:]
	count, dirSize, dirAt := int(le.Uint16(end[10:])), int64(le.Uint32(end[12:])), int64(le.Uint32(end[16:]))
	z := &Zip{r: r, Size: size}
	if n := int(le.Uint16(end[20:])); 22+n <= len(end) {
		z.Comment = string(end[22 : 22+n])
	}
	// Something may come before the archive.
	shift := size - int64(len(tail)) + int64(at) - dirSize - dirAt
	if shift < 0 || dirSize > size {
		return nil, ErrNotZip
	}
	z.Prefix = shift
	dir := make([]byte, dirSize)
	if _, err := r.ReadAt(dir, dirAt+shift); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for range count {
		if len(dir) < 46 || string(dir[:4]) != zipCentral {
			return nil, ErrNotZip
		}
		n, x, c := int(le.Uint16(dir[28:])), int(le.Uint16(dir[30:])), int(le.Uint16(dir[32:]))
		if len(dir) < 46+n+x+c {
			return nil, ErrNotZip
		}
		z.Entries = append(z.Entries, &ZipEntry{
			Creator: le.Uint16(dir[4:]), Needed: le.Uint16(dir[6:]), Flags: le.Uint16(dir[8:]), Method: le.Uint16(dir[10:]),
			Clock: le.Uint16(dir[12:]), Date: le.Uint16(dir[14:]), CRC: le.Uint32(dir[16:]), Packed: int64(le.Uint32(dir[20:])),
			Size: int64(le.Uint32(dir[24:])), Internal: le.Uint16(dir[36:]), External: le.Uint32(dir[38:]),
			Offset: int64(le.Uint32(dir[42:])) + shift,
			Name:   string(dir[46 : 46+n]), Extra: dir[46+n : 46+n+x], Comment: string(dir[46+n+x : 46+n+x+c]),
		})
		dir = dir[46+n+x+c:]
	}
	return z, nil
}

// Raw is an entry's data as it is stored, and the extra field of its local header.
func (z *Zip) Raw(e *ZipEntry) (data io.Reader, extra []byte, err error) {
	var head [30]byte
	if _, err := z.r.ReadAt(head[:], e.Offset); err != nil {
		return nil, nil, err
	}
	if string(head[:4]) != zipLocal {
		return nil, nil, ErrNotZip
	}
	n, x := int64(binary.LittleEndian.Uint16(head[26:])), int64(binary.LittleEndian.Uint16(head[28:]))
	extra = make([]byte, x)
	if _, err := z.r.ReadAt(extra, e.Offset+30+n); err != nil && x > 0 {
		return nil, nil, err
	}
	return io.NewSectionReader(z.r, e.Offset+30+n+x, e.Packed), extra, nil
}

// Errors of an entry's data.
var (
	ErrMethod    = errors.New("unsupported compression method")
	ErrEncrypted = errors.New("encrypted")
	ErrChecksum  = errors.New("bad CRC")
)

// Open reads an entry's content and checks it.
func (z *Zip) Open(e *ZipEntry) (io.ReadCloser, error) {
	raw, _, err := z.Raw(e)
	if err != nil {
		return nil, err
	}
	if e.Flags&1 != 0 {
		return nil, ErrEncrypted
	}
	switch e.Method {
	case Stored:
		return &checked{r: io.NopCloser(raw), want: e.CRC}, nil
	case Deflated:
		return &checked{r: flate.NewReader(raw), want: e.CRC}, nil
	}
	return nil, ErrMethod
}

// checked compares the checksum at the end.
type checked struct {
	r         io.ReadCloser
	sum, want uint32
}

func (c *checked) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.sum = crc32.Update(c.sum, crc32.IEEETable, b[:n])
	if errors.Is(err, io.EOF) && c.sum != c.want {
		return n, ErrChecksum
	}
	return n, err
}

func (c *checked) Close() error { return c.r.Close() }

// ZipWriter writes an archive from beginning to end.
type ZipWriter struct {
	w       io.Writer
	at      int64
	entries []*ZipEntry
}

// NewZipWriter writes to w.
func NewZipWriter(w io.Writer) *ZipWriter { return &ZipWriter{w: w} }

func (z *ZipWriter) write(b []byte) error {
	n, err := z.w.Write(b)
	z.at += int64(n)
	return err
}

const maxZip = 1<<32 - 1

// Add writes an entry with its stored data.
func (z *ZipWriter) Add(e *ZipEntry, data io.Reader, extra []byte) error {
	if e.Size > maxZip || e.Packed > maxZip || z.at > maxZip || len(z.entries) == 0xffff {
		return fmt.Errorf("archive is too large: zip64 is not supported")
	}
	le := binary.LittleEndian
	w := *e
	w.Flags &^= 8 // the sizes are known
	w.Offset = z.at
	b := le.AppendUint16([]byte(zipLocal), w.Needed)
	b = z.common(b, &w)
	b = le.AppendUint16(le.AppendUint16(b, uint16(len(w.Name))),
		uint16(len(extra))) //nolint:gosec // names have 4096 bytes at most
	b = append(append(b, w.Name...), extra...)
	if err := z.write(b); err != nil {
		return err
	}
	n, err := io.Copy(z.w, data)
	z.at += n
	if err != nil {
		return err
	}
	z.entries = append(z.entries, &w)
	return nil
}

// common are the fields that both headers have.
func (z *ZipWriter) common(b []byte, e *ZipEntry) []byte {
	le := binary.LittleEndian
	for _, v := range []uint16{e.Flags, e.Method, e.Clock, e.Date} {
		b = le.AppendUint16(b, v)
	}
	return le.AppendUint32(le.AppendUint32(le.AppendUint32(b, e.CRC), uint32(e.Packed)),
		uint32(e.Size)) //nolint:gosec // checked by Add
}

// Close writes the directory.
func (z *ZipWriter) Close(comment string) error {
	le := binary.LittleEndian
	start := z.at
	for _, e := range z.entries {
		b := le.AppendUint16(le.AppendUint16([]byte(zipCentral), e.Creator), e.Needed)
		b = z.common(b, e)
		for _, v := range []int{len(e.Name), len(e.Extra), len(e.Comment), 0, int(e.Internal)} {
			b = le.AppendUint16(b, uint16(v)) //nolint:gosec // lengths of 16-bit fields
		}
		b = le.AppendUint32(le.AppendUint32(b, e.External), uint32(e.Offset)) //nolint:gosec // checked by Add
		b = append(append(append(b, e.Name...), e.Extra...), e.Comment...)
		if err := z.write(b); err != nil {
			return err
		}
	}
	b := append([]byte(zipEnd), 0, 0, 0, 0)
	n := uint16(len(z.entries)) //nolint:gosec // checked by Add
	b = le.AppendUint16(le.AppendUint16(b, n), n)
	b = le.AppendUint32(le.AppendUint32(b, uint32(z.at-start)), uint32(start)) //nolint:gosec // checked by Add
	b = append(le.AppendUint16(b, uint16(len(comment))), comment...)           //nolint:gosec // the caller's limit
	return z.write(b)
}
