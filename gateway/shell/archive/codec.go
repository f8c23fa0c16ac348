package archive

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
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
)

var magics = []struct {
	format Format
	magic  string
}{
	{Gzip, "\x1f\x8b"}, {Bzip2, "BZh"}, {XZ, "\xfd7zXZ\x00"}, {Zstd, "\x28\xb5\x2f\xfd"},
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
	}
	return "none"
}

// The memory a decoder may use for its window.
const maxWindow = 64 << 20

// ErrUnsupported says that a format can only be read.
var ErrUnsupported = errors.New("compression is not supported")

// NewReader decompresses r. Close releases the decoder, not r.
func NewReader(f Format, r io.Reader) (io.ReadCloser, error) {
	switch f {
	case Gzip:
		return gzip.NewReader(bufio.NewReader(r))
	case Bzip2:
		return io.NopCloser(bzip2.NewReader(bufio.NewReader(r))), nil
	case XZ:
		br := bufio.NewReaderSize(r, 4096)
		if err := checkXZ(br); err != nil {
			return nil, err
		}
		x, err := xz.NewReader(br)
		return io.NopCloser(x), err
	case Zstd:
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(maxWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return io.NopCloser(r), nil
}

// checkXZ refuses a stream whose first block asks for too large a dictionary.
func checkXZ(br *bufio.Reader) error {
	head, _ := br.Peek(12 + 8)
	if len(head) < 20 || head[12] == 0 {
		return nil
	}
	// Block header: size, flags, optional sizes, then the filter: id 0x21, 1 byte of properties.
	i := bytes.Index(head[13:], []byte{0x21, 0x01})
	if i < 0 || 13+i+2 >= len(head) {
		return nil
	}
	p := head[13+i+2] & 0x3f
	if size := uint64(2|p&1) << (p/2 + 11); size > maxWindow {
		return fmt.Errorf("dictionary of %d bytes is too large", size)
	}
	return nil
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
		}
		return z, err
	case XZ:
		return xz.WriterConfig{DictCap: 1 << 20}.NewWriter(w)
	case Zstd:
		l := zstd.SpeedDefault
		if level > 0 {
			l = zstd.EncoderLevelFromZstd(level)
		}
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(l), zstd.WithWindowSize(1<<20))
	case Bzip2:
		return nil, ErrUnsupported
	}
	return nopCloser{w}, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
