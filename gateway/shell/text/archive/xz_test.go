package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
)

// ledger is the memory that decoders say they take.
type ledger struct{ held, most int }

func (l *ledger) Hold(n int)    { l.held += n; l.most = max(l.most, l.held) }
func (l *ledger) Release(n int) { l.held -= n }

func xzOf(t *testing.T, c xz.WriterConfig, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := c.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unxz(data []byte, l *ledger) (string, error) {
	r, err := NewReader(XZ, bytes.NewReader(data), l)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), errors.Join(err, r.Close())
}

func TestXZ(t *testing.T) {
	text := strings.Repeat("some text, and ", 400)
	empty := emptyXZ
	for name, c := range map[string]xz.WriterConfig{
		"CRC64": {CheckSum: xz.CRC64}, "CRC32": {CheckSum: xz.CRC32}, "SHA-256": {CheckSum: xz.SHA256},
		"none":   {NoCheckSum: true},
		"blocks": {CheckSum: xz.CRC64, BlockSize: 1000}, "a small dictionary": {DictCap: 4096},
	} {
		t.Run(name, func(t *testing.T) {
			if c.DictCap == 0 {
				c.DictCap = 1 << 16
			}
			data := xzOf(t, c, text)
			l := &ledger{}
			for _, f := range []struct {
				data string
				want string
			}{
				{string(data), text}, {string(data) + string(data), text + text}, {empty, ""},
				{string(data) + "\x00\x00\x00\x00" + empty + string(data) + "\x00\x00\x00\x00\x00\x00\x00\x00", text + text},
			} {
				if got, err := unxz([]byte(f.data), l); err != nil || got != f.want {
					t.Errorf("got %d bytes, %v; want %d", len(got), err, len(f.want))
				}
			}
			if l.held != 0 || l.most == 0 {
				t.Errorf("%d bytes are held, at most %d", l.held, l.most)
			}
			for n := range data {
				if _, err := unxz(data[:n], l); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("cut at byte %d of %d: %v", n, len(data), err)
				}
				broken := bytes.Clone(data)
				broken[n] ^= 0x10
				if got, err := unxz(broken, l); err == nil && got != text && !c.NoCheckSum {
					t.Fatalf("changed at byte %d: another text", n)
				}
			}
		})
	}
}

// A block that is not the first asks for 4 GiB.
func TestXZDictionaryOfALaterBlock(t *testing.T) {
	block := []byte{2, 0, 0x21, 1, 40, 0, 0, 0}
	block = binary.LittleEndian.AppendUint32(block, crc32.ChecksumIEEE(block))
	first := xzOf(t, xz.WriterConfig{CheckSum: xz.CRC64}, "some text")
	for name, data := range map[string][]byte{
		"in a second stream": append(append(bytes.Clone(first), first[:12]...), block...),
		"in a first block":   append(bytes.Clone(first[:12]), block...),
	} {
		l := &ledger{}
		if _, err := unxz(data, l); err == nil || !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s: %v", name, err)
		}
		if l.held != 0 || l.most > maxWindow {
			t.Errorf("%s: %d bytes are held, at most %d", name, l.held, l.most)
		}
	}
}
