package archive

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"

	"encoding/binary"
	"time"

	bzip2enc "github.com/dsnet/compress/bzip2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

// Format is a compression.
type Format uint8

// The formats. None is data as it is.
const (
	None Format = iota
	Gzip
	Bzip2
	XZ
	Zstd
	LZMA
)

var magics = []struct {
	format Format
	magic  string
}{
	{Gzip, "\x1f\x8b"}, {Bzip2, "BZh"}, {XZ, "\xfd7zXZ\x00"}, {Zstd, "\x28\xb5\x2f\xfd"}, {LZMA, "\x5d\x00\x00"},
}

// Detect tells the format from the first bytes of a stream.
func Detect(head []byte) Format {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.format
		}
	}
	return None
}

// String is the name of the program the format belongs to.
func (f Format) String() string {
	switch f {
	case Gzip:
		return "gzip"
	case Bzip2:
		return "bzip2"
	case XZ:
		return "xz"
	case Zstd:
		return "zstd"
	case LZMA:
		return "lzma"
	}
	return "none"
}

// The memory a decoder may use for its window.
const maxWindow = 64 << 20

// ErrTrailing says that something that is not of the format follows the data, all of which was read.
var ErrTrailing = errors.New("trailing garbage after the end of the data")

// Memory counts what decoders take for their windows, before they take it. A process is one.
type Memory interface {
	Hold(n int)
	Release(n int)
}

// Windows of zstd: what most frames ask for, and what those that we write do.
const (
	usualWindow   = 8 << 20
	writtenWindow = 1 << 20
)

// NewReader decompresses r. Close releases the decoder, not r.
func NewReader(f Format, r io.Reader, m Memory) (io.ReadCloser, error) {
	switch f {
	case Gzip:
		return gzip.NewReader(bufio.NewReader(r))
	case Bzip2:
		return io.NopCloser(&bzip2Reader{r: bzip2.NewReader(bufio.NewReader(r))}), nil
	case XZ:
		x, err := newXZReader(bufio.NewReaderSize(r, 4096), m)
		if err != nil {
			return nil, err
		}
		return x, nil
	case Zstd:
		return newZstdReader(r, m, maxWindow, usualWindow)
	case LZMA:
		br := bufio.NewReaderSize(r, 4096)
		window := 0
		if head, _ := br.Peek(5); len(head) == 5 {
			size := binary.LittleEndian.Uint32(head[1:])
			if size > maxWindow {
				return nil, fmt.Errorf("dictionary of %d bytes is too large", size)
			}
			window = int(size)
		}
		x, err := lzma.NewReader(br)
		if err != nil {
			return nil, err
		}
		return newHeld(io.NopCloser(x), m, window), nil
	}
	return io.NopCloser(r), nil
}

// NewRunReader decompresses what [NewWriter] has made of [Zstd], whose window is smaller than that of other writers.
func NewRunReader(r io.Reader, m Memory) (io.ReadCloser, error) {
	return newZstdReader(r, m, writtenWindow, writtenWindow)
}

func newZstdReader(r io.Reader, m Memory, most uint64, window int) (io.ReadCloser, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(most),
		zstd.WithDecoderMaxMemory(maxWindow))
	if err != nil {
		return nil, err
	}
	return newHeld(d.IOReadCloser(), m, window), nil
}

// held is a decoder whose window has been counted.
type held struct {
	io.ReadCloser
	memory Memory
	window int
}

func newHeld(r io.ReadCloser, m Memory, window int) *held {
	m.Hold(window)
	return &held{r, m, window}
}

func (h *held) Close() error {
	h.memory.Release(h.window)
	h.window = 0
	return h.ReadCloser.Close()
}

// NewWriter compresses to w. level is 1 (fast) to 9 (best), 0 for the default.
func NewWriter(f Format, w io.Writer, level int) (io.WriteCloser, error) {
	switch f {
	case Gzip:
		if level == 0 {
			level = 6
		}
		z, err := gzip.NewWriterLevel(w, level)
		if err == nil {
			z.OS = 3
			z.ModTime = time.Unix(0, 0)
		}
		return z, err
	case XZ:
		return &xzWriter{w: w}, nil
	case Zstd:
		l := zstd.SpeedDefault
		if level > 0 {
			l = zstd.EncoderLevelFromZstd(level)
		}
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(l), zstd.WithWindowSize(writtenWindow))
	case Bzip2:
		if level == 0 {
			level = 9
		}
		return bzip2enc.NewWriter(&blockSize{w: w, digit: '0' + byte(level)}, &bzip2enc.WriterConfig{Level: 1})
	case LZMA:
		return lzma.WriterConfig{DictCap: 1 << 20}.NewWriter(w)
	}
	return nopCloser{w}, nil
}

// blockSize puts the block size that was asked for into the header of a bzip2 stream. The blocks themselves are
// never larger than 100k: sorting one cannot be interrupted, and has to be over in a few milliseconds.
type blockSize struct {
	w     io.Writer
	n     int
	digit byte
}

func (b *blockSize) Write(p []byte) (int, error) {
	if at := 3 - b.n; at >= 0 && at < len(p) {
		p = bytes.Clone(p)
		p[at] = b.digit
	}
	n, err := b.w.Write(p)
	b.n += n
	return n, err
}

// bzip2Reader tells garbage after the last stream from damage within one.
type bzip2Reader struct {
	r io.Reader
}

func (b *bzip2Reader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if errors.Is(err, bzip2.StructuralError("bad magic value in continuation file")) {
		err = ErrTrailing
	}
	return n, err
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// xzWriter starts a stream with its first byte: nothing at all is a stream without blocks, which the library does not
// write.
type xzWriter struct {
	w io.Writer
	z io.WriteCloser
}

// emptyXZ is a header, an index of no blocks and a footer.
const emptyXZ = "\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4F\x00\x00\x00\x00\x1c\xdfD!\x1f\xb6\xf3}\x01\x00\x00\x00\x00\x04YZ"

func (x *xzWriter) Write(p []byte) (int, error) {
	if x.z == nil && len(p) > 0 {
		z, err := xz.WriterConfig{DictCap: 1 << 20}.NewWriter(x.w)
		if err != nil {
			return 0, err
		}
		x.z = z
	}
	if len(p) == 0 {
		return 0, nil
	}
	return x.z.Write(p)
}

func (x *xzWriter) Close() error {
	if x.z == nil {
		_, err := io.WriteString(x.w, emptyXZ)
		return err
	}
	return x.z.Close()
}
