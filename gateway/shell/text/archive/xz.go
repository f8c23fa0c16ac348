package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// xzReader reads .xz files, of any number of streams, as "The .xz File Format" 1.1.0 has them, with the LZMA2 filter.
// It is not the library's, which makes whatever dictionary a block asks for: 4 GiB for a few bytes.
type xzReader struct {
	br     *bufio.Reader
	memory Memory
	held   int

	flags  [2]byte // of the stream
	in     bool    // a stream
	first  bool    // nothing has been read
	blocks int     // of the stream
	sizes  hash.Hash

	block  io.Reader // nil between blocks
	packed *countingReader
	header int64
	size   int64
	sum    hash.Hash
}

// newXZReader begins with the header of the first stream.
func newXZReader(br *bufio.Reader, m Memory) (*xzReader, error) {
	x := &xzReader{br: br, memory: m, first: true}
	return x, x.stream()
}

var errXZ = errors.New("the xz data is damaged")

const (
	xzMagic  = "\xfd7zXZ\x00"
	xzFooter = "YZ"
)

// xzSums are the sizes of the checks of blocks.
var xzSums = [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}

// full reads all of b, whose end is not expected.
func (x *xzReader) full(b []byte) error {
	_, err := io.ReadFull(x.br, b)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// stream reads the header of a stream and the padding before it; io.EOF when there is none.
func (x *xzReader) stream() error {
	var head [12]byte
	for {
		n, err := io.ReadFull(x.br, head[:4])
		if errors.Is(err, io.EOF) && !x.first {
			return io.EOF
		}
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		if x.first || !bytes.Equal(head[:n], make([]byte, 4)) {
			break
		}
	}
	if err := x.full(head[4:]); err != nil {
		return err
	}
	flags := head[6:8]
	if string(head[:6]) != xzMagic || crc32.ChecksumIEEE(flags) != binary.LittleEndian.Uint32(head[8:]) || flags[0] != 0 ||
		flags[1] > 15 {
		return errXZ
	}
	x.flags, x.in, x.first, x.blocks, x.sizes = [2]byte(flags), true, false, 0, sha256.New()
	return nil
}

func (x *xzReader) Read(b []byte) (int, error) {
	for len(b) > 0 {
		if !x.in {
			if err := x.stream(); err != nil {
				return 0, err
			}
		}
		if x.block == nil {
			if err := x.next(); err != nil || !x.in {
				if err != nil {
					return 0, err
				}
				continue
			}
		}
		n, err := x.block.Read(b)
		x.size += int64(n)
		if x.sum != nil {
			x.sum.Write(b[:n])
		}
		if errors.Is(err, io.EOF) {
			err = x.end()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, nil
}

// next begins a block, or reads what ends the stream.
func (x *xzReader) next() error {
	size, err := x.br.ReadByte()
	if err != nil {
		return io.ErrUnexpectedEOF
	}
	if size == 0 {
		x.in = false
		return x.index()
	}
	head := make([]byte, 4*(int(size)+1))
	head[0] = size
	if err := x.full(head[1:]); err != nil {
		return err
	}
	end := len(head) - 4
	if crc32.ChecksumIEEE(head[:end]) != binary.LittleEndian.Uint32(head[end:]) || head[1]&0x3f != 0 { // one filter only
		return errXZ
	}
	r := bytes.NewReader(head[2:end])
	for bit := byte(0x40); bit != 0; bit <<= 1 { // the sizes, which are found out anyway
		if head[1]&bit != 0 {
			if _, err := binary.ReadUvarint(r); err != nil {
				return errXZ
			}
		}
	}
	var filter [3]byte // LZMA2, with one byte of properties
	if _, err := io.ReadFull(r, filter[:]); err != nil || filter[0] != 0x21 || filter[1] != 1 || filter[2] > 40 {
		return errXZ
	}
	p := filter[2]
	dictionary := uint64(2|p&1) << (p/2 + 11)
	if dictionary > maxWindow {
		return fmt.Errorf("dictionary of %d bytes is too large", dictionary)
	}
	if n := int(dictionary); n > x.held {
		x.memory.Hold(n - x.held)
		x.held = n
	}
	x.packed = &countingReader{r: x.br}
	x.header, x.size, x.sum = int64(len(head)), 0, nil
	switch x.flags[1] {
	case 1:
		x.sum = crc32.NewIEEE()
	case 4:
		x.sum = crc64.New(crc64.MakeTable(crc64.ECMA))
	case 10:
		x.sum = sha256.New()
	}
	x.block, err = lzma.Reader2Config{DictCap: int(dictionary)}.NewReader2(x.packed)
	return err
}

// end reads what comes after a block's data.
func (x *xzReader) end() error {
	var tail [3 + 64]byte
	pad := int(-x.packed.n & 3)
	check := xzSums[x.flags[1]]
	if err := x.full(tail[:pad+check]); err != nil {
		return err
	}
	if !bytes.Equal(tail[:pad], make([]byte, pad)) {
		return errXZ
	}
	if x.sum != nil {
		want := x.sum.Sum(nil)
		if x.flags[1] != 10 { // those of CRCs are big-endian
			for i, j := 0, len(want)-1; i < j; i, j = i+1, j-1 {
				want[i], want[j] = want[j], want[i]
			}
		}
		if !bytes.Equal(tail[pad:pad+check], want) {
			return errXZ
		}
	}
	_, _ = fmt.Fprintln(x.sizes, x.header+x.packed.n+int64(check), x.size)
	x.blocks++
	x.block = nil
	return nil
}

// index reads the sizes of the blocks, which have to be what they were, and the footer.
func (x *xzReader) index() error {
	r := &summing{r: x.br, sum: crc32.NewIEEE()}
	r.add(0) // the byte that it began with
	count, err := binary.ReadUvarint(r)
	if err != nil || count != uint64(x.blocks) {
		return xzEnd(err)
	}
	sizes := sha256.New()
	for range x.blocks {
		packed, err := binary.ReadUvarint(r)
		if err != nil {
			return xzEnd(err)
		}
		size, err := binary.ReadUvarint(r)
		if err != nil {
			return xzEnd(err)
		}
		_, _ = fmt.Fprintln(sizes, packed, size)
	}
	if !bytes.Equal(sizes.Sum(nil), x.sizes.Sum(nil)) {
		return errXZ
	}
	for r.n&3 != 0 {
		if c, err := r.ReadByte(); err != nil || c != 0 {
			return xzEnd(err)
		}
	}
	var tail [4 + 12]byte
	if err := x.full(tail[:]); err != nil {
		return err
	}
	foot := tail[4:]
	u32 := binary.LittleEndian.Uint32
	if u32(tail[:]) != r.sum.Sum32() || u32(foot) != crc32.ChecksumIEEE(foot[4:10]) || int64(u32(foot[4:])) != r.n/4 ||
		!bytes.Equal(foot[8:10], x.flags[:]) || string(foot[10:]) != xzFooter {
		return errXZ
	}
	return nil
}

// xzEnd is the error of an index that ends, or is not what it has to be.
func xzEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	return errXZ
}

func (x *xzReader) Close() error {
	x.memory.Release(x.held)
	x.held = 0
	return nil
}

// countingReader counts what is read.
type countingReader struct {
	r *bufio.Reader
	n int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

func (c *countingReader) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

// summing reads bytes and adds them to a checksum.
type summing struct {
	r   *bufio.Reader
	sum hash.Hash32
	n   int64
}

func (s *summing) add(b byte) {
	s.sum.Write([]byte{b})
	s.n++
}

func (s *summing) ReadByte() (byte, error) {
	b, err := s.r.ReadByte()
	if err == nil {
		s.add(b)
	}
	return b, err
}
